"""Numbers that were only shifted or scaled are read back, and noise is not taken for that."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from voile.audit.recognition import Recognised, recognise
from voile.release.reading import People, floats_of
from voile_tests.audit.tables import people

ORIGINAL = people(600, 1)
AGE = pl.col("age")
LINES = {
    "a whole factor": AGE * 2 + 3,
    "a shift": AGE + 5,
    "turned round, within the values that there are": 100 - AGE,
    "inches": (AGE / 2.54).round(2),
    "Fahrenheit in whole degrees": (AGE * 1.8 + 32).round(0),
    "no rounding": AGE * -0.37 + 1 / 3,
}


def _age(released: pl.DataFrame) -> Recognised:
    return recognise(released, People(ORIGINAL))[ORIGINAL.columns.index("age")]


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
@pytest.mark.parametrize("share", [1.0, 0.6])
def test_a_line_is_read_back(line: pl.Expr, share: float) -> None:
    """Each row of a shuffled part of the rows has its own value again."""
    rows = ORIGINAL.sample(fraction=share, shuffle=True, seed=3)
    found = _age(rows.with_columns(age=line))
    assert found.how == "exact"
    assert "times" in found.why
    assert (
        floats_of(found.columns[0].cast(pl.String).cast(pl.Int64)).tolist() == rows["age"].to_list()
    )


def test_a_line_that_merges_values_is_read_back_as_intervals() -> None:
    """Where rounding leaves several values for a number, all of them are meant."""
    found = _age(ORIGINAL.with_columns(age=(AGE * 0.45).round(0)))
    assert found.how == "interval"
    low, high = (floats_of(side) for side in found.columns)
    own = ORIGINAL["age"].to_numpy()
    assert ((low <= own) & (own <= high)).all()
    assert (high - low).mean() < 4


@pytest.mark.parametrize("scale", [1, 3, 10])
@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("shuffled", [True, False])
def test_noise_is_no_line(scale: int, *, whole: bool, shuffled: bool) -> None:
    """Also where it is rounded, and where rows stand in their order."""
    noise = np.random.default_rng(scale).laplace(0, scale, ORIGINAL.height)
    moved = ORIGINAL["age"] + pl.Series(np.round(noise) if whole else noise)
    released = ORIGINAL.with_columns(age=moved)
    if shuffled:
        released = released.sample(fraction=1, shuffle=True, seed=1)
    assert _age(released).how in {"noisy", "averaged"}


def test_an_untouched_column_is_no_line() -> None:
    """It is shown as it is, whatever the order of rows."""
    for rows in (ORIGINAL, ORIGINAL.sample(fraction=1, shuffle=True, seed=4)):
        assert _age(rows).why == "all its cells are values of the original."
