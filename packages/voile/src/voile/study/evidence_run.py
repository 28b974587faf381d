"""One run of evidence: adversaries and measures look at one release, and what came of it; private.

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

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, TypeVar

from voile.attack.protocol import Attack, AttackOutcome, Knowledge
from voile.release.reading.rows import People, PublishedRows
from voile.release.release import Release
from voile.schema.plan import Plan
from voile.study.record import Skipped
from voile.utility.protocol import Comparison, Measure, Measurement
from voile_base.errors import VoileError
from voile_base.randomness import Randomness

__all__ = ["EvidenceRun", "Findings", "ReleaseUnderTest", "StageClock", "clause", "parted"]

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
        people = People(self.original, self.plan)
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
        found, attacks_skipped = parted(self._attack(attack, known) for attack in attacks)
        measured, utility_skipped = parted(self._measure(measure) for measure in measures)
        utility = tuple(one for several in measured for one in several)
        return Findings(found, attacks_skipped, utility, utility_skipped)

    def _attack(self, attack: Attack, known: Knowledge) -> AttackOutcome | Skipped:
        """What an adversary makes of the release, or why he was not asked."""
        self.progress(f"attack: {attack.name}")
        return self.ask("attacks", attack.name, lambda: self.subject.attacked(attack.told(known)))

    def ask(self, stage: str, name: str, question: Callable[[], T | Skipped]) -> T | Skipped:
        """The answer to a question, or why there is none; what it takes counts for a stage."""
        try:
            with self.clock.timed(stage):
                return question()
        except VoileError as error:
            if self.strict:
                raise
            return Skipped(name, clause(error))

    def _measure(self, measure: Measure) -> Sequence[Measurement] | Skipped:
        self.progress(f"utility: {measure.name}")
        return self.ask("utility", measure.name, lambda: self.subject.measured(measure))


def parted(answers: Iterable[T | Skipped]) -> tuple[tuple[T, ...], tuple[Skipped, ...]]:
    """What was found, and what made no sense."""
    every = tuple(answers)
    found = tuple(one for one in every if not isinstance(one, Skipped))
    return found, tuple(one for one in every if isinstance(one, Skipped))


def clause(error: VoileError) -> str:
    """The message of an error as a clause."""
    return str(error).rstrip(".")
