"""What the nodes of a lattice do to the rows, against the definitions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voile.models.criteria import Criterion
from voile.models.information_loss import (
    attribute_losses,
    average_class_size,
    discernibility,
    precision,
    product_of_losses,
)
from voile.models.k_anonymity import KAnonymity
from voile.models.l_diversity import DistinctDiversity, EntropyDiversity
from voile.publish.generalization.evaluation import Evaluator, Tables
from voile.publish.generalization.grouping import Fields, Grouper, GroupTable
from voile.publish.generalization.lattice import Lattice, Levels, ObjectiveName
from voile.publish.generalization.problem import Problem, Solution
from voile_tests.publish.generalization.brute_force import (
    OBJECTIVES,
    SENSITIVE,
    Small,
    criteria,
    smalls,
)


@pytest.mark.parametrize("objective", OBJECTIVES)
@given(small=smalls(), models=criteria(), data=st.data())
def test_nodes_are_as_their_definition_says(
    objective: ObjectiveName,
    small: Small,
    models: Sequence[Criterion],
    data: st.DataObject,
) -> None:
    """In any order of nodes: suppressed rows, feasibility and loss are those of the definition.

    Where more rows than may be fall short of what counts alone, no further criterion is asked.
    """
    suppressible = data.draw(st.integers(0, len(small.rows)))
    evaluator = Evaluator(small.problem(models, suppressible), objective)
    feasible = small.feasible(models, suppressible)
    for node in data.draw(st.permutations(list(small.nodes()))):
        found = evaluator.evaluate(node)
        suppressed = small.suppressed(node, models)
        assert found.feasible == (node in feasible)
        assert found.short <= found.suppressed <= len(suppressed)
        if found.short <= suppressible:
            assert found.suppressed == len(suppressed)
        if found.feasible:
            assert found.loss == pytest.approx(small.loss(objective, node, suppressed), abs=1e-12)


@pytest.mark.parametrize("objective", OBJECTIVES)
@given(small=smalls(), models=criteria())
def test_bounds_hold_for_all_nodes_above(
    objective: ObjectiveName, small: Small, models: Sequence[Criterion]
) -> None:
    """No node at or above another has a loss below the other's bounds, whatever it suppresses."""
    evaluator = Evaluator(small.problem(models, len(small.rows)), objective)
    bounds = evaluator.objective.bounds(evaluator.lattice)
    found = [evaluator.evaluate(node) for node in small.nodes()]
    for low, first in zip(found, bounds, strict=True):
        for high in found:
            if all(a <= b for a, b in zip(low.levels, high.levels, strict=True)):
                assert max(low.bound, first) <= high.loss + 1e-12


@pytest.mark.parametrize("objective", OBJECTIVES)
@given(small=smalls(), models=criteria())
def test_nodes_below_suppress_what_falls_short_and_lose_by_it(
    objective: ObjectiveName, small: Small, models: Sequence[Criterion]
) -> None:
    """Rows short of what counts alone are suppressed below, too; no loss is under their bound."""
    evaluator = Evaluator(small.problem(models, len(small.rows)), objective)
    found = [evaluator.evaluate(node) for node in small.nodes()]
    for high in found:
        for low in found:
            if all(a <= b for a, b in zip(low.levels, high.levels, strict=True)):
                assert low.suppressed >= high.short
                bounds = evaluator.objective.bounds_suppressing(
                    np.array([low.levels]), np.array([high.short])
                )
                assert bounds[0] <= low.loss + 1e-12


@given(smalls(), criteria(), st.booleans())
def test_monotone_means_that_feasible_nodes_stay_so(
    small: Small, models: Sequence[Criterion], all_rows: bool
) -> None:
    """Where the evaluator says monotone, no infeasible node lies above a feasible one."""
    suppressible = len(small.rows) // 3 if all_rows else 0
    evaluator = Evaluator(small.problem(models, suppressible))
    if evaluator.monotone:
        feasible = small.feasible(models, suppressible)
        for node in feasible:
            assert all(above in feasible for above in evaluator.lattice.successors(node))


