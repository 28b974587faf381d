"""Values of several tables, coded by numbers that all of them share.

Cost: a sort of the distinct rows, and one look-up a row.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from voile.schema.numbers import ExactNumbers

__all__ = ["Codes", "common_codes", "joint_codes"]

Codes = NDArray[np.int64]


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


def _stacked(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    coded = (pl.Categorical, pl.Enum)
    plain = [
        frame.with_columns(
            pl.col(name).cast(pl.String)
            for name, dtype in frame.schema.items()
            if isinstance(dtype, coded)
        )
        for frame in frames
    ]
    columns = []
    for name in plain[0].columns:
        parts = [frame.select(name) for frame in plain]
        numeric = {part[name].dtype.is_numeric() for part in parts}
        if len(numeric) > 1:  # a number and a text: 7 and "7" are one
            parts = [part.cast(pl.String) for part in parts]
        try:
            columns.append(pl.concat(parts, how="vertical_relaxed"))
        except pl.exceptions.PolarsError:
            columns.append(pl.concat([part.cast(pl.String) for part in parts]))
    return pl.concat(columns, how="horizontal")
