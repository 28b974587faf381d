"""Noise that stays with places, against one who knows more: days, known places, stops, trips.

It takes an hour and more.  Where ``VOILE_BENCHMARK_KEPT`` names a folder, what was found of a drive
in a case is kept there, by commit, and a run that was ended goes on where it was.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.record import Measurement, Table, Target, environment
from benchmarks.trucks_attacks import USUAL, learned_elsewhere
from benchmarks.trucks_data import beijing, drives
from benchmarks.trucks_days import clustered
from benchmarks.trucks_standing import DAYS, HOURS, TRUCKS, Missed, in_a_table
from benchmarks.trucks_staying import (
    DEFAULT,
    EPSILON,
    INTERVAL,
    LONGER,
    NEAR,
    SEED,
    STAYING,
    Case,
    Found,
    look,
)
from voile.attack.trajectory.adversaries import RoadAdversary
from voile_geo.geodesy import Floats
from voile_geo.planar.noise import LocationNoise

__all__ = ["CASES", "Compared", "run"]

NOISES: dict[str, LocationNoise] = {"default": DEFAULT, "700 m": STAYING, "1000 m": LONGER}
FIELDS = ("700 m", "1000 m")
STOP = 20
CASES = (
    *(Case(noise, days) for noise in NOISES for days in (1, DAYS)),
    *(Case(noise, DAYS, shifted=True) for noise in NOISES),
    *(Case(noise, places=places) for noise in FIELDS for places in (1, 5)),
    *(Case(noise, stop=STOP) for noise in FIELDS),
)
EVERY, GAP, RECEIVER = 5, 60, 8.0
"""One drive of so many, seconds between reports of a stop, and metres of a receiver's errors."""


class Compared:
    """What was found, drive by drive, with intervals that allow for several of one person."""

    def __init__(self, found: Sequence[Found], person: dict[int, int]) -> None:
        self._person = person
        self._of: dict[Case, dict[int, Found]] = {}
        for one in found:
            self._of.setdefault(one.case, {})[one.drive] = one

    def mean(self, case: Case, measure: str) -> tuple[float, float]:
        """A mean over drives and the half-width of its interval."""
        values, people = self._values((case,), measure)
        return clustered(values[0], people)

    def times(self, case: Case, other: Case, measure: str) -> tuple[float, float]:
        """How many times the mean of one case is that of another, and the half-width."""
        (over, under), people = self._values((case, other), measure)
        ratio = float(over.mean() / under.mean())
        # To the first order the ratio of means varies as this mean does.
        return ratio, clustered((over - ratio * under) / under.mean(), people)[1]

    def more(self, case: Case, other: Case, measure: str) -> tuple[float, float]:
        """By how much the mean of one case exceeds that of another, and the half-width."""
        (over, under), people = self._values((case, other), measure)
        return clustered(over - under, people)

    def _values(self, cases: Sequence[Case], measure: str) -> tuple[Floats, NDArray[np.int64]]:
        """Of drives that have the measure in all cases, (cases, drives), and whose they are."""
        numbers = sorted(set.intersection(*(set(self._of[case]) for case in cases)))
        table = [[getattr(self._of[case][n], measure) for n in numbers] for case in cases]
        values = np.array(table, dtype=np.float64)
        there = ~np.isnan(values).any(axis=0)
        people = np.array([self._person[n] for n in numbers], dtype=np.int64)
        return values[:, there], people[there]


class _Kept:
    """What this commit found already, one line of JSON for each drive and case."""

    def __init__(self) -> None:
        folder = os.environ.get("VOILE_BENCHMARK_KEPT")
        self._file = (
            Path(folder) / f"trucks_fields-{environment()['commit']}.jsonl" if folder else None
        )
        self._found: dict[tuple[int, Case], Found] = {}
        if self._file is None or not self._file.exists():
            return
        for line in self._file.read_text(encoding="utf-8").splitlines():
            one = Found(**json.loads(line))
            one = replace(one, case=Case(**one.case))
            self._found[one.drive, one.case] = one

    def found(self, drive: int, case: Case, look: Callable[[], Found]) -> Found:
        """What was kept of a drive in a case, or what is found now."""
        if (drive, case) not in self._found:
            self._found[drive, case] = one = look()
            if self._file is not None:
                with self._file.open("a", encoding="utf-8") as lines:
                    lines.write(json.dumps(asdict(one)) + "\n")
        return self._found[drive, case]


def run() -> Measurement:
    """Follow one drive of five in all cases, and look at trucks that stand."""
    roads = beijing()
    taken = drives(roads)
    half, halves = learned_elsewhere(roads, taken)
    anybody = RoadAdversary(roads, piece=USUAL)
    adversaries = [anybody.supposing(movement) for movement in halves]
    numbers = range(0, len(taken), EVERY)
    kept = _Kept()
    found = [
        kept.found(
            n, case,
            lambda n=n, case=case: look(
                adversaries[half[taken[n].user]], roads, taken[n], n, case, NOISES
            ),
        )
        for n in numbers
        for case in CASES
    ]  # fmt: skip
    compared = Compared(found, {n: taken[n].user for n in numbers})
    standing = {name: in_a_table(noise, GAP, receiver=RECEIVER) for name, noise in NOISES.items()}
    people = len({taken[n].user for n in numbers})
    return _measurement(
        compared,
        standing,
        f"{len(numbers)} drives of {people} people (GeoLife, one of five of those of trucks) on "
        f"Beijing's roads for cars; {TRUCKS} trucks that stand",
    )


