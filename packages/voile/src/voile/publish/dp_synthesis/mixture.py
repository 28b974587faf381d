"""A mixture of products: what public facts rule out, its fit to noisy tables, rows drawn from it.

Nothing here is private: all follows from measurements, the plan and a key.

**Public facts** are combinations of values that no row has.

zeros = ["age < 15 AND msp <> 'N'", "sex = 1 AND births IS NOT NULL"]

A fact is one or several conditions joined by AND, each about one column: ``=``, ``<>``, ``<``,
``<=``, ``>``, ``>=`` with a number, a day or a text in single quotes; ``IN (...)``; ``IS NULL`` and
``IS NOT NULL``.  As in SQL, a missing value meets no condition but ``IS NULL``.

A text that the domain of its column does not list is an error, and so are facts that leave nothing.

**The fit**, by MAP, of a distribution of rows to noisy tables.

What it does: ``fitted`` takes measurements, and nothing else, to a mixture of K components, within
each of which columns are independent.  Whoever has the measurements can repeat it, on one machine
to the last digit (the order in which a library sums is the machine's).

Source: the model is that of latent classes (Lazarsfeld and Henry 1968); fitting a product mixture
to noisy marginals is after Liu, Vietri and Wu, "Iterative methods for private synthetic data"
(NeurIPS 2021), with all pairs measured at once in place of an adaptive selection.

Estimator.  Component k has a weight w_k and for column j the distribution softmax(b_j + d_kj)
over its cells, b_j being logarithms of the shares that all tables with column j state of it.  The
loss is the sum over measured cells of (N p - y)^2 / (2 v), N the estimated number of rows, plus
``_PRIOR`` |d|^2 / 2: a Gaussian prior that keeps components alike unless counts say otherwise.
Adam with 600 steps whose size falls as a half cosine; three fits from different starts, joined
with equal weights.  Numbers of components, steps and fits are fixed: none follows from what comes
of it.

Cells that a public fact says are empty enter like counts of 0 with a small variance.

An earlier release of the same people, or of others like them, is public, and enters as what it
counts: of a cell with e rows, scaled to the number of rows now, as a measurement of the variance
v + 2 e, v that of the noise.  So it counts as much as new noise where cells are small, and next to
nothing where samples of people differ by more than noise does.  The rule is fixed: how well
the two agree decides nothing.

Cost: with V cells of all columns together, 3 V^2 K multiplications a step in single precision; some
.4 s for eleven columns of 96 cells.

**Rows of a mixture**, part by part.

Within a part, components and, in each, the cells of every column are drawn by systematic sampling:
the i-th of n rows gets the value at (i + u) / n of the cumulative distribution, u uniform and one
for all, and the values are then permuted.  So each value has its share of the rows to within one
row, and exactly on average: less noise than independent draws.  The rows are permuted in the end.

Cost: some 30 ns a cell.

Nothing here is private: rows follow from measurements and a key.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from voile.publish.measuring import ColumnSet, Measured, Measurements
from voile.schema.domain import ColumnDomain
from voile_base.errors import PlanError, nearest
from voile_base.ondemand import dataclass
from voile_base.randomness import Draws, Key, Randomness
from voile_base.values import usable_number

__all__ = [
    "DrawnRows",
    "Mixture",
    "PublicFacts",
]

_MOST_LEAVES, _MOST_KINDS = 1_000_000, 1_000_000
_CONDITION = re.compile(
    r"""\s*(?:"(?P<quoted>[^"]+)"|(?P<name>[^\s<>=!"'(),]+))\s*
    (?:(?P<null>IS\s+(?:NOT\s+)?NULL)|IN\s*\((?P<list>[^()]*)\)|
    (?P<compare><=|>=|<>|!=|=|<|>)\s*(?P<one>'(?:[^']|'')*'|[^\s']+))\s*""",
    re.VERBOSE | re.IGNORECASE,
)
_AND = re.compile(r"AND\b", re.IGNORECASE)
_VALUE = re.compile(r"\s*('(?:[^']|'')*'|[^\s',]+)\s*(,|$)")
_COMPARE: Mapping[str, Callable[[NDArray[np.float64], float], NDArray[np.bool_]]] = {
    "=": operator.eq, "<>": operator.ne, "!=": operator.ne,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class PublicFacts:
    """For each fact and each column in it: which leaves meet its conditions, a missing one last."""

    facts: tuple[Mapping[int, Flags], ...] = ()
    possible: tuple[tuple[int, int], ...] = ()
    """A leaf of each column in them, as (place, leaf), which together break no fact."""

    @classmethod
    def of(cls, stated: Sequence[str], domain: Sequence[ColumnDomain]) -> PublicFacts:
        """The facts that a plan states; raises ``PlanError``."""
        facts = tuple(_read(text, domain) for text in stated)
        return cls(facts, _possible(facts, [it.leaves + it.missing for it in domain]))

    def broken(self, leaves: NDArray[np.int64]) -> Flags:
        """Which rows meet all conditions of some fact; shape (rows,)."""
        broken = np.zeros(len(leaves), dtype=np.bool_)
        for fact in self.facts:
            met = [flags[leaves[:, place]] for place, flags in fact.items()]
            broken |= np.logical_and.reduce(met)
        return broken

    def impossible(self, domain: Sequence[ColumnDomain]) -> Mapping[tuple[int, ...], Flags]:
        """The cells of pairs that facts about two columns empty, by the places of the columns."""
        found: dict[tuple[int, ...], Flags] = {}
        for fact in self.facts:
            if len(fact) == 2:
                pair = tuple(sorted(fact))
                whole = [_whole_cells(domain[place], fact[place]) for place in pair]
                empty = np.logical_and.outer(*whole)
                found[pair] = found.get(pair, np.zeros_like(empty)) | empty
        return found


def _possible(
    facts: Sequence[Mapping[int, Flags]], leaves_of: Sequence[int]
) -> tuple[tuple[int, int], ...]:
    """Leaves that break no fact; raises ``PlanError`` where every row breaks one.

    Leaves of a column that meet the same conditions are of one kind; all combinations of kinds
    are gone through.
    """
    columns = sorted({place for fact in facts for place in fact})
    kinds = []
    for place in columns:
        flags = [fact[place][: leaves_of[place]] for fact in facts if place in fact]
        kinds.append(np.unique(np.stack(flags), axis=1, return_index=True)[1].tolist())
    if np.prod([len(one) for one in kinds], dtype=float) > _MOST_KINDS:
        msg = "zeros has too many conditions to tell what they leave; state fewer facts"
        raise PlanError(msg)
    for leaves in product(*kinds):
        of = dict(zip(columns, leaves, strict=True))
        if not any(all(f[of[place]] for place, f in fact.items()) for fact in facts):
            return tuple(of.items())
    msg = (
        "zeros leaves no row that could be: every combination of values is excluded; take a "
        "fact away, or narrow one by a further condition"
    )
    raise PlanError(msg)


def _whole_cells(column: ColumnDomain, leaves: Flags) -> Flags:
    """The cells all of whose leaves are flagged."""
    present = leaves[:-1]
    starts = column.first[: column.present]
    cells = np.logical_and.reduceat(present, starts)
    return np.append(cells, leaves[-1]) if column.missing else cells


def _read(text: str, domain: Sequence[ColumnDomain]) -> Mapping[int, Flags]:
    """One fact."""
    found: dict[int, Flags] = {}
    for condition in _conditions(text):
        name = condition["quoted"] or condition["name"]
        names = [column.name for column in domain]
        if name not in names:
            alike = [one for one in names if one.casefold() == name.casefold()]
            if len(alike) != 1:
                hint = nearest(name, names)
                msg = f"zeros: {text!r} names the column {name!r}, which is not published{hint}"
                raise PlanError(msg)
            name = alike[0]
        place = names.index(name)
        flags = _met(condition, domain[place], text)
        found[place] = flags & found.get(place, np.ones_like(flags))
    return found


def _conditions(text: str) -> Iterator[re.Match[str]]:
    at = 0
    while True:
        condition = _CONDITION.match(text, at)
        joined = None if condition is None else _AND.match(text, condition.end())
        if condition is None or (joined is None and condition.end() != len(text)):
            msg = (
                f"zeros: {text!r} is no fact: write conditions on columns joined by AND, such as "
                "\"age < 15 AND married = 'yes'\"; write two facts in place of an OR"
            )
            raise PlanError(msg)
        yield condition
        if joined is None:
            return
        at = joined.end()


def _met(condition: re.Match[str], column: ColumnDomain, text: str) -> Flags:
    """Which leaves meet a condition; the missing value last."""
    if column.leaves > _MOST_LEAVES:
        msg = (
            f"zeros: column {column.name!r} has more than {_MOST_LEAVES:,} values; let edges or "
            "intervals have fewer digits"
        )
        raise PlanError(msg)
    met = np.zeros(column.leaves + 1, dtype=np.bool_)
    if condition["null"]:
        negative = "not" in condition["null"].casefold()
        met[:-1], met[-1] = negative, not negative
        return met
    compare = condition["compare"] or "="
    for value in [condition["one"]] if condition["one"] else _values(condition["list"], text):
        met[:-1] |= _compared(column, compare, value, text)
    return met


def _values(listed: str, text: str) -> list[str]:
    found, at = [], 0
    while at < len(listed) and (value := _VALUE.match(listed, at)):
        found.append(value[1])
        at = value.end()
    if not found or at < len(listed):
        msg = f"zeros: {text!r} has a list that cannot be read; write IN ('a', 'b') or IN (1, 2)"
        raise PlanError(msg)
    return found


def _compared(column: ColumnDomain, compare: str, value: str, text: str) -> Flags:
    plain = value[1:-1].replace("''", "'") if value.startswith("'") else value
    equal = compare in {"=", "<>", "!="}
    if column.kind == "text":
        if not equal:
            why = (
                f"are texts and have no order, so {compare} says nothing; write = or <>, or list "
                "the values: IN ('a', 'b')"
            )
            raise _fault(text, f"the values of column {column.name!r} {why}")
        listed = list(column.listed or ())
        if plain not in listed:
            raise _unlisted(text, column, repr(plain), nearest(plain, listed))
        same = np.array([leaf == plain for leaf in listed], dtype=np.bool_)
        return same if compare == "=" else ~same
    number = _number(column, plain)
    if number is None:
        what = "a day such as '2026-01-31'" if column.kind == "date" else "a number"
        raise _fault(text, f"column {column.name!r} is compared with {what}, not {plain!r}")
    if column.listed is not None and equal and number not in column.numbers:
        raise _unlisted(text, column, plain, "")
    return np.asarray(_COMPARE[compare](column.numbers, number))


def _fault(text: str, what: str) -> PlanError:
    return PlanError(f"zeros: {text!r}: {what}")


def _unlisted(text: str, column: ColumnDomain, value: str, hint: str) -> PlanError:
    return _fault(
        text,
        f"{value} is not among the values of column {column.name!r}{hint}; write one of the values "
        f"that [columns.{column.name}] lists, or add it there",
    )


def _number(column: ColumnDomain, plain: str) -> float | None:
    if column.kind == "date":
        try:
            return float((date.fromisoformat(plain) - date(1970, 1, 1)).days)
        except ValueError:
            return None
    found = usable_number(plain, texts=True)
    return None if found is None else float(found)


_COMPONENTS, _STEPS, _FITS = 100, 600, 3
_RATE, _PRIOR, _SPREAD = 0.1, 0.6, 0.8
_FIRST, _SECOND, _TINY = 0.9, 0.999, 1e-8
_FLOOR = 0.3
"""Standard deviations of its noisy count that a cell is taken to have at least, to begin with."""

Singles = NDArray[np.float32]
Impossible = Mapping[ColumnSet, NDArray[np.bool_]]
Earlier = Sequence[NDArray[np.int64]]


@dataclass(frozen=True, eq=False)
class Mixture:
    """A distribution of rows."""

    total: float
    """How many rows there are, estimated."""
    weights: NDArray[np.float64]
    """Shape (components,): they sum to 1."""
    columns: tuple[NDArray[np.float64], ...]
    """For each column, shape (components, cells): the distribution of its cells."""

    @staticmethod
    def fitted(
        measurements: Measurements,
        impossible: Impossible | None = None,
        earlier: Earlier | None = None,
    ) -> Mixture:
        """The mixture that fits measurements.

        ``impossible`` marks cells that public facts empty; ``earlier`` has the counts of an earlier
        release, table by table.
        """
        target = _Target.of(measurements, impossible or {}, earlier)
        fits = [_fit(target, number) for number in range(_FITS)]
        weights = np.concatenate([weight for weight, _ in fits]).astype(np.float64) / _FITS
        cells = np.concatenate([shares for _, shares in fits]).astype(np.float64)
        parts = np.split(cells, target.starts[1:], axis=1)
        columns = tuple(part / part.sum(axis=1, keepdims=True) for part in parts)
        return Mixture(measurements.total, weights / weights.sum(), columns)


@dataclass(frozen=True, eq=False)
class _Target:
    """What a fit is held against: all cells of all columns side by side, V of them."""

    total: np.float32
    starts: NDArray[np.int64]
    """Where the cells of each column begin."""
    column: NDArray[np.int64]
    """Shape (V,): the column of each cell."""
    base: Singles
    """Shape (V,): logarithms of shares."""
    single: Singles
    """Shape (V,): noisy counts of one-way tables."""
    single_weight: Singles
    """Shape (V,): one over their variances."""
    pair: Singles
    """Shape (V, V): noisy counts of pairs, symmetric."""
    pair_weight: Singles
    """Shape (V, V): one over their variances; 0 of what was not measured."""

    @classmethod
    def of(
        cls, measurements: Measurements, impossible: Impossible, earlier: Earlier | None
    ) -> _Target:
        sizes = np.array(measurements.sizes)
        starts = np.cumsum(sizes) - sizes
        slices = [slice(s, s + size) for s, size in zip(starts, sizes, strict=True)]
        cells = int(sizes.sum())
        single, single_weight = np.zeros((2, cells))
        pair, pair_weight = np.zeros((2, cells, cells), dtype=np.float32)
        seen, precision = np.zeros((2, cells))  # of each cell's count, in all tables with it
        for number, one in enumerate(measurements.tables):
            before = None if earlier is None else earlier[number]
            counts, weight = _weighed(one, before, measurements.total)
            for axis, column in enumerate(one.columns):
                across = tuple(other for other in range(counts.ndim) if other != axis)
                share = 1 / (1 / weight).sum(axis=across)
                seen[slices[column]] += counts.sum(axis=across) * share
                precision[slices[column]] += share
            if len(one.columns) == 1:
                single[slices[one.columns[0]]] = counts
                single_weight[slices[one.columns[0]]] = weight
                continue
            a, b = (slices[column] for column in one.columns)
            if (empty := impossible.get(one.columns)) is not None:
                counts, weight = np.where(empty, 0, counts), np.where(empty, 1.0, weight)
            pair[a, b], pair[b, a] = counts, counts.T
            pair_weight[a, b], pair_weight[b, a] = weight, weight.T
        least = _FLOOR / np.sqrt(precision)
        return cls(
            total=np.float32(measurements.total),
            starts=starts,
            column=np.repeat(np.arange(len(sizes)), sizes),
            base=np.log(np.maximum(seen / precision, least)).astype(np.float32),
            single=single.astype(np.float32),
            single_weight=single_weight.astype(np.float32),
            pair=pair,
            pair_weight=pair_weight,
        )

    def shares(self, deviations: Singles) -> Singles:
        """Shape (components, V): the distribution of each column in each component."""
        logits = self.base + deviations
        most = np.maximum.reduceat(logits, self.starts, axis=1)[:, self.column]
        raised = np.exp(logits - most)
        whole = np.add.reduceat(raised, self.starts, axis=1)[:, self.column]
        return np.asarray(raised / whole, dtype=np.float32)

    def gradients(self, weights: Singles, shares: Singles) -> tuple[Singles, Singles]:
        """Of the loss, by logits of cells (components, V) and by weights (components,)."""
        expected = shares * (self.total * weights)[:, np.newaxis]
        gap = expected.T @ shares
        gap -= self.pair
        gap *= self.pair_weight
        by_pairs = shares @ gap
        alone = self.single_weight * (expected.sum(axis=0) - self.single)
        by_weights = self.total * ((shares * by_pairs).sum(axis=1) / 2 + shares @ alone)
        by_shares = expected * (by_pairs + alone)
        mean = np.add.reduceat(by_shares, self.starts, axis=1)[:, self.column]
        return by_shares - shares * mean, by_weights


def _weighed(
    one: Measured, before: NDArray[np.int64] | None, total: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Counts, and one over their variances: of what is measured, and of an earlier release."""
    variance = float(one.variance)
    counts, weight = one.counts.astype(np.float64), np.full(one.counts.shape, 1 / variance)
    if before is None:
        return counts, weight
    known = before * (total / max(int(before.sum()), 1))
    other = 1 / (variance + 2 * known)
    return (counts * weight + known * other) / (weight + other), weight + other


