"""Evidence about one release: what adversaries make of it, and what it is still good for; private.

Every attack and every measure looks at the release under study where that can be judged.  What
needs people who are not in the release, or rows whose numbers can be told, looks at a rehearsal
(``rehearsal``), which is made when the first asks for it; whose name stands under ``rehearsed`` was
judged by that.  An attack whose success on the release could only be believed is counted where rows
carry their numbers: on the release itself, made once more with all rows and their numbers, if that
shows the same, as a method without chance does; else on the rehearsal.  So risks in closed form are
those of the release, of all rows.

How they are asked, and what becomes of those that make no sense, is that of the run below.

What puts a release to the test: the adversaries and the measures that a study asks.

One run of evidence
-------------------
What is put to the test is a ``ReleaseUnderTest``: a release, the private table that it was made
from, and its plan, where there is one.  A study looks at a rehearsal where the release itself
cannot be judged, an audit at a file of another make; each says so in a class of its own, and is
asked here like the others, as ``voile attack`` is.

An attack or a measure that makes no sense for the release, or that fails with an error that a
caller can act upon, is left out with its reason, and spoils nothing else; a ``strict`` run ends
with such an error.  Any other error is a fault of Voile and ends every run.

Cost: that of the attacks and measures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import field, replace
from functools import cached_property
from itertools import count
from time import perf_counter
from typing import TYPE_CHECKING, Any, Self, TypeVar

from voile.attack.adversary import Scene
from voile.attack.fitted import Fitted
from voile.attack.protocol import Attack, AttackOutcome, Knowledge
from voile.release.reading import People, PublishedRows
from voile.release.release import Release
from voile.schema.plan import Plan
from voile.study.record import RiskDocument, Skipped
from voile.study.rehearsal import (
    Persons,
    SplitRows,
    Staged,
    can_link,
    fingerprint,
    hold_rows_out,
    rehearsed_rows,
)
from voile.table.published import LARGE, MANY
from voile.utility.protocol import Comparison, Measure, Measurement
from voile_base.errors import InputError, VoileError
from voile_base.ondemand import dataclass, on_demand
from voile_base.operating_system import return_freed_memory
from voile_base.randomness import Randomness

if TYPE_CHECKING:
    from voile.attack import registry as attack_registry
    from voile.utility import marginals as utility_marginals
    from voile.utility import protocol as utility_protocol
    from voile.utility.marginals import ColumnDistribution
else:
    attack_registry = on_demand("voile.attack.registry")
    utility_marginals = on_demand("voile.utility.marginals")
    utility_protocol = on_demand("voile.utility.protocol")

__all__ = [
    "CountRisks",
    "EvidenceRun",
    "EvidenceTerms",
    "Findings",
    "Instruments",
    "ReleaseUnderTest",
    "StageClock",
    "StudyEvidence",
    "gather",
    "parted",
]

Progress = Callable[[str], None]
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Findings:
    """What attacks and measures found, and which of them made no sense; private."""

    attacks: tuple[AttackOutcome, ...]
    attacks_skipped: tuple[Skipped, ...]
    utility: tuple[Measurement, ...]
    utility_skipped: tuple[Skipped, ...]


@dataclass(eq=False)
class ReleaseUnderTest:
    """A release beside the table that it was made from; private."""

    release: Release
    original: Any
    """A data frame."""
    plan: Plan | None
    randomness: Randomness | None
    """Draws targets and what is decided by lot; None draws anew each time."""

    def attacked(self, attack: Attack) -> AttackOutcome | Skipped:
        """What an adversary makes of the release, or why that makes no sense."""
        if (reason := attack.refusal(self.release, self.plan)) is not None:
            return Skipped(attack.name, reason)
        return attack.run(self.release, self.original, self.plan, self.randomness)

    def measured(self, measure: Measure) -> Sequence[Measurement] | Skipped:
        """What the release is good for, or why that cannot be measured."""
        comparison = self.comparison()
        if (reason := measure.refusal(comparison)) is not None:
            return Skipped(measure.name, reason)
        return measure.measure(comparison)

    def comparison(self) -> Comparison:
        """The release beside its original, as measures see it."""
        randomness = self.randomness or Randomness.secure()
        people = People.of(self.release, self.original, self.plan)
        return Comparison(PublishedRows.of(self.release), people, randomness)


@dataclass
class StageClock:
    """Seconds of each stage; what a stage takes within another counts for itself alone."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Add what passes to a stage."""
        before = sum(self.seconds.values())
        started = perf_counter()
        try:
            yield
        finally:
            inner = sum(self.seconds.values()) - before
            taken = perf_counter() - started - inner
            self.seconds[stage] = self.seconds.get(stage, 0.0) + taken


