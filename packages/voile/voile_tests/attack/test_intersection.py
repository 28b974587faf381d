"""Attacks aimed at persons: one row of a person, all rows of a person, and what draws whom."""

from __future__ import annotations

from collections import Counter
from math import prod

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voile.attack.identification import IdentificationAttack
from voile.attack.intersection import IntersectionAttack
from voile.attack.membership import MembershipAttack
from voile.attack.registry import attack_named
from voile.attack.sensitive_values import HomogeneityAttack
from voile.schema.plan import parse_plan
from voile_base.errors import TableError
from voile_base.randomness import Randomness
from voile_testing.plugin import examples
from voile_tests.attack.by_definition import release_of
from voile_tests.attack.small_releases import words

PLAN = parse_plan({"roles": {"person": "who", "quasi_identifiers": ["town"], "sensitive": ["ill"]}})


def published(rows):
    """The table of (who, town, ill), and its release: towns as they are, so a group each."""
    frame = pl.DataFrame(rows, ["who", "town", "ill"], orient="row")
    return release_of(frame.drop("who").to_dict(as_series=False), known=("town",)), frame


PLANTED = [
    ("x", "york", "flu"),
    ("x", "bath", "flu"),
    ("p", "york", "gout"),
    ("q", "york", "acne"),
    ("r", "bath", "ulcer"),
    ("s", "bath", "cough"),
]
"""In York x has flu, gout or acne, in Bath flu, ulcer or cough: in both, flu."""


def test_a_value_that_stays_the_same_is_found_by_intersecting():
    """Who knows one row is right one time in three; who knows both rows is certain."""
    release, frame = published(PLANTED)
    found = attack_named("intersection").run(release, frame, PLAN)
    assert found.targets == 1
    assert found.known_rows == "all"
    assert found.aimed_at == "person"
    assert found.checked
    assert found.success.value == found.worst.probability == pytest.approx(1)
    assert "he knows all rows of a person" in found.assumptions
    assert found.notes[0].endswith("right about 33.3% of them")
    assert found.notes[1].startswith("one value of 'ill' is left for 1 of 1")
    one = HomogeneityAttack(targets=None).run(release, frame, PLAN)
    assert one.known_rows == "one"
    assert any("one row of a person" in said for said in one.assumptions)
    assert one.success.value == pytest.approx(1 / 3)


@settings(max_examples=examples(60))
@given(
    st.lists(
        st.tuples(st.sampled_from("vwxyz"), st.sampled_from("abc"), st.sampled_from("fg")),
        min_size=2,
        max_size=12,
    )
)
def test_beliefs_are_those_of_bayes(rows):
    """Of each person whose value stays the same: prior times the product of likelihood ratios."""
    release, frame = published(rows)
    prior = Counter(ill for *_, ill in rows)
    groups = {town: Counter(i for _, t, i in rows if t == town) for _, town, _ in rows}
    own = {}
    for who, town, ill in rows:
        own.setdefault(who, []).append((town, ill))
    stays = {w: held for w, held in own.items() if len(held) > 1 and len({i for _, i in held}) == 1}
    if not stays:
        with pytest.raises(TableError, match="nothing to intersect"):
            IntersectionAttack().run(release, frame, PLAN)
        return

    def belief(value, towns):
        p = prior[value] / len(rows)
        each = (groups[town][value] / groups[town].total() / p for town in towns)
        return p * prod(each)

    given_to_truth = []
    for held in stays.values():
        towns, own_value = [town for town, _ in held], held[0][1]
        total = sum(belief(value, towns) for value in prior)
        given_to_truth.append(belief(own_value, towns) / total)
    found = IntersectionAttack(targets=None).run(release, frame, PLAN)
    assert found.targets == len(stays)
    assert found.probability.value == pytest.approx(np.mean(given_to_truth))


def test_it_makes_no_sense_where_each_row_is_a_person():
    """Without a plan that names persons there is nothing that stays the same."""
    release, _ = published(PLANTED)
    assert "no plan says" in IntersectionAttack().refusal(release)
    rows = parse_plan({"roles": {"person": "row", "quasi_identifiers": ["town"]}})
    assert "no plan says" in IntersectionAttack().refusal(release, rows)


def test_targets_are_persons_and_each_is_drawn_once():
    """One person has 200 of 240 rows: all are as likely to be aimed at, with one row each."""
    whose = np.concatenate([np.zeros(200, int), np.arange(1, 41)])
    frame = pl.DataFrame(
        {
            "who": whose,
            "town": np.array(list("abcdef"))[words("town", 240) % 6],
            "ill": np.array(["flu", "gout"])[words("ill", 240) % 2],
        }
    )
    release = release_of(frame.drop("who").to_dict(as_series=False), known=("town",))
    for attack in (IdentificationAttack(targets=None), HomogeneityAttack(targets=None)):
        found = attack.run(release, frame, PLAN, Randomness.seeded(1))
        assert found.targets == found.drawn_from == 41
        assert found.told_targets == "all 41 persons"
    found = HomogeneityAttack(targets=10).run(release, frame, PLAN, Randomness.seeded(1))
    assert (found.targets, found.drawn_from) == (10, 41)
    assert found.told_targets == "10 drawn of 41 persons"
    turned = frame.reverse()
    again = HomogeneityAttack(targets=10).run(release, turned, PLAN, Randomness.seeded(1))
    assert again.success == found.success
    absent = frame.with_columns(pl.col("who") + 1000)
    found = MembershipAttack(absent=absent, targets=None).run(
        release, frame, PLAN, Randomness.seeded(1)
    )
    assert found.targets == found.drawn_from == 82


def test_a_frequent_visitor_does_not_narrow_the_interval():
    """The interval is over persons: 2 of 4 found says little, though one of them has 400 rows."""
    rows = [("x", "a", "flu")] * 400 + [("y", "b", "gout"), ("z", "a", "gout"), ("q", "b", "flu")]
    release, frame = published(rows)
    found = HomogeneityAttack(targets=None).run(release, frame, PLAN, Randomness.seeded(1))
    assert found.targets == 4
    assert found.success.high - found.success.low > 0.5
