"""Whether items with several sizes fit into so many bins: constraint programming.

One whole number for each type of item and each bin says how many stand there.  Bins are alike,
so their loads in the first dimension descend.  Needs OR-Tools; cost is exponential at worst.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from voile.packing.or_tools import constraint_solver, solved
from voile.packing.stop import Deadline
from voile.packing.vector_columns import ItemTypes

__all__ = ["fit_into"]


def fit_into(
    types: ItemTypes, bins: int, deadline: Deadline
) -> NDArray[np.int64] | Literal["impossible", "unknown"]:
    """The bin of each item, (n,), in at most ``bins`` bins; or that there is no such packing."""
    cp_model = constraint_solver()
    model = cp_model.CpModel()
    held = [[model.new_int_var(0, int(c), "") for c in types.copies] for _ in range(bins)]
    for j, copies in enumerate(types.copies):
        model.add(sum(content[j] for content in held) == int(copies))
    loads = []
    for k, capacity in enumerate(types.capacities):
        sizes = types.sizes[:, k].tolist()
        sums = [cp_model.LinearExpr.weighted_sum(content, sizes) for content in held]
        for load in sums:
            model.add(load <= int(capacity))
        loads.append(sums)
    for fuller, emptier in zip(loads[0], loads[0][1:], strict=False):
        model.add(fuller >= emptier)
    solver, status = solved(model, deadline)
    if status == cp_model.INFEASIBLE:
        return "impossible"
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return "unknown"
    return types.packing(np.array([[solver.value(x) for x in content] for content in held]))
