"""How a table is laid out in its file: the ``[input]`` table of a plan, or the end of an address.

    [input]
    sheet   = "Patients"            # of a workbook
    header  = 3                     # the row of names; [3, 4]: two of them; "none": no names
    last    = 120                   # the last row of the table, where notes or another table follow
    decimal = ","                   # of numbers: "1,5"
    thousands = "."                 # of numbers: "12.500"
    units   = ["kg", "€"]           # beside numbers, and taken off: "86,5 kg", "1.234,50 €"
    number_names = true             # columns without a name, or of equal names, are numbered

    people.csv#header=3&decimal=,   # the same for a command that takes no plan

Rows are counted from 1 as a spreadsheet or a text editor counts them.  A file that says nothing has
its names in the first row, each column one of its own.  Where names stand in two rows, that of the
upper one is carried to the right until the next, as merged cells show it.  Without names a column
is called by its place, never by what its first row holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from itertools import pairwise
from typing import Annotated, Literal
from urllib.parse import parse_qsl, quote

from pydantic import Field

from voile_base.errors import InputError, PlanError
from voile_base.ondemand import dataclass
from voile_base.values import of_valid
from voile_base.values.value import Says, Several, checked

__all__ = [
    "ROW_NAMES",
    "USUAL",
    "Decimals",
    "InputLayout",
    "Thousands",
    "column_names",
    "layout_of_text",
    "row_names_note",
    "with_row_names",
]

_MOST_HEADER_ROWS = 3
Decimals = Literal[".", ","]
Thousands = Literal[".", ",", " ", "'"]
_Row = Annotated[int, Field(ge=1)]
_Unit = Annotated[str, Field(min_length=1, max_length=12, pattern=r"^[^\d\s.,+-][^\d,]*$")]
"""What stands beside a number, of no digit: "kg", "km/h", "€"."""


@checked(PlanError)
@dataclass(frozen=True)
class InputLayout:
    """Where a table stands in its file, and how its numbers are written.

    Raises ``PlanError`` where rows of names are no neighbours, or one mark parts both decimals and
    thousands.
    """

    sheet: Annotated[str | None, Says("the name of a sheet")] = None
    header: Annotated[
        _Row | Annotated[Several[_Row], Field(min_length=1)] | Literal["none"],
        Says('the number of the row with the names, two such as [3, 4], or "none"'),
    ] = 1
    last: Annotated[_Row | None, Says("the number of the last row of the table")] = None
    decimal: Decimals | None = None
    thousands: Thousands | None = None
    units: Annotated[
        Several[_Unit], Says('the marks that stand beside numbers, such as ["kg", "€"]')
    ] = ()
    number_names: bool = False

    def __post_init__(self) -> None:
        rows = self.header_rows
        if list(rows) != list(range(rows[0], rows[0] + len(rows)) if rows else ()):
            msg = "[input] header must name rows that follow each other, such as [3, 4]"
            raise PlanError(msg)
        if len(rows) > _MOST_HEADER_ROWS:
            msg = f"[input] header names {len(rows)} rows; at most {_MOST_HEADER_ROWS} hold names"
            raise PlanError(msg)
        if self.last is not None and rows and self.last <= rows[-1]:
            msg = "[input] last must be below the rows of names"
            raise PlanError(msg)
        if self.decimal is not None and self.decimal == self.thousands:
            msg = f"[input] decimal and thousands are both {self.decimal!r}; one mark has one sense"
            raise PlanError(msg)

    @property
    def header_rows(self) -> tuple[int, ...]:
        """The rows of names, from 1; none where the file has no names."""
        if self.header == "none":
            return ()
        return (self.header,) if isinstance(self.header, int) else tuple(self.header)

    @property
    def rows_above(self) -> int:
        """Rows above the first that holds values."""
        return self.header_rows[-1] if self.header_rows else 0

    @property
    def stated(self) -> dict[str, object]:
        """What differs from a file that says nothing, as a plan states it."""
        held = {one.name: getattr(self, one.name) for one in fields(self)}
        differs = {k: v for k, v in held.items() if v != getattr(USUAL, k)}
        return {k: list(v) if isinstance(v, tuple) else v for k, v in differs.items()}

    def __str__(self) -> str:
        """As it stands behind the # of an address."""
        return "&".join(f"{key}={_text(value)}" for key, value in self.stated.items())


