"""The column that an adversary wants to know: the values a release shows, and which are right.

A value that is published as it is must be the person's own, or within a distance of it where that
is enough; one that was generalized must cover the own value.

Cost: one look-up a value, of t targets and v shown values; O(t v) for the comparison.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from voile.disclosure.evidence import Evidence
from voile.release.reading.rows import PublishedRows, finite, floats_of
from voile.release.reading.sightings import People
from voile.release.reading.views import ColumnView
from voile.release.release import Release
from voile.schema.plan import Plan
from voile.table.arrays import Values
from voile.table.binding import distinct_values
from voile.table.codes import encode
from voile_base.errors import InputError, TableError, nearest

__all__ = ["Wanted", "check_distance", "refusal_to_show", "shown_values", "with_texts"]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

_ROUNDING = 1e-12
"""Relative error of a difference of two decimals in double precision, generously."""


@dataclass(frozen=True, eq=False)
class Wanted:
    """The sensitive column, as a release shows it, and t people of whom it is wanted; private.

    Raises ``InputError`` where a distance is asked for in a column without numbers, and
    ``TableError`` where the original lacks the column.
    """

    published: PublishedRows
    """With intervals as texts."""
    people: People
    name: str
    targets: NDArray[np.int64]
    distance: float | None = None
    """How far from a number a guess is right; None: it must be, or cover, the own value."""

    def __post_init__(self) -> None:
        if self.name not in self.people.frame.columns:
            msg = (
                f"the private original has no column {self.name!r}, whose values are wanted"
                f"{nearest(self.name, self.people.frame.columns)}"
            )
            raise TableError(msg)
        if self.distance is not None and not self.is_numeric:
            msg = f"column {self.name!r} is not published as numbers; leave out within"
            raise InputError(msg)

    @cached_property
    def shown(self) -> Values:
        """The v different values, ascending; a missing one comes first."""
        return shown_values(self.published, self.name)

    @property
    def column(self) -> str:
        """The published column."""
        return self.published.columns_of(self.name)[0]

    @property
    def is_numeric(self) -> bool:
        """Whether the values are numbers."""
        return self.shown.dtype.is_numeric()

    @property
    def goal(self) -> str:
        """What counts as a right guess, as a clause."""
        if self.distance is not None:
            return (
                f"the best guess of {self.name!r} is within {self.distance:g} of the target's own "
                "value"
            )
        if self._is_generalized:
            return f"the best guess of {self.name!r}, as published, covers the target's own value"
        return f"the best guess of {self.name!r} is the target's own value"

    def right(self, chunk: slice) -> Mask:
        """For some of the targets, whether naming each value is right, shape (targets, v)."""
        if self.distance is None:
            return np.isfinite(self._evidence.log_weights(chunk))
        first, last = self._window(self.people.numbers(self.name)[self.targets[chunk]])
        place = np.arange(len(self.shown))
        return (first[:, np.newaxis] <= place) & (place < last[:, np.newaxis])

    def nearby(self, belief: Floats) -> Floats:
        """From beliefs (t, v) in values, the belief that naming each of them is right."""
        if self.distance is None:
            return belief
        first, last = self._window(floats_of(self.shown))
        summed = np.cumsum(belief, axis=1)
        summed = np.concatenate([np.zeros((len(belief), 1)), summed], axis=1)
        near: Floats = summed[:, last] - summed[:, first]
        return near

    @cached_property
    def tree(self) -> NDArray[np.int64] | None:
        """The nodes above each value below the root, (h, v), leaves first; None without hierarchy.

        Raises ``PlanError`` or ``TableError`` where the hierarchy of the plan does not fit.
        """
        declared = self.people.described(self.name)
        if declared.hierarchy is None or self._is_generalized:
            return None
        codes = declared.bind_hierarchy(self.name, distinct_values(self.shown)).codes
        below = codes[:-1] if len(np.unique(codes[-1])) == 1 else codes
        return np.array(below, dtype=np.int64).reshape(len(below), len(self.shown))

    @cached_property
    def _evidence(self) -> Evidence:
        """Which of the v values each target's own may have become."""
        frame = self.shown.to_frame()
        cells = frame, np.ones(len(frame), dtype=np.int64)
        view = ColumnView.of(self.published, cells, self.people, self.name, self.targets)
        return view.evidence()

    @property
    def _is_generalized(self) -> bool:
        return self.published.disclosure.columns[self.name].coarse

    def _window(self, numbers: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The first of the v values near each number, and the first behind them."""
        assert self.distance is not None
        values, around = (_missing_first(array) for array in (floats_of(self.shown), numbers))
        reach = self.distance + _ROUNDING * (self.distance + np.abs(around))
        reach = np.where(np.isfinite(around), reach, 0.0)  # missing values are near each other
        return (
            np.searchsorted(values, around - reach, side="left"),
            np.searchsorted(values, around + reach, side="right"),
        )


def refusal_to_show(release: Release, name: str, plan: Plan | None) -> str | None:
    """Why nobody can guess values of a column from a release, as a clause; None where one can."""
    disclosure = release.disclosure
    if not list(disclosure.columns_of(name)):
        return f"the release has no column {name!r}{nearest(name, release.table.columns)}"
    shown = disclosure.columns.get(name)
    if shown is not None and shown.noise:
        return f"column {name!r} is published with noise, and no value of it is anybody's own"
    if plan is None and shown is not None and shown.coarse and shown.needs_hierarchy:
        return (
            f"column {name!r} was generalized, and only the plan of the original tells what its "
            "texts stand for"
        )
    return None


def with_texts(published: PublishedRows, name: str) -> PublishedRows:
    """The rows of a release, every value of a column in one published column."""
    if len(published.columns_of(name)) > 1:
        return PublishedRows.of(published.release.with_intervals_as_text())
    return published


def shown_values(published: PublishedRows, name: str) -> Values:
    """The different values of a column in rows ``with_texts``, ascending; a missing one first."""
    (column,) = published.columns_of(name)
    return encode(finite(published.frame[column])).values


def check_distance(distance: float | None) -> None:
    """Raise ``InputError`` unless a distance is a finite number of at least 0."""
    if distance is not None and not (math.isfinite(distance) and distance >= 0):
        msg = "within must be a number of at least 0: how far from the own value a guess is right"
        raise InputError(msg)


def _missing_first(numbers: Floats) -> Floats:
    return np.where(np.isnan(numbers), -np.inf, numbers)
