"""Flash finds the optimum, whatever the objective, the criteria and the suppression limit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voile.models.criteria import Criterion
from voile.models.k_anonymity import KAnonymity
from voile.publish.generalization import lattice_search
from voile.publish.generalization.lattice import ObjectiveName
from voile.publish.generalization.lattice_search import flash
from voile_base.errors import PlanError
from voile_tests.publish.generalization.brute_force import OBJECTIVES, Small, criteria, smalls


@pytest.mark.parametrize("objective", OBJECTIVES)
@given(small=smalls(), models=criteria(), data=st.data())
def test_flash_finds_the_optimum(
    objective: ObjectiveName, small: Small, models: Sequence[Criterion], data: st.DataObject
) -> None:
    """The loss is the least of all feasible nodes, the node one of the lowest with that loss."""
    n = len(small.rows)
    suppressible = data.draw(st.sampled_from([0, n // 4, n]))
    solution = flash(small.problem(models, suppressible), objective)
    losses = {
        node: small.loss(objective, node, suppressed)
        for node, suppressed in small.feasible(models, suppressible).items()
    }
    if solution is None:
        assert not losses
        return
    assert solution.levels is not None
    node = tuple(solution.levels.values())
    best = min(losses.values())
    assert solution.loss == pytest.approx(best, rel=1e-9, abs=1e-12)
    assert losses[node] == pytest.approx(best, rel=1e-9, abs=1e-12)
    as_good = [levels for levels, loss in losses.items() if loss <= best * (1 + 1e-9) + 1e-12]
    assert sum(node) == min(map(sum, as_good))
    assert solution.suppressed == len(small.suppressed(node, models))
    assert solution.proved


def test_paths_spare_most_of_the_lattice() -> None:
    """Where nothing may be suppressed, few nodes of a tall lattice are looked at."""
    levels = (tuple(range(8)), *[tuple(c >> h for c in range(8)) for h in (1, 2, 3)])
    rows = tuple((a, b, c, 0) for a in range(8) for b in range(8) for c in range(8))
    small = Small(rows, (levels,) * 3)
    solution = flash(small.problem([KAnonymity(64)], 0))
    assert solution is not None
    assert solution.examined < 64 / 2


def test_what_must_be_suppressed_can_make_all_nodes_infeasible() -> None:
    """A release without rows is none, even if all of them may be suppressed."""
    small = Small(((0, 0), (1, 0)), (((0, 1), (0, 0)),))
    assert flash(small.problem([KAnonymity(3)], 2)) is None


def test_lattices_too_large_are_refused() -> None:
    """Nothing is enumerated, and no other method is taken silently."""
    tall = tuple((0, 1) for _ in range(10))
    small = Small(((0,) * 9,), (tall,) * 8)
    with pytest.raises(PlanError, match="100,000,000 nodes"):
        flash(small.problem([KAnonymity(1)], 0))


@pytest.mark.parametrize("count", [1, 7, 50, 200])
def test_the_next_nodes_are_the_least_pairs_of_all(count: int) -> None:
    """As many as are asked for, those that sorting all of them puts first, whatever repeats."""
    draw = np.random.default_rng(count)
    first, second = draw.integers(0, 6, 120), draw.permutation(120) / 7
    chosen = lattice_search._least(first, second, count)
    assert sorted(chosen.tolist()) == sorted(np.lexsort((second, first))[:count].tolist())
