"""What a table of anybody says: its dimensions, its cells, and which of them are totals.

**Headings.**  Leading rows and columns without numbers are headings and labels; what stands in one
of several rows or columns is a dimension each.  An empty label goes on with the one above it.

**Cells.**  A number, or a mark of suppression: ``*``, ``x``, ``..``, an empty cell.  ``<5`` and
``1-4`` say between which numbers a cell lies.  A dash may mean that nobody is there; it is taken as
suppressed, and found to be zero where it is.

**Totals.**  In each dimension, a value is the total of those that stand in one run beside it if the
numbers add up in every row and column in which all of them are published, and in at least two of
these, or in one where its label says that it is a total.  Runs that became a total count as one
value from then on, which gives hierarchies.  A total that its label names and its numbers
contradict (rounding, noise) is no constraint, and is reported.

**Means and rates.**  Where the numbers of a named total do not add up and labels such as
``mean(pay)``, ``median`` or ``%`` say that their cells are no sums, totals are looked for among all
other cells, and it is reported that nobody looked at what these tell beside the counts that they
are of.

Cost: for n values of a dimension and m other cells of each, O(n^2 m) a level of the hierarchy.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from voile.tabular.attacker import CellSystem, PriorBounds
from voile.tabular.table_files import TableGrid
from voile_base.errors import TableError
from voile_base.ondemand import dataclass

__all__ = [
    "RecognisedTable",
    "is_total",
]

Indices = NDArray[np.int64]
Numbers = NDArray[np.float64]
Mask = NDArray[np.bool_]

_MARKS = re.compile(
    r"\*+|[xXcCsS]|\.{1,3}|\u2026|:|#|[-\u2013\u2014]{1,3}|n\.?[ap]\.?|N/?A"
    r"|\(?(suppressed|hidden|secret)\)?|",
    re.IGNORECASE,
)
_NOTE = re.compile(r"\s*(\*+|\[\w\]|\(\w\)|[¹²³†‡])$")
_BELOW = re.compile(r"(<|≤|<=)\s*(\d+)")
_ABOVE = re.compile(r"(>|≥|>=)\s*(\d+)")
_RANGE = re.compile(r"\[?\s*(\d+)\s*(?:-|\u2013|to|,)\s*(\d+)\s*\]?")
_STYLES = (
    (re.compile(r"\d{1,3}([,'\u2019 ]\d{3})+(\.\d+)?|\d+(\.\d+)?"), ",'\u2019 ", "."),
    (re.compile(r"\d{1,3}([.'\u2019 ]\d{3})+(,\d+)?|\d+(,\d+)?"), ".'\u2019 ", ","),
)
_TOTAL = re.compile(
    r"((grand |sub[- ]?)?totals?\b|totale?s?\b|totaal|totalt|overall|ensemble|insgesamt|gesamt"
    r"|zusammen|sum(me|a)?$|i alt$|yhteensä|razem|celkem|both( sexes)?$|all\b).*",
    re.IGNORECASE,
)
_MOST_VALUES = 2_000
_MOST_CELLS = 100_000
_LARGEST = 2**53


_NO_SUM = re.compile(
    r"%|\b(mean|average|avg|median|rate|ratio|share|per ?cent|percentage|quantile|mittelwert|"
    r"durchschnitt|anteil|quote|moyenne|médiane|mediane|taux|promedio|mediana|tasa|"
    r"gemiddelde|medelvärde|gennemsnit|średnia|srednia)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class _TotalRelation:
    """A value of a dimension that is the total of others."""

    dimension: str
    total: str
    parts: tuple[str, ...]
    rows: int
    """Rows or columns in which the numbers showed it; 0: its label says so alone."""


@dataclass(frozen=True, eq=False)
class RecognisedTable:
    """A table of anybody, as an attacker reads it."""

    name: str
    dimensions: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    """The values of each dimension."""
    codes: Indices
    """Shape (cells, dimensions): the values of each cell."""
    system: CellSystem
    """Its cells in units of ``10**-decimals``, and the totals that they add up to."""
    knowledge: PriorBounds
    """That none is negative, and between which numbers a suppressed one lies if the table says."""
    decimals: int
    relations: tuple[_TotalRelation, ...]
    contradicted: tuple[str, ...]
    """Totals by their labels, whose numbers do not add up; a sentence each."""
    no_sums: tuple[str, ...] = ()
    """Labels that say that their cells are no sums, which took no part in totals."""

    def text_of(self, cell: int) -> str:
        """The values of a cell, as ``region = north, age = Total``."""
        pairs = zip(self.dimensions, self.labels, self.codes[cell].tolist(), strict=True)
        return ", ".join(f"{name} = {labels[code]}" for name, labels, code in pairs)

    @staticmethod
    def recognise(grid: TableGrid, named: Sequence[str] = ()) -> RecognisedTable:
        """The table of a grid; ``named`` are names of its dimensions, in order.

        Raises ``TableError`` where headings, labels or numbers are not understood.
        """
        body = _Body.of(grid).without_constants()
        names = body.names(named)
        labels = tuple(tuple(dict.fromkeys(column)) for column in zip(*body.keys, strict=True))
        place = [{text: code for code, text in enumerate(texts)} for texts in labels]
        codes = np.array(
            [[place[axis][text] for axis, text in enumerate(key)] for key in body.keys],
            dtype=np.int64,
        )
        if max(map(len, labels)) > _MOST_VALUES or len(codes) > _MOST_CELLS:
            msg = (
                f"{grid.name}: it has more than {_MOST_VALUES:,} values in a dimension, or more "
                f"than {_MOST_CELLS:,} cells; audit a part of it, or leave out a column "
                "of persons' ids"
            )
            raise TableError(msg)
        _refuse_twice(grid.name, codes, body.keys)
        numbers, decimals = body.numbers()
        search = _TotalSearch(names, labels, codes, numbers, np.ones(len(codes), dtype=np.bool_))
        relations, rows, contradicted = search.run()
        no_sums, adds_up = _no_sums(labels, codes)
        if contradicted and no_sums:
            relations, rows, contradicted = replace(search, adds_up=adds_up).run()
        else:
            no_sums = ()
        values = np.where(numbers.suppressed, 0, numbers.values)
        system = CellSystem(rows, values, numbers.suppressed, whole=decimals == 0)
        knowledge = PriorBounds(numbers.lower, numbers.upper, "a reader")
        return RecognisedTable(
            grid.name,
            names,
            labels,
            codes,
            system,
            knowledge,
            decimals,
            relations,
            contradicted,
            no_sums,
        )


def is_total(label: str) -> bool:
    """Whether a label says that it is a total."""
    return _TOTAL.fullmatch(label.strip(" :*()")) is not None


def _no_sums(labels: Sequence[tuple[str, ...]], codes: Indices) -> tuple[tuple[str, ...], Mask]:
    """Labels that say that their cells are no sums, and which cells have none of them."""
    found, adds_up = [], np.ones(len(codes), dtype=np.bool_)
    for axis, texts in enumerate(labels):
        for code, text in enumerate(texts):
            if _NO_SUM.search(text) and not is_total(text):
                found.append(text)
                adds_up &= codes[:, axis] != code
    return tuple(found), adds_up


def _refuse_twice(name: str, codes: Indices, keys: Sequence[tuple[str, ...]]) -> None:
    _, first, counts = np.unique(codes, axis=0, return_index=True, return_counts=True)
    if (counts > 1).any():
        twice = keys[int(first[np.argmax(counts > 1)])]
        msg = (
            f"{name}: two cells have the labels {', '.join(map(repr, twice))}; give each row and "
            "column labels of its own"
        )
        raise TableError(msg)


# -- headings, labels and numbers -----------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _CellNumbers:
    """What stands in cells."""

    values: Indices
    """Shape (cells,), in units; 0 where suppressed."""
    suppressed: Mask
    lower: Numbers
    upper: Numbers


@dataclass(frozen=True)
class _Body:
    """A grid cut into headings, labels and the texts of cells."""

    name: str
    heads: tuple[str, ...]
    """What its headings call each dimension."""
    keys: tuple[tuple[str, ...], ...]
    """For each cell, its labels and headings."""
    texts: tuple[str, ...]

    @classmethod
    def of(cls, grid: TableGrid) -> _Body:
        rows = _without_titles(_without_statuses(grid.rows))
        heading_rows = _leading(rows)
        below = [row for row in rows[heading_rows:] if not _is_note(row)]
        columns = list(zip(*below, strict=True))
        label_columns = _label_columns(columns)
        if label_columns >= len(columns) or not below:
            msg = f"{grid.name}: no column of numbers was found beside labels"
            raise TableError(msg)
        labels = _filled([row[:label_columns] for row in below])
        heads = [_filled_across(row[label_columns:]) for row in rows[:heading_rows]]
        heads = [row for row in heads if len(set(row)) > 1] or [heads[-1]]
        several = len(columns) - label_columns > 1
        keys, texts = [], []
        for label, row in zip(labels, below, strict=True):
            for place, text in enumerate(row[label_columns:]):
                keys.append((*label, *(head[place] for head in heads)) if several else label)
                texts.append(text)
        corner = rows[heading_rows - 1][:label_columns]
        own = [text or f"rows {place}" for place, text in enumerate(corner, 1)]
        own += [f"columns {place}" for place in range(1, len(heads) + 1) if several]
        return cls(grid.name, tuple(own), tuple(keys), tuple(texts))

    def without_constants(self) -> _Body:
        """Without dimensions that have one value alone."""
        values = [len(set(texts)) for texts in zip(*self.keys, strict=True)]
        used = [place for place, number in enumerate(values) if number > 1] or [0]
        heads = tuple(self.heads[place] for place in used)
        keys = tuple(tuple(key[place] for place in used) for key in self.keys)
        return _Body(self.name, heads, keys, self.texts)

    def names(self, named: Sequence[str]) -> tuple[str, ...]:
        """The names of the dimensions: as they are given, by the headings, or by their place."""
        if len(named) > len(self.heads) or len(set(named)) < len(named):
            msg = (
                f"{self.name}: it has {len(self.heads)} dimensions, and {len(named)} were named; "
                "name each once, those of the rows first"
            )
            raise TableError(msg)
        names = (*named, *self.heads[len(named) :])
        return tuple(
            name if name not in names[:place] else f"{name} ({place + 1})"
            for place, name in enumerate(names)
        )

    def numbers(self) -> tuple[_CellNumbers, int]:
        """The cells in units of ``10**-decimals``, and how many decimals that are."""
        style = _style(self.texts)
        read = [_cell(text, style) for text in self.texts]
        for text, one in zip(self.texts, read, strict=True):
            if one is None:
                msg = f"{self.name}: {text!r} is no number, and no mark of a suppressed cell"
                raise TableError(msg)
        found = [one for one in read if one is not None]
        shown = [low for low, high in found if low == high and low is not None]
        decimals = max((-int(value.as_tuple().exponent) for value in shown), default=0)
        decimals = max(decimals, 0)
        unit = Decimal(10) ** decimals
        if any(value * unit >= _LARGEST for value in shown):
            msg = f"{self.name}: it holds numbers of more than 15 digits; round them first"
            raise TableError(msg)
        lower = np.array([float(low * unit) if low is not None else 0.0 for low, _ in found])
        upper = np.array([np.inf if high is None else float(high * unit) for _, high in found])
        hidden = np.array([low is None or low != high for low, high in found])
        values = np.where(hidden, 0.0, lower).astype(np.int64)
        return _CellNumbers(values, hidden, lower, upper), decimals


_Rows = Sequence[tuple[str, ...]]
_Interval = tuple[Decimal | None, Decimal | None]


def _is_number(text: str) -> bool:
    return any(form.fullmatch(_NOTE.sub("", text)) for form, _, _ in _STYLES) or bool(
        _BELOW.fullmatch(text) or _ABOVE.fullmatch(text)
    )


def _without_titles(rows: _Rows) -> _Rows:
    """Without lines above the table that say one thing alone."""
    first = 0
    while first < len(rows) - 1 and len(set(filter(None, rows[first]))) == 1:
        first += 1
    return rows[first:]


def _without_statuses(rows: _Rows) -> _Rows:
    """Without the last column, where it says which cells are suppressed."""
    words = {text.casefold() for *_, text in rows[1:]}
    if len(rows[0]) > 2 and words <= {"published", "suppressed"}:
        return [row[:-1] for row in rows]
    return rows


def _is_note(row: tuple[str, ...]) -> bool:
    return bool(row[0]) and not any(row[1:])


def _leading(rows: _Rows) -> int:
    """How many rows stand first that hold no cells; the first one always, whatever it holds.

    A further row is one of headings where those above do not tell all columns apart and it holds
    no cells, or where it begins with nothing, or as the first one does.
    """
    for number, row in enumerate(rows[1:-1], 1):
        cells = any(text and (_is_number(text) or _MARKS.fullmatch(text)) for text in row[1:])
        heads = list(zip(*(above[1:] for above in rows[:number]), strict=True))
        apart = len(set(heads)) == len(heads)
        goes_on = row[0] in {"", rows[0][0]}
        if apart if not goes_on else apart and cells:
            return number
        if cells and not goes_on:
            return number
    return len(rows) - 1


def _label_columns(columns: Sequence[Sequence[str]]) -> int:
    """How many columns stand first that tell rows apart: until each row has labels of its own."""
    number = 1
    while number < len(columns) - 1:
        column = columns[number]
        own = len(set(zip(*columns[:number], strict=True))) == len(column)
        texts = [text for text in column if text]
        numbers = sum(map(_is_number, texts))
        if own and (numbers or all(_MARKS.fullmatch(text) for text in texts)):
            break
        number += 1
    return number


def _filled(labels: _Rows) -> list[tuple[str, ...]]:
    """An empty label goes on with the one above it, unless one before it is another."""
    found: list[tuple[str, ...]] = []
    for row in labels:
        above = found[-1] if found else ("",) * len(row)
        texts: list[str] = []
        for place, text in enumerate(row):
            same = tuple(texts) == above[:place]
            goes_on = not text and same and any(row[place + 1 :])
            texts.append(above[place] if goes_on else text or "(empty)")
        found.append(tuple(texts))
    return found


def _filled_across(row: tuple[str, ...]) -> list[str]:
    found: list[str] = []
    for text in row:
        found.append(text or (found[-1] if found else "(empty)"))
    return found


def _style(texts: Sequence[str]) -> int:
    """How numbers are written: as 1,234.5 (0), or as 1.234,5 (1)."""
    plain = [_NOTE.sub("", text) for text in texts]
    numbers = [text for text in plain if any(form.fullmatch(text) for form, _, _ in _STYLES)]
    fits = [sum(bool(form.fullmatch(text)) for text in numbers) for form, _, _ in _STYLES]
    if fits[0] != fits[1]:
        return int(fits[1] > fits[0])
    whole = [sum(mark not in text for text in numbers) for _, _, mark in _STYLES]
    return int(whole[1] > whole[0])


def _cell(text: str, style: int) -> _Interval | None:
    """Between which numbers a cell lies; None where it is not understood."""
    form, thousands, mark = _STYLES[style]
    plain = _NOTE.sub("", text) or text
    if form.fullmatch(plain):
        digits = plain.translate(dict.fromkeys(map(ord, thousands))).replace(mark, ".")
        return Decimal(digits), Decimal(digits)
    if _MARKS.fullmatch(text):
        return None, None
    if (found := _BELOW.fullmatch(text)) is not None:
        return Decimal(0), Decimal(found[2]) - (found[1] == "<")
    if (found := _ABOVE.fullmatch(text)) is not None:
        return Decimal(found[2]) + (found[1] == ">"), None
    if (found := _RANGE.fullmatch(text)) is not None:
        return Decimal(found[1]), Decimal(found[2])
    return None


# -- totals ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Pivot:
    """One dimension against all others: each column is the cells that differ in it alone."""

    cell: Indices
    """Shape (values, columns): the number of the cell; -1 where there is none."""
    values: Indices
    """Shape (values, columns); 0 where nothing is published."""
    unknown: Indices
    """Shape (values, columns): 1 where a cell is suppressed."""

    @property
    def present(self) -> Mask:
        """Where there is a cell."""
        return self.cell >= 0


@dataclass(frozen=True, eq=False)
class _TotalSearch:
    """Looks for totals in every dimension."""

    names: Sequence[str]
    labels: Sequence[tuple[str, ...]]
    codes: Indices
    numbers: _CellNumbers
    adds_up: Mask
    """Shape (cells,): which cells may be part of a total."""

    def run(self) -> tuple[tuple[_TotalRelation, ...], csr_matrix, tuple[str, ...]]:
        """The totals, the constraints that they are, and what contradicts labels."""
        relations, contradicted = [], []
        entries: list[tuple[Indices, Indices]] = []
        for axis, name in enumerate(self.names):
            pivot, texts = self._pivot(axis), self.labels[axis]
            found = list(_totals(pivot, texts))
            for total, parts, rows in found:
                listed = tuple(texts[part] for part in parts)
                relations.append(_TotalRelation(name, texts[total], listed, rows))
                entries += _constraints(pivot, total, parts)
            totals = {total for total, _, _ in found}
            for code, text in enumerate(texts):
                if is_total(text) and code not in totals and len(texts) > 2:
                    contradicted.append(
                        f"{name}: {text!r} is not the sum of the values that stand beside it"
                    )
        return tuple(relations), _matrix(entries, len(self.codes)), tuple(contradicted)

    def _pivot(self, axis: int) -> _Pivot:
        others = np.delete(self.codes, axis, axis=1)
        _, column = np.unique(others, axis=0, return_inverse=True)
        size = len(self.labels[axis]), int(column.max(initial=0)) + 1
        cell = np.full(size, -1, dtype=np.int64)
        cell[self.codes[:, axis], column.ravel()] = np.where(
            self.adds_up, np.arange(len(self.codes)), -1
        )
        values = np.where(cell >= 0, self.numbers.values[cell], 0)
        unknown = ((cell >= 0) & self.numbers.suppressed[cell]).astype(np.int64)
        return _Pivot(cell, values, unknown)


def _totals(pivot: _Pivot, labels: Sequence[str]) -> Iterator[tuple[int, tuple[int, ...], int]]:
    """Totals with their parts, and in how many columns numbers show it; the shortest runs first.

    What no numbers show is looked for last: labels that say total of all that is left.
    """
    left, totals = list(range(len(labels))), set[int]()
    while (found := _next_total(pivot, labels, left)) is not None:
        total, parts, shown = found
        yield total, parts, shown
        totals.add(total)
        left = [value for value in left if value not in parts]
    named = [value for value in left if is_total(labels[value])]
    rest = [value for value in left if value not in named]
    if len(named) == 1 and rest and named[0] not in totals:
        (total,) = named
        only = _shown_columns(pivot, total, np.array(rest))
        if only is not None and (only or pivot.unknown[[total, *rest]].any()):
            yield total, tuple(rest), only


_Found = tuple[int, tuple[int, ...], int]


def _next_total(pivot: _Pivot, labels: Sequence[str], left: Sequence[int]) -> _Found | None:
    """A total by its label of all up to the next one; else that of the shortest run."""
    named = [place for place, value in enumerate(left) if is_total(labels[value])]
    edges = [-1, *named, len(left)]
    for before, place, behind in zip(edges, named, edges[2:], strict=False):
        for run in (left[place + 1 : behind], left[before + 1 : place]):
            shown = _shown_columns(pivot, left[place], np.array(run, dtype=np.int64))
            if len(run) > 1 and shown:
                return left[place], tuple(run), shown
    lengths = range(2, len(left))
    tried = (_of_length(pivot, labels, left, length) for length in lengths)
    return next((found for found in tried if found is not None), None)


def _of_length(
    pivot: _Pivot, labels: Sequence[str], left: Sequence[int], length: int
) -> _Found | None:
    """A run of so many values that stands before or behind its total; of several, the surest."""
    counted = pivot.values, pivot.unknown, pivot.present.astype(np.int64)
    sums = [_running(each[left]) for each in counted]
    best: tuple[int, _Found] | None = None
    for start in range(len(left) - length + 1):
        added, hidden, present = (each[start + length] - each[start] for each in sums)
        parts = tuple(left[start : start + length])
        if any(is_total(labels[each]) for each in parts):
            continue
        for place in (start - 1, start + length):
            if not 0 <= place < len(left):
                continue
            value = left[place]
            known = (hidden == 0) & (pivot.unknown[value] == 0)
            known &= pivot.present[value] & (present > 0)
            if (known & (added != pivot.values[value])).any():
                continue
            shown = _shown_columns(pivot, value, np.array(parts))
            enough = shown is not None and shown >= 2 - is_total(labels[value])
            if shown is not None and enough and (best is None or shown > best[0]):
                best = shown, (value, parts, shown)
    return None if best is None else best[1]


def _running(rows: Indices) -> Indices:
    """Shape (rows + 1, columns): the sums of the first rows."""
    found: Indices = np.vstack((np.zeros((1, rows.shape[1]), np.int64), np.cumsum(rows, axis=0)))
    return found


def _shown_columns(pivot: _Pivot, total: int, parts: Indices) -> int | None:
    """In how many columns published numbers, not all 0, add up; None where some do not."""
    known = (pivot.unknown[parts].sum(axis=0) == 0) & (pivot.unknown[total] == 0)
    both = pivot.present[total] & pivot.present[parts].any(axis=0)
    added = pivot.values[parts].sum(axis=0)
    published = both & (pivot.unknown[total] == 0)
    if (both & known & (added != pivot.values[total])).any():
        return None
    if (published & (added > pivot.values[total])).any():
        return None
    return int((both & known & (added > 0)).sum())


def _constraints(
    pivot: _Pivot, total: int, parts: Sequence[int]
) -> Iterator[tuple[Indices, Indices]]:
    """Cells and signs of each column in which a total stands with a part of its own."""
    for column in np.flatnonzero(pivot.present[total]).tolist():
        cells = pivot.cell[list(parts), column]
        cells = cells[cells >= 0]
        if len(cells):
            signs = np.array([1, *[-1] * len(cells)], dtype=np.int64)
            yield np.array([pivot.cell[total, column], *cells], dtype=np.int64), signs


def _matrix(entries: Sequence[tuple[Indices, Indices]], cells: int) -> csr_matrix:
    if not entries:
        return csr_matrix((0, cells), dtype=np.int64)
    rows = np.repeat(np.arange(len(entries)), [len(cells_) for cells_, _ in entries])
    columns, signs = (np.concatenate(each) for each in zip(*entries, strict=True))
    return csr_matrix((signs, (rows, columns)), shape=(len(entries), cells), dtype=np.int64)
