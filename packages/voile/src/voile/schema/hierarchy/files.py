"""Hierarchies in files, one line for each value: the value, its group, the group of that, ...

The form of ARX: no header, ``;`` between fields, the value first, the widest group last.  Tabs,
commas and bars may stand between fields too; the separator is the first of ``;``, tab, ``,`` and
``|`` that stands in every line.  Fields may be quoted, lines end in any usual way, blank lines are
skipped, and a byte-order mark is no obstacle.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from voile.schema.hierarchy.taxonomy import Taxonomy
from voile_base.errors import PlanError

__all__ = ["HierarchyLine", "read_lines", "read_taxonomy"]

_SEPARATORS = (";", "\t", ",", "|")
_ONE_FIELD = (
    "has one field only; a line is a value, its group and so on, with the same separator (; , | or "
    "tab) between them"
)


@dataclass(frozen=True)
class HierarchyLine:
    """One line of the file: its number, from 1, and its fields, at least two."""

    number: int
    fields: tuple[str, ...]


@dataclass(frozen=True)
class _Reading:
    """The lines as one separator splits them, up to the last that it can split."""

    lines: list[HierarchyLine]
    last: int
    fault: str | None = None


def read_taxonomy(path: Path) -> Taxonomy:
    """Read a file whose lines have equally many fields.

    Raises ``PlanError`` that names the file and the line where it cannot be read, a value is
    repeated, or a line is shorter or longer than the first.
    """
    first, *others = lines = read_lines(path)
    for line in others:
        if len(line.fields) != len(first.fields):
            msg = (
                f"{path}: line {line.number} has {len(line.fields)} fields where line "
                f"{first.number} has {len(first.fields)}; complete it, or write `tree` in place of "
                "`hierarchy` if branches of unequal depth are meant"
            )
            raise PlanError(msg)
    return Taxonomy(tuple(line.fields for line in lines), str(path))


def read_lines(path: Path) -> list[HierarchyLine]:
    """The lines of a file, at least one; raises ``PlanError``, also for a repeated value."""
    text = _read_text(path)
    readings = [_split(text, separator) for separator in _SEPARATORS]
    reading = next((reading for reading in readings if not reading.fault), None)
    if reading is None:
        longest = max(readings, key=lambda reading: reading.last)  # the one that was meant
        msg = f"{path}: line {longest.last} {longest.fault}"
        raise PlanError(msg)
    lines = reading.lines
    if not lines:
        msg = f"{path}: the file is empty; write one line for each value, such as Paris;France;*"
        raise PlanError(msg)
    _require_distinct(path, lines)
    return lines


def _read_text(path: Path) -> str:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        msg = f"{path}: there is no such file"
        raise PlanError(msg) from None
    except (OSError, ValueError) as error:  # a folder, no permission; a NUL in the name
        reason = getattr(error, "strerror", None) or "the name is not one of a file"
        msg = f"{path}: the file cannot be read: {reason}"
        raise PlanError(msg) from None
    try:
        text = content.decode("utf-8-sig")
        fault = content.find(b"\0")  # UTF-16 without a byte-order mark is full of them
    except UnicodeDecodeError as error:
        text, fault = "", error.start
    if fault >= 0:
        line = content[: fault + 1].count(b"\n") + 1
        msg = f"{path}: line {line} is not UTF-8; save the file as UTF-8"
        raise PlanError(msg)
    return text


def _split(text: str, separator: str) -> _Reading:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    lines: list[HierarchyLine] = []
    try:
        for fields in reader:
            if len(fields) == 1:
                return _Reading(lines, reader.line_num, _ONE_FIELD)
            if fields:
                lines.append(HierarchyLine(reader.line_num, tuple(fields)))
    except csv.Error as error:
        return _Reading(lines, reader.line_num, f"cannot be split into fields: {error}")
    return _Reading(lines, reader.line_num)


def _require_distinct(path: Path, lines: Sequence[HierarchyLine]) -> None:
    first: dict[str, int] = {}
    for line in lines:
        value, *groups = line.fields
        if not all(groups):
            msg = f"{path}: line {line.number} has an empty field; give each group a name"
            raise PlanError(msg)
        earlier = first.setdefault(value, line.number)
        if earlier != line.number:
            msg = (
                f"{path}: line {line.number} repeats the value {value!r} of line {earlier}; keep "
                "one of them"
            )
            raise PlanError(msg)
