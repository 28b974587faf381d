"""The corridor: from a private table to a checked release on disk.

Read, bind roles, load history and budget, pay, publish, check the guarantee, commit the ledger,
write.

What a release spends is charged before anything is drawn for it, and stays charged whatever comes
of the draw.  The ledger is committed before the release is written: a crash between the two leaves
a ledger that knows of a release nobody has seen.  In a series, publishing again gives the same
blocks, or the series is told that it was lost; rows that it took up from a pool wait until somebody
says whether its folder appeared (``voile ledger settle``).  A crash at any other instant leaves
nothing but what was charged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from voile.errors import InputError, PlanError
from voile.publish.publisher import Publisher
from voile.publish.registry import publisher_for, read_plan
from voile.randomness import Randomness
from voile.release.check import check_release
from voile.release.folder import check_new_folder, format_for, write_release
from voile.release.release import Publication
from voile.schema.persons import uncounted
from voile.schema.plan import Plan
from voile.study.transaction import ReleaseTransaction
from voile.table.engines import AUTO, engine_of
from voile.table.keeping import KeptRows
from voile.table.opening import open_frame, open_table, scan_frame, scan_table
from voile.table.places import Address
from voile.table.private import PrivateTable
from voile.table.protocol import Engine, Format

__all__ = ["Intervals", "PendingRelease", "make_release", "prepare_release"]

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
    progress: Callable[[str], None] = lambda stage: None,
) -> Publication:
    """Make one release of a table as a plan says, check it, and write it to a new folder.

    ``source`` is a file, a folder of Parquet files, or a data frame; ``out`` is None to write
    nothing.  A plan with a series or a budget needs a ``ledger``, one SQLite file that is made if
    it is not there.  ``seed`` makes draws repeatable and the release unfit for publication; it is
    entered in the ledger like any other.  ``intervals`` says how intervals are shown, ``engine``
    what holds the rows: a name (``table.engines``), or an engine.
    ``progress`` is told each stage by name.

    Raises a ``VoileError``, and then nothing stands at ``out``, and the ledger is as it was but
    for what a method that draws was charged before its draw: the message says so.
    """
    plan = plan if isinstance(plan, Plan) else read_plan(plan)
    pending = prepare_release(
        source,
        plan,
        out,
        ledger=ledger,
        randomness=Randomness.secure() if seed is None else Randomness.seeded(seed),
        intervals=intervals,
        engine=engine,
        progress=progress,
    )
    written_as = format_for(pending.publication.release, file_format, pending.source_format)

    def write(publication: Publication) -> None:
        if out is not None:
            progress("writing")
            write_release(publication.release, out, written_as)

    return pending.appear(out, write)


@dataclass(frozen=True, eq=False)
class PendingRelease:
    """A checked release that nobody has seen yet, and that is paid; private."""

    publication: Publication
    source_format: Format
    transaction: ReleaseTransaction

    def appear(
        self,
        out: str | Path | None,
        write: Callable[[Publication], None],
    ) -> Publication:
        """Commit the ledger, let ``write`` make what then stands at ``out``, settle the ledger.

        Gives the publication with notices about its account.  Where ``write`` fails, rows that the
        release took up wait again, and its series forgets it.
        """
        with self.transaction.attempt():
            publication = self.transaction.told(self.publication)
            self.transaction.commit(publication)
        with self.transaction.writing(publication, out):
            write(publication)
        return self.transaction.settle(publication)


def prepare_release(  # noqa: PLR0913 - as ``make_release``
    source: Any,
    plan: Plan,
    out: str | Path | None = None,
    *,
    ledger: str | Path | None = None,
    randomness: Randomness,
    intervals: Intervals = "columns",
    engine: Engine | str = AUTO,
    progress: Callable[[str], None] = lambda stage: None,
) -> PendingRelease:
    """All that comes before the commit: read, bind roles, open the transaction, publish, check.

    Nothing is written, and the ledger learns only what the release spends.  Raises as
    ``make_release`` does.
    """
    publisher = publisher_for(plan)
    if intervals not in get_args(Intervals):
        msg = f"intervals must be one of {', '.join(map(repr, get_args(Intervals)))}"
        raise InputError(msg)
    if out is not None:
        check_new_folder(out)
    transaction = ReleaseTransaction(plan, publisher, ledger, progress)
    transaction.refuse_place(out)
    history = transaction.history(out if randomness.publishable else None)
    if plan.roles.unit is not None and not getattr(publisher, "counts_persons", False):
        assert plan.method is not None
        raise uncounted(plan, f"the method {plan.method.name} counts rows")
    progress("reading")
    table = _read(source, plan, publisher, transaction.waiting_rows(), engine_of(engine))
    progress("publishing")
    with transaction.attempt(), _naming_the_file(plan):
        publication = publisher.prepare(table, randomness, history, transaction.pay)
        source_format = table.source_format
        del table
        progress("checking")
        check_release(publication.release)
    return PendingRelease(_shown(publication, intervals), source_format, transaction)


@contextmanager
def _naming_the_file(plan: Plan) -> Iterator[None]:
    """What a method says of its parameters, only now that it has seen the table, names the plan."""
    try:
        yield
    except PlanError as error:
        if str(error).startswith("[method]"):
            raise plan.error(str(error)) from None
        raise


def _read(
    source: Any, plan: Plan, publisher: Publisher, carried: KeptRows | None, engine: Engine
) -> PrivateTable:
    """The table with the rows that waited for it, read while the publisher gets ready.

    A table of which only the best rows matter is read when these are asked for.
    """
    is_file = isinstance(source, str | Path | Address)
    if publisher.ranks:
        publisher.get_ready()
        scan = scan_table if is_file else scan_frame
        return scan(source, plan, engine=engine)
    open_ = open_table if is_file else open_frame
    with ThreadPoolExecutor(1) as pool:
        key = publisher.record_key
        opening = pool.submit(open_, source, plan, record_key=key, carried=carried, engine=engine)
        publisher.get_ready()
        return opening.result()


def _shown(publication: Publication, intervals: Intervals) -> Publication:
    """A checked publication as its readers want it."""
    if intervals == "columns":
        return publication
    return replace(publication, release=publication.release.with_intervals_as_text())
