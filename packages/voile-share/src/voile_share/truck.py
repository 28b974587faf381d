"""A truck that perturbs and encrypts by itself: the platform sees ciphertext alone.

It is a platform of one truck: the same parts do the same work, and what they store is forwarded.
What stands on its device, in a folder:

    vault.key    the key that seals the truck's secrets
    truck.db     its reports, its parcels and what parties have submitted
    sent         the last slot that the platform was known to hold
    shown        what was published lately, of which it is learnt how long arrivals take

Reports are durable here before they are sent, so that a device that loses its power or its network
goes on where it was, and no slot is ever published with two positions.  Those that the platform
holds are dropped after a month, those that it does not hold never: it takes no chain with a gap.

Between a truck's device and the platform: reports go out, submissions come in.

The platform is asked which report it has last, and those that are later go out in the order of
their slots; so it is after every time that it did not answer, since it may have been restored from
a backup.  The same report twice is no error there.  What the platform refuses for good stops the
truck, for its chain of records could not go on.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import httpx2 as httpx

from voile_base.durable import new_private_folder, write_text
from voile_base.errors import InputError, VoileError
from voile_base.values import Json
from voile_share.ingest import Request
from voile_share.platform import Platform, Settings, SlotOutcome, Vault
from voile_share.protocol import Reason, RejectedError, Report
from voile_share.protocol.primitives import from_base64url, to_base64url
from voile_share.store import Company, Entry, SQLiteStore, TrackingLink, Truck

__all__ = ["AwayError", "Forwarding", "OwnTruck", "check_address"]

_KEY, _STORE, _SENT, _TRAIL = "vault.key", "truck.db", "sent", "shown"
_DEVICE = "truck"
_AT_ONCE = 100


class OwnTruck:
    """The truck of a folder.  Threads may share it, and processes its folder."""

    def __init__(
        self, folder: Path, settings: Settings | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        """``settings`` must have the slots of the platform.  Raises ``InputError``."""
        if not (folder / _STORE).exists():
            msg = f"{folder}: no truck was set up here: voile share truck init {folder}"
            raise InputError(msg)
        vault = Vault.open(folder / _KEY)
        self._store = SQLiteStore.open(folder / _STORE)
        self._platform = Platform(self._store, self._store, vault, settings, clock=clock)
        self._company: Company = self._store.companies()[0]
        self._truck: Truck = self._store.trucks()[0]
        self._sent_file = folder / _SENT
        self._sent = self._read_sent()
        self._trail_file = folder / _TRAIL
        self._recall()
        self._admit()
        self.tidy()

    @classmethod
    def create(cls, folder: Path) -> Self:
        """Draw the keys of a new truck; raises ``InputError`` where the folder is not empty."""
        with new_private_folder(folder) as unfinished:
            vault = Vault.create(unfinished / _KEY)
            store = SQLiteStore.open(unfinished / _STORE)
            with closing(Platform(store, store, vault)) as platform:
                company, _ = platform.open_company("this truck")
                platform.add_truck(company)
        return cls(folder)

    @property
    def truck(self) -> bytes:
        """Its number."""
        return self._truck.truck

    @property
    def card(self) -> bytes:
        """What its company registers it by (``protocol.TruckCard``)."""
        return self._truck.card

    @property
    def sent(self) -> int:
        """The last slot that the platform was known to hold, or -1; durable."""
        return self._sent

    @sent.setter
    def sent(self, slot: int) -> None:
        if slot != self._sent:
            self._sent = slot
            with suppress(OSError):  # it is a note, and the platform knows
                write_text(self._sent_file, f"{slot}\n", private=True)

    @property
    def waiting(self) -> int:
        """How many reports are later than ``sent``."""
        last = self._store.last(self.truck)
        first = self._store.after(self.truck, self._sent, 1)
        if last is None or not first:
            return 0
        return 1 + Report.decode(last.message).sequence - Report.decode(first[0].message).sequence

    def load(
        self,
        parcel: bytes,
        sender: bytes,
        receiver: bytes,
        destination: tuple[float, float] | None = None,
        carrier: bytes | None = None,
    ) -> None:
        """Take a parcel on board; raises ``AccessError``.

        ``carrier`` is the number of the carrier for whose trucks its parties have signed, if they
        have.
        """
        waybill = parcel, sender, receiver, destination, carrier
        self._platform.add_parcel(self._company, self.truck, *waybill)

    def unload(self, parcel: bytes, *, delivered: bool = False) -> None:
        """Deliver a parcel: its keys are forgotten.  Raises ``AccessError``.

        From one that was ``delivered`` now it is learnt how long arrivals take.
        """
        self._recall()
        self._platform.end_parcel(self._company, self.truck, parcel, delivered=delivered)

    def set_back(self) -> int:
        """Take back reports of times that have not come, made while the clock was ahead; how many.

        Raises ``InputError`` where there are none.
        """
        taken = self._platform.set_back(self.truck)
        last = self._store.last(self.truck)
        self.sent = min(self._sent, -1 if last is None else last.slot)
        return taken

    def past_drives(self) -> list[Any]:
        """What was learnt of arrivals: documents of ``platform.arrivals``, for its company."""
        return self._platform.past_drives(self._company)

    def forget_past_drives(self) -> None:
        """Forget what was learnt of arrivals."""
        self._platform.forget_arrivals(self._company)

    def parcels(self) -> list[bytes]:
        """Numbers of the parcels on board."""
        return [one.parcel for one in self._platform.parcels(self._company, self.truck)]

    def receive(self, request: Request) -> SlotOutcome:
        """Make the report of a position, durably; raises ``IngestError`` or ``StoreError``.

        A message that names its device must call it "truck".
        """
        # Whoever may read this folder may send: there is no token to ask for.
        answer = self._platform.receive_vouched(self._company.company, _DEVICE, request.decode)
        outcome = answer.result().outcome
        if outcome is SlotOutcome.PUBLISHED:
            with suppress(OSError):  # it is a note, and only teaches
                trail = to_base64url(self._platform.trail(self.truck))
                write_text(self._trail_file, trail, private=True)
        return outcome

    def accept(self, message: bytes) -> None:
        """Take what a party has submitted; raises ``RejectedError``."""
        self._platform.submit(TrackingLink(b"", self.truck, 0.0, math.inf), message)

    def reports(self, after: int) -> Iterator[Entry]:
        """Reports later than a slot, ascending."""
        while some := self._store.after(self.truck, after, _AT_ONCE):
            yield from some
            after = some[-1].slot

    def tidy(self) -> None:
        """Drop what is older than a month, but for reports that the platform may lack."""
        self._platform.tidy(most=self._sent)

    def close(self) -> None:
        """Finish what was begun."""
        self._platform.close()

    def _recall(self) -> None:
        """Read what was published lately, by whichever process."""
        with suppress(OSError, ValueError):
            self._platform.recall(self.truck, from_base64url(self._trail_file.read_text("ascii")))

    def _read_sent(self) -> int:
        """What is not there, or was cut off by a crash, only makes more reports seem to wait."""
        try:
            return int(self._sent_file.read_text("ascii"))
        except (OSError, ValueError):
            return -1

    def _admit(self) -> None:
        """Make the device that positions come from, where there is none; nobody has its token."""
        tokens = [one.token for one in self._platform.devices(self._company, self.truck)]
        # A clock that is wrong at first must not find one open that was revoked.
        if not any(one.device == _DEVICE and one.revoked is None for one in tokens):
            self._platform.add_device(self._company, self.truck, _DEVICE)


_SECONDS = 20.0
_REFUSED = (400, 401, 403, 404, 409, 410, 413, 415, 422)


class AwayError(VoileError):
    """The platform does not answer, or is busy; reports wait here, and one may try again."""

    def __init__(self, what: str, wait: float | None = None) -> None:
        """``wait``: after so many seconds, where the platform has said so."""
        super().__init__(what)
        self.wait = wait


def check_address(platform: str) -> None:
    """Raise ``InputError`` for what is no address of a platform."""
    try:
        parts = urlsplit(platform)
        fit = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        fit = False
    if not fit or parts.path not in {"", "/"} or parts.query or parts.fragment or parts.username:
        msg = "the address of the platform must be like https://share.example.org"
        raise InputError(msg)


class Forwarding:
    """One truck's talk with the platform.  Not to be shared between threads."""

    def __init__(
        self, truck: OwnTruck, platform: str, token: str, client: httpx.Client | None = None
    ) -> None:
        """``platform`` is its address; ``token`` the truck's own, given when it was registered.

        Raises ``InputError`` for what is no address.
        """
        check_address(platform)
        self._truck = truck
        self._client = client or httpx.Client(base_url=platform, timeout=_SECONDS)
        self._headers = {"authorization": f"Bearer {token}"}
        self._sent: int | None = None
        """The last slot that the platform holds; None: ask it."""
        self._read = 0

    def send(self) -> int:
        """Send the reports that the platform has not yet; how many it took.

        Raises ``AwayError``, and ``InputError`` where the platform refuses for good.
        """
        taken = 0
        if self._sent is None:
            slot = self._ask("GET", "/api/v1/reports/last")[1]["slot"]
            self._sent = self._truck.sent = -1 if slot is None else slot
        last = self._sent
        try:
            for entry in self._truck.reports(last):
                status, _ = self._ask("POST", "/api/v1/reports", content=entry.message)
                taken += status == httpx.codes.CREATED
                last = entry.slot
        finally:
            self._truck.sent = last
            if self._sent is not None:
                self._sent = last
        return taken

    def fetch(self) -> int:
        """Take what parties have submitted since the last call; how many were accepted.

        Raises the same.
        """
        accepted = 0
        while True:
            mail = self._ask("GET", f"/api/v1/mail?after={self._read}")[1]["mail"]
            for one in mail:
                try:
                    self._truck.accept(from_base64url(one["message"]))
                    accepted += 1
                except RejectedError:
                    pass  # of a parcel that is not on board, or of a day that is over
                self._read = one["number"]
            if not mail:
                return accepted

    def forget_what_was_read(self) -> None:
        """Fetch all submissions again: a parcel came on board after its parties had submitted."""
        self._read = 0

    def close(self) -> None:
        """Close connections."""
        self._client.close()

    def _ask(self, method: str, path: str, **given: Any) -> tuple[int, Json]:
        """Status and document of what is answered where all is well."""
        headers = {**self._headers, "content-type": "application/octet-stream"}
        try:
            answer = self._client.request(method, path, headers=headers, **given)
        except httpx.TransportError as error:
            self._sent = None
            msg = f"the platform does not answer ({type(error).__name__})"
            raise AwayError(msg) from None
        if answer.status_code in _REFUSED:
            msg = f"the platform refuses: {_reason(answer)}"
            if (_document(answer) or {}).get("reason") == Reason.FUTURE.value:
                msg += "; set the clock of this device, then: voile share truck set-back FOLDER"
            raise InputError(msg)
        document = _document(answer) if answer.is_success else None
        if document is None:
            raise self._away(answer)
        return answer.status_code, document

    def _away(self, answer: httpx.Response) -> AwayError:
        """What to make of an answer that is neither one of the platform's nor a refusal."""
        status = answer.status_code
        if status == httpx.codes.TOO_MANY_REQUESTS:
            said = answer.headers.get("retry-after", "")
            wait = float(said) if said.isascii() and said.isdigit() else None
            return AwayError("the platform takes no more at once", wait)
        self._sent = None
        if status >= httpx.codes.BAD_REQUEST:
            return AwayError(f"the platform is busy (status {status})")
        # Networks for guests answer whatever is asked, until somebody has signed in.
        return AwayError(f"what answers is not the platform (status {status}): check its address")


def _document(answer: httpx.Response) -> Json | None:
    try:
        document = answer.json()
    except ValueError:
        return None
    return document if isinstance(document, dict) else None


def _reason(answer: httpx.Response) -> str:
    """The sentence of a problem (RFC 9457), or its status."""
    problem = _document(answer) or {}
    said = problem.get("detail") or problem.get("title") or problem.get("reason")
    return str(said or f"status {answer.status_code}")
