"""A demonstration on one machine: a town that never was, trucks that drive through it.

The town is crossings near a grid, some streets missing.  Nothing in it is anybody's: it is drawn
from a fixed seed.  Drives take the shortest way and stop at some crossings, a position every
second.

The service runs in a process of its own, trucks send, parties follow, all of it over HTTP, as it
would between machines.  The last truck holds its keys itself, the others are phones in the format
of OsmAnd.
"""

from __future__ import annotations

import json
import multiprocessing
import signal
import socket
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from functools import cached_property
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Event, Thread
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

import httpx2 as httpx
import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, dijkstra

from voile_base.errors import InputError, VoileError
from voile_base.ondemand import on_demand
from voile_base.randomness import Randomness
from voile_base.values import Json
from voile_geo.geodesy import Floats, displace
from voile_share import protocol
from voile_share.chain import Contract, EmbeddedChain
from voile_share.ingest import Request
from voile_share.map import RANKS, Streets
from voile_share.parties import Parties, PlatformClient, card_in
from voile_share.platform import Settings
from voile_share.protocol.primitives import to_base64url
from voile_share.service.folder import Configuration, create, open_platform, open_store
from voile_share.truck import AwayError, Forwarding, OwnTruck

if TYPE_CHECKING:
    from voile_share import service
else:
    service = on_demand("voile_share.service")

__all__ = ["Demonstration", "Drive", "Pace", "Spent", "Town"]

_SEED = 20
_MIDDLE = (52.5, 1.8)
"""In the sea, where no street is."""
_ACROSS, _DOWN, _GAP = 26, 18, 210.0
_SPEEDS = {"primary": 13.0, "street": 8.5}
_STAND_SECONDS = 25


@dataclass(frozen=True, eq=False)
class Drive:
    """Where a truck is, second by second."""

    seconds: Floats
    """Since the start, shape (n,), ascending."""
    latitude: Floats
    longitude: Floats

    def __post_init__(self) -> None:
        if len(self.seconds) < 2 or not (np.diff(self.seconds) > 0).all():
            msg = "a drive has at least two positions, whose times ascend"
            raise InputError(msg)

    @property
    def duration(self) -> float:
        """Seconds from start to end."""
        return float(self.seconds[-1] - self.seconds[0])

    @property
    def end(self) -> tuple[float, float]:
        """Where it ends, in degrees."""
        return float(self.latitude[-1]), float(self.longitude[-1])

    def at(self, seconds: float) -> tuple[float, float]:
        """Where the truck is so long after the start; at the end from then on."""
        time = self.seconds[0] + seconds
        return (
            float(np.interp(time, self.seconds, self.latitude)),
            float(np.interp(time, self.seconds, self.longitude)),
        )


