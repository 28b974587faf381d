"""Which files may be looked at: those in the folder that Studio was started in, and below it.

A name from a browser is a path relative to that folder.  One that leads out of it, by ``..``, an
absolute path or a link, is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from voile_base.errors import InputError

__all__ = ["FoundFile", "Start", "told"]

_ENDINGS = (
    ".csv",
    ".tsv",
    ".txt",
    ".parquet",
    ".arrow",
    ".feather",
    ".ipc",
    ".jsonl",
    ".ndjson",
    ".xlsx",
    ".sav",
    ".dta",
    ".sas7bdat",
    ".gpx",
)
_MAPS = (".osm", ".osm.gz", ".osm.bz2", ".pbf", ".graphml", ".geojson")
"""Endings of maps that stand in one file; a table of edges is a table."""
_DEEPEST = 3
_MOST = 500


@dataclass(frozen=True)
class FoundFile:
    """A file that may be a table."""

    name: str
    """Relative to the start folder, with ``/``."""
    size: int
    """Bytes."""


@dataclass(frozen=True)
class Start:
    """The folder that Studio was started in."""

    folder: Path

    def inside(self, name: str) -> Path:
        """The path of a name from a browser; raises ``InputError`` where it leads out."""
        root = self.folder.resolve()
        try:
            path = (root / name).resolve(strict=True)
        except (OSError, ValueError, RuntimeError):
            msg = "there is no such file in the folder that Studio was started in"
            raise InputError(msg) from None
        if not path.is_relative_to(root) or path != root / name or "\0" in name:
            msg = (
                "that file is not in the folder that Studio was started in, or is a link; start "
                "Studio in the folder that holds it"
            )
            raise InputError(msg)
        return path

    def relative(self, path: Path) -> str:
        """How a path inside is named in commands that run in the start folder."""
        return path.resolve().relative_to(self.folder.resolve()).as_posix()

    def files(self) -> list[FoundFile]:
        """The files that may be tables, by name; no links, and none of a project of ours."""
        return self._found(_ENDINGS)

    def maps(self) -> list[FoundFile]:
        """The files that may be maps of roads, tables of edges among them."""
        return self._found((*_MAPS, ".csv", ".parquet"))

    def _found(self, endings: tuple[str, ...]) -> list[FoundFile]:
        found = list(self._below(self.folder.resolve(), 0, endings))
        return sorted(found, key=lambda file: (file.name.count("/"), file.name.casefold()))[:_MOST]

    def _below(self, folder: Path, depth: int, endings: tuple[str, ...]) -> Iterator[FoundFile]:
        try:
            entries = sorted(folder.iterdir())
        except OSError:
            return
        for entry in entries:
            if entry.name.startswith(".") or entry.is_symlink():
                continue
            if entry.is_dir():
                ours = (entry / "project.json").exists() or (entry / "release.json").exists()
                if depth < _DEEPEST and not ours:
                    yield from self._below(entry, depth + 1, endings)
            elif entry.is_file() and entry.name.lower().endswith(endings):
                yield FoundFile(self.relative(entry), entry.stat().st_size)


def told(name: str) -> str:
    """A relative name as commands take it, also where it looks like an option or an address."""
    return f"./{name}" if name.startswith("-") or ":" in name else name
