"""``signatures.json``, which is published, and ``salts.json``, which stays with the evidence.

Both are read only as they are written, byte by byte: another space is a change.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from voile.signing.statement import Hex, Statement
from voile.study.documents import json_text
from voile_base.durable import replace_private_file
from voile_base.errors import InputError, RefusedError
from voile_base.values.value import Value, read

__all__ = ["SALTS", "Role", "Salts", "Signature", "Signed", "read_signed", "write_signed"]

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


def _as_written(path: Path, kind: Any) -> Any:
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
