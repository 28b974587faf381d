"""A policy held against a release and its evidence.

Whatever the policy says, a release that was made with a seed fails: others may know the seed.  So
does an audit that was, for somebody may have chosen among seeds; and so does a file of another make
that shows a column which its plan does not let out.  What no adversary could read in such a file
passes where somebody has ticked it.  What was not assessed fails, unless somebody waives it by name
and reason.

``verdict.json``: each criterion of a policy with its figure and ruling; private.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

from voile.audit.record import COPYING, RE_IDENTIFICATION, AuditRecord
from voile.policy.case import Case, FileDocument
from voile.policy.criteria.measured import asked
from voile.policy.criteria.risks import Copies, ReIdentified, ThreeRisks, WorstOff
from voile.policy.remedies import HUMAN, remedy_text
from voile.policy.ruling import (
    ASSUMPTIONS,
    Ruling,
    Tick,
    Waiver,
    read_ticks,
    read_waivers,
    with_form,
)
from voile.policy.stated import Policy, StatedPolicy
from voile.release.release import Release
from voile.study.documents import json_text, schema_of, without_heading
from voile.study.record import PRIVATE, PolicyFindings, StudyRecord
from voile.study.verdict import IDENTIFICATION
from voile_base.durable import replace_private_file
from voile_base.errors import InputError, TableError
from voile_base.ondemand import dataclass
from voile_base.randomness import UNFIT
from voile_base.values import Document, Json
from voile_base.values.value import Several, checked, plain

__all__ = [
    "NO_ADVICE",
    "VERDICT",
    "PolicyJudge",
    "Verdict",
    "form_of",
    "judge",
    "keep",
    "narrowly_met",
    "risks_asked",
    "rulings_unwritten",
    "verdict_schema",
]


VERDICT = "verdict.json"
VERDICT_FORMAT = "voile-verdict-1"
NO_ADVICE = (
    "This is evidence, held against figures that somebody has chosen. It is no legal advice, and "
    "no finding that the law is kept"
)


@checked(InputError)
@dataclass(frozen=True)
class Verdict:
    """What a policy says to a release and its evidence; private."""

    policy: str
    """The name of the policy."""
    text: str
    """All of it, as it was stated."""
    judged: Literal["study", "audit", "release"]
    files: Several[FileDocument]
    """What is published."""
    rulings: Several[Ruling]
    advice: str = NO_ADVICE
    rests_on: Several[str] = field(default=(), compare=False)
    """What was taken on trust, in sentences: the tables of an audit, and the words of persons."""

    @property
    def passed(self) -> bool:
        """Whether every criterion is met; signatures are not among them."""
        return all(ruling.passed for ruling in self.rulings)

    def stated_policy(self) -> Policy:
        """The policy that a verdict is of; raises ``InputError`` where its text states none."""
        return StatedPolicy.of_text(self.text, "the verdict's policy").policy

    def document(self) -> Json:
        """A verdict for JSON; the first key says that it is private."""
        return {"private": PRIVATE, "format": VERDICT_FORMAT, **plain(self)}

    @staticmethod
    def read(path: Path) -> Verdict:
        """Read a verdict back; raises ``InputError`` where the file holds none."""
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            msg = f"{path}: there is no verdict; run voile check first"
            raise InputError(msg) from None
        except (OSError, ValueError):
            document = None
        if not isinstance(document, dict) or document.get("format") != VERDICT_FORMAT:
            msg = (
                f"{path}: this is no verdict in the format {VERDICT_FORMAT}; run voile check again"
            )
            raise InputError(msg)
        try:
            return Verdict(**without_heading(document))
        except (InputError, TypeError) as error:
            msg = f"{path}: {error}; run voile check again"
            raise InputError(msg) from None


def verdict_schema() -> Json:
    """The schema of ``verdict.json``, for programs that read it."""
    return schema_of("Voile: the verdict of a policy (private)", VERDICT_FORMAT, Verdict)


def judge(case: Case, stated: StatedPolicy) -> Verdict:
    """What a policy says to a case; writes nothing.  Raises a ``VoileError`` as its files do."""
    ticks: tuple[Tick, ...] = ()
    waivers: tuple[Waiver, ...] = ()
    if case.private is not None:
        ticks = read_ticks(case.private / ASSUMPTIONS)
        waivers = read_waivers(case.private / ASSUMPTIONS)
    rulings = [*_rulings(case, stated, ticks)]
    for waiver in waivers:
        rulings = [waiver.of(ruling) for ruling in rulings]
    return Verdict(
        policy=stated.policy.name,
        text=stated.text,
        judged=case.kind,
        files=case.files,
        rulings=tuple(rulings),
        rests_on=(*_tables_trusted(case), *_words_trusted(rulings)),
    )


def _tables_trusted(case: Case) -> Iterator[str]:
    """The tables that an audit was given, by their digests, and what it cannot know of them."""
    record = case.record
    if not isinstance(record, AuditRecord) or record.run is None:
        return
    told = " and ".join(
        f"the {name} ({record.rows[name]:,} rows, digest {record.run['inputs'][name]})"
        for name in ("original", "control")
        if name in record.rows and name in record.run["inputs"]
    )
    yield (
        f"The verdict rests on {told} as the auditor was given them: of persons who were taken "
        "out of the original nothing was asked, and who chooses the control chooses what counts "
        "as told of everybody"
    )


def _words_trusted(rulings: Sequence[Ruling]) -> Iterator[str]:
    """How much passes by the word of a person."""
    ticked = sum(one.passed and one.kind in {"unexamined", "recipient"} for one in rulings)
    waived = sum(bool(one.waived) for one in rulings)
    parts = [f"{ticked} statement{'s' * (ticked > 1)} about the file or its recipient"] * (
        ticked > 0
    )
    parts += [f"{waived} waiver{'s' * (waived > 1)}"] * (waived > 0)
    if parts:
        yield (
            f"It rests on the word of persons, too, in {' and '.join(parts)}: who they are, and "
            "that they looked, is for the signers to know"
        )


def form_of(case: Case, stated: StatedPolicy) -> Path | None:
    """The file in which humans tick, with all that is asked of them; None where nothing is."""
    if case.private is None:
        return None
    assumed = case.release.guarantee.assumes if case.release else ()
    path = case.private / ASSUMPTIONS
    with_form(path, (*assumed, *case.unexamined, *stated.policy.questions))
    return path if path.is_file() else None


def keep(case: Case, verdict: Verdict) -> Path | None:
    """Write the verdict beside the evidence, in the place of an earlier one; None without any."""
    if case.private is None:
        return None
    path = case.private / VERDICT
    replace_private_file(path, json_text(verdict.document()))
    return path


def _rulings(case: Case, stated: StatedPolicy, ticks: tuple[Tick, ...]) -> Iterator[Ruling]:
    if not case.publishable:
        yield Ruling(
            "publishable",
            "the release is fit for publication",
            passed=False,
            why=UNFIT,
            of_original=False,
        )
    if case.experiment:
        yield Ruling(
            "evidence",
            "the targets of the audit were chosen by nobody",
            passed=False,
            why="they were drawn with --seed, of which several may have been tried; audit without",
        )
    for name, why in case.unfit.items():
        asks = f"column {name!r} may be published"
        yield Ruling("column", asks, passed=False, why=why, of_original=True, columns=(name,))
    for name, share in case.called_missing.items():
        asks = f"values of column {name!r} are not called missing"
        why = (
            f"not assessed: the plan calls {share:.2%} of the original's cells missing by words "
            "that are no marks of missing values, and all figures leave these people's values out; "
            "take the words from missing and audit again, or waive it"
        )
        yield replace(Ruling.at_most("missing", asks, why, 0), columns=(name,))
    for asks, why in case.not_assessed.items():
        yield Ruling.at_most("together", asks, f"not assessed: {why}, or waive it", 0)
    for says, columns in case.unexamined.items():
        yield asked("unexamined", says, ticks, columns=columns)
    for says in stated.policy.recipient.questions if stated.policy.recipient else ():
        yield asked("recipient", says, ticks)
    for criterion in stated.policy.criteria:
        try:
            yield from criterion.rulings(case, ticks)
        except TableError as error:
            why = str(error).rstrip(".")
            yield Ruling(criterion.kind, criterion.kind, passed=False, why=why)


@dataclass(frozen=True, eq=False)
class _Unwritten(Case):
    """A release that was not written, and what was found of it."""

    made: Release

    @cached_property
    def files(self) -> tuple[FileDocument, ...]:
        """None: nothing stands on disk."""
        return ()

    @cached_property
    def document(self) -> Document | None:
        """What ``release.json`` would say."""
        return self.made.document()

    @cached_property
    def release(self) -> Release | None:
        """The release, whose claims its publication has checked."""
        return self.made


def rulings_unwritten(
    release: Release, record: StudyRecord, stated: StatedPolicy
) -> tuple[Ruling, ...]:
    """What a policy says to a release that was not written, but for what a person confirms."""
    place = Path()
    case = _Unwritten("study", place, None, place, record, release)
    return tuple(one for one in judge(case, stated).rulings if one.kind not in HUMAN)


@dataclass(frozen=True)
class PolicyJudge:
    """Tells which criteria of a policy, of those that figures decide, a study fails or nearly."""

    stated: StatedPolicy

    def __call__(self, release: Release, record: StudyRecord) -> PolicyFindings:
        """By their words, each with its figure, and what may help."""
        rulings = rulings_unwritten(release, record, self.stated)
        parameters = {k: v for k, v in record.plan["method"].items() if k != "name"}
        later = release.series is not None and release.series.version > 1
        return PolicyFindings(
            tuple(_told(one, parameters, later=later) for one in rulings if not one.passed),
            narrowly_met(rulings),
        )

    @property
    def risks(self) -> frozenset[str]:
        """The risks of a rehearsal that are to be counted for it."""
        return frozenset(risks_asked(self.stated.policy.criteria))


_DRAWN = frozenset({"risk", "attack", "worst-off", "re-identification", "utility"})
"""Kinds of criteria whose figures another release may have otherwise."""
_NEAR = 0.1
"""Of a limit."""


def narrowly_met(rulings: Sequence[Ruling]) -> tuple[str, ...]:
    """The criteria that a figure, or its interval, meets within a tenth of the limit, in words."""
    return tuple(_narrow_text(one) for one in rulings if _is_narrow(one))


def _is_narrow(ruling: Ruling) -> bool:
    """Whether a figure, or its interval, passes within a tenth of the limit.

    None that groups promise, which a release keeps whatever is drawn.
    """
    promised = ruling.subject in IDENTIFICATION and ruling.low == ruling.high
    if not ruling.passed or ruling.kind not in _DRAWN or promised or ruling.limit in {None, 0, 1}:
        return False
    if ruling.side == "most":
        return (ruling.high or 0) >= (1 - _NEAR) * (ruling.limit or 0)
    return (ruling.low or 0) <= (1 + _NEAR) * (ruling.limit or 0)


def _narrow_text(ruling: Ruling) -> str:
    """A criterion that is met narrowly, with its figure and its limit."""
    value, low, high, limit = (
        f"{one or 0:.4g}" if ruling.kind == "utility" else f"{100 * (one or 0):.3g} %"
        for one in (ruling.value, ruling.low, ruling.high, ruling.limit)
    )
    interval = "" if ruling.low == ruling.high else f" ({low} to {high})"
    why = f" ({ruling.why})" if ruling.why else ""
    asks = f"{ruling.asks}{why}: met, narrowly"
    return f"{asks}: {value}{interval} of at {ruling.side} {limit}"


def _told(ruling: Ruling, parameters: Document, *, later: bool) -> str:
    """A criterion that is not met, with its figure, and what may help."""
    found = " ".join(one for one in (ruling.figure, ruling.why) if one)
    help_ = remedy_text(ruling, parameters, later=later)
    return f"{ruling.asks}{': ' if found else ''}{found}. What may help: {help_}"


def risks_asked(criteria: Sequence[object]) -> Iterator[str]:
    """Names of the risks of a rehearsal that criteria ask for."""
    for one in criteria:
        if isinstance(one, ThreeRisks):
            yield one.name
        elif isinstance(one, Copies | WorstOff):
            yield COPYING
        elif isinstance(one, ReIdentified):
            yield RE_IDENTIFICATION
