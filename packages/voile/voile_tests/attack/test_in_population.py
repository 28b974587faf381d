"""Intruders in the population: figures by brute force, sdcMicro's survey, policies, bad weights."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import voile
from voile.attack.registry import attack_named
from voile.models.population import individual_risk
from voile.policy.case import Case
from voile.policy.criteria.measured import AttackRate
from voile.publish.local_suppression import LocalSuppression
from voile.schema.plan import parse_plan
from voile_base.errors import InputError, TableError
from voile_base.main import command
from voile_base.randomness import Randomness
from voile_tests.attack.by_definition import release_of

NAMES = tuple(
    f"population-{name}"
    for name in ("individual", "map", "uniques", "log-linear", "special-uniques")
)


def _people(rows: int = 150) -> pl.DataFrame:
    draws = np.random.default_rng(9)
    return pl.DataFrame(
        {
            "town": draws.choice(list("abcdef"), rows, p=[0.4, 0.3, 0.15, 0.05, 0.05, 0.05]),
            "job": draws.choice(list("xyz"), rows, p=[0.7, 0.2, 0.1]),
            "age": draws.integers(2, 9, rows) * 10,
            "w": draws.integers(5, 60, rows),
        }
    )


def _released(frame: pl.DataFrame, keys=("town", "job", "age"), **parameters):
    roles = {"quasi_identifiers": list(keys), "keep": ["w"], "weight": "w"}
    plan = parse_plan({"roles": {"person": "row", **roles}})
    release = LocalSuppression(k=2, **parameters).publish(
        voile.open_frame(frame.select(*keys, "w"), plan), Randomness.seeded(1)
    )
    return release, plan


def test_the_individual_risk_is_that_of_the_shown_rows() -> None:
    """Each row's f and F by comparing all pairs, a missing value matching anything."""
    release, plan = _released(_people())
    shown = pl.DataFrame(release.table.to_arrow())
    rows = shown.select("town", "job", "age").rows()
    weight = shown["w"].to_numpy()
    like = np.array([
        [all(a is None or b is None or a == b for a, b in zip(one, two, strict=True))
         for two in rows] for one in rows
    ])  # fmt: skip
    f, people = like.sum(axis=1), like @ weight
    found = attack_named("population-map").run(release, None, plan)
    assert found.success.value == pytest.approx((1 / people).mean(), rel=1e-12)
    assert found.worst is not None
    assert found.worst.probability == pytest.approx(1 / people.min(), rel=1e-12)
    p = f / people
    expected = np.where(f == 2, p / (1 - p) - (p / (1 - p)) ** 2 * np.log(1 / p), p / (f - 1 + p))
    individual = attack_named("population-individual").run(release, None, plan)
    assert f.min() >= 2
    assert individual.success.value == pytest.approx(expected.mean(), rel=1e-9)


