"""Who runs a service, and what they did: users, sessions and an audit log, in a database.

Passwords are kept as hashes and second factors sealed; a session is kept as the hash of its token.
An entry of the audit log names the digest of the one before it, so that one that is changed or
taken out later is found by whoever has a digest that came after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256

from voile_share.store.protocols import ConflictError
from voile_share.store.sql import Connection, Database, Row, checked_text

__all__ = ["AuditLine", "BrowserSession", "SQLPeople", "User", "UserRole", "chained"]

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
