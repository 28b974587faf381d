"""The case studies: which tables their pages name, and how these come to be in a folder."""

from __future__ import annotations

import hashlib
import re
import shutil
from pathlib import Path

from tests.docs.pages import ROOT

__all__ = ["CASES", "lay_tables"]

CASES = sorted(set((ROOT / "docs" / "cases").glob("*.md")) - {ROOT / "docs/cases/README.md"})
_TABLE = re.compile(r"^\| `([\w.-]+)` \| `([0-9a-f]{64})` \|$", re.MULTILINE)


def lay_tables(case: Path, data: Path, folder: Path) -> None:
    """Copy the tables that a page names into a folder; each must have the hash that it states."""
    named = _TABLE.findall(case.read_text(encoding="utf-8"))
    assert named, f"{case.name} names no table"
    for name, digest in named:
        (found,) = data.rglob(name)
        assert hashlib.sha256(found.read_bytes()).hexdigest() == digest, name
        shutil.copyfile(found, folder / name)
