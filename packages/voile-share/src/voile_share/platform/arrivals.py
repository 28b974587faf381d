"""What a company's past drives teach of arrivals: learnt at delivery, sealed, forgotten at will.

While a parcel is under way nothing is written down: what was shown of its truck stays in memory
(``Trail``).  When its company says that it was delivered, the distances that its parties were shown
and how long it took from each are put to the company's past drives (``tours``).  When the tour is
over a table is fitted to all of them (``arrival``), which its links are given.  No place is kept.

The past is one document of each company, under a key of its own, which the vault seals: who has the
store without the vault's key reads none of it, and when a company forgets it key, past and fit are
gone.  A company whose trucks hold their keys fits at home, and publishes its table in the place of
one that is fitted here.

Past drives as a company keeps them, and the tours that they are of.

What teaches is a tour: a truck and its day.  That begins with the first parcel that it delivers and
lasts ``_TOUR_SECONDS``, whatever the clock says: at midnight UTC half the world's vans are under
way.  A tour that is not over teaches nothing, since its early parcels are no sample of it.  Of one
with many parcels some are kept, evenly over its time; caps count tours.  Drives that an earlier
Voile kept do not say whose they are: then all of a company within a day are one tour.
"""

from __future__ import annotations

import json
import math
import struct
import zlib
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from voile_base.errors import InputError
from voile_base.randomness import Randomness
from voile_base.values import Json
from voile_geo.geodesy import metres_between
from voile_share.arrival import (
    ArrivalInterval,
    ArrivalTable,
    LeftOut,
    Past,
    SharedPosition,
    standing,
)
from voile_share.platform.core import AccessError, PlatformCore
from voile_share.positions import Levels
from voile_share.protocol import LEVELS, Position
from voile_share.store import ArrivalPast, Company, StoreError

__all__ = [
    "Drives",
    "Learning",
    "Trail",
    "drive_document",
    "past_context",
    "past_of",
    "shown_at",
]


Drives = Sequence[Json]
"""What ``drive_document`` made."""

_TOUR_SECONDS = 16 * 3_600.0
_MOST_TOURS = 120
_BEGUN_AT_MOST = 12
"""Tours of so many hours as one lasts: a large fleet's day is not all there is to learn."""
_MOST_OF_TOUR = 20
"""Drives of one tour."""
_MOST_OF_DRIVE = 12
"""Positions of one drive."""
_OLDEST_SECONDS = 366 * 86_400.0