class Town:
    """The town, always the same."""

    def __init__(self) -> None:
        self._key = Randomness.seeded(_SEED)

    @cached_property
    def places(self) -> Floats:
        """Crossings, shape (n, 2): metres east and north."""
        grid = np.stack(np.meshgrid(np.arange(_ACROSS), np.arange(_DOWN)), axis=-1)
        places = grid.reshape(-1, 2) * _GAP
        moved = self._uniform("places", 2 * len(places)).reshape(-1, 2) - 0.5
        bent = 60 * np.sin(places[:, ::-1] / 700)  # streets are not straight
        return np.asarray(places + 0.45 * _GAP * moved + bent)

    @cached_property
    def streets(self) -> Streets:
        """Its roads, as the map of the page takes them."""
        latitude, longitude = self._degrees(self.places)
        source, target = self._edges
        return Streets(latitude, longitude, source, target, self._ranks)

    def drives(self, count: int) -> Sequence[Drive]:
        """Long drives from one side of the town to another."""
        source, target = self._edges
        length = np.hypot(*(self.places[target] - self.places[source]).T)
        speed = np.where(self._ranks == _PRIMARY, _SPEEDS["primary"], _SPEEDS["street"])
        shape = (len(self.places), len(self.places))
        graph = csr_array((length / speed, (source, target)), shape=shape)
        _, part = connected_components(graph, directed=False)
        inside = np.flatnonzero(part == np.bincount(part).argmax())
        drawn = self._uniform("ends", 2 * count)
        drives = []
        for start, end in drawn.reshape(-1, 2):
            # From the west to the east, or so: the grid's columns follow each other.
            columns = inside % _ACROSS
            west, east = inside[columns < 5], inside[columns > _ACROSS - 6]
            ends = int(west[int(start * len(west))]), int(east[int(end * len(east))])
            _, before = dijkstra(graph, directed=False, indices=ends[0], return_predecessors=True)
            drives.append(self._drive(_way(before, *ends)))
        return drives

    def _drive(self, way: list[int]) -> Drive:
        places = self.places[way]
        legs = np.hypot(*np.diff(places, axis=0).T) / _SPEEDS["street"]
        stops = np.where(np.arange(len(legs)) % 7 == 6, _STAND_SECONDS, 0.0)
        arrive = np.concatenate(([0.0], np.cumsum(legs + stops)))
        leave = arrive.copy()
        leave[:-1] += stops
        times = np.stack((arrive, leave), axis=1).ravel()
        seconds = np.arange(0.0, arrive[-1] + 1)
        where = np.repeat(places, 2, axis=0)
        spots = np.stack([np.interp(seconds, times, side) for side in where.T], axis=1)
        return Drive(seconds, *self._degrees(spots))

    @cached_property
    def _edges(self) -> tuple[np.ndarray, np.ndarray]:
        """Between neighbours of the grid; one in ten is missing, main roads are not."""
        number = np.arange(_ACROSS * _DOWN).reshape(_DOWN, _ACROSS)
        source = np.concatenate((number[:, :-1].ravel(), number[:-1].ravel()))
        target = np.concatenate((number[:, 1:].ravel(), number[1:].ravel()))
        kept = self._uniform("streets", len(source)) > 0.1
        kept |= _is_main(source, target)
        return source[kept], target[kept]

    @cached_property
    def _ranks(self) -> np.ndarray:
        return np.where(_is_main(*self._edges), _PRIMARY, RANKS.index("street"))

    def _degrees(self, places: Floats) -> tuple[Floats, Floats]:
        latitude, longitude = displace(
            np.full(len(places), _MIDDLE[0]),
            np.full(len(places), _MIDDLE[1]),
            places[:, 0],
            places[:, 1],
        )
        return latitude, longitude

    def _uniform(self, purpose: str, count: int) -> Floats:
        words = self._key.key("town", purpose).stream(count)
        return np.asarray((words >> np.uint64(11)) * 2.0**-53)


_PRIMARY = RANKS.index("primary")


