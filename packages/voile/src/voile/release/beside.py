"""Releases that stand beside the place of a new one, or in folders that somebody names.

A release is known again by what its ``release.json`` says to everybody: the name of its series, or
of the data set whose budget it spent, and its ``release_id``, 128 random bits that tell nothing.
A folder that ``voile study`` made holds its release one level deeper.  What cannot be read is not a
release; neither is a hidden folder that was never finished, nor what was made with a seed, which is
no publication.

Cost: one small file for each folder beside the place.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from voile.release.folder import HIDDEN
from voile.release.manifest import DOCUMENT
from voile_base.errors import InputError

__all__ = ["ReleaseBeside", "releases_beside"]

_PLACES = (Path(), Path("release"))
_LARGEST = 2**26
"""Bytes of a description that is looked at."""


@dataclass(frozen=True)
class ReleaseBeside:
    """A published release of a series or of a data set with a budget."""

    folder: Path
    release_id: str
    series: str | None
    version: Any
    """Its number in the series, as it says."""
    data_set: str | None


def releases_beside(place: Path | None, named: Sequence[Path] = ()) -> Iterator[ReleaseBeside]:
    """The published releases in the folder in which a place stands, and in those that are named.

    A folder that is named is a release, or holds some.  Raises ``InputError`` where there is none.
    """
    folders = [] if place is None else _inside(place.absolute().parent)
    for folder in named:
        if not folder.is_dir():
            msg = f"--known {folder}: there is no such folder; name a release, or one with releases"
            raise InputError(msg)
        folders += [folder, *_inside(folder)]
    seen: set[Path] = set()
    for folder in folders:
        for deeper in (folder / deeper for deeper in _PLACES):
            if deeper.resolve() in seen:
                continue
            seen.add(deeper.resolve())
            document = _document(deeper / DOCUMENT)
            series = document.get("series")
            of = series if isinstance(series, dict) else {}
            if (of or document.get("data_set")) and document.get("publishable") is not False:
                yield ReleaseBeside(
                    folder=deeper,
                    release_id=str(document.get("release_id")),
                    series=of.get("name"),
                    version=of.get("version"),
                    data_set=document.get("data_set"),
                )


def _inside(folder: Path) -> list[Path]:
    """The folders in a folder, but for those never finished; none where it cannot be read."""
    try:
        return sorted(one for one in folder.iterdir() if not one.name.startswith(HIDDEN))
    except OSError:
        return []


def _document(path: Path) -> dict[str, Any]:
    """What a file says as a JSON object; nothing where there is none."""
    try:
        if not path.is_file() or path.stat().st_size > _LARGEST:
            return {}
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}
