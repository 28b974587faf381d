"""Risk in the population behind a sample: of each row, of households, and of all together.

A sample has f_i rows like row i (a missing value matching any), whose weights add up to F_i, an
estimate of how many people of the population are like that.

**Individual risk**, Benedetti and Franconi (1998); Franconi and Polettini, "Individual risk
estimation in mu-Argus" (PSD 2004), section 3: F_i given f_i is a negative binomial variable with
p_i = f_i / F_i, and the risk is the mean of 1 / F_i,

    r_i = p^f / f * 2F1(f, f; f + 1; 1 - p).

For f = 1 that is p / (1 - p) log(1 / p), for f = 2 p / (1 - p) - (p / (1 - p))^2 log(1 / p).  The
**approximation** is that of section 3.2, p / (f - (1 - p)), for f of 3 or more, as in sdcMicro; the
**series** is 2F1 to all digits, by Euler's integral.

**Household risk**: that at least one person is found, 1 - product (1 - r_i), as if finds were
independent (section 5 there).

**Uniques of the population**, from how many groups of each size a sample has: Pitman's sampling
formula (Hoshino, "Applying Pitman's sampling formula to microdata disclosure risk assessment",
JOS 2001); Zayatz, "Estimation of the percent of unique population elements on a microdata file
using the sample" (1991); a shifted negative binomial law of the sizes (Chen and Keller-McNulty,
"Estimation of identification disclosure risk in microdata", JOS 1998); and the choice of Dankar and
others, "Estimating the re-identification risk of clinical data sets" (BMC 2012): Pitman's for
samples of a tenth or less, else the lower of the other two.

**A log-linear model**, Skinner and Shlomo, "Assessing identification risk in survey microdata using
log-linear models" (JASA 2008), section 2: cells are Poisson with means by the columns' margins
(independence), or by those of all pairs (iterative proportional fitting); expected are the sample
uniques that are unique in the population, and their correct matches.

All of it is private, and estimates: of a population of which the sample is one, by chance.

Cost for g combinations: O(g p^2) for p patterns of missing values; O(g) else.

Special uniques (SUDA2): rows that few values already tell apart from all others
--------------------------------------------------------------------------------
A minimal sample unique of a row is a set of columns in whose values it is alone, and in those of no
smaller part of which it is.  Each set of j of m columns scores (m - j)!, so that small sets weigh
most.

Sources: Elliot, Manning and Ford, "A computational algorithm for handling the special uniques
problem" (IJUFKS 2002), for minimal uniques and scores; Elliot and Skinner, "Identifying population
uniques using limited information" (2000), for the chance that a unique match is right in a file
with U uniques and P rows in pairs, of which a share pi was sampled, U pi / (U pi + P (1 - pi));
the score of a row spreads it over rows so that the harmonic mean of all is that chance, by the
power 1 + (8 - m) / 20 of scores, as sdcMicro does.

A column's contribution to a row is the share of its score that sets with the column make.

Missing values match nothing: no set holds one.

Cost: O(g) for each set of columns that is tried, 2^m at most; sets all of whose rows are unique by
smaller ones are left out, and so are rows that are not unique in all columns together.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from math import factorial, prod

import numpy as np
from numpy.typing import NDArray

from voile.table.summaries import SampleCounts
from voile_base.ondemand import dataclass, on_demand

__all__ = [
    "LogLinearRisk",
    "PopulationRisk",
    "PopulationUniques",
    "SpecialUniques",
    "household_risk",
    "individual_risk",
    "log_linear_risk",
    "matching",
    "population_uniques",
    "special_uniques",
]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SpecialUniques:
    """Scores of g combinations of values of m columns; private."""

    score: Floats
    """Shape (g,): 0 for rows that are not unique."""
    chance: Floats
    """Shape (g,): DIS, the chance that a match of the row is right."""
    contribution: Floats
    """Shape (g, m): the share of the score that sets with each column make."""

    @property
    def by_column(self) -> Floats:
        """Shape (m,): the share of all scores, in percent; of several columns more than 100."""
        total = self.score.sum()
        if not total:
            return np.zeros(self.contribution.shape[1])
        return np.asarray(100 * (self.score @ self.contribution) / total)

    def by_value(self, codes: NDArray[np.int64], column: int) -> Floats:
        """Of a column's share, that of each of its values, in percent; NaN where it has none."""
        own = self.score * self.contribution[:, column]
        with np.errstate(invalid="ignore"):
            return np.asarray(100 * np.bincount(codes[:, column], own) / own.sum())


