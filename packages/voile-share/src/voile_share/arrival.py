"""Intervals of arrival from how long it took before, at a like distance that was shown.

What it does: from tours that are over it makes a table; for what a party is shown of the present
tour the table gives the seconds between which the parcel arrives with a wanted coverage, or
nothing where too few tours were like this one.  A tour is a truck and a day: the parcels of one
tour have its driver, traffic and delays in common, so that they are one piece of evidence.

Source: Student's t for a random effect of the tour on a logarithm of the time (Satterthwaite, 1946;
Kish, 1965: effective number of clusters).  Conformal prediction by tour (Dunn, Wasserman and
Ramdas, 2022) was tried: without a model, n tours promise 1 - 2 / (n + 1) at most, so that 90 % take
19 tours; and it counts tours, whereas recipients count forecasts.

Guarantee: none without the model.  Where the tours' means of log(seconds + 60) in a window of
distances are normal, with a like variance within tours, and later tours are like past ones, the
interval holds an arrival with probability ``coverage``; on three sets of drives it held at least
85 % of forecasts from 3 tours on (benchmark sharing_arrival_tours).  ``LeftOut`` measures it on a
company's own tours.  Tours of one day have its weather in common, which is not counted.

Privacy: only what was shown enters, at the time of forecasting and in the past, beside the times of
arrival of the past.  So an interval tells of the present drive nothing but what was shown; of past
ones it tells a mean and a spread over three tours or more, whose parties were shown them.  Of stops
of other parcels it tells nothing but how many are left, where the carrier has said so.

Algorithm, for a distance d: of the past positions with distances within ``_WIDEST`` of d, the mean
of y = log(seconds + 60) of each tour and the variance within.  With b the variance between the
tours' means and v within, the interval is exp(m +- t sqrt(b (1 + 1/n) + v)) - 60.  Below
``_WEIGHTED`` tours all weigh the same, and t has min(n - 1, ``_DEGREES``) degrees of freedom; from
there on tours weigh by their forecasts, and n is their effective number.  A table has this for a
grid of distances: for all tours, for those of a part of the day where there are ``_MANY``, and for
those with so many stops left.  Whether there is a figure, and which, depends on the number of tours
and never on how long they took: to hide wide intervals is to hide those that hold.  Who stands for
half an hour, as in a depot, is told nothing, and teaches nothing.

Distances are straight.  Distances and times along roads, from shown and from true positions, gave
wider intervals at the same coverage on real drives (benchmark sharing_arrival_roads), so a map is
not asked for.

Cost: fitting sorts m past positions, and looks at each some 14 times for each class; a forecast
takes one look into the table.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from voile_base.errors import InputError
from voile_base.values import Json

__all__ = [
    "ArrivalInterval",
    "ArrivalTable",
    "LeftOut",
    "Past",
    "SharedPosition",
    "standing",
]

_Floats = NDArray[np.float64]

_FEWEST = 3
"""Tours below which there is no figure."""
_WEIGHTED, _DEGREES = 12, 3
"""Tours from which on they weigh by their forecasts, and most degrees of freedom below."""
_MANY = 25
"""Tours of a part of the day from which on it says more than all tours."""
_SOME = 12
"""Tours with so many stops left from which on they say more than all tours."""
_WIDEST = 1.6
"""Factor of the distance up to which positions are like the present one."""
_SHIFT = 60.0
"""Seconds that are added to a time: shorter ones differ by chance."""
_LONGEST = 31 * 86_400.0
"""Seconds at which an interval ends at the latest."""
_NEAREST = 100.0
"""Metres: all that is nearer is one distance, since noise rules there."""
_FACTOR = 1.15
"""From one distance of a table to the next."""
_FARTHEST = 1_000_000.0
_GRID = np.arange(math.ceil(math.log(_FARTHEST / _NEAREST) / math.log(_FACTOR)))
_ALL = "all"
_PART_SECONDS = 4 * 3_600
_DAY = 86_400
_STOPS = (0, 2, 5, 10)
"""Up to so many stops left are alike; and all that are more."""
_STANDS_SECONDS = 1_800.0
_WHAT, _VERSION = "arrival table", 2
_MOST_BYTES = 200_000


@dataclass(frozen=True)
class SharedPosition:
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
    """One parcel's drive that is over: what was shown on it, and when it arrived."""

    metres: Sequence[float]
    """To the destination, from each position that was shown; from 0 on."""
    seconds: Sequence[float]
    """From each fix to the arrival; not below 0."""
    classes: Sequence[Sequence[str]] = field(default=())
    """Of each position: which of the table's classes it belongs to, beside all; may be left out."""
    tour: str | None = None
    """Parcels of one tour have the same name of it; None: a tour of its own."""

    def __post_init__(self) -> None:
        fit = len(self.metres) == len(self.seconds) and all(
            math.isfinite(far) and math.isfinite(late) and far >= 0 and late >= 0
            for far, late in zip(self.metres, self.seconds, strict=False)
        )
        if not fit or len(self.classes) not in {0, len(self.metres)}:
            msg = "a past drive needs a distance and a time to arrival of each position, from 0 on"
            raise InputError(msg)

    @classmethod
    def of(cls, shown: Sequence[SharedPosition], arrived: float, tour: str | None = None) -> Self:
        """From what was shown before it arrived, as far as that tells of arrivals."""
        those = [one for one in shown if one.tells and one.time <= arrived]
        return cls(
            [one.metres for one in those],
            [arrived - one.time for one in those],
            [_classes(one) for one in those],
            tour,
        )