def _measurement(found: Compared, standing: dict[str, Missed], data: str) -> Measurement:
    alone = {name: Case(name) for name in NOISES}
    return Measurement(
        question="What does the informed adversary find under noise that stays with places, who "
        "has many days, knows true places, or sees a stop, beside a single trip and the default?",
        data=data,
        seeds=f"{SEED}",
        protocol=f"epsilon = {EPSILON:g}, a report every {INTERVAL:g} s; .8 of noise stays, "
        "in a field with a length of 700 or 1,000 m; fresh noise has tau = 120 s of driving. Days, "
        "shifted days and known places as benchmarks/trucks_staying.py says: he is told how days "
        "agree. A known place is where he saw the truck on one other day; five are spread along "
        f"the way. Near: within {NEAR:g} m of the one place, itself left out. A stop: {STOP} "
        "reports more in the middle of the drive. Means over drives with 95 % intervals that add "
        "up the deviations of each person's drives (Student). Standing: "
        f"{HOURS} hours with a report every {GAP} s, and first reports of {DAYS} days, true "
        f"positions {RECEIVER:g} m off per axis",
        answer=_answer(found, alone),
        targets=[
            target for name in FIELDS for target in _targets(name, found, alone, standing[name])
        ],
        tables=[
            Table("A single trip, and days of one route",
                  ("noise", "right roads", "error, m", "of 20 days", "times one", "shifted days",
                   "times one"),
                  [[name, _cell(found.mean(alone[name], "right"), 3),
                    _cell(found.mean(alone[name], "error"), 0),
                    _cell(found.mean(Case(name, DAYS), "right"), 3),
                    _cell(found.times(Case(name, DAYS), alone[name], "right"), 2),
                    _cell(found.mean(Case(name, DAYS, shifted=True), "right"), 3),
                    _cell(found.times(Case(name, DAYS, shifted=True), alone[name], "right"), 2)]
                   for name in NOISES]),
            Table("Who knows the noise at places, beside who does not",
                  ("length", "places", "error, times", "error near, times", "right roads, more"),
                  [[name, f"{places}",
                    _cell(found.times(Case(name, places=places), alone[name], "error"), 2),
                    _cell(found.times(Case(name, places=places), alone[name], "near"), 2),
                    _cell(found.more(Case(name, places=places), alone[name], "right"), 3)]
                   for name in FIELDS for places in (1, 5)]),
            Table("A stop, and trucks that stand: error of the mean of the reports, m",
                  ("noise", "one report", f"a stop of {HOURS} hours", f"{DAYS} first reports"),
                  [[name, *(f"{metres.mean():.0f}" for metres in (one.one, one.stop, one.mornings))]
                   for name, one in standing.items()]),
        ],
    )  # fmt: skip


def _targets(
    name: str, found: Compared, alone: dict[str, Case], standing: Missed
) -> Sequence[Target]:
    """What noise that stays must reach."""
    one = alone[name]
    figures = [
        ("right roads of a single trip, more than under the default", "not beyond the interval",
         found.more(one, alone["default"], "right"), 3, lambda value, width: value <= width),
        (f"right roads after {DAYS} days with the same timing, over those of one", "at most 1.15",
         found.times(Case(name, DAYS), one, "right"), 2, lambda value, _: value <= 1.15),
        (f"right roads after {DAYS} shifted days, over those of one", "at most 1.3",
         found.times(Case(name, DAYS, shifted=True), one, "right"), 2,
         lambda value, _: value <= 1.3),
        (f"error within {NEAR:g} m of a known place, over that without knowing it", "at least 0.8",
         found.times(Case(name, places=1), one, "near"), 2, lambda value, _: value >= 0.8),
        ("error of a trip for five who collude, over that without", "at least 0.75",
         found.times(Case(name, places=5), one, "error"), 2, lambda value, _: value >= 0.75),
        ("right roads for five who collude, more than without", "at most 0.1",
         found.more(Case(name, places=5), one, "right"), 3, lambda value, _: value <= 0.1),
        (f"error at a stop of {STOP} reports, over that of passing by", "at least 0.9",
         found.times(Case(name, stop=STOP), one, "middle"), 2, lambda value, _: value >= 0.9),
        (f"error of the mean of a stop of {HOURS} hours, over that of one report", "at least 0.7",
         (float(standing.stop.mean() / standing.one.mean()), math.nan), 2,
         lambda value, _: value >= 0.7),
        (f"error of the mean of {DAYS} first reports, over that of one", "at least 0.7",
         (float(standing.mornings.mean() / standing.one.mean()), math.nan), 2,
         lambda value, _: value >= 0.7),
    ]  # fmt: skip
    return [
        Target(f"{name}: {what}", must, _cell(got, digits), bool(reached(*got)))
        for what, must, got, digits, reached in figures
    ]


def _answer(found: Compared, alone: dict[str, Case]) -> str:
    said = [
        f"{name}: {_cell(found.mean(alone[name], 'right'), 3)} right roads of one trip, "
        f"{_cell(found.times(Case(name, DAYS), alone[name], 'right'), 2)} times as many of {DAYS} "
        "days"
        for name in NOISES
    ]
    return "; ".join(said) + "."


def _cell(figure: tuple[float, float], digits: int) -> str:
    value, width = figure
    interval = "" if math.isnan(width) else f" \u00b1 {width:.{digits}f}"
    return f"{value:.{digits}f}{interval}"
