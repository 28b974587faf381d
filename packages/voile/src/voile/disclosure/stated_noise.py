"""Noise as a release states it, and what cells contradict of that.

Noise itself cannot be seen in an output.  These can: a noisy value lies on its grid and between its
public bounds, each interval is as wide around it as one of the scales makes it, and an interval is
as wide as its confidence asks of noise of its scale (eq. 23 of the source of
``publish.clustered_laplace``).

Cost: a count of the column with its interval.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Protocol

import numpy as np
from pydantic import Field

from voile.disclosure.known import Floats
from voile.dp.accuracy import radius
from voile_base.values.value import Value

__all__ = ["Cluster", "StatedNoise", "cell_breaches", "width_breaches"]

Chance = Annotated[float, Field(ge=0, le=1)]

_ROUNDING = 1e-5
"""Relative: releases state some numbers with six digits."""


class Cluster(Value):
    """The noise of one cluster, and where its values lie; numbers in units of the column."""

    scale: Annotated[float, Field(ge=0)]
    """Of the noise."""
    half_width: float
    """Of the interval around a published value."""
    share: Chance
    """Of the rows that were meant to lie in it, before anything is seen."""
    low: float | None = None
    """Its least value; None where the release does not say."""
    high: float | None = None
    """Its largest value; None where the release does not say."""
    own: Chance = 1.0
    """The probability that a row of the cluster gets its noise there."""
    other: Chance = 0.0
    """The probability that a row of each other cluster gets its noise there."""


class StatedNoise(Protocol):
    """Laplace noise in clusters, on the numbers of a column."""

    @property
    def step(self) -> float:
        """Published values are multiples of it."""

    @property
    def clusters(self) -> tuple[Cluster, ...]:
        """Ascending by value."""

    @property
    def clamp(self) -> tuple[float, float] | None:
        """The least and the largest value that may be published; None where there are none."""


def cell_breaches(
    name: str, shown: StatedNoise, value: Floats, low: Floats, high: Floats
) -> Iterator[str]:
    """Values off the grid or beyond the bounds, and intervals of no cluster; shape (g,) each."""
    absent = np.isnan(value)
    if (absent != np.isnan(low)).any() or (absent != np.isnan(high)).any():
        yield f"column {name!r} shows values without intervals, or intervals without values"
    value, low, high = value[~absent], low[~absent], high[~absent]
    slack = shown.step * 1e-3 + np.abs(value) * 1e-7
    off = np.abs(value - np.round(value / shown.step) * shown.step) > slack
    if off.any():
        yield f"column {name!r} has {off.sum():,} values that do not lie on the grid of its noise"
    least, most = shown.clamp or (-np.inf, np.inf)
    if ((value < least - slack) | (value > most + slack)).any():
        yield f"column {name!r} has values beyond its public bounds"
    fits = np.zeros(len(value), dtype=np.bool_)
    for cluster in shown.clusters:
        around = np.maximum(value - cluster.half_width, least), value + cluster.half_width
        near = np.abs(low - around[0]) <= slack
        fits |= near & (np.abs(high - np.minimum(around[1], most)) <= slack)
    if not fits.all():
        yield f"column {name!r} has {(~fits).sum():,} intervals other than those of its noise"


def width_breaches(
    name: str, scales: list[Fraction], widths: list[Fraction], confidence: Decimal
) -> Iterator[str]:
    """Intervals that are not as wide as their confidence asks, all in steps of the grid."""
    for scale, width in zip(scales, widths, strict=True):
        asked = radius(scale.limit_denominator(10**12), confidence)
        if abs(width - asked) > 1 + asked * _ROUNDING:
            yield (
                f"column {name!r} has intervals that are not of confidence {confidence}, which "
                "it states"
            )
