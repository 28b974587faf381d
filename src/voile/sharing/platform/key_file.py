"""Secrets in files of their own, which only the owner of the file may read.

Keys are 64 hexadecimal digits.
"""

from __future__ import annotations

import stat
from pathlib import Path

from voile.durable import write_text
from voile.errors import InputError
from voile.randomness import Randomness

__all__ = ["new_key", "read_key", "secret_text"]

_KEY_BYTES = 32


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
    text = secret_text(path, "the key").strip()
    if len(text) != 2 * _KEY_BYTES or not set(text) <= set("0123456789abcdef"):
        msg = f"{path} is no key: it must hold 64 hexadecimal digits"
        raise InputError(msg)
    return bytes.fromhex(text)


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
