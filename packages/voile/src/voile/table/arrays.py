"""Columns as arrays: Arrow, NumPy and Polars, and which type a column of text has.

A column of a batch may be a dictionary array.  What is computed for each of its values is computed
once for each dictionary: engines that encode columns give every batch the same one.

Arrow's own conversions from and to NumPy would import pandas, which takes longer than many a
release; these go by way of Polars, or of the memory itself.  Polars is given arrays by their
memory, too: where it sees pyarrow's own class, it loads ``pyarrow.compute``, which is a tenth of a
small publication.

Data frames of any kind come in, and the same kind goes out, through narwhals.  An index is not
data: it neither enters a table nor changes a result.

Types of columns
----------------
A CSV file says nothing about types, so they are inferred here, from every value of the column
and never from a sample.  The rule is that a column is a number, a date or a truth value only if
all its values are written the way a program writes them; one that is not leaves the column as
text, unchanged, and ``first_offending_row`` tells where it stands.

    type       a value is written as                                             becomes
    integer    0 or -?[1-9][0-9]*, within 64 bits                                Int64
    decimal    a number, or NaN or inf in any case; see below                    Float64
    boolean    true or false, in any case                                        Boolean
    date       YYYY-MM-DD, an existing day of the years 1000 to 9999             Date
    datetime   date, T or one space, HH:MM[:SS[.fraction]]; with an offset       Datetime
               (Z, +HH, +HHMM, +HH:MM) in all values or in none                  (UTC if offset)
    text       anything else                                                     String

What follows from "the way a program writes them":

* leading zeros and leading plus signs are text: ``00123`` is a zip code, ``+33612345678`` a
  telephone number, and as integers both would lose what they say;
* integers beyond 64 bits are text, because they are names of things far more often than
  amounts.  For the same reason a column with a decimal fraction elsewhere admits no integer of
  16 digits or more: Float64 could not tell it from its neighbours;
* a decimal becomes the nearest Float64.  Up to 15 significant digits the shortest text that
  reads back to that Float64 is the decimal itself, so exact arithmetic can recover it;
* a number too large for Float64 is text, never infinity;
* NaN and inf make numbers only beside at least one ordinary number.

Spaces around a value are ignored when a type is looked for, and an empty or blank value (as in
``""``) is missing in a column of any type but text, where it stays the empty text.  A column
without any value stays text.

Cost: a few vectorized passes over a column of n values for the type it has; types it does not
have are mostly ruled out by its first thousand values.

Columns of dates and times that are written in a format other than that of ISO 8601.

The format is the plan's, or the only usual one that every value fits
(``schema.hierarchy.ranges``). A text column becomes one of days, or of instants where the format
has a clock; one of whole numbers is read digit by digit (``20140513``); one of dates or times
stays as it is. A blank text is missing.

Cost: a pass over the column for the format, or one for each usual format.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, Literal, TypeAlias, TypeVar

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from voile.schema.hierarchy.ranges import (
    POSIX_FIRST_YEAR,
    USUAL_FORMATS,
    has_time,
    pattern_of,
    the_usual_ones,
)
from voile.schema.layout import InputLayout
from voile.schema.plan import ColumnFacts
from voile_base.errors import PlanError, TableError
from voile_base.ondemand import dataclass, on_demand

__all__ = [
    "Frame",
    "Kind",
    "PerValue",
    "Values",
    "array_of",
    "as_dates",
    "date_form",
    "date_type",
    "first_offending_row",
    "format_of",
    "forms_of",
    "frame_of",
    "from_native",
    "infer_decimal_comma",
    "infer_type",
    "kind_of",
    "kind_of_arrow",
    "kind_of_type",
    "kind_of_values",
    "logical_type",
    "may_hold_dates",
    "numbers_of",
    "of_type",
    "polars_type",
    "series_of",
    "text_values",
    "with_marks",
    "with_missing",
]

Kind = Literal[
    "binary",
    "boolean",
    "date",
    "datetime",
    "decimal",
    "duration",
    "empty",
    "integer",
    "nested",
    "text",
    "time",
]

_RULING_OUT = 1000  # leading values that may rule a type out before the whole column is read

_INTEGER = r"^(?:0|-?[1-9][0-9]*)$"
_DIGITS = r"^-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"
_NOT_FINITE = r"^(?i:nan|[+-]?inf(?:inity)?)$"
_NUMBER = f"{_DIGITS}|{_NOT_FINITE}"
_LONG_INTEGER = r"^-?[0-9]{16,}$"  # Float64 may not tell these apart
_DECIMAL_COMMA = r"^-?(?:0|[1-9][0-9]*)(?:,[0-9]+)?$"
_THOUSANDS = r"^-?[1-9][0-9]{0,2},[0-9]{3}$"
_BOOLEAN = r"^(?i:true|false)$"
_WORDS = ("nan", "inf", "infinity", "true", "false")
_DATE = r"^[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}$"
_CLOCK = r"[0-9]{2}:[0-9]{2}(?::[0-5][0-9](?:\.[0-9]{1,9})?)?"
_NO_SECONDS = r"^([0-9-]{10} [0-9]{2}:[0-9]{2})($|[+-])"
_OFFSET = r"(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?)"
_LOCAL_TIME = rf"^[1-9][0-9]{{3}}-[0-9]{{2}}-[0-9]{{2}}[T ]{_CLOCK}$"
_OFFSET_TIME = rf"^[1-9][0-9]{{3}}-[0-9]{{2}}-[0-9]{{2}}[T ]{_CLOCK}{_OFFSET}$"


@dataclass(frozen=True)
class _Form:
    """One way of writing values: a necessary pattern, and a parser with null for all others."""

    kind: Kind
    pattern: str
    parse: Callable[[pl.Series], pl.Series]

    def admits(self, leading: pl.Series) -> bool:
        """Whether the pattern does not rule out the form; nulls rule out nothing."""
        return leading.drop_nulls().str.contains(self.pattern).all()

    def offends(self, values: pl.Series) -> pl.Series:
        """Which values are there and are not written in this form: Boolean, one per value."""
        return values.is_not_null() & self.parse(values).is_null()

    def read(self, values: pl.Series) -> pl.Series:
        """The values parsed, without spaces around them; null for those of another form."""
        return self.parse(_trimmed(values))

    def misses(self, values: pl.Series) -> pl.Series:
        """As ``offends``, of values that may have spaces around them."""
        return self.offends(_trimmed(values))


def forms_of(*kinds: Kind) -> list[_Form]:
    """The ways of writing values of some kinds, in the order in which they are tried."""
    return [form for form in _FORMS if form.kind in kinds]


def kind_of(series: pl.Series) -> Kind:
    """What a column holds, in words for people; see ``kind_of_type``."""
    return kind_of_type(series.dtype)


def kind_of_type(dtype: pl.DataType) -> Kind:
    """What a column of this Polars type holds, in words for people.

    ``decimal`` stands for binary floating point and for decimals of fixed scale, ``nested`` for
    lists, arrays, structs and objects, ``empty`` for the type of a column that can hold nulls only.
    """
    if dtype.is_integer():
        return "integer"
    if dtype.is_numeric():
        return "decimal"
    if isinstance(dtype, (pl.String, pl.Categorical, pl.Enum)):
        return "text"
    simple: dict[type[pl.DataType], Kind] = {
        pl.Boolean: "boolean",
        pl.Date: "date",
        pl.Datetime: "datetime",
        pl.Time: "time",
        pl.Duration: "duration",
        pl.Binary: "binary",
        pl.Null: "empty",
    }
    return simple.get(type(dtype), "nested")


def with_missing(series: pl.Series, missing: Sequence[str]) -> pl.Series:
    """The series with null for every text that equals one of ``missing``; other types as given."""
    if not missing or kind_of(series) != "text":
        return series
    # By a name of our own: Polars takes some names for patterns.
    value = pl.col("value")
    there = ~value.cast(pl.String).is_in(list(missing))
    frame = series.alias("value").to_frame().select(pl.when(there).then(value))
    return frame.to_series().alias(series.name)


def infer_type(series: pl.Series) -> pl.Series:
    """A String series as the type that all its values have, or the same series if that is text.

    Nulls stay null.  The module's docstring says which values have which type.
    """
    leading = _trimmed(series.head(_RULING_OUT))
    first = leading.first(ignore_nulls=True)
    if isinstance(first, str) and first[:1].isalpha() and first.casefold() not in _WORDS:
        return series
    asked = {form.pattern: pl.first().str.contains(form.pattern).all() for form in _FORMS}
    admits = leading.drop_nulls().to_frame().select(**asked).row(0)  # at once: few rows, few calls
    values = _trimmed(series) if any(admits) else series
    for form in (one for one, admitted in zip(_FORMS, admits, strict=True) if admitted):
        parsed = _parsed(values, form)
        if parsed is not None:
            return parsed
    return series


def infer_decimal_comma(series: pl.Series) -> pl.Series | None:
    """A String series of numbers with decimal commas as Float64; None if it is not one.

    A column in which every comma could as well separate thousands (``1,234``) is not one: it
    reads as two different numbers, and text is the only safe answer.  Nor is a column that has
    thousands separators beside its decimal commas.
    """
    values = _trimmed(series)
    with_comma = values.filter(values.str.contains(",", literal=True))
    if with_comma.str.contains(_THOUSANDS).all():  # true as well if there is no comma at all
        return None
    return _parsed(values, _COMMA_FORM)


def with_marks(series: pl.Series, layout: InputLayout) -> pl.Series:
    """A column of texts that are numbers with the marks of a layout, as numbers; others as given.

    Beside decimal commas a point that may part thousands is none; a unit of all texts is taken off.
    """
    if series.dtype != pl.String or not (layout.decimal or layout.thousands or layout.units):
        return series
    bare = _without_unit(series, layout.units)
    if bare is series and not (layout.decimal or layout.thousands):
        return series
    usual = "," if layout.thousands == "." else "."
    point, group = re.escape(layout.decimal or usual), re.escape(layout.thousands or "")
    if layout.thousands == " ":
        group = "[ \u00a0\u202f]"
    elif layout.thousands == "'":
        group = "['\u2019]"
    lakhs = f"[0-9]{{1,2}}(?:{group}[0-9]{{2}})+{group}[0-9]{{3}}|" if group == "," else ""
    whole = f"[0-9]{{1,3}}(?:{group}[0-9]{{3}})+|{lakhs}[0-9]+" if group else "[0-9]+"
    values = _trimmed(bare)
    if (
        not values.count()
        or not values.drop_nulls().str.contains(rf"^[+-]?(?:{whole})(?:{point}[0-9]+)?$").all()
    ):
        return _with_points(series) if point == "," and bare is series else series
    if group and values.str.contains(group).any() and not values.str.contains(point).any():
        digits = values.drop_nulls().str.count_matches("[0-9]")
        alike = digits.min() == digits.max() and digits.n_unique() < values.n_unique()
        if alike and 2 * values.str.ends_with("00").sum() <= values.count():
            return series  # as long in each row, few round: numbers of something, as telephones
    plain = values.str.replace_all(group, "") if group else values
    typed = infer_type(plain.str.strip_prefix("+").str.replace(point, "."))
    return typed if typed.dtype.is_numeric() else series


def _with_points(series: pl.Series) -> pl.Series:
    """A column of texts as numbers with decimal points, where none of these may part thousands."""
    typed = infer_type(series)
    parted = series.str.contains(r"\.[0-9]{3}$").any()
    return typed if typed.dtype.is_float() and not parted else series


def _without_unit(series: pl.Series, units: Sequence[str]) -> pl.Series:
    """A column of texts without the unit that stands in each of them; as given without one."""
    values = _trimmed(series)
    there = values.drop_nulls()
    for unit in units if len(there) else ():
        mark = re.escape(unit)
        beside = rf"^[+-]?\s*{mark}\s*[+-]?[0-9]|[0-9]\s*{mark}$"
        if there.str.contains(beside).all():
            return values.str.replace(unit, "", literal=True).str.strip_chars()
    return series


def first_offending_row(series: pl.Series, wanted: Kind = "decimal") -> int | None:
    """The 1-based row of the first value that is not of the wanted kind; None if there is none.

    ``decimal`` wants any number: integers are decimals too.  In a text column the values are read
    as ``infer_type`` reads them, so that this row is the reason why the column is text; in a
    column of another kind either all values are of the wanted kind or none is.  Nulls never
    offend.
    """
    held = kind_of(series)
    if held == wanted or (wanted, held) == ("decimal", "integer"):
        return None
    forms = [form for form in _FORMS if form.kind == wanted]
    if held != "text" or not forms:
        return _first_true(series.is_not_null())
    values = _trimmed(series.cast(pl.String))
    # Of two ways to write the kind, the values are meant in the one that lasts longer.
    rows = (_first_true(form.offends(values)) for form in forms)
    return max(rows, key=lambda row: float("inf") if row is None else row)


def _first_true(mask: pl.Series) -> int | None:
    position = mask.arg_max() if mask.any() else None
    return None if position is None else position + 1


def _trimmed(series: pl.Series) -> pl.Series:
    """The values without spaces around them, and null for blank ones."""
    if not series.str.contains(r"^\s|\s$|^$").any():
        return series
    trimmed = pl.col(series.name).str.strip_chars()
    return series.to_frame().select(pl.when(trimmed != "").then(trimmed)).to_series()


def _parsed(values: pl.Series, form: _Form) -> pl.Series | None:
    """All values parsed, or None if one is not of this form or if there is none to judge by."""
    parsed = form.parse(values)
    if parsed.null_count() != values.null_count() or parsed.null_count() == len(parsed):
        return None
    if form.kind == "decimal" and not parsed.is_finite().any():
        return None
    return parsed


def _matching(values: pl.Series, pattern: str) -> pl.Series:
    """The values that match the pattern, null for the others."""
    matches = values.str.contains(pattern)
    if matches.all():
        return values
    return pl.select(pl.when(matches).then(values).alias(values.name)).to_series()


def _parse_integer(values: pl.Series) -> pl.Series:
    return _matching(values, _INTEGER).cast(pl.Int64, strict=False)


def _parse_decimal(values: pl.Series) -> pl.Series:
    texts = _matching(values, _NUMBER)
    numbers = texts.cast(pl.Float64, strict=False)
    if numbers.is_finite().all() and not texts.str.contains(_LONG_INTEGER).any():
        return numbers
    spelled = texts.str.contains(_NOT_FINITE)
    exact = ~texts.str.contains(_LONG_INTEGER)
    kept = pl.when(spelled | (numbers.is_finite() & exact)).then(numbers)
    return pl.select(kept.alias(values.name)).to_series()


def _parse_decimal_comma(values: pl.Series) -> pl.Series:
    points = _matching(values, _DECIMAL_COMMA).str.replace(",", ".", literal=True)
    return _parse_decimal(points)


def _parse_boolean(values: pl.Series) -> pl.Series:
    return _matching(values, _BOOLEAN).str.to_lowercase() == "true"


def _parse_date(values: pl.Series) -> pl.Series:
    return _matching(values, _DATE).str.to_date("%Y-%m-%d", strict=False)


def _parse_local_time(values: pl.Series) -> pl.Series:
    return _parse_clock(_matching(values, _LOCAL_TIME), offset="")


def _parse_offset_time(values: pl.Series) -> pl.Series:
    times = _matching(values, _OFFSET_TIME)
    times = times.str.replace(r"Z$", "+0000").str.replace(r"([+-][0-9]{2})$", "${1}00")
    return _parse_clock(times, offset="%z")


def _parse_clock(times: pl.Series, offset: str) -> pl.Series:
    """Instants from texts that are known to match a pattern; null where no such instant exists."""
    times = times.str.replace("T", " ", literal=True)
    if times.str.contains(_NO_SECONDS).any():
        times = times.str.replace(_NO_SECONDS, "${1}:00${2}")
    fraction = "%.f" if times.str.contains(".", literal=True).any() else ""
    finer_than_micro = bool(fraction) and times.str.contains(r"\.[0-9]{7}").any()
    return times.str.to_datetime(
        f"%Y-%m-%d %H:%M:%S{fraction}{offset}",
        strict=False,
        time_unit="ns" if finer_than_micro else "us",
        time_zone="UTC" if offset else None,
    )


_FORMS = (
    _Form("integer", _INTEGER, _parse_integer),
    _Form("decimal", _NUMBER, _parse_decimal),
    _Form("boolean", _BOOLEAN, _parse_boolean),
    _Form("date", _DATE, _parse_date),
    _Form("datetime", _LOCAL_TIME, _parse_local_time),
    _Form("datetime", _OFFSET_TIME, _parse_offset_time),
)
_COMMA_FORM = _Form("decimal", _DECIMAL_COMMA, _parse_decimal_comma)


def may_hold_dates(dtype: pl.DataType) -> bool:
    """Whether dates may be written in a column of this type."""
    return dtype == pl.String or dtype.is_integer()


def date_form(date_format: str) -> _Form:
    """Dates of a format as a way of writing values."""
    return _Form(
        "datetime" if has_time(date_format) else "date",
        pattern_of(date_format),
        lambda texts: _dates_parsed(texts, date_format),
    )


def date_type(date_format: str) -> pl.DataType:
    """The type of a column of dates that were written in a format."""
    if not has_time(date_format):
        return pl.Date()
    return pl.Datetime("us", "UTC" if "%z" in date_format else None)


def as_dates(values: pl.Series, declared: ColumnFacts) -> pl.Series:
    """The dates of a column that its plan takes for one of dates; others as they are.

    Raises ``PlanError`` and ``TableError`` as ``format_of`` does.
    """
    if not declared.dated or not may_hold_dates(values.dtype):
        return values
    texts = values.cast(pl.String)

    def misses(date_format: str) -> tuple[int, int | None]:
        wrong = date_form(date_format).misses(texts)
        first = wrong.arg_max() if wrong.any() else None
        return int(wrong.sum()), None if first is None else first + 1

    return date_form(format_of(values.name, declared, misses)).read(texts)


Misses = Callable[[str], tuple[int, int | None]]
"""How many values do not fit a format, and the row of the first of them, from 1."""


def format_of(column: str, declared: ColumnFacts, misses: Misses) -> str:
    """The format in which all values of a column are written: the declared, or a usual one.

    Raises ``TableError`` where a value does not fit it, or fits none of the usual ones;
    ``PlanError`` where nothing is declared and two usual formats fit.
    """
    if declared.format is None:
        return _the_only_usual(column, misses)
    wrong, first = misses(declared.format)
    if not wrong:
        return declared.format
    others = [usual for usual in USUAL_FORMATS if not misses(usual)[0]]
    hint = f"; all of them fit {_either(others)}" if others else ""
    msg = (
        f'column {column!r}: {wrong:,} values do not fit the format "{declared.format}" of the '
        f"plan, first in row {first}{hint}; mend the format or the rows, or name the text in "
        "`missing` if it stands for a missing value"
    )
    raise TableError(msg)


def _the_only_usual(column: str, misses: Misses) -> str:
    fits, furthest = [], 0
    for usual in USUAL_FORMATS:
        wrong, first = misses(usual)
        if not wrong:
            fits.append(usual)
        else:
            furthest = max(furthest, first or 0)
    if not fits:
        msg = (
            f"column {column!r}: the plan says that it holds dates, and row {furthest} is none in "
            f"any usual format that the rows before it have; declare the format, such as "
            f"{the_usual_ones()}, or name the text in `missing`"
        )
        raise TableError(msg)
    if len(fits) > 1:
        msg = (
            f"column {column!r}: its dates fit {_either(fits)}, and mean different days in each; "
            f'declare the one that is meant, such as format = "{fits[0]}"'
        )
        raise PlanError(msg)
    return fits[0]


def _either(formats: list[str]) -> str:
    return " and ".join(f'"{each}"' for each in formats)


def _dates_parsed(texts: pl.Series, date_format: str) -> pl.Series:
    """The dates; null for texts of another form."""
    texts = _matching(texts, pattern_of(date_format))
    if not has_time(date_format):
        return _in_window(texts.str.to_date(date_format, strict=False), date_format)
    zone = "UTC" if "%z" in date_format else None
    times = texts.str.to_datetime(date_format, strict=False, time_unit="us", time_zone=zone)
    return _in_window(times, date_format)


def _in_window(dates: pl.Series, date_format: str) -> pl.Series:
    """Dates whose years have two digits, from 1969 to 2068; Polars reads 69 as 2069."""
    if "%y" not in date_format:
        return dates
    later = dates.dt.year() == POSIX_FIRST_YEAR + 100
    return dates.zip_with(~later.fill_null(value=False), dates.dt.offset_by("-100y"))


nw = on_demand("narwhals")


_TYPES = {"b1": pa.bool_()} | {
    f"{kind}{width // 8}": getattr(pa, f"{name}{width}")()
    for kind, name in (("i", "int"), ("u", "uint"), ("f", "float"))
    for width in (8, 16, 32, 64)
    if (kind, width) != ("f", 8)
}
"""Arrow's types by NumPy's names."""

Frame: TypeAlias = pl.DataFrame
"""Rows in memory, as adversaries and measures get them; whoever only passes them on names this."""

Values: TypeAlias = pl.Series
"""A column of such rows."""

Made = TypeVar("Made", bound=NDArray[Any])


class _Memory:
    """An array, or one in chunks, by Arrow's interface of memory alone."""

    def __init__(self, array: pa.Array | pa.ChunkedArray) -> None:
        whole = isinstance(array, pa.ChunkedArray)
        self._chunks = array if whole else pa.chunked_array([array], array.type)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._chunks.__arrow_c_stream__(requested_schema)


