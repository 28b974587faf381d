"""Whether a person is in the table: the score by definition, weak releases and ideal ones."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import voile
from voile.attack.membership import MembershipAttack, _alike, _scores, _Side, _threshold
from voile.publish.clustered_laplace import ClusteredLaplace
from voile.publish.generalization import Generalization
from voile.release.reading import People, PublishedRows
from voile.schema.hierarchy.ranges import Intervals
from voile.table.opening import open_frame
from voile_base.errors import InputError
from voile_base.randomness import Randomness
from voile_testing.plugin import examples
from voile_tests.attack.by_definition import release_of
from voile_tests.attack.small_releases import METHODS, SCORES, small_plan, small_release, words


def ages(label, rows, different):
    """Random ages of so many different ones."""
    return (words(label, rows) % different).astype(int)


def published_as_it_is(shown):
    """A release that shows every age."""
    return release_of({"age": shown}, known=("age",))


# --- the score


def log_urn(counts, prior):
    """Logarithm of the probability of a sequence of draws with these counts from Polya's urn."""
    total = 0.0
    weight = prior * len(counts)
    for count in counts:
        total += sum(math.log(prior + i) for i in range(count))
    return total - sum(math.log(weight + i) for i in range(sum(counts)))


@settings(max_examples=examples(60))
@given(st.data())
def test_the_score_is_a_ratio_of_likelihoods(data):
    """Of rows that fit or do not: P(rows and others | in) / P(rows and others | out), by an urn.

    The urn holds so many kinds of rows that its prior weight as a whole is that of a half for each
    kind; the score leaves that weight out of its denominator, which is the same for everybody.
    """
    kinds = 4
    kind = st.integers(0, kinds - 1)
    shown = data.draw(st.lists(kind, min_size=1, max_size=8))
    inside, outside = (data.draw(st.lists(kind, min_size=1, max_size=5)) for _ in range(2))
    published = PublishedRows.of(published_as_it_is(shown))
    sides = [
        _Side.of(
            published, People(pl.DataFrame({"age": people})), ["age"], 99, Randomness.seeded(1)
        )
        for people in (inside, outside)
    ]
    found = _scores(sides, _alike(published, ["age"]))
    everybody, rows = [*inside, *outside], len(shown)
    for place, target in enumerate(everybody):
        others = Counter(everybody[:place] + everybody[place + 1 :])
        f = Counter(shown)
        counts = [others[k] + f[k] for k in range(kinds)]
        out = log_urn(counts, 0.5)
        expected = 0.0
        if f[target]:  # one of the rows, each as likely as another, is the target's
            counts[target] -= 1
            expected = f[target] / rows * math.exp(log_urn(counts, 0.5) - out)
        drawn = len(everybody) - 1 + rows
        scale = drawn / (drawn - 1 + kinds / 2)
        assert np.concatenate(found)[place] == pytest.approx(expected * scale)


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=1, max_size=12))
def test_the_threshold_makes_most_decisions_right(pairs):
    """No cut between different scores is better than the one that is found."""
    scores, member = np.array([s for s, _ in pairs], float), np.array([m for _, m in pairs])
    cuts = [-1, *np.unique(scores)]
    right = [((scores > cut) == member).sum() for cut in cuts]
    assert ((scores > _threshold(scores, member)) == member).sum() == max(right)


# --- weak and ideal releases


@pytest.mark.parametrize("known", [["age"], ["age", "sex"]])
def test_an_identity_release_tells_who_is_in(known):
    """All values are published and everybody is different: every decision is right."""
    people = pl.DataFrame({"age": range(400), "sex": ["f", "m"] * 200})
    present, absent = people.head(200), people.tail(200)
    release = release_of(present.reverse(), known=("age", "sex"))
    found = MembershipAttack(absent=absent, columns=known).run(
        release, present, randomness=Randomness.seeded(1)
    )
    assert found.checked
    assert found.targets == 400
    assert found.success.value == 1
    assert found.success.low > 0.98
    assert found.baseline == 0.5
    assert found.probability.value > 0.9
    assert found.worst.probability > 0.9
    assert found.notes == (
        "100.0% of those who are in the table are found, and 0.0% of the absent are taken for "
        "members: an advantage of +100.0 points",
        "the probability of the worst-off target is learnt from 100 targets of like scores, of "
        "whom 100 are in the table: of the highest of 16 shares the interval is 94% to 100%",
    )


