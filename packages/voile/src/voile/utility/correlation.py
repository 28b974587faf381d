"""Correlation distance: how much of what columns say of each other a release keeps; private.

What it does: for each pair of published columns, one coefficient of association in the original
and one in the release, and the mean of their absolute differences over all pairs.

Source: comparing matrices of
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

Departures: columns of texts with more than ``most_texts`` values are left out (names, codes): they
are associated with everything, and no one reads that from a coefficient.

How strongly two columns go together is one number from 0 to 1 for each kind of pair:

- number and number: Pearson's coefficient of correlation r, with its sign;
- text and text: Cramer's V with the correction of Bergsma, "A bias-correction for Cramer's V and
  Tschuprow's T" (Journal of the Korean Statistical Society 42, 2013): without it, two columns of
  many values that have nothing to do with each other look associated.  With phi2 = chi2 / n of an
  r by c table, V = sqrt(max(0, phi2 - (r - 1)(c - 1) / (n - 1)) / min(r' - 1, c' - 1)), where
  r' = r - (r - 1)^2 / (n - 1), and c' likewise;
- text and number: the correlation ratio eta (Fisher, "Statistical methods for research workers",
  1925): the root of the share of the number's variance that lies between the texts.

A column of one value has no association: 0.  Rows where a number is missing are left out of its
pairs; a missing text is a text like any other.

Algorithm: every column is a matrix of features, a row for each of its g entries: the probability of
each text, or the probability that there is a number, its expectation and that of its square.  All
three coefficients are functions of the product of the features of two columns, summed over the rows
of the table: a table of expected counts, or sums of the number by text, or the moments of both.

Where the plan names sampling weights that the release shows, rows count by them, a mean of 1 each.

Cost: O(n + e f) a pair for n rows, e different pairs of entries and f features; O(f f') numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from voile.utility.covering import (
    ColumnCovering,
    OriginalDomain,
    coverings,
    expectations,
    joint_expectations,
    sampling_weights,
)
from voile.utility.protocol import Comparison, Measurement

__all__ = ["CorrelationDistance"]

Floats = NDArray[np.float64]

_NOTHING = 1e-12
"""Shares of a variance below this are rounding."""


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
        weights = sampling_weights(comparison) or (None, None)
        of, to = (None if side is None else side / side.mean() for side in weights)
        before = {name: _original(covering.domain, of) for name, covering in compared.items()}
        after = {name: _released(covering, to) for name, covering in compared.items()}
        pairs = list(combinations(compared, 2))
        original = np.array([_association(before[a], before[b]) for a, b in pairs])
        released = np.array([_association(after[a], after[b]) for a, b in pairs])
        apart = np.abs(original - released)
        notes = [
            f"column {name!r} is left out: it has more than {self.most_texts} different texts"
            for name in left_out
        ]
        notes += [] if of is None else ["rows count by their sampling weights"]
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

    def _compared(self, comparison: Comparison) -> tuple[dict[str, ColumnCovering], list[str]]:
        """Published columns of numbers or of few texts, and names of those with many."""
        found = coverings(comparison)
        many = [name for name, covering in found.items() if self._is_name(covering.domain)]
        return {name: found[name] for name in found if name not in many}, many

    def _is_name(self, domain: OriginalDomain) -> bool:
        return domain.points is None and len(domain) > self.most_texts


def _original(domain: OriginalDomain, weight: Floats | None) -> _ColumnFeatures:
    """A column of the original: each value is an entry of its own."""
    numeric = domain.points is not None
    return _ColumnFeatures(numeric, _features(domain), domain.column.codes, weight)


def _released(covering: ColumnCovering, weight: Floats | None) -> _ColumnFeatures:
    """A column of the release, each entry spread over what it stands for."""
    features = expectations(covering.spread, _features(covering.domain))
    return _ColumnFeatures(covering.domain.points is not None, features, covering.entry, weight)


def _features(domain: OriginalDomain) -> Floats:
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


@dataclass(frozen=True, eq=False)
class _ColumnFeatures:
    """What the n rows of a table show of one column, whose rows have g different entries."""

    numeric: bool
    features: Floats
    """Shape (g, texts), or (g, 3) for numbers: probability, expectation and expected square."""
    entry: NDArray[np.integer]
    """Shape (n,)."""
    weight: Floats | None = None
    """Shape (n,), of each row; None: 1 each."""


def _association(left: _ColumnFeatures, right: _ColumnFeatures) -> float:
    """The coefficient for two columns of one table; from 0 to 1, or -1 to 1 for two numbers."""
    if left.numeric and not right.numeric:
        return _association(right, left)
    one, other = (left.features, left.entry), (right.features, right.entry)
    joint = joint_expectations(one, other, left.weight)
    if left.numeric:
        return _pearson(joint)
    return _correlation_ratio(joint) if right.numeric else _cramers_v(joint)


def _pearson(moments: Floats) -> float:
    """Coefficient of correlation, from sums of x^i y^j over rows, shape (3, 3)."""
    rows = moments[0, 0]
    if rows <= 0:
        return 0.0
    x, y, square_x, square_y = (moments[index] / rows for index in ((1, 0), (0, 1), (2, 0), (0, 2)))
    variance = square_x - x * x, square_y - y * y
    if variance[0] <= _NOTHING * square_x or variance[1] <= _NOTHING * square_y:
        return 0.0
    covariance = moments[1, 1] / rows - x * y
    return float(np.clip(covariance / np.sqrt(variance[0] * variance[1]), -1, 1))


def _correlation_ratio(sums: Floats) -> float:
    """Eta, from rows, sum and sum of squares of the number for each of c texts, shape (c, 3)."""
    some = sums[sums[:, 0] > 0]
    rows, total, squares = some.sum(axis=0) if len(some) else np.zeros(3)
    if rows <= 0:
        return 0.0
    whole = squares - total * total / rows
    if whole <= _NOTHING * squares:
        return 0.0
    between = (some[:, 1] ** 2 / some[:, 0]).sum() - total * total / rows
    return float(np.sqrt(np.clip(between / whole, 0, 1)))


def _cramers_v(table: Floats) -> float:
    """Bias-corrected Cramer's V of a table of counts, which may be expected ones, shape (r, c)."""
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    rows, (r, c) = table.sum(), table.shape
    if rows <= 1 or min(r, c) < 2:
        return 0.0
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / rows
    phi2 = ((table - expected) ** 2 / expected).sum() / rows
    excess = max(0.0, phi2 - (r - 1) * (c - 1) / (rows - 1))
    least = min(size - 1 - (size - 1) ** 2 / (rows - 1) for size in (r, c))
    return float(min(1.0, np.sqrt(excess / least))) if least > 0 else 0.0
