"""Columns as codes: dictionaries of values, frequencies, sorted words, and combinations.

Columns as a sorted dictionary of distinct values and one small integer for each row.

Whatever concerns values (types, bounds, exact numbers, identities) is then settled once for each
distinct value, and whatever concerns rows is arithmetic on integers.

``sort_rows`` packs the codes of a row into one machine word, or as few as hold them.  A table
without row numbers is a multiset of such words: sorting them gives an order of the rows that is a
function of their contents alone, whatever order they came in.

Cost: one hash look-up a row to encode, a sort of the d distinct values, one to four bytes a row and
column; packing and unpacking are a few instructions a row and column.

Sorting machine words, and rows of several words, digit by digit.

Least significant digit first: each pass deals the rows by one digit of eight bits and keeps the
order that they had, so after the pass of the highest digit they are sorted.  Digits that all rows
share are passed over.  Few words are left to NumPy, as are many for which it would take longer to
load Numba, and words of few bits are counted.

Cost for n rows of b bits in w words: b / 8 passes, each of which reads n words and moves n rows,
some 3 ns a row and word; the rows once more in memory.  For ten million words of 52 bits that
is a third of what a comparison sort takes.

How often codes stand in columns: one pass over the rows, and nothing as long as they are.

Many rows are counted by compiled loops, which read codes as narrow as they are; to load Numba for
few would take longer than NumPy's own counting, a few thousand rows at a time.

Cost: some 1 ns a row and column while the counts stay near the processor, up to 5 ns beyond.

Distinct combinations of values: how many rows have each, and which one each row has.

A row is the tuple of its codes.  Columns are folded one after the other into one number a row,
mixed radix, as long as the range of that number stays small enough for a table: one pass counts
the rows of each number, and those that occur get their rank.  Then the next columns are folded
into the rank.  So nine columns with a product of a thousand million cost two or three tables,
and rows are sorted only where combinations are about as many as rows.  Ranks ascend like
the tuples they stand for, so the result does not depend on the order of the rows.

Which combination each row has, and of which codes it is, is found when somebody asks.

Rows that stand in runs of one combination, as those of a release by groups do, are counted run by
run: each run is one row, as often as it is long.

Cost for n rows and m columns: a pass for each column and three for each table, some 15 ns a row
for nine columns; with a sort, some 60 ns a row.  One to four bytes a row are kept, and 8 to 24
more are used on the way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from voile.table.arrays import series_of
from voile_base.compiled import njit, pays
from voile_base.ondemand import dataclass
from voile_base.randomness import parts

__all__ = [
    "Codes",
    "Combinations",
    "DictionaryColumn",
    "code_type",
    "count_codes",
    "count_pairs",
    "count_table",
    "encode",
    "gathered",
    "look_up",
    "of_distinct",
    "sort_rows",
    "sort_words",
    "sorted_order",
    "without_minus_zero",
]


_DIGIT = 8
_FEW = 1 << 15
_WORTH_LOADING, _SEVERAL_WORTH_LOADING = 6_000_000, 2_000_000
"""Rows of one word, or of several, for which NumPy takes as long as it takes to load Numba."""
_COUNTED = 1 << 22
"""Range of words up to which they are sorted by counting them."""


def sort_words(words: NDArray[np.generic], bits: int, ordered: int = 0) -> NDArray[Any]:
    """Machine words of so many bits, shape (n,), ascending; those given are used up.

    They ascend already in their lowest bits, ``ordered`` of them.
    """
    if 1 << bits <= min(len(words), _COUNTED):
        distinct = np.arange(1 << bits, dtype=words.dtype)
        return np.repeat(distinct, np.bincount(words, minlength=1 << bits))
    if len(words) < _FEW or not pays(len(words), _WORTH_LOADING):
        words.sort()
        return words
    return _sorted(words.reshape(-1, 1), [(0, ordered, bits)]).ravel()


def _sort_word_rows(rows: NDArray[np.generic], bits: Sequence[int]) -> NDArray[Any]:
    """Rows of w machine words, shape (n, w), ascending, the first word first.

    ``bits`` says how many bits each word has; a word of which that is 0 is carried along, and rows
    that agree in the others keep their order.  The rows given are used up.
    """
    if not pays(len(rows), _SEVERAL_WORTH_LOADING):
        by = [rows[:, word] for word in reversed(range(rows.shape[1])) if bits[word]]
        return rows[np.lexsort(by)] if by else rows
    return _sorted(rows, [(word, 0, bits[word]) for word in reversed(range(rows.shape[1]))])


def _sorted(rows: NDArray[np.generic], digits: Sequence[tuple[int, int, int]]) -> NDArray[Any]:
    """Rows sorted by runs of bits, the least run first: a word, and its bits from and to."""
    spare = np.empty_like(rows)
    for word, low, high in digits:
        for shift in range(low, high, _DIGIT):
            if _deal(rows, spare, word, shift):
                rows, spare = spare, rows
    return rows


@njit(cache=True, nogil=True)
def _deal(rows: NDArray[np.generic], dealt: NDArray[np.generic], word: int, shift: int) -> bool:
    """Deal rows by one digit, in their order; False where all share it, and nothing is dealt."""
    width = rows.shape[1]
    by = rows.dtype.type(shift)
    mask = rows.dtype.type(255)
    place = np.zeros(256, dtype=np.int64)
    for row in range(len(rows)):
        place[(rows[row, word] >> by) & mask] += 1
    start = 0
    for digit in range(256):
        count = place[digit]
        if count == len(rows):
            return False
        place[digit] = start
        start += count
    for row in range(len(rows)):
        digit = (rows[row, word] >> by) & mask
        for other in range(width):
            dealt[place[digit], other] = rows[row, other]
        place[digit] += 1
    return True


Codes = NDArray[np.integer[Any]]

_COUNTING_WORTH_LOADING, _PAIRS_WORTH_LOADING = 1 << 29, 1 << 28
"""Rows, and rows of pairs, for which NumPy takes as long as it takes to load Numba."""
_AT_ONCE = 1 << 15


def count_codes(codes: Codes, distinct: int) -> NDArray[np.int64]:
    """How often each code below ``distinct`` stands, shape (distinct,)."""
    if pays(len(codes), _COUNTING_WORTH_LOADING):
        counts = np.zeros(distinct, dtype=np.int64)
        _count(codes, counts)
        return counts
    return _in_parts(len(codes), distinct, lambda part: codes[part])


def count_table(first: Codes, second: Codes, distinct: int, size: int) -> Codes:
    """How often each pair of codes stands, shape (size,), pair (a, b) at ``a * distinct + b``.

    ``distinct`` is above all codes of the second column.
    """
    if pays(len(first), _PAIRS_WORTH_LOADING):
        counts: Codes = np.zeros(size, dtype=np.uint32 if len(first) < 1 << 32 else np.uint64)
        _count_pairs(first, second, distinct, counts)
        return counts
    return _in_parts(
        len(first), size, lambda part: first[part].astype(np.int64) * distinct + second[part]
    )


def _in_parts(rows: int, size: int, numbers: Callable[[slice], Codes]) -> NDArray[np.int64]:
    """How often each number below ``size`` stands; asked for those of some rows at a time."""
    counts = np.zeros(size, dtype=np.int64)
    step = max(_AT_ONCE, size)
    for start in range(0, rows, step):
        counts += np.bincount(numbers(slice(start, start + step)), minlength=size)
    return counts


@njit(cache=True, nogil=True)
def _count(codes: Codes, counts: NDArray[np.int64]) -> None:
    for code in codes:
        counts[code] += 1


@njit(cache=True, nogil=True)
def _count_pairs(first: Codes, second: Codes, distinct: int, counts: Codes) -> None:
    for row in range(len(first)):
        counts[np.int64(first[row]) * distinct + np.int64(second[row])] += np.uint32(1)


_WORD_BITS = 64
_DICTIONARY_LIMIT = 1 << 16
_WORD_RANGE = 1 << 63
_DENSE = 2
"""Range of integers, in rows, up to which they are looked up by value."""
_NARROW = 1 << 12
"""Range up to which that costs nothing, and spares Arrow's hashes and their loading."""
_SOON_SORTED = 1 << 14
"""Rows that are sorted sooner than Arrow's hashes are loaded."""
_ASKED = 1 << 12
"""Rows that tell whether values repeat."""


