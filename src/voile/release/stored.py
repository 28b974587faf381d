"""A release read back from its folder, in this format or the first (``format_1``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from voile.disclosure.disclosure import Disclosure
from voile.errors import TableError
from voile.release.format_1 import disclosure_of, guarantee_document
from voile.release.manifest import DOCUMENT, MEASUREMENTS, release_document, verified_files
from voile.release.release import FORMAT, Guarantee, Release, SeriesPlace
from voile.table.engines import AUTO
from voile.table.opening import open_published
from voile.table.protocol import Engine
from voile.table.published import PublishedTable
from voile.values.value import read

__all__ = ["read_release"]


def read_release(
    path: str | Path, *, engine: Engine | str = AUTO, without_hashes: bool = False
) -> Release:
    """Read a release back from its folder, whose files are held against their hashes first.

    ``engine`` holds its rows, or is its name.  ``without_hashes`` reads a release that lists none,
    as the first format did: nothing tells then whether its rows were altered.

    Raises ``TableError`` where the folder is no release, and ``RefusedError`` where its files are
    not those that its ``release.json`` lists.
    """
    folder = Path(path)
    if not folder.is_dir():
        msg = f"{folder}: there is no such release folder"
        raise TableError(msg)
    document = release_document(folder)
    try:
        if without_hashes and "data" not in document:
            return _release(document, folder, None, engine)
        files = verified_files(document, folder)
        release = _release(document, folder, files.names, engine)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        msg = f"{folder / DOCUMENT}: this does not describe a release of Voile"
        raise TableError(msg) from None
    files.require_unchanged()
    return release


def _release(
    document: Mapping[str, Any], folder: Path, files: Sequence[str] | None, engine: Engine | str
) -> Release:
    """A release from its document, of this format or of the first."""
    if document["rows"] == 0:
        msg = (
            f"{folder}: this release shows no row, which is what its method found; there is "
            "nothing in it to be read, asked or attacked"
        )
        raise TableError(msg)
    if not isinstance(document["method"], dict):
        msg = "the method is a table"
        raise TypeError(msg)
    series = document.get("series")
    texts = [name for name, kind in document["types"].items() if kind == "text"]
    table = open_published(folder, texts, files, engine)
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
        measurements=(
            open_published(folder, (), [MEASUREMENTS]) if "measurements" in document else None
        ),
        series=SeriesPlace(series["name"], series["version"]) if series else None,
        data_set=document.get("data_set"),
        open_questions=document.get("open_questions", 0),
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
