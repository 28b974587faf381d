"""JSON of Traccar Client 9."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given

from share_tests.ingest.messages import ARRIVAL, FIXES, NOW, as_traccar, location
from voile_share.ingest.fixes import Arrival, Decoded, Fix, IngestError, Refusal, Rules
from voile_share.ingest.formats import decode_traccar

SENT = """{"location": {"timestamp": "2026-05-04T11:51:46.587Z", "coords": {"latitude": 51.9,
 "longitude": 4.4, "accuracy": 4.32, "speed": 0.11, "heading": 158.44, "altitude": 103},
 "is_moving": true, "odometer": 0, "event": "motionchange",
 "battery": {"level": 0.88, "is_charging": false}, "activity": {"type": "still"},
 "extras": {}, "_": "&id=42&lat=51.9&lon=4.4&"}, "device_id": "42"}"""


def decode(message: Any, arrival: Arrival = ARRIVAL) -> Decoded:
    return decode_traccar(json.dumps(message).encode(), arrival)


def reason(message: Any, arrival: Arrival = ARRIVAL) -> str:
    with pytest.raises(IngestError) as caught:
        decode(message, arrival)
    return caught.value.reason


def message(**changes: Any) -> dict[str, Any]:
    """A good message, with other coordinates or parts of its location."""
    inside = location(Fix("42", 51.9, 4.4, NOW - 60, accuracy=5.0))
    coordinates = inside["coords"]
    assert isinstance(coordinates, dict)
    for name, value in changes.items():
        (coordinates if name in coordinates else inside)[name] = value
    return {"device_id": "42", "location": inside}


@given(FIXES)
def test_what_a_phone_writes_is_read(fix: Fix) -> None:
    """A message of any fix is read to that fix."""
    assert decode_traccar(as_traccar(fix), ARRIVAL).fixes == (fix,)


def test_a_message_of_the_app_is_read() -> None:
    """Its own example: metres per second, degrees, a battery from 0 to 1."""
    (fix,) = decode_traccar(SENT.encode(), ARRIVAL).fixes
    assert fix == Fix("42", 51.9, 4.4, NOW - 493.413, 0.11, 158.44, 4.32, 103.0, 0.88)


def test_batches_are_read_in_order() -> None:
    """Several locations of a device, and several messages, each with its device."""
    fixes = [Fix("42", 51.9, 4.4 + step / 10, NOW - step, speed=1.0) for step in range(3)]
    batch = {"device_id": "42", "location": [location(fix) for fix in fixes]}
    assert decode(batch).fixes == tuple(fixes)
    other = {"device_id": 43, "location": location(fixes[0])}
    decoded = decode([batch, other])
    assert decoded.devices == {"42", "43"}
    assert len(decoded.fixes) == 4


def test_one_bad_location_does_not_hold_back_the_others() -> None:
    """A batch is taken but for what is refused, of which the place and the reason are told."""
    inside = [message()["location"], message(latitude=91)["location"], "nothing"]
    decoded = decode({"device_id": "42", "location": inside})
    assert [fix.latitude for fix in decoded.fixes] == [51.9]
    assert decoded.refused == (Refusal(1, "coordinates-swapped"), Refusal(2, "field-missing"))
    assert reason({"device_id": "42", "location": inside[1:]}) == "coordinates-swapped"


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ([], "unknown-format"),
        ({}, "unknown-format"),
        ("text", "unknown-format"),
        ({"device_id": "42"}, "field-missing"),
        ({"device_id": "42", "location": []}, None),
        ({"location": message()["location"]}, "device-missing"),
        ({**message(), "device_id": True}, "device-unfit"),
        ({**message(), "device_id": {"a": 1}}, "device-unfit"),
        ({**message(), "device_id": "\ud800"}, "device-unfit"),
        (message(coords=None), "field-missing"),
        (message(coords=[51.9, 4.4]), "field-missing"),
        (message(latitude=None), "field-missing"),
        (message(latitude=True), "not-a-number"),
        (message(latitude=10**400), "not-a-number"),
        (message(longitude={"a": 1}), "not-a-number"),
        (message(timestamp=None), "field-missing"),
        (message(timestamp="soon"), "time-unreadable"),
        (message(timestamp=[1]), "not-a-number"),
        (message(accuracy=-1), "no-fix"),
        (message(latitude=0, longitude=0, accuracy=None), "position-at-origin"),
    ],
)
def test_a_bad_message_is_refused_with_its_reason(sent: Any, expected: str | None) -> None:
    """Whatever stands where something else is expected; an empty batch says nothing."""
    if expected is None:
        assert decode(sent).fixes == ()
    else:
        assert reason(sent) == expected


def test_numbers_may_be_texts_and_times_numbers() -> None:
    """As plugins and scripts that imitate the app write them."""
    (fix,) = decode(message(latitude="51.9", longitude=" 4.4 ", timestamp=NOW * 1000)).fixes
    assert (fix.latitude, fix.longitude, fix.time) == (51.9, 4.4, NOW)


def test_a_batch_has_a_limit() -> None:
    """More positions than the rules allow are refused as a whole."""
    two = {"device_id": "42", "location": [message()["location"]] * 2}
    assert reason(two, Arrival(NOW, Rules(fixes=1))) == "too-many-fixes"
    assert len(decode(two, Arrival(NOW, Rules(fixes=2))).fixes) == 2


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (SENT.replace('"latitude": 51.9', '"latitude": NaN'), "not-a-number"),
        (SENT.replace('"latitude": 51.9', '"latitude": -Infinity'), "not-a-number"),
        (SENT.replace('"latitude": 51.9', f'"latitude": {"9" * 5000}'), "not-json"),
        (SENT.replace('"longitude"', '"latitude"'), "duplicate-field"),
        (SENT[:-1], "not-json"),
        (SENT + "x", "not-json"),
        ("", "not-json"),
    ],
)
def test_bad_json_is_refused(body: str, expected: str) -> None:
    """NaN, numbers without end, names that stand twice, and what is cut off."""
    with pytest.raises(IngestError) as caught:
        decode_traccar(body.encode(), ARRIVAL)
    assert caught.value.reason == expected


def forwarded(protocol: str, attributes: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """What a Traccar server sends by HTTP, in the form of its API, of a tracker's protocol."""
    position = {
        "id": 12345,
        "attributes": attributes,
        "deviceId": 10,
        "protocol": protocol,
        "serverTime": "2026-05-04T11:59:01.000+00:00",
        "deviceTime": "2026-05-04T11:58:58.000+00:00",
        "fixTime": "2026-05-04T11:58:58.000+00:00",
        "outdated": False,
        "valid": True,
        "latitude": 51.9,
        "longitude": 4.4,
        "altitude": 12.0,
        "speed": 13.5,
        "course": 270.0,
        "address": None,
        "accuracy": 0.0,
        "network": None,
        "geofenceIds": None,
    }
    device = {"id": 10, "name": "Truck 7", "uniqueId": "860000000000042", "status": "online"}
    return {"position": {**position, **changes}, "device": device}


