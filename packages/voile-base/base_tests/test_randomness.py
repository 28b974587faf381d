"""The one door to entropy."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from voile_base.errors import PlanError
from voile_base.randomness import Key, Randomness


def test_words_are_the_block_cipher_of_each_pair() -> None:
    """Words agree with AES of a second implementation's calls, whatever the number of rows."""
    key = Randomness.seeded(7).key("anything")
    first = np.arange(70_000, dtype=np.uint64)
    second = first[::-1].copy()
    encryptor = Cipher(algorithms.AES(key.secret[:16]), modes.ECB()).encryptor()
    for place in (0, 1, 32_767, 32_768, 69_999):
        block = int(first[place]).to_bytes(8, "little") + int(second[place]).to_bytes(8, "little")
        expected = int.from_bytes(encryptor.update(block)[:8], "little")
        assert int(key.words(first, second)[place]) == expected


def test_pairs_that_stand_together_draw_what_blocks_draw() -> None:
    """One or some thousands; what was asked stays as it was."""
    key = Randomness.seeded(5).key("together")
    for count in (1, 3_840):
        asked = np.arange(2 * count, dtype=np.uint64).reshape(-1, 2) * np.uint64(2**57 + 3)
        before = asked.copy()
        drawn = key.drawn(asked)
        assert np.array_equal(drawn, key.blocks(asked[:, 0], asked[:, 1]))
        assert np.array_equal(asked, before)


def test_blocks_are_the_block_cipher_of_word_and_counter() -> None:
    """Blocks hold the words that pairs of row and counter have, and a second word beside each."""
    key = Randomness.seeded(7).key("anything")
    rows = np.arange(20_000, dtype=np.uint64)
    for counter in (0, 5, 2**63):
        blocks = key.blocks(rows, counter)
        assert blocks.shape == (20_000, 2)
        assert np.array_equal(blocks[:, 0], key.words(rows, np.full_like(rows, counter)))
        assert not np.array_equal(blocks[:, 1], blocks[:, 0])


@given(st.permutations(range(50)))
def test_words_do_not_depend_on_the_order_of_evaluation(order: list[int]) -> None:
    """A row's word is a function of key and row: computing rows in another order changes none."""
    key = Randomness.seeded(1).key("rows")
    rows = np.arange(50, dtype=np.uint64)
    again = key.words(rows[order], rows[order])
    assert np.array_equal(again, key.words(rows, rows)[order])


def test_a_stream_can_be_continued() -> None:
    """Word i of a stream does not depend on where one begins, or how many words one asks for."""
    key = Randomness.seeded(2).key("stream")
    whole = key.stream(70_000)
    for first, count in ((0, 10), (1, 10), (2, 3), (32_767, 5), (69_999, 1)):
        assert np.array_equal(key.stream(count, first), whole[first : first + count])


def test_absorbing_is_chained() -> None:
    """The state after two blocks depends on both and on their order."""
    key = Randomness.seeded(3).key("chain")
    one, two = np.array([[1, 0]], dtype=np.uint64), np.array([[2, 0]], dtype=np.uint64)
    states = []
    for blocks in ((one, two), (two, one), (one, one)):
        state = np.zeros((1, 2), dtype=np.uint64)
        for block in blocks:
            key.absorb(state, block)
        states.append(tuple(state[0].tolist()))
    assert len(set(states)) == 3


def test_purposes_have_independent_keys() -> None:
    """Keys of other purposes differ, and so do purposes whose names run together alike."""
    randomness = Randomness.seeded(4)
    purposes = [("a",), ("b",), ("a", "b"), ("ab",), ("", "ab")]
    assert len({randomness.key(*purpose).secret for purpose in purposes}) == len(purposes)


def test_seeded_draws_repeat_and_secure_ones_do_not() -> None:
    """A seed gives the same key again; the operating system never does."""
    assert Randomness.seeded(5).key("x").secret == Randomness.seeded(5).key("x").secret
    assert Randomness.seeded(5).key("x").secret != Randomness.seeded(6).key("x").secret
    assert Randomness.secure().key("x").secret != Randomness.secure().key("x").secret
    assert Randomness.secure().publishable
    assert not Randomness.seeded(5).publishable


@pytest.mark.parametrize("seed", [-1, 2**63, 1.5, True, "7", None])
def test_a_bad_seed_is_refused(seed: object) -> None:
    """A seed is a whole number from 0 to 2**63 - 1."""
    with pytest.raises(PlanError, match="seed"):
        Randomness.seeded(seed)  # type: ignore[arg-type]


def test_words_are_uniform() -> None:
    """Bytes of 100,000 words pass chi-square at a false-alarm rate of 1e-6; biased ones fail."""
    words = Randomness.seeded(8).key("uniform").stream(100_000)
    counts = np.bincount(words.view(np.uint8), minlength=256)
    assert stats.chisquare(counts).pvalue > 1e-6
    biased = counts.copy()
    biased[0] += 3 * counts[0] // 10  # one byte of 256 thirty per cent too frequent
    assert stats.chisquare(biased).pvalue < 1e-6


def test_secrets_never_show(caplog: pytest.LogCaptureFixture) -> None:
    """Neither ``repr`` nor a log holds a key or a seed."""
    with caplog.at_level(logging.DEBUG):
        randomness = Randomness.seeded(987_654_321)
        shown = f"{randomness!r} {randomness.key('x')!r} {caplog.text}"
    assert "987654321" not in shown
    assert randomness.key("x").secret.hex() not in shown


def test_a_key_has_32_bytes() -> None:
    """A key of another length is a mistake of the caller."""
    with pytest.raises(ValueError, match="32"):
        Key(b"short")
