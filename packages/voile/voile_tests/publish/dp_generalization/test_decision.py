"""The draw of a node: its utilities, its law, and what one row can change."""

from __future__ import annotations

import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import chisquare

from voile.dp.sampling import delta_of
from voile.publish.dp_generalization.decision import (
    UNITS,
    Choice,
    ChoiceTerms,
    NodeChoice,
    _expected_score,
    _least_excess,
    _node_utilities,
    _sampled_score,
)
from voile_base.randomness import Randomness
from voile_testing.plugin import examples
from voile_tests.publish.dp_generalization.small import Row, problem_of

ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1)), min_size=1, max_size=14)
BETA = Decimal("0.6")
K = 3


def law_of(
    rows: list[Row], choice: Choice, epsilon: float, k: int = K, most: int = 1
) -> NDArray[np.float64]:
    """Probabilities of the nodes, in floating point, from utilities by definition.

    ``most`` is the number of rows by which neighbours differ.
    """
    nodes = product(range(3), range(2))
    utility = np.array([by_definition(rows, node, choice, k) for node in nodes])
    if choice == "sampled":
        rate = epsilon / (2 * k * most)
    else:
        rate = epsilon / (most * _expected_score(k, BETA).sensitivity / UNITS)
    weight = np.exp(rate * utility)
    return weight / weight.sum()


def shown_at(node: tuple[int, ...], row: Row) -> tuple[int, int]:
    """What a row shows at a node."""
    (a, b), (x, y) = node, row
    return [x, x // 2, 0][a], [y, 0][b]


def by_definition(
    rows: list[Row], node: tuple[int, ...], choice: Choice, k: int = K, weight: int = 0
) -> float:
    """What a node publishes times what it leaves, from rows."""
    a, b = node
    p = float(BETA)
    score = sum(
        n * (n >= k)
        if choice == "sampled"
        else sum(j * math.comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(k, n + 1))
        for n in Counter(shown_at(node, row) for row in rows).values()
    )
    return score * (weight + 1 - (a / 2 + b / 1) / 2) / (weight + 1)


@given(ROWS, st.sampled_from(["expected", "sampled"]), st.sampled_from([0, 1, 7, 100]))
def test_utilities_equal_their_definition(rows: list[Row], choice: Choice, weight: int) -> None:
    """Every node's utility is what it publishes times the weighted share of the levels it leaves.

    However suppression is weighted, one row changes no utility by more than before.
    """
    score = _sampled_score(K) if choice == "sampled" else _expected_score(K, BETA)
    nodes = _node_utilities(problem_of(rows), score, weight)
    assert nodes.sensitivity / nodes.unit == Fraction(score.sensitivity, UNITS)
    for number, node in enumerate(product(range(3), range(2))):
        assert nodes.lattice.levels(number) == node
        expected = by_definition(rows, node, choice, weight=weight)
        assert nodes.utilities[number] / nodes.unit == pytest.approx(expected, abs=1e-4)


@given(ROWS, st.tuples(st.integers(0, 3), st.integers(0, 1)))
def test_one_row_changes_no_probability_beyond_the_budget(rows: list[Row], row: Row) -> None:
    """With or without one row, no node is e^epsilon times as likely: neighbours of the choice."""
    epsilon = 1.0
    ratio = law_of([*rows, row], "expected", epsilon) / law_of(rows, "expected", epsilon)
    assert np.abs(np.log(ratio)).max() <= epsilon + 1e-4


@given(ROWS, *[st.tuples(st.integers(0, 3), st.integers(0, 1))] * 2)
def test_one_row_exchanged_changes_no_probability_of_the_seed(
    rows: list[Row], old: Row, new: Row
) -> None:
    """With one row exchanged, no node is e^epsilon times as likely: what the seed's proof needs."""
    epsilon = 1.0
    ratio = law_of([*rows, new], "sampled", epsilon) / law_of([*rows, old], "sampled", epsilon)
    assert np.abs(np.log(ratio)).max() <= epsilon + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("choice", ["expected", "sampled"])
def test_a_person_moves_no_utility_beyond_the_sensitivity(choice: Choice) -> None:
    """Of all tables of up to 3 rows of 6 kinds, and all persons of up to 3 rows.

    Where the node is chosen on all rows a person lowers no utility either, and as many rows as the
    person has move one by more than the sensitivity of one row fewer.
    """
    score = _sampled_score(2) if choice == "sampled" else _expected_score(2, BETA)
    kinds = [(x, y) for x in (0, 1, 2) for y in (0, 1)]
    found = {
        n: list(combinations_with_replacement(kinds, n)) for n in range(7)
    }  # the rows of a table, in order
    utilities, one = {}, Fraction(0)
    for rows in (rows for tables in found.values() for rows in tables if rows):
        nodes = _node_utilities(problem_of(list(rows)), score)
        utilities[rows], one = nodes.utilities, nodes.sensitivity
    utilities[()] = np.zeros_like(nodes.utilities)
    for most in (1, 2, 3):
        changes = [
            utilities[tuple(sorted((*rest, *person)))] - utilities[rest]
            for n in range(4)
            for rest in found[n]
            for person in found[most]
        ]
        assert np.max(changes) <= most * one
        assert np.max(changes) > (most - 1) * one
        assert np.min(changes) >= 0


@settings(max_examples=examples(25))
@given(ROWS, st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1)), min_size=1, max_size=3))
def test_a_person_changes_no_probability_beyond_the_budget(
    rows: list[Row], person: list[Row]
) -> None:
    """With or without up to three rows, no node is e^epsilon times as likely."""
    laws = [law_of(table, "expected", 1.0, most=3) for table in (rows, [*rows, *person])]
    assert np.abs(np.log(laws[0] / laws[1])).max() <= 1 + 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("choice", ["expected", "sampled"])
