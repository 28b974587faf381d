"""The service as a process: how it ends, what it keeps, and what it writes."""

from __future__ import annotations

import os
import signal
import time
from contextlib import closing
from pathlib import Path

import httpx2 as httpx
import pytest

from share_tests.service.load import SECOND, Trucks, admitted, check_kept, loaded
from share_tests.service.process import Process, set_up
from share_tests.service.server import events, named
from voile_share import protocol
from voile_share.service.models import decoded
from voile_share.store import SQLiteStore
from voile_testing.processes import PATIENCE, PostgresServer, wait_until


def truck_of(http: httpx.Client, device: str = "truck-7") -> tuple[str, str]:
    truck = http.post("/api/v1/trucks", json={}).json()["truck"]
    made = http.post(f"/api/v1/trucks/{truck}/devices", json={"device": device})
    return truck, made.json()["token"]


def send(http: httpx.Client, token: str, device="truck-7", place=(52.0116, 4.3571)) -> int:
    query = {"id": device, "lat": place[0], "lon": place[1], "timestamp": time.time()}
    return http.get(f"/ingest/{token}", params=query).status_code


@pytest.mark.slow
def test_a_service_ends_in_order_and_begins_again(tmp_path):
    """SIGTERM ends it with status 0 although a feed is open, and the reader resumes afterwards."""
    # By grace alone it would last longer than the test waits for it.
    token = set_up(tmp_path / "s", f"{SECOND}[service]\ngrace = {10 * int(PATIENCE)}\n")
    service = Process(tmp_path / "s")
    with service.client(token) as http:
        truck, device = truck_of(http)
        assert send(http, device) == 200
        link = http.post(f"/api/v1/trucks/{truck}/links", json={"hours": 1}).json()["link"]
        with service.client(link) as reader, reader.stream("GET", "/api/v1/feed") as feed:
            those = events(feed)
            assert next(those).name == "terms"
            last = next(those).number
            assert service.end() == 0
            assert [event.name for event in those if event.name] == []
    assert service.log.endswith("voile: stopped\n")
    again = Process(tmp_path / "s")
    try:
        with again.client(link) as reader:
            reader.headers["last-event-id"] = f"{last}"
            with reader.stream("GET", "/api/v1/feed") as feed, again.client() as http:
                those = named(events(feed))
                assert next(those).name == "terms"
                assert send(http, device) == 200
                assert next(those).number > last
    finally:
        assert again.end(signal.SIGINT) == 0


@pytest.mark.slow
def test_what_was_acknowledged_survives_a_kill_under_load(tmp_path):
    """SIGKILL loses no report that was acknowledged, makes none twice, and breaks no chain."""
    token = set_up(tmp_path / "s", SECOND)
    trucks: Trucks = {}
    taken: list[tuple[str, int]] = []
    for _ in range(3):
        service = Process(tmp_path / "s")
        with service.client(token) as http:
            trucks = trucks or admitted(http, 6)
        with loaded(service, trucks) as load:
            load.wait_for(200)
            load.wait_for(200)
            assert service.end(signal.SIGKILL) == -signal.SIGKILL
        assert load.failed == []
        taken += load.taken
    service = Process(tmp_path / "s")
    with loaded(service, trucks) as load:
        load.wait_for(200)
    assert service.end() == 0
    with closing(SQLiteStore.open(tmp_path / "s" / "share.db")) as store:
        check_kept(store, trucks, taken + load.taken)


@pytest.mark.slow
def test_neither_positions_nor_tokens_are_written_anywhere(tmp_path):
    """What was sent is neither in what the service writes nor in its files."""
    token = set_up(tmp_path / "s", SECOND)
    service = Process(tmp_path / "s", environment={"PYTHONASYNCIODEBUG": "1"})
    place = (52.0123457, 4.3654323)
    with service.client(token) as http:
        truck, device = truck_of(http)
        assert send(http, device, place=place) == 200
        assert send(http, device, device="foreign", place=place) == 401
        assert send(http, "wrongtoken-wrongtoken", place=place) == 401
        bad = f"id=truck-7&lat={place[0]}&lon={place[1]}x&timestamp=1"
        assert http.get(f"/ingest/{device}?{bad}").status_code == 422
        assert http.post(f"/ingest/{device}", content=f'{{"lat": {place[0]}').status_code == 422
        link = http.post(f"/api/v1/trucks/{truck}/links", json={"hours": 1}).json()["link"]
        with service.client(link) as reader, reader.stream("GET", "/api/v1/feed") as feed:
            assert next(events(feed)).name == "terms"
    assert service.end() == 0
    secrets = [token, device, link, "wrongtoken", "52.0123", "4.36543"]
    packed = [round(place[0] * 1e7).to_bytes(4, "big"), round(place[1] * 1e7).to_bytes(4, "big")]
    for file in [*(tmp_path / "s").iterdir(), tmp_path / "s.log"]:
        octets = file.read_bytes()
        for secret in [*(one.encode() for one in secrets), *packed]:
            assert secret not in octets, file.name
    listening, refused, stopped = service.log.splitlines()
    assert listening.startswith("voile: listening on")
    assert refused.startswith("voile: A tracker's token was refused")
    assert stopped == "voile: stopped"


@pytest.mark.slow
def test_workers_whose_parent_was_killed_give_the_port_back(tmp_path):
    """SIGKILL of the service itself: its workers end, and the next one gets the same port."""
    server = PostgresServer()
    server.start()
    try:
        configuration = f'[store]\nurl = "{server.url()}"\n{SECOND}[service]\ngrace = 1\n'
        token = set_up(tmp_path / "s", configuration)
        service = Process(tmp_path / "s", ("--port", 0, "--workers", 2))
        with service.client(token) as http:
            assert http.get("/api/v1/trucks").status_code == 200
        workers, port = service.workers(), service.port
        service.end(signal.SIGKILL)
        there = [Path(f"/proc/{one}") for one in workers]
        wait_until(lambda: not any(one.exists() for one in there), "workers live on")
        again = Process(tmp_path / "s", ("--port", port, "--workers", 2))
        with again.client(token) as http:
            assert http.get("/api/v1/trucks").status_code == 200
        assert again.end() == 0
    finally:
        server.stop()


@pytest.mark.slow
def test_workers_over_postgresql_serve_one_truck(tmp_path):
    """Two processes over one database publish one chain, and a dead worker is replaced."""
    server = PostgresServer()
    server.start()
    try:
        token = set_up(tmp_path / "s", f'[store]\nurl = "{server.url()}"\n{SECOND}')
        service = Process(tmp_path / "s", ("--port", 0, "--workers", 2))
        with service.client(token) as http:
            truck, device = truck_of(http)
            link = http.post(f"/api/v1/trucks/{truck}/links", json={"hours": 1}).json()["link"]
        with service.client(link) as reader, reader.stream("GET", "/api/v1/feed") as feed:
            those = named(events(feed))
            assert next(those).name == "terms"
            numbers = []
            for _ in range(6):
                for _ in range(4):
                    with service.client() as http:  # connections go to either worker
                        assert send(http, device) == 200
                time.sleep(1.05)  # the next slot
                report = protocol.Report.decode(decoded(next(those).data))
                numbers.append(report.sequence)
            assert numbers == list(range(6))
            first = next(iter(service.workers()))
            os.kill(first, signal.SIGKILL)
            wait_until(
                lambda: len(now := service.workers()) == 2 and first not in now,
                "a worker that died is not replaced",
            )
        assert service.end() == 0
        assert "is replaced" in service.log
    finally:
        server.stop()
