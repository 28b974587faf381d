"""Copying: people whom a file of rows of nobody fits better than it fits anybody else; private.

An average over thousands says nothing of the few whose rows were copied, whole or nearly.  Each
person of the original and of the control is held against all rows by all columns (``closest``), and
has two scores: what the closest row lacks to a perfect one; and how much closer it is than the
closest other person of either side, for who has look-alikes is hidden by them.  Which people of the
original the control does not explain is told by ``beyond``.  Comparing with what a reference fits
is the density ratio of membership inference (van Breugel et al., "Membership inference attacks
against synthetic data through overfitting detection", AISTATS 2023); rates at few false positives
are those of Carlini et al., "Membership inference attacks from first principles" (S&P 2022).

Where each row is a person's, as in a file of groups or of columns that are shown as they are, being
in it is no secret, and every person fits: that is for the other risks, attacks and sizes of groups
to judge.  Rows of groups of averages that show the same are left out.

Of too many people some are drawn, half of them those who are rarest.  Cost: see ``closest``.

How well the closest of some rows fits each person, by how rare what agrees is; private.

A row agrees with a person in a column the better the fewer rows are as near to the person's value:
it is worth -log of the share of rows that are at least as near.  So a rare value weighs much, a
frequent one little, and a number next to the person's nearly as much as the same one.  What a row
is worth is added up over columns, as in Fisher's combination of independent tests; the closest row
is the one that is worth most.

Cost: p n m for p people and n rows of m columns at worst; rows are given up as soon as the columns
that are left cannot make them the closest.

Whether people of one side score higher than those of another by more than chance; private.

Where a file tells of its own people what it tells of everybody, people of the original and of the
control are exchangeable. Of the m highest scores of both sides, m = 8, 11, 16, 22, ..., it is
asked how many are the original's, and held against a binomial distribution under which its people
are ``_TIMES`` as likely to be there: a control of another year is not found. The least
probability is held against ``_ALARM`` over the number of questions (Bonferroni). One person alone
is told where the score lies so far beyond the control's highest that a tail that falls like the
control's (exponentially) reaches it with less than that probability.

Cost: a sort a score.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import special

from voile.attack.protocol import Estimate
from voile.audit.beside import DistinctRows, JointCodes, JointColumn
from voile.audit.record import COPYING, ROWS_OF_PEOPLE
from voile.audit.risk import CONTROL, ORIGINAL, Risk, Setting
from voile_base.compiled import njit
from voile_base.randomness import Draws, Randomness

__all__ = ["Copying"]


Scores = NDArray[np.float32]
Indices = NDArray[np.int64]

_LEVELS = 256
_LEAST = 0.02
"""How near two values are that have nothing to do with each other."""


@dataclass(frozen=True, eq=False)
class _Agreement:
    """What it is worth that a cell stands beside a value, in one column."""

    worth: Scores
    """Shape (v, g), at least 0."""

    @classmethod
    def of(cls, near: NDArray[np.floating], rows: Indices) -> _Agreement:
        """From how near each of g cells is to each of v values, and how many rows show each cell.

        ``near`` is between 0 and 1; below ``_LEAST`` nothing is told apart.
        """
        far = -np.log(np.maximum(near, _LEAST)) / -np.log(_LEAST)
        level = np.ceil(far * (_LEVELS - 1) - 1e-4).astype(np.int64)
        values = len(level)
        place = np.arange(values)[:, np.newaxis] * _LEVELS + level
        weights = np.broadcast_to(rows / max(rows.sum(), 1), level.shape)
        share = np.bincount(place.ravel(), weights.ravel(), values * _LEVELS)
        as_near = np.cumsum(share.reshape(values, _LEVELS), axis=1)
        least = 1 / max(int(rows.sum()), 1)
        worth = -np.log(np.clip(as_near.ravel()[place], least, 1))
        return cls(worth.astype(np.float32))


@dataclass(frozen=True, eq=False)
class _NearestRows:
    """Agreements of some columns, in which people are held against rows."""

    columns: tuple[_Agreement, ...]

    def most(self, values: Sequence[Indices]) -> NDArray[np.float64]:
        """Shape (p,): what a row is worth at most to each of p people; ``values`` by column."""
        each = (c.worth.max(axis=1)[value] for c, value in zip(self.columns, values, strict=True))
        total: NDArray[np.float64] = np.sum([one.astype(np.float64) for one in each], axis=0)
        return total

    def closest(
        self,
        values: Sequence[Indices],
        cells: Sequence[Indices],
        owners: tuple[Indices, Indices] | None = None,
    ) -> NDArray[np.float64]:
        """Shape (p,): what the closest of n rows is worth to each of p people.

        ``values`` and ``cells`` are codes by column.  ``owners``: who each of the people is, and
        whose each row is; one's own rows are left out.  Without any rows it is 0.
        """
        order = np.argsort([-float(one.worth.max(initial=0)) for one in self.columns])
        tables = [self.columns[place].worth for place in order]
        starts = np.cumsum([0, *(table.size for table in tables)])[:-1]
        widths = np.array([table.shape[1] for table in tables])
        flat = np.concatenate([table.ravel() for table in tables])
        best = np.stack([t.max(axis=1)[values[p]] for t, p in zip(tables, order, strict=True)], 1)
        lines = np.stack(
            [s + w * values[p] for s, w, p in zip(starts, widths, order, strict=True)], axis=1
        )
        rows = np.stack([cells[place] for place in order], axis=1).astype(np.int32)
        if owners is None:
            owners = np.full(len(lines), -1), np.full(len(rows), -2)
        return np.asarray(_closest(flat, lines, best.astype(np.float32), rows, *owners))


@njit(nogil=True)
def _closest(flat, lines, best, rows, people, owners):  # type: ignore[no-untyped-def]
    count, width = lines.shape
    found = np.zeros(count)
    for person in range(count):
        left = np.zeros(width + 1, dtype=np.float32)
        for column in range(width - 1, -1, -1):
            left[column] = left[column + 1] + best[person, column]
        most = np.float32(0.0)
        for row in range(rows.shape[0]):
            if owners[row] == people[person]:
                continue
            worth = np.float32(0.0)
            for column in range(width):
                worth += flat[lines[person, column] + rows[row, column]]
                if worth + left[column + 1] <= most:
                    break
            most = max(most, worth)
        found[person] = most
    return found


Floats = NDArray[np.float64]

_ALARM = 0.002
"""The probability with which people are told who are beyond the control by chance alone."""
_TIMES = 1.5
"""How many times as often people of one side may score high who differ as two years do."""
_FIRST = 8
"""How many of the highest scores are looked at first."""
_TAIL, _TAIL_OF = 0.05, 100
"""The share of the control that tells how fast its scores fall, and of how many people at least."""


@dataclass(frozen=True)
class _Excess:
    """People of the original from some score on, beside those of the control."""

    own: int = 0
    other: int = 0
    sizes: tuple[int, int] = (0, 0)
    """How many people were looked at on both sides."""
    probability: float = 1.0
    """That chance tells as much, of one question."""

    @property
    def rates(self) -> tuple[Estimate, Estimate]:
        """The shares of both sides."""
        first, second = self.sizes
        return Estimate.of_total(self.own, first), Estimate.of_total(self.other, second)

    @property
    def at_least(self) -> int:
        """How many people of the original the control does not explain, as far as is sure."""
        return max(1, int(self.own - self.sizes[0] * self.rates[1].high))


def _excess_of(scores: Mapping[str, tuple[Floats, Floats]]) -> tuple[_Excess, bool]:
    """What tells most of several scores, of the original and of the control, and whether surely."""
    asked = [one for own, other in scores.values() for one in _asked(own, other)]
    if not asked:
        return _Excess(sizes=next((len(a), len(b)) for a, b in scores.values())), False
    sure = [one for one in asked if one.probability * len(asked) < _ALARM]
    if sure:
        return max(sure, key=lambda one: one.at_least), True
    return min(asked, key=lambda one: one.probability), False


def _asked(own: Floats, other: Floats) -> Iterator[_Excess]:
    """Each question of one score."""
    both = np.sort(np.concatenate((own, other)))[::-1]
    sizes = len(own), len(other)
    if not min(sizes):
        return
    share = _TIMES * sizes[0] / (_TIMES * sizes[0] + sizes[1])
    tops = [int(_FIRST * 2 ** (step / 2)) for step in range(2 * len(both).bit_length())]
    for limit in dict.fromkeys(float(both[top - 1]) for top in tops if top <= len(both) // 2):
        a, b = int((own >= limit).sum()), int((other >= limit).sum())
        yield _Excess(a, b, sizes, float(special.bdtrc(a - 1, a + b, share)) if a else 1.0)
    if len(other) >= _TAIL_OF:
        tail = np.sort(other)[::-1][: max(20, int(len(other) * _TAIL))]
        falls = float((tail - tail[-1]).mean())
        beyond = (float(own.max()) - float(tail[0])) / falls if falls > 0 else 0.0
        chance = float(np.exp(-max(beyond, 0))) * _TIMES * sizes[0] / sizes[1]
        yield _Excess(int((own > tail[0]).sum()), 0, sizes, min(chance, 1.0))


def _least_seen(sizes: tuple[int, int]) -> int:
    """How many people of the original, all above the control, are the fewest to be told."""
    first, second = sizes
    if not min(sizes):
        return first + 1
    share = _TIMES * first / (_TIMES * first + second)
    fewest = int(np.ceil(np.log(_ALARM / 50) / np.log(share)))
    return max(_FIRST, int(1.5 * fewest))


_PAIRS = 120_000_000
"""Of a person and a row, that are compared at most for each side."""
_OF_SOMEBODY = 0.9
"""The share of rows that somebody of the original fits, from which on rows are people's."""
_LOOKED_AT = 400
"""Rows of which that is asked."""
_GROUP = 3
"""Rows that show the same averages, from which on they are a group."""
_FALSE_POSITIVES = (0.01, 0.001)
_SEEN = 0.1
"""The share of people who, copied whole, a control must be able to tell."""
_NEAR = {"noisy", "averaged"}


