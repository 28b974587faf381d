"""The OsmAnd protocol, by query and by form."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from share_tests.ingest.messages import ARRIVAL, FIXES, NOW, as_osmand, close
from voile_share.ingest.fixes import Fix, Format, IngestError
from voile_share.ingest.formats import decode_osmand

AT = "id=truck-7&lat=51.9&lon=4.4"
SENT = int(NOW) - 30


def decode(query: str, body: bytes = b"") -> Fix:
    """The one fix of a message."""
    (fix,) = decode_osmand(query, body, ARRIVAL).fixes
    return fix


def reason(query: str, body: bytes = b"") -> str:
    with pytest.raises(IngestError) as caught:
        decode_osmand(query, body, ARRIVAL)
    return caught.value.reason


@given(FIXES, st.booleans())
def test_what_a_phone_writes_is_read(fix: Fix, form: bool) -> None:
    """A query and a form are read to the same fix, units and all."""
    message = as_osmand(fix)
    told = decode("", message.encode()) if form else decode(message)
    assert close(told, fix)


def test_messages_of_real_senders_are_read() -> None:
    """Traccar Client 7 (query), 10 (form), OsmAnd's trip recording, and GPSLogger."""
    client = (
        f"id=424242&timestamp={SENT}&lat=51.90000001&lon=4.40000002&speed=10.0&bearing=90.5"
        "&altitude=3.1&accuracy=4.5&batt=87.0&charge=true"
    )
    fix = Fix("424242", 51.90000001, 4.40000002, SENT, 5.144444444444445, 90.5, 4.5, 3.1, 0.87)
    assert decode(client) == decode("", client.encode() + b"\r\n") == fix
    assert decode_osmand(client, b"", ARRIVAL).format is Format.OSMAND
    osmand = f"id=truck-7&lat=51.9&lon=4.4&timestamp={SENT}417&hdop=3.9&altitude=2.0&speed=0.0"
    assert decode(osmand) == Fix("truck-7", 51.9, 4.4, SENT + 0.417, 0.0, altitude=2.0)
    logger = "id=truck-7&lat=51.9&lon=4.4&timestamp=2026-05-04T11:59:00.000Z&hdop=1&speed="
    assert decode(logger) == Fix("truck-7", 51.9, 4.4, NOW - 60)


@pytest.mark.parametrize(
    ("stamp", "time"),
    [
        (f"{SENT}", SENT),
        (f"{SENT}999", SENT + 0.999),
        ("2026-05-04T11:00:00Z", NOW - 3600),
        ("2026-05-04T13:00:00%2B02:00", NOW - 3600),
        ("2026-05-04T11:00:00", NOW - 3600),
        ("2026-05-04%2011:00:00", NOW - 3600),
        ("2026-05-04+11:00:00", NOW - 3600),
        ("", NOW),
    ],
)
def test_times_come_in_many_ways(stamp: str, time: float) -> None:
    """Seconds, milliseconds, ISO 8601 with or without a zone; none means now."""
    assert decode(f"{AT}&timestamp={stamp}").time == time


def test_a_location_may_be_one_field_and_the_device_have_another_name() -> None:
    """``location`` instead of lat and lon; ``deviceid``; ``heading``; fields split over both."""
    fix = Fix("truck-7", 51.9, 4.4, NOW, course=12.0)
    assert decode("deviceid=truck-7&location=51.9,4.4&heading=12") == fix
    assert decode("id=truck-7&deviceid=truck-7", b"location=51.9%2C+4.4&bearing=12") == fix


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (f"{AT}&lat=51.9", "duplicate-field"),
        (f"{AT}&location=51.9,4.4", "duplicate-field"),
        (f"{AT}&deviceid=other", "duplicate-field"),
        ("lat=51.9&lon=4.4", "device-missing"),
        ("id=&lat=51.9&lon=4.4", "device-missing"),
        ("id=a%00b&lat=51.9&lon=4.4", "device-unfit"),
        (f"id={'x' * 129}&lat=51.9&lon=4.4", "device-unfit"),
        ("id=truck-7&lat=51.9", "field-missing"),
        ("id=truck-7&lat={0}&lon={1}", "not-a-number"),
        ("id=truck-7&lat=nan&lon=4.4", "not-a-number"),
        ("id=truck-7&lat=1_0&lon=4.4", "not-a-number"),
        ("id=truck-7&lat=%D9%A3&lon=4.4", "not-a-number"),
        ("id=truck-7&lat=51,9&lon=4,4", "not-a-number"),
        ("id=truck-7&location=51.9", "not-a-number"),
        ("id=truck-7&location=51.9,4.4,1", "not-a-number"),
        (f"{AT}&speed=Infinity", "not-a-number"),
        (f"{AT}&accuracy=-1", "no-fix"),
        (f"{AT}&valid=false", "no-fix"),
        (f"{AT}&valid=0", "no-fix"),
        (f"{AT}&timestamp=yesterday", "time-unreadable"),
        (f"{AT}&timestamp=2026-02-30T00:00:00Z", "time-unreadable"),
        (f"{AT}&timestamp={int(NOW) + 400}", "time-in-the-future"),
        (f"{AT}&timestamp=17", "time-too-old"),
        ("id=%FF%FE&lat=51.9&lon=4.4", "not-utf-8"),
        (f"{AT}{'&x=1' * 70}", "too-many-fields"),
    ],
)
def test_a_bad_message_is_refused_with_its_reason(query: str, expected: str) -> None:
    """The same reason whether it came as a query or as a form."""
    assert reason(query) == expected
    assert reason("", query.encode()) == expected


def test_a_field_may_not_stand_in_query_and_form() -> None:
    """Else two readers could see two positions."""
    assert reason(AT, b"lat=52.0") == "duplicate-field"


def test_what_is_not_read_may_be_anything() -> None:
    """Cells and networks repeat; a valid position is one that says so."""
    assert decode(f"{AT}&valid=true&cell=204,8,1,2&cell=204,8,1,3&hdop=x").latitude == 51.9


def test_whatever_counts_as_space_around_a_number_is_left_out() -> None:
    """All that Python strips from a text, of which its ``float`` takes only a part."""
    spaces = [chr(code) for code in range(0x110000) if chr(code).isspace()]
    assert {"\x1c", "\x1f", "\x85", "\u2003"} <= set(spaces)
    for space in map(quote, spaces):
        fix = decode(f"id=truck-7&lat={space}51.9{space}&lon=4.4&timestamp={SENT}{space}")
        assert (fix.latitude, fix.time) == (51.9, SENT)
