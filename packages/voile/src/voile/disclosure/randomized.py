"""A column whose values were redrawn by a published matrix: PRAM, randomized response.

A row of value a shows value b with the probability in row a and column b, whatever the other rows
and columns hold.  Whoever reads a cell weighs each known value by the probability with which it
shows that; what is expected of a value is estimated by the inverse of the matrix.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from voile.disclosure.evidence import CheckedCells, Chosen, DistinctCells, Domain, Floats, Known
from voile.disclosure.exact import AsItReads
from voile_base.ondemand import on_demand
from voile_base.values.value import Value

if TYPE_CHECKING:
    from decimal import Decimal

    from voile.disclosure import covering as disclosure_covering
    from voile.disclosure.covering import Covered
    from voile.disclosure.shown import ComparedColumn, OriginalSide
else:
    disclosure_covering = on_demand("voile.disclosure.covering")

__all__ = ["Randomized", "StratumMatrix"]

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
