"""Figures that are drawn here: bars of a column, risk against loss, intervals of noisy counts.

What a release did to a table: each column before and after, the sizes of groups, the levels.

Sets of columns that a card asks for are read here, too.  Places are computed; the templates write
the drawing, so that texts are escaped as all others.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from voile.report.grid import risk_title
from voile.report.words import spoken
from voile.study.frontier import WORST_PERSON
from voile.study.record import LOSS, Distribution, StudyComparison, StudyRecord
from voile.study.verdict import THRESHOLDS, exact_limit
from voile_base.errors import InputError
from voile_base.values import Document

__all__ = [
    "MOST_SETS",
    "SHARES",
    "bars_of",
    "few",
    "intervals_of",
    "levels_of",
    "pair_of",
    "risk_and_loss",
    "sets_of",
    "shown_columns",
    "size_classes",
]

SHARES = frozenset({"pair-total-variation", "marginal-total-variation", LOSS})
"""Measures of loss that are shares."""
_FEW, _MOST = 12, 20
_WIDTH, _HEIGHT = 640.0, 360.0
_NAME_WIDTH, _LINE = 60.0, 16.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 64.0, 16.0, 16.0, 48.0


@dataclass(frozen=True)
class _PictureBar:
    """One bar: heights and places are shares of the picture."""

    label: str
    rows: int
    x: float
    width: float
    height: float


@dataclass(frozen=True)
class _Bars:
    """How a column is spread."""

    bars: tuple[_PictureBar, ...]
    binned: bool
    others: int


@dataclass(frozen=True)
class _Spot:
    """One study in the picture."""

    index: int
    name: str
    x: float
    y: float
    best: bool
    told: str
    rank: int = 0
    """How many names of earlier spots stand at the same place, above which its own is written."""

    @property
    def name_at(self) -> float:
        """The height of its name: above it, or below where no room is above."""
        above = self.y - 8 - _LINE * self.rank
        return above if above > _TOP + _LINE else self.y + 20 + _LINE * self.rank

    @property
    def on_the_right(self) -> bool:
        """Whether its name has more room on its left."""
        return self.x > _WIDTH * 0.7


@dataclass(frozen=True)
class _AxisTick:
    """A mark of an axis."""

    at: float
    told: str
    use: str = ""
    """Of a threshold: what it is used for."""


@dataclass(frozen=True)
class _FrontierPicture:
    """Risk (upwards) against loss (to the right); both are better where they are smaller."""

    width: float
    height: float
    left: float
    bottom: float
    spots: tuple[_Spot, ...]
    across: tuple[_AxisTick, ...]
    upwards: tuple[_AxisTick, ...]
    thresholds: tuple[_AxisTick, ...]
    """Limits of practice, where the risk is that of the worst person."""
    risk: str
    loss: str


def bars_of(document: Document | None) -> _Bars | None:
    """The bars of a column, as ``voile inspect --values`` tells them."""
    if not document or not document.get("bars"):
        return None
    said = document["bars"]
    most = max(bar["rows"] for bar in said) or 1
    step = 100 / len(said)
    bars = tuple(
        _PictureBar(
            str(bar["value"]), int(bar["rows"]), i * step, step * 0.86, 100 * bar["rows"] / most
        )
        for i, bar in enumerate(said)
    )
    return _Bars(bars, bool(document.get("binned")), int(document.get("others", 0)))


def few(document: Document | None, *, ordered: bool) -> Document | None:
    """The same in as few bars as a small picture holds.

    Of numbers and times (``ordered``) neighbours share a bar; of others the most frequent stay.
    """
    if document is None or document["binned"]:
        return document
    if ordered and not document["others"]:
        return {**document, "binned": True, "bars": _neighbours(document["bars"])}
    bars, rest = document["bars"][:_FEW], document["bars"][_FEW:]
    return {**document, "bars": bars, "others": document["others"] + sum(b["rows"] for b in rest)}


def _neighbours(bars: Sequence[Document]) -> list[Document]:
    """Values in their order, the same number of them in each bar."""
    inorder = sorted(bars, key=lambda bar: _as_number(bar["value"]))
    size = math.ceil(len(inorder) / _MOST)
    parts = [inorder[at : at + size] for at in range(0, len(inorder), size)]
    return [
        {
            "value": part[0]["value"] + (f" to {part[-1]['value']}" if len(part) > 1 else ""),
            "rows": sum(bar["rows"] for bar in part),
        }
        for part in parts
    ]


def _as_number(text: str) -> tuple[float, str]:
    try:
        return float(text), text
    except ValueError:
        return 0.0, text  # a time, whose text is in its order


def risk_and_loss(comparison: StudyComparison) -> _FrontierPicture | None:
    """The picture of a comparison; None where no study has both a risk and a loss."""
    placed = [
        (index, point.name, point.risk, point.loss)
        for index, point in enumerate(comparison.points)
        if point.risk is not None and point.loss is not None
    ]
    if not placed:
        return None
    found = [risk for *_, risk, _ in placed]
    limits = _limits(max(found)) if comparison.risk == WORST_PERSON else {}
    risks = _scale([*found, *map(exact_limit, limits)])
    losses = _scale([loss for *_, loss in placed])
    title = risk_title(comparison)
    told = _percent if comparison.loss in SHARES else "{:.3g}".format
    spots = tuple(
        _Spot(
            index,
            name,
            _across(loss, losses),
            _upwards(risk, risks),
            name in comparison.frontier,
            f"{name}: {title} {100 * risk:.3g} %, information loss {told(loss)}",
        )
        for index, name, risk, loss in placed
    )
    spots = tuple(
        replace(spot, rank=_rank(spot, spots[:place])) for place, spot in enumerate(spots)
    )
    return _FrontierPicture(
        _WIDTH,
        _HEIGHT,
        _LEFT,
        _HEIGHT - _BOTTOM,
        spots,
        tuple(_AxisTick(_across(value, losses), told(value)) for value in _ticks(losses)),
        tuple(_AxisTick(_upwards(value, risks), _percent(value)) for value in _ticks(risks)),
        tuple(_threshold(limit, use, risks) for limit, use in limits.items()),
        title,
        _title_of_loss(comparison),
    )


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _title_of_loss(comparison: StudyComparison) -> str:
    """The name of the measure of loss, as records give it; empty where there is none."""
    measured = (one for point in comparison.points if point.record for one in point.record.utility)
    titles = (one["title"] for one in measured if one["measure"] == comparison.loss)
    return next(titles, spoken(comparison.loss)).lower()


def _limits(most: float) -> dict[float, str]:
    """The thresholds of practice up to the first that keeps the largest risk of a picture."""
    kept = [limit for limit in THRESHOLDS if most <= exact_limit(limit)]
    least = min(kept, default=max(THRESHOLDS))
    return {limit: use for limit, use in THRESHOLDS.items() if limit <= least}


def _threshold(limit: float, use: str, risks: tuple[float, float]) -> _AxisTick:
    exact = exact_limit(limit)
    return _AxisTick(_upwards(exact, risks), f"1 in {1 / exact:.0f}", use.partition(": ")[2])


def _scale(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(0.0, *values), max(values)
    return low, high if high > low else low + 1.0


def _rank(spot: _Spot, earlier: Sequence[_Spot]) -> int:
    return sum(abs(spot.x - one.x) < _NAME_WIDTH and abs(spot.y - one.y) < _LINE for one in earlier)


def _ticks(scale: tuple[float, float]) -> list[float]:
    """Round numbers on a scale, about five."""
    low, high = scale
    rough = (high - low) / 4
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * many for many in (1, 2, 2.5, 5, 10) if unit * many >= rough * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [step * number for number in range(first, last + 1)]


def _across(value: float, scale: tuple[float, float]) -> float:
    low, high = scale
    return _LEFT + 8 + (value - low) / (high - low) * (_WIDTH - _LEFT - _RIGHT - 24)


def _upwards(value: float, scale: tuple[float, float]) -> float:
    low, high = scale
    return _HEIGHT - _BOTTOM - 8 - (value - low) / (high - low) * (_HEIGHT - _TOP - _BOTTOM - 24)


MOST_SETS = 4
"""Sets of columns that a card asks for."""
_MOST_CELLS = 20


def sets_of(
    said: Mapping[str, Sequence[str]], field: str, columns: Sequence[str]
) -> list[list[str]]:
    """The sets of columns that a form ticks, without empty ones; raises ``InputError``."""
    found = []
    for number in range(1, MOST_SETS + 1):
        ticked = list(dict.fromkeys(said.get(f"{field}.{number}", ())))
        if unknown := [name for name in ticked if name not in columns]:
            msg = f"the plan publishes no column {unknown[0]!r}; tick columns that have a role"
            raise InputError(msg)
        if ticked and ticked not in found:
            found.append(ticked)
    return found


@dataclass(frozen=True)
class _Interval:
    """A cell with its count: places are shares of the picture's width."""

    label: str
    count: float
    low: float
    high: float
    told: str


