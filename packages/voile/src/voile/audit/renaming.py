"""Columns of a file that show the original's under other names, of values or of columns; private.

Whoever writes the values of one column under the name of another hides nobody: the rows are
people's, and criteria that compare by name see little.  Three ways are told apart.

Ciphers, which move the names of values: see ``spellings``.

Columns under each other's names.  How often the values of a column stand beside those of every
other one says which column it is.  Tables of counts of the file are held against those of the
original (distances of square roots, whose errors are alike), each column of few values against
every other and against its own, whatever the values are called; and those pairs are taken that are
nearest all together (an assignment).  It is told where

    nearness      a column is ``_NEARER`` than to its own, far from which it lies, and nearer than
                  people who are drawn anew
    exchange      columns that show each other are all nearer (``_EXCHANGED``), and by more than
                  halves of the original tell by chance

What blurs columns draws them all towards one point, and of two columns that are drawn so never both
are nearer to the other than to themselves: with squared distances, a file c A, c B of columns A and
B would need |A - B|^2 < 0.  Where chance may explain what is near, nobody can decide it.

Ciphers that another column turns, such as one for each town.  Within each value of that column, or
of two, the values stand as often as in the original, one by one in the order of their counts, and
otherwise under their names, also where these were blurred (drawn anew with the frequencies of all
rows, or all alike).  Counts are held against those of people who are drawn with the frequencies of
each value.  A key whose values have fewer than ``_ROWS_OF_KEY`` rows on average leaves nothing to
compare, as a permutation of one row tells nothing of it.  So does a key of nobody, whose values
were drawn, or in a column that the original lacks: beside each of them the values are held against
those of all rows, as if the original's key were drawn, too.

Cost: a pass over the rows for each column of few values and each other column; c^2 products of
tables for c columns of few values that lie far from their own; for two keys a pass for each pair,
up to ``_MOST_TURNED`` rows.  Of those that are near, ``_HALVES`` and ``_KEYED`` times as much.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, combinations
from math import prod

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from voile.audit.common_rows import JointTexts, joint_texts
from voile.audit.recognition import Recognised, as_named, spelt_anew
from voile.audit.singling_out import moved_columns
from voile.audit.spellings import banded, renamed
from voile.release.reading import People
from voile.table.arrays import Frame
from voile.table.codes import code_type, count_table, encode
from voile_base.ondemand import dataclass
from voile_base.randomness import Draws, Randomness

__all__ = ["RenamedColumns", "renamed_columns"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
_Sides = Mapping[str, NDArray[np.integer]]
_Named = tuple[str, Indices]
"""A column of the original, and which of its values each one of the file's is."""

_NEAR_VALUES = {"noisy", "averaged"}
_FEW = 10
"""Different values up to which a column is held against others under whose names it may stand."""
_ROUNDS = 4
"""How often names are sought anew, beside columns whose names were found."""
_MOVED = 0.1
"""Of rows: how many count twice, here and there, where another column turns a cipher."""
_ROWS_OF_KEY = 4
"""Rows for each value of a column that turns a cipher, from which on counts tell it."""
_NEARER = 0.25
"""The share of the distance under their own names, up to which values lie under others."""
_EXCHANGED = 0.8
"""The same of columns that stand under each other's names, all of them."""
_HALVES, _KEYED = 40, 60
"""Tables that are drawn of people, for columns under other names and for keys."""
_CERTAIN, _LIKELY = 1e-6, 1e-3
"""How improbable it is that people who are drawn anew lie as near: told, and not decided."""
_BEYOND, _FAR = (6, 3), 10
"""Standard deviations: of an exchange that is told and that is not decided, and of a key."""
_ASTRAY, _MOST_TURNED = 0.02, 200_000_000
"""Of rows that stand as they did, below which two keys are not sought; rows looked at for these."""
_BLURS, _AGREED = (0.0, 0.25, 0.5, 0.75, 1.0), 1e-8
"""Shares of rows that may have been blurred; how improbable it is that counts agree within keys."""
_SAMPLED_TWICE = 1.75
"""How much farther than people who are drawn anew some lie who are drawn of these, up to thrice."""
_SAME, _ASIDE = 0.02, 0.125
"""Of the distance of people who are drawn anew, below which people are the same; and beyond which
columns are not, of one law though they be."""
_LEAST = 0.01
"""A standard deviation of distances that is taken for the least."""
_UNDER_OTHERS = "columns show the original's under their own names"


