"""Which cells of public domains a predicate holds for: all of a cell, none of it, or a part.

A cell that stands for a range is looked at where a predicate can change: at its ends, and at and
beside every number or day that the predicate compares the column with.  That decides where the
column is compared with literals; a predicate that calculates with it cuts every range.

Cost: the combinations of these values, some one to nine for each combination of cells.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np
from numpy.typing import NDArray

from voile.table.domains import flagged_values
from voile_base.values.expressions import Call, Column, Expression, Literal, columns_of
from voile_base.values.value import usable_number

__all__ = ["CellsOfColumn", "matching_cells"]

_COMPARISONS = {"=", "<>", "<", "<=", ">", ">=", "same", "other", "in"}
_CASTS = {"integer", "decimal", "number of text", "date", "text"}
_DAY_ZERO = date(1970, 1, 1)
_KINDS = ("integer", "decimal", "date")


@dataclass(frozen=True)
class CellsOfColumn:
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
    ) -> CellsOfColumn:
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


def matching_cells(
    predicate: Expression, columns: Sequence[CellsOfColumn]
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
