"""What is known about true numbers of which intervals or noisy values were published.

What it gives: for n independent numbers, distributions that are mixtures of a few pieces; means,
quantiles, probabilities, and the transforms from which the distribution of a sum follows.

The density of a piece is proportional to exp(-rate |x - centre|) on [least, most]:

- rate 0 is the uniform distribution on [least, most]: a generalized value;
- rate 1/b is the distribution of x where x + Laplace(b) was published as ``centre`` and every x in
  [least, most] was equally likely before.  A centre outside of [least, most] says the same as the
  end next to it, because the exponential has no memory; so it is moved there;
- least = most is a number known exactly.

``posterior`` says which pieces follow from a release, and what that assumes.

A discrete Laplace distribution on a grid of step g is within g of a continuous one: |Z| >= k g has
probability 2 p^k / (1 + p) with p = exp(-g/b), which lies between p^k and p^(k - 1); so a coupling
exists in which the two differ by at most g.  ``step`` carries g, and sums add it up.

Cost: vectorized over m pieces of n numbers, and over t arguments of a transform.

The distributions of true numbers given what a release shows of them.

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

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from voile.disclosure.noise import Cluster, StatedNoise
from voile_base.errors import InputError
from voile_base.ondemand import dataclass

__all__ = [
    "Distributions",
    "Floats",
    "NoisyValues",
    "PublishedNoise",
]


Floats = NDArray[np.float64]
_NEAR_ZERO = 1e-5
_HALVINGS = 60
_AT_ONCE = 1 << 18
"""Numbers in a temporary array."""


@dataclass(frozen=True, eq=False)
class Distributions:
    """Distributions of n independent numbers, each of m pieces; arrays (m, n) or, for m = 1, (n,).

    Raises ``InputError`` where least > most, a rate or weight is negative, a number is not finite,
    or weights are all 0.
    """

    centre: Floats
    rate: Floats
    """At least 0; 1/b for Laplace noise of scale b."""
    least: Floats
    most: Floats
    weight: Floats | None = None
    """Of the pieces; None: equal.  Kept so that they add up to 1."""
    step: float = 0.0
    """The grid of the noise, where it was drawn on one."""

    def __post_init__(self) -> None:
        weight = np.ones(np.shape(self.centre)) if self.weight is None else self.weight
        arrays = (self.centre, self.rate, self.least, self.most, weight)
        centre, rate, least, most, weight = (np.atleast_2d(np.asarray(a, float)) for a in arrays)
        finite = all(np.isfinite(a).all() for a in (centre, rate, least, most, weight))
        positive = (rate >= 0).all() and (weight >= 0).all() and self.step >= 0
        total = weight.sum(axis=0)
        if not (finite and positive and (least <= most).all() and (total > 0).all()):
            raise InputError(
                "distributions need finite limits with least <= most, and rates of at least 0"
            )
        object.__setattr__(self, "centre", np.clip(centre, least, most))
        object.__setattr__(self, "weight", weight / total)
        for name, array in (("rate", rate), ("least", least), ("most", most)):
            object.__setattr__(self, name, array)

    @classmethod
    def exact(cls, values: Floats) -> Distributions:
        """Numbers known exactly."""
        return cls(values, np.zeros(len(values)), values, values)

    @classmethod
    def uniform(cls, low: Floats, high: Floats) -> Distributions:
        """Numbers of which only an interval is known."""
        return cls(low, np.zeros(len(low)), low, high)

    def __len__(self) -> int:
        return int(self.centre.shape[1])

    def __getitem__(self, index: NDArray[np.int64]) -> Distributions:
        return Distributions(
            self.centre[:, index],
            self.rate[:, index],
            self.least[:, index],
            self.most[:, index],
            self._weight[:, index],
            self.step,
        )

    @property
    def _weight(self) -> Floats:
        assert self.weight is not None
        return self.weight

    @property
    def limits(self) -> tuple[Floats, Floats]:
        """Between which the numbers are for certain, (n,) each."""
        present = self._weight > 0
        least = np.where(present, self.least, np.inf).min(axis=0, initial=np.inf)
        most = np.where(present, self.most, -np.inf).max(axis=0, initial=-np.inf)
        return least, most

    @property
    def mean(self) -> Floats:
        """Expected numbers, (n,)."""
        left, right = self.centre - self.least, self.most - self.centre
        shift = _moment(self.rate, right) - _moment(self.rate, left)
        total = self._total
        means = self.centre + np.divide(shift, total, out=np.zeros(shift.shape), where=total > 0)
        return _summed(self._weight * means)

    @property
    def peak(self) -> Floats:
        """At least the largest density of each number, (n,); infinite where a piece is a point."""
        total = self._total
        points = np.where(self._weight > 0, np.inf, 0.0)
        return _summed(np.divide(self._weight, total, out=points, where=total > 0))

    def quantile(self, share: float) -> Floats:
        """The numbers that the true ones stay below with probability ``share``, (n,)."""
        low, high = self.limits
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            beyond = self.above(middle) > 1 - share
            low, high = np.where(beyond, middle, low), np.where(beyond, high, middle)
        return high

    def above(self, limits: Floats | float) -> Floats:
        """The probability that each number exceeds its limit, (n,)."""
        left = np.clip(self.centre - np.maximum(limits, self.least), 0.0, None)
        start = np.maximum(limits - self.centre, 0.0)
        end = np.maximum(self.most - self.centre, start)
        mass = _mass(self.rate, left) + _mass(self.rate, end) - _mass(self.rate, start)
        total = self._total
        known = (self.centre > limits).astype(np.float64)
        return _summed(self._weight * np.divide(mass, total, out=known, where=total > 0))

    def log_moments(self, tilts: Floats, origin: Floats) -> Floats:
        """Logarithms of E exp(tilt (x - origin)) of each number at each tilt, (t, n)."""
        with np.errstate(divide="ignore"):
            logs = np.log(self._weight)
        pieces, index = self._distinct()
        found = np.empty((len(tilts), len(self)))
        for part in _parts(len(tilts), logs.size):
            tilt = tilts[part, None]
            exponents = _log_moments(pieces, tilt)[:, index] + logs
            exponents += tilt[:, :, None] * (pieces.centre[index] - origin)
            found[part] = np.logaddexp.reduce(exponents, axis=1)
        return found

    def transforms(self, arguments: Floats, origin: Floats) -> NDArray[np.complex128]:
        """E exp(i t (x - origin)) of each number at each t > 0, (t, n)."""
        pieces, index = self._distinct()
        turn = (1j * arguments[:, None]).astype(np.complex128)
        about_zero = _transforms(pieces, turn) * np.exp(turn * pieces.centre)
        found = np.zeros((len(arguments), len(self)), np.complex128)
        for row, weight in zip(index, self._weight, strict=True):
            found += weight * about_zero[:, row]
        return np.asarray(found * np.exp(-turn * origin))

    def _distinct(self) -> tuple[_Pieces, NDArray[np.int64]]:
        """The p distinct pieces, and which of them stands where, (m, n).

        Distributions of many numbers share pieces, such as the clusters of a release.
        """
        table = np.stack([self.centre, self.rate, self.least, self.most])
        if len(self._weight) == 1:
            return _Pieces(*table[:, 0]), np.arange(len(self))[None, :]
        table = np.where(self._weight > 0, table, table[:, :1])
        rows = np.ascontiguousarray(table.reshape(4, -1).T)
        keys = rows.view([("", rows.dtype)] * 4).reshape(-1)
        _, first, index = np.unique(keys, return_index=True, return_inverse=True)
        return _Pieces(*rows[first].T), index.reshape(self._weight.shape)

    @property
    def _total(self) -> Floats:
        """The integral of each piece's exponential, (m, n)."""
        return _total(_Pieces(self.centre, self.rate, self.least, self.most))


