"""Evidence about one release: what adversaries make of it, and what it is still good for; private.

Every attack and every measure looks at the release under study where that can be judged.  What
needs people who are not in the release, or rows whose numbers can be told, looks at a rehearsal
(``rehearsal``), which is made when the first asks for it; whose name stands under ``rehearsed`` was
judged by that.  An attack whose success on the release could only be believed is counted where rows
carry their numbers: on the release itself, made once more with all rows and their numbers, if that
shows the same, as a method without chance does; else on the rehearsal.  So risks in closed form are
those of the release, of all rows.

An attack or a measure that makes no sense for the release, or that fails with an error that a
caller can act upon, is left out with its reason, and spoils nothing else.  Any other error is a
fault of Voile and ends the study.

What puts a release to the test: the adversaries and the measures that a study asks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, Self

from voile.attack.protocol import Attack, AttackOutcome, Knowledge
from voile.study.record import RiskDocument, Skipped
from voile.study.rehearsal import (
    Persons,
    SplitRows,
    Staged,
    can_link,
    fingerprint,
    hold_rows_out,
    rehearse,
)
from voile.utility.protocol import Comparison, Measure, Measurement
from voile_base.errors import InputError, VoileError
from voile_base.ondemand import on_demand
from voile_base.randomness import Randomness

if TYPE_CHECKING:
    from voile.attack import registry as attack_registry
    from voile.utility import marginals as utility_marginals
    from voile.utility import protocol as utility_protocol
else:
    attack_registry = on_demand("voile.attack.registry")
    utility_marginals = on_demand("voile.utility.marginals")
    utility_protocol = on_demand("voile.utility.protocol")

__all__ = ["CountRisks", "EvidenceTerms", "Instruments", "StudyEvidence", "gather"]


CountRisks = Callable[
    [Staged, int, Randomness, Callable[[str], None]], Sequence[RiskDocument | Skipped]
]
"""Counts risks on a rehearsal with rows held out: at so many targets, telling its progress."""


@dataclass(frozen=True, eq=False)
class Instruments:
    """Adversaries and measures with their default knowledge and parameters."""

    attacks: tuple[Attack, ...]
    measures: tuple[Measure, ...]
    distributions: Callable[[Comparison], Sequence[Any]]
    """Before and after of each published column: objects with the fields of ``Distribution``."""
    risks: CountRisks | None = None
    """The three risks, where they are asked for."""

    @classmethod
    def standard(cls, attacks: Sequence[str] | None = None) -> Self:
        """All measures, and the adversaries of these names; None: all of them.

        Raises ``InputError`` for a name that no adversary has.
        """
        # They load what no other command needs.

        names = attack_registry.attack_names() if attacks is None else tuple(dict.fromkeys(attacks))
        return cls(
            tuple(attack_registry.attack_named(name) for name in names),
            utility_protocol.measures(),
            utility_marginals.distributions,
        )


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
class StudyEvidence:
    """What was found about a release; private."""

    attacks: tuple[AttackOutcome, ...]
    attacks_skipped: tuple[Skipped, ...]
    utility: tuple[Measurement, ...]
    utility_skipped: tuple[Skipped, ...]
    distributions: Sequence[Any]
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

    The same ``randomness`` gives the same evidence, and every attack and measure draws by itself:
    leaving one out changes nothing in another.  ``known`` is what adversaries have besides the
    release under study; nobody has it for a rehearsal.
    """
    told = replace(known or Knowledge(), targets=terms.targets)
    test = _Test(staged, terms, randomness, progress, told)
    attacks = [test.attack(attack) for attack in instruments.attacks]
    measured = [test.measure(measure) for measure in instruments.measures]
    distributions, missing = test.distributions(instruments.distributions)
    risks = test.risks(instruments.risks) if instruments.risks else ()
    return StudyEvidence(
        attacks=tuple(found for found in attacks if isinstance(found, AttackOutcome)),
        attacks_skipped=tuple(found for found in attacks if isinstance(found, Skipped)),
        utility=_trips_first(
            one for found in measured if not isinstance(found, Skipped) for one in found
        ),
        utility_skipped=(*(found for found in measured if isinstance(found, Skipped)), *missing),
        distributions=distributions,
        held_out=test.held_out,
        persons=staged.persons,
        rehearsed=tuple(test.rehearsed),
        seconds=test.seconds,
        risks=tuple(found for found in risks if not isinstance(found, Skipped)),
        risks_skipped=tuple(found for found in risks if isinstance(found, Skipped)),
    )


