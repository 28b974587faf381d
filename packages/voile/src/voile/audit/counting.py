"""The three risks and those of other packages, counted on a file beside groups of people; private.

Cost: that of the risks; rows beyond ``ROWS`` of a group are left out, drawn at random.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import polars as pl

from voile.audit.beside import JointCodes
from voile.audit.registry import Setting, risk_inquiries
from voile.audit.risk import Risk
from voile.release.reading.rows import People
from voile.study.record import Skipped
from voile.table.arrays import Frame
from voile.table.frames import hold_out
from voile_base.randomness import Randomness

__all__ = ["ROWS", "RiskQuery", "counted", "some_people", "unit_of"]

ROWS = 200_000
"""Rows of each side that the three risks look at."""


@dataclass(frozen=True)
class RiskQuery:
    """What is asked of the three risks."""

    sensitive: tuple[str, ...]
    """Columns that nobody may learn."""
    targets: int
    first: tuple[str, ...] | None = None
    """Columns that one of two people holds who link; None: nobody has said."""


def counted(
    beside: JointCodes, asked: RiskQuery, randomness: Randomness, progress: Callable[[str], None]
) -> Iterator[Risk | Skipped]:
    """Each figure of each risk, or why a risk was not counted."""
    for name in beside.left_out:
        yield Skipped("three risks", f"column {name!r} holds too many texts to compare")
    if not beside.columns:
        yield Skipped("three risks", "no column could be compared")
        return
    shown = {column.name for column in beside.columns}
    sensitive = tuple(name for name in asked.sensitive if name in shown)
    setting = Setting(beside, sensitive, asked.first, asked.targets, randomness, progress)
    for inquiry in risk_inquiries():
        if reason := inquiry.refusal(setting):
            yield Skipped(inquiry.name, reason)
        else:
            yield from inquiry.risks(setting)


def unit_of(people: People) -> str | None:
    """The column that tells persons or households apart; None where each row is another."""
    return None if people.protected == "row" else people.unit_column


def some_people(people: People, randomness: Randomness) -> Frame:
    """The rows of some people that the three risks look at."""
    frame = people.frame
    unit = unit_of(people)
    if frame.height > ROWS:
        places = pl.arange(frame.height, eager=True).alias("\0row")  # no file has such a column
        rows = pl.DataFrame([places, *([] if unit is None else [people.column(unit)])])
        share = 1 - ROWS / frame.height
        kept, _ = hold_out(rows, share, randomness.within("people"), unit)
        people = People(frame[kept["\0row"]], people.plan)
    return pl.DataFrame([people.column(name).alias(name) for name in frame.columns])
