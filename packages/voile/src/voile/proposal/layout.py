"""How a file is laid out that does not begin with its names: a proposal from its first rows.

Reports have a title above their names, merged cells a second row of them, loggers no names at all.
A pure function looks at the first rows, as texts, and says where the names stand and how numbers
are written (``schema.layout``).  Rules, in their order:

1. the table is as wide as most rows; rows that fill less than half of it, before any that does, are
   titles.  A row with two or more names right above the first full one is the upper of two;
2. a first full row of numbers, days or addresses, or of values that its columns have again, is no
   row of names: there are none, and columns are called by their place;
3. a row with gaps above one that fills them is the upper of two rows of names; so is a full row
   above one of texts where columns hold numbers (units stand so);
4. a known unit or currency that stands beside all numbers of a column is taken off;
5. numbers are written with decimal commas, or with thousands, where some value can be read in one
   way alone; what can be read in two ways stays text, and is a question.

Cost: linear in the cells that are looked at.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from voile.recognisers.telling import told_within
from voile.recognisers.values import currencies, measures
from voile.schema.layout import USUAL, Decimals, InputLayout, Thousands, column_names
from voile.table.looking import MARKS
from voile.table.places import Address, LaidOut, Place, file_and_part, laid_out
from voile.table.reading import first_rows, last_row, main_sheet
from voile.table.summaries import ColumnDetails
from voile_base.errors import TableError
from voile_base.ondemand import dataclass

__all__ = [
    "ProposedLayout",
    "data_as_names",
    "headed",
    "marked_columns",
    "marks_of",
    "proposed_layout",
]

_BESIDE = re.compile(
    r"(?P<before>[^\d\s.,+'\u2019-][^\d,]{0,5}?)?\s*"
    r"(?P<number>[+-]?\d[\d .,'\u2019\u00a0\u202f]*?)\s*"
    r"(?P<behind>[^\d\s.,'\u2019+-][^\d,]{0,7})?"
)
"""A number with what stands before or behind it."""
_CODED = re.compile(r"0\d.*|\d{9,}")
"""Figures that no amount has: a nought in front, or as many as numbers of something."""
_UNITED = 0.6
"""Share of the filled cells of a column that have the unit, where the others are one mark."""
Row = tuple[int, Sequence[str | None]]
"""The number of a row in its file, from 1, and its cells."""

_LOOKED_AT = 200
_WIDE = 0.5
"""Share of the width that a row of names fills, at least."""
_MOST = 0.6
_FEW = 2
_NUMBER = re.compile(
    r"[+-]?(?:\d{1,3}(?:[ .,'\u2019\u00a0\u202f]\d{3})+|\d{1,2}(?:,\d{2})+,\d{3}|\d+)"
    r"(?:[.,]\d+)?(?:[eE][+-]?\d+)?%?"
)
_DAY = re.compile(r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}(?:[T ].*)?|\d{1,2}:\d{2}(?::\d{2})?")
_YEAR = re.compile(r"(?:19|20)\d{2}")
_BOTH_COMMA = re.compile(r"[+-]?\d{1,3}(?:\.\d{3})+,\d+")
_BOTH_POINT = re.compile(r"[+-]?(?:\d{1,3}|\d{1,2}(?:,\d{2})+)(?:,\d{3})+\.\d+")
_SPACED = re.compile(r"[+-]?\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?:[.,]\d+)?")
_PRIMED = re.compile(r"[+-]?\d{1,3}(?:['\u2019]\d{3})+(?:[.,]\d+)?")
_POINTS = re.compile(r"[+-]?\d{1,3}(?:\.\d{3}){2,}")
_COMMAS = re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3}){2,}|\d{1,2}(?:,\d{2})+,\d{3})")
"""Of thousands, or of lakhs and crores: ``12,34,567``."""
_COMMA = re.compile(r"[+-]?\d+,\d+")
_POINTED = re.compile(r"[+-]?\d+\.\d+")
_STATED = re.compile(r"[^:\uff1a]+[:\uff1a]\s*\S.*")
"""What a title says of a table, such as "unit: EUR"; no name of columns does."""
_UNNAMED = re.compile(r"Unnamed: \d+(?:_level_\d+)?")
_ENOUGH = 20
_EITHER = re.compile(r"[+-]?\d{1,3},\d{3}")
_GROUP = re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}")
"""What holds a mark of thousands where decimals have a comma."""
_FORMS: tuple[tuple[re.Pattern[str], Decimals | None, Thousands], ...] = (
    (_BOTH_COMMA, ",", "."),
    (_BOTH_POINT, ".", ","),
    (_POINTS, None, "."),
    (_COMMAS, None, ","),
)
"""What can be read in one way alone."""
_ROUND = re.compile(r"00(?:[.,]\d+)?$")
"""What amounts end in, and numbers of telephones and records seldom."""
_GROUPED: tuple[tuple[re.Pattern[str], Thousands], ...] = ((_SPACED, " "), (_PRIMED, "'"))


@dataclass(frozen=True)
class ProposedLayout:
    """How a file seems to be laid out, with a reason for each setting."""

    layout: InputLayout = USUAL
    reasons: tuple[tuple[str, str], ...] = ()
    """The key of each setting that differs from the usual, and why."""
    questions: tuple[str, ...] = ()
    """Columns, by name, whose numbers can be read in two ways."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What was assumed, one sentence each, without values."""
        stated = self.layout.stated
        return tuple(f"[input] {key} = {stated[key]!r}: {why}" for key, why in self.reasons)

    @staticmethod
    def of_rows(rows: Sequence[Row], file: str) -> ProposedLayout:
        """How a file with these first rows is laid out; a pure function.

        Raises ``TableError`` for a title above a table without names.
        """
        rows = [(number, cells) for number, cells in rows if any(cells)]
        if not rows:
            return ProposedLayout()
        width = _width(rows)
        first = next((place for place in range(len(rows)) if _is_wide(rows, place, width)), 0)
        head, body = _head_and_body(rows, first, width)
        if not head:
            if first:
                raise TableError(
                    f"{file}: lines stand above the first row of values and none of them has the "
                    f"names of the columns; put a line with names above row {rows[first][0]}"
                )
            reason = ("header", "the first row holds values: columns are called by their place")
            found = ProposedLayout(InputLayout(header="none"), (reason,))
        else:
            found = _with_header([number for number, _ in head])
        return _with_numbers(_with_numbered(found, head, body, width), head, body, width)


