"""The door out: a release as a folder of its rows and ``release.json``.

The rows are ``data.csv`` or ``data.parquet``, or several parts in ``data``; ``manifest`` says which
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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from voile.disclosure.disclosure import Disclosure
from voile.durable import sync, write_text
from voile.errors import InputError, TableError
from voile.release.format_1 import disclosure_of, guarantee_document
from voile.release.manifest import listed_files, manifest_of
from voile.release.release import Guarantee, Release, SeriesPlace
from voile.table.engines import AUTO
from voile.table.opening import open_published
from voile.table.protocol import Engine, Format
from voile.table.published import PublishedTable
from voile.values.value import read

__all__ = [
    "appearing_folder",
    "check_new_folder",
    "document_of",
    "read_release",
    "write_release",
]

DOCUMENT = "release.json"
HIDDEN = ".voile-"
"""How the name of an unfinished folder begins."""
FORMAT = 2
"""Of ``release.json``; the first had no number."""


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


def write_release(release: Release, path: str | Path, file_format: Format = "parquet") -> Path:
    """Write a release to a folder that does not exist yet; returns the folder.

    Raises ``InputError`` where the folder exists or cannot be written; nothing is left then.
    """
    place = check_new_folder(path)
    with appearing_folder(place) as folder:
        files = release.table.write(folder, file_format)
        described = document_of(release) | {"data": manifest_of(folder, files)}
        document = json.dumps(described, indent=2, ensure_ascii=False)
        write_text(folder / DOCUMENT, document + "\n")
    return place


def read_release(path: str | Path, *, engine: Engine | str = AUTO) -> Release:
    """Read a release back from its folder; raises ``TableError`` where it is not one.

    ``engine`` holds its rows, or is its name.
    """
    folder = Path(path)
    if not folder.is_dir():
        msg = f"{folder}: there is no such release folder"
        raise TableError(msg)
    try:
        document = json.loads((folder / DOCUMENT).read_text(encoding="utf-8"))
        return _release(document, folder, engine)
    except FileNotFoundError:
        msg = f"{folder}: this is not a release: it has no {DOCUMENT}"
        raise TableError(msg) from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        msg = f"{folder / DOCUMENT}: this does not describe a release of Voile"
        raise TableError(msg) from None


def document_of(release: Release) -> dict[str, Any]:
    """What ``release.json`` says of a release."""
    document: dict[str, Any] = {
        "format": FORMAT,
        "voile": release.voile,
        "method": dict(release.method),
        "guarantee": release.guarantee.document(),
        "rows": release.rows,
        "publishable": release.publishable,
        "release_id": release.release_id,
        **release.disclosure.document(),
        "roles": {role: list(names) for role, names in release.roles.items()},
        "types": dict(release.table.kinds()),
    }
    if release.series:
        document["series"] = {"name": release.series.name, "version": release.series.version}
    return document


def _release(document: Mapping[str, Any], folder: Path, engine: Engine | str) -> Release:
    """A release from its document, of this format or of the first."""
    series = document.get("series")
    texts = [name for name, kind in document["types"].items() if kind == "text"]
    table = open_published(folder, texts, listed_files(document, folder), engine)
    disclosure, roles = _shown(document, folder, table)
    _require_columns(disclosure, table, folder)
    return Release(
        table=table,
        method=document["method"],
        disclosure=disclosure,
        guarantee=Guarantee.of_document(_promised(document), f"{folder / DOCUMENT}: guarantee"),
        roles={role: tuple(names) for role, names in roles.items()},
        release_id=document["release_id"],
        publishable=document["publishable"],
        series=SeriesPlace(series["name"], series["version"]) if series else None,
        voile=document["voile"],
    )


def _shown(
    document: Mapping[str, Any], folder: Path, table: PublishedTable
) -> tuple[Disclosure, Mapping[str, Sequence[str]]]:
    """How the columns are shown, and which roles they have; raises ``TableError``."""
    number = document.get("format", 1)
    if number == 1:
        return disclosure_of(document, table), document["columns"]
    if number != FORMAT:
        msg = (
            f"{folder / DOCUMENT}: this is format {number!r}, and this version of Voile reads "
            f"formats 1 and {FORMAT}; read it with the version that wrote it, or a later one"
        )
        raise TableError(msg)
    stated = {name: document[name] for name in Disclosure.model_fields if name in document}
    where = str(folder / DOCUMENT)
    return read(Disclosure, stated, where, TableError, public=True), document["roles"]


def _promised(document: Mapping[str, Any]) -> Mapping[str, Any]:
    return document["guarantee"] if "format" in document else guarantee_document(document)


def _require_columns(disclosure: Disclosure, table: PublishedTable, folder: Path) -> None:
    """Raise ``TableError`` where the data of a folder are not those that its document is about."""
    stated, shown = disclosure.published, table.columns
    for name in stated:
        if name not in shown:
            msg = f"{folder}: the data have no column {name!r}, though {DOCUMENT} says how it is "
            msg += "shown; one of them was changed"
            raise TableError(msg)
    for name in shown:
        if name not in stated:
            msg = f"{folder}: {DOCUMENT} does not say how column {name!r} is shown; one of the two "
            msg += "was changed"
            raise TableError(msg)


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
