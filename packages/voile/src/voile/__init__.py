"""Voile publishes data that people can use without giving away anyone who is in it.

    import voile

    released = voile.k_anonymize(frame, quasi_identifiers=["age", "sex"], k=5)
    released.frame                  # a data frame of the kind that went in

One call for each of the main methods stands in ``voile.shortcuts``.  Step by step:

    plan = voile.Plan(
        roles=voile.Roles(quasi_identifiers=["age", "sex"], sensitive=["salary"]),
    )
    table = voile.open_frame(frame, plan)
    release = voile.KEAnonymity(k=3, e=2000).publish(table)
    release.guarantee.statement
    release.to_native()             # a data frame of the kind that went in
    release.write("out")

``voile.make_release`` does the whole of it from a file and a plan, with a ledger for series.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from voile_base.version import VERSION

__version__ = VERSION

if TYPE_CHECKING:
    from voile.attack.differencing import DifferencingAttack
    from voile.attack.identification import IdentificationAttack
    from voile.attack.registry import attack_named, attack_names
    from voile.publish.clustered_laplace import ClusteredLaplace
    from voile.publish.dp_generalization import DPGeneralization
    from voile.publish.generalization import Generalization
    from voile.publish.geo_indistinguishability import GeoIndistinguishability
    from voile.publish.ke_anonymity import KEAnonymity
    from voile.publish.m_shuffle import MShuffle
    from voile.publish.ranking import Ranking
    from voile.publish.registry import read_plan
    from voile.query.answer import answer
    from voile.release.release import Guarantee, Release, read_release
    from voile.schema.budget import BudgetPlan
    from voile.schema.plan import ColumnPlan, Method, Plan
    from voile.schema.roles import Roles
    from voile.schema.trajectory import TrajectoryColumns
    from voile.shortcuts import (
        FrameAudit,
        FrameRelease,
        add_laplace_noise,
        anonymize,
        audit_frame,
        dp_generalize,
        dp_synthesize,
        k_anonymize,
        k_anonymize_ranking,
        ke_anonymize,
        m_shuffle,
    )
    from voile.study.grid import compare
    from voile.study.run import make_release
    from voile.study.single import run_study
    from voile.table.opening import open_frame, open_table
    from voile_base.randomness import Randomness

_HOMES = {
    "BudgetPlan": "voile.schema.budget",
    "ClusteredLaplace": "voile.publish.clustered_laplace",
    "ColumnPlan": "voile.schema.plan",
    "DPGeneralization": "voile.publish.dp_generalization",
    "DifferencingAttack": "voile.attack.differencing",
    "FrameAudit": "voile.shortcuts",
    "FrameRelease": "voile.shortcuts",
    "Generalization": "voile.publish.generalization",
    "GeoIndistinguishability": "voile.publish.geo_indistinguishability",
    "Guarantee": "voile.release.release",
    "IdentificationAttack": "voile.attack.identification",
    "KEAnonymity": "voile.publish.ke_anonymity",
    "MShuffle": "voile.publish.m_shuffle",
    "Method": "voile.schema.plan",
    "Plan": "voile.schema.plan",
    "Randomness": "voile_base.randomness",
    "Ranking": "voile.publish.ranking",
    "Release": "voile.release.release",
    "Roles": "voile.schema.roles",
    "TrajectoryColumns": "voile.schema.trajectory",
    "add_laplace_noise": "voile.shortcuts",
    "anonymize": "voile.shortcuts",
    "answer": "voile.query",
    "attack_named": "voile.attack.registry",
    "attack_names": "voile.attack.registry",
    "audit_frame": "voile.shortcuts",
    "compare": "voile.study.grid",
    "dp_generalize": "voile.shortcuts",
    "dp_synthesize": "voile.shortcuts",
    "k_anonymize": "voile.shortcuts",
    "k_anonymize_ranking": "voile.shortcuts",
    "ke_anonymize": "voile.shortcuts",
    "m_shuffle": "voile.shortcuts",
    "make_release": "voile.study.run",
    "open_frame": "voile.table.opening",
    "open_table": "voile.table.opening",
    "read_plan": "voile.publish.registry",
    "read_release": "voile.release.release",
    "run_study": "voile.study.single",
}

__all__ = [
    "BudgetPlan",
    "ClusteredLaplace",
    "ColumnPlan",
    "DPGeneralization",
    "DifferencingAttack",
    "FrameAudit",
    "FrameRelease",
    "Generalization",
    "GeoIndistinguishability",
    "Guarantee",
    "IdentificationAttack",
    "KEAnonymity",
    "MShuffle",
    "Method",
    "Plan",
    "Randomness",
    "Ranking",
    "Release",
    "Roles",
    "TrajectoryColumns",
    "add_laplace_noise",
    "anonymize",
    "answer",
    "attack_named",
    "attack_names",
    "audit_frame",
    "compare",
    "dp_generalize",
    "dp_synthesize",
    "k_anonymize",
    "k_anonymize_ranking",
    "ke_anonymize",
    "m_shuffle",
    "make_release",
    "open_frame",
    "open_table",
    "read_plan",
    "read_release",
    "run_study",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `import voile` stays light."""
    if name not in _HOMES:
        msg = f"module 'voile' has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(import_module(_HOMES[name]), name)