def proposed_layout(place: Place) -> tuple[Place, ProposedLayout]:
    """A place with the layout that its file seems to have.

    That of an address is taken as it is said.  Raises ``TableError`` where the file cannot be read,
    or has a title and no names.
    """
    if isinstance(place, LaidOut):
        said = tuple((key, "as the address of the file says") for key in place.layout.stated)
        return place, ProposedLayout(place.layout, said)
    if isinstance(place, Address):
        return place, ProposedLayout()
    named, main = place, main_sheet(place)
    if main is not None:
        place = place.with_name(f"{place.name}#{main}")
    sheet, rows, last = first_rows(place, _LOOKED_AT)
    found = ProposedLayout.of_rows(rows, str(place))
    last = last if sheet is None else last_row(place)
    if last is not None:
        found = replace(
            found,
            layout=replace(found.layout, last=last),
            reasons=(*found.reasons, ("last", "notes stand below the table")),
        )
    if sheet is not None and sheet == file_and_part(place)[1]:
        why = "the sheet that was named" if main is None else "the others have few rows"
        found = replace(
            found,
            layout=replace(found.layout, sheet=sheet),
            reasons=(("sheet", why), *found.reasons),
        )
    return laid_out(named, found.layout), found


def headed(place: Place) -> Mapping[str, str]:
    """The lower names of columns over several of which one heading stands, by their whole names.

    None where names stand in one row, nor of a column that has a heading of its own, as one with a
    unit below its name.
    """
    if not isinstance(place, LaidOut) or len(wanted := place.layout.header_rows) < _FEW:
        return {}
    _, rows, _ = first_rows(_file_of(place), wanted[-1])
    head = [cells for number, cells in rows if number in wanted]
    width = max(map(len, head), default=0)
    whole = column_names(head, width, numbered=place.layout.number_names)
    upper = column_names([*head[:-1], [None] * width], width, numbered=False)
    shared = {one for one, count in Counter(upper).items() if one and count > 1}
    lower = column_names(head[-1:], width, numbered=False)
    below = zip(whole, upper, lower, strict=True)
    return {name: under for name, above, under in below if under and above in shared}


