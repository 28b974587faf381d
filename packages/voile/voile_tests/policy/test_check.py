"""A policy is held against evidence: each criterion passes or fails for the stated reason."""

from __future__ import annotations

import json
import shutil
import tomllib
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from voile.attack.protocol import Estimate
from voile.audit.record import AuditRecord
from voile.audit.risk import Risk
from voile.policy.checking import Verdict, verdict_schema
from voile.policy.criteria.identifiers import categories
from voile.policy.stated import StatedPolicy, policy_schema
from voile.policy.templates import template_names
from voile.release.folder import manifest_of
from voile.study.documents import json_text, sealed
from voile_base.errors import InputError
from voile_tests.policy.cases import CONTROL, ORIGINAL, audited, policy, studied, tick_all, voile


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The audit of an untouched copy."""
    return audited(tmp_path_factory.mktemp("copied"))


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The study of a release that keeps its promise."""
    return studied(tmp_path_factory.mktemp("studied"))


def _told(folder: Path, stated: Path | str) -> tuple[int, dict[str, Any]]:
    found = voile("check", folder, "--policy", stated, "--json")
    assert found.exit_code in {0, 4}, found.output
    document, _ = json.JSONDecoder().raw_decode(found.stdout)
    return found.exit_code, document


@pytest.mark.parametrize("name", template_names())
def test_an_untouched_copy_fails_under_every_template(copied: Path, name: str) -> None:
    """Also where careless humans have ticked everything: the evidence itself refuses it."""
    assert voile("check", copied, "--policy", name).exit_code == 4
    tick_all(copied)
    status, verdict = _told(copied, name)
    assert status == 4
    failed = {one["kind"] for one in verdict["rulings"] if not one["passed"]}
    assert failed - {"question", "assumptions"}


@pytest.fixture(scope="module")
def hardly_planned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The audit of an untouched copy beside a plan that names one column, all being ticked."""
    plan = '[roles]\nquasi_identifiers = ["sex"]\n'
    folder = audited(tmp_path_factory.mktemp("hardly"), plan=plan)
    assert voile("check", folder, "--policy", "five-safes").exit_code == 4
    return folder


@pytest.mark.parametrize("name", template_names())
def test_columns_that_a_plan_does_not_name_fail_under_every_template(
    hardly_planned: Path, name: str
) -> None:
    """Each of them is named, and no tick helps: attacks look at the columns of roles alone."""
    voile("check", hardly_planned, "--policy", name)
    tick_all(hardly_planned)
    status, verdict = _told(hardly_planned, name)
    assert status == 4
    refused = [one for one in verdict["rulings"] if one["kind"] == "column"]
    assert {one["asks"] for one in refused} == {
        f"column {column!r} may be published" for column in ORIGINAL.columns if column != "sex"
    }
    assert not any(one["passed"] for one in refused)
    assert all("name it under keep" in one["why"] for one in refused)


KEEPING = """
[roles]
quasi_identifiers = ["sex"]
sensitive = ["code"]
keep = ["age", "serial"]
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("plan", "columns"),
    [
        (KEEPING, {"serial": "singles out rows", "code": "looks like an id"}),
        (KEEPING.replace('["age"', '["code", "age"').replace('sensitive = ["code"]', ""), None),
        (KEEPING + 'keep_unique = ["serial", "code"]\n', {}),
        ('[roles]\nquasi_identifiers = ["sex", "age", "serial", "code"]\n', {}),
    ],
)
def test_columns_that_no_release_may_keep_fail(
    tmp_path: Path, plan: str, columns: dict[str, str] | None
) -> None:
    """What publishing refuses to keep as it is, a file of another make may not show either."""
    serial, code = pl.int_range(400).cast(pl.Float64) / 7, pl.format("K{}x", pl.int_range(400))
    table = ORIGINAL.select("sex", "age", serial=serial, code=code)
    folder = audited(tmp_path, table, table[:100], original=table, plan=plan)
    _, verdict = _told(folder, policy(tmp_path, 'kind = "group-size"\nleast = 1'))
    found = {
        one["asks"].split("'")[1]: one["why"]
        for one in verdict["rulings"]
        if one["kind"] == "column"
    }
    wanted = (
        {"serial": "singles out rows", "code": "singles out rows"} if columns is None else columns
    )
    assert found.keys() == wanted.keys()
    assert all(part in found[name] for name, part in wanted.items())


