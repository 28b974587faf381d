"""Edits of a plan as text, with its comments kept, and where in the text an error stands.

A plan on disk may be wrong while somebody works on it; nothing is published with it then, because
every command reads it anew.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Array, Table

from voile.publish.registry import publisher_for, read_plan
from voile.schema.hierarchy.declared import HIERARCHY_KEYS
from voile.schema.names import Kind
from voile.schema.plan import OpenQuestion, Plan, open_questions
from voile_base.errors import InputError, PlanError, VoileError
from voile_studio.project import Start

__all__ = [
    "KINDS",
    "ROLES",
    "ColumnLine",
    "column_lines",
    "file_named",
    "file_of_plan",
    "plan_of",
    "problem_of",
    "with_answer",
    "with_column_key",
    "with_method",
    "with_role",
    "with_row_as_person",
]

KINDS: tuple[str, ...] = get_args(Kind)
ROLES: Mapping[str, str] = {
    "person": "tells persons apart",
    "household": "tells households apart",
    "identifiers": "identifier",
    "quasi_identifiers": "others may know it",
    "sensitive": "nobody should learn it",
    "ranking": "ranks rows",
    "keep": "publish as it is",
    "": "leave out",
}
"""The roles of a column, in plain words; none leaves it out."""

_LISTS = ("identifiers", "quasi_identifiers", "sensitive", "ranking", "keep", "keep_unique")
_ONE = ("person", "household")
_PLACE = re.compile(r"\[(?P<table>[^\[\]]+)\](?:\s+(?P<key>[\w-]+))?")
_FILES = frozenset({"hierarchy", "tree", "zones", "roads"})
"""Keys that may name a file."""
_LINE = re.compile(r"at line (\d+)")
_ASKS_FOR_PERSONS = "are the rows of one value a person's?"


@dataclass(frozen=True)
class _PlanProblem:
    """What is wrong with a plan."""

    message: str
    line: int | None = None
    """Where, from 1; None: it cannot be told."""


@dataclass(frozen=True)
class ColumnLine:
    """What a plan says of one column of the table."""

    index: int
    name: str
    role: str
    """A key of ``ROLES``."""
    kind: str
    """A kind; empty: what the values look like."""
    hierarchy: str
    """The key that declares one, and what it says; empty: none."""
    bounds: str
    """"lowest, highest"; empty: none."""


def problem_of(
    path: Path, columns: Sequence[str], start: Start | None = None
) -> _PlanProblem | None:
    """What would keep the plan from being used on a table of these columns; None: nothing.

    With a start folder, files that the plan names must stand in it.
    """
    try:
        if start is not None:
            _refuse_files_outside(path, start)
        plan = read_plan(path)
        if columns:
            plan.bind(columns)
        publisher_for(plan)
    except VoileError as error:
        message = str(error).removeprefix(f"{path}: ")
        return _PlanProblem(message, _line_of(path, message))
    return None


def _refuse_files_outside(path: Path, start: Start) -> None:
    """Raise ``InputError`` where the plan names a file that is not in the start folder."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError):
        return  # which is told by who reads it as a plan
    said = [
        (f"[columns.{name}] {key}", keys[key])
        for name, keys in _table(document, "columns").items()
        if isinstance(keys, dict)
        for key in _FILES & keys.keys()
    ]
    method = _table(document, "method")
    said += [(f"[method] {key}", method[key]) for key in _FILES & method.keys()]
    for where, named in said:
        if isinstance(named, str):
            file_of_plan(path.parent, named, start, where)


def file_of_plan(folder: Path, named: str, start: Start, where: str) -> Path:
    """The path of a file that a plan in the folder names.

    Raises ``InputError`` where it is not in the start folder.
    """
    try:
        return start.inside(os.path.relpath(folder / named, start.folder.resolve()))
    except (InputError, ValueError):
        msg = f"{where}: there is no such file in the folder that Studio was started in"
        raise InputError(msg) from None


def plan_of(path: Path) -> Plan | None:
    """The plan; None where it cannot be read."""
    try:
        return read_plan(path)
    except PlanError:
        return None


def column_lines(text: str, columns: Sequence[str]) -> list[ColumnLine]:
    """What a plan says of each column; of a text that is no TOML, nothing."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        document = {}
    roles = _table(document, "roles")
    taken = {name: role for role in _LISTS[:-1] for name in _texts(roles.get(role))}
    taken |= {name: key for key in _ONE if isinstance(name := roles.get(key), str)}
    said = _table(document, "columns")
    return [
        _line(index, name, taken.get(name, ""), _table(said, name))
        for index, name in enumerate(columns)
    ]


def file_named(text: str, column: str) -> tuple[str, str] | None:
    """The key and the file in which a plan says that a column's hierarchy stands."""
    try:
        said = _table(_table(tomllib.loads(text), "columns"), column)
    except tomllib.TOMLDecodeError:
        return None
    found = ((key, said[key]) for key in ("hierarchy", "tree") if key in said)
    return next(((key, named) for key, named in found if isinstance(named, str)), None)


