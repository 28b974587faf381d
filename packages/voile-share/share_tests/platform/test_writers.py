"""Reports that are written in this thread, in others, or by processes beside."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
from dataclasses import replace

import pytest

from share_tests.scene import HOME, NOON
from voile_base.errors import InputError
from voile_base.randomness import Randomness
from voile_share.ingest import Fix
from voile_share.platform import Settings, SlotOutcome, Vault
from voile_share.platform import writers as room
from voile_share.platform.writers import Aboard, Draft, Writer, Writers
from voile_share.protocol import PairKeys, ReportPublisher, TruckSecrets, suite_named
from voile_testing.processes import PATIENCE, wait_until

DAY = NOON // 86_400
MUCH = 20
"""Reports after which a line gets a process here."""


def aboard(parcels: int) -> list[Aboard]:
    suite, pair = suite_named(), Randomness.seeded(1)
    keys = PairKeys(pair.key("a").secret, pair.key("b").secret)
    secrets = [suite.tracking_secret(keys, b"P%d" % one, DAY) for one in range(parcels)]
    return [Aboard(suite.tracking_public(secret), HOME) for secret in secrets]


def draft_of(truck: int, slots: int = 1, parcels: int = 0) -> Draft:
    secrets = TruckSecrets.draw(bytes([truck]) * 16, Randomness.seeded(2))
    times = [NOON + 300 * slot for slot in range(slots)]
    fixes = [(time, Fix("t", 52.01, 4.36, time + 1.5)) for time in times]
    return Draft(
        ReportPublisher.new(secrets), None, Randomness.seeded(truck), fixes, {DAY: aboard(parcels)}
    )


def essence(written):
    """What was written, without the nonces by which states are sealed."""
    return (
        written.outcome,
        [report[:2] for report in written.reports],
        written.publisher,
        written.state,
    )


@pytest.fixture
def writer(tmp_path):
    return Writer(Vault.create(tmp_path / "vault.key"), Settings(room=0))


class Beside:
    """A line of writers whose process has begun."""

    def __init__(self, writer: Writer) -> None:
        self.writers = Writers(writer, lines=1)
        self.rush()

    def rush(self) -> None:
        """More to write than a line without a process may have."""
        self.written([draft_of(1, slots=MUCH + 1)])
        wait_until(self.line._worker.is_ready)

    @property
    def line(self):
        return self.writers._lines[0]

    @property
    def process(self):
        return self.line._worker and self.line._worker._process

    def written(self, drafts):
        """What came of some drafts that wait together."""
        return self.writers.write(drafts)


@pytest.fixture
def beside(writer, monkeypatch):
    """However slow the machine is, ``MUCH`` is written before the line looks at the clock."""
    monkeypatch.setattr(room, "_ITEMS_FOR_A_PROCESS", MUCH)
    made = Beside(writer)
    yield made
    made.writers.close()


@pytest.mark.slow
def test_reports_are_the_same_wherever_they_are_written(writer, beside):
    """From whichever process, of one slot or many, with parcels or none: the same bytes."""
    drafts = [draft_of(1), draft_of(2, slots=3), draft_of(3, parcels=25), draft_of(4, 2, 2)]
    for ours, theirs in zip(map(writer.write, drafts), beside.written(drafts), strict=True):
        assert essence(ours) == essence(theirs)
        assert ours.outcome is SlotOutcome.PUBLISHED


def test_a_draft_that_is_written_twice_gives_the_same(writer):
    """Writing changes nothing: neither what a writer remembers nor its own copy tells."""
    draft = draft_of(1, slots=2, parcels=2)
    first = writer.write(draft)
    copy = pickle.loads(pickle.dumps(writer))
    assert essence(writer.write(draft)) == essence(first) == essence(copy.write(draft))


def test_a_truck_goes_on_from_what_was_written_by_whomever(writer):
    """Reports one by one, each by a writer that remembers nothing, are those written at once."""
    at_once = writer.write(whole := draft_of(1, slots=4, parcels=1))
    publisher, state, reports = whole.publisher, None, []
    for fix in whole.fixes:
        forgetful = Writer(writer._vault, writer._settings)
        one = forgetful.write(Draft(publisher, state, whole.randomness, [fix], whole.aboard))
        publisher, state = one.publisher, one.state
        reports += one.reports
    assert [one[:2] for one in reports] == [one[:2] for one in at_once.reports]
    assert (publisher, state) == (at_once.publisher, at_once.state)


@pytest.mark.slow
def test_what_cannot_be_written_is_refused_in_the_same_words(writer, beside):
    """An error beside is that of here, and stops neither its neighbours nor what follows."""
    unfit = draft_of(1, parcels=1)
    full = replace(unfit, aboard={DAY: unfit.aboard[DAY] * 1_001})
    bad, good = beside.written([full, draft_of(2)])
    assert isinstance(bad, InputError)
    assert "room for 1000 parcels" in str(bad)
    assert good.outcome is SlotOutcome.PUBLISHED


@pytest.mark.slow
def test_a_process_that_dies_loses_no_report(writer, beside):
    """What it was asked is written here, and the next rush begins another one."""
    drafts = [draft_of(one) for one in range(3)]
    expected = [essence(writer.write(draft)) for draft in drafts]
    first = beside.process
    os.kill(first.pid, signal.SIGKILL)
    first.join(PATIENCE)
    assert [essence(one) for one in beside.written(drafts)] == expected
    beside.rush()
    assert beside.process.pid != first.pid
    assert [essence(one) for one in beside.written(drafts)] == expected


@pytest.mark.slow
def test_ctrl_c_is_for_the_process_that_began_it(writer, beside):
    """A process beside goes on writing after SIGINT, and ends when its line does."""
    drafts, process = [draft_of(one) for one in range(3)], beside.process
    for _ in range(3):
        os.kill(process.pid, signal.SIGINT)
        assert [essence(one) for one in beside.written(drafts)] == [
            essence(writer.write(draft)) for draft in drafts
        ]
    assert beside.process is process
    assert process.is_alive()
    beside.writers.close()
    assert process.exitcode == 0


def test_few_trucks_begin_no_process(writer):
    """Drafts that come one at a time are written here."""
    writers = Writers(writer, lines=2)
    before = multiprocessing.active_children()
    for one in range(12):
        writers.write([draft_of(one)])
    assert multiprocessing.active_children() == before
    writers.close()


def test_a_draft_shows_nothing_of_what_it_holds(writer):
    """Neither positions nor keys nor destinations show in its text, or in that of the reports."""
    draft = draft_of(1, parcels=1)
    shown = repr(draft) + repr(writer.write(draft))
    for secret in ("52.0", "4.36", str(HOME[0]), draft.publisher.secrets.signing.hex()[:8]):
        assert secret not in shown
