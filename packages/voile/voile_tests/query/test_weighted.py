"""Answers about the population: weighted sums, their errors over sampling and draws, refusals."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import voile
from voile.cli.query import _query
from voile.publish.pram import PRAM
from voile.query import EstimatedAnswer, answer
from voile.release.folder import write_release
from voile.schema.plan import parse_plan
from voile.study.run import make_release
from voile_base.errors import QueryError
from voile_base.randomness import Randomness
from voile_tests.attack.by_definition import release_of

FRAME = pl.DataFrame(
    {
        "job": ["farm", "shop", "farm", "none", "shop", "farm"],
        "pay": [10.5, 20, 30, 40, None, 60],
        "w": [2.0, 3, 5, 7, 11, 1.5],
    }
)


def _release(frame: pl.DataFrame = FRAME):
    columns = frame.to_dict(as_series=False)
    return release_of(columns, known=("job",))


def test_sums_are_those_of_the_rows_that_stand_for_people() -> None:
    """COUNT, SUM and AVG by hand, with a predicate; a missing number adds nothing."""
    release = _release()
    assert answer(release, "COUNT(*)", weight="w").estimate == 29.5
    assert answer(release, "COUNT(pay)", weight="w").estimate == 18.5
    assert answer(release, "SUM(pay)", "job = 'farm'", weight="w").estimate == 21 + 150 + 90
    average = answer(release, "AVG(pay)", "job = 'farm'", weight="w")
    assert isinstance(average, EstimatedAnswer)
    assert average.estimate == pytest.approx(261 / 8.5, rel=1e-12)
    assert average.lower is None  # three rows of six: the number of farmers may be near 0


def test_the_error_is_that_of_sampling_with_replacement() -> None:
    """N / (n - 1) sum (w x - mean)^2, two normal deviations on each side."""
    found = answer(_release(), "SUM(pay)", weight="w", confidence=0.95)
    each = (FRAME["pay"].fill_null(0) * FRAME["w"]).to_numpy()
    error = np.sqrt(len(each) / (len(each) - 1) * ((each - each.mean()) ** 2).sum())
    assert found.upper == pytest.approx(each.sum() + 1.959963984540054 * error, rel=1e-9)
    assert found.lower == pytest.approx(each.sum() - 1.959963984540054 * error, rel=1e-9)
    assert "people of rows that were not published are not counted" in found.notes


@pytest.mark.slow
@pytest.mark.parametrize("retain", [0.6, None])
def test_intervals_hold_the_population_as_often_as_they_say(retain: float | None) -> None:
    """Of 300 samples with unequal chances, redrawn or not, 80 % +- 8; without weights few."""
    draws = np.random.default_rng(5)
    job = draws.choice(["farm", "shop", "none"], 4_000, p=[0.2, 0.5, 0.3])
    pay = np.where(job == "farm", 3.0, 1.0)
    chance = pay / pay.sum()
    true, within, off = (job == "farm").sum(), 0, 0
    roles = {"person": "row", "quasi_identifiers": ["job"], "keep": ["w"], "weight": "w"}
    plan = parse_plan({"roles": roles})
    for trial in range(300):
        taken = draws.choice(4_000, 250, p=chance)
        sample = pl.DataFrame({"job": job[taken], "w": 1 / (250 * chance[taken])})
        if retain is None:
            release = _release(sample)
        else:
            table = voile.open_frame(sample, plan)
            method = PRAM(columns=("job",), retain=retain)
            release = method.publish(table, Randomness.seeded(trial))
        found = answer(release, "COUNT(*)", "job = 'farm'", confidence=0.8, weight="w")
        assert found.lower is not None
        assert found.upper is not None
        within += found.lower <= true <= found.upper
        share = (job[taken] == "farm").mean()
        off += abs(4_000 * share - true) > (found.upper - found.lower)
    assert 0.72 <= within / 300 <= 0.88
    assert retain is not None or off > 250


@pytest.mark.parametrize(
    ("weight", "said"),
    [("job", "does not show sampling weights"), ("wages", "no column 'wages'")],
)
def test_what_is_no_weight_is_refused(weight: str, said: str) -> None:
    """Texts, and columns that are not there."""
    with pytest.raises(QueryError, match=said):
        answer(_release(), "COUNT(*)", weight=weight)


def test_rows_without_a_weight_are_refused() -> None:
    """Missing, zero, negative: how many, and the way out."""
    frame = FRAME.with_columns(w=pl.Series([1.0, 0, -1, None, 2, 2]))
    with pytest.raises(QueryError, match=r"'w': 3 rows have no sampling weight above 0"):
        answer(_release(frame), "COUNT(*)", weight="w")


def test_the_command_takes_the_column(tmp_path) -> None:
    """`voile query DIR "COUNT(*)" --weight w`, as a table and as JSON."""
    folder = str(write_release(_release(), tmp_path / "out", "csv"))
    told = CliRunner().invoke(_query, [folder, "COUNT(*)", "--weight", "w"])
    assert told.exit_code == 0, told.output
    assert "29.5" in told.output
    assert "drawn with replacement" in told.output
    found = CliRunner().invoke(_query, [folder, "SUM(pay)", "--weight", "w", "--json"])
    assert json.loads(found.stdout)["estimate"] == 21 + 60 + 150 + 280 + 90


def test_a_chain_is_corrected_where_one_step_alone_treats_a_column() -> None:
    """A redrawn column is corrected; one that another step coded is refused."""
    draws = np.random.default_rng(3)
    frame = pl.DataFrame(
        {
            "job": draws.choice(["farm", "shop", "none"], 300),
            "pay": draws.integers(100, 160, 300),
            "w": draws.integers(5, 9, 300),
        }
    )
    plan = parse_plan(
        {
            "roles": {"person": "row", "quasi_identifiers": ["job", "pay"], "keep": ["w"]},
            "steps": [{"kind": "top-coding", "columns": ["pay"], "bound": 150}],
            "method": {"name": "pram", "columns": ["job"], "retain": 0.7},
        }
    )
    release = make_release(frame, plan, seed=2).release
    found = answer(release, "COUNT(*)", "job = 'farm'", weight="w", confidence=0.9999)
    assert isinstance(found, EstimatedAnswer)
    assert found.lower is not None
    assert found.upper is not None
    assert found.lower <= frame.filter(job="farm")["w"].sum() <= found.upper
    with pytest.raises(QueryError, match="'pay' is shown neither as it is nor redrawn"):
        answer(release, "SUM(pay)", weight="w")