def _is_main(source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Whether streets lie on every sixth row or column of the grid."""
    rows, columns = (source // _ACROSS, target // _ACROSS), (source % _ACROSS, target % _ACROSS)
    along_row = (rows[0] == rows[1]) & (rows[0] % 6 == 3)
    return np.asarray(along_row | ((columns[0] == columns[1]) & (columns[0] % 6 == 3)))


def _way(before: np.ndarray, start: int, end: int) -> list[int]:
    """Crossings from start to end, by the predecessors of a shortest way."""
    way = [end]
    while way[-1] != start:
        way.append(int(before[way[-1]]))
    return way[::-1]


_START_SECONDS = 60.0
_STOP_SECONDS = 20.0
_HOURS = 24.0
_LAST_SLOT, _MOST_REPORTS = 2**32 - 1, 1_000_000
_SLOTS_AT_DOOR = 6
_REPORTS_AFTER = 6
"""In which the parcel is no more."""


@dataclass(frozen=True)
class Pace:
    """How fast it all goes."""

    slot_seconds: int = 5
    faster: float = 4.0
    """Than the drives were: a truck of 30 km/h goes at 120."""

    @property
    def terms(self) -> Json:
        """Settings of the platform, and of the truck with keys of its own."""
        return {
            "slot_seconds": self.slot_seconds,
            "displacements": [60, 150, 400],
            "near": [700, 2000],
            "room": 10,
        }


@dataclass(frozen=True)
class _OpenedPage:
    """What one party opens."""

    truck: str
    party: str
    address: str = field(repr=False)


@dataclass(frozen=True)
class Spent:
    """What a demonstration cost on its chain."""

    contract: str
    reports: int
    transactions: int
    """That carried reports or roots."""
    gas: int
    """Of these transactions together."""

    @classmethod
    def on(cls, node: EmbeddedChain, folder: Path) -> Self:
        """Everything on a chain that had only this contract."""
        own = [Contract.publish(b""), Contract.store(b""), Contract.anchor(0, 0, bytes(32))]
        names = {call[:4] for call in own}
        mined = node.mined()
        carried = [one for one in mined if one.data[:4] in names]
        made = next(one.to for one in mined if one.data == Contract.creation())
        with closing(open_store(folder, Configuration.read(folder))) as store:
            # In mode anchor reports are in the store, else they are the transactions.
            beside = len(store.in_slots(0, _LAST_SLOT, _MOST_REPORTS))
        reports = beside or len(carried)
        gas = sum(one.gas for one in carried)
        return cls(f"0x{made.hex()}", reports, len(carried), gas)


class _Truck(Protocol):
    """Something that drives."""

    card: protocol.TruckCard
    """As the company has it: of a phone's truck from the platform, which holds the keys."""

    def report(self, latitude: float, longitude: float) -> None:
        """Say where it is now."""

    def deliver(self) -> None:
        """Hand the parcel over."""

    def close(self) -> None:
        """Stop."""


class Demonstration:
    """Trucks on their way.  Use it in a ``with`` statement, which ends everything."""

    def __init__(
        self,
        folder: Path,
        drives: Sequence[Drive],
        road_map: bytes,
        pace: Pace | None = None,
        port: int = 0,
        chain: str | None = None,
    ) -> None:
        """``folder`` is empty or not there yet; ``road_map`` is what the page draws.

        ``chain`` is the mode in which reports go to an embedded chain, if they do.
        """
        self._folder, self._drives, self._map = folder, drives, road_map
        self._pace = pace or Pace()
        self._port = port or _free_port()
        self._chain = chain
        self._end = Event()
        self._stack = ExitStack()
        self._threads: list[Thread] = []
        self.addresses: list[_OpenedPage] = []
        """What the parties open; two for each truck."""
        self.troubles: list[str] = []
        """Why trucks stopped on their way."""
        self.spent: Spent | None = None
        """On the chain, when everything has ended."""

    def __enter__(self) -> Self:
        """Start everything; raises ``InputError`` where the service does not begin."""
        try:
            token = self._set_up()
            server = self._server()
            self._stack.callback(self._stop, server)
            base = f"http://127.0.0.1:{self._port}"
            company = self._stack.enter_context(
                httpx.Client(
                    base_url=base, headers={"authorization": f"Bearer {token}"}, timeout=30
                )
            )
            for number, drive in enumerate(self._drives, 1):
                # On the chain trucks send from accounts that the platform holds.
                own_keys = number == len(self._drives) > 1 and self._chain in {None, "anchor"}
                self._begin(company, f"van {number}", drive, own_keys=own_keys)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End everything."""
        self._end.set()
        for thread in self._threads:
            thread.join(_STOP_SECONDS)
        self._stack.close()

    @property
    def has_arrived(self) -> bool:
        """Whether all parcels are delivered."""
        return not any(thread.is_alive() for thread in self._threads)

    def wait(self, seconds: float) -> None:
        """Let it go on for so long."""
        self._end.wait(seconds)

    def _set_up(self) -> str:
        """Make the folder of the service, and a company; its token."""
        create(self._folder)
        # Numbers and lists of them are written alike in JSON and TOML.
        terms = "".join(f"{name} = {json.dumps(term)}\n" for name, term in self._pace.terms.items())
        (self._folder / "share.toml").write_text(
            f'[service]\naddress = "http://127.0.0.1:{self._port}"\nport = {self._port}\n\n'
            f"[platform]\n{terms}",
            encoding="utf-8",
        )
        (self._folder / "roads.json").write_bytes(self._map)
        with closing(open_platform(self._folder, Configuration.read(self._folder))) as platform:
            token = platform.open_company("Vans of the demonstration")[1]
        if self._chain is not None:
            with (self._folder / "share.toml").open("a", encoding="utf-8") as configuration:
                configuration.write(
                    f'\n[chain]\nurl = "embedded"\nmode = "{self._chain}"\npoll = 0.1\n'
                )
        return token

    def _server(self) -> _Server:
        server = _Server(self._folder)
        server.start()
        return server

    def _stop(self, server: _Server) -> None:
        self.spent = server.stop()

    def _begin(self, company: httpx.Client, name: str, drive: Drive, *, own_keys: bool) -> None:
        """Register a truck with one parcel, tell its parties, and drive off."""
        parcel = f"PARCEL-{name.replace(' ', '-').upper()}".encode()
        drawn = Randomness.secure()
        pair = protocol.Pair(b"shop", b"customer", drawn.key("long-term key").secret)
        parties = Parties.agree(pair, drawn)
        truck: _Truck
        if own_keys:
            truck = _OwnKeys.set_up(
                company, self._folder / name, self._pace, parcel, parties, drive
            )
        else:
            truck = _Phone.set_up(company, name, parcel, parties, drive)
        self._stack.callback(truck.close)
        self._tell_parties(company, name, truck.card, parcel, parties)
        thread = Thread(target=self._drive, args=(truck, drive), name=name, daemon=True)
        thread.start()
        self._threads.append(thread)

    def _tell_parties(
        self,
        company: httpx.Client,
        name: str,
        card: protocol.TruckCard,
        parcel: bytes,
        parties: Parties,
    ) -> None:
        number = card.truck.hex()
        today = protocol.day_of(int(time.time()))
        for party in ("sender", "receiver"):
            made = _answer(company.post(f"/api/v1/trucks/{number}/links", json={"hours": _HOURS}))
            # Two days, for a demonstration that lasts over midnight (UTC).
            opened = PlatformClient(company, made["link"])
            link = parties.submit(opened, parcel, today, days=2, card=card)
            self.addresses.append(_OpenedPage(name, party, made["address"] + link.fragment()))

    def _drive(self, truck: _Truck, drive: Drive) -> None:
        """A report in every half of a slot, until the parcel is delivered and some more."""
        began, after = time.monotonic(), _REPORTS_AFTER
        while not self._end.is_set() and after:
            driven = (time.monotonic() - began) * self._pace.faster
            try:
                truck.report(*drive.at(driven))
                if driven > drive.duration + _SLOTS_AT_DOOR * self._pace.slot_seconds:
                    if after == _REPORTS_AFTER:
                        truck.deliver()
                    after -= 1
            except (AwayError, httpx.TransportError):
                pass  # the service is away for a moment
            except VoileError as error:
                self.troubles.append(str(error))
                return
            self._end.wait(self._pace.slot_seconds / 2)


class _Phone:
    """A truck whose driver's phone sends to the platform, which perturbs and encrypts."""

    def __init__(
        self,
        company: httpx.Client,
        card: protocol.TruckCard,
        parcel: bytes,
        device: tuple[str, str],
    ) -> None:
        """``device``: the name of the phone, and its token."""
        self._company, self.card, self._parcel = company, card, parcel
        self._name, self._token = device
        self._client = httpx.Client(base_url=company.base_url, timeout=30)

    @classmethod
    def set_up(
        cls, company: httpx.Client, name: str, parcel: bytes, parties: Parties, drive: Drive
    ) -> Self:
        card = card_in(_answer(company.post("/api/v1/trucks", json={}))["card"])
        number = card.truck.hex()
        device = {"device": name}
        token = _answer(company.post(f"/api/v1/trucks/{number}/devices", json=device))["token"]
        sender, receiver = (to_base64url(key) for key in parties.signers)
        latitude, longitude = drive.end
        waybill = {
            "sender": sender,
            "receiver": receiver,
            "destination": {"latitude": latitude, "longitude": longitude},
        }
        _answer(company.put(f"/api/v1/trucks/{number}/parcels/{parcel.decode()}", json=waybill))
        return cls(company, card, parcel, (name, token))

    def report(self, latitude: float, longitude: float) -> None:
        now = f"{time.time():.0f}"
        place = {"lat": f"{latitude:.6f}", "lon": f"{longitude:.6f}"}
        query = {"id": self._name, **place, "timestamp": now}
        answer = self._client.get(f"/ingest/{self._token}", params=query)
        if answer.status_code < httpx.codes.INTERNAL_SERVER_ERROR:
            _answer(answer)

    def deliver(self) -> None:
        self._company.delete(
            f"/api/v1/trucks/{self.card.truck.hex()}/parcels/{self._parcel.decode()}"
        )

    def close(self) -> None:
        self._client.close()


class _OwnKeys:
    """A truck that perturbs and encrypts by itself."""

    def __init__(self, truck: OwnTruck, forwarding: Forwarding, parcel: bytes) -> None:
        self._truck, self._forwarding, self._parcel = truck, forwarding, parcel
        self.card = protocol.TruckCard.decode(truck.card)

    @classmethod
    def set_up(
        cls,
        company: httpx.Client,
        folder: Path,
        pace: Pace,
        parcel: bytes,
        parties: Parties,
        drive: Drive,
    ) -> Self:
        OwnTruck.create(folder).close()
        truck = OwnTruck(folder, Settings(**pace.terms))
        truck.load(parcel, *parties.signers, drive.end)
        card = {"card": to_base64url(truck.card)}
        token = _answer(company.post("/api/v1/trucks", json=card))["token"]
        return cls(truck, Forwarding(truck, str(company.base_url), token), parcel)

    def report(self, latitude: float, longitude: float) -> None:
        query = f"lat={latitude:.6f}&lon={longitude:.6f}&timestamp={time.time():.0f}&id=truck"
        self._forwarding.fetch()
        self._truck.receive(Request(query=query))
        self._forwarding.send()

    def deliver(self) -> None:
        self._truck.unload(self._parcel)

    def close(self) -> None:
        self._forwarding.close()
        self._truck.close()


class _Server:
    """The service in a process of its own."""

    def __init__(self, folder: Path) -> None:
        context = multiprocessing.get_context("spawn")
        self._ours, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(folder, theirs), daemon=True)

    def start(self) -> None:
        """Wait until it listens; raises ``InputError``."""
        self._process.start()
        told = self._ours.recv() if self._ours.poll(_START_SECONDS) else "it took too long to begin"
        if told is not None:
            self._process.terminate()
            raise InputError(told)

    def stop(self) -> Spent | None:
        """End it; what it has spent on its chain, if it had one."""
        self._process.terminate()
        spent = None
        with suppress(EOFError):  # it died
            if self._ours.poll(_STOP_SECONDS):
                spent = self._ours.recv()
        self._process.join(_STOP_SECONDS)
        return spent


def _serve(folder: Path, told: Connection) -> None:
    try:
        chain = Configuration.read(folder).chain
        node = None if chain is None else EmbeddedChain()
        service.serve(folder, ready=lambda host, port: told.send(None), node=node)
        for end in (signal.SIGINT, signal.SIGTERM):
            signal.signal(end, signal.SIG_IGN)  # it is ending
        told.send(None if node is None else Spent.on(node, folder))
    except VoileError as error:
        told.send(str(error))


def _answer(answer: httpx.Response) -> Json:
    if answer.is_error:
        msg = f"the service refused a step of the demonstration (status {answer.status_code})"
        raise VoileError(msg)
    is_json = answer.headers.get("content-type", "").startswith("application/json")
    return answer.json() if is_json and answer.content else {}


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])
