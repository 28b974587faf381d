"""Trucks on the chain: who is registered and retired, and what they pay with."""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import pytest

from share_tests.chain.scenes import QUICK, account
from share_tests.service.chain.scenes import OnChain, away
from voile_share.chain import ChainError, Contract, ContractAccount, RevertedError, address_of
from voile_share.platform import SlotOutcome
from voile_share.service import on_chain
from voile_share.store import StoreError


@pytest.mark.slow
def test_registration_is_tried_again_until_the_company_is_certified(on, node):
    """While the company is not certified `settle` says so; afterwards trucks publish."""
    scene = on("log")
    operator = account("operator")
    registry = ContractAccount(node, scene.deployment, operator, QUICK)
    registry.withdraw(address_of(operator))
    _, token = scene.truck(scene.company())
    with pytest.raises(RevertedError, match="not-certified"):
        scene.platform.settle()
    with pytest.raises(RevertedError):
        scene.send(token)
    registry.certify(address_of(operator))
    scene.platform.settle()
    assert scene.send(token) is SlotOutcome.PUBLISHED


@pytest.mark.slow
def test_a_retired_truck_is_retired_on_the_chain(on, node):
    """Its account may not publish any more."""
    scene = on("log")
    company = scene.company()
    truck, _ = scene.truck(company)
    scene.platform.settle()
    contract = Contract(node, scene.deployment)
    assert contract.is_open(truck.truck)
    scene.platform.retire_truck(company, truck.truck)
    scene.platform.settle()
    assert not contract.is_open(truck.truck)
    scene.platform.settle()


@pytest.mark.slow
def test_accounts_of_trucks_are_filled_within_bounds(on, node):
    """A truck's account is filled to what is said, and again when a quarter is left; no more."""
    scene = on("log", truck_ether=0.002)
    truck, _ = scene.truck(scene.company())
    scene.platform.settle()
    mine = scene.fleet.address(truck.truck)
    assert node.balance(mine) == scene.options.truck_wei
    before = node.balance(address_of(account("operator")))
    scene.fleet._filled = float("-inf")
    scene.platform.settle()
    assert node.balance(mine) == scene.options.truck_wei
    assert node.balance(address_of(account("operator"))) == before


@pytest.mark.slow
def test_who_fills_accounts_by_hand_is_told_which(on, node):
    """With `fill = false` the error names the account that needs money; other trucks publish."""
    scene = on("log", fill=False)
    company = scene.company()
    poor, _ = scene.truck(company)
    rich, token = scene.truck(company, "rich")
    node.fund(scene.fleet.address(rich.truck), 0.1)
    with pytest.raises(ChainError, match=scene.fleet.address(poor.truck).hex()):
        scene.platform.settle()
    assert scene.send(token, device="rich") is SlotOutcome.PUBLISHED


def test_accounts_are_derived_and_differ(on, node):
    """The account of a truck is the same after a restart, another truck's and vault's is not."""
    scene = on("log")
    one, other = b"1" * 16, b"2" * 16
    first = scene.fleet.address(one)
    assert first != scene.fleet.address(other)
    stored = b"".join(path.read_bytes() for path in scene.folder.iterdir())
    key = bytes(scene.fleet._derived(one).key)
    assert key not in stored
    assert key.hex().encode() not in stored
    assert scene.reopened().fleet.address(one) == first


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["log", "anchor"])
def test_trucks_of_a_closed_company_are_retired_on_the_chain(on, node, mode, monkeypatch):
    """They may not publish any more, as soon as the node answers; those of others go on."""
    scene = on(mode)
    closed, open_ = scene.company("Post of Delft"), scene.company("Post of Leiden")
    truck, _ = scene.truck(closed)
    other, token = scene.truck(open_)
    scene.platform.settle()
    contract = Contract(node, scene.deployment)
    woken = []
    scene.platform.when_behind(lambda: woken.append(1))
    scene.platform.close_company(closed.company)
    assert woken == [1]
    with away(scene), pytest.raises(ChainError):
        scene.platform.settle()
    assert contract.is_registered(truck.truck)
    scene.platform.settle()
    assert not contract.is_registered(truck.truck)
    assert contract.is_registered(other.truck)
    assert scene.send(token) is SlotOutcome.PUBLISHED
    paid = node.balance(address_of(account("operator")))
    scene.platform.settle()
    assert node.balance(address_of(account("operator"))) == paid or mode == "anchor"


