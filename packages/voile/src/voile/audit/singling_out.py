"""Singling out: predicates learnt from a file that fit exactly one person; private.

Source: WP216, section 3; isolation by predicates learnt from what was released is that of Cohen
and Nissim, "Towards formalizing the GDPR's notion of singling out" (PNAS 117, 2020).

A predicate of several columns asks for the cells of one published row in some columns, two to six
or two to all, drawn at random; half of the rows are of those that fewest rows are like.  A number
that is rare in the file asks for itself or for what lies beyond it.  Of those drawn the ones
are tried that fewest published rows fulfil.  A predicate of one column asks for a cell or a
number that fewest rows show, or for what lies beyond the outermost number.  It succeeds where
exactly one person fits.

Where a person has several rows, one of them is enough to fit.

A file of few values has few rare cells, and so few predicates that no rate of theirs could be told
from another.  Fewer than ``_FEW`` of one column are a figure of their own only where they find more
than chance; else a note beside those of several columns says how they fared.  Fewer than ``_FEW``
of several columns are the figure where they find more than the control does, by more than the
standard error of so many; else those are tried, too, that more published rows fulfil.  Where all of
these together are fewer than ``_FEW``, and than the people, whoever tries them all finds at most so
many people: what is told then is how many predicates succeed for each person of the original.

Guess: the same columns, the cell of each from another row.

It is easier to be the only one among few.  Of a control larger than the original so many people are
drawn as that has.  Of a smaller one, with a share f of its people, all are looked at, and its rate
is multiplied by main / thinned: thinned is the rate that the original would have of people who are
drawn of it with probability f, k f (1 - f)^(k - 1) for a predicate that k people fit.  Where the
file gives no more away of its own people, that is the rate of a control as large as the original.
Where it does, main is more than that, and so is what is told of the control, by up to a third where
one row in ten is copied.  So the low end takes the factor from the control itself: of its found
ones those are left out that thinning makes of predicates which several people fit, and the others
stand for 1 / f each.

A person fits several predicates, and one who comes or goes changes all of them.  So the variance of
the rate is that of p independent successes, and what pairs of predicates have in common beside: the
sum over persons of how many successes each adds or takes from others (the jackknife of Efron and
Stein, "The jackknife estimate of variance", Annals of Statistics 9, 1981), without what each
predicate has with itself, where the jackknife counts too much.

Cost: p predicates times the people, and times the published rows, a column.

Columns that were moved along the rows.  Who shifts each column by some rows, turns it round, or
writes the cells of a person into rows that follow each other, shuffles nothing: at one distance two
columns go together as in the original, and beside each other they do not.  Values are weighed so
that two columns correlate most in the original (its first canonical axis), and a Fourier transform
tells the correlation at all distances.  That beside each other, one row nearer and one farther are
taken from it, so that files which were sorted tell nothing, and a distance at which the original's
own rows go together so, as those of panels do, is none.

Cost: four transforms of ``_WINDOW`` rows for each pair that goes together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from math import sqrt
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from voile.attack.protocol import Estimate
from voile.audit.beside import JointCodes, JointColumn
from voile.audit.risk import CONTROL, ORIGINAL, Risk, Setting, share_of
from voile.release.reading import People
from voile.table.arrays import Frame
from voile.table.codes import count_codes, count_table, look_up
from voile_base.ondemand import dataclass
from voile_base.randomness import Draws, Randomness

__all__ = ["SinglingOut", "moved_columns", "of_one_person"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Places = NDArray[np.integer]

_PREDICATES = 1000
_MOST_COLUMNS = 6
_FEW = 400
"""Predicates of one column whose rate has an interval of a tenth: of fewer nothing can be told but
that they find more than chance does."""
_COUNTS = {1: 1.0, 2: -1.0}
"""Successes that are fewer without one of so many persons who fit."""


@dataclass(frozen=True)
class SinglingOut:
    """The risk as audits count it."""

    name: ClassVar[str] = "singling out"

    def refusal(self, setting: Setting) -> str | None:
        """It makes sense wherever a column is shown."""
        del setting
        return None

    def risks(self, setting: Setting) -> Iterator[Risk]:
        """Of several columns, and of one."""
        yield from _singling_out(setting.beside, setting.randomness)


def _singling_out(beside: JointCodes, randomness: Randomness) -> Iterator[Risk]:
    """Predicates of several columns, and of one where these are not too few."""
    one = _tried(beside, randomness.within("one column"), several=False)
    if len(beside.columns) == 1:
        yield one.among_people.risk
        return
    several = _tried(beside, randomness.within("several columns"), several=True)
    if several.count < _FEW and not several.tells:
        rarest, within = several, randomness.within("any of several columns")
        several = _tried(beside, within, several=True, rarest=False).among_people
        several = replace(several, notes=(*several.notes, rarest.too_few("rarest predicates")))
    if one.count < _FEW and not one.risk.found:
        yield replace(several, notes=(*several.notes, one.too_few("predicates of one column"))).risk
    else:
        yield from (several.risk, one.risk)


@dataclass(frozen=True, eq=False)
class _Fulfilled:
    """How many people fit each of p predicates, and what each person does to the successes."""

    persons: Indices
    """Shape (p,): how many fit."""
    influence: Floats
    """Shape (n,): how many successes fewer there are without each of the people of the group."""

    @property
    def success(self) -> Floats:
        """Shape (p,): 1 where exactly one person fits."""
        success: Floats = (self.persons == 1).astype(np.float64)
        return success

    def and_also(self, more: _Fulfilled) -> _Fulfilled:
        """These and other predicates, of the same people."""
        persons = np.concatenate((self.persons, more.persons))
        return _Fulfilled(persons, self.influence + more.influence)

    @property
    def share(self) -> Estimate:
        """How many predicates succeed; they depend on each other by the people who fit them."""
        alone, pairs = int((self.persons == 1).sum()), int((self.persons == 2).sum())
        left = alone * (1 - alone / max(len(self.persons), 1))
        together = float((self.influence**2).sum()) - alone - 2 * pairs
        return share_of(self.success, effect=1 + max(0.0, together / left if left else 0.0))


@dataclass(frozen=True, eq=False)
class _Tried:
    """What became of p predicates."""

    of: str
    fits: tuple[_Fulfilled, ...]
    """For each group of people."""
    guessed: _Fulfilled
    """The same for the original, of blind predicates."""
    sizes: tuple[int, ...]
    """How many people there are in each group."""
    notes: tuple[str, ...] = ()
    for_each: float = 1.0
    """Predicates for each person, where rates are of successes for each person; else 1."""

    @property
    def count(self) -> int:
        """How many predicates there are."""
        return len(self.guessed.persons)

    @property
    def tells(self) -> bool:
        """Whether more succeed than of the control, or of blind ones, by their standard error."""
        own, beside = self.fits[ORIGINAL].share, self.control or self.guessed.share
        return own.value - beside.value > 0.5 / sqrt(self.count)

    @property
    def among_people(self) -> _Tried:
        """The successes for each person, where all predicates of the file are few."""
        people = self.sizes[ORIGINAL]
        if self.count >= min(_FEW, people):
            return self
        note = (
            f"the file has no more than {self.count:,} predicates to try: rates are of successes "
            f"for each of {people:,} people"
        )
        return replace(self, for_each=self.count / people, notes=(*self.notes, note))

    def and_also(self, fits: Sequence[_Fulfilled], guessed: _Fulfilled) -> _Tried:
        """These and more predicates of the same kind."""
        joined = tuple(one.and_also(more) for one, more in zip(self.fits, fits, strict=True))
        return replace(self, fits=joined, guessed=self.guessed.and_also(guessed))

    @property
    def control(self) -> Estimate | None:
        """The rate of a control that is as large as the original; None without any."""
        return None if len(self.sizes) == 1 else self._as_large(self.fits[CONTROL].share)

    def _as_large(self, found: Estimate) -> Estimate:
        """The rate of people of the control, as though they were as many as the original."""
        share = self.sizes[CONTROL] / self.sizes[ORIGINAL]
        if share >= 1:
            return found
        persons = self.fits[ORIGINAL].persons
        thinned = persons * share * (1 - share) ** np.maximum(persons - 1, 0)
        alone = int((persons == 1).sum())
        times = alone / float(thinned.sum()) if alone else 1 / share
        value, low, high = (min(1.0, times * end) for end in (found.value, found.low, found.high))
        of_several = float(thinned[persons > 1].sum()) / len(persons)
        return Estimate(value, min(low, max(0.0, (found.low - of_several) / share)), high)

    def too_few(self, which: str) -> str:
        """That there are too few for a rate of their own, and how they fared."""
        found, other = int(self.fits[ORIGINAL].success.sum()), ""
        if len(self.fits) > 1:
            other = f", and {int(self.fits[CONTROL].success.sum()):,} in the control"
        return (
            f"{self.count:,} {which} are too few for a rate of their own: "
            f"{found:,} fit exactly one person{other}"
        )

    def _told(self, rate: Estimate) -> Estimate:
        """A rate of predicates as what is told."""
        low, high = self.for_each * rate.low, self.for_each * rate.high
        return Estimate(self.for_each * rate.value, low, high)

    @property
    def risk(self) -> Risk:
        """The rates."""
        own, control = self.fits[ORIGINAL], self.control
        notes = [f"{int(own.success.sum()):,} of {self.count:,} predicates fit exactly one person"]
        if len(self.sizes) > 1 and self.sizes[CONTROL] < self.sizes[ORIGINAL]:
            people = f"the control has {self.sizes[CONTROL]:,} people"
            notes.append(f"{people}: its rate is that expected of {self.sizes[ORIGINAL]:,}")
        return Risk(
            "singling out",
            self.of,
            "exactly one person fits the predicate",
            self.count if self.for_each == 1 else self.sizes[ORIGINAL],
            self._told(own.share),
            None if control is None else self._told(control),
            self._told(self.guessed.share),
            (*notes, *self.notes),
            at_hand=self.at_hand,
        )

    @property
    def at_hand(self) -> tuple[Estimate, Estimate]:
        """The rates of the original, and what it is held against, of just these people."""
        own, *control = (share_of(each.success, effect=1) for each in self.fits)
        beside = self._as_large(control[0]) if control else None
        guess = share_of(self.guessed.success, effect=1)
        return self._told(own), self._told(beside or guess)


@dataclass(frozen=True, eq=False)
class _Predicates:
    """p predicates: for each its columns, and a cell of each; -1 is a column that is left out."""

    cell: Indices
    """Shape (p, m)."""
    side: Indices
    """Shape (p, m): 0 for the values that the cell covers, -1 for those up to it, 1 from it on."""

    def only(self, chosen: Indices) -> _Predicates:
        return _Predicates(self.cell[chosen], self.side[chosen])


def _tried(
    beside: JointCodes, randomness: Randomness, *, several: bool, rarest: bool = True
) -> _Tried:
    """Predicates of one column or of several, those that fewest published rows fulfil or any."""
    columns = beside.columns
    draws = randomness.key("predicates").generator()
    if several:
        predicates = _of_rows(columns, beside.rows, draws, rarest=rarest)
    else:
        predicates = _of_cells(columns, draws)
    sizes = tuple(beside.people(group) for group in range(len(beside.units)))
    blind = replace(predicates, cell=_blind(columns, predicates, draws))
    found = []
    for group in range(len(sizes)):
        chosen = np.sort(draws.permutation(sizes[group])[: sizes[ORIGINAL]])
        found.append(_fitting(beside, predicates, group, chosen))
        if group == ORIGINAL:
            guessed = _fitting(beside, blind, group, chosen)
    kind = "several columns" if several else "one column"
    tried = _Tried(f"predicates of {kind}", tuple(found), guessed, sizes)
    return tried if several else _with_numbers(tried, beside, randomness.within("numbers"))


def _with_numbers(tried: _Tried, beside: JointCodes, randomness: Randomness) -> _Tried:
    """Beside the predicates that were tried, numbers that fewest published rows show.

    Numbers that are many are taken together elsewhere; a predicate asks for one as it is.  Guess: a
    number between the outermost published ones, as fine as they are.
    """
    draws = randomness.key("predicates").generator()
    sizes = [beside.people(group) for group in range(len(beside.units))]
    people = [draws.permutation(size)[: sizes[ORIGINAL]] for size in sizes]
    for column in beside.columns:
        if column.whole is None:
            continue
        own, shown = column.whole
        values, rows = np.unique(shown[np.isfinite(shown)], return_counts=True)
        rare = values[rows == rows.min()]
        asked = rare[draws.permutation(len(rare))[:_PREDICATES]]
        blind = draws.uniform(values[0], values[-1], len(asked))
        if (values == np.round(values)).all():
            blind = np.round(blind)
        found = [
            _having(own[group], beside.units[group], people[group], asked)
            for group in range(len(sizes))
        ]
        guessed = _having(own[ORIGINAL], beside.units[ORIGINAL], people[ORIGINAL], blind)
        tried = tried.and_also(found, guessed)
    return tried


def _having(numbers: Floats, units: Indices, people: Indices, asked: Floats) -> _Fulfilled:
    """How many of some persons have each of p numbers, in any row."""
    rows = np.isin(units, people) & np.isfinite(numbers)
    pairs = np.unique(np.stack((numbers[rows], units[rows]), axis=1), axis=0)
    first, behind = (np.searchsorted(pairs[:, 0], asked, side) for side in ("left", "right"))
    found = _Fulfilled(np.asarray(behind - first), np.zeros(int(units.max()) + 1))
    for start, persons in zip(first, found.persons, strict=True):
        if persons in _COUNTS:
            whose = pairs[start : start + persons, 1].astype(np.int64)
            found.influence[whose] += _COUNTS[persons]
    return found


def _of_rows(
    columns: Sequence[JointColumn], rows: int, draws: Draws, *, rarest: bool
) -> _Predicates:
    """Cells of one row in some columns, of those drawn what fewest rows share, or up to 1,000."""
    drawn = 4 * _PREDICATES
    _, like, count = np.unique(
        np.stack([column.cell for column in columns], axis=1),
        axis=0,
        return_inverse=True,
        return_counts=True,
    )
    rare = np.flatnonzero(count[like.ravel()] == count.min())
    row = np.concatenate((draws.choice(rare, drawn // 2), draws.integers(rows, size=drawn // 2)))
    cell = np.stack([column.cell[row] for column in columns], axis=1)
    most = np.where(np.arange(drawn) % 2, min(len(columns), _MOST_COLUMNS), len(columns))
    size = draws.integers(2, most + 1)
    order = np.argsort(draws.uniform(size=cell.shape), axis=1)
    cell = np.where(np.argsort(order, axis=1) < size[:, np.newaxis], cell, -1)
    cell = np.unique(cell, axis=0)
    predicates = _Predicates(
        cell, np.stack([_sides(c, cell[:, i]) for i, c in enumerate(columns)], 1)
    )
    shared = _sharing(columns, predicates, rows)
    order = np.lexsort((draws.uniform(size=len(shared)), shared))
    fewest = order[:_PREDICATES]
    if rarest:
        fewest = fewest[shared[fewest] <= max(shared[order[0]], 1)]
    return predicates.only(fewest)


def _of_cells(columns: Sequence[JointColumn], draws: Draws) -> _Predicates:
    """Cells of one column that stand in fewest rows, and what lies beyond the outermost numbers."""
    cells, sides, shared = [], [], []
    for place, column in enumerate(columns):
        count = np.bincount(column.cell, minlength=column.covers.shape[1])
        seen = np.flatnonzero(count)
        cells_asked = seen.tolist() if column.whole is None else ()
        options = [(cell, 0, count[cell]) for cell in cells_asked]
        if column.numbers is not None:
            order = seen[np.argsort(column.numbers[1][seen])]
            options += [(int(order[0]), -1, 1), (int(order[-1]), 1, 1)]
        for cell, side, rows_of in options:
            line = np.full((2, len(columns)), [[-1], [0]])
            line[:, place] = cell, side
            cells.append(line[0])
            sides.append(line[1])
            shared.append(rows_of)
    least = np.array(shared)
    order = np.lexsort((draws.uniform(size=len(least)), least))[:_PREDICATES]
    chosen = order[least[order] <= max(least.min(), 1)]
    return _Predicates(np.array(cells)[chosen], np.array(sides)[chosen])


def _sides(column: JointColumn, cell: Indices) -> Indices:
    """What lies beyond rare numbers, for every other predicate; else what the cell covers."""
    side = np.zeros(len(cell), dtype=np.int64)
    if column.numbers is None:
        return side
    shown = column.numbers[1]
    rare = np.bincount(column.cell, minlength=len(shown)) <= max(1, len(column.cell) // 1000)
    upper = shown > (np.median(seen) if len(seen := _finite(shown[column.cell])) else np.nan)
    chosen = cell >= 0
    side[chosen] = np.where(rare[cell[chosen]], np.where(upper[cell[chosen]], 1, -1), 0)
    side[::2] = 0
    return side


def _finite(numbers: Floats) -> Floats:
    return numbers[np.isfinite(numbers)]


def _fits(column: JointColumn, cell: int, side: int) -> NDArray[np.bool_]:
    """Which values satisfy one condition, shape (v,)."""
    if side == 0 or column.numbers is None:
        fits: NDArray[np.bool_] = column.covers[:, cell]
        return fits
    values, shown = column.numbers
    return np.asarray(values >= shown[cell] if side > 0 else values <= shown[cell])


def _fitting(
    beside: JointCodes, predicates: _Predicates, group: int, people: Indices
) -> _Fulfilled:
    """How many of some persons fulfil each of p predicates, by any of their rows."""
    rows = np.flatnonzero(np.isin(beside.units[group], people))
    unit = beside.units[group][rows]
    seen = [column.value[group][rows] for column in beside.columns]
    alone = len(rows) == len(people)  # each person has one row
    found = np.zeros(len(predicates.cell), dtype=np.int64)
    influence = np.zeros(beside.people(group))
    for place, left in enumerate(_fulfilling(beside.columns, predicates, seen, of_cells=False)):
        whose = unit if left is None else unit[left]
        whose = whose if alone else np.unique(whose)
        found[place] = len(whose)
        influence[whose] += _COUNTS.get(len(whose), 0.0)
    return _Fulfilled(found, influence)


def _sharing(columns: Sequence[JointColumn], predicates: _Predicates, rows: int) -> Indices:
    """How many published rows fulfil each predicate."""
    cells = [column.cell for column in columns]
    fulfilling = _fulfilling(columns, predicates, cells, of_cells=True)
    return np.array([rows if left is None else len(left) for left in fulfilling], dtype=np.int64)


def _fulfilling(
    columns: Sequence[JointColumn],
    predicates: _Predicates,
    seen: Sequence[Indices],
    *,
    of_cells: bool,
) -> Iterator[Indices | None]:
    """Which rows fulfil each predicate, by their places; None for all."""
    for cells, sides in zip(predicates.cell, predicates.side, strict=True):
        left: Indices | None = None
        for column, codes, cell, side in zip(columns, seen, cells, sides, strict=True):
            if cell < 0:
                continue
            fits = _fits_cells(column, cell, side) if of_cells else _fits(column, cell, side)
            left = np.flatnonzero(fits[codes]) if left is None else left[fits[codes[left]]]
        yield left


def _fits_cells(column: JointColumn, cell: int, side: int) -> NDArray[np.bool_]:
    """Which cells of the file show what a condition asks for, shape (g,)."""
    if side == 0 or column.numbers is None:
        return np.asarray(np.arange(column.covers.shape[1]) == cell)
    shown = column.numbers[1]
    return np.asarray(shown >= shown[cell] if side > 0 else shown <= shown[cell])


def _blind(columns: Sequence[JointColumn], predicates: _Predicates, draws: Draws) -> Indices:
    """The same columns with the cells of other rows, each drawn by itself."""
    cell = predicates.cell.copy()
    for place, column in enumerate(columns):
        used = cell[:, place] >= 0
        cell[used, place] = draws.choice(column.cell, size=int(used.sum()))
    return cell


def of_one_person(unread: Frame, original: People) -> str | None:
    """That most combinations of columns that nobody could read are of one person each, a clause."""
    if not unread.width:
        return None
    rows = unread.group_by(unread.columns).len()["len"]
    once = int((rows <= -(-unread.height // original.frame.height)).sum())
    if 2 * once <= len(rows):
        return None
    others = unread.width - 1
    besides = f" and {others} other column{'s' * (others > 1)}" if others else ""
    told = f"no adversary could read it{besides}, and {once:,} of the {len(rows):,} different "
    told += f"{'combinations' if others else 'cells'} are of one person only: who learns what "
    return f"{told}they stand for finds persons"


_WINDOW, _BY_CHANCE = 1 << 16, 1e-4
"""Rows in which moved columns are sought; files of others in which some are told."""
_RARELY = 0.05
"""The share of rows below which values are taken together there: few rows agree somewhere."""


def moved_columns(
    coded: Mapping[str, tuple[NDArray[np.integer], NDArray[np.integer]]],
) -> dict[str, str]:
    """Where columns stand that go together at another place as in the original, as clauses."""
    pairs = [*combinations(coded, 2)]
    common = {name: _common(sides) for name, sides in coded.items()}
    found: dict[str, tuple[float, str]] = {}
    for one, two in pairs:
        columns = _Apart.of(common[one], common[two])
        found_at = columns and columns.told(len(pairs))
        if not found_at:
            continue
        gain, away = found_at
        for name, other in ((one, two), (two, one)):
            told = f"its values go together with those of column {other!r} of other rows ({away}) "
            told += "as in the original with those of the same row"
            found[name] = max(found.get(name, (0.0, "")), (gain, told))
    return {name: told for name, (_, told) in found.items()}


@dataclass(frozen=True, eq=False)
class _Apart:
    """Two columns as numbers that correlate most in the original; both sides with deviation 1."""

    own: tuple[Places, Places]
    """Codes of the original's rows."""
    scores: tuple[Floats, Floats]
    """The numbers of codes."""
    usual: float
    """How the numbers of the same row go together in the original."""
    file: tuple[Floats, Floats]
    """The numbers of the file's first rows."""

    @classmethod
    def of(cls, one: tuple[Places, Places], two: tuple[Places, Places]) -> _Apart | None:
        """None where either shows one value alone, or they tell nothing of each other."""
        own = one[0], two[0]
        sizes = [int(codes.max()) + 1 for codes in own]
        counts = count_table(*own, sizes[1], sizes[0] * sizes[1])
        table = counts.reshape(sizes).astype(np.float64)
        each = table.sum(axis=1), table.sum(axis=0)
        rows, columns = map(np.sqrt, each)
        usual = np.outer(rows, columns)
        if min(table.shape) < 2 or not usual.all():
            return None
        left, _, right = np.linalg.svd(table / usual - usual / table.sum())
        scores = [left[:, 0] / rows, right[0] / columns]
        file = [score[codes] for score, codes in zip(scores, (one[1], two[1]), strict=True)]
        if not all(np.ptp(numbers) for numbers in (*scores, *file)):
            return None
        for at, count in enumerate(each):
            scores[at] -= np.average(scores[at], weights=count)
            scores[at] /= np.sqrt(np.average(scores[at] ** 2, weights=count))
        first, second = ((numbers - numbers.mean()) / numbers.std() for numbers in file)
        together = float(scores[0] @ table @ scores[1] / table.sum())
        return cls(own, (scores[0], scores[1]), together, (first, second))

    def told(self, pairs: int) -> tuple[float, str] | None:
        """How much more they go together at another place than near it, and where; or None.

        The sum of so many products of either side is normal, but for a share of files.
        """
        rows = len(self.file[0])
        least = 2 * np.sqrt(np.log(6 * pairs * rows / _BY_CHANCE) / rows)
        if self.usual < least:
            return None
        beside = float((self.file[0] * self.file[1]).mean())
        for turned in (False, True):
            second = self.file[1][::-1] if turned else self.file[1]
            waves = np.conj(np.fft.rfft(self.file[0])) * np.fft.rfft(second)
            together = np.fft.irfft(waves, rows) / rows
            near = np.maximum(np.roll(together, 1), np.roll(together, -1))
            gain = together - np.maximum(near, beside)
            place = int(gain.argmax())
            stands = float(together[place])
            # Of columns that are nearly alike each product stands twice in a turned sum.
            enough = max(least * np.sqrt(1 + turned), stands / 2)
            if gain[place] < enough or stands > self.usual + least:
                continue
            if turned:
                return float(gain[place]), "from the last row to the first"
            away = place if 2 * place <= rows else place - rows
            if self._in_original(away) < stands / 2:
                way = "below" if away > 0 else "above"
                return float(gain[place]), f"{abs(away):,} {way}, from the last on to the first"
        return None

    def _in_original(self, away: int) -> float:
        """How the original's rows go together in their own order."""
        own = zip(self.scores, self.own, strict=True)
        one, two = (score[codes] for score, codes in (own if away > 0 else [*own][::-1]))
        one, two = one[: -abs(away)], two[abs(away) :]
        return float((one * two).mean()) if len(one) else 0.0


def _common(sides: tuple[NDArray[np.integer], NDArray[np.integer]]) -> tuple[Places, Places]:
    """Codes from 0 of the original and of the file's first rows, in the narrowest type.

    Rare ones are one, with a common one if need be.
    """
    size = max(int(side.max(initial=0)) for side in sides) + 1
    shares = [count_codes(side, size) / max(len(side), 1) for side in sides]
    often = np.all(np.array(shares) >= _RARELY, axis=0)
    index = np.where(often, np.cumsum(often) - 1, often.sum())
    if any(share[~often].sum() < _RARELY for share in shares):
        index[~often] = max(int(often.sum()) - 1, 0)
    index = index.astype(np.min_scalar_type(size))
    return look_up(index, sides[0]), look_up(index, sides[1][:_WINDOW])
