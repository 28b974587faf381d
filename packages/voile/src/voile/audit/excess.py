"""Whether people of one side score higher than those of another by more than chance; private.

Where a file tells of its own people what it tells of everybody, people of the original and of the
control are exchangeable. Of the m highest scores of both sides, m = 8, 11, 16, 22, ..., it is
asked how many are the original's, and held against a binomial distribution under which its people
are ``TIMES`` as likely to be there, so that a control of another year is not found; where no column
and no two tell the sides apart (``are_alike``), ``_TIMES_ALIKE``, and by sets of columns as likely
as others; by all but some columns once for all sets together. Besides, all
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

Copies under codes that were moved: whoever adds a number to the place of each value in the order of
its column, or turns the order round, one number a column for all whom he copies, leaves no value
and all differences between people.  Of all pairs of a person and a row the differences of places
are counted, modulo the number of places, as sums of random numbers; those that pairs of the
original have far more often than pairs of the control are what was added, and the rows so read back
are held against people, half of the people by what the others told (cross-fitting).  Who stands on
both sides is left out, and people and rows that show the same count once, so that for a file
that tells nothing of its own people each pair is of either side by chance.

Cost: 4 p n m for p people and n rows of m columns, p n up to ``_MOVES``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
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
    "BY_MOVED",
    "BY_NEARLY_WHOLE",
    "BY_SET",
    "BY_SUREST",
    "TIMES",
    "Excess",
    "MovedCodes",
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
BY_SET = "rows with all columns but "
"""Begins the names of scores by rows that have a person's values in a set of columns: of all these
scores one question is asked, by ranks."""
BY_SUREST = "the surest row of all columns but two"
"""The highest of these scores, of each person: one of some coincidences is far above the others, so
that nobody is told alone by it, either."""
BY_MOVED = "codes that were moved alike"
"""The score by rows that show a person's values under others of their columns."""
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
    among: int = 1
    """Of how many questions this one was chosen, which count as one."""

    def counted(self, level: float) -> Excess:
        """With how many the control does not explain, but with a probability of ``level``.

        Of the people who score as high, others than these are the original's by chance: at most as
        many as beside those of the control are no less probable.  Several questions that count
        as one share its probability.
        """
        share = self.times * self.sizes[0] / (self.times * self.sizes[0] + self.sizes[1])
        others = np.arange(1, self.own + 1)
        chance = special.bdtrc(others - 1.0, others + self.other, share)
        explained = int((chance >= level / self.among).sum())
        return replace(self, at_least=max(1, self.own - explained))

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
            by_columns = score.startswith((BY_KNOWN, BY_SET))
            times = TIMES if not alike else 1.0 if by_columns else _TIMES_ALIKE
            leaps = by_columns or score.startswith((BY_MOVED, BY_NEARLY_WHOLE))
            found = _asked(own, other, times, rows=leaps)
            asked += [
                replace(one, score=score, times=times)
                for one in found
                if one.kind != "alone" or score not in (BY_LIKELIHOOD, BY_SUREST)
            ]
        asked = _of_sets_at_once(asked)
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


def _of_sets_at_once(asked: Sequence[Excess]) -> list[Excess]:
    """The questions, of which those by sets of columns are one: the least likely by ranks."""
    ours = [one for one in asked if one.score.startswith(BY_SET)]
    others = [one for one in asked if not one.score.startswith(BY_SET)]
    ranks = [one for one in ours if one.kind == "ranks"]
    if not ranks:
        return others
    best = min(ranks, key=lambda one: one.probability)
    chance = min(best.probability * len(ranks), 1.0)
    return [*others, replace(best, probability=chance, among=len(ours))]


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


