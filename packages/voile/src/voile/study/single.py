"""One study: publish a table as its plan says, and put the release to the test before it appears.

Read, bind roles, open the transaction, pay, publish, stage, check, attack, measure, record, commit
the ledger, appear.

The evidence comes before the commit.  Attacks and measures may take long and may fail; whatever
goes wrong with them, no series has grown, and nothing stands at its place.  What the release spends
was charged before it was drawn, and stays charged.  The evidence appears in one folder with the
release, so that no custodian can look at it, refuse the release, and draw again for free.  What
remains after the commit is writing what is ready.

    DIR/release/   data and release.json: to be published, if it was not made with a seed
    DIR/private/   record.json and the report: computed with the private original, never to leave

What else looks at the release, such as who follows its trips on a map, is a
``_FurtherEvidence``: it looks with the attacks, and its documents appear in the private folder.

Which people attacks aim at follows from the published files, unless a seed says it: publishing the
same rows again does not change the evidence.

How a plan's method chooses groups, for an adversary who knows it (``attack.minimality``).

Putting a study on record: from what was published and found to plain values; private.

What an adversary of a series has besides a release is earlier ones, and when people arrived.

Earlier releases are those that stand beside the place of the study, or in folders that are named,
and that the ledger knows; a study with a seed looks at those that are named alone.  Before which
release each row arrived is what the ledger's marks tell (``table.matching``), in series of
(k,e)-anonymity, whose rows wait.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from decimal import Decimal
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol

from voile.attack.protocol import ARRIVED, Knowledge
from voile.attack.worlds import GroupChoice
from voile.disclosure.shown import Disclosure
from voile.publish.registry import publisher_for
from voile.release.history import History
from voile.release.recounting import read_recounted
from voile.release.release import Publication
from voile.schema.numbers import json_number
from voile.schema.plan import Plan
from voile.study.documents import json_text, record_document
from voile.study.evidence import EvidenceTerms, Instruments, StudyEvidence, gather
from voile.study.original import Original, names_of_columns
from voile.study.plans import StatedPlan, json_value
from voile.study.record import Distribution, PublicationDocument, RecordedRelease, StudyRecord
from voile.study.rehearsal import Persons, Staged, fingerprint
from voile.study.run import PendingRelease, ReleaseStaging, prepare_release
from voile.table.engines import AUTO, engine_of
from voile.table.keeping import KeptRows
from voile.table.lakes import brought
from voile.table.opening import open_frame
from voile.table.protocol import Engine
from voile.table.summaries import KnownRows
from voile_base.durable import write_text
from voile_base.errors import InputError
from voile_base.ondemand import dataclass
from voile_base.randomness import Randomness
from voile_base.values import Document
from voile_base.version import VERSION

__all__ = [
    "Study",
    "Subject",
    "chooser",
    "make_study",
    "put_on_record",
    "run_study",
    "versions",
]


def _known_in_series(
    pending: PendingRelease, plan: Plan, original: object, engine: Engine | str = AUTO
) -> Knowledge:
    """What is known of the series of a release that has not appeared; nothing where it has none.

    ``original`` is a data frame of the table.  Raises ``TableError`` where an earlier release
    cannot be read.
    """
    history = pending.publication.history
    if history is None:
        return Knowledge()
    folders = pending.transaction.earlier()
    earlier = tuple(read_recounted(folder, engine=engine) for folder in folders)
    waits = not history.terms.people_leave
    arrived = _arrivals(history, pending.transaction.before, plan, original) if waits else None
    return Knowledge(earlier=earlier or None, arrivals=arrived)


def _arrivals(history: History, before: History | None, plan: Plan, original: object) -> Any:
    record_key, latest = history.terms.record_key, history.versions[-1].published
    held = before.latest.held if before and before.latest else KeptRows()
    earlier = before.known if before else KnownRows()
    # The newest marks are of the engine that made them, and the table is a data frame.
    newest = latest.open(engine_of(AUTO)).to_arrow() if latest.height else None
    marks = KeptRows() if newest is None else KeptRows.of_table(newest)
    known = KnownRows((*earlier.published, marks), held, len(history.versions))
    table = open_frame(original, plan, record_key=record_key, engine="polars")
    return table.arrivals(known, history.key, record_key, ARRIVED)


def chooser(plan: Plan, engine: Engine | str = AUTO) -> Callable[[Any], GroupChoice] | None:
    """What gives the groups that a plan's method chooses for a data frame; None where none does.

    That raises ``VoileError`` as publishing does.  Raises ``PlanError`` for a wrong method.
    """
    if plan.method is None:
        return None
    choose = getattr(publisher_for(plan), "chosen_groups", None)
    if choose is None:
        return None

    def chosen(original: Any) -> GroupChoice:
        found: GroupChoice = choose(open_frame(original, plan, engine=engine))
        return found

    return chosen


_LIBRARIES = ("polars", "numpy", "scipy", "numba", "scikit-learn")
_RELEASE = (
    "format",
    "method",
    "guarantee",
    "rows",
    "publishable",
    "release_id",
    *Disclosure.model_fields,
    "roles",
)


@dataclass(frozen=True)
class Subject:
    """What is studied."""

    stated: StatedPlan
    seed: int | None = None
    parameters: Document | None = None
    """By which it differs from others of its grid."""


def put_on_record(
    subject: Subject,
    publication: Publication,
    evidence: StudyEvidence,
    terms: EvidenceTerms,
    seconds: Mapping[str, float],
    notices: Sequence[str] = (),
) -> StudyRecord:
    """The record of one study; ``notices`` are added to those of the publication."""
    stages = {**seconds, **evidence.seconds}
    return StudyRecord(
        name=subject.stated.name,
        parameters=json_value(subject.parameters or {}),
        plan=subject.stated.document,
        seed=subject.seed,
        release=_release(publication),
        publication=_private(publication, notices, evidence.persons),
        attacks=tuple(json_value(found.document()) for found in evidence.attacks),
        attacks_skipped=evidence.attacks_skipped,
        utility=tuple(json_value(found.document()) for found in evidence.utility),
        utility_skipped=evidence.utility_skipped,
        distributions=tuple(map(_distribution, evidence.distributions)),
        evidence={
            "targets": terms.targets,
            "held_out": evidence.held_out,
            "rehearsed": list(evidence.rehearsed),
        },
        versions=versions(),
        seconds={stage: round(taken, 3) for stage, taken in stages.items()},
        fingerprint=fingerprint(publication.release),
        risks=evidence.risks,
        risks_skipped=evidence.risks_skipped,
    )


def versions() -> dict[str, str]:
    """Of Voile, Python and the libraries whose numbers matter, as far as they are installed."""
    found = {"voile": VERSION, "python": platform.python_version()}
    for library in _LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            continue
    return found


def _release(publication: Publication) -> RecordedRelease:
    document = publication.release.document()
    stated: Any = {key: json_value(document[key]) for key in _RELEASE if key in document}
    return stated  # type: ignore[no-any-return]


def _private(
    publication: Publication, more: Sequence[str], persons: Persons | None
) -> PublicationDocument:
    private = publication.private
    document: PublicationDocument = {
        "rows_in": private.rows_in,
        "rows_out": private.rows_out,
        "suppressed": private.suppressed,
        "held": private.held,
        "carried": private.carried,
        "objective": json_number(Decimal(private.objective)),
        "summary": private.summary,
        "notices": [*private.notices, *more],
    }
    if persons is not None:
        document["protected"] = persons.protected
        document["units_in"] = persons.all_of_them
        document["units_out"] = persons.published
    return document


def _distribution(found: object) -> Distribution:
    """The same values as the record's own type, plain."""
    values = {field.name: getattr(found, field.name) for field in fields(Distribution)}
    for name in ("labels", "before", "after", "edges"):
        values[name] = None if values[name] is None else tuple(json_value(values[name]))
    return Distribution(**values)


