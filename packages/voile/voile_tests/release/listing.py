"""Releases whose ``release.json`` lists their files as they are: changed by hand, or made up."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from voile.release.folder import DOCUMENT, manifest_of

__all__ = ["list_again", "write_listed"]


def write_listed(folder: Path, document: Mapping[str, Any]) -> None:
    """Let a folder be a release with this document, and a file of rows that it lists."""
    folder.mkdir(exist_ok=True)
    rows = folder / "data.csv"
    rows.write_text("age\n1\n", encoding="utf-8")
    listed = {**document, "data": manifest_of(folder, [rows.name])}
    (folder / DOCUMENT).write_text(json.dumps(listed), encoding="utf-8")


def list_again(folder: Path) -> None:
    """Let ``release.json`` list the files of a folder as they are now."""
    path = folder / DOCUMENT
    document = json.loads(path.read_text(encoding="utf-8"))
    document["data"] = manifest_of(folder, [part["file"] for part in document["data"]])
    path.write_text(json.dumps(document), encoding="utf-8")
