"""The ledger: load the history of a series, and commit one more version of it.

A publisher loads a history, decides, commits, and only then writes its release.  The commit is
a compare-and-swap: it succeeds only if the stored history is still the one that was loaded, so
two publishers never publish from the same state, and a crash leaves either no trace of a release
or a ledger that knows of it.

What a thief of the ledger learns.  It holds the secret key of each series, because the next
release needs it.  With the key he can compute the mark of a row that he guesses and look it up:
he learns whether the row is in the table, in which release it first appeared, whether it is held
back, and, where a record key identifies rows, whether his guess of the rest of the row is right.
He learns no value that he does not guess; the borders of the blocks stand in every release.
Keep the ledger as you keep the table.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from sqlite3 import Connection

from voile.errors import LedgerError
from voile.ledger import records
from voile.ledger.audit import Finding, audit_ledger, audit_release
from voile.ledger.file import LedgerFile
from voile.ledger.summary import SeriesSummary, VersionSummary
from voile.release.history import History, SeriesTerms

__all__ = ["Ledger"]

_TIMEOUT = 60.0

_Identity = tuple[SeriesTerms, bytes, tuple[str, ...]]


class Ledger:
    """The ledger at ``path``; nothing is created before the first commit.

    Where another process holds the file, every method waits for ``timeout`` seconds and then
    raises ``LedgerError``, as it does for a file that is missing, open to others than its owner,
    damaged, or not a ledger.
    """

    def __init__(self, path: Path, timeout: float = _TIMEOUT) -> None:
        self.path = path
        self._file = LedgerFile(path, timeout)

    def load(self, name: str) -> History | None:
        """The history of a series in one consistent state; None where it has none.

        A missing file is an empty ledger.  Raises ``LedgerError`` where a record was changed or
        lost since it was committed: the next release must not be checked against it.
        """
        if not self._file.exists():
            return None
        broken: list[str] = []
        with self._file.reading() as connection, self._vouching(name):
            series = records.find_series(connection, name)
            if series is None:
                return None
            history = records.read_history(connection, series, broken.append)
            if broken:
                raise ValueError("; ".join(broken))
        return history

    def commit(self, before: History | None, after: History) -> None:
        """Append the newest version of ``after``, durably, if the ledger still holds ``before``.

        ``before`` is what ``load`` returned and ``after`` is one version longer.  Raises
        ``LedgerError``, with the ledger as it was, where another publisher was faster.  A disk
        that fails while the commit is confirmed may keep it all the same; the ledger then knows
        of a release that was never written, which is safe.
        """
        name, release_id = after.terms.name, after.versions[-1].release_id
        expected = _identity(before) if before is not None and before.versions else None
        *earlier, _ = _identity(after)[2]
        if (expected or (after.terms, after.key, ())) != (after.terms, after.key, tuple(earlier)):
            msg = "a commit appends one version to a history of the same series"
            raise ValueError(msg)
        if expected is None:
            self._file.create()
        with self._file.writing() as connection:
            if self._stored_identity(connection, name) != expected:
                msg = (
                    f"{self.path}: another release of series {name!r} was committed meanwhile; "
                    "nothing was published; run again"
                )
                raise LedgerError(msg)
            if records.find_release(connection, release_id) is not None:
                # Ids are random unless a seed repeats them.
                msg = (
                    f"{self.path}: the ledger already knows a release with this id; nothing was "
                    "published; publish with another seed, or without one"
                )
                raise LedgerError(msg)
            records.append(connection, after)

    def series(self) -> list[SeriesSummary]:
        """What the ledger knows of each series, by name, without its marks and its key."""
        with self._file.reading() as connection:
            return [self._summary(connection, name) for name in records.series_names(connection)]

    def verify(self) -> list[Finding]:
        """Everything that is wrong with the ledger; an empty list means that it is sound.

        Checked are SQLite's own structures, the seals of all records (module ``records``) and
        the promises that the stored versions can show (module ``promises``).
        """
        with self._file.reading() as connection:
            return audit_ledger(connection)

    def verify_release(self, folder: Path) -> list[Finding]:
        """What the ledger does not know, or knows otherwise, about a release folder.

        Raises ``InputError`` where the folder holds no readable ``release.json``.
        """
        with self._file.reading() as connection:
            return audit_release(connection, folder)

    def _stored_identity(self, connection: Connection, name: str) -> _Identity | None:
        with self._vouching(name):
            series = records.find_series(connection, name)
        if series is None:
            return None
        versions = records.version_records(connection, series)
        return series.terms, series.key, tuple(version.release_id for version in versions)

    def _summary(self, connection: Connection, name: str) -> SeriesSummary:
        with self._vouching(name):
            series = records.find_series(connection, name)
            assert series is not None, "names and records are read in one transaction"
            return SeriesSummary(
                series.terms,
                tuple(
                    VersionSummary.of(record, records.read_blocks(connection, record.id))
                    for record in records.version_records(connection, series)
                ),
            )

    @contextmanager
    def _vouching(self, name: str) -> Iterator[None]:
        """Refuse to go on with records that cannot be read."""
        try:
            yield
        except ValueError as error:
            msg = (
                f"{self.path}: the ledger cannot vouch for series {name!r}: {error}. Restore the "
                "ledger from a backup, and check it with `voile ledger verify` and the folders of "
                "all its releases"
            )
            raise LedgerError(msg) from error


def _identity(history: History) -> _Identity:
    """What tells a state of a series from every other: ids of releases are never reused."""
    return history.terms, history.key, tuple(version.release_id for version in history.versions)
