"""Every search returns groups that hold, whatever the order of the rows; none beats the proof."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings

from voile.publish.ranking.groups import Remnant, SearchTerms
from voile.publish.ranking.heuristics import begin, grow
from voile.publish.ranking.local_search import SEARCHES, search
from voile_base.errors import PlanError
from voile_base.randomness import Randomness
from voile_testing.plugin import examples
from voile_tests.publish.ranking.brute_force import questions

KEY = Randomness.seeded(4).key("ranking")


def uniform(seed, rows=4000, attributes=4):
    return np.random.default_rng(seed).integers(0, 1000, (rows, attributes))


def summary(groups):
    return [(g.low.tolist(), g.high.tolist(), len(g.members), g.true_count) for g in groups.groups]


@pytest.mark.parametrize("name", sorted(SEARCHES))
def test_published_groups_hold_when_counted_again_from_the_table(name):
    """Members are disjoint, and precision and k are true of the boxes and the whole table."""
    terms = SearchTerms(5, Fraction(7, 10), batch=10)
    for seed in range(3):
        table = uniform(seed)
        scores = table.sum(axis=1)
        rows = Remnant.of_table(table, scores, 40)
        found = rows.publish(terms, search(name), KEY)
        border = np.sort(scores)[-40]
        members = np.concatenate([np.empty(0, np.int64), *(g.members for g in found.groups)])
        assert len(set(members.tolist())) == len(members)
        for group in found.groups:
            inside = ((table >= group.low) & (table <= group.high)).all(axis=1)
            if group.thresholded:
                inside &= scores >= group.score_low
            own = rows.row[group.members]
            assert inside[own].all()
            assert len(own) >= terms.k
            assert group.total_count == inside.sum()
            assert group.true_count == (scores[inside] >= border).sum()
            assert group.precision >= terms.precision
            assert Fraction(int((scores[own] >= border).sum()), len(own)) >= terms.precision
            assert (group.score_low, group.score_high) == (scores[own].min(), scores[own].max())
            assert (group.low == table[own].min(axis=0)).all()
            assert (group.high == table[own].max(axis=0)).all()
        tops = sum(int((scores[rows.row[g.members]] >= border).sum()) for g in found.groups)
        assert found.recall == Fraction(tops, int((scores >= border).sum()))


@pytest.mark.parametrize("name", sorted(SEARCHES))
def test_the_order_of_the_rows_decides_nothing(name):
    """A shuffled table gives the same boxes; the same key gives the same groups."""
    terms = SearchTerms(6, Fraction(7, 10))
    table = uniform(7) // 40  # coarse, so that values and scores tie
    shuffled = np.random.default_rng(2).permutation(table)
    found = [
        summary(Remnant.of_table(t, t.sum(axis=1), 25).publish(terms, search(name), KEY))
        for t in (table, shuffled)
    ]
    assert found[0] == found[1]


@pytest.mark.slow
@settings(max_examples=examples(100), deadline=None)
@given(questions())
def test_no_search_finds_a_group_where_the_exact_one_proves_there_is_none(question):
    """A heuristic's group is feasible, and publishes no more than the optimum."""
    remnant, terms = question
    targets = np.flatnonzero(remnant.targets(terms.batch))

    def published(name):
        group = search(name)(remnant, terms, KEY).group
        assert group is None or group.is_feasible(terms)
        return 0 if group is None else len(np.intersect1d(group.members, targets))

    best = published("exact")
    for name in set(SEARCHES) - {"exact", "auto", "perfect-precision"}:
        if len(targets):
            assert published(name) <= best
    assert published("auto") == best or not search("auto")(remnant, terms, KEY).proved


@pytest.mark.parametrize("name", ["grasp", "growing-exchange"])
def test_another_key_makes_a_random_search_choose_otherwise(name):
    """Boxes depend on the key: over 20 tables two keys do not always agree."""
    terms = SearchTerms(20, Fraction(7, 10))
    tried = search(name, iterations=1)
    other = Randomness.seeded(5).key("ranking")
    remnants = [Remnant.of_table(t, t.sum(axis=1), 20) for t in map(uniform, range(20))]
    differs = [
        [None if g is None else g.members.tolist() for g in (a.group, b.group)]
        for a, b in ((tried(r, terms, KEY), tried(r, terms, other)) for r in remnants)
    ]
    assert any(a != b for a, b in differs)


def test_deletion_peels_the_side_where_most_other_rows_fall():
    """One top row far out on one side drags three others in; giving it up is the best step."""
    tops = np.array([[9, 9], [8, 9], [9, 8], [3, 9]])
    others = np.array([[4, 8], [5, 8], [6, 8]])
    remnant = Remnant.of_rows(np.vstack((tops, others)), np.array([9, 8, 7, 6, 3, 2, 1]), 4)
    group = search("deletion")(remnant, SearchTerms(3, Fraction(9, 10)), KEY).group
    assert group is not None
    assert group.members.tolist() == [0, 1, 2]


def test_peeling_by_lift_sees_past_a_layer_that_gains_nothing():
    """Two top rows at one end hide four others; deletion is drawn to single ones at the other."""
    tops = [6, 7, 8, 9, 10, 11, 12, 14, 16, 1, 0]
    others = [2, 3, 4, 5, 13, 15]
    values = np.array([*tops, *others]).reshape(-1, 1)
    remnant = Remnant.of_rows(values, np.arange(len(values))[::-1], len(tops))
    terms = SearchTerms(5, Fraction(8, 10))
    published = {
        name: search(name)(remnant, terms, KEY).group.published_tops
        for name in ("deletion", "peeling-lift", "peeling-ratio", "exact")
    }
    assert published == {"deletion": 7, "peeling-lift": 9, "peeling-ratio": 9, "exact": 9}


def test_insertion_counts_the_rows_that_come_in_between():
    """From A the row F gains 2, since it brings D in; B, C and E gain 1 (the thesis prints 1)."""
    a, b, c, d, e, f = [10, 10], [10, 6], [6, 10], [12, 12], [9, 7], [13, 13]
    remnant = Remnant.of_rows(np.array([a, b, c, d, e, f]), np.arange(6)[::-1], 6)
    terms = SearchTerms(3, Fraction(1), batch=None)
    question = remnant.question(terms)
    edge = np.zeros(4, np.int64)
    rows = np.zeros(1, np.uint64)
    begin(question, 0, edge, rows)
    assert grow(question, np.zeros(1, np.uint64), 0.0, np.uint64(0), edge, rows)
    assert rows[0] == 0b101001


def test_an_unknown_search_is_named_with_those_there_are():
    """The message helps with a misspelt name."""
    with pytest.raises(PlanError, match="did you mean 'theta-rapid'"):
        search("thetarapid")
