"""Studio as a process, and somebody in front of a real browser, whose actions are counted."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from voile_testing import processes

POLICY = """
name = "office"
source = "decision of the board"
audience = "researchers"

[[criteria]]
kind = "group-size"
least = 5

[[criteria]]
kind = "assumptions"

[[criteria]]
kind = "question"
says = "the recipient has signed the terms of use"
"""


@contextmanager
def studio(table: Path) -> Iterator[str]:
    """Studio for a table, at the address that lets a browser in, once."""
    command = [sys.executable, "-m", "voile", "studio", str(table), "--no-browser"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as serving:
        assert serving.stderr is not None
        found = re.search(r"http\S+", serving.stderr.readline())
        assert found is not None
        try:
            yield found[0]
        finally:
            serving.terminate()


class User(processes.BrowserUser):
    """Somebody who uses Studio."""

    def enter(self, address: str) -> None:
        """Open Studio and wait until the table was looked at."""
        self.page.goto(address)
        self.page.wait_for_selector("h2:text-is('Columns')")

    def copied(self) -> str:
        """The command that the page shows last."""
        shown: str = self.page.locator("[data-copy]").last.get_attribute("data-copy")
        return shown
