"""Rows that a file repeats are told, and make no group larger."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voile.audit.foreign import Repetition, as_release
from voile.audit.recognition import recognise
from voile.release.reading import People
from voile_tests.audit.tables import marginals, people

ORIGINAL = people(600, 1)
KNOWN = ["sex", "town"]


def _of(released: pl.DataFrame, original: pl.DataFrame = ORIGINAL) -> Repetition:
    people_ = People(original)
    found = recognise(released, people_)
    return as_release(released, found, {"quasi_identifiers": KNOWN}).repetition(people_)


def _persons(released: pl.DataFrame) -> int:
    """People of the smallest group, one by one."""
    own, seen = Counter(ORIGINAL.rows()), Counter(released.rows())
    groups: Counter[tuple[object, ...]] = Counter()
    for row, count in seen.items():
        groups[row[1:3]] += min(count, own[row])
    return min(groups.values())


@pytest.mark.slow
@pytest.mark.parametrize("times", [2, 5])
def test_a_part_of_the_rows_repeated_is_told(times: int) -> None:
    """Also where the file has no more rows than the original."""
    part = ORIGINAL[: 600 // times]
    found = _of(pl.concat([part] * times))
    assert found.rows >= (600 - part.height) * 0.9
    assert "repeat others" in found.notices[0]
    assert found.fewest == _persons(pl.concat([part] * times))


def test_one_person_repeated_makes_no_group() -> None:
    """A row that was written four times more in an honest file is found."""
    alone = ORIGINAL.filter(pl.struct(ORIGINAL.columns).is_unique())[:1]
    others = ORIGINAL.filter(
        (pl.col("sex") != alone["sex"][0]) | (pl.col("town") != alone["town"][0])
    )
    found = _of(pl.concat([others, *[alone] * 5]))
    assert (found.rows, found.fewest) == (4, 1)
    assert found.notices


@pytest.mark.slow
def test_rows_of_people_repeat_nobody() -> None:
    """An honest file, generalized or not, noisy, permuted or of nobody, has no repetition."""
    draws = np.random.default_rng(1)
    noise = pl.Series(draws.laplace(0, 3, 600))
    decade = pl.col("age") // 10 * 10
    for honest in (
        ORIGINAL,
        ORIGINAL[:100],
        ORIGINAL.with_columns(age=pl.format("{}-{}", decade, decade + 9)),
        ORIGINAL.with_columns(age=ORIGINAL["age"] + noise),
        ORIGINAL.with_columns(hours=pl.Series(draws.permutation(ORIGINAL["hours"].to_numpy()))),
        marginals(ORIGINAL, 2),
    ):
        assert _of(honest) == Repetition()


def test_missing_cells_repeat_nobody() -> None:
    """Where cells were emptied, few originals with an empty cell say nothing of many rows."""
    town = pl.when(pl.int_range(pl.len()) > 2).then("town")
    original = ORIGINAL.with_columns(town=town)
    emptied = original.with_columns(
        pl.when(pl.int_range(pl.len()) % 9 > 0).then(pl.col("town")).alias("town")
    )
    assert _of(emptied, original) == Repetition()


@pytest.mark.slow
@settings(max_examples=10, deadline=None)
@given(st.lists(st.integers(1, 4), min_size=40, max_size=40))
def test_persons_are_those_of_counting(times: list[int]) -> None:
    """Any rows of the original, each some times."""
    rows = ORIGINAL[:40].with_row_index("i").select(pl.exclude("i").repeat_by(pl.Series(times)))
    released = rows.explode(rows.columns)
    found = _of(released)
    expected = _persons(released)
    assert expected in {found.fewest, released.group_by(KNOWN).len()["len"].min()}


def test_rows_of_nobody_that_fill_a_group_make_it_no_larger() -> None:
    """One in eleven people, eleven times, each with drawn values beside the quasi-identifiers."""
    draws = np.random.default_rng(1)
    original = people(600, 1).with_columns(town=pl.Series([f"t{i // 3}" for i in range(600)]))
    few = original.filter(pl.int_range(600) % 3 == 0)[:54]
    names = [name for name in original.columns if name not in KNOWN]
    drawn = original[names][draws.integers(0, 600, 11 * 54)]
    file = pl.concat([pl.concat([few[KNOWN]] * 11), drawn], how="horizontal")
    found = _of(file, original)
    assert found.fewest is not None
    assert found.fewest <= 3
    assert found.notices


def test_a_synthesizer_that_draws_groups_as_they_are_fills_none() -> None:
    """Each column drawn by itself makes groups about as large as the original's."""
    assert _of(marginals(ORIGINAL, 4)) == Repetition()
