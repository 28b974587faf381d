"""A window of a real Chromium, where one is installed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from studio_tests.browsing import User
from voile_testing.processes import browser

__all__ = ["browser"]


@pytest.fixture
def user(browser: Any) -> Iterator[User]:
    """Somebody in front of a window of their own."""
    context = browser.new_context()
    yield User(context.new_page())
    context.close()
