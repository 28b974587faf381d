"""The service in a thread of the test, on a port of its own, over a platform that tests turn."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx2 as httpx

from share_tests.scene import Scene
from voile_base.randomness import Randomness
from voile_share import protocol
from voile_share.service.app import application
from voile_share.service.feed import Feeds
from voile_share.service.options import Options, Rate, RequestRates
from voile_share.service.serving import listening_socket, server_of
from voile_testing.processes import PATIENCE

__all__ = ["LAVISH", "Company", "Event", "Service", "events", "named", "own_secrets", "serving"]

_MANY = Rate(1e6, 1_000_000)
LAVISH = RequestRates(_MANY, _MANY, _MANY, _MANY, _MANY, _MANY)
"""For tests that are about something else."""


@dataclass
class Company:
    """A company as its own programs see the service."""

    http: httpx.Client
    token: str
    number: str

    @property
    def headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.token}"}

    def call(self, method: str, path: str, **more) -> httpx.Response:
        return self.http.request(method, f"/api/v1{path}", headers=self.headers, **more)

    def made(self, path: str, document: object) -> dict:
        answer = self.call("POST", path, json=document)
        assert answer.status_code == 201, answer.text
        return answer.json()

    def truck(self, device: str = "truck-7") -> tuple[str, str]:
        """A truck's number, and its tracker's token."""
        truck = self.made("/trucks", {})["truck"]
        return truck, self.made(f"/trucks/{truck}/devices", {"device": device})["token"]

    def link(self, truck: str, hours: float = 24) -> str:
        return self.made(f"/trucks/{truck}/links", {"hours": hours})["link"]


@dataclass
class Service:
    """A running service."""

    scene: Scene
    options: Options
    port: int
    told: list[str] = field(default_factory=list)
    """What the operator was told."""
    feeds: Feeds | None = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def client(self, **more) -> httpx.Client:
        return httpx.Client(base_url=self.address, timeout=PATIENCE, trust_env=False, **more)

    def connection(self) -> socket.socket:
        """A bare connection."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def company(self, http: httpx.Client, name: str = "Post of Delft") -> Company:
        opened, token = self.scene.platform.open_company(name)
        return Company(http, token, opened.company)

    def send(self, http: httpx.Client, token: str, device: str = "truck-7") -> httpx.Response:
        """One position in the present slot."""
        query = {"id": device, "lat": "52.01", "lon": "4.36", "timestamp": f"{self.now:.0f}"}
        return http.get("/ingest", params=query, headers={"authorization": f"Bearer {token}"})

    @property
    def now(self) -> float:
        return self.scene.clock.now

    def next_slot(self) -> int:
        """Turn the clock to the next slot."""
        seconds = self.scene.settings.slot_seconds
        self.scene.clock.now = (self.now // seconds + 1) * seconds
        return int(self.scene.clock.now)


@contextmanager
def serving(folder: Path, options: Options | None = None, scene: Scene | None = None, **more):
    """A service while it runs."""
    chosen = options or Options(port=0, rates=LAVISH)
    scene = scene or Scene(folder)
    service = Service(scene, chosen, 0)
    app = application(scene.platform, chosen, tell=service.told.append, **more)
    service.feeds = app.state.feeds
    ready = threading.Event()
    with listening_socket(chosen) as listener:
        service.port = listener.getsockname()[1]
        server = server_of(app, chosen, listener, lambda host, port: ready.set())
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            assert ready.wait(PATIENCE)
            yield service
        finally:
            server.should_exit = True
            thread.join(PATIENCE)
            assert not thread.is_alive()
            scene.platform.close()


@dataclass(frozen=True)
class Event:
    """One server-sent event; a comment has no name."""

    name: str = ""
    data: str = ""
    number: int | None = None

    @property
    def document(self):
        return json.loads(self.data)


def events(answer: httpx.Response) -> Iterator[Event]:
    """The events of a feed, comments too."""
    fields: dict[str, str] = {}
    for line in answer.iter_lines():
        if line:
            name, _, value = line.partition(":")
            fields[name] = value.removeprefix(" ")
        elif fields:
            number = fields.get("id")
            yield Event(
                fields.get("event", ""),
                fields.get("data", ""),
                None if number is None else int(number),
            )
            fields = {}


def own_secrets(drawn: Randomness) -> protocol.TruckSecrets:
    """Those of a truck that publishes by itself."""
    return protocol.TruckSecrets.draw(drawn.key("number").secret[:16], drawn)


def named(those: Iterator[Event]) -> Iterator[Event]:
    """Events without comments; fails where comments alone have come for long."""
    deadline = time.monotonic() + PATIENCE
    for event in those:
        assert time.monotonic() < deadline, f"nothing but comments for {PATIENCE:g} seconds"
        if event.name:
            yield event
            deadline = time.monotonic() + PATIENCE
