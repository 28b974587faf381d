"""Rows of DuckDB with functions to come: what is run, where somebody asks for what they give."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Self

import pyarrow as pa

from voile.table.duckdb_columns import Stored, stored_type
from voile.table.duckdb_relation import DuckDBRelation, Step, piped
from voile.table.duckdb_session import DuckDBHandle, Table
from voile.table.polars_expressions import CHOSEN, marking
from voile.table.protocol import Function
from voile.table.unchanged import Fault
from voile_base.values.expressions import Expression, columns_of

__all__ = ["PendingRows", "ascending"]


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
            schema, batches = piped(relation, steps, given | wanted, names)
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
        schema, batches = piped(
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


def ascending(column: Stored, *, down: bool = False) -> str:
    """A term of ORDER BY, in the order of the kernel."""
    return f"{column.ident} {'DESC NULLS LAST' if down else 'ASC NULLS FIRST'}"