@pytest.mark.slow
def test_a_company_may_be_closed_by_another_process(on, node):
    """What another process wrote into the store is done at the next turn, or the next start."""
    scene = on("log")
    contract = Contract(node, scene.deployment)
    for again in (False, True):
        company = scene.company()
        truck, _ = scene.truck(company)
        scene.platform.settle()
        assert contract.is_registered(truck.truck)
        scene.store.close_company(company.company, scene.clock.now)
        scene = scene.reopened() if again else scene
        scene.platform.settle()
        assert not contract.is_registered(truck.truck)
    scene.platform.close()


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["log", "anchor"])
def test_a_chain_that_lost_blocks_is_told_again(on, node, mode):
    """Registrations that the node has forgotten are made again, and so are retirements."""
    scene = on(mode)
    company = scene.company()
    _, token = scene.truck(company, "stays")
    ends, _ = scene.truck(company, "ends")
    contract = Contract(node, scene.deployment)
    before = node.tester.take_snapshot()
    scene.platform.settle()
    registered = node.tester.take_snapshot()
    scene.platform.retire_truck(company, ends.truck)
    scene.platform.settle()
    for lost in (registered, before):
        node.tester.revert_to_snapshot(lost)
        node.mine(3)
        scene.platform.settle()
        assert scene.send(token, device="stays") is SlotOutcome.PUBLISHED
        assert not contract.is_registered(ends.truck)
        scene.clock.now += scene.settings.slot_seconds


@pytest.mark.slow
def test_who_was_taken_off_the_contract_by_hand_is_back_at_once(on, node):
    """Where the contract has lost a truck, its next report says so, and the truck is registered."""
    scene = on("log")
    truck, token = scene.truck(scene.company())
    scene.platform.settle()
    woken = []
    scene.platform.when_behind(lambda: woken.append(1))
    ContractAccount(node, scene.deployment, account("operator"), QUICK).retire(truck.truck)
    with pytest.raises(RevertedError, match="unregistered"):
        scene.send(token)
    assert woken == [1]
    scene.platform.settle()
    assert scene.send(token) is SlotOutcome.PUBLISHED
    assert woken == [1]


@pytest.mark.slow
@pytest.mark.parametrize("ended", ["retired", "withdrawn"])
def test_a_report_that_cannot_be_sent_keeps_nobody_busy(on, node, monkeypatch, ended):
    """A report waits whose truck was retired, or company withdrawn: no turn calls for the next."""
    scene = on("log")
    company = scene.company()
    truck, token = scene.truck(company)
    scene.platform.settle()
    scene.drive(token, 1)
    with away(scene), pytest.raises(StoreError):
        scene.send(token)
    assert scene.log.waiting() == 1
    if ended == "retired":
        scene.platform.retire_truck(company, truck.truck)
    else:
        operator = account("operator")
        ContractAccount(node, scene.deployment, operator, QUICK).withdraw(address_of(operator))
    woken = []
    scene.platform.when_behind(lambda: woken.append(1))
    for _ in range(3):
        with suppress(StoreError):
            scene.platform.settle()
    assert scene.log.waiting() == 1
    assert woken == []


@pytest.mark.slow
def test_reports_that_another_process_has_overtaken_are_told_of(on, node, monkeypatch):
    """What was taken and will never be on the chain is told to the operator, once."""
    scene = on("log")
    _, token = scene.truck(scene.company())
    scene.platform.settle()
    scene.drive(token, 1)
    other_mirror = scene.folder / "other.db"
    scene.log.settle()
    copied_to(scene.folder / "chain-reports.db", other_mirror)
    with away(scene), pytest.raises(StoreError):
        scene.send(token)
    assert scene.log.waiting() == 1
    monkeypatch.setattr(on_chain, "MIRROR", other_mirror.name)
    scene.clock.now += scene.settings.slot_seconds
    overtaking = OnChain(scene.folder, scene.options, scene.clock)
    assert overtaking.send(token) is SlotOutcome.PUBLISHED
    with pytest.raises(StoreError, match="refused a report that was taken"):
        scene.platform.settle()
    scene.platform.settle()
    assert scene.log.waiting() == 0
    overtaking.platform.close()


def copied_to(mirror: Path, place: Path) -> None:
    """A mirror of its own for another process, as it stands now."""
    with closing(sqlite3.connect(mirror)) as source, closing(sqlite3.connect(place)) as copy:
        source.backup(copy)
