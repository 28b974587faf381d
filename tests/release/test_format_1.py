"""Releases of format 1 are read, checked, attacked, measured and queried as when they were made."""

from __future__ import annotations

import json

import pytest

from tests.release.golden import FOLDER, VARIANTS, compact, figures_of

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


def test_every_variant_has_figures():
    """No release stands in the folder that nothing is known of."""
    assert list(FIGURES) == VARIANTS