def _file_of(place: LaidOut) -> Path:
    """A file, with the sheet that its layout names."""
    sheet = place.layout.sheet
    return place.file if sheet is None else place.file.with_name(f"{place.file.name}#{sheet}")


def data_as_names(details: Sequence[ColumnDetails]) -> tuple[int, ...]:
    """The columns, from 1, whose names look like data: their own values, numbers or dates.

    One alone may be a coincidence, and tells nothing.
    """
    found = tuple(place for place, each in enumerate(details, 1) if each.named_itself)
    return found if len(found) > 1 or len(found) == len(details) else ()


def _is_wide(rows: Sequence[Row], place: int, width: int) -> bool:
    """Whether a row may be the first of a table; one with gaps stands right above another."""
    filled = _filled(rows[place][1])
    if filled < max(1, _WIDE * width):
        return False
    alone = place + 1 == len(rows) or rows[place + 1][0] > rows[place][0] + 1
    return filled >= width or not (alone or _says_of_table(rows[place][1]))


def _says_of_table(cells: Sequence[str | None]) -> bool:
    """Whether a row says something of the table, such as its unit, and names no columns.

    A day with a time is none of that, nor what pandas calls a column without a name.
    """
    stated = [cell for cell in cells if _STATED.fullmatch(cell or "") and not _is_figure(cell)]
    return any(not _UNNAMED.fullmatch(cell or "") for cell in stated)


def _width(rows: Sequence[Row]) -> int:
    """Of most rows; the greater of equals."""
    widths = Counter(_last(cells) for _, cells in rows)
    return max(widths, key=lambda width: (widths[width], width))


def _last(cells: Sequence[str | None]) -> int:
    return max((place for place, cell in enumerate(cells, 1) if cell), default=0)


def _filled(cells: Sequence[str | None]) -> int:
    return sum(bool(cell and cell.strip()) for cell in cells)


def _is_value(cell: str | None) -> bool:
    """Whether a cell holds what no name of a column is: a number, a day, an address."""
    return _is_figure(cell) or _is_person(cell)


def _is_figure(cell: str | None) -> bool:
    text = (cell or "").strip()
    return bool(_NUMBER.fullmatch(text) or _DAY.fullmatch(text)) or "@" in text


def _is_person(cell: str | None) -> bool:
    """Whether a cell is written as the name of a person, or abbreviates words: ``F. Nac.``."""
    text = (cell or "").strip()
    return " " in text and told_within([text]) == "names of persons"


def _stands_above(place: int, body: Sequence[Row]) -> bool:
    """Whether names of persons stand in a column: then one above them is one, too."""
    below = [each[place] for _, each in body if place < len(each) and each[place]]
    return 2 * sum(map(_is_person, below)) >= len(below)


def _head_and_body(
    rows: Sequence[Row], first: int, width: int
) -> tuple[Sequence[Row], Sequence[Row]]:
    """The rows of names and those below them; no rows of names where there are none."""
    number, cells = rows[first]
    body = rows[first + 1 :]
    if _holds_values(cells, body, width):
        return (), rows[first:]
    if first and _is_upper(rows[first - 1], rows[first]):
        return rows[first - 1 : first + 1], body
    if body and body[0][0] == number + 1 and _has_second(cells, body, width):
        return rows[first : first + 2], body[1:]
    return rows[first : first + 1], body