USUAL = of_valid(InputLayout)
"""Of a file that says nothing."""


def _text(value: object) -> str:
    if isinstance(value, list):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else quote(str(value), safe=",. '")


def layout_of_text(text: str) -> InputLayout | None:
    """A layout from what stands behind the # of an address; None where it names no setting.

    Raises ``InputError`` for a setting that cannot be.
    """
    known = {one.name for one in fields(InputLayout)}
    pairs = parse_qsl(text, keep_blank_values=True)
    if not pairs or any(key not in known for key, _ in pairs):
        return None
    stated: dict[str, object] = {}
    for key, value in pairs:
        rows = value.split(",")
        if key == "header" and all(row.isdecimal() for row in rows):
            stated[key] = int(value) if len(rows) == 1 else tuple(map(int, rows))
        elif key == "last" and value.isdecimal():
            stated[key] = int(value)
        elif key == "number_names" and value in {"true", "false"}:
            stated[key] = value == "true"
        elif key == "units":
            stated[key] = tuple(value.split(","))
        else:
            stated[key] = value
    try:
        return InputLayout(**stated)  # type: ignore[arg-type]
    except PlanError as error:
        msg = f"behind # of the file: {str(error).removeprefix('[input] ')}"
        raise InputError(msg) from None


ROW_NAMES = "row"
"""What a first column without a name is called."""


def with_row_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names, the first of which is ``row`` if it alone is empty.

    So R's ``write.csv`` and Pandas' ``to_csv`` and ``to_excel`` write names and numbers of rows.
    """
    first, *others = names
    if first or not others or "" in others or ROW_NAMES in others:
        return names
    return (ROW_NAMES, *others)


def row_names_note(file: str) -> str:
    """That the first column of a file got its name so."""
    return f"{file}: column 1 has no name; it is called {ROW_NAMES!r}, as row names are"


def column_names(
    rows: Sequence[Sequence[str | None]], width: int, *, numbered: bool
) -> tuple[str, ...]:
    """The names of columns from the rows that hold them; "" where a column has none.

    Without rows all are called by their place.  ``numbered``: so are those without a name, and of
    equal names all but the first have a number.
    """
    if not rows:
        return tuple(f"column {place}" for place in range(1, width + 1))
    parts = [_filled_right(row, width) for row in rows[:-1]]
    parts.append([(cell or "").strip() for cell in (*rows[-1], *[None] * width)][:width])
    names = [
        " ".join(dict.fromkeys(part for part in each if part)) for each in zip(*parts, strict=True)
    ]
    if not numbered:
        return tuple(names)
    taken = {name for name in names if name}
    unique: list[str] = []
    for place, name in enumerate(names, 1):
        said = name or f"column {place}"
        count = 1
        while said in unique or (said != name and said in taken):
            count += 1
            said = f"{name or f'column {place}'} ({count})"
        unique.append(said)
    return tuple(unique)


def _filled_right(row: Sequence[str | None], width: int) -> list[str]:
    """An upper row of names, each carried to the right until the next.

    Where each already stands above all of its columns, as merged cells are read, gaps are gaps.
    """
    cells = [(cell or "").strip() for cell in (*row, *[None] * width)[:width]]
    if any(one and one == other for one, other in pairwise(cells)):
        return cells
    filled, last = [], ""
    for cell in (*row, *[None] * width)[:width]:
        last = (cell or "").strip() or last
        filled.append(last)
    return filled
