"""A release read back from its folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from voile.disclosure.disclosure import Disclosure
from voile.release.document import ReleaseDocument, stated_in
from voile.release.manifest import (
    DOCUMENT,
    MEASUREMENTS,
    release_document,
    require_hashes,
    verified_files,
)
from voile.release.release import Guarantee, Release
from voile.table.engines import AUTO
from voile.table.opening import open_published
from voile.table.protocol import Engine
from voile.table.published import PublishedTable
from voile_base.errors import TableError

__all__ = ["read_release"]


def read_release(path: str | Path, *, engine: Engine | str = AUTO) -> Release:
    """Read a release back from its folder, whose files are held against their hashes first.

    ``engine`` holds its rows, or is its name.  Raises ``TableError`` where the folder is no
    release, with the place in ``release.json`` that does not fit, and ``RefusedError`` where its
    files are not those that it lists.
    """
    folder = Path(path)
    if not folder.is_dir():
        msg = f"{folder}: there is no such release folder"
        raise TableError(msg)
    document = release_document(folder)
    if document.get("form") is not None:
        msg = (
            f"{folder}: this release does not hold rows, but {document['form']}; voile recount "
            "reads it"
        )
        raise TableError(msg)
    require_hashes(document, folder)
    stated = stated_in(document, folder)
    files = verified_files(document, folder)
    try:
        release = _release(document, stated, folder, files.names, engine)
    except (OSError, ValueError):
        msg = f"{folder}: the files of rows are not what {DOCUMENT} says of them"
        raise TableError(msg) from None
    files.require_unchanged()
    return release


def _release(
    document: Mapping[str, Any],
    stated: ReleaseDocument,
    folder: Path,
    files: Sequence[str],
    engine: Engine | str,
) -> Release:
    """A release from its document, as it stands there and as it was read."""
    if stated.rows == 0:
        msg = (
            f"{folder}: this release shows no row, which is what its method found; there is "
            "nothing in it to be read, asked or attacked"
        )
        raise TableError(msg)
    texts = [name for name, kind in stated.types.items() if kind == "text"]
    table = open_published(folder, texts, files, engine)
    disclosure = stated.disclosure
    _require_columns(disclosure, table, folder)
    return Release(
        table=table,
        method=document["method"],
        disclosure=disclosure,
        guarantee=Guarantee.of_document(document["guarantee"], f"{folder / DOCUMENT}: guarantee"),
        roles=stated.roles,
        release_id=stated.release_id,
        publishable=stated.publishable,
        measurements=(
            None if stated.measurements is None else open_published(folder, (), [MEASUREMENTS])
        ),
        series=stated.series,
        data_set=stated.data_set,
        open_questions=stated.open_questions or 0,
        voile=stated.voile,
    )


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
