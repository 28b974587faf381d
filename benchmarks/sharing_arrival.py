"""How often the tracking page's interval of arrival holds it, on real drives."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingRegressor

from benchmarks.data import shared_file
from benchmarks.record import Measurement, Table
from voile_base.randomness import Randomness
from voile_geo.geodesy import Floats, displace, metres_between
from voile_share.arrival import ArrivalTable, Past, SharedPosition
from voile_share.platform import Settings
from voile_share.platform.arrivals import shown_at
from voile_share.positions import PositionStream

__all__ = ["FOLDS", "Drive", "reports_of", "run", "share_held", "ways"]

SEED = 2023
NOISES = 3
"""Draws of the noise for each drive."""
RESAMPLES = 2_000
GAP = 600.0
"""Seconds without a position that end a drive."""
SHORTEST = 300.0
NEARBY = 2_000.0
FOLDS = 10
NOON = 20_000 * 86_400 + 43_200
"""When drives begin."""


@dataclass(frozen=True)
class Drive:
    """n positions on the way to the last of them."""

    who: str
    """The drive's cluster: a person, or a chunk."""
    time: Floats
    latitude: Floats
    longitude: Floats


@dataclass(frozen=True)
class Told:
    """A drive as its party saw it."""

    who: int
    shown: Sequence[SharedPosition]
    true: Floats
    """Metres from each true position to the destination."""
    seconds: Floats
    """From each fix to the arrival."""


