r"""Measures that statistics offices read of masked survey microdata; private.

Each row of a release is taken for what its cells stand for on average (``covering``): numbers for
their expectation, texts for their probabilities.  Where the plan names sampling weights and the
release shows that column as it is, rows count by their weights.

**IL1s**, Mateo-Sanz, Domingo-Ferrer and Sebe, "Probabilistic information loss measures in
confidentiality protection of continuous microdata" (DMKD 2005), and Yancey, Winkler and Creecy
(2002): the mean of |x - x'| / (sqrt(2) s) over rows and columns of numbers, s being a column's
standard deviation.  Rows are paired by the columns that are shown exactly; among rows that agree in
these, by the order of the numbers, which is the least that any pairing gives.

**Ratio of eigenvalues**, Templ and Meindl, "Robustification of microdata masking methods" (PSD
2008): mean |1 - lambda' / lambda| of the covariance matrices of the numbers, in units of the
original.

**Hellinger distance** of each column's distribution, sqrt(1 - sum sqrt(p q)); numbers in at most 20
bins of as many original rows.

**Propensity score**, Woo, Reiter, Oganian and Karr (JPC 2009): a logistic regression tells original
rows from published ones; pMSE is the mean of (p - c)^2, c the share of published rows.  Snoke and
others, "General and specific utility measures for synthetic data" (JRSS A 2018), Theorem 1: rows
drawn from the original rows give (k - 1)(1 - c)^2 c / N on average, with the standard deviation
sqrt(2 (k - 1)) (1 - c)^2 c / N, for k coefficients and N rows.

**Overlap of intervals**, Karr, Kohnen, Oganian, Reiter and Sanil (American Statistician 2006): each
column of numbers is regressed on all other columns, before and after, and the overlap of the two
95 % intervals of a coefficient is the mean of its share of each; 0 where they do not meet.

**Weighted totals** with the standard error of sampling with replacement,
n / (n - 1) sum (w x - mean)^2; the difference is told in standard errors of the original.

Above ``MOST_ROWS`` rows of a side the propensity score looks at a sample of them, and says so; all
other measures look at all rows.

Cost for n rows and f features: O(n f^2), and of many rows a pass over the rows for each pair of
columns; IL1s sorts.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations_with_replacement
from typing import Any, ClassVar, Self
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from voile.release.reading import floats_of
from voile.table.codes import Codes, Combinations, code_type, sort_rows
from voile.utility.covering import (
    ColumnCovering,
    coverings,
    expectations,
    joint_expectations,
    sampling_weights,
)
from voile.utility.protocol import (
    EVERY_ROW,
    MOST_ROWS,
    Comparison,
    Measurement,
    Sampled,
    sample_notes,
    sampled_rows,
)
from voile_base.ondemand import dataclass

__all__ = [
    "EigenvalueRatio",
    "HellingerDistance",
    "InformationLossIL1s",
    "IntervalOverlap",
    "PropensityScore",
    "WeightedTotals",
]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

_BINS = 20
_MOST_TEXTS = 20
"""Texts that become features; the others are one."""
_NORMAL = 1.959963984540054
"""Half of the width of a 95 % interval, in standard errors."""
_NOTHING = 1e-9
_TOLD = 1e-12
"""The least share of the greatest eigenvalue of products of columns that is no rounding."""
_BLOCK = 1 << 14
"""Rows at a time."""
_ROUNDS = 50
_SETTLED = 1e-11
"""A step of the logit from which on none is taken, each being at most half of that before."""
_APART = 1e-6
"""The logit from which on a row is on its side, and not there by rounding."""
_BY_WEIGHT = "rows count by their sampling weights"
_SAME = 1 - 1e-14
"""Shares of the same distribution overlap so, but for rounding."""


def _columns(comparison: Comparison) -> dict[str, ColumnCovering]:
    """Published columns but for the weights."""
    plan = comparison.original.plan
    weight = None if plan is None else plan.roles.weight
    return {name: one for name, one in coverings(comparison).items() if name != weight}


def _numeric(comparison: Comparison) -> dict[str, tuple[ColumnCovering, Floats]]:
    """Columns of numbers without missing values and of several ones, and these numbers."""
    return {
        name: (one, one.points)
        for name, one in _columns(comparison).items()
        if one.points is not None and one.values.numbers is not None
        if len(one.points) >= 2 and not np.isnan(one.points).any()
    }


def _shown_numbers(one: ColumnCovering, points: Floats) -> Floats:
    """The number of each entry, as it is published; else what it stands for on average."""
    means: Floats = expectations(one.spread, points[:, np.newaxis])[:, 0]
    if one.column not in one.shown.columns or not one.shown[one.column].dtype.is_numeric():
        return means
    shown = floats_of(one.shown[one.column])
    return np.where(np.isnan(shown), means, shown)


@dataclass(frozen=True, eq=False)
class _Features:
    """One column as f features: its number, or indicators of texts but for one."""

    one: ColumnCovering
    numeric: bool
    before: Floats
    """Shape (d, f): those of each value."""
    after: Floats
    """Shape (e, f): those of each entry, on average."""

    def entries(self, side: int) -> tuple[Floats, Codes]:
        """Those of what the original shows, or the release (1), and which of these each row has."""
        return (self.after, self.one.entry) if side else (self.before, self.one.own)

    def of(self, side: int, rows: slice | Indices) -> Floats:
        """Those of rows of the original, or of the release (1)."""
        features, entry = self.entries(side)
        return features[entry[rows]]

    @property
    def scaled(self) -> _Features:
        """In units of their standard deviation, from their mean, both of the original."""
        count = np.bincount(self.one.own, minlength=len(self.before))
        middle = count @ self.before / count.sum()
        spread = np.sqrt(count @ (self.before - middle) ** 2 / count.sum())
        spread = np.where(spread > _NOTHING, spread, 1.0)
        before, after = ((side - middle) / spread for side in (self.before, self.after))
        return _Features(self.one, self.numeric, before, after)


def _numbers(comparison: Comparison) -> list[_Features]:
    """The columns of numbers, each a feature."""
    return [
        _Features(one, True, points[:, np.newaxis], _shown_numbers(one, points)[:, np.newaxis])
        for one, points in _numeric(comparison).values()
    ]


def _features(comparison: Comparison) -> list[_Features]:
    """The features of all columns, those of numbers first."""
    numeric = _numeric(comparison)
    found = _numbers(comparison)
    for name in _owners(comparison):
        if name not in numeric:
            one = _columns(comparison)[name]
            common = np.argsort(-one.domain.rows, kind="stable")[1:_MOST_TEXTS]
            own = np.eye(len(one.values))[:, common]
            found.append(_Features(one, False, own, expectations(one.spread, own)))
    return found


def _design(
    found: Sequence[_Features], rows: Sampled, sides: Sequence[int] = (0, 1)
) -> tuple[Floats, list[int]]:
    """A one and the scaled features of rows of these sides, one side below the other.

    Shape (n, 1 + f), and how many rows each side has.
    """
    heights = [len(found[0].entries(side)[1][rows[side]]) for side in sides]
    design = np.ones((sum(heights), 1 + sum(one.before.shape[1] for one in found)))
    stop = 1
    for one in (each.scaled for each in found):
        start, stop = stop, stop + one.before.shape[1]
        np.concatenate([one.of(side, rows[side]) for side in sides], out=design[:, start:stop])
    return design, heights


@dataclass(frozen=True, eq=False)
class _CodedDesign:
    """A matrix as ``_design`` makes it of both sides, of which a block of rows stands at a time."""

    columns: tuple[tuple[Floats, Codes], ...]
    """For each column the features of what both sides show, and which of these each row has."""
    heights: tuple[int, int]
    """How many rows each side has."""

    @classmethod
    def of(cls, found: Sequence[_Features], rows: Sampled) -> Self:
        """Of rows of both sides."""
        columns, heights = [], (0, 0)
        for one in (each.scaled for each in found):
            (before, own), (after, entry) = (one.entries(side) for side in (0, 1))
            sides = own[rows[0]], entry[rows[1]].astype(np.int64) + len(before)
            heights = len(sides[0]), len(sides[1])
            columns.append((np.concatenate((before, after)), np.concatenate(sides)))
        return cls(tuple(columns), heights)

    def __len__(self) -> int:
        return sum(self.heights)

    def __getitem__(self, rows: slice) -> Floats:
        """Some of the rows, shape (rows, k)."""
        one = np.ones((len(range(len(self))[rows]), 1))
        return np.hstack([one, *(features[code[rows]] for features, code in self.columns)])

    def __matmul__(self, vector: Floats) -> Floats:
        """Shape (n,)."""
        found, stop = np.full(len(self), vector[0]), 1
        for features, code in self.columns:
            start, stop = stop, stop + features.shape[1]
            found += (features @ vector[start:stop])[code]
        return found

    def sums(self, weight: Floats) -> Floats:
        """Shape (k,): the columns of the matrix, added up with the weights of rows."""
        each = (np.bincount(code, weight, len(all_of)) @ all_of for all_of, code in self.columns)
        return np.concatenate([[weight.sum()], *each])


def _owners(comparison: Comparison) -> list[str]:
    """The columns that have features; none where no row is published."""
    if not comparison.published.frame.height:
        return []
    return [name for name, one in _columns(comparison).items() if len(one.values) >= 2]


def _no_numbers(comparison: Comparison, least: int = 1) -> str | None:
    if not comparison.published.frame.height or len(_numeric(comparison)) < least:
        return f"fewer than {least} of the published columns hold numbers that are all there"
    return None


def _weighing(weights: tuple[Floats, Floats] | None) -> tuple[str, ...]:
    return () if weights is None else (_BY_WEIGHT,)


@dataclass(frozen=True)
class InformationLossIL1s:
    """Mean distance of published numbers from their own, in standard deviations."""

    name: ClassVar[str] = "il1s"

    def refusal(self, comparison: Comparison) -> str | None:
        """Rows must be numbers, and pairs."""
        if (why := _no_numbers(comparison)) is not None:
            return why
        return None if self._pairs(comparison) is not None else (
            "published rows cannot be paired with those of the original: rows were left out or "
            "made, or columns that are shown exactly differ"
        )  # fmt: skip

    def measure(self, comparison: Comparison) -> Sequence[Measurement]:
        """The mean over rows and columns, each column as a part."""
        groups = self._pairs(comparison)
        assert groups is not None
        parts = {}
        for name, (one, points) in _numeric(comparison).items():
            own = _in_order(groups[0], one.own, points)
            shown = _in_order(groups[1], one.entry, _shown_numbers(one, points))
            apart, count = np.abs(own - shown), one.domain.rows
            around = points - count @ points / len(own)
            deviation = np.sqrt(count @ around**2 / (len(own) - 1))
            parts[name] = float(apart.mean() / (np.sqrt(2) * deviation)) if deviation else 0.0
        alone = float((np.bincount(groups[0])[groups[0]] == 1).mean())
        note = (
            f"{alone:.0%} of the rows are told apart by columns that are shown exactly; others are "
            "paired in the order of their numbers, which is the least loss"
        )
        value = float(np.mean(list(parts.values())))
        meaning = (
            "the mean distance of a published number from its own, in units of the root of 2 "
            "times the column's standard deviation"
        )
        return [
            Measurement(self.name, "IL1s", value, "lower", meaning, 0.0, None, parts, (note,))
        ]  # fmt: skip

    def _pairs(self, comparison: Comparison) -> tuple[Codes, Codes] | None:
        """What pairs rows, found once for the refusal and the measure."""
        rows = next(iter(_columns(comparison).values()), None)
        if rows is None or len(rows.own) != len(rows.entry):
            return None
        if rows not in _PAIRED:
            _PAIRED.clear()
            _PAIRED[rows] = self._found(comparison, len(rows.own))
        return _PAIRED[rows]

    def _found(self, comparison: Comparison, rows: int) -> tuple[Codes, Codes] | None:
        """The group of each row by what is shown exactly, before and after; None without pairs."""
        exact = [one for one in _columns(comparison).values() if one.stated.as_it_is]
        if not exact:
            alike = np.zeros(rows, np.int64)
            return alike, alike
        both = []
        for one in exact:
            value = one.spread.order[one.spread.start].astype(code_type(len(one.values)))
            both.append((np.concatenate([one.own, value[one.entry]]), len(one.values)))
        label = Combinations.of(both).index
        labels = label[:rows], label[rows:]
        most = int(label.max(initial=0)) + 1
        counts = [np.bincount(side, minlength=most) for side in labels]
        return labels if (counts[0] == counts[1]).all() else None


_PAIRED: WeakKeyDictionary[ColumnCovering, tuple[Codes, Codes] | None] = WeakKeyDictionary()
"""By the first of the columns that were compared last."""


def _in_order(label: Codes, place: Codes, values: Floats) -> Floats:
    """The values at these places, ascending within each label, label by label."""
    distinct, rank = np.unique(values, return_inverse=True)
    labels = label, int(label.max(initial=0)) + 1
    codes = rank.astype(np.min_scalar_type(len(distinct)))[place]
    ordered: Floats = distinct[sort_rows([labels, (codes, len(distinct))])[1]]
    return ordered


@dataclass(frozen=True)
class EigenvalueRatio:
    """How far the eigenvalues of the covariance matrix moved."""

    name: ClassVar[str] = "eigenvalue-ratio"

    def refusal(self, comparison: Comparison) -> str | None:
        """A matrix needs two columns."""
        return _no_numbers(comparison, 2)

    def measure(self, comparison: Comparison) -> Sequence[Measurement]:
        """The mean relative difference, with the ratio of each eigenvalue as a part."""
        found, weights = _numbers(comparison), sampling_weights(comparison)
        spectra = [
            np.linalg.eigvalsh(_covariance(found, side, weights and weights[side]))[::-1]
            for side in (0, 1)
        ]
        there = spectra[0] > _NOTHING
        ratio = spectra[1][there] / spectra[0][there]
        return [
            Measurement(
                self.name,
                "Ratio of eigenvalues",
                float(np.abs(1 - ratio).mean()),
                "lower",
                "the mean relative difference of the eigenvalues of the covariance matrix of the "
                "numbers",
                0.0,
                1.0,
                {f"eigenvalue {place}": float(one) for place, one in enumerate(ratio, 1)},
                _weighing(weights),
            )
        ]


def _covariance(found: Sequence[_Features], side: int, weight: Floats | None) -> Floats:
    """Of the features of all rows of one side, shape (f, f); of one row 0."""
    sums = _sums(found, side, weight)
    total, mean = sums[0, 0], sums[0, 1:] / sums[0, 0]
    freedom = total - (1 if weight is None else weight @ weight / total) or 1.0
    covariance: Floats = (sums[1:, 1:] - total * np.outer(mean, mean)) / freedom
    return covariance


@dataclass(frozen=True)
class HellingerDistance:
    """How far apart the distributions of each column are."""

    name: ClassVar[str] = "hellinger"

    def refusal(self, comparison: Comparison) -> str | None:
        """Rows must be there."""
        return None if _columns(comparison) else "no published column shows values"

    def measure(self, comparison: Comparison) -> Sequence[Measurement]:
        """The mean over columns, with each as a part."""
        weights = sampling_weights(comparison)
        parts = {}
        for name, one in _columns(comparison).items():
            places = len(one.values)
            if weights is None:
                before, rows = one.domain.rows.astype(np.float64), one.rows.astype(np.float64)
            else:
                before = _weighed(one.own, weights[0], places)
                rows = _weighed(one.entry, weights[1], len(one.spread))
            after = one.spread.spread(rows)
            bins = _even(one, before)
            p, q = (np.bincount(bins, side, int(bins.max()) + 1) for side in (before, after))
            if q.sum() > 0:
                overlap = float(np.sqrt(p / p.sum() * q / q.sum()).sum())
                parts[name] = float(np.sqrt(max(0.0, 1 - overlap))) if overlap < _SAME else 0.0
            else:
                parts[name] = 1.0
        note = () if weights is None else (_BY_WEIGHT,)
        value = float(np.mean(list(parts.values())))
        meaning = "the mean Hellinger distance between the distributions of a column"
        return [
            Measurement(
                self.name, "Hellinger distance", value, "lower", meaning, 0.0, None, parts, note
            )
        ]


def _weighed(place: NDArray[Any], weight: Floats, places: int) -> Floats:
    """The weight at each place, shape (places,)."""
    return np.bincount(place, weight, places).astype(np.float64)


def _even(one: ColumnCovering, before: Floats) -> NDArray[np.int64]:
    """The bin of each value: its own for texts, one of at most 20 for numbers."""
    if one.points is None or len(one.values) <= _BINS:
        return np.arange(len(one.values))
    share = (np.cumsum(before) - before / 2) / max(before.sum(), 1.0)
    return np.asarray(np.minimum((share * _BINS).astype(np.int64), _BINS - 1))


@dataclass(frozen=True)
class PropensityScore:
    """How well a logistic regression tells published rows from original ones."""

    name: ClassVar[str] = "propensity-score"

    def refusal(self, comparison: Comparison) -> str | None:
        """Rows need features."""
        return None if _owners(comparison) else "no published column differs between rows"

    def measure(self, comparison: Comparison) -> Sequence[Measurement]:
        """pMSE, and its ratio to what a sample of the same distribution would give."""
        rows_of = sampled_rows(comparison)
        design = _CodedDesign.of(_features(comparison), rows_of)
        heights, rows, weights = design.heights, len(design), sampling_weights(comparison)
        of_release, weight = np.repeat([0.0, 1.0], heights), np.ones(rows)
        if weights is not None:
            weight = np.concatenate([weights[side][rows_of[side]] for side in (0, 1)])
        # Weights of a side keep its number of rows, so that c stays the share of published ones.
        for side in (of_release == 0, of_release == 1):
            weight[side] /= weight[side].mean()
        score, k = _logistic(design, of_release, weight)
        c, n = heights[1] / rows, rows
        pmse = float(np.average((score - c) ** 2, weights=weight))
        by_chance = (k - 1) * (1 - c) ** 2 * c / n
        deviation = np.sqrt(2 * (k - 1)) * (1 - c) ** 2 * c / n
        standard = float((pmse - by_chance) / deviation) if deviation else 0.0
        notes = (*_weighing(weights), *sample_notes(comparison, rows_of))
        if rows_of is not EVERY_ROW:
            notes = (
                *notes,
                f"with as few rows chance alone brings {by_chance:.2g}, give or take "
                f"{deviation:.2g}: a difference of less says nothing",
            )
        return [
            Measurement(
                self.name,
                "Propensity score (pMSE)",
                pmse,
                "lower",
                "the mean squared distance of propensity scores from the share of published rows",
                0.0,
                c * (1 - c),
                {"standardized": standard, "expected by chance": float(by_chance)},
                notes,
            ),
            Measurement(
                "propensity-score-ratio",
                "Ratio of pMSE to its expectation",
                float(pmse / by_chance) if by_chance else 0.0,
                "lower",
                "pMSE in units of what rows that are drawn from the original ones would give",
                0.0,
                notes=notes if rows_of is not EVERY_ROW else (),
            ),
        ]


def _logistic(design: Floats | _CodedDesign, target: Floats, weight: Floats) -> tuple[Floats, int]:
    """Fitted probabilities by Newton's method, and how many coefficients can be told apart.

    Directions come from the columns' products with each other, so that nothing of the size of the
    rows stands beside them: O(n k^2) a round, memory of k^2 and a block of rows.  Up to the first
    step that is more than half as long as that before, the bound of what the products come to with
    weights of at most a quarter takes their place, which costs O(n k): Böhning and Lindsay,
    "Monotonicity of quadratic-approximation algorithms" (AISM 40, 1988).  Where some
    direction parts the two kinds of rows, the probabilities tend to 0 and 1, and are told at once.
    """
    size, directions = np.linalg.eigh(_products(design, weight))
    told = size > _TOLD * size[-1]
    turned = directions[:, told] / np.sqrt(size[told])
    logit = np.zeros(len(design))
    score = np.full(len(design), 0.5)
    bound, before = True, np.inf
    for _round in range(_ROUNDS):
        apart = weight * (target - score)
        sums = design.sums(apart) if isinstance(design, _CodedDesign) else design.T @ apart
        slope = turned.T @ sums
        if bound:
            toward = 4 * slope
        else:
            bend = turned.T @ _products(design, weight * score * (1 - score)) @ turned
            toward = np.linalg.lstsq(bend, slope, rcond=None)[0]
        step = design @ (turned @ toward)
        logit += step
        if (np.where(target > 0, logit, -logit) > _APART).all():  # its likelihood has no greatest
            return target, turned.shape[1]
        score = 1 / (1 + np.exp(-np.clip(logit, -30, 30)))
        furthest = float(np.abs(step).max(initial=0.0))
        if furthest < (_SETTLED if bound else 1e-8):
            break
        bound, before = bound and furthest < before / 2, furthest
    return score, turned.shape[1]


def _products(design: Floats | _CodedDesign, weight: Floats) -> Floats:
    """The sums of weighted products of columns, shape (k, k)."""
    found: Floats = np.zeros(())
    for begin in range(0, len(design), _BLOCK):
        rows = design[begin : begin + _BLOCK] * np.sqrt(weight[begin : begin + _BLOCK, np.newaxis])
        found = found + rows.T @ rows  # of one array with itself, which takes half of the products
    return found


@dataclass(frozen=True)
class IntervalOverlap:
    """How much the intervals of regression coefficients overlap."""

    name: ClassVar[str] = "interval-overlap"

    def refusal(self, comparison: Comparison) -> str | None:
        """A regression needs a number and a further column."""
        if (why := _no_numbers(comparison)) is not None:
            return why
        if len(_owners(comparison)) < 2:
            return "a regression needs a second column"
        return None

    def measure(self, comparison: Comparison) -> Sequence[Measurement]:
        """The mean over coefficients, with the mean of each regressed column as a part."""
        found = _features(comparison)
        owners = np.repeat(
            [one.one.column for one in found], [one.before.shape[1] for one in found]
        )
        weights = sampling_weights(comparison)
        parts = {}
        large = max(len(found[0].one.own), len(found[0].one.entry)) > MOST_ROWS
        factors = [
            (_counted_factor if large else _factor)(
                found, side, None if weights is None else weights[side] / weights[side].mean()
            )
            for side in (0, 1)
        ]
        for place, name in enumerate(one.one.column for one in found if one.numeric):
            others = np.flatnonzero(owners != name)
            fits = [_least_squares(factor, others, place) for factor in factors]
            overlap = _overlap(*fits)
            if len(overlap):
                parts[name] = float(overlap.mean())
        meaning = (
            "the mean overlap of the 95 % intervals of coefficients, of regressions of each column "
            "of numbers on all others"
        )
        value = float(np.mean(list(parts.values()))) if parts else 0.0
        title = "Overlap of coefficients' intervals"
        notes = _weighing(weights)
        return [Measurement(self.name, title, value, "higher", meaning, 1.0, 0.0, parts, notes)]


@dataclass(frozen=True, eq=False)
class _Factor:
    """What regressions among some columns ask of the rows: O(n c^2) for n rows of c columns."""

    triangle: Floats
    """R'R are the sums of products of the weighted rows, a column of ones before them."""
    rows: int


