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
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from voile.attack.protocol import Estimate
from voile.audit.beside import JointCodes, JointColumn
from voile.audit.beyond import excess_of, least_seen
from voile.audit.closest import Agreement, NearestRows
from voile.audit.likeness import DistinctRows
from voile.audit.record import COPYING, ROWS_OF_PEOPLE
from voile.audit.registry import Setting
from voile.audit.risk import CONTROL, ORIGINAL, Risk
from voile_base.randomness import Draws, Randomness

__all__ = ["Copying"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

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
        if (fewest := least_seen(sizes)) > max(_SEEN * sizes[0], 8):
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
    excess, sure = excess_of(scores)
    main, control = excess.rates
    notes = [_at_few_false_positives(*each, name) for name, each in scores.items()]
    back, more = excess_of({name: (other, own) for name, (own, other) in scores.items()})
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
    nearest = NearestRows(
        tuple(
            Agreement.of(c.near, np.bincount(c.cell, minlength=c.covers.shape[1])) for c in columns
        )
    )
    cells = [column.cell[kept] for column in columns]
    as_cells = [column.as_cell for column in columns]
    every = [[column.value[side] for column in columns] for side in (ORIGINAL, CONTROL)]
    most = [nearest.most(values) for values in every]
    asked = _asked(beside, most, len(kept), draws)
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


def _asked(beside: JointCodes, most: Sequence[Floats], rows: int, draws: Draws) -> list[Indices]:
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
