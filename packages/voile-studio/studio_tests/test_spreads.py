"""What a release did to columns and groups is told as it is."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from types import SimpleNamespace

import hypothesis.strategies as st
import pytest
from hypothesis import given

from studio_tests.test_remedies import studied
from voile.study.documents import read_record
from voile.study.record import LOSS, Distribution, Point, StudyComparison
from voile_studio.pictures import (
    _ruler_of,
    pair_of,
    risk_and_loss,
    shown_columns,
    size_classes,
)
from voile_studio.screens.evidence import _losses
from voile_studio.words import method_cards, method_told, most_error, numbers_of, odds_told

shares = st.lists(st.floats(0, 1), min_size=1, max_size=30)


@given(shares)
def test_bars_stand_beside_each_other_and_none_is_too_high(before: list[float]):
    """Places and heights are shares of the picture; the moved share is half the difference."""
    after = sorted(before)
    labels = [str(index) for index in range(len(before))]
    found = pair_of(
        Distribution("age", "keep", "number", labels, None, before, after)  # type: ignore[arg-type]
    )
    assert all(0 <= twin.high_before <= 100 >= twin.high_after for twin in found.twins)
    for one, after_it in zip(found.twins, found.twins[1:], strict=False):
        assert one.x + 2 * one.width <= after_it.x + 1e-9
    gone = sum(abs(was - now) for was, now in zip(before, after, strict=True)) / 2
    assert found.moved == pytest.approx(gone)


@pytest.mark.slow
def test_columns_are_told_by_the_names_that_the_file_has(tmp_path: Path):
    """An interval becomes two columns, and the record of the study says so before publishing."""
    studied(tmp_path / "study", 7)
    record = read_record(tmp_path / "study" / "private" / "record.json")
    found = {one.column: one.names for one in shown_columns(record, {}, {})}
    statement = json.loads((tmp_path / "study" / "release" / "release.json").read_text())
    assert ["group", *itertools.chain(*found.values())] == list(statement["types"])
    assert found["age"] == ("age.low", "age.high")


@pytest.mark.parametrize(
    ("declared", "steps"),
    [
        ({}, ["as it is", "*"]),
        (
            {"intervals": {"widths": [5, 10]}},
            ["as it is", "intervals of 5", "intervals of 10", "*"],
        ),
        ({"prefix": [3, 1]}, ["as it is", "3 characters", "1 character", "*"]),
        ({"dates": ["month"]}, ["as it is", "month", "*"]),
        ({"hierarchy": "x.csv"}, []),
    ],
)
def test_levels_are_told_in_words(declared: dict[str, object], steps: list[str]):
    """From the value itself to everything; those of a file have no names."""
    assert _ruler_of(declared) == steps


def test_sizes_of_groups_are_shares_of_the_rows():
    """Before and after; not made yet is not zero."""
    before = [{"least": 1, "most": 1, "groups": 3, "rows": 3},
              {"least": 2, "most": None, "groups": 1, "rows": 9}]  # fmt: skip
    after = [{**before[0], "groups": 0, "rows": 0}, {**before[1], "groups": 2, "rows": 12}]
    one, more = size_classes(before, after)
    assert (one.told, one.before, one.after) == ("1", (3, 0.25), (0, 0.0))
    assert (more.told, more.before, more.after) == ("2 or more", (1, 0.75), (2, 1.0))
    assert size_classes(before, [])[0].after is None


def test_epsilon_is_told_in_odds_and_in_error():
    """E to 1, and the mean of Laplace noise on the columns that share it."""
    assert odds_told(1) == "2.72 to 1: right 73.1 times out of 100"
    assert "no bound" in odds_told(30)
    assert most_error(2, {"age": 120, "pay": 1000}) == {"age": 120, "pay": 1000}
    assert most_error(0.5, {"age": 120}) == {"age": 240}


def test_every_card_offers_what_it_ticks():
    """And values that are numbers."""
    for card in method_cards():
        for parameter in card.parameters:
            assert set(parameter.tried) <= set(parameter.offered)
            assert numbers_of(", ".join(parameter.offered), "x") or not parameter.offered
            assert parameter.tried or not parameter.needed or not parameter.offered


def tried(risk: str, *risks: float) -> StudyComparison:
    """A comparison of plans that lose nothing, by a measure of risk."""
    points = [
        Point(f"k = {number}", {}, "done", risk=value, loss=0.0)
        for number, value in enumerate(risks)
    ]
    return StudyComparison("tries", [], {}, points, risk, "prec", [])


@pytest.mark.parametrize(
    ("risks", "limits"),
    [
        (
            (0.5, 0.2),
            [
                "1 in 3",
                "1 in 5",
                "1 in 11",
                "1 in 20",
            ],
        ),
        ((0.15,), ["1 in 5", "1 in 11", "1 in 20"]),
        ((1 / 11,), ["1 in 11", "1 in 20"]),
        ((0.01,), ["1 in 20"]),
    ],
)
def test_limits_of_practice_are_drawn_where_the_risk_is_the_worst_persons(risks, limits):
    """Up to the first that all keep; a point at its limit stands on the line; a mean has none."""
    picture = risk_and_loss(tried("worst-person", *risks))
    assert [line.told for line in picture.thresholds] == limits
    heights = [line.at for line in picture.thresholds]
    assert heights == sorted(heights)
    assert all(0 < height < picture.bottom for height in heights)
    if 1 / 11 in risks:
        assert picture.spots[0].y == pytest.approx(heights[0])
    assert risk_and_loss(tried("prosecutor", *risks)).thresholds == ()


def test_a_method_is_told_with_what_all_its_plans_have():
    """Without what is swept and without tables, as the heading of a try."""
    stated = {"name": "local-suppression", "k": [3, 5], "l": 2, "criteria": [{"kind": "t"}]}
    assert method_told(stated) == "Local suppression, l = 2"
    assert (
        method_told({"name": "generalization", "k": 11, "l": 3}) == "Generalization, k = 11, l = 3"
    )
    usual = {"name": "generalization", "k": "2", "relaxed": "False", "algorithm": "auto"}
    assert method_told(usual) == "Generalization, k = 2"


def test_columns_of_which_nothing_is_left_are_told_first():
    """With the share of its information that each has lost; half of it and more is marked."""
    parts = {"age": 0.5, "job": 1.0, "sex": 0.0, "town": 0.97, "cost": None}
    found = _losses(SimpleNamespace(utility=[{"measure": LOSS, "parts": parts}]))
    assert [(name, gone) for name, _, gone in found] == [
        ("job", True),
        ("town", True),
        ("age", True),
        ("sex", False),
    ]
    assert found[0][1] == "nothing of it is left: every cell stands for all values"


def test_names_of_points_at_one_place_stand_above_each_other():
    """Each is read and clicked for itself; the marks of the axes are round numbers."""
    picture = risk_and_loss(tried("worst-person", 0.2, 0.2))
    assert len({(spot.x, spot.y) for spot in picture.spots}) <= 2
    same = [
        spot
        for spot in picture.spots
        if (spot.x, spot.y) == (picture.spots[0].x, picture.spots[0].y)
    ]
    assert [spot.rank for spot in same] == list(range(len(same)))
    assert all(16 < spot.name_at < picture.bottom for spot in picture.spots), "none is cut off"
    assert len({spot.name_at for spot in same}) == len(same)
    assert all(len(tick.told.rstrip(" %").lstrip("0.")) <= 2 for tick in picture.upwards)
