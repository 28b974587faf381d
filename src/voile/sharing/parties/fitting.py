"""Times of arrival, fitted by a company whose trucks hold their keys."""

from __future__ import annotations

import json
from collections.abc import Iterable

from voile.errors import InputError
from voile.sharing.arrival import ArrivalTable
from voile.sharing.platform.arrivals import drives_in

__all__ = ["fitted"]


def fitted(histories: Iterable[str], now: float) -> ArrivalTable:
    """A table from what trucks have learnt, in JSON; raises ``InputError``.

    It is the same fit as the platform's of trucks whose keys it holds.
    """
    drives = []
    for text in histories:
        try:
            drives += json.loads(text)["drives"]
        except (ValueError, LookupError, TypeError, RecursionError):
            msg = "this is no history of `voile share truck history`"
            raise InputError(msg) from None
    table = ArrivalTable.fit(drives_in(drives), now)
    if not table.rows:
        msg = f"{len(drives)} drives are too few to tell an arrival by"
        raise InputError(msg)
    return table
