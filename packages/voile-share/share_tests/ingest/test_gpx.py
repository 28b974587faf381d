"""Files of GPX, from friends and from others."""

from __future__ import annotations

import logging
import sys
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from share_tests.ingest.messages import FIXES, NOW, as_gpx, close
from voile_base.errors import InputError
from voile_share.ingest.fixes import (
    BACKFILL,
    Arrival,
    Decoded,
    Fix,
    Format,
    IngestError,
    Refusal,
    Rules,
)
from voile_share.ingest.gpx import decode_gpx

FILE = Arrival(NOW, BACKFILL, "truck-7")
GARMIN = """<?xml version="1.0" encoding="UTF-8" standalone="no" ?>
<gpx xmlns="http://www.topografix.com/GPX/1/1" version="1.1" creator="Garmin Desktop App"
 xmlns:gpxtpx="http://www.garmin.com/xmlschemas/TrackPointExtension/v2"
 xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
 xsi:schemaLocation="http://www.topografix.com/GPX/1/1 http://www.topografix.com/GPX/1/1/gpx.xsd">
 <metadata><time>2026-05-04T09:00:00Z</time></metadata>
 <wpt lat="1.0" lon="1.0"><time>2026-05-04T09:00:00Z</time></wpt>
 <rte><rtept lat="2.0" lon="2.0"/></rte>
 <trk><name>Round</name>
  <trkseg>
   <trkpt lat="51.9" lon="4.4"><ele>3.5</ele><time>2026-05-04T10:00:00Z</time>
    <extensions><gpxtpx:TrackPointExtension><gpxtpx:hr>80</gpxtpx:hr>
     <gpxtpx:speed>12.5</gpxtpx:speed><gpxtpx:course>270</gpxtpx:course>
    </gpxtpx:TrackPointExtension></extensions></trkpt>
  </trkseg><trkseg>
   <trkpt lat="51.8" lon="4.3"><time>2026-05-04T12:00:30.5+02:00</time></trkpt>
  </trkseg></trk></gpx>"""
BOMB = (
    '<?xml version="1.0"?><!DOCTYPE gpx [<!ENTITY a "lol">'
    + "".join(
        f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    )
    + ']><gpx version="1.1" creator="x"><name>&i;</name></gpx>'
)
OUTSIDE = (
    '<!DOCTYPE gpx [<!ENTITY a SYSTEM "file:///etc/passwd">]>'
    '<gpx version="1.1" creator="x"><trk><name>&a;</name></trk></gpx>'
)


def reason(text: str | bytes, arrival: Arrival = FILE) -> str:
    with pytest.raises(IngestError) as caught:
        decode_gpx(text if isinstance(text, bytes) else text.encode(), arrival)
    return caught.value.reason


def point(inside: str, at: str = 'lat="51.9" lon="4.4"') -> str:
    """A file of one point of a track."""
    track = f"<trk><trkseg><trkpt {at}>{inside}</trkpt></trkseg></trk>"
    return f'<gpx version="1.1" creator="x">{track}</gpx>'


TIME = "<time>2026-05-04T10:00:00Z</time>"


@given(st.lists(FIXES, min_size=1, max_size=4))
def test_what_another_library_writes_is_read(fixes: list[Fix]) -> None:
    """Version 1.0 keeps all but accuracy and battery."""
    told = decode_gpx(as_gpx(fixes), FILE).fixes
    for one, fix in zip(told, fixes, strict=True):
        assert close(one, replace(fix, accuracy=None, battery=None), within=1e-9)


def test_the_tracks_of_a_file_of_version_1_1_are_read() -> None:
    """All segments; speed and course from extensions; no waypoints and routes."""
    decoded = decode_gpx(b"\xef\xbb\xbf" + GARMIN.encode(), FILE)
    assert decoded.format is Format.GPX
    assert decoded.fixes == (
        Fix("truck-7", 51.9, 4.4, NOW - 7200, 12.5, 270.0, altitude=3.5),
        Fix("truck-7", 51.8, 4.3, NOW - 7169.5),
    )