@dataclass(frozen=True)
class Copying:
    """The risk as audits count it."""

    name: ClassVar[str] = COPYING

    def refusal(self, setting: Setting) -> str | None:
        """It asks for a control, and for rows that are nobody's."""
        if len(setting.names) < 2:
            return "the file shows one column alone"
        if _rows_of_people(setting) or not len(_candidates(setting.beside)):
            return ROWS_OF_PEOPLE
        if len(setting.beside.units) == 1:
            return "nobody is known who was not in the data: no control"
        sizes = setting.beside.people(ORIGINAL), setting.beside.people(CONTROL)
        if (fewest := _least_seen(sizes)) > max(_SEEN * sizes[0], 8):
            return (
                f"a control of {sizes[1]:,} people tells nothing of fewer than {fewest:,} people "
                f"of {sizes[0]:,}"
            )
        return None

    def risks(self, setting: Setting) -> Iterator[Risk]:
        """One, of all columns."""
        setting.progress("copying")
        yield copying(setting.beside, setting.randomness)


def copying(beside: JointCodes, randomness: Randomness) -> Risk:
    """Who of the original is copied, beside the control."""
    scores = _scores(beside, randomness.key("copying").generator())
    excess, sure = _excess_of(scores)
    main, control = excess.rates
    notes = [_at_few_false_positives(*each, name) for name, each in scores.items()]
    back, more = _excess_of({name: (other, own) for name, (own, other) in scores.items()})
    if more:
        notes.append(f"{back.own:,} people of the control are closer than the original explains")
    if min(excess.sizes) < min(beside.people(ORIGINAL), beside.people(CONTROL)):
        notes.append("people were drawn, half of them those who are rarest")
    return Risk(
        COPYING,
        "all columns",
        "the closest row fits better than that of nearly all people of the control",
        excess.sizes[ORIGINAL],
        main,
        control,
        Estimate.exactly(control.value),
        tuple(notes),
        persons=excess.at_least if sure else 0,
        reversed=more,
    )


