"""Messages as bytes: a header of three bytes, then fields of fixed sizes, then nothing.

The header is the version of the protocol, the kind of the message and the code of its suite.
Numbers are unsigned and big-endian.  Every message has one encoding: what a decoder accepts,
encodes to the same bytes again.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NoReturn

from voile_base.errors import InputError
from voile_share.protocol.rejection import Reason, RejectedError

__all__ = [
    "TRUCK_BYTES",
    "VERSION",
    "Kind",
    "WireFields",
    "checked_bytes",
    "checked_number",
    "framed",
    "header",
    "number",
    "opened",
]

VERSION = 1
TRUCK_BYTES = 16
_HEADER_BYTES = 3


class Kind(IntEnum):
    """Which message it is."""

    CHALLENGE = 1
    RESPONSE = 2
    COMPLETION = 3
    SUBMISSION = 4
    SEALED = 5
    REPORT = 6
    RECORD = 7
    LINK = 8
    CARD = 9
    PARCEL_LINK = 10
    NOTICE = 11
    SEALED_NOTICE = 12


_NAMES = {Kind.SEALED: "sealed submission"}
"""Of kinds that messages to people call by other words than here."""


def header(kind: Kind, suite: int) -> bytes:
    """The first bytes of every message."""
    return bytes((VERSION, kind, suite))


def number(value: int, size: int) -> bytes:
    """An unsigned number of ``size`` bytes."""
    return value.to_bytes(size, "big")


def framed(*parts: bytes) -> bytes:
    """Parts with their lengths before them: two different sequences never read the same."""
    return b"".join([piece for part in parts for piece in (len(part).to_bytes(4, "big"), part)])


def opened(message: bytes, kind: Kind) -> tuple[int, WireFields]:
    """The suite's code and the fields of a message; raises ``RejectedError``."""
    fields = WireFields(message, _NAMES.get(kind) or kind.name.lower().replace("_", " "))
    version, its_kind, suite = fields.take(_HEADER_BYTES)
    if version != VERSION:
        fields.reject(Reason.VERSION, f"is of version {version}, and this program reads {VERSION}")
    if its_kind != kind:
        fields.reject(Reason.KIND, f"is of kind {its_kind}; kind {int(kind)} was awaited")
    return suite, fields


class WireFields:
    """The rest of a message, taken field by field."""

    def __init__(self, message: bytes, what: str) -> None:
        self._message = bytes(message)
        self._what = what
        self._place = 0

    def take(self, size: int) -> bytes:
        """The next ``size`` bytes."""
        field = self._message[self._place : self._place + size]
        if len(field) < size:
            self.reject(Reason.TRUNCATED, f"ends at byte {len(self._message)}, inside a field")
        self._place += size
        return field

    def number(self, size: int) -> int:
        """The next unsigned number of ``size`` bytes."""
        return int.from_bytes(self.take(size), "big")

    def padded(self, size: int) -> bytes:
        """A text of 1 to ``size`` bytes: its length, the text, zeros."""
        length, field = self.number(1), self.take(size)
        if not 1 <= length <= size or any(field[length:]):
            self.reject(Reason.FIELD, f"holds a text that is not one of 1 to {size} bytes")
        return field[:length]

    def taken(self) -> bytes:
        """Everything up to here, the header included."""
        return self._message[: self._place]

    def finish(self) -> None:
        """Nothing may follow."""
        left = len(self._message) - self._place
        if left:
            self.reject(Reason.TRAILING, f"goes on for {left} bytes after its last field")

    def reject(self, reason: Reason, why: str) -> NoReturn:
        """Say what is wrong with this message."""
        msg = f"the {self._what} {why}"
        raise RejectedError(reason, msg)


def checked_bytes(name: str, value: bytes, least: int, most: int | None = None) -> None:
    """Raise ``InputError`` unless a caller's value has the right number of bytes."""
    most = least if most is None else most
    if not isinstance(value, bytes) or not least <= len(value) <= most:
        size = f"{least}" if least == most else f"{least} to {most}"
        msg = f"{name} must be {size} bytes"
        raise InputError(msg)


def checked_number(name: str, value: int, bits: int) -> None:
    """Raise ``InputError`` unless a caller's value is a whole number that fits its field."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << bits:
        msg = f"{name} must be a whole number from 0 to 2**{bits} - 1"
        raise InputError(msg)
