"""Attacks by their names, each imported when it is asked for.

The fields of an attack are the background knowledge of its adversary: ``attack_named`` takes them
by name.  Another package adds an attack by an entry point of the group ``voile.attacks``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from voile_base.registry import Registry

if TYPE_CHECKING:
    from voile.attack.protocol import Attack

__all__ = ["ATTACKS", "attack_named", "attack_names"]

ATTACKS: Registry[Attack] = Registry(
    group="voile.attacks",
    what="an attack",
    own={
        "identification": "voile.attack.identification:IdentificationAttack",
        "prosecutor": "voile.attack.linkage:ProsecutorAttack",
        "journalist": "voile.attack.linkage:JournalistAttack",
        "marketer": "voile.attack.linkage:MarketerAttack",
        "membership": "voile.attack.membership:MembershipAttack",
        "row-tracing": "voile.attack.row_tracing:RowTracingAttack",
        "population-individual": "voile.attack.in_population:IndividualRisk",
        "population-household": "voile.attack.in_population:HouseholdRisk",
        "population-map": "voile.attack.in_population:PopulationMap",
        "population-uniques": "voile.attack.in_population:PopulationUniqueShare",
        "population-log-linear": "voile.attack.in_population:LogLinearMatches",
        "population-special-uniques": "voile.attack.in_population:SpecialUniquesRisk",
        "homogeneity": "voile.attack.sensitive_values:HomogeneityAttack",
        "background-knowledge": "voile.attack.sensitive_values:BackgroundKnowledgeAttack",
        "skewness": "voile.attack.sensitive_values:SkewnessAttack",
        "comparison": "voile.attack.comparison:ComparisonAttack",
        "intersection": "voile.attack.intersection:IntersectionAttack",
        "differencing": "voile.attack.earlier_releases:AgainstEarlierReleases",
        "minimality": "voile.attack.minimality:MinimalityAttack",
    },
    offers=("name", "refusal", "run", "told", "needs_absent", "counts_by_link"),
)
"""Those after a row first, then those after a value, then those of other packages."""


def attack_names() -> tuple[str, ...]:
    """The names of all attacks."""
    return ATTACKS.names


def attack_named(name: str, **knowledge: object) -> Attack:
    """An attack, its adversary knowing what is given and by default what its fields say.

    Raises ``InputError`` for an attack that there is not, for knowledge that its adversary cannot
    have, and as the attack itself does.
    """
    return ATTACKS.make(name, knowledge)
