"""Data frames of any kind in, the same kind out, through narwhals.

An index is not data: it neither enters a table nor changes a result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl

from voile_base.errors import TableError
from voile_base.ondemand import on_demand

__all__ = ["from_native"]

nw = on_demand("narwhals")


def from_native(frame: Any) -> tuple[pl.DataFrame, Callable[[pl.DataFrame], Any]]:
    """The rows of a data frame in Polars, and the way back to a frame of the same kind.

    Raises ``TableError`` where the object is no data frame, has two columns of one name, or has
    a column whose values are of mixed types.
    """
    if isinstance(frame, pl.LazyFrame):
        frame = frame.collect()
    try:
        wrapped = nw.from_native(frame, eager_only=True)
        rows = wrapped.to_polars()
    except nw.exceptions.DuplicateError:
        msg = "the data frame has two columns of one name; rename one of them"
        raise TableError(msg) from None
    except TypeError:
        msg = (
            f"a table cannot be made from {type(frame).__name__}; pass a data frame of Polars, "
            "pandas or Arrow"
        )
        raise TableError(msg) from None
    except MemoryError:
        raise
    except Exception as error:  # conversion errors of the frame's own library quote its values
        msg = (
            f"the data frame cannot be converted ({type(error).__name__}); a column with values "
            "of mixed types is the usual cause: give each column one type"
        )
        raise TableError(msg) from None
    return rows, _way_back(wrapped.implementation)


def _way_back(implementation: Any) -> Callable[[pl.DataFrame], Any]:
    def convert(published: pl.DataFrame) -> Any:
        if implementation.is_polars():
            return published
        if implementation.is_pandas():
            return published.to_pandas()
        if implementation.is_pyarrow():
            return published.to_arrow()
        backend: Any = implementation
        return nw.from_arrow(published.to_arrow(), backend=backend).to_native()

    return convert
