"""What to permute within which clusters: given, ranked, or chosen automatically.

The automatic choice is the seed's eq. 8: the fewest columns M, then the fewest clusters K, such
that the divergence of the table is at most ``max_divergence`` and the log of the probability of
guessing the permuted columns at most ``max_log_probability``.  For each M and K the columns are the
first M of the rank that the rule gives among these K clusters.  The divergence is that of the
expected release (``voile.models.permutation``), so nothing needs to be drawn.

Cost: the clusters of all K come from one dynamic programme; each K then costs O(p) a column for p
pairs of sensitive and other values, each set of columns O(g log g) for g combinations of all
columns.  All of it is private.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from voile.errors import InfeasibleError
from voile.models.permutation import expected_divergence, whole_column_log_probability
from voile.publish.m_shuffle.clustering import Clustering, Labels
from voile.publish.m_shuffle.columns import ClusteredColumn, Rule
from voile.table.protocol import CombinationCounts, GroupCounts

__all__ = ["Choice", "Division", "Limits", "Probability", "choose", "log_probability"]

Probability = Literal["arrangements", "paper"]
"""What counts as a guess: one of the distinct arrangements, or the seed's (1/n)^n a column."""

_MOST_WORDS = 2**62


@dataclass(frozen=True, eq=False)
class Division:
    """All quasi-identifiers within the clusters of one division of the rows."""

    labels: Labels
    """Shape (g,): the cluster of each combination of sensitive values."""
    clusters: int
    columns: tuple[ClusteredColumn, ...]


@dataclass(frozen=True, eq=False)
class Choice:
    """Clusters, and what is permuted within them."""

    division: Division
    permuted: tuple[str, ...]
    """In the order of the plan."""
    log_probability: float
    """Log of the probability of guessing all permuted columns."""
    divergence: float | None = None
    """Of the expected release, in nats; private.  None where it was not measured."""


@dataclass(frozen=True)
class Limits:
    """What the automatic choice must keep to."""

    divergence: float
    log_probability: float
    probability: Probability


def log_probability(
    permuted: Sequence[ClusteredColumn], rows: int, probability: Probability
) -> float:
    """Log of the probability of guessing all permuted columns of a table of so many rows."""
    if probability == "paper":
        return len(permuted) * whole_column_log_probability(rows)
    return -sum(column.log_arrangements for column in permuted)


def choose(
    columns: Sequence[GroupCounts],
    together: CombinationCounts,
    clustering: Clustering,
    rule: Rule,
    limits: Limits,
) -> Choice:
    """The choice of fewest columns, then fewest clusters.

    ``columns`` are counted by combination of sensitive values; ``together`` counts all columns.
    Raises ``InfeasibleError`` where none keeps to both limits; it names what each would need.
    """
    search = _Search(columns, together, clustering, rule, limits)
    for choice in search.promising():
        if search.keeps(choice):
            return choice
    raise _infeasible(list(search.all()), limits, clustering.most)


