"""What a release did to a table: each column before and after, the sizes of groups, the levels."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from voile.study.record import Distribution, StudyRecord
from voile_base.values import Document

__all__ = ["levels_of", "pair_of", "shown_columns", "size_classes"]

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
    found = []
    for name, said in record.release["columns"].items():
        level = said.get("level")
        steps: tuple[tuple[str, bool], ...] = ()
        if isinstance(level, int):
            ruler = _ruler_of(declared.get(name, {}))
            steps = tuple((step, index == level) for index, step in enumerate(ruler))
        published = now.get(name, now.get(f"{name}.low"))
        told = "" if level is None else "differs from group to group"
        if isinstance(level, int):
            told = f"level {level}"
        found.append(
            _ColumnChange(name, str(said.get("kind", "")), steps, told, (was.get(name), published))
        )
    return found


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
            _told(one["least"], one["most"]),
            (int(one["groups"]), one["rows"] / all_before),
            (int(then["groups"]), then["rows"] / all_after)
            if (then := later.get(one["least"]))
            else None,
        )
        for one in before
    ]


def _rows(classes: Sequence[Document]) -> int:
    return sum(int(one["rows"]) for one in classes) or 1


def _told(least: int, most: int | None) -> str:
    if most is None:
        return f"{least} or more"
    return str(least) if least == most else f"{least} to {most}"
