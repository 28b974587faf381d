"""The compiled loop behind ``noise``: weights of pairs of a target and a row in one cluster."""

from __future__ import annotations

from typing import Any

from voile.disclosure.known import Floats
from voile_base.compiled import njit

__all__ = ["weigh"]


@njit(cache=True, nogil=True, error_model="numpy")
def weigh(
    chance: Floats,
    start: Floats,
    scale: Floats,
    cluster: Any,
    value: Floats,
    level: Floats,
    weights: Floats,
) -> None:
    """For t targets and n rows, ``chance - |value - start| / scale + level`` into ``weights``.

    ``chance`` and ``start`` have shape (t, c), ``scale`` (c,), ``cluster``, ``value`` and ``level``
    (n,); rows of cluster -1 are left as they are.
    """
    for target in range(len(chance)):
        for row in range(len(value)):
            c = cluster[row]
            if c >= 0:
                far = abs(value[row] - start[target, c]) / scale[c]
                weights[target, row] = chance[target, c] - far + level[row]
