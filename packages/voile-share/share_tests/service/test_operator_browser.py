"""The operator's page in a real browser: by keyboard, on a phone, light and dark."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from share_tests.service.server import serving
from share_tests.service.test_operator import World, made
from voile_share.map import MapFile
from voile_testing.processes import BrowserUser, Typist, barriers, browser

__all__ = ["browser"]

pytestmark = pytest.mark.slow

ROADS = b"""{"format": "voile-road-map", "version": 1, "attribution": "x",
"middle": [5201000, 436000],
"reach": [-20000, -20000, 20000, 20000], "layers": [{"rank": "primary", "counts": [3, 2],
"steps": [-15000, -15000, 9000, 14000, 9000, 16000, 0, -30000, 100, 28000]}]}"""
PAGES = ("fleet", "parcels", "links", "companies", "load", "audit")


@pytest.fixture
def world(tmp_path) -> Iterator[World]:
    with serving(tmp_path, roads=MapFile(ROADS, ROADS, '"x"')) as service:
        made_ = made(service)
        yield made_
        for one in made_.people.values():
            one.http.close()


def signed_in(user: BrowserUser, world: World, who: str) -> str:
    """Sign in through the form; the address of the service."""
    address, person = world.service.address, world.people[who]
    user.page.goto(f"{address}/operator")
    user.fill("#name", person.admitted.user.name)
    user.fill("#password", person.admitted.password)
    user.fill("#code", person.code)
    user.click("main button")
    user.page.wait_for_selector("h1:text('Fleet')")
    return address


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_barrier_no_other_origin_and_no_sideways_scrolling(
    world: World, browser: Any, scheme: str
):
    """On every page, wide and at 390 points."""
    for bypass in (False, True):  # axe needs it; the page must not
        context = browser.new_context(color_scheme=scheme, bypass_csp=bypass)
        user = BrowserUser(context.new_page())
        world.service.scene.clock.now += 60
        address = signed_in(user, world, "operator")
        assert user.page.locator("path.road").count() == 2
        truck = f"trucks/{world.trucks['Alpha']}"
        for path in ("login", *PAGES, truck, "trucks/00"):
            for width in (1440, 390):
                user.page.set_viewport_size({"width": width, "height": 900})
                user.page.goto(f"{address}/operator/{path}")
                wide = user.page.evaluate("document.documentElement.scrollWidth")
                assert wide <= width, f"{path} at {width}"
                if (folder := os.environ.get("VOILE_PICTURES")) and not bypass:
                    name = f"{path.replace('/', '-')[:9]}-{scheme}-{width}.png"
                    user.page.screenshot(path=f"{folder}/{name}", full_page=True)
                if bypass:
                    assert barriers(user.page) == [], f"{path} at {width}"
        faults = [one for one in user.complaints if "404 (Not Found)" not in one]
        assert faults == []
        assert {one.partition("/operator")[0].partition("/static")[0] for one in user.asked} == {
            address
        }
        context.close()


def test_a_link_is_closed_by_keyboard(world: World, browser: Any):
    """From the form to the question whether one is sure, with the focus in sight."""
    context = browser.new_context(viewport={"width": 390, "height": 844})
    user = BrowserUser(context.new_page())
    typist, person = Typist(user.page), world.people["Alpha dispatcher"]
    user.page.goto(f"{world.service.address}/operator")
    for field, text in (
        ("#name", person.admitted.user.name),
        ("#password", person.admitted.password),
        ("#code", person.code),
    ):
        typist.go_to(field)
        user.page.keyboard.type(text)
    typist.press("Enter")
    user.page.wait_for_selector("h1:text('Fleet')")
    typist.go_to("tbody a")
    typist.press("Enter")
    user.page.wait_for_selector("h2:text('Open links')")
    asked: list[str] = []
    user.page.on("dialog", lambda dialog: (asked.append(dialog.message), dialog.accept()))
    typist.go_to("td button")
    typist.press("Enter")
    user.page.wait_for_selector("text=There are none.")
    assert world.links["Alpha"] in asked[0]
    typist.go_to("nav a[href='/operator/links']")
    typist.press("Enter")
    user.page.wait_for_selector("h1:text('Open links')")
    typist.go_to("#search")
    user.page.keyboard.type("straße")
    typist.press("Enter")
    user.page.wait_for_url("**search=*")
    typist.go_to("td button")
    typist.press("Enter")
    user.page.wait_for_selector("text=There are none.")
    assert world.links["Alpha parcel"] in asked[1]
    assert user.complaints == []
    context.close()
