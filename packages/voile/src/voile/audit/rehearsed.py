"""The three risks of a study: of a rehearsal, beside the rows that it left out; private.

A release under study holds everybody, so that nobody is left to be its control.  A rehearsal is
made like it of fewer rows, and its three risks are those of the release, as far as fewer rows tell.
It is looked at as an audit looks at a file: how it shows its columns is found out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from voile.audit.beside import JointCodes
from voile.audit.counting import ROWS, RiskQuery, counted, some_people, unit_of
from voile.audit.foreign import as_release
from voile.audit.recognition import recognise
from voile.audit.risk import Risk
from voile.study.record import RiskDocument, Skipped
from voile.study.rehearsal import Staged
from voile.table.arrays import frame_of
from voile_base.randomness import Randomness

__all__ = ["risks_of_rehearsal"]

_NOTE = "counted on a rehearsal of fewer rows, beside the rows that it left out"


def risks_of_rehearsal(
    staged: Staged, targets: int, randomness: Randomness, progress: Callable[[str], None]
) -> Sequence[RiskDocument | Skipped]:
    """The three risks and those of other packages, or why one was not counted.

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
    asked = RiskQuery(tuple(staged.plan.roles.sensitive), targets)
    return [
        replace(one, notes=(*one.notes, _NOTE)).document() if isinstance(one, Risk) else one
        for one in counted(beside, asked, randomness, progress)
    ]
