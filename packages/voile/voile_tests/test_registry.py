"""Methods, attacks and the like by their names, those of other packages among them."""

from __future__ import annotations

import contextlib
import io
import json
import re
import subprocess
import sys
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from voile import read_release
from voile.publish.publisher import Publisher
from voile.publish.registry import METHODS, publisher_for
from voile.release.check import GuaranteeBrokenError, check_release
from voile.schema.plan import parse_plan
from voile_base.errors import InputError, PlanError
from voile_base.main import main
from voile_base.registry import Registry
from voile_tests.installed import environment_with_others, others_installed
from voile_tests.release.listing import list_again


@dataclass(frozen=True)
class Thing:
    """Somebody's attack, as far as a registry knows."""

    size: int
    name: str = "thing"


def things(*lines: str, folder: Path, package: str = "others") -> Path:
    """A folder on which a package announces things by these entry points."""
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("\n".join(["[test.things]", *lines, ""]))
    return folder


def registry() -> Registry[Thing]:
    """A registry with one thing of its own."""
    own = {"own": f"{__name__}:Thing"}
    return Registry(group="test.things", what="a thing", own=own, offers=("size_of",))


def test_names_are_those_of_voile_and_then_of_others(tmp_path, monkeypatch):
    """Own names keep their order, others follow by name; nothing is imported by asking."""
    monkeypatch.syspath_prepend(str(things("z = nowhere:Z", "a = nowhere:A", folder=tmp_path)))
    assert registry().names == ("own", "a", "z")


def test_an_own_name_cannot_be_taken(tmp_path, monkeypatch):
    """Whoever installs such a package is told so, and which it is."""
    monkeypatch.syspath_prepend(str(things("own = nowhere:Own", folder=tmp_path)))
    with pytest.raises(InputError, match="the package 'others' adds a thing 'own', and Voile has"):
        _ = registry().names


def test_two_packages_cannot_have_one_name(tmp_path, monkeypatch):
    """The message names both."""
    monkeypatch.syspath_prepend(str(things("x = one:X", folder=tmp_path, package="first")))
    monkeypatch.syspath_prepend(str(things("x = two:X", folder=tmp_path, package="second")))
    with pytest.raises(InputError, match=r"'(first|second)' .* the package '(first|second)' has"):
        _ = registry().names


@pytest.mark.parametrize(
    ("home", "reason"),
    [
        ("nowhere:Thing", "cannot be imported: No module named 'nowhere'"),
        ("json:Thing", "cannot be imported: module 'json' has no attribute 'Thing'"),
        ("json:loads", "has no 'size_of'"),
    ],
)
def test_what_a_package_announces_wrongly_is_said(tmp_path, monkeypatch, home, reason):
    """With the package, the name and the place; nothing else fails by it."""
    monkeypatch.syspath_prepend(str(things(f"x = {home}", folder=tmp_path)))
    with pytest.raises(InputError, match=re.escape(f"'x' at {home}, which {reason}")):
        registry().class_of("x")
    assert registry().names == ("own", "x")


def test_parameters_are_held_against_fields():
    """Unknown ones are refused with the nearest, missing ones are named."""
    with pytest.raises(InputError, match=r"the thing 'own' has no parameter 'sise'; did you mean"):
        Registry("test.none", "a thing", {"own": "voile_tests.test_registry:Thing"}, ()).make(
            "own", {"sise": 1}
        )


