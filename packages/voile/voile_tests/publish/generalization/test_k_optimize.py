"""k-Optimize: valid groups, the limit of suppression, and the optimum by exhaustive search."""

from collections import Counter, defaultdict
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voile.models.k_anonymity import KAnonymity
from voile.models.l_diversity import DistinctDiversity
from voile.models.t_closeness import EqualCloseness
from voile.publish.generalization import k_optimize
from voile_base.errors import PlanError
from voile_testing.plugin import examples
from voile_tests.publish.generalization.cut_tables import (
    TREE,
    covers,
    groups_of,
    leaves,
    maybe_numbers,
    numbers,
    problem_of,
    shown,
)

objectives = st.sampled_from(["discernibility", "loss"])
small_k = st.integers(1, 4)
columns = st.sampled_from([maybe_numbers, leaves])


def divisions(q):
    """All ways to divide q values into intervals: the interval of each value."""
    for borders in product([0, 1], repeat=max(q - 1, 0)):
        yield np.cumsum([0, *borders]).tolist()


def in_order(column):
    """The distinct values as the algorithm orders them: missing first, leaves along the tree."""
    present = sorted({v for v in column if v is not None})
    if present and isinstance(present[0], str):
        present.sort(key=lambda leaf: TREE[leaf][::-1])
    return [None] * (None in column) + present


def share(values, inside):
    """What an interval covers of its column's domain."""
    if isinstance(values[-1], str):
        for level in range(3):
            nodes = {TREE[v][level] for v in inside}
            if len(nodes) == 1:
                return sum(path[level] in nodes for path in TREE.values()) / len(TREE)
    if len(inside) == 1:
        return 0.0
    if None in inside:
        return 1.0
    present = [v for v in values if v is not None]
    return (inside[-1] - inside[0]) / (present[-1] - present[0])


def cost_of(rows, columns, intervals, objective, valid, suppressible):
    """What a choice of intervals costs, or None where it suppresses too much or everything."""
    place = [
        dict(zip(values, i, strict=True)) for values, i in zip(columns, intervals, strict=True)
    ]
    groups = defaultdict(list)
    for row in rows:
        groups[tuple(place[j][row[j]] for j in range(len(columns)))].append(row)
    kept = {key: group for key, group in groups.items() if valid(group)}
    suppressed = len(rows) - sum(map(len, kept.values()))
    if suppressed > suppressible or not kept:
        return None
    if objective == "discernibility":
        return sum(len(group) ** 2 for group in kept.values()) + suppressed * len(rows)
    losses = []
    for j, values in enumerate(columns):
        inside = defaultdict(list)
        for value in values:
            inside[place[j][value]].append(value)
        lost = suppressed + sum(
            len(group) * share(values, inside[key[j]]) for key, group in kept.items()
        )
        least = sum(share(values, [row[j]]) for row in rows)
        losses.append((lost - least) / (len(rows) - least) if least < len(rows) else 0.0)
    return np.prod([1 + loss for loss in losses]) ** (1 / len(losses)) - 1


def least_cost(rows, objective, valid, suppressible, m):
    """The smallest cost over all choices of intervals of the first m columns."""
    columns = [in_order([row[j] for row in rows]) for j in range(m)]
    costs = [
        cost_of(rows, columns, intervals, objective, valid, suppressible)
        for intervals in product(*(list(divisions(len(values))) for values in columns))
    ]
    return min((cost for cost in costs if cost is not None), default=None)


def assert_least(solution, expected, objective):
    """The solution costs no more than the least cost, and less only by what it does not show.

    The search measures intervals over all rows; what suppressed rows alone hold widens nothing
    that is shown, which only the loss can tell.
    """
    assert solution.loss <= expected + 1e-9
    if objective == "discernibility" or not solution.suppressed:
        assert solution.loss == pytest.approx(expected, abs=1e-9)


