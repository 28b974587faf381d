"""The door out: a release as a folder of its rows and ``release.json``.

The rows are one file, such as ``data.csv``, or several parts in ``data``; ``manifest`` says which
files there are.  ``release.json`` is written last: a folder without it is no release.

A folder appears whole, by a rename, or not at all.  It is written under a hidden name beside its
place (``UnseenFolder``), flushed to the disk, and renamed; whatever goes wrong before the rename
leaves nothing at the place itself.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from voile.release.document import stated_in
from voile.release.manifest import DOCUMENT, MEASUREMENTS, manifest_of
from voile.table.formats.registry import Format, refusal
from voile.table.published import PublishedTable
from voile_base.durable import sync, write_text
from voile_base.errors import InputError

__all__ = [
    "UnseenFolder",
    "appearing_folder",
    "check_new_folder",
    "format_for",
    "write_document",
    "write_measurements",
    "write_release",
]

HIDDEN = ".voile-"
"""How the name of an unfinished folder begins."""


class Writable(Protocol):
    """What a release is for its folder."""

    @property
    def table(self) -> PublishedTable:
        """Its data."""

    @property
    def measurements(self) -> PublishedTable | None:
        """Noisy tables beside them, if there are some."""

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
        write_measurements(release, folder)
        write_document(release, folder, manifest_of(folder, files))
    return place


def write_measurements(release: Writable, folder: Path) -> None:
    """Write the noisy tables of a release that has some, durably."""
    if release.measurements is None:
        return
    hidden = folder / f"{HIDDEN}measurements"
    hidden.mkdir()
    (written,) = release.measurements.write(hidden, "parquet")
    (hidden / written).rename(folder / MEASUREMENTS)
    hidden.rmdir()
    sync(folder)


def write_document(release: Writable, folder: Path, data: Sequence[Mapping[str, Any]]) -> None:
    """Write ``release.json``, last of all, beside the files that ``data`` lists."""
    described = release.document() | {"data": data}
    if release.measurements is not None:
        described["measurements"] = manifest_of(folder, [MEASUREMENTS])
    stated_in(described, folder)
    document = json.dumps(described, indent=2, ensure_ascii=False)
    write_text(folder / DOCUMENT, document + "\n")


class UnseenFolder:
    """A hidden folder that is renamed to its place, or removed.

    ``what`` it holds is for messages.  Raises ``InputError`` where it cannot be made.
    """

    def __init__(self, place: Path, what: str = "the release", mode: int = 0o755) -> None:
        self._place, self._what, self._mode = place, what, mode
        parent = place.absolute().parent
        try:
            self.path = Path(tempfile.mkdtemp(prefix=HIDDEN, suffix=".partial", dir=parent))
        except OSError as error:
            msg = f"{place}: the folder cannot be made ({error.strerror}); choose another path"
            raise InputError(msg) from None

    @contextmanager
    def writing(self) -> Iterator[Path]:
        """Around what fills the folder: ``InputError`` names the place where the disk fails."""
        try:
            yield self.path
        except OSError as error:
            reason = error.strerror or "input or output error"
            msg = f"{self._place}: {self._what} cannot be written ({reason}); "
            msg += "mend the disk and run this again"
            raise InputError(msg) from None

    def appear(self) -> None:
        """Rename the folder to its place, durably or not at all; raises ``InputError``."""
        with self.writing() as hidden:
            hidden.chmod(self._mode & ~_umask())
            sync(hidden)
            check_new_folder(self._place)
            hidden.rename(self._place)
            try:
                sync(self._place.absolute().parent)
            except BaseException:
                # A release that may be gone after a crash has not appeared.
                self._place.rename(hidden)
                raise

    def remove(self) -> None:
        """Remove the folder, unless it has appeared."""
        shutil.rmtree(self.path, ignore_errors=True)


@contextmanager
def appearing_folder(place: Path, what: str = "the release", mode: int = 0o755) -> Iterator[Path]:
    """An ``UnseenFolder`` to be filled, that appears at the end, or is removed.

    Raises ``InputError`` where the disk fails; nothing is left then.
    """
    unseen = UnseenFolder(place, what, mode)
    try:
        with unseen.writing() as folder:
            yield folder
        unseen.appear()
    finally:
        unseen.remove()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