PRIVATE_FOLDER = 0o700


class _FurtherEvidence(Protocol):
    """Further evidence about a release; private."""

    def look(self, staged: Staged, randomness: Randomness, progress: Callable[[str], None]) -> None:
        """Look at the release, before it appears; what cannot be done is no error."""

    @property
    def documents(self) -> Mapping[str, str]:
        """What was found: texts by the names of files in the private folder."""


@dataclass(frozen=True, eq=False)
class Study:
    """A release that appeared, and the evidence about it; private."""

    publication: Publication
    record: StudyRecord
    report: str | None
    """The report in HTML; None where none was asked for or none could be drawn."""
    no_report: str = ""
    """Why none could be drawn, and what would help."""


def run_study(  # noqa: PLR0913 - what a custodian may say of one study
    source: object,
    plan: Plan | str | Path,
    out: str | Path | None = None,
    *,
    ledger: str | Path | None = None,
    seed: int | None = None,
    attacks: Sequence[str] | None = None,
    targets: int = 1000,
    held_out: float = 0.2,
    known: Sequence[str | Path] = (),
) -> StudyRecord:
    """Publish a table as a plan says, put the release to the test, and record it all; private.

    ``source``, ``plan``, ``ledger`` and ``seed`` are those of ``make_release``.  ``out`` is a new
    folder for the release and the record, or None to write nothing; a series or a budget is charged
    all the same.  ``attacks`` names the attacks to run, all by default, each aimed at ``targets``
    people; ``held_out`` is the share of the rows that the rehearsal leaves out.  ``known`` names
    folders with further releases; of a series, adversaries have those and what stands beside
    ``out``.

    Raises a ``VoileError`` as ``make_release`` does, and ``InputError`` for an unknown attack; then
    nothing stands at ``out``.
    """
    terms = EvidenceTerms(None if attacks is None else tuple(attacks), targets, held_out)
    return make_study(source, plan, out, ledger=ledger, seed=seed, terms=terms, known=known).record


