"""The memory for outputs: planted series are found, harmless ones are not, and what it costs."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from voile.ledger import Ledger
from voile.schema.plan import parse_plan
from voile.schema.tabulation import Condition
from voile.study.protections import OutputMemory
from voile.tabular.output_memory import OutputVerdict
from voile.tabular.publishing import TablesOutput, make_tables
from voile.tabular.remembered import RememberedTable
from voile_base.errors import InputError, LedgerError, PlanError, RefusedError, TableError
from voile_testing.plugin import some_slow
from voile_tests.tabular.planted_outputs import (
    population,
    random_outputs,
    series,
    table_of,
    with_person,
    without,
)

MINIMUM = 3
KINDS = 10


def judged(seed: int, *, planted: bool):
    """The verdict on the last output of a series."""
    *earlier, new = series(seed, planted=planted).tables()
    return OutputVerdict.judge(earlier, [new], MINIMUM)


@pytest.mark.parametrize("seed", range(KINDS))
def test_a_planted_series_is_found_with_what_it_follows_from(seed: int) -> None:
    """Thresholds, filters, months, coarser and finer: of each kind the persons are named."""
    verdict = judged(seed, planted=True)
    assert not verdict.safe
    assert all(0 < one.units < MINIMUM for one in verdict.derived)
    assert all("the new table" in one.sources[0] for one in verdict.derived)
    assert verdict.change


@pytest.mark.parametrize("seed", range(KINDS))
def test_a_harmless_series_is_safe(seed: int) -> None:
    """Where no combination of all columns has one or two persons, nothing can be disclosed."""
    assert judged(seed, planted=False).safe


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 200, 50))
def test_two_hundred_planted_series_and_as_many_harmless_ones(start: int) -> None:
    """All of the first and none of the second are found."""
    seeds = range(start, start + 50)
    assert [seed for seed in seeds if judged(seed, planted=True).safe] == []
    assert [seed for seed in seeds if not judged(seed, planted=False).safe] == []


@pytest.mark.parametrize("seed", some_slow([1, 3, 4, 7, 9], {3, 4, 9}))
def test_the_least_change_makes_it_safe_and_no_less_does(seed: int) -> None:
    """The new table without the named cells is safe; with any one of them it is not."""
    *earlier, new = series(seed, planted=True).tables()
    change = OutputVerdict.judge(earlier, [new], MINIMUM).change
    texts = [new.text_of(cell) for cell in range(len(new.codes))]
    named = [texts.index(text) for text in change]

    def safe(hidden: list[int]) -> bool:
        measure = new.measures["count"]
        shown = measure.shown.copy()
        shown[hidden] = False
        values = np.where(shown, measure.values, 0)
        kept = type(measure)(values, shown, measure.counts, measure.decimals)
        table = RememberedTable(
            new.name, new.conditions, new.dimensions, new.codes, {"count": kept}, new.units
        )
        return OutputVerdict.judge(earlier, [table], MINIMUM).safe

    assert safe(named)
    assert not any(safe([each for each in named if each != one]) for one in named)


@pytest.mark.slow
def test_a_series_is_found_among_many_other_outputs() -> None:
    """Sixty outputs with thresholds and months stand between the two that betray a person."""
    rows = without(population(1), age="43")
    rows = with_person(rows, 2, region="r1", sex="F", age="43", month="5")
    others = random_outputs(rows, 3, 60)
    old = table_of(rows, ["age < 43"], ["region"])
    new = table_of(rows, ["age < 44"], ["region", "sex"])
    assert OutputVerdict.judge(others, [new], MINIMUM).safe
    found = OutputVerdict.judge([*others[:30], old, *others[30:]], [new], MINIMUM)
    assert "age = 43, region = r1" in {one.what for one in found.derived}


def test_a_suppressed_cell_is_found_that_another_table_gives_back() -> None:
    """Secondary cells that another filter shows leave the primary one alone in its sum."""
    rows = {
        "region": np.repeat(["r0", "r1", "r2"], [2, 9, 8]),
        "sex": np.tile(["F", "M"], 10)[:19],
        "age": np.repeat("30", 19),
        "month": np.repeat("1", 19),
    }
    hidden = table_of(rows, [], ["region"], minimum=3)
    measure = hidden.measures["count"]
    shown = measure.shown & (np.arange(7) != 2)  # r1, for the sake of r0
    kept = type(measure)(np.where(shown, measure.values, 0), shown, True, 0)
    first = RememberedTable(
        "first", (), hidden.dimensions, hidden.codes, {"count": kept}, hidden.units
    )
    second = table_of(rows, ["region = r1"], [])
    found = OutputVerdict.judge([first], [second], MINIMUM)
    assert [one.what for one in found.derived] == ["region = r0"]
    assert OutputVerdict.judge([], [first], MINIMUM).safe


def test_a_sum_is_judged_by_the_units_that_are_left() -> None:
    """Turnover of all less that of all but one company is that company's."""

    def summed(text: str | None, total: int, units: int) -> RememberedTable:
        count = table_of(population(0), [], [])
        measure = type(count.measures["count"])(
            np.array([total]), np.array([True]), counts=False, decimals=1
        )
        stated = () if text is None else (Condition.parse(text),)
        return RememberedTable(
            "sum", stated, (), count.codes, {"turnover": measure}, np.array([units])
        )

    all_of_them, but_one = summed(None, 5_000, 20), summed("region != r1", 4_000, 19)
    found = OutputVerdict.judge([all_of_them], [but_one], MINIMUM)
    assert [(one.value, one.units) for one in found.derived] == [(100.0, 1)]
    assert OutputVerdict.judge([all_of_them], [summed("region != r1", 4_000, 15)], MINIMUM).safe