@dataclass(frozen=True)
class _IntervalPicture:
    """The first cells of a table with noise."""

    table: str
    most: float
    """The number at the right end."""
    cells: tuple[_Interval, ...]
    others: int
    """Cells that are shown elsewhere."""


def intervals_of(
    columns: Sequence[str], rows: Sequence[Sequence[object]]
) -> _IntervalPicture | None:
    """The cells of the first table among rows of a release, drawn; None of a release of rows."""
    if not {"table", "count", "count.low", "count.high"} <= set(columns):
        return None
    cells = [dict(zip(columns, row, strict=False)) for row in rows]
    shown = [cell for cell in cells if _number(cell["count"]) is not None]
    if not shown:
        return None
    name = str(shown[0]["table"])
    own = [cell for cell in shown if cell["table"] == name]
    most = max(_end(cell, "count.high") for cell in own[:_MOST_CELLS]) or 1.0
    dimensions = columns[1 : list(columns).index("count")]
    return _IntervalPicture(
        name,
        most,
        tuple(_drawn(cell, dimensions, most) for cell in own[:_MOST_CELLS]),
        max(len(own) - _MOST_CELLS, 0),
    )


def _drawn(cell: Document, dimensions: Sequence[str], most: float) -> _Interval:
    label = ", ".join(
        "missing" if cell[name] in {None, ""} else str(cell[name])
        for name in dimensions
        if cell[name] != "Total"
    )
    count = _end(cell, "count")
    low, high = _end(cell, "count.low"), _end(cell, "count.high")
    told = f"{count:,.1f}, between {low:,.0f} and {high:,.0f}"
    return _Interval(
        label or "all rows", min(max(count, 0) / most, 1), low / most, high / most, told
    )