def run() -> Measurement:
    """Forecasts once a slot, each judged by when the drive ended."""
    sets = {
        "cars and taxis": (list(cars()), NOISES),
        "sparse taxis": (list(taxis()), NOISES),
        "delivery rounds": (list(rounds()), NOISES),
        "all ways, on foot too": (list(ways()), 1),
    }
    rows = [row for name, given in sets.items() for row in _judged(name, *given)]
    return Measurement(
        question="How often does the interval of arrival on the tracking page hold the arrival?",
        data="GeoLife in Beijing (users with even numbers): stretches labelled car or taxi, and "
        "all of them, ended by 10 minutes without a position; taxis of Beijing, sparsely sampled; "
        "six-minute chunks of delivery agents; of 5 minutes or more; the last point is the "
        "destination",
        seeds=f"{SEED} to {SEED + NOISES - 1} for the noise; {SEED} for all ways",
        protocol="the service's default slots, noise and levels, and its own code from the shown "
        f"positions to the forecast; {FOLDS} folds of persons, cars or chunks, each told "
        "by a table fitted to the others; the 95 % interval of the share held by "
        f"{RESAMPLES:,} resamples of persons, cars or chunks; beside it quantile regression "
        "(gradient boosting, 5 % and 95 %) on true distances, with the same drives, folds and "
        "weights, for the forecasts that had a figure",
        answer="Of arrivals with a figure were held, nominally 90 %: "
        + "; ".join(f"{row[0]} {row[4]}" for row in rows if row[1] == "all")
        + ".",
        tables=[
            Table(
                "Arrivals within the interval (95 %)",
                (
                    "drives",
                    "which forecasts",
                    "forecasts",
                    "with a figure",
                    "held",
                    "median width, s",
                    "by regression on true positions, s",
                    "ratio",
                    "held by that",
                ),
                rows,
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


def taxis() -> Iterator[Drive]:
    """Taxis of Beijing that tell their positions rarely; a cluster is a car."""
    table = pl.read_csv(shared_file("trajectories/beijing-taxi-sparse.csv"))
    for (name, _, car, *_), one in table.group_by("set", "traj", "car_id", maintain_order=True):
        trip = one.unique("t", keep="first").sort("t")
        time = trip["t"].to_numpy().astype(np.float64)
        if len(time) > 1 and time[-1] - time[0] >= SHORTEST:
            latitude, longitude = (trip[side].to_numpy() for side in ("lat", "lon"))
            yield Drive(f"{name} {car}", time - time[0], latitude, longitude)


def reports_of(
    settings: Settings, drive: Drive, draws: Randomness
) -> tuple[NDArray[np.int64], list[tuple[float, list[tuple[float, float]]]]]:
    """Which positions of a drive are reported, and when and where each level then shows it."""
    stream = PositionStream(settings.levels, draws.key("positions"))
    due = np.arange(0.0, drive.time[-1], settings.slot_seconds)
    at = np.unique(np.searchsorted(drive.time, due))
    at = at[drive.time[at] < drive.time[-1]]
    reports = []
    for one in at:
        time = float(drive.time[one])
        slot = NOON + settings.slot(time)
        shown = stream.report(drive.latitude[one], drive.longitude[one], NOON + time, slot)
        reports.append((NOON + time, [(each.latitude, each.longitude) for each in shown]))
    return at, reports


def _told(settings: Settings, drives: Sequence[Drive], seed: int) -> list[Told]:
    """What is shown of each drive, by the service's own code."""
    number = {who: at for at, who in enumerate(dict.fromkeys(one.who for one in drives))}
    made = []
    for place, drive in enumerate(drives):
        at, reports = reports_of(settings, drive, Randomness.seeded(seed).within(str(place)))
        end = float(drive.latitude[-1]), float(drive.longitude[-1])
        places = zip(drive.latitude[at], drive.longitude[at], strict=True)
        true = np.array([metres_between(*place, *end) for place in places])
        shown_ = shown_at(settings.levels, reports, end)
        made.append(Told(number[drive.who], shown_, true, drive.time[-1] - drive.time[at]))
    return [one for one in made if len(one.shown)]


def _judged(name: str, drives: Sequence[Drive], noises: int) -> Iterator[list[str]]:
    """Forecasts for persons, cars or chunks by what others taught."""
    found = [
        row
        for seed in range(SEED, SEED + noises)
        for row in _folds(_told(Settings(), drives, seed))
    ]
    table = np.array(found, dtype=np.float64)
    for where, some in (("all", table), ("shown within 2 km", table[table[:, 1] < NEARBY])):
        told = some[~np.isnan(some[:, 2])]
        if not len(told):
            yield [name, where, f"{len(some):,}", "0 %", *["none"] * 5]
            continue
        share, low, high = share_held(told[:, [0, 1, 2]])
        width, regression = np.median(told[:, 3]), np.median(told[:, 4])
        yield [
            name,
            where,
            f"{len(some):,}",
            f"{100 * len(told) / len(some):.0f} %",
            f"{100 * share:.1f} % ({100 * low:.1f} to {100 * high:.1f})",
            f"{width:.0f}",
            f"{regression:.0f}",
            f"{width / regression:.2f}",
            f"{100 * told[:, 5].mean():.0f} %",
        ]


def _folds(drives: Sequence[Told]) -> Iterator[tuple[float, ...]]:
    """Cluster, shown distance, held, width; width and held of the regression: NaN for no figure."""
    for fold in range(FOLDS):
        past = [one for one in drives if one.who % FOLDS != fold]
        after = [one for one in drives if one.who % FOLDS == fold]
        if not past or not after:
            continue
        table = ArrivalTable.fit(
            [Past.of(one.shown, one.shown[0].time + one.seconds[0]) for one in past]
        )
        regression = _regression(past, np.concatenate([one.true for one in after]))
        place = 0
        for one in after:
            for shown, seconds in zip(one.shown, one.seconds, strict=True):
                interval, (low, high) = table.forecast(shown), regression[place]
                place += 1
                by_it = float(low <= seconds <= high)
                if interval is None:
                    yield one.who, shown.metres, math.nan, math.nan, high - low, by_it
                else:
                    held = float(interval.low <= seconds <= interval.high)
                    width = interval.high - interval.low
                    yield one.who, shown.metres, held, width, high - low, by_it


def _regression(past: Sequence[Told], metres: Floats) -> Floats:
    """5 % and 95 % of the seconds to arrival at true distances; shape (n, 2)."""
    known = np.concatenate([one.true for one in past])
    seconds = np.concatenate([one.seconds for one in past])
    weights = np.concatenate([np.full(len(one.true), 1 / len(one.true)) for one in past])
    columns = []
    for quantile in (0.05, 0.95):
        model = HistGradientBoostingRegressor(
            loss="quantile", quantile=quantile, max_iter=40, max_leaf_nodes=6,
            early_stopping=False, random_state=SEED,
        )  # fmt: skip
        model.fit(_feature(known), seconds, sample_weight=weights)
        columns.append(model.predict(_feature(metres)))
    return np.sort(np.stack(columns, axis=1), axis=1)


def _feature(metres: Floats) -> Floats:
    return np.log(np.maximum(metres, 100.0))[:, None]


def share_held(found: Floats) -> tuple[float, float, float]:
    """The share that held, and the ends of its interval by whole clusters."""
    clusters, at = np.unique(found[:, 0], return_inverse=True)
    held, count = np.bincount(at, found[:, 2]), np.bincount(at)
    chosen = np.random.default_rng(SEED).integers(len(clusters), size=(RESAMPLES, len(clusters)))
    shares = held[chosen].sum(axis=1) / count[chosen].sum(axis=1)
    low, high = np.quantile(shares, (0.025, 0.975))
    return float(held.sum() / count.sum()), float(low), float(high)
