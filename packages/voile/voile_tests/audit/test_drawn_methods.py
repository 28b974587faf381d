"""Files made by methods that draw values row by row: an audit names the columns that they treat."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import voile
from voile.audit.recognition import recognise
from voile.publish.exchanging import RankSwapping, RecordSwapping, Shuffling
from voile.publish.noise import Noise
from voile.publish.pram import PRAM
from voile.release.reading import People
from voile_base.randomness import Randomness
from voile_tests.publish.drawn_cases import people

_DRAWS = np.random.default_rng(3)
PEOPLE = (
    people(2000)
    .drop("row", "who")
    .with_columns(
        job=pl.Series(_DRAWS.choice(list("abcd"), 2000)),
        hours=pl.Series(_DRAWS.integers(1, 60, 2000)),
    )
)
PLAN = voile.Plan(
    voile.Roles(quasi_identifiers=("age", "sex", "town", "job", "hours"), sensitive=("pay",))
)


@pytest.mark.parametrize(
    ("publisher", "treated"),
    [
        (PRAM(columns=("town",), retain=0.5), {"town": "permuted"}),
        (PRAM(columns=("town", "sex"), retain=0.7), {"town": "permuted", "sex": "permuted"}),
        (Noise(amount=0.1, columns=("pay",)), {"pay": "noisy"}),
        (
            Noise(amount=0.5, columns=("pay", "hours"), kind="correlated"),
            {"pay": "noisy", "hours": "noisy"},
        ),
        (Noise(amount=0.2, columns=("pay",), kind="multiplicative"), {"pay": "noisy"}),
        (RankSwapping(distance=0.05, columns=("pay",)), {"pay": "permuted"}),
        (
            RankSwapping(distance=0.05, columns=("pay", "hours")),
            {"pay": "permuted", "hours": "permuted"},
        ),
        (Shuffling(columns=("pay",)), {"pay": "permuted"}),
        (RecordSwapping(carried=("town",), rate=0.1), {"town": "permuted"}),
        (RecordSwapping(carried=("town",), rate=0.3, match=("sex",)), {"town": "permuted"}),
    ],
    ids=lambda one: one.capabilities.card.name if hasattr(one, "capabilities") else "",
)
def test_columns_that_were_treated_are_named_and_no_others(publisher, treated):
    """By the file and the original alone, as if nobody had said what was done."""
    release = publisher.publish(voile.open_frame(PEOPLE, PLAN), Randomness.seeded(1))
    file = pl.DataFrame(release.table.to_arrow())
    found = {one.name: one.how for one in recognise(file, People(PEOPLE))}
    assert {name: how for name, how in found.items() if how != "exact"} == treated