class PerValue(Generic[Made]):
    """A function of values that is asked once for each value of a dictionary."""

    def __init__(self, function: Callable[[pl.Series], Made]) -> None:
        self._function = function
        self._asked: tuple[pa.Array, Made] | None = None

    def __call__(self, array: pa.Array) -> Made:
        """What it gives for each row."""
        if not isinstance(array, pa.DictionaryArray):
            return self._function(series_of(array))
        known = self._asked  # read once: several threads may ask
        if known is None or not _same(known[0], array.dictionary):
            known = array.dictionary, self._function(series_of(array.dictionary))
            self._asked = known
        return np.take(known[1], _indices(array), axis=0)  # type: ignore[return-value]


def series_of(array: pa.Array | pa.ChunkedArray | NDArray[Any], name: str = "") -> pl.Series:
    """The values of an array, those of a dictionary array in full; loads no masked arrays."""
    array = array_of(array) if isinstance(array, np.ndarray) else array
    if isinstance(array, pa.DictionaryArray):  # Arrow itself decodes no views of texts
        return series_of(array.dictionary, name).gather(series_of(array.indices))
    return pl.Series(_Memory(array)).rechunk().alias(name)


def frame_of(columns: pa.Table | Mapping[str, object] | Iterable[Values]) -> Frame:
    """Columns that are equally long, by their names."""
    return pl.DataFrame(columns if isinstance(columns, pa.Table | Mapping) else list(columns))


