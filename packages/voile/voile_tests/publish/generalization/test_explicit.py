"""Algorithms that a plan names keep their results, to the byte, from release to release."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import polars as pl
import pytest

from voile.publish.generalization import Generalization
from voile.schema.plan import parse_plan
from voile.table.opening import open_frame
from voile_base.randomness import Randomness

_TREE = {"public": ["federal", "local"], "private": ["firm", "alone"], "none": []}


def _people() -> pl.DataFrame:
    draws = np.random.default_rng(2026)
    rows = 600
    works = ["federal", "local", "firm", "alone", "none"]
    age = draws.integers(17, 91, rows)
    return pl.DataFrame(
        {
            "age": age,
            "work": [works[i] for i in draws.choice(5, rows, p=[0.1, 0.2, 0.5, 0.15, 0.05])],
            "town": [f"town {i}" for i in draws.choice(4, rows, p=[0.5, 0.3, 0.15, 0.05])],
            "hours": pl.Series(draws.integers(1, 60, rows)).set(
                pl.Series(draws.random(rows) < 0.1), None
            ),
            "illness": [f"illness {i}" for i in draws.integers(0, 6, rows)],
        }
    )


_PLAN = {
    "nulls": "category",
    "roles": {
        "quasi_identifiers": ["age", "work", "town", "hours"],
        "sensitive": ["illness"],
        "person": "row",
    },
    "columns": {
        "age": {"bounds": [0, 100], "intervals": {"widths": [5, 10, 50]}},
        "work": {"tree": _TREE},
    },
}

GOLDEN = {
    (("algorithm", "flash"),): "e39abf89db1e1723",
    (("algorithm", "ola"),): "e39abf89db1e1723",
    (("algorithm", "datafly"),): "a6cb9f93caed9a1d",
    (("algorithm", "flash"), ("suppression_limit", 0.05)): "0c724282e2ecfcd4",
    (("algorithm", "k-optimize"), ("suppression_limit", 0.1)): "e957ca899d4d1fce",
    (("algorithm", "mondrian"),): "8406cba9eb5356b4",
    (("algorithm", "mondrian"), ("relaxed", True)): "684bb4bd8beb7c6d",
    (("algorithm", "mondrian"), ("l", 4)): "184b317395be4fc4",
}


@pytest.mark.parametrize(
    ("parameters", "digest"),
    [
        pytest.param(*one, marks=pytest.mark.slow if "k-optimize" in str(one) else ())
        for one in GOLDEN.items()
    ],
    ids=str,
)
def test_explicit_algorithms_keep_their_results(parameters: Any, digest: str) -> None:
    """The rows of a release are those that this version's predecessors published."""
    assert digest_of(dict(parameters)) == digest


def digest_of(parameters: dict[str, Any]) -> str:
    """What a release shows, row by row."""
    table = open_frame(_people(), parse_plan(_PLAN))
    release = Generalization(k=5, **parameters).publish(table, Randomness.seeded(1))
    frame = pl.DataFrame(release.to_native()).cast(pl.String)
    return hashlib.sha256(frame.write_csv().encode()).hexdigest()[:16]
