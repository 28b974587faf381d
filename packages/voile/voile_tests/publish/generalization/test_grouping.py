"""Groups of packed rows: in NumPy, and by the compiled table."""

from __future__ import annotations

import numpy as np
import pytest

from voile.publish.generalization import grouping
from voile_base.compiled import uncompiled


@pytest.mark.parametrize("rows", [0, 1, 2, 50, 400])
@pytest.mark.parametrize("words", [1, 2, 3])
def test_numpy_gives_the_groups_of_the_loop_in_its_order(rows: int, words: int) -> None:
    """Members, sums and words are those of the compiled loop, highest bits included."""
    draw = np.random.default_rng(rows + words)
    packed = tuple(
        draw.integers(0, 4, rows).astype(np.uint64) << np.uint64(62) for _ in range(words)
    )
    counts, member = draw.integers(1, 9, rows), np.empty(rows, np.int64)
    found = grouping.Grouper()._hashed_groups(packed, counts, member)
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


def test_rows_of_other_words_at_one_place_stay_apart() -> None:
    """Numbers of equal high bits once they are mixed meet at one place, and are no group."""
    mixed = np.arange(400, dtype=np.uint64) // np.uint64(2)  # high bits are 0 for all of them
    inverse = pow(int(grouping._MULTIPLIER), -1, 2**64)
    with np.errstate(over="ignore"):
        words = (mixed * np.uint64(inverse),)
    found, member = grouping.Grouper().group_with_members(words, np.ones(400, dtype=np.int64))
    assert member.tolist() == [row // 2 for row in range(400)]
    assert found.rows.tolist() == [2] * 200


@pytest.mark.parametrize("compiled", [False, True])
def test_codes_are_replaced_in_a_copy(monkeypatch: pytest.MonkeyPatch, compiled: bool) -> None:
    """Columns of either word take their new codes; the others and the words themselves stay."""
    monkeypatch.setattr(grouping, "pays_by_now", lambda *_: compiled)
    fields = grouping.Fields([2**40, 4, 2**40])
    codes = [np.array([7, 2**39]), np.array([3, 1]), np.array([5, 6])]
    words = fields.pack(codes)
    tables = {1: np.array([9, 2, 9, 0], dtype=np.uint64), 2: np.arange(7, dtype=np.uint64) // 2}
    made = fields.replaced(words, tables)
    assert [fields.codes(made, j).tolist() for j in range(3)] == [[7, 2**39], [0, 2], [2, 3]]
    assert [fields.codes(words, j).tolist() for j in range(3)] == [each.tolist() for each in codes]