def test_a_file_without_tracks_says_nothing() -> None:
    """It is GPX all the same."""
    assert decode_gpx(b'<gpx version="1.1" creator="x"/>', FILE) == Decoded(Format.GPX)


@pytest.mark.parametrize("text", [BOMB, OUTSIDE, "<!DOCTYPE gpx><gpx/>"])
def test_a_document_type_is_refused_before_any_entity_exists(text: str) -> None:
    """Neither a bomb of a billion words nor a file of the host is ever opened."""
    assert reason(text) == "document-type"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (GARMIN[:-10], "not-gpx"),
        ("<html/>", "not-gpx"),
        ("<gpx>&i;</gpx>", "not-gpx"),
        ("", "not-gpx"),
        (b"<gpx>\xff</gpx>", "not-utf-8"),
        (GARMIN.encode("utf-16"), "not-utf-8"),
        ("<gpx>" + "<a>" * 20 + "</a>" * 20 + "</gpx>", "nested-too-deeply"),
        ("<gpx>" + "<a>" * 100_000, "nested-too-deeply"),
        (f"<gpx><name>{' xmlns' * 40}</name></gpx>", "not-gpx"),
        (f"<gpx><name>{' xsi:schemaLocation=' * 5}</name></gpx>", "not-gpx"),
        (point(TIME, 'lat="north" lon="4.4"'), "not-gpx"),
        (point(TIME, 'lon="4.4"'), "not-gpx"),
        (point(TIME, 'lat="nan" lon="4.4"'), "not-a-number"),
        (point(TIME, 'lat="91" lon="170"'), "latitude-out-of-range"),
        (point(""), "time-unreadable"),
        (point("<time>yesterday</time>"), "time-unreadable"),
        (point("<time>2020-05-04T10:00:00Z</time>"), "time-too-old"),
        (point(TIME + "<extensions><speed>fast</speed></extensions>"), "not-a-number"),
    ],
)
def test_a_bad_file_is_refused_with_its_reason(text: str | bytes, expected: str) -> None:
    """What is not GPX, what is too much, and what no truck drives."""
    assert reason(text) == expected


def test_one_bad_point_does_not_hold_back_the_others() -> None:
    """A point without a time is told with its place."""
    text = GARMIN.replace("<time>2026-05-04T10:00:00Z</time>", "")
    decoded = decode_gpx(text.encode(), FILE)
    assert len(decoded.fixes) == 1
    assert decoded.refused == (Refusal(0, "time-unreadable"),)


def test_a_file_has_limits() -> None:
    """Points and elements beyond the rules are refused before the library sees them."""
    two = GARMIN.encode()
    assert reason(two, Arrival(NOW, Rules(fixes=1), "truck-7")) == "too-many-fixes"
    many = "<gpx>" + "<a/>" * 50 + "</gpx>"
    assert reason(many, Arrival(NOW, Rules(fixes=2))) == "too-many-fixes"
    assert reason(two, Arrival(NOW)) == "device-missing"


@given(st.text(alphabet='<>/"= abgpxtrk&;![]?-', max_size=60), st.integers(0, len(GARMIN)))
def test_nothing_of_a_file_reaches_a_log(noise: str, place: int) -> None:
    """The library would log what is not well-formed; it is never shown any of that."""
    seen: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.emit = seen.append  # type: ignore[method-assign]
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        decode_gpx((GARMIN[:place] + noise + GARMIN[place:]).encode(), FILE)
    except IngestError:
        pass
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
    assert seen == []


def test_a_file_changes_nothing_for_others() -> None:
    """Its prefixes are not registered for the whole process, as the library would do."""
    name = "http://example.org/of-this-test"
    text = point(TIME).replace("<gpx", f'<gpx xmlns:mine="{name}"')
    assert len(decode_gpx(text.encode(), FILE).fixes) == 1
    assert b"mine" not in ElementTree.tostring(ElementTree.Element(f"{{{name}}}a"))


def test_without_the_library_one_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra is named."""
    monkeypatch.setitem(sys.modules, "gpxpy", None)
    with pytest.raises(InputError, match=r"voile-share"):
        decode_gpx(GARMIN.encode(), FILE)
