"""Cells from the evidence, under the strongest assumption that the files do not contradict.

- Growing: nobody leaves and nothing changes, so a release holds everybody of the older ones.
  Then whatever a release lacks of the newest is known exactly, value by value.
- Otherwise people may have left, but nobody's value or published attributes changed, and equal
  tuples in two releases are the same people, as far as their numbers allow.  Then only how many
  people are missing from a release is known, not which values they have.

A release that contradicts even that with the newer ones is left out.  So is one whose tuples are
too common to tell cells apart.  Both only weaken what is inferred; both are noted.

What an adversary reads in the published files, coded by numbers that all releases share.

A release shows two kinds of tokens, and in which group each stands: people (tuples of the
columns that are published unpermuted) and sensitive values.  A token of one kind occurs as often
as it has rows; which person goes with which value is what a release hides.

People are told apart over the releases by all published columns but the sensitive one, and are
known to the adversary by the quasi-identifiers among them; several tuples may be one "person".

Cost for n rows in all releases: one grouping of the rows, and a sort of the distinct tuples.

Who and what can lie together in every release: cells, and bounds on what they hold.

A cell is a trail: one group for each release, absence counting as a group.  Everybody in all the
releases is in exactly one cell, with one value.  The files say how often each token (a tuple by
which people are told apart, or a sensitive value) stands in each group, so they bound how many
of the tokens are in each cell.  With ``x[t, c]`` the number of tokens t in cell c and ``s[c]`` the
number of people in it:

    sum of x[t, c] over the cells c that pass through group g of a release  =  count of t in g
    sum of x[t, c] over all values t  =  s[c]  =  sum of x[t, c] over all tuples t of people

Algorithm: start with one cell and refine it by one release after another; keep only the pairs
(t, c) that both kinds of tokens allow, and tighten lower and upper bounds of all ``x`` and ``s``
with these equations until nothing changes, or for a fixed number of rounds: the bounds hold
after any.  Subtracting several groups at once needs nothing more: the equations of the newest
group and of every older group that meets it are all there.

Sound: a bound holds for every table that is consistent with the files.  Exact if each value
stands in a single group of each release, as it does where groups are ranges that do not overlap:
the equations of one value then form a chain that has one solution.  Otherwise bounds may be
wider than they could be: the exact answer is an integer programme over tables with as many ways
as there are releases.

Cost: O((R + 1) q) a round for R releases and q pairs (t, c).  q is the number of distinct tuples
and values where each occurs once, and grows where tuples are common.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from voile.release.release import Release
from voile.schema.numbers import ExactNumbers
from voile.table.alignment import Codes, common_codes, joint_codes
from voile.table.arrays import Frame, frame_of
from voile_base.errors import TableError
from voile_base.ondemand import dataclass

__all__ = [
    "Inference",
    "SeenRelease",
    "SeriesEvidence",
]


@dataclass(frozen=True, eq=False)
class _TokenCounts:
    """How often tokens of one kind stand in the groups of one release.

    Parallel arrays over the distinct pairs; groups are numbered from 1.
    """

    item: Codes
    group: Codes
    rows: Codes

    def totals(self, items: int) -> Codes:
        """Rows of each of the items, shape (items,)."""
        return np.bincount(self.item, self.rows, items).astype(np.int64)


@dataclass(frozen=True, eq=False)
class SeenRelease:
    """One release as the adversary sees it."""

    name: str
    values: _TokenCounts
    people: _TokenCounts
    labels: Codes
    """The published number of each group; entry 0 stands for absence."""

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.values.rows.sum())


@dataclass(frozen=True, eq=False)
class SeriesEvidence:
    """Releases, newest first, and the meaning of the codes in them."""

    releases: tuple[SeenRelease, ...]
    sensitive: str
    levels: ExactNumbers
    """The distinct sensitive values of all releases, ascending: value i is ``levels[i]``."""
    tuples: int
    """Number of distinct tuples by which people are told apart."""
    person: Codes
    """The person of each tuple, shape (tuples,)."""
    persons: Frame
    """Quasi-identifiers of each person."""

    def only(self, releases: Sequence[SeenRelease]) -> SeriesEvidence:
        """The same with fewer releases."""
        return SeriesEvidence(
            tuple(releases), self.sensitive, self.levels, self.tuples, self.person, self.persons
        )

    def infer(self) -> Inference:
        """Combine all releases; the newest comes first in the evidence and is always used."""
        held = self.only(_by_age(self.releases))
        losses = _losses(held)
        notes: list[str] = []
        while True:
            try:
                cells, used = _combined(held, growing=not losses)
                break
            except _Contradicted as contradicted:
                if not losses:
                    losses = [_CONTRADICTION]
                    continue
                notes.append(f"{contradicted.release.name} {_CHANGED}")
                held = held.only([one for one in held.releases if one is not contradicted.release])
                losses = _losses(held)
        notes += losses
        notes += [f"{one.name} {_TOO_COMMON}" for one in held.releases if one not in used]
        return Inference(
            evidence=held.only(used),
            cells=cells,
            tuple_rows=_tuple_rows(used, held.tuples),
            assumptions=(_LEAVING if losses else _GROWING,) if len(used) > 1 else (),
            notes=tuple(notes),
        )

    @staticmethod
    def gather(releases: Sequence[Release], names: Sequence[str]) -> SeriesEvidence:
        """Read the evidence in releases, newest first.

        Raises ``TableError`` where a release lacks the groups or the sensitive column of the
        newest, or where the releases have no quasi-identifier in common.
        """
        sensitive = _sensitive(releases[0], names[0])
        known = _common(
            releases, [release.roles.get("quasi_identifiers", ()) for release in releases]
        )
        if not known:
            msg = (
                f"{names[-1]}: has no quasi-identifier in common with {names[0]}; "
                "nobody can be known"
            )
            raise TableError(msg)
        kept = _common(releases, [release.roles.get("keep", ()) for release in releases])
        numbers = [
            _groups(release, name, sensitive) for release, name in zip(releases, names, strict=True)
        ]
        both = list(zip(releases, numbers, strict=True))
        values = [release.table.group_values(sensitive, group) for release, group in both]
        members = [release.table.group_members([*known, *kept], group) for release, group in both]
        levels, value_codes = joint_codes([seen.values for seen in values])
        tuples, tuple_codes = common_codes([frame_of(tuples) for tuples, _, _ in members])
        persons, (person,) = common_codes([tuples.select(known)])
        published = []
        for index, name in enumerate(names):
            _, groups, rows = members[index]
            labels = np.unique(groups)
            published.append(
                SeenRelease(
                    name=name,
                    values=_TokenCounts(
                        value_codes[index],
                        np.searchsorted(labels, values[index].group) + 1,
                        values[index].rows,
                    ),
                    people=_TokenCounts(
                        tuple_codes[index], np.searchsorted(labels, groups) + 1, rows
                    ),
                    labels=np.concatenate(([0], labels)),
                )
            )
        return SeriesEvidence(tuple(published), sensitive, levels, tuples.height, person, persons)


def _sensitive(release: Release, name: str) -> str:
    sensitive = release.roles.get("sensitive", ())
    if len(sensitive) != 1:
        msg = f"{name}: has {len(sensitive)} sensitive columns; this attack needs exactly one"
        raise TableError(msg)
    return sensitive[0]


def _groups(release: Release, name: str, sensitive: str) -> str:
    """The column with the numbers of groups; raises ``TableError`` where a release is no use."""
    groups = release.disclosure.groups
    if groups is None or sensitive not in release.table.columns:
        lacks = "no groups" if groups is None else f"no column {sensitive!r}"
        msg = (
            f"{name}: has {lacks}, which this attack needs; name a release with groups and the "
            "same sensitive column"
        )
        raise TableError(msg)
    return groups.column


def _common(releases: Sequence[Release], named: Sequence[Sequence[str]]) -> list[str]:
    """Names of the newest release that all releases publish."""
    return [name for name in named[0] if all(name in release.table.columns for release in releases)]


_MOST_PAIRS = 8_000_000  # about a gigabyte
_ROUNDS = 40  # bounds are sound after any round; chains of releases close in a few


class _ContradictionError(Exception):
    """No table is consistent with what was assumed about the releases."""


class _TooManyPairsError(Exception):
    """The tokens of a release are too common to tell cells apart."""


@dataclass(frozen=True, eq=False)
class _Placement:
    """How many tokens of one kind stand in each group of a release, absence included.

    Absence is two groups: 0 for people who are not in the newer release either (only where
    nobody leaves), and ``width - 1`` for those who are.  The number of tokens in the second is
    exactly what arrived between the two releases, which is why the two are kept apart.

    Parallel arrays over the distinct pairs, ascending by item, then by group.
    """

    item: Codes
    group: Codes
    least: Codes
    most: Codes
    width: int
    """Number of groups, both absences included."""


@dataclass(frozen=True, eq=False)
class _Equation:
    """For each of m sums of bounds: which pairs it adds up, and what the total can be."""

    member: Codes
    """The sum to which each pair belongs, shape (n,)."""
    least: Codes
    most: Codes


@dataclass(frozen=True, eq=False)
class _Side:
    """Tokens of one kind in their cells: parallel arrays over the n possible pairs."""

    item: Codes
    cell: Codes
    lower: Codes
    upper: Codes
    equations: tuple[_Equation, ...] = ()

    def chosen(self, keep: NDArray[np.bool_] | Codes) -> _Side:
        """Only some of the pairs, or pairs repeated."""
        return _Side(
            self.item[keep],
            self.cell[keep],
            self.lower[keep],
            self.upper[keep],
            tuple(replace(sums, member=sums.member[keep]) for sums in self.equations),
        )


@dataclass(frozen=True, eq=False)
class _TokenCells:
    """Cells, and what can lie in them."""

    trail: Codes
    """Shape (cells, releases): group of each cell in each release used so far; 0 for absence."""
    values: _Side
    people: _Side
    sizes: _Side
    """The number of people in each cell: one token in all cells."""
    growing: bool
    """Whether nobody leaves: absence from a release means absence from the older ones."""

    @classmethod
    def undivided(cls, values: Codes, people: Codes, *, growing: bool) -> _TokenCells:
        """One cell that holds everybody; the most that there can be of each token is given."""
        everybody = np.array([people.sum()])
        return cls(
            trail=np.zeros((1, 0), np.int64),
            values=_undivided(values),
            people=_undivided(people),
            sizes=_undivided(everybody),
            growing=growing,
        )

    def refined(self, values: _Placement, people: _Placement) -> _TokenCells:
        """The cells divided by one more release, which is older than those before.

        Raises ``_ContradictionError`` where no table is consistent with the releases, and
        ``_TooManyPairsError`` where there would be too much to keep in memory.
        """
        one, other = (self.values, values), (self.people, people)
        if _ways(*one) <= _ways(*other):
            divided_values, divided_people, parts = _divided(one, other, self._absent())
        else:
            divided_people, divided_values, parts = _divided(other, one, self._absent())
        parent, group = np.divmod(parts, people.width)
        in_group = np.bincount(people.group, people.most, people.width).astype(np.int64)
        sizes = self.sizes.chosen(parent)
        sizes = replace(
            sizes,
            cell=np.arange(len(parts)),
            lower=np.zeros(len(parts), np.int64),
            upper=np.minimum(sizes.upper, in_group[group]),
            equations=(*sizes.equations, _Equation(group, in_group, in_group)),
        )
        trail = np.column_stack((self.trail[parent], group % (people.width - 1)))
        return _TokenCells(trail, divided_values, divided_people, sizes, self.growing)._closed()

    def _absent(self) -> NDArray[np.bool_]:
        """Cells whose people cannot be in an older release."""
        if not self.growing or not self.trail.shape[1]:
            return np.zeros(len(self.trail), np.bool_)
        answer: NDArray[np.bool_] = self.trail[:, -1] == 0
        return answer

    def _closed(self) -> _TokenCells:
        """The same with bounds as tight as the equations make them, and without empty pairs."""
        values, people, sizes = self.values, self.people, self.sizes
        stale = {"values", "people"}
        for _ in range(_ROUNDS):
            before = sizes
            if "values" in stale:
                tightened, sizes = _with_sizes(_tightened(values), sizes)
                if _same(tightened, values):
                    stale.discard("values")
                values = tightened
            if "people" in stale:
                tightened, sizes = _with_sizes(_tightened(people), sizes)
                if _same(tightened, people):
                    stale.discard("people")
                people = tightened
            sizes = _tightened(sizes)
            if not _same(sizes, before):
                stale = {"values", "people"}
            elif not stale:
                break
        return replace(self, values=values, people=people, sizes=sizes)._compressed()

    def _compressed(self) -> _TokenCells:
        """Without pairs that cannot be and cells that are empty."""
        kept = self.sizes.upper > 0
        number = np.cumsum(kept) - 1

        def compress(side: _Side) -> _Side:
            side = side.chosen((side.upper > 0) & kept[side.cell])
            return replace(side, cell=number[side.cell])

        return replace(
            self,
            trail=self.trail[kept],
            values=compress(self.values),
            people=compress(self.people),
            sizes=compress(self.sizes),
        )


def _undivided(most: Codes) -> _Side:
    item = np.flatnonzero(most)
    nothing = np.zeros(len(item), np.int64)
    return _Side(item, nothing, nothing, most[item].astype(np.int64))


def _divided(
    small: tuple[_Side, _Placement], large: tuple[_Side, _Placement], absent: NDArray[np.bool_]
) -> tuple[_Side, _Side, Codes]:
    """Both sides in divided cells, and the part of each new cell: ``parent * width + group``.

    The smaller side tells which parts there can be; only those are looked for in the larger.
    """
    side, placement = small
    pair, place = _matches(side.item, placement.item)
    group = placement.group[place]
    fits = (group == 0) == absent[side.cell[pair]]
    pair, place = pair[fits], place[fits]
    part = side.cell[pair] * placement.width + placement.group[place]
    large_pair, large_place, large_part = _within(*large, _distinct(part))
    parts = _distinct(large_part)
    common = np.isin(part, parts)
    pair, place, part = pair[common], place[common], part[common]
    return (
        _side(small, pair, place, np.searchsorted(parts, part)),
        _side(large, large_pair, large_place, np.searchsorted(parts, large_part)),
        parts,
    )


def _within(side: _Side, placement: _Placement, parts: Codes) -> tuple[Codes, Codes, Codes]:
    """Pairs of a side, and places of their items, that lie in one of the parts.

    Of the two ways to enumerate them, by the places of the items or by the parts of the cells,
    the shorter is taken.
    """
    width = placement.width
    parents = parts // width
    if _ways(side, placement) <= _match_count(side.cell, parents):
        pair, place = _matches(side.item, placement.item)
        part = side.cell[pair] * width + placement.group[place]
        keep = np.isin(part, parts)
    else:
        pair, index = _matches(side.cell, parents)
        part = parts[index]
        key = placement.item * width + placement.group
        wanted = side.item[pair] * width + part % width
        place = np.minimum(np.searchsorted(key, wanted), len(key) - 1)
        keep = key[place] == wanted
    return pair[keep], place[keep], part[keep]


def _side(tokens: tuple[_Side, _Placement], pair: Codes, place: Codes, cell: Codes) -> _Side:
    """A side with its pairs divided over the places of a release."""
    side, placement = tokens
    divided = side.chosen(pair)
    return _Side(
        item=divided.item,
        cell=cell,
        lower=np.zeros(len(pair), np.int64),
        upper=np.minimum(divided.upper, placement.most[place]),
        equations=(*divided.equations, _Equation(place, placement.least, placement.most)),
    )


def _ways(side: _Side, placement: _Placement) -> int:
    """How many pairs there are if each is divided over all places of its item."""
    return _match_count(side.item, placement.item)


def _distinct(numbers: Codes) -> Codes:
    """Distinct numbers that are not negative, ascending; fast where they are many and small."""
    largest = int(numbers.max(initial=0))
    if largest > 8 * len(numbers):
        return np.unique(numbers)
    seen = np.zeros(largest + 1, np.bool_)
    seen[numbers] = True
    return np.flatnonzero(seen)


def _match_count(left: Codes, right: Codes) -> int:
    ends = np.searchsorted(right, left, side="right")
    return int((ends - np.searchsorted(right, left)).sum())


def _matches(left: Codes, right: Codes) -> tuple[Codes, Codes]:
    """All (i, j) with ``left[i] == right[j]``, ascending by i; ``right`` ascends."""
    start = np.searchsorted(right, left)
    times = np.searchsorted(right, left, side="right") - start
    total = int(times.sum())
    if total > max(_MOST_PAIRS, 2 * len(left), len(right)):
        raise _TooManyPairsError
    i = np.repeat(np.arange(len(left)), times)
    return i, np.arange(total) + np.repeat(start - np.cumsum(times) + times, times)


def _tightened(side: _Side) -> _Side:
    """Bounds tightened once by every equation of the side."""
    for equation in reversed(side.equations):  # the oldest release determines most by itself
        side = _tightened_by(side, equation)
    return side


def _tightened_by(side: _Side, sums: _Equation) -> _Side:
    lower, upper, member = side.lower, side.upper, sums.member
    low, high = _totals(lower, sums), _totals(upper, sums)
    if (low > sums.most).any() or (high < sums.least).any():
        raise _ContradictionError
    # What the others take at least is not left for this pair; what they cannot take, it must.
    tight_upper = np.minimum(upper, (sums.most - low)[member] + lower)
    tight_lower = np.maximum(lower, (sums.least - high)[member] + upper)
    return replace(side, lower=tight_lower, upper=tight_upper)


def _with_sizes(side: _Side, sizes: _Side) -> tuple[_Side, _Side]:
    """Tighten a side by the sizes of the cells, and the sizes by the side."""
    by_cell = _Equation(side.cell, sizes.lower, sizes.upper)
    side = _tightened_by(side, by_cell)
    lower = np.maximum(sizes.lower, _totals(side.lower, by_cell))
    upper = np.minimum(sizes.upper, _totals(side.upper, by_cell))
    if (lower > upper).any():
        raise _ContradictionError
    return side, replace(sizes, lower=lower, upper=upper)


def _totals(bound: Codes, sums: _Equation) -> Codes:
    return np.bincount(sums.member, bound, len(sums.least)).astype(np.int64)


def _same(one: _Side, other: _Side) -> bool:
    return np.array_equal(one.lower, other.lower) and np.array_equal(one.upper, other.upper)


_GROWING = (
    "between the releases nobody left, and nobody's value or published attributes changed; the "
    "files do not contradict this"
)
_LEAVING = (
    "people may have left between the releases, but nobody's value or published attributes "
    "changed, and people who look the same in two releases are the same people"
)

_CONTRADICTION = (
    "the releases contradict each other if nobody left between them, so people left or were "
    "changed, and less is certain"
)
_CHANGED = (
    "is left out: values or people changed between it and the newer releases, so nothing follows "
    "from comparing them"
)
_TOO_COMMON = (
    "is left out: its people and values are too common to compare it with the newer releases in "
    "memory; more could follow from it"
)


@dataclass(frozen=True, eq=False)
class Inference:
    """Everything that follows from the evidence."""

    evidence: SeriesEvidence
    """The releases that were used."""
    cells: _TokenCells
    tuple_rows: Codes
    """How many people have each tuple, in all used releases together."""
    assumptions: tuple[str, ...]
    notes: tuple[str, ...]


class _Contradicted(Exception):  # noqa: N818 - a branch of the search, never seen outside
    def __init__(self, release: SeenRelease) -> None:
        self.release = release


def _tuple_rows(releases: Sequence[SeenRelease], tuples: int) -> Codes:
    """How many people there are at least with each tuple, in all releases together."""
    most: Codes = np.max([release.people.totals(tuples) for release in releases], axis=0)
    return most


def _by_age(releases: tuple[SeenRelease, ...]) -> list[SeenRelease]:
    """The newest release, then the others from the largest to the smallest.

    Where nobody leaves, the smaller of two releases is the older.
    """
    return [releases[0], *sorted(releases[1:], key=lambda release: -release.rows)]


def _losses(evidence: SeriesEvidence) -> list[str]:
    """What releases show that the next newer one does not; empty if nobody can have left."""
    notes = []
    releases = evidence.releases
    for older, newer in zip(releases[1:], releases, strict=False):
        people = _missing(older.people, newer.people, evidence.tuples)
        values = _missing(older.values, newer.values, len(evidence.levels))
        if people or values:
            notes.append(
                f"of the people and the values of {older.name}, {people:,} and {values:,} are "
                f"missing in {newer.name}: people left or were changed, and less is certain"
            )
    return notes


def _missing(older: _TokenCounts, newer: _TokenCounts, items: int) -> int:
    return int(np.maximum(older.totals(items) - newer.totals(items), 0).sum())


def _combined(evidence: SeriesEvidence, *, growing: bool) -> tuple[_TokenCells, list[SeenRelease]]:
    """Cells of all releases under one assumption, and the releases that could be used.

    Raises ``_Contradicted`` for the first release, from the newest to the oldest, that cannot be
    reconciled with those before it.
    """
    tuple_rows = _tuple_rows(evidence.releases, evidence.tuples)
    everybody = int(tuple_rows.sum())
    newest = evidence.releases[0].values
    levels = len(evidence.levels)
    value_rows = newest.totals(levels) if growing else np.full(levels, everybody)
    cells = _TokenCells.undivided(value_rows, tuple_rows, growing=growing)
    tuples_left, values_left = tuple_rows, value_rows
    used: list[SeenRelease] = []
    for release in evidence.releases:
        tuples_here = release.people.totals(evidence.tuples)
        values_here = release.values.totals(levels)
        tuples_gone = tuples_left - tuples_here
        # Where people leave, anything may be the value of somebody who is not in the release.
        least = values_left - values_here if growing else np.zeros(levels, np.int64)
        most = least if growing else np.full(levels, everybody - release.rows)
        width = len(release.labels) + 1
        try:
            cells = cells.refined(
                _placement(release.values, value_rows - values_left, (least, most), width),
                _placement(release.people, tuple_rows - tuples_left, (tuples_gone,) * 2, width),
            )
        except _ContradictionError:
            raise _Contradicted(release) from None
        except _TooManyPairsError:
            continue  # what the other releases tell stays true
        used.append(release)
        if growing:
            tuples_left, values_left = tuples_here, values_here
    return cells, used


def _placement(
    seen: _TokenCounts, never: Codes, gone: tuple[Codes, Codes], width: int
) -> _Placement:
    """Sightings in groups, and both ways of being absent; see ``_Placement``.

    ``never`` tokens are not in the newer release either; of those that are, at least ``gone[0]``
    and at most ``gone[1]`` are absent.
    """
    before, away = np.flatnonzero(never), np.flatnonzero(gone[1])
    item = np.concatenate((seen.item, before, away))
    group = np.concatenate((seen.group, np.zeros_like(before), np.full_like(away, width - 1)))
    order = np.argsort(item * width + group)
    return _Placement(
        item=item[order],
        group=group[order],
        least=np.concatenate((seen.rows, never[before], gone[0][away]))[order],
        most=np.concatenate((seen.rows, never[before], gone[1][away]))[order],
        width=width,
    )
