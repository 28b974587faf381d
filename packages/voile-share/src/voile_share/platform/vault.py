"""The key that seals what the platform must keep and nobody may read: a file of its own.

Secrets of trucks, states of streams and destinations are stored as AES-256-GCM ciphertexts, each
bound to what it is and whose.  Whoever has the database without this file reads none of them.
Whoever has both can publish as the trucks that do not encrypt themselves, and sees where their
parcels go; true positions are in neither (``writing``).  Keep the two apart in backups.

A key is replaced while a service runs (``rotation``): the file then holds the new one and the old
one, the first seals, both open.  A vault looks at its file now and then before it seals, and at
once where something does not open, so that no process has to be told.

Secrets in files of their own, which only the owner of the file may read.

Keys are 64 hexadecimal digits.  Where one takes the place of another, the file holds both for a
while, each on a line of its own, the new one first.
"""

from __future__ import annotations

import stat
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from voile_base.durable import replace_private_file, write_text
from voile_base.errors import InputError
from voile_base.randomness import Key, Randomness

__all__ = [
    "LOOK_SECONDS",
    "Vault",
    "new_key",
    "read_key",
    "read_keys",
    "replace_keys",
    "secret_text",
]


_KEY_BYTES = 32
_DIGITS = set("0123456789abcdef")


def new_key(path: Path, purpose: str) -> bytes:
    """Draw a key, and write it to a file that is not there yet; raises ``InputError``."""
    secret = Randomness.secure().key(purpose).secret
    try:
        write_text(path, secret.hex() + "\n", private=True, replacing=False)
    except OSError as error:
        msg = f"the key cannot be written to {path}: {error.strerror}"
        raise InputError(msg) from None
    return secret


def read_key(path: Path) -> bytes:
    """The 32 bytes of a key; raises ``InputError`` where others may read it, too."""
    (key,) = read_keys(path, most=1)
    return key


def read_keys(path: Path, most: int = 2) -> list[bytes]:
    """From one to ``most`` keys, of 32 bytes each; raises ``InputError`` as ``read_key`` does."""
    lines = secret_text(path, "the key").split()
    fit = all(len(line) == 2 * _KEY_BYTES and set(line) <= _DIGITS for line in lines)
    if not (fit and 1 <= len(lines) <= most):
        msg = f"{path} is no key: it must hold 64 hexadecimal digits"
        raise InputError(msg)
    return [bytes.fromhex(line) for line in lines]


def replace_keys(path: Path, keys: Sequence[bytes]) -> None:
    """Put keys, the first one first, in the place of what a file holds; the old or the new, whole.

    Raises ``InputError``.
    """
    replace_private_file(path, "".join(f"{key.hex()}\n" for key in keys))


def secret_text(path: Path, what: str) -> str:
    """What a file holds; raises ``InputError`` where others may read it, too."""
    try:
        mode = path.stat().st_mode
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        msg = f"{what} {path} cannot be read: {why}"
        raise InputError(msg) from None
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        msg = f"others than its owner may read {what} {path}: chmod 600 {path}"
        raise InputError(msg)
    return text


_NONCE_BYTES = 12
LOOK_SECONDS = 2.0
"""Between two looks at the file before something is sealed."""

_Mark = tuple[int, int, int]


class Vault:
    """Seals and unseals; ``Vault.create`` makes the key, ``Vault.open`` reads it."""

    def __init__(self, *secrets: bytes, path: Path | None = None) -> None:
        """``secrets``: keys of 32 bytes, of which the first one seals; ``path``: their file."""
        self._path = path
        self._mark = None if path is None else _mark(path)
        self._looked = time.monotonic()
        self._take(secrets)

    def _take(self, secrets: Sequence[bytes]) -> None:
        self._secrets = tuple(secrets)
        # The oldest one is the root of draws that must stay the same.
        self._root = Randomness(Key(self._secrets[-1]).secret, publishable=True)
        self._ciphers = tuple(
            AESGCM(Randomness(Key(secret).secret, publishable=True).key("vault").secret)
            for secret in self._secrets
        )

    def __repr__(self) -> str:
        return "Vault(secret)"

    def __reduce__(self) -> tuple[Callable[..., Vault], tuple[object, ...]]:
        # For processes of the platform's own, which get it by a pipe.
        return _again, (self._secrets, self._path)

    @classmethod
    def create(cls, path: Path) -> Self:
        """Write a new key to a file that only its owner may read; raises ``InputError``."""
        return cls(new_key(path, "vault"), path=path)

    @classmethod
    def open(cls, path: Path) -> Self:
        """Read the key; raises ``InputError`` where others may read it, too."""
        return cls(*read_keys(path), path=path)

    @property
    def secrets(self) -> tuple[bytes, ...]:
        """The keys, the one that seals first."""
        return self._secrets

    def look(self) -> bool:
        """Read the file again where it was changed; whether it was."""
        self._looked = time.monotonic()
        if self._path is None or (mark := _mark(self._path)) in {None, self._mark}:
            return False
        with suppress(InputError):  # such as one that somebody is copying: look again later
            self._take(read_keys(self._path))
            self._mark = mark
            return True
        return False

    def randomness(self, *purpose: str) -> Randomness:
        """Draws that only the holder of the key can repeat."""
        return self._root.within(*purpose)

    def seal(self, context: bytes, secret: bytes) -> bytes:
        """A ciphertext that opens in this context alone; 28 bytes longer."""
        if time.monotonic() - self._looked > LOOK_SECONDS:
            self.look()
        nonce = Randomness.secure().key("nonce").secret[:_NONCE_BYTES]
        return nonce + self._ciphers[0].encrypt(nonce, secret, context)

    def unseal(self, context: bytes, sealed: bytes) -> bytes:
        """The inverse; raises ``InputError`` where key or context is another one."""
        opened = self._opened(context, sealed)
        if opened is None and self.look():
            opened = self._opened(context, sealed)
        if opened is None:
            msg = "what the store holds was sealed by another key: use the key it began with"
            raise InputError(msg)
        return opened

    def resealed(self, context: bytes, sealed: bytes) -> bytes:
        """The same sealed by the first key; itself where it is already.  Raises ``InputError``."""
        first = self._ciphers[:1]
        if self._opened(context, sealed, first) is not None:
            return sealed
        return self.seal(context, self.unseal(context, sealed))

    def _opened(
        self, context: bytes, sealed: bytes, ciphers: Sequence[AESGCM] | None = None
    ) -> bytes | None:
        nonce, ciphertext = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
        for cipher in self._ciphers if ciphers is None else ciphers:
            with suppress(InvalidTag, ValueError):
                return cipher.decrypt(nonce, ciphertext, context)
        return None


def _again(secrets: Sequence[bytes], path: Path | None) -> Vault:
    return Vault(*secrets, path=path)


def _mark(path: Path) -> _Mark | None:
    """What changes when a file is replaced."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns
