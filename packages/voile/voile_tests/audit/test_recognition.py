"""How columns of a released file are shown is found out, and may be overruled."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from voile.audit import counting
from voile.audit.foreign import as_release, stands_for
from voile.audit.recognition import Recognised, finer_digits, recognise
from voile.disclosure.foreign import Altered, Perturbed
from voile.release.reading import People
from voile_base.errors import TableError
from voile_base.randomness import Randomness
from voile_tests.audit.tables import marginals, people

ORIGINAL = people(600, 1)
DRAWN, PEOPLE = marginals(ORIGINAL, 3), People(ORIGINAL)


def _how(released: pl.DataFrame, **said: str) -> dict[str, Recognised]:
    found = recognise(released, People(ORIGINAL), said)  # type: ignore[arg-type]
    return {one.name: one for one in found}


def test_a_copy_is_shown_as_it_is() -> None:
    """All columns are exact, in any order of rows."""
    copy = ORIGINAL.sample(fraction=1, shuffle=True, seed=1)
    assert {one.how for one in _how(copy).values()} == {"exact"}


def test_each_way_is_told_apart() -> None:
    """One column of each kind in one file."""
    draws = np.random.default_rng(2)
    decade = ORIGINAL["age"] // 10 * 10
    released = pl.DataFrame(
        {
            "age": [f"[{low}, {low + 10}[" for low in decade],
            "sex": ORIGINAL["sex"],
            "town": draws.permutation(ORIGINAL["town"].to_numpy()),
            "education": ["*" if i % 9 == 0 else x for i, x in enumerate(ORIGINAL["education"])],
            "hours": np.round(ORIGINAL["hours"].to_numpy() + draws.laplace(0, 3, 600), 2),
            "income": ORIGINAL["income"],
        }
    )
    how = {name: one.how for name, one in _how(released).items()}
    assert how["age"] == "interval"
    assert how["education"] == "set"
    assert how["hours"] == "noisy"
    assert how["sex"] == how["income"] == "exact"


def test_a_column_beside_the_values_of_others_is_permuted() -> None:
    """Of four columns of one row the one that was permuted is found."""
    draws = np.random.default_rng(3)
    shuffled = pl.Series("hours", draws.permutation(ORIGINAL["hours"].to_numpy()))
    how = {name: one.how for name, one in _how(ORIGINAL.with_columns(shuffled)).items()}
    assert how.pop("hours") == "permuted"
    assert set(how.values()) == {"exact"}


def test_rows_of_nobody_are_synthetic() -> None:
    """Columns drawn by themselves hold values of the original in rows that nobody has."""
    assert {one.how for one in _how(marginals(ORIGINAL, 4)).values()} == {"synthetic"}


@pytest.mark.slow
def test_numbers_behind_a_curve_are_read_back() -> None:
    """Up or down, in any order of rows; noise in whole numbers is none."""
    mixed = ORIGINAL.sample(fraction=1, shuffle=True, seed=1)
    for curve in (pl.col("age").log(), 1 / pl.col("age"), pl.col("age") ** 2 + 0.5):
        found = _how(mixed.with_columns(age=curve))["age"]
        assert found.how == "exact"
        assert (found.columns[0].cast(pl.String) == mixed["age"].cast(pl.String)).all()
    draws = np.random.default_rng(4)
    for _ in range(20):
        noise = pl.Series(draws.integers(-1, 2, ORIGINAL.height)) + 0.5
        assert _how(mixed.with_columns(age=pl.col("age") + noise))["age"].how != "exact"


def test_averages_are_told_from_noise() -> None:
    """Numbers of nobody that stand in several rows each are averages of groups."""
    ranked = ORIGINAL.sort("hours").with_row_index("i").with_columns(pl.col("i") // 4)
    means = ranked.with_columns(pl.col("hours").mean().over("i") + 0.01).drop("i")
    assert _how(means)["hours"].how == "averaged"


def test_two_columns_are_the_ends_of_an_interval() -> None:
    """Whatever suffixes they have."""
    for low, high in ((".low", ".high"), ("_min", "_max")):
        ends = [(pl.col("age") - 2).alias(f"age{low}"), (pl.col("age") + 2).alias(f"age{high}")]
        found = _how(ORIGINAL.with_columns(ends).drop("age"))["age"]
        assert found.how == "interval"
        assert found.of == (f"age{low}", f"age{high}")


def test_intervals_that_no_row_has_withhold_their_column() -> None:
    """A column without any end tells nothing; one end of two is no interval."""
    none = pl.lit(None, pl.Int64)
    ends = ORIGINAL.with_columns(none.alias("age.low"), none.alias("age.high")).drop("age")
    found = _how(ends)["age"]
    assert found.how == "withheld"
    assert found.of == ("age.low", "age.high")
    one = ORIGINAL.with_columns(none.alias("age.low"), pl.col("age").alias("age.high"))
    with pytest.raises(TableError, match="holds no numbers"):
        _how(one.drop("age"))


def test_a_column_that_is_not_there_is_withheld() -> None:
    """Others are read all the same."""
    found = _how(ORIGINAL.drop("town"))
    assert found["town"].how == "withheld"
    assert found["age"].how == "exact"


def test_a_plan_overrules() -> None:
    """What is said counts, and what cannot be so is refused with the column's name."""
    assert _how(ORIGINAL, income="noisy")["income"].how == "noisy"
    assert _how(ORIGINAL, town="withheld")["town"].how == "withheld"
    with pytest.raises(TableError, match="'town' of the released file does not hold intervals"):
        _how(ORIGINAL, town="interval")