@dataclass(eq=False)
class EvidenceRun:
    """Adversaries and measures before one release."""

    subject: ReleaseUnderTest
    progress: Progress = lambda stage: None
    clock: StageClock = field(default_factory=StageClock)
    strict: bool = False
    """Whether an error ends the run, as where somebody asked for the attack by its name."""

    def evidence(
        self,
        attacks: Iterable[Attack],
        measures: Iterable[Measure] = (),
        knowledge: Knowledge | None = None,
    ) -> Findings:
        """Ask all attacks, which also know what ``knowledge`` says, and all measures."""
        known = knowledge or Knowledge()
        adversaries, instruments = list(attacks), list(measures)
        parts, done = len(adversaries) + len(instruments), count()

        def telling(name: str) -> None:
            self.progress(f"{next(done):,} of {parts:,} looks at the release are done, now: {name}")

        found, attacks_skipped = parted(
            self._attack(attack, known, telling) for attack in adversaries
        )
        if self.subject.release.rows > LARGE:  # what only attacks ask for
            Fitted.forget(self.subject.release)
            Scene.forget(self.subject.release)
        measured, utility_skipped = parted(self._measure(each, telling) for each in instruments)
        utility = tuple(one for several in measured for one in several)
        return Findings(found, attacks_skipped, utility, utility_skipped)

    def _attack(
        self, attack: Attack, known: Knowledge, telling: Progress
    ) -> AttackOutcome | Skipped:
        """What an adversary makes of the release, or why he was not asked."""
        telling(f"attack {attack.name}")
        return self.ask("attacks", attack.name, lambda: self.subject.attacked(attack.told(known)))

    def ask(self, stage: str, name: str, question: Callable[[], T | Skipped]) -> T | Skipped:
        """The answer to a question, or why there is none; what it takes counts for a stage."""
        try:
            with self.clock.timed(stage):
                return question()
        except VoileError as error:
            if self.strict:
                raise
            return Skipped(name, _clause(error))
        finally:
            if self.subject.release.rows > LARGE:
                return_freed_memory()

    def _measure(self, measure: Measure, telling: Progress) -> Sequence[Measurement] | Skipped:
        telling(f"measure {measure.name}")
        return self.ask("utility", measure.name, lambda: self.subject.measured(measure))


def parted(answers: Iterable[T | Skipped]) -> tuple[tuple[T, ...], tuple[Skipped, ...]]:
    """What was found, and what made no sense."""
    every = tuple(answers)
    found = tuple(one for one in every if not isinstance(one, Skipped))
    return found, tuple(one for one in every if isinstance(one, Skipped))


def _clause(error: VoileError) -> str:
    """The message of an error as a clause."""
    return str(error).rstrip(".")


CountRisks = Callable[
    [Staged, int, Randomness, Callable[[str], None]], Sequence[RiskDocument | Skipped]
]
"""Counts risks on a rehearsal with rows held out: at so many targets, telling its progress."""


