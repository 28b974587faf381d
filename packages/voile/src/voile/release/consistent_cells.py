"""Consistent cells of tables, with intervals: all that is made of the noisy counts of a release.

Every cell of a published table is estimated from all noisy tables (``dp.marginals``), so margins
agree at all levels, exactly but for the rounding of sums in double precision.  Counts are the
unbiased estimates, which may be below 0; intervals are in whole numbers, from 0, for what they
enclose is a number of rows.

Intervals of a cell that is shown only because its count is large enough have to be wider: with
``show_from``, those of a table at a level are of the confidence 1 - (1 - c) S / N, where S of its
N cells are shown, so that at most a share of 1 - c of the intervals that are shown are expected to
miss (Benjamini and Yekutieli, "False discovery rate-adjusted multiple confidence intervals for
selected parameters", JASA 2005, Procedure 1; it assumes estimates that are independent or
positively dependent, which those of disjoint cells nearly are).

Cost: see ``dp.marginals``; the cells that are published.

What releases with measurements show of their claims, at the end: the measurements, what these cost,
and that every cell and interval follows from them; of made-up rows, their domains.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from voile.disclosure.counted import Aggregate, Label, Synthetic
from voile.disclosure.shown import Disclosure
from voile.dp.accounting import epsilon_of
from voile.dp.marginals import LAPLACE_KURTOSIS, NoisyMarginals, NoisyTable
from voile.release.cell_measures import (
    Key,
    MeanOfCells,
    MeasureOfCells,
    QuantileOfCells,
    SummedNumbers,
    SumOfCells,
)
from voile.release.claim_checks import PublicRelease
from voile.table.domains import measured_cells
from voile.table.published import PublishedTable

__all__ = [
    "COUNT",
    "COUNTS",
    "FLOWS",
    "FROM",
    "HOUR",
    "PASSAGES",
    "ROAD",
    "TABLE",
    "TO",
    "TOTAL",
    "TRIPS",
    "Key",
    "cell_measures",
    "consistent_cells",
    "flow_breaches",
    "flow_cells",
    "noisy_marginals",
    "stated_labels",
    "synthesis_breaches",
    "table_breaches",
    "tables_by_name",
]

TABLE, COUNT, TOTAL = "table", "count", "Total"
_CLOSE = 1e-9
"""Relative; sums in another order differ by less."""
_PLACES = 12
"""To which counts are written: sums of doubles hold no more."""
_ROUNDING = 1e-6
"""Of sums of counts in double precision."""
COUNTS, HOUR, FROM, TO, ROAD = "counts", "hour", "from", "to", "road"
TRIPS, PASSAGES = "trips", "passages"
FLOWS: Mapping[str, Key] = {
    TRIPS: ((HOUR, 0), (FROM, 0), (TO, 0)),
    "trips by hour": ((HOUR, 0),),
    "trips between zones": ((FROM, 0), (TO, 0)),
    "all trips": (),
}
"""The tables of trips, by what cells of flows count."""


class _SumTerms(Protocol):
    """What a claim says of numbers that were added up."""

    @property
    def column(self) -> str:
        """Whose numbers they are."""

    @property
    def low(self) -> str:
        """The lower public bound."""

    @property
    def high(self) -> str:
        """The upper public bound."""

    @property
    def parts(self) -> int:
        """Of half the range, that one row changes a sum by at most."""


class _NoiseTerms(Protocol):
    """What a claim says of one noisy table."""

    @property
    def sums(self) -> _SumTerms | None:
        """None of counts."""

    @property
    def columns(self) -> tuple[str, ...]:
        """None of the total."""

    @property
    def levels(self) -> tuple[int, ...] | None:
        """Of each column; None: all by their cells."""

    @property
    def cells(self) -> int:
        """How many it has."""

    @property
    def noise(self) -> str:
        """The variance of Gaussian noise, or the scale of Laplace noise."""


class _MeasuredTerms(Protocol):
    """What a claim says of all of them."""

    @property
    def rho(self) -> str | None:
        """None of Laplace noise."""

    @property
    def tables(self) -> Sequence[_NoiseTerms]:
        """Those that were measured."""


def noisy_marginals(
    measurements: PublishedTable,
    claim: _MeasuredTerms,
    disclosure: Disclosure | None = None,
    sum_of: str | None = None,
) -> NoisyMarginals:
    """The counts among the measurements of a release, or the sums of a column.

    ``claim`` says which tables they are, and ``disclosure`` has the levels of columns.
    """
    measured = measured_cells(measurements)
    pure = claim.rho is None
    variances = {
        _key_of(table): _variance(table.noise, pure=pure)
        for table in claim.tables
        if (table.sums and table.sums.column) == sum_of
    }
    of_tables = (
        measured.counts
        if sum_of is None
        else {key: sums for (column, key), sums in measured.sums.items() if column == sum_of}
    )
    tables = tuple(
        NoisyTable(
            tuple(name for name, _ in key),
            counts,
            variances[key],
            tuple(level for _, level in key),
        )
        for key, counts in of_tables.items()
    )
    labels = {name: cells for (name, level), cells in measured.labels.items() if not level}
    groups = {
        name: [_codes(level) for level in shown.levels]
        for name, shown in (disclosure.columns if disclosure else {}).items()
        if isinstance(shown, Label)
    }
    return NoisyMarginals(labels, tables, LAPLACE_KURTOSIS if pure else 0.0, groups)


def consistent_cells(
    marginals: NoisyMarginals,
    labels: Mapping[tuple[str, int], Sequence[str | None]],
    tables: Mapping[str, Key],
    confidence: float,
    show_from: float | None = None,
    measures: Mapping[str, MeasureOfCells] | None = None,
) -> Mapping[str, Sequence[str | float | None]]:
    """All cells of some tables, as columns: their counts, and what else is measured of them.

    ``labels`` has what cells are called at each level, ``tables`` what each table is called, and
    ``measures`` those beside the count by their columns.
    """
    dimensions = list(dict.fromkeys(name for key in tables.values() for name, _ in key))
    more = measures or {}
    found: dict[str, list[NDArray[np.generic]]] = {
        name: []
        for name in (TABLE, *dimensions, *(it for of in (COUNT, *more) for it in _columns(of)))
    }
    for called, key in tables.items():
        columns, levels = tuple(name for name, _ in key), tuple(level for _, level in key)
        counts = marginals.cells(columns, levels)
        found[TABLE].append(np.full(counts.size, called, dtype=object))
        for name in dimensions:
            shown = np.full(counts.shape, TOTAL, dtype=object)
            if name in columns:
                axis = columns.index(name)
                own = np.array([*labels[key[axis]], None], dtype=object)[:-1]
                shown[...] = own.reshape([-1 if at == axis else 1 for at in range(counts.ndim)])
            found[name].append(shown.ravel())
        hidden, own_confidence = _hidden(counts, confidence, show_from)
        of_columns = {COUNT: _ends(marginals, key, counts, own_confidence)}
        for name, measure in more.items():
            none = (np.full(counts.shape, np.nan),) * 3
            of_columns[name] = measure.ends(key, own_confidence) or none
        for name, ends in of_columns.items():
            for column, numbers in zip(_columns(name), ends, strict=True):
                found[column].append(np.where(hidden, np.nan, numbers).round(_PLACES).ravel())
    whole = {f"{COUNT}.low", f"{COUNT}.high"}
    return {
        name: _plain(np.concatenate(parts), whole=name in whole) for name, parts in found.items()
    }


def _columns(measure: str) -> tuple[str, str, str]:
    """Where a measure and the ends of its interval stand."""
    return measure, f"{measure}.low", f"{measure}.high"


def _plain(numbers: NDArray[np.generic], *, whole: bool) -> Sequence[str | float | None]:
    """Values of a column; None where a number is none."""
    if numbers.dtype == object:
        return list(numbers)
    numbers = numbers.astype(np.float64) + 0.0
    hidden = np.isnan(numbers)
    shown = np.where(hidden, 0, numbers)
    values: list[float] = (shown.astype(np.int64) if whole else shown).tolist()
    if not hidden.any():
        return values
    return [None if gone else value for gone, value in zip(hidden.tolist(), values, strict=True)]


def tables_by_name(keys: Iterable[Key]) -> Mapping[str, Key]:
    """What tables are called in a release, by their columns and levels."""
    return {_called(key): key for key in keys}


def _called(key: Key) -> str:
    named = (f"{name} (level {level})" if level else name for name, level in key)
    return " x ".join(named) or TOTAL


def flow_cells(
    marginals: NoisyMarginals,
    labels: Mapping[tuple[str, int], Sequence[str | None]],
    confidence: float,
    ends: Mapping[str, tuple[str, str]] | None = None,
) -> Mapping[str, Sequence[str | float | None]]:
    """All cells of flows, as columns; ``ends`` are those of each road, if passages were counted."""
    of_trips = [table for table in marginals.tables if ROAD not in table.columns]
    own = replace(marginals, tables=tuple(of_trips))
    found = dict(consistent_cells(own, labels, FLOWS, confidence))
    found[ROAD] = [""] * len(found[COUNT])
    if ends is not None:
        on_roads = [table for table in marginals.tables if ROAD in table.columns]
        own = replace(marginals, tables=tuple(on_roads))
        key = ((HOUR, 0), (ROAD, 0))
        more = dict(consistent_cells(own, labels, {PASSAGES: key}, confidence))
        for place, name in enumerate((FROM, TO)):
            more[name] = [ends[str(road)][place] for road in more[ROAD]]
        found = {name: [*values, *more[name]] for name, values in found.items()}
    order = {COUNTS: TABLE, HOUR: HOUR, FROM: FROM, TO: TO, ROAD: ROAD}
    numbers = {name: name for name in (COUNT, f"{COUNT}.low", f"{COUNT}.high")}
    return {name: found[of] for name, of in {**order, **numbers}.items()}


def _hidden(
    counts: NDArray[np.float64], confidence: float, show_from: float | None
) -> tuple[NDArray[np.bool_], float]:
    """Which cells are suppressed, and of which confidence the intervals of the others are."""
    if show_from is None:
        return np.zeros(counts.shape, dtype=np.bool_), confidence
    hidden = counts < show_from
    shown = max(counts.size - int(hidden.sum()), 1)
    return hidden, 1 - (1 - confidence) * shown / counts.size


def _ends(
    marginals: NoisyMarginals, key: Key, counts: NDArray[np.float64], confidence: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Counts and the ends of their intervals."""
    columns, levels = tuple(name for name, _ in key), tuple(level for _, level in key)
    margins = marginals.margins(columns, levels, confidence)
    low, high = counts - margins, counts + margins
    inner = np.ceil(low - _ROUNDING), np.floor(high + _ROUNDING)
    outer = np.floor(low), np.ceil(high)  # where no whole number lies between the ends
    none = inner[0] > inner[1]
    low, high = (np.maximum(np.where(none, o, i), 0) for i, o in zip(inner, outer, strict=True))
    return counts, low, high


