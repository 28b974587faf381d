"""Which format a request is in, and its decoder.

The first character of a body tells more than its content type, which some apps leave out and some
get wrong: JSON begins with { or [, XML with <, NMEA with $ or !, and no form begins so.  A content
type that belongs to none of them (images, multipart, ...) is not looked into.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from voile.sharing.ingest.arrivals import Arrival, Decoded, Format, check_size
from voile.sharing.ingest.errors import IngestError
from voile.sharing.ingest.fixes import Rules
from voile.sharing.ingest.gpx import decode_gpx
from voile.sharing.ingest.nmea import decode_nmea
from voile.sharing.ingest.osmand import decode_osmand, is_osmand
from voile.sharing.ingest.owntracks import decode_owntracks
from voile.sharing.ingest.traccar import decode_traccar

__all__ = ["Request", "decode", "detect"]

_FORM = "application/x-www-form-urlencoded"
_TEXTS = ("", _FORM, "text/plain", "application/octet-stream")
_JSON = ("application/json", "text/json")
_XML = ("application/gpx+xml", "application/gpx", "application/xml", "text/xml")


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
