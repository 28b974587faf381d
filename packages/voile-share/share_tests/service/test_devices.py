"""Phones and trackers send as docs/trackers.md says, and get the answers that it names."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime

import pytest

from share_tests.ingest.messages import (
    as_gpx,
    as_nmea,
    as_owntracks,
    as_traccar,
    location,
    sentence,
)
from share_tests.scene import Scene
from share_tests.service.server import serving
from voile_share.ingest import REASONS, Fix
from voile_share.ingest.fixes import KNOT
from voile_share.platform import Settings
from voile_share.service.problems import status_of

FORM = "application/x-www-form-urlencoded"


def fix_of(service, device="truck-7", back=0.0):
    return Fix(device, 52.0116, 4.3571, service.now - back, speed=12.0, course=85.0, accuracy=8.0)


def bearer(token):
    return {"authorization": f"Bearer {token}"}


def basic(token, user="fleet"):
    pair = base64.b64encode(f"{user}:{token}".encode()).decode()
    return {"authorization": f"Basic {pair}"}


def query_of(fix):
    """As OsmAnd and Traccar Client before 9 fill it in."""
    return {
        "id": fix.device,
        "lat": f"{fix.latitude}",
        "lon": f"{fix.longitude}",
        "timestamp": f"{int(fix.time * 1000)}",
        "speed": f"{fix.speed / KNOT}",
        "bearing": "85",
        "altitude": "2.5",
        "accuracy": "8",
        "batt": "81",
    }


def traccar_batch(fix):
    both = [location(fix), location(fix)]
    return json.dumps({"location": both, "device_id": fix.device}).encode()


REQUESTS = {
    "Traccar Client 9": lambda fix, token: {
        "method": "POST",
        "url": f"/ingest/{token}",
        "content": as_traccar(fix),
        "headers": {"content-type": "application/json"},
    },
    "Traccar Client 9, a batch": lambda fix, token: {
        "method": "POST",
        "url": f"/ingest/{token}",
        "content": traccar_batch(fix),
        "headers": {"content-type": "application/json"},
    },
    "Traccar Client before 9": lambda fix, token: {
        "method": "POST",
        "url": f"/ingest/{token}",
        "params": query_of(fix),
    },
    "Traccar Client 10": lambda fix, token: {
        "method": "POST",
        "url": f"/ingest/{token}",
        "data": query_of(fix),
    },
    "OsmAnd": lambda fix, token: {
        "method": "GET",
        "url": f"/ingest/{token}",
        "params": query_of(fix),
    },
    "GPSLogger": lambda fix, token: {
        "method": "POST",
        "url": "/ingest",
        "data": query_of(fix),
        "headers": basic(token, "truck-7"),
    },
    "NMEA 0183": lambda fix, token: {
        "method": "POST",
        "url": "/ingest",
        "content": b"$GPGSV,1,1,00*79\r\n" + as_nmea(fix, "GP"),
        "headers": {"content-type": "text/plain", **bearer(token)},
    },
    "GPX": lambda fix, token: {
        "method": "POST",
        "url": "/ingest",
        "content": as_gpx([fix]),
        "headers": {"content-type": "application/gpx+xml", **bearer(token)},
    },
}


@pytest.mark.parametrize("app", REQUESTS)
def test_every_app_is_answered_as_it_expects_and_publishes(service, http, company, app):
    """A position in each documented request becomes a report, and the answer has no body."""
    service.next_slot()
    truck, token = company.truck()
    answer = http.request(**REQUESTS[app](fix_of(service), token))
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["cache-control"] == "no-store"
    assert service.scene.store.last(bytes.fromhex(truck)) is not None


@pytest.mark.parametrize("named", ["headers", "query", "topic"])
def test_owntracks_gets_its_empty_list(service, http, company, named):
    """However OwnTracks names itself, the answer is the empty list of its friends."""
    service.next_slot()
    truck, token = company.truck("fleet/truck-7")
    message = json.loads(as_owntracks(fix_of(service)))
    headers, query = dict(basic(token)), {}
    if named == "headers":
        headers |= {"X-Limit-U": "fleet", "X-Limit-D": "truck-7"}
    elif named == "query":
        query = {"u": "fleet", "d": "truck-7"}
    else:
        message["topic"] = "owntracks/fleet/truck-7"
    answer = http.post("/ingest", json=message, headers=headers, params=query)
    assert (answer.status_code, answer.json()) == (200, [])
    assert answer.headers["content-type"] == "application/json"
    assert service.scene.store.last(bytes.fromhex(truck)) is not None


@pytest.mark.parametrize("body", [b"", b'{"_type": "waypoint"}', b'{"_type": "status"}'])
def test_owntracks_says_other_things_too(service, http, company, body):
    """Messages without a position are taken, answered with the empty list, and forgotten."""
    truck, token = company.truck("fleet/truck-7")
    headers = {"content-type": "application/json", **basic(token)}
    answer = http.post("/ingest", content=body, headers=headers)
    assert (answer.status_code, answer.json()) == (200, [])
    assert service.scene.store.last(bytes.fromhex(truck)) is None


def test_a_trip_fills_the_slots_that_were_missed(service, http, company):
    """A file of a trip of an hour becomes a report for each slot, in one request."""
    start = service.next_slot()
    truck, token = company.truck()
    fixes = [fix_of(service, back=back) for back in range(3600, -1, -100)]
    headers = {"content-type": "application/gpx+xml", **bearer(token)}
    assert http.post("/ingest", content=as_gpx(fixes), headers=headers).status_code == 200
    kept = service.scene.store.after(bytes.fromhex(truck), -1, 100)
    assert [entry.slot for entry in kept] == list(range(start - 3600, start + 1, 300))


def refused(answer, reason):
    document = answer.json()
    assert answer.headers["content-type"] == "application/problem+json"
    assert (document["reason"], answer.status_code) == (reason, status_of(reason))
    assert document["type"] == f"/problems/{reason}"
    assert document["status"] == answer.status_code
    assert document["title"] == REASONS.get(reason, document["title"])
    return document


def test_whatever_is_wrong_with_a_token_the_answer_is_the_same(service, http, company):
    """Unknown, revoked, expired, of another device, or of another role: not one byte differs."""
    service.next_slot()
    truck, foreign = company.truck("another")
    revoked = company.made(f"/trucks/{truck}/devices", {"device": "truck-7"})["token"]
    company.call("DELETE", f"/trucks/{truck}/devices/truck-7")
    short = company.made(f"/trucks/{truck}/devices", {"device": "truck-8", "days": 0.001})
    service.scene.clock.now += 100
    query = query_of(fix_of(service))
    link = company.link(truck)
    tokens = ("a" * 32, "", "é", foreign, revoked, short["token"], company.token, link)
    answers = [http.get(f"/ingest/{token}", params=query) for token in tokens if token]
    for answer in answers:
        refused(answer, "token-refused")
        assert answer.headers["www-authenticate"].startswith("Bearer")
    assert len({answer.content for answer in answers}) == 1
    by_header = [http.get("/ingest", params=query, headers=bearer(t)) for t in tokens[3:]]
    assert {answer.content for answer in by_header} == {answers[0].content}
    assert service.scene.store.last(bytes.fromhex(truck)) is None


def test_a_device_without_a_token_is_told_so(http):
    """A tracker whose token was forgotten is asked for one, by both schemes."""
    answer = http.get("/ingest", params={"id": "truck-7"})
    refused(answer, "token-missing")
    assert answer.headers["www-authenticate"] == 'Bearer realm="voile", Basic realm="voile"'
    refused(http.get("/ingest", headers={"authorization": "Basic !!!"}), "token-missing")


BAD = {
    "unknown-format": {"content": b"\x89PNG", "headers": {"content-type": "image/png"}},
    "not-json": {"content": b'{"_type": '},
    "not-utf-8": {"content": b'{"_type": "\xff"}'},
    "not-nmea": {"content": sentence("GPRMC,123519,A,5200").encode()},
    "not-gpx": {"content": b"<gpx><trk>"},
    "document-type": {"content": b'<!DOCTYPE gpx [<!ENTITY a "b">]><gpx>&a;</gpx>'},
    "nested-too-deeply": {"content": b'{"_type":' + b"[" * 1000 + b"]" * 1000 + b"}"},
    "checksum-wrong": {"content": b"$GPRMC,123519,A,5200.696,N,00421.426,E,1,1,210926,,,A*00"},
    "encrypted": {"content": b'{"_type": "encrypted", "data": "x"}'},
    "not-a-number": {"data": {"id": "truck-7", "lat": "{0}", "lon": "4", "timestamp": "1"}},
    "field-missing": {"data": {"id": "truck-7", "lat": "52.0"}},
    "device-missing": {"data": {"lat": "52.0", "lon": "4", "timestamp": "1"}},
    "time-too-old": {
        "content": as_gpx([Fix("truck-7", 52.0116, 4.3571, 0.0)]),
        "headers": {"content-type": "application/gpx+xml"},
    },
    "time-in-the-future": {
        "data": {"id": "truck-7", "lat": "52", "lon": "4", "timestamp": "9e10"},
    },
    "too-many-fields": {"data": {f"field{n}": "1" for n in range(80)} | {"lat": "1", "lon": "1"}},
}


@pytest.mark.parametrize("reason", BAD)
def test_bad_messages_are_refused_with_their_reason(http, company, reason):
    """What cannot be read gets a problem that names the reason, and repeats nothing."""
    _, token = company.truck()
    request = dict(BAD[reason])
    headers = {**bearer(token), **request.pop("headers", {})}
    document = refused(http.post("/ingest", headers=headers, **request), reason)
    assert "52.0" not in json.dumps(document)


def test_one_bad_position_does_not_hold_back_a_queue(service, http, company):
    """A batch with a position that is refused is taken all the same."""
    service.next_slot()
    truck, token = company.truck()
    good, bad = location(fix_of(service)), location(fix_of(service))
    bad["coords"]["latitude"] = 95
    document = {"location": [bad, good], "device_id": "truck-7"}
    assert http.post("/ingest", json=document, headers=bearer(token)).status_code == 200
    assert service.scene.store.last(bytes.fromhex(truck)) is not None


UNFIT = {
    "time-too-old": {"timestamp": "1"},
    "latitude-out-of-range": {"lat": "95", "lon": "170"},
    "coordinates-swapped": {"lat": "95"},
    "longitude-out-of-range": {"lon": "181"},
    "position-at-origin": {"lat": "0", "lon": "0", "accuracy": ""},
    "no-fix": {"valid": "false"},
    "value-out-of-range": {"altitude": "1e9"},
}


@pytest.mark.parametrize("reason", UNFIT)
def test_a_phone_goes_on_after_a_position_that_nobody_will_take(service, http, company, reason):
    """Right token, hopeless position: 200 and the reason; then what waited behind it is taken."""
    service.next_slot()
    truck, token = company.truck()
    good = query_of(fix_of(service))
    queue, answers = [good | UNFIT[reason], good], []
    while queue:  # as Traccar Client before 9: the oldest again until its status is below 400
        answers.append(http.post(f"/ingest/{token}", params=queue[0]))
        assert len(answers) <= 2, "the phone is stuck"
        if answers[-1].status_code < 400:
            queue.pop(0)
    assert [one.text for one in answers] == [f"not taken: {reason}\n", ""]
    assert service.scene.store.last(bytes.fromhex(truck)) is not None


def test_owntracks_goes_on_too_and_gets_its_list(service, http, company):
    """A position that is too old is answered with the empty list, and nothing is published."""
    truck, token = company.truck("fleet/truck-7")
    old = fix_of(service, "fleet/truck-7", back=8 * 86_400)
    message = {**json.loads(as_owntracks(old)), "topic": "owntracks/fleet/truck-7"}
    answer = http.post("/ingest", json=message, headers=basic(token))
    assert (answer.status_code, answer.json()) == (202, [])
    assert answer.headers["voile-outcome"] == "time-too-old"
    assert service.scene.store.last(bytes.fromhex(truck)) is None


@pytest.mark.parametrize("reason", UNFIT)
def test_a_wrong_token_learns_nothing_of_its_position(service, http, reason):
    """Who has no token is refused for that, whatever the position is."""
    query = query_of(fix_of(service)) | UNFIT[reason]
    refused(http.post("/ingest/wrongtoken-wrongtoken", params=query), "token-refused")


def test_iso_times_are_read(service, http, company):
    """A time in ISO 8601 is as good as a number."""
    service.next_slot()
    _, token = company.truck()
    moment = datetime.fromtimestamp(service.now, UTC).isoformat()
    query = {**query_of(fix_of(service)), "timestamp": moment}
    assert http.get(f"/ingest/{token}", params=query).status_code == 200


@pytest.mark.slow
def test_the_operator_hears_that_a_truck_has_spent_its_budget(tmp_path):
    """The device is told that nothing is published, by 202, and the operator is told so, once."""
    with serving(
        tmp_path, scene=Scene(tmp_path, Settings(budget=6.0, mechanism="correlated-gaussian"))
    ) as service:
        with service.client() as http:
            _, token = service.company(http).truck()
            answers = []
            while not service.told:
                service.next_slot()
                answers.append(service.send(http, token).status_code)
            service.next_slot()
            answers.append(service.send(http, token).status_code)
        assert set(answers[:-2]) == {200}
        assert answers[-2:] == [202, 202]
        (said,) = service.told
        assert "budget" in said
        assert len(list(service.scene.store.in_slots(0, 2**32 - 1, 100))) == len(answers) - 2
