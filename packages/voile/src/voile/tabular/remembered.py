"""Tables that left, as a memory of outputs keeps them, and their cells as boxes of values.

A **remembered table** is of the rows that meet its conditions.  It has dimensions whose values are
sets of finest values: a total is all of them, a county its regions.  Suppressed cells are there
without their values.

Private: next to each cell stands how many units it has, also where only a sum was published.

**Boxes**: of each column, the values that a cell's rows may have.

Filters and dimensions are the same to an attacker, so a **box** holds both.  The values of each
column are cut where any table cuts them, numbers in order and texts one by one, and what a box
allows of a column is a set of these pieces: the bits of a whole number.  A coarser level of a
column is the values that some table shows below each of its own.

Cost: memory and time in the cells of all tables, and in their pieces.
"""

from __future__ import annotations

import json
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from voile.schema.tabulation import Condition, number_of
from voile.tabular.counting import PrivateCells
from voile.tabular.recognised import RecognisedTable, is_total
from voile.tabular.system import TOTAL, Indices, TableLayout
from voile_base.ondemand import dataclass
from voile_base.values import Json

__all__ = [
    "Box",
    "ColumnPieces",
    "RememberedDimension",
    "RememberedMeasure",
    "RememberedTable",
    "TableBoxes",
]

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class RememberedDimension:
    """A dimension of a table that left."""

    column: str
    """The column of its finest values."""
    labels: tuple[str, ...]
    """All that it shows, totals and coarser values too."""
    finest: tuple[tuple[str, ...], ...]
    """For each, the finest values that it holds."""
    levels: tuple[str | None, ...]
    """For each, the column of a coarser level; None for finest values and totals."""
    complete: bool
    """Whether its finest values hold all rows of the table."""


@dataclass(frozen=True, eq=False)
class RememberedMeasure:
    """What was published of a count or a sum."""

    values: Indices
    """Shape (cells,), in units of ``10**-decimals``; 0 where nothing was published."""
    shown: Mask
    """Shape (cells,): where it was published."""
    counts: bool
    """Whether it counts units."""
    decimals: int


@dataclass(frozen=True, eq=False)
class RememberedTable:
    """A table that left, or is to leave."""

    name: str
    conditions: tuple[Condition, ...]
    dimensions: tuple[RememberedDimension, ...]
    codes: Indices
    """Shape (cells, dimensions): the label of each cell."""
    measures: Mapping[str, RememberedMeasure]
    units: Indices
    """Shape (cells,): units of each cell; -1 where they are not known."""

    @property
    def leaves(self) -> Iterator[tuple[str, ...]]:
        """For each dimension, its finest values."""
        for each in self.dimensions:
            yield tuple(dict.fromkeys(text for texts in each.finest for text in texts))

    def text_of(self, cell: int) -> str:
        """The conditions and values of a cell."""
        pairs = zip(self.dimensions, self.codes[cell].tolist(), strict=True)
        return ", ".join(
            [
                *(one.text() for one in self.conditions),
                *(f"{one.column} = {one.labels[code]}" for one, code in pairs),
            ]
        )

    @classmethod
    def of_cells(
        cls, cells: PrivateCells, suppressed: Mask, conditions: Sequence[Condition] = ()
    ) -> tuple[RememberedTable, ...]:
        """Tables of ours, as they are published."""
        found = []
        for table in cells.system.tabulation.tables:
            blocks = [(choice, cells.system.block(choice)) for choice in table.choices()]
            own = np.concatenate([b.start + np.arange(b.size) for _, b in blocks])
            dimensions = tuple(_dimension(cells, levels) for levels in table.dimensions)
            codes = np.concatenate([_codes(cells, table, c, dimensions) for c, _ in blocks])
            measures = {
                one.name: RememberedMeasure(
                    np.where(suppressed[own], 0, one.values[own]),
                    ~suppressed[own] & one.shown[own],
                    one.whole,
                    one.scale,
                )
                for one in cells.measures
                if one.name in cells.shows[table.name]
            }
            found.append(
                cls(table.name, tuple(conditions), dimensions, codes, measures, cells.units[own])
            )
        return tuple(found)

    @classmethod
    def of_recognised(
        cls, table: RecognisedTable, conditions: Sequence[Condition], measure: str
    ) -> RememberedTable:
        """A table of anybody; ``measure`` says what its cells count or add up."""
        dimensions = tuple(
            _recognised_dimension(table, axis) for axis in range(len(table.dimensions))
        )
        system, counts = table.system, measure == "count"
        kept = RememberedMeasure(system.values, ~system.suppressed, counts, table.decimals)
        units = np.where(counts & ~system.suppressed, system.values, -1)
        return cls(table.name, tuple(conditions), dimensions, table.codes, {measure: kept}, units)

    def packed(self) -> bytes:
        """As bytes, which ``unpacked`` reads."""
        document = {
            "name": self.name,
            "conditions": [[c.column, c.sign, list(c.values)] for c in self.conditions],
            "dimensions": [
                [d.column, list(d.labels), [list(f) for f in d.finest], list(d.levels), d.complete]
                for d in self.dimensions
            ],
            "codes": self.codes.T.tolist(),
            "cells": len(self.codes),
            "measures": {
                name: [m.values.tolist(), m.shown.astype(int).tolist(), m.counts, m.decimals]
                for name, m in self.measures.items()
            },
            "units": self.units.tolist(),
        }
        return zlib.compress(json.dumps(document, separators=(",", ":")).encode(), 9)

    @classmethod
    def unpacked(cls, data: bytes) -> RememberedTable:
        """From bytes; raises ``ValueError`` where they are none of ``packed``."""
        try:
            stated: Json = json.loads(zlib.decompress(data))
            dimensions = tuple(
                RememberedDimension(c, tuple(ls), tuple(map(tuple, fs)), tuple(lv), bool(whole))
                for c, ls, fs, lv, whole in stated["dimensions"]
            )
            codes = np.array(stated["codes"], dtype=np.int64).reshape(
                len(dimensions), stated["cells"]
            )
            return cls(
                stated["name"],
                tuple(Condition(c, s, tuple(v)) for c, s, v in stated["conditions"]),
                dimensions,
                codes.T,
                {
                    name: RememberedMeasure(
                        np.array(values, dtype=np.int64), np.array(shown, dtype=np.bool_), c, d
                    )
                    for name, (values, shown, c, d) in stated["measures"].items()
                },
                np.array(stated["units"], dtype=np.int64),
            )
        except (zlib.error, KeyError, TypeError) as error:
            msg = "the record of a table cannot be read"
            raise ValueError(msg) from error


