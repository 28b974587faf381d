"""OLA finds the optimum that Flash finds."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voile.models.criteria import Criterion
from voile.models.k_anonymity import KAnonymity
from voile.publish.generalization.lattice import ObjectiveName
from voile.publish.generalization.lattice_search import flash, ola
from voile_base.errors import PlanError
from voile_tests.publish.generalization.brute_force import OBJECTIVES, Small, criteria, smalls


@pytest.mark.parametrize("objective", OBJECTIVES)
@given(small=smalls(), models=criteria(), data=st.data())
def test_ola_finds_the_optimum(
    objective: ObjectiveName, small: Small, models: Sequence[Criterion], data: st.DataObject
) -> None:
    """The loss is the least of all feasible nodes, and the node is the one that Flash finds."""
    n = len(small.rows)
    suppressible = data.draw(st.sampled_from([0, n // 4, n]))
    problem = small.problem(models, suppressible)
    solution = ola(problem, objective)
    feasible = small.feasible(models, suppressible)
    other = flash(problem, objective)
    if solution is None or other is None:
        assert not feasible
        assert solution is other
        return
    best = min(small.loss(objective, *node) for node in feasible.items())
    assert solution.loss == pytest.approx(best, rel=1e-9, abs=1e-12)
    assert (solution.levels, solution.loss) == (other.levels, other.loss)
    assert solution.group.tolist() == other.group.tolist()
    assert solution.proved


def test_sublattices_spare_most_of_the_lattice() -> None:
    """Where nothing may be suppressed, few nodes of a tall lattice are looked at."""
    levels = (tuple(range(8)), *[tuple(c >> h for c in range(8)) for h in (1, 2, 3)])
    rows = tuple((a, b, c, 0) for a in range(8) for b in range(8) for c in range(8))
    small = Small(rows, (levels,) * 3)
    solution = ola(small.problem([KAnonymity(64)], 0))
    assert solution is not None
    assert solution.examined < 64 / 2


def test_lattices_too_large_are_refused() -> None:
    """Nothing is enumerated, and no other method is taken silently."""
    tall = tuple((0, 1) for _ in range(10))
    small = Small(((0,) * 9,), (tall,) * 8)
    with pytest.raises(PlanError, match="100,000,000 nodes"):
        ola(small.problem([KAnonymity(1)], 0))
