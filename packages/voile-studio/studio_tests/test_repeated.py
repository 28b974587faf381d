"""What was done in the browser is repeated by the command that the screen shows."""

from __future__ import annotations

import html
import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")

from studio_tests.studio import Visitor

pytestmark = pytest.mark.slow

_SHOWN = re.compile(r'data-copy="([^"]+)"')


def table(folder: Path, rows: int = 240) -> None:
    """A table of persons in a folder."""
    draw = random.Random(5)
    lines = ["age,sex,town,diagnosis"]
    for _ in range(rows):
        town, illness = draw.choice("abcd"), draw.choice(("asthma", "flu", "migraine"))
        lines.append(f"{draw.randrange(20, 80)},{draw.choice('fm')},{town},{illness}")
    (folder / "people.csv").write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which a table was looked at, tried, and published with a seed and without."""
    folder = tmp_path_factory.mktemp("office")
    table(folder)
    visitor = Visitor(folder)
    visitor.post("/open", source="people.csv")
    visitor.wait("/p/people/data", "<h2>Columns</h2>")
    tried = {"generalization.k": ["3", "6"]}
    visitor.post("/p/people/try", method="generalization", **tried)
    visitor.wait("/p/people/try", "<svg")
    visitor.post("/p/people/try/001/1/use")
    for number, seed in (("001", "7"), ("002", "")):
        publish(visitor, number, seed)
    return folder


def publish(visitor: Visitor, number: str, seed: str) -> None:
    """Publish what the page offers, and wait for it."""
    visitor.wait("/p/people/sign", 'class="deed"')
    digest = visitor.digest("/p/people/sign")
    visitor.post("/p/people/release", digest=digest, number=number, seed=seed)
    visitor.wait("/p/people/sign", f">Release {int(number)}</h2>")


def commands(folder: Path, screen: str) -> list[str]:
    """The commands that a screen shows, as they are copied."""
    page = Visitor(folder).get(f"/p/people/{screen}").text
    return [html.unescape(found) for found in _SHOWN.findall(page)]


def elsewhere(office: Path, tmp_path: Path, *without: str) -> Path:
    """The same folder at another place, without what was made of it."""
    folder = tmp_path / "again"
    shutil.copytree(office, folder)
    for name in without:
        shutil.rmtree(folder / "people.voile" / name)
    return folder


def run(command: str, folder: Path) -> Mapping[str, Any]:
    """Run a command in a shell; what it prints."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command,
        shell=True,
        cwd=folder,
        check=True,
        capture_output=True,
        env={**os.environ, "PATH": path},
    )
    printed: Mapping[str, Any] = json.loads(done.stdout)
    return printed


def test_looking_is_repeated(office: Path):
    """The same columns, exposure and rows."""
    (command,) = commands(office, "data")
    told = run(command, office)
    page = Visitor(office).get("/p/people/data").text
    assert f"<strong>{told['rows']} rows</strong>" in page
    assert all(f"<bdi>{column['name']}</bdi>" in page for column in told["columns"])


def test_a_plan_is_held_against_the_table_again(office: Path):
    """By the command of its page."""
    (command,) = commands(office, "plan")
    assert "findings" in run(command, office)


def test_a_try_is_repeated(office: Path, tmp_path: Path):
    """The same plans, with the same decisions."""
    (command,) = commands(office, "try")
    again = elsewhere(office, tmp_path, "tries/001/compared")
    run(command, again)
    place = "people.voile/tries/001/compared/records"
    assert decided(again / place) == decided(office / place) != {}


def test_what_counts_as_risk_is_said_in_words(office: Path):
    """A share beside the name of a try tells nothing, and neither does the key of a record."""
    page = Visitor(office).get("/p/people/try").text
    assert ">re-identification risk (worst person)</text>" in page
    assert ">information loss (" in page
    other = Visitor(office).get("/p/people/try?risk=gain").text
    assert ">what the best attack finds of what guessing leaves open</text>" in other
    assert '<option value="gain" selected>' in other
    unknown = Visitor(office).get("/p/people/try?risk=nothing").text
    assert ">re-identification risk (worst person)</text>" in unknown


def decided(records: Path) -> dict[str, Any]:
    """Plan, method and promise of each study of a comparison."""
    found = {}
    for path in sorted(records.glob("*.json")):
        record = json.loads(path.read_text())
        release = record["release"]
        found[path.name] = (record["plan"], release["method"], release["guarantee"])
    return found


def test_a_release_is_repeated(office: Path, tmp_path: Path):
    """The newest and the seeded one: the same plan and decision; byte for byte with the seed.

    Also after the plan was changed.
    """
    shown = commands(office, "sign")
    again = elsewhere(office, tmp_path, "releases/001", "releases/002")
    (again / "people.voile" / "plan.toml").write_text("[roles]\n")
    for number in ("001", "002"):
        (command,) = [one for one in shown if f"releases/{number} " in one]
        run(command, again)
        old, new = (place / "people.voile" / "releases" / number for place in (office, again))
        was, now = (json.loads((one / "private" / "record.json").read_text()) for one in (old, new))
        assert (was["plan"], was["release"]["method"]) == (now["plan"], now["release"]["method"])
        if number == "001":
            files = sorted(path.name for path in (old / "release").iterdir())
            assert files == sorted(path.name for path in (new / "release").iterdir())
            for name in files:
                assert (old / "release" / name).read_bytes() == (
                    new / "release" / name
                ).read_bytes()


def test_a_seeded_release_is_never_signed(office: Path):
    """The page says so, and offers nothing of the kind."""
    page = Visitor(office).get("/p/people/sign").text
    (_, seeded) = page.split(">Release 1</h2>")
    assert "not fit for publication, and never signed" in seeded
    assert 'name="role"' not in seeded
