"""What devices send, until it is understood: who sent it, what it says, and what they are told."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from typing import Self

from voile.sharing.ingest import (
    BACKFILL,
    Arrival,
    Decoded,
    Fix,
    Format,
    IngestError,
    Request,
    admit,
    decode,
    detect,
)
from voile.sharing.platform.admission import Admission, Admitted
from voile.sharing.platform.ground import Ground
from voile.sharing.platform.settings import Settings
from voile.sharing.platform.writing import Outcome
from voile.sharing.store import Truck

__all__ = ["Message", "Receipt", "Reception", "Understood"]

_MOST_SLOTS = 300
"""Of one message: the latest, where there are more."""
_TRIES = 3


@dataclass(frozen=True)
class Receipt:
    """The answer to a device."""

    outcome: Outcome
    content_type: str
    body: bytes
    refused: int = 0
    """How many of its positions were not taken, for reasons of ``ingest.REASONS``."""


@dataclass(frozen=True)
class Message:
    """What a device sent; private."""

    admitted: Callable[[float], Admitted]
    """Who sent it, by the time; raises ``IngestError``."""
    decoded: Callable[[Admitted, float], Decoded]
    """What it says; raises ``IngestError``."""
    answer: Future[Receipt]
    tries: int = _TRIES
    """How often it may be tried yet, where others publish for its truck, too."""

    def understood(self, now: float) -> Understood:
        """Look who sent it and what it says; raises ``IngestError``."""
        admitted = self.admitted(now)
        return Understood(self, admitted.truck, self.decoded(admitted, now), now)

    def again(self) -> Self | None:
        """The same, to be tried once more; None where that was often enough."""
        return replace(self, tries=self.tries - 1) if self.tries > 1 else None


@dataclass(frozen=True)
class Understood:
    """A message of a device that may send; private."""

    message: Message
    truck: Truck
    decoded: Decoded
    now: float

    def receipt(self, outcome: Outcome) -> Receipt:
        """What the device is told."""
        return Receipt(outcome, *self.decoded.reply, len(self.decoded.refused))

    def by_slot(self, settings: Settings) -> dict[int, Fix]:
        """The first position of each slot, ascending; of the last slots where there are many."""
        chosen: dict[int, Fix] = {}
        for fix in sorted(self.decoded.fixes, key=lambda fix: fix.time):
            chosen.setdefault(settings.slot(min(fix.time, self.now)), fix)
        return dict(list(chosen.items())[-_MOST_SLOTS:])


class Reception:
    """Makes messages of what comes; nothing is looked at before they are to be understood."""

    def __init__(self, ground: Ground, admission: Admission) -> None:
        self._ground = ground
        self._admission = admission

    def by_token(self, token: str, request: Request) -> Message:
        """Of a device that shows its token."""
        return Message(
            partial(self._admission.by_token, token),
            partial(self._decoded, token, request),
            Future(),
        )

    def by_name(self, company: str, device: str, decode: Callable[[Arrival], Decoded]) -> Message:
        """Of a company's device that somebody else has made sure of."""
        return Message(
            partial(self._admission.by_name, company, device),
            partial(self._vouched, decode),
            Future(),
        )

    def _decoded(self, token: str, request: Request, admitted: Admitted, now: float) -> Decoded:
        rules, given = self._ground.settings.rules, (request.content_type, request.query)
        if request.body and detect(*given, request.body, BACKFILL) is Format.GPX:
            rules = replace(BACKFILL, region=rules.region)
        kept = admitted.device.token
        decoded = decode(request, Arrival(now, rules, kept.device))
        admit(token, kept, decoded.devices, now)
        return decoded

    def _vouched(
        self, decode: Callable[[Arrival], Decoded], admitted: Admitted, now: float
    ) -> Decoded:
        name = admitted.device.token.device
        decoded = decode(Arrival(now, self._ground.settings.rules, name))
        if not decoded.devices <= {name}:
            raise IngestError("token-refused", "the message names another device")
        return decoded
