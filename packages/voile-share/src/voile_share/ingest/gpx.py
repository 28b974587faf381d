"""GPX 1.0 and 1.1: the tracks of a file, for trips that were driven before.

What it reads: https://www.topografix.com/GPX/1/1/ (and /1/0/), with the library gpxpy (an extra:
``pip install voile-share``).  Of each point of each track: ``lat``, ``lon``, ``time``, ``ele``
(m), ``speed`` (m/s) and ``course`` (degrees), which stand in the point itself in version 1.0 and in
its extensions in version 1.1, under whatever prefix (Garmin's TrackPointExtension, version 2).
Routes and waypoints were planned, not driven, and are not read; neither is ``hdop``, which is no
length.

The file is anybody's, so it is walked through once by expat before the library sees it:

- A document type is refused as it begins: no entity is ever declared, so none can grow (the
  "billion laughs") or name a file.  This is what defusedxml does, without the dependency.
- So are nesting, elements, points and namespaces beyond the rules.
- What is not well-formed is refused here, because gpxpy writes such a document to its log.
- gpxpy looks for namespaces with an expression that takes quadratic time in the number of times
  that ``xmlns`` or ``schemaLocation`` stands in the file; both are few.
- It registers every prefix declared between double quotes for the whole process, for good; so
  the quotes are made single ones, which mean the same.

The points name no device; it is that of the token they came with.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from importlib import import_module
from typing import Any
from xml.parsers import expat

from voile_base.errors import InputError
from voile_share.ingest.fixes import (
    Arrival,
    Decoded,
    Fix,
    Format,
    IngestError,
    Rules,
    check_size,
    decimal,
    device_name,
    quietly,
    text_of,
)

__all__ = ["decode_gpx"]

_ELEMENTS_PER_FIX = 12
_MOST_NAMESPACES = 32
_MOST_LOCATIONS = 4
_PREFIX = re.compile(r"""(\sxmlns:[^\s=]{1,64}\s?=\s?)"([^"'<]{0,512})\"""")


def decode_gpx(body: bytes, arrival: Arrival) -> Decoded:
    """The points of all tracks of a file, in their order.

    Raises ``IngestError``; ``InputError`` where gpxpy is not installed.
    """
    check_size(body, arrival.rules)
    text = text_of(body)
    refusal = _walk(text, arrival.rules)
    if refusal is not None:
        raise IngestError(refusal)
    points = _points(_PREFIX.sub(r"\1'\2'", text))
    if points is None:
        raise IngestError("not-gpx", "a point of it cannot be read")
    return Format.GPX.decode(points, lambda point: _fix(point, arrival), arrival)


class _StopError(Exception):
    """Why the walk ended."""


def _walk(text: str, rules: Rules) -> str | None:
    """Why the library must not see a document, or None where it may."""
    if text.count("xmlns") > _MOST_NAMESPACES or text.count("schemaLocation") > _MOST_LOCATIONS:
        return "not-gpx"
    walker = _Walker(rules)
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartDoctypeDeclHandler = walker.document_type
    parser.StartElementHandler = walker.start
    parser.EndElementHandler = walker.end
    try:
        parser.Parse(text, True)
    except _StopError as stop:
        return str(stop)
    except expat.ExpatError:
        return "not-gpx"
    return None


class _Walker:
    """Counts what a document holds, and stops at what is too much."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._depth = self._elements = self._points = 0

    def document_type(self, *_: object) -> None:
        raise _StopError("document-type")

    def start(self, name: str, _: object) -> None:
        """An element begins; ``name`` is its namespace, a space, and its local name."""
        local = name.rpartition(" ")[2]
        self._depth += 1
        self._elements += 1
        self._points += local == "trkpt"
        if self._elements == 1 and local != "gpx":
            raise _StopError("not-gpx")
        if self._depth > self._rules.depth:
            raise _StopError("nested-too-deeply")
        most = self._rules.fixes
        if self._points > most or self._elements > _ELEMENTS_PER_FIX * most:
            raise _StopError("too-many-fixes")

    def end(self, _: str) -> None:
        self._depth -= 1


def _points(text: str) -> list[Any] | None:
    """The points of all tracks, as gpxpy reads them; None where it cannot.

    gpxpy names no closed list of what it raises for a coordinate that is no number.
    """
    parse: Callable[[str], Any] = _library().parse
    read = quietly(lambda: parse(text), Exception)
    return None if read is None else [point for point, *_ in read.walk()]


def _library() -> Any:
    try:
        return import_module("gpxpy")
    except ImportError:
        msg = "reading GPX needs gpxpy; install it with: pip install voile-share"
        raise InputError(msg) from None


def _fix(point: Any, arrival: Arrival) -> Fix:
    time: datetime | None = point.time
    if time is None:
        raise IngestError("time-unreadable", "a point of a track needs a time")
    moment = time if time.tzinfo else time.replace(tzinfo=UTC)
    return Fix(
        device=device_name(arrival.device),
        latitude=point.latitude,
        longitude=point.longitude,
        time=moment.timestamp(),
        speed=_measured(point, "speed"),
        course=_measured(point, "course"),
        altitude=point.elevation,
    )


def _measured(point: object, name: str) -> float | None:
    """A number of the point itself, else of its extensions."""
    own: float | None = getattr(point, name, None)
    if own is not None:
        return own
    return next((decimal(text, name) for text in _said(point, name)), None)


def _said(point: Any, name: str) -> Iterator[str]:
    for extension in point.extensions:
        for element in extension.iter():
            if str(element.tag).rpartition("}")[2] == name and element.text:
                yield element.text
