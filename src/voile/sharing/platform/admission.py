"""Who may send positions: devices with a token of their own, and those that a broker vouches for.

What was found is believed for some seconds, and where this process ends something, no longer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from voile.sharing.ingest import IngestError, admit, token_hash
from voile.sharing.platform.access import AccessError
from voile.sharing.platform.ground import Ground
from voile.sharing.store import Device, Truck

__all__ = ["Admission", "Admitted"]

_KNOWN_SECONDS = (3.0, 5.0)
_MOST_KNOWN = 100_000


@dataclass(frozen=True, slots=True)
class Admitted:
    """A device that may send, and its truck."""

    device: Device
    truck: Truck


@dataclass(frozen=True, slots=True)
class _Known:
    """A device that was let in not long ago, and until when that counts."""

    admitted: Admitted
    until: float


class Admission:
    """The doors of devices; what is wrong with a token is never told apart."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._known: dict[bytes | tuple[str, str], _Known] = {}
        self._forgotten = 0

    def forget(self) -> None:
        """Look everything up again."""
        self._forgotten += 1
        self._known.clear()

    def by_token(self, token: str, now: float) -> Admitted:
        """The device of a token; raises ``IngestError``."""
        hash_ = token_hash(token)

        def found() -> Admitted:
            device = self._ground.directory.device(hash_)
            admit(token, device.token if device else None, (), now)
            assert device is not None
            return Admitted(device, self._truck(device))

        return self._remembered(hash_, now, found)

    def by_name(self, company: str, name: str, now: float) -> Admitted:
        """The device of a company that somebody else has made sure of; raises ``IngestError``.

        It must have an open token, though none was sent, and be on one truck only.
        """
        admitted = self._remembered((company, name), now, lambda: self._named(company, name, now))
        if not admitted.device.token.is_open(now):
            raise _nobody()
        return admitted

    def served(self, number: bytes) -> Truck:
        """A truck that is neither retired nor its company closed; raises ``AccessError``."""
        truck = self._ground.directory.truck(number)
        if truck is None or truck.retired is not None or not self._ground.is_served(truck):
            raise AccessError("truck-retired")
        return truck

    def _remembered(
        self, key: bytes | tuple[str, str], now: float, find: Callable[[], Admitted]
    ) -> Admitted:
        known = self._known.get(key)
        shortest, longest = _KNOWN_SECONDS
        if known is None or not 0 < known.until - now <= longest:
            forgotten, found = self._forgotten, find()
            # Each device for a time of its own: those that came together are not asked together.
            share = found.device.token.hash[0] / 255
            known = _Known(found, now + shortest + (longest - shortest) * share)
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            if forgotten == self._forgotten:  # else it may have ended since
                self._known[key] = known
        return known.admitted

    def _named(self, company: str, name: str, now: float) -> Admitted:
        named = self._ground.directory.devices_named(company, name)
        open_ = [device for device in named if device.token.is_open(now)]
        if not open_:
            raise _nobody()
        if len({device.truck for device in open_}) > 1:
            raise IngestError("device-unfit", "several trucks have it; revoke all but one")
        return Admitted(open_[-1], self._truck(open_[-1]))

    def _truck(self, device: Device) -> Truck:
        try:
            return self.served(device.truck)
        except AccessError:
            raise IngestError("token-refused", "the truck or its company has ended") from None


def _nobody() -> IngestError:
    return IngestError("token-refused", "no token of a device of this name is open")