@dataclass(frozen=True)
class RenamedColumns:
    """Columns that show the original's under other names of values or of columns."""

    reasons: Mapping[str, str]
    """Why each must not be published, by its name in the original."""
    undecided: Mapping[str, str]
    """Columns under whose names others may stand, which chance explains as well, and these."""

    @property
    def not_assessed(self) -> Mapping[str, str]:
        """Why nobody can say that others show what they are named for, by what is asked."""
        pairs = [f"{name!r} may be {other!r}" for name, other in self.undecided.items()]
        remedy = "compare them by hand, or leave one of them out"
        return (
            {_UNDER_OTHERS: f"{', '.join(pairs)}, which chance may explain; {remedy}"}
            if pairs
            else {}
        )


def renamed_columns(
    released: Frame,
    columns: Iterable[Recognised],
    original: People,
    control: People | None = None,
) -> RenamedColumns:
    """Columns of a file that show the original's under a cipher, or under other columns' names.

    Values that are written in ways that the original lacks are held against the ``control``'s.
    """
    read = {one.name: (one, as_named(released, one, original)) for one in columns}
    both = {
        n: joint_texts(original, n, cells) for n, (_, cells) in read.items() if cells is not None
    }
    ciphers = renamed(both)
    both |= {
        name: texts
        for name, (one, _) in read.items()
        if one.how in _NEAR_VALUES
        and len(one.columns) == 1
        and (texts := joint_texts(original, name, one.columns[0])).distinct <= _FEW
    }
    both = {name: texts for name, texts in both.items() if texts.distinct > 1}
    few = [name for name, texts in both.items() if texts.distinct <= _FEW]
    coded = {name: banded(texts, _FEW).sides for name, texts in both.items()}
    remedy = "who undoes that has the column; leave it out"
    ciphers |= {
        name: f"{told}: {remedy.replace('the column', 'the rows')}, or shuffle the columns"
        for name, told in moved_columns(coded).items()
    }
    spelt = {name: _spelt(one, released, original, control) for name, (one, _) in read.items()}
    ciphers = {**{name: told for name, told in spelt.items() if told}, **ciphers}
    if not few:
        return RenamedColumns(ciphers, {})
    own = {name: sides[0] for name, sides in coded.items()}
    absent = {name: original.coded(name) for name in original.frame.columns if name not in both}
    own |= {n: one.codes for n, one in absent.items() if 1 < len(one.values) <= _FEW}
    file = {name: sides[1] for name, sides in coded.items()}
    sure, unsure = _Exchange.of(own, file, [*few, *(own.keys() - both.keys())]).told()
    exchanged = {
        name: f"its cells stand beside those of other columns as the values of column {other!r} of "
        f"the original do, and not as its own: {remedy}"
        for name, other in sure.items()
    }
    turned = {
        name: f"beside each value of {' and '.join(map(repr, key))} its values are as often, one "
        f"by one, as in the original, under each other's names: {remedy}"
        for name, key in _keyed(both, few).items()
    }
    turned |= {
        name: f"beside each value of {key!r}, as in all rows of the original, its values are as "
        f"often, one by one, under each other's names: {remedy}"
        for name, key in _keyed_by_nobody(both, few, released).items()
        if name not in turned
    }
    return RenamedColumns({**turned, **ciphers, **exchanged}, unsure)


def _spelt(
    one: Recognised, released: Frame, original: People, control: People | None
) -> str | None:
    """That values are written in several ways, which may say something, as a clause."""
    if len(one.of) != 1 or str(original.dtype(one.name)) not in {"String", "Enum"}:
        return None
    values = spelt_anew(released[one.of[0]], original, one.name, control)
    told = f"{values:,} of its values are written in several ways, of which the original lacks some"
    remedy = "which of them stands in a row may tell anything; write each as it stands there"
    return f"{told}: {remedy}" if values else None


@dataclass(frozen=True, eq=False)
class _Shown:
    """Which column of the original one of the file shows, and how far it is from some."""

    named: _Named
    apart: float
    """From that column."""
    own: float
    """From the column of its own name."""

    @property
    def gain(self) -> float:
        """How much nearer it is to that column than to its own."""
        return self.own - self.apart