def check(problem, solution, k):
    """Groups have k rows and show what is true, and suppressed rows are counted."""
    groups = groups_of(problem, solution)
    suppressed = groups.pop(-1, [])
    assert sum(n for _, n in suppressed) == solution.suppressed <= problem.suppressible
    assert set(groups) == set(range(len(solution.columns[0].codes)))
    for group, combinations in groups.items():
        assert sum(n for _, n in combinations) >= k
        for column in range(len(solution.columns)):
            texts = problem.counts.values[column].texts
            region = shown(problem, solution, group, column)
            assert all(covers(region, texts[codes[column]]) for codes, _ in combinations)


@pytest.mark.slow
@given(st.data(), small_k, objectives, st.integers(0, 6))
def test_one_column_is_optimal(data, k, objective, suppressible):
    """No division into intervals and suppressed values costs less."""
    rows = data.draw(st.lists(st.tuples(data.draw(columns)), min_size=1, max_size=20))
    problem = problem_of(rows, [KAnonymity(k)], suppressible, ("x",), sensitive=0)
    solution = k_optimize.k_optimize(problem, objective)
    expected = least_cost(rows, objective, lambda group: len(group) >= k, suppressible, 1)
    if expected is None:
        assert solution is None
        return
    assert solution.proved
    assert_least(solution, expected, objective)
    check(problem, solution, k)


@pytest.mark.slow
@given(
    st.lists(st.tuples(numbers, st.sampled_from("uvw")), min_size=1, max_size=16),
    small_k,
    objectives,
    st.integers(0, 5),
)
def test_one_column_is_optimal_under_further_criteria(rows, k, objective, suppressible):
    """The optimum under l-diversity and t-closeness, where wider intervals may be worse."""
    criteria = [KAnonymity(k), DistinctDiversity(2, "s"), EqualCloseness("0.5", "s")]
    everybody = Counter(s for _, s in rows)

    def valid(group):
        here = Counter(s for _, s in group)
        far = sum(abs(here[v] / len(group) - everybody[v] / len(rows)) for v in everybody) / 2
        return len(group) >= k and len(here) >= 2 and far <= 0.5 + 1e-12

    problem = problem_of(rows, criteria, suppressible, ("x", "s"))
    solution = k_optimize.k_optimize(problem, objective)
    expected = least_cost(rows, objective, valid, suppressible, 1)
    if expected is None:
        assert solution is None
        return
    assert_least(solution, expected, objective)
    check(problem, solution, k)


few = st.integers(0, 3)
few_leaves = st.sampled_from(["a1", "a2", "b1", "c"])


@given(
    st.lists(st.tuples(few, few_leaves), min_size=1, max_size=16),
    small_k,
    objectives,
    st.integers(0, 6),
)
def test_several_columns_are_optimal_once_the_search_ends(rows, k, objective, suppressible):
    """No choice of cuts costs less, for either objective and any limit of suppression."""
    problem = problem_of(rows, [KAnonymity(k)], suppressible, ("x", "place"), sensitive=0)
    solution = k_optimize.k_optimize(problem, objective)
    expected = least_cost(rows, objective, lambda group: len(group) >= k, suppressible, 2)
    if expected is None:
        assert solution is None
        return
    assert solution.proved
    assert_least(solution, expected, objective)
    check(problem, solution, k)


@given(
    st.lists(st.tuples(few, few, st.sampled_from("uv")), min_size=1, max_size=14),
    objectives,
    st.integers(0, 6),
)
def test_several_columns_are_optimal_under_diversity(rows, objective, suppressible):
    """Bounds that hold for k alone do not cut off what diversity allows."""
    criteria = [KAnonymity(2), DistinctDiversity(2, "s")]
    problem = problem_of(rows, criteria, suppressible, ("x", "y", "s"))
    solution = k_optimize.k_optimize(problem, objective)

    def valid(group):
        return len(group) >= 2 and len({s for *_, s in group}) >= 2

    expected = least_cost(rows, objective, valid, suppressible, 2)
    if expected is None:
        assert solution is None
        return
    assert solution.proved
    assert_least(solution, expected, objective)


