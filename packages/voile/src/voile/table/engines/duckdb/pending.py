"""Rows of DuckDB with functions to come: what is run, where somebody asks for what they give.

Functions of whole groups asked of rows of DuckDB, which stream by in the order of groups.

Rows of DuckDB counted among their equals, while they stream by in their order.

The rank of a row among those that agree in some columns is what a window of SQL gives, after a sort
of all rows.  Where these columns hold whole numbers (numbered texts, dates and truth values do, as
they are stored) of a narrow range, a row's combination is one small number, and its rank is how
often that number was met before: a counter for each, and no sort.

Cost: one look at the ends of the columns, and 5 ns a row.  Memory: 8 bytes a possible combination,
at most 32 MiB.

Columns of texts of two data sets of DuckDB, stored in one way, so that they can be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Self, TypeVar

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from voile.table.arrays import array_of, numbers_of
from voile.table.engines.duckdb.relation import (
    DuckDBRelation,
    Step,
    Stored,
    Texts,
    as_stored,
    few_texts,
    stored_array,
    stored_type,
    table_of,
)
from voile.table.engines.duckdb.session import DuckDBHandle, Table
from voile.table.engines.expressions import CHOSEN, marking
from voile.table.engines.shared import Fault, starts, whole_groups
from voile.table.protocol import Function, GroupFunction
from voile_base.compiled import njit
from voile_base.ondemand import dataclass
from voile_base.values.expressions import Expression, columns_of

__all__ = [
    "PendingRows",
    "ascending",
    "counting",
    "with_equal_texts",
    "with_texts",
]


class PendingRows:
    """A relation, columns by their names, and functions that make some of them."""

    def __init__(
        self,
        relation: DuckDBRelation,
        columns: Mapping[str, Stored],
        *,
        steps: Sequence[Step] = (),
        order: Sequence[tuple[Stored, bool]] = (),
        fault: Fault | None = None,
    ) -> None:
        self._relation = relation
        self._columns = dict(columns)
        self._steps = tuple(steps)
        self._order = tuple(order)
        """Columns by which rows are ordered, and whether they descend."""
        self._fault = fault
        """Of rows that were not read: what is wrong with their files."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self._columns)})"

    @property
    def _session(self) -> DuckDBHandle:
        return self._relation.session

    def map(self, function: Function, reads: Sequence[str], gives: pa.Schema) -> Self:
        """More columns, a function of some; it is asked when these are."""
        made = {field.name: Stored(self._session.name(), field.type) for field in gives}
        step = Step(function, {name: self._columns[name] for name in reads}, tuple(made.values()))
        return self._like(self._columns | made, steps=(*self._steps, step))

    def _like(
        self,
        columns: Mapping[str, Stored],
        *,
        relation: DuckDBRelation | None = None,
        steps: Sequence[Step] | None = None,
        order: Sequence[tuple[Stored, bool]] | None = None,
    ) -> Self:
        """The same rows with other columns."""
        own = relation is None or relation is self._relation
        return type(self)(
            relation or self._relation,
            columns,
            steps=self._steps if steps is None else steps,
            order=self._order if order is None else order,
            fault=self._fault if own else None,
        )

    def _needed(self, names: Sequence[str]) -> list[Step]:
        """The functions whose results some columns are, in their order."""
        wanted = {self._columns[name].ident for name in names}
        needed = []
        for step in reversed(self._steps):
            if any(stored.ident in wanted for stored in step.gives):
                needed.append(step)
                wanted |= {stored.ident for stored in step.reads.values()}
        return needed[::-1]

    def _by_values(
        self, steps: Sequence[Step]
    ) -> tuple[DuckDBRelation, list[Step], dict[str, Stored]]:
        """The rows with what functions give that can be asked by value, and the others.

        Also the columns that are numbered from now on, by their names in the session.
        """
        relation, rest = self._relation, []
        told: dict[str, Stored] = {}
        streamed: set[str] = set()
        for step in steps:
            step.reads = {name: told.get(c.ident, c) for name, c in step.reads.items()}
            apart = streamed.isdisjoint(c.ident for c in step.reads.values())
            found = step.values_table(relation) if apart else None
            if found is None:
                rest.append(step)
                streamed |= {stored.ident for stored in step.gives}
                continue
            table, key, given = found
            read = next(iter(step.reads.values()))
            columns = [stored.ident for stored in given]
            relation = relation.with_small(table, {read.ident: key}, columns)
            told |= {stored.ident: stored for stored in given}
        return relation, rest, told

    def _settled(self, names: Sequence[str]) -> Self:
        """The same rows, of which some columns are no functions to come."""
        asked = self._needed(names)
        needed = [step for step in self._steps if step in asked or step.begin]
        if not needed:
            return self
        relation, rest, told = self._by_values(needed)
        later = [step for step in self._steps if step not in needed]
        for step in later:
            step.reads = {name: told.get(c.ident, c) for name, c in step.reads.items()}
        columns = {name: told.get(c.ident, c) for name, c in self._columns.items()}
        order = [(told.get(c.ident, c), down) for c, down in self._order]
        rows = self._like(columns, relation=relation, steps=[*rest, *later], order=order)
        return rows._in_table(rest) if rest else rows

    def _in_table(self, steps: Sequence[Step]) -> Self:
        """The same rows in a table, with what these functions give."""
        later = [step for step in self._steps if step not in steps]
        to_come = {stored.ident for step in later for stored in step.gives}
        shown = [*self._columns.values(), *(column for column, _ in self._order)]
        shown += [column for step in later for column in step.reads.values()]
        wanted = {c.ident: c for c in shown if c.ident not in to_come}
        relation, last = self._relation, steps[-1]
        made = last.table_for(relation, wanted)
        if made is None:
            # Rows that stream in their order stand in it in the table, too.
            place = None if relation.straight else relation.place
            own = [name for name in (relation.number, place) if name]
            given = {stored.ident: stored for step in steps for stored in step.gives}
            names = list(dict.fromkeys([*wanted, *own]))
            schema, batches = _piped(relation, steps, given | wanted, names)
            table = relation.session.filled(schema, batches)
            made = (
                replace(relation, source=table.name, holds=(table,))
                if place
                else DuckDBRelation.of_table(
                    table, relation.session, numbered=False, number=relation.number
                )
            )
            last.tabled = relation, frozenset(wanted), made
        return self._like(self._columns, relation=made, steps=later)

    def _asked(
        self,
        names: Sequence[str],
        statement: Callable[[Mapping[str, Stored], str], str],
        own: Sequence[str] = (),
    ) -> tuple[Mapping[str, Stored], pa.Table]:
        """The columns, and what a statement over some of them and a source gives.

        Functions that see every row are asked while these stream into the statement; where that
        happens again, they are put into a table first.
        """
        relation, rest, told = self._by_values(self._needed(names))
        columns = {name: told.get(self._columns[name].ident, self._columns[name]) for name in names}
        if not rest:
            return columns, relation.session.arrow(statement(columns, relation.source))
        if rest[-1].asked:
            rows = self._settled(names)
            columns = {name: rows._columns[name] for name in names}
            relation = rows._relation
            return columns, relation.session.arrow(statement(columns, relation.source))
        rest[-1].asked = True
        given = {stored.ident: stored for step in rest for stored in step.gives}
        wanted = {column.ident: column for column in columns.values()}
        schema, batches = _piped(
            relation, rest, given | wanted, list(dict.fromkeys([*wanted, *own]))
        )
        return columns, relation.session.asked(schema, batches, partial(statement, columns))

    def _marked(self, holds: Expression) -> Self:
        """The rows with a column that says whether an expression holds, as Polars has it."""
        names = list(dict.fromkeys(columns_of(holds))) or list(self._columns)[:1]

        given = pa.schema([pa.field(CHOSEN, pa.bool_())])
        return self.map(marking(holds, names), names, given)

    def _statement(self, *, sorted_too: bool = True, shown: Sequence[str] | None = None) -> str:
        """A SELECT of the columns, or of what is shown of them, in their order."""
        idents = shown or [column.ident for column in self._columns.values()]
        order = [ascending(column, down=down) for column, down in self._order]
        if not self._relation.straight and not order:
            order = [self._relation.place]
        ordering = f" ORDER BY {', '.join(order)}" if order and sorted_too else ""
        return self._relation.only(idents) + ordering

    def _stored_batches(self) -> Iterator[pa.RecordBatch]:
        """The columns as they are stored, in their order."""
        return self._relation.session.stream(self._statement())

    def _stored_schema(self, own: Mapping[str, Stored], made: Mapping[str, Stored]) -> pa.Schema:
        """How columns of these rows are stored under other names, with others that are made."""
        there = self._relation.session.arrow(f"{self._statement(sorted_too=False)} LIMIT 0").schema
        fields = [pa.field(own[n].ident, there.field(i).type) for i, n in enumerate(self._columns)]
        fields += [pa.field(column.ident, stored_type(column.type)) for column in made.values()]
        return pa.schema(fields)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        """The columns as the kernel has them, in their order; functions are asked on the way."""
        needed = self._needed(list(self._columns))
        if any(step.begin for step in needed):
            yield from self._settled(list(self._columns))._batches()
            return
        made = {stored.ident for step in needed for stored in step.gives}
        read = [stored for step in needed for stored in step.reads.values()]
        base = {c.ident: c for c in [*self._columns.values(), *read] if c.ident not in made}
        rows = self._like(base, steps=())
        for batch in rows._stored_batches():
            arrays = {n: c.loaded(a) for (n, c), a in zip(base.items(), batch, strict=True)}
            for step in needed:
                arrays |= zip((s.ident for s in step.gives), step.ask(arrays), strict=True)
            shown = [arrays[column.ident] for column in self._columns.values()]
            yield pa.RecordBatch.from_arrays(shown, names=list(self._columns))

    def _table(self) -> Table:
        """The rows in a table of their own, in their order."""
        return self._relation.session.created(self._statement())

    def mapped_by_groups(
        self, function: GroupFunction, within: str, kinds: tuple[pa.Schema, pa.Schema]
    ) -> tuple[Made, Made]:
        """The rows with more columns, and a row for each group, both in tables.

        They have no functions to come and stand by group; ``kinds`` are the columns that the
        function gives of the rows and of the groups.
        """
        gives, of_groups = kinds
        session = self._session
        made = {field.name: Stored(session.name(), field.type) for field in gives}
        own = {name: replace(c, ident=session.name()) for name, c in self._columns.items()}
        place = list(own).index(within)
        groups: list[list[pa.Array]] = []

        def batches() -> Iterator[pa.RecordBatch]:
            for batch in whole_groups(self._stored_batches(), place):
                loaded = [c.loaded(a) for c, a in zip(own.values(), batch, strict=True)]
                given, of_these = function(pa.RecordBatch.from_arrays(loaded, names=list(own)))
                groups.append([batch[place].take(array_of(starts(batch[place]))), *of_these])
                stored = [stored_array(a, f.type) for a, f in zip(given, gives, strict=True)]
                yield pa.RecordBatch.from_arrays([*batch, *stored], schema=schema)

        schema = self._stored_schema(own, made)
        table = session.filled(schema, batches())
        kind = schema.field(own[within].ident).type
        columns = {within: replace(own[within], ident=session.name())} | {
            field.name: Stored(session.name(), field.type) for field in of_groups
        }
        few = _table_of_groups(session, groups, kind, list(columns.values()))
        return (DuckDBRelation.of_table(table, session), own | made), (few, columns)


