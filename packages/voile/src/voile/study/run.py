"""The corridor: from a private table to a checked release on disk.

Read, bind roles, load history and budget, pay, publish, stage the rows, check the guarantee on the
staged files, commit the ledger, write ``release.json``, appear.

What a release spends is charged before anything is drawn for it, and stays charged whatever comes
of the draw.  The ledger is committed before the release appears: a crash between the two leaves a
ledger that knows of a release nobody has seen.  In a series, publishing again gives the same
blocks, or the series is told that it was lost; rows that it took up from a pool wait until somebody
says whether its folder appeared (``voile ledger settle``).  A crash at any other instant leaves
nothing but what was charged, and perhaps a hidden folder.

A release that is made ready where nobody sees it: written, read back, checked.

What is checked is what readers will get.  The rows of a release are written to a hidden folder
beside its place, without ``release.json``, and its claims are measured on these files, read by the
engine that will read them for anybody.  So a fault of a writer, or of a format that keeps less than
the rows had, ends a publication like any broken guarantee: before the ledger knows of the release.
Where a release is not written, it is checked as it stands.

Cost: a pass over the files for their hashes, and reading the columns that the check asks for.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

from voile.publish.publisher import Publisher
from voile.publish.registry import publisher_for, read_plan
from voile.release.check import GuaranteeBrokenError, check_release, wording_breaches
from voile.release.folder import (
    UnseenFolder,
    check_new_folder,
    format_for,
    manifest_of,
    write_document,
    write_measurements,
)
from voile.release.release import Publication, Release
from voile.schema.persons import uncounted
from voile.schema.plan import Plan
from voile.study.plans import file_of, naming_files
from voile.study.transaction import ReleaseTransaction
from voile.table.engines import AUTO, engine_for
from voile.table.keeping import KeptRows
from voile.table.lakes import brought
from voile.table.opening import (
    open_any_rows,
    open_frame,
    open_published,
    open_table,
    scan_frame,
    scan_table,
)
from voile.table.places import is_place
from voile.table.private import PrivateTable
from voile.table.protocol import Engine, Format
from voile.table.published import PublishedTable, part
from voile.table.remote import RemotePlace, UncertainUploadError, is_remote
from voile_base.compiled import compiles
from voile_base.durable import sync
from voile_base.errors import InputError, RefusedError, TableError
from voile_base.ondemand import dataclass, on_demand
from voile_base.randomness import Randomness
from voile_base.values import Document

if TYPE_CHECKING:
    from concurrent import futures
else:
    futures = on_demand("concurrent.futures")

__all__ = ["Intervals", "PendingRelease", "ReleaseStaging", "make_release", "prepare_release"]


class ReleaseStaging:
    """Where one release is made ready to appear at ``out``; a context, which tidies up.

    ``out`` is None where nothing is written.  ``within`` names the folder of the release inside the
    one that appears, which holds ``what``, for messages.  ``file_format`` is that of the rows;
    None: the usual one.  ``partition_by`` names columns by whose published values the rows are
    parted in folders (``table.published``).  ``data`` is what a single file of them is called.  A
    release may be bound for an object store (``table.remote``): then it is made ready in a folder
    of this machine that goes with the stage.  Raises ``InputError`` where something stands at
    ``out``.
    """

    def __init__(
        self,
        out: str | Path | None = None,
        what: str = "the release",
        *,
        within: str = "",
        file_format: Format | None = None,
        partition_by: Sequence[str] = (),
        data: Literal["data", "tables"] = "data",
    ) -> None:
        if partition_by and file_format not in (None, "parquet"):
            msg = f"--partition-by makes folders of Parquet files; leave out --format {file_format}"
            raise InputError(msg)
        self._by = tuple(partition_by)
        file_format = "parquet" if partition_by else file_format
        self._called = data
        self._remote: RemotePlace | None = None
        self._here: tempfile.TemporaryDirectory[str] | None = None
        if out is not None and is_remote(out):
            self._remote = _place_of_release(out, within)
            self._here = tempfile.TemporaryDirectory(prefix="voile-release-")
            out = Path(self._here.name) / "release"
        self.out = None if out is None else check_new_folder(out)
        self._what, self._within, self._asked = what, within, file_format
        self._unseen: UnseenFolder | None = None
        self._data: Sequence[Document] = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._unseen is not None:
            self._unseen.remove()
        if self._here is not None:
            self._here.cleanup()

    def check(
        self,
        release: Release,
        usual: Format,
        engine: Engine | str = AUTO,
        progress: Callable[[str], None] = lambda stage: None,
    ) -> None:
        """Write the rows of a release, and check what was written; or the rows themselves.

        ``usual`` is the format where none was asked for.  Raises ``InputError`` where the disk or
        the format refuses, ``GuaranteeBrokenError`` where the files do not have what is claimed,
        ``RefusedError`` where the release says in words what recipients could not recount.
        """
        table = release.table
        if self.out is not None:
            file_format = format_for(release, self._asked, usual)
            self._unseen = UnseenFolder(self.out, self._what)
            progress("writing")
            with self._unseen.writing() as root:
                folder = root / self._within
                folder.mkdir(exist_ok=True)
                files = [self._named(folder, name) for name in table.write(folder, file_format)]
                if self._by:
                    files = part(folder, files, self._by)
                write_measurements(release, folder)
                self._data = manifest_of(folder, files)
            if table.rows:  # no reader takes a file without rows for a table
                table = _read_back(table, folder, files, engine)
        progress("checking")
        check_release(replace(release, table=table))
        _refuse_words(release)

    def _named(self, folder: Path, file: str) -> str:
        """What a file of rows is called in the end."""
        given = Path(file)
        name = f"{self._called}{given.suffix}" if given.stem == "data" else file
        (folder / file).rename(folder / name)
        return name

    @property
    def data(self) -> Sequence[Document]:
        """What ``release.json`` lists of the files that were written."""
        return self._data

    def appear(self, release: Release, fill: Callable[[Path], None] = lambda folder: None) -> None:
        """Write the document of a checked release, and let the folder appear.

        ``fill`` writes what else it holds.  Raises ``InputError`` where the disk fails.
        """
        if self._unseen is None:
            return
        with self._unseen.writing() as root:
            fill(root)
            write_document(release, root / self._within, self._data)
            if self._within:
                sync(root / self._within)
        if self._remote is None:
            self._unseen.appear()
            return
        try:
            self._remote.put_release(root)
        except UncertainUploadError:
            self._unseen.appear()  # whoever asks whether it may stand is told so
            raise


def _refuse_words(release: Release) -> None:
    """Refuse what a release says in words that its claims do not allow: nobody could recount it."""
    for told in wording_breaches(release.document(), release.guarantee.claims):
        msg = (
            f"{told}, so that voile recount and verify.html would refuse the release; state the "
            "sentences of a method of your own in the wording of its claims, and shorten labels "
            "that its decision repeats"
        )
        raise RefusedError(msg)


def _place_of_release(out: str | Path, within: str) -> RemotePlace:
    """A place in a store where nothing stands; raises ``InputError``."""
    if within:
        msg = f"{out}: what is private stays on this machine; name a folder, and publish to a store"
        raise InputError(msg)
    place = RemotePlace.of(out)
    place.refuse_taken()
    return place


def _read_back(
    written: PublishedTable, folder: Path, files: Sequence[str], engine: Engine | str
) -> PublishedTable:
    """The rows that stand in files; raises ``GuaranteeBrokenError`` where not all are there."""
    texts = [name for name, kind in written.kinds().items() if kind == "text"]
    try:
        read = open_published(folder, texts, files, engine)
        columns, rows = read.columns, read.rows
    except TableError:
        msg = "the files that were written of the release cannot be read back"
        raise GuaranteeBrokenError(msg) from None
    if sorted(columns) != sorted(written.columns) or rows != written.rows:
        msg = (
            f"the files of the release have {rows} rows of {len(columns)} columns, where "
            f"{written.rows} of {len(written.columns)} were written"
        )
        raise GuaranteeBrokenError(msg)
    return read


_SMALL = 1 << 20
"""Bytes of a file, of some ten thousand rows."""

Intervals = Literal["columns", "text"]
"""An interval as two columns, ``NAME.low`` and ``NAME.high``, or as ``[low, high]`` in one."""


def make_release(  # noqa: PLR0913 - what a custodian may say of one release
    source: object,
    plan: Plan | str | Path,
    out: str | Path | None = None,
    *,
    ledger: str | Path | None = None,
    seed: int | None = None,
    file_format: Format | None = None,
    intervals: Intervals = "columns",
    engine: Engine | str = AUTO,
    known: Sequence[str | Path] = (),
    partition_by: Sequence[str] = (),
    progress: Callable[[str], None] = lambda stage: None,
) -> Publication:
    """Make one release of a table as a plan says, check it, and write it to a new folder.

    ``source`` is a file, a folder of Parquet files, an address of an object store or of the web, or
    a data frame; ``out`` may be a place of a store, too, and is None to write nothing.  A plan with
    a series or a budget needs a ``ledger``, one SQLite file that is made if it is not there.
    ``seed`` makes draws repeatable and the release unfit for publication; it is entered in the
    ledger like any other.  ``intervals`` says how intervals are shown, ``engine`` what holds the
    rows: a name (``table.engines``), or an engine.  ``known`` names further folders with releases,
    each of which the ledger must know if it is of the series or data set.  ``partition_by`` names
    published columns by whose values the rows are parted in folders.  ``progress`` is told each
    stage by name.

    Raises a ``VoileError``, and then nothing stands at ``out``, and the ledger is as it was but
    for what a method that draws was charged before its draw: the message says so.
    """
    plan = plan if isinstance(plan, Plan) else read_plan(plan)
    plan.refuse_open_questions()
    publisher_for(plan)  # a wrong plan is told before a taken place
    _refuse_parts(plan, partition_by)
    staging = ReleaseStaging(out, file_format=file_format, partition_by=partition_by)
    with staging as stage, brought(source) as rows:
        pending = prepare_release(
            rows,
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


def _refuse_parts(plan: Plan, partition_by: Sequence[str]) -> None:
    """Refuse parts by a column of no published role before anything is charged.

    What a column shows may have several names, which begin with its own: the rows that are written
    are looked at again.
    """
    own = {*plan.roles.identifiers, plan.roles.person, plan.roles.household}
    for name in partition_by:
        if name in own or (
            not plan.trajectory and not name.startswith((*plan.roles.published, "group"))
        ):
            msg = (
                f"--partition-by {name}: the plan does not publish this column, and everybody "
                "reads the names of folders; name a column that is published"
            )
            raise InputError(msg)


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
    source: object,
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
    publisher = publisher.following(transaction.in_account)
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
    is_file = is_place(source)
    worth_it = compiles() and _is_worth_it(source)
    if publisher.ranks:
        if worth_it:
            publisher.get_ready()
        scan = scan_table if is_file else scan_frame
        return scan(source, plan, engine=engine)
    if publisher.capabilities.any_rows:
        return open_any_rows(source, plan, of_file=is_file, engine=engine)
    open_ = partial(
        open_table if is_file else open_frame,
        source,
        plan,
        record_key=publisher.record_key,
        carried=carried,
        engine=engine,
    )
    if not worth_it:
        return open_()
    with futures.ThreadPoolExecutor(1) as pool:
        opening = pool.submit(open_)
        publisher.get_ready()
        return opening.result()


def _is_worth_it(source: object) -> bool:
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
