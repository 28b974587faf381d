"""The service on an embedded chain, over HTTP."""

from __future__ import annotations

import time
from base64 import urlsafe_b64encode

import httpx2 as httpx
import pytest

from share_tests.service.chain.scenes import Served
from share_tests.service.server import Company, own_secrets, serving
from voile_base.randomness import Randomness
from voile_share import protocol
from voile_share.chain import Contract, Deployment, EmbeddedChain, Inclusion, check_anchored
from voile_share.service.folder import Configuration, create, open_platform
from voile_testing.processes import wait_until


def test_a_service_on_an_embedded_chain_registers_trucks_by_itself(tmp_path):
    """Over HTTP: a truck is added, its tracker reports, and the record is on the chain."""
    folder = tmp_path / "service"
    create(folder)
    (folder / "share.toml").write_text('[chain]\nurl = "embedded"\npoll = 0.05\n')
    node = EmbeddedChain()
    platform = open_platform(folder, Configuration.read(folder), node)
    scene = Served(platform)
    with serving(folder, scene=scene) as service, service.client() as http:
        company: Company = service.company(http)
        refused = company.call("POST", "/trucks", json={"card": _card()})
        assert (refused.status_code, refused.json()["reason"]) == (409, "own-keys")
        _, token = company.truck()
        answers = []

        def is_taken() -> bool:
            answers.append(_send_position(http, token))
            return answers[-1].status_code != 503

        wait_until(is_taken, "the truck is never registered")
        assert {one.json()["reason"] for one in answers[:-1]} <= {"store-unavailable"}
        assert answers[-1].status_code == 200
    publishes = Contract.publish(b"")[:4]
    assert [one.data[:4] for one in node.mined()].count(publishes) == 1


@pytest.mark.slow
def test_a_service_gives_out_proofs(tmp_path):
    """In mode anchor the holder of a link gets what proves a report to strangers, and 404 else."""
    folder = tmp_path / "service"
    create(folder)
    (folder / "share.toml").write_text('[chain]\nurl = "embedded"\nmode = "anchor"\npoll = 0.05\n')
    node = EmbeddedChain()
    platform = open_platform(folder, Configuration.read(folder), node)
    with serving(folder, scene=Served(platform)) as service, service.client() as http:
        company = service.company(http)
        truck, token = company.truck()
        platform.settle()
        assert _send_position(http, token).status_code == 200
        link = {"authorization": f"Bearer {company.link(truck)}"}
        opened = platform.link_of(link["authorization"].removeprefix("Bearer "))
        last = platform.last_report(opened)
        answer = http.get(f"/api/v1/slots/{last.slot}/proof", headers=link)
        assert answer.status_code == 200
        nothing = http.get(f"/api/v1/slots/{last.slot - 300}/proof", headers=link)
        assert (nothing.status_code, nothing.json()["reason"]) == (404, "not-found")
    made = next(one.to for one in node.mined() if one.data == Contract.creation())
    record = protocol.Report.decode(last.message).record().encode()
    place = Deployment(node.identity(), made, 0)
    assert check_anchored(node, place, record, Inclusion.decode(answer.content)).number == 0


def _card() -> str:
    card = own_secrets(Randomness.seeded(4)).card().encode()
    return urlsafe_b64encode(card).rstrip(b"=").decode()


def _send_position(http: httpx.Client, token: str) -> httpx.Response:
    query = {"id": "truck-7", "lat": "52.01", "lon": "4.36", "timestamp": f"{time.time():.0f}"}
    return http.get("/ingest", params=query, headers={"authorization": f"Bearer {token}"})
