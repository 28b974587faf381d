"""Bin packing: instances, bounds and solvers.

- ``instance``           items and bins, packings and their check
- ``stop``               limits in seconds and in work
- ``solve``              the methods below in their order, until the optimum is proved
- ``reduction``          bins that are fixed at once
- ``bounds``             lower bounds by dual feasible functions
- ``heuristics``         first fit and best fit
- ``local_search``       exchanges of items between bins and spare items
- ``patterns``           items by weight, and what one bin holds
- ``column_generation``  the linear programme over patterns, and the best one for given prices
- ``diving``             from its fractions to a packing
- ``tight_patterns``     the patterns that a given number of bins allows, by constraint programming
- ``or_tools``           Google OR-Tools, and its plain model
"""

from voile_pack.instance import (
    Instance,
    Packing,
    PackingReport,
    PackingResult,
    Progress,
    require_valid,
)
from voile_pack.solve import SOLVERS, Solver, solve
from voile_pack.stop import Stop

__all__ = [
    "SOLVERS",
    "Instance",
    "Packing",
    "PackingReport",
    "PackingResult",
    "Progress",
    "Solver",
    "Stop",
    "require_valid",
    "solve",
]
