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

Which quasi-identifiers are permuted: three groups of columns, and a rank among the third.

- QIB: at most two values.  Stays;
- QIA: strongly tied to the sensitive columns.  Stays, so that the tie can be studied;
- QIC: weakly tied.  May be permuted at little cost.

``rule = "mutual-information"`` measures the tie itself: the share of a column's entropy that the
clusters of sensitive values explain, adjusted for chance (``voile.models.permutation``).  It is not
divided by the entropy of the clusters, which grows with their number and lets ties fall again.
Without the adjustment a column of many values looks tied to anything: in 4,369 rows of the Adult
census and 6 clusters of working hours, a sampling weight that says nothing about anybody scores
0.26 where normalized by the mean of both entropies, and age 0.05.  Weakest tie first.

``rule = "entropy"`` is the seed's: entropy H(x) > H0 makes a column QIC.  It tells how spread a
column is and not how it is tied to another.  Highest entropy first.

The measures are of counts within clusters, which the release shows anyway: permuting does not
change them.  Where persons have several rows, what is decided by are measures of what their rows
weigh (``schema.persons``), which nobody sees; those that a release states are still of its rows.

Quasi-identifiers within the clusters of many divisions of the same rows, measured at once.

What ``columns.ClusteredColumn`` measures of one column in one division is measured here of all
columns in all divisions, without building the counts of any: the same numbers, up to the order of
sums.

Algorithm: the pairs of a column stand by value.  For each division one pass adds the rows of each
value up by cluster, in an array with one entry a cluster, and sums c ln c and ln c! over them.
What chance makes of the tie of a cluster depends on its rows alone, so that it is computed once for
each number of rows that occurs, and not once for each division.

Cost: O(D p) for D divisions and p pairs of sensitive and other values, and
``models.permutation`` for all the sizes of clusters that occur.  Memory: D labels for each
combination of sensitive values.  All of it is private.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cached_property
from math import lgamma, log
from typing import Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from voile.models.permutation import (
    PairCounts,
    adjusted_information,
    chance_shares,
    entropy,
    expected_divergence,
    log_factorials,
    whole_column_log_probability,
    whole_counts,
)
from voile.publish.m_shuffle.clustering import Labels
from voile.table.summaries import CombinationCounts, GroupCounts
from voile_base.compiled import njit
from voile_base.errors import InfeasibleError
from voile_base.ondemand import dataclass

__all__ = [
    "ClusteredColumn",
    "Division",
    "Kind",
    "Probability",
    "Rule",
    "RuleName",
    "ShuffleChoice",
    "ShuffleLimits",
    "log_probability",
    "measured_columns",
]


RuleName = Literal["mutual-information", "entropy"]
Kind = Literal["QIA", "QIB", "QIC"]
_DIGITS = 12
"""Decimals in which ties and entropies are ranked."""


