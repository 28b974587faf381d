"""A real Chromium, and a tracking page that a stub of the service sends."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from share_tests.page.delivery import NUMBER, Delivery
from share_tests.page.stub import Stub
from voile_testing import processes
from voile_testing.processes import browser

__all__ = ["Viewer", "browser"]

sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")

PATIENCE = 1000 * processes.PATIENCE
"""Milliseconds, for Playwright."""
_EAST = 12 - time.gmtime().tm_hour
"""Hours by which the viewers' clocks are ahead of UTC: it is noon there, so that what happened in
the last hours and what is expected in the next ones is of today."""
_NO_FAULTS = ("Failed to load resource", "Service Worker registration blocked by Playwright")


@pytest.fixture
def delivery() -> Delivery:
    """A truck with the parcel on it."""
    return Delivery()


@pytest.fixture
def stub() -> Iterator[Stub]:
    """A service with one link, which runs."""
    running = Stub(NUMBER, time.time).start()
    yield running
    running.stop()


@dataclass
class Viewer:
    """Somebody with a browser: the page, and what it asked for and complained of."""

    page: Any
    stub: Stub
    asked: list[str] = field(default_factory=list)
    """Addresses of all requests, as the browser tells them: with a fragment if there is one."""
    errors: list[str] = field(default_factory=list)
    """What stands in the console, but for answers that are no success."""

    noon = 3600 * (12 - _EAST)
    """Noon of a day in the viewer's zone, in seconds, for times given by hand."""

    @staticmethod
    def clock(at: float) -> str:
        """The viewer's time of day, as the page writes it."""
        return time.strftime("%H:%M", time.gmtime(at + 3600 * _EAST))

    def open(self, fragment: str, number: str = NUMBER) -> None:
        """Open a link."""
        self.page.goto(f"{self.stub.origin}/t#{number}.{fragment}")

    def says(self, place: str, words: str) -> None:
        """Wait until an element has these words in it."""
        sync_api.expect(self.page.locator(f"#{place}")).to_contain_text(words, timeout=PATIENCE)

    def hides(self, place: str) -> None:
        """Wait until an element is hidden."""
        sync_api.expect(self.page.locator(f"#{place}")).to_be_hidden(timeout=PATIENCE)

    def text(self, place: str) -> str:
        """What an element says."""
        return str(self.page.locator(f"#{place}").text_content())

    def runs(self, body: str, argument: Any = None) -> Any:
        """Run a function's body in the page; ``given`` is the argument, ``load`` gets a module."""
        load = "const load = (name) => import(`/static/${name}.js`);"
        return self.page.evaluate(f"async (given) => {{ {load} {body} }}", argument)

    def is_kept(self) -> None:
        """Wait until the page could be opened offline."""
        self.page.evaluate("() => navigator.serviceWorker.ready")
        self.page.wait_for_function("() => navigator.serviceWorker.controller", timeout=PATIENCE)


@pytest.fixture
def viewers(browser: Any, stub: Stub) -> Iterator[Callable[..., Viewer]]:
    """Makes viewers, each with a browser of their own; none may have errors in the end.

    Their browsers install no service worker, which saves time, unless that is asked for.
    """
    made: list[Viewer] = []

    def make(**options: Any) -> Viewer:
        context = browser.new_context(
            **{
                "viewport": {"width": 360, "height": 640},
                "locale": "en-GB",
                "timezone_id": f"Etc/GMT{-_EAST:+}",  # as POSIX writes them: west is positive
                "service_workers": "block",
                **options,
            }
        )
        context.set_default_timeout(PATIENCE)
        viewer = Viewer(context.new_page(), stub)
        context.on("request", lambda request: viewer.asked.append(request.url))
        viewer.page.on("console", lambda message: _note(viewer, message))
        viewer.page.on("pageerror", lambda error: viewer.errors.append(str(error)))
        made.append(viewer)
        return viewer

    yield make
    errors = [error for viewer in made for error in viewer.errors]
    for viewer in made:
        viewer.page.context.close()
    assert errors == []


def _note(viewer: Viewer, message: Any) -> None:
    # A service that is away, or refuses, is no fault of the page, nor is what these tests forbid.
    if message.type in {"error", "warning"} and not message.text.startswith(_NO_FAULTS):
        viewer.errors.append(message.text)


@pytest.fixture
def keeper(viewers: Callable[..., Viewer]) -> Viewer:
    """Somebody whose browser installs the service worker."""
    return viewers(service_workers="allow")


@pytest.fixture
def viewer(viewers: Callable[..., Viewer]) -> Viewer:
    """Somebody with a phone."""
    return viewers()
