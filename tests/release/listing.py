"""Releases whose rows were changed by somebody who also changed what is listed of their files."""

from __future__ import annotations

import json
from pathlib import Path

from voile.release.folder import DOCUMENT
from voile.release.manifest import manifest_of

__all__ = ["list_again"]


def list_again(folder: Path) -> None:
    """Let ``release.json`` list the files of a folder as they are now."""
    path = folder / DOCUMENT
    document = json.loads(path.read_text(encoding="utf-8"))
    document["data"] = manifest_of(folder, [part["file"] for part in document["data"]])
    path.write_text(json.dumps(document), encoding="utf-8")
