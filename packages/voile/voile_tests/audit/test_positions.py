"""Rows that stand in the order of the original are told, and no others."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from voile.audit.foreign import _columns_in_order, order_notices
from voile.audit.recognition import recognise, spelt_anew
from voile.audit.renaming import renamed_columns
from voile.release.reading import People
from voile_tests.audit.tables import marginals, people

ORIGINAL = people(600, 1)
DRAWN = marginals(ORIGINAL, 3)


def _in_order(released: pl.DataFrame, original: pl.DataFrame = ORIGINAL) -> list[str]:
    return _columns_in_order(recognise(released, People(original)), People(original))


def test_one_column_in_order_is_told() -> None:
    """Of columns drawn by themselves, the one whose rows correspond by their places."""
    kept = DRAWN.with_columns(ORIGINAL["education"])
    assert _in_order(kept) == ["education"]
    (notice,) = order_notices(recognise(kept, People(ORIGINAL)), People(ORIGINAL))
    assert "'education' tells" in notice


def test_noise_and_intervals_in_order_are_told() -> None:
    """Numbers need not be equal to tell whose they are."""
    noise = np.random.default_rng(4).normal(0, 9, 600)
    low = pl.col("age") // 10 * 10
    kept = DRAWN.with_columns(
        ORIGINAL["hours"] + noise,
        ORIGINAL.select(age=pl.format("[{}, {}]", low, low + 9))["age"],
    )
    assert _in_order(kept) == ["age", "hours"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_other_orders_are_none(seed: int) -> None:
    """Shuffled rows and independent draws, as many, fewer, and more of them."""
    for part in (ORIGINAL, ORIGINAL.head(500), ORIGINAL.sample(200, seed=seed), ORIGINAL[350:]):
        assert not _in_order(part.sample(fraction=1, shuffle=True, seed=seed))
        assert not _in_order(marginals(part, seed))
    twice = pl.concat([ORIGINAL, ORIGINAL]).sample(fraction=1, shuffle=True, seed=seed)
    assert not _in_order(twice)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.95, 0.6, 0.2])
def test_rows_in_order_are_told_where_some_are_left_out(share: float) -> None:
    """Values, intervals, sets and noise: who knows a place still knows about where a row is."""
    draws = np.random.default_rng(6)
    kept = ORIGINAL.filter(draws.random(600) < share)
    low = pl.col("age") // 10 * 10
    coarse = kept.with_columns(
        hours=kept["hours"] + draws.laplace(0, 2, kept.height).round(1),
        age=pl.format("[{}, {}]", low, low + 9),
        town=pl.lit("*"),
        education=pl.when(pl.col("education") == "doctor").then(pl.lit("*")).otherwise("education"),
    )
    for released in (kept, coarse):
        found = _in_order(released)
        assert {"age", "hours", "income"} <= set(found)
        assert not _in_order(released.sample(fraction=1, shuffle=True, seed=1))


def test_rows_in_order_are_told_where_others_are_repeated_or_the_head_is_missing() -> None:
    """A part from the middle, and rows that stand twice behind each other."""
    assert _in_order(ORIGINAL[150:400])
    assert _in_order(ORIGINAL.select(pl.all().repeat_by(2).explode()))


@pytest.mark.slow
def test_files_that_are_sorted_are_not_in_the_order_of_another_original() -> None:
    """Rows of the original sorted by a column, beside an original that is not, or is by it."""
    part = ORIGINAL.sample(400, seed=2).sort("age", maintain_order=True)
    assert not _in_order(part)
    assert not _in_order(part, ORIGINAL.sample(fraction=1, shuffle=True, seed=3).sort("age"))


def test_rows_sorted_on_both_sides_are_no_order() -> None:
    """A file that somebody has sorted agrees with a sorted original at every place nearby."""
    original = ORIGINAL.sort("age")
    assert "age" not in _in_order(marginals(original, 5).sort("age"), original)


def _numbered(rows: pl.DataFrame, start: int, form: str) -> pl.DataFrame:
    numbers = [form.format(number) for number in range(start, start + rows.height)]
    read = pl.Int64 if form == "{}" else pl.String
    return rows.with_columns(pl.Series("serial", numbers).cast(read))


FORMS = ["{}", "P{:05d}", "P{}"]


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("start", [1, 2, 51, 301, 10_001])
def test_numbers_that_were_given_anew_are_no_order(start: int, form: str) -> None:
    """Rows of nobody, of others, and shuffled ones, whose serial numbers count up from anywhere."""
    original = _numbered(ORIGINAL, 1, form)
    shuffled = ORIGINAL.sample(fraction=1, shuffle=True, seed=5)
    for rows in (DRAWN, people(600, 9), shuffled):
        for some in (rows, rows[:-1], rows[:300]):
            assert not _in_order(_numbered(some, start, form), original)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_numbers_given_anew_hide_no_order(form: str) -> None:
    """One row is left out, or replaced by somebody's, and the others are numbered again, or not."""
    original = _numbered(ORIGINAL, 1, form)
    without = original.filter(pl.int_range(pl.len()) != 10)
    replaced = pl.concat([without.drop("serial"), people(1, 9)])
    for released in (
        without,
        _numbered(without.drop("serial"), 1, form),
        _numbered(without.drop("serial"), 1_001, form),
        _numbered(replaced, 1_001, form),
        replaced,
    ):
        names = _in_order(released, original)
        assert {"age", "hours", "income"} <= set(names)
        assert "serial" not in names


