"""Errors as callers see them: RFC 9457, with a reason for programs.

    {"type": "/problems/link-expired", "title": "The link has expired", "status": 410,
     "detail": "...", "reason": "link-expired"}

A reason keeps its meaning once published.  Nothing of a request is ever in an answer: neither
bodies nor tokens, positions or names; only where in it something is wrong.

What the operator is told: sentences without positions, tokens or anything else of a request.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from types import MappingProxyType

from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from voile_base.errors import place_of_fault
from voile_base.values import Json
from voile_share.ingest import REASONS, IngestError
from voile_share.platform import REFUSALS, AccessError, BusyError
from voile_share.protocol import Reason, RejectedError
from voile_share.store import ConflictError, StoreError

__all__ = [
    "COMMON",
    "TITLES",
    "Notices",
    "ProblemDetails",
    "ProblemError",
    "document_of",
    "documented",
    "status_of",
]


_QUIET_SECONDS = 60.0
_MOST_KINDS = 1_000
_MOST_RECENT = 50


class Notices:
    """Tells the operator, and says the same again after a minute at the earliest."""

    def __init__(
        self, tell: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """``tell`` is called from any thread."""
        self._tell = tell
        self._clock = clock
        self._said: dict[str, float] = {}
        self._lock = Lock()
        self._recent: deque[tuple[float, str]] = deque(maxlen=_MOST_RECENT)

    def say(self, message: str) -> None:
        """Tell something; where that cannot be written, the next time is the first."""
        with self._lock:
            now = self._clock()
            if now - self._said.get(message, -_QUIET_SECONDS) < _QUIET_SECONDS:
                return
            if len(self._said) >= _MOST_KINDS:
                self._said.clear()
            self._said[message] = now
            self._recent.append((time.time(), message))
        try:
            self._tell(message)
        except OSError:
            # The log has no room, or its reader is gone: callers are answered all the same.
            with self._lock:
                self._said.pop(message, None)

    def recent(self) -> Sequence[tuple[float, str]]:
        """When what was told last, the latest first; seconds since 1970."""
        with self._lock:
            return list(reversed(self._recent))

    def news(self, message: str) -> None:
        """Tell how things stand now, however lately that was so before."""
        with self._lock:
            self._said.pop(message, None)
        self.say(message)

    def fault(self, error: BaseException) -> None:
        """Tell of an exception that nobody expected: its kind and its place alone."""
        place = place_of_fault(error) if error.__traceback__ else type(error).__name__
        self.say(f"a fault of Voile: {place}")


MEDIA_TYPE = "application/problem+json"

_REJECTIONS: Mapping[Reason, str] = MappingProxyType(
    {
        Reason.TRUNCATED: "The message ends before its last field",
        Reason.TRAILING: "Something follows the last field of the message",
        Reason.VERSION: "The message is of another version of the protocol",
        Reason.KIND: "Another message is awaited here",
        Reason.SUITE: "The message is of another suite",
        Reason.FIELD: "A field has a value that no honest party writes",
        Reason.POINT: "A point of the message is not in the group",
        Reason.TAMPERED: "A ciphertext does not open",
        Reason.SIGNATURE: "The signature is not that of the truck or the party",
        Reason.NONCE: "The message answers another run of key establishment",
        Reason.IDENTITY: "The message is meant for another party",
        Reason.REPLAYED: "The slot is not later than the last one",
        Reason.FUTURE: "The slot has not begun",
        Reason.FOREIGN: "The message is of another truck",
        Reason.EXPIRED: "The message is of a day for which there is no key",
        Reason.UNEXPECTED: "The message names a parcel that is not carried",
        Reason.DISAGREEMENT: "Sender and receiver submit different keys",
        Reason.CHAIN: "The record does not follow the one before it",
    }
)

_OWN: Mapping[str, str] = MappingProxyType(
    {
        "busy": "Service Unavailable: too much is waiting",
        "conflict": "Conflict",
        "fault": "Internal Server Error",
        "foreign-site": "The request does not come from a page of this service",
        "headers-too-large": "Request Header Fields Too Large",
        "invalid-request": "Unprocessable Content",
        "method-not-allowed": "Method Not Allowed",
        "not-http": "Bad Request",
        "not-found": "Not Found",
        "slot-taken": "Another report of this slot, or a later one, was published",
        "store-unavailable": "Service Unavailable: the store cannot do its work now",
        "token-missing": "There is no token",
        "too-many-feeds": "Too many feeds are open",
        "too-many-requests": "Too Many Requests",
        "too-slow": "Request Timeout",
        "type-unfit": "Unsupported Media Type",
    }
)

TITLES: Mapping[str, str] = MappingProxyType(
    {**REASONS, **REFUSALS, **{r.value: title for r, title in _REJECTIONS.items()}, **_OWN}
)
"""What each reason means, in words."""

_STATUS = {
    400: ("not-http",),
    401: ("token-refused", "token-missing", "link-unknown"),
    403: ("company-closed", "foreign", "foreign-site"),
    404: ("not-found", "truck-unknown", "device-unknown", "parcel-unknown", "hook-unknown"),
    405: ("method-not-allowed",),
    408: ("too-slow",),
    409: (
        *("conflict", "card-taken", "parcel-carried", "own-keys", "truck-retired"),
        *("chain", "replayed", "not-in-the-chain", "slot-taken", "truck-ahead"),
    ),
    410: ("link-expired", "link-revoked"),
    413: ("too-large", "too-many-fixes"),
    415: ("unknown-format", "type-unfit"),
    431: ("headers-too-large",),
    429: ("too-many-requests", "too-many-feeds", "mail-box-full"),
    500: ("fault",),
    503: ("busy", "store-unavailable"),
}
_STATUS_OF = {reason: status for status, reasons in _STATUS.items() for reason in reasons}
_OTHERWISE = 422

COMMON = (
    *("invalid-request", "too-large", "too-slow", "too-many-requests"),
    *("busy", "store-unavailable", "fault", "not-http", "headers-too-large"),
)
"""What may come of any call."""

_RETRY_SECONDS = {"busy": 1.0, "store-unavailable": 5.0, "mail-box-full": 60.0}
_AUTHENTICATE = 'Bearer realm="voile"'


class Mistake(BaseModel):
    """One thing that is wrong in a request."""

    where: str = Field(description="Part and field of the request.", examples=["body.hours"])
    what: str = Field(examples=["Input should be less than or equal to 744"])


class ProblemDetails(BaseModel):
    """A problem of RFC 9457."""

    type: str = Field(description="/problems/ and the reason.", examples=["/problems/too-large"])
    title: str = Field(description="What the reason means.")
    status: int = Field(description="The status of the answer.")
    reason: str = Field(description="For programs; it keeps its meaning.")
    detail: str | None = Field(None, description="What to do, or where it is wrong.")
    errors: list[Mistake] | None = Field(None, description="Of invalid-request alone.")


class ProblemError(Exception):
    """A call ends in this problem; ``reason`` is one of ``TITLES``."""

    def __init__(
        self,
        reason: str,
        detail: str | None = None,
        *,
        retry: float | None = None,
        errors: Sequence[Mistake] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """``retry``: the seconds after which one may try again."""
        super().__init__(reason)
        self.reason = reason
        self.detail = detail
        self.retry = _RETRY_SECONDS.get(reason) if retry is None else retry
        self.errors = list(errors)
        self.headers = dict(headers or {})

    def response(self) -> JSONResponse:
        """The answer."""
        content = document_of(self.reason)
        status = int(content["status"])
        if self.detail:
            content["detail"] = self.detail
        if self.errors:
            content["errors"] = [mistake.model_dump() for mistake in self.errors]
        headers = {"cache-control": "no-store", **self.headers}
        if self.retry is not None:
            headers["retry-after"] = str(max(1, math.ceil(self.retry)))
        if status == 401:
            headers.setdefault("www-authenticate", _AUTHENTICATE)
        return JSONResponse(content, status, headers, MEDIA_TYPE)

    @staticmethod
    def of(error: Exception) -> ProblemError:
        """What becomes of an error of Voile that a request may bring about."""
        match error:
            case IngestError() | AccessError():
                return ProblemError(error.reason, str(error))
            case RejectedError():
                return ProblemError(error.reason.value, str(error))
            case StoreError():
                return ProblemError("store-unavailable", "try again in a moment")
            case ConflictError():
                return ProblemError("conflict")
            case _:
                assert isinstance(error, BusyError)
                return ProblemError("busy", "try again in a moment")


def status_of(reason: str) -> int:
    """The status that goes with a reason."""
    return _STATUS_OF.get(reason, _OTHERWISE)


def document_of(reason: str) -> Json:
    """A problem as it is sent, without details."""
    return {
        "type": f"/problems/{reason}",
        "title": TITLES[reason],
        "status": status_of(reason),
        "reason": reason,
    }


def documented(*reasons: str) -> dict[int | str, Json]:
    """What the OpenAPI description says of these problems, by status."""
    grouped: dict[int, list[str]] = defaultdict(list)
    for reason in dict.fromkeys(reasons):
        grouped[status_of(reason)].append(reason)
    return {status: _description(status, those) for status, those in sorted(grouped.items())}


def _description(status: int, reasons: Sequence[str]) -> Json:
    examples = {
        reason: {"summary": TITLES[reason], "value": document_of(reason)} for reason in reasons
    }
    schema = {"$ref": "#/components/schemas/Problem"}
    said: Json = {
        "description": "; ".join(TITLES[reason] for reason in reasons),
        "content": {MEDIA_TYPE: {"schema": schema, "examples": examples}},
    }
    if status in {429, 503}:
        said["headers"] = {
            "Retry-After": {"description": "Seconds.", "schema": {"type": "integer"}}
        }
    return said
