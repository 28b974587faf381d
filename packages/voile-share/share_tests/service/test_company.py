"""What a company sets up, what auditors see, and that nobody sees more."""

from __future__ import annotations

import httpx2 as httpx
import pytest

from share_tests.scene import HOME, Parties
from share_tests.service.server import own_secrets
from voile_base.randomness import Randomness
from voile_share import protocol
from voile_share.ingest import token_hash
from voile_share.protocol.primitives import to_base64url
from voile_share.service.models import decoded

PARTIES = Parties()
SENDER, RECEIVER = (to_base64url(key) for key in PARTIES.keys)


def parcel_of(home=HOME):
    place = None if home is None else {"latitude": home[0], "longitude": home[1]}
    return {"sender": SENDER, "receiver": RECEIVER, "destination": place}


def reason_of(answer: httpx.Response) -> tuple[int, str]:
    assert answer.headers["content-type"] == "application/problem+json"
    return answer.status_code, answer.json()["reason"]


def test_trucks_are_registered_listed_and_retired(company):
    """A company's list holds its trucks, and says which are retired and which hold their keys."""
    plain = company.made("/trucks", {})
    own = protocol.TruckSecrets.draw(b"t" * 16, Randomness.secure())
    number = Randomness.secure().key("truck").secret[:16]
    own = protocol.TruckSecrets(number, own.signing, own.sealing)
    itself = company.made("/trucks", {"card": to_base64url(own.card().encode())})
    assert "token" not in plain
    assert len(itself["token"]) == 32
    assert itself["truck"] == number.hex()
    assert company.call("DELETE", f"/trucks/{plain['truck']}").status_code == 204
    known = company.call("GET", "/trucks").json()["trucks"]
    assert [one["truck"] for one in known] == [plain["truck"], itself["truck"]]
    assert [one["own_keys"] for one in known] == [False, True]
    assert [one["retired"] is None for one in known] == [False, True]
    card = protocol.TruckCard.decode(decoded(known[1]["card"]))
    assert card.truck == number
    again = company.call("POST", "/trucks", json={"card": itself["card"]})
    assert reason_of(again) == (409, "card-taken")


def test_devices_are_admitted_listed_and_revoked(company, service):
    """A token of a device is shown once, and the list says when it was issued and revoked."""
    truck = company.made("/trucks", {})["truck"]
    company.made(f"/trucks/{truck}/devices", {"device": "fleet/truck-7", "days": 2})
    company.made(f"/trucks/{truck}/devices", {"device": "other"})
    assert company.call("DELETE", f"/trucks/{truck}/devices/fleet/truck-7").status_code == 204
    known = company.call("GET", f"/trucks/{truck}/devices").json()["devices"]
    assert [one["device"] for one in known] == ["fleet/truck-7", "other"]
    assert known[0]["expires"] == known[0]["issued"] + 2 * 86_400
    assert [one["revoked"] is None for one in known] == [False, True]
    unknown = company.call("DELETE", f"/trucks/{truck}/devices/never")
    assert reason_of(unknown) == (404, "device-unknown")


def test_parcels_are_put_on_listed_and_delivered(company):
    """Numbers of parcels may hold what addresses must escape; destinations are not told."""
    truck = company.made("/trucks", {})["truck"]
    for number in ("3SABCD", "a%2Fb/c", "P%C3%A9"):
        put = company.call("PUT", f"/trucks/{truck}/parcels/{number}", json=parcel_of())
        assert (put.status_code, put.content) == (204, b"")
    same = company.call("PUT", f"/trucks/{truck}/parcels/3SABCD", json=parcel_of())
    assert same.status_code == 204
    other = company.call("PUT", f"/trucks/{truck}/parcels/3SABCD", json=parcel_of(None))
    assert reason_of(other) == (409, "parcel-carried")
    answer = company.call("GET", f"/trucks/{truck}/parcels")
    known = answer.json()["parcels"]
    assert [one["parcel"] for one in known] == ["3SABCD", "a/b/c", "Pé"]
    assert known[0]["sender"] == SENDER
    assert known[0]["has_destination"] is True
    assert "52.01" not in answer.text
    assert company.call("DELETE", f"/trucks/{truck}/parcels/a/b/c").status_code == 204
    gone = company.call("DELETE", f"/trucks/{truck}/parcels/a/b/c")
    assert reason_of(gone) == (404, "parcel-unknown")


