"""What a database must be able to do for a store: the little that SQLite and PostgreSQL differ in.

Statements are written once, in the SQL that both read, with ``?`` for values; ``conflicts`` of
unique values are met by ``ON CONFLICT`` and not by errors, since databases write the values that
offended into their errors and logs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

from voile_base.errors import InputError

__all__ = ["MOST_VALUES", "Connection", "Database", "Row", "batches", "checked_text", "marks"]

Row = tuple[Any, ...]
T = TypeVar("T")

MOST_VALUES = 500
"""How many things one statement names at most."""


class Connection(Protocol):
    """Inside one transaction."""

    def rows(self, statement: str, values: Sequence[object] = ()) -> list[Row]:
        """What a query, or a change that returns something, gives."""

    def change(self, statement: str, values: Sequence[object] = ()) -> int:
        """Run one statement; how many rows it changed."""

    def change_many(self, statement: str, rows: Sequence[Sequence[object]]) -> None:
        """Run one statement with each of these values."""


class Database(Protocol):
    """A database; may be shared by threads.

    Raises ``StoreError`` where the database cannot do its work now, having changed nothing;
    ``ConflictError`` where what a row refers to is absent.
    """

    @property
    def locking(self) -> str:
        """What is put after a query whose rows nobody else may change before the commit."""

    def read(self, statement: str, values: Sequence[object] = ()) -> list[Row]:
        """What one query gives, of one state of the database."""

    def write(self, work: Callable[[Connection], T]) -> T:
        """Run ``work`` in a transaction; durable when this returns, undone if it raises.

        ``work`` may be run again where the database asks for that: let it change nothing else.
        """

    def foreign_writes(self) -> int | None:
        """See ``Directory``."""

    def close(self) -> None:
        """Close all connections."""


def batches(things: Sequence[T]) -> Iterator[Sequence[T]]:
    """At most ``MOST_VALUES`` at a time, in order."""
    return (things[at : at + MOST_VALUES] for at in range(0, len(things), MOST_VALUES))


def marks(count: int, mark: str = "?") -> str:
    """``?, ?, ?`` for so many values."""
    return ", ".join([mark] * count)


def checked_text(name: str, text: str) -> str:
    """The text; raises ``InputError`` for one that not every database can keep."""
    if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        msg = f"{name} must be a text of Unicode without the character of code 0"
        raise InputError(msg)
    return text
