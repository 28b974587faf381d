"""``voile.compare``: a grid of studies, its frontier, and its deaths."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import jsonschema
import polars as pl
import pytest

from voile.ledger import Ledger
from voile.schema.plan import parse_plan
from voile.study.documents import comparison_schema, read_comparison, record_schema
from voile.study.evidence import EvidenceTerms
from voile.study.frontier import by_risk
from voile.study.grid import NOT_CHARGED, Axes, PointTerms, _locked, make_comparison, partial_folder
from voile.study.record import PolicyFindings
from voile.study.single import run_study
from voile_base.errors import InfeasibleError, InputError, PlanError, TableError, VoileError
from voile_testing.processes import PATIENCE, wait_until
from voile_tests.study.instruments import (
    Absentee,
    Crowd,
    Drawn,
    Fails,
    Fake,
    Kills,
    Marks,
    Standard,
    instruments,
    outcome,
)

ROOT = Path(__file__).parents[2]
PEOPLE = pl.DataFrame(
    {
        "age": [20 + i % 20 for i in range(60)],
        "city": ["York", "Bath", "Leeds", "York", "Leeds"] * 12,
        "salary": [1000 + 70 * i for i in range(60)],
    }
)
PLAN = """
[roles]
quasi_identifiers = ["age", "city"]
sensitive = ["salary"]

[columns.age]
intervals = { origin = 0, widths = [5, 10, 20] }

