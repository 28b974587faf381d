"""The adversary who bets on what a release makes more probable than it was."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voile.attack.sensitive_values import (
    SkewnessAttack,
    _ordered_distance,
    _tree_distance,
    variation,
)
from voile.models.criteria import Groups, SensitiveCells
from voile.models.t_closeness import EqualCloseness, HierarchicalCloseness, OrderedCloseness
from voile.publish.generalization import Generalization
from voile.schema.hierarchy.generalized import DistinctValues
from voile.schema.hierarchy.taxonomy import Taxonomy
from voile.schema.plan import ColumnPlan, Plan
from voile.table.opening import open_frame
from voile_base.errors import InputError
from voile_base.randomness import Randomness
from voile_testing.plugin import examples
from voile_tests.attack.by_definition import release_of, small_tables
from voile_tests.attack.small_releases import METHODS, PEOPLE, SCORES, small_plan, small_release

TREE = Taxonomy.of_tree({"lung": {"cold": ["A", "B"], "asthma": ["C"]}, "belly": ["D", "E"]})
LETTERS = ("A", "B", "C", "D", "E")


@pytest.mark.slow
@settings(max_examples=examples(150))
@given(small_tables(), st.sampled_from([1, 1.5, 2, 4]))
def test_bets_are_those_of_the_definition(table, gain):
    """Tables of up to ten people with permuted columns and rows left out: loops over the rows."""
    found = SkewnessAttack(targets=None, gain=gain).run(table.release, table.original)
    prior, success, belief, baseline, distance = table.prior, [], [], [], []
    for own, beliefs, _ in table.believed():
        bets = [value for value in beliefs if float(beliefs[value]) > gain * prior[value]]
        success.append(own in bets)
        belief.append(float(beliefs[own]) if own in bets else 0)
        baseline.append(float(sum(prior[value] for value in bets)))
        distance.append(float(sum(abs(beliefs.get(v, 0) - prior[v]) for v in prior) / 2))
    assert found.success.value == pytest.approx(np.mean(success))
    assert found.probability.value == pytest.approx(np.mean(belief))
    assert found.baseline == pytest.approx(np.mean(baseline))
    assert largest(found, "total variation") == pytest.approx(max(distance), abs=6e-5)


def largest(found, kind):
    """The largest distance of a kind that the notes tell."""
    (note,) = [note for note in found.notes if kind in note]
    return float(re.search(r"column: (\d\.\d{4})", note)[1])


@st.composite
def counted_groups(draw):
    """How often each of five letters stands in each of some groups."""
    group = st.lists(st.integers(0, 4), min_size=5, max_size=5).filter(any)
    counts = np.array(draw(st.lists(group, min_size=1, max_size=4)))
    present = counts.sum(axis=0) > 0
    return counts, present


@settings(max_examples=examples(100))
@given(counted_groups())
def test_distances_are_those_of_the_model(drawn):
    """Of beliefs that are the shares of groups: equal, ordered and on a tree, to 12 digits."""
    counts, present = drawn
    counts, letters = counts[:, present], np.array(LETTERS)[present]
    group, value = np.nonzero(counts)
    total = counts.sum(axis=0)
    cells = SensitiveCells(group, value, counts[group, value], total)
    groups = Groups(counts.sum(axis=1), {"ill": cells})
    hierarchy = TREE.bind("ill", DistinctValues("text", tuple(letters)), None)
    posterior, prior = counts / counts.sum(axis=1, keepdims=True), total / total.sum()
    codes = hierarchy.codes
    below = codes[:-1] if len(np.unique(codes[-1])) == 1 else codes
    for model, found in (
        (EqualCloseness(1, "ill"), variation(posterior, prior)),
        (OrderedCloseness(1, "ill"), _ordered_distance(posterior, prior)),
        (
            HierarchicalCloseness(1, "ill", hierarchy),
            _tree_distance(posterior, prior, np.array(below)),
        ),
    ):
        np.testing.assert_allclose(found, model.distances(groups), atol=1e-12)


@pytest.mark.parametrize("kind", ["equal", "ordered", "hierarchical"])
@pytest.mark.parametrize("t", [0.1, 0.2])
def test_a_close_release_keeps_beliefs_close(kind, t):
    """Releases that are t-close by each distance: no belief about anybody is further away.

    240 people whose values depend on their age, so that without t they would be.  What t bounds by
    equal distances, it bounds as success: below t gain / (gain - 1), and t above the baseline.
    """
    numbers = np.minimum(4, PEOPLE["age"].to_numpy() // 20 + PEOPLE["salary"].to_numpy() % 3 - 1)
    ill = numbers if kind == "ordered" else np.array(LETTERS)[numbers]
    frame = PEOPLE.with_columns(disease=pl.Series(ill))
    described = {"hierarchy": TREE} if kind == "hierarchical" else {}
    usual = small_plan("generalization")
    columns = {**usual.columns, "disease": ColumnPlan(**described)}
    plan = Plan(usual.roles, columns=columns)
    close = {"value": t, "distance": kind}

    def attacked(gain=2, **terms):
        method = Generalization(k=3, **terms)
        release = method.publish(open_frame(frame, plan), Randomness.seeded(1))
        return SkewnessAttack(targets=None, gain=gain).run(release, frame, plan)

    name = {"equal": "total var", "ordered": "ascending order", "hierarchical": "on the tree"}[kind]
    assert largest(attacked(t=close), name) <= t
    assert largest(attacked(), name) > t
    if kind == "equal":
        for gain in (1.5, 2):
            assert attacked(gain, t=close).success.value < t * gain / (gain - 1)
        for gain in (1, 2):
            found = attacked(gain, t=close)
            assert found.success.value <= found.baseline + t
        assert attacked().success.value > attacked(t=close).success.value


def test_half_of_a_group_has_what_one_in_a_hundred_has():
    """The example of section 3.1: 1 % are positive, in one group as many as are negative.

    Everybody in that group is thought to have it with 50 %; all positives who stand there are
    found, and nobody else is bet on.
    """
    town = ["a"] * 100 + ["b"] * 9900
    test = ["positive", "negative"] * 50 + ["positive"] * 50 + ["negative"] * 9850
    columns = {"town": town, "test": test}
    release = release_of(columns, known=("town",), sensitive=("test",))
    found = SkewnessAttack(targets=None).run(release, pl.DataFrame(columns))
    assert found.success.value == pytest.approx(50 / 10_000)
    assert found.baseline == pytest.approx(0.01 * 100 / 10_000)
    assert found.worst.known == {"town": "a"}
    assert found.worst.probability == 0.5
    assert found.typical.probability == 0
    assert largest(found, "total variation") == 0.49


def test_without_a_gain_the_advantage_is_the_mean_distance():
    """With gain = 1, about 240 people in 12 groups: success - baseline is the mean variation."""
    release, plan = small_release("generalization"), small_plan("generalization")
    found = SkewnessAttack(targets=None, gain=1).run(release, PEOPLE, plan)
    (mean,) = re.findall(r"total variation.*; mean (\d\.\d+)", "\n".join(found.notes))
    assert found.success.value - found.baseline == pytest.approx(float(mean), abs=6e-5)
    assert float(mean) > 0.05


@pytest.mark.parametrize("method", METHODS)
def test_every_method_can_be_attacked(method):
    """On a release of every method the rates are shares, and more gain is found less often."""
    plan, release = small_plan(method), small_release(method)
    assert SkewnessAttack().refusal(release, plan) is None
    found = [
        SkewnessAttack(targets=None, gain=gain).run(release, SCORES, plan).success.value
        for gain in (1, 1.5, 3)
    ]
    assert 1 >= found[0] >= found[1] >= found[2] >= 0


def test_a_gain_below_one_is_refused():
    """A belief that shrank is no success."""
    for wrong in (0.99, float("inf"), float("nan")):
        with pytest.raises(InputError, match="gain must be a number of at least 1"):
            SkewnessAttack(gain=wrong)
