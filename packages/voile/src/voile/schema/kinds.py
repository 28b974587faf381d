"""Kinds of columns: what the values of a column mean, beside how they are written.

    kind        values are                                   bound as          an interval of them
    nominal     names without an order: 1 = male, "red"      texts             never
    ordinal     ranks: numbers, or texts with an ``order``   as in the file    of neighbours
    number      amounts and counts                           numbers           yes
    date        days or times, in a declared ``format``      dates, times      yes
    code        codes of a system: ICD, NACE, an article     texts             never
    geography   places and areas: a zip code, a state        texts             never
    text        what people wrote freely                     texts             never

A file cannot tell a code from a number: both are digits.  A plan can, and then the digits are texts
from the moment the plan is bound, for every method: what is never a number is never an interval, a
sum or a mean.  Without a kind, the file decides.

Free text is no quasi-identifier.  Two people rarely write the same, so that making rows alike would
leave nothing of it; and what somebody wrote may name anybody.
"""

from __future__ import annotations

from typing import Literal

from voile.schema.hierarchy.generalized import DistinctValues

__all__ = ["UNORDERED", "ColumnType", "Kind", "ShownAs", "is_ordered", "type_of"]

Kind = Literal["nominal", "ordinal", "number", "date", "code", "geography", "text"]
"""What the values of a column mean."""

ColumnType = Literal["text", "number"]
"""How values are read, whatever the file says."""

ShownAs = Literal[
    "exact", "permuted", "synthetic", "interval", "set", "averaged", "noisy", "withheld"
]
"""How a released file of another make shows a column; see ``audit.recognition``."""

UNORDERED: frozenset[Kind] = frozenset({"nominal", "code", "geography", "text"})
"""Kinds whose values lie on no axis: what is between two of them means nothing."""

_CALENDAR = ("date", "datetime", "time")


def type_of(kind: Kind | None) -> ColumnType | None:
    """How the values of a kind are read; None: as the file says."""
    if kind in UNORDERED:
        return "text"
    return "number" if kind == "number" else None


def is_ordered(kind: Kind | None, values: DistinctValues) -> bool:
    """Whether the distinct values of a bound column lie on an axis that intervals may be cut from.

    Numbers, dates and times do; nothing of an unordered kind does, whatever it is written in.
    """
    if kind in UNORDERED:
        return False
    return values.numbers is not None or values.kind in _CALENDAR
