"""The publisher of flows; see the package's docstring."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_FLOOR, Decimal
from fractions import Fraction
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from voile.disclosure.counted import Aggregate, Label
from voile.disclosure.shown import Disclosure
from voile.dp.discrete_laplace import DiscreteLaplace
from voile.dp.events import PrivacyEvent
from voile.publish.capabilities import Capabilities
from voile.publish.publisher import SingleRelease, refuse_ranking
from voile.release.claims import PrivateFlows
from voile.release.history import History
from voile.release.payment import Pay, Price, unaccounted
from voile.release.release import Guarantee, PrivateRecord, Publication, Release
from voile.schema.numbers import plain_text
from voile.schema.zones import Zoning, zoning_of
from voile.table.decisions import FlowBounds, FlowCounts
from voile.table.private import PrivateTable
from voile_base.errors import PlanError
from voile_base.randomness import Randomness
from voile_base.values.value import File, Number, Real, Says, checked
from voile_geo.roads.reading import read_roads
from voile_geo.roads.stretches import MappedStretches

__all__ = ["Flows"]

_NAME = "flows"
_TRIPS, _PASSAGES, _REACH = 10, 30, 30.0
_ROADS_SHARE, _CONFIDENCE = Decimal("0.5"), Decimal("0.95")
_STEP = Decimal("1e-12")
_MOST_CELLS = 5_000_000
_BETWEEN, _ON_ROADS = "trips", "passages"
Count = Annotated[int, Field(ge=1)]
_LABELS = ("counts", "hour", "from", "to", "road")
"""What a cell is of; several roads may join two crossings, so they have numbers."""
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
        Mapping[str, Any] | File,
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
    confidence: Annotated[Number, Field(ge=0, lt=1), Says("a number of at least 0 and below 1")] = (
        _CONFIDENCE
    )
    """With which an interval holds the count of its cell, 0 to below 1."""

    def __post_init__(self) -> None:
        only_with_roads = ("roads_nodes", "passages", "reach", "share")
        for name in only_with_roads:
            if getattr(self, name) is not None and self.roads is None:
                msg = f"{name} is of use with roads only; give roads too, or leave {name} out"
                raise PlanError(msg)
        if (self.begin is None) != (self.days is None):
            msg = 'begin and days go together: begin = "2026-05-01" and days = 7'
            raise PlanError(msg)
        if self.days is not None:
            object.__setattr__(self, "begin", _day(self.begin))
        self._zoning  # noqa: B018 - zones are checked
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
        shown = table.published_cells(self._cells(counts, randomness))
        release = Release(
            table=shown,
            method=self._method(),
            disclosure=self._disclosure,
            guarantee=_flow_guarantee(self._budget, self.trips, self._passages, shown.rows),
            roles={},
            release_id=price.release_id,
            publishable=randomness.publishable,
        )
        return Publication(release, self._private(table, counts, shown.rows), events=events)

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
            return {_BETWEEN: epsilon}
        share = _ROADS_SHARE if self.share is None else Decimal(self.share)
        roads = (epsilon * share).quantize(_STEP, rounding=ROUND_FLOOR)
        return {_BETWEEN: epsilon - roads, _ON_ROADS: roads}

    @cached_property
    def _noise(self) -> Mapping[str, DiscreteLaplace]:
        """Noise of each kind of count: what a vehicle can change, over its epsilon."""
        changes = {_BETWEEN: self.trips, _ON_ROADS: self.trips * (self._passages or 0)}
        return {
            kind: DiscreteLaplace((Fraction(changes[kind]) / Fraction(epsilon),))
            for kind, epsilon in self._budget.items()
        }

    @cached_property
    def _half_widths(self) -> Mapping[str, int]:
        confidence = Decimal(self.confidence)
        return {
            kind: distribution.radius(confidence)[0] for kind, distribution in self._noise.items()
        }

    def _require_few(self, stretches: int) -> None:
        cells = len(self._hours) * (len(self._zoning.names) ** 2 + stretches)
        if cells > _MOST_CELLS:
            msg = (
                f"{cells:,} cells are too many, and {_MOST_CELLS:,} are the most: all are "
                "published; name fewer zones, fewer days, or a map with fewer roads"
            )
            raise PlanError(msg)

    def _cells(self, counts: FlowCounts, randomness: Randomness) -> Mapping[str, Any]:
        """All cells with noisy counts, in the order of hours."""
        hours = self._hour_names()
        zones = self._zoning.names
        labels = [(_BETWEEN, *cell, "") for cell in product(hours, zones, zones)]
        noisy = [self._drawn(_BETWEEN, counts.between, randomness)]
        widths = [np.full(len(labels), self._half_widths[_BETWEEN])]
        if counts.on_roads is not None:
            assert self._map is not None, "roads were counted"
            ends = self._map.ends
            labels += [
                (_ON_ROADS, hour, *between, str(road))
                for hour in hours
                for road, between in enumerate(ends)
            ]
            noisy.append(self._drawn(_ON_ROADS, counts.on_roads, randomness))
            widths.append(np.full(counts.on_roads.size, self._half_widths[_ON_ROADS]))
        count, width = np.concatenate(noisy), np.concatenate(widths)
        columns = dict(zip(_LABELS, zip(*labels, strict=True), strict=True))
        return {
            **columns,
            "count": count,
            "count.low": np.maximum(count - width, 0),
            "count.high": np.maximum(count + width, 0),
        }

    def _drawn(
        self, kind: str, counts: NDArray[np.int64], randomness: Randomness
    ) -> NDArray[np.int64]:
        cells = counts.ravel()
        words = np.arange(len(cells), dtype=np.uint64)
        distribution = np.zeros(len(cells), dtype=np.int64)
        return cells + self._noise[kind].draw(distribution, words, randomness.key("flows", kind))

    def _hour_names(self) -> list[str]:
        if self.begin is None:
            return [f"{hour:02}" for hour in self._hours]
        start = datetime(1970, 1, 1, tzinfo=UTC)
        return [f"{start + timedelta(hours=hour):%Y-%m-%dT%H:00Z}" for hour in self._hours]

    @property
    def _disclosure(self) -> Disclosure:
        count = Aggregate(
            scales={
                kind: float(distribution.scales[0]) for kind, distribution in self._noise.items()
            },
            half_widths=dict(self._half_widths),
            confidence=float(self.confidence),
        )
        labels = dict.fromkeys(_LABELS, Label())
        return Disclosure(columns={**labels, "count": count})

    def _method(self) -> dict[str, Any]:
        """The method as it was asked for; all of it is public."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        shown = {name: value for name, value in given.items() if value is not None}
        for name in ("epsilon", "share", "confidence"):
            if name in shown:
                shown[name] = float(shown[name])
        shown["zones"] = self._zoning.document()
        if self.begin is not None:
            shown["begin"] = str(self.begin)
        decision: dict[str, Any] = {}
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

    def _private(self, table: PrivateTable, counts: FlowCounts, cells: int) -> PrivateRecord:
        notices = [*table.notes, *counts.notices]
        if counts.left_out:
            notices.append(
                "trips that count for nothing, because they begin at other times or their vehicle "
                f"has {self.trips} others that count: {counts.left_out:,} of {counts.trips:,}"
            )
        widest = max(self._half_widths.values())
        return PrivateRecord(
            rows_in=table.rows + table.dropped,
            rows_out=cells,
            suppressed=table.dropped,
            held=0,
            objective=str(widest),
            decision={"trips": counts.trips, "left_out": counts.left_out},
            notices=tuple(notices),
            summary=f"with intervals that reach {widest:,} to either side at most",
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


def _flow_guarantee(
    budget: Mapping[str, Decimal], trips: int, passages: int | None, cells: int
) -> Guarantee:
    """For epsilons by kind of count, and what a vehicle counts for at most."""
    epsilon = sum(budget.values(), Decimal(0))
    text = plain_text(epsilon)
    counted = f"of each vehicle at most {trips} trips count" + (
        "" if passages is None else f", and of each of them at most {passages} passages of roads"
    )
    statement = (
        f"{text}-differentially private for a vehicle: whether it is in the data, with all its "
        f"trips, changes the probability of every possible table by a factor of at most e^{text}. "
        f"For that {counted}; the others are left out of the counts, and of what their intervals "
        "are about"
    )
    claim = PrivateFlows(
        epsilon=epsilon,
        neighbours="vehicle",
        budget={kind: {"discrete-laplace": spent} for kind, spent in budget.items()},
        trips=trips,
        passages=passages,
        cells=cells,
    )
    return Guarantee((claim,), statement, _ASSUMES)