@dataclass
class _Test:
    """One release, and the rehearsal once somebody has asked for it."""

    staged: Staged
    terms: EvidenceTerms
    randomness: Randomness
    progress: Callable[[str], None]
    known: Knowledge
    rehearsed: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    _rows: SplitRows | None = None
    _rehearsal: Staged | VoileError | None = None
    _numbered: Staged | None = None
    _numbering_tried: bool = False

    def attack(self, attack: Attack) -> AttackOutcome | Skipped:
        """What an adversary makes of the release, or why he was not asked."""
        if not self.staged.release.rows:
            return Skipped(attack.name, _NO_ROWS)
        attack = attack.told(self.known)
        self.progress(f"attack: {attack.name}")
        try:
            with self._timed("attacks"):
                return self._attacked(attack)
        except VoileError as error:
            return Skipped(attack.name, _clause(error))

    def _attacked(self, attack: Attack) -> AttackOutcome | Skipped:
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
            if outcome.checked:
                return outcome
            if not disclosure.permuted and disclosure.sampled is None and self.numbered:
                return self._run(attack, self.numbered)
        try:
            return self._run(attack, self.rehearsal)
        except VoileError:  # believed, at least
            return self._run(attack, self.staged)

    def _run(self, attack: Attack, staged: Staged) -> AttackOutcome:
        on_rehearsal = staged is not self.staged and staged is not self._numbered
        if staged is not self.staged:
            attack = attack.told(Knowledge(link=staged.link, earlier=()))
        draws = self.randomness.within("attack", attack.name)
        outcome = attack.run(staged.release, staged.original, staged.plan, draws)
        if on_rehearsal:
            self.rehearsed.append(attack.name)
        return outcome

    def measure(self, measure: Measure) -> Sequence[Measurement] | Skipped:
        """What the release is good for, or why that was not measured."""
        if not self.staged.release.rows:
            return Skipped(measure.name, _NO_ROWS)
        self.progress(f"utility: {measure.name}")
        try:
            with self._timed("utility"):
                return self._measured(measure)
        except VoileError as error:
            return Skipped(measure.name, _clause(error))

    def _measured(self, measure: Measure) -> Sequence[Measurement] | Skipped:
        draws = self.randomness.within("utility")
        comparison = self.staged.comparison(draws)
        reason = measure.refusal(comparison)
        if reason is None:
            return measure.measure(comparison)
        # The same question with rows held out tells whether these are what is missing.
        if self.rows.held_out is not None:
            with_absent = replace(self.staged, held_out=self.rows.held_out)
            reason = measure.refusal(with_absent.comparison(draws))
        if reason is not None:
            return Skipped(measure.name, reason)
        rehearsal = self.rehearsal.comparison(draws)
        if (reason := measure.refusal(rehearsal)) is not None:
            return Skipped(measure.name, reason)
        measured = measure.measure(rehearsal)
        self.rehearsed.append(measure.name)
        return measured

    def distributions(
        self, compare: Callable[[Comparison], Sequence[Any]]
    ) -> tuple[Sequence[Any], tuple[Skipped, ...]]:
        """How the values of each published column are distributed, before and after."""
        if not self.staged.release.rows:
            return (), (Skipped("distributions", _NO_ROWS),)
        self.progress("comparing distributions")
        try:
            with self._timed("utility"):
                return compare(self.staged.comparison(self.randomness.within("utility"))), ()
        except VoileError as error:
            return (), (Skipped("distributions", _clause(error)),)

    def risks(self, count: CountRisks) -> Sequence[RiskDocument | Skipped]:
        """How often adversaries succeed against people of a rehearsal, and against the others."""
        if not self.staged.release.rows:
            return (Skipped(_RISKS, _NO_ROWS),)
        if self.rows.held_out is None:
            return (Skipped(_RISKS, "no rows were held out"),)
        try:
            rehearsal = self.rehearsal
            with self._timed("risks"):
                draws = self.randomness.within("risks")
                found = count(rehearsal, self.terms.targets, draws, self.progress)
        except VoileError as error:
            return (Skipped(_RISKS, _clause(error)),)
        self.rehearsed.append(_RISKS)
        return found

    @property
    def rows(self) -> SplitRows:
        """The rows that go into the rehearsal, and those that do not."""
        if self._rows is None:
            draws = self.randomness.within("held out")
            unit = self.staged.plan.roles.unit
            self._rows = hold_rows_out(self.staged.original, self.terms.held_out, draws, unit)
        return self._rows

    @property
    def held_out(self) -> int:
        """How many rows the rehearsal left out; 0 where nobody looked at one."""
        absent = self.rows.held_out if self.rehearsed else None
        return 0 if absent is None else len(absent)

    @property
    def rehearsal(self) -> Staged:
        """The release made of the rows that were not held out; raises ``VoileError``."""
        if self._rehearsal is None:
            self.progress("rehearsing")
            with self._timed("rehearsal"):
                try:
                    draws, staged = self.randomness.within("rehearsal"), self.staged
                    self._rehearsal = rehearse(self.rows, staged.plan, draws, staged.engine)
                    if not self._rehearsal.release.rows:
                        self._rehearsal = InputError(_NO_ROWS)
                except VoileError as error:
                    self._rehearsal = error
        if isinstance(self._rehearsal, VoileError):
            msg = f"{_NO_REHEARSAL}: {_clause(self._rehearsal)}"
            raise InputError(msg)
        return self._rehearsal

    @property
    def numbered(self) -> Staged | None:
        """The release made once more with numbers of rows; None where that shows other rows."""
        if not self._numbering_tried:
            self._numbering_tried = True
            self.progress("numbering rows")
            with self._timed("rehearsal"), suppress(VoileError):
                draws, staged = self.randomness.within("numbered"), self.staged
                made = rehearse(SplitRows(staged.original, None), staged.plan, draws, staged.engine)
                assert made.link is not None
                if fingerprint(made.release.without(made.link)) == fingerprint(staged.release):
                    self._numbered = made
        return self._numbered

    @contextmanager
    def _timed(self, stage: str) -> Iterator[None]:
        """Add what passes to the seconds of a stage; a rehearsal counts for itself alone."""
        before = sum(self.seconds.values())
        started = perf_counter()
        try:
            yield
        finally:
            inner = sum(self.seconds.values()) - before
            taken = perf_counter() - started - inner
            self.seconds[stage] = self.seconds.get(stage, 0.0) + taken


def _trips_first(measured: Iterable[Measurement]) -> tuple[Measurement, ...]:
    """Of trips, what they are off by says most; all else in the order in which it was measured."""
    return tuple(sorted(measured, key=lambda one: not one.measure.startswith("trip-")))


def _clause(error: VoileError) -> str:
    """The message of an error as a clause."""
    return str(error).rstrip(".")
