"""Ed25519 signatures of trucks and parties, each over a label and one message."""

from __future__ import annotations

from functools import lru_cache

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from voile_base.errors import InputError
from voile_share.protocol import group
from voile_share.protocol.rejection import Reason, RejectedError
from voile_share.protocol.wire import checked_bytes, framed

__all__ = ["SIGNATURE_BYTES", "check_signature", "check_verifying_key", "sign", "verifying_key"]

SIGNATURE_BYTES = 64


def verifying_key(seed: bytes) -> bytes:
    """The public key of a signer's 32 secret bytes."""
    return Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()


def sign(seed: bytes, label: str, message: bytes) -> bytes:
    """The signature of a message that is meant as ``label`` says."""
    return group.signature(_pair(seed), framed(label.encode(), message))


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
    checked_bytes(name, key, group.POINT_BYTES)
    try:
        _check_point(key)
    except RejectedError:
        msg = f"{name} is none: not canonical, of small order, or not in the group of prime order"
        raise InputError(msg) from None


@lru_cache(4096)
def _check_point(key: bytes) -> None:
    """Once for a key: a shop signs for many parcels, and what raises is not remembered."""
    group.check_point(key)


def check_signature(key: bytes, label: str, message: bytes, signature: bytes, what: str) -> None:
    """Raise ``RejectedError`` unless the holder of ``key`` signed the message as ``label``."""
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, framed(label.encode(), message))
    except (InvalidSignature, ValueError):
        msg = f"{what} is not signed by whom it names"
        raise RejectedError(Reason.SIGNATURE, msg) from None
