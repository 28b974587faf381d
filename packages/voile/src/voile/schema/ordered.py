"""Texts with a declared order: the numbers that they count as."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from voile.schema.hierarchy.generalized import DistinctValues
from voile_base.errors import TableError

__all__ = ["ranks_in_order"]


def ranks_in_order(column: str, order: Sequence[str], values: DistinctValues) -> NDArray[np.int64]:
    """The rank of each distinct value in the order, from 1, shape (d,).

    Raises ``TableError`` where a value is missing or does not stand in it.
    """
    if values.missing:
        msg = (
            f"column {column!r} misses some values, and a missing value has no rank in an order; "
            f'fill them in, or declare [columns.{column}] nulls = "drop"'
        )
        raise TableError(msg)
    rank = {text: number for number, text in enumerate(order, 1)}
    unknown = sum(text not in rank for text in values.texts)
    if unknown:
        msg = (
            f"[columns.{column}] order: {unknown} of the {len(values)} different values of the "
            "column do not stand in it; name every value, the lowest first"
        )
        raise TableError(msg)
    return np.array([rank[str(text)] for text in values.texts], dtype=np.int64)
