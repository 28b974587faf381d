"""The second step: trucks whose keys the platform holds, in memory.

Of each is kept what it carries and from where its chain of records and its noise go on.  What it
carries is read again where this process or another has changed it (``core.Watch``).  One thread
makes reports; others ask what is here and change it, so each truck has a lock, held for moments.

What trucks of a company have in common: the keys of their shared noise, of a period each.

Trucks whose noise at a place is their own average: who follows links to ten of them on one route,
or to all that leave one depot, takes the mean.  So of the noise that stays with places a share is
the same for all trucks of a company whose keys the platform holds (``positions.Levels.shared``).

A company's key of a period is drawn when the first of its trucks reports in it, from entropy that
is kept nowhere, and lies in the store, sealed by the vault.  Of processes that draw at once the
first to store it counts.  It is destroyed when the period ends; a report that comes in later, of a
period that is over, has another key, which goes within the next hour.

Why a truck publishes nothing, and what helps: the sentences for its operator.

What a tracker sends and is not published for stays in memory, of each truck the last reason, until
its next report.  Reasons are those of ``ingest.REASONS`` and ``Outcome``; sentences name no truck,
since notices hold nothing of any request: the operator's page shows them beside the truck.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock
from types import MappingProxyType

from voile_base.randomness import Key
from voile_share.ingest import AHEAD_SECONDS, REASONS, Fix, check_last
from voile_share.platform.administration import unsealed_destination, unsealed_secrets
from voile_share.platform.arrivals import Trail
from voile_share.platform.core import DirectorySnapshot, PlatformCore
from voile_share.platform.writers import Aboard, Draft, SlotOutcome, Written, stream_context
from voile_share.positions import PlaceKey, without_ended_key
from voile_share.protocol import (
    Position,
    RejectedError,
    Report,
    ReportPublisher,
    SealedSubmission,
    Submission,
    TrackingKeys,
    Waybill,
    day_of,
)
from voile_share.store import Appended, Mail, Parcel, Truck

__all__ = [
    "REMEDIES",
    "THROWN_AWAY",
    "Held",
    "Storing",
    "Trouble",
    "Trucks",
    "UnderWay",
    "fleet_context",
    "trouble_text",
]


def fleet_context(company: str, ends: float) -> bytes:
    """What the sealed key of a company's shared noise is bound to."""
    return f"shared noise of {company} until {ends!r}".encode()


class _FleetKeys:
    """The keys of all companies; threads may share it."""

    def __init__(self, core: PlatformCore) -> None:
        self._core = core
        self._known: dict[tuple[str, float], Key] = {}

    def of(self, company: str, time: float) -> Key | None:
        """The key of a company at a time; None where trucks have nothing in common.

        Raises ``StoreError``.
        """
        levels = self._core.settings.levels
        if not (levels.stays_with_places and levels.shared):
            return None
        ends = PlaceKey.end_of(time, levels.period_days)
        found = self._known.get((company, ends))
        if found is None:
            found = self._known[company, ends] = self._stored(company, ends)
        return found

    def _stored(self, company: str, ends: float) -> Key:
        directory, vault = self._core.directory, self._core.vault
        context = fleet_context(company, ends)
        sealed = directory.fleet_key(company, ends)
        if sealed is None:
            drawn = self._core.fresh("fleet").key("field").secret
            sealed = directory.keep_fleet_key(company, ends, vault.seal(context, drawn))
        return Key(vault.unseal(context, sealed))

    def destroy_ended(self, now: float) -> None:
        """Forget the keys of periods that are over, in memory and in the store."""
        for company, ends in list(self._known):
            if ends <= now:
                self._known.pop((company, ends), None)
        self._core.directory.drop_fleet_keys(now)


REMEDIES: Mapping[str, str] = MappingProxyType(
    {
        "behind": "A tracker's positions are earlier than its truck's last report: set the clock "
        "of the tracker",
        "budget-spent": "A truck has spent its budget of this day (UTC), and publishes no more "
        "until it is over: see budget under [platform] in share.toml",
        "time-in-the-future": "A tracker's clock is more than 5 minutes ahead: set the clock of "
        "the tracker, or of this machine",
        "time-too-old": "A tracker's positions are older than 7 days: set the clock of the "
        "tracker, or of this machine",
        "token-refused": "A tracker's token was refused: issue another to the device, or look who "
        "tries tokens",
        "truck-ahead": "A truck's last report is ahead of the clock of this machine: set this "
        "clock, or take the report back by voile share set-back",
    }
)
"""Sentences of the reasons that somebody can do something about."""

THROWN_AWAY = frozenset({"behind", "superseded", "budget-spent"})
"""Outcomes whose positions nobody will publish any more."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """What a truck's tracker was last told instead of that a report was published."""

    reason: str
    since: float
    """The first time, seconds since 1970."""


def trouble_text(reason: str) -> str:
    """What is wrong and what helps, for people."""
    return REMEDIES.get(reason) or f"{REASONS.get(reason, reason)}: see docs/trackers.md"


