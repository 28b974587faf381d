"""``voile share carrier``: it vouches for trucks whose card its company has said."""

from __future__ import annotations

import json
import sys
import time
from io import StringIO

import pytest

from share_tests.parties.malicious import Malicious
from share_tests.scene import Scene
from share_tests.service.server import serving

PARCEL = "3SABCD"


@pytest.fixture
def service(tmp_path_factory):
    """By the real clock."""
    folder = tmp_path_factory.mktemp("service")
    with serving(folder, scene=Scene(folder, clock=time.time)) as running:
        yield running


@pytest.fixture
def carrier(desk, service, monkeypatch):
    """The folder of a carrier that has taken a parcel on, and the number and card of its truck."""
    with service.client() as http:
        company = service.company(http)
        truck, _ = company.truck()
        (shown,) = company.call("GET", "/trucks").json()["trucks"]
    monkeypatch.setattr(sys, "stdin", StringIO(company.token + "\n"))
    init = ("share", "carrier", "init", desk / "carrier", "--platform", service.address, "--json")
    key = desk.run(*init).document["carrier"]
    assert desk.run("share", "party", "init", desk / "keys").status == 0
    consign = ("share", "party", "consign", desk / "keys", "--parcel", PARCEL, "--carrier", key)
    (desk / "parcel.json").write_text(json.dumps(desk.run(*consign).document))
    taken = desk.run("share", "carrier", "take", desk / "carrier", desk / "parcel.json", "--json")
    assert sorted(taken.document) == ["receiver", "sender"]
    return desk / "carrier", truck, shown["card"]


def stage(desk, folder) -> str:
    return desk.run("share", "carrier", "list", folder, "--json").document["parcels"][0]["stage"]


@pytest.mark.slow
def test_a_truck_is_loaded_when_its_card_was_pinned(desk, carrier, monkeypatch):
    """Not before; not where the platform shows another card; and never by a card of nonsense."""
    folder, truck, card = carrier
    load = ("share", "carrier", "load", folder, PARCEL, "--truck", truck)
    pin = ("share", "carrier", "pin", folder)
    assert "or say --trust-platform" in desk.fails(2, *load)
    assert "no card of a truck" in desk.fails(2, *pin, "AAAA")
    assert desk.run(*pin, card).status == 0
    assert "pin it anew" in desk.fails(2, *load)
    assert desk.run(*pin, card, "--keys-at-platform").status == 0
    with monkeypatch.context() as patch:
        malicious = Malicious.between(patch)
        assert "another card" in desk.fails(2, *load, "--trust-platform")
        assert malicious.told == []
    assert stage(desk, folder) == "awaited"
    assert desk.run(*load).status == 0
    assert stage(desk, folder) == "aboard"


def test_who_trusts_the_platform_says_so(desk, carrier):
    """Then what it shows is pinned, and is to stay."""
    folder, truck, card = carrier
    load = ("share", "carrier", "load", folder, PARCEL, "--truck", truck)
    assert desk.run(*load, "--trust-platform").status == 0
    assert card in (folder / "trucks.json").read_text()
    assert desk.run(*load).status == 0
