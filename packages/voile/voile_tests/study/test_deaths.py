"""Publishers of a series that are killed, or have no room on the disk; see ``deaths.py``.

More of them by hand: ``python -m voile_tests.study.deaths FOLDER TRIALS SEED``.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from voile_testing.processes import PATIENCE

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.parametrize(("trials", "seed"), [(30, 0)])
def test_no_series_is_blocked_or_forked(tmp_path: Path, trials: int, seed: int) -> None:
    """After any death, somebody says what became of the release, and the next one appears."""
    done = subprocess.run(
        [sys.executable, "-m", "voile_tests.study.deaths", str(tmp_path), str(trials), str(seed)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["faults"] == [], done.stderr
    assert sum(found["ends"].values()) == trials
    assert any("finished" not in how for how in found["ends"]), "nothing was interrupted"
