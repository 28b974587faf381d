"""Batches of reports of three trucks, whose place in a log shows what became of them."""

from __future__ import annotations

from dataclasses import replace

from share_tests.store.reports import all_reports, chain, number_of, record_of
from voile_share.store import Entry, SQLiteStore

BATCHES = 200
_PER_BATCH = {1: 2, 2: 1, 3: 1}
"""How many reports of each truck are in a batch."""


def batch(number: int) -> list[Entry]:
    """Its reports, with states that name their slots."""
    return [
        replace(entry, state=b"state of %d" % entry.slot)
        for name, count in _PER_BATCH.items()
        for entry in _story(name)[number * count : (number + 1) * count]
    ]


def _story(name: int) -> tuple[Entry, ...]:
    return chain(name, BATCHES * _PER_BATCH[name])


def progress(store: SQLiteStore) -> int:
    """How many batches are in the store, judged by one truck."""
    return len(all_reports(store, 3))


def faults(store: SQLiteStore) -> list[str]:
    """What is wrong with a store into which whole batches were appended, in order."""
    done, found = progress(store), []
    for name, count in _PER_BATCH.items():
        expected = [replace(entry, state=None) for entry in _story(name)[: done * count]]
        if all_reports(store, name) != expected:
            found.append(f"truck {name}: not the reports of {done} batches")
        records = store.records(number_of(name), 0, BATCHES * count)
        if list(records) != [record_of(entry) for entry in expected]:
            found.append(f"truck {name}: not the records of {done} batches")
        state = b"state of %d" % expected[-1].slot if expected else None
        if store.state(number_of(name)) != state:
            found.append(f"truck {name}: not the state of its last report")
    return found
