"""Which refusals a device need not hear of, so that its queue goes on."""

from __future__ import annotations

import json

import pytest

from share_tests.ingest.messages import NOW, as_gpx, as_nmea, as_owntracks, as_traccar
from voile_share.ingest import Arrival, Fix, IngestError, Request, passed_over

OLD = Fix("truck-7", 52.0, 4.0, NOW - 8 * 86_400, accuracy=5.0)
QUERY = f"id=truck-7&lat=52&lon=4&timestamp={OLD.time}"
JSON = "application/json"


def refusal(request: Request) -> IngestError:
    """Why a request is refused."""
    with pytest.raises(IngestError) as caught:
        request.decode(Arrival(NOW, device="truck-7"))
    return caught.value


@pytest.mark.parametrize(
    ("request_", "reply"),
    [
        (Request(query=QUERY), ("text/plain", b"not taken: time-too-old\n")),
        (Request(JSON, body=as_traccar(OLD)), ("text/plain", b"not taken: time-too-old\n")),
        (Request("text/plain", body=as_nmea(OLD)), ("text/plain", b"not taken: time-too-old\n")),
        (Request(JSON, body=as_owntracks(OLD)), ("application/json", b"[]")),
    ],
    ids=["osmand", "traccar", "nmea", "owntracks"],
)
def test_what_no_repetition_helps_is_passed_over(request_, reply):
    """Too old in every format of devices: answered as the app expects."""
    error = refusal(request_)
    assert error.positions == 1
    assert passed_over(error, request_) == reply


def test_all_positions_of_a_message_are_counted():
    """A batch of which nothing is taken says how many positions that were."""
    message = json.loads(as_traccar(OLD))
    batch = json.dumps({**message, "location": [message["location"]] * 3}).encode()
    assert refusal(Request(JSON, body=batch)).positions == 3


@pytest.mark.parametrize(
    "request_",
    [
        Request("application/gpx+xml", body=as_gpx([OLD])),
        Request(query=f"id=truck-7&lat=52&lon=4&timestamp={NOW + 3600}"),
        Request(query="id=truck-7&lat={0}&lon=4"),
        Request(query="id=truck-7&lat=52"),
        Request(query="lat=52&lon=4"),
        Request(JSON, body=b'{"_type": "encrypted"}'),
        Request(JSON, body=b'{"_type": '),
        Request("image/png", body=b"x"),
    ],
    ids=["file", "future", "number", "field", "device", "encrypted", "cut off", "format"],
)
def test_what_somebody_must_see_to_is_refused(request_):
    """Files, clocks, addresses and apps that are set up wrong, and what is no message."""
    assert passed_over(refusal(request_), request_) is None