def text_values(texts: Iterable[str | None]) -> Values:
    """A column of texts, also where all of them are missing."""
    return pl.Series(list(texts), dtype=pl.String)


def numbers_of(array: pa.Array) -> NDArray[Any]:
    """The numbers of an array without missing values."""
    if isinstance(array, pa.DictionaryArray):
        return np.take(series_of(array.dictionary).to_numpy(), _indices(array))
    return series_of(array).to_numpy()


def array_of(numbers: NDArray[np.generic]) -> pa.Array:
    """Numbers or truth values as an array; numbers are not copied."""
    held, dtype = np.ascontiguousarray(numbers), _TYPES[numbers.dtype.str[1:]]
    if pa.types.is_boolean(dtype):
        held = np.packbits(held.view("u1"), bitorder="little")
    return pa.Array.from_buffers(dtype, len(numbers), [None, pa.py_buffer(held)])


def polars_type(dtype: pa.DataType) -> pl.DataType:
    """The type that Polars has for values of an Arrow type."""
    return series_of(pa.nulls(0, dtype)).dtype


def kind_of_arrow(dtype: pa.DataType) -> str:
    """What a column of this type holds, in words for people; see ``kind_of_type``."""
    return kind_of_type(polars_type(dtype))


def logical_type(dtype: pa.DataType) -> pa.DataType:
    """The type that the kernel has for values of an Arrow type: as Polars names it, texts plain."""
    kind = polars_type(dtype)
    if kind in (pl.Categorical, pl.Enum, pl.String):
        return pa.large_string()
    return pl.Series(dtype=kind).to_arrow().type


