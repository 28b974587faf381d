"""A real node over JSON-RPC: everything works on it, and SIGKILL under load loses nothing."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from share_tests.chain.anvil import Anvil
from share_tests.chain.scenes import account
from share_tests.store.contract import bare
from share_tests.store.reports import Driver, all_reports, audited, chain, number_of, record_of
from voile_share.chain import (
    AnchorLog,
    ChainError,
    ChainLog,
    ChainSigner,
    ContractAccount,
    Deployment,
    Mode,
    RevertedError,
    TransactionTerms,
    check_anchored,
    deploy,
    published,
    signer,
)
from voile_share.chain.contract import address_of, transaction
from voile_share.store import Appended
from voile_share.store.sqlite import SQLiteStore
from voile_testing.processes import PATIENCE, wait_until

TERMS = TransactionTerms(patience=20, poll=0.1, raise_after=5, freshness=0)
NAMES = (1, 2, 3)
# The first account of every node for development: its key is in the manuals.
RICH = bytes.fromhex("ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80")

pytestmark = pytest.mark.slow


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Anvil]:
    with Anvil(tmp_path) as running:
        yield running


@pytest.fixture
def deployment(node: Anvil) -> Deployment:
    """The contract, with three registered trucks that have money."""
    rich = signer(RICH)
    for who in (account("company"), *map(truck_account, map(number_of, NAMES))):
        fields = {"nonce": node.chain.nonce(address_of(rich)), "gas": 21_000}
        fields["chainId"] = node.chain.identity()
        made = transaction(fields, address_of(who), b"", node.chain.fee())
        raw = rich.sign_transaction({**made, "value": 10**18}).raw_transaction
        node.chain.send(bytes(raw))
        while node.chain.nonce(address_of(rich)) == fields["nonce"]:
            time.sleep(0.01)
    deployment = deploy(node.chain, rich, TERMS)
    ContractAccount(node.chain, deployment, rich, TERMS).certify(address_of(account("company")))
    company = ContractAccount(node.chain, deployment, account("company"), TERMS)
    for truck in map(number_of, NAMES):
        company.register(truck, address_of(truck_account(truck)), b"card")
    return deployment


def truck_account(truck: bytes) -> ChainSigner:
    return account(f"truck {truck.hex()}")


def log_of(node: Anvil, deployment: Deployment, mode: Mode = Mode.LOG, mirror=None) -> ChainLog:
    return ChainLog(node.chain, deployment, truck_account, mode, mirror=mirror, terms=TERMS)


def test_all_modes_on_a_real_node(node: Anvil, deployment: Deployment, tmp_path: Path) -> None:
    """Reports are published and read, roots anchored and proven, and reverts have their reason."""
    entries = chain(1, 4)
    for mode, some in ((Mode.LOG, entries[:2]), (Mode.STORAGE, entries[2:])):
        with closing(log_of(node, deployment, mode)) as log:
            assert list(log.append(some)) == [Appended.NEW] * 2
            assert list(log.append(some)) == [Appended.KNOWN] * 2
    with closing(log_of(node, deployment)) as log:
        assert all_reports(log, 1) == bare(entries)
        with pytest.raises(RevertedError) as caught:
            node.chain.call(
                bytes(19) + b"\1", deployment.address, log._contract.publish(entries[0].message)
            )
        assert caught.value.reason == "unregistered"
    beside = SQLiteStore.open(tmp_path / "store")
    company = account("company")
    with closing(AnchorLog(node.chain, deployment, company, beside, terms=TERMS)) as anchored:
        anchored.append([chain(name, 1)[0] for name in NAMES])
        for name in NAMES:
            entry = chain(name, 1)[0]
            proof = anchored.inclusion(entry.truck, entry.slot)
            assert proof is not None
            check_anchored(node.chain, deployment, record_of(entry), proof)


class Writer(threading.Thread):
    """A platform that appends reports of three trucks, and tries again while that fails."""

    def __init__(self, node: Anvil, deployment: Deployment, mirror: Path) -> None:
        super().__init__(daemon=True)
        self.log = log_of(node, deployment, mirror=mirror)
        self.drivers = [Driver(name) for name in NAMES]
        self.acknowledged: list[bytes] = []
        self.failures = 0
        self.done = threading.Event()
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            for slot in range(100_000):
                if self.done.is_set():
                    return
                batch = [driver.publish(slot) for driver in self.drivers]
                self._append(batch)
                self.acknowledged += [entry.message for entry in batch]
        except BaseException as error:
            self.error = error

    def wait_for(self, reports: int) -> None:
        """Until so many more are acknowledged, or it ends."""
        enough = len(self.acknowledged) + reports
        wait_until(lambda: self.error or len(self.acknowledged) >= enough)

    def _append(self, batch) -> None:
        while True:
            try:
                outcomes = self.log.append(batch)
            except ChainError:
                self.failures += 1
                time.sleep(0.05)
                continue
            assert set(outcomes) <= {Appended.NEW, Appended.KNOWN}
            return


def test_killing_the_node_under_load(node: Anvil, deployment: Deployment, tmp_path: Path) -> None:
    """Three times SIGKILL: every acknowledged report is on the chain, once, without hands.

    The node forgets what it had not written, acknowledged reports included; the log notices and
    sends them again from its mirror.
    """
    node.wait_until_kept()  # the contract
    writer = Writer(node, deployment, tmp_path / "mirror")
    writer.start()
    for _ in range(3):
        writer.wait_for(12)
        node.kill()
        failures = writer.failures
        wait_until(lambda failures=failures: writer.error or writer.failures > failures)
        node.start()
    writer.wait_for(12)
    writer.done.set()
    writer.join(PATIENCE)
    assert writer.error is None
    until = time.monotonic() + PATIENCE
    found: Counter[bytes] = Counter()
    # A service settles again and again: what the node lost last may show only in a later look.
    while set(found) != set(writer.acknowledged) and time.monotonic() < until:
        writer.log.settle()
        found = Counter(
            one.message
            for truck in map(number_of, NAMES)
            for one in published(node.chain, deployment, truck)
        )
    assert set(found.values()) == {1}
    assert set(writer.acknowledged) == set(found)
    for name in NAMES:
        assert len(audited(writer.log, name)) == len(found) // len(NAMES)
    assert writer.log.refused() == []
    writer.log.close()
    with closing(log_of(node, deployment)) as fresh:
        assert {entry.message for entry in all_reports(fresh, 1)} <= set(found)
