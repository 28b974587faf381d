"""The corridor: from a private table to a checked release on disk.

Read, bind roles, load history and budget, pay, publish, stage the rows, check the guarantee on the
staged files, commit the ledger, write ``release.json``, appear.

What a release spends is charged before anything is drawn for it, and stays charged whatever comes
of the draw.  The ledger is committed before the release appears: a crash between the two leaves a
ledger that knows of a release nobody has seen.  In a series, publishing again gives the same
blocks, or the series is told that it was lost; rows that it took up from a pool wait until somebody
says whether its folder appeared (``voile ledger settle``).  A crash at any other instant leaves
nothing but what was charged, and perhaps a hidden folder.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

from voile.publish.publisher import Publisher
from voile.publish.registry import publisher_for, read_plan
from voile.release.release import Publication
from voile.schema.persons import uncounted
from voile.schema.plan import Plan
from voile.study.naming import file_of, naming_files
from voile.study.staging import ReleaseStaging
from voile.study.transaction import ReleaseTransaction
from voile.table.engines import AUTO, engine_for
from voile.table.keeping import KeptRows
from voile.table.opening import open_any_rows, open_frame, open_table, scan_frame, scan_table
from voile.table.places import Address
from voile.table.private import PrivateTable
from voile.table.protocol import Engine, Format
from voile_base.errors import InputError
from voile_base.randomness import Randomness

__all__ = ["Intervals", "PendingRelease", "make_release", "prepare_release"]

_SMALL = 1 << 20
"""Bytes of a file, of some ten thousand rows."""

Intervals = Literal["columns", "text"]
"""An interval as two columns, ``NAME.low`` and ``NAME.high``, or as ``[low, high]`` in one."""


def make_release(  # noqa: PLR0913 - what a custodian may say of one release
    source: Any,
    plan: Plan | str | Path,
    out: str | Path | None = None,
    *,
    ledger: str | Path | None = None,
    seed: int | None = None,
    file_format: Format | None = None,
    intervals: Intervals = "columns",
    engine: Engine | str = AUTO,
    known: Sequence[str | Path] = (),
    progress: Callable[[str], None] = lambda stage: None,
) -> Publication:
    """Make one release of a table as a plan says, check it, and write it to a new folder.

    ``source`` is a file, a folder of Parquet files, or a data frame; ``out`` is None to write
    nothing.  A plan with a series or a budget needs a ``ledger``, one SQLite file that is made if
    it is not there.  ``seed`` makes draws repeatable and the release unfit for publication; it is
    entered in the ledger like any other.  ``intervals`` says how intervals are shown, ``engine``
    what holds the rows: a name (``table.engines``), or an engine.  ``known`` names further folders
    with releases, each of which the ledger must know if it is of the series or data set.
    ``progress`` is told each stage by name.

    Raises a ``VoileError``, and then nothing stands at ``out``, and the ledger is as it was but
    for what a method that draws was charged before its draw: the message says so.
    """
    plan = plan if isinstance(plan, Plan) else read_plan(plan)
    if seed is None:
        plan.refuse_open_questions()
    publisher_for(plan)  # a wrong plan is told before a taken place
    with ReleaseStaging(out, file_format=file_format) as stage:
        pending = prepare_release(
            source,
            plan,
            stage,
            ledger=ledger,
            randomness=Randomness.secure() if seed is None else Randomness.seeded(seed),
            intervals=intervals,
            engine=engine,
            known=known,
            progress=progress,
        )
        return pending.appear(stage)


@dataclass(frozen=True, eq=False)
class PendingRelease:
    """A checked release that nobody has seen yet, and that is paid; private."""

    publication: Publication
    transaction: ReleaseTransaction

    def appear(
        self, stage: ReleaseStaging, fill: Callable[[Path], None] = lambda folder: None
    ) -> Publication:
        """Commit the ledger, let the release appear on its stage, settle the ledger.

        ``fill`` writes what appears with it.  Gives the publication with notices about its account.
        Where it cannot appear, rows that it took up wait again, and its series forgets it.
        """
        with self.transaction.attempt():
            publication = self.transaction.told(self.publication)
            self.transaction.commit(publication)
        with self.transaction.writing(publication, stage.out):
            stage.appear(publication.release, fill)
        return self.transaction.settle(publication)


def prepare_release(  # noqa: PLR0913 - as ``make_release``
    source: Any,
    plan: Plan,
    stage: ReleaseStaging | None = None,
    *,
    ledger: str | Path | None = None,
    randomness: Randomness,
    intervals: Intervals = "columns",
    engine: Engine | str = AUTO,
    known: Sequence[str | Path] = (),
    progress: Callable[[str], None] = lambda stage: None,
    named: str | None = None,
) -> PendingRelease:
    """All before the commit: read, bind roles, open the transaction, publish, stage, check.

    Nothing appears, and the ledger learns only what the release spends.  Without a ``stage`` the
    rows are written nowhere and checked as they stand.  ``named`` is the file of a data frame, for
    messages.  Raises as ``make_release`` does.
    """
    stage = stage or ReleaseStaging()
    publisher = publisher_for(plan)
    if intervals not in get_args(Intervals):
        msg = f"intervals must be one of {', '.join(map(repr, get_args(Intervals)))}"
        raise InputError(msg)
    transaction = ReleaseTransaction(plan, publisher, ledger, progress)
    transaction.refuse_place(stage.out)
    history = transaction.history(stage.out if randomness.publishable else None, known)
    if plan.roles.unit is not None and not publisher.capabilities.persons:
        assert plan.method is not None
        raise uncounted(plan, f"the method {plan.method.name} counts rows")
    naming = partial(naming_files, plan, file_of(source) if named is None else named)
    progress("reading")
    beside = None if stage.out is None else stage.out.absolute().parent
    held_by = engine_for(engine, source, beside)
    with naming():
        table = _read(source, plan, publisher, transaction.waiting_rows(), held_by)
    progress("publishing")
    with transaction.attempt(), naming():
        publication = publisher.prepare(table, randomness, history, transaction.pay)
        usual = table.source_format
        del table
        publication = _shown(_with_questions(publication, plan), intervals)
        stage.check(publication.release, usual, held_by, progress)
    return PendingRelease(publication, transaction)


def _read(
    source: Any, plan: Plan, publisher: Publisher, carried: KeptRows | None, engine: Engine
) -> PrivateTable:
    """The table with the rows that waited for it, read while the publisher gets ready.

    A table of which only the best rows matter is read when these are asked for.
    """
    is_file = isinstance(source, str | Path | Address)
    get_ready = publisher.get_ready if _is_worth_it(source) else lambda: None
    if publisher.ranks:
        get_ready()
        scan = scan_table if is_file else scan_frame
        return scan(source, plan, engine=engine)
    if publisher.capabilities.any_rows:
        return open_any_rows(source, plan, of_file=is_file, engine=engine)
    open_ = open_table if is_file else open_frame
    with ThreadPoolExecutor(1) as pool:
        key = publisher.record_key
        opening = pool.submit(open_, source, plan, record_key=key, carried=carried, engine=engine)
        get_ready()
        return opening.result()


def _is_worth_it(source: Any) -> bool:
    """Whether compiled loops should be loaded meanwhile: a small file may need none of them."""
    if not isinstance(source, str | Path) or not Path(source).is_file():
        return True
    return Path(source).stat().st_size > _SMALL


def _with_questions(publication: Publication, plan: Plan) -> Publication:
    """A publication that says which questions of its plan were accepted unanswered."""
    if not plan.questions:
        return publication
    release = replace(publication.release, open_questions=len(plan.questions))
    return replace(publication, release=release)


def _shown(publication: Publication, intervals: Intervals) -> Publication:
    """A publication as its readers want it."""
    if intervals == "columns":
        return publication
    return replace(publication, release=publication.release.with_intervals_as_text())
