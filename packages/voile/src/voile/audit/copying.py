"""Copying: people whom a file of rows of nobody fits better than it fits anybody else; private.

An average over thousands says nothing of the few whose rows were copied, whole or nearly.  Each
person of the original and of the control is held against all rows by all columns (``closest``), and
has four scores: what the closest row lacks to a perfect one; how much closer it is than the
closest other person of either side, for who has look-alikes is hidden by them; how much closer
it is than is usual for people as rare as this one; and how rare is what agrees with a row that has
all but two of the person's values (``whole_rows``).  By each set of columns that an outsider may
know there is another score: how rare the person's values are, where a row shows just these.  And
boosted trees, where scikit-learn is installed, learn to tell rows of the file from half of the
people of both sides, and are asked of the other half (``_by_trees``); they are left out where
columns alone tell the sides apart, which they would learn.  Which people of the original the
control does not explain is told by ``beyond``.  Comparing with what a reference fits is the density
ratio of membership inference (van Breugel et al., "Membership inference attacks against synthetic
data through overfitting detection", AISTATS 2023), and a discriminator does it in Hayes et al.,
"LOGAN: Membership inference attacks against generative models" (PoPETs 2019); what is usual for a
person is the calibration of Watson et al., "On the importance of difficulty calibration in
membership inference attacks" (ICLR 2022); rates at few false positives are those of Carlini et al.,
"Membership inference attacks from first principles" (S&P 2022).

Where each row is a person's, as in a file of groups or of columns that are shown as they are, being
in it is no secret, and every person fits: that is for the other risks, attacks and sizes of groups
to judge.  Rows of groups of averages that show the same are left out.

Of too many people some are drawn, half of them those who are rarest.  Cost: see ``closest``; trees
of ``_LEARNT`` rows and as many people.

How well the closest of some rows fits each person, by how rare what agrees is; private.

A row agrees with a person in a column the better the fewer rows are as near to the person's value:
it is worth -log of the share of rows that are at least as near.  So a rare value weighs much, a
frequent one little, and a number next to the person's nearly as much as the same one.  What a row
is worth is added up over columns, as in Fisher's combination of independent tests; the closest row
is the one that is worth most.

Cost: p n m for p people and n rows of m columns; columns of few combinations count as one.

Whether people of one side score higher than those of another by more than chance; private.

Where a file tells of its own people what it tells of everybody, people of the original and of the
control are exchangeable. Of the m highest scores of both sides, m = 8, 11, 16, 22, ..., it is
asked how many are the original's, and held against a binomial distribution under which its people
are ``_TIMES`` as likely to be there, so that a control of another year is not found; by sets of
columns they are not where no column and no two tell the sides apart (``are_alike``). Besides, all
of the highest scores are asked together, each by a weight that its rank tells (``_by_ranks``). One
person alone is told where the score lies so far beyond the control's highest that a tail that falls
like the control's (exponentially) reaches it with less than some probability. Half of ``_ALARM`` is
for this, most of the rest for ranks, over the number of questions of each kind (Bonferroni).  How
many people the control does not explain is a lower bound that holds for all questions at once.  The
rates that are shown of both sides are those of questions that other people chose (``_rates``).

Cost: a sort a score, and the law of a sum of ``_HIGHEST`` weights.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from math import inf
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import special

from voile.attack.protocol import Estimate
from voile.audit.beside import JointCodes, JointColumn, unseen_note, unseen_refusal, whole_rows
from voile.audit.drift import Drift, are_alike
from voile.audit.record import COPYING, ROWS_OF_PEOPLE
from voile.audit.risk import CONTROL, ORIGINAL, FewFalsePositives, Risk, Setting
from voile_base.compiled import njit
from voile_base.ondemand import dataclass, on_demand
from voile_base.randomness import Draws, Randomness

__all__ = ["Copying", "rows_of_people"]

ensemble = on_demand("sklearn.ensemble")

threadpoolctl = on_demand("threadpoolctl")

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
        groups = _together([one.worth.shape[1] for one in self.columns], cells)
        tables = [self.columns[place].worth for place, _ in groups.columns]
        starts = np.cumsum([0, *(table.size for table in tables)])[:-1]
        lines = np.stack(
            [
                start + table.shape[1] * values[place]
                for start, table, (place, _) in zip(starts, tables, groups.columns, strict=True)
            ],
            axis=1,
        )
        flat = np.concatenate([table.ravel() for table in tables])
        if owners is None:
            owners = np.full(len(lines), -1), np.full(groups.rows.shape[1], -2)
        shown = np.concatenate([cell for _, cell in groups.columns])
        return np.asarray(_closest(flat, lines, groups.starts, shown, groups.rows, *owners))


@dataclass(frozen=True, eq=False)
class _Groups:
    """Columns of few cells taken together; the worth of combinations is added up once a person."""

    columns: tuple[tuple[int, NDArray[np.uint32]], ...]
    """Group after group the place of each column, and its cell in each of the combinations."""
    starts: Indices
    """Shape (2, groups + 1): the first column and the first combination of each, and how many."""
    rows: NDArray[np.uint32]
    """Shape (groups, n): the combination of each row, counted on from group to group."""


def _together(sizes: Sequence[int], cells: Sequence[Indices]) -> _Groups:
    """Groups of as few combinations as an eighth of the rows; those of most combinations first."""
    count = len(cells[0])
    groups: list[tuple[list[int], Indices, int]] = []
    for place in np.argsort(sizes, kind="stable"):
        joined = groups[-1][1] * sizes[place] + cells[place] if groups else cells[place]
        seen, code = np.unique(joined, return_inverse=True)
        if groups and len(seen) <= count // 8:
            groups[-1] = [*groups[-1][0], int(place)], code, len(seen)
        else:
            seen, code = np.unique(cells[place], return_inverse=True)
            groups.append(([int(place)], code, len(seen)))
    groups.reverse()
    columns, codes, starts = [], [], [(0, 0)]
    for places, code, combinations_of in groups:
        example = np.empty(combinations_of, dtype=np.int64)
        example[code] = np.arange(count)
        columns += [(place, cells[place][example].astype(np.uint32)) for place in places]
        before, shown = starts[-1]
        codes.append((code + shown).astype(np.uint32))
        starts.append((before + len(places), shown + combinations_of))
    rows = np.stack(codes)
    return _Groups(tuple(columns), np.array(starts).T, rows)


@njit(nogil=True)
def _closest(flat, lines, starts, shown, rows, people, owners):  # type: ignore[no-untyped-def]
    first, ends = starts
    count, width = len(lines), len(ends) - 1
    found = np.zeros(count)
    worths = np.zeros(ends[width], dtype=np.float32)
    total = np.zeros(len(owners), dtype=np.float32)
    for person in range(count):
        worths[:] = 0
        place = 0
        total[:] = 0
        for group in range(width):
            for column in range(first[group], first[group + 1]):
                line = np.uint64(lines[person, column])
                for combination in range(ends[group], ends[group + 1]):
                    worths[combination] += flat[line + shown[place]]
                    place += 1
            code = rows[group]
            for row in range(len(total)):
                total[row] += worths[code[row]]
        most = np.float32(0.0)
        for row in range(len(total)):
            if total[row] > most and owners[row] != people[person]:
                most = total[row]
        found[person] = most
    return found


Floats = NDArray[np.float64]

_ALARM = 0.002
"""The probability with which people are told who are beyond the control by chance alone."""
_MISTAKEN = 0.05
"""The probability with which fewer people are copied than are told, over all questions."""
_TIMES = 1.5
"""How many times as often people of one side may score high who differ as two years do."""
_FIRST = 8
"""How many of the highest scores are looked at first."""
_TAIL, _TAIL_OF = 0.05, 100
"""The share of the control that tells how fast its scores fall, and of how many people at least."""
_PARTS: Mapping[str, float] = {"alone": 0.5, "highest": 0.1, "ranks": 0.4}
"""Of the probability of an alarm, by what is asked."""
_HIGHEST, _FEW, _STEPS = 1_000, 0.005, 16
"""How many people are weighted, for which share of copied people, in how many steps of a nat."""


@dataclass(frozen=True)
class _Excess:
    """People of the original from some score on, beside those of the control."""

    own: int = 0
    other: int = 0
    sizes: tuple[int, int] = (0, 0)
    """How many people were looked at on both sides."""
    probability: float = 1.0
    """That chance tells as much, of one question."""
    score: str = ""
    """Which score was asked."""
    limit: float = inf
    """The score from which on people count."""
    kind: str = "highest"
    """What was asked, of ``_PARTS``."""

    at_least: int = 1
    """How many people of the original the control does not explain, as far as is sure."""

    def counted(self, level: float) -> _Excess:
        """With how many the control does not explain, but with a probability of ``level``.

        Of the people who score as high, others than these are the original's by chance: at most as
        many as beside those of the control are no less probable.
        """
        share = _TIMES * self.sizes[0] / (_TIMES * self.sizes[0] + self.sizes[1])
        others = np.arange(1, self.own + 1)
        chance = special.bdtrc(others - 1.0, others + self.other, share)
        return replace(self, at_least=max(1, self.own - int((chance >= level).sum())))


def _excess_of(
    scores: Mapping[str, tuple[Floats, Floats]], *, alike: bool = False
) -> tuple[_Excess, bool]:
    """What tells most of several scores, of the original and of the control, and whether surely.

    People of one side may score high ``_TIMES`` as often for other reasons; by sets of columns they
    may not where both sides are ``alike``: values that only the file's own people have are rare.
    """
    asked = [
        replace(one, score=score)
        for score, (own, other) in scores.items()
        for one in _asked(
            own,
            other,
            1.0 if alike and score.startswith(_KNOWN) else _TIMES,
            rows=score.startswith((_KNOWN, _NEARLY_WHOLE)),
        )
    ]
    if not asked:
        return _Excess(sizes=next((len(a), len(b)) for a, b in scores.values())), False
    questions = Counter(one.kind for one in asked)
    sure = [o for o in asked if o.probability * questions[o.kind] < _ALARM * _PARTS[o.kind]]
    if sure:
        counted = [one.counted(_MISTAKEN / len(asked)) for one in sure]
        return max(counted, key=lambda one: (one.at_least, -one.probability)), True
    return min(asked, key=lambda one: one.probability), False


def _rates(
    scores: Mapping[str, tuple[Floats, Floats]], draws: Draws, *, alike: bool
) -> tuple[Estimate, Estimate]:
    """The shares of both sides that are told, each half by the question that the other half chose.

    Who is counted had no part in the choice, so that intervals hold however many questions there
    are (cross-fitting).
    """
    sizes = [len(side) for side in next(iter(scores.values()))]
    first = [draws.permutation(size) % 2 == 0 for size in sizes]
    told = np.zeros(2)
    for chosen in (first, [~half for half in first]):
        halves = {
            name: (own[chosen[ORIGINAL]], other[chosen[CONTROL]])
            for name, (own, other) in scores.items()
        }
        question, _ = _excess_of(halves, alike=alike)
        if not question.score:
            continue
        sides = zip(scores[question.score], chosen, strict=True)
        told += [int((side[~half] >= question.limit).sum()) for side, half in sides]
    own, control = (Estimate.of_total(*each) for each in zip(told, sizes, strict=True))
    return own, control


def _asked(own: Floats, other: Floats, times: float, *, rows: bool = False) -> Iterator[_Excess]:
    """Each question of one score.

    ``rows``: whether the score leaps to above 0 for people who have a row that shows just their
    values.  Who has one by coincidence is beyond any tail of people without.
    """
    both = np.sort(np.concatenate((own, other)))[::-1]
    sizes = len(own), len(other)
    if not min(sizes):
        return
    share = times * sizes[0] / (times * sizes[0] + sizes[1])
    tops = [int(_FIRST * 2 ** (step / 2)) for step in range(2 * len(both).bit_length())]
    highest = []
    for limit in dict.fromkeys(float(both[top - 1]) for top in tops if top <= len(both) // 2):
        a, b = int((own >= limit).sum()), int((other >= limit).sum())
        chance = float(special.bdtrc(a - 1, a + b, share)) if a else 1.0
        highest.append(_Excess(a, b, sizes, chance, limit=limit))
    yield from highest
    if highest:
        best = min(highest, key=lambda one: one.probability)
        yield replace(best, probability=_by_ranks(own, other, share), kind="ranks")
    if len(other) >= _TAIL_OF:
        tail = np.sort(other)[::-1][: max(20, int(len(other) * _TAIL))]
        if rows and tail[-1] <= 0:
            return
        falls = float((tail - tail[-1]).mean())
        beyond = (float(own.max()) - float(tail[0])) / falls if falls > 0 else 0.0
        chance = float(np.exp(-max(beyond, 0))) * times * sizes[0] / sizes[1]
        limit = float(np.nextafter(tail[0], inf))
        above = int((own > tail[0]).sum())
        yield _Excess(above, 0, sizes, min(chance, 1.0), limit=limit, kind="alone")


def _by_ranks(own: Floats, other: Floats, share: float) -> float:
    """The probability that people of the original have as high ranks, by the sum of their weights.

    A weight is the logarithm of how many times as likely a person of the rank is the original's
    where ``_FEW`` are copied, beyond the last who is looked at.  Weights know no side, so that the
    sum's law is exact: each whole number of steps is added with the probability ``share``.
    """
    both = np.sort(np.concatenate((own, other)))
    last = min(_TAIL, _HIGHEST / len(both))
    ranks = (1 - np.searchsorted(both, side) / len(both) for side in (own, other))
    logs = (np.log((1 + _FEW / rank) / (1 + _FEW / last)) for rank in ranks)
    mine, others = (np.rint(_STEPS * np.maximum(log, 0)).astype(np.int64) for log in logs)
    law = np.ones(1)
    for weight in np.sort(np.concatenate((mine[mine > 0], others[others > 0]))):
        law = np.concatenate((law, np.zeros(weight))) * (1 - share)
        law[weight:] += law[: len(law) - weight] * (share / (1 - share))
    return min(float(law[mine.sum() :].sum()), 1.0)


def _least_seen(sizes: tuple[int, int]) -> int:
    """How many people of the original, all above the control, are the fewest to be told."""
    first, second = sizes
    if not min(sizes):
        return first + 1
    share = _TIMES * first / (_TIMES * first + second)
    fewest = int(np.ceil(np.log(_ALARM / 50) / np.log(share)))
    return max(_FIRST, int(1.5 * fewest))


_KNOWN = "what is known to"
"""Begins the name of a score by a set of columns."""
_NEARLY_WHOLE = "all columns but two"
"""The score by the best row that has nearly all values of a person."""
_PAIRS = 120_000_000
"""Of a person and a row, that are compared for each side, of more than ``_FEWEST`` people."""
_OF_SOMEBODY = 0.9
"""The share of rows that somebody of the original fits, from which on rows are people's."""
_LOOKED_AT = 400
"""Rows of which that is asked."""
_FEWEST = 1_200
"""People of each side who are compared at least, however many rows there are."""
_FALSE_POSITIVES = (0.01, 0.001)
_SEEN = 0.1
"""The share of people who, copied whole, a control must be able to tell."""
_SAME = 1e-5
"""Relative; sums of agreements in another order differ by less."""
_LEARNT = 20_000
"""Rows of the file from which trees learn, and people of both sides."""
_ROUNDS = 60
"""Of boosting: trees, each of which mends what those before it have missed."""
_TEXTS = 250
"""Different texts of a column, up to which a tree parts them as it likes."""


