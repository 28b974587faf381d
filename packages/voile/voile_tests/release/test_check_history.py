"""What comparing releases of a series gives away is measured alike by a few blocks and by all."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voile.release.check import GuaranteeBrokenError, check_against_history
from voile.release.history import BlockLives, Blocks, History, SeriesTerms, Version
from voile.schema.numbers import ExactNumbers
from voile.table.decisions import BlockAssignment
from voile.table.summaries import ValueCounts
from voile_testing.plugin import examples

K, E = 2, 2
TERMS = SeriesTerms("s", {"k": str(K), "e": str(E)}, {}, {})
Cell = tuple[int, int]
"""A value, and the release from 1 that first showed it."""


@dataclass
class Series:
    """A series by its cells, and what each release shows: cells by block."""

    cells: list[Cell] = field(default_factory=list)
    releases: list[list[frozenset[Cell]]] = field(default_factory=list)
    versions: list[Version] = field(default_factory=list)

    def grown(self, values: set[int], cuts: set[int], *, cover: bool, seal: bool) -> Series:
        """One more release, cut before these values; with ``cover`` in no earlier block."""
        number = len(self.releases) + 1
        fresh = [(value, number) for value in sorted(values)]
        cells = self.cells + fresh
        if seal:
            parts = _cut(fresh, cuts)
            blocks = [*(self.releases[-1] if self.releases else []), *parts]
            batches = [next(iter(block))[1] for block in blocks]
        else:
            if cover and self.releases:
                inside = [(min(block)[0], max(block)[0]) for block in self.releases[-1]]
                cuts = {c for c in cuts if not any(low < c <= high for low, high in inside)}
            blocks, batches = _cut(cells, cuts), []
            batches = [0] * len(blocks)
        version = Version(number, str(number), "", _blocks(blocks, batches))
        return Series(cells, [*self.releases, blocks], [*self.versions, version])

    @property
    def history(self) -> History:
        return History(TERMS, bytes(32), tuple(self.versions[:-1]))

    def new(self) -> tuple[ValueCounts, BlockAssignment]:
        """The newest release as the check is told of it."""
        values = sorted({value for value, _ in self.cells})
        rows = np.zeros((len(values), len(self.releases)), np.int64)
        for value, birth in self.cells:
            rows[values.index(value), birth - 1] = 1
        counts = ValueCounts.of_matrix(ExactNumbers.of(values), rows)
        place = {cell: n for n, block in enumerate(self.releases[-1]) for cell in block}
        pairs = zip(counts.value.tolist(), counts.row_class.tolist(), strict=True)
        of = [place[values[value], row_class + 1] for value, row_class in pairs]
        return counts, BlockAssignment(counts.values, np.array(of, np.int64))

    def is_safe(self, adversary: str) -> bool:
        """By the definitions, over all releases."""
        *earlier, newest = self.releases
        if adversary == "union":
            atoms: dict[tuple[int, ...], set[Cell]] = {}
            for cell in self.cells:
                where = tuple(
                    next((n for n, block in enumerate(release) if cell in block), -1)
                    for release in self.releases
                )
                atoms.setdefault(where, set()).add(cell)
            return all(map(_valid, atoms.values()))
        sets = [
            part
            for release in earlier
            for a in release
            for b in newest
            for part in (a - b, b - a, a & b)
        ]
        return all(not part or _valid(part) for part in sets) and all(map(_valid, newest))


def _valid(cells: set[Cell] | frozenset[Cell]) -> bool:
    values = {value for value, _ in cells}
    return len(values) >= K and max(values) - min(values) >= E


def _cut(cells: list[Cell], cuts: set[int]) -> list[frozenset[Cell]]:
    parts: dict[int, set[Cell]] = {}
    for cell in sorted(cells):
        parts.setdefault(sum(c <= cell[0] for c in cuts), set()).add(cell)
    return [frozenset(part) for _, part in sorted(parts.items())]


def _blocks(blocks: list[frozenset[Cell]], batches: list[int]) -> Blocks:
    low = [min(block)[0] for block in blocks]
    high = [max(block)[0] for block in blocks]
    rows = np.array([len(block) for block in blocks], np.int64)
    distinct = np.array([len({v for v, _ in block}) for block in blocks], np.int64)
    numbers = ExactNumbers.of(low), ExactNumbers.of(high)
    return Blocks(*numbers, rows, distinct, np.array(batches, np.int64))


_VALUES = st.sets(st.integers(0, 11), min_size=2, max_size=6)
_CUTS = st.sets(st.integers(1, 11), max_size=3)


def _accepts(series: Series, adversary: str) -> bool:
    try:
        check_against_history(*series.new(), series.history, K, Decimal(E), adversary)
    except GuaranteeBrokenError:
        return False
    return True


@pytest.mark.parametrize("adversary", ["union", "pairwise"])
@pytest.mark.parametrize("seal", [False, True])
@settings(max_examples=examples(150), deadline=None)
@given(data=st.data())
def test_a_series_is_judged_as_by_all_releases(adversary: str, seal: bool, data: st.DataObject):
    """A release is accepted if and only if all releases together, by their sets, are safe."""
    series, covers = Series(), data.draw(st.booleans(), "covers")
    for _ in range(data.draw(st.integers(2, 5), "releases")):
        cover = covers or data.draw(st.booleans(), "cover")
        grown = series.grown(data.draw(_VALUES), data.draw(_CUTS), cover=cover, seal=seal)
        if not grown.history.versions:
            if grown.is_safe(adversary):
                series = grown
            continue
        safe = grown.is_safe(adversary)
        assert _accepts(grown, adversary) == safe
        if safe:  # a history is one of releases that were accepted
            series = grown


@settings(max_examples=examples(100), deadline=None)
@given(data=st.data(), seal=st.booleans())
def test_lives_give_each_version_back(data: st.DataObject, seal: bool):
    """The blocks of each version are those that it had, kept once in all."""
    series = Series()
    for _ in range(data.draw(st.integers(1, 5))):
        cover = data.draw(st.booleans())
        series = series.grown(data.draw(_VALUES), data.draw(_CUTS), cover=cover, seal=seal)
    lives = BlockLives.of([version.blocks for version in series.versions])
    for version in series.versions:
        found = lives.at(version.number)
        for column in ("low", "high"):
            numbers = getattr(found, column), getattr(version.blocks, column)
            assert numbers[0].decimals() == numbers[1].decimals()
        for column in ("rows", "distinct", "batch"):
            assert np.array_equal(getattr(found, column), getattr(version.blocks, column))


def test_only_cut_blocks_need_all_releases():
    """Blocks that only grew are known as such, and blocks that were cut are not."""
    grown = Series().grown({0, 3, 6, 9}, {5}, cover=True, seal=False)
    covered = grown.grown({1, 4}, {5}, cover=True, seal=False)
    cut = grown.grown({1, 4}, {3}, cover=False, seal=False)
    assert BlockLives.of([version.blocks for version in covered.versions]).only_grow
    assert not BlockLives.of([version.blocks for version in cut.versions]).only_grow
