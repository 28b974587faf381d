"""Pictures of a simulated truck and its reports: ``python -m benchmarks.trucks_figure``.

The truck drives the fastest way between two crossings of Beijing at 9 m/s; real drives are not
shown, because their terms allow research only.  The attack curve is drawn from what ``trucks``
recorded.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from benchmarks.trucks_data import beijing
from voile.attack.trajectory.adversaries import RoadAdversary
from voile.attack.trajectory.reports import Sighted
from voile_base.randomness import Randomness
from voile_geo.geodesy import Floats
from voile_geo.planar.field import Trips
from voile_geo.planar.noise import (
    AngleSelection,
    CorrelatedGaussian,
    LocationNoise,
    PlanarLaplace,
    perturb,
)
from voile_geo.planar.steps import Zones
from voile_geo.roads.drawing import DrawnPath, draw_paths
from voile_geo.roads.nearest import Ways
from voile_geo.roads.network import RoadNetwork

__all__ = ["draw_curve", "draw_maps", "simulated"]

HERE = Path(__file__).parent
FIGURES = HERE / "figures"
SEED, SPEED, GAP, REPORTS, EPSILON = 3, 9.0, 30.0, 36, 0.005
FROM, TO = (39.985, 116.31), (39.905, 116.40)
"""Latitude and longitude: near where the truck starts, and where it is bound for."""
ZONES = Zones([EPSILON], [1.0])
SHOWN: Mapping[str, tuple[str, LocationNoise]] = {
    "planar_laplace": ("planar Laplace", PlanarLaplace(ZONES)),
    "angle_selection": ("angle selection, \u03c3 = 0.25", AngleSelection(ZONES, 0.25)),
    "correlated_gaussian": (
        "correlated Gaussian, \u03c4 = 120 s",
        CorrelatedGaussian(ZONES, 120.0),
    ),
}
LABELS = {"error, m": "error in metres", "right roads": "share of right roads"}
STYLES = {
    "planar Laplace": ("#0072b2", "o", "-"),
    "angle selection, sigma 0.1": ("#d55e00", "s", ":"),
    "angle selection, sigma 0.25": ("#e69f00", "^", "--"),
    "angle selection, sigma 0.97": ("#cc79a7", "D", "-."),
    "correlated Gaussian, tau 120 s": ("#009e73", "v", "-"),
    "correlated Gaussian, tau 600 s": ("#000000", "x", "--"),
}


def main() -> None:
    """Draw all maps, and the curve if there is something recorded."""
    FIGURES.mkdir(exist_ok=True)
    draw_maps(FIGURES)
    lines = (HERE / "results.jsonl").read_text(encoding="utf-8").splitlines()
    for record in map(json.loads, lines):
        if record["name"] == "trucks":
            draw_curve(record["tables"], FIGURES / "trucks_epsilon.svg")


def simulated(roads: RoadNetwork) -> Floats:
    """Positions of the truck at its reports, shape (n, 2), metres of the map's plane."""
    ends = [
        int(np.hypot(*(roads.plane - roads.to_plane(*np.array([[a], [b]]))).T).argmin())
        for a, b in (FROM, TO)
    ]
    way = roads.plane[Ways(roads, by="seconds").between(*ends)]
    along = np.concatenate(([0.0], np.cumsum(np.hypot(*np.diff(way, axis=0).T))))
    at = np.minimum(np.arange(REPORTS) * GAP * SPEED, along[-1])
    return np.stack([np.interp(at, along, way[:, axis]) for axis in (0, 1)], axis=1)


def draw_maps(folder: Path) -> None:
    """For each mechanism: true, published, filtered by medians, found by the informed adversary."""
    roads = beijing()
    adversary, track = RoadAdversary(roads), simulated(roads)
    time = np.arange(REPORTS) * GAP
    start, identity = np.array([0, REPORTS]), np.array([0], dtype=np.uint64)
    trip = Trips(*roads.to_degrees(track), time, start, identity)
    for name, (title, noise) in SHOWN.items():
        shown = perturb(noise, trip, Randomness.seeded(SEED).key("trips"))
        seen = Sighted(
            time, roads.to_plane(shown.latitude, shown.longitude), np.full(REPORTS, EPSILON)
        )
        medians, found = adversary.median(seen).position, adversary.informed(seen, noise).position
        draw_paths(
            folder / f"trucks_{name}.png",
            roads,
            [
                DrawnPath("true", track),
                DrawnPath("published", seen.shown),
                DrawnPath(f"median filter ({_error(medians, track)})", medians),
                DrawnPath(f"informed adversary ({_error(found, track)})", found),
            ],
            f"{title}: \u03b5 = {EPSILON:g} per metre, a report each {GAP:g} s",
        )


def _error(found: Floats, track: Floats) -> str:
    return f"{np.hypot(*(found - track).T).mean():.0f} m off"


def draw_curve(tables: Sequence[Mapping[str, Any]], path: Path) -> None:
    """What the informed adversary finds over epsilon, from recorded tables."""
    (table,) = (one for one in tables if one["title"].startswith("epsilon varied"))
    rows = [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
    figure = Figure(figsize=(9.5, 4), layout="constrained")
    axes = figure.subplots(1, 2)
    for axis, column in zip(axes, ("error, m", "right roads"), strict=True):
        for name, (color, marker, line) in STYLES.items():
            points = [
                (float(row["epsilon"]), *_interval(row[column]))
                for row in rows
                if row["mechanism"] == name
            ]
            if points:
                x, middle, width = zip(*sorted(points), strict=True)
                axis.errorbar(
                    x, middle, width, label=name, color=color, marker=marker, linestyle=line,
                    linewidth=1.2, markersize=4, capsize=2,
                )  # fmt: skip
        axis.set_xscale("log")
        axis.set_xlabel("epsilon per metre, as planar Laplace")
        axis.set_ylabel(
            {"error, m": "error in metres", "right roads": "share of right roads"}[column]
        )
        axis.set_ylim(bottom=0)
        axis.grid(visible=True, linewidth=0.3)
        axis.spines[["top", "right"]].set_visible(False)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    with mpl.rc_context({"svg.hashsalt": "trucks", "svg.fonttype": "none"}):
        figure.savefig(path, metadata={"Date": None})


def _interval(text: str) -> tuple[float, float]:
    """Middle and half-width of a cell like "160 ± 12"."""
    middle, width = text.split("\u00b1")
    return float(middle), float(width)


if __name__ == "__main__":
    main()
