"""What it costs to follow trips with a picture of each, as ``voile attack --pictures`` does."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import process_time

import numpy as np
import polars as pl

from benchmarks.data import shared_file
from benchmarks.record import Measurement, Table, Target
from benchmarks.trucks_worldwide import TRACES, Trace
from voile.attack.trajectory.adversaries import RoadEstimate
from voile.attack.trajectory.knowing import TrackedTrip
from voile.attack.trajectory.on_release import Limits, follow_trips
from voile.cli.trips import Gallery
from voile.release.release import Release
from voile.study.run import make_release
from voile_base.randomness import Randomness
from voile_geo.roads.network import RoadNetwork
from voile_geo.roads.reading import read_roads

__all__ = ["Cost", "Fleet", "cost_of", "run"]

SEED, TRIPS, INTERVAL = 2032, 13, 30
FEWEST, MOST_SECONDS = 20, 5.0
PLAN = """[roles]
vehicle = "vehicle"
[method]
name = "geo-indistinguishability"
epsilon = 0.005
"""


@dataclass(frozen=True, eq=False)
class Fleet:
    """Trips, what is published of them, and their map."""

    name: str
    rows: pl.DataFrame
    release: Release
    roads: RoadNetwork

    @classmethod
    def of(cls, name: str, rows: pl.DataFrame, roads: RoadNetwork) -> Fleet:
        """Published by the default of plans that name a vehicle."""
        with tempfile.TemporaryDirectory() as folder:
            plan = Path(folder) / "plan.toml"
            plan.write_text(PLAN)
            made = make_release(rows, plan, seed=SEED)
        return cls(name, rows, made.release, roads)


@dataclass(frozen=True)
class Cost:
    """What it costs to follow a fleet, in processor seconds."""

    fleet: str
    trips: int
    """How many are timed."""
    reports: int
    a_trip: float
    """Of each trip after the first, which has read the map."""
    slowest: float
    """Of the slowest one: adversaries and picture."""


def cost_of(fleet: Fleet, trips: int) -> Cost:
    """What one trip alone costs is taken off what all cost."""
    first, _, _ = _followed(fleet, 1)
    all_, reports, each = _followed(fleet, trips)
    return Cost(fleet.name, trips - 1, reports, (all_ - first) / (trips - 1), max(each))


def _followed(fleet: Fleet, trips: int) -> tuple[float, int, list[float]]:
    """Seconds and reports in all, and seconds between pictures."""
    with tempfile.TemporaryDirectory() as folder:
        gallery, began = Gallery(Path(folder), fleet.roads), process_time()
        drawn: list[float] = []

        def watch(seen: TrackedTrip, made: Mapping[str, RoadEstimate]) -> None:
            gallery(seen, made)
            drawn.append(process_time())

        outcomes = follow_trips(
            fleet.release,
            fleet.rows,
            fleet.roads,
            limits=Limits(trips=trips),
            randomness=Randomness.seeded(SEED),
            watch=watch,
        )
        gallery.finish(fleet.name, outcomes[0].notes)
        each = np.diff(drawn).tolist() if len(drawn) > 1 else [0.0]
        return process_time() - began, outcomes[0].reports, each


def _geolife() -> Fleet:
    """Trips by car, by taxi or without a label, a report every 30 s, on all of Beijing's roads."""
    fixes = pl.read_parquet(shared_file("trajectories/geolife-beijing-a.parquet"))
    of = pl.col("traj_id").cast(pl.String)
    rows = (
        fixes.filter(pl.col("mode").is_null() | pl.col("mode").is_in(["car", "taxi"]))
        .select(
            trip=pl.col("user_id").cast(pl.String) + "-" + of,
            vehicle="user_id",
            time=pl.col("time_utc").dt.timestamp("ms") // 1000,
            latitude="lat",
            longitude="lon",
        )
        .sort("trip", "time")
        .with_columns(slot=pl.col("time") // INTERVAL)
        .unique(["trip", "slot"], keep="first", maintain_order=True)
        .drop("slot")
    )
    long_enough = rows.group_by("trip").len().filter(pl.col("len") >= FEWEST)["trip"]
    rows = rows.filter(pl.col("trip").is_in(long_enough.to_list()))
    edges, nodes = (shared_file(f"roads/beijing-{what}.csv") for what in ("edges", "nodes"))
    return Fleet.of("GeoLife, Beijing", rows, read_roads(edges, nodes))


def _worldwide(number: int) -> Fleet:
    """A trace every 30 s, its two halves as trips."""
    trace = Trace.read(number)
    time, track = trace.every(INTERVAL)
    latitude, longitude = trace.roads.to_degrees(track)
    half = np.arange(len(time)) * 2 // len(time)
    rows = pl.DataFrame(
        {
            "trip": half,
            "vehicle": np.zeros(len(time), dtype=np.int64),
            "time": time,
            "latitude": latitude,
            "longitude": longitude,
        }
    )
    return Fleet.of(f"worldwide-matched, {trace.name}", rows, trace.roads)


def run() -> Measurement:
    """Trips of GeoLife, and the second half of each trace from elsewhere."""
    geolife = _geolife()
    _followed(geolife, 1)  # compiled before it is timed
    found = [cost_of(geolife, TRIPS), *(cost_of(_worldwide(number), 2) for number in TRACES)]
    return _measurement(found)


def _measurement(found: Sequence[Cost]) -> Measurement:
    city, *others = found
    slowest = max(others, key=lambda one: one.a_trip)
    return Measurement(
        question="What does it cost to follow a trip with all adversaries, and to draw its map?",
        data=f"{TRIPS} trips of GeoLife by car, by taxi or without a label, {FEWEST} reports or "
        "more, on all roads for cars of Beijing; 10 traces of cars in several countries, each in "
        "two halves (Kubicka et al. 2015)",
        seeds=f"{SEED}",
        protocol=f"epsilon = 0.005, the default of plans with vehicles, a report every {INTERVAL} "
        "s, the first 100 of a trip. Processor seconds in one process, of what `voile attack "
        "--pictures` does after the map was read: the true roads, five adversaries, looking up "
        "what can be reached, the map as SVG. What one trip alone costs is taken off what all "
        "cost, and the rest is shared by the others; the slowest is timed by itself, without its "
        "true roads",
        answer=f"A trip of GeoLife takes {city.a_trip:.1f} s, the slowest one, with minutes "
        f"between reports, {city.slowest:.1f} s; elsewhere a trip takes at most "
        f"{slowest.a_trip:.1f} s ({slowest.fleet}).",
        targets=[
            *(Target(f"{one.fleet}, processor of a trip", f"under {MOST_SECONDS:g} s",
                     f"{one.a_trip:.1f} s", one.a_trip < MOST_SECONDS)
              for one in (city, slowest)),
            Target(f"{city.fleet}, processor of the slowest trip", f"under {MOST_SECONDS:g} s",
                   f"{city.slowest:.1f} s", city.slowest < MOST_SECONDS),
        ],
        tables=[
            Table("Processor seconds of a trip",
                  ("fleet", "trips timed", "reports in all", "a trip", "the slowest"),
                  [[one.fleet, f"{one.trips}", f"{one.reports}", f"{one.a_trip:.2f}",
                    f"{one.slowest:.2f}"] for one in found]),
        ],
    )  # fmt: skip
