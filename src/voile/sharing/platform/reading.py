"""What readers and auditors are shown, and who is told when a truck has published."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock

from voile.sharing.platform.access import AccessError
from voile.sharing.platform.core import PlatformCore
from voile.sharing.store import Entry, Mail, TrackingLink, Truck

__all__ = ["Reading"]

_MOST_AT_ONCE = 1000


class Reading:
    """Reports, records, cards and mail: everything that changes nothing."""

    def __init__(self, core: PlatformCore) -> None:
        self._core = core
        self._listeners: dict[bytes, list[Callable[[Entry], None]]] = {}
        self._lock = Lock()

    def card(self, truck: bytes) -> bytes:
        """The public keys of a truck (``protocol.TruckCard``); raises ``AccessError``."""
        held = self._core.directory.truck(truck)
        if held is None:
            raise AccessError("truck-unknown")
        return held.card

    def last_report(self, link: TrackingLink) -> Entry | None:
        """The last report of a link's truck."""
        return self._core.log.last(link.truck)

    def last_slot(self, truck: Truck) -> int | None:
        """The slot of the last report of a truck that holds its keys itself."""
        last = self._core.log.last(truck.truck)
        return None if last is None else last.slot

    def reports_after(self, link: TrackingLink, slot: int, limit: int) -> Sequence[Entry]:
        """Reports of a link's truck later than a slot, ascending."""
        return self._core.log.after(link.truck, slot, min(limit, _MOST_AT_ONCE))

    def slot(self, slot: int, after: bytes | None, limit: int) -> Sequence[Entry]:
        """Reports of all trucks in a slot, by truck, those after one of them.

        Whoever takes all of them shows nobody which truck is meant.
        """
        place = None if after is None else (slot, after)
        return self._core.log.in_slots(slot, slot, min(limit, _MOST_AT_ONCE), place)

    def records(self, truck: bytes, number: int, limit: int) -> Sequence[bytes]:
        """Signed, chained records of a truck from a number on; raises ``AccessError``."""
        self.card(truck)
        return self._core.log.records(truck, number, min(limit, _MOST_AT_ONCE))

    def mail(self, truck: Truck, after: int) -> Sequence[Mail]:
        """What parties have submitted to a truck that holds its keys itself."""
        return self._core.directory.mail(truck.truck, after, _MOST_AT_ONCE)

    def subscribe(self, truck: bytes, listener: Callable[[Entry], None]) -> Callable[[], None]:
        """Tell a listener of each report that this process stores for a truck.

        The listener is called in another thread and must return at once.  What is returned ends
        the subscription.
        """
        with self._lock:
            self._listeners[truck] = [*self._listeners.get(truck, []), listener]

        def unsubscribe() -> None:
            with self._lock:
                left = [one for one in self._listeners.get(truck, []) if one is not listener]
                if left:
                    self._listeners[truck] = left
                else:
                    self._listeners.pop(truck, None)

        return unsubscribe

    def tell(self, entry: Entry) -> None:
        """A report was stored."""
        for listener in self._listeners.get(entry.truck, ()):
            listener(entry)
