"""What the targets of the Makefile would run."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

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


def test_each_requirement_is_locked_at_a_version_that_it_allows() -> None:
    """What a distribution needs stands in ``requirements.lock``; `make lock` writes it."""
    pinned = re.findall(
        r"^([\w.-]+)==([^\s;]+)", (ROOT / "requirements.lock").read_text("utf-8"), re.MULTILINE
    )
    missing = []
    for path in ROOT.glob("packages/*/pyproject.toml"):
        project = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
        for stated in sum(
            project.get("optional-dependencies", {}).values(), project["dependencies"]
        ):
            needed = Requirement(stated)
            name = canonicalize_name(needed.name)
            fits = any(one == name and needed.specifier.contains(v) for one, v in pinned)
            if not fits and not name.startswith("voile"):
                missing.append(f"{path.parent.name}: {stated}")
    assert missing == []