def special_uniques(
    codes: NDArray[np.int64],
    missing: NDArray[np.bool_],
    rows: NDArray[np.int64],
    sampled: float = 0.01,
) -> SpecialUniques:
    """The special uniques of counted combinations, shape (g, m), with their rows (g,)."""
    count, width = codes.shape
    score, contribution = np.zeros(count), np.zeros((count, width))
    unique: dict[tuple[int, ...], NDArray[np.bool_]] = {}
    for size in range(1, width + 1):
        found: dict[tuple[int, ...], NDArray[np.bool_]] = {}
        for columns in combinations(range(width), size):
            alone = _alone(codes, missing, rows, columns)
            found[columns] = alone
            minimal = alone & ~_by_parts(unique, columns, count)
            if minimal.any():
                weight = factorial(width - size)
                score[minimal] += weight
                contribution[np.ix_(np.flatnonzero(minimal), np.array(columns))] += weight
        unique = found
    there = score > 0
    contribution[there] /= score[there, np.newaxis]
    return SpecialUniques(score, _chances(score, rows, width, sampled), contribution)


def _alone(
    codes: NDArray[np.int64],
    missing: NDArray[np.bool_],
    rows: NDArray[np.int64],
    columns: tuple[int, ...],
) -> NDArray[np.bool_]:
    """Which combinations are of one row that is alone in the values of these columns."""
    label = np.zeros(len(rows), dtype=np.int64)
    for column in columns:
        label = label * (int(codes[:, column].max(initial=0)) + 1) + codes[:, column]
        if len(columns) > 1:
            label = np.unique(label, return_inverse=True)[1]
    held = np.bincount(label, rows)
    return np.asarray((held[label] == 1) & ~missing[:, list(columns)].any(axis=1))


def _by_parts(
    unique: Mapping[tuple[int, ...], NDArray[np.bool_]], columns: tuple[int, ...], count: int
) -> NDArray[np.bool_]:
    """Which are alone in some part of the columns: what is so in a part is so in all above it."""
    found = np.zeros(count, dtype=np.bool_)
    for part in combinations(columns, len(columns) - 1):
        if part:
            found |= unique[part]
    return found


def _chances(score: Floats, rows: NDArray[np.int64], width: int, sampled: float) -> Floats:
    """DIS of each combination."""
    there = score > 0
    chance = np.zeros(len(score))
    if not there.any():
        return chance
    uniques, paired = int((rows == 1).sum()), 2 * int((rows == 2).sum())
    of_file = uniques * sampled / (uniques * sampled + paired * (1 - sampled))
    power = 1 + (8 - width) / 20
    inverse = score[there] ** -power
    spread = (1 / of_file - 1) * uniques * inverse / inverse.sum()
    chance[there] = 1 / (1 + spread)
    return chance


optimize = on_demand("scipy.optimize")
special = on_demand("scipy.special")

Codes = NDArray[np.int64]

_NODES = 200
"""Of the rule for the integral."""
_HALF, _DAMPED, _REACH = 0.5, 60, 80.0
"""Shares and sizes up to which a recursion damps errors, and how far from 1 an integrand reaches,
in units of 1 / f."""
_SEVERAL = 3
"""Rows from which the risk is approximated."""
_NEARLY_ALL = 0.9
"""Shares above it are integrated: the formulas divide by what is left."""
_FEW_SAMPLED = 0.1
_FEW_PEOPLE = 5
_MOST_CELLS = 200_000
_ROUNDS = 200
_CLOSE = 1e-8


