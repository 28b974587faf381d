"""Flows instead of tracks: how many trips go from where to where, and along which roads, by hour.

What it publishes: a table with a row for each cell and no row of the private table.  Cells are the
hours, each with all pairs of zones, and with all stretches of a public map if one is named; all of
them are published, also those that count nothing, for which cells there are must not tell anything.

Guarantee: epsilon-differentially private for one vehicle more or less, with all its trips.
Assumptions: zones, hours and the map are public and do not come from the data; trips of one vehicle
have its id.

Source: the discrete Laplace mechanism (Ghosh, Roughgarden and Sundararajan 2009) on histograms of
bounded contributions, as in Wilson, Zhang, Lam, Desfontaines, Simmons-Marengo and Gipson,
"Differentially private SQL with bounded user contribution" (PETS 2020).

Algorithm.  Of each vehicle at most ``trips`` trips count, drawn by a key, and of each of these at
most ``passages`` pairs of a stretch and an hour.  So a vehicle changes counts of trips by at most
``trips`` in all, and counts of passages by at most ``trips`` x ``passages``.  Trips are counted at
three levels: cells, hours, and pairs of zones of all hours; each gets a share of epsilon
(``levels``), and discrete Laplace noise with what a vehicle changes over that.  All that is
published is estimated from the three, consistently (``voile.dp.marginals``): sums of 1,000 cells
have the noise of 1,000 cells, which buries an hour or a day that is measured by itself precisely.

Cost: a sort of the n reports; 50 ns a cell for noise, and eight passes over the cells.

Departure from the source: numbers of persons are not published, and no cell is left out for being
small, since the cells are public.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_FLOOR, Decimal
from fractions import Fraction
from functools import cached_property
from math import ceil
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from voile.disclosure.counted import Aggregate, Label
from voile.disclosure.shown import Disclosure
from voile.dp.accounting import PrivacyEvent
from voile.dp.marginals import NoisyMarginals
from voile.publish.measuring import TableShare, measured
from voile.publish.publisher import Capabilities, SingleRelease, refuse_ranking
from voile.release.consistent_cells import (
    COUNT,
    COUNTS,
    FROM,
    HOUR,
    PASSAGES,
    ROAD,
    TO,
    TOTAL,
    TRIPS,
    flow_cells,
    noisy_marginals,
)
from voile.release.history import History
from voile.release.method_claims import MeasuredTable, PrivateFlows
from voile.release.release import (
    Guarantee,
    Pay,
    Price,
    PrivateRecord,
    Publication,
    Release,
    unaccounted,
)
from voile.schema.domain import ColumnDomain
from voile.schema.numbers import plain_text
from voile.schema.trajectory import Zoning, zoning_of
from voile.table.decisions import FlowBounds, FlowCounts
from voile.table.domains import NoisyCells
from voile.table.private import PrivateTable
from voile.table.published import PublishedTable
from voile_base.errors import PlanError
from voile_base.ondemand import dataclass
from voile_base.randomness import Randomness
from voile_base.values import Document
from voile_base.values.value import File, Number, Real, Says, Several, checked
from voile_geo.roads.nearest import MappedStretches
from voile_geo.roads.reading import read_roads

__all__ = ["Flows"]

_NAME = "flows"
_TRIPS, _PASSAGES, _REACH = 10, 30, 30.0
_ROADS_SHARE, _CONFIDENCE = Decimal("0.5"), Decimal("0.95")
_LEVELS = (Decimal("0.15"), Decimal("0.32"), Decimal("0.53"))
_STEP = Decimal("1e-12")
_MOST_CELLS = 5_000_000
Count = Annotated[int, Field(ge=1)]
Share = Annotated[Number, Field(ge=0, le=1)]
_LABELS = (COUNTS, HOUR, FROM, TO, ROAD)
"""What a cell is of; several roads may join two crossings, so they have numbers."""
_OF_LEVELS = ((HOUR, FROM, TO), (HOUR,), (FROM, TO))
_ASSUMES = (
    "zones, hours and the map are public facts and do not come from the data",
    "trips of one vehicle have its id, and nothing else is published about the same vehicles, or "
    "it is accounted for in the same budget",
)


@checked(PlanError)
@dataclass(frozen=True)
class Flows(SingleRelease):
    """Publish how many trips go from zone to zone and along roads, by hour.

    Raises ``PlanError`` for parameters that cannot be, or contradict each other.
    """

    capabilities: ClassVar[Capabilities] = Capabilities(
        trips=True,
        no_rows_per_person=(
            "it protects vehicles, of which so many trips count: say vehicle in [roles], and trips "
            "in [method]"
        ),
    )

    epsilon: Annotated[Number, Field(gt=0)]
    """The budget of a vehicle, above 0."""
    zones: Annotated[
        Document | File,
        Says(
            "a grid, {south, west, north, east, rows, columns}, or the name of a GeoJSON file with "
            'named areas, such as "districts.geojson"',
            within=False,
        ),
    ]
    """A grid, or the name of a GeoJSON file with named areas; public."""
    begin: date | str | None = None
    """The first day that counts, UTC; None: hours are those of any day."""
    days: Count | None = None
    """How many days count, each hour of them by itself."""
    trips: Count = _TRIPS
    """How many trips of a vehicle count at most."""
    roads: File | None = None
    """A map, by whose stretches between crossings passages are counted; None: they are not."""
    roads_nodes: File | None = None
    """The table of nodes that a table of roads refers to."""
    passages: Count | None = None
    """How many pairs of stretch and hour of a trip count at most; None: 30."""
    reach: Annotated[Real, Field(gt=0)] | None = None
    """Metres within which a position counts as on the nearest road; None: 30."""
    share: Annotated[Number, Field(gt=0, lt=1)] | None = None
    """Of epsilon that is for roads, above 0 and below 1; None: half of it."""
    levels: Annotated[
        Several[Share],
        Field(min_length=3, max_length=3),
        Says("three shares that sum to 1, of which the first is above 0: [0.15, 0.32, 0.53]"),
    ] = _LEVELS
    """What of the budget of trips is for cells, for hours, and for pairs of zones of all hours."""
    confidence: Annotated[Number, Field(gt=0, lt=1)] = _CONFIDENCE
    """With which an interval holds the count of its cell, between 0 and 1."""

    def __post_init__(self) -> None:
        only_with_roads = ("roads_nodes", "passages", "reach", "share")
        for name in only_with_roads:
            if getattr(self, name) is not None and self.roads is None:
                msg = f"{name} is of use with roads only; give roads too, or leave {name} out"
                raise PlanError(msg)
        if (self.begin is None) != (self.days is None):
            msg = 'begin and days go together: begin = "2026-05-01" and days = 7'
            raise PlanError(msg)
        shares = [Decimal(share) for share in self.levels]
        if sum(shares) != 1 or not shares[0]:
            msg = (
                "levels must be three shares that sum to 1, of cells, of hours and of pairs of "
                "zones; the first is above 0"
            )
            raise PlanError(msg)
        if self.days is not None:
            object.__setattr__(self, "begin", _day(self.begin))
        if TOTAL in self._zoning.names:
            msg = f"a zone is called {TOTAL!r}, which stands for all of them; call it otherwise"
            raise PlanError(msg)
        self._require_few(0)

    def prepare(
        self,
        table: PrivateTable,
        randomness: Randomness,
        history: History | None = None,
        pay: Pay = unaccounted,
    ) -> Publication:
        """Make a release, and with it what must stay private and what it spends.

        Raises ``PlanError`` where the plan names no vehicle, or a map has too many roads;
        ``TableError`` for bad input.
        """
        refuse_ranking(table, _NAME)
        roads = self._map
        self._require_few(0 if roads is None else roads.stretches)
        bounds = FlowBounds(
            self._zoning,
            self._hours,
            self.begin is None,
            self.trips,
            roads,
            self.passages or _PASSAGES,
        )
        events = tuple(
            PrivacyEvent(f"discrete-laplace of {kind}", epsilon, neighbours="vehicle")
            for kind, epsilon in self._budget.items()
        )
        price = Price(randomness.token("release"), events)
        counts = table.count_flows(bounds, randomness, lambda: pay(price))
        tables = self._tables(counts)
        measurements = self._measured(table, tables, randomness)
        claim = self._claim(tables)
        marginals = noisy_marginals(measurements, claim)
        labels = {(name, 0): cells for name, cells in marginals.labels.items()}
        cells = flow_cells(marginals, labels, float(self.confidence), self._ends)
        shown = table.published_cells(cells)
        release = Release(
            table=shown,
            method=self._method(),
            disclosure=self._disclosure,
            guarantee=_flow_guarantee(claim),
            roles={},
            release_id=price.release_id,
            publishable=randomness.publishable,
            measurements=measurements,
        )
        private = self._private(table, counts, marginals, shown.rows)
        return Publication(release, private, events=events)

    @cached_property
    def _zoning(self) -> Zoning:
        return zoning_of(self.zones)

    @cached_property
    def _map(self) -> MappedStretches | None:
        if self.roads is None:
            return None
        return MappedStretches(read_roads(self.roads, self.roads_nodes), self.reach or _REACH)

    @property
    def _hours(self) -> range:
        if self.begin is None or self.days is None:
            return range(24)
        assert isinstance(self.begin, date)
        first = (self.begin - date(1970, 1, 1)).days * 24
        return range(first, first + 24 * self.days)

    @property
    def _passages(self) -> int | None:
        return None if self.roads is None else self.passages or _PASSAGES

    @property
    def _budget(self) -> Mapping[str, Decimal]:
        """Epsilon of each kind of count."""
        epsilon = Decimal(self.epsilon)
        if self.roads is None:
            return {TRIPS: epsilon}
        share = _ROADS_SHARE if self.share is None else Decimal(self.share)
        roads = (epsilon * share).quantize(_STEP, rounding=ROUND_FLOOR)
        return {TRIPS: epsilon - roads, PASSAGES: roads}

    def _measured(
        self, table: PrivateTable, tables: Sequence[_CountedTable], randomness: Randomness
    ) -> PublishedTable:
        """Tables with noise; of the private one nothing but its engine is used."""
        noisy = [
            one
            for changes, purpose in self._noises.items()
            for one in measured(
                [it.share for it in tables if it.changes == changes],
                [it.counts for it in tables if it.changes == changes],
                changes,
                randomness.key("flows", purpose),
            )
        ]
        return table.measured(
            [
                NoisyCells(it.columns, [0] * len(it.columns), one.counts, str(one.variance))
                for it, one in zip(tables, noisy, strict=True)
            ]
        )

    @property
    def _ends(self) -> Mapping[str, tuple[str, str]] | None:
        """The crossings that each road joins, by its number."""
        ends = None if self._map is None else self._map.ends
        return None if ends is None else {str(road): it for road, it in enumerate(ends)}

    @property
    def _noises(self) -> Mapping[int, str]:
        """What a vehicle can change of counts, and of what kind these are."""
        on_roads = {} if self._passages is None else {self.trips * self._passages: PASSAGES}
        return {self.trips: TRIPS, **on_roads}

    def _require_few(self, stretches: int) -> None:
        cells = len(self._hours) * (len(self._zoning.names) ** 2 + stretches)
        if cells > _MOST_CELLS:
            msg = (
                f"{cells:,} cells are too many, and {_MOST_CELLS:,} are the most: all are "
                "published; name fewer zones, fewer days, or a map with fewer roads"
            )
            raise PlanError(msg)

    def _tables(self, counts: FlowCounts) -> list[_CountedTable]:
        """What is counted of trips, at its levels, and of passages; with shares of the budget."""
        hours, zones = self._hour_names(), self._zoning.names
        names = {HOUR: hours, FROM: zones, TO: zones}
        summed = (counts.between, counts.between.sum(axis=(1, 2)), counts.between.sum(axis=0))
        whole = Fraction(self._budget[TRIPS])
        found = [
            _CountedTable.of({name: names[name] for name in of}, cells, whole * Fraction(share))
            for of, cells, share in zip(_OF_LEVELS, summed, map(Decimal, self.levels), strict=True)
            if share
        ]
        found = [replace(it, changes=self.trips) for it in found]
        if counts.on_roads is not None and self._passages is not None:
            roads = [str(road) for road in range(counts.on_roads.shape[1])]
            share = Fraction(self._budget[PASSAGES])
            one = _CountedTable.of({HOUR: hours, ROAD: roads}, counts.on_roads, share)
            found.append(replace(one, changes=self.trips * self._passages))
        return found

    def _hour_names(self) -> list[str]:
        if self.begin is None:
            return [f"{hour:02}" for hour in self._hours]
        start = datetime(1970, 1, 1, tzinfo=UTC)
        return [f"{start + timedelta(hours=hour):%Y-%m-%dT%H:00Z}" for hour in self._hours]

    @property
    def _disclosure(self) -> Disclosure:
        count = Aggregate(confidence=float(self.confidence))
        labels = dict.fromkeys(_LABELS, Label())
        return Disclosure(columns={**labels, COUNT: count})

    def _claim(self, tables: Sequence[_CountedTable]) -> PrivateFlows:
        hours, zones = len(self._hours), len(self._zoning.names)
        roads = 0 if self._map is None else self._map.stretches
        return PrivateFlows(
            epsilon=sum(self._budget.values(), Decimal(0)),
            neighbours="vehicle",
            budget={kind: {"discrete-laplace": spent} for kind, spent in self._budget.items()},
            trips=self.trips,
            passages=self._passages,
            cells=hours * (zones**2 + roads + 1) + zones**2 + 1,
            tables=tuple(
                MeasuredTable(
                    columns=tuple(column.name for column in it.columns),
                    cells=it.share.cells,
                    noise=it.share.stated(it.changes),
                )
                for it in tables
            ),
        )

    def _method(self) -> dict[str, object]:
        """The method as it was asked for; all of it is public."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        shown = {name: value for name, value in given.items() if value is not None}
        for name in ("epsilon", "share", "confidence"):
            if name in shown:
                shown[name] = float(shown[name])
        shown["levels"] = [float(share) for share in self.levels]
        shown["zones"] = self._zoning.document()
        if self.begin is not None:
            shown["begin"] = str(self.begin)
        decision: dict[str, object] = {}
        if self._map is not None:
            # Where a map lies on the custodian's machine is nobody's business.
            for name in ("roads", "roads_nodes"):
                if name in shown:
                    shown[name] = Path(str(shown[name])).name
            decision["map"] = {
                "digest": self._map.roads.digest,
                "stretches": self._map.stretches,
                "reach": self._map.reach,
            }
            shown["passages"] = self._passages
        return {"name": _NAME, **shown, "decision": decision}

    def _private(
        self, table: PrivateTable, counts: FlowCounts, marginals: NoisyMarginals, rows: int
    ) -> PrivateRecord:
        notices = [*table.notes, *counts.notices]
        if counts.left_out:
            notices.append(
                "trips that count for nothing, because they begin at other times or their vehicle "
                f"has {self.trips} others that count: {counts.left_out:,} of {counts.trips:,}"
            )
        of_trips = tuple(it for it in marginals.tables if ROAD not in it.columns)
        whole = replace(marginals, tables=of_trips)
        margins = whole.margins((HOUR, FROM, TO), (0, 0, 0), float(self.confidence))
        widest = ceil(margins.max())
        return PrivateRecord(
            rows_in=table.rows + table.dropped,
            rows_out=rows,
            suppressed=table.dropped,
            held=0,
            objective=str(widest),
            decision={"trips": counts.trips, "left_out": counts.left_out},
            notices=tuple(notices),
            summary=f"with intervals of cells that reach {widest:,} to either side",
            published="cells",
        )


