"""``voile attack`` on release folders."""

import json

import pytest
from click.testing import CliRunner

from voile.cli.attack import _attack
from voile.release.folder import write_release
from voile_base.errors import InputError

OLD = [("Ann", 10, 1), ("Bob", 25, 1), ("Cleo", 40, 1)]
NEW = [*OLD, ("Dan", 31, 1)]


@pytest.fixture
def folders(publish, tmp_path):
    """The folders of two releases that give Dan away, one CSV and one Parquet."""
    write_release(publish(OLD), tmp_path / "old", "csv")
    write_release(publish(NEW), tmp_path / "new", "parquet")
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(_attack, list(map(str, arguments)), catch_exceptions=False)


def test_exposed_people_come_first_and_then_why(folders):
    """The first line counts; the table names Dan, his value and the groups; the status is 0."""
    done = run(folders / "new", "--previous", folders / "old")
    assert done.exit_code == 0
    first, *others = done.stdout.splitlines()
    assert first == "1 of 4 people is exposed (25.0%)"
    (row,) = [line for line in others if "Dan" in line]
    assert "31" in row
    assert "4 values, range 30" in row
    assert not any(name in done.stdout for name in ("Ann", "Bob", "Cleo"))
    assert "group 1 subtracted" in " ".join(done.stdout.split())


def test_without_earlier_releases_nobody_is_exposed(folders):
    """A release that keeps its promise exposes nobody by itself, and stricter terms do."""
    done = run(folders / "new")
    assert done.stdout.startswith("0 of 4 people are exposed\n")
    assert run(folders / "new", "--k", 5).stdout.startswith("4 of 4 people are exposed (100.0%)")
    assert run(folders / "new", "--e", "30.5", "--most", 1).stdout.count("and 3 more") == 1


@pytest.fixture
def three(folders, publish):
    """The folder with a release more, between the other two."""
    write_release(publish([*OLD, ("Eve", 55, 1)]), folders / "middle", "csv")
    return folders


SPELLINGS = {
    "once for each": "NEW --previous OLD --previous MIDDLE",
    "both at once": "NEW --previous OLD MIDDLE",
    "another option behind": "NEW --previous OLD MIDDLE --json",
    "another option before": "--most 5 NEW --previous OLD MIDDLE",
    "an option with a value between": "NEW --previous OLD --most 5 --previous MIDDLE",
    "the release last": "--previous OLD MIDDLE NEW",
    "the release behind another option": "--previous OLD MIDDLE --most 5 NEW",
    "the release last in one of two": "--previous OLD --previous MIDDLE NEW",
    "the release last in the first of two": "--previous MIDDLE NEW --previous OLD",
    "the release behind two dashes": "--previous OLD MIDDLE -- NEW",
    "an equals sign": "--previous=OLD NEW --previous MIDDLE",
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_several_earlier_releases(three, spelling, monkeypatch):
    """All names behind --previous are its, up to the next option; the release is the one left."""
    monkeypatch.chdir(three)
    words = SPELLINGS[spelling]
    for name in ("NEW", "OLD", "MIDDLE"):
        words = words.replace(name, name.lower())
    words = words.split()
    done = run("--json", *words) if "--json" not in words else run(*words)
    assert done.exit_code == 0, done.output
    first, *earlier = json.loads(done.stdout)["releases"]
    assert first == "new"
    assert set(earlier) == {"old", "middle"}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--previous OLD NEW --previous OLD NEW", "cannot be told: put it first"),
        ("--previous OLD", "Missing argument 'NEW'"),
        ("NEW --previous", "requires an argument"),
        ("NEW OLD", "unexpected extra argument"),
        ("NEW --previous OLD --unknown NEW", "No such option"),
    ],
)
def test_calls_that_cannot_be_read(words, told):
    """Which release is to be looked at is never guessed."""
    done = run(*words.split())
    assert done.exit_code == 2
    assert told.lower() in done.output.lower()


def test_json_is_the_document_of_the_result(folders):
    """Standard output holds one JSON document and nothing private."""
    done = run(folders / "new", "--previous", folders / "old", "--json")
    document = json.loads(done.stdout)
    assert document["victims"][0]["quasi_identifiers"] == {"person": "Dan"}
    assert document["victims"][0]["values"] == ["31"]
    assert "private" not in document


def test_output_that_used_the_original_says_so_first(folders):
    """With --against the first line is the warning, and claims are counted as true or not."""
    original = folders / "people.csv"
    original.write_text("person,salary\nAnn,10\nBob,25\nCleo,40\nDan,31\n")
    asked = [folders / "new", "--previous", folders / "old", "--against", original]
    done = run(*asked)
    assert done.stdout.startswith("PRIVATE")
    assert "True for 1 of the 1 victims shown" in done.stdout
    document = json.loads(run(*asked, "--json").stdout)
    assert next(iter(document)) == "private"
    assert document["verification"] == {"victims": 1, "right": 1, "unknown": 0, "share": 1.0}


def test_plan_gives_the_texts_that_stand_for_missing_values(folders):
    """A salary of "?" is missing by the plan, and would be text without it."""
    original = folders / "people.csv"
    original.write_text("person,salary\nAnn,10\nDan,31\nEve,?\n")
    plan = folders / "plan.toml"
    plan.write_text('missing = ["?"]\n[roles]\nsensitive = ["salary"]\n')
    asked = [folders / "new", "--previous", folders / "old", "--against", original]
    assert "True for 1 of the 1" in run(*asked, "--plan", plan).stdout
    with pytest.raises(InputError, match="does not hold numbers"):
        run(*asked)


def test_wrong_calls_name_the_option(folders):
    """A number that is none, a plan without an original, a folder that is no release."""
    done = run(folders / "new", "--e", "wide")
    assert done.exit_code == 2
    assert "--e" in done.stderr
    with pytest.raises(InputError, match="--against"):
        run(folders / "new", "--plan", "plan.toml")
    with pytest.raises(InputError, match="there is no such file or folder"):
        run(folders / "new", "--previous", folders / "older")
