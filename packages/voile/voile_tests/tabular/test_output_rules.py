"""Rules for models and quantiles: what is stated is held to them, what is not is refused."""

from __future__ import annotations

import pytest

from voile.tabular.output_rules import StatedFacts, refused_outputs
from voile.tabular.table_files import TableGrid
from voile_base.errors import InputError

NOTHING = StatedFacts({})


def grid(text: str) -> TableGrid:
    """A grid of lines whose texts are divided by ``|``, filled up to one length."""
    rows = [[one.strip() for one in line.split("|")] for line in text.strip().splitlines()]
    width = max(map(len, rows))
    return TableGrid("t", tuple(tuple(row + [""] * (width - len(row))) for row in rows))


def model(facts: str = "", terms: str = "const|1|.1\nage|2|.1\nsize|3|.2") -> TableGrid:
    return grid(f"term|coef|std err\n{terms}\n{facts}")


@pytest.mark.parametrize(
    ("facts", "problems"),
    [
        ("No. Observations:|120", []),
        ("N = 120", []),
        ("Observations|13", []),
        ("Observations|12", ["9 residual degrees of freedom are left, fewer than 10"]),
        ("n|9", ["9 observations, fewer than 10", "6 residual degrees of freedom"]),
        ("Observations|120\nDf Residuals:|8", ["8 residual degrees of freedom"]),
        ("Df Residuals:|117", ["number of observations is not stated"]),
        ("", ["observations is not stated", "neither degrees of freedom nor"]),
        ("Observations|120\nR-squared:|1.000", ["saturated"]),
        ("Observations|3", ["3 observations", "0 residual degrees", "saturated"]),
    ],
)
def test_a_model_states_observations_and_has_degrees_of_freedom(facts, problems) -> None:
    """Ten of both; observations minus coefficients where no degrees of freedom are stated."""
    found = refused_outputs(model(facts), 10, NOTHING)
    assert found is not None
    assert len(found) == len(problems)
    for one, said in zip(problems, found, strict=True):
        assert one in said


def test_standard_errors_of_nothing_are_a_saturated_model() -> None:
    """Whatever the number of observations that it states."""
    (said,) = refused_outputs(model("N|500", "const|1|0\nage|2|0"), 10, NOTHING)
    assert "saturated" in said


def test_a_model_of_one_factor_is_a_table_of_means() -> None:
    """The units of its smallest group are to be stated, and to be enough."""
    terms = "Intercept|1|.1\nregion[T.north]|2|.1\nregion[T.south]|3|.2"
    table = model("N|500", terms)
    (said,) = refused_outputs(table, 10, NOTHING)
    assert "means of groups" in said
    few, enough = (StatedFacts.of([f"smallest group = {n}"]) for n in (9, 10))
    assert len(refused_outputs(table, 10, few)) == 1
    assert refused_outputs(table, 10, enough) == ()
    assert refused_outputs(model("N|500", terms + "\nage|1|.1"), 10, NOTHING) == ()


def test_several_models_side_by_side_are_held_by_the_smallest() -> None:
    """A table of fits, as journals print them."""
    table = grid("|(1)|(2)\nage|.3***|.2\n|(.1)|(.1)\nObservations|120|8\nR2|.3|.4")
    assert "8 observations" in refused_outputs(table, 10, NOTHING)[0]


@pytest.mark.parametrize("turned", [False, True])
def test_quantiles_need_units_beside_and_between_them(turned: bool) -> None:
    """Of 40 units a quarter is ten, of 39 it is not; minimum and maximum are single units."""
    table = grid("group|n|25%|median|75%\na|40|1|2|3\nb|39|1|2|3")
    if turned:
        table = TableGrid("t", tuple(zip(*table.rows, strict=True)))
    (said,) = refused_outputs(table, 10, NOTHING)
    assert said.startswith("'b'")
    extremes = grid("group|n|min|median|max\na|400|1|2|3")
    assert len(refused_outputs(extremes, 10, NOTHING)) == 2


def test_quantiles_whose_units_are_not_stated_are_refused() -> None:
    """Unless they are stated beside the file."""
    table = grid("group|p10|p50|p90\na|1|2|3")
    assert "not stated" in refused_outputs(table, 10, NOTHING)[0]
    assert refused_outputs(table, 10, StatedFacts.of(["observations = 100"])) == ()
    assert len(refused_outputs(table, 10, StatedFacts.of(["n = 99"]))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "region|Q1|Q2|Q3|Q4\nnorth|1|2|3|4",
        "region|a|b|p\nnorth|1|2|3",
        "age|n|%\n0-9|12|50",
        "sex|count\nF|12\nM|13",
    ],
)
def test_tables_of_counts_are_no_outputs_of_this_kind(text: str) -> None:
    """Quarters of a year, letters and shares."""
    assert refused_outputs(grid(text), 10, NOTHING) is None


def test_a_fact_that_is_none_is_refused() -> None:
    """By its text, with those that there are."""
    for text in ("observations", "people = 3", "n = many"):
        with pytest.raises(InputError, match="cannot be read; say one of observations"):
            StatedFacts.of([text])
