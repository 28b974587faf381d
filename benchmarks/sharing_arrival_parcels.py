"""Intervals of arrival by parcels instead of tours, as Voile made them before; to compare with.

Local split conformal prediction with one unit of weight for each parcel's drive (Lei et al., 2018;
Dunn, Wasserman and Ramdas, 2022), a window that grows until 200 drives have positions in it, and no
figure below 30 of them.  Parcels of one tour were taken for independent, which they are not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from voile_geo.geodesy import Floats
from voile_share.arrival import Past

__all__ = ["parcel_intervals"]

_PLENTY, _FEWEST, _WIDEST, _STEPS = 200, 30, 1.6, 6
_NEAREST = 100.0


def parcel_intervals(past: Sequence[Past], metres: Floats, coverage: float = 0.9) -> Floats:
    """Ends of intervals at distances, in seconds; shape (n, 2), NaN where there is no figure."""
    far = np.log(np.maximum([one for drive in past for one in drive.metres], _NEAREST))
    seconds = np.array([late for one in past for late in one.seconds], dtype=np.float64)
    drive = np.repeat(np.arange(len(past)), [len(one.metres) for one in past])
    order = np.argsort(far, kind="stable")
    far, seconds, drive = far[order], seconds[order], drive[order]
    places, at = np.unique(np.round(np.log(np.maximum(metres, _NEAREST)), 2), return_inverse=True)
    found = np.full((len(places), 2), np.nan)
    for place, distance in enumerate(places):
        window = _window(far, drive, float(distance))
        drives, of = np.unique(drive[window], return_inverse=True)
        spare = (len(drives) + 1) * (1 - coverage) / 2 + 1e-9
        if len(drives) >= _FEWEST and spare >= 1:
            weight = (1 / np.bincount(of))[of]
            found[place] = (
                _outermost(seconds[window], weight, spare),
                -_outermost(-seconds[window], weight, spare),
            )
    return found[at]


def _window(far: Floats, drive: NDArray[np.int64], distance: float) -> slice:
    window = slice(0, 0)
    for step in range(1, _STEPS + 1):
        reach = math.log(_WIDEST) * step / _STEPS
        window = slice(*map(int, np.searchsorted(far, (distance - reach, distance + reach))))
        if len(np.unique(drive[window])) >= _PLENTY:
            break
    return window


def _outermost(values: Floats, weights: Floats, spare: float) -> float:
    order = np.argsort(values, kind="stable")
    within = np.flatnonzero(np.cumsum(weights[order]) <= spare)
    return float(values[order][within[-1]]) if len(within) else math.nan
