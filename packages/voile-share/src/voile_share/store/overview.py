"""What people who run a service look at: trucks, parcels and links of a company or of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from voile_share.store.sql import Database, Row

__all__ = ["FleetRow", "ParcelRow", "SQLOverview"]


@dataclass(frozen=True, slots=True)
class FleetRow:
    """A truck that is not retired."""

    number: int
    """In the order of creation."""
    truck: bytes
    company: str
    name: str
    """Of the company."""
    own_keys: bool
    slot: int | None
    """Of its last report."""
    parcels: int
    links: int
    """That are open."""
    device: str | None
    """Of one of its trackers."""
    state: bytes | None = field(repr=False)
    """Of its stream of positions, sealed."""


@dataclass(frozen=True, slots=True)
class ParcelRow:
    """A parcel that is on a truck."""

    number: int
    parcel: bytes
    truck: bytes
    company: str
    name: str
    """Of the company."""
    created: float
    links: int
    """Open links to its truck: which are about which parcel nobody has said."""


_FLEET = """SELECT trucks.seq, trucks.truck, trucks.company, companies.name, trucks.own_keys,
    heads.slot,
    (SELECT COUNT(*) FROM parcels WHERE parcels.truck = trucks.truck AND parcels.ended IS NULL),
    (SELECT COUNT(*) FROM links
        WHERE links.truck = trucks.truck AND links.revoked IS NULL AND links.expires > ?),
    (SELECT MIN(device) FROM devices
        WHERE devices.truck = trucks.truck AND devices.revoked IS NULL),
    states.state
    FROM trucks JOIN companies ON companies.company = trucks.company
    LEFT JOIN heads ON heads.truck = trucks.truck AND heads.slot >= 0
    LEFT JOIN states ON states.truck = trucks.truck
    WHERE trucks.retired IS NULL AND companies.closed IS NULL"""
_PARCELS = """SELECT parcels.seq, parcels.parcel, parcels.truck, trucks.company, companies.name,
    parcels.created,
    (SELECT COUNT(*) FROM links
        WHERE links.truck = trucks.truck AND links.revoked IS NULL AND links.expires > ?)
    FROM parcels JOIN trucks ON trucks.truck = parcels.truck
    JOIN companies ON companies.company = trucks.company
    WHERE companies.closed IS NULL AND parcels.ended IS NULL"""


class SQLOverview:
    """The overview over an engine; ``company`` None is all companies."""

    _engine: Database

    def fleet(self, company: str | None, now: float, after: int, limit: int) -> Sequence[FleetRow]:
        """Trucks whose number is greater, in the order of creation."""
        statement, values = _of(company, _FLEET, now)
        rows = self._engine.read(
            f"{statement} AND trucks.seq > ? ORDER BY trucks.seq LIMIT ?", (*values, after, limit)
        )
        return [_fleet_row(row) for row in rows]

    def fleet_truck(self, company: str | None, now: float, truck: bytes) -> FleetRow | None:
        """One truck; None where it is another company's, retired, or there is none."""
        statement, values = _of(company, _FLEET, now)
        rows = self._engine.read(f"{statement} AND trucks.truck = ?", (*values, truck))
        return _fleet_row(rows[0]) if rows else None

    def parcel_rows(
        self, company: str | None, now: float, start: bytes, limit: int
    ) -> Sequence[ParcelRow]:
        """Parcels whose number begins with some bytes, the latest first."""
        statement, values = _of(company, _PARCELS, now)
        if start:
            statement += " AND parcels.parcel >= ? AND parcels.parcel < ?"
            values = (*values, start, start + b"\xff" * 64)
        rows = self._engine.read(f"{statement} ORDER BY parcels.seq DESC LIMIT ?", (*values, limit))
        return [ParcelRow(*row) for row in rows]


def _fleet_row(row: Row) -> FleetRow:
    number, truck, company, name, own_keys, slot, parcels, links, device, state = row
    return FleetRow(
        number, truck, company, name, bool(own_keys), slot, parcels, links, device, state
    )


def _of(company: str | None, statement: str, now: float) -> tuple[str, tuple[object, ...]]:
    if company is None:
        return statement, (now,)
    return f"{statement} AND trucks.company = ?", (now, company)
