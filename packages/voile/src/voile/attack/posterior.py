"""What an adversary believes of the people he knows: whose row is which, by Bayes' rule.

What it does: draws the targets of an attack, and turns what a release shows of them
(``release.reading``) into probabilities: of the rows that may be a person's, and of the people
that a row may belong to.

Source: Bayes' rule, with nothing known beforehand: every row is as likely as another, and so is
every person.  Each column weighs every pair of a person and a published row by how much likelier
the row shows what it shows if it is that person's (for noise, "Privacy-Preserving Bin-Packing With
Differential Privacy", IEEE OJ-CS 2022, eq. 30); weights of several columns are multiplied.

Cost: O(t n m) for t people, n different published rows and m columns: eight pairs a byte where
rows fit or do not, 30 ns a pair and column with noise; memory for a few million pairs.  Only pairs
of which both fit somebody are weighed by number.

Who may be the owner of some of the published rows, so that nobody else is weighed.

What it does: compares all rows of the table with the t published rows that are asked for in columns
that say yes or no, a bit for each of them, and keeps the rows of the table that fit any.  Only
these are told apart and weighed: which they are changes no weight, for all others weigh 0.

Cost: O(N t m / 8) bytes passed over for N rows of the table and m columns, fewer from column to
column; for v values and t rows v t / 8 bytes held, and what is weighed.  With permuted columns all
people are told apart, and all published rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from voile.disclosure.evidence import (
    Chosen,
    CoverEvidence,
    Evidence,
    Labels,
    TurnedEvidence,
    WeighedEvidence,
)
from voile.release.reading import (
    ColumnView,
    People,
    Place,
    PublishedRows,
    Sightings,
    texts_of,
)
from voile.release.release import Release
from voile.table.arrays import Frame, Values
from voile.table.codes import Combinations, DictionaryColumn, encode, look_up
from voile_base.errors import InputError, nearest
from voile_base.ondemand import dataclass, on_demand
from voile_base.randomness import Key, Randomness

if TYPE_CHECKING:
    from voile.table.engines import polars as polars_engine
else:
    polars_engine = on_demand("voile.table.engines.polars")

__all__ = [
    "PAIRS",
    "Candidates",
    "Crowd",
    "MatchingColumn",
    "draw_rows",
    "draw_targets",
    "draw_units",
    "first_of_each",
    "near_weights",
    "owner_posteriors",
    "plain_weights",
    "posteriors",
    "rows_of_people",
    "sampling",
    "sightings_near",
    "telling_columns",
    "tells_all",
    "uniform",
    "worst_and_typical",
]


Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

PAIRS = 1 << 20
"""Pairs of a person and a row that are weighed at a time: some 25 megabytes."""
_PACKED = 64
"""How many times as many are looked at before, as bits, for those that fit at all."""
_BITS = 1 << 22
"""Of bits that say who fits what, how many stand at a time: half a megabyte stays in the caches."""


def draw_targets(
    people: People,
    columns: Sequence[str],
    targets: int | None,
    randomness: Randomness,
    link: str | None = None,
    there: Indices | None = None,
) -> Indices:
    """Indices of the rows at which an attack is aimed, ascending; all where ``targets`` is None.

    Where the plan names persons or households, so many of these are drawn, and one row of each:
    the one that is known, one of ``there`` where that is given.  A function of what rows hold in
    these columns and in the link, and of whose they are, not of where they stand.
    """
    linked = [link] if link in people.frame.columns else []
    names = (*sorted(columns), *linked)
    if people.protected != "row":
        whose, _ = people.units
        rows = np.arange(len(whose)) if there is None else there
        chosen = draw_units(people, targets, randomness, np.unique(whose[rows]))
        return _row_of_each(people, names, rows[np.isin(whose[rows], chosen)], randomness)
    key, height = randomness.key("targets"), people.frame.height

    def draw() -> Indices:
        return _drawn(lambda: {name: people.coded(name) for name in names}, height, targets, key)

    return people.drawn((names, targets, key.secret), draw)


def draw_units(
    people: People, targets: int | None, randomness: Randomness, among: Indices | None = None
) -> Indices:
    """So many of the persons or households that the plan names, ascending; all for None.

    ``among`` are those who may be drawn.  A function of what they are called alone.
    """
    units, count = people.units
    among = np.arange(count) if among is None else among
    _, first = np.unique(units, return_index=True)
    name = people.unit_column
    called = people.frame[name].gather(first[among])
    key = randomness.key("targets")
    chosen = _drawn(lambda: {name: encode(called)}, len(among), targets, key)
    return among[chosen]


def _row_of_each(
    people: People, names: Sequence[str], rows: Indices, randomness: Randomness
) -> Indices:
    """Of these rows one of each person, drawn by what it holds; ascending."""
    units, _ = people.units
    known = {
        name: DictionaryColumn(column.values, column.codes[rows])
        for name in (*names, people.unit_column)
        for column in [people.coded(name)]
    }
    words = polars_engine.unique_words(known, randomness.key("rows of targets"))
    order = np.lexsort((words, units[rows]))
    _, first = np.unique(units[rows][order], return_index=True)
    return np.sort(rows[order[first]])


def draw_rows(published: PublishedRows, count: int | None, randomness: Randomness) -> Indices:
    """Indices of published rows, ascending; all where ``count`` is None.

    A function of what rows show, not of where they stand.
    """
    names, key = sorted(published.frame.columns), randomness.key("rows")
    columns = partial(_encoded, published.frame, names)
    return _drawn(columns, published.frame.height, count, key)


def _encoded(frame: Frame, names: Sequence[str]) -> dict[str, DictionaryColumn]:
    return {name: encode(frame[name]) for name in names}


def posteriors(
    sightings: Sightings,
    targets: int,
    *,
    population: bool = False,
    pairs: int = PAIRS,
    width: int = 1,
) -> Iterator[tuple[slice, Indices, Floats]]:
    """For chunks of the t targets, the probability that a target's row is a given row.

    Yields ``(chunk, which, weights)``: the weights, of shape (targets in the chunk, which), of the
    sightings at the places ``which``; no other fits any of the targets.  All rows of a sighting
    have the same, so ``weights @ sightings.rows[which]`` is 1 for each target, or 0 where no row
    fits.  With ``population`` weights are first divided by their mean over the targets, which is
    Bayes' rule for others drawn like the targets.  ``pairs`` bounds the size of a chunk, of as many
    numbers a target as the sightings that fit, and ``width`` at least.
    """
    shown = len(sightings.rows)
    usual = _log_mean_weights(sightings, _chunks(targets, shown, pairs)) if population else None
    for part in _chunks(targets, shown, pairs * _PACKED):
        which, near = _near(sightings, part)
        divisors = None if usual is None else usual[which]
        for inner in _chunks(part.stop - part.start, max(len(which), width), pairs):
            chunk = slice(part.start + inner.start, part.start + inner.stop)
            weights = _weights(near, chunk, 1, divisors)
            total = weights @ near.rows
            weights /= np.where(total > 0, total, 1.0)[:, np.newaxis]
            yield chunk, which, weights


def owner_posteriors(
    sightings: Sightings, people: NDArray[np.int64], pairs: int = PAIRS
) -> Iterator[tuple[slice, Indices, Floats]]:
    """For chunks of the g sightings, the probability that a row belongs to a given person.

    The targets of the sightings are t different people; ``people`` (t,) says how many there are of
    each.  Yields ``(chunk, who, weights)``: the weights, of shape (who, sightings in the chunk), of
    the people at the places ``who``; all others have none.  ``people[who] @ weights`` is 1 for each
    sighting, or 0 where nobody fits.
    """
    waiting = [(slice(0, len(sightings.rows)), np.arange(len(people)))]
    while waiting:
        chunk, who = waiting.pop()
        size = chunk.stop - chunk.start
        part = sightings.only(np.arange(chunk.start, chunk.stop))
        who = _who_fit(part, who)
        if size > 1 and size * len(who) > pairs:  # those who fit half of them are fewer
            half = chunk.start + size // 2
            waiting += [(slice(half, chunk.stop), who), (slice(chunk.start, half), who)]
            continue
        weights = _weights(part, who, 0)
        total = people[who] @ weights
        yield chunk, who, weights / np.where(total > 0, total, 1.0)


def plain_weights(
    sightings: Sightings, targets: int, pairs: int = PAIRS
) -> Iterator[tuple[slice, Floats]]:
    """For chunks of the t targets, how well each row fits them, not normalized.

    Yields ``(chunk, weights)``, the weights of shape (targets in the chunk, g): 1 where a row fits
    and 0 where not; noise and permuted columns weigh as ``release.reading`` says.
    """
    return _plain(sightings, slice(0, targets), pairs)


def _plain(sightings: Sightings, part: slice, pairs: int) -> Iterator[tuple[slice, Floats]]:
    """The same of some of the targets."""
    for inner in _chunks(part.stop - part.start, len(sightings.rows), pairs):
        chunk = slice(part.start + inner.start, part.start + inner.stop)
        if all(isinstance(seen, CoverEvidence) for seen in sightings.evidence):
            yield chunk, _weights(sightings, chunk, 1)
        else:
            yield chunk, np.exp(_log_weights(sightings, chunk))


def near_weights(
    sightings: Sightings, targets: int, pairs: int = PAIRS
) -> Iterator[tuple[slice, Indices, Floats]]:
    """As ``plain_weights``, of the sightings that fit any of the targets; others weigh nothing.

    Yields ``(chunk, which, weights)``, the weights of the sightings at the places ``which``.
    """
    for part in _chunks(targets, len(sightings.rows), pairs * _PACKED):
        which, near = _near(sightings, part)
        for chunk, weights in _plain(near, part, pairs):
            yield chunk, which, weights


def rows_of_people(
    published: PublishedRows, people: People, link: str, targets: Indices
) -> Indices:
    """The published row of each target by the link, shape (t,); -1 where it is not published.

    Raises ``InputError`` where the link is missing or does not tell rows apart.
    """
    both = ((published.frame, "the release"), (people.frame, "the original"))
    for frame, where in both:
        if link not in frame.columns:
            msg = f"{where} has no column {link!r} to link rows by{nearest(link, frame.columns)}"
            raise InputError(msg)
    for frame, where in both:
        if frame[link].n_unique() < frame.height:
            msg = f"column {link!r} of {where} does not tell rows apart; a link is unique"
            raise InputError(msg)
    shown, own = published.frame[link], people.column(link)
    if all(_is_small_integers(side) for side in (shown, own)):
        numbers, known = shown.cast(int).to_numpy(), own.cast(int).to_numpy()[targets]
        order = np.argsort(numbers, kind="stable")
        row = np.append(order, -1)[np.searchsorted(numbers, known, sorter=order)]
        return np.where(np.append(numbers, 0)[row] == known, row, -1)
    row_of = {text: row for row, text in enumerate(texts_of(shown))}
    texts = texts_of(own.gather(targets))
    return np.array([row_of.get(text, -1) for text in texts], dtype=np.int64)


def _is_small_integers(values: Values) -> bool:
    highest = values.max() if values.dtype.is_integer() and not values.null_count() else None
    return isinstance(highest, int) and highest < 1 << 63


def sampling(release: Release) -> float:
    """The probability with which a row was sampled before it was published."""
    return release.disclosure.probability


def worst_and_typical(probability: Floats) -> tuple[int, int]:
    """The targets with the largest and with the median probability, of one target or more."""
    order = np.argsort(probability, kind="stable")
    return int(order[-1]), int(order[(len(order) - 1) // 2])


def _drawn(
    columns: Callable[[], Mapping[str, DictionaryColumn]], rows: int, count: int | None, key: Key
) -> Indices:
    """Indices of so many of the rows, ascending; all where there are no more."""
    if count is None or rows <= count:
        return np.arange(rows)

    words = polars_engine.unique_words(columns(), key)
    return np.sort(np.argpartition(words, count)[:count])


def _weights(
    sightings: Sightings, targets: Chosen, axis: int, usual: Floats | None = None
) -> Floats:
    """The weights of all sightings for some targets, the largest along an axis being 1, or all 0.

    ``usual`` (g,) are logarithms of what they are divided by.
    """
    if usual is None and all(isinstance(seen, CoverEvidence) for seen in sightings.evidence):
        covers = _covers(sightings, targets)
        assert covers is not None
        return covers.astype(np.float64)
    weights = _log_weights(sightings, targets)
    if usual is not None:
        weights -= usual
    top = weights.max(axis=axis, keepdims=True, initial=-np.inf)
    weights -= np.where(np.isfinite(top), top, 0.0)
    return np.exp(weights, out=weights)


def _log_weights(sightings: Sightings, targets: Chosen) -> Floats:
    """Logarithms of the weights of all sightings for some targets; -inf rules one out."""
    graded = [seen for seen in sightings.evidence if not isinstance(seen, CoverEvidence)]
    covers = _covers(sightings, targets)
    if not graded:
        assert covers is not None, "some column is known"
        return np.where(covers, 0.0, -np.inf)
    weights = graded[0].log_weights(targets)
    for seen in graded[1:]:
        weights += seen.log_weights(targets)
    if covers is not None:
        weights[np.logical_not(covers, out=covers)] = -np.inf
    return weights


def _covers(sightings: Sightings, targets: Chosen) -> NDArray[np.bool_] | None:
    """Which sightings fit some targets in all columns that say yes or no; None without any."""
    covers = None
    for seen in sightings.evidence:
        if isinstance(seen, CoverEvidence):
            fits = seen.covers(targets)
            covers = fits if covers is None else np.logical_and(covers, fits, out=covers)
    return covers


def _near(sightings: Sightings, part: slice) -> tuple[Indices, Sightings]:
    """The sightings that fit any of some targets, and what these show; kept with the sightings."""
    asked = part.start, part.stop
    if asked not in sightings.near:
        which = _fitting(sightings, part)
        bare = replace(sightings, place=sightings.place[:0])  # nobody asks for those of all rows
        sightings.near[asked] = which, bare.only(which)
    return sightings.near[asked]


def _fitting(sightings: Sightings, targets: slice) -> Indices:
    """The sightings that fit any of some targets, of columns that say yes or no; ascending."""
    masks = [seen.fits_some_target(targets) for seen in sightings.texts]
    which = np.flatnonzero(np.logical_and.reduce(masks)) if masks else None
    near = sightings if which is None else sightings.only(which)
    which = np.arange(len(near.rows)) if which is None else which
    if not (asked := _asked_one_by_one(near)):
        return which
    bits = asked[0].packed_targets(targets)
    for seen in asked[1:]:
        bits = bits & seen.packed_targets(targets)
    return which[bits.any(axis=1)]


def _who_fit(sightings: Sightings, who: Indices) -> Indices:
    """Those of some targets that fit any sighting, of columns that say yes or no; ascending."""
    masks = [seen.fits_some_row()[who] for seen in sightings.texts]
    who = who[np.logical_and.reduce(masks)] if masks else who
    fit = [np.empty(0, dtype=np.int64)]
    if not (asked := _asked_one_by_one(sightings)):
        return who
    for part in _chunks(len(who), len(sightings.rows), _BITS):
        bits = asked[0].packed(who[part])
        for seen in asked[1:]:
            bits = bits & seen.packed(who[part])
        fit.append(who[part][bits.any(axis=1)])
    return np.concatenate(fit)


def _asked_one_by_one(sightings: Sightings) -> list[CoverEvidence]:
    """The evidence that says yes or no of each pair; none where it is a look-up of texts."""
    covers = [seen for seen in sightings.evidence if isinstance(seen, CoverEvidence)]
    return [] if len(covers) == 1 and isinstance(covers[0], Labels) else covers


def _log_mean_weights(sightings: Sightings, chunks: Sequence[slice]) -> Floats:
    """Logarithm of the mean weight of each sighting over targets, up to a constant; (g,)."""
    total = np.full(len(sightings.rows), -np.inf)
    for chunk in chunks:
        total = np.logaddexp(total, np.logaddexp.reduce(_log_weights(sightings, chunk)))
    return np.where(np.isfinite(total), total, 0.0)


def _chunks(count: int, width: int, pairs: int) -> list[slice]:
    size = max(1, pairs // max(width, 1))
    return [slice(start, min(start + size, count)) for start in range(0, count, size)]


def _read(
    published: PublishedRows, people: People, name: str
) -> tuple[Evidence, Place, Place] | None:
    """What v values weigh in c cells, and which each row of the table has, each published shows.

    None where nobody can tell that of a value and a cell alone.
    """
    if name in published.permuted:
        return None
    values = people.coded(name)
    first = first_of_each(values.codes, len(values.values))
    cells, cell = published.combinations(published.columns_of(name))
    rows = np.bincount(cell, minlength=cells.height)
    view = ColumnView.of(published, (cells, rows), people, name, first)
    return None if view.notes() else (view.evidence(), values.codes, cell)


@dataclass(frozen=True, eq=False)
class MatchingColumn:
    """A known column: what fits what, of its distinct values and its distinct cells."""

    evidence: CoverEvidence
    """Of the v values and the c cells, each once."""
    value: Place
    """Shape (N,): which of the v values each row of the original has."""
    cell: Place
    """Shape (n,): which of the c cells each published row shows."""

    @classmethod
    def of(cls, published: PublishedRows, people: People, name: str) -> MatchingColumn | None:
        """A column; None where rows neither fit nor do not, or where that cannot be told."""
        shown = published.shown(name)
        found = None if shown is None or shown.graded else _read(published, people, name)
        if found is None or not isinstance(evidence := found[0], CoverEvidence):
            return None
        return cls(evidence, *found[1:])

    @property
    def compared(self) -> int:
        """How many pairs of a value and a cell there are."""
        return (int(self.value.max(initial=0)) + 1) * (int(self.cell.max(initial=0)) + 1)

    @property
    def labels(self) -> Labels | None:
        """The texts, where a value has one and fits no other."""
        found = self.evidence
        return found if isinstance(found, Labels) and found.is_exact else None


def first_of_each(codes: Place, distinct: int) -> Indices:
    """The first row of each of the codes from 0, shape (distinct,)."""
    first = np.empty(distinct, dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    return first


@dataclass(frozen=True, eq=False)
class Crowd:
    """The d different people of a table, as far as some columns tell them apart; private."""

    first: Indices
    """Shape (d,): the place of one of each."""
    count: NDArray[np.int64]
    """Shape (d,): how many there are of each."""
    number: Place
    """Shape (n,): which of them each row of the table is."""

    @classmethod
    def of(cls, people: People, columns: Sequence[str], there: Indices | None = None) -> Crowd:
        """Tell people apart by columns of which there is at least one.

        ``there`` (n,), ascending, are the rows that count; None: all.
        """
        encoded = [people.coded(name) for name in columns]
        some = slice(None) if there is None else there
        found = Combinations.of([(column.codes[some], len(column.values)) for column in encoded])
        first = first_of_each(found.index, len(found.rows))
        return cls(first if there is None else there[first], found.rows, found.index)


@dataclass(frozen=True, eq=False)
class Candidates:
    """Those who may be the owners of some published rows, and what these rows show; private."""

    there: Indices
    """Shape (c,): which rows of the table they are, ascending."""
    crowd: Crowd
    """The different people among them."""
    sightings: Sightings
    """What the t rows show of these; ``place`` is theirs, shape (t,)."""

    @classmethod
    def of(
        cls, published: PublishedRows, people: People, columns: Sequence[str], rows: Indices
    ) -> Candidates:
        """All who fit one of some published rows, ``rows`` (t,), in columns that both have.

        With noise that is who fit in the other columns.
        """
        seen = [_read(published, people, name) for name in columns]
        read = [column for column in seen if column is not None]
        if len(read) < len(seen) or not read or not len(rows):
            crowd = Crowd.of(people, columns)
            every = Sightings.of(published, people, columns, crowd.first)
            place = every.place[rows]
            return cls(np.arange(people.frame.height), crowd, replace(every, place=place))
        shown = [cell[rows] for _, _, cell in read]
        found = Combinations.of([(cell, int(cell.max()) + 1) for cell in shown])
        first = first_of_each(found.index, len(found.rows))
        each, graded = list[_SampledColumn](), list[WeighedEvidence]()
        for (evidence, value, _), cell in zip(read, shown, strict=True):
            if isinstance(evidence, CoverEvidence):
                each.append(_SampledColumn.of(MatchingColumn(evidence, value, cell), cell[first]))
            else:
                graded.append(WeighedEvidence.of(evidence, value, cell[first].astype(np.int64)))
        there = _who_fit_any(each) if each else np.arange(people.frame.height)
        crowd = Crowd.of(people, columns, there)
        weighed: list[Evidence] = [
            *(column.evidence_of(crowd.first) for column in each),
            *(column.about(crowd.first) for column in graded),
        ]
        return cls(there, crowd, Sightings.of_cells(weighed, found.index))

    def people_at(self, rows: Indices) -> Indices:
        """Which of the different people some rows of the table are; -1 for no candidate."""
        place = np.searchsorted(self.there, rows)
        found = np.append(self.there, -2)[place] == rows
        return np.where(found, np.append(self.crowd.number, 0)[place].astype(np.int64), -1)


@dataclass(frozen=True, eq=False)
class _SampledColumn:
    """A column of the table, and s of the cells that the release shows of it."""

    evidence: CoverEvidence
    """Of the v values, and of the different ones of these cells."""
    value: Place
    """Shape (N,): the value of each row of the table."""
    cell: Indices
    """Shape (s,)."""
    fits: NDArray[np.bool_]
    """Shape (v,): whether each value fits any of the cells."""
    bits: NDArray[np.uint8] | None
    """Shape (v, s / 8): which of the cells each value fits; None where that is too much."""
    share: float
    """The share of all pairs that fit; 1 where nobody counted them."""

    @classmethod
    def of(cls, column: MatchingColumn, cells: Place) -> _SampledColumn:
        """A column, and the cell of each of the s rows."""
        held, cell = np.unique(cells, return_inverse=True)
        evidence, value = column.evidence.only(held.astype(np.int64)), column.value
        count = np.bincount(value)
        if len(count) * len(cell) <= PAIRS * _PACKED:
            covers = evidence.covers(slice(None))[:, cell]
            share = float(count @ covers.sum(axis=1)) / (len(value) * len(cell))
            bits = np.packbits(covers, axis=1)
            return cls(evidence, value, cell, np.logical_or.reduce(covers, axis=1), bits, share)
        if isinstance(evidence, Labels):
            fits = evidence.fits_some_row()
        else:
            chunks = _chunks(len(count), len(held), PAIRS * _PACKED)
            fits = np.concatenate([evidence.covers(part).any(axis=1) for part in chunks])
        return cls(evidence, value, cell, fits, None, 1.0)

    def bits_of(self, rows: Indices) -> NDArray[np.uint8]:
        """Which of the cells each of some rows of the table fits, eight in a byte."""
        if self.bits is not None:
            return self.bits[self.value[rows]]
        held, place = np.unique(self.value[rows], return_inverse=True)
        covers = self.evidence.covers(held.astype(np.int64))[:, self.cell]
        found: NDArray[np.uint8] = np.packbits(covers, axis=1)[place]
        return found

    def evidence_of(self, rows: Indices) -> CoverEvidence:
        """That of some rows of the table."""
        return self.evidence.spread(self.value[rows].astype(np.int64), self.cell)


def sightings_near(
    published: PublishedRows, people: People, columns: Sequence[str], targets: Indices
) -> Sightings:
    """What those published rows show that fit any of t targets in columns that say yes or no.

    As ``Sightings.of`` has it; the place of all other rows is -1.
    """
    seen = [_read(published, people, name) for name in columns] if len(targets) else []
    read = [column for column in seen if column is not None]
    plain = [
        _SampledColumn.of(
            MatchingColumn(TurnedEvidence.of(evidence, cell), cell, value), value[targets]
        )
        for evidence, value, cell in read
        if isinstance(evidence, CoverEvidence) and len(read) == len(seen)
    ]
    there = _who_fit_any(plain) if plain else np.empty(0, dtype=np.int64)
    if not len(there):
        return Sightings.of(published, people, columns, targets)
    shown = [cell[there] for _, _, cell in read]
    found = Combinations.of([(cell, int(cell.max()) + 1) for cell in shown])
    first = first_of_each(found.index, len(found.rows))
    place = np.full(published.frame.height, -1, dtype=np.int32)
    place[there] = found.index
    evidence = list[Evidence]()
    for (one, value, _), cell in zip(read, shown, strict=True):
        own, cells = value[targets].astype(np.int64), cell[first].astype(np.int64)
        if isinstance(one, CoverEvidence):
            evidence.append(one.spread(own, cells))
        else:
            evidence.append(WeighedEvidence.of(one, own, cells))
    return replace(Sightings.of_cells(evidence, found.index), place=place)


def _who_fit_any(columns: Sequence[_SampledColumn]) -> Indices:
    """Rows of the table that fit any of the s rows in all columns, ascending."""
    each = sorted(columns, key=lambda column: column.share)
    alive = np.ones(len(each[0].value), dtype=np.bool_)
    for column in each:
        alive &= look_up(column.fits, column.value)
    there = np.flatnonzero(alive)
    found = [there[:0]]
    for part in _chunks(len(there), len(each[0].cell), _BITS):
        who = there[part]
        bits = each[0].bits_of(who)
        for column in each[1:]:
            bits &= column.bits_of(who)
            fits = np.flatnonzero(bits.any(axis=1))
            who, bits = who[fits], bits[fits]
        found.append(who)
    return np.concatenate(found)


def uniform(key: Key, count: int) -> Floats:
    """Numbers from 0 to below 1."""
    return (key.stream(count) >> np.uint64(11)) / 2.0**53  # below 1, exactly


def tells_all(published: PublishedRows, shared: Sequence[str]) -> bool:
    """Whether the columns that tell rows apart say all that the release says, and without noise."""
    shown = published.disclosure.columns
    noisy = any(shown[name].graded for name in shared)
    return not noisy and all(one.weighed for one in shown.values())


def telling_columns(published: PublishedRows, people: People) -> list[str]:
    """The columns that tell whose a row is, by a person who knows the original."""
    shared = [
        name
        for name in people.frame.columns
        if published.columns_of(name) and published.disclosure.columns[name].weighed
    ]
    groups = published.disclosure.groups
    if groups is None or not set(groups.by) <= set(shared):
        return shared
    return [name for name in shared if name in groups.by or name not in published.permuted]
