"""Cells of released files are read for what they cover, however they are spelled."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voile.audit.recognition import recognise
from voile.audit.spellings import SetReader, _Ends, ends_of
from voile.release.reading import People

INF = np.inf


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("[20, 30)", 20, 29),
        ("[20, 30[", 20, 29),
        ("(20,30]", 21, 30),
        ("]20;30]", 21, 30),
        ("[20, 30]", 20, 30),
        ("20-29", 20, 29),
        ("20 – 29", 20, 29),  # noqa: RUF001
        ("20 to 29", 20, 29),
        ("20..29", 20, 29),
        (">=90", 90, INF),
        ("90+", 90, INF),
        ("90 and over", 90, INF),
        ("> 90", 91, INF),
        ("<5", -INF, 4),
        ("under 5", -INF, 4),
        ("<= 5", -INF, 5),
        ("37", 37, 37),
        ("-5--1", -5, -1),
        ("[-inf, 4]", -INF, 4),
        ("[4, [", 4, INF),
        ("20 bis 29", 20, 29),
        ("unter 5", -INF, 4),
        ("ab 90", 90, INF),
    ],
)
def test_usual_spellings_of_intervals_of_whole_numbers(text: str, low: float, high: float) -> None:
    """What ARX, sdcMicro and offices write is read with the ends that belong to it."""
    assert ends_of(text, whole=True) == _Ends(low, high)


@pytest.mark.parametrize("text", ["", "thirty", "*", "20-", "[30, 20]", "2020-01-02", "[20, 20)"])
def test_other_texts_are_no_intervals(text: str) -> None:
    """Nothing is guessed, and an empty interval is none."""
    assert ends_of(text, whole=True) is None


@given(st.floats(-1e6, 1e6), st.floats(0.001, 1e6))
def test_an_open_end_lies_outside_of_an_interval_of_real_numbers(low: float, width: float) -> None:
    """The end itself is left out, and everything below it is kept."""
    ends = ends_of(f"[{low!r}, {low + width!r})", whole=False)
    assert ends is not None
    assert ends.low == low
    assert ends.high == np.nextafter(low + width, -INF)


READER = SetReader(
    {"02138", "02139", "02215", "red", "a, b"}, {"Boston": frozenset({"02138", "02139"})}
)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("red", {"red"}),
        ("a, b", {"a, b"}),
        ("Boston", {"02138", "02139"}),
        ("0213*", {"02138", "02139"}),
        ("02***", {"02138", "02139", "02215"}),
        ("{02138, red}", {"02138", "red"}),
        ("02138|red", {"02138", "red"}),
        ("*", READER.values),
    ],
)
def test_sets_are_read(text: str, named: set[str]) -> None:
    """A value, a label of the hierarchy, a prefix, a list, and anything."""
    found = READER.read(text)
    assert found is not None
    assert set(found) == named


@pytest.mark.parametrize("text", ["green", "9*", "{02138, green}", "Cambridge"])
def test_labels_that_nobody_explains_are_none(text: str) -> None:
    """They are told to the custodian, not guessed."""
    assert READER.read(text) is None


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("1987", ["1987-02-03", "1987-11-30"]),
        ("1987-11", ["1987-11-30"]),
        ("11.1987", ["1987-11-30"]),
        ("11/1987", ["1987-11-30"]),
        ("03.02.1987", ["1987-02-03"]),
        ("1980s", ["1987-02-03", "1987-11-30"]),
        ("1987-1990", ["1987-02-03", "1987-11-30", "1990-05-01"]),
        ("[1987-06-01, 1990-05-01[", ["1987-11-30"]),
        ("[1987-06-01, 1990-05-01]", ["1987-11-30", "1990-05-01"]),
        ("]1987-02-03; 1990-01-01)", ["1987-11-30"]),
        ("1950", None),
    ],
)
def test_dates_within_years_and_months_are_read(text: str, named: list[str] | None) -> None:
    """A year, a month, a decade, or two of them, name the dates within."""
    dates = SetReader({"1987-02-03", "1987-11-30", "1990-05-01"}, {})
    assert dates.read(text) == named


def test_numbers_in_other_digits_are_numbers() -> None:
    """Of any script; they are compared as what they say."""
    arabic = str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩")
    draws = np.random.default_rng(1).integers(-3, 4, 60)
    moved = [age + 0.5 * move for age, move in zip(range(20, 80), draws.tolist(), strict=True)]
    shown = [str(number).translate(arabic) for number in moved]
    original = pl.DataFrame({"age": list(range(20, 80))})
    (found,) = recognise(pl.DataFrame({"age": shown}), People(original))
    (column,) = found.columns
    assert found.how == "noisy"
    assert column.to_list() == moved
