"""Intervals of arrival from how long it took before, at a like distance that was shown.

What it does: from drives that are over it makes a table; for what a party is shown of the present
drive the table gives the seconds between which the parcel arrives with a wanted coverage, or
nothing where too few drives were like this one.  No distribution of speed is assumed: what makes
drives slow, the noise of the shown distance included, is in what was seen.

Source: split conformal prediction (Vovk, Gammerman and Shafer, 2005; Lei et al., 2018), here local
in the distance and with one unit of weight for each drive, since the positions of one drive are no
independent evidence of another (Dunn, Wasserman and Ramdas, 2022: hierarchical sampling).

Guarantee: where drives are exchangeable, the next one with those of the past, the interval for a
position of the next drive, drawn at random among those with a distance in the window, holds its
arrival with probability ``coverage`` at least, whatever the distribution of speeds and noise.  It
is a promise over drives and not for each single one, and none where drivers, roads or seasons are
others than those of the past.  Intervals get wider where drives differ and where there are few of
them.

Privacy: only what was shown enters, at the time of forecasting and in the past, beside the times of
arrival of the past.  So an interval tells of the present drive nothing but what was shown; of past
ones it tells two times to arrival, of drives whose parties were shown them.  Of other parcels'
stops it tells nothing: how many are left before the parcel's own its carrier may have said.

Algorithm, for a distance d: among the past positions with distances within a factor of d, the
least factor is taken at which ``_PLENTY`` drives have some, and ``_WIDEST`` at most.  Each drive
has weight 1, in equal parts over its positions.  With n drives in the window, the ends are the
farthest times such that at most (n + 1) (1 - coverage) / 2 of the weight lies on either outer side,
the end itself counted.  Where that is less than one drive there is no figure: 90 % takes 19 drives.
A table has this for a grid of distances: for all drives together, for those of a part of the day
where there are ``_MANY``, and for those with so many stops left.  Which of these is taken depends
on how many drives there are, and never on how long they took.  Who stands for half an hour, as in a
depot, is told nothing, and teaches nothing.

Distances are straight.  Distances and times along roads, from shown and from true positions, gave
wider intervals at the same coverage on real drives (benchmark sharing_arrival_roads), so a map is
not asked for.

Cost: fitting sorts m past positions; a forecast takes one look into the table.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from voile.errors import InputError

__all__ = ["ArrivalTable", "Calibration", "Interval", "Past", "Shown", "standing"]

_Floats = NDArray[np.float64]

_PLENTY = 200
"""Drives after which the window gets no wider."""
_MANY = 60
"""Drives of a part of the day from which on it says more than all drives."""
_WIDEST = 1.6
"""Factor of the distance up to which drives are like the present one."""
_STEPS = 6
"""Widths of windows that are tried."""
_ROUNDING = 1e-9
_NEAREST = 100.0
"""Metres: all that is nearer is one distance, since noise rules there."""
_FACTOR = 1.15
"""From one distance of a table to the next."""
_FARTHEST = 1_000_000.0
_ALL = "all"
_PART_SECONDS = 4 * 3_600
_DAY = 86_400
_STOPS = (0, 2, 5, 10)
"""Up to so many stops left are alike; and all that are more."""
_FEWEST = 30
"""Drives below which a table has no figure.  By the theorem 19 would do, of drives that are
exchangeable; those of few drivers are less than as many."""
_STANDS_SECONDS = 1_800.0
_WHAT, _VERSION = "arrival table", 1
_MOST_BYTES = 200_000


@dataclass(frozen=True)
class Shown:
    """What a party was shown at one report, as far as it says something of the arrival."""

    time: float
    """Of the fix, seconds since 1970."""
    metres: float
    """From the shown position to the destination."""
    stands: float = 0.0
    """For how many seconds the same position was shown."""
    stops: int | None = None
    """Left before the parcel's own, where its carrier has said so."""

    @property
    def tells(self) -> bool:
        """Whether an arrival can be told from it at all."""
        return self.stands < _STANDS_SECONDS


def standing(places: Sequence[tuple[float, object]]) -> list[float]:
    """For how long each shown position had been the same; times and places, in their order."""
    found: list[float] = []
    since, before = 0.0, None
    for time, place in places:
        if place != before:
            since, before = time, place
        found.append(time - since)
    return found