@dataclass(frozen=True, eq=False)
class _JointCounts:
    """How many rows have each value of columns of few values, alone and beside all others.

    Square roots, whose errors are alike; of the original as many rows as the file has.
    """

    places: Mapping[str, int]
    """Of the columns of few values, the original's in ``own``; those of the file come first."""
    beside: Sequence[str]
    """All m columns that both sides have."""
    shows: Sequence[str]
    """Of which of the original's each of them is taken for."""
    own: tuple[Floats, Floats]
    """Of the original, shapes (c, v) and (c, v, m, v)."""
    file: tuple[Floats, Floats]

    @classmethod
    def of(
        cls, own: _Sides, file: _Sides, few: Iterable[str], every: Sequence[str]
    ) -> _JointCounts:
        """Of codes by column; some columns of the original may be missing in the file."""
        names = [*few]
        rows, people = (len(next(iter(side.values()))) for side in (file, own))
        alone, beside = _counts_beside(own, names, every)
        shown, shown_beside = _counts_beside(file, [n for n in names if n in file], every)
        scale = rows / people
        return cls(
            {name: place for place, name in enumerate(names)},
            every,
            every,
            (np.sqrt(alone * scale), np.sqrt(beside * scale)),
            (np.sqrt(shown), np.sqrt(shown_beside)),
        )

    def under(self, names: Mapping[str, _Named]) -> _JointCounts:
        """The same where columns of the file are taken for others of the original."""
        alone, beside = self.own
        at = {name: place for place, name in enumerate(self.beside)}
        moved, shows = beside.copy(), [*self.beside]
        for name, (other, values) in names.items():
            if other in at:
                moved[:, :, at[name]] = beside[:, :, at[other]][:, :, values]
            shows[at[name]] = other
        return replace(self, shows=shows, own=(alone, moved))

    def apart(self, name: str, other: str) -> _Shown:
        """How far a column of the file is from one of the original, and from its own.

        Both beside the same columns, and under whatever names of values fit best, one by one.
        """
        kept = np.array([name != one for one in self.beside])
        kept &= [one not in {name, other} for one in self.shows]
        alone, beside = (side[self.places[name]] for side in self.file)
        shown = np.column_stack([alone, beside[:, kept].reshape(_FEW, -1)])
        size = (shown**2).sum(axis=1)[:, np.newaxis]
        nearest = []
        for one in dict.fromkeys((other, name)):
            alone, beside = (side[self.places[one]] for side in self.own)
            held = np.column_stack([alone, beside[:, kept].reshape(_FEW, -1)])
            squares = np.maximum(size + (held**2).sum(axis=1) - 2 * shown @ held.T, 0)
            rows, values = optimize.linear_sum_assignment(squares)
            nearest.append((float(squares[rows, values].sum()), values))
        return _Shown((other, nearest[0][1]), nearest[0][0], nearest[-1][0])

    def least(self, name: str) -> float:
        """How far tables of a column lie apart where in each of them one row stands otherwise."""
        beside = self.file[1][self.places[name]]
        return float(np.count_nonzero(beside) / (2 * max((self.file[0][0] ** 2).sum(), 1)))

    def is_whole(self, name: str) -> bool:
        """Whether a column has as many values here as there, of which none were merged."""
        own, shown = (side[0][self.places[name]] for side in (self.own, self.file))
        return bool(np.count_nonzero(own) == np.count_nonzero(shown))

    def at_least(self, name: str, other: str) -> float:
        """A lower bound of it: no table of two columns is nearer than its margins."""
        held, shown = (
            np.sort(side[0][self.places[one]])
            for side, one in ((self.own, other), (self.file, name))
        )
        return float(((held - shown) ** 2).sum() * max(len(self.beside) - 2, 1))


def _counts_beside(
    codes: _Sides, few: Sequence[str], every: Sequence[str]
) -> tuple[Floats, Floats]:
    """How many rows have each value of some columns, alone and beside those of all others."""
    alone = np.zeros((len(few), _FEW))
    beside = np.zeros((len(few), _FEW, len(every), _FEW))
    for place, name in enumerate(few):
        alone[place] = np.bincount(codes[name], minlength=_FEW)
        for at, other in enumerate(every):
            counts = count_table(codes[name], codes[other], _FEW, _FEW**2)
            beside[place, :, at] = counts.reshape(_FEW, _FEW)
    return alone, beside


