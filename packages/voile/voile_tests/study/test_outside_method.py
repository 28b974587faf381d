"""A method of another package, with a kind of showing, a treatment and a claim of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from voile.release.folder import manifest_of
from voile_tests.installed import environment_with_others
from voile_tests.release.listing import list_again

pytestmark = pytest.mark.slow

PLAN = """[roles]
quasi_identifiers = ["age"]
sensitive = ["pay"]

[method]
name = "neighbour-means"
k = %s
"""


def run(desk, *call, others=True):
    """The command in a process that finds the package, or does not."""
    environment = environment_with_others() if others else dict(os.environ)
    return subprocess.run(
        [sys.executable, "-m", "voile", *map(str, call)],
        cwd=desk,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def desk(tmp_path):
    """Sixty people whose pay is 1, 4, 9, ..., and a plan."""
    rows = "".join(f"{20 + i % 30},{i * i + 1}\n" for i in range(60))
    (tmp_path / "people.csv").write_text("age,pay\n" + rows)
    (tmp_path / "plan.toml").write_text(PLAN % 5)
    return tmp_path


PUBLISH = ("publish", "people.csv", "--plan", "plan.toml", "--out", "out")


def test_means_are_published_and_their_claim_measured_again(desk):
    """Numbers that no row has, of five rows each; recounted by the package, or said unknown."""
    done = run(desk, *PUBLISH)
    assert done.returncode == 0, done.stderr
    lines = (desk / "out" / "data.csv").read_text().splitlines()
    names, *rows = (line.split(",") for line in lines)
    means = [float(row[names.index("pay")]) for row in rows]
    assert len(means) == 60
    assert not set(means) & {i * i + 1.0 for i in range(60)} - {5.0}
    assert min(means.count(mean) for mean in means) >= 5
    assert sum(means) == pytest.approx(sum(i * i + 1 for i in range(60)), abs=0.1)
    document = json.loads((desk / "out" / "release.json").read_text())
    assert document["columns"]["pay"]["kind"] == "averages"
    assert document["guarantee"]["kind"] == "averaged-rows"
    done = run(desk, "recount", "out")
    assert done.returncode == 0, done.stderr
    assert "Claim averaged-rows (k = 5): holds." in done.stdout
    absent = run(desk, "recount", "out", others=False)
    assert absent.returncode == 4
    assert "columns.pay: unknown kind 'averages'" in absent.stderr
    assert "where another package adds a kind of showing of this name, install it" in absent.stderr


def test_a_release_that_breaks_the_claim_or_the_kind_is_refused(desk):
    """A mean of fewer rows, below the least one that is stated: both are told."""
    assert run(desk, *PUBLISH).returncode == 0
    path = desk / "out" / "data.csv"
    head, first, *rest = path.read_text().splitlines()
    place = head.split(",").index("pay")
    cells = first.split(",")
    cells[place] = "-3.5"
    path.write_text("\n".join([head, ",".join(cells), *rest, ""]))
    list_again(desk / "out")
    done = run(desk, "recount", "out")
    assert done.returncode == 4
    assert "means of column 'pay' are of fewer than 5 rows" in done.stdout
    assert "column 'pay' shows means below the least that it states" in done.stdout


def test_its_loss_is_measured(desk):
    """Means lose something, by the kind's own account of what a cell covers."""
    done = run(desk, "study", "people.csv", "--plan", "plan.toml", "--out", "study")
    assert done.returncode == 0, done.stderr
    record = json.loads((desk / "study" / "private" / "record.json").read_text())
    lost = {one["measure"]: one["value"] for one in record["utility"]}
    assert 0 < lost["normalized-certainty-penalty"] < 1


@pytest.mark.parametrize("wrong", ['"many"', "1", "2.5"])
def test_a_wrong_parameter_is_told_by_plan_table_and_key(desk, wrong):
    """As of our own methods, and nothing is written."""
    (desk / "plan.toml").write_text(PLAN % wrong)
    done = run(desk, *PUBLISH)
    assert done.returncode == 2
    said = "plan.toml: [method] k must be a whole number of at least 2"
    assert done.stderr.startswith(f"voile: {said}")
    assert not (desk / "out").exists()


def test_a_file_format_and_a_command_of_another_package(desk):
    """One file each: the format is read, written and read back; the command is listed and run."""
    text = (desk / "people.csv").read_text().replace(",", "|")
    (desk / "people.bars").write_text(text)
    done = run(desk, "publish", "people.bars", "--plan", "plan.toml", "--out", "out")
    assert done.returncode == 0, done.stderr
    assert (desk / "out" / "data.bars").read_text().startswith("group|age|pay\n")
    assert run(desk, "recount", "out").returncode == 0
    done = run(desk, "columns", "out")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "age: exact\npay: averages\n"
    assert "columns  'plain-others'" in run(desk, "--help").stdout
    absent = run(desk, "columns", "out", others=False)
    assert absent.returncode == 2
    assert "No such command 'columns'" in absent.stderr


def test_what_another_package_recognises_is_not_published(desk):
    """Numbers of library cards tell who somebody is; without the package they are kept."""
    rows = "".join(f"{20 + i % 30},{i + 1},LC-{i % 20:06}\n" for i in range(60))
    (desk / "people.csv").write_text("age,pay,card\n" + rows)
    plan = (PLAN % 5).replace("[method]", 'keep = ["card"]\n\n[method]')
    (desk / "plan.toml").write_text(plan)
    refused = run(desk, *PUBLISH)
    assert refused.returncode == 2
    assert "column 'card' holds numbers of library cards" in refused.stderr
    assert "LC-" not in refused.stderr
    assert run(desk, *PUBLISH, others=False).returncode != 0  # the method is the package's


def test_a_form_of_release_of_another_package_is_recounted(desk):
    """Its folder is read by the package; a count that was altered, or is negative, is told."""
    folder = desk / "histogram"
    folder.mkdir()
    document = {
        "format": 1,
        "form": "histogram",
        "guarantee": {"kind": "mixed", "statement": "s", "assumes": []},
    }
    for counts, status in (([3.5, 0.25], 0), ([3.5, -1], 4)):
        text = "".join(f"{count}\n" for count in ("count", *counts))
        (folder / "data.csv").write_text(text)
        listed = manifest_of(folder, ["data.csv"])
        (folder / "release.json").write_text(json.dumps({**document, "data": listed}))
        done = run(desk, "recount", "histogram")
        assert done.returncode == status, done.stderr
    assert "its histogram has counts below 0" in done.stdout + done.stderr
    (folder / "data.csv").write_text("count\n5\n7\n")
    assert "this file was changed" in run(desk, "recount", "histogram").stderr
    absent = run(desk, "recount", "histogram", others=False)
    assert absent.returncode != 0
    assert "there is no form of release 'histogram'" in absent.stderr