class _Adam:
    """Steps down a gradient (Kingma and Ba 2015)."""

    def __init__(self, like: Singles) -> None:
        self._mean, self._square = np.zeros_like(like), np.zeros_like(like)

    def step(self, place: Singles, gradient: Singles, turn: int, rate: float) -> None:
        """Move a place, in single precision."""
        self._mean += np.float32(1 - _FIRST) * (gradient - self._mean)
        self._square += np.float32(1 - _SECOND) * (gradient * gradient - self._square)
        mean = self._mean / np.float32(1 - _FIRST ** (turn + 1))
        square = self._square / np.float32(1 - _SECOND ** (turn + 1))
        place -= np.float32(rate) * mean / (np.sqrt(square) + np.float32(_TINY))


def _fit(target: _Target, number: int) -> tuple[Singles, Singles]:
    """One fit from a start of its own: weights, and distributions of all columns."""
    start = Randomness.following("dp-synthesis", f"{number}").key("start").generator()
    shape = (_COMPONENTS, len(target.base))
    deviations = start.normal(0, _SPREAD, shape).astype(np.float32)
    logits = np.zeros(_COMPONENTS, dtype=np.float32)
    of_cells, of_weights = _Adam(deviations), _Adam(logits)
    for turn in range(_STEPS):
        rate = _RATE * (1 + np.cos(np.pi * turn / _STEPS)) / 2
        weights, shares = _softmax(logits), target.shares(deviations)
        by_cells, by_weights = target.gradients(weights, shares)
        by_logits = weights * (by_weights - (weights * by_weights).sum())
        of_cells.step(deviations, by_cells + np.float32(_PRIOR) * deviations, turn, rate)
        of_weights.step(logits, by_logits, turn, rate)
    return _softmax(logits), target.shares(deviations)


