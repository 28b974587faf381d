"""What a release shows of people about whom some columns are known: evidence, column by column.

How a column is published decides what a known value is compared with:

    published as                                   compared by
    NAME with noise, and an interval around it     the law of the noise (``noise``)
    NAME.low and NAME.high, or ``[low, high]``     whether the interval holds the number
    two dates as ``2020-02-01/2020-02-28``         whether the period holds the date
    anything else                                  the text, as it is or as it was generalized

A generalized text says what it stands for only to those who know the hierarchy, which a plan
tells.  Without it a text that is a value of the column is taken for that value where groups
differ in detail, and every other one may stand for anything.

Rows that show the same are one sighting with a number of rows.

Cost: a sort of the n published rows, and one look-up a value.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from voile.errors import InputError, TableError, nearest
from voile.release.reading.matching import Evidence, Intervals, Labels
from voile.release.reading.noise import NoiseLaws, NoisyEvidence, Readings
from voile.release.release import Release
from voile.schema.hierarchy.generalized import BoundHierarchy
from voile.schema.plan import ColumnPlan, Plan
from voile.table.alignment import common_codes
from voile.table.dictionary import encode
from voile.table.frames import from_native
from voile.table.numeric import distinct_values
from voile.table.value_types import with_missing

__all__ = ["People", "PublishedRows", "Sightings", "known_columns", "texts_of"]

Floats = NDArray[np.float64]
Texts = list[str | None]

_INTERVAL = r"^\[(?P<low>[^,\[\]]*), (?P<high>[^,\[\]]*)\]$"
_PERIOD = re.compile(r"(\d{4}-\d{2}-\d{2}\S*?)/(\d{4}-\d{2}-\d{2}\S*)")


@dataclass(frozen=True, eq=False)
class PublishedRows:
    """The rows of a release as an adversary reads them."""

    release: Release
    frame: pl.DataFrame

    @classmethod
    def of(cls, release: Release) -> PublishedRows:
        """Read the rows of a release."""
        frame, _ = from_native(release.to_native())
        return cls(release, frame)

    def columns_of(self, name: str) -> list[str]:
        """The published columns that show something of a column of the table."""
        shown = (name, f"{name}.low", f"{name}.high", f"{name}.interval")
        return [column for column in shown if column in self.frame.columns]

    @property
    def levels(self) -> dict[str, int] | None:
        """The level to which each column was generalized; None where groups differ."""
        found = self._decision.get("levels")
        return dict(found) if isinstance(found, dict) else None

    def noise(self, name: str) -> Any:
        """What the release says of the noise in a column; None if it says nothing."""
        columns = self._decision.get("columns")
        return columns.get(name) if isinstance(columns, dict) else None

    @property
    def _decision(self) -> dict[str, Any]:
        found = self.release.method.get("decision")
        return found if isinstance(found, dict) else {}


@dataclass(frozen=True, eq=False)
class People:
    """The table that was published, as far as the adversary knows its rows; private."""

    frame: pl.DataFrame
    plan: Plan | None = None
    """Public facts about the columns: hierarchies, bounds, texts that stand for missing values."""

    def column(self, name: str) -> pl.Series:
        """The values of a column, as the plan types them."""
        values = self.frame[name]
        if isinstance(values.dtype, pl.Categorical | pl.Enum):
            values = values.cast(pl.String)
        if self.plan is None:
            return values
        if self.described(name).type == "text":
            values = values.cast(pl.String)
        return with_missing(values, self.plan.missing)

    def described(self, name: str) -> ColumnPlan:
        """What the plan says of a column."""
        return (self.plan.columns if self.plan else {}).get(name, ColumnPlan())

    def numbers(self, name: str) -> Floats:
        """The numbers of a column, moved into its public bounds; NaN where there is none."""
        numbers = _floats(self.column(name))
        bounds = self.described(name).bounds
        return np.clip(numbers, float(bounds[0]), float(bounds[1])) if bounds else numbers


@dataclass(frozen=True, eq=False)
class Sightings:
    """What a release shows, for some targets: g different sightings, each of one row or more."""

    evidence: tuple[Evidence, ...]
    """One for each known column: pairs of a target and a sighting."""
    rows: NDArray[np.int64]
    """Shape (g,): how many published rows show it."""
    place: NDArray[np.int64]
    """The sighting of each published row."""
    notes: tuple[str, ...]

    @classmethod
    def of(
        cls,
        published: PublishedRows,
        people: People,
        columns: Sequence[str],
        targets: NDArray[np.int64],
    ) -> Sightings:
        """Compare rows of a table, the targets, with all published rows, in these columns.

        Raises ``TableError`` or ``PlanError`` where the release, the table and the plan disagree.
        """
        used = list(dict.fromkeys(c for name in columns for c in published.columns_of(name)))
        distinct, (place,) = common_codes([published.frame.select(used)])
        rows = np.bincount(place, minlength=distinct.height)
        views = [_View(published, distinct, rows, people, name, targets) for name in columns]
        return cls(
            evidence=tuple(view.evidence() for view in views),
            rows=rows,
            place=place,
            notes=tuple(note for view in views for note in view.notes()),
        )


def known_columns(
    published: PublishedRows, people: People, asked: Sequence[str] | None, link: str | None
) -> tuple[str, ...]:
    """Columns of the table by which the adversary knows people: by default, quasi-identifiers.

    The ``link`` is none of them.  Raises ``InputError`` where there is none, or for one that is not
    published; ``TableError`` for one that the table lacks.
    """
    names = asked
    if names is None:
        shown = published.release.roles.get("quasi_identifiers", ())
        originals = dict.fromkeys(_original(name, people.frame.columns) for name in shown)
        names = [name for name in originals if name != link]
    if not names:
        msg = "no column is known to the adversary: the release has no quasi-identifier; name some"
        raise InputError(msg)
    for name in names:
        if not published.columns_of(name):
            msg = f"the release has no column {name!r}{nearest(name, published.frame.columns)}"
            raise InputError(msg)
        if name not in people.frame.columns:
            msg = (
                f"the private original has no column {name!r}, by which people are known"
                f"{nearest(name, people.frame.columns)}"
            )
            raise TableError(msg)
    return tuple(names)


def texts_of(values: pl.Series) -> Texts:
    """The values of a column as texts, alike for a number or a date however it is stored."""
    column = encode(_finite(values))
    texts = distinct_values(column.values).texts
    return [texts[code] for code in column.codes.tolist()]


@dataclass(frozen=True, eq=False)
class _View:
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
        return self._periods() or self._labels()

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
        may_differ = release.guarantee.kind == "k-anonymity" and any(
            column in release.roles.get("quasi_identifiers", ()) for column in known
        )
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
            low, high = (_floats(self.shown[part]) for part in parts)
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
        readings = Readings(_floats(self.shown[self.name]), *ends, self.rows)
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
        named = sorted({text for text in (*known, *sum(ends, ())) if text is not None})
        place: dict[str | None, float] = {text: i for i, text in enumerate(named)}
        place[None] = np.nan
        low, high = (np.array([place[end[side]] for end in ends]) for side in (0, 1))
        numbers = np.array([place[text] for text in known])
        return Intervals(numbers, low, high, missing_is_anything=self._level is None)

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
        column = encode(_finite(self.people.column(self.name)))
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


def _original(name: str, columns: Sequence[str]) -> str:
    """The column of the table that a published column shows something of."""
    stem, _, end = name.rpartition(".")
    return stem if name not in columns and end in {"low", "high", "interval"} else name


def _ends_of_texts(shown: pl.Series) -> tuple[Floats, Floats] | None:
    """The ends of intervals written as ``[low, high]``; None where a text is no interval."""
    if shown.dtype != pl.String:
        return None
    parts = shown.str.extract_groups(_INTERVAL).struct
    low, high = parts.field("low"), parts.field("high")
    if low.null_count() > shown.null_count() or low.null_count() == len(low):
        return None
    return _floats(low), _floats(high)


def _finite(values: pl.Series) -> pl.Series:
    """The values without NaN and infinities, which no release holds."""
    if not values.dtype.is_float():
        return values
    return values.to_frame().select(pl.when(pl.first().is_finite()).then(pl.first())).to_series()


def _floats(values: pl.Series) -> Floats:
    """Numbers in double precision; NaN for what is none."""
    plain = values if values.dtype.is_numeric() else values.cast(pl.String)
    numbers = _finite(plain.cast(pl.Float64, strict=False)).fill_null(np.nan)
    return numbers.to_numpy()
