"""Links and reports that are refused: what the page says then, and shows nothing of."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Callable

import pytest

from share_tests.page.conftest import Viewer
from share_tests.page.delivery import Delivery
from share_tests.page.stub import Stub

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("refusal", "title"),
    [
        ((401, "link-unknown"), "This link is not known here"),
        ((410, "link-expired"), "This link has expired"),
        ((410, "link-revoked"), "This link was withdrawn"),
    ],
)
def test_links_that_are_refused_say_why(
    viewer: Viewer, stub: Stub, delivery: Delivery, refusal: tuple[int, str], title: str
) -> None:
    """Problems before the stream are told in plain words and not asked about again."""
    stub.refusal = refusal
    viewer.open(delivery.link().fragment())
    viewer.says("notice-title", title)
    assert len(stub.feeds()) == 1


@pytest.mark.parametrize(
    ("fragment", "title"),
    [
        (lambda whole: whole[:-3], "This link is incomplete or damaged"),
        (lambda whole: whole[:60] + "!" + whole[61:], "This link is incomplete or damaged"),
        (lambda whole: "AQgC" + whole[4:], "This link is of another kind"),
    ],
)
def test_links_that_were_copied_badly_say_so(
    viewer: Viewer,
    stub: Stub,
    delivery: Delivery,
    fragment: Callable[[str], str],
    title: str,
) -> None:
    """A key that cannot be read is told before anything is asked for."""
    viewer.open(fragment(delivery.link().fragment()))
    viewer.says("notice-title", title)
    assert viewer.text("connection") == "Not opened"
    assert stub.feeds() == []


def test_a_page_without_a_link_says_so(viewer: Viewer, stub: Stub) -> None:
    """The bare address tells what is missing."""
    viewer.page.goto(f"{stub.origin}/t")
    viewer.says("notice-title", "There is no link")


def test_a_key_of_another_truck_shows_a_clear_message(
    viewer: Viewer, stub: Stub, delivery: Delivery
) -> None:
    """Reports of a truck that the key does not name are not shown."""
    stub.publish(*delivery.report())
    viewer.open(Delivery(name=b"truck 2 of Delft").link().fragment())
    viewer.says("notice-title", "The key in this link is of another truck")
    viewer.hides("seen")


def test_a_key_that_does_not_verify_shows_a_clear_message(
    viewer: Viewer, stub: Stub, delivery: Delivery
) -> None:
    """Reports that the link's truck did not sign are not shown."""
    stub.publish(*delivery.report())
    octets = bytearray(delivery.link().encode())
    octets[19:51] = Delivery(name=b"truck 2 of Delft").truck.card().verifying
    viewer.open(_fragment(bytes(octets)))
    viewer.says("notice-title", "The key in this link does not fit")
    viewer.hides("seen")


def test_a_key_of_another_parcel_reads_nothing(
    viewer: Viewer, stub: Stub, delivery: Delivery
) -> None:
    """It cannot be told from a parcel that is not on the truck yet, or no more: all are said."""
    stub.publish(*delivery.report())
    viewer.open(delivery.link(parcel=b"another parcel").fragment())
    viewer.says("notice-title", "No report about this parcel")
    viewer.says("notice-text", "it may not be loaded yet")
    viewer.says("notice-text", "it may have been delivered already")
    viewer.says("notice-text", "the link's key may be wrong")
    viewer.hides("seen")


def test_keys_of_other_days_say_so(viewer: Viewer, stub: Stub, delivery: Delivery) -> None:
    """A link whose days are over, or have not come, has no key for today."""
    stub.publish(*delivery.report())
    viewer.open(delivery.link(shift=5).fragment())
    viewer.says("notice-title", "The key in this link is not for today")


def test_a_tampered_report_is_not_shown(viewer: Viewer, stub: Stub, delivery: Delivery) -> None:
    """A flipped bit is refused, what was verified stays, and the next whole report is shown."""
    stub.publish(*delivery.report())
    viewer.open(delivery.link().fragment())
    viewer.says("about-place", "52.0116")
    slot, report = delivery.report((53.0, 5.0))
    for at in (40, len(report) - 1):
        stub.publish(slot, report[:at] + bytes([report[at] ^ 1]) + report[at + 1 :])
    viewer.says("about-refused", "2 reports were refused")
    viewer.says("notice-title", "A report was refused")
    assert "52.0116, 4.3571" in viewer.text("about-place")
    stub.publish(slot, report)
    viewer.says("about-place", "53.0000, 5.0000")
    viewer.hides("notice")


def test_a_replayed_report_is_not_shown(viewer: Viewer, stub: Stub, delivery: Delivery) -> None:
    """An older report changes nothing, in this visit and after a reload."""
    first = delivery.report()
    stub.publish(*first)
    viewer.open(delivery.link().fragment())
    viewer.says("about-place", "52.0116")
    stub.publish(*delivery.report((52.1, 4.5)))
    viewer.says("about-place", "52.1000")
    stub.publish(*first)
    viewer.says("about-refused", "1 report was refused")
    assert "52.1000, 4.5000" in viewer.text("about-place")
    # The service plays the old one alone, as if there were no other.
    stub.reports = []
    viewer.page.reload()
    viewer.says("about-place", "52.1000, 4.5000")
    viewer.says("connection", "Connected")  # who comes later has asked for newer ones alone
    stub.publish(*first)
    viewer.says("about-refused", "1 report was refused")
    assert "52.1000, 4.5000" in viewer.text("about-place")


def test_another_link_pasted_into_the_address_is_opened(
    viewer: Viewer, stub: Stub, delivery: Delivery
) -> None:
    """Only the hash changes then, which by itself loads nothing."""
    stub.publish(*delivery.report())
    viewer.open(delivery.link(parcel=b"another parcel").fragment())
    viewer.says("notice-title", "No report about this parcel")
    viewer.open(delivery.link().fragment())
    viewer.says("about-place", "52.0116")


@pytest.mark.parametrize(
    ("missing", "title"),
    [
        ("delete SubtleCrypto.prototype.importKey", "This browser is too old for this page"),
        (
            "Object.defineProperty(globalThis, 'crypto', { value: {} })",
            "This page must be opened securely",
        ),
    ],
)
def test_browsers_that_lack_ciphers_say_so(
    viewer: Viewer, stub: Stub, delivery: Delivery, missing: str, title: str
) -> None:
    """Without X25519 or Ed25519, or outside a secure context, the page says what to do."""
    viewer.page.add_init_script(missing)
    viewer.open(delivery.link().fragment())
    viewer.says("notice-title", title)
    assert stub.feeds() == []


def _fragment(octets: bytes) -> str:
    return urlsafe_b64encode(octets).rstrip(b"=").decode()
