"""Batches that stand by group, cut where a group ends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

__all__ = ["starts", "whole_groups"]


def whole_groups(batches: Iterable[pa.RecordBatch], within: int) -> Iterator[pa.RecordBatch]:
    """Batches of rows that stand by group, none of which is cut in two."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        if not batch.num_rows:
            continue
        runs = [*starts(batch[within]), batch.num_rows]
        goes_on = bool(held) and _agree(held[-1], batch, within)
        ends = int(runs[1]) if goes_on else 0
        if held and (not goes_on or len(runs) > 2):
            yield _joined([*held, batch[:ends]] if goes_on else held)
            held = []
        elif held:
            held.append(batch)
            continue
        last = int(runs[-2])
        if last > ends:
            yield batch[ends:last]
        held = [batch[last:]]
    if held:
        yield _joined(held)


def starts(array: pa.Array) -> Any:
    """Where each run of equal values begins."""
    values = pl.Series(array)
    new = np.ones(len(values), dtype=np.bool_)
    new[1:] = values[1:].ne_missing(values[:-1]).to_numpy()
    return np.flatnonzero(new)


def _agree(one: pa.RecordBatch, other: pa.RecordBatch, within: int) -> bool:
    """Whether the last row of a batch is of the group of the first of another."""
    ends = [pl.Series(one[within][-1:]), pl.Series(other[within][:1])]
    return bool(ends[0].eq_missing(ends[1])[0])


def _joined(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    columns = [
        pa.concat_arrays(list(each)) for each in zip(*(b.columns for b in batches), strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=batches[0].schema)