def _piped(
    relation: DuckDBRelation,
    steps: Sequence[Step],
    columns: Mapping[str, Stored],
    wanted: Sequence[str],
) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """Rows with what steps give as they are stored, streaming.

    ``wanted`` are the columns that come out; ``columns`` are what they hold, where they are not the
    session's own.
    """
    made = {stored.ident for step in steps for stored in step.gives}
    schema = pa.schema([_field(name, columns.get(name), made=name in made) for name in wanted])
    read = [stored for step in steps for stored in step.reads.values()]
    loaded = {stored.ident: stored for stored in read if stored.ident not in made}
    base = list(dict.fromkeys([*(name for name in wanted if name not in made), *loaded]))

    def batches() -> Iterator[pa.RecordBatch]:
        for step in steps:
            if step.begin:
                step.begin()
        for batch in relation.session.stream(relation.only(base)):
            arrays = {name: stored.loaded(batch[name]) for name, stored in loaded.items()}
            for step in steps:
                given = step.ask(arrays)
                arrays |= {stored.ident: a for stored, a in zip(step.gives, given, strict=True)}
            stored = [
                stored_array(arrays[name], columns[name].type) if name in made else batch[name]
                for name in wanted
            ]
            yield pa.RecordBatch.from_arrays(stored, schema=schema)

    return schema, batches()