@pytest.mark.slow
def test_columns_that_no_plan_names_fail_without_a_plan(tmp_path: Path) -> None:
    """A column whose role nobody could propose has to be named in a plan."""
    notes = [f"note {i} of a visit that was long and is told here" for i in range(400)]
    table = ORIGINAL.with_columns(remark=pl.Series(notes))
    table.write_csv(tmp_path / "original.csv")
    call = ["audit", tmp_path / "original.csv", "--original", tmp_path / "original.csv"]
    folder = tmp_path / "judged"
    assert voile(*call, "--attacks", "prosecutor", "--out", folder).exit_code == 0
    status, verdict = _told(folder, policy(tmp_path, 'kind = "group-size"\nleast = 1'))
    assert status == 4
    (refused,) = (one for one in verdict["rulings"] if one["kind"] == "column")
    assert refused["asks"] == "column 'remark' may be published"


def test_every_risk_of_a_copy_is_found(copied: Path) -> None:
    """All three, each against the control."""
    _, verdict = _told(copied, "gdpr")
    for name in ("singling out", "linkability", "inference"):
        of = [one for one in verdict["rulings"] if one["asks"].startswith(name)]
        assert any(not one["passed"] and one["low"] > one["limit"] for one in of), name


def _with_rates(judged: Path, place: Path, of_original: int, of_control: int, guess: int) -> Path:
    """An audit whose one figure of inference is of so many of 200 targets; sealed anew."""
    shutil.copytree(judged, place)
    document = json.loads((place / "audit.json").read_text())
    main, control, guessing = (
        Estimate.of_total(won, 200) for won in (of_original, of_control, guess)
    )
    risk = Risk("inference", "income", "it is told", 200, main, control, guessing)
    document["risks"] = [risk.document()]
    (place / "audit.json").write_text(json_text(sealed(document)))
    return place


@pytest.mark.parametrize(
    ("rates", "status", "why"),
    [
        ((200, 200, 60), 0, "control 100%, which leaves nothing open: of what guessing leaves"),
        ((200, 200, 196), 4, "control 100%, which leaves nothing open: of what guessing leaves"),
        ((200, 200, 200), 4, "control 100%, which leaves nothing open: of what guessing leaves"),
        ((200, 196, 60), 4, "income: 100% against control 98%"),
        ((100, 100, 60), 0, "income: 50% against control 50%"),
    ],
)
def test_a_control_that_leaves_nothing_open_passes_where_guessing_leaves_much(
    copied: Path, tmp_path: Path, rates: tuple[int, int, int], status: int, why: str
) -> None:
    """What all of 200 tell of everybody passes; not where nearly everybody has the same value."""
    place = _with_rates(copied, tmp_path / "judged", *rates)
    stated = policy(tmp_path, 'kind = "risk"\nname = "inference"\nmost = 0.25')
    told, verdict = _told(place, stated)
    (one,) = (each for each in verdict["rulings"] if each["kind"] == "risk")
    assert (told, one["passed"]) == (status, status == 0), one
    assert why in one["why"]


@pytest.mark.slow
def test_a_release_that_keeps_its_promise_passes(study: Path, tmp_path: Path) -> None:
    """k, and the prosecutor who follows from it; unticked assumptions alone hold it up."""
    stated = policy(
        tmp_path,
        'kind = "group-size"\nleast = 11',
        'kind = "attack"\nname = "prosecutor"\nfigure = "worst"\nmost = 0.0909091',
        'kind = "assumptions"',
        'kind = "question"\nsays = "the recipient has signed"',
    )
    status, verdict = _told(study, stated)
    failed = {one["kind"] for one in verdict["rulings"] if not one["passed"]}
    assert (status, failed) == (4, {"assumptions", "question"})
    tick_all(study / "private")
    status, verdict = _told(study, stated)
    assert status == 0, verdict["rulings"]
    assert Verdict.read(study / "private" / "verdict.json").passed
    assert (study / "private" / "verdict.json").stat().st_mode & 0o077 == 0


