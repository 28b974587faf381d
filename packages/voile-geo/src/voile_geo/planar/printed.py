"""What the trajectory paper says of its mechanism, computed: its composition, its two measures.

Source: "Trajectory Hiding and Sharing for Supply Chains with Differential Privacy" (ESORICS 2023),
Theorem 1 (after Kairouz, Oh and Viswanath, ICML 2015), eqs. 8 to 11, Lemma 1.  Nothing here is part
of a promise of Voile's; each function says where the paper's use of it fails.
"""

from __future__ import annotations

import math

import numpy as np

from voile_geo.geodesy import Floats
from voile_geo.planar.costs import gaussian_epsilon

__all__ = [
    "composed_deviation",
    "composed_epsilon_as_printed",
    "composed_epsilon_of_turns",
    "guessed_distance_density",
    "guessed_distance_density_as_printed",
    "midpoint_displacement",
    "vector_displacement",
]


def composed_deviation(rounds: int, epsilon: float, delta: float, spread: float) -> float:
    """Theorem 1: sigma of Gaussian noise for (epsilon, delta) over all ``rounds`` together.

    ``spread`` is Delta_2.  Its variance is 8 k ln(e + epsilon / delta) spread^2 / epsilon^2.
    """
    return spread * math.sqrt(8 * rounds * math.log(math.e + epsilon / delta)) / epsilon


def composed_epsilon_as_printed(rounds: int, epsilon: float) -> float:
    """Section 5.2: sqrt(k) epsilon_a for k rounds of epsilon_a each.

    Fails: solving Theorem 1 for what k rounds with the noise of eq. 7 cost gives about twice as
    much, sqrt(4 ln(e + epsilon / delta) / ln(1.25 / delta)) times sqrt(k) epsilon_a; and eq. 7
    holds for epsilon_a below 1, where the paper takes 5.  ``composed_epsilon_of_turns`` is exact.
    """
    return math.sqrt(rounds) * epsilon


def composed_epsilon_of_turns(rounds: int, epsilon: float, delta: float) -> float:
    """The exact epsilon, at ``delta``, of k Gaussian turns that eq. 7 made for epsilon_a each.

    k rounds of Gaussian noise are one, sqrt(k) times as telling: mu = sqrt(k) Delta_2 / sigma.
    What is protected are angles, which are drawn and follow from no position: of positions it
    says nothing.
    """
    single = epsilon / math.sqrt(2 * math.log(1.25 / delta))
    return gaussian_epsilon(math.sqrt(rounds) * single, delta)


def guessed_distance_density_as_printed(distance: Floats, epsilon: float) -> Floats:
    """Eq. 8: the density that the paper gives to the distance from the published position.

    It is that of one dimension, largest at 0: fails in the plane, where it is
    ``guessed_distance_density``.
    """
    return np.asarray(epsilon * np.exp(-epsilon * np.asarray(distance, np.float64)))


def guessed_distance_density(distance: Floats, epsilon: float) -> Floats:
    """The density, per metre, of the distance that planar Laplace noise moves a position by.

    epsilon^2 d e^(-epsilon d): 0 at 0 and largest at 1 / epsilon.
    """
    distance = np.asarray(distance, np.float64)
    return np.asarray(epsilon**2 * distance * np.exp(-epsilon * distance))


def midpoint_displacement(radius: Floats, angle: Floats) -> Floats:
    """Eq. 9: how far the midpoint of two neighbouring reports is from that of the true positions.

    ``radius`` and ``angle`` (..., n): metres and radians of the noise of n reports in a row;
    answers are (..., n - 1), metres.

    Lemma 1 takes a larger one for more privacy.  Fails against who knows the mechanism: what makes
    it large, noise that hardly turns, is what he follows the truck by.
    """
    turn = np.diff(angle)
    first, second = radius[..., :-1], radius[..., 1:]
    square = first**2 + second**2 + 2 * first * second * np.cos(turn)
    return np.asarray(np.sqrt(np.maximum(square, 0)) / 2)


def vector_displacement(radius: Floats, angle: Floats) -> Floats:
    """Eqs. 10 and 11: the length of the average vector difference of three reports in a row.

    Shapes as for ``midpoint_displacement``, and (..., n - 2); it fails in the same way.
    """
    east, north = radius * np.cos(angle), radius * np.sin(angle)
    sums = [part[..., :-2] + 2 * part[..., 1:-1] + part[..., 2:] for part in (east, north)]
    return np.asarray(np.hypot(*sums) / 4)
