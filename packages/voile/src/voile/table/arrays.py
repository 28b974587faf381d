"""Arrow arrays as NumPy arrays and Polars series: what functions of record batches need.

A column of a batch may be a dictionary array.  What is computed for each of its values is computed
once for each dictionary: engines that encode columns give every batch the same one.

Arrow's own conversions from and to NumPy would import pandas, which takes longer than many a
release; these go by way of Polars, or of the memory itself.  Polars is given arrays by their
memory, too: where it sees pyarrow's own class, it loads ``pyarrow.compute``, which is a tenth of a
small publication.

Data frames of any kind come in, and the same kind goes out, through narwhals.  An index is not
data: it neither enters a table nor changes a result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from voile_base.errors import TableError
from voile_base.ondemand import on_demand

if TYPE_CHECKING:
    from voile.table import value_types as table_value_types
else:
    table_value_types = on_demand("voile.table.value_types")

nw = on_demand("narwhals")

__all__ = [
    "Frame",
    "PerValue",
    "Values",
    "array_of",
    "frame_of",
    "from_native",
    "kind_of_arrow",
    "kind_of_values",
    "logical_type",
    "numbers_of",
    "of_type",
    "polars_type",
    "series_of",
    "text_values",
]

_TYPES = {
    f"{kind}{width // 8}": getattr(pa, f"{name}{width}")()
    for kind, name in (("i", "int"), ("u", "uint"), ("f", "float"))
    for width in (8, 16, 32, 64)
    if (kind, width) != ("f", 8)
}
"""Arrow's types by NumPy's names."""

Frame: TypeAlias = pl.DataFrame
"""Rows in memory, as adversaries and measures get them; whoever only passes them on names this."""

Values: TypeAlias = pl.Series
"""A column of such rows."""

Made = TypeVar("Made", bound=NDArray[Any])


class _Memory:
    """An array, or one in chunks, by Arrow's interface of memory alone."""

    def __init__(self, array: pa.Array | pa.ChunkedArray) -> None:
        whole = isinstance(array, pa.ChunkedArray)
        self._chunks = array if whole else pa.chunked_array([array], array.type)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._chunks.__arrow_c_stream__(requested_schema)


class PerValue(Generic[Made]):
    """A function of values that is asked once for each value of a dictionary."""

    def __init__(self, function: Callable[[pl.Series], Made]) -> None:
        self._function = function
        self._asked: tuple[pa.Array, Made] | None = None

    def __call__(self, array: pa.Array) -> Made:
        """What it gives for each row."""
        if not isinstance(array, pa.DictionaryArray):
            return self._function(series_of(array))
        known = self._asked  # read once: several threads may ask
        if known is None or not _same(known[0], array.dictionary):
            known = array.dictionary, self._function(series_of(array.dictionary))
            self._asked = known
        return np.take(known[1], _indices(array), axis=0)  # type: ignore[return-value]


def series_of(array: pa.Array | pa.ChunkedArray, name: str = "") -> pl.Series:
    """The values of an array, those of a dictionary array in full."""
    if isinstance(array, pa.DictionaryArray):  # Arrow itself decodes no views of texts
        return series_of(array.dictionary, name).gather(series_of(array.indices))
    return pl.Series(_Memory(array)).rechunk().alias(name)


def frame_of(columns: pa.Table | Mapping[str, object] | Iterable[Values]) -> Frame:
    """Columns that are equally long, by their names."""
    return pl.DataFrame(columns if isinstance(columns, pa.Table | Mapping) else list(columns))


def text_values(texts: Iterable[str | None]) -> Values:
    """A column of texts, also where all of them are missing."""
    return pl.Series(list(texts), dtype=pl.String)


def numbers_of(array: pa.Array) -> NDArray[Any]:
    """The numbers of an array without missing values."""
    if isinstance(array, pa.DictionaryArray):
        return np.take(series_of(array.dictionary).to_numpy(), _indices(array))
    return series_of(array).to_numpy()


def array_of(numbers: NDArray[np.generic]) -> pa.Array:
    """Numbers or truth values as an array; numbers are not copied."""
    if numbers.dtype.kind == "b":
        return pl.Series(numbers).to_arrow()
    numbers = np.ascontiguousarray(numbers)
    buffers = [None, pa.py_buffer(numbers)]
    return pa.Array.from_buffers(_TYPES[numbers.dtype.str[1:]], len(numbers), buffers)


def polars_type(dtype: pa.DataType) -> pl.DataType:
    """The type that Polars has for values of an Arrow type."""
    return series_of(pa.nulls(0, dtype)).dtype


def kind_of_arrow(dtype: pa.DataType) -> str:
    """What a column of this type holds, in words for people; see ``kind_of_type``."""
    return table_value_types.kind_of_type(polars_type(dtype))


def logical_type(dtype: pa.DataType) -> pa.DataType:
    """The type that the kernel has for values of an Arrow type: as Polars names it, texts plain."""
    kind = polars_type(dtype)
    if kind in (pl.Categorical, pl.Enum, pl.String):
        return pa.large_string()
    return pl.Series(dtype=kind).to_arrow().type


def kind_of_values(series: pl.Series) -> pa.DataType:
    """The type that the kernel has for the values of a series."""
    if series.dtype in (pl.Categorical, pl.Enum, pl.String):
        return pa.large_string()
    return series.head(0).to_arrow().type


def of_type(array: pa.Array, dtype: pa.DataType) -> pa.Array:
    """The values of an array, those of a dictionary array in full, as exactly this type."""
    if isinstance(array, pa.DictionaryArray):
        array = series_of(array).to_arrow()
    return array if array.type == dtype else array.cast(dtype)


def _indices(array: pa.DictionaryArray) -> NDArray[Any]:
    return series_of(array.indices).to_numpy()


def _same(one: pa.Array, other: pa.Array) -> bool:
    """Whether two arrays are the same memory; equal ones elsewhere are not."""
    if one is other:
        return True
    return (
        len(one) == len(other)
        and one.offset == other.offset
        and [b and b.address for b in one.buffers()] == [b and b.address for b in other.buffers()]
    )


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
