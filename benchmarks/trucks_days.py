"""What adversaries find who know more: many days of one route, start and destination, a stop."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from benchmarks.record import Measurement, Table, Target
from benchmarks.trucks import with_interval
from benchmarks.trucks_data import beijing, drives
from benchmarks.trucks_known import EPSILON, INTERVAL, NOISE, SEED, Case, Found, follow_all
from benchmarks.trucks_standing import DAYS, HOURS, TRUCKS, Missed, in_a_table, through_a_link
from benchmarks.trucks_standing import SEED as STANDING_SEED
from voile_geo.geodesy import Floats
from voile_share.platform.core import Settings

__all__ = ["CASES", "Known", "clustered", "run"]

CASES = tuple(Case(days, ends) for ends in (False, True) for days in (1, 5, DAYS))
ALONE, ENDS, MANY, BOTH = (CASES[i] for i in (0, 3, 2, 5))
MOST_OF_DAYS, LEAST_OF_STOP = 1.15, 0.7
"""What noise for stops and days must reach: right roads after many days over those of one, and what
averaging leaves of one report's error."""
TABLE_GAP = 60


class Known:
    """What was found, by case, with intervals that allow for several drives of one person."""

    def __init__(self, found: Sequence[Found], people: Sequence[int]) -> None:
        self._people = np.asarray(people)
        self._by_case: Mapping[Case, list[Found]] = {
            case: sorted((one for one in found if one.case == case), key=lambda one: one.drive)
            for case in dict.fromkeys(one.case for one in found)
        }

    def mean(self, case: Case, measure: str, digits: int) -> str:
        """A mean over drives."""
        return _cell(*clustered(self._of(case, measure), self._people), digits)

    def more(self, case: Case, other: Case, measure: str, digits: int) -> str:
        """By how much the mean of one case exceeds that of another, drive by drive."""
        apart = self._of(case, measure) - self._of(other, measure)
        return _cell(*clustered(apart, self._people), digits)

    def times(self, case: Case, other: Case, measure: str) -> tuple[float, float]:
        """How many times the mean of one case is that of another, and the half-width."""
        over, under = self._of(case, measure), self._of(other, measure)
        ratio = float(over.mean() / under.mean())
        # To the first order the ratio of means varies as this mean does.
        return ratio, clustered((over - ratio * under) / under.mean(), self._people)[1]

    @property
    def lost(self) -> int:
        """At how many reports an inference began anew."""
        return sum(one.lost for some in self._by_case.values() for one in some)

    @property
    def slowest(self) -> float:
        """Processor seconds of the slowest drive."""
        return max(one.seconds for some in self._by_case.values() for one in some)

    def _of(self, case: Case, measure: str) -> Floats:
        return np.array([getattr(one, measure) for one in self._by_case[case]])


def clustered(values: ArrayLike, people: NDArray[np.int64]) -> tuple[float, float]:
    """Mean of n values and half-width of its 95 % interval, where people give several each.

    Deviations are added up for each of g people, and Student's law has g - 1 degrees of freedom;
    g is at least 2.
    """
    held = np.asarray(values, dtype=np.float64)
    _, person = np.unique(people, return_inverse=True)
    sums = np.bincount(person, held - held.mean())
    count = len(sums)
    error = math.sqrt(count / (count - 1) * float((sums**2).sum())) / len(held)
    return float(held.mean()), float(special.stdtrit(count - 1, 0.975)) * error


def run() -> Measurement:
    """Follow all drives, and look at trucks that stand."""
    roads = beijing()
    taken = drives(roads)
    people = [drive.user for drive in taken]
    known = Known(list(follow_all(roads, taken, CASES)), people)
    standing = [
        *through_a_link(Settings(mechanism="correlated-gaussian")),
        in_a_table(NOISE, TABLE_GAP),
    ]
    return _measurement(
        known,
        standing,
        f"{len(taken)} drives of {len(set(people))} people (GeoLife, as in trucks) on Beijing's "
        f"roads for cars; {TRUCKS} trucks that stand",
    )