def test_tables_that_cannot_be_of_the_same_rows_are_refused() -> None:
    """Last month's table without saying so contradicts this month's."""
    rows = population(2)
    fewer = {name: values[10:] for name, values in rows.items()}
    with pytest.raises(TableError, match="another value of the same cell"):
        OutputVerdict.judge([table_of(rows, [], ["sex"])], [table_of(fewer, [], ["sex"])], MINIMUM)


@pytest.mark.slow
def test_what_is_remembered_comes_back_as_it_was() -> None:
    """Packed and unpacked, a table gives the same verdicts."""
    *earlier, new = series(3, planted=True).tables()
    again = [RememberedTable.unpacked(table.packed()) for table in earlier]
    assert OutputVerdict.judge(again, [new], MINIMUM) == OutputVerdict.judge(
        earlier, [new], MINIMUM
    )
    with pytest.raises(ValueError, match="cannot be read"):
        RememberedTable.unpacked(b"none")


# -- through the ledger ---------------------------------------------------------------------------

PEOPLE = [
    (region, sex, age)
    for region in "ab"
    for sex in "FM"
    for age in range(60, 70)
    for _ in range(0 if age == 65 else 4)
] + [("b", "F", 65)] * 2


def plan_of(condition: str):
    return parse_plan(
        {
            "tables": [{"dimensions": ["region", "sex"], "filter": [condition]}],
            "protection": {"minimum": 3},
        }
    )


def let_leave(condition: str, out: Path, memory: OutputMemory) -> None:
    frame = pl.DataFrame(PEOPLE, schema=["region", "sex", "age"], orient="row")
    make_tables(frame, plan_of(condition), out, TablesOutput(leaving=memory.let_leave))


@pytest.mark.slow
def test_a_second_table_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    """The message names both outputs and the group, and no value."""
    ledger = tmp_path / "ledger.db"
    let_leave("age < 65", tmp_path / "one", OutputMemory(ledger, "people", 3))
    with pytest.raises(RefusedError) as refusal:
        let_leave("age < 66", tmp_path / "two", OutputMemory(ledger, "people", 3))
    message = str(refusal.value)
    assert "age = 65" in message
    assert "output 1 'table 1': age < 65" in message
    assert "suppress 4 cells" in message
    assert not (tmp_path / "two").exists()
    let_leave("age < 66", tmp_path / "two", OutputMemory(ledger, "other people", 3))
    let_leave("age < 64", tmp_path / "three", OutputMemory(ledger, "people", 3))
    assert len(Ledger(ledger).outputs("people")) == 2
    assert Ledger(ledger).verify() == []


@pytest.mark.slow
def test_a_ledger_whose_outputs_were_changed_is_not_relied_on(tmp_path: Path) -> None:
    """An output that was removed, the newest one too, is missed."""
    ledger = tmp_path / "ledger.db"
    let_leave("age < 65", tmp_path / "one", OutputMemory(ledger, "people", 3))
    connection = sqlite3.connect(ledger)
    connection.execute("DELETE FROM output")
    connection.commit()
    connection.close()
    assert [fault.where for fault in Ledger(ledger).verify()] == ["data set 'people'"]
    with pytest.raises(LedgerError, match="changed or lost"):
        let_leave("age < 64", tmp_path / "two", OutputMemory(ledger, "people", 3))


@pytest.mark.slow
def test_of_two_who_publish_at_once_one_begins_again(tmp_path: Path) -> None:
    """What was judged against an older state is not entered."""
    memory = OutputMemory(tmp_path / "ledger.db", "people", 3)
    assert memory.earlier == ()
    let_leave("age < 65", tmp_path / "one", OutputMemory(memory.ledger, "people", 3))
    with pytest.raises(LedgerError, match="committed meanwhile"):
        let_leave("age < 64", tmp_path / "two", memory)
    assert not (tmp_path / "two").exists()


@pytest.mark.parametrize("text", ["age", "age < old", "< 3"])
def test_what_is_no_condition_is_refused(text: str) -> None:
    """By the command and by the plan alike, with how to write one."""
    with pytest.raises(InputError):
        Condition.parse(text)
    with pytest.raises(PlanError, match="filter"):
        plan_of(text)
