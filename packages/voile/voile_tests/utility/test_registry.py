"""All measures of utility by name, and what holds for every one of them."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import replace
from functools import cache

import pytest

from voile.release.reading import People
from voile.utility.protocol import measure_named, measure_names, measures
from voile_base.errors import InputError
from voile_testing.plugin import ROOT
from voile_tests.utility.releases import (
    ALL_METHODS,
    PEOPLE,
    as_it_is,
    nothing_left,
    published,
    shown_by_hand,
)

EVERY = pytest.mark.parametrize("name", measure_names())


@cache
def comparison_of(method):
    """A release by a method, with some rows as if they had been held out."""
    comparison = published(method)
    original = comparison.original
    return replace(comparison, held_out=People(original.frame[:60], original.plan))


def test_measures_are_those_that_are_named():
    """Each knows its own name, and all stand in one tuple."""
    assert [measure.name for measure in measures()] == list(measure_names())
    assert {"query-error", "machine-learning", "table-divergence"} <= set(measure_names())


def test_a_name_brings_its_parameters():
    """And refuses others, with a hint."""
    assert measure_named("query-error", queries=7) == measure_named("query-error", queries=7)
    assert measure_named("query-error", queries=7) != measure_named("query-error")
    with pytest.raises(InputError, match="did you mean 'query-error'"):
        measure_named("query-errors")
    with pytest.raises(InputError, match="did you mean 'queries'"):
        measure_named("query-error", querys=7)
    with pytest.raises(InputError, match="at least 1"):
        measure_named("query-error", queries=0)


@pytest.mark.slow
def test_no_heavy_library_loads_before_it_is_needed():
    """Making all measures does not import scikit-learn."""
    code = (
        "import sys; from voile.utility.protocol import measures; measures();"
        "sys.exit('sklearn' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@EVERY
@pytest.mark.parametrize("method", ALL_METHODS)
def test_every_method_is_measured_or_refused_with_a_reason(name, method):
    """Values are finite and plain, and a refusal is a clause."""
    comparison, measure = comparison_of(method), measure_named(name)
    if (reason := measure.refusal(comparison)) is not None:
        assert reason
        assert not reason.endswith(".")
        return
    found = measure.measure(comparison)
    assert len({one.measure for one in found}) == len(found) > 0
    for one in found:
        document = json.loads(json.dumps(one.document(), allow_nan=False))
        assert math.isfinite(document["value"])
        assert not one.meaning.endswith(".")
        if one.untouched is not None and one.useless is not None:
            assert (one.useless > one.untouched) == (one.better == "lower")


def test_the_page_says_which_measure_makes_sense_for_which_method():
    """Yes, no, or some where variants of a method differ; roles of columns do not count."""
    page = (ROOT / "docs" / "utility.md").read_text(encoding="utf-8")
    lines = page.partition("## Which measure makes sense")[2].partition("\n## ")[0].splitlines()
    header, _, *rows = ([*map(str.strip, li.split("|")[1:-1])] for li in lines if li[:1] == "|")
    told = {row[0]: dict(zip(header[1:], row[1:], strict=True)) for row in rows}
    assert list(told) == list(measure_names())
    variants = {}
    for method in ALL_METHODS:
        name = comparison_of(method).published.release.method["name"]
        variants.setdefault(name, []).append(method)
    for measure in measures():
        for name, methods in variants.items():
            reasons = [measure.refusal(comparison_of(method)) for method in methods]
            works = [reason is None or "no sensitive column" in reason for reason in reasons]
            found = "yes" if all(works) else "some" if any(works) else "no"
            assert told[measure.name][name] == found, (measure.name, name)
    assert set(header[1:]) == set(variants)


@EVERY
def test_every_measure_is_explained(name):
    """With its definition, its range and how to read it."""
    page = (ROOT / "docs" / "utility.md").read_text(encoding="utf-8")
    explained = page.partition(f"\n### {name}\n")[2].partition("\n#")[0]
    for word in ("Definition", "Range", "Read it"):
        assert f"- **{word}:**" in explained, word


@EVERY
def test_a_measure_draws_the_same_again(name):
    """Whoever has the seed can repeat it."""
    comparison, measure = comparison_of("mondrian"), measure_named(name)
    if measure.refusal(comparison) is None:
        first, again = (measure.measure(comparison) for _ in range(2))
        assert [one.document() for one in first] == [one.document() for one in again]


@EVERY
def test_the_original_is_untouched(name):
    """Whatever is measured of a table published as it is has the value that says so."""
    comparison = as_it_is()
    comparison = replace(comparison, held_out=People(PEOPLE[:60], comparison.original.plan))
    measure = measure_named(name)
    if measure.refusal(comparison) is None:
        for one in measure.measure(comparison):
            if one.untouched is not None:
                assert one.value == pytest.approx(one.untouched, abs=1e-12)


@EVERY
def test_no_value_of_the_table_is_told(name):
    """Neither notes nor parts hold a text of the original; columns are named."""
    secret = {
        "work": ["Xanthippe", "Ypsilanti"] * 20,
        "age": [20, 30] * 20,
        "sex": ["Q1", "Q2"] * 20,
    }
    roles = {"quasi_identifiers": ("work", "age"), "sensitive": ("sex",)}
    comparison = shown_by_hand(secret, secret, roles=roles)
    comparison = replace(comparison, held_out=comparison.original)
    measure = measure_named(name)
    if measure.refusal(comparison) is None:
        told = json.dumps([one.document() for one in measure.measure(comparison)])
        assert not any(text in told for text in ("Xanthippe", "Ypsilanti", "Q1", "Q2"))


@EVERY
def test_a_release_that_shows_nothing_is_useless(name):
    """Measures of what rows say; those of groups count rows, and half of their bound may do."""
    comparison, measure = nothing_left(), measure_named(name)
    if measure.refusal(comparison) is None:
        for one in measure.measure(comparison):
            if one.untouched is not None and one.useless is not None and name != "suppressed-rows":
                assert one.value == pytest.approx(one.useless, rel=0.05)
