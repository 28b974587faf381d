"""Bin packing: instances, bounds and solvers.

- ``instance``           items and bins, packings and their check; limits in seconds and in work
- ``solve``              the methods below in their order, until the optimum is proved
- ``heuristics``         bins that are fixed at once, lower bounds, first fit and best fit;
                         exchanges of items between bins and spare items
- ``column_generation``  the linear programme over patterns, and the best one for given prices
- ``patterns``           what one bin holds, and which patterns a number of bins allows;
                         Google OR-Tools, and its plain model
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from voile_pack.instance import Instance, Packing, PackingReport, PackingResult, Progress, Stop

_HOMES = {
    "Instance": "instance",
    "Packing": "instance",
    "PackingReport": "instance",
    "PackingResult": "instance",
    "Progress": "instance",
    "Stop": "instance",
    "require_valid": "instance",
}

__all__ = [
    "Instance",
    "Packing",
    "PackingReport",
    "PackingResult",
    "Progress",
    "Stop",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: the command's help needs none of them."""
    if name not in _HOMES:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