def test_rows_that_nobody_else_explains_count_more():
    """Ages of 300, of which half are common: 150 rows leave gaps, and much is decided rightly.

    The true share of right decisions is some 0.7: half of the absent have a common age, which
    says little.
    """
    common = np.where(ages("coin", 300, 2) == 0, ages("few", 300, 5), 10 + ages("many", 300, 5000))
    people = pl.DataFrame({"age": common})
    present, absent = people.head(150), people.tail(150)
    found = MembershipAttack(absent=absent, targets=None).run(
        published_as_it_is(present["age"]), present, randomness=Randomness.seeded(1)
    )
    assert found.success.low > 0.6
    assert found.success.high < 0.85
    assert found.worst.known["age"] >= 10
    assert found.worst.probability > found.typical.probability


def test_a_release_that_shows_nothing_tells_nothing():
    """One group for all: everybody fits every row, and exactly half of the decisions are right."""
    ideal = release_of({"age.low": [0] * 60, "age.high": [99] * 60}, known=("age.low", "age.high"))
    present, absent = (pl.DataFrame({"age": ages(label, 60, 99)}) for label in ("in", "out"))
    found = MembershipAttack(absent=absent).run(ideal, present)
    assert found.success.value == 0.5
    assert found.probability.value == pytest.approx(0.5)


@pytest.mark.slow
def test_chance_is_not_taken_for_knowledge():
    """Rows of other people: right in half of the decisions, though thresholds are learnt.

    40 tables of 2 x 40 targets: the mean accuracy is within 3.5 standard deviations of 1/2, as if
    decisions were independent (a false alarm in 2,000 runs).  A threshold that is judged by the
    targets it was learnt from is right too often by more than that.
    """
    right, optimistic = [], []
    for seed in range(40):
        draw = Randomness.seeded(seed)
        present, absent, strange = (
            pl.DataFrame({"age": (draw.key(label).stream(40) % 30).astype(int)})
            for label in ("in", "out", "strange")
        )
        release = published_as_it_is(strange["age"])
        found = MembershipAttack(absent=absent).run(release, present, randomness=draw)
        right.append(found.success.value)
        f = Counter(strange["age"])
        scores = np.array([f[age] for age in [*present["age"], *absent["age"]]], float)
        member = np.arange(80) < 40
        optimistic.append(((scores > _threshold(scores, member)) == member).mean())
    deviation = 0.5 / math.sqrt(40 * 80)
    assert abs(np.mean(right) - 0.5) < 3.5 * deviation
    assert np.mean(optimistic) - 0.5 > 3.5 * deviation


@pytest.mark.parametrize(("k", "least", "most"), [(1, 0.75, 1.0), (60, 0.4, 0.6)])
def test_small_groups_give_members_away_and_large_ones_do_not(k, least, most):
    """Generalization with k = 1 shows who is there; with groups of 60 of 200 nobody can tell."""
    people = pl.DataFrame({"age": ages("age", 400, 100_000)})
    present, absent = people.head(200), people.tail(200)
    widths = [1, 50_000] if k == 1 else [25_000, 100_000]
    plan = voile.Plan(
        roles=voile.Roles(quasi_identifiers=("age",)),
        columns={
            "age": voile.ColumnPlan(
                hierarchy=Intervals(origin=0, widths=widths), bounds=(0, 99_999)
            )
        },
    )
    if k == 1:
        release = published_as_it_is(present["age"])
    else:
        release = Generalization(k=k, algorithm="flash").publish(open_frame(present, plan))
    found = MembershipAttack(absent=absent, targets=None).run(
        release, present, plan, Randomness.seeded(2)
    )
    assert least < found.success.value <= most
    if k > 1:
        assert found.success.low <= 0.5 <= found.success.high


