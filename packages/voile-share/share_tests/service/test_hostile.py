"""Requests that are made up, over the whole surface of the service.

Schemathesis makes them from the OpenAPI description: fitting ones and such as break it.  Whatever
comes, nothing is a server error, no answer is another than the description says, and nothing opens
without its token.
"""

from __future__ import annotations

import time

import httpx2 as httpx
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from share_tests.service.server import Service, own_secrets
from voile_base.randomness import Randomness
from voile_share.platform.trucks import REMEDIES
from voile_share.service.app import description
from voile_testing.processes import PATIENCE

SCHEMA = schemathesis.openapi.from_dict(description())
OPEN = ("/healthz", "/readyz", "/problems/{reason}", "/map/roads.json", "/t")
KNOWN = {"not_a_server_error": CHECKS.get_one("not_a_server_error")}
CONFORMING = [
    *KNOWN.values(),
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
FEW, MANY = 3, 80


def bounded(examples: int) -> settings:
    return settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


@pytest.fixture(scope="module")
def session():
    with requests.Session() as held:
        held.trust_env = False
        yield held


@pytest.fixture(scope="module")
def doors(service: Service, http: httpx.Client) -> dict[str, str]:
    """Tokens by role, and the truck that they are about."""
    company = service.company(http, "Hostile")
    truck, device = company.truck()
    itself = service.scene.platform
    held = itself.company_of(company.token)
    card = own_secrets(Randomness.secure()).card().encode()
    _, own = itself.add_truck(held, card)
    return {
        "company": company.token,
        "device": device,
        "truck-token": own,
        "auditor": itself.open_auditor("H"),
        "link": company.link(truck, hours=700),
        "truck": truck,
    }


def role_of(case) -> str | None:
    """Whose token an operation needs."""
    path = case.operation.path
    if path in OPEN:
        return None
    if path.startswith("/ingest"):
        return "device"
    if path in {"/api/v1/feed", "/api/v1/card"} or path.startswith("/api/v1/slots"):
        return "link"
    if path.startswith("/api/v1/reports"):
        return "truck-token"
    if path == "/api/v1/mail":
        return "link" if case.method == "POST" else "truck-token"
    return "auditor" if path.endswith("/records") else "company"


def call(session, service, case, token: str | None) -> requests.Response:
    """Send a case, with this token alone."""
    request = case.as_transport_kwargs(base_url=service.address)
    headers = {
        name: value
        for name, value in dict(request.pop("headers", None) or {}).items()
        if name.lower() != "authorization"
    }
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    streams = case.operation.path == "/api/v1/feed"
    return session.request(**request, headers=headers, stream=streams, timeout=PATIENCE)


def checked(case, answer: requests.Response) -> None:
    if case.operation.path == "/api/v1/feed" and answer.status_code == 200:
        answer.close()
        return
    assert answer.status_code < 500, answer.text
    assert "Traceback" not in answer.text
    case.validate_response(answer, checks=CONFORMING)


def deny(session, service, case, doors, other: str) -> None:
    """No token, a made-up one and one of another role open nothing."""
    role = role_of(case)
    if role is None:
        return
    foreign = [token for name, token in doors.items() if name not in {role, "truck"}]
    if role == "company" and case.operation.path == "/api/v1/trucks" and case.method == "GET":
        foreign.remove(doors["auditor"])
    for token in (None, other, *foreign[:2]):
        if case.operation.path == "/ingest/{token}":
            if not (case.path_parameters or {}).get("token"):
                continue
            case.path_parameters["token"] = token or "none"
        answer = call(session, service, case, token)
        assert answer.status_code not in range(200, 400), (case.operation.path, token)
        assert answer.status_code < 500
        assert answer.headers["content-type"] == "application/problem+json"


def admit(session, service, case, doors, *, known: bool) -> None:
    """With the right token the answer is one that the description names."""
    parameters = case.path_parameters or {}
    if known and "truck" in parameters:
        parameters["truck"] = doors["truck"]
    if case.operation.path == "/ingest/{token}" and known:
        parameters["token"] = doors["device"]
    retires = case.method == "DELETE" and case.operation.path == "/api/v1/trucks/{truck}"
    if retires and known:
        return
    role = role_of(case)
    checked(case, call(session, service, case, None if role is None else doors[role]))


TOKENS = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=50)
"""Texts that a header can hold."""


def every_operation(test):
    """A test of each operation, with requests that fit it and requests that do not."""
    cases = {
        one.label: _cases(one) for one in (found.ok() for found in SCHEMA.get_all_operations())
    }
    return pytest.mark.parametrize("cases", cases.values(), ids=cases.keys())(test)


def _cases(operation):
    return st.one_of(
        operation.as_strategy(generation_mode=GenerationMode.POSITIVE),
        operation.as_strategy(generation_mode=GenerationMode.NEGATIVE),
    )


@every_operation
@bounded(FEW)
@given(data=st.data())
def test_nothing_opens_without_its_token(cases, data, service, session, doors):
    """Requests of any shape, without the token that they need, are refused by a problem."""
    deny(session, service, data.draw(cases), doors, data.draw(TOKENS))


def assert_no_fault(service, before):
    """Since ``before`` the operator was told of trackers at most, in the sentences for them."""
    assert set(service.told[before:]) <= set(REMEDIES.values())


@every_operation
@bounded(FEW)
@given(data=st.data())
def test_every_answer_is_one_that_is_described(cases, data, service, session, doors):
    """Requests of any shape, with the right token, get what the description says and no 5xx."""
    before = len(service.told)
    admit(session, service, data.draw(cases), doors, known=data.draw(st.booleans()))
    assert_no_fault(service, before)


@pytest.mark.slow
@every_operation
@bounded(MANY)
@given(data=st.data())
def test_nothing_opens_without_its_token_at_length(cases, data, service, session, doors):
    """As above, many more."""
    deny(session, service, data.draw(cases), doors, data.draw(TOKENS))


@pytest.mark.slow
@every_operation
@bounded(MANY)
@given(data=st.data())
def test_every_answer_is_one_that_is_described_at_length(cases, data, service, session, doors):
    """As above, many more."""
    before = len(service.told)
    admit(session, service, data.draw(cases), doors, known=data.draw(st.booleans()))
    assert_no_fault(service, before)


@pytest.mark.parametrize("octets", [b"\x00", b"\r\n\r\n", b"GET", b"\xff" * 500, b"PRI * HTTP/2.0"])
def test_the_service_lives_on_whatever_comes(service, http, octets):
    """Octets that are no request do no harm to those that are."""
    with service.connection() as connection:
        connection.sendall(octets)
    time.sleep(0.05)
    assert http.get("/healthz").status_code == 200
