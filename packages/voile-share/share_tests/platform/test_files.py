"""Long messages are read by a process beside, as they would be read here."""

from __future__ import annotations

import os
import signal

import pytest

from share_tests.ingest.messages import as_gpx
from voile_share.ingest import BACKFILL, Arrival, Fix, IngestError, Request
from voile_share.platform.receiving import LONG_BYTES, RequestDecoder

pytestmark = pytest.mark.slow

NOW = 1_790_000_000.0
ARRIVAL = Arrival(NOW, BACKFILL, "truck-7")


def trip(points: int, latitude: float = 52.0) -> Request:
    fixes = [Fix("truck-7", latitude, 4.36, NOW - points + one) for one in range(points)]
    return Request("application/gpx+xml", body=as_gpx(fixes))


@pytest.fixture
def reader():
    made = RequestDecoder(in_worker=True)
    yield made
    made.close()


def refusal(reader: RequestDecoder, request: Request) -> tuple[str, str, int]:
    with pytest.raises(IngestError) as refused:
        reader.decode(request, ARRIVAL)
    return refused.value.reason, str(refused.value), refused.value.positions


def test_what_is_read_beside_is_what_is_read_here(reader):
    """Positions, refusals and their sentences are the same, and short messages begin no process."""
    here, short = RequestDecoder(in_worker=False), trip(3)
    assert reader.decode(short, ARRIVAL) == here.decode(short, ARRIVAL)
    assert reader._pool is None
    long = trip(400)
    assert len(long.body) > LONG_BYTES
    assert reader.decode(long, ARRIVAL) == here.decode(long, ARRIVAL)
    assert reader._pool is not None
    for wrong in (trip(400, latitude=90.5), Request("application/gpx+xml", body=long.body[:-9])):
        assert refusal(reader, wrong) == refusal(here, wrong)


def test_a_reader_that_dies_loses_no_file(reader):
    """What it was asked is read here, and the next file by another process."""
    long = trip(400)
    expected = reader.decode(long, ARRIVAL)
    (process,) = reader._pool._processes.values()
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    assert reader.decode(long, ARRIVAL) == expected
    assert reader.decode(long, ARRIVAL) == expected