BINARY = {
    "gt06": {"sat": 9, "distance": 0.0, "totalDistance": 0.0, "motion": True, "rssi": 4},
    "teltonika": {"priority": 0, "sat": 12, "event": 0, "ignition": True, "power": 27.1, "io66": 1},
    "h02": {"batteryLevel": 60, "ignition": True, "status": "FFFFFBFF"},
    "meitrack": {"event": 35, "sat": 8, "hdop": 0.9, "battery": 4.1, "batteryLevel": 88},
}


@pytest.mark.parametrize("protocol", BINARY)
def test_what_a_traccar_server_forwards_is_read(protocol: str) -> None:
    """Binary protocols by way of Traccar: knots, ISO 8601, percent, accuracy unknown."""
    (fix,) = decode(forwarded(protocol, BINARY[protocol])).fixes
    battery = BINARY[protocol].get("batteryLevel")
    time = datetime(2026, 5, 4, 11, 58, 58, tzinfo=UTC).timestamp()
    assert (fix.device, fix.latitude, fix.longitude, fix.time) == (
        *("860000000000042", 51.9, 4.4),
        time,
    )
    assert fix.speed == pytest.approx(13.5 * 1852 / 3600)
    assert (fix.course, fix.altitude, fix.accuracy) == (270.0, 12.0, None)
    assert fix.battery == (None if battery is None else pytest.approx(battery / 100))


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"valid": False}, "no-fix"),
        ({"fixTime": None}, "field-missing"),
        ({"fixTime": "yesterday"}, "time-unreadable"),
        ({"latitude": None}, "field-missing"),
        ({"latitude": 4.4, "longitude": 151.9e9}, "longitude-out-of-range"),
        ({"fixTime": "2020-01-01T00:00:00.000+00:00"}, "time-too-old"),
    ],
)
def test_what_a_traccar_server_should_not_forward_is_refused(changes: Any, why: str) -> None:
    """Positions without a fix, old ones, and such as lack what is needed."""
    assert reason(forwarded("gt06", {}, **changes)) == why


def test_a_forwarded_position_without_a_device_is_refused() -> None:
    """Its unique id is what a token is issued for."""
    message = forwarded("gt06", {})
    message["device"] = {"id": 10}
    assert reason(message) == "device-missing"
