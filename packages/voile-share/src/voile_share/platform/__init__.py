"""The central platform without its sockets: who may do what, and what becomes of positions.

``Platform`` is what a service, a demonstration and tests of attackers call.  Its parts:

    core                 what every part is given: settings, stores, the key, clock and tokens
    administration       trucks, devices, parcels, links: what companies and the operator do

    receiving            a position's way begins: which device has sent it, and what it says
    trucks               the truck in memory: its parcels, and from where it goes on
    writers              from a draft to signed reports, which process writes them, group commit
    arrivals             what past drives teach, sealed
    telling              what companies are told of their parcels
    publishing           the way as a whole

    rotation             another key for what is sealed

Source: "Trajectory Hiding and Sharing for Supply Chains with Differential Privacy" (ESORICS 2023),
sections 3 and 6, the centralized platform.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from threading import Lock

from voile_base.errors import InputError
from voile_base.randomness import Randomness
from voile_share.platform.administration import (
    Administration,
    LabelledLink,
    Linking,
    Operating,
    Registrar,
)
from voile_share.platform.arrivals import Learning
from voile_share.platform.core import (
    REFUSALS,
    AccessError,
    BusyError,
    PlatformCore,
    Settings,
    Vault,
)
from voile_share.platform.publishing import Publishing
from voile_share.platform.receiving import DeviceReceipt
from voile_share.platform.telling import Telling
from voile_share.platform.writers import SlotOutcome
from voile_share.store import (
    Company,
    Directory,
    Entry,
    Mail,
    Parcel,
    ReportLog,
    StoreError,
    TrackingLink,
    Truck,
)

__all__ = [
    "REFUSALS",
    "AccessError",
    "BusyError",
    "DeviceReceipt",
    "LabelledLink",
    "Platform",
    "Registrar",
    "Settings",
    "SlotOutcome",
    "Vault",
]

_DAY = 86_400
_MOST_AT_ONCE = 1000


class _Reading:
    """Reports, records, cards and mail: everything that changes nothing."""

    def __init__(self, core: PlatformCore) -> None:
        self._core = core
        self._listeners: dict[bytes, list[Callable[[Entry | None], None]]] = {}
        self._lock = Lock()

    def card(self, truck: bytes) -> bytes:
        """The public keys of a truck (``protocol.TruckCard``); raises ``AccessError``."""
        held = self._core.directory.truck(truck)
        if held is None:
            raise AccessError("truck-unknown")
        return held.card

    def last_report(self, link: TrackingLink) -> Entry | None:
        """The last report of a link's truck; None where that has none, or there is no truck."""
        return None if link.truck is None else self._core.log.last(link.truck)

    def last_slot(self, truck: Truck) -> int | None:
        """The slot of the last report of a truck that holds its keys itself."""
        last = self._core.log.last(truck.truck)
        return None if last is None else last.slot

    def reports_after(self, link: TrackingLink, slot: int, limit: int) -> Sequence[Entry]:
        """Reports of a link's truck later than a slot, ascending."""
        if link.truck is None:
            return []
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

    def subscribe(
        self, whose: bytes, listener: Callable[[Entry | None], None]
    ) -> Callable[[], None]:
        """Tell a listener of each report that this process stores for a truck.

        Or, by the hash of a link, of each change of it that this process makes, with None.  It is
        called in another thread and must return at once.  What is returned ends the subscription.
        """
        with self._lock:
            self._listeners[whose] = [*self._listeners.get(whose, []), listener]

        def unsubscribe() -> None:
            with self._lock:
                left = [one for one in self._listeners.get(whose, []) if one is not listener]
                if left:
                    self._listeners[whose] = left
                else:
                    self._listeners.pop(whose, None)

        return unsubscribe

    def tell(self, entry: Entry) -> None:
        """A report was stored."""
        for listener in self._listeners.get(entry.truck, ()):
            listener(entry)

    def wake(self, link: bytes) -> None:
        """A link, named by its hash, has changed."""
        for listener in self._listeners.get(link, ()):
            listener(None)


class _NoRegistrar(Registrar):
    """Where the log takes the reports of all trucks of the directory."""

    def check(self, *, own_keys: bool) -> None:
        """All trucks can publish."""

    def changed(self) -> None:
        """Nobody needs to know."""

    def settle(self) -> None:
        """Nothing is left."""

    def when_behind(self, wake: Callable[[], None]) -> None:
        """Never."""

    def proof(self, truck: bytes, slot: int) -> bytes | None:
        """There is none."""
        return None


