"""Recorded releases are read, checked, attacked, measured and queried as when they were made."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from voile.disclosure.exact import Exact
from voile.disclosure.replaced import Noisy
from voile.publish.registry import read_plan
from voile.release.release import read_release
from voile.study.plans import single_release
from voile.study.run import prepare_release
from voile_base.randomness import Randomness
from voile_tests.release.golden import FOLDER, VARIANTS, compact, figures_of

FIGURES = json.loads((FOLDER / "figures.json").read_text(encoding="utf-8"))
QUICK = {
    "clustered-laplace",
    "dp-generalization",
    "ke-series-2",
    "m-shuffle",
    "mondrian",
    "ranking-ordered",
    "suppressing",
    "trips-zones",
}
"""One of each method; all others take longer than they tell more."""


@pytest.mark.parametrize(
    "name",
    [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in VARIANTS],
)
def test_figures_of_old_releases_stay(name):
    """Every attack with and without the plan, every measure, query and law: the same numbers."""
    found = json.loads(compact({name: figures_of(name)}))[name]
    for kind, figures in FIGURES[name].items():
        assert found[kind] == figures, kind


FINER = {"k-optimize": {"work": Exact()}}
"""Where groups could differ, and nothing tells that none generalizes a column."""


DEARER = {"trips-laplace", "trips-remaining"}
"""Trips whose losses were summed at delta 0, and are composed at the delta of the plan now."""


PROVED = {
    "the adversary does not reason backwards from the choice of the groups' borders": {
        "ke-anonymity"
    },
    "nobody reasons backwards from the choice of the groups: that a finer generalization was not "
    "chosen tells something about the rows that forbade it (minimality attack)": {
        "flash",
        "k-optimize",
        "mondrian-dates-of-a-tree",
        "suppressing",
    },
}
"""What was assumed once and is proved now, of which releases.

Where groups of (k,e)-anonymity are cut depends on the set of values, and where those of k-anonymity
alone are, on quasi-identifiers.
"""


ADDED = {
    "l counts the sensitive values of a group that are written differently: near values, such as "
    "costs a few cents apart, count as different, and so does a missing value; what the values of "
    "a group have in common, everybody learns": {"diverse", "mondrian"},
}
"""What the promise does not cover and is said since, of which releases."""


def restated(release):
    """What an early version says: nothing of the bounds to which noise is clamped."""
    columns = {
        name: shown.model_copy(update={"clamp": None}) if isinstance(shown, Noisy) else shown
        for name, shown in release.disclosure.columns.items()
    }
    return release.disclosure.model_copy(update={"columns": columns})


@pytest.mark.parametrize("name", [n for n in VARIANTS if n not in {"ke-series-2", "trips-roads"}])
def test_publishers_say_what_was_read_from_old_releases(name):
    """The same plan and table give the same statement, claims and roles as when recorded."""
    old = read_release(FOLDER / name)
    plan = single_release(read_plan(FOLDER / f"{name}.toml"))
    texts = any(getattr(shown, "ends", "") == "text" for shown in old.disclosure.columns.values())
    made = prepare_release(
        FOLDER / "original.parquet",
        plan,
        randomness=Randomness.seeded(3),
        intervals="text" if texts else "columns",
    ).publication.release
    columns = {**restated(old).columns, **FINER.get(name, {})}
    assert restated(made) == restated(old).model_copy(update={"columns": columns})
    assert made.roles == old.roles
    assert made.table.columns == old.table.columns
    if name in DEARER:
        spent, was = (one.guarantee.parameters["costliest_trip"] for one in (made, old))
        assert spent["reports"] == was["reports"]
        assert spent["epsilon"] < was["epsilon"]
    elif name != "ke-series-1":
        stated = made.guarantee.statement.partition(". THIS NUMBER PROTECTS NOTHING")[0]
        assumed = [one for one in old.guarantee.assumes if name not in PROVED.get(one, ())]
        assumed += [one for one, names in ADDED.items() if name in names]
        was = replace(old.guarantee, assumes=tuple(assumed))
        assert replace(made.guarantee, statement=stated) == was


def test_every_variant_has_figures():
    """No release stands in the folder that nothing is known of."""
    assert list(FIGURES) == VARIANTS


def test_zones_of_a_map_are_read_with_all_that_they_rest_on():
    """The road map, its cells, the radii that it gave, and the factor that rounding costs."""
    shown = read_release(FOLDER / "trips-roads").disclosure.columns["latitude"]
    zones = shown.zones.model_dump()
    radii = zones.pop("radii")
    assert (len(radii), radii[0], radii[9], radii[-1]) == (20, 100.0, 233.67, 600.0)
    assert zones.pop("map") == {
        "name": "town.csv",
        "digest": "222b243106072faf2172bc1c533132236456c64cd469d17a93be53788978dbaa",
        "within": 3,
        "bounds": (100.0, 600.0),
        "cell_metres": 250.0,
        "cells": (14, 8),
    }
    assert zones == {
        "levels": (1.0,),
        "level_limits": (),
        "radius_limits": (),
        "centre": None,
        "by": "published",
        "factor": 0.999831681272958,
    }
