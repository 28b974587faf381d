"""What people who are signed in are shown: of their company, or of all.

The fleet as a picture: circles that hold a truck nine times out of ten, over great roads.

Pure functions from degrees to the numbers of an SVG, whose colours are the style sheet's.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any

from voile_base.errors import InputError
from voile_share.ingest import AHEAD_SECONDS
from voile_share.platform import Platform
from voile_share.platform.administration import LabelledLink
from voile_share.platform.trucks import REMEDIES, trouble_text
from voile_share.platform.writers import stream_context
from voile_share.positions import spent_on
from voile_share.protocol import day_of
from voile_share.store import Company, FleetRow, ParcelRow, TrackingLink

__all__ = ["Overview", "picture"]


WIDTH, HEIGHT = 960.0, 540.0
_MARGIN = 40.0
_METRES = 111_320.0
"""Of a degree of latitude."""
_LEAST_SPAN = 0.05
_MOST_POINTS = 20_000
_GREAT = ("motorway", "trunk", "primary", "secondary")
_NINE_OF_TEN = math.sqrt(2 * math.log(10)) / math.sqrt(math.pi / 2)
"""Times the mean displacement of Gaussian noise."""


@dataclass(frozen=True)
class _DrawnTruck:
    """A truck that is to be drawn."""

    latitude: float
    longitude: float
    displacement: float
    """Metres that the position is off on average."""
    title: str
    href: str
    state: str


@dataclass(frozen=True)
class _Mark:
    """A truck in the picture."""

    x: float
    y: float
    radius: float
    title: str
    href: str
    state: str


@dataclass(frozen=True)
class _MapPicture:
    """What the page draws."""

    marks: Sequence[_Mark]
    roads: Sequence[str]
    """Paths of lines."""
    kilometre: float
    """How long one is."""
    attribution: str = ""
    """Whose roads they are."""
    width: float = WIDTH
    height: float = HEIGHT


@dataclass(frozen=True)
class _Frame:
    south: float
    west: float
    scale: float
    """Units for a degree of latitude."""
    squeeze: float

    def place(self, latitude: float, longitude: float) -> tuple[float, float]:
        x = (longitude - self.west) * self.scale * self.squeeze
        return _MARGIN + x, HEIGHT - _MARGIN - (latitude - self.south) * self.scale


def picture(trucks: Sequence[_DrawnTruck], roads: bytes | None) -> _MapPicture | None:
    """All trucks in one frame; None where there are none.  ``roads``: a ``MapFile``'s body."""
    if not trucks:
        return None
    frame = _frame(trucks)
    marks = []
    for truck in trucks:
        x, y = frame.place(truck.latitude, truck.longitude)
        radius = truck.displacement * _NINE_OF_TEN / _METRES * frame.scale
        marks.append(
            _Mark(round(x, 1), round(y, 1), round(radius, 1), truck.title, truck.href, truck.state)
        )
    lines = () if roads is None else tuple(_paths(roads, frame))
    whose = "" if roads is None else _read(roads)[1]
    return _MapPicture(marks, lines, round(1000 / _METRES * frame.scale, 1), whose)


def _frame(trucks: Sequence[_DrawnTruck]) -> _Frame:
    around = max(one.displacement for one in trucks) * _NINE_OF_TEN / _METRES
    souths = [one.latitude + side for one in trucks for side in (-around, around)]
    wests = [one.longitude for one in trucks]
    middle = (min(souths) + max(souths)) / 2
    squeeze = max(math.cos(math.radians(middle)), 0.01)
    tall = max(max(souths) - min(souths), _LEAST_SPAN)
    wide = max((max(wests) - min(wests)) * squeeze, _LEAST_SPAN)
    scale = min((HEIGHT - 2 * _MARGIN) / tall, (WIDTH - 2 * _MARGIN) / wide)
    south = middle - (HEIGHT - 2 * _MARGIN) / scale / 2
    west = (min(wests) + max(wests)) / 2 - (WIDTH - 2 * _MARGIN) / scale / squeeze / 2
    return _Frame(south, west, scale, squeeze)


