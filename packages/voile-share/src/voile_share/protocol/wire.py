"""Messages as bytes: a header of three bytes, then fields of fixed sizes, then nothing.

The header is the version of the protocol, the kind of the message and the code of its suite.
Numbers are unsigned and big-endian.  Every message has one encoding: what a decoder accepts,
encodes to the same bytes again.

Why a message is not accepted: the only error that decoders and machines raise about one.

A reason is a word that programs can act upon; the message of the error says it in a sentence.
Neither carries a key, a location, a parcel or a name of a party.

Octets as text in addresses and JSON: base64url (RFC 4648, section 5) without padding.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from enum import IntEnum, StrEnum
from typing import NoReturn

from voile_base.errors import InputError

__all__ = [
    "TRUCK_BYTES",
    "VERSION",
    "Kind",
    "Reason",
    "RejectedError",
    "WireFields",
    "checked_bytes",
    "checked_number",
    "framed",
    "from_base64url",
    "header",
    "number",
    "opened",
    "to_base64url",
]


class Reason(StrEnum):
    """What is wrong with a message."""

    TRUNCATED = "truncated"
    """It ends before its last field."""
    TRAILING = "trailing"
    """Something follows its last field."""
    VERSION = "version"
    """It is of another version of the protocol."""
    KIND = "kind"
    """It is another message than the one awaited."""
    SUITE = "suite"
    """It is of an unknown suite, or of another one than the machine's."""
    FIELD = "field"
    """A field has a value that no honest party writes."""
    POINT = "point"
    """A point is not canonical, not in the group of prime order, or the identity."""
    TAMPERED = "tampered"
    """A ciphertext does not open: changed, reflected, moved, or under another key."""
    SIGNATURE = "signature"
    """The signature is not that of the truck or the party."""
    NONCE = "nonce"
    """It answers another run of key establishment."""
    IDENTITY = "identity"
    """It is meant for another party."""
    REPLAYED = "replayed"
    """Its slot is not later than the last one accepted."""
    FUTURE = "future"
    """Its slot has not begun."""
    FOREIGN = "foreign"
    """It comes from, or is meant for, another truck."""
    EXPIRED = "expired"
    """It is of a day for which there is no key."""
    UNEXPECTED = "unexpected"
    """It names a parcel that the truck does not carry."""
    DISAGREEMENT = "disagreement"
    """Sender and receiver, or one of them twice, submit different keys."""
    CHAIN = "chain"
    """It does not follow the record before it."""


class RejectedError(InputError):
    """A message is not accepted; ``reason`` says why, for programs."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason


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


def to_base64url(octets: bytes) -> str:
    """The text of some octets."""
    return urlsafe_b64encode(octets).rstrip(b"=").decode("ascii")


def from_base64url(text: str) -> bytes:
    """The octets of a text.

    Raises ``binascii.Error`` where its length is impossible, and ``UnicodeEncodeError``; characters
    that do not belong there are passed over.
    """
    return urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
