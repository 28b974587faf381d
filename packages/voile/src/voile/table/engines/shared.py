"""What engines share: eager data frames, batches by group, permutations within runs, files.

What engines have alike: data sets of eager data frames, and the way back to their kind.

Batches that stand by group, cut where a group ends.

Uniform permutations within runs of an array, by the ranks of keyed words.

The i-th place of all gets the i-th word of a keyed stream, and within a run its value goes to the
place that is the rank of its word.  So a run that is permuted again, elsewhere or in parts, is
permuted alike.  Two of m words of 64 bits are equal with a chance below m**2 / 2**65; then the
earlier value goes first.

Words are uniform, so they are dealt by their highest bits into buckets of a few, and these sorted
by insertion; long runs are dealt twice, so that what is dealt to stays near the processor.

Cost: O(n): eight bytes of AES in counter mode, and some 10 ns to deal and sort a value.  Memory: 8
bytes a value for the words of some million places, and as much again for those of the longest run.

Rows of Polars as files, durably and a batch at a time: they never stand in memory decoded.

Few texts go to Parquet as categories: Polars writes the dictionary that they stand in, where of
plain texts it would make one, at twice the cost.  What the file says of its types is what it would
say of plain texts, so that nobody reads categories.

Private folders for what does not fit into memory: of one process, and gone with it.

A folder is for its owner alone and has a lock, held for as long as the process lives; the number of
a process would tell nothing of one in another container with the same disk.  Whoever makes the next
one removes those that nobody holds: of processes that were ended before they could.

Files of a table that somebody may write to while they are read.
"""

from __future__ import annotations

import errno
import io
import os
import re
import shutil
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray
from polars.io.plugins import register_io_source

from voile.table.arrays import from_native, polars_type, series_of
from voile.table.formats.registry import Format, format_named
from voile.table.protocol import EngineSource, Rows
from voile_base.compiled import njit, pays
from voile_base.durable import sync
from voile_base.errors import InputError, TableError
from voile_base.operating_system import lock, open_without_links
from voile_base.randomness import Key

__all__ = [
    "MOST_CATEGORIES",
    "Fault",
    "OfEagerFrames",
    "SpillFolder",
    "WatchedFiles",
    "expect",
    "kept_faults",
    "permute_within_runs",
    "starts",
    "whole_groups",
    "write_arrow",
    "write_batches",
]

MOST_CATEGORIES = 1 << 12
"""Different texts up to which a column goes to Parquet as categories; each part of a file then
names all."""
_TYPES = "ARROW:schema"
"""Where a Parquet file says which types of Arrow its columns had."""
_NUMBER = re.compile(r"\(os error (\d+)\)")
"""What Polars says of a fault of the system, beside other words."""


def write_arrow(
    batches: Iterator[pa.RecordBatch],
    schema: pa.Schema,
    folder: Path,
    file_format: Format,
    categories: Mapping[str, pl.Series] | None = None,
) -> str:
    """Write batches of Arrow with columns of some types, durably; returns the name of the file.

    ``categories`` says for columns that come as dictionary arrays, each batch with the same
    dictionary, the categories that are written for its entries.  Raises ``OSError`` where the disk
    refuses, and what is raised where batches are made.
    """
    coded = categories or {}
    types = pl.Schema({field.name: polars_type(field.type) for field in schema})
    types |= {name: values.dtype for name, values in coded.items()}
    faults: list[BaseException] = []

    def series(array: pa.Array, name: str) -> pl.Series:
        if name not in coded:
            return series_of(array, name)
        return coded[name].gather(pl.Series(array.indices)).alias(name)

    frames = (
        pl.DataFrame([series(a, n) for n, a in zip(types, batch, strict=True)]).cast(types)
        for batch in kept_faults(batches, faults)
    )
    try:
        return write_batches(frames, types, folder, file_format).name
    except OSError:
        if faults:  # whoever writes makes another of it
            raise faults[0] from None
        raise


