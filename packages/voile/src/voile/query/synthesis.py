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

**Cells**: a predicate holds for all of a cell, for none of it, or for a part.

A cell that stands for a range is looked at where a predicate can change: at its ends, and at and
beside every number or day that the predicate compares the column with.  That decides where the
column is compared with literals; a predicate that calculates with it cuts every range.

Cost: the combinations of these values, some one to nine for each combination of cells.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import date
from fractions import Fraction
from math import ceil, floor, hypot, sqrt
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from voile.disclosure.counted import Aggregate, Label, Synthetic
from voile.dp.marginals import LinearEstimate, NoisyMarginals
from voile.query.parsing import AggregateCall, QueriedColumns, parse_predicate
from voile.release.consistent_cells import noisy_marginals
from voile.release.method_claims import CountedPrivately, SynthesizedPrivately
from voile.table.domains import flagged_values
from voile_base.errors import QueryError
from voile_base.ondemand import dataclass
from voile_base.values import usable_number
from voile_base.values.expressions import (
    Call,
    Column,
    Expression,
    Literal,
    both,
    columns_of,
    is_missing,
    negated,
)

if TYPE_CHECKING:
    from voile.release.release import Release
    from voile.table.published import PublishedTable

__all__ = [
    "EstimatedAnswer",
    "fieller",
]

_COMPARISONS = {"=", "<>", "<", "<=", ">", ">=", "same", "other", "in"}
_CASTS = {"integer", "decimal", "number of text", "date", "text"}
_DAY_ZERO = date(1970, 1, 1)
_KINDS = ("integer", "decimal", "date")


@dataclass(frozen=True)
class _CellsOfColumn:
    """The c cells of a column as a release states them."""

    name: str
    kind: str
    """Of its values: integer, decimal, date or text."""
    labels: tuple[str | None, ...]
    """None for the missing value."""
    groups: Mapping[str, tuple[str, ...]]
    """What a cell stands for that is a group of listed values."""

    @classmethod
    def of(
        cls,
        name: str,
        kind: str,
        labels: Sequence[str | None],
        groups: Mapping[str, tuple[str, ...]],
    ) -> _CellsOfColumn:
        """Those of a published column whose values are of a kind."""
        return cls(name, kind if kind in _KINDS else "text", tuple(labels), groups)

    @property
    def middles(self) -> NDArray[np.float64]:
        """Shape (c,): the mean of the numbers that each stands for; 0 of a missing value."""
        return np.array([np.mean(self._numbers(label) or [0.0]) for label in self.labels])

    @property
    def present(self) -> NDArray[np.float64]:
        """Shape (c,): 1 of cells that stand for values, 0 of the missing one."""
        return np.array([float(label is not None) for label in self.labels])

    @property
    def ranges(self) -> bool:
        """Whether some cell stands for several numbers or days."""
        return self.kind != "text" and any(len(self._numbers(label)) > 1 for label in self.labels)

    def cut_by(self, predicate: Expression) -> bool:
        """Whether a predicate may change within a range where nobody looks."""
        return self.ranges and not _only_compared(predicate, self.name)

    def values(self, predicate: Expression) -> tuple[list[float | str | None], NDArray[np.int64]]:
        """The values at which a predicate has to be looked at, and the cell of each."""
        literals = _literals(predicate, self.name)
        beside = sorted({place for it in literals for place in self._near(it)})
        found: list[list[float | str | None]] = []
        for label in self.labels:
            if label is None or self.kind == "text":
                found.append([*self.groups.get(label or "", (label,))])
                continue
            own = self._numbers(label)
            within = [it for it in beside if len(own) > 1 and min(own) < it < max(own)]
            found.append([*own, *within])
        cells = np.repeat(np.arange(len(found)), [len(values) for values in found])
        return [value for values in found for value in values], cells

    def _numbers(self, label: str | None) -> list[float]:
        """The least and the greatest number or day of a cell, or all that are listed."""
        if label is None:
            return []
        texts = self.groups.get(label) or label.strip("[]").split(", ")
        return [self._number(text) for text in texts]

    def _number(self, text: str) -> float:
        if self.kind == "date":
            return float((date.fromisoformat(text) - _DAY_ZERO).days)
        return float(usable_number(text, texts=True) or 0)

    def _near(self, value: object) -> tuple[float, ...]:
        """A literal, and values next to it that the column may have."""
        if isinstance(value, date):
            value = (value - _DAY_ZERO).days
        if isinstance(value, bool) or not isinstance(value, int | float):
            return ()
        if self.kind == "decimal":
            return float(np.nextafter(value, -np.inf)), value, float(np.nextafter(value, np.inf))
        return tuple(float(np.floor(value) + step) for step in (-1, 0, 1, 2))


