"""The (k,e)-anonymity publisher, from private tables to releases and series."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from voile.publish.ke_anonymity import KEAnonymity
from voile.publish.registry import publisher_for
from voile.release.check import GuaranteeBrokenError, check_release
from voile.release.history import History
from voile.release.release import Publication, Release
from voile.schema.plan import Method, Plan
from voile.schema.roles import Roles
from voile.table.opening import open_frame
from voile_base.errors import InfeasibleError, PlanError, RefusedError
from voile_base.randomness import Randomness
from voile_tests.releases import described, promised

PLAN = Plan(Roles(quasi_identifiers=("person",), sensitive=("salary",)))
SEARCHES = [
    ("union", "full-cover"),
    ("union", "sealed-batches"),
    ("union", "narrow-batches"),
    ("pairwise", "full-cover"),
    ("pairwise", "exact"),
]


def publish(
    frame: Any, publisher: KEAnonymity, history: History | None = None, seed: int = 1
) -> Publication:
    """One release of a frame."""
    table = open_frame(frame, PLAN, record_key=publisher.record_key)
    return publisher.prepare(table, Randomness.seeded(seed), history)


def frame_of(salaries: list[Any], start: int = 0) -> pl.DataFrame:
    """Persons numbered from ``start`` with their salaries."""
    return pl.DataFrame({"person": range(start, start + len(salaries)), "salary": salaries})


def groups_of(release: Release) -> dict[int, tuple[list[int], list[Any]]]:
    """Persons and sorted salaries of each group."""
    frame = pl.DataFrame(release.to_native())
    return {
        number: (sorted(part["person"].to_list()), sorted(part["salary"].to_list()))
        for (number,), part in frame.group_by("group")
    }


@given(
    salaries=st.lists(st.integers(-20, 20), min_size=4, max_size=30),
    k=st.integers(2, 4),
    e=st.integers(0, 15),
)
def test_a_release_is_what_its_guarantee_says(salaries: list[int], k: int, e: int) -> None:
    """Each group has k distinct salaries and a range of e, of exactly the people who had them."""
    assume(len(set(salaries)) >= k and max(salaries) - min(salaries) >= e)
    publication = publish(frame_of(salaries), KEAnonymity(k, e))
    total = 0
    for people, shown in groups_of(publication.release).values():
        assert len(set(shown)) >= k
        assert shown[-1] - shown[0] >= e
        assert shown == sorted(salaries[person] for person in people)
        total += shown[-1] - shown[0]
    assert Decimal(publication.private.objective) == total
    assert publication.release.method["decision"] == {"blocks": len(groups_of(publication.release))}
    check_release(publication.release)


@pytest.mark.parametrize("k_e", [(9, 0), (2, 100)])
def test_what_would_do_is_said_where_no_release_exists(k_e: tuple[int, int]) -> None:
    """The message gives the largest k and the largest e, exactly."""
    with pytest.raises(InfeasibleError, match=r"largest k .* is 3, and the largest e is 0\.2$"):
        publish(frame_of([0.1, 0.2, 0.3, 0.3]), KEAnonymity(*k_e))
    with pytest.raises(InfeasibleError, match="same value"):
        publish(frame_of([5, 5]), KEAnonymity(2, 0))


def test_a_decimal_range_is_compared_exactly() -> None:
    """0.3 - 0.1 reaches e = 0.2, and not e = 0.2000000001."""
    values = [0.1, 0.3]
    assert publish(frame_of(values), KEAnonymity(2, "0.2")).private.objective == "0.2"
    assert publish(frame_of(values), KEAnonymity(2, 0.2)).private.objective == "0.2"
    with pytest.raises(InfeasibleError):
        publish(frame_of(values), KEAnonymity(2, "0.2000000001"))


@pytest.mark.parametrize(
    "values",
    [
        [Decimal("1.10"), Decimal("2.25"), Decimal("3.00")],
        [2**60, 2**60 + 1, 2**60 + 5],
        [1e300, 2.5, -1e-300],
    ],
)
def test_numbers_of_any_size_are_published_unchanged(values: list[Any]) -> None:
    """Decimals, 64-bit integers and floats far apart come out as they went in."""
    release = publish(frame_of(values), KEAnonymity(2, 0)).release
    assert Counter(release.to_native()["salary"].to_list()) == Counter(values)


@pytest.mark.parametrize("kind", [pl.DataFrame, pd.DataFrame, pa.table])
def test_a_frame_of_any_kind_comes_out_as_the_same_kind(kind: Any) -> None:
    """Polars, pandas and Arrow tables are published as what they are, and stay as they were."""
    frame = kind({"person": ["a", "b", "c"], "salary": [1, 2, 3]})
    release = publish(frame, KEAnonymity(3, 2)).release
    native = release.to_native()
    assert type(native) is type(frame)
    columns = native.column_names if isinstance(native, pa.Table) else list(native.columns)
    assert columns == ["group", "person", "salary"]
    assert len(frame) == 3


def test_a_pandas_index_is_not_data() -> None:
    """A strange index neither enters a release nor changes it."""
    frame = pd.DataFrame({"person": ["a", "b", "c"], "salary": [1, 2, 3]})
    strange = frame.set_axis([7, 7, -1])
    plain = publish(frame, KEAnonymity(2, 0)).release.to_native()
    assert publish(strange, KEAnonymity(2, 0)).release.to_native().equals(plain)


@pytest.mark.parametrize(
    ("parameters", "word"),
    [
        ({"k": 1, "e": 0}, "k must"),
        ({"k": 2.5, "e": 0}, "k must"),
        ({"k": "3", "e": 0}, "k must"),
        ({"k": True, "e": 0}, "k must"),
        ({"k": 2, "e": -1}, "e must"),
        ({"k": 2, "e": "many"}, "e must"),
        ({"k": 2, "e": float("nan")}, "e must"),
        ({"k": 2, "e": float("inf")}, "e must"),
        ({"k": 2, "e": True}, "e must"),
        ({"k": 2, "e": 0, "adversary": "pairwize"}, "'pairwise'"),
        ({"k": 2, "e": 0, "search": "exakt"}, "'exact'"),
        ({"k": 2, "e": 0, "series": ""}, "series"),
        ({"k": 2, "e": 0, "record_key": "id"}, "series"),
        (
            {"k": 2, "e": 0, "series": "s", "adversary": "pairwise", "search": "sealed-batches"},
            "union",
        ),
    ],
)
def test_parameters_that_cannot_be_are_refused(parameters: dict[str, Any], word: str) -> None:
    """Parameters are validated when the publisher is made, and the message says what is right."""
    with pytest.raises(PlanError, match=word):
        KEAnonymity(**parameters)


@pytest.mark.parametrize(
    ("method", "word"),
    [
        (None, r"\[method\]"),
        (Method("ke-anonimity", {"k": 2, "e": 0}), "'ke-anonymity'"),
        (Method("ke-anonymity", {"k": 2, "e": 0, "serie": "s"}), "'series'"),
        (Method("ke-anonymity", {"e": 0}), "needs 'k'"),
        (Method("ke-anonymity", {"k": 1, "e": 0}), r"\[method\] k must"),
    ],
)
def test_a_method_that_cannot_be_is_refused(method: Method | None, word: str) -> None:
    """An unknown method or parameter is named with the nearest known one."""
    with pytest.raises(PlanError, match=word):
        publisher_for(Plan(Roles(), method=method))


@pytest.mark.parametrize("sensitive", [(), ("salary", "person")])
def test_exactly_one_sensitive_column_is_protected(sensitive: tuple[str, ...]) -> None:
    """A plan with none or with two sensitive columns is refused."""
    kept = () if sensitive else ("person",)
    plan = Plan(Roles(sensitive=sensitive, keep=kept, keep_unique=kept))
    with pytest.raises(PlanError, match="exactly one"):
        KEAnonymity(2, 0).publish(open_frame(frame_of([1, 2]), plan))


def test_a_series_needs_a_ledger() -> None:
    """A release of a series cannot be made without remembering it."""
    with pytest.raises(PlanError, match="ledger"):
        KEAnonymity(2, 0, series="s").publish(open_frame(frame_of([1, 2]), PLAN))


def releases_of(
    batches: list[list[int]], publisher: KEAnonymity
) -> Iterator[tuple[Publication, list[int]]]:
    """The publications of a growing table, with all salaries so far; stops where none is safe."""
    history, salaries = None, []
    for batch in batches:
        salaries = salaries + batch
        try:
            publication = publish(frame_of(salaries), publisher, history)
        except InfeasibleError:
            return
        history = publication.history
        yield publication, salaries


def valid(salaries: list[int], k: int, e: int) -> bool:
    """Nobody, or enough company."""
    return not salaries or (len(set(salaries)) >= k and max(salaries) - min(salaries) >= e)


@pytest.mark.parametrize("record_key", [None, "person"])
@pytest.mark.parametrize(("adversary", "search"), SEARCHES)
@given(
    batches=st.lists(st.lists(st.integers(0, 25), min_size=1, max_size=7), min_size=2, max_size=4),
    k=st.integers(2, 3),
    e=st.integers(0, 5),
)
def test_a_series_gives_nobody_away(
    adversary: Any, search: Any, record_key: str | None, batches: list[list[int]], k: int, e: int
) -> None:
    """Measured on the published files: no forbidden set of people is singled out, none is lost."""
    publisher = KEAnonymity(k, e, "s", record_key, adversary, search)
    places: list[dict[int, int]] = []
    for publication, salaries in releases_of(batches, publisher):
        groups = groups_of(publication.release)
        places.append({person: g for g, (people, _) in groups.items() for person in people})
        private = publication.private
        assert len(places[-1]) + private.held + private.suppressed == len(salaries)
        assert all(len(set(shown)) >= k for _, shown in groups.values())
        everybody = range(len(salaries))
        if adversary == "union":
            atoms: dict[tuple[int | None, ...], list[int]] = {}
            for person in everybody:
                trail = tuple(place.get(person) for place in places)
                if any(trail):
                    atoms.setdefault(trail, []).append(salaries[person])
            assert all(valid(atom, k, e) for atom in atoms.values())
        for earlier in places[:-1]:
            for a in set(earlier.values()):
                for b in groups:
                    old = {p for p in everybody if earlier.get(p) == a}
                    new = {p for p in everybody if places[-1].get(p) == b}
                    for part in (old - new, new - old, old & new):
                        assert valid([salaries[p] for p in part], k, e)


def test_rows_are_held_until_company_arrives() -> None:
    """The union example of the notes: 6 must wait, and is published when others have come."""
    publisher = KEAnonymity(3, 2, "s", search="full-cover", batch="until-valid")
    steps = list(releases_of([[1, 2, 3, 10, 11, 12], [6], [5, 4]], publisher))
    held = [publication.private.held for publication, _ in steps]
    rows = [publication.release.rows for publication, _ in steps]
    assert (held, rows) == ([0, 1, 0], [6, 6, 9])
    assert "1 row is held back" in steps[1][0].private.notices[0]
    assert "held" not in str(steps[1][0].release.guarantee.parameters)


def test_the_pairwise_rule_publishes_what_the_union_rule_holds() -> None:
    """Against the seed's adversary one block of seven is safe; this shows the difference."""
    steps = list(
        releases_of([[1, 2, 3, 10, 11, 12], [6]], KEAnonymity(3, 2, "s", adversary="pairwise"))
    )
    assert [publication.private.decision["blocks"] for publication, _ in steps] == [2, 1]


