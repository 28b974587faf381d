"""Ids of persons and households that differ only in form, and those that name nobody; private.

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
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import polars as pl

from voile.schema.roles import Protected
from voile.table.arrays import polars_type
from voile.table.binding import flagged, mapped
from voile.table.protocol import Rows
from voile_base.values.expressions import is_missing, negated

__all__ = ["MARKS", "Doubt", "doubts_of_units", "shows_nothing"]

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
class Doubt:
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


def doubts_of_units(rows: Rows, name: str, unit: Protected) -> list[Doubt]:
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
            found.append(Doubt(kind, f"column {name!r}: {told}", first))  # type: ignore[arg-type]
            break
    nobody = flagged(rows, name, _names_nobody)
    if nobody.rows:
        told = (
            f"column {name!r}: in {nobody.rows:,} of {rows.height:,} rows, first in row "
            f'{nobody.first}, stands a mark such as "?" or "unknown", each of which counts as one '
            f"{unit}; if nobody knows whose rows these are, say so with missing = [...]"
        )
        found.append(Doubt("nobody", told, nobody.first))
    return found


def shows_nothing(ids: pl.Series) -> pl.Series:
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
