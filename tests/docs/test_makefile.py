"""What the targets of the Makefile would run."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from voile_testing.plugin import ROOT


@pytest.mark.parametrize("target", ["test", "slow"])
@pytest.mark.parametrize(
    ("room", "folders"),
    [
        ([], []),
        (["ROOM=dp"], ["packages/voile/voile_tests/dp"]),
        (["ROOM=voile-geo docs"], ["packages/voile-geo", "tests/docs"]),
    ],
)
def test_the_tests_of_one_room_can_be_run_alone(target, room, folders):
    """``ROOM`` names distributions or folders of tests; without it all tests are run."""
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    call = ["make", "--dry-run", "--always-make", target, *room]
    told = subprocess.run(call, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    (run,) = (line.split() for line in told.splitlines() if "bin/pytest" in line)
    assert [word for word in run if word.startswith(("tests/", "packages/"))] == folders
    assert all((ROOT / folder).is_dir() for folder in folders)
