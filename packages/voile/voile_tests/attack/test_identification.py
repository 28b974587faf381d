"""The adversary who looks for the rows of people whose values he knows."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from decimal import Decimal

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

import voile
from voile.attack.identification import IdentificationAttack
from voile.attack.protocol import Estimate
from voile.publish.clustered_laplace import ClusteredLaplace
from voile.publish.dp_generalization import DPGeneralization
from voile.publish.generalization import Generalization
from voile.schema.hierarchy.ranges import Dates, Intervals, Prefixes
from voile.table.opening import published_rows
from voile_base.errors import InputError, TableError
from voile_base.randomness import Randomness
from voile_testing.plugin import examples, some_slow
from voile_tests.releases import described, promised, restating

SHARES = [0.05, 0.3, 0.3, 0.3, 0.05]


def release_of(columns, *, decision=None, kind="differential-privacy", known=(), **parameters):
    """A release made by hand; columns named in ``known`` are quasi-identifiers."""
    frame = pl.DataFrame(columns)
    shown = [c for c in frame.columns if c in known or c.rpartition(".")[0] in known]
    return described(
        table=published_rows(frame),
        method={"name": "by hand", "decision": decision or {}},
        guarantee=promised(kind, parameters, "as stated"),
        roles={"quasi_identifiers": tuple(shown), "keep": ("id",)},
        release_id="0" * 32,
        publishable=True,
    )


def noisy_release(columns, laws):
    """A release of noisy values: for each column ``(values, clusters of rows, bounds)``."""
    shown = {"id": np.arange(len(next(iter(columns.values()))[0]))}
    for name, (values, cluster, (least, most)) in columns.items():
        half = np.array([law["half_width"] for law in laws[name]["clusters"]])[cluster]
        shown[name] = np.array(values, dtype=float)
        shown[f"{name}.low"] = np.maximum(shown[name] - half, least)
        shown[f"{name}.high"] = np.minimum(shown[name] + half, most)
    return release_of(shown, decision={"columns": laws}, known=columns)


def rates_of(posterior, truth=None):
    """Mean probability of the true row and share of right best guesses, by definition."""
    truth = range(len(posterior)) if truth is None else truth
    given = [row[own] for row, own in zip(posterior, truth, strict=True)]
    right = [
        (math.isclose(row[own], max(row)) and max(row) > 0)
        / max(1, sum(math.isclose(p, max(row)) for p in row))
        for row, own in zip(posterior, truth, strict=True)
    ]
    return np.mean(given), np.mean(right)


def publish_weights(weights, seed=1, declared=None, **parameters):
    """Weights with noise, and the original with the column that links rows."""
    columns = {"weight": voile.ColumnPlan(bounds=declared)} if declared else {}
    roles = voile.Roles(quasi_identifiers=("weight",), keep=("id",), keep_unique=("id",))
    plan = voile.Plan(roles=roles, columns=columns)
    frame = pl.DataFrame({"weight": weights, "id": np.arange(len(weights))})
    method = ClusteredLaplace(**parameters)
    return method.publish(voile.open_frame(frame, plan), Randomness.seeded(seed)), frame


def uniform_weights(rows, seed):
    """Weights between 0 and 100, uniform, with three decimals."""
    words = Randomness.seeded(seed).key("weights").stream(rows)
    return np.round(words / 2.0**64 * 100, 3)


# --- noise


@settings(max_examples=examples(60))
@given(st.data())
def test_noise_is_weighed_by_equation_30(data):
    """In releases without bounds, of one column or two: a plain loop over rows and columns."""
    rows = data.draw(st.integers(1, 6))
    names = ["w", "v"][: data.draw(st.integers(1, 2))]
    number = st.integers(-40, 40).map(lambda i: i / 4)
    several = st.lists(number, min_size=rows, max_size=rows)
    scales = (0.5, 2.0, 8.0)
    laws = {
        name: {"step": 0.25, "clusters": [{"scale": b, "half_width": 2 * b} for b in scales]}
        for name in names
    }
    known = {name: data.draw(several) for name in names}
    cluster = {
        name: np.array(data.draw(st.lists(st.integers(0, 2), min_size=rows, max_size=rows)))
        for name in names
    }
    shown = {name: (data.draw(several), cluster[name], (-math.inf, math.inf)) for name in names}
    posterior = []
    for i in range(rows):
        weights = [1.0] * rows
        for j in range(rows):
            for name in names:
                b = scales[cluster[name][j]]
                weights[j] *= 1 / (2 * b) * math.exp(-abs(shown[name][0][j] - known[name][i]) / b)
        posterior.append([weight / sum(weights) for weight in weights])
    release = noisy_release(shown, laws)
    original = pl.DataFrame({"id": np.arange(rows), **known})
    found = IdentificationAttack(link="id").run(release, original)
    assert found.checked
    probability, success = rates_of(posterior)
    assert found.probability.value == pytest.approx(probability, rel=1e-9)
    assert found.success.value == pytest.approx(success, rel=1e-9)
    assert found.worst.probability == pytest.approx(max(posterior[i][i] for i in range(rows)))
    believed = IdentificationAttack().run(release, original)
    assert not believed.checked
    assert believed.success.value == pytest.approx(np.mean([max(row) for row in posterior]))
    squares = [sum(p * p for p in row) for row in posterior]
    assert believed.probability.value == pytest.approx(np.mean(squares))


def test_an_interval_is_taken_for_a_cut_one_only_where_one_shows_that_it_was_cut():
    """All rows show one interval, whole for its cluster: no wider cluster is thought of."""
    laws = {"w": {"step": 0.25, "clusters": [{"scale": b, "half_width": 2 * b} for b in (0.5, 2)]}}
    alike = {"w": ([0.0, 0.0], np.array([0, 0]), (-math.inf, math.inf))}
    original = pl.DataFrame({"id": [0, 1], "w": [0.0, 8.0]})
    both = {"w": ([0.0, 8.0], np.array([0, 1]), (-math.inf, math.inf))}
    assert IdentificationAttack(link="id").run(
        noisy_release(alike, laws), original
    ).probability.value == pytest.approx(0.5)
    wide, narrow = 0.25, 1.0  # 1 / (2 b)
    first = narrow / (narrow + wide * math.exp(-8 / 2))
    second = wide / (wide + narrow * math.exp(-8 / 0.5))
    assert IdentificationAttack(link="id").run(
        noisy_release(both, laws), original
    ).probability.value == pytest.approx((first + second) / 2)


LEAST, MOST = 0, 240
CLUSTERS = ((0, 60, 20, 24), (60, 150, 40, 190), (150, 240, 60, 230))
"""Low and high border, scale of the noise, half-width of the interval."""


def chance_of(shown, value, own):
    """P(a row of a value shows y and its interval), by definition, all in whole numbers.

    ``own`` is the probability of a row's own cluster; None: every cluster is as likely as another,
    and the value is not moved into it.
    """
    y, *interval = shown
    total = 0.0
    for low, high, scale, half in CLUSTERS:
        if interval != [max(y - half, LEAST), min(y + half, MOST)]:
            continue
        at_home = low <= value < high or value == high == MOST
        drawn = 1 / 3 if own is None else own if at_home else (1 - own) / 2
        start = value if own is None else min(max(value, low), high)
        q = math.exp(-1 / scale)
        if LEAST < y < MOST:
            noise = (1 - q) / (1 + q) * q ** abs(y - start)
        else:  # everything beyond the bound, and the bound itself
            noise = q ** abs(y - start) / (1 + q)
        total += drawn * noise
    return total


@pytest.mark.parametrize("own", [None, 0.6])
def test_clamped_values_are_weighed_by_bayes_rule(own):
    """A target and others whose values are uniform, by sums over all values: the same to 4 %.

    Values are clamped to the bounds; among the rows are both bounds, and intervals that two of the
    clusters may show.  (The attack integrates where the truth is a sum over whole numbers.)
    """
    rows = [(30, 6, 54), (0, 0, 190), (240, 216, 240), (120, 0, 240), (240, 10, 240), (55, 0, 240)]
    borders = [{"low": low, "high": high, "own": own} if own else {} for low, high, *_ in CLUSTERS]
    document = {
        "step": 1.0,
        "clusters": [
            {"scale": scale, "half_width": half, **ends}
            for (*_, scale, half), ends in zip(CLUSTERS, borders, strict=True)
        ],
    }
    usual = [sum(chance_of(row, value, own) for value in range(241)) for row in rows]
    shown, sizes = list(rows), [1] * len(rows)
    if own:
        # Many rows more, so that the clusters show the shares that uniform values have.
        shown += [(31, 7, 55), (40, 0, 230), (5, 0, 235)]
        share = np.array([60, 90, 90]) / 240
        sizes += np.round(3e4 * (share * own + (1 - share) * (1 - own) / 2)).astype(int).tolist()
        usual += [sum(chance_of(row, value, own) for value in range(241)) for row in shown[6:]]
    columns = np.repeat(np.array(shown, float), sizes, axis=0).T
    release = release_of(
        dict(zip(("w", "w.low", "w.high"), columns, strict=True)),
        decision={"columns": {"w": document}},
        known=["w"],
    )
    for value in (0, 20, 60, 130, 240):
        weights = [chance_of(row, value, own) / m for row, m in zip(shown, usual, strict=True)]
        posterior = np.array(weights) / np.dot(weights, sizes)
        found = IdentificationAttack().run(release, pl.DataFrame({"w": [value]}))
        assert found.worst.probability == pytest.approx(posterior.max(), rel=0.04)
        assert found.probability.value == pytest.approx(np.dot(posterior**2, sizes), rel=0.04)
        linked = release_of(
            {name: release.to_native()[name] for name in ("w", "w.low", "w.high")}
            | {"id": np.arange(sum(sizes))},
            decision={"columns": {"w": document}},
            known=["w"],
        )
        for place in range(len(rows)):
            target = pl.DataFrame({"w": [value], "id": [place]})
            found = IdentificationAttack(link="id").run(linked, target)
            assert found.worst.probability == pytest.approx(posterior[place], rel=0.04)


def test_a_release_without_noise_to_speak_of_is_found_out():
    """Noise far below the gaps between values, counted and believed: everybody is found."""
    weights = np.arange(200) * 10.0
    release, original = publish_weights(weights, epsilon=20_000, shares=[1.0], bounds="data")
    for attack in (IdentificationAttack(link="id"), IdentificationAttack()):
        found = attack.run(release, original)
        assert found.success.value > 0.99
        assert found.probability.value > 0.99
        assert found.advantage > 198
    nothing = {"w": {"step": 1.0, "clusters": [{"scale": 0, "half_width": 0}]}}
    bare = noisy_release({"w": ([5, 6, 7], np.zeros(3, int), (-9, 99))}, nothing)
    found = IdentificationAttack(link="id").run(
        bare, pl.DataFrame({"w": [5, 6, 7], "id": [0, 1, 2]})
    )
    assert found.probability.value == pytest.approx(1)


def test_noise_that_drowns_everything_leaves_guessing():
    """Budgets of a thousandth within public bounds: rates are those of guessing, to 2 %.

    Counted rates of 400 people, one release: the mean probability hardly varies.
    """
    weights = uniform_weights(400, 3)
    for shares in ([1.0], SHARES):
        release, original = publish_weights(
            weights, declared=(0, 100), epsilon=0.001, shares=shares
        )
        found = IdentificationAttack(link="id").run(release, original)
        assert found.baseline == pytest.approx(1 / 400)
        assert found.probability.value == pytest.approx(found.baseline, rel=0.02)
        believed = IdentificationAttack().run(release, original)
        assert believed.success.value == pytest.approx(believed.baseline, rel=0.1)


def rates(epsilon, shares, times):
    """Mean counted rates over releases of 200 uniform weights, with eq. 30 as it is printed."""
    found = []
    for seed in range(times):
        release, original = publish_weights(
            uniform_weights(200, seed), seed, epsilon=epsilon, shares=shares, bounds="data"
        )
        outcome = IdentificationAttack(link="id").run(release, original)
        found.append((outcome.probability.value, outcome.success.value))
    return np.mean(found, axis=0)


@pytest.mark.parametrize(
    ("epsilon", "shares", "probability", "right"),
    [
        (1, [1.0], 0.0054, None),
        (1, SHARES, 0.0121, None),
        (5, [1.0], 0.0093, 0.017),
        (5, SHARES, 0.0357, 0.053),
    ],
)
def test_known_figures_come_out(epsilon, shares, probability, right):
    """200 rows, one cluster or five from the data: mean probability to 15 %, right guesses roughly.

    The figures were measured elsewhere, on weights and in a number of releases that are not known;
    the weights here are uniform.  Over 100 releases they give .0053, .0107, .0091 and .0334, and
    right guesses in 1.5 % (standard error .09) and 6.3 % (.17): the latter is above the known
    figure, and within 1.5 deviations of a single release, which is what is asked.
    """
    found = rates(epsilon, shares, 8)
    assert found[0] == pytest.approx(probability, rel=0.15)
    if right:
        assert abs(found[1] - right) < 1.5 * np.sqrt(right * (1 - right) / 200)


@pytest.mark.slow
def test_without_the_factors_of_the_scales_the_adversary_is_weaker():
    """Equation 30 without 1 / 2b gives the true row at least a fifth less; with it, the attack's.

    200 uniform weights in five clusters, epsilon 5, ten releases.
    """
    with_factors, without, attacked = [], [], []
    for seed in range(10):
        release, original = publish_weights(
            uniform_weights(200, seed), seed, epsilon=5, shares=SHARES, bounds="data"
        )
        shown = release.to_native().sort("id")
        clusters = release.method["decision"]["columns"]["weight"]["clusters"]
        half = (shown["weight"] - shown["weight.low"]).to_numpy()
        place = np.abs(half[:, None] - [c["half_width"] for c in clusters]).argmin(axis=1)
        b = np.array([c["scale"] for c in clusters])[place]
        x = original["weight"].to_numpy()[:, None]
        decay = np.exp(-np.abs(shown["weight"].to_numpy() - x) / b)
        for weights, into in ((decay / (2 * b), with_factors), (decay, without)):
            into.append(np.diag(weights / weights.sum(axis=1, keepdims=True)).mean())
        found = IdentificationAttack(link="id").run(release, original)
        attacked.append(found.probability.value)
    assert attacked == pytest.approx(with_factors, rel=1e-3)
    assert np.mean(without) < 0.8 * np.mean(attacked)


@pytest.mark.slow
def test_stated_borders_make_belief_match_the_count():
    """With borders, what the adversary believes is what happens; without, eq. 30 believes twice it.

    200 uniform weights, five clusters from the data, epsilon 1; means over 12 releases of 200
    targets: the share of right guesses varies by 0.38 percentage points, allowed are 4 times that.
    """
    counted, believed, without = [], [], []
    for seed in range(12):
        release, original = publish_weights(
            uniform_weights(200, seed), seed, epsilon=1, shares=SHARES, bounds="data"
        )
        without.append(IdentificationAttack().run(release, original).success.value)
        x = np.sort(original["weight"].to_numpy())
        ends = np.round(np.cumsum([0, *SHARES]) * 200).astype(int)
        stated = release.disclosure.columns["weight"].clusters
        clusters = tuple(
            cluster.model_copy(update={"low": x[first], "high": x[end - 1]})
            for cluster, first, end in zip(stated, ends, ends[1:], strict=False)
        )
        release = restating(release, "weight", clusters=clusters)
        found = IdentificationAttack(link="id").run(release, original)
        counted.append(found.success.value)
        believed.append(IdentificationAttack().run(release, original).success.value)
    right = np.mean(counted)
    assert abs(np.mean(believed) - right) < 4 * np.sqrt(right * (1 - right) / 2400)
    # Counted without borders: 0.018; what the adversary believes then is about as high as what he
    # could have had with them.
    assert np.mean(without) == pytest.approx(right, rel=0.25)


def test_a_known_population_tempers_belief_and_needs_no_bounds():
    """One cluster, epsilon 1: eq. 30 believes .0105, an adversary who knows the weights .0068.

    Right guesses counted over 100 such releases: .0066, standard error .0006.
    """
    plain, informed = [], []
    for seed in range(5):
        release, original = publish_weights(
            uniform_weights(200, seed), seed, epsilon=1, shares=[1.0], bounds="data"
        )
        plain.append(IdentificationAttack().run(release, original).success.value)
        informed.append(IdentificationAttack(population=True).run(release, original).success.value)
    assert np.mean(plain) == pytest.approx(0.0105, rel=0.1)
    assert np.mean(informed) == pytest.approx(0.0068, rel=0.1)


# --- generalized values

PEOPLE = pl.DataFrame(
    {
        "id": range(60),
        "age": [17 + (7 * i) % 43 for i in range(60)],
        "zip": [f"{(i * i) % 5}{i % 3}{i % 2}" for i in range(60)],
        "born": [f"20{i % 4 + 10}-0{i % 3 + 1}-1{i % 5}" for i in range(60)],
    }
).with_columns(pl.col("born").str.to_date())
KNOWN = ("age", "zip", "born")
PLAN = voile.Plan(
    roles=voile.Roles(quasi_identifiers=KNOWN, keep=("id",), keep_unique=("id",)),
    columns={
        "age": voile.ColumnPlan(hierarchy=Intervals(origin=0, widths=[10, 50]), bounds=(0, 100)),
        "zip": voile.ColumnPlan(hierarchy=Prefixes((2, 1))),
        "born": voile.ColumnPlan(hierarchy=Dates(("month", "year"))),
    },
)


def chance_in_groups(release):
    """The mean over rows of 1 / rows that show the same."""
    shown = release.to_native().drop("id", "group", strict=False)
    sizes = shown.group_by(shown.columns).len()["len"].to_numpy()
    return len(sizes) / shown.height


@pytest.mark.parametrize("algorithm", ["flash", "ola", "datafly"])
def test_levels_leave_a_person_among_the_rows_of_the_group(algorithm):
    """With the hierarchies, the rates are those of guessing within groups; counted and believed."""
    release = Generalization(k=3, algorithm=algorithm).publish(voile.open_frame(PEOPLE, PLAN))
    expected = chance_in_groups(release)
    assert expected < 1 / 3
    for attack in (IdentificationAttack(link="id"), IdentificationAttack()):
        found = attack.run(release, PEOPLE, PLAN)
        assert found.checked
        assert found.success.value == pytest.approx(expected)
        assert found.probability.value == pytest.approx(expected)
        assert found.worst.probability <= 1 / 3
        assert not found.notes


MADE_BY = [
    {"algorithm": "flash"},
    {"algorithm": "flash", "suppression_limit": 0.2},
    {"algorithm": "mondrian"},
    {"algorithm": "mondrian", "relaxed": True},
    {"algorithm": "mondrian", "sets": True},
]


@pytest.mark.slow
@settings(max_examples=examples(40))
@given(st.sampled_from(MADE_BY), st.lists(st.integers(0, 29), min_size=8, max_size=40), st.data())
def test_a_release_that_tells_counts_as_a_link_does(parameters, ages, data):
    """Where nothing but the release and the table is asked, each figure is that of the link.

    Where it does not tell, as where rows of a group were left out, rates stay what is believed.
    """
    letters = data.draw(st.lists(st.sampled_from("ab"), min_size=len(ages), max_size=len(ages)))
    frame = pl.DataFrame({"id": range(len(ages)), "age": ages, "zip": letters})
    roles = voile.Roles(quasi_identifiers=("age", "zip"), keep=("id",), keep_unique=("id",))
    plan = voile.Plan(roles=roles, columns={"age": PLAN.columns["age"]})
    release = Generalization(k=2, **parameters).publish(voile.open_frame(frame, plan))
    counted = IdentificationAttack(link="id").run(release, frame, plan)
    found = IdentificationAttack().run(release, frame, plan)
    assert counted.checked
    if found.checked:
        assert found.success.value == pytest.approx(counted.success.value)
        assert found.probability.value == pytest.approx(counted.probability.value)
        assert found.worst.probability == pytest.approx(counted.worst.probability)
    else:
        assert "nothing tells which row is whose" in found.assumptions[-1]


def test_rows_that_were_drawn_for_each_other_are_believed():
    """Nothing tells which of alike people were left out: no right guess is counted."""
    frame = pl.DataFrame({"age": [20] * 4 + [30] * 4})
    rows = {"age.low": [20] * 4 + [30] * 2, "age.high": [20] * 4 + [30] * 2, "id": range(6)}
    release = release_of(rows, kind="k-anonymity", known=("age",), k=2)
    assert not IdentificationAttack(columns=["age"]).run(release, frame).checked


@pytest.mark.parametrize("algorithm", some_slow(["mondrian", "k-optimize"], {"k-optimize"}))
def test_groups_of_their_own_leave_a_person_among_their_rows(algorithm):
    """Strict cuts show regions that do not overlap: again guessing within groups."""
    release = Generalization(k=3, algorithm=algorithm).publish(voile.open_frame(PEOPLE, PLAN))
    found = IdentificationAttack(link="id").run(release, PEOPLE, PLAN)
    assert found.success.value == pytest.approx(chance_in_groups(release))
    assert not found.notes


@pytest.mark.slow
@pytest.mark.parametrize("hierarchies", [True, False])
def test_nobodys_own_row_is_ruled_out(hierarchies):
    """Relaxed regions overlap; whatever the adversary knows, the true row keeps a probability."""
    plan = PLAN if hierarchies else voile.Plan(roles=PLAN.roles)
    release = Generalization(k=4, algorithm="mondrian", relaxed=True).publish(
        voile.open_frame(PEOPLE, plan)
    )
    for told in (plan, None):
        for place in range(0, PEOPLE.height, 4):
            found = IdentificationAttack(link="id").run(release, PEOPLE[place], told)
            assert 0 < found.worst.probability <= 1 / 4


def test_an_adversary_without_hierarchies_says_what_he_cannot_read():
    """He finds people less often, and a note names the columns that he could not compare."""
    release = Generalization(k=3, algorithm="flash").publish(voile.open_frame(PEOPLE, PLAN))
    told = IdentificationAttack().run(release, PEOPLE, PLAN)
    untold = IdentificationAttack().run(release, PEOPLE)
    unread = [name for name, level in release.method["decision"]["levels"].items() if level]
    unread = [name for name in unread if name != "age"]  # numbers become intervals
    assert unread
    assert len(untold.notes) == len(unread)
    assert all(f"'{name}'" in note for name, note in zip(unread, untold.notes, strict=True))
    assert untold.success.value < told.success.value


@pytest.mark.slow
def test_a_sampled_row_is_there_with_its_probability_only():
    """Equations 24 and 25: beta over the size of the group, 0 where no group is published."""
    plan = voile.Plan(roles=voile.Roles(quasi_identifiers=KNOWN), columns=PLAN.columns)
    method = DPGeneralization(k=2, epsilon_choice=5, beta=Decimal("0.6"))
    people = PEOPLE.drop("id")
    release = method.publish(voile.open_frame(people, plan), Randomness.seeded(2))
    found = IdentificationAttack().run(release, people, plan)
    single = [IdentificationAttack().run(release, people[i], plan) for i in range(people.height)]
    sizes = release.to_native().group_by("group").len()["len"].to_list()
    chances = {round(one.success.value, 9) for one in single}
    assert chances <= {0.0, *(round(0.6 / size, 9) for size in sizes)}
    assert found.success.value == pytest.approx(np.mean([one.success.value for one in single]))
    assert found.baseline == pytest.approx(0.6 / release.rows)
    assert any("probability 0.6" in line for line in found.assumptions)


def test_one_group_for_all_leaves_guessing_and_bare_values_leave_nothing():
    """The ideal release gives the baseline; one that shows all values as they are, everybody."""
    ideal = release_of(
        {"age.low": [0] * 4, "age.high": [99] * 4, "id": [3, 1, 0, 2]},
        kind="k-anonymity",
        known=["age"],
    )
    bare = release_of({"age": [7, 9, 8, 5], "id": [3, 1, 0, 2]}, kind="k-anonymity", known=["age"])
    people = pl.DataFrame({"age": [8, 9, 5, 7], "id": [0, 1, 2, 3]})
    found = IdentificationAttack(link="id").run(ideal, people)
    assert found.success.value == found.probability.value == found.baseline == 0.25
    assert found.advantage == 1
    for link in ("id", None):
        assert IdentificationAttack(link=link).run(bare, people).success.value == 1


def test_rows_that_show_the_same_share_the_success():
    """Two of three rows fit alike: the best guess is right half of the time."""
    release = release_of(
        {"size": ["S", "S", "M"], "id": [0, 1, 2]}, kind="k-anonymity", known=["size"]
    )
    people = pl.DataFrame({"size": ["S", "S", "M", "L"], "id": [0, 1, 2, 3]})
    found = IdentificationAttack(link="id").run(release, people)
    assert found.success.value == (0.5 + 0.5 + 1 + 0) / 4
    assert (found.worst.known, found.worst.probability) == ({"size": "M"}, 1)
    assert found.typical.probability == 0.5
    assert len(found.notes) == 2  # the last one fits no row, and was not published


def test_missing_values_fit_missing_values():
    """As a category of their own, but where the target has a value and stands among them."""
    shown = {"age.low": [None, 3, None], "age.high": [None, 9, None], "id": [0, 1, 2]}
    schema = {"age": pl.Int64, "id": pl.Int64}
    alone, mixed = (
        pl.DataFrame({"age": ages, "id": [0, 1, 2]}, schema=schema)
        for ages in ([None, 4, None], [None, 4, 5])
    )
    for decision, people, expected in (
        ({"levels": {"age": 1}}, alone, 2 / 3),
        ({"groups": 2}, alone, 2 / 3),
        ({"groups": 2}, mixed, (1 / 2 + 1 / 1 + 1 / 3) / 3),
    ):
        release = release_of(shown, decision=decision, kind="k-anonymity", known=["age"])
        found = IdentificationAttack(link="id").run(release, people)
        assert found.success.value == pytest.approx(expected)


def test_intervals_written_as_text_tell_the_same():
    """``[low, high]`` in one column is read like two columns, with noise and without."""
    generalized = Generalization(k=3, algorithm="flash").publish(voile.open_frame(PEOPLE, PLAN))
    noisy, weights = publish_weights(
        uniform_weights(50, 1), declared=(0, 100), epsilon=3, shares=[0.5, 0.5]
    )
    for release, people, plan in ((generalized, PEOPLE, PLAN), (noisy, weights, None)):
        attack = IdentificationAttack(link="id")
        as_text = release.with_intervals_as_text()
        assert as_text.table.columns != release.table.columns
        found, other = (attack.run(made, people, plan) for made in (as_text, release))
        # Rows come in another order, so sums are rounded differently.
        assert found.probability.value == pytest.approx(other.probability.value, rel=1e-12)
        assert replace(found, probability=other.probability) == other


def test_other_columns_can_be_what_is_known():
    """A column that is kept as it is identifies whoever is known by it."""
    release, people = publish_weights([1.0, 2.0, 4.0], declared=(0, 9), epsilon=1, shares=[1.0])
    assert IdentificationAttack(columns=["id"]).run(release, people).success.value == 1


# --- targets, results, bad calls


def test_targets_are_drawn_by_what_rows_hold():
    """A seed and the rows decide, not their order; several equal rows are several people."""
    weights = np.tile(uniform_weights(150, 2), 2)
    release, people = publish_weights(weights, epsilon=1, shares=[1.0], bounds="data")
    attack = IdentificationAttack(targets=40)
    found = attack.run(release, people, randomness=Randomness.seeded(4))
    again = attack.run(release, people.reverse(), randomness=Randomness.seeded(4))
    other = attack.run(release, people, randomness=Randomness.seeded(5))
    assert found.targets == 40
    assert found.success.value == pytest.approx(again.success.value, rel=1e-12)
    assert found.worst == again.worst
    assert found.success.value != pytest.approx(other.success.value, rel=1e-6)
    assert IdentificationAttack(targets=None).run(release, people).targets == 300


def test_many_pairs_are_weighed_in_parts(monkeypatch):
    """The parts make no difference, with or without knowledge of the population."""
    release, people = publish_weights(
        uniform_weights(90, 7), declared=(0, 100), epsilon=4, shares=SHARES
    )
    for population in (False, True):
        attack = IdentificationAttack(link="id", population=population)
        whole = attack.run(release, people)
        with monkeypatch.context() as patch:
            patch.setattr("voile.attack.identification._PAIRS", 700)
            parts = attack.run(release, people)
        assert parts.success.value == pytest.approx(whole.success.value, rel=1e-12)
        assert parts.probability.value == pytest.approx(whole.probability.value, rel=1e-12)


@given(st.integers(1, 300), st.data())
def test_intervals_are_exact(count, data):
    """Clopper's and Pearson's, as SciPy computes them; the interval holds the mean."""
    total = data.draw(st.integers(0, count))
    found = Estimate.of_total(total, count)
    known = binomtest(total, count).proportion_ci(method="exact")
    assert found.low == pytest.approx(known.low, abs=1e-9)
    assert found.high == pytest.approx(known.high, abs=1e-9)
    assert 0 <= found.low <= found.value <= found.high <= 1


def test_nothing_is_known_of_no_numbers():
    """An empty mean says that it says nothing."""
    assert Estimate.of_total(0, 0) == Estimate(0.0, 0.0, 1.0)


def test_outcome_is_a_document():
    """JSON holds rates with intervals, the baseline, both people, and dates as texts."""
    release = Generalization(k=3, algorithm="flash").publish(voile.open_frame(PEOPLE, PLAN))
    document = json.loads(json.dumps(IdentificationAttack().run(release, PEOPLE, PLAN).document()))
    assert document["attack"] == "identification"
    assert document["checked"] is True
    assert document["success"]["low"] <= document["success"]["value"]
    assert document["baseline"] == pytest.approx(1 / 60)
    assert set(document["worst"]["known"]) == set(KNOWN)
    assert document["assumptions"]


@pytest.mark.parametrize(
    ("attack", "message"),
    [
        (lambda: IdentificationAttack(targets=0), "at least 1"),
        (lambda: IdentificationAttack(columns=["id"], link="id"), "is the link"),
        (lambda: IdentificationAttack(columns=[]), "name some"),
        (lambda: IdentificationAttack(columns=["wieght"]), "did you mean 'weight'"),
        (lambda: IdentificationAttack(link="no"), "the release has no column 'no'"),
        (lambda: IdentificationAttack(link="weight.low"), "the original has no column"),
    ],
)
def test_wrong_calls_are_told(attack, message):
    """The message names the column and what is wrong with it."""
    release, people = publish_weights([1.0, 2.0, 4.0], declared=(0, 9), epsilon=1, shares=[1.0])
    with pytest.raises(InputError, match=message):
        attack().run(release, people)


def test_originals_and_releases_must_agree():
    """A missing column, a link that repeats, a document or intervals that were changed."""
    release, people = publish_weights([1.0, 2.0, 4.0], declared=(0, 9), epsilon=1, shares=[1.0])
    with pytest.raises(TableError, match="'weight'"):
        IdentificationAttack().run(release, people.drop("weight"))
    twice = people.with_columns(pl.lit(1).alias("id"))
    with pytest.raises(InputError, match="does not tell rows apart"):
        IdentificationAttack(link="id").run(release, twice)
    (cluster,) = release.disclosure.columns["weight"].clusters
    narrower = cluster.model_copy(update={"half_width": cluster.half_width * 0.7})
    with pytest.raises(TableError, match="not those that the release describes"):
        IdentificationAttack().run(restating(release, "weight", clusters=(narrower,)), people)
    generalized = Generalization(k=3, algorithm="flash").publish(voile.open_frame(PEOPLE, PLAN))
    with pytest.raises(InputError, match="level 9"):
        IdentificationAttack().run(restating(generalized, "zip", level=9), PEOPLE, PLAN)
