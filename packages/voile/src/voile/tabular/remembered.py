"""Tables that left, as a memory of outputs keeps them: their rows' conditions, cells and values.

A **remembered table** is of the rows that meet its conditions.  It has dimensions whose values are
sets of finest values: a total is all of them, a county its regions.  Suppressed cells are there
without their values.

Private: next to each cell stands how many units it has, also where only a sum was published.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voile.schema.tabulation import Condition
from voile.tabular.counting import PrivateCells
from voile.tabular.recognised import RecognisedTable, is_total
from voile.tabular.system import TOTAL, Indices, TableLayout
from voile_base.values import Json

__all__ = [
    "RememberedDimension",
    "RememberedMeasure",
    "RememberedTable",
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
