"""Chains: codings and methods in order, claims measured at the end, contradictions refused."""

from __future__ import annotations

import json
from collections import Counter
from hashlib import sha256
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import voile
from voile.release.recounting import Recount
from voile.study.run import make_release
from voile_base.errors import InfeasibleError, PlanError, TableError

ROLES = """
[roles]
person            = {person}
quasi_identifiers = ["age", "town", "sex"]
sensitive         = ["wage", "ill"]
[columns.age]
bounds    = [0, 120]
intervals = {{ origin = 0, widths = [10, 20] }}
"""
TOP = '[[steps]]\nkind = "top-coding"\ncolumns = ["age"]\nbound = 80\n'
RECODE = '[[steps]]\nkind = "recoding"\ncolumns = ["age"]\nlevel = 1\n'
ROUND = '[[steps]]\nkind = "rounding"\ncolumns = ["wage"]\nbase = 50\nafter = true\n'
SUPPRESS = '[[steps]]\nkind = "local-suppression"\nk = 3\n'
MEANS = '[method]\nname = "microaggregation"\nk = 4\ncolumns = ["wage"]\n'
BLANKS = '[method]\nname = "local-suppression"\nk = 3\n'


def _people(rows: int = 200, seed: int = 3) -> pl.DataFrame:
    draws = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "who": draws.integers(0, rows // 2, rows),
            "age": draws.integers(17, 100, rows),
            "town": draws.choice(list("abcd"), rows, p=[0.5, 0.3, 0.15, 0.05]),
            "sex": draws.choice(["f", "m"], rows),
            "wage": draws.integers(1000, 9000, rows),
            "ill": draws.choice(["flu", "cold", "cough"], rows),
        }
    )


def _plan(folder: Path, *parts: str, person: str = "row") -> Path:
    file = folder / "plan.toml"
    file.write_text(ROLES.format(person=f'"{person}"') + "\n".join(parts))
    return file


def _made(folder: Path, *parts: str, person: str = "row", frame: pl.DataFrame | None = None):
    out = folder / "out"
    frame = _people() if frame is None else frame
    make_release(frame, _plan(folder, *parts, person=person), out, file_format="csv")
    document = json.loads((out / "release.json").read_text())
    shown = pl.read_csv(out / "data.csv", infer_schema_length=None, schema_overrides={"age": str})
    return document, shown


def _matched(shown: pl.DataFrame, names: list[str]) -> int:
    """The least number of rows that match a row, a missing value matching anything."""
    rows = [tuple(row) for row in shown.select(names).iter_rows()]
    return min(
        sum(all(a is None or b is None or a == b for a, b in zip(one, two, strict=True))
            for two in rows)
        for one in rows
    )  # fmt: skip


def test_steps_are_done_in_order_and_claims_hold_at_the_end(tmp_path: Path) -> None:
    """Recode, suppress, aggregate, round: every claim is recounted from the rows by brute force."""
    document, shown = _made(tmp_path, TOP, RECODE, SUPPRESS, ROUND, MEANS)
    assert [one.get("kind", one.get("name")) for one in document["method"]["steps"]] == [
        "top-coding",
        "recoding",
        "local-suppression",
        "microaggregation",
        "rounding",
    ]
    assert _matched(shown, ["age", "town", "sex"]) >= 3
    assert min(Counter(shown["wage"]).values()) >= 4
    assert all(wage % 50 == 0 for wage in shown["wage"])
    assert set(shown["age"].drop_nulls()) <= {f"[{a}, {a + 9}]" for a in range(10, 80, 10)} | {
        "[80, 80]"
    }
    assert not Recount.of(tmp_path / "out").breaches


def test_a_chain_of_codings_leaves_what_the_method_alone_does_with_coded_rows(
    tmp_path: Path,
) -> None:
    """Codings before a method, and the same codings done by hand: one release."""
    _, shown = _made(tmp_path, TOP, BLANKS)
    by_hand = _people().with_columns(pl.col("age").clip(upper_bound=80))
    make_release(by_hand, _plan(tmp_path, BLANKS), tmp_path / "hand", file_format="csv")
    hand = pl.read_csv(tmp_path / "hand" / "data.csv", schema_overrides={"age": str})
    assert sorted(shown.rows(), key=str) == sorted(hand.rows(), key=str)


def test_a_step_taken_away_is_undone(tmp_path: Path) -> None:
    """Without its rounding step a plan publishes the means that it rounded."""
    _, rounded = _made(tmp_path, ROUND, MEANS)
    (tmp_path / "again").mkdir()
    _, plain = _made(tmp_path / "again", MEANS)
    nearest = (plain["wage"] / 50 + 0.5).floor() * 50
    assert Counter(rounded["wage"].to_list()) == Counter(nearest.to_list())


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["duckdb"])
def test_engines_give_one_release(tmp_path: Path, engine: str) -> None:
    """The same rows whatever holds them."""
    plan = _plan(tmp_path, TOP, RECODE, SUPPRESS, ROUND, MEANS)
    files = []
    for name in ("polars", engine):
        make_release(_people(), plan, tmp_path / name, file_format="csv", engine=name)
        files.append(sorted((tmp_path / name / "data.csv").read_text().splitlines()))
    assert files[0] == files[1]


