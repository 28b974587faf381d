"""Tracks of receivers as a table of reports."""

from __future__ import annotations

import sys
from datetime import UTC, datetime

import pytest

from voile.table.formats.statistics import GPX_COLUMNS
from voile.table.reading import list_columns, read_frame
from voile_base.errors import InputError, TableError

GPX = """<?xml version="1.0" encoding="UTF-8"?>
<gpx version="{version}" creator="x" xmlns="http://www.topografix.com/GPX/{namespace}">
<wpt lat="1" lon="1"><time>2024-05-01T08:00:00Z</time></wpt>
<rte><rtept lat="2" lon="2"></rtept></rte>
<trk><name>café</name><trkseg>
<trkpt lat="48.85" lon="2.35"><ele>35</ele><time>2024-05-01T08:00:00Z</time></trkpt>
</trkseg><trkseg>
<trkpt lat="48.86" lon="-2.35"><time>2024-05-01T10:00:30.5+02:00</time></trkpt>
</trkseg></trk>
<trk><trkseg><trkpt lat="-10" lon="20"></trkpt></trkseg></trk>
<trk><name>twin</name><trkseg><trkpt lat="1" lon="2"/></trkseg></trk>
<trk><name>twin</name><trkseg><trkpt lat="3" lon="4"/></trkseg></trk>
</gpx>
"""


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_tracks_become_trips(tmp_path, version):
    """Named by track or by number, segments joined, times in UTC or missing; nothing else."""
    pytest.importorskip("gpxpy")
    path = tmp_path / "a.gpx"
    path.write_text(GPX.format(version=version, namespace=version.replace(".", "/")), "utf-8")
    read = read_frame(path)
    assert tuple(list_columns(path)) == GPX_COLUMNS == tuple(read.frame.columns)
    first = datetime(2024, 5, 1, 8, tzinfo=UTC)
    assert read.frame.rows() == [
        ("café", first, 48.85, 2.35),
        ("café", first.replace(second=30, microsecond=500_000), 48.86, -2.35),
        ("2", None, -10.0, 20.0),
        ("twin (3)", None, 1.0, 2.0),
        ("twin (4)", None, 3.0, 4.0),
    ]
    assert read_frame(path, columns=["time"]).frame.columns == ["time"]
    assert read.format == "gpx"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<gpx><trk></gp", "not whole or not valid GPX"),
        ("name,age\nAnn,31\n", "not whole or not valid GPX"),
        (GPX.format(version="1.1", namespace="1/1").replace('lat="48.85"', 'lat="x"'), "not valid"),
        ('<gpx version="1.1" creator="x"></gpx>', "no track with points"),
    ],
)
def test_what_is_no_track_is_refused(tmp_path, text, message):
    """Broken files, other files, and files without a track, by their name and without a value."""
    pytest.importorskip("gpxpy")
    path = tmp_path / "a.gpx"
    path.write_text(text, "utf-8")
    with pytest.raises(TableError, match=f"a.gpx: .*{message}"):
        read_frame(path)


def test_the_library_may_be_absent(tmp_path, monkeypatch):
    """Then it is said what to install."""
    monkeypatch.setitem(sys.modules, "gpxpy", None)
    path = tmp_path / "a.gpx"
    path.write_text("<gpx></gpx>")
    with pytest.raises(InputError, match=r"install voile\[gps\]"):
        read_frame(path)
