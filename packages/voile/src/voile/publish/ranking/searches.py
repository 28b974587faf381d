"""The searches by the names that a plan gives them, and the parameters that each takes.

The names of the thesis ("K-ARQ: k-Anonymous Ranking Query", POSTECH 2011) mean its algorithms;
``peeling-lift``, ``peeling-ratio``, ``growing``, ``growing-exchange``, ``exact`` and ``auto`` are
ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import Any, Literal

from voile.publish.ranking.auto import auto
from voile.publish.ranking.baselines import mondrian, perfect_precision, perfect_recall
from voile.publish.ranking.exact import exact
from voile.publish.ranking.groups import Search
from voile.publish.ranking.growing import GrowingExchange, growing
from voile.publish.ranking.insertion import insertion
from voile.publish.ranking.local_search import Grasp, Theta, ThetaRapid
from voile.publish.ranking.peeling import PeelingLift, deletion, peeling_ratio
from voile_base.errors import PlanError, nearest

__all__ = ["LIMITED", "PARAMETERS", "SEARCHES", "SearchName", "search", "takes"]

SearchName = Literal[
    "auto",
    "exact",
    "peeling-ratio",
    "peeling-lift",
    "growing",
    "growing-exchange",
    "theta",
    "theta-rapid",
    "grasp",
    "insertion",
    "deletion",
    "mondrian",
    "perfect-recall",
    "perfect-precision",
]

_PLAIN: Mapping[str, Search] = {
    "perfect-recall": perfect_recall,
    "perfect-precision": perfect_precision,
    "mondrian": mondrian,
    "deletion": deletion,
    "insertion": insertion,
    "growing": growing,
    "peeling-ratio": peeling_ratio,
    "exact": exact,
    "auto": auto,
}
_WITH_PARAMETERS: Mapping[str, Callable[..., Search]] = {
    "grasp": Grasp,
    "theta": Theta,
    "theta-rapid": ThetaRapid,
    "growing-exchange": GrowingExchange,
    "peeling-lift": PeelingLift,
}
LIMITED = ("exact", "auto")
"""Searches whose ``work`` and ``seconds`` stand in ``SearchTerms``, for each round divides them."""

SEARCHES = (*_PLAIN, *_WITH_PARAMETERS)
PARAMETERS = (
    "theta", "alpha", "iterations", "exchange", "candidates", "elements", "lift", "slack", "work",
    "seconds",
)  # fmt: skip
"""Of all searches."""


def search(name: str, **parameters: Any) -> Search:
    """The search of that name.  Raises ``PlanError`` for another name or parameter."""
    if name not in SEARCHES:
        known = ", ".join(SEARCHES)
        msg = f"no such search: {name!r}{nearest(name, SEARCHES)} (known: {known})"
        raise PlanError(msg)
    _refuse_others(name, parameters)
    if name in _PLAIN:
        return _PLAIN[name]
    return _WITH_PARAMETERS[name](**parameters)


def takes(name: str) -> tuple[str, ...]:
    """The parameters of a search."""
    if name in _PLAIN:
        return ("work", "seconds") if name in LIMITED else ()
    made: Any = _WITH_PARAMETERS[name]
    return tuple(field.name for field in fields(made))


def _refuse_others(name: str, given: Iterable[str]) -> None:
    """Raise ``PlanError`` for a parameter that the search does not take."""
    for parameter in given:
        if parameter not in takes(name):
            takers = [f'"{other}"' for other in SEARCHES if parameter in takes(other)]
            listed = f"{', '.join(takers[:-1])} or {takers[-1]}" if takers[1:] else takers[0]
            msg = (
                f'search = "{name}" does not take {parameter}, search = {listed} does: choose '
                f"that, or leave {parameter} out"
            )
            raise PlanError(msg)
