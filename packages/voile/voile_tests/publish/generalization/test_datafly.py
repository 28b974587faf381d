"""Datafly climbs to a feasible node."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from voile.models.criteria import Criterion
from voile.models.k_anonymity import KAnonymity
from voile.publish.generalization.evaluation import Evaluator
from voile.publish.generalization.lattice_search import datafly, flash
from voile_tests.publish.generalization.brute_force import Small, criteria, smalls


@given(smalls(), criteria(), st.data())
def test_datafly_finds_a_feasible_node(
    small: Small, models: Sequence[Criterion], data: st.DataObject
) -> None:
    """What it finds is feasible and no better than the optimum; monotone problems are solved."""
    n = len(small.rows)
    problem = small.problem(models, data.draw(st.integers(0, n)))
    solution, best = datafly(problem), flash(problem)
    if solution is None:
        assert best is None or not Evaluator(problem).monotone
        return
    assert best is not None
    assert best.loss <= solution.loss + 1e-12
    assert solution.levels is not None
    node = tuple(solution.levels.values())
    assert len(small.suppressed(node, models)) == solution.suppressed <= problem.suppressible
    assert not solution.proved


def test_the_column_with_the_most_values_rises_first() -> None:
    """Four values against three: the first step is the wide column's, then the first of equals."""
    wide = ((0, 1, 2, 3), (0, 0, 1, 1), (0, 0, 0, 0))
    narrow = ((0, 1, 2), (0, 0, 0))
    rows = tuple((a, b, 0) for a in range(4) for b in range(3))
    small = Small(rows, (narrow, wide))
    rows = tuple((b, a, 0) for a, b, _ in rows)
    small = Small(rows, (narrow, wide))
    solution = datafly(small.problem([KAnonymity(2)], 0))
    assert solution is not None
    assert solution.levels == {"column 0": 0, "column 1": 1}
    assert solution.examined == 2
    solution = datafly(small.problem([KAnonymity(3)], 0))
    assert solution is not None
    assert solution.levels == {"column 0": 1, "column 1": 1}


def test_a_lattice_of_any_size_will_do() -> None:
    """Twenty columns of ten levels are climbed, though their lattice has 10**20 nodes."""
    tall = ((0, 1), *[(0, 0)] * 9)
    rows = tuple((*[i % 2] * 20, 0) for i in range(4))
    solution = datafly(Small(rows, (tall,) * 20).problem([KAnonymity(3)], 0))
    assert solution is not None
    assert solution.group.tolist() == [0, 0]
