"""A publisher in a process of its own: ``python publisher.py``, driven over its pipes.

The line ``open WHAT LEDGER`` is answered by ``opened``.  ``WHAT`` is "series", to commit versions
of a series, "budget", to spend 1 of a data set, or "trips" to spend 1 of the budgets of two trips.
Each line ``load`` is then answered by ``loaded``, and each ``commit`` by ``won ID``, ``lost`` or
``refused``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from voile.ledger import Ledger
from voile_base.errors import LedgerError, RefusedError
from voile_tests.ledger.conftest import charged, grown
from voile_tests.ledger.fleets import charge_trips


def answer(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def load(ledger: Ledger, what: str) -> Any:
    if what == "trips":
        return ledger.fleet("vans")
    return ledger.load("salaries") if what == "series" else ledger.budget("parcels")


def commit(ledger: Ledger, what: str, before: Any) -> str:
    """Commit on top of what was loaded; the id of the release."""
    if what == "series":
        after = grown(before)
        ledger.commit(before, after)
        return after.latest.release_id
    if what == "trips":
        trips = charge_trips(before, {1: (1.0, 0.0), 2: (1.0, 0.0)})
        ledger.commit(None, None, trips=trips)
        return trips.release_id
    charge = charged(before, "1")
    ledger.commit(None, None, charge)
    return charge.release_id


def main() -> None:
    ledger, what, before = Ledger(Path()), "", None
    for line in sys.stdin:
        if line.startswith("open "):
            _, what, path = line.rstrip("\n").split(" ", 2)
            ledger = Ledger(Path(path))
            answer("opened")
            continue
        if line.strip() == "load":
            before = load(ledger, what)
            answer("loaded")
            continue
        try:
            answer(f"won {commit(ledger, what, before)}")
        except LedgerError as error:
            answer("lost" if "committed meanwhile" in str(error) else str(error))
        except RefusedError as error:
            spent = "0 is left" in str(error) or "2 of 2 trips would spend more" in str(error)
            answer("refused" if spent else str(error))


if __name__ == "__main__":
    main()
