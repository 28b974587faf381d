"""Figures of the releases in ``golden_releases``: what attacks, measures and queries make of them.

Each folder there is a release with the plan that it was made by; ``original.parquet``
is the table, ``absent.parquet`` holds people who are not in it, and ``figures.json`` what the code
that wrote the releases found in them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from voile.attack.registry import ATTACKS, attack_named
from voile.attack.trajectory.on_release import _noise_of
from voile.disclosure.replaced import Noisy
from voile.publish.registry import read_plan
from voile.query import answer
from voile.release.check import check_release
from voile.release.reading import People, PublishedRows
from voile.release.release import Release, read_release
from voile.utility.marginals import distributions
from voile.utility.protocol import Comparison, measures
from voile_base.errors import VoileError
from voile_base.randomness import Randomness
from voile_geo.roads.reading import read_roads

__all__ = ["FOLDER", "VARIANTS", "figures_of"]

FOLDER = Path(__file__).parent / "golden_releases"
VARIANTS = sorted(path.parent.name for path in FOLDER.glob("*/release.json"))

_QUERIES = {
    "SUM(salary)": None,
    "AVG(salary)": "age >= 30",
    "MIN(salary)": "work = 'local'",
    "MAX(salary)": "hours IS NULL",
    "COUNT(*)": "age < 40 AND work <> 'alone'",
}
_EARLIER = {"ke-series-2": ("ke-series-1",)}
_ATTACKS = (
    "identification", "prosecutor", "journalist", "marketer", "membership", "row-tracing",
    "homogeneity", "background-knowledge", "skewness", "differencing",
)  # fmt: skip
_SINCE = (
    "il1s", "eigenvalue-ratio", "hellinger", "propensity-score", "interval-overlap",
    "weighted-totals",
)  # fmt: skip
"""Attacks that there were when the figures were recorded, and measures that there were not."""


def figures_of(name: str) -> dict[str, Any]:
    """Everything about one release, as JSON takes it."""
    release = read_release(FOLDER / name)
    check_release(release)
    original = pl.read_parquet(FOLDER / "original.parquet")
    plan = read_plan(FOLDER / f"{name}.toml")
    comparison = Comparison(
        PublishedRows.of(release), People(original, plan), Randomness.seeded(11)
    )
    return {
        "attacks": {
            "with the plan": dict(_attacks(name, release, original, plan)),
            "without": dict(_attacks(name, release, original, None)),
        },
        "measures": dict(_measures(comparison)),
        "distributions": _said(lambda: [_distribution(one) for one in distributions(comparison)]),
        "queries": {
            f"{asked} where {where}": _said(
                lambda a=asked, w=where: answer(release, a, w).document()
            )
            for asked, where in _QUERIES.items()
        },
        "noise": {
            name: _said(lambda n=name: _packed_noise(release, n)) for name in ("age", "income")
        },
        "trips": _said(lambda: _trip_noise(release)),
    }


def _packed_noise(release: Release, column: str) -> Any:
    """What a packer reads of the noise in a column."""
    shown = release.disclosure.columns.get(column)
    if not isinstance(shown, Noisy):
        return None
    clusters = [
        [
            *(one.scale, one.half_width, one.share, one.own, one.other),
            None if one.low is None or one.high is None else (one.low, one.high),
        ]
        for one in shown.clusters
    ]
    return {"step": shown.step, "clusters": clusters}


def _trip_noise(release: Release) -> Any:
    """What an adversary who follows trips reads of the noise of positions."""
    if "latitude" not in release.roles:
        return None
    moved = release.disclosure.columns["latitude"]
    noise = _noise_of(moved, read_roads(FOLDER / "town.csv"))
    zones = noise.zones
    return {
        "law": noise.name,
        "parameter": noise.parameter,
        "fresh": [str(part) for part in noise.fresh],
        "levels": list(zones.levels),
        "radii": list(zones.radii),
        "limits": [list(zones.level_limits), list(zones.radius_limits)],
        "centre": zones.centre and list(zones.centre),
        "by": zones.by,
        "grid": zones.grid and [list(zones.grid.cells.shape), int(zones.grid.cells.sum())],
    }


def _attacks(
    name: str, release: Release, original: pl.DataFrame, plan: Any
) -> Iterator[tuple[str, Any]]:
    knowledge = {
        "targets": None,
        "absent": pl.read_parquet(FOLDER / "absent.parquet"),
        "earlier": [read_release(FOLDER / one) for one in _EARLIER.get(name, ())],
    }
    for attack in _ATTACKS:
        known = {key: value for key, value in knowledge.items() if key in ATTACKS.fields_of(attack)}
        yield attack, _said(lambda n=attack, k=known: _attacked(n, k, release, original, plan))
        if plan and "link" in ATTACKS.fields_of(attack) and "id" in release.table.columns:
            linked = {**known, "link": "id"}
            yield (
                f"{attack} by id",
                _said(lambda n=attack, k=linked: _attacked(n, k, release, original, plan)),
            )


def _attacked(
    name: str, known: dict[str, Any], release: Release, original: pl.DataFrame, plan: Any
) -> Any:
    attack = attack_named(name, **known)
    if reason := attack.refusal(release, plan):
        return f"refused: {reason}"
    found = attack.run(release, original, plan, Randomness.seeded(5)).document()
    kept = ("targets", "checked", "baseline", "goal", "notes")
    return {
        **{key: found[key] for key in kept},
        "success": found["success"]["value"],
        "probability": found["probability"]["value"],
        "worst": found["worst"] and found["worst"]["probability"],
    }


def _measures(comparison: Comparison) -> Iterator[tuple[str, Any]]:
    for measure in (one for one in measures() if one.name not in _SINCE):
        if reason := _said(lambda m=measure: m.refusal(comparison)):
            yield measure.name, f"refused: {reason}"
            continue
        found = _said(lambda m=measure: [_measured(one) for one in m.measure(comparison)])
        yield measure.name, found


def _measured(one: Any) -> dict[str, Any]:
    found = one.document()
    return {key: found[key] for key in ("measure", "value", "untouched", "useless", "parts")}


def _distribution(one: Any) -> dict[str, Any]:
    return {"column": one.column, "role": one.role, "bins": len(one.labels), "after": one.after}


def _said(make: Any) -> Any:
    """What a call gives, or the error that a caller can act upon."""
    try:
        return _plain(make())
    except VoileError as error:
        return f"{type(error).__name__}: {error}"


def _plain(value: Any) -> Any:
    """Numbers to twelve digits: the last ones are rounding, and follow the order of sums."""
    if isinstance(value, dict):
        return {str(key): _plain(held) for key, held in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(held) for held in value]
    if isinstance(value, float):
        return float(f"{value:.12g}") if math.isfinite(value) else str(value)
    return value


def compact(figures: dict[str, Any]) -> str:
    """The figures as JSON with a line for each attack and each measure."""
    lines = []
    for name, kinds in figures.items():
        inner = [f"  {json.dumps(kind)}: {_block(found)}" for kind, found in kinds.items()]
        lines.append(f" {json.dumps(name)}: {{\n" + ",\n".join(inner) + "\n }")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _block(found: Any, depth: int = 3) -> str:
    if not isinstance(found, dict) or not found:
        return json.dumps(found, ensure_ascii=False)
    space = " " * depth
    lines = [
        f"{space}{json.dumps(key)}: "
        + (
            _block(held, depth + 1)
            if key in ("with the plan", "without")
            else json.dumps(held, ensure_ascii=False)
        )
        for key, held in found.items()
    ]
    return "{\n" + ",\n".join(lines) + "\n" + space[:-1] + "}"
