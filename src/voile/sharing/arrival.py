"""Intervals of arrival from how long it took before, at a like distance that was shown.

What it does: for a distance to the destination, as a party is shown it, gives the seconds between
which the parcel arrives with a wanted coverage, or nothing where too few drives were like this one.
No distribution of speed is assumed: what makes drives slow, the noise of the shown distance
included, is in what was seen.

Source: split conformal prediction (Vovk, Gammerman and Shafer, 2005; Lei et al., 2018), here local
in the distance and with one unit of weight for each drive, since the positions of one drive are no
independent evidence of another (Dunn, Wasserman and Ramdas, 2022: hierarchical sampling).

Guarantee: where drives are exchangeable, the next one with those of the past, the interval for a
position of the next drive, drawn at random among those with a distance in the window, holds its
arrival with probability ``coverage`` at least, whatever the distribution of speeds and noise.  It
is a promise over drives and not for each single one, and none where drivers, roads or seasons are
others than those of the past.  Intervals get wider where drives differ and where there are few of
them.

Privacy: only shown positions enter, at the time of forecasting and in the past, beside the times of
arrival of the past.  So an interval tells of the present drive nothing but what was shown; of past
ones it tells two times to arrival, of drives whose parties were shown them.

Algorithm, for a distance d: among the past positions with distances within a factor of d, the
least factor is taken at which ``_PLENTY`` drives have some, and ``_WIDEST`` at most.  Each drive
has weight 1, in equal parts over its positions.  With n drives in the window, the ends are the
farthest times such that at most (n + 1) (1 - coverage) / 2 of the weight lies on either outer side,
the end itself counted.  Where that is less than one drive there is no figure: 90 % takes 19 drives.

Cost: fitting sorts m past positions; a forecast takes O(log m + w log w) for w in the window.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from voile.errors import InputError

__all__ = ["Calibration", "Interval", "Past"]

_Floats = NDArray[np.float64]

_PLENTY = 60
"""Drives after which the window gets no wider."""
_WIDEST = 1.6
"""Factor of the distance up to which drives are like the present one."""
_STEPS = 6
"""Widths of windows that are tried."""
_ROUNDING = 1e-9
_NEAREST = 100.0
"""Metres: all that is nearer is one distance, since noise rules there."""


@dataclass(frozen=True)
class Past:
    """One drive that is over: what was shown on it, and when it arrived."""

    metres: Sequence[float]
    """To the destination, from each position that was shown; from 0 on."""
    seconds: Sequence[float]
    """From each fix to the arrival; not below 0."""

    def __post_init__(self) -> None:
        fit = len(self.metres) == len(self.seconds) and all(
            math.isfinite(far) and math.isfinite(late) and far >= 0 and late >= 0
            for far, late in zip(self.metres, self.seconds, strict=False)
        )
        if not fit:
            msg = "a past drive needs a distance and a time to arrival of each position, from 0 on"
            raise InputError(msg)


@dataclass(frozen=True)
class Interval:
    """Seconds from a fix to the arrival."""

    low: float
    high: float
    drives: int
    """How many past drives it rests on."""


@dataclass(frozen=True)
class Calibration:
    """What past drives say of arrivals; made by ``fit``."""

    _distance: _Floats
    """Shape (m,): logarithms, ascending."""
    _seconds: _Floats
    """Shape (m,)."""
    _drive: NDArray[np.int64]
    """Shape (m,): to which drive each belongs."""

    @classmethod
    def fit(cls, past: Sequence[Past]) -> Self:
        """From drives that are over, in any order; those of one company, for its own forecasts."""
        metres = np.array([far for one in past for far in one.metres], dtype=np.float64)
        seconds = np.array([late for one in past for late in one.seconds], dtype=np.float64)
        drive = np.repeat(np.arange(len(past)), [len(one.metres) for one in past])
        distance = np.log(np.maximum(metres, _NEAREST))
        order = np.argsort(distance, kind="stable")
        return cls(distance[order], seconds[order], drive[order])

    def interval(self, metres: float, coverage: float = 0.9) -> Interval | None:
        """When a parcel arrives that is shown at a distance; None where nobody can say.

        Raises ``InputError`` unless the distance is a finite number from 0 on, and the coverage
        lies between 0 and 1.
        """
        if not (math.isfinite(metres) and metres >= 0 and 0 < coverage < 1):
            msg = "a distance is a finite number of metres from 0 on, a coverage between 0 and 1"
            raise InputError(msg)
        window = self._window(math.log(max(metres, _NEAREST)))
        drives, at = np.unique(self._drive[window], return_inverse=True)
        spare = (len(drives) + 1) * (1 - coverage) / 2 + _ROUNDING
        if spare < 1:
            return None
        weight = (1 / np.bincount(at))[at]
        seconds = self._seconds[window]
        low = _outermost(seconds, weight, spare)
        high = _outermost(-seconds, weight, spare)
        return None if low is None or high is None else Interval(low, -high, len(drives))

    def _window(self, distance: float) -> slice:
        """The past positions that are like one at a distance (logarithm)."""
        window = slice(0, 0)
        for step in range(1, _STEPS + 1):
            reach = math.log(_WIDEST) * step / _STEPS
            ends = (distance - reach, distance + reach)
            window = slice(*(int(end) for end in np.searchsorted(self._distance, ends)))
            if len(np.unique(self._drive[window])) >= _PLENTY:
                break
        return window


def _outermost(values: _Floats, weights: _Floats, spare: float) -> float | None:
    """The largest value with at most ``spare`` of the weight up to it, itself counted."""
    order = np.argsort(values, kind="stable")
    within = np.flatnonzero(np.cumsum(weights[order]) <= spare)
    return float(values[order][within[-1]]) if len(within) else None