def test_sealed_batches_never_widen() -> None:
    """Old blocks stay as they are; the new batch has blocks of its own, also overlapping ones."""
    steps = list(
        releases_of(
            [[0, 10, 50, 60], [5, 55]], KEAnonymity(2, 5, "s", search="sealed-batches", batch=2)
        )
    )
    shown = [sorted(s for _, s in groups_of(p.release).values()) for p, _ in steps]
    assert shown == [[[0, 10], [50, 60]], [[0, 10], [5, 55], [50, 60]]]


def test_no_safe_pairwise_release_is_said() -> None:
    """The notes' example without a solution is infeasible, and the message says what helps."""
    publisher = KEAnonymity(3, 2, "s", adversary="pairwise")
    first = publish(frame_of([1, 2, 3]), publisher)
    with pytest.raises(InfeasibleError, match="holds such rows back"):
        publish(frame_of([1, 2, 3, 2]), publisher, first.history)


@pytest.mark.parametrize("record_key", [None, "person"])
@pytest.mark.parametrize("salaries", [[1, 2, 3], [1, 2, 3, 5], [1.0, 2.0, 3.0, 4.5, 6.0]])
def test_rows_that_vanished_or_changed_are_refused(
    salaries: list[Any], record_key: str | None
) -> None:
    """A table that no longer holds what was published is refused with the number of rows."""
    publisher = KEAnonymity(2, 0, "s", record_key)
    first = publish(frame_of([1, 2, 3, 4]), publisher)
    with pytest.raises(RefusedError, match=r"1 published rows are missing|1 have changed"):
        publish(frame_of(salaries), publisher, first.history)


