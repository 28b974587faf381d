"""Attacks by their names, each imported when it is asked for.

The fields of an attack are the background knowledge of its adversary: ``attack_named`` takes them
by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from importlib import import_module
from typing import Any

from voile.attack.protocol import Attack
from voile.errors import InputError, nearest

__all__ = ["ATTACKS", "attack_named", "attack_names", "knowledge_of"]

ATTACKS: Mapping[str, str] = {
    "identification": "voile.attack.identification:IdentificationAttack",
    "prosecutor": "voile.attack.linkage:ProsecutorAttack",
    "journalist": "voile.attack.linkage:JournalistAttack",
    "marketer": "voile.attack.linkage:MarketerAttack",
    "membership": "voile.attack.membership:MembershipAttack",
    "row-tracing": "voile.attack.row_tracing:RowTracingAttack",
    "homogeneity": "voile.attack.homogeneity:HomogeneityAttack",
    "background-knowledge": "voile.attack.background_knowledge:BackgroundKnowledgeAttack",
    "skewness": "voile.attack.skewness:SkewnessAttack",
    "differencing": "voile.attack.earlier_releases:AgainstEarlierReleases",
}
"""Where each attack is, as "module:Class": those after a row first, then those after a value."""


def attack_names() -> tuple[str, ...]:
    """The names of all attacks."""
    return tuple(ATTACKS)


def knowledge_of(name: str) -> tuple[str, ...]:
    """What an adversary can be told, by name; raises ``InputError`` for an unknown attack."""
    return tuple(field.name for field in fields(_class_of(name)) if field.init)


def attack_named(name: str, **knowledge: Any) -> Attack:
    """An attack, its adversary knowing what is given and by default what its fields say.

    Raises ``InputError`` for an attack that there is not, for knowledge that its adversary cannot
    have, and as the attack itself does.
    """
    known = knowledge_of(name)
    for given in knowledge:
        if given not in known:
            msg = (
                f"the attack {name!r} has no {given!r}{nearest(given, known)} "
                f"(known: {', '.join(known)})"
            )
            raise InputError(msg)
    attack: Attack = _class_of(name)(**knowledge)
    return attack


def _class_of(name: str) -> Any:
    if name not in ATTACKS:
        msg = f"there is no attack {name!r}{nearest(name, ATTACKS)} (known: {', '.join(ATTACKS)})"
        raise InputError(msg)
    module, title = ATTACKS[name].split(":")
    return getattr(import_module(module), title)