def _holds_values(cells: Sequence[str | None], body: Sequence[Row], width: int) -> bool:
    """Whether the first full row is one of values, as those below it are."""
    values = [
        cell
        for place, cell in enumerate(cells)
        if _is_figure(cell) or (_is_person(cell) and _stands_above(place, body))
    ]
    years = [int(cell) for cell in values if cell and _YEAR.fullmatch(cell.strip())]
    if years and len(years) == len(values) and len(set(years)) == len(years) > 1:
        values = []  # a column for each year
    again = 0
    for place, cell in enumerate(cells):
        below = [each[place] for _, each in body if place < len(each) and each[place]]
        again += bool(cell) and not _is_value(cell) and cell in below
    least = 1 if width == 1 else _FEW
    if not values and any(_repeats(cells, each) for _, each in body):  # of another table below
        again *= not any(_of_numbers(place, body) for place in range(width))
    return len(values) >= least or (bool(values) and again > 0) or again >= least


def _repeats(cells: Sequence[str | None], others: Sequence[str | None]) -> bool:
    """Whether a row has the cells of another, three or more."""
    return _filled(cells) > _FEW and list(cells) == list(others)


def _is_upper(above: Row, names: Row) -> bool:
    """Whether the row right above the names has names of its own, over several columns."""
    number, cells = above
    return (
        number + 1 == names[0]
        and _filled(cells) >= _FEW
        and not any(_is_value(cell) and not _YEAR.fullmatch(cell or "") for cell in cells)
        and not _says_of_table(cells)
    )


def _has_second(cells: Sequence[str | None], body: Sequence[Row], width: int) -> bool:
    """Whether the row below that of names is a second row of them."""
    second, below = body[0][1], body[1:]
    if any(map(_is_value, second)) or not below:
        return False
    padded = [*cells, *[None] * width][:width]
    gaps = [place for place, cell in enumerate(padded) if not cell]
    fills = [place for place in gaps if place < len(second) and second[place]]
    numbers = [place for place in range(width) if _of_numbers(place, below)]
    texts = [
        place
        for place in numbers
        if place < len(second) and second[place] and second[place] not in MARKS
    ]
    if not numbers:
        return False
    if gaps:
        return len(fills) == len(gaps) and len(texts) >= 1
    return len(texts) >= _FEW and len(texts) >= _MOST * len(numbers)


def _of_numbers(place: int, rows: Sequence[Row]) -> bool:
    held = [cells[place] for _, cells in rows if place < len(cells) and cells[place]]
    held = [cell for cell in held if cell not in MARKS]
    return bool(held) and sum(map(_is_value, held)) >= _MOST * len(held)


def _with_header(numbers: Sequence[int]) -> ProposedLayout:
    if list(numbers) == [1]:
        return ProposedLayout()
    if len(numbers) == 1:
        why = "the names of the columns stand below a title"
        return ProposedLayout(InputLayout(header=numbers[0]), (("header", why),))
    why = "the names of the columns stand in two rows"
    return ProposedLayout(InputLayout(header=tuple(numbers)), (("header", why),))


def _with_numbered(
    found: ProposedLayout, head: Sequence[Row], body: Sequence[Row], width: int
) -> ProposedLayout:
    """With numbers for columns that have no name, or the name of another."""
    width = max(width, *(_last(cells) for _, cells in head)) if head else width
    names = column_names([cells for _, cells in head], width, numbered=False)
    held = [any(place < len(cells) and cells[place] for _, cells in body) for place in range(width)]
    unnamed = [place for place, name in enumerate(names) if not name and held[place]]
    named = [name for name in names if name]
    twins = len(set(named)) < len(named)
    if not twins and (unnamed == [0] or not unnamed):  # a first one alone are names of rows
        return found
    why = "columns of equal names are numbered" if twins else "columns without a name are numbered"
    return replace(
        found,
        layout=replace(found.layout, number_names=True),
        reasons=(*found.reasons, ("number_names", why)),
    )


