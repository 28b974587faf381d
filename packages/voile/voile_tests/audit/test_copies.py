"""Rows of people that stand as they are among rows of nobody are counted."""

from __future__ import annotations

import re

import polars as pl
import pytest

from voile.audit.foreign import as_release
from voile.audit.recognition import recognise
from voile.release.reading import People
from voile_tests.audit.tables import marginals, people

ORIGINAL, CONTROL = (
    people(4000, seed).with_columns(born=pl.int_range(4000) * 37 % 4001 + 5000 * seed)
    for seed in (1, 2)
)


def _told(released: pl.DataFrame, control: pl.DataFrame | None = CONTROL) -> list[str]:
    original = People(ORIGINAL)
    foreign = as_release(released, recognise(released, original), {})
    return foreign.copy_notices(original, None if control is None else People(control))


@pytest.mark.slow
def test_one_person_left_as_is_among_synthetic_rows_is_counted() -> None:
    """Beside the control, of whom nobody has such a row; and none where nobody was left."""
    synthetic = marginals(ORIGINAL, 3)
    assert _told(synthetic) == []
    planted = pl.concat([synthetic[:2000], ORIGINAL[17:18], synthetic[2001:]])
    (notice,) = _told(planted)
    assert notice.startswith("1 person of the original, whom these 7 columns tell")
    assert "of as many people of the control 0:" in notice
    (notice,) = _told(planted, None)
    assert "control" not in notice


def test_a_small_control_is_told_as_one_as_large_as_the_original() -> None:
    """Copies of people and of the control, by one hundred each."""
    copies = pl.concat([marginals(ORIGINAL, 3)[:3800], ORIGINAL[:100], CONTROL[:100]])
    released = copies.sample(fraction=1, shuffle=True, seed=1)
    (notice,) = _told(released, CONTROL[:1000])
    found = re.search(r"^(\d+) people of the original.* of the control (\d+):", notice)
    assert found is not None
    count, expected = (int(one) for one in found.groups())
    # A few more by chance, which is as likely on both sides.
    assert 90 <= count <= 115
    assert 360 <= expected <= 460


def test_files_of_real_rows_tell_nothing_of_copies() -> None:
    """There each row is somebody's, as is said of the columns."""
    assert _told(ORIGINAL) == []
    assert _told(ORIGINAL.select("age")) == []
