"""``voile audit`` judges files of any origin, and refuses what it cannot judge."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner, Result

from voile.audit.record import AuditRecord, audit_schema
from voile_base.errors import VoileError
from voile_base.main import command
from voile_tests.audit.tables import marginals, people

ORIGINAL, CONTROL = people(400, 1), people(300, 2)
PLAN = """
[roles]
quasi_identifiers = ["age", "sex", "town"]
sensitive = ["income"]
keep = ["education", "hours"]
"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """The files of an audit in a folder."""
    ORIGINAL.write_csv(tmp_path / "original.csv")
    CONTROL.write_csv(tmp_path / "control.csv")
    ORIGINAL.write_parquet(tmp_path / "copy.parquet")
    marginals(ORIGINAL, 3).write_csv(tmp_path / "drawn.csv")
    (tmp_path / "plan.toml").write_text(PLAN)
    return tmp_path


def _audit(folder: Path, released: str, *more: str) -> Result:
    call = ["audit", str(folder / released), "--original", str(folder / "original.csv")]
    options = ["--out", str(folder / "out"), "--seed", "1", "--targets", "100", *more]
    return CliRunner().invoke(command, [*call, *options])


@pytest.mark.slow
def test_a_copy_is_judged_in_every_way(files: Path) -> None:
    """All three risks, all attacks that make sense, and measures; the rest with a reason."""
    more = ["--plan", str(files / "plan.toml"), "--control", str(files / "control.csv")]
    found = _audit(files, "copy.parquet", *more)
    assert found.exit_code == 0, found.output
    record = AuditRecord.read(files / "out" / "audit.json")
    assert {column["shown"] for column in record.columns} == {"exact"}
    assert {risk["risk"] for risk in record.risks if risk["found"]} == {
        "singling out",
        "linkability",
        "inference",
        "group disclosure",
        "re-identification",
    }
    assert {"identification", "prosecutor", "membership"} <= {a["attack"] for a in record.attacks}
    assert all(skipped.reason for skipped in record.attacks_skipped)
    assert record.roles_of == "plan"
    assert "PRIVATE" in found.output
    assert (files / "out").stat().st_mode & 0o077 == 0


@pytest.mark.slow
def test_a_record_is_read_back_as_it_was(files: Path) -> None:
    """The document says what the record does, within its own schema."""
    assert _audit(files, "drawn.csv", "--attacks", "prosecutor").exit_code == 0
    path = files / "out" / "audit.json"
    record = AuditRecord.read(path)
    assert record.document() == json.loads(path.read_text())
    assert set(audit_schema()["properties"]) == set(json.loads(path.read_text()))
    assert record.roles_of == "proposal"
    assert not any(risk["control"] for risk in record.risks)
    assert {column["shown"] for column in record.columns} == {"synthetic"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("moved", "shown"),
    [("{birth} + 40", "exact"), ("{birth} + {noise}", "noisy"), ("{birth}", "exact")],
)
def test_dates_that_were_moved_are_read_as_days(tmp_path: Path, moved: str, shown: str) -> None:
    """Dates moved alike are read back, others are near the true ones; none is an unread label."""
    days = pl.select(birth=pl.int_range(0, 400).sample(400, shuffle=True, seed=5) * 29 % 9_973)
    born = days.select(birth=pl.date(1960, 1, 1) + pl.duration(days="birth"))["birth"]
    noise = pl.select(pl.int_range(0, 400).sample(400, shuffle=True, seed=6) % 41 - 20).to_series()
    shift = {"{birth} + 40": 40, "{birth}": 0}.get(moved, noise)
    released = born + pl.select(pl.duration(days=shift)).to_series()
    other = people(400, 4)["sex", "town", "hours"]
    order = pl.select(pl.int_range(0, 400).sample(400, shuffle=True, seed=7)).to_series()
    other.with_columns(birth=born).write_csv(tmp_path / "original.csv")
    other.with_columns(birth=released)[order].write_csv(tmp_path / "moved.csv")
    found = _audit(tmp_path, "moved.csv", "--attacks", "prosecutor")
    assert found.exit_code == 0, found.output
    record = AuditRecord.read(tmp_path / "out" / "audit.json")
    (column,) = (one for one in record.columns if one["name"] == "birth")
    assert (column["shown"], column["unread"]) == (shown, [])


@pytest.mark.slow
@pytest.mark.parametrize(("file", "shown"), [("drawn.csv", "noisy"), ("copy.parquet", "exact")])
def test_a_plan_overrules_what_would_be_found_where_rows_do_not_contradict_it(
    files: Path, file: str, shown: str
) -> None:
    """[columns.X] shown says how a column is shown; a copy's incomes are people's own anyway."""
    (files / "plan.toml").write_text(PLAN + '\n[columns.income]\nshown = "noisy"\n')
    more = ["--plan", str(files / "plan.toml"), "--attacks", "prosecutor"]
    assert _audit(files, file, *more).exit_code == 0
    record = AuditRecord.read(files / "out" / "audit.json")
    assert {c["name"]: c["shown"] for c in record.columns}["income"] == shown


@pytest.mark.slow
def test_a_control_that_overlaps_the_original_is_said(files: Path) -> None:
    """Half of its rows are people of the original: the comparison is void."""
    pl.concat([CONTROL[:150], ORIGINAL[:150]]).write_csv(files / "control.csv")
    more = ["--control", str(files / "control.csv"), "--attacks", "prosecutor"]
    assert _audit(files, "copy.parquet", *more).exit_code == 0
    notices = " ".join(AuditRecord.read(files / "out" / "audit.json").notices)
    assert "comparison with the control is void" in notices


@pytest.mark.slow
def test_a_control_of_more_rows_than_the_original_is_said(files: Path) -> None:
    """The two may be the wrong way round."""
    people(500, 9).write_csv(files / "control.csv")
    more = ["--control", str(files / "control.csv"), "--attacks", "prosecutor"]
    assert _audit(files, "copy.parquet", *more).exit_code == 0
    notices = " ".join(AuditRecord.read(files / "out" / "audit.json").notices)
    assert "wrong way round" in notices
    assert "void" not in notices


@pytest.mark.slow
def test_labels_that_nobody_explains_are_said(files: Path) -> None:
    """Categories that stand in the file alone count as anything, and the custodian is told."""
    ORIGINAL.with_columns(town=pl.lit("the north")).write_csv(files / "north.csv")
    assert _audit(files, "north.csv", "--attacks", "prosecutor").exit_code == 0
    record = AuditRecord.read(files / "out" / "audit.json")
    assert next(c for c in record.columns if c["name"] == "town")["unread"] == ["the north"]
    assert any("name their hierarchy" in notice for notice in record.notices)


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda f: (f / "copy.parquet").write_bytes(b"no table"), "copy.parquet"),
        (lambda f: ORIGINAL.clear().write_parquet(f / "copy.parquet"), "no row"),
        (
            lambda f: ORIGINAL.select(nobody="age").write_parquet(f / "copy.parquet"),
            "shows no column of the original",
        ),
        (
            lambda f: CONTROL.drop("age").write_csv(f / "control.csv"),
            "the control has no column 'age'",
        ),
        (
            lambda f: CONTROL.with_columns(age=pl.lit("old")).write_csv(f / "control.csv"),
            "column 'age' of the control",
        ),
        (lambda f: (f / "original.csv").unlink(), "original.csv"),
        (lambda f: (f / "plan.toml").write_text(PLAN + '[columns.age]\nshown = "nice"\n'), "shown"),
        (lambda f: (f / "plan.toml").write_text(PLAN.replace('"town"', '"city"')), "'city'"),
        (lambda f: (f / "out").mkdir() or (f / "out" / "x").touch(), "something is here"),
    ],
)
def test_bad_input_is_refused_and_nothing_is_written(
    files: Path, spoil: Callable[[Path], object], told: str
) -> None:
    """Exit status 2 with the file and what is wrong with it."""
    spoil(files)
    more = ["--plan", str(files / "plan.toml"), "--control", str(files / "control.csv")]
    found = _audit(files, "copy.parquet", *more)
    assert isinstance(found.exception, VoileError)
    assert found.exception.exit_status == 2
    assert told in str(found.exception)
    assert not (files / "out" / "audit.json").exists()
    assert not list(files.glob(".out*"))


@pytest.mark.slow
def test_a_release_of_voile_is_judged_without_its_document(files: Path) -> None:
    """Its data are recognised as any other file's are."""
    plan = PLAN + "[columns.age]\nintervals = { widths = [10, 30] }\n"
    plan += '[method]\nname = "generalization"\nk = 5\n'
    (files / "publish.toml").write_text(plan)
    call = ["publish", str(files / "original.csv"), "--plan", str(files / "publish.toml")]
    made = CliRunner().invoke(command, [*call, "--out", str(files / "release"), "--seed", "1"])
    assert made.exit_code == 0, made.output
    found = _audit(files, "release", "--plan", str(files / "plan.toml"))
    assert found.exit_code == 0, found.output
    record = AuditRecord.read(files / "out" / "audit.json")
    prosecutor = next(each for each in record.attacks if each["attack"] == "prosecutor")
    assert prosecutor["success"]["value"] <= 1 / 5


