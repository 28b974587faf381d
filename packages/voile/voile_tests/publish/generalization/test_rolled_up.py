"""Rows that the engine rolls up before it counts them."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import voile
from voile.publish.generalization import problem
from voile.publish.generalization.problem import RolledUp
from voile.schema.plan import parse_plan
from voile_base.errors import InfeasibleError

ROWS = 2_000
RNG = np.random.default_rng(1)
PEOPLE = pl.DataFrame(
    {
        "age": RNG.integers(0, 90, ROWS),
        "income": RNG.integers(0, 10**6, ROWS),
        "code": RNG.permutation(ROWS),
        "illness": RNG.integers(0, 9, ROWS),
    }
)
"""No two rows agree in their quasi-identifiers."""
INTERVALS = {
    "age": ([0, 99], [5, 10, 50]),
    "income": ([0, 999_999], [10, 1_000, 100_000, 500_000]),
    "code": ([0, 1_999], [2, 20, 200, 1_000]),
}


def publish(**parameters):
    """A release of all rows with a seed."""
    roles = {"quasi_identifiers": list(INTERVALS), "sensitive": ["illness"]}
    columns = {
        name: {"bounds": bounds, "intervals": {"origin": 0, "widths": widths}}
        for name, (bounds, widths) in INTERVALS.items()
    }
    method = {"name": "generalization", "k": 5, **parameters}
    plan = parse_plan({"roles": roles, "columns": columns, "method": method})
    return voile.make_release(PEOPLE, plan, seed=3)


@pytest.fixture
def at_once(monkeypatch):
    """How many combinations were counted, each time that rows were rolled up."""
    counted: list[int] = []
    count = RolledUp.at

    def at(self, levels):
        counts = count(self, levels)
        counted.append(len(counts.rows))
        return counts

    monkeypatch.setattr(problem, "COLLECTED", 0)
    monkeypatch.setattr(RolledUp, "at", at)
    return counted


@pytest.mark.parametrize("algorithm", ["flash", "ola"])
@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"l": 2, "suppression_limit": 0.05},
        {"objective": "discernibility", "suppression_limit": 0.5},
        {"objective": "average-class-size", "l": 2},
        {"t": 0.5},
    ],
    ids=str,
)
def test_the_same_release(at_once, monkeypatch, algorithm, asked):
    """Rows, document and objective are those of a search that collected all combinations."""
    rolled = publish(algorithm=algorithm, **asked)
    assert at_once
    monkeypatch.setattr(problem, "COLLECTED", 10**18)
    known = len(at_once)
    collected = publish(algorithm=algorithm, **asked)
    assert len(at_once) == known
    assert rolled.release.to_native().equals(collected.release.to_native())
    assert rolled.release.document() == collected.release.document()
    assert rolled.private.objective == collected.private.objective


def test_fine_combinations_are_not_collected(at_once):
    """Each row has a combination of its own, and the search never holds as many."""
    publish(algorithm="flash", k=100)
    assert max(at_once) < ROWS // 2


def test_nothing_to_be_found(at_once):
    """What would do is said as ever."""
    with pytest.raises(InfeasibleError, match="even with every column at the highest level"):
        publish(algorithm="ola", l=10)
    assert at_once
