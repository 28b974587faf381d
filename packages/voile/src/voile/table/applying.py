"""Applying a treatment: what becomes of rows, whoever decided it and wherever they are.

1. Rows get the number of their group, and those without one are left out.  Groups that show the
   same become one, and groups are numbered by what they show, so that neither their numbers nor
   their order tell how a method came to them.
2. Perturbed columns get their noise (``noising``).
3. Permuted columns are permuted within groups, and rows stand by group and then by all that is not
   permuted: an order that is a function of what they show and tells nothing else.
4. What groups show, and the intervals of perturbed columns, take their place in the ordered rows.

Cost for n rows, p groups and m published columns: a count of p tuples, one sort of n rows, and what
engines take for a look-up a row and column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from voile.table.arrays import array_of, numbers_of, series_of
from voile.table.combinations import combine
from voile.table.decisions import GroupColumn, Grouping, PermutedColumn, Perturbation, Treatment
from voile.table.dictionary import Codes, DictionaryColumn, encode, look_up
from voile.table.noising import PerturbedSteps
from voile.table.protocol import Rows
from voile.table.published import GROUP
from voile_base.errors import TableError
from voile_base.randomness import Randomness
from voile_base.values.expressions import Call, Column, Literal

__all__ = ["applied", "require_free_names"]


def applied(
    rows: Rows,
    published: Sequence[str],
    treatment: Treatment,
    randomness: Randomness,
    beside: Sequence[str] = (),
) -> Rows:
    """The published rows: the number of the group, if there is one, then the published columns.

    ``beside`` names private columns that stay at the end of each row, for whoever checks the rows
    before they are published; what is published of them, and in which order, is the same without.

    A column that becomes intervals is published as ``NAME.low`` and ``NAME.high``, a perturbed one
    as ``NAME`` and these two, in its own place.  Each permutation is uniform and independent of all
    others; the draws of a row are a function of the key and of the row's identity.

    Raises ``TableError`` where a column stands in the way of a name that the release makes, or
    cannot be perturbed; ``ValueError`` where columns and decisions do not go together.
    """
    _require_fitting(published, treatment)
    recoded = [it for it in treatment.columns if isinstance(it, GroupColumn)]
    permuted = [it.column for it in treatment.columns if isinstance(it, PermutedColumn)]
    noise = [PerturbedSteps.of(it) for it in treatment.columns if isinstance(it, Perturbation)]
    shown = GroupLabels.of(rows, treatment.groups, recoded) if treatment.groups else None
    made = shown.names if shown else {}
    for each in noise:
        made |= each.made_names
    require_free_names(published, made)

    if treatment.groups and shown:
        rows = shown.grouped(treatment.groups)
    rows = PerturbedSteps.drawn(rows, noise, published, randomness)
    by_name = {each.column: each for each in noise}
    gone = [it.column for it in recoded]
    order = [GROUP] if shown else []
    order += [
        by_name[name].steps if name in by_name else name for name in published if name not in gone
    ]
    order += [each.width for each in noise]
    order += beside
    rows = rows.select(order)
    if permuted:
        keys = {name: randomness.key("permute", name) for name in permuted}
        rows = rows.permuted(GROUP, keys)
    else:
        rows = rows.ordered(order)
    if shown:
        rows = shown.replaced(rows)
    for each in noise:
        rows = each.with_intervals(rows)
    columns = [GROUP] if shown else []
    for name in published:
        if shown and name in shown.columns:
            columns += [column.name for column in shown.columns[name]]
        else:
            columns += by_name[name].names if name in by_name else [name]
    return rows.select([*columns, *beside])


def require_free_names(published: Sequence[str], made: Mapping[str, str]) -> None:
    """Raise ``TableError`` where a name that a release makes is that of a published column.

    ``made`` says for each name what it is needed for.
    """
    for name, purpose in made.items():
        if name in published:
            msg = f"column {name!r}: the release needs this name for {purpose}; rename the column"
            raise TableError(msg)


def _require_fitting(published: Sequence[str], treatment: Treatment) -> None:
    """Raise ``ValueError`` where a treatment asks for what a release cannot show."""
    names = [treated.column for treated in treatment.columns]
    for index, treated in enumerate(treatment.columns):
        name, what = treated.column, treated.what
        if name not in published:  # its values would show in the numbers of the groups
            msg = f"column {name!r} is {what} and not published"
        elif name in names[:index]:
            msg = f"column {name!r} is {what} twice, or treated in two ways"
        elif treatment.groups is None and not isinstance(treated, Perturbation):
            msg = f"column {name!r} is {what}, and there are no groups"
        else:
            continue
        raise ValueError(msg)


@dataclass(frozen=True, eq=False)
class GroupLabels:
    """What groups show in place of the columns that are recoded."""

    number: NDArray[np.int32]
    """Shape (g,): the number of the group of each combination, from 1; 0 leaves its rows out."""
    columns: Mapping[str, Sequence[DictionaryColumn]]
    """By recoded column, the columns that take its place: of each numbered group."""

    @classmethod
    def of(cls, rows: Rows, groups: Grouping, recoded: Sequence[GroupColumn]) -> GroupLabels:
        """What groups of a table's rows show; those that show the same are one."""
        found, index = np.unique(groups.group, return_inverse=True)
        there = found >= 0
        if not recoded:
            number = np.where(there, found + 1, 0).astype(np.int32)
            return cls(number[index], {})
        columns = {it.column: _columns(rows, it, found[there]) for it in recoded}
        every = [column for made in columns.values() for column in made]
        distinct = combine([(column.codes, len(column.values)) for column in every])
        codes = dict(zip((column.name for column in every), distinct.codes, strict=True))
        number = np.zeros(len(found), dtype=np.int32)
        number[there] = distinct.index.astype(np.int32) + 1
        numbered = {
            name: [DictionaryColumn(column.values, codes[column.name]) for column in made]
            for name, made in columns.items()
        }
        return cls(number[index], numbered)

    @property
    def names(self) -> dict[str, str]:
        """The names that are made, and what each is for."""
        ends = {
            column.name: f"the intervals of column {name!r}"
            for name, columns in self.columns.items()
            for column in columns
            if column.name != name
        }
        return {GROUP: "the numbers of its groups", **ends}

    def grouped(self, groups: Grouping) -> Rows:
        """The rows that have a group, with its number."""
        rows = groups.of.rows.join(groups.of.counted, {GROUP: array_of(self.number)})
        if self.number.all():
            return rows
        return rows.filter(Call(">", (Column(GROUP), Literal(0))))

    def replaced(self, rows: Rows) -> Rows:
        """Rows with what their groups show."""
        columns = [column for made in self.columns.values() for column in made]
        if not columns:
            return rows
        values = [column.values.to_arrow() for column in columns]

        def of_group(batch: pa.RecordBatch) -> list[Any]:
            group = numbers_of(batch[GROUP]) - 1
            indices = [array_of(look_up(column.codes, group)) for column in columns]
            pairs = zip(indices, values, strict=True)
            return [pa.DictionaryArray.from_arrays(*pair, safe=False) for pair in pairs]

        fields = [pa.field(c.name, v.type) for c, v in zip(columns, values, strict=True)]
        return rows.map(of_group, [GROUP], pa.schema(fields))


def _columns(
    rows: Rows, recoded: GroupColumn, numbers: NDArray[np.int64]
) -> list[DictionaryColumn]:
    """The columns that stand in the place of one, with one row for each of these groups."""
    codes: Codes = recoded.codes[numbers]
    cells = recoded.cells(lambda: rows.count([recoded.column]).values[0])
    encoded = [encode(series_of(array, name)) for name, array in cells.items()]
    return [DictionaryColumn(column.values, look_up(column.codes, codes)) for column in encoded]
