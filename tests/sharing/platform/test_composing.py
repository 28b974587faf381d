"""Reports that are composed by processes beside."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from tests.sharing.scene import NOON
from voile import Randomness
from voile.errors import InputError
from voile.sharing.platform.composing import Composers
from voile.sharing.protocol import Carried, Content, PairKeys, Place, Position, suite_named

PLACE = Place(bytes(16), NOON)
HERE = Position(52.01, 4.36, NOON, 2.0**-6)


def content(parcels: int, room: int = 0) -> Content:
    suite, pair = suite_named(), Randomness.seeded(1)
    keys = PairKeys(pair.key("a").secret, pair.key("b").secret)
    carried = [
        Carried(suite.tracking_public(suite.tracking_secret(keys, b"P%d" % one, 20_000)), one % 3)
        for one in range(parcels)
    ]
    return Content((HERE, HERE, HERE), carried, room)


@pytest.fixture
def composers():
    made = Composers()
    yield made
    made.close()


def test_reports_are_the_same_wherever_they_are_composed(composers):
    """From whichever process, for few parcels and for many, a report has the same bytes."""
    for parcels, room in ((0, 0), (3, 10), (25, 30), (0, 100)):
        given = (PLACE, content(parcels, room), Randomness.seeded(3))
        assert composers.suite.compose(*given) == suite_named().compose(*given)


def test_what_cannot_be_composed_is_refused_in_the_same_words(composers):
    """Errors come back from the other process, and it goes on."""
    with pytest.raises(InputError, match="room for 1000 parcels"):
        composers.compose(PLACE, content(0, room=1001), Randomness.seeded(3))
    assert composers.compose(PLACE, content(0, 30), Randomness.seeded(3))


def test_a_process_that_dies_loses_no_report(composers):
    """The report is composed here, and the next one by a new process."""
    given = (PLACE, content(0, 30), Randomness.seeded(3))
    expected = composers.compose(*given)
    process, _ = composers._begun[0]
    os.kill(process.pid, signal.SIGKILL)
    process.join(10)
    assert composers.compose(*given) == expected
    assert composers.compose(*given) == expected
    assert len(composers._begun) == 2


def test_each_thread_has_a_process_of_its_own(composers):
    """Threads do not wait for each other's reports, and never get them."""
    made: dict[int, bytes] = {}

    def compose(slot: int) -> None:
        place = Place(bytes(16), NOON + slot)
        made[slot] = composers.compose(place, content(0, 30), Randomness.seeded(3))

    threads = [threading.Thread(target=compose, args=(slot,)) for slot in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(composers._begun) == 2
    for slot, report in made.items():
        place = Place(bytes(16), NOON + slot)
        assert report == suite_named().compose(place, content(0, 30), Randomness.seeded(3))
