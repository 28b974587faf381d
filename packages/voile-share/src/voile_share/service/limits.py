"""How often somebody may ask: the generic cell rate algorithm, in memory.

For each key one number is kept, the time at which its bucket would be full again; a request moves
it on by the interval of the rate and is refused where it would lie further ahead than the burst
allows (ITU-T I.371, appendix A: "virtual scheduling").  A time in the past says nothing, so what
is kept can be bounded: the keys used longest ago go first.

Each process counts for itself; with N workers a key gets up to N times its rate.

Cost: one look-up in a table, half a microsecond.  The library ``limits`` takes ten times as long in
memory, runs a timer thread, and does not bound how many keys it remembers.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address

from voile_share.service.options import Rate

__all__ = ["Meter", "network_of"]

_MOST_KEYS = 50_000


class Meter:
    """Counts requests by key; to be used by one thread."""

    def __init__(
        self, rate: Rate, clock: Callable[[], float] = time.monotonic, most: int = _MOST_KEYS
    ) -> None:
        """``most`` keys are remembered."""
        self._interval = 1.0 / rate.per_second
        self._ahead = (rate.burst - 1) * self._interval
        self._clock = clock
        self._most = most
        self._full_at: OrderedDict[bytes, float] = OrderedDict()

    def wait(self, key: bytes) -> float:
        """0 where the request may go on, and is counted; else the seconds until one may."""
        now = self._clock()
        full_at = max(self._full_at.pop(key, now), now)
        early = full_at - now - self._ahead
        refused = early > 1e-9  # sums of intervals are rounded
        self._full_at[key] = full_at if refused else full_at + self._interval
        if len(self._full_at) > self._most:
            self._full_at.popitem(last=False)
        return early if refused else 0.0


def network_of(host: str | None) -> bytes:
    """By what an address is counted: itself, and the /64 of IPv6, which one customer has."""
    try:
        address = ip_address(host or "")
    except ValueError:
        return (host or "").encode("utf-8", "replace")
    if isinstance(address, IPv6Address):
        return (address.ipv4_mapped or address).packed[:8]
    return address.packed
