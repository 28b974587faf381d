"""What is signed: all published files by their hashes, private ones by commitments, the policy.

The statement is public.  A plain hash of private figures could be guessed: there are not many that
a rate can be.  So a private file enters as SHA-256 of a secret salt of 32 bytes, its name and its
content; salts stay with the private part (``salts.json``), and who has that may open each
commitment.  The policy, which is public, stands there word by word.

A signature is over the statement, the role as which somebody signs, and the public key, as JSON
with sorted keys and without spaces.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from voile.policy.case import FileDocument
from voile_base.errors import InputError
from voile_base.values.value import Value

__all__ = ["Commitment", "Statement", "commitment_to", "message_of"]

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
