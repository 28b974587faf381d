"""Answers about a private table from the noisy counts of a release: tables, or synthetic rows.

COUNT, SUM and AVG under a predicate are sums over cells of the public domain of how many rows each
has.  Where a measured table has all columns that are asked for, the answer is the linear estimate
from all measured tables (``dp.marginals``), and its interval follows from the exact variances of
the noise, which are public.  It is no estimate from the synthetic rows.

Guarantee: over the draws of the noise, ``lower`` and ``upper`` enclose the true aggregate with the
stated confidence, approximately, for the noise of many cells is nearly normal.  The true aggregate
is that over the rows that took part, each number counted as the middle of its range where a cell is
a range: how numbers lie within ranges was not measured.  An average is a ratio of two estimates,
whose interval is Fieller's (1954).

What no table covers is estimated from the synthetic rows, if there are any, and has no interval:
nothing is known of the error of a model.

Cost: one pass over the measurements; without an interval, one scan of the release.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from math import ceil, floor, hypot, sqrt
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from voile.disclosure.counted import Aggregate, Label, Synthetic
from voile.dp.marginals import LinearEstimate, NoisyMarginals
from voile.query.cells import CellsOfColumn, matching_cells
from voile.query.parsing import AggregateCall, QueriedColumns, parse_aggregate, parse_predicate
from voile.release.claims import CountedPrivately, SynthesizedPrivately
from voile.release.consistent_cells import noisy_marginals
from voile_base.errors import QueryError
from voile_base.values.expressions import Expression, both, columns_of, is_missing, negated

if TYPE_CHECKING:
    from voile.release.release import Release
    from voile.table.published import PublishedTable

__all__ = ["EstimatedAnswer", "estimated_answer", "fieller"]

_CONFIDENCE = 0.95
_ROUNDING = 1e-6
"""Of sums of counts in double precision."""
_MIDDLES = "each number counts as the middle of its range, which the interval does not allow for"
_TOO_SMALL = "standard errors computed from the synthetic rows are too small: they ignore the noise"


@dataclass(frozen=True)
class EstimatedAnswer:
    """An estimate of an aggregate, and an interval where its error is known."""

    aggregate: str
    """COUNT, SUM or AVG."""
    column: str | None
    """None for COUNT(*)."""
    where: str | None
    """The predicate as it was asked; None for all rows."""
    estimate: float | None
    """None where there is none: the average of rows of which there seem to be none."""
    lower: float | None
    upper: float | None
    """None, both, where the answer has no interval; whole numbers for COUNT."""
    confidence: float | None
    """With which the interval encloses the truth, between 0 and 1; None without an interval."""
    source: str
    """What the estimate is made of, and what interval it has or why none."""
    notes: tuple[str, ...]
    """What else has to be known about it, in sentences without a full stop."""

    def document(self) -> dict[str, object]:
        """The answer as JSON takes it."""
        return {**asdict(self), "notes": list(self.notes)}


@dataclass(frozen=True, eq=False)
class _Question:
    """What is asked, and what of."""

    asked: AggregateCall
    condition: Expression | None
    where: str | None
    confidence: float
    synthetic: bool
    """Whether the release has rows, which may be taken for a sample."""
    columns: tuple[CellsOfColumn, ...]
    """Those that are asked for, in their order."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def read(self) -> set[str]:
        """The columns that the condition or the aggregate reads."""
        condition = set() if self.condition is None else set(columns_of(self.condition))
        return condition if self.asked.column is None else condition | {self.asked.column}

    @property
    def counted(self) -> bool:
        """Whether rows were counted by all columns that it reads."""
        return self.read <= set(self.names)

    def weights(self, holds: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
        """What each cell counts in the aggregate, or in the dividend and the divisor of AVG."""
        if self.asked.column is None or self.asked.function == "COUNT":
            return (holds,)
        axis = self.names.index(self.asked.column)
        shape = [-1 if place == axis else 1 for place in range(len(self.columns))]
        sums = holds * self.columns[axis].middles.reshape(shape)
        if self.asked.function == "SUM":
            return (sums,)
        return sums, holds * self.columns[axis].present.reshape(shape)

    def answer(
        self,
        estimate: float | None,
        source: str,
        bounds: tuple[float, float] | None = None,
    ) -> EstimatedAnswer:
        """An answer to it."""
        notes = [_TOO_SMALL] if self.synthetic else []
        of = next((c for c in self.columns if c.name == self.asked.column), None)
        if bounds is not None and self.asked.function != "COUNT" and of is not None and of.ranges:
            notes.insert(0, _MIDDLES)
        lower, upper = bounds or (None, None)
        return EstimatedAnswer(
            self.asked.function, self.asked.column, self.where, estimate, lower, upper,
            None if bounds is None else self.confidence, source, tuple(notes),
        )  # fmt: skip


def estimated_answer(
    release: Release, aggregate: str, where: str | None, confidence: float | None = None
) -> EstimatedAnswer:
    """Answer an aggregate query from a release with measurements.

    ``aggregate`` is COUNT(*), COUNT of a column's values that are not missing, or SUM or AVG of a
    column of numbers; ``where`` a predicate of SQL; ``confidence`` between 0 and 1, None for that
    of the release.

    Raises ``QueryError`` where the query cannot be read, or is of another kind, or no table of
    counts has what is asked for.
    """
    if confidence is None:
        confidence = _stated_confidence(release)
    elif not 0 < confidence < 1:
        msg = f"the confidence of an interval is between 0 and 1, such as 0.95, not {confidence}"
        raise QueryError(msg)
    kinds = CountedPrivately | SynthesizedPrivately
    claim = next((c for c in release.guarantee.claims if isinstance(c, kinds)), None)
    if claim is None or release.measurements is None:
        msg = "the release has no measurements of a kind that queries can be answered from"
        raise QueryError(msg)
    marginals = noisy_marginals(release.measurements, claim, release.disclosure)
    question = _question(release, marginals, aggregate, where, confidence)
    summed = _summed(question, release, claim, marginals)
    if summed is not None:
        return summed
    if not question.counted:
        why = f"no table that has {' and '.join(sorted(question.read))} was measured"
    elif marginals.covers(question.names):
        holds = _holds(question)
        if holds is not None:
            return _measured(question, marginals, holds)
        why = "the predicate divides a range of values that was counted as one"
    else:
        columns = " and ".join(question.names)
        why = f"no table that has {columns} was measured"
    if question.synthetic:
        return _modelled(question, release.table, marginals, why)
    msg = f"{why}, and the release has no rows to estimate from; ask for less, or for whole ranges"
    raise QueryError(msg)


def _summed(
    question: _Question,
    release: Release,
    claim: CountedPrivately | SynthesizedPrivately,
    counts: NoisyMarginals,
) -> EstimatedAnswer | None:
    """SUM and AVG from noisy sums of the column, which need no middles of ranges.

    None where none were measured, or the predicate reads the column or others than tables have.
    """
    column, function = question.asked.column, question.asked.function
    of = next((it.sums for it in claim.tables if it.sums and it.sums.column == column), None)
    if of is None or column is None or function == "COUNT" or release.measurements is None:
        return None
    if question.condition is not None and column in columns_of(question.condition):
        return None
    others = tuple(it for it in question.columns if it.name != column)
    own = replace(question, columns=others)
    sums = noisy_marginals(release.measurements, claim, release.disclosure, column)
    covered = sums.covers(own.names) and counts.covers(own.names)
    holds = _holds(own) if covered else None
    if holds is None:
        return None
    (added,), (rows,) = (it.estimates(own.names, [holds]) for it in (sums, counts))
    low, high = float(Fraction(of.low)), float(Fraction(of.high))
    part, middle = (high - low) / 2 / of.parts, (low + high) / 2
    source = (
        f"estimated from the noisy sums of {column}, clamped to [{low:.12g}, {high:.12g}]; "
        f"{100 * question.confidence:.4g} % confidence interval over the noise that was added, for "
        "the rows that took part"
    )
    if function == "AVG":
        ratio = fieller(added, rows, 0.0, question.confidence)
        if ratio is None:
            return own.answer(None, "no answer: there may be no such row, by the noisy counts")
        value, *ends = (min(max(middle + it * part, low), high) for it in ratio)
        return own.answer(value, source, (ends[0], ends[1]))
    value = added.value * part + middle * rows.value
    margin = hypot(
        added.margin(question.confidence) * part, middle * rows.margin(question.confidence)
    )
    return own.answer(value, source, (value - margin, value + margin))


def _stated_confidence(release: Release) -> float:
    """That of a release, where it states one."""
    for claim in release.guarantee.claims:
        if isinstance(claim, SynthesizedPrivately) and claim.confidence is not None:
            return claim.confidence
    for shown in release.disclosure.columns.values():
        if isinstance(shown, Aggregate):
            return shown.confidence
    return _CONFIDENCE


def _question(
    release: Release,
    marginals: NoisyMarginals,
    aggregate: str,
    where: str | None,
    confidence: float,
) -> _Question:
    kinds = _kinds(release)
    columns = QueriedColumns(kinds, None)
    asked = parse_aggregate(aggregate, columns)
    if asked.function in {"MIN", "MAX"}:
        msg = (
            f"{asked.function} is the value of one row, which no counts with noise tell; "
            "ask for COUNT, SUM or AVG"
        )
        raise QueryError(msg)
    if asked.function != "COUNT" and kinds[asked.column or ""] not in {"integer", "decimal"}:
        msg = f"{asked}: {asked.column!r} is not a column of numbers; ask for COUNT"
        raise QueryError(msg)
    conditions = [parse_predicate(where, columns)] if where is not None else []
    if asked.function == "COUNT" and asked.column is not None:
        conditions.append(negated(is_missing(asked.column)))
    condition = both(*conditions) if conditions else None
    names = {name for it in conditions for name in columns_of(it)} | ({asked.column} - {None})
    described = release.disclosure.columns
    cells = [
        CellsOfColumn.of(name, kinds[name], marginals.labels[name], shown.groups or {})
        for name, shown in described.items()
        if name in names and isinstance(shown, Synthetic | Label)
    ]
    synthetic = any(isinstance(shown, Synthetic) for shown in described.values())
    return _Question(asked, condition, where, confidence, synthetic, tuple(cells))


def _kinds(release: Release) -> Mapping[str, str]:
    """The kinds of the columns that can be asked for: of rows, or of what cells stand for."""
    rows, shown = release.table.kinds(), release.disclosure.columns
    stated = {name: it.values for name, it in shown.items() if isinstance(it, Label) and it.values}
    summed = {it.of: "decimal" for it in shown.values() if isinstance(it, Aggregate) and it.of}
    made = {name: rows[name] for name, it in shown.items() if isinstance(it, Synthetic)}
    return {**summed, **made, **stated}


def _holds(question: _Question) -> NDArray[np.float64] | None:
    """For which cells the condition holds; None where it divides one."""
    shape = tuple(len(column.labels) for column in question.columns)
    if question.condition is None:
        return np.ones(shape)
    return matching_cells(question.condition, question.columns)


def _measured(
    question: _Question, marginals: NoisyMarginals, holds: NDArray[np.float64]
) -> EstimatedAnswer:
    """From all tables that tell of it, with an interval."""
    weights = question.weights(holds)
    found = marginals.estimates(question.names, weights)
    source = (
        f"estimated from the noisy counts; {100 * question.confidence:.4g} % confidence interval "
        "over the noise that was added, for the rows that took part"
    )
    if question.asked.function == "AVG":
        covariance = marginals.covariance(question.names, *weights)
        ratio = fieller(found[0], found[1], covariance, question.confidence)
        if ratio is None:
            return question.answer(None, "no answer: there may be no such row, by the noisy counts")
        return question.answer(ratio[0], source, ratio[1:])
    value, margin = found[0].value, found[0].margin(question.confidence)
    low, high = value - margin, value + margin
    if question.asked.function == "COUNT":  # a whole number, and none is below 0
        inner = ceil(low - _ROUNDING), floor(high + _ROUNDING)
        inner = inner if inner[0] <= inner[1] else (floor(low), ceil(high))
        low, high = (float(max(end, 0)) for end in inner)
        value = min(max(value, low), high)
    return question.answer(value, source, (low, high))


def fieller(
    dividend: LinearEstimate, divisor: LinearEstimate, covariance: float, confidence: float
) -> tuple[float, float, float] | None:
    """A ratio and its bounds; None where the divisor may be 0."""
    z = max(
        it.margin(confidence) / sqrt(it.variance) if it.variance else 0.0
        for it in (dividend, divisor)
    )
    square = divisor.value**2 - z**2 * divisor.variance
    if divisor.value <= 0 or square <= 0:
        return None
    middle = dividend.value * divisor.value - z**2 * covariance
    ends = middle**2 - square * (dividend.value**2 - z**2 * dividend.variance)
    width = sqrt(max(ends, 0.0))
    ratio = dividend.value / divisor.value
    return ratio, (middle - width) / square, (middle + width) / square


def _modelled(
    question: _Question, table: PublishedTable, marginals: NoisyMarginals, why: str
) -> EstimatedAnswer:
    """From the synthetic rows, in as many as there seem to be."""
    rows = marginals.estimates((), [np.ones(())])[0].value / max(table.rows, 1)
    source = f"estimated from the synthetic rows; no interval: {why}"
    column = question.asked.column
    values = table.count_matching(question.condition, column or table.columns[0])
    if question.asked.function == "COUNT":
        return question.answer(max(rows, 0.0) * sum(values.values()), source)
    present = {value: count for value, count in values.items() if value is not None}
    total = sum(float(value) * count for value, count in present.items())
    if question.asked.function == "SUM":
        return question.answer(rows * total, source)
    count = sum(present.values())
    return question.answer(total / count if count else None, source)
