"""Several sensitive columns: ``l`` and ``t`` for each by itself, by ``criteria`` in a plan."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from voile.publish.registry import publisher_of
from voile.release.check import check_release
from voile.release.release import Release
from voile.schema.plan import parse_plan
from voile.table.opening import open_frame
from voile_base.errors import InfeasibleError
from voile_base.randomness import Randomness

algorithms = pytest.mark.parametrize("algorithm", ["flash", "mondrian"])


def stays() -> pl.DataFrame:
    """Stays with an illness of six, half of them one of the age, and most in one of two wards."""
    rng = np.random.default_rng(4)
    age = rng.integers(0, 60, 400)
    illness = np.where(rng.random(400) < 0.5, age // 10, rng.integers(0, 6, 400))
    return pl.DataFrame(
        {
            "age": age,
            "illness": np.array(list("abcdef"))[illness],
            "ward": rng.choice(["north", "south"], 400, p=[0.7, 0.3]),
        }
    )


def release_of(algorithm: str, **method: Any) -> Release:
    """A generalized release of them."""
    plan = parse_plan(
        {
            "roles": {"quasi_identifiers": ["age"], "sensitive": ["illness", "ward"]},
            "columns": {"age": {"bounds": [0, 60], "intervals": {"widths": [2, 5, 10, 20]}}},
            "method": {"name": "generalization", "k": 3, "algorithm": algorithm, **method},
        }
    )
    made = publisher_of(plan.method).publish(open_frame(stays(), plan), Randomness.seeded(1))
    check_release(made)
    return made


def farthest(release: Release, column: str) -> float:
    """The largest distance of the shares of a group from those of all rows, counted anew."""
    rows, shares = release.to_native(), stays()[column].value_counts(normalize=True)
    found = 0.0
    for group in rows.partition_by("group"):
        own = group[column].value_counts(normalize=True)
        both = shares.join(own, on=column, how="left", suffix=" own").fill_null(0)
        found = max(found, (both["proportion"] - both["proportion own"]).abs().sum() / 2)
    return found


@algorithms
def test_each_column_is_as_diverse_as_was_asked_of_it(algorithm: str) -> None:
    """Three illnesses and both wards in each group; ``l = 3`` asks what two wards cannot give."""
    criteria = [
        {"name": "l-diversity", "column": "illness", "l": 3},
        {"name": "l-diversity", "column": "ward", "l": 2},
    ]
    release = release_of(algorithm, criteria=criteria)
    groups = release.to_native().group_by("group").agg(pl.col("illness", "ward").n_unique())
    assert len(groups) > 3
    assert groups["illness"].min() >= 3
    assert groups["ward"].min() == 2
    with pytest.raises(InfeasibleError, match="'ward'"):
        release_of(algorithm, l=3)


@algorithms
def test_each_column_is_as_near_as_was_asked_of_it(algorithm: str) -> None:
    """Asked of wards alone it leaves illnesses free; the short spelling is about both."""
    criteria = [
        {"name": "t-closeness", "column": "ward", "t": 0.2},
        {"name": "l-diversity", "column": "illness", "l": 2},
    ]
    release, both = release_of(algorithm, criteria=criteria), release_of(algorithm, t=0.2)
    assert farthest(release, "ward") <= 0.2
    assert farthest(release, "illness") > 0.2
    assert max(farthest(both, "ward"), farthest(both, "illness")) <= 0.2
