"""Planted releases: every attack catches a weak one, and finds nothing in an ideal one.

Weak is what an attack claims to find: an identity, a group of one value, a skewed group, a
difference of one person.  Ideal is one group of everything, or values that are independent of all
that is known.  Caught means that the whole interval of the success rate, of confidence 95 %, lies
above the baseline; nothing found means that the baseline lies in it.

120 people, or 2,000 where values are drawn.  Tables and groups are fixed, so most rates here are
exact.  What is drawn is drawn with a seed: where the baseline is the true rate, an interval would
miss it in one table of twenty.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
import pytest

from voile.attack.registry import attack_named, attack_names
from voile.release.release import Release
from voile.schema.plan import Plan, parse_plan
from voile.table.opening import published_rows
from voile_base.randomness import Randomness
from voile_tests.attack.by_definition import release_of
from voile_tests.attack.small_releases import assert_near, words
from voile_tests.releases import described, promised

ROWS = 120
PLACE = np.arange(ROWS)
AFTER_A_ROW = ("identification", "prosecutor", "journalist", "marketer")
AFTER_A_VALUE = ("homogeneity", "background-knowledge", "skewness")


@dataclass(frozen=True)
class Planted:
    """A release, the table it was made of, and what the adversary knows besides."""

    release: Release
    original: pl.DataFrame
    knowledge: dict[str, Any] = field(default_factory=dict)
    plan: Plan | None = None

    def attacked(self, name):
        """What the attack comes to, with everybody as a target where it draws them."""
        everybody = {} if name == "differencing" else {"targets": None}
        attack = attack_named(name, **everybody, **self.knowledge)
        assert attack.refusal(self.release, self.plan) is None
        return attack.run(self.release, self.original, self.plan, Randomness.seeded(1))


def people(rows=PLACE):
    """People of different ages, with a number that links them to their rows."""
    return pl.DataFrame({"id": rows, "age": 20 + rows, "ill": (rows % 6).astype(str)})


def groups_of(size, original=None):
    """A release of groups of so many people of neighbouring ages; one of them is the identity."""
    original = people() if original is None else original
    age = original["age"].to_numpy()
    low = age.min() + (age - age.min()) // size * size
    return release_of(
        {
            "age.low": low,
            "age.high": np.minimum(low + size - 1, age.max()),
            "ill": original["ill"],
            "id": original["id"],
        },
        known=("age.low", "age.high"),
        levels={"age": 1, "ill": 0},
    )


def identity():
    """Groups of one person: whoever is known is found."""
    return Planted(groups_of(1), people(), {"link": "id"})


def one_group():
    """Everybody looks like everybody else."""
    return Planted(groups_of(ROWS), people(), {"link": "id"})


def half_of_the_people():
    """Every other person was published, as he or she is."""
    inside = people(PLACE[::2])
    return Planted(groups_of(1, inside), inside, {"absent": people(PLACE[1::2])})


def half_in_one_group():
    """Every other person was published, in a group that covers all others as well."""
    inside = people(PLACE[::2])
    ends = {"age.low": [0] * inside.height, "age.high": [999] * inside.height}
    release = release_of(
        {**ends, "ill": inside["ill"]},
        known=("age.low", "age.high"),
        levels={"age": 1, "ill": 0},
    )
    return Planted(release, inside, {"absent": people(PLACE[1::2])})


def with_values(ill, size=20):
    """Groups of twenty people of neighbouring ages, who have these values."""
    original = people().with_columns(ill=pl.Series(ill))
    return Planted(groups_of(size, original), original)


def homogeneous():
    """Every group has one value of its own."""
    return with_values([f"ill {place // 20}" for place in PLACE])


def two_values_left():
    """Every group has two values, of twelve: one to rule out, and the other is left."""
    return with_values([f"ill {place // 20} {place % 2}" for place in PLACE])


def skewed():
    """A value of one in twelve has half of a group, where a second value has the other half."""
    return with_values(["rare" if place < 20 and place % 2 else "usual" for place in PLACE])


def without_a_difference():
    """All values in one group: beliefs are the column itself."""
    return with_values([f"ill {place % 4}" for place in PLACE], ROWS)


def independent():
    """Two large groups, values drawn without regard to them."""
    rows = 2000
    original = people(np.arange(rows)).with_columns(
        ill=pl.Series((words("independent", rows) % 5).astype(str))
    )
    return Planted(groups_of(rows // 2, original), original)


def permuted(group):
    """A release whose ages and towns were permuted within groups, each by itself."""
    original = people().with_columns(town=pl.Series((PLACE * 7 % ROWS).astype(str)))
    order = np.lexsort((words("town order", ROWS), group))
    shown = original.with_columns(
        age=original["age"].gather(np.lexsort((words("age order", ROWS), group))),
        town=original["town"].gather(order),
    )
    frame = shown.with_columns(group=pl.Series(np.sort(group) + 1), id=pl.Series(np.sort(PLACE)))
    release = described(
        table=published_rows(frame),
        method={"name": "m-shuffle", "decision": {"permuted": ["age", "town"]}},
        guarantee=promised("permutation-within-clusters", {}, "as stated"),
        roles={"quasi_identifiers": ("age", "town"), "sensitive": ("ill",), "keep": ("id",)},
        release_id="0" * 32,
        publishable=True,
    )
    return Planted(release, original)


def shuffled_in_groups_of_one():
    """Every row is a cluster of its own, so that permuting changes nothing."""
    return permuted(PLACE)


def shuffled_together():
    """One cluster of everybody."""
    return permuted(np.zeros(ROWS, dtype=np.int64))


def in_blocks(rows, blocks):
    """A (2, 1)-anonymous release of the first rows, in blocks of neighbouring values."""
    place = PLACE[:rows]
    frame = pl.DataFrame({"group": blocks(place) + 1, "age": 20 + place, "pay": place})
    return described(
        table=published_rows(frame),
        method={"name": "ke-anonymity"},
        guarantee=promised("ke-anonymity", {"k": 2, "e": 1}, "as stated"),
        roles={"quasi_identifiers": ("age",), "sensitive": ("pay",), "keep": ()},
        release_id="0" * 32,
        publishable=True,
    )


def a_difference_of_one():
    """Blocks of two against blocks of two that are one further: everybody's own is left."""
    new, old = in_blocks(ROWS, lambda i: i // 2), in_blocks(ROWS, lambda i: (i + 1) // 2)
    original = pl.DataFrame({"age": 20 + PLACE, "pay": PLACE})
    return Planted(new, original, {"earlier": [old]})


def no_difference():
    """The same blocks twice."""
    planted = a_difference_of_one()
    return Planted(planted.release, planted.original, {"earlier": [planted.release]})


def crossing_groups():
    """Groups of two against groups of two that are one further: everybody's own value is left."""
    original = people().with_columns(ill=pl.Series([f"ill {place}" for place in PLACE]))
    age = original["age"].to_numpy()
    low = age.min() - 1 + (age - age.min() + 1) // 2 * 2
    ends = {"age.low": low, "age.high": low + 1}
    shown = {**ends, "ill": original["ill"], "id": original["id"]}
    known, levels = ("age.low", "age.high"), {"age": 1, "ill": 0}
    old = release_of(shown, known=known, levels=levels)
    return Planted(groups_of(2, original), original, {"earlier": [old]})


def nothing_to_compare():
    """One group of everybody, twice."""
    planted = without_a_difference()
    return Planted(planted.release, planted.original, {"earlier": [planted.release]})


def visits(towns):
    """Thirty-six persons with a disease each, who were in two towns; towns are published."""
    who = np.repeat(np.arange(36), 2)
    original = pl.DataFrame({"who": who, "town": towns, "ill": (who % 36).astype(str)})
    plan = parse_plan(
        {"roles": {"person": "who", "quasi_identifiers": ["town"], "sensitive": ["ill"]}}
    )
    release = release_of(original.drop("who").to_dict(as_series=False), known=("town",))
    return Planted(release, original, plan=plan)


def two_towns_that_one_person_shares():
    """In each town six persons with six diseases; no two persons were in the same two."""
    pairs = ((f"north {i % 6}", f"west {i // 6}") for i in range(36))
    return visits([town for pair in pairs for town in pair])


def one_town_for_all():
    """All rows of all persons look alike."""
    return visits(["here"] * 72)


WEAK: dict[str, tuple[Callable[[], Planted], ...]] = {
    **dict.fromkeys(AFTER_A_ROW, (identity,)),
    "membership": (half_of_the_people,),
    "row-tracing": (shuffled_in_groups_of_one,),
    "homogeneity": (homogeneous, two_values_left),
    "background-knowledge": (two_values_left, homogeneous),
    "skewness": (skewed, homogeneous),
    "comparison": (crossing_groups,),
    "intersection": (two_towns_that_one_person_shares,),
    "differencing": (a_difference_of_one,),
}
IDEAL: dict[str, tuple[Callable[[], Planted], ...]] = {
    **dict.fromkeys(AFTER_A_ROW, (one_group,)),
    "membership": (half_in_one_group,),
    "row-tracing": (shuffled_together,),
    **dict.fromkeys(AFTER_A_VALUE, (without_a_difference, independent, shuffled_together)),
    "comparison": (nothing_to_compare,),
    "intersection": (one_town_for_all,),
    "differencing": (no_difference,),
}


def cases(planted):
    return [
        pytest.param(name, make, id=f"{name}-{make.__name__}")
        for name, makers in planted.items()
        for make in makers
    ]


def test_every_attack_is_planted():
    """A new attack needs a weak release that it catches and an ideal one."""
    elsewhere = {"minimality"}  # needs series that Voile made: see test_minimality.py
    elsewhere |= {name for name in attack_names() if name.startswith("population-")}
    # these need weights: see test_in_population.py
    assert set(WEAK) == set(IDEAL) == set(attack_names()) - elsewhere


@pytest.mark.parametrize(("name", "make"), cases(WEAK))
def test_a_weak_release_is_caught(name, make):
    """The whole interval of the success rate lies above the baseline, and the worst is exposed."""
    found = make().attacked(name)
    assert found.attack == name
    assert found.success.low > found.baseline
    assert found.worst is not None
    assert found.worst.probability > 1.5 * found.baseline
    assert found.worst.probability >= 0.5


@pytest.mark.parametrize(("name", "make"), cases(IDEAL))
def test_an_ideal_release_is_not(name, make):
    """The success rate lies within chance of the baseline: three standard errors of its targets."""
    found = make().attacked(name)
    assert found.attack == name
    assert_near(found, found.baseline)


def test_a_weak_release_of_another_kind_is_not_mistaken():
    """What one attack claims to find another need not: values of two kinds in every group.

    Nobody's value is certain, so homogeneity notes none; one value ruled out leaves one.
    """
    planted = two_values_left()
    homogeneity = planted.attacked("homogeneity")
    assert homogeneity.worst.probability == 0.5
    assert "for none of the targets" in homogeneity.notes[0]
    assert planted.attacked("background-knowledge").worst.probability == 1
