"""What files of the league are good for: marginals of three columns, and SDNist's own figures.

SDNist is asked in its own environment, of the same two files; what it works out is worked out here
beside it, so that a difference would show.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks import league_sdnist
from benchmarks.league_files import COLUMNS, run_in
from voile.disclosure.interval import named_values

__all__ = ["Scores", "drawn", "scored", "sdnist_scores"]

Codes = Mapping[str, NDArray[np.int64]]

_BINS = 20
"""Into which SDNist cuts numbers, by the ranks that they have in the original."""
_NUMBERS = ("AGEP",)
"""Columns that SDNist cuts."""


@dataclass(frozen=True)
class Scores:
    """Of one file whose cells are values."""

    triples: float
    """1000 (1 - mean total variation) over all triples of columns."""
    pairs: float
    """The same over pairs, numbers in bins as SDNist cuts them."""
    correlation: float
    """Mean absolute difference of Pearson's coefficients over all pairs of columns."""


def scored(original: pl.DataFrame, shown: pl.DataFrame) -> Scores:
    """Our figures of a file whose cells are values of the original."""
    binned = {name: _binned(original, shown, name) for name in COLUMNS}
    return Scores(
        _score([_codes(original, shown, name) for name in COLUMNS], 3),
        _score([*binned.values()], 2),
        _apart(original, shown),
    )


def sdnist_scores(original: pl.DataFrame, files: Mapping[str, pl.DataFrame]) -> dict[str, Scores]:
    """SDNist's figures by file; there is none of triples.

    Raises ``OSError`` or ``subprocess.SubprocessError`` where it cannot be had.
    """
    with TemporaryDirectory() as folder:
        own = Path(folder) / "original.csv"
        original.write_csv(own)
        places = {name: Path(folder) / f"{number}.csv" for number, name in enumerate(files)}
        for name, place in places.items():
            files[name].write_csv(place)
        said = run_in("sdnist", league_sdnist.__file__, f"{own}", *map(str, places.values()))
    figures = json.loads(said.splitlines()[-1])
    return {
        name: Scores(np.nan, one["pairs"], one["correlation"])
        for name, one in zip(places, figures, strict=True)
    }


def drawn(rows: pl.DataFrame, original: pl.DataFrame, seed: int) -> pl.DataFrame:
    """A file with a value of the original for each cell, one of those that it stands for."""
    draws = np.random.default_rng(seed)
    found = {}
    for name in COLUMNS:
        values = np.sort(original[name].unique().to_numpy())
        found[name] = values[_places(rows, name, values, draws)]
    return pl.DataFrame(found)


def _places(
    rows: pl.DataFrame, name: str, values: NDArray[np.int64], draws: np.random.Generator
) -> NDArray[np.int64]:
    """A value for each cell, as its place among those of the original."""
    if name in rows.columns and rows[name].dtype.is_numeric():
        numbers = rows[name].cast(pl.Float64).round().to_numpy()
        chosen = np.where(np.isnan(numbers), draws.choice(values, len(numbers)), numbers)
    elif f"{name}.low" in rows.columns:
        low, high = (rows[f"{name}.{end}"].cast(pl.Float64).to_numpy() for end in ("low", "high"))
        first = np.searchsorted(values, low)
        behind = np.maximum(np.searchsorted(values, high, side="right"), first + 1)
        return np.minimum(draws.integers(first, behind), len(values) - 1)
    elif name in rows.columns:
        cells = rows[name].to_list()
        sets = [np.array([int(one) for one in named_values(cell) or values]) for cell in cells]
        chosen = np.array([draws.choice(one) for one in sets])
    else:
        chosen = draws.choice(values, rows.height)
    return np.minimum(np.searchsorted(values, chosen), len(values) - 1)


def _codes(
    original: pl.DataFrame, shown: pl.DataFrame, name: str
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The values of a column on both sides, numbered."""
    sides = [frame[name].to_numpy() for frame in (original, shown)]
    values = np.unique(np.concatenate(sides))
    first, second = (np.searchsorted(values, side) for side in sides)
    return first, second


def _binned(
    original: pl.DataFrame, shown: pl.DataFrame, name: str
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The same, numbers in twenty bins by their mean rank in the original."""
    own, seen = _codes(original, shown, name)
    if name not in _NUMBERS:
        return own, seen
    count = np.bincount(own)
    ranks = np.cumsum(count) - (count - 1) / 2
    place = np.minimum(_BINS * ranks / len(own), _BINS - 1).astype(np.int64)
    there = np.flatnonzero(count)
    behind = np.minimum(np.searchsorted(there, np.arange(max(own.max(), seen.max()) + 1)),
                        len(there) - 1)  # fmt: skip
    bins = place[there[behind]]
    return bins[own], bins[seen]


def _score(columns: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]], width: int) -> float:
    sizes = [int(max(own.max(), seen.max())) + 1 for own, seen in columns]
    apart = []
    for chosen in combinations(range(len(columns)), width):
        size = [sizes[i] for i in chosen]
        shares = [_share([columns[i][side] for i in chosen], size) for side in (0, 1)]
        apart.append(np.abs(shares[0] - shares[1]).sum() / 2)
    return 1000 * (1 - float(np.mean(apart)))


def _share(codes: Sequence[NDArray[np.int64]], sizes: Sequence[int]) -> NDArray[np.float64]:
    key = np.ravel_multi_index(tuple(codes), tuple(sizes))
    return np.bincount(key, minlength=int(np.prod(sizes))) / len(key)


def _apart(original: pl.DataFrame, shown: pl.DataFrame) -> float:
    """How far Pearson's coefficients lie apart; that of a column of one value is 0."""
    sides: list[NDArray[np.float64]] = []
    constant: Callable[[pl.DataFrame], Any] = lambda frame: frame.to_numpy().std(axis=0) == 0  # noqa: E731
    for frame in (original, shown):
        rows = frame.select(COLUMNS).to_numpy().astype(np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            found = np.corrcoef(rows, rowvar=False)
        found[constant(frame), :] = 0
        found[:, constant(frame)] = 0
        sides.append(found)
    apart = np.abs(sides[0] - sides[1])
    return float(apart[np.triu_indices(len(COLUMNS), 1)].mean())