@dataclass(frozen=True)
class Past:
    """One drive that is over: what was shown on it, and when it arrived."""

    metres: Sequence[float]
    """To the destination, from each position that was shown; from 0 on."""
    seconds: Sequence[float]
    """From each fix to the arrival; not below 0."""
    classes: Sequence[Sequence[str]] = field(default=())
    """Of each position: which of the table's classes it belongs to, beside all; may be left out."""

    def __post_init__(self) -> None:
        fit = len(self.metres) == len(self.seconds) and all(
            math.isfinite(far) and math.isfinite(late) and far >= 0 and late >= 0
            for far, late in zip(self.metres, self.seconds, strict=False)
        )
        if not fit or len(self.classes) not in {0, len(self.metres)}:
            msg = "a past drive needs a distance and a time to arrival of each position, from 0 on"
            raise InputError(msg)

    @classmethod
    def of(cls, shown: Sequence[Shown], arrived: float) -> Self:
        """From what was shown before it arrived, as far as that tells of arrivals."""
        those = [one for one in shown if one.tells and one.time <= arrived]
        return cls(
            [one.metres for one in those],
            [arrived - one.time for one in those],
            [_classes(one) for one in those],
        )


@dataclass(frozen=True)
class Interval:
    """Seconds from a fix to the arrival."""

    low: float
    high: float
    drives: int
    """How many past drives it rests on."""


@dataclass(frozen=True)
class Calibration:
    """What past drives say of arrivals; made by ``fit``."""

    _distance: _Floats
    """Shape (m,): logarithms, ascending."""
    _seconds: _Floats
    """Shape (m,)."""
    _drive: NDArray[np.int64]
    """Shape (m,): to which drive each belongs."""

    @classmethod
    def fit(cls, past: Sequence[Past]) -> Self:
        """From drives that are over, in any order; those of one company, for its own forecasts."""
        metres = np.array([far for one in past for far in one.metres], dtype=np.float64)
        seconds = np.array([late for one in past for late in one.seconds], dtype=np.float64)
        drive = np.repeat(np.arange(len(past)), [len(one.metres) for one in past])
        distance = np.log(np.maximum(metres, _NEAREST))
        order = np.argsort(distance, kind="stable")
        return cls(distance[order], seconds[order], drive[order])

    def interval(self, metres: float, coverage: float = 0.9) -> Interval | None:
        """When a parcel arrives that is shown at a distance; None where nobody can say.

        Raises ``InputError`` unless the distance is a finite number from 0 on, and the coverage
        lies between 0 and 1.
        """
        if not (math.isfinite(metres) and metres >= 0 and 0 < coverage < 1):
            msg = "a distance is a finite number of metres from 0 on, a coverage between 0 and 1"
            raise InputError(msg)
        window = self._window(math.log(max(metres, _NEAREST)))
        drives, at = np.unique(self._drive[window], return_inverse=True)
        spare = (len(drives) + 1) * (1 - coverage) / 2 + _ROUNDING
        if spare < 1:
            return None
        weight = (1 / np.bincount(at))[at]
        seconds = self._seconds[window]
        low = _outermost(seconds, weight, spare)
        high = _outermost(-seconds, weight, spare)
        return None if low is None or high is None else Interval(low, -high, len(drives))

    def _window(self, distance: float) -> slice:
        """The past positions that are like one at a distance (logarithm)."""
        window = slice(0, 0)
        for step in range(1, _STEPS + 1):
            reach = math.log(_WIDEST) * step / _STEPS
            ends = (distance - reach, distance + reach)
            window = slice(*(int(end) for end in np.searchsorted(self._distance, ends)))
            if len(np.unique(self._drive[window])) >= _PLENTY:
                break
        return window


