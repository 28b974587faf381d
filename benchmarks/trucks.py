"""What adversaries make of noisy positions of real drives, and what the noise costs who waits."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np

from benchmarks.record import Measurement, Table, Target
from benchmarks.trucks_arrival import Waiting
from benchmarks.trucks_attacks import (
    ATTACKS,
    MECHANISMS,
    RECIPIENTS,
    SEED,
    Case,
    Found,
    attack_all,
)
from benchmarks.trucks_data import beijing, drives
from voile_geo.roads.nearest import stretches

__all__ = ["CASES", "Results", "run"]

EPSILON, INTERVAL = 0.005, 30.0
SAME_ERROR = math.pi / 4
"""Of epsilon: a noisy distance is then off by as much as that from a noisy position far away."""
FIRST = "planar Laplace"
SEEDS, DEFAULT = "angle selection, sigma 0.25", "correlated Gaussian, tau 120 s"
FEW = (FIRST, SEEDS, DEFAULT)
SOME = (
    *FEW,
    "angle selection, sigma 0.97",
    "correlated Gaussian, tau 60 s",
    "correlated Gaussian, tau 240 s",
)
EPSILONS = (0.01, 0.005, 0.001, 0.0005)
MOST_SECONDS = 5.0

CASES: Mapping[str, Sequence[Case]] = {
    "attacks": [
        Case(mechanism, EPSILON, INTERVAL, attack)
        for mechanism in MECHANISMS
        for attack in ATTACKS
        if not (mechanism == FIRST and attack == "map matching")  # the same as informed
    ],
    "recipients": [
        Case(mechanism, EPSILON * SAME_ERROR, INTERVAL, "informed") for mechanism in RECIPIENTS
    ],
    "epsilon": [
        *(Case(mechanism, 0.01, INTERVAL, "informed") for mechanism in MECHANISMS),
        *(Case(mechanism, 0.001, INTERVAL, "informed") for mechanism in FEW),
    ],
    "interval": [
        # Five minutes are left out: a car may be anywhere within 11 km, at a quarter of a minute of
        # processor a drive and more.
        Case(name, EPSILON, interval, "informed")
        for interval in (10.0, 60.0)
        for name in SOME
    ],
}


class Results:
    """What was found, by case."""

    def __init__(self, found: Sequence[Found]) -> None:
        self._by_case: dict[Case, list[Found]] = defaultdict(list)
        for one in sorted(found, key=lambda one: one.drive):
            self._by_case[one.case].append(one)

    def of(self, mechanism: str, attack: str, epsilon: float, interval: float) -> list[Found]:
        """One case; matching is the informed attack where noise is drawn afresh."""
        if mechanism == FIRST and attack == "map matching":
            attack = "informed"
        return self._by_case.get(Case(mechanism, epsilon, interval, attack), [])

    def cells(self, mechanism: str, attack: str, epsilon: float, interval: float) -> list[str]:
        """Error and share of right roads, each with its interval; empty where nothing was run."""
        some = self.of(mechanism, attack, epsilon, interval)
        if not some:
            return ["", ""]
        return [
            with_interval([f.error for f in some], 0),
            with_interval([f.right for f in some], 3),
        ]

    def worst_right(self, mechanism: str, epsilon: float) -> float:
        """The highest mean share of right roads of any attack."""
        return max(
            float(np.mean([one.right for one in some]))
            for attack in ATTACKS
            if (some := self.of(mechanism, attack, epsilon, INTERVAL))
        )

    def seconds(self, case: Case) -> tuple[float, float]:
        """Mean and largest processor seconds of a drive."""
        taken = [one.seconds for one in self._by_case[case]]
        return float(np.mean(taken)), max(taken)

    @property
    def lost(self) -> int:
        """At how many reports an inference began anew."""
        return sum(one.lost for one in chain.from_iterable(self._by_case.values()))

    @property
    def informed(self) -> list[Case]:
        """All cases of the informed adversary."""
        return [case for case in self._by_case if case.attack == "informed"]


def with_interval(values: Sequence[float], digits: int) -> str:
    """Mean and half-width of a normal 95 % interval over drives."""
    width = 1.96 * float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return f"{np.mean(values):.{digits}f} \u00b1 {width:.{digits}f}"


def run() -> Measurement:
    """Attack all drives in all cases."""
    roads = beijing()
    taken = drives(roads)
    results = Results(list(attack_all(roads, taken, chain.from_iterable(CASES.values()))))
    people, labelled = len({one.user for one in taken}), sum(one.labelled for one in taken)
    return _measurement(
        results,
        Waiting(roads, taken),
        f"{len(taken)} drives of {people} people (GeoLife, {labelled} labelled car or taxi, the "
        "others unlabelled and moving as cars do), 10 to 20 minutes each, on Beijing's roads for "
        f"cars ({roads.edges:,} directed edges, {stretches(roads).max() + 1:,} stretches)",
    )


def _measurement(results: Results, waiting: Waiting, data: str) -> Measurement:
    worst = {name: results.worst_right(name, EPSILON) for name in MECHANISMS}
    safest = min(worst, key=lambda name: worst[name])
    slowest = max(
        results.seconds(case)[1] for case in results.informed if case.interval == INTERVAL
    )
    return Measurement(
        question="What do adversaries find out from noisy positions, and what does the noise cost "
        "who waits?",
        data=data,
        seeds=f"{SEED}; arrival {SEED + 1}",
        protocol="True roads: the track of 10 s matched to the map. A road is right where it is "
        "the true stretch between two crossings, in either direction. Each drive is reported every "
        f"{INTERVAL:g} s (40 reports or fewer) unless said otherwise. The adversary knows "
        "mechanism and parameters, and learned speeds, their limit and traffic from the other "
        "half of the people. Epsilon is that of planar Laplace noise: angle selection and "
        "correlated Gaussian noise move positions equally far; remaining distances have epsilon "
        "\u03c0/4, which costs the same error of arrival. Means over drives with normal 95 % "
        "intervals; processor seconds include looking up what is reached on the map",
        answer=f"Under the strongest attack, at equal displacement, {safest} noise shows "
        f"the fewest roads ({worst[safest]:.0%}), planar Laplace {worst[FIRST]:.0%}, angle "
        f"selection with sigma 0.25 {worst[SEEDS]:.0%}. Against filters that know no roads "
        "angle selection looks better than planar Laplace noise.",
        targets=[
            Target("drives", "at least 100", f"{len(results.of(FIRST, 'none', EPSILON, INTERVAL))}",
                   len(results.of(FIRST, "none", EPSILON, INTERVAL)) >= 100),
            Target(f"worst-case right roads of the default, {DEFAULT}",
                   "below planar Laplace and all angle selection",
                   f"{worst[DEFAULT]:.3f}, lowest of those {_others(worst):.3f}",
                   worst[DEFAULT] < _others(worst)),
            Target(f"informed adversary every {INTERVAL:g} s, processor time of the slowest drive",
                   f"under {MOST_SECONDS:g} s", f"{slowest:.1f} s", slowest < MOST_SECONDS),
            Target("reports at which an inference began anew", "0", f"{results.lost}",
                   results.lost == 0),
        ],
        tables=[
            Table(f"Attacks, epsilon = {EPSILON:g}, every {INTERVAL:g} s: error in metres",
                  ("mechanism", *ATTACKS), _attack_lines(results, 0)),
            Table(f"Attacks, epsilon = {EPSILON:g}, every {INTERVAL:g} s: share of right roads",
                  ("mechanism", *ATTACKS), _attack_lines(results, 1)),
            Table("Remaining distance, at equal error of arrival",
                  ("who", "error, m", "right roads"),
                  [[name, *results.cells(name, "informed", EPSILON * SAME_ERROR, INTERVAL)]
                   for name in RECIPIENTS]),
            Table("epsilon varied: the informed adversary",
                  ("mechanism", "epsilon", "error, m", "right roads"),
                  [[name, f"{epsilon:g}", *cells] for name in MECHANISMS for epsilon in EPSILONS
                   if (cells := results.cells(name, "informed", epsilon, INTERVAL))[0]]),
            Table("interval varied: the informed adversary",
                  ("mechanism", "seconds", "error, m", "right roads"),
                  [[name, f"{interval:g}", *cells] for name in MECHANISMS
                   for interval in (10.0, 30.0, 60.0)
                   if (cells := results.cells(name, "informed", EPSILON, interval))[0]]),
            Table("Error of arrival in minutes: on the line at 50 km/h, and along the roads",
                  ("mechanism", "epsilon", "line", "roads"), _arrival_lines(waiting)),
            Table("Processor seconds of the informed adversary",
                  ("mechanism", "epsilon", "seconds between reports", "mean", "slowest drive"),
                  [[case.mechanism, f"{case.epsilon:.3g}", f"{case.interval:g}",
                    *(f"{seconds:.2f}" for seconds in results.seconds(case))]
                   for case in results.informed]),
        ],
    )  # fmt: skip


def _others(worst: Mapping[str, float]) -> float:
    """The lowest of planar Laplace and angle selection."""
    return min(value for name, value in worst.items() if not name.startswith("correlated"))


def _attack_lines(results: Results, which: int) -> list[list[str]]:
    return [
        [name, *(results.cells(name, attack, EPSILON, INTERVAL)[which] for attack in ATTACKS)]
        for name in MECHANISMS
    ]


def _arrival_lines(waiting: Waiting) -> list[list[str]]:
    lines = []
    for epsilon in EPSILONS:
        for name in FEW:
            line, along = waiting.by_positions(MECHANISMS[name], epsilon)
            lines.append(
                [name, f"{epsilon:g}", with_interval(list(line), 2), with_interval(list(along), 2)]
            )
        away = waiting.by_distance(epsilon * SAME_ERROR)
        lines.append(
            ["remaining distance", f"{epsilon * SAME_ERROR:.3g}", with_interval(list(away), 2), ""]
        )
    return lines