def _at_few_false_positives(own: Floats, other: Floats, score: str) -> str:
    shares = []
    for rate in _FALSE_POSITIVES:
        limit = np.sort(other)[::-1][min(int(rate * len(other)), len(other) - 1)]
        shares.append(f"{(own > limit).mean():.2%} of the original beyond all but {rate:.1%}")
    return f"{score}: {', '.join(shares)} of the control"


def _rows_of_people(setting: Setting) -> bool:
    """Whether each row of the file is a person's, as far as other columns than sensitive tell."""
    columns = setting.beside.columns
    if any(c.how == "synthetic" for c in columns):
        return False
    if any(c.how in _NEAR and c.name not in setting.sensitive for c in columns):
        return False
    asked = [c for c in columns if c.how not in {*_NEAR, "permuted"}]
    if not asked:
        return True
    draws = setting.randomness.key("rows of people").generator()
    rows = draws.permutation(setting.beside.rows)[:_LOOKED_AT]
    return float(np.mean([_somebody_fits(asked, row) for row in rows])) >= _OF_SOMEBODY


def _somebody_fits(columns: Sequence[JointColumn], row: int) -> bool:
    left: Indices | None = None
    for column in columns:
        fits = column.covers[:, column.cell[row]]
        value = column.value[ORIGINAL]
        left = np.flatnonzero(fits[value]) if left is None else left[fits[value[left]]]
    return left is None or bool(len(left))


