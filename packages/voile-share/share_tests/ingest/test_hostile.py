"""Whatever is sent, a decoder returns positions or refuses, and tells nothing of what it saw."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from share_tests.ingest.messages import (
    ARRIVAL,
    FIXES,
    NOW,
    as_gpx,
    as_nmea,
    as_osmand,
    as_owntracks,
    as_traccar,
)
from voile_share.ingest import (
    BACKFILL,
    LIVE,
    REASONS,
    Arrival,
    Decoded,
    Fix,
    IngestError,
    Request,
    decode_owntracks_mqtt,
)
from voile_share.ingest.formats import (
    decode_nmea,
    decode_osmand,
    decode_owntracks,
    decode_traccar,
)
from voile_share.ingest.gpx import decode_gpx
from voile_testing.plugin import ROOT

DECODERS = {
    "request": lambda body: Request(None, "", body).decode(ARRIVAL),
    "query": lambda body: decode_osmand(body.decode("latin-1"), b"", ARRIVAL),
    "form": lambda body: decode_osmand("", body, ARRIVAL),
    "traccar": lambda body: decode_traccar(body, ARRIVAL),
    "owntracks": lambda body: decode_owntracks({}, "", body, ARRIVAL),
    "mqtt": lambda body: decode_owntracks_mqtt("owntracks/a/b", body, ARRIVAL),
    "nmea": lambda body: decode_nmea(body, ARRIVAL),
    "gpx": lambda body: decode_gpx(body, ARRIVAL),
}
FIX = Fix("truck-7", 51.912345, 4.498765, NOW - 60, 3.0, 200.0, 5.0, 2.0, 0.5)
MESSAGES = (
    as_osmand(FIX).encode(),
    as_traccar(FIX),
    as_owntracks(FIX),
    as_nmea(FIX),
    as_gpx([FIX]),
)
NAMES = st.sampled_from(
    (
        *("_type", "lat", "lon", "tst", "acc", "vel", "cog", "alt", "batt", "tid", "topic"),
        *("device_id", "location", "coords", "latitude", "longitude", "accuracy", "speed"),
        *("heading", "altitude", "timestamp", "battery", "level"),
    )
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["location", "encrypted", "1e999", "9" * 40, "-0", "51.9", "", 10**400]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=12,
)


def outcome(decoder: Callable[[bytes], Decoded], body: bytes) -> Decoded | IngestError:
    """What a decoder returns or refuses; any other error is the test's failure."""
    try:
        return decoder(body)
    except IngestError as refusal:
        return refusal


def judge(name: str, body: bytes) -> None:
    """A decoder makes of a body checked positions, or a refusal that tells nothing."""
    decoded = outcome(DECODERS[name], body)
    if isinstance(decoded, IngestError):
        assert decoded.reason in REASONS
        # Errors of parsers quote what they parsed, and would be shown beside ours.
        assert decoded.__context__ is None
        assert decoded.__cause__ is None
        return
    for fix in decoded.fixes:
        assert -90 <= fix.latitude <= 90
        assert -180 <= fix.longitude <= 180
        assert NOW - LIVE.past <= fix.time <= NOW + LIVE.future
        assert all(
            value is None or math.isfinite(value)
            for value in (fix.speed, fix.course, fix.accuracy, fix.altitude, fix.battery)
        )
        assert 0 < len(fix.device) <= 128
    assert all(refusal.reason in REASONS for refusal in decoded.refused)


@pytest.mark.parametrize("name", DECODERS)
@given(body=st.binary(max_size=200))
def test_bytes_at_random_are_refused_or_say_nothing(name: str, body: bytes) -> None:
    """No other error leaves a decoder."""
    judge(name, body)


@pytest.mark.parametrize("name", DECODERS)
@given(
    message=st.sampled_from(MESSAGES),
    start=st.integers(0, 400),
    length=st.integers(0, 30),
    noise=st.binary(max_size=12) | st.sampled_from([b"&", b'"', b"{", b"<a>", b"-", b"9" * 40]),
)
def test_damaged_messages_are_read_or_refused(
    name: str, message: bytes, start: int, length: int, noise: bytes
) -> None:
    """A part of a good message replaced, in its own decoder and in all others."""
    judge(name, message[:start] + noise + message[start + length :])


