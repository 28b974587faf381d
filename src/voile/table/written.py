"""How the values of a column are written: what a proposal of roles and kinds is made from; private.

Everything is asked of the different values, never of a sample.  A column of texts is first freed of
its **mark**, the text that seems to stand for a missing value: a usual one such as "?", or the only
short text among numbers, such as the N of "not applicable".

Cost: the different values once, and a few passes over them; public lists are tried up to 5,000.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import polars as pl

from voile.schema.dates import USUAL_FORMATS, pattern_of
from voile.schema.hierarchy.code_lists import CODE_LISTS, CodeListName, public_list
from voile.table.dates import date_form
from voile.table.persons import MACHINE_MADE
from voile.table.summaries import ColumnDetails, ColumnProfile
from voile.table.value_types import infer_type, with_missing

__all__ = ["details_of"]

_MARKS = ("?", "-", "--", ".", "NA", "N/A", "n/a", "NULL", "null", "nan", "NaN")
_SHORT = 2
"""Characters of a mark that is no usual one."""
_FEW = 12
_LISTED = 5_000
_MOST_MISSED = 0.25
_NUMBER = r"(?:0|[1-9][0-9,]*)(?:\.[0-9]+)?[kK%]?"
_BAND = (
    rf"^\s*(?:[\[(]\s*{_NUMBER}\s*[-,;]\s*{_NUMBER}\s*[\])]|{_NUMBER}\s*(?:-|to)\s*{_NUMBER}"
    rf"|(?:<|>|<=|>=|under|over|up to)\s*{_NUMBER}"
    rf"|{_NUMBER}\s*(?:\+|and (?:more|over)|or more))\s*$"
)


def _digits(column: pl.Series) -> int | None:
    """The length of the values of a column, where all are digits and equally long."""
    texts = column.drop_nulls()
    if texts.dtype != pl.String and not texts.dtype.is_integer():
        return None
    texts = texts.cast(pl.String).unique()
    lengths = texts.str.len_chars().unique()
    if len(lengths) != 1 or not texts.str.contains(r"^[0-9]+$").all():
        return None
    return int(lengths.item())


def details_of(column: pl.Series, profile: Callable[[pl.Series], ColumnProfile]) -> ColumnDetails:
    """How the values of a column are written; ``profile`` counts them."""
    mark = None
    if isinstance(column.dtype, pl.Categorical | pl.Enum):
        column = column.cast(pl.String)
    if column.dtype == pl.String:
        mark = _mark(column)
        column = with_missing(column, [mark] if mark else [])
        column = infer_type(column) if mark else column
    counted, texts = profile(column), _different(column)
    spelled = texts if column.dtype == pl.String else texts.head(0)
    return ColumnDetails(
        profile=counted,
        rows=len(column),
        mark=mark,
        digits=_digits(column),
        words=float(spelled.str.count_matches(r"\S+").mean() or 0) if len(spelled) else 0.0,  # type: ignore[arg-type]
        machine_made=_all_match(spelled, MACHINE_MADE),
        bands=_all_match(spelled, _BAND),
        date_formats=_formats(spelled),
        lists=_lists(texts),
        extremes=_extremes(column),
        few=frozenset(spelled) if 0 < len(spelled) <= _FEW else frozenset(),
    )


def _different(column: pl.Series) -> pl.Series:
    """The different values of texts and numbers as texts, ascending; none of others."""
    if column.dtype != pl.String and not column.dtype.is_numeric():
        return pl.Series(column.name, [], dtype=pl.String)
    return column.drop_nulls().unique().cast(pl.String).sort()


def _mark(column: pl.Series) -> str | None:
    """The text that seems to stand for a missing value."""
    texts = column.drop_nulls().unique()
    usual = texts.filter(texts.is_in(_MARKS))
    if len(usual):
        return str(usual.sort()[0])
    odd = texts.filter(texts.cast(pl.Float64, strict=False).is_null())
    if len(odd) == 1 < len(texts) - 1 and len(odd[0]) <= _SHORT and odd[0].strip():
        return str(odd[0])
    return None


def _all_match(texts: pl.Series, pattern: str) -> bool:
    return len(texts) > 0 and bool(texts.str.contains(pattern).all())


def _formats(texts: pl.Series) -> tuple[str, ...]:
    if not len(texts):
        return ()
    first = texts.head(1)
    likely = (usual for usual in USUAL_FORMATS if first.str.contains(pattern_of(usual)).all())
    return tuple(usual for usual in likely if not date_form(usual).misses(texts).any())


def _lists(texts: pl.Series) -> Mapping[CodeListName, int]:
    if not 1 < len(texts) <= _LISTED:
        return {}
    missed = {
        name: sum(public_list(name).key_of(text) is None for text in texts) for name in CODE_LISTS
    }
    return {name: count for name, count in missed.items() if count <= _MOST_MISSED * len(texts)}


def _extremes(column: pl.Series) -> tuple[float, float] | None:
    if not column.dtype.is_numeric():
        return None
    least, most = column.min(), column.max()
    return None if least is None or most is None else (float(least), float(most))  # type: ignore[arg-type]
