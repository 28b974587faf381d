"""The outermost layer: headers that every answer has, and what becomes of a fault.

An exception that nobody expected may quote a position or a token, so neither the caller nor a log
ever sees its message: the caller gets a problem with status 500, and the operator is told the kind
of the exception and the line that raised it.
"""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from voile.sharing.service.notices import Notices
from voile.sharing.service.problems import ProblemError, response_of

__all__ = ["OutermostMiddleware"]

_HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cache-control": "no-store",
}
_STRICT_TRANSPORT = "max-age=31536000"


class OutermostMiddleware:
    """Middleware of ASGI."""

    def __init__(self, app: ASGIApp, notices: Notices, *, is_encrypted: bool) -> None:
        """``is_encrypted``: whether people use https."""
        self._app = app
        self._notices = notices
        headers = dict(_HEADERS)
        if is_encrypted:
            headers["strict-transport-security"] = _STRICT_TRANSPORT
        self._headers = [(name.encode(), value.encode()) for name, value in headers.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand on a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False

        async def send_on(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                given = message["headers"] = list(message.get("headers", ()))
                names = {name for name, _ in given}
                given += [one for one in self._headers if one[0] not in names]
            await send(message)

        try:
            await self._app(scope, receive, send_on)
        except Exception as error:
            self._notices.fault(error)
            if not started:
                await response_of(ProblemError("fault"))(scope, receive, send_on)
