"""JSON of Traccar Client 9."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from tests.sharing.ingest.messages import ARRIVAL, FIXES, NOW, as_traccar, location
from voile.sharing.ingest.arrivals import Arrival, Decoded, Refusal
from voile.sharing.ingest.errors import IngestError
from voile.sharing.ingest.fixes import Fix, Rules
from voile.sharing.ingest.traccar import decode_traccar

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