def kept_faults(
    batches: Iterable[pa.RecordBatch], faults: list[BaseException]
) -> Iterator[pa.RecordBatch]:
    """The same batches; what is raised where they are made is kept, too."""
    try:
        yield from batches
    except GeneratorExit:
        raise
    except BaseException as error:
        faults.append(error)
        raise


def write_batches(
    batches: Iterator[pl.DataFrame], schema: pl.Schema, folder: Path, file_format: Format
) -> Path:
    """Write batches of rows, in their order, to ``data.csv``, ``data.parquet`` and so on.

    Texts may come as categories, where the format is Parquet; all of these stand in the file.
    Raises ``OSError`` where the disk refuses.
    """
    path = folder / f"data.{file_format}"
    if file_format != "csv" and file_format != "parquet":  # noqa: PLR1714 - types follow this
        format_named(file_format).write(batches, schema, path)
        sync(path)
        return path

    def source(*_: Any) -> Iterator[pl.DataFrame]:
        return batches

    rows, said = register_io_source(source, schema=schema), _said_of_texts(schema)
    try:
        if file_format == "csv":
            rows.sink_csv(path)
        else:
            rows.sink_parquet(path, metadata=said)
    except (pl.exceptions.PolarsError, OSError) as error:
        # A full disk is not always an OSError to Polars, and that then has no number.
        if getattr(error, "errno", None) is not None:
            raise
        found = _NUMBER.search(str(error))
        number = int(found[1]) if found else errno.EIO
        raise OSError(number, os.strerror(number)) from None
    sync(path)
    return path


def _said_of_texts(schema: pl.Schema) -> dict[str, str] | None:
    """What a Parquet file says of its types, so that categories are read again as plain texts."""
    plain = {name: pl.String() if dtype == pl.Enum else dtype for name, dtype in schema.items()}
    if plain == schema:
        return None
    empty = io.BytesIO()
    pl.DataFrame(schema=plain).write_parquet(empty)
    empty.seek(0)
    return {_TYPES: pl.read_parquet_metadata(empty)[_TYPES]}


_LOCK = "lock"