def make_study(  # noqa: PLR0913 - what ``run_study`` is told, and how to draw and show it
    source: object,
    plan: Plan | str | Path,
    out: str | Path | None = None,
    *,
    ledger: str | Path | None = None,
    seed: int | None = None,
    terms: EvidenceTerms | None = None,
    instruments: Instruments | None = None,
    render: Callable[[StudyRecord], str] | None = None,
    beside: _FurtherEvidence | None = None,
    engine: Engine | str = AUTO,
    known: Sequence[str | Path] = (),
    progress: Callable[[str], None] = lambda stage: None,
) -> Study:
    """A study with its report; ``render`` makes it of the record, and may raise ``InputError``.

    ``engine`` holds the rows, or is its name; ``instruments`` take the place of the standard ones,
    and ``beside`` looks before the report is drawn.
    Otherwise as ``run_study``.
    """
    terms = terms or EvidenceTerms()
    instruments = instruments or Instruments.standard(terms.attacks)
    stated = StatedPlan.of(plan)
    stated.plan.refuse_open_questions()
    randomness = Randomness.secure() if seed is None else Randomness.seeded(seed)
    started = perf_counter()
    with ReleaseStaging(out, "the study", within="release") as stage, brought(source) as table:
        pending = prepare_release(
            table,
            stated.plan,
            stage,
            ledger=ledger,
            randomness=randomness,
            engine=engine,
            known=known,
            progress=progress,
        )
        seconds = {"publish": perf_counter() - started}
        with pending.transaction.attempt():
            publication = pending.transaction.told(pending.publication)
            original = Original.read(table, stated.plan, engine)
            staged = Staged(publication.release, stated.plan, original.frame, engine=engine)
            series = _known_in_series(pending, stated.plan, original.frame, engine)
            known_to_him = replace(series, choice_of=chooser(stated.plan, engine))
            draws = _draws_of_evidence(randomness, stage)
            evidence = gather(
                staged, instruments, terms, draws.within("study"), progress, known_to_him
            )
            documents = _looked(beside, staged, draws.within("beside"), progress)
            record = put_on_record(Subject(stated, seed), publication, evidence, terms, seconds)
            record = _completed(record, stage, names_of_columns(table, stated.plan))
            text = json_text(record_document(record))
            report, no_report = _drawn(record, render, progress)

        publication = pending.appear(stage, partial(_fill, text, documents, report))
    return Study(publication, record, report, no_report)


def _draws_of_evidence(randomness: Randomness, stage: ReleaseStaging) -> Randomness:
    """By which targets and rows are drawn: without a seed they follow from the published files.

    The same rows published again have the same evidence, so that no custodian draws a better one.
    """
    if not randomness.publishable or not stage.data:
        return randomness
    return Randomness.following("study", *(str(part["sha256"]) for part in stage.data))


def _fill(text: str, documents: Mapping[str, str], report: str | None, folder: Path) -> None:
    """Write a record, what was looked at beside it, and the report into the folder of a study."""
    private = folder / "private"
    private.mkdir(mode=PRIVATE_FOLDER)
    write_text(private / "record.json", text)
    for name, document in documents.items():
        write_text(private / name, document, private=True)
    if report is not None:
        write_text(private / "report.html", report)


def _completed(record: StudyRecord, stage: ReleaseStaging, columns: list[str]) -> StudyRecord:
    """With the hashes of the published files, as evidence is of these rows and no others.

    And with all columns of the original, by which those that are left out can be named.
    """
    release: Any = {**record.release, "data": [dict(part) for part in stage.data]}
    publication: PublicationDocument = {**record.publication, "columns_in": columns}
    return replace(record, release=release, publication=publication)


def _looked(
    beside: _FurtherEvidence | None,
    staged: Staged,
    randomness: Randomness,
    progress: Callable[[str], None],
) -> Mapping[str, str]:
    if beside is None:
        return {}
    beside.look(staged, randomness, progress)
    return beside.documents


def _drawn(
    record: StudyRecord,
    render: Callable[[StudyRecord], str] | None,
    progress: Callable[[str], None],
) -> tuple[str | None, str]:
    """The report, or why there is none."""
    if render is None:
        return None, ""
    progress("drawing the report")
    try:
        return render(record), ""
    except InputError as error:
        return None, str(error)
