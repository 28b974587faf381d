"""Keys of signers: Ed25519 (RFC 8032), by the library ``cryptography``.

A key file holds the private key in PKCS #8 as PEM, unencrypted, and is for its owner alone: one
that others may read is refused.  A public key is a text, "ed25519:" and 64 hexadecimal digits.
"""

from __future__ import annotations

import re
import stat
from pathlib import Path

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from voile_base.durable import new_private_file
from voile_base.errors import InputError
from voile_base.randomness import Randomness

__all__ = ["holds", "new_key", "public_key", "public_text", "read_key"]

_PUBLIC = re.compile(r"ed25519:([0-9a-f]{64})")
_HOW = "make one with voile key FILE"


def new_key(path: Path) -> Ed25519PrivateKey:
    """Make a key and its file, which must not be there yet; raises ``InputError``."""
    key = Ed25519PrivateKey.from_private_bytes(Randomness.secure().key("signing").secret)
    text = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    new_private_file(path, text)
    return key


def read_key(path: Path) -> Ed25519PrivateKey:
    """The key of a file; raises ``InputError`` where it holds none or others may read it."""
    try:
        with path.open("rb") as file:
            mode = stat.S_IMODE(path.stat().st_mode)
            content = file.read(10_000)
    except OSError as error:
        msg = f"{path}: the key cannot be read ({error.strerror}); {_HOW}"
        raise InputError(msg) from None
    if _PUBLIC.search(content.decode("latin-1")):
        msg = f"{path}: this is a public key; sign with the file of the private one"
        raise InputError(msg)
    try:
        key = load_pem_private_key(content, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        msg = f"{path}: this is no unencrypted private key in PEM; {_HOW}"
        raise InputError(msg) from None
    if not isinstance(key, Ed25519PrivateKey):
        msg = f"{path}: this is a key of another kind than Ed25519; {_HOW}"
        raise InputError(msg)
    if mode & 0o077:
        msg = f"{path}: others may read this key (mode {mode:o}); chmod 600 it, or make a new one"
        raise InputError(msg)
    return key


def public_text(key: Ed25519PrivateKey) -> str:
    """The public key of a private one, as a text."""
    return f"ed25519:{key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw).hex()}"


def public_key(said: str) -> str:
    """The public key that a text is, or that stands in a file; raises ``InputError``."""
    if _PUBLIC.fullmatch(said.strip()):
        return said.strip()
    try:
        content = Path(said).read_bytes()[:10_000].decode("latin-1")
    except (OSError, ValueError):
        content = ""
    if "PRIVATE KEY" in content:
        msg = f"{said}: this is a private key, which nobody needs to verify; never pass it on"
        raise InputError(msg)
    if found := _PUBLIC.search(content):
        return found[0]
    msg = f"{said!r} is no public key, and no file that holds one: ed25519: and 64 digits"
    raise InputError(msg)


def holds(public: str, signature: str, message: bytes) -> bool:
    """Whether a signature, in hexadecimal, is that of a message by a public key."""
    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public.removeprefix("ed25519:")))
        key.verify(bytes.fromhex(signature), message)
    except (InvalidSignature, ValueError):
        return False
    return True