@pytest.mark.parametrize(
    ("other", "word"),
    [
        (KEAnonymity(3, 0, "s"), "k: 2 before, 3 now"),
        (KEAnonymity(2, 1, "s"), "e: 0 before, 1 now"),
        (KEAnonymity(2, 0, "s", adversary="pairwise"), "adversary"),
        (KEAnonymity(2, 0, "s", search="sealed-batches"), "search"),
        (KEAnonymity(2, 0, "s", record_key="person"), "record key"),
    ],
)
def test_other_terms_in_one_series_are_refused(other: KEAnonymity, word: str) -> None:
    """A series keeps its k, e, adversary, search and record key; the message names the change."""
    first = publish(frame_of([1, 2, 3, 4]), KEAnonymity(2, 0, "s"))
    with pytest.raises(RefusedError, match=word):
        publish(frame_of([1, 2, 3, 4, 5]), other, first.history)


def test_another_schema_in_one_series_is_refused() -> None:
    """A column that becomes text is a change of terms; integers that become decimal are not."""
    first = publish(frame_of([1, 2, 3, 4]), KEAnonymity(2, 0, "s"))
    decimals = frame_of([1.0, 2.0, 3.0, 4.0, 5.5, 6.5])
    publish(decimals, KEAnonymity(2, 0, "s"), first.history)
    texts = frame_of([1, 2, 3, 4, 5]).with_columns(pl.col("person").cast(pl.String))
    with pytest.raises(RefusedError, match="person: number before, text now"):
        publish(texts, KEAnonymity(2, 0, "s"), first.history)


def test_publishing_again_changes_no_block() -> None:
    """Without new rows, the next release has the same people in the same blocks."""
    publisher = KEAnonymity(2, 0, "s")
    first = publish(frame_of([1, 2, 30, 31]), publisher)
    again = publish(frame_of([1, 2, 30, 31]), publisher, first.history, seed=2)
    assert groups_of(again.release) == groups_of(first.release)


def test_the_check_finds_a_release_that_breaks_its_claim() -> None:
    """The check measures the rows and does not believe the publisher."""
    release = publish(frame_of([1, 2, 30, 31]), KEAnonymity(2, 1)).release
    check_release(release)
    claimed = {"k": 3, "e": 1}
    lying = described(
        release.table,
        release.method,
        promised("ke-anonymity", claimed),
        release.roles,
        release.release_id,
        publishable=True,
    )
    with pytest.raises(GuaranteeBrokenError):
        check_release(lying)
