"""Cards of methods with noise: errors that are told hold, sets that are ticked, intervals drawn."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import voile
from voile.schema.plan import parse_plan
from voile_base.errors import InputError
from voile_studio.pictures import intervals_of, sets_of
from voile_studio.words import method_cards

CARDS = {card.name: card for card in method_cards()}


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "tables"), [(0.5, 1), (1, 4), (2, 10)])
def test_counts_are_off_by_no_more_than_a_card_tells(epsilon, tables):
    """Of tables of one column each: of 1,000 cells 19 in 20 are within, and not all by far."""
    told = CARDS["dp-tables"].errors(epsilon, 12)
    half = float(told.split(", ")[[1, 4, 10].index(tables)].split()[0])
    names = [f"c{number}" for number in range(tables - 1)]  # the number of all rows is a table, too
    values = [f"v{number}" for number in range(40)]
    rows = pl.DataFrame({name: ["v0"] * 10 for name in names} or {"c0": ["v0"] * 10})
    plan = parse_plan(
        {
            "roles": {"quasi_identifiers": rows.columns},
            "columns": {name: {"values": values} for name in rows.columns},
            "method": {
                "name": "dp-tables",
                "tables": [[name] for name in rows.columns],
                "epsilon": epsilon * (2 if tables == 1 else 1),
                "delta": 1e-6,
            },
        }
    )
    off = []
    for seed in range(max(6, 60 // tables)):
        made = voile.make_release(rows, plan, None, seed=seed).release.measurements.to_arrow()
        counts = made["count"].to_numpy()
        true = np.where(made["value_1"].to_pandas().isin(["v0", None]), 10, 0)
        off += np.abs(counts - true).tolist()
    within = float((np.array(off) <= half).mean())
    assert 0.93 <= within <= 0.97


def test_errors_of_synthesis_fall_with_epsilon_and_grow_with_columns():
    """And nothing is told of other methods."""
    three, ten = (
        [float(CARDS["dp-synthesis"].errors(epsilon, columns).split()[0]) for epsilon in (1, 3)]
        for columns in (3, 10)
    )
    assert three[0] > three[1]
    assert all(few < many for few, many in zip(three, ten, strict=True))
    assert CARDS["generalization"].errors is None
    assert "several columns" in CARDS["dp-synthesis"].errors(1, 1)


def test_sets_are_those_that_are_ticked():
    """Each once, empty ones left out, and none that the plan does not publish."""
    said = {"m.tables.1": ["age", "sex"], "m.tables.3": ["age", "sex"], "m.tables.4": ["town"]}
    assert sets_of(said, "m.tables", ["age", "sex", "town"]) == [["age", "sex"], ["town"]]
    assert sets_of({}, "m.tables", ["age"]) == []
    with pytest.raises(InputError, match="no column 'town'"):
        sets_of(said, "m.tables", ["age", "sex"])


def test_intervals_are_drawn_of_cells_and_of_nothing_else():
    """In the picture each end stands where its number is, and a suppressed cell is left out."""
    columns = ["table", "town", "sex", "count", "count.low", "count.high"]
    rows = [
        ["town x sex", "Oslo", "F", "50.5", "40", "61"],
        ["town x sex", "Oslo", "", "-3.0", "0", "9"],
        ["town x sex", "Voss", "F", "", "", ""],
        ["town", "Oslo", "Total", "100", "80", "120"],
    ]
    picture = intervals_of(columns, rows)
    assert picture is not None
    assert (picture.table, picture.most, picture.others) == ("town x sex", 61, 0)
    assert [cell.label for cell in picture.cells] == ["Oslo, F", "Oslo, missing"]
    first, second = picture.cells
    assert (first.low, first.count, first.high) == (40 / 61, 50.5 / 61, 1)
    assert (second.low, second.count) == (0, 0)
    assert "-3.0, between 0 and 9" in second.told
    assert intervals_of(["age", "sex"], [["3", "F"]]) is None
    assert intervals_of(columns, []) is None
