"""Publishing a sample through a node that is drawn privately."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import voile
from voile.dp.sampling import delta_of
from voile.publish.dp_generalization import DPGeneralization
from voile.publish.dp_generalization.decision import Sampling, _least_excess
from voile.release.check import check_release
from voile.release.release import Publication
from voile.schema.plan import parse_plan
from voile.table.engines.polars import PolarsEngine
from voile_base.errors import PlanError
from voile_base.randomness import Randomness
from voile_testing.plugin import examples

PLAN = parse_plan(
    {
        "roles": {"quasi_identifiers": ["weight", "city"], "sensitive": ["fragile"]},
        "columns": {"weight": {"bounds": [0, 100], "intervals": {"widths": [10, 50]}}},
    }
)


def parcels(rows: int, seed: int = 0) -> pl.DataFrame:
    """Parcels with a weight, a city and whether they are fragile."""
    generator = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "weight": generator.integers(0, 100, rows),
            "city": generator.choice(["Delft", "Lyon", "Porto"], rows),
            "fragile": generator.choice(["yes", "no"], rows),
        }
    )


def publish(frame: pl.DataFrame, seed: int = 1, **parameters: Any) -> Publication:
    """A release of parcels, made with a seed."""
    parameters = {"k": 5, "epsilon_choice": 1, **parameters}
    table = voile.open_frame(frame, PLAN)
    return DPGeneralization(**parameters).prepare(table, Randomness.seeded(seed))


def without_group(frame: pl.DataFrame) -> Counter[tuple[Any, ...]]:
    """What each row shows, and how often."""
    return Counter(frame.drop("group").rows())


@pytest.mark.slow
@settings(max_examples=examples(25))
@given(st.integers(1, 10**6), st.integers(2, 9), st.sampled_from(["expected", "sampled"]))
def test_every_published_combination_is_shared(seed: int, k: int, choice: str) -> None:
    """At least k published rows show the same in every column, the sensitive one too."""
    frame = publish(parcels(300, seed), seed, k=k, choice=choice).release.to_native()
    assert min(without_group(frame).values()) >= k
    assert frame.columns == ["group", "weight.low", "weight.high", "city", "fragile"]


def test_intervals_hold_the_weights_of_their_rows() -> None:
    """Every published interval lies within the public bounds and is one of the hierarchy's."""
    frame = publish(parcels(500)).release.to_native()
    width = (frame["weight.high"] - frame["weight.low"]).unique().to_list()
    assert len(width) <= 2
    assert frame["weight.low"].min() >= 0
    assert frame["weight.high"].max() <= 100


def test_rows_are_sampled_at_the_stated_rate() -> None:
    """With one city and one interval nothing is suppressed: 70 % of 20,000 rows are published.

    4.5 standard deviations of room; a rate 30 % off would miss by more than 90.
    """
    frame = pl.DataFrame({"weight": [5] * 20_000, "city": "Delft", "fragile": "no"})
    rows = publish(frame, 7).release.rows
    assert abs(rows - 14_000) < 4.5 * np.sqrt(20_000 * 0.7 * 0.3)


def test_rows_left_out_can_be_carried_over() -> None:
    """What is published and what is carried are together the table, and the count says so."""
    frame = parcels(300)
    publication = publish(frame, k=8, suppressed="carry")
    assert publication.carried is not None
    carried = pl.DataFrame(publication.carried.open(PolarsEngine()).to_arrow())
    assert len(carried) + publication.release.rows == 300 == publication.private.rows_in
    assert publication.private.carried == len(carried)
    remaining = Counter(frame.select("city", "fragile").rows())
    remaining.subtract(carried.select("city", "fragile").rows())
    assert min(remaining.values()) >= 0
    assert publish(frame, k=8).carried is None


def test_the_release_states_what_it_spends() -> None:
    """Budget of the choice, excess and delta are those of the plan, and the events add up."""
    publication = publish(parcels(3_000), k=40, epsilon_choice=1)
    parameters = publication.release.guarantee.parameters
    excess = _least_excess(Decimal("0.7"))
    assert parameters["epsilon"] == float(1 + excess)
    assert parameters["delta"] == pytest.approx(6.790237e-4, rel=1e-6)
    assert sum(event.epsilon for event in publication.events) == 1 + excess
    assert any("k = " in notice for notice in publication.private.notices)


def test_the_seeds_version_owns_up_to_its_delta() -> None:
    """Where the sample chooses the node, delta is summed over the nodes; the claim is quoted."""
    frame = parcels(400)
    stated = publish(frame, k=5, choice="sampled").release.guarantee
    nodes = 4 * 2  # weight: values, 10, 50, all; city: values, all
    claimed = delta_of(5, Decimal("0.7"))
    assert stated.parameters["delta"] == pytest.approx(min(1.0, float(claimed) * nodes))
    assert f"{claimed:.3g}" in stated.statement


