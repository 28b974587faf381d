"""The privacy loss of one report: planar Laplace noise, and Laplace noise on a distance.

A report of a place is compared with one of a place ``reach`` / epsilon metres away: P and Q are the
distributions of what is published, and the loss is L = ln(dP / dQ) where P holds.

Planar Laplace noise.  In elliptic coordinates around the two places, L = reach sin(phi), and with
z = reach / 2 and the Bessel functions I and K

    P(d phi) = (1 / pi) e^(z sin phi) (z K_1(z) + z^2 K_0(z) cos^2 phi) d phi,  |phi| <= pi / 2,
    E_P e^(t L) = z K_1(z) I_0(y) + z^2 K_0(z) I_1(y) / y,  y = (1 + 2 t) z.

(With s = |x| + |x - d| and L = |x - d| - |x| the element of area is (s^2 - L^2) / (4 sqrt((s^2 -
d^2)(d^2 - L^2))) ds dL on either side, and the integral over s is K_0 and K_1.  At t = 0 the second
line is z times the Wronskian of I and K, which is 1 / z.)

Laplace noise: L = reach with probability 1 / 2, -reach with e^(-reach) / 2, and between the two it
has the density e^((L - reach) / 2) / 4.

Worst neighbours.  A smaller reach never loses more: for noise with a log-concave density g and a
shift t along a line, ln g(u) - ln g(u - t) falls with u on each line, so that the best event on it
is a half-line {u < c}, and its advantage G(c) - k G(c - t) rises with t, for every k >= 0.  So the
pair (P, Q) dominates those of all places that are nearer, in any direction, and of less epsilon;
and products of dominating pairs dominate compositions, adaptive ones too (Zhu, Dong and Wang,
"Optimal accounting of differential privacy via characteristic function", 2022).  Mirrored, P is Q:
the order of neighbours does not matter.

On a grid.  ``masses`` moves the mass between two points of a grid of losses onto the two, keeping
that of P and that of Q.  The pair that results dominates (P, Q): its curve of delta over e^epsilon
is the chord of a convex one ("connect the dots": Doroshenko, Ghazi, Kamath, Kumar and Manurangsi,
2022).  Integrals are by Gauss and Legendre over arcs of at most pi / 16; the integrand is entire
and at most e^(2 reach cosh 1) within 1 of an arc, so that 20 points are off by less than
10^-45 e^(3.1 reach), beneath rounding for every reach up to ``LARGEST_REACH``.

Cost: 20 evaluations for each cell of the grid.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from voile_base.ondemand import on_demand
from voile_geo.geodesy import Floats

__all__ = ["LARGEST_REACH", "LossDistribution", "Masses", "Noise", "log_moment", "masses"]

special = on_demand("scipy.special")

LARGEST_REACH = 20.0
"""Above which a report is priced by its largest loss alone."""
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)
_ARC = math.pi / 16


Noise = Literal["planar-laplace", "laplace"]


@dataclass(frozen=True, order=True)
class LossDistribution:
    """What is known of the loss of one report."""

    noise: Noise
    reach: float
    """The largest loss: epsilon per metre, times the metres between neighbours; above 0."""


class Masses(NamedTuple):
    """A distribution on the points of a grid, (first + i) step for i = 0, 1, ..., under P."""

    first: int
    mass: Floats


def log_moment(distribution: LossDistribution, order: Floats) -> Floats:
    """The logarithm of E_P e^(order L), of any shape; at order 0 and at -1 it is 0."""
    order = np.asarray(order, dtype=np.float64)
    if distribution.noise == "laplace":
        return np.asarray(_log_moment_on_a_line(distribution.reach, order))
    z = distribution.reach / 2
    y = np.abs(1 + 2 * order) * z
    # e^-y I_1(y) / y is 1/2 at 0.
    ratio = np.where(y > 0, special.ive(1, y) / np.where(y > 0, y, 1.0), 0.5)
    inside = z * special.kve(1, z) * special.ive(0, y) + z * z * special.kve(0, z) * ratio
    return np.asarray(np.log(inside) + y - z)


def _log_moment_on_a_line(reach: float, order: Floats) -> Floats:
    ends = np.logaddexp(order * reach, -(1 + order) * reach) - math.log(2)
    rate = np.abs(order + 0.5)
    # The integral of e^((order + 1/2) l - reach / 2) / 4 between -reach and reach.
    size = np.where(rate > 0, -np.expm1(-2 * rate * reach) / np.where(rate > 0, 2 * rate, 1), reach)
    between = rate * reach - reach / 2 + np.log(size / 2)
    return np.asarray(np.logaddexp(ends, between))


def masses(distribution: LossDistribution, step: float) -> Masses:
    """The distribution on a grid of losses ``step`` apart, pessimistically: what dominates it."""
    first = math.floor(-distribution.reach / step)
    last = max(math.ceil(distribution.reach / step), first + 1)
    grid = np.zeros(last - first + 1)
    losses, weights = (
        _line(distribution, step) if distribution.noise == "laplace" else _arcs(distribution, step)
    )
    cell = np.clip(np.floor(losses / step).astype(np.int64), first, last - 1)
    # What goes to the upper point, so that E_P[1] and E_P[e^-L] = E_Q[1] stay.
    upper = np.clip(np.expm1(-(losses - cell * step)) / math.expm1(-step), 0.0, 1.0)
    np.add.at(grid, cell - first, weights * (1 - upper))
    np.add.at(grid, cell - first + 1, weights * upper)
    return Masses(first, grid)


def _arcs(distribution: LossDistribution, step: float) -> tuple[Floats, Floats]:
    """Losses and their weights, whose sums are integrals over each cell of the grid."""
    reach, z = distribution.reach, distribution.reach / 2
    inner = np.arange(math.ceil(-reach / step), math.floor(reach / step) + 1) * step
    ends = np.concatenate(([-math.pi / 2], np.arcsin(np.clip(inner / reach, -1, 1)), [math.pi / 2]))
    ends = np.unique(np.concatenate((ends, np.arange(-8, 9) * _ARC)))
    half, middle = np.diff(ends) / 2, (ends[1:] + ends[:-1]) / 2
    phi = middle[:, np.newaxis] + half[:, np.newaxis] * _NODES
    sine, square = np.sin(phi), np.cos(phi) ** 2
    # kve is K e^z, so that the exponents cannot overflow.
    density = np.exp(z * sine - z) * (z * special.kve(1, z) + z * z * special.kve(0, z) * square)
    weights = density / math.pi * half[:, np.newaxis] * _WEIGHTS
    return (reach * sine).ravel(), weights.ravel()


def _line(distribution: LossDistribution, step: float) -> tuple[Floats, Floats]:
    """The same of Laplace noise on a line, with its two ends."""
    reach = distribution.reach
    inner = np.arange(math.ceil(-reach / step), math.floor(reach / step) + 1) * step
    ends = np.unique(np.concatenate(([-reach], np.clip(inner, -reach, reach), [reach])))
    half, middle = np.diff(ends) / 2, (ends[1:] + ends[:-1]) / 2
    losses = middle[:, np.newaxis] + half[:, np.newaxis] * _NODES
    weights = np.exp((losses - reach) / 2) / 4 * half[:, np.newaxis] * _WEIGHTS
    at_ends = np.array([math.exp(-reach) / 2, 0.5])
    return np.append(losses.ravel(), [-reach, reach]), np.append(weights.ravel(), at_ends)
