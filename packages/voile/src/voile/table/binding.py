"""Binding a plan to rows: what these must satisfy before any method sees them.

Types are set as the plan says, missing values are treated as declared, values outside public bounds
are refused or clamped.
Only columns that the plan names stay; the others never reach a method.  Row numbers in messages
count the rows of the input, from 1.

Values of columns as exact numbers and plain texts, and what a numeric column must satisfy.

Where a plan and a table fit badly, column by column, for the custodian; private.  Binding stops at
the first thing that is wrong; there every column is bound alone, so that all is said at once.  A
**refusal** is what publishing would stop at; a **doubt** is what it would let pass: bounds that cut
off values, rows that are left out.  Rows are those of the file, from 1.  No value is told but the
first that a hierarchy file misses, which nobody could add without knowing it.  Cost: a few passes
over each column that the plan publishes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from voile.schema.hierarchy.generalized import DistinctValues
from voile.schema.hierarchy.taxonomy import CodeList, Taxonomy
from voile.schema.numbers import ExactNumbers, unscaled
from voile.schema.plan import ColumnPlan, Plan
from voile.schema.roles import Roles
from voile.table.arrays import (
    array_of,
    date_form,
    date_type,
    format_of,
    kind_of,
    kind_of_type,
    may_hold_dates,
    polars_type,
    series_of,
)
from voile.table.protocol import Counted, Rows, Tally
from voile_base.errors import PlanError, TableError, nearest
from voile_base.ondemand import dataclass
from voile_base.values.expressions import Call, Column, both, is_missing, negated

__all__ = [
    "UNPUBLISHABLE",
    "BoundTable",
    "PlanDoubt",
    "clamped",
    "coded_series",
    "dated",
    "distinct_values",
    "exact_numbers",
    "flagged",
    "limits_of",
    "mapped",
    "misfits_of",
    "number_series",
    "require_finite",
    "require_finite_numbers",
    "texts_of_distinct",
]


UNPUBLISHABLE = (pl.Binary, pl.Object, pl.Int128)
"""Types without a published form; neither have nested ones."""

_CALENDAR = (pl.Date, pl.Datetime, pl.Time)

_RESERVED = "\1"
"""What the names of columns begin with that are made on the way; nobody else has such."""
_FLAG = f"{_RESERVED}flag"
"""No file has a column whose name begins so."""
_AT_A_TIME = 1 << 16
"""Values that are made texts at a time."""
_MOST_WEIGHT = 2**53
"""More people than a row can stand for; beyond it numbers are not exact."""


@dataclass(frozen=True, eq=False)
class BoundTable:
    """The rows of a table as its plan declares them."""

    rows: Rows
    dropped: int
    """Rows left out because a value is missing and the plan says ``nulls = "drop"``."""
    notes: tuple[str, ...] = ()
    """What the plan let happen to values, for the custodian."""

    @staticmethod
    def bind(
        source: Rows, plan: Plan, names: Sequence[str] | None = None, extra: Sequence[str] = ()
    ) -> BoundTable:
        """Bind a plan to the rows of a table.

        ``names`` are those of all columns of the table, also of such as were not read (None: all
        were). ``extra`` names columns without a published role that the method needs, such as a
        record key. Raises ``PlanError`` where the plan and the columns disagree, ``TableError``
        where the rows break what the plan declares.
        """
        names = source.schema.names if names is None else names
        plan.bind(names)
        used = [*plan.used, *(name for name in extra if name not in plan.used)]
        if not set(used) - set(plan.roles.named_units.values()):
            msg = "[roles] names no column to publish"
            raise PlanError(msg)
        for name in extra:
            if name not in names:
                hint = nearest(name, names)
                msg = f"record_key names the column {name!r}, which the table does not have{hint}"
                raise PlanError(msg)
        rows = source.select(used)
        _refuse_unpublishable(rows)
        rows = rows.read()
        if rows.height == 0:
            msg = "the table has no rows; there is nothing to publish"
            raise TableError(msg)
        notes = []
        for name in used:
            rows, note = _typed(rows, name, plan)
            notes += [note] if note else []
        for name in used:
            rows, note = _within_bounds(rows, name, plan.column(name))
            notes += [note] if note else []
        if plan.roles.weight in used:
            _require_weights(rows, plan.roles.weight)
        kept = _kept_rows(rows, plan)
        return BoundTable(kept, rows.height - kept.height, tuple(notes))


def mapped(
    rows: Rows,
    name: str,
    function: Callable[[pl.Series], pl.Series],
    dtype: pl.DataType,
    made: str | None = None,
) -> Rows:
    """Rows with a column that is a function of its values, or with another one that is."""
    gives = pa.schema([pa.field(made or name, pl.Series(dtype=dtype).to_arrow().type)])
    return rows.map(lambda batch: [function(series_of(batch[0])).to_arrow()], [name], gives)


def flagged(rows: Rows, name: str, flag: Callable[[pl.Series], pl.Series]) -> Tally:
    """How many rows have a value that a function flags, and which is the first."""
    gives = pa.schema([pa.field(_FLAG, pa.bool_())])
    marked = rows.map(lambda batch: [flag(series_of(batch[0])).to_arrow()], [name], gives)
    return marked.tally(Column(_FLAG))


def _type(rows: Rows, name: str) -> pl.DataType:
    return polars_type(rows.schema.field(name).type)


def _refuse_unpublishable(rows: Rows) -> None:
    for name in rows.schema.names:
        dtype = _type(rows, name)
        if name.startswith(_RESERVED):
            msg = f"column {name!r}: names that begin with this character are not taken; rename it"
            raise TableError(msg)
        if dtype.is_nested() or dtype in UNPUBLISHABLE:
            msg = (
                f"column {name!r} holds values of type {dtype.base_type().__name__}; turn them "
                "into numbers, texts, truth values, dates or times, or leave the column out"
            )
            raise TableError(msg)


def _typed(rows: Rows, name: str, plan: Plan) -> tuple[Rows, str | None]:
    """Rows with a column in its declared type, the declared texts missing in it, and a note."""
    declared, missing = plan.column(name), list(plan.missing)
    if missing and _type(rows, name) == pl.String:
        rows = mapped(rows, name, lambda texts: texts.replace(missing, None), pl.String())
    if declared.dated:
        return dated(rows, name, declared)
    dtype = _type(rows, name)
    if declared.reads_as == "text" and dtype != pl.String:
        return mapped(rows, name, lambda values: values.cast(pl.String), pl.String()), None
    if declared.reads_as == "number" and not dtype.is_numeric():
        wrong = flagged(rows, name, lambda v: _as_number(v).is_null() & v.is_not_null())
        if wrong.rows:
            said = "type" if declared.type else "kind"
            msg = (
                f"column {name!r}: row {wrong.first} is not a number, and the plan says "
                f'{said} = "number"; mend the row, or name the text in `missing`'
            )
            raise TableError(msg)
        return mapped(rows, name, _as_number, pl.Float64()), None
    return rows, None


def dated(rows: Rows, name: str, declared: ColumnPlan) -> tuple[Rows, str | None]:
    """Rows with a column of dates that are read as the plan says, and a note.

    Raises ``PlanError`` and ``TableError`` where the format is not clear, or a value has another.
    """
    dtype = _type(rows, name)
    if dtype in _CALENDAR:
        return rows, None
    if not may_hold_dates(dtype):
        msg = (
            f"column {name!r} holds values of kind {kind_of_type(dtype)!r}, and the plan says that "
            "they are dates; mend the plan, or leave the column out"
        )
        raise TableError(msg)

    def misses(date_format: str) -> tuple[int, int | None]:
        form = date_form(date_format)
        wrong = flagged(rows, name, lambda values: form.misses(values.cast(pl.String)))
        return wrong.rows, wrong.first

    found = format_of(name, declared, misses)
    form = date_form(found)
    read = mapped(rows, name, lambda values: form.read(values.cast(pl.String)), date_type(found))
    if declared.format:
        return read, None
    return read, f'column {name!r}: its dates were read in the format "{found}", which all fit'


def _as_number(values: pl.Series) -> pl.Series:
    return values.cast(pl.Float64, strict=False)


def _kept_rows(rows: Rows, plan: Plan) -> Rows:
    """The rows that stay; raises ``TableError`` for missing values.

    What tells persons apart is held to a rule of its own (``persons.require_units``).
    """
    dropped = []
    units = plan.roles.named_units.values()
    for name in (each for each in rows.schema.names if each not in units):
        missing = rows.tally(is_missing(name))
        if not missing.rows:
            continue
        policy = plan.nulls_of(name)
        if policy == "refuse":
            msg = (
                f"column {name!r} misses its value in {missing.rows:,} of {rows.height:,} rows, "
                f"first in row {missing.first}; fill them in, or declare in the plan "
                'nulls = "category" (missing is a value of its own) or nulls = "drop" (these rows '
                "are left out)"
            )
            raise TableError(msg)
        if policy == "drop":
            dropped.append(negated(is_missing(name)))
    if not dropped:
        return rows
    kept = rows.filter(both(*dropped))
    if not kept.height:
        msg = 'nulls = "drop" leaves no row: each misses a value in one of the columns'
        raise TableError(msg)
    return kept


def _within_bounds(rows: Rows, name: str, declared: ColumnPlan) -> tuple[Rows, str | None]:
    """Rows with values outside a column's public bounds refused or clamped, and a note of that.

    A clamped value becomes the nearest one within that the column's type can hold: a whole number
    stays one.
    """
    if declared.bounds is None:
        return rows, None
    dtype = _type(rows, name)
    if not dtype.is_numeric():
        msg = (
            f"column {name!r} has bounds in the plan but does not hold numbers; leave bounds out, "
            'and for days say dates = ["year", "decade"] instead'
        )
        raise TableError(msg)
    limits = limits_of(dtype, declared.bounds)
    outside = flagged(rows, name, lambda values: _outside(values, limits))
    if not outside.rows:
        return rows, None
    low, high = declared.bounds
    found = (
        f"column {name!r}: {outside.rows:,} values lie outside the public bounds [{low}, {high}] "
        f"of the plan, first in row {outside.first}; "
    )
    if declared.outside == "clamp" and limits:
        clamped = mapped(rows, name, lambda values: values.clip(*limits), dtype)
        if not flagged(clamped, name, lambda v: _outside(v, limits)).rows:
            return clamped, f"{found}the nearest value within took their place"
    msg = (
        f"{found}mend the rows, or the bounds if they are not what is publicly known, or declare "
        'outside = "clamp" (the nearest value within takes their place; NaN has none)'
    )
    raise TableError(msg)


def clamped(frame: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    """A frame whose numbers are moved into the bounds that a plan clamps them to."""
    moved = {}
    for name, declared in plan.columns.items():
        if declared.outside != "clamp" or declared.bounds is None or name not in frame.columns:
            continue
        values = frame[name]
        if values.dtype.is_numeric() and (limits := limits_of(values.dtype, declared.bounds)):
            moved[name] = values.clip(*limits)
    return frame.with_columns(**moved)


def _require_weights(rows: Rows, name: str) -> None:
    """Raise ``TableError`` where sampling weights are no finite numbers above 0, or are texts."""
    numeric = _type(rows, name).is_numeric()
    wrong = flagged(rows, name, _no_weight if numeric else pl.Series.is_not_null)
    if wrong.rows:
        msg = (
            f"column {name!r}: a sampling weight is a number above 0, how many people a row stands "
            f"for, and {wrong.rows:,} values are none, first in row {wrong.first}; mend these "
            "rows, leave them out of the file, or take the column out of [roles] weight"
        )
        raise TableError(msg)


def _no_weight(values: pl.Series) -> pl.Series:
    return values.is_not_null() & ~((values > 0) & (values < _MOST_WEIGHT))


def _outside(values: pl.Series, limits: tuple[Any, Any] | None) -> pl.Series:
    there = values.is_not_null()
    return there & ~values.is_between(*limits) if limits else there


def limits_of(dtype: pl.DataType, bounds: tuple[Decimal, Decimal]) -> tuple[Any, Any] | None:
    """The least and the greatest number of a type within the bounds; None if there is none."""
    low, high = bounds
    if dtype.is_float():
        of_type = np.float32 if dtype == pl.Float32 else np.float64
        least, greatest = _least_float(low, of_type), -_least_float(-high, of_type)
        return (least, greatest) if least <= greatest else None
    scale = dtype.scale if isinstance(dtype, pl.Decimal) else 0
    lowest, highest = _range(dtype)
    first = max(ceil(Fraction(low) * 10**scale), lowest)
    last = min(floor(Fraction(high) * 10**scale), highest)
    if first > last:
        return None
    return (unscaled(first, scale), unscaled(last, scale)) if scale else (first, last)


def _range(dtype: pl.DataType) -> tuple[int, int]:
    """The least and the greatest number of a type, in units of its last decimal place."""
    if isinstance(dtype, pl.Decimal):
        largest = 10**dtype.precision - 1
        return -largest, largest
    held = np.iinfo(pl.Series(dtype=dtype).to_numpy().dtype)
    return int(held.min), int(held.max)


def _least_float(low: Decimal, of_type: type[np.floating[Any]]) -> float:
    """The least float whose shortest decimal, which is what it stands for, is at least ``low``."""
    with np.errstate(over="ignore"):
        number = np.nextafter(of_type(low), of_type(-np.inf))
        while Decimal(str(number)) < low:
            number = np.nextafter(number, of_type(np.inf))
    return float(number)


def _broad_kind(column: pl.Series) -> str:
    """Kind of a column's values, the same for integers and decimals; see ``kind_of``."""
    return "number" if column.dtype.is_numeric() else kind_of(column)


