"""How far a release is from the original as a whole, and what columns say of each other; private.

Both parts compare the original with what its release shows: distributions of whole rows by their
divergences, and pairs of columns by how strongly they go together.

Divergences of distributions of whole rows
------------------------------------------
What it does: a cell is one combination of values of the compared columns; l and r are its rows in
the left table (the original) and in the right one (what was published).  Cells that stand in
neither table do not count, so that the space of all combinations is never built.

Sources: Kullback and Leibler, "On information and sufficiency" (1951); Lin, "Divergence measures
based on the Shannon entropy" (1991), eq. 4.1 with weights 1/2; the smoothing by alpha = 1/2 is that
of Krichevsky and Trofimov, "The performance of universal encoding" (1981).

Claim, with L and R the rows of both tables and U the cells that stand in either:

- Kullback-Leibler: sum of p ln(p / q) with p = (l + alpha) / (L + alpha U) and q likewise.  Without
  smoothing it is infinite as soon as one row of the original is not found in the release.
  Smoothing keeps it finite, 0 exactly where the distributions agree, and makes it depend on alpha:
  compare only values of one alpha.
- Jensen-Shannon: half the sum of p ln(p / m) and q ln(q / m) with p = l / L, q = r / R and m their
  mean.  Zero cells need no convention but 0 ln 0 = 0; it lies between 0 and ln 2.
- Total variation: half the sum of |p - q|, between 0 and 1: the share of rows that would have to
  become others.

All in nats.  Counts may be fractional, such as expected ones.

Algorithm: sums over the cells.  Parts of a table that have no cell in common add up, so that data
that does not fit in memory is read in parts, in any order.  Cost: O(c) for c cells.

Departures: none from the definitions; logarithms of the smoothed totals are taken out of the sum,
because U is only known behind the last part.

Table divergence
----------------
What it does: compares the joint distribution of all published columns in the original with that in
the release: Jensen-Shannon and total variation, and Kullback-Leibler with smoothing.

Source: the table divergence of "Privacy Preserving in Big Data Sets through Multiple Shuffle" (ACSW
2017), a Kullback-Leibler divergence of the whole table; formulas and their sources are
those above.

Claim: the distributions are those of whole rows: the share of the rows of the original, and of the
release, that show each combination of values in all columns of the original that are published (so
not in ``group``).  A combination that stands in one of the tables only needs no convention in
Jensen-Shannon and total variation; for Kullback-Leibler ``alpha`` rows are added to each one that
stands in either, and to no other.  A missing value is a value.

``useless`` is the value of a release that repeats no row of the original, and its own rows as often
as it does.  Where most rows of a table differ, whatever mixes columns comes near that, and the
divergence says little; that of pairs of columns says more.

Algorithm: rows of both tables are counted by their contents, in parts where there are many
(``table.alignment``).  Cost: O(n m) for n rows and m columns, for each part.

Departures: the paper does not say what becomes of combinations that one table lacks; if nothing is
added, its divergence is infinite as soon as one row of the original is not found again.

Distance of correlations
------------------------
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

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from itertools import combinations
from math import log
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from voile.table.alignment import paired_counts, rows_of
from voile.table.arrays import Frame, frame_of
from voile.utility.covering import (
    ColumnCovering,
    OriginalDomain,
    coverings,
    expectations,
    joint_expectations,
    sampling_weights,
)
from voile.utility.protocol import Comparison, Measurement
from voile_base.errors import InputError
from voile_base.ondemand import dataclass

__all__ = [
    "SMOOTHING",
    "CorrelationDistance",
    "DivergenceSums",
    "TableDivergence",
    "jensen_shannon",
    "kl_smoothed",
    "total_variation",
]

SMOOTHING = 0.5
"""The alpha of Krichevsky and Trofimov: half a row in each cell."""

Counts = NDArray[Any]


@dataclass(frozen=True)
class DivergenceSums:
    """What some of the cells of two tables add to their divergences; sums of parts add up."""

    left_cells: int
    """Cells with a row in the left table."""
    right_cells: int
    shared_cells: int
    """Cells with a row in both."""
    left: float
    """Rows of the left table in these cells."""
    right: float
    entropic: float
    """Sum of (l + alpha) ln((l + alpha) / (r + alpha))."""
    disjoint: float
    """The same if no cell of one table was one of the other."""
    mixed: float
    """Sum of p ln(p / m) + q ln(q / m)."""
    differing: float
    """Sum of |p - q|."""
    alpha: float = SMOOTHING

    @classmethod
    def of(
        cls,
        left: Counts,
        right: Counts,
        rows: tuple[float, float] | None = None,
        alpha: float = SMOOTHING,
    ) -> Self:
        """Sums over cells with these rows in both tables, shape (c,) each, none negative.

        ``rows`` are the rows of the whole tables; None where these cells are all there are.
        Raises ``ValueError`` unless alpha is above 0.
        """
        if not alpha > 0:
            msg = "smoothing adds more than 0 rows to each cell"
            raise ValueError(msg)
        seen = (left > 0) | (right > 0)
        shared = int(((left > 0) & (right > 0)).sum())
        left, right = left[seen].astype(np.float64), right[seen].astype(np.float64)
        total = rows or (float(left.sum()), float(right.sum()))
        p, q = left / max(total[0], 1e-300), right / max(total[1], 1e-300)
        smooth = left + alpha, right + alpha
        some = smooth[0][left > 0], smooth[1][right > 0]
        return cls(
            left_cells=len(some[0]),
            right_cells=len(some[1]),
            shared_cells=shared,
            left=float(left.sum()),
            right=float(right.sum()),
            entropic=float(smooth[0] @ np.log(smooth[0] / smooth[1])),
            disjoint=float(
                some[0] @ np.log(some[0] / alpha) - alpha * np.log(some[1] / alpha).sum()
            ),
            mixed=_terms(p, (p + q) / 2) + _terms(q, (p + q) / 2),
            differing=float(np.abs(p - q).sum()),
            alpha=alpha,
        )

    @classmethod
    def over(
        cls,
        parts: Iterable[tuple[Counts, Counts]],
        rows: tuple[float, float],
        alpha: float = SMOOTHING,
    ) -> Self:
        """Sums over all parts of two tables of so many rows; no cell stands in two parts."""
        nothing = np.zeros(0)
        total = cls.of(nothing, nothing, rows, alpha)
        for left, right in parts:
            total += cls.of(left, right, rows, alpha)
        return total

    def __add__(self, other: Self) -> Self:
        """The sums over the cells of both."""
        if self.alpha != other.alpha:
            msg = "sums with different smoothing cannot be added"
            raise ValueError(msg)
        names = [field.name for field in fields(self) if field.name != "alpha"]
        added = {name: getattr(self, name) + getattr(other, name) for name in names}
        return type(self)(**added, alpha=self.alpha)

    @property
    def cells(self) -> int:
        """Cells with a row in either table."""
        return self.left_cells + self.right_cells - self.shared_cells

    @property
    def kullback_leibler(self) -> float:
        """Smoothed divergence of the right table from the left one, in nats; at least 0."""
        return self._smoothed(self.entropic, self.cells)

    @property
    def kullback_leibler_of_disjoint(self) -> float:
        """What it would be if the tables had no cell in common, and the same rows in their own."""
        return self._smoothed(self.disjoint, self.left_cells + self.right_cells)

    @property
    def jensen_shannon(self) -> float:
        """Between 0 and ln 2, in nats."""
        return min(max(0.0, self.mixed / 2), float(np.log(2)))

    @property
    def total_variation(self) -> float:
        """Between 0 and 1."""
        return min(self.differing / 2, 1.0)

    def _smoothed(self, entropic: float, cells: int) -> float:
        left, right = (rows + self.alpha * cells for rows in (self.left, self.right))
        if not cells:
            return 0.0
        return max(0.0, entropic / left + float(np.log(right / left)))

    @staticmethod
    def of_tables(
        original: object,
        released: object,
        columns: Sequence[str],
        *,
        parts: int = 1,
        alpha: float = SMOOTHING,
    ) -> DivergenceSums:
        """The divergence of tables that need not fit in memory, over some columns; private.

        A table is a data frame, or the path of a file or folder, of which one part at a time is
        counted: Parquet and Arrow IPC files are read ``parts`` + 1 times and never held whole. Rows
        are compared by the values that they show.  Raises ``TableError`` where a column is not
        there or a file cannot be read.
        """
        counts = paired_counts(original, released, columns, parts)
        rows = rows_of(original, columns), rows_of(released, columns)
        return DivergenceSums.over(counts, rows, alpha)


def kl_smoothed(left: Counts, right: Counts, alpha: float = SMOOTHING) -> float:
    """Kullback-Leibler divergence of ``right`` from ``left`` over all their cells, in nats.

    Rows of each cell in both tables, shape (c,) each; ``alpha`` rows, more than 0, are added to
    each cell.
    """
    return DivergenceSums.of(left, right, alpha=alpha).kullback_leibler


def jensen_shannon(left: Counts, right: Counts) -> float:
    """Jensen-Shannon divergence over all cells, shape (c,) each, in nats: between 0 and ln 2."""
    return DivergenceSums.of(left, right).jensen_shannon


def total_variation(left: Counts, right: Counts) -> float:
    """Total variation distance over all cells, shape (c,) each: between 0 and 1."""
    return DivergenceSums.of(left, right).total_variation


def _terms(p: NDArray[np.float64], m: NDArray[np.float64]) -> float:
    """Sum of p ln(p / m), where 0 ln 0 is 0."""
    some = p > 0
    return float(p[some] @ np.log(p[some] / m[some]))


_TITLES = {
    "total-variation": "total variation",
    "jensen-shannon": "Jensen-Shannon divergence",
    "kullback-leibler": "Kullback-Leibler divergence",
}
_PART = 1 << 23
"""Rows of both tables that are counted at a time, about."""


@dataclass(frozen=True)
class TableDivergence:
    """Divergence of the joint distribution of all columns.

    Raises ``InputError`` unless alpha is above 0.
    """

    alpha: float = SMOOTHING
    """Rows added to each combination of values for Kullback-Leibler."""
    name: ClassVar[str] = "table-divergence"

    def __post_init__(self) -> None:
        if not self.alpha > 0:
            msg = "alpha must be above 0: without it one row that is not found makes it infinite"
            raise InputError(msg)

    def refusal(self, comparison: Comparison) -> str | None:
        """Rows are compared by plain values."""
        if not comparison.published.frame.height:
            return "the release has no rows"
        columns = coverings(comparison)
        if not columns:
            return "the release shows no column of the original"
        for name, covering in columns.items():
            if covering.noisy:
                return f"column {name!r} is published with noise, so that rows do not repeat"
            if int(covering.spread.covered.max()) > 1:
                return f"column {name!r} is generalized, so that rows show no single values"
        return None

    def measure(self, comparison: Comparison) -> Sequence[Measurement]:
        """Total variation, Jensen-Shannon in bits, Kullback-Leibler in nats."""
        if (reason := self.refusal(comparison)) is not None:
            raise InputError(reason)
        columns = coverings(comparison)
        original, released = _rows(columns)
        found = DivergenceSums.over(
            paired_counts(original, released, original.columns, 1 + 2 * original.height // _PART),
            (original.height, released.height),
            self.alpha,
        )
        notes = (
            f"over all of {len(columns)} columns; the original has {found.left_cells:,} different "
            f"rows and the release {found.right_cells:,}, of which {found.shared_cells:,} are the "
            "same",
        )
        return [
            self._measurement(
                "total-variation",
                "the share of rows that would have to become others for the release to have the "
                "rows of the original",
                (found.total_variation, 1.0),
                notes,
            ),
            self._measurement(
                "jensen-shannon",
                "how well a whole row tells whether it comes from the original or the release, in "
                "bits",
                (found.jensen_shannon / log(2), 1.0),
                notes,
            ),
            self._measurement(
                "kullback-leibler",
                "nats lost by expecting rows of the release where those of the original come, with "
                f"{self.alpha:g} rows added to each combination of values",
                (found.kullback_leibler, found.kullback_leibler_of_disjoint),
                notes,
            ),
        ]

    @staticmethod
    def _measurement(
        kind: str, meaning: str, values: tuple[float, float], notes: tuple[str, ...]
    ) -> Measurement:
        """One divergence, from its value and that of a release with other rows only."""
        value, useless = values
        return Measurement(
            measure=f"table-{kind}",
            title=f"Table {_TITLES[kind]}",
            value=value,
            better="lower",
            meaning=meaning,
            untouched=0.0,
            useless=useless,
            notes=notes,
        )


def _rows(columns: Mapping[str, ColumnCovering]) -> tuple[Frame, Frame]:
    """The rows of the original and of the release, each value as its index in the original."""
    original = {name: covering.own for name, covering in columns.items()}
    released = {
        name: covering.spread.order[covering.spread.start][covering.entry]
        for name, covering in columns.items()
    }
    return frame_of(original), frame_of(released)


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
