"""Whether few tours tell arrivals as well as is said: coverage and width by their number."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.record import Measurement, Table
from benchmarks.sharing_arrival import Drive, reports_of, rounds, share_held, taxis, ways
from benchmarks.sharing_arrival_parcels import parcel_intervals
from voile_base.randomness import Randomness
from voile_geo.geodesy import Floats
from voile_share.arrival import ArrivalTable, Past, SharedPosition
from voile_share.platform import Settings
from voile_share.platform.arrivals import drive_document, past_of, shown_at

__all__ = ["run"]

SEEDS = (2023, 2024)
TOURS = (2, 3, 5, 10, 25, 50)
PARCELS = (20, 5)
HISTORIES, LATER = 40, 12
EARLIEST = 0.1
"""Of a tour, until its first parcel arrives."""
LONGEST = 16 * 3_600.0
LEAST = 0.85


@dataclass(frozen=True)
class _Set:
    """Tours, and how often their trucks report."""

    name: str
    drives: Callable[[], Iterable[Drive]]
    slot_seconds: int
    shortest: float
    """Seconds of a tour."""


@dataclass(frozen=True)
class _Tour:
    """A tour that was driven: what it teaches, and what the pages showed meanwhile."""

    past: Sequence[Past]
    shown: Sequence[SharedPosition]
    seconds: Floats
    """From each fix to the arrival."""


SETS = (
    _Set("GeoLife in Beijing", ways, 300, 1_800.0),
    _Set("delivery agents, 6 minutes", rounds, 30, 300.0),
    _Set("sparse taxis", taxis, 60, 300.0),
)


def run() -> Measurement:
    """Histories of few tours, later tours that they tell, and the same by parcels."""
    rows = [
        row
        for one in SETS
        for parcels in PARCELS
        for seed in SEEDS
        for row in _rows(one, parcels, seed)
    ]
    lows = [float(row[5].split("(")[1].split(" ")[0]) for row in rows if "(" in row[5]]
    wide = [float(row[8]) for row in rows if row[3] == "25" and row[8] != "none"]
    return Measurement(
        question="How often does the interval of arrival hold after few tours, and how wide is it?",
        data="tours: stretches of GeoLife in Beijing (users with even numbers) of 30 minutes and "
        "more, six-minute chunks of delivery agents, traces of sparsely sampled taxis; parcels "
        "arrive at random times after a tenth of the tour, and are aboard from its beginning",
        seeds=f"{SEEDS} for parcels, noise and histories",
        protocol=f"{HISTORIES} histories of random tours, each with {LATER} other tours that are "
        "forecast at every report of every parcel; the service's own levels, noise and code, a key "
        "of noise for each tour, slots of 300, 30 and 60 s; 95 % intervals by resamples of the "
        "tours that were forecast; beside it intervals by parcels, as they were made before",
        answer=f"The lowest lower end of the share held is {min(lows):.1f} % (wanted: "
        f"{100 * LEAST:.0f}); at 25 tours intervals are {min(wide):.2f} to {max(wide):.2f} times "
        "as wide as by parcels.",
        tables=[
            Table(
                "Arrivals within the interval, by the number of past tours (95 %)",
                ("set", "parcels", "seed", "tours", "with a figure", "held, by tours", "width, s",
                 "held, by parcels", "width by it"),
                rows,
            )
        ],
    )  # fmt: skip


def _rows(given: _Set, parcels: int, seed: int) -> list[list[str]]:
    drives = [one for one in given.drives() if one.time[-1] >= given.shortest]
    settings = Settings(slot_seconds=given.slot_seconds)
    draws = np.random.default_rng([seed, parcels])
    tours = [
        _tour(settings, one, place, parcels, Randomness.seeded(seed), draws)
        for place, one in enumerate(drives)
    ]
    tours = [one for one in tours if len(one.shown)]
    return [
        [given.name, f"{parcels}", f"{seed}", f"{number}", *_judged(tours, number, draws)]
        for number in TOURS
    ]


def _tour(
    settings: Settings,
    drive: Drive,
    place: int,
    parcels: int,
    randomness: Randomness,
    draws: np.random.Generator,
) -> _Tour:
    """Parcels that arrive on the way, as the service shows and learns them."""
    _, reports = reports_of(settings, drive, randomness.within(str(place)))
    began = reports[0][0] - drive.time[0]
    past, shown, seconds = [], list[SharedPosition](), list[float]()
    for late in draws.uniform(EARLIEST, 1.0, parcels) * drive.time[-1]:
        there = tuple(
            np.interp(late, drive.time, side) for side in (drive.latitude, drive.longitude)
        )
        arrived = began + float(late)
        before = [one for one in reports if one[0] <= arrived]
        those = shown_at(settings.levels, before, (float(there[0]), float(there[1])))
        past.append(drive_document(those, arrived, str(place).encode()))
        shown += [one for one in those if one.tells]
        seconds += [arrived - one.time for one in those if one.tells]
    return _Tour(past_of(past, began + LONGEST * 3), shown, np.array(seconds))


def _judged(tours: Sequence[_Tour], number: int, draws: np.random.Generator) -> list[str]:
    """With a figure, held, width by tours; held and the ratio of widths by parcels."""
    found = []
    for _ in range(HISTORIES):
        chosen = draws.permutation(len(tours))[: number + LATER]
        past = [
            Past(one.metres, one.seconds, one.classes, f"{at}")
            for at in chosen[:number]
            for one in tours[at].past
        ]
        table = ArrivalTable.fit(past)
        later = [(at, tours[at]) for at in chosen[number:]]
        metres = np.array([one.metres for _, tour in later for one in tour.shown])
        by_parcels = parcel_intervals(past, metres)
        told = [table.forecast(one) for _, tour in later for one in tour.shown]
        ends = [(np.nan, np.nan) if one is None else (one.low, one.high) for one in told]
        clusters = [at for at, tour in later for _ in tour.shown]
        late = np.concatenate([tour.seconds for _, tour in later])
        found.append(np.column_stack([clusters, late, np.array(ends), by_parcels]))
    table = np.concatenate(found)
    share, held, width = _said(table[:, [0, 1, 2, 3]])
    _, before, narrow = _said(table[:, [0, 1, 4, 5]])
    ratio = f"{width / narrow:.2f}" if width and narrow else "none"
    return [share, held, f"{width:.0f}" if width else "none", before, ratio]


def _said(table: Floats) -> tuple[str, str, float]:
    """The share with a figure, the share held of those, and the median width."""
    told = table[~np.isnan(table[:, 2])]
    if not len(told):
        return "0 %", "no figure", 0.0
    held = (told[:, 2] <= told[:, 1]) & (told[:, 1] <= told[:, 3])
    share, low, high = share_held(np.column_stack([told[:, 0], told[:, 0], held]))
    text = f"{100 * share:.1f} % ({100 * low:.1f} to {100 * high:.1f})"
    return f"{100 * len(told) / len(table):.0f} %", text, float(np.median(told[:, 3] - told[:, 2]))
