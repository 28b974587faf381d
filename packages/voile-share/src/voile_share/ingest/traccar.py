"""JSON of Traccar Client 9, and of a Traccar server that forwards what trackers sent to it.

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
"""

from __future__ import annotations

from collections.abc import Iterator

from voile_share.ingest.fixes import (
    KNOT,
    Arrival,
    Decoded,
    Fix,
    Format,
    IngestError,
    MessageFields,
    decoded,
    device_name,
    read_json,
    seconds,
)

__all__ = ["decode_traccar"]


def decode_traccar(body: bytes, arrival: Arrival) -> Decoded:
    """The positions of one message or of a batch.

    Raises ``IngestError``.
    """
    message = read_json(body, arrival.rules)
    if not isinstance(message, dict | list) or not message:
        raise IngestError("unknown-format", "a message is an object with device_id and location")
    messages = message if isinstance(message, list) else [message]
    if isinstance(message, dict) and "position" in message and "device" in message:
        return decoded(Format.TRACCAR, [MessageFields(message)], _forwarded, arrival)
    return decoded(Format.TRACCAR, _locations(messages), _fix, arrival)


def _locations(messages: list[object]) -> Iterator[tuple[object, MessageFields]]:
    """The device and the fields of each location, batches opened."""
    for message in messages:
        fields = MessageFields(message)
        inside = fields.value("location")
        for location in inside if isinstance(inside, list) else [inside]:
            yield fields.value("device_id"), MessageFields(location)


def _fix(item: tuple[object, MessageFields]) -> Fix:
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


def _forwarded(message: MessageFields) -> Fix:
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