def cell_measures(
    measurements: PublishedTable, claim: _MeasuredTerms, disclosure: Disclosure
) -> Mapping[str, MeasureOfCells]:
    """What a release publishes of its cells beside their counts, by their columns."""
    shown = {name: it for name, it in disclosure.columns.items() if isinstance(it, Aggregate)}
    counts = noisy_marginals(measurements, claim, disclosure)
    counted = frozenset(_key_of(table) for table in claim.tables if table.sums is None)
    numbers: dict[str, SummedNumbers] = {}
    for column in {it.of for it in shown.values() if it.measure in {"sum", "mean"} and it.of}:
        tables = [it for it in claim.tables if it.sums is not None and it.sums.column == column]
        sums = noisy_marginals(measurements, claim, disclosure, column)
        keys = frozenset(map(_key_of, tables))
        terms = next(it.sums for it in tables if it.sums is not None)
        low, high = float(Fraction(terms.low)), float(Fraction(terms.high))
        numbers[column] = SummedNumbers(counts, sums, keys, low, high, terms.parts)
    found: dict[str, MeasureOfCells] = {}
    for name, it in shown.items():
        if it.measure == "quantile" and it.of is not None and it.share is not None:
            found[name] = QuantileOfCells(counts, counted, it.of, it.share)
        elif it.measure == "sum" and it.of in numbers:
            found[name] = SumOfCells(numbers[it.of])
        elif it.measure == "mean" and it.of in numbers:
            found[name] = MeanOfCells(numbers[it.of])
    return found


