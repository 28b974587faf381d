"""Which report continues the chain of its truck: decided on plain values, for every log.

A log keeps of each truck its head: slot, number and digest of the last record.  A report is taken
if its slot is later and if it names the next number and that digest.  So a chain cannot fork,
whoever appends, as long as a log reads and replaces heads in one step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from voile_base.errors import InputError
from voile_share.protocol import Report
from voile_share.protocol.audit import GENESIS
from voile_share.store.protocols import Appended
from voile_share.store.records import Entry

__all__ = ["ChainedEntry", "Head", "decide"]


@dataclass(frozen=True, slots=True)
class Head:
    """The end of a truck's chain; as it stands here, of one that has not begun."""

    slot: int = -1
    number: int = -1
    digest: bytes = GENESIS


@dataclass(frozen=True, slots=True)
class ChainedEntry:
    """An entry, and what its report says of its place in the chain."""

    entry: Entry = field(repr=False)
    number: int
    previous: bytes
    record: bytes
    """``protocol.Record``, encoded."""
    digest: bytes

    @classmethod
    def of(cls, entry: Entry) -> Self:
        """Raises ``RejectedError`` for what is no report, ``InputError`` for another one."""
        report = Report.decode(entry.message)
        if (report.at.truck, report.at.slot) != (entry.truck, entry.slot):
            msg = "an entry's truck and slot must be those of its report"
            raise InputError(msg)
        record = report.record()
        return cls(entry, report.sequence, report.previous, record.encode(), record.digest())

    @property
    def head(self) -> Head:
        """The end of the chain once it is taken."""
        return Head(self.entry.slot, self.number, self.digest)


def decide(
    arrivals: Sequence[ChainedEntry],
    heads: Mapping[bytes, Head],
    records: Mapping[tuple[bytes, int], bytes],
) -> list[Appended]:
    """What becomes of reports that arrive in this order.

    ``heads`` are those of trucks that have published, ``records`` the stored ones under the trucks
    and numbers of the arrivals: of two reports with one record, one is the other.
    """
    moved, seen, outcomes = dict(heads), dict(records), []
    for arrival in arrivals:
        truck = arrival.entry.truck
        head, key = moved.get(truck, Head()), (truck, arrival.number)
        if arrival.entry.slot <= head.slot:
            known = seen.get(key) == arrival.record
            outcomes.append(Appended.KNOWN if known else Appended.LATE)
        elif (arrival.number, arrival.previous) != (head.number + 1, head.digest):
            outcomes.append(Appended.UNCHAINED)
        else:
            moved[truck], seen[key] = arrival.head, arrival.record
            outcomes.append(Appended.NEW)
    return outcomes