def with_role(text: str, column: str, role: str) -> str:
    """The plan with another role for a column; raises ``InputError`` where it cannot be edited."""
    if role not in ROLES:
        msg = "there is no such role"
        raise InputError(msg)

    def change(document: tomlkit.TOMLDocument) -> None:
        roles = _made(document, "roles")
        for key in _LISTS:
            _remove(roles, key, column)
        for key in _ONE:
            if roles.get(key) == column:
                del roles[key]
        if role in _ONE:
            roles[role] = column
        elif role:
            named = roles.get(role)
            if named is None:
                roles[role] = named = tomlkit.array()
            _append(named, column)

    return _without(_changed(text, change), lambda one: one.column == column)


def with_row_as_person(text: str) -> str:
    """The plan with the word that each row is another person, which answers whose rows are."""
    changed = _changed(text, lambda document: _made(document, "roles").update({"person": "row"}))
    return _without(changed, lambda one: _ASKS_FOR_PERSONS in one.text)


def with_answer(text: str, index: int) -> str:
    """The plan without its question of an index, which is answered as the plan stands."""
    found = open_questions(text)
    if not 0 <= index < len(found):
        msg = "there is no such question; it may have been answered already"
        raise InputError(msg)
    return _without(text, lambda one: one == found[index])


def _without(text: str, gone: Callable[[OpenQuestion], bool]) -> str:
    """The plan without some of its questions."""
    lines = text.splitlines(keepends=True)
    for one in reversed(open_questions(text)):
        if gone(one):
            del lines[one.first - 1 : one.last]
    return "".join(lines)


def with_column_key(text: str, column: str, key: str, value: object) -> str:
    """The plan with a key of a column's table, or without it (None).

    One hierarchy takes the place of another.
    """

    def change(document: tomlkit.TOMLDocument) -> None:
        table = _made(_made(document, "columns"), column)
        for other in HIERARCHY_KEYS if key in HIERARCHY_KEYS else (key,):
            table.pop(other, None)
        if value is not None:
            table[key] = value

    changed = _changed(text, change)
    return _without(changed, lambda one: key == "kind" and one.column == column)


def with_method(text: str, name: str, parameters: Mapping[str, object]) -> str:
    """The plan with this method."""

    def change(document: tomlkit.TOMLDocument) -> None:
        document.pop("method", None)
        table = tomlkit.table()
        for key, value in {"name": name, **parameters}.items():
            table[key] = value
        document["method"] = table

    return _changed(text, change)


def _changed(text: str, change: Callable[[tomlkit.TOMLDocument], None]) -> str:
    try:
        document = tomlkit.parse(text)
        change(document)
        return tomlkit.dumps(document)
    except (TOMLKitError, TypeError, AttributeError, ValueError):
        msg = "the plan's text must be mended first: it cannot be changed as long as it is no TOML"
        raise InputError(msg) from None


def _made(parent: Any, key: str) -> Table:
    if key not in parent:
        parent[key] = tomlkit.table(is_super_table=key == "columns")
    table: Table = parent[key]
    return table


def _remove(roles: Table, key: str, column: str) -> None:
    named = roles.get(key)
    if not isinstance(named, list):
        return
    for index in reversed([i for i, name in enumerate(named) if name == column]):
        del named[index]
    if not named:
        del roles[key]


def _append(named: Array, column: str) -> None:
    if column in named:
        return
    if "\n" in named.as_string():
        named.add_line(column, indent="    ")
    else:
        named.append(column)


def _line(index: int, name: str, role: str, said: Mapping[str, Any]) -> ColumnLine:
    declared = next((key for key in HIERARCHY_KEYS if key in said), None)
    bounds = said.get("bounds")
    listed = isinstance(bounds, list) and len(bounds) == 2
    return ColumnLine(
        index,
        name,
        role,
        str(said.get("kind", "")),
        "" if declared is None else f"{declared} {_told(said[declared])}",
        f"{bounds[0]}, {bounds[1]}" if listed and bounds else "",
    )


def _told(value: Any) -> str:
    told = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return told if len(told) <= 80 else f"{told[:77]}..."


def _table(document: Mapping[str, object], key: str) -> Mapping[str, Any]:
    found = document.get(key)
    return found if isinstance(found, dict) else {}


def _texts(value: object) -> list[str]:
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []


def _line_of(path: Path, message: str) -> int | None:
    """The line of the text that a message is about."""
    if told := _LINE.search(message):
        return int(told[1])
    place = _PLACE.search(message)
    if place is None:
        return None
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    return _line_in(lines, place["table"], place["key"])


def _line_in(lines: Sequence[str], table: str, key: str | None) -> int | None:
    """The line of a key in a table, or of the table's head."""
    heads = [i for i, line in enumerate(lines) if _head_of(line) == _plain(table)]
    if not heads:
        return None
    for index in range(heads[0] + 1, len(lines)):
        if _head_of(lines[index]) is not None:
            break
        if key is not None and re.match(rf"\s*{re.escape(key)}\s*[=.]", lines[index]):
            return index + 1
    return heads[0] + 1


def _head_of(line: str) -> str | None:
    """The name of the table whose head a line is."""
    found = re.match(r"\s*\[([^\[\]]+)\]", line)
    return _plain(found[1]) if found else None


def _plain(name: str) -> str:
    return name.replace('"', "").replace("'", "").replace(" ", "")
