"""What logs on a chain promise beyond the contract of logs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from share_tests.chain.faults import Between, away, losing
from share_tests.chain.scenes import QUICK, Stage, account
from share_tests.store.contract import bare
from share_tests.store.reports import Driver, all_reports, chain, number_of
from voile_base.errors import InputError
from voile_share.chain import (
    ChainError,
    ChainLog,
    ChainSigner,
    Mode,
    RevertedError,
    deploy,
    published,
)
from voile_share.chain.contract import address_of
from voile_share.store import Appended, Entry

TRUCK = number_of(1)


def on_chain(stage: Stage, truck: bytes = TRUCK) -> list[bytes]:
    """Messages of a truck as anybody finds them."""
    return [one.message for one in published(stage.chain, stage.deployment, truck)]


@contextmanager
def log_of(stage: Stage, **more) -> Iterator[ChainLog]:
    with closing(stage.log(**more)) as log:
        yield log


def broken(stage: Stage, between, **more) -> ChainLog:
    """A log that reaches its chain through something."""
    stage.account_of(TRUCK)
    return ChainLog(between, stage.deployment, stage.account_of, terms=QUICK, **more)


@pytest.mark.slow
def test_what_was_on_its_way_is_sent_at_the_next_start(stage: Stage, tmp_path: Path) -> None:
    """Without the caller: the report that a dead process had put away lands by ``settle``."""
    mirror, [entry] = tmp_path / "mirror", chain(1, 1)
    stage.account_of(TRUCK)
    log = broken(stage, losing(stage.chain, 1000), mirror=mirror)
    log._terms = replace(QUICK, patience=0.1)
    log._delivery._terms = log._terms
    with closing(log), pytest.raises(ChainError, match=r"0\.1 s"):
        log.append([entry])
    assert on_chain(stage) == []
    with log_of(stage, mirror=mirror) as log:
        assert log.last(TRUCK) == entry
        assert list(log.after(TRUCK, -1, 10)) == []
        log.settle()
        assert on_chain(stage) == [entry.message]
        assert list(log.append([entry])) == [Appended.KNOWN]


@pytest.mark.slow
def test_a_dropped_transaction_is_sent_again(stage: Stage) -> None:
    """A node that forgets two transactions is given them again, within one ``append``."""
    entries = chain(1, 3)
    between = losing(stage.chain, 2)
    with closing(broken(stage, between)) as log:
        log._delivery._terms = replace(QUICK, raise_after=0.2)
        assert list(log.append(entries)) == [Appended.NEW] * 3
    assert on_chain(stage) == [entry.message for entry in entries]


@pytest.mark.slow
def test_what_a_reorganisation_takes_is_put_back(stage: Stage) -> None:
    """Acknowledged reports that the chain loses are on it again after the next ``append``."""
    entries, foreign = chain(1, 5), chain(2, 2)
    with log_of(stage) as log:
        log.append([*entries[:2], foreign[0]])
        before = stage.chain.tester.take_snapshot()
        log.append([entries[2], foreign[1], entries[3]])
        stage.chain.tester.revert_to_snapshot(before)
        stage.chain.mine(7)  # another branch, longer than the one that was
        assert all_reports(log, 1) == bare(entries[:2])
        assert log.last(TRUCK) == entries[3]
        assert list(log.append([entries[4]])) == [Appended.NEW]
        assert all_reports(log, 1) == bare(entries)
        assert all_reports(log, 2) == bare(foreign)
    assert on_chain(stage) == [entry.message for entry in entries]


@pytest.mark.slow
def test_a_node_that_went_back_is_noticed(stage: Stage) -> None:
    """Its head is lower than what was read: what it lost is sent again by ``settle``."""
    entries = chain(1, 3)
    with log_of(stage) as log:
        log.append(entries[:1])
        before = stage.chain.tester.take_snapshot()
        log.append(entries[1:])
        stage.chain.tester.revert_to_snapshot(before)
        assert on_chain(stage) == [entries[0].message]
        log.settle()
        assert all_reports(log, 1) == bare(entries)
    assert on_chain(stage) == [entry.message for entry in entries]


class Doubting(Between):
    """The contract does not know the account of a report's truck, at some estimates."""

    def __init__(self, stage: Stage, message: bytes) -> None:
        super().__init__(stage.chain, lambda name, question: question())
        self._message = message
        self.doubts = 0

    def estimate(self, sender: bytes, to: bytes | None, data: bytes) -> int:
        if self.doubts and self._message in data:
            self.doubts -= 1
            raise RevertedError("unregistered")
        return self._chain.estimate(sender, to, data)