_MAIL_AT_ONCE = 1000

Storing = Future[Sequence[Appended]]
_NO_TROUBLE = frozenset({SlotOutcome.PUBLISHED, SlotOutcome.KNOWN_SLOT, SlotOutcome.NOTHING})


class Trucks:
    """All of them; threads may share it."""

    def __init__(self, core: PlatformCore) -> None:
        self._core = core
        self._fleets = _FleetKeys(core)
        self._held: dict[bytes, Held] = {}

    def of(self, truck: bytes) -> Held:
        """What is in memory of a truck, by its number."""
        return self._held.get(truck) or self._held.setdefault(truck, Held(self._core, self._fleets))

    def shown(self, truck: bytes) -> Position | None:
        """The last position that the operator may see; None: this process has published none."""
        held = self._held.get(truck)
        under_way = None if held is None else held.under_way
        return None if under_way is None else under_way.shown

    def trouble(self, truck: bytes) -> Trouble | None:
        """Why nothing was published for what a truck's tracker sent last to this process."""
        held = self._held.get(truck)
        return None if held is None else held.trouble

    def destroy_ended_keys(self, now: float) -> None:
        """Forget the keys by which noise stayed with places, of periods that are over.

        In memory, and in the store, where a report that is being stored comes first: what it leaves
        is looked at the next time.
        """
        self._fleets.destroy_ended(now)
        for held in list(self._held.values()):
            held.forget_ended_key(now)
        for truck in self._core.directory.trucks():
            sealed = self._core.directory.state(truck.truck)
            if sealed is None:
                continue
            context = stream_context(truck.truck)
            state = self._core.vault.unseal(context, sealed)
            left = without_ended_key(state, now)
            if left is not state:
                after = self._core.vault.seal(context, left)
                self._core.directory.replace_state(truck.truck, sealed, after)


class Held:
    """What is in memory of one truck."""

    def __init__(self, core: PlatformCore, fleets: _FleetKeys) -> None:
        self._core = core
        self._fleets = fleets
        self.lock = Lock()
        """Of everything here."""
        self.under_way: UnderWay | None = None
        """The truck as it was last seen; None until it is read from the store."""
        self.changed = False
        """Whether its parcels may be others now."""
        self.storing: Storing | None = None
        """What becomes of the last reports that were handed on to be stored."""
        self.trail = Trail()
        """What was published of the truck lately."""
        self.trouble: Trouble | None = None
        """Why nothing was published for what was sent last; None: something was."""

    def became(self, reason: str, now: float) -> None:
        """A message was answered; ``reason`` is the outcome, or why it was refused."""
        before = self.trouble
        if reason in _NO_TROUBLE:
            self.trouble = None if reason == SlotOutcome.PUBLISHED else before
        elif before is None or before.reason != reason:
            self.trouble = Trouble(reason, now)

    def change(self) -> None:
        """Look again what the truck carries before its next report."""
        with self.lock:
            self.changed = True

    def present(self, truck: Truck, now: float) -> UnderWay:
        """The truck with its present parcels; the caller holds the lock."""
        if self.under_way is None or self.under_way.is_ahead(now):
            # Of one that is ahead the operator may have taken reports back since.
            self.under_way = UnderWay(self._core, self._fleets, truck)
        changed, self.changed = self.changed, False
        self.under_way.refresh(now, changed=changed)
        return self.under_way

    def forget_ended_key(self, now: float) -> None:
        """Go on without the key of a period that is over."""
        with self.lock:
            if self.under_way is not None and self.under_way.state is not None:
                self.under_way.state = without_ended_key(self.under_way.state, now)

    def forget(self) -> None:
        """Read the truck again before its next report: what is in memory was not stored."""
        with self.lock:
            self.under_way = self.storing = None


