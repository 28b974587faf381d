"""Random queries: which values of which columns they ask for; private, as the original is.

What it does: draws conjunctions of predicates, each of which says for every distinct value of a
column whether it is asked for.

Algorithm: with p predicates and selectivity s, each asks for about a share f = s^(1 / p) of rows.
Numbers, dates and times: a range of neighbouring values, those whose rank in the distribution (the
share of rows below, and half of their own) is between u and u + f, with u uniform from 0 to 1 - f;
where that is none, the one value at u + f / 2.  A missing number is in no range.  Texts: the first
values of a random order, as many as bring their share of the rows nearest to f, at least one.

Cost: O(d log d) a predicate for d distinct values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from voile.randomness import Key
from voile.utility.domain import Domain

__all__ = ["Predicates", "Query", "random_queries"]

Predicates = Mapping[str, NDArray[np.bool_]]
"""For each column, shape (d,): which of its distinct values are asked for."""


@dataclass(frozen=True)
class Query:
    """The predicates of a query."""

    known: Predicates
    """On quasi-identifiers, for sums and averages."""
    counted: Predicates
    """On the same ones and a sensitive column, for counts; wider each, to match as often."""


def random_queries(
    known: Sequence[Domain],
    sensitive: Sequence[Domain],
    *,
    counts: Sequence[int],
    selectivity: float,
    key: Key,
) -> list[Query]:
    """A query for each of ``counts``: how many of the ``known`` columns it has, at least 1."""
    draws = _Draws(key)
    queries = []
    for count in counts:
        asked = [known[index] for index in draws.order(len(known))[:count]]
        secret = [sensitive[index] for index in draws.order(len(sensitive))[:1]]
        queries.append(
            Query(
                _predicates(asked, selectivity, draws),
                _predicates([*asked, *secret], selectivity, draws),
            )
        )
    return queries


@dataclass
class _Draws:
    """The words of a stream, one after the other."""

    key: Key
    used: int = field(default=0)

    def order(self, count: int) -> NDArray[np.int64]:
        """A random order of 0 to count - 1."""
        words = self.key.stream(count, self.used)
        self.used += count
        return np.argsort(words)

    def uniform(self) -> float:
        """A number from 0 to below 1."""
        (word,) = self.key.stream(1, self.used)
        self.used += 1
        return float(word >> np.uint64(11)) / 2**53


def _predicates(columns: Sequence[Domain], selectivity: float, draws: _Draws) -> Predicates:
    share = selectivity ** (1 / len(columns))
    return {
        column.name: (_set if column.points is None else _range)(column, share, draws)
        for column in columns
    }


def _range(column: Domain, share: float, draws: _Draws) -> NDArray[np.bool_]:
    """Neighbouring values with about this share of the rows."""
    assert column.points is not None
    rows = np.where(np.isnan(column.points), 0, column.rows)
    rank = (np.cumsum(rows) - rows / 2) / max(int(rows.sum()), 1)
    low = draws.uniform() * (1 - share)
    chosen = (rows > 0) & (low <= rank) & (rank <= low + share)
    if not chosen.any():
        apart = np.where(rows > 0, np.abs(rank - low - share / 2), np.inf)
        chosen[np.argmin(apart)] = bool(rows.any())
    return chosen


def _set(column: Domain, share: float, draws: _Draws) -> NDArray[np.bool_]:
    """Random values with about this share of the rows."""
    order = draws.order(len(column))
    reached = np.cumsum(column.rows[order]) / column.rows.sum()
    chosen = np.zeros(len(column), dtype=np.bool_)
    chosen[order[: 1 + int(np.argmin(np.abs(reached - share)))]] = True
    return chosen