def test_a_file_of_other_columns_is_refused() -> None:
    """Also where the original has a column of almost that name."""
    other = ORIGINAL.rename({name: f"{name}s" for name in ORIGINAL.columns})
    with pytest.raises(TableError, match="shows no column of the original"):
        recognise(other, People(ORIGINAL))
    with pytest.raises(TableError, match="no rows"):
        recognise(ORIGINAL.clear(), People(ORIGINAL))


def test_a_recognised_file_is_a_release_that_promises_nothing() -> None:
    """Its rows are those of the file in the columns that adversaries read."""
    released = ORIGINAL.with_columns(new=pl.lit(1))
    recognised = recognise(released, People(ORIGINAL))
    foreign = as_release(released, recognised, {"sensitive": ["income"]})
    assert foreign.release.rows == 600
    assert foreign.unused == ("new",)
    assert foreign.release.roles == {"sensitive": ("income",)}
    assert foreign.release.guarantee.kind == "none"
    assert not foreign.release.publishable


def test_noise_beside_its_interval_is_noise() -> None:
    """An interval that holds the number with a probability rules nobody out who lies beyond it."""
    original = people(300, 1)
    noise = np.random.default_rng(1).laplace(0, 3, 300)
    age = original["age"].to_numpy() + noise
    ends = {"age": age, "age.low": age - 2, "age.high": age + 2}
    released = original.drop("age").with_columns(pl.Series(name, one) for name, one in ends.items())
    found = next(one for one in recognise(released, People(original)) if one.name == "age")
    assert found.how == "noisy"
    assert set(found.of) == set(ends)
    two = next(
        one for one in recognise(released.drop("age"), People(original)) if one.name == "age"
    )
    assert two.how == "interval"


def test_a_column_of_which_nothing_is_left_is_withheld() -> None:
    """Empty cells show nothing, whatever the original has there."""
    emptied = ORIGINAL.with_columns(
        town=pl.lit(None, dtype=pl.String), income=pl.lit(None, dtype=pl.Float64)
    )
    found = _how(emptied)
    assert found["town"].how == found["income"].how == "withheld"
    assert found["town"].of == ("town",)
    assert found["age"].how == "exact"


