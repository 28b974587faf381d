"""A real Chromium, where one is installed."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from tests.studio.browsing import User


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
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


@pytest.fixture
def user(browser: Any) -> Iterator[User]:
    """Somebody in front of a window of their own."""
    context = browser.new_context()
    yield User(context.new_page())
    context.close()