def test_diversity_is_not_monotone_under_suppression() -> None:
    """Entropy l-diversity loses rows by generalizing; claiming otherwise would lose the optimum."""
    rows = ((0, 0), (0, 1), (1, 0), (1, 0), (1, 0), (1, 0), (1, 0))
    small = Small(rows, (((0, 1), (0, 0)),))
    models = [EntropyDiversity(2, SENSITIVE)]
    assert small.suppressed((0,), models) == list(rows[2:])
    assert small.suppressed((1,), models) == list(rows)
    assert not Evaluator(small.problem(models, 5)).monotone
    assert Evaluator(small.problem(models, 0)).monotone
    assert Evaluator(small.problem([DistinctDiversity(2, SENSITIVE)], 5)).monotone


@given(smalls(), criteria(), st.data())
def test_a_solution_shows_what_its_node_says(
    small: Small, models: Sequence[Criterion], data: st.DataObject
) -> None:
    """Combinations are grouped by what they show, ascending, and suppressed ones have no group."""
    problem = small.problem(models, len(small.rows))
    node = data.draw(st.sampled_from(list(small.nodes())))
    evaluator = Evaluator(problem)
    solution = evaluator.solution(evaluator.evaluate(node), examined=1)
    suppressed = set(small.suppressed(node, models))
    shown = _shown(solution)
    assert shown == sorted(set(shown))
    for combination, group in zip(problem.counts.codes.tolist(), solution.group, strict=True):
        assert (group < 0) == (tuple(combination) in suppressed)
        if group >= 0:
            levels = zip(small.columns, node, combination[:-1], strict=True)
            assert shown[group] == tuple(column[level][code] for column, level, code in levels)
    assert set(solution.group.tolist()) - {-1} == set(range(len(shown)))


@given(smalls(), st.integers(1, 4), st.data())
def test_objectives_agree_with_the_measures_of_a_finished_release(
    small: Small, k: int, data: st.DataObject
) -> None:
    """What a search minimises is what ``models.information_loss`` measures on its groups."""
    problem = small.problem([KAnonymity(k)], len(small.rows))
    node = data.draw(st.sampled_from(list(small.nodes())))
    losses = {name: Evaluator(problem, name).evaluate(node) for name in OBJECTIVES}
    if not losses["loss"].feasible:
        return
    suppressed = small.suppressed(node, [KAnonymity(k)])
    groups = {key: rows for key, rows in small.groups(node).items() if len(rows) >= k}
    rows = np.array([len(group) for group in groups.values()], dtype=np.int64)
    share = np.array(
        [
            [
                h.values[level].share[code]
                for h, level, code in zip(problem.hierarchies, node, key, strict=True)
            ]
            for key in groups
        ]
    )
    least = np.array(
        [
            sum(h.values[0].share[row[j]] for row in small.rows)
            for j, h in enumerate(problem.hierarchies)
        ]
    )
    measured = product_of_losses(attribute_losses(rows, share, least, len(suppressed)))
    assert losses["loss"].loss == pytest.approx(measured, abs=1e-12)
    heights = np.array([h.height for h in problem.hierarchies])
    climbed = 1 - precision(rows, np.array(node), heights, len(suppressed))
    assert losses["precision"].loss == pytest.approx(climbed, abs=1e-12)
    assert losses["discernibility"].loss == discernibility(rows, len(suppressed))
    classes = np.append(rows, len(suppressed)) if suppressed else rows
    assert losses["average-class-size"].loss == pytest.approx(average_class_size(classes, 1))


@given(smalls())
def test_all_tables_are_made_once(small: Small) -> None:
    """A traversal meets every node once, with the groups of that node."""
    tables = Tables(small.problem([], 0))
    met: dict[Levels, list[int]] = {}

    def visit(levels: Levels, table: GroupTable) -> bool:
        assert levels not in met
        met[levels] = sorted(table.rows.tolist())
        return True

    tables.visit_all(visit)
    sizes = {n: sorted(map(len, small.groups(n).values())) for n in small.nodes()}
    assert met == sizes


