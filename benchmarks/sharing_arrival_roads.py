"""Whether intervals of arrival get narrower when distances are measured along roads."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse.csgraph import dijkstra
from scipy.spatial import cKDTree

from benchmarks.record import Measurement, Table
from benchmarks.sharing_arrival import FOLDS, Drive, reports_of, share_held, ways
from benchmarks.trucks_data import beijing
from voile_base.randomness import Randomness
from voile_geo.geodesy import Floats, metres_between
from voile_geo.roads.network import RoadNetwork
from voile_share.arrival import ArrivalTable, Past, SharedPosition
from voile_share.platform import Settings
from voile_share.platform.arrivals import shown_at

__all__ = ["run"]

SEED = 2023
NEAR_ROADS, OFF = 250.0, 0.02
"""Metres from a crossing, and which share of a drive may be farther."""
FAST, FAR = 8.0, 1_500.0
"""m/s for a tenth of the time, and metres from the beginning to the end: so move cars."""
NEARBY, DISTANT = 2_000.0, 5_000.0
USUAL = 8.0
"""m/s by which times along roads become distances, so that the same grid of them serves."""
DRAWS = 64
_FARTHEST = 1e6

METRICS = (
    "straight, from the shown place",
    "along roads, from the shown place",
    "by time at the roads' speeds, from the shown place",
    "along roads, mean over places that may have been shown so",
    "straight, from the true place",
    "by time at the roads' speeds, from the true place",
)


@dataclass(frozen=True)
class _Told:
    """A drive as its party saw it: n positions."""

    who: int
    shown: tuple[SharedPosition, ...]
    metres: Mapping[str, Floats]
    """By metric, shape (n,)."""
    seconds: Floats
    """Shape (n,): from each fix to the arrival."""

    def by(self, metric: str) -> list[SharedPosition]:
        """What was shown, at distances of a metric."""
        pairs = zip(self.shown, self.metres[metric], strict=True)
        return [replace(one, metres=float(far)) for one, far in pairs]


def run() -> Measurement:
    """The same drives, folds and code, with one measure of distance after another."""
    roads = _Roads(beijing())
    drives = [one for one in ways() if roads.holds(one)]
    number = {who: at for at, who in enumerate(dict.fromkeys(one.who for one in drives))}
    told = [_told(roads, one, place, number[one.who]) for place, one in enumerate(drives)]
    rows = [row for metric in METRICS for row in _judged(metric, told)]
    widths = {row[0]: row[5] for row in rows if row[1] == "all"}
    return Measurement(
        question="Do intervals of arrival get narrower with distances along roads?",
        data=f"{len(drives)} stretches of {len(number)} people (GeoLife in Beijing, users with "
        "even numbers) that lie on the map of its roads for cars and move as cars do: above 8 m/s "
        "for a tenth of the time, and 1.5 km from the beginning to the end at least",
        seeds=f"{SEED} for the noise and the draws of places",
        protocol="the service's default slots, noise and levels, and its own table of arrivals; a "
        "distance along roads is that of the shortest way between the crossings nearest to the "
        f"place and to the destination, a time becomes one at {USUAL:.0f} m/s; {FOLDS} folds of "
        "persons, each told by a table fitted to the others; 95 % intervals by resamples of "
        "persons",
        answer="Median widths in seconds, at a nominal coverage of 90 %: "
        + "; ".join(f"{metric} {width}" for metric, width in widths.items())
        + ".",
        tables=[
            Table(
                "Arrivals within the interval, by what the distance is",
                ("distance", "which forecasts", "forecasts", "with a figure", "held (95 %)",
                 "median width, s"),
                rows,
            ),
        ],
    )  # fmt: skip


class _Roads:
    """A map, and how far it is on it."""

    def __init__(self, roads: RoadNetwork) -> None:
        self._roads = roads
        self._crossings = cKDTree(roads.plane)
        self._metres = roads.graph(roads.length).T.tocsr()
        self._seconds = roads.graph(roads.seconds).T.tocsr()

    def holds(self, drive: Drive) -> bool:
        """Whether a drive lies on the map and moves as cars do."""
        plane = self.plane(drive.latitude, drive.longitude)
        off = self._crossings.query(plane)[0] > NEAR_ROADS
        moved = np.hypot(*np.diff(plane, axis=0).T) / np.maximum(np.diff(drive.time), 1e-9)
        beeline = math.hypot(*(plane[-1] - plane[0]))
        return bool(off.mean() <= OFF and np.quantile(moved, 0.9) >= FAST and beeline >= FAR)

    def plane(self, latitude: Floats, longitude: Floats) -> Floats:
        """Metres, shape (n, 2)."""
        return self._roads.to_plane(latitude, longitude)

    def to(self, end: tuple[float, float]) -> tuple[Floats, Floats]:
        """Metres and seconds from each crossing to a destination."""
        crossing = int(self.nearest(self.plane(*np.array([end]).T))[0])
        metres, seconds = (
            dijkstra(graph, indices=crossing) for graph in (self._metres, self._seconds)
        )
        return np.minimum(metres, _FARTHEST), np.minimum(seconds * USUAL, _FARTHEST)

    def nearest(self, plane: Floats) -> Floats:
        """The crossing nearest to each place."""
        return np.asarray(self._crossings.query(plane)[1])


def _told(roads: _Roads, drive: Drive, place: int, who: int) -> _Told:
    """What is shown of a drive by the service's own code, and how far it is to the end."""
    settings = Settings()
    at, reports = reports_of(settings, drive, Randomness.seeded(SEED).within(str(place)))
    end = float(drive.latitude[-1]), float(drive.longitude[-1])
    shown = shown_at(settings.levels, reports, end)
    straight = [metres_between(*places[0], *end) for _, places in reports]
    levels = [settings.levels.level(float(far)) for far in straight]
    seen_at = np.array([places[level] for (_, places), level in zip(reports, levels, strict=True)])
    spread = np.array([settings.levels.displacements[level] for level in levels])
    metres = _metres(
        roads,
        roads.plane(*seen_at.T),
        roads.plane(drive.latitude[at], drive.longitude[at]),
        spread,
        end,
    )
    beeline = np.array([one.metres for one in shown])
    true = np.array([
        metres_between(drive.latitude[one], drive.longitude[one], *end) for one in at
    ])  # fmt: skip
    by = dict(zip(METRICS, (beeline, *metres[:3], true, metres[3]), strict=True))
    return _Told(who, tuple(shown), by, drive.time[-1] - drive.time[at])