def test_noise_hides_members_as_far_as_it_reaches():
    """Much noise: half; hardly any: nearly all, of 150 people in and 150 out."""
    weights = np.round(words("weight", 300) / 2.0**53 * 100, 3)
    people = pl.DataFrame({"weight": weights})
    present, absent = people.head(150), people.tail(150)
    plan = voile.Plan(
        roles=voile.Roles(quasi_identifiers=("weight",)),
        columns={"weight": voile.ColumnPlan(bounds=(0, 100))},
    )
    rates = {}
    for epsilon in (0.01, 1_000_000):
        method = ClusteredLaplace(epsilon=epsilon, shares=[1.0])
        release = method.publish(open_frame(present, plan), Randomness.seeded(4))
        attack = MembershipAttack(absent=absent)
        rates[epsilon] = attack.run(release, present, plan, Randomness.seeded(1)).success
    assert abs(rates[0.01].value - 0.5) < 3 * math.sqrt(0.25 / 300)  # all are asked: no interval
    assert rates[1_000_000].low > 0.9


@pytest.mark.parametrize("method", METHODS)
def test_every_method_can_be_attacked(method):
    """Accuracy and probabilities are rates; the same seed decides the same."""
    release, plan = small_release(method), small_plan(method)
    absent = SCORES.with_columns((pl.col("age") + 1).clip(18, 77))
    attack = MembershipAttack(absent=absent, targets=101)
    assert attack.refusal(release, plan) is None
    found = attack.run(release, SCORES, plan, Randomness.seeded(1))
    assert found == attack.run(release, SCORES, plan, Randomness.seeded(1))
    assert found.targets == 102
    assert 0 <= found.success.low <= found.success.value <= found.success.high <= 1
    assert 0 < found.typical.probability <= found.worst.probability < 1


def test_groups_count_where_columns_are_permuted():
    """Known by a permuted value alone: absent values show, present ones say nothing of the row."""
    shown = {"group": [1, 1, 2, 2] * 30, "town": list("abcd") * 30}
    release = release_of(shown, known=("town",), permuted=("town",))
    present = pl.DataFrame({"town": list("abcd") * 30})
    absent = pl.DataFrame({"town": list("efgh") * 30})
    assert MembershipAttack(absent=absent).run(release, present).success.value == 1
    found = MembershipAttack(absent=present.reverse()).run(release, present)
    assert found.success.low <= 0.5 <= found.success.high


# --- bad calls


def test_bad_calls_are_told():
    """Nobody absent, too few, columns that are missing, nobody known."""
    people = pl.DataFrame({"age": [1, 2, 3]})
    release = published_as_it_is([1, 2, 3])
    assert "not in the table" in MembershipAttack().refusal(release)
    with pytest.raises(InputError, match="hold rows out"):
        MembershipAttack().run(release, people)
    with pytest.raises(InputError, match="3 rows and 1 absent people"):
        MembershipAttack(absent=people.head(1)).run(release, people)
    with pytest.raises(InputError, match="at least two targets"):
        MembershipAttack(absent=people, targets=2).run(release, people)
    with pytest.raises(
        InputError, match=r"absent people has no column 'age'.* did you mean 'ages'"
    ):
        MembershipAttack(absent=people.rename({"age": "ages"})).run(release, people)
    with pytest.raises(InputError, match="at least 1"):
        MembershipAttack(absent=people, targets=0)
    nobody = replace(release, roles={})
    assert "no quasi-identifier" in MembershipAttack(absent=people).refusal(nobody)
    assert MembershipAttack(absent=people, columns=["age"]).refusal(nobody) is None
