"""A load generator for the sharing service: trackers that send on time, over loopback.

Open loop: each position has its time, and its answer is waited for from that time on, so a service
that falls behind shows it in the latencies.  Bounded: a connection has one request under way, so
no more than ``connections`` wait at a time.  A process of its own; answers are read whole.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["Answer", "Load", "Sent", "send_all"]


@dataclass(frozen=True)
class Load:
    """What to send."""

    port: int
    tokens: Sequence[str]
    """One for each truck, which sends once in ``period``."""
    period: float
    """Seconds."""
    rounds: int
    connections: int
    drives: bool = False
    """Whether each truck is 22 m further north each second; else it stands."""


class Answer(NamedTuple):
    """To one position."""

    due: float
    """When it was to be sent, in seconds since 1970."""
    latency: float
    """Seconds from then to the answer."""
    status: int


@dataclass(frozen=True)
class Sent:
    """What came of it."""

    seconds: float
    """From the first moment of sending to the last answer."""
    answers: Sequence[Answer]

    @property
    def latencies(self) -> list[float]:
        """Seconds from when a position was due to its answer, whatever that was."""
        return [one.latency for one in self.answers]

    @property
    def refused(self) -> int:
        """Answers other than 200."""
        return sum(one.status != 200 for one in self.answers)


def send_all(load: Load) -> Sent:
    """Send everything; to be called in a process of its own."""
    return asyncio.run(_send_all(load))


async def _send_all(load: Load) -> Sent:
    answers: list[Answer] = []
    shares = [load.tokens[place :: load.connections] for place in range(load.connections)]
    begin = time.time() + 1.0
    # Whole seconds, so that each round of a truck is in a slot of its own.
    begin = float(int(begin) + 1)
    await asyncio.gather(
        *(
            _connection(load, begin, place, share, answers)
            for place, share in enumerate(shares)
            if share
        )
    )
    return Sent(time.time() - begin, answers)


async def _connection(
    load: Load,
    begin: float,
    place: int,
    tokens: Sequence[str],
    answers: list[Answer],
) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", load.port)
    gap = load.period / len(load.tokens)
    for turn in range(load.rounds):
        for number, token in enumerate(tokens):
            due = begin + turn * load.period + (place + number * load.connections) * gap
            if (wait := due - time.time()) > 0:
                await asyncio.sleep(wait)
            writer.write(_request(token, int(due), number, drives=load.drives))
            status = await _status(reader)
            answers.append(Answer(due, time.time() - due, status))
    writer.close()


def _request(token: str, now: int, number: int, *, drives: bool) -> bytes:
    north = number % 60_000 + (now % 1_000 * 20 if drives else 0)
    query = f"id=truck&lat=52.{10_000 + north}&lon=4.36&timestamp={now}"
    return f"GET /ingest/{token}?{query} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()


async def _status(reader: asyncio.StreamReader) -> int:
    head = await reader.readuntil(b"\r\n\r\n")
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            await reader.readexactly(int(line[15:]))
    return int(head[9:12])
