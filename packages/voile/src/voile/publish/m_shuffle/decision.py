"""What to permute within which clusters: given, ranked, or chosen automatically.

The automatic choice is the seed's eq. 8: the fewest columns M, then the fewest clusters K, such
that the divergence of the table is at most ``max_divergence`` and the log of the probability of
guessing the permuted columns at most ``max_log_probability``.  For each M and K the columns are the
first M of the rank that the rule gives among these K clusters.  The divergence is that of the
expected release (``voile.models.permutation``), so nothing needs to be drawn.

Algorithm: for one K, the sets of columns are nested.  With each further column there are at least
as many arrangements, and the divergence is no less: it grows by H(column | cluster) less
H(column | all that stays), and what stays decides the cluster.  So of one K only the least M with
enough arrangements can do; the divergence is computed of that set alone.

Cost: the clusters of all K come from one dynamic programme; each K then costs O(p) a column for p
pairs of sensitive and other values (``measured``), and one set of columns, O(g log g) for g
combinations of all columns unless the set was met before.  To say what each limit would need, it
takes O(log m) further sets a K, of m columns.  All of it is private.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from voile.models.permutation import entropy, expected_divergence, whole_column_log_probability
from voile.publish.m_shuffle.columns import ClusteredColumn, Kind, Rule
from voile.publish.m_shuffle.measured import MeasuredColumn, measured_columns
from voile.publish.m_shuffle.sensitive import Labels
from voile.table.summaries import CombinationCounts, GroupCounts
from voile_base.errors import InfeasibleError

__all__ = ["Division", "Probability", "ShuffleChoice", "ShuffleLimits", "choose", "log_probability"]

Probability = Literal["arrangements", "paper"]
"""What counts as a guess: one of the distinct arrangements, or the seed's (1/n)^n a column."""

_MOST_WORDS = 2**62


@dataclass(frozen=True, eq=False)
class Division:
    """All quasi-identifiers within the clusters of one division."""

    labels: Labels
    """Shape (g,): the cluster of each combination of sensitive values."""
    clusters: int
    columns: tuple[ClusteredColumn, ...]


@dataclass(frozen=True, eq=False)
class ShuffleChoice:
    """Clusters, and what is permuted within them."""

    division: Division
    """Of rows, as the release shows them."""
    kinds: Mapping[str, Kind]
    """The group of each quasi-identifier."""
    permuted: tuple[str, ...]
    """In the order of the plan."""
    log_probability: float
    """Log of the probability of guessing all permuted columns."""
    divergence: float | None = None
    """Of the expected release, in nats; private.  None where it was not measured."""


@dataclass(frozen=True)
class ShuffleLimits:
    """What the automatic choice must keep to."""

    divergence: float
    log_probability: float
    probability: Probability


def log_probability(
    permuted: Sequence[ClusteredColumn] | Sequence[MeasuredColumn],
    rows: int,
    probability: Probability,
) -> float:
    """Log of the probability of guessing all permuted columns of a table of so many rows."""
    if probability == "paper":
        return len(permuted) * whole_column_log_probability(rows)
    return -sum(column.log_arrangements for column in permuted)


def choose(
    columns: Sequence[GroupCounts],
    together: CombinationCounts,
    divisions: Sequence[Labels],
    rule: Rule,
    limits: ShuffleLimits,
) -> ShuffleChoice:
    """The choice of fewest columns, then fewest clusters.

    ``columns`` are counted by combination of sensitive values; ``together`` counts all columns;
    ``divisions`` are those to choose from, at least one, fewest clusters first.
    Rows of persons who have several are weighed in the choice, and counted in what it shows.
    Raises ``InfeasibleError`` where none keeps to both limits; it names what each would need.
    """
    search = _Search.of(columns, together, divisions, rule, limits)
    hidden = search.hidden()
    for candidate in hidden:
        if search.divergence(candidate) <= limits.divergence:
            return search.choice(candidate)
    raise _infeasible(search, hidden, int(divisions[-1].max()) + 1)


@dataclass(frozen=True, eq=False)
class _Division:
    """QIC columns within the clusters of one division."""

    labels: Labels
    clusters: int
    kinds: Mapping[str, Kind]
    """Of all columns."""
    ranked: Sequence[MeasuredColumn]
    log_probabilities: Sequence[float]
    """Of the first column, the first two and so on; none is above the one before."""


@dataclass(frozen=True, eq=False)
class _Candidate:
    """The first so many columns of the rank in a division."""

    division: _Division
    number: int

    @property
    def columns(self) -> Sequence[MeasuredColumn]:
        return self.division.ranked[: self.number]

    @property
    def log_probability(self) -> float:
        return self.division.log_probabilities[self.number - 1]

    @property
    def names(self) -> frozenset[str]:
        return frozenset(column.name for column in self.columns)