@pytest.mark.slow
def test_without_a_learner_the_nearest_rows_infer(
    files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where Numba and scikit-learn are not installed, an audit says so and goes on."""
    for module in ("voile.audit.alike_rows", "voile.audit.examine"):
        monkeypatch.setattr(f"{module}.compiles", lambda: False)
    for module in ("voile.audit.copying", "voile.audit.examine"):
        monkeypatch.setattr(f"{module}.find_spec", lambda name: None)
    assert _audit(files, "copy.parquet", "--attacks", "prosecutor").exit_code == 0
    record = AuditRecord.read(files / "out" / "audit.json")
    for library in ("Numba", "scikit-learn"):
        assert any(f"{library} is not installed" in notice for notice in record.notices)
    assert any(risk["risk"] == "inference" and risk["found"] for risk in record.risks)


def test_an_attack_that_there_is_not_is_refused_before_anything_is_read(files: Path) -> None:
    """A slip of the pen does not cost the time of an audit."""
    found = _audit(files, "not-there.csv", "--attacks", "prosecutr")
    assert isinstance(found.exception, VoileError)
    assert "there is no attack 'prosecutr'" in str(found.exception)
    assert not (files / "out").exists()


@pytest.mark.slow
def test_an_audit_tells_that_rows_stand_in_the_order_of_the_original(files: Path) -> None:
    """A notice of the record names the columns that tell it."""
    assert _audit(files, "copy.parquet", "--attacks", "prosecutor").exit_code == 0
    notices = AuditRecord.read(files / "out" / "audit.json").notices
    assert any("rows stand in the order of the original" in one for one in notices)


@pytest.mark.slow
def test_what_is_believed_of_rows_of_nobody_is_no_success(files: Path) -> None:
    """Rates of linkage in a synthetic file stand under "believed", and losses are not told as 0."""
    plan = PLAN.replace('["age", "sex", "town"]', '["sex"]').replace("keep = [", 'keep = ["town", ')
    (files / "plan.toml").write_text(plan)
    found = _audit(files, "drawn.csv", "--plan", str(files / "plan.toml"))
    lines = found.output.splitlines()
    (heading,) = (line for line in lines if line.startswith("attack "))
    assert heading.split() == ["attack", "succeeds", "believed", "guessing"]
    for name in ("identification", "prosecutor", "journalist", "marketer"):
        (line,) = (line for line in lines if line.startswith(f"{name} "))
        assert not line[heading.index("succeeds") : heading.index("believed")].strip()
        assert line[heading.index("believed") : heading.index("guessing")].strip().endswith("%")
    record = AuditRecord.read(files / "out" / "audit.json")
    linked = [one for one in record.attacks if one["attack"] in {"prosecutor", "marketer"}]
    assert not any(one["checked"] for one in linked)
    assert all("of the rows are nobody's" in one["notes"][0] for one in linked)
    cells = {"precision", "normalized-certainty-penalty", "suppressed-rows", "discernibility"}
    assert cells <= {one.name for one in record.utility_skipped}


@pytest.mark.slow
def test_the_copy_of_a_table_is_found_and_not_believed(files: Path) -> None:
    """Of rows that are of somebody the same attacks are counted."""
    more = ["--plan", str(files / "plan.toml"), "--attacks", "prosecutor"]
    assert _audit(files, "copy.parquet", *more).exit_code == 0
    (attack,) = AuditRecord.read(files / "out" / "audit.json").attacks
    assert attack["checked"]


@pytest.mark.slow
def test_a_quick_look_says_what_it_left_out_and_that_fails(files: Path) -> None:
    """Risks of a sample, no attack and no measure: a policy takes these for not assessed."""
    original = people(9_000, 1)
    original.write_csv(files / "original.csv")
    original.sample(fraction=1, shuffle=True, seed=1).write_parquet(files / "copy.parquet")
    more = ["--plan", str(files / "plan.toml"), "--quick"]
    found = _audit(files, "copy.parquet", *more)
    assert found.exit_code == 0, found.output
    record = AuditRecord.read(files / "out" / "audit.json")
    assert any("of 9,000 rows" in one for one in record.notices)
    assert {risk["risk"] for risk in record.risks} >= {"singling out", "linkability"}
    assert not record.attacks
    assert not record.utility
    assert "copying" in {one.name for one in record.risks_skipped}
    assert record.run is not None
    assert record.run["quick"]
    skipped = {one.name: one.reason for one in record.attacks_skipped}
    assert "voile audit without --quick" in skipped["prosecutor"]
    policy = files / "policy.toml"
    policy.write_text(
        'name = "p"\n[[criteria]]\nkind = "attack"\nname = "prosecutor"\nmost = 1.0\n'
    )
    refused = CliRunner().invoke(command, ["check", str(files / "out"), "--policy", str(policy)])
    assert isinstance(refused.exception, VoileError)
    assert refused.exception.exit_status == 4
    assert "voile audit without --quick" in refused.output
