"""A Gaussian random field over the earth, drawn from a key: the same value at the same place.

The distribution: two independent stationary Gaussian fields, noise to the east and to the north,
with variance 1 and the covariance ``kernel`` of places r metres apart, which is e^(-r / length) but
for an error that is known (``kernel``).  A value is a function of the key and the place alone: it
can be asked for at any place, in any order, on any day and on any machine, and no history is kept.

How it is sampled: turning bands (Matheron 1973; Mantoglou and Wilson 1982).  The field is the sum
of ``BANDS`` independent processes on lines through the earth's centre, each read where the place
projects to, over sqrt(``BANDS``).  For lines in all directions of space a process of covariance
(1 - |t|) e^(-|t|) gives e^(-r).  That process is the velocity of a Matern process of smoothness
3/2, which with its position is Markov; so each line is drawn by halving: states at nodes 32 lengths
apart, taken for independent (their correlation is 4e-13), then the state in the middle of two given
both, down to nodes length / 256 apart, each from a block of bits that the key has for that node.
Places are rounded to these nodes.

Why so, and not otherwise.  Given the key's uniform bits the finite-dimensional distribution is
Gaussian and known exactly, for the lines are fixed and public: an accountant and an adversary can
compute with it.  Random Fourier features as expensive (4,096) miss the covariance by .03 to .06 in
a way that depends on the key, and have finite rank: who knows noise at some thousands of places
knows the frequencies, and then the noise everywhere.  Here the error is at most .005 within one
length and .025 beyond, and the rank is that of the lattice.  Circulant embedding is exact, and
needs a table of the whole region for each key.  Conditioning on all earlier draws is exact and
needs a history of true places, which is the secret itself.

What its repetition gives away, exactly: two reports with the same noise were at the same place, and
who knows the true place of one knows that of all others there.  The kernel has a kink at 0, so that
noise 100 m further is off by .43 deviations: a smooth one would show the shape of the path.

Cost: some 100 microseconds a place: 2 ``BANDS`` (15) blocks of AES and as many pairs of normals.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from voile.compiled import njit
from voile.dp.planar.steps import normal_pair
from voile.geodesy import Floats, cartesian
from voile.randomness import Key

__all__ = ["BANDS", "RESOLUTION", "bands", "field_at", "kernel", "nodes_of"]

BANDS = 128
RESOLUTION = 256
"""Nodes of a line to a length."""
_LEVELS = 13
_APART = (1 << _LEVELS) // RESOLUTION
"""Lengths between nodes whose states are independent."""
_PART = 64
"""Places whose blocks stay in the processor's cache, more or less."""
_AXES = 2
_GOLDEN = (math.sqrt(5) - 1) / 2

Nodes = NDArray[np.int64]


@lru_cache(maxsize=1)
def bands() -> Floats:
    """Unit vectors along the lines, shape (``BANDS``, 3): Fibonacci's lattice on a half-sphere."""
    place = np.arange(BANDS) + 0.5
    height, turn = place / BANDS, 2 * math.pi * _GOLDEN * place
    radius = np.sqrt(1 - height * height)
    return np.stack((radius * np.cos(turn), radius * np.sin(turn), height), axis=1)


def kernel(east: Floats, north: Floats, latitude: float, longitude: float, length: float) -> Floats:
    """The covariance of places some metres apart around a position, before rounding; shape (n,).

    It differs from e^(-r / length) by at most .005 within one length and by .025 further away.
    """
    phi, turn = math.radians(latitude), math.radians(longitude)
    to_east = np.array([-math.sin(turn), math.cos(turn), 0.0])
    to_north = np.array(
        [-math.sin(phi) * math.cos(turn), -math.sin(phi) * math.sin(turn), math.cos(phi)]
    )
    step = np.outer(east, to_east) + np.outer(north, to_north)
    along = np.abs(step @ bands().T) / length
    return np.asarray(((1 - along) * np.exp(-along)).mean(axis=1))


def field_at(latitude: Floats, longitude: Floats, length: float, key: Key) -> Floats:
    """The field of a key at n places in degrees: noise east and north, standardized; (n, 2)."""
    drawn = np.empty((len(latitude), _AXES))
    nodes = nodes_of(latitude, longitude, length)
    for first in range(0, len(nodes), _PART):
        part = nodes[first : first + _PART]
        words = key.blocks(_tags(len(part)), _asked(part))
        _descend(part, words, *_bridges(), drawn[first : first + _PART])
    return drawn


def nodes_of(latitude: Floats, longitude: Floats, length: float) -> Nodes:
    """The node on each line to which n places are rounded, shape (n, ``BANDS``)."""
    scale = RESOLUTION / length
    return np.rint(cartesian(latitude, longitude) @ bands().T * scale).astype(np.int64)


