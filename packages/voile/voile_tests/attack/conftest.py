"""Releases made by hand, as an adversary finds them."""

from __future__ import annotations

import polars as pl
import pytest

from voile.table.opening import published_rows
from voile_tests.releases import described, permuted


@pytest.fixture(scope="session")
def make_release():
    """Make a release from its published columns; every column that has no role is an age or so."""

    def make(columns, *, k=3, e=2, keep=()):
        frame = pl.DataFrame(columns)
        known = tuple(n for n in frame.columns if n not in {"group", "salary", *keep})
        return described(
            table=published_rows(frame),
            method={"name": "ke-anonymity", "k": k, "e": e},
            guarantee=permuted(k, e, "salary"),
            roles={"quasi_identifiers": known, "sensitive": ("salary",), "keep": tuple(keep)},
            release_id="0" * 32,
            publishable=True,
        )

    return make


@pytest.fixture(scope="session")
def publish(make_release):
    """Publish rows (person, value, group): the values leave their people within each group."""

    def made(rows, **terms):
        people = sorted(rows, key=lambda row: (row[2], str(row[0])))
        values = sorted(rows, key=lambda row: (row[2], row[1]))
        return make_release(
            {
                "group": [row[2] for row in people],
                "person": [row[0] for row in people],
                "salary": [row[1] for row in values],
            },
            **terms,
        )

    return made
