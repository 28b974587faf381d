"""A publisher in a process of its own: ``python publisher.py LEDGER``, driven over its pipes.

Each line ``load`` is answered by ``loaded``, and each ``commit`` by ``won ID`` or ``lost``.
"""

from __future__ import annotations

import sys
from pathlib import Path

from conftest import grown

from voile.errors import LedgerError
from voile.ledger import Ledger


def answer(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> None:
    ledger = Ledger(Path(sys.argv[1]))
    before = None
    for line in sys.stdin:
        if line.strip() == "load":
            before = ledger.load("salaries")
            answer("loaded")
            continue
        after = grown(before)
        try:
            ledger.commit(before, after)
        except LedgerError as error:
            answer("lost" if "committed meanwhile" in str(error) else str(error))
        else:
            answer(f"won {after.versions[-1].release_id}")


if __name__ == "__main__":
    main()
