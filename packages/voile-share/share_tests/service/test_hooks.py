"""Companies are told of their parcels: by signed requests and by mail, once, and no more."""

from __future__ import annotations

import email
import hmac
import http.server
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256

import pytest
from aiosmtpd.controller import Controller

from share_tests.scene import DAY, HOME, Parties
from share_tests.service.process import Process, run, set_up
from share_tests.service.server import LAVISH, serving
from voile_base.errors import InputError, PlanError
from voile_share import protocol
from voile_share.arrival import ArrivalTable, Past
from voile_share.protocol.primitives import from_base64url, to_base64url
from voile_share.service.hooks import _check_target, _UnreachedError, post
from voile_share.service.options import HookOptions, Options
from voile_testing.processes import wait_until

OPEN = HookOptions(private_networks=True)
FAR = (HOME[0] + 0.5, HOME[1])
NEAR = (HOME[0] + 0.05, HOME[1])
DISTANCES = [100 * 1.1**step for step in range(100)]
ARRIVALS = ArrivalTable.fit(
    [Past(DISTANCES, [metres / (8 + drive / 20) for metres in DISTANCES]) for drive in range(80)]
).document()
"""Of drives at 8 to 12 metres a second."""


@dataclass
class Receiver:
    """A web server that a company runs; what came, and what it answers next."""

    port: int = 0
    came: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/told?x=1"

    def events(self) -> list[dict]:
        return [json.loads(body) for _, body in self.came]


