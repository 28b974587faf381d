"""One truck whose keys the platform holds, in memory: from a true position to a signed report.

The true position exists in the arguments of ``report`` and nowhere else.  What a parcel's parties
may see is decided by the near position that was just perturbed, never by the true one: so it
follows from what is private already, and costs nothing.
"""

from __future__ import annotations

from dataclasses import replace

from voile.geodesy import metres_between
from voile.sharing.ingest import Fix
from voile.sharing.platform.administration import unsealed_destination, unsealed_secrets
from voile.sharing.platform.ground import Ground
from voile.sharing.positions import PositionStream
from voile.sharing.protocol import (
    Carried,
    Content,
    Position,
    Publisher,
    RejectedError,
    Report,
    SealedSubmission,
    TrackingKeys,
    TrackingPublic,
    Waybill,
    day_of,
)
from voile.sharing.store import Entry, Mail, Parcel, Truck

__all__ = ["UnderWay"]

_STATE = b"stream of a truck"
_REFRESH_SECONDS = 5.0
"""After so long parcels and submissions are read again: another process may have taken them."""
_MAIL_AT_ONCE = 1000


class UnderWay:
    """A truck, its streams and its parcels.  Callers hold its lock."""

    def __init__(self, ground: Ground, truck: Truck) -> None:
        self._ground = ground
        self._randomness = ground.vault.randomness("truck", truck.truck.hex())
        self.truck = truck
        secrets = unsealed_secrets(ground, truck)
        last = ground.log.last(truck.truck)
        publisher = (
            Publisher.new(secrets)
            if last is None
            else Publisher.after(secrets, Report.decode(last.message).record())
        )
        self._publisher = replace(publisher, suite=ground.suite)
        self._stream = self._resumed()
        self._keys = TrackingKeys(truck.truck)
        self._destinations: dict[bytes, tuple[float, float] | None] = {}
        self._mail_read = 0
        self._refreshed = -_REFRESH_SECONDS

    @property
    def last(self) -> int:
        """The last slot published; -1 before the first."""
        return self._publisher.last

    def is_later(self, fix: Fix) -> bool:
        """Whether a position is later than the last one published."""
        return self._stream.time is None or fix.time > self._stream.time

    def report(self, fix: Fix, slot: int) -> Entry:
        """The report of a slot later than the last one.  Raises ``BudgetSpentError``.

        After any other error, or where the report was not stored, this object is of no use.
        """
        positions = self._stream.report(fix.latitude, fix.longitude, fix.time, slot)
        agreed = self._keys.agreed(day_of(slot))
        carried = [self._carried(parcel, keys, positions) for parcel, keys in agreed.items()]
        content = Content(positions, carried, self._ground.settings.room)
        self._publisher, message = self._publisher.publish(slot, content, self._randomness)
        state = self._ground.vault.seal(_STATE + self.truck.truck, self._stream.state)
        return Entry(self.truck.truck, slot, message, state)

    def accept(self, message: bytes, now: float) -> None:
        """Take a submission and put it away.  Raises ``RejectedError``."""
        keys = self._with_mail(self._keys, message, now)
        self._ground.directory.add_mail(Mail(self.truck.truck, message, now))
        self._keys = keys

    def refresh(self, now: float, *, changed: bool = False) -> None:
        """Read which parcels are on the truck, and what their parties have submitted."""
        if not changed and 0 <= now - self._refreshed < _REFRESH_SECONDS:
            return
        parcels = {one.parcel: one for one in self._ground.directory.parcels(self.truck.truck)}
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
        self._keys = self._with_new_mail(keys, now)
        self._refreshed = now

    def _with_new_mail(self, keys: TrackingKeys, now: float) -> TrackingKeys:
        while True:
            some = self._ground.directory.mail(self.truck.truck, self._mail_read, _MAIL_AT_ONCE)
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

    def _carried(
        self, parcel: bytes, keys: TrackingPublic, positions: tuple[Position, ...]
    ) -> Carried:
        destination = self._destinations.get(parcel)
        if destination is None:
            return Carried(keys, level=len(positions) - 1)
        level = self._ground.settings.levels.level(_metres(positions[0], destination))
        # From the position that the party sees: it tells nothing that the party does not know.
        return Carried(keys, level, round(_metres(positions[level], destination)))

    def _resumed(self) -> PositionStream:
        settings = self._ground.settings
        sealed = self._ground.directory.state(self.truck.truck)
        context = _STATE + self.truck.truck
        return PositionStream(
            settings.levels,
            self._randomness.key("positions"),
            distance=settings.distance,
            delta=settings.delta,
            budget=settings.budget,
            state=None if sealed is None else self._ground.vault.unseal(context, sealed),
        )


def _waybill(parcel: Parcel) -> Waybill:
    return Waybill(parcel.parcel, parcel.sender, parcel.receiver)


def _metres(position: Position, place: tuple[float, float]) -> float:
    return float(metres_between(position.latitude, position.longitude, *place))
