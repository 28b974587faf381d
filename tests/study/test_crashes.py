"""Publishers that spend and carry rows over, and die at every step; see ``crashes.py``."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.waiting import PATIENCE

ROOT = Path(__file__).parents[2]


def test_deaths_at_every_step(tmp_path):
    """A publisher that dies loses no row of a pool and publishes none twice, at every step.

    What it spent is spent from the commit on, and from there until its release is settled nobody
    takes rows up before somebody says what became of it.
    """
    done = subprocess.run(
        [sys.executable, "-m", "tests.study.crashes", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE,
    )
    found = json.loads(done.stdout)
    assert found["faults"] == []
    committed, stands, unsettled = 1, True, True
    nothing, lost = [0, False, False], [committed, False, unsettled]
    assert found["left"] == {
        "before the commit": nothing,
        "inside the transaction": nothing,
        "after the commit": lost,
        "during the write": lost,
        "before the rename": lost,
        "after the rename": [committed, stands, unsettled],
        "before settling": [committed, stands, unsettled],
        "inside the settling": [committed, stands, unsettled],
        "after settling": [committed, stands, False],
    }
    # Each table left one parcel waiting that the next one's release published.
    assert len(found["published"]) > 3 * len(found["waiting"]) > 0
    assert sorted(found["published"] + found["waiting"]) == found["given"]
