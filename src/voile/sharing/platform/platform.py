"""The platform as a whole: what a service, a demonstration and tests of attackers call."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from threading import Lock

from voile.randomness import Randomness
from voile.sharing.platform.access import AccessError
from voile.sharing.platform.administration import Administration
from voile.sharing.platform.core import PlatformCore
from voile.sharing.platform.operating import Operating
from voile.sharing.platform.publishing import Publishing
from voile.sharing.platform.registrar import NoRegistrar, Registrar
from voile.sharing.platform.settings import Settings
from voile.sharing.platform.vault import Vault
from voile.sharing.store import (
    Company,
    Directory,
    Entry,
    Mail,
    ReportLog,
    TrackingLink,
    Truck,
)

__all__ = ["Platform"]

_DAY = 86_400
_MOST_AT_ONCE = 1000


class _Reading:
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


class Platform(Operating, Administration, Publishing, _Reading):
    """One face of four parts, which share their core.  Threads may share it."""

    def __init__(  # noqa: PLR0913, PLR0917 - what a platform stands on
        self,
        directory: Directory,
        log: ReportLog,
        vault: Vault,
        settings: Settings | None = None,
        randomness: Randomness | None = None,
        clock: Callable[[], float] = time.time,
        registrar: Registrar | None = None,
        writing_lines: int = 0,
        gather: float = 0.0,
    ) -> None:
        """Stores are closed with the platform.  ``clock``: seconds since 1970 UTC.

        ``registrar`` makes trucks known where the log is, if that must be; ``writing_lines`` are
        worker processes that write reports when there are many (``Writers``); by ``gather`` seconds
        a position waits for others, since what is done together costs less.
        """
        core = PlatformCore(
            directory,
            log,
            vault,
            settings or Settings(),
            randomness or Randomness.secure(),
            clock,
        )
        _Reading.__init__(self, core)
        Publishing.__init__(self, core, self.tell, writing_lines, gather)
        registrar = registrar or NoRegistrar()
        Operating.__init__(self, core, self.changed, registrar)
        Administration.__init__(self, core, self.changed, registrar)

    @property
    def settings(self) -> Settings:
        """The terms of the platform."""
        return self._core.settings

    @property
    def clock(self) -> Callable[[], float]:
        """The platform's clock."""
        return self._core.clock

    def company_of(self, token: str) -> Company:
        """The company of a token; raises ``AccessError``."""
        return self._core.company_of(token)

    def truck_of(self, token: str) -> Truck:
        """The truck that publishes by itself with a token; raises ``AccessError``."""
        return self._core.truck_of(token)

    def auditor_of(self, token: str) -> str:
        """The name of the auditor of a token; raises ``AccessError``."""
        return self._core.auditor_of(token)

    def link_of(self, number: str) -> TrackingLink:
        """The link of a number, if it is open; raises ``AccessError``."""
        return self._core.link_of(number)

    def company_behind(self, link: TrackingLink) -> str:
        """The number of the company that has opened a link."""
        truck = self._core.directory.truck(link.truck)
        return "" if truck is None else truck.company

    def settle(self) -> None:
        """Finish what the log could not, such as reports that wait for a chain.

        Call it at start, now and then, and when ``when_behind`` says so.  Raises ``StoreError``.
        """
        self._registrar.settle()

    def when_behind(self, wake: Callable[[], None]) -> None:
        """Call back, in any thread, when there is something to settle."""
        self._registrar.when_behind(wake)

    def proof(self, link: TrackingLink, slot: int) -> bytes | None:
        """Where the report of a link's truck is anchored (``chain.Inclusion``), if it is."""
        return self._registrar.proof(link.truck, slot)

    def tidy(self, keep_days: int = 31, most: int | None = None) -> None:
        """Drop submissions and bodies of reports that are older; their records stay.

        And destroy the keys of noise that stayed with places in a period that is over.  ``most`` is
        the last slot whose reports may be dropped at all.
        """
        self.destroy_ended_keys(self.clock())
        before = int(self.clock()) - keep_days * _DAY
        self._core.directory.drop_mail(before)
        self._core.log.forget(before if most is None else min(before, most + 1))

    def close(self) -> None:
        """Finish what was begun, and close the stores."""
        Publishing.close(self)
        self._core.log.close()
        self._core.directory.close()