[method]
name = "generalization"
k = [2, 5, 70]
algorithm = ["flash", "mondrian"]
"""
CROWD = Standard((Crowd(),))
LOSS = Axes(loss="class-size")


class Guesses(Fake):
    """Right once in eight, whatever the release."""

    def run(self, release, original, plan=None, randomness=None):
        """The same of all."""
        return outcome(self.name, 1, 8, checked=False)


def guessing(names):
    """The instruments of a grid of made-up rows."""
    return instruments(Guesses(), measures=())


TRIES = PointTerms(1, EvidenceTerms(), guessing)


@pytest.fixture
def desk(tmp_path) -> Path:
    """A folder with the people and a plan."""
    PEOPLE.write_csv(tmp_path / "people.csv")
    (tmp_path / "plan.toml").write_text(PLAN)
    return tmp_path


def compare(desk, out="out", *plans, shared=None, axes=LOSS, **options):
    """Make a comparison at the desk."""
    shared = shared or PointTerms(1, EvidenceTerms(), CROWD)
    paths = [desk / name for name in plans or ("plan.toml",)]
    place = out and desk / out
    made = make_comparison(desk / "people.csv", paths, place, shared, axes, **options)
    return made.comparison


def without_seconds(comparison):
    """All that a comparison says but how long it took."""
    points = (
        replace(p, record=replace(p.record, seconds={})) if p.record else p
        for p in comparison.points
    )
    return replace(comparison, points=tuple(points))


def test_a_grid(desk):
    """Every combination is studied; what cannot be is a finding; the best stand on the frontier."""
    found = compare(desk, render=lambda comparison: f"<p>{comparison.name}</p>")
    assert [(p.name, p.status) for p in found.points] == [
        ("k = 2, algorithm = flash", "done"),
        ("k = 2, algorithm = mondrian", "done"),
        ("k = 5, algorithm = flash", "done"),
        ("k = 5, algorithm = mondrian", "done"),
        ("k = 70, algorithm = flash", "infeasible"),
        ("k = 70, algorithm = mondrian", "infeasible"),
    ]
    assert found.swept == {"method.k": (2, 5, 70), "method.algorithm": ("flash", "mondrian")}
    done = [p for p in found.points if p.record]
    places = {p.name: (p.risk, p.loss) for p in done}
    assert all(p.record.name == p.name and p.record.parameters == p.parameters for p in done)
    assert set(found.frontier) == {
        name
        for name, place in places.items()
        if not any(o != place and o[0] <= place[0] and o[1] <= place[1] for o in places.values())
    }
    assert "rows" in found.points[-1].message


def drawing(names):
    """An adversary that succeeds by what it draws."""
    return instruments(Drawn(), measures=())


def test_the_studies_of_a_grid_aim_at_the_same_people(desk):
    """Without a seed all points draw alike, and so does the same table again; another does not."""
    shared = PointTerms(None, EvidenceTerms(), drawing)

    def successes(rows: int) -> set[float]:
        PEOPLE.head(rows).write_csv(desk / "people.csv")
        found = compare(desk, None, shared=shared, axes=None)
        return {p.record.attacks[0]["success"]["value"] for p in found.points if p.record}

    first = successes(60)
    assert len(first) == 1
    assert successes(60) == first
    assert successes(50).isdisjoint(first)


def fewer_than_three(release, record) -> PolicyFindings:
    """A policy that asks for groups of three."""
    many = record.plan["method"]["k"] >= 3
    return PolicyFindings((), ("near",)) if many else PolicyFindings((f"{release.rows} rows",))


def test_each_study_tells_what_it_misses_of_a_policy(desk):
    """By the release and its record; kept with the point, and nothing where no policy is named."""
    shared = replace(PointTerms(1, EvidenceTerms(), CROWD), judge=fewer_than_three)
    found = compare(desk, shared=shared)
    told = {p.name: p.unmet for p in found.points if p.record}
    assert set(told.values()) == {(), ("60 rows",)}
    assert all((found == ()) == ("k = 5" in name) for name, found in told.items())
    read = read_comparison(desk / "out")
    assert {p.name: p.unmet for p in read.points if p.record} == told
    assert {p.narrow for p in read.points if p.unmet == ()} == {("near",)}
    assert {p.unmet for p in compare(desk, None).points} == {None}


@pytest.mark.slow
@pytest.mark.parametrize("persons", [False, True])
def test_the_risk_of_a_grid_falls_with_k(desk, persons):
    """Unless another is asked for: it is the prosecutor's, counted on all rows or persons."""
    text = PLAN.replace("[2, 5, 70]", "[2, 4, 8, 16]").replace(', "mondrian"', "")
    if persons:
        text = text.replace("[roles]", '[roles]\nperson = "who"')
        PEOPLE.with_columns(who=pl.int_range(pl.len()) // 2).write_csv(desk / "people.csv")
    (desk / "plan.toml").write_text(text)
    terms = EvidenceTerms(attacks=("prosecutor", "skewness", "homogeneity"))
    found = make_comparison(desk / "people.csv", [desk / "plan.toml"], None, PointTerms(1, terms))
    risks = [(p.risk, p.risk_low, p.risk_high) for p in found.comparison.points if p.record]
    assert found.comparison.risk == "prosecutor"
    assert len(risks) == 4
    assert risks == sorted(risks, reverse=True)
    assert risks[0] > risks[-1]
    assert all(low == risk == high for risk, low, high in risks)
    other = by_risk(found.comparison, "skewness")
    asked = Axes("skewness")
    again = make_comparison(
        desk / "people.csv", [desk / "plan.toml"], None, PointTerms(1, terms), asked
    )
    assert without_seconds(other) == without_seconds(again.comparison)


@pytest.mark.slow
def test_what_stands_in_the_folder(desk):
    """The folder is private as a whole, follows the schemas, and is read back as it was made."""
    found = compare(desk, render=lambda comparison: f"<p>{comparison.name}</p>")
    out = desk / "out"
    assert out.stat().st_mode & 0o077 == 0
    assert sorted(p.name for p in out.iterdir()) == [
        "PRIVATE.txt",
        "comparison.json",
        "records",
        "report.html",
    ]
    jsonschema.validate(json.loads((out / "comparison.json").read_text()), comparison_schema())
    records = sorted((out / "records").iterdir())
    assert [p.name for p in records] == [
        "1-k-2-algorithm-flash.json",
        "2-k-2-algorithm-mondrian.json",
        "3-k-5-algorithm-flash.json",
        "4-k-5-algorithm-mondrian.json",
    ]
    for path in records:
        jsonschema.validate(json.loads(path.read_text()), record_schema())
    assert read_comparison(out) == found
    assert sorted(p.name for p in desk.iterdir()) == ["out", "people.csv", "plan.toml"]
    (out / "records" / records[0].name).unlink()
    with pytest.raises(InputError):
        read_comparison(out)


@pytest.mark.slow
def test_processes_agree(desk):
    """Two processes give what one gives, and so does a grid of which nothing is written."""
    expected = without_seconds(compare(desk, "one"))
    assert without_seconds(compare(desk, "two", jobs=2)) == expected
    assert without_seconds(compare(desk, None)) == expected


@pytest.mark.slow
def test_a_data_frame_can_be_compared():
    """A data frame of Python is studied as a file is, also in other processes."""
    plan = parse_plan(
        {
            "roles": {"quasi_identifiers": ["age"], "sensitive": ["salary"]},
            "method": {"name": "generalization", "k": [2, 3]},
        }
    )
    shared = PointTerms(1, EvidenceTerms(), CROWD)
    found = make_comparison(PEOPLE.to_pandas(), [plan], None, shared, jobs=2).comparison
    assert [p.status for p in found.points] == ["done", "done"]


BOOKS = """
[roles]
quasi_identifiers = ["age"]
sensitive = ["salary"]

[method]
name = "ke-anonymity"
k = [2, 3]
e = 10
series = "s"
batch = 5

[budget]
data_set = "people"
epsilon = 0
"""


@pytest.mark.slow
def test_books_are_left_aside(desk):
    """A series and a budget need no ledger in a grid, and it is said that they were left aside."""
    (desk / "books.toml").write_text(BOOKS)
    found = compare(desk, "out", "plan.toml", "books.toml")
    (told,) = found.notices
    assert told == NOT_CHARGED
    notices = {p.name: p.record.publication["notices"] for p in found.points if p.record}
    assert NOT_CHARGED in notices["books: k = 2"]
    assert NOT_CHARGED not in notices["plan: k = 2, algorithm = flash"]
    books = next(p.record for p in found.points if p.name == "books: k = 2")
    assert books.plan["method"]["series"] == "s"
    assert "series" not in books.release["method"]


@pytest.mark.slow
def test_a_series_is_studied_as_its_next_release_which_no_ledger_learns_of(desk):
    """Where a ledger is given: in the groups of the series, with those that are published."""
    lines = [f"{20 + n % 30},{'fm'[n % 2]},{n}" for n in range(120)]
    (desk / "people.csv").write_text("\n".join(["age,sex,number", *lines]))
    roles = '[roles]\nquasi_identifiers = ["age", "sex"]\nidentifiers = ["number"]\n'
    asked = 'k = 2\nseries = "s"\nrecord_key = "number"\ngroup_size = 30\n'
    (desk / "books.toml").write_text(f'{roles}[method]\nname = "generalization"\n{asked}')
    alone = PointTerms(1, EvidenceTerms(("prosecutor",)))
    shared = replace(alone, ledger=desk / "ledger")

    def groups(out: str, shared: PointTerms) -> int:
        (point,) = compare(desk, out, "books.toml", shared=shared, axes=Axes()).points
        return int(re.match(r"in (\d+) groups", point.record.publication["summary"])[1])

    assert groups("outside", alone) > 120 / 30 >= groups("first", shared) == 2
    assert not Ledger(desk / "ledger").load("s")
    run_study(desk / "people.csv", desk / "books.toml", out=desk / "r", ledger=desk / "ledger")
    with (desk / "people.csv").open("a") as table:
        table.write("\n" + "\n".join(f"{20 + n % 9},f,{n}" for n in range(120, 125)))
    assert groups("second", shared) == 3  # the newcomers are a group among themselves
    assert len(Ledger(desk / "ledger").load("s").versions) == 1


PRIVATE_BOOKS = """
[roles]
quasi_identifiers = ["age", "city"]
sensitive = ["salary"]

[columns.salary]
bounds = [0, 6000]
edges = [0, 2000, 4000]

[columns.age]
bounds = [20, 39]

[columns.city]
values = ["York", "Bath", "Leeds"]

[method]
name = "dp-synthesis"
epsilon = [0.5, 1, 2, 4]

[budget]
data_set = "people"
epsilon = 4
"""


@pytest.mark.slow
def test_each_epsilon_that_is_tried_is_charged(desk):
    """Once, whatever is asked again; beyond the limit it is a finding, drawn for nothing."""
    (desk / "books.toml").write_text(PRIVATE_BOOKS)
    shared = replace(TRIES, ledger=desk / "ledger")
    found = compare(desk, "out", "books.toml", shared=shared, axes=Axes(), jobs=2)
    assert [p.status for p in found.points] == ["done", "done", "done", "refused"]
    state = Ledger(desk / "ledger").budget("people")
    assert [event.epsilon for entry in state.entries for event in entry.events] == [
        Decimal("0.5"), 1, 2,
    ]  # fmt: skip
    told = [" ".join(p.record.publication["notices"]) for p in found.points if p.record]
    assert all("data set 'people'" in one for one in told)
    assert "0.5" in found.points[3].message


@pytest.mark.slow
def test_a_try_that_was_charged_and_kept_is_not_charged_again(desk):
    """An interruption costs no more than what it interrupts; another ledger is charged anew."""
    (desk / "books.toml").write_text(PRIVATE_BOOKS)
    shared = replace(TRIES, ledger=desk / "ledger")
    with pytest.raises(InputError, match="no study has the measure"):  # met when all is done
        compare(desk, "out", "books.toml", shared=shared, axes=Axes(loss="class-sise"))
    compare(desk, "out", "books.toml", shared=shared, axes=Axes())
    assert len(Ledger(desk / "ledger").budget("people").entries) == 3


@pytest.mark.slow
def test_a_rehearsal_on_a_public_table_is_free(desk):
    """Without it a plan with a budget needs a ledger; without a budget the spending is told."""
    (desk / "books.toml").write_text(PRIVATE_BOOKS)
    with pytest.raises(
        PlanError, match=r"books\.toml: \[budget\] each study .* --ledger .* --rehearsal"
    ):
        compare(desk, "out", "books.toml")
    shared = replace(TRIES, rehearsal=True)
    free = compare(desk, "free", "books.toml", shared=shared, axes=Axes())
    assert [p.status for p in free.points] == ["done"] * 4
    assert free.notices == (NOT_CHARGED,)
    with pytest.raises(InputError, match="one of --ledger and --rehearsal"):
        compare(desk, "out", "books.toml", shared=replace(shared, ledger=desk / "ledger"))
    (desk / "books.toml").write_text(PRIVATE_BOOKS.partition("[budget]")[0])
    (told,) = compare(desk, "out", "books.toml", shared=TRIES, axes=Axes()).notices
    assert "was not accounted" in told
    assert not (desk / "ledger").exists()


@pytest.mark.slow
def test_points_that_cannot_be(desk):
    """A wrong combination and a fault are findings; faults say no private value."""
    (desk / "plan.toml").write_text(PLAN + "relaxed = true\n")
    shared = PointTerms(1, EvidenceTerms(), Standard((Crowd(), Fails(faulty=True))))
    with pytest.raises(InputError, match="no study of the grid could be made"):
        compare(desk, shared=shared, axes=Axes())
    assert not partial_folder(desk / "out").exists()
    found = compare(desk)
    assert [p.status for p in found.points[:2]] == ["wrong", "done"]
    assert "relaxed" in found.points[0].message


def test_faults_are_findings(desk):
    """An unexpected error of one study says where it was, not what it read."""
    shared = PointTerms(1, EvidenceTerms(), Standard((Fails(faulty=True),)))
    with pytest.raises(
        VoileError, match=r"4 failed, 2 infeasible.*KeyError in instruments\.py"
    ) as e:
        compare(desk, shared=shared, axes=Axes())
    assert "Wilhelmina" not in str(e.value)
    assert e.value.exit_status == 1


@pytest.mark.parametrize(
    ("change", "options", "error", "message"),
    [
        ({"plan.toml": PLAN.replace("[2, 5, 70]", "70")}, {}, InfeasibleError, "no study"),
        ({"plan.toml": PLAN.replace('"city"]', '"town"]')}, {}, PlanError, "plan.toml: .*'town'"),
        ({"plan.toml": PLAN.replace("[2, 5, 70]", "[0, 1]")}, {}, PlanError, "at least 2"),
        ({"plan.toml": "x"}, {}, PlanError, "not valid TOML"),
        ({"people.csv": ""}, {}, TableError, "people.csv"),
        ({}, {"axes": Axes("croud")}, InputError, "did you mean 'crowd'"),
        ({}, {"jobs": 0}, InputError, "jobs"),
        ({}, {"shared": PointTerms(-1, EvidenceTerms(), CROWD)}, PlanError, "seed"),
        ({}, {"shared": PointTerms(1, EvidenceTerms(("x",)), CROWD)}, InputError, "no attack 'x'"),
        ({}, {"out": "people.csv"}, InputError, "something stands there already"),
    ],
)
def test_nothing_stands_after_an_error(desk, change, options, error, message):
    """What would spoil every study is said before any is made, and nothing is left."""
    for name, text in change.items():
        (desk / name).write_text(text)
    before = sorted(desk.rglob("*"))
    with pytest.raises(error, match=message):
        compare(desk, **options)
    assert sorted(desk.rglob("*")) == before


def test_a_wrong_loss_keeps_the_studies(desk):
    """A measure that no study has is met when they are done; the right one then costs nothing."""
    marks = desk / "marks"
    marks.mkdir()
    shared = PointTerms(1, EvidenceTerms(), Standard((Marks(folder=marks),)))
    with pytest.raises(InputError, match="no study has the measure 'class-sise'; did you mean"):
        compare(desk, shared=shared, axes=Axes(loss="class-sise"))
    studied = len(list(marks.iterdir()))
    assert studied == 4
    assert not (desk / "out").exists()
    assert compare(desk, shared=shared).loss == "class-size"
    assert len(list(marks.iterdir())) == studied
    assert not partial_folder(desk / "out").exists()


@pytest.mark.slow
def test_what_changed_is_studied_anew(desk):
    """Points that are kept serve only the same plan, table, seed and terms."""
    marks = desk / "marks"
    marks.mkdir()
    shared = PointTerms(1, EvidenceTerms(), Standard((Marks(folder=marks), Absentee())))
    wrong = Axes(loss="none")

    def studied(**options) -> int:
        before = len(list(marks.iterdir()))
        with pytest.raises(InputError):
            compare(desk, **{"shared": shared, "axes": wrong, **options})
        return len(list(marks.iterdir())) - before

    assert studied() == 4
    assert studied() == 0
    assert studied(shared=replace(shared, seed=2)) == 4
    assert studied(shared=replace(shared, terms=EvidenceTerms(targets=9))) == 4
    (desk / "plan.toml").write_text(PLAN.replace("[2, 5, 70]", "[2, 3, 5, 70]"))
    assert studied() == 2  # k = 3 is new
    (desk / "plan.toml").write_text(PLAN.replace("[5, 10, 20]", "[4, 20]"))
    assert studied() == 4
    PEOPLE.with_columns(pl.col("age") + 1).write_csv(desk / "people.csv")
    assert studied() == 4


@pytest.mark.slow
def test_what_was_damaged_is_studied_anew(desk):
    """A record that was kept and can no longer be read is made again, not asked for for ever."""
    marks = desk / "marks"
    marks.mkdir()
    shared = PointTerms(1, EvidenceTerms(), Standard((Marks(folder=marks),)))
    with pytest.raises(InputError):
        compare(desk, shared=shared, axes=Axes(loss="none"))
    kept = sorted((partial_folder(desk / "out") / "points").glob("[!.]*"))
    documents = [json.loads(path.read_text()) for path in kept]
    damaged = [path for path, found in zip(kept, documents, strict=True) if found["record"]][:3]
    whole = json.loads(damaged[0].read_text())
    for path, change in zip(
        damaged,
        ({"record": None}, {"record": {**whole["record"], "attacks": [{}]}}, {"record": {}}),
        strict=True,
    ):
        path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    before = len(list(marks.iterdir()))
    assert compare(desk, shared=shared).frontier
    assert len(list(marks.iterdir())) == before + len(damaged)


@pytest.mark.parametrize("error", [MemoryError(), OSError("Cannot allocate memory (os error 12)")])
def test_memory_that_runs_out_is_a_finding_with_a_remedy(desk, monkeypatch, error):
    """No fault of Voile: it is said what helps, exit 2 where nothing was done, and tried anew."""

    def fail(*_arguments, **_named):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr("voile.study.grid.prepare_release", fail)
        with pytest.raises(VoileError, match=r"6 failed.*memory ran out; give the process") as e:
            compare(desk, axes=Axes())
    assert e.value.exit_status == 2
    assert [p.status for p in compare(desk).points[:2]] == ["done", "done"]


def test_one_process_at_a_time(desk):
    """Two runs of one comparison do not work in one folder."""
    with (
        _locked(partial_folder(desk / "out")),
        pytest.raises(InputError, match="another process is at work on this comparison"),
    ):
        compare(desk)
    assert compare(desk).frontier


GRID = """
import sys
from pathlib import Path
from voile_tests.study.instruments import Marks, Standard
from voile_tests.study.test_grid import compare
from voile.study.evidence import EvidenceTerms
from voile.study.grid import PointTerms

desk = Path(sys.argv[1])
stuck = Standard((Marks(folder=desk / "marks", stuck_after=4),))
compare(desk, shared=PointTerms(1, EvidenceTerms(), stuck), jobs=2)
"""


@pytest.mark.slow
@pytest.mark.parametrize("death", [signal.SIGKILL, signal.SIGINT])
def test_a_grid_that_dies_goes_on(desk, death):
    """A grid whose process is killed or interrupted leaves nothing at its place and no process.

    The same grid then studies what is missing alone, and gives what one gives that nobody disturbs.
    """
    (desk / "marks").mkdir()
    (desk / "plan.toml").write_text(PLAN.replace("[2, 5, 70]", "[2, 3, 4, 5, 6, 7, 70]"))
    running = subprocess.Popen(
        [sys.executable, "-c", GRID, str(desk)],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
    )
    kept = partial_folder(desk / "out") / "points"

    def workers() -> set[int]:
        return {int(mark.name.split(".")[1]) for mark in (desk / "marks").iterdir()}

    def both_are_stuck() -> bool:
        return len(list(kept.glob("[!.]*"))) >= 3 and len(workers()) == 2

    wait_until(lambda: running.poll() is not None or both_are_stuck())
    running.send_signal(death)
    _, stderr = running.communicate(timeout=PATIENCE)
    assert running.returncode == -death, stderr
    wait_until(lambda: not any(map(is_alive, workers())))
    assert not (desk / "out").exists()

    done = len(list(kept.glob("[!.]*")))
    begun = len(list((desk / "marks").iterdir()))
    assert 3 <= done <= begun < 12
    shared = PointTerms(1, EvidenceTerms(), Standard((Marks(folder=desk / "marks"),)))
    resumed = compare(desk, shared=shared)
    again = len(list((desk / "marks").iterdir())) - begun
    assert again == 12 - done  # the two that cannot be come last, and no adversary sees them
    assert without_seconds(resumed) == without_seconds(compare(desk, "whole", shared=shared))
    assert not partial_folder(desk / "out").exists()


def is_alive(process: int) -> bool:
    """Whether a process runs; one that has ended and that nobody asked about does not."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


@pytest.mark.slow
def test_a_worker_that_is_killed(desk):
    """Where a worker is killed, as when memory runs out, it is said what helps."""
    (desk / "marks").mkdir()
    shared = PointTerms(1, EvidenceTerms(), Standard((Kills(folder=desk / "marks"),)))
    with pytest.raises(VoileError, match="fewer --jobs: what is done is kept") as e:
        compare(desk, shared=shared, jobs=2)
    assert e.value.exit_status == 2
    assert not (desk / "out").exists()


def test_equal_releases_are_one_point(desk):
    """With k = 2 and 3 the very same rows are published: one point, whatever each study draws."""
    (desk / "plan.toml").write_text(
        PLAN.replace("[2, 5, 70]", "[2, 3]").replace('["flash", "mondrian"]', '"flash"')
    )
    made = compare(desk, shared=PointTerms(None, EvidenceTerms(), CROWD))
    first, *others = made.points
    assert first.same_as == ""
    assert [point.same_as for point in others] == [first.name]
    assert (
        len({(point.risk, point.risk_low, point.risk_high, point.loss) for point in made.points})
        == 1
    )
    assert set(made.frontier) == {point.name for point in made.points}
    assert read_comparison(desk / "out") == made
