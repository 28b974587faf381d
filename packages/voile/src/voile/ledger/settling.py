"""What becomes of the newest release of a series: it is known to stand, or it never appeared.

A committed release may have been seen until somebody says otherwise, so the next one is compared
with it all the same.  Of one that nobody saw, the series forgets all that a comparison needs: its
groups, and which rows it was the first to publish.  Those rows count as held back by the release
before it, for they were seen and never published; if they leave the table or change, nothing is
given away.  Where there is none before it, the series begins anew, on other terms if the plan says
so.

Only the newest can be lost.  A later one was cut so that comparing it with both is safe, which it
stays.  And what is known to stand cannot be lost: somebody may have it.
"""

from __future__ import annotations

import sqlite3

from voile.ledger.lost import LostVersion, note_lost
from voile.ledger.records import (
    Series,
    read_history,
    update_head,
    version_records,
)
from voile.ledger.row_sets import RowFolder
from voile_base.errors import LedgerError

__all__ = ["lose_version", "settle_version"]


def settle_version(connection: sqlite3.Connection, series: Series, release_id: str) -> None:
    """Note that a release of a series stands; raises ``LedgerError`` where it knows none such."""
    noted = connection.execute(
        "UPDATE version SET stands = 1 WHERE series = ? AND release_id = ?",
        (series.id, release_id),
    )
    if not noted.rowcount:
        msg = f"series {series.terms.name!r} knows no release {release_id}"
        raise LedgerError(msg)
    update_head(connection, series.terms.name)


def lose_version(
    connection: sqlite3.Connection, series: Series, folder: RowFolder, release_id: str, now: str
) -> LostVersion:
    """Forget the newest release of a series, and keep that it was.

    Raises ``LedgerError`` where it is another one, or is known to stand, and ``ValueError`` for
    records that cannot be read.
    """
    name, versions = series.terms.name, version_records(connection, series)
    if not versions or versions[-1].release_id != release_id:
        msg = f"series {name!r}: release {release_id} is not its newest, so it cannot be lost"
        raise LedgerError(msg)
    *_, newest = versions
    if newest.stands:
        msg = (
            f"series {name!r}: release {newest.number} ({release_id}) stands: its folder appeared, "
            "and somebody may have it, so it cannot be lost"
        )
        raise LedgerError(msg)
    read_history(connection, series, folder, _refuse)
    if len(versions) > 1:
        connection.execute(
            "UPDATE row_set SET version = ?, role = 'held' WHERE version = ?",
            (versions[-2].id, newest.id),
        )
    connection.execute("DELETE FROM part WHERE version = ?", (newest.id,))
    connection.execute("DELETE FROM version WHERE id = ?", (newest.id,))
    lost = LostVersion(newest.number, release_id, newest.created, now)
    note_lost(connection, series.id, name, lost)
    update_head(connection, name)
    return lost


def _refuse(what: str) -> None:
    raise ValueError(what)
