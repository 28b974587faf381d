"""How often the tracking page's interval of arrival holds it, on real drives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.special import ndtr

from benchmarks.data import shared_file
from benchmarks.record import Measurement, Table
from voile.geodesy import Floats, displace, metres_between
from voile.randomness import Randomness
from voile.sharing.arrival import Calibration, Past
from voile.sharing.platform import Settings
from voile.sharing.positions import PositionStream

__all__ = ["arrived_by", "run"]

SEED = 2023
NOISES = 10
"""Draws of the noise for each drive."""
RESAMPLES = 2_000
GAP = 600.0
"""Seconds without a position that end a drive."""
SHORTEST = 300.0
NEARBY = 2_000.0
FOLDS = 10
_NOON = 20_000 * 86_400 + 43_200
_Z = np.arange(-40, 41) / 10
_WEIGHTS = np.exp(-_Z * _Z / 2) / np.exp(-_Z * _Z / 2).sum()
_Z95 = 1.6448536269514722


@dataclass(frozen=True)
class Drive:
    """n positions on the way to the last of them."""

    who: str
    """The drive's cluster: a person, or a chunk."""
    time: Floats
    latitude: Floats
    longitude: Floats


@dataclass(frozen=True)
class Forecast:
    """At one report."""

    shown: float
    """Metres to the destination, as a party is shown it."""
    true: float
    seconds: float
    """To the arrival."""
    is_held: bool
    """By the page's interval."""


def arrived_by(
    seconds: float, remaining: float, deviation: float, speeds: Sequence[float]
) -> float:
    """The page's chance that a parcel has arrived so many seconds after the fix.

    As ``arrival.js`` has it: D / V, D by Rice's law around the shown distance and V log-normal on
    either side of its median.  Metres and km/h.
    """
    slow, usual, fast = speeds
    ratio = np.where(_Z < 0, usual / slow, fast / usual)
    reach = seconds * usual / 3.6 * np.exp(_Z * np.log(ratio) / _Z95)
    square = reach[:, None] ** 2 - (deviation * _Z) ** 2
    root = np.sqrt(np.maximum(square, 0.0))
    held = ndtr((root - remaining) / deviation) - ndtr((-root - remaining) / deviation)
    return float(_WEIGHTS @ np.where(square > 0, held, 0.0) @ _WEIGHTS)


def run() -> Measurement:
    """Forecasts once a slot, each judged by when the drive ended."""
    settings = Settings()
    sets = {"cars and taxis": list(cars()), "delivery rounds": list(rounds())}
    rows, answers = [], []
    for name, drives in sets.items():
        found = _forecasts(settings, drives)
        for where, some in (("all", found), ("shown within 2 km", found[found[:, 1] < NEARBY])):
            share, low, high = _share(some)
            cell = f"{100 * share:.0f} % ({100 * low:.0f} to {100 * high:.0f})"
            rows.append([name, where, f"{len(set(some[:, 0]))}", f"{len(some):,}", cell])
        answers.append(f"{name} {rows[-2][-1]}")
    learnt = [row for name, some in sets.items() for row in _learnt(settings, name, some, NOISES)]
    learnt += _learnt(settings, "all ways, on foot too", list(ways()), 1)
    return Measurement(
        question="How often does the interval of arrival on the tracking page hold the arrival?",
        data="GeoLife's stretches labelled car or taxi, ended by 10 minutes without a position "
        "(users with even numbers), and six-minute chunks of delivery agents; of 5 minutes or "
        "more; the last point is the destination",
        seeds=f"{SEED} to {SEED + NOISES - 1} for the noise",
        protocol="the service's default slots, noise, levels and speeds; a forecast at each report "
        "from the shown position, by the page's law from 5 % to 95 %; 95 % interval of the share "
        f"by {RESAMPLES:,} resamples of persons or chunks",
        answer="Held by the page: "
        + "; ".join(answers)
        + ". Learnt from other persons or chunks: "
        + "; ".join(f"{row[0]} {row[4]}" for row in learnt if row[1] == "all")
        + ".",
        tables=[
            Table(
                "Arrivals within the interval (95 %)",
                ("drives", "which forecasts", "persons or chunks", "forecasts", "held"),
                rows,
            ),
            Table(
                "Arrivals within the interval of 90 % that was learnt (95 %); a tenth of persons "
                "or chunks is told by the others; widths beside those by true distances",
                (
                    "drives",
                    "which forecasts",
                    "forecasts",
                    "no figure",
                    "held",
                    "median width, s",
                    "by true distances",
                ),
                learnt,
            ),
        ],
    )


def cars() -> Iterator[Drive]:
    """Stretches that their drivers labelled as by car or taxi."""
    return _beijing(pl.col("mode").is_in(["car", "taxi"]))


def ways() -> Iterator[Drive]:
    """All stretches of Beijing, labelled or not."""
    return _beijing(pl.lit(True))


def _beijing(which: pl.Expr) -> Iterator[Drive]:
    table = pl.read_parquet(shared_file("trajectories/geolife-beijing-a.parquet"))
    for (user, *_), one in table.filter(which).group_by("user_id", "traj_id", maintain_order=True):
        trip = one.unique("time_utc").sort("time_utc")
        time = trip["time_utc"].dt.epoch("ms").to_numpy() / 1_000
        for part in np.split(np.arange(len(time)), np.flatnonzero(np.diff(time) > GAP) + 1):
            if len(part) and time[part[-1]] - time[part[0]] >= SHORTEST:
                latitude, longitude = (trip[name].to_numpy()[part] for name in ("lat", "lon"))
                yield Drive(str(user), time[part] - time[part[0]], latitude, longitude)


