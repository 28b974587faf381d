"""The engine on one machine: a private table in memory, each column dictionary-encoded.

Cost in n rows and d distinct values: opening encodes each column, one hash look-up a row; counting
values is one pass; permuting within blocks, recoding and perturbing each sort n words.  What the
longer methods cost stands in their modules.  Memory: one to four bytes a row and column, and about
50 bytes a row while a release is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from voile.errors import TableError
from voile.randomness import Key, Randomness
from voile.schema.ordered import places_in_order
from voile.schema.plan import ColumnPlan, Plan
from voile.table.best_rows import BATCH_ROWS, Asked, Batch, UnusualError, find_best
from voile.table.binding import BoundColumns
from voile.table.combinations import count_combinations
from voile.table.dictionary import Codes, DictionaryColumn, count_codes, look_up
from voile.table.grouping import RowGroups, count_in_groups
from voile.table.identity import Words, row_words, unique_row_words
from voile.table.numeric import (
    broad_kind,
    distinct_values,
    exact_numbers,
    require_finite,
    require_finite_numbers,
)
from voile.table.permuting import permute, permute_columns
from voile.table.perturbing import perturb
from voile.table.polars_published import PolarsPublished
from voile.table.protocol import (
    BlockAssignment,
    CombinationCounts,
    Format,
    GroupCounts,
    KnownRows,
    Perturbation,
    Recoding,
    Relocated,
    Relocation,
    RowMarks,
    RowMatch,
    RowSample,
    RowScore,
    Shuffle,
    TopRows,
    TripAccounts,
    ValueCounts,
)
from voile.table.recoding import left_out, recode
from voile.table.sampling import sample_rows

__all__ = ["PolarsTable"]


class PolarsTable:
    """A private table in memory, bound to the roles of a plan; see ``PrivateTable``."""

    def __init__(
        self,
        bound: BoundColumns,
        plan: Plan,
        *,
        source_format: Format = "parquet",
        notes: tuple[str, ...] = (),
        to_native: Callable[[pl.DataFrame], Any] | None = None,
    ) -> None:
        self._bound = bound
        self._plan = plan
        self._source_format: Format = source_format
        self.notes = (*notes, *bound.notes)
        self._to_native = to_native

    def __repr__(self) -> str:
        return f"PolarsTable(private, {self.rows} rows)"

    @property
    def plan(self) -> Plan:
        """Roles and what the plan says of the columns."""
        return self._plan

    @property
    def source_format(self) -> Format:
        """The format that a release has unless another is asked for."""
        return self._source_format

    @property
    def rows(self) -> int:
        """Number of rows after the declared treatment of missing values."""
        return self._bound.rows

    @property
    def dropped(self) -> int:
        """Rows left out because the plan says ``nulls = "drop"``."""
        return self._bound.dropped

    def kinds(self, columns: Sequence[str]) -> Mapping[str, str]:
        """Kind of the values of each column, the same for integers and decimals."""
        return {name: broad_kind(self._column(name).values) for name in columns}

    def count_values(self, column: str, match: RowMatch | None = None) -> ValueCounts:
        """Rows by distinct value of a numeric column, and by class where rows were matched."""
        encoded = self._column(column)
        require_finite_numbers(self._bound, encoded)
        return ValueCounts(exact_numbers(encoded.values), _cells(encoded, match))

    def match_rows(self, known: KnownRows, key: bytes, record_key: str | None) -> RowMatch:
        """Find the rows of earlier releases; raises ``TableError`` for a bad record key."""
        identities, contents = self._marks(Key(key), record_key)
        place, seen = _places(known.identities, identities)
        changed = int((known.contents[place[seen]] != contents[seen]).sum()) if record_key else 0
        classes = np.full(self.rows, known.versions, dtype=np.int16)
        classes[seen] = known.classes[place[seen]]
        return RowMatch(
            rows=_MatchedRows(classes, identities, contents),
            classes=known.versions + 1,
            missing=len(known.identities) - int(seen.sum()),
            changed=changed,
            fresh=self.rows - int(seen.sum()),
            withdrawn=len(known.held) - int(_places(known.held, identities)[1].sum()),
        )

    def mark_rows(
        self, column: str, assignment: BlockAssignment, match: RowMatch
    ) -> tuple[RowMarks, RowMarks]:
        """Marks of the fresh rows that a decision publishes, and of those it holds back."""
        fresh = match.rows.classes == match.classes - 1
        published = assignment.block[self._column(column).codes, match.classes - 1] >= 0
        return match.rows.marks(fresh & published), match.rows.marks(fresh & ~published)

    def permute_within_blocks(
        self,
        column: str,
        assignment: BlockAssignment,
        match: RowMatch | None,
        randomness: Randomness,
    ) -> PolarsPublished:
        """The published columns with the values of one column permuted within each block."""
        permuted = self._column(column)
        counts = _counts_in_blocks(column, assignment, _cells(permuted, match))
        sizes = np.zeros(int(assignment.block.max(initial=-1)) + 1, dtype=np.int64)
        np.add.at(sizes, counts.group, counts.rows)
        blocks = RowGroups(_block_of_rows(assignment, permuted.codes, match), sizes)
        published = self._plan.roles.published
        drawn = {column: lambda: counts}
        return self._release(permute(self._bound, published, blocks, drawn, randomness))

    def sample_rows(self, probability: Decimal, randomness: Randomness) -> RowSample:
        """Draw each row with this probability, independently; see ``voile.table.sampling``."""
        return sample_rows(self._identifying(), probability, randomness.key("sample"))

    def top_rows(self, score: RowScore, top: int, *, ties: bool) -> TopRows:
        """The ``top`` rows of the highest scores, and the rows in the box around them."""
        keys = [(self._ranked(name), self._column(name).codes) for name in score.columns]
        batches = partial(_batches, keys, self.rows)
        asked = Asked(score, top, ties)
        try:
            found = find_best(batches, asked)
        except UnusualError as unusual:
            self.require_scores(unusual.column, score)
            found = find_best(batches, asked, rounded=False)
        inside = np.zeros(self.rows, dtype=np.bool_)
        inside[found.box.places] = found.tops > 0
        table = copy(self)
        table._bound = self._bound.only(inside)
        return TopRows(table, found.tops)

    def require_scores(self, column: str, score: RowScore) -> None:
        """Raise ``TableError`` where a value of a column cannot be scored."""
        score.exact(column, exact_numbers(self._ranked(column)))

    def _ranked(self, name: str) -> pl.Series:
        """The numbers that the distinct values of a column count as; raises ``TableError``."""
        column = self._column(name)
        order = self._plan.columns.get(name, ColumnPlan()).order
        if order is not None:
            return pl.Series(name, places_in_order(name, order, distinct_values(column.values)))
        require_finite_numbers(self._bound, column)
        return column.values

    def count_combinations(
        self, columns: Sequence[str], sample: RowSample | None = None
    ) -> CombinationCounts:
        """Rows by distinct combination of values of some columns, of all rows or of a sample."""
        return count_combinations(self._countable(columns), sample)

    def count_in_groups(
        self, counts: CombinationCounts, group: NDArray[np.int64], columns: Sequence[str]
    ) -> tuple[GroupCounts, ...]:
        """Rows by group and distinct value, for each of some columns."""
        groups = RowGroups.of(counts, group, self.rows)
        return count_in_groups(self._countable(columns), groups)

    def _countable(self, columns: Sequence[str]) -> list[DictionaryColumn]:
        counted = [self._column(name) for name in columns]
        for column in counted:
            require_finite(self._bound, column)
        return counted

    def recode(self, recoding: Recoding) -> PolarsPublished:
        """The published columns with some of them recoded, in an order that tells nothing."""
        return self._release(recode(self._bound, self._plan.roles.published, recoding))

    def shuffle(self, shuffle: Shuffle, randomness: Randomness) -> PolarsPublished:
        """The published columns, some permuted within groups, in an order that tells nothing."""
        published = self._plan.roles.published
        return self._release(permute_columns(self._bound, published, shuffle, randomness))

    def left_out(self, recoding: Recoding) -> bytes:
        """The rows that a recoding does not publish, private: an Arrow IPC stream."""
        return left_out(self._bound, recoding)

    def perturb(
        self, perturbations: Sequence[Perturbation], randomness: Randomness
    ) -> PolarsPublished:
        """The published columns with noise in some of them, in an order that tells nothing."""
        published = self._plan.roles.published
        return self._release(perturb(self._bound, published, perturbations, randomness))

    def relocate(
        self,
        relocation: Relocation,
        randomness: Randomness,
        charge: Callable[[TripAccounts], None] = lambda accounts: None,
    ) -> Relocated:
        """The reports of the plan's trajectories, moved by noise; see ``PrivateTable``."""
        from voile.table.relocating import relocate  # noqa: PLC0415 - compiled code of its own

        made = relocate(self._bound, self._plan, relocation, randomness, charge)
        return Relocated(self._release(made.rows), made.trips, made.left_out, made.notices)

    def _release(self, rows: pl.DataFrame) -> PolarsPublished:
        return PolarsPublished(rows, self._to_native)

    def _identifying(self) -> list[DictionaryColumn]:
        """The columns by which a row is recognised where no record key identifies it."""
        return [self._column(name) for name in sorted(self._plan.roles.published)]

    def _column(self, name: str) -> DictionaryColumn:
        return self._bound.columns[name]

    def _marks(self, key: Key, record_key: str | None) -> tuple[Words, Words]:
        """Identities of all rows, and their contents where a record key gives the identity."""
        if record_key is None:
            return unique_row_words(self._identifying(), key), np.empty(0, dtype=np.uint64)
        keys = self._column(record_key)
        if keys.has_missing:
            row = self._bound.first_row(keys, keys.values.is_null())
            msg = f"column {record_key!r}: row {row} has no record key; every row needs one"
            raise TableError(msg)
        repeated = pl.Series(np.bincount(keys.codes) > 1)
        if repeated.any():
            row = self._bound.first_row(keys, repeated)
            msg = (
                f"column {record_key!r}: row {row} shares its record key with another row; a "
                "record key identifies one row"
            )
            raise TableError(msg)
        return row_words([keys], key), row_words(self._identifying(), key)