def _factor(found: Sequence[_Features], side: int, weight: Floats | None) -> _Factor:
    """For any number of regressions of one column on others, whose sums of squares it keeps."""
    design, _ = _design(found, EVERY_ROW, [side])
    if weight is not None:
        design *= np.sqrt(weight)[:, np.newaxis]
    return _Factor(np.asarray(np.linalg.qr(design, mode="r"), np.float64), len(design))


def _counted_factor(found: Sequence[_Features], side: int, weight: Floats | None) -> _Factor:
    """The same of many rows: a square root of the sums takes the place of R.

    The regressions ask for nothing but its products.
    """
    size, directions = np.linalg.eigh(_sums(found, side, weight))
    size = np.where(size > _TOLD * size[-1], size, 0.0)
    rows = len(found[0].entries(side)[1])
    return _Factor(np.sqrt(size)[:, np.newaxis] * directions.T, rows)


def _sums(found: Sequence[_Features], side: int, weight: Floats | None) -> Floats:
    """Sums of products of scaled features, and of a one before them, over all rows of one side.

    Shape (1 + f, 1 + f); from how many rows show each pair of entries: O(n + e f) a pair of columns
    for e such pairs.
    """
    columns = [one.scaled.entries(side) for one in found]
    columns.insert(0, (np.ones((1, 1)), np.zeros(len(columns[0][1]), np.uint8)))
    ends = np.cumsum([0, *(features.shape[1] for features, _ in columns)])
    sums = np.zeros((ends[-1], ends[-1]))
    for (one, left), (other, right) in combinations_with_replacement(enumerate(columns), 2):
        block = joint_expectations(left, right, weight)
        sums[ends[one] : ends[one + 1], ends[other] : ends[other + 1]] = block
        sums[ends[other] : ends[other + 1], ends[one] : ends[one + 1]] = block.T
    return sums


