"""What is too large, too slow or too often is refused, and costs little."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import anyio.to_thread
import httpx2 as httpx
import pytest
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from share_tests.ingest.messages import as_gpx
from share_tests.service.server import LAVISH, Service, serving
from voile_share.ingest import BACKFILL, LIVE, Fix
from voile_share.platform import BusyError
from voile_share.service.connections import bounded_protocol
from voile_share.service.devices import Bodies, _most_bytes
from voile_share.service.options import Options, Rate, RequestRates
from voile_testing.processes import PATIENCE, wait_until


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """One that waits as long as tests do."""
    options = Options(port=0, header_seconds=PATIENCE, stalled=PATIENCE, rates=LAVISH)
    with serving(tmp_path_factory.mktemp("bounds"), options) as running:
        yield running


def answer_of(connection: socket.socket) -> tuple[int, dict]:
    """Status and problem of what comes, up to its end."""
    received = b""
    while chunk := connection.recv(65536):
        received += chunk
    head, _, body = received.partition(b"\r\n\r\n")
    assert b"application/problem+json" in head
    return int(head.split()[1]), json.loads(body)


def test_a_body_that_says_it_is_too_large_is_refused_unread(service: Service):
    """The answer comes before one byte of the body was sent, and the connection is closed."""
    with service.connection() as connection:
        connection.sendall(
            b"POST /ingest HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\n"
            b"Content-Length: %d\r\n\r\n" % (LIVE.size + 1)
        )
        status, problem = answer_of(connection)
    assert (status, problem["reason"]) == (413, "too-large")


def test_an_upload_that_waits_for_leave_is_not_given_it(service):
    """With Expect: 100-continue the refusal comes instead of the leave."""
    with service.connection() as connection:
        connection.sendall(
            b"POST /ingest HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
            b"Content-Length: 999999999999999\r\n\r\n"
        )
        assert answer_of(connection)[0] == 413


def test_a_stream_without_end_is_cut_off_at_the_limit(service):
    """Chunks that never end are refused soon after they pass the limit."""
    sent = 0
    with service.connection() as connection:
        connection.sendall(
            b"POST /ingest HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        try:
            while sent < 64 * LIVE.size:
                connection.sendall(b"10000\r\n" + b"x" * 65536 + b"\r\n")
                sent += 65536
        except OSError:
            pass  # closed by the other side, as it should be
    assert sent < 32 * LIVE.size


def test_small_requests_are_taken_in_chunks(service, http, company):
    """A body without a length that stays below the limit is as good as any."""
    service.next_slot()
    _, token = company.truck()
    body = f"id=truck-7&lat=52&lon=4&timestamp={service.now:.0f}".encode()
    headers = {"content-type": "application/x-www-form-urlencoded"}
    answer = http.post(f"/ingest/{token}", content=iter([body[:9], body[9:]]), headers=headers)
    assert answer.status_code == 200


@pytest.mark.parametrize(
    ("path", "kind", "most"),
    [
        ("/ingest", "application/json", LIVE.size),
        ("/ingest/TOKEN", "", LIVE.size),
        ("/ingest/TOKEN", "application/gpx+xml; charset=utf-8", BACKFILL.size),
        ("/ingestion", "application/gpx+xml", 16 * 1024),
        ("/api/v1/reports", "application/octet-stream", 128 * 1024),
        ("/api/v1/trucks", "application/gpx+xml", 16 * 1024),
    ],
)
def test_each_place_has_its_limit(path, kind, most):
    """Files of trips may be large, reports as large as reports can be, all else is small."""
    assert _most_bytes(path, kind) == most


def test_a_report_of_a_thousand_parcels_is_small_enough():
    """The largest report that the protocol makes passes the limit of its place."""
    assert _most_bytes("/api/v1/reports", "") > 126 + 130 + 68 * 1000


async def _answered(bodies, pieces, headers=()):
    """Status of a request whose body comes in pieces; those after None never come."""
    sent, left = [], list(pieces)

    async def receive():
        if not left or left[0] is None:
            await asyncio.sleep(3600)
        body = left.pop(0)
        return {"type": "http.request", "body": body, "more_body": bool(left)}

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/ingest", "headers": list(headers)}
    await bodies(scope, receive, send)
    return sent[0]["status"] if sent else None


CHUNKED = ((b"transfer-encoding", b"chunked"),)


def run(awaitable):
    return asyncio.run(awaitable)


def test_a_body_that_comes_too_slowly_is_given_up():
    """A request that stops in the middle is answered when its time is over."""
    bodies = Bodies(None, 1000, patience=0.05)
    assert run(_answered(bodies, [b"x", None], CHUNKED)) == 408
    assert bodies._waiting.held == 0


def test_all_bodies_together_are_bounded():
    """What would be held over the bound is refused, and nothing stays counted."""

    async def application(scope, receive, send):
        assert (await receive())["body"] == b"x" * 600
        status = await _answered(bodies, [b"y" * 600], CHUNKED)
        await send({"type": "http.response.start", "status": 200, "inner": status})
        assert status == 503

    bodies = Bodies(application, 1000)
    for _ in range(3):
        assert run(_answered(bodies, [b"x" * 300, b"x" * 300], CHUNKED)) == 200
    assert bodies._waiting.held == 0


def test_large_bodies_leave_room_for_small_ones():
    """Where files fill what they may, the next file is refused and a position is taken."""

    async def inner(scope, receive, send):
        await send({"type": "http.response.start", "status": 200})

    async def outer(scope, receive, send):
        bodies._app = inner
        large = await _answered(bodies, [b"y" * 20_000], CHUNKED)
        small = await _answered(bodies, [b"y" * 600], CHUNKED)
        await send({"type": "http.response.start", "status": large * 1_000 + small})

    bodies = Bodies(outer, 100_000)
    assert run(_answered(bodies, [b"x" * 70_000], CHUNKED)) == 503_200
    assert bodies._waiting.held == 0


def test_a_client_that_goes_away_is_forgotten():
    """A request whose sender has gone reaches nothing."""

    async def never(*_):
        raise AssertionError

    async def receive():
        return {"type": "http.disconnect"}

    bodies = Bodies(never, 1000)
    scope = {"type": "http", "method": "POST", "path": "/ingest", "headers": list(CHUNKED)}
    run(bodies(scope, receive, never))
    assert bodies._waiting.held == 0


def test_headers_have_a_most_size(service):
    """A head that does not end is refused when it is too large, not held."""
    with service.connection() as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n")
        try:
            for number in range(2000):
                connection.sendall(b"X-%d: %s\r\n" % (number, b"y" * 100))
            status, problem = answer_of(connection)
        except OSError:
            return  # what was still under way when the service closed resets the connection
    assert (status, problem["reason"]) == (431, "headers-too-large")


class Transport(asyncio.Transport):
    """Notes what is written to a connection."""

    def __init__(self) -> None:
        super().__init__({"peername": ("192.0.2.1", 1), "sockname": ("192.0.2.2", 2)})
        self.written, self.closing = b"", False

    def write(self, data):
        self.written += data

    def is_closing(self):
        return self.closing

    def close(self):
        self.closing = True

    def pause_reading(self):
        """All that is sent is given at once anyway."""

    resume_reading = pause_reading


class Clockwork(asyncio.SelectorEventLoop):
    """A loop whose time stands until it is turned."""

    now = 0.0

    def time(self) -> float:
        return self.now


async def _heard(parser, *reads: bytes | float) -> bytes:
    """What a connection answers to what is read from it, by one of uvicorn's parsers.

    Numbers are seconds that pass in between, on a loop whose time is turned.
    """

    async def application(scope, receive, send):
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        length = b"%d" % len(body)
        headers = [(b"content-length", b"%d" % len(length))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": length})

    options = Options()
    config = uvicorn.Config(
        application,
        h11_max_incomplete_event_size=options.header_bytes,
        log_config=None,
        timeout_keep_alive=int(PATIENCE),
    )
    config.load()
    protocol = bounded_protocol(options, parser)(
        config=config, server_state=ServerState(), app_state={}
    )
    transport = Transport()
    protocol.connection_made(transport)
    for read in reads:
        if isinstance(read, bytes):
            protocol.data_received(read)
        else:
            asyncio.get_running_loop().now += read
        for _ in range(50):
            await asyncio.sleep(0)
    protocol.connection_lost(None)
    return transport.written


def head_of(size: int, more: bytes = b"") -> bytes:
    """A head of so many bytes."""
    begun = b"POST /x HTTP/1.1\r\nHost: x\r\n" + more + b"X: "
    return begun + b"y" * (size - len(begun) - 4) + b"\r\n\r\n"


PARSERS = pytest.mark.parametrize("parser", [H11Protocol, HttpToolsProtocol])


@PARSERS
def test_a_head_in_one_read_has_a_most_size(parser):
    """A complete head of one byte more than the limit is refused, and one of the limit is not."""
    most = Options().header_bytes
    for size, status in ((most, 200), (most + 1, 431), (100_000, 431), (250_000, 431)):
        answer = asyncio.run(_heard(parser, head_of(size, b"Content-Length: 0\r\n")))
        assert answer.startswith(b"HTTP/1.1 %d " % status)
        assert answer.count(b"HTTP/1.1 ") == 1


@PARSERS
def test_a_body_in_one_read_with_its_head_is_no_head(parser):
    """What follows the head in the same read is not counted as one, with a length or in chunks."""
    body = b"z" * 200_000
    head = head_of(1_000, b"Content-Length: 200000\r\n")
    assert asyncio.run(_heard(parser, head + body)).endswith(b"\r\n\r\n200000")
    chunks = b"".join(b"1\r\nz\r\n" for _ in range(40_000)) + b"0\r\n\r\n"
    head = head_of(1_000, b"Transfer-Encoding: chunked\r\n")
    assert asyncio.run(_heard(parser, head, chunks)).endswith(b"\r\n\r\n40000")


@PARSERS
def test_trailers_without_end_are_refused(parser):
    """What comes after a body's last chunk is bounded as heads are."""
    begun = b"POST /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nz\r\n0\r\n"
    trailers = b"".join(b"X-%d: yyyyyyyyyyyyyyyyyyyyyyyyy\r\n" % number for number in range(9_000))
    answer = asyncio.run(_heard(parser, begun, trailers))
    assert answer.startswith((b"HTTP/1.1 431 ", b"HTTP/1.1 400 "))