def test_the_survey_has_the_risk_that_sdcmicro_finds(shared_data: Path) -> None:
    """The household survey as it is: expected re-identifications equal to nine digits."""
    golden = json.loads((shared_data / "tables" / "golden.json").read_text())["household_testdata"]
    frame = pl.read_csv(
        shared_data / "census" / "household-testdata.csv", infer_schema_length=None
    ).rename({"sampling_weight": "w"})
    keys = tuple(golden["key"])
    release, plan = _released(frame, keys, columns=("sex",))
    assert all(release.disclosure.columns[name].as_it_is for name in keys)
    found = attack_named("population-individual").run(release, None, plan)
    assert found.success.value == pytest.approx(golden["global"]["risk"], rel=1e-9)
    suda = attack_named("population-special-uniques").run(release, None, plan)
    assert suda.success.value == pytest.approx(golden["suda"]["dis_mean"], rel=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_nobody_is_named_and_guessing_is_one_of_all_people(name: str) -> None:
    """The worst target has a probability and no values."""
    frame = _people()
    release, plan = _released(frame)
    found = attack_named(name).run(release, None, plan)
    assert found.worst is not None
    assert not found.worst.known
    assert not found.checked
    assert 0 <= found.success.value <= found.worst.probability <= 1
    assert found.baseline == pytest.approx(1 / frame["w"].sum())


def test_a_study_tells_them_and_a_policy_asks_for_them(tmp_path: Path) -> None:
    """Each stands in the record; limits on it are met and missed."""
    plan = tmp_path / "plan.toml"
    plan.write_text(
        '[roles]\nperson = "row"\nquasi_identifiers = ["town", "job", "age"]\nkeep = ["w"]\n'
        'weight = "w"\n[method]\nname = "local-suppression"\nk = 2\n'
    )
    out = tmp_path / "out"
    voile.run_study(_people(), plan, out, seed=1, attacks=NAMES)
    record = json.loads((out / "private" / "record.json").read_text())
    risk = {one["attack"]: one["success"]["value"] for one in record["attacks"]}
    assert set(risk) == set(NAMES)
    case = Case.open(out)
    for name, value in risk.items():
        for most, met in ((min(value * 1.01 + 1e-9, 1), True), (value / 2, value == 0)):
            (ruling,) = AttackRate(name=name, most=most).rulings(case, ())
            assert ruling.passed is met, ruling


@pytest.mark.parametrize("wrong", [0, -4, None])
def test_wrong_weights_are_refused(wrong: int | None) -> None:
    """Missing, zero, negative in a release whose own plan did not name weights."""
    frame = _people().with_columns(w=pl.when(pl.int_range(pl.len()) < 2).then(wrong).otherwise("w"))
    roles = {"person": "row", "quasi_identifiers": ["town"], "keep": ["w"]}
    columns = {"w": {"nulls": "category"}}
    unweighted = parse_plan({"roles": roles, "columns": columns})
    release = LocalSuppression(k=2).publish(
        voile.open_frame(frame.select("town", "w"), unweighted), Randomness.seeded(1)
    )
    plan = parse_plan({"roles": roles | {"weight": "w"}, "columns": columns})
    with pytest.raises(InputError, match=r"'w'.*2 rows have no sampling weight above 0"):
        attack_named("population-map").run(release, None, plan)


def test_weights_that_are_too_few_or_not_published_are_refused() -> None:
    """A population is no smaller than its sample; weights that nobody sees tell nothing."""
    release, plan = _released(_people().with_columns(w=pl.lit(0.5)))
    with pytest.raises(InputError, match="fewer people"):
        attack_named("population-map").run(release, None, plan)
    without = parse_plan({"roles": {"person": "row", "quasi_identifiers": ["town"]}})
    assert "[roles] weight" in str(attack_named("population-map").refusal(release, without))


def _like(one: tuple[object, ...], two: tuple[object, ...]) -> bool:
    """Whether two rows may be of people with the same values."""
    return all(a is None or b is None or a == b for a, b in zip(one, two, strict=True))


def test_the_risk_of_a_household_is_that_of_its_rows_together() -> None:
    """1 - product (1 - r), the rows of a home being found by their weights, which differ."""
    weights = np.random.default_rng(4).permutation(np.arange(10, 130))
    frame = _people(120).with_columns(home=pl.int_range(pl.len()) // 3, w=weights)
    roles = {"quasi_identifiers": ["town", "job", "age"], "keep": ["w"], "keep_unique": ["w"]}
    plan = parse_plan({"roles": {"person": "row", "household": "home", "weight": "w", **roles}})
    release = LocalSuppression(k=2).publish(voile.open_frame(frame, plan), Randomness.seeded(1))
    shown = pl.DataFrame(release.table.to_arrow()).join(frame.select("w", "home"), on="w")
    assert shown.height == frame.height
    rows = shown.select("town", "job", "age").rows()
    like = np.array([[_like(one, two) for two in rows] for one in rows])
    r = individual_risk(like.sum(axis=1).astype(float), like @ shown["w"].to_numpy().astype(float))
    homes = shown.select("home", r=r).group_by("home").agg(r=1 - (1 - pl.col("r")).product())
    found = attack_named("population-household").run(release, frame, plan, Randomness.seeded(1))
    assert found.targets == frame.height
    assert found.success.value == pytest.approx(homes["r"].mean(), rel=1e-9)
    assert found.worst is not None
    assert found.worst.probability == pytest.approx(homes["r"].max(), rel=1e-9)


def test_the_risk_of_households_needs_them() -> None:
    """Without a column of households, or where rows cannot be told, it says so."""
    release, plan = _released(_people())
    homes = replace(plan, roles=replace(plan.roles, household="home"))
    strangers = _people().with_columns(home=pl.lit(1), age=pl.lit(7))
    with pytest.raises(InputError, match="ask for population-individual"):
        attack_named("population-household").run(release, strangers, homes)
    assert "[roles] household" in str(attack_named("population-household").refusal(release, plan))


def test_a_file_of_the_population_counts_people() -> None:
    """F of each row by comparing it with everybody, a blanked cell matching anything."""
    frame = _people()
    release, plan = _released(frame)
    others = _people(900).select("town", "job", "age")
    everybody = pl.concat([frame.select("town", "job", "age"), others])
    shown = pl.DataFrame(release.table.to_arrow()).select("town", "job", "age").rows()
    people = np.array([sum(_like(row, one) for one in everybody.rows()) for row in shown])
    found = attack_named("population-map", register=everybody).run(release, frame, plan)
    assert found.success.value == pytest.approx((1 / people).mean(), rel=1e-12)
    assert found.worst is not None
    assert found.worst.probability == pytest.approx(1 / people.min(), rel=1e-12)
    assert found.baseline == 1 / everybody.height
    assert f"k = {people.min():,}" in found.notes[0]


@pytest.mark.slow
def test_a_study_puts_the_population_of_a_file_on_record(tmp_path: Path) -> None:
    """`voile study --register`, without weights; so that a policy can ask for it."""
    frame, plan, out = _people().drop("w"), tmp_path / "plan.toml", tmp_path / "out"
    frame.write_csv(tmp_path / "survey.csv")
    pl.concat([frame] * 9).write_csv(tmp_path / "all.csv")
    plan.write_text(
        '[roles]\nperson = "row"\nquasi_identifiers = ["town", "job", "age"]\n'
        '[method]\nname = "local-suppression"\nk = 2\n'
    )
    said = ["study", f"{tmp_path / 'survey.csv'}", "--plan", f"{plan}", "--out", f"{out}"]
    register = ["--register", f"{tmp_path / 'all.csv'}", "--attacks", "population-map"]
    done = CliRunner().invoke(command, [*said, *register])
    assert done.exit_code == 0, done.output
    record = json.loads((out / "private" / "record.json").read_text())
    (found,) = record["attacks"]
    assert found["baseline"] == pytest.approx(1 / (9 * frame.height))
    assert 0 < found["worst"]["probability"] <= 1 / 18


def test_a_file_that_is_not_the_population_is_refused() -> None:
    """It lacks people who were published, or a column."""
    frame = _people()
    release, plan = _released(frame)
    with pytest.raises(InputError, match="everybody who was published"):
        attack_named("population-map", register=frame.head(20)).run(release, frame, plan)
    with pytest.raises(TableError, match=r"the population.*'age'"):
        attack_named("population-map", register=frame.drop("age")).run(release, frame, plan)


def _planted(name: str, *, alike: bool):
    """What an attack finds of sixty people who are all like each other, or none like another."""
    number = pl.int_range(pl.len())
    told = (pl.lit(1), pl.lit(1)) if alike else (number, (number * 7) % 11)
    frame = pl.DataFrame({"home": range(60)}).with_columns(
        age=told[0], job=told[1], w=pl.lit(50 if alike else 2)
    )
    release = release_of(frame.drop("home").to_dict(as_series=False), known=("age", "job"))
    roles = {"quasi_identifiers": ["age", "job"], "keep": ["w"]}
    plan = parse_plan({"roles": {"person": "row", "household": "home", "weight": "w", **roles}})
    return attack_named(name).run(release, frame, plan, Randomness.seeded(1))


@pytest.mark.parametrize("name", [*NAMES, "population-household"])
def test_a_planted_weak_release_is_told_from_an_ideal_one(name: str) -> None:
    """Half of all people, none like another, beside rows that are all alike in a large town."""
    weak, ideal = _planted(name, alike=False), _planted(name, alike=True)
    assert weak.success.value > 20 * weak.baseline
    assert weak.worst is not None
    assert weak.worst.probability > 20 * weak.baseline
    assert ideal.success.value <= 1.05 * ideal.baseline