def _dimension(cells: PrivateCells, levels: Sequence[str]) -> RememberedDimension:
    """A dimension of ours: its total, then its levels from coarse to fine."""
    tabulation, finest = cells.system.tabulation, levels[-1]
    all_finest = tabulation.labels[finest]
    labels, holds, named = [TOTAL], [tuple(all_finest)], list[str | None]([None])
    for level in levels:
        for code, label in enumerate(tabulation.labels[level]):
            labels.append(label)
            if level == finest:
                holds.append((label,))
                named.append(None)
                continue
            above = tabulation.parents[finest, level]
            holds.append(tuple(all_finest[at] for at in np.flatnonzero(above == code)))
            named.append(level)
    return RememberedDimension(finest, tuple(labels), tuple(holds), tuple(named), True)


def _codes(
    cells: PrivateCells,
    table: TableLayout,
    choice: Sequence[str | None],
    dimensions: Sequence[RememberedDimension],
) -> Indices:
    """Shape (cells of a block, dimensions): their labels."""
    block = cells.system.block(tuple(choice))
    own = block.codes()
    columns = []
    for levels, level, _ in zip(table.dimensions, choice, dimensions, strict=True):
        if level is None:
            columns.append(np.zeros(block.size, dtype=np.int64))
            continue
        before = levels[: levels.index(level)]
        first = 1 + sum(len(cells.system.tabulation.labels[one]) for one in before)
        columns.append(first + own[level])
    return np.column_stack(columns)


def _recognised_dimension(table: RecognisedTable, axis: int) -> RememberedDimension:
    """A dimension of a table of anybody, whose totals hold what their parts hold."""
    name, labels = table.dimensions[axis], table.labels[axis]
    parts = {one.total: one.parts for one in table.relations if one.dimension == name}

    def finest(label: str) -> tuple[str, ...]:
        if label not in parts:
            return (label,)
        return tuple(text for part in parts[label] for text in finest(part))

    inner = {part for texts in parts.values() for part in texts}
    tops = [label for label in labels if label not in inner]
    complete = len(tops) == 1 and tops[0] in parts and is_total(tops[0])
    return RememberedDimension(
        name, labels, tuple(map(finest, labels)), (None,) * len(labels), complete
    )


_RANGE = 2
_Cut = tuple[Decimal, int]
"""A border: before (0) or behind (1) a number."""
Box = tuple[tuple[int, int], ...]
"""Columns that a box restricts, ascending, each with its pieces as the bits of a number."""


