"""One column of a table and what a release shows of it, compared in the way it was published.

    published as                                   compared by
    NAME with noise, and an interval around it     the law of the noise (``noise``)
    NAME.low and NAME.high, or ``[low, high]``     whether the interval holds the number
    two dates as ``2020-02-01/2020-02-28``         whether the period holds the date
    texts of a declared order as ``B to A``        whether the range holds the text
    anything else                                  the text, as it is or as it was generalized

A generalized text says what it stands for only to those who know the hierarchy, which a plan
tells.  Without it a text that is a value of the column is taken for that value where groups
differ in detail, and every other one may stand for anything.

Cost: one look-up a value, of t targets and g rows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import polars as pl
from numpy.typing import NDArray

from voile.errors import InputError, TableError
from voile.release.reading.matching import Evidence, Intervals, Labels
from voile.release.reading.noise import NoiseLaws, NoisyEvidence, Readings
from voile.release.reading.rows import People, PublishedRows, Texts, finite, floats_of, texts_of
from voile.schema.hierarchy.generalized import BoundHierarchy
from voile.table.dictionary import encode
from voile.table.numeric import distinct_values

__all__ = ["ColumnView"]

Floats = NDArray[np.float64]

_INTERVAL = r"^\[(?P<low>[^,\[\]]*), (?P<high>[^,\[\]]*)\]$"
_PERIOD = re.compile(r"(\d{4}-\d{2}-\d{2}\S*?)/(\d{4}-\d{2}-\d{2}\S*)")
_MIXED = {"k-anonymity", "ranking"}
"""Guarantees of releases whose groups may differ in detail."""


@dataclass(frozen=True, eq=False)
class ColumnView:
    """One column of a table and what a release shows of it."""

    published: PublishedRows
    shown: pl.DataFrame
    """The sightings, g rows."""
    rows: NDArray[np.int64]
    """Shape (g,): how many published rows show each."""
    people: People
    name: str
    targets: NDArray[np.int64]

    def evidence(self) -> Evidence:
        """How the targets' values compare with what the sightings show."""
        ends = self._ends()
        if (described := self.published.noise(self.name)) is not None:
            return self._noisy(NoiseLaws.of_document(self.name, described), ends)
        if ends is not None:
            return Intervals(self._numbers(), *ends, missing_is_anything=self._level is None)
        return self._periods() or self._ranges() or self._labels()

    def notes(self) -> list[str]:
        """What could not be compared."""
        if self._ends() is None and self._is_guessed:
            return [
                f"column {self.name!r} was generalized, and without its hierarchy its texts may "
                "stand for anything; the plan of the original would tell the adversary more"
            ]
        return []

    @property
    def _level(self) -> int | None:
        """The level to which the column was generalized; 0 if not at all, None if it differs."""
        levels = self.published.levels
        if levels is not None:
            return levels.get(self.name, 0)
        release = self.published.release
        known = self.published.columns_of(self.name)
        generalized = {
            *release.roles.get("quasi_identifiers", ()),
            *release.roles.get("ranking", ()),
        }
        may_differ = release.guarantee.kind in _MIXED and not generalized.isdisjoint(known)
        return None if may_differ else 0

    @property
    def _is_guessed(self) -> bool:
        """Whether the texts of the column were generalized in a way that nobody tells."""
        if self.people.plan is not None or self._level == 0 or self.name not in self.shown.columns:
            return False
        return self._level is not None or bool(set(self._shown_texts()) - self._vocabulary())

    def _numbers(self) -> Floats:
        return self.people.numbers(self.name)[self.targets]

    def _shown_texts(self) -> Texts:
        return texts_of(self.shown[self.name])

    def _vocabulary(self) -> set[str | None]:
        return set(texts_of(self.people.column(self.name).unique()))

    def _ends(self) -> tuple[Floats, Floats] | None:
        """Both ends of the intervals that the release shows of the column, if it does."""
        parts = [f"{self.name}.low", f"{self.name}.high"]
        if all(part in self.shown.columns for part in parts):
            low, high = (floats_of(self.shown[part]) for part in parts)
            return low, high
        numeric = self.people.column(self.name).dtype.is_numeric()
        for column in (f"{self.name}.interval", *([self.name] if numeric else [])):
            if column in self.shown.columns and (ends := _ends_of_texts(self.shown[column])):
                return ends
        return None

    def _noisy(self, laws: NoiseLaws, ends: tuple[Floats, Floats] | None) -> NoisyEvidence:
        if ends is None or self.name not in self.shown.columns:
            msg = f"column {self.name!r} has no intervals, though the release describes its noise"
            raise TableError(msg)
        bounds = self.people.described(self.name).bounds
        readings = Readings(floats_of(self.shown[self.name]), *ends, self.rows)
        declared = (float(bounds[0]), float(bounds[1])) if bounds else None
        return NoisyEvidence.of(self.name, self._numbers(), readings, laws, declared)

    def _periods(self) -> Intervals | None:
        """Dates and times in periods, compared by their places among all that are named."""
        if not self.people.column(self.name).dtype.is_temporal():
            return None
        shown = self._shown_texts()
        matches = [_PERIOD.fullmatch(text or "") for text in shown]
        if not any(matches):
            return None
        ends = [m.groups() if m else (text, text) for m, text in zip(matches, shown, strict=True)]
        known = self._known_texts()
        named = sorted({text for text in chain(known, *ends) if text is not None})
        place: dict[str | None, float] = {text: i for i, text in enumerate(named)}
        place[None] = np.nan
        low, high = (np.array([place[end[side]] for end in ends]) for side in (0, 1))
        numbers = np.array([place[text] for text in known])
        return Intervals(numbers, low, high, missing_is_anything=self._level is None)

    def _ranges(self) -> Intervals | None:
        """Texts of a declared order in ranges such as ``B to A``, compared by their places."""
        order = self.people.described(self.name).order
        if order is None:
            return None
        place: dict[str | None, float] = {text: i for i, text in enumerate(order)}
        ends: dict[str | None, tuple[float, float]] = {
            f"{order[low]} to {order[high]}": (low, high)
            for high in range(len(order))
            for low in range(high)
        }
        ends |= {text: (i, i) for text, i in place.items()}
        shown = [ends.get(text, (np.nan, np.nan)) for text in self._shown_texts()]
        low, high = np.array(shown).reshape(-1, 2).T
        known = np.array([place.get(text, np.nan) for text in self._known_texts()])
        return Intervals(known, low, high, missing_is_anything=self._level is None)

    def _known_texts(self) -> Texts:
        return texts_of(self.people.column(self.name).gather(self.targets))

    def _labels(self) -> Labels:
        known, shown, level = self._known_texts(), self._shown_texts(), self._level
        if level == 0:
            return Labels.of([known], shown)
        unclear: set[str | None] = {None} if level is None else set()
        if self.people.plan is None:
            unclear |= set(shown) - (self._vocabulary() if level is None else set())
            return Labels.of([known], shown, unclear)
        column = encode(finite(self.people.column(self.name)))
        values = distinct_values(column.values)
        hierarchy = self.people.described(self.name).bind_hierarchy(self.name, values)
        codes = column.codes[self.targets].astype(np.int64)
        levels = range(hierarchy.height + 1) if level is None else [level]
        generalized = [_generalized(hierarchy, number, values.texts) for number in levels]
        return Labels.of([[texts[code] for code in codes] for texts in generalized], shown, unclear)


def _generalized(hierarchy: BoundHierarchy, level: int, own: Sequence[str | None]) -> Texts:
    """What each distinct value of a column becomes at a level, as text."""
    if not 0 <= level <= hierarchy.height:
        msg = (
            f"column {hierarchy.column!r} was generalized to level {level}, which the plan's "
            "hierarchy does not have; give the plan of this release"
        )
        raise InputError(msg)
    texts = hierarchy.values[level].texts
    return list(own) if texts is None else [texts[code] for code in hierarchy.codes[level].tolist()]


def _ends_of_texts(shown: pl.Series) -> tuple[Floats, Floats] | None:
    """The ends of intervals written as ``[low, high]``; None where a text is no interval."""
    if shown.dtype != pl.String:
        return None
    parts = shown.str.extract_groups(_INTERVAL).struct
    low, high = parts.field("low"), parts.field("high")
    if low.null_count() > shown.null_count() or low.null_count() == len(low):
        return None
    return floats_of(low), floats_of(high)
