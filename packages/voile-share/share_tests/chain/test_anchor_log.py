"""What a log with roots on the chain promises: proofs that anybody can check, and no backdating."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from share_tests.chain.faults import away
from share_tests.chain.scenes import QUICK, Stage, account
from share_tests.store.reports import chain, number_of, record_of, slot_of
from voile_share.chain import (
    AnchorLog,
    ChainError,
    Inclusion,
    NotAnchoredError,
    RevertedError,
    check_anchored,
)
from voile_share.chain.anchor_log import leaf_of
from voile_share.chain.contract import address_of
from voile_share.store import Appended, Entry
from voile_share.store.sqlite import SQLiteStore

pytestmark = pytest.mark.slow

NAMES = (1, 2, 3, 4, 5)


@pytest.fixture
def registered(stage: Stage) -> Stage:
    """The trucks are known to the contract."""
    for name in NAMES:
        stage.account_of(number_of(name))
    return stage


@contextmanager
def log_of(stage: Stage, folder: Path, through=None) -> Iterator[AnchorLog]:
    beside = SQLiteStore.open(folder / "store")
    log = AnchorLog(
        through or stage.chain,
        stage.deployment,
        stage.company,
        beside,
        journal=folder / "journal",
        terms=QUICK,
    )
    with closing(log):
        yield log


def proof_of(log: AnchorLog, entry: Entry) -> Inclusion:
    proof = log.inclusion(entry.truck, entry.slot)
    assert proof is not None
    return proof


def refused(stage: Stage, entry: Entry, proof: Inclusion) -> str:
    with pytest.raises(NotAnchoredError) as caught:
        check_anchored(stage.chain, stage.deployment, record_of(entry), proof)
    return caught.value.reason


def roots(stage: Stage) -> list[bytes]:
    first, newest = stage.deployment.block, stage.chain.head().number
    company = address_of(stage.company)
    return [one.root for one in stage.contract.roots(first, newest, company)]


@pytest.mark.slow
def test_a_batch_costs_one_transaction_and_proves_each_report(registered, tmp_path) -> None:
    """Five trucks' reports are under one root, each by a proof of its own, and under no other's."""
    entries = [chain(name, 1)[0] for name in NAMES]
    later = [chain(name, 2)[1] for name in NAMES]
    with log_of(registered, tmp_path) as log:
        head = registered.chain.head().number
        assert list(log.append(entries)) == [Appended.NEW] * len(NAMES)
        assert registered.chain.head().number == head + 1
        log.append(later)
        for entry in (*entries, *later):
            proof = proof_of(log, entry)
            shown = Inclusion.decode(proof.encode())
            root = check_anchored(registered.chain, registered.deployment, record_of(entry), shown)
            assert (root.number, root.slot) == (proof.number, entry.slot)
            for other in (*entries, *later):
                if other != entry:
                    assert refused(registered, other, proof) == "not-included"
        assert (
            refused(registered, entries[0], replace(proof_of(log, later[0]), number=9)) == "no-root"
        )
        assert log.inclusion(number_of(1), slot_of(7)) is None


def test_another_company_cannot_vouch_for_a_truck(registered, tmp_path) -> None:
    """A root counts if the company that registered the truck anchored it."""
    entry, other = chain(1, 1)[0], account("other company")
    registered.chain.fund(address_of(other))
    registered.registry(registered.owner).certify(address_of(other))
    beside = SQLiteStore.open(tmp_path / "others")
    foreign = AnchorLog(registered.chain, registered.deployment, other, beside, terms=QUICK)
    with closing(foreign):
        foreign.append([entry])
        assert refused(registered, entry, proof_of(foreign, entry)) == "no-root"
        stranger = chain(9, 1)[0]
        foreign.append([stranger])
        assert refused(registered, stranger, proof_of(foreign, stranger)) == "unregistered"


def test_nothing_is_anchored_under_a_past_slot(registered, tmp_path) -> None:
    """A truck that lags is anchored under the slot that was reached: that shows it was late."""
    ahead, behind = chain(1, 6)[:6], chain(2, 1)[0]
    with log_of(registered, tmp_path) as log:
        log.append(ahead)
        log.append([behind])
        record, proof = record_of(behind), proof_of(log, behind)
        root = check_anchored(registered.chain, registered.deployment, record, proof)
        assert root.slot == ahead[-1].slot > behind.slot
        with pytest.raises(RevertedError) as caught:
            registered.chain.call(
                address_of(registered.company),
                registered.deployment.address,
                registered.contract.anchor(2, ahead[-1].slot - 1, bytes(32)),
            )
        assert caught.value.reason == "backward"


def test_a_root_of_past_slots_does_not_hold_a_later_report(registered: Stage) -> None:
    """A company that anchors a report before its slot has come is found out."""
    entry = chain(1, 3)[2]
    leaf = leaf_of(record_of(entry))
    for number, slot in enumerate((entry.slot - 1, entry.slot)):
        data = registered.contract.anchor(number, slot, leaf)
        registered.send(registered.company, data)
    early, timely = (Inclusion(number, 0, 1, ()) for number in (0, 1))
    assert refused(registered, entry, early) == "backdated"
    check_anchored(registered.chain, registered.deployment, record_of(entry), timely)


def test_known_reports_are_not_anchored_twice(registered, tmp_path) -> None:
    """Appending again sends nothing, also after a restart."""
    entries = list(chain(1, 2))
    for _ in range(2):
        with log_of(registered, tmp_path) as log:
            log.append(entries)
            log.append(entries[:1])
    assert len(roots(registered)) == 1


def test_what_the_company_may_not_do_changes_nothing(registered, tmp_path) -> None:
    """A company without certificate, and a node that is away: the other log is as it was."""
    entry = chain(1, 1)[0]
    with (
        log_of(registered, tmp_path, away(registered.chain)) as log,
        pytest.raises(ChainError, match="does not answer"),
    ):
        log.append([entry])
    registered.registry(registered.owner).withdraw(address_of(registered.company))
    with log_of(registered, tmp_path) as log:
        with pytest.raises(RevertedError) as caught:
            log.append([entry])
        assert caught.value.reason == "not-certified"
        assert log.last(entry.truck) is None


def test_what_a_reorganisation_takes_is_anchored_again(registered, tmp_path) -> None:
    """Its proof may have another number, and holds."""
    first, second, third = chain(1, 3)
    with log_of(registered, tmp_path) as log:
        log.append([first])
        before = registered.chain.tester.take_snapshot()
        log.append([second])
        registered.chain.tester.revert_to_snapshot(before)
        registered.chain.mine(3)
        assert log.inclusion(second.truck, second.slot) is None
        log.append([third])
        for entry in (first, second, third):
            proof = proof_of(log, entry)
            check_anchored(registered.chain, registered.deployment, record_of(entry), proof)
    assert len(set(roots(registered))) == 3


def test_two_processes_of_a_company_take_turns(registered, tmp_path) -> None:
    """Whose number was taken by the other takes the next one."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with log_of(registered, tmp_path / "a") as one, log_of(registered, tmp_path / "b") as other:
        numbered, overtaken = one._numbered, iter([True])

        def slow(trial):
            """The other anchors after this one has looked for its number."""
            ready = numbered(trial)
            if next(overtaken, False):
                other.append([chain(2, 1)[0]])
            return ready

        one._numbered = slow
        assert list(one.append([chain(1, 1)[0]])) == [Appended.NEW]
        numbers = {proof_of(other, chain(2, 1)[0]).number, proof_of(one, chain(1, 1)[0]).number}
    assert numbers == {0, 1}
