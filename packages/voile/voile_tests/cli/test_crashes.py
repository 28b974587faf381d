"""Publishers that die at every step and at any instant; see ``crashes.py``."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from voile_testing.processes import PATIENCE

ROOT = Path(__file__).parents[2]


def crashes(folder, *mode):
    """What the publishers of ``crashes.py`` left behind."""
    command = [sys.executable, "-m", "voile_tests.cli.crashes", str(folder), *mode]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("what", ["series", "trips"])
def test_deaths_at_every_step(tmp_path, what):
    """A publisher that dies leaves nothing, or a ledger that knows of a release, at every step.

    Of trips it knows what they spent before anything is drawn: none can be moved again for nothing.
    """
    found = crashes(tmp_path, what, "points")
    assert found["faults"] == []
    assert found["groupings"] == 1
    left = {point: (f["committed"], f["released"]) for point, f in found["left"].items()}
    nothing, known, out = (0, False), (1, False), (1, True)
    staged = ("before the write", "during the write", "before the check", "after the check")
    before = {
        "series": {
            **dict.fromkeys(staged, nothing),
            "before the commit": nothing,
            "while marks are written": nothing,
            "before the ledger refers to marks": nothing,
            "inside the transaction": nothing,
            "before forgotten marks go": known,
            "after the commit": known,
        },
        "trips": {
            "before the charge": nothing,
            "inside the transaction": nothing,
            "after the charge": known,
            **dict.fromkeys(staged, known),
        },
    }
    settled = ("before settling", "inside the settling", "after settling")
    assert left == {
        **before[what],
        "before the document": known,
        "during the document": known,
        "after the document": known,
        "before the rename": known,
        "after the rename": out,
        **(dict.fromkeys(settled, out) if what == "series" else {}),
    }


@pytest.mark.slow
@pytest.mark.parametrize("what", ["series", "trips"])
def test_deaths_at_random(tmp_path, what):
    """A publisher killed at any instant leaves nothing or a whole release that the ledger knows.

    Of trips the ledger knows what they spent, too.
    """
    found = crashes(tmp_path, what, "random", "30", "5")
    assert found["faults"] == []
    assert found["groupings"] == 1
    assert found["counts"]["nothing"] > 0
    assert sum(found["counts"].values()) == 30
