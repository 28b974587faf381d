"""A map's document as a service sends it: checked once, packed once, and named by its content."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from voile.errors import InputError
from voile.sharing.map.document import FORMAT, VERSION

__all__ = ["MAP_PATH", "MapFile", "read_map"]

MAP_PATH = "/map/roads.json"
"""Where the page asks for it."""


@dataclass(frozen=True)
class MapFile:
    """The body of an answer, in both forms; send ``gzipped`` to who accepts gzip."""

    body: bytes = field(repr=False)
    gzipped: bytes = field(repr=False)
    etag: str
    """A strong one, with its quotes."""
    content_type: str = "application/json"


def read_map(path: str | Path) -> MapFile:
    """Read what ``voile share roads`` wrote; raises ``InputError`` where it is something else."""
    place = Path(path)
    try:
        body = place.read_bytes()
    except OSError as error:
        msg = f"{place}: the road map cannot be read ({error.strerror or 'input error'})"
        raise InputError(msg) from None
    try:
        document = json.loads(body)
        known = (document["format"], document["version"]) == (FORMAT, VERSION)
    except (ValueError, TypeError, KeyError, RecursionError):
        known = False
    if not known:
        msg = f"{place}: this is no road map of the page; make one with: voile share roads"
        raise InputError(msg)
    return MapFile(body, gzip.compress(body, 9, mtime=0), f'"{sha256(body).hexdigest()[:32]}"')
