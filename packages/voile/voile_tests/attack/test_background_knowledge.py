"""The adversary who can rule out sensitive values that a person does not have."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voile.attack.sensitive_values import BackgroundKnowledgeAttack, HomogeneityAttack
from voile.publish.generalization import Generalization
from voile.table.opening import open_frame
from voile_base.errors import InputError
from voile_base.randomness import Randomness
from voile_testing.plugin import examples, some_slow
from voile_tests.attack.by_definition import chance_of_best, release_of, small_tables
from voile_tests.attack.small_releases import METHODS, PEOPLE, SCORES, small_plan, small_release
from voile_tests.attack.test_homogeneity import FOUR_ANONYMOUS, INPATIENTS


def left_without(beliefs, out):
    """Beliefs once values are ruled out."""
    left = {value: share for value, share in beliefs.items() if value not in out}
    total = sum(left.values())
    return {value: share / total for value, share in left.items()} if total else {}


def at_worst(beliefs, own, count):
    """The chance of a right guess, and the belief in the own value, for the best knowledge.

    All sets of so many values, or fewer, that the person does not have are tried.
    """
    others = [value for value in beliefs if value != own]
    found = [(chance_of_best(beliefs, own), beliefs.get(own, 0))]
    for size in range(1, count + 1):
        left = (left_without(beliefs, out) for out in combinations(others, size))
        found += [(chance_of_best(some, own), some.get(own, 0)) for some in left if some]
    return max(found)


@pytest.mark.slow
@settings(max_examples=examples(150))
@given(small_tables(), st.integers(1, 2))
def test_no_other_knowledge_of_as_many_values_serves_better(table, count):
    """Of all sets of values that could be ruled out: the best one for each person, both times."""
    attack = BackgroundKnowledgeAttack(targets=None, ruled_out=count)
    if attack.refusal(table.release) is not None:
        return
    found = attack.run(table.release, table.original)
    known = {row[2] for row in table.shown}
    # Of somebody whose value was not published nothing can be guessed, whatever is ruled out.
    judged = [
        (at_worst(beliefs, own, count) if own in known else (0, 0))
        for own, beliefs, _ in table.believed()
    ]
    blind = [
        at_worst(table.prior, own, count)[0] if own in known else 0 for own, *_ in table.believed()
    ]
    right, given_to_own = zip(*judged, strict=True)
    possible = [beliefs.get(own, 0) > 0 for own, beliefs, _ in table.believed()]
    if all(possible):  # else the knowledge may contradict the release, and beliefs start anew
        assert found.success.value == pytest.approx(float(np.mean(right)))
        assert found.probability.value == pytest.approx(float(np.mean(given_to_own)))
    assert found.baseline == pytest.approx(float(np.mean(blind)))


def test_umeko_has_a_virus():
    """The example of section 2.1: Bob knows that Umeko, who is 21, has no heart disease."""
    umeko = pl.DataFrame({"age": [21], "condition": ["viral"]})
    found = BackgroundKnowledgeAttack().run(FOUR_ANONYMOUS, umeko)
    assert (found.success.value, found.probability.value) == (1, 1)
    assert HomogeneityAttack().run(FOUR_ANONYMOUS, umeko).probability.value == 0.5
    everybody = BackgroundKnowledgeAttack(targets=None).run(
        FOUR_ANONYMOUS, pl.DataFrame(INPATIENTS)
    )
    # One value is left in the first and the third group; in the second, two of three.
    assert "one value of 'condition' is left for 8 of 12 targets" in everybody.notes[0]
    assert everybody.success.value == pytest.approx((4 + 2 + 2 * 0.5 + 4) / 12)


@pytest.mark.parametrize("l", [2, pytest.param(3, marks=pytest.mark.slow), 4])
@pytest.mark.parametrize("algorithm", ["flash", "mondrian"])
def test_diverse_groups_keep_their_secret_from_fewer_than_l_minus_one(l, algorithm):
    """l-diverse releases of 240 people: nobody is certain before l - 1 values are ruled out.

    The attack that rules out l - 1 is certain of somebody in some release, so that this is no
    accident: here in each of those with groups of exactly l values.
    """
    plan = small_plan("generalization")
    frame = PEOPLE.with_columns(
        disease=pl.Series(np.array(list("ABCDEF"))[PEOPLE["salary"].to_numpy() // 100 % 6])
    )
    method = Generalization(k=2, l=l, algorithm=algorithm)
    release = method.publish(open_frame(frame, plan), Randomness.seeded(1))
    homogeneous = HomogeneityAttack(targets=None).run(release, frame, plan)
    assert homogeneous.worst.probability < 1
    for count in range(1, l - 1):
        attack = BackgroundKnowledgeAttack(targets=None, ruled_out=count)
        found = attack.run(release, frame, plan)
        assert found.worst.probability < 1
        assert "is left for none of the targets" in found.notes[0]
    cells = release.to_native().group_by(pl.exclude("disease")).agg(pl.col("disease").n_unique())
    fewest = int(cells["disease"].min())
    if fewest < 6:
        attack = BackgroundKnowledgeAttack(targets=None, ruled_out=fewest - 1)
        assert attack.run(release, frame, plan).worst.probability == 1


def test_success_is_to_be_among_the_most_probable():
    """Groups of ten with shares 4, 3, 2, 1: with r values ruled out the first r + 1 are found."""
    ill = list("AAAABBBCCD")
    columns = {"town": ["a"] * 10 + ["b"] * 10, "ill": ill + list("EEEEFFFGGH")}
    release = release_of(columns, known=("town",))
    for count, right in ((1, 7), (2, 9), (3, 10)):
        attack = BackgroundKnowledgeAttack(targets=None, ruled_out=count)
        found = attack.run(release, pl.DataFrame(columns))
        assert found.success.value == pytest.approx(right / 10)
        # The town hides whose letters they are: of both towns together, as many values are found.
        assert found.baseline <= right / 10


@pytest.mark.parametrize("method", some_slow(METHODS, {"microaggregation", "m-shuffle"}))
def test_knowledge_never_harms(method):
    """On a release of every method: with values ruled out at least as much is found as without."""
    plan, release = small_plan(method), small_release(method)
    knowledge = BackgroundKnowledgeAttack(targets=None)
    assert knowledge.refusal(release, plan) is None
    found = knowledge.run(release, SCORES, plan)
    without = HomogeneityAttack(targets=None).run(release, SCORES, plan)
    assert found.success.value >= without.success.value
    assert found.baseline >= without.baseline


def test_what_leaves_one_value_in_any_case_is_refused():
    """Two values with one ruled out need no release; nor does an adversary who rules out none."""
    release = release_of({"town": ["a", "b"], "ill": ["F", "C"]}, known=("town",))
    assert BackgroundKnowledgeAttack().refusal(release) == (
        "'ill' has 2 values, and with one value ruled out one is left in any case"
    )
    one = release_of({"town": ["a", "b"], "ill": ["F", "F"]}, known=("town",))
    assert "'ill' has one value" in BackgroundKnowledgeAttack(ruled_out=3).refusal(one)
    assert "no sensitive column" in BackgroundKnowledgeAttack().refusal(
        release_of({"town": ["a"], "ill": ["F"]}, known=("town",), sensitive=())
    )
    with pytest.raises(InputError, match="without any this is the homogeneity attack"):
        BackgroundKnowledgeAttack(ruled_out=0)
