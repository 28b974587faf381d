"""What a publisher's door looks at before a column is published as it is: no identifier passes.

Every column under ``sensitive`` and ``keep`` is asked of the recognisers (``voile.recognisers``),
whatever the method: names, addresses, numbers of persons, homes and documents, positions, and what
follows from positions beside them.  Besides, a column nearly each row of which has its own value is
refused where it looks like an id; amounts are told by their names.  Where a method shows
quasi-identifiers exactly, these are looked at alike (``publish.publisher``).  ``keep_unique`` says
that a column may be published all the same.  Where a method moves positions, nothing that tells
them may: what is published beside them would take the noise away.

Cost: a pass over each such column; recognisers see a sample of its different values.

Holding the rows of a table against what its plan says of persons; see ``schema.persons``.

Whatever the engine and the method, no table comes in whose rows contradict that each of them is
another person, unless its plan says so; and none in which a row does not say whose it is, where the
plan names the column that does.

Cost: a sort or a hash of an identifier; where persons or households are named, a pass over their
columns, and a count of the pairs of both.

Ids of persons and households that differ only in form, and those that name nobody; private.

An id that stands in two forms, ``1`` and ``1.0``, makes two persons of one, and k persons of fewer.
Whether two forms are two persons cannot be told from the table, so what is done depends on what a
form may mean:

- **Never anything**: spaces at the ends or several between, invisible characters, characters of
  another width or composition (Unicode NFKC), ``.0`` behind a whole number, as spreadsheets add it.
  No office tells two persons apart by these: the table is refused.
- **Sometimes something**: capital and small letters, as in ids that a program made, and zeros in
  front of a number, ``007`` and ``7``, ``A-01`` and ``A-1``.  It is said, with how many and the
  first row, and published.

A person called ``?`` or ``unknown`` is most likely everybody whose id is missing, taken for one
person.  It is said: their rows are then promised less to than they look, and ``missing`` would
refuse them.

Only texts have forms.  No id is told, but marks such as ``?``, which are nobody's.

Cost: a pass over the column and a sort of the different ids; nothing grows with rows outside of the
engine.

How often values stand in a column, for the rules of ``schema.persons``; private.

An identifier is hashed to 64 bits, and the hashes are sorted: where no two are alike, no two values
are.  Only where two are alike the values themselves are counted, so that the answer is exact.

Cost for n rows: hashing and sorting n words, for ten million about half a second of processor, and
as much to read them; counting values, one hash look-up a row.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Literal, Self

import polars as pl
import pyarrow as pa

from voile.recognisers.recognition import Recognition, recognised, suspected
from voile.recognisers.values import SAMPLED, ColumnLook
from voile.schema.names import named, names_beside
from voile.schema.persons import (
    FEW_PERSONS,
    Occurrences,
    columns_to_keep,
    identifying_columns,
    looks_like_an_id,
    refuse_divided_persons,
    refuse_forms,
    refuse_missing_unit,
    refuse_repeating,
    refuse_singling_out,
    told_of_published_id,
)
from voile.schema.plan import Plan
from voile.schema.roles import Protected
from voile.table.arrays import kind_of, polars_type, series_of, with_missing
from voile.table.binding import flagged, mapped
from voile.table.codes import DictionaryColumn, count_codes
from voile.table.protocol import Rows
from voile_base.errors import TableError
from voile_base.ondemand import dataclass
from voile_base.values.expressions import both, is_missing, negated

__all__ = [
    "EXACT_ROLES",
    "MACHINE_MADE",
    "MARKS",
    "count_occurrences",
    "count_repeats",
    "doubts_of_units",
    "ids_in_one_form",
    "occurrences_of",
    "refuse_kept_that_single_out",
    "refuse_published_ids",
    "require_rows_of_persons",
    "require_units",
    "rows_that_may_be_published",
    "telling_columns",
]


EXACT_ROLES = ("sensitive", "keep")
"""Roles whose columns a release shows exactly, whatever the method."""

MACHINE_MADE = (
    r"^(?:[0-9a-f]{16,}|[0-9A-F]{16,}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})$"
)
"""What ids look like that a program made."""


class _FirstValues:
    """The first different values of a column, and its least and greatest number.

    Of texts, ``distinct`` is how many there are, without those of ``missing`` and empty ones.
    """

    def __init__(self, distinct: int, missing: Sequence[str]) -> None:
        self._distinct, self._missing = distinct, {*missing, ""}
        self.found: dict[str, None] = {}
        self.ends: tuple[float, float] | None = None

    def take(self, batch: pa.RecordBatch, first: int) -> bool:
        """Values of some rows; whether others have no more to tell."""
        del first
        column = series_of(batch[0]).drop_nulls()
        if column.dtype.is_numeric() and len(column):
            self._reach(float(column.min()), float(column.max()))  # type: ignore[arg-type]
        if len(self.found) < SAMPLED:
            texts = column.unique(maintain_order=True).cast(pl.String, strict=False).drop_nulls()
            self.found |= dict.fromkeys(texts.head(SAMPLED).to_list())
        if column.dtype.is_numeric() or not len(column):
            return False
        return len(self.found.keys() - self._missing) >= min(SAMPLED, self._distinct)

    def merge(self, other: Self) -> None:
        """Values of other rows."""
        self.found |= other.found
        if other.ends is not None:
            self._reach(*other.ends)

    def _reach(self, least: float, most: float) -> None:
        low, high = self.ends or (least, most)
        self.ends = min(low, least), max(high, most)


@dataclass(frozen=True)
class _TellingColumn:
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
) -> Iterator[_TellingColumn]:
    """The columns shown as they are that are recognised, or that look like ids.

    ``names`` are those of all columns of the table, published or not; ``roles`` those whose columns
    are shown exactly.  Of kept ones ``refuse_singling_out`` asks more than that they are no ids.
    """
    for role in roles:
        for name in getattr(plan.roles, role):
            found = _told_of(rows, plan, name, role, names_beside(name, names))
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


def _refusal(plan: Plan, one: _TellingColumn) -> str:
    quoted = json.dumps(one.name, ensure_ascii=False)
    unique = json.dumps([*plan.roles.keep_unique, one.name], ensure_ascii=False)
    return (
        f"[roles] {one.role}: {one.told}. Take it out of {one.role} or make it one of the "
        f"identifiers; if it tells persons apart, say person = {quoted}. If it may be published "
        f"all the same, say keep_unique = {unique} in [roles]"
    )


def _told_of(
    rows: Rows, plan: Plan, name: str, role: str, beside: Sequence[str]
) -> _TellingColumn | None:
    dtype = polars_type(rows.schema.field(name).type)
    kind = kind_of(pl.Series(name, [], dtype=dtype))
    bare = ColumnLook(name, kind, 0, 0, (), beside)
    suspect = kind == "text" or suspected(bare) or (kind == "integer" and not bare.is_an_amount)
    if not suspect or dtype.is_nested() or kind not in _LOOKED_AT:
        return None
    counts = rows.select([name]).occurrences(name, plan.missing)
    first = _FirstValues(counts.values, plan.missing)
    rows.fold([name], first)
    values = tuple(text for text in first.found if text not in plan.missing)[:SAMPLED]
    look = ColumnLook(name, kind, counts.rows, counts.values, values, beside, first.ends)
    found = recognised(look)
    if found is not None or (role != "keep" and _is_id(rows, look, counts)):
        return _TellingColumn(name, role, counts, found)
    return None


_LOOKED_AT = frozenset({"text", "integer", "decimal"})
_FIRST_LOOKED_AT = 10_000


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


MARKS = ("?", "-", "--", ".", "NA", "N/A", "n/a", "NULL", "null", "None", "nan", "NaN")
"""Texts that mostly stand for a missing value."""

_NOBODY = (
    *("unknown", "missing", "anonymous", "n.a.", "#n/a", "not available", "unbekannt", "k.a."),
    *("keine angabe", "inconnu", "inconnue", "desconocido", "desconocida", "sconosciuto"),
    *("desconhecido", "desconhecida", "onbekend", "nieznany", "brak"),
)
_MADE, _IDS, _FORMS = "\1form", "\1ids", "\1forms"
"""No file has columns whose names begin so."""
_INVISIBLE = r"[\p{Cf}\p{Cc}]"
_WHOLE = r"^(-?\d+)\.0+$"
_ZEROS = r"(^|[^0-9.,])0+(\d)"
"""In front of a number, and not behind its point."""


@dataclass(frozen=True)
class _Doubt:
    """Something about the ids of persons or households; private."""

    kind: Literal["form", "letters", "nobody"]
    told: str
    """A clause, with the first row and without an id."""
    first: int | None
    """The first row that it is about, from 1."""

    @property
    def refused(self) -> bool:
        """Whether no table with such ids is published."""
        return self.kind == "form"


def doubts_of_units(rows: Rows, name: str, unit: Protected) -> list[_Doubt]:
    """What is doubtful about the column that tells persons or households apart."""
    if polars_type(rows.schema.field(name).type) != pl.String:
        return []
    found = []
    for kind, simple, what in (
        ("form", _in_one_form, "spaces, width or .0 at the end"),
        ("letters", _in_small_letters, "capital letters or zeros in front"),
    ):
        more, first = _several_forms(rows, name, simple)
        if more:
            ids = "1 id differs" if more == 1 else f"{more:,} ids differ"
            told = f"{ids} from another only in {what}, first in row {first}, and count{_s(more)} "
            told += f"as {'another' if more == 1 else 'other'} {unit if more == 1 else f'{unit}s'}"
            found.append(_Doubt(kind, f"column {name!r}: {told}", first))  # type: ignore[arg-type]
            break
    nobody = flagged(rows, name, _names_nobody)
    if nobody.rows:
        told = (
            f"column {name!r}: in {nobody.rows:,} of {rows.height:,} rows, first in row "
            f'{nobody.first}, stands a mark such as "?" or "unknown", each of which counts as one '
            f"{unit}; if nobody knows whose rows these are, say so with missing = [...]"
        )
        found.append(_Doubt("nobody", told, nobody.first))
    return found


def _shows_nothing(ids: pl.Series) -> pl.Series:
    """Which texts are empty but for spaces and invisible characters."""
    shown = ids.str.replace_all(_INVISIBLE, "").str.strip_chars()
    return (shown == "").fill_null(value=False)


def _several_forms(
    rows: Rows, name: str, simple: Callable[[pl.Series], pl.Series]
) -> tuple[int, int | None]:
    """How many more ids than simple forms of them there are, and the first row that has one."""
    formed = mapped(rows, name, simple, pl.String(), made=_MADE)
    ids = formed.distinct([name, _MADE], _IDS)
    forms = ids.distinct([_MADE], _FORMS)
    more = ids.height - forms.height
    if not more:
        return 0, None
    several = mapped(forms, _FORMS, lambda count: count.replace(1, None), pl.Int64())
    told = formed.join_rows(several, [_MADE], "left")
    return more, told.tally(negated(is_missing(_FORMS))).first


def ids_in_one_form(ids: Sequence[str | None]) -> list[str | None]:
    """Ids without what tells no two persons apart: spaces, widths, ``.0`` as of spreadsheets."""
    found: list[str | None] = _in_one_form(pl.Series(ids, dtype=pl.String())).to_list()
    return found


def _in_one_form(ids: pl.Series) -> pl.Series:
    plain = ids.str.replace_all(r"\s", " ").str.replace_all(_INVISIBLE, "").str.normalize("NFKC")
    plain = plain.str.replace_all(r"\s+", " ").str.strip_chars()
    return plain.str.replace(_WHOLE, "${1}")


def _in_small_letters(ids: pl.Series) -> pl.Series:
    return _in_one_form(ids).str.to_lowercase().str.replace_all(_ZEROS, "${1}${2}")


def _names_nobody(ids: pl.Series) -> pl.Series:
    small = ids.str.strip_chars().str.to_lowercase()
    marks = [*(mark.lower() for mark in MARKS), *_NOBODY]
    return small.is_in(marks).fill_null(value=False)


def _s(number: int) -> str:
    return "s" if number == 1 else ""


_COUNTED, _HOUSEHOLDS = "\1rows", "\1households"
"""No file has columns whose names begin so."""


def require_rows_of_persons(rows: Rows, plan: Plan, record_key: str | None = None) -> None:
    """Raise ``PlanError`` where an identifier repeats; it is looked at and let go."""
    for name in identifying_columns(plan.roles, record_key):
        refuse_repeating(plan, name, rows.select([name]).occurrences(name, plan.missing))


def refuse_kept_that_single_out(rows: Rows, plan: Plan) -> None:
    """Raise ``PlanError`` where columns that are kept single out rows that may be published.

    Where the plan names persons or households: where values stand with one of them only.
    """
    kept = {name: _occurrences(rows, plan, name) for name in columns_to_keep(plan.roles)}
    refuse_singling_out(plan, kept)


def require_units(rows: Rows, plan: Plan) -> tuple[str, ...]:
    """What is doubtful about the ids of persons and households, as sentences.

    Raises ``TableError`` where a row does not say whose it is, ids differ only in form, or
    households divide a person.
    """
    named, notes = plan.roles.named_units, []
    for key, name in named.items():
        missing = flagged(rows, name, _says_nothing)
        refuse_missing_unit(plan, key, name, missing.rows, rows.height, missing.first)
        for doubt in doubts_of_units(rows, name, key):  # type: ignore[arg-type]
            if doubt.refused:
                refuse_forms(plan, key, doubt.told)
            notes.append(f"[roles] {key}: {doubt.told}")
    if len(named) > 1:
        _refuse_divided_persons(rows, plan)
    return tuple(notes)


def _refuse_divided_persons(rows: Rows, plan: Plan) -> None:
    person, household = plan.roles.named_units["person"], plan.roles.named_units["household"]
    pairs = rows.distinct([person, household], _COUNTED)
    persons = pairs.distinct([person], _HOUSEHOLDS)
    if pairs.height == persons.height:
        return
    several = mapped(persons, _HOUSEHOLDS, lambda count: count.replace(1, None), pl.Int64())
    found = rows.join_rows(several, [person], "left").tally(negated(is_missing(_HOUSEHOLDS)))
    divided = several.filter(negated(is_missing(_HOUSEHOLDS)))
    refuse_divided_persons(plan, persons.height, divided.height, found.first)


def _says_nothing(values: pl.Series) -> pl.Series:
    """Which values name nobody: missing ones, texts that show nothing, and what is no number."""
    if values.dtype == pl.String:
        return values.is_null() | _shows_nothing(values)
    if values.dtype.is_float():
        return values.is_null() | values.is_nan().fill_null(value=False)
    return values.is_null()


def _occurrences(rows: Rows, plan: Plan, name: str) -> Occurrences:
    """How often the values of a column stand, counted by row, person or household."""
    unit = plan.roles.unit
    if unit is None:
        return rows.occurrences(name)
    found = rows.distinct([name, unit], _COUNTED).occurrences(name)
    return replace(found, of=plan.roles.protected)


def rows_that_may_be_published(rows: Rows, plan: Plan) -> Rows:
    """What is counted of rows that are not bound, without those that ``nulls = "drop"`` drops."""
    dropping = [name for name in plan.roles.published if plan.nulls_of(name) == "drop"]
    looked_at = [*plan.roles.keep, *plan.roles.sensitive]
    rows = rows.select(list(dict.fromkeys([*looked_at, *dropping])))

    def read(batch: pa.RecordBatch) -> list[pa.Array]:
        return [with_missing(series_of(batch[0]), plan.missing).to_arrow()]

    for field in rows.schema if plan.missing else ():
        if pa.types.is_large_string(field.type):
            rows = rows.map(read, [field.name], pa.schema([field]))
    if not dropping:
        return rows
    return rows.filter(both(*(negated(is_missing(name)) for name in dropping)))


def occurrences_of(column: DictionaryColumn, missing: Sequence[str] | None = None) -> Occurrences:
    """How often the values of a bound column stand in it; a missing value is a value.

    With ``missing``, what ``count_repeats`` gives of its rows, from the distinct values alone.
    """
    counts = count_codes(column.codes, len(column.values))
    if missing is not None:
        there = with_missing(column.values, missing).is_not_null()
        if column.values.dtype == pl.String and (counts[there.to_numpy()] > 1).any():
            there &= column.values != ""
        counts = counts[there.to_numpy()]
    return Occurrences(int(counts.sum()), int((counts > 0).sum()), int((counts == 1).sum()))


def count_occurrences(column: pl.Series) -> Occurrences:
    """How often the values of a column stand in it; a missing value is a value.

    Raises ``TableError`` for values that cannot be compared.
    """
    if column.dtype == pl.Object:
        msg = (
            f"column {column.name!r} holds objects that cannot be compared; turn them into "
            "numbers or texts, or leave the column out"
        )
        raise TableError(msg)
    by_value = column.alias("value").to_frame().lazy().group_by("value").len("rows")
    counted = by_value.select(values=pl.len(), once=(pl.col("rows") == 1).sum())
    values, once = counted.collect(engine="streaming").row(0)
    return Occurrences(len(column), values, once)


def _all_differ(column: pl.Series) -> bool:
    """Whether all values are certain to differ; most repeat among the first ones already."""
    for some in (column.head(_FIRST_LOOKED_AT), column):
        words = some.hash().to_numpy(writable=True)
        words.sort()
        if (words[1:] == words[:-1]).any():
            return False
    return True


def count_repeats(column: pl.Series, missing: Sequence[str]) -> Occurrences:
    """How often the values of an identifier stand in it; missing ones and empty texts are left out.

    Raises ``TableError`` for values that cannot be compared.
    """
    there = with_missing(column, missing).drop_nulls()
    if not there.dtype.is_nested() and there.dtype != pl.Object and _all_differ(there):
        return Occurrences(len(there), len(there), len(there))
    if there.dtype == pl.String:
        there = there.filter(there != "")
    return count_occurrences(there)
