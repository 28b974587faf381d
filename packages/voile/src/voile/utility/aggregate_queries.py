"""Error of aggregate queries: how wrong the answers of a release are; private.

What it does: draws queries by a key, answers each from the original and from the release, and
reports the median and the mean relative error.

Source: Xiao and Tao, "Anatomy: simple and effective privacy preservation" (VLDB 2006), section 6:
COUNT queries with predicates on several quasi-identifiers and on a sensitive column, answered from
generalized rows as if values were spread evenly; so, too, LeFevre, DeWitt and Ramakrishnan,
"Workload-aware anonymization" (KDD 2006).  The bound below which errors are not blown up, a
thousandth of the rows, is that of Xiao, Wang and Gehrke, "Differential privacy via wavelet
transforms" (ICDE 2010), section 7.

Claim: an original published as it is has no error.  The queries:

    SELECT COUNT(*)        WHERE A in S1 [AND B in S2 [AND C in S3]] AND X in S4
    SELECT SUM(Y), AVG(Y)  WHERE A in S1 [AND B in S2 [AND C in S3]]

A, B, C are quasi-identifiers drawn without replacement; X is a sensitive column, Y the first one
that holds numbers; without a sensitive column the COUNT has no X, without numbers there is no Y.
How predicates are drawn stands below.

Relative error: |answer - truth| / max(|truth|, ``sanity`` times the same aggregate of |Y| over all
rows).  An AVG over no row of the original is not asked; where nothing that the release shows can
match, the answer is its AVG over all rows.

Algorithm: each entry of a row matches a predicate with the share of it that does (``covering``);
a row matches with the product over the predicates, and adds as much of the expectation of Y.
Counts and sums of a release that is a sample at a stated rate beta are divided by beta.  Suppressed
rows are not made up for: nobody is told how many there are.

Where the plan names sampling weights that the release shows, rows count by them.

Of more than ``MOST_ROWS`` rows those that show the same are counted once, and rows of the original
that differ by whether they match.

Cost: O(q (n p + d + e)) for q queries with p predicates on n rows, d values and e entries,
and O(d log d) to draw a predicate.

Departures: one measure has queries of one to three quasi-identifiers; the selectivity is a share
of the rows, not of the domain.

Random queries are conjunctions of predicates, each of which says for every distinct value of a
column whether it is asked for.  With p predicates and selectivity s, each asks for about a share f
= s^(1 / p) of rows. Numbers, dates and times: a range of neighbouring values, those whose rank in
the distribution (the share of rows below, and half of their own) is between u and u + f, with u
uniform from 0 to 1 - f; where that is none, the one value at u + f / 2.  A missing number is in no
range.  Texts: the first values of a random order, as many as bring their share of the rows nearest
to f, at least one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from itertools import chain
from typing import Any, ClassVar, Self, SupportsFloat

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from voile.disclosure.covering import Spread
from voile.table.codes import Codes, Combinations, count_codes, count_pairs, look_up
from voile.utility.covering import (
    ColumnCovering,
    OriginalDomain,
    columns_in_role,
    coverings,
    expectations,
    sampling_weights,
)
from voile.utility.protocol import MOST_ROWS, Comparison, Measurement
from voile_base.compiled import njit, pays
from voile_base.errors import InputError
from voile_base.ondemand import dataclass
from voile_base.randomness import Key

__all__ = ["RelativeQueryError"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
_Bits = NDArray[np.uint8]
"""One bit for each row, as ``packbits`` orders them; those behind the last row are 0."""
Errors = Mapping[str, Sequence[float]]
"""Relative errors by aggregate and number of quasi-identifiers."""
Answers = Mapping[str, float | None]
"""To each aggregate; None for an AVG over nothing."""

_COUNT, _SUM, _AVERAGE = "COUNT", "SUM", "AVG"
_SEVERAL = 4
"""Rows of a combination, on average, from which on they are counted by their combinations."""
_MOST_BITS = 1 << 28
"""Of each value of a column, one for each row: 32 MiB."""
_WORTH_LOADING = 200_000_000
"""Rows whose bits NumPy counts while Numba is loaded."""
_NOTHING = 1e-9
"""Expected rows below this are rounding."""
Predicates = Mapping[str, NDArray[np.bool_]]
"""For each column, shape (d,): which of its distinct values are asked for."""


@dataclass(frozen=True)
class RelativeQueryError:
    """Median and mean relative error of random aggregate queries.

    Raises ``InputError`` for parameters that cannot be.
    """

    queries: int = 200
    """How many are drawn, each a COUNT; where there are numbers, a SUM and an AVG, too."""
    selectivity: float = 0.05
    """Share of the rows that would match if columns were independent."""
    most: int = 3
    """Quasi-identifiers of a query: 1 to this many, in turn."""
    sanity: float = 0.001
    """Truths below this share of the aggregate over all rows count as this share."""
    name: ClassVar[str] = "query-error"

    def __post_init__(self) -> None:
        if self.queries < 1 or self.most < 1:
            msg = "queries and most must be at least 1"
            raise InputError(msg)
        if not (0 < self.selectivity <= 1 and 0 < self.sanity <= 1):
            msg = "selectivity and sanity must be above 0 and at most 1"
            raise InputError(msg)

    def refusal(self, comparison: Comparison) -> str | None:
        """Queries ask for quasi-identifiers."""
        if not columns_in_role(comparison, "quasi_identifiers"):
            return "the release shows no quasi-identifier that queries could ask for"
        return None

    def measure(self, comparison: Comparison) -> Sequence[Measurement]:
        """Median and mean error, by aggregate and number of quasi-identifiers."""
        known, sensitive = (
            columns_in_role(comparison, role) for role in ("quasi_identifiers", "sensitive")
        )
        columns = coverings(comparison, [*known, *sensitive])
        queries = _random_queries(
            [columns[name].domain for name in known],
            [columns[name].domain for name in sensitive],
            counts=[1 + number % min(self.most, len(known)) for number in range(self.queries)],
            selectivity=self.selectivity,
            key=comparison.randomness.key("utility", self.name),
        )
        numeric = [name for name in sensitive if columns[name].points is not None]
        summed = numeric[0] if numeric else None
        truth = _Table.original(columns, summed)
        given = _Table.published(columns, summed, _sampling_rate(comparison))
        blind = _Table.telling_nothing(columns, summed)
        notes: tuple[str, ...] = ()
        if (weights := sampling_weights(comparison)) is not None:
            truth, given = (
                replace(side, people=of) for side, of in zip((truth, given), weights, strict=True)
            )
            blind = replace(blind, people=np.array([weights[0].mean()]))
            notes = ("rows count by their sampling weights",)
        truth, given = (replace(side, cells=_Cells.of(side, known)) for side in (truth, given))
        right, whole = [truth.answers(query) for query in queries], truth.magnitudes()
        errors, worst = (
            self._errors(side, zip(queries, right, strict=True), whole) for side in (given, blind)
        )
        return [
            self._measurement(self.name, np.median, errors, worst, notes),
            self._measurement(f"mean-{self.name}", np.mean, errors, worst, notes),
        ]

    def _errors(
        self, given: _Table, asked: Iterable[tuple[_Query, Answers]], whole: Mapping[str, float]
    ) -> Errors:
        """Of each query, which comes with the truth; ``whole`` are the aggregates over all rows."""
        otherwise = given.average()
        errors: dict[str, list[float]] = {}
        for query, truth in asked:
            found = given.answers(query)
            for aggregate, right in truth.items():
                if right is None:
                    continue
                answer = found[aggregate]
                apart = abs((otherwise if answer is None else answer) - right)
                scale = max(abs(right), self.sanity * whole[aggregate])
                part = _part(aggregate, len(query.known))
                errors.setdefault(part, []).append(apart / scale if scale > 0 else 0.0)
        return {part: errors[part] for part in sorted(errors)}

    def _measurement(
        self,
        measure: str,
        of: Callable[[Sequence[float]], SupportsFloat],
        errors: Errors,
        blind: Errors,
        notes: tuple[str, ...],
    ) -> Measurement:
        middle = "Median" if measure == self.name else "Mean"
        return Measurement(
            measure=measure,
            title=f"{middle} error of aggregate queries",
            value=float(of([*chain(*errors.values())])),
            better="lower",
            meaning=(
                f"the {middle.lower()} relative error of random aggregates over about "
                f"{self.selectivity:.3g} of the rows, answered from the release"
            ),
            untouched=0.0,
            useless=float(of([*chain(*blind.values())])),
            parts={part: float(of(values)) for part, values in errors.items()},
            notes=notes,
        )


@dataclass(frozen=True, eq=False)
class _Table:
    """Rows that answer queries: what each shows of the columns, and how many it stands for."""

    columns: Mapping[str, tuple[Spread | None, Codes]]
    """The entries' distributions, None where they are the values, and the entry of each row."""
    summed: tuple[Codes, Floats] | None
    """The entry of each row in the column whose numbers are added, and what each of its e entries
    adds, shape (e, 2): the probability that there is a number, and its expectation."""
    weight: float
    """How many rows of the original each stands for."""
    rows: int
    people: Floats | None = None
    """Shape (n,): the sampling weight of each row; None: 1 each."""
    cells: _Cells | None = None
    """Rows that show the same of the quasi-identifiers, where many do; None: row by row."""
    having: dict[str, list[_Bits]] = field(default_factory=dict, init=False, repr=False)
    """For each value of a column that predicates asked for, which rows have it."""

    @classmethod
    def original(cls, columns: Mapping[str, ColumnCovering], summed: str | None) -> Self:
        """The truth."""
        shown = {name: (None, column.own) for name, column in columns.items()}
        return cls._of(columns, summed, shown)

    @classmethod
    def published(
        cls, columns: Mapping[str, ColumnCovering], summed: str | None, rate: float
    ) -> Self:
        """The release, a sample of the original at this rate."""
        shown = {name: (column.spread, column.entry) for name, column in columns.items()}
        return cls._of(columns, summed, shown, 1 / rate)

    @classmethod
    def telling_nothing(cls, columns: Mapping[str, ColumnCovering], summed: str | None) -> Self:
        """As many rows as in the original, all of them suppressed: one row counted so often."""
        first = np.zeros(1, dtype=np.int64)
        shown = {name: (_anything(column.spread), first) for name, column in columns.items()}
        rows = max(len(column.own) for column in columns.values())
        return cls._of(columns, summed, shown, float(rows))

    @classmethod
    def _of(
        cls,
        columns: Mapping[str, ColumnCovering],
        summed: str | None,
        shown: Mapping[str, tuple[Spread | None, Codes]],
        weight: float = 1.0,
    ) -> Self:
        adding = None
        if summed is not None and (points := columns[summed].points) is not None:
            known, (spread, entry) = ~np.isnan(points), shown[summed]
            values = np.column_stack([known.astype(np.float64), np.where(known, points, 0.0)])
            adding = entry, values if spread is None else expectations(spread, values)
        rows = max(len(entry) for _, entry in shown.values())
        return cls(shown, adding, weight, rows)

    def answers(self, query: _Query) -> Answers:
        """The answer to each aggregate; None for an AVG over nothing."""
        if self.cells is not None:
            return self.cells.answers(query, self)
        if self.rows > MOST_ROWS and self.people is None and self._is_of_values:
            return self._counted(query)
        _, matching = self._matching(query.counted)
        rows, sums = float(matching.sum()), None
        if self.summed is not None:
            which, matching = self._matching(query.known)
            entry, adds = self.summed
            sums = matching @ adds[entry[which]]
        return self.aggregates(rows, sums)

    @property
    def _is_of_values(self) -> bool:
        """Whether each entry is one value, which a predicate asks for or does not."""
        return all(spread is None for spread, _ in self.columns.values())

    def _counted(self, query: _Query) -> Answers:
        """As ``answers``, but for rounding, of rows that match or do not: a bit of each."""
        rows = float(np.bitwise_count(self._those(query.counted)).sum())
        if self.summed is None:
            return self.aggregates(rows, None)
        entry, adds = self.summed
        return self.aggregates(rows, _counted(self._those(query.known), entry, len(adds)) @ adds)

    def _those(self, predicates: Predicates) -> _Bits:
        """Which rows match."""
        first, *others = [self._having_one_of(*predicate) for predicate in predicates.items()]
        for bits in others:
            np.bitwise_and(first, bits, out=first)
        return first

    def _having_one_of(self, name: str, chosen: NDArray[np.bool_]) -> _Bits:
        """Which rows have a value that is asked for.

        Neighbours are compared; others are gathered from bits that are kept of each value, or
        looked up where these would be too many.
        """
        entry, asked = self.columns[name][1], np.flatnonzero(chosen)
        if len(asked) and asked[-1] - asked[0] == len(asked) - 1:
            low, high = int(asked[0]), int(asked[-1])  # so that codes stay as narrow as they are
            return np.packbits((entry >= low) & (entry <= high))
        if len(chosen) * len(entry) > _MOST_BITS:
            return np.packbits(look_up(chosen, entry))
        if name not in self.having:
            values = range(len(chosen))
            self.having[name] = [np.packbits(entry == value) for value in values]
        found = np.zeros((len(entry) + 7) // 8, dtype=np.uint8)
        for value in asked.tolist():
            np.bitwise_or(found, self.having[name][value], out=found)
        return found

    def aggregates(self, rows: float, sums: Floats | None) -> Answers:
        """The answers, from the rows that match and the sums over those known."""
        answers: dict[str, float | None] = {_COUNT: self.weight * rows}
        if sums is not None:
            count, total = sums.tolist()
            answers[_SUM] = self.weight * total
            answers[_AVERAGE] = total / count if count > _NOTHING else None
        return answers

    def magnitudes(self) -> dict[str, float]:
        """The aggregates over all rows, of numbers without their sign."""
        rows = float(self.rows) if self.people is None else float(self.people.sum())
        answers = {_COUNT: self.weight * rows}
        if self.summed is not None:
            count, total = (self._rows_of_entries() @ np.abs(self.summed[1])).tolist()
            answers |= {_SUM: self.weight * total, _AVERAGE: total / max(count, _NOTHING)}
        return answers

    def average(self) -> float:
        """The AVG over all rows; 0 where there is none."""
        if self.summed is None:
            return 0.0
        count, total = (self._rows_of_entries() @ self.summed[1]).tolist()
        return float(total / max(count, _NOTHING))

    def _rows_of_entries(self) -> Floats:
        """Rows by their sampling weights, of each entry of the column that is added, shape (e,)."""
        assert self.summed is not None
        entry, adds = self.summed
        if self.people is None:
            return count_codes(entry, len(adds)).astype(np.float64)
        return np.bincount(entry, self.people, len(adds)).astype(np.float64)

    def _matching(self, predicates: Predicates) -> tuple[slice | Indices, Floats]:
        """Rows that may match, and the probability of each times its sampling weight.

        The predicate of the fewest values comes first: others look only at rows that it leaves.
        """
        rows: slice | Indices = slice(None)
        matching = self.people
        for name, chosen in sorted(predicates.items(), key=lambda one: float(one[1].mean())):
            spread, entry = self.columns[name]
            share = look_up(_of_entries(chosen, spread), entry[rows])
            matching = share if matching is None else matching * share
            left = np.flatnonzero(matching != 0)
            if len(left) < len(matching) / 2:
                rows = left if isinstance(rows, slice) else rows[left]
                matching = matching[left]
        assert matching is not None, "a query has a predicate"
        return rows, matching


@dataclass(frozen=True, eq=False)
class _Cells:
    """The c different combinations of what rows show of the quasi-identifiers."""

    shown: Mapping[str, Codes]
    """Shape (c,): the entry of each column."""
    number: Codes
    """Shape (n,): the combination of each row."""
    rows: Floats
    """Shape (c,)."""
    sums: Floats | None
    """Shape (c, 2): of the numbers of their rows."""
    pairs: dict[str, Any] = field(default_factory=dict)
    """For each sensitive column how many rows have a combination and an entry, sparse (c, e)."""

    @classmethod
    def of(cls, table: _Table, known: Sequence[str]) -> Self | None:
        """Of a table without sampling weights; None where they are about as many as the rows."""
        if table.rows <= MOST_ROWS or table.people is not None:
            return None
        entries = [table.columns[name] for name in known]
        sizes = [int(entry.max(initial=0)) + 1 for _, entry in entries]
        found = Combinations.of(
            [(entry, size) for (_, entry), size in zip(entries, sizes, strict=True)]
        )
        if len(found.rows) > table.rows / _SEVERAL:
            return None
        number, sums = found.index, None
        if table.summed is not None:
            entry, adds = table.summed
            each = [
                np.bincount(number, look_up(np.ascontiguousarray(column), entry), len(found.rows))
                for column in adds.T
            ]
            sums = np.stack(each, axis=1).astype(np.float64, copy=False)
        shown = dict(zip(known, found.codes, strict=True))
        return cls(shown, number, found.rows.astype(np.float64), sums)

    def answers(self, query: _Query, table: _Table) -> Answers:
        """As the table gives them, but for rounding."""
        matching = self._matching(query.counted, table)
        secret = [name for name in query.counted if name not in self.shown]
        if secret:
            share = _of_entries(query.counted[secret[0]], table.columns[secret[0]][0])
            count = float(matching @ (self._paired(secret[0], table, len(share)) @ share))
        else:
            count = float(matching @ self.rows)
        if self.sums is None:
            return table.aggregates(count, None)
        return table.aggregates(count, self._matching(query.known, table) @ self.sums)

    def _matching(self, predicates: Predicates, table: _Table) -> Floats:
        """The share of the rows of each combination that match what is asked of it, shape (c,)."""
        matching = np.ones(len(self.rows))
        for name, chosen in predicates.items():
            if name in self.shown:
                matching *= _of_entries(chosen, table.columns[name][0])[self.shown[name]]
        return matching

    def _paired(self, name: str, table: _Table, entries: int) -> Any:
        if name not in self.pairs:
            shape, entry = (len(self.rows), entries), table.columns[name][1]
            cell, shown, rows = count_pairs((self.number, shape[0]), (entry, entries))
            self.pairs[name] = csr_array((rows.astype(np.float64), (cell, shown)), shape)
        return self.pairs[name]


def _of_entries(chosen: NDArray[np.bool_], spread: Spread | None) -> Floats:
    """The share of each entry that a predicate asks for, shape (e,)."""
    values = chosen[:, np.newaxis].astype(np.float64)
    found = values if spread is None else expectations(spread, values)
    return np.ascontiguousarray(found[:, 0])


def _counted(those: _Bits, entry: Codes, entries: int) -> NDArray[np.int64]:
    """How many of the rows whose bit is set have each entry, shape (entries,)."""
    if pays(len(entry), _WORTH_LOADING):
        counts = np.zeros(entries, dtype=np.int64)
        _count_bits(those, entry, counts)
        return counts
    chosen = np.unpackbits(those, count=len(entry)).view(np.bool_)
    return np.bincount(entry[chosen], minlength=entries)


@njit(cache=True, nogil=True)
def _count_bits(those: _Bits, entry: Codes, counts: NDArray[np.int64]) -> None:
    for byte in range(len(those)):
        if those[byte]:
            for row in range(8 * byte, min(8 * byte + 8, len(entry))):
                counts[entry[row]] += (those[byte] >> np.uint8(7 - (row & 7))) & np.uint8(1)


def _anything(spread: Spread) -> Spread:
    """The distribution of one entry that may stand for every value."""
    values = len(spread.weight)
    first, last = np.zeros(1, dtype=np.int64), np.array([values])
    return Spread(np.arange(values), first, last, spread.weight)


def _sampling_rate(comparison: Comparison) -> float:
    """The probability with which a row was sampled, where the release states it."""
    return comparison.published.disclosure.probability


def _part(aggregate: str, known: int) -> str:
    return f"{aggregate}, {known} quasi-identifier{'s' if known > 1 else ''}"


@dataclass(frozen=True)
class _Query:
    """The predicates of a query."""

    known: Predicates
    """On quasi-identifiers, for sums and averages."""
    counted: Predicates
    """On the same ones and a sensitive column, for counts; wider each, to match as often."""


def _random_queries(
    known: Sequence[OriginalDomain],
    sensitive: Sequence[OriginalDomain],
    *,
    counts: Sequence[int],
    selectivity: float,
    key: Key,
) -> list[_Query]:
    """A query for each of ``counts``: how many of the ``known`` columns it has, at least 1."""
    draws = _Draws(key)
    queries = []
    for count in counts:
        asked = [known[index] for index in draws.order(len(known))[:count]]
        secret = [sensitive[index] for index in draws.order(len(sensitive))[:1]]
        queries.append(
            _Query(
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


def _predicates(columns: Sequence[OriginalDomain], selectivity: float, draws: _Draws) -> Predicates:
    share = selectivity ** (1 / len(columns))
    return {
        column.name: (_set if column.points is None else _range)(column, share, draws)
        for column in columns
    }


def _range(column: OriginalDomain, share: float, draws: _Draws) -> NDArray[np.bool_]:
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


def _set(column: OriginalDomain, share: float, draws: _Draws) -> NDArray[np.bool_]:
    """Random values with about this share of the rows."""
    order = draws.order(len(column))
    reached = np.cumsum(column.rows[order]) / column.rows.sum()
    chosen = np.zeros(len(column), dtype=np.bool_)
    chosen[order[: 1 + int(np.argmin(np.abs(reached - share)))]] = True
    return chosen
