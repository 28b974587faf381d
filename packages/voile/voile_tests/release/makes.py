"""Releases of every method, of made-up people and trips, for those who recount and break them."""

from __future__ import annotations

import random
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import polars as pl

from voile.publish.registry import read_plan
from voile.study.run import make_release

__all__ = ["METHODS", "make", "people", "trips"]

_ROLES = """
[roles]
quasi_identifiers = ["age", "work", "since"]
sensitive = ["{sensitive}"]
keep = ["id"]
keep_unique = ["id"]

[columns.age]
bounds = [0, 99]
intervals = {{ widths = [10, 20, 50] }}
[columns.work]
tree = {{ government = ["federal", "local"], other = ["private", "alone"] }}
[columns.since]
dates = ["month", "year"]
"""
_NOISY = """
[roles]
quasi_identifiers = ["age", "income"]
sensitive = ["illness"]
keep = ["id"]
keep_unique = ["id"]
[columns.age]
bounds = [0, 99]
[columns.income]
bounds = [0, 10000]
"""
_RANKED = """
[roles]
quasi_identifiers = ["work"]
ranking = ["age", "income"]
keep = ["id"]
keep_unique = ["id"]
"""
_SAMPLED = """
[roles]
quasi_identifiers = ["age", "work"]
[columns.age]
bounds = [0, 99]
intervals = { widths = [10, 50] }
[columns.work]
tree = { government = ["federal", "local"], other = ["private", "alone"] }
"""
_TRIPS = '[roles]\nvehicle = "van"\n'
_ZONES = "zones = { south = 39.8, west = 116.2, north = 40.0, east = 116.6, rows = 2, columns = 2 }"


def _of(roles: str, name: str, *lines: str) -> str:
    return roles + f'\n[method]\nname = "{name}"\n' + "\n".join(lines) + "\n"


_ILL, _PAID = _ROLES.format(sensitive="illness"), _ROLES.format(sensitive="salary")

METHODS = {
    "generalization": _of(_ILL, "generalization", "k = {k}", "l = 2"),
    "suppressing": _of(
        _ILL, "generalization", 'algorithm = "flash"', "k = {k}", "suppression_limit = 0.2"
    ),
    "mondrian": _of(_PAID, "generalization", 'algorithm = "mondrian"', "k = {k}"),
    "ke-anonymity": _of(_PAID, "ke-anonymity", "k = {k}", "e = 50"),
    "series": _of(
        _PAID, "ke-anonymity", "k = {k}", "e = 50", 'series = "pay"', 'record_key = "id"'
    ),
    "series-of-groups": _of(
        _ILL,
        "generalization",
        "k = {k}",
        'series = "years"',
        'record_key = "id"',
        "group_size = 20",
    ),
    "m-shuffle": _of(_PAID, "m-shuffle", "clusters = 3", 'columns = ["age", "work"]'),
    "local-suppression": _of(_PAID, "local-suppression", "k = {k}"),
    "microaggregation": _of(_PAID, "microaggregation", "k = {k}"),
    "pram": _of(_PAID, "pram", 'columns = ["work"]', "retain = 0.{k}"),
    "noise": _of(_PAID, "noise", 'columns = ["age"]', "amount = 0.{k}"),
    "rank-swapping": _of(_PAID, "rank-swapping", 'columns = ["age"]', "distance = 0.{k}"),
    "record-swapping": _of(_PAID, "record-swapping", 'carried = ["work"]', "rate = 0.{k}"),
    "shuffling": _of(_PAID, "shuffling", 'columns = ["salary"]'),
    "ranking": _of(_RANKED, "ranking", "k = {k}", "top = 60", "precision = 0.5"),
    "dp-generalization": _of(_SAMPLED, "dp-generalization", "k = {k}", "epsilon = 3"),
    "clustered-laplace": _of(_NOISY, "clustered-laplace", "epsilon = {k}"),
    "laplace": _of(_NOISY, "clustered-laplace", "epsilon = {k}", "shares = [1.0]"),
    "clusters-of-data": _of(
        _NOISY, "clustered-laplace", "epsilon = {k}", 'bounds = "data"', "confidence = 0.9"
    ),
    "planar-laplace": _of(
        _TRIPS, "geo-indistinguishability", 'mechanism = "planar-laplace"', "epsilon = 0.01"
    ),
    "gaussian": _of(_TRIPS, "geo-indistinguishability", "epsilon = 0.005", "tau = 90"),
    "zones": _of(
        _TRIPS,
        "geo-indistinguishability",
        'mechanism = "planar-laplace"',
        "levels = [2, 1]",
        "radii = [200, 800]",
        "level_limits = [1500]",
        "radius_limits = [600]",
        "centre = [39.9, 116.3]",
        "destination = [39.95, 116.35]",
    ),
    "flows": _of(_TRIPS, "flows", "epsilon = 1", "trips = {k}", _ZONES),
}
"""Plans by name; ``{k}`` is to be filled in."""
_OF_TRIPS = ("planar-laplace", "gaussian", "zones", "flows")


def people(seed: int, rows: int = 400) -> pl.DataFrame:
    """Rows of made-up employees, each of whom has an id."""
    dice = random.Random(seed)
    return pl.DataFrame(
        {
            "id": dice.sample(range(10 * rows), rows),
            "age": [dice.randint(18, 80) for _ in range(rows)],
            "work": dice.choices(["federal", "local", "private", "alone"], k=rows),
            "since": [date(2010, 1, 1) + timedelta(dice.randrange(2_000)) for _ in range(rows)],
            "income": [float(dice.randint(500, 9_500)) for _ in range(rows)],
            "salary": [10 * dice.randint(90, 400) for _ in range(rows)],
            "illness": dice.choices(["flu", "cold", "ulcer", "asthma"], [4, 3, 2, 1], k=rows),
        }
    )


def trips(seed: int, vans: int = 12) -> pl.DataFrame:
    """Reports of made-up vans: five trips each, of eight reports."""
    dice = random.Random(seed)
    rows = []
    for van in range(vans):
        for trip in range(5):
            north, east = 39.85 + dice.random() / 10, 116.25 + dice.random() / 5
            begin = 86_400 * trip + 3_600 * dice.choice([7, 8, 15])
            for report in range(8):
                place = round(north, 5), round(east, 5)
                rows.append((f"{van}-{trip}", f"v{van}", begin + 60 * report, *place))
                north, east = north + 0.002 * dice.random(), east + 0.003 * dice.random()
    names = ["trip", "van", "time", "latitude", "longitude"]
    return pl.DataFrame(rows, schema=names, orient="row")


def make(
    method: str, folder: Path, seed: int = 1, *, k: int = 3, **more: Any
) -> tuple[Path, pl.DataFrame]:
    """The folder of a release by a method, and the table that it was made of."""
    frame = trips(seed) if method in _OF_TRIPS else people(seed)
    plan = folder / f"{method}-{seed}.toml"
    plan.write_text(METHODS[method].replace("{k}", str(k)), encoding="utf-8")
    out = folder / f"{method}-{seed}"
    ledger = folder / f"{method}-{seed}.ledger" if "series = " in METHODS[method] else None
    make_release(frame, read_plan(plan), out, ledger=ledger, seed=seed, **more)
    return out, frame