class Platform(Operating, Administration, Linking, Learning, Publishing, _Reading):
    """One face of six parts, which share their core.  Threads may share it."""

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
        a position waits for others, and by up to five times as long a report that was written,
        since what is done together costs less.
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
        self._telling = Telling(core, directory, self.forecast, self.shown_of)
        Publishing.__init__(
            self, core, self.tell, writing_lines, gather, nearing=self._telling.nearing
        )
        registrar = registrar or _NoRegistrar()
        Operating.__init__(self, core, self.changed, registrar)
        Administration.__init__(
            self, core, self.changed, registrar, self._learn_from, self._telling.delivered
        )
        Learning.__init__(self, core)
        Linking.__init__(self, core, self.wake)

    @property
    def settings(self) -> Settings:
        """The terms of the platform."""
        return self._core.settings

    @property
    def telling(self) -> Telling:
        """What companies are told of."""
        return self._telling

    @property
    def directory(self) -> Directory:
        """Where it keeps who may do what."""
        return self._core.directory

    @property
    def vault(self) -> Vault:
        """What seals."""
        return self._core.vault

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
        return self._core.company_behind(link)

    def _learn_from(
        self,
        company: Company,
        parcel: Parcel,
        destination: tuple[float, float],
        stops: tuple[int, float] | None,
    ) -> None:
        """Learn from a drive that is over, as far as this process has published it."""
        shown = self.shown_of(parcel.truck, destination, parcel.created)
        if stops is not None:
            left, since = stops
            shown = [replace(one, stops=left) if one.time >= since else one for one in shown]
        with suppress(StoreError, InputError):  # a delivery waits for no lesson
            self.learn(company.company, shown, self._core.clock(), parcel.truck)

    def settle(self) -> None:
        """Finish what the log could not, such as reports that wait for a chain.

        Call it at start, now and then, and when ``when_behind`` says so.  Raises ``StoreError``.
        """
        self._registrar.settle()

    def check_writing(self) -> None:
        """Raise ``StoreError`` where the store takes nothing now."""
        self._core.directory.check_writing()

    def when_behind(self, wake: Callable[[], None]) -> None:
        """Call back, in any thread, when there is something to settle."""
        self._registrar.when_behind(wake)

    def proof(self, link: TrackingLink, slot: int) -> bytes | None:
        """Where the report of a link's truck is anchored (``chain.Inclusion``), if it is."""
        return None if link.truck is None else self._registrar.proof(link.truck, slot)

    def tidy(self, keep_days: int | None = None, most: int | None = None) -> None:
        """Drop submissions and bodies of reports that are older; their records stay.

        ``keep_days`` is that of the settings unless it is given, and of a company its own where
        that was said: then parcels, links and trackers' tokens that have ended and past drives go
        at the same age, too.  And destroy the keys of noise that stayed with places in a period
        that is over.  ``most`` is the last slot whose reports may be dropped at all.  Raises
        ``StoreError``, and ``InputError`` where past drives do not open; the rest is done then.
        """
        directory, now = self._core.directory, self.clock()
        self.destroy_ended_keys(now)
        keep_days = self.settings.keep_days if keep_days is None else keep_days
        own = directory.retentions()

        def before(days: int) -> int:
            return int(now) - days * _DAY

        longest = before(max([keep_days, *own.values()]))
        directory.drop_mail(longest)
        self._core.log.forget(longest if most is None else min(longest, most + 1))
        for one in directory.companies() if own else ():
            number, age = one.company, before(own.get(one.company, keep_days))
            directory.purge_traffic(number, age if most is None else min(age, most + 1))
            if number in own:
                directory.purge_ended(number, age)
        self._tidy_arrivals({number: before(days) for number, days in own.items()})

    def _tidy_arrivals(self, before: Mapping[str, float]) -> None:
        """Forget old drives of some companies, and learn of all the tours that are over."""
        failed: InputError | None = None
        for one in self._core.directory.companies():
            try:
                if one.company in before:
                    self.forget_drives(one.company, before[one.company])
                self.learn_ended_tours(one.company)
            except InputError as error:
                failed = error
        if failed is not None:
            raise failed

    def close(self) -> None:
        """Finish what was begun, and close the stores."""
        Publishing.close(self)
        self._core.log.close()
        self._core.directory.close()
