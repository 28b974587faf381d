"""Values of columns as exact numbers and plain texts, and what a numeric column must satisfy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from voile.schema.hierarchy.generalized import DistinctValues
from voile.schema.numbers import ExactNumbers
from voile.table.arrays import polars_type
from voile.table.binding import flagged
from voile.table.protocol import Rows
from voile.table.value_types import kind_of
from voile_base.errors import TableError
from voile_base.values.expressions import Call, Column, is_missing, negated

__all__ = [
    "broad_kind",
    "distinct_values",
    "exact_numbers",
    "number_series",
    "require_finite",
    "require_finite_numbers",
]


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


def distinct_values(values: pl.Series) -> DistinctValues:
    """The distinct values of a column, ascending and missing first, as the schema knows them.

    Numbers must be finite.
    """
    present = values.drop_nulls()
    numbers = None
    if values.dtype.is_numeric():
        numbers = exact_numbers(present)
        texts = _number_texts(numbers)
    elif values.dtype.is_temporal():
        texts = present.dt.to_string("iso:strict").to_list()
    else:
        texts = present.cast(pl.String).to_list()
    missing = [None] * (len(values) - len(present))
    return DistinctValues(broad_kind(values), (*missing, *texts), numbers)


def number_series(columns: Sequence[ExactNumbers]) -> list[pl.Series]:
    """Exact numbers as columns of one type: integers where all are whole, else floats."""
    whole = [_whole(numbers) for numbers in columns]
    if all(integers is not None for integers in whole):
        return [pl.Series(integers, dtype=pl.Int64) for integers in whole]
    floats = ([float(number) for number in numbers.decimals()] for numbers in columns)
    return [pl.Series(nearest, dtype=pl.Float64) for nearest in floats]


def _whole(numbers: ExactNumbers) -> NDArray[np.int64] | None:
    """The numbers as integers of 64 bits, or None where one of them is not."""
    one = 10**numbers.scale  # may be more than 64 bits
    units = numbers.units.tolist()
    if not all(unit % one == 0 and -(2**63) <= unit // one < 2**63 for unit in units):
        return None
    return np.array([unit // one for unit in units], dtype=np.int64)


def _number_texts(numbers: ExactNumbers) -> list[str]:
    """Numbers in plain decimal notation, many at a time where they fit in a machine word."""
    if numbers.units.dtype == object:
        return numbers.texts()
    units = pl.Series(numbers.units)
    if numbers.scale == 0:
        return units.cast(pl.String).to_list()
    digits = units.abs().cast(pl.String).str.zfill(numbers.scale + 1)
    sign = pl.Series(np.where(numbers.units < 0, "-", ""))
    whole, fraction = digits.str.head(-numbers.scale), digits.str.tail(numbers.scale)
    plain = (whole + "." + fraction).str.strip_chars_end("0").str.strip_chars_end(".")
    return (sign + plain).to_list()


def require_finite(rows: Rows, name: str) -> None:
    """Raise ``TableError`` where a column of numbers holds NaN or an infinity."""
    if not pa.types.is_floating(rows.schema.field(name).type):
        return
    wrong = rows.tally(negated(Call("finite", (Column(name),))))
    if wrong.rows:
        msg = f"column {name!r}: row {wrong.first} is NaN or infinite; mend the row or leave it out"
        raise TableError(msg)


def require_finite_numbers(rows: Rows, name: str) -> None:
    """Raise ``TableError`` unless a column holds finite numbers and misses none."""
    where = f"column {name!r}"
    if not polars_type(rows.schema.field(name).type).is_numeric():
        wrong = flagged(rows, name, _is_no_number)
        place = f"row {wrong.first} is not a number" if wrong.rows else "its values are not numbers"
        msg = (
            f"{where} must hold numbers, but {place}; mend the row, name its text in `missing` if "
            "it stands for a missing value, or choose another sensitive column"
        )
        raise TableError(msg)
    missing = rows.tally(is_missing(name))
    if missing.rows:
        msg = (
            f"{where} misses its value in row {missing.first}, and a number that is missing cannot "
            'be a category; declare nulls = "drop" for this column or fill it in'
        )
        raise TableError(msg)
    require_finite(rows, name)


def _is_no_number(values: pl.Series) -> pl.Series:
    return values.cast(pl.String).cast(pl.Float64, strict=False).is_null()