def _least_squares(factor: _Factor, others: NDArray[np.int64], place: int) -> tuple[Floats, Floats]:
    """Coefficients and standard errors of weighted least squares; NaN for what cannot be told."""
    design = factor.triangle[:, np.concatenate([[0], others + 1])]
    own = factor.triangle[:, place + 1]
    left, size, right = np.linalg.svd(design, full_matrices=False)
    kept = size > 1e-8 * size[0]
    inverse = np.where(kept, 1 / np.where(kept, size, 1.0), 0.0)
    coefficients = right.T @ (inverse * (left.T @ own))
    freedom = factor.rows - int(kept.sum())
    residual = own - design @ coefficients
    variance = float(residual @ residual) / freedom if freedom > 0 else 0.0
    errors = np.sqrt(variance * ((right.T * inverse) ** 2).sum(axis=1))
    lost = ((right[~kept].T) ** 2).sum(axis=1) > _NOTHING
    coefficients[lost] = np.nan
    return coefficients[1:], errors[1:]


def _overlap(before: tuple[Floats, Floats], after: tuple[Floats, Floats]) -> Floats:
    """Mean share of both intervals that they have in common, of coefficients of the original."""
    told = ~np.isnan(before[0])
    low, high = ([side[0] - way * _NORMAL * side[1] for side in (before, after)]
                 for way in (1, -1))  # fmt: skip
    with np.errstate(invalid="ignore", divide="ignore"):
        common = np.minimum(*high) - np.maximum(*low)
        share = np.mean([common / (b - a) for a, b in zip(low, high, strict=True)], axis=0)
    share = np.where(np.isnan(after[0]), 0.0, share)
    same = np.isclose(before[0], after[0]) & np.isclose(before[1], after[1])
    return np.asarray(np.where(same, 1.0, np.clip(np.nan_to_num(share), 0.0, 1.0))[told])