class SpillFolder:
    """A private folder; see the module."""

    def __init__(self, place: Path | None, engine: str) -> None:
        """``place`` is where it is made: by default, TMPDIR.

        Raises ``InputError`` where it cannot be.
        """
        place = place or Path(tempfile.gettempdir())
        prefix = f".voile-{engine}-"
        _remove_orphans(place, prefix)
        try:
            self.path = Path(tempfile.mkdtemp(prefix=prefix, dir=place))
        except OSError as fault:
            reason = fault.strerror or "input or output error"
            msg = f"{place}: no folder for temporary data can be made here ({reason})"
            raise InputError(msg) from None
        self._lock = _locked(self.path, os.O_CREAT)

    def remove(self) -> None:
        """Remove it, with all that is in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _locked(folder: Path, how: int) -> int | None:
    """The lock of a folder, held while its descriptor is open; None where it is not to be had."""
    try:
        descriptor = open_without_links(folder / _LOCK, os.O_RDWR | how)
    except OSError:
        return None
    try:
        lock(descriptor, wait=False)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _remove_orphans(place: Path, prefix: str) -> None:
    for folder in place.glob(f"{prefix}*"):
        lock = _locked(folder, 0)
        if lock is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)


class Fault(Protocol):
    """Looks at the files of a table again."""

    def __call__(self, *, reading: bool) -> TableError | None:
        """What is wrong with them, after they could not be read, or could; None: nothing."""


class WatchedFiles:
    """Parquet files as they were when this was made; see ``Fault``."""

    def __init__(self, path: Path, files: Sequence[Path]) -> None:
        """``path`` is what they are called in messages."""
        self._path, self._files = path, tuple(files)
        self._before = self._state()

    def __call__(self, *, reading: bool) -> TableError | None:
        """What is wrong with them."""
        if self._state() != self._before:
            return TableError(
                f"{self._path}: the table changed while it was read; nothing was written. Publish "
                "a copy that nobody writes to"
            )
        if not reading:
            return None
        return TableError(
            f"{self._path}: the table is not whole or not valid Parquet; write it again from its "
            "source"
        )

    def _state(self) -> list[tuple[int, int, int] | None]:
        """What tells whether files were written to."""
        found: list[tuple[int, int, int] | None] = []
        for file in self._files:
            try:
                status = file.stat()
            except OSError:
                found.append(None)
            else:
                found.append((status.st_mtime_ns, status.st_size, status.st_ino))
        return found


R = TypeVar("R", bound=Rows)


class OfEagerFrames(ABC, Generic[R]):
    """The part of an ``Engine`` that makes data sets of what stands in memory."""

    @abstractmethod
    def of_frame(self, frame: pl.DataFrame, numbers: NDArray[np.generic] | None = None) -> R:
        """The rows of a frame; ``numbers`` says where they stand in their source, from 0."""

    def of_native(self, frame: object) -> EngineSource[R]:
        """Any eager data frame that narwhals knows; raises ``TableError``."""
        made, to_native = from_native(frame)

        def convert(rows: Rows) -> Any:
            return to_native(self.frame_of(rows))

        return EngineSource(self.of_frame(made), made.columns, convert=convert)

    def of_arrow(self, table: pa.Table, numbers: NDArray[np.generic] | None = None) -> R:
        """A table of Arrow."""
        return self.of_frame(pl.DataFrame(table), numbers)

    @staticmethod
    def frame_of(rows: Rows) -> pl.DataFrame:
        """All rows, in memory."""
        return pl.DataFrame(rows.to_arrow())


def whole_groups(batches: Iterable[pa.RecordBatch], within: int) -> Iterator[pa.RecordBatch]:
    """Batches of rows that stand by group, none of which is cut in two."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        if not batch.num_rows:
            continue
        runs = [*starts(batch[within]), batch.num_rows]
        goes_on = bool(held) and _agree(held[-1], batch, within)
        ends = int(runs[1]) if goes_on else 0
        if held and (not goes_on or len(runs) > 2):
            yield _joined([*held, batch[:ends]] if goes_on else held)
            held = []
        elif held:
            held.append(batch)
            continue
        last = int(runs[-2])
        if last > ends:
            yield batch[ends:last]
        held = [batch[last:]]
    if held:
        yield _joined(held)


def starts(array: pa.Array) -> Any:
    """Where each run of equal values begins."""
    values = pl.Series(array)
    new = np.ones(len(values), dtype=np.bool_)
    new[1:] = values[1:].ne_missing(values[:-1]).to_numpy()
    return np.flatnonzero(new)


def _agree(one: pa.RecordBatch, other: pa.RecordBatch, within: int) -> bool:
    """Whether the last row of a batch is of the group of the first of another."""
    ends = [pl.Series(one[within][-1:]), pl.Series(other[within][:1])]
    return bool(ends[0].eq_missing(ends[1])[0])


