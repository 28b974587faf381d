"""The page when things go wrong around it: services restart, networks fail, clocks differ."""

from __future__ import annotations

import json
import time

import pytest

from share_tests.page.conftest import Viewer
from share_tests.page.delivery import ROADS, SLOT, Delivery
from share_tests.page.stub import Stub

pytestmark = pytest.mark.slow


def test_a_link_expires_by_itself_offline(viewer: Viewer, stub: Stub, delivery: Delivery) -> None:
    """The terms said when: then the place goes, although nobody can be asked."""
    viewer.page.clock.install()
    stub.publish(*delivery.report())
    stub.terms["expires"] = int(time.time()) + 600
    viewer.open(delivery.link().fragment())
    viewer.says("about-place", "52.0116")
    stub.stop()
    viewer.page.clock.fast_forward(900_000)
    viewer.says("notice-title", "This link has expired")
    viewer.hides("seen")


def test_a_report_from_the_future_waits_for_its_time(
    viewer: Viewer, stub: Stub, delivery: Delivery
) -> None:
    """Where the device's clock is behind, the page says so, and shows the report when it is due."""
    viewer.page.clock.install(time=delivery.first - 600)
    stub.publish(*delivery.report())
    stub.now = lambda: delivery.first
    viewer.open(delivery.link().fragment())
    viewer.says("notice-title", "Check the clock of this device")
    viewer.hides("seen")
    viewer.page.clock.run_for(560_000)
    viewer.says("about-place", "52.0116")


def test_a_clock_that_is_wrong_is_told(viewer: Viewer, stub: Stub, delivery: Delivery) -> None:
    """Ages go by this device's clock, so the page says by how much it differs."""
    stub.now = lambda: time.time() - 900
    stub.publish(*delivery.report(slot=delivery.first + 2 * SLOT))
    viewer.open(delivery.link().fragment())
    viewer.says("notice-text", "It is 15 minutes ahead of that of the service")


@pytest.mark.slow
def test_the_page_reconnects_after_the_service_restarts(
    viewer: Viewer, stub: Stub, delivery: Delivery
) -> None:
    """It says that it tries again, and resumes after the last slot that it has read."""
    stub.publish(*delivery.report())
    viewer.open(delivery.link().fragment())
    viewer.says("about-place", "52.0116")
    stub.stop()
    viewer.says("notice-title", "The service cannot be reached")
    viewer.says("connection", "Trying again")
    last = delivery.slot
    for place in ((52.02, 4.36), (52.03, 4.37)):
        stub.reports.append(delivery.report(place))
    stub.start()
    viewer.says("about-place", "52.0300, 4.3700")
    viewer.says("connection", "Connected")
    viewer.hides("notice")
    first, *_, latest = stub.feeds()
    assert "last-event-id" not in first.headers
    assert latest.headers["last-event-id"] == f"{last}"
    viewer.says("words", "Since")  # both that were missed were read: the one before is known


@pytest.mark.slow
def test_coming_online_is_not_waited_for(viewer: Viewer, stub: Stub, delivery: Delivery) -> None:
    """After many failures the next attempt is far off; the event ``online`` brings it forward."""
    viewer.page.clock.install()
    stub.publish(*delivery.report())
    viewer.open(delivery.link().fragment())
    viewer.says("about-place", "52.0116")
    stub.stop()
    viewer.says("connection", "Trying again")
    for _ in range(8):
        viewer.page.clock.run_for(60_000)
        viewer.says("connection", "Trying again")
    viewer.page.clock.pause_at(time.time() + 900)
    viewer.says("connection", "Trying again")
    stub.start()
    viewer.page.evaluate("() => dispatchEvent(new Event('online'))")
    viewer.says("connection", "Connected")


def test_the_page_opens_offline_after_the_first_time(
    keeper: Viewer, stub: Stub, delivery: Delivery
) -> None:
    """Page, map and last sighting are there when the service is not."""
    stub.road_map = json.dumps(ROADS).encode()
    stub.publish(*delivery.report())
    keeper.open(delivery.link().fragment())
    keeper.says("about-place", "52.0116")
    keeper.is_kept()
    stub.stop()
    keeper.page.context.set_offline(True)
    keeper.page.reload()
    keeper.says("about-place", "52.0116")
    keeper.says("notice-text", "What is shown is what came last.")
    keeper.says("seen-ago", "minutes ago")
    keeper.says("attribution", "Cartographers of Delft")
    stub.start()
    keeper.page.context.set_offline(False)
    keeper.says("connection", "Connected")


@pytest.mark.slow
def test_a_new_version_of_the_page_replaces_the_old_one(
    keeper: Viewer, stub: Stub, delivery: Delivery
) -> None:
    """Caches are named by the digest of all files, and there is one."""
    keeper.open(delivery.link().fragment())
    keeper.is_kept()
    keeper.page.evaluate("() => caches.open('voile-page-of-old')")
    names = "async () => (await caches.keys()).filter((name) => name.startsWith('voile-page'))"
    assert len(keeper.page.evaluate(names)) == 2
    keeper.page.evaluate(
        "async () => { await (await navigator.serviceWorker.ready).unregister(); }"
    )
    keeper.page.reload()
    keeper.is_kept()
    keeper.page.wait_for_function(f"async () => (await ({names})()).length === 1")
