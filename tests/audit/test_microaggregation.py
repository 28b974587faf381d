"""Microaggregated files are recognised, whatever stands for a group, and judged by its size."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from tests.audit.tables import people
from voile.attack.registry import attack_named
from voile.audit.foreign import as_release
from voile.audit.recognition import recognise
from voile.randomness import Randomness
from voile.release.reading.rows import People

NUMBERS = ["weight", "height", "savings"]


def _table(count: int, seed: int) -> pl.DataFrame:
    draws = np.random.default_rng(seed)
    height = draws.normal(170, 9, count).round(1)
    return (
        people(count, seed)
        .select("sex", "town")
        .with_columns(
            height=height,
            weight=(0.9 * height - 80 + draws.normal(0, 9, count)).round(1),
            savings=draws.lognormal(9, 0.8, count).round(0),
        )
    )


def _standard(frame: pl.DataFrame) -> NDArray[np.float64]:
    values = frame.select(NUMBERS).to_numpy()
    return (values - values.mean(axis=0)) / values.std(axis=0)


def _mdav(points: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """Domingo-Ferrer and Mateo-Sanz: groups of k around the farthest points."""
    group, left, number = np.zeros(len(points), np.int64), np.arange(len(points)), 0
    while len(left) >= 2 * k:
        apart = ((points[left] - points[left].mean(axis=0)) ** 2).sum(axis=1)
        centre = points[left[apart.argmax()]]
        near = np.argsort(((points[left] - centre) ** 2).sum(axis=1), kind="stable")[:k]
        group[left[near]] = number
        left, number = np.delete(left, near), number + 1
    group[left] = number
    return group


def _shown(frame: pl.DataFrame, group: NDArray[np.int64], by: str) -> pl.DataFrame:
    values, points = frame.select(NUMBERS).to_numpy().copy(), _standard(frame)
    for number in range(group.max() + 1):
        rows = np.flatnonzero(group == number)
        middle = ((points[rows] - points[rows].mean(axis=0)) ** 2).sum(axis=1).argmin()
        centres = {
            "mean": values[rows].mean(axis=0),
            "median": np.sort(values[rows], axis=0)[len(rows) // 2],
            "medoid": values[rows[middle]],
        }
        values[rows] = centres[by]
    return frame.with_columns(pl.Series(n, values[:, i]) for i, n in enumerate(NUMBERS))


@pytest.mark.parametrize("k", [3, 5, 10])
@pytest.mark.parametrize("by", ["mean", "median", "medoid"])
def test_groups_are_recognised_beside_columns_that_are_shown_as_they_are(by: str, k: int) -> None:
    """Means, medians and medoids of numbers are averages, and texts beside them are values."""
    own = _table(600, 1)
    released = _shown(own, _mdav(_standard(own), k), by).sample(fraction=1, shuffle=True, seed=2)
    how = {one.name: one.how for one in recognise(released, People(own))}
    assert {how[name] for name in NUMBERS} == {"averaged"}, how
    assert how["sex"] == how["town"] == "exact"


def test_rows_that_repeat_by_chance_are_no_groups() -> None:
    """A bootstrap of other people, and columns drawn by themselves, stay what they were."""
    own = _table(600, 1)
    draws = np.random.default_rng(3)
    mixed = pl.DataFrame({c.name: draws.choice(c.to_numpy(), own.height) for c in own})
    often = mixed[draws.integers(0, 600, 6_000)]
    few = people(900, 1)
    repeated = pl.DataFrame({c.name: draws.choice(c.to_numpy(), 300) for c in few})
    for released, original in ((mixed, own),
        (often, own), (mixed[draws.integers(0, 400, 600)], own),
                               (repeated[draws.integers(0, 300, 900)], few)):  # fmt: skip
        assert all(o.how != "averaged" for o in recognise(released, People(original)))


@pytest.mark.parametrize("k", [3, 5, 10])
@pytest.mark.parametrize("by", ["mean", "median", "medoid"])
def test_the_prosecutor_does_as_well_as_linking_with_the_nearest_group(by: str, k: int) -> None:
    """Success is one over the size of the nearest group where it is one's own, within half."""
    own = _table(600, 1)
    group = _mdav(_standard(own), k)
    released = _shown(own, group, by)
    scaled = (
        own.select(NUMBERS).to_numpy().mean(axis=0),
        own.select(NUMBERS).to_numpy().std(axis=0),
    )
    points, centres = (
        (f.select(NUMBERS).to_numpy() - scaled[0]) / scaled[1] for f in (own, released)
    )
    apart = ((points[:, np.newaxis] - centres) ** 2).sum(axis=2)
    nearest = apart <= apart.min(axis=1, keepdims=True) + 1e-9
    linked = float((np.diagonal(nearest) / nearest.sum(axis=1)).mean())
    columns = own.select(NUMBERS)
    order = released.select(NUMBERS).sample(fraction=1, shuffle=True, seed=2)
    foreign = as_release(order, recognise(order, People(columns)), {"quasi_identifiers": NUMBERS})
    draws = Randomness.seeded(1)
    found: Any = attack_named("prosecutor").run(foreign.release, columns, None, draws).document()
    found = found["success"]["value"]
    assert linked / 1.5 <= found <= linked * 1.5, (found, linked)