@dataclass(frozen=True)
class Copying:
    """The risk as audits count it."""

    name: ClassVar[str] = COPYING

    def refusal(self, setting: Setting) -> str | None:
        """It asks for a control, and for rows that are nobody's."""
        if len(setting.names) < 2:
            return "the file shows one column alone"
        refused = ROWS_OF_PEOPLE if rows_of_people(setting) else unseen_refusal(setting.beside)
        if refused is not None:
            return refused
        if len(setting.beside.units) == 1:
            return "nobody is known who was not in the data: no control"
        sizes = setting.beside.people(ORIGINAL), setting.beside.people(CONTROL)
        if (fewest := _least_seen(sizes)) > max(_SEEN * sizes[0], 8):
            return (
                f"a control of {sizes[1]:,} people tells nothing of fewer than {fewest:,} people "
                f"of {sizes[0]:,}"
            )
        return Drift.of(setting.beside).refusal(setting.beside)

    def risks(self, setting: Setting) -> Iterator[Risk]:
        """One, of all columns."""
        setting.progress("copying")
        yield copying(setting.beside, setting.randomness, setting.known)


def copying(
    beside: JointCodes, randomness: Randomness, known: Mapping[str, Sequence[str]] | None = None
) -> Risk:
    """Who of the original is copied, beside the control; ``known`` are sets of columns by name."""
    drift = Drift.of(beside)
    alike = are_alike(beside)
    draws = randomness.key("copying").generator()
    beside = drift.compared(beside, randomness.key("not compared").generator())
    asked, scores = _scores(beside, drift, known or {}, draws, alike=alike)
    excess, sure = _excess_of(scores, alike=alike)
    main, control = _rates(scores, randomness.key("halves").generator(), alike=alike)
    notes = [_said_of(excess)] if sure else []
    if not alike:
        notes.append("the control differs from the original in its columns: no trees have learnt")
    back, more = _excess_of({name: (other, own) for name, (own, other) in scores.items()})
    if more:
        notes.append(f"{back.own:,} people of the control are closer than the original explains")
    notes += [note for note in (drift.note, unseen_note(beside)) if note is not None]
    if excess.sizes[ORIGINAL] < beside.people(ORIGINAL) - drift.left_out[ORIGINAL]:
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
        rates=tuple(FewFalsePositives.best(scores, rate) for rate in _FALSE_POSITIVES),
        rows=_worst_off(excess, asked, scores) if sure else (),
    )


