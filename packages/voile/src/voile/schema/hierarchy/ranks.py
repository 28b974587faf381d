"""The hierarchy of texts in a declared order: ranges of neighbours, halves of halves.

    [columns.education]
    kind  = "ordinal"
    order = ["none", "primary", "secondary", "bachelor", "master"]

The order is halved, the lower half being the longer one where they differ, and each half again,
until single texts are left: ``*``; ``none to secondary``, ``bachelor to master``; ``none to
primary``, ``secondary``, ``bachelor``, ``master``; the texts.  The order is public: borders never
depend on the data, and a range never joins texts that are no neighbours.

Shares.  Each text of the order covers one q-th of the domain.

Cost: O(d log q) for d distinct values.

Texts with a declared order: the numbers that they count as.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from voile.schema.hierarchy.generalized import (
    BoundHierarchy,
    DistinctValues,
    Level,
    as_they_are,
    bind_levels,
    everything,
    labelled,
    present,
)
from voile_base.errors import PlanError, TableError

__all__ = ["Ranks", "ranks_in_order"]


@dataclass(frozen=True)
class Ranks:
    """Texts in their order, the lowest first; at least two, all different."""

    order: Sequence[str]

    def bind(
        self, column: str, values: DistinctValues, bounds: tuple[Decimal, Decimal] | None = None
    ) -> BoundHierarchy:
        """The hierarchy of the d distinct texts of a column; ``bounds`` are of no use here.

        Raises ``PlanError`` where a value does not stand in the order, or two ranges read alike.
        """
        texts, rank = present(values), {text: place for place, text in enumerate(self.order)}
        unknown = sum(text not in rank for text in texts)
        if unknown:
            msg = (
                f"[columns.{column}] order: {unknown} of the {len(texts)} different values of the "
                "column do not stand in it; name every value, the lowest first, and name the text "
                "in `missing` if it stands for a missing value"
            )
            raise PlanError(msg)
        places = [rank[text] for text in texts]
        share = 1 / len(self.order)
        halved = reversed(list(self._halved()))
        levels = [
            as_they_are(len(texts), share),
            *(self._level(column, places, starts) for starts in halved),
            everything(len(texts)),
        ]
        return bind_levels(column, values, levels, share)

    def _halved(self) -> Iterator[list[int]]:
        """Where the runs of each level begin, from two runs on, as long as some has two texts."""
        starts = [0]
        while True:
            ends = [*starts[1:], len(self.order)]
            halves = [
                start + (end - start + 1) // 2
                for start, end in zip(starts, ends, strict=True)
                if end - start > 1
            ]
            starts = sorted([*starts, *halves])
            if len(starts) == len(self.order):
                return
            yield starts

    def _level(self, column: str, places: Sequence[int], starts: Sequence[int]) -> Level:
        """Runs of neighbours that begin so."""
        ends = [*starts[1:], len(self.order)]
        runs = [(low, end - 1) for low, end in zip(starts, ends, strict=True)]
        names = [
            self.order[low] if low == high else f"{self.order[low]} to {self.order[high]}"
            for low, high in runs
        ]
        alone = [name for name, (low, high) in zip(names, runs, strict=True) if low < high]
        if set(alone) & set(self.order):
            msg = (
                f'[columns.{column}] order: a text reads like a range of others ("X to Y"), so '
                "that nobody could tell them apart; change it"
            )
            raise PlanError(msg)
        of_run = np.array([high - low + 1 for low, high in runs]) / len(self.order)
        run = np.searchsorted(starts, places, side="right") - 1
        return labelled([names[each] for each in run.tolist()], of_run[run])


def ranks_in_order(column: str, order: Sequence[str], values: DistinctValues) -> NDArray[np.int64]:
    """The rank of each distinct value in the order, from 1, shape (d,).

    Raises ``TableError`` where a value is missing or does not stand in it.
    """
    if values.missing:
        msg = (
            f"column {column!r} misses some values, and a missing value has no rank in an order; "
            f'fill them in, or declare [columns.{column}] nulls = "drop"'
        )
        raise TableError(msg)
    rank = {text: number for number, text in enumerate(order, 1)}
    unknown = sum(text not in rank for text in values.texts)
    if unknown:
        msg = (
            f"[columns.{column}] order: {unknown} of the {len(values)} different values of the "
            "column do not stand in it; name every value, the lowest first"
        )
        raise TableError(msg)
    return np.array([rank[str(text)] for text in values.texts], dtype=np.int64)
