"""Keys, draws, sealing and signatures: thin calls of ``cryptography`` and of the group.

Keys from keys, draws from randomness, and AES-256-GCM: thin calls of ``cryptography``.

Every key has a label of its own, so that no two purposes share one.  Keys of single use come with
a nonce of their own from the same derivation.

Ed25519 signatures of trucks and parties, each over a label and one message.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import shake_256
from typing import Self

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from voile_base.errors import InputError
from voile_base.randomness import Randomness
from voile_share.protocol import group
from voile_share.protocol.wire import Reason, RejectedError, checked_bytes, framed

__all__ = [
    "SIGNATURE_BYTES",
    "TAG_BYTES",
    "SingleUse",
    "check_signature",
    "check_verifying_key",
    "drawn",
    "hkdf",
    "sign",
    "tampered",
    "verifying_key",
]


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