def test_row_order_changes_nothing() -> None:
    """The same rows in another order give the same release under the same seed."""
    frame = parcels(300)
    assert publish(frame).release.to_native().equals(publish(frame[::-1]).release.to_native())


@pytest.mark.slow
@given(
    st.integers(2, 60),
    st.decimals("0.1", "0.9", places=2),
    st.decimals("0.1", "3", places=2),
)
def test_a_bound_on_delta_is_kept_and_the_rest_goes_into_the_choice(
    k: int, beta: Decimal, choice: Decimal
) -> None:
    """With a bound on delta the excess is enough for it, and hardly more than that."""
    bound = delta_of(k, beta, _least_excess(beta) + Decimal("0.5"))
    split = Sampling(k, beta).split_budget(None, choice, bound)
    assert split.choice == choice
    assert split.delta <= bound
    whole = Sampling(k, beta).split_budget(split.epsilon, None, bound)
    assert abs(whole.choice - choice) < Decimal("1e-5")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"k": 1, "epsilon": 3}, "k must be"),
        ({"k": 5}, "epsilon_choice"),
        ({"k": 5, "epsilon": 0}, "epsilon must be a number above 0"),
        ({"k": 5, "epsilon": 3, "beta": 1.1}, "beta must be"),
        ({"k": 5, "epsilon": 3, "beta": 0}, "beta must be"),
        ({"k": 5, "epsilon": 3, "beta": 1}, 'not with choice = "expected", epsilon'),
        ({"k": 5, "epsilon_choice": 3, "beta": 1, "choice": "sampled", "delta": 0.1}, "with delta"),
        ({"k": 5, "epsilon": 3, "suppression_weight": -1}, "suppression_weight must be"),
        ({"k": 5, "epsilon": 1, "beta": 0.7}, "leaves nothing for the choice"),
        ({"k": 5, "epsilon": 2, "epsilon_choice": 1}, "costs at least 1.2039"),
        ({"k": 5, "epsilon": 9, "delta": 1e-9}, "no budget keeps delta"),
        ({"k": 5, "epsilon": 3, "delta": 1}, "delta must be"),
        ({"k": 5, "epsilon": 3, "choice": "best"}, "choice must be one of"),
        ({"k": 5, "epsilon": 3, "suppressed": "keep"}, "suppressed must be one of"),
    ],
)
def test_parameters_that_cannot_be_are_refused(parameters: dict[str, Any], message: str) -> None:
    """Each impossible parameter is named, with what is allowed."""
    with pytest.raises(PlanError, match=message):
        DPGeneralization(**parameters)


def test_a_lattice_too_large_is_refused_with_its_size() -> None:
    """Twenty-four columns of two levels make 16,777,216 nodes: the message says so."""
    names = [f"c{i}" for i in range(24)]
    plan = voile.Plan(roles=voile.Roles(quasi_identifiers=tuple(names)))
    table = voile.open_frame(pl.DataFrame({name: ["a", "b"] * 5 for name in names}), plan)
    with pytest.raises(PlanError, match="16,777,216 nodes"):
        DPGeneralization(k=2, epsilon=3).publish(table, Randomness.seeded(1))


def test_a_release_without_rows_is_a_release() -> None:
    """Where no group of the drawn node has k sampled rows it says that, and costs what it costs."""
    frame = pl.DataFrame({"weight": [1], "city": ["Lyon"], "fragile": ["no"]})
    made = publish(frame)
    assert made.release.rows == 0
    assert made.release.to_native().columns == publish(parcels(300)).release.to_native().columns
    assert made.events == publish(parcels(300)).events
    assert any("leaves no group of 5" in notice for notice in made.private.notices)


def test_with_beta_1_every_row_is_taken_and_k_anonymity_alone_is_promised() -> None:
    """The paper's experiments publish what is a sample already, whole but for suppression."""
    publication = publish(parcels(300), beta=1, choice="sampled", k=3)
    release = publication.release
    (claim,) = release.guarantee.claims
    assert claim.kind == "k-anonymity"
    assert "NOT differential privacy" in release.guarantee.statement
    assert publication.events == ()
    assert any("no budget is spent" in notice for notice in publication.private.notices)
    assert min(without_group(release.to_native()).values()) >= 3
    check_release(release)
    assert release.rows > 0.8 * 300


@pytest.mark.slow
def test_a_weight_on_suppression_leaves_fewer_rows_out() -> None:
    """Over 20 draws of a sharp choice, a weight of 20 publishes more rows than none."""
    frame = parcels(120)
    rows = {
        weight: sum(
            publish(frame, seed, k=6, epsilon_choice=40, suppression_weight=weight).release.rows
            for seed in range(20)
        )
        for weight in (0, 20)
    }
    assert rows[20] > rows[0]