_MOVES, _MOVED_ROWS = 1 << 25, 20_000
"""Pairs of people and rows whose differences are counted, and rows of the file at most."""
_BUCKETS, _LOOKED_INTO, _TOGETHER = 20, 16, 4
"""Bits of their number in which differences are counted first, how many of the fullest buckets are
looked into, and how many differences are taken for what was added."""
Places = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class MovedCodes:
    """Rows of both sides and of a file as places of their values in the order of each column."""

    people: tuple[Places, Places]
    """Shape (p, m) each; -1 without a place."""
    file: Places
    """Shape (n, m), of different rows."""
    sizes: Places
    """Shape (m,): how many places there are."""
    rarity: tuple[NDArray[np.float64], ...]
    """By column, minus the logarithm of the share of rows that show what has a place."""

    @classmethod
    def of(
        cls, columns: Sequence[JointColumn], kept: Indices, asked: Sequence[Indices], draws: Draws
    ) -> MovedCodes | None:
        """Of published rows ``kept`` and of rows of each side; None of too few columns."""
        placed = [(column, places) for column in columns if (places := _places(column))]
        if len(placed) < _COLUMNS:
            return None
        sizes = [int(max(v.max(), c.max())) + 1 for _, (v, c) in placed]
        people = [
            np.stack([v[column.value[side][rows]] for column, (v, _) in placed], axis=1)
            for side, rows in enumerate(asked)
        ]
        file = np.stack([c[column.cell[kept]] for column, (_, c) in placed], axis=1)
        file = file[(file >= 0).all(axis=1)]
        rarity = [
            -np.log(np.maximum(np.bincount(shown, minlength=size), 1) / max(len(file), 1))
            for shown, size in zip(file.T, sizes, strict=True)
        ]
        rows = np.unique(file, axis=0).astype(np.int32)
        rows = rows[draws.permutation(len(rows))[:_MOVED_ROWS]]
        first, second = (side.astype(np.int32) for side in people)
        return cls((first, second), rows, np.array(sizes, dtype=np.int32), tuple(rarity))

    @classmethod
    def scored(
        cls, columns: Sequence[JointColumn], kept: Indices, asked: Sequence[Indices], draws: Draws
    ) -> dict[str, list[NDArray[np.float64]]]:
        """The scores of people by their name; none where columns are too few."""
        moved = cls.of(columns, kept, asked, draws)
        return {} if moved is None else {BY_MOVED: moved.scores(draws)}

    def scores(self, draws: Draws) -> list[NDArray[np.float64]]:
        """How rare the values are of people of whom a row shows them moved; 0 without; (p,)."""
        found = [np.zeros(len(side)) for side in self.people]
        if not len(self.file):
            return found
        numbers = draws.integers(0, 2**63, int(self.sizes.sum()), dtype=np.uint64)
        starts = np.concatenate(([0], np.cumsum(self.sizes)[:-1])).astype(np.int64)
        keys = np.unique(_keys(self.file, numbers, starts))
        first = [draws.permutation(len(side)) % 2 == 0 for side in self.people]
        for turned in (False, True):
            people = [self._turned(side) if turned else side for side in self.people]
            for half in (False, True):
                seen = [s[one == half] for s, one in zip(people, first, strict=True)]
                for added in self._added(_distinct(seen, draws, len(self.file)), numbers, starts):
                    if not (turned or added.any()):  # rows that are as people's tell other scores
                        continue
                    for side, rows in enumerate(people):
                        new = np.flatnonzero((first[side] != half) & (rows >= 0).all(axis=1))
                        moved = (rows[new] + added) % self.sizes
                        new_keys = _keys(moved, numbers, starts)
                        at = np.minimum(np.searchsorted(keys, new_keys), len(keys) - 1)
                        worth = sum(rare[m] for rare, m in zip(self.rarity, moved.T, strict=True))
                        there = np.where(keys[at] == new_keys, worth, 0.0)
                        found[side][new] = np.maximum(found[side][new], there)
        return found

    def _turned(self, places: Places) -> Places:
        """The same in the opposite order."""
        return np.where(places >= 0, self.sizes - 1 - places, -1).astype(np.int32)

    def _added(
        self, people: Sequence[Places], numbers: NDArray[np.uint64], starts: Indices
    ) -> list[Places]:
        """What stands between people of the original and rows more often than of the control."""
        if not min(map(len, people)):
            return []
        about = self.file, self.sizes, numbers, starts
        counts = [np.zeros(1 << _BUCKETS, np.uint16) for _ in people]
        for side, count in zip(people, counts, strict=True):
            _tally(side, *about, count)
        own = counts[ORIGINAL].astype(np.float32)
        other = counts[CONTROL] * np.float32(len(people[0]) / len(people[1]))
        share = len(people[0]) / (len(people[0]) + len(people[1]))
        fullest = np.argpartition((other - own) / np.sqrt(own + other + 1), _LOOKED_INTO)[
            :_LOOKED_INTO
        ]
        chosen = np.zeros(1 << _BUCKETS, dtype=np.bool_)
        chosen[fullest] = True
        pairs = []
        for side, count in zip(people, counts, strict=True):
            size = int(count[chosen].sum())
            pairs.append((np.zeros(size, np.uint64), np.zeros((size, 2), np.int64)))
            _gather(side, *about, chosen, pairs[-1])
        keys, place = np.unique(np.concatenate([key for key, _ in pairs]), return_inverse=True)
        ends = len(pairs[0][0])
        mine, others = (
            np.bincount(side, minlength=len(keys)) for side in (place[:ends], place[ends:])
        )
        chance = np.where(mine > 0, special.bdtrc(mine - 1.0, mine + others, share), 1.0)
        added = []
        for best in np.argsort(chance, kind="stable")[: _TOGETHER + 1]:
            if mine[best]:
                person, row = pairs[0][1][np.flatnonzero(place[:ends] == best)[0]]
                added.append((self.file[row] - people[0][person]) % self.sizes)
        return added


