"""How strongly two columns go together: one number from 0 to 1 for each kind of pair.

Sources:

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

Cost: O(n + e f) a pair for n rows, e different pairs of entries and f features; O(f f') numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array

__all__ = ["ColumnFeatures", "association", "correlation_ratio", "cramers_v", "pearson"]

Floats = NDArray[np.float64]

_NOTHING = 1e-12
"""Shares of a variance below this are rounding."""


@dataclass(frozen=True, eq=False)
class ColumnFeatures:
    """What the n rows of a table show of one column, whose rows have g different entries."""

    numeric: bool
    features: Floats
    """Shape (g, texts), or (g, 3) for numbers: probability, expectation and expected square."""
    entry: NDArray[np.integer]
    """Shape (n,)."""


def association(left: ColumnFeatures, right: ColumnFeatures) -> float:
    """The coefficient for two columns of one table; from 0 to 1, or -1 to 1 for two numbers."""
    if left.numeric and not right.numeric:
        return association(right, left)
    joint = _joint(left, right)
    if left.numeric:
        return pearson(joint)
    return correlation_ratio(joint) if right.numeric else cramers_v(joint)


def pearson(moments: Floats) -> float:
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


def correlation_ratio(sums: Floats) -> float:
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


def cramers_v(table: Floats) -> float:
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


def _joint(left: ColumnFeatures, right: ColumnFeatures) -> Floats:
    """Sum over the rows of the products of the features of both columns."""
    pairs = coo_array(
        (np.ones(len(left.entry)), (left.entry, right.entry)),
        shape=(len(left.features), len(right.features)),
    ).tocsr()
    joint: Floats = left.features.T @ (pairs @ right.features)
    return joint
