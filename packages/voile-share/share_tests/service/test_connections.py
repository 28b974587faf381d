"""Connections and feeds are shared out: who takes many takes them from itself."""

from __future__ import annotations

import resource
import socket
from contextlib import ExitStack
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from share_tests.service.server import LAVISH, serving
from voile_share.service.connections import _Connections, within_files
from voile_share.service.options import Options
from voile_testing.processes import PATIENCE, wait_until


@dataclass
class Kept:
    """A connection that is idle or not, and notes that it was let go."""

    host: str
    busy: bool = False
    gone: list[str] = field(default_factory=list)

    def is_idle(self) -> bool:
        return not self.busy

    def let_go(self) -> None:
        self.gone.append(self.host)


def test_silent_connections_of_one_address_go_first():
    """At the limit the longest idle connection goes, of the address that holds most of them."""
    places = _Connections(100)
    quiet = [Kept("192.0.2.1") for _ in range(3)]
    silent = [Kept("198.51.100.7") for _ in range(1_100)]
    for one in quiet:
        assert places.open(one.host, one)
    for one in silent:
        assert places.open(one.host, one)
    late = Kept("203.0.113.5")
    assert places.open(late.host, late)
    assert not any(one.gone for one in (*quiet, late))
    assert [bool(one.gone) for one in silent] == [True] * 1_004 + [False] * 96


def test_a_connection_that_is_used_is_not_the_next_to_go():
    """Of one address the one goes by which nothing has come for longest."""
    places = _Connections(2)
    first, second, third = (Kept("192.0.2.1") for _ in range(3))
    places.open(first.host, first)
    places.open(second.host, second)
    places.used(first.host, first)
    assert places.open(third.host, third)
    assert (bool(first.gone), bool(second.gone)) == (False, True)


def test_answers_are_not_cut_off_for_new_connections():
    """Where a request is answered on each, a new connection is refused, and then let in."""
    places = _Connections(2)
    busy = [Kept("192.0.2.1", busy=True) for _ in range(2)]
    for one in busy:
        assert places.open(one.host, one)
    late = Kept("203.0.113.5")
    assert not places.open(late.host, late)
    assert not any(one.gone for one in busy)
    places.closed(busy[0].host, busy[0])
    assert places.open(late.host, late)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans(), st.booleans()), max_size=60))
def test_never_more_are_open_than_may_be(comes):
    """Whoever comes, uses and goes: those that are open and were not let go are few enough."""
    places, inside = _Connections(5), []
    for host, busy, leaves in comes:
        if leaves and inside:
            gone = inside.pop(0)
            places.closed(gone.host, gone)
            places.closed(gone.host, gone)
        one = Kept(host, busy)
        if places.open(host, one):
            inside.append(one)
        inside = [one for one in inside if not one.gone]
        assert len(inside) <= 5


@pytest.mark.slow
def test_a_service_answers_behind_a_wall_of_silent_connections(tmp_path):
    """More silent connections than may be open do not keep a request from being answered."""
    options = Options(port=0, header_seconds=PATIENCE, rates=LAVISH, most_connections=20)
    with serving(tmp_path, options) as service, ExitStack() as stack:
        for _ in range(60):
            stack.enter_context(service.connection())
        with service.client() as http:
            assert http.get("/healthz").status_code == 200
            _, device = service.company(http).truck()
            assert service.send(http, device).status_code == 200


@pytest.mark.slow
def test_a_connection_that_finds_no_room_is_told_when_to_come_again(tmp_path):
    """Where each connection is a feed that is read, a new one hears 503 and Retry-After."""
    options = Options(port=0, header_seconds=PATIENCE, rates=LAVISH, most_connections=3)
    with serving(tmp_path, options) as service:
        with service.client() as http:
            company = service.company(http)
            link = company.link(company.truck()[0])
        with ExitStack() as stack:
            for _ in range(3):
                one = stack.enter_context(service.connection())
                one.sendall(
                    b"GET /api/v1/feed HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n"
                    % link.encode()
                )
                assert b"200 OK" in one.recv(4096)
            refused = stack.enter_context(service.connection())
            said = received(refused)
    assert said.startswith(b"HTTP/1.1 503 ")
    assert b"retry-after: " in said.lower()


def received(connection: socket.socket) -> bytes:
    said = b""
    while chunk := connection.recv(4096):
        said += chunk
    return said


@pytest.mark.slow
def test_links_of_one_company_do_not_take_all_feeds(tmp_path):
    """A company that has opened every feed loses one to another, and is refused another for it."""
    options = Options(port=0, rates=LAVISH, most_feeds=10, most_feeds_of_link=4)
    with serving(tmp_path, options) as service, service.client() as http, ExitStack() as stack:
        loud, quiet = service.company(http, "Loud"), service.company(http, "Quiet")
        truck, other = loud.truck()[0], quiet.truck()[0]
        links = [loud.link(truck) for _ in range(5)]

        def opened(link: str) -> int:
            headers = {"authorization": f"Bearer {link}"}
            client = stack.enter_context(service.client())
            answer = stack.enter_context(client.stream("GET", "/api/v1/feed", headers=headers))
            return answer.status_code

        assert [opened(link) for link in links * 2] == [200] * 10
        assert opened(links[0]) == 503
        theirs = quiet.link(other)
        assert [opened(theirs) for _ in range(4)] == [200] * 4
        assert opened(links[0]) == 503
        shares = sorted(map(len, service.feeds._of.values()))
        assert shares == [4, 6]
        wait_until(lambda: service.feeds._open.total() == 10)


@pytest.fixture
def few_files():
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(1_024, before[1]), before[1]))
    yield before
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_the_limit_of_files_is_raised_as_far_as_it_may_be(few_files):
    """The usual limit of 1,024 is raised to what was chosen, and nothing is said."""
    if few_files[1] != resource.RLIM_INFINITY and few_files[1] < 4_200:
        pytest.skip("this process may not have so many files")
    said: list[str] = []
    options = Options(most_connections=2_000, most_feeds=1_000)
    assert within_files(options, said.append) == options
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 2_128
    assert said == []


def test_a_limit_that_stays_is_said(monkeypatch):
    """Where files are fewer than connections, there are as many as fit, and the operator hears."""
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1_024, 1_024))
    monkeypatch.setattr(resource, "setrlimit", lambda *_: None)
    said: list[str] = []
    options = within_files(Options(), said.append)
    assert (options.most_connections, options.most_feeds) == (896, 672)
    assert "at most 1024 files" in said[0]