@pytest.mark.slow
@pytest.mark.parametrize("by_append", [False, True])
def test_reports_that_were_lost_go_in_their_order(stage: Stage, *, by_append: bool) -> None:
    """While the contract does not take the first of them back, later ones of the truck wait.

    Such as when a truck is registered again between two of its reports: were the later one to
    land, the contract would never take the earlier one, which was acknowledged.
    """
    entries, foreign = chain(1, 4), chain(2, 2)
    stage.account_of(number_of(2))
    told: list[bytes] = []
    between = Doubting(stage, entries[1].message)
    with closing(broken(stage, between, unregistered=told.append)) as log:
        log.append(entries[:1])
        before = stage.chain.tester.take_snapshot()
        log.append(entries[1:3])
        stage.chain.tester.revert_to_snapshot(before)
        stage.chain.mine(5)
        between.doubts = 2  # a delivery looks twice before it sends
        if by_append:
            assert list(log.append(foreign[:1])) == [Appended.NEW]
        else:
            log.settle()
        assert between.doubts == 0
        assert set(told) == {TRUCK}
        assert on_chain(stage) == [entries[0].message]
        log.append(entries[3:])
        assert log.refused() == []
    assert on_chain(stage) == [entry.message for entry in entries]


def test_a_chain_without_the_contract_is_not_written_to(stage: Stage) -> None:
    """A node that lost everything, or shows another chain: an error says so, and no report goes."""
    before = stage.chain.tester.take_snapshot()
    lost = Stage(stage.chain, stage.owner, stage.company, deploy(stage.chain, stage.owner, QUICK))
    stage.chain.tester.revert_to_snapshot(before)
    with log_of(lost) as log, pytest.raises(ChainError, match="no contract"):
        log.append(chain(1, 1))
    other = replace(stage.deployment, chain=stage.deployment.chain + 1)
    with (
        closing(ChainLog(stage.chain, other, stage.account_of, terms=QUICK)) as log,
        pytest.raises(ChainError, match="shows chain"),
    ):
        log.last(TRUCK)


@pytest.mark.slow
def test_the_mirror_is_made_again_from_the_chain(stage: Stage) -> None:
    """Without its file a log knows what is on the chain, in both modes, and goes on."""
    entries = chain(1, 4)
    with log_of(stage) as log:
        log.append(entries[:2])
    with log_of(stage, mode=Mode.STORAGE) as log:
        log.append(entries[2:3])
    with log_of(stage) as log:
        assert all_reports(log, 1) == bare(entries[:3])
        assert list(log.append(entries)) == [Appended.KNOWN] * 3 + [Appended.NEW]


@pytest.mark.slow
def test_two_processes_do_not_fork_a_chain(stage: Stage) -> None:
    """Two logs with mirrors of their own: the later of two rivals is late, the same one known."""
    driver = Driver(1)
    first, rival = driver.publish(0), driver.publish(0, after=0)
    with log_of(stage) as one, log_of(stage) as other:
        assert list(one.append([first])) == [Appended.NEW]
        assert list(other.append([rival, first])) == [Appended.LATE, Appended.KNOWN]
        second = driver.publish(1)
        other._follower.refresh = lambda: None  # it has not looked since
        one.append([second])
        other._follower.refresh = type(other._follower).refresh.__get__(other._follower)
        assert list(other.append([second])) == [Appended.KNOWN]
    assert on_chain(stage) == [first.message, second.message]