class _Pieces(NamedTuple):
    """Pieces of distributions; arrays of one shape."""

    centre: Floats
    rate: Floats
    least: Floats
    most: Floats


def _total(pieces: _Pieces) -> Floats:
    """The integrals of exp(-rate |x - centre|) over [least, most]."""
    left, right = pieces.centre - pieces.least, pieces.most - pieces.centre
    return _mass(pieces.rate, left) + _mass(pieces.rate, right)


def _log_moments(pieces: _Pieces, tilt: Floats) -> Floats:
    """Logarithms of E exp(tilt (x - centre)); 0 for pieces of one point."""
    left, right = pieces.centre - pieces.least, pieces.most - pieces.centre
    total = _total(pieces)
    inner = np.logaddexp(
        _log_integral(-pieces.rate - tilt, left), _log_integral(-pieces.rate + tilt, right)
    )
    return np.where(total > 0, inner - np.log(np.where(total > 0, total, 1.0)), 0.0)


def _transforms(pieces: _Pieces, turn: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """E exp(turn (x - centre)) for imaginary turns; 1 for pieces of one point."""
    left, right = pieces.centre - pieces.least, pieces.most - pieces.centre
    total = _total(pieces)
    parts = _integral(-pieces.rate - turn, left) + _integral(-pieces.rate + turn, right)
    return np.where(total > 0, parts / np.where(total > 0, total, 1.0), 1.0)


def _parts(count: int, width: int) -> Iterator[slice]:
    """Slices of ``count`` rows of this width that make no large arrays."""
    together = max(1, _AT_ONCE // max(width, 1))
    return (slice(first, first + together) for first in range(0, count, together))


def _summed(pieces: Floats) -> Floats:
    return np.asarray(pieces.sum(axis=0))


def _mass(rate: Floats, length: Floats) -> Floats:
    """The integral of exp(-rate u) over [0, length]."""
    return np.where(
        rate * length < _NEAR_ZERO,
        length * (1 - rate * length / 2),
        -np.expm1(-rate * length) / np.where(rate > 0, rate, 1.0),
    )


def _moment(rate: Floats, length: Floats) -> Floats:
    """The integral of u exp(-rate u) over [0, length]."""
    z = rate * length
    series = length**2 * (1 / 2 - z / 3 + z**2 / 8)
    closed = (1 - np.exp(-z) * (1 + z)) / np.where(rate > 0, rate, 1.0) ** 2
    return np.where(z < 1e-3, series, closed)


def _log_integral(slope: Floats, length: Floats) -> Floats:
    """The logarithm of the integral of exp(slope u) over [0, length]; -inf for length 0."""
    z = slope * length
    small = np.abs(z) < _NEAR_ZERO
    steep = np.abs(np.where(small, 1.0, slope))
    with np.errstate(divide="ignore"):
        closed = (
            np.maximum(z, 0.0) + np.log(-np.expm1(-np.abs(np.where(small, 1.0, z)))) - np.log(steep)
        )
        return np.asarray(np.where(small, np.log(length) + z / 2, closed))


def _integral(slope: NDArray[np.complex128], length: Floats) -> NDArray[np.complex128]:
    """The integral of exp(slope u) over [0, length], for slopes that are not 0."""
    return np.asarray(np.expm1(slope * length) / slope)


@dataclass(frozen=True)
class _NoisyCluster:
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

    clusters: tuple[_NoisyCluster, ...]
    step: float
    """The grid on which noise was drawn."""

    @classmethod
    def of(cls, shown: StatedNoise) -> PublishedNoise:
        """The noise that a release states."""
        return cls(tuple(map(_cluster, shown.clusters)), shown.step)


def _cluster(stated: Cluster) -> _NoisyCluster:
    known = stated.low is not None and stated.high is not None
    return _NoisyCluster(
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

    def distributions(self, noise: PublishedNoise, capacity: float) -> Distributions:
        """The distributions of the true values, which are within 0 and ``capacity``.

        Raises ``InputError``, with counts only, where a true value cannot be.
        """
        pieces = [
            piece
            for drawn, possible in zip(noise.clusters, self.drawn_in(noise), strict=True)
            for piece in _pieces(self, noise.clusters, drawn, possible, capacity)
        ]
        logs = np.stack([piece.log_weight for piece in pieces])
        top = logs.max(axis=0)
        lost = int(np.isneginf(top).sum())
        if lost:
            raise InputError(
                f"{lost:,} published values come from true ones beyond the capacity of a bin; give "
                "a larger capacity"
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
    clusters: Sequence[_NoisyCluster],
    drawn: _NoisyCluster,
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
    drawn: _NoisyCluster,
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
    drawn: _NoisyCluster,
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