def _key_of(table: _NoiseTerms) -> Key:
    """The columns of a table, each with its level."""
    levels = table.levels or (0,) * len(table.columns)
    return tuple(zip(table.columns, levels, strict=True))


def stated_labels(disclosure: Disclosure) -> Mapping[tuple[str, int], Sequence[str | None]]:
    """What cells of columns are called at each level, as a release states it."""
    return {
        (name, level): list(dict.fromkeys(labels))
        for name, shown in disclosure.columns.items()
        if isinstance(shown, Label) and shown.cells is not None
        for level, labels in enumerate((shown.cells, *shown.levels))
    }


def _codes(labels: Sequence[str | None]) -> NDArray[np.int64]:
    """The group of each cell, by what it is called."""
    place = {label: number for number, label in enumerate(dict.fromkeys(labels))}
    return np.array([place[label] for label in labels])


def _variance(noise: str, *, pure: bool) -> float:
    """Of a cell: the parameter of Gaussian noise, or twice the squared scale of Laplace noise."""
    return float(2 * Fraction(noise) ** 2 if pure else Fraction(noise))


class _MeasuringTerms(Protocol):
    """What a claim says of tables that were measured."""

    @property
    def epsilon(self) -> Decimal:
        """The price."""

    @property
    def rho(self) -> str | None:
        """None of a pure price."""

    @property
    def tables(self) -> Sequence[_NoiseTerms]:
        """Those that were measured."""


