"""Where the tests spend their processor: ``pytest -p tools.processor_time -n 2 -m "not slow"``.

Prints the seconds of processor by room, and the tests that take most: their own, and those of the
processes that they started and waited for.  What a fixture or a compilation costs is told of the
test that came first, so figures are of a whole run and of caches as they were.  Collecting and the
process that deals tests out are not among them.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator
from typing import Any

import pytest

NAME = "processor time"
SHOWN = 40
_STARTED = pytest.StashKey[tuple[float, float]]()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Look at the clocks before a test."""
    item.stash[_STARTED] = _clocks()
    return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, Any, Any]:
    """Write what the test took into its last report, which another process may read."""
    if call.when == "teardown":
        before, now = item.stash[_STARTED], _clocks()
        item.user_properties.append((NAME, [now[0] - before[0], now[1] - before[1]]))
    return (yield)


@pytest.hookimpl
def pytest_terminal_summary(terminalreporter: Any) -> None:
    """The rooms, and the tests that took most."""
    took = {
        report.nodeid: value
        for reports in terminalreporter.stats.values()
        for report in reports
        if isinstance(report, pytest.TestReport) and report.when == "teardown"
        for name, value in report.user_properties
        if name == NAME
    }
    rooms = Counter[str]()
    for test, seconds in took.items():
        rooms["/".join(test.split("::")[0].split("/")[: 3 if "sharing" in test else 2])] += sum(
            seconds
        )
    terminalreporter.section(f"{NAME}: {sum(rooms.values()):.0f} s of {len(took):,} tests")
    for room, total in rooms.most_common():
        terminalreporter.line(f"{total:8.1f} s {room}")
    terminalreporter.line("     own   others")
    for test, (own, others) in sorted(took.items(), key=lambda it: -sum(it[1]))[:SHOWN]:
        terminalreporter.line(f"{own:8.2f} {others:8.2f} {test}")


def _clocks() -> tuple[float, float]:
    """Seconds of processor of this process, and of others that it waited for."""
    times = os.times()
    return times.user + times.system, times.children_user + times.children_system
