"""Secrets in files of their own, which only the owner of the file may read.

Keys are 64 hexadecimal digits.  Where one takes the place of another, the file holds both for a
while, each on a line of its own, the new one first.
"""

from __future__ import annotations

import stat
from collections.abc import Sequence
from pathlib import Path

from voile_base.durable import replace_private_file, write_text
from voile_base.errors import InputError
from voile_base.randomness import Randomness

__all__ = ["new_key", "read_key", "read_keys", "replace_keys", "secret_text"]

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
