"""Protections of tables side by side, solutions of a plan, and what leaves a data set."""

from __future__ import annotations

import os
import pickle
import threading
from dataclasses import replace
from hashlib import sha256
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from voile.ledger import Ledger
from voile.schema.plan import parse_plan
from voile.study import grid
from voile.study.documents import require_seal, sealed
from voile.study.protections import OutputMemory, compare_protections
from voile.study.rehearsal import solutions_document
from voile.study.verdict import LimitRuling, limits_document, limits_of
from voile_base.errors import InputError, LedgerError, RefusedError
from voile_tests.tabular.planted_outputs import series

# Of north one woman and four men, of south five women.
PEOPLE = pl.DataFrame({"region": ["n"] * 5 + ["s"] * 5, "sex": ["f"] + ["m"] * 4 + ["f"] * 5})
TRUTH = {
    "Total": 10,
    "region = n": 5,
    "region = s": 5,
    "sex = f": 6,
    "sex = m": 4,
    "region = n, sex = f": 1,
    "region = n, sex = m": 4,
    "region = s, sex = f": 5,
}


def plan(protection: dict[str, Any], **more: Any) -> Any:
    """Of counts by region and sex."""
    tables = [{"dimensions": ["region", "sex"]}]
    document = {"roles": {"person": "row"}, "tables": tables, "protection": protection, **more}
    return parse_plan(document)


SUPPRESSED = plan({"minimum": 2})
NOISE = {"kind": "differential-privacy", "epsilon": 100.0}


def test_each_protection_stands_beside_the_truth_of_each_cell() -> None:
    """What is shown, what is exact, errors, totals and small counts, by hand from the columns."""
    values = {"region": {"values": ["n", "s"]}, "sex": {"values": ["f", "m"]}}
    noisy = plan(NOISE, columns=values)
    stages: list[str] = []
    rounded = plan({"kind": "rounding", "base": 3})
    found = compare_protections(PEOPLE, [SUPPRESSED, rounded, noisy], progress=stages.append)
    assert stages == ["counting"] + [
        f"protecting by {one}" for one in ("suppression", "rounding", "differential-privacy")
    ]
    columns = found.columns()
    assert list(columns)[:4] == ["table", "cell", "measure", "truth"]
    truth = dict(zip(columns["cell"], columns["truth"], strict=True))
    assert {cell: value for cell, value in truth.items() if value} == TRUTH
    assert set(columns["measure"]) == {"count"}
    assert len(set(columns["table"])) == 1
    assert found.few == 3
    for one in found.protections:
        shown = dict(zip(columns["cell"], columns[one.name], strict=True))
        numbers = {c: float(s.split()[0].replace(",", "")) for c, s in shown.items() if s}
        errors = [abs(value - truth[cell]) for cell, value in numbers.items()]
        assert one.shown == len(numbers) / len(truth)
        assert one.exact == pytest.approx(sum(e < 1e-9 for e in errors) / len(truth))
        assert one.mean_error == pytest.approx(sum(errors) / len(errors), rel=1e-4)
        assert one.largest_error == pytest.approx(max(errors), rel=1e-4)
        few = [cell for cell, value in numbers.items() if 0 < value < 3 and value == truth[cell]]
        assert one.few_exact == len(few)
    suppressed, rounded, noisy = found.protections
    assert (suppressed.mean_error, suppressed.additive, suppressed.few_exact) == (0, True, 0)
    assert suppressed.shown < 1
    assert dict(zip(columns["cell"], columns["suppression"], strict=True))["Total"] == "10"
    assert rounded.largest_error < 3
    assert rounded.shown == 1
    assert all(" [" in text and text.endswith("]") for text in columns["differential-privacy"])


@pytest.mark.slow
def test_a_protection_that_stands_there_twice_has_the_name_of_its_plan() -> None:
    """Counts below the largest minimum are few, and totals of rounded cells need not add up."""
    first = replace(SUPPRESSED, source="one.toml")
    second = replace(plan({"minimum": 5}), source="folder/two.toml")
    keyed = plan({"kind": "cell-key", "secret": "none"})
    found = compare_protections(PEOPLE, [first, second])
    assert [one.name for one in found.protections] == ["suppression (one)", "suppression (two)"]
    assert found.few == 5
    other = replace(keyed, tables=plan({"minimum": 2}, columns={}).tables[:0], source="three.toml")
    told = "three.toml: the plans that are compared have the same"
    with pytest.raises(InputError, match=told):
        compare_protections(PEOPLE, [first, other])


