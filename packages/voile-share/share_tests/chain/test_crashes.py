"""A process that dies at any question to its node loses nothing, and doubles nothing."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from pathlib import Path

import pytest

from share_tests.chain.faults import CrashError, dying
from share_tests.chain.scenes import QUICK, Stage
from share_tests.store.reports import Driver, audited, number_of
from voile_share.chain import AnchorLog, Chain, ChainLog, check_anchored, published
from voile_share.chain.contract import address_of
from voile_share.store import Appended, ReportLog
from voile_share.store.sqlite import SQLiteStore

pytestmark = pytest.mark.slow

TRUCK = number_of(1)


class Platform:
    """Opens the logs of one platform, one after another, on the same files."""

    def __init__(self, stage: Stage, folder: Path) -> None:
        self.stage = stage
        self.folder = folder
        self.states: dict[bytes, bytes] = {}

    def open(self, chain: Chain) -> ReportLog:
        return ChainLog(
            chain,
            self.stage.deployment,
            self.stage.account_of,
            mirror=self.folder / "mirror",
            save_states=self.states.update,
            terms=QUICK,
        )

    def on_chain(self) -> int:
        """How many reports anybody finds; each is there once."""
        found = [one.message for one in published(self.stage.chain, self.stage.deployment, TRUCK)]
        assert len(set(found)) == len(found)
        return len(found)


class AnchoringPlatform(Platform):
    def open(self, chain: Chain) -> AnchorLog:
        beside = SQLiteStore.open(self.folder / "store")
        return AnchorLog(
            chain,
            self.stage.deployment,
            self.stage.company,
            beside,
            journal=self.folder / "journal",
            terms=QUICK,
        )

    def on_chain(self) -> int:
        """How many records have a proof, of which the last two are checked; no root is twice."""
        log = self.open(self.stage.chain)
        records = log.records(TRUCK, 0, 1000)
        proofs = [log.inclusion(TRUCK, one.slot) for one in log.after(TRUCK, -1, 1000)]
        log.close()
        assert None not in proofs
        for record, proof in list(zip(records, proofs, strict=True))[-2:]:
            check_anchored(self.stage.chain, self.stage.deployment, record, proof)
        company = address_of(self.stage.company)
        first, newest = self.stage.deployment.block, self.stage.chain.head().number
        roots = self.stage.contract.roots(first, newest, company)
        assert len({one.root for one in roots}) == len(roots)
        return len(proofs)


def die_and_go_on(platform: Platform, after: bool, deaths: Iterable[int]) -> int:
    """Die at those questions, each time while appending two reports; how often that happened."""
    driver, died = Driver(1), 0
    platform.stage.account_of(TRUCK)
    for time, answers in enumerate(deaths):
        pair = (2 * time, 2 * time + 1)
        batch = [driver.publish(at, state=b"%d" % (at + 1)) for at in pair]
        log = platform.open(dying(platform.stage.chain, answers, after=after))
        try:
            finished = list(log.append(batch)) == [Appended.NEW] * 2
        except CrashError:
            finished, died = False, died + 1
        log.close()
        again = platform.open(platform.stage.chain)
        if isinstance(platform, AnchoringPlatform):
            again.settle()  # what is in the other log is anchored without being appended again
        else:
            assert int(platform.states.get(TRUCK, b"0")) >= platform.on_chain()
        assert set(again.append(batch)) <= {Appended.NEW, Appended.KNOWN}
        assert len(audited(again, 1)) == 2 * time + 2
        again.close()
        assert platform.on_chain() == 2 * time + 2
        if finished:
            break
    return died


@pytest.mark.parametrize("kind", [Platform, AnchoringPlatform])
def test_some_crashes(stage: Stage, tmp_path: Path, kind) -> None:
    """At every fifth question, after its answer: each report is there once, states are ahead."""
    assert die_and_go_on(kind(stage, tmp_path), True, count(2, 5)) >= 3


@pytest.mark.slow
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("kind", [Platform, AnchoringPlatform])
def test_all_crashes(stage: Stage, tmp_path: Path, kind, after) -> None:
    """At every question, before or after its answer: each report is there once."""
    assert die_and_go_on(kind(stage, tmp_path), after, count()) > 15
