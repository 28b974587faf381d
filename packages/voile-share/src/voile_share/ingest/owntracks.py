"""OwnTracks over HTTP, and its topics and payloads of MQTT.

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
"""

from __future__ import annotations

from collections.abc import Mapping

from voile_share.ingest.fixes import (
    Arrival,
    Decoded,
    Fix,
    Format,
    IngestError,
    MessageFields,
    check_size,
    decoded,
    device_name,
    read_form,
    read_json,
    seconds,
)

__all__ = ["decode_owntracks", "decode_owntracks_mqtt", "device_of_topic"]

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
    asked = dict(read_form(query, arrival.rules))
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


def _payload(body: bytes, arrival: Arrival) -> MessageFields:
    payload = MessageFields(read_json(body, arrival.rules))
    if payload.value("_type") is None:
        raise IngestError("unknown-format", "a payload of OwnTracks has a _type")
    return payload


def _joined(user: str | None, device: str | None) -> str | None:
    """``user/device``, where both are given."""
    return f"{user}/{device}" if user and device else None


def _of_payload(payload: MessageFields) -> object:
    topic = payload.value("topic")
    if isinstance(topic, str):
        return "/".join(_levels(topic)[1:3])
    return payload.value("tid")


def _decoded(device: object, payload: MessageFields, arrival: Arrival) -> Decoded:
    kind = payload.value("_type")
    if kind == "encrypted":
        raise IngestError("encrypted", "remove the encryption key in the app; use https")
    if kind != "location":
        return Decoded(Format.OWNTRACKS)
    return decoded(Format.OWNTRACKS, [payload], lambda one: _fix(device, one), arrival)


def _fix(device: object, payload: MessageFields) -> Fix:
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
