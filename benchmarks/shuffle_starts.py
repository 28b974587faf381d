"""How often k-means from random starts misses the optimum of numbers on a line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from statistics import median

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import NotHereError
from voile.publish.m_shuffle.clustering import Segments

__all__ = ["SALARIES", "Starts", "from_random_starts", "salaries"]

SALARIES = (5500, 5400, 2300, 2200, 1000, 2000, 3000, 4000, 5000, 2000, 3000, 1500)
"""Of the paper's Table 2, rows 1 to 12."""
STARTS = 300
SAME = 1e-9
"""Relative; far above rounding, far below the gain from moving one number."""


@dataclass(frozen=True)
class Starts:
    """Runs of Lloyd's algorithm, each from one random start, in K clusters."""

    clusters: int
    start: str
    runs: int
    missed: int
    excess: float
    """The median cost of the runs that missed, over the optimum; 1 where none did."""


def salaries() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The distinct salaries of the paper's Table 2, ascending, and how many rows each has."""
    numbers, rows = np.unique(np.array(SALARIES, dtype=np.float64), return_counts=True)
    return numbers, rows.astype(np.float64)


def from_random_starts(
    numbers: NDArray[np.float64],
    rows: NDArray[np.float64],
    clusters: Sequence[int],
    runs: int = STARTS,
) -> Iterator[Starts]:
    """scikit-learn's, from rows drawn at random and from k-means++.

    ``numbers`` are distinct and ascending, with so many rows each.  Raises ``NotHereError`` where
    scikit-learn is not installed.
    """
    if find_spec("sklearn") is None:
        msg = "scikit-learn is not installed: pip install 'voile[learn]'"
        raise NotHereError(msg)
    from sklearn.cluster import KMeans  # noqa: PLC0415 - it is an extra

    block = np.zeros(len(numbers), dtype=np.int64)
    best = Segments.optimal(numbers, rows, block, max(clusters)).cost
    with import_module("threadpoolctl").threadpool_limits(limits=1):
        for k in clusters:
            for start in ("random", "k-means++"):
                methods = (
                    KMeans(k, init=start, n_init=1, tol=0, random_state=s) for s in range(runs)
                )
                points = numbers[:, np.newaxis]
                found = [m.fit(points, sample_weight=rows).inertia_ / best[k - 1] for m in methods]
                missed = [ratio for ratio in found if ratio > 1 + SAME]
                yield Starts(k, start, runs, len(missed), median(missed or [1.0]))
