"""The baselines that the benchmarks compare with are right: they are not straw men."""

import json
import platform
import sys
import types

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import (
    audit_intervals,
    incremental_speed,
    league_side,
    naive_baseline,
    record,
    seed,
    static_speed,
)
from voile.attack.protocol import Estimate
from voile.models.ke_anonymity import pairwise_breaches
from voile.publish.ke_anonymity.searches import optimal_blocks

WAYS = (seed.BY_ROWS, seed.BORDERS_FIRST, seed.STRENGTHENED)
TERMS = st.tuples(st.integers(2, 4), st.integers(0, 12))
VALUES = st.lists(st.integers(-20, 20), min_size=1, max_size=12)
BATCHES = st.lists(VALUES, min_size=2, max_size=4)


def arrays(batches):
    return [np.array(batch, np.int64) for batch in batches]


def cost(borders):
    return None if borders is None else int((borders[:, 1] - borders[:, 0]).sum())


@pytest.mark.slow
@given(BATCHES, TERMS)
def test_the_seed_reaches_our_sum_at_every_append(batches, terms):
    """All three ways of the seed's search, plain and compiled, find the sum of full cover."""
    for step in incremental_speed.steps(arrays(batches), *terms):
        ours = cost(step.decide())
        for way in WAYS:
            for compiled in (False, True):
                assert cost(step.rows.blocks(*terms, way, compiled=compiled)) == ours


@given(BATCHES, TERMS)
def test_the_seed_blocks_keep_definition_5(batches, terms):
    """What the seed's search publishes gives nothing away against the latest release."""
    for step in incremental_speed.steps(arrays(batches), *terms):
        blocks = step.rows.blocks(*terms, seed.BORDERS_FIRST, compiled=True)
        if blocks is None:
            continue
        units = np.concatenate((step.published, step.fresh))
        places = np.stack([places_of(units, borders) for borders in (step.borders, blocks)])
        places[0, len(step.published) :] = -1
        # Where the search cut between equal values, borders do not tell which rows went where.
        if len(np.unique(blocks)) == blocks.size:
            assert pairwise_breaches(units, places, *terms) == []


def places_of(units, borders):
    return np.searchsorted(borders[:, 0], units, side="right") - 1


def test_the_printed_rule_leaks_where_the_notes_say():
    """{7, 13}, then 1 and 19, at k = 2, e = 4: cost 12 for two blocks where 18 is right."""
    step = incremental_speed.Step(2, 4, np.array([7, 13]), np.array([1, 19]), np.array([[7, 13]]))
    printed = seed.printed_rule_blocks([1, 7, 13, 19], [(7, 13)], 2, 4)
    assert printed == [(1, 7), (13, 19)]
    assert cost(step.rows.blocks(2, 4, seed.BY_ROWS, compiled=False)) == cost(step.decide()) == 18


def test_the_seed_finds_no_solution_where_there_is_none():
    """{1, 2, 3}, then 2, at k = 3, e = 2 has no safe release."""
    step = incremental_speed.Step(3, 2, np.array([1, 2, 3]), np.array([2]), np.array([[1, 3]]))
    assert [step.rows.blocks(3, 2, way, compiled=False) for way in WAYS] == [None] * len(WAYS)
    assert step.decide() is None


@pytest.mark.slow
@given(st.sets(st.integers(-50, 50), min_size=1, max_size=30), TERMS)
def test_the_quadratic_search_reaches_the_static_optimum(values, terms):
    """The O(d^2) search, plain and compiled, finds the sum of the package, or neither does."""
    ascending = np.array(sorted(values), np.int64)
    blocks = optimal_blocks(ascending, *terms)
    ours = (
        -1 if blocks is None else int((ascending[blocks[:, 1] - 1] - ascending[blocks[:, 0]]).sum())
    )
    for compiled in (False, True):
        assert static_speed.quadratic_cost(ascending, *terms, compiled=compiled) == ours


