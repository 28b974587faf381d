"""A link that follows a parcel: the page says where it is, and believes its carrier alone."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from share_tests.page.conftest import Viewer, sync_api
from share_tests.page.delivery import SLOT
from share_tests.page.stub import Stub
from share_tests.service.server import serving
from voile_base.randomness import Randomness
from voile_share import protocol
from voile_share.carrier import carrier_folder, new_carrier
from voile_share.parties import Consignment, Parties, TrackingAddress
from voile_share.protocol import Notice, SealedNotice, Stage
from voile_share.protocol.primitives import verifying_key

pytestmark = pytest.mark.slow

SEED, OTHER = b"seed of the carrier, 32 bytes..!", b"seed of the platform, 32 bytes!!"
RANDOM = Randomness.seeded(3)
TODAY = int(time.time()) // 86_400


def parcel_link() -> protocol.ParcelLink:
    root = protocol.ParcelRoot(b"root of a parcel's keys, 32 byte")
    return protocol.ParcelLink(verifying_key(SEED), root, TODAY - 1, 7)


def notice(number: int, stage: Stage, card: protocol.TruckCard | None = None, **more: Any) -> bytes:
    seed = more.pop("seed", SEED)
    said = Notice(parcel_link().root.box, number, int(time.time()), stage, card, **more)
    return SealedNotice.seal(said, seed, RANDOM).encode()


def report(truck: protocol.TruckSecrets, place: tuple[float, float]) -> tuple[int, bytes]:
    """Of this slot, about the parcel of the link."""
    slot = int(time.time()) // SLOT * SLOT
    keys = protocol.suite_named().tracking_public(parcel_link().root.day(protocol.day_of(slot)))
    seen = protocol.Position(*place, slot, 2 / 600)
    content = protocol.Content((seen,) * 3, [protocol.Carried(keys, 1, 12_000)], 10)
    return slot, protocol.ReportPublisher.new(truck).publish(slot, content, RANDOM)[1]


def truck(name: bytes) -> protocol.TruckSecrets:
    return protocol.TruckSecrets.draw(name.ljust(16, b"."), RANDOM)


def test_each_stage_has_words_of_its_own(viewer: Viewer, stub: Stub) -> None:
    """Not loaded, on a truck, in a depot, delivered and returned are told apart, while one looks.

    The truck's place is shown while the parcel is on it, and no place otherwise.
    """
    stub.notice = notice(1, Stage.AWAITED)
    viewer.open(parcel_link().fragment())
    viewer.says("notice-title", "not loaded yet")
    first = truck(b"1")
    stub.say(notice(2, Stage.ABOARD, first.card()))
    viewer.says("notice-title", "is on a truck")
    stub.publish(*report(first, (52.0, 4.3)))
    viewer.says("about-place", "52.0000, 4.3000")
    viewer.hides("notice")
    stub.say(notice(3, Stage.DEPOT, depot="Hamburg"))
    viewer.says("notice-title", "in the depot Hamburg")
    viewer.hides("seen")
    stub.say(notice(4, Stage.DEPOT))
    viewer.says("notice-title", "in a depot")
    second = truck(b"2")
    stub.say(notice(5, Stage.ABOARD, second.card()))
    viewer.says("notice-title", "is on a truck")
    # Of the same slot as the first one's: each truck has slots of its own.
    stub.publish(*report(second, (53.5, 10.0)))
    viewer.says("about-place", "53.5000, 10.0000")
    stub.say(notice(6, Stage.DELIVERED))
    viewer.says("notice-title", "was delivered")
    stub.say(notice(7, Stage.RETURNED))
    viewer.says("notice-title", "back to its sender")
    assert not viewer.runs("return document.documentElement.scrollWidth > innerWidth")


def test_the_page_refuses_a_truck_that_the_platform_has_put_in(viewer: Viewer, stub: Stub) -> None:
    """Neither its card, nor its reports under the carrier's notice of another truck, are shown."""
    mine, right = truck(b"mine"), truck(b"right")
    stub.notice = notice(9, Stage.ABOARD, mine.card(), seed=OTHER)
    stub.reports.append(report(mine, (48.0, 2.0)))
    viewer.open(parcel_link().fragment())
    viewer.says("notice-title", "does not fit")
    viewer.hides("seen")
    stub.say(notice(1, Stage.ABOARD, right.card()))
    viewer.says("notice-title", "is on a truck")
    posing = protocol.TruckSecrets(right.truck, mine.signing, mine.sealing)
    stub.publish(*report(posing, (48.0, 2.0)))
    viewer.says("notice-title", "does not fit")
    viewer.hides("seen")
    stub.publish(*report(right, (52.0, 4.3)))
    viewer.says("about-place", "52.0000, 4.3000")


