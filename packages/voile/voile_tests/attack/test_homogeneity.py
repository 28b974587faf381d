"""The adversary who guesses the most probable sensitive value of a person."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voile.attack.sensitive_values import (
    BackgroundKnowledgeAttack,
    HomogeneityAttack,
    SkewnessAttack,
)
from voile.publish.clustered_laplace import ClusteredLaplace
from voile.publish.m_shuffle import MShuffle
from voile.schema.hierarchy.ranges import Intervals
from voile.schema.hierarchy.taxonomy import Taxonomy
from voile.schema.plan import ColumnPlan, Plan
from voile.schema.roles import Roles
from voile.table.opening import open_frame
from voile_base.errors import InputError, TableError
from voile_base.randomness import Randomness
from voile_testing.plugin import examples
from voile_tests.attack.by_definition import chance_of_best, release_of, small_tables
from voile_tests.attack.small_releases import METHODS, PEOPLE, SCORES, small_plan, small_release

EVERYBODY = HomogeneityAttack(targets=None)


@pytest.mark.slow
@settings(max_examples=examples(150))
@given(small_tables())
def test_guesses_are_those_of_the_definition(table):
    """Tables of up to ten people with permuted columns and rows left out: loops over the rows."""
    found = EVERYBODY.run(table.release, table.original)
    believed = list(table.believed())
    right = [chance_of_best(beliefs, own) for own, beliefs, _ in believed]
    given_to_own = [beliefs.get(own, 0) for own, beliefs, _ in believed]
    baseline = [chance_of_best(table.prior, own) for own, *_ in believed]
    assert found.checked
    assert found.targets == len(believed)
    assert found.success.value == pytest.approx(float(np.mean(right)))
    assert found.probability.value == pytest.approx(float(np.mean(given_to_own)))
    assert found.baseline == pytest.approx(float(np.mean(baseline)))
    assert found.worst.probability == pytest.approx(float(max(given_to_own)))
    certain = sum(fits and max(beliefs.values()) == 1 for _, beliefs, fits in believed)
    assert any(f" for {certain} of " in note for note in found.notes) == (certain > 0)
    nowhere = sum(not fits for *_, fits in believed)
    assert any(f"fits {nowhere} of" in note for note in found.notes) == (nowhere > 0)


INPATIENTS = {
    "age": [28, 29, 21, 23, 50, 55, 47, 49, 31, 37, 36, 35],
    "condition": [
        *["heart"] * 2,
        *["viral"] * 2,
        "cancer",
        "heart",
        *["viral"] * 2,
        *["cancer"] * 4,
    ],
}
"""Figure 1 of Machanavajjhala et al. 2007: the inpatients of Bob's and Umeko's hospital."""
FOUR_ANONYMOUS = release_of(
    {
        "age.low": [0] * 4 + [40] * 4 + [30] * 4,
        "age.high": [29] * 4 + [99] * 4 + [39] * 4,
        "condition": INPATIENTS["condition"],
    },
    known=("age.low", "age.high"),
    sensitive=("condition",),
)
"""Figure 2: three groups of four."""


def test_bob_has_cancer():
    """The example of section 2.1: Alice knows that Bob is 31, and all who may be he have cancer."""
    bob = pl.DataFrame({"age": [31], "condition": ["cancer"]})
    found = EVERYBODY.run(FOUR_ANONYMOUS, bob)
    assert (found.success.value, found.probability.value) == (1, 1)
    everybody = EVERYBODY.run(FOUR_ANONYMOUS, pl.DataFrame(INPATIENTS))
    # Two of four are guessed where heart disease and a virus tie, and two of four by the virus.
    assert everybody.success.value == pytest.approx((2 + 2 + 4) / 12)
    assert everybody.baseline == pytest.approx(5 / 12)
    assert everybody.notes[0].startswith("all rows that fit show one value of 'condition' for 4 of")
    assert everybody.notes[0].endswith("of these 4 have that value")


@pytest.mark.slow
@settings(max_examples=examples(80))
@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 30)), min_size=1, max_size=9),
    st.integers(0, 8),
)
def test_close_guesses_count_within_a_distance(rows, within):
    """Tenths within tenths of each other, compared exactly: loops over guesses and rows."""
    town, tenths = zip(*rows, strict=True)
    columns = {"town": town, "pay": [number / 10 for number in tenths]}
    release = release_of(columns, known=("town",), sensitive=("pay",))
    attack = HomogeneityAttack(targets=None, within=within / 10)
    found = attack.run(release, pl.DataFrame(columns))

    def chance(people, own):
        scores = {
            guess: sum(abs(guess - other) <= within for other in people) for guess in set(tenths)
        }
        best = [guess for guess in scores if scores[guess] == max(scores.values())]
        return sum(abs(guess - own) <= within for guess in best) / len(best)

    right = [chance([n for t, n in rows if t == name], own) for name, own in rows]
    assert found.success.value == pytest.approx(np.mean(right))
    assert found.baseline == pytest.approx(np.mean([chance(tenths, own) for own in tenths]))
    assert found.success.value >= EVERYBODY.run(release, pl.DataFrame(columns)).success.value - 1e-9


def test_missing_values_are_a_value_and_near_each_other_only():
    """Somebody without a value is guessed as that, with a distance and without."""
    columns = {"town": ["a", "a", "b"], "pay": [None, None, 7]}
    release = release_of(columns, known=("town",), sensitive=("pay",))
    for within in (None, 100):
        found = HomogeneityAttack(targets=None, within=within).run(release, pl.DataFrame(columns))
        assert found.success.value == 1


TREE = {"lung": ["flu", "cold"], "belly": ["ulcer", "gastritis"]}


@pytest.mark.parametrize("kind", ["texts", "intervals", "intervals as text"])
def test_a_guess_that_covers_the_own_value_is_right(kind):
    """A sensitive column that was generalized itself, to texts, to intervals, or these as text."""
    town = ["a", "a", "a", "b", "b", "b"]
    if kind == "texts":
        own, described = (
            ["flu", "cold", "ulcer", *["gastritis"] * 3],
            ColumnPlan(hierarchy=Taxonomy.of_tree(TREE)),
        )
        shown = {"ill": ["lung", "lung", *["belly"] * 4]}
    else:
        own, described = [0, 3, 9, 5, 5, 6], ColumnPlan(hierarchy=Intervals((5,)), bounds=(0, 9))
        shown = {"ill.low": [0, 0, 5, 5, 5, 5], "ill.high": [4, 4, 9, 9, 9, 9]}
    release = release_of(
        {"town": town, **shown},
        known=("town",),
        sensitive=tuple(shown),
        levels={"town": 0, "ill": 1},
    )
    if kind == "intervals as text":
        release = release.with_intervals_as_text()
    plan = Plan(Roles(quasi_identifiers=("town",), sensitive=("ill",)), columns={"ill": described})
    original = pl.DataFrame({"town": town, "ill": own})
    found = EVERYBODY.run(release, original, plan)
    assert found.goal == "the best guess of 'ill', as published, covers the target's own value"
    assert found.success.value == pytest.approx(5 / 6)
    assert found.probability.value == pytest.approx((2 / 3 + 2 / 3 + 1 / 3 + 3) / 6)
    assert found.baseline == pytest.approx(4 / 6)
    if kind == "texts":
        assert EVERYBODY.refusal(release) == (
            "column 'ill' was generalized, and only the plan of the original tells what its texts "
            "stand for"
        )
    else:
        assert EVERYBODY.run(release, original).success == found.success


@pytest.mark.parametrize("drowned", [False, True])
def test_noise_gives_away_what_it_does_not_hide(drowned):
    """Weights a gap apart: all diseases are found; or as many as blindly where noise drowns all.

    400 people, 20 diseases of as many people each, one release drawn with a seed.  Drowned, the
    share of right guesses must be that of the baseline to its interval of 95 %, which one release
    in twenty would fail by chance; not drowned, it must be above 0.9.
    """
    rows = np.arange(400)
    ill = rows % 20 if drowned else rows // 20
    frame = pl.DataFrame({"weight": rows * 10.0, "ill": [f"ill {number:02}" for number in ill]})
    plan = Plan(
        Roles(quasi_identifiers=("weight",), sensitive=("ill",)),
        columns={"weight": ColumnPlan(bounds=(0, 4000))},
    )
    method = ClusteredLaplace(epsilon=0.00001 if drowned else 500, shares=[1.0])
    release = method.publish(open_frame(frame, plan), Randomness.seeded(2))
    found = EVERYBODY.run(release, frame, plan)
    assert found.baseline == pytest.approx(1 / 20)
    if drowned:
        assert found.success.value == pytest.approx(found.baseline, abs=0.02)
        assert found.probability.value == pytest.approx(1 / 20, rel=0.01)
    else:
        assert found.success.value > 0.9


@pytest.mark.slow
def test_permuting_everything_in_one_cluster_leaves_guessing():
    """All quasi-identifiers permuted among all rows: beliefs are the shares of the column."""
    plan = small_plan("m-shuffle", quasi_identifiers=("age",), sensitive=("salary",))
    table = open_frame(PEOPLE, plan)

    def attacked(clusters):
        method = MShuffle(clusters=clusters, columns=("age",))
        release = method.publish(table, Randomness.seeded(1))
        return EVERYBODY.run(release, PEOPLE, plan)

    one = attacked(1)
    assert one.success.value == pytest.approx(one.baseline)
    assert one.probability.value == pytest.approx(
        (PEOPLE["salary"].value_counts()["count"] ** 2).sum() / 240**2
    )
    # A cluster of like salaries keeps its ages, so ages tell of salaries.
    assert attacked(8).success.low > one.baseline


@pytest.mark.parametrize("method", METHODS)
def test_every_method_can_be_attacked(method):
    """Rates are shares, rows may come in any order, and the document is plain JSON."""
    plan, attack = small_plan(method), HomogeneityAttack(targets=100)
    release = small_release(method)
    assert attack.refusal(release, plan) is None
    found = attack.run(release, SCORES, plan, Randomness.seeded(5))
    again = attack.run(
        release, SCORES.sample(fraction=1, seed=3, shuffle=True), plan, Randomness.seeded(5)
    )
    for rate in ("success", "probability"):
        assert getattr(found, rate).value == pytest.approx(getattr(again, rate).value)
    assert (found.baseline, found.notes) == (again.baseline, again.notes)
    assert found.targets == 100
    assert 0 < found.baseline < 1
    assert found.success.low <= found.success.value <= found.success.high
    assert json.loads(json.dumps(found.document())) == found.document()


def test_chunks_of_targets_change_nothing(monkeypatch):
    """A few targets at a time and all at once: the same outcome."""
    release, plan = small_release("generalization"), small_plan("generalization")
    whole = EVERYBODY.run(release, PEOPLE, plan)
    monkeypatch.setattr("voile.attack.attribute.PAIRS", 30)
    assert EVERYBODY.run(release, PEOPLE, plan).document() == whole.document()


@pytest.mark.parametrize("sensitive", [("disease", "salary"), ("salary", "disease")])
@pytest.mark.parametrize(
    "attack", [HomogeneityAttack, SkewnessAttack, BackgroundKnowledgeAttack], ids=lambda a: a.name
)
def test_each_sensitive_column_is_wanted_unless_one_is_named(attack, sensitive):
    """The outcome is that of the column of which most is gained, whichever stands first."""
    release = small_release("generalization", sensitive=sensitive)
    found = attack(targets=None).run(release, PEOPLE)
    alone = {name: attack(targets=None, sensitive=name).run(release, PEOPLE) for name in sensitive}
    most = max(alone.values(), key=lambda one: one.gain)
    assert (found.goal, found.success, found.baseline) == (most.goal, most.success, most.baseline)
    assert found.notes[0].startswith("of 2 sensitive columns ")
    assert all(repr(name) in found.notes[0] for name in sensitive)
    assert found.notes[1:] == most.notes


def test_attacks_on_all_rows_have_no_interval():
    """Nobody was drawn, so that nothing is left to chance; of a part somebody was."""
    release = small_release("generalization")
    assert EVERYBODY.run(release, PEOPLE).success.is_exact
    few = HomogeneityAttack(targets=3).run(release, PEOPLE, randomness=Randomness.seeded(1))
    assert not few.success.is_exact


def test_a_column_that_is_not_sensitive_may_be_wanted():
    """And is then not known."""
    release = small_release("generalization", sensitive=("disease", "salary"))
    # A quasi-identifier may be wanted, too, and is then not known.
    sex = HomogeneityAttack(sensitive="sex").run(release, PEOPLE)
    assert sex.assumptions[0] == "the adversary knows age of a target exactly"


def test_what_makes_no_sense_is_refused_with_a_reason():
    """As a clause beforehand, and as an error by whoever runs it all the same."""
    without = small_release("generalization", sensitive=(), keep=("disease",))
    assert EVERYBODY.refusal(without) == "the release has no sensitive column"
    with pytest.raises(InputError, match="'homogeneity' makes no sense here: the release has no"):
        EVERYBODY.run(without, PEOPLE)
    assert HomogeneityAttack(sensitive="disease").refusal(without) is None
    noisy = small_release("clustered-laplace")
    assert "published with noise" in HomogeneityAttack(sensitive="age").refusal(noisy)
    assert "did you mean 'disease'" in HomogeneityAttack(sensitive="diseas").refusal(noisy)
    for both in ({"columns": ["sex", "disease"]}, {"columns": ["age"], "sensitive": "age"}):
        knowing = HomogeneityAttack(**both).refusal(small_release("generalization"))
        assert "is known, so that nobody wants to know it" in knowing
    nobody = release_of({"ill": ["F", "C"]}, known=())
    assert "no quasi-identifier" in EVERYBODY.refusal(nobody)


def test_wrong_calls_say_what_to_do():
    """Knowledge that cannot be, and originals that do not fit."""
    for wrong in ({"targets": 0}, {"within": -1}, {"within": float("nan")}):
        with pytest.raises(InputError, match="at least"):
            HomogeneityAttack(**wrong)
    release = small_release("generalization")
    with pytest.raises(InputError, match="'disease' is not published as numbers"):
        HomogeneityAttack(within=1).run(release, PEOPLE)
    with pytest.raises(TableError, match="no column 'disease', whose values are wanted"):
        EVERYBODY.run(release, PEOPLE.drop("disease"))
    with pytest.raises(TableError, match="no column 'sex'"):
        EVERYBODY.run(release, PEOPLE.drop("sex"))
    with pytest.raises(TableError, match="no rows"):
        EVERYBODY.run(release, PEOPLE.clear())
