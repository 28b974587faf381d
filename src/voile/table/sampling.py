"""Samples of rows, each drawn with the same probability, independently of all others.

A row is drawn if the 64 pseudorandom bits of its identity, read as a whole number, are below
floor(probability * 2**64).  The probability is therefore at most the one stated, and less by
under 2**-64.  The draw is a function of the key and of the row: in another order, in parts or
again, the same rows are drawn.

Cost: that of the identities (``voile.table.identity``).
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

import numpy as np

from voile.randomness import Key
from voile.table.dictionary import DictionaryColumn
from voile.table.identity import unique_row_words
from voile.table.protocol import RowSample

__all__ = ["sample_rows"]


def sample_rows(columns: Sequence[DictionaryColumn], probability: Decimal, key: Key) -> RowSample:
    """Draw rows that are identified by these columns; the handle marks them, shape (n,).

    Raises ``ValueError`` unless 0 < probability < 1.
    """
    if not 0 < probability < 1:
        msg = "the probability of a sample lies between 0 and 1, both excluded"
        raise ValueError(msg)
    threshold = int(Fraction(probability) * 2**64)
    return RowSample(probability, unique_row_words(columns, key) < np.uint64(threshold))