@dataclass(frozen=True)
class WeightedTotals:
    """How far weighted totals moved, in their standard errors."""

    name: ClassVar[str] = "weighted-totals"

    def refusal(self, comparison: Comparison) -> str | None:
        """Weights must be known of published rows."""
        if sampling_weights(comparison) is None:
            return (
                "no column of sampling weights is published as it is: name it in [roles] weight "
                "and in keep"
            )
        return _no_numbers(comparison)

    def measure(self, comparison: Comparison) -> Sequence[Measurement]:
        """The mean difference of totals in standard errors, with each column as a part."""
        weights = sampling_weights(comparison)
        assert weights is not None
        parts, notes = {}, []
        for one in _numbers(comparison):
            name = one.one.column
            (total, error), (shown, around) = (
                _total(one.of(side, slice(None))[:, 0], weights[side]) for side in (0, 1)
            )
            apart = abs(shown - total)
            parts[name] = float(apart / error) if error else float(apart > 0)
            notes.append(
                f"{name!r}: {total:,.6g} with a standard error of {error:,.4g} before, "
                f"{shown:,.6g} with {around:,.4g} after"
            )
        value = float(np.mean(list(parts.values())))
        meaning = "the mean difference of weighted totals, in standard errors of the original"
        title = "Difference of weighted totals"
        return [Measurement(self.name, title, value, "lower", meaning, 0.0, None, parts, (*notes,))]


def _total(values: Floats, weight: Floats) -> tuple[float, Any]:
    """A weighted total, and its standard error under sampling with replacement."""
    each = values * weight
    n = len(each)
    return float(each.sum()), np.sqrt(n * each.var(ddof=1)) if n > 1 else 0.0
