"""Texts of DuckDB's columns, numbered or plain: told alike, brought together, and found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from voile.table.arrays import polars_type
from voile.table.dictionary import encode
from voile.table.duckdb_columns import Stored, Texts, quoted, stored_array
from voile.table.duckdb_relation import DuckDBRelation, few_distinct, few_texts, table_of
from voile.table.duckdb_session import DuckDBHandle
from voile.table.polars_writing import MOST_CATEGORIES

__all__ = ["as_stored", "categories_in", "encoded", "few_texts_of", "listed", "numbered"]


def encoded(column: Stored, array: pa.ChunkedArray) -> tuple[pa.Array, Any]:
    """The different values of a column of counts, ascending, and which each row has."""
    joined = array.combine_chunks() if array.num_chunks != 1 else array.chunk(0)
    if isinstance(joined, pa.ChunkedArray):
        joined = joined.chunk(0) if joined.num_chunks else pa.array([], array.type)
    if column.texts is None:
        found = encode(pl.Series("", column.full(joined)))
        return found.values.to_arrow(), found.codes
    numbers = pl.Series(joined).cast(pl.Int64).fill_null(-1).to_numpy()
    there, codes = np.unique(numbers, return_inverse=True)  # others are none of these rows'
    found_texts = column.texts.values.gather(there[there >= 0])
    if (there < 0).any():
        found_texts = pl.concat([pl.Series([None], dtype=pl.String), found_texts])
    return found_texts.to_arrow(), codes


def as_stored(values: pl.Series, column: Stored) -> tuple[pa.Array, Any]:
    """Values as a column stores them, and which of them it can store."""
    if column.texts is None:
        plain = values.cast(polars_type(column.type))
        return stored_array(plain.to_arrow(), column.type), np.ones(len(values), dtype=np.bool_)
    numbers = column.texts.numbers(values.cast(pl.String))
    known = (numbers.is_not_null() | values.is_null()).to_numpy()
    return numbers.to_arrow().cast(column.texts.code_type), known


def categories_in(relation: DuckDBRelation, columns: Mapping[str, Stored]) -> dict[str, pl.Series]:
    """For columns of few numbered texts a category for each number, and for a missing text.

    Texts that no row has are missing, since a file shows all categories.
    """
    few = {
        name: (column.ident, column.texts)
        for name, column in columns.items()
        if column.texts is not None and len(column.texts.values) <= MOST_CATEGORIES
    }
    if not few:
        return {}
    asked = ", ".join(f"list(DISTINCT {ident})" for ident, _ in few.values())
    (listed,) = relation.session.rows(f"SELECT {asked} FROM {relation.source}")
    made = {}
    for (name, (_, texts)), numbers in zip(few.items(), listed, strict=True):
        there = np.zeros(len(texts.values), dtype=np.bool_)
        there[[number for number in numbers or () if number is not None]] = True
        present = pl.Enum(texts.values.filter(pl.Series(there)))
        made[name] = pl.Series(texts.arrow).cast(present, strict=False)
    return made


def few_texts_of(relation: DuckDBRelation, column: Stored) -> Texts | None:
    """The different texts of a column of files, if they are few."""
    if not pa.types.is_large_string(column.type) or column.texts is not None:
        return column.texts
    found = few_distinct(relation, column)
    return None if found is None else few_texts(pl.Series(found.column(0)))


def numbered(session: DuckDBHandle, column: Stored, texts: Texts | None, kinds: list[str]) -> str:
    """An expression that gives the numbers of texts, where these are to be numbered."""
    if texts is None or column.texts is not None or not len(texts.values):
        none = texts is not None and column.texts is None
        return "CAST(NULL AS UTINYINT)" if none else column.ident
    there = table_of(session, {Stored("t", pa.large_string()): texts.values.to_arrow()})
    kind = session.name()
    session.run(f"CREATE TYPE {kind} AS ENUM (SELECT t FROM {there.name} ORDER BY t)")
    kinds.append(kind)
    sql_type = Stored("", column.type, texts).sql_type
    return f"CAST(enum_code(CAST({column.ident} AS {kind})) AS {sql_type})"


def listed(column: Stored, texts: pl.Series) -> str:
    """Some texts as a column has them stored, as literals."""
    if column.texts is None:
        return ", ".join(quoted(text) for text in texts)
    numbers = column.texts.numbers(texts).drop_nulls().unique()
    return ", ".join(map(str, numbers))