def kind_of_values(series: pl.Series) -> pa.DataType:
    """The type that the kernel has for the values of a series."""
    if series.dtype in (pl.Categorical, pl.Enum, pl.String):
        return pa.large_string()
    return series.head(0).to_arrow().type


def of_type(array: pa.Array, dtype: pa.DataType) -> pa.Array:
    """The values of an array, those of a dictionary array in full, as exactly this type."""
    if isinstance(array, pa.DictionaryArray):
        array = series_of(array).to_arrow()
    return array if array.type == dtype else array.cast(dtype)


def _indices(array: pa.DictionaryArray) -> NDArray[Any]:
    return series_of(array.indices).to_numpy()


def _same(one: pa.Array, other: pa.Array) -> bool:
    """Whether two arrays are the same memory; equal ones elsewhere are not."""
    if one is other:
        return True
    return (
        len(one) == len(other)
        and one.offset == other.offset
        and [b and b.address for b in one.buffers()] == [b and b.address for b in other.buffers()]
    )


def from_native(frame: object) -> tuple[pl.DataFrame, Callable[[pl.DataFrame], Any]]:
    """The rows of a data frame in Polars, and the way back to a frame of the same kind.

    Raises ``TableError`` where the object is no data frame, has two columns of one name, or has
    a column whose values are of mixed types.
    """
    if isinstance(frame, pl.LazyFrame):
        frame = frame.collect()
    try:
        wrapped = nw.from_native(frame, eager_only=True)
        rows = wrapped.to_polars()
    except nw.exceptions.DuplicateError:
        msg = "the data frame has two columns of one name; rename one of them"
        raise TableError(msg) from None
    except TypeError:
        msg = (
            f"a table cannot be made from {type(frame).__name__}; pass a data frame of Polars, "
            "pandas or Arrow"
        )
        raise TableError(msg) from None
    except MemoryError:
        raise
    except Exception as error:  # conversion errors of the frame's own library quote its values
        msg = (
            f"the data frame cannot be converted ({type(error).__name__}); a column with values "
            "of mixed types is the usual cause: give each column one type"
        )
        raise TableError(msg) from None
    return rows, _way_back(wrapped.implementation)


def _way_back(implementation: Any) -> Callable[[pl.DataFrame], Any]:
    def convert(published: pl.DataFrame) -> Any:
        if implementation.is_polars():
            return published
        if implementation.is_pandas():
            return published.to_pandas()
        if implementation.is_pyarrow():
            return published.to_arrow()
        backend: Any = implementation
        return nw.from_arrow(published.to_arrow(), backend=backend).to_native()

    return convert
