"""The page in a real browser over time: reports come, parcels arrive, links end."""

from __future__ import annotations

import json

import pytest

from share_tests.page.conftest import Viewer
from share_tests.page.delivery import Delivery
from share_tests.page.stub import Stub

pytestmark = pytest.mark.slow


def test_the_position_moves_as_reports_come(viewer: Viewer, stub: Stub, delivery: Delivery) -> None:
    """The first report and those that follow are decrypted and shown, with time and distance."""
    stub.publish(*delivery.report(remaining=12_000))
    viewer.open(delivery.link().fragment())
    viewer.says("seen-remaining", "About 12 km to go")
    assert "52.0116, 4.3571" in viewer.text("about-place")
    assert viewer.text("connection") == "Connected"
    stub.publish(*delivery.report((52.0316, 4.3571), remaining=9_800))
    viewer.says("seen-remaining", "About 9.8 km to go")
    viewer.says("about-place", "52.0316, 4.3571")


@pytest.mark.parametrize(
    ("reason", "title"),
    [
        ("link-expired", "This link has expired"),
        ("link-revoked", "This link was withdrawn"),
    ],
)
def test_a_link_that_ends_shows_nothing_more(
    viewer: Viewer, stub: Stub, delivery: Delivery, reason: str, title: str
) -> None:
    """The place goes from the page and from what it keeps, and the feed is not asked for again."""
    stub.publish(*delivery.report())
    viewer.open(delivery.link().fragment())
    viewer.says("about-place", "52.0116")
    stub.close_link(reason)
    viewer.says("notice-title", title)
    viewer.hides("seen")
    viewer.hides("arrival")
    assert viewer.text("connection") == "Ended"
    assert title in viewer.text("words")
    assert "52.01" not in viewer.text("words")
    kept = viewer.page.evaluate("() => Object.values(sessionStorage)")
    assert set(json.loads(kept[0]).values()) == {None}
    asked = len(stub.feeds())
    viewer.page.wait_for_timeout(1_100)
    assert len(stub.feeds()) == asked == 1


def test_before_the_first_report_the_page_says_so(
    viewer: Viewer, stub: Stub, delivery: Delivery
) -> None:
    """A link of a truck that has not reported waits in plain words."""
    viewer.open(delivery.link().fragment())
    viewer.says("notice-title", "No report yet")
    stub.publish(*delivery.report())
    viewer.says("about-place", "52.0116")
    viewer.hides("notice")


def test_a_parcel_that_is_delivered_is_told(viewer: Viewer, stub: Stub, delivery: Delivery) -> None:
    """Reports that say nothing of it any more: the last place stays, no arrival is expected."""
    stub.publish(*delivery.report())
    viewer.open(delivery.link().fragment())
    viewer.says("arrival-when", "Between")
    viewer.says("about-place", "52.0116")
    stub.publish(*delivery.report(parcel=b"another parcel"))
    viewer.says("notice-title", "The parcel is no longer on the truck")
    viewer.hides("arrival")
    assert "52.0116" in viewer.text("about-place")
    viewer.page.reload()
    viewer.says("notice-title", "The parcel is no longer on the truck")
    assert "52.0116" in viewer.text("about-place")


def test_a_position_that_is_old_is_told(viewer: Viewer, stub: Stub, delivery: Delivery) -> None:
    """That a report is the last one does not make it recent."""
    stub.publish(*delivery.report(age=3_600))
    viewer.open(delivery.link().fragment())
    viewer.says("notice-title", "This position is old")
    viewer.says("seen-ago", "71 minutes ago")