@pytest.mark.parametrize(
    "step",
    [
        'kind = "noise"\namount = 0.2\ncolumns = ["wage"]',
        'kind = "rank-swapping"\ndistance = 0.05\ncolumns = ["wage"]',
        'kind = "shuffling"\ncolumns = ["wage"]\nby = ["age"]',
        'kind = "pram"\ncolumns = ["ill"]',
    ],
    ids=["noise", "rank-swapping", "shuffling", "pram"],
)
@pytest.mark.parametrize("person", ["row", "who"])
def test_drawn_steps_go_on_and_are_stated_behind_codings(
    tmp_path: Path, step: str, person: str
) -> None:
    """Rounded, drawn, then suppressed: one release, whose claims are recounted from its folder."""
    first = '[[steps]]\nkind = "rounding"\ncolumns = ["wage"]\nbase = 100\n'
    document, shown = _made(tmp_path, first, f"[[steps]]\n{step}\n", BLANKS, person=person)
    assert document["columns"]["wage"]["kind"] == "coded"
    kinds = {document["guarantee"]["kind"], *(o["kind"] for o in document["guarantee"]["further"])}
    assert len(kinds) == 2
    assert shown.height == 200
    assert not Recount.of(tmp_path / "out").breaches


def test_persons_are_counted_at_the_end(tmp_path: Path) -> None:
    """Each mean at the end is of at least k persons, though these have several rows."""
    frame = _people()
    order = '[[steps]]\nkind = "microaggregation"\nk = 4\ncolumns = ["wage"]\n'
    again = '[method]\nname = "microaggregation"\nk = 5\ncolumns = ["age"]\n'
    keyed = frame.with_columns(pl.col("who").rank("dense").alias("ill"))
    document, shown = _made(tmp_path, order, again, person="who", frame=keyed)
    for column, k in (("wage", 4), ("age", 5)):
        persons = shown.group_by(column).agg(pl.col("ill").n_unique())["ill"]
        assert persons.min() >= k
    assert document["guarantee"]["unit"] == "person"


def test_what_a_coding_takes_from_the_rows_is_of_several(tmp_path: Path) -> None:
    """The mean of what is cut equals its rows' mean, and is of at least k rows."""
    step = '[[steps]]\nkind = "top-coding"\ncolumns = ["wage"]\nshare = 0.1\nshows = "mean"\n'
    document, shown = _made(tmp_path, step, BLANKS)
    (coding,) = document["columns"]["wage"]["codings"]
    wages = _people()["wage"]
    cut = wages.filter(wages > coding["bound"])
    assert 3 <= len(cut) <= 20
    assert wages.filter(wages >= coding["bound"]).len() > 20
    assert coding["shown"] == pytest.approx(cut.mean(), abs=1e-4)
    assert shown["wage"].sum() == pytest.approx(wages.sum(), abs=0.01)


