"""Publishers that spend and carry rows over, and die at every step; see ``crashes.py``."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from voile_testing.processes import PATIENCE

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_deaths_at_every_step(tmp_path, engine):
    """A publisher that dies loses no row of a pool and publishes none twice, at every step.

    What it spends is spent before it draws anything.  From the commit on, until its release is
    settled, nobody takes rows up before somebody says what became of it.
    """
    require_sound(tmp_path, engine)


def require_sound(folder: Path, engine: str, every: int = 1) -> None:
    """Let publishers die, on an engine, at each ``every``-th step, and look at what they left."""
    folder.mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-m", "voile_tests.study.crashes", str(folder), engine, str(every)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE,
    )
    found = json.loads(done.stdout)
    assert found["faults"] == []
    charged, stands, unsettled = 1, True, True
    nothing, drawn = [0, False, False], [charged, False, False]
    lost = [charged, False, unsettled]
    expected = {
        "before the charge": nothing,
        "inside the charge": nothing,
        "after the charge": drawn,
        "during the write": drawn,
        "before the check": drawn,
        "after the check": drawn,
        "before the commit": drawn,
        "while rows are written": drawn,
        "inside the commit": drawn,
        "after the commit": lost,
        "before the document": lost,
        "after the document": lost,
        "before the rename": lost,
        "after the rename": [charged, stands, unsettled],
        "before settling": [charged, stands, unsettled],
        "inside the settling": [charged, stands, unsettled],
        "after settling": [charged, stands, False],
    }
    assert found["left"] == dict(list(expected.items())[::every])
    # Each table left one parcel waiting that the next one's release published.
    assert len(found["published"]) > 3 * len(found["waiting"]) > 0
    assert sorted(found["published"] + found["waiting"]) == found["given"]
