"""What an adversary of a series has besides a release: earlier ones, and when people arrived.

Earlier releases are those that stand beside the place of the study, or in folders that are named,
and that the ledger knows; a study with a seed looks at those that are named alone.  Before which
release each row arrived is what the ledger's marks tell (``table.matching``), in series of
(k,e)-anonymity, whose rows wait.
"""

from __future__ import annotations

from typing import Any

from voile.attack.protocol import ARRIVED, Knowledge
from voile.release.history import History
from voile.release.recounting import read_recounted
from voile.schema.plan import Plan
from voile.study.run import PendingRelease
from voile.table.engines import AUTO, engine_of
from voile.table.keeping import KeptRows
from voile.table.opening import open_frame
from voile.table.protocol import Engine
from voile.table.summaries import KnownRows

__all__ = ["known_in_series"]


def known_in_series(
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
