"""Averaging noise: what several releases tell of a number that each shows with noise drawn anew.

What it does: of people who are known by other columns, takes in each release the rows that fit, and
finds how likely they are to show what they do for every number that the person may have.  What the
releases say is multiplied.  Where one row fits in each, that is to average its noise: the error of
n releases is that of one over the square root of n.

Source: Bayes' rule with the distribution of the noise, as ``disclosure.noise`` has it.

Adversary: knows the method with its parameters, and which numbers are possible; before looking he
takes all of these for equally likely.  They are so many, evenly spaced between the public bounds or
between the extremes of the column.  His guess is the median of what he then believes.

Cost: O((t + v) n) for t targets, v possible numbers and n rows of each release.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voile.attack.posterior import plain_weights
from voile.attack.wanted import with_texts
from voile.release.reading.rows import floats_of
from voile.release.reading.sightings import People, PublishedRows, Sightings
from voile.release.release import Release
from voile.table.arrays import frame_of
from voile_base.ondemand import on_demand

__all__ = ["Averaged", "averaged", "is_noisy"]

sparse = on_demand("scipy.sparse")

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

_NUMBERS = 1001
"""That are possible."""


@dataclass(frozen=True, eq=False)
class Averaged:
    """What he guesses of t targets; private."""

    alone: Floats
    """Shape (t,): his guess by the newest release."""
    together: Floats
    """Shape (t,): by all releases."""
    own: Floats
    """Shape (t,): the true numbers."""
    near: Floats
    """Shape (t,): how probable he finds a number that is as near to the own as ``distance``."""
    distance: float
    baseline: float
    """How often the best guess for all alike is as near."""
    fits: NDArray[np.bool_]
    """Shape (t,): of whom a row of the newest release shows anything."""


def is_noisy(release: Release, column: str) -> bool:
    """Whether a release shows a column with noise."""
    shown = release.disclosure.columns.get(column)
    return shown is not None and shown.noise is not None


def averaged(
    releases: Sequence[Release],
    column: str,
    people: People,
    columns: Sequence[str],
    targets: Codes,
    distance: float | None = None,
) -> Averaged:
    """Guess a column of some rows of the original, the newest of the releases first.

    ``columns`` are known; ``distance`` is how near a guess must be, by default the half-width of
    the narrowest interval of the newest release.  Raises as reading releases does.
    """
    values = floats_of(people.column(column))
    possible = _possible(people, column, values)
    beliefs = np.zeros((len(targets), len(possible)))
    alone, fits = beliefs, np.zeros(len(targets), np.bool_)
    for i, release in enumerate(releases):
        known = [name for name in columns if name in release.disclosure.columns]
        told = _likelihood(release, column, people, known, targets, possible)
        seen = told.max(axis=1) > 0
        told[~seen] = 1.0
        beliefs = beliefs + np.log(np.maximum(told, np.finfo(float).tiny))
        if i == 0:
            alone, fits = beliefs, seen
    noise = releases[0].disclosure.columns[column].noise
    assert noise is not None
    reach = min((c.half_width for c in noise.clusters if c.half_width > 0), default=0.0)
    near = reach if distance is None else distance
    own = values[targets]
    shares = _shares(beliefs)
    within = np.abs(possible - own[:, np.newaxis]) <= near
    return Averaged(
        alone=_medians(_shares(alone), possible),
        together=_medians(shares, possible),
        own=own,
        near=(shares * within).sum(axis=1),
        distance=near,
        baseline=_best_for_all(values[np.isfinite(values)], near),
        fits=fits,
    )


def _possible(people: People, column: str, values: Floats) -> Floats:
    """The numbers that a person may have, ascending."""
    bounds = people.described(column).bounds
    there = values[np.isfinite(values)]
    low, high = bounds if bounds is not None else (there.min(), there.max())
    return np.linspace(float(low), float(high), _NUMBERS)


def _likelihood(
    release: Release,
    column: str,
    people: People,
    known: Sequence[str],
    targets: Codes,
    possible: Floats,
) -> Floats:
    """How likely a release is for each number of each target, up to a factor, shape (t, v)."""
    published = with_texts(PublishedRows.of(release), column)
    by_others = Sightings.of(published, people, known, targets)
    asked = People(frame_of({column: possible}), people.plan)
    by_noise = Sightings.of(published, asked, [column], np.arange(len(possible)))
    rows = sparse.coo_array(
        (np.ones(len(by_others.place)), (by_others.place, by_noise.place)),
        shape=(len(by_others.rows), len(by_noise.rows)),
    ).tocsr()
    of_noise = np.concatenate([part for _, part in plain_weights(by_noise, len(possible))])
    found = np.empty((len(targets), len(possible)))
    for chunk, fitting in plain_weights(by_others, len(targets)):
        found[chunk] = (rows.T @ fitting.T).T @ of_noise.T
    return found


def _shares(beliefs: Floats) -> Floats:
    """Logarithms as shares of 1 of each row."""
    shares = np.exp(beliefs - beliefs.max(axis=1, keepdims=True))
    normal: Floats = shares / shares.sum(axis=1, keepdims=True)
    return normal


def _medians(shares: Floats, possible: Floats) -> Floats:
    place = (np.cumsum(shares, axis=1) < 0.5).sum(axis=1)
    median: Floats = possible[np.minimum(place, len(possible) - 1)]
    return median


def _best_for_all(values: Floats, distance: float) -> float:
    """The share of the values that the best interval of this reach to either side holds."""
    ordered = np.sort(values)
    stop = np.searchsorted(ordered, ordered + 2 * distance, side="right")
    return float((stop - np.arange(len(ordered))).max() / len(ordered))