def in_a_process(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Call the command line where the package of others is installed."""
    call = [sys.executable, "-c", "from voile_base.main import main; main()"]
    return subprocess.run(
        [*call, *map(str, arguments)],
        cwd=cwd,
        env=environment_with_others(),
        capture_output=True,
        text=True,
        check=False,
    )


@dataclass(frozen=True)
class Ended:
    """What came of a call of the command line."""

    returncode: int
    stdout: str
    stderr: str


def voile(*arguments: object, cwd: Path) -> Ended:
    """Call the command line in this process, where the package is installed meanwhile."""
    out, err = io.StringIO(), io.StringIO()
    with (
        others_installed(),
        contextlib.chdir(cwd),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        pytest.raises(SystemExit) as leave,
    ):
        main([str(argument) for argument in arguments])
    return Ended(int(leave.value.code or 0), out.getvalue(), err.getvalue())


PLAN = """
[roles]
quasi_identifiers = ["age"]
sensitive = ["salary"]

[method]
name = "ke-anonymity"
k = 2
e = 10
"""


@pytest.fixture
def desk(tmp_path):
    """A table and its plan."""
    rows = "".join(f"{20 + i % 5},{1000 + 100 * i}\n" for i in range(20))
    (tmp_path / "people.csv").write_text("age,salary\n" + rows)
    (tmp_path / "plan.toml").write_text(PLAN)
    return tmp_path


@pytest.mark.slow
def test_an_attack_and_a_measure_of_others_take_part_in_a_study(desk):
    """They are found by entry points alone, stand behind ours, and have their figures."""
    study = ("study", "people.csv", "--plan", "plan.toml", "--out", "out", "--seed", 1, "--json")
    done = in_a_process(*study, "--attacks", "homogeneity,first-row", cwd=desk)
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert [found["attack"] for found in record["attacks"]] == ["homogeneity", "first-row"]
    assert record["attacks"][1]["goal"] == "the first row shows the own age"
    assert 0 < record["attacks"][1]["success"]["value"] < 1
    assert record["utility"][-1]["measure"] == "same-cells"
    assert record["utility"][-1]["value"] == 1
    page = (desk / "out" / "private" / "report.html").read_text(encoding="utf-8")
    assert "First row" in page
    assert "Same cells" in page


@pytest.mark.slow
def test_a_risk_of_others_is_counted_in_an_audit_and_asked_by_a_policy(desk):
    """It stands behind the three, with its figure, and a policy holds it against a limit."""
    audit = ("audit", "people.csv", "--original", "people.csv", "--out", "out", "--targets", 9)
    done = voile(*audit, "--attacks", "first-row", "--json", cwd=desk)
    assert done.returncode == 0, done.stderr
    risks = json.loads(done.stdout)["risks"]
    assert risks[-1]["risk"] == "whole rows"
    assert (risks[-1]["main"]["value"], risks[-1]["found"]) == (1, True)
    asked = 'kind = "risk"\nname = "whole rows"\nmost = 0.5\ncontrol = false\n'
    (desk / "policy.toml").write_text(f'name = "others"\n[[criteria]]\n{asked}')
    done = voile("check", "out", "--policy", "policy.toml", cwd=desk)
    assert done.returncode == 4
    assert "whole rows finds at most 0.5" in done.stdout
    assert "FAIL" in done.stdout


@pytest.mark.slow
def test_an_attack_of_others_brings_its_options(desk):
    """They are made of its fields; of use to no other attack, they are refused for one."""
    publish = ("publish", "people.csv", "--plan", "plan.toml", "--out", "out")
    assert voile(*publish, cwd=desk).returncode == 0
    attack = ("attack", "out", "--against", "people.csv")
    done = in_a_process(*attack, "--attack", "first-row", "--guessed", "nothing", cwd=desk)
    assert done.returncode == 2
    assert "'first-row' makes no sense here: the release has no column 'nothing'" in done.stderr
    done = in_a_process(*attack, "--attack", "skewness", "--guessed", "age", cwd=desk)
    assert done.returncode == 2
    assert "--guessed is of no use here: no attack that is named has a use for it" in done.stderr


GENERALIZED = """
[roles]
quasi_identifiers = ["age"]
sensitive = ["illness"]

[columns.age]
intervals = { widths = [5, 10, 20, 40] }

[method]
name = "generalization"
k = 2
criteria = [%s]
"""


@pytest.fixture
def ward(tmp_path):
    """Twelve patients, of whom neighbours in age have the same illness."""
    rows = [f"{20 + i},{'flu' if i < 8 else 'cold'}\n" for i in range(12)]
    (tmp_path / "ward.csv").write_text("age,illness\n" + "".join(rows))
    return tmp_path


def publish(ward: Path, criteria: str) -> Ended:
    """Publish the ward by a plan with these criteria."""
    (ward / "plan.toml").write_text(GENERALIZED % criteria)
    return voile("publish", "ward.csv", "--plan", "plan.toml", "--out", "out", cwd=ward)


@pytest.mark.parametrize(
    ("method", "reason"),
    [
        ('"ke-anonymity"\nk = 2\ne = 1', "k and e are its criterion"),
        ('"dp-generalization"\nk = 5\nepsilon = 12', "its budget does not pay for"),
        ('"m-shuffle"\nclusters = 2', "rows whose sensitive values are alike"),
        ('"clustered-laplace"\nepsilon = 1', "it makes no groups of rows"),
    ],
)
def test_methods_that_take_no_criteria_say_why_and_which_do(method, reason):
    """The plan's file, the key, the reason, and the methods that take criteria."""
    for key, asked in (
        ("criteria", '[{ name = "l-diversity", column = "ill", l = 2 }]'),
        ("l", "2"),
    ):
        document = tomllib.loads(f"[method]\nname = {method}\n{key} = {asked}\n")
        plan = replace(parse_plan(document), source="plan.toml")
        with pytest.raises(PlanError) as refused:
            publisher_for(plan)
        said = str(refused.value)
        assert said.startswith(f"plan.toml: [method] {key}: ")
        assert reason in said
        assert said.endswith("methods that take them: generalization, ranking")


@pytest.mark.parametrize("method", METHODS.own)
def test_every_method_offers_all_that_is_asked_of_a_publisher(method):
    """What the protocol lists; a release asks each of it."""
    asked = {name for name in vars(Publisher) if not name.startswith("_")}
    assert {"following", "prepare", "capabilities"} <= asked | set(Publisher.__annotations__)
    assert [name for name in asked if not hasattr(METHODS.class_of(method), name)] == []


def test_a_criterion_of_others_is_held_and_measured_again(ward):
    """Groups are as large as it asks, and a release that is changed is found to break it."""
    done = publish(ward, '{ name = "largest-share", column = "illness", alpha = 0.7 }')
    assert done.returncode == 0, done.stderr
    stated = json.loads((ward / "out" / "release.json").read_text())["guarantee"]
    asked = {"name": "largest-share", "column": "illness", "alpha": 0.7}
    assert stated["criteria"] == [asked]
    assert "the values of 'illness' stand each in at most 0.7 of the rows" in stated["statement"]
    assert breach_of(ward) == ""
    path = ward / "out" / "data.csv"
    path.write_text(path.read_text().replace("cold", "flu"))
    list_again(ward / "out")
    assert "groups of the release break {'alpha': 0.7" in breach_of(ward)


def breach_of(ward: Path) -> str:
    """What a release breaks, as a reader of it finds; empty where it breaks nothing."""
    with others_installed():
        try:
            check_release(read_release(ward / "out"))
        except GuaranteeBrokenError as error:
            return str(error)
    return ""


@pytest.mark.parametrize(
    ("criteria", "said"),
    [
        ('{ column = "illness" }', "a criterion needs a name"),
        ('{ name = "largest-shares", column = "illness" }', "did you mean 'largest-share'?"),
        ('{ name = "largest-share", column = "illness", beta = 1 }', "has no parameter 'beta'"),
        ('{ name = "largest-share", column = "illness", alpha = 2 }', "alpha must be above 0"),
        ('{ name = "l-diversity", column = "age", l = 2 }', "which is not sensitive"),
        ('{ name = "l-diversity", l = 2 }', "needs 'column'"),
        ('"l-diversity"', "each is a table"),
    ],
)
def test_criteria_that_cannot_be_are_refused(ward, criteria, said):
    """With the key and what is known; nothing is written."""
    done = publish(ward, criteria)
    assert done.returncode == 2
    assert done.stderr.startswith("voile: plan.toml: [method] criteria: ")
    assert said in done.stderr
    assert not (ward / "out").exists()


def test_an_engine_of_others_makes_the_same_release(desk):
    """Row for row, from the same table, plan and seed; an engine that is not there is said."""
    publish = ("publish", "people.csv", "--plan", "plan.toml", "--seed", 3)
    for engine in ("auto", "plain"):
        done = voile(*publish, "--engine", engine, "--out", engine, cwd=desk)
        assert done.returncode == 0, done.stderr
    both = [(desk / engine / "data.csv").read_text() for engine in ("auto", "plain")]
    assert both[0] == both[1]
    done = voile(*publish, "--engine", "plan", "--out", "out", cwd=desk)
    assert done.returncode == 2
    assert "there is no engine 'plan'; did you mean 'plain'?" in done.stderr