def drive_document(shown: Sequence[SharedPosition], arrived: float, truck: bytes) -> Json:
    """One drive for JSON: distances and times, no place, and a digest of the truck's number."""
    those = [one for one in shown if one.tells and one.time <= arrived]
    every = max(1, -(-len(those) // _MOST_OF_DRIVE))
    kept = those[::-1][::every][::-1]
    return {
        "truck": sha256(truck).hexdigest()[:16],
        "arrived": int(arrived),
        "shown": [[int(arrived - one.time), round(one.metres), one.stops] for one in kept],
    }


def past_of(drives: Drives, now: float) -> list[Past]:
    """What tours that are over teach; raises ``InputError`` where this is none of drives."""
    try:
        over = [tour for tour in _tours(drives) if tour[0]["arrived"] + _TOUR_SECONDS <= now]
        return [
            Past.of(
                [
                    SharedPosition(one["arrived"] - seconds, float(metres), stops=stops)
                    for seconds, metres, stops in one["shown"]
                ],
                one["arrived"],
                f"{number}",
            )
            for number, tour in enumerate(over)
            for one in tour
        ]
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        msg = "these are no past drives of `voile share truck history`"
        raise InputError(msg) from None


def _has_ended(drives: Drives, after: float, until: float) -> bool:
    """Whether a tour was over at the one time and not yet at the other."""
    ends = (tour[0]["arrived"] + _TOUR_SECONDS for tour in _tours(drives))
    return any(after < end <= until for end in ends)


def _with_drive(drives: Drives, drive: Json) -> Drives:
    """With one more, within what is kept; the same where it is not."""
    arrived, tours = drive["arrived"], _tours(_since(drives, drive["arrived"] - _OLDEST_SECONDS))
    mine = [tour for tour in tours if _is_of(tour, drive)]
    if mine:
        mine[-1].append(drive)
        if len(mine[-1]) > _MOST_OF_TOUR:
            _thin(mine[-1])
    elif sum(tour[0]["arrived"] > arrived - _TOUR_SECONDS for tour in tours) >= _BEGUN_AT_MOST:
        return drives
    else:
        tours = [*sorted(tours, key=_began), [drive]][-_MOST_TOURS:]
    return sorted((one for tour in tours for one in tour), key=_arrived)


def _since(drives: Drives, time: float) -> Drives:
    """Without the tours that began before a time."""
    return [one for tour in _tours(drives) if tour[0]["arrived"] >= time for one in tour]


def _tours(drives: Drives) -> list[list[Json]]:
    """Drives by tours, those of each in the order of time."""
    tours: dict[str, list[list[Json]]] = {}
    for one in sorted(drives, key=_arrived):
        of_truck = tours.setdefault(_truck(one), [])
        if of_truck and _is_of(of_truck[-1], one):
            of_truck[-1].append(one)
        else:
            of_truck.append([one])
    return [tour for of_truck in tours.values() for tour in of_truck]


def _is_of(tour: Drives, drive: Json) -> bool:
    began, truck = tour[0]["arrived"], _truck(tour[0])
    return truck == _truck(drive) and 0 <= drive["arrived"] - began < _TOUR_SECONDS


def _thin(tour: list[Json]) -> None:
    """Take out the drive whose neighbours in time are the nearest; the ends stay."""
    gaps = [
        after["arrived"] - before["arrived"] for before, after in zip(tour, tour[2:], strict=False)
    ]
    del tour[1 + min(range(len(gaps)), key=gaps.__getitem__)]


def _truck(drive: Json) -> str:
    return str(drive.get("truck", ""))


def _arrived(drive: Json) -> float:
    arrived = float(drive["arrived"])
    if not math.isfinite(arrived):
        raise ValueError
    return arrived


def _began(tour: Drives) -> float:
    return _arrived(tour[0])


_MOST_REPORTS = 144
"""Of a truck, in memory: half a day of five minutes."""
_TRIES = 5
_BELIEVED_SECONDS = 30.0
_NONCE_BYTES = 12
_UNIT = 1e7
_PACKED = struct.Struct(f"<I{2 * LEVELS}i")


def past_context(company: str) -> bytes:
    """What the sealed key of a company's past drives is bound to."""
    return b"key of past arrivals" + company.encode()


class Trail:
    """What was published of one truck lately, in some kilobytes; the last of it."""

    def __init__(self, octets: bytes = b"") -> None:
        """``octets``: those of an earlier one."""
        size = _PACKED.size
        whole = range(0, len(octets) - size + 1, size)
        self._reports = deque((octets[at : at + size] for at in whole), maxlen=_MOST_REPORTS)

    @property
    def octets(self) -> bytes:
        """All of it."""
        return b"".join(self._reports)

    def add(self, positions: Sequence[Position]) -> None:
        """The positions of one report, of all levels."""
        places = [
            round(side * _UNIT) for one in positions for side in (one.latitude, one.longitude)
        ]
        self._reports.append(_PACKED.pack(positions[0].time, *places))

    def shown(
        self, levels: Levels, destination: tuple[float, float], since: float
    ) -> list[SharedPosition]:
        """What the parties of a parcel were shown from a time on."""
        reports = [_PACKED.unpack(one) for one in self._reports]
        those = [
            (time, [(places[at] / _UNIT, places[at + 1] / _UNIT) for at in range(0, 2 * LEVELS, 2)])
            for time, *places in reports
            if time >= since
        ]
        return shown_at(levels, those, destination)


def shown_at(
    levels: Levels,
    reports: Sequence[tuple[float, Sequence[tuple[float, float]]]],
    destination: tuple[float, float],
) -> list[SharedPosition]:
    """What the parties of a parcel are shown by reports: times, and the places of each level."""
    seen: list[tuple[float, tuple[float, float], float]] = []
    for time, places in reports:
        metres = [float(metres_between(*place, *destination)) for place in places]
        level = levels.level(metres[0])
        seen.append((time, places[level], metres[level]))
    stood = standing([(time, place) for time, place, _ in seen])
    return [
        SharedPosition(time, round(metres), stands)
        for (time, _, metres), stands in zip(seen, stood, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class _ArrivalsKept:
    """How much is kept of a company's past drives."""

    drives: int
    tours: int
    """That are over, and taught."""
    published: bool
    """Whether the table is one that the company has fitted itself."""
    table: ArrivalTable | None = field(repr=False)


class Learning:
    """The past drives of companies.  Threads may share it."""

    def __init__(self, core: PlatformCore) -> None:
        self._core = core
        self._tables: dict[str, tuple[float, Json | None]] = {}
        self._opened: dict[str, tuple[Json, ArrivalTable | None]] = {}

    def learn(
        self, company: str, shown: Sequence[SharedPosition], arrived: float, truck: bytes = b""
    ) -> None:
        """Learn from one drive that is over; what tells nothing of arrivals is passed over.

        Raises ``StoreError``.
        """
        drive = drive_document(shown, arrived, truck)
        if not drive["shown"]:
            return

        def change(held: Json) -> Json:
            drives = _with_drive(held["drives"], drive)
            if drives is held["drives"]:
                return held
            return _fitted({**held, "drives": drives}, arrived)

        self._change(company, change)

    def publish_arrivals(self, company: Company, table: object) -> None:
        """Give a company's links a table that it has fitted itself, in the place of one from here.

        ``table`` is one's document.  Raises ``AccessError`` where it is none, and ``StoreError``.
        """
        try:
            document = ArrivalTable.read(table).document()
        except InputError as error:
            raise AccessError("arrivals-unfit", str(error)) from None
        self._change(company.company, lambda held: {**held, "published": document})

    def arrivals(self, company: Company) -> _ArrivalsKept:
        """What is kept of a company's past drives."""
        held = self._held(self._core.directory.arrival_past(company.company))
        table = held["published"] or held["fitted"]
        past = past_of(held["drives"], self._core.clock())
        return _ArrivalsKept(
            len(held["drives"]),
            len({one.tour for one in past}),
            held["published"] is not None,
            None if table is None else ArrivalTable.read(table),
        )

    def tried_arrivals(self, company: Company) -> LeftOut:
        """How intervals do on a company's own tours, each told by the others."""
        held = self._held(self._core.directory.arrival_past(company.company))
        return LeftOut.of(past_of(held["drives"], self._core.clock()))

    def past_drives(self, company: Company) -> list[Any]:
        """A company's past drives as documents: for who fits elsewhere."""
        return list(self._held(self._core.directory.arrival_past(company.company))["drives"])

    def forget_arrivals(self, company: Company) -> bool:
        """Forget a company's past drives, their key and the table; False where there were none."""
        self._tables.pop(company.company, None)
        self._opened.pop(company.company, None)
        return self._core.directory.forget_arrivals(company.company)

    def forget_drives(self, company: str, before: float) -> int:
        """Forget the tours that began before a time, and fit to the others; how many drives.

        Raises ``StoreError``, and ``InputError`` where what is kept does not open.
        """
        row = self._core.directory.arrival_past(company)
        if row is None:
            return 0
        drives = self._held(row)["drives"]
        gone = len(drives) - len(_since(drives, before))
        if gone:
            now = self._core.clock()

            def change(held: Json) -> Json:
                return _anew({**held, "drives": _since(held["drives"], before)}, now)

            self._change(company, change)
        return gone

    def learn_ended_tours(self, company: str) -> None:
        """Fit anew where a tour is over that the table does not know.

        Raises ``StoreError``, and ``InputError`` where what is kept does not open.
        """
        if self._core.directory.arrival_past(company) is not None:
            self._change(company, lambda held: _fitted(held, self._core.clock()))

    def arrival_table(self, company: str) -> Json | None:
        """What a company's links are given; None where nothing was learnt, or it does not open.

        What was read is believed for half a minute.  Raises ``StoreError``.
        """
        now = self._core.clock()
        read, table = self._tables.get(company, (float("-inf"), None))
        if not 0 <= now - read < _BELIEVED_SECONDS:
            table = None
            with suppress(InputError):  # who asks for ``arrivals`` is told
                held = self._held(self._core.directory.arrival_past(company))
                table = held["published"] or held["fitted"]
            self._tables[company] = now, table
        return table

    def forecast(self, company: str, shown: SharedPosition) -> ArrivalInterval | None:
        """When a parcel arrives, as pages say it of what its parties are shown; None: nothing.

        Stops that a carrier has told a reader are not known here.  Raises ``StoreError``.
        """
        document = self.arrival_table(company)
        if document is None:
            return None
        before, table = self._opened.get(company, (None, None))
        if before is not document:
            table = None
            with suppress(InputError):
                table = ArrivalTable.read(document)
            self._opened[company] = document, table
        return None if table is None else table.forecast(shown)

    def _change(self, company: str, change: Any) -> None:
        for _ in range(_TRIES):
            row = self._core.directory.arrival_past(company)
            held = self._held(row)
            after = change(held)
            if after is held:
                return
            if self._core.directory.replace_arrival_past(self._row(company, row, after)):
                self._tables.pop(company, None)
                return
        msg = "others change what is known of arrivals at the same time: try again"
        raise StoreError(msg)

    def _row(self, company: str, before: ArrivalPast | None, held: Json) -> ArrivalPast:
        if before is None:
            secret = self._core.fresh("arrivals").key("secret").secret
            sealed = self._core.vault.seal(past_context(company), secret)
        else:
            secret, sealed = self._secret(before), before.secret
        packed = zlib.compress(json.dumps({**held, "fitted": None}).encode())
        past = _seal(secret, packed, b"past")
        fitted = _seal(secret, json.dumps(held["fitted"]).encode(), b"fitted")
        return ArrivalPast(
            company, 1 if before is None else before.version + 1, sealed, past, fitted
        )

    def _held(self, row: ArrivalPast | None) -> Json:
        if row is None:
            return {"drives": [], "published": None, "fitted": None}
        secret = self._secret(row)
        try:
            held: Json = json.loads(zlib.decompress(_open(secret, row.past, b"past")))
            if row.fitted is not None:
                held["fitted"] = json.loads(_open(secret, row.fitted, b"fitted"))
            for name in ("published", "fitted"):
                held[name] = _of_this_voile(held[name])
        except (InvalidTag, ValueError, zlib.error):
            msg = (
                f"the past drives of company {row.company} in the store were changed by something "
                "else: restore a backup, or voile share forget"
            )
            raise InputError(msg) from None
        return held

    def _secret(self, row: ArrivalPast) -> bytes:
        return self._core.vault.unseal(past_context(row.company), row.secret)


def _of_this_voile(table: object) -> Any:
    """A table as it is kept; None for one of an earlier Voile, which counted parcels."""
    with suppress(InputError):
        return None if table is None else ArrivalTable.read(table).document()
    return None


def _fitted(held: Json, now: float) -> Json:
    """With a table of all tours that are over; the same where none has ended since it was made."""
    fitted = -math.inf if held["fitted"] is None else held["fitted"]["fitted"]
    return _anew(held, now) if _has_ended(held["drives"], fitted, now) else held


def _anew(held: Json, now: float) -> Json:
    table = ArrivalTable.fit(past_of(held["drives"], now), now)
    return {**held, "fitted": table.document() if table.rows else None}


def _seal(secret: bytes, text: bytes, what: bytes) -> bytes:
    nonce = Randomness.secure().key("nonce").secret[:_NONCE_BYTES]
    return nonce + AESGCM(secret).encrypt(nonce, text, what)


def _open(secret: bytes, sealed: bytes, what: bytes) -> bytes:
    return AESGCM(secret).decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], what)
