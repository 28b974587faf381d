"""A real Chromium, where one is installed, and people in front of it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from voile_testing import processes

__all__ = ["FOCUSED", "MOST_STOPS", "SEEN", "SERIOUS", "BrowserUser", "Typist", "browser"]

PATIENCE = 1000 * processes.PATIENCE
"""Milliseconds."""
MOST_STOPS = 400
FOCUSED = "document.activeElement"
SEEN = """() => {
  const one = document.activeElement;
  if (one === document.body) return null;
  const box = one.getBoundingClientRect(), style = getComputedStyle(one);
  const mark = one.querySelector("circle");
  const outlined = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
  const drawn = mark && parseFloat(getComputedStyle(mark).strokeWidth) > 4;
  const there = box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth;
  return {outlined: Boolean(outlined || drawn), there, what: one.outerHTML.slice(0, 120)};
}"""
SERIOUS = ("serious", "critical")
"""What axe calls a barrier that keeps people out."""


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    """One Chromium for a module's tests.

    Not for the whole session: while it runs, its event loop is in the way of tests with loops of
    their own.
    """
    sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("there is no Chromium on this machine")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield started
        started.close()


class BrowserUser:
    """Somebody with a browser: what they did, what it complained of and what it asked for."""

    def __init__(self, page: Any) -> None:
        self.page, self.actions = page, 0
        self.complaints: list[str] = []
        self.asked: list[str] = []
        page.set_default_timeout(PATIENCE)
        page.on("console", lambda said: self.complaints.append(said.text))
        page.on("pageerror", lambda fault: self.complaints.append(str(fault)))
        page.on("request", lambda request: self.asked.append(request.url))

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


class Typist:
    """Somebody who has a keyboard and nothing else."""

    def __init__(self, page: Any) -> None:
        self.page = page

    def press(self, *keys: str) -> None:
        """Keys, one after the other."""
        for key in keys:
            self.page.keyboard.press(key)

    def go_to(self, what: str, *, back: bool = False) -> None:
        """Press Tab until something has the focus, which is always in sight."""
        target = self.page.locator(what).first
        target.wait_for()
        self.page.wait_for_load_state()  # its style sheet draws the focus
        for _ in range(MOST_STOPS):
            self.press("Shift+Tab" if back else "Tab")
            seen = self.page.evaluate(SEEN)
            if seen is not None:
                assert seen["outlined"], f"the focus is not to be seen: {seen['what']}"
                assert seen["there"], f"the focus is out of sight: {seen['what']}"
            if target.evaluate(f"one => one === {FOCUSED}"):
                return
        msg = f"{what} is not reached by Tab"
        raise AssertionError(msg)

    def tick(self, *values: str) -> None:
        """Tick groups of the tree."""
        for value in values:
            self.go_to(f"input[name=group][value='{value}']")
            self.press("Space")

    def groups(self) -> list[str]:
        """The groups and values of the tree, from the top."""
        found: list[str] = self.page.locator("input[name=group]").evaluate_all(
            "all => all.map(one => one.value)"
        )
        return found

    def until(self, condition: str) -> None:
        """Wait for what a key did."""
        self.page.wait_for_function(condition)
