"""Texts in a declared order: ranges of neighbours, in the hierarchy and in what is published."""

from __future__ import annotations

import polars as pl
import pytest

from voile.publish.generalization import Generalization
from voile.schema.hierarchy.generalized import DistinctValues
from voile.schema.hierarchy.ranges import Ranks
from voile.schema.plan import parse_plan
from voile.table.opening import open_frame
from voile_base.errors import PlanError

GRADES = ("none", "primary", "secondary", "bachelor", "master")
"""In an order that is not that of the alphabet."""


def test_levels_are_runs_of_neighbours() -> None:
    """Halves of halves of the order, whatever values a table has."""
    bound = Ranks(GRADES).bind("grade", DistinctValues("text", ("master", "none", "secondary")))
    shown = [
        [(level.texts or bound.values[0].texts or ("master", "none", "secondary"))[code]
         for code in codes.tolist()]
        for level, codes in zip(bound.values, bound.codes, strict=True)
    ]  # fmt: skip
    assert shown == [
        ["master", "none", "secondary"],
        ["master", "none to primary", "secondary"],
        ["bachelor to master", "none to secondary", "none to secondary"],
        ["*", "*", "*"],
    ]
    assert [level.share.max() for level in bound.values] == [0.2, 0.4, 0.6, 1.0]


def test_values_outside_the_order_are_refused() -> None:
    """Counted, and not named; and a text that reads like a range is no name."""
    with pytest.raises(PlanError, match=r"\[columns.grade\] order: 1 of the 2 different values"):
        Ranks(GRADES).bind("grade", DistinctValues("text", ("doctor", "none")))
    with pytest.raises(PlanError, match="reads like a range"):
        Ranks(("a", "b", "a to b")).bind("grade", DistinctValues("text", ("a", "b")))


@pytest.mark.parametrize("algorithm", ["auto", "flash", "mondrian"])
def test_ordinal_texts_are_cut_in_their_order(algorithm: str) -> None:
    """Whatever is published of a grade is a grade, a range of neighbours in the order, or "*"."""
    frame = pl.DataFrame({"grade": [GRADES[i % 5] for i in range(12)], "age": [30] * 12})
    plan = parse_plan(
        {
            "roles": {"quasi_identifiers": ["grade", "age"]},
            "columns": {"grade": {"kind": "ordinal", "order": list(GRADES)}},
        }
    )
    release = Generalization(k=3, algorithm=algorithm).publish(open_frame(frame, plan))
    shown = set(release.to_native()["grade"])
    ranges = {f"{low} to {high}" for i, low in enumerate(GRADES) for high in GRADES[i + 1 :]}
    assert shown <= {*GRADES, *ranges, "*"}
    assert shown & ranges, "two grades of two rows each can only be published together"
    counts = release.to_native()["grade"].value_counts()["count"]
    assert counts.min() >= 3