def exact_numbers(values: pl.Series) -> ExactNumbers:
    """The exact numbers of a numeric series without missing values."""
    if values.dtype.is_decimal():
        return ExactNumbers.of(values.to_list())
    if values.dtype == pl.Float32:  # its shortest decimal is not that of the same Float64
        return ExactNumbers.of(values.cast(pl.String).to_list())
    return ExactNumbers.of(values.to_numpy())


def distinct_values(values: pl.Series) -> DistinctValues:
    """The distinct values of a column, ascending and missing first, as the schema knows them.

    Numbers must be finite.
    """
    present = values.drop_nulls()
    numbers = None
    if values.dtype.is_numeric():
        numbers = exact_numbers(present)
        texts = _number_texts(numbers)
    elif values.dtype.is_temporal():
        texts = present.dt.to_string("iso:strict").to_list()
    else:
        texts = present.cast(pl.String).to_list()
    missing = [None] * (len(values) - len(present))
    return DistinctValues(_broad_kind(values), (*missing, *texts), numbers)


def texts_of_distinct(distinct: pl.Series) -> pl.Series:
    """Distinct values, missing first, as texts, some at a time: no list holds all of them."""
    if distinct.dtype == pl.String:
        return distinct
    pieces = (distinct.slice(at, _AT_A_TIME) for at in range(0, len(distinct) or 1, _AT_A_TIME))
    return pl.concat(pl.Series(distinct_values(one).texts, dtype=pl.String) for one in pieces)


