"""Intruders in the population: figures by brute force, sdcMicro's survey, policies, bad weights."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import voile
from voile.attack.registry import attack_named
from voile.policy.case import open_case
from voile.policy.criteria.measured import AttackRate
from voile.publish.local_suppression import LocalSuppression
from voile.schema.plan import parse_plan
from voile_base.errors import InputError
from voile_base.randomness import Randomness

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
    case = open_case(out)
    for name, value in risk.items():
        for most, met in ((min(value * 1.01 + 1e-9, 1), True), (value / 2, value == 0)):
            (ruling,) = AttackRate(name=name, most=most).rulings(case, ())
            assert ruling.passed is met, ruling


@pytest.mark.parametrize("wrong", [0, -4, None])
def test_wrong_weights_are_refused(wrong: int | None) -> None:
    """Missing, zero, negative: the column and the way out."""
    frame = _people().with_columns(w=pl.when(pl.int_range(pl.len()) < 2).then(wrong).otherwise("w"))
    plan = parse_plan({
        "roles": {"person": "row", "quasi_identifiers": ["town"], "keep": ["w"], "weight": "w"},
        "columns": {"w": {"nulls": "category"}},
    })  # fmt: skip
    release = LocalSuppression(k=2).publish(
        voile.open_frame(frame.select("town", "w"), plan), Randomness.seeded(1)
    )
    with pytest.raises(InputError, match=r"'w'.*2 rows have no sampling weight above 0"):
        attack_named("population-map").run(release, None, plan)


def test_weights_that_are_too_few_or_not_published_are_refused() -> None:
    """A population is no smaller than its sample; weights that nobody sees tell nothing."""
    release, plan = _released(_people().with_columns(w=pl.lit(0.5)))
    with pytest.raises(InputError, match="fewer people"):
        attack_named("population-map").run(release, None, plan)
    without = parse_plan({"roles": {"person": "row", "quasi_identifiers": ["town"]}})
    assert "[roles] weight" in str(attack_named("population-map").refusal(release, without))
