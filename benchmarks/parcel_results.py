"""What came of the experiments with parcels, run by run, and means of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.parcel_publishing import Packed

__all__ = ["Results", "Run"]


@dataclass(frozen=True)
class Run:
    """One instance, published and packed."""

    parameter: str
    """What was varied."""
    value: float
    method: str
    setting: str
    share: float
    """Published rows as a share of all; 0 where there was no release."""
    seconds: float
    """Processor seconds of publishing."""
    packed: Mapping[str, Packed]
    """By what was planned with, "mean" or "upper"; empty where there was no release."""


@dataclass(frozen=True)
class Results:
    """Some runs, and their means; those without a release count for the share alone."""

    runs: Sequence[Run]

    def of(self, **wanted: object) -> Results:
        """The runs that have these values in these fields."""
        return Results(
            [r for r in self.runs if all(getattr(r, name) == v for name, v in wanted.items())]
        )

    @property
    def failures(self) -> int:
        """Runs without a release."""
        return sum(not run.packed for run in self.runs)

    @property
    def share(self) -> float:
        """Mean share of the rows that were published."""
        return float(np.mean([run.share for run in self.runs]))

    @property
    def seconds(self) -> float:
        """Mean time of publishing."""
        return float(np.mean([run.seconds for run in self.runs if run.packed]))

    def ratio(self, use: str) -> float:
        """Mean o / o_n."""
        return float(np.mean([packed.ratio for packed in self._packed(use)]))

    def distance(self, use: str) -> float:
        """Mean distance of o / o_n from 1."""
        return float(np.mean([abs(packed.ratio - 1) for packed in self._packed(use)]))

    def feasible(self, use: str) -> float:
        """Mean share of the bins that are within capacity."""
        return float(np.mean([packed.feasible for packed in self._packed(use)]))

    def _packed(self, use: str) -> Iterator[Packed]:
        return (run.packed[use] for run in self.runs if run.packed)
