"""Groups of packed rows: by sorting, and by the compiled table."""

from __future__ import annotations

import numpy as np
import pytest

from voile.publish.generalization import grouping
from voile_base.compiled import uncompiled


@pytest.mark.parametrize("rows", [0, 1, 2, 50, 400])
@pytest.mark.parametrize("words", [1, 2, 3])
def test_sorting_gives_the_groups_of_the_loop_in_its_order(rows: int, words: int) -> None:
    """Members, sums and words are those of the compiled loop, highest bits included."""
    draw = np.random.default_rng(rows + words)
    packed = tuple(
        draw.integers(0, 4, rows).astype(np.uint64) << np.uint64(62) for _ in range(words)
    )
    counts, member = draw.integers(1, 9, rows), np.empty(rows, np.int64)
    found = grouping._sorted_groups(packed, counts, member)
    bits = max(2, (2 * rows).bit_length())
    grouped, sums, expected = (
        tuple(map(np.empty_like, packed)),
        np.empty_like(counts),
        member.copy(),
    )
    with np.errstate(over="ignore"):
        groups = uncompiled(grouping._group)(
            packed, counts, np.empty(1 << bits, np.int32), bits, grouped, sums, expected
        )
    assert member.tolist() == expected.tolist()
    assert found.rows.tolist() == sums[:groups].tolist()
    for ours, loops in zip(found.words, grouped, strict=True):
        assert ours.tolist() == loops[:groups].tolist()