def _field(name: str, column: Stored | None, *, made: bool) -> pa.Field:
    """In what type a column is stored; columns of the session's own are whole numbers."""
    if column is None:
        return pa.field(name, pa.int64())
    if column.texts is not None:
        return pa.field(name, column.texts.code_type)
    if pa.types.is_large_string(column.type) and not made:
        return pa.field(name, pa.string())
    return pa.field(name, stored_type(column.type))


def ascending(column: Stored, *, down: bool = False) -> str:
    """A term of ORDER BY, in the order of the kernel."""
    return f"{column.ident} {'DESC NULLS LAST' if down else 'ASC NULLS FIRST'}"


Made = tuple[DuckDBRelation, Mapping[str, Stored]]


def _table_of_groups(
    session: DuckDBHandle, groups: list[list[pa.Array]], kind: pa.DataType, columns: list[Stored]
) -> DuckDBRelation:
    """A row for each group; the first column tells groups, and is stored as a kind already."""
    kinds = [kind, *(stored_type(column.type) for column in columns[1:])]
    schema = pa.schema([(c.ident, it) for c, it in zip(columns, kinds, strict=True)])

    def stored(part: list[pa.Array]) -> pa.RecordBatch:
        others = zip(part[1:], columns[1:], strict=True)
        arrays = [part[0], *(stored_array(array, column.type) for array, column in others)]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    return DuckDBRelation.of_table(session.filled(schema, map(stored, groups)), session)