class _FlowTerms(_MeasuringTerms, Protocol):
    """The same of counts of trips."""

    @property
    def trips(self) -> int:
        """Of a vehicle, that count."""

    @property
    def passages(self) -> int | None:
        """Of roads in an hour, of a trip, that count."""

    @property
    def cells(self) -> int:
        """That are published."""


class _SynthesisTerms(_MeasuringTerms, Protocol):
    """The same of rows of persons."""

    @property
    def delta(self) -> Decimal | None:
        """None of a pure price."""

    @property
    def rows_per_person(self) -> int | None:
        """None: each person is one row."""

    @property
    def searched(self) -> Sequence[_NoiseTerms]:
        """Tables by which bounds were found."""


def table_breaches(published: PublicRelease, claim: _SynthesisTerms) -> Iterator[str]:
    """What cells, measurements and prices contradict; nothing where they agree."""
    yield from _price_breaches(claim)
    breaches = list(_measurement_breaches(published, claim))
    yield from breaches
    columns = published.disclosure.columns
    counts = [shown for shown in columns.values() if isinstance(shown, Aggregate)]
    if breaches or published.measurements is None or not counts:
        return
    marginals = noisy_marginals(published.measurements, claim, published.disclosure)
    wanted = consistent_cells(
        marginals,
        stated_labels(published.disclosure),
        tables_by_name(_key_of(table) for table in claim.tables if table.sums is None),
        counts[0].confidence,
        counts[0].show_from,
        cell_measures(published.measurements, claim, published.disclosure),
    )
    if not published.table.same_cells(wanted, _CLOSE):
        yield "its cells, or their intervals, are not those that follow from its measurements"


def flow_breaches(published: PublicRelease, claim: _FlowTerms) -> Iterator[str]:
    """What cells of flows, measurements and prices contradict; nothing where they agree."""
    spent = sum(
        (
            Fraction(claim.trips * ((claim.passages or 0) if ROAD in table.columns else 1))
            / Fraction(table.noise)
            for table in claim.tables
        ),
        Fraction(0),
    )
    if spent != Fraction(claim.epsilon):
        yield f"its noise costs epsilon = {float(spent):.6g}, and it claims {claim.epsilon}"
    breaches = list(_measurement_breaches(published, claim))
    yield from breaches
    rows = published.table.count([COUNTS]).rows
    if (cells := int(rows.sum())) != claim.cells:
        yield f"it publishes each of {claim.cells:,} cells once, and has {cells:,}"
        return
    columns = published.disclosure.columns
    counts = [shown for shown in columns.values() if isinstance(shown, Aggregate)]
    if breaches or published.measurements is None or len(counts) != 1:
        return
    marginals = noisy_marginals(published.measurements, claim)
    labels = {(name, 0): cells for name, cells in marginals.labels.items()}
    ends = None if claim.passages is None else _ends_of_roads(published)
    wanted = flow_cells(marginals, labels, counts[0].confidence, ends)
    if not published.table.same_cells(wanted, _CLOSE):
        yield "its cells, or their intervals, are not those that follow from its measurements"