def _joined(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    columns = [
        pa.concat_arrays(list(each)) for each in zip(*(b.columns for b in batches), strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=batches[0].schema)


_PLACES = 1 << 20
_WORTH_LOADING = 4_000_000
"""Values for which NumPy takes as long as it takes to load Numba."""
_FEW = 16
"""Words that are sorted by insertion at once."""
_MOST_BITS = 10
"""Of a word by which it is dealt; twice as many for long runs."""


def expect(values: int) -> None:
    """So many values will be permuted, some at a time: loops that pay for all pay for the first."""
    pays(values, _WORTH_LOADING)


def permute_within_runs(
    values: NDArray[np.generic], sizes: NDArray[np.int64], key: Key, first: int = 0
) -> None:
    """Permute ``values``, shape (n,), in place and uniformly within consecutive runs.

    ``sizes`` are the lengths of the runs; they add up to n.  ``first`` is the index of the first
    value among all that are permuted by the key.
    """
    if not pays(len(values), _WORTH_LOADING):
        by_word = np.argsort(key.stream(len(values), first), kind="stable")
        runs = np.repeat(np.arange(len(sizes), dtype=np.min_scalar_type(len(sizes))), sizes)
        values[:] = values[by_word[np.argsort(runs[by_word], kind="stable")]]
        return
    ends, longest = np.cumsum(sizes), int(sizes.max(initial=1))
    dealt = np.empty(longest, dtype=values.dtype), np.empty(longest, dtype=np.uint64)
    run, start = 0, 0
    while run < len(sizes):
        # Words for about a million places at a time stay near the processor.
        stop = max(run + 1, int(np.searchsorted(ends, start + _PLACES, side="right")))
        end = int(ends[stop - 1])
        words = key.stream(end - start, first + start)
        _rank_runs(values[start:end], words, sizes[run:stop], *dealt)
        run, start = stop, end


@njit(cache=True, nogil=True)
def _rank_runs(
    values: NDArray[np.generic],
    words: NDArray[np.uint64],
    sizes: NDArray[np.int64],
    dealt_values: NDArray[np.generic],
    dealt_words: NDArray[np.uint64],
) -> None:
    """Put the values of each run in the order of their words; there is room for the longest."""
    ends, again = np.empty(1 << _MOST_BITS, np.int64), np.empty(1 << _MOST_BITS, np.int64)
    start = 0
    for size in sizes:
        run_words, run_values = words[start : start + size], values[start : start + size]
        start += size
        bits = _deal(run_words, run_values, dealt_words, dealt_values, ends, 0)
        if not bits:
            continue
        low = 0
        for bucket in range(1 << bits):
            high = ends[bucket]
            # The run itself is free by now, and takes what is dealt for the second time.
            more_words, more_values = dealt_words[low:high], dealt_values[low:high]
            to_words, to_values = run_words[low:high], run_values[low:high]
            more = _deal(more_words, more_values, to_words, to_values, again, bits)
            if more:
                first = 0
                for other in range(1 << more):
                    _insert(to_words[first : again[other]], to_values[first : again[other]])
                    first = again[other]
            else:
                for index in range(high - low):
                    to_values[index] = more_values[index]
            low = high


@njit(cache=True, nogil=True)
def _deal(
    words: NDArray[np.uint64],
    values: NDArray[np.generic],
    to_words: NDArray[np.uint64],
    to_values: NDArray[np.generic],
    ends: NDArray[np.int64],
    skipped: int,
) -> int:
    """Deal words by their highest bits behind some skipped ones; the number of these bits.

    ``ends`` says where each bucket ends.  Few words are sorted where they are: 0 bits.
    """
    size = len(words)
    if size <= _FEW:
        _insert(words, values)
        return 0
    bits = 1
    while bits < _MOST_BITS and (4 << bits) < size:
        bits += 1
    shift, mask = np.uint64(64 - skipped - bits), np.uint64((1 << bits) - 1)
    ends[: 1 << bits] = 0
    for index in range(size):
        ends[np.int64((words[index] >> shift) & mask)] += 1
    before = 0
    for bucket in range(1 << bits):
        count = ends[bucket]
        ends[bucket] = before
        before += count
    for index in range(size):
        word = words[index]
        into = np.int64((word >> shift) & mask)
        to_words[ends[into]] = word
        to_values[ends[into]] = values[index]
        ends[into] += 1
    return bits


@njit(cache=True, nogil=True)
def _insert(words: NDArray[np.uint64], values: NDArray[np.generic]) -> None:
    """Sort words, and values with them; equal ones keep their order."""
    for index in range(1, len(words)):
        word, value = words[index], values[index]
        other = index - 1
        while other >= 0 and words[other] > word:
            words[other + 1], values[other + 1] = words[other], values[other]
            other -= 1
        words[other + 1], values[other + 1] = word, value