@dataclass(frozen=True, eq=False)
class Instruments:
    """Adversaries and measures with their default knowledge and parameters."""

    attacks: tuple[Attack, ...]
    measures: tuple[Measure, ...]
    distributions: Callable[[Comparison], Sequence[ColumnDistribution]]
    """Before and after of each published column."""
    risks: CountRisks | None = None
    """The three risks, where they are asked for."""

    @classmethod
    def standard(cls, attacks: Sequence[str] | None = None, *, measured: bool = True) -> Self:
        """All measures where it is ``measured``, and the adversaries of these names; None: all.

        Raises ``InputError`` for a name that no adversary has.
        """
        # They load what no other command needs.

        names = attack_registry.attack_names() if attacks is None else tuple(dict.fromkeys(attacks))
        return cls(
            tuple(attack_registry.attack_named(name) for name in names),
            utility_protocol.measures() if measured else (),
            _distributions,
        )


def _distributions(compared: Comparison) -> Sequence[ColumnDistribution]:
    """Of each published column, by a module that is loaded when they are asked for."""
    return utility_marginals.distributions(compared)


_NO_REHEARSAL = "no rehearsal could be made"
_NO_ROWS = "the release shows no row"
_RISKS = "three risks"


@dataclass(frozen=True)
class EvidenceTerms:
    """How a release is put to the test; raises ``InputError`` for what cannot be."""

    attacks: tuple[str, ...] | None = None
    """Names of the attacks; None: all of them."""
    targets: int = 1000
    """At how many people each attack is aimed, at least 1."""
    held_out: float = 0.2
    """The share of the rows that a rehearsal leaves out, from 0 to below 1."""

    def __post_init__(self) -> None:
        if isinstance(self.targets, bool) or not isinstance(self.targets, int) or self.targets < 1:
            msg = "the number of targets must be a whole number of at least 1"
            raise InputError(msg)
        if not 0 <= self.held_out < 1:
            msg = "the share of rows that is held out must be at least 0 and below 1"
            raise InputError(msg)


@dataclass(frozen=True, eq=False)
class StudyEvidence(Findings):
    """What was found about a release; private."""

    distributions: Sequence[ColumnDistribution]
    held_out: int
    """Rows that the rehearsal left out; 0 where there was none."""
    persons: Persons | None
    """Who is protected; None where that is each row."""
    rehearsed: tuple[str, ...]
    """Names of the attacks and measures that looked at the rehearsal."""
    seconds: Mapping[str, float]
    """Of each stage."""
    risks: tuple[RiskDocument, ...] = ()
    """Of the rehearsal, beside the rows that it left out."""
    risks_skipped: tuple[Skipped, ...] = ()


def gather(
    staged: Staged,
    instruments: Instruments,
    terms: EvidenceTerms,
    randomness: Randomness,
    progress: Callable[[str], None] = lambda stage: None,
    known: Knowledge | None = None,
) -> StudyEvidence:
    """Let all adversaries and measures look at a release.

    The same ``randomness`` gives the same evidence.  Attacks that know the same of people are aimed
    at the same ones, and leaving an attack or a measure out changes nothing in another.  ``known``
    is what adversaries have besides the release under study; nobody has it for a rehearsal.
    """
    clock = StageClock()
    subject = _RehearsedRelease(staged, terms, randomness, progress, clock)
    run = EvidenceRun(subject, progress, clock)
    told = replace(known or Knowledge(), targets=terms.targets)
    found = run.evidence(instruments.attacks, instruments.measures, told)
    progress("comparing distributions")
    compared = run.ask(
        "utility", "distributions", lambda: subject.distributions(instruments.distributions)
    )
    count = instruments.risks
    counted: Sequence[RiskDocument | Skipped] | Skipped = ()
    if count is not None:
        counted = run.ask("risks", _RISKS, lambda: subject.risks(count))
    risks, risks_skipped = parted((counted,) if isinstance(counted, Skipped) else counted)
    missing = (compared,) if isinstance(compared, Skipped) else ()
    return StudyEvidence(
        attacks=found.attacks,
        attacks_skipped=found.attacks_skipped,
        utility=_trips_first(found.utility),
        utility_skipped=(*found.utility_skipped, *missing),
        distributions=() if isinstance(compared, Skipped) else compared,
        held_out=subject.held_out,
        persons=staged.persons,
        rehearsed=tuple(subject.rehearsed),
        seconds=clock.seconds,
        risks=risks,
        risks_skipped=risks_skipped,
    )