class UnderWay:
    """A truck, its streams and its parcels.  Callers hold its lock."""

    def __init__(self, core: PlatformCore, fleets: _FleetKeys, truck: Truck) -> None:
        self._core, self._fleets = core, fleets
        self._truck, self._company = truck.truck, truck.company
        secrets = unsealed_secrets(core, truck)
        last = core.log.last(truck.truck)
        self._publisher = (
            ReportPublisher.new(secrets)
            if last is None
            else ReportPublisher.after(secrets, Report.decode(last.message).record())
        )
        sealed = core.directory.state(truck.truck)
        self.state = None if sealed is None else core.vault.unseal(self._context, sealed)
        """Of its stream of positions; as secret as its keys."""
        self._level = core.settings.operator_level
        self.shown: Position | None = None
        """What the operator may see of it."""
        self._keys = TrackingKeys(truck.truck)
        self._aboard: dict[int, list[Aboard]] = {}
        self._destinations: dict[bytes, tuple[float, float] | None] = {}
        self._mail_read = 0
        self._early: defaultdict[bytes, list[Submission]] = defaultdict(list)
        """Submissions, opened, for parcels that the truck did not carry when they were read."""
        self._ended: set[bytes] = set()
        """Parcels that it carried."""
        self._seen: DirectorySnapshot | None = None
        self._today = -1

    @property
    def _context(self) -> bytes:
        return stream_context(self._truck)

    def draft(self, slots: Sequence[tuple[int, Fix]], now: float) -> Draft | None:
        """What reports are made of for the positions of some slots; None where none is new.

        Raises ``IngestError`` where the last report is of a time that has not come: then nothing is
        later until it comes, so that the clock which made it is to be seen to.
        """
        check_last(self._publisher.last, now)
        fixes = [(slot, fix) for slot, fix in slots if slot > self._publisher.last]
        if not fixes:
            return None
        days = {day_of(slot) for slot, _ in fixes}
        aboard = {day: self._on(day) for day in days}
        keys = {slot: self._fleets.of(self._company, fix.time) for slot, fix in fixes}
        fleet = {slot: key for slot, key in keys.items() if key is not None}
        drawn = self._core.fresh("reports")
        return Draft(self._publisher, self.state, drawn, fixes, aboard, fleet)

    def is_ahead(self, now: float) -> bool:
        """Whether the last report is of a time that has not come."""
        return self._publisher.last > now + AHEAD_SECONDS

    def is_behind(self, slot: int) -> bool:
        """Whether a slot is earlier than those of the last two reports, however far apart."""
        return slot < self._publisher.last - self._core.settings.slot_seconds

    def wrote(self, written: Written) -> None:
        """Go on after what a draft of this object has become."""
        self._publisher, self.state = written.publisher, written.state
        if self._level is not None and written.shown:
            self.shown = written.shown[-1][self._level]

    def _on(self, day: int) -> list[Aboard]:
        """The parcels whose parties have agreed for a day."""
        if day not in self._aboard:
            self._aboard[day] = [
                Aboard(keys, self._destinations.get(parcel), parcel)
                for parcel, keys in self._keys.addressed(day)
            ]
        return self._aboard[day]

    def _carry(self, keys: TrackingKeys) -> None:
        if keys is not self._keys:
            self._keys = keys
            self._aboard.clear()

    def accept(self, message: bytes, now: float) -> None:
        """Take a submission and put it away.  Raises ``RejectedError``."""
        opened = self._opened(SealedSubmission.decode(message))
        keys = self._keys.receive(opened, today=day_of(int(now)))
        if keys == self._keys:
            return  # or one party could fill the box with what is known
        self._core.directory.add_mail(Mail(self._truck, message, now))
        self._carry(keys)

    def refresh(self, now: float, *, changed: bool = False) -> None:
        """Read which parcels are on the truck, and what their parties have submitted."""
        watch, today = self._core.watch, day_of(int(now))
        known = self._seen is not None and not watch.is_stale(self._seen, now)
        if known and not changed and today == self._today:
            return
        seen = watch.look(now, self._truck)
        parcels = {one.parcel: one for one in self._core.directory.parcels(self._truck)}
        keys = self._keys.from_day(today)
        for parcel in set(keys.waybills) - set(parcels):
            keys = keys.delivered(parcel)
            self._destinations.pop(parcel, None)
            self._ended.add(parcel)
        added = [one for name, one in parcels.items() if name not in keys.waybills]
        keys = keys.carrying(*map(_waybill, added))
        for one in added:
            self._destinations[one.parcel] = unsealed_destination(self._core, one)
        names = {one.parcel for one in added}
        if names & self._ended:
            # One that comes back: what was submitted for it is still in the box.
            self._mail_read = 0
            self._ended -= names
        self._carry(self._with_new_mail(self._with_early(keys, names, today), today))
        self._seen, self._today = seen, today

    def _with_early(self, keys: TrackingKeys, parcels: Set[bytes], today: int) -> TrackingKeys:
        """With what was submitted before its parcel was read here."""
        for parcel in parcels & self._early.keys():
            keys = keys.receive_all(self._early.pop(parcel), today)
        return keys

    def _with_new_mail(self, keys: TrackingKeys, today: int) -> TrackingKeys:
        while True:
            some = self._core.directory.mail(self._truck, self._mail_read, _MAIL_AT_ONCE)
            # What is rejected is of a day that is over, or says what is known otherwise.
            keys = keys.receive_all(self._carried(some, keys), today)
            if some:
                self._mail_read = some[-1].number
            if len(some) < _MAIL_AT_ONCE:
                return keys

    def _carried(self, mails: Sequence[Mail], keys: TrackingKeys) -> Iterator[Submission]:
        """What was submitted for parcels that the truck carries; the rest is put by."""
        for mail in mails:
            with suppress(RejectedError):
                submission = Submission.read(self._opened(SealedSubmission.stored(mail.message)))
                if submission.parcel in keys.waybills:
                    yield submission
                else:
                    self._early[submission.parcel].append(submission)

    def _opened(self, sealed: SealedSubmission) -> bytes:
        return sealed.open(self._publisher.secrets)


def _waybill(parcel: Parcel) -> Waybill:
    return Waybill(parcel.parcel, parcel.sender, parcel.receiver, parcel.carrier)
