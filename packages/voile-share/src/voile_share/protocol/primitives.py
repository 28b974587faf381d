"""What the protocols are made of: messages as bytes, the group of Curve25519, keys and signatures.

The header is the version of the protocol, the kind of the message and the code of its suite.
Numbers are unsigned and big-endian.  Every message has one encoding: what a decoder accepts,
encodes to the same bytes again.

Why a message is not accepted: the only error that decoders and machines raise about one.

A reason is a word that programs can act upon; the message of the error says it in a sentence.
Neither carries a key, a location, a parcel or a name of a party.

Octets as text in addresses and JSON: base64url (RFC 4648, section 5) without padding.

Points of the group are computed by PyNaCl's operations, in Edwards form and by X25519.

Points of Edwards form are accepted only where they are canonical, in the subgroup of prime order
and not of small order: a hostile point never meets a secret scalar.  X25519 takes u-coordinates;
those that are not below the prime are rejected, and so are those that lead to the zero secret,
which are the points of small order.  Points of the twist are harmless to X25519 (RFC 7748,
section 7), since its scalars are multiples of the cofactor and the twist has a large prime order.

The two forms are one group.  Nothing here multiplies or adds by itself.

Keys from keys, draws from randomness, AES-256-GCM and Ed25519 are thin calls of ``cryptography``.
Every key has a label of its own, so that no two purposes share one; signatures are each over a
label and one message.  Keys of single use come with a nonce of their own from the same derivation.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from enum import IntEnum, StrEnum
from functools import cache, lru_cache
from hashlib import sha512, shake_256
from importlib import import_module
from typing import Any, NoReturn, Self

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from voile_base.errors import InputError
from voile_base.randomness import Randomness

__all__ = [
    "POINT_BYTES",
    "SIGNATURE_BYTES",
    "TAG_BYTES",
    "TRUCK_BYTES",
    "VERSION",
    "Kind",
    "Reason",
    "RejectedError",
    "SingleUse",
    "WireFields",
    "added",
    "canonical_coordinate",
    "check_coordinate",
    "check_point",
    "check_signature",
    "check_verifying_key",
    "checked_bytes",
    "checked_number",
    "drawn",
    "framed",
    "from_base64url",
    "hkdf",
    "multiple",
    "multiple_of_base",
    "number",
    "opened",
    "reduced",
    "sign",
    "tampered",
    "to_base64url",
    "verifying_key",
    "x25519",
    "x25519_public",
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

    def header(self, suite: int) -> bytes:
        """The first bytes of every message."""
        return bytes((VERSION, self, suite))


_NAMES = {Kind.SEALED: "sealed submission"}
"""Of kinds that messages to people call by other words than here."""


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


POINT_BYTES = 32
_PRIME = 2**255 - 19
_SIGNATURE_BYTES = 64
# Any scalar shows whether a point is of small order: X25519 makes it a multiple of the cofactor.
_PROBE = sha512(b"voile probe for small order").digest()[:32]


@cache
def _sodium() -> Any:
    """PyNaCl's bindings; raises ``InputError`` where they are not installed."""
    try:
        bindings: Any = import_module("nacl.bindings")
    except ImportError as absent:
        msg = "sharing locations needs PyNaCl: pip install voile-share"
        raise InputError(msg) from absent
    if not bindings.has_crypto_core_ed25519:
        msg = "this PyNaCl was built without operations on points: pip install voile-share"
        raise InputError(msg)
    return bindings


def reduced(wide: bytes) -> bytes:
    """A scalar, uniform to 2**-259, from 64 uniform bytes."""
    return bytes(_sodium().crypto_core_ed25519_scalar_reduce(wide))


def multiple_of_base(scalar: bytes) -> bytes:
    """The scalar times G, of Edwards form."""
    return _point(_sodium().crypto_scalarmult_ed25519_base_noclamp, scalar)


def multiple(scalar: bytes, point: bytes) -> bytes:
    """Scalar times a point of Edwards form; raises ``RejectedError`` where that is hostile."""
    return _point(_sodium().crypto_scalarmult_ed25519_noclamp, scalar, point)


def added(first: bytes, second: bytes) -> bytes:
    """The sum of two points of Edwards form that were checked before."""
    return _point(_sodium().crypto_core_ed25519_add, first, second)


def check_point(point: bytes) -> None:
    """Raise ``RejectedError`` unless a point generates the group of prime order."""
    if len(point) != POINT_BYTES or not _sodium().crypto_core_ed25519_is_valid_point(point):
        raise _hostile()


def x25519(scalar: bytes, coordinate: bytes) -> bytes:
    """The shared secret; raises ``RejectedError`` for points of small order."""
    return _point(_sodium().crypto_scalarmult, scalar, coordinate)


def x25519_public(scalar: bytes) -> bytes:
    """The public coordinate of a secret scalar."""
    return bytes(_sodium().crypto_scalarmult_base(scalar))