@dataclass(frozen=True, eq=False)
class _Search:
    """All divisions, and the divergence of those candidates that are asked for."""

    columns: Sequence[GroupCounts]
    together: CombinationCounts
    limits: ShuffleLimits
    divisions: Sequence[_Division]
    """Fewest clusters first; those in which some column is weakly tied."""
    _kept: dict[frozenset[str], float] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        columns: Sequence[GroupCounts],
        together: CombinationCounts,
        labels: Sequence[Labels],
        rule: Rule,
        limits: ShuffleLimits,
    ) -> _Search:
        """Measure all divisions."""
        weighed = [counts.weighed for counts in columns]
        persons = together.units.units if together.units else int(together.rows.sum())
        rows = np.bincount(weighed[0].group, weights=weighed[0].rows).astype(np.int64)
        divisions = []
        for label, measured in zip(labels, measured_columns(weighed, rows, labels), strict=True):
            ranked = rule.ranked(measured)
            least = [
                log_probability(ranked[:number], persons, limits.probability)
                for number in range(1, len(ranked) + 1)
            ]
            # k-means in several dimensions may make fewer clusters than it was asked for.
            kinds = {column.name: rule.kind(column) for column in measured}
            divisions.append(_Division(label, int(label.max()) + 1, kinds, ranked, least))
        return cls(columns, together, limits, [each for each in divisions if each.ranked])

    def hidden(self) -> list[_Candidate]:
        """Of each division the fewest columns that are hidden enough; fewest columns first."""
        found = []
        for division in self.divisions:
            enough = [p <= self.limits.log_probability for p in division.log_probabilities]
            if any(enough):
                found.append(_Candidate(division, enough.index(True) + 1))
        return sorted(found, key=lambda candidate: candidate.number)

    def near(self) -> list[_Candidate]:
        """Of each division the most columns that do not diverge too far; fewest columns first."""
        most = ((division, self._most(division)) for division in self.divisions)
        found = [_Candidate(division, number) for division, number in most if number]
        return sorted(found, key=lambda candidate: candidate.number)

    def _most(self, division: _Division) -> int:
        """How many columns do not diverge too far."""

        def divergence(number: int) -> float:
            return self.divergence(_Candidate(division, number))

        numbers = range(1, len(division.ranked) + 1)
        return bisect_right(numbers, self.limits.divergence, key=divergence)

    def divergence(self, candidate: _Candidate) -> float:
        """Of the expected release, in nats."""
        alone = (column.conditional_entropy for column in candidate.columns)
        kept, together = (self._entropy_without(names) for names in (candidate.names, frozenset()))
        return expected_divergence(alone, kept, together)

    def _entropy_without(self, names: frozenset[str]) -> float:
        if names not in self._kept:
            counted, units = self.together, self.together.units
            if units is None:
                self._kept[names] = entropy(_rows_without(counted, counted.rows, names))
            else:
                kept = _rows_without(counted, units.weight, names)
                self._kept[names] = entropy(kept, units.whole)
        return self._kept[names]

    def choice(self, candidate: _Candidate) -> ShuffleChoice:
        """What is chosen, with all quasi-identifiers as they are counted in its clusters."""
        division, names = candidate.division, candidate.names
        merged = (ClusteredColumn.merged(counts, division.labels) for counts in self.columns)
        return ShuffleChoice(
            division=Division(division.labels, division.clusters, tuple(merged)),
            kinds=division.kinds,
            permuted=tuple(counts.column for counts in self.columns if counts.column in names),
            log_probability=candidate.log_probability,
            divergence=self.divergence(candidate),
        )


def _rows_without(
    together: CombinationCounts, rows: NDArray[np.int64], names: frozenset[str]
) -> NDArray[np.int64]:
    """Rows, or what they weigh, of each combination of the columns that are not named."""
    key = np.zeros(len(together.rows), dtype=np.int64)
    size = 1
    for index, name in enumerate(together.columns):
        if name in names:
            continue
        distinct = len(together.values[index])
        if size * distinct > _MOST_WORDS:
            key = np.unique(key, return_inverse=True)[1].astype(np.int64)
            size = len(key)
        key = key * distinct + together.codes[:, index]
        size *= distinct
    _, place_of = np.unique(key, return_inverse=True)
    return np.bincount(place_of, weights=rows).astype(np.int64)


def _infeasible(search: _Search, hidden: Sequence[_Candidate], most: int) -> InfeasibleError:
    """Says what each limit would have to be, the other one kept."""
    limits = search.limits
    asked = (
        f"max_divergence = {limits.divergence:g} and max_log_probability = "
        f"{limits.log_probability:g}"
    )
    if not search.divisions:
        return InfeasibleError(
            f"no choice keeps to {asked}: with no number of clusters up to {most} is any "
            "quasi-identifier weakly tied to the sensitive columns (QIC)"
        )
    if hidden:
        least = min(hidden, key=search.divergence)
        needed = _above(search.divergence(least))
        first = f"this max_log_probability needs max_divergence = {needed:.4g} or more "
        first += f"({_named(least)})"
    else:
        every = (_Candidate(division, len(division.ranked)) for division in search.divisions)
        best = min(every, key=lambda candidate: candidate.log_probability)
        first = f"no choice has a log probability below {best.log_probability:.6g} ({_named(best)})"
    near = search.near()
    if near:
        lowest = min(near, key=lambda candidate: candidate.log_probability)
        needed = _above(lowest.log_probability)
        second = f"this max_divergence needs max_log_probability = {needed:.6g} or more "
        second += f"({_named(lowest)})"
    else:
        best = min(
            (_Candidate(division, 1) for division in search.divisions), key=search.divergence
        )
        needed = search.divergence(best)
        second = f"no choice has a divergence below {needed:.4g} ({_named(best)})"
    return InfeasibleError(
        f"no choice of columns and of up to {most} clusters keeps to both {asked}: {first}; "
        f"{second}"
    )


def _above(number: float) -> float:
    """A little more, so that its first digits do not round to less."""
    return number + abs(number) * 1e-3


def _named(candidate: _Candidate) -> str:
    columns, clusters = candidate.number, candidate.division.clusters
    return f"{columns} column{'s' * (columns != 1)}, {clusters} cluster{'s' * (clusters != 1)}"