def matching(
    codes: NDArray[np.int32], blank: NDArray[np.bool_], rows: NDArray[np.float64]
) -> Floats:
    """What matches each of g combinations, a missing value matching anything; shape (g,).

    ``codes`` (g, m + s) are values, ``blank`` (g, m) says which are missing, and ``rows`` (g,) what
    each combination counts: rows, or their weights.
    """
    patterns, which = np.unique(blank, axis=0, return_inverse=True)
    which = which.reshape(-1)
    found = np.zeros(len(rows))
    for mine in range(len(patterns)):
        asked = np.flatnonzero(which == mine)
        for other in range(len(patterns)):
            compared = np.ones(codes.shape[1], dtype=np.bool_)
            compared[: blank.shape[1]] = ~(patterns[mine] | patterns[other])
            there = np.flatnonzero(which == other)
            both = codes[np.concatenate([asked, there])][:, compared]
            label = np.zeros(len(both), dtype=np.int64)
            for column in both.T:
                label = label * (int(column.max(initial=0)) + 1) + column
                label = np.unique(label, return_inverse=True)[1]
            held = np.bincount(label[len(asked) :], rows[there], int(label.max(initial=-1)) + 1)
            found[asked] += held[label[: len(asked)]]
    return found


def individual_risk(sample: Floats, population: Floats, *, series: bool = False) -> Floats:
    """The risk of each row, shape (g,), between 0 and 1; see the module.

    ``sample`` has how many rows are like it, ``population`` what these weigh.  A weight below 1
    would have more people in the sample than there are: the risk is then 1 / f.
    """
    p = np.minimum(sample / population, 1.0)
    few = sample < _SEVERAL
    exact = few & (p > _NEARLY_ALL) if not series else np.ones(len(p), dtype=np.bool_)
    with np.errstate(divide="ignore", invalid="ignore"):
        odds, log = p / (1 - p), -np.log(p)
        risk = np.where(sample == 1, odds * log, odds - odds**2 * log)
        risk = np.where(few, risk, p / (sample - (1 - p)))
    risk[exact] = _integral(sample[exact], p[exact])
    return np.asarray(risk)


def _integral(sample: Floats, p: Floats) -> Floats:
    """Mean of 1 / F, a J_f with a = p / (1 - p) and J_f = Int_0^1 u^(f-1) / (a + u) du.

    By J_f = 1 / (f - 1) - a J_(f-1) where that damps errors; else by the rule, where u is not 0.
    """
    risk = np.empty(len(p))
    damped = (p <= _HALF) & (sample <= _DAMPED)
    odds = p[damped] / (1 - p[damped])
    each, found = -np.log(p[damped]), np.zeros(int(damped.sum()))
    for size in range(1, int(sample[damped].max(initial=0)) + 1):
        each = 1 / (size - 1) - odds * each if size > 1 else each
        found = np.where(sample[damped] == size, each, found)
    risk[damped] = odds * found
    node, weight = np.polynomial.legendre.leggauss(_NODES)
    some, share = sample[~damped, np.newaxis], p[~damped, np.newaxis]
    width = np.minimum(_REACH / some, 1.0)
    u = 1 - width * (1 - node) / 2
    value = u ** (some - 1) * share / (share + (1 - share) * u)
    risk[~damped] = (value @ weight) * width[:, 0] / 2
    return risk


def household_risk(risk: Floats, household: NDArray[np.int64]) -> Floats:
    """The chance that some person of the household is found, of each row; shape (n,).

    ``household`` numbers them from 0.
    """
    none = np.bincount(household, np.log1p(-np.minimum(risk, 1 - 1e-16)))
    return np.asarray(-np.expm1(none))[household]


