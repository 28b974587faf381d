"""Names on the map: which streets are named where, and what a map without names holds."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voile_share.map import MapLabel, Streets, _labels_of

METRE = 1 / 111_320
"""Of latitude, in degrees."""


def walked(seed: int, steps: int, bend: float) -> np.ndarray:
    """A line of points 50 m apart that turns by up to ``bend`` at each."""
    draw = np.random.default_rng(seed)
    course = np.cumsum(draw.uniform(-bend, bend, steps))
    return 50.0 * np.cumsum(np.stack((np.cos(course), np.sin(course)), axis=1), axis=0)


def near_line(point: np.ndarray, line: np.ndarray) -> float:
    """The distance of a point to a line."""
    start, step = line[:-1], np.diff(line, axis=0)
    share = np.clip(((point - start) * step).sum(axis=1) / (step**2).sum(axis=1), 0, 1)
    return float(np.hypot(*(start + share[:, np.newaxis] * step - point).T).min())


@pytest.mark.slow
@given(st.integers(0, 10_000), st.integers(2, 60), st.floats(0, 1.2))
def test_a_name_stands_along_a_nearly_straight_piece_of_its_street(
    seed: int, steps: int, bend: float
) -> None:
    """Its ends are on the street, and the street between them is hardly longer than the piece."""
    line = walked(seed, steps, bend)
    ends = np.stack((np.arange(steps - 1), np.arange(1, steps)), axis=1)
    zeros = np.zeros(steps - 1, dtype=np.int64)
    names, labels = _labels_of(line, ends, zeros + 3, zeros, ("Long Lane",))
    assert names == (["Long Lane"] if labels else [])
    assert len(labels) <= max(1, round(50 * steps / 700))
    for rank, name, start, end in labels:
        assert (rank, name) == (3, 0)
        assert 20 <= math.hypot(*(end - start)) <= 400.001
        assert near_line(start, line) < 0.01
        assert near_line(end, line) < 0.01
        # 0.97 of its street: so the middle of the piece is within a quarter of it of the street.
        assert near_line((start + end) / 2, line) <= 0.13 * math.hypot(*(end - start))


def test_streets_that_cross_keep_their_names_and_the_better_rank() -> None:
    """No name runs around the corner into another street; unnamed streets get none."""
    plane = np.array([[-300.0, 0], [0, 0], [300, 0], [0, -300], [0, 300], [600, 0]])
    ends = np.array([[0, 1], [1, 2], [1, 3], [1, 4], [2, 5]])
    rank = np.array([4, 1, 2, 2, 0])
    names, labels = _labels_of(
        plane, ends, rank, np.array([1, 1, 0, 0, -1]), ("North", "East", "?")
    )
    assert names == ["North", "East"]
    assert [label[:2] for label in labels] == [(1, 1), (2, 0)]
    for _, name, start, end in labels:
        along = np.abs(end - start)
        assert along[name] == pytest.approx(0, abs=1e-9) or along[1 - name] > 100


def test_the_document_says_names_where_they_lie_and_nothing_without() -> None:
    """A street's piece and a place, in units from the middle; across the date line too."""
    longitude = np.array([179.999, -179.999])
    streets = Streets(
        np.array([-17.0, -17.0]), longitude, np.array([0, 1]), np.array([1, 0]), np.array([4, 4])
    )
    plain = streets.compact(tolerance=0)
    assert {"names", "labels", "places"}.isdisjoint(plain.document)
    assert plain.names == 0
    named = replace(
        streets,
        names=("Ünterm Walde", "Elsewhere"),
        name_of=np.array([0, 0]),
        places=(MapLabel("Waldheim", "village", -17.001, -179.9995),),
    )
    made = named.compact(tolerance=0)
    assert made.document["names"] == ["Ünterm Walde"]
    assert made.names == 2
    rank, name, *where = made.document["labels"]
    assert (rank, name) == (4, 0)
    middle = made.document["middle"]
    (up, right), (above, beside) = np.array(where).reshape(2, 2) + middle
    assert up == pytest.approx(-17e5, abs=1)
    assert above == pytest.approx(-17e5, abs=1)
    width = abs(beside - right) * 1e-5 / METRE * math.cos(math.radians(17))
    assert 100 < width <= 213
    assert (right + beside) / 2 % 36e6 == pytest.approx(18e6, abs=2)
    (place,) = made.document["places"]
    assert (place["kind"], place["name"]) == ("village", "Waldheim")
    at = np.array(place["at"]) + middle
    assert at[0] == pytest.approx(-17.001e5, abs=1)
    assert at[1] % 36e6 == pytest.approx(180.0005e5, abs=1)
    assert made.document["layers"] == plain.document["layers"]
