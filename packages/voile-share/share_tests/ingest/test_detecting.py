"""Requests find their decoder."""

from __future__ import annotations

import json

import pytest

from share_tests.ingest.messages import (
    ARRIVAL,
    NOW,
    as_gpx,
    as_nmea,
    as_osmand,
    as_owntracks,
    as_traccar,
)
from voile_share.ingest import LIVE, Fix, Format, IngestError, Request, Rules, detect
from voile_share.ingest.fixes import Arrival

FIX = Fix("truck-7", 51.9, 4.4, NOW - 60)
FORM = "application/x-www-form-urlencoded; charset=UTF-8"
JSON = "application/json; charset=utf-8"
QUERY = as_osmand(FIX)

REQUESTS = [
    (Format.OSMAND, Request(None, QUERY)),
    (Format.OSMAND, Request("", QUERY)),
    (Format.OSMAND, Request(FORM, QUERY)),
    (Format.OSMAND, Request(FORM, "", QUERY.encode())),
    (Format.OSMAND, Request(FORM, "token=abc", QUERY.encode())),
    (Format.OSMAND, Request("text/plain", "", QUERY.encode())),
    (Format.OSMAND, Request(JSON, QUERY)),
    (Format.TRACCAR, Request(JSON, "", as_traccar(FIX))),
    (Format.TRACCAR, Request(None, "", b"\xef\xbb\xbf " + as_traccar(FIX))),
    (Format.TRACCAR, Request(FORM, "", as_traccar(FIX))),
    (Format.TRACCAR, Request(JSON, "", b"[" + as_traccar(FIX) + b"]")),
    (Format.OWNTRACKS, Request(JSON, "", as_owntracks(FIX))),
    (Format.OWNTRACKS, Request("Application/JSON", "u=a&d=b", as_owntracks(FIX))),
    (Format.NMEA, Request("text/plain", "", as_nmea(FIX))),
    (Format.NMEA, Request("application/octet-stream", "", b"\r\n" + as_nmea(FIX))),
    (Format.GPX, Request("application/gpx+xml", "", as_gpx([FIX]))),
    (Format.GPX, Request("text/xml", "", as_gpx([FIX]))),
]


@pytest.mark.parametrize(("form", "request_"), REQUESTS)
def test_each_request_finds_its_decoder(form: Format, request_: Request) -> None:
    """By its first character, whatever its content type claims among those taken."""
    assert detect(request_.content_type, request_.query, request_.body, LIVE) is form
    decoded = request_.decode(ARRIVAL)
    assert decoded.format is form
    (fix,) = decoded.fixes
    assert fix.latitude == pytest.approx(51.9)
    assert fix.time == FIX.time
    assert decoded.devices <= {"truck-7", "a/b"}


def test_headers_name_the_device_of_owntracks_in_any_case() -> None:
    """As servers and proxies change it."""
    headers = {"X-LIMIT-U": "fleet", "x-Limit-d": "truck-7"}
    request = Request(JSON, "", as_owntracks(FIX), headers)
    assert request.decode(ARRIVAL).devices == {"fleet/truck-7"}


def test_an_empty_body_of_json_says_nothing_and_is_answered() -> None:
    """OwnTracks posts one where a friend was deleted."""
    decoded = Request(JSON).decode(ARRIVAL)
    assert (decoded.fixes, decoded.reply[1]) == ((), b"[]")


def test_other_apps_are_answered_with_an_empty_body() -> None:
    """Traccar Client looks at the status alone."""
    assert Request(JSON, "", as_traccar(FIX)).decode(ARRIVAL).reply == ("text/plain", b"")


@pytest.mark.parametrize(
    "request_",
    [
        Request(),
        Request(None, "token=abc"),
        Request("image/png", QUERY),
        Request("multipart/form-data; boundary=x", "", b"--x\r\n"),
        Request("text/plain", "", b"hello"),
        Request(JSON, "", b"hello"),
        Request("text/xml", "", b"hello"),
    ],
)
def test_other_requests_are_of_no_known_format(request_: Request) -> None:
    """Nothing is guessed."""
    with pytest.raises(IngestError) as caught:
        request_.decode(ARRIVAL)
    assert caught.value.reason == "unknown-format"


@pytest.mark.parametrize(("form", "request_"), REQUESTS)
def test_every_decoder_refuses_what_is_too_large(form: Format, request_: Request) -> None:
    """The limit is on bytes, and one more than the limit is too many."""
    size = max(len(request_.body), len(request_.query))
    assert request_.decode(Arrival(NOW, Rules(size=size), "truck-7")).format is form
    with pytest.raises(IngestError) as caught:
        request_.decode(Arrival(NOW, Rules(size=size - 1), "truck-7"))
    assert caught.value.reason == "too-large"


def test_a_request_shows_nothing_of_its_content() -> None:
    """Its repr may reach a log."""
    request = Request(JSON, QUERY, as_traccar(FIX), {"Authorization": "Bearer abc"})
    assert repr(request) == f"Request(content_type={JSON!r})"
    assert json.loads(request.body)
