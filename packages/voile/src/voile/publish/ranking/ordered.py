"""Texts with a declared order: how ranges of them read.

A range reads ``worst to best``, and one text alone as itself.

Cost: O(q**2) for an order of q texts, once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from voile_base.errors import PlanError

__all__ = ["range_names"]


def range_names(column: str, order: Sequence[str]) -> Mapping[tuple[int, int], str]:
    """How the range from one place to another reads, both from 1.

    Raises ``PlanError`` where two ranges would read alike.
    """
    names = {
        (low, high): order[low - 1] if low == high else f"{order[low - 1]} to {order[high - 1]}"
        for high in range(1, len(order) + 1)
        for low in range(1, high + 1)
    }
    if len(set(names.values())) < len(names):
        msg = (
            f'[columns.{column}] order: a text reads like a range of others ("X to Y"), so that '
            "nobody could tell them apart; change it"
        )
        raise PlanError(msg)
    return names