def _batches(keys: Sequence[tuple[pl.Series, Codes]], rows: int) -> Iterator[Batch]:
    """The numbers that rows are ranked by, many rows at a time."""
    names = tuple(values.name for values, _ in keys)
    for start in range(0, rows, BATCH_ROWS):
        part = slice(start, start + BATCH_ROWS)
        decoded = [values.gather(pl.Series(codes[part])) for values, codes in keys]
        yield Batch(pl.DataFrame(decoded), names, np.arange(start, min(start + BATCH_ROWS, rows)))


class _MatchedRows:
    """The class of each row, and its mark: 2 and 8 or 16 bytes a row."""

    def __init__(self, classes: NDArray[np.int16], identities: Words, contents: Words) -> None:
        self.classes = classes
        self._identities = identities
        self._contents = contents

    def marks(self, chosen: NDArray[np.bool_]) -> RowMarks:
        """Marks of the chosen rows, ascending by identity."""
        identities = self._identities[chosen]
        order = np.argsort(identities)
        contents = self._contents[chosen][order] if len(self._contents) else self._contents
        return RowMarks(identities[order], contents)


def _places(ascending: Words, wanted: Words) -> tuple[Codes, NDArray[np.bool_]]:
    """Where each wanted word stands in an ascending array, and whether it does."""
    if not len(ascending):
        return np.zeros(len(wanted), dtype=np.int64), np.zeros(len(wanted), dtype=bool)
    place = np.searchsorted(ascending, wanted)
    place[place == len(ascending)] = 0
    return place, ascending[place] == wanted


def _cells(column: DictionaryColumn, match: RowMatch | None) -> NDArray[np.int64]:
    """Rows by distinct value and class, shape (d, c)."""
    if match is None:
        return count_codes(column.codes, len(column.values)).reshape(-1, 1)
    cells = column.codes * np.int64(match.classes) + match.rows.classes
    rows = np.bincount(cells, minlength=len(column.values) * match.classes)
    return rows.reshape(-1, match.classes)


def _block_of_rows(assignment: BlockAssignment, codes: Codes, match: RowMatch | None) -> Codes:
    block = assignment.block.astype(np.int32)
    if match is None:
        return look_up(block[:, 0], codes)
    of_rows: Codes = block[codes, match.rows.classes]
    return of_rows


def _counts_in_blocks(
    column: str, assignment: BlockAssignment, rows: NDArray[np.int64]
) -> GroupCounts:
    """Rows of each block and value that is published; ``rows`` is by value and class."""
    value, row_class = np.nonzero((assignment.block >= 0) & (rows > 0))
    block = assignment.block[value, row_class]
    order = np.lexsort((value, block))
    value, row_class = value[order], row_class[order]
    return GroupCounts(column, block[order], value, rows[value, row_class])