@pytest.mark.parametrize("spelt", [None, "NA"])
def test_a_suppressed_cell_stands_for_anything(spelt: str | None) -> None:
    """Cells that were left out are read as any value, and the column for what is left of it."""
    gone = pl.int_range(pl.len()) % 7 == 0
    released = ORIGINAL.with_columns(
        pl.when(gone).then(pl.lit(spelt)).otherwise(pl.col(name).cast(pl.String)).alias(name)
        for name in ("town", "age")
    )
    found = _how(released)
    assert found["town"].how == "set"
    assert found["town"].columns[0][0] == "*"
    assert found["age"].how == "interval"
    low, high = found["age"].columns
    assert low[0] is None
    assert low[1:7].to_list() == high[1:7].to_list() == ORIGINAL["age"][1:7].to_list()
    assert not found["town"].unread
    assert found["sex"].how == "exact"


def test_a_cell_that_was_missing_already_is_exact() -> None:
    """Missing values of the original are values."""
    own = ORIGINAL.with_columns(town=pl.when(pl.int_range(pl.len()) % 7 > 0).then(pl.col("town")))
    (town,) = (one for one in recognise(own, People(own)) if one.name == "town")
    assert town.how == "exact"


def test_averages_are_averages_where_some_were_left_out() -> None:
    """Numbers of nobody among which ``NA`` stands are no intervals."""
    mean = ORIGINAL.sort("income")["income"].to_numpy().reshape(-1, 5).mean(axis=1).repeat(5)
    cells = ["NA" if i % 11 == 0 else f"{x + 0.25}" for i, x in enumerate(mean)]
    released = ORIGINAL.sort("income").with_columns(pl.Series("income", cells))
    assert _how(released)["income"].how == "averaged"


def test_how_many_rows_are_of_nobody_is_said() -> None:
    """Where a part of the rows was changed, the rest is not said to be of nobody."""
    draws = np.random.default_rng(5)
    town = np.where(draws.random(600) < 0.5, "t3", ORIGINAL["town"].to_numpy())
    found = _how(ORIGINAL.with_columns(pl.Series("town", town)))["town"]
    assert found.how == "synthetic"
    share = float(found.why.split("; ")[1].split("%")[0])
    assert 25 < share < 55


def _nobody(released: pl.DataFrame) -> dict[str, object]:
    return {name: one.shown for name, one in _how(released).items()}


def test_a_few_swapped_values_make_rows_of_nobody() -> None:
    """One row in twenty with another town is no copy: how many rows nobody has is said."""
    draws = np.random.default_rng(8)
    town = ORIGINAL["town"].to_numpy().copy()
    chosen = draws.permutation(600)[:30]
    town[chosen] = np.roll(town[chosen], 1)
    changed = float((town != ORIGINAL["town"].to_numpy()).mean())
    found = _nobody(ORIGINAL.with_columns(town=town))
    assert {type(shown) for shown in found.values()} == {Altered}
    assert 0.5 * changed < found["town"].share <= changed  # type: ignore[attr-defined]


def test_copies_samples_and_suppressed_cells_are_not_altered() -> None:
    """Rows in any order, some of them, some twice over, some with a cell that is missing."""
    missing = ORIGINAL.with_columns(
        town=pl.when(pl.int_range(600) % 300 == 0).then(None).otherwise("town")
    )
    files = (ORIGINAL.sample(fraction=1, shuffle=True), ORIGINAL[:200], missing)
    for released in (*files, pl.concat([ORIGINAL, ORIGINAL[:40]])):
        assert not any(isinstance(one, Altered) for one in _nobody(released).values())


def test_recoded_values_of_a_single_column_are_altered() -> None:
    """A column alone that holds its values more or less often was changed."""
    draws = np.random.default_rng(9)
    sex = np.where(draws.random(600) < 0.2, "f", ORIGINAL["sex"].to_numpy())
    found = _nobody(pl.DataFrame({"sex": sex}))
    assert isinstance(found["sex"], Altered)


