"""Data frames of any kind in, the same kind out, through narwhals.

An index is not data: it neither enters a table nor changes a result.

Splitting a table into rows that may be published and rows that are held out.

Held-out rows are the control group of a study: an attack that tells who was in the table is judged
by people who were not, and what is learnt from a release by people it has never seen.

Each row gets 64 bits of a keyed stream, and the rows with the least are held out: every subset of
the right size is as likely as any other.  Two equal words, of which the earlier row counts as
less, happen with a chance below n**2 / 2**65.

Cost: a sort of n words, and one copy of the table.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl

from voile.table.codes import encode
from voile_base.errors import InputError, TableError
from voile_base.ondemand import on_demand
from voile_base.randomness import Randomness

__all__ = ["from_native", "hold_out"]


nw = on_demand("narwhals")


def from_native(frame: object) -> tuple[pl.DataFrame, Callable[[pl.DataFrame], Any]]:
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


def hold_out(
    frame: object, share: float | Fraction, randomness: Randomness, unit: str | None = None
) -> tuple[Any, Any]:
    """The rows of a data frame that are kept, and those held out, of the frame's own kind.

    Of n rows, ``round(share * n)`` are held out; all such subsets are equally likely.  Rows stay
    in their order in both parts.  With ``unit``, a column that tells persons or households apart,
    n counts these, and all rows of one are in the same part.  Raises ``InputError`` where ``share``
    is not between 0 and 1, both excluded, or one part would have no row; ``TableError`` where the
    object is no data frame.
    """
    rows, to_native = from_native(frame)
    if not 0 < share < 1:
        msg = f"the share of rows to hold out must lie between 0 and 1, both excluded, not {share}"
        raise InputError(msg)
    whose = np.arange(rows.height) if unit is None else encode(rows[unit]).codes
    there = rows.height if unit is None else rows[unit].n_unique()
    held = round(share * there)
    if not 0 < held < there:
        what = "rows" if unit is None else "persons"
        msg = (
            f"a share of {share} of {there} {what} leaves one part empty; give more {what}, or a "
            "share nearer to one half"
        )
        raise InputError(msg)
    words = randomness.key("hold out").stream(there)
    held_out = np.zeros(there, dtype=np.bool_)
    held_out[np.argsort(words, kind="stable")[:held]] = True
    chosen = held_out[whose]
    return to_native(rows.filter(pl.Series(~chosen))), to_native(rows.filter(pl.Series(chosen)))