def number_series(columns: Sequence[ExactNumbers]) -> list[pl.Series]:
    """Exact numbers as columns of one type: integers where all are whole, else floats."""
    whole = [_whole(numbers) for numbers in columns]
    if all(integers is not None for integers in whole):
        return [series_of(integers).cast(pl.Int64) for integers in whole]
    return [pl.Series(_floats(numbers), dtype=pl.Float64) for numbers in columns]


def coded_series(values: DistinctValues) -> pl.Series:
    """Distinct values of a coded column, numbers or texts, missing first."""
    if values.numbers is None:
        return pl.Series(values.texts, dtype=pl.String)
    (numbers,) = number_series([values.numbers])
    missing = pl.Series([None] * int(values.missing), dtype=numbers.dtype)
    return pl.concat([missing, numbers])


def _floats(numbers: ExactNumbers) -> NDArray[np.float64]:
    """The nearest floats; a division of exact floats is rounded once."""
    units = numbers.units
    small = units.dtype != object and int(np.abs(units).max(initial=0)) <= 2**53
    if small and numbers.scale <= _EXACT_POWER:
        return np.asarray(units / 10.0**numbers.scale, dtype=np.float64)
    return np.array([float(number) for number in numbers.decimals()], dtype=np.float64)


_EXACT_POWER = 22
"""The greatest power of ten that a float holds exactly."""


