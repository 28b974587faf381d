"""Keys from keys, draws from randomness, and AES-256-GCM: thin calls of ``cryptography``.

Every key has a label of its own, so that no two purposes share one.  Keys of single use come with
a nonce of their own from the same derivation.
"""

from __future__ import annotations

from hashlib import shake_256
from typing import Self

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from voile_base.randomness import Randomness
from voile_share.protocol.rejection import Reason, RejectedError
from voile_share.protocol.wire import framed

__all__ = ["TAG_BYTES", "SingleUse", "drawn", "hkdf", "tampered"]

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
