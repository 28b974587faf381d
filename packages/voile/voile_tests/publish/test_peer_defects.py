"""What other packages were seen to get wrong, for every method that publishes a table.

Rows were left out and their numbers published as a column ``index``; rows with missing values were
dropped by a grouping without a word; a measure took labels of an index for places; columns beside
quasi-identifiers were lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from voile.models.k_anonymity import GroupExposure
from voile.publish.clustered_laplace import ClusteredLaplace
from voile.publish.dp_generalization import DPGeneralization
from voile.publish.generalization import Generalization
from voile.publish.ke_anonymity import KEAnonymity
from voile.publish.publisher import Publisher
from voile.release.release import Publication
from voile.schema.plan import Plan, parse_plan
from voile.table.opening import open_frame
from voile_base.errors import TableError
from voile_base.randomness import Randomness

ROWS = 60
AGES = np.arange(ROWS) % 19 + 20
PEOPLE = pd.DataFrame(
    {
        "name": [f"person {i}" for i in range(ROWS)],
        "age": AGES,
        "city": [("Lyon", "Nice", "Oslo")[i % 3] for i in range(ROWS)],
        "weight": AGES * 1000 + np.arange(ROWS) % 5,
        "note": [("kept", "too")[i % 2] for i in range(ROWS)],
    },
    index=np.random.default_rng(7).permutation(ROWS) + 1000,
)
COLUMNS = {
    "age": {"bounds": [0, 100], "intervals": {"widths": [5, 10, 50]}},
    "city": {"tree": {"France": ["Lyon", "Nice"], "Norway": ["Oslo"]}},
    "weight": {"bounds": [0, 100_000], "intervals": {"widths": [10_000]}},
}


@dataclass(frozen=True)
class Method:
    """A publisher, and the roles that it needs."""

    publisher: Publisher
    roles: Mapping[str, list[str]]

    def plan(self, **changes: Any) -> Plan:
        """The plan; people's names are identifiers, the notes are kept."""
        roles = {"identifiers": ["name"], "keep": ["note"], **self.roles}
        return parse_plan({"roles": roles, "columns": COLUMNS, **changes})

    def publish(self, frame: Any = PEOPLE, **changes: Any) -> Publication:
        """One publication of a frame."""
        table = open_frame(frame, self.plan(**changes))
        return self.publisher.prepare(table, Randomness.seeded(1), None)


KNOWN = {"quasi_identifiers": ["age", "city"]}
NUMBERS = {"quasi_identifiers": ["age", "weight"]}
METHODS = {
    **{
        algorithm: Method(
            Generalization(k=3, algorithm=algorithm, suppression_limit=limit),  # type: ignore[arg-type]
            KNOWN | {"sensitive": ["weight"]},
        )
        for algorithm, limit in (
            ("flash", 0.2),
            ("ola", 0.2),
            ("datafly", 0.2),
            ("k-optimize", 0.2),
            ("mondrian", 0),
        )
    },
    "dp-generalization": Method(DPGeneralization(k=3, epsilon=5), KNOWN),
    "dp-generalization, sampled": Method(DPGeneralization(k=3, epsilon=5, choice="sampled"), KNOWN),
    "clustered-laplace": Method(ClusteredLaplace(epsilon=1), NUMBERS | {"keep": ["note", "city"]}),
    "clustered-laplace, data": Method(ClusteredLaplace(epsilon=1, bounds="data"), NUMBERS),
    "ke-anonymity": Method(KEAnonymity(k=2, e=1), KNOWN | {"sensitive": ["weight"]}),
}
DEAR = {"k-optimize", "clustered-laplace, data"}
ALL_METHODS = pytest.mark.parametrize(
    "method",
    [
        pytest.param(method, id=name, marks=pytest.mark.slow if name in DEAR else ())
        for name, method in METHODS.items()
    ],
)


def stem(column: str) -> str:
    """The column of the table that a published column shows."""
    return column.removesuffix(".low").removesuffix(".high")


@ALL_METHODS
def test_no_row_numbers(method: Method, tmp_path: Path) -> None:
    """No index of the input, and no column that the plan does not name, reaches rows or file."""
    publication = method.publish()
    shown = publication.release.to_native()
    assert isinstance(shown, pd.DataFrame)
    assert shown.index.equals(pd.RangeIndex(len(shown)))
    written = pl.read_parquet(publication.release.write(tmp_path / "out") / "data.parquet")
    assert list(shown.columns) == written.columns
    published = {*method.plan().roles.published, "group"}
    assert {stem(column) for column in written.columns} <= published


@ALL_METHODS
def test_missing_values_are_refused_unless_the_plan_says_what_becomes_of_them(
    method: Method,
) -> None:
    """Without a policy a missing value is an error that names the column."""
    with pytest.raises(TableError, match="note"):
        method.publish(with_missing())


@ALL_METHODS
def test_missing_values_are_never_dropped_silently(method: Method) -> None:
    """Every row is published or counted as left out; dropped rows are counted, too."""
    for policy in ("category", "drop"):
        private = method.publish(with_missing(), nulls=policy).private
        assert private.rows_in == ROWS
        assert private.rows_out + private.suppressed == ROWS
    kept = method.publish(with_missing(), nulls="category")
    missing = kept.release.to_native()["note"].isna().sum()
    assert 0 < missing <= ROWS // 3
    assert kept.private.suppressed or missing == ROWS // 3


@ALL_METHODS
def test_the_order_of_rows_and_their_index_change_nothing(method: Method) -> None:
    """Rows in any order, under any index, make the same release and so the same measures."""
    first = method.publish()
    reordered = PEOPLE.iloc[::-1]
    for frame in (reordered, PEOPLE.reset_index(drop=True), PEOPLE.set_index("city", drop=False)):
        other = method.publish(frame)
        assert other.release.to_native().equals(first.release.to_native())
        assert other.private == first.private


@pytest.mark.parametrize("index", [range(ROWS), range(5000, 5000 + ROWS), [0] * ROWS])
def test_an_index_changes_no_measure(index: Any) -> None:
    """Group sizes are those of the rows, whatever the labels of the rows are."""
    frame = PEOPLE.set_index(pd.Index(index))
    plan = parse_plan({"roles": {"quasi_identifiers": ["age", "city"]}})
    sizes = open_frame(frame, plan).count_combinations(["age", "city"]).rows
    expected = Counter(zip(PEOPLE["age"], PEOPLE["city"], strict=True))
    assert GroupExposure.of(sizes).smallest == min(expected.values())
    assert sorted(sizes) == sorted(expected.values())


@ALL_METHODS
def test_every_column_of_the_plan_survives(method: Method) -> None:
    """Each published role's columns are there, kept ones with the very values of their rows."""
    publication = method.publish()
    shown = publication.release.to_native()
    assert {stem(column) for column in shown.columns} >= set(method.plan().roles.published)
    notes, original = Counter(shown["note"]), Counter(PEOPLE["note"])
    assert sum(notes.values()) == publication.private.rows_out > 0
    assert all(notes[note] <= original[note] for note in notes)
    if publication.private.suppressed == 0:
        assert notes == original


def with_missing() -> pd.DataFrame:
    """The table without a third of its notes."""
    note = PEOPLE["note"].where(np.arange(ROWS) % 3 != 0, None)
    return PEOPLE.assign(note=note)
