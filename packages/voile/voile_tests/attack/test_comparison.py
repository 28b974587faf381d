"""What releases of one table tell together of a sensitive value, by any method."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import voile
from voile.attack.comparison import ComparisonAttack
from voile.attack.protocol import AttackOutcome
from voile.cli.attack import _attack
from voile.ledger import Ledger
from voile.publish.registry import publisher_of
from voile.release.release import Release
from voile.schema.plan import Method, Plan, parse_plan
from voile_base.errors import InputError, PlanError


def plan(**method: Any) -> Plan:
    asked = {"name": "generalization", "k": 2, "algorithm": "mondrian", **method}
    roles = {"quasi_identifiers": ["age"], "sensitive": ["illness"]}
    return parse_plan({"roles": roles, "method": asked})


def table(*rows: tuple[int, str]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["age", "illness"], orient="row")


def released(frame: pl.DataFrame, **method: Any) -> Release:
    return voile.make_release(frame, plan(**method)).release


def compared(
    new: Release, old: Release, frame: pl.DataFrame, before: pl.DataFrame | None = None
) -> AttackOutcome:
    return ComparisonAttack(earlier=(old,), before=before, targets=None).run(new, frame)


def test_the_intersection_of_two_groups_leaves_one_value() -> None:
    """Of groups {a, b} and {b, c} the person in both has b; each alone leaves two values."""
    first = table((1, "gout"), (2, "flu"), (8, "burn"), (9, "cold"))
    second = table((2, "flu"), (3, "burn"), (8, "burn"), (9, "cold"))
    person = table((2, "flu"))
    outcome = compared(released(second), released(first), person)
    assert outcome.success.value == 1
    assert outcome.probability.value == 1
    assert "one value of 'illness' is left for 1 of 1" in outcome.notes[-2]
    assert "The release alone gives away 0" in outcome.notes[-2]


def test_a_newcomer_has_a_value_that_there_is_more_often() -> None:
    """Known to be new, he has the one value that was added; not known, two values are left."""
    first = table((1, "gout"), (2, "flu"), (8, "burn"), (9, "cold"))
    second = pl.concat([first, table((3, "cold"))])
    person = table((3, "cold"))
    new, old = released(second), released(first)
    told = compared(new, old, person, before=first)
    assert told.probability.value == 1
    assert compared(new, old, person).probability.value < 1


def test_a_series_leaves_what_each_release_leaves(tmp_path: Path) -> None:
    """Comparing two releases of a series of generalizations gives nobody away; afresh, some."""
    draw = np.random.default_rng(4)
    frame = pl.DataFrame(
        {
            "id": range(60),
            "age": draw.integers(20, 90, 60),
            "illness": [f"i{n}" for n in range(60)],
        }
    )
    later = frame[2:]
    roles = {
        "person": "row",
        "identifiers": ["id"],
        "quasi_identifiers": ["age"],
        "sensitive": ["illness"],
        "keep_unique": ["illness"],
    }
    asked = {"name": "generalization", "k": 3, "group_size": 10, "algorithm": "mondrian"}
    series = parse_plan(
        {"roles": roles, "method": asked | {"series": "months", "record_key": "id"}}
    )
    single = {name: value for name, value in asked.items() if name != "group_size"}
    afresh = parse_plan({"roles": roles, "method": single})
    places = {"ledger": tmp_path / "ledger"}
    kept = [voile.make_release(each, series, **places).release for each in (frame, later)]
    made = [voile.make_release(each, afresh).release for each in (frame, later)]
    shown = later.filter(pl.col("illness").is_in(kept[1].to_native()["illness"].to_list()))
    assert compared(kept[1], kept[0], shown).worst.probability <= 1 / 3 + 1e-9  # type: ignore[union-attr]
    alone = compared(made[1], made[1], later).probability.value
    assert compared(made[1], made[0], later).probability.value > alone


@pytest.mark.slow
def test_noise_that_is_drawn_anew_is_averaged() -> None:
    """Five releases of noisy ages name more illnesses than one does."""
    frame = pl.DataFrame({"age": list(range(0, 100, 5)), "illness": [f"i{n}" for n in range(20)]})
    roles = {"quasi_identifiers": ["age"], "sensitive": ["illness"]}
    noisy = parse_plan(
        {
            "roles": roles,
            "columns": {"age": {"bounds": [0, 100]}},
            "method": {"name": "clustered-laplace", "epsilon": 20, "shares": [1.0]},
        }
    )
    made = [voile.make_release(frame, noisy, seed=seed).release for seed in range(6)]
    one = ComparisonAttack(earlier=made[1:2], targets=None).run(made[0], frame, noisy)
    five = ComparisonAttack(earlier=made[1:], targets=None).run(made[0], frame, noisy)
    assert five.success.value > one.success.value


def test_it_runs_from_the_command_line(tmp_path: Path) -> None:
    """--previous names the earlier releases of any method, --before their table."""
    first = table((1, "gout"), (2, "flu"), (8, "burn"), (9, "cold"))
    second = pl.concat([first, table((3, "cold"))])
    for name, frame in (("old", first), ("new", second)):
        frame.write_csv(tmp_path / f"{name}.csv")
        voile.make_release(tmp_path / f"{name}.csv", plan(), tmp_path / name)
    call = [
        *(str(tmp_path / "new"), "--previous", str(tmp_path / "old")),
        *("--against", str(tmp_path / "new.csv"), "--before", str(tmp_path / "old.csv")),
        *("--attack", "comparison"),
    ]
    done = CliRunner().invoke(_attack, call)
    assert done.exit_code == 0, done.output
    assert "The release alone gives away" in done.output
    without = CliRunner().invoke(_attack, [call[0], *call[3:5], *call[7:]])
    assert "no earlier one was named" in str(without.exception)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("m-shuffle", "the row of whoever came or left"),
        ("clustered-laplace", "the budget of their data set"),
        ("dp-generalization", "the budget of their data set"),
        ("geo-indistinguishability", "their fleet"),
    ],
)
def test_methods_that_keep_no_series_say_why(name: str, words: str) -> None:
    """And which methods do."""
    with pytest.raises(PlanError, match=f"{words}.*keep series: generalization, ke-anonymity"):
        publisher_of(Method(name, {"series": "months"}))


def salaries(rows: int = 400) -> pl.DataFrame:
    """People whose numbers are known, and whose salaries are not."""
    draw = np.random.default_rng(3)
    return pl.DataFrame({"who": range(rows), "salary": draw.integers(1_000, 9_000, rows)})


def noisy_plan(**method: Any) -> Plan:
    return parse_plan(
        {
            "roles": {"quasi_identifiers": ["salary"], "keep": ["who"], "keep_unique": ["who"]},
            "columns": {"salary": {"bounds": [0, 10_000]}},
            "method": {"name": "clustered-laplace", "epsilon": 5, "shares": [1], **method},
            "budget": {"data_set": "pay", "epsilon": 50, "neighbours": "replace"},
        }
    )


@pytest.mark.slow
@pytest.mark.parametrize("shares", [[1], [0.2, 0.6, 0.2]])
def test_fresh_noise_is_averaged_and_every_release_is_charged(
    tmp_path: Path, shares: list[float]
) -> None:
    """The error of nine releases is a third of that of one, and they cost nine times as much."""
    frame, asked = salaries(), noisy_plan(shares=shares)
    ledger = tmp_path / "ledger"
    made = [voile.make_release(frame, asked, ledger=ledger, seed=seed).release for seed in range(9)]
    adversary = ComparisonAttack(columns=("who",), earlier=tuple(made[1:]), targets=None)
    assert adversary.refusal(made[0], asked) is None
    outcome = adversary.run(made[0], frame, asked)
    match = re.search(
        r"off by ([\d,.]+) in the mean with the release alone, and by ([\d,.]+) with 9",
        outcome.notes[0],
    )
    assert match
    alone, together = (float(number.replace(",", "")) for number in match.groups())
    assert 0.2 < together / alone < 0.5
    if shares == [1]:
        # By simulation of the median of what he believes: noise of scale 10,000 / 5, clamped.
        assert alone == pytest.approx(1_377, rel=0.2)
    single = replace(adversary, earlier=(made[1],)).run(made[0], frame, asked)
    assert outcome.success.value > single.success.value > outcome.baseline
    account = Ledger(ledger).budget("pay")
    assert account is not None
    assert account.spent == 45


def test_noise_is_averaged_only_where_people_are_known() -> None:
    """By a column that is not wanted, and where every release has noise."""
    frame, asked = salaries(20), replace(noisy_plan(), budget=None)
    noisy = voile.make_release(frame, asked).release
    why = ComparisonAttack(earlier=(noisy,)).refusal(noisy, asked)
    assert why is not None
    assert "say by which columns people are known" in why
    exact = released(table((1, "gout"), (2, "flu")))
    assert ComparisonAttack(earlier=(exact,), columns=("who",)).refusal(noisy, asked) == (
        "column 'salary' is published with noise, and not by every earlier release"
    )
    with pytest.raises(InputError, match="within"):
        ComparisonAttack(within=-1)
