"""Rows of a released file that stand for groups of people, as microaggregation makes them; private.

Means, medians, modes and medoids of groups stand in as many rows as their groups have.  What tells
them from rows that repeat for other reasons:

    repetition    nearly all rows stand in the file with others that show the same, and the rows of
                  most people do not stand so in the original
    counts        between k and 2 k - 1 rows show the same, for some k: no draws with replacement
    centres       people lie nearer to what is shown than to as many people who are drawn at random,
                  without those next to it: a bootstrap and a part that was repeated show such
                  people, and a synthetic file shows rows that are farther away

Rows that somebody has must be centres; rows of nobody are told by their counts, too.  Distances are
those of ranks, and of texts that differ; the null of the third test is exact, and it is rejected at
``_APART`` standard deviations, by chance one time in three hundred.

Source of the groups: Domingo-Ferrer and Mateo-Sanz, "Practical data-oriented microaggregation for
statistical disclosure control" (IEEE TKDE 14, 2002).

Cost: m^2 sorts for m columns of numbers; where rows repeat, ``_DRAWN`` times ``_LOOKED_AT`` people
times the different rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voile.audit.common_rows import CommonRows
from voile.disclosure.foreign import Perturbed, Typical
from voile.release.reading.rows import Texts, distinct_texts_of, floats_of, texts_of
from voile.table.arrays import Values
from voile_base.randomness import Draws, Randomness

__all__ = ["BothSides", "RowGroups", "are_of_groups", "row_groups"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

_LEAST = 2
"""Rows that show the same, from which on they may be a group."""
_RARE = 0.02
"""The share of rows that may stand alone all the same."""
_BY_CHANCE = 0.5
"""The share of people whose values others have, from which on repeated rows are no groups."""
_DRAWN = 39
"""Draws of people whom the centres are held against."""
_APART = 3.0
"""Standard deviations below them."""
_LOOKED_AT = 1_000
"""People whose distances are measured."""
_KINDS = 50
"""Different texts up to which a column of them tells distances."""
_NEAREST = 1e-6
"""Ranks that are as near as this are the same."""


@dataclass(frozen=True, eq=False)
class BothSides:
    """One column of n people, and what the m rows of the file show of it."""

    own: Values
    shown: Values

    @property
    def is_number(self) -> bool:
        """Whether it holds numbers."""
        return self.own.dtype.is_numeric()


@dataclass(frozen=True, eq=False)
class RowGroups:
    """Columns in which rows of a file stand for groups of people."""

    least: int
    """Rows of the smallest group."""
    shown: Mapping[str, Perturbed | Typical]
    """How each column shows it, for adversaries."""


def row_groups(
    rows: CommonRows, columns: Mapping[str, BothSides], *, of_somebody: bool
) -> RowGroups | None:
    """The columns in which rows stand for groups; None where they stand for people, or nobody.

    ``rows`` are those of ``columns``; texts stand with numbers of groups, or whole rows do, unless
    the rows are of somebody in the columns whose cells are values (``of_somebody``).
    """
    numbers = [name for name, column in columns.items() if column.is_number]
    names = _repeated(rows, numbers)
    if not names and not of_somebody and _are_repeated(rows, list(columns)):
        names = list(columns)
    elif names:
        texts = [name for name in columns if name not in numbers]
        names += [name for name in texts if _is_told_by(rows, name, names)]
    if not names or rows.shared(names, _LEAST)[0] >= _BY_CHANCE:
        return None
    own, seen = rows.counts(names)
    counts = seen[seen > 0]
    whole = seen[own > 0].sum() >= (1 - _RARE) * seen.sum()
    chosen = {name: columns[name] for name in names}
    if (whole or not are_of_groups(counts)) and not _are_centres(chosen):
        return None
    return RowGroups(int(counts.min()), _shown(chosen))


def are_of_groups(counts: Indices) -> bool:
    """Whether groups have k to 2 k - 1 rows each, nearly all of them; k is 2 at least.

    ``counts`` are the rows of each group, none of them 0.
    """
    most = counts.sum()
    for least in np.unique(counts[counts >= _LEAST])[:5]:
        within = counts[(counts >= least) & (counts < 2 * least)].sum()
        if within >= (1 - _RARE) * most:
            return True
    return False


def _repeated(rows: CommonRows, numbers: Sequence[str]) -> list[str]:
    """The most columns of numbers in which nearly all rows of the file are repeated."""
    names = list(numbers)
    while names and not _are_repeated(rows, names):
        if len(names) == 1:
            return []
        rest = {n: rows.shared([o for o in names if o != n], _LEAST)[1] for n in names}
        names.remove(max(rest, key=lambda name: rest[name]))
    return names


def _are_repeated(rows: CommonRows, names: Sequence[str]) -> bool:
    return rows.shared(names, _LEAST)[1] >= 1 - _RARE


def _is_told_by(rows: CommonRows, name: str, names: Sequence[str]) -> bool:
    """Whether each group shows one value of another column."""
    groups, parts = (int((rows.counts(each)[1] > 0).sum()) for each in (names, [*names, name]))
    return parts <= (1 + _RARE) * groups


def _coordinates(
    columns: Mapping[str, BothSides], *, by_rank: bool
) -> tuple[Floats, Floats, Indices]:
    """Of the n people and of the c different rows of the file, shapes (n, d) and (c, d).

    Numbers or their ranks have variance 1; texts that differ are as far apart as 1.  Besides, a row
    of the file that shows each of the c, shape (c,).
    """
    people, centres = [], []
    for column in columns.values():
        if column.is_number:
            known = floats_of(column.own)
            order = np.sort(known[np.isfinite(known)])
            unit = _ranks if by_rank else _standard
            people.append(unit(order, known)[:, np.newaxis])
            centres.append(unit(order, floats_of(column.shown))[:, np.newaxis])
            continue
        texts, place = distinct_texts_of(column.own)
        if len(texts) <= _KINDS:
            own = np.eye(len(texts))[place] / np.sqrt(2)
            people.append(own)
            centres.append(_as(texts, column.shown))
    if not people:
        alike = next(iter(columns.values()))  # texts of many kinds alone: all are as far apart
        return np.zeros((len(alike.own), 1)), np.zeros((1, 1)), np.zeros(1, np.int64)
    shown = np.concatenate(centres, axis=1)
    first = np.unique(shown.round(9), axis=0, return_index=True)[1]
    return np.concatenate(people, axis=1), shown[first], first


def _ranks(order: Floats, numbers: Floats) -> Floats:
    sides = (np.searchsorted(order, numbers, side) for side in ("left", "right"))
    ranks: Floats = np.add(*sides) * (np.sqrt(3) / max(len(order), 1))
    return np.where(np.isfinite(numbers), ranks, np.sqrt(3))


def _standard(known: Floats, numbers: Floats) -> Floats:
    unit = float(known.std()) if len(known) else 0.0
    return np.nan_to_num((numbers - (known.mean() if len(known) else 0.0)) / (unit or 1.0))


def _as(texts: Texts, shown: Values) -> Floats:
    """The texts of rows as those of people."""
    codes = {text: code for code, text in enumerate(texts)}
    seen, place = distinct_texts_of(shown)
    found = np.zeros((len(seen), len(texts)))
    for at, text in enumerate(seen):
        if text in codes:
            found[at, codes[text]] = 1 / np.sqrt(2)
    return found[place]


def _are_centres(columns: Mapping[str, BothSides]) -> bool:
    """Whether people lie nearer to the file's rows than to as many people, who are drawn."""
    people, centres, _ = _coordinates(columns, by_rank=True)
    if not len(centres) or len(centres) > len(people) // _LEAST:
        return False
    draws = Randomness.seeded(0).key("centres of groups").generator()
    rounded = people.round(9)
    found = _distance(people, centres, draws)
    drawn = np.zeros(_DRAWN)
    for turn in range(_DRAWN):
        order = draws.permutation(len(people))
        first = np.sort(np.unique(rounded[order], axis=0, return_index=True)[1])
        drawn[turn] = _distance(people, people[order[first[: len(centres)]]], draws)
    return bool(found < drawn.mean() - _APART * drawn.std(ddof=1))