def test_an_older_notice_is_refused_after_a_reload_too(viewer: Viewer, stub: Stub) -> None:
    """The platform cannot say again that a parcel is aboard which was delivered."""
    first = truck(b"1")
    old = notice(1, Stage.ABOARD, first.card())
    stub.notice = notice(2, Stage.DELIVERED)
    viewer.open(parcel_link().fragment())
    viewer.says("notice-title", "was delivered")
    stub.notice = old
    stub.reports.append(report(first, (52.0, 4.3)))
    viewer.page.reload()
    viewer.says("about-refused", "refused")  # once, or twice where the service repeats it
    viewer.says("notice-title", "was delivered")
    viewer.hides("seen")


def test_browser_and_package_read_notices_and_keys_alike(viewer: Viewer) -> None:
    """The keys of a day, N, and each field; and of changed ones that they are refused."""
    viewer.page.goto(f"{viewer.stub.origin}/static/icon.svg")
    link = parcel_link()
    body = """
    const { keysIn, keysOfDay, boxOf } = await load("link");
    const { noticeIn } = await load("notice");
    const octets = (hex) => Uint8Array.from(hex.match(/../g), (pair) => parseInt(pair, 16));
    const hex = (from) => Array.from(from, (one) => one.toString(16).padStart(2, "0")).join("");
    const keys = keysIn(given.fragment);
    const { tracking, address } = await keysOfDay(keys, given.slot);
    const own = await boxOf(keys);
    const read = [];
    for (const one of given.notices) {
      try {
        const { number, time, stage, stops, destination, card, depot } =
          await noticeIn(octets(one), keys, own);
        const truck = card && [hex(card.truck), hex(card.verifying)];
        const place = destination && Object.values(destination);
        read.push([number, time, stage, stops, place, truck, depot]);
      } catch (fault) { read.push(fault.reason); }
    }
    return [hex(tracking), hex(address), hex(own.point), read];
    """
    its = truck(b"1").card()
    said = [
        notice(7, Stage.ABOARD, its, stops=3, destination=(-33.9249, 18.4241)),
        notice(8, Stage.DEPOT, depot="Köln-Niehl"),
        notice(9, Stage.RETURNED, seed=OTHER),
    ]
    changed = [said[0][:at] + bytes([said[0][at] ^ 1]) + said[0][at + 1 :] for at in (2, 10, 200)]
    slot = TODAY * 86_400 + 60
    found = viewer.runs(
        body,
        {
            "fragment": link.fragment(),
            "slot": slot,
            "notices": [one.hex() for one in (*said, *changed, said[0][:-1])],
        },
    )
    secret = link.root.day(TODAY)
    assert found[:3] == [secret.tracking.hex(), secret.address.hex(), link.root.box.hex()]
    first, second, *refused = found[3]
    assert first[0] == 7
    assert first[2:] == [
        "aboard", 3, [-33.9249, 18.4241], [its.truck.hex(), its.verifying.hex()], "",
    ]  # fmt: skip
    assert second[2:] == ["depot", None, None, None, "Köln-Niehl"]
    assert refused == ["signature", "suite", "tampered", "tampered", "truncated"]