def _said_of(excess: _Excess) -> str:
    """By what people are told, and of how many it is not sure."""
    text = f"what tells most is the score by {excess.score}"
    if doubtful := excess.own - excess.at_least:
        text += f": {excess.own:,} people score as high, {doubtful:,} of them perhaps by chance"
    return text


def _worst_off(
    excess: _Excess, asked: Indices, scores: Mapping[str, tuple[Floats, Floats]]
) -> tuple[int, ...]:
    """Rows of the original, from 0, that tell most, the highest first, as many as are sure.

    So many people are copied, most likely these; of no single one of them is it sure.
    """
    own = scores[excess.score][ORIGINAL]
    order = np.argsort(-own, kind="stable")[: excess.at_least]
    return tuple(int(asked[place]) for place in order if own[place] >= excess.limit)


def rows_of_people(setting: Setting) -> bool:
    """Whether each row of the file is a person's, as far as other columns than sensitive tell."""
    columns = setting.beside.columns
    if any(c.how == "synthetic" for c in columns):
        return False
    if any(c.is_near and c.name not in setting.sensitive for c in columns):
        return False
    asked = [c for c in columns if not c.is_near and c.how != "permuted"]
    if not asked:  # nobody fits rows of which all columns were permuted
        return any(c.how != "permuted" for c in columns)
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