class _RehearsedRelease(ReleaseUnderTest):
    """One release, and the rehearsal once somebody has asked for it."""

    def __init__(
        self,
        staged: Staged,
        terms: EvidenceTerms,
        randomness: Randomness,
        progress: Callable[[str], None],
        clock: StageClock,
    ) -> None:
        super().__init__(staged.release, staged.original, staged.plan, randomness)
        self.staged, self.terms, self.draws = staged, terms, randomness
        self.progress, self.clock = progress, clock
        self.rehearsed: list[str] = []
        """Names of what looked at the rehearsal."""

    def attacked(self, attack: Attack) -> AttackOutcome | Skipped:
        """On the release itself where that can be judged, else on the rehearsal."""
        if not self.release.rows:
            return Skipped(attack.name, _NO_ROWS)
        if attack.needs_absent:
            attack = attack.told(Knowledge(absent=self.rows.held_out))
        if reason := attack.refusal(self.staged.release, self.staged.plan):
            return Skipped(attack.name, reason)
        if attack.needs_absent:
            if self.rows.held_out is None:
                return Skipped(attack.name, "no rows were held out")
            return self._run(attack, self.rehearsal)
        if not attack.counts_by_link or not can_link(self.staged.plan):
            return self._run(attack, self.staged)
        return self._counted(attack)

    def _counted(self, attack: Attack) -> AttackOutcome:
        """An attack whose success is counted on the rehearsal, unless it is on the release."""
        # With noise in its rows a release never tells whose they are: do not ask it in vain.
        disclosure = self.staged.release.disclosure
        if not any(one.graded for one in disclosure.columns.values()):
            outcome = self._run(attack, self.staged)
            series = self.staged.release.series
            if outcome.checked or (series is not None and series.version > 1):
                return outcome  # a rehearsal knows nothing of the releases before: it shows more
            if not disclosure.permuted and disclosure.sampled is None and self.numbered:
                return self._run(attack, self.numbered)
        try:
            return self._run(attack, self.rehearsal)
        except VoileError:  # believed, at least
            return self._run(attack, self.staged)

    def _run(self, attack: Attack, staged: Staged) -> AttackOutcome:
        on_rehearsal = staged not in (self.staged, vars(self).get("numbered"))
        if staged is not self.staged:
            attack = attack.told(Knowledge(link=staged.link, earlier=()))
        draws = self.draws.within("attack")
        outcome = attack.run(staged.release, staged.original, staged.plan, draws)
        if on_rehearsal:
            self.rehearsed.append(attack.name)
            return replace(outcome, notes=(*outcome.notes, *self.sampled))
        return outcome

    def measured(self, measure: Measure) -> Sequence[Measurement] | Skipped:
        """On the release itself where that can be measured, else on the rehearsal."""
        if not self.release.rows:
            return Skipped(measure.name, _NO_ROWS)
        draws = self.draws.within("utility")
        comparison = self.staged.comparison(draws)
        reason = measure.refusal(comparison)
        if reason is None:
            return measure.measure(comparison)
        # The same question with rows held out tells whether these are what is missing.
        if self.rows.held_out is not None:
            absent = People(self.rows.held_out, comparison.original.plan)
            reason = measure.refusal(replace(comparison, held_out=absent))
        if reason is not None:
            return Skipped(measure.name, reason)
        rehearsal = self.rehearsal.comparison(draws)
        if (reason := measure.refusal(rehearsal)) is not None:
            return Skipped(measure.name, reason)
        measured = measure.measure(rehearsal)
        self.rehearsed.append(measure.name)
        return [replace(each, notes=(*each.notes, *self.sampled)) for each in measured]

    def distributions(
        self, compare: Callable[[Comparison], Sequence[ColumnDistribution]]
    ) -> Sequence[ColumnDistribution] | Skipped:
        """How the values of each published column are distributed, before and after."""
        if not self.release.rows:
            return Skipped("distributions", _NO_ROWS)
        return compare(self.staged.comparison(self.draws.within("utility")))

    def risks(self, count: CountRisks) -> Sequence[RiskDocument | Skipped] | Skipped:
        """How often adversaries succeed against people of a rehearsal, and against the others."""
        if not self.release.rows:
            return Skipped(_RISKS, _NO_ROWS)
        if self.rows.held_out is None:
            return Skipped(_RISKS, "no rows were held out")
        draws = self.draws.within("risks")
        found = count(self.rehearsal, self.terms.targets, draws, self.progress)
        self.rehearsed.append(_RISKS)
        return found

    @cached_property
    def rows(self) -> SplitRows:
        """The rows that go into the rehearsal, and those that do not."""
        unit = self.staged.plan.roles.unit
        draws = self.draws.within("held out")
        some = rehearsed_rows(self.original, self.draws.within("rehearsed"), unit)
        return hold_rows_out(some, self.terms.held_out, draws, unit)

    @property
    def sampled(self) -> tuple[str, ...]:
        """That a rehearsal is made of a sample, for whoever reads what looked at it."""
        held_out = self.rows.held_out
        some = len(self.rows.kept) + (0 if held_out is None else len(held_out))
        if some == len(self.original):
            return ()
        return (
            f"of a rehearsal made of {some:,} of {len(self.original):,} rows, a sample that all "
            "share which need one",
        )

    @property
    def held_out(self) -> int:
        """How many rows the rehearsal left out; 0 where nobody looked at one."""
        absent = self.rows.held_out if self.rehearsed else None
        return 0 if absent is None else len(absent)

    @property
    def rehearsal(self) -> Staged:
        """The release made of the rows that were not held out; raises ``VoileError``."""
        if isinstance(self._rehearsal, VoileError):
            msg = f"{_NO_REHEARSAL}: {_clause(self._rehearsal)}"
            raise InputError(msg)
        return self._rehearsal

    @cached_property
    def _rehearsal(self) -> Staged | VoileError:
        """The same, or why there is none: tried once."""
        self.progress("rehearsing")
        with self.clock.timed("rehearsal"):
            try:
                draws, staged = self.draws.within("rehearsal"), self.staged
                made = self.rows.rehearse(staged.plan, draws, staged.engine, staged.release)
            except VoileError as error:
                return error
        return replace(made, of=staged) if made.release.rows else InputError(_NO_ROWS)

    @cached_property
    def numbered(self) -> Staged | None:
        """The release made once more with numbers of rows; None where that shows other rows.

        None, too, of more rows than a rehearsal is made of.
        """
        if len(self.original) > MANY:
            return None
        self.progress("numbering rows")
        with self.clock.timed("rehearsal"), suppress(VoileError):
            draws, staged = self.draws.within("numbered"), self.staged
            rows, engine = SplitRows(staged.original, None), staged.engine
            made = rows.rehearse(staged.plan, draws, engine, staged.release)
            assert made.link is not None
            if fingerprint(made.release.without(made.link)) == fingerprint(staged.release):
                return made
        return None


def _trips_first(measured: Iterable[Measurement]) -> tuple[Measurement, ...]:
    """Of trips, what they are off by says most; all else in the order in which it was measured."""
    return tuple(sorted(measured, key=lambda one: not one.measure.startswith("trip-")))