def _end(cell: Document, name: str) -> float:
    return _number(cell[name]) or 0.0


def _number(value: object) -> float | None:
    try:
        return float(str(value))
    except ValueError:
        return None


_GAP = 0.14
"""The share of a place in the picture that stays empty."""


@dataclass(frozen=True)
class _Twin:
    """A value or bin with two bars; places and heights are shares of 100."""

    label: str
    before: float
    after: float
    """Shares of the rows, 0 to 1."""
    x: float
    width: float
    """Of one of the two bars."""
    high_before: float
    high_after: float


@dataclass(frozen=True)
class _SpreadPair:
    """How a column was spread among the rows, and how it is."""

    column: str
    role: str
    twins: tuple[_Twin, ...]
    moved: float
    """Half the sum of the differences: the share of the rows that would have to change."""


@dataclass(frozen=True)
class _ColumnChange:
    """How a release shows a column."""

    column: str
    kind: str
    steps: tuple[tuple[str, bool], ...]
    """From the value itself to everything, and which of them is shown; empty where it differs."""
    level: str
    """The same in a word."""
    distinct: tuple[int | None, int | None]
    """Different values before and after; None where they were not counted."""
    names: tuple[str, ...]
    """What it is called in the file: by another name where it has become several columns."""


@dataclass(frozen=True)
class _SizeClass:
    """Groups of some sizes, before and after; shares are of the rows."""

    told: str
    before: tuple[int, float]
    """Groups, and the share of the rows in them."""
    after: tuple[int, float] | None