def test_values_by_which_both_files_were_sorted_are_no_order() -> None:
    """A column that tells most rows apart goes together with itself, whoever the rows are of."""
    original = ORIGINAL.with_columns(wage=pl.col("income") * 1000 + pl.int_range(600)).sort("wage")
    others = people(600, 9).with_columns(wage=original["wage"])
    assert not _in_order(others, original)
    assert not _in_order(others[:-1], original)


def _moved(released: pl.DataFrame, original: pl.DataFrame) -> set[str]:
    """Columns that are told to stand beside those of other rows."""
    shown = [one for one in recognise(released, People(original)) if one.columns]
    reasons = renamed_columns(released, shown, People(original)).reasons
    return {name for name, why in reasons.items() if "of other rows" in why}


def _rolled(rows: pl.DataFrame) -> pl.DataFrame:
    return pl.DataFrame(
        {each.name: np.roll(each.to_numpy(), 17 * place) for place, each in enumerate(rows)}
    )


def _spread(rows: pl.DataFrame, apart: int) -> pl.DataFrame:
    """Each person's cells in as many rows that follow each other, among values that were drawn."""
    drawn = marginals(rows, 8)
    place = np.arange(rows.height)
    cells = {
        each.name: pl.Series(
            np.where(
                place % apart == at % apart,
                each.to_numpy()[place // apart],
                drawn[each.name].to_numpy(),
            )
        )
        for at, each in enumerate(rows)
    }
    return pl.DataFrame(cells)


def test_columns_that_were_moved_along_the_rows_are_told() -> None:
    """By some rows each, every second one turned round, or spread over rows; half are others'."""
    town = people(2000, 5)
    rows = town.sample(fraction=1, shuffle=True, seed=1)
    turned = pl.DataFrame([each.reverse() if at % 2 else each for at, each in enumerate(rows)])
    tied = {"age", "education", "hours", "income"}
    assert _moved(_rolled(rows), town) >= tied
    assert _moved(turned, town) >= {"education", "hours", "income"}
    assert _moved(_spread(rows, 2), town) >= {"education", "hours", "income"}
    half = pl.concat([_rolled(rows)[:1000], marginals(town, 2)[:1000]])
    assert _moved(half, town) >= {"education", "hours", "income"}


def test_rows_that_follow_each_other_by_their_values_tell_no_moved_columns() -> None:
    """Sorted files, of people, of others and of nobody, and panels whose rows tell of the last."""
    town, others = people(2000, 5), people(2000, 6)
    for rows in (town, others, marginals(town, 3)):
        for by in (["age"], ["education", "town"], ["sex", "income", "hours"]):
            assert not _moved(rows.sort(by), town)
    draws = np.random.default_rng(7)
    states = draws.integers(0, 4, (400, 7))
    for year in range(1, 7):
        same = draws.random(400) < 0.4
        states[same, year] = states[same, year - 1]
    panel = pl.DataFrame(
        {
            "year": np.tile(np.arange(6), 400),
            "state": states[:, 1:].ravel(),
            "before": states[:, :-1].ravel(),
            "sex": np.repeat(draws.integers(0, 2, 400), 6),
        }
    )
    assert not _moved(panel, panel)
    assert not _moved(panel.sample(fraction=1, shuffle=True, seed=1), panel)


def test_values_that_are_written_in_several_ways_are_told() -> None:
    """Of capitals, spaces or signs that nobody sees; not where all cells are written so, or none.

    Nor where the original writes them in these ways, too.
    """
    town = people(400, 5)
    bits = np.random.default_rng(3).random(400) < 0.5

    def told(cells: pl.Expr, original: pl.DataFrame = town) -> set[str]:
        drawn = marginals(town, 4).with_columns(cells.alias("town"))
        shown = [one for one in recognise(drawn, People(original)) if one.columns]
        reasons = renamed_columns(drawn, shown, People(original)).reasons
        return {name for name, why in reasons.items() if "several ways" in why}

    plain, loud = pl.col("town"), pl.col("town").str.to_uppercase()
    for other in (loud, plain + " ", plain + "\u200b"):
        some = pl.when(pl.Series(bits)).then(other).otherwise(plain)
        assert told(some) == {"town"}
        assert not told(other)
    assert not told(plain)
    both = town.with_columns(pl.when(pl.Series(bits)).then(loud).otherwise(plain).alias("town"))
    assert not told(pl.when(pl.Series(~bits)).then(loud).otherwise(plain), both)


@pytest.mark.parametrize("empty", ["file", "original", "control"])
def test_columns_of_texts_that_are_empty_somewhere_have_no_ways_of_writing(empty: str) -> None:
    """Of the released file, the original or the control; they are looked at and tell nothing."""
    town = people(60, 5).select("town")
    sides = dict.fromkeys(("file", "original", "control"), town)
    sides[empty] = town.with_columns(pl.lit(None, pl.String).alias("town"))
    own, control = People(sides["original"]), People(sides["control"])
    assert spelt_anew(sides["file"]["town"], own, "town", control) == 0


def test_few_ways_of_writing_that_other_people_have_too_are_not_told() -> None:
    """Of rows of other people 1 in 100 is typed otherwise, as some are on both sides.

    They are told where the control and the original have none, or far fewer.
    """
    draws = np.random.default_rng(8)

    def typed(seed: int, share: float) -> pl.DataFrame:
        other = pl.col("town").str.to_uppercase() + pl.Series(draws.choice(["", " ", "  "], 2_000))
        some = pl.Series(draws.random(2_000) < share)
        rows = people(2_000, seed)
        return rows.with_columns(pl.when(some).then(other).otherwise("town").alias("town"))

    def told(file: pl.DataFrame, share: float) -> bool:
        own, control = People(typed(1, share)), People(typed(2, share))
        return bool(spelt_anew(file["town"], own, "town", control))

    for seed in (3, 4, 5):
        assert not told(typed(seed, 0.01), 0.01)
        assert told(typed(seed, 0.3), 0.001)
        assert told(typed(seed, 0.02), 0)
    assert not spelt_anew(typed(6, 0.01)["town"], People(typed(1, 0.01)), "town")
