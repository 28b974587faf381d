"""Risk in the population: figures of sdcMicro, brute force, simulated people, bad weights."""

from __future__ import annotations

import json
from itertools import combinations
from math import factorial
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voile.models.population import (
    PopulationRisk,
    household_risk,
    individual_risk,
    log_linear_risk,
    matching,
    population_uniques,
    special_uniques,
)
from voile.schema.plan import parse_plan
from voile.table.profile import Inspected
from voile_base.errors import PlanError, TableError


def _golden(shared_data: Path, name: str) -> dict:
    return json.loads((shared_data / "tables" / "golden.json").read_text())[name]


def _sample(shared_data: Path, file: str, golden: dict):
    frame = pl.read_csv(shared_data / "census" / file, infer_schema_length=None)
    roles = {"quasi_identifiers": golden["key"], "weight": golden["weight"]}
    if "household" in golden:
        roles["household"] = golden["household"]
    plan = parse_plan({"roles": roles})
    return Inspected(frame).sample(golden["key"], golden["weight"], plan)


def _risk(sample, **how):
    rows = matching(sample.codes.astype(np.int32), sample.missing, sample.rows.astype(float))
    people = matching(sample.codes.astype(np.int32), sample.missing, sample.weight)
    return rows, people, individual_risk(rows, people, **how)


def test_the_small_example_is_that_of_sdcmicro(shared_data: Path) -> None:
    """Frequencies, individual risk, scores and contributions to nine digits."""
    golden = _golden(shared_data, "francdat")
    sample = _sample(shared_data, "francdat.csv", golden)
    rows, people, risk = (each[sample.place] for each in _risk(sample))
    assert rows.tolist() == golden["fk"]
    assert people.tolist() == golden["Fk"]
    assert risk == pytest.approx(np.array(golden["individual_risk"]), rel=1e-9)
    special = special_uniques(sample.codes, sample.missing, sample.rows)
    suda = golden["suda"]
    assert special.score[sample.place].tolist() == suda["score"]
    assert special.contribution[sample.place] == pytest.approx(
        np.array(suda["contribution"]), rel=1e-9
    )
    assert special.by_column == pytest.approx(
        [one["contribution"] for one in suda["attribute"]], rel=1e-9
    )
    stated = [one["contribution"] for one in suda["attribute_level"] if one["variable"] == "Key1"]
    assert special.by_value(sample.codes, 0)[1:] == pytest.approx(stated, rel=1e-9)
    assert np.isnan(special.by_value(sample.codes, 2)).all()


def _in_single_precision(score: np.ndarray, columns: int, paired: int) -> np.ndarray:
    """DIS as sdcMicro computes it (src/Suda2.h): the file's chance and the power have 32 bits."""
    share, one = np.float32(0.01), np.float32(1)
    uniques = np.float32((score > 0).sum())
    of_file = uniques * share / (uniques * share + np.float32(paired) * (one - share))
    power = float(one + (np.float32(8) - np.float32(columns)) / np.float32(20))
    inverse = np.where(score > 0, np.maximum(score, 1) ** -power, 0)
    spread = float(uniques / of_file - uniques) * inverse / inverse.sum()
    return np.where(score > 0, 1 / (1 + spread), 0)


@pytest.mark.parametrize(
    ("name", "file", "paired"),
    [("francdat", "francdat.csv", 4), ("household_testdata", "household-testdata.csv", 124)],
)
def test_the_chances_of_special_uniques_are_those_of_sdcmicro(
    shared_data: Path, name: str, file: str, paired: int
) -> None:
    """To nine digits in its single precision, and to six in ours."""
    golden = _golden(shared_data, name)
    sample = _sample(shared_data, file, golden)
    special = special_uniques(sample.codes, sample.missing, sample.rows)
    own = special.chance[sample.place]
    stated = golden["suda"]
    most = max(stated["dis"]) if "dis" in stated else stated["dis_max"]
    assert own.max() == pytest.approx(most, rel=1e-6)
    score = special.score[sample.place]
    single = _in_single_precision(score, len(sample.columns), paired)
    assert single.max() == pytest.approx(most, rel=1e-9)
    if "dis" in stated:
        assert single == pytest.approx(np.array(stated["dis"]), rel=1e-9)
    else:
        assert single.mean() == pytest.approx(stated["dis_mean"], rel=1e-9)
        assert (own > 0).sum() == stated["positive"]
        assert special.by_column == pytest.approx(
            [one["contribution"] for one in stated["attribute"]], rel=1e-9
        )


def test_the_household_survey_is_that_of_sdcmicro(shared_data: Path) -> None:
    """Individual and household risk, row by row and in all, to nine digits."""
    golden = _golden(shared_data, "household_testdata")
    sample = _sample(shared_data, "household-testdata.csv", golden)
    rows, people, risk = (each[sample.place] for each in _risk(sample))
    households = household_risk(risk, sample.household)
    head = np.array(golden["individual_head"])
    found = np.stack([risk, rows, people, households], axis=1)[: len(head)]
    assert found == pytest.approx(head, rel=1e-9)
    stated = golden["global"]
    assert risk.sum() == pytest.approx(golden["sum_individual"], rel=1e-9)
    assert households.sum() == pytest.approx(stated["hier_risk_ER"], rel=1e-9)
    whole = PopulationRisk.of_sample(sample)
    assert whole.expected == pytest.approx(stated["risk_ER"], rel=1e-9)
    assert whole.households_expected == pytest.approx(stated["hier_risk_ER"], rel=1e-9)
    assert whole.special_rows == golden["suda"]["positive"]
    assert whole.population == 458_000


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 1), st.integers(1, 5)),
        min_size=1,
        max_size=12,
    )
)
def test_missing_values_match_anything_as_pairs_say(rows):
    """All pairs are compared; 0 is missing."""
    codes = np.array([one[:3] for one in rows], dtype=np.int32)
    weight = np.array([one[3] for one in rows], dtype=np.float64)
    same = (codes[:, None] == codes) | (codes[:, None] == 0) | (codes == 0)
    assert matching(codes, codes == 0, weight).tolist() == (same.all(axis=2) @ weight).tolist()