@pytest.mark.slow
def test_a_rival_that_overtakes_makes_a_report_late(stage: Stage) -> None:
    """What another process publishes between our look and our transaction wins, and is said."""
    driver = Driver(1)
    first, rival = driver.publish(0), driver.publish(3, after=0)
    with log_of(stage) as other:

        def overtaken(states: object) -> None:
            other.append([rival])

        with log_of(stage, save_states=overtaken) as log:
            outcomes = log.append([replace(first, state=b"state")])
            assert list(outcomes) == [Appended.LATE]
            assert [reason for _, _, reason in log.refused()] == ["backward"]
            assert log.last(TRUCK) == rival
    assert on_chain(stage) == [rival.message]


@pytest.mark.slow
def test_states_are_saved_first_and_only_for_new_reports(stage: Stage) -> None:
    """Nothing is published whose state could not be saved; known and late ones save none."""
    driver = Driver(1)
    first, second = driver.publish(0, state=b"1"), driver.publish(1, state=b"2")
    saved: list[tuple[bytes, bytes]] = []
    full = OSError("disk full")

    def fail(states: object) -> None:
        raise full

    with log_of(stage, save_states=fail) as log:
        with pytest.raises(OSError, match="disk full"):
            log.append([first])
        assert log.last(TRUCK) is None
    assert on_chain(stage) == []
    with log_of(stage, save_states=saved.extend) as log:
        log.append([first, second, replace(first, state=b"known")])
        log.append([replace(second, state=b"known"), driver.publish(1, after=1, state=b"late")])
    assert saved == [(TRUCK, b"2")]


@pytest.mark.slow
def test_what_the_contract_refuses_changes_nothing(stage: Stage) -> None:
    """A retired truck in a batch: the reason is raised, and nothing of the batch is sent."""
    stage.account_of(TRUCK)
    stage.account_of(number_of(2))
    stage.registry(stage.company).retire(TRUCK)
    saved: list[object] = []
    head = stage.chain.head()
    with log_of(stage, save_states=saved.extend) as log:
        with pytest.raises(RevertedError) as caught:
            log.append([replace(chain(2, 1)[0], state=b"state"), chain(1, 1)[0]])
        assert caught.value.reason == "unregistered"
        assert log.last(number_of(2)) is None
    assert stage.chain.head() == head
    assert saved == []


@pytest.mark.slow
def test_a_truck_that_is_retired_on_the_way(stage: Stage) -> None:
    """Neither new nor known: the reason is raised, until the truck is registered again."""
    registry, truck, entry = stage.registry(stage.company), stage.account_of(TRUCK), chain(1, 1)[0]
    with log_of(stage, save_states=lambda states: registry.retire(TRUCK)) as log:
        for again in (replace(entry, state=b"state"), entry):
            with pytest.raises(RevertedError) as caught:
                log.append([again])
            assert caught.value.reason == "unregistered"
        assert list(log.append(chain(2, 1))) == [Appended.NEW]
        assert on_chain(stage) == []
        registry.register(TRUCK, address_of(truck), b"card")
        assert list(log.append([entry])) == [Appended.KNOWN]
    assert on_chain(stage) == [entry.message]


def test_a_truck_without_account_is_an_input_error(stage: Stage) -> None:
    """The caller is told which truck, before anything is sent."""
    with (
        closing(ChainLog(stage.chain, stage.deployment, lambda truck: None, terms=QUICK)) as log,
        pytest.raises(InputError, match=TRUCK.hex()),
    ):
        log.append(chain(1, 1))


