"""How often values stand in a column, for the rules of ``schema.persons``; private.

An identifier is hashed to 64 bits, and the hashes are sorted: where no two are alike, no two values
are.  Only where two are alike the values themselves are counted, so that the answer is exact.

Cost for n rows: hashing and sorting n words, for ten million about half a second of processor, and
as much to read them; counting values, one hash look-up a row.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from voile.schema.persons import Occurrences
from voile.table.dictionary import DictionaryColumn
from voile.table.frequencies import count_codes
from voile.table.value_types import with_missing
from voile_base.errors import TableError

__all__ = ["count_occurrences", "count_repeats", "occurrences_of"]


def occurrences_of(column: DictionaryColumn) -> Occurrences:
    """How often the values of a bound column stand in it; a missing value is a value."""
    counts = count_codes(column.codes, len(column.values))
    return Occurrences(len(column.codes), int((counts > 0).sum()), int((counts == 1).sum()))


def count_occurrences(column: pl.Series) -> Occurrences:
    """How often the values of a column stand in it; a missing value is a value.

    Raises ``TableError`` for values that cannot be compared.
    """
    if column.dtype == pl.Object:
        msg = (
            f"column {column.name!r} holds objects that cannot be compared; turn them into "
            "numbers or texts, or leave the column out"
        )
        raise TableError(msg)
    by_value = column.alias("value").to_frame().lazy().group_by("value").len("rows")
    counted = by_value.select(values=pl.len(), once=(pl.col("rows") == 1).sum())
    values, once = counted.collect(engine="streaming").row(0)
    return Occurrences(len(column), values, once)


def count_repeats(column: pl.Series, missing: Sequence[str]) -> Occurrences:
    """How often the values of an identifier stand in it; missing ones and empty texts are left out.

    Raises ``TableError`` for values that cannot be compared.
    """
    there = with_missing(column, missing).drop_nulls()
    if not there.dtype.is_nested() and there.dtype != pl.Object:
        words = there.hash().to_numpy(writable=True)
        words.sort()
        if not (words[1:] == words[:-1]).any():
            return Occurrences(len(there), len(there), len(there))
    if there.dtype == pl.String:
        there = there.filter(there != "")
    return count_occurrences(there)
