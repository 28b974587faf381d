"""A control of another year, where values come and go, neither finds anybody nor is void."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from voile.audit.beside import JointCodes
from voile.audit.copying import Copying
from voile.audit.drift import ComparedSides, _more_frequent, _tried
from voile.audit.foreign import as_release
from voile.audit.recognition import recognise
from voile.audit.risk import Setting
from voile.release.reading import People
from voile_base.randomness import Randomness
from voile_tests.audit.tables import marginals, people


def _with_code(table: pl.DataFrame, code: int) -> pl.DataFrame:
    """Ages of 86 and more are one code, as surveys write them."""
    return table.with_columns(age=pl.when(pl.col("age") > 85).then(code).otherwise(pl.col("age")))


ORIGINAL, CONTROL = _with_code(people(2000, 1), 91), _with_code(people(1900, 2), 90)
CODED = ORIGINAL["age"].eq(91).sum(), CONTROL["age"].eq(90).sum()


def _setting(released: pl.DataFrame, original: pl.DataFrame, control: pl.DataFrame) -> Setting:
    foreign = as_release(released, recognise(released, People(original)), {})
    beside = JointCodes.of(foreign, [original, control], None)
    known = {"a reader of the voter roll": ("age", "sex", "town")}
    return Setting(beside, (), None, 300, Randomness.seeded(1), known=known)


@pytest.mark.slow
@pytest.mark.parametrize("code", [91, 90])
def test_a_code_of_another_year_tells_nobody_and_voids_nothing(code: int) -> None:
    """Whether the file has the code of the original or that of the control."""
    setting = _setting(_with_code(marginals(ORIGINAL, 3), code), ORIGINAL, CONTROL)
    assert Copying().refusal(setting) is None
    (risk,) = Copying().risks(setting)
    assert not risk.found
    assert not risk.finds_control
    assert risk.targets == 2000
    assert any(f"{CODED[0]} people of the original and {CODED[1]} of" in one for one in risk.notes)


@pytest.mark.slow
def test_who_is_copied_is_told_beside_a_code_of_another_year() -> None:
    """Sixty others, whole, of 2,000."""
    rows = ORIGINAL.filter(pl.col("age") != 91)[:60]
    file = pl.concat([marginals(ORIGINAL, 3)[60:], rows])
    (risk,) = Copying().risks(_setting(file, ORIGINAL, CONTROL))
    assert risk.found


@pytest.mark.slow
@pytest.mark.parametrize("spelling", [None, "T-3"])
def test_who_is_copied_is_told_though_the_control_lacks_a_value(spelling: str | None) -> None:
    """Ninety people of one town, of which the control has nobody, or has it in other letters."""
    original, other = people(2000, 1), people(1900, 2)
    rows = original.filter(pl.col("town") == "t3")[:90]
    file = pl.concat([marginals(original, 3)[90:], rows])
    other = other.with_columns(town=pl.col("town").replace({"t3": spelling or ""}))
    other = other.filter(pl.col("town") != "")
    setting = _setting(file, original, other)
    assert Copying().refusal(setting) is None
    (risk,) = Copying().risks(setting)
    assert risk.found
    assert risk.targets == 2000
    (risk,) = Copying().risks(_setting(marginals(original, 4), original, other))
    assert not risk.found
    assert not risk.finds_control


@pytest.mark.slow
def test_copies_of_people_who_cannot_be_compared_are_not_assessed() -> None:
    """Sixty people have codes in four of six columns that nobody of the control has."""
    codes = {"age": 200, "sex": "x", "town": "x", "education": "x"}
    coded = ORIGINAL[:60].with_columns(**{name: pl.lit(code) for name, code in codes.items()})
    coded = coded.cast(dict(ORIGINAL.schema))
    original = pl.concat([coded, ORIGINAL[60:]])
    drawn = marginals(original, 3)
    assert Copying().refusal(_setting(drawn, original, CONTROL)) is None
    (risk,) = Copying().risks(_setting(drawn, original, CONTROL))
    assert risk.targets == 1940
    assert any("of 60 and 0 of these people too few columns" in note for note in risk.notes)
    refusal = Copying().refusal(_setting(pl.concat([drawn[60:], coded]), original, CONTROL))
    assert "60 of them stand whole in the file" in (refusal or "")


def _made_with_control(released: pl.DataFrame, control: pl.DataFrame) -> str | None:
    return _setting(released, ORIGINAL, control).compared.made_with_control


@pytest.mark.slow
@pytest.mark.parametrize(("count", "columns"), [(60, 6), (200, 5)])
def test_rows_of_the_control_in_the_file_void_it_beside_as_many_copies(
    count: int, columns: int
) -> None:
    """Rows of both sides, whole or with another sex; those of the original alone void nothing."""
    drawn = marginals(ORIGINAL, 3)
    sides = [side[:count].cast(dict(drawn.schema)) for side in (ORIGINAL, CONTROL)]
    if columns == 5:
        sides = [side.with_columns(sex=pl.lit("d")) for side in sides]
    assert _made_with_control(pl.concat([drawn[count:], sides[0]]), CONTROL) is None
    doubt = _made_with_control(pl.concat([drawn[2 * count :], *sides]), CONTROL)
    assert doubt is not None
    assert f"in {columns} of 6 columns" in doubt


@pytest.mark.slow
def test_of_fifty_files_that_were_made_without_the_control_none_is_said_to_be_made_with_it() -> (
    None
):
    """Marginals, other people with replacement, many rows, and frequent rows; 2 in 1,000 each."""
    for seed in range(10):
        others = people(2000, 100 + seed)
        often = others.group_by(others.columns).len().sort("len", descending=True)
        files = [
            marginals(ORIGINAL, seed),
            others.sample(2000, with_replacement=True, seed=seed),
            _with_code(people(12_000, 200 + seed), 90),
            often.head(800).drop("len"),
            ORIGINAL.sample(2000, with_replacement=True, seed=seed),
        ]
        assert all(_made_with_control(file, CONTROL) is None for file in files)


def test_a_control_of_other_people_is_refused_by_the_columns_that_say_so() -> None:
    """A column that is one value here and another there leaves nobody."""
    sides = [table.with_columns(year=year) for table, year in ((ORIGINAL, 2019), (CONTROL, 2018))]
    refusal = Copying().refusal(_setting(marginals(sides[0], 3), *sides))
    assert refusal is not None
    assert refusal.startswith("2,000 of 2,000 people of the original and 1,900 of 1,900 of the")
    assert "'year'" in refusal


@pytest.mark.slow
def test_of_sixty_controls_of_the_same_people_few_leave_anybody_out() -> None:
    """If the level of 5 % were used up, more than 9 would be one in 1,000 runs."""
    some = 0
    for seed in range(60):
        one, two = people(500, 2 * seed), people(700, 2 * seed + 1)
        foreign = as_release(one, recognise(one, People(one)), {})
        some += ComparedSides(JointCodes.of(foreign, [one, two], None)).drift.note is not None
    assert some <= 9


def test_a_value_three_times_as_frequent_is_told_and_one_half_again_is_not() -> None:
    """Of 1,000 and 1,000 people with ten values, at the limit of the tolerance and beyond it."""
    draws = np.random.default_rng(4)
    for times, told in ((1.5, range(6)), (4.0, range(195, 201))):
        found = 0
        for _ in range(200):
            shares = np.full(10, 0.1)
            shares[0] = 0.1 * times
            sides = (
                draws.multinomial(1000, shares / shares.sum()),
                draws.multinomial(1000, [0.1] * 10),
            )
            found += bool(_more_frequent(np.stack(sides), (1000, 1000))[0])
        assert found in told, (times, found)


def test_as_many_values_are_tried_as_could_be_told() -> None:
    """The least number m such that at most m values reach 5 % / 2m, by trying each m."""
    draws = np.random.default_rng(5)
    for size in (0, 1, 5, 80):
        least = draws.uniform(size=size) ** 6
        tried = next(m for m in range(1, size + 2) if (least <= 0.05 / 2 / m).sum() <= m)
        assert _tried(least) == tried
