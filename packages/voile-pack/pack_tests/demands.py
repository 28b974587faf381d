"""Small demands, and all patterns of one, for tests of choices among patterns."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from voile_pack import Instance
from voile_pack.patterns import Demand

__all__ = ["all_patterns", "demand_of"]


def demand_of(weights: Sequence[int], capacity: int) -> Demand:
    """What items of these weights ask of bins."""
    return Demand.of(Instance(np.array(weights, np.int64), capacity))


def all_patterns(demand: Demand) -> NDArray[np.int64]:
    """Each way to fill a bin, the empty one among them, shape (p, m)."""
    patterns = np.array(list(product(*(range(count + 1) for count in demand.counts.tolist()))))
    return patterns[patterns @ demand.weights <= demand.capacity]
