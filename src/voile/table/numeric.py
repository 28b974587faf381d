"""Numeric columns as exact numbers, and what a numeric column must satisfy."""

from __future__ import annotations

import polars as pl

from voile.errors import TableError
from voile.schema.numbers import ExactNumbers
from voile.table.binding import BoundColumns
from voile.table.dictionary import DictionaryColumn
from voile.table.value_types import kind_of

__all__ = ["broad_kind", "exact_numbers", "require_finite_numbers"]


def broad_kind(column: pl.Series) -> str:
    """Kind of a column's values, the same for integers and decimals; see ``kind_of``."""
    return "number" if column.dtype.is_numeric() else kind_of(column)


def exact_numbers(values: pl.Series) -> ExactNumbers:
    """The exact numbers of a numeric series without missing values."""
    if values.dtype.is_decimal():
        return ExactNumbers.of(values.to_list())
    if values.dtype == pl.Float32:  # its shortest decimal is not that of the same Float64
        return ExactNumbers.of(values.cast(pl.String).to_list())
    return ExactNumbers.of(values.to_numpy())


def require_finite_numbers(bound: BoundColumns, column: DictionaryColumn) -> None:
    """Raise ``TableError`` unless a column holds finite numbers and misses none."""
    where, values = f"column {column.name!r}", column.values
    if not values.dtype.is_numeric():
        not_a_number = values.cast(pl.String).cast(pl.Float64, strict=False).is_null()
        row = bound.first_row(column, not_a_number)
        place = f"row {row} is not a number" if row else "its values are not numbers"
        msg = (
            f"{where} must hold numbers, but {place}; mend the row, name its text in `missing` if "
            "it stands for a missing value, or choose another sensitive column"
        )
        raise TableError(msg)
    if column.has_missing:
        row = bound.first_row(column, values.is_null())
        msg = (
            f"{where} misses its value in row {row}, and a number that is missing cannot be a "
            'category; declare nulls = "drop" for this column or fill it in'
        )
        raise TableError(msg)
    if values.dtype.is_float() and not values.is_finite().all():
        row = bound.first_row(column, ~values.is_finite())
        msg = f"{where}: row {row} is NaN or infinite; mend the row or leave it out"
        raise TableError(msg)
