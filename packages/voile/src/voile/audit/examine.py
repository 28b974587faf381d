"""One audit: read, recognise, let adversaries and measures look, count the three risks, record.

All attacks and measures that take part in a study take part here (``attack.registry``,
``utility.protocol``, other packages' too); those that make no sense for the file are listed with
the reason.  There is no rehearsal, for nobody here can make such a file again: people who were not
in the data are those of the control.

Cost: that of the attacks; rows beyond ``ROWS`` on any side are left out of the three risks, drawn
at random, and said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple, TypeVar

import polars as pl

from voile.attack.protocol import Attack, Knowledge
from voile.audit.beside import JointCodes
from voile.audit.copies import copy_notices
from voile.audit.counting import ROWS, RiskQuery, counted, some_people, unit_of
from voile.audit.foreign import Foreign, as_release
from voile.audit.positions import order_notices
from voile.audit.recognition import Recognised, recognise
from voile.audit.record import AuditRecord, ColumnDocument
from voile.audit.repetition import Repetition, repetition
from voile.audit.risk import Risk
from voile.audit.seal import Inquiry, draws_of, run_of
from voile.audit.sides import Sides, read_sides
from voile.audit.unfit import unfit_columns
from voile.release.reading.rows import People, PublishedRows
from voile.study.evidence import Instruments
from voile.study.original import fingerprint
from voile.study.plans import json_value
from voile.study.record import AttackDocument, MeasureDocument, Skipped
from voile.study.single import versions
from voile.utility.protocol import Comparison
from voile_base.errors import VoileError
from voile_base.randomness import Randomness

__all__ = ["Inquiry", "audit"]

Progress = Callable[[str], None]
_Found = TypeVar("_Found")


def audit(
    released: str | Path,
    original: str | Path,
    control: str | Path | None = None,
    plan: str | Path | None = None,
    *,
    inquiry: Inquiry | None = None,
    seed: int | None = None,
    progress: Progress = lambda stage: None,
) -> AuditRecord:
    """Judge a released file of any origin against the table that it was made from; private.

    ``control`` holds people of the same origin who were not in the data.  ``plan`` says roles,
    types, hierarchies, and how columns are shown where that is not to be found out.  Without a
    ``seed`` the draws follow from the contents of these files: another run gives the same figures.
    Raises a ``VoileError`` where files, plan and inquiry disagree.
    """
    inquiry = inquiry or Inquiry()
    instruments = Instruments.standard(inquiry.attacks)
    clock = _Clock()
    progress("reading")
    named = {"released": released, "original": original, "control": control, "plan": plan}
    places = {side: Path(place) for side, place in named.items() if place is not None}
    run = run_of(places, inquiry, seed)
    randomness = draws_of(run)
    sides = read_sides(
        places["released"], places["original"], places.get("control"), places.get("plan")
    )
    clock.lap("reading")
    progress("recognising columns")
    found = _recognition(sides)
    clock.lap("recognising")
    court = _Court(sides, found.foreign, inquiry, randomness, progress)
    risks, risks_skipped = _apart(court.risks())
    court.judge_control(risks)
    clock.lap("risks")
    attacks, attacks_skipped = _apart(court.attack(attack) for attack in instruments.attacks)
    clock.lap("attacks")
    measured, utility_skipped = _apart(court.measure(measure) for measure in instruments.measures)
    clock.lap("utility")
    return AuditRecord(
        released=Path(released).name,
        digest=fingerprint(Path(released)),
        rows=_rows(sides),
        roles={**sides.roles, "identifiers": sides.identifiers},
        roles_of=sides.roles_of,
        columns=tuple(map(_column, found.recognised)),
        unused=found.foreign.unused,
        risks=tuple(one.document() for one in risks),
        risks_skipped=risks_skipped,
        attacks=attacks,
        attacks_skipped=attacks_skipped,
        utility=tuple(one for each in measured for one in each),
        utility_skipped=utility_skipped,
        notices=(*found.notices, *court.notices),
        unfit=found.unfit,
        versions=versions(),
        seconds=clock.seconds,
        protected=sides.original.protected,
        repeated=found.twice.rows,
        fewest=found.twice.fewest,
        control_void=court.void,
        run=run,
    )


class _Recognition(NamedTuple):
    """How a file shows its columns, and what follows before anything is counted."""

    recognised: Sequence[Recognised]
    foreign: Foreign
    twice: Repetition
    unfit: Mapping[str, str]
    notices: tuple[str, ...]


def _recognition(sides: Sides) -> _Recognition:
    said = {n: c.shown for n, c in sides.plan.columns.items() if c.shown is not None}
    recognised = recognise(sides.released, sides.original, said)
    foreign = as_release(sides.released, recognised, _roles(sides, recognised))
    twice = repetition(foreign, sides.original)
    proposed = sides.roles_of == "proposal"
    unfit = unfit_columns(recognised, sides.original, sides.identifiers, proposed=proposed)
    notices = (
        *sides.notices,
        *(f"column {name!r} must not be published: {why}" for name, why in unfit.items()),
        *twice.notices,
        *order_notices(recognised, sides.original),
        *copy_notices(foreign, sides.original, sides.control),
    )
    return _Recognition(recognised, foreign, twice, unfit, notices)


def _roles(sides: Sides, recognised: Sequence[Recognised]) -> dict[str, tuple[str, ...]]:
    """The columns of each role, of those that the released file has."""
    shown = {one.name for one in recognised if one.columns}
    return {role: tuple(n for n in names if n in shown) for role, names in sides.roles.items()}


def _column(one: Recognised) -> ColumnDocument:
    return ColumnDocument(
        name=one.name, shown=one.how, why=one.why, of=[*one.of], unread=[*one.unread]
    )


def _apart(found: Iterable[_Found | Skipped]) -> tuple[tuple[_Found, ...], tuple[Skipped, ...]]:
    """What was found, and what made no sense."""
    every = tuple(found)
    made = tuple(one for one in every if not isinstance(one, Skipped))
    return made, tuple(one for one in every if isinstance(one, Skipped))


class _Clock:
    """Seconds of each stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = perf_counter()

    def lap(self, stage: str) -> None:
        """What passed since the last one belongs to this stage."""
        now = perf_counter()
        self.seconds[stage], self._last = round(now - self._last, 3), now


