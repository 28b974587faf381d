"""The formats of phones and trackers: which one a request is in, and what it says.

Which format
------------
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

OsmAnd: fields of a query, of a form, or of both
------------------------------------------------
What it reads: https://www.traccar.org/osmand/ and, for what that page leaves out, the server that
made the protocol common (``OsmAndProtocolDecoder`` of traccar/traccar).  Senders: the trip
recording of OsmAnd, Traccar Client before version 9 (query) and from version 10 (form; see issue
214 of traccar/traccar-client), GPSLogger and others with an address that one writes oneself.

    id, deviceid        the device                          lat, lon     degrees
    location            "lat,lon", instead of the two       timestamp    s, ms, or ISO 8601
    speed               knots                               altitude     metres
    bearing, heading    degrees                             accuracy     metres
    batt                percent                             valid        true, false, 1, 0

Other fields (hdop, charge, cell, wifi, ...) are not read.

Departures from that server: a field that is read and stands there twice is refused, since which of
the two holds is anybody's guess; numbers are milliseconds from 1e11 on, not from 2^31, so that
seconds stay seconds after 2038; a text without a zone is in UTC, not in the zone of the server; a
position that is not valid is refused, not stored.  As there, a message without a time is of now:
devices that send none keep none.

OwnTracks, over HTTP and MQTT
-----------------------------
What it reads: the OwnTracks booklet, https://owntracks.org/booklet/tech/json/ (payloads, topics)
and https://owntracks.org/booklet/tech/http/ (X-Limit-U and X-Limit-D, the reply ``[]``, and empty
bodies, which an app posts where a friend was deleted and which say nothing).

    _type    location: read; encrypted: refused; any other: taken, and says no position
    lat, lon degrees        tst  seconds       acc, alt  metres
    vel      km/h           cog  degrees       batt      percent

The device is ``user/device``: of the headers, else of ``u`` and ``d`` in the query, else of the
topic ``owntracks/user/device`` (over MQTT always of the topic), else what ``tid`` says.

An encrypted payload is refused, since its key would have to be shared with this service; a
connection that is encrypted (TLS) protects it on its way.

JSON of Traccar Client 9, and of a Traccar server that forwards
---------------------------------------------------------------
The app writes the format of the library that it locates itself with.

What it reads: https://www.traccar.org/osmand/ (JSON), and for batches ``batchSync`` of
flutter_background_geolocation (https://pub.dev/packages/flutter_background_geolocation), which
sends an array where otherwise one location stands.

    {"device_id": ..., "location": {
        "timestamp": ISO 8601,
        "coords": {"latitude", "longitude", "accuracy" (m), "speed" (m/s), "heading", "altitude"},
        "battery": {"level": 0 to 1}, "is_moving": ..., "event": ..., "extras": ...}}

A whole message may itself stand in an array.  Below zero a speed, heading or battery is unknown.
A server forwards (``forward.type = json``, https://www.traccar.org/forward/) a position at a time,
whichever of its 200 protocols the tracker spoke, in the names of its API
(https://www.traccar.org/api-reference/):

    {"position": {"fixTime": ISO 8601, "valid", "latitude", "longitude", "accuracy" (m, 0: unknown),
                  "speed" (knots), "course", "altitude", "attributes": {"batteryLevel": percent}},
     "device": {"uniqueId": ...}}

The rest (motion, activity, odometer, geofences) is not read: a publisher of positions has no use
for what a driver was doing.

Lines RMC of NMEA 0183
----------------------
What it reads: RMC as the gpsd project describes it (https://gpsd.gitlab.io/gpsd/NMEA.html) and as
receivers implement it (u-blox, ZED-F9P Interface Description, section RMC).

    $GPRMC,hhmmss.ss,A,ddmm.mm,N,dddmm.mm,E,knots,degrees,ddmmyy,variation,E,mode,status*checksum

- The checksum, the exclusive or of all characters between $ and *, must be there and right.
- Status V, and the modes N (not valid), S (simulator) and M (typed in), are refused: no fix.
- A year of two digits is in the century that brings the date nearest to our clock.
- The navigational status, the last field since NMEA 4.1, is not read: receivers that do not
  provide it write V.
- Any talker is taken: GP, GL, GA, GB, ... (one system each), GN (several), II and IN (a ship's
  instruments); but P begins sentences of makers, such as Garmin's PGRMC, which is no RMC.
- Other sentences (GGA, GSV, ...) say nothing here.

The lines name no device; it is that of the token they came with.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import reduce
from operator import xor
from urllib.parse import parse_qsl

from voile_share.ingest.fixes import (
    BACKFILL,
    KNOT,
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
    seconds,
    text_of,
)
from voile_share.ingest.gpx import decode_gpx

__all__ = [
    "Request",
    "checksum",
    "decode_nmea",
    "decode_osmand",
    "decode_owntracks",
    "decode_owntracks_mqtt",
    "decode_traccar",
    "detect",
    "device_of_topic",
    "passed_over",
]

_POSITION = frozenset({"lat", "lon", "location"})
_DEVICE = frozenset({"id", "deviceid"})
_TELLING = _POSITION | _DEVICE
_READ = _POSITION | _DEVICE | frozenset({"timestamp", "speed", "bearing", "heading"})
_READ |= frozenset({"altitude", "accuracy", "batt", "valid"})
_VALID = frozenset({"true", "1"})


# The quantifier gives nothing back and the closing quote may be missing, so one pass suffices.
_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*+"?', re.DOTALL)
_NO_BRACKETS = re.compile(r"[^\[\]{}]+")


def decode_osmand(query: str, body: bytes, arrival: Arrival) -> Decoded:
    """The one position of a query and a form, read as if they were one.

    Raises ``IngestError``.
    """
    fields = _read_fields(query, body, arrival.rules)
    return Format.OSMAND.decode([fields], lambda one: _osmand_fix(one, arrival), arrival)


class _MessageFields:
    """The named values of one message, or of one part of it.

    What is null, or an empty text, is absent.  Names in refusals are those that we ask for.
    """

    def __init__(self, values: object) -> None:
        """``values`` that are no object of JSON, and no form, have no fields."""
        self._values: Mapping[str, object] = values if isinstance(values, dict) else {}

    def value(self, name: str) -> object:
        """Any value, or None."""
        found = self._values.get(name)
        return None if found == "" else found

    def first(self, *names: str) -> object:
        """The value that is there under one of several names; two that differ are refused."""
        found = [value for value in map(self.value, names) if value is not None]
        if any(value != found[0] for value in found[1:]):
            raise IngestError("duplicate-field", " and ".join(names))
        return found[0] if found else None

    def inner(self, name: str) -> _MessageFields:
        """The fields of a part; none where it is absent."""
        return _MessageFields(self.value(name))

    def number(self, name: str) -> float:
        """A number that must be there."""
        found = self.optional(name)
        if found is None:
            raise IngestError("field-missing", name)
        return found

    def optional(self, *names: str) -> float | None:
        """A number under one of several names."""
        return decimal(self.first(*names), names[0])

    def scaled(self, name: str, unit: float) -> float | None:
        """A number times its unit; what is unknown stays below zero."""
        found = self.optional(name)
        return None if found is None else found * unit


def _read_form(text: str, rules: Rules) -> list[tuple[str, str]]:
    """The names and values of a query or a form, in their order.

    Raises ``IngestError`` where there are too many, or one of them is not UTF-8.
    """
    if not text:
        return []
    if text.count("&") >= rules.fields:
        raise IngestError("too-many-fields", f"at most {rules.fields} are taken")
    pairs = quietly(
        lambda: parse_qsl(text, keep_blank_values=True, errors="strict"), UnicodeDecodeError
    )
    if pairs is None:
        raise IngestError("not-utf-8", "a field of the query or form")
    return pairs


class _TwiceError(Exception):
    """A name stands twice in one object."""


class _NoNumberError(Exception):
    """NaN or infinity."""


def _read_json(body: bytes, rules: Rules) -> object:
    """The value of a body.

    Raises ``IngestError`` where it is too large, not UTF-8, nested too deeply, not JSON, or where
    an object has a name twice.  Cost: linear in the body, whatever it holds.
    """
    check_size(body, rules)
    text = text_of(body)
    _check_depth(text, rules.depth)
    refusal = None
    value: object = None
    try:
        value = json.loads(text, object_pairs_hook=_one_each, parse_constant=_no_number)
    except _TwiceError:
        refusal = "duplicate-field"
    except _NoNumberError:
        refusal = "not-a-number"
    except ValueError:  # not JSON, or a number of more digits than Python reads
        refusal = "not-json"
    if refusal is not None:
        raise IngestError(refusal)
    return value


def _check_depth(text: str, most: int) -> None:
    """Refuse deep nesting before the reader, which calls itself once a level, meets it."""
    depth = 0
    for bracket in _NO_BRACKETS.sub("", _STRINGS.sub("", text)):
        depth += 1 if bracket in "[{" else -1
        if depth > most:
            raise IngestError("nested-too-deeply", f"at most {most} levels are taken")


def _one_each(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _TwiceError
    return found


def _no_number(_: str) -> object:
    raise _NoNumberError


def _is_osmand(query: str, rules: Rules) -> bool:
    """Whether a query tells a position or a device, as one of this protocol does."""
    check_size(query, rules)
    return any(name in _TELLING for name, _ in _read_form(query, rules))


def _read_fields(query: str, body: bytes, rules: Rules) -> _MessageFields:
    """The fields of this protocol in a query and a form; each stands there once."""
    check_size(query, rules)
    check_size(body, rules)
    found: dict[str, str] = {}
    for name, value in (*_read_form(query, rules), *_read_form(text_of(body).strip(), rules)):
        if name in _READ:
            if name in found:
                raise IngestError("duplicate-field", name)
            found[name] = value
    return _MessageFields(found)


def _osmand_fix(fields: _MessageFields, arrival: Arrival) -> Fix:
    valid = fields.value("valid")
    if valid is not None and str(valid).lower() not in _VALID:
        raise IngestError("no-fix", "valid is not true")
    latitude, longitude = _position(fields)
    time = seconds(fields.value("timestamp"), "timestamp")
    return Fix(
        device=device_name(fields.first("id", "deviceid")),
        latitude=latitude,
        longitude=longitude,
        time=arrival.now if time is None else time,
        speed=fields.scaled("speed", KNOT),
        course=fields.optional("bearing", "heading"),
        accuracy=fields.optional("accuracy"),
        altitude=fields.optional("altitude"),
        battery=fields.scaled("batt", 0.01),
    )


def _position(fields: _MessageFields) -> tuple[float, float]:
    both = fields.value("location")
    if both is None:
        return fields.number("lat"), fields.number("lon")
    if fields.value("lat") is not None or fields.value("lon") is not None:
        raise IngestError("duplicate-field", "location and lat, lon")
    parts = [decimal(part, "location") for part in str(both).split(",")[:3]]
    if len(parts) != 2 or parts[0] is None or parts[1] is None:
        raise IngestError("not-a-number", "location must be a latitude, a comma and a longitude")
    return parts[0], parts[1]


_KILOMETRE_PER_HOUR = 1 / 3.6
_LONGEST_TOPIC = 300


def decode_owntracks(
    headers: Mapping[str, str], query: str, body: bytes, arrival: Arrival
) -> Decoded:
    """What an app posted; the names of ``headers`` are in lower case.

    Raises ``IngestError``.
    """
    check_size(query, arrival.rules)
    check_size(body, arrival.rules)
    if not body.strip():
        return Decoded(Format.OWNTRACKS)
    asked = dict(_read_form(query, arrival.rules))
    payload = _payload(body, arrival)
    device = (
        _joined(headers.get("x-limit-u"), headers.get("x-limit-d"))
        or _joined(asked.get("u"), asked.get("d"))
        or _of_payload(payload)
    )
    return _decoded(device, payload, arrival)


def decode_owntracks_mqtt(topic: str, payload: bytes, arrival: Arrival) -> Decoded:
    """What an app published under a topic; what lies below ``owntracks/user/device`` says nothing.

    Raises ``IngestError``.
    """
    check_size(payload, arrival.rules)
    levels = _levels(topic)
    if len(levels) > 3 or not payload.strip():
        return Decoded(Format.OWNTRACKS)
    return _decoded("/".join(levels[1:]), _payload(payload, arrival), arrival)


def device_of_topic(topic: str) -> str:
    """The device, ``user/device``, whose topic it is; raises ``IngestError``."""
    return device_name("/".join(_levels(topic)[1:3]))


def _levels(topic: str) -> list[str]:
    """The levels of the topic of a device, or of one below it."""
    levels = topic.split("/") if len(topic) <= _LONGEST_TOPIC else []
    named = len(levels) >= 3 and levels[0] == "owntracks" and all(levels)
    # The wildcards of subscriptions are no part of a name (MQTT 3.1.1, section 4.7.1).
    if not named or any(mark in topic for mark in "+#") or not topic.isprintable():
        raise IngestError("topic-unfit", "a device publishes to owntracks/USER/DEVICE")
    return levels


def _payload(body: bytes, arrival: Arrival) -> _MessageFields:
    payload = _MessageFields(_read_json(body, arrival.rules))
    if payload.value("_type") is None:
        raise IngestError("unknown-format", "a payload of OwnTracks has a _type")
    return payload


def _joined(user: str | None, device: str | None) -> str | None:
    """``user/device``, where both are given."""
    return f"{user}/{device}" if user and device else None


def _of_payload(payload: _MessageFields) -> object:
    topic = payload.value("topic")
    if isinstance(topic, str):
        return "/".join(_levels(topic)[1:3])
    return payload.value("tid")


def _decoded(device: object, payload: _MessageFields, arrival: Arrival) -> Decoded:
    kind = payload.value("_type")
    if kind == "encrypted":
        raise IngestError("encrypted", "remove the encryption key in the app; use https")
    if kind != "location":
        return Decoded(Format.OWNTRACKS)
    return Format.OWNTRACKS.decode([payload], lambda one: _owntracks_fix(device, one), arrival)


def _owntracks_fix(device: object, payload: _MessageFields) -> Fix:
    time = seconds(payload.value("tst"), "tst")
    if time is None:
        raise IngestError("field-missing", "tst")
    return Fix(
        device=device_name(device),
        latitude=payload.number("lat"),
        longitude=payload.number("lon"),
        time=time,
        speed=payload.scaled("vel", _KILOMETRE_PER_HOUR),
        course=payload.optional("cog"),
        accuracy=payload.optional("acc"),
        altitude=payload.optional("alt"),
        battery=payload.scaled("batt", 0.01),
    )


def decode_traccar(body: bytes, arrival: Arrival) -> Decoded:
    """The positions of one message or of a batch.

    Raises ``IngestError``.
    """
    message = _read_json(body, arrival.rules)
    if not isinstance(message, dict | list) or not message:
        raise IngestError("unknown-format", "a message is an object with device_id and location")
    messages = message if isinstance(message, list) else [message]
    if isinstance(message, dict) and "position" in message and "device" in message:
        return Format.TRACCAR.decode([_MessageFields(message)], _forwarded, arrival)
    return Format.TRACCAR.decode(_locations(messages), _traccar_fix, arrival)


def _locations(messages: list[object]) -> Iterator[tuple[object, _MessageFields]]:
    """The device and the fields of each location, batches opened."""
    for message in messages:
        fields = _MessageFields(message)
        inside = fields.value("location")
        for location in inside if isinstance(inside, list) else [inside]:
            yield fields.value("device_id"), _MessageFields(location)


def _traccar_fix(item: tuple[object, _MessageFields]) -> Fix:
    device, location = item
    coordinates = location.inner("coords")
    time = seconds(location.value("timestamp"), "timestamp")
    if time is None:
        raise IngestError("field-missing", "timestamp")
    return Fix(
        device=device_name(device),
        latitude=coordinates.number("latitude"),
        longitude=coordinates.number("longitude"),
        time=time,
        speed=coordinates.optional("speed"),
        course=coordinates.optional("heading"),
        accuracy=coordinates.optional("accuracy"),
        altitude=coordinates.optional("altitude"),
        battery=location.inner("battery").optional("level"),
    )


def _forwarded(message: _MessageFields) -> Fix:
    position = message.inner("position")
    if position.value("valid") is False:
        raise IngestError("no-fix", "the tracker had none")
    time = seconds(position.value("fixTime"), "fixTime")
    if time is None:
        raise IngestError("field-missing", "fixTime")
    return Fix(
        device=device_name(message.inner("device").value("uniqueId")),
        latitude=position.number("latitude"),
        longitude=position.number("longitude"),
        time=time,
        speed=position.scaled("speed", KNOT),
        course=position.optional("course"),
        accuracy=position.optional("accuracy") or None,
        altitude=position.optional("altitude"),
        battery=position.inner("attributes").scaled("batteryLevel", 0.01),
    )


_LONGEST = 255
_LINE = re.compile(r"[$!](?P<said>[\x20-\x29\x2b-\x7e]*)(?:\*(?P<sum>[0-9A-Fa-f]{2}))?")
_RMC = re.compile(r"[A-OQ-Z][A-Z]RMC")
_OTHER = re.compile(r"(?P<name>[A-Z][A-Z0-9]{2,})(,|$)")
_DATE = re.compile(r"(\d\d)(\d\d)(\d\d)", re.ASCII)
_CLOCK = re.compile(r"(\d\d)(\d\d)(\d\d(?:\.\d{0,9})?)", re.ASCII)
_LATITUDE = re.compile(r"(\d\d)(\d\d(?:\.\d{0,12})?)", re.ASCII)
_LONGITUDE = re.compile(r"(\d\d\d)(\d\d(?:\.\d{0,12})?)", re.ASCII)
_NO_FIX = frozenset("NSM")


def decode_nmea(body: bytes, arrival: Arrival) -> Decoded:
    """The positions of the lines RMC of a body, in their order; other lines say nothing.

    Raises ``IngestError``; a body without a single line of NMEA 0183 is refused.
    """
    check_size(body, arrival.rules)
    lines = [line for line in map(str.strip, text_of(body).splitlines()) if line]
    if not lines:
        raise IngestError("not-nmea")
    items = [line for line in lines if not _is_other(line)]
    return Format.NMEA.decode(items, lambda line: _nmea_fix(line, arrival), arrival)


def checksum(said: str) -> str:
    """Two hexadecimal digits for what stands between $ and *, in ASCII."""
    return f"{reduce(xor, said.encode('ascii'), 0):02X}"


def _is_other(line: str) -> bool:
    """Whether a line is a whole sentence of NMEA 0183 that is not RMC."""
    found = _LINE.fullmatch(line[: _LONGEST + 1])
    name = None if found is None else _OTHER.match(found["said"])
    return name is not None and not _RMC.fullmatch(name["name"])


def _nmea_fix(line: str, arrival: Arrival) -> Fix:
    fields = _fields_of(line)
    status, mode = fields[2], fields[12]
    if status != "A" or mode in _NO_FIX:
        raise IngestError("no-fix", "the receiver warns, or does not measure its position")
    return Fix(
        device=device_name(arrival.device),
        latitude=_degrees(_LATITUDE, fields[3], fields[4], "NS"),
        longitude=_degrees(_LONGITUDE, fields[5], fields[6], "EW"),
        time=_time(fields[9], fields[1], arrival.now),
        speed=_scaled(fields[7], "speed", KNOT),
        course=_scaled(fields[8], "course", 1),
    )


def _fields_of(line: str) -> list[str]:
    """The fields of a line RMC whose checksum is right; those at its end that are absent empty."""
    found = _LINE.fullmatch(line) if len(line) <= _LONGEST else None
    if found is None or not _RMC.match(found["said"]):
        raise IngestError("not-nmea")
    if found["sum"] is None or found["sum"].upper() != checksum(found["said"]):
        raise IngestError("checksum-wrong", "it must be there, and right")
    fields = [field.strip() for field in found["said"].split(",")]
    if not 10 <= len(fields) <= 14 or not _RMC.fullmatch(fields[0]):
        raise IngestError("not-nmea", "a line RMC has 9 to 13 fields")
    return fields + [""] * (14 - len(fields))


def _scaled(text: str, name: str, unit: float) -> float | None:
    number = decimal(text or None, name)
    return None if number is None else number * unit


def _degrees(form: re.Pattern[str], text: str, side: str, sides: str) -> float:
    """Degrees of degrees and minutes; the second of ``sides`` is the negative one."""
    name = "latitude" if sides == "NS" else "longitude"
    if not text or not side:
        raise IngestError("field-missing", name)
    found = form.fullmatch(text)
    if found is None or len(side) != 1 or side not in sides or float(found[2]) >= 60:
        raise IngestError("not-a-number", f"the {name} in degrees and minutes")
    size = int(found[1]) + float(found[2]) / 60
    return -size if side == sides[1] else size


def _time(date: str, clock: str, now: float) -> float:
    if not date or not clock:
        raise IngestError("field-missing", "date or time")
    days, parts = _DATE.fullmatch(date), _CLOCK.fullmatch(clock)
    # 60 is a leap second: the clock of 1970 shows the next second twice.
    if days is None or parts is None or int(parts[1]) > 23 or int(parts[2]) > 59:
        raise IngestError("time-unreadable", "date or time")
    if float(parts[3]) >= 61:
        raise IngestError("time-unreadable", "date or time")
    midnights = (_midnight(century + int(days[3]), days) for century in (1900, 2000, 2100))
    possible = [midnight for midnight in midnights if midnight is not None]
    if not possible:
        raise IngestError("time-unreadable", "date or time")
    midnight = min(possible, key=lambda moment: abs(moment - now))
    return midnight + int(parts[1]) * 3600 + int(parts[2]) * 60 + float(parts[3])


def _midnight(year: int, days: re.Match[str]) -> float | None:
    return quietly(
        lambda: datetime(year, int(days[2]), int(days[1]), tzinfo=UTC).timestamp(), ValueError
    )


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

    def decode(self, arrival: Arrival) -> Decoded:
        """What a request says, in whichever format.

        Raises ``IngestError``; ``InputError`` where it is GPX and gpxpy is not installed.
        """
        form = detect(self.content_type, self.query, self.body, arrival.rules)
        match form:
            case Format.OSMAND:
                return decode_osmand(self.query, self.body, arrival)
            case Format.TRACCAR:
                return decode_traccar(self.body, arrival)
            case Format.OWNTRACKS:
                headers = {name.lower(): value for name, value in self.headers.items()}
                return decode_owntracks(headers, self.query, self.body, arrival)
            case Format.NMEA:
                return decode_nmea(self.body, arrival)
            case Format.GPX:
                return decode_gpx(self.body, arrival)


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
    if not start and kind in _JSON and not _is_osmand(query, rules):
        return Format.OWNTRACKS  # an app that forgets a friend posts nothing
    if kind in _TEXTS and (_is_osmand(query, rules) or b"=" in body):
        return Format.OSMAND
    if not start and _is_osmand(query, rules):
        return Format.OSMAND
    raise IngestError("unknown-format", "send OsmAnd, Traccar, OwnTracks, NMEA or GPX")


def passed_over(refusal: IngestError, request: Request) -> tuple[str, bytes] | None:
    """Content type and body to answer with status 200; None where it is to be refused."""
    if not refusal.positions or refusal.reason not in _FOR_EVER:
        return None
    form = detect(request.content_type, request.query, request.body, BACKFILL)
    if form is Format.GPX:
        return None
    content_type, body = Decoded(form).reply
    return content_type, body or f"not taken: {refusal.reason}\n".encode()
