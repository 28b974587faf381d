"""Correlation distance: how much of what columns say of each other a release keeps; private.

What it does: for each pair of published columns, one coefficient of association in the original
and one in the release, and the mean of their absolute differences over all pairs.

Source: the coefficients are those of ``association``, with their sources; comparing matrices of
correlations before and after is usual for masked microdata (Domingo-Ferrer and Torra,
"Disclosure control methods and information loss for microdata", 2001, section 5.2).

Claim: the coefficients of the release are those of the values that rows show when each entry is
spread over what it stands for, independently of the other entries of its row (``covering``).  What
ties columns inside of entries is lost: Pearson's r is that of the expectations times the root of
the share of its variance that each column has between its entries, and the other coefficients
shrink likewise.  (That of midpoints alone would not shrink, and would rise with the size of groups:
an average hides what differs.)  Rows that show nothing have no association, so that ``useless`` is
the mean coefficient of the original, without its sign.  A release can be worse than that: it may
show associations that are not there.

Algorithm: sums over pairs of entries, see ``association``.  Cost: O(n) a pair of columns, and the
square of the number of texts.

Departures: columns of texts with more than ``most_texts`` values are left out (names, codes): they
are associated with everything, and no one reads that from a coefficient.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from voile.utility.association import ColumnFeatures, association
from voile.utility.covering import Covering, coverings
from voile.utility.domain import Domain
from voile.utility.expectation import expectations
from voile.utility.measurement import Measurement
from voile.utility.protocol import Comparison

__all__ = ["CorrelationDistance"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class CorrelationDistance:
    """Mean absolute difference of the associations of all pairs of columns."""

    most_texts: int = 200
    """Columns of texts with more distinct values in the original are left out."""
    name: ClassVar[str] = "correlation-distance"

    def refusal(self, comparison: Comparison) -> str | None:
        """Pairs need two columns."""
        if len(self._compared(comparison)[0]) < 2:
            return "fewer than two of the published columns can be associated with others"
        return None

    def measure(self, comparison: Comparison) -> Sequence[Measurement]:
        """The distance, with each pair as a part."""
        compared, left_out = self._compared(comparison)
        before = {name: _original(covering.domain) for name, covering in compared.items()}
        after = {name: _released(covering) for name, covering in compared.items()}
        pairs = list(combinations(compared, 2))
        original = np.array([association(before[a], before[b]) for a, b in pairs])
        released = np.array([association(after[a], after[b]) for a, b in pairs])
        apart = np.abs(original - released)
        notes = [
            f"column {name!r} is left out: it has more than {self.most_texts} different texts"
            for name in left_out
        ]
        return [
            Measurement(
                measure=self.name,
                title="Correlation distance",
                value=float(apart.mean()),
                better="lower",
                meaning=(
                    "the mean absolute difference, over all pairs of columns, between their "
                    "association in the original and in the release"
                ),
                untouched=0.0,
                useless=float(np.abs(original).mean()),
                parts={f"{a}, {b}": float(d) for (a, b), d in zip(pairs, apart, strict=True)},
                notes=tuple(notes),
            )
        ]

    def _compared(self, comparison: Comparison) -> tuple[dict[str, Covering], list[str]]:
        """Published columns of numbers or of few texts, and names of those with many."""
        found = coverings(comparison)
        many = [name for name, covering in found.items() if self._is_name(covering.domain)]
        return {name: found[name] for name in found if name not in many}, many

    def _is_name(self, domain: Domain) -> bool:
        return domain.points is None and len(domain) > self.most_texts


def _original(domain: Domain) -> ColumnFeatures:
    """A column of the original: each value is an entry of its own."""
    return ColumnFeatures(domain.points is not None, _features(domain), domain.column.codes)


def _released(covering: Covering) -> ColumnFeatures:
    """A column of the release, each entry spread over what it stands for."""
    features = expectations(covering.spread, _features(covering.domain))
    return ColumnFeatures(covering.domain.points is not None, features, covering.entry)


def _features(domain: Domain) -> Floats:
    """For each of d values: which text it is, (d, d); or 1, x and x^2, (d, 3), 0 if missing.

    Numbers are taken in units of their own standard deviation, from their own mean, because no
    coefficient depends on units and powers of large numbers would.
    """
    points = domain.points
    if points is None:
        return np.eye(len(domain))
    known = ~np.isnan(points)
    rows = np.where(known, domain.rows, 0)
    centred = np.where(known, points, 0.0)
    if rows.sum():
        centred = np.where(known, points - np.average(centred, weights=rows), 0.0)
        spread = np.sqrt(np.average(centred**2, weights=rows))
        centred = centred / spread if spread > 0 else centred
    return np.column_stack([known.astype(np.float64), centred, centred**2])
