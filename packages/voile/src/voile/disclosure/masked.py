"""Columns of masked survey microdata: values exchanged between rows, with noise, or redrawn.

**Exchanged**: values stand in other rows than their own.

rank-swapped   a value was exchanged for one whose rank is near
    shuffled       all values were dealt out anew, in the order of what a regression and noise tell
    swapped        some rows exchanged what they show of places with others

Each cell is a value of the table.  Where each row is another person, all values stand in the file
as often as before.  What a cell tells of a value that somebody knows follows from their ranks in
the file, which are those of the table.

**Noise** was added or multiplied, of which the distribution is public.

A row of number x shows centre + factor (x - centre + e), e being normal or Laplace noise of a
stated deviation; or x times exp(e), whose mean is 1 and which leaves zeros and signs as they are.

**Redrawn** by a published matrix: PRAM, randomized response.

A row of value a shows value b with the probability in row a and column b, whatever the other rows
and columns hold.  Whoever reads a cell weighs each known value by the probability with which it
shows that; what is expected of a value is estimated by the inverse of the matrix.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from voile.disclosure.evidence import CheckedCells, Chosen, DistinctCells, Domain, Floats, Known
from voile.disclosure.exact import AsItReads
from voile.disclosure.foreign import usual_text
from voile_base.ondemand import dataclass, on_demand
from voile_base.values.value import Value

if TYPE_CHECKING:
    from decimal import Decimal

    from voile.disclosure import covering as disclosure_covering
    from voile.disclosure.covering import Covered
    from voile.disclosure.evidence import Evidence
    from voile.disclosure.shown import ComparedColumn, OriginalSide
else:
    disclosure_covering = on_demand("voile.disclosure.covering")

__all__ = ["NoiseAdded", "Randomized", "RankSwapped", "Shuffled", "StratumMatrix", "Swapped"]

scipy_special = on_demand("scipy.special")


_SUPPOSED = 0.1
"""The share of swapped rows that an intruder supposes: none is published."""
_UNLIKELY = 1e-3
"""What a pair of values weighs whose ranks are too far apart, where ranks are those of strata."""


class _Exchanged(AsItReads):
    """What kinds share whose cells are values of other rows."""

    margin: Literal["kept"] | None = None
    """Whether each value stands in the file as often as in the table."""

    @property
    def set_refusal(self) -> str:
        """A cell need not be of the person whose row it seems to be."""
        return "values of other rows stand for no set of values"

    def against(self, name: str, compare: OriginalSide) -> ComparedColumn | None:
        """Whether the original holds the values."""
        if self.margin is None:
            return compare.not_compared(name, "values were exchanged between persons, not rows")
        return compare.values(name)

    def _wider(self, domain: Domain, cells: DistinctCells, size: float) -> Covered:
        """A cell stands for the value that it reads like, and leaves open this share of them."""
        covered = disclosure_covering.labels_covered(
            domain, cells, AsItReads.evidence(self, domain.known, cells), level=0
        )
        return replace(covered, size=np.maximum(covered.size, size), level=None)


class RankSwapped(_Exchanged):
    """Each row shows a value whose rank is at most ``distance`` of all ranks from that of its own.

    Within strata, whose ranks are those of a stratum, where ``within`` names columns.
    """

    kind: Literal["rank-swapped"] = "rank-swapped"
    distance: Annotated[float, Field(gt=0, le=1)]
    """As a share of the rows."""
    within: tuple[str, ...] = ()

    @property
    def graded(self) -> bool:
        """A value fits the better the nearer its rank is."""
        return True

    @property
    def size_basis(self) -> str:
        """See ``covered``."""
        return "the share of ranks between which values were exchanged"

    def evidence(self, known: Known, cells: DistinctCells) -> _RankEvidence:
        """A cell fits the better the nearer its rank is, and not beyond the distance."""
        bounded = not self.within and self.margin == "kept"
        return _RankEvidence(*_ranks(known, cells), self.distance, bounded=bounded)

    def covered(self, domain: Domain, cells: DistinctCells) -> Covered:
        """A cell stands for the value that it reads like, and for those of near ranks."""
        return self._wider(domain, cells, self.distance)


class Shuffled(_Exchanged):
    """Each row shows the value whose rank is that of what a regression and noise tell of it."""

    kind: Literal["shuffled"] = "shuffled"
    explained: Annotated[float, Field(ge=0, le=1)]
    """The share of the variance that the regression explains, in normal scores, to two digits."""
    by: tuple[str, ...] = ()
    """The columns that explain it."""

    @property
    def graded(self) -> bool:
        """A value fits the better the nearer it is, as far as the other columns tell it."""
        return True

    @property
    def size_basis(self) -> str:
        """See ``covered``."""
        return "the share of the variance that other columns do not explain"

    def evidence(self, known: Known, cells: DistinctCells) -> _ScoreEvidence:
        """Own and shown value agree as far as the regression explains both."""
        own, shown = (ranks.mean(axis=1) for ranks in _ranks(known, cells))
        to_scores = scipy_special.ndtri
        return _ScoreEvidence(to_scores(own), to_scores(shown), min(self.explained, 0.999))

    def covered(self, domain: Domain, cells: DistinctCells) -> Covered:
        """A cell stands for the value that it reads like, and for any as far as none tells it."""
        return self._wider(domain, cells, 1 - self.explained)


class Swapped(_Exchanged):
    """Some rows, nobody says how many, show what others had; with all columns of their exchange."""

    kind: Literal["swapped"] = "swapped"

    @property
    def graded(self) -> bool:
        """A row that shows another value fits less, and may be the right one."""
        return True

    @property
    def size_basis(self) -> str:
        """See ``covered``."""
        return "the share of swapped rows that is supposed, since none is published"

    def evidence(self, known: Known, cells: DistinctCells) -> Evidence:
        """A cell fits the value that it reads like best, and any other one less."""
        return usual_text(known, cells, _SUPPOSED)

    def covered(self, domain: Domain, cells: DistinctCells) -> Covered:
        """A cell stands for the value that it reads like, and for any in the supposed share."""
        return self._wider(domain, cells, _SUPPOSED)


def _ranks(known: Known, cells: DistinctCells) -> tuple[Floats, Floats]:
    """Where the ranks of t known values and of g cells begin and end, as shares: (t, 2), (g, 2).

    Values that no cell shows stand between their neighbours; missing ones and those of no order
    may be anywhere.
    """
    texts = cells.texts(cells.name)
    line, own = _line(known, cells, texts)
    there = np.isfinite(line)
    order = np.argsort(line[there], kind="stable")
    ascending, rows = line[there][order], np.asarray(cells.rows)[there][order]
    ends = np.concatenate([[0], np.cumsum(rows)]) / max(int(rows.sum()), 1)

    def between(points: Floats) -> Floats:
        found = np.stack(
            [ends[np.searchsorted(ascending, points, side)] for side in ("left", "right")], axis=1
        )
        found[~np.isfinite(points)] = 0.0, 1.0
        return np.asarray(found)

    return between(own), between(line)


def _line(known: Known, cells: DistinctCells, texts: list[str | None]) -> tuple[Floats, Floats]:
    """Points of g cells and of t known values on a line: numbers, or places in an order."""
    numbers, own = cells.numbers(cells.name), known.numbers
    if np.isfinite(numbers).any() and known.order is None:
        return numbers, own
    every = sorted({text for text in (*texts, *known.texts) if text is not None})
    place: dict[str | None, int] = {
        text: number for number, text in enumerate(known.order or every)
    }
    return tuple(  # type: ignore[return-value]
        np.array([place.get(text, np.nan) for text in side], dtype=np.float64)
        for side in (texts, known.texts)
    )


@dataclass(frozen=True, eq=False)
class _RankEvidence:
    """The ranks of t known values and n shown ones, and how far apart they may be."""

    known: Floats
    """Shape (t, 2)."""
    shown: Floats
    """Shape (n, 2)."""
    distance: float
    bounded: bool
    """Whether no value is farther."""

    def log_weights(self, targets: Chosen) -> Floats:
        """How well each row fits each of some targets, shape (targets, n); -inf rules it out."""
        own = self.known[targets]
        above = self.shown[np.newaxis, :, 0] - own[:, 1, np.newaxis]
        below = own[:, 0, np.newaxis] - self.shown[np.newaxis, :, 1]
        gap = np.maximum(np.maximum(above, below), 0.0)
        # What ranks within windows of up to one distance can be: the nearer, the more windows.
        near = np.maximum(1 - gap / (self.distance + 1e-12), 0.0 if self.bounded else _UNLIKELY)
        near = np.where((gap <= self.distance) & (near <= 0), _UNLIKELY, near)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(near))

    def only(self, rows: NDArray[np.int64]) -> Self:
        """The same about some of the rows."""
        return replace(self, shown=self.shown[rows])


@dataclass(frozen=True, eq=False)
class _ScoreEvidence:
    """Normal scores of t known values and n shown ones, whose correlation is known."""

    known: Floats
    shown: Floats
    correlation: float

    def log_weights(self, targets: Chosen) -> Floats:
        """Logarithm of their density together over that apart, shape (targets, n)."""
        own, r = self.known[targets, np.newaxis], self.correlation
        squares = r * r * (own**2 + self.shown**2) - 2 * r * own * self.shown
        found: Any = -squares / (2 * (1 - r * r))
        return np.asarray(np.nan_to_num(found, nan=0.0, posinf=0.0, neginf=-700.0))

    def only(self, rows: NDArray[np.int64]) -> Self:
        """The same about some of the rows."""
        return replace(self, shown=self.shown[rows])


_FAR_NOISE = -700.0
"""What a cell weighs that noise hardly leads to; it is not ruled out."""


class NoiseAdded(AsItReads):
    """Each row shows its number with noise."""

    kind: Literal["noise-added"] = "noise-added"
    law: Literal["normal", "laplace", "multiplied"]
    deviation: Annotated[float, Field(gt=0)]
    """The standard deviation of the noise, in units of the column; of "multiplied", that of the
    logarithm of the factor."""
    centre: float = 0.0
    factor: Annotated[float, Field(gt=0, le=1)] = 1.0
    """By how much numbers with noise were drawn in towards the centre, so that they spread as
    before; 1 where they were not."""

    @property
    def graded(self) -> bool:
        """A cell fits a number the better the nearer it is."""
        return True

    @property
    def set_refusal(self) -> str:
        """Noise may lead anywhere."""
        return "numbers with noise stand for no set of values"

    @property
    def size_basis(self) -> str:
        """See ``covered``."""
        return "four times the mean size of the noise"

    def against(self, name: str, compare: OriginalSide) -> ComparedColumn | None:
        """Noise shows in no value by itself."""
        return compare.not_compared(name, "its numbers have noise, and need not be those of INPUT")

    def evidence(self, known: Known, cells: DistinctCells) -> _NoiseEvidence:
        """How likely noise leads from each known number to each cell."""
        shown = cells.numbers(cells.name)
        own = known.numbers
        if self.law == "multiplied":
            logs = [
                np.log(np.abs(side), out=np.full(len(side), -np.inf), where=side != 0)
                for side in (own, shown)
            ]
            mean = logs[0] - self.deviation**2 / 2
            signs = np.sign(own), np.sign(shown)
            return _NoiseEvidence(mean, logs[1], self.deviation, self.law, signs)
        start = self.centre + self.factor * (own - self.centre)
        return _NoiseEvidence(start, shown, self.factor * self.deviation, self.law)

    def covered(self, domain: Domain, cells: DistinctCells) -> Covered:
        """A number stands for the nearest value, and is as wide as the noise is."""
        covered = disclosure_covering.labels_covered(
            domain, cells, super().evidence(domain.known, cells), level=0
        )
        shown = cells.numbers(cells.name)
        mean = np.sqrt(1 / 2 if self.law == "laplace" else 2 / np.pi) * self.deviation
        if self.law != "multiplied":
            return disclosure_covering.near_covered(domain, covered, shown, float(4 * mean))
        low, high = domain.extent or (0.0, 0.0)
        share = np.clip(4 * mean * np.abs(np.nan_to_num(shown)) / ((high - low) or 1.0), 0, 1)
        return replace(covered, size=np.maximum(covered.size, share), level=None)


@dataclass(frozen=True, eq=False)
class _NoiseEvidence:
    """Where the numbers of t targets would stand without noise, and those of n rows with it."""

    start: Floats
    """Shape (t,); NaN for a missing value."""
    shown: Floats
    """Shape (n,)."""
    deviation: float
    law: str
    signs: tuple[Floats, Floats] | None = None
    """Of targets and rows, where numbers are logarithms."""

    def log_weights(self, targets: Chosen) -> Floats:
        """Logarithm of the density, up to a constant of the target; shape (targets, n)."""
        own = self.start[targets, np.newaxis]
        either = np.isnan(own) | np.isnan(self.shown)
        missing = np.isnan(own) & np.isnan(self.shown)
        with np.errstate(invalid="ignore"):
            far = np.abs(own - self.shown) / self.deviation
        if self.signs is not None:
            same = self.signs[0][targets, np.newaxis] == self.signs[1]
            zero = np.isneginf(own) & np.isneginf(self.shown)
            far = np.where(zero, 0.0, np.where(same, far, np.inf))
        weights = -far * np.sqrt(2) if self.law == "laplace" else -(far**2) / 2
        weights = np.where(either, -np.inf, np.maximum(weights, _FAR_NOISE))
        return np.where(missing, 0.0, weights)

    def only(self, rows: NDArray[np.int64]) -> Self:
        """The same about some of the rows."""
        signs = self.signs and (self.signs[0], self.signs[1][rows])
        return replace(self, shown=self.shown[rows], signs=signs)


_ROUNDING = 1e-9
_FAR = 6.2
"""Standard deviations: a normal variable is farther out once in a billion and a half."""
Matrix = Annotated[tuple[tuple[Annotated[float, Field(ge=0, le=1)], ...], ...], Field(min_length=1)]


class StratumMatrix(Value):
    """The matrix of the rows of one stratum."""

    at: tuple[str | None, ...]
    """What these rows show in the columns ``within``."""
    matrix: Matrix


class Randomized(AsItReads):
    """Each row shows a value that was drawn by its own, with stated probabilities."""

    kind: Literal["randomized"] = "randomized"
    values: Annotated[tuple[str | None, ...], Field(min_length=1)]
    """All c values of the column, as they read; None is the missing one."""
    matrix: Matrix
    """Shape (c, c): with which probability a row of each value shows each; of all strata, the mean
    over their rows."""
    within: tuple[str, ...] = ()
    """Published columns whose values have a matrix each."""
    strata: tuple[StratumMatrix, ...] = ()

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        count = len(self.values)
        for rows in (self.matrix, *(stratum.matrix for stratum in self.strata)):
            shape = len(rows), {len(row) for row in rows}
            if shape != (count, {count}) or any(abs(sum(row) - 1) > _ROUNDING for row in rows):
                msg = "a matrix has a row and a column for each value, and its rows add up to 1"
                raise ValueError(msg)
        if bool(self.within) != bool(self.strata):
            msg = "strata have matrices and columns that tell them"
            raise ValueError(msg)
        return self

    @property
    def graded(self) -> bool:
        """A cell fits the values that often show it better than others."""
        return True

    @property
    def set_refusal(self) -> str:
        """Any value may have become any other."""
        return "values that were redrawn stand for no set of values"

    @property
    def size_basis(self) -> str:
        """See ``covered``."""
        return "the mean probability of showing another value than one's own"

    def against(self, name: str, compare: OriginalSide) -> ComparedColumn | None:
        """Margins may differ, and each row may show its own value."""
        why = "its values were redrawn by a published matrix, and may be those of INPUT or others"
        return compare.not_compared(name, why)

    def probabilities(self, stratum: int | None = None) -> Floats:
        """A matrix, shape (c, c); that of all rows where no stratum is asked for."""
        return np.array(self.matrix if stratum is None else self.strata[stratum].matrix)

    def evidence(self, known: Known, cells: DistinctCells) -> _DrawnValues:
        """A cell fits a value as well as this one shows it."""
        place = {text: number for number, text in enumerate(self.values)}
        outside = len(self.values)
        with np.errstate(divide="ignore"):
            weights = np.log(np.pad(self.probabilities(), (0, 1)))
        weights[outside, outside] = 0.0
        own, shown = (
            np.array([place.get(text, outside) for text in texts], dtype=np.int64)
            for texts in (known.texts, cells.texts(cells.name))
        )
        return _DrawnValues(own, shown, weights)

    def covered(self, domain: Domain, cells: DistinctCells) -> Covered:
        """A cell stands for the value that it reads like, and for any as often as it is another."""
        covered = disclosure_covering.labels_covered(
            domain, cells, super().evidence(domain.known, cells), level=0
        )
        other = float(1 - np.diag(self.probabilities()).mean())
        return replace(covered, size=np.maximum(covered.size, other), level=None)

    def breaches(self, cells: CheckedCells, confidence: Decimal | None = None) -> Iterator[str]:
        """Values that no value shows, or that show oftener or more rarely than any would.

        A right release is refused once in a billion times for each value.
        """
        del confidence
        texts, rows = cells.texts(cells.name), np.asarray(cells.rows, dtype=np.float64)
        every = [self.probabilities(number) for number in range(len(self.strata))]
        stacked = np.vstack(every or [self.probabilities()])
        total = float(rows.sum())
        for text in sorted({str(text) for text in texts if text not in self.values}):
            yield f"column {cells.name!r} shows {text!r}, which is no value of its matrix"
        for number, value in enumerate(self.values):
            seen = float(rows[[text == value for text in texts]].sum())
            for chance, side in ((stacked[:, number].max(), 1), (stacked[:, number].min(), -1)):
                room = _FAR * np.sqrt(total * chance * (1 - chance)) + 10 * (0 < chance < 1)
                if side * (seen - total * chance) > room:
                    often = "more often" if side > 0 else "more rarely"
                    yield f"column {cells.name!r} shows {value!r} {often} than its matrix allows"


@dataclass(frozen=True, eq=False)
class _DrawnValues:
    """Known values of t targets, values that n rows show, and how often one shows another."""

    known: NDArray[np.int64]
    shown: NDArray[np.int64]
    weights: Floats
    """Shape (c + 1, c + 1): logarithms of probabilities; the last for what is no value."""

    def log_weights(self, targets: Chosen) -> Floats:
        """How well each row fits each of some targets, shape (targets, n); -inf rules it out."""
        return np.asarray(self.weights[self.known[targets]][:, self.shown])

    def only(self, rows: NDArray[np.int64]) -> Self:
        """The same about some of the rows."""
        return replace(self, shown=self.shown[rows])
