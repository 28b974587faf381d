"""The audit log: who did what and when, in entries that name the one before them.

An entry holds the name of somebody who signs in, and numbers of companies and ids of links, which
open nothing; never a position, a password, a code, a token or an address of the network.  Whoever
changes the database can write a log of his own: keep the last digest elsewhere, such as by `voile
share audit --json` once a day.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from voile_base.errors import InputError
from voile_share.store.people import BEGINNING, AuditLine, chained

__all__ = ["Done", "Journal"]

_AT_ONCE = 1_000
COMMAND_LINE = "command line"
"""Who did what nobody signed in for."""


@dataclass(frozen=True)
class Done:
    """An entry."""

    number: int
    at: float
    who: str
    what: str
    about: str
    company: str | None
    """The number of the company that it is about; None: all."""
    digest: bytes


class Journal:
    """The audit log of a store."""

    def __init__(self, store: Any, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock

    def write(self, who: str, what: str, about: str = "", company: str | None = None) -> None:
        """Append an entry; raises ``StoreError``."""
        entry = {"at": self._clock(), "who": who, "what": what, "about": about, "of": company}
        self._store.add_audit(json.dumps(entry, ensure_ascii=False))

    def last(self, limit: int, before: int = 2**62) -> list[Done]:
        """The last entries, the latest first."""
        return [_done(line) for line in self._store.audit(before, limit)]

    def all(self) -> Iterator[Done]:
        """All in their order; raises ``InputError`` at one that does not follow the one before."""
        number, digest = 0, BEGINNING
        while lines := self._store.audit_after(number, _AT_ONCE):
            for line in lines:
                digest = chained(digest, line.entry)
                if (line.number, line.digest) != (number + 1, digest):
                    msg = (
                        f"entry {number + 1} of the audit log is not what was written: it, or one "
                        "before it, was changed or taken out"
                    )
                    raise InputError(msg)
                number = line.number
                yield _done(line)


def _done(line: AuditLine) -> Done:
    held = json.loads(line.entry)
    return Done(
        line.number, held["at"], held["who"], held["what"], held["about"], held["of"], line.digest
    )
