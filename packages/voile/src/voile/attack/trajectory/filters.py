"""Filters that know nothing of roads: what averaging makes of noisy positions.

``median_filter``  the seed's filtering attack ("Trajectory Hiding and Sharing for Supply Chains
                   with Differential Privacy", ESORICS 2023, section 5): the median of each
                   coordinate over a window of reports
``smoother``       the Rauch-Tung-Striebel smoother (Rauch, Tung and Striebel 1965) of a Kalman
                   filter with constant velocity and white acceleration, for independent noise

Claim: for noise that does not remember, the smoother is the best linear estimate for its model of
movement.  Neither knows roads, so both are far from the best that an adversary can do.

Cost: O(n) for the smoother, O(n w) for a window of w reports.
"""

from __future__ import annotations

import numpy as np

from voile_geo.geodesy import Floats

__all__ = ["median_filter", "smoother"]


def median_filter(shown: Floats, window: int = 5) -> Floats:
    """Medians over ``window`` reports, an odd number, fewer at the ends; shapes (n, 2), metres."""
    half = window // 2
    padded = np.full((len(shown) + 2 * half, 2), np.nan)
    padded[half : half + len(shown)] = shown
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * half + 1, axis=0)
    return np.asarray(np.nanmedian(windows, axis=-1))


def smoother(time: Floats, shown: Floats, deviation: Floats, acceleration: float = 1.0) -> Floats:
    """Smoothed positions, shape (n, 2), metres.

    ``time`` (n,) in seconds, ``deviation`` (n,) of the noise per axis in metres; ``acceleration``
    is the root of the spectral density of the white acceleration, in m/s^1.5.
    """
    count = len(time)
    means, covariances = np.empty((count, 2, 2)), np.empty((count, 2, 2))
    predicted_means, predicted = np.empty((count, 2, 2)), np.empty((count, 2, 2))
    moves = np.empty((count, 2, 2))
    # Both axes share their covariance: one filter with two columns.
    mean, covariance = np.zeros((2, 2)), np.diag([1e12, 30.0**2])
    for i in range(count):
        elapsed = float(time[i] - time[i - 1]) if i else 0.0
        move = np.array([[1.0, elapsed], [0.0, 1.0]])
        drift = np.array([[elapsed**3 / 3, elapsed**2 / 2], [elapsed**2 / 2, elapsed]])
        mean, covariance = move @ mean, move @ covariance @ move.T + acceleration**2 * drift
        moves[i], predicted_means[i], predicted[i] = move, mean, covariance
        gain = covariance[:, :1] / (covariance[0, 0] + deviation[i] ** 2)
        mean = mean + gain * (shown[i] - mean[0])
        covariance = covariance - gain * covariance[:1]
        means[i], covariances[i] = mean, covariance
    for i in range(count - 2, -1, -1):
        back = covariances[i] @ moves[i + 1].T @ np.linalg.inv(predicted[i + 1])
        means[i] = means[i] + back @ (means[i + 1] - predicted_means[i + 1])
    return means[:, 0]