def test_a_comparison_of_a_plan_with_a_budget_needs_no_ledger() -> None:
    """What is drawn for it never leaves, and so nothing is charged."""
    values = {"region": {"values": ["n", "s"]}, "sex": {"values": ["f", "m"]}}
    budget = {"data_set": "people", "epsilon": 1}
    (noisy,) = compare_protections(PEOPLE, [plan(NOISE, columns=values, budget=budget)]).protections
    assert noisy.shown == 1


@pytest.mark.slow
def test_what_left_a_data_set_is_remembered_under_its_name(tmp_path) -> None:
    """A table that discloses something with an earlier one is refused, and not entered."""
    *earlier, new = series(0, planted=True).tables()
    path = tmp_path / "ledger.db"
    for table in earlier:
        OutputMemory(path, "people", 3).let_leave([table])
    assert [one.name for one in Ledger(path).outputs("people")] == [one.name for one in earlier]
    assert Ledger(path).outputs("others") == []
    memory = OutputMemory(path, "people", 3)
    with pytest.raises(RefusedError) as refused:
        memory.let_leave([new])
    told = str(refused.value)
    number = len(memory.judge([new]).derived)
    assert told.startswith(
        f"together with {len(earlier):,} earlier outputs of data set 'people' the table gives the "
        f"exact numbers of {number:,} groups of fewer than 3 units:\n  "
    )
    assert f"and {number - 3:,} more" in told or number <= 3
    assert "\nUse the conditions of the earlier output, or suppress " in told
    assert len(Ledger(path).outputs("people")) == len(earlier)
    late = OutputMemory(path, "people", 3)
    assert len(late.earlier) == len(earlier)
    OutputMemory(path, "people", 3).remember([new])
    with pytest.raises(LedgerError):
        late.remember([new])


MIXED = pl.DataFrame({"age": [30, 31, 32, 60, 61, 62], "pay": [1.0, 2.0, 3.0, 7.0, 8.0, 9.0]})


def test_the_first_rows_stand_beside_what_a_plan_makes_of_them() -> None:
    """And what would be without each of its steps; nothing where no row is published.

    Of a series it is the first release, in groups that last, which have no lattice.
    """
    document = {
        "roles": {"person": "row", "quasi_identifiers": ["age"], "sensitive": ["pay"]},
        "columns": {"age": {"bounds": [0, 99]}},
        "method": {"name": "ke-anonymity", "k": 3, "e": 1},
    }
    stages: list[str] = []
    found = solutions_document(MIXED, parse_plan(document), 2, progress=stages.append)
    assert stages == ["reading", "rehearsing"]
    assert found["rows"]["before"] == {"age": ["30", "31"], "pay": ["1.0", "2.0"]}
    chosen = found["rows"]["chosen"]
    assert chosen["age"] == ["30", "31"]
    assert {float(pay) for pay in chosen["pay"]} < {1.0, 2.0, 3.0}
    assert (found["rows_in"], found["rows_out"], found["steps"]) == (6, 6, [])
    assert found["kept"]["age"] == 1
    assert found["kept"]["pay"] in {0, 1 / 6, 2 / 6, 3 / 6, 4 / 6, 1}
    groups = {**document, "method": {"name": "generalization", "k": 3}}
    explored = solutions_document(MIXED, parse_plan(groups), 2)
    assert len(explored["rows"]["before"]["age"]) == 2
    series = {"name": "generalization", "k": 3, "series": "s", "record_key": "id", "group_size": 3}
    roles = {**document["roles"], "identifiers": ["id"]}
    kept = parse_plan({**document, "roles": roles, "method": series})
    first = solutions_document(MIXED.with_row_index("id"), kept, 6)
    assert "nodes" not in first
    assert len(set(first["rows"]["chosen"]["age"])) == 2
    flows = {**document, "method": {"name": "dp-synthesis", "epsilon": 1.0}}
    assert solutions_document(MIXED, parse_plan(flows), 2) == {"rows": None, "steps": []}


AGES = [30, 31, 32, 60, 60, 60]


@pytest.mark.parametrize(
    "ages",
    [pl.Series(AGES), pl.Series(AGES).cast(pl.Float64), pl.Series([30.5, 31, 32, 60, 60, 60])],
)
def test_a_group_of_one_value_shows_it_unchanged_with_steps_and_without(ages: pl.Series) -> None:
    """Three ages of six in a group of their own, of one value; each pay, which is not rounded."""
    document = {
        "roles": {"person": "row", "quasi_identifiers": ["age"], "sensitive": ["pay"]},
        "method": {"name": "generalization", "algorithm": "mondrian", "k": 3},
        "steps": [{"kind": "rounding", "columns": ["pay"], "base": 5, "after": True}],
    }
    found = solutions_document(MIXED.with_columns(age=ages), parse_plan(document), 6)
    assert found["steps"] == [{"step": 0, "rows": 6, "kept": {"age": 0.5, "pay": 1.0}}]
    assert found["kept"] == {"age": 0.5, "pay": 0.0}


