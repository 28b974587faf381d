"""The three risks and those of other packages, counted on a file beside groups of people; private.

Cost: that of the risks; rows beyond ``ROWS`` of a group are left out, drawn at random.

The three risks of a study: of a rehearsal, beside the rows that it left out; private.

A release under study holds everybody, so that nobody is left to be its control.  A rehearsal is
made like it of fewer rows, and its three risks are those of the release, as far as fewer rows tell.
It is looked at as an audit looks at a file: how it shows its columns is found out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from voile.audit.beside import JointCodes
from voile.audit.foreign import as_release
from voile.audit.recognition import recognise
from voile.audit.record import DOES_NOT_APPLY
from voile.audit.risk import Risk, Setting, risk_inquiries
from voile.audit.scenarios import known_sets
from voile.release.reading import People
from voile.study.record import RiskDocument, Skipped
from voile.study.rehearsal import Staged, hold_out
from voile.table.arrays import Frame, frame_of
from voile_base.randomness import Randomness

__all__ = ["ROWS", "RiskQuery", "counted", "risks_of_rehearsal", "some_people", "unit_of"]


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
    known: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Sets of columns that somebody outside may know of a person, by who that is."""
    only: Collection[str] | None = None
    """Names of the risks that are counted; None: all."""


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
    setting = Setting(
        beside, sensitive, asked.first, asked.targets, randomness, progress, asked.known
    )
    for inquiry in risk_inquiries():
        if asked.only is not None and inquiry.name not in asked.only:
            continue
        if reason := inquiry.refusal(setting):
            yield Skipped(inquiry.name, reason)
        elif found := list(inquiry.risks(setting)):
            yield from found
        else:
            yield Skipped(inquiry.name, f"{DOES_NOT_APPLY}: no group of people is small")


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


_NOTE = "counted on a rehearsal of fewer rows, beside the rows that it left out"


def risks_of_rehearsal(
    staged: Staged,
    targets: int,
    randomness: Randomness,
    progress: Callable[[str], None],
    only: Collection[str] | None = None,
) -> Sequence[RiskDocument | Skipped]:
    """The three risks and those of other packages, or why one was not counted.

    ``only`` names the risks that are counted; None: all.

    Raises a ``VoileError`` where the rows show no column of the original.
    """
    progress("three risks")
    compared = staged.comparison(randomness)
    assert compared.held_out is not None, "a rehearsal leaves rows out"
    if staged.release.rows > ROWS:
        reason = f"the rehearsal has more than {ROWS:,} rows; run voile audit on the release"
        return (Skipped("three risks", reason),)
    release = staged.release if staged.link is None else staged.release.without(staged.link)
    shown = frame_of(release.table.to_arrow())
    foreign = as_release(shown, recognise(shown, compared.original), {})
    groups = [some_people(each, randomness) for each in (compared.original, compared.held_out)]
    beside = JointCodes.of(foreign, groups, compared.original.plan, unit_of(compared.original))
    roles = staged.plan.roles
    known = known_sets([c.name for c in beside.columns], roles.quasi_identifiers, roles.identifiers)
    asked = RiskQuery(tuple(roles.sensitive), targets, known=known, only=only)
    return [
        replace(one, notes=(*one.notes, _NOTE), rows=()).document()
        if isinstance(one, Risk)
        else one
        for one in counted(beside, asked, randomness, progress)
    ]
