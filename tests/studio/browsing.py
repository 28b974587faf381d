"""Studio as a process, and somebody in front of a real browser, whose actions are counted."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests import waiting

PATIENCE = 1000 * waiting.PATIENCE
"""Milliseconds."""

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


class User:
    """Somebody with a browser: what they did, what it complained of and what it asked for."""

    def __init__(self, page: Any) -> None:
        self.page, self.actions = page, 0
        self.complaints: list[str] = []
        self.asked: list[str] = []
        page.set_default_timeout(PATIENCE)
        page.on("console", lambda said: self.complaints.append(said.text))
        page.on("pageerror", lambda fault: self.complaints.append(str(fault)))
        page.on("request", lambda request: self.asked.append(request.url))

    def enter(self, address: str) -> None:
        """Open Studio and wait until the table was looked at."""
        self.page.goto(address)
        self.page.wait_for_selector("text=Exposure")

    def click(self, what: str) -> None:
        """A click."""
        self.actions += 1
        self.page.click(what)

    def fill(self, what: str, text: str) -> None:
        """Typing into a field."""
        self.actions += 1
        self.page.fill(what, text)

    def choose(self, what: str, option: str) -> None:
        """A choice from a list."""
        self.actions += 1
        self.page.select_option(what, option)

    def copied(self) -> str:
        """The command that the page shows last."""
        shown: str = self.page.locator("[data-copy]").last.get_attribute("data-copy")
        return shown