def _scores(
    beside: JointCodes,
    drift: Drift,
    known: Mapping[str, Sequence[str]],
    draws: Draws,
    *,
    alike: bool,
) -> tuple[Indices, dict[str, tuple[Floats, Floats]]]:
    """Scores of people of both sides, each person the best of the person's rows.

    Besides, a row of each person of the original, shape (p,).  Trees are asked of sides that are
    ``alike``.
    """
    columns, kept = beside.columns, beside.rows_alone
    nearest = _nearest(columns)
    cells = [column.cell[kept] for column in columns]
    as_cells = [column.as_cell for column in columns]
    every = [[column.value[side] for column in columns] for side in (ORIGINAL, CONTROL)]
    most = [nearest.most(values) for values in every]
    asked = _asked_rows(beside, drift, most, len(kept), draws)
    reference = [
        [shown[code[rows]] for shown, code in zip(as_cells, values, strict=True)]
        for values, rows in zip(every, asked, strict=True)
    ]
    units = [unit[rows] for unit, rows in zip(beside.units, asked, strict=True)]
    fits, closer = [], []
    for side, rows in enumerate(asked):
        values, unit = [value[rows] for value in every[side]], units[side]
        fits.append(nearest.closest(values, cells))
        among = [
            nearest.closest(values, shown, (unit, units[at]))
            if at == side
            else nearest.closest(values, shown)
            for at, shown in enumerate(reference)
        ]
        closer.append(fits[side] - np.maximum(*among))
    best = [worth[rows] for worth, rows in zip(most, asked, strict=True)]
    by_row = {
        "a perfect row": [fit - worth for fit, worth in zip(fits, best, strict=True)],
        "other people": closer,
        "people as rare": _unusual(fits, best),
    }
    if alike and find_spec("sklearn"):
        by_row["boosted trees"] = _by_trees(beside, kept, asked, draws)
    as_shown = [column for column in columns if not column.is_near]
    for some in (columns, as_shown)[: 2 if len(as_shown) < len(columns) else 1]:
        if (agreeing := whole_rows(some, kept, asked)) is not None:
            by_row[f"{_NEARLY_WHOLE} of {len(some)}"] = agreeing
    for name, names in known.items():
        some = [c for c in columns if c.name in names]
        if 1 < len(some) < len(columns):
            by_row[f"{_KNOWN} {name}"] = _exactly(some, kept, asked)
    found = {}
    for name, (own, other) in by_row.items():
        found[name] = _of_persons(units[0], own), _of_persons(units[1], other)
    return asked[ORIGINAL][np.unique(units[ORIGINAL], return_index=True)[1]], found