@pytest.mark.parametrize(
    ("parts", "error", "words"),
    [
        ([RECODE, '[[steps]]\nkind = "rounding"\ncolumns = ["age"]\nbase = 5\n', BLANKS],
         PlanError, ["[[steps]] 2 (rounding)", "'age'", "[[steps]] 1 (recoding)", "order"]),
        ([TOP, '[[steps]]\nkind = "bottom-coding"\ncolumns = ["age"]\nbound = 85\n', BLANKS],
         PlanError, ["[[steps]] 2", "nothing between 85 and 80"]),
        ([TOP, TOP, BLANKS], PlanError, ["[[steps]] 2", "cut that end"]),
        ([SUPPRESS, '[method]\nname = "microaggregation"\nk = 3\ncolumns = ["age"]\n'],
         PlanError, ["'age'", "[[steps]] 1 (local-suppression)", "order"]),
        (['[[steps]]\nkind = "rounding"\ncolumns = ["town"]\nbase = 5\n', BLANKS],
         PlanError, ["'town'", "numbers", "recoding"]),
        (['[[steps]]\nkind = "rounding"\ncolumns = ["towns"]\nbase = 5\n', BLANKS],
         PlanError, ["'towns'", "town"]),
        (['[[steps]]\nkind = "rounding"\ncolumns = ["wage"]\nbase = 0\n', BLANKS],
         PlanError, ["[[steps]] 1 (rounding)", "base"]),
        (['[[steps]]\nkind = "top-codin"\ncolumns = ["wage"]\n', BLANKS],
         PlanError, ["[[steps]] 1", "top-coding"]),
        (['[[steps]]\nkind = "top-coding"\ncolumns = ["wage"]\n', BLANKS],
         PlanError, ["[[steps]] 1", "bound", "share"]),
        (['[[steps]]\nkind = "recoding"\ncolumns = ["town"]\nlevel = 1\n', BLANKS],
         PlanError, ["'town'", "hierarchy"]),
        (['[[steps]]\nkind = "recoding"\ncolumns = ["age"]\nlevel = 9\n', BLANKS],
         PlanError, ["level = 9", "'age'", "highest level"]),
        (['[[steps]]\nkind = "top-coding"\ncolumns = ["wage"]\nbound = 8990\nshows = "mean"\n',
          BLANKS], InfeasibleError, ["'wage'", "fewer than 3", "public bound"]),
        (['[[steps]]\nkind = "local-suppression"\nk = 300\n', MEANS],
         InfeasibleError, ["[[steps]] 1 (local-suppression)", "largest k"]),
        (['[[steps]]\nkind = "top-coding"\ncolumns = ["wage"]\nshare = 0.1\n',
          '[method]\nname = "dp-generalization"\nk = 5\nepsilon = 2\n'],
         PlanError, ["[[steps]] 1", "dp-generalization", "public bound"]),
        ([ROUND, '[method]\nname = "dp-generalization"\nk = 5\nepsilon = 2\n'],
         PlanError, ["[method]", "no step after it"]),
        ([TOP, '[method]\nname = "dp-tables"\nepsilon = 1\ntables = [["town"]]\n'],
         PlanError, ["dp-tables", "[[steps]]"]),
        (['[[steps]]\nkind = "rounding"\ncolumns = ["ill"]\nbase = 5\nafter = true\n',
          '[method]\nname = "generalization"\nk = 3\nl = 2\ncriteria = '
          '[{ name = "l-diversity", column = "ill", l = 2 }]\n'],
         (PlanError, InfeasibleError), ["[[steps]] 1 (rounding)"]),
    ],
)  # fmt: skip
def test_contradictions_are_refused_and_nothing_is_written(
    tmp_path: Path, parts: list[str], error: type[Exception], words: list[str]
) -> None:
    """The plan, the key, the column and the way out are named; the place stays empty."""
    plan = _plan(tmp_path, *parts)
    with pytest.raises(error) as refusal:
        make_release(_people(), plan, tmp_path / "out")
    text = str(refusal.value)
    assert "plan.toml" in text
    assert all(word in text for word in words), text
    assert sorted(path.name for path in tmp_path.iterdir()) == ["plan.toml"]


def test_columns_of_one_value_or_missing_ones_are_coded(tmp_path: Path) -> None:
    """One value stays one, a missing one stays missing; a number that is none is refused."""
    frame = _people().with_columns(wage=pl.lit(1234), ill=pl.lit(None, dtype=pl.Int64))
    extra = '[columns.ill]\nnulls = "category"\n'
    both = '[[steps]]\nkind = "rounding"\ncolumns = ["wage", "ill"]\nbase = 100\n'
    _, shown = _made(tmp_path, extra, both, BLANKS, frame=frame)
    assert set(shown["wage"]) == {1200}
    assert shown["ill"].null_count() == 200
    wrong = _people().with_columns(wage=pl.lit(float("nan")))
    with pytest.raises(TableError, match="wage"):
        make_release(wrong, _plan(tmp_path, both.replace(', "ill"', ""), BLANKS), tmp_path / "x")


def test_what_the_rows_at_the_end_contradict_is_refused(tmp_path: Path) -> None:
    """Rows that a later generalization leaves out break what an earlier step promised."""
    frame = _people(60)
    first = '[[steps]]\nkind = "microaggregation"\nk = 20\ncolumns = ["wage"]\n'
    last = '[method]\nname = "generalization"\nk = 8\nsuppression_limit = 0.5\n'
    with pytest.raises(InfeasibleError, match="at its end"):
        _made(tmp_path, first, last, frame=frame)
    assert not (tmp_path / "out").exists()


def test_a_mutant_of_a_chain_is_found_by_recounting(tmp_path: Path) -> None:
    """A number that no coding leaves contradicts release.json."""
    _made(tmp_path, TOP, BLANKS)
    out = tmp_path / "out"
    data = (out / "data.csv").read_text().splitlines()
    at = data[0].split(",").index("age")
    row = data[1].split(",")
    row[at] = "99"
    changed = "\n".join([data[0], ",".join(row), *data[2:]]) + "\n"
    (out / "data.csv").write_text(changed)
    document = json.loads((out / "release.json").read_text())
    document["data"][0] |= {
        "bytes": len(changed.encode()),
        "sha256": sha256(changed.encode()).hexdigest(),
    }
    (out / "release.json").write_text(json.dumps(document))
    assert any("codings" in breach for breach in Recount.of(out).breaches)


@pytest.mark.slow
def test_a_study_attacks_the_end_of_a_chain(tmp_path: Path) -> None:
    """Adversaries who know the plan rule out nobody's own row; measures read coded columns."""
    record = voile.run_study(
        _people(), _plan(tmp_path, TOP, RECODE, SUPPRESS, ROUND, MEANS), seed=1, targets=50
    )
    named = {one["attack"]: one for one in record.attacks}
    assert 0 < named["prosecutor"]["success"]["value"] < 1
    assert not any("cannot be compared" in str(why) for why in record.utility_skipped)
