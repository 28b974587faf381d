"""How the page looks, sounds and moves, and what it tells nobody, in a real browser."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest

from share_tests.page.conftest import Viewer
from share_tests.page.delivery import DELFT, NUMBER, ROADS, Delivery
from share_tests.page.stub import Stub
from voile_share.page import CONTENT_SECURITY_POLICY
from voile_testing.processes import wait_until


@pytest.mark.slow
def test_a_screen_reader_is_told_in_sentences(
    viewer: Viewer, stub: Stub, delivery: Delivery
) -> None:
    """Time, place with its uncertainty, distance, arrival and movement; announced politely."""
    stub.publish(*delivery.report(DELFT, displacement=600))
    viewer.open(delivery.link().fragment())
    viewer.says("words", "the truck was")
    stub.publish(*delivery.report((52.0616, 4.4371), remaining=9_800, displacement=600))
    viewer.says("words", "to the north-east")
    words = viewer.text("words")
    at = viewer.clock(delivery.slot)
    place = "about 9.8 km from the parcel's destination in a straight line"
    assert f"At {at} the truck was {place}. It was within 1.0 km of" in words
    assert "52.062 degrees north, 4.437 degrees east, 9 times out of 10." in words
    assert "Arrival expected between" in words
    # 7.8 km by the positions, whose circles of 1.0 km it is beyond.
    assert "it has moved some 7.8 km to the north-east." in words
    region = viewer.page.locator("#words")
    assert region.get_attribute("aria-live") == "polite"
    surface = viewer.page.get_by_role("application")
    assert surface.get_attribute("aria-label") == "Map of roads with the parcel's place"
    assert viewer.page.locator("html").get_attribute("lang") == "en"
    for name in ("Zoom in", "Zoom out", "Show the parcel and follow it"):
        assert viewer.page.get_by_role("button", name=name).is_visible()
    for name in ("Your parcel", "Arrival", "Last seen"):
        assert viewer.page.get_by_role("heading", name=name).is_visible()


@pytest.mark.slow
def test_the_nearest_place_of_the_map_is_named(
    viewer: Viewer, stub: Stub, delivery: Delivery
) -> None:
    """In words on the page and for who hears it; where none is within 15 km there is no word."""
    places = [
        {"kind": "city", "name": "Delft", "at": [0, 500]},
        {"kind": "city", "name": "Rotterdam", "at": [-9_000, 12_000]},
    ]
    streets = {"names": ["Singel"], "labels": [0, 0, 0, -3000, 0, 3000]}
    stub.road_map = json.dumps({**ROADS, **streets, "places": places}).encode()
    stub.publish(*delivery.report(DELFT))
    viewer.open(delivery.link().fragment())
    viewer.says("seen-near", "Near Delft")
    viewer.says("words", "Near Delft.")
    stub.publish(*delivery.report((51.94, 4.46)))
    viewer.says("seen-near", "Near Rotterdam")
    stub.publish(*delivery.report((53.0, 4.46)))
    viewer.hides("seen-near")


def test_where_no_destination_is_known_the_place_is_said_by_degrees(
    viewer: Viewer, stub: Stub, delivery: Delivery
) -> None:
    """Without a distance there is no word of one."""
    stub.publish(*delivery.report(remaining=None, displacement=600))
    viewer.open(delivery.link().fragment())
    viewer.says("words", "the truck was within 1.0 km of 52.012 degrees north")
    assert "destination" not in viewer.text("words")


@pytest.mark.slow
def test_a_rule_stands_between_two_facts_only(
    viewer: Viewer, stub: Stub, delivery: Delivery
) -> None:
    """Between arrival and place; where no arrival is said there is none above the place."""
    rule = "getComputedStyle(document.getElementById('seen')).borderTopWidth"
    stub.publish(*delivery.report(remaining=9_800))
    viewer.open(delivery.link().fragment())
    viewer.says("arrival-when", "Between")
    assert viewer.page.evaluate(rule) == "1px"
    stub.terms = {"arrival": None}
    viewer.page.reload()
    viewer.says("seen-remaining", "9.8 km")
    viewer.hides("arrival")
    assert viewer.page.evaluate(rule) == "0px"


@pytest.mark.slow
def test_a_truck_at_its_goal_is_nearly_there(
    viewer: Viewer, stub: Stub, delivery: Delivery
) -> None:
    """A distance that is none is no distance in a straight line, to see and to hear."""
    stub.publish(*delivery.report(remaining=20))
    viewer.open(delivery.link().fragment())
    viewer.says("words", "the truck was nearly at the parcel's destination.")
    assert viewer.text("seen-remaining") == "Nearly there"


@pytest.mark.slow
def test_movement_within_the_noise_is_not_called_movement(
    viewer: Viewer, stub: Stub, delivery: Delivery
) -> None:
    """A step that is shorter than what the noise makes of rest is not told as a course."""
    stub.publish(*delivery.report(DELFT, displacement=600))
    viewer.open(delivery.link().fragment())
    viewer.says("words", "the truck was")
    stub.publish(*delivery.report((52.0166, 4.3571), displacement=600))
    viewer.says("words", "has not moved farther than can be told")


@pytest.mark.slow
def test_nothing_is_asked_of_others_and_the_key_stays(
    keeper: Viewer, stub: Stub, delivery: Delivery
) -> None:
    """No request goes elsewhere, none holds the key or the number in its path, none a referrer."""
    stub.road_map = json.dumps(ROADS).encode()
    stub.publish(*delivery.report())
    fragment = delivery.link().fragment()
    keeper.open(fragment)
    keeper.says("about-place", "52.0116")
    keeper.is_kept()
    keeper.page.reload()
    keeper.says("about-place", "52.0116")
    assert {urlsplit(address).netloc for address in keeper.asked} == {f"127.0.0.1:{stub.port}"}
    assert len(stub.requests) > 20
    secret = fragment[80:]
    for request in stub.requests:
        everything = request.path + json.dumps(request.headers)
        assert secret not in everything
        assert fragment[:40] not in everything
        assert NUMBER not in request.path
        assert "referer" not in request.headers
        assert "cookie" not in request.headers
        bearer = f"Bearer {NUMBER}" if request.path == "/api/v1/feed" else None
        assert request.headers.get("authorization") == bearer
    # What is needed to open the page again is still in the address, and no place is kept.
    assert keeper.page.evaluate("() => location.hash") == f"#{NUMBER}.{fragment}"
    kept = keeper.page.evaluate("() => JSON.stringify([{...sessionStorage}, {...localStorage}])")
    assert secret not in kept
    assert NUMBER not in kept
    assert "52.0" not in kept


@pytest.mark.slow
def test_the_policy_of_the_page_is_sent_and_enforced(
    viewer: Viewer, stub: Stub, delivery: Delivery
) -> None:
    """A script that stands in the page, or comes from elsewhere, would not run."""
    viewer.open(delivery.link().fragment())
    viewer.says("notice-title", "No report yet")
    policy = viewer.page.evaluate(
        "async () => (await fetch('/t')).headers.get('content-security-policy')"
    )
    assert policy == CONTENT_SECURITY_POLICY
    refused = viewer.page.evaluate(
        """() => new Promise((resolve) => {
            const name = "securitypolicyviolation";
            addEventListener(name, (event) => resolve(event.violatedDirective));
            const script = document.createElement("script");
            script.textContent = "window.ran = true";
            document.head.append(script);
        })"""
    )
    assert refused.startswith("script-src")
    assert viewer.page.evaluate("() => window.ran") is None
    viewer.errors.clear()  # this one violation was ours


@pytest.mark.slow
def test_the_map_is_moved_by_keys_buttons_wheel_and_fingers(
    viewer: Viewer, stub: Stub, delivery: Delivery
) -> None:
    """Each changes the picture; the button brings the parcel back."""
    stub.road_map = json.dumps(ROADS).encode()
    stub.publish(*delivery.report())
    viewer.page.emulate_media(reduced_motion="reduce")
    viewer.open(delivery.link().fragment())
    viewer.says("about-place", "52.0116")
    viewer.says("attribution", "Cartographers of Delft")
    parcel = viewer.page.locator("#parcel")
    assert parcel.get_attribute("aria-pressed") == "true"
    home, before = picture(viewer), None
    surface = viewer.page.locator("#surface")
    box = surface.bounding_box()
    middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    for move in (
        lambda: surface.press("ArrowLeft"),
        lambda: surface.press("+"),
        lambda: viewer.page.get_by_role("button", name="Zoom out").click(),
        lambda: (viewer.page.mouse.move(*middle), viewer.page.mouse.wheel(0, 100)),
        lambda: drag(viewer, middle),
    ):
        move()
        former = {before, home}
        wait_until(lambda former=former: picture(viewer) not in former, "nothing has moved")
        before = picture(viewer)
    assert parcel.get_attribute("aria-pressed") == "false"
    surface.press("0")
    wait_until(lambda: picture(viewer) == home, "the parcel is not shown again")
    assert parcel.get_attribute("aria-pressed") == "true"


DRAWN = """() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(
    () => drawn(document.getElementById('canvas').toDataURL()))))"""


def picture(viewer: Viewer) -> str:
    """The canvas with all that was asked to be drawn: the page draws in its next frame."""
    return str(viewer.page.evaluate(DRAWN))


def drag(viewer: Viewer, start: tuple[float, float]) -> None:
    """Move the map by the mouse."""
    mouse: Any = viewer.page.mouse
    mouse.move(*start)
    mouse.down()
    mouse.move(start[0] + 40, start[1] + 30)
    mouse.up()


@pytest.mark.slow
def test_a_service_without_a_map_says_so(viewer: Viewer, stub: Stub, delivery: Delivery) -> None:
    """The place is shown all the same."""
    stub.publish(*delivery.report())
    viewer.open(delivery.link().fragment())
    viewer.says("roadless", "This service has no road map.")
    viewer.says("about-place", "52.0116")


@pytest.mark.slow
@pytest.mark.parametrize("size", [(360, 640), (320, 568), (1280, 800), (640, 360)])
def test_nothing_is_cut_off_on_any_screen(
    viewers: Callable[..., Viewer], stub: Stub, delivery: Delivery, size: tuple[int, int]
) -> None:
    """The page is never wider than the screen, and map and arrival are seen without scrolling."""
    viewer = viewers(viewport={"width": size[0], "height": size[1]})
    stub.publish(*delivery.report())
    viewer.open(delivery.link().fragment())
    viewer.says("about-place", "52.0116")
    assert viewer.page.evaluate("() => document.documentElement.scrollWidth") <= size[0]
    for place, share in (("canvas", 0.9), ("arrival-when", 1.0)):
        box = viewer.page.locator(f"#{place}").bounding_box()
        assert box["height"] > 20
        if size[1] > 400:
            assert box["y"] + share * box["height"] <= size[1]


@pytest.mark.slow
def test_a_share_of_arrivals_is_said_where_one_was_learnt(
    viewer: Viewer, stub: Stub, delivery: Delivery
) -> None:
    """With a table the times and what they rest on; without one, no word of when it arrives."""
    stub.publish(*delivery.report(remaining=9_800))
    viewer.open(delivery.link().fragment())
    viewer.says("arrival-when", "Between")
    viewer.says("arrival-basis", "From 80 tours: 9 of 10 arrivals should fall into such a time.")
    assert "9 times out of 10" in viewer.text("seen-within")
    stub.terms = {"arrival": None}
    viewer.page.reload()
    viewer.says("seen-remaining", "9.8 km")
    viewer.hides("arrival")
    assert "Arrival" not in viewer.text("words")
