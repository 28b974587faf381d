"""Sessions of the operator's page, and what a browser must bring.

A session is 160 random bits in a cookie that scripts cannot read and other sites cannot send; the
store keeps its hash.  It ends after 30 minutes without a request, and after 12 hours.  What changes
something must come from a page of ours: it brings a token that follows from the session, and the
browser says that no other site has made it ask.
"""

from __future__ import annotations

import asyncio
import hmac
import time
from dataclasses import dataclass
from hashlib import sha256

from anyio import CapacityLimiter, to_thread
from fastapi import Request, Response

from voile_share.service.context import ServiceContext
from voile_share.service.operator.users import Users
from voile_share.service.problems import ProblemError
from voile_share.store import User, UserRole

__all__ = ["HEADERS", "Gate", "Visitor"]

_IDLE, _LONGEST = 1_800.0, 43_200.0
_OWN_SITE = frozenset({"same-origin", "none"})
_AT_ONCE = 1
"""Passwords that are looked at: each takes 19 MB and a core, and strangers may send them."""
_REFUSED_SECONDS = 0.4
"""From the beginning to the answer of whoever is not let in."""
_MOST_WAITING = 8
_RETRY_SECONDS = 5.0

HEADERS = {
    "Content-Security-Policy": "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "connect-src 'self'",
            "img-src 'self'",
            "base-uri 'none'",
            "form-action 'self'",
            "frame-ancestors 'none'",
        )
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "geolocation=(), camera=(), microphone=(), payment=()",
    "Referrer-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "X-Robots-Tag": "noindex",
}


@dataclass(frozen=True)
class Visitor:
    """Somebody who is signed in."""

    user: User
    token: str

    @property
    def form_token(self) -> str:
        """What forms of theirs bring."""
        return sha256(b"voile form" + self.token.encode()).hexdigest()

    @property
    def company(self) -> str | None:
        """What they see; None: all companies."""
        return self.user.company

    @property
    def is_operator(self) -> bool:
        """Whether they see companies, load and the audit log."""
        return self.user.role is UserRole.OPERATOR

    @property
    def may_revoke(self) -> bool:
        """Whether they may close links."""
        return self.user.role is not UserRole.VIEWER


class Gate:
    """Lets people in and out."""

    def __init__(self, context: ServiceContext, users: Users) -> None:
        self._context = context
        self._users = users
        self._encrypted = context.options.is_encrypted
        self._name = "__Host-voile-operator" if self._encrypted else "voile-operator"
        self._hashing = CapacityLimiter(_AT_ONCE)

    async def visitor(self, request: Request) -> Visitor | None:
        """Who asks; raises ``ProblemError`` where they ask too often."""
        token = request.cookies.get(self._name, "")
        if not token:
            return None
        self._context.count("company", token)
        user = await self._context.do(lambda: self._users.of_session(token, _IDLE, _LONGEST))
        return None if user is None else Visitor(user, token)

    async def enter(self, request: Request, name: str, password: str, code: str) -> str | None:
        """The token of a new session; None where something is wrong.

        Raises ``ProblemError`` for another site, where an address was wrong too often, and where
        too many are trying at once.
        """
        self.check_site(request)
        if self._hashing.statistics().tasks_waiting >= _MOST_WAITING:
            raise ProblemError("busy", "too many are signing in", retry=_RETRY_SECONDS)
        began = time.monotonic()
        token = await to_thread.run_sync(
            lambda: self._users.enter(name, password, code), limiter=self._hashing
        )
        if token is None:
            # What a wrong password of a known name writes takes time, which would tell the name.
            await asyncio.sleep(max(0.0, began + _REFUSED_SECONDS - time.monotonic()))
            self._context.refused(request, "token-refused")
        return token

    def remember(self, response: Response, token: str) -> None:
        """Give the browser its session."""
        response.set_cookie(
            self._name,
            token,
            max_age=int(_LONGEST),
            path="/",
            secure=self._encrypted,
            httponly=True,
            samesite="strict",
        )

    def forget(self, response: Response) -> None:
        """Take it back."""
        response.delete_cookie(
            self._name, path="/", secure=self._encrypted, httponly=True, samesite="strict"
        )

    async def leave(self, visitor: Visitor) -> None:
        """End a session."""
        await self._context.do(lambda: self._users.leave(visitor.token, visitor.user))

    def check_form(self, request: Request, visitor: Visitor, token: str) -> None:
        """Raise ``ProblemError`` for what does not come from a page of theirs."""
        self.check_site(request)
        if not hmac.compare_digest(token.encode(), visitor.form_token.encode()):
            raise ProblemError("foreign-site")

    def check_site(self, request: Request) -> None:
        """Raise ``ProblemError`` for what another site has made a browser ask."""
        site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
        host = request.headers.get("host", "")
        own = {self._context.options.address, f"http://{host}", f"https://{host}"}
        if (site is not None and site not in _OWN_SITE) or (
            origin is not None and origin not in own
        ):
            raise ProblemError("foreign-site")
