"""The first step: which device has sent a message, and what it says.

Who may send is looked up in the directory and then believed: for as long as this process alone
changes the directory, and else for some seconds (``core.Watch``).  Nothing of a message is read
before its device may send.

Submissions of parties to trucks: read at once, or kept for a truck that holds its keys.

Long messages, such as files of trips, are read by a worker process, at a low priority.

To read one takes a second or more of pure parsing, for much of which a parser holds the
interpreter's lock: in a thread of this process every position would wait for it.  Reading is a pure
function, so the process knows nothing but what it is sent, and holds no key and no store.  It is
begun with the first long message.  Where it cannot be begun, or has died, messages are read here.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Self

from voile_share.ingest import (
    BACKFILL,
    REASONS,
    Arrival,
    Decoded,
    Fix,
    Format,
    IngestError,
    Request,
    admit,
    detect,
    token_hash,
)
from voile_share.platform.core import AccessError, DirectorySnapshot, PlatformCore, Settings
from voile_share.platform.trucks import Trucks
from voile_share.platform.writers import SlotOutcome, end_with_parent
from voile_share.protocol import Reason, RejectedError, SealedSubmission
from voile_share.store import Company, Device, Mail, MailBounds, TrackingLink, Truck

__all__ = [
    "LONG_BYTES",
    "NOBODY",
    "Admission",
    "AdmittedDevice",
    "DeviceReceipt",
    "Message",
    "Reception",
    "RequestDecoder",
    "Submitting",
    "Understood",
]


LONG_BYTES = 16 * 1024
"""Of a body; from then on to read it takes longer than to publish it."""
_NICE = 10

_Refused = tuple[str, str, int]
"""Reason, advice and positions of an ``IngestError``, which pickle cannot make again."""


class RequestDecoder:
    """Decodes requests; to be used by one thread at a time where they are long."""

    def __init__(self, *, in_worker: bool) -> None:
        """``in_worker``: whether long ones go to a worker process."""
        self._in_worker = in_worker and not multiprocessing.current_process().daemon
        self._pool: ProcessPoolExecutor | None = None

    def decode(self, request: Request, arrival: Arrival) -> Decoded:
        """What a request says; raises ``IngestError``."""
        if not self._in_worker or len(request.body) <= LONG_BYTES:
            return request.decode(arrival)
        try:
            read = self._begun().submit(_read, Request.decode, request, arrival).result()
        except (OSError, RuntimeError):  # such as ``BrokenProcessPool``
            self.close()
            return request.decode(arrival)
        if isinstance(read, Decoded):
            return read
        reason, advice, positions = read
        refusal = IngestError(reason, advice)
        refusal.positions = positions
        raise refusal

    def close(self) -> None:
        """End the process."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def _begun(self) -> ProcessPoolExecutor:
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(1, context, _begin)
        return self._pool


def _begin() -> None:
    """Ctrl+C is for the process that began this one, and positions go before files."""
    end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(OSError):
        os.nice(_NICE)


def _read(
    decode: Callable[[Request, Arrival], Decoded], request: Request, arrival: Arrival
) -> Decoded | _Refused:
    try:
        return decode(request, arrival)
    except IngestError as refusal:
        advice = str(refusal).removeprefix(REASONS[refusal.reason]).removeprefix(": ")
        return refusal.reason, advice, refusal.positions


NOBODY = ""
"""The company in whose turn messages come whose device is not known yet."""

_MOST_KNOWN = 100_000
_MOST_SLOTS = 300
"""Of one message: the latest, where there are more."""
_TRIES = 3

_Key = bytes | tuple[str, str]


@dataclass(frozen=True, slots=True)
class AdmittedDevice:
    """A device that may send, and its truck."""

    device: Device
    truck: Truck


@dataclass(frozen=True, slots=True)
class _Known:
    """A device that was let in, and how the directory was seen then."""

    admitted: AdmittedDevice
    seen: DirectorySnapshot


