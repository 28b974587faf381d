"""Many studies side by side: a grid of plans on one table, and its frontier; private.

A grid expands its plans to points, keeps the points that are done, studies the others in processes
side by side, compares all and writes the comparison.  No release is written.

    DIR/comparison.json, DIR/records/*.json, DIR/report.html    all private
    DIR.partial/              private, until all points are done
        lock                  held by the process at work
        points/DIGEST.json    one file a point, whole or not there

**Interruption.**  Points that are done outlive the process, so that a grid which is interrupted,
however rudely, goes on where it was.  A file is named after all that its point depends on: the plan
with its hierarchies, the table, the seed, what is measured, and the versions of Voile and its
libraries.  The same command therefore finds what an interrupted one has done, and anything that
changed is done anew.

**Points.**  Each is a release that is never written: the next one of its series, where a ledger is
given, which does not learn of it; else a single release, outside its series.  What it spends of a
``[budget]`` is charged like a release, before its draw and whatever becomes of it, one point after
the other; a point that is kept was paid and is not drawn again.  On a table that is public or
synthetic, which ``rehearsal`` says, nothing is charged.  A point that cannot be is a finding and no
error; only an interruption ends a grid.

**Processes.**  A worker imports the libraries and reads the table once, and studies one point at a
time.  How many threads the libraries may use is said before they are loaded, so that workers do not
compete for the cores; this module therefore imports nothing heavy.  A worker ends with the process
that started it, whatever ended that.

Cost: that of the studies.  Memory: in each process the table and one study at a time.
"""

from __future__ import annotations

import json
import os
import pickle
import re
import shutil
import signal
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import asdict, replace
from hashlib import blake2b
from multiprocessing import active_children, connection, get_context, parent_process
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol

from voile.publish.registry import publisher_for
from voile.release.folder import appearing_folder, check_new_folder
from voile.release.release import Release
from voile.schema.plan import Plan
from voile.study.documents import (
    comparison_document,
    json_text,
    point_document,
    point_of_document,
    record_document,
    record_of_document,
)
from voile.study.evidence import EvidenceTerms, Instruments, gather
from voile.study.frontier import by_risk, known_risks, most_common_loss, usual_risk
from voile.study.original import Original, fingerprint, names_of_columns
from voile.study.plans import (
    GridPoint,
    PlanGrid,
    StatedPlan,
    needs_ledger,
    of_no_account,
    single_release,
)
from voile.study.record import PRIVATE, Point, PolicyFindings, Status, StudyComparison, StudyRecord
from voile.study.rehearsal import Staged
from voile.study.run import prepare_release
from voile.study.single import PRIVATE_FOLDER, Subject, put_on_record, versions
from voile.table.engines import AUTO
from voile_base.durable import write_text
from voile_base.errors import (
    InfeasibleError,
    InputError,
    OutOfMemoryError,
    RefusedError,
    VoileError,
    nearest,
    place_of_fault,
    says_out_of_memory,
)
from voile_base.ondemand import dataclass
from voile_base.operating_system import cores, lock
from voile_base.randomness import Randomness

__all__ = [
    "IN_SERIES",
    "NOT_CHARGED",
    "Axes",
    "MadeComparison",
    "PointTerms",
    "compare",
    "cores",
    "kept_points",
    "make_comparison",
    "partial_folder",
]


class _WorkerTask(Protocol):
    """What a process is started for; it is sent there once."""

    def study(self, digest: str, point: GridPoint) -> None:
        """Study a point and keep what came of it."""


_THREADS = ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")

_work: _WorkerTask | None = None
"""What this process was started for."""


def _in_processes(
    work: _WorkerTask, points: Sequence[tuple[str, GridPoint]], jobs: int, done: Callable[[], None]
) -> None:
    """Study points in ``jobs`` processes, each under its digest; ``done`` is called after each.

    Raises ``OutOfMemoryError`` where a worker is killed, and what a worker raises.  Whatever ends
    this ends the workers.
    """
    _listen_to_interrupts()
    with _pool(work, jobs) as pool:
        futures: list[Future[None]] = [pool.submit(_study, *point) for point in points]
        try:
            for future in as_completed(futures):
                future.result()
                done()
        except BrokenProcessPool:
            msg = (
                "a process of the grid was ended from outside, most often because memory ran out; "
                "run the same command with fewer --jobs: what is done is kept"
            )
            raise OutOfMemoryError(msg) from None


