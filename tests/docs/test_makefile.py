"""What the targets of the Makefile would run."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("target", ["test", "slow"])
@pytest.mark.parametrize(
    ("room", "folders"),
    [([], []), (["ROOM=dp"], ["tests/dp"]), (["ROOM=dp ledger"], ["tests/dp", "tests/ledger"])],
)
def test_the_tests_of_one_room_can_be_run_alone(target, room, folders):
    """``ROOM`` names folders of tests; without it all tests are run."""
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    call = ["make", "--dry-run", "--always-make", target, *room]
    told = subprocess.run(call, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    (run,) = (line.split() for line in told.splitlines() if "bin/pytest" in line)
    assert [word for word in run if word.startswith("tests")] == folders
    assert all((ROOT / folder).is_dir() for folder in folders)
