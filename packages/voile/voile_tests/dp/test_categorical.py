"""The law of categorical draws, and what a draw depends on."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voile.dp import exact
from voile.dp.discrete_noise import DiscreteLaplace
from voile.dp.exact import Categorical
from voile_base.randomness import Key, Randomness
from voile_testing.statistics import FALSE_ALARM, p_value

weights = st.lists(
    st.lists(st.integers(0, 30), min_size=3, max_size=3).filter(any), min_size=1, max_size=6
)


def key_of(seed: int) -> Key:
    return Randomness.seeded(seed).key("membership")


def rows_of(count: int) -> np.ndarray:
    return np.arange(count, dtype=np.uint64)


def test_each_law_is_its_own() -> None:
    """300,000 draws of three laws fit each law's weights, and not others 30 % off; 1e-6."""
    laws = [[1, 2, 3, 4], [0, 5, 0, 5], [97, 1, 1, 1]]
    row = np.arange(300_000) % 3
    drawn = Categorical.of_weights(np.array(laws)).draw(row, rows_of(300_000), key_of(1))
    for i, law in enumerate(laws):
        counts = np.bincount(drawn[row == i], minlength=4)
        assert p_value(counts, np.array(law) / sum(law)) > FALSE_ALARM
        wrong = np.array(law, dtype=float)
        wrong[np.argmax(wrong)] *= 0.7
        assert p_value(counts, wrong / wrong.sum()) < FALSE_ALARM
    assert not np.isin(drawn[row == 1], (0, 2)).any()


def test_weights_beyond_64_bits_are_kept_exactly() -> None:
    """Weights of any size are told exactly, and a share of 2^-70 is not lost."""
    law = Categorical.of_weights(np.array([[1, 2**70 - 1]], dtype=object))
    assert law.probability(0, 0) == Fraction(1, 2**70)
    assert law.draw(np.zeros(1000, dtype=int), rows_of(1000), key_of(1)).all()


@given(weights)
def test_probabilities_are_those_of_the_weights(laws: list[list[int]]) -> None:
    """Every probability is a weight over the sum of its row, and what has none is not drawn."""
    whole = Categorical.of_weights(np.array(laws))
    for i, law in enumerate(laws):
        for j, weight in enumerate(law):
            assert whole.probability(i, j) == Fraction(weight, sum(law))
    row = np.arange(60) % len(laws)
    drawn = whole.draw(row, rows_of(60), key_of(4))
    assert all(laws[i][j] > 0 for i, j in zip(row, drawn, strict=True))


@pytest.mark.parametrize("law", [[1, 2, 4], [0, 1, 2], [3, 0, 5], [1, 1, 2], [2, 1, 0]])
def test_reading_digit_by_digit_gives_the_law(law: list[int]) -> None:
    """Of all sequences of six pairs of bits, each outcome gets its share, but for those undecided.

    An edge leaves one sequence in 4^6 undecided, and none where it has six pairs of bits itself.
    """
    shown = [0, 0, 0]
    undecided = 0
    for digits in itertools.product(range(4), repeat=6):
        try:
            shown[exact._outcome(law, iter(digits), length=2)] += 1
        except (StopIteration, RuntimeError):
            undecided += 1
    assert undecided <= 2
    for count, weight in zip(shown, law, strict=True):
        assert abs(Fraction(count, 4**6) - Fraction(weight, sum(law))) <= Fraction(2, 4**6)


@given(weights)
def test_the_quick_comparison_and_the_slow_agree(laws: list[list[int]]) -> None:
    """For the same words, reading digit by digit shows what the comparison of 64 bits shows."""
    law = Categorical.of_weights(np.array(laws))
    row = np.arange(40) % len(laws)
    words = rows_of(40)
    drawn = law.draw(row, words, key_of(5)).tolist()
    slow = [
        exact._outcome(laws[i], exact._row_words(key_of(5), words[r : r + 1]))
        for r, i in enumerate(row)
    ]
    assert drawn == slow


@pytest.mark.parametrize(("following", "shown"), [(0, 0), (2**63, 1)])
def test_a_tie_is_settled_by_further_words(
    monkeypatch: pytest.MonkeyPatch, following: int, shown: int
) -> None:
    """Where the first 64 bits are those of 1/3, the next word decides."""
    law = Categorical.of_weights(np.array([[1, 2]]))
    first = 2**64 // 3

    def blocks(self: Key, words: np.ndarray, counter: int) -> np.ndarray:
        word = first if counter == 2**63 else following
        return np.full((len(words), 2), word, dtype=np.uint64)

    monkeypatch.setattr(Key, "blocks", blocks)
    assert law.draw(np.zeros(1, dtype=int), rows_of(1), key_of(1)).tolist() == [shown]


def test_a_draw_is_a_function_of_the_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """Order, company and size of parts change no draw; another key does."""
    law = Categorical.of_weights(np.array([[1, 1, 1], [0, 1, 0], [5, 1, 1]]))
    row = np.arange(70_000) % 3
    drawn = law.draw(row, rows_of(70_000), key_of(1))
    order = np.argsort(rows_of(70_000) * np.uint64(0x9E3779B97F4A7C15))
    assert np.array_equal(law.draw(row[order], rows_of(70_000)[order], key_of(1)), drawn[order])
    assert not np.array_equal(law.draw(row, rows_of(70_000), key_of(2)), drawn)
    assert law.draw(row[7:8], rows_of(70_000)[7:8], key_of(1))[0] == drawn[7]


def test_certain_laws_need_no_randomness(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those with one outcome show it without asking the key; so does a row of one weight."""
    monkeypatch.setattr(Key, "blocks", None)
    law = Categorical.certain(np.array([2, 0, 1]), 3)
    assert law.draw(np.array([0, 1, 2, 0]), rows_of(4), key_of(1)).tolist() == [2, 0, 1, 2]
    assert law.probability(0, 2) == 1
    assert law.probability(0, 1) == 0
    single = Categorical.of_weights(np.array([[0, 7], [7, 0]]))
    assert single.draw(np.array([0, 1]), rows_of(2), key_of(1)).tolist() == [1, 0]
    assert len(single) == 2
    assert single.outcomes == 2


def test_noise_under_the_same_key_is_independent() -> None:
    """A cluster and the sign of its noise do not go together, 100,000 rows; 1e-6."""
    law = Categorical.of_weights(np.array([[1, 1]]))
    none = np.zeros(100_000, dtype=int)
    cluster = law.draw(none, rows_of(100_000), key_of(1))
    noise = DiscreteLaplace((Fraction(1000),)).draw(none, rows_of(100_000), key_of(1))
    cells = np.bincount(2 * cluster + (noise > 0), minlength=4)
    assert p_value(cells, [0.25] * 4) > FALSE_ALARM


@pytest.mark.parametrize("laws", [[[0, 0]], [[1, -1]], [1, 2]])
def test_what_is_no_law_is_refused(laws: list[object]) -> None:
    """Weights below 0, no weight at all, and a missing axis raise."""
    with pytest.raises(ValueError, match="weights"):
        Categorical.of_weights(np.array(laws))
