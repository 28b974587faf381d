"""One truck whose keys the platform holds, in memory: its parcels, and from where it goes on."""

from __future__ import annotations

from collections.abc import Mapping

from voile.sharing.ingest import Fix
from voile.sharing.platform.administration import unsealed_destination, unsealed_secrets
from voile.sharing.platform.ground import Ground
from voile.sharing.platform.writing import Aboard, Draft, Written, stream_context
from voile.sharing.protocol import (
    Publisher,
    RejectedError,
    Report,
    SealedSubmission,
    TrackingKeys,
    Waybill,
    day_of,
)
from voile.sharing.store import Mail, Parcel, Truck

__all__ = ["UnderWay"]

_REFRESH_SECONDS = (3.0, 5.0)
"""After so long parcels and submissions are read again: another process may have taken them.  Each
truck has its own time in between, so that those that began together do not read together."""
_MAIL_AT_ONCE = 1000


class UnderWay:
    """A truck, its streams and its parcels.  Callers hold its lock."""

    def __init__(self, ground: Ground, truck: Truck) -> None:
        self._ground = ground
        self._truck = truck.truck
        secrets = unsealed_secrets(ground, truck)
        last = ground.log.last(truck.truck)
        self._publisher = (
            Publisher.new(secrets)
            if last is None
            else Publisher.after(secrets, Report.decode(last.message).record())
        )
        sealed = ground.directory.state(truck.truck)
        self.state = None if sealed is None else ground.vault.unseal(self._context, sealed)
        """Of its stream of positions; as secret as its keys."""
        self._keys = TrackingKeys(truck.truck)
        self._aboard: dict[int, list[Aboard]] = {}
        self._destinations: dict[bytes, tuple[float, float] | None] = {}
        self._mail_read = 0
        shortest, longest = _REFRESH_SECONDS
        self._patience = shortest + (longest - shortest) * truck.truck[0] / 255
        self._refreshed = -longest

    @property
    def _context(self) -> bytes:
        return stream_context(self._truck)

    def draft(self, chosen: Mapping[int, Fix]) -> Draft | None:
        """What reports are made of for the positions of some slots; None where none is new."""
        fixes = [(slot, fix) for slot, fix in chosen.items() if slot > self._publisher.last]
        if not fixes:
            return None
        days = {day_of(slot) for slot, _ in fixes}
        aboard = {day: self._on(day) for day in days}
        drawn = self._ground.fresh("reports")
        return Draft(self._publisher, self.state, drawn, fixes, aboard)

    def wrote(self, written: Written) -> None:
        """Go on after what a draft of this object has become."""
        self._publisher, self.state = written.publisher, written.state

    def _on(self, day: int) -> list[Aboard]:
        """The parcels whose parties have agreed for a day."""
        if day not in self._aboard:
            self._aboard[day] = [
                Aboard(keys, self._destinations.get(parcel))
                for parcel, keys in self._keys.agreed(day).items()
            ]
        return self._aboard[day]

    def _carry(self, keys: TrackingKeys) -> None:
        if keys is not self._keys:
            self._keys = keys
            self._aboard.clear()

    def accept(self, message: bytes, now: float) -> None:
        """Take a submission and put it away.  Raises ``RejectedError``."""
        keys = self._with_mail(self._keys, message, now)
        if keys == self._keys:
            return  # or one party could fill the box with what is known
        self._ground.directory.add_mail(Mail(self._truck, message, now))
        self._carry(keys)

    def refresh(self, now: float, *, changed: bool = False) -> None:
        """Read which parcels are on the truck, and what their parties have submitted."""
        if not changed and 0 <= now - self._refreshed < self._patience:
            return
        parcels = {one.parcel: one for one in self._ground.directory.parcels(self._truck)}
        keys = self._keys.from_day(day_of(int(now)))
        for parcel in set(keys.waybills) - set(parcels):
            keys = keys.delivered(parcel)
            self._destinations.pop(parcel, None)
        added = [parcel for name, parcel in parcels.items() if name not in keys.waybills]
        if added:
            # A submission may have come by another process before its parcel was read here.
            self._mail_read = 0
        for one in added:
            keys = keys.carrying(_waybill(one))
            self._destinations[one.parcel] = unsealed_destination(self._ground, one)
        self._carry(self._with_new_mail(keys, now))
        self._refreshed = now

    def _with_new_mail(self, keys: TrackingKeys, now: float) -> TrackingKeys:
        while True:
            some = self._ground.directory.mail(self._truck, self._mail_read, _MAIL_AT_ONCE)
            for mail in some:
                try:
                    keys = self._with_mail(keys, mail.message, now)
                except RejectedError:
                    continue  # of a day that is over, or of a parcel that was delivered
            if some:
                self._mail_read = some[-1].number
            if len(some) < _MAIL_AT_ONCE:
                return keys

    def _with_mail(self, keys: TrackingKeys, message: bytes, now: float) -> TrackingKeys:
        submission = SealedSubmission.decode(message).open(self._publisher.secrets)
        return keys.receive(submission, today=day_of(int(now)))


def _waybill(parcel: Parcel) -> Waybill:
    return Waybill(parcel.parcel, parcel.sender, parcel.receiver)
