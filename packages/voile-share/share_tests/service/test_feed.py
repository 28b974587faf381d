"""Feeds: what readers are sent, how they resume, and when feeds end."""

from __future__ import annotations

import json
import struct
import threading
from contextlib import contextmanager

import httpx2 as httpx
import pytest

from share_tests.scene import Parties
from share_tests.service.server import LAVISH, Service, events, named, own_secrets, serving
from voile_base.randomness import Randomness
from voile_share import protocol
from voile_share.protocol.primitives import to_base64url
from voile_share.service.models import decoded
from voile_share.service.options import Options
from voile_share.store import StoreError
from voile_testing.processes import PATIENCE, wait_until


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """Feeds look around every 0.2 seconds."""
    options = Options(port=0, heartbeat=0.2, rates=LAVISH, most_feeds=12, most_feeds_of_link=4)
    with serving(tmp_path_factory.mktemp("feeds"), options) as running:
        yield running


@contextmanager
def feed(service: Service, link: str, last: int | None = None):
    """The events of a feed, without comments."""
    headers = {"authorization": f"Bearer {link}"}
    if last is not None:
        headers["last-event-id"] = f"{last}"
    with service.client() as http, http.stream("GET", "/api/v1/feed", headers=headers) as answer:
        assert answer.status_code == 200, answer.read()
        yield named(events(answer))


def drive(service, http, device, reports=1):
    """Reports of one slot after another; the slots."""
    slots = []
    for _ in range(reports):
        slots.append(service.next_slot())
        assert service.send(http, device).status_code == 200
    return slots


@pytest.mark.slow
def test_a_feed_begins_with_the_terms_and_the_last_report(service, http, company):
    """A reader first learns the slots, the times and the speeds, then where the truck is now."""
    truck, device = company.truck()
    slots = drive(service, http, device, 3)
    link = company.link(truck, hours=2)
    with feed(service, link) as those:
        terms, report = next(those), next(those)
    assert terms.name == "terms"
    assert terms.document == {
        "slot_seconds": 300,
        "now": service.now,
        "expires": service.now + 7200,
        "arrival": None,
    }
    assert (report.name, report.number) == ("report", slots[-1])
    assert protocol.Report.decode(decoded(report.data)).at.slot == slots[-1]


def test_reports_are_sent_as_they_come_and_are_read(service, http, company):
    """A party's reader opens each report of the feed, in order, right after it was committed."""
    truck, device = company.truck()
    parties, day = Parties(), int(service.now) // 86_400
    card = service.scene.platform.card(bytes.fromhex(truck))
    link = company.link(truck)
    held = service.scene.platform.company_of(company.token)
    service.scene.platform.add_parcel(held, bytes.fromhex(truck), b"P", *parties.keys)
    headers = {"authorization": f"Bearer {link}", "content-type": "application/octet-stream"}
    for sealed in parties.submissions(protocol.TruckCard.decode(card), b"P", day):
        answer = http.post("/api/v1/mail", content=sealed, headers=headers)
        assert (answer.status_code, answer.content) == (202, b"")
    secret = parties.secret(b"P", day)
    opened = protocol.ReaderLink.to(
        protocol.suite_named(), protocol.TruckCard.decode(card), day, [secret]
    )
    reader = protocol.Reader(opened)
    with feed(service, link) as those:
        assert next(those).name == "terms"
        for slot in (drive(service, http, device)[0] for _ in range(3)):
            event = next(those)
            assert event.number == slot
            reader, sighting = reader.read(decoded(event.data), int(service.now))
            assert sighting.level == 2


def test_who_comes_again_gets_what_was_missed_once_each(service, http, company):
    """Last-Event-ID resumes after a slot, without a gap and without a repetition."""
    truck, device = company.truck()
    link, slots = company.link(truck), drive(service, http, device, 6)
    with feed(service, link, slots[1]) as those:
        assert next(those).name == "terms"
        assert [next(those).number for _ in range(4)] == slots[2:]
        more = drive(service, http, device)
        assert next(those).number == more[0]
    with feed(service, link, more[0]) as those:
        next(those)
        more = drive(service, http, device)
        assert next(those).number == more[0]


def test_only_the_last_hundred_slots_are_given_again(service, http, company):
    """A reader who was away for long gets the reports of 100 slots, and then those that come."""
    truck, device = company.truck()
    link = company.link(truck, hours=700)
    slots = drive(service, http, device, 3)
    service.scene.clock.now = slots[0] + 100 * 300
    with feed(service, link, 0) as those:
        next(those)
        assert [next(those).number for _ in range(2)] == slots[1:]