def test_links_open_the_page_and_are_revoked(company, http, service):
    """A link's address is the page's, its number stands in the fragment, and it can be closed."""
    truck = company.made("/trucks", {})["truck"]
    made = company.made(f"/trucks/{truck}/links", {"hours": 2})
    assert made["address"] == f"{service.options.address}/t#{made['link']}."
    assert made["expires"] == service.now + 7200
    headers = {"authorization": f"Bearer {made['link']}"}
    assert http.get("/api/v1/card", headers=headers).status_code == 200
    assert company.call("POST", "/links/revoke", json={"link": made["link"]}).status_code == 204
    assert reason_of(http.get("/api/v1/card", headers=headers)) == (410, "link-revoked")
    brief = company.made(f"/trucks/{truck}/links", {"hours": 1 / 60})["link"]
    service.scene.clock.now += 61
    headers = {"authorization": f"Bearer {brief}"}
    assert reason_of(http.get("/api/v1/card", headers=headers)) == (410, "link-expired")


def test_a_link_is_closed_without_its_number(company, http, service):
    """A company finds what it has opened by an id that opens nothing, and closes it by that."""
    truck = company.made("/trucks", {})["truck"]
    stolen, other = (company.made(f"/trucks/{truck}/links", {"hours": 2}) for _ in range(2))
    brief = company.made(f"/trucks/{truck}/links", {"hours": 1})
    answer = company.call("GET", f"/trucks/{truck}/links")
    assert [one["id"] for one in answer.json()["links"]] == [
        one["id"] for one in (stolen, other, brief)
    ]
    assert stolen["link"] not in answer.text
    opened = http.get("/api/v1/card", headers={"authorization": f"Bearer {stolen['id']}"})
    assert reason_of(opened) == (401, "link-unknown")
    for _ in range(2):
        closed = company.call("POST", "/links/revoke", json={"id": stolen["id"]})
        assert closed.status_code == 204
    headers = {"authorization": f"Bearer {stolen['link']}"}
    assert reason_of(http.get("/api/v1/card", headers=headers)) == (410, "link-revoked")
    headers = {"authorization": f"Bearer {other['link']}"}
    assert http.get("/api/v1/card", headers=headers).status_code == 200
    revoked_at = service.now
    service.scene.clock.now += 3600
    known = company.call("GET", f"/trucks/{truck}/links").json()["links"]
    assert known == [
        {
            "id": one["id"],
            "created": one["expires"] - 7200,
            "expires": one["expires"],
            "revoked": revoked,
            "label": "",
            "follows_parcel": False,
            "truck": truck,
        }
        for one, revoked in ((stolen, revoked_at), (other, None))
    ]
    unknown = company.call("POST", "/links/revoke", json={"id": "0" * 16})
    assert reason_of(unknown) == (404, "not-found")


def calls_of_a_company(truck, link):
    return [
        ("GET", "/trucks", None),
        ("POST", "/trucks", {}),
        ("DELETE", f"/trucks/{truck}", None),
        ("POST", f"/trucks/{truck}/devices", {"device": "x"}),
        ("GET", f"/trucks/{truck}/devices", None),
        ("DELETE", f"/trucks/{truck}/devices/truck-7", None),
        ("PUT", f"/trucks/{truck}/parcels/P", parcel_of()),
        ("GET", f"/trucks/{truck}/parcels", None),
        ("DELETE", f"/trucks/{truck}/parcels/P", None),
        ("POST", f"/trucks/{truck}/links", {"hours": 1}),
        ("GET", f"/trucks/{truck}/links", None),
        ("POST", "/links/revoke", {"link": link}),
        ("POST", "/links/revoke", {"id": token_hash(link).hex()[:16]}),
    ]


