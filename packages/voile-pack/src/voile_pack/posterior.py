"""The distributions of true numbers given what a release shows of them.

What it gives: for values that were published with noise in clusters, the distribution of the true
value of each row, from the value, its interval, and what the release says of its clusters.

A value of cluster c is moved into a drawn cluster j, its own with a certain probability and each
other with another, by going to the nearest border of j; noise of the scale of j is added, and the
result is clamped to the bounds.  The half-width of the interval tells j; where the interval was
cut at both bounds, every j whose interval would look the same counts.  By Bayes, a true value in
cluster c has the density

    prior(c) / length(c) * sum_j chance(c, j) * exp(-|y - start(j, x)| / b(j)) / 2 b(j)

with start(j, x) = x for c = j and the border of j next to c otherwise: pieces of ``distributions``.

What is assumed: true values are independent; each lies in cluster c with the probability that
the shares of the release say, and evenly within it.  Where the release states no borders, true
values were not moved, and are evenly spread between 0 and the capacity of a bin beforehand.  True
values are at least 0 and fit into a bin.  This is what is known of the values from the release; it
is no promise for each value of each table.  Where most true values are far smaller than evenly
spread ones, sums are overestimated.

Cost: c**2 pieces at worst for each of n values, c for nearly all releases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voile.disclosure.stated_noise import Cluster, StatedNoise
from voile_base.errors import InputError
from voile_pack.distributions import Distributions, Floats

__all__ = ["NoisyCluster", "NoisyValues", "PublishedNoise", "distributions_given"]


@dataclass(frozen=True)
class NoisyCluster:
    """The noise of one cluster, and where its values lie."""

    scale: float
    half_width: float
    """Of its intervals."""
    share: float
    """The probability that a true value lies in it, before anything is seen."""
    own: float = 1.0
    """The probability that its values stay in it."""
    other: float = 0.0
    """The probability that values of each other cluster are moved into it."""
    borders: tuple[float, float] | None = None
    """None: not stated."""


@dataclass(frozen=True)
class PublishedNoise:
    """The Laplace noise of a published column, as its release tells."""

    clusters: tuple[NoisyCluster, ...]
    step: float
    """The grid on which noise was drawn."""

    @classmethod
    def of(cls, shown: StatedNoise) -> PublishedNoise:
        """The noise that a release states."""
        return cls(tuple(map(_cluster, shown.clusters)), shown.step)


def _cluster(stated: Cluster) -> NoisyCluster:
    known = stated.low is not None and stated.high is not None
    return NoisyCluster(
        scale=stated.scale,
        half_width=stated.half_width,
        share=stated.share,
        own=stated.own,
        other=stated.other,
        borders=(stated.low, stated.high) if known else None,  # type: ignore[arg-type]
    )


@dataclass(frozen=True, eq=False)
class NoisyValues:
    """n published values with the intervals around them; arrays of shape (n,)."""

    value: Floats
    low: Floats
    high: Floats

    def drawn_in(self, noise: PublishedNoise) -> NDArray[np.bool_]:
        """Which clusters each value may have been drawn in, (c, n)."""
        widths = np.array([[cluster.half_width] for cluster in noise.clusters])
        reach = np.maximum(self.value - self.low, self.high - self.value)
        near = np.abs(widths - reach) <= noise.step / 2
        # An interval that was cut at both ends reaches less far than its half-width.
        cut = np.zeros(len(reach), np.bool_)
        if (first := noise.clusters[0].borders) and (last := noise.clusters[-1].borders):
            cut = (self.low <= first[0]) & (self.high >= last[1])
        wider = widths >= np.minimum(reach, widths.max())
        return np.asarray(np.where(cut | ~near.any(axis=0), near | wider, near))


def distributions_given(
    values: NoisyValues, noise: PublishedNoise, capacity: float
) -> Distributions:
    """The distributions of the true values, which are within 0 and ``capacity``.

    Raises ``InputError``, with counts only, where a true value cannot be.
    """
    pieces = [
        piece
        for drawn, possible in zip(noise.clusters, values.drawn_in(noise), strict=True)
        for piece in _pieces(values, noise.clusters, drawn, possible, capacity)
    ]
    logs = np.stack([piece.log_weight for piece in pieces])
    top = logs.max(axis=0)
    lost = int(np.isneginf(top).sum())
    if lost:
        raise InputError(
            f"{lost:,} published values come from true ones beyond the capacity of a bin; give a "
            "larger capacity"
        )
    weight = np.exp(logs - top)
    order = np.argsort(-weight, axis=0, kind="stable")[: int((weight > 0).sum(axis=0).max())]

    def heaviest(arrays: Sequence[Floats]) -> Floats:
        """The pieces of each value that count: few of all that some value has."""
        return np.take_along_axis(np.stack(arrays), order, axis=0)

    return Distributions(
        centre=heaviest([piece.centre for piece in pieces]),
        rate=heaviest([piece.rate for piece in pieces]),
        least=heaviest([piece.least for piece in pieces]),
        most=heaviest([piece.most for piece in pieces]),
        weight=np.take_along_axis(weight, order, axis=0),
        step=noise.step,
    )


@dataclass(frozen=True, eq=False)
class _Piece:
    """One piece of the distributions of n values, and the logarithm of its weight; arrays (n,)."""

    centre: Floats
    rate: Floats
    least: Floats
    most: Floats
    log_weight: Floats


def _pieces(
    values: NoisyValues,
    clusters: Sequence[NoisyCluster],
    drawn: NoisyCluster,
    possible: NDArray[np.bool_],
    capacity: float,
) -> list[_Piece]:
    """What follows for the true values if they were drawn in one cluster, where that may be."""
    if drawn.borders is None:
        return [_own_piece(values, drawn, (0.0, capacity), possible)]
    pieces = []
    for cluster in clusters:
        assert cluster.borders is not None
        low, high = np.clip(cluster.borders, 0.0, capacity)
        density = cluster.share / (cluster.borders[1] - cluster.borders[0])
        if cluster is drawn:
            own = _own_piece(values, drawn, (low, high), possible)
            chance = density * drawn.own
        else:
            border = drawn.borders[0] if cluster.borders[0] < drawn.borders[0] else drawn.borders[1]
            own = _moved_piece(values, drawn, border, (low, high), possible)
            chance = density * drawn.other
        with np.errstate(divide="ignore"):
            pieces.append(
                _Piece(own.centre, own.rate, own.least, own.most, own.log_weight + np.log(chance))
            )
    return [piece for piece in pieces if not np.isneginf(piece.log_weight).all()] or pieces[:1]


def _own_piece(
    values: NoisyValues,
    drawn: NoisyCluster,
    limits: tuple[float, float],
    possible: NDArray[np.bool_],
) -> _Piece:
    """The true value lies around the published one."""
    count = len(values.value)
    rate = np.full(count, 1 / drawn.scale)
    least, most = np.full(count, limits[0]), np.full(count, limits[1])
    centre = np.clip(values.value, least, most)
    away = np.abs(values.value - centre) * rate
    left, right = -np.expm1(-rate * (centre - least)), -np.expm1(-rate * (most - centre))
    with np.errstate(divide="ignore"):
        log_weight = np.log(left + right) - away
    return _Piece(centre, rate, least, most, np.where(possible, log_weight, -np.inf))


def _moved_piece(
    values: NoisyValues,
    drawn: NoisyCluster,
    border: float,
    limits: tuple[float, float],
    possible: NDArray[np.bool_],
) -> _Piece:
    """The true value lies in another cluster, and its noise is around a border."""
    count = len(values.value)
    rate = np.zeros(count)
    least, most = np.full(count, limits[0]), np.full(count, limits[1])
    with np.errstate(divide="ignore"):
        log_weight = (
            np.log((most - least) / drawn.scale) - np.abs(values.value - border) / drawn.scale
        )
    return _Piece(least, rate, least, most, np.where(possible, log_weight, -np.inf))