def _signature(pair: bytes, message: bytes) -> bytes:
    """That of Ed25519 by a seed with its public key after it: in less time than by OpenSSL."""
    return bytes(_sodium().crypto_sign(message, pair)[:_SIGNATURE_BYTES])


def canonical_coordinate(coordinate: bytes) -> bool:
    """Whether a coordinate is the one encoding of its number."""
    return int.from_bytes(coordinate, "little") < _PRIME


def check_coordinate(coordinate: bytes) -> None:
    """Raise ``RejectedError`` for a public coordinate that no honest party has."""
    if len(coordinate) != POINT_BYTES or not canonical_coordinate(coordinate):
        raise _hostile()
    x25519(_PROBE, coordinate)


def _point(operation: Any, *operands: bytes) -> bytes:
    try:
        return bytes(operation(*operands))
    except RuntimeError:
        raise _hostile() from None


def _hostile() -> RejectedError:
    msg = "a point is not canonical, not in the group of prime order, or the identity"
    return RejectedError(Reason.POINT, msg)


TAG_BYTES = 16
_KEY_BYTES, _NONCE_BYTES = 32, 12
_SHA256 = SHA256()


def hkdf(secret: bytes, size: int, label: str, *context: bytes, salt: bytes = b"") -> bytes:
    """HKDF-SHA256 (RFC 5869) with the label and the context, each with its length, as info."""
    return HKDF(_SHA256, size, salt, framed(label.encode(), *context)).derive(secret)


def drawn(randomness: Randomness, size: int, *purpose: str) -> bytes:
    """Secret bytes for one purpose."""
    return shake_256(randomness.key("sharing", *purpose).secret).digest(size)


def tampered(what: str) -> RejectedError:
    """The error of a ciphertext that does not open."""
    msg = f"{what} does not open: it was changed or moved, or the key is another one"
    return RejectedError(Reason.TAMPERED, msg)


class SingleUse:
    """AES-256-GCM under a key and a nonce derived for one message."""

    def __init__(self, secret: bytes, label: str, *context: bytes, salt: bytes = b"") -> None:
        self._derive(secret, framed(label.encode(), *context), salt)

    @classmethod
    def of(cls, secret: bytes, said: bytes, salt: bytes) -> Self:
        """The same, of a label and a context that are ``framed``."""
        made = cls.__new__(cls)
        made._derive(secret, said, salt)
        return made

    def _derive(self, secret: bytes, said: bytes, salt: bytes) -> None:
        derived = HKDF(_SHA256, _KEY_BYTES + _NONCE_BYTES, salt, said).derive(secret)
        self._cipher, self._nonce = AESGCM(derived[:_KEY_BYTES]), derived[_KEY_BYTES:]

    def seal(self, plaintext: bytes, authenticated: bytes) -> bytes:
        """The ciphertext with its tag: ``TAG_BYTES`` longer than the plaintext."""
        return self._cipher.encrypt(self._nonce, plaintext, authenticated)

    def open(self, box: bytes, authenticated: bytes, what: str) -> bytes:
        """The plaintext; raises ``RejectedError``."""
        try:
            return self._cipher.decrypt(self._nonce, box, authenticated)
        except InvalidTag:
            raise tampered(what) from None


SIGNATURE_BYTES = 64


def verifying_key(seed: bytes) -> bytes:
    """The public key of a signer's 32 secret bytes."""
    return Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()


def sign(seed: bytes, label: str, message: bytes) -> bytes:
    """The signature of a message that is meant as ``label`` says."""
    return _signature(_pair(seed), framed(label.encode(), message))


@lru_cache(4096)
def _pair(seed: bytes) -> bytes:
    """Making it takes as long as signing; a platform signs for the same trucks all day."""
    return seed + verifying_key(seed)


def check_verifying_key(name: str, key: bytes) -> None:
    """Raise ``InputError`` unless a key is one that only its holder can sign by.

    For a key of small order anybody makes signatures, of any message; and a key must have one
    encoding, or two parties that are one would look like two.  Checks of signatures do not look at
    that (RFC 8032, section 5.1.7, and OpenSSL): so the key is checked before it is kept.
    """
    checked_bytes(name, key, POINT_BYTES)
    try:
        _check_point(key)
    except RejectedError:
        msg = f"{name} is none: not canonical, of small order, or not in the group of prime order"
        raise InputError(msg) from None


@lru_cache(4096)
def _check_point(key: bytes) -> None:
    """Once for a key: a shop signs for many parcels, and what raises is not remembered."""
    check_point(key)


def check_signature(key: bytes, label: str, message: bytes, signature: bytes, what: str) -> None:
    """Raise ``RejectedError`` unless the holder of ``key`` signed the message as ``label``."""
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, framed(label.encode(), message))
    except (InvalidSignature, ValueError):
        msg = f"{what} is not signed by whom it names"
        raise RejectedError(Reason.SIGNATURE, msg) from None
