"""The three risks and those of other packages, counted on a file beside groups of people; private.

Of larger files than ``ROWS`` a sample is looked at, drawn once: the rows of some of the values that
columns show on both sides, so that a person who is looked at has the own row beside.  Where no
columns tell that, nothing is left out: all people are held against all rows, and of targets there
are so many fewer that the pairs of a target and a row are those of ``ROWS`` rows.  Of more than
``_MOST`` rows nothing is told: then the risks are not assessed.

Cost: that of the risks.

The three risks of a study: of a rehearsal, beside the rows that it left out; private.

A release under study holds everybody, so that nobody is left to be its control.  A rehearsal is
made like it of fewer rows, and its three risks are those of the release, as far as fewer rows tell.
It is looked at as an audit looks at a file: how it shows its columns is found out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from voile.audit.beside import GroupedSample, JointCodes
from voile.audit.foreign import Foreign, as_release
from voile.audit.recognition import recognise
from voile.audit.record import DOES_NOT_APPLY, RE_IDENTIFICATION
from voile.audit.risk import Risk, Setting, risk_inquiries
from voile.audit.scenarios import known_sets
from voile.release.reading import People
from voile.study.record import REHEARSED, RiskDocument, Skipped
from voile.study.rehearsal import Staged
from voile.table.arrays import Frame, frame_of
from voile_base.ondemand import dataclass
from voile_base.randomness import Randomness

__all__ = ["ROWS", "ExaminedRows", "RiskQuery", "counted", "risks_of_rehearsal", "unit_of"]


ROWS = 200_000
"""Rows of each side up to which the three risks look at all."""
_SAMPLE = 50_000
"""Rows of the largest side that they look at elsewhere, where a person has the own row beside."""
_QUICK = 5_000
"""The same where a quick look was asked for, also of smaller files."""
_BESIDE = 0.25
"""The share of people who must have it."""
_FEWEST = 2_000
"""Rows of the smallest side, where it has as many."""
_MOST = 2_000_000
"""Rows of the largest side, up to which all are looked at where no sample can be drawn."""


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

    def setting(
        self, beside: JointCodes, randomness: Randomness, progress: Callable[[str], None]
    ) -> Setting:
        """What whoever counts a risk of a file has; sensitive columns as far as it shows them."""
        shown = {column.name for column in beside.columns}
        sensitive = tuple(name for name in self.sensitive if name in shown)
        return Setting(
            beside, sensitive, self.first, self.targets, randomness, progress, self.known
        )


def counted(setting: Setting, only: Collection[str] | None = None) -> Iterator[Risk | Skipped]:
    """Each figure of each risk, or why a risk was not counted; ``only``: names of risks, or all."""
    for name in setting.beside.left_out:
        yield Skipped("three risks", f"column {name!r} holds too many texts to compare")
    if not setting.beside.columns:
        yield Skipped("three risks", "no column could be compared")
        return
    for inquiry in risk_inquiries():
        if only is not None and inquiry.name not in only:
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


@dataclass(frozen=True, eq=False)
class ExaminedRows:
    """The rows of a file and of groups of people that the three risks look at; private."""

    file: Foreign
    people: tuple[Frame, ...]
    places: NDArray[np.int64] | None = None
    """Which rows of the original the first ones are; None where it is all, or cannot be told."""
    note: str | None = None
    """What was left out, as a clause."""
    share: float = 1.0
    """The share of the targets that were asked for, for whom there are rows enough to compare."""
    refusal: str | None = None
    """Why the risks cannot be assessed, as a clause: no column tells a person's row, so that no
    sample can be drawn, and there are too many rows to look at all."""

    def of_original(self, risk: Risk) -> Risk:
        """A risk whose rows are those of the original, where they can be told."""
        if self.places is None:
            return risk
        return replace(risk, rows=tuple(int(self.places[row]) for row in risk.rows))

    @classmethod
    def of(
        cls,
        foreign: Foreign,
        released: Frame,
        people: Sequence[People],
        randomness: Randomness,
        *,
        quick: bool = False,
    ) -> ExaminedRows:
        """All rows, or a sample of them that is drawn once, a smaller one for a ``quick`` look."""
        sizes = [each.frame.height for each in people]
        largest = max(*sizes, released.height)
        if largest <= (_QUICK if quick else ROWS):
            return cls(foreign, tuple(map(_typed, people)))
        share = (_QUICK if quick else _SAMPLE) / largest
        share = min(1.0, max(share, _FEWEST / min(sizes)))
        draws = randomness.key("groups").generator()
        if unit_of(people[0]) is None:
            drawn = GroupedSample.drawn(foreign, people, share, draws)
            if drawn.beside >= _BESIDE:
                rows = np.flatnonzero(drawn.file)
                both = zip(people, drawn.sides, strict=True)
                some = tuple(
                    _typed(People(each.frame.filter(pl.Series(side)), each.plan))
                    for each, side in both
                )
                note = (
                    f"the three risks look at {len(rows):,} of {released.height:,} rows, drawn "
                    "once for all sides by the values of columns that the file shows alike: "
                    f"{drawn.beside:.0%} of the people who are looked at have their own row "
                    "beside, and the others many who are like them"
                )
                places = np.flatnonzero(drawn.sides[0])
                return cls(_gathered(foreign, released, rows), some, places, note)
        refusal = None
        if quick or largest > _MOST:
            why = "--quick looks at a sample" if quick else f"at most {_MOST:,} rows are compared"
            refusal = (
                "not assessed: no column tells which row may be a person's, so that no sample can "
                f"be drawn for all sides, and {why}"
            )
        share = ROWS / largest
        note = (
            "no column tells which row may be a person's: the three risks look at all rows of all "
            f"sides, and at {share:.0%} of the targets"
        )
        frames = tuple(map(_typed, people))
        return cls(foreign, frames, note=note, share=min(share, 1.0), refusal=refusal)


def _typed(people: People) -> Frame:
    """All rows, in columns as the plan types them."""
    return pl.DataFrame([people.column(name).alias(name) for name in people.frame.columns])


def _gathered(foreign: Foreign, released: Frame, rows: NDArray[np.integer]) -> Foreign:
    chosen = pl.Series(rows.astype(np.int64))
    cut = [
        replace(one, columns=tuple(column.gather(chosen) for column in one.columns))
        for one in foreign.recognised
    ]
    return as_release(released[chosen], cut, {})


def risks_of_rehearsal(
    staged: Staged,
    targets: int,
    randomness: Randomness,
    progress: Callable[[str], None],
    only: Collection[str] | None = None,
) -> Sequence[RiskDocument | Skipped]:
    """The three risks and those of other packages, or why one was not counted.

    ``only`` names the risks that are counted; None: all.  Re-identification needs no control, and
    is counted on the release under study, up to ``ROWS`` rows of it: groups of fewer are others.

    Raises a ``VoileError`` where the rows show no column of the original.
    """
    progress("three risks")
    if staged.release.rows > ROWS:
        reason = f"the rehearsal has more than {ROWS:,} rows; run voile audit on the release"
        return (Skipped("three risks", reason),)
    asked = {one.name for one in risk_inquiries()} if only is None else set(only)
    whole = staged.of
    of_release = asked & {RE_IDENTIFICATION}
    if whole is None or whole.release.rows > ROWS:
        of_release = set()
    found: list[RiskDocument | Skipped] = []
    for subject, some in ((staged, asked - of_release), (whole, of_release)):
        if subject is not None and some:
            found += _risks_of(subject, targets, randomness, progress, some)
    return found


def _risks_of(
    staged: Staged,
    targets: int,
    randomness: Randomness,
    progress: Callable[[str], None],
    only: Collection[str],
) -> Iterator[RiskDocument | Skipped]:
    """Some risks of a release, beside the rows that it left out where it is a rehearsal."""
    compared = staged.comparison(randomness)
    release = staged.release if staged.link is None else staged.release.without(staged.link)
    shown = frame_of(release.table.to_arrow())
    foreign = as_release(shown, recognise(shown, compared.original), {})
    sides = [one for one in (compared.original, compared.held_out) if one is not None]
    groups = [_typed(each) for each in sides]
    beside = JointCodes.of(foreign, groups, compared.original.plan, unit_of(compared.original))
    roles = staged.plan.roles
    known = known_sets([c.name for c in beside.columns], roles.quasi_identifiers, roles.identifiers)
    asked = RiskQuery(tuple(roles.sensitive), targets, known=known)
    setting = asked.setting(beside, randomness, progress)
    notes = () if compared.held_out is None else (REHEARSED,)
    for one in counted(setting, only):
        if isinstance(one, Risk):
            yield replace(one, notes=(*one.notes, *notes), rows=()).document()
        else:
            yield one
