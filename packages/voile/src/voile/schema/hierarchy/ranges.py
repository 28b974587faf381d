"""Hierarchies of neighbours: intervals of numbers, prefixes, ranges of texts, periods of time.

Intervals of numbers
--------------------
``intervals = { origin = 0, widths = [5, 10, 20] }`` with the bounds [17, 90] makes of 23 first
[20, 24], then [20, 29], then [20, 39], then [17, 90].

Which interval.  The borders of a level lie at ``origin + j * width`` for all whole j, negative
ones too.  A number that is a border belongs to the interval above it.  Where a width is no multiple
of those below it, each border moves down to the nearest border of the level below, so that levels
nest: widths 5 and 12 put the borders of the second level at 0, 10, 20, 35, 45, 60, ...

What is published.  Closed intervals: from a border to one ``unit`` below the next, which is the
highest number that the interval can hold; a border that lies outside the public bounds is replaced
by the bound.  ``unit`` is the step in which the column is measured: every value must be a whole
number of units away from the origin.  Unless the plan declares it, it is the decimal place of
the finest of the declared numbers: 1 for whole ones.  ``unit = 0`` stands for numbers measured
continuously: neighbours then share a border, which belongs to the upper one.  Origin, widths, unit
and bounds decide on all borders; the data decides on none.

The highest level.  One interval, the public bounds; ``*`` where there are none.  The levels stop
at the first width whose interval holds all of the bounds, because it is that highest level.

Shares.  How many units an interval holds, of those that the bounds hold.  Without bounds the domain
counts as twice the largest width, a convention.

Cost: a few vectorized operations on d values for each level; a width that does not nest doubles
those of its level.

The first characters of a text: zip codes, telephone numbers, codes
-------------------------------------------------------------------
``prefix = [3, 1]`` makes of ``80123`` first ``801**``, then ``8****``, then ``*``.  A text that is
not longer than what is kept stays as it is.

The public domain of such codes is not declared, so shares are a convention: each character that
is kept stands for ten possibilities, and what keeps c characters covers 10**-c of the domain.

Texts in a declared order: halves of halves
-------------------------------------------
    [columns.education]
    kind  = "ordinal"
    order = ["none", "primary", "secondary", "bachelor", "master"]

The order is halved, the lower half being the longer one where they differ, and each half again,
until single texts are left: ``*``; ``none to secondary``, ``bachelor to master``; ``none to
primary``, ``secondary``, ``bachelor``, ``master``; the texts.  The order is public: borders never
depend on the data, and a range never joins texts that are no neighbours.

Shares.  Each text of the order covers one q-th of the domain.

Cost: O(d log q) for d distinct values.

Texts with a declared order: the numbers that they count as.

Periods of time: the hour, day, month, quarter, year or decade of a date
------------------------------------------------------------------------
``dates = ["month", "year"]`` makes of ``2020-02-28`` first ``2020-02``, then ``2020``, then ``*``.
A quarter reads ``2020-Q1``, a decade ``2020s``, an hour ``2020-02-28T14``, a week ``2020-W09``, as
ISO 8601 counts weeks.  A week may lie in two months and in two years, so that nothing but ``*``
stands above it.

The public domain of dates is not declared, so shares are a convention: that of a century.

Formats of dates and times, as a plan declares them.

``format = "%m/%d/%Y"`` says how the office writes its dates; the codes are those of ``strftime``:

    %Y  year, four digits      %H %M %S  hour, minute, second      %b %B  month by name, in English
    %y  year, two digits       %I %p     hour to twelve, am or pm  %z     offset from UTC
    %m  month
    %d  day of the month       %j        day of the year           %%     a percent sign

A format says year, month and day, or year and day of the year.  Years of two digits are those from
1969 to 2068, as POSIX reads them; a plan that is proposed asks where they may be others.  Published
dates are those of ISO 8601, whatever they were written in.

Where a plan says ``kind = "date"`` and no format, the usual ones are tried.  A column that fits two
of them, such as one in which no day is above 12, is not guessed at.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import pairwise
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from voile.schema.hierarchy.generalized import (
    EVERYTHING,
    SMALLEST_SHARE,
    BoundHierarchy,
    DistinctValues,
    GeneralizedValues,
    Level,
)
from voile.schema.numbers import ExactNumbers, decimals_of, units_of
from voile_base.errors import PlanError, TableError
from voile_base.ondemand import dataclass, pattern_on_demand
from voile_base.values.value import Exact, Says, Several, checked

__all__ = [
    "PERIODS",
    "POSIX_FIRST_YEAR",
    "TWO_DIGIT_FORMATS",
    "USUAL_FORMATS",
    "DateFormat",
    "Dates",
    "Intervals",
    "Kept",
    "Periods",
    "Prefixes",
    "Ranks",
    "has_time",
    "pattern_of",
    "ranks_in_order",
    "the_usual_ones",
]

_DAYS = 36_525  # of a century
_SHARES = {
    "second": 1 / (_DAYS * 86_400),
    "hour": 1 / (_DAYS * 24),
    "day": 1 / _DAYS,
    "week": 7 / _DAYS,
    "month": 1 / 1200,
    "quarter": 1 / 400,
    "year": 1 / 100,
    "decade": 1 / 10,
}


def _week(text: str) -> str:
    year, week, _ = date.fromisoformat(text[:10]).isocalendar()
    return f"{year}-W{week:02}"


_LABELS: dict[str, Callable[[str], str]] = {
    "hour": lambda text: f"{text[:10]}T{text[11:13]}",
    "day": lambda text: text[:10],
    "week": _week,
    "month": lambda text: text[:7],
    "quarter": lambda text: f"{text[:4]}-Q{(int(text[5:7]) + 2) // 3}",
    "year": lambda text: text[:4],
    "decade": lambda text: f"{text[:3]}0s",
}
PERIODS = tuple(_LABELS)
"""Names of the levels, ascending."""

_FORMS = {
    "date": pattern_on_demand(r"\d{4}-\d{2}-\d{2}"),
    "datetime": pattern_on_demand(r"\d{4}-\d{2}-\d{2}[T ]\d{2}.*"),
}


def _ascending(periods: tuple[str, ...]) -> tuple[str, ...]:
    indices = [PERIODS.index(period) for period in periods]
    if any(shorter >= longer for shorter, longer in pairwise(indices)):
        raise PydanticCustomError("ascending", "each longer than the one before")
    if "week" in periods[:-1]:
        raise PydanticCustomError("week", "none behind week")
    return periods


Periods = Annotated[
    Several[Literal["hour", "day", "week", "month", "quarter", "year", "decade"]],
    Field(min_length=1),
    AfterValidator(_ascending),
    Says(
        "a list of periods, each longer than the one before and none behind week, which may lie in "
        'two months, such as ["month", "year"]'
    ),
]


@checked(PlanError)
@dataclass(frozen=True)
class Dates:
    """The periods that the levels show, each longer than the one before.

    Raises ``PlanError`` for a period that is unknown or out of order.
    """

    periods: Periods

    def bind(
        self, column: str, values: DistinctValues, bounds: tuple[Decimal, Decimal] | None = None
    ) -> BoundHierarchy:
        """The hierarchy of the d distinct dates of a column; ``bounds`` are of no use here.

        Raises ``PlanError`` for a column of other values, ``TableError`` for years that do not
        have four digits.
        """
        texts = values.present()
        self._require_dates(column, values.kind, texts)
        leaf = _SHARES["day" if values.kind == "date" else "second"]
        levels = [Level.as_they_are(len(texts), leaf)]
        for period in self.periods:
            share = np.full(len(texts), _SHARES[period])
            levels.append(Level.labelled([_LABELS[period](text) for text in texts], share))
        return BoundHierarchy.of_levels(
            column, values, [*levels, Level.everything(len(texts))], leaf
        )

    def _require_dates(self, column: str, kind: str, texts: tuple[str, ...]) -> None:
        if not texts:
            return
        if kind not in _FORMS:
            msg = (
                f"column {column!r} holds values of kind {kind!r}, not dates; say how they "
                'are written, such as format = "%m/%d/%Y", or choose another hierarchy'
            )
            raise PlanError(msg)
        if kind == "date" and self.periods[0] in {"hour", "day"}:
            msg = f"column {column!r} holds days already; let `dates` begin with a longer period"
            raise PlanError(msg)
        odd = sum(_FORMS[kind].fullmatch(text) is None for text in texts)
        if odd:
            msg = (
                f"column {column!r}: {odd:,} distinct values are not of the years 1000 to 9999; "
                "mend them, or leave the column out"
            )
            raise TableError(msg)


_CODES = {
    "Y": "[1-9][0-9]{3}",
    "y": "[0-9]{2}",
    "m": "[0-9]{1,2}",
    "d": "[0-9]{1,2}",
    "j": "[0-9]{1,3}",
    "H": "[0-9]{1,2}",
    "I": "[0-9]{1,2}",
    "M": "[0-9]{2}",
    "S": "[0-9]{2}",
    "p": "(?i:am|pm)",
    "b": "[A-Za-z]{3}",
    "B": "[A-Za-z]+",
    "z": "[+-][0-9]{2}:?[0-9]{2}",
    "%": "%",
}
_OF_TIME = ("%H", "%I")
_PIECE = pattern_on_demand(r"%(.)|([^%]+)", re.DOTALL)
_SAMPLE = datetime(2013, 11, 28, 17, 45, 59, tzinfo=UTC)

_DATES_DAYS = (
    *("%Y-%m-%d", "%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d"),
    "%Y年%m月%d日",
    "%Y년 %m월 %d일",
)
_CLOCKS = ("%H:%M", "%H:%M:%S", "%I:%M %p", "%I:%M:%S %p")
USUAL_FORMATS = (
    *_DATES_DAYS,
    "%Y.%m.%d",
    "%Y.%m.%d.",
    "%Y. %m. %d.",
    "%d.%m.%Y.",
    "%d. %m. %Y",
    "%d.%m.%Y r.",
    "%d.%m.%Y \u0433.",
    "%Y%m%d",
    "%d-%b-%Y",
    "%d %b %Y",
    "%d %B %Y",
    "%b %d, %Y",
    "%B %d, %Y",
    "%d%b%Y",
    *(f"{day} {clock}" for day in (*_DATES_DAYS, "%d. %m. %Y") for clock in _CLOCKS),
    "%d%b%Y:%H:%M:%S",
    "%d%b%Y %H:%M:%S",
    "%d-%b-%Y %H:%M",
    "%d-%b-%Y %H:%M:%S",
    "%Y-%m-%d %H:%M:%S +0000",
    "%Y-%m-%d %H:%M:%S UTC",
    "%Y-%m-%d %H:%M:%S %z",
    "%d/%m/%Y, %H:%M:%S",
    "%d/%m/%Y, %H:%M",
    "%H:%M %d/%m/%Y",
    "%d.%m.%Y klo %H.%M",
    "%Y.%m.%d. %H:%M",
    "%Y.%m.%d. %H:%M:%S",
)
"""What is tried where a plan says that a column holds dates, and not how they are written."""

_DAYS_OF_SHORT_YEARS = ("%d.%m.%y", "%m/%d/%y", "%d/%m/%y", "%d-%m-%y", "%y-%m-%d")
TWO_DIGIT_FORMATS = (
    *_DAYS_OF_SHORT_YEARS,
    "%d.%m.%y.",
    "%d-%b-%y",
    *(f"{day} {clock}" for day in _DAYS_OF_SHORT_YEARS for clock in _CLOCKS),
)
"""What a proposal tries where no usual format fits: the century is read as POSIX does."""
POSIX_FIRST_YEAR = 1969
"""Years of two digits are this one and the 99 that follow (IEEE Std 1003.1, strptime)."""


def _usable(date_format: str) -> str:
    pieces = list(_PIECE.finditer(date_format))
    unknown = {piece[1] for piece in pieces if piece[1]} - _CODES.keys()
    rest = "".join(piece[0] for piece in pieces)
    if unknown or rest != date_format:
        codes = " ".join(f"%{code}" for code in _CODES)
        msg = f"a format is made of the codes {codes} and of what stands between them"
        raise ValueError(msg)
    try:
        read = datetime.strptime(_SAMPLE.strftime(date_format), date_format)
    except ValueError:
        read = None
    if read is None or read.date() != _SAMPLE.date():
        msg = 'a format tells a whole date, such as "%m/%d/%Y" or "%d.%m.%Y %H:%M"'
        raise ValueError(msg)
    return date_format


DateFormat = Annotated[
    str,
    AfterValidator(_usable),
    Says('the format of a whole date, such as "%m/%d/%Y" or "%d.%m.%Y %H:%M"'),
]


def has_time(date_format: str) -> bool:
    """Whether a format says the time of day too."""
    return any(code in date_format for code in _OF_TIME)


def pattern_of(date_format: str) -> str:
    """A regular expression that every text of a format matches."""
    pieces = [piece[1] or piece[0] for piece in _PIECE.finditer(date_format)]
    coded = [piece[0].startswith("%") for piece in _PIECE.finditer(date_format)]
    found = []
    for index, (piece, code) in enumerate(zip(pieces, coded, strict=True)):
        pattern = _CODES[piece] if code else re.escape(piece)
        if code and any(coded[near] for near in (index - 1, index + 1) if 0 <= near < len(coded)):
            pattern = pattern.replace("{1,2}", "{2}").replace("{1,3}", "{3}")  # where one ends
        found.append(pattern)
    return f"^{''.join(found)}$"


def the_usual_ones() -> str:
    """Some usual formats, for a message."""
    return ", ".join(f'"{each}"' for each in _DATES_DAYS[1:5])


_MOST_WIDTHS = 12
_INT64_SAFE = 2**60
"""Below it, sums and differences of two borders are safe in 64 bits."""


@checked(PlanError)
@dataclass(frozen=True)
class Intervals:
    """Widths of the intervals of each level, ascending, from borders at ``origin`` on.

    Raises ``PlanError`` where widths are not positive and ascending, or no multiples of ``unit``.
    """

    widths: Annotated[
        Several[Annotated[Exact, Field(gt=0)]],
        Field(min_length=1),
        Says("a list of numbers above 0, for example [5, 10, 20]"),
    ]
    origin: Annotated[Exact, Says("a number, one of the borders between intervals")] = Decimal(0)
    unit: Annotated[
        Exact | None, Field(ge=0), Says("the step in which the column is measured, or 0 for none")
    ] = None
    """The step in which the column is measured; 0: continuously."""

    def __post_init__(self) -> None:
        if any(lower >= upper for lower, upper in pairwise(self.widths)):
            msg = "widths must ascend: each level has wider intervals than the one below"
            raise PlanError(msg)
        if len(self.widths) > _MOST_WIDTHS:
            msg = f"widths are {len(self.widths)}, and more than {_MOST_WIDTHS} levels serve nobody"
            raise PlanError(msg)
        unit = self.unit
        places = max(map(decimals_of, (unit or Decimal(0), *self.widths)))
        if unit and any(units_of(w, places) % units_of(unit, places) for w in self.widths):
            msg = f"widths must be multiples of the unit {unit}"
            raise PlanError(msg)

    def bind(
        self, column: str, values: DistinctValues, bounds: tuple[Decimal, Decimal] | None = None
    ) -> BoundHierarchy:
        """The hierarchy of the d distinct numbers of a column within its public bounds.

        Raises ``PlanError`` for a column of other values, or of numbers finer than the unit;
        ``TableError`` for numbers outside the bounds.
        """
        missing = int(values.missing)
        if values.numbers is None and len(values) > missing:
            msg = (
                f"column {column!r} holds values of kind {values.kind!r}, and intervals are those "
                "of numbers; choose another hierarchy"
            )
            raise PlanError(msg)
        numbers = ExactNumbers.of([]) if values.numbers is None else values.numbers
        grid = self._grid(numbers.scale, bounds)
        points = grid.points(numbers)
        self._require_on_grid(column, grid, points, bounds)
        leaf_share = float(grid.share(np.zeros(1, np.int64))[0])
        levels = [Level.as_they_are(len(points), leaf_share)]
        for level in range(len(self.widths)):
            if grid.holds_the_bounds(level):
                break
            levels.append(grid.level(level, points))
        levels.append(Level.everything(len(points), bounds))
        return BoundHierarchy.of_levels(column, values, levels, leaf_share)

    def _grid(self, scale: int, bounds: tuple[Decimal, Decimal] | None) -> _Grid:
        declared = [self.origin, *self.widths, *(bounds or ())]
        places = max(map(decimals_of, declared))
        unit = Decimal(1).scaleb(-places) if self.unit is None else self.unit
        scale = max(scale, places, decimals_of(unit))
        return _Grid(
            scale=scale,
            origin=units_of(self.origin, scale),
            widths=tuple(units_of(width, scale) for width in self.widths),
            unit=units_of(unit, scale),
            bounds=bounds and (units_of(bounds[0], scale), units_of(bounds[1], scale)),
        )

    def _require_on_grid(
        self,
        column: str,
        grid: _Grid,
        points: NDArray[Any],
        bounds: tuple[Decimal, Decimal] | None,
    ) -> None:
        if grid.bounds and bounds:
            outside = int(((points < grid.bounds[0]) | (points > grid.bounds[1])).sum())
            if outside:
                msg = (
                    f"column {column!r}: {outside:,} distinct values lie outside the public bounds "
                    f"[{bounds[0]}, {bounds[1]}]"
                )
                raise TableError(msg)
        finer = int(((points - grid.origin) % grid.unit != 0).sum()) if grid.unit else 0
        if finer:
            unit = ExactNumbers(np.array([grid.unit], dtype=object), grid.scale).texts()[0]
            msg = (
                f"column {column!r}: {finer:,} distinct values are no whole number of units of "
                f"{unit} away from the origin {self.origin}, so they could lie between two "
                "intervals; say the step in which the column is measured, as the unit of its "
                "intervals: such as unit = 0.01, or unit = 0 if it is measured continuously"
            )
            raise PlanError(msg)


@dataclass(frozen=True, eq=False)
class _Grid:
    """Borders of all levels; every number in units of 10**-scale."""

    scale: int
    origin: int
    widths: tuple[int, ...]
    unit: int
    bounds: tuple[int, int] | None

    def points(self, numbers: ExactNumbers) -> NDArray[Any]:
        """The numbers in units of this grid, as Python integers where 64 bits are too few."""
        points = numbers.rescaled(self.scale).units
        large = [abs(self.origin), *self.widths, *map(abs, self.bounds or ())]
        large += [abs(int(end)) for end in (points.min(), points.max())] if len(points) else []
        return points.astype(object) if max(large) >= _INT64_SAFE else points

    def level(self, level: int, points: NDArray[Any]) -> Level:
        """The intervals of a level that hold one of the points, ascending."""
        index, codes = np.unique(self._index(level, points), return_inverse=True)
        low, high = self._border(level, index), self._border(level, index + 1) - self.unit
        if self.bounds:
            low, high = np.maximum(low, self.bounds[0]), np.minimum(high, self.bounds[1])
        values = GeneralizedValues(
            share=self.share(high - low),
            low=ExactNumbers(low, self.scale),
            high=ExactNumbers(high, self.scale),
        )
        return Level(codes, values)

    def holds_the_bounds(self, level: int) -> bool:
        """Whether one interval of the level holds all of the public bounds."""
        if self.bounds is None:
            return False
        lowest, highest = self._index(level, np.array(self.bounds, dtype=object))
        return bool(lowest == highest)

    def share(self, length: NDArray[np.generic]) -> NDArray[np.float64]:
        """What intervals from low to low + length cover of the public domain."""
        if self.bounds:
            domain = self.bounds[1] - self.bounds[0] + self.unit
        else:
            domain = 2 * max(self.widths)
        share: NDArray[np.float64] = (length.astype(object) + self.unit) / domain
        return share.astype(np.float64)

    def _index(self, level: int, points: NDArray[np.generic]) -> NDArray[Any]:
        """The number of the interval that holds each point; it lies between borders j and j + 1."""
        if self._nests(level):
            return (points - self.origin) // self.widths[level]
        # The last border, before it moves, that lies below the end of the interval underneath.
        end = self._border(level - 1, self._index(level - 1, points) + 1)
        return (end - self.origin - 1) // self.widths[level]

    def _border(self, level: int, index: NDArray[np.generic]) -> NDArray[Any]:
        """Where border j lies after it moved."""
        border = self.origin + index * self.widths[level]
        if self._nests(level):
            return border
        return self._border(level - 1, self._index(level - 1, border))

    def _nests(self, level: int) -> bool:
        """Whether all borders of the level are borders of every level below without moving."""
        return all(upper % lower == 0 for lower, upper in pairwise(self.widths[: level + 1]))


_MANY = 100
"""Characters beyond which a share is too small to count."""


def _descending(kept: tuple[int, ...]) -> tuple[int, ...]:
    if any(more <= fewer for more, fewer in pairwise(kept)):
        raise PydanticCustomError("descending", "fewer from level to level")
    return kept


Kept = Annotated[
    Several[Annotated[int, Field(ge=1)]],
    Field(min_length=1),
    AfterValidator(_descending),
    Says(
        "a list of how many characters each level keeps, fewer from level to level, for example "
        "[3, 1]"
    ),
]


@checked(PlanError)
@dataclass(frozen=True)
class Prefixes:
    """How many characters each level keeps, fewer from level to level.

    Raises ``PlanError`` unless these are descending whole numbers of at least 1.
    """

    kept: Kept

    def bind(
        self, column: str, values: DistinctValues, bounds: tuple[Decimal, Decimal] | None = None
    ) -> BoundHierarchy:
        """The hierarchy of the d distinct texts of a column; ``bounds`` are of no use here.

        Raises ``PlanError`` for a column that does not hold texts.
        """
        texts = values.present_texts(column, "prefixes are those of texts")
        lengths = np.array([len(text) for text in texts], dtype=np.int64)
        levels = [
            Level.as_they_are(len(texts), _share(lengths)),
            *(self._level(texts, lengths, kept) for kept in self.kept),
            Level.everything(len(texts)),
        ]
        return BoundHierarchy.of_levels(column, values, levels, SMALLEST_SHARE)

    def _level(self, texts: tuple[str, ...], lengths: NDArray[np.int64], kept: int) -> Level:
        labels = [
            text[:kept] + EVERYTHING * (length - kept)
            for text, length in zip(texts, lengths.tolist(), strict=True)
        ]
        return Level.labelled(labels, _share(np.minimum(lengths, kept)))


def _share(kept: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.power(10.0, -np.minimum(kept, _MANY))


@dataclass(frozen=True)
class Ranks:
    """Texts in their order, the lowest first; at least two, all different."""

    order: Sequence[str]

    def bind(
        self, column: str, values: DistinctValues, bounds: tuple[Decimal, Decimal] | None = None
    ) -> BoundHierarchy:
        """The hierarchy of the d distinct texts of a column; ``bounds`` are of no use here.

        Raises ``PlanError`` where a value does not stand in the order, or two ranges read alike.
        """
        texts, rank = values.present(), {text: place for place, text in enumerate(self.order)}
        unknown = sum(text not in rank for text in texts)
        if unknown:
            msg = (
                f"[columns.{column}] order: {unknown} of the {len(texts)} different values of the "
                "column do not stand in it; name every value, the lowest first, and name the text "
                "in `missing` if it stands for a missing value"
            )
            raise PlanError(msg)
        places = [rank[text] for text in texts]
        share = 1 / len(self.order)
        halved = reversed(list(self._halved()))
        levels = [
            Level.as_they_are(len(texts), share),
            *(self._level(column, places, starts) for starts in halved),
            Level.everything(len(texts)),
        ]
        return BoundHierarchy.of_levels(column, values, levels, share)

    def _halved(self) -> Iterator[list[int]]:
        """Where the runs of each level begin, from two runs on, as long as some has two texts."""
        starts = [0]
        while True:
            ends = [*starts[1:], len(self.order)]
            halves = [
                start + (end - start + 1) // 2
                for start, end in zip(starts, ends, strict=True)
                if end - start > 1
            ]
            starts = sorted([*starts, *halves])
            if len(starts) == len(self.order):
                return
            yield starts

    def _level(self, column: str, places: Sequence[int], starts: Sequence[int]) -> Level:
        """Runs of neighbours that begin so."""
        ends = [*starts[1:], len(self.order)]
        runs = [(low, end - 1) for low, end in zip(starts, ends, strict=True)]
        names = [
            self.order[low] if low == high else f"{self.order[low]} to {self.order[high]}"
            for low, high in runs
        ]
        alone = [name for name, (low, high) in zip(names, runs, strict=True) if low < high]
        if set(alone) & set(self.order):
            msg = (
                f'[columns.{column}] order: a text reads like a range of others ("X to Y"), so '
                "that nobody could tell them apart; change it"
            )
            raise PlanError(msg)
        of_run = np.array([high - low + 1 for low, high in runs]) / len(self.order)
        run = np.searchsorted(starts, places, side="right") - 1
        return Level.labelled([names[each] for each in run.tolist()], of_run[run])


def ranks_in_order(column: str, order: Sequence[str], values: DistinctValues) -> NDArray[np.int64]:
    """The rank of each distinct value in the order, from 1, shape (d,).

    Raises ``TableError`` where a value is missing or does not stand in it.
    """
    if values.missing:
        msg = (
            f"column {column!r} misses some values, and a missing value has no rank in an order; "
            f'fill them in, or declare [columns.{column}] nulls = "drop"'
        )
        raise TableError(msg)
    rank = {text: number for number, text in enumerate(order, 1)}
    unknown = sum(text not in rank for text in values.texts)
    if unknown:
        msg = (
            f"[columns.{column}] order: {unknown} of the {len(values)} different values of the "
            "column do not stand in it; name every value, the lowest first"
        )
        raise TableError(msg)
    return np.array([rank[str(text)] for text in values.texts], dtype=np.int64)
