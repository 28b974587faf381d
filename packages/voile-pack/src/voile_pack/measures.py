"""What a packing of published parcels costs, measured on the true ones; private.

The seed's measures: the objective ratio o / o_n, with o the bins (or cost) of the packing of
published values and o_n that of the true ones; feasibility, the share of bins within capacity on
the true values; and how heavy the heaviest overload is.  Pure functions on arrays.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["bin_loads", "feasibility", "heaviest_overload", "objective_ratio"]


def objective_ratio(published: float, true: float) -> float:
    """Bins or cost of packing the published values over those of the true ones, both positive.

    Above 1 the published values cost bins; below 1 bins are overloaded.
    """
    return published / true


def bin_loads(values: NDArray[np.int64], bin_of: NDArray[np.int64]) -> NDArray[np.int64]:
    """What each bin carries, (bins,) or (bins, d), of true values (n,) or (n, d)."""
    bins = int(bin_of.max(initial=-1)) + 1
    loads = np.zeros((bins, *values.shape[1:]), values.dtype)
    np.add.at(loads, bin_of, values)
    return loads


def feasibility(loads: NDArray[np.int64], capacity: int | NDArray[np.int64]) -> float:
    """Share of the bins that stay within capacity, in every dimension; 1 for no bins."""
    if not len(loads):
        return 1.0
    within = np.asarray(loads <= capacity).reshape(len(loads), -1).all(axis=1)
    return float(within.mean())


def heaviest_overload(loads: NDArray[np.int64], capacity: int | NDArray[np.int64]) -> float:
    """The largest excess of a bin as a share of the capacity, in any dimension; 0 for none."""
    return float(np.max(loads / capacity - 1.0, initial=0.0))
