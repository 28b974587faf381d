"""What noise of differential privacy means on a page: sets of columns, and intervals drawn.

Places are computed; the templates write the drawing, so that texts are escaped as all others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from voile_base.errors import InputError
from voile_base.values import Document

__all__ = ["MOST_SETS", "intervals_of", "sets_of"]

MOST_SETS = 4
"""Sets of columns that a card asks for."""
_MOST_CELLS = 20


def sets_of(
    said: Mapping[str, Sequence[str]], field: str, columns: Sequence[str]
) -> list[list[str]]:
    """The sets of columns that a form ticks, without empty ones; raises ``InputError``."""
    found = []
    for number in range(1, MOST_SETS + 1):
        ticked = list(dict.fromkeys(said.get(f"{field}.{number}", ())))
        if unknown := [name for name in ticked if name not in columns]:
            msg = f"the plan publishes no column {unknown[0]!r}; tick columns that have a role"
            raise InputError(msg)
        if ticked and ticked not in found:
            found.append(ticked)
    return found


@dataclass(frozen=True)
class _Interval:
    """A cell with its count: places are shares of the picture's width."""

    label: str
    count: float
    low: float
    high: float
    told: str


@dataclass(frozen=True)
class _IntervalPicture:
    """The first cells of a table with noise."""

    table: str
    most: float
    """The number at the right end."""
    cells: tuple[_Interval, ...]
    others: int
    """Cells that are shown elsewhere."""


def intervals_of(
    columns: Sequence[str], rows: Sequence[Sequence[object]]
) -> _IntervalPicture | None:
    """The cells of the first table among rows of a release, drawn; None of a release of rows."""
    if not {"table", "count", "count.low", "count.high"} <= set(columns):
        return None
    cells = [dict(zip(columns, row, strict=False)) for row in rows]
    shown = [cell for cell in cells if _number(cell["count"]) is not None]
    if not shown:
        return None
    name = str(shown[0]["table"])
    own = [cell for cell in shown if cell["table"] == name]
    most = max(_end(cell, "count.high") for cell in own[:_MOST_CELLS]) or 1.0
    dimensions = columns[1 : list(columns).index("count")]
    return _IntervalPicture(
        name,
        most,
        tuple(_drawn(cell, dimensions, most) for cell in own[:_MOST_CELLS]),
        max(len(own) - _MOST_CELLS, 0),
    )


def _drawn(cell: Document, dimensions: Sequence[str], most: float) -> _Interval:
    label = ", ".join(
        "missing" if cell[name] in {None, ""} else str(cell[name])
        for name in dimensions
        if cell[name] != "Total"
    )
    count = _end(cell, "count")
    low, high = _end(cell, "count.low"), _end(cell, "count.high")
    told = f"{count:,.1f}, between {low:,.0f} and {high:,.0f}"
    return _Interval(
        label or "all rows", min(max(count, 0) / most, 1), low / most, high / most, told
    )


def _end(cell: Document, name: str) -> float:
    return _number(cell[name]) or 0.0


def _number(value: object) -> float | None:
    try:
        return float(str(value))
    except ValueError:
        return None