@pytest.mark.parametrize(
    ("sample", "share"), [(1, 0.1), (1, 0.999), (2, 0.95), (2, 0.3), (3, 0.05), (7, 0.4), (40, 0.2)]
)
def test_the_series_is_the_mean_of_one_in_how_many_there_are(sample, share):
    """Summed over the negative binomial law of the population, term by term."""
    of = np.arange(sample, 20_000)
    log = np.cumsum(
        np.concatenate(
            [[sample * np.log(share)], np.log1p(-share) + np.log(of[:-1] / (of[:-1] - sample + 1))]
        )
    )
    direct = float((np.exp(log) / of).sum())
    one, people = np.array([float(sample)]), np.array([sample / share])
    assert individual_risk(one, people, series=True)[0] == pytest.approx(direct, rel=1e-8)
    near = individual_risk(one, people)[0]
    assert near == pytest.approx(direct, rel=0.05)


def _brute_special(codes):
    width, score = codes.shape[1], np.zeros(len(codes))
    for row, own in enumerate(codes):
        minimal = []
        for size in range(1, width + 1):
            for columns in combinations(range(width), size):
                alone = (codes[:, columns] == own[list(columns)]).all(axis=1).sum() == 1
                if alone and not any(set(part) <= set(columns) for part in minimal):
                    minimal.append(columns)
        score[row] = sum(factorial(width - len(one)) for one in minimal)
    return score


@given(st.lists(st.tuples(*[st.integers(0, 2)] * 4), min_size=1, max_size=12))
def test_special_uniques_are_those_of_brute_force(rows):
    """All sets of columns of all rows."""
    frame = pl.DataFrame(rows, schema=list("abcd"), orient="row").with_columns(w=pl.lit(2.0))
    sample = Inspected(frame).sample(list("abcd"), "w")
    special = special_uniques(sample.codes, sample.missing, sample.rows)
    assert special.score[sample.place].tolist() == _brute_special(np.array(rows)).tolist()
    assert ((special.chance > 0) == (special.score > 0)).all()


def _drawn(people: int, share: float, seed: int):
    """A population of independent columns, and a sample of it: codes, rows, true sizes of each."""
    draws = np.random.default_rng(seed)
    chances = (0.2, 0.3, 0.1, 0.4)
    values = np.stack([draws.geometric(chance, people) for chance in chances], axis=1)
    taken = draws.random(people) < share
    sizes = np.unique(values, axis=0, return_inverse=True, return_counts=True)
    true = sizes[2][sizes[1].reshape(-1)]
    codes, where, rows = np.unique(values[taken], axis=0, return_inverse=True, return_counts=True)
    return codes, rows, true[taken][rows[where.reshape(-1)] == 1], int((true == 1).sum())


@pytest.mark.parametrize("share", [0.05, 0.2])
def test_a_log_linear_model_of_independent_columns_is_right(share):
    """Within five standard errors of the truth; a model of other margins would be far off."""
    codes, rows, true, _ = _drawn(100_000, share, 1)
    found = log_linear_risk(codes - 1, rows, share)
    unique, matches = (true == 1).sum(), (1 / true).sum()
    if not found.pairs:
        assert abs(found.unique - unique) < 5 * np.sqrt(unique)
        assert abs(found.matches - matches) < 5 * np.sqrt(matches)
    assert log_linear_risk(codes - 1, rows, share / 4).unique < 0.7 * unique


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.05, 0.3])
def test_uniques_of_a_population_are_told_within_a_third(share):
    """Pitman's estimate, and the choice; a sample of all people tells them exactly."""
    _, rows, _, unique = _drawn(100_000, share, 2)
    found = population_uniques(rows, 100_000)
    assert found.pitman == pytest.approx(unique, rel=0.34)
    assert found.chosen == pytest.approx(unique, rel=0.34)
    assert found.choice == ("pitman" if share <= 0.1 else found.choice)
    _, rows, _, unique = _drawn(20_000, 1.0, 3)
    assert population_uniques(rows, 20_000).chosen == unique


@pytest.mark.parametrize(
    ("weights", "told"),
    [
        ([1.0, 2.0, None], "1 of 3 rows have none, first row 3"),
        ([1.0, 0.0, -4.0], "2 of 3 rows have none, first row 2"),
        (["a", "b", "c"], "3 of 3 rows have none, first row 1"),
        ([1.0, float("inf"), 2.0], "1 of 3 rows have none, first row 2"),
    ],
)
def test_weights_that_are_none_are_told_by_column_and_row(weights, told):
    """Missing, zero, negative, infinite, or no numbers."""
    table = Inspected(pl.DataFrame({"age": [1, 2, 2], "w": weights}))
    with pytest.raises(TableError, match=rf"column 'w': .*{told}"):
        table.sample(["age"], "w")
    with pytest.raises(PlanError, match="no column 'v'"):
        table.sample(["age"], "v")


def test_a_population_smaller_than_its_sample_is_refused():
    """Weights below one in all."""
    with pytest.raises(ValueError, match="no fewer people"):
        population_uniques(np.array([1, 2, 3]), 5.0)
