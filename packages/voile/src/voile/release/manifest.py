"""Which files have the rows of a release, as ``release.json`` lists them, with their hashes.

Under ``data`` stands each file with its length and its SHA-256, in the order of the rows.  Whoever
reads a release compares all of it here first (``verified_files``), so that no figure is made of a
part that is missing, was altered, or was written halfway.  A release that lists no hashes is
refused: nobody can tell whether its rows were altered.

A folder may be replaced while it is read: ``VerifiedFiles.require_unchanged`` tells afterwards.

Cost: one pass over the bytes of a release as it is written, and one as it is read; in constant
memory.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from voile_base.errors import InputError, RefusedError, TableError
from voile_base.values import Document, Json

__all__ = [
    "BESIDE",
    "DOCUMENT",
    "FILE_OF_ROWS",
    "MEASUREMENTS",
    "PAGE",
    "changed_files",
    "digest_of",
    "manifest_of",
    "release_document",
    "require_hashes",
    "verified_files",
    "whole_of",
]

DOCUMENT = "release.json"
MEASUREMENTS = "measurements.parquet"
"""Noisy tables beside the rows, where these were made from some."""
PAGE = "verify.html"
"""Recounts a release in a browser; made of the parts in ``browser``."""
BESIDE = {"measurements": MEASUREMENTS, "page": PAGE}
"""What stands beside the rows, by the key that lists it."""

FILE_OF_ROWS = (
    r"(data|tables)\.[a-z0-9]+"
    r'|data/([^/\\"=\x00-\x1f]+=[^/\\"\x00-\x1f]+/)*[A-Za-z0-9_][A-Za-z0-9_.-]*\.parquet'
)
"""What may be listed, below folders that name values too: never a path out of the folder."""
_FILE = re.compile(FILE_OF_ROWS)
_DIGEST = re.compile(r"[0-9a-f]{64}")
_REMEDY = "take the folder as it was made, or publish again"

Stamp = tuple[int, int, int, int]


@dataclass(frozen=True)
class _VerifiedFiles:
    """The files of a release in their order, which are those that its document lists."""

    folder: Path
    names: tuple[str, ...]
    stamps: tuple[Stamp, ...]
    """What tells each file from another that takes its place: device, inode, bytes, time."""

    @property
    def whole(self) -> Path:
        """What is read as one table: the file, or the folder of the parts."""
        return whole_of(self.folder, self.names)

    def require_unchanged(self) -> None:
        """Raise ``RefusedError`` where a file was replaced since its hash was compared."""
        if self.stamps != _stamps(self.folder, self.names):
            msg = f"{self.folder}: the release was replaced while it was read; run this again"
            raise RefusedError(msg)


def release_document(folder: Path) -> Json:
    """What ``release.json`` says in a folder; raises ``TableError`` where there is none."""
    path = folder / DOCUMENT
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        found = (
            f"this is not a release: it has no {DOCUMENT}"
            if folder.is_dir()
            else "there is no such file or folder"
        )
        msg = f"{folder}: {found}; name the folder of a release"
        raise TableError(msg) from None
    except OSError as error:
        msg = f"{path}: it cannot be read ({error.strerror}); name the folder of a release"
        raise TableError(msg) from None
    except json.JSONDecodeError as error:
        msg = (
            f"{path}: line {error.lineno}, column {error.colno}: this is not JSON; name the folder "
            "of a release, as it was made"
        )
        raise TableError(msg) from None
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        msg = f"{path}: this does not describe a release of Voile; name the folder of a release"
        raise TableError(msg)
    return document


def require_hashes(document: Mapping[str, object], folder: Path) -> None:
    """Raise ``RefusedError`` where a document lists no file, or one without its hash."""
    listed = document.get("data")
    if not isinstance(listed, list) or not all(
        isinstance(part, dict) and "sha256" in part for part in listed
    ):
        _listed(document, folder)


def manifest_of(folder: Path, files: Sequence[str]) -> list[Json]:
    """What ``release.json`` lists of the files that an engine has written to a folder."""
    return [
        {"file": name, "bytes": (folder / name).stat().st_size, "sha256": digest_of(folder / name)}
        for name in files
    ]


def verified_files(document: Mapping[str, object], folder: Path) -> _VerifiedFiles:
    """The files of a release, each of which has the length and the hash that its document lists.

    Raises ``RefusedError`` for the first that has not, where the folder has others, and where no
    hashes are listed; ``InputError`` where a file cannot be read.
    """
    names = tuple(part["file"] for part in _listed(document, folder))
    stamps = _stamps(folder, names)
    for what in _changes(document, folder):
        raise RefusedError(f"{what}; {_REMEDY}")
    found = _VerifiedFiles(folder, names, stamps)
    found.require_unchanged()
    return found


def whole_of(folder: Path, names: Sequence[str]) -> Path:
    """What is read as one table of the files of a release: one of them, or their folder."""
    return folder / names[0] if len(names) == 1 else folder / "data"


def changed_files(document: Mapping[str, object], folder: Path) -> list[str]:
    """What is not as ``release.json`` lists it, a clause each."""
    try:
        return list(_changes(document, folder))
    except (RefusedError, InputError) as error:
        return [str(error)]


def digest_of(file: Path) -> str:
    """The SHA-256 of a file in hexadecimal; raises ``InputError`` where it cannot be read."""
    try:
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        reason = error.strerror or "input or output error"
        msg = f"{file}: it cannot be read ({reason}); check its permissions and the disk"
        raise InputError(msg) from None


def _listed(document: Document, folder: Path, key: str = "data") -> list[Document]:
    """What a document lists; raises ``RefusedError`` where that is no list of files and hashes."""
    listed = document.get(key)
    try:
        stated = [
            part["file"]
            for part in listed or ()
            if isinstance(part["bytes"], int)
            and (_FILE.fullmatch(part["file"]) if key == "data" else part["file"] == BESIDE[key])
            and _DIGEST.fullmatch(part["sha256"])
        ]
    except (KeyError, TypeError, IndexError):
        stated = []
    if not stated or len(stated) != len(listed or ()):
        msg = (
            f"{folder / DOCUMENT}: it lists no file with its SHA-256, so that altered rows "
            f"could not be told from published ones; {_REMEDY}"
        )
        raise RefusedError(msg)
    return list(listed or ())


def _changes(document: Document, folder: Path) -> Iterator[str]:
    """What is not as it is listed; raises as ``_listed`` and ``digest_of`` do."""
    listed = _listed(document, folder)
    for key in BESIDE.keys() & document.keys():
        listed += _listed(document, folder, key)
    for part in listed:
        file = folder / part["file"]
        if not file.is_file():
            yield f"{file}: this part of the release is missing"
        elif file.stat().st_size != part["bytes"] or digest_of(file) != part["sha256"]:
            yield f"{file}: this file was changed since it was published"
    names = {part["file"] for part in listed}
    above = {str(each) for name in names for each in PurePosixPath(name).parents}
    parts = [file.relative_to(folder).as_posix() for file in (folder / "data").rglob("*")]
    parts = [name for name in parts if name not in above]
    beside = [file.name for file in folder.iterdir() if _FILE.fullmatch(file.name)]
    beside += [name for name in BESIDE.values() if (folder / name).exists()]
    for name in sorted({*parts, *beside} - names):
        yield f"{folder / name}: the release does not list this file"


def _stamps(folder: Path, names: Sequence[str]) -> tuple[Stamp, ...]:
    """What tells the files from others; a missing one has no stamp."""
    found = []
    for name in names:
        try:
            of = (folder / name).stat()
        except OSError:
            continue
        found.append((of.st_dev, of.st_ino, of.st_size, of.st_mtime_ns))
    return tuple(found)
