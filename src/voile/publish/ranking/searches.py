"""The searches by the names that a plan gives them."""

from __future__ import annotations

from voile.errors import PlanError, nearest
from voile.publish.ranking.auto import auto
from voile.publish.ranking.baselines import mondrian, perfect_precision, perfect_recall
from voile.publish.ranking.exact import exact
from voile.publish.ranking.grasp import grasp
from voile.publish.ranking.groups import Search
from voile.publish.ranking.insertion import insertion
from voile.publish.ranking.peeling import deletion, theta, theta_rapid

__all__ = ["SEARCHES", "search"]

SEARCHES: dict[str, Search] = {
    "perfect-recall": perfect_recall,
    "perfect-precision": perfect_precision,
    "mondrian": mondrian,
    "deletion": deletion,
    "insertion": insertion,
    "grasp": grasp,
    "theta": theta,
    "theta-rapid": theta_rapid,
    "exact": exact,
    "auto": auto,
}


def search(name: str) -> Search:
    """The search of that name.  Raises ``PlanError`` for another name."""
    if name not in SEARCHES:
        known = ", ".join(SEARCHES)
        msg = f"no such search: {name!r}{nearest(name, SEARCHES)} (known: {known})"
        raise PlanError(msg)
    return SEARCHES[name]
