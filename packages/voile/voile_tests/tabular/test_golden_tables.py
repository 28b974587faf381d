"""Real small tables, against what GaussSuppression found of them."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from voile.tabular.attacker import CellSystem, FeasibilityIntervals
from voile_tests.tabular.small_tables import counted, protected

COUNTED = {"count": "ant"}
TABLES = {
    "z1_region_x_hovedint": ("z1", [{"dimensions": ["region", "hovedint"], **COUNTED}]),
    "z2_geo_x_hovedint": (
        "z2",
        [
            {"dimensions": [["fylke", "region"], "hovedint"], **COUNTED},
            {"dimensions": [["kostragr", "region"], "hovedint"], **COUNTED},
        ],
    ),
    "z2_two_linked": (
        "z2",
        [
            {"dimensions": ["region", "hovedint"], **COUNTED},
            {"dimensions": ["kostragr", "hovedint"], **COUNTED},
        ],
    ),
}
COMPANIES: dict[str, Any] = {
    "dimensions": ["sector4", "geo"],
    "sum": ["value"],
    "contributor": "company",
}
NESTED = {**COMPANIES, "dimensions": [["sector2", "sector4"], ["eu", "geo"]]}
SUMS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "magnitude_dominance_1_80": (COMPANIES, {"dominance": [[1, 80]]}),
    "magnitude_dominance_12_8099": (COMPANIES, {"dominance": [[1, 80], [2, 99]]}),
    "magnitude_p_10": (COMPANIES, {"p": 10}),
}


def rows_of(folder: Path, name: str) -> dict[str, list[Any]]:
    """The columns of a file, its last one as numbers."""
    with (folder / "tables" / f"{name}.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    columns: dict[str, list[Any]] = {key: [line[key] for line in lines] for key in lines[0]}
    last = list(columns)[-1]
    columns[last] = [float(one) if "." in one else int(one) for one in columns[last]]
    return columns


@pytest.fixture(scope="module")
def golden(shared_data: Path) -> dict[str, Any]:
    """What another program found, by table and rule."""
    return json.loads((shared_data / "tables" / "golden.json").read_text())["tables"]


@pytest.mark.parametrize("most", [1, 2, 3, 4])
@pytest.mark.parametrize("name", TABLES)
def test_counts(shared_data: Path, golden: dict[str, Any], name: str, most: int) -> None:
    """The same primary cells, at most as many suppressed, proved least, none to be recomputed."""
    file, tables = TABLES[name]
    expected = golden[f"{name}_max{most}"]
    made = protected(rows_of(shared_data, file), tables, minimum=most + 1)
    hidden = made.pattern.suppressed
    assert made.cells.system.cells == expected["cells"]
    assert int(made.primary.cells.sum()) == expected["primary"]
    assert int(hidden.sum()) <= expected["suppressed"]
    assert made.pattern.least
    (measure,) = made.cells.measures
    seen = CellSystem(made.cells.system.constraints, measure.values, hidden, whole=True)
    assert not len(seen.recomputable())
    intervals = FeasibilityIntervals.of(seen, np.flatnonzero(hidden))
    assert (intervals.upper - intervals.lower).min() >= 1
    assert (intervals.lower <= measure.values[hidden]).all()
    assert (intervals.upper >= measure.values[hidden]).all()


@pytest.mark.parametrize("name", SUMS)
def test_sums(shared_data: Path, golden: dict[str, Any], name: str) -> None:
    """Of sums, too, though cells stay uncertain by what the rule asks, not by a decimal alone."""
    table, rule = SUMS[name]
    made = protected(rows_of(shared_data, "magnitude1"), [table], **rule)
    assert int(made.primary.cells.sum()) == golden[name]["primary"]
    assert int(made.pattern.suppressed.sum()) <= golden[name]["suppressed"]
    assert made.pattern.least


def test_few_companies_are_primary(shared_data: Path, golden: dict[str, Any]) -> None:
    """Units of a sum are its companies, at each level of both hierarchies."""
    rows = rows_of(shared_data, "magnitude1")
    cells, primary = counted(rows, [NESTED], minimum=4, zeros="show")
    assert cells.system.cells == golden["magnitude_few3"]["cells"]
    assert int(primary.cells.sum()) == golden["magnitude_few3"]["primary"]
