"""Adversaries that tell two kinds of public bytes apart, and how often they are right.

A game shows some bytes and has a hidden bit.  Each distinguisher is taught by one half of the games
and guesses in the other, so a leak that nobody thought of counts as well as one that somebody did:
single bits, linear combinations of bits, sums of bits, equal blocks of four bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

Bits = NDArray[np.float64]
FALSE_ALARM = 1e-4
"""That a distinguisher who knows nothing looks as if he did, for each of four."""


@dataclass(frozen=True)
class Game:
    """What was shown, and the truth."""

    shown: Sequence[bytes]
    truth: NDArray[np.bool_]


def success(game: Game) -> dict[str, float]:
    """The share of right guesses of each distinguisher on the second half of the games."""
    half = len(game.truth) // 2
    bits = np.array([np.unpackbits(np.frombuffer(one, np.uint8)) for one in game.shown], float)
    blocks = [np.frombuffer(one[: len(one) // 4 * 4], "<u4") for one in game.shown]
    features: dict[str, Bits] = {
        "bits": bits,
        "sum of bits": bits.sum(axis=1, keepdims=True),
        "equal blocks": np.array([[len(np.unique(four))] for four in blocks], float),
    }
    found = {}
    for name, values in features.items():
        guess = _best_single(values[:half], game.truth[:half])
        found[name] = float((guess(values[half:]) == game.truth[half:]).mean())
    linear = _linear(bits[:half], game.truth[:half])
    found["linear"] = float((linear(bits[half:]) == game.truth[half:]).mean())
    return found


def most_by_chance(games: int) -> float:
    """A share of right guesses that blind guessing exceeds with probability ``FALSE_ALARM``."""
    return 0.5 + NormalDist().inv_cdf(1 - FALSE_ALARM) * 0.5 / (games // 2) ** 0.5


def _best_single(values: Bits, truth: NDArray[np.bool_]) -> Callable[[Bits], NDArray[np.bool_]]:
    """The one feature and threshold that tells most."""
    thresholds = values.mean(axis=0)
    above = values > thresholds
    right = (above == truth[:, np.newaxis]).mean(axis=0)
    best = int(np.abs(right - 0.5).argmax())
    return lambda seen: (seen[:, best] > thresholds[best]) == (right[best] > 0.5)


def _linear(values: Bits, truth: NDArray[np.bool_]) -> Callable[[Bits], NDArray[np.bool_]]:
    """Ridge regression of the truth on all bits."""
    centred = values - 0.5
    gram = centred.T @ centred + len(values) * 0.05 * np.eye(values.shape[1])
    weights = np.linalg.solve(gram, centred.T @ (truth - 0.5))
    return lambda seen: (seen - 0.5) @ weights > 0
