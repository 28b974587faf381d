"""One audit: read, recognise, let adversaries and measures look, count the three risks, record.

All attacks and measures that take part in a study take part here (``attack.registry``,
``utility.protocol``, other packages' too); those that make no sense for the file are listed with
the reason.  There is no rehearsal, for nobody here can make such a file again: people who were not
in the data are those of the control.

Cost: that of the attacks; of large files the three risks look at a sample, and say so.

An audit run once more on its inputs, and held against its record.

The record has a seal without a key (``study.documents``): who knows how can edit all of it and seal
it again.  Running again tells that: draws follow from the inputs (``seal``), so that all figures
are those of the record, but for rounding.

Cost: that of the audit.

Columns that a released file shows and its plan does not let out; private.

What holds for a release of Voile holds for a file of another make: only a column with a role
leaves, a kept one only where its values single out nobody, or the plan says that they may
(``keep_unique``), a sensitive one only where it is no id, and neither where the recognisers know
names, addresses, numbers of persons or positions in it.  See ``schema.persons`` for the counts.
Nobody is asked to tick it: a plan that names the column, and another audit, mend it.

Without a plan the proposed roles count, and a column without any has to be named in one.

Cost: a count of the values of each such column.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from voile.attack.protocol import Attack, AttackOutcome, Knowledge
from voile.attack.registry import attack_names
from voile.audit.beside import JointCodes
from voile.audit.common_rows import contradicted
from voile.audit.counting import (
    MEMBERSHIP,
    ExaminedRows,
    RiskQuery,
    ShadowReleases,
    counted,
    unit_of,
)
from voile.audit.foreign import (
    Foreign,
    Repetition,
    as_release,
    order_notices,
    stand_together,
    stands_for,
)
from voile.audit.recognition import Recognised, finer_digits, named_cells, recognise
from voile.audit.record import (
    COPYING,
    AuditRecord,
    ColumnDocument,
    Inquiry,
    RiskDocument,
    RunDocument,
    draws_of,
    run_of,
)
from voile.audit.renaming import renamed_columns
from voile.audit.risk import Risk, Setting, risk_inquiries
from voile.audit.scenarios import THE_HOLDER, known_sets
from voile.audit.sides import Sides, read_sides
from voile.audit.singling_out import of_one_person
from voile.recognisers.recognition import recognised
from voile.recognisers.values import ColumnLook
from voile.release.reading import People, PublishedRows, distinct_texts_of
from voile.schema.names import named
from voile.schema.persons import looks_like_an_id, told_of_published_id
from voile.schema.roles import Roles
from voile.study.evidence import (
    EvidenceRun,
    Findings,
    Instruments,
    ReleaseUnderTest,
    StageClock,
    parted,
)
from voile.study.original import fingerprint
from voile.study.plans import json_value
from voile.study.record import AttackDocument, MeasureDocument, Skipped
from voile.study.single import versions
from voile.table.looking import MACHINE_MADE, count_occurrences
from voile.table.places import file_and_part
from voile.table.profile import Inspected
from voile.utility.protocol import Comparison, Measurement, measure_names
from voile_base.compiled import compiles
from voile_base.errors import InputError, RefusedError
from voile_base.ondemand import dataclass
from voile_base.randomness import Randomness
from voile_base.version import VERSION

__all__ = ["Inquiry", "audit", "require_same_again"]


def _unfit_columns(
    shown: Iterable[Recognised], original: People, *, proposed: bool
) -> dict[str, str]:
    """Why each shown column that must not leave must not, as a clause; by the original's name.

    ``proposed`` says that no plan was given.
    """
    reasons = ((one.name, _reason(one, original, proposed=proposed)) for one in shown)
    return {name: why for name, why in reasons if why is not None}


def _unread_columns(sides: Sides, foreign: Foreign) -> tuple[dict[str, str], Mapping[str, str]]:
    """Why columns that nobody could read must not leave, by the file's names; what nobody can say.

    They are columns of no name of the original, and labels that nobody explains: who learns what
    they stand for reads them, so that they must neither single out rows together nor be a column of
    the original under other names.
    """
    released, original = sides.released, sides.original
    groups = foreign.release.disclosure.groups
    read = {*sides.identifiers, *(() if groups is None else (groups.column,))}
    unread = (one for one in foreign.recognised if one.unread and one.name not in read)
    of = {name: one.name for one in unread for name in one.of}
    every = original.frame.columns
    among: dict[str, Sequence[str]] = {n: (of[n], *every) for n in released.columns if n in of}
    among |= {n: every for n in foreign.unused if n not in read}
    remedy = "name the hierarchy of its labels in a plan, or leave it out"
    near = (one for one in foreign.recognised if one.how in {"noisy", "averaged"})
    asked = {**{one.of[0]: (one.name,) for one in near if len(one.of) == 1}, **among}
    alike = {name: stands_for(released[name], original, some) for name, some in asked.items()}
    joint = stand_together({n: released[n] for n in among if alike[n] is None}, original)
    together = joint.names
    beside = {n: ", ".join(repr(one) for one in together if one != n) for n in together}
    found = {
        name: f"beside {beside[name]} its cells stand as often as those of column {own!r} of the "
        f"original beside others, under other names: who undoes that has the column; {remedy}"
        for name, own in together.items()
    }
    found |= {
        name: f"its cells stand as often, one by one, as the values of column {own!r} of the "
        f"original under other names: who undoes that has the column; {remedy}"
        for name, own in alike.items()
        if own is not None
    }
    rare = {name for one in foreign.recognised if one.unread_are_rare for name in one.of}
    asked_together = [name for name in among if name not in rare]
    if told := of_one_person(released.select(asked_together), original):
        found = {**dict.fromkeys(asked_together, f"{told}; {remedy}"), **found}
    return found, joint.not_assessed


def _reason(one: Recognised, original: People, *, proposed: bool) -> str | None:
    assert original.plan is not None
    roles, trips = original.plan.roles, original.plan.trajectory
    if one.name not in (*roles.published, *(trips.names if trips else ())):
        if proposed:
            return "no plan says what it is; name it in a plan, under keep if it is harmless"
        return "it has no role in the plan; name it under keep if it is harmless, or leave it out"
    if one.how not in {"exact", "permuted"} or one.name in roles.keep_unique:
        return None
    return _shown_as_it_is(one, original, roles)


def _shown_as_it_is(one: Recognised, original: People, roles: Roles) -> str | None:
    """Why a column that is kept or sensitive must not be shown as it is."""
    if one.name in roles.keep:
        counts = count_occurrences(one.columns[0])
        if counts.single_out:
            told = counts.told_of_kept(one.name)
            return f"{told}; leave it out, or name it under keep_unique, too"
    if one.name not in (*roles.keep, *roles.sensitive):
        return None
    known = recognised(_look(one.name, original))
    if known is not None:
        return f"column {one.name!r} holds {known.title} ({known.reason}); leave it out"
    if one.name in roles.sensitive:
        return _as_an_id(one, texts=str(original.column(one.name).dtype) == "String")
    return None


def _look(name: str, original: People) -> ColumnLook:
    """What recognisers see of a column of the original."""
    beside = [other for other in original.frame.columns if other != name]
    return Inspected(original.frame.select([name])).details(name).look(beside)


def _as_an_id(one: Recognised, *, texts: bool) -> str | None:
    """That a sensitive column tells persons or things apart."""
    if not texts and named(one.name) is None:
        return None
    cells = one.columns[0].drop_nulls()
    counts = count_occurrences(cells)
    made = texts and all(re.match(MACHINE_MADE, text or "") for text in distinct_texts_of(cells)[0])
    if not looks_like_an_id(one.name, counts, texts=texts, machine_made=made):
        return None
    return f"{told_of_published_id(one.name, counts)}; name it under identifiers, or leave it out"


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
    instruments = _instruments(inquiry)
    clock = StageClock()
    progress("reading")
    named = {"released": released, "original": original, "control": control, "plan": plan}
    named |= {"auxiliary": inquiry.auxiliary}
    named |= {f"{_BESIDE}{number}": file for number, file in enumerate(inquiry.beside, 1)}
    places = {side: Path(place) for side, place in named.items() if place is not None}
    run = run_of(places, inquiry, seed)
    with clock.timed("reading"):
        others = map(places.get, ("control", "plan", "auxiliary"))
        sides = read_sides(places["released"], places["original"], *others)
        together, told = sides.with_files(inquiry.beside)
    judging = _Judging(inquiry, instruments, run, progress, clock)
    tables = [sides] if together is None else [together, sides]
    del sides, together  # each is let go while it is judged
    found = judging.of(tables.pop())
    if tables:
        found = found.with_others(judging.of(tables.pop()))
    return AuditRecord(
        released=Path(released).name,
        digest=fingerprint(Path(released)),
        risks=found.risks,
        risks_skipped=found.risks_skipped,
        attacks=found.attacks,
        attacks_skipped=found.attacks_skipped,
        utility=found.utility,
        utility_skipped=found.utility_skipped,
        versions=versions(),
        seconds={stage: round(taken, 3) for stage, taken in clock.seconds.items()},
        control_void=found.void,
        run=run,
        **{**found.facts, "notices": (*found.facts["notices"], *told)},
    )


_Facts = dict[str, Any]


@dataclass(frozen=True)
class _Judged:
    """What was found of one table: of a file, or of several together."""

    facts: _Facts
    risks: tuple[RiskDocument, ...]
    risks_skipped: tuple[Skipped, ...]
    attacks: tuple[AttackDocument, ...]
    attacks_skipped: tuple[Skipped, ...]
    utility: tuple[MeasureDocument, ...]
    utility_skipped: tuple[Skipped, ...]
    void: bool

    def with_others(self, joined: _Judged) -> _Judged:
        """The same, and what was found of the file together with others: the worst counts."""
        own = {one["attack"]: one for one in self.attacks}
        more = {one["attack"]: one for one in joined.attacks if _is_worse(one, own)}
        risks = [
            RiskDocument(**{**one, "of": f"{one['of']} (files together)"}) for one in joined.risks
        ]
        known = {one["risk"] for one in (*self.risks, *risks)}
        return replace(
            self,
            facts={
                **self.facts,
                **{n: {**joined.facts[n], **self.facts[n]} for n in ("unfit", "not_assessed")},
            },
            risks=(*self.risks, *risks),
            risks_skipped=tuple(one for one in self.risks_skipped if one.name not in known),
            attacks=tuple({**own, **more}.values()),
            attacks_skipped=tuple(one for one in self.attacks_skipped if one.name not in more),
            void=self.void or joined.void,
        )


def _is_worse(attack: AttackDocument, known: Mapping[str, AttackDocument]) -> bool:
    """Whether an attack succeeds more often beyond guessing than the known one of its name."""
    other = known.get(attack["attack"])
    return other is None or (attack["advantage"] or 0) > (other["advantage"] or 0)


@dataclass(frozen=True)
class _Judging:
    """How tables are judged in one audit."""

    inquiry: Inquiry
    instruments: Instruments
    run: RunDocument
    progress: Progress
    clock: StageClock

    def of(self, sides: Sides) -> _Judged:
        """What is found of one table."""
        self.progress("recognising columns")
        with self.clock.timed("recognising"):
            found = _recognition(sides)
        facts = _facts(sides, found)
        subject = _AuditedFile(sides, found.foreign, draws_of(self.run), quick=self.inquiry.quick)
        del sides, found
        with self.clock.timed("risks"):
            if not self.instruments.attacks and not self.instruments.measures:
                subject.keep_examined_rows()
            risks, risks_skipped = parted(subject.risks(self.inquiry, self.progress))
        subject.judge_control(risks)
        subject.forget_examined_rows()
        run = EvidenceRun(subject, self.progress, self.clock)
        evidence = _evidence(self.inquiry, self.instruments, run)
        facts["notices"] = (*facts["notices"], *subject.notices)
        return _Judged(
            facts=facts,
            risks=tuple(one.document() for one in risks),
            risks_skipped=risks_skipped,
            attacks=_documents(evidence.attacks),
            attacks_skipped=evidence.attacks_skipped,
            utility=_documents(evidence.utility),
            utility_skipped=evidence.utility_skipped,
            void=subject.void,
        )


def _facts(sides: Sides, found: _Recognition) -> _Facts:
    """What a record says of the files, which is known before anything is counted."""
    fine = finer_digits(found.recognised, sides.original) if sides.method is None else ()
    return {
        "rows": _rows(sides),
        "roles": {**sides.roles, "identifiers": sides.identifiers},
        "roles_of": sides.roles_of,
        "columns": tuple(map(_column, found.recognised)),
        "unused": found.foreign.unused,
        "unread_parts": (*sides.unread_parts, *fine),
        "not_assessed": found.not_assessed,
        "notices": found.notices,
        "unfit": found.unfit,
        "called_missing": sides.called_missing,
        "protected": sides.original.protected,
        "repeated": found.twice.rows,
        "fewest": found.twice.fewest,
    }


def _instruments(inquiry: Inquiry) -> Instruments:
    """Attacks and measures that an inquiry asks for; a quick one none but those that it names."""
    attacks = inquiry.attacks or (() if inquiry.quick else None)
    return Instruments.standard(attacks, measured=not inquiry.quick)


_NOT_QUICK = "not assessed: a quick look was asked for; run voile audit without --quick"
_QUICK_TARGETS = 200


def _evidence(inquiry: Inquiry, every: Instruments, run: EvidenceRun) -> Findings:
    """What attacks and measures find; in a quick look, the attacks that somebody named alone.

    People of the control are those who are not in the data.
    """
    assert isinstance(run.subject, _AuditedFile)
    control = run.subject.sides.control
    known = Knowledge(targets=inquiry.targets, absent=None if control is None else control.frame)
    found = run.evidence(every.attacks, every.measures, known)
    if not inquiry.quick:
        return found
    attacks = () if inquiry.attacks else attack_names()
    return replace(
        found,
        attacks_skipped=(*found.attacks_skipped, *_not_quick(attacks)),
        utility_skipped=(*found.utility_skipped, *_not_quick(measure_names())),
    )


def _not_quick(names: Iterable[str]) -> Iterator[Skipped]:
    """That a quick look leaves out each of some attacks or measures."""
    return (Skipped(name, _NOT_QUICK) for name in names)


class _Recognition(NamedTuple):
    """How a file shows its columns, and what follows before anything is counted."""

    recognised: Sequence[Recognised]
    foreign: Foreign
    twice: Repetition
    unfit: Mapping[str, str]
    not_assessed: Mapping[str, str]
    notices: tuple[str, ...]


def _recognition(sides: Sides) -> _Recognition:
    said = {n: c.shown for n, c in sides.plan.columns.items() if c.shown is not None}
    doubts = contradicted(said, named_cells(sides.released, sides.original), sides.original)
    believed = {name: how for name, how in said.items() if name not in doubts}
    recognised = recognise(sides.released, sides.original, believed, sides.control)
    foreign = as_release(sides.released, recognised, _roles(sides, recognised))
    twice = foreign.repetition(sides.original)
    proposed = sides.roles_of == "proposal"
    unread, not_assessed = _unread_columns(sides, foreign)
    shown = [one for one in recognised if one.columns and one.name not in sides.identifiers]
    others = renamed_columns(sides.released, shown, sides.original, sides.control)
    not_assessed = {**not_assessed, **others.not_assessed}
    unfit = {
        **unread,
        **_unfit_columns(shown, sides.original, proposed=proposed),
        **others.reasons,
    }
    notices = (
        *sides.notices,
        *doubts.values(),
        *(f"column {name!r} must not be published: {why}" for name, why in unfit.items()),
        *(f"not assessed: whether {asks}: {why}" for asks, why in not_assessed.items()),
        *twice.notices,
        *order_notices(recognised, sides.original),
        *foreign.copy_notices(sides.original, sides.control),
    )
    return _Recognition(recognised, foreign, twice, unfit, not_assessed, notices)


def _roles(sides: Sides, recognised: Sequence[Recognised]) -> dict[str, tuple[str, ...]]:
    """The columns of each role, of those that the released file has."""
    shown = {one.name for one in recognised if one.columns}
    return {role: tuple(n for n in names if n in shown) for role, names in sides.roles.items()}


def _column(one: Recognised) -> ColumnDocument:
    return ColumnDocument(
        name=one.name, shown=one.how, why=one.why, of=[*one.of], unread=[*one.unread]
    )


def _documents(found: Iterable[AttackOutcome | Measurement]) -> Any:
    """Outcomes as the record has them."""
    return tuple(json_value(one.document()) for one in found)


class _AuditedFile(ReleaseUnderTest):
    """One file before adversaries and measures."""

    def __init__(
        self, sides: Sides, foreign: Foreign, randomness: Randomness, *, quick: bool = False
    ) -> None:
        super().__init__(foreign.release, sides.original.frame, sides.plan, randomness)
        self.sides, self.foreign, self.draws, self.quick = sides, foreign, randomness, quick
        self.doubts: tuple[str, ...] = ()
        """Why the comparison with the control is void, as far as the risks tell."""

    @property
    def void(self) -> bool:
        """Whether nothing can be told beside the control."""
        return self.sides.void or bool(self.doubts)

    def judge_control(self, risks: Iterable[Risk]) -> None:
        """Void the comparison where people of the control are found more often than the original.

        That is so where files were taken for each other, or the released one was made of them.
        """
        self.doubts += tuple(
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
        for risk, library, there, extra in (
            ("inference", "Numba", compiles(), "fast"),
            ("copying", "scikit-learn", find_spec("sklearn") is not None, "learn"),
        ):
            if not there:
                found.append(
                    f"nobody has learnt from the file for {risk}, since {library} is not "
                    f"installed: it may succeed more often (pip install 'voile[{extra}]')"
                )
        if self.looked_at.note is not None and self.looked_at.refusal is None:
            found.append(self.looked_at.note)
        return found

    @cached_property
    def looked_at(self) -> ExaminedRows:
        """The rows that the three risks look at."""
        sides = self.sides
        people = [sides.original, *([] if sides.control is None else [sides.control])]
        return ExaminedRows.of(self.foreign, sides.released, people, self.draws, quick=self.quick)

    def keep_examined_rows(self) -> None:
        """Let go of all rows but those that the three risks look at, where no attack needs more."""
        if self.looked_at.file is not self.foreign:
            self.sides, self.foreign = self.sides.without_rows(), self.foreign.without_rows()
            self.release, self.original = self.foreign.release, self.sides.original.frame

    def forget_examined_rows(self) -> None:
        """Let go of what only the three risks look at: rows of the file, a sample, codes."""
        own, control = self.sides.original, self.sides.control
        self.sides = replace(
            self.sides,
            released=self.sides.released.clear(),
            original=People.of(self.release, own.frame, own.plan),
            control=control and People(control.frame, control.plan),
        )
        self.looked_at = replace(self.looked_at, file=self.foreign, people=())

    def risks(self, inquiry: Inquiry, progress: Progress) -> Iterator[Risk | Skipped]:
        """The three risks of WP216 and those of other packages, or why one was not counted."""
        progress("three risks")
        sides, some = self.sides, self.looked_at
        if some.refusal is not None:
            yield Skipped("three risks", some.refusal)
            return
        only = None
        if self.quick and some.places is not None:
            yield Skipped(COPYING, _NOT_QUICK)
            only = [one.name for one in risk_inquiries() if one.name != COPYING]
        beside = JointCodes.of(some.file, some.people, sides.plan, unit_of(sides.original))
        roles = sides.roles
        shown = [column.name for column in beside.columns]
        known = known_sets(shown, roles["quasi_identifiers"], sides.identifiers)
        if sides.auxiliary is not None:
            held = tuple(name for name in shown if name in sides.auxiliary.columns)
            known = {**known, THE_HOLDER: held} if held else known
        targets = min(inquiry.targets, _QUICK_TARGETS) if self.quick else inquiry.targets
        targets = max(1, round(targets * some.share))
        asked = RiskQuery(roles["sensitive"], targets, inquiry.first, known)
        setting = asked.setting(beside, self.draws.within("risks"), progress)
        if sides.control is not None and (doubt := setting.compared.made_with_control):
            self.doubts = (doubt,)
        for risk in counted(setting, only):
            yield some.of_original(risk) if isinstance(risk, Risk) else risk
        if inquiry.shadows:
            yield self._membership(inquiry, setting)

    def _membership(self, inquiry: Inquiry, setting: Setting) -> Risk | Skipped:
        """Who is told to be in the file by whoever makes releases like it."""
        sides = self.sides
        if sides.control is None or self.void:
            why = "the comparison with the control is void" if self.void else "there is no control"
            return Skipped(MEMBERSHIP, why)
        if self.looked_at.note is not None:
            return Skipped(MEMBERSHIP, "it would need all rows, and a sample is looked at")
        both = sides.original, sides.control
        adversary = ShadowReleases(
            sides.released, both, sides.plan, inquiry.shadows, inquiry.targets, sides.method
        )
        return adversary.risk(setting)

    def attacked(self, attack: Attack) -> AttackOutcome | Skipped:
        """What an adversary makes of the file, beside people of the control where he needs some."""
        if attack.needs_absent and self.void:
            held = "people of the original stand in the control"
            why = held if self.sides.void else "the comparison with the control is void"
            return Skipped(attack.name, why)
        if attack.needs_absent and self.sides.control is None:
            return Skipped(attack.name, "nobody is known who was not in the data: no control")
        if reason := attack.refusal(self.release, self.plan):
            return Skipped(attack.name, reason)
        draws = self.draws.within("attack", attack.name)
        return attack.run(self.release, self.original, self.plan, draws)

    def comparison(self) -> Comparison:
        """The same for all measures, which keep what they work out for it."""
        return self._comparison

    @cached_property
    def _comparison(self) -> Comparison:
        draws = self.draws.within("utility")
        published = PublishedRows.of(self.release)
        return Comparison(published, self.sides.original, draws, self.sides.control)


def _rows(sides: Sides) -> dict[str, int]:
    found = {"released": sides.released.height, "original": sides.original.frame.height}
    if sides.control is not None:
        found["control"] = sides.control.frame.height
    return found


_MOST = 5  # differences that are named
_BESIDE = "beside "
"""Begins the names of files that are judged together with the audited one, before a number."""


def require_same_again(
    recorded: AuditRecord,
    released: Path,
    moved: Mapping[str, Path],
    beside: Iterable[Path] = (),
    progress: Callable[[str], None] = lambda stage: None,
) -> None:
    """Run an audit again; ``moved`` says where inputs are now that are not where they were.

    ``beside`` are files that were judged together with the one, told apart by their contents.
    Raises ``RefusedError`` where an input is another, or a figure is, and a ``VoileError`` where an
    input cannot be read.
    """
    run = recorded.run
    assert run is not None, "a record without it was refused when it was read"
    places = _places_now(run, {**moved, "released": released}, beside)
    attacks, first = run["attacks"], run["first"]
    inquiry = Inquiry(
        run["targets"],
        None if attacks is None else tuple(attacks),
        None if first is None else tuple(first),
        places.get("auxiliary"),
        run.get("quick", False),
        run.get("shadows", 0),
        tuple(place for side, place in places.items() if side.startswith(_BESIDE)),
    )
    progress("comparing inputs")
    now = run_of(places, inquiry, run["seed"])["inputs"]
    for side in dict.fromkeys((*run["inputs"], *now)):
        if now.get(side) != run["inputs"].get(side):
            msg = (
                f"{places[side]}: this is not the {side} that was audited; name that with "
                f"--{side.split()[0]}, or run voile audit again"
            )
            raise RefusedError(msg)
    found = audit(
        released,
        places["original"],
        places.get("control"),
        places.get("plan"),
        inquiry=inquiry,
        seed=run["seed"],
        progress=progress,
    )
    renamed = {place.name: Path(run["places"][side]).name for side, place in places.items()}
    apart = list(recorded.differences(found.with_names(renamed)))
    if apart:
        more = f" and {len(apart) - _MOST} more" if len(apart) > _MOST else ""
        by = recorded.versions.get("voile")
        other = "" if by == VERSION else f" (it was made by Voile {by}, and this is {VERSION})"
        msg = (
            f"the record is not what its inputs give: {', '.join(apart[:_MOST])}{more} differ"
            f"{other}; run voile audit again"
        )
        raise RefusedError(msg)


def _places_now(
    run: RunDocument, moved: Mapping[str, Path], beside: Iterable[Path]
) -> dict[str, Path]:
    """Where the inputs of an audit are; raises ``InputError`` for one that is not there."""
    places = {**{side: Path(place) for side, place in run["places"].items()}, **moved}
    for file in beside:
        digest = fingerprint(file, named=False)
        sides = [n for n, one in run["inputs"].items() if n.startswith(_BESIDE) and one == digest]
        if not sides:
            msg = f"{file}: this is none of the files that were audited with --beside"
            raise InputError(msg)
        places |= dict.fromkeys(sides, file)
    for side, place in places.items():
        file, _ = file_and_part(place)
        if not file.exists():
            msg = (
                f"{file}: the {side} of the audit is not there any more; say where it is with "
                f"--{side.split()[0]} FILE"
            )
            raise InputError(msg)
    return places