def test_another_company_sees_and_changes_nothing(company, service, http):
    """What is another company's is unknown, whatever one asks of it."""
    truck, _ = company.truck()
    link = company.link(truck)
    company.call("PUT", f"/trucks/{truck}/parcels/P", json=parcel_of())
    stranger = service.company(http, "Stranger")
    for method, path, document in calls_of_a_company(truck, link)[2:]:
        answer = stranger.call(method, path, json=document)
        assert reason_of(answer) in ((404, "truck-unknown"), (404, "not-found")), path
    assert stranger.call("GET", "/trucks").json() == {"trucks": []}
    assert len(company.call("GET", f"/trucks/{truck}/parcels").json()["parcels"]) == 1
    assert company.call("GET", f"/trucks/{truck}/devices").json()["devices"][0]["revoked"] is None


@pytest.mark.slow
def test_only_a_companys_own_token_opens_its_door(company, service, http):
    """Tokens of other roles, in other places, or after the company was closed open nothing."""
    truck, device = company.truck()
    link = company.link(truck)
    auditor = service.scene.platform.open_auditor("A")
    for method, path, document in calls_of_a_company(truck, link)[1:]:
        for token in (device, link, auditor, "x" * 32):
            headers = {"authorization": f"Bearer {token}"}
            answer = http.request(method, f"/api/v1{path}", json=document, headers=headers)
            assert reason_of(answer) == (401, "token-refused")
        for attempt in (
            {"params": {"token": company.token}},
            {"headers": {"authorization": company.token}},
            {"headers": {"authorization": f"Basic {company.token}"}},
            {"cookies": {"token": company.token}},
        ):
            with httpx.Client(base_url=service.address, trust_env=False, **attempt) as lone:
                answer = lone.request(method, f"/api/v1{path}", json=document)
            assert reason_of(answer) == (401, "token-missing")
    service.scene.platform.close_company(company.number)
    assert reason_of(company.call("GET", "/trucks")) == (401, "token-refused")


def test_auditors_follow_the_records_of_all_trucks(company, service, http):
    """From records alone an auditor checks who published when; nothing else opens to it."""
    truck, device = company.truck()
    for _ in range(3):
        service.next_slot()
        assert service.send(http, device).status_code == 200
    headers = {"authorization": f"Bearer {service.scene.platform.open_auditor('A')}"}
    listed = http.get("/api/v1/trucks", headers=headers).json()["trucks"]
    assert truck in [one["truck"] for one in listed]
    read = http.get(f"/api/v1/trucks/{truck}/records", headers=headers).json()
    auditor = protocol.Auditor(protocol.TruckCard.decode(decoded(read["card"])))
    for record in read["records"]:
        auditor = auditor.follow(decoded(record))
    assert (auditor.sequence, auditor.last) == (3, int(service.now))
    later = http.get(f"/api/v1/trucks/{truck}/records", params={"from": 2}, headers=headers)
    assert later.json()["records"] == read["records"][2:]
    unknown = http.get(f"/api/v1/trucks/{'0' * 32}/records", headers=headers)
    assert reason_of(unknown) == (404, "truck-unknown")
    assert reason_of(company.call("GET", f"/trucks/{truck}/records")) == (401, "token-refused")


@pytest.mark.parametrize(
    ("path", "document", "where"),
    [
        ("/trucks", {"card": "ä" * 7}, "body.card"),
        ("/trucks", {"card": 7}, "body.card"),
        ("/trucks", {"secretfield": 1}, "body.?"),
        ("/trucks", [], "body"),
        ("/links/revoke", {"link": ""}, "body.link"),
        ("/trucks/{t}/devices", {}, "body.device"),
        ("/trucks/{t}/devices", {"device": "x", "days": 1e300}, "body.days"),
        ("/trucks/{t}/devices", {"device": "x", "days": "secretdays"}, "body.days"),
        ("/links/revoke", {"id": "SECRET"}, "body.id"),
        ("/links/revoke", {"link": "secret", "id": "0" * 16}, "body"),
        ("/links/revoke", {}, "body"),
        ("/trucks/{t}/links", {"hours": 0}, "body.hours"),
        ("/trucks/{t}/links", {"hours": 0.016}, "body.hours"),
        ("/trucks/{t}/links", {"hours": 745}, "body.hours"),
        ("/trucks/secrettruck/links", {"hours": 1}, "path.truck"),
    ],
)
def test_bad_requests_say_where_and_repeat_nothing(company, path, document, where):
    """A problem names the part and the field, never the value or a field that was made up."""
    truck = company.made("/trucks", {})["truck"]
    answer = company.call("POST", path.replace("{t}", truck), json=document)
    assert reason_of(answer) == (422, "invalid-request")
    assert [one["where"] for one in answer.json()["errors"]] == [where]
    assert "secret" not in answer.text


