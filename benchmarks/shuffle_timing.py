"""What M-Shuffle itself takes, of a table that is open: decision and application, warm."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import voile
from benchmarks.shuffle_curves import CLUSTERS, COLUMNS, adult, plan_of
from benchmarks.timing import in_turn
from voile.table.private import PrivateTable
from voile_base.errors import InfeasibleError

__all__ = ["Timed", "choosing", "given"]

RUNS = 21


@dataclass(frozen=True)
class Timed:
    """Median seconds of one kind of run."""

    what: str
    choice: str
    seconds: float


@dataclass(frozen=True)
class _Asked:
    """A table and two limits."""

    what: str
    sensitive: str
    divergence: float
    log_probability: float
    weight: bool = False


ASKED = (
    _Asked("the first choice keeps to both", "hours-per-week", 4.0, -12_000),
    _Asked("one column in some clusters", "hours-per-week", 0.55, -2000),
    _Asked("two columns", "age", 1.0, -3000),
    _Asked("refused", "hours-per-week", 2.0, -20_000),
    _Asked("refused, with the sampling weight", "hours-per-week", 2.0, -20_000, weight=True),
)
MANY = _Asked("refused, clusters of the sampling weight", "fnlwgt", 2.0, -20_000, weight=True)


def given(table: PrivateTable, order: Sequence[str]) -> list[Timed]:
    """K and M given, each K and M."""
    sides = {
        f"K = {k}, M = {m}": partial(_published, table, voile.MShuffle(k, list(order[:m])))
        for k in CLUSTERS
        for m in COLUMNS
    }
    return [Timed(what, said, seconds) for what, said, seconds in _timed(sides)]


def choosing() -> list[Timed]:
    """Limits given: the automatic choice among up to 50 clusters; the last is the hardest."""
    sides = {}
    for asked in (*ASKED, MANY):
        frame = adult(weight=asked.weight)
        table = voile.open_frame(frame, plan_of(frame, asked.sensitive))
        method = voile.MShuffle(
            max_divergence=asked.divergence, max_log_probability=asked.log_probability
        )
        label = f"{asked.what} (clusters of {asked.sensitive})"
        sides[label if asked is not MANY else asked.what] = partial(_published, table, method)
    return [Timed(what, said, seconds) for what, said, seconds in _timed(sides)]


def _timed(sides: Mapping[str, Callable[[], str]]) -> list[tuple[str, str, float]]:
    said = {name: side() for name, side in sides.items()}
    seconds = in_turn(sides, {}, RUNS)
    return [(name, said[name], seconds[name]) for name in sides]


def _published(table: PrivateTable, method: voile.MShuffle) -> str:
    """Publish, or be refused; what became of it."""
    try:
        made = method.prepare(table, voile.Randomness.seeded(1))
    except InfeasibleError:
        return "no choice keeps to both"
    return made.private.summary