def _softmax(logits: Singles) -> Singles:
    raised = np.exp(logits - logits.max())
    return np.asarray(raised / raised.sum(), dtype=np.float32)


_ROWS_OF_PART = 1 << 18
_TRIES = 100
Leaves = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class DrawnRows:
    """So many rows of a mixture, none of which breaks a public fact; see ``made_rows``."""

    mixture: Mixture
    domain: Sequence[ColumnDomain]
    facts: PublicFacts
    rows: int
    key: Key
    rows_of_part: int = _ROWS_OF_PART

    def part(self, number: int) -> Leaves:
        """The leaves of the rows of a part, shape (rows, columns), -1 for a missing value."""
        first = number * self.rows_of_part
        count = min(self.rows_of_part, self.rows - first)
        draws = self.key.within(f"{number}").generator()
        weights = self.mixture.weights[np.newaxis]
        sizes = _systematic(np.cumsum(weights, axis=1), np.array([count]), draws)[0]
        ends = np.cumsum(sizes)
        segments = [
            slice(end - n, end) for end, n in zip(ends.tolist(), sizes.tolist(), strict=True)
        ]
        order = draws.permutation(count)
        leaves = np.empty((len(self.domain), count), dtype=np.int64)
        for place, column in enumerate(self.domain):
            each = _systematic(self._ends[place], sizes, draws)
            cells = np.repeat(np.tile(np.arange(len(column)), len(sizes)), each.ravel())
            for segment in segments if place else ():  # rows are permuted anyway
                draws.shuffle(cells[segment])
            leaves[place] = _leaves(column, cells, draws)[order]
        self._mend(leaves.T, draws)
        return leaves.T

    @cached_property
    def _ends(self) -> list[NDArray[np.float64]]:
        """Of each column the cumulative distributions of its cells, shape (components, cells)."""
        return [np.cumsum(shares, axis=1) for shares in self.mixture.columns]

    def _mend(self, leaves: Leaves, draws: Draws) -> None:
        """Draw rows that break a fact again, independently; in place.

        What breaks one for too long becomes like another row, or gets values that break none:
        after noise is paid for, a release ends in rows and not in an error.
        """
        broken = np.flatnonzero(self.facts.broken(leaves))
        for _ in range(_TRIES):
            if not len(broken):
                return
            leaves[broken] = self._independent(len(broken), draws)
            broken = broken[self.facts.broken(leaves[broken])]
        whole = np.flatnonzero(~self.facts.broken(leaves))
        if len(whole):
            leaves[broken] = leaves[draws.choice(whole, len(broken))]
        for place, leaf in () if len(whole) else self.facts.possible:
            leaves[broken, place] = leaf if leaf < self.domain[place].leaves else -1

    def _independent(self, count: int, draws: Draws) -> Leaves:
        component = draws.choice(len(self.mixture.weights), count, p=self.mixture.weights)
        columns = []
        for column, shares in zip(self.domain, self.mixture.columns, strict=True):
            ends = np.cumsum(shares[component], axis=1)
            cells = (ends < draws.uniform(size=(count, 1)) * ends[:, -1:]).sum(axis=1)
            columns.append(_leaves(column, np.minimum(cells, len(column) - 1), draws))
        return np.stack(columns, axis=1)


def _systematic(ends: NDArray[np.float64], counts: Leaves, draws: Draws) -> Leaves:
    """How many of ``counts[k]`` points fall to each place of the k-th distribution.

    ``ends`` are cumulative, shape (distributions, places), and so is what is returned.
    """
    shares = ends / ends[:, -1:]
    points = counts[:, np.newaxis] * shares - draws.uniform(size=(len(counts), 1))
    below = np.clip(np.ceil(points), 0, counts[:, np.newaxis]).astype(np.int64)
    below[:, -1] = counts
    return np.diff(below, axis=1, prepend=0)


def _leaves(column: ColumnDomain, cells: Leaves, draws: Draws) -> Leaves:
    """A leaf of each cell, uniformly."""
    first = column.first[cells]
    return first + draws.integers(0, column.width[cells]) if column.coarse else first