@PARSERS
def test_requests_that_follow_without_a_pause_are_all_answered(parser):
    """Many requests in one read are more than one head, each with its own limit."""
    request = head_of(1_000, b"Content-Length: 0\r\n")
    answer = asyncio.run(_heard(parser, request * 20))
    assert answer.count(b"HTTP/1.1 200 OK") == 20


def test_headers_that_do_not_come_are_given_up(tmp_path):
    """Whoever sends nothing is let go when the time is over, and told why."""
    options = Options(port=0, header_seconds=0.2)
    with serving(tmp_path, options) as service, service.connection() as connection:
        status, problem = answer_of(connection)
    assert (status, problem["reason"]) == (408, "too-slow")


def turned(parser, *reads: bytes | float) -> bytes:
    """What a connection answers on a loop whose time is turned."""
    with asyncio.Runner(loop_factory=Clockwork) as runner:
        return runner.run(_heard(parser, *reads))


@PARSERS
@pytest.mark.parametrize(
    "drops", [[], [b"GET /x HTTP/1.1\r\n"], [b"G", b"E", b"T", b" "]], ids=["none", "line", "drops"]
)
def test_drops_do_not_prolong_the_time_for_a_head(parser, drops):
    """Heads have their time from the first moment on, however many pieces come within it."""
    most = Options().header_seconds
    gap = 0.9 * most / (len(drops) + 1)
    within = [part for drop in drops for part in (gap, drop)]
    left = most - gap * len(drops)
    assert turned(parser, *within, 0.9 * left) == b""
    assert turned(parser, *within, 1.1 * left).startswith(b"HTTP/1.1 408 ")