def _day(value: object) -> date:
    try:
        if isinstance(value, date) and not isinstance(value, datetime):
            return value
        return date.fromisoformat(str(value))
    except ValueError:
        msg = 'begin must be a day, such as "2026-05-01"'
        raise PlanError(msg) from None


@dataclass(frozen=True, eq=False)
class _CountedTable:
    """Exact counts of all cells of a table; private."""

    columns: tuple[ColumnDomain, ...]
    counts: NDArray[np.int64]
    share: TableShare
    """Of the budget."""
    changes: int = 1
    """What a vehicle changes at most, in all."""

    @classmethod
    def of(
        cls, columns: Mapping[str, Sequence[str]], counts: NDArray[np.int64], epsilon: Fraction
    ) -> _CountedTable:
        domain = tuple(_labelled(name, labels) for name, labels in columns.items())
        share = TableShare(tuple(range(len(domain))), counts.size, epsilon, pure=True)
        return cls(domain, counts, share)


def _labelled(name: str, labels: Sequence[str]) -> ColumnDomain:
    each = np.arange(len(labels))
    return ColumnDomain(name, "text", tuple(labels), each, np.ones_like(each), tuple(labels))


def _flow_guarantee(claim: PrivateFlows) -> Guarantee:
    """What is promised of a vehicle."""
    text = plain_text(claim.epsilon)
    counted = f"of each vehicle at most {claim.trips} trips count" + (
        ""
        if claim.passages is None
        else f", and of each of them at most {claim.passages} passages of roads"
    )
    statement = (
        f"{text}-differentially private for a vehicle: whether it is in the data, with all its "
        f"trips, changes the probability of every possible table by a factor of at most e^{text}. "
        f"For that {counted}; the others are left out of the counts, and of what their intervals "
        "are about"
    )
    return Guarantee((claim,), statement, _ASSUMES)
