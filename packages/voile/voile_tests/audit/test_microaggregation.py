"""Microaggregated files are recognised, whatever stands for a group, and judged by its size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from voile.attack.registry import attack_named
from voile.audit.foreign import as_release
from voile.audit.recognition import recognise
from voile.release.reading import People
from voile_base.randomness import Randomness
from voile_testing.plugin import some_slow
from voile_tests.audit.tables import marginals, people

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


def _standard(frame: pl.DataFrame, names: Sequence[str] = NUMBERS) -> NDArray[np.float64]:
    """Numbers by their standard deviation; texts that differ are as far apart as 1."""
    parts = []
    for name in names:
        values = frame[name].to_numpy()
        if frame[name].dtype.is_numeric():
            parts.append(((values - values.mean()) / values.std())[:, np.newaxis])
        else:
            parts.append((values[:, np.newaxis] == np.unique(values)) / np.sqrt(2))
    return np.concatenate(parts, axis=1)


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


def _medoids(own: pl.DataFrame, k: int) -> pl.DataFrame:
    """Each group's row that is nearest to its middle, in all columns."""
    points = _standard(own, own.columns)
    group, place = _mdav(points, k), np.arange(own.height)
    for number in range(group.max() + 1):
        rows = np.flatnonzero(group == number)
        apart = ((points[rows] - points[rows].mean(axis=0)) ** 2).sum(axis=1)
        place[rows] = rows[apart.argmin()]
    return own[place]


def _modes(own: pl.DataFrame, k: int, by: str) -> pl.DataFrame:
    """Means or medians of numbers, and the most frequent text, of groups by all columns."""
    group = _mdav(_standard(own, own.columns), k)
    texts = [name for name in own.columns if name not in NUMBERS]
    modes = pl.col(texts).mode().sort().first().over("group")
    usual = own.with_columns(group=group).with_columns(modes).select(texts)
    return _shown(own, group, by).with_columns(usual.get_columns())


@pytest.mark.parametrize("k", [2, 3, 5, 10])
@pytest.mark.parametrize("by", some_slow(["mean", "median", "medoid"], {"median", "medoid"}))
def test_groups_are_recognised_beside_columns_that_are_shown_as_they_are(by: str, k: int) -> None:
    """Means, medians and medoids of numbers are averages, and texts beside them are values."""
    own = _table(600, 1)
    released = _shown(own, _mdav(_standard(own), k), by).sample(fraction=1, shuffle=True, seed=2)
    how = {one.name: one.how for one in recognise(released, People(own))}
    assert {how[name] for name in NUMBERS} == {"averaged"}, how
    assert how["sex"] == how["town"] == "exact"


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 3, 5, 10])
def test_texts_that_stand_for_groups_are_recognised(k: int) -> None:
    """Modes beside means and medians, and medoids of whole rows."""
    own = _table(600, 1)
    for released in (_modes(own, k, "mean"), _modes(own, k, "median"), _medoids(own, k)):
        shuffled = released.sample(fraction=1, shuffle=True, seed=2)
        how = {one.name: one.how for one in recognise(shuffled, People(own))}
        assert set(how.values()) == {"averaged"}, how


@pytest.mark.slow
@pytest.mark.parametrize("k", [3, 5])
def test_modes_of_texts_alone_are_recognised(k: int) -> None:
    """Six columns of texts, each row the usual values of a group."""
    draws = np.random.default_rng(1)
    likes = draws.integers(0, 6, (900, 1))
    answers = np.where(draws.uniform(size=(900, 6)) < 0.5, likes, draws.integers(0, 6, (900, 6)))
    own = pl.DataFrame({f"q{i}": [f"a{x}" for x in answers[:, i]] for i in range(6)})
    group = _mdav(_standard(own, own.columns), k)
    modes = pl.all().exclude("group").mode().sort().first().over("group")
    released = own.with_columns(group=group).with_columns(modes).drop("group")
    how = {one.name: one.how for one in recognise(released, People(own))}
    assert set(how.values()) == {"averaged"}, how


@pytest.mark.slow
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


@pytest.mark.parametrize("k", [2, 3, 5, 10])
@pytest.mark.parametrize("by", some_slow(["mean", "median", "medoid"], {"median", "medoid"}))
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


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 5])
@pytest.mark.parametrize("by", some_slow(["mean", "median", "medoid"], {"median", "medoid"}))
def test_the_prosecutor_uses_texts_of_groups_as_well_as_linking_does(by: str, k: int) -> None:
    """The same with modes of texts, and with medoids of whole rows."""
    own = _table(600, 1)
    released = _medoids(own, k) if by == "medoid" else _modes(own, k, by)
    both = _standard(pl.concat([own, released], how="vertical_relaxed"), own.columns)
    points, centres = both[:600], both[600:]
    apart = ((points[:, np.newaxis] - centres) ** 2).sum(axis=2)
    nearest = apart <= apart.min(axis=1, keepdims=True) + 1e-9
    linked = float((np.diagonal(nearest) / nearest.sum(axis=1)).mean())
    order = released.sample(fraction=1, shuffle=True, seed=2)
    foreign = as_release(order, recognise(order, People(own)), {"quasi_identifiers": own.columns})
    draws = Randomness.seeded(1)
    found: Any = attack_named("prosecutor").run(foreign.release, own, None, draws).document()
    assert linked / 1.5 <= found["success"]["value"] <= linked * 1.5


def _nulls(own: pl.DataFrame, other: pl.DataFrame, seed: int) -> dict[str, pl.DataFrame]:
    """Files in which rows repeat, and stand for no groups; people's and nobody's."""
    draws, count = np.random.default_rng(seed), own.height

    def drawn(frame: pl.DataFrame) -> pl.DataFrame:
        return frame[draws.integers(0, frame.height, count)]

    order = draws.permutation(count)
    return {
        "bootstrap": drawn(own),
        "bootstrap of others": drawn(other),
        "few people, drawn": drawn(own[order[: count // 6]]),
        "a part, twice": pl.concat([own[order[: count // 2]]] * 2),
        "a part, five times": pl.concat([own[order[: count // 5]]] * 5),
        "each column by itself": marginals(own, seed),
        "few of those, drawn": drawn(marginals(own, seed)[: count // 6]),
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", list(_nulls(_table(60, 1), _table(60, 2), 3)))
def test_files_whose_rows_repeat_for_other_reasons_are_hardly_ever_groups(name: str) -> None:
    """At most 1 of 20 draws of each kind; with a false alarm of .01 a test fails once in 60."""
    found = 0
    for seed in range(20):
        own = _table(300, seed)
        released = _nulls(own, _table(300, 1_000 + seed), seed)[name]
        found += any(one.how == "averaged" for one in recognise(released, People(own)))
    assert found <= 1


def test_a_table_of_few_different_rows_stands_for_no_groups() -> None:
    """Rows that most people share, as they are, drawn, mixed, and only the frequent ones."""
    own = people(900, 1).select("sex", "education", "town")
    draws = np.random.default_rng(1)
    often = own.filter(pl.len().over(own.columns) >= 5)
    for released in (own, own[draws.integers(0, 900, 900)], marginals(own, 1), often):
        assert all(one.how != "averaged" for one in recognise(released, People(own)))
