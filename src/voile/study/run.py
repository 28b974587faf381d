"""The corridor: from a private table to a checked release on disk.

Read, bind roles, load history, publish, check the guarantee, commit the ledger, write.

The ledger is committed before the release is written: a crash between the two leaves a ledger
that knows of a release nobody has seen, and publishing again gives the same blocks.  A crash at
any other instant leaves nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from voile.errors import PlanError
from voile.ledger import Ledger
from voile.publish.registry import publisher_of
from voile.randomness import Randomness
from voile.release.check import check_release
from voile.release.folder import check_new_folder, write_release
from voile.release.release import Publication
from voile.schema.plan import Plan, read_plan
from voile.table.opening import open_frame, open_table
from voile.table.protocol import Format, PrivateTable

__all__ = ["make_release"]


def make_release(
    source: Any,
    plan: Plan | str | Path,
    out: str | Path | None = None,
    *,
    ledger: str | Path | None = None,
    seed: int | None = None,
    file_format: Format | None = None,
    progress: Callable[[str], None] = lambda stage: None,
) -> Publication:
    """Make one release of a table as a plan says, check it, and write it to a new folder.

    ``source`` is a file, a folder of Parquet files, or a data frame; ``out`` is None to write
    nothing.  A plan with a series needs a ``ledger``, one SQLite file that is made if it is not
    there.  ``seed`` makes draws repeatable and the release unfit for publication.
    ``progress`` is told each stage by name.

    Raises a ``VoileError``, and then nothing stands at ``out`` and the ledger is unchanged,
    unless the disk failed while the release was written: then the ledger knows of it.
    """
    plan = plan if isinstance(plan, Plan) else read_plan(plan)
    publisher = publisher_of(plan.method)
    if out is not None:
        check_new_folder(out)
    books = _ledger(publisher.series, ledger)
    if books and out is not None and books.path.resolve() == Path(out).resolve():
        msg = f"{out}: --out and --ledger name the same place; give the release one of its own"
        raise PlanError(msg)
    randomness = Randomness.secure() if seed is None else Randomness.seeded(seed)

    progress("reading")
    with ThreadPoolExecutor(1) as pool:
        opening = pool.submit(_open, source, plan, publisher.record_key)
        publisher.get_ready()
        table = opening.result()
    del opening
    history = books.load(publisher.series) if books and publisher.series else None
    progress("publishing")
    publication = publisher.prepare(table, randomness, history)
    file_format = file_format or table.source_format
    del table
    progress("checking")
    check_release(publication.release)
    if books and publication.history:
        progress("committing the ledger")
        books.commit(history, publication.history)
    if out is not None:
        progress("writing")
        write_release(publication.release, out, file_format)
    return publication


def _open(source: Any, plan: Plan, record_key: str | None) -> PrivateTable:
    if isinstance(source, str | Path):
        return open_table(source, plan, record_key=record_key)
    return open_frame(source, plan, record_key=record_key)


def _ledger(series: str | None, path: str | Path | None) -> Ledger | None:
    if series is None:
        return None
    if path is None:
        msg = (
            f"[method] series {series!r} needs a ledger that remembers its releases: pass "
            "--ledger FILE (in Python, ledger=...); the file is made if it is not there"
        )
        raise PlanError(msg)
    return Ledger(Path(path))
