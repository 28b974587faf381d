"""Processes and servers that are killed while they append."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from share_tests.store.batches import BATCHES, batch, faults, progress
from voile_share.store import Appended, PostgresStore, StoreError
from voile_testing.processes import PATIENCE, wait_until

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent


def kills(folder: Path, stores: int, times: int, seed: int) -> dict[str, object]:
    """Run the script that kills who appends; what it counted."""
    command = [sys.executable, HERE / "crashing.py", folder, f"{stores}", f"{times}", f"{seed}"]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(run.stdout)


def test_a_kill_at_any_instant_loses_nothing_that_was_acknowledged(tmp_path):
    """After SIGKILL a file holds whole batches: all acknowledged ones, plus at most one."""
    outcome = kills(tmp_path, stores=8, times=12, seed=1)
    assert outcome["faults"] == []
    # The kills did hit commits and creations.
    assert outcome["acknowledged"] >= 80, outcome
    assert outcome["unreported"] >= 2, outcome
    assert outcome["uncreated"] >= 1, outcome


@pytest.mark.slow
def test_many_kills(tmp_path):
    """The same, 1,440 times."""
    outcome = kills(tmp_path, stores=120, times=12, seed=2)
    assert outcome["faults"] == []
    assert outcome["unreported"] >= 40, outcome


class Appender:
    """Appends batches until it is told to stop, each as often as it takes."""

    def __init__(self, store: PostgresStore) -> None:
        self._store = store
        self._stop = threading.Event()
        self.acknowledged = 0
        self.refusals: list[str] = []

    def run(self) -> None:
        while not self._stop.is_set() and self.acknowledged < BATCHES:
            try:
                outcomes = self._store.append(batch(self.acknowledged))
            except StoreError as error:
                self.refusals.append(str(error))
                time.sleep(0.01)
            else:
                assert set(outcomes) == {Appended.NEW}, outcomes
                self.acknowledged += 1

    def stop(self) -> None:
        self._stop.set()

    def wait_for_more(self, batches: int) -> None:
        """Until so many more are acknowledged."""
        awaited = min(BATCHES, self.acknowledged + batches)
        wait_until(lambda: self.acknowledged >= awaited, "the store did not recover")


@pytest.mark.slow
def test_a_server_that_is_killed_and_started_again(mortal_postgres):
    """The same store goes on by itself, has lost nothing, and was right about each refusal."""
    rng = random.Random(3)
    batch(0)
    with closing(PostgresStore.open(mortal_postgres.url(), patience=PATIENCE)) as store:
        appender = Appender(store)
        with ThreadPoolExecutor(1) as pool:
            appending = pool.submit(appender.run)
            try:
                for _ in range(5):
                    appender.wait_for_more(5)
                    time.sleep(rng.uniform(0, 0.02))
                    mortal_postgres.kill()
                    mortal_postgres.start()
                for _ in range(3):  # the server ends all others and recovers, without hands
                    appender.wait_for_more(5)
                    time.sleep(rng.uniform(0, 0.02))
                    mortal_postgres.kill_one_that_serves()
                appender.wait_for_more(5)
            finally:
                appender.stop()
                appending.result()
        assert progress(store) == appender.acknowledged
        assert faults(store) == []
        # So each batch that was refused was new when it was taken.
        assert appender.refusals
        assert all("nothing was changed" in refusal for refusal in appender.refusals)
