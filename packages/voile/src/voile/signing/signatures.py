"""``signatures.json``, which is published, and ``salts.json``, which stays with the evidence.

Both are read only as they are written, byte by byte: another space is a change.

What is signed: all published files by their hashes, private ones by commitments, the policy.

The statement is public.  A plain hash of private figures could be guessed: there are not many that
a rate can be.  So a private file enters as SHA-256 of a secret salt of 32 bytes, its name and its
content; salts stay with the private part (``salts.json``), and who has that may open each
commitment.  The policy, which is public, stands there word by word.

A signature is over the statement, the role as which somebody signs, and the public key, as JSON
with sorted keys and without spaces.

Keys of signers: Ed25519 (RFC 8032), by the library ``cryptography``.

A key file holds the private key in PKCS #8 as PEM, unencrypted, and is for its owner alone: one
that others may read is refused.  A public key is a text, "ed25519:" and 64 hexadecimal digits.
"""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Literal

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from pydantic import Field

from voile.policy.case import FileDocument
from voile.study.documents import json_text
from voile_base.durable import new_private_file, replace_private_file
from voile_base.errors import InputError, RefusedError
from voile_base.randomness import Randomness
from voile_base.values.value import Value, read

__all__ = [
    "SALTS",
    "Commitment",
    "Role",
    "Salts",
    "Signature",
    "Signed",
    "Statement",
    "commitment_to",
    "holds",
    "message_of",
    "new_key",
    "public_key",
    "public_text",
    "read_key",
    "read_signed",
    "write_signed",
]


Hex = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class Commitment(Value):
    """A private file, which only those can hold against it who have it and its salt."""

    file: str
    commitment: Hex


class Statement(Value):
    """What all signers say of a release: that all this belongs together, and has passed."""

    judged: Literal["study", "audit"]
    files: tuple[FileDocument, ...]
    """All that is published, but for the signatures."""
    private: tuple[Commitment, ...]
    """Record, report, verdict and assumptions."""
    policy: str
    """The whole text."""
    passed: Literal[True]
    """What the verdict says; nothing else can be signed."""


def commitment_to(folder: Path, name: str, salt: str) -> Commitment:
    """A commitment to a private file by a salt, in hexadecimal; raises ``InputError``."""
    try:
        content = (folder / name).read_bytes()
    except OSError as error:
        msg = f"{folder / name}: it cannot be read ({error.strerror or 'input or output error'})"
        raise InputError(msg) from None
    said = bytes.fromhex(salt) + f"voile-commitment-1\0{name}\0".encode() + content
    return Commitment(file=name, commitment=sha256(said).hexdigest())


def message_of(statement: Statement, role: str, key: str) -> bytes:
    """The bytes that somebody signs."""
    said: Mapping[str, object] = {"statement": statement.document(), "role": role, "key": key}
    return b"voile-signature-1\0" + json.dumps(
        said, sort_keys=True, separators=(",", ":"), allow_nan=False
    ).encode("ascii")


SALTS = "salts.json"
_PUBLIC_MODE = 0o644
Role = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f\x7f]+$")]


class Signature(Value):
    """One signature of the statement."""

    role: Role
    key: Annotated[str, Field(pattern="^ed25519:[0-9a-f]{64}$")]
    signature: Annotated[str, Field(pattern="^[0-9a-f]{128}$")]


class Signed(Value):
    """A statement, and all who have signed it."""

    format: Literal["voile-signatures-1"] = "voile-signatures-1"
    statement: Statement
    signatures: tuple[Signature, ...]


class Salts(Value):
    """The salts of commitments by file; private."""

    private: Literal["PRIVATE: opens the commitments of signatures.json"] = (
        "PRIVATE: opens the commitments of signatures.json"
    )
    salts: Mapping[str, Hex]


def read_signed(path: Path) -> Signed:
    """The signatures of a file; raises ``RefusedError`` where it is not as it was written."""
    found: Signed = _as_written(path, Signed)
    return found


def read_salts(path: Path) -> Salts:
    """The salts of a file; raises ``RefusedError`` where it is not as it was written."""
    found: Salts = _as_written(path, Salts)
    return found


def write_signed(path: Path, signed: Signed) -> None:
    """Write signatures, in the place of those that are there; raises ``InputError``."""
    replace_private_file(path, json_text(signed.document()), _PUBLIC_MODE)


def write_salts(path: Path, salts: Salts) -> None:
    """Write salts; raises ``InputError``."""
    replace_private_file(path, json_text(salts.document()))


def _as_written(path: Path, kind: object) -> Any:
    changed = f"{path}: it was changed since it was written"
    try:
        text = path.read_bytes().decode("utf-8")
        found = read(kind, json.loads(text), str(path))
        same = json_text(found.document()) == text
    except FileNotFoundError:
        msg = f"{path}: it is missing"
        raise RefusedError(msg) from None
    except (OSError, ValueError, RecursionError, InputError):
        raise RefusedError(changed) from None
    if not same:
        raise RefusedError(changed)
    return found


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
