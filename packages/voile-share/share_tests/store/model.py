"""What a log of reports is, on plain lists, and a machine that compares a log with it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from share_tests.store.reports import SLOT, Driver, number_of, record_of, slot_of
from voile_share.protocol import Report
from voile_share.protocol.truck import GENESIS
from voile_share.store import Appended, Entry, ReportLog

NAMES = (1, 2, 300)
KINDS = ("next", "next", "next", "again", "rival", "gap")
WANTED = st.tuples(st.sampled_from(KINDS), st.integers(0, len(NAMES) - 1), st.integers(0, 9))


class PlainLog:
    """A log in memory; what was forgotten stays in the chains and leaves the reports."""

    def __init__(self) -> None:
        self.chains: dict[bytes, list[Entry]] = defaultdict(list)
        self.reports: set[tuple[int, bytes, bytes]] = set()

    def append(self, entries: Sequence[Entry]) -> list[Appended]:
        return [self._append(entry) for entry in entries]

    def _append(self, entry: Entry) -> Appended:
        chain, report = self.chains[entry.truck], Report.decode(entry.message)
        if any(other.message == entry.message for other in chain):
            return Appended.KNOWN
        if chain and entry.slot <= chain[-1].slot:
            return Appended.LATE
        before = Report.decode(chain[-1].message).record().digest() if chain else GENESIS
        if (report.sequence, report.previous) != (len(chain), before):
            return Appended.UNCHAINED
        chain.append(entry)
        self.reports.add((entry.slot, entry.truck, entry.message))
        return Appended.NEW

    def forget(self, before: int) -> int:
        lasts = {(chain[-1].slot, truck) for truck, chain in self.chains.items() if chain}
        old = {one for one in self.reports if one[0] < before and one[:2] not in lasts}
        self.reports -= old
        return len(old)

    def entries(self, truck: bytes | None = None) -> list[Entry]:
        """Ascending by (slot, truck)."""
        kept = sorted(self.reports)
        return [Entry(its, slot, text) for slot, its, text in kept if truck in {None, its}]


class LogMachine(RuleBasedStateMachine):
    """A log that must always answer as the plain one does."""

    logs: ClassVar[Callable[[], ReportLog]]
    forgets: ClassVar[bool]

    def __init__(self) -> None:
        super().__init__()
        self.log, self.plain = type(self).logs(), PlainLog()
        self.drivers = [Driver(name) for name in NAMES]
        self.time = 0
        self.made: list[Entry] = []

    @rule(wanted=st.lists(WANTED, max_size=6))
    def append(self, wanted: list[tuple[str, int, int]]) -> None:
        entries = [self._entry(kind, self.drivers[which], back) for kind, which, back in wanted]
        self.made += entries
        assert list(self.log.append(entries)) == self.plain.append(entries)
        for driver in self.drivers:
            driver.go_on_from(self.plain.chains[driver.truck])

    def _entry(self, kind: str, driver: Driver, back: int) -> Entry:
        """What may arrive: the next report, one of before, a rival, one after a gap."""
        self.time += 1
        if kind == "again" and self.made:
            return self.made[-1 - back % len(self.made)]
        if kind == "gap":
            driver.publish(self.time)  # which does not arrive
            self.time += 1
        if kind != "rival" or len(driver.states) == 1:
            return driver.publish(self.time)
        after = -2 - back % (len(driver.states) - 1)
        # At odd ones in the first slot that may come then: late rather than out of the chain.
        first = max(0, (driver.states[after].last - slot_of(0)) // SLOT + 1)
        return driver.publish(first if back % 2 else self.time, after)

    @precondition(lambda self: self.forgets)
    @rule(time=st.integers(0, 20))
    def forget(self, time: int) -> None:
        before = slot_of(max(0, self.time - time))
        assert self.log.forget(before) == self.plain.forget(before)

    @rule(name=st.sampled_from(NAMES), time=st.integers(-1, 30), limit=st.integers(1, 5))
    def read_after(self, name: int, time: int, limit: int) -> None:
        truck, slot = number_of(name), slot_of(time)
        expected = [one for one in self.plain.entries(truck) if one.slot > slot]
        assert list(self.log.after(truck, slot, limit)) == expected[:limit]

    @rule(
        first=st.integers(0, 30),
        width=st.integers(0, 10),
        limit=st.integers(1, 5),
        after=st.none() | st.tuples(st.integers(0, 30), st.sampled_from(NAMES)),
    )
    def read_slots(self, first: int, width: int, limit: int, after: tuple[int, int] | None) -> None:
        begin, end = slot_of(first), slot_of(first + width)
        place = (slot_of(after[0]), number_of(after[1])) if after else None
        expected = [
            one
            for one in self.plain.entries()
            if begin <= one.slot <= end and (place is None or (one.slot, one.truck) > place)
        ]
        assert list(self.log.in_slots(begin, end, limit, place)) == expected[:limit]

    @rule(name=st.sampled_from(NAMES), number=st.integers(0, 10), limit=st.integers(1, 5))
    def read_records(self, name: int, number: int, limit: int) -> None:
        chain = self.plain.chains[number_of(name)]
        expected = [record_of(entry) for entry in chain[number : number + limit]]
        assert list(self.log.records(number_of(name), number, limit)) == expected

    @invariant()
    def last_ones_agree(self) -> None:
        for name in NAMES:
            expected = self.plain.chains[number_of(name)][-1:]
            last = self.log.last(number_of(name))
            assert ([last] if last else []) == expected

    def teardown(self) -> None:
        self.log.close()
