"""Whether people of one side score higher than those of another by more than chance; private.

Where a file tells of its own people what it tells of everybody, people of the original and of the
control are exchangeable. Of the m highest scores of both sides, m = 8, 11, 16, 22, ..., it is
asked how many are the original's, and held against a binomial distribution under which its people
are ``TIMES`` as likely to be there, so that a control of another year is not found; where no column
and no two tell the sides apart (``are_alike``), ``_TIMES_ALIKE``, and by sets of columns as likely
as others. Besides, all
of the highest scores are asked together, each by a weight that its rank tells (``_by_ranks``). One
person alone is told where the score lies so far beyond the control's highest that a tail that falls
like the control's (exponentially) reaches it with less than some probability. Half of ``ALARM`` is
for this, most of the rest for ranks, over the number of questions of each kind (Bonferroni).  How
many people the control does not explain is a lower bound that holds for all questions at once.  The
rates that are shown of both sides are those of questions that others chose (``Excess.rates``).

Cost: a sort a score, and the law of a sum of ``_HIGHEST`` weights.

How well the closest of some rows fits each person, by how rare what agrees is; private.

A row agrees with a person in a column the better the fewer rows are as near to the person's value:
it is worth -log of the share of rows that are at least as near.  So a rare value weighs much, a
frequent one little, and a number next to the person's nearly as much as the same one.  What a row
is worth is added up over columns, as in Fisher's combination of independent tests; the closest row
is the one that is worth most.

The likelihood ratio of a person: how much likelier the nearest rows are if they are drawn around
all people than if around all others, by kernels that are products of nearness over columns (Ward,
Wang and Cheng, "Privacy auditing synthetic data release through local likelihood attacks", 2025:
Gen-LRA; here with kernels for columns of all kinds, and with both sides as the reference).

Cost: p n m for p people and n rows of m columns; columns of few combinations count as one.

Whether a few rows of two files are the same people's, or nearly.  Of pairs of rows that alone are
alike in all columns, or in all but one, chance divides a known share between the files.  Who puts
copies of rows of one file into the other divides more of them, and chance makes few of rare values:
so the rarest m are asked, m = 8, 11, 16, ..., by a binomial distribution (Bonferroni).  Files in
which repeated rows were left out have no undivided pairs of all columns; those are asked there only
where pairs of all but one column do not explain them.

Cost: a sort of the rows for each column.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from math import inf

import numpy as np
from numpy.typing import NDArray
from scipy import special

from voile.attack.protocol import Estimate
from voile.audit.beside import CONTROL, LEAST, ORIGINAL, JointColumn
from voile_base.compiled import njit
from voile_base.ondemand import dataclass
from voile_base.randomness import Draws

__all__ = [
    "ALARM",
    "BY_KNOWN",
    "BY_LIKELIHOOD",
    "BY_NEARLY_WHOLE",
    "TIMES",
    "AlikePairs",
    "Excess",
    "NearestRows",
]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

BY_KNOWN = "what is known to"
"""Begins the name of a score by a set of columns."""
BY_LIKELIHOOD = "rows with and without"
"""The score by how much likelier rows are with a person: of few rows its tail falls by no law, so
that nobody is told alone by it."""
BY_NEARLY_WHOLE = "all columns but two"
"""The score by the best row that has nearly all values of a person."""
ALARM = 0.002
"""The probability with which people are told who are beyond the control by chance alone."""
_MISTAKEN = 0.05
"""The probability with which fewer people are copied than are told, over all questions."""
TIMES = 1.5
"""How many times as often people of one side may score high who differ as two years do."""
_TIMES_ALIKE = 1.1
"""The same where no column and no two tell the sides apart."""
_FIRST = 8
"""How many of the highest scores are looked at first."""
_TAIL, _TAIL_OF = 0.05, 100
"""The share of the control that tells how fast its scores fall, and of how many people at least."""
_HEAPED = 0.1
"""The median of a tail over its mean, below which most of it is one value, and no law tells how the
rest falls; of an exponential tail it is 0.69."""
_PARTS: Mapping[str, float] = {"alone": 0.5, "highest": 0.1, "ranks": 0.4}
"""Of the probability of an alarm, by what is asked."""
_HIGHEST, _FEW, _STEPS = 1_000, 0.005, 16
"""How many people are weighted, for which share of copied people, in how many steps of a nat."""


@dataclass(frozen=True)
class Excess:
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
    times: float = TIMES
    """How many times as often people of the original may score high for other reasons."""
    at_least: int = 1
    """How many people of the original the control does not explain, as far as is sure."""

    def counted(self, level: float) -> Excess:
        """With how many the control does not explain, but with a probability of ``level``.

        Of the people who score as high, others than these are the original's by chance: at most as
        many as beside those of the control are no less probable.
        """
        share = self.times * self.sizes[0] / (self.times * self.sizes[0] + self.sizes[1])
        others = np.arange(1, self.own + 1)
        chance = special.bdtrc(others - 1.0, others + self.other, share)
        return replace(self, at_least=max(1, self.own - int((chance >= level).sum())))

    @classmethod
    def of(
        cls, scores: Mapping[str, tuple[Floats, Floats]], *, alike: bool = False
    ) -> tuple[Excess, bool]:
        """What tells most of several scores, of the original and of the control, and if surely.

        People of one side may score high ``TIMES`` as often for other reasons, ``_TIMES_ALIKE``
        where both sides are ``alike``; by sets of columns they may not then: values that only the
        file's own people have are rare.
        """
        asked = []
        for score, (own, other) in scores.items():
            times = TIMES if not alike else 1.0 if score.startswith(BY_KNOWN) else _TIMES_ALIKE
            leaps = score.startswith((BY_KNOWN, BY_NEARLY_WHOLE))
            found = _asked(own, other, times, rows=leaps)
            asked += [
                replace(one, score=score, times=times)
                for one in found
                if (one.kind, score) != ("alone", BY_LIKELIHOOD)
            ]
        if not asked:
            return cls(sizes=next((len(a), len(b)) for a, b in scores.values())), False
        questions = Counter(one.kind for one in asked)
        sure = [o for o in asked if o.probability * questions[o.kind] < ALARM * _PARTS[o.kind]]
        if sure:
            counted = [one.counted(_MISTAKEN / len(asked)) for one in sure]
            return max(counted, key=lambda one: (one.at_least, -one.probability)), True
        return min(asked, key=lambda one: one.probability), False

    @classmethod
    def rates(
        cls, scores: Mapping[str, tuple[Floats, Floats]], draws: Draws, *, alike: bool
    ) -> tuple[Estimate, Estimate]:
        """The shares of both sides that are told, each half by the question that the other chose.

        Who is counted had no part in the choice, so that intervals hold however many questions
        there are (cross-fitting).
        """
        sizes = [len(side) for side in next(iter(scores.values()))]
        first = [draws.permutation(size) % 2 == 0 for size in sizes]
        told = np.zeros(2)
        for chosen in (first, [~half for half in first]):
            halves = {
                name: (own[chosen[ORIGINAL]], other[chosen[CONTROL]])
                for name, (own, other) in scores.items()
            }
            question, _ = cls.of(halves, alike=alike)
            if not question.score:
                continue
            sides = zip(scores[question.score], chosen, strict=True)
            told += [int((side[~half] >= question.limit).sum()) for side, half in sides]
        own, control = (Estimate.of_total(*each) for each in zip(told, sizes, strict=True))
        return own, control

    @staticmethod
    def fewest(sizes: tuple[int, int]) -> int:
        """How many people of the original, all above the control, are the fewest to be told."""
        first, second = sizes
        if not min(sizes):
            return first + 1
        share = TIMES * first / (TIMES * first + second)
        fewest = int(np.ceil(np.log(ALARM / 50) / np.log(share)))
        return max(_FIRST, int(1.5 * fewest))


def _asked(own: Floats, other: Floats, times: float, *, rows: bool = False) -> Iterator[Excess]:
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
        highest.append(Excess(a, b, sizes, chance, limit=limit))
    yield from highest
    if highest:
        best = min(highest, key=lambda one: one.probability)
        yield replace(best, probability=_by_ranks(own, other, share), kind="ranks")
    if len(other) >= _TAIL_OF:
        tail = np.sort(other)[::-1][: max(20, int(len(other) * _TAIL))]
        falls = float((tail - tail[-1]).mean())
        heaped = float(np.median(tail - tail[-1])) <= _HEAPED * falls
        if heaped or (rows and tail[-1] <= 0):
            return
        beyond = (float(own.max()) - float(tail[0])) / falls if falls > 0 else 0.0
        chance = float(np.exp(-max(beyond, 0))) * times * sizes[0] / sizes[1]
        limit = float(np.nextafter(tail[0], inf))
        above = int((own > tail[0]).sum())
        yield Excess(above, 0, sizes, min(chance, 1.0), limit=limit, kind="alone")


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


_LEFT_OUT = 2
"""Pairs of all columns for each of all but one, beyond which repeated rows are no explanation."""


@dataclass(frozen=True)
class AlikePairs:
    """Pairs of rows of two files that alone are alike in some columns, by the file of each row."""

    crowd: NDArray[np.float32]
    """Shape (k,): how many rows are like one of the two."""
    divided: NDArray[np.bool_]
    """Shape (k,): which of them have a row in either file."""
    share: float
    """Of pairs, that chance divides."""

    @classmethod
    def of(
        cls, keys: NDArray[np.uint64], crowd: NDArray[np.float32], first: int
    ) -> tuple[AlikePairs, Indices, Indices]:
        """Of rows (n,), the first of which are one file's; besides, the two rows of each pair."""
        order = np.argsort(keys, kind="stable")
        starts = np.flatnonzero(np.diff(keys[order], prepend=~keys[order[:1]]))
        alone = starts[np.diff(starts, append=len(keys)) == 2]
        one, two = order[alone], order[alone + 1]
        size, others = len(keys), len(keys) - first
        share = 2 * first * others / max(size * (size - 1), 1)
        return cls(crowd[one] + crowd[two], (one < first) != (two < first), share), one, two

    def counted(self, times: Indices) -> AlikePairs:
        """The same, of which each counts so often; the fewer, the more rows are like none."""
        places = np.repeat(np.arange(len(times)), times)
        crowd = self.crowd[places] * np.float32(len(places))
        return AlikePairs(crowd, self.divided[places], self.share)

    @classmethod
    def shared(
        cls,
        columns: Sequence[NDArray[np.uint64]],
        first: int,
        asked: NDArray[np.bool_] | None = None,
    ) -> tuple[float, float]:
        """How many of the rarest pairs are divided beyond chance, and how probable so many are.

        Pairs of all columns, or of all but one in which they differ; ``columns`` are hashes of the
        values of all rows, shape (n,) each.  Of ``asked`` rows of the first file, shape (n,), such
        as those that somebody else shows, each is asked with which other row it is a pair.
        """
        whole: NDArray[np.uint64] = np.stack(columns).sum(axis=0)
        crowd = np.zeros(len(whole), dtype=np.float32)
        for some in combinations(columns, 2):
            crowd += _as_many(whole - some[0] - some[1])
        near = []
        for names in (whole, *(whole - column for column in columns)):
            found, one, two = cls.of(names, crowd, first)
            times = np.asarray((names is whole) | (whole[one] != whole[two]), dtype=np.int64)
            if asked is not None:
                times *= asked[one].astype(np.int64) + asked[two]
                share = 1 - (first - 1) / max(len(whole) - 1, 1)
                found = replace(found, share=share)
            near.append(found.counted(times))
        every = near.pop(0)
        undivided = sum(int((~pairs.divided).sum()) for pairs in near)
        compared = not every.divided.all()
        compared |= len(every.divided) > _FIRST + 2 * _LEFT_OUT * undivided
        lists = [some for some in (near, [every] if compared else []) if some]
        beyond, chance = min((_rarest(some) for some in lists), key=lambda one: one[1])
        return beyond, min(chance * len(lists), 1.0)