def test_a_limit_that_an_interval_straddles_is_no_pass(copied: Path, tmp_path: Path) -> None:
    """The figure lies within the limit, the end of its interval beyond."""
    _, verdict = _told(copied, policy(tmp_path, 'kind = "attack"\nname = "membership"\nmost = 1'))
    (one,) = verdict["rulings"]
    assert one["low"] < one["value"] < one["high"]
    between = (one["value"] + one["high"]) / 2
    stated = policy(tmp_path, f'kind = "attack"\nname = "membership"\nmost = {between}')
    found = voile("check", copied, "--policy", stated)
    assert found.exit_code == 4
    assert "STRADDLES" in found.output


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ('kind = "attack"\nname = "prosecutr"\nmost = 1', "did you mean 'prosecutor'"),
        ('kind = "attack"\nname = "membership"\nmost = 1', "was not measured"),
        ('kind = "risk"\nname = "inference"\nmost = 1', "run voile study with --risks"),
        ('kind = "utility"\nmeasure = "mpg"\nleast = 0', "was not measured"),
        ('kind = "privacy-budget"\nepsilon = 9', "no differential privacy is promised"),
        ('kind = "diversity"\ncolumn = "height"\nleast = 1', "no published column is 'height'"),
    ],
)
def test_a_figure_that_is_missing_is_no_pass(
    study: Path, tmp_path: Path, asked: str, why: str
) -> None:
    """And says why it is missing."""
    status, verdict = _told(study, policy(tmp_path, asked))
    assert status == 4
    assert all(why in one["why"] for one in verdict["rulings"] if not one["passed"])


@pytest.mark.slow
def test_a_control_that_holds_people_of_the_original_passes_nothing(tmp_path: Path) -> None:
    """Who is in the data and in the control is found as often on both sides."""
    folder = audited(tmp_path, control=pl.concat([CONTROL[:50], ORIGINAL[:250]]))
    asked = [f'kind = "risk"\nname = "{name}"\nmost = 1' for name in ("linkability", "inference")]
    asked += ['kind = "attack"\nname = "membership"\nmost = 1']
    status, verdict = _told(folder, policy(tmp_path, *asked))
    assert status == 4
    for one in verdict["rulings"]:
        assert one["value"] is None
        assert "people of the original stand in the control" in one["why"]