@dataclass
class _Court:
    """One file before adversaries and measures."""

    sides: Sides
    foreign: Foreign
    inquiry: Inquiry
    randomness: Randomness
    progress: Progress
    doubts: tuple[str, ...] = ()
    """Why the comparison with the control is void, as far as the risks tell."""

    @property
    def void(self) -> bool:
        """Whether nothing can be told beside the control."""
        return self.sides.void or bool(self.doubts)

    def judge_control(self, risks: Iterable[Risk]) -> None:
        """Void the comparison where people of the control are found more often than the original.

        That is so where files were taken for each other, or the released one was made of them.
        """
        self.doubts = tuple(
            f"{one.name} finds more people of the control than of the original ({one.of}), as "
            "where the file holds the control: the comparison with it is void"
            for one in risks
            if one.finds_control
        )

    @property
    def notices(self) -> list[str]:
        """What was left out of the three risks, and what nobody understood."""
        found = [*self.doubts]
        if self.foreign.unused:
            named = ", ".join(map(repr, self.foreign.unused))
            found.append(f"no column of the original is shown by {named}: nobody looked at them")
        found += [
            f"column {one.name!r}: {len(one.unread):,} labels are explained by nobody, and were "
            "taken to stand for anything; name their hierarchy in a plan"
            for one in self.foreign.recognised
            if one.unread
        ]
        if find_spec("sklearn") is None:
            found.append(
                "nobody has learnt from the file, since scikit-learn is not installed: inference "
                "may succeed more often (pip install 'voile[learn]')"
            )
        most = max(_rows(self.sides).values())
        if most > ROWS:
            found.append(f"the three risks look at {ROWS:,} rows of each side, drawn at random")
        return found

    def risks(self) -> Iterator[Risk | Skipped]:
        """The three risks of WP216 and those of other packages, or why one was not counted."""
        self.progress("three risks")
        groups = [some_people(people, self.randomness) for people in self._groups()]
        sides = self.sides
        beside = JointCodes.of(self._looked_at(), groups, sides.plan, unit_of(sides.original))
        asked = RiskQuery(sides.roles["sensitive"], self.inquiry.targets, self.inquiry.first)
        yield from counted(beside, asked, self.randomness.within("risks"), self.progress)

    def attack(self, attack: Attack) -> AttackDocument | Skipped:
        """What an adversary makes of the file, or why he was not asked."""
        self.progress(f"attack: {attack.name}")
        absent = None if self.sides.control is None else self.sides.control.frame
        knowledge = Knowledge(targets=self.inquiry.targets, absent=absent)
        release, original = self.foreign.release, self.sides.original
        try:
            told = attack.told(knowledge)
            if attack.needs_absent and self.void:
                return Skipped(attack.name, "people of the original stand in the control")
            if attack.needs_absent and absent is None:
                return Skipped(attack.name, "nobody is known who was not in the data: no control")
            if reason := told.refusal(release, self.sides.plan):
                return Skipped(attack.name, reason)
            draws = self.randomness.within("attack", attack.name)
            found = told.run(release, original.frame, self.sides.plan, draws)
        except VoileError as error:
            return Skipped(attack.name, str(error).rstrip("."))
        document: Any = json_value(found.document())
        return document  # type: ignore[no-any-return]

    def measure(self, measure: Any) -> Sequence[MeasureDocument] | Skipped:
        """What the file is good for, or why that was not measured."""
        self.progress(f"utility: {measure.name}")
        try:
            if reason := measure.refusal(self._comparison):
                return Skipped(measure.name, reason)
            return [json_value(found.document()) for found in measure.measure(self._comparison)]
        except VoileError as error:
            return Skipped(measure.name, str(error).rstrip("."))

    @cached_property
    def _comparison(self) -> Comparison:
        """The same for all measures, which keep what they work out for it."""
        return Comparison(
            PublishedRows.of(self.foreign.release),
            self.sides.original,
            self.randomness.within("utility"),
            self.sides.control,
        )

    def _groups(self) -> list[People]:
        control = self.sides.control
        return [self.sides.original, *([] if control is None else [control])]

    def _looked_at(self) -> Foreign:
        """The file in no more rows than the three risks look at."""
        if self.foreign.release.rows <= ROWS:
            return self.foreign
        draws = self.randomness.key("rows").stream(self.foreign.release.rows).argsort()[:ROWS]
        chosen = pl.Series(draws.astype("int64")).sort()
        cut = [
            replace(one, columns=tuple(column.gather(chosen) for column in one.columns))
            for one in self.foreign.recognised
        ]
        return as_release(self.sides.released[chosen], cut, {})


def _rows(sides: Sides) -> dict[str, int]:
    found = {"released": sides.released.height, "original": sides.original.frame.height}
    if sides.control is not None:
        found["control"] = sides.control.frame.height
    return found
