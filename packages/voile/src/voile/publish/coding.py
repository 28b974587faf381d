"""Steps of a chain that code columns: what a plan says of them, and what becomes of a column.

A bound that a plan states is a public fact.  A bound that is found by a share of the rows, and a
mean or a median of what is cut, come from the data: each is then of at least so many persons, and
no method that is differentially private takes them, since nothing pays for them.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from voile.schema.coding import BottomCoded, Coding, Recoded, Rounded, TopCoded
from voile.schema.numbers import unscaled
from voile.schema.roles import ColumnName
from voile.table.private import PrivateTable
from voile.table.summaries import CombinationCounts
from voile_base.errors import InfeasibleError, PlanError
from voile_base.ondemand import dataclass
from voile_base.values.value import Exact, Says, Several, checked

__all__ = ["CODINGS", "BottomCoding", "Recoding", "Rounding", "TopCoding"]

_DIGITS = 4
"""Decimals of a mean beyond those of its column."""

Columns = Annotated[
    Annotated[Several[ColumnName], Field(min_length=1)],
    Says('a list of column names as texts, for example ["income"]'),
]
Share = Annotated[float, Field(gt=0, lt=1)]
Shows = Literal["bound", "mean", "median"]


@dataclass(frozen=True)
class _Cut:
    """Numbers beyond a bound show the bound, or the mean or the median of those beyond it."""

    top: ClassVar[bool]

    columns: Columns
    bound: Exact | None = None
    """The public bound; None: found by ``share``."""
    share: Share | None = None
    """The largest share of the rows that is cut."""
    shows: Shows = "bound"
    """What is shown of what is cut."""

    def __post_init__(self) -> None:
        if (self.bound is None) == (self.share is None):
            msg = "give either bound, a public fact, or share, the largest share of rows to cut"
            raise PlanError(msg)

    @property
    def from_rows(self) -> bool:
        """A stated bound that is shown itself is a public fact."""
        return self.share is not None or self.shows != "bound"

    def coding(self, table: PrivateTable, column: str, least: int) -> Coding:
        """The coding of one column."""
        bound = shown = self.bound
        if self.from_rows:
            bound, shown = self._found(table, column, least)
        assert bound is not None
        assert shown is not None
        kind = TopCoded if self.top else BottomCoded
        return kind(bound=bound, shown=shown)

    def _found(self, table: PrivateTable, column: str, least: int) -> tuple[Decimal, Decimal]:
        """The bound and what is shown of what lies beyond it."""
        counts = table.count_combinations([column])
        units, scale = _numbers(counts, column)
        ordered = units if self.top else -units
        rows = _rows_of_numbers(counts)
        if self.share is None:
            assert self.bound is not None
            bound = self.bound
            edge = Fraction(bound) * 10**scale * (1 if self.top else -1)
            beyond = np.array([unit > edge for unit in ordered.tolist()], dtype=np.bool_)
        else:
            order = np.argsort(ordered, kind="stable")
            above = rows.sum() - np.cumsum(rows[order])
            few = above <= Fraction(self.share) * int(rows.sum())
            edge = ordered[order[int(few.argmax())]]
            bound = unscaled(int(edge) if self.top else -int(edge), scale)
            beyond = ordered > edge
        self._require(table, counts, column, beyond, least)
        if self.shows == "bound":
            return bound, bound
        if self.shows == "median":
            order = np.argsort(units[beyond], kind="stable")
            held = np.cumsum(rows[beyond][order])
            middle = order[int(np.searchsorted(held, (held[-1] + 1) // 2))]
            return bound, unscaled(int(units[beyond][middle]), scale)
        total = sum(int(u) * int(r) for u, r in zip(units[beyond], rows[beyond], strict=True))
        mean = Fraction(total, int(rows[beyond].sum())) * 10**_DIGITS
        return bound, unscaled(round(mean), scale + _DIGITS)

    def _require(
        self,
        table: PrivateTable,
        counts: CombinationCounts,
        column: str,
        beyond: NDArray[np.bool_],
        least: int,
    ) -> None:
        """Raise ``InfeasibleError`` where fewer persons are cut."""
        first = int(counts.values[0].missing)
        label = np.where(np.concatenate([np.zeros(first, np.bool_), beyond]), 0, -1)
        label = label[counts.codes[:, 0]].astype(np.int64)
        if counts.units is None:
            held = int(counts.rows[label == 0].sum())
        else:
            held = int(counts.units.count(label, 1)[0])
        if held < least:
            side = "above" if self.top else "below"
            what = "the bound" if self.shows == "bound" else f"the {self.shows}"
            who = table.plan.roles.protected
            msg = (
                f"column {column!r}: {what} would come from fewer than {least} {who}s {side} the "
                f'bound; state a public bound with shows = "bound", or cut more'
            )
            raise InfeasibleError(msg)


def _numbers(counts: CombinationCounts, column: str) -> tuple[NDArray[Any], int]:
    numbers = counts.values[0].numbers
    if numbers is None:
        msg = (
            f"column {column!r} holds values of kind {counts.values[0].kind!r}, which have no "
            "order; leave it out of columns, or take recoding by its hierarchy"
        )
        raise PlanError(msg)
    return numbers.units, numbers.scale


def _rows_of_numbers(counts: CombinationCounts) -> NDArray[np.int64]:
    """Rows of each number, missing ones left out."""
    rows = np.zeros(len(counts.values[0]), dtype=np.int64)
    np.add.at(rows, counts.codes[:, 0], counts.rows)
    return rows[int(counts.values[0].missing) :]


@checked(PlanError)
@dataclass(frozen=True)
class TopCoding(_Cut):
    """Numbers above a bound are cut."""

    top: ClassVar[bool] = True


@checked(PlanError)
@dataclass(frozen=True)
class BottomCoding(_Cut):
    """Numbers below a bound are cut."""

    top: ClassVar[bool] = False


@checked(PlanError)
@dataclass(frozen=True)
class Rounding:
    """Numbers become multiples of a base."""

    columns: Columns
    base: Annotated[Exact, Field(gt=0)]
    """Numbers show its nearest multiple; halfway the greater one."""

    @property
    def from_rows(self) -> bool:
        """It does not look at rows."""
        return False

    def coding(self, table: PrivateTable, column: str, least: int) -> Coding:
        """The coding of one column."""
        del table, column, least
        return Rounded(base=self.base)


@checked(PlanError)
@dataclass(frozen=True)
class Recoding:
    """Values become nodes of the hierarchies that the plan gives the columns."""

    columns: Columns
    level: Annotated[int, Field(ge=1)]
    """The level of each column's hierarchy; 1 is the lowest above the values themselves."""

    @property
    def from_rows(self) -> bool:
        """It does not look at rows."""
        return False

    def coding(self, table: PrivateTable, column: str, least: int) -> Coding:
        """The coding of one column."""
        del table, column, least
        return Recoded(level=self.level)


CODINGS: dict[str, type[TopCoding] | type[BottomCoding] | type[Rounding] | type[Recoding]] = {
    "top-coding": TopCoding,
    "bottom-coding": BottomCoding,
    "rounding": Rounding,
    "recoding": Recoding,
}
"""By the kinds that steps of a plan name."""
