"""The experiments with parcels weigh what they say they weigh."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

import voile
from benchmarks import parcel_experiments, parcel_identification
from benchmarks.parcel_claims import claims
from benchmarks.parcel_experiments import NOISY, PRIVATE, SERIES, SYNTACTIC, runs_of, series_table
from benchmarks.parcel_figure import draw
from benchmarks.parcel_identification import identifications
from benchmarks.parcel_instances import SETTINGS, instances, uniform
from benchmarks.parcel_publishing import Parcels, Published, Way, pack, publish
from benchmarks.parcel_results import Results
from voile.schema.numbers import ExactNumbers
from voile_pack import Stop
from voile_pack.parcels import Use

PARCELS = uniform(60, np.random.default_rng(5))
GENERALIZED = {**{name: make(3, 1.0) for name, make in PRIVATE.items()}, **{
    name: make(3) for name, make in SYNTACTIC.items()
}}  # fmt: skip
BY_UPPER_ENDS = Way(Use.of("upper"))


@pytest.mark.parametrize("publisher", GENERALIZED.values(), ids=GENERALIZED)
def test_each_published_row_is_linked_to_its_true_weight(publisher):
    """An interval holds the weight that is said to stand behind it, so upper ends are safe."""
    published = publish(PARCELS, publisher, voile.Randomness.seeded(3))
    low, high = (
        np.array([float(x) for x in ends.decimals()]) for ends in (published.low, published.high)
    )
    assert len(published.true) == round(published.share * len(PARCELS.weights)) > 0
    assert ((low <= published.true) & (published.true <= high)).all()
    shipped = pack(published, PARCELS.capacity, BY_UPPER_ENDS, Stop.by_work(0.1))
    assert shipped.feasible == 1
    assert shipped.overload == 0
    assert shipped.ratio >= 1


def test_noise_is_linked_to_the_weight_it_was_added_to():
    """With a large budget a published value is near the weight that is said to stand behind it."""
    publisher = voile.ClusteredLaplace(epsilon=10_000, shares=[1])
    published = publish(PARCELS, publisher, voile.Randomness.seeded(3))
    value = np.array([float(x) for x in published.value.decimals()])
    assert np.abs(value - published.true).max() < 5
    assert sorted(published.true) == sorted(PARCELS.weights)


def test_overload_is_that_of_the_true_weights():
    """Four parcels planned as 250 each fill two bins of 500; they weigh 300, so each is over."""
    shown = ExactNumbers.of(np.array([250] * 4))
    release = publish(PARCELS, SYNTACTIC["flash"](3), voile.Randomness.seeded(1)).release
    published = Published(release, None, shown, shown, np.array([300] * 4), 1.0, 0.0)
    shipped = pack(published, 500, Way(Use()), Stop.by_work(0.1))
    assert (shipped.bins, shipped.true_bins, shipped.ratio) == (2, 4, 0.5)
    assert shipped.feasible == 0
    assert shipped.overload == pytest.approx(0.2)


@pytest.mark.parametrize("setting", SETTINGS)
def test_settings_are_what_their_description_says(setting, shared_data: Path):
    """Numbers of items, least and largest weight and capacity, as stated; other draws each time."""
    described = SETTINGS[setting].replace(",", "")
    drawn = list(instances(setting, 3, seed=1))
    assert len(drawn) == 3
    assert not np.array_equal(drawn[0].weights, drawn[1].weights)
    for parcels in drawn:
        assert f"capacity {parcels.capacity}" in described
        assert 0 < parcels.weights.min() <= parcels.weights.max() <= parcels.heaviest
        assert parcels.heaviest <= parcels.capacity
        items = 50 if setting == "VI" else len(parcels.weights)
        assert f"{items} items" in described or setting == "VI"
        assert len(parcels.weights) == items


def test_intervals_double_and_stay_below_the_bound():
    """The levels of the hierarchy are those that the protocol states."""
    plan = Parcels(np.array([1]), 400, 500, 4).plan()
    assert plan.columns["weight"].hierarchy.widths == (4, 8, 16, 32, 64, 128, 256)


@pytest.mark.slow
def test_a_small_run_is_judged_and_drawn(
    shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Every claim gets a verdict with a number, and the series can be drawn from their tables.

    Of the settings with the fewest and the most items, which searches of a moment pack.
    """
    few = {name: SETTINGS[name] for name in ("I", "VII")}
    monkeypatch.setattr(parcel_experiments, "SETTINGS", few)
    monkeypatch.setattr(parcel_experiments, "PACKING", 0.003)
    monkeypatch.setattr(parcel_identification, "TABLES", 2)
    results = Results([run for series in SERIES for run in runs_of(series, repetitions=1)])
    found = identifications({"epsilon": NOISY}, seed=1)
    judged = claims(results, found)
    assert len({claim.text for claim in judged}) == len(judged) == 12
    assert {claim.verdict for claim in judged} <= {"confirmed", "refuted", "partly"}
    assert all(any(c.isdigit() for c in claim.number) for claim in judged)
    tables = [asdict(series_table(series, results)) for series in SERIES]
    draw(tables, tmp_path / "new" / "series.svg")
    drawn = (tmp_path / "new" / "series.svg").read_text()
    assert all(name in drawn for name in ("flash", "clusters, public bounds", "confidence"))
