"""The OpenAPI description says what the service does, its problems too."""

from __future__ import annotations

import json

import pytest

from voile_share.ingest import REASONS
from voile_share.platform import REFUSALS
from voile_share.protocol import Reason
from voile_share.service.app import description
from voile_share.service.problems import COMMON, TITLES, document_of, status_of
from voile_testing.plugin import ROOT

DOCUMENT = description()
OPERATIONS = {
    f"{method.upper()} {path}": operation
    for path, operations in DOCUMENT["paths"].items()
    for method, operation in operations.items()
}
OPEN = {
    "GET /healthz": set(),
    "GET /readyz": set(),
    "GET /problems/{reason}": set(),
    "GET /map/roads.json": set(),
    "GET /t": set(),
    "GET /ingest/{token}": set(),
    "POST /ingest/{token}": set(),
}


def reasons_of(operation) -> dict[str, set[str]]:
    return {
        status: set(answer["content"]["application/problem+json"]["examples"])
        for status, answer in operation["responses"].items()
        if int(status) >= 400
    }


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_has_its_problems(name):
    """Each names its problems under their statuses, the common ones too, as they are sent."""
    operation = OPERATIONS[name]
    assert operation["summary"]
    assert operation["description"]
    for status, answer in operation["responses"].items():
        if int(status) >= 400:
            content = answer["content"]["application/problem+json"]
            assert content["schema"] == {"$ref": "#/components/schemas/Problem"}
            for reason, example in content["examples"].items():
                assert str(status_of(reason)) == status
                assert example["value"] == document_of(reason)
    named = set().union(*reasons_of(operation).values())
    assert set(COMMON) <= named
    if name not in OPEN:
        assert operation["security"]
        assert "token-missing" in named
    if "{truck}" in name and "/records" not in name:
        assert {"truck-unknown", "truck-retired"} <= named


def test_trackers_may_get_all_reasons_of_ingest():
    """What is documented for trackers holds every reason of the decoders."""
    for name in ("GET /ingest", "POST /ingest", "GET /ingest/{token}", "POST /ingest/{token}"):
        assert set(REASONS) <= set().union(*reasons_of(OPERATIONS[name]).values())


def test_every_reason_has_a_meaning_and_some_operation_names_it():
    """No reason of any room lacks a title; each is documented, but those without a request."""
    everything = {*REASONS, *REFUSALS, *(reason.value for reason in Reason)}
    assert everything <= set(TITLES)
    named = set()
    for operation in OPERATIONS.values():
        named |= set().union(*reasons_of(operation).values())
    assert set(TITLES) - named == {
        *("conflict", "method-not-allowed", "name-unfit", "foreign-site")
    }


def test_statuses_suit_what_clients_do():
    """What may be tried again is 429 or 503; what is gone is 410; nothing else is 5xx."""
    assert {reason for reason in TITLES if status_of(reason) >= 500} == {
        *("busy", "store-unavailable", "fault")
    }
    assert {reason for reason in TITLES if status_of(reason) == 401} == {
        *("token-refused", "token-missing", "link-unknown")
    }
    assert {reason for reason in TITLES if status_of(reason) == 410} == {
        *("link-expired", "link-revoked")
    }


def test_operations_have_names_of_their_own():
    """Programs that are generated from the description get names that people chose."""
    names = [operation["operationId"] for operation in OPERATIONS.values()]
    assert len(set(names)) == len(names)
    assert all(name.isidentifier() for name in names)


def test_the_description_loads_nothing_and_refers_to_what_is_there():
    """Every reference has its target, and no address of another host is named."""
    text = json.dumps(DOCUMENT)
    for part in text.split('"$ref": "')[1:]:
        place = DOCUMENT
        for step in part.partition('"')[0].removeprefix("#/").split("/"):
            place = place[step]
    assert "HTTPValidationError" not in text


def test_the_documentation_shows_every_operation_and_reason():
    """The page for engineers names every route and every reason of the service."""
    page = (ROOT / "docs" / "sharing-service.md").read_text()
    trackers = (ROOT / "docs" / "trackers.md").read_text()
    for name in OPERATIONS:
        assert name.split("/api/v1")[-1].split(" ")[-1] in page, name
    for reason in TITLES:
        assert f"`{reason}`" in page or f"`{reason}`" in trackers, reason
