"""What a table holds, for its custodian: types, missing values, sizes of groups.

Everything here is private: computed from private rows without protection.

How the values of a column are spread, for its custodian; private.

Columns of few values by value, the most frequent first; numbers and times of many values in bars of
one width.  Cost: one pass over the column, and its distinct values.

How the values of a column are written: what a proposal of roles and kinds is made from; private.

Everything is asked of the different values, never of a sample.  A column of texts is first freed of
its **marks**, the texts that seem to stand for a missing value: a usual one such as "?", the only
short text among numbers, such as the N of "not applicable", or a few words that many rows have.

Cost: the different values once, and a few passes over them; public lists are tried up to 5,000.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import numpy as np
import polars as pl
from numpy.typing import NDArray

from voile.recognisers.values import SAMPLED
from voile.schema.hierarchy.ranges import TWO_DIGIT_FORMATS, USUAL_FORMATS, pattern_of
from voile.schema.hierarchy.taxonomy import (
    CODE_LISTS,
    CodeListName,
    public_list,
)
from voile.schema.layout import USUAL, InputLayout
from voile.schema.persons import FEW_PERSONS, Occurrences
from voile.schema.plan import Plan
from voile.table.arrays import (
    date_form,
    infer_type,
    kind_of,
    with_marks,
    with_missing,
)
from voile.table.binding import PlanDoubt, misfits_of
from voile.table.engines import AUTO, engine_of
from voile.table.looking import (
    EXACT_ROLES,
    MACHINE_MADE,
    MARKS,
    count_occurrences,
    count_repeats,
    doubts_of_units,
    require_units,
    telling_columns,
)
from voile.table.opening import rows_in_memory
from voile.table.places import LaidOut, Place
from voile.table.protocol import Engine, Rows
from voile.table.summaries import (
    ColumnDetails,
    ColumnProfile,
    SampleCounts,
    UnitsProfile,
)
from voile_base.errors import PlanError, TableError, nearest
from voile_base.ondemand import dataclass

__all__ = [
    "Inspected",
    "ValueDistribution",
    "is_usual_mark",
]


_BARS = 20


@dataclass(frozen=True)
class _ValueBin:
    """Some values of a column, and the rows that hold them."""

    value: str
    """The value; of a bar of several, "lowest to highest"."""
    rows: int


@dataclass(frozen=True)
class ValueDistribution:
    """The rows of a column by value."""

    bars: tuple[_ValueBin, ...]
    binned: bool
    """Whether a bar is a range of numbers or times, in ascending order."""
    others: int = 0
    """Rows of values that have no bar."""


def _distribution_of(column: pl.Series, most: int) -> ValueDistribution:
    """The distribution of the values that are there, in at most ``most`` bars of single values."""
    there = column.drop_nulls()
    ordered = there.dtype.is_numeric() or there.dtype.is_temporal()
    if ordered and there.n_unique() > max(most, _BARS):
        return _in_ranges(there)
    counts = there.cast(pl.String, strict=False).value_counts(sort=True, name="rows")
    shown = counts.head(most)
    bars = tuple(_ValueBin(str(value), rows) for value, rows in shown.iter_rows())
    return ValueDistribution(bars, binned=False, others=len(there) - sum(bar.rows for bar in bars))


def _in_ranges(there: pl.Series) -> ValueDistribution:
    """Bars of one width from the least to the greatest value."""
    numbers = there.to_physical().cast(pl.Float64).to_numpy()
    there, numbers = there.filter(np.isfinite(numbers)), numbers[np.isfinite(numbers)]
    if not len(numbers):
        return ValueDistribution((), binned=True)
    rows, edges = np.histogram(numbers, _BARS)
    if there.dtype.is_temporal():
        low = pl.Series(edges[:-1].astype(np.int64)).cast(there.to_physical().dtype)
        told = [str(value) for value in low.cast(there.dtype)]
    else:
        told = [f"{edge:.6g}" for edge in edges]
        told = [f"{low} to {high}" for low, high in pairwise(told)]
    bars = tuple(_ValueBin(value, int(count)) for value, count in zip(told, rows, strict=True))
    return ValueDistribution(bars, binned=True)


_MARKS = (
    *("?", "-", "--", ".", "NA", "N/A", "n/a", "NULL", "null", "nan", "NaN", "#N/A", "n.a."),
    *("#NULL!", "\\N", "i.u."),
    *("k.A.", "k. A.", "K.A.", "keine Angabe", "n.d.", "n/d", "N/D", "NS/NC", "NSNC", "s/d", "S/D"),
    *("N.A.", "sin dato", "n.c.", "NC", "non réponse", "b.d.", "brak danych", "onb.", "e.t."),
    *("bd.", "b/d", "b. d.", "nie podano", "neuvedeno", "neuvedené", "geen opgave", "ej angivet"),
    *("ikke oppgitt", "uoplyst", "ei tietoa", "non indicato", "não informado", "belirtilmemiş"),
    *("не указано", "нет данных", "не вказано"),
)
_PLAIN_MARKS = frozenset({*map(str.casefold, _MARKS), "missing", "<na>", "unknown", "*"})
_ERROR = r"^#[\p{Lu}/]{2,12}[!?]$|^#\p{Lu}+/[\p{Lu}/0]+[!?]?$|^#(?:NV|YOK|NEDOSTUPNÝ|HIÁNYZIK)$"
"""Errors of a spreadsheet, in its language: "#NV", "#SAKNAS!", "#DIV/0!"."""
_FIGURES = 10
_SENTINELS = (-1, -2, -3, -4, -7, -8, -9, -77, -88, -99, -777, -888, -999, -9999)
"""Codes of missing values, where no other number is negative."""
_NINES = (9, 99, 999, 9_999, 98, 998, 9_998, 97, 997, 77, 777, 88, 888)
"""The same, where the largest other number is at most half as large: codes that stand out."""
_DATA = re.compile(r"[-+]?\d+[.,]\d+|\d{1,4}[./-]\d{1,2}[./-]\d{1,4}.*|\S+@\S+\.\S+")
"""Names of columns that no table has: numbers, dates, addresses."""
_MOST_ODD = 6
_SHORT = 2
"""Characters of a mark that is no usual one, and stands in few rows: longer ones are words."""
_CODE = re.compile(r"[0-9][^\W\d_]|[^\W\d_][0-9]")
"""A letter beside a figure: "2A" among numbers of departments is one of them, and no mark."""
_FEW, _LISTED = 12, 5_000
_DIGITS_OF_A_DAY = {
    "%Y%m%d": r"^(?:18|19|20)[0-9]{6}$",
    "%y%m%d": r"^[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])$",
    "%Y%m%d%H%M": r"^(?:19|20)[0-9]{10}$",
    "%Y%m%d%H%M%S": r"^(?:19|20)[0-9]{12}$",
    "%d%m%Y": r"^(?:0[1-9]|[12][0-9]|3[01])(?:0[1-9]|1[0-2])(?:18|19|20)[0-9]{2}$",
    "%m%d%Y": r"^(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])(?:18|19|20)[0-9]{2}$",
}
_ANEW = 10  # rows of a list, at least, before its numbers begin anew
_FEWEST_COUNTED, _MOST_COUNTED, _RARE = 5, 40, 4
"""The largest count of things stands in at most a quarter of the rows of the usual one."""
_MOST_MISSED = 0.25
_NUMBER = r"(?:0|[1-9][0-9,]*)(?:\.[0-9]+)?[kK%]?"
_WORD = (
    r"[\p{Han}]{1,3}|[\p{Hiragana}\p{Katakana}ー]{1,4}|[\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]{1,5}"
    r"|[^\s\p{Han}\p{Hiragana}\p{Katakana}ー\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]+"
)
"""A word; of scripts without spaces between words, about as many letters as one has."""
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


def _details_of(
    column: pl.Series,
    profile: Callable[[pl.Series], ColumnProfile],
    layout: InputLayout = USUAL,
) -> ColumnDetails:
    """How the values of a column are written; ``profile`` counts them."""
    marks: tuple[str, ...] = ()
    if isinstance(column.dtype, pl.Categorical | pl.Enum):
        column = column.cast(pl.String)
    if column.dtype == pl.String:
        marks = _marks(column, layout) or _mark_beside_days(column)
        column = with_missing(column, marks)
        column = with_marks(infer_type(column), layout) if marks else column
    column, sentinels = _without_sentinels(column)
    counted, texts = profile(column), _different(column)
    spelled = texts if column.dtype == pl.String else texts.head(0)
    return ColumnDetails(
        profile=counted,
        rows=len(column),
        marks=marks,
        digits=_digits(column),
        words=float(spelled.str.count_matches(_WORD).mean() or 0) if len(spelled) else 0.0,  # type: ignore[arg-type]
        machine_made=_all_match(spelled, MACHINE_MADE),
        bands=_all_match(spelled, _BAND),
        date_formats=_formats(spelled) or _formats_of_digits(texts),
        lists=_lists(texts),
        extremes=_extremes(column),
        few=frozenset(spelled) if 0 < len(spelled) <= _FEW else frozenset(),
        sample=_sample_of(texts),
        whole=_is_whole(column),
        falling=counted.distinct <= _MOST_COUNTED and _are_falling(column),
        listed=_are_listed(column),
        in_blocks=_are_in_blocks(column),
        sentinels=sentinels,
        named_itself=bool((texts == column.name).any() or _DATA.fullmatch(column.name)),
    )


def _sample_of(texts: pl.Series) -> tuple[str, ...]:
    """Some of the different texts without the spaces around them, at even distances."""
    return tuple(dict.fromkeys(map(str.strip, texts.gather_every(1 + len(texts) // SAMPLED))))


def _is_whole(column: pl.Series) -> bool:
    """Whether a column of decimals holds whole numbers alone."""
    if not (column.dtype.is_float() or column.dtype.is_decimal()):
        return False
    there = column.drop_nulls().cast(pl.Float64)
    return len(there) > 0 and bool((there.is_finite() & (there == there.round())).all())


def _are_listed(column: pl.Series) -> bool:
    """Whether whole numbers ascend; or, by uneven steps, change in few rows or fall in few."""
    if not column.dtype.is_integer() or column.is_sorted():
        return column.dtype.is_integer()
    steps = column.drop_nulls().cast(pl.Int64).diff().drop_nulls()
    up, down = steps.filter(steps > 0), steps.filter(steps < 0)
    usual = int(up.value_counts()["count"].to_numpy().max(initial=0))
    shares = column.drop_nulls().value_counts()["count"].to_numpy() / max(1, len(steps))
    together = 2 * (len(up) + len(down)) <= len(steps) and _ANEW * (shares**2).sum() < 1
    return (_ANEW * len(down) <= len(steps) or bool(together)) and 2 * usual < len(up)


def _are_in_blocks(column: pl.Series) -> bool:
    """Whether as many runs of equal whole numbers stand in a column as it has different ones."""
    if not (column.dtype.is_integer() or _is_whole(column)) or column.null_count():
        return False
    changes = (column != column.shift()).sum()
    return bool(1 + changes == column.n_unique())


def _without_sentinels(column: pl.Series) -> tuple[pl.Series, tuple[str, ...]]:
    """A column of numbers without those that stand out as codes of missing values do.

    Among decimals these are of two figures and more: one may be a measure below nought.
    """
    if not column.dtype.is_numeric():
        return column, ()
    different = column.drop_nulls().unique().cast(pl.Float64).sort()
    low = set(different.filter(different.is_in([float(code) for code in _SENTINELS])))
    whole = column.dtype.is_integer() or _is_whole(column)
    found = [code for code in _SENTINELS if code in low and (whole or code < -_FIGURES)]
    rest = different.filter(~different.is_in([float(code) for code in found]))
    if not len(rest) or rest[0] < 0:
        found, rest = [], different
    for code in sorted((one for one in _NINES if whole or one > _FIGURES), reverse=True):
        others = rest.filter(rest < code)
        if len(rest) and rest[-1] == code and len(others) > 1 and others[-1] <= _gap(code):
            found, rest = [*found, code], others
    if not found or len(rest) < 2:
        return column, ()
    gone = column.cast(pl.Float64).is_in([float(code) for code in found])
    texts = {*column.filter(gone).unique().cast(pl.String)}
    texts |= set() if whole else {f"{code}" for code in found}  # as they are written beside 71.5
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


def is_usual_mark(text: str) -> bool:
    """Whether a text stands for a missing value wherever it stands: blanks, ``NA`` and the like."""
    plain = text.strip().casefold()
    return not plain or plain in _PLAIN_MARKS or bool(pl.Series([text]).str.contains(_ERROR)[0])


def _marks(column: pl.Series, layout: InputLayout) -> tuple[str, ...]:
    """The texts that seem to stand for missing values: the usual ones, blanks, and odd ones.

    Odd ones stand among numbers: one of them, or a few words that many rows have each, such as
    "none", "estimated" and "refused".
    """
    texts = column.drop_nulls().unique()
    blank = texts.str.strip_chars() == ""
    are_usual = texts.is_in(_MARKS) | blank | texts.str.contains(_ERROR)
    usual, rest = texts.filter(are_usual), texts.filter(~are_usual)
    odd = rest.filter(~_are_measured(rest, layout))
    if not 0 < len(odd) <= _MOST_ODD:
        return tuple(usual.sort())
    often = column.filter(column.is_in(odd.implode())).value_counts()["count"].to_numpy().min()
    shared = often > FEW_PERSONS and not odd.str.contains("[0-9]").any()
    one = len(odd) == 1 and len(rest) > 2 and not len(usual)
    if one and (shared or (len(odd[0]) <= _SHORT and not _CODE.search(odd[0]))):
        return (str(odd[0]),)
    several = len(rest) > FEW_PERSONS + len(odd)
    return tuple(sorted((*usual, *odd) if shared and several else usual))


def _are_measured(texts: pl.Series, layout: InputLayout) -> pl.Series:
    """Which texts are numbers as a layout writes them, or limits of what was measured: "<0,5".

    Where most are limits, as "<30" and ">30" are, nothing was measured: they are classes.
    """
    written = texts.str.strip_chars()
    plain = written.str.replace("^[<>≤≥]=? ?", "")
    for mark, as_usual in (
        (layout.thousands, ""),
        (layout.decimal, "."),
        *((u, "") for u in layout.units),
    ):
        if mark:
            plain = plain.str.replace_all(mark, as_usual, literal=True).str.strip_chars()
    numbers = plain.cast(pl.Float64, strict=False).is_not_null()
    exact = numbers & ~written.str.contains("^[<>≤≥]")
    return numbers if 2 * exact.sum() > numbers.sum() else exact


def _mark_beside_days(column: pl.Series) -> tuple[str, ...]:
    """The one text without a figure in a column of days: "open", "never"."""
    texts = column.drop_nulls().unique()
    dated = texts.str.contains("[0-9]")
    days = texts.filter(dated)
    if len(texts) - len(days) != 1 or len(days) <= FEW_PERSONS or not _formats(days):
        return ()
    return (str(texts.filter(~dated)[0]),)


def _all_match(texts: pl.Series, pattern: str) -> bool:
    return len(texts) > 0 and bool(texts.str.contains(pattern).all())


def _formats(texts: pl.Series) -> tuple[str, ...]:
    if not len(texts):
        return ()
    first = texts.head(1)
    for formats in (USUAL_FORMATS, TWO_DIGIT_FORMATS if len(texts) > FEW_PERSONS else ()):
        likely = (one for one in formats if first.str.contains(pattern_of(one)).all())
        if found := tuple(one for one in likely if not date_form(one).misses(texts).any()):
            return found
    return ()


def _formats_of_digits(texts: pl.Series) -> tuple[str, ...]:
    """The formats of nothing but digits that are days or moments, of a year from 1800 to 2099."""
    likely = (one for one, pattern in _DIGITS_OF_A_DAY.items() if _all_match(texts, pattern))
    return tuple(one for one in likely if not date_form(one).misses(texts).any())


def _are_falling(column: pl.Series) -> bool:
    """Whether few whole numbers are counts of things: from 0 or 1 on, and the large ones rare."""
    numbers = column.drop_nulls()
    if not (numbers.dtype.is_integer() or _is_whole(numbers)) or not len(numbers):
        return False
    rows = numbers.cast(pl.Float64).value_counts().sort(column.name)
    values, counts = rows[column.name].to_list(), rows["count"].to_list()
    if values[0] not in (0, 1) or not _FEWEST_COUNTED <= len(values) <= _MOST_COUNTED:
        return False
    peak = counts.index(max(counts))
    tail = counts[peak:]
    rising = sum(later > before for before, later in pairwise(tail))
    return peak <= 1 and tail[-1] * _RARE <= tail[0] and rising * _RARE <= len(tail)


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


class Inspected:
    """A table as it stands in its file, before any plan is bound; private."""

    def __init__(
        self,
        frame: pl.DataFrame,
        notes: Sequence[str] = (),
        engine: Engine | str = AUTO,
        layout: InputLayout = USUAL,
    ) -> None:
        self._frame, self._engine, self._layout = frame, engine, layout
        self.notes = tuple(notes)
        """What was assumed in reading the file."""

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self._frame.height

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        return tuple(self._frame.columns)

    def profile(self) -> list[ColumnProfile]:
        """Types, missing and distinct values of every column, in one pass over each."""
        return [_profile(column) for column in self._frame]

    def details(self, column: str) -> ColumnDetails:
        """How the values of a column are written; see ``written``."""
        return _details_of(self._frame[column], _profile, self._layout)

    def distribution(self, column: str, most: int) -> ValueDistribution:
        """How the values of a column are spread; see ``distributions``."""
        return _distribution_of(self._frame[column], most)

    def first(self, rows: int) -> list[list[str | None]]:
        """The first rows, as texts; None where a value is missing."""
        texts = self._frame.head(rows).select(pl.all().cast(pl.String, strict=False))
        return [list(row) for row in texts.iter_rows()]

    def findings(self, plan: Plan) -> list[PlanDoubt]:
        """Where the columns that a plan publishes and what it says of them fit badly."""
        rows = self._rows
        return [found for name in plan.roles.published for found in misfits_of(rows, plan, name)]

    def identifiers_that_repeat(self, plan: Plan) -> dict[str, Occurrences]:
        """Columns under ``identifiers`` with a value in more than one row; see ``persons``."""
        counted = {n: count_repeats(self._frame[n], plan.missing) for n in plan.roles.identifiers}
        return {name: found for name, found in counted.items() if found.repeat}

    def doubts_of_units(self, plan: Plan) -> list[PlanDoubt]:
        """What publishing refuses or tells of the columns of persons and households."""
        rows = self._rows
        found = [
            PlanDoubt(name, key, doubt.told, doubt.refused, doubt.first)
            for key, name in plan.roles.named_units.items()
            for doubt in doubts_of_units(rows, name, key)  # type: ignore[arg-type]
        ]
        if any(one.refused for one in found):
            return found
        try:
            require_units(rows, plan)
        except TableError as error:
            key, _, told = str(error).partition("[roles] ")[2].partition(": ")
            found.append(PlanDoubt(plan.roles.named_units[key], key, told, refused=True))
        return found

    def published_as_ids(self, plan: Plan, roles: Sequence[str] = EXACT_ROLES) -> list[PlanDoubt]:
        """Columns of roles that are shown exactly which are recognised or look like ids."""
        found = []
        for one in telling_columns(self._rows, plan, self.columns, roles):
            there = self._frame[one.name].is_not_null()
            again = there & ~self._frame[one.name].is_first_distinct()
            row = int((again if again.any() else there).arg_max() or 0) + 1
            where = f", {'again' if again.any() else 'first'} in row {row}"
            refused = one.name not in plan.roles.keep_unique
            found.append(PlanDoubt(one.name, one.role, one.told + where, refused, row))
        return found

    @property
    def _rows(self) -> Rows:
        return engine_of(self._engine).of_native(self._frame).rows

    def kept_that_single_out(self, plan: Plan) -> dict[str, Occurrences]:
        """Columns under ``keep`` most of whose values stand once; see ``persons``."""
        dropping = [name for name in plan.roles.published if plan.nulls_of(name) == "drop"]
        rows = self._frame.drop_nulls(dropping) if dropping else self._frame
        counted = {name: count_occurrences(rows[name]) for name in plan.roles.keep}
        return {name: found for name, found in counted.items() if found.single_out}

    def units(self, plan: Plan) -> UnitsProfile | None:
        """The persons or households that a plan protects; None where each row is another one."""
        unit = plan.roles.unit
        if unit is None:
            return None
        rows = self._frame.group_by(with_missing(self._frame[unit], plan.missing)).len("\0rows")
        told = rows.filter(pl.col(unit).is_not_null())["\0rows"]
        most = told.max()
        return UnitsProfile(
            protected=plan.roles.protected,
            column=unit,
            units=len(told),
            once=int((told == 1).sum()),
            most_rows=most if isinstance(most, int) else 0,
        )

    def group_sizes(self, columns: Sequence[str], unit: str | None = None) -> NDArray[np.int64]:
        """Sizes of the groups of rows that agree in the columns; missing agrees with missing.

        Of the different values of a column of persons or households in them, where one is named.
        Raises ``PlanError`` for a column that the table does not have.
        """
        for name in columns:
            if name not in self._frame.columns:
                hint = nearest(name, self._frame.columns)
                msg = f"the table has no column {name!r}{hint}"
                raise PlanError(msg)
        size = pl.len() if unit is None else pl.col(unit).n_unique()
        sizes = self._frame.group_by(columns).agg(size.alias("\0rows"))["\0rows"]
        return sizes.cast(pl.Int64).to_numpy()

    def sample(self, columns: Sequence[str], weight: str, plan: Plan | None = None) -> SampleCounts:
        """The rows as a sample, by their values in some columns, with their weights.

        Raises ``PlanError`` for a column that the table does not have, ``TableError`` for weights
        that are no numbers above 0.
        """
        self.group_sizes([*columns, weight])
        marks = plan.missing if plan else ()
        weights = self._weights(weight)
        codes = []
        missing = []
        for name in columns:
            values = with_missing(self._frame[name], marks)
            codes.append(values.rank("dense").fill_null(0).cast(pl.Int64).to_numpy())
            missing.append(values.is_null().to_numpy())
        every, first, place = np.unique(
            np.stack(codes, axis=1), axis=0, return_index=True, return_inverse=True
        )
        place = place.reshape(-1)
        household = None
        if plan is not None and plan.roles.household is not None:
            of = with_missing(self._frame[plan.roles.household], marks)
            household = np.unique(of.cast(pl.String).fill_null(""), return_inverse=True)[1]
        return SampleCounts(
            tuple(columns),
            every,
            np.stack(missing, axis=1)[first],
            np.bincount(place, minlength=len(every)),
            np.bincount(place, weights, len(every)).astype(np.float64),
            place,
            household,
        )

    def _weights(self, column: str) -> NDArray[np.float64]:
        """Sampling weights, shape (n,); raises ``TableError``."""
        values = self._frame[column]
        numeric = values.dtype.is_numeric()
        numbers = values.cast(pl.Float64, strict=False) if numeric else values
        wrong = (
            ~(numbers.is_finite() & (numbers > 0)).fill_null(value=False)
            if numeric
            else pl.Series([True]).new_from_index(0, len(values))
        )
        if wrong.any():
            first = int(wrong.arg_max() or 0) + 1
            msg = (
                f"column {column!r}: a sampling weight is a number above 0, how many people a row "
                f"stands for, and {int(wrong.sum()):,} of {len(values):,} rows have none, first "
                f"row {first}; fill them in, or leave these rows out of the file"
            )
            raise TableError(msg)
        return numbers.to_numpy()

    @staticmethod
    def of_file(
        path: str | Place,
        missing: Sequence[str] = (),
        texts: Sequence[str] = (),
        engine: Engine | str = AUTO,
    ) -> Inspected:
        """Read a table to look at it; raises ``TableError`` where it cannot be read."""
        frame, notes = rows_in_memory(path, missing=missing, texts=texts, engine=engine)
        layout = path.layout if isinstance(path, LaidOut) else USUAL
        return Inspected(frame, notes, engine, layout)


def _profile(column: pl.Series) -> ColumnProfile:
    placeholder, count = None, 0
    occurrences = count_occurrences(column.drop_nulls())
    if column.dtype == pl.String:
        found = column.filter(column.is_in(MARKS)).value_counts(sort=True)
        if found.height:
            placeholder, count = found.row(0)
    return ColumnProfile(
        name=column.name,
        type=kind_of(column),
        missing=column.null_count(),
        distinct=occurrences.values,
        once=occurrences.once,
        placeholder=placeholder,
        placeholders=count,
    )