def pair_of(distribution: Distribution) -> _SpreadPair:
    """The bars of one column."""
    before, after = distribution.before, distribution.after
    most = max((*before, *after), default=0) or 1
    step = 100 / max(1, len(before))
    twins = tuple(
        _Twin(
            label,
            was,
            now,
            number * step,
            step * (1 - _GAP) / 2,
            100 * (was / most),
            100 * (now / most),
        )
        for number, (label, was, now) in enumerate(
            zip(distribution.labels, before, after, strict=True)
        )
    )
    moved = sum(abs(was - now) for was, now in zip(before, after, strict=True)) / 2
    return _SpreadPair(distribution.column, distribution.role, twins, moved)


def shown_columns(record: StudyRecord, before: Document, after: Document) -> list[_ColumnChange]:
    """How a release shows each column; ``before`` and ``after`` are what looks at both found."""
    was = {column["name"]: int(column["distinct"]) for column in before.get("columns", [])}
    now = {column["name"]: int(column["distinct"]) for column in after.get("columns", [])}
    declared = record.plan.get("columns", {})
    columns = record.release["columns"]
    published = [name for names in record.release.get("roles", {}).values() for name in names]
    found = []
    for name, said in columns.items():
        level = said.get("level")
        steps: tuple[tuple[str, bool], ...] = ()
        if isinstance(level, int):
            ruler = _ruler_of(declared.get(name, {}))
            steps = tuple((step, index == level) for index, step in enumerate(ruler))
        told = "" if level is None else "differs from group to group"
        if said.get("kind") == "interval" and level == "differs":
            told = "the least and the greatest of each group"
        if isinstance(level, int):
            told = f"level {level}"
        ends = {f"{name}{end}" for end in _ENDS} - columns.keys()
        names = tuple(one for one in published if one == name or one in ends)
        counted = (was.get(name), now.get(name, now.get(f"{name}.low")))
        kind = str(said.get("kind", ""))
        found.append(_ColumnChange(name, kind, steps, told, counted, names))
    return found


_ENDS = (".low", ".high", ".interval")
"""What a release appends to the name of a column whose cells are intervals, or have one."""


def levels_of(text: str) -> dict[str, list[str]]:
    """The levels of each column in words, as the text of a plan declares them."""
    try:
        columns = tomllib.loads(text).get("columns", {})
    except tomllib.TOMLDecodeError:
        return {}
    return {name: _ruler_of(said) for name, said in columns.items() if isinstance(said, dict)}


def _ruler_of(declared: Mapping[str, object]) -> list[str]:
    """The levels of a column in words, as its table of a plan declares them.

    Empty for a hierarchy that stands elsewhere, whose levels have no names.
    """
    if isinstance(widths := declared.get("intervals"), dict):
        between = [f"intervals of {width}" for width in widths.get("widths", ())]
    elif isinstance(kept := declared.get("prefix"), list):
        between = [f"{count} character{'s' * (count != 1)}" for count in kept]
    elif isinstance(periods := declared.get("dates"), list):
        between = [str(period) for period in periods]
    elif {"hierarchy", "tree", "code_list"} & declared.keys():
        return []
    else:
        between = []
    return ["as it is", *between, "*"]


def size_classes(before: Sequence[Document], after: Sequence[Document]) -> list[_SizeClass]:
    """Groups by their size, of the table and of a release, as ``voile inspect`` counts them."""
    all_before, all_after = _rows(before), _rows(after)
    later = {one["least"]: one for one in after}
    return [
        _SizeClass(
            _size_told(one["least"], one["most"]),
            (int(one["groups"]), one["rows"] / all_before),
            (int(then["groups"]), then["rows"] / all_after)
            if (then := later.get(one["least"]))
            else None,
        )
        for one in before
    ]


def _rows(classes: Sequence[Document]) -> int:
    return sum(int(one["rows"]) for one in classes) or 1


def _size_told(least: int, most: int | None) -> str:
    if most is None:
        return f"{least} or more"
    return str(least) if least == most else f"{least} to {most}"
