"""Values of several tables, coded by numbers that all of them share.

Cost: that of ``dictionary`` for each column, and of ``combinations`` for the rows; one column at a
time is held as texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from voile.schema.numbers import ExactNumbers
from voile.table.combinations import Combinations, combine
from voile.table.dictionary import DictionaryColumn, encode

__all__ = ["Codes", "common_codes", "common_places", "common_types", "joint_codes"]

Codes = NDArray[np.int64]

_RELAXED: Final = "vertical_relaxed"


def common_codes(frames: Sequence[pl.DataFrame]) -> tuple[pl.DataFrame, list[Codes]]:
    """Distinct rows of frames with the same columns, ascending, and the code of each row.

    Columns of different types are compared as the type that holds both, or else as text; few
    distinct texts stand in a dictionary (Enum).
    """
    columns, found = _combined(frames)
    distinct = [
        column.decode(codes).alias(name)
        for (name, column), codes in zip(columns.items(), found.codes, strict=True)
    ]
    return pl.DataFrame(distinct), _of_frames(found, frames)


def common_places(frames: Sequence[pl.DataFrame]) -> list[Codes]:
    """The code of each row alone, as ``common_codes`` has it."""
    return _of_frames(_combined(frames)[1], frames)


def joint_codes(numbers: Sequence[ExactNumbers]) -> tuple[ExactNumbers, list[Codes]]:
    """Distinct numbers of several arrays, ascending, and the code of each number."""
    scale = max(array.scale for array in numbers)
    units = np.concatenate([array.rescaled(scale).units for array in numbers])
    levels, codes = np.unique(units, return_inverse=True)
    ends = np.cumsum([len(array) for array in numbers])[:-1]
    return ExactNumbers(levels, scale), np.split(codes.astype(np.int64), ends)


def common_types(schemas: Sequence[Mapping[str, pl.DataType]]) -> dict[str, pl.DataType]:
    """The types in which columns of several tables are compared, by the names in the first.

    That is the type which holds both, or else text; a number and a text are both text, so that 7
    and "7" are one.
    """
    return {name: _common_type([schema[name] for schema in schemas]) for name in schemas[0]}


def _common_type(types: Sequence[pl.DataType]) -> pl.DataType:
    coded = (pl.Categorical, pl.Enum)
    plain = [pl.String() if isinstance(dtype, coded) else dtype for dtype in types]
    if len({dtype.is_numeric() for dtype in plain}) > 1:
        return pl.String()
    try:
        empty = pl.concat([pl.Series(dtype=dtype).to_frame() for dtype in plain], how=_RELAXED)
    except pl.exceptions.PolarsError:
        return pl.String()
    return empty.dtypes[0]


def _combined(
    frames: Sequence[pl.DataFrame],
) -> tuple[dict[str, DictionaryColumn], Combinations]:
    types = common_types([frame.schema for frame in frames])
    columns = {n: _encoded([frame[n] for frame in frames], dtype) for n, dtype in types.items()}
    return columns, combine([(column.codes, len(column.values)) for column in columns.values()])


def _of_frames(found: Combinations, frames: Sequence[pl.DataFrame]) -> list[Codes]:
    ends = np.cumsum([frame.height for frame in frames])[:-1]
    return np.split(found.index.astype(np.int64), ends)


def _encoded(parts: Sequence[pl.Series], dtype: pl.DataType) -> DictionaryColumn:
    """The values of several columns, one after another, as one type; without their name.

    Polars takes some names for patterns.
    """
    columns = [part.alias("") for part in parts]
    if len(parts) == 1 and isinstance(parts[0].dtype, pl.Categorical | pl.Enum):
        return encode(columns[0])
    known = pl.String() if dtype == pl.Null else dtype
    return encode(pl.concat([column.cast(known) for column in columns]))
