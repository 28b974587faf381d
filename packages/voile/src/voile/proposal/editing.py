"""Edits of a plan's text, with its comments kept: roles, keys, methods, answers to its questions.

A plan is a file that people read, so an edit changes the lines that it is about and no others.  A
column that is given a role, or a kind, answers the questions about it.

Questions are put in the order of what depends on them: how the numbers of the file are written,
whose the rows are, then columns that are proposed for publication, then those that are left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Array, Table

from voile.schema.hierarchy.declared import HIERARCHY_KEYS
from voile.schema.plan import OpenQuestion, open_questions
from voile_base.errors import InputError

__all__ = [
    "ASKS_FOR_KNOWN",
    "ASKS_FOR_SENSITIVE",
    "ONE_COLUMN_ROLES",
    "ROLE_LISTS",
    "asks_for_marks",
    "asks_for_persons",
    "asks_for_values",
    "columns_not_understood",
    "date_formats_asked",
    "questions_in_order",
    "role_asked_for",
    "with_answer",
    "with_answered",
    "with_column_key",
    "with_input",
    "with_method",
    "with_missing",
    "with_role",
    "with_row_as_person",
]

ROLE_LISTS = (
    *("identifiers", "quasi_identifiers", "sensitive", "ranking", "keep"),
    "keep_unique",
)
"""Roles that several columns may have."""
ONE_COLUMN_ROLES = ("person", "household", "weight")
ASKS_FOR_SENSITIVE = (
    "sensitive: does one of these columns say what nobody should learn of a person, such as an "
    "illness, a debt or an offence, or does it name or number somebody, such as a clerk?"
)
"""How the question about quasi-identifiers begins of which nothing is understood."""
ASKS_FOR_KNOWN = (
    "quasi_identifiers: does one of these columns say what others may know of a person, such as "
    "where somebody lives or works, or does it name or number somebody, such as a clerk?"
)
"""How the question about sensitive columns begins of which nothing is understood."""
_ASKED_OF_SEVERAL = {ASKS_FOR_SENSITIVE: "sensitive", ASKS_FOR_KNOWN: "quasi_identifiers"}
_ASKS_FOR_PERSONS = "are the rows of one value a person's?"
_ASKS_FOR_MARKS = "does a comma part its decimals"
_ASKS_FOR_DATES = "the dates fit "
_LAST_DAY = datetime(2001, 12, 31, 22, 30, tzinfo=UTC)
_QUOTED_FORMAT = re.compile(r'"([^"]*%[^"]*)"')
_ASKS_FOR_VALUES = ("Say bounds =", "Say edges =", "Say values =", "how many rows of one")


def asks_for_persons(question: OpenQuestion) -> bool:
    """Whether a question is whose the rows are."""
    return _ASKS_FOR_PERSONS in question.text


def asks_for_values(question: OpenQuestion) -> bool:
    """Whether a question is about public facts, which no choice among roles answers."""
    return any(words in question.text for words in _ASKS_FOR_VALUES)


def role_asked_for(question: OpenQuestion) -> str:
    """The role that several columns may have, as a question asks; empty where it asks else."""
    asked = (role for begins, role in _ASKED_OF_SEVERAL.items() if question.text.startswith(begins))
    return next(asked, "")


def columns_not_understood(question: OpenQuestion) -> list[str]:
    """The columns of which a question asks whether they have a role; none where it asks else."""
    if not role_asked_for(question):
        return []
    return [_quoted(name) for name in _OF_SEVERAL.findall(question.text)]


def asks_for_marks(question: OpenQuestion) -> bool:
    """Whether a question is how numbers are written."""
    return _ASKS_FOR_MARKS in question.text


def date_formats_asked(question: OpenQuestion) -> dict[str, str]:
    """The formats of which a question asks which one the dates of its column have.

    Each with how it writes the last day of 2001; none where it asks something else.
    """
    if not question.text.startswith(_ASKS_FOR_DATES):
        return {}
    formats = _QUOTED_FORMAT.findall(question.text)
    return {one: _LAST_DAY.strftime(one) for one in formats}


def questions_in_order(text: str) -> list[OpenQuestion]:
    """The open questions of a plan, first those on which others depend."""

    def rank(one: OpenQuestion) -> tuple[int, int]:
        of_table = one.column is None or asks_for_persons(one) or "tell persons apart" in one.text
        steps = (asks_for_marks(one), of_table, "count persons" in one.text)
        described = one.table.startswith("[columns")
        return next((n for n, it in enumerate(steps) if it), 4 - described), one.first

    return sorted(open_questions(text), key=rank)


def with_role(text: str, columns: Collection[str], role: str) -> str:
    """The plan with another role for some columns, which answers the questions about them.

    An empty role leaves them out; how dates are written is asked on with any other.  Raises
    ``InputError`` for a role that there is not, or that one column alone can have, and where the
    text cannot be edited.
    """
    if role not in {*ROLE_LISTS, *ONE_COLUMN_ROLES, ""}:
        msg = "there is no such role"
        raise InputError(msg)
    if role in ONE_COLUMN_ROLES and len(columns) > 1:
        msg = f"one column alone can be the {role} of a table; choose one"
        raise InputError(msg)

    def change(document: tomlkit.TOMLDocument) -> None:
        roles = _made(document, "roles")
        for column in columns:
            _move(roles, column, role)

    gone = set(columns)
    changed = _without_remarks(_changed(text, change), gone)
    return _without(
        changed, lambda one: one.column in gone and not (role and date_formats_asked(one))
    )


def _without_remarks(text: str, columns: Collection[str]) -> str:
    """The plan without its remarks on columns that no role named, of which it says so no more.

    A heading of remarks goes with the last of them.
    """
    kept: list[str] = []
    lines = text.splitlines(keepends=True)
    for place, line in enumerate(lines):
        remark = _REMARK.match(line)
        if remark and _quoted(remark[1] or remark[2]) in columns:
            last = not _REMARKED.match("".join(lines[place + 1 : place + 2]))
            if last and kept and _HEADING.match(kept[-1]):
                kept.pop()
            continue
        kept.append(line)
    return "".join(kept)


def _quoted(name: str) -> str:
    """A name as TOML quotes it."""
    try:
        return str(json.loads(name))
    except ValueError:
        return name


_NAMED = r'("(?:[^"\\\\]|\\\\.)*")'
_OF_SEVERAL = re.compile(rf"{_NAMED}: ")
_REMARK = re.compile(rf"#   {_NAMED}: |#   weight = {_NAMED} tells")
_REMARKED = re.compile("#   ")
_HEADING = re.compile(
    r"# (Never published either|Left out, because no role names them|"
    rf"\? ({'|'.join(map(re.escape, _ASKED_OF_SEVERAL))}))"
)


def _move(roles: Table, column: str, role: str) -> None:
    """Give a column another role, or none."""
    for key in ROLE_LISTS:
        _remove(roles, key, column)
    for key in ONE_COLUMN_ROLES:
        weighs = key == "weight" and role == "keep"  # so that recipients can weigh rows
        if roles.get(key) == column and not weighs:
            del roles[key]
    if role in ONE_COLUMN_ROLES:
        roles[role] = column
    elif role:
        named = roles.get(role)
        if named is None:
            roles[role] = named = tomlkit.array()
        _append(named, column)


def with_input(text: str, key: str, value: object) -> str:
    """The plan with a key of [input], which answers the questions how numbers are written."""
    changed = _changed(text, lambda document: _first(document, "input").update({key: value}))
    return _without(changed, asks_for_marks)


def with_missing(text: str, marks: Sequence[str]) -> str:
    """The plan with other texts that stand for a missing value, in every column.

    Missing values are a value of their own where the plan says nothing else of them.
    """

    def change(document: tomlkit.TOMLDocument) -> None:
        if marks:
            document["missing"] = list(marks)
            document.setdefault("nulls", "category")
        else:
            document.pop("missing", None)

    return _changed(text, change)


def with_row_as_person(text: str) -> str:
    """The plan with the word that each row is another person, which answers whose rows are."""
    changed = _changed(text, lambda document: _made(document, "roles").update({"person": "row"}))
    return _without(changed, asks_for_persons)


def with_answer(text: str, index: int | None) -> str:
    """The plan without its question of an index, or all (None), answered as the plan stands."""
    found = open_questions(text)
    if index is None:
        return _without(text, lambda _: True)
    if not 0 <= index < len(found):
        msg = "there is no such question; it may have been answered already"
        raise InputError(msg)
    return _without(text, lambda one: one == found[index])


def with_answered(text: str, question: OpenQuestion) -> str:
    """The plan without a question, which is answered as the plan stands."""
    return _without(text, lambda one: one.quoted_text == question.quoted_text)


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

    def answers(one: OpenQuestion) -> bool:
        return key == "kind" or (key == "format" and bool(date_formats_asked(one)))

    return _without(changed, lambda one: one.column == column and answers(one))


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


def _first(document: tomlkit.TOMLDocument, key: str) -> Table:
    """A table of the document; a new one stands before all others."""
    if key not in document:
        new = tomlkit.table()
        held = {name: document.pop(name) for name in list(document) if _is_table(document[name])}
        document[key] = new
        for name, item in held.items():
            document[name] = item
    table: Table = document[key]
    return table


def _is_table(item: object) -> bool:
    return isinstance(item, dict) or (isinstance(item, list) and not isinstance(item, Array))


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
