"""Append for truck 1 while others do: ``python racing.py ENGINE ADDRESS TIMES RACER``.

Prints how many reports were taken.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from share_tests.store.reports import next_entry
from voile_share.store import Appended, PostgresStore, SQLiteStore


def main() -> None:
    engine, address, times, racer = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    store = (SQLiteStore if engine == "sqlite" else PostgresStore).open(address)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    # Others append between a look at the end of the chain and the report that continues it.
    outcomes = [store.append([next_entry(store, 1, 1 + racer)])[0] for _ in range(times)]
    store.close()
    sys.stdout.write(f"{outcomes.count(Appended.NEW)} {len(outcomes)}\n")


if __name__ == "__main__":
    main()