def _names_of(counts: _JointCounts, shown: Sequence[str]) -> dict[str, _Shown]:
    """Columns of the file that fit others of the original better than those of their own names.

    All together fit best: an assignment of columns, sought anew beside those that were found.
    """
    names = [*counts.places]
    bound = np.array([[counts.at_least(one, two) for two in names] for one in shown])
    own = np.array([counts.apart(name, name).own for name in shown])
    maybe = [(i, k) for i, k in np.argwhere(bound < own[:, np.newaxis]) if shown[i] != names[k]]
    found: dict[str, _Shown] = {}
    for _ in range(_ROUNDS if maybe else 0):
        table = counts.under({name: one.named for name, one in found.items()})
        loss = np.full(bound.shape, _LEAST)
        loss[np.arange(len(shown)), [names.index(name) for name in shown]] = 0.0
        fits = {(i, k): table.apart(shown[i], names[k]) for i, k in maybe}
        for at, one in fits.items():
            loss[at] = _LEAST - one.gain
        best = [*zip(*optimize.linear_sum_assignment(loss), strict=True)]
        before = {name: one.named[0] for name, one in found.items()}
        found = {shown[i]: fits[i, k] for i, k in best if (i, k) in fits}
        if before == {name: one.named[0] for name, one in found.items()}:
            break
    return found


