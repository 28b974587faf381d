"""A small real release of every method, of tables with the roles that it asks for."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import polars as pl

import voile
from voile.publish.clustered_laplace import ClusteredLaplace
from voile.publish.dp_generalization import DPGeneralization
from voile.publish.exchanging import RankSwapping, RecordSwapping, Shuffling
from voile.publish.generalization import Generalization
from voile.publish.geo_indistinguishability import GeoIndistinguishability
from voile.publish.ke_anonymity import KEAnonymity
from voile.publish.local_suppression import LocalSuppression
from voile.publish.m_shuffle import MShuffle
from voile.publish.microaggregation import Microaggregation
from voile.publish.noise import Noise
from voile.publish.pram import PRAM
from voile.publish.ranking import Ranking
from voile.schema.hierarchy.ranges import Intervals
from voile.table.opening import open_frame
from voile_base.randomness import Randomness

__all__ = [
    "ALL_METHODS",
    "METHODS",
    "PEOPLE",
    "SCORES",
    "assert_near",
    "small_plan",
    "small_release",
]

_ROWS = 240


def words(label, rows=_ROWS, seed=1):
    """Random words that are the same in every run."""
    return Randomness.seeded(seed).key(label).stream(rows) >> np.uint64(11)


PEOPLE = pl.DataFrame(
    {
        "id": np.arange(_ROWS),
        "age": (18 + words("age") % 60).astype(int),
        "sex": np.array(["f", "m"])[words("sex") % 2],
        "disease": np.array(["flu", "flu", "flu", "cancer", "ulcer"])[words("disease") % 5],
        "salary": (1000 + 100 * (words("salary") % 50)).astype(int),
    }
)
SCORES = PEOPLE.with_columns(
    math=(words("math") % 100).astype(int),
    reading=(words("reading") % 100).astype(int),
    trip=np.arange(_ROWS) // 40,
    time=np.arange(_ROWS) % 40 * 60,
    latitude=39.9 + np.arange(_ROWS) / 1e4,
    longitude=116.3 + np.arange(_ROWS) / 1e4,
)
"""People with what is ranked, and with the reports of six trips."""

_PEOPLE_ROLES = {"quasi_identifiers": ("age", "sex"), "sensitive": ("disease",)}
METHODS = {
    "generalization": (Generalization(k=5), _PEOPLE_ROLES),
    "dp-generalization": (DPGeneralization(k=5, epsilon=3), _PEOPLE_ROLES),
    "clustered-laplace": (
        ClusteredLaplace(epsilon=1),
        {"quasi_identifiers": ("age",), "sensitive": ("disease",)},
    ),
    "ke-anonymity": (
        KEAnonymity(k=3, e=500),
        {"quasi_identifiers": ("age", "sex"), "sensitive": ("salary",)},
    ),
    "m-shuffle": (MShuffle(columns=("age",)), _PEOPLE_ROLES),
    "local-suppression": (LocalSuppression(k=5), _PEOPLE_ROLES),
    "microaggregation": (Microaggregation(k=5), _PEOPLE_ROLES),
    "pram": (PRAM(columns=("sex",)), _PEOPLE_ROLES),
    "noise": (Noise(amount=0.2, columns=("age",)), _PEOPLE_ROLES),
    "rank-swapping": (RankSwapping(distance=0.1, columns=("age",)), _PEOPLE_ROLES),
    "record-swapping": (RecordSwapping(carried=("sex",), rate=0.1), _PEOPLE_ROLES),
    "shuffling": (
        Shuffling(columns=("salary",)),
        {"quasi_identifiers": ("age", "sex"), "sensitive": ("salary",)},
    ),
    "ranking": (
        Ranking(k=4, top=40, search="mondrian"),
        {**_PEOPLE_ROLES, "ranking": ("math", "reading")},
    ),
}
"""The publisher, and the roles of columns."""
TRIPS = "geo-indistinguishability"
ALL_METHODS = {**METHODS, TRIPS: (GeoIndistinguishability(epsilon=0.005), _PEOPLE_ROLES)}
"""With the method whose rows are reports of trips, and not people."""

_COLUMNS = {
    "age": voile.ColumnPlan(bounds=(18, 77), hierarchy=Intervals(widths=(10, 20), origin=18)),
    "math": voile.ColumnPlan(bounds=(0, 99)),
    "reading": voile.ColumnPlan(bounds=(0, 99)),
}


def small_plan(method, **roles):
    """The plan of a small release, its roles changed where some are given."""
    _, usual = ALL_METHODS[method]
    chosen = voile.Roles(**{**usual, **roles})
    columns = {name: _COLUMNS[name] for name in chosen.published if name in _COLUMNS}
    trips = voile.TrajectoryColumns() if method == TRIPS else None
    return voile.Plan(roles=chosen, columns=columns, trajectory=trips)


@cache
def _published(method, roles, seed):
    publisher, _ = ALL_METHODS[method]
    table = open_frame(SCORES, small_plan(method, **dict(roles)))
    return publisher.publish(table, Randomness.seeded(seed))


def small_release(method, seed=1, **roles):
    """A small release; the same object for the same arguments."""
    return _published(method, tuple(sorted(roles.items())), seed)


def assert_near(found, rate):
    """The success rate is within three standard errors of a rate: all targets, so no interval."""
    chance = 3 * math.sqrt(max(rate * (1 - rate), 1 / found.targets) / found.targets)
    assert abs(found.success.value - rate) <= chance