class Admission:
    """The doors of devices; what is wrong with a token is never told apart."""

    def __init__(self, core: PlatformCore) -> None:
        self._core = core
        self._known: dict[_Key, _Known] = {}
        self._of_truck: defaultdict[bytes, set[_Key]] = defaultdict(set)
        self._forgotten = 0

    def forget(self, truck: bytes) -> None:
        """Look the devices of a truck up again."""
        self._forgotten += 1
        for key in self._of_truck.pop(truck, ()):
            self._known.pop(key, None)

    def company_of(self, token: str) -> str:
        """The company of a token as far as it is remembered; ``NOBODY`` where it is not."""
        known = self._known.get(token_hash(token))
        return NOBODY if known is None else known.admitted.truck.company

    def by_token(self, token: str, now: float) -> AdmittedDevice:
        """The device of a token; raises ``IngestError``."""
        hash_ = token_hash(token)

        def found() -> AdmittedDevice:
            device = self._core.directory.device(hash_)
            admit(token, device.token if device else None, (), now)
            assert device is not None
            return AdmittedDevice(device, self._truck(device))

        return self._remembered(hash_, now, found)

    def by_name(self, company: str, name: str, now: float) -> AdmittedDevice:
        """The device of a company that somebody else has made sure of; raises ``IngestError``.

        It must have an open token, though none was sent, and be on one truck only.
        """
        admitted = self._remembered((company, name), now, lambda: self._named(company, name, now))
        if not admitted.device.token.is_open(now):
            raise _nobody()
        return admitted

    def served(self, number: bytes) -> Truck:
        """A truck that is neither retired nor its company closed; raises ``AccessError``."""
        truck = self._core.directory.truck(number)
        if truck is None or truck.retired is not None or not self._core.is_served(truck):
            raise AccessError("truck-retired")
        return truck

    def _remembered(
        self, key: _Key, now: float, find: Callable[[], AdmittedDevice]
    ) -> AdmittedDevice:
        known, watch = self._known.get(key), self._core.watch
        if known is None or watch.is_stale(known.seen, now):
            forgotten, seen = self._forgotten, watch.look(now, token_hash(str(key)))
            known = _Known(find(), seen)
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
                self._of_truck.clear()
            if forgotten == self._forgotten:  # else it may have ended since
                self._known[key] = known
                self._of_truck[known.admitted.truck.truck].add(key)
        return known.admitted

    def _named(self, company: str, name: str, now: float) -> AdmittedDevice:
        named = self._core.directory.devices_named(company, name)
        open_ = [device for device in named if device.token.is_open(now)]
        if not open_:
            raise _nobody()
        if len({device.truck for device in open_}) > 1:
            raise IngestError("device-unfit", "several trucks have it; revoke all but one")
        return AdmittedDevice(open_[-1], self._truck(open_[-1]))

    def _truck(self, device: Device) -> Truck:
        try:
            return self.served(device.truck)
        except AccessError:
            raise IngestError("token-refused", "the truck or its company has ended") from None


def _nobody() -> IngestError:
    return IngestError("token-refused", "no token of a device of this name is open")


@dataclass(frozen=True, slots=True)
class DeviceReceipt:
    """The answer to a device."""

    outcome: SlotOutcome
    content_type: str
    body: bytes
    refused: int = 0
    """How many of its positions were not taken, for reasons of ``ingest.REASONS``."""
    reason: str = ""
    """Why none of them will ever be, where the message is not to be sent again."""


@dataclass(frozen=True, slots=True)
class Message:
    """What a device sent; private."""

    company: str
    """In whose turn it comes: its device's, or ``NOBODY``."""
    admitted: Callable[[float], AdmittedDevice]
    """Who sent it, by the time; raises ``IngestError``."""
    decoded: Callable[[AdmittedDevice, float], Decoded]
    """What it says; raises ``IngestError``."""
    answer: Future[DeviceReceipt]
    is_long: bool = False
    """Whether to read it takes much longer than to read a position."""
    tries: int = _TRIES
    """How often it may be tried yet, where others publish for its truck, too."""

    def understood(self, now: float, settings: Settings) -> Understood:
        """Look who sent it and what it says; raises ``IngestError``."""
        admitted = self.admitted(now)
        try:
            decoded = self.decoded(admitted, now)
        except IngestError as error:
            error.truck = admitted.truck.truck
            raise
        return Understood(self, admitted.truck, decoded, now, _by_slot(decoded, now, settings))

    def again(self) -> Self | None:
        """The same, to be tried once more; None where that was often enough."""
        return replace(self, tries=self.tries - 1) if self.tries > 1 else None


@dataclass(frozen=True, slots=True)
class Understood:
    """A message of a device that may send; private."""

    message: Message
    truck: Truck
    decoded: Decoded
    now: float
    slots: tuple[tuple[int, Fix], ...]
    """The first position of each slot that it tells, ascending: what is left to be published."""
    outcome: SlotOutcome | None = None
    """What became of the slots that are not left."""

    def receipt(self, outcome: SlotOutcome) -> DeviceReceipt:
        """What the device is told."""
        return DeviceReceipt(outcome, *self.decoded.reply, len(self.decoded.refused))

    def after(self, slots: int, outcome: SlotOutcome) -> Self:
        """What is left after some slots, of which something became."""
        said = self.outcome if self.outcome is SlotOutcome.PUBLISHED else outcome
        return replace(self, slots=self.slots[slots:], outcome=said)


