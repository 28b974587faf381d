"""The group of Curve25519, by PyNaCl's operations: points of Edwards form, and X25519.

Points of Edwards form are accepted only where they are canonical, in the subgroup of prime order
and not of small order: a hostile point never meets a secret scalar.  X25519 takes u-coordinates;
those that are not below the prime are rejected, and so are those that lead to the zero secret,
which are the points of small order.  Points of the twist are harmless to X25519 (RFC 7748,
section 7), since its scalars are multiples of the cofactor and the twist has a large prime order.

The two forms are one group.  Nothing here multiplies or adds by itself.
"""

from __future__ import annotations

from functools import cache
from hashlib import sha512
from importlib import import_module
from typing import Any

from voile_base.errors import InputError
from voile_share.protocol.wire import Reason, RejectedError

__all__ = [
    "POINT_BYTES",
    "added",
    "canonical_coordinate",
    "check_coordinate",
    "check_point",
    "multiple",
    "multiple_of_base",
    "reduced",
    "signature",
    "x25519",
    "x25519_public",
]

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


def signature(pair: bytes, message: bytes) -> bytes:
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
