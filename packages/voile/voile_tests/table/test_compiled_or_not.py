"""What is done by compiled loops, or without them while they are not worth loading, is the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from voile.publish.ke_anonymity import searches
from voile.table import codes
from voile.table.engines import shared
from voile.utility import aggregate_queries
from voile_base.randomness import Randomness
from voile_testing.plugin import some_slow

ROWS = 50_000


def _counted(rng: np.random.Generator) -> list[Any]:
    drawn = rng.integers(0, 300, ROWS).astype(np.uint16)
    return [codes.count_codes(drawn, 310)]


def _pairs(rng: np.random.Generator) -> list[Any]:
    one, other = rng.integers(0, 200, ROWS).astype(np.uint8), rng.integers(0, 999, ROWS)
    return [codes.count_table(one, other.astype(np.uint16), 999, 200 * 999)]


def _bits(rng: np.random.Generator) -> list[Any]:
    entry, those = rng.integers(0, 300, ROWS - 3).astype(np.uint16), rng.random(ROWS - 3) < 0.1
    return [aggregate_queries._counted(np.packbits(those), entry, 310)]


def _words(rng: np.random.Generator) -> list[Any]:
    return [codes.sort_words(rng.integers(0, 1 << 40, ROWS, dtype=np.uint64), 40)]


def _rows_of_words(rng: np.random.Generator) -> list[Any]:
    rows = rng.integers(0, 3, (ROWS, 3), dtype=np.uint64)
    rows[:, 2] = np.arange(ROWS)
    few = rows[:5].copy()
    return [codes._sort_word_rows(rows, [2, 2, 0]), codes._sort_word_rows(few, [0, 0, 0])]


def _permuted(rng: np.random.Generator) -> list[Any]:
    values = rng.integers(0, 9, ROWS)
    sizes = np.array([1, 0, 17, ROWS - 18])
    shared.permute_within_runs(values, sizes, Randomness.seeded(5).key("runs"), 3)
    return [values]


def _cut(rng: np.random.Generator) -> list[Any]:
    values = np.cumsum(rng.integers(1, 9, ROWS))
    high = np.maximum(np.arange(ROWS + 1) - 7, -1)[None]
    allowed = rng.random(ROWS + 1) < 0.9
    return [searches.best_cuts(values, allowed, np.zeros_like(high), high)]


@pytest.mark.parametrize(
    "work",
    some_slow(
        [_counted, _pairs, _bits, _words, _rows_of_words, _permuted, _cut], {_permuted, _cut}
    ),
)
def test_both_ways_give_the_same(
    work: Callable[[np.random.Generator], list[Any]], monkeypatch: Any
) -> None:
    """To the bit, for tens of thousands of rows."""
    made = []
    for compiled in (True, False):
        for module in (searches, codes, shared, aggregate_queries):
            monkeypatch.setattr(module, "pays", lambda rows, least, it=compiled: it)
        made.append(work(np.random.default_rng(11)))
    for one, other in zip(*made, strict=True):
        assert np.array_equal(one, other)