def _listen_to_interrupts() -> None:
    """Let Ctrl-C reach Python again: Polars puts a handler of its own before, which may keep it."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is threading.main_thread() and callable(handler):
        signal.signal(signal.SIGINT, handler)


@contextmanager
def _pool(work: _WorkerTask, jobs: int) -> Iterator[ProcessPoolExecutor]:
    before = set(active_children())
    pool = ProcessPoolExecutor(
        jobs,
        # A fork of a process with compiled thread pools may hang.
        mp_context=get_context("spawn"),
        initializer=_start,
        initargs=(max(1, cores() // jobs), pickle.dumps(work)),
    )
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for worker in set(active_children()) - before:
            worker.terminate()
        raise
    finally:
        pool.shutdown()


def _start(threads: int, work: bytes) -> None:
    """Make this process ready; ``work`` is unpacked only when threads are limited."""
    global _work  # noqa: PLW0603 - a worker has one task, which is given to it once
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started it says when to end
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.environ.update(dict.fromkeys(_THREADS, str(threads)))
    _work = pickle.loads(work)  # noqa: S301 - from the process that started this one


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _study(digest: str, point: Any) -> None:
    assert _work is not None, "a worker is started with its work"
    _work.study(digest, point)


IN_SERIES = "measured as the next release of its series, which the ledger does not learn of"
NOT_CHARGED = (
    "measured as a single release that nobody is charged for: the series, the budget and the pool "
    "of its plan were left aside"
)
_UNACCOUNTED = (
    "what these studies spend of the privacy of the table was not accounted: say [budget] in the "
    "plan and --ledger FILE, or --rehearsal if the table is public or synthetic"
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
    ledger: str | Path | None = None
    """What is charged for points whose plan has a budget."""
    rehearsal: bool = False
    """Whether the table is public or synthetic, so that nothing is charged."""
    judge: Callable[[Release, StudyRecord], PolicyFindings] | None = None
    """Tells which criteria of a policy a study does not meet, or narrowly."""
    table: str = ""
    """The fingerprint of the table, from which the draws of the evidence follow without a seed."""

    def draws(self, randomness: Randomness) -> Randomness:
        """By which targets and rows of each study are drawn, whose release is drawn by others."""
        if self.seed is not None or not self.table:
            return randomness
        return Randomness.following("compare", self.table)

    def charges(self, plan: Plan) -> bool:
        """Whether what a study of the plan spends is charged."""
        return not self.rehearsal and plan.budget is not None and plan.budget.epsilon > 0


def _study_point(original: Original, point: GridPoint, shared: PointTerms) -> Point:
    """Study one plan; a point that cannot be has its reason instead of a record.

    All points draw alike: the same targets, the same rows held out, and, with a seed and unless
    they are charged, each under a name of its own, the same noise.
    """
    name = point.stated.name
    try:
        if point.wrong:
            return Point(name, point.parameters, "wrong", point.wrong)
        record, held = _record(original, point, shared)
    except VoileError as error:
        return Point(name, point.parameters, _status_of(error), str(error))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # panics of compiled libraries are no ``Exception``
        if says_out_of_memory(error):
            return Point(name, point.parameters, "failed", str(OutOfMemoryError()))
        return Point(name, point.parameters, "failed", f"a fault of Voile: {place_of_fault(error)}")
    return Point(name, point.parameters, "done", "", record, unmet=held.unmet, narrow=held.narrow)


def _status_of(error: VoileError) -> Status:
    """The status of a point that ended in an error."""
    return next((status for kind, status in _STATUSES if isinstance(error, kind)), "failed")


def _record(
    original: Original, point: GridPoint, shared: PointTerms
) -> tuple[StudyRecord, PolicyFindings]:
    stated, charged = point.stated, shared.charges(point.stated.plan)
    in_series = shared.ledger is not None and publisher_for(stated.plan).series is not None
    plan = of_no_account(stated.plan) if in_series else single_release(stated.plan)
    if charged:
        plan = replace(plan, budget=stated.plan.budget)
    instruments = shared.instruments(shared.terms.attacks)
    randomness = Randomness.secure() if shared.seed is None else Randomness.seeded(shared.seed)
    started = perf_counter()
    engine = shared.engine
    pending = prepare_release(
        original.frame,
        plan,
        ledger=shared.ledger if charged or in_series else None,
        randomness=randomness.within(stated.digest()) if charged else randomness,
        engine=engine,
        named=original.file,
    )
    publication = pending.transaction.told(pending.publication) if charged else pending.publication
    seconds = {"publish": perf_counter() - started}
    staged = Staged(publication.release, plan, original.frame, engine=engine)
    draws = shared.draws(randomness).within("study")
    evidence = gather(staged, instruments, shared.terms, draws)
    notices = [*original.notes]
    if in_series:
        notices.append(IN_SERIES)
    elif not charged and needs_ledger(stated.plan):
        notices.append(NOT_CHARGED)
    if publication.events and not charged and not shared.rehearsal:
        notices.append(_UNACCOUNTED)
    subject = Subject(stated, shared.seed, point.parameters)
    record = put_on_record(subject, publication, evidence, shared.terms, seconds, notices)
    judge = shared.judge or (lambda *_: PolicyFindings())
    return record, judge(publication.release, record)


_KEPT = ("done", "infeasible", "refused", "wrong")
"""What would come out the same way again; a point that failed is tried anew."""


def partial_folder(out: str | Path) -> Path:
    """Where the points of a comparison are kept until it appears."""
    place = Path(out)
    return place.with_name(f"{place.name}.partial")


class _PointStore:
    """The finished points of a grid; private."""

    def __init__(self, folder: Path, shared: PointTerms) -> None:
        self._folder = folder / "points"
        self._folder.mkdir(exist_ok=True, mode=PRIVATE_FOLDER)
        terms = asdict(shared.terms)
        asked = {
            "ledger": shared.ledger and str(Path(shared.ledger).absolute()),
            "instruments": getattr(shared.instruments, "__qualname__", ""),
            "judge": repr(shared.judge),
        }
        self._common = json_text(
            {"table": shared.table, "seed": shared.seed, **terms, **asked, **versions()}
        )

    def digest(self, point: GridPoint) -> str:
        """The name of a point: all that its outcome depends on."""
        said = f"{self._common}\0{point.stated.digest()}"
        return blake2b(said.encode(), digest_size=16).hexdigest()

    def keep(self, digest: str, point: Point) -> None:
        """Keep a finished point, durably: whole or not at all."""
        record = None if point.record is None else record_document(point.record)
        document = {**point_document(point, None), "record": record}
        descriptor, hidden = tempfile.mkstemp(dir=self._folder, prefix=".", suffix=".partial")
        os.close(descriptor)
        try:
            write_text(Path(hidden), json_text(document))
            Path(hidden).rename(self._file(digest))
        except OSError as error:
            Path(hidden).unlink(missing_ok=True)
            reason = error.strerror or "input or output error"
            msg = f"{self._folder}: a record cannot be written ({reason}); mend the disk"
            raise InputError(msg) from None

    def kept(self, digest: str, wanted: GridPoint) -> Point | None:
        """The point of that digest under the name it has in this grid, or None."""
        point = self._read(digest)
        if point is None:
            return None
        record = point.record
        name, parameters = wanted.stated.name, dict(wanted.parameters)
        if record:
            plan = wanted.stated.document
            record = replace(record, name=name, parameters=parameters, plan=plan)
        return replace(point, name=name, parameters=parameters, record=record)

    def has(self, digest: str) -> bool:
        """Whether a point need not be studied again."""
        point = self._read(digest)
        return point is not None and point.status in _KEPT

    def _read(self, digest: str) -> Point | None:
        """The point as it was kept; None where there is none, or none that can be read."""
        try:
            document = json.loads(self._file(digest).read_text(encoding="utf-8"))
            record = document["record"] and record_of_document(document["record"])
            point = point_of_document(document, record)
            return None if point.status == "done" and not record else point
        except (OSError, ValueError, KeyError, TypeError, AttributeError, InputError):
            return None

    def _file(self, digest: str) -> Path:
        return self._folder / f"{digest}.json"


def kept_points(folder: Path) -> int:
    """How many points a folder keeps."""
    return sum(1 for _ in folder.glob("points/[!.]*.json"))


@contextmanager
def _locked(folder: Path) -> Iterator[Path]:
    """A private folder that no other process works in; it is made where it is not there.

    Raises ``InputError`` where another process is at work, or the folder cannot be made.
    """
    try:
        folder.mkdir(exist_ok=True, mode=PRIVATE_FOLDER)
        held = (folder / "lock").open("w")
    except OSError as error:
        msg = f"{folder}: the folder cannot be used ({error.strerror}); choose another --out"
        raise InputError(msg) from None
    with held:
        try:
            lock(held, wait=False)
        except OSError:
            msg = f"{folder}: another process is at work on this comparison; wait for it"
            raise InputError(msg) from None
        yield folder


def _forget(folder: Path) -> None:
    """Remove the folder of a comparison that is no longer needed."""
    shutil.rmtree(folder, ignore_errors=True)


Progress = Callable[[str], None]

_ERRORS: Mapping[str, type[VoileError]] = {
    "infeasible": InfeasibleError,
    "refused": RefusedError,
    "wrong": InputError,
    "failed": VoileError,
}


@dataclass(frozen=True)
class MadeComparison:
    """A comparison and its report; private."""

    comparison: StudyComparison
    files: Mapping[str, str]
    """The file of each record in the folder of the comparison, by the name of its point."""
    no_report: str = ""
    """Why no report could be drawn, and what would help."""


@dataclass(frozen=True)
class Axes:
    """What studies are compared by."""

    risk: str | None = None
    """None: the re-identification risk, where it tells studies apart (``frontier.usual_risk``)."""
    loss: str | None = None
    """None: the measure that most studies have."""


def compare(  # noqa: PLR0913 - what a researcher may say of a grid
    source: object,
    plans: Sequence[Plan | str | Path] | Plan | str | Path,
    out: str | Path | None = None,
    *,
    jobs: int = 1,
    risk: str | None = None,
    loss: str | None = None,
    seed: int | None = None,
    attacks: Sequence[str] | None = None,
    targets: int = 1000,
    held_out: float = 0.2,
    ledger: str | Path | None = None,
    rehearsal: bool = False,
) -> StudyComparison:
    """Study all plans, and all combinations of the lists in them, and compare; private.

    ``out`` is a new folder for the comparison and its records, or None to write none.  More than
    one of ``jobs`` starts processes, which import the calling script: guard it with
    ``if __name__ == "__main__"``.  ``risk`` is "gain", "worst" or the name of an attack
    (``frontier._risk_of``), by default the prosecutor's where it tells studies apart, ``loss`` a
    measure of utility, by default one that most studies have.
    The rest is as for ``run_study``.  A plan with a series is studied as its next release where a
    ``ledger`` is given, which does not learn of it, and else outside its series.  What each study
    of a plan with a budget spends is charged to the ``ledger``; ``rehearsal`` says that the table
    is public or synthetic, and nothing is charged.

    Raises ``InputError`` where the table, a plan or a name is wrong, and the error of the first
    point where no point is done; then nothing stands at ``out``.
    """
    terms = EvidenceTerms(None if attacks is None else tuple(attacks), targets, held_out)
    several = [plans] if isinstance(plans, Plan | str | Path) else list(plans)
    shared = PointTerms(seed, terms, ledger=ledger, rehearsal=rehearsal)
    return make_comparison(source, several, out, shared, Axes(risk, loss), jobs).comparison


def make_comparison(  # noqa: PLR0913 - what ``compare`` is told, and how to show it
    source: object,
    plans: Sequence[Plan | str | Path],
    out: str | Path | None,
    shared: PointTerms,
    axes: Axes | None = None,
    jobs: int = 1,
    render: Callable[[StudyComparison], str] | None = None,
    progress: Callable[[str], None] = lambda stage: None,
) -> MadeComparison:
    """A comparison with its report; ``render`` makes it, and may raise ``InputError``.

    Otherwise as ``compare``.
    """
    axes = axes or Axes()
    if out is not None:
        check_new_folder(out)
    grid = PlanGrid.of([StatedPlan.of(plan) for plan in plans])
    _refuse_what_cannot_be(source, grid, shared, axes, jobs)
    shared = replace(shared, table=fingerprint(source))
    if any(shared.charges(stated.plan) for stated in grid.plans):
        jobs = 1  # each charge follows the one before it
    with _place_of_points(out) as folder:
        store = _PointStore(folder, shared)
        _study_all(_Work(source, shared, store), grid, store, jobs, progress)
        points = _points(grid, store)
        if not any(point.record for point in points):
            _forget(folder)
            raise _nothing_done(points)
        comparison = _comparison(grid, points, axes)
        files = _file_names([point.name for point in points if point.record])
        report, no_report = _drawn(comparison, render, progress)
        if out is not None:
            _write(comparison, files, report, Path(out))
            _forget(folder)
    return MadeComparison(comparison, files, no_report)


class _Work:
    """All that a process must know to study points; it holds the table once it was read."""

    def __init__(self, source: object, shared: PointTerms, store: _PointStore) -> None:
        self._source = source
        self._shared = shared
        self._store = store
        self._read: tuple[object, Original] | None = None

    def study(self, digest: str, point: GridPoint) -> None:
        """Study a point and keep what came of it."""
        try:
            original = self._original(point.stated.plan)
        except VoileError as error:
            found = Point(point.stated.name, point.parameters, _status_of(error), str(error))
        else:
            found = _study_point(original, point, self._shared)
        self._store.keep(digest, found)

    def _original(self, plan: Plan) -> Original:
        """The table as the plan reads it; the points of one plan follow each other."""
        says = (plan.missing, plan.roles, plan.columns)
        if self._read is None or self._read[0] != says:
            self._read = None  # one table at a time in memory
            self._read = (says, Original.read(self._source, plan, self._shared.engine))
        return self._read[1]


def _refuse_what_cannot_be(
    source: object, grid: PlanGrid, shared: PointTerms, axes: Axes, jobs: int
) -> None:
    """Raise ``InputError`` for what would spoil every point, before any is studied."""
    if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1:
        msg = "the number of jobs must be a whole number of at least 1"
        raise InputError(msg)
    if shared.seed is not None:
        Randomness.seeded(shared.seed)
    attacks = [attack.name for attack in shared.instruments(shared.terms.attacks).attacks]
    known = known_risks(attacks)
    if axes.risk is not None and axes.risk not in known:
        hint = nearest(axes.risk, known)
        msg = f"there is no measure of risk {axes.risk!r}{hint} (known: {', '.join(known)})"
        raise InputError(msg)
    if shared.rehearsal and shared.ledger is not None:
        msg = "a rehearsal charges nothing: give one of --ledger and --rehearsal"
        raise InputError(msg)
    for stated in grid.plans:
        stated.plan.bind(names_of_columns(source, stated.plan))
        if shared.charges(stated.plan) and shared.ledger is None:
            budget = stated.plan.budget
            assert budget is not None
            msg = (
                f"[budget] each study of data set {budget.data_set!r} is charged like a release: "
                "pass --ledger FILE (in Python, ledger=...), or --rehearsal if the table is public "
                "or synthetic"
            )
            raise stated.plan.error(msg)


@contextmanager
def _place_of_points(out: str | Path | None) -> Iterator[Path]:
    """The folder in which points are kept while others are studied."""
    if out is None:
        with tempfile.TemporaryDirectory(prefix="voile-") as folder:
            yield Path(folder)
    else:
        with _locked(partial_folder(out)) as place:
            try:
                yield place
            finally:
                if not kept_points(place):
                    _forget(place)


def _study_all(work: _Work, grid: PlanGrid, store: _PointStore, jobs: int, tell: Progress) -> None:
    """Study the points that are not kept yet; alike ones are studied once."""
    digests = {store.digest(point): point for point in grid.points}
    missing = [(digest, point) for digest, point in digests.items() if not store.has(digest)]
    count = len(digests) - len(missing)

    def done() -> None:
        nonlocal count
        count += 1
        tell(f"{count:,} of {len(digests):,} studies are done")

    tell(f"{count:,} of {len(digests):,} studies are done")
    if jobs == 1 or len(missing) <= 1:
        for digest, point in missing:
            work.study(digest, point)
            done()
    else:
        _in_processes(work, missing, min(jobs, len(missing)), done)


def _points(grid: PlanGrid, store: _PointStore) -> tuple[Point, ...]:
    found = [store.kept(store.digest(point), point) for point in grid.points]
    if any(point is None for point in found):
        msg = "a record that was kept is gone or was changed; run the same command again"
        raise InputError(msg)
    return tuple(point for point in found if point is not None)


def _nothing_done(points: Sequence[Point]) -> VoileError:
    """The error of a grid no point of which is done: that of its first point."""
    first = points[0]
    message = first.message
    if len(points) > 1:
        counts = Counter(point.status for point in points)
        told = ", ".join(f"{count:,} {status}" for status, count in counts.items())
        message = f"no study of the grid could be made ({told}); {first.name}: {message}"
    lacked_memory = first.message == str(OutOfMemoryError())
    return (OutOfMemoryError if lacked_memory else _ERRORS[first.status])(message)


def _comparison(grid: PlanGrid, points: Sequence[Point], axes: Axes) -> StudyComparison:
    """The points with their risks and losses, and the frontier of those that have both."""
    records = [point.record for point in points if point.record]
    loss, better = most_common_loss(records, axes.loss)
    found = StudyComparison(
        name=", ".join(plan.name for plan in grid.plans),
        plans=tuple(plan.document for plan in grid.plans),
        swept=grid.swept,
        points=tuple(points),
        risk="",
        loss=loss,
        frontier=(),
        loss_better=better,
        versions=versions(),
        notices=_notices(points),
    )
    return by_risk(found, axes.risk or usual_risk(records))


def _notices(points: Sequence[Point]) -> tuple[str, ...]:
    """What holds for studies of the grid, each said once."""
    told = [point.record.publication["notices"] for point in points if point.record]
    of_grid = (IN_SERIES, NOT_CHARGED, _UNACCOUNTED)
    return tuple(it for it in of_grid if any(it in notices for notices in told))


def _drawn(
    comparison: StudyComparison, render: Callable[[StudyComparison], str] | None, tell: Progress
) -> tuple[str | None, str]:
    """The report, or why there is none."""
    if render is None:
        return None, ""
    tell("drawing the report")
    try:
        return render(comparison), ""
    except InputError as error:
        return None, str(error)


def _write(
    comparison: StudyComparison, files: Mapping[str, str], report: str | None, out: Path
) -> None:
    """Write the folder of a comparison, whole or not at all."""
    with appearing_folder(out, "the comparison", PRIVATE_FOLDER) as folder:
        (folder / "records").mkdir()
        for point in comparison.points:
            if point.record:
                write_text(folder / files[point.name], json_text(record_document(point.record)))
        write_text(folder / "comparison.json", json_text(comparison_document(comparison, files)))
        write_text(folder / "PRIVATE.txt", f"{PRIVATE}.\nNothing in this folder may leave.\n")
        if report is not None:
            write_text(folder / "report.html", report)


def _file_names(names: Sequence[str]) -> dict[str, str]:
    """A file for each record, numbered in the order of the grid: "records/03-k-5.json"."""
    width = len(str(len(names)))
    plain = [re.sub(r"[^\w.]+", "-", name).strip("-.")[:80] for name in names]
    return {
        name: f"records/{number:0{width}}-{short}.json"
        for number, (name, short) in enumerate(zip(names, plain, strict=True), 1)
    }