def test_distances_are_those_of_people_who_are_alone_in_both_files() -> None:
    """Noise in rows of any order, and averages of groups: the mean distance within a tenth."""
    draws = np.random.default_rng(10)
    order = draws.permutation(600)
    hours = ORIGINAL["hours"].to_numpy().astype(float)
    group = np.argsort(np.argsort(hours + draws.random(600))) // 12
    mean = (np.bincount(group, hours) / np.bincount(group))[group] + 0.001
    for near in (hours + draws.laplace(0, 1.5, 600), mean):
        released = ORIGINAL.with_columns(hours=near)[order]
        shown = _nobody(released)["hours"]
        assert isinstance(shown, Perturbed)
        assert shown.scale == pytest.approx(np.abs(near - hours).mean(), rel=0.1)
        assert not shown.guessed


def test_a_distance_that_nothing_tells_is_supposed_and_says_so() -> None:
    """Little noise beside no other column, in rows of another order, cannot be measured."""
    draws = np.random.default_rng(11)
    hours = draws.permutation(ORIGINAL["hours"].to_numpy()) + draws.normal(0, 0.2, 600)
    shown = _nobody(pl.DataFrame({"hours": hours}))["hours"]
    assert isinstance(shown, Perturbed)
    assert shown.guessed
    loud = _nobody(pl.DataFrame({"hours": hours + draws.laplace(0, 30, 600)}))["hours"]
    assert isinstance(loud, Perturbed)
    assert not loud.guessed
    assert loud.scale == pytest.approx(30, rel=0.15)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.1, 0.2, 0.5])
def test_a_part_of_the_rows_is_shown_as_it_is(share: float) -> None:
    """Of few rows several lines lead to values of the original: as they are is tried first."""
    for seed in range(8):
        part = ORIGINAL.sample(fraction=share, seed=seed)
        assert {one.how for one in _how(part).values()} == {"exact"}


@pytest.mark.parametrize("mark", ["*", "NA", "suppressed", "**"])
def test_a_column_of_nothing_but_marks_is_withheld(mark: str) -> None:
    """A number or a text of which each cell may be anything is not shown at all."""
    found = _how(ORIGINAL.with_columns(age=pl.lit(mark), town=pl.lit(mark)))
    assert {name for name, one in found.items() if one.how == "withheld"} == {"age", "town"}
    assert found["age"].columns == ()
    assert found["sex"].how == "exact"
    star = ORIGINAL.with_columns(town=pl.lit("*"))
    (town,) = (one for one in recognise(star, People(star)) if one.name == "town")
    assert town.how == "exact"


def test_whoever_is_looked_at_has_the_own_row_beside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a larger file a sample is drawn once: all people of it find their rows in the file's."""
    monkeypatch.setattr(counting, "ROWS", 1_000)
    monkeypatch.setattr(counting, "_SAMPLE", 500)
    original = people(6_000, 1).with_row_index("number")
    copy = original.sample(fraction=1, shuffle=True, seed=2)
    of = People(original)
    recognised = recognise(copy, of)
    foreign = as_release(copy, recognised, {})
    found = counting.ExaminedRows.of(foreign, copy, [of, of], Randomness.seeded(1))
    assert found.places is not None
    assert 1_000 < found.file.release.rows < 3_000
    names = [name for name in original.columns if name != "number"]
    shown = pl.DataFrame(found.file.release.table.to_arrow()).select(names)
    texts = pl.all().cast(pl.String)
    missing = (
        found.people[0]
        .select(names)
        .select(texts)
        .join(shown.select(texts), on=names, how="anti", nulls_equal=True)
    )
    assert missing.is_empty()
    assert original[found.places.tolist()].equals(found.people[0])


