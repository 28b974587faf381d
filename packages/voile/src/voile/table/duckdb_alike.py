"""Columns of texts of two data sets of DuckDB, stored in one way, so that they can be compared."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import polars as pl

from voile.table.arrays import array_of
from voile.table.duckdb_columns import Stored, Texts
from voile.table.duckdb_pending import PendingRows
from voile.table.duckdb_relation import few_texts, table_of
from voile.table.duckdb_texts import as_stored

__all__ = ["with_equal_texts", "with_texts"]

P = TypeVar("P", bound=PendingRows)


def with_equal_texts(rows: P, others: P, name: str) -> tuple[P, P]:
    """Both with a column of texts that is stored alike."""
    one, other = rows._columns[name].texts, others._columns[name].texts
    if one is other:
        return rows, others
    common = None
    if one is not None and other is not None:
        common = few_texts(pl.concat([one.values, other.values]))
    return with_texts(rows, name, common), with_texts(others, name, common)


def with_texts(rows: P, name: str, texts: Texts | None) -> P:
    """Rows with the texts of a column numbered in another way, or plain."""
    column, session = rows._columns[name], rows._relation.session
    if column.texts is None or column.texts is texts:
        return rows
    own = Stored(session.name(), column.type, texts)
    key = Stored(session.name(), column.texts.code_type)
    numbers = array_of(np.arange(len(column.texts.values))).cast(key.type)
    values = column.texts.values
    made = values.to_arrow() if texts is None else as_stored(values, own)[0]
    small = table_of(session, {key: numbers, own: made})
    relation = rows._relation.with_small(small, {column.ident: key.ident}, [own.ident])
    return rows._like(rows._columns | {name: own}, relation=relation)