def _with_numbers(
    found: ProposedLayout, head: Sequence[Row], body: Sequence[Row], width: int
) -> ProposedLayout:
    """With the marks of decimals and thousands, where some value can be read in one way alone."""
    names = column_names(
        [cells for _, cells in head], width, numbered=found.layout.number_names or not head
    )
    decimals: set[Decimals] = set()
    thousands: set[Thousands] = set()
    unsure: dict[str, bool] = {}
    pointed: list[str] = []
    units: dict[str, str] = {}
    for place, name in enumerate(names):
        held = [cells[place].strip() for _, cells in body if place < len(cells) and cells[place]]  # type: ignore[union-attr]
        held = _without_words([cell for cell in held if cell not in MARKS])
        if (unit := _unit_of(held)) is not None:
            held = [number for cell in held if (number := _number_beside(cell, unit))]
            units[name] = unit
        if not held or not all(map(_NUMBER.fullmatch, held)):
            units.pop(name, None)
            continue
        marks = _marks_of(held)
        pointed += filter(_POINTED.fullmatch, held)
        if marks is None:
            unsure[name] = _as_thousands_are(held)
        else:
            decimals |= {mark for mark in marks[:1] if mark}
            thousands |= {mark for mark in marks[1:] if mark}
    thousands |= _by_the_others(unsure, decimals, pointed)
    if len(decimals) > 1 or len(thousands) > 1 or decimals & thousands:
        return replace(found, questions=tuple(names))
    if units:
        found = _with_units(found, units)
    layout, reasons = found.layout, found.reasons
    if thousands:
        layout = replace(layout, thousands=thousands.pop())
        reasons = (*reasons, ("thousands", "numbers are written so"))
    if decimals == {","} or (decimals and layout.thousands):
        layout = replace(layout, decimal=decimals.pop())
        reasons = (*reasons, ("decimal", "numbers are written so"))
    settled = layout.decimal or layout.thousands
    return replace(
        found, layout=layout, reasons=reasons, questions=() if settled else tuple(unsure)
    )


def _without_words(held: Sequence[str]) -> list[str]:
    """Numbers without the few words that stand beside many: "none", "refused"; and their limits."""
    words = {cell for cell in held if not any(map(str.isdigit, cell))}
    numbers = {*held} - words
    if not numbers or len(words) > _FEW_WORDS or (words and len(numbers) < _BESIDE_WORDS):
        return [*held]
    return [_LIMIT.sub("", cell) for cell in held if cell in numbers]


_FEW_WORDS, _BESIDE_WORDS = 6, 20
_LIMIT = re.compile("^[<>\u2264\u2265]=? ?")


def _unit_of(held: Sequence[str]) -> str | None:
    """The unit that stands beside most numbers of a column; None without one.

    A known one, before numbers a currency; or whatever stands behind all of many numbers that
    are no codes, as "кв.м" does.  Where some cells have none, these are one short text, as a mark
    of a missing value is.
    """
    found = [_BESIDE.fullmatch(cell) for cell in held]
    beside = [(one["before"] or one["behind"]) if one else None for one in found]
    seen = {unit for unit in beside if unit is not None}
    without = {cell for cell, unit in zip(held, beside, strict=True) if unit is None}
    if len(seen) != 1 or len(without) > 1 or any(map(str.isdigit, "".join(without))):
        return None
    unit = seen.pop()
    share = sum(one is not None for one in beside) / len(beside)
    if any(one and _CODED.fullmatch(one["number"]) for one in found):
        return None  # a number of something with a check mark behind it
    known = unit in currencies() or (
        unit in measures() and not any(_has_before(one) for one in found)
    )
    return unit if (known or _are_measured(found)) and share >= _UNITED else None


def _has_before(found: re.Match[str] | None) -> bool:
    return bool(found and found["before"])


def _are_measured(found: Sequence[re.Match[str] | None]) -> bool:
    """Whether many numbers, of several lengths or with decimals, have a word behind a blank."""
    numbers = {one["number"].strip() for one in found if one and not one["before"]}
    parted = all(one[0][len(one["number"].rstrip())].isspace() for one in found if one)
    measured = len(set(map(len, numbers))) > 1 or any(not one.isdigit() for one in numbers)
    return parted and len(numbers) >= _ENOUGH and measured


def _number_beside(cell: str, unit: str) -> str:
    found = _BESIDE.fullmatch(cell)
    return found["number"] if found and unit in (found["before"], found["behind"]) else ""


