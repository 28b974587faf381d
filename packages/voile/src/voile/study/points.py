"""One point of a grid: a study of a release that is never written, and what came of it.

Nothing is charged: each point is measured as a single release, outside its series and its budget.
A point that cannot be is a finding and no error; only an interruption ends a grid.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter

from voile.study.evidence import EvidenceTerms, gather
from voile.study.instruments import Instruments
from voile.study.original import Original
from voile.study.plans import needs_ledger, single_release
from voile.study.record import Point, Status, StudyRecord
from voile.study.recording import Subject, put_on_record
from voile.study.rehearsal import Staged
from voile.study.run import prepare_release
from voile.study.sweep import GridPoint
from voile.table.engines import AUTO
from voile_base.errors import (
    InfeasibleError,
    InputError,
    OutOfMemoryError,
    RefusedError,
    VoileError,
    place_of_fault,
    says_out_of_memory,
)
from voile_base.randomness import Randomness

__all__ = ["NOT_CHARGED", "PointTerms", "status_of", "study_point"]

NOT_CHARGED = (
    "measured as a single release that nobody is charged for: the series, the budget and the pool "
    "of its plan were left aside"
)

_STATUSES: tuple[tuple[type[VoileError], Status], ...] = (
    (OutOfMemoryError, "failed"),  # not for good: with more memory it may be done
    (InfeasibleError, "infeasible"),
    (RefusedError, "refused"),
    (InputError, "wrong"),
)


@dataclass(frozen=True)
class PointTerms:
    """What all points of a grid share."""

    seed: int | None
    terms: EvidenceTerms
    instruments: Callable[[Sequence[str] | None], Instruments] = Instruments.standard
    """Makes them in the process that uses them."""
    engine: str = AUTO
    """The name of what holds the rows."""


def study_point(original: Original, point: GridPoint, shared: PointTerms) -> Point:
    """Study one plan; a point that cannot be has its reason instead of a record.

    With a seed all points draw alike: the same targets, the same rows held out.
    """
    name = point.stated.name
    try:
        if point.wrong:
            return Point(name, point.parameters, "wrong", point.wrong)
        record = _record(original, point, shared)
    except VoileError as error:
        return Point(name, point.parameters, status_of(error), str(error))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # panics of compiled libraries are no ``Exception``
        if says_out_of_memory(error):
            return Point(name, point.parameters, "failed", str(OutOfMemoryError()))
        return Point(name, point.parameters, "failed", f"a fault of Voile: {place_of_fault(error)}")
    return Point(name, point.parameters, "done", record=record)


def status_of(error: VoileError) -> Status:
    """The status of a point that ended in an error."""
    return next((status for kind, status in _STATUSES if isinstance(error, kind)), "failed")


def _record(original: Original, point: GridPoint, shared: PointTerms) -> StudyRecord:
    stated, plan = point.stated, single_release(point.stated.plan)
    instruments = shared.instruments(shared.terms.attacks)
    randomness = Randomness.secure() if shared.seed is None else Randomness.seeded(shared.seed)
    started = perf_counter()
    engine = shared.engine
    pending = prepare_release(
        original.frame, plan, randomness=randomness, engine=engine, named=original.file
    )
    publication = pending.publication
    seconds = {"publish": perf_counter() - started}
    staged = Staged(publication.release, plan, original.frame, engine=engine)
    evidence = gather(staged, instruments, shared.terms, randomness.within("study"))
    notices = (*original.notes, *([NOT_CHARGED] if needs_ledger(stated.plan) else []))
    subject = Subject(stated, shared.seed, point.parameters)
    return put_on_record(subject, publication, evidence, shared.terms, seconds, notices)
