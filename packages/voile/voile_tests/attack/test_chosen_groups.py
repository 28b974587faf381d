"""The adversary who knows how groups were chosen: Wong et al.'s example, and direct enumeration."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import polars as pl
import pytest

from voile.attack.minimality import MinimalityAttack
from voile.attack.worlds import enumerated, walked
from voile.publish.generalization import Generalization
from voile.schema.hierarchy.ranges import Intervals
from voile.schema.plan import ColumnPlan, Method, Plan
from voile.schema.roles import Roles
from voile.study.single import chooser
from voile.table.opening import open_frame
from voile_base.errors import InputError
from voile_base.randomness import Randomness
from voile_testing.plugin import some_slow

QUICK = ["flash", "ola", "datafly", "mondrian"]
DEAR = ["auto", "k-optimize"]
ALGORITHMS = QUICK + DEAR
WONG = pl.DataFrame(
    {
        "sex": list("mmfffff"),
        "illness": ["HIV", "HIV", "flu", "cough", "fever", "asthma", "gout"],
    }
)
"""The bad table of Wong et al. (VLDB 2007, table 1): two have what five others lack."""


def plan_of(parameters: dict[str, Any], *known: str) -> Plan:
    """A plan that generalizes what is known, ages by tens."""
    columns = {"age": ColumnPlan(hierarchy=Intervals(widths=(10, 40), origin=20))}
    return Plan(
        Roles(quasi_identifiers=known, sensitive=("illness",)),
        columns={name: columns[name] for name in known if name in columns},
        method=Method("generalization", parameters),
    )


def published(frame: pl.DataFrame, plan: Plan) -> Any:
    """The release that the plan makes of a table."""
    return Generalization(**plan.method.parameters).publish(open_frame(frame, plan))


def attacked(frame: pl.DataFrame, plan: Plan, **knowledge: Any) -> Any:
    """What the adversary finds in the release of a table."""
    attack = MinimalityAttack(choice_of=chooser(plan), **knowledge)
    release = published(frame, plan)
    assert attack.refusal(release, plan) is None
    return attack.run(release, frame, plan, Randomness.seeded(1))


@pytest.mark.parametrize(
    "algorithm", [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in DEAR)]
)
def test_the_published_example_is_found(algorithm):
    """Two men and five women in one group, whose values no group shares: the men have HIV."""
    plan = plan_of({"k": 2, "l": 2, "algorithm": algorithm}, "sex")
    found = attacked(WONG, plan)
    assert (found.success.value, found.targets) == (2 / 7, 7)
    assert found.goal == "fewer than 2 values of 'illness' are possible for a person"
    assert found.exact
    assert found.success.is_exact
    assert (found.worst.known, found.worst.probability) == ({"sex": "m"}, 1)
    assert found.notes == (
        "of 16 tables with these groups and values, Voile would have published exactly this "
        "release of 1; all were looked at",
        "one value is left for 2 people; the mean probability given to the own value is 42.9%, "
        "and 18.4% for those who do not know how groups were chosen",
    )
    assert json.loads(json.dumps(found.document()))["attack"] == "minimality"


@pytest.mark.parametrize("algorithm", some_slow(ALGORITHMS, {"k-optimize"}))
def test_where_the_finest_groups_do_nothing_follows(algorithm):
    """Nothing forbade a finer choice, so that every table with these groups gets the same."""
    frame = WONG.with_columns(illness=pl.Series(["HIV", "gout", *"abcde"]))
    found = attacked(frame, plan_of({"k": 2, "l": 2, "algorithm": algorithm}, "sex"))
    assert found.success.value == 0
    assert found.notes[0].startswith("of 1 tables")


def as_published(frame: pl.DataFrame, plan: Plan) -> Any:
    """All that is published of a table, whatever the order of its rows."""
    release = published(frame, plan)
    return sorted(map(str, release.to_native().iter_rows())), release.method


def by_definition(frame: pl.DataFrame, plan: Plan) -> dict[int, dict[str, Fraction]]:
    """How probable each value is for each person, every permutation of all values published anew.

    Those with the same groups, values and statement count, each as likely as another.
    """
    true = as_published(frame, plan)
    illness = frame["illness"].to_list()
    ways: dict[int, dict[str, int]] = {place: {} for place in range(len(illness))}
    made: dict[tuple[str, ...], Any] = {}
    for order in permutations(range(len(illness))):
        values = tuple(illness[place] for place in order)
        if values not in made:
            made[values] = as_published(frame.with_columns(illness=pl.Series(values)), plan)
        if made[values] == true:
            for place, value in enumerate(values):
                ways[place][value] = ways[place].get(value, 0) + 1
    return {
        place: {value: Fraction(number, sum(each.values())) for value, number in each.items()}
        for place, each in ways.items()
    }


SMALL = [
    ({"l": 2}, "mmffn", [21, 22, 23, 35, 36], "aabbb"),
    ({"l": 2}, "mmfff", [21, 31, 33, 35, 36], "aabcb"),
    ({"l": {"value": "1.8", "kind": "entropy"}}, "mmffff", [21, 22, 31, 32, 33, 34], "aabbab"),
    ({"t": 0.4}, "mmffff", [21, 22, 31, 32, 33, 34], "aabbab"),
    (
        {"l": {"value": 2, "kind": "recursive", "c": 3}},
        "mmffff",
        [21, 22, 31, 32, 33, 34],
        "aabbab",
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(("asked", "sex", "age", "illness"), SMALL)
def test_enumeration_equals_publishing_every_table(algorithm, asked, sex, age, illness):
    """For everybody the same probability of every value as if each permutation were published."""
    frame = pl.DataFrame({"sex": list(sex), "age": age, "illness": list(illness)})
    plan = plan_of({"k": 2, "algorithm": algorithm, **asked}, "sex", "age")
    truth = by_definition(frame, plan)
    choice = chooser(plan)(frame)
    worlds = enumerated(choice, 10_000)
    assert worlds.complete
    names = sorted(set(illness))
    for place, row in enumerate(frame.iter_rows(named=True)):
        kinds = choice.kinds.to_dicts()
        kind = kinds.index({"sex": row["sex"], "age": str(row["age"])})
        total = sum(int(one) for one in worlds.ways[kind])
        shares = {names[i]: Fraction(int(one), total) for i, one in enumerate(worlds.ways[kind])}
        assert {v: s for v, s in shares.items() if s} == truth[place]
    found = attacked(frame, plan)
    given = sum(truth[place][value] for place, value in enumerate(illness)) / len(illness)
    assert found.probability.value == pytest.approx(float(given))
    if asked == {"l": 2}:
        exposed = sum(len(each) < 2 for each in truth.values())
        assert found.success.value == pytest.approx(exposed / len(illness))


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["flash", pytest.param("mondrian", marks=pytest.mark.slow)])
def test_a_walk_comes_by_what_is_possible_and_by_nothing_else(algorithm):
    """And in the long run as often as there are ways to it."""
    sex, age, illness = "mmfffmff", [21, 22, 31, 32, 33, 34, 23, 24], "aabbabba"
    frame = pl.DataFrame({"sex": list(sex), "age": age, "illness": list(illness)})
    choice = chooser(plan_of({"k": 2, "l": 2, "algorithm": algorithm}, "sex", "age"))(frame)
    exact, drawn = enumerated(choice, 10_000), walked(choice, 4_000, Randomness.seeded(1).key("w"))
    assert exact.complete
    assert not drawn.complete
    assert ((drawn.ways > 0) <= (exact.ways > 0)).all()
    shares = [np.array(w.ways / w.ways.sum(axis=1, keepdims=True), float) for w in (exact, drawn)]
    assert np.abs(shares[0] - shares[1]).max() < 0.1


@pytest.mark.slow
def test_too_many_tables_are_bounded_and_that_is_said():
    """The people exposed are at most those for whom the walk came by too few values."""
    rows = 40
    frame = pl.DataFrame(
        {"age": [20 + i for i in range(rows)], "illness": ["abcde"[i % 5] for i in range(rows)]}
    )
    plan = plan_of({"k": 10, "l": 2, "algorithm": "mondrian"}, "age")
    found = attacked(frame, plan, tables=300)
    assert "a walk of 300 steps came by some, and at most" in found.notes[0]
    assert found.success.value < 0.2
    assert not found.exact
    assert len(found.notes) == 2
    assert attacked(frame, plan, tables=2_000).success.value <= found.success.value


def test_rows_that_were_left_out_are_no_targets():
    """They are known together, which the outcome says."""
    frame = pl.concat([WONG, pl.DataFrame({"sex": ["n"], "illness": ["flu"]})])
    plan = plan_of({"k": 2, "l": 2, "algorithm": "flash", "suppression_limit": 0.4}, "sex")
    found = attacked(frame, plan)
    assert found.targets == 5
    assert any("the 3 rows that were left out" in one for one in found.assumptions)


def test_a_series_is_cut_by_quasi_identifiers_alone():
    """The attack has nothing to reason from, and the release does not assume that nobody does."""
    terms = {"k": 2, "l": 2, "series": "s", "record_key": "id", "group_size": 2}
    plan = plan_of(terms, "age")
    plan = replace(plan, roles=replace(plan.roles, identifiers=("id",)))
    frame = pl.DataFrame({"id": range(6), "age": range(20, 26), "illness": list("abcdef")})
    table = open_frame(frame, plan, record_key="id")
    release = Generalization(**terms).prepare(table, Randomness.seeded(1)).release
    refusal = MinimalityAttack(choice_of=chooser(plan)).refusal(release, plan)
    assert "cut by quasi-identifiers alone" in refusal
    assert not any("reasons backwards" in one for one in release.guarantee.assumes)
    assert any("attempts that ended without" in one for one in release.guarantee.assumes)


def test_who_assumes_that_nobody_reasons_from_groups():
    """Single releases that were held to criteria, and not those of k alone."""
    by_values, alone = (published(WONG, plan_of(terms, "sex")).guarantee.assumes
                        for terms in ({"k": 2, "l": 2}, {"k": 2}))  # fmt: skip
    assert any("reasons backwards" in one for one in by_values)
    assert not any("reasons backwards" in one for one in alone)


def test_what_makes_no_sense_is_refused_with_the_reason():
    """No criteria, no plan, another release, too many people."""
    plan = plan_of({"k": 2, "l": 2}, "sex")
    release = published(WONG, plan)
    alone = published(WONG, plan_of({"k": 2}, "sex"))
    attack = MinimalityAttack(choice_of=chooser(plan))
    assert "chosen by quasi-identifiers alone" in attack.refusal(alone, plan)
    assert "give the plan of the release" in MinimalityAttack().refusal(release)
    other = WONG.with_columns(illness=pl.Series(list("abcdefg")))
    with pytest.raises(InputError, match="the plan makes other groups of the original"):
        attack.run(release, other, plan)
    many = pl.DataFrame({"age": list(range(20, 60)) * 30, "illness": list("abcd") * 300})
    with pytest.raises(InputError, match="more than 1,000 are too many"):
        attacked(many, plan_of({"k": 90, "l": 2}, "age"))
    with pytest.raises(InputError, match="tables must be at least 1"):
        replace(attack, tables=0)
    assert chooser(replace(plan, method=None)) is None
    assert chooser(replace(plan, method=Method("m-shuffle", {"columns": ["sex"]}))) is None
