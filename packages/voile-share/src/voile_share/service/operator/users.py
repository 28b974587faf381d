"""Who may sign in: a name, a password (argon2id) and a code of six digits (TOTP, RFC 6238).

Both are always asked for, and it is not said which was wrong.  Each code opens once.  After five
failures in a row a name is locked for half a minute, and for twice as long after each further one,
to an hour; what is typed meanwhile is not looked at.  A name that is unknown, disabled or locked
costs as much work (and ``Gate`` answers all refusals after the same time).
Passwords are drawn, of 100 bits, and shown once.

The audit log: who did what and when, in entries that name the one before them.

An entry holds the name of somebody who signs in, and numbers of companies and ids of links, which
open nothing; never a position, a password, a code, a token or an address of the network.  Whoever
changes the database can write a log of his own: keep the last digest elsewhere, such as by `voile
share audit --json` once a day.
"""

from __future__ import annotations

import base64
import hmac
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import pyotp
from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from voile_base.errors import InputError
from voile_base.randomness import Randomness
from voile_share.ingest import issue, token_hash
from voile_share.platform import Vault
from voile_share.platform.core import AccessError, printable
from voile_share.platform.rotation import factor_context
from voile_share.store import BrowserSession, User, UserRole
from voile_share.store.people import BEGINNING, AuditLine, chained

__all__ = ["Journal", "NewCredentials", "Users"]


_AT_ONCE = 1_000
COMMAND_LINE = "command line"
"""Who did what nobody signed in for."""


@dataclass(frozen=True)
class _Done:
    """An entry."""

    number: int
    at: float
    who: str
    what: str
    about: str
    company: str | None
    """The number of the company that it is about; None: all."""
    digest: bytes