def _rarest(pairs: Sequence[AlikePairs]) -> tuple[float, float]:
    """The same of the pairs that fewest rows are like."""
    order = np.argsort(np.concatenate([some.crowd for some in pairs]), kind="stable")
    if not len(order):
        return 0.0, 1.0
    divided = np.cumsum(np.concatenate([some.divided for some in pairs])[order])
    tops = np.array([int(_FIRST * 2 ** (step / 2)) for step in range(2 * 32)])
    tops = np.append(tops[tops < len(order)], len(order))
    share = min(pairs[0].share, 1 - 1e-12)
    chances = special.bdtrc(divided[tops - 1] - 1.0, tops, share)
    best = int(chances.argmin())
    beyond = float(divided[tops[best] - 1] - share * tops[best])
    return beyond, float(chances[best]) * len(tops)


def _as_many(keys: NDArray[np.uint64]) -> NDArray[np.float32]:
    """Shape (n,): how many rows have each row's key."""
    _, place, rows = np.unique(keys, return_inverse=True, return_counts=True)
    return np.asarray(rows[place], dtype=np.float32)


_NEAREST = 8
"""Rows by which it is asked how much likelier they are with a person."""
_MOST_ALIKE = 30.0
"""The largest logarithm of a kernel: beyond it sums of kernels are not exact."""
_LEVELS = 256
"""How many degrees of nearness are told apart."""


