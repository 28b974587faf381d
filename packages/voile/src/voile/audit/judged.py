"""A copy of what was judged, beside the record: the very bytes that are checked and signed."""

from __future__ import annotations

import shutil
from pathlib import Path

from voile.table.places import file_and_part

__all__ = ["RELEASED", "keep_judged"]

RELEASED = "released"
"""The folder of an audit with the copy, under the name that the file or folder has."""


def keep_judged(released: Path, folder: Path) -> None:
    """Copy a released file, or a folder of files, into the folder of its audit.

    Of a place that is no file, such as a database, nothing is kept.  Raises ``OSError``.
    """
    source, _ = file_and_part(released)
    place = folder / RELEASED
    if source.is_dir():
        shutil.copytree(source, place / source.name)
    elif source.is_file():
        place.mkdir()
        shutil.copyfile(source, place / source.name)