@dataclass(frozen=True, eq=False)
class _Exchange:
    """Columns of a file that fit others of the original better than those of their own names."""

    counts: _JointCounts
    codes: _Sides
    """Of all columns of the original."""
    shown: Mapping[str, _Shown]

    @classmethod
    def of(cls, own: _Sides, file: _Sides, few: Sequence[str]) -> _Exchange:
        """Of codes by column, of which some have few values; the file may lack some of these."""
        counts = _JointCounts.of(own, file, few, [*file])
        several = [name for name in few if name in file and np.ptp(file[name])]
        return cls(counts, own, _names_of(counts, several) if several else {})

    def told(self) -> tuple[dict[str, str], dict[str, str]]:
        """What columns show for certain, and what they may show."""
        nearer = {n for n, one in self.shown.items() if one.apart <= _NEARER * one.own - _LEAST}
        turns = [turn for turn in self._turns() if all(map(self._is_nearer, turn))]
        asked = nearer.union(*turns)
        if not asked:
            return {}, {}
        drawn = self._drawn(asked)
        counts = self.counts
        chance = {
            n: drawn[n].chance(self.shown[n], counts.least(n), whole=counts.is_whole(n))
            for n in nearer
        }
        beyond, astray = dict.fromkeys(asked, 0.0), dict.fromkeys(asked, 1.0)
        for turn in turns:
            gain = sum(self.shown[name].gain for name in turn)
            usual = np.sum([drawn[name].gain for name in turn], axis=0)
            deviations = (gain - usual.mean()) / max(float(usual.std()), _LEAST)
            beyond |= dict.fromkeys(turn, float(deviations))
            own = sum(self.shown[name].own for name in turn)
            by_chance = _as_far(np.sum([drawn[name].own for name in turn], axis=0), own)
            astray |= dict.fromkeys(turn, by_chance)
        sure, unsure = (
            {
                n
                for n in asked
                if chance.get(n, 1.0) < level or (beyond[n] > most and astray[n] < level)
            }
            for level, most in zip((_CERTAIN, _LIKELY), _BEYOND, strict=True)
        )
        names = {name: one.named[0] for name, one in self.shown.items()}
        whole = {one for one in sure if counts.is_whole(one)}  # merged, it may be another by itself
        return {n: names[n] for n in asked & whole}, {n: names[n] for n in asked & (unsure - whole)}

    def _is_nearer(self, name: str) -> bool:
        return self.shown[name].apart <= _EXCHANGED * self.shown[name].own - _LEAST

    def _turns(self) -> list[list[str]]:
        """Columns each of which shows the next one, and the last the first."""
        found: list[list[str]] = []
        for name in self.shown:
            turn = [name]
            while (other := self.shown[turn[-1]].named[0]) in self.shown and other not in turn:
                turn.append(other)
            if other == name and not any(name in one for one in found):
                found.append(turn)
        return found

    def _drawn(self, asked: Collection[str]) -> dict[str, _Drawn]:
        """Of halves of the original, what is true of people who are drawn anew."""
        draws = Randomness.seeded(0).key("people drawn anew").generator()
        people = len(next(iter(self.codes.values())))
        few = [*dict.fromkeys(n for one in asked for n in (one, self.shown[one].named[0]))]
        found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in asked}
        for _ in range(_HALVES):
            order = draws.permutation(people)
            halves = (order[: people // 2], order[people // 2 :])
            file, own = ({n: codes[half] for n, codes in self.codes.items()} for half in halves)
            counts = _JointCounts.of(own, file, few, self.counts.beside)
            named = counts.under({name: one.named for name, one in self.shown.items()})
            for name in asked:
                other = self.shown[name].named[0]
                there, here = counts.apart(other, name), named.apart(name, other)
                found[name].append((there.own, counts.apart(name, other).own, here.gain))
        rows = (self.counts.file[0][0] ** 2).sum()
        scale = (1 + rows / people) / 2
        return {n: _Drawn(*(np.array(each).T * scale)) for n, each in found.items()}


@dataclass(frozen=True, eq=False)
class _Drawn:
    """What is true of people who are drawn anew, of a column and of the one that it shows."""

    other: Floats
    """How far the latter lies from itself."""
    own: Floats
    """How far the former does."""
    gain: Floats
    """How much nearer the former is to the latter than to itself."""

    def chance(self, shown: _Shown, least: float, *, whole: bool) -> float:
        """How improbable it is that they lie as near, but for the ``least`` that counts can differ.

        1 where they lie as far from their own.  Columns of one law lie near to each other: where no
        values were merged, so that they are ``whole``, it is enough that they lie an eighth as far
        as people who are drawn anew, and not from the other.
        """
        mean, deviation = float(self.own.mean()), max(float(self.own.std()), _LEAST)
        same = whole and shown.apart <= max(least, _SAME * mean)
        far = (same and shown.own > _ASIDE * mean) or shown.own > mean + _BEYOND[0] * deviation
        return _chance(self.other, shown.apart + least) if far else 1.0


def _chance(drawn: Floats, apart: float) -> float:
    """How improbable so small a distance is, by a gamma distribution that fits those of tables."""
    mean, variance = float(drawn.mean()), float(drawn.var())
    return float(special.gammainc(mean**2 / variance, apart * mean / variance)) if variance else 1.0


def _as_far(drawn: Floats, apart: float) -> float:
    """How improbable so great a distance is, also of a sample of other people's sample."""
    mean, variance = float(drawn.mean()), float(drawn.var())
    apart /= _SAMPLED_TWICE
    return (
        float(special.gammaincc(mean**2 / variance, apart * mean / variance)) if variance else 1.0
    )


def _keyed(both: Mapping[str, JointTexts], few: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Columns whose values stand under each other's names, as one or two others turn them."""
    found: dict[str, tuple[str, ...]] = {}
    looks = 0
    for name in few:
        others = [other for other in both if other != name]
        moved = 0.0
        for key in chain(((other,) for other in others), combinations(others, 2)):
            size = prod(both[other].distinct for other in key)
            people, rows = map(len, both[name].sides)
            if size * _ROWS_OF_KEY > people or (len(key) > 1 and looks > _MOST_TURNED):
                continue
            if len(key) > 1 and moved <= _ASTRAY:
                break
            looks += people + rows
            counts = _Turned.of(both[name], [both[other] for other in key])
            moved = max(moved, counts.moved)
            if counts.is_certain:
                found[name] = key
                break
    return found


def _keyed_by_nobody(
    both: Mapping[str, JointTexts], few: Sequence[str], released: Frame
) -> dict[str, str]:
    """The same as a column of the file turns them that tells nothing of them in the original."""
    if not few:
        return {}
    people, rows = map(len, both[few[0]].sides)
    draws = Randomness.seeded(0).key("columns of nobody").generator()
    found: dict[str, str] = {}
    for key in released.columns:
        cells = encode(released[key])
        size = len(cells.values)
        if not 1 < size <= min(people, rows) // _ROWS_OF_KEY or rows * len(few) > _MOST_TURNED:
            continue
        drawn = JointTexts((draws.choice(cells.codes, people), cells.codes), size, None)
        for name in few:
            if name == key or name in found:
                continue
            counts = _Turned.of(both[name], [drawn])
            own = _Turned.of(both[name], [both[key]]).apart()[0].sum() if key in both else np.inf
            if counts.apart()[1].sum() <= _NEARER * own and counts.is_certain:
                found[name] = key
    return found


@dataclass(frozen=True, eq=False)
class _Turned:
    """How many rows have each value of a column, shape (g, v), within g values of another."""

    own: Indices
    file: Indices

    @classmethod
    def of(cls, texts: JointTexts, keys: Sequence[JointTexts]) -> _Turned:
        """Of one column within one or more others together."""
        size = prod(one.distinct for one in keys)
        tables = []
        for side, codes in enumerate(texts.sides):
            index = keys[0].sides[side]
            for one in keys[1:]:
                index = index.astype(code_type(size + 1)) * one.distinct + one.sides[side]
            counts = count_table(index, codes, texts.distinct, size * texts.distinct)
            tables.append(counts.astype(np.int64).reshape(-1, texts.distinct))
        several = tables[0].sum(axis=1) >= _ROWS_OF_KEY
        return cls(tables[0][several], tables[1][several])._merged()

    def _merged(self) -> _Turned:
        """The same where values that the file does not show stand among others that fit best."""
        own, shown = self.own.copy(), self.file.sum(axis=0) > 0
        for value in np.flatnonzero((own.sum(axis=0) > 0) & ~shown):
            if not shown.any():
                break
            moved = own[:, value][:, np.newaxis]
            held, file = own * self.scale, np.sqrt(self.file)
            before = (np.sqrt(held) - file) ** 2
            after = (np.sqrt(held + moved * self.scale) - file) ** 2
            loss = np.where(shown, (after - before).sum(axis=0), np.inf)
            own[:, loss.argmin()] += own[:, value]
            own[:, value] = 0
        return replace(self, own=own)

    @property
    def scale(self) -> float:
        """Rows of the file for each of the original."""
        return float(self.file.sum() / max(int(self.own.sum()), 1))

    @property
    def moved(self) -> float:
        """The share of rows that stand otherwise, here and there."""
        moved = np.abs(self.file - self.own * self.scale).sum()
        return float(moved / max(int(self.file.sum()), 1))

    def apart(self) -> Floats:
        """How far tables lie apart, shape (2, g): under their names, and by their order."""
        own, file = np.sqrt(self.own * self.scale), np.sqrt(self.file)
        in_order = np.sort(own, axis=1) - np.sort(file, axis=1)
        return np.array([((own - file) ** 2).sum(axis=1), (in_order**2).sum(axis=1)])

    def blurred(self) -> float:
        """How far the file is from the original under its names, where these were blurred.

        As far as they are from what no other column tells, or from values of which all are alike.
        """
        file, least = np.sqrt(self.file), np.inf
        rows = self.file.sum(axis=1, keepdims=True)
        odds = self.own / np.maximum(self.own.sum(axis=1, keepdims=True), 1)
        for odd in (self.file.sum(axis=0) / max(int(rows.sum()), 1), 1 / self.own.shape[1]):
            for share in _BLURS:
                usual = rows * ((1 - share) * odds + share * odd)
                least = min(least, float(((np.sqrt(usual) - file) ** 2).sum()))
        return least

    def agreeing(self, draws: Draws) -> float:
        """A bound of how probable it is that as many values of the others have the same counts.

        Of people who are drawn with the frequencies of each (Chernoff).
        """
        people, rows = (side.sum(axis=1) for side in (self.own, self.file))
        odds = self.own / np.maximum(people, 1)[:, np.newaxis]
        held = np.sort(self.own, axis=1)
        agree = (held == np.sort(self.file, axis=1)).all(axis=1)
        drawn = np.zeros(len(rows))
        for _ in range(_KEYED):
            drawn += (np.sort(draws.multinomial(rows, odds), axis=1) == held).all(axis=1)
        usual = np.where(people == rows, (drawn + 1) / (_KEYED + 1), 0.0)
        tilts = np.linspace(0, 8, 81)
        least = [np.log1p(usual * np.expm1(t)).sum() - t * agree.sum() for t in tilts]
        return float(np.exp(min(least)))

    @property
    def is_certain(self) -> bool:
        """Whether values stand as often within each value of the others, under other names.

        Exactly so in more of them than people who are drawn anew; or nearly as they where they are
        far under their own names, and no value of the others alone makes it so.
        """
        apart = self.apart()
        named, in_order = apart.sum(axis=1)
        if self.moved < _MOVED or in_order > _NEARER * min(named, self.blurred()):
            return False
        draws = Randomness.seeded(0).key("people drawn anew").generator()
        people, rows = (side.sum(axis=1) for side in (self.own, self.file))
        odds = self.own / np.maximum(people, 1)[:, np.newaxis]
        drawn = np.array(
            [
                _Turned(draws.multinomial(people, odds), draws.multinomial(rows, odds))
                .apart()
                .sum(axis=1)
                for _ in range(_KEYED)
            ]
        )
        usual, usually = drawn.T
        if self.agreeing(draws) < _AGREED and _chance(usual, named) > _LIKELY:
            return True
        gain = apart[0] - apart[1]
        if 2 * gain.max() > gain.sum():
            return False
        fits = in_order <= usually.mean() + _BEYOND[1] * float(usually.std())
        return bool(fits and named > usual.mean() + _FAR * max(float(usual.std()), _LEAST))