def test_a_feed_ends_when_its_link_is_revoked(service, http, company):
    """Within a heartbeat the reader is told why, and the stream is complete."""
    truck, device = company.truck()
    link = company.link(truck)
    with feed(service, link) as those:
        assert next(those).name == "terms"
        company.call("POST", "/links/revoke", json={"link": link})
        assert [(event.name, event.document) for event in those] == [
            ("ended", {"reason": "link-revoked"})
        ]
    assert service.send(http, device).status_code == 200


def test_no_report_is_sent_through_a_link_that_has_ended(service, http, company):
    """A report that comes after the revocation, before any heartbeat, does not get through."""
    truck, device = company.truck()
    link = company.link(truck)
    with feed(service, link) as those:
        next(those)
        company.call("POST", "/links/revoke", json={"link": link})
        drive(service, http, device)
        assert [event.name for event in those] == ["ended"]


def test_a_feed_ends_when_its_link_expires(service, http, company):
    """By the platform's clock, without a heartbeat that is longer than what is left."""
    truck, _ = company.truck()
    link = company.link(truck, hours=1)
    with feed(service, link) as those:
        next(those)
        service.scene.clock.now += 3600
        assert [event.document for event in those] == [{"reason": "link-expired"}]


@pytest.mark.slow
def test_a_feed_ends_when_its_truck_is_retired(service, http, company):
    """Retiring a truck ends what it shows."""
    truck, _ = company.truck()
    link = company.link(truck)
    with feed(service, link) as those:
        next(those)
        assert company.call("DELETE", f"/trucks/{truck}").status_code == 204
        assert [event.name for event in those] == ["ended"]


@pytest.mark.slow
def test_comments_keep_a_feed_open(service, company):
    """While nothing happens a comment is sent at each heartbeat."""
    link = company.link(company.truck()[0])
    headers = {"authorization": f"Bearer {link}"}
    with service.client() as http, http.stream("GET", "/api/v1/feed", headers=headers) as answer:
        assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-accel-buffering"] == "no"
        assert [line for line, _ in zip(answer.iter_lines(), range(8), strict=False)][3:] == [
            *(":", "", ":", "", ":")
        ]


@pytest.mark.parametrize("last", ["x", "-1", "1e3", str(2**32)])
def test_a_last_event_that_cannot_be_is_refused(service, company, last):
    """A header that is no slot is a bad request."""
    link = company.link(company.truck()[0])
    headers = {"authorization": f"Bearer {link}", "last-event-id": last}
    answer = company.http.get("/api/v1/feed", headers=headers)
    assert (answer.status_code, answer.json()["reason"]) == (422, "invalid-request")
    assert answer.json()["errors"][0]["where"] == "header.last-event-id"


def test_links_that_open_nothing_are_refused_before_the_stream(service, http, company):
    """Unknown, revoked and foreign numbers are problems, not streams."""
    truck, device = company.truck()
    link = company.link(truck)
    company.call("POST", "/links/revoke", json={"link": link})
    for path in ("/api/v1/feed", "/api/v1/slots/0", "/api/v1/card"):
        for token, said in (
            (device, (401, "link-unknown")),
            (company.token, (401, "link-unknown")),
            (link, (410, "link-revoked")),
        ):
            answer = http.get(path, headers={"authorization": f"Bearer {token}"})
            assert (answer.status_code, answer.json()["reason"]) == said
        assert http.get(path).json()["reason"] == "token-missing"


