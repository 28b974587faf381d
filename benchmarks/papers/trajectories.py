"""The trajectory paper: Table 1 by measurement, and its figures on the map of Paris."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from time import process_time

import numpy as np
from scipy.sparse import csgraph

from benchmarks.data import shared_file
from benchmarks.papers.chart import FIGURES
from benchmarks.papers.item import PaperItem, beside_paper, departures
from benchmarks.record import Measurement, Table
from benchmarks.timing import seconds_text
from voile.attack.trajectory.adversaries import median_filter
from voile_base.randomness import Randomness
from voile_geo.geodesy import Floats
from voile_geo.planar.field import Trips
from voile_geo.planar.noise import AngleSelection, LocationNoise, PlanarLaplace, perturb
from voile_geo.planar.pricing import (
    composed_epsilon_as_printed,
    composed_epsilon_of_turns,
    midpoint_displacement,
    vector_displacement,
)
from voile_geo.planar.steps import Zones, turn_deviation
from voile_geo.roads.drawing import DrawnPath, draw_paths
from voile_geo.roads.network import RoadNetwork
from voile_geo.roads.reading import NetworkBuilder, RoadChain
from voile_share.protocol import Carried, Content, PairKeys, Position, TruckSlot, suite_named

__all__ = ["paris", "route", "run"]

SEED, DELTA, ANGLES = 2023, 1e-5, 5.0
EPSILON, EVERY, SPEED = 0.005, 30.0, 25 / 3.6
"""Per metre; seconds between reports; metres a second in the city."""
OUTPUTS = {"Figure 6": 0.01, "Figure 7": 0.005, "Figure 8": 0.0025, "Figure 9": 0.001}
ROUTES = 40
ITEMS = (5, 10, 20, 40)
DAY = 20_000
CALLS = 7
ATTRIBUTION = "roads: Google Hash Code 2014"


@dataclass(frozen=True, eq=False)
class _Moved:
    """A route, shown by a mechanism, in metres of the plane of the map; shapes (n, 2)."""

    true: Floats
    shown: Floats

    @property
    def noise(self) -> tuple[Floats, Floats]:
        """Radii in metres and angles in radians."""
        east, north = (self.shown - self.true).T
        return np.hypot(east, north), np.arctan2(north, east)

    @property
    def filtered(self) -> Floats:
        """By medians of five reports."""
        return median_filter(self.shown)


def run() -> Measurement:
    """Draw the figures, measure Lemma 1 on routes, and count what Table 1 counts."""
    roads = paris()
    _draw(roads)
    steps, sizes = _table_1()
    lemma = _lemma_1(roads)
    items = [*_items_of_table(steps, sizes), *_items_of_lemma(lemma), _composition()]
    return Measurement(
        question="What do the trajectory paper's Table 1, its Lemma 1 and its figures show here?",
        data="the streets of Paris (11,348 junctions); quickest ways between junctions drawn at "
        "random, which the paper's routes are not known to be",
        seeds=f"{SEED} and the next {ROUTES}",
        protocol=f"a report every {EVERY:g} s at 25 km/h, epsilon = {EPSILON} in Figures 1 to 4; "
        f"angles at epsilon_a = {ANGLES:g}, delta = {DELTA}, spread 1, from 0; medians of five "
        f"reports; Lemma 1 on {ROUTES} routes. Table 1: suite paper, {CALLS} calls, medians",
        answer="Pictures: figures/papers_trajectories_*.png. What the measures of Lemma 1 call "
        "more privacy is less against who knows the mechanism (trucks_laws, docs/trucks.md).",
        targets=[departures(items)],
        tables=[
            beside_paper(items),
            Table("Table 1: suite paper", ("parcels", "composing", "looking for one", "bytes"),
                  [[f"{n}", *(seconds_text(s) for s in steps[n]), f"{sizes[n]:,}"] for n in ITEMS]),
            Table("Lemma 1: means over routes, metres",
                  ("mechanism", "displacement", "midpoint (eq. 9)", "vector (eq. 11)",
                   "error of the filtered way"), lemma),
        ],
    )  # fmt: skip


def paris() -> RoadNetwork:
    """The map of streets: junctions, then streets with their directions, seconds and metres."""
    lines = shared_file("roads/paris-street-view.txt").read_text().splitlines()
    nodes, streets, *_ = (int(word) for word in lines[0].split())
    places = [tuple(float(word) for word in line.split()) for line in lines[1 : nodes + 1]]
    builder = NetworkBuilder()
    for line in lines[nodes + 1 : nodes + streets + 1]:
        here, there, direction, seconds, metres = (int(word) for word in line.split())
        builder.add(
            RoadChain(
                names=(here, there),
                latitude=(places[here][0], places[there][0]),
                longitude=(places[here][1], places[there][1]),
                ways="both" if direction == 2 else "forward",
                speed=f"{max(metres / max(seconds, 1) * 3.6, 5):.0f}",
            )
        )
    return builder.build("paris-street-view.txt")


def route(roads: RoadNetwork, seed: int) -> Floats:
    """Reports along the quickest way between two junctions 3 to 6 km apart: (n, 2), metres."""
    generator = np.random.default_rng(seed)
    graph = roads.graph(roads.seconds)
    while True:
        start = int(generator.integers(roads.nodes))
        far = np.linalg.norm(roads.plane - roads.plane[start], axis=1)
        ends = np.flatnonzero((far > 3_000) & (far < 6_000))
        reach, before = csgraph.dijkstra(graph, indices=start, return_predecessors=True)
        ends = ends[np.isfinite(reach[ends])]
        if len(ends):
            break
    way = [int(generator.choice(ends))]
    while way[-1] != start:
        way.append(int(before[way[-1]]))
    corners = roads.plane[way[::-1]]
    driven = np.concatenate(([0.0], np.cumsum(np.linalg.norm(np.diff(corners, axis=0), axis=1))))
    at = np.arange(0, driven[-1], EVERY * SPEED)
    return np.stack([np.interp(at, driven, corners[:, side]) for side in (0, 1)], axis=1)


def _angles(epsilon: float) -> AngleSelection:
    return AngleSelection(Zones([epsilon]), turn_deviation(ANGLES, DELTA, 1.0), "zero")


def _moved(roads: RoadNetwork, true: Floats, noise: LocationNoise, seed: int) -> _Moved:
    latitude, longitude = roads.to_degrees(true)
    times = EVERY * np.arange(len(true))
    identity = np.zeros(1, dtype=np.uint64)
    trips = Trips(latitude, longitude, times, np.array([0, len(true)]), identity)
    shown = perturb(noise, trips, Randomness.seeded(seed).key("trips"))
    return _Moved(true, roads.to_plane(shown.latitude, shown.longitude))


def _draw(roads: RoadNetwork) -> None:
    """Figures 1 to 4, 6 to 9 and 11."""
    for pair, seed in enumerate((SEED, SEED + 1)):
        true = route(roads, seed)
        plain = _moved(roads, true, PlanarLaplace(Zones([EPSILON])), seed)
        turned = _moved(roads, true, _angles(EPSILON), seed)
        _picture(roads, f"Figure {2 * pair + 1}", "planar Laplace", plain, filtered=True)
        _picture(roads, f"Figure {2 * pair + 2}", "angle selection", turned, filtered=True)
        if not pair:
            _picture(roads, "Figure 11", "planar Laplace", plain, filtered=True)
    true = route(roads, SEED + 2)
    for label, epsilon in OUTPUTS.items():
        moved = _moved(roads, true, _angles(epsilon), SEED + 2)
        _picture(roads, label, f"angle selection, epsilon = {epsilon:g}", moved, filtered=False)


def _picture(roads: RoadNetwork, label: str, title: str, moved: _Moved, *, filtered: bool) -> None:
    paths = [DrawnPath("true", moved.true), DrawnPath("published", moved.shown)]
    if filtered:
        paths.append(DrawnPath("filtered", moved.filtered))
    name = label.lower().replace(" ", "_")
    path = FIGURES / f"papers_trajectories_{name}.png"
    draw_paths(path, roads, paths, f"{label}: {title}", ATTRIBUTION)


def _lemma_1(roads: RoadNetwork) -> list[list[str]]:
    mechanisms: dict[str, LocationNoise] = {
        "planar Laplace": PlanarLaplace(Zones([EPSILON])),
        "angle selection": _angles(EPSILON),
    }
    rows = []
    for name, noise in mechanisms.items():
        moved = [_moved(roads, route(roads, SEED + i), noise, SEED + i) for i in range(ROUTES)]
        figures = [
            np.mean([one.noise[0].mean() for one in moved]),
            np.mean([midpoint_displacement(*one.noise).mean() for one in moved]),
            np.mean([vector_displacement(*one.noise).mean() for one in moved]),
            np.mean([np.linalg.norm(one.filtered - one.true, axis=1).mean() for one in moved]),
        ]
        rows.append([name, *(f"{figure:.0f}" for figure in figures)])
    return rows


def _items_of_lemma(lemma: Sequence[Sequence[str]]) -> Iterator[PaperItem]:
    plain, turned = lemma
    for place, about in ((2, "midpoints (eq. 9)"), (3, "vectors (eq. 11)"), (4, "filtered ways")):
        agrees = float(turned[place]) > float(plain[place])
        yield PaperItem(
            "Lemma 1", f"{about}: farther from the truth under angle selection", "yes",
            f"{turned[place]} m for {plain[place]} m", "agrees" if agrees else "departs",
            "" if agrees else "turns at the spread taken are nearly uniform",
        )  # fmt: skip


def _table_1() -> tuple[dict[int, tuple[float, float]], dict[int, int]]:
    """Seconds of composing a report and of looking for a parcel, and bytes, by parcels."""
    suite, randomness = suite_named("paper"), Randomness.seeded(SEED)
    place = TruckSlot(bytes(16), DAY * 86_400)
    positions = tuple(Position(48.86, 2.35, place.slot, 2.0**-level) for level in (6, 7, 8))
    pair = PairKeys(*(randomness.key(name).secret[:31] + b"\1" for name in "ab"))
    secrets = [suite.tracking_secret(pair, b"parcel %d" % n, DAY) for n in range(max(ITEMS) + 1)]
    steps, sizes = {}, {}
    for parcels in ITEMS:
        carried = [Carried(suite.tracking_public(one), 1) for one in secrets[:parcels]]
        content = Content(positions, carried)
        body = suite.compose(place, content, randomness)
        sizes[parcels] = len(body)
        steps[parcels] = (
            _median(lambda c=content: suite.compose(place, c, randomness)),
            _median(lambda b=body: suite.recognise(secrets[-1], place, b)),
        )
    return steps, sizes


def _median(call: object) -> float:
    times = []
    for _ in range(CALLS):
        started = process_time()
        call()  # type: ignore[operator]
        times.append(process_time() - started)
    return median(times)


def _items_of_table(
    steps: dict[int, tuple[float, float]], sizes: dict[int, int]
) -> Iterator[PaperItem]:
    for place, about in enumerate(("composing stealth addresses", "looking for a parcel")):
        growth = _exponent([steps[n][place] for n in ITEMS])
        yield PaperItem("Table 1", f"{about}: time over parcels N_P", "O(N_P)",
                        f"N_P to the {growth:.2f}",
                        "agrees" if 0.7 < growth < 1.3 else "departs",
                        "" if 0.7 < growth < 1.3 else "a fixed part weighs")  # fmt: skip
    each = {(sizes[b] - sizes[a]) / (b - a) for a, b in pairwise(ITEMS)}
    yield PaperItem("Table 1", "bytes a parcel adds", "k_SE + (p, r) = 16 + 64",
                    ", ".join(f"{one:.0f}" for one in sorted(each)), "departs",
                    "ECIES wraps a key with a point, a nonce and a tag, which the paper "
                    "leaves out")  # fmt: skip


def _exponent(times: Sequence[float]) -> float:
    return float(np.polyfit(np.log(ITEMS), np.log(times), 1)[0])


def _composition() -> PaperItem:
    printed = composed_epsilon_as_printed(72, ANGLES)
    exact = composed_epsilon_of_turns(72, ANGLES, DELTA)
    return PaperItem(
        "Theorem 1", "epsilon of 72 turns at epsilon_a = 5", f"{printed:.1f} (sqrt(72) times 5)",
        f"{exact:.1f}, exactly, at delta = {DELTA}", "departs",
        f"the printed reading of the theorem drops a factor; Delta_2 / sigma is "
        f"{ANGLES / math.sqrt(2 * math.log(1.25 / DELTA)):.2f} a turn",
    )  # fmt: skip