@dataclass(frozen=True)
class PopulationRisk:
    """What a sample tells of the risk of those who are in it; private, and estimated."""

    rows: int
    population: float
    """What all rows weigh."""
    expected: float
    """Rows that are found on average, by the individual risk."""
    highest: float
    """The individual risk of the row that is most at risk."""
    households_expected: float | None
    """Rows of whose household somebody is found, on average; None without households."""
    map_least: float
    """The k of k-map: how many people of the population are like the rarest row, by weights."""
    map_below_five: int
    """Rows that are like fewer than five people of the population."""
    uniques: PopulationUniques
    log_linear: LogLinearRisk
    special_rows: int
    """Special uniques: rows that the values of some columns tell apart."""
    special_highest: float
    """The highest chance (DIS) that a match of one of them is right."""
    special_columns: Mapping[str, float]
    """The share of all scores that sets with each column make, in percent."""

    @staticmethod
    def of_sample(sample: SampleCounts, *, series: bool = False) -> PopulationRisk:
        """All estimates of a sample.

        Raises ``ValueError`` where weights add up to fewer people than there are rows.
        """
        rows = sample.rows.astype(np.float64)
        codes = sample.codes.astype(np.int32)
        alike = matching(codes, sample.missing, rows)
        people = matching(codes, sample.missing, sample.weight)
        risk = individual_risk(alike, people, series=series)
        households = None
        if sample.household is not None:
            households = float(household_risk(risk[sample.place], sample.household).sum())
        total = float(sample.weight.sum())
        special = special_uniques(sample.codes, sample.missing, sample.rows)
        return PopulationRisk(
            rows=int(rows.sum()),
            population=total,
            expected=float(risk @ rows),
            highest=float(risk.max()),
            households_expected=households,
            map_least=float(people.min()),
            map_below_five=int(sample.rows[people < _FEW_PEOPLE].sum()),
            uniques=population_uniques(sample.rows, total),
            log_linear=log_linear_risk(sample.codes, sample.rows, float(rows.sum()) / total),
            special_rows=int(sample.rows[special.score > 0].sum()),
            special_highest=float(special.chance.max()),
            special_columns=dict(zip(sample.columns, special.by_column.tolist(), strict=True)),
        )


@dataclass(frozen=True)
class PopulationUniques:
    """Estimated people who are unique in the population, by several models; None: no estimate."""

    pitman: float | None
    zayatz: float | None
    negative_binomial: float | None
    choice: str
    """Which of them Dankar's rule takes."""
    sampled: float
    """The share of the population that is in the sample, above 0, at most 1."""

    @property
    def chosen(self) -> float | None:
        """The estimate of the choice."""
        found: float | None = getattr(self, self.choice)
        return found


def population_uniques(sizes: NDArray[np.int64], population: float) -> PopulationUniques:
    """From the sizes of the groups of a sample, shape (g,), and how many people there are.

    Raises ``ValueError`` where the population is smaller than the sample.
    """
    n = int(sizes.sum())
    if population < n:
        msg = "a population has no fewer people than a sample of it"
        raise ValueError(msg)
    size, groups = np.unique(sizes, return_counts=True)
    sampled = n / population
    if sampled == 1:
        alone = float((sizes == 1).sum())
        return PopulationUniques(alone, alone, alone, "zayatz", sampled)
    pitman = _pitman(size, groups, population)
    zayatz = _zayatz(size, groups, population)
    shifted = _shifted(size, groups, sampled)
    choice = "pitman"
    if sampled > _FEW_SAMPLED or pitman is None:
        lower = shifted is not None and shifted < zayatz
        choice = "negative_binomial" if lower else "zayatz"
    return PopulationUniques(pitman, zayatz, shifted, choice, sampled)


def _pitman(size: Codes, groups: Codes, population: float) -> float | None:
    """Hoshino (2001), equation 5 for the likelihood; the mean of uniques in the population."""
    count, n = int(groups.sum()), int((size * groups).sum())
    if count in {1, n}:
        return None if count == 1 else population
    log_gamma = special.gammaln

    def unlikely(at: Floats) -> float:
        alpha, theta = 1 / (1 + np.exp(-at[0])), np.exp(at[1])
        first = (count - 1) * np.log(alpha)
        first += log_gamma(theta / alpha + count) - log_gamma(theta / alpha + 1)
        second = log_gamma(theta + n) - log_gamma(theta + 1)
        third = groups @ (log_gamma(size - alpha) - log_gamma(1 - alpha))
        return -float(first - second + third)

    found = optimize.minimize(unlikely, [0.0, np.log(count)], method="Nelder-Mead")
    alpha, theta = 1 / (1 + np.exp(-found.x[0])), np.exp(found.x[1])
    mean = log_gamma(theta + alpha + population - 1) - log_gamma(theta + alpha)
    mean += log_gamma(theta + 1) - log_gamma(theta + population)
    return float(min(population * np.exp(mean), population))


