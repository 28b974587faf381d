"""What a recogniser sees of a column: its name, counts of the whole, some different values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from voile.schema.names import meaning_of, words_of
from voile.schema.persons import ALONE, FEW_PERSONS

__all__ = ["SAMPLED", "ColumnLook"]

SAMPLED = 2_000
"""Different values that are looked at; how many there are is counted on all rows."""
_DAY = r"(?:18|19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])"
_LETTERS = 3
"""Letters of a word that says of numbers what they are."""
_DIGITS = 5
"""Digits of the number of a record, from which on it is one where all have as many."""


@dataclass(frozen=True)
class ColumnLook:
    """One column of a private table."""

    name: str
    type: str
    """"text", "integer", "decimal", "date", "datetime", "time", "boolean" or another."""
    rows: int
    """Rows that have a value."""
    distinct: int
    """Different values in all of them."""
    texts: Sequence[str] = ()
    """Some of the different values, as texts; no missing ones."""
    beside: Sequence[str] = ()
    """Names of the other columns of the table."""
    extremes: tuple[float, float] | None = None
    """The least and the greatest number; never to be written down."""

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The words of its name, without accents."""
        return words_of(self.name)

    @property
    def share(self) -> float:
        """Different values for each row, from 0 to 1."""
        return self.distinct / max(1, self.rows)

    @property
    def is_dated(self) -> bool:
        """Whether whole numbers are days: 20131128."""
        if self.type != "integer" or self.extremes is None:
            return False
        least, most = self.extremes
        days = (re.fullmatch(_DAY, text) for text in self.filled)
        return least >= 18_000_101 and most <= 20_991_231 and all(days)

    @property
    def is_numbered(self) -> bool:
        """Whether whole numbers are those of records: nearly each row has its own.

        They are counted up, or all have as many digits, at least five, as numbers of cases have.
        An amount is none, whatever it looks like, where its name says that it is one.
        """
        if self.type != "integer" or self.extremes is None:
            return False
        if self.distinct <= FEW_PERSONS or self.share <= ALONE or self.is_dated:
            return False
        least, most = self.extremes
        return self.is_counted_up or len(f"{least:.0f}") == len(f"{most:.0f}") >= _DIGITS

    @property
    def is_counted_up(self) -> bool:
        """Whether nearly each row has its own whole number, and they leave few gaps."""
        if self.type != "integer" or self.extremes is None or self.is_dated:
            return False
        least, most = self.extremes
        return self.share > ALONE and most - least < 2 * self.distinct

    @property
    def is_an_amount(self) -> bool:
        """Whether the name says that the column holds amounts or measures.

        A short word such as the n of ``n_order`` is that of a number of a record, too, and says it
        only where values repeat.
        """
        meant = meaning_of(self.name, _LETTERS if self.is_numbered else 1)
        return meant is not None and meant.kind == "number"

    @cached_property
    def filled(self) -> tuple[str, ...]:
        """The values that show something, without the spaces around them."""
        return tuple(text for each in self.texts if (text := each.strip()))