@dataclass(frozen=True, eq=False)
class DictionaryColumn:
    """A column of n rows: ``values[codes[i]]`` is the value of row i."""

    values: pl.Series
    """Distinct values, ascending; a missing value, if there is one, comes first."""
    codes: Codes
    """Shape (n,), in the narrowest type: one byte for up to 256 values, two for up to 65,536."""

    @property
    def name(self) -> str:
        """Name of the column."""
        return self.values.name

    @property
    def has_missing(self) -> bool:
        """Whether some row has no value."""
        return self.values.null_count() > 0

    def decode(self, codes: Codes) -> pl.Series:
        """The values of rows with these codes; few distinct texts stay in a dictionary (Enum)."""
        values = self.values
        if values.dtype == pl.String and len(values) < min(len(codes), _DICTIONARY_LIMIT):
            values = values.cast(pl.Enum(values.drop_nulls()))
        return gathered(values, codes)

    def only(self, rows: NDArray[np.bool_]) -> DictionaryColumn:
        """The column of the chosen rows; values that none of them has are dropped."""
        codes = self.codes[rows]
        present = count_codes(codes, len(self.values)) > 0
        rank = (np.cumsum(present) - 1).astype(code_type(int(present.sum())))
        return DictionaryColumn(self.values.filter(series_of(present)), rank[codes])

    def mapped(self, values: pl.Series) -> DictionaryColumn:
        """The column with other values for the present ones, in their order; they may repeat."""
        return _ascending(values, self.codes)