@settings(max_examples=examples(30))
@given(st.lists(st.tuples(numbers, numbers), min_size=4, max_size=30), objectives)
def test_a_spent_budget_is_told_and_the_answer_still_valid(rows, objective):
    """Ten looks prove little; what they find keeps the criteria, and is the same each time."""
    problem = problem_of(rows, [KAnonymity(2)], 0, ("x", "y"), sensitive=0)
    hasty = k_optimize.k_optimize(problem, objective, budget=10)
    patient = k_optimize.k_optimize(problem, objective, budget=200)
    assert hasty is not None
    check(problem, hasty, 2)
    assert patient.loss <= hasty.loss
    assert (
        hasty.group.tolist() == k_optimize.k_optimize(problem, objective, budget=10).group.tolist()
    )
    if hasty.proved:
        assert patient.loss == hasty.loss


def test_a_budget_too_small_for_a_proof_is_reported():
    """A thousand possible cuts are not settled by fifty looks."""
    rows = [(v % 37, v % 41) for v in range(200)]
    problem = problem_of(rows, [KAnonymity(2)], 0, ("x", "y"), sensitive=0)
    solution = k_optimize.k_optimize(problem, budget=50)
    assert not solution.proved
    assert solution.examined <= 60


def test_values_of_suppressed_rows_are_not_shown():
    """An outlier that is left out widens no interval, nor stands among the texts of the column."""
    rows = [(1, "a1")] * 5 + [(2, "a1")] * 5 + [(6, "c")]
    problem = problem_of(rows, [KAnonymity(5)], 1, ("x", "place"), sensitive=0)
    solution = k_optimize.k_optimize(problem, "loss")
    assert solution.suppressed == 1
    assert max(solution.columns[0].values.high.decimals()) == 2
    assert solution.columns[1].values is None or "c" not in solution.columns[1].values.texts


OUTLIERS = [(v,) for v in range(7) for _ in range(40)] + [(10,), (20,)]
"""Without a limit, the least loss leaves both outliers out."""


def test_limits_below_the_best_suppression_are_kept():
    """Each limit has its own optimum, and each row that may be left out makes it better."""
    costs = []
    for limit in range(4):
        problem = problem_of(OUTLIERS, [KAnonymity(3)], limit, ("x",), sensitive=0)
        solution = k_optimize.k_optimize(problem, "loss")
        assert solution.suppressed == min(limit, 2)
        costs.append(solution.loss)
    assert costs[0] > costs[1] > costs[2] == costs[3]


def test_objectives_that_it_has_no_bound_for_are_refused():
    """The message names those it has."""
    problem = problem_of([(1,)], [KAnonymity(1)], 0, ("x",), sensitive=0)
    with pytest.raises(PlanError, match="minimises discernibility or loss"):
        k_optimize.k_optimize(problem, "precision")


def test_what_is_not_affordable_is_refused(monkeypatch):
    """Too many values times suppressible rows, or intervals times sensitive values."""
    problem = problem_of(OUTLIERS, [KAnonymity(3)], 1, ("x",), sensitive=0)
    monkeypatch.setattr(k_optimize, "MAXIMUM_STATES", 10)
    with pytest.raises(PlanError, match="set suppression_limit to 0 or to 1"):
        k_optimize.k_optimize(problem, "loss")
    monkeypatch.setattr(k_optimize, "MAXIMUM_CELLS", 10)
    pairs = [(v, "uv"[v % 2]) for v in range(8)]
    problem = problem_of(pairs, [DistinctDiversity(2, "s")], 0, ("x", "s"))
    with pytest.raises(PlanError, match="every interval of 8 values"):
        k_optimize.k_optimize(problem)


def test_no_rows_have_no_solution():
    """More rows are asked for than there are, or there are none."""
    assert (
        k_optimize.k_optimize(problem_of([(1,)], [KAnonymity(2)], 1, ("x",), sensitive=0)) is None
    )
    several = problem_of([(1, 2)], [KAnonymity(2)], 1, ("x", "y"), sensitive=0)
    assert k_optimize.k_optimize(several) is None
