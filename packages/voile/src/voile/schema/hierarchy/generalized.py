"""A hierarchy bound to a column: what each of its values becomes at each level.

Every kind of hierarchy ends in the same plain value: for each level, the generalized values and,
for each of the d distinct values of the column, which of them it becomes.  Methods see only that.

Levels of a bound hierarchy, built alike for every kind of hierarchy.

A kind of hierarchy says what each of the p values that are not missing becomes at each level;
``BoundHierarchy.of_levels`` adds the missing value.  It stays a value of its own at every level but
the last, and there too unless the last level is one value that covers the whole domain: whoever
reads "*", or an interval as wide as the public bounds, learns nothing, and so may stand for a
missing value.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.schema.numbers import ExactNumbers
from voile_base.errors import PlanError
from voile_base.ondemand import dataclass

__all__ = [
    "EVERYTHING",
    "SMALLEST_SHARE",
    "BoundHierarchy",
    "DistinctValues",
    "GeneralizedValues",
    "Level",
    "and_others",
]


@dataclass(frozen=True, eq=False)
class DistinctValues:
    """The d distinct values of one column, ascending; a missing value, if any, comes first."""

    kind: str
    """Kind of the values: number, text, boolean, date, ..."""
    texts: tuple[str | None, ...]
    """How each value reads in a file: numbers in plain decimal notation, dates in ISO 8601."""
    numbers: ExactNumbers | None = None
    """For numbers: the values that are not missing, exactly; shape (d,) or (d - 1,)."""

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def missing(self) -> bool:
        """Whether the first value stands for the missing ones."""
        return bool(self.texts) and self.texts[0] is None

    def present(self) -> tuple[str, ...]:
        """The texts of the p values that are not missing."""
        return tuple(text for text in self.texts if text is not None)

    def present_texts(self, column: str, why: str) -> tuple[str, ...]:
        """The same; raises ``PlanError`` for other values than texts, which ``why`` asks for."""
        texts = self.present()
        if texts and self.kind != "text":
            msg = (
                f"column {column!r} holds values of kind {self.kind!r}, and {why}; write "
                'type = "text" in its table of the plan'
            )
            raise PlanError(msg)
        return texts


@dataclass(frozen=True, eq=False)
class GeneralizedValues:
    """The q generalized values of one level, as they are published.

    Either texts, or closed intervals ``[low, high]``; neither where the level leaves the values
    of the column as they are.
    """

    share: NDArray[np.float64]
    """Shape (q,): the share of the column's public domain that each covers, above 0, at most 1."""
    texts: tuple[str | None, ...] | None = None
    """None stands for a missing value."""
    low: ExactNumbers | None = None
    high: ExactNumbers | None = None
    """Borders of the intervals, both inclusive; where ``missing``, of those behind the first."""
    missing: bool = False
    """Whether the first generalized value is the missing one."""
    alone: bool = False
    """Whether it is known that the missing one stands for missing values alone."""

    def __len__(self) -> int:
        return len(self.share)

    @property
    def shown(self) -> list[str | None] | None:
        """How each reads, both ends of an interval in one text; None: as the values themselves."""
        if self.texts is not None:
            return list(self.texts)
        if self.low is None or self.high is None:
            return None
        ends = zip(self.low.texts(), self.high.texts(), strict=True)
        told: list[str | None] = [low if low == high else f"{low} to {high}" for low, high in ends]
        return [None, *told] if self.missing else told


@dataclass(frozen=True, eq=False)
class BoundHierarchy:
    """What the d distinct values of a column become at each of its levels.

    Level 0 leaves every value as it is, or makes it an interval of its own; each level is a
    coarsening of the one below.
    """

    column: str
    codes: tuple[NDArray[np.int32], ...]
    """For each level, shape (d,): the generalized value of each distinct value."""
    values: tuple[GeneralizedValues, ...]
    """For each level."""

    @property
    def height(self) -> int:
        """The highest level; level 0 is the lowest."""
        return len(self.codes) - 1

    @staticmethod
    def of_levels(
        column: str, values: DistinctValues, levels: Sequence[Level], leaf_share: float
    ) -> BoundHierarchy:
        """The levels with the missing value added, whose share is ``leaf_share``."""
        if values.missing:
            *lower, top = levels
            levels = [
                *(_with_missing(level, leaf_share) for level in lower),
                _topped(top, leaf_share),
            ]
        return BoundHierarchy(
            column=column,
            codes=tuple(level.codes.astype(np.int32) for level in levels),
            values=tuple(_within_shares(level.values) for level in levels),
        )


EVERYTHING = "*"
"""What a value is published as where nothing is said about it."""

SMALLEST_SHARE = 2.0**-53
"""What one value covers of a domain that nobody declared: too little to count, and not nothing."""


@dataclass(frozen=True, eq=False)
class Level:
    """What the p values that are not missing become, one of q generalized values each."""

    codes: NDArray[Any]
    """Shape (p,)."""
    values: GeneralizedValues

    @staticmethod
    def as_they_are(count: int, share: float | NDArray[np.float64]) -> Level:
        """The lowest level: ``count`` values, each of which stays as it is."""
        return Level(np.arange(count), GeneralizedValues(np.broadcast_to(share, count)))

    @staticmethod
    def everything(count: int, bounds: tuple[Decimal, Decimal] | None = None) -> Level:
        """The highest level: one value for all, the public bounds where there are any."""
        whole = np.ones(1)
        if bounds is None:
            return Level(np.zeros(count, np.int32), GeneralizedValues(whole, (EVERYTHING,)))
        low, high = (ExactNumbers.of([bound]) for bound in bounds)
        return Level(np.zeros(count, np.int32), GeneralizedValues(whole, low=low, high=high))

    @staticmethod
    def labelled(labels: Sequence[str], share: NDArray[np.float64]) -> Level:
        """A level from the label of each of the p values and the share that the label covers."""
        indices: dict[str, int] = {}
        codes = np.array([indices.setdefault(label, len(indices)) for label in labels], np.int32)
        of_label = np.empty(len(indices))
        of_label[codes] = share
        return Level(codes, GeneralizedValues(of_label, tuple(indices)))


def _with_missing(level: Level, leaf_share: float) -> Level:
    shown = level.values
    values = GeneralizedValues(
        share=np.concatenate(([leaf_share], shown.share)),
        texts=None if shown.texts is None else (None, *shown.texts),
        low=shown.low,
        high=shown.high,
        missing=True,
    )
    return Level(np.concatenate(([0], level.codes + 1)), values)


def _topped(level: Level, leaf_share: float) -> Level:
    if len(level.values) == 1 and level.values.share[0] == 1:
        return Level(np.zeros(len(level.codes) + 1), level.values)
    return _with_missing(level, leaf_share)


def _within_shares(values: GeneralizedValues) -> GeneralizedValues:
    share = np.clip(values.share, SMALLEST_SHARE, 1.0)
    return GeneralizedValues(share, values.texts, values.low, values.high, values.missing)


def and_others(count: int) -> str:
    """That so many other values are meant besides one that is named, in words; nothing for none."""
    if not count:
        return ""
    return f" and {count:,} other value{'' if count == 1 else 's'}"