def test_where_no_sample_can_be_drawn_all_rows_are_looked_at_or_nothing_is_assessed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No column of rows of nobody tells whose they are: fewer targets, of too many rows none."""
    monkeypatch.setattr(counting, "ROWS", 1_000)
    original = people(2_000, 1)
    released = marginals(original, 2)
    of = People(original)
    foreign = as_release(released, recognise(released, of), {})

    def looked_at(*, quick: bool = False) -> counting.ExaminedRows:
        monkeypatch.setattr(counting, "_QUICK", 1_000)
        return counting.ExaminedRows.of(
            foreign, released, [of, of], Randomness.seeded(1), quick=quick
        )

    found = looked_at()
    assert found.refusal is None
    assert found.share == 0.5
    assert found.file.release.rows == 2_000
    assert [frame.height for frame in found.people] == [2_000, 2_000]
    assert "not assessed" in (looked_at(quick=True).refusal or "")
    monkeypatch.setattr(counting, "_MOST", 1_999)
    assert "at most 1,999 rows" in (looked_at().refusal or "")


def test_digits_that_noise_does_not_need_are_told() -> None:
    """They may be the cells of a person; of rounded noise, and of numbers so fine, none are."""
    draws = np.random.default_rng(5)
    noise = ORIGINAL["hours"] + pl.Series(draws.normal(0, 3, 600))
    told = [*finer_digits(recognise(DRAWN.with_columns(hours=noise), PEOPLE), PEOPLE)]
    assert told == ["digits of column 'hours' beyond the first 2 behind the point"]
    some = noise.round(2) + pl.Series(np.where(np.arange(600) < 9, 0.00347, 0))
    assert [*finer_digits(recognise(DRAWN.with_columns(hours=some), PEOPLE), PEOPLE)] == told
    for fine in (noise.round(2), noise.round(0)):
        assert not [*finer_digits(recognise(DRAWN.with_columns(hours=fine), PEOPLE), PEOPLE)]
    weighed = ORIGINAL.with_columns(hours=pl.Series(draws.normal(0, 3, 600)))
    other = DRAWN.with_columns(hours=pl.Series(draws.normal(0, 3, 600)))
    assert not [*finer_digits(recognise(other, People(weighed)), People(weighed))]


def test_labels_of_other_people_are_explained_by_the_control_and_rare_ones_may_be_new() -> None:
    """Rows of other people show towns that the original lacks, as the control does.

    Who shows the control's towns in many rows, or new ones, has no such reason.
    """
    draws = np.random.default_rng(2)
    places = pl.Series(np.where(np.arange(600) < 4, "oldham", ORIGINAL["town"].to_numpy()))
    control = People(ORIGINAL.with_columns(town=places))

    def town(rows: int, label: str, *, alone: bool = False) -> Recognised:
        some = draws.permutation(600) < rows
        file = DRAWN.with_columns(
            pl.when(pl.Series(some)).then(pl.lit(label)).otherwise("town").alias("town")
        )
        found = recognise(file, PEOPLE, {}, None if alone else control)
        return next(one for one in found if one.name == "town")

    few = town(5, "oldham")
    assert not few.unread
    assert "people of the control" in few.why
    assert town(5, "oldham", alone=True).unread == ("oldham",)
    many = town(60, "oldham")
    assert (many.unread, many.unread_are_rare) == (("oldham",), False)
    new, often = town(3, "elsewhere"), town(60, "elsewhere")
    assert (new.unread, new.unread_are_rare) == (("elsewhere",), True)
    assert (often.unread, often.unread_are_rare) == (("elsewhere",), False)


def test_numbers_of_other_people_under_their_own_names_are_no_cipher() -> None:
    """Losses of which most are 0: of other people they stand as often, one by one, by themselves.

    Under other names they are told as before.
    """
    draws = np.random.default_rng(4)
    weights = 1 / np.arange(1, 61)
    own, other = (
        pl.Series("loss", draws.choice(60, 4_000, p=weights / weights.sum())) for _ in range(2)
    )
    few = People(pl.DataFrame([own[:2_000].filter(~own[:2_000].is_in([55, 56]))]))
    assert stands_for(other, few, ["loss"]) is None
    ciphered = (other + 100).alias("loss")
    assert stands_for(ciphered, few, ["loss"]) == "loss"
    sexes = People(pl.DataFrame({"sex": draws.choice(["f", "m"], 1_500)}))
    assert stands_for((other + 100).alias("v"), sexes, ["sex"]) is None