def gathered(values: pl.Series, indices: NDArray[np.generic]) -> pl.Series:
    """The values at these indices; Polars takes some names, such as "^a$", for patterns."""
    return values.alias("").gather(series_of(indices)).alias(values.name)


def of_distinct(values: pl.Series, codes: Codes) -> pl.Series:
    """The column of these values, which may repeat; few distinct texts stand in a dictionary."""
    if values.dtype != pl.String:
        return gathered(values, codes)
    column = _ascending(values.alias(""), codes)
    return column.decode(column.codes).alias(values.name)


def without_minus_zero(values: pl.Series) -> pl.Series:
    """The values, with zero for minus zero."""
    if not values.dtype.is_float() or not (values == 0).any():
        return values
    zero = pl.lit(0.0, dtype=values.dtype)  # adding zero would be optimised away
    plain = pl.when(values == 0).then(zero).otherwise(values).alias(values.name)
    return pl.select(plain).to_series()


def encode(column: pl.Series | pa.ChunkedArray, name: str = "") -> DictionaryColumn:
    """Encode a column; minus zero counts as zero, and what stands in a dictionary as text.

    Takes a Polars series, or a dictionary array of Arrow with the name of the column.
    """
    if isinstance(column, pa.ChunkedArray):
        combined = column.unify_dictionaries().combine_chunks()
        chunks = combined.chunks if isinstance(combined, pa.ChunkedArray) else [combined]
        return _ascending(*_of_arrow(chunks[0], name))
    if column.dtype.is_integer() and len(column) and not column.null_count():
        low, high = column.min(), column.max()
        assert isinstance(low, int)
        assert isinstance(high, int)
        if high - low <= max(_DENSE * len(column), _NARROW) and high < _WORD_RANGE:
            return _encode_dense(column, low, high)
    if column.dtype == pl.String:
        return _ascending(*_encode_text(column))
    if isinstance(column.dtype, pl.Categorical | pl.Enum):
        return _ascending(*_of_categories(column))
    if len(column) <= _SOON_SORTED or _is_mostly_distinct(column):
        return _ascending(column, np.arange(len(column)))
    encoded = column.to_arrow().dictionary_encode(null_encoding="encode")
    values, codes = _of_arrow(encoded, column.name)
    return _ascending(values.cast(column.dtype), codes)


