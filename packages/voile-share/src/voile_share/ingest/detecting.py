"""Which format a request is in, its decoder, and what is passed over.

The first character of a body tells more than its content type, which some apps leave out and some
get wrong: JSON begins with { or [, XML with <, NMEA with $ or !, and no form begins so.  A content
type that belongs to none of them (images, multipart, ...) is not looked into.

Phones keep positions in a queue and send the oldest until they are answered by a status below 400:
Traccar Client before 9 every 30 s (traccar-client-android, ``RequestManager``, to which every other
status is an exception, and ``TrackingController``, which reads the same position again), Traccar
Client 9 and others as well (transistorsoft/react-native-background-geolocation, issue 275: until
the server returns 200).  One position that nobody will ever take, such as the oldest of a phone
that was away for eight days, would so hold back all that follow.  Of such a position a device whose
token is right hears that it may go on, and the body of the answer says why nothing was taken.

What somebody should see to is refused all the same: tokens, what is no message or lacks fields, and
files, which people send.  So is a time in the future: it comes, or somebody's clock is put right,
and until then the device keeps the position.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from voile_share.ingest.fixes import (
    BACKFILL,
    Arrival,
    Decoded,
    Format,
    IngestError,
    Rules,
    check_size,
)
from voile_share.ingest.gpx import decode_gpx
from voile_share.ingest.nmea import decode_nmea
from voile_share.ingest.osmand import decode_osmand, is_osmand
from voile_share.ingest.owntracks import decode_owntracks
from voile_share.ingest.traccar import decode_traccar

__all__ = ["Request", "decode", "detect", "passed_over"]

_FORM = "application/x-www-form-urlencoded"
_TEXTS = ("", _FORM, "text/plain", "application/octet-stream")
_JSON = ("application/json", "text/json")
_XML = ("application/gpx+xml", "application/gpx", "application/xml", "text/xml")
_FOR_EVER = frozenset(
    {
        "coordinates-swapped",
        "latitude-out-of-range",
        "longitude-out-of-range",
        "no-fix",
        "position-at-origin",
        "time-too-old",
        "value-out-of-range",
    }
)


@dataclass(frozen=True, slots=True)
class Request:
    """What a device sent over HTTP.  It is private, and shows nothing in ``repr``."""

    content_type: str | None = None
    query: str = field(default="", repr=False)
    """The part of the address after the question mark, still encoded."""
    body: bytes = field(default=b"", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Of these only X-Limit-U and X-Limit-D are read, whatever their case."""


def detect(content_type: str | None, query: str, body: bytes, rules: Rules) -> Format:
    """The format of a request.

    Raises ``IngestError`` where it is too large or of no known format.
    """
    check_size(body, rules)
    kind = (content_type or "").partition(";")[0].strip().lower()
    if kind not in (*_TEXTS, *_JSON, *_XML):
        raise IngestError("unknown-format", "its content type is not one of those taken")
    start = body.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    if start and start in b"{[":
        return Format.OWNTRACKS if b'"_type"' in body else Format.TRACCAR
    if start == b"<":
        return Format.GPX
    if start and start in b"$!":
        return Format.NMEA
    if not start and kind in _JSON and not is_osmand(query, rules):
        return Format.OWNTRACKS  # an app that forgets a friend posts nothing
    if kind in _TEXTS and (is_osmand(query, rules) or b"=" in body):
        return Format.OSMAND
    if not start and is_osmand(query, rules):
        return Format.OSMAND
    raise IngestError("unknown-format", "send OsmAnd, Traccar, OwnTracks, NMEA or GPX")


def decode(request: Request, arrival: Arrival) -> Decoded:
    """What a request says, in whichever format.

    Raises ``IngestError``; ``InputError`` where it is GPX and gpxpy is not installed.
    """
    form = detect(request.content_type, request.query, request.body, arrival.rules)
    match form:
        case Format.OSMAND:
            return decode_osmand(request.query, request.body, arrival)
        case Format.TRACCAR:
            return decode_traccar(request.body, arrival)
        case Format.OWNTRACKS:
            headers = {name.lower(): value for name, value in request.headers.items()}
            return decode_owntracks(headers, request.query, request.body, arrival)
        case Format.NMEA:
            return decode_nmea(request.body, arrival)
        case Format.GPX:
            return decode_gpx(request.body, arrival)


def passed_over(refusal: IngestError, request: Request) -> tuple[str, bytes] | None:
    """Content type and body to answer with status 200; None where it is to be refused."""
    if not refusal.positions or refusal.reason not in _FOR_EVER:
        return None
    form = detect(request.content_type, request.query, request.body, BACKFILL)
    if form is Format.GPX:
        return None
    content_type, body = Decoded(form).reply
    return content_type, body or f"not taken: {refusal.reason}\n".encode()