@contextmanager
def receiving() -> Iterator[Receiver]:
    receiver = Receiver()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            status = receiver.statuses.pop(0) if receiver.statuses else 204
            receiver.came.append((dict(self.headers), body))
            self.send_response(status)
            if status == 302:
                self.send_header("location", f"http://127.0.0.1:{receiver.port}/elsewhere")
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver.port = server.server_address[1]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the service look for what is due many times a second."""
    monkeypatch.setattr("voile_share.service.hooks._LOOK_SECONDS", 0.05)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as one:
        yield one


def carried(company, truck: str, name: str, http) -> None:
    """A parcel whose parties have submitted their keys."""
    parties = Parties(name)
    sender, receiver = map(to_base64url, parties.keys)
    place = {"latitude": HOME[0], "longitude": HOME[1]}
    waybill = {"sender": sender, "receiver": receiver, "destination": place}
    assert company.call("PUT", f"/trucks/{truck}/parcels/{name}", json=waybill).is_success
    link = {"authorization": f"Bearer {company.link(truck)}"}
    card = protocol.TruckCard.decode(
        from_base64url(http.get("/api/v1/card", headers=link).json()["card"])
    )
    octets = {**link, "content-type": "application/octet-stream"}
    for sealed in parties.submissions(card, name.encode(), DAY):
        assert http.post("/api/v1/mail", content=sealed, headers=octets).status_code == 202


def send(service, http, token: str, place) -> None:
    query = {
        "id": "truck-7",
        "lat": f"{place[0]}",
        "lon": f"{place[1]}",
        "timestamp": f"{service.now:.0f}",
    }
    answer = http.get("/ingest", params=query, headers={"authorization": f"Bearer {token}"})
    assert answer.headers["voile-outcome"] == "published", answer.text


@pytest.mark.slow
def test_a_company_is_told_once_that_a_parcel_arrives_and_that_it_was_delivered(tmp_path, receiver):
    """Signed, without a position or a distance; not from far away, and not of what is unloaded."""
    options = Options(port=0, rates=LAVISH)
    with serving(tmp_path, options, hooks=OPEN) as service, service.client() as http:
        company = service.company(http)
        truck, token = company.truck()
        assert company.call("PUT", "/arrivals", json=ARRIVALS).status_code == 204
        hook = company.made("/hooks", {"kind": "web", "address": receiver.address})
        assert [one["hook"] for one in company.call("GET", "/hooks").json()["hooks"]] == [
            hook["hook"]
        ]
        for name in ("3SABCD", "3SEFGH"):
            carried(company, truck, name, http)
        slots = []
        for place in (FAR, NEAR, NEAR, NEAR):
            slots.append(service.next_slot())
            send(service, http, token, place)
            wait_until(lambda: not outbox(service), "nothing was delivered")
        assert company.call("DELETE", f"/trucks/{truck}/parcels/3SEFGH").status_code == 204
        path = f"/trucks/{truck}/parcels/3SABCD?outcome=delivered"
        assert company.call("DELETE", path).status_code == 204
        wait_until(lambda: len(receiver.came) == 3, "nothing of the delivery came")
        assert company.call("DELETE", f"/hooks/{hook['hook']}").status_code == 204
        assert company.call("DELETE", f"/hooks/{hook['hook']}").json()["reason"] == "hook-unknown"
    told = [(one["event"], one["parcel"], one["slot"]) for one in receiver.events()]
    assert sorted(told[:2]) == [("arriving", name, slots[1]) for name in ("3SABCD", "3SEFGH")]
    assert told[2] == ("delivered", "3SABCD", slots[3])
    for headers, body in receiver.came:
        assert set(json.loads(body)) == {"event", "parcel", "slot", "id"}
        at, _, signed = headers["Voile-Signature"].removeprefix("t=").partition(",v1=")
        wanted = hmac.new(hook["secret"].encode(), f"{at}.".encode() + body, sha256).hexdigest()
        assert hmac.compare_digest(signed, wanted)
        assert headers["Voile-Event-Id"] == json.loads(body)["id"]
    assert service.told == []


@pytest.mark.slow
def test_without_past_drives_nobody_is_told_that_a_parcel_arrives(tmp_path, receiver):
    """A company of which nothing was learnt is told of deliveries alone: there is no guess."""
    options = Options(port=0, rates=LAVISH)
    with serving(tmp_path, options, hooks=OPEN) as service, service.client() as http:
        company = service.company(http)
        truck, token = company.truck()
        company.made("/hooks", {"kind": "web", "address": receiver.address})
        carried(company, truck, "3SABCD", http)
        service.next_slot()
        send(service, http, token, NEAR)
        path = f"/trucks/{truck}/parcels/3SABCD?outcome=delivered"
        assert company.call("DELETE", path).status_code == 204
        wait_until(lambda: receiver.came, "nothing of the delivery came")
    assert [one["event"] for one in receiver.events()] == ["delivered"]


def outbox(service) -> int:
    return service.scene.store.waiting()


@pytest.mark.slow
def test_what_is_not_taken_is_tried_again_and_then_given_up(tmp_path, receiver):
    """After half a minute, two, eight; a redirect is not followed; after a day it is said."""
    receiver.statuses = [500, 302, 404]
    with serving(tmp_path, hooks=OPEN) as service, service.client() as http:
        company = service.company(http)
        truck, _ = company.truck()
        company.made("/hooks", {"kind": "web", "address": receiver.address})
        carried(company, truck, "P", http)
        company.call("DELETE", f"/trucks/{truck}/parcels/P?outcome=delivered")
        for tries, pause in ((1, 30), (2, 120), (3, 480)):
            wait_until(lambda n=tries: len(receiver.came) == n, "it was not tried again")
            wait_until(lambda: due(service) != service.now + 60, "it was not put off")
            assert due(service) == pytest.approx(service.now + pause)
            service.scene.clock.now += pause
        wait_until(lambda: not outbox(service), "it was not taken")
        assert len({one["id"] for one in receiver.events()}) == 1
        assert not any("elsewhere" in str(headers) for headers, _ in receiver.came)
        receiver.statuses = [500] * 20
        carried(company, truck, "Q", http)
        company.call("DELETE", f"/trucks/{truck}/parcels/Q?outcome=delivered")
        wait_until(lambda: len(receiver.came) == 5, "it was not tried")
        service.scene.clock.now += 90_000
        wait_until(lambda: not outbox(service), "it was not given up")
        assert len(service.told) == 1
        assert "127.0.0.1" not in service.told[0]


def due(service) -> float:
    rows = service.scene.store._engine.read("SELECT due FROM outbox WHERE ended IS NULL")
    return rows[0][0] if rows else -1.0


@pytest.mark.slow
def test_an_address_of_mail_is_told_once_it_has_named_its_code(tmp_path):
    """By real SMTP: before that one letter of fixed words; never what a company chooses."""
    letters = []

    class Box:
        async def handle_DATA(self, server, session, envelope):
            letters.append((envelope.rcpt_tos, email.message_from_bytes(envelope.content)))
            return "250 OK"

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    controller = Controller(Box(), hostname="127.0.0.1", port=port)
    controller.start()
    try:
        options = HookOptions(
            mail_host="127.0.0.1", mail_port=port, mail_tls="none", mail_sender="v@example.org"
        )
        with serving(tmp_path, hooks=options) as service, service.client() as http:
            company = service.company(http)
            truck, _ = company.truck()
            wanted = {"kind": "mail", "address": "desk@example.org"}
            made = company.made("/hooks", wanted)
            assert made["secret"] is None
            lure = "Win at evil.example: call 555"
            for name in ("3SEARLY", lure):
                carried(company, truck, name, http)
                company.call("DELETE", f"/trucks/{truck}/parcels/{name}?outcome=delivered")
            wait_until(lambda: not outbox(service), "what nobody wants yet was not dropped")
            ((_, first),) = letters
            confirm = f"/hooks/{made['hook']}/confirm"
            for wrong in ("x", "confirmed", "\u00e9"):
                refused = company.call("POST", confirm, json={"code": wrong})
                assert refused.json()["reason"] == "hook-unknown"
            assert [one["confirmed"] for one in company.call("GET", "/hooks").json()["hooks"]] == [
                False
            ]
            code = {"code": first.get_payload().split(":")[1].split()[0]}
            assert service.company(http, "Other").call("POST", confirm, json=code).is_error
            assert company.call("POST", confirm, json=code).status_code == 204
            assert company.call("GET", "/hooks").json()["hooks"][0]["confirmed"] is True
            for name in ("3SABCD", lure + "!"):
                carried(company, truck, name, http)
                company.call("DELETE", f"/trucks/{truck}/parcels/{name}?outcome=delivered")
            wait_until(lambda: len(letters) == 3, "no mail came")
            again = [company.call("POST", "/hooks", json=wanted) for _ in range(2)]
            assert [one.status_code for one in again] == [201, 429]
    finally:
        controller.stop()
    assert {tuple(recipients) for recipients, _ in letters} == {("desk@example.org",)}
    subjects = [letter["subject"] for _, letter in letters]
    assert subjects[0] == "Your code for news of parcels"
    assert sorted(subjects[1:3]) == ["A parcel was delivered", "Parcel 3SABCD was delivered"]
    assert letters[1][1].get_payload().strip() == "It was delivered."
    assert not any("evil" in letter.as_string() for _, letter in letters)


PRIVATE = (
    *("https://127.0.0.1/", "https://10.0.0.1/", "https://[::1]/", "https://169.254.169.254/x"),
    *("https://[::ffff:127.0.0.1]/", "https://192.168.1.1:8443/", "https://0.0.0.0/"),
    *("http://example.org/", "ftp://example.org/", "https://user@example.org/", "https:///x"),
    *("https://example.org/\x01", "https://example.org/?\x7f", "https://:x@example.org/"),
    *("https://example.org/#x", "file:///etc/passwd", "https://exa mple.org/", "x"),
)


@pytest.mark.parametrize("target", PRIVATE)
def test_what_stands_behind_the_service_is_not_called(target):
    """Private networks by any spelling, other schemes, users and fragments are refused."""
    with pytest.raises(InputError):
        _check_target("web", target, HookOptions())


@pytest.mark.parametrize("host", ["localhost", "127.1", "2130706433", "0x7f.1", "nowhere.invalid"])
def test_a_name_that_leads_to_a_private_network_is_not_called(host, receiver):
    """What a name stands for counts, when it is called, whatever was said before."""
    import asyncio  # noqa: PLC0415

    with pytest.raises(_UnreachedError, match=r"private|not known"):
        asyncio.run(
            post(f"http://{host}:{receiver.port}/", "secret", "id", b"{}", 0, HookOptions())
        )
    assert receiver.came == []


@pytest.mark.slow
def test_an_address_that_cannot_be_called_keeps_nobody_else_from_being_told(
    tmp_path, receiver, monkeypatch
):
    """A hook kept by an earlier Voile may be of an unfit address: its company alone waits."""
    monkeypatch.setattr("voile_share.service.hooks._check_target", lambda *_: None)
    with serving(tmp_path, hooks=OPEN) as service, service.client() as http:
        for address in ("https://127.0.0.1/\x01", "http://[", receiver.address):
            company = service.company(http, address[-5:].replace("\x01", ""))
            truck, _ = company.truck()
            company.made("/hooks", {"kind": "web", "address": address})
            carried(company, truck, "P", http)
            company.call("DELETE", f"/trucks/{truck}/parcels/P?outcome=delivered")
            wait_until(lambda: due(service) != -1.0, "nothing waits to be told")
        wait_until(lambda: len(receiver.came) == 1, "the last company was not told")
        wait_until(lambda: len(put_off(service)) == 2, "what cannot be told is not put off")


def put_off(service) -> list[float]:
    """When what was tried in vain is tried again."""
    rows = service.scene.store._engine.read("SELECT due FROM outbox WHERE ended IS NULL")
    return [row[0] for row in rows if row[0] == pytest.approx(service.now + 30)]


@pytest.mark.slow
def test_calls_of_a_service_refuse_what_cannot_be(tmp_path):
    """By the API: private addresses, mail where none is sent, an eleventh hook, another's hook."""
    with serving(tmp_path) as service, service.client() as http:
        company, other = service.company(http), service.company(http, "Other")
        for wanted in (
            {"kind": "web", "address": "https://10.0.0.1/"},
            {"kind": "mail", "address": "a@example.org"},
        ):
            assert company.call("POST", "/hooks", json=wanted).json()["reason"] == "hook-unfit"
        wanted = {"kind": "web", "address": "https://example.org/told"}
        made = [company.made("/hooks", wanted)["hook"] for _ in range(10)]
        assert company.call("POST", "/hooks", json=wanted).json()["reason"] == "hook-unfit"
        assert other.call("GET", "/hooks").json() == {"hooks": []}
        assert other.call("DELETE", f"/hooks/{made[0]}").status_code == 404
    kept = service.scene.folder.joinpath("share.db").read_bytes()
    assert b"example.org/told" not in kept  # sealed
    for table in ({"mail_tls": "x"}, {"mail_host": "m.example.org", "mail_tls": "none"}):
        with pytest.raises(PlanError):
            HookOptions(**table)


@pytest.mark.slow
def test_an_event_outlives_a_kill(tmp_path, receiver):
    """Put down, not yet delivered, SIGKILL: the next start delivers it."""
    import signal  # noqa: PLC0415

    folder = tmp_path / "s"
    token = set_up(folder, "[hooks]\nprivate_networks = true\n")
    receiver.statuses = [500]
    service = Process(folder)
    with service.client(token) as http:
        truck = http.post("/api/v1/trucks", json={}).json()["truck"]
        hook = {"kind": "web", "address": receiver.address}
        assert http.post("/api/v1/hooks", json=hook).status_code == 201
        sender, key = map(to_base64url, Parties().keys)
        path = f"/api/v1/trucks/{truck}/parcels/P"
        http.put(path, json={"sender": sender, "receiver": key})
        assert http.delete(f"{path}?outcome=delivered").status_code == 204
    service.end(signal.SIGKILL)
    service = Process(folder)
    try:
        wait_until(lambda: len(receiver.came) >= 2, "the event was lost")
    finally:
        assert service.end() == 0
    assert {one["event"] for one in receiver.events()} == {"delivered"}
    assert run("list", folder)["companies"]
