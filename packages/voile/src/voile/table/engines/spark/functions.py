"""What workers of Spark run: functions of record batches, of columns as they are stored.

Workers import this module, so that they need Voile in the same version.  What they get is the
function with the keys that it draws by, and rows; what they raise may be read by anybody who reads
their logs, so it holds no values: errors of Voile as they are, of others where they were raised.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from voile.table.arrays import array_of
from voile.table.engines.shared import starts, whole_groups
from voile.table.engines.spark.columns import loaded_array, stored_array
from voile.table.protocol import Function, GroupFunction
from voile_base.errors import InputError, VoileError, place_of_fault
from voile_base.version import VERSION

__all__ = ["MARK", "AskedOfGroups", "AskedOfRows", "guarded", "packed", "unpacked"]


MARK = ("\u27eavoile ", "\u27eb")
"""What stands around what a worker says of an error."""
_PACKED = pa.schema([("b", pa.binary())])


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


def packed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Batches as rows of one column of bytes, which may stream to the driver."""
    for batch in batches:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as stream:
            stream.write_batch(batch)
        held = pa.array([sink.getvalue().to_pybytes()], pa.binary())
        yield pa.RecordBatch.from_arrays([held], schema=_PACKED)


def unpacked(row: bytes) -> Iterator[pa.RecordBatch]:
    """The batches of such a row."""
    with pa.ipc.open_stream(row) as stream:
        yield from stream