def _with_units(found: ProposedLayout, units: Mapping[str, str]) -> ProposedLayout:
    """With the units that stand beside numbers, and which of them are currencies."""
    told = [
        f'"{name}" is in {unit}' + ", a currency" * (unit in currencies())
        for name, unit in units.items()
    ]
    layout = replace(found.layout, units=tuple(dict.fromkeys(units.values())))
    reason = ("units", f"they stand beside numbers: {'; '.join(told)}")
    return replace(found, layout=layout, reasons=(*found.reasons, reason))


def _by_the_others(
    unsure: Mapping[str, bool], decimals: set[Decimals], pointed: Sequence[str]
) -> set[Thousands]:
    """The mark of thousands where other columns tell that of decimals, or numbers that it is one.

    ``pointed`` are the cells with one point; beside decimal commas it parts thousands.
    """
    if unsure and "," not in decimals and (pointed or any(unsure.values())):
        return {","}
    parted = decimals == {","} and pointed and all(map(_GROUP.fullmatch, pointed))
    return {"."} if parted else set()


def _marks_of(held: Sequence[str]) -> tuple[Decimals | None, Thousands | None] | None:
    """The marks of decimals and of thousands that are seen; None where two ways read all.

    Numbers of as many figures may be codes, some of which are written with a blank; of four
    figures, codes have none behind the first.
    """
    fractions = [cell for cell in held if _POINTED.fullmatch(cell)]
    if all(cell.endswith(".0") for cell in fractions):
        held = [cell.removesuffix(".0") for cell in held]  # whole numbers beside missing cells
    lengths = {sum(map(str.isdigit, cell)) for cell in held}
    for form, decimal, group in _FORMS:
        if any(map(form.fullmatch, held)):
            return (decimal, group) if decimal or len(lengths) > 1 else (None, None)
    for form, group in _GROUPED:
        rounded = (
            all(map(form.fullmatch, held))
            and sum(_ROUND.search(cell) is not None for cell in held) > len(held) / 2
        )
        if any(map(form.fullmatch, held)) and (lengths == {4} or len(lengths) > 1 or rounded):
            comma = any("," in cell for cell in held)
            return "," if comma else "." if any("." in cell for cell in held) else None, group
    commas = [cell for cell in held if _COMMA.fullmatch(cell)]
    if not commas:
        return None, None
    return None if all(map(_EITHER.fullmatch, commas)) else (",", None)


def _as_thousands_are(held: Sequence[str]) -> bool:
    """Whether numbers with three figures behind each comma are no decimals of three places.

    Of as many, some would be below one, where they are of several lengths; and hardly any round.
    """
    commas = {cell for cell in held if "," in cell}
    lengths = {cell.index(",") for cell in commas}
    below = any(cell.lstrip("+-").startswith("0,") for cell in commas)
    round_ones = sum(_ROUND.search(cell) is not None for cell in commas)
    several = len(commas) >= _ENOUGH and (len(lengths) > 1 or 2 * round_ones > len(commas))
    return several and not below


_DIGITS = frozenset(map(float, range(10)))


def marks_of(details: Sequence[ColumnDetails]) -> tuple[str, ...]:
    """The texts that stand for missing values, without those that are values elsewhere.

    A number that stands for a missing one says nothing else where it stands among texts.  One of
    one digit that stands out in one column alone may be a count: the one household of nine.
    """
    found = Counter(mark for each in details for mark in each.sentinels)
    numbers = {mark for mark, columns in found.items() if columns > 1 or float(mark) not in _DIGITS}
    marks = numbers | {mark for each in details for mark in each.marks}
    values = {
        text
        for each in details
        for text in (*each.few, *each.sample)
        if text not in {*each.marks, *each.sentinels}
        and not (text in numbers and each.profile.type == "text")
    }
    return tuple(sorted(marks - values))


def marked_columns(details: Sequence[ColumnDetails], mark: str) -> list[str]:
    """The columns in which a text seems to stand for a missing value."""
    return [one.profile.name for one in details if mark in (*one.marks, *one.sentinels)]
