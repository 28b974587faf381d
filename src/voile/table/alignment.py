"""Values of several tables, coded by numbers that all of them share.

Cost: a sort of the distinct rows, and one look-up a row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from voile.schema.numbers import ExactNumbers

__all__ = ["Codes", "common_codes", "common_types", "joint_codes"]

Codes = NDArray[np.int64]

_RELAXED: Final = "vertical_relaxed"


def common_codes(frames: Sequence[pl.DataFrame]) -> tuple[pl.DataFrame, list[Codes]]:
    """Distinct rows of frames with the same columns, ascending, and the code of each row.

    Columns of different types are compared as the type that holds both, or else as text.
    """
    rows = _stacked(frames)
    distinct = rows.unique().sort(pl.all())
    coded = distinct.with_row_index("\0code")  # no file has such a column
    joined = rows.join(coded, on=rows.columns, how="left", nulls_equal=True, maintain_order="left")
    codes = joined["\0code"].cast(pl.Int64).to_numpy()
    ends = np.cumsum([frame.height for frame in frames])[:-1]
    return distinct, np.split(codes, ends)


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


def _stacked(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    types = common_types([frame.schema for frame in frames])
    as_types = [pl.col(name).cast(dtype) for name, dtype in types.items()]
    return pl.concat([frame.select(as_types) for frame in frames])
