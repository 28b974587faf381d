"""Open questions of a plan: lines of its text that begin with ``# ?``, and where they stand.

    [roles]
    # ? "code": what does it hold? Nothing was understood of it: give it a role, or leave it
    #   Lines such as this one go on with what the line before asks.

A question about a column begins with its name in quotes.  One that stands right above the head of a
table belongs to that table, any other to the table whose head stands above it.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["ASKS", "OpenQuestion", "open_questions", "questions_quoted"]

ASKS = "# ?"
"""How lines of a plan begin that ask."""
_QUOTED = 3
"""Questions that a message quotes."""
_ASKING = re.compile(r"\s*#\s*\?")
_CONTINUES = re.compile(r"\s*#   \S")
"""A line of a comment that goes on with what the line before asks."""
_HEAD = re.compile(r"\s*(\[[^\[\]].*\])\s*(?:#.*)?")
_NAMED = re.compile(r"""("(?:[^"\\]|\\.)*"|'[^']*')\s*:\s*""")


@dataclass(frozen=True)
class OpenQuestion:
    """What a plan asks, and its lines."""

    column: str | None
    """None: it is about the whole table."""
    text: str
    """What it asks, without the name of its column."""
    table: str
    """The head of the table in which it stands, such as ``[roles]``; empty: the top of the plan."""
    first: int
    """Its first line, from 1."""
    last: int
    """Its last line."""

    @property
    def quoted(self) -> str:
        """Where it stands, and what it asks, as ``line 12, [roles] "code": what is it?`` does."""
        table = f", {self.table}" if self.table else ""
        if self.column is None:
            return f"line {self.first:,}{table}: {self.text}"
        name = json.dumps(self.column, ensure_ascii=False)
        return f"line {self.first:,}{table} {name}: {self.text}"


def open_questions(text: str) -> tuple[OpenQuestion, ...]:
    """The open questions of a plan, in its order."""
    lines, found = text.splitlines(), []
    for number, line in enumerate(lines):
        if not _ASKING.match(line):
            continue
        end = number + 1
        while end < len(lines) and _CONTINUES.match(lines[end]):
            end += 1
        said = " ".join(one.lstrip().lstrip("#").strip() for one in lines[number:end])
        column, asked = _column_of(said.removeprefix("?").strip())
        found.append(OpenQuestion(column, asked, _table_at(lines, number), number + 1, end))
    return tuple(found)


def questions_quoted(questions: Sequence[OpenQuestion]) -> str:
    """The first questions with their lines, and how many more there are."""
    more = f" and {len(questions) - _QUOTED:,} more" if len(questions) > _QUOTED else ""
    return "; ".join(one.quoted for one in questions[:_QUOTED]) + more


def _column_of(said: str) -> tuple[str | None, str]:
    """The column that a question begins with, and the rest."""
    quoted = _NAMED.match(said)
    if quoted is None:
        return None, said
    try:
        return str(tomllib.loads(f"x = {quoted[1]}")["x"]), said[quoted.end() :]
    except tomllib.TOMLDecodeError:
        return None, said


def _table_at(lines: Sequence[str], number: int) -> str:
    """The head of the table that a line of comment belongs to."""
    below = next((one for one in lines[number:] if not one.lstrip().startswith("#")), "")
    above = (found for one in reversed(lines[:number]) if (found := _HEAD.fullmatch(one)))
    head = _HEAD.fullmatch(below) or next(above, None)
    return "" if head is None else head[1]
