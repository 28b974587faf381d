"""The door out: a release as a folder of its rows and ``release.json``.

The rows are one file, such as ``data.csv``, or several parts in ``data``; ``manifest`` says which
files there are.  ``release.json`` is written last: a folder without it is no release.

A folder appears whole, by a rename, or not at all.  It is written under a hidden name beside its
place, flushed to the disk, and renamed; whatever goes wrong before the rename leaves nothing at
the place itself.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from voile.durable import sync, write_text
from voile.errors import InputError
from voile.release.manifest import manifest_of
from voile.table.formats.registry import Format, refusal
from voile.table.published import PublishedTable

__all__ = [
    "appearing_folder",
    "check_new_folder",
    "format_for",
    "write_release",
]

DOCUMENT = "release.json"
HIDDEN = ".voile-"
"""How the name of an unfinished folder begins."""


class Writable(Protocol):
    """What a release is for its folder."""

    @property
    def table(self) -> PublishedTable:
        """Its data."""

    def document(self) -> dict[str, Any]:
        """What ``release.json`` says of it."""


def check_new_folder(path: str | Path) -> Path:
    """A path at which a folder can appear; raises ``InputError`` where something stands there."""
    place = Path(path)
    try:
        taken = place.exists() or place.is_symlink()
    except OSError as error:
        msg = f"{place}: no folder can stand there ({error.strerror}); choose another path"
        raise InputError(msg) from None
    if taken:
        msg = f"{place}: something stands there already; name a folder that does not exist yet"
        raise InputError(msg)
    parent = place.absolute().parent
    if not parent.is_dir():
        msg = f"{place}: the folder {parent} does not exist; make it first"
        raise InputError(msg)
    if not os.access(parent, os.W_OK | os.X_OK):
        msg = f"{place}: no permission to write in {parent}"
        raise InputError(msg)
    return place


def format_for(release: Writable, asked: Format | None, usual: Format) -> Format:
    """The format in which a release is written: the one asked for, or the usual one if it can be.

    Where the usual one cannot hold the release, that is Parquet.  Raises ``InputError`` where the
    one asked for cannot.
    """
    why = refusal(asked or usual, release.table.columns, release.table.rows)
    if why is None:
        return asked or usual
    if asked is None:
        return "parquet"
    msg = f"--format {asked}: {why}"
    raise InputError(msg)


def write_release(release: Writable, path: str | Path, file_format: Format = "parquet") -> Path:
    """Write a release to a folder that does not exist yet; returns the folder.

    Raises ``InputError`` where the folder exists or cannot be written; nothing is left then.
    """
    place = check_new_folder(path)
    with appearing_folder(place) as folder:
        files = release.table.write(folder, file_format)
        described = release.document() | {"data": manifest_of(folder, files)}
        document = json.dumps(described, indent=2, ensure_ascii=False)
        write_text(folder / DOCUMENT, document + "\n")
    return place


@contextmanager
def appearing_folder(place: Path, what: str = "the release", mode: int = 0o755) -> Iterator[Path]:
    """A hidden folder that is renamed to its place at the end, or removed.

    ``what`` it holds is for messages.  Raises ``InputError`` where the disk fails; nothing is left
    then.
    """
    parent = place.absolute().parent
    try:
        hidden = Path(tempfile.mkdtemp(prefix=HIDDEN, suffix=".partial", dir=parent))
    except OSError as error:
        msg = f"{place}: the folder cannot be made ({error.strerror}); choose another path"
        raise InputError(msg) from None
    try:
        yield hidden
        hidden.chmod(mode & ~_umask())
        sync(hidden)
        check_new_folder(place)
        hidden.rename(place)
        try:
            sync(parent)
        except BaseException:
            place.rename(hidden)  # a release that may be gone after a crash has not appeared
            raise
    except OSError as error:
        reason = error.strerror or "input or output error"
        msg = f"{place}: {what} cannot be written ({reason}); mend the disk and run this again"
        raise InputError(msg) from None
    finally:
        shutil.rmtree(hidden, ignore_errors=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