def _whole(numbers: ExactNumbers) -> NDArray[np.int64] | None:
    """The numbers as integers of 64 bits, or None where one of them is not."""
    one = 10**numbers.scale  # may be more than 64 bits
    if numbers.units.dtype != object and one < 2**62:
        whole, rest = np.divmod(numbers.units, one)
        return None if rest.any() else np.asarray(whole, dtype=np.int64)
    units = numbers.units.tolist()
    if not all(unit % one == 0 and -(2**63) <= unit // one < 2**63 for unit in units):
        return None
    return np.array([unit // one for unit in units], dtype=np.int64)


def _number_texts(numbers: ExactNumbers) -> list[str]:
    """Numbers in plain decimal notation, many at a time where they fit in a machine word."""
    if numbers.units.dtype == object:
        return numbers.texts()
    units = series_of(numbers.units)
    if numbers.scale == 0:
        return units.cast(pl.String).to_list()
    digits = units.abs().cast(pl.String).str.zfill(numbers.scale + 1)
    sign = pl.Series(np.where(numbers.units < 0, "-", ""))
    whole, fraction = digits.str.head(-numbers.scale), digits.str.tail(numbers.scale)
    plain = (whole + "." + fraction).str.strip_chars_end("0").str.strip_chars_end(".")
    return (sign + plain).to_list()


def require_finite(rows: Rows, name: str) -> None:
    """Raise ``TableError`` where a column of numbers holds NaN or an infinity."""
    if not pa.types.is_floating(rows.schema.field(name).type):
        return
    wrong = rows.tally(negated(Call("finite", (Column(name),))))
    if wrong.rows:
        msg = f"column {name!r}: row {wrong.first} is NaN or infinite; mend the row or leave it out"
        raise TableError(msg)


def require_finite_numbers(rows: Rows, name: str) -> None:
    """Raise ``TableError`` unless a column holds finite numbers and misses none."""
    where = f"column {name!r}"
    if not polars_type(rows.schema.field(name).type).is_numeric():
        wrong = flagged(rows, name, _is_no_number)
        place = f"row {wrong.first} is not a number" if wrong.rows else "its values are not numbers"
        msg = (
            f"{where} must hold numbers, but {place}; mend the row, name its text in `missing` if "
            "it stands for a missing value, or choose another sensitive column"
        )
        raise TableError(msg)
    missing = rows.tally(is_missing(name))
    if missing.rows:
        msg = (
            f"{where} misses its value in row {missing.first}, and a number that is missing cannot "
            'be a category; declare nulls = "drop" for this column or fill it in'
        )
        raise TableError(msg)
    require_finite(rows, name)


def _is_no_number(values: pl.Series) -> pl.Series:
    return values.cast(pl.String).cast(pl.Float64, strict=False).is_null()


@dataclass(frozen=True)
class PlanDoubt:
    """Something about one column that fits badly."""

    column: str
    key: str
    """The key of the plan that it is about."""
    told: str
    refused: bool
    """Whether publishing would stop at it."""
    row: int | None = None
    """The first row of the file that it is about, from 1."""


def misfits_of(rows: Rows, plan: Plan, column: str) -> Iterator[PlanDoubt]:
    """What fits badly between a column and what the plan says of it."""
    declared = plan.column(column)
    loose = replace(declared, nulls="category", bounds=None, outside="refuse")
    alone = Plan(Roles(keep=(column,)), missing=plan.missing, columns={column: loose})
    try:
        bound = BoundTable.bind(rows.select([column]), alone).rows
    except (PlanError, TableError) as error:
        key = "format" if declared.dated else "kind" if declared.kind else "type"
        yield PlanDoubt(column, key, str(error), refused=True)
        return
    yield from _misses(bound, plan, column)
    yield from _out_of_bounds(bound, column, declared)
    yield from _unlisted(bound, column, declared)


def _misses(rows: Rows, plan: Plan, column: str) -> Iterator[PlanDoubt]:
    found, policy = rows.tally(is_missing(column)), plan.nulls_of(column)
    if found.rows and policy != "category":
        told = f"misses its value in {_of(found.rows, rows.height)}, first in row {found.first}"
        then = {"refuse": "; nulls refuses that", "drop": "; nulls leaves these rows out"}[policy]
        yield PlanDoubt(column, "nulls", told + then, policy == "refuse", found.first)


def _out_of_bounds(rows: Rows, column: str, declared: ColumnPlan) -> Iterator[PlanDoubt]:
    dtype = polars_type(rows.schema.field(column).type)
    if declared.bounds is None or not dtype.is_numeric():
        return
    limits = limits_of(dtype, declared.bounds)

    def outside(values: pl.Series) -> pl.Series:
        there = values.is_not_null()
        return there & ~values.is_between(*limits) if limits else there

    found = flagged(rows, column, outside)
    if found.rows:
        low, high = declared.bounds
        cut = f"bounds = [{low}, {high}] cut {_of(found.rows, rows.height)}"
        yield PlanDoubt(
            column,
            "bounds",
            f"{cut}, first in row {found.first}",
            declared.outside == "refuse",
            found.first,
        )


def _unlisted(rows: Rows, column: str, declared: ColumnPlan) -> Iterator[PlanDoubt]:
    counted = rows.count([column], keep=True)
    values = distinct_values(series_of(counted.values[0]))
    hierarchy = declared.hierarchy
    if not isinstance(hierarchy, Taxonomy | CodeList):
        try:
            declared.bind_hierarchy(column, values)
        except (PlanError, TableError) as error:
            yield PlanDoubt(column, "hierarchy", str(error), refused=True)
        return
    missed = hierarchy.missed(column, values)
    if not missed:
        return
    first, count = _rows_of(rows, counted, values, missed)
    told = (
        f"the hierarchy misses {len(missed):,} of {len(values) - values.missing:,} values, in "
        f"{_of(count, rows.height)}, first in row {first}"
    )
    grouped = isinstance(hierarchy, CodeList) and hierarchy.unlisted == "group"
    yield PlanDoubt(column, "hierarchy", told, not grouped, first)


_MISSED = "\1missed"
"""No file has a column whose name begins so."""


def _rows_of(
    rows: Rows, counted: Counted, values: DistinctValues, missed: list[str]
) -> tuple[int | None, int]:
    """The first row that has one of the missed values, and how many have one."""
    gone = set(missed)
    flags = np.array([text in gone for text in values.texts])[counted.codes[:, 0]]
    found = rows.join(counted, {_MISSED: array_of(flags)}).tally(Column(_MISSED))
    return found.first, found.rows


def _of(count: int, rows: int) -> str:
    return f"{count / rows:.1%} of the rows ({count:,})"