def _ends_of_roads(published: PublicRelease) -> Mapping[str, tuple[str, str]]:
    """Which crossings each road joins, as its cells show: public facts of the map."""
    counted = published.table.count([ROAD, FROM, TO])
    road, start, end = ([str(it) for it in array.to_pylist()] for array in counted.values)
    return {road[r]: (start[f], end[t]) for r, f, t in counted.codes.tolist() if road[r]}


def synthesis_breaches(published: PublicRelease, claim: _SynthesisTerms) -> Iterator[str]:
    """What rows, measurements and prices contradict; nothing where they agree."""
    yield from _price_breaches(claim)
    shown = published.disclosure.columns
    sizes = {name: it.cells for name, it in shown.items() if isinstance(it, Synthetic)}
    for table in claim.tables:
        cells = 1
        for name in table.columns:
            cells *= sizes.get(name, 0)
        if cells != table.cells:
            names = " and ".join(table.columns)
            yield f"its table of {names} does not have the cells of its columns"
    for name, it in shown.items():
        if isinstance(it, Synthetic):
            different = len(published.table.group_sizes([name]))
            if different > it.values + 1:
                yield f"column {name!r} has {different:,} values, and its domain {it.values:,}"
    yield from _measurement_breaches(published, claim)


def _measurement_breaches(published: PublicRelease, claim: _MeasuringTerms) -> Iterator[str]:
    measurements = published.measurements
    if measurements is None:
        yield "it has no measurements that it could be made of"
        return
    width = sum(name.startswith("column_") for name in measurements.columns)
    stems = ("column", "level") if "level_1" in measurements.columns else ("column",)
    summed = ["sum_of"] if "sum_of" in measurements.columns else []
    of_table = [f"{stem}_{number}" for stem in stems for number in range(1, width + 1)] + summed
    of_cell = [f"value_{number}" for number in range(1, width + 1)]
    if (measurements.group_sizes([*of_table, *of_cell]) != 1).any():
        yield "its measurements have some cell twice"
    counted = measurements.count([*of_table, "variance"])
    values = [array.to_pylist() for array in counted.values]
    found = {
        tuple(values[place][code] for place, code in enumerate(codes)): rows
        for codes, rows in zip(counted.codes.tolist(), counted.rows.tolist(), strict=True)
    }
    stated = {}
    for table in claim.tables:
        noise, beyond = Fraction(table.noise), width - len(table.columns)
        variance = noise if claim.rho is not None else 2 * noise**2
        columns = [*table.columns, *[None] * beyond]
        levels = [level for _, level in _key_of(table)] + [0] * beyond
        of = (None if table.sums is None else table.sums.column,) if summed else ()
        key = (*columns, *(levels if len(stems) > 1 else ()), *of, str(variance))
        stated[key] = table.cells
    if found != stated:
        yield "its measurements are not those of the tables that it states"


def _price_breaches(claim: _SynthesisTerms) -> Iterator[str]:
    rows = claim.rows_per_person or 1
    noises = [
        (Fraction(table.noise), rows * (1 if table.sums is None else table.sums.parts))
        for table in (*claim.tables, *claim.searched)
    ]
    if any(noise <= 0 for noise, _ in noises):
        yield "some table of it has no noise"
        return
    if claim.rho is None:
        spent = sum((changed / noise for noise, changed in noises), Fraction(0))
        if spent != Fraction(claim.epsilon):
            yield f"its noise costs epsilon = {float(spent):.6g}, and it claims {claim.epsilon}"
        return
    rho = sum((Fraction(changed) ** 2 / (2 * noise) for noise, changed in noises), Fraction(0))
    if rho != Fraction(claim.rho):
        yield f"its noise costs rho = {float(rho):.6g}, and it claims {claim.rho}"
    elif claim.delta is None or epsilon_of(rho, claim.delta) > claim.epsilon:
        yield f"rho = {claim.rho} costs more than the epsilon that it claims"
