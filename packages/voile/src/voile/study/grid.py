"""Many studies side by side: a grid of plans on one table, and its frontier; private.

Expand the plans, keep what is done, study the rest in parallel, compare, write.

The points that are done are kept beside the place of the comparison (``store``), so that a grid
which is interrupted, however rudely, goes on where it was.  Nothing is charged and no release is
written.

    DIR/comparison.json, DIR/records/*.json, DIR/report.html: all private

Cost: that of the studies.  Memory: in each process the table and one study at a time.
"""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from voile.release.folder import appearing_folder, check_new_folder
from voile.schema.plan import Plan
from voile.study.documents import comparison_document, json_text, record_document
from voile.study.evidence import EvidenceTerms
from voile.study.frontier import by_risk, known_risks, most_common_loss, usual_risk
from voile.study.original import Original, fingerprint, names_of_columns, read_original
from voile.study.plans import state_plan
from voile.study.points import NOT_CHARGED, PointTerms, status_of, study_point
from voile.study.record import PRIVATE, Point, StudyComparison
from voile.study.recording import versions
from voile.study.single import PRIVATE_FOLDER
from voile.study.store import PointStore, forget, kept_points, locked, partial_folder
from voile.study.sweep import GridPoint, PlanGrid, expand
from voile.study.workers import in_processes
from voile_base.durable import write_text
from voile_base.errors import (
    InfeasibleError,
    InputError,
    OutOfMemoryError,
    RefusedError,
    VoileError,
    nearest,
)
from voile_base.randomness import Randomness

__all__ = ["Axes", "MadeComparison", "Work", "compare", "make_comparison"]

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
    source: Any,
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
) -> StudyComparison:
    """Study all plans, and all combinations of the lists in them, and compare; private.

    ``out`` is a new folder for the comparison and its records, or None to write none.  More than
    one of ``jobs`` starts processes, which import the calling script: guard it with
    ``if __name__ == "__main__"``.  ``risk`` is "gain", "worst" or the name of an attack
    (``frontier.risk_of``), by default the prosecutor's where it tells studies apart, ``loss`` a
    measure of utility, by default one that most studies have.
    The rest is as for ``run_study``; a series and a budget are left aside.

    Raises ``InputError`` where the table, a plan or a name is wrong, and the error of the first
    point where no point is done; then nothing stands at ``out``.
    """
    terms = EvidenceTerms(None if attacks is None else tuple(attacks), targets, held_out)
    several = [plans] if isinstance(plans, Plan | str | Path) else list(plans)
    shared = PointTerms(seed, terms)
    return make_comparison(source, several, out, shared, Axes(risk, loss), jobs).comparison


def make_comparison(  # noqa: PLR0913 - what ``compare`` is told, and how to show it
    source: Any,
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
    grid = expand([state_plan(plan) for plan in plans])
    _refuse_what_cannot_be(source, grid, shared, axes, jobs)
    table = fingerprint(source)
    with _place_of_points(out) as folder:
        store = PointStore(folder, table, shared)
        _study_all(Work(source, shared, store), grid, store, jobs, progress)
        points = _points(grid, store)
        if not any(point.record for point in points):
            forget(folder)
            raise _nothing_done(points)
        comparison = _comparison(grid, points, axes)
        files = _file_names([point.name for point in points if point.record])
        report, no_report = _drawn(comparison, render, progress)
        if out is not None:
            _write(comparison, files, report, Path(out))
            forget(folder)
    return MadeComparison(comparison, files, no_report)


class Work:
    """All that a process must know to study points; it holds the table once it was read."""

    def __init__(self, source: Any, shared: PointTerms, store: PointStore) -> None:
        self._source = source
        self._shared = shared
        self._store = store
        self._read: tuple[object, Original] | None = None

    def study(self, digest: str, point: GridPoint) -> None:
        """Study a point and keep what came of it."""
        try:
            original = self._original(point.stated.plan)
        except VoileError as error:
            found = Point(point.stated.name, point.parameters, status_of(error), str(error))
        else:
            found = study_point(original, point, self._shared)
        self._store.keep(digest, found)

    def _original(self, plan: Plan) -> Original:
        """The table as the plan reads it; the points of one plan follow each other."""
        says = (plan.missing, plan.roles, plan.columns)
        if self._read is None or self._read[0] != says:
            self._read = None  # one table at a time in memory
            self._read = (says, read_original(self._source, plan, self._shared.engine))
        return self._read[1]


def _refuse_what_cannot_be(
    source: Any, grid: PlanGrid, shared: PointTerms, axes: Axes, jobs: int
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
    columns = names_of_columns(source)
    for stated in grid.plans:
        stated.plan.bind(columns)


@contextmanager
def _place_of_points(out: str | Path | None) -> Iterator[Path]:
    """The folder in which points are kept while others are studied."""
    if out is None:
        with tempfile.TemporaryDirectory(prefix="voile-") as folder:
            yield Path(folder)
    else:
        with locked(partial_folder(out)) as place:
            try:
                yield place
            finally:
                if not kept_points(place):
                    forget(place)


def _study_all(work: Work, grid: PlanGrid, store: PointStore, jobs: int, tell: Progress) -> None:
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
        in_processes(work, missing, min(jobs, len(missing)), done)


def _points(grid: PlanGrid, store: PointStore) -> tuple[Point, ...]:
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
    return (NOT_CHARGED,) if any(NOT_CHARGED in notices for notices in told) else ()


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