@pytest.mark.parametrize("most", [1, 3])
def test_nodes_are_drawn_by_their_law(choice: Choice, most: int) -> None:
    """4,000 draws fit the exponential mechanism's law, and not that of a budget 30 % off.

    Chi-square over six nodes; false-alarm rate 1e-4 for the right law.
    """
    rows = [(0, 0)] * 4 + [(1, 0)] * 3 + [(2, 1)] * 5 + [(3, 1)] * 2
    epsilon = Decimal(3)  # as flat a law for three rows as for one at 1
    terms = ChoiceTerms(K, BETA, epsilon, choice, most)
    nodes = NodeChoice.of(problem_of(rows), terms)
    drawn = np.zeros(6, dtype=int)
    for seed in range(4_000):
        node = nodes.draw(Randomness.seeded(seed).key("node"))
        drawn[node.levels[0] * 2 + node.levels[1]] += 1
    right = law_of(rows, choice, 3.0, most=most) * drawn.sum()
    wrong = law_of(rows, choice, 3.0 * 1.3, most=most) * drawn.sum()
    assert chisquare(drawn, right).pvalue > 1e-4
    assert chisquare(drawn, wrong).pvalue < 1e-4


@pytest.mark.slow
@settings(max_examples=examples(25))
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1)), min_size=1, max_size=7),
    st.tuples(st.integers(0, 3), st.integers(0, 1)),
)
def test_the_whole_release_keeps_its_epsilon_and_delta(rows: list[Row], row: Row) -> None:
    """Enumerating every sample of two neighbouring tables, no event differs by more than promised.

    The hockey-stick divergence at epsilon is at most delta, in both directions.
    """
    delta = float(delta_of(K, BETA, _least_excess(BETA)))
    assert divergence([*rows, row], rows, K, 1.0, "expected") <= delta + 1e-6


@settings(max_examples=examples(15))
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1)), min_size=1, max_size=5),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1)), min_size=2, max_size=2),
    st.sampled_from(["expected", "sampled"]),
)
def test_the_whole_release_keeps_its_epsilon_and_delta_for_a_person(
    rows: list[Row], person: list[Row], choice: Choice
) -> None:
    """The same for a person with two rows, whose excess and delta are those of two rows.

    Where the sample chooses the node, delta is summed over the six nodes.
    """
    delta = float(delta_of(K, BETA, 2 * _least_excess(BETA), 2)) * (6 if choice == "sampled" else 1)
    found = divergence([*rows, *person], rows, K, 1.0, choice, most=2)
    assert found <= delta + 1e-6


def test_what_one_row_may_spend_does_not_hide_two() -> None:
    """At the epsilon of one row, two rows of a person break delta: a group of two or of four."""
    rows = [(0, 0)] * 2
    delta = float(delta_of(2, BETA, _least_excess(BETA)))
    assert divergence([*rows, (0, 0)], rows, 2, 1.0, "expected") <= delta
    assert divergence([*rows, (0, 0), (0, 0)], rows, 2, 1.0, "expected") > delta
    both = float(delta_of(2, BETA, 2 * _least_excess(BETA), 2))
    assert divergence([*rows, (0, 0), (0, 0)], rows, 2, 1.0, "expected", most=2) <= both


def test_the_seeds_sample_for_both_exceeds_its_delta() -> None:
    """Choosing the node on the published sample breaks eq. 14, on a table of five rows and one.

    k = 2, beta = 0.6 and a choice budget of 6: delta is 0.36 by eq. 14, and 0.3616 in truth.  The
    same tables keep to it where the node is chosen apart from the sample.
    """
    rows = [(0, 0), (0, 0), (2, 0), (3, 1), (1, 0)]
    claimed = float(delta_of(2, BETA, _least_excess(BETA)))
    assert claimed == pytest.approx(0.36)
    assert divergence([*rows, (2, 1)], rows, 2, 6.0, "sampled") > claimed + 0.0015
    assert divergence([*rows, (2, 1)], rows, 2, 6.0, "expected") <= claimed


def divergence(
    first: list[Row], second: list[Row], k: int, epsilon: float, choice: Choice, most: int = 1
) -> float:
    """The larger hockey-stick divergence of two tables' releases, at the whole epsilon."""
    whole = math.exp(epsilon + most * float(_least_excess(BETA)))
    laws = [outputs(rows, k, epsilon, choice, most) for rows in (first, second)]
    return max(
        sum(max(0.0, chance - whole * other.get(o, 0.0)) for o, chance in one.items())
        for one, other in (laws, laws[::-1])
    )


def outputs(
    rows: list[Row], k: int, epsilon: float, choice: Choice, most: int
) -> dict[object, float]:
    """Probability of every release, by enumerating nodes and samples."""
    found: dict[object, float] = {}
    p = float(BETA)
    for taken in product([False, True], repeat=len(rows)):
        sample = [row for row, is_taken in zip(rows, taken, strict=True) if is_taken]
        weight = p ** len(sample) * (1 - p) ** (len(rows) - len(sample))
        law = law_of(rows if choice == "expected" else sample, choice, epsilon, k, most)
        for node, chance in zip(product(range(3), range(2)), law, strict=True):
            sizes = Counter(shown_at(node, row) for row in sample)
            published = frozenset((o, n) for o, n in sizes.items() if n >= k)
            found[node, published] = found.get((node, published), 0.0) + weight * chance
    return found