def _candidates(beside: JointCodes) -> Indices:
    """The rows that are of no group of averages."""
    averaged = [column for column in beside.columns if column.how == "averaged"]
    if not averaged:
        return np.arange(beside.rows)
    rows = DistinctRows.of(averaged)
    return np.flatnonzero(rows.count[rows.place] < _GROUP)


def _scores(beside: JointCodes, draws: Draws) -> dict[str, tuple[Floats, Floats]]:
    """Two scores of people of both sides, each person the best of the person's rows."""
    columns, kept = beside.columns, _candidates(beside)
    nearest = _NearestRows(
        tuple(
            _Agreement.of(c.near, np.bincount(c.cell, minlength=c.covers.shape[1])) for c in columns
        )
    )
    cells = [column.cell[kept] for column in columns]
    as_cells = [column.as_cell for column in columns]
    every = [[column.value[side] for column in columns] for side in (ORIGINAL, CONTROL)]
    most = [nearest.most(values) for values in every]
    asked = _asked_rows(beside, most, len(kept), draws)
    reference = [
        [shown[code[rows]] for shown, code in zip(as_cells, values, strict=True)]
        for values, rows in zip(every, asked, strict=True)
    ]
    lacks, closer = [], []
    for side, rows in enumerate(asked):
        values, unit = [value[rows] for value in every[side]], beside.units[side][rows]
        fits = nearest.closest(values, cells)
        among = [
            nearest.closest(values, shown, (unit, beside.units[at][asked[at]]))
            if at == side
            else nearest.closest(values, shown)
            for at, shown in enumerate(reference)
        ]
        lacks.append(_of_persons(unit, fits - most[side][rows]))
        closer.append(_of_persons(unit, fits - np.maximum(*among)))
    return {"a perfect row": (lacks[0], lacks[1]), "other people": (closer[0], closer[1])}


def _asked_rows(
    beside: JointCodes, most: Sequence[Floats], rows: int, draws: Draws
) -> list[Indices]:
    """Rows of people of both sides that are looked at: all, or half the rarest and half others."""
    count = max(_LOOKED_AT, _PAIRS // max(rows, 1))
    # The rarest by what a row is worth to them at most, from the same limit on for both sides.
    sides = zip(most, beside.units, strict=True)
    best = [_of_persons(unit, score) for score, unit in sides]
    size = max(map(len, best))
    if size <= count:
        return [np.arange(len(unit)) for unit in beside.units]
    limit = np.quantile(np.concatenate(best), 1 - count / 2 / size)
    chosen = []
    for unit, score in zip(beside.units, best, strict=True):
        drawn = draws.uniform(size=len(score)) < count / 2 / size
        chosen.append(np.flatnonzero(((score > limit) | drawn)[unit]))
    return chosen


def _of_persons(unit: Indices, score: Floats) -> Floats:
    """The best score of the rows of each person, in the order of their numbers."""
    persons, place = np.unique(unit, return_inverse=True)
    found = np.full(len(persons), -np.inf)
    np.maximum.at(found, place, score)
    return found