class Journal:
    """The audit log of a store."""

    def __init__(self, store: Any, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock

    def write(self, who: str, what: str, about: str = "", company: str | None = None) -> None:
        """Append an entry; raises ``StoreError``."""
        entry = {"at": self._clock(), "who": who, "what": what, "about": about, "of": company}
        self._store.add_audit(json.dumps(entry, ensure_ascii=False))

    def last(self, limit: int, before: int = 2**62) -> list[_Done]:
        """The last entries, the latest first."""
        return [_done(line) for line in self._store.audit(before, limit)]

    def all(self) -> Iterator[_Done]:
        """All in their order; raises ``InputError`` at one that does not follow the one before."""
        number, digest = 0, BEGINNING
        while lines := self._store.audit_after(number, _AT_ONCE):
            for line in lines:
                digest = chained(digest, line.entry)
                if (line.number, line.digest) != (number + 1, digest):
                    msg = (
                        f"entry {number + 1} of the audit log is not what was written: it, or one "
                        "before it, was changed or taken out"
                    )
                    raise InputError(msg)
                number = line.number
                yield _done(line)


def _done(line: AuditLine) -> _Done:
    held = json.loads(line.entry)
    return _Done(
        line.number, held["at"], held["who"], held["what"], held["about"], held["of"], line.digest
    )


_MOST_NAME = 64
_PASSWORD = 20
_STEP = 30
_FREE_FAILURES = 5
_LOCKED_SECONDS, _MOST_LOCKED = 30.0, 3_600.0
_ISSUER = "Voile share"


@dataclass(frozen=True)
class NewCredentials:
    """What somebody is given to sign in with; shown once."""

    user: User
    password: str
    uri: str
    """Of the second factor: for an app that makes codes (``otpauth:``)."""


class Users:
    """Those of a service."""

    def __init__(self, store: Any, vault: Vault, clock: Callable[[], float]) -> None:
        self._store = store
        self._vault = vault
        self._clock = clock
        self.journal = Journal(store, clock)

    def add(self, name: str, role: UserRole, company: str | None, who: str) -> NewCredentials:
        """Let somebody in; raises ``InputError``."""
        try:
            name = printable(name, _MOST_NAME, "name-unfit")
        except AccessError as error:
            raise InputError(str(error)) from None
        if (role is UserRole.OPERATOR) is not (company is None):
            msg = "an operator sees all companies; a viewer or dispatcher is of one: name it"
            raise InputError(msg)
        held = None if company is None else self._store.company(company)
        if company is not None and (held is None or held.closed is not None):
            msg = f"there is no open company {company}"
            raise InputError(msg)
        admitted = self._admitted(name, role, company)
        self._store.add_user(admitted.user)
        self.journal.write(who, "user added", f"{name} ({role})", company)
        return admitted

    def reset(self, name: str, who: str) -> NewCredentials:
        """Give another password and second factor, and end all sessions; raises ``InputError``."""
        user = self._user(name)
        admitted = self._admitted(user.name, user.role, user.company)
        self._store.reset_user(user.name, admitted.user.password, admitted.user.factor)
        self.journal.write(who, "user reset", name, user.company)
        return admitted

    def disable(self, name: str, who: str) -> None:
        """Let somebody in no more, and end all sessions; raises ``InputError``."""
        user = self._user(name)
        self._store.disable_user(user.name, self._clock())
        self.journal.write(who, "user disabled", name, user.company)

    def all(self) -> Sequence[User]:
        """Everybody, disabled or not, in the order of their admission."""
        users: Sequence[User] = self._store.users()
        return users

    def _user(self, name: str) -> User:
        user: User | None = self._store.user(name)
        if user is None:
            msg = f"there is no user {name!r}: voile share user list"
            raise InputError(msg)
        return user

    def _admitted(self, name: str, role: UserRole, company: str | None) -> NewCredentials:
        password = issue("", 0.0)[0][:_PASSWORD]
        secret = Randomness.secure().key("factor").secret[:20]
        sealed = self._vault.seal(factor_context(name), secret)
        user = User(name, company, role, _hasher().hash(password), sealed, self._clock())
        return NewCredentials(
            user, password, _totp(secret).provisioning_uri(name=name, issuer_name=_ISSUER)
        )

    def enter(self, name: str, password: str, code: str) -> str | None:
        """The token of a new session; None where anything is wrong.  Takes some 50 ms."""
        now, user = self._clock(), self._store.user(name)
        if user is None or user.disabled is not None or not self._is_served(user):
            _matches(_nobody(), password)
            return None
        if now < user.locked:
            _matches(_nobody(), password)
            return None
        step = self._step(user, code, now) if _matches(user.password, password) else None
        if step is not None:
            token = issue("", 0.0)[0]
            if self._store.has_entered(
                name, step, BrowserSession(token_hash(token), name, now, now)
            ):
                self.journal.write(name, "signed in", company=user.company)
                return token
        self._store.has_failed(name, now + _lock(user.failures + 1))
        self.journal.write(name, "was refused", company=user.company)
        return None

    def _is_served(self, user: User) -> bool:
        if user.company is None:
            return True
        company = self._store.company(user.company)
        return company is not None and company.closed is None

    def _step(self, user: User, code: str, now: float) -> int | None:
        """The step of a code, the last, this or the next one; None for a wrong one."""
        totp = _totp(self._vault.unseal(factor_context(user.name), user.factor))
        here = int(now) // _STEP
        typed = code.replace(" ", "").encode()
        right = [
            step
            for step in (here - 1, here, here + 1)
            if hmac.compare_digest(totp.at(step * _STEP).encode(), typed)
        ]
        return right[0] if right and right[0] > user.code else None

    def of_session(self, token: str, idle: float, longest: float) -> User | None:
        """Whose session a token is; None where it has ended."""
        now, hash_ = self._clock(), token_hash(token)
        session = self._store.session(hash_)
        if session is None or now - session.seen > idle or now - session.created > longest:
            return None
        user: User | None = self._store.user(session.name)
        if user is None or user.disabled is not None or not self._is_served(user):
            return None
        if now - session.seen > _STEP:
            self._store.see_session(hash_, now)
        return user

    def leave(self, token: str, user: User) -> None:
        """End a session."""
        self._store.end_session(token_hash(token))
        self.journal.write(user.name, "signed out", company=user.company)


def _lock(failures: int) -> float:
    over = failures - _FREE_FAILURES
    return 0.0 if over < 0 else min(_LOCKED_SECONDS * 2.0 ** min(over, 10), _MOST_LOCKED)


def _totp(secret: bytes) -> pyotp.TOTP:
    return pyotp.TOTP(base64.b32encode(secret).decode(), interval=_STEP)


@cache
def _hasher() -> PasswordHasher:
    return PasswordHasher(time_cost=2, memory_cost=19_456, parallelism=1)


@cache
def _nobody() -> str:
    """What the password of a name that is unknown is compared with."""
    return _hasher().hash("")


def _matches(hashed: str, password: str) -> bool:
    try:
        return _hasher().verify(hashed, password)
    except (VerificationError, InvalidHashError):
        return False