@given(st.lists(st.lists(st.integers(0, 30), min_size=6, max_size=12), min_size=2, max_size=4))
def test_sets_and_cells_find_equally_many_breaches(batches):
    """The naive test by sets of rows counts what the package's test counts."""
    k, e = 2, 3
    batches = [[0, 9, *batch] for batch in batches]  # so that every release is feasible
    rows = np.concatenate(arrays(batches))
    afresh = naive_baseline.static_partitions(arrays(batches), k, e)
    partitions = [
        [frozenset(np.flatnonzero(block == number).tolist()) for number in range(block.max() + 1)]
        for block in afresh
    ]
    found = naive_baseline.breaches_by_sets(rows.tolist(), partitions[:-1], partitions[-1], k, e)
    assert found == len(pairwise_breaches(rows, np.stack(afresh), k, e))


def test_a_naive_second_release_is_caught():
    """{6, 9}, then 3 and 12 at k = 2, e = 2: published afresh, two blocks split the old one."""
    old, new = [frozenset({0, 1})], [frozenset({0, 2}), frozenset({1, 3})]
    assert naive_baseline.breaches_by_sets([6, 9, 3, 12], [old], new, 2, 2) == 6


@pytest.fixture
def measurement():
    return record.Measurement(
        "How?", "some", "1", "timed", "so", [record.Target("x", "1", "2", reached=False)],
        [record.Table("Numbers", ("a", "b|c"), [["1", "2"]])],
    )  # fmt: skip


def test_running_one_benchmark_again_keeps_the_others(tmp_path, measurement):
    """A second result of one name replaces the first; other names keep their lines."""
    where = record.environment()
    for name, date in (("one", "first"), ("two", "kept"), ("one", "second")):
        record.save(name, {**where, "date": date}, measurement, tmp_path)
    lines = (tmp_path / "results.jsonl").read_text().splitlines()
    assert [(r["name"], r["date"]) for r in map(json.loads, lines)] == [
        ("one", "second"),
        ("two", "kept"),
    ]
    report = (tmp_path / "RESULTS.md").read_text()
    assert "second" in report
    assert "first" not in report
    assert report.count("\n### ") == 2
    assert report.count("- **Missed**: x: 2; target: 1.") == 2
    assert "Of 2 targets 0 are reached." in report
    assert any("b\\|c" in line for line in record.section(record.recorded(tmp_path)[0]))


def test_each_benchmark_is_a_module_or_was_answered():
    """And every record of the project has its place on the page, which a person can read."""
    named = [name for names in record.SUBJECTS.values() for name in names]
    assert len(named) == len(set(named))
    assert {one["name"] for one in record.recorded()} <= set(named)
    for name in named:
        module = record.HERE / f"{name.replace('.', '/')}.py"
        assert module.exists() != (name in record.ANSWERED), name
    page = (record.HERE / "RESULTS.md").read_text()
    assert len(page.split()) < 8_000


def test_the_environment_names_no_place():
    """What is recorded of the machine holds neither its name nor the place of the checkout."""
    recorded = " ".join(record.environment().values())
    assert platform.node() not in recorded
    assert str(record.HERE.parent) not in recorded


def test_intervals_that_cannot_miss_on_one_side_are_counted():
    """Coverage counts apart the intervals that end at 0 or 1, and says whether they are most."""
    ends = [Estimate(0.0, 0.0, 0.02)] * 3 + [Estimate(0.3, 0.2, 0.4)]
    held = audit_intervals._held(
        [audit_intervals._Stated("a rate", one, 0.01, "people") for one in ends]
    )
    assert (held.held, held.tried, held.at_border) == (3, 4, 3)
    assert held.is_one_sided
    assert held.share == 0.75


def test_shares_of_a_budget_fit_into_it_when_they_are_added_up_again(monkeypatch):
    """OpenDP's choice of pairs is given less than its budget, and everything else as it is."""
    given = {}

    def select(*places, **names):
        given.update(names, places=places)
        return "selected"

    module = types.ModuleType("opendp.extras.mbi")
    module._mst = types.SimpleNamespace(_make_mst_select=select)
    for name in ("opendp", "opendp.extras"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setitem(sys.modules, "opendp.extras.mbi", module)
    league_side._select_within_budget()
    assert module._mst._make_mst_select("domain", d_out=0.5, edges=[]) == "selected"
    assert given["places"] == ("domain",)
    assert given["edges"] == []
    assert 0.49999 < given["d_out"] < 0.5