@given(smalls(), st.data())
def test_a_traversal_leaves_out_only_nodes_above(small: Small, data: st.DataObject) -> None:
    """Where a visit says stop, nodes that are not above it are met all the same."""
    tables = Tables(small.problem([], 0))
    stop = data.draw(st.sampled_from(list(small.nodes())))
    met = []

    def visit(levels: Levels, table: GroupTable) -> bool:
        met.append(levels)
        return levels != stop

    tables.visit_all(visit)
    assert all(
        all(a <= b for a, b in zip(stop, node, strict=True))
        for node in set(small.nodes()) - set(met)
    )


def test_many_columns_need_several_words() -> None:
    """Seventy columns of two values do not fit one word, and are grouped and rolled up exactly."""
    rng = np.random.default_rng(7)
    codes = tuple(tuple(row) for row in rng.integers(0, 2, (200, 70)).tolist())
    binary = ((0, 1),)
    columns = (((0, 1), (0, 0)), *[binary] * 68, ((0, 1), (0, 0)))
    repeated = tuple((*row, 0) for row in codes) * 2
    # Rows that differ in the first and in the last column alone: they meet at the top only.
    twin = repeated[0][1:69]
    rows = (*repeated, (0, *twin, 0, 0), (1, *twin, 0, 0), (0, *twin, 1, 0))
    small = Small(rows, columns)
    evaluator = Evaluator(small.problem([KAnonymity(3)], len(rows)))
    for node in [(0, *[0] * 69), (1, *[0] * 69), (1, *[0] * 68, 1)]:
        assert evaluator.evaluate(node).suppressed == len(small.suppressed(node, [KAnonymity(3)]))


@given(
    st.lists(st.integers(1, 2**40), min_size=1, max_size=6),
    st.integers(0, 30),
    st.data(),
)
def test_packed_codes_come_back(sizes: list[int], rows: int, data: st.DataObject) -> None:
    """Codes of any width are packed and read back, and equal rows are one group."""
    values = [
        np.array(
            data.draw(
                st.lists(st.sampled_from([0, size // 2, size - 1]), min_size=rows, max_size=rows)
            ),
            dtype=np.int64,
        )
        for size in sizes
    ]
    fields = Fields(sizes)
    words = fields.pack(values)
    for column, codes in enumerate(values):
        assert fields.codes(words, column).tolist() == codes.tolist()
    table, member = Grouper().group_with_members(words, np.ones(rows, dtype=np.int64))
    combined = list(zip(*(codes.tolist() for codes in values), strict=True))
    assert len(table) == len(set(combined))
    assert table.rows.tolist() == np.bincount(member, minlength=len(table)).tolist()
    for i, group in enumerate(member.tolist()):
        shown = tuple(int(fields.codes(table.words, j)[group]) for j in range(len(sizes)))
        assert shown == combined[i]


@given(smalls(), st.integers(1, 3))
def test_losses_do_not_depend_on_the_way_to_a_node(small: Small, k: int) -> None:
    """A node reached through others has bit for bit the loss of one looked at alone."""
    problem = small.problem([KAnonymity(k)], len(small.rows))
    together = Evaluator(problem)
    for node in small.nodes():
        assert together.evaluate(node) == Evaluator(problem).evaluate(node)


@pytest.mark.slow
def test_old_tables_make_room() -> None:
    """The tables that are kept stay within their number; results stay right."""
    columns = ((tuple(range(4)),) * 1 + ((0, 0, 1, 1),) * 11,) * 3
    small = Small(
        tuple((a, b, c, 0) for a in range(4) for b in range(4) for c in range(4)), columns
    )
    problem: Problem = small.problem([KAnonymity(8)], 64)
    evaluator = Evaluator(problem)
    lattice = Lattice.of(problem.hierarchies)
    assert lattice.size > 1_024
    for number in range(lattice.size):
        levels = lattice.levels(number)
        merged = sum(level > 0 for level in levels)
        assert evaluator.evaluate(levels).suppressed == (0 if merged == 3 else 64)


def _shown(solution: Solution) -> list[tuple[int, ...]]:
    return [tuple(c) for c in np.column_stack([c.codes for c in solution.columns]).tolist()]
