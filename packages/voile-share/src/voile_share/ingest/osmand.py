"""The OsmAnd protocol: fields of a query, of a form, or of both.

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
"""

from __future__ import annotations

from voile_share.ingest.fixes import (
    KNOT,
    Arrival,
    Decoded,
    Fix,
    Format,
    IngestError,
    MessageFields,
    Rules,
    check_size,
    decimal,
    decoded,
    device_name,
    read_form,
    seconds,
    text_of,
)

__all__ = ["decode_osmand", "is_osmand"]

_POSITION = frozenset({"lat", "lon", "location"})
_DEVICE = frozenset({"id", "deviceid"})
_TELLING = _POSITION | _DEVICE
_READ = _POSITION | _DEVICE | frozenset({"timestamp", "speed", "bearing", "heading"})
_READ |= frozenset({"altitude", "accuracy", "batt", "valid"})
_VALID = frozenset({"true", "1"})


def decode_osmand(query: str, body: bytes, arrival: Arrival) -> Decoded:
    """The one position of a query and a form, read as if they were one.

    Raises ``IngestError``.
    """
    fields = _read_fields(query, body, arrival.rules)
    return decoded(Format.OSMAND, [fields], lambda one: _fix(one, arrival), arrival)


def is_osmand(query: str, rules: Rules) -> bool:
    """Whether a query tells a position or a device, as one of this protocol does."""
    check_size(query, rules)
    return any(name in _TELLING for name, _ in read_form(query, rules))


def _read_fields(query: str, body: bytes, rules: Rules) -> MessageFields:
    """The fields of this protocol in a query and a form; each stands there once."""
    check_size(query, rules)
    check_size(body, rules)
    found: dict[str, str] = {}
    for name, value in (*read_form(query, rules), *read_form(text_of(body).strip(), rules)):
        if name in _READ:
            if name in found:
                raise IngestError("duplicate-field", name)
            found[name] = value
    return MessageFields(found)


def _fix(fields: MessageFields, arrival: Arrival) -> Fix:
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


def _position(fields: MessageFields) -> tuple[float, float]:
    both = fields.value("location")
    if both is None:
        return fields.number("lat"), fields.number("lon")
    if fields.value("lat") is not None or fields.value("lon") is not None:
        raise IngestError("duplicate-field", "location and lat, lon")
    parts = [decimal(part, "location") for part in str(both).split(",")[:3]]
    if len(parts) != 2 or parts[0] is None or parts[1] is None:
        raise IngestError("not-a-number", "location must be a latitude, a comma and a longitude")
    return parts[0], parts[1]