def rounds() -> Iterator[Drive]:
    """Chunks of the ways of delivery agents, put at 52 degrees north."""
    table = pl.read_csv(shared_file("trajectories/delivery-agents-a.csv"), try_parse_dates=True)
    for (chunk, *_), one in table.group_by("chunk", maintain_order=True):
        time = one["timestamp"].dt.epoch("ms").to_numpy() / 1_000
        offsets = (one[name].to_numpy() - one[name][0] for name in ("x", "y"))
        home = np.full(len(time), 52.0), np.full(len(time), 4.36)
        yield Drive(str(chunk), time - time[0], *displace(*home, *offsets))


def _forecasts(settings: Settings, drives: Sequence[Drive]) -> Floats:
    """Number of the cluster, shown distance, and whether it held: a row for each forecast."""
    number = {who: at for at, who in enumerate(dict.fromkeys(one.who for one in drives))}
    rows = [
        (number[drive.who], one.shown, one.is_held)
        for seed in range(SEED, SEED + NOISES)
        for at, drive in enumerate(drives)
        for one in _forecasts_of(settings, drive, Randomness.seeded(seed).within(str(at)))
    ]
    return np.array(rows, dtype=np.float64)


def _learnt(
    settings: Settings, name: str, drives: Sequence[Drive], noises: int
) -> Iterator[list[str]]:
    """What ``Calibration`` makes of drives whose persons or chunks it has not seen."""
    number = {who: at for at, who in enumerate(dict.fromkeys(one.who for one in drives))}
    found = []
    for seed in range(SEED, SEED + noises):
        shown = [
            list(_forecasts_of(settings, drive, Randomness.seeded(seed).within(str(at))))
            for at, drive in enumerate(drives)
        ]
        for fold in range(FOLDS):
            apart = [number[drive.who] % FOLDS == fold for drive in drives]
            past = [those for those, out in zip(shown, apart, strict=True) if not out and those]
            by_shown, by_true = (
                Calibration.fit(
                    [Past(way(those), [one.seconds for one in those]) for those in past]
                )
                for way in (_shown, _true)
            )
            found += [
                (number[drive.who], one.shown, *_told(by_shown, one.shown, one.seconds),
                 _told(by_true, one.true, one.seconds)[1])
                for drive, those, out in zip(drives, shown, apart, strict=True)
                if out
                for one in those
            ]  # fmt: skip
    table = np.array(found, dtype=np.float64)
    for where, some in (("all", table), ("shown within 2 km", table[table[:, 1] < NEARBY])):
        told = some[~np.isnan(some[:, 2])]
        if not len(told):
            yield [name, where, f"{len(some):,}", "100 %", "none", "", ""]
            continue
        share, low, high = _share(told[:, [0, 1, 2]])
        widths = [f"{np.nanmedian(told[:, at]):.0f}" for at in (3, 4)]
        cell = f"{100 * share:.0f} % ({100 * low:.0f} to {100 * high:.0f})"
        lack = f"{100 * (1 - len(told) / len(some)):.0f} %"
        yield [name, where, f"{len(some):,}", lack, cell, *widths]


def _shown(those: Sequence[Forecast]) -> list[float]:
    return [one.shown for one in those]


def _true(those: Sequence[Forecast]) -> list[float]:
    return [one.true for one in those]


def _told(past: Calibration, metres: float, seconds: float) -> tuple[float, float]:
    """Whether an arrival is held, and the width; NaN where nothing is told."""
    interval = past.interval(metres)
    if interval is None:
        return float("nan"), float("nan")
    return float(interval.low <= seconds <= interval.high), interval.high - interval.low


def _forecasts_of(settings: Settings, drive: Drive, drawn: Randomness) -> Iterator[Forecast]:
    """What is shown at each report, and whether the page's interval holds the arrival."""
    stream = PositionStream(settings.levels, drawn.key("positions"))
    end = float(drive.latitude[-1]), float(drive.longitude[-1])
    due = np.arange(0.0, drive.time[-1], settings.slot_seconds)
    for at in np.unique(np.searchsorted(drive.time, due)):
        place, time = (drive.latitude[at], drive.longitude[at]), float(drive.time[at])
        if time >= drive.time[-1]:
            return
        slot = _NOON + settings.slot(time)
        shown = stream.report(*place, _NOON + time, slot)
        metres = [metres_between(one.latitude, one.longitude, *end) for one in shown]
        level = settings.levels.level(metres[0])
        deviation = settings.levels.displacements[level] / np.sqrt(np.pi / 2)
        seconds = float(drive.time[-1]) - time
        chance = arrived_by(seconds, metres[level], deviation, settings.speeds_kmh)
        true = float(metres_between(*place, *end))
        yield Forecast(metres[level], true, seconds, is_held=0.05 <= chance <= 0.95)


def _share(found: Floats) -> tuple[float, float, float]:
    """The share that held, and the ends of its interval by whole clusters."""
    clusters, at = np.unique(found[:, 0], return_inverse=True)
    held, count = np.bincount(at, found[:, 2]), np.bincount(at)
    chosen = np.random.default_rng(SEED).integers(len(clusters), size=(RESAMPLES, len(clusters)))
    shares = held[chosen].sum(axis=1) / count[chosen].sum(axis=1)
    low, high = np.quantile(shares, (0.025, 0.975))
    return float(held.sum() / count.sum()), float(low), float(high)