def _paths(roads: bytes, frame: _Frame) -> Iterator[str]:
    """Great roads within the frame; in the order of their rank, as many as are drawn at once."""
    drawn = 0
    for line in _read(roads)[0]:
        points = [frame.place(*point) for point in line]
        across, down = [x for x, _ in points], [y for _, y in points]
        if min(across) > WIDTH or max(across) < 0 or min(down) > HEIGHT or max(down) < 0:
            continue
        drawn += len(points)
        if drawn > _MOST_POINTS:
            return
        yield "M" + "L".join(f"{x:.0f} {y:.0f}" for x, y in points)


@lru_cache(maxsize=1)
def _read(roads: bytes) -> tuple[Sequence[Sequence[tuple[float, float]]], str]:
    """The great roads of a map (``map.document``), in degrees, and whose they are."""
    document = json.loads(roads)
    lines = []
    for layer in document["layers"]:
        if layer["rank"] not in _GREAT:
            continue
        latitude, longitude = document["middle"]
        steps = iter(layer["steps"])
        for count in layer["counts"]:
            line = []
            for _ in range(count):
                latitude, longitude = latitude + next(steps), longitude + next(steps)
                line.append((latitude / 1e5, longitude / 1e5))
            lines.append(line)
    return lines, str(document.get("attribution", ""))


PAGE = 200
"""Trucks, parcels or links on a page."""
_IDENTITY = re.compile("[0-9a-f]{16}")
_LATE, _SILENT = 2, 12
"""Slots that a truck has missed."""


@dataclass(frozen=True)
class _Row:
    """A truck as it is shown."""

    truck: FleetRow
    state: str
    """``here``, ``late``, ``silent``, ``ahead`` or ``new``."""
    minutes: int | None
    """Since the slot of its last report began."""
    spent: float | None
    """Epsilon of this day; None of trucks that hold their keys."""
    seen: _DrawnTruck | None
    trouble: str = ""
    """Why nothing is published for what its tracker sends, and what helps."""

    @property
    def number(self) -> str:
        """That of the truck."""
        return self.truck.truck.hex()

    @property
    def title(self) -> str:
        """How people call it: by its tracker, or the beginning of its number."""
        return _title(self.truck.device, self.truck.truck)


@dataclass(frozen=True)
class _LinkRow:
    """An open link as it is shown; of which parcel it is nobody has said."""

    link: TrackingLink
    label: str
    company: Company


@dataclass(frozen=True)
class _TruckPage:
    """A page of trucks."""

    rows: Sequence[_Row]
    counts: Counter[str]
    following: int | None
    """After which number the next page begins."""