@pytest.fixture(scope="module")
def beside_itself(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The audit of columns drawn by themselves, beside the original with a column moved."""
    drawn = pl.DataFrame(
        {c.name: c.sample(fraction=1, shuffle=True, seed=i) for i, c in enumerate(ORIGINAL)}
    )
    control = ORIGINAL.with_columns(pl.col("age") + 1).sample(fraction=1, shuffle=True, seed=7)
    renamed = control.select(reversed(control.columns)).rename({"town": "Town"})
    return audited(tmp_path_factory.mktemp("itself"), drawn, control=renamed)


@pytest.mark.parametrize("name", template_names())
def test_a_disguised_control_of_the_same_people_passes_no_template(
    beside_itself: Path, name: str
) -> None:
    """A moved column, another order and a name in another case hide nobody."""
    status, verdict = _told(beside_itself, name)
    assert status == 4
    why = [one["why"] for one in verdict["rulings"] if not one["passed"]]
    assert any("people of the original stand in the control" in one for one in why), why


@pytest.mark.slow
def test_l_and_t_are_those_of_the_published_rows(tmp_path: Path) -> None:
    """Counted by hand on a file of two groups."""
    one = ORIGINAL.head(6).with_columns(
        age=pl.Series(["20-39"] * 3 + ["40-59"] * 3), sex=pl.lit("*"), town=pl.lit("*"),
        income=pl.Series([1, 2, 2, 1, 1, 1]),
    )  # fmt: skip
    folder = audited(tmp_path, one)
    asked = ['kind = "group-size"\nleast = 3', 'kind = "diversity"\nleast = 2']
    _, verdict = _told(folder, policy(tmp_path, *asked, 'kind = "closeness"\nmost = 0.5'))
    k, diverse, close = verdict["rulings"]
    assert (k["value"], k["passed"]) == (3, True)
    assert (diverse["value"], diverse["passed"]) == (1, False)
    assert close["value"] == pytest.approx(1 / 3)  # 2 of 6 rows hold a 2; groups hold 2 of 3 and 0
    assert close["passed"]


@pytest.mark.slow
def test_k_of_persons_is_what_was_promised_of_persons(tmp_path: Path) -> None:
    """Rows do not show whose they are: a file that promises nothing has no figure."""
    who = pl.DataFrame({"who": [i // 3 for i in range(240)], "town": ["a", "b"] * 120})
    who.write_csv(tmp_path / "original.csv")
    roles = '[roles]\nperson = "who"\nquasi_identifiers = ["town"]\n'
    (tmp_path / "plan.toml").write_text(roles + '[method]\nname = "generalization"\nk = 40\n')
    call = [tmp_path / "original.csv", "--plan", tmp_path / "plan.toml", "--attacks", "prosecutor"]
    assert voile("study", *call, "--out", tmp_path / "study").exit_code == 0
    asked = policy(tmp_path, 'kind = "group-size"\nleast = 40')
    status, verdict = _told(tmp_path / "study", asked)
    assert (status, verdict["rulings"][0]["value"]) == (0, 40)
    assert "persons" in verdict["rulings"][0]["why"]
    who.drop("who").write_csv(tmp_path / "foreign.csv")
    original = ["--original", tmp_path / "original.csv", "--plan", tmp_path / "plan.toml"]
    call = [tmp_path / "foreign.csv", *original, "--attacks", "prosecutor"]
    assert voile("audit", *call, "--out", tmp_path / "judged").exit_code == 0
    status, verdict = _told(tmp_path / "judged", asked)
    assert status == 4
    assert "persons have several rows" in verdict["rulings"][0]["why"]


IDENTIFIERS = {
    "B": ("zip", ["02138", "021"] * 20),
    "C": ("seen", ["2020-03-01", "2020"] * 20),
    "D": ("call", ["(617) 555-0100", "none"] * 20),
    "F": ("reach", ["a@example.org", "-"] * 20),
    "G": ("code", ["078-05-1120", "-"] * 20),
    "N": ("page", ["see www.example.org/a", "-"] * 20),
    "O": ("from", ["192.0.2.17", "-"] * 20),
    "P": ("fingerprint", ["loop", "whorl"] * 20),
    "R": ("thing", [f"x{i}" for i in range(40)]),
    "A": ("surname", ["Doe", "Roe"] * 20),
}


@pytest.mark.parametrize(
    "cells",
    [
        ["1369/02/31", "1370/11/30"],
        ["1369/02/31", "1370", "1360 to 1369", "other"],
        ["31 Enero 1990", "14 Hunyo 1991"],
        ["R5.5.17", "S8.7.16", "R5", "S"],
    ],
)
def test_days_of_any_calendar_are_dates_of_safe_harbor(tmp_path: Path, cells: list[str]) -> None:
    """Also where a few days stand among years."""
    cells = (cells * 40)[:40]
    _release_of(tmp_path, pl.DataFrame({"age": [30, 40] * 20, "seen": cells}))
    asked = policy(tmp_path, 'kind = "identifiers"')
    _, verdict = _told(tmp_path / "r", asked)
    assert "C" in [one["asks"][1] for one in verdict["rulings"] if not one["passed"]]


@pytest.mark.parametrize("letter", IDENTIFIERS)
def test_each_identifier_is_found_where_it_was_planted(tmp_path: Path, letter: str) -> None:
    """By the name of the column or the format of its cells, and no other category is."""
    name, cells = IDENTIFIERS[letter]
    _release_of(tmp_path, pl.DataFrame({"age": [30, 40] * 20, name: cells}))
    status, verdict = _told(tmp_path / "r", policy(tmp_path, 'kind = "identifiers"'))
    assert status == 4
    found = [one["asks"][1] for one in verdict["rulings"] if not one["passed"]]
    assert found == [letter]
    assert len(verdict["rulings"]) == len(categories()) == 18
    assert not any(cell in one["why"] for cell in cells[:1] for one in verdict["rulings"])


def test_answers_yes_and_no_are_no_names(tmp_path: Path) -> None:
    """Whatever words the name of the column shares with those of columns of names."""
    _release_of(tmp_path, pl.DataFrame({"Bolsa Família": ["Sim", "Não"] * 20, "age": [30] * 40}))
    _, verdict = _told(tmp_path / "r", policy(tmp_path, 'kind = "identifiers"'))
    assert [one["asks"][1] for one in verdict["rulings"] if not one["passed"]] == []


@pytest.mark.parametrize(
    "column",
    [
        pl.Series("ori_hid", [i // 4 for i in range(40)]),
        pl.Series("patient_nbr", [i // 20 for i in range(40)]),
        pl.Series("encounter_id", [i // 2 for i in range(40)]),
        pl.Series("caseid", [7, 8] * 20),
        pl.Series("thing", [f"x{max(i, 2)}" for i in range(40)]),
        pl.Series("thing", [max(i, 2) for i in range(40)]),
    ],
)
def test_an_id_is_found_by_its_name_or_by_nearly_unique_codes(
    tmp_path: Path, column: pl.Series
) -> None:
    """Of persons, households and things, also where several rows share one."""
    _release_of(tmp_path, pl.DataFrame([column, pl.Series("sex", ["f", "m"] * 20)]))
    status, verdict = _told(tmp_path / "r", policy(tmp_path, 'kind = "identifiers"'))
    assert status == 4
    assert [one["asks"][1] for one in verdict["rulings"] if not one["passed"]] == ["R"]


@pytest.mark.parametrize(
    "column",
    [
        pl.Series("admission_type_id", [1, 2] * 20),
        pl.Series("income", [100 * i for i in range(39)] + [0]),
        pl.Series("zip", ["021**", "100**"] * 20),
        pl.Series("age", [30, 90] * 20),
        pl.Series("age", ["30-39", "90+"] * 20),
        pl.Series("born", ["1970", "1980"] * 20),
        pl.Series("born", ["1899 or before", "1980"] * 20),
        pl.Series("born", [f"19{i}0s" for i in range(5, 9)] * 10),
        pl.Series("income", [1.5 + i for i in range(40)]),
        pl.Series("city", ["*"] * 40),
        pl.Series("site_name", ["Mill Wood", "Old Quarry"] * 20),
        pl.Series("Dni urlopu", [0, 12, 20, 26] * 10),
        pl.Series("ethnicity", ["Black or African American|White", "Asian|White"] * 20),
        pl.Series("SITEID", ["701|702", "702|703", "701|703", "701", "702|701", "703"] * 10)[:40],
    ],
)
def test_what_safe_harbor_leaves_is_no_identifier(tmp_path: Path, column: pl.Series) -> None:
    """Three digits, one class of ages from 90 on, years, amounts, places, sets of few codes."""
    _release_of(tmp_path, pl.DataFrame([column, pl.Series("sex", ["f", "m"] * 20)]))
    status, verdict = _told(tmp_path / "r", policy(tmp_path, 'kind = "identifiers"'))
    assert status == 0, [one for one in verdict["rulings"] if not one["passed"]]


def test_seconds_are_times_and_no_unique_numbers(tmp_path: Path) -> None:
    """The (C) of a tracker's clock, and not the (R)."""
    clock = pl.Series("tst", [1_714_900_000 + 45 * i for i in range(40)])
    _release_of(tmp_path, pl.DataFrame([clock, pl.Series("sex", ["f", "m"] * 20)]))
    _, verdict = _told(tmp_path / "r", policy(tmp_path, 'kind = "identifiers"'))
    assert [one["asks"][1] for one in verdict["rulings"] if not one["passed"]] == ["C"]


def test_ages_above_89_and_few_people_are_told_apart(tmp_path: Path) -> None:
    """Two ages beyond the last class, and a prefix of fewer than 20,000 people."""
    frame = pl.DataFrame({"age": [91, 94] * 20, "zip": ["036**", "100**"] * 20})
    _release_of(tmp_path, frame)
    _, verdict = _told(tmp_path / "r", policy(tmp_path, 'kind = "identifiers"'))
    assert [one["asks"][1] for one in verdict["rulings"] if not one["passed"]] == ["B", "C"]


@pytest.mark.parametrize(
    "born",
    [["1921", "1922", "1980", "1990"], ["1900-1910", "1911-1920", "1980", "1990"], [1921, 1922]],
)
def test_years_of_birth_that_tell_ages_above_89_are_found(
    tmp_path: Path, born: list[str] | list[int]
) -> None:
    """One class of them may be shown, and not two, however they are written."""
    frame = pl.DataFrame({"year_of_birth": born * (40 // len(born)), "sex": ["f", "m"] * 20})
    _release_of(tmp_path, frame)
    _, verdict = _told(tmp_path / "r", policy(tmp_path, 'kind = "identifiers"'))
    assert [one["asks"][1] for one in verdict["rulings"] if not one["passed"]] == ["C"]


@pytest.mark.parametrize(
    ("ids", "told"), [([1 + n % 20 for n in range(40)], ""), ([7 * n for n in range(40)], "LR")]
)
def test_numbers_that_a_release_counts_itself_are_no_identifiers(
    tmp_path: Path, ids: list[int], told: str
) -> None:
    """Where they are counted from one, as it says: what only calls itself so is found."""
    _release_of(tmp_path, pl.DataFrame({"bike_id": ids, "hour": [7, 8] * 20}), bike_id="numbered")
    _, verdict = _told(tmp_path / "r", policy(tmp_path, 'kind = "identifiers"'))
    assert "".join(one["asks"][1] for one in verdict["rulings"] if not one["passed"]) == told


def _release_of(folder: Path, frame: pl.DataFrame, **shown: str) -> None:
    """A folder that reads like a release which promises nothing."""
    kinds = {pl.Int64: "integer", pl.Float64: "decimal", pl.String: "text"}
    (folder / "r").mkdir()
    frame.write_csv(folder / "r" / "data.csv")
    document = {
        "format": 1, "voile": "0", "method": {"name": "none"}, "release_id": "0",
        "guarantee": {"kind": "none", "statement": "", "assumes": []}, "rows": frame.height,
        "publishable": True, "columns": {
            name: {"kind": shown.get(name, "exact")} for name in frame.columns
        },
        "roles": {}, "types": {each.name: kinds[type(each.dtype)] for each in frame},
        "data": manifest_of(folder / "r", ["data.csv"]),
    }  # fmt: skip
    (folder / "r" / "release.json").write_text(json.dumps(document))


@pytest.mark.slow
def test_a_seeded_release_fails_whatever_is_asked(tmp_path: Path) -> None:
    """Others may know the seed."""
    folder = studied(tmp_path, "--seed", 1)
    status, verdict = _told(folder, policy(tmp_path, 'kind = "group-size"\nleast = 1'))
    assert status == 4
    assert [one["kind"] for one in verdict["rulings"] if not one["passed"]] == ["publishable"]


@pytest.mark.slow
def test_a_release_that_calls_itself_another_since_is_refused(tmp_path: Path) -> None:
    """Evidence is of what was studied: a word in release.json makes no seeded release fit."""
    folder = studied(tmp_path, "--seed", 7)
    path = folder / "release" / "release.json"
    path.write_text(path.read_text().replace('"publishable": false', '"publishable": true'))
    found = voile("check", folder, "--policy", policy(tmp_path, 'kind = "group-size"\nleast = 2'))
    assert found.exit_code == 4
    assert "release.json: publishable is another than when" in str(found.exception)


_REGION = pl.col("town").rank("dense") // 3
UNREAD = {
    "whose labels nobody explains": pl.format("x{}", _REGION).alias("town"),
    "which has the name of no column of the original": pl.format("r{}", _REGION).alias("place"),
}


@pytest.mark.slow
@pytest.mark.parametrize("why", UNREAD)
def test_what_no_adversary_could_read_passes_where_a_human_says_so(
    tmp_path: Path, why: str
) -> None:
    """A column of few groups that was renamed, or whose labels nobody explains."""
    table = ORIGINAL.select(UNREAD[why])
    folder = audited(tmp_path, ORIGINAL.select("sex").hstack(table))
    least = policy(tmp_path, 'kind = "group-size"\nleast = 1')
    assert _told(folder, least)[0] == 4
    asked = f"Column {table.columns[0]!r}, {why}, gives nobody away"
    assert asked in (folder / "assumptions.toml").read_text()
    tick_all(folder)
    status, verdict = _told(folder, least)
    assert status == 0
    assert verdict["rulings"][0]["asks"] == asked


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cells", "told"),
    [
        (pl.format("x{}", pl.col("town").rank("dense")).alias("town"), "of column 'town'"),
        (pl.col("town").alias("place"), "of column 'town'"),
        (pl.format("{}/{}", "age", "income").alias("place"), "are of one person only"),
    ],
)
def test_a_column_that_hides_one_of_the_original_fails_whatever_is_ticked(
    tmp_path: Path, cells: pl.Expr, told: str
) -> None:
    """Its labels are as many, and as often, or single out rows: who learns them reads them."""
    folder = audited(tmp_path, ORIGINAL.select("sex", cells))
    least = policy(tmp_path, 'kind = "group-size"\nleast = 1')
    _told(folder, least)
    tick_all(folder)
    status, verdict = _told(folder, least)
    assert status == 4
    assert [told in one["why"] for one in verdict["rulings"] if not one["passed"]] == [True]


@pytest.mark.slow
def test_a_file_that_shows_identifiers_passes_where_a_human_says_so(tmp_path: Path) -> None:
    """No attack looks at names: whoever knows one needs none."""
    named = ORIGINAL.with_row_index("name").with_columns(
        pl.format("Somebody {}", "name").alias("name")
    )
    named.write_csv(tmp_path / "named.csv")
    named.select("name", sex=pl.lit("*")).write_csv(tmp_path / "shown.csv")
    call = ["audit", tmp_path / "shown.csv", "--original", tmp_path / "named.csv"]
    folder = tmp_path / "judged"
    assert voile(*call, "--attacks", "prosecutor", "--out", folder).exit_code == 0
    status, verdict = _told(folder, policy(tmp_path, 'kind = "group-size"\nleast = 2'))
    assert status == 4
    assert (
        verdict["rulings"][0]["asks"] == "Column 'name', which holds identifiers, gives nobody away"
    )


@pytest.mark.slow
def test_rows_that_are_published_twice_hide_nobody(tmp_path: Path) -> None:
    """Three copies of each row make no group of three persons."""
    shown = ORIGINAL.select(sex="sex", age=pl.lit("*"), town=pl.lit("*"))
    once = shown.group_by("sex").len()["len"].min()
    folder = audited(tmp_path, pl.concat([shown] * 3))
    _, verdict = _told(folder, policy(tmp_path, 'kind = "group-size"\nleast = 2'))
    assert verdict["rulings"][0]["value"] == once


@pytest.mark.slow
def test_half_of_the_rows_twice_hide_nobody(tmp_path: Path) -> None:
    """As many rows as the original, and yet half as many persons."""
    folder = audited(tmp_path, pl.concat([ORIGINAL[:200].drop("age", "town")] * 2))
    _, verdict = _told(folder, policy(tmp_path, 'kind = "group-size"\nleast = 150'))
    assert verdict["rulings"][0]["value"] < 0.6 * 200
    assert "rows repeat others" in verdict["rulings"][0]["why"]


def test_what_humans_wrote_is_never_changed(study: Path, tmp_path: Path) -> None:
    """Another policy's questions are added at the end of the file; ticks stay."""
    voile("check", study, "--policy", policy(tmp_path, 'kind = "question"\nsays = "one"'))
    path = study / "private" / "assumptions.toml"
    tick_all(study / "private")
    path.write_text("# mine\n" + path.read_text())
    before = path.read_text()
    voile("check", study, "--policy", policy(tmp_path, 'kind = "question"\nsays = "two"'))
    assert path.read_text().startswith(before)
    ticks = {one["says"]: one["ticked"] for one in tomllib.loads(path.read_text())["assumption"]}
    assert ticks["one"] is True
    assert ticks["two"] is False
    path.write_text('[[assumption]]\nsays = "one"\nticked = true\n')
    found = voile("check", study, "--policy", "five-safes")
    path.unlink()
    assert isinstance(found.exception, InputError)
    assert "by whom" in str(found.exception)


@pytest.mark.slow
def test_evidence_of_something_else_is_refused(tmp_path: Path, study: Path) -> None:
    """A file that was changed since, a record of another release, a folder of nothing."""
    folder = audited(tmp_path)
    CONTROL.write_csv(folder / "released" / "copy.csv")
    found = voile("check", folder, "--policy", "gdpr")
    assert "was changed since" in str(found.exception)
    found = voile("check", tmp_path, "--policy", "gdpr")
    assert "nothing to judge stands here" in str(found.exception)
    path = study / "release" / "release.json"
    text = path.read_text()
    path.write_text(text.replace('"release_id": "', '"release_id": "0'))
    found = voile("check", study, "--policy", "gdpr")
    path.write_text(text)
    assert "of another release" in str(found.exception)
    hidden = path.rename(path.with_name("hidden.json"))
    found = voile("check", study, "--policy", "gdpr")
    hidden.rename(path)
    told = f"{study / 'release'}: the release that was studied is not here"
    assert str(found.exception) == told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('kind = "atack"', "did you mean 'attack'?"),
        ('kind = "attack"\nnam = "p"\nmost = 1', "did you mean 'name'?"),
        ('kind = "attack"\nname = "p"\nmost = 1.5', "criteria[1].most must be a number"),
        ('kind = "attack"\nname = "p"\nmost = 1\nfigure = "wrost"', "'worst'"),
        ('kind = "utility"\nmeasure = "p"', "criteria[1]: either least or most"),
        ('kind = "identifiers"\nabsent = ["Z"]', "absent"),
    ],
)
def test_what_is_wrong_with_a_policy_is_said(text: str, told: str) -> None:
    """With the place, and what was probably meant."""
    with pytest.raises(InputError) as refused:
        StatedPolicy.of_text(f'name = "x"\n[[criteria]]\n{text}\n', "policy.toml")
    assert str(refused.value).startswith("policy.toml: ")
    assert told in str(refused.value)


def test_a_template_is_printed_and_says_where_it_is_from(tmp_path: Path) -> None:
    """What is printed is read back as the same policy; a wrong name is told the nearest."""
    for name in template_names():
        found = voile("check", "--template", name)
        (tmp_path / "policy.toml").write_text(found.stdout)
        stated = StatedPolicy.read(tmp_path / "policy.toml")
        assert stated.policy == StatedPolicy.read(name).policy
        assert stated.policy.source
    assert "did you mean 'gdpr'?" in str(voile("check", "--template", "gdrp").exception)


@pytest.mark.slow
def test_documents_fit_their_schemas(study: Path, tmp_path: Path) -> None:
    """Of verdicts and policies."""
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    voile("check", study, "--policy", policy(tmp_path, 'kind = "group-size"\nleast = 2'))
    verdict = Verdict.read(study / "private" / "verdict.json")
    jsonschema.validate(json.loads(json.dumps(verdict.document())), verdict_schema())
    for name in template_names():
        jsonschema.validate(tomllib.loads(StatedPolicy.read(name).text), policy_schema())


def test_it_is_said_to_be_no_legal_advice(copied: Path) -> None:
    """And that it is private."""
    found = voile("check", copied, "--policy", "ema")
    assert "no legal advice" in found.output
    assert "PRIVATE" in found.output


def test_a_verdict_says_which_tables_and_whose_words_it_rests_on(copied: Path) -> None:
    """By the digests that the seal of the audit holds, since no file tells who was left out."""
    found = voile("check", copied, "--policy", "ema")
    run = AuditRecord.read(copied / "audit.json").run
    assert run is not None
    inputs = run["inputs"]
    kept = Verdict.read(copied / "verdict.json").rests_on
    for told in (found.output, " ".join(kept)):
        for name in ("original", "control"):
            assert f"digest {inputs[name]}" in told
        assert "taken out of the original nothing was asked" in told
    assert found.output.index(kept[0]) < found.output.index("no legal advice")


def test_a_recipient_is_told_who_has_signed_and_what_no_file_shows(tmp_path: Path) -> None:
    """Of a release alone: no word of private figures, of files it has not, or of ticks."""
    place = studied(tmp_path)
    signer = '[[signers]]\nrole = "officer"\n'
    stated = policy(tmp_path, 'kind = "group-size"\nleast = 1', more=signer)
    assert voile("key", tmp_path / "key").exit_code == 0
    unnamed = voile("check", place / "release")
    assert unnamed.exit_code == 2
    assert "needs --policy, since nobody has signed" in str(unnamed.exception)
    voile("check", place, "--policy", stated)
    assert (
        "Nobody has signed this release"
        in voile("check", place / "release", "--policy", stated).output
    )
    assert voile("sign", place, "--key", tmp_path / "key", "--as", "officer").exit_code == 0
    found = voile("check", place / "release", "--policy", stated)
    assert voile("check", place / "release").output == found.output
    assert found.exit_code == 0
    assert "Unaltered since signed as 'officer'" in found.output
    assert "it has passed this policy" in found.output
    other = voile("check", place / "release", "--policy", "gdpr")
    assert other.exit_code == 4
    assert "another than this policy" in other.output
    assert "cannot be seen from here" in str(other.exception)
    assert "not seen" in other.output
    assert "FAIL" not in other.output
    for word in ("PRIVATE", "assumptions.toml", "count it first", "try k"):
        assert word not in other.output


def test_a_signed_release_beside_it_contradicts_that_no_other_data_are_published(
    tmp_path: Path,
) -> None:
    """A tick does not pass, but one that says that its role knows; and the signature tells it."""
    stated = policy(tmp_path, 'kind = "assumptions"', 'kind = "question"\nsays = "it is of use"')
    assert voile("key", tmp_path / "key").exit_code == 0
    first = studied(tmp_path)
    assert voile("check", first, "--policy", stated).exit_code == 4
    tick_all(first / "private")
    assert voile("check", first, "--policy", stated).exit_code == 0
    assert voile("sign", first, "--key", tmp_path / "key", "--as", "officer").exit_code == 0
    first.rename(tmp_path / "first")
    again = ["study", tmp_path / "original.csv", "--plan", tmp_path / "plan.toml", "--targets", 50]
    found = voile(*again, "--out", tmp_path / "second", "--known", tmp_path / "first")
    assert "first/release: a signed release with the same columns" in found.stderr
    assert voile("check", tmp_path / "second", "--policy", stated).exit_code == 4
    tick_all(tmp_path / "second" / "private")
    refused = voile("check", tmp_path / "second", "--policy", stated)
    assert refused.exit_code == 4
    assert "against it:" in refused.output
    form = tmp_path / "second" / "private" / "assumptions.toml"
    form.write_text(
        form.read_text().replace('by = "board"', 'by = "board, knowing that it is not"')
    )
    assert voile("check", tmp_path / "second", "--policy", stated).exit_code == 0
    told = voile("sign", tmp_path / "second", "--key", tmp_path / "key", "--as", "officer")
    assert told.exit_code == 0
    shown = voile("check", tmp_path / "second" / "release", "--policy", stated).output
    assert "have accepted it: no other published data" in shown
    assert "have accepted it: it is of use" in shown
