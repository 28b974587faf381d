"""Who runs a service, and what they did: users, sessions and an audit log, in a database.

Passwords are kept as hashes and second factors sealed; a session is kept as the hash of its token.
An entry of the audit log names the digest of the one before it, so that one that is changed or
taken out later is found by whoever has a digest that came after it.

What people who run a service look at: trucks, parcels and links of a company or of all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256

from voile_share.store.protocols import ConflictError
from voile_share.store.schema import Connection, Database, Row, checked_text

__all__ = [
    "AuditLine",
    "BrowserSession",
    "FleetRow",
    "ParcelRow",
    "SQLOverview",
    "SQLPeople",
    "User",
    "UserRole",
    "chained",
]


_USER = (
    "SELECT name, company, role, password, factor, created, disabled, failures, locked, code "
    "FROM users"
)
_NAME = "the user's name"
BEGINNING = bytes(32)
"""What the first entry of an audit log names."""


class UserRole(StrEnum):
    """What somebody who signs in may do."""

    VIEWER = "viewer"
    """Look at one company."""
    DISPATCHER = "dispatcher"
    """And revoke its links."""
    OPERATOR = "operator"
    """Look at all companies, at load and errors, and at the audit log."""


@dataclass(frozen=True, slots=True)
class User:
    """Somebody who signs in."""

    name: str
    company: str | None
    """The number of the company that is seen; None: all, of an operator."""
    role: UserRole
    password: str = field(repr=False)
    """As a hash of argon2id."""
    factor: bytes = field(repr=False)
    """The secret of the second factor, sealed."""
    created: float
    disabled: float | None = None
    failures: int = 0
    """Wrong passwords and codes since the last time that both were right."""
    locked: float = 0.0
    """Until when no attempt counts."""
    code: int = 0
    """The step of the last code that was taken: none is taken twice."""


@dataclass(frozen=True, slots=True)
class BrowserSession:
    """A browser that is signed in."""

    hash: bytes = field(repr=False)
    name: str
    created: float
    seen: float


@dataclass(frozen=True, slots=True)
class AuditLine:
    """One entry of the audit log."""

    number: int
    entry: str
    """As JSON, without private values."""
    digest: bytes
    """Of the entry and the digest before it."""


def chained(before: bytes, entry: str) -> bytes:
    """The digest of an entry after one."""
    return sha256(before + entry.encode()).digest()


class SQLPeople:
    """Users, sessions and the audit log over an engine."""

    _engine: Database

    def add_user(self, user: User) -> None:
        """Add one; raises ``ConflictError`` where there is one of the name."""
        values = (
            checked_text(_NAME, user.name),
            user.company,
            str(user.role),
            user.password,
            user.factor,
            user.created,
        )

        def work(connection: Connection) -> None:
            added = connection.change(
                "INSERT INTO users (name, company, role, password, factor, created) "
                "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                values,
            )
            if not added:
                msg = "there is a user of this name; take another"
                raise ConflictError(msg)

        self._engine.write(work)

    def user(self, name: str) -> User | None:
        """One, disabled or not."""
        if "\0" in name:
            return None
        rows = self._engine.read(f"{_USER} WHERE name = ?", (name,))
        return _user(rows[0]) if rows else None

    def users(self) -> Sequence[User]:
        """All, in the order of creation."""
        return [_user(row) for row in self._engine.read(f"{_USER} ORDER BY seq")]

    def disable_user(self, name: str, now: float) -> bool:
        """Set ``disabled`` where it is not set, and end all sessions; False: there is no such."""

        def work(connection: Connection) -> bool:
            connection.change("DELETE FROM sessions WHERE name = ?", (name,))
            return bool(
                connection.change(
                    "UPDATE users SET disabled = COALESCE(disabled, ?) WHERE name = ?", (now, name)
                )
            )

        return self._engine.write(work)

    def reset_user(self, name: str, password: str, factor: bytes) -> bool:
        """Give another password and factor, enable, and end all sessions; False: no such."""

        def work(connection: Connection) -> bool:
            connection.change("DELETE FROM sessions WHERE name = ?", (name,))
            statement = (
                "UPDATE users SET password = ?, factor = ?, disabled = NULL, failures = 0, "
                "locked = 0, code = 0 WHERE name = ?"
            )
            return bool(connection.change(statement, (password, factor, name)))

        return self._engine.write(work)

    def has_failed(self, name: str, until: float) -> None:
        """One failure more, and no attempt before a time."""
        self._change(
            "UPDATE users SET failures = failures + 1, locked = ? WHERE name = ?", until, name
        )

    def has_entered(self, name: str, code: int, session: BrowserSession) -> bool:
        """Begin a session by a code later than the last one; False where it is not."""

        def work(connection: Connection) -> bool:
            taken = connection.change(
                "UPDATE users SET failures = 0, locked = 0, code = ? WHERE name = ? AND code < ? "
                "AND disabled IS NULL",
                (code, name, code),
            )
            if taken:
                connection.change(
                    "INSERT INTO sessions (hash, name, created, seen) VALUES (?, ?, ?, ?)",
                    (session.hash, session.name, session.created, session.seen),
                )
            return bool(taken)

        return self._engine.write(work)

    def session(self, hash_: bytes) -> BrowserSession | None:
        """The session of a hash."""
        rows = self._engine.read(
            "SELECT hash, name, created, seen FROM sessions WHERE hash = ?", (hash_,)
        )
        return BrowserSession(*rows[0]) if rows else None

    def see_session(self, hash_: bytes, now: float) -> None:
        """A session was used."""
        self._change("UPDATE sessions SET seen = ? WHERE hash = ?", now, hash_)

    def end_session(self, hash_: bytes) -> None:
        """Forget one."""
        self._change("DELETE FROM sessions WHERE hash = ?", hash_)

    def drop_sessions(self, created: float, seen: float) -> int:
        """Forget those that began or were last used before some times."""
        return self._change("DELETE FROM sessions WHERE created < ? OR seen < ?", created, seen)

    def add_audit(self, entry: str) -> AuditLine:
        """Append an entry to the audit log."""
        checked_text("an entry", entry)

        def work(connection: Connection) -> AuditLine:
            if self._engine.locking:  # others could take the same number
                connection.change("LOCK TABLE audit IN EXCLUSIVE MODE")
            rows = connection.rows("SELECT number, digest FROM audit ORDER BY number DESC LIMIT 1")
            number, before = rows[0] if rows else (0, BEGINNING)
            line = AuditLine(number + 1, entry, chained(before, entry))
            connection.change(
                "INSERT INTO audit (number, entry, digest) VALUES (?, ?, ?)",
                (line.number, line.entry, line.digest),
            )
            return line

        return self._engine.write(work)

    def audit(self, before: int, limit: int) -> Sequence[AuditLine]:
        """The last entries before a number, the latest first."""
        rows = self._engine.read(
            "SELECT number, entry, digest FROM audit WHERE number < ? ORDER BY number DESC LIMIT ?",
            (before, limit),
        )
        return [AuditLine(*row) for row in rows]

    def audit_after(self, number: int, limit: int) -> Sequence[AuditLine]:
        """The first entries after a number, in their order."""
        rows = self._engine.read(
            "SELECT number, entry, digest FROM audit WHERE number > ? ORDER BY number LIMIT ?",
            (number, limit),
        )
        return [AuditLine(*row) for row in rows]

    def _change(self, statement: str, *values: object) -> int:
        return self._engine.write(lambda connection: connection.change(statement, values))


def _user(row: Row) -> User:
    return User(row[0], row[1], UserRole(row[2]), *row[3:])


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
