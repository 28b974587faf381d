"""Append to a store whose files may not grow, then may: ``python limited.py PATH``.

Prints how many reports went in before, "refused" if an append failed as it should, and how many
there are in the end.
"""

from __future__ import annotations

import resource
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from share_tests.store.reports import all_reports, chain
from voile_share.store import Appended, SQLiteStore, StoreError


def main() -> None:
    store = SQLiteStore.open(sys.argv[1])
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, hard))
    entries, kept, refused = chain(1, 100), 0, ""
    while kept < 100 and not refused:
        try:
            store.append(entries[kept : kept + 2])
            kept += 2
        except StoreError:
            refused = "refused"
    assert len(all_reports(store, 1)) == kept
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    assert list(store.append(entries[kept : kept + 6])) == [Appended.NEW] * 6
    sys.stdout.write(f"{kept} {refused} {kept + 6}\n")


if __name__ == "__main__":
    main()
