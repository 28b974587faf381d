"""What engines share: eager data frames, batches by group, permutations within runs.

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
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from voile.table.frames import from_native
from voile.table.protocol import EngineSource, Rows
from voile_base.compiled import njit, pays
from voile_base.randomness import Key

__all__ = ["OfEagerFrames", "expect", "permute_within_runs", "starts", "whole_groups"]


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
    ends = np.cumsum(sizes)
    run, start = 0, 0
    while run < len(sizes):
        # Words for about a million places at a time stay near the processor.
        stop = max(run + 1, int(np.searchsorted(ends, start + _PLACES, side="right")))
        end = int(ends[stop - 1])
        words = key.stream(end - start, first + start)
        _rank_runs(values[start:end], words, sizes[run:stop])
        run, start = stop, end


@njit(cache=True, nogil=True)
def _rank_runs(
    values: NDArray[np.generic], words: NDArray[np.uint64], sizes: NDArray[np.int64]
) -> None:
    """Put the values of each run in the order of their words."""
    longest = max(sizes.max(), 1)
    dealt_words, dealt_values = np.empty(longest, np.uint64), np.empty(longest, values.dtype)
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
                to_values[:] = more_values
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