@pytest.mark.parametrize("name", ["request", "traccar", "owntracks", "mqtt"])
@given(value=VALUES)
def test_any_json_is_read_or_refused(name: str, value: Any) -> None:
    """Known names with values of every kind, at every level."""
    judge(name, json.dumps(value).encode())


@pytest.mark.slow
@given(
    st.dictionaries(st.sampled_from(["id", "lat", "lon", "timestamp", "batt", "valid"]), st.text())
)
def test_any_form_is_read_or_refused(values: dict[str, str]) -> None:
    """Known names with any text, encoded or not."""
    judge("form", "&".join(f"{n}={v}" for n, v in values.items()).encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize("name", DECODERS)
@pytest.mark.parametrize("unit", [b"0", b"{", b'"', b"<a>", b"$GPRMC,", b"a=b&", b"\xff"])
def test_ten_megabytes_are_refused_unread(name: str, unit: bytes) -> None:
    """Before anything is parsed: the reason is the size, whatever the bytes are."""
    body = unit * (10_000_000 // len(unit))
    with pytest.raises(IngestError) as caught:
        DECODERS[name](body)
    assert caught.value.reason == "too-large"


@pytest.mark.parametrize("name", ["request", "traccar", "owntracks", "mqtt"])
@pytest.mark.parametrize("opening", ['{"a":', "[", '[{"a":'])
def test_deep_json_is_refused_before_it_is_parsed(name: str, opening: str) -> None:
    """As deep as the size allows; brackets in texts do not count, and hide none."""
    deep = opening * ((LIVE.size - 100) // len(opening))
    for body in (deep, '["' + "[" * 50 + '\\"",' + deep[:1000]):
        with pytest.raises(IngestError) as caught:
            DECODERS[name](body.encode())
        assert caught.value.reason == "nested-too-deeply"
    shallow = json.dumps({"_type": "lwt", "text": '[{"' * 50}).encode()
    assert Request(None, "", shallow).decode(ARRIVAL).fixes == ()


def test_texts_that_never_end_are_refused() -> None:
    """Quotes and backslashes up to the limit: read once, not once for each of them."""
    for unit in (b'"', b'\\"', b'"\\', b'"a'):
        body = b"[" + unit * ((LIVE.size - 1) // len(unit))
        with pytest.raises(IngestError) as caught:
            decode_traccar(body, ARRIVAL)
        assert caught.value.reason == "not-json"


def test_a_file_made_to_stall_the_library_is_refused() -> None:
    """Declarations without end, at the size of a file: gpxpy alone would take hours."""
    for word in (" xmlns", ' xsi:schemaLocation="'):
        text = f"<gpx><name>{word * (BACKFILL.size // len(word) - 10)}</name></gpx>"
        with pytest.raises(IngestError) as caught:
            decode_gpx(text.encode(), Arrival(NOW, BACKFILL, "truck-7"))
        assert caught.value.reason == "not-gpx"


@given(FIXES, st.sampled_from(range(len(MESSAGES))), st.floats(1e9, 3e9))
def test_a_refusal_shows_no_position(fix: Fix, which: int, now: float) -> None:
    """A sentence holds no number of the message and no name of the device."""
    writers = (lambda f: as_osmand(f).encode(), as_traccar, as_owntracks, as_nmea, as_gpx)
    body = writers[which]([fix] if which == 4 else fix)  # type: ignore[operator]
    arrival = Arrival(now, device=fix.device)
    refusal = outcome(lambda sent: Request(None, "", sent).decode(arrival), body)
    if isinstance(refusal, IngestError):
        said = str(refusal)
        assert fix.device not in said
        for value in (fix.latitude, fix.longitude, fix.time):
            assert f"{value:.3f}" not in said
            assert repr(value) not in said


def test_every_reason_is_used_and_explained() -> None:
    """Each stands in the code that refuses, and in the page for those who send."""
    package = Path(Request.decode.__code__.co_filename).parent
    sources = [path for path in package.glob("*.py") if path.name != "errors.py"]
    code = "".join(path.read_text("utf-8") for path in sources)
    page = (ROOT / "docs" / "trackers.md").read_text("utf-8")
    assert not [reason for reason in REASONS if f'"{reason}"' not in code]
    assert not [reason for reason in REASONS if f"| `{reason}` |" not in page]
