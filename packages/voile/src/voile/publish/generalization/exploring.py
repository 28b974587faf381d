"""The solutions beside the one that is chosen: nodes of the lattice, or the groups of a partition.

What it is for: the custodian who wants to see what a search has seen.  For each node there is
whether it may be published, how many rows it leaves out, its loss and its smallest group; for some
rows what they read at every level of every column, so that any node can be shown without asking
the table again; and the groups of the chosen solution, the smallest first.

A lattice of up to ``MOST_NODES`` nodes is told whole, within an effort; of a larger one the nodes
nearest to the chosen solution, or to the top where nothing is feasible.

Guarantee: none; everything here is private, computed from private rows.

Cost: that of the decision; for each node that of ``evaluation``, within ``_EFFORT`` entries.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from voile.publish.generalization.evaluation import Evaluator, average_risk
from voile.publish.generalization.lattice import Lattice, Levels
from voile.publish.generalization.problem import Problem, Solution
from voile.schema.hierarchy.generalized import BoundHierarchy, DistinctValues
from voile.table.private import RowTexts
from voile_base.values import Json

__all__ = ["explored"]

_MOST_NODES = 1_500
_NEAREST = 300
"""Nodes that are told of a larger lattice."""
_EFFORT = 40_000_000
_GROUPS = 12


def explored(
    problem: Problem,
    decide: Callable[[Problem], Solution | None],
    texts: RowTexts,
    rows: int,
) -> Json:
    """All that an explorer shows, as JSON takes it; private.

    ``texts`` are the rows that were counted, of which ``rows`` are told, and as many of each group.
     Raises ``PlanError``
    as the decision does.
    """
    evaluator = Evaluator(problem)
    solution = decide(problem)
    names = [hierarchy.column for hierarchy in problem.hierarchies]
    first = texts.combination[:rows]
    whole = evaluator.lattice.size <= _MOST_NODES
    centre = evaluator.lattice.top
    if solution is not None and solution.levels is not None:
        centre = tuple(solution.levels[name] for name in names)
    order = _all_nodes(evaluator.lattice) if whole else _nearest(evaluator.lattice, centre)
    nodes = list(_looked_at(evaluator, order, first))
    return {
        "columns": [_column(one, problem, j) for j, one in enumerate(problem.hierarchies)],
        "lattice": {
            "size": evaluator.lattice.size,
            "whole": whole and len(nodes) == evaluator.lattice.size,
        },
        "nodes": nodes,
        "rows_in": problem.rows,
        "may_be_left_out": problem.suppressible,
        "chosen": None if solution is None else _chosen(problem, solution, names),
        "rows": _rows_shown(problem, solution, texts.at(np.arange(len(first))), first),
        "groups": [] if solution is None else _groups(problem, solution, texts, rows),
    }


def _all_nodes(lattice: Lattice) -> Iterator[Levels]:
    """Every node, no node before one below it."""
    for number in np.argsort(lattice.node_heights, kind="stable").tolist():
        yield lattice.levels(number)


def _nearest(lattice: Lattice, centre: Levels) -> Iterator[Levels]:
    """The nodes nearest to one, by steps of one level of one column."""
    seen, waiting = {centre}, deque([centre])
    while waiting and len(seen) < _NEAREST:
        levels = waiting.popleft()
        below = (
            (*levels[:j], level - 1, *levels[j + 1 :]) for j, level in enumerate(levels) if level
        )
        for near in (*lattice.successors(levels), *below):
            if near not in seen and len(seen) < _NEAREST:
                seen.add(near)
                waiting.append(near)
    yield from sorted(seen, key=lambda one: (one != centre, sum(one)))


def _looked_at(
    evaluator: Evaluator, order: Iterator[Levels], first: NDArray[np.int64]
) -> Iterator[Json]:
    """What is known of each node, until the effort is spent."""
    for levels in order:
        if evaluator.work > _EFFORT:
            return
        seen = evaluator.node_figures(levels, first)
        yield {
            "levels": list(levels),
            "feasible": seen.feasible,
            "suppressed": seen.suppressed,
            "loss": seen.loss,
            "smallest": seen.smallest,
            "average": seen.average,
            "groups": seen.groups,
            "left_out": seen.left_out,
        }


def _column(hierarchy: BoundHierarchy, problem: Problem, place: int) -> Json:
    """A column, and how many different values it has at each level."""
    there = problem.rows_of_values(place) > 0
    return {
        "name": hierarchy.column,
        "distinct": [len(np.unique(codes[there])) for codes in hierarchy.codes],
    }


def _chosen(problem: Problem, solution: Solution, names: Sequence[str]) -> Json:
    sizes = _persons(problem, solution)
    inside, counts = solution.group >= 0, (solution.counts or problem.counts).rows
    rows = np.bincount(solution.group[inside], counts[inside], len(sizes)).astype(np.int64)
    return {
        "levels": None if solution.levels is None else [solution.levels[name] for name in names],
        "loss": solution.loss,
        "suppressed": solution.suppressed,
        "smallest": int(sizes.min()) if len(sizes) else 0,
        "average": average_risk(rows, sizes),
        "groups": len(sizes),
    }


def _persons(problem: Problem, solution: Solution) -> NDArray[np.int64]:
    """Persons of each group of a solution, or rows where each row is another person."""
    count = len(solution.columns[0].codes)
    units = problem.units(solution.group, count)
    if units is not None:
        return units.count()
    inside = solution.group >= 0
    rows = np.bincount(solution.group[inside], problem.counts.rows[inside], count)
    return rows.astype(np.int64)


def _rows_shown(
    problem: Problem,
    solution: Solution | None,
    before: dict[str, list[str | None]],
    first: NDArray[np.int64],
) -> Json:
    """Some rows as they are, what they read at every level, and as the solution shows them."""
    codes = problem.counts.codes
    levels = {
        hierarchy.column: [
            [texts[code] for code in codes[first, j].tolist()]
            for texts in _texts_of_levels(hierarchy, problem.counts.values[j])
        ]
        for j, hierarchy in enumerate(problem.hierarchies)
    }
    return {
        "before": before,
        "levels": levels,
        "chosen": None if solution is None else _as_shown(problem, solution, first),
    }


def _texts_of_levels(
    hierarchy: BoundHierarchy, values: DistinctValues
) -> Iterator[list[str | None]]:
    """What each distinct value reads at each level."""
    for codes, generalized in zip(hierarchy.codes, hierarchy.values, strict=True):
        texts = generalized.shown
        own = list(values.texts)
        yield own if texts is None else [texts[code] for code in codes.tolist()]


def _as_shown(
    problem: Problem, solution: Solution, combination: NDArray[np.int64]
) -> dict[str, list[str | None]] | None:
    """What rows of these combinations show; a list has None in every column for a row left out.

    None as a whole where the engine had rolled the rows up.
    """
    if solution.counts is not None:
        return None
    group = solution.group[combination].tolist()
    shown: dict[str, list[str | None]] = {}
    for j, column in enumerate(solution.columns):
        own = problem.counts.values[j].texts
        texts = None if column.values is None else column.values.shown
        read: Sequence[str | None] = own if texts is None else texts
        codes = column.codes.tolist()
        shown[column.column] = [None if one < 0 else read[codes[one]] for one in group]
    shown["\1left out"] = ["yes" if one < 0 else None for one in group]
    return shown


def _groups(problem: Problem, solution: Solution, texts: RowTexts, rows: int) -> list[Json]:
    """The smallest groups of a solution, with some of their rows."""
    if solution.counts is not None:
        return []
    sizes = _persons(problem, solution)
    of_row = solution.group[texts.combination]
    found: list[Json] = []
    for number in np.argsort(sizes, kind="stable")[:_GROUPS].tolist():
        members = np.flatnonzero(of_row == number)
        shows = _as_shown(problem, solution, texts.combination[members[:1]]) or {}
        found.append(
            {
                "persons": int(sizes[number]),
                "rows": len(members),
                "shows": {name: each[0] for name, each in shows.items() if name[0] != "\1"},
                "before": texts.at(members[:rows]),
            }
        )
    return found