@dataclass(frozen=True, eq=False)
class _Agreement:
    """What it is worth that a cell stands beside a value, in one column."""

    worth: NDArray[np.float32]
    """Shape (v, g), at least 0 but for kernels."""

    @classmethod
    def of(cls, near: NDArray[np.floating], rows: Indices) -> _Agreement:
        """From how near each of g cells is to each of v values, and how many rows show each cell.

        ``near`` is between 0 and 1; below ``LEAST`` nothing is told apart.
        """
        far = -np.log(np.maximum(near, LEAST)) / -np.log(LEAST)
        level = np.ceil(far * (_LEVELS - 1) - 1e-4).astype(np.int64)
        values = len(level)
        place = np.arange(values)[:, np.newaxis] * _LEVELS + level
        weights = np.broadcast_to(rows / max(rows.sum(), 1), level.shape)
        share = np.bincount(place.ravel(), weights.ravel(), values * _LEVELS)
        as_near = np.cumsum(share.reshape(values, _LEVELS), axis=1)
        least = 1 / max(int(rows.sum()), 1)
        worth = -np.log(np.clip(as_near.ravel()[place], least, 1))
        return cls(worth.astype(np.float32))

    @classmethod
    def kernel(cls, near: NDArray[np.floating], rows: Indices) -> _Agreement:
        """How many times as near a cell is as the cells of all rows are on average; logarithms."""
        known = np.maximum(near, LEAST).astype(np.float64)
        usual = known @ (rows / max(rows.sum(), 1))
        return cls(np.log(known / usual[:, np.newaxis]).astype(np.float32))