def _distance(people: Floats, centres: Floats, draws: Draws) -> float:
    """The mean distance of some people from the nearest centre, without the one next to a centre.

    That one may be shown as it is, or all but a value of it, as in a synthetic file.
    """
    place, apart = _nearest(people[draws.permutation(len(people))[:_LOOKED_AT]], centres)
    chosen, of = np.unique(place, return_inverse=True)
    apart = apart[apart > _nearest(centres[chosen], people)[1][of] + _NEAREST]
    return float(apart.mean()) if len(apart) else 0.0


def _shown(columns: Mapping[str, BothSides]) -> dict[str, Perturbed | Typical]:
    """How far numbers are from those of the nearest group, and how often texts differ."""
    people, centres, first = _coordinates(columns, by_rank=False)
    draws = Randomness.seeded(0).key("people of groups").generator()
    some = draws.permutation(len(people))[: 2 * _LOOKED_AT]
    row = first[_nearest(people[some], centres)[0]]
    found: dict[str, Perturbed | Typical] = {}
    for name, column in columns.items():
        if column.is_number:
            own = floats_of(column.own)
            apart = np.abs(own[some] - floats_of(column.shown)[row])
            known = own[np.isfinite(own)]
            least = _NEAREST * (float(np.ptp(known)) if len(known) else 0.0) or _NEAREST
            apart = apart[np.isfinite(apart)]
            scale = float(apart.mean()) if len(apart) else least
            found[name] = Perturbed(scale=max(scale, least), grouped=True)
        else:
            own_texts, shown = texts_of(column.own.gather(some)), texts_of(column.shown.gather(row))
            others = sum(a != b for a, b in zip(own_texts, shown, strict=True))
            found[name] = Typical(differs=(others + 0.5) / (len(some) + 1))
    return found


def _nearest(people: Floats, centres: Floats) -> tuple[Indices, Floats]:
    """The nearest centre of each of some people, and its distance."""
    place, apart = np.zeros(len(people), np.int64), np.zeros(len(people))
    size, step = (centres**2).sum(axis=1), max(1, (1 << 22) // max(len(centres), 1))
    for first in range(0, len(people), step):
        some = people[first : first + step]
        squares = size - 2 * some @ centres.T
        best = squares.argmin(axis=1)
        place[first : first + step] = best
        apart[first : first + step] = ((some - centres[best]) ** 2).sum(axis=1)
    return place, np.sqrt(apart)
