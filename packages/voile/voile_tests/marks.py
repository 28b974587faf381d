"""Marks of rows made by hand, for tests of ledgers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from voile.table.arrays import array_of
from voile.table.keeping import KeptRows
from voile.table.matching import CLASS, CONTENTS, IDENTITY

__all__ = ["marks_of_arrays"]


def marks_of_arrays(
    identities: NDArray[np.uint64], contents: NDArray[np.uint64], version: int
) -> KeptRows:
    """Marks of rows first published in a version, from 1; without contents unless they have any."""
    columns: dict[str, NDArray[Any]] = {IDENTITY: identities}
    columns |= {CONTENTS: contents} if len(contents) else {}
    columns |= {CLASS: np.full(len(identities), version - 1, dtype=np.int16)}
    return KeptRows.of_table(pa.table({name: array_of(each) for name, each in columns.items()}))