@dataclass(frozen=True, eq=False)
class NearestRows:
    """Agreements of some columns, in which people are held against rows."""

    columns: tuple[_Agreement, ...]

    @classmethod
    def of(cls, columns: Sequence[JointColumn], *, kernels: bool = False) -> NearestRows:
        """Held against all published rows, by how rare what agrees is or by ``kernels``."""
        made = _Agreement.kernel if kernels else _Agreement.of
        rows = (np.bincount(c.cell, minlength=c.covers.shape[1]) for c in columns)
        return cls(tuple(made(c.near, each) for c, each in zip(columns, rows, strict=True)))

    def only(self, places: Sequence[int]) -> NearestRows:
        """Of some of the columns."""
        return NearestRows(tuple(self.columns[place] for place in places))

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
        flat, lines, groups = self._beside(values, cells)
        if owners is None:
            owners = np.full(len(lines), -1), np.full(groups.rows.shape[1], -2)
        return np.asarray(_closest(flat, lines, groups.starts, groups.shown, groups.rows, *owners))

    def _beside(
        self, values: Sequence[Indices], cells: Sequence[Indices]
    ) -> tuple[NDArray[np.float32], Indices, _Groups]:
        """All worths one after the other, where those of each person begin, and the rows."""
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
        return np.concatenate([table.ravel() for table in tables]), lines, groups

    def likelier(
        self, sides: Sequence[Sequence[Indices]], cells: Sequence[Indices]
    ) -> list[NDArray[np.float64]]:
        """How much likelier the nearest of n rows are with each person of some sides.

        ``sides`` are codes of values by column.  Others and the person explain a row by kernels,
        whose logarithms the worths are: of a row s that is nearer to the person x than rows are on
        average, log(1 + K(s, x) / (1 + sum of K(s, y) over all others y)) is added up.
        """
        total = np.zeros(len(cells[0]))
        near = []
        for values in sides:
            flat, lines, groups = self._beside(values, cells)
            found = np.zeros((len(lines), _NEAREST)), np.zeros((len(lines), _NEAREST), np.int64)
            _likely(flat, lines, groups.starts, groups.shown, groups.rows, total, found)
            near.append(found)
        return [np.log1p(own / (total[at] - own + 1)).sum(axis=1) for own, at in near]