@pytest.mark.parametrize(
    "body", [b"{", b"\xff", b"[" * 5000, b'{"hours": NaN}', b'{"hours": ' + b"9" * 5000 + b"}"]
)
def test_bodies_that_are_no_json_are_bad_requests(company, body):
    """JSON that is broken, too deep or too long in a number is the caller's mistake."""
    truck = company.made("/trucks", {})["truck"]
    headers = {**company.headers, "content-type": "application/json"}
    answer = company.http.post(f"/api/v1/trucks/{truck}/links", content=body, headers=headers)
    assert reason_of(answer) == (422, "invalid-request")


def test_devices_and_links_have_bounds(company):
    """Names that cannot be printed, parcels that are too long and keys that are none are named."""
    truck = company.made("/trucks", {})["truck"]
    unfit = company.call("POST", f"/trucks/{truck}/devices", json={"device": "a\nb"})
    assert reason_of(unfit) == (422, "device-unfit")
    long = company.call("PUT", f"/trucks/{truck}/parcels/{'é' * 33}", json=parcel_of())
    assert reason_of(long) == (422, "parcel-unfit")
    anybodys = to_base64url(bytes(32))
    for party, key in (("sender", RECEIVER), ("sender", anybodys), ("receiver", anybodys)):
        carried = {**parcel_of(), party: key}
        refused = company.call("PUT", f"/trucks/{truck}/parcels/P", json=carried)
        assert reason_of(refused) == (422, "key-unfit")
    unfit = company.call("POST", "/trucks", json={"card": to_base64url(b"no card")})
    assert reason_of(unfit) == (422, "card-unfit")
    assert reason_of(company.call("POST", "/trucks", json={"card": "A"})) == (422, "card-unfit")


def test_nothing_is_a_problem_too(http):
    """Addresses where nothing is and methods that are not there are answered by problems."""
    missing = http.get("/nowhere/secret")
    assert reason_of(missing) == (404, "not-found")
    assert "secret" not in missing.text
    wrong = http.patch("/api/v1/trucks")
    assert reason_of(wrong) == (405, "method-not-allowed")
    assert wrong.headers["allow"] in {"GET", "POST", "GET, POST"}
    assert reason_of(http.get("/api/v1/trucks/")) == (404, "not-found")
    assert reason_of(http.get("/docs")) == (404, "not-found")


def test_a_company_sees_what_a_day_of_its_truck_has_cost(service, http, company):
    """A report costs as documented, one of a truck that stands nothing; days begin anew.

    Others learn nothing of it.
    """
    service.next_slot()
    truck, token = company.truck()
    path = f"/trucks/{truck}/spending"
    spent = []
    for _ in range(2):
        service.send(http, token)
        spent.append(company.call("GET", path).json())
        service.next_slot()
    terms = {"budget": None, "delta": 1e-5, "distance": 100.0}
    assert [one | terms for one in spent] == spent
    assert spent[0]["spent"] == pytest.approx(9.2, abs=0.05)
    assert spent[1]["spent"] == spent[0]["spent"]
    service.scene.clock.now += 86_400
    assert company.call("GET", path).json()["spent"] == 0
    other = service.company(http, "Another")
    assert other.call("GET", path).status_code == 404
    itself = company.made(
        "/trucks", {"card": to_base64url(own_secrets(Randomness.secure()).card().encode())}
    )
    assert company.call("GET", f"/trucks/{itself['truck']}/spending").json()["reason"] == "own-keys"