def _matching_cells(
    predicate: Expression, columns: Sequence[_CellsOfColumn]
) -> NDArray[np.float64] | None:
    """The cells for which a predicate holds, 1, and for which it does not, 0; None if it cuts one.

    Shape: the cells of ``columns``, those that it reads among them.
    """
    if any(column.cut_by(predicate) for column in columns):
        return None
    shape = tuple(len(column.labels) for column in columns)
    looked_at = {column.name: column.values(predicate) for column in columns}
    kinds = {column.name: column.kind for column in columns}
    holds = flagged_values(predicate, {n: (kinds[n], it) for n, (it, _) in looked_at.items()})
    cells = np.zeros((2, *shape))
    places = np.ix_(*(cell for _, cell in looked_at.values()))
    np.add.at(cells[1], places, 1)
    np.add.at(cells[0], places, holds)
    if ((cells[0] > 0) & (cells[0] < cells[1])).any():
        return None
    return np.asarray(cells[0] > 0, dtype=np.float64)


def _only_compared(expression: Expression, name: str) -> bool:
    """Whether a column is read only to be compared with literals, or to see if it is missing."""
    if not isinstance(expression, Call) or name not in columns_of(expression):
        return expression != Column(name)
    if expression.operation == "missing":
        return _bare(expression.operands[0], name)
    if expression.operation in _COMPARISONS:
        others = [it for it in expression.operands if not _bare(it, name)]
        return all(_written(it) is not None for it in others)
    return all(_only_compared(operand, name) for operand in expression.operands)


def _bare(expression: Expression, name: str) -> bool:
    """Whether an expression is a column, in whatever type."""
    while isinstance(expression, Call) and expression.operation in _CASTS:
        expression = expression.operands[0]
    return expression == Column(name)


def _written(expression: Expression) -> Literal | None:
    """The value that an expression of literals alone writes; None of any calculation."""
    if not isinstance(expression, Call):
        return expression if isinstance(expression, Literal) else None
    inner = _written(expression.operands[0])
    if inner is None or expression.operation in _CASTS:
        return inner
    negative = expression.operation == "negative" and isinstance(inner.value, int | float)
    return Literal(-inner.value) if negative else None


def _literals(expression: Expression, name: str) -> Iterator[object]:
    """All values that a predicate compares a column with."""
    if not isinstance(expression, Call) or name not in columns_of(expression):
        return
    for operand in expression.operands:
        literal = _written(operand)
        if literal is not None:
            yield literal.value
        yield from _literals(operand, name)


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

    @staticmethod
    def of(
        release: Release, aggregate: str, where: str | None, confidence: float | None = None
    ) -> EstimatedAnswer:
        """Answer an aggregate query from a release with measurements.

        ``aggregate`` is COUNT(*), COUNT of a column's values that are not missing, or SUM or AVG of
        a column of numbers; ``where`` a predicate of SQL; ``confidence`` between 0 and 1, None for
        that of the release.

        Raises ``QueryError`` where the query cannot be read, or is of another kind, or no table of
        counts has what is asked for.
        """
        if confidence is None:
            confidence = _stated_confidence(release)
        elif not 0 < confidence < 1:
            msg = (
                f"the confidence of an interval is between 0 and 1, such as 0.95, not {confidence}"
            )
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
        msg = (
            f"{why}, and the release has no rows to estimate from; "
            "ask for less, or for whole ranges"
        )
        raise QueryError(msg)


@dataclass(frozen=True, eq=False)
class _Question:
    """What is asked, and what of."""

    asked: AggregateCall
    condition: Expression | None
    where: str | None
    confidence: float
    synthetic: bool
    """Whether the release has rows, which may be taken for a sample."""
    columns: tuple[_CellsOfColumn, ...]
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
    asked = AggregateCall.parse(aggregate, columns)
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
        _CellsOfColumn.of(name, kinds[name], marginals.labels[name], shown.groups or {})
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
    return _matching_cells(question.condition, question.columns)


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
