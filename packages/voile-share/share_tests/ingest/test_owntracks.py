"""OwnTracks, over HTTP and as published over MQTT."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given

from share_tests.ingest.messages import ARRIVAL, FIXES, NOW, as_owntracks, close
from voile_share.ingest.fixes import Decoded, Fix, Format, IngestError
from voile_share.ingest.formats import decode_owntracks, decode_owntracks_mqtt

SENT = {
    "_type": "location",
    "BSSID": "b0:00:00:00:00:00",
    "acc": 12,
    "alt": 4,
    "batt": 71,
    "bs": 1,
    "cog": 270,
    "conn": "m",
    "created_at": int(NOW) - 1,
    "lat": 51.9,
    "lon": 4.4,
    "m": 2,
    "t": "t",
    "tid": "t7",
    "topic": "owntracks/fleet/truck-7",
    "tst": int(NOW) - 3,
    "vac": 3,
    "vel": 72,
}
READ = Fix("fleet/truck-7", 51.9, 4.4, NOW - 3, 20.0, 270.0, 12.0, 4.0, 0.71)
HEADERS = {"x-limit-u": "fleet", "x-limit-d": "truck-9"}


def decode(
    payload: object, headers: dict[str, str] | None = None, query: str = "", topic: str = ""
) -> Decoded:
    """Over MQTT where there is a topic, else over HTTP."""
    body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    if topic:
        return decode_owntracks_mqtt(topic, body, ARRIVAL)
    return decode_owntracks(headers or {}, query, body, ARRIVAL)


def reason(payload: object, topic: str = "") -> str:
    with pytest.raises(IngestError) as caught:
        decode(payload, topic=topic)
    return caught.value.reason


@given(FIXES)
def test_what_a_phone_writes_is_read(fix: Fix) -> None:
    """The same over HTTP and MQTT; only the name of the device comes from elsewhere."""
    payload = as_owntracks(fix)
    (posted,) = decode(payload).fixes
    (published,) = decode(payload, topic="owntracks/fleet/truck-7").fixes
    assert close(posted, fix)
    assert published == replace(posted, device="fleet/truck-7")


def test_a_message_of_the_app_is_read_and_answered() -> None:
    """km/h become m/s and percent parts; the reply is an empty array."""
    decoded = decode(SENT)
    (fix,) = decoded.fixes
    assert close(fix, READ)
    assert decoded.format is Format.OWNTRACKS
    assert decoded.reply == ("application/json", b"[]")


def test_the_device_is_named_by_headers_query_topic_or_tid() -> None:
    """In this order; a header alone, or a query alone, is half a name."""
    plain = {name: value for name, value in SENT.items() if name != "topic"}
    named = [
        decode(SENT, HEADERS, "u=fleet&d=truck-8"),
        decode(SENT, {"x-limit-u": "fleet"}, "u=fleet&d=truck-8"),
        decode(SENT, {"x-limit-u": "fleet"}, "u=fleet"),
        decode(plain),
    ]
    assert [fix.device for one in named for fix in one.fixes] == [
        "fleet/truck-9",
        "fleet/truck-8",
        "fleet/truck-7",
        "t7",
    ]


@pytest.mark.parametrize(
    "payload",
    [
        {"_type": "transition", "event": "enter", "lat": 51.9, "lon": 4.4, "tst": 1, "acc": 3},
        {"_type": "waypoint", "desc": "depot", "lat": 51.9, "lon": 4.4, "rad": 50, "tst": 1},
        {"_type": "waypoints", "waypoints": []},
        {"_type": "lwt", "tst": 1},
        {"_type": "status", "iOS": {"version": "18.1"}},
        {"_type": "card", "name": "Truck"},
        {"_type": "something new"},
        b"",
        b" \n",
    ],
)
def test_other_messages_are_taken_and_say_nothing(payload: object) -> None:
    """An app that was refused would send them again."""
    for decoded in (decode(payload), decode(payload, topic="owntracks/fleet/truck-7")):
        assert decoded == Decoded(Format.OWNTRACKS)


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        ({"_type": "encrypted", "data": "c2VjcmV0"}, "encrypted"),
        ({"lat": 51.9, "lon": 4.4, "tst": 1}, "unknown-format"),
        ([SENT], "unknown-format"),
        ({**SENT, "tst": None}, "field-missing"),
        ({**SENT, "lat": None}, "field-missing"),
        ({**SENT, "topic": None, "tid": None}, "device-missing"),
        ({**SENT, "topic": "owntracks/truck-7"}, "topic-unfit"),
        ({**SENT, "acc": -1}, "no-fix"),
        ({**SENT, "lat": "north"}, "not-a-number"),
        (b"\xff\xfe{}", "not-utf-8"),
        (b"{", "not-json"),
    ],
)
def test_a_bad_message_is_refused_with_its_reason(payload: object, expected: str) -> None:
    """Encrypted payloads among them: their key is not ours."""
    assert reason(payload) == expected


def test_topics_below_that_of_a_device_say_nothing() -> None:
    """Events, commands, status and the like are not looked into."""
    for below in ("event", "status", "cmd", "waypoint", "dump"):
        assert decode(b"not json", topic=f"owntracks/fleet/truck-7/{below}").fixes == ()


@pytest.mark.parametrize(
    "topic",
    [
        "owntracks/fleet",
        "owntracks//truck-7",
        "owntracks/fleet/",
        "other/fleet/truck-7",
        "/owntracks/fleet/truck-7",
        "owntracks/+/truck-7",
        "owntracks/fleet/#",
        "owntracks/fleet/truck\x007",
        "owntracks/fleet/" + "x" * 300,
    ],
)
def test_other_topics_are_refused(topic: str) -> None:
    """Only owntracks/user/device names a device; wildcards name many."""
    assert reason(SENT, topic) == "topic-unfit"


def test_over_mqtt_the_topic_names_the_device_and_nothing_else_does() -> None:
    """The broker vouches for the topic; what the payload claims does not count."""
    (fix,) = decode({**SENT, "topic": "owntracks/other/one"}, topic="owntracks/a/b").fixes
    assert fix.device == "a/b"
