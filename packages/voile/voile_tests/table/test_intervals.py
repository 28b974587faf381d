"""Intervals as texts, for readers."""

from __future__ import annotations

import polars as pl
import pytest

from voile.table.opening import published_rows
from voile_tests.releases import described, promised


def as_text(columns: dict[str, list[object]]) -> pl.DataFrame:
    return published_rows(pl.DataFrame(columns)).with_intervals_as_text().to_native()


def test_both_columns_become_one():
    """The text stands where the lower end stood; all other columns stay as they are."""
    shown = as_text(
        {"group": [1, 2], "age.low": [17, 30], "age.high": [29, 30], "city": ["Ulm", "Bonn"]}
    )
    assert shown.to_dict(as_series=False) == {
        "group": [1, 2],
        "age": ["[17, 29]", "[30, 30]"],
        "city": ["Ulm", "Bonn"],
    }


def test_a_value_with_its_interval():
    """A column that is published itself keeps its name; its interval gets another."""
    shown = as_text({"weight": [1.5], "weight.low": [1.0], "weight.high": [2.25]})
    assert shown.to_dict(as_series=False) == {"weight": [1.5], "weight.interval": ["[1.0, 2.25]"]}


def test_open_ends():
    """An end that is missing is left empty, and an interval without ends is missing."""
    shown = as_text({"x.low": [1, None, None], "x.high": [None, 2, None]})
    assert shown["x"].to_list() == ["[1, ]", "[, 2]", None]


@pytest.mark.parametrize(
    "columns",
    [
        ["x.low", "x.middle"],
        ["x.high", "low", "high"],
        ["x", "x.interval", "x.low", "x.high"],
        ["x.low.high", "x.high.low"],
    ],
)
def test_what_is_no_interval(columns):
    """One end alone is no interval, and no column is overwritten."""
    frame = {name: [1] for name in columns}
    assert as_text(frame).to_dict(as_series=False) == frame


def test_ends_may_stand_anywhere():
    """The two ends are found by their names."""
    shown = as_text({"x.high": [2], "y": [0], "x.middle": [3], "x.low": [1]})
    assert shown.to_dict(as_series=False) == {"y": [0], "x.middle": [3], "x": ["[1, 2]"]}


def test_the_kind_of_frame_is_kept():
    """A release of a pandas frame stays one of a pandas frame."""
    published = published_rows(pl.DataFrame({"x.low": [1], "x.high": [2]}).to_pandas())
    assert list(published.with_intervals_as_text().to_native()["x"]) == ["[1, 2]"]


def test_roles_follow():
    """A release names the columns that it has now, each once, and is the same in all else."""
    columns = {"age.low": [1], "age.high": [2], "w": [1], "w.low": [0], "w.high": [2], "z": [3]}
    clusters = [{"scale": 1, "half_width": 1}]
    release = described(
        table=published_rows(pl.DataFrame(columns)),
        method={"decision": {"columns": {"w": {"step": 1, "clusters": clusters}}}},
        guarantee=promised("imaginary", {}, "Nothing"),
        roles={
            "quasi_identifiers": ("age.low", "age.high", "z"),
            "sensitive": ("w", "w.low", "w.high"),
        },
        release_id="0" * 32,
        publishable=True,
    )
    shown = release.with_intervals_as_text()
    assert shown.roles == {"quasi_identifiers": ("age", "z"), "sensitive": ("w", "w.interval")}
    assert shown.table.columns == ("age", "w", "w.interval", "z")
    assert (shown.release_id, shown.guarantee) == (release.release_id, release.guarantee)


ENDS = ("x.low", "x.high")


@pytest.mark.parametrize(
    ("columns", "before", "after"),
    [
        (("x.low", "x.middle"), ("x.low",), ("x.low",)),  # one end alone is no interval
        (("x", "x.low"), ("x.low", "x"), ("x.low", "x")),
        (("x", "x.interval", *ENDS), ENDS, ENDS),  # no name is left for the text
        (("x", *ENDS), (*ENDS, "x"), (*ENDS, "x")),  # nothing says that these are ends
    ],
)
def test_roles_name_columns_that_are_there(columns, before, after):
    """What stays keeps its name in a role; what became a text is named as it is now."""
    release = described(
        table=published_rows(pl.DataFrame({name: [1] for name in columns})),
        method={},
        guarantee=promised("imaginary", {}, "Nothing"),
        roles={"sensitive": before},
        release_id="0" * 32,
        publishable=True,
    )
    shown = release.with_intervals_as_text()
    assert shown.roles == {"sensitive": after}
    assert set(after) <= set(shown.table.columns)