class Overview:
    """Everything is asked for a ``company``, or None for all: what is another's is not there."""

    def __init__(self, platform: Platform, store: Any) -> None:
        self._platform = platform
        self._store = store

    def fleet(self, company: str | None, after: int = 0) -> _TruckPage:
        """Trucks in the order of their creation."""
        found = self._store.fleet(company, self._platform.clock(), after, PAGE + 1)
        rows = [self._row(one) for one in found[:PAGE]]
        following = rows[-1].truck.number if len(found) > PAGE else None
        return _TruckPage(rows, Counter(one.state for one in rows), following)

    def truck(self, company: str | None, number: bytes) -> _Row | None:
        """One; None where there is none."""
        found = self._store.fleet_truck(company, self._platform.clock(), number)
        return None if found is None else self._row(found)

    def titles(self, trucks: Iterable[bytes | None]) -> Mapping[bytes, str]:
        """How people call trucks, as on the page of the fleet."""
        return {one: _title(self._tracker(one), one) for one in set(trucks) if one is not None}

    def _tracker(self, truck: bytes) -> str | None:
        devices = self._store.devices(truck)
        return min((one.token.device for one in devices if one.token.revoked is None), default=None)

    def parcels(self, company: str | None, search: str = "") -> Sequence[ParcelRow]:
        """The latest ones whose number begins so."""
        start = search.strip().encode()
        now = self._platform.clock()
        rows: Sequence[ParcelRow] = self._store.parcel_rows(company, now, start, PAGE)
        return rows

    def parcels_on(self, truck: bytes) -> Sequence[str]:
        """Numbers of what a truck carries."""
        return [shown_parcel(one.parcel) for one in self._store.parcels(truck)]

    def links_to(self, truck: bytes) -> Sequence[LabelledLink]:
        """Open links that show a truck now."""
        now, links = self._platform.clock(), self._store.links(truck)
        return [LabelledLink(one, self._platform.label(one)) for one in links if one.is_open(now)]

    def links(self, company: str | None, search: str = "") -> tuple[Sequence[_LinkRow], bool]:
        """Open links whose label holds some words, the latest of each company first.

        And whether there are more than are shown on one page.
        """
        found = list(islice(self._labelled(company, search), PAGE + 1))
        return found[:PAGE], len(found) > PAGE

    def _labelled(self, company: str | None, search: str) -> Iterator[_LinkRow]:
        now = self._platform.clock()
        for one in self._store.companies():
            if one.closed is None and company in {None, one.company}:
                for named in reversed(self._platform.links_of(one, search)):
                    if named.link.is_open(now):
                        yield _LinkRow(named.link, named.label, one)

    def revoke(self, company: str | None, identity: str) -> str | None:
        """Close an open link by its id; the number of its company, None where there is none."""
        if not _IDENTITY.fullmatch(identity):
            return None
        now = self._platform.clock()
        for link in self._store.links_beginning(bytes.fromhex(identity)):
            owner = self._store.company(self._platform.company_behind(link))
            if owner is None or company not in {None, owner.company} or not link.is_open(now):
                continue
            self._platform.revoke_link_of(owner, identity)
            return str(owner.company)
        return None

    def _row(self, truck: FleetRow) -> _Row:
        now, slot_seconds = self._platform.clock(), self._platform.settings.slot_seconds
        missed = None if truck.slot is None else (now - truck.slot) / slot_seconds
        match missed:
            case None:
                state = "new"
            case _ if missed * slot_seconds < -AHEAD_SECONDS:
                state = "ahead"
            case _ if missed > _SILENT:
                state = "silent"
            case _ if missed > _LATE:
                state = "late"
            case _:
                state = "here"
        minutes = None if truck.slot is None else int((now - truck.slot) // 60)
        seen, spent = self._seen(truck, state), self._spent(truck, now)
        return _Row(truck, state, minutes, spent, seen, self._trouble(truck, state))

    def _trouble(self, truck: FleetRow, state: str) -> str:
        if state == "ahead":
            return f"{REMEDIES['truck-ahead']} SERVICE {truck.truck.hex()}"
        trouble = self._platform.trouble(truck.truck)
        return "" if trouble is None else trouble_text(trouble.reason)

    def _spent(self, truck: FleetRow, now: float) -> float | None:
        if truck.own_keys:
            return None
        if truck.state is None:
            return 0.0
        try:
            state = self._platform.vault.unseal(stream_context(truck.truck), truck.state)
        except InputError:
            return None
        return spent_on(state, day_of(int(now)), self._platform.settings.delta)

    def _seen(self, truck: FleetRow, state: str) -> _DrawnTruck | None:
        settings = self._platform.settings
        shown, level = self._platform.shown(truck.truck), settings.operator_level
        if shown is None or level is None:
            return None
        return _DrawnTruck(
            shown.latitude,
            shown.longitude,
            settings.displacements[level],
            _title(truck.device, truck.truck),
            f"/operator/trucks/{truck.truck.hex()}",
            state,
        )


def _title(tracker: str | None, truck: bytes) -> str:
    return tracker or truck.hex()[:8]


def shown_parcel(parcel: bytes) -> str:
    """Its number as people write it, or in hexadecimal digits."""
    try:
        text = parcel.decode("utf-8")
    except UnicodeDecodeError:
        return parcel.hex()
    return text if text.isprintable() else parcel.hex()