_MOST = 1 << 22
"""Possible combinations up to which each has a counter."""
_FIRST, _LAST = -(2**62), 2**62


@dataclass(eq=False)
class _SoFar:
    """How many rows of each combination went by; of those that stream now."""

    combinations: int
    seen: NDArray[np.int64]

    def begin(self) -> None:
        """No row went by yet."""
        self.seen = np.zeros(self.combinations, dtype=np.int64)

    def __call__(self, batch: pa.RecordBatch) -> list[pa.Array]:
        codes = numbers_of(batch[0])
        rank = np.empty(len(codes), dtype=np.int64)
        _count_on(codes, self.seen, rank)
        return [array_of(rank)]


def counting(
    relation: DuckDBRelation, within: Sequence[Stored], rank: Stored
) -> tuple[DuckDBRelation, Step] | None:
    """The rows with one more column, and what makes of it the rank among those that agree.

    None where the rows do not stream in their order, or there may be too many combinations.
    """
    if not relation.straight or not within or not all(map(_is_whole, within)):
        return None
    ends = ", ".join(f"min({said}), max({said})" for said in map(_whole, within))
    found: Sequence[Any] = relation.session.rows(f"SELECT {ends} FROM {relation.source}")[0]
    said, combinations = "0", 1
    for column, least, most in zip(within, found[::2], found[1::2], strict=True):
        low, high = (int(least), int(most)) if least is not None else (0, 0)
        if not _FIRST < low <= high < _LAST:
            return None
        # Zero is a missing value.
        said = f"({said}) * {high - low + 2} + coalesce({_whole(column)} - {low} + 1, 0)"
        combinations *= high - low + 2
        if combinations > _MOST:
            return None
    code = Stored(relation.session.name(), pa.int64())
    relation = relation.with_columns({code.ident: f"CAST({said} AS BIGINT)"})
    so_far = _SoFar(combinations, np.zeros(0, dtype=np.int64))
    return relation, Step(so_far, {"": code}, (rank,), begin=so_far.begin)


def _is_whole(column: Stored) -> bool:
    dtype = column.texts.code_type if column.texts else stored_type(column.type)
    if pa.types.is_uint64(dtype):
        return False
    return bool(pa.types.is_integer(dtype) or pa.types.is_boolean(dtype))


def _whole(column: Stored) -> str:
    return f"CAST({column.ident} AS BIGINT)"


@njit(cache=True, nogil=True)
def _count_on(codes: NDArray[np.int64], seen: NDArray[np.int64], rank: NDArray[np.int64]) -> None:
    """The rank of each row among those of its combination; ``seen`` counts on."""
    for row in range(len(codes)):
        code = codes[row]
        rank[row] = seen[code]
        seen[code] += 1


P = TypeVar("P", bound=PendingRows)


def with_equal_texts(rows: P, others: P, name: str) -> tuple[P, P]:
    """Both with a column of texts that is stored alike."""
    one, other = rows._columns[name].texts, others._columns[name].texts
    if one is other:
        return rows, others
    common = None
    if one is not None and other is not None:
        common = few_texts(pl.concat([one.values, other.values]))
    return with_texts(rows, name, common), with_texts(others, name, common)


def with_texts(rows: P, name: str, texts: Texts | None) -> P:
    """Rows with the texts of a column numbered in another way, or plain."""
    column, session = rows._columns[name], rows._relation.session
    if column.texts is None or column.texts is texts:
        return rows
    own = Stored(session.name(), column.type, texts)
    key = Stored(session.name(), column.texts.code_type)
    numbers = array_of(np.arange(len(column.texts.values))).cast(key.type)
    values = column.texts.values
    made = values.to_arrow() if texts is None else as_stored(values, own)[0]
    small = table_of(session, {key: numbers, own: made})
    relation = rows._relation.with_small(small, {column.ident: key.ident}, [own.ident])
    return rows._like(rows._columns | {name: own}, relation=relation)
