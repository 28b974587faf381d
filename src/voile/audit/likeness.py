"""How likely each published row is a person's, by how near its cells are; private.

Nearness of columns is multiplied: the adversary takes them for independent, and lets no single cell
rule a row out, for rows of a synthesizer are of nobody and still resemble those it learnt from.

Cost: t n look-ups a column for t people and n rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from voile.audit.beside import Column

__all__ = ["PAIRS", "posterior"]

Indices = NDArray[np.int64]

PAIRS = 20_000_000
"""Of a person and a row, that are compared for a risk: more people are not looked at."""
_CHUNK = 1 << 22


def posterior(
    columns: Sequence[Column], group: int, people: Indices, *, exact: bool = False
) -> NDArray[np.float32]:
    """How likely each published row is each person's, shape (t, n); each line adds up to 1.

    ``exact``: a cell fits or it does not, and numbers next to each other are no nearer than others.
    """
    logs = [np.log(column.fits if exact else column.near) for column in columns]
    rows = len(columns[0].cell)
    found = np.empty((len(people), rows), dtype=np.float32)
    step = max(1, _CHUNK // rows)
    for start in range(0, len(people), step):
        some = people[start : start + step]
        total = np.zeros((len(some), rows), dtype=np.float32)
        for column, log in zip(columns, logs, strict=True):
            total += log[column.value[group][some]][:, column.cell]
        weight = np.exp(total - total.max(axis=1, keepdims=True))
        found[start : start + step] = weight / weight.sum(axis=1, keepdims=True)
    return found
