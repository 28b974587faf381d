"""How the values of a column are written: what a proposal of roles and kinds is made from; private.

Everything is asked of the different values, never of a sample.  A column of texts is first freed of
its **mark**, the text that seems to stand for a missing value: a usual one such as "?", or the only
short text among numbers, such as the N of "not applicable".

Cost: the different values once, and a few passes over them; public lists are tried up to 5,000.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import polars as pl

from voile.recognisers.looks import SAMPLED
from voile.schema.dates import USUAL_FORMATS, pattern_of
from voile.schema.hierarchy.code_lists import CODE_LISTS, CodeListName, public_list
from voile.table.dates import date_form
from voile.table.looking import MACHINE_MADE
from voile.table.summaries import ColumnDetails, ColumnProfile
from voile.table.value_types import infer_type, with_missing

__all__ = ["details_of", "sample_of"]

_MARKS = (
    *("?", "-", "--", ".", "NA", "N/A", "n/a", "NULL", "null", "nan", "NaN", "#N/A", "n.a."),
    *("k.A.", "k. A.", "K.A.", "keine Angabe", "n.d.", "n/d", "N/D", "NS/NC", "NSNC", "s/d", "S/D"),
    *(
        "N.A.",
        "sin dato",
        "n.c.",
        "NC",
        "non réponse",
        "b.d.",
        "brak danych",
        "onb.",
        "e.t.",
        "i.u.",
    ),
)
_SENTINELS = (-1, -2, -3, -4, -7, -8, -9, -77, -88, -99, -777, -888, -999, -9999)
"""Codes of missing values, where no other number is negative."""
_NINES = (9, 99, 999, 9_999, 98, 998, 9_998, 97, 997, 77, 777, 88, 888)
"""The same, where the largest other number is at most half as large: codes that stand out."""
_DATA = re.compile(r"[-+]?\d+[.,]\d+|\d{1,4}[./-]\d{1,2}[./-]\d{1,4}.*|\S+@\S+\.\S+")
"""Names of columns that no table has: numbers, dates, addresses."""
_SHORT = 2
"""Characters of a mark that is no usual one."""
_FEW = 12
_LISTED = 5_000
_DIGITS_OF_A_DAY = "%Y%m%d"
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
    marks: tuple[str, ...] = ()
    if isinstance(column.dtype, pl.Categorical | pl.Enum):
        column = column.cast(pl.String)
    if column.dtype == pl.String:
        marks = _marks(column)
        column = with_missing(column, marks)
        column = infer_type(column) if marks else column
    column, sentinels = _without_sentinels(column)
    counted, texts = profile(column), _different(column)
    spelled = texts if column.dtype == pl.String else texts.head(0)
    return ColumnDetails(
        profile=counted,
        rows=len(column),
        marks=marks,
        digits=_digits(column),
        words=float(spelled.str.count_matches(r"\S+").mean() or 0) if len(spelled) else 0.0,  # type: ignore[arg-type]
        machine_made=_all_match(spelled, MACHINE_MADE),
        bands=_all_match(spelled, _BAND),
        date_formats=_formats(spelled) or _formats_of_digits(texts),
        lists=_lists(texts),
        extremes=_extremes(column),
        few=frozenset(spelled) if 0 < len(spelled) <= _FEW else frozenset(),
        sample=sample_of(texts),
        whole=_is_whole(column),
        sentinels=sentinels,
        named_itself=bool((texts == column.name).any() or _DATA.fullmatch(column.name)),
    )


def sample_of(texts: pl.Series) -> tuple[str, ...]:
    """Some of the different texts, at even distances."""
    return tuple(texts.gather_every(1 + len(texts) // SAMPLED))


def _is_whole(column: pl.Series) -> bool:
    """Whether a column of decimals holds whole numbers alone."""
    if not (column.dtype.is_float() or column.dtype.is_decimal()):
        return False
    there = column.drop_nulls().cast(pl.Float64)
    return len(there) > 0 and bool((there.is_finite() & (there == there.round())).all())


def _without_sentinels(column: pl.Series) -> tuple[pl.Series, tuple[str, ...]]:
    """A column of whole numbers without those that stand out as codes of missing values do."""
    if not column.dtype.is_integer() and not _is_whole(column):
        return column, ()
    different = column.drop_nulls().unique().cast(pl.Float64).sort()
    found = [code for code in _SENTINELS if code in set(different)]
    rest = different.filter(~different.is_in([float(code) for code in found]))
    if not len(rest) or rest[0] < 0:
        found, rest = [], different
    for code in sorted(_NINES, reverse=True):
        others = rest.filter(rest < code)
        if len(rest) and rest[-1] == code and len(others) > 1 and others[-1] <= _gap(code):
            found, rest = [*found, code], others
    if not found or len(rest) < 2:
        return column, ()
    gone = column.cast(pl.Float64).is_in([float(code) for code in found])
    texts = column.filter(gone).unique().cast(pl.String)
    kept = pl.when(~gone).then(column)
    return pl.select(kept.alias(column.name)).to_series(), tuple(sorted(texts))


def _gap(code: int) -> float:
    """The largest other number beside which a code of nines stands out."""
    return 6 if code < 10 else code / 2


def _different(column: pl.Series) -> pl.Series:
    """The different values of texts and numbers as texts, ascending; none of others."""
    if column.dtype != pl.String and not column.dtype.is_numeric():
        return pl.Series(column.name, [], dtype=pl.String)
    return column.drop_nulls().unique().cast(pl.String).sort()


def _marks(column: pl.Series) -> tuple[str, ...]:
    """The texts that seem to stand for missing values: the usual ones, or an odd one."""
    texts = column.drop_nulls().unique()
    usual = texts.filter(texts.is_in(_MARKS))
    if len(usual):
        return tuple(usual.sort())
    odd = texts.filter(texts.cast(pl.Float64, strict=False).is_null())
    if len(odd) == 1 < len(texts) - 1 and len(odd[0]) <= _SHORT and odd[0].strip():
        return (str(odd[0]),)
    return ()


def _all_match(texts: pl.Series, pattern: str) -> bool:
    return len(texts) > 0 and bool(texts.str.contains(pattern).all())


def _formats(texts: pl.Series) -> tuple[str, ...]:
    if not len(texts):
        return ()
    first = texts.head(1)
    likely = (usual for usual in USUAL_FORMATS if first.str.contains(pattern_of(usual)).all())
    return tuple(usual for usual in likely if not date_form(usual).misses(texts).any())


def _formats_of_digits(texts: pl.Series) -> tuple[str, ...]:
    """The format of whole numbers that are days, all of a year from 1800 to 2099."""
    if not len(texts) or not texts.str.contains(r"^(?:18|19|20)[0-9]{6}$").all():
        return ()
    return () if date_form(_DIGITS_OF_A_DAY).misses(texts).any() else (_DIGITS_OF_A_DAY,)


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
