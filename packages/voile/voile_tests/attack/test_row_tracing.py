"""How often permuted rows are put together again, by definition and against chance."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import voile
from voile.attack.row_tracing import RowTracingAttack
from voile.publish.m_shuffle import MShuffle
from voile.table.opening import open_frame
from voile_base.errors import InputError, TableError
from voile_base.randomness import Randomness
from voile_testing.plugin import examples
from voile_tests.attack.by_definition import release_of
from voile_tests.attack.small_releases import SCORES, assert_near, small_plan, small_release, words

STAYS, PERMUTED = ("town", "ill"), ("job", "age")


def shuffle(rows, generator):
    """Jobs and ages permuted uniformly within groups; rows are (town, ill, job, age, group)."""
    shown = [list(row) for row in rows]
    for column in (2, 3):
        for group in {row[4] for row in rows}:
            places = [i for i, row in enumerate(rows) if row[4] == group]
            for i, j in zip(places, generator.permutation(places), strict=True):
                shown[i][column] = rows[j][column]
    return [tuple(row) for row in shown]


def traced(shown, rows, **knowledge):
    """What the attack makes of published rows and of rows of an original."""
    names = ("town", "ill", "job", "age", "group")
    columns = dict(zip(names, map(list, zip(*shown, strict=True)), strict=True))
    release = release_of(columns, known=("town", "job", "age"), permuted=PERMUTED)
    original = pl.DataFrame(rows, schema=names, orient="row").drop("group")
    return RowTracingAttack(targets=None, **knowledge).run(release, original)


def explained(found):
    """What the notes say that chance explains: of the success, and of whole rows."""
    success = float(found.notes[0].rpartition("of ")[2])
    kept, chance = (float(part.rpartition(" ")[2]) / 100 for part in found.notes[1].split("%")[:2])
    return success, kept, chance


def random_rows(count, seed, groups=2, towns=6):
    """Rows of random towns, jobs and ages; illness tells the group."""
    draws = {name: words(name, count, seed) for name in ("town", "job", "age", "ill")}
    return [
        (int(t % towns), int(i % groups), int(j % 4), int(a % 3), int(i % groups) + 1)
        for t, i, j, a in zip(*(draws[n] for n in ("town", "ill", "job", "age")), strict=True)
    ]


@settings(max_examples=examples(60))
@given(st.data())
def test_rates_are_counted_by_definition(data):
    """Success, baseline and what chance explains, by loops over all pairs of rows."""
    cell = st.tuples(*(st.integers(0, 1) for _ in range(4)), st.integers(1, 2))
    rows = data.draw(st.lists(cell, min_size=1, max_size=9))
    shown = shuffle(rows, np.random.default_rng(data.draw(st.integers(0, 99))))
    others = data.draw(st.lists(cell, max_size=3))  # rows that were not published
    found = traced(shown, rows + others)
    success, baseline, chance = [], [], []
    for row in rows + others:
        alike = [one for one in shown if one[:2] == row[:2]]
        success.append(sum(one[2:4] == row[2:4] for one in alike) / max(len(alike), 1))
        shares = [np.mean([one[c] == row[c] for one in shown]) for c in (2, 3)]
        baseline.append(np.prod(shares))
        each = [
            np.prod([np.mean([o[c] == row[c] for o in shown if o[4] == one[4]]) for c in (2, 3)])
            for one in alike
        ]
        chance.append(np.mean(each) if each else 0)
    assert found.success.value == found.probability.value == pytest.approx(np.mean(success))
    assert found.worst.probability == pytest.approx(max(success))
    assert found.baseline == pytest.approx(np.mean(baseline))
    told, kept, _ = explained(found)
    assert told == pytest.approx(np.mean(chance), abs=1e-4)
    whole = Counter(row[:4] for row in rows + others) & Counter(one[:4] for one in shown)
    assert kept == pytest.approx(whole.total() / len(rows + others), abs=1e-4)


@pytest.mark.slow
def test_chance_explains_what_uniform_permutations_do():
    """100 permutations of 120 rows: mean success, and mean share of whole rows.

    The first is exact, so it is within 4 standard deviations of the mean of what is said; the
    second is an approximation: draws without return spread more in groups of 40; within 0.02.
    """
    rows = random_rows(120, 1, groups=3)
    generator = np.random.default_rng(7)
    found = [traced(shuffle(rows, generator), rows) for _ in range(100)]
    success = np.array([one.success.value for one in found])
    said, kept, chance = np.array([explained(one) for one in found]).T
    assert said.std() == pytest.approx(0, abs=1e-9)  # permuting changes no share of a group
    assert abs(success.mean() - said[0]) < 4 * success.std() / np.sqrt(100)
    assert kept.mean() == pytest.approx(chance[0], abs=0.02)
    assert kept.mean() > 1.5 * success.mean()  # who is like others is whole though not traced


# --- weak and ideal releases


def test_clusters_of_one_row_take_nothing_apart():
    """Every value of the sensitive column is a cluster: nothing moves, and all rows are traced."""
    frame = pl.DataFrame(
        {"town": ["a", "b"] * 20, "job": words("job", 40).astype(str), "ill": range(40)}
    )
    roles = voile.Roles(quasi_identifiers=("town", "job"), sensitive=("ill",))
    shown = frame.with_columns(group=pl.int_range(1, 41))
    release = release_of(shown, known=("town", "job"), sensitive=("ill",), permuted=("job",))
    found = RowTracingAttack().run(release, frame, voile.Plan(roles=roles))
    assert found.checked
    assert found.success.value == found.worst.probability == 1
    assert found.success.low > 0.9 > found.baseline
    assert explained(found) == (1, 1, 1)


def test_a_shuffle_that_moves_nothing_is_told_from_chance():
    """Rows of large groups as they were: traced far more often than chance explains."""
    rows = random_rows(200, 2, towns=10_000)
    found = traced(rows, rows)
    said, kept, chance = explained(found)
    assert found.success.low > 0.95
    assert kept == 1
    assert said < 0.2
    assert chance < 0.2


def test_one_cluster_leaves_guessing():
    """300 rows shuffled together: the baseline, but for chance."""
    rows = random_rows(300, 3, groups=1)
    found = traced(shuffle(rows, np.random.default_rng(1)), rows)
    assert_near(found, found.baseline)
    assert explained(found)[0] == pytest.approx(found.baseline, abs=1e-4)


def test_published_shuffles_are_as_chance_explains():
    """A release of the method itself, 400 rows in 2 clusters; and (k,e)-anonymous groups."""
    frame = pl.DataFrame(
        {
            "town": (words("town", 400) % 5).astype(int),
            "job": (words("job", 400) % 4).astype(int),
            "age": (words("age", 400) % 3).astype(int),
            "ill": np.array(["x", "y"])[words("ill", 400) % 2],
        }
    )
    roles = voile.Roles(quasi_identifiers=("town", "job", "age"), sensitive=("ill",))
    plan = voile.Plan(roles=roles)
    release = MShuffle(columns=PERMUTED).publish(open_frame(frame, plan), Randomness.seeded(1))
    found = RowTracingAttack(targets=None).run(release, frame, plan)
    assert_near(found, explained(found)[0])
    assert found.goal == "a row with the target's fingerprint shows the own age and job"
    found = RowTracingAttack(targets=None).run(
        small_release("ke-anonymity"), SCORES, small_plan("ke-anonymity")
    )
    assert_near(found, explained(found)[0])
    assert found.goal.endswith("the own salary")


# --- targets, notes, bad calls


def test_a_coarser_fingerprint_traces_less():
    """Knowing the town only, several rows fit; the sensitive value is another mark."""
    rows = [("a", 1, "x", 7, 1), ("a", 2, "y", 8, 2), ("b", 1, "z", 9, 3), ("b", 2, "w", 5, 4)]
    assert traced(rows, rows).success.value == 1
    found = traced(rows, rows, columns=["town"])
    assert found.success.value == 0.5
    assert found.assumptions[0].startswith("the adversary knows town of a target exactly")


def test_fingerprints_that_no_row_shows_are_told():
    """Their guesses fail."""
    rows = [("a", 1, "x", 7, 1), ("b", 1, "x", 7, 1)]
    found = traced(rows[:1], rows)
    assert found.success.value == 0.5
    assert found.notes[-1].startswith("no row shows the fingerprint of 1 of the targets")


def test_targets_are_drawn():
    """As many as asked, the same for the same seed, whatever the order of rows."""
    release, plan = small_release("m-shuffle"), small_plan("m-shuffle")
    attack = RowTracingAttack(targets=50)
    found = attack.run(release, SCORES, plan, Randomness.seeded(1))
    assert found.targets == 50
    turned = attack.run(release, SCORES.reverse(), plan, Randomness.seeded(1))
    # Sums over rows in another order round otherwise.
    assert turned.success.value == pytest.approx(found.success.value, rel=1e-12)
    assert turned.baseline == pytest.approx(found.baseline)


def test_attacks_are_refused_where_nothing_was_taken_apart():
    """No permuted column, or no other; a fingerprint of permuted or missing columns."""
    for method in ("generalization", "dp-generalization", "clustered-laplace", "ranking"):
        reason = RowTracingAttack().refusal(small_release(method), small_plan(method))
        assert "no column of the release is permuted" in reason
        with pytest.raises(InputError, match="makes no sense here"):
            RowTracingAttack().run(small_release(method), SCORES, small_plan(method))
    for method in ("m-shuffle", "ke-anonymity"):
        assert RowTracingAttack().refusal(small_release(method)) is None
    bare = release_of({"group": [1, 1], "job": [1, 2]}, known=("job",), permuted=("job",))
    assert "every column" in RowTracingAttack().refusal(bare)
    rows = [("a", 1, "x", 7, 1)]
    for column, message in (("job", "is permuted"), ("jab", "no column 'jab'")):
        with pytest.raises(InputError, match=message):
            traced(rows, rows, columns=[column])
    with pytest.raises(InputError, match="at least 1"):
        RowTracingAttack(targets=0)
    with pytest.raises(TableError, match="no column 'age'"):
        RowTracingAttack().run(small_release("m-shuffle"), SCORES.drop("age"))