def test_a_worker_has_its_threads_and_its_task(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each library is told how many, before the task is unpacked."""
    monkeypatch.setattr(grid.signal, "signal", lambda *_: None)
    monkeypatch.setattr(threading.Thread, "start", lambda _: None)
    monkeypatch.setattr(grid, "_work", None)
    names = ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
    for name in names:
        monkeypatch.setenv(name, "7")
    grid._start(3, pickle.dumps({"a": "task"}))
    assert [os.environ[name] for name in names] == ["3"] * 4
    assert grid._work == {"a": "task"}


def record(kind: str, attack: str, **method: Any) -> Any:
    """A record of one attack that beats guessing."""
    rate = {"value": 0.5, "low": 0.45, "high": 0.55}
    given = {"attack": attack, "targets": 9, "checked": True, "success": rate, "baseline": 0.2}
    given["worst"] = {"probability": 0.5}
    release = {"method": {"name": "m", **method}, "guarantee": {"kind": kind}}
    return SimpleNamespace(attacks=[given], release=release)


@pytest.mark.parametrize(
    ("kind", "attack", "method", "change", "remedy"),
    [
        (
            "k-anonymity",
            "homogeneity",
            {"l": 3},
            {"l": 4},
            "l = 4 in place of 3, so many different values in",
        ),
        ("k-anonymity", "homogeneity", {}, {}, "l = 2, so many different values in each group, by"),
        (
            "k-anonymity",
            "skewness",
            {"t": 0.25},
            {"t": 0.125},
            "t = 0.125 in place of 0.25, with which each group",
        ),
        ("k-anonymity", "skewness", {}, {}, "t = 0.3, with which each group is that near to all"),
        ("other", "skewness", {"t": 0.25}, {}, "no parameter of m promises it; publish the column"),
    ],
)
def test_an_attack_that_beats_guessing_has_its_remedy(kind, attack, method, change, remedy) -> None:
    """One more value or half the distance, of those that the plan states."""
    (limit,) = limits_of(record(kind, attack, **method))
    assert (limit.met, limit.figure, limit.limit, limit.change) == (False, 0.5, 0.2, change)
    assert limit.remedy.startswith(remedy)


def test_thresholds_name_the_size_of_their_groups() -> None:
    """Where a promise of groups has one; each is told in JSON by the same keys."""
    limits = limits_of(record("k-anonymity", "prosecutor"))
    assert [(one.limit, one.met, one.change) for one in limits] == [
        (0.33, False, {"k": 3}),
        (0.2, False, {"k": 5}),
        (0.09, False, {"k": 11}),
        (0.05, False, {"k": 20}),
    ]
    assert limits[1].remedy == "k = 5, with which it is at most 1/5, whichever rows there are"
    (none, *_) = limits_of(record("other", "prosecutor"))
    assert none.remedy.startswith("no parameter of m promises it; leave quasi-identifiers out")
    assert limits_document([LimitRuling("a", 0.1, 0.2, met=True), limits[0]]) == [
        {"asks": "a", "figure": 0.1, "limit": 0.2, "met": True, "remedy": None, "method": {}},
        {
            "asks": "the worst re-identification risk is at most 1 in 3",
            "figure": 0.5,
            "limit": 0.33,
            "met": False,
            "remedy": "k = 3, with which it is at most 1/3, whichever rows there are",
            "method": {"k": 3},
        },
    ]


def test_a_document_that_was_edited_has_the_seal_of_another() -> None:
    """Of every field, whatever their order; one without a seal is no evidence either."""
    document = sealed({"name": "p", "figures": {"a": 1, "b": [2, None]}})
    require_seal(document, "here", "voile study")
    turned = {key: document[key] for key in reversed(list(document))}
    require_seal({**turned, "figures": {"b": [2, None], "a": 1}}, "here", "voile study")
    again = "run voile study again"
    for edited in ({"name": "q"}, {"figures": {"a": 1, "b": [3, None]}}, {"more": 0}):
        with pytest.raises(RefusedError, match=f"its seal is that of another; {again}"):
            require_seal({**document, **edited}, "here", "voile study")
    del document["seal"]
    told = f"here: this record has no seal: nothing tells whether it was edited; {again} with this"
    with pytest.raises(RefusedError, match=told):
        require_seal(document, "here", "voile study")
    assert sealed({"a": 1})["seal"] == sha256(b'voile-seal-1\0{"a":1}').hexdigest()