def _metres(
    roads: _Roads, shown: Floats, true: Floats, spread: Floats, end: tuple[float, float]
) -> tuple[Floats, Floats, Floats, Floats]:
    """Of shown places by way, time and mean way; of true ones by time.  Shape (n,) each."""
    metres, seconds = roads.to(end)
    crossing = roads.nearest(shown)
    moves = np.random.default_rng(SEED).normal(size=(DRAWS, 1, 2)) * math.sqrt(0.5)
    around = (shown + moves * spread[:, None]).reshape(-1, 2)
    mean = metres[roads.nearest(around)].reshape(DRAWS, -1).mean(axis=0)
    return metres[crossing], seconds[crossing], mean, seconds[roads.nearest(true)]


def _judged(metric: str, told: list[_Told]) -> Iterator[list[str]]:
    """Forecasts for persons by what others taught."""
    found = np.array([row for fold in range(FOLDS) for row in _fold(metric, told, fold)])
    far = found[:, 1]
    parts = (
        ("all", np.full(len(far), fill_value=True)),
        ("shown within 2 km", far < NEARBY),
        ("shown 5 km away and farther", far >= DISTANT),
    )
    for name, which in parts:
        some = found[which]
        figures = some[~np.isnan(some[:, 2])]
        share, low, high = share_held(figures[:, :3])
        yield [
            metric,
            name,
            f"{len(some):,}",
            f"{100 * len(figures) / len(some):.0f} %",
            f"{100 * share:.1f} % ({100 * low:.1f} to {100 * high:.1f})",
            f"{np.median(figures[:, 3]):.0f}",
        ]


def _fold(metric: str, told: list[_Told], fold: int) -> Iterator[tuple[float, ...]]:
    """Cluster, shown distance, held, width; NaN for no figure."""
    past = [
        Past.of(one.by(metric), one.shown[0].time + one.seconds[0])
        for one in told
        if one.who % FOLDS != fold
    ]
    table = ArrivalTable.fit(past)
    for one in told:
        if one.who % FOLDS != fold:
            continue
        for shown, before, seconds in zip(one.by(metric), one.shown, one.seconds, strict=True):
            interval = table.forecast(shown)
            if interval is None:
                yield one.who, before.metres, math.nan, math.nan
            else:
                held = float(interval.low <= seconds <= interval.high)
                yield one.who, before.metres, held, interval.high - interval.low
