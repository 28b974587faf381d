"""Reconstruction: as many determined rows as exhaustive search over all sets of rows finds."""

from __future__ import annotations

from itertools import combinations, product
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from voile.schema.plan import parse_plan
from voile.tabular.auditing import AuditRules, audit_released, determined_rows
from voile.tabular.claims import released_cells
from voile.tabular.publishing import make_tables

SIZES = {"a": 2, "b": 2, "c": 2, "d": 3}


def block(seed: int, people: int) -> pl.DataFrame:
    """The people of a block, who are more alike than by chance."""
    draw = np.random.default_rng(seed)
    cells = np.array(list(product(*map(range, SIZES.values()))))
    chosen = cells[draw.choice(len(cells), people, p=draw.dirichlet(np.full(len(cells), 0.15)))]
    return pl.DataFrame(
        {name: [f"{name}{one}" for one in chosen[:, axis]] for axis, name in enumerate(SIZES)}
    )


def exhaustive(frame: pl.DataFrame) -> int:
    """Determined rows, by going through all sets of rows that have the six tables."""
    names = frame.columns
    values = [sorted(frame[name].unique().to_list()) for name in names]
    cells = list(product(*values))
    tables = list(combinations(range(len(names)), 2))
    keys = [[(t, *(cell[axis] for axis in t)) for t in tables] for cell in cells]
    left = dict.fromkeys((key for own in keys for key in own), 0)
    for row in frame.iter_rows():
        for t in tables:
            left[(t, *(row[axis] for axis in t))] += 1
    last = {key: place for place, own in enumerate(keys) for key in own}
    least = np.full(len(cells), frame.height)
    counts = np.zeros(len(cells), dtype=int)

    def go(place: int) -> None:
        if place == len(cells):
            np.minimum(least, counts, out=least)
            return
        own = keys[place]
        most = min(left[key] for key in own)
        fixed = {left[key] for key in own if last[key] == place}
        if len(fixed) > 1:
            return
        for number in fixed or range(most + 1):
            if number > most:
                return
            counts[place] = number
            for key in own:
                left[key] -= number
            go(place + 1)
            for key in own:
                left[key] += number
        counts[place] = 0

    go(0)
    return int(least.sum())


def released(frame: pl.DataFrame, folder: Path, minimum: int = 1):
    """Six tables of two columns each, as they are published and read back."""
    tables = [{"dimensions": list(pair)} for pair in combinations(frame.columns, 2)]
    protection = {"minimum": minimum, "zeros": "show"}
    make_tables(frame, parse_plan({"tables": tables, "protection": protection}), folder / "out")
    return released_cells(folder / "out")


@pytest.mark.parametrize("seed", range(6))
def test_a_block_of_thirty_people_with_six_tables(tmp_path: Path, seed: int) -> None:
    """The integer programs find exactly the rows that every set of rows has."""
    frame = block(seed, 30)
    cells = released(frame, tmp_path)
    found = determined_rows(cells, "count")
    assert found is not None
    assert found.rows == 30
    assert found.determined == exhaustive(frame)
    (audit,) = audit_released(cells, AuditRules())
    assert f"{found.determined} of 30 rows" in audit.notes[-1]


@pytest.mark.slow
def test_suppressed_cells_leave_fewer_rows_determined(tmp_path: Path) -> None:
    """With a minimum of 3, no more rows are determined than without."""
    frame = block(2, 30)
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    shown = determined_rows(released(frame, tmp_path / "one"), "count")
    hidden = determined_rows(released(frame, tmp_path / "two", minimum=3), "count")
    assert hidden.determined < shown.determined
