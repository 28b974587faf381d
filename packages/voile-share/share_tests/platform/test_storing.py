"""The last step of a report: which are stored together, and when they are acknowledged."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Event
from typing import cast

from voile_share.platform.writers import Committer
from voile_share.store import Appended, Entry, ReportLog

_HOUR = 3_600.0
_PATIENCE = 60


class _Log:
    """Remembers how many reports each commit had."""

    def __init__(self) -> None:
        self.commits: list[int] = []

    def append(self, entries: Sequence[Entry]) -> Sequence[Appended]:
        self.commits.append(len(entries))
        return [Appended.NEW] * len(entries)


def _entry(slot: int) -> Entry:
    return Entry(bytes(16), slot, b"report", None)


def test_what_comes_between_two_commits_goes_together_and_nothing_waits_alone() -> None:
    """The first report is stored at once; those that come after it share the next commit."""
    log, told, asleep, wake = _Log(), list[Entry](), Event(), Event()
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        asleep.set()
        assert wake.wait(_PATIENCE)

    committer = Committer(cast("ReportLog", log), told.append, _HOUR, sleep)
    first = committer.append([_entry(0)])
    assert first.result(_PATIENCE) == [Appended.NEW]
    assert not slept
    rest = [committer.append([_entry(1)])]
    assert asleep.wait(_PATIENCE)
    rest += [committer.append([_entry(slot)]) for slot in range(2, 6)]
    assert not any(one.done() for one in rest), "acknowledged before it was stored"
    wake.set()
    assert [one.result(_PATIENCE) for one in rest] == [[Appended.NEW]] * 5
    committer.close()
    assert log.commits == [1, 5]
    assert [entry.slot for entry in told] == list(range(6))
    assert 0 < slept[0] <= _HOUR
