"""``voile share chain`` and ``voile share verify``: a contract, and readers who trust nobody."""

from __future__ import annotations

import re
import stat
from base64 import urlsafe_b64encode
from contextlib import closing
from datetime import UTC, datetime
from time import time

import pytest

from voile_share import chain
from voile_share.chain import EmbeddedChain, Web3Chain, signer
from voile_share.ingest import Request
from voile_share.service.folder import Configuration, open_platform
from voile_testing.processes import PATIENCE

URL = "http://127.0.0.1:1"


@pytest.fixture(scope="module")
def node() -> EmbeddedChain:
    return EmbeddedChain()


@pytest.fixture
def folder(desk, node, monkeypatch):
    """A service, and a node that answers at ``URL``."""
    monkeypatch.setattr(Web3Chain, "connect", lambda url: node)
    assert desk.run("share", "init", desk / "service").status == 0
    return desk / "service"


def deployed(desk, folder, node) -> str:
    """The operator's account, which has made the contract and is certified."""
    account = desk.run("share", "chain", "account", folder).stdout.strip()
    node.fund(bytes.fromhex(account[2:]), 5)
    assert desk.run("share", "chain", "deploy", folder, "--url", URL).status == 0
    assert desk.run("share", "chain", "certify", folder).status == 0
    return account


def test_an_account_is_made_once_for_its_owner_alone(desk, folder):
    """The key stands in a file of its own; the address stays the same and is all that is said."""
    first = desk.run("share", "chain", "account", folder, "--json").document["account"]
    assert re.fullmatch("0x[0-9a-fA-F]{40}", first)
    key = folder / "chain.key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert signer(bytes.fromhex(key.read_text())).address == first
    again = desk.run("share", "chain", "account", folder)
    assert again.stdout.strip() == first
    assert key.read_text().strip() not in again.stdout + again.stderr
    assert key.read_text().strip() not in (folder / "share.toml").read_text()


@pytest.mark.slow
def test_a_contract_is_made_and_the_service_runs_on_it(desk, folder, node):
    """From an empty folder to a report that `verify` finds on the chain, by commands."""
    account = deployed(desk, folder, node)
    table = Configuration.read(folder).chain
    assert table.url == URL
    made = chain.Contract(node, table.deployment)
    assert made.is_certified(bytes.fromhex(account[2:]))
    with closing(open_platform(folder, Configuration.read(folder))) as platform:
        company, _ = platform.open_company("Post")
        truck, _ = platform.add_truck(company)
        before = desk.run("share", "chain", "show", folder, "--json").document
        platform.settle()
        card = urlsafe_b64encode(truck.card).rstrip(b"=").decode()
        place = ("--url", URL, "--contract", table.contract)
        assert "no report of truck" in desk.fails(2, "share", "verify", card, *place)
        token = platform.add_device(company, truck.truck, "truck-7")
        query = f"id=truck-7&lat=52.01&lon=4.36&timestamp={time():.0f}"
        assert platform.receive(token, Request(query=query)).result(PATIENCE).outcome == "published"
        after = desk.run("share", "chain", "show", folder, "--json").document
    assert [one["registered"] for one in before["trucks"]] == [False]
    [shown] = after["trucks"]
    assert (shown["truck"], shown["registered"], shown["retired"]) == (
        truck.truck.hex(),
        True,
        False,
    )
    assert 0.04 < shown["ether"] <= 0.05
    assert after["owner"] == after["account"] == account.lower()
    assert after["certified"]
    assert after["waiting"] == 0
    assert after["last_block_read"] == after["newest_block"]
    shown = desk.run("share", "chain", "show", folder).stdout
    assert truck.truck.hex() in shown
    checked = desk.run("share", "verify", card, *place, "--json").document
    assert checked["truck"] == truck.truck.hex()
    assert [one["record"] for one in checked["records"]] == [0]
    day = datetime.fromtimestamp(checked["records"][0]["slot"], UTC).strftime("%Y-%m-%d")
    assert day in desk.run("share", "verify", card, *place, "--block", table.block).stdout
    wrong = desk.fails(2, "share", "verify", card, "--url", URL, "--contract", "0x" + "12" * 20)
    assert "no contract" in wrong
    assert "base64url" in desk.fails(2, "share", "verify", "?", *place)


def test_another_company_is_certified_and_withdrawn(desk, folder, node):
    """The owner names it by its address."""
    deployed(desk, folder, node)
    other = "0x" + "ab" * 20
    made = chain.Contract(node, Configuration.read(folder).chain.deployment)
    assert desk.run("share", "chain", "certify", folder, other, "--json").document == {
        "company": other,
        "certified": True,
    }
    assert made.is_certified(bytes.fromhex(other[2:]))
    assert desk.run("share", "chain", "certify", folder, other, "--withdraw").status == 0
    assert not made.is_certified(bytes.fromhex(other[2:]))
    assert "40 hexadecimal" in desk.fails(2, "share", "chain", "certify", folder, "0x12")


def test_what_is_missing_is_said(desk, folder, node):
    """No account, no money, no node, no table, and a contract that is there already."""
    deploy = ("share", "chain", "deploy", folder)
    assert "--url" in desk.fails(2, *deploy)
    assert "voile share chain account" in desk.fails(2, *deploy, "--url", URL)
    assert "voile share chain deploy" in desk.fails(2, "share", "chain", "show", folder)
    assert desk.run("share", "chain", "account", folder).status == 0
    assert "has no money" in desk.fails(2, *deploy, "--url", URL)
    deployed(desk, folder, node)
    assert "names a contract already" in desk.fails(2, *deploy)
    (folder / "share.toml").write_text('[chain]\nurl = "embedded"\n')
    assert "keeps nothing" in desk.fails(2, "share", "chain", "show", folder)
    assert "by itself" in desk.fails(2, *deploy)


@pytest.mark.slow
def test_one_process_sends(desk, folder, node):
    """More workers than one are refused: accounts send for one process at a time."""
    deployed(desk, folder, node)
    text = (
        (folder / "share.toml")
        .read_text()
        .replace("[store]\n", '[store]\nurl = "postgresql:///x"\n')
    )
    (folder / "share.toml").write_text(text)
    assert "from one process" in desk.fails(2, "share", "serve", folder, "--workers", "2")