class Reception:
    """Makes messages of what comes; nothing is looked at before they are to be understood."""

    def __init__(self, core: PlatformCore, admission: Admission, reader: RequestDecoder) -> None:
        self._core = core
        self._admission = admission
        self._reader = reader

    def by_token(self, token: str, request: Request) -> Message:
        """Of a device that shows its token."""
        return Message(
            self._admission.company_of(token),
            partial(self._admission.by_token, token),
            partial(self._decoded, token, request),
            Future(),
            is_long=len(request.body) > LONG_BYTES,
        )

    def by_name(self, company: str, device: str, decode: Callable[[Arrival], Decoded]) -> Message:
        """Of a company's device that somebody else has made sure of."""
        return Message(
            company,
            partial(self._admission.by_name, company, device),
            partial(self._vouched, decode),
            Future(),
        )

    def _decoded(
        self, token: str, request: Request, admitted: AdmittedDevice, now: float
    ) -> Decoded:
        rules, given = self._core.settings.rules, (request.content_type, request.query)
        if request.body and detect(*given, request.body, BACKFILL) is Format.GPX:
            rules = replace(BACKFILL, region=rules.region)
        kept = admitted.device.token
        decoded = self._reader.decode(request, Arrival(now, rules, kept.device))
        admit(token, kept, decoded.devices, now)
        return decoded

    def _vouched(
        self, decode: Callable[[Arrival], Decoded], admitted: AdmittedDevice, now: float
    ) -> Decoded:
        name = admitted.device.token.device
        decoded = decode(Arrival(now, self._core.settings.rules, name))
        if not decoded.devices <= {name}:
            raise IngestError("token-refused", "the message names another device")
        return decoded


def _by_slot(decoded: Decoded, now: float, settings: Settings) -> tuple[tuple[int, Fix], ...]:
    """The first position of each slot, ascending; of the last slots where there are many.

    What is ahead of our clock, by as much as is taken, is of now: else it would silence its truck
    until then.
    """
    chosen: dict[int, Fix] = {}
    for fix in sorted(decoded.fixes, key=lambda fix: fix.time):
        known = fix if fix.time <= now else replace(fix, time=now)
        chosen.setdefault(settings.slot(known.time), known)
    return tuple(chosen.items())[-_MOST_SLOTS:]


_MOST_MAIL = 10_000
"""Submissions that wait for a truck that holds its keys."""
_MOST_OF_LINK = 200
"""Submissions that come by one link: of both parties of three parcels for a month."""
_FULL = (
    "a link brings 200 submissions at most, and a truck's box holds 10,000, each for 31 days; ask "
    "the company for another link, or try again later"
)


class Submitting:
    """What parties send to trucks.  Threads may share it."""

    def __init__(self, core: PlatformCore, admission: Admission, trucks: Trucks) -> None:
        self._core = core
        self._admission = admission
        self._trucks = trucks

    def submit(self, link: TrackingLink, message: bytes) -> None:
        """Take a party's sealed submission to the truck of a link.

        Raises ``RejectedError``, as far as the platform can see: it reads what is meant for trucks
        whose keys it holds; and ``AccessError``.
        """
        sealed = SealedSubmission.decode(message)
        if sealed.truck != link.truck:
            msg = "the submission is meant for another truck than that of the link"
            raise RejectedError(Reason.FOREIGN, msg)
        self._submit(sealed.truck, message, link.hash)

    def submit_by_company(self, company: Company, number: bytes, message: bytes) -> None:
        """Take what parties have signed for their carrier, and it has sealed for a truck of its.

        Raises the same.
        """
        truck = self._core.own_truck(company, number)
        if SealedSubmission.decode(message).truck != truck.truck:
            msg = "the submission is meant for another truck"
            raise RejectedError(Reason.FOREIGN, msg)
        self._submit(truck.truck, message, None)

    def _submit(self, number: bytes, message: bytes, link: bytes | None) -> None:
        truck, now = self._admission.served(number), self._core.clock()
        if truck.own_keys:
            bounds = MailBounds(link, _MOST_OF_LINK, _MOST_MAIL)
            if self._core.directory.add_mail(Mail(truck.truck, message, now), bounds) is None:
                raise AccessError("mail-box-full", _FULL)
            return
        held = self._trucks.of(truck.truck)
        with held.lock:
            held.present(truck, now).accept(message, now)
