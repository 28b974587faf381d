"""Releases of a series that stand beside the place of a new one.

A release is known again by what its ``release.json`` says to everybody: the name of its series, and
its ``release_id``, 128 random bits that tell nothing.  A folder that ``voile study`` made holds its
release one level deeper.  What cannot be read is not a release; neither is a hidden folder that was
never finished, nor what was made with a seed, which is no publication.

Cost: one small file for each folder beside the place.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from voile.release.folder import DOCUMENT, HIDDEN

__all__ = ["ReleaseBeside", "releases_beside"]

_PLACES = (Path(), Path("release"))
_LARGEST = 2**26
"""Bytes of a description that is looked at."""


@dataclass(frozen=True)
class ReleaseBeside:
    """A published release of a series."""

    folder: Path
    version: Any
    """Its number in the series, as it says."""
    release_id: str


def releases_beside(place: Path, series: str) -> Iterator[ReleaseBeside]:
    """The published releases of a series whose folders stand in the same folder as a place."""
    try:
        beside = sorted(place.absolute().parent.iterdir())
    except OSError:
        return
    for folder in (found for found in beside if not found.name.startswith(HIDDEN)):
        for deeper in _PLACES:
            document = _document(folder / deeper / DOCUMENT)
            of = document.get("series")
            if (
                isinstance(of, dict)
                and of.get("name") == series
                and document.get("publishable") is not False
            ):
                release_id = str(document.get("release_id"))
                yield ReleaseBeside(folder / deeper, of.get("version"), release_id)


def _document(path: Path) -> dict[str, Any]:
    """What a file says as a JSON object; nothing where there is none."""
    try:
        if not path.is_file() or path.stat().st_size > _LARGEST:
            return {}
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}
