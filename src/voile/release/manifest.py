"""Which files have the rows of a release: one, or several parts, as ``release.json`` lists them.

Under ``data`` stands each file with its length and its SHA-256, in the order of the rows.  Reading
a release holds names and lengths against the folder, so that a part that is missing, or was written
halfway, is found before a figure is made of the others; ``voile ledger verify`` reads the hashes,
too.  Releases of before have no such list, and one file.

Cost: one pass over the bytes of a release as it is written, and as it is verified.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from voile.errors import TableError

__all__ = ["changed_files", "listed_files", "manifest_of"]

_FILE = re.compile(r"data\.[a-z0-9]+|data/[A-Za-z0-9_][A-Za-z0-9_.-]*\.parquet")
"""What may be listed: never a path out of the folder."""


def manifest_of(folder: Path, files: Sequence[str]) -> list[dict[str, Any]]:
    """What ``release.json`` lists of the files that an engine has written to a folder."""
    return [
        {"file": name, "bytes": (folder / name).stat().st_size, "sha256": _digest(folder / name)}
        for name in files
    ]


def listed_files(document: Mapping[str, Any], folder: Path) -> list[str] | None:
    """The files of a release in their order; None where its document lists none.

    Raises ``TableError`` where the folder has others, or others of them.
    """
    listed = document.get("data")
    if listed is None:
        return None
    names = [part["file"] for part in listed]
    if not names or not all(isinstance(name, str) and _FILE.fullmatch(name) for name in names):
        msg = f"{folder}: release.json lists no files that can hold its rows"
        raise TableError(msg)
    for part in listed:
        file = folder / part["file"]
        if not file.is_file():
            msg = f"{file}: this part of the release is missing; take the folder as it was made"
            raise TableError(msg)
        if file.stat().st_size != part["bytes"]:
            msg = f"{file}: this part of the release was changed; take the folder as it was made"
            raise TableError(msg)
    if len(names) > 1:
        beside = {f"data/{file.name}" for file in (folder / "data").iterdir()}
        if beside != set(names):
            msg = (
                f"{folder}/data: the release does not list all files there; take the folder as it "
                "was made"
            )
            raise TableError(msg)
    return names


def changed_files(document: Mapping[str, Any], folder: Path) -> list[str]:
    """What is not as ``release.json`` lists it, a clause each."""
    try:
        if listed_files(document, folder) is None:
            return []
        return [
            f"{part['file']} was changed since it was published"
            for part in document["data"]
            if _digest(folder / part["file"]) != part["sha256"]
        ]
    except TableError as error:
        return [str(error)]
    except (OSError, KeyError, TypeError):
        return ["its list of files cannot be read"]


def _digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