@PARSERS
def test_the_time_for_a_head_begins_anew_with_each_request(parser):
    """A connection is used again for longer than one head may take; a slow head is refused."""
    most = Options().header_seconds
    first, rest = b"GET /x HTTP/1.1\r\nHost: ", b"x\r\n\r\n"
    request = (first, 0.7 * most, rest, 0.7 * most)
    assert turned(parser, *request * 3).count(b"HTTP/1.1 200 ") == 3
    late = turned(parser, *request, first, 1.1 * most)
    assert late.count(b"HTTP/1.1 200 ") == 1
    assert late.count(b"HTTP/1.1 408 ") == 1


def test_what_is_no_http_is_a_problem(service):
    """Other protocols get a problem and no more."""
    with service.connection() as connection:
        connection.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n")
        status, problem = answer_of(connection)
    assert (status, problem["reason"]) == (400, "not-http")


@pytest.mark.slow
def test_who_takes_nothing_is_let_go(tmp_path):
    """A reader who does not read is disconnected, and the feed is closed."""
    options = Options(port=0, header_seconds=PATIENCE, stalled=0.2, rates=LAVISH)
    with serving(tmp_path, options) as service, service.client() as http:
        take_nothing(service, service.company(http))


def take_nothing(service, company):
    """Open a feed, read none of it, and wait until it is closed."""
    truck, device = company.truck()
    link = company.link(truck, hours=700)
    slots = [service.next_slot() for _ in range(95)]
    fixes = [Fix("truck-7", 52.0, 4.0, float(slot)) for slot in slots]
    headers = {"content-type": "application/gpx+xml", "authorization": f"Bearer {device}"}
    assert company.http.post("/ingest", content=as_gpx(fixes), headers=headers).is_success
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    connection.settimeout(PATIENCE)
    connection.connect(("127.0.0.1", service.port))
    feeds, opened = service.feeds, []
    count = feeds.opened
    feeds.opened = lambda *given: opened.append(given) or count(*given)
    with connection:
        connection.sendall(
            b"GET /api/v1/feed HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"
            b"Last-Event-ID: %d\r\n\r\n" % (link.encode(), slots[0] - 300)
        )
        wait_until(lambda: opened, "the feed does not open")
        wait_until(lambda: not feeds._open.total(), "a reader who takes nothing is still there")


