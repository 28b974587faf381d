"""How columns are shown: the statement itself, its JSON, and what it refuses."""

from __future__ import annotations

import json
import subprocess
import sys

import polars as pl
import pytest
from hypothesis import given

from voile.disclosure.exact import Exact, Permuted
from voile.disclosure.interval import Interval
from voile.disclosure.replaced import Cluster, Noisy
from voile.disclosure.shown import Disclosure, GroupNumbering
from voile.release.release import Release
from voile.table.opening import published_rows
from voile_base.errors import TableError
from voile_base.values.value import read
from voile_tests.disclosure.statements import DISCLOSURES, SHOWN
from voile_tests.releases import promised

NOISY = Noisy(step=1, clusters=(Cluster(scale=2, half_width=3, share=1),))
BLOCKS = GroupNumbering(column="group", made="blocks", by=("pay",))


@pytest.mark.slow
@given(DISCLOSURES)
def test_statements_survive_json(disclosure):
    """What is written is read back as the same value."""
    document = json.loads(json.dumps(disclosure.document()))
    assert read(Disclosure, document, "here") == disclosure


@given(SHOWN)
def test_intervals_become_texts_once(shown):
    """A column shown in texts needs no more columns, and is not changed again."""
    texts = shown.with_intervals_as_text()
    assert texts.with_intervals_as_text() == texts
    assert len(texts.published("x")) <= max(len(shown.published("x")), 1)
    assert all("low" not in column for column in texts.published("x"))


@pytest.mark.parametrize(
    ("shown", "said"),
    [
        ({"kind": "stirred"}, "columns.age: unknown kind 'stirred' (known: exact, generalized,"),
        ({"kind": "exat"}, "columns.age: unknown kind 'exat'; did you mean 'exact'?"),
        ({"kind": "generalized"}, "columns.age: needs 'level'"),
        ({"kind": "exact", "level": 2}, "columns.age: unknown key 'level'"),
        ({"kind": "interval", "level": -1}, "columns.age.level must be"),
        ({}, "columns.age needs 'kind'"),
    ],
)
def test_unknown_kinds_and_facts_are_refused(shown, said):
    """A release that says something else than this version understands is not misread."""
    with pytest.raises(TableError) as caught:
        read(Disclosure, {"columns": {"age": shown}}, "release.json", TableError, public=True)
    assert f"release.json: {said}" in str(caught.value)


def test_published_columns_are_those_of_each_kind():
    """The numbers of groups first; an interval has two columns, noise three."""
    columns = {"age": Interval(level=2), "pay": Permuted(), "hours": NOISY, "town": Exact()}
    disclosure = Disclosure(columns=columns, groups=BLOCKS)
    assert disclosure.published == (
        *("group", "age.low", "age.high", "pay", "hours", "hours.low", "hours.high", "town"),
    )
    assert disclosure.owner("hours.low") == "hours"
    assert disclosure.owner("group") is None
    assert disclosure.permuted == {"pay"}
    assert disclosure.with_intervals_as_text().published == (
        *("group", "age", "pay", "hours", "hours.interval", "town"),
    )


def test_contradictions_cannot_be_stated():
    """Permuted columns without groups, and a published column that shows two."""
    with pytest.raises(ValueError, match="no groups are stated"):
        Disclosure(columns={"pay": Permuted()})
    with pytest.raises(ValueError, match=r"'x.low' is stated to show several"):
        Disclosure(columns={"x": Interval(level=1), "x.low": Exact()})


def released(columns, **shown):
    """A release of some columns of which some are stated."""
    return Release(
        table=published_rows(pl.DataFrame({name: [1] for name in columns})),
        method={"name": "by hand"},
        disclosure=Disclosure(columns=shown),
        guarantee=promised("imaginary", {}),
        roles={},
        release_id="0" * 32,
        publishable=True,
    )


def test_a_release_says_of_each_column_how_it_came_about():
    """Neither a column of which nothing is said nor one that is not there passes."""
    released(["a", "b"], a=Exact(), b=Exact())
    with pytest.raises(ValueError, match="nothing says how 'b' came about"):
        released(["a", "b"], a=Exact())
    with pytest.raises(ValueError, match=r"it lacks 'b\.high', 'b\.low'"):
        released(["a"], a=Exact(), b=Interval(level=1))


@pytest.mark.slow
def test_statements_load_no_table():
    """Who states or reads how columns are shown loads no frames and no compiled code."""
    heavy = ("polars", "pandas", "scipy", "numba", "pyarrow")
    code = (
        "import sys, pkgutil, importlib, voile_base.values.value, voile.disclosure.shown; "
        f"print([m for m in {heavy!r} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
