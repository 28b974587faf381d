"""What the private original shows of a release that its rows alone do not; private.

- Columns shown as they are, or permuted, hold no value oftener than the original does.
- Values that are said to be permuted within groups: were they left in their rows, more published
  rows would have a row of the original than after a permutation.  Under the claim the rows are
  exchangeable with those of any further permutation, so they are held against ``_TRIES`` of these.
- Values that are said to have noise: were they the true ones, more of them would be values of the
  original than with the stated noise, drawn ``_TRIES`` times from the original.
- Positions that are said to be moved are not where they were.

A test refuses what lies above all tries and above ``_FAR`` standard deviations over their mean, by
a twentieth of the rows: a good release is refused with a probability below 1 in 10^9 where tries
are nearly normal.  Where no release could lie there, the test cannot tell, and says so.

Cost: a sort of the rows for each try.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from voile.disclosure.original import ComparedColumn
from voile.disclosure.stated_noise import StatedNoise
from voile.dp.discrete_laplace import DiscreteLaplace
from voile.release.reading.rows import PublishedRows, floats_of
from voile.release.reading.tracks import columns_of, paired_reports
from voile.release.release import Release
from voile.table.alignment import common_places
from voile.table.arrays import Frame
from voile_base.errors import InputError
from voile_base.randomness import Randomness

__all__ = ["Compared", "compared"]

_TRIES, _FAR = 40, 8.0
_MORE = 0.05
"""The share of rows beyond chance that is no accident of a draw that never came up."""
_FEWEST = 20
"""Rows, below which chance is not told from a fault."""
_STILL = 0.5
"""The share of reports that no noise leaves where they were."""

Codes = NDArray[np.int64]


@dataclass(frozen=True)
class Compared:
    """What the original showed; private."""

    breaches: tuple[str, ...]
    """What contradicts the release, a sentence each."""
    held: tuple[str, ...]
    """What was looked at and may hold, a clause each."""
    unseen: tuple[str, ...]
    """What could not be looked at, a clause each."""


def compared(release: Release, original: Frame) -> Compared:
    """Hold a release against the private table that it was made of."""
    sides = _Sides(PublishedRows.of(release), original, Randomness.secure())
    breaches, held, unseen = list[str](), list[str](), list[str]()
    for name, shown in release.disclosure.columns.items():
        try:
            found = shown.against(name, sides)
        except InputError as error:
            found = sides.not_compared(name, str(error).rstrip("."))
        if found is not None:
            {True: held, False: breaches, None: unseen}[found.holds].append(found.what)
    return Compared(tuple(breaches), tuple(held), tuple(unseen))


@dataclass(frozen=True, eq=False)
class _Sides:
    """The rows of a release beside those of the original."""

    published: PublishedRows
    original: Frame
    randomness: Randomness

    def values(self, name: str) -> ComparedColumn:
        """Whether the original holds each value at least as often."""
        if absent := self._absent(name):
            return absent
        if surplus := self._surplus(name):
            what = f"column {name!r} shows {surplus:,} values oftener than INPUT holds them"
            return ComparedColumn(False, what)
        return ComparedColumn(True, f"column {name!r}: INPUT holds all of its values")

    def not_compared(self, name: str, why: str) -> ComparedColumn:
        """That nothing was compared."""
        return ComparedColumn(None, f"column {name!r}: {why}")

    def _absent(self, name: str) -> ComparedColumn | None:
        """That the original lacks a column, if it does."""
        lacks = name not in self.original.columns
        return self.not_compared(name, "INPUT has no such column") if lacks else None

    def _places(self, names: Sequence[str]) -> tuple[Codes, Codes]:
        """The rows of both sides by what they show in some columns."""
        shown, own = common_places(
            [self.published.frame.select(names), self.original.select(names)]
        )
        return shown, own

    def _surplus(self, name: str) -> int:
        """How many values the release shows oftener than the original; missing ones are none."""
        shown, own = self._places([name])
        present = self.published.frame[name].is_not_null().to_numpy()
        size = int(max(shown.max(initial=0), own.max(initial=0))) + 1
        counted = np.bincount(shown[present], minlength=size)
        return int((counted > np.bincount(own, minlength=size)).sum())

    def permuted(self, name: str) -> ComparedColumn:
        """Whether values are where they were, by the columns that are shown as they are."""
        if not (counted := self.values(name)).holds:
            return counted
        columns = self.published.disclosure.columns
        exact = [n for n, one in columns.items() if one.as_it_is]
        exact = [n for n in exact if n in self.original.columns]
        if not exact:
            return ComparedColumn(None, f"column {name!r}: nothing ties rows to those of INPUT")
        (rows, own_rows), (value, own) = self._places(exact), self._places([name])
        wide = int(max(value.max(initial=0), own.max(initial=0))) + 1
        group, _ = self.published.groups()
        order = np.argsort(group, kind="stable")
        pairs = own_rows * wide + own

        def anew(number: int) -> int:
            draws = self.randomness.key("permuted", name, str(number)).stream(len(group))
            drawn = np.empty_like(value)
            drawn[order] = value[np.lexsort((draws, group))]
            return _common(rows * wide + drawn, pairs)

        return self._held_against(
            f"column {name!r} is permuted at random",
            f"column {name!r} is said to be permuted, and its values stand in the rows of INPUT",
            _common(rows * wide + value, pairs),
            anew,
        )

    def noisy(self, name: str, shown: StatedNoise) -> ComparedColumn:
        """Whether values are those of the original."""
        if absent := self._absent(name):
            return absent
        values, own = floats_of(self.published.frame[name]), floats_of(self.original[name])
        if shown.clamp is not None:
            own = np.clip(own, *shown.clamp)
        steps, own_steps = (
            np.round(each[np.isfinite(each)] / shown.step).astype(np.int64)
            for each in (values, own)
        )
        least = Fraction(min(cluster.scale for cluster in shown.clusters)) / Fraction(shown.step)
        noise = DiscreteLaplace((least,))
        words = np.arange(len(own_steps), dtype=np.uint64)
        place = np.zeros(len(own_steps), dtype=np.int64)

        def anew(number: int) -> int:
            key = self.randomness.key("noise", name, str(number))
            return _common(own_steps + noise.draw(place, words, key), own_steps)

        return self._held_against(
            f"column {name!r} has noise",
            f"column {name!r} is said to have noise, and shows the values of INPUT",
            _common(steps, own_steps),
            anew,
        )

    def moved(self, name: str, coordinate: str, decimals: int) -> ComparedColumn:
        """Whether positions are where they were."""
        release = self.published.release
        pairs = paired_reports(release, self.original, columns_of(release))
        one, other = (floats_of(pairs[f"{side}_{coordinate}"]) for side in ("shown", "true"))
        still = np.abs(one - other) <= 10.0**-decimals
        if len(still) < _FEWEST:
            return ComparedColumn(None, f"column {name!r}: too few reports are those of INPUT")
        if still.mean() > _STILL:
            return ComparedColumn(
                False, f"column {name!r} is said to be moved, and shows where INPUT is"
            )
        return ComparedColumn(True, f"column {name!r} is moved")

    def _held_against(
        self, holds: str, broken: str, found: int, anew: Callable[[int], int]
    ) -> ComparedColumn:
        """A count against those of further draws of the same make."""
        tries = np.array([anew(number) for number in range(_TRIES)], dtype=np.float64)
        most = min(self.published.frame.height, self.original.height)
        usual = max(tries.mean() + _FAR * tries.std(), tries.max()) + _MORE * most
        if found > usual:
            return ComparedColumn(False, broken)
        if usual >= most or most < _FEWEST:
            return ComparedColumn(None, f"whether {holds}: chance alone would show as much")
        return ComparedColumn(True, holds)


def _common(some: Codes, others: Codes) -> int:
    """How many elements two multisets have in common."""
    value, count = np.unique(some, return_counts=True)
    other, times = np.unique(others, return_counts=True)
    _, one, two = np.intersect1d(value, other, assume_unique=True, return_indices=True)
    return int(np.minimum(count[one], times[two]).sum())