@dataclass(frozen=True, eq=False)
class _Groups:
    """Columns of few cells taken together; the worth of combinations is added up once a person."""

    columns: tuple[tuple[int, NDArray[np.uint32]], ...]
    """Group after group the place of each column, and its cell in each of the combinations."""
    starts: Indices
    """Shape (2, groups + 1): the first column and the first combination of each, and how many."""
    rows: NDArray[np.uint32]
    """Shape (groups, n): the combination of each row, counted on from group to group."""

    @property
    def shown(self) -> NDArray[np.uint32]:
        """The cells of all columns, one column after the other."""
        return np.concatenate([cell for _, cell in self.columns])


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
def _add_up(flat, line, starts, shown, rows, worths, total):  # type: ignore[no-untyped-def]
    """What each row is worth to one person, in ``total``."""
    first, ends = starts
    worths[:] = 0
    total[:] = 0
    place = 0
    for group in range(len(ends) - 1):
        for column in range(first[group], first[group + 1]):
            begin = np.uint64(line[column])
            for combination in range(ends[group], ends[group + 1]):
                worths[combination] += flat[begin + shown[place]]
                place += 1
        code = rows[group]
        for row in range(len(total)):
            total[row] += worths[code[row]]


@njit(nogil=True)
def _likely(flat, lines, starts, shown, rows, explained, found):  # type: ignore[no-untyped-def]
    near, which = found
    worths = np.zeros(starts[1][-1], dtype=np.float32)
    total = np.zeros(len(explained), dtype=np.float32)
    for person in range(len(lines)):
        _add_up(flat, lines[person], starts, shown, rows, worths, total)
        least = 0
        for row in range(len(total)):
            if total[row] > 0:
                kernel = np.exp(min(np.float64(total[row]), _MOST_ALIKE))
                explained[row] += kernel
                if kernel > near[person, least]:
                    near[person, least], which[person, least] = kernel, row
                    least = near[person].argmin()


@njit(nogil=True)
def _closest(flat, lines, starts, shown, rows, people, owners):  # type: ignore[no-untyped-def]
    found = np.zeros(len(lines))
    worths = np.zeros(starts[1][-1], dtype=np.float32)
    total = np.zeros(len(owners), dtype=np.float32)
    for person in range(len(lines)):
        _add_up(flat, lines[person], starts, shown, rows, worths, total)
        most = np.float32(0.0)
        for row in range(len(total)):
            if total[row] > most and owners[row] != people[person]:
                most = total[row]
        found[person] = most
    return found
