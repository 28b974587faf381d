"""The schema of plans says what the reader of plans does."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from voile.publish.publisher import Publisher
from voile.publish.registry import completed, plan_schema, publisher_of
from voile.schema.plan import parse_plan
from voile_base.errors import PlanError

jsonschema = pytest.importorskip("jsonschema")

PLAN = """
missing = ["?"]
[roles]
quasi_identifiers = ["age"]
trip = "id"
[columns.age]
bounds = [0, 99]
intervals = { widths = [5, 10.5] }
[budget]
data_set = "people"
epsilon = 3
[method]
"""
METHODS = [
    'name = "ke-anonymity"\nk = 2\ne = 0.5',
    'name = "generalization"\nk = 2\nl = { value = 2, kind = "entropy" }',
    'name = "clustered-laplace"\nepsilon = 1\nshares = [0.5, 0.5]',
    'name = "dp-generalization"\nk = 3\nepsilon = 5',
    'name = "dp-synthesis"\nrho = "1/64"\nrows = "10x"\ntogether = [["age", "sex"]]',
    'name = "dp-tables"\nepsilon = 1\ntables = [["age"], ["age", "sex"]]\nshow_from = 10',
    'name = "ranking"\nk = 3\ntop = 9\nby = { score = 2 }',
    'name = "local-suppression"\nk = 3\nimportance = { age = 2.5 }\nlimits = { age = 9 }',
    'name = "microaggregation"\nk = 3\ncentre = "medoid"\nstrata = ["age"]',
    'name = "pram"\nretain = 0.5\nstrata = ["age"]',
    'name = "pram"\nmatrices = { sex = { f = { f = 0.9, m = 0.1 }, m = { m = 1 } } }',
    'name = "noise"\namount = 0.1\nkind = "correlated"\nkeep_covariance = true',
    'name = "rank-swapping"\ndistance = 0.05\nstrata = ["age"]',
    'name = "record-swapping"\ncarried = ["zip"]\nrate = 0.05\nmatch = ["age"]\nk = 2',
    'name = "shuffling"\ncolumns = ["score"]\nby = ["age"]',
    'name = "m-shuffle"\ncolumns = ["zip"]\nclusters = 2',
    'name = "geo-indistinguishability"\nlevels = [1, 2]\nradii = 400\nlevel_limits = 50',
    'name = "geo-indistinguishability"\nmechanism = "angle-selection"\nepsilon = 1\n'
    "epsilon_angle = 2",
]


@pytest.fixture(scope="module")
def schema():
    """A validator of plans."""
    return jsonschema.Draft202012Validator(plan_schema())


@pytest.mark.parametrize("method", METHODS)
def test_what_the_reader_takes_the_schema_takes(schema, method):
    """A plan of every method, with hierarchies, a budget and columns of trips."""
    document = tomllib.loads(PLAN + method)
    publisher_of(completed(parse_plan(document), Path()).method)
    assert schema.is_valid(document)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("missing", "mising"),
        ("bounds", "bound"),
        ("widths = [5", 'widths = ["5"'),
        ("epsilon = 3", "epsilon = -1"),
        ("k = 2", "k = 1"),
        ("k = 2", "kk = 2"),
        ('"ke-anonymity"', '"ke-anonimity"'),
    ],
)
def test_what_the_reader_refuses_the_schema_refuses(schema, before, after):
    """Keys that are not known, numbers beyond their limits, texts for numbers."""
    document = tomllib.loads((PLAN + METHODS[0]).replace(before, after))
    with pytest.raises(PlanError):
        publisher_of(parse_plan(document).method)
    assert not schema.is_valid(document)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_has_all_that_the_corridor_asks(method: str) -> None:
    """Each member of the protocol of publishers is there, so that no call ends in a fault."""
    asked = [name for name in vars(Publisher) if not name.startswith("_")]
    made = publisher_of(parse_plan(tomllib.loads(f"[method]\n{method}")).method)
    assert [name for name in asked if not hasattr(made, name)] == []