def _is_mostly_distinct(column: pl.Series) -> bool:
    """Whether values hardly repeat, as far as some tell: then a sort takes less than hashes."""
    some = column.gather_every(max(len(column) // _ASKED, 1))
    return some.n_unique() > len(some) // 2


def sort_rows(columns: Sequence[tuple[Codes, int]]) -> list[Codes]:
    """Sort rows by their codes in all columns, the first column first; new codes by column.

    Each column comes with the number of its distinct codes.
    """
    words = _words(columns)
    widths = [[_width(distinct) for _, distinct in word] for word in words]
    if len(words) == 1:
        return _unpacked(sort_words(_packed(columns), sum(widths[0])), widths[0])
    rows = np.empty((len(columns[0][0]), len(words)), dtype=np.uint64)
    for index, word in enumerate(words):
        rows[:, index] = _packed(word)
    rows = _sort_word_rows(rows, [sum(of_word) for of_word in widths])
    split = (_unpacked(rows[:, index].copy(), it) for index, it in enumerate(widths))
    return [codes for of_word in split for codes in of_word]


def sorted_order(columns: Sequence[tuple[Codes, int]]) -> NDArray[Any]:
    """Where the rows stand, shape (n,), in the order of ``sort_rows``; equal ones as they stood."""
    words, rows = _words(columns), len(columns[0][0])
    bits = [sum(_width(distinct) for _, distinct in word) for word in words]
    order = np.arange(rows, dtype=np.uint64)
    low = _width(rows)
    if len(words) == 1 and bits[0] + low <= _WORD_BITS:
        packed = _packed(words[0]).astype(np.uint64)
        packed <<= np.uint64(low)
        packed |= order
        packed = sort_words(packed, bits[0] + low, ordered=low)
        packed &= np.uint64(2**low - 1)
        return packed
    together = np.column_stack([*(_packed(word).astype(np.uint64) for word in words), order])
    return _sort_word_rows(together, [*bits, 0])[:, -1]


def look_up(table: NDArray[np.generic], codes: Codes) -> NDArray[Any]:
    """``table[codes]``, without a wider copy of the codes and without the interpreter's lock."""
    found = np.empty_like(table, shape=len(codes))
    for part in parts(len(codes)):
        np.take(table, codes[part], out=found[part], mode="clip")
    return found


def _width(distinct: int) -> int:
    """The bits that hold codes below ``distinct``."""
    return max(1, (distinct - 1).bit_length())


def _words(columns: Sequence[tuple[Codes, int]]) -> list[list[tuple[Codes, int]]]:
    """The columns in runs, each of which fits in a machine word."""
    words: list[list[tuple[Codes, int]]] = []
    free = 0
    for codes, distinct in columns:
        width = _width(distinct)
        if width > free:
            words.append([])
            free = _WORD_BITS
        words[-1].append((codes, distinct))
        free -= width
    return words


def _packed(columns: Sequence[tuple[Codes, int]]) -> NDArray[Any]:
    """Rows as machine words, the first column in the highest bits."""
    widths = [_width(distinct) for _, distinct in columns]
    dtype = np.uint32 if sum(widths) <= _WORD_BITS // 2 else np.uint64
    packed: NDArray[Any] = columns[0][0].astype(dtype)
    word = packed.dtype.type
    for (codes, _), width in zip(columns[1:], widths[1:], strict=True):
        packed <<= word(width % _WORD_BITS)
        np.bitwise_or(packed, codes, out=packed, dtype=packed.dtype, casting="unsafe")
    return packed


def _unpacked(packed: NDArray[Any], widths: Sequence[int]) -> list[Codes]:
    """The codes of packed rows by column; the words are used up."""
    word = packed.dtype.type
    unpacked: list[Codes] = []
    for width in reversed(widths):
        codes = np.empty(len(packed), dtype=code_type(2**width))
        np.bitwise_and(packed, word(2**width - 1), out=codes, casting="unsafe")
        unpacked.append(codes)
        packed >>= word(width % _WORD_BITS)
    return unpacked[::-1]


def code_type(distinct: int) -> np.dtype[np.unsignedinteger[Any]]:
    """The narrowest type for codes below ``distinct``."""
    return np.min_scalar_type(max(distinct - 1, 0))


def _of_arrow(encoded: Any, name: str) -> tuple[pl.Series, Codes]:
    values = series_of(encoded.dictionary, name)
    indices = encoded.indices
    if indices.null_count:  # a missing value gets an index of its own behind the others
        indices = indices.fill_null(len(values))
        values = values.extend(pl.Series(name, [None], dtype=values.dtype))
    return values, series_of(indices).to_numpy()  # Arrow itself would import pandas for this


def _encode_dense(column: pl.Series, low: int, high: int) -> DictionaryColumn:
    """Encode integers that lie close together: a look-up by value in place of a hash.

    Where they span little, their differences from the least are codes already.
    """
    span = high - low + 1
    if span <= _DICTIONARY_LIMIT:
        codes = np.empty(len(column), dtype=code_type(span))
        for part, numbers in _pieces(column):
            np.subtract(numbers, low, out=codes[part], casting="unsafe")
        there = count_codes(codes, span) > 0
        listed = series_of(np.flatnonzero(there) + low, column.name).cast(column.dtype)
        if not there.all():
            codes = look_up((np.cumsum(there) - 1).astype(code_type(len(listed))), codes)
        return DictionaryColumn(listed, codes)
    present = np.zeros(span, dtype=bool)
    for _, numbers in _pieces(column):
        present[numbers - low] = True
    rank = (np.cumsum(present) - 1).astype(code_type(int(present.sum())))
    codes = np.empty_like(rank, shape=len(column))
    for part, numbers in _pieces(column):
        np.take(rank, numbers - low, out=codes[part], mode="clip")
    values = pl.Series(column.name, np.flatnonzero(present) + low, dtype=column.dtype)
    return DictionaryColumn(values, codes)


def _pieces(column: pl.Series) -> Iterator[tuple[slice, NDArray[np.int64]]]:
    """Integers a few at a time, with their indices: a whole copy would cost more than the work."""
    start = 0
    for chunk in column.get_chunks():
        numbers = chunk.to_numpy()
        for part in parts(len(numbers)):
            stop = start + len(numbers[part])
            yield slice(start, stop), numbers[part].astype(np.int64, copy=False)
            start = stop


def _encode_text(column: pl.Series) -> tuple[pl.Series, Codes]:
    # Categories of this column alone: the global ones would keep private texts alive.
    return _of_categories(column.cast(pl.Categorical(pl.Categories.random())))


def _of_categories(categories: pl.Series) -> tuple[pl.Series, Codes]:
    physical = categories.to_physical()
    most = physical.max()
    size = 1 + most if isinstance(most, int) else 0
    if missing := physical.null_count() > 0:
        physical = physical.cast(pl.UInt32).fill_null(size)
    numbers = physical.to_numpy()
    if isinstance(categories.dtype, pl.Enum):
        codes = np.flatnonzero(count_codes(numbers, size + 1)[:size])
        values = gathered(categories.dtype.categories.alias(categories.name), codes)
    else:
        distinct = categories.unique().drop_nulls()
        codes, values = distinct.to_physical().to_numpy(), distinct.cast(pl.String)
    rank = np.full(size + 1, len(codes), dtype=code_type(len(codes) + 1))
    rank[codes] = np.arange(len(codes), dtype=rank.dtype)
    if missing:
        values = values.extend(pl.Series(categories.name, [None], dtype=pl.String))
    return values, look_up(rank, numbers)


def _ascending(values: pl.Series, codes: Codes) -> DictionaryColumn:
    """A column from values that may repeat, in any order."""
    values = without_minus_zero(values)
    order = values.arg_sort(nulls_last=False)
    ranked = values[order]
    new = np.ones(len(values), dtype=bool)
    new[1:] = ranked[1:].ne_missing(ranked[:-1]).to_numpy()
    distinct = ranked.filter(series_of(new))
    rank = np.empty(len(values), dtype=code_type(len(distinct)))
    rank[order.to_numpy()] = np.cumsum(new) - 1
    return DictionaryColumn(distinct, look_up(rank, codes))


_DENSE_COMBINATIONS = 1 << 16
_DENSE_PER_ROW = 2
"""Numbers up to this limit, or up to so many for each row, are counted in a table."""
_LARGEST_TABLE = 1 << 32
_SCATTERED = 16
"""Rows for each rank below which the remaining columns are sorted at once."""
_RUN = 16
"""Rows of a run, on average, from which on runs are counted in place of rows."""


@dataclass(eq=False)
class Combinations:
    """The g distinct combinations among n rows, ascending like tuples of codes."""

    rows: NDArray[np.int64]
    """Shape (g,): how many rows have each."""
    _unfold: Callable[[], list[Codes]]
    _find: Callable[[], Codes]

    @cached_property
    def codes(self) -> list[Codes]:
        """For each column, shape (g,)."""
        return self._unfold()

    @cached_property
    def index(self) -> Codes:
        """Shape (n,), in the narrowest type: which combination each row has."""
        index = self._find()
        del self._find  # and with it the numbers of the rows
        return index

    @staticmethod
    def of(columns: Sequence[tuple[Codes, int]]) -> Combinations:
        """The distinct combinations of at least one column, some in each of few stages.

        Each column comes with the number of its distinct codes.
        """
        rows = len(columns[0][0])
        starts = _runs([codes for codes, _ in columns])
        if starts is not None:
            return _combined_runs(columns, starts, rows)
        limit = _table_limit(rows)
        stages: list[tuple[_Ranked, list[int]]] = []
        remaining = list(columns)
        while remaining:
            folded = [(stages[-1][0].indices(), len(stages[-1][0].present))] if stages else []
            batch = [*folded, remaining.pop(0)]
            size = math.prod(distinct for _, distinct in batch)
            scattered = bool(folded) and folded[0][1] * _SCATTERED > rows
            by_table = size <= limit and not scattered
            largest = limit if by_table else 1 << (_WORD_BITS - _bits(rows))
            while remaining and size * remaining[0][1] <= largest:
                batch.append(remaining.pop(0))
                size *= batch[-1][1]
            ranked = _by_table(batch, size) if size <= limit else _by_sorting(batch, size)
            stages.append((ranked, [distinct for _, distinct in batch[len(folded) :]]))
        last, _ = stages[-1]
        kept = [(ranked.present, radices) for ranked, radices in stages]
        return Combinations(last.rows, lambda: _unfolded(kept), last.indices)


@dataclass(frozen=True, eq=False)
class _Ranked:
    """Numbers of rows, to be replaced by their ranks."""

    present: NDArray[Any]
    """The numbers that occur, ascending."""
    rows: NDArray[np.int64]
    """How often each occurs."""
    indices: Callable[[], Codes]
    """Gives the rank of the number of each row."""


def _runs(columns: Sequence[Codes]) -> NDArray[np.int64] | None:
    """Where each run of equal rows begins; None where runs are not much fewer than rows."""
    rows = len(columns[0])
    if rows < _RUN:
        return None
    starts, found = [np.zeros(1, dtype=np.int64)], 1
    for part in parts(rows):
        before = slice(max(part.start, 1) - 1, min(part.stop, rows) - 1)
        behind = slice(before.start + 1, before.stop + 1)
        changes = columns[0][behind] != columns[0][before]
        for codes in columns[1:]:
            changes |= codes[behind] != codes[before]
        starts.append(np.flatnonzero(changes) + behind.start)
        found += len(starts[-1])
        if found * _RUN > behind.stop:
            return None
    return np.concatenate(starts)


def _combined_runs(
    columns: Sequence[tuple[Codes, int]], starts: NDArray[np.int64], rows: int
) -> Combinations:
    """The combinations of rows that stand in runs."""
    lengths = np.diff(starts, append=rows)
    found = Combinations.of([(codes[starts], distinct) for codes, distinct in columns])
    counts = np.zeros(len(found.rows), dtype=np.int64)
    np.add.at(counts, found.index, lengths)
    return Combinations(counts, lambda: found.codes, lambda: np.repeat(found.index, lengths))


def count_pairs(first: tuple[Codes, int], second: tuple[Codes, int]) -> list[NDArray[np.int64]]:
    """Codes and rows of the c distinct pairs of two columns, ascending: three arrays, (c,) each.

    Each column comes with the number of its distinct codes.  Cheaper than ``Combinations.of``:
    which pair a row has is not asked.
    """
    size = first[1] * second[1]
    if size <= _table_limit(len(first[0])):
        counts = count_table(first[0], second[0], second[1], size)
        present: NDArray[Any] = np.flatnonzero(counts)
        rows = counts[present].astype(np.int64)
    else:
        numbers = sort_words(_numbers([first, second], np.uint64), _bits(size))
        starts = _starts(numbers)
        present, rows = numbers[starts], np.diff(starts, append=len(numbers))
    one, other = np.divmod(present, present.dtype.type(second[1]))
    return [one.astype(np.int64), other.astype(np.int64), rows]


def _unfolded(stages: Sequence[tuple[Codes, Sequence[int]]]) -> list[Codes]:
    """The codes of each combination, column by column; of each stage what occurs, and radices."""
    codes: list[Codes] = []
    index: Codes = np.arange(len(stages[-1][0]))
    for present, radices in reversed(stages):
        numbers = present[index]
        for radix in reversed(radices):
            numbers, code = np.divmod(numbers, present.dtype.type(radix))
            codes.append(code.astype(code_type(radix)))
        index = numbers
    return codes[::-1]


def _numbers(batch: Sequence[tuple[Codes, int]], dtype: type[np.unsignedinteger[Any]]) -> Codes:
    """One number for each row, mixed radix: the first column counts most."""
    numbers = np.empty(len(batch[0][0]), dtype=dtype)
    for part in parts(len(numbers)):
        folded = numbers[part]
        folded[:] = batch[0][0][part]
        for codes, distinct in batch[1:]:
            folded *= dtype(distinct)
            np.add(folded, codes[part], out=folded, dtype=dtype, casting="unsafe")
    return numbers


def _by_table(batch: Sequence[tuple[Codes, int]], size: int) -> _Ranked:
    """Rank numbers below ``size`` in a table with an entry for each."""
    numbers = _numbers(batch, np.uint32)
    counts = count_codes(numbers, size)
    present = np.flatnonzero(counts)

    def indices() -> Codes:
        rank = np.zeros(size, dtype=code_type(len(present)))
        rank[present] = np.arange(len(present), dtype=rank.dtype)
        return look_up(rank, numbers)

    return _Ranked(present, counts[present], indices)


def _by_sorting(batch: Sequence[tuple[Codes, int]], size: int) -> _Ranked:
    """Rank numbers by sorting them, together with the indices of their rows."""
    numbers = _numbers(batch, np.uint64)
    bits, low = _bits(size), _bits(len(numbers))
    order: NDArray[Any]
    if bits + low <= _WORD_BITS:
        numbers <<= np.uint64(low)
        for part in parts(len(numbers)):
            numbers[part] |= np.arange(part.start, part.start + len(numbers[part]), dtype=np.uint64)
        numbers = sort_words(numbers, bits + low, ordered=low)
        order = np.empty(len(numbers), dtype=code_type(len(numbers)))
        for part in parts(len(numbers)):
            order[part] = numbers[part] & np.uint64((1 << low) - 1)
        numbers >>= np.uint64(low)
    else:
        rows = np.column_stack((numbers, np.arange(len(numbers), dtype=np.uint64)))
        rows = _sort_word_rows(rows, [bits, 0])
        numbers, order = rows[:, 0], rows[:, 1]
    new = _new(numbers)
    index = np.empty(len(numbers), dtype=code_type(int(np.count_nonzero(new))))
    ranks: NDArray[Any] = np.cumsum(new, dtype=index.dtype)
    ranks -= index.dtype.type(1)  # where the last did not fit in its type, it wraps back
    index[order] = ranks
    del order, ranks
    present = numbers[new]
    del numbers
    counts = np.diff(np.flatnonzero(new), append=len(new))
    return _Ranked(present, counts, lambda: index)


def _starts(ascending: NDArray[np.generic]) -> NDArray[np.int64]:
    """Where each distinct number stands first."""
    return np.flatnonzero(_new(ascending))


def _new(ascending: NDArray[np.generic]) -> NDArray[np.bool_]:
    """Whether each number stands first of its equals, shape (n,)."""
    new = np.ones(len(ascending), dtype=np.bool_)
    np.not_equal(ascending[1:], ascending[:-1], out=new[1:])
    return new


def _table_limit(rows: int) -> int:
    """Numbers of so many rows are counted in a table where they are at most so large."""
    return min(max(_DENSE_COMBINATIONS, _DENSE_PER_ROW * rows), _LARGEST_TABLE)


def _bits(numbers: int) -> int:
    """Bits that hold numbers from 0, so many of them."""
    return max(1, (numbers - 1).bit_length())