@dataclass(frozen=True)
class ArrivalInterval:
    """Seconds from a fix to the arrival."""

    low: float
    high: float
    tours: int
    """How many past tours it rests on."""


@dataclass(frozen=True)
class ArrivalTable:
    """What readers are given: intervals for a grid of distances, in classes of positions."""

    coverage: float
    tours: int
    """That it was fitted to."""
    fitted: int
    """When; seconds since 1970."""
    rows: Mapping[str, Sequence[ArrivalInterval | None]]
    """By class: of ``_NEAREST`` metres, and of ``_FACTOR`` times as much each."""

    @classmethod
    def fit(cls, past: Sequence[Past], fitted: float = 0.0, coverage: float = 0.9) -> Self:
        """From drives of tours that are over, in any order.

        Raises ``InputError`` unless the coverage lies between 0 and 1.
        """
        if not 0 < coverage < 1:
            msg = "a coverage lies between 0 and 1"
            raise InputError(msg)
        tallies, tours = _tallies(past)
        rows = {name: found for name, one in tallies.items() if (found := one.row(coverage))}
        return cls(coverage, tours, int(fitted), rows)

    def forecast(self, shown: SharedPosition) -> ArrivalInterval | None:
        """When a parcel arrives of which this is shown; None where nobody can say.

        Raises ``InputError`` unless the distance is a finite number from 0 on.
        """
        if not (math.isfinite(shown.metres) and shown.metres >= 0):
            msg = "a distance is a finite number of metres from 0 on"
            raise InputError(msg)
        if not shown.tells:
            return None
        place = _place(shown.metres)
        for name in (*_classes(shown)[::-1], _ALL):
            row = self.rows.get(name, ())
            found = row[place] if place < len(row) else None
            if found is not None:
                return found
        return None

    def document(self) -> Json:
        """For JSON: whole seconds, made wider."""
        return {
            "voile": _WHAT,
            "version": _VERSION,
            "coverage": self.coverage,
            "tours": self.tours,
            "fitted": self.fitted,
            "nearest": _NEAREST,
            "factor": _FACTOR,
            "rows": {
                name: [
                    None if one is None else [math.floor(one.low), math.ceil(one.high), one.tours]
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
            coverage = float(document["coverage"])
            tours, fitted = (_count(document[name]) for name in ("tours", "fitted"))
            if not 0 < coverage < 1:
                raise ValueError
            return cls(coverage, tours, fitted, rows)
        except (
            ArithmeticError,
            AttributeError,
            LookupError,
            RecursionError,
            TypeError,
            ValueError,
        ):
            msg = (
                "this is no table of arrivals of this Voile; one of an earlier Voile counted "
                "parcels, not tours: make it anew by `voile share carrier arrivals`"
            )
            raise InputError(msg) from None


@dataclass(frozen=True)
class LeftOut:
    """How intervals did on a company's own tours, each told by all the others."""

    tours: int
    forecasts: int
    figures: int
    """Of these: for how many there was a figure."""
    held: int
    """Of these: how many held the arrival."""

    @property
    def coverage(self) -> float | None:
        """The share of figures that held; None where there was none."""
        return self.held / self.figures if self.figures else None

    @staticmethod
    def of(past: Sequence[Past], coverage: float = 0.9) -> LeftOut:
        """Leave each tour out, fit to the others, and look whether its arrivals were held."""
        tallies, tours = _tallies(past)
        forecasts = figures = held = 0
        for number, drives in enumerate(_by_tour(past)):
            rows = {name: one.row(coverage, without=number) for name, one in tallies.items()}
            for drive in drives:
                classes = drive.classes or [()] * len(drive.metres)
                for metres, seconds, some in zip(drive.metres, drive.seconds, classes, strict=True):
                    places = (
                        rows.get(name, [])[_place(metres) :][:1] for name in (*some[::-1], _ALL)
                    )
                    told = next((one[0] for one in places if one and one[0] is not None), None)
                    forecasts += 1
                    figures += told is not None
                    held += told is not None and told.low <= seconds <= told.high
        return LeftOut(tours, forecasts, figures, held)


@dataclass(frozen=True)
class _Tally:
    """Of one class: what each tour has in the window of each distance; shape (places, tours)."""

    fewest: int
    """Tours below which it has no figure."""
    count: _Floats
    total: _Floats
    """Sum of y."""
    squares: _Floats
    """Sum of squares of y."""

    def row(self, coverage: float, without: int | None = None) -> list[ArrivalInterval | None]:
        """Intervals for the grid of distances, up to the last where there is one."""
        count = self.count
        if without is not None:
            count = count.copy()
            count[:, without] = 0
        tours = (count > 0).sum(axis=1)
        told = np.flatnonzero(tours >= self.fewest)
        row: list[ArrivalInterval | None] = [None] * int(told.max(initial=-1) + 1)
        for place in told:
            those = count[place] > 0
            sums = np.stack([count[place], self.total[place], self.squares[place]])[:, those]
            row[place] = ArrivalInterval(*_ends(sums, coverage), int(tours[place]))
        return row


def _ends(sums: _Floats, coverage: float) -> tuple[float, float]:
    """Of the interval, from count, total and squares of the tours in a window: (3, tours)."""
    count, total, squares = sums
    mean = total / count
    within = np.maximum(squares / count - mean**2, 0.0)
    weight, tours = np.full(len(count), 1 / len(count)), float(len(count))
    degrees = min(tours - 1, _DEGREES)
    effective = count.sum() ** 2 / (count**2).sum()
    # Where a few tours have nearly all forecasts their effective number says nothing.
    if tours >= _WEIGHTED and effective > _DEGREES + 1:
        weight, tours = count / count.sum(), float(effective)
        degrees = tours - 1
    centre = weight @ mean
    between = weight @ (mean - centre) ** 2 * tours / (tours - 1)
    spread = math.sqrt(between * (1 + 1 / tours) + weight @ within)
    reach = float(stdtrit(degrees, (1 + coverage) / 2)) * spread
    low, high = (math.exp(min(float(centre) + side * reach, 20.0)) - _SHIFT for side in (-1, 1))
    return min(max(low, 0.0), _LONGEST), min(max(high, 0.0), _LONGEST)


def _interval(low: float, high: float, tours: int) -> ArrivalInterval:
    if not 0 <= low <= high < math.inf:
        raise ValueError
    return ArrivalInterval(float(low), float(high), _count(tours))


def _count(number: object) -> int:
    """A whole number from 0 on, as all readers of JSON have it; raises ``ValueError``."""
    if type(number) is not int or not 0 <= number < 2**53:
        raise ValueError
    return number


def _place(metres: float) -> int:
    """Of a distance in a row."""
    return round(math.log(max(metres, _NEAREST) / _NEAREST) / math.log(_FACTOR))


def _classes(shown: SharedPosition) -> tuple[str, ...]:
    """Which positions are like this one beside being as far away; the last says most."""
    names = [f"part {int(shown.time % _DAY // _PART_SECONDS)}"]
    if shown.stops is not None:
        names.append(f"stops {sum(shown.stops > most for most in _STOPS)}")
    return tuple(names)


def _by_tour(past: Sequence[Past]) -> list[list[Past]]:
    """The drives of each tour that tells something."""
    tours: dict[object, list[Past]] = {}
    for at, one in enumerate(past):
        if one.metres:
            tours.setdefault(at if one.tour is None else one.tour, []).append(one)
    return list(tours.values())


def _tallies(past: Sequence[Past]) -> tuple[dict[str, _Tally], int]:
    """Of each class, and how many tours there are."""
    tours = _by_tour(past)
    drives = [(number, one) for number, those in enumerate(tours) for one in those]
    metres = np.array([far for _, one in drives for far in one.metres], dtype=np.float64)
    seconds = np.array([late for _, one in drives for late in one.seconds], dtype=np.float64)
    tour = np.repeat([number for number, _ in drives], [len(one.metres) for _, one in drives])
    names = [some for _, one in drives for some in one.classes or [()] * len(one.metres)]
    order = np.argsort(metres, kind="stable")
    distance, y = np.log(np.maximum(metres, _NEAREST))[order], np.log(seconds + _SHIFT)[order]
    tour = tour[order].astype(np.int64)
    tallies = {}
    for name, fewest in _named(names):
        those = np.array([name == _ALL or name in names[at] for at in order], dtype=np.bool_)
        tallies[name] = _tally(fewest, distance[those], y[those], tour[those], len(tours))
    return tallies, len(tours)


def _named(names: Sequence[Sequence[str]]) -> Iterator[tuple[str, int]]:
    """Each class, and from how many tours on it says more than all."""
    yield _ALL, _FEWEST
    for name in sorted({name for some in names for name in some}):
        yield name, _SOME if name.startswith("stops") else _MANY


def _tally(
    fewest: int, distance: _Floats, y: _Floats, tour: NDArray[np.int64], tours: int
) -> _Tally:
    """From positions by their distance (logarithm, ascending), and their tours."""
    reach, centres = math.log(_WIDEST), math.log(_NEAREST) + _GRID * math.log(_FACTOR)
    begin, end = (np.searchsorted(distance, centres + side * reach) for side in (-1, 1))
    sums = np.zeros((3, len(_GRID), tours))
    for place, window in enumerate(map(slice, begin, end)):
        for kind, power in enumerate((None, y[window], y[window] ** 2)):
            sums[kind, place] = np.bincount(tour[window], power, minlength=tours)
    return _Tally(fewest, *sums)