@pytest.mark.slow
def test_a_token_that_asks_too_often_waits(tmp_path):
    """After its burst a token is told how long to wait; others go on."""
    options = Options(port=0, rates=RequestRates(company=Rate(0.001, 3), device=Rate(0.001, 2)))
    with serving(tmp_path, options) as service, service.client() as http:
        one, other = service.company(http), service.company(http, "Other")
        answers = [one.call("GET", "/trucks") for _ in range(4)]
        assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
        assert answers[3].json()["reason"] == "too-many-requests"
        assert 100 <= int(answers[3].headers["retry-after"]) <= 1000
        _, device = other.truck()
        statuses = [service.send(http, device).status_code for _ in range(3)]
        assert statuses == [200, 200, 429]
        upper = service.send(http, device.upper())
        assert upper.status_code == 429


@pytest.mark.slow
def test_guesses_are_slowed_and_right_tokens_are_not(tmp_path):
    """Wrong tokens of one address get 429 after some; a right one of it passes all the same."""
    options = Options(port=0, rates=RequestRates(failures=Rate(0.001, 5)))
    with serving(tmp_path, options) as service, service.client() as http:
        company = service.company(http)
        _, device = company.truck()
        statuses = [
            http.get("/api/v1/card", headers={"authorization": f"Bearer {n}"}).status_code
            for n in range(3)
        ]
        statuses += [service.send(http, f"wrong{n}").status_code for n in range(4)]
        assert statuses == [401] * 5 + [429] * 2
        assert service.send(http, device).status_code == 200
        assert company.call("GET", "/trucks").status_code == 200
        proxied = {"x-forwarded-for": "203.0.113.9", "authorization": "Bearer wrong"}
        assert http.get("/api/v1/card", headers=proxied).status_code == 401


