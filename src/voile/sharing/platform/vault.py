"""The key that seals what the platform must keep and nobody may read: a file of its own.

Secrets of trucks, states of streams and destinations are stored as AES-256-GCM ciphertexts, each
bound to what it is and whose.  Whoever has the database without this file reads none of them.
Whoever has both can publish as the trucks that do not encrypt themselves, and sees where their
parcels go; true positions are in neither (``writing``).  Keep the two apart in backups.
"""

from __future__ import annotations

from pathlib import Path
from typing import Self

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from voile.errors import InputError
from voile.randomness import Key, Randomness
from voile.sharing.platform.key_file import new_key, read_key

__all__ = ["Vault"]

_NONCE_BYTES = 12


class Vault:
    """Seals and unseals; ``Vault.create`` makes the key, ``Vault.open`` reads it."""

    def __init__(self, secret: bytes) -> None:
        """``secret``: 32 bytes."""
        self._secret = secret
        self._root = Randomness(Key(secret).secret, publishable=True)
        self._cipher = AESGCM(self._root.key("vault").secret)

    def __repr__(self) -> str:
        return "Vault(secret)"

    def __reduce__(self) -> tuple[type[Vault], tuple[bytes]]:
        # For processes of the platform's own, which get it by a pipe.
        return Vault, (self._secret,)

    @classmethod
    def create(cls, path: Path) -> Self:
        """Write a new key to a file that only its owner may read; raises ``InputError``."""
        return cls(new_key(path, "vault"))

    @classmethod
    def open(cls, path: Path) -> Self:
        """Read the key; raises ``InputError`` where others may read it, too."""
        return cls(read_key(path))

    def randomness(self, *purpose: str) -> Randomness:
        """Draws that only the holder of the key can repeat."""
        return self._root.within(*purpose)

    def seal(self, context: bytes, secret: bytes) -> bytes:
        """A ciphertext that opens in this context alone; 28 bytes longer."""
        nonce = Randomness.secure().key("nonce").secret[:_NONCE_BYTES]
        return nonce + self._cipher.encrypt(nonce, secret, context)

    def unseal(self, context: bytes, sealed: bytes) -> bytes:
        """The inverse; raises ``InputError`` where key or context is another one."""
        try:
            return self._cipher.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], context)
        except (InvalidTag, ValueError):
            msg = "what the store holds was sealed by another key: use the key it began with"
            raise InputError(msg) from None
