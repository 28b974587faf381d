"""Times of arrival, fitted by a company whose trucks hold their keys."""

from __future__ import annotations

import json
from collections.abc import Iterable

from voile_base.errors import InputError
from voile_share.arrival import ArrivalTable, LeftOut, left_out
from voile_share.platform.tours import past_of

__all__ = ["fitted"]


def fitted(histories: Iterable[str], now: float) -> tuple[ArrivalTable, LeftOut]:
    """A table from what trucks have learnt, in JSON, and how it does on each tour left out.

    It is the same fit as the platform's of trucks whose keys it holds; what stands twice counts
    once, and a history that names no truck is that of one.  Raises ``InputError``.
    """
    drives = {}
    for number, text in enumerate(histories):
        try:
            for one in json.loads(text)["drives"]:
                of_truck = {"truck": f"history {number}", **one}
                drives[json.dumps(of_truck, sort_keys=True)] = of_truck
        except (ValueError, LookupError, TypeError, RecursionError):
            msg = "this is no history of `voile share truck history`"
            raise InputError(msg) from None
    past = past_of(list(drives.values()), now)
    table, tried = ArrivalTable.fit(past, now), left_out(past)
    if not table.rows:
        msg = (
            f"{table.tours} tours that are over are too few to tell an arrival by: "
            "it takes 3, and a tour is over 16 hours after its first delivery"
        )
        raise InputError(msg)
    return table, tried