_COLUMNS = 4
"""From which on rows are sought whose codes were moved."""


def _places(column: JointColumn) -> tuple[Indices, Indices] | None:
    """Of values and of cells in the order of the original's and of all cells; None without one.

    A value of the control alone has the place of the next one.
    """
    if column.values < 2 or column.covers.shape[1] < 2 or column.wide.any():
        return None
    sides = column.order
    if column.numbers is not None:
        every = np.unique(np.concatenate(column.numbers))
        sides = tuple(
            np.where(np.isfinite(each), np.searchsorted(every, each), -1) for each in column.numbers
        )
    if not sides:
        return None
    values, cells = sides
    there = np.unique(np.concatenate((values[np.unique(column.value[ORIGINAL])], cells)))
    there = there[there >= 0]
    first, second = (
        np.where(each >= 0, np.minimum(np.searchsorted(there, each), len(there) - 1), -1)
        for each in sides
    )
    return first, second


def _keys(rows: Places, numbers: NDArray[np.uint64], starts: Indices) -> NDArray[np.uint64]:
    """Sums of the numbers of the places of rows."""
    keys: NDArray[np.uint64] = numbers[rows + starts].sum(axis=1, dtype=np.uint64)
    return keys


def _distinct(sides: Sequence[Places], draws: Draws, rows: int) -> list[Places]:
    """Different rows of each side that the other lacks, as many as are counted with so many."""
    own = [np.unique(side[(side >= 0).all(axis=1)], axis=0) for side in sides]
    _, place, seen = np.unique(np.concatenate(own), axis=0, return_inverse=True, return_counts=True)
    alone = seen[place.ravel()] == 1
    parts = own[0][alone[: len(own[0])]], own[1][alone[len(own[0]) :]]
    most = max(1, _MOVES // max(rows, 1) // 4)
    return [side[draws.permutation(len(side))[:most]] for side in parts]


@njit(nogil=True)
def _lines(person, sizes, numbers, starts, line):  # type: ignore[no-untyped-def]
    """The number of what stands between one person and each place."""
    for at in range(len(sizes)):
        for place in range(sizes[at]):
            apart = place - person[at]
            line[starts[at] + place] = numbers[starts[at] + apart + (sizes[at] if apart < 0 else 0)]


@njit(nogil=True)
def _key(row, starts, line):  # type: ignore[no-untyped-def]
    """The sum of a line's numbers at the places of a row."""
    key = np.uint64(0)
    for at in range(len(starts)):
        key += line[starts[at] + row[at]]
    return key


@njit(nogil=True)
def _tally(people, rows, sizes, numbers, starts, counts):  # type: ignore[no-untyped-def]
    line = np.zeros_like(numbers)
    for person in range(len(people)):
        _lines(people[person], sizes, numbers, starts, line)
        for row in range(len(rows)):
            key = _key(rows[row], starts, line)
            counts[key >> np.uint64(64 - _BUCKETS)] += 1


@njit(nogil=True)
def _gather(people, rows, sizes, numbers, starts, chosen, found):  # type: ignore[no-untyped-def]
    keys, pairs = found
    line = np.zeros_like(numbers)
    count = 0
    for person in range(len(people)):
        _lines(people[person], sizes, numbers, starts, line)
        for row in range(len(rows)):
            key = _key(rows[row], starts, line)
            if chosen[key >> np.uint64(64 - _BUCKETS)]:
                keys[count] = key
                pairs[count, 0], pairs[count, 1] = person, row
                count += 1


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
    return _Groups(tuple(columns), np.array(starts).T.copy(), rows)


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