@pytest.mark.slow
def test_reports_wait_for_an_account_to_be_filled(stage: Stage) -> None:
    """The error names the account; other trucks' reports land; with money the rest follows."""
    poor = account("poor")
    registry = stage.registry(stage.company)
    registry.register(TRUCK, address_of(poor), b"card")

    def account_of(truck: bytes) -> ChainSigner:
        return poor if truck == TRUCK else stage.account_of(truck)

    stage.account_of(number_of(2))
    stage.chain.fund(address_of(poor), 0.05)
    spend = {"to": b"\x11" * 20, "gas": 21_000, "value": int(0.0499 * 10**18)}
    log = ChainLog(stage.chain, stage.deployment, account_of, terms=QUICK)
    original = log._delivery.prepare

    def prepare(*values):
        prepared = original(*values)
        if values[1] is poor and spend:
            stage.send(poor, b"", **spend)
            spend.clear()
        return prepared

    log._delivery.prepare = prepare
    with closing(log):
        with pytest.raises(ChainError, match=str(poor.address)):
            log.append([chain(1, 1)[0], chain(2, 1)[0]])
        assert on_chain(stage, number_of(2)) == [chain(2, 1)[0].message]
        assert on_chain(stage) == []
        stage.chain.fund(address_of(poor))
        log.settle()
        assert on_chain(stage) == [chain(1, 1)[0].message]


@pytest.mark.slow
def test_readings_go_on_while_the_node_is_away(stage: Stage, tmp_path: Path) -> None:
    """What was on the chain is read; appending is an error that changes nothing."""
    mirror, entries = tmp_path / "mirror", chain(1, 2)
    with log_of(stage, mirror=mirror) as log:
        log.append(entries[:1])
    with closing(broken(stage, away(stage.chain), mirror=mirror)) as log:
        assert all_reports(log, 1) == bare(entries[:1])
        with pytest.raises(ChainError, match="does not answer"):
            log.append(entries[1:])
        assert log.last(TRUCK) == entries[0]
    with (
        closing(broken(stage, away(stage.chain))) as log,
        pytest.raises(ChainError, match="does not answer"),
    ):
        log.last(TRUCK)


@pytest.mark.slow
def test_rubbish_that_a_truck_publishes_is_no_report(stage: Stage) -> None:
    """The contract does not look inside; logs do, and pass over it."""
    truck, entries = stage.account_of(TRUCK), chain(1, 2)
    rubbish = entries[0].message[:60]
    stage.send(truck, stage.contract.publish(rubbish))
    with log_of(stage) as log:
        assert log.last(TRUCK) is None
        with pytest.raises(RevertedError) as caught:
            log.append(entries[:1])
        assert caught.value.reason == "replayed"
    assert on_chain(stage) == [rubbish]


@pytest.mark.slow
def test_a_mirror_is_its_owners_alone(stage: Stage, tmp_path: Path) -> None:
    """Others may read neither the file nor what SQLite keeps beside it."""
    with log_of(stage, mirror=tmp_path / "mirror") as log:
        stage.account_of(TRUCK)
        log.append(chain(1, 1))
        files = sorted(tmp_path.iterdir())
        assert [path.name for path in files] == ["mirror", "mirror-shm", "mirror-wal"]
        assert {path.stat().st_mode & 0o777 for path in files} == {0o600}


@pytest.mark.slow
def test_a_mirror_serves_one_contract(stage: Stage, tmp_path: Path) -> None:
    """A file of another contract, and a file that is no mirror, are refused."""
    with log_of(stage, mirror=tmp_path / "mirror"):
        pass
    other = Stage.set(stage.chain)
    with pytest.raises(InputError, match="another"):
        other.log(mirror=tmp_path / "mirror")
    with pytest.raises(InputError, match="AnchorLog"):
        stage.log(Mode.ANCHOR)


@pytest.mark.slow
def test_deep_confirmations_are_waited_for(stage: Stage) -> None:
    """With three confirmations asked for, two more blocks stand on the report's when it returns."""
    entry: Entry = chain(1, 1)[0]
    stage.account_of(TRUCK)
    with log_of(stage, terms=replace(QUICK, confirmations=3)) as log:
        pauses: list[float] = []

        def sleep(seconds: float) -> None:
            pauses.append(seconds)
            stage.chain.mine()

        log._delivery._sleep = sleep
        log.append([entry])
        [found] = published(stage.chain, stage.deployment, TRUCK)
        assert stage.chain.head().number == found.block + 2
        assert len(pauses) == 2