@dataclass(frozen=True, eq=False)
class ClusteredColumn:
    """A quasi-identifier within clusters of rows, and what one can say of it."""

    name: str
    pairs: PairCounts
    """Of cluster and value."""

    @classmethod
    def of(cls, counts: GroupCounts) -> ClusteredColumn:
        """From counts by cluster."""
        return cls(counts.column, PairCounts(counts.group, counts.value, counts.rows, counts.whole))

    @classmethod
    def merged(cls, counts: GroupCounts, labels: NDArray[np.int64]) -> ClusteredColumn:
        """From counts by combination of sensitive values; ``labels`` has the cluster of each."""
        values = int(counts.value.max(initial=-1)) + 1
        key = labels[counts.group] * values + counts.value
        found, index = np.unique(key, return_inverse=True)
        rows = np.bincount(index, weights=counts.rows).astype(np.int64)
        pairs = PairCounts(found // values, found % values, rows, counts.whole)
        return cls(counts.column, pairs)

    @cached_property
    def distinct(self) -> int:
        """How many values the column holds."""
        return int(np.count_nonzero(self.pairs.second_rows))

    @property
    def entropy(self) -> float:
        """How spread the column is, in nats."""
        return self.pairs.second_entropy

    @cached_property
    def tie(self) -> float:
        """How strongly it is tied to the clusters, from 0, as by chance, to 1."""
        return max(0.0, self.pairs.adjusted_information)

    @cached_property
    def log_arrangements(self) -> float:
        """Log of the number of arrangements that permuting it within clusters can give."""
        return self.pairs.log_arrangements()

    @property
    def chance_per_row(self) -> float:
        """Expected share of rows that get their own value back."""
        return self.pairs.chance_per_row()

    @property
    def constant_clusters(self) -> int:
        """Clusters in which it holds one value."""
        return self.pairs.constant_clusters()

    def document(self, kind: Kind, *, permuted: bool) -> dict[str, float | str]:
        """What ``release.json`` says of the column."""
        said: dict[str, float | str] = {
            "group": kind,
            "entropy": self.entropy,
            "tie": self.tie,
            "normalized_mutual_information": self.pairs.normalized_information,
        }
        if permuted:
            said["log_arrangements"] = self.log_arrangements
            said["chance_per_row"] = self.chance_per_row
        return said


class _Tied(Protocol):
    """What a rule looks at."""

    @property
    def distinct(self) -> int:
        """How many values the column holds."""

    @property
    def entropy(self) -> float:
        """How spread it is, in nats."""

    @property
    def tie(self) -> float:
        """How strongly it is tied to the clusters, 0 to 1."""


AnyTied = TypeVar("AnyTied", bound=_Tied)


@dataclass(frozen=True)
class Rule:
    """What divides quasi-identifiers into three groups."""

    name: RuleName
    threshold: float
    """A tie above it is strong; an entropy above it, in nats, makes a column QIC."""

    def kind(self, column: _Tied) -> Kind:
        """The group of a column."""
        if column.distinct <= 2:
            return "QIB"
        if self.name == "entropy":
            return "QIC" if column.entropy > self.threshold else "QIA"
        return "QIA" if column.tie > self.threshold else "QIC"

    def ranked(self, columns: Sequence[AnyTied]) -> list[AnyTied]:
        """The QIC columns, what to permute first in front; equals by entropy, then as given.

        Equal is what differs by rounding alone.
        """
        weak = [column for column in columns if self.kind(column) == "QIC"]
        if self.name == "entropy":
            return sorted(weak, key=lambda column: -round(column.entropy, _DIGITS))
        return sorted(
            weak, key=lambda column: (round(column.tie, _DIGITS), -round(column.entropy, _DIGITS))
        )

    @property
    def parameter(self) -> str:
        """The name of the threshold in a plan."""
        return "entropy_threshold" if self.name == "entropy" else "tie_threshold"


@dataclass(frozen=True, slots=True)
class _MeasuredColumn:
    """A quasi-identifier within the clusters of one division; see ``columns.ClusteredColumn``."""

    name: str
    distinct: int
    entropy: float
    tie: float
    conditional_entropy: float
    """Where the cluster is known, in nats."""
    log_arrangements: float


def measured_columns(
    columns: Sequence[GroupCounts], rows: NDArray[np.int64], divisions: Sequence[Labels]
) -> list[list[_MeasuredColumn]]:
    """All columns, for each division.

    ``columns`` are counted by combination of sensitive values, all by rows or all by what these
    weigh, ``rows`` are those of each combination, shape (g,), and a division has the cluster of
    each, from 0, none left out.
    """
    whole = columns[0].whole
    clusters = [_rows_of(labels, rows) for labels in divisions]
    counted = [whole_counts(each, whole) for each in clusters]
    sizes, index = np.unique(np.concatenate(counted), return_inverse=True)
    indices = np.split(index, np.cumsum([len(each) for each in clusters])[:-1])
    within = [
        _Division(labels, its_indices, entropy(its_rows, whole), log_factorials(its_rows, whole))
        for labels, its_indices, its_rows in zip(divisions, indices, clusters, strict=True)
    ]
    by_column = [_measured(column, sizes, within) for column in columns]
    return [list(measured) for measured in zip(*by_column, strict=True)]


@dataclass(frozen=True, eq=False)
class _Division:
    """What all columns within the clusters of a division share."""

    labels: Labels
    sizes: NDArray[np.int64]
    """Shape (k,): the index of the rows of each cluster among all sizes of clusters."""
    entropy: float
    log_factorials: float


def _measured(
    column: GroupCounts, sizes: NDArray[np.int64], divisions: Sequence[_Division]
) -> list[_MeasuredColumn]:
    """One column, for each division; ``sizes`` are the rows that clusters of any have."""
    value_rows = _rows_of(column.value, column.rows)
    value_rows = value_rows[value_rows > 0]
    whole = column.whole
    total, spread = int(value_rows.sum()) / whole, entropy(value_rows, whole)
    met = whole_counts(value_rows, whole)
    chance = np.zeros(len(sizes))
    chance[sizes > 0] = chance_shares(sizes[sizes > 0], met[met > 0])
    by_value = np.argsort(column.value, kind="stable")
    value, group, rows = (part[by_value] for part in (column.value, column.group, column.rows))
    found = []
    for division in divisions:
        clusters = len(division.sizes)
        entropic, logs, cells = _summed(value, group, rows, whole, division.labels, clusters)
        joint = max(0.0, log(total) - entropic / total)
        by_chance = float(chance[division.sizes].sum())
        tie = adjusted_information((division.entropy, spread), joint, by_chance)
        # Exactly 0 where every cluster holds one value.
        arrangements = max(0.0, division.log_factorials - logs) if cells > clusters else 0.0
        found.append(
            _MeasuredColumn(
                name=column.column,
                distinct=len(value_rows),
                entropy=spread,
                tie=max(0.0, tie),
                conditional_entropy=max(0.0, joint - division.entropy),
                log_arrangements=arrangements,
            )
        )
    return found


def _rows_of(codes: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows of each code."""
    return np.bincount(codes, weights=rows).astype(np.int64)


@njit(cache=True, nogil=True)
def _summed(
    value: NDArray[np.int64],
    group: NDArray[np.int64],
    rows: NDArray[np.int64],
    whole: int,
    labels: Labels,
    clusters: int,
) -> tuple[float, float, int]:
    """Of the rows c of each cluster and value: sums of c ln c and ln c!, and how many there are.

    Rows may be weights, ``whole`` parts to one.  Pairs ascend by value.
    """
    added = np.zeros(clusters, dtype=np.int64)
    entropic, logs, cells = 0.0, 0.0, 0
    start, pairs = 0, len(value)
    while start < pairs:
        end = start
        while end < pairs and value[end] == value[start]:
            added[labels[group[end]]] += rows[end]
            end += 1
        for i in range(start, end):
            cluster = labels[group[i]]
            if added[cluster] == 0:
                continue  # counted at an earlier pair
            count = added[cluster] / whole
            added[cluster] = 0
            cells += 1
            if count != 1.0:
                entropic += count * log(count)
                logs += lgamma(count + 1.0)
        start = end
    return entropic, logs, cells


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

    @staticmethod
    def make(
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


@dataclass(frozen=True)
class ShuffleLimits:
    """What the automatic choice must keep to."""

    divergence: float
    log_probability: float
    probability: Probability


def log_probability(
    permuted: Sequence[ClusteredColumn] | Sequence[_MeasuredColumn],
    rows: int,
    probability: Probability,
) -> float:
    """Log of the probability of guessing all permuted columns of a table of so many rows."""
    if probability == "paper":
        return len(permuted) * whole_column_log_probability(rows)
    return -sum(column.log_arrangements for column in permuted)


@dataclass(frozen=True, eq=False)
class _ChosenDivision:
    """QIC columns within the clusters of one division."""

    labels: Labels
    clusters: int
    kinds: Mapping[str, Kind]
    """Of all columns."""
    ranked: Sequence[_MeasuredColumn]
    log_probabilities: Sequence[float]
    """Of the first column, the first two and so on; none is above the one before."""


@dataclass(frozen=True, eq=False)
class _Candidate:
    """The first so many columns of the rank in a division."""

    division: _ChosenDivision
    number: int

    @property
    def columns(self) -> Sequence[_MeasuredColumn]:
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
    divisions: Sequence[_ChosenDivision]
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
            divisions.append(_ChosenDivision(label, int(label.max()) + 1, kinds, ranked, least))
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

    def _most(self, division: _ChosenDivision) -> int:
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
