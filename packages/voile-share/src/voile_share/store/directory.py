"""The directory in a database: who may do what, what trucks carry, what companies are still told.

An event is put into the outbox once for each hook, whoever notices it how often, and stays there
until it was delivered or given up.  Bodies are dropped then; what stays says that it was told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from voile_share.ingest.fixes import DeviceToken
from voile_share.store.log import save_states
from voile_share.store.protocols import (
    AccessToken,
    ArrivalPast,
    Company,
    ConflictError,
    Device,
    Directory,
    Mail,
    MailBounds,
    Parcel,
    TokenRole,
    TrackingLink,
    Truck,
)
from voile_share.store.schema import Connection, Database, Row, checked_text, marks

__all__ = ["SQLDirectory", "SQLOutbox", "StoredHook", "WaitingMessage"]

# ruff: noqa: D102 - ``Directory`` says what its methods do


_COMPANY = "SELECT company, name, created, closed FROM companies"
_TOKEN = "SELECT hash, role, holder, created, expires, revoked FROM tokens"  # noqa: S105
_TRUCK = "SELECT truck, company, card, secrets, created, retired, own_keys FROM trucks"
_DEVICE = "SELECT device, hash, issued, expires, revoked, truck FROM devices"
_PARCEL = (
    "SELECT parcel, truck, sender, receiver, destination, created, ended, carrier FROM parcels"
)
_FLEET_KEY = "SELECT sealed FROM fleet_keys WHERE company = ? AND ends = ?"
_MAIL = "SELECT truck, message, received, seq FROM mail"
_LINK = (
    "SELECT hash, truck, created, expires, revoked, company, follows_parcel, label, notice "
    "FROM links"
)
_REVOKE_TOKENS = (
    "UPDATE tokens SET revoked = ? WHERE role = ? AND holder = ? "
    "AND (revoked IS NULL OR revoked > ?)"
)

_HASH_BYTES = 32
_NUMBER, _HOLDER = "the company's number", "the holder of a token"
_DEVICE_NAME = "the device's name"
_PROBE, _PROBE_BYTES = b"probe of writing", 65_536


class SQLDirectory(Directory):
    """``Directory`` over an engine."""

    _engine: Database

    def check_writing(self) -> None:
        self._engine.write(_probe)

    def add_company(self, company: Company, token: AccessToken) -> None:
        values = {
            "company": checked_text(_NUMBER, company.company),
            "name": checked_text("the company's name", company.name),
            "created": company.created,
            "closed": company.closed,
        }

        def work(connection: Connection) -> None:
            _insert(connection, "companies", values, "there is a company of this number")
            _insert_token(connection, token)

        self._engine.write(work)

    def company(self, company: str) -> Company | None:
        row = self._row(f"{_COMPANY} WHERE company = ?", checked_text(_NUMBER, company))
        return Company(*row) if row else None

    def companies(self) -> Sequence[Company]:
        return [Company(*row) for row in self._engine.read(f"{_COMPANY} ORDER BY seq")]

    def close_company(self, company: str, now: float) -> None:
        self._change(
            "UPDATE companies SET closed = ? WHERE company = ? AND closed IS NULL",
            now,
            checked_text(_NUMBER, company),
        )

    def add_token(self, token: AccessToken) -> None:
        self._engine.write(lambda connection: _insert_token(connection, token))

    def token(self, hash_: bytes) -> AccessToken | None:
        row = self._row(f"{_TOKEN} WHERE hash = ?", hash_)
        return _token(row) if row else None

    def tokens(self, role: str) -> Sequence[AccessToken]:
        rows = self._engine.read(f"{_TOKEN} WHERE role = ? ORDER BY seq", (str(role),))
        return [_token(row) for row in rows]

    def replace_tokens(self, token: AccessToken, until: float | None = None) -> None:
        end = token.created if until is None else until
        values = (end, str(token.role), checked_text(_HOLDER, token.holder), end)

        def work(connection: Connection) -> None:
            connection.change(_REVOKE_TOKENS, values)
            _insert_token(connection, token)

        self._engine.write(work)

    def revoke_tokens(self, role: str, holder: str, now: float) -> int:
        return self._change(_REVOKE_TOKENS, now, str(role), checked_text(_HOLDER, holder), now)

    def add_truck(self, truck: Truck, token: AccessToken | None = None) -> None:
        values = {
            "truck": truck.truck,
            "company": checked_text(_NUMBER, truck.company),
            "card": truck.card,
            "secrets": truck.secrets,
            "created": truck.created,
            "retired": truck.retired,
            "own_keys": int(truck.own_keys),
        }

        def work(connection: Connection) -> None:
            _insert(connection, "trucks", values, "there is a truck of this number")
            if token is not None:
                _insert_token(connection, token)

        self._engine.write(work)

    def truck(self, truck: bytes) -> Truck | None:
        row = self._row(f"{_TRUCK} WHERE truck = ?", truck)
        return _truck(row) if row else None

    def trucks(self, company: str | None = None) -> Sequence[Truck]:
        if company is None:
            rows = self._engine.read(f"{_TRUCK} ORDER BY seq")
        else:
            values = (checked_text(_NUMBER, company),)
            rows = self._engine.read(f"{_TRUCK} WHERE company = ? ORDER BY seq", values)
        return [_truck(row) for row in rows]

    def retire_truck(self, truck: bytes, now: float) -> None:
        def work(connection: Connection) -> None:
            retired = connection.change(
                "UPDATE trucks SET retired = COALESCE(retired, ?), secrets = NULL WHERE truck = ?",
                (now, truck),
            )
            if retired:
                connection.change(
                    "INSERT INTO states (truck, state) VALUES (?, NULL) "
                    "ON CONFLICT (truck) DO UPDATE SET state = NULL",
                    (truck,),
                )

        self._engine.write(work)

    def add_device(self, device: Device) -> None:
        token = device.token
        values = {
            "hash": token.hash,
            "truck": device.truck,
            "device": checked_text(_DEVICE_NAME, token.device),
            "issued": token.issued,
            "expires": token.expires,
            "revoked": token.revoked,
        }
        problem = "a device has this token; issue another"
        self._engine.write(lambda connection: _insert(connection, "devices", values, problem))

    def device(self, hash_: bytes) -> Device | None:
        row = self._row(f"{_DEVICE} WHERE hash = ?", hash_)
        return _device(row) if row else None

    def devices(self, truck: bytes) -> Sequence[Device]:
        rows = self._engine.read(f"{_DEVICE} WHERE truck = ? ORDER BY seq", (truck,))
        return [_device(row) for row in rows]

    def devices_named(self, company: str, device: str) -> Sequence[Device]:
        rows = self._engine.read(
            f"{_DEVICE} WHERE device = ? "
            "AND truck IN (SELECT truck FROM trucks WHERE company = ?) ORDER BY seq",
            (checked_text(_DEVICE_NAME, device), checked_text(_NUMBER, company)),
        )
        return [_device(row) for row in rows]

    def revoke_device(self, truck: bytes, device: str, now: float) -> int:
        return self._change(
            "UPDATE devices SET revoked = ? WHERE truck = ? AND device = ? AND revoked IS NULL",
            now,
            truck,
            checked_text(_DEVICE_NAME, device),
        )

    def add_parcel(self, parcel: Parcel) -> None:
        values = {
            "truck": parcel.truck,
            "parcel": parcel.parcel,
            "sender": parcel.sender,
            "receiver": parcel.receiver,
            "destination": parcel.destination,
            "created": parcel.created,
            "ended": parcel.ended,
            "carrier": parcel.carrier,
        }
        problem = "the truck carries a parcel of this number; end that first"
        self._engine.write(lambda connection: _insert(connection, "parcels", values, problem))

    def parcels(self, truck: bytes) -> Sequence[Parcel]:
        rows = self._engine.read(
            f"{_PARCEL} WHERE truck = ? AND ended IS NULL ORDER BY seq", (truck,)
        )
        return [Parcel(*row) for row in rows]

    def end_parcel(self, truck: bytes, parcel: bytes, now: float) -> bool:
        ended = self._change(
            "UPDATE parcels SET ended = ?, sender = NULL, receiver = NULL, destination = NULL "
            "WHERE truck = ? AND parcel = ? AND ended IS NULL",
            now,
            truck,
            parcel,
        )
        return ended > 0

    def add_mail(self, mail: Mail, bounds: MailBounds | None = None) -> int | None:
        locking = self._engine.locking
        return self._engine.write(lambda connection: _add_mail(connection, mail, bounds, locking))

    def mail(self, truck: bytes, number: int, limit: int) -> Sequence[Mail]:
        rows = self._engine.read(
            f"{_MAIL} WHERE truck = ? AND seq > ? ORDER BY seq LIMIT ?", (truck, number, limit)
        )
        return [Mail(*row) for row in rows]

    def drop_mail(self, before: float) -> int:
        return self._change("DELETE FROM mail WHERE received < ?", before)

    def add_link(self, link: TrackingLink) -> None:
        values = {
            "hash": link.hash,
            "truck": link.truck,
            "created": link.created,
            "expires": link.expires,
            "revoked": link.revoked,
            "company": checked_text(_NUMBER, link.company),
            "follows_parcel": int(link.follows_parcel),
            "label": link.label,
            "notice": link.notice,
            "mails": 0,
        }
        problem = "there is a link of this number; draw another"
        self._engine.write(lambda connection: _insert(connection, "links", values, problem))

    def link(self, hash_: bytes) -> TrackingLink | None:
        row = self._row(f"{_LINK} WHERE hash = ?", hash_)
        return _link(row) if row else None

    def links(self, truck: bytes) -> Sequence[TrackingLink]:
        rows = self._engine.read(f"{_LINK} WHERE truck = ? ORDER BY seq", (truck,))
        return [_link(row) for row in rows]

    def links_of(self, company: str) -> Sequence[TrackingLink]:
        values = (checked_text(_NUMBER, company),)
        rows = self._engine.read(f"{_LINK} WHERE company = ? ORDER BY seq", values)
        return [_link(row) for row in rows]

    def move_link(self, hash_: bytes, truck: bytes | None, notice: bytes) -> bool:
        moved = self._change(
            "UPDATE links SET truck = ?, notice = ? WHERE hash = ? AND follows_parcel = 1",
            truck,
            notice,
            hash_,
        )
        return moved > 0

    def links_beginning(self, start: bytes) -> Sequence[TrackingLink]:
        first, last = (start.ljust(_HASH_BYTES, end) for end in (b"\0", b"\xff"))
        rows = self._engine.read(f"{_LINK} WHERE hash BETWEEN ? AND ? ORDER BY seq", (first, last))
        return [_link(row) for row in rows]

    def revoke_link(self, hash_: bytes, now: float) -> bool:
        revoked = self._change(
            "UPDATE links SET revoked = COALESCE(revoked, ?) WHERE hash = ?", now, hash_
        )
        return revoked > 0

    def save_states(self, states: Sequence[tuple[bytes, bytes]]) -> None:
        """See ``Directory``; states of retired trucks are not kept."""
        last = dict(states)
        if last:
            self._engine.write(lambda connection: save_states(connection, last.items()))

    def state(self, truck: bytes) -> bytes | None:
        row = self._row("SELECT state FROM states WHERE truck = ?", truck)
        return row[0] if row else None

    def replace_state(self, truck: bytes, before: bytes, after: bytes) -> bool:
        statement = "UPDATE states SET state = ? WHERE truck = ? AND state = ?"
        return bool(self._change(statement, after, truck, before))

    def arrival_past(self, company: str) -> ArrivalPast | None:
        row = self._row(
            "SELECT company, version, secret, past, fitted FROM arrivals WHERE company = ?",
            checked_text(_NUMBER, company),
        )
        return ArrivalPast(*row) if row else None

    def replace_arrival_past(self, past: ArrivalPast) -> bool:
        if past.version == 1:
            added = self._change(
                "INSERT INTO arrivals (version, secret, past, fitted, company) "
                "VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                past.version,
                past.secret,
                past.past,
                past.fitted,
                checked_text(_NUMBER, past.company),
            )
            return added > 0
        changed = self._change(
            "UPDATE arrivals SET version = ?, past = ?, fitted = ? "
            "WHERE company = ? AND version = ? AND secret = ?",
            past.version,
            past.past,
            past.fitted,
            checked_text(_NUMBER, past.company),
            past.version - 1,
            past.secret,
        )
        return changed > 0

    def fleet_key(self, company: str, ends: float) -> bytes | None:
        row = self._row(_FLEET_KEY, checked_text(_NUMBER, company), ends)
        return row[0] if row else None

    def keep_fleet_key(self, company: str, ends: float, sealed: bytes) -> bytes:
        values = checked_text(_NUMBER, company), ends

        def work(connection: Connection) -> bytes:
            connection.change(
                "INSERT INTO fleet_keys (company, ends, sealed) VALUES (?, ?, ?) "
                "ON CONFLICT DO NOTHING",
                (*values, sealed),
            )
            kept: bytes = connection.rows(_FLEET_KEY, values)[0][0]
            return kept

        return self._engine.write(work)

    def drop_fleet_keys(self, now: float) -> int:
        return self._change("DELETE FROM fleet_keys WHERE ends <= ?", now)

    def forget_arrivals(self, company: str) -> bool:
        values = checked_text(_NUMBER, company)
        return self._change("DELETE FROM arrivals WHERE company = ?", values) > 0

    def foreign_writes(self) -> int | None:
        return self._engine.foreign_writes()

    def _row(self, statement: str, *values: object) -> Row | None:
        rows = self._engine.read(statement, values)
        return rows[0] if rows else None

    def _change(self, statement: str, *values: object) -> int:
        return self._engine.write(lambda connection: connection.change(statement, values))


def _token(row: Row) -> AccessToken:
    return AccessToken(row[0], TokenRole(row[1]), *row[2:])


def _truck(row: Row) -> Truck:
    truck, company, card, secrets, created, retired, own_keys = row
    return Truck(truck, company, card, secrets, created, retired, bool(own_keys))


def _device(row: Row) -> Device:
    return Device(DeviceToken(*row[:-1]), row[-1])


def _link(row: Row) -> TrackingLink:
    hash_, truck, created, expires, revoked, company, follows_parcel, label, notice = row
    times = created, expires, revoked
    return TrackingLink(hash_, truck, *times, company, bool(follows_parcel), label, notice)


def _insert(connection: Connection, table: str, values: Mapping[str, object], problem: str) -> None:
    """Add a row; raises ``ConflictError`` where one like it is there."""
    statement = (
        f"INSERT INTO {table} ({', '.join(values)}) "
        f"VALUES ({marks(len(values))}) ON CONFLICT DO NOTHING"
    )
    if not connection.change(statement, tuple(values.values())):
        raise ConflictError(problem)


def _insert_token(connection: Connection, token: AccessToken) -> None:
    values = {
        "hash": token.hash,
        "role": str(token.role),
        "holder": checked_text(_HOLDER, token.holder),
        "created": token.created,
        "expires": token.expires,
        "revoked": token.revoked,
    }
    _insert(connection, "tokens", values, "there is such a token; draw another")


def _add_mail(
    connection: Connection, mail: Mail, bounds: MailBounds | None, locking: str
) -> int | None:
    """Number a submission while its truck is locked.

    So none that comes later has a smaller number than one that the truck may have fetched.
    """
    if not connection.rows(f"SELECT 1 FROM trucks WHERE truck = ?{locking}", (mail.truck,)):
        msg = "there is no truck of this number"
        raise ConflictError(msg)
    digest = sha256(mail.message).digest()
    known = connection.rows(
        "SELECT seq FROM mail WHERE truck = ? AND digest = ?", (mail.truck, digest)
    )
    if known:
        return int(known[0][0])
    if bounds is not None and not _counted(connection, mail.truck, bounds):
        return None
    ((number,),) = connection.rows(
        "INSERT INTO mail (truck, digest, message, received) VALUES (?, ?, ?, ?) RETURNING seq",
        (mail.truck, digest, mail.message, mail.received),
    )
    return int(number)


def _counted(connection: Connection, truck: bytes, bounds: MailBounds) -> bool:
    """Whether there is room for one submission more; it is counted then."""
    ((waiting,),) = connection.rows("SELECT COUNT(*) FROM mail WHERE truck = ?", (truck,))
    if waiting >= bounds.most_of_truck or bounds.link is None:
        return bool(waiting < bounds.most_of_truck)
    return bool(
        connection.change(
            "UPDATE links SET mails = mails + 1 WHERE hash = ? AND mails < ?",
            (bounds.link, bounds.most_of_link),
        )
    )


def _probe(connection: Connection) -> None:
    """As much as a report of many parcels, of a truck that cannot be; it comes and goes at once."""
    connection.change("DELETE FROM heads WHERE truck = ?", (_PROBE,))
    connection.change(
        "INSERT INTO heads (truck, slot, number, digest) VALUES (?, -1, -1, ?)",
        (_PROBE, bytes(_PROBE_BYTES)),
    )
    connection.change("DELETE FROM heads WHERE truck = ?", (_PROBE,))


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
