"""Moving millions of positions, and one at a time in a live stream.

Noise that stays with places is drawn by the place, and only where a truck moved: it is measured on
fewer positions, all of them new places, and in the stream of the sharing service, which moves each
of three levels by a field of its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from time import process_time

import numpy as np

from benchmarks.record import Measurement, Table, Target
from benchmarks.timing import in_turn, seconds_text
from voile_base.randomness import Randomness
from voile_geo.planar.field import Trips
from voile_geo.planar.noise import (
    AngleSelection,
    CorrelatedGaussian,
    GaussianField,
    Live,
    LocationNoise,
    PlanarLaplace,
    perturb,
)
from voile_geo.planar.steps import Zones
from voile_share.positions import Levels, PositionStream

__all__ = ["run"]

ROWS = int(os.environ.get("VOILE_BENCHMARK_ROWS", "4_000_000"))
CALLS = 20_000
REPORTS, GAP = 40, 30.0
FIELD_ROWS, FIELD_CALLS = 20_000, 2_000
SEED, ROUNDS = 2023, 5
MOST_NANOSECONDS, MOST_RATIO, MOST_MICROSECONDS = 100, 3.0, 20
MOST_FIELD, MOST_STREAM = 200, 500
"""Microseconds: of a place in a table, and of a report of the service that moves, all levels."""
ZONES = Zones([0.005], [1.0])
NOISES: tuple[LocationNoise, ...] = (
    PlanarLaplace(ZONES),
    AngleSelection(ZONES, 0.25),
    CorrelatedGaussian(ZONES, 120.0),
)


def run() -> Measurement:
    """Each mechanism on a table and in a stream, beside numpy drawing the same numbers."""
    key = Randomness.seeded(SEED).key("trips")
    trips, generator = _trips(), np.random.default_rng(SEED)

    def numpy_laplace() -> object:
        return generator.gamma(2.0, 200.0, ROWS), generator.uniform(0.0, 2 * np.pi, ROWS)

    def numpy_normal() -> object:
        return generator.normal(size=ROWS), generator.normal(size=ROWS)

    def numpy_angles() -> object:
        return generator.gamma(2.0, 200.0, ROWS), generator.normal(size=ROWS)

    plain = {
        "planar-laplace": numpy_laplace,
        "angle-selection": numpy_angles,
        "correlated-gaussian": numpy_normal,
    }
    sides: dict[str, Callable[[], object]] = {}
    for noise in NOISES:
        perturb(noise, trips, key)  # compiled before it is timed
        sides[noise.name] = lambda noise=noise: perturb(noise, trips, key)
        sides[f"numpy for {noise.name}"] = plain[noise.name]
    seconds = in_turn(sides, {}, ROUNDS, process_time)
    live = {noise.name: _live(noise) for noise in NOISES}
    lines, ratios = [], {}
    for noise in NOISES:
        ours, bare = seconds[noise.name], seconds[f"numpy for {noise.name}"]
        ratios[noise.name] = ours / bare
        lines.append(
            [noise.name, seconds_text(ours / ROWS), seconds_text(bare / ROWS),
             f"{ratios[noise.name]:.2f}", seconds_text(live[noise.name])]
        )  # fmt: skip
    field, streamed = (
        _field(),
        {name: _streamed(name) for name in ("gaussian-field", "correlated-gaussian")},
    )
    first = NOISES[0].name
    each = seconds[first] / ROWS * 1e9
    moving = streamed["gaussian-field"] * 1e6
    return Measurement(
        question="What does it cost to move a position, in tables and in live streams?",
        data=f"{ROWS:,} positions in trips of {REPORTS} reports near 40 degrees north",
        seeds=f"{SEED}",
        protocol="processor seconds in one process, ours and numpy's draw of as many numbers "
        f"(gamma and uniform, gamma and normal, two normal) in turn, medians of {ROUNDS}; ours "
        f"draws, moves on the ellipsoid and is a function of key, trip and report. Streams: "
        f"{CALLS:,} calls. A field: {FIELD_ROWS:,} places in a table, and {FIELD_CALLS:,} reports "
        "of the sharing service's stream, each 300 m or so from the one before; the least of 3",
        answer=f"Planar Laplace noise takes {each:.0f} ns a position in a table, "
        f"{ratios[first]:.2f} times "
        "what numpy takes for its gamma and uniform numbers alone, and "
        f"{live[first] * 1e6:.1f} \u00b5s a report in a stream.",
        targets=[
            *(Target(f"{noise.name}, a position in a table", f"under {MOST_NANOSECONDS} ns",
                     f"{seconds[noise.name] / ROWS * 1e9:.0f} ns",
                     seconds[noise.name] / ROWS * 1e9 < MOST_NANOSECONDS) for noise in NOISES),
            *(Target(f"{noise.name} against numpy's draw", f"at most {MOST_RATIO:g} times",
                     f"{ratios[noise.name]:.2f} times", ratios[noise.name] <= MOST_RATIO)
              for noise in NOISES),
            *(Target(f"{name}, a call of the live object", f"under {MOST_MICROSECONDS} \u00b5s",
                     f"{taken * 1e6:.1f} \u00b5s", taken * 1e6 < MOST_MICROSECONDS)
              for name, taken in live.items()),
            Target("gaussian-field, a place in a table", f"under {MOST_FIELD} \u00b5s",
                   f"{field * 1e6:.0f} \u00b5s", field * 1e6 < MOST_FIELD),
            Target("a report of the service that moves, by its default",
                   f"under {MOST_STREAM} \u00b5s", f"{moving:.0f} \u00b5s",
                   moving < MOST_STREAM),
        ],
        tables=[
            Table("A position",
                  ("mechanism", "in a table", "numpy's draw", "ratio", "live"), lines),
            Table("A report of the service's stream, three levels and its price",
                  ("mechanism", "a report that moves"),
                  [[name, seconds_text(taken)] for name, taken in streamed.items()]),
        ],
    )  # fmt: skip


def _trips() -> Trips:
    generator = np.random.default_rng(SEED)
    count = ROWS // REPORTS
    latitude = 39.9 + generator.uniform(-0.1, 0.1, count * REPORTS)
    longitude = 116.4 + generator.uniform(-0.1, 0.1, count * REPORTS)
    time, start = np.tile(np.arange(REPORTS) * GAP, count), np.arange(count + 1) * REPORTS
    return Trips(latitude, longitude, time, start, np.arange(count).astype(np.uint64))


def _live(noise: LocationNoise) -> float:
    """Processor seconds of one call."""
    stream = Live(noise, Randomness.seeded(SEED).key("trips"), 7)
    stream.report(39.9, 116.4, 0.0)

    def report_all() -> None:
        for i in range(1, CALLS + 1):
            stream.report(39.9, 116.4, clock[0] + i * GAP)
        clock[0] += CALLS * GAP

    clock = [0.0]
    return in_turn({"live": report_all}, {}, 3, process_time)["live"] / CALLS


def _field() -> float:
    """Processor seconds of a place in a table under noise that stays with places."""
    rows = slice(0, FIELD_ROWS)
    one = _trips()
    count = FIELD_ROWS // REPORTS
    some = Trips(
        one.latitude[rows], one.longitude[rows], one.time[rows], one.start[: count + 1],
        one.identity[:count], vehicle=one.identity[:count],
    )  # fmt: skip
    noise, key = GaussianField(ZONES), Randomness.seeded(SEED).key("trips")
    perturb(noise, some, key)
    taken = in_turn({"field": lambda: perturb(noise, some, key)}, {}, 3, process_time)
    return taken["field"] / FIELD_ROWS


def _streamed(mechanism: str) -> float:
    """Processor seconds of a report that moves in the service's stream."""
    levels = Levels(mechanism=mechanism)
    steps = np.random.default_rng(SEED).normal(0, 0.002, (FIELD_CALLS, 2)).cumsum(axis=0)
    places = (steps + np.array([39.9, 116.4])).tolist()

    def report_all() -> float:
        stream = PositionStream(levels, Randomness.seeded(SEED).key("truck"))
        began = process_time()
        for i, place in enumerate(places):
            stream.report(*place, time=300.0 * i, slot=300 * i)
        return (process_time() - began) / len(places)

    report_all()
    return min(report_all() for _ in range(3))