@dataclass(frozen=True)
class ArrivalTable:
    """What readers are given: intervals for a grid of distances, in classes of drives."""

    coverage: float
    drives: int
    """That it was fitted to."""
    fitted: int
    """When; seconds since 1970."""
    rows: Mapping[str, Sequence[Interval | None]]
    """By class: of ``_NEAREST`` metres, and of ``_FACTOR`` times as much each."""

    @classmethod
    def fit(cls, past: Sequence[Past], fitted: float = 0.0, coverage: float = 0.9) -> Self:
        """From drives that are over, in any order."""
        drives = [one for one in past if one.metres]
        rows = {
            name: found
            for name, least, those in _by_class(drives)
            if any(found := _row(Calibration.fit(those), coverage, least))
        }
        return cls(coverage, len(drives), int(fitted), rows)

    def forecast(self, shown: Shown) -> Interval | None:
        """When a parcel arrives of which this is shown; None where nobody can say."""
        if not shown.tells:
            return None
        place = round(math.log(max(shown.metres, _NEAREST) / _NEAREST) / math.log(_FACTOR))
        for name in (*_classes(shown)[::-1], _ALL):
            row = self.rows.get(name, ())
            found = row[place] if place < len(row) else None
            if found is not None:
                return found
        return None

    def document(self) -> dict[str, Any]:
        """For JSON: whole seconds, made wider."""
        return {
            "voile": _WHAT,
            "version": _VERSION,
            "coverage": self.coverage,
            "drives": self.drives,
            "fitted": self.fitted,
            "nearest": _NEAREST,
            "factor": _FACTOR,
            "rows": {
                name: [
                    None if one is None else [math.floor(one.low), math.ceil(one.high), one.drives]
                    for one in row
                ]
                for name, row in self.rows.items()
            },
        }

    @classmethod
    def read(cls, document: Any) -> Self:
        """The inverse; raises ``InputError``, and repeats nothing of it."""
        try:
            if len(json.dumps(document)) > _MOST_BYTES:
                raise ValueError
            known = (_WHAT, _VERSION, _NEAREST, _FACTOR)
            if tuple(document[name] for name in ("voile", "version", "nearest", "factor")) != known:
                raise ValueError
            rows = {
                str(name): [None if one is None else _interval(*one) for one in row]
                for name, row in document["rows"].items()
            }
            coverage, drives = float(document["coverage"]), int(document["drives"])
            if not 0 < coverage < 1:
                raise ValueError
            return cls(coverage, drives, int(document["fitted"]), rows)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            msg = "this is no table of arrivals of this Voile: `voile share carrier arrivals`"
            raise InputError(msg) from None


def _interval(low: float, high: float, drives: int) -> Interval:
    if not (0 <= low <= high < math.inf and isinstance(drives, int)):
        raise ValueError
    return Interval(float(low), float(high), drives)


def _classes(shown: Shown) -> tuple[str, ...]:
    """Which drives are like this one beside being as far away; the last says most."""
    names = [f"part {int(shown.time % _DAY // _PART_SECONDS)}"]
    if shown.stops is not None:
        names.append(f"stops {sum(shown.stops > most for most in _STOPS)}")
    return tuple(names)


def _by_class(past: Sequence[Past]) -> Iterator[tuple[str, int, list[Past]]]:
    """Each class, from how many drives on it says more than all, and what of drives is in it."""
    yield _ALL, _FEWEST, list(past)
    names = {name for one in past for some in one.classes for name in some}
    for name in sorted(names):
        those = []
        for one in past:
            at = [place for place, some in enumerate(one.classes) if name in some]
            if at:
                those.append(Past([one.metres[i] for i in at], [one.seconds[i] for i in at]))
        yield name, _FEWEST if name.startswith("stops") else _MANY, those


def _row(calibration: Calibration, coverage: float, least: int) -> list[Interval | None]:
    """Intervals for the grid of distances, up to the last where there is one."""
    row: list[Interval | None] = []
    for place in range(math.ceil(math.log(_FARTHEST / _NEAREST) / math.log(_FACTOR))):
        found = calibration.interval(_NEAREST * _FACTOR**place, coverage)
        row.append(found if found is not None and found.drives >= least else None)
    while row and row[-1] is None:
        row.pop()
    return row


def _outermost(values: _Floats, weights: _Floats, spare: float) -> float | None:
    """The largest value with at most ``spare`` of the weight up to it, itself counted."""
    order = np.argsort(values, kind="stable")
    within = np.flatnonzero(np.cumsum(weights[order]) <= spare)
    return float(values[order][within[-1]]) if len(within) else None
