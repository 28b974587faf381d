"""Auto: the better of both kinds, on grounds that are counted, with a bound that holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from voile.models.k_anonymity import KAnonymity
from voile.models.l_diversity import DistinctDiversity
from voile.publish.generalization import Generalization
from voile.publish.generalization.lattice_search import flash
from voile.publish.generalization.mondrian import mondrian
from voile.publish.generalization.problem import Problem
from voile.publish.generalization.publisher import auto, least_loss
from voile.publish.generalization.regions import Atoms, ColumnRegions, loss_of_regions
from voile.schema.plan import parse_plan
from voile.table.opening import open_frame
from voile_base.randomness import Randomness
from voile_tests.publish.generalization.cut_tables import problem_of, tables

small_k = st.integers(1, 4)


@pytest.mark.slow
@given(tables, small_k, st.sampled_from(["loss", "discernibility", "average-class-size"]))
@settings(max_examples=40)
def test_the_better_of_both_is_taken(rows: Any, k: int, objective: Any) -> None:
    """No less is lost by either algorithm alone; of equals the full domain is taken."""
    problem = problem_of(rows, [KAnonymity(k), DistinctDiversity(2, "disease")])
    levels, groups = flash(problem, objective), mondrian(problem, sets=True)
    found = auto(problem, objective)
    if found is None:
        assert levels is None
        assert groups is None
        return
    assert found.choice is not None
    assert found.loss == pytest.approx(min(found.choice.losses.values()), rel=1e-9, abs=1e-12)
    if levels is not None:
        assert found.choice.losses["flash"] == levels.loss
        assert (found.choice.algorithm == "flash") == (found.levels is not None)
    assert found.choice.bound <= found.loss


@given(tables, small_k)
@settings(max_examples=30)
def test_precision_is_asked_of_levels_alone(rows: Any, k: int) -> None:
    """Groups that differ in detail lie on no levels."""
    problem = problem_of(rows, [KAnonymity(k)])
    found, best = auto(problem, "precision"), flash(problem, "precision")
    assert (found is None) == (best is None)
    if found is not None and best is not None:
        assert found.levels == best.levels


def _divisions(places: list[int]) -> Iterator[list[list[int]]]:
    """Every way to divide some places into groups."""
    if not places:
        yield []
        return
    first, *others = places
    for division in _divisions(others):
        yield [[first], *division]
        for number, group in enumerate(division):
            yield [*division[:number], [first, *group], *division[number + 1 :]]


def _loss(problem: Problem, codes: NDArray[Any], division: list[list[int]], sets: bool) -> float:
    members = np.array([place for group in division for place in group])
    size = np.array([len(group) for group in division])
    starts = np.cumsum(size) - size
    pairs = enumerate(zip(problem.hierarchies, problem.counts.values, strict=False))
    shown = tuple(
        ColumnRegions.of(hierarchy, values, codes[members, j], starts, sets)
        for j, (hierarchy, values) in pairs
    )
    return loss_of_regions(problem, size.astype(np.int64), shown)


@pytest.mark.slow
@given(st.lists(tables.map(lambda rows: rows[0]), min_size=2, max_size=6), st.integers(2, 3))
@settings(max_examples=40)
def test_no_division_is_below_the_bound(rows: Any, k: int) -> None:
    """Of all ways to divide a few rows into groups of k, none loses less, in either form."""
    problem = problem_of(rows, [KAnonymity(k)])
    atoms = Atoms(problem)
    codes = np.repeat(atoms.codes, atoms.rows, axis=0)
    bound = least_loss(problem, "loss")
    for division in _divisions(list(range(len(codes)))):
        if min(map(len, division)) >= k:
            for sets in (False, True):
                assert bound <= _loss(problem, codes, division, sets) + 1e-9


def test_the_bound_says_something() -> None:
    """Rows that are all different cannot be published for nothing."""
    rows = [(age, place, weight, "flu") for age in range(4) for place in "c" for weight in range(4)]
    problem = problem_of(rows, [KAnonymity(3)])
    assert 0.01 < least_loss(problem, "loss") < auto(problem).loss  # type: ignore[union-attr]


@pytest.mark.slow
@given(tables, small_k, st.integers(1, 60))
@settings(max_examples=60)
def test_an_effort_that_ends_tells_what_it_left(rows: Any, k: int, effort: int) -> None:
    """A search that was cut short is not said to be proved unless it is, and its bound holds."""
    problem = problem_of(rows, [KAnonymity(k)], suppressible=2)
    best, found = flash(problem), flash(problem, effort=effort)
    if found is None:
        return
    assert best is not None
    assert found.bound <= best.loss + 1e-12
    assert best.loss <= found.loss + 1e-12
    if found.proved:
        assert found.levels == best.levels
    assert flash(problem, effort=10**9).levels == best.levels  # type: ignore[union-attr]


def test_a_small_effort_is_kept() -> None:
    """The search ends soon after its effort, and the answer is valid all the same."""
    draws = np.random.default_rng(4)
    rows = [(int(a), "a1", int(w), "flu") for a, w in draws.integers(0, 7, (60, 2))]
    problem = problem_of(rows, [KAnonymity(3)])
    found, best = auto(problem, effort=1), auto(problem)
    assert found is not None
    assert best is not None
    assert found.examined <= best.examined
    assert np.bincount(found.group, problem.counts.rows).min() >= 3


WIDE = 24


@pytest.mark.slow
def test_many_columns_are_published_by_default() -> None:
    """Twenty-four quasi-identifiers, of which no lattice could be searched: k holds."""
    draws = np.random.default_rng(1)
    frame = pl.DataFrame(
        {f"q{j}": [f"v{i}" for i in draws.zipf(1.7, 500) % 5] for j in range(WIDE)}
    )
    plan = parse_plan({"roles": {"quasi_identifiers": frame.columns, "person": "row"}})
    publication = Generalization(k=5).prepare(open_frame(frame, plan), Randomness.seeded(1))
    release = publication.release
    assert release.method["decision"]["algorithm"] == "mondrian"
    shown = pl.DataFrame(release.to_native())
    assert shown.columns == ["group", *frame.columns]
    assert shown.group_by(frame.columns).len()["len"].min() >= 5  # type: ignore[operator]
    told = publication.private.decision
    assert float(told["bound"]) <= float(told["losses"]["mondrian"])


def test_the_release_says_which_algorithm_and_nothing_of_the_other() -> None:
    """What the loser lost, and the bound, are private: no guarantee covers them."""
    frame = pl.DataFrame({"age": [20, 21, 22, 40, 41, 42] * 2, "sex": list("mmmfff") * 2})
    frame = frame.with_columns(pl.col("age") + pl.int_range(12))
    plan = parse_plan({"roles": {"quasi_identifiers": ["age", "sex"], "person": "row"}})
    publication = Generalization(k=2).prepare(open_frame(frame, plan), Randomness.seeded(1))
    method = publication.release.method
    assert method["algorithm"] == "auto"
    assert set(method["decision"]) == {"algorithm", "groups"}
    assert set(publication.private.decision) >= {"losses", "bound", "examined"}


def test_nothing_is_published_where_neither_kind_can() -> None:
    """None, so that the publisher explains why."""
    problem = problem_of(
        [(1, "a1", 2, "flu")] * 3, [KAnonymity(2), DistinctDiversity(2, "disease")]
    )
    assert auto(problem) is None
    assert auto(replace(problem, suppressible=2)) is None
