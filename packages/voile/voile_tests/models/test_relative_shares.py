"""beta-likeness and delta-disclosure: by brute force over shares, unions, bad parameters."""

from __future__ import annotations

from fractions import Fraction
from math import log

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import voile
from voile.models.criteria import Groups, SensitiveCells, StatedCriterion
from voile.publish.generalization import Generalization
from voile.release.check import check_release
from voile.schema.hierarchy.generalized import DistinctValues
from voile_base.errors import PlanError
from voile_base.randomness import Randomness

TABLES = st.lists(st.lists(st.integers(0, 4), min_size=3, max_size=3), min_size=1, max_size=5).map(
    lambda table: [group if sum(group) else [1, 0, 0] for group in table]
)


def _groups(table) -> Groups:
    counts = np.array(table, dtype=np.int64)
    group, value = np.nonzero(counts)
    cells = SensitiveCells(group, value, counts[group, value], counts.sum(axis=0))
    return Groups(counts.sum(axis=1), {"ill": cells})


def _criterion(**table):
    return StatedCriterion.of({"column": "ill", **table}).criterion(
        DistinctValues("text", ()), None
    )


def _shares(table):
    """For each group the pairs of q and p of every value that somebody has, exactly."""
    total = [sum(group[value] for group in table) for value in range(3)]
    rows = sum(total)
    for group in table:
        yield [
            (Fraction(count, sum(group)), Fraction(all_, rows))
            for count, all_ in zip(group, total, strict=True)
            if all_
        ]


@given(TABLES, st.sampled_from(["0.25", "0.5", "1", "3"]), st.sampled_from(["basic", "enhanced"]))
def test_beta_likeness_is_its_definition(table, beta, kind):
    """Each value of each group, by fractions."""
    right = []
    for pairs in _shares(table):
        limits = [
            Fraction(beta) if kind == "basic" else min(float(Fraction(beta)), -log(p))
            for _, p in pairs
        ]
        gains = [(q - p) / p for q, p in pairs]
        right.append(
            all(gain <= limit or gain <= 0 for gain, limit in zip(gains, limits, strict=True))
        )
    found = _criterion(name="beta-likeness", beta=beta, kind=kind).holds(_groups(table))
    assert found.tolist() == right


@given(TABLES, st.sampled_from(["0.1", "0.5", "1", "2.5"]))
def test_delta_disclosure_is_its_definition(table, delta):
    """Each value of the table in each group; one that is absent breaks it."""
    right = [
        all(q > 0 and abs(log(q / p)) < float(delta) for q, p in pairs) for pairs in _shares(table)
    ]
    found = _criterion(name="delta-disclosure", delta=delta).holds(_groups(table))
    assert found.tolist() == right


@given(TABLES, st.sampled_from([("beta-likeness", "beta"), ("delta-disclosure", "delta")]))
def test_a_union_of_valid_groups_is_valid(table, which):
    """Which searches lean on."""
    name, key = which
    criterion = _criterion(**{"name": name, key: "0.8"})
    valid = criterion.holds(_groups(table))
    if valid.sum() >= 2:
        rest = [group for group, good in zip(table, valid, strict=True) if not good]
        kept = [group for group, good in zip(table, valid, strict=True) if good]
        merged = [sum(group[value] for group in kept) for value in range(3)]
        assert criterion.holds(_groups([merged, *rest]))[0]
    assert criterion.monotone


@pytest.mark.parametrize(
    "criterion",
    [
        {"name": "beta-likeness", "column": "ill", "beta": 0.5},
        {"name": "delta-disclosure", "column": "ill", "delta": 0.7},
    ],
)
def test_a_generalization_keeps_it_and_a_release_is_measured_again(criterion):
    """Groups of the published rows, by brute force on their shares."""
    draws = np.random.default_rng(6)
    frame = pl.DataFrame(
        {"age": draws.integers(20, 60, 300), "ill": draws.choice(["flu", "cold", "gout"], 300)}
    )
    roles = voile.Roles(quasi_identifiers=("age",), sensitive=("ill",), person="row")
    publisher = Generalization(k=5, algorithm="mondrian", criteria=[criterion])
    table = voile.open_frame(frame, voile.Plan(roles))
    release = publisher.prepare(table, Randomness.seeded(1)).release
    check_release(release)
    shown = pl.DataFrame(release.table.to_arrow())
    groups = shown.pivot("ill", index="group", values="ill", aggregate_function="len").fill_null(0)
    counts = groups.drop("group").to_numpy()
    q, p = counts / counts.sum(axis=1, keepdims=True), counts.sum(axis=0) / counts.sum()
    if criterion["name"] == "beta-likeness":
        assert ((q - p) / p).max() <= 0.5 + 1e-9
    else:
        assert np.abs(np.log(q / p)).max() < 0.7
    assert len(counts) > 1


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ({"name": "beta-likeness", "column": "ill", "beta": 0}, "beta must be above 0"),
        ({"name": "beta-likeness", "column": "ill", "beta": 1, "kind": "strict"}, "kind"),
        ({"name": "delta-disclosure", "column": "ill", "delta": -1}, "delta must be above 0"),
        ({"name": "delta-disclosure", "column": "ill", "delta": "x"}, "delta must be a number"),
    ],
)
def test_parameters_that_cannot_be_are_refused(table, told):
    """By their key."""
    with pytest.raises(PlanError, match=told):
        StatedCriterion.of(table)
