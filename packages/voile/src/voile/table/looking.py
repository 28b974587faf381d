"""What a publisher's door looks at before a column is published as it is: no identifier passes.

Every column under ``sensitive`` and ``keep`` is asked of the recognisers (``voile.recognisers``),
whatever the method: names, addresses, numbers of persons, homes and documents, positions, and what
follows from positions beside them.  Besides, a column nearly each row of which has its own value is
refused where it looks like an id; amounts are told by their names.  Where a method shows
quasi-identifiers exactly, these are looked at alike (``publish.publisher``).  ``keep_unique`` says
that a column may be published all the same.  Where a method moves positions, nothing that tells
them may: what is published beside them would take the noise away.

Cost: a pass over each such column; recognisers see a sample of its different values.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import polars as pl
import pyarrow as pa

from voile.recognisers.looks import SAMPLED, ColumnLook
from voile.recognisers.recognition import Recognition, recognised, suspected
from voile.schema.names import named
from voile.schema.persons import (
    FEW_PERSONS,
    Occurrences,
    looks_like_an_id,
    told_of_published_id,
)
from voile.schema.plan import Plan
from voile.table.arrays import polars_type, series_of
from voile.table.binding import flagged
from voile.table.protocol import Rows
from voile.table.value_types import kind_of

__all__ = [
    "EXACT_ROLES",
    "MACHINE_MADE",
    "TellingColumn",
    "refuse_published_ids",
    "telling_columns",
]

EXACT_ROLES = ("sensitive", "keep")
"""Roles whose columns a release shows exactly, whatever the method."""

MACHINE_MADE = (
    r"^(?:[0-9a-f]{16,}|[0-9A-F]{16,}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})$"
)
"""What ids look like that a program made."""


class _FirstValues:
    """The first different values of a column, and its least and greatest number."""

    def __init__(self) -> None:
        self.found: dict[str, None] = {}
        self.ends: tuple[float, float] | None = None

    def take(self, batch: pa.RecordBatch, first: int) -> None:
        """Values of some rows."""
        del first
        column = series_of(batch[0]).drop_nulls()
        if column.dtype.is_numeric() and len(column):
            self._reach(float(column.min()), float(column.max()))  # type: ignore[arg-type]
        if len(self.found) < SAMPLED:
            texts = column.unique(maintain_order=True).cast(pl.String, strict=False).drop_nulls()
            self.found |= dict.fromkeys(texts.head(SAMPLED).to_list())

    def merge(self, other: Self) -> None:
        """Values of other rows."""
        self.found |= other.found
        if other.ends is not None:
            self._reach(*other.ends)

    def _reach(self, least: float, most: float) -> None:
        low, high = self.ends or (least, most)
        self.ends = min(low, least), max(high, most)


@dataclass(frozen=True)
class TellingColumn:
    """A column that would be published as it is, and tells persons, things or places apart."""

    name: str
    role: str
    counts: Occurrences
    recognition: Recognition | None
    """None: it looks like an id by how many values it has."""

    @property
    def told(self) -> str:
        """Why it may not be published, as a clause without values."""
        if self.recognition is None:
            return told_of_published_id(self.name, self.counts)
        what = f"holds {self.recognition.title} ({self.recognition.reason})"
        of = f"{self.counts.rows:,} rows, {self.counts.values:,} different values"
        return f"column {self.name!r} {what}, which would be published as it is ({of})"

    @property
    def tells_places(self) -> bool:
        """Whether positions are given away by it."""
        found = self.recognition
        return found is not None and (
            found.group in {"position", "movement"} or found.key in {"address", "full-postcode"}
        )


def telling_columns(
    rows: Rows, plan: Plan, names: Sequence[str], roles: Sequence[str] = EXACT_ROLES
) -> Iterator[TellingColumn]:
    """The columns shown as they are that are recognised, or that look like ids.

    ``names`` are those of all columns of the table, published or not; ``roles`` those whose columns
    are shown exactly.  Of kept ones ``refuse_singling_out`` asks more than that they are no ids.
    """
    for role in roles:
        for name in getattr(plan.roles, role):
            beside = tuple(other for other in names if other != name)
            found = _told_of(rows, plan, name, role, beside)
            if found is not None:
                yield found


def refuse_published_ids(
    rows: Rows, plan: Plan, names: Sequence[str], roles: Sequence[str] = EXACT_ROLES
) -> tuple[str, ...]:
    """Raise ``PlanError`` for a column that tells persons, things or places apart.

    Gives what those give away that the plan publishes all the same, a sentence each.
    """
    notes = []
    for one in telling_columns(rows, plan, names, roles):
        if plan.trajectory is not None and one.tells_places:
            msg = (
                f"[roles] {one.role}: {one.told}, beside positions that the method moves: it gives "
                "the true ones away. Leave the column out"
            )
            raise plan.error(msg)
        if one.name not in plan.roles.keep_unique:
            raise plan.error(_refusal(plan, one))
        if one.recognition is not None:
            notes.append(f"[roles] keep_unique: {one.told}: {_GIVEN_AWAY[one.tells_places]}")
    return tuple(notes)


_GIVEN_AWAY = {
    True: "who knows a place of a person finds the row, and who reads a row learns where they were",
    False: "who reads a row can name its person, whatever the method promises of the other columns",
}


def _refusal(plan: Plan, one: TellingColumn) -> str:
    quoted = json.dumps(one.name, ensure_ascii=False)
    unique = json.dumps([*plan.roles.keep_unique, one.name], ensure_ascii=False)
    return (
        f"[roles] {one.role}: {one.told}. Take it out of {one.role} or make it one of the "
        f"identifiers; if it tells persons apart, say person = {quoted}. If it may be published "
        f"all the same, say keep_unique = {unique} in [roles]"
    )


def _told_of(
    rows: Rows, plan: Plan, name: str, role: str, beside: Sequence[str]
) -> TellingColumn | None:
    dtype = polars_type(rows.schema.field(name).type)
    kind = kind_of(pl.Series(name, [], dtype=dtype))
    bare = ColumnLook(name, kind, 0, 0, (), beside)
    suspect = kind == "text" or suspected(bare) or (kind == "integer" and not bare.is_an_amount)
    if not suspect or dtype.is_nested() or kind not in _LOOKED_AT:
        return None
    counts, first = rows.select([name]).occurrences(name, plan.missing), _FirstValues()
    rows.fold([name], first)
    values = tuple(text for text in first.found if text not in plan.missing)[:SAMPLED]
    look = ColumnLook(name, kind, counts.rows, counts.values, values, beside, first.ends)
    found = recognised(look)
    if found is not None or (role != "keep" and _is_id(rows, look, counts)):
        return TellingColumn(name, role, counts, found)
    return None


_LOOKED_AT = frozenset({"text", "integer", "decimal"})


def _is_id(rows: Rows, look: ColumnLook, counts: Occurrences) -> bool:
    """Whether a column looks like an id; a name that is an amount's is that of no id."""
    texts = look.type == "text"
    if not texts and (look.type != "integer" or (named(look.name) is None and look.is_an_amount)):
        return False
    made = texts and counts.values > FEW_PERSONS and not flagged(rows, look.name, _by_hand).rows
    if looks_like_an_id(look.name, counts, texts=texts, machine_made=made):
        return True
    return look.is_numbered and not look.is_an_amount


def _by_hand(values: pl.Series) -> pl.Series:
    return ~values.str.contains(MACHINE_MADE).fill_null(value=True)