@dataclass(frozen=True)
class ColumnPieces:
    """All columns that tables restrict, and the pieces into which their values are cut."""

    names: tuple[str, ...]
    pieces: tuple[Mapping[str, int], ...]
    """For each column, the pieces of each value, as bits."""
    cuts: tuple[tuple[_Cut, ...], ...]
    """For each ordered column, its borders; empty for others."""
    full: tuple[int, ...]
    """For each column, all of its pieces."""
    coarser: Mapping[str, Mapping[str, tuple[str, tuple[str, ...]]]]
    """For columns that are a coarser level of another one: that column, and the values of each."""

    @classmethod
    def of(cls, tables: Sequence[RememberedTable]) -> ColumnPieces:
        """The pieces that some tables need."""
        coarser = _coarser(tables)
        values: dict[str, dict[str, None]] = defaultdict(dict)
        borders: dict[str, list[_Cut]] = defaultdict(list)
        listed: dict[str, dict[str, None]] = defaultdict(dict)
        for table in tables:
            for one in table.conditions:
                if one.sign in {"=", "!="}:
                    for column, texts in _resolved(coarser, one.column, one.values):
                        values[column].update(dict.fromkeys(texts))
                else:
                    borders[one.column] += _borders(one)
            for dimension in table.dimensions:
                for texts in dimension.finest:
                    for column, inner in _resolved(coarser, dimension.column, texts):
                        values[column].update(dict.fromkeys(inner))
                        if dimension.complete and not table.conditions:
                            listed[column].update(dict.fromkeys(inner))
        names = tuple(sorted({*values, *borders}))
        made = [_cut(values[name], borders[name], listed[name]) for name in names]
        pieces, cuts, full = zip(*made, strict=True) if made else ((), (), ())
        return cls(names, tuple(pieces), tuple(cuts), tuple(full), coarser)

    def place(self, column: str) -> int:
        """The number of a column."""
        return self.names.index(column)

    def condition(self, one: Condition) -> tuple[int, int]:
        """The column of a condition, and the pieces that meet it."""
        if one.sign in {"=", "!="}:
            ((column, texts),) = _resolved(self.coarser, one.column, one.values)
            place = self.place(column)
            met = self.union(place, texts)
            return place, met if one.sign == "=" else self.full[place] & ~met
        place = self.place(one.column)
        border = _borders(one)[0]
        borders = self.cuts[place]
        below = (1 << (borders.index(border) + 1)) - 1
        line = (1 << (len(borders) + 1)) - 1
        met = below if one.sign in {"<", "<="} else line & ~below
        return place, met & self.full[place]

    def union(self, place: int, texts: Iterable[str]) -> int:
        """The pieces of some values."""
        found = 0
        for text in texts:
            found |= self.pieces[place].get(text, 0)
        return found & self.full[place]

    def dimension(self, one: RememberedDimension) -> tuple[int, tuple[int, ...]]:
        """The column of a dimension, and the pieces of each of its labels."""
        column = one.column
        if all(text in self.coarser.get(column, {}) for texts in one.finest for text in texts):
            first = next(text for texts in one.finest for text in texts)
            column = self.coarser[one.column][first][0]
        place = self.place(column)
        masks = []
        for texts in one.finest:
            inner = [
                text
                for _, several in _resolved(self.coarser, one.column, texts)
                for text in several
            ]
            masks.append(self.union(place, inner))
        return place, tuple(masks)

    def text(self, box: Box) -> str:
        """A box as conditions."""
        return ", ".join(f"{self.names[place]} {self._said(place, mask)}" for place, mask in box)

    def _said(self, place: int, mask: int) -> str:
        cuts = self.cuts[place]
        line = mask & ((1 << (len(cuts) + 1)) - 1) if cuts else 0
        if line:
            ends = _runs(line)
            return " or ".join(_between(cuts, low, high) for low, high in ends)
        texts = [text for text, own in self.pieces[place].items() if own and own & mask == own]
        if not texts:
            return "is another value"
        more = f" or {len(texts) - 3:,} more" if len(texts) > 3 else ""
        return f"= {' or '.join(texts[:3])}{more}"


def _coarser(
    tables: Sequence[RememberedTable],
) -> Mapping[str, Mapping[str, tuple[str, tuple[str, ...]]]]:
    """Coarser levels, as tables show which finest values each of theirs holds."""
    found: dict[str, dict[str, tuple[str, dict[str, None]]]] = defaultdict(dict)
    for table in tables:
        for one in table.dimensions:
            for label, texts, level in zip(one.labels, one.finest, one.levels, strict=True):
                if level is None or level == one.column:
                    continue
                column, held = found[level].setdefault(label, (one.column, {}))
                if column == one.column:
                    held.update(dict.fromkeys(texts))
    return {
        level: {label: (column, tuple(held)) for label, (column, held) in labels.items()}
        for level, labels in found.items()
    }