def _measurement(known: Known, standing: Sequence[Missed], data: str) -> Measurement:
    ratio, width = known.times(MANY, ALONE, "right")
    link, table = standing[:-1], standing[-1]
    stop = min(float(one.stop.mean() / one.one.mean()) for one in standing)
    first = min(float(one.mornings.mean() / one.one.mean()) for one in standing)
    metres = ", ".join(f"{one.stop.mean():.0f}" for one in link)
    return Measurement(
        question="What does the informed adversary find under the default noise who also knows "
        "start and destination, or has many days of one route, and how near does averaging come "
        "to a truck that stands?",
        data=data,
        seeds=f"{SEED}; standing {STANDING_SEED}",
        protocol=f"Correlated Gaussian noise of the default, epsilon = {EPSILON:g}, a report every "
        f"{INTERVAL:g} s. Drives, true roads and the adversary are those of trucks; speeds and "
        "traffic are learned from the drives of the other half of the people. Days: the same true "
        "drive with the same timing, and fresh noise each day; the product of the likelihoods of "
        "all days at each time step, an upper bound of what days with another timing give. Ends: "
        "the road and the place, to a receiver's error, at the first and the last report; between "
        "means without these two. Means over drives with 95 % intervals that add up the deviations "
        f"of each person's drives (Student). Standing: {TRUCKS} trucks at one place; the mean of "
        f"all reports of a stop of {HOURS} hours, and of the first reports of {DAYS} days, through "
        "a link of the sharing service with default settings (three levels, a report in five "
        f"minutes), and of a table (the default noise, a report every {TABLE_GAP} s); normal 95 % "
        "intervals",
        answer=f"Right roads: {known.mean(ALONE, 'right', 3)} with the reports of one trip, "
        f"{known.mean(ENDS, 'right', 3)} with start and destination as well, "
        f"{known.mean(MANY, 'right', 3)} after {DAYS} days of one route, "
        f"{known.mean(BOTH, 'right', 3)} with both. A truck that stands {HOURS} hours is found to "
        f"{metres} m from one link, by level, and the place where {DAYS} trips begin to "
        f"{table.mornings.mean():.0f} m from a table.",
        targets=[
            Target(f"right roads after {DAYS} days, over those of one",
                   f"at most {MOST_OF_DAYS:g}", f"{ratio:.2f} \u00b1 {width:.2f}",
                   ratio <= MOST_OF_DAYS),
            Target(f"error of the mean of a stop of {HOURS} hours, over that of one report",
                   f"at least {LEAST_OF_STOP:g}", f"{stop:.2f}", stop >= LEAST_OF_STOP),
            Target(f"error of the mean of {DAYS} first reports, over that of one",
                   f"at least {LEAST_OF_STOP:g}", f"{first:.2f}", first >= LEAST_OF_STOP),
            Target("reports at which an inference began anew", "0", f"{known.lost}",
                   known.lost == 0),
        ],
        tables=[
            Table("What is found, by what is known",
                  ("days", "ends", "error, m", "right roads", "error between, m",
                   "right roads between"),
                  [[*_named(case), known.mean(case, "error", 0), known.mean(case, "right", 3),
                    known.mean(case, "error_between", 0), known.mean(case, "right_between", 3)]
                   for case in CASES]),
            Table("Beside who has the reports of one trip alone, on the same drives",
                  ("days", "ends", "right roads, more", "right roads, times", "error, times",
                   "right roads between, more"),
                  [[*_named(case), known.more(case, ALONE, "right", 3),
                    _cell(*known.times(case, ALONE, "right"), 2),
                    _cell(*known.times(case, ALONE, "error"), 2),
                    known.more(case, ALONE, "right_between", 3)]
                   for case in CASES if case != ALONE]),
            Table("Trucks that stand: error of the mean of the reports, m",
                  ("who sees", "seconds between reports", "one report", f"a stop of {HOURS} hours",
                   f"{DAYS} first reports"),
                  [[one.who, f"{one.gap:g}", *(with_interval(list(metres), 1)
                      for metres in (one.one, one.stop, one.mornings))] for one in standing]),
        ],
    )  # fmt: skip


def _named(case: Case) -> tuple[str, str]:
    return f"{case.days}", "known" if case.ends else ""


def _cell(value: float, width: float, digits: int) -> str:
    return f"{value:.{digits}f} \u00b1 {width:.{digits}f}"
