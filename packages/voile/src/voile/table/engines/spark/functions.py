"""What workers of Spark run, and what columns are stored as.

Workers import this module, so that they need Voile in the same version.  What they get is the
function with the keys that it draws by, and rows; what they raise may be read by anybody who reads
their logs, so it holds no values: errors of Voile as they are, of others where they were raised.

Spark has no unsigned numbers, no nanoseconds and no zone of a column, and what a timestamp is
depends on a setting of the session.  So dates, times and durations are stored as the whole numbers
that they are in Arrow, in their own units, and unsigned numbers as wider ones; those of 64 bits
have their highest bit turned, which keeps their order.  Minus zero is stored as zero.  Texts are
what they are: Spark compares their bytes, which is by code points.  No mode of SQL (ANSI or not)
and no time zone then decides what a value is, or which of two is less.

Columns have names of the session's, which are plain: names of a table may be anything.

Comparisons with literals in Spark's SQL, of columns as they are stored.

A text is said by its bytes: what a backslash in quotes means depends on a setting of the session.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from voile.table.arrays import array_of, kind_of_arrow, of_type, polars_type, series_of
from voile.table.engines.expressions import moment_literal
from voile.table.engines.shared import starts, whole_groups
from voile.table.protocol import Function, GroupFunction
from voile_base.errors import InputError, TableError, VoileError, place_of_fault
from voile_base.ondemand import dataclass
from voile_base.version import VERSION

__all__ = [
    "MARK",
    "SPARK",
    "AskedOfGroups",
    "AskedOfRows",
    "SparkColumn",
    "guarded",
    "loaded_array",
    "stored_array",
]

_TYPES = {
    pa.int8(): "tinyint",
    pa.int16(): "smallint",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.bool_(): "boolean",
    pa.string(): "string",
    pa.binary(): "binary",
}
_WIDER = {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64()}
_HIGHEST = pa.scalar(1 << 63, pa.uint64())


@dataclass(frozen=True, eq=False)
class SparkColumn:
    """A column: its name in the session, and the type of its values."""

    ident: str
    type: pa.DataType

    @property
    def sql_type(self) -> str:
        """What Spark calls the type in which it is stored."""
        dtype = _stored_type(self.type)
        if pa.types.is_decimal(dtype):
            return f"decimal({dtype.precision},{dtype.scale})"
        return _TYPES[dtype]

    def full(self, array: pa.ChunkedArray) -> pa.Array:
        """Values as the kernel has them, of exactly the type of the column."""
        chunks = [of_type(loaded_array(each, self.type), self.type) for each in array.chunks]
        return pa.concat_arrays(chunks) if chunks else pa.array([], self.type)


def _stored_type(dtype: pa.DataType) -> pa.DataType:  # noqa: PLR0911 - one for each family of types
    """The Arrow type in which values of a type are stored; raises ``TableError`` where none is."""
    if dtype in _TYPES or pa.types.is_decimal(dtype):
        return dtype
    if dtype in _WIDER:
        return _WIDER[dtype]
    if pa.types.is_null(dtype):
        return pa.int8()
    if pa.types.is_date32(dtype):
        return pa.int32()
    if pa.types.is_temporal(dtype) or pa.types.is_uint64(dtype):
        return pa.int64()
    if pa.types.is_large_string(dtype):
        return pa.string()
    if pa.types.is_large_binary(dtype):
        return pa.binary()
    msg = (
        f"the engine spark holds no columns with {kind_of_arrow(dtype)} values of this type; ask "
        "for --engine polars, or leave such columns out"
    )
    raise TableError(msg)


def stored_array(array: pa.Array, dtype: pa.DataType) -> pa.Array:
    """Values of a type as they are stored."""
    if isinstance(array, pa.DictionaryArray):
        array = series_of(array).to_arrow()
    kind = _stored_type(dtype)
    if pa.types.is_null(dtype):
        return pa.nulls(len(array), kind)
    if array.type != dtype:
        array = pl.Series(array).cast(polars_type(dtype)).to_arrow().cast(dtype)
    if pa.types.is_uint64(dtype):
        return pc.bit_wise_xor(array, _HIGHEST).view(kind)
    if pa.types.is_floating(dtype):
        return pc.add(array, pa.scalar(0, dtype))  # minus zero becomes zero
    if pa.types.is_temporal(dtype):
        return array.view(kind)
    return array if kind == dtype else array.cast(kind)


def loaded_array(array: pa.Array, dtype: pa.DataType) -> pa.Array:
    """Values as the kernel has them, of an array as they are stored; texts may stay narrow."""
    if pa.types.is_null(dtype):
        return pa.nulls(len(array))
    if pa.types.is_uint64(dtype):
        return pc.bit_wise_xor(array.view(pa.uint64()), _HIGHEST)
    if pa.types.is_temporal(dtype):
        return array.view(dtype)
    return array.cast(dtype) if dtype in _WIDER else array


_HALF = 2**63
_EXACT = 2**53


class _SparkDialect:
    """See ``Dialect``."""

    def against(self, column: SparkColumn, operation: str, value: Any) -> str | None:
        """A column compared with a literal."""
        said = _literal(column.type, value)
        return None if said is None else f"({column.ident} {operation} {said})"

    def alike(self, one: SparkColumn, other: SparkColumn) -> bool:
        """Whether what is stored of two columns compares as their values do."""
        return bool(one.type == other.type)

    def finite(self, column: SparkColumn) -> str:
        """Whether a column of floating point is finite."""
        name = column.ident
        return f"(NOT isnan({name}) AND abs({name}) <> CAST('Infinity' AS DOUBLE))"


SPARK = _SparkDialect()


def _literal(dtype: pa.DataType, value: Any) -> str | None:
    """A literal that is compared exactly with a column of a type; else None."""
    if isinstance(value, str):
        return f"CAST(X'{value.encode().hex()}' AS STRING)"
    if isinstance(value, bool):
        return str(value).upper() if pa.types.is_boolean(dtype) else None
    if isinstance(value, int) and pa.types.is_integer(dtype):
        stored = value - _HALF if pa.types.is_uint64(dtype) else value
        return f"CAST({stored} AS BIGINT)" if -_HALF <= stored < _HALF else None
    if isinstance(value, int | float) and pa.types.is_floating(dtype):
        if isinstance(value, int) and abs(value) > _EXACT:
            return None
        return f"CAST('{float(value)!r}' AS DOUBLE)"
    moment = moment_literal(dtype, value)
    return None if moment is None else f"CAST({moment} AS BIGINT)"


MARK = ("\u27eavoile ", "\u27eb")
"""What stands around what a worker says of an error."""


def guarded(run: Callable[[], Any]) -> Any:
    """What a function gives; raises what may be said of what it raises."""
    try:
        return run()
    except MemoryError:
        raise
    except VoileError as error:
        said = {"error": type(error).__name__, "message": str(error)}
    except OSError as error:
        said = {"error": OSError.__name__, "message": str(error.errno or errno.EIO)}
    except Exception as error:
        said = {"error": "", "message": place_of_fault(error)}
    raise RuntimeError(MARK[0] + json.dumps(said) + MARK[1]) from None


@dataclass(frozen=True)
class _Sent:
    """What is sent to workers with a function."""

    version: str

    def require_version(self) -> None:
        """Raise ``InputError`` where another Voile is here than there."""
        if self.version != VERSION:
            msg = (
                f"a worker of Spark has Voile {VERSION}, and {self.version} asks it; install the "
                "same version there (docs/engines.md says how it is shipped)"
            )
            raise InputError(msg)


@dataclass(frozen=True)
class AskedOfRows(_Sent):
    """A function of rows, see ``Function``, asked of columns as they are stored."""

    function: Function
    reads: Sequence[tuple[str, pa.DataType]]
    gives: Sequence[tuple[str, pa.DataType]]
    """Names in the session, and types."""

    def __call__(self, *arrays: pa.Array) -> pa.Array:
        """The new columns of some rows, as fields of one."""
        return guarded(lambda: self._asked(arrays))

    def _asked(self, arrays: Sequence[pa.Array]) -> pa.Array:
        self.require_version()
        pairs = zip(arrays, self.reads, strict=False)  # one more, where nothing is read
        read = [loaded_array(array, dtype) for array, (_, dtype) in pairs]
        names = [name for name, _ in self.reads]
        if not read:
            read, names = [pa.nulls(len(arrays[0]))], [""]
        given = self.function(pa.RecordBatch.from_arrays(read, names=names))
        kinds = [dtype for _, dtype in self.gives]
        made = [stored_array(array, dtype) for array, dtype in zip(given, kinds, strict=True)]
        return pa.StructArray.from_arrays(made, names=[name for name, _ in self.gives])


@dataclass(frozen=True)
class AskedOfGroups(_Sent):
    """A function of whole groups, see ``GroupFunction``, asked of rows that stand by group.

    What it gives of a group stands beside the first row of it, for which ``first`` is true.
    """

    function: GroupFunction
    within: int
    """The place of the column that tells groups."""
    reads: Sequence[tuple[str, pa.DataType]]
    """Names and types of the leading columns; what follows are columns of the session's own."""
    gives: Sequence[tuple[str, pa.DataType]]
    of_groups: Sequence[tuple[str, pa.DataType]]
    first: str
    names: Sequence[str]
    """Of all columns of the rows, in the session."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows with the new columns."""
        groups = whole_groups(batches, self.within)
        while True:
            made = guarded(lambda: self._next(groups))
            if made is None:
                return
            yield made

    def _next(self, groups: Iterator[pa.RecordBatch]) -> pa.RecordBatch | None:
        self.require_version()
        batch = next(groups, None)
        if batch is None:
            return None
        pairs = zip(batch, self.reads, strict=False)
        loaded = [loaded_array(array, dtype) for array, (_, dtype) in pairs]
        names = [name for name, _ in self.reads]
        given, of_these = self.function(pa.RecordBatch.from_arrays(loaded, names=names))
        new = starts(batch[self.within])
        first = np.zeros(batch.num_rows, dtype=np.bool_)
        first[new] = True
        place = pa.array(np.cumsum(first) - 1, mask=~first)
        arrays = [
            *batch,
            *(stored_array(a, dtype) for a, (_, dtype) in zip(given, self.gives, strict=True)),
            *(
                stored_array(a, dtype).take(place)
                for a, (_, dtype) in zip(of_these, self.of_groups, strict=True)
            ),
            array_of(first),
        ]
        made = [name for name, _ in (*self.gives, *self.of_groups)]
        return pa.RecordBatch.from_arrays(arrays, names=[*self.names, *made, self.first])
