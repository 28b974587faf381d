"""The benchmark on trucks: what its drives, adversaries and recipients are made of."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from benchmarks.trucks import EPSILON, INTERVAL, Results, with_interval
from benchmarks.trucks_attacks import (
    APART,
    ATTACKS,
    MECHANISMS,
    RECIPIENTS,
    Case,
    Found,
    attack_all,
    movement_of,
    recipients_of,
)
from benchmarks.trucks_data import TRACKED, Drive
from benchmarks.trucks_figure import draw_curve
from voile_geo.roads.network import RoadNetwork
from voile_testing.towns import random_network


def town() -> RoadNetwork:
    """A town whose streets are all of one class."""
    roads = random_network(31, size=30).largest_connected()
    kinds = np.zeros(roads.edges, dtype=np.int64)
    return dataclasses.replace(roads, classes=("residential",), class_of=kinds)


def drive(roads: RoadNetwork, user: int, speed: float) -> Drive:
    """30 positions along one edge after another."""
    rng, at, nodes = np.random.default_rng(user), user, [user]
    for _ in range(40):
        onward = roads.target[roads.source == at]
        at = int(rng.choice(onward))
        nodes.append(at)
    way = roads.plane[nodes]
    along = np.concatenate(([0.0], np.cumsum(np.hypot(*np.diff(way, axis=0).T))))
    here = np.minimum(np.arange(30) * TRACKED * speed, along[-1])
    track = np.stack([np.interp(here, along, way[:, axis]) for axis in (0, 1)], axis=1)
    fine = np.repeat(track, round(TRACKED), axis=0)
    return Drive(user, True, track, np.zeros(30, dtype=np.int64), fine)


@pytest.mark.slow
def test_every_case_is_run_on_every_drive() -> None:
    """Positions under every attack, and distances to one and three recipients."""
    roads = town()
    drives = [drive(roads, user, 6.0) for user in (1, 2)]
    cases = [Case(name, 0.02, 30.0, a) for name in list(MECHANISMS)[::4] for a in ATTACKS]
    cases += [Case(name, 0.02, 30.0, "informed") for name in RECIPIENTS]
    found = list(attack_all(roads, drives, cases, processes=1))
    assert {(one.case, one.drive) for one in found} == {(c, n) for c in cases for n in (0, 1)}
    assert all(one.error < 2_000 and 0 <= one.right <= 1 for one in found)
    results = Results(found)
    none, informed = (
        np.mean([one.error for one in results.of("planar Laplace", attack, 0.02, 30.0)])
        for attack in ("none", "informed")
    )
    assert informed < none


def test_movement_is_learned_from_drives() -> None:
    """Usual speeds are those of the drives, and classes that are not driven are not impossible."""
    roads = town()
    learned = movement_of(roads, [drive(roads, user, speed) for user, speed in ((1, 4), (2, 7))])
    assert 3 < learned.usual < 7
    assert all(share > 0 for share in learned.traffic.values())


def test_recipients_wait_at_the_end_and_around_it() -> None:
    """The first is the drive's destination, the others lie 2 to 8 km away."""
    roads = random_network(32, size=40)
    end = roads.plane[0]
    places = recipients_of(roads, end, 3, 5)
    assert (places[0] == end).all()
    far = np.hypot(*(places[1:] - end).T)
    assert ((far > APART[0]) & (far < APART[1])).all()


def test_intervals_are_normal_ones_over_drives() -> None:
    """Of 1, 2, 3: mean 2, standard deviation 1, half-width 1.96 / sqrt(3)."""
    assert with_interval([1.0, 2.0, 3.0], 2) == "2.00 \u00b1 1.13"


def test_the_worst_attack_is_the_one_that_finds_most() -> None:
    """The highest mean over attacks, not over drives."""
    found = [
        Found(Case("planar Laplace", EPSILON, INTERVAL, attack), number, 1.0, share, 0.0, 0)
        for attack, shares in (("none", (0.0, 0.9)), ("informed", (0.5, 0.6)))
        for number, share in enumerate(shares)
    ]
    assert Results(found).worst_right("planar Laplace", EPSILON) == pytest.approx(0.55)


@pytest.mark.slow
def test_the_curve_is_drawn_from_recorded_cells(tmp_path: Path) -> None:
    """An SVG with a line for each mechanism that was recorded."""
    table = {
        "title": "epsilon varied: the informed adversary",
        "columns": ("mechanism", "epsilon", "error, m", "right roads"),
        "rows": [
            ["planar Laplace", e, "150 \u00b1 6", "0.44 \u00b1 0.02"] for e in ("0.01", "0.005")
        ],
    }
    draw_curve([table], tmp_path / "curve.svg")
    text = (tmp_path / "curve.svg").read_text(encoding="utf-8")
    assert "planar Laplace" in text
    assert "angle selection" not in text
