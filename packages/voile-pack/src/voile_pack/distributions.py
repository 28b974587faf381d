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
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from voile_base.errors import InputError

__all__ = ["Distributions", "Floats"]

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