@pytest.mark.slow
def test_so_many_feeds_may_be_open(service, http, company):
    """The fifth feed of a link is refused, as is the thirteenth of all; closed ones make room."""
    truck, _ = company.truck()
    links = [company.link(truck) for _ in range(4)]
    headers = [{"authorization": f"Bearer {link}"} for link in links]
    clients = [service.client() for _ in range(12)]
    opened = [
        client.send(
            client.build_request("GET", "/api/v1/feed", headers=headers[n // 4]), stream=True
        )
        for n, client in enumerate(clients)
    ]
    assert [answer.status_code for answer in opened] == [200] * 12
    more = http.get("/api/v1/feed", headers=headers[0])
    assert (more.status_code, more.json()["reason"]) == (503, "busy")
    for answer in opened[8:]:
        answer.close()
    wait_until(
        lambda: http.get("/api/v1/feed", headers=headers[0]).json()["reason"] != "busy",
        "feeds that were closed still count",
    )
    more = http.get("/api/v1/feed", headers=headers[0])
    assert (more.status_code, more.json()["reason"]) == (429, "too-many-feeds")
    assert int(more.headers["retry-after"]) >= 1
    for client in clients:
        client.close()


def test_all_reports_of_a_slot_come_at_once(service, http, company):
    """Whoever holds any link gets the reports of all trucks, framed, and goes on after one."""
    slot = service.next_slot()
    trucks = []
    for _ in range(3):
        truck, device = company.truck()
        assert service.send(http, device).status_code == 200
        trucks.append(truck)
    headers = {"authorization": f"Bearer {company.link(trucks[0])}"}
    answer = http.get(f"/api/v1/slots/{slot}", headers=headers)
    assert answer.headers["content-type"] == "application/octet-stream"
    reports = unframed(answer.content)
    assert [one.at.truck.hex() for one in reports] == sorted(trucks)
    assert {one.at.slot for one in reports} == {slot}
    rest = http.get(f"/api/v1/slots/{slot}", params={"after": sorted(trucks)[0]}, headers=headers)
    assert [one.at.truck.hex() for one in unframed(rest.content)] == sorted(trucks)[1:]
    assert http.get(f"/api/v1/slots/{slot + 300}", headers=headers).content == b""


def unframed(octets: bytes) -> list[protocol.Report]:
    reports = []
    while octets:
        (length,) = struct.unpack(">I", octets[:4])
        reports.append(protocol.Report.decode(octets[4 : 4 + length]))
        octets = octets[4 + length :]
    return reports


def test_a_truck_publishes_by_itself_and_readers_get_it(service, http, company):
    """Reports of a truck with its own keys are checked, stored once, and sent to its readers."""
    service.next_slot()
    drawn = Randomness.secure()
    secrets = own_secrets(drawn)
    made = company.made("/trucks", {"card": to_base64url(secrets.card().encode())})
    headers = {
        "authorization": f"Bearer {made['token']}",
        "content-type": "application/octet-stream",
    }

    def post(message, **more):
        return http.post("/api/v1/reports", content=message, headers={**headers, **more})

    place = protocol.Position(52.0, 4.0, int(service.now), 0.01)
    content = protocol.Content((place,) * 3, [], room=30)
    publisher, first = protocol.ReportPublisher.new(secrets).publish(
        int(service.now), content, drawn
    )
    assert (post(first).status_code, post(first).status_code) == (201, 200)
    _, second = publisher.publish(int(service.now) + 300, content, drawn)
    early = post(second)
    assert (early.status_code, early.json()["reason"]) == (422, "future")
    link = company.link(made["truck"])
    with feed(service, link) as those:
        assert [next(those).name for _ in range(2)] == ["terms", "report"]
        service.next_slot()
        assert post(second).json() == {"outcome": "new"}
        assert next(those).data == to_base64url(second)
    _, fork = publisher.publish(int(service.now), content, Randomness.secure())
    assert (post(fork).status_code, post(fork).json()["reason"]) == (409, "slot-taken")
    service.next_slot()
    _, astray = protocol.ReportPublisher.new(secrets).publish(int(service.now), content, drawn)
    assert (post(astray).status_code, post(astray).json()["reason"]) == (409, "not-in-the-chain")
    tampered = second[:-1] + bytes([second[-1] ^ 1])
    assert post(tampered).json()["reason"] == "signature"
    assert post(b"").json()["reason"] == "truncated"
    wrong = post(first, **{"content-type": "text/plain"})
    assert (wrong.status_code, wrong.json()["reason"]) == (415, "type-unfit")


def test_a_truck_fetches_its_mail(service, http, company):
    """Submissions to a truck with its own keys wait for it, and are given after a number."""
    drawn = Randomness.secure()
    secrets = own_secrets(drawn)
    made = company.made("/trucks", {"card": to_base64url(secrets.card().encode())})
    link = {"authorization": f"Bearer {company.link(made['truck'])}"}
    card = protocol.TruckCard.decode(decoded(http.get("/api/v1/card", headers=link).json()["card"]))
    both = Parties().submissions(card, b"P", int(service.now) // 86_400)
    octets = {"content-type": "application/octet-stream"}
    for sealed in both:
        assert http.post("/api/v1/mail", content=sealed, headers=link | octets).status_code == 202
    headers = {"authorization": f"Bearer {made['token']}"}
    mail = http.get("/api/v1/mail", headers=headers).json()["mail"]
    assert [decoded(one["message"]) for one in mail] == list(both)
    after = {"after": mail[0]["number"]}
    assert http.get("/api/v1/mail", params=after, headers=headers).json()["mail"] == mail[1:]
    bad = http.post("/api/v1/mail", content=both[0][:-1], headers=link | octets)
    assert (bad.status_code, bad.json()["reason"]) == (422, "truncated")


@pytest.mark.slow
def test_feeds_end_at_once_when_the_service_does(tmp_path):
    """Open feeds do not hold up the end of the service, and are not told that they ended."""
    seen: list[str] = []
    # By grace alone it would last longer than the test waits for it.
    options = Options(port=0, rates=LAVISH, grace=10 * int(PATIENCE))
    with serving(tmp_path, options) as service, service.client() as http:
        company = service.company(http)
        link = company.link(company.truck()[0])
        opened = threading.Event()

        def follow():
            with feed(service, link) as those:
                for event in those:
                    seen.append(event.name)
                    opened.set()

        reader = threading.Thread(target=follow)
        reader.start()
        assert opened.wait(PATIENCE)
    reader.join(PATIENCE)
    assert seen == ["terms"]


@pytest.mark.slow
def test_a_resumed_feed_is_complete_after_a_restart(tmp_path):
    """A reader who comes again after the service was started again misses nothing."""
    with serving(tmp_path) as service, service.client() as http:
        company = service.company(http)
        truck, device = company.truck()
        link, slots = company.link(truck), drive(service, http, device, 2)
        with feed(service, link) as those:
            assert [next(those).number for _ in range(2)] == [None, slots[1]]
        scene = service.scene
    again = type(scene)(scene.folder, scene.settings, scene.clock, seed=9)
    with serving(tmp_path, scene=again) as service, service.client() as http:
        more = drive(service, http, device, 2)
        with feed(service, link, slots[1]) as those:
            assert [next(those).number for _ in range(3)] == [None, *more]


@pytest.mark.slow
def test_a_store_that_fails_ends_a_feed_without_an_end(tmp_path, monkeypatch):
    """The reader is not told that the link has ended, so it comes again."""
    with serving(tmp_path) as service, service.client() as http:
        company = service.company(http)
        truck, device = company.truck()
        link = company.link(truck)
        with feed(service, link) as those:
            next(those)

            def away(*_):
                msg = "the database is away"
                raise StoreError(msg)

            monkeypatch.setattr(service.scene.platform, "reports_after", away)
            drive(service, http, device)
            assert list(those) == []
        monkeypatch.undo()
        answer = http.get("/api/v1/card", headers={"authorization": f"Bearer {link}"})
        assert answer.status_code == 200
        monkeypatch.setattr(service.scene.platform, "card", away)
        answer = http.get("/api/v1/card", headers={"authorization": f"Bearer {link}"})
        assert (answer.status_code, answer.json()["reason"]) == (503, "store-unavailable")
        assert answer.headers["retry-after"] == "5"
        assert "away" not in answer.text
        assert service.told == ["the database is away"]


def test_events_have_one_line_of_data(company, http, service):
    """Terms and reports stay one event each, whatever is in them."""
    truck, device = company.truck()
    drive(service, http, device)
    link = company.link(truck)
    with (
        httpx.Client(base_url=service.address, trust_env=False) as lone,
        lone.stream("GET", "/api/v1/feed", headers={"authorization": f"Bearer {link}"}) as answer,
    ):
        lines = [line for line, _ in zip(answer.iter_lines(), range(7), strict=False)]
    assert lines[0] == "event: terms"
    assert json.loads(lines[1].removeprefix("data: "))
    assert lines[2] == ""
    assert lines[3:5] == ["event: report", f"id: {int(service.now)}"]
    assert lines[6] == ""


@pytest.mark.slow
def test_a_parcel_that_changes_trucks_within_a_slot_is_shown_on_both(service, http, company):
    """Slots are each truck's own, so the second one's report of the same slot comes too.

    It comes also to a reader who was away meanwhile and names the last slot of the first truck.
    """
    trucks = [company.truck(device) for device in ("first", "second")]
    made, random = company.made("/links", {"hours": 2}), Randomness.seeded(5)
    box = protocol.ParcelRoot(b"root of a parcel's keys, 32 byte").box

    def move(number: int) -> None:
        said = protocol.Notice(box, number, int(service.now), protocol.Stage.DEPOT)
        notice = to_base64url(protocol.SealedNotice.seal(said, bytes(32), random).encode())
        move_to = {"id": made["id"], "truck": trucks[number][0], "notice": notice}
        answer = company.call("POST", "/links/move", json=move_to)
        assert answer.status_code == 204, answer.text

    move(0)
    with feed(service, made["link"]) as those:
        assert [next(those).name for _ in range(2)] == ["terms", "notice"]
        slot = service.next_slot()
        assert service.send(http, trucks[0][1], "first").status_code == 200
        assert next(those).number == slot
        move(1)
        assert next(those).name == "notice"
        assert service.send(http, trucks[1][1], "second").status_code == 200
        first = next(those)
    assert (first.name, first.number) == ("report", slot)
    number = protocol.Report.decode(decoded(first.data)).at.truck
    assert number.hex() == trucks[1][0]
    with feed(service, made["link"], last=slot) as those:
        again = [next(those) for _ in range(3)]
    assert [one.name for one in again] == ["terms", "notice", "report"]
    assert again[2].data == first.data
