"""What sender and receiver hand to the carrier with a parcel: public keys, and signed halves.

It opens nothing: whoever has it can let trucks address the parcel, and can recognise it nowhere.
It says who ships with whom as far as their keys do, and so goes to the carrier alone.
"""

from __future__ import annotations

import json
from binascii import Error as Base64Error
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from voile_base.errors import InputError
from voile_share import protocol
from voile_share.protocol.base64url import from_base64url, to_base64url
from voile_share.protocol.reader import MOST_DAYS

__all__ = ["Consignment"]

_WHAT, _VERSION = "consignment of a parcel", 1


@dataclass(frozen=True)
class Consignment:
    """All of it; ``decode`` has checked its form and its signatures."""

    carrier: bytes
    """The verifying key of the carrier whose trucks may have it."""
    parcel: bytes
    sender: bytes
    """The key by which its sender signs."""
    receiver: bytes
    first_day: int
    days: int
    boxes: Mapping[protocol.Role, bytes]
    """N of each reader."""
    halves: tuple[protocol.Submission, ...] = field(repr=False)

    @property
    def waybill(self) -> protocol.Waybill:
        """By which a truck takes the halves; raises ``InputError``."""
        number = protocol.carrier_number(self.carrier)
        return protocol.Waybill(self.parcel, self.sender, self.receiver, number)

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "voile": _WHAT,
            "version": _VERSION,
            "carrier": to_base64url(self.carrier),
            "parcel": self.parcel.decode("utf-8", "surrogateescape"),
            "sender": to_base64url(self.sender),
            "receiver": to_base64url(self.receiver),
            "first_day": self.first_day,
            "days": self.days,
            "boxes": {role.name.lower(): to_base64url(box) for role, box in self.boxes.items()},
            "halves": [to_base64url(half.encode()) for half in self.halves],
        }

    @classmethod
    def decode(cls, text: str) -> Self:
        """Raises ``InputError``, and repeats nothing of the text."""
        msg = "this is no consignment of `voile share party consign`, or not the whole of it"
        try:
            document = json.loads(text)
            if document["voile"] == _WHAT and document["version"] > _VERSION:
                newer = "a newer Voile made this consignment; update Voile"
                raise InputError(newer)
            made = cls._read(document)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError, Base64Error):
            raise InputError(msg) from None
        made.check()
        return made

    @classmethod
    def _read(cls, document: Any) -> Self:
        if (document["voile"], document["version"]) != (_WHAT, _VERSION):
            raise ValueError
        first_day, days = document["first_day"], document["days"]
        if not (isinstance(first_day, int) and isinstance(days, int) and 1 <= days <= MOST_DAYS):
            raise ValueError
        return cls(
            from_base64url(document["carrier"]),
            document["parcel"].encode("utf-8", "surrogateescape"),
            from_base64url(document["sender"]),
            from_base64url(document["receiver"]),
            first_day,
            days,
            {role: from_base64url(document["boxes"][role.name.lower()]) for role in protocol.Role},
            tuple(protocol.Submission.decode(from_base64url(half)) for half in document["halves"]),
        )

    def check(self) -> None:
        """Raise ``InputError`` unless a truck of the carrier would take every half."""
        machine = protocol.TrackingKeys(bytes(16)).carrying(self.waybill)
        for half in self.halves:
            machine = machine.receive(half.encode(), today=self.first_day)
        days = range(self.first_day, self.first_day + self.days)
        whole = all(len(machine.addressed(day)) == len(protocol.Role) for day in days)
        if not whole or any(len(box) != 32 for box in self.boxes.values()):
            msg = "the consignment lacks a half of a day, or a key of a reader"
            raise InputError(msg)
