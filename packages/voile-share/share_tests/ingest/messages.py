"""Messages of each app, written from a fix; the other way round than the decoders."""

from __future__ import annotations

import json
from dataclasses import astuple
from datetime import UTC, datetime
from urllib.parse import urlencode

import gpxpy.gpx
import pytest
from hypothesis import strategies as st

from voile_share.ingest.fixes import KNOT, Arrival, Fix
from voile_share.ingest.formats import checksum

NOW = datetime(2026, 5, 4, 12, 0, tzinfo=UTC).timestamp()
ARRIVAL = Arrival(NOW, device="truck-7")


def _optional(lowest: float, highest: float):
    return st.none() | st.floats(lowest, highest, allow_nan=False)


FIXES = st.builds(
    Fix,
    device=st.just("truck-7"),
    latitude=st.floats(-89.9, 89.9).filter(lambda degrees: abs(degrees) > 1e-6),
    longitude=st.floats(-179.9, 179.9),
    time=st.integers(int(NOW) - 6 * 86400, int(NOW)).map(float),
    speed=_optional(0, 60),
    course=_optional(0, 359),
    accuracy=_optional(0, 500),
    altitude=_optional(-100, 4000),
    battery=_optional(0, 1),
)
"""Fixes of one truck in the last six days, at whole seconds."""


def there(fields: dict[str, object]) -> dict[str, object]:
    """The fields that have a value."""
    return {name: value for name, value in fields.items() if value is not None}


def times(value: float | None, unit: float) -> float | None:
    return None if value is None else value * unit


def iso(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).isoformat().replace("+00:00", "Z")


def close(fix: Fix, other: Fix, within: float = 1e-8) -> bool:
    """Whether two fixes are equal but for the rounding of their numbers; None equals None."""
    return all(
        one == two or (isinstance(one, float) and one == pytest.approx(two, rel=1e-12, abs=within))
        for one, two in zip(astuple(fix), astuple(other), strict=True)
    )


def as_osmand(fix: Fix) -> str:
    """A query or form; times in milliseconds."""
    return urlencode(
        there(
            {
                "id": fix.device,
                "timestamp": int(fix.time * 1000),
                "lat": f"{fix.latitude:.9f}",
                "lon": f"{fix.longitude:.9f}",
                "speed": times(fix.speed, 1 / KNOT),
                "bearing": fix.course,
                "altitude": fix.altitude,
                "accuracy": fix.accuracy,
                "batt": times(fix.battery, 100),
            }
        )
    )


def location(fix: Fix) -> dict[str, object]:
    """One location of Traccar Client 9; what it does not know is -1."""
    return {
        "timestamp": iso(fix.time),
        "coords": there(
            {
                "latitude": fix.latitude,
                "longitude": fix.longitude,
                "accuracy": fix.accuracy,
                "speed": -1 if fix.speed is None else fix.speed,
                "heading": -1 if fix.course is None else fix.course,
                "altitude": fix.altitude,
            }
        ),
        "is_moving": True,
        "odometer": 12.5,
        "event": "motionchange",
        "battery": {"level": -1 if fix.battery is None else fix.battery, "is_charging": False},
        "activity": {"type": "in_vehicle"},
        "extras": {},
    }


def as_traccar(fix: Fix) -> bytes:
    return json.dumps({"location": location(fix), "device_id": fix.device}).encode()


def as_owntracks(fix: Fix) -> bytes:
    return json.dumps(
        there(
            {
                "_type": "location",
                "tid": fix.device,
                "lat": fix.latitude,
                "lon": fix.longitude,
                "tst": int(fix.time),
                "vel": times(fix.speed, 3.6),
                "cog": fix.course,
                "acc": fix.accuracy,
                "alt": fix.altitude,
                "batt": times(fix.battery, 100),
                "t": "u",
                "conn": "m",
                "bs": 1,
            }
        )
    ).encode()


def sentence(said: str) -> str:
    """A line of NMEA 0183 with its checksum."""
    return f"${said}*{checksum(said)}\r\n"


def _minutes(degrees: float, width: int) -> str:
    # Rounded as a whole, so that no minute is written as 60.
    whole, minutes = divmod(round(abs(degrees) * 60, 9), 60)
    return f"{int(whole):0{width}d}{minutes:012.9f}"


def as_nmea(fix: Fix, talker: str = "GN") -> bytes:
    moment = datetime.fromtimestamp(fix.time, UTC)
    fields = [
        f"{talker}RMC",
        moment.strftime("%H%M%S.00"),
        "A",
        _minutes(fix.latitude, 2),
        "S" if fix.latitude < 0 else "N",
        _minutes(fix.longitude, 3),
        "W" if fix.longitude < 0 else "E",
        "" if fix.speed is None else f"{fix.speed / KNOT:.9f}",
        "" if fix.course is None else f"{fix.course:.9f}",
        moment.strftime("%d%m%y"),
        *("", "", "A", "V"),
    ]
    return sentence(",".join(fields)).encode()


def as_gpx(fixes: list[Fix]) -> bytes:
    """A file of version 1.0, as gpxpy writes it."""
    segment = gpxpy.gpx.GPXTrackSegment()
    for fix in fixes:
        point = gpxpy.gpx.GPXTrackPoint(
            fix.latitude,
            fix.longitude,
            elevation=fix.altitude,
            time=datetime.fromtimestamp(fix.time, UTC),
            speed=fix.speed,
        )
        point.course = fix.course
        segment.points.append(point)
    track = gpxpy.gpx.GPXTrack()
    track.segments.append(segment)
    file = gpxpy.gpx.GPX()
    file.tracks.append(track)
    return file.to_xml(version="1.0").encode()
