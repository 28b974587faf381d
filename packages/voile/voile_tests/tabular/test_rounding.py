"""Controlled rounding: multiples of a base that add up, as near as brute force finds them."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from voile.release.recounting import Recount
from voile.schema.plan import parse_plan
from voile.tabular.perturbation import RoundedCounts, narrowed
from voile.tabular.publishing import make_tables
from voile_base.errors import PlanError, RefusedError
from voile_tests.tabular.small_tables import counted, random_small


def brute_force(constraints, counts: np.ndarray, base: int) -> int | None:
    """The least change of any zero-restricted rounding; None where none adds up."""
    ways = [
        (count,) if count % base == 0 else (count - count % base, count - count % base + base)
        for count in counts.tolist()
    ]
    found = [
        int(np.abs(np.array(one) - counts).sum())
        for one in product(*ways)
        if not (constraints @ np.array(one)).any()
    ]
    return min(found, default=None)


@pytest.mark.parametrize("seed", range(15))
def test_the_rounding_is_the_nearest_that_adds_up(seed: int) -> None:
    """Brute force over all neighbours of all counts finds none with less change."""
    small = random_small(seed)
    cells, _ = counted(small.rows, small.tables, minimum=2)
    (measure,) = cells.measures
    found = RoundedCounts.round(cells.system, measure.values, 3)
    assert (found.values % 3 == 0).all()
    assert (found.values >= 0).all()
    assert not (cells.system.constraints @ found.values).any()
    assert (np.abs(found.values - measure.values) < found.reach).all()
    if int((measure.values % 3 != 0).sum()) <= 14:
        least = brute_force(cells.system.constraints, measure.values, 3)
        change = int(np.abs(found.values - measure.values).sum())
        assert (least is None) == (found.reach > 3)
        assert least is None or change <= 1.01 * least + 1e-9


def test_a_small_count_that_a_reader_could_know_is_seen() -> None:
    """Of one cell and its total, both published as 3 by a reach of 1, nothing is left open."""
    cells, _ = counted(
        {"a": ["x", "y"], "n": [2, 7]}, [{"dimensions": ["a"], "count": "n"}], minimum=2
    )
    small = np.array([False, True, False])
    assert narrowed(cells.system, RoundedCounts(np.array([9, 3, 6]), 3), small) == 0
    assert narrowed(cells.system, RoundedCounts(np.array([9, 2, 7]), 1), small) == 1


def rows(seed: int) -> pl.DataFrame:
    draw = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "a": draw.choice(list("xyz"), 60),
            "b": draw.choice(list("pqrs"), 60),
            "c": draw.choice(list("kl"), 60),
            "n": draw.integers(1, 3, 60),
        }
    )


def plan_of(**protection: object):
    return parse_plan(
        {
            "tables": [{"dimensions": ["a", "b"]}, {"dimensions": ["b", "c"]}],
            "protection": {"kind": "rounding", **protection},
        }
    )


def test_linked_tables_are_rounded_as_one_system_and_recounted(tmp_path: Path) -> None:
    """What they share is the same; the folder says its base, and holds."""
    made = make_tables(rows(1), plan_of(base=5), tmp_path / "out")
    counts = [value for value in made.columns["count"] if value is not None]
    assert all(value % 5 == 0 for value in counts)
    found = Recount.of(tmp_path / "out")
    assert found.refusal() is None
    assert found.claims[0].claim.document()["base"] == 5
    file = tmp_path / "out" / "tables.csv"
    again = make_tables(rows(1), plan_of(base=5), None)
    assert again.columns == made.columns
    file.write_text(file.read_text().replace(",Total,Total,", ",Total,Total,1", 1))
    with pytest.raises(RefusedError, match=r"changed|hash"):
        Recount.of(tmp_path / "out")


def test_what_cannot_be_rounded_is_refused(tmp_path: Path) -> None:
    """Sums, and a base at which a single count gives itself away."""
    plan = parse_plan(
        {
            "tables": [{"dimensions": ["a"], "sum": ["n"]}],
            "protection": {"kind": "rounding", "base": 3},
        }
    )
    with pytest.raises(PlanError, match="leave out sum"):
        make_tables(rows(2), plan, tmp_path / "out")
    with pytest.raises(PlanError, match="base"):
        plan_of(base=1)
    assert not (tmp_path / "out").exists()
