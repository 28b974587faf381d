"""Releases of samples of Adult, for measures that must get worse as groups get larger."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl

from voile.publish.generalization import Generalization
from voile.release.reading import People, PublishedRows
from voile.schema.plan import parse_plan
from voile.table.opening import open_frame
from voile.utility.protocol import Comparison
from voile_base.randomness import Randomness

__all__ = ["adult_release", "over_samples"]

SAMPLES = 3
ROWS = 1500
_NUMBERS = ("age", "education-num", "hours-per-week")
PLAN = parse_plan(
    {
        "roles": {"quasi_identifiers": [*_NUMBERS, "sex"], "sensitive": ["income"]},
        "columns": {"sex": {"tree": {"*": ["Female", "Male"]}}},
    }
)


@cache
def adult_release(file: Path, sample: int, k: int) -> Comparison:
    """A k-anonymous release of the rows of a sample, with as many rows that were held out."""
    rows = np.random.default_rng(sample).permutation(32_561)[: 2 * ROWS]
    columns = [*_NUMBERS, "sex", "income"]
    frame = pl.read_csv(file, infer_schema_length=None).filter(part="train").select(columns)[rows]
    published, held_out = frame[:ROWS], frame[ROWS:]
    method = Generalization(k=k, algorithm="mondrian")
    release = method.publish(open_frame(published, PLAN), Randomness.seeded(sample))
    return Comparison(
        PublishedRows.of(release),
        People(published, PLAN),
        Randomness.seeded(100 + sample),
        People(held_out, PLAN),
    )


def over_samples(
    shared_data: Path, value: Callable[[Comparison], float], ks: Sequence[int]
) -> list[float]:
    """The mean of a value over the samples, for each k."""
    file = shared_data / "census" / "adult.csv"
    return [
        float(np.mean([value(adult_release(file, sample, k)) for sample in range(SAMPLES)]))
        for k in ks
    ]