def _resolved(
    coarser: Mapping[str, Mapping[str, tuple[str, tuple[str, ...]]]],
    column: str,
    texts: Sequence[str],
) -> list[tuple[str, tuple[str, ...]]]:
    """Values of a column by those of its finest one, where all of them are known to be coarser."""
    known = coarser.get(column)
    if not known or not all(text in known for text in texts):
        return [(column, tuple(texts))]
    of: dict[str, list[str]] = defaultdict(list)
    for text in texts:
        finer, held = known[text]
        of[finer] += held
    if len(of) > 1:
        return [(column, tuple(texts))]
    return [(finer, tuple(held)) for finer, held in of.items()]


def _borders(one: Condition) -> list[_Cut]:
    number = number_of(one.values[0])
    assert number is not None, "conditions were parsed"
    return [_normal((number, int(one.sign in {"<=", ">"})))]


def _normal(cut: _Cut) -> _Cut:
    """Behind a whole number is before the next: columns of whole borders hold whole numbers."""
    number, behind = cut
    whole = behind and number == number.to_integral_value()
    return (number + 1, 0) if whole else cut


def _span(text: str) -> tuple[_Cut, _Cut] | None:
    """Where a value of an ordered column begins and ends; None for one that has no order."""
    number = number_of(text)
    if number is not None:
        return _normal((number, 0)), _normal((number, 1))
    inner = text.strip("[]() ")
    for mark in (",", " to ", "\u2013", "-"):
        ends = [number_of(part.strip()) for part in inner.split(mark)]
        if len(ends) == _RANGE and ends[0] is not None and ends[1] is not None:
            return _normal((ends[0], 0)), _normal((ends[1], 1))
    for mark, behind in (("<=", 1), (">=", 0), ("<", 0), (">", 1)):
        if inner.startswith(mark) and (border := number_of(inner.removeprefix(mark).strip())):
            edge = _normal((border, behind))
            far = Decimal("Infinity")
            return ((-far, 0), edge) if mark[0] == "<" else (edge, (far, 0))
    return None


def _cut(
    values: Iterable[str], borders: Sequence[_Cut], listed: Iterable[str]
) -> tuple[Mapping[str, int], tuple[_Cut, ...], int]:
    """The pieces of each value, the borders, and all pieces of a column.

    Rows may have values that no table lists, which are one piece, unless a table of all rows lists
    them.
    """
    spans = {text: _span(text) for text in values}
    if not borders and not any(span and number_of(t) is None for t, span in spans.items()):
        pieces = {text: 1 << place for place, text in enumerate(spans)}
        known = 0
        for text in listed:
            known |= pieces[text]
        return pieces, (), known or (1 << (len(pieces) + 1)) - 1
    ends = {end for span in spans.values() if span for end in span}
    cuts = tuple(sorted(cut for cut in {*borders, *ends} if cut[0].is_finite()))
    at = {cut: number + 1 for number, cut in enumerate(cuts)}
    at |= {(Decimal("-Infinity"), 0): 0, (Decimal("Infinity"), 0): len(cuts) + 1}
    pieces, used = {}, len(cuts) + 1
    for text, span in spans.items():
        if span is None:
            pieces[text] = 1 << used
            used += 1
        else:
            pieces[text] = (1 << at[span[1]]) - (1 << at[span[0]])
    known = 0
    for text in listed:
        known |= pieces[text]
    return pieces, cuts, known or (1 << (used + 1)) - 1


def _runs(line: int) -> list[tuple[int, int]]:
    """Runs of set bits: first and behind the last."""
    found, place = [], 0
    while line >> place:
        if (line >> place) & 1:
            first = place
            while (line >> place) & 1:
                place += 1
            found.append((first, place))
        place += 1
    return found


def _between(cuts: Sequence[_Cut], low: int, high: int) -> str:
    """A run of pieces of an ordered column as a condition."""
    least = None if low == 0 else cuts[low - 1]
    most = None if high > len(cuts) else cuts[high - 1]
    if least and most and least[1] == most[1] == 0 and most[0] == least[0] + 1:
        return f"= {least[0]}"
    below = "" if most is None else f"{'<=' if most[1] else '<'} {most[0]}"
    above = "" if least is None else f"{'>' if least[1] else '>='} {least[0]}"
    return " and ".join(filter(None, (above, below))) or "any"


@dataclass(frozen=True, eq=False)
class TableBoxes:
    """The boxes of a table's cells."""

    table: RememberedTable
    families: Mapping[int, tuple[int, ...]]
    """For each column that it restricts: the pieces of each label, or those of its conditions."""
    boxes: tuple[Box | None, ...]
    """Of each cell; None for one that no row can be in."""
    absent: tuple[Box, ...]
    """Boxes that hold none of its rows, as its dimensions list all values."""
