"""Trackers that report without pause, and what they were promised."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx2 as httpx

from share_tests.service.process import Process
from voile_share.protocol import Auditor, Record, Report, TruckCard
from voile_share.protocol.primitives import from_base64url
from voile_share.store import ReportLog
from voile_testing.processes import PATIENCE, wait_until

__all__ = ["SECOND", "Answer", "Load", "Trucks", "admitted", "check_kept", "loaded"]

SECOND = "[platform]\nslot_seconds = 1\n[rates]\ndevice = [1000, 1000]\n"
"""Slots of a second, and no limit on what trackers send."""

_DEVICE = "truck-7"
_PAUSE = 0.02


Trucks = Mapping[str, tuple[str, bytes]]
"""Numbers and cards, by the tokens of their trackers."""


@dataclass(frozen=True)
class Answer:
    """What a tracker was told of a position."""

    token: str
    slot: int
    status: int
    headers: Mapping[str, str]
    text: str


def admitted(http: httpx.Client, count: int) -> Trucks:
    """New trucks of a company."""
    trucks = {}
    for _ in range(count):
        truck = http.post("/api/v1/trucks", json={}).json()
        path = f"/api/v1/trucks/{truck['truck']}/devices"
        token = http.post(path, json={"device": _DEVICE}).json()["token"]
        trucks[token] = truck["truck"], from_base64url(truck["card"])
    return trucks


@dataclass
class Load:
    """What is sent while it is under way: each tracker a position as soon as it was answered."""

    service: Process
    tokens: Collection[str]
    answers: list[Answer] = field(default_factory=list)
    unanswered: list[str] = field(default_factory=list)
    """Kinds of errors of connections; a tracker whose connection fails ends."""
    stopped: threading.Event = field(default_factory=threading.Event)

    @property
    def taken(self) -> list[tuple[str, int]]:
        """Token and slot of what was acknowledged."""
        return [(one.token, one.slot) for one in list(self.answers) if one.status == 200]

    @property
    def failed(self) -> list[Answer]:
        return [one for one in list(self.answers) if one.status != 200]

    def wait_for(self, status: int) -> None:
        """Until every tracker was answered so, of a slot that has yet to begin."""
        since = int(time.time())

        def were_answered() -> bool:
            assert not self.unanswered, self.unanswered
            return set(self.tokens) <= {
                one.token for one in list(self.answers) if one.status == status and one.slot > since
            }

        wait_until(were_answered, f"no {status} any more")

    def drive(self, token: str) -> None:
        """One tracker, until it is stopped or its connection fails."""
        with self.service.client() as http:
            while not self.stopped.wait(_PAUSE):
                now = time.time()
                query = {"id": _DEVICE, "lat": 52.0, "lon": 4.0, "timestamp": now}
                try:
                    answer = http.get(f"/ingest/{token}", params=query)
                except httpx.HTTPError as error:
                    self.unanswered.append(type(error).__name__)
                    return
                said = (answer.status_code, dict(answer.headers), answer.text)
                self.answers.append(Answer(token, int(now), *said))


@contextmanager
def loaded(service: Process, tokens: Collection[str]) -> Iterator[Load]:
    """Trackers that send until the end of the block."""
    load = Load(service, tokens)
    threads = [threading.Thread(target=load.drive, args=(token,)) for token in tokens]
    for thread in threads:
        thread.start()
    try:
        yield load
    finally:
        load.stopped.set()
        for thread in threads:
            thread.join(PATIENCE)


def check_kept(log: ReportLog, trucks: Trucks, taken: Collection[tuple[str, int]]) -> None:
    """What was acknowledged is there once, and the records of each truck are one chain.

    ``taken``: token and slot.
    """
    for token, (truck, card) in trucks.items():
        number = bytes.fromhex(truck)
        auditor, records = Auditor(TruckCard.decode(card)), []
        while page := log.records(number, len(records), 100):
            for record in page:
                auditor = auditor.follow(record)
                records.append(Record.decode(record))
        reports = list(log.after(number, -1, 10_000))
        slots = [one.slot for one in reports]
        assert slots == [one.at.slot for one in records]
        assert [Report.decode(one.message).sequence for one in reports] == list(range(len(slots)))
        acknowledged = {slot for its, slot in taken if its == token}
        assert acknowledged, "this tracker was never answered"
        assert acknowledged <= set(slots)