@dataclass(frozen=True, eq=False)
class _Search:
    """All numbers of columns and of clusters, measured when they are asked for."""

    columns: Sequence[GroupCounts]
    together: CombinationCounts
    clustering: Clustering
    rule: Rule
    limits: Limits
    _divisions: dict[int, tuple[Division, list[ClusteredColumn]]] = field(default_factory=dict)
    _kept: dict[frozenset[str], NDArray[np.int64]] = field(default_factory=dict)

    def keeps(self, choice: Choice) -> bool:
        """Whether a choice keeps to both limits."""
        assert choice.divergence is not None
        return (
            choice.divergence <= self.limits.divergence
            and choice.log_probability <= self.limits.log_probability
        )

    def promising(self) -> Iterator[Choice]:
        """Choices, fewest columns first, but for those numbers of columns that cannot do.

        All divisions refine that of the fewest clusters, which has the most arrangements.
        """
        division, _ = self._division(self.clustering.fewest)
        rows = int(self.together.rows.sum())
        largest = sorted(division.columns, key=lambda column: -column.log_arrangements)
        for number in range(1, len(largest) + 1):
            least = log_probability(largest[:number], rows, self.limits.probability)
            if least <= self.limits.log_probability:
                yield from self._with(number)

    def all(self) -> Iterator[Choice]:
        """All choices."""
        for number in range(1, len(self.columns) + 1):
            yield from self._with(number)

    def _with(self, number: int) -> Iterator[Choice]:
        """Choices of so many columns, fewest clusters first."""
        for clusters in range(self.clustering.fewest, self.clustering.most + 1):
            division, ranked = self._division(clusters)
            if number <= len(ranked):
                yield self._measured(division, ranked[:number])

    def _division(self, clusters: int) -> tuple[Division, list[ClusteredColumn]]:
        if clusters not in self._divisions:
            labels = self.clustering.labels(clusters)
            made = int(labels.max(initial=-1)) + 1  # k-means in several dimensions may make fewer
            merged = (ClusteredColumn.merged(counts, labels, made) for counts in self.columns)
            division = Division(labels, made, tuple(merged))
            self._divisions[clusters] = division, self.rule.ranked(division.columns)
        return self._divisions[clusters]

    def _measured(self, division: Division, permuted: Sequence[ClusteredColumn]) -> Choice:
        names = frozenset(column.name for column in permuted)
        if names not in self._kept:
            self._kept[names] = _rows_without(self.together, names)
        pairs = [column.pairs for column in permuted]
        rows = int(self.together.rows.sum())
        return Choice(
            division=division,
            permuted=tuple(column.name for column in division.columns if column.name in names),
            log_probability=log_probability(permuted, rows, self.limits.probability),
            divergence=expected_divergence(pairs, self._kept[names], self.together.rows),
        )


def _rows_without(together: CombinationCounts, names: frozenset[str]) -> NDArray[np.int64]:
    """Rows of each combination of the columns that are not named."""
    key = np.zeros(len(together.rows), dtype=np.int64)
    size = 1
    for place, name in enumerate(together.columns):
        if name in names:
            continue
        distinct = len(together.values[place])
        if size * distinct > _MOST_WORDS:
            key = np.unique(key, return_inverse=True)[1].astype(np.int64)
            size = len(key)
        key = key * distinct + together.codes[:, place]
        size *= distinct
    _, place_of = np.unique(key, return_inverse=True)
    return np.bincount(place_of, weights=together.rows).astype(np.int64)


def _infeasible(choices: Sequence[Choice], limits: Limits, most: int) -> InfeasibleError:
    """Says what each limit would have to be, the other one kept."""
    asked = (
        f"max_divergence = {limits.divergence:g} and max_log_probability = "
        f"{limits.log_probability:g}"
    )
    if not choices:
        return InfeasibleError(
            f"no choice keeps to {asked}: with no number of clusters up to {most} is any "
            "quasi-identifier weakly tied to the sensitive columns (QIC)"
        )
    hidden = [c for c in choices if c.log_probability <= limits.log_probability]
    near = [c for c in choices if c.divergence is not None and c.divergence <= limits.divergence]
    least = min(hidden, key=lambda c: c.divergence or 0.0, default=None)
    lowest = min(near, key=lambda c: c.log_probability, default=None)
    if least is not None:
        assert least.divergence is not None
        first = f"this max_log_probability needs max_divergence = {_above(least.divergence):.4g}"
        first += f" or more ({_named(least)})"
    else:
        best = min(choices, key=lambda c: c.log_probability)
        first = f"no choice has a log probability below {best.log_probability:.6g} ({_named(best)})"
    if lowest is not None:
        second = "this max_divergence needs max_log_probability = "
        second += f"{_above(lowest.log_probability):.6g} or more ({_named(lowest)})"
    else:
        best = min(choices, key=lambda c: c.divergence or 0.0)
        second = f"no choice has a divergence below {best.divergence:.4g} ({_named(best)})"
    return InfeasibleError(
        f"no choice of columns and of up to {most} clusters keeps to both {asked}: {first}; "
        f"{second}"
    )


def _above(number: float) -> float:
    """A little more, so that its first digits do not round to less."""
    return number + abs(number) * 1e-3


def _named(choice: Choice) -> str:
    columns, clusters = len(choice.permuted), choice.division.clusters
    return f"{columns} column{'s' * (columns != 1)}, {clusters} cluster{'s' * (clusters != 1)}"