def _nearest(columns: Sequence[JointColumn]) -> _NearestRows:
    return _NearestRows(
        tuple(
            _Agreement.of(c.near, np.bincount(c.cell, minlength=c.covers.shape[1])) for c in columns
        )
    )


def _unusual(fits: Sequence[Floats], most: Sequence[Floats]) -> list[Floats]:
    """How far the closest row is beyond what is usual for people to whom one is worth as much.

    What is usual is a parabola through both sides, and so is told to neither; in standard errors.
    """
    worth, fit = np.concatenate(most), np.concatenate(fits)
    unit = float(worth.std()) or 1.0
    sides = [(side - worth.mean()) / unit for side in most]
    known = np.vander(np.concatenate(sides), 3)
    usual = np.linalg.lstsq(known, fit, rcond=None)[0]
    apart = np.abs(fit - known @ usual)
    scale = np.linalg.lstsq(known[:, 1:], apart, rcond=None)[0]
    least = 0.1 * float(apart.mean()) or 1.0
    return [
        (side - np.vander(at, 3) @ usual) / np.maximum(np.vander(at, 2) @ scale, least)
        for side, at in zip(fits, sides, strict=True)
    ]


def _by_trees(
    beside: JointCodes, kept: Indices, asked: Sequence[Indices], draws: Draws
) -> list[Floats]:
    """How sure trees are that people are rows of the file, who have seen others (cross-fitting).

    Half of the persons of each side are the reference of trees that are asked of the other half, so
    that persons of both sides whom the file does not know are exchangeable.  Both sides are worth
    as much in the reference as the file: so what is peculiar to the original's half in it, and
    therefore to the file, too, is not taken for what is peculiar to the other half.
    """
    columns, sides = beside.columns, (ORIGINAL, CONTROL)
    people = [[c.as_cell[c.value[side]] for c in columns] for side in sides]
    first = [
        (draws.permutation(beside.people(side)) % 2 == 0)[beside.units[side]] for side in sides
    ]
    rows = kept[draws.permutation(len(kept))[:_LEARNT]]
    shown = _features(columns, [column.cell[rows] for column in columns])
    kinds = [c.numbers is None and c.covers.shape[1] <= _TEXTS for c in columns]
    found = [np.zeros(len(some)) for some in asked]
    for half in (False, True):
        seen = [draws.permutation(np.flatnonzero(one == half))[: _LEARNT // 2] for one in first]
        others = [
            _features(columns, [cell[some] for cell in cells])
            for cells, some in zip(people, seen, strict=True)
        ]
        trees = ensemble.HistGradientBoostingClassifier(
            max_iter=_ROUNDS,
            categorical_features=kinds,
            early_stopping=False,
            random_state=int(draws.integers(2**31)),
        )
        weights = [len(shown), *(len(shown) / 2 for _ in sides)]
        sizes = [len(shown), *map(len, others)]
        share = np.repeat([w / max(n, 1) for w, n in zip(weights, sizes, strict=True)], sizes)
        # Several threads on matrices this small cost many times the work beside other work.
        with threadpoolctl.threadpool_limits(1):
            trees.fit(np.concatenate((shown, *others)), np.repeat([1, 0, 0], sizes), share)
            for side in sides:
                new = np.flatnonzero(first[side][asked[side]] != half)
                cells = [cell[asked[side][new]] for cell in people[side]]
                if len(new):
                    found[side][new] = trees.decision_function(_features(columns, cells))
    return found


def _features(columns: Sequence[JointColumn], cells: Sequence[Indices]) -> Floats:
    both = zip(columns, cells, strict=True)
    return np.stack([column.as_numbers(cell) for column, cell in both], axis=1)


def _exactly(
    columns: Sequence[JointColumn], kept: Indices, asked: Sequence[Indices]
) -> list[Floats]:
    """How rare the values are of people who have a row that shows just these; below 0 without."""
    nearest, cells = _nearest(columns), [column.cell[kept] for column in columns]
    found = []
    for side, rows in enumerate(asked):
        values = [column.value[side][rows] for column in columns]
        most = nearest.most(values)
        lacks = nearest.closest(values, cells) - most
        found.append(np.where(lacks > -_SAME * np.maximum(most, 1), most, lacks))
    return found


def _asked_rows(
    beside: JointCodes, drift: Drift, most: Sequence[Floats], rows: int, draws: Draws
) -> list[Indices]:
    """Rows of people of both sides that are looked at: all, or half the rarest and half others.

    Without those of whom the control tells nothing.
    """
    count = max(_FEWEST, _PAIRS // max(rows, 1))
    # The rarest by what a row is worth to them at most, from the same limit on for both sides.
    sides = zip(most, beside.units, strict=True)
    best = [_of_persons(unit, score) for score, unit in sides]
    size = max(map(len, best))
    if size <= count:
        return [np.flatnonzero(~out) for out in drift.rows]
    limit = np.quantile(np.concatenate(best), 1 - count / 2 / size)
    chosen = []
    for unit, score, out in zip(beside.units, best, drift.rows, strict=True):
        drawn = draws.uniform(size=len(score)) < count / 2 / size
        chosen.append(np.flatnonzero(((score > limit) | drawn)[unit] & ~out))
    return chosen


def _of_persons(unit: Indices, score: Floats) -> Floats:
    """The best score of the rows of each person, in the order of their numbers."""
    persons, place = np.unique(unit, return_inverse=True)
    found = np.full(len(persons), -np.inf)
    np.maximum.at(found, place, score)
    return found
