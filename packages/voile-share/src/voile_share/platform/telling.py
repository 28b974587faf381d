"""What companies are told of their parcels: that one arrives soon, and that it was delivered.

Events go into the store's outbox, which outlives a kill; who delivers them is the service's
business.  A parcel is told of once for each event and hook.  "Soon" is when the interval that the
page shows begins within half an hour: it follows from the distance that the parcel's parties are
shown with the report, and for how long they were shown the same place, by what past drives of the
company took.  It is looked at with each report until it was told: so one that a kill has swallowed
comes with the next report.  Where the page says nothing, as of a company whose past drives are too
few, nothing is told; the page may know of stops that a carrier has told its reader, the platform
never does.  A delivery is put down before it is done: whoever was not answered does the same again.

An event holds the number of the parcel and the slot, as every reader of the page knows them: no
position, no distance, no address and no finer time.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from voile_base.errors import InputError
from voile_share.arrival import ArrivalInterval, SharedPosition
from voile_share.ingest import issue
from voile_share.platform.administration import unsealed_destination
from voile_share.platform.core import DirectorySnapshot, PlatformCore
from voile_share.platform.rotation import hook_context
from voile_share.store import Company, Parcel, StoredHook, StoreError, Truck

__all__ = ["ARRIVING", "DELIVERED", "SOON_SECONDS", "Nearing", "Telling"]

ARRIVING, DELIVERED = "arriving", "delivered"
SOON_SECONDS = 1_800.0
_MOST_HOOKS = 10
_CONFIRMED = "confirmed"
"""What stands in the place of the code of a hook by mail; no code is so short."""
_MOST_REMEMBERED = 100_000


@dataclass(frozen=True)
class Nearing:
    """A report that was published, as far as arrivals follow from it."""

    slot: int
    time: float
    """Of its position, seconds since 1970."""
    parcels: Sequence[tuple[bytes, float]]
    """Those with a destination, and the metres that their parties are shown."""


class Telling:
    """Events and hooks of companies.  Threads may share it."""

    def __init__(
        self,
        core: PlatformCore,
        outbox: Any,
        forecast: Callable[[str, SharedPosition], ArrivalInterval | None],
        shown_of: Callable[[bytes, tuple[float, float], float], Sequence[SharedPosition]],
    ) -> None:
        """``outbox``: a store (``SQLOutbox``).

        ``forecast``: when a parcel of a company arrives of which something is shown, as the page
        says it (``Learning``); ``shown_of``: what was shown of a truck to the parties of a parcel
        to some place, from a time on (``Publishing``).
        """
        self._core = core
        self._outbox = outbox
        self._forecast = forecast
        self._shown_of = shown_of
        self._listening: dict[str, tuple[DirectorySnapshot, bool]] = {}
        self._told: set[bytes] = set()

    def add_hook(self, company: Company, kind: str, target: str) -> tuple[str, str]:
        """The id of a new hook, and its secret: of one by ``web`` it signs, and is shown once.

        Of one by mail it is the code that its address must be sent: until the company names it,
        nothing else goes there.  The caller has looked whether the address is fit.  Raises
        ``ConflictError``.
        """
        identity = self._core.fresh("hook").token("hook")
        secret = issue("", 0.0, randomness=self._core.fresh("hook secret"))[0]
        seal, context = self._core.vault.seal, hook_context(identity)
        hook = StoredHook(
            identity,
            company.company,
            kind,
            seal(context, target.encode()),
            seal(context, secret.encode()),
            self._core.clock(),
        )
        self._outbox.add_hook(hook, _MOST_HOOKS)
        self._listening.clear()
        return identity, secret

    def confirm_hook(self, company: Company, hook: str, code: str) -> bool:
        """Believe the address of a hook by mail, by the code that went there; False: a wrong one.

        One that is believed already stays so.
        """
        found = [one for one in self.hooks(company) if one.hook == hook and one.kind == "mail"]
        if not found or self.is_confirmed(found[0]):
            return bool(found)
        kept = found[0].secret
        if kept is None or not hmac.compare_digest(
            self.opened(found[0], kept).encode(), code.encode()
        ):
            return False
        confirmed = self._core.vault.seal(hook_context(hook), _CONFIRMED.encode())
        self._outbox.replace_hook_secret(hook, kept, confirmed)
        return True

    def is_confirmed(self, hook: StoredHook) -> bool:
        """Whether it may be told: of mail, whether its address is that of one who wants it."""
        if hook.kind != "mail":
            return True
        return hook.secret is not None and self.opened(hook, hook.secret) == _CONFIRMED

    def hooks(self, company: Company) -> Sequence[StoredHook]:
        """Those of a company."""
        hooks: Sequence[StoredHook] = self._outbox.hooks(company.company)
        return hooks

    def end_hook(self, company: Company, hook: str) -> bool:
        """End one with all that waits for it; False where there is none."""
        self._listening.clear()
        ended: bool = self._outbox.end_hook(company.company, hook, self._core.clock())
        return ended

    def opened(self, hook: StoredHook, value: bytes) -> str:
        """The address or the secret of a hook; raises ``InputError``."""
        return self._core.vault.unseal(hook_context(hook.hook), value).decode()

    def nearing(self, truck: Truck, near: Nearing) -> None:
        """A report was published; troubles wait for the next one."""
        if not near.parcels:
            return
        with suppress(StoreError, InputError):
            if not self._is_heard(truck.company):
                return
            soon = {
                parcel: metres
                for parcel, metres in near.parcels
                if self._is_soon(truck.company, SharedPosition(near.time, metres))
            }
            for one in self._core.directory.parcels(truck.truck) if soon else ():
                if one.parcel in soon:
                    self._near(truck, one, soon[one.parcel], near)

    def _near(self, truck: Truck, parcel: Parcel, metres: float, near: Nearing) -> None:
        """Tell that it arrives, unless it was told or the truck stands."""
        subject = _subject(parcel, ARRIVING)
        if subject in self._told:
            return
        place = unsealed_destination(self._core, parcel)
        if place is None:
            return
        those = self._shown_of(truck.truck, place, parcel.created)
        stands = [one.stands for one in those if one.time == near.time]
        if self._is_soon(
            truck.company, SharedPosition(near.time, metres, stands[-1] if stands else 0.0)
        ):
            self._tell(truck, parcel, ARRIVING, near.slot)

    def _is_soon(self, company: str, shown: SharedPosition) -> bool:
        found = self._forecast(company, shown)
        return found is not None and shown.time + found.low <= self._core.clock() + SOON_SECONDS

    def delivered(self, truck: Truck, parcel: bytes) -> None:
        """A parcel is about to be ended as delivered; raises ``StoreError``."""
        if self._is_heard(truck.company):
            slot = self._core.settings.slot(self._core.clock())
            for one in self._core.directory.parcels(truck.truck):
                if one.parcel == parcel:
                    self._tell(truck, one, DELIVERED, slot)

    def _tell(self, truck: Truck, parcel: Parcel, event: str, slot: int) -> None:
        subject = _subject(parcel, event)
        if subject in self._told:
            return
        name = parcel.parcel.decode("utf-8", "replace")
        body = {"event": event, "parcel": name, "slot": slot, "id": subject.hex()[:32]}
        now = self._core.clock()
        self._outbox.tell(truck.company, subject, json.dumps(body).encode(), now)
        if len(self._told) >= _MOST_REMEMBERED:
            self._told.clear()
        self._told.add(subject)

    def _is_heard(self, company: str) -> bool:
        """Whether a company has hooks, as far as this process was told lately."""
        now = self._core.clock()
        seen, heard = self._listening.get(company, (None, False))
        if seen is None or self._core.watch.is_stale(seen, now):
            seen = self._core.watch.look(now, sha256(company.encode()).digest())
            heard = bool(self._outbox.hooks(company))
            self._listening[company] = seen, heard
        return heard


def _subject(parcel: Parcel, event: str) -> bytes:
    """One that comes back later, under the same number, is told of again."""
    held = (parcel.truck, parcel.parcel, f"{parcel.created}".encode(), event.encode())
    return sha256(b"|".join(held)).digest()
