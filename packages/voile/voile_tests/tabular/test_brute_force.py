"""Attacker and suppression against all whole-number tables, on random small systems."""

from __future__ import annotations

import os

import numpy as np
import pytest

from voile.tabular.attacker import CellSystem, FeasibilityIntervals
from voile.tabular.published import columns_of_cells
from voile_base.errors import InfeasibleError
from voile_testing.plugin import some_slow
from voile_tests.tabular.small_tables import BruteForce, counted, protected, random_small

EVERY_WAY = bool(os.environ.get("EVERY_WAY"))
SLOW = range(2_000 if EVERY_WAY else 400)
PATTERNS = SLOW if EVERY_WAY else SLOW[::12]
"""Brute force over all patterns takes a second each: all of them by `make decisions`."""


def rows_of_cells(cells):
    """The cell of each row of the file."""
    system = cells.system
    blocks = (system.block(c) for t in system.tabulation.tables for c in t.choices())
    return np.concatenate([np.arange(b.start, b.start + b.size) for b in blocks])


def judge_attacker(seed: int) -> None:
    """Hide cells at random, and compare every interval, and what can be recomputed."""
    small = random_small(seed)
    cells, _ = counted(small.rows, small.tables, minimum=2)
    (measure,) = cells.measures
    of_row = rows_of_cells(cells)
    brute = BruteForce(small.rows, columns_of_cells(cells, np.zeros(cells.system.cells, bool)))
    assert brute.truth.tolist() == measure.values[of_row].tolist()
    hidden = np.random.default_rng(seed).random(cells.system.cells) < 0.5
    hidden[0] = False  # the grand total, or nothing bounds the brute force
    system = CellSystem(cells.system.constraints, measure.values, hidden, whole=True)
    worlds = brute.agreeing(hidden[of_row])
    lower, upper = worlds.min(axis=0), worlds.max(axis=0)
    first = np.array([np.flatnonzero(of_row == cell)[0] for cell in np.flatnonzero(hidden)], int)
    found = FeasibilityIntervals.of(system, np.flatnonzero(hidden))
    assert found.lower.tolist() == lower[first].tolist()
    assert found.upper.tolist() == upper[first].tolist()
    known = system.recomputable()
    assert (upper == lower)[[np.flatnonzero(of_row == cell)[0] for cell in known]].all()


def judge_pattern(seed: int) -> None:
    """Protect cells exactly: nobody narrows a primary one, and no pattern has fewer cells."""
    small = random_small(seed)
    zeros = "show" if seed % 3 else "hide"
    cells, primary = counted(small.rows, small.tables, minimum=3, zeros=zeros)
    of_row = rows_of_cells(cells)
    brute = BruteForce(small.rows, columns_of_cells(cells, primary.cells))
    may = (cells.units > 0)[of_row]
    if primary.cells[0]:
        return  # the grand total is hidden, and brute force has no bound
    may &= of_row != 0
    least = brute.least(primary.cells[of_row], may, of_row)
    fixed = [dict.fromkeys(_columns(small.tables[0]), "Total")]
    try:
        made = protected(small.rows, small.tables, minimum=3, zeros=zeros, publish=fixed)
    except InfeasibleError:
        assert least is None
        return
    assert made.pattern.least
    assert made.pattern.cost == least
    assert brute.protects(made.pattern.suppressed[of_row], primary.cells[of_row])


def _columns(table):
    return [each if isinstance(each, str) else each[-1] for each in table["dimensions"]]


@pytest.mark.parametrize("seed", range(15))
def test_intervals_are_those_of_all_whole_number_tables(seed: int) -> None:
    """Each interval is the least and the largest value of any table that agrees."""
    judge_attacker(seed)


@pytest.mark.parametrize("seed", some_slow(range(10), {*range(10)} - {4, 8}))
def test_the_exact_pattern_is_the_least_of_all_that_protect(seed: int) -> None:
    """Brute force over all patterns and all tables finds the same cost, or that there is none."""
    judge_pattern(seed)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, len(SLOW), 100))
def test_many_small_systems(start: int) -> None:
    """The same of 400 random systems, or of 2,000; patterns of every twelfth, or of all."""
    for seed in SLOW[start : start + 100]:
        judge_attacker(seed)
        if seed in PATTERNS:
            judge_pattern(seed)