@pytest.mark.slow
def test_a_link_of_the_first_day_opens_over_three_trucks_and_two_depots(
    viewers: Callable[..., Viewer], tmp_path: Path
) -> None:
    """On a phone of 390 px, by the real service: the customer opens one link once, and looks."""
    folder = tmp_path / "service"
    folder.mkdir()
    with serving(folder) as service, service.client() as http:
        service.scene.clock.now = time.time()
        company = service.company(http)
        key = new_carrier(tmp_path / "carrier", service.address, company.token)
        parties = Parties.draw()
        consigned = parties.consign(key, b"3SABCD", TODAY, 7)
        with carrier_folder(tmp_path / "carrier") as carrier:
            links = carrier.take(
                Consignment.decode(json.dumps(consigned.document())), 168, "4711", (52.01, 4.36)
            )
            link = parties.party(protocol.Role.RECEIVER).parcel_link(key, b"3SABCD", TODAY, 7)
            customer = viewers(viewport={"width": 390, "height": 844})
            given = TrackingAddress.of(links[protocol.Role.RECEIVER])
            customer.page.goto(f"{service.address}/t#{given.number}.{link.fragment()}")
            customer.says("notice-title", "not loaded yet")
            for stop, name in enumerate(("Hamburg", "", None)):
                number, device = company.truck(f"t-{stop}")
                carrier.load(b"3SABCD", bytes.fromhex(number), stops=5, trust_platform=True)
                customer.says("notice-title", "is on a truck")
                place = (52.5 + stop / 10, 9.9)
                service.scene.clock.now = time.time()
                service.scene.send(device, place, f"t-{stop}")
                sync_api.expect(customer.page.locator("#seen")).to_be_visible(timeout=20_000)
                customer.hides("about-refused")
                if name is None:
                    carrier.unload(b"3SABCD", Stage.DELIVERED)
                    customer.says("notice-title", "was delivered")
                else:
                    carrier.unload(b"3SABCD", Stage.DEPOT, name)
                    customer.says("notice-title", f"the depot {name}" if name else "in a depot")
                customer.hides("seen")


def test_the_destination_is_marked_and_news_ring_while_the_page_is_open(
    viewers: Callable[..., Viewer], stub: Stub
) -> None:
    """A pin where the carrier says that the parcel goes; notifications, if asked for.

    It has neither a place nor a time in it.
    """
    viewer = viewers(viewport={"width": 390, "height": 844}, permissions=["notifications"])
    viewer.page.add_init_script(
        "window.rung = []; window.Notification = class { "
        "static permission = 'granted'; static requestPermission = async () => 'granted'; "
        "constructor(title, { body }) { window.rung.push([title, body]); } };"
    )
    stub.notice = notice(1, Stage.AWAITED, destination=(52.01, 4.36))
    viewer.open(parcel_link().fragment())
    viewer.says("notice-title", "not loaded yet")
    button = viewer.page.get_by_role("button", name="Tell me of news while this page is open")
    button.click()
    sync_api.expect(button).to_have_attribute("aria-pressed", "true")
    stub.say(notice(2, Stage.DEPOT, depot="Hamburg", destination=(52.01, 4.36)))
    viewer.says("notice-title", "Hamburg")
    stub.say(notice(3, Stage.DELIVERED, destination=(52.01, 4.36)))
    viewer.says("notice-title", "delivered")
    assert viewer.page.evaluate("() => window.rung") == [
        ["Your parcel", "Your parcel is in a depot"],
        ["Your parcel", "Your parcel was delivered"],
    ]
    # The colour of the pin in the middle of the map, where nothing else is.
    colours = viewer.page.evaluate(
        """() => {
          const canvas = document.getElementById("canvas");
          const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
          let count = 0;
          for (let at = 0; at < data.length; at += 4) {
            count += data[at] === 0x9a && data[at + 1] === 0x2c && data[at + 2] === 0x00;
          }
          return count;
        }"""
    )
    assert colours > 100