@pytest.mark.slow
def test_a_proxy_that_is_not_trusted_is_not_believed(tmp_path):
    """Whoever is no trusted proxy cannot take another address for each guess."""
    options = Options(
        port=0, rates=RequestRates(failures=Rate(0.001, 2)), trusted_proxies=("192.0.2.1",)
    )
    with serving(tmp_path, options) as service, service.client() as http:
        statuses = [
            http.get(
                "/api/v1/card",
                headers={"authorization": "Bearer x", "x-forwarded-for": f"203.0.113.{n}"},
            ).status_code
            for n in range(4)
        ]
        assert statuses == [401, 401, 429, 429]


def test_a_service_that_falls_behind_says_so_and_lives(service, http, monkeypatch):
    """/readyz is 503 while something has waited for long, and /healthz is 200 all the while."""
    assert http.get("/readyz").json() == {"status": "ready"}
    monkeypatch.setattr(service.scene.platform, "waited", lambda: 1.5)
    answer = http.get("/readyz")
    assert (answer.status_code, answer.json()["reason"]) == (503, "busy")
    assert int(answer.headers["retry-after"]) >= 1
    assert http.get("/healthz").status_code == 200


@pytest.mark.slow
def test_health_needs_no_worker_and_no_store(tmp_path, monkeypatch):
    """With every worker thread taken, and a store that nobody may ask, the service says it lives.

    A request that needs a worker waits meanwhile, and is answered when there is one.
    """
    waiting, go_on, run = [], threading.Event(), anyio.to_thread.run_sync

    async def taken(*given, **more):
        waiting.append(given)
        while not go_on.is_set():
            await asyncio.sleep(0.01)
        return await run(*given, **more)

    def asked(*_):
        msg = "the store was asked"
        raise AssertionError(msg)

    with serving(tmp_path) as service, service.client() as http, ThreadPoolExecutor(1) as pool:
        company = service.company(http)
        engine = service.scene.store._engine
        with monkeypatch.context() as patch:
            patch.setattr(anyio.to_thread, "run_sync", taken)
            before = len(waiting)
            try:
                trucks = pool.submit(company.call, "GET", "/trucks")
                wait_until(lambda: len(waiting) > before, "no worker was asked for")
                with monkeypatch.context() as closed, service.client() as other:
                    closed.setattr(engine, "read", asked)
                    closed.setattr(engine, "write", asked)
                    assert other.get("/healthz").json() == {"status": "ok"}
                assert not trucks.done()
            finally:
                go_on.set()
            assert trucks.result(PATIENCE).status_code == 200


def test_a_busy_platform_says_so(service, http, company, monkeypatch):
    """More than the platform can take is a 503 with the time to wait."""
    _, device = company.truck()

    def busy(*_):
        msg = "too much is waiting"
        raise BusyError(msg)

    monkeypatch.setattr(service.scene.platform, "receive", busy)
    answer = service.send(http, device)
    assert (answer.status_code, answer.json()["reason"]) == (503, "busy")
    assert answer.headers["retry-after"] == "1"


def test_a_fault_tells_its_place_and_nothing_else(service, http, company, monkeypatch):
    """An exception that nobody expected shows neither the caller nor the operator its message."""

    def faulty(*_):
        msg = "latitude 52.0116"
        raise KeyError(msg)

    monkeypatch.setattr(service.scene.platform, "trucks", faulty)
    before = list(service.told)
    for _ in range(2):
        answer = company.call("GET", "/trucks")
        assert (answer.status_code, answer.json()["reason"]) == (500, "fault")
        assert "52" not in answer.text
    (said,) = service.told[len(before) :]
    assert said.startswith("a fault of Voile: KeyError in test_bounds.py, line ")


def test_answers_have_the_headers_of_security(service, http):
    """Problems and answers alike may not be framed, sniffed or kept."""
    for answer in (http.get("/healthz"), http.get("/nowhere"), http.get("/api/v1/trucks")):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert "server" not in answer.headers
        assert "strict-transport-security" not in answer.headers


@pytest.mark.slow
def test_https_is_kept_where_people_use_it(tmp_path):
    """Behind a proxy for TLS browsers are told to stay with it."""
    with serving(tmp_path, Options(address="https://share.example.org", port=0)) as service:
        answer = httpx.get(f"{service.address}/healthz", trust_env=False)
    assert answer.headers["strict-transport-security"] == "max-age=31536000"
