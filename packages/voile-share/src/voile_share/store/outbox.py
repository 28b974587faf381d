"""Where companies are told of events, and what they are still to be told, in a database.

An event is put into the outbox once for each hook, whoever notices it how often, and stays there
until it was delivered or given up.  Bodies are dropped then; what stays says that it was told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from voile_share.store.protocols import ConflictError
from voile_share.store.schema import Connection, Database

__all__ = ["SQLOutbox", "StoredHook", "WaitingMessage"]

_HOOK = "SELECT hook, company, kind, target, secret, created, ended FROM hooks"


@dataclass(frozen=True, slots=True)
class StoredHook:
    """An address that a company is told at."""

    hook: str
    """Its number."""
    company: str
    kind: str
    """``web`` or ``mail``."""
    target: bytes | None = field(repr=False)
    """The address, sealed; None where it has ended."""
    secret: bytes | None = field(repr=False)
    """By which requests are signed, or the code of an address of mail, sealed; None: ended."""
    created: float
    ended: float | None = None


@dataclass(frozen=True, slots=True)
class WaitingMessage:
    """A message that waits for its delivery."""

    number: int
    hook: str
    body: bytes = field(repr=False)
    created: float
    tries: int


class SQLOutbox:
    """Hooks and the outbox over an engine."""

    _engine: Database

    def add_hook(self, hook: StoredHook, most: int) -> None:
        """Add one; raises ``ConflictError`` where its company has ``most`` already."""

        def work(connection: Connection) -> None:
            locking = self._engine.locking
            connection.rows(f"SELECT 1 FROM companies WHERE company = ?{locking}", (hook.company,))
            ((there,),) = connection.rows(
                "SELECT COUNT(*) FROM hooks WHERE company = ? AND ended IS NULL", (hook.company,)
            )
            if there >= most:
                msg = f"a company has {most} hooks at most"
                raise ConflictError(msg)
            connection.change(
                "INSERT INTO hooks (hook, company, kind, target, secret, created) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (hook.hook, hook.company, hook.kind, hook.target, hook.secret, hook.created),
            )

        self._engine.write(work)

    def hooks(self, company: str) -> Sequence[StoredHook]:
        """Those of a company that have not ended, in the order of creation."""
        rows = self._engine.read(
            f"{_HOOK} WHERE company = ? AND ended IS NULL ORDER BY seq", (company,)
        )
        return [StoredHook(*row) for row in rows]

    def hook(self, hook: str) -> StoredHook | None:
        """One, ended or not."""
        rows = self._engine.read(f"{_HOOK} WHERE hook = ?", (hook,))
        return StoredHook(*rows[0]) if rows else None

    def replace_hook_secret(self, hook: str, before: bytes, after: bytes) -> None:
        """Where it is still what it was."""
        self._engine.write(
            lambda connection: connection.change(
                "UPDATE hooks SET secret = ? WHERE hook = ? AND secret = ?", (after, hook, before)
            )
        )

    def end_hook(self, company: str, hook: str, now: float) -> bool:
        """End one of a company with all that waits for it; False where there is none."""

        def work(connection: Connection) -> bool:
            ended = connection.change(
                "UPDATE hooks SET ended = ?, target = NULL, secret = NULL "
                "WHERE company = ? AND hook = ? AND ended IS NULL",
                (now, company, hook),
            )
            if ended:
                connection.change(
                    "UPDATE outbox SET ended = ?, body = NULL WHERE hook = ? AND ended IS NULL",
                    (now, hook),
                )
            return bool(ended)

        return self._engine.write(work)

    def tell(self, company: str, subject: bytes, body: bytes, now: float) -> int:
        """Let all hooks of a company be told of a subject, once; how many will be."""
        return self._engine.write(
            lambda connection: connection.change(
                "INSERT INTO outbox (hook, subject, body, created, due) "
                "SELECT hook, ?, ?, ?, ? FROM hooks WHERE company = ? AND ended IS NULL "
                "ON CONFLICT DO NOTHING",
                (subject, body, now, now, company),
            )
        )

    def due(self, now: float, limit: int) -> Sequence[WaitingMessage]:
        """What is to be delivered now, the longest waiting first."""
        rows = self._engine.read(
            "SELECT seq, hook, body, created, tries FROM outbox "
            "WHERE ended IS NULL AND due <= ? ORDER BY due LIMIT ?",
            (now, limit),
        )
        return [WaitingMessage(*row) for row in rows]

    def claim(self, number: int, tries: int, until: float) -> bool:
        """Keep a message from other processes until a time; False: another was faster."""
        changed = self._engine.write(
            lambda connection: connection.change(
                "UPDATE outbox SET tries = ?, due = ? "
                "WHERE seq = ? AND tries = ? AND ended IS NULL",
                (tries + 1, until, number, tries),
            )
        )
        return bool(changed)

    def put_off(self, number: int, until: float) -> None:
        """Try again at a time."""
        self._engine.write(
            lambda connection: connection.change(
                "UPDATE outbox SET due = ? WHERE seq = ? AND ended IS NULL", (until, number)
            )
        )

    def told(self, number: int, now: float) -> None:
        """It was delivered, or is given up."""
        self._engine.write(
            lambda connection: connection.change(
                "UPDATE outbox SET ended = ?, body = NULL WHERE seq = ?", (now, number)
            )
        )

    def waiting(self) -> int:
        """How many messages wait."""
        ((count,),) = self._engine.read("SELECT COUNT(*) FROM outbox WHERE ended IS NULL")
        return int(count)

    def drop_told(self, before: float) -> int:
        """Forget what was delivered or given up before a time."""
        return self._engine.write(
            lambda connection: connection.change("DELETE FROM outbox WHERE ended < ?", (before,))
        )