@lru_cache(maxsize=2)
def _tags(places: int) -> NDArray[np.uint64]:
    """What tells blocks of some places apart beside their nodes: axis, line and level.

    Of each place, axis and line the two outermost nodes, and then that in the middle at each level.
    """
    levels = np.maximum(np.arange(_LEVELS + 2) - 1, 0)
    lines = np.arange(BANDS)[:, np.newaxis] << 8
    tags = (np.arange(_AXES)[:, np.newaxis, np.newaxis] << 16) + lines + levels
    return np.tile(tags.ravel(), places).astype(np.uint64)


@njit(cache=True, nogil=True)
def _asked(nodes):  # type: ignore[no-untyped-def]
    """The nodes that are drawn for each place, axis and line, in the order of ``_tags``."""
    asked = np.empty(len(nodes) * _AXES * BANDS * (_LEVELS + 2), dtype=np.uint64)
    at = 0
    for i in range(len(nodes)):
        for _ in range(_AXES):
            for band in range(BANDS):
                node = nodes[i, band]
                asked[at] = np.uint64(node >> _LEVELS)
                asked[at + 1] = np.uint64((node >> _LEVELS) + 1)
                for level in range(_LEVELS):
                    asked[at + 2 + level] = np.uint64(2 * (node >> (_LEVELS - level)) + 1)
                at += _LEVELS + 2
    return asked


@lru_cache(maxsize=1)
def _bridges() -> tuple[Floats, Floats, Floats]:
    """For each level, the state in the middle given both ends.

    Weights of the left and of the right end, and a root of the covariance; shape (levels, 2, 2).
    """
    left, right, root = (np.empty((_LEVELS, 2, 2)) for _ in range(3))
    for level in range(_LEVELS):
        step, noise = _transition(_APART / 2 ** (level + 1))
        precise = np.linalg.inv(noise)
        covariance = np.linalg.inv(precise + step.T @ precise @ step)
        left[level] = covariance @ precise @ step
        right[level] = covariance @ step.T @ precise
        root[level] = np.linalg.cholesky(covariance)
    return left, right, root


def _transition(far: float) -> tuple[Floats, Floats]:
    """How position and velocity go on over so many lengths: the matrix, and what is new.

    Both have variance 1 and are independent at one point.
    """
    fades, twice = math.exp(-far), math.exp(-2 * far)
    step = fades * np.array([[1 + far, far], [-far, 1 - far]])
    both = 2 * far * far * twice
    # 1 - e^(-2 h) (1 + 2 h + 2 h^2), written so that little is lost where h is small.
    place = -math.expm1(-2 * far) - twice * (2 * far + 2 * far * far)
    speed = -math.expm1(-2 * far) + twice * (2 * far - 2 * far * far)
    return step, np.array([[place, both], [both, speed]])


@njit(cache=True, nogil=True, error_model="numpy")
def _descend(nodes, words, left, right, root, found):  # type: ignore[no-untyped-def]
    """What the lines add up to at each place on each axis: (n, axes).

    ``words`` are the blocks of bits, in the order of ``_tags``.
    """
    bridges, at = (left, right, root), 0
    drawn = np.empty((_LEVELS + 2, 2))
    for i in range(len(nodes)):
        for axis in range(found.shape[1]):
            total = 0.0
            for band in range(nodes.shape[1]):
                for k in range(len(drawn)):
                    drawn[k, 0], drawn[k, 1] = normal_pair(words[at, 0], words[at, 1])
                    at += 1
                total += _velocity(nodes[i, band], drawn, bridges)
            found[i, axis] = total / math.sqrt(nodes.shape[1])


@njit(cache=True, nogil=True, error_model="numpy")
def _velocity(node, drawn, bridges):  # type: ignore[no-untyped-def]
    """Halve the interval around a node down to it; the velocity there.

    ``drawn`` are standard normal pairs, of both ends and of the middle at each level.
    """
    left, right, root = bridges
    levels = len(left)
    x, u = drawn[0]
    y, v = drawn[1]
    for level in range(levels):
        a, b, c = left[level], right[level], root[level]
        p, q = drawn[level + 2]
        place = a[0, 0] * x + a[0, 1] * u + b[0, 0] * y + b[0, 1] * v + c[0, 0] * p
        speed = (
            a[1, 0] * x + a[1, 1] * u + b[1, 0] * y + b[1, 1] * v + c[1, 0] * p + c[1, 1] * q
        )  # fmt: skip
        if (node >> (levels - level - 1)) & 1:
            x, u = place, speed
        else:
            y, v = place, speed
    return u