def _zayatz(size: Codes, groups: Codes, population: float) -> float:
    """Groups of the population are as large as those of the sample: which of them look unique."""
    n = int((size * groups).sum())
    log_gamma = special.gammaln

    def choose(all_: Floats | float, some: Floats | float) -> Floats:
        return np.asarray(log_gamma(all_ + 1) - log_gamma(some + 1) - log_gamma(all_ - some + 1))

    possible = population - size >= n - 1
    once = np.zeros(len(size))
    kept = size[possible]
    others: Floats = np.asarray(population - kept, dtype=np.float64)
    once[possible] = kept * np.exp(choose(others, n - 1.0) - choose(population, n))
    alone = int(groups[size == 1].sum())
    if not alone:
        return 0.0
    unique = once[size == 1][0] * alone / (once @ groups)
    return float(alone * unique * population / n)


def _shifted(size: Codes, groups: Codes, sampled: float) -> float | None:
    """Sizes less one are negative binomial; each person is in the sample with the same chance."""
    if len(size) == 1:
        return None

    def chances(at: Floats) -> tuple[Floats, float]:
        shape, p = np.exp(at[0]), 1 / (1 + np.exp(-at[1]))
        thinned = p / (p + sampled * (1 - p))
        of = np.arange(int(size.max()) + 1)
        law = special.gammaln(of + shape) - special.gammaln(shape) - special.gammaln(of + 1)
        law = np.exp(law + shape * np.log(thinned) + of * np.log1p(-thinned))
        seen = (1 - sampled) * law + sampled * np.concatenate([[0.0], law[:-1]])
        return seen, float(p**shape)

    def unlikely(at: Floats) -> float:
        seen, _ = chances(at)
        chance = seen[size] / (1 - seen[0])
        return -float(groups @ np.log(np.maximum(chance, 1e-300)))

    found = optimize.minimize(unlikely, [0.0, 0.0], method="Nelder-Mead")
    seen, alone = chances(found.x)
    every = groups.sum() / (1 - seen[0])
    return float(every * alone)


@dataclass(frozen=True)
class LogLinearRisk:
    """What a log-linear model expects of the rows that are unique in the sample."""

    unique: float
    """Of them unique in the population."""
    matches: float
    """Correct matches among them, somebody taking anyone of those who are alike."""
    pairs: bool
    """Whether the margins of all pairs were fitted, or those of columns alone."""


def log_linear_risk(
    codes: NDArray[np.int64], rows: NDArray[np.int64], sampled: float
) -> LogLinearRisk:
    """Skinner and Shlomo's tau_1 and tau_2, of g combinations (g, m) with their rows (g,)."""
    sizes = codes.max(axis=0) + 1
    pairs = codes.shape[1] > 1 and prod(sizes.tolist()) <= _MOST_CELLS
    n = rows.sum()
    if pairs:
        mean = _fitted(codes, rows, sizes)
    else:
        mean = np.full(len(rows), float(n))
        for column in codes.T:
            mean *= np.bincount(column, rows)[column] / n
    alone = rows == 1
    rest = (1 - sampled) * mean[alone] / sampled
    unique = float(np.exp(-rest).sum())
    with np.errstate(divide="ignore", invalid="ignore"):
        matches = np.where(rest > 0, -np.expm1(-rest) / rest, 1.0)
    return LogLinearRisk(unique, float(matches.sum()), pairs)


def _fitted(codes: NDArray[np.int64], rows: NDArray[np.int64], sizes: Codes) -> Floats:
    """Means of the counted cells by the margins of all pairs (iterative proportional fitting)."""
    table = np.ones(tuple(sizes.tolist()))
    table *= rows.sum() / table.size
    axes = range(len(sizes))
    margins = {}
    for pair in combinations(axes, 2):
        margin = np.zeros([sizes[axis] for axis in pair])
        np.add.at(margin, tuple(codes[:, axis] for axis in pair), rows)
        margins[pair] = margin
    for _ in range(_ROUNDS):
        moved = 0.0
        for pair, margin in margins.items():
            others = tuple(axis for axis in axes if axis not in pair)
            own = table.sum(axis=others)
            ratio = np.divide(margin, own, out=np.zeros_like(margin), where=own > 0)
            moved = max(moved, float(np.abs(own - margin).max(initial=0)))
            shape = [sizes[axis] if axis in pair else 1 for axis in axes]
            table *= ratio.reshape(shape)
        if moved < _CLOSE * rows.sum():
            break
    return np.asarray(table[tuple(codes.T)])
