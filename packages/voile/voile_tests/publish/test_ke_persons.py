"""(k, e)-anonymity of persons with several rows: blocks, their best cuts, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import voile.publish.ke_anonymity as publisher_module
from voile.attack.minimality import MinimalityAttack
from voile.publish.ke_anonymity import KEAnonymity
from voile.publish.ke_anonymity.decision import Decision
from voile.release.check import GuaranteeBrokenError, check_release, check_values_of_units
from voile.release.release import Release
from voile.schema.plan import Plan, parse_plan
from voile.schema.roles import Roles
from voile.study.run import make_release
from voile.table.decisions import Grouping, PermutedColumn, Treatment
from voile.table.opening import open_frame
from voile.table.summaries import ValueCounts
from voile_base.errors import InfeasibleError, PlanError
from voile_base.randomness import Randomness
from voile_tests.models.small_persons import Row, all_tables, different, many_tables

ROLES = Roles(quasi_identifiers=("quasi",), sensitive=("pay",), person="patient")
NUMBERS = [dict(zip("xyz", each, strict=True)) for each in permutations((1, 2, 5))]
"""Small tables are those of names; numbers are not alike, so each table stands for six."""


def valid(rows: Sequence[tuple[str, int]], k: int, e: int) -> bool:
    """The definition: k values of as many persons, and two persons whose values lie e apart."""
    triples = [(who, "", str(pay)) for who, pay in rows]
    apart = any(a[0] != b[0] and abs(a[1] - b[1]) >= e for a in rows for b in rows)
    return different(triples) >= k and apart


def spread(blocks: Sequence[Sequence[tuple[str, int]]]) -> int:
    """The sum of ranges."""
    return sum(max(pay for _, pay in b) - min(pay for _, pay in b) for b in blocks)


def partitions(rows: Sequence[Any]) -> Iterator[list[list[Any]]]:
    """Every way to divide rows into blocks."""
    if not rows:
        yield []
        return
    for rest in partitions(rows[1:]):
        yield [[rows[0]], *rest]
        for place, block in enumerate(rest):
            yield [*rest[:place], [rows[0], *block], *rest[place + 1 :]]


def cuts(rows: Sequence[tuple[str, int]]) -> Iterator[list[list[tuple[str, int]]]]:
    """Every way to divide rows into blocks of neighbouring values."""
    values = sorted({pay for _, pay in rows})
    for chosen in range(1 << (len(values) - 1)):
        block = {v: bin(chosen & ((1 << i) - 1)).count("1") for i, v in enumerate(values)}
        yield [
            [row for row in rows if block[row[1]] == number]
            for number in range(bin(chosen).count("1") + 1)
        ]


def assert_optimal(table: Sequence[Row], numbers: dict[str, int], k: int, e: int, ways: Any) -> int:
    """Published at the smallest sum of ranges of any of these ways; refused where there is none."""
    rows = [(who, numbers[value]) for who, _, value in table]
    best = min((spread(w) for w in ways(rows) if all(valid(b, k, e) for b in w)), default=None)
    frame = pl.DataFrame(
        [(who, quasi, numbers[value]) for who, quasi, value in table],
        schema=["patient", "quasi", "pay"],
        orient="row",
    )
    private = open_frame(frame, Plan(ROLES))
    publisher = KEAnonymity(k=k, e=e)
    if best is None:
        with pytest.raises(InfeasibleError):
            publisher.prepare(private, Randomness.seeded(1))
        return 0
    made = publisher.prepare(private, Randomness.seeded(1))
    check_release(made.release)
    assert made.release.table.columns == ("group", "quasi", "pay")
    assert made.private.objective == str(best)
    shown = made.release.to_native()
    group = dict(shown.select("pay", "group").iter_rows())
    for number in set(group.values()):
        assert valid([row for row in rows if group[row[1]] == number], k, e)
    return 1


TERMS = ((2, 0), (2, 3), (3, 0))


@pytest.mark.slow
def test_small_tables_against_all_partitions() -> None:
    """A sample of them: no partition of the rows into valid blocks is better, ranges or not."""
    published = 0
    for number, table in enumerate(all_tables(5)[11::12]):
        k, e = TERMS[number % len(TERMS)]
        published += assert_optimal(table, NUMBERS[number % len(NUMBERS)], k, e, partitions)
    assert published > 5


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_all_small_tables(part: int) -> None:
    """Tables of up to seven rows up to renaming, each with two of the numberings."""
    for number, table in enumerate(many_tables(20)[part::4], part):
        k, e = TERMS[number % len(TERMS)]
        for numbers in (NUMBERS[number % 6], NUMBERS[(number + 4) % 6]):
            assert_optimal(table, numbers, k, e, cuts)


PAYS = st.lists(st.tuples(st.sampled_from("abcdefgh"), st.integers(0, 12)), min_size=2, max_size=24)


def opened(rows: Sequence[tuple[str, int]], roles: Roles = ROLES) -> Any:
    """A private table of who earned what, with a number for each row that others know."""
    frame = pl.DataFrame(
        {"patient": [w for w, _ in rows], "pay": [p for _, p in rows], "quasi": range(len(rows))}
    )
    return open_frame(frame, Plan(roles))


@pytest.mark.slow
@given(rows=PAYS, k=st.integers(2, 4), e=st.integers(0, 6))
@settings(max_examples=60)
def test_blocks_are_the_best_cuts_and_repeating_rows_changes_none(
    rows: list[tuple[str, int]], k: int, e: int
) -> None:
    """Sliding matchings find what trying all cuts finds; twice the rows give the same blocks."""
    rows = [(who, min(pay, 7)) for who, pay in rows]
    wanted = min((spread(w) for w in cuts(rows) if all(valid(b, k, e) for b in w)), default=None)
    publisher = KEAnonymity(k=k, e=e)
    if wanted is None:
        for table in (rows, rows * 2):
            with pytest.raises(InfeasibleError):
                publisher.prepare(opened(table), Randomness.seeded(1))
        return
    once, twice = (publisher.prepare(opened(t), Randomness.seeded(1)) for t in (rows, rows * 2))
    assert once.private.objective == twice.private.objective == str(wanted)
    groups = [dict(m.release.to_native().select("pay", "group").iter_rows()) for m in (once, twice)]
    assert groups[0] == groups[1]


@pytest.mark.slow
@given(rows=PAYS, k=st.integers(2, 4), e=st.integers(0, 6))
@settings(max_examples=40)
def test_persons_of_one_row_each_are_rows(rows: list[tuple[str, int]], k: int, e: int) -> None:
    """Where nobody has a second row, naming persons changes no published byte of data."""
    rows = [(str(number), pay) for number, (_, pay) in enumerate(rows)]
    publisher = KEAnonymity(k=k, e=e)
    of_rows = Roles(quasi_identifiers=("quasi",), sensitive=("pay",))
    try:
        plain = publisher.prepare(opened(rows, of_rows), Randomness.seeded(1))
    except InfeasibleError:
        with pytest.raises(InfeasibleError):
            publisher.prepare(opened(rows), Randomness.seeded(1))
        return
    named = publisher.prepare(opened(rows), Randomness.seeded(1))
    assert named.release.to_native().equals(plain.release.to_native())
    assert named.release.method == plain.release.method
    assert named.private == plain.private


def test_one_persons_values_make_no_block() -> None:
    """Five values of one earner and two of others: neither k values, nor the range, are hers."""
    rows = [("A", 1), ("A", 2), ("A", 3), ("A", 4), ("A", 100), ("B", 2), ("C", 3)]
    with pytest.raises(
        InfeasibleError,
        match=r"at most 3 different values are those of as many different persons, .* 98 apart",
    ):
        KEAnonymity(k=4, e=0).publish(opened(rows), Randomness.seeded(1))
    with pytest.raises(InfeasibleError, match="98 apart"):
        KEAnonymity(k=2, e=99).publish(opened(rows), Randomness.seeded(1))
    release = KEAnonymity(k=3, e=98).publish(opened(rows), Randomness.seeded(1))
    said = release.guarantee.document()
    assert said["unit"] == "person"
    assert (
        "at least 3 different values of 'pay' are those of as many different persons"
        in (said["statement"])
    )
    assert any("knows the quasi-identifiers of one of its rows" in each for each in said["assumes"])
    assert any("depends on whose values they are" in each for each in said["assumes"])
    assert "depends on whose they are" in (MinimalityAttack().refusal(release) or "")
    with pytest.raises(InfeasibleError, match="no two persons have different values"):
        KEAnonymity(k=2, e=0).publish(opened([("A", 1), ("A", 2)]), Randomness.seeded(1))


def test_households_are_counted_where_they_are_named() -> None:
    """Two earners of one family have no values of their own."""
    roles = Roles(sensitive=("pay",), person="who", household="home")
    frame = pl.DataFrame({"who": list("ABCC"), "home": list("ffgg"), "pay": [1, 2, 1, 3]})
    release = KEAnonymity(k=2, e=2).publish(open_frame(frame, Plan(roles)), Randomness.seeded(1))
    assert release.guarantee.document()["unit"] == "household"
    with pytest.raises(InfeasibleError, match=r"at most 2 .* different households"):
        KEAnonymity(k=3, e=0).publish(open_frame(frame, Plan(roles)), Randomness.seeded(1))


@pytest.mark.parametrize(
    ("k", "rows"),
    [
        (2, [("A", 1), ("A", 2), ("B", 8), ("C", 9)]),
        (3, [("A", 1), ("A", 2), ("B", 3), ("D", 7), ("E", 8), ("F", 9)]),
    ],
)
def test_the_check_counts_whose_values_stand_in_the_published_groups(
    k: int, rows: list[tuple[str, int]]
) -> None:
    """A block of the values of k - 1 earners is caught, though its rows show k values."""
    table = opened(rows)
    sound = KEAnonymity(k=k, e=1).publish(table, Randomness.seeded(1))
    counts = table.count_values("pay")
    assert counts.of is not None
    blocks = Grouping(counts.of, counts.value // k)
    shown, _ = table.apply_counted(
        Treatment((PermutedColumn("pay"),), blocks), Randomness.seeded(1)
    )
    forged = Release(
        table=shown,
        method=sound.method,
        disclosure=sound.disclosure,
        guarantee=sound.guarantee,
        roles={"quasi_identifiers": ("quasi",), "sensitive": ("pay",)},
        release_id="0",
        publishable=False,
    )
    check_release(forged)  # rows alone do not show it
    units = table.units_of(counts.of)
    assert units is not None
    with pytest.raises(GuaranteeBrokenError, match=r"1 groups .* counted by whose values"):
        check_values_of_units(forged, "pay", counts, units)


def test_no_release_of_persons_leaves_unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A decision that makes a block of one earner's values is caught before it is published."""

    def forged(counts: ValueCounts, *of: Any) -> Decision:
        ranges = np.array([[0, 2], [2, 4]])
        return Decision(counts.values, ranges, np.zeros(2, dtype=np.int64))

    monkeypatch.setattr(publisher_module, "decide_of_persons", forged)
    table = opened([("A", 1), ("A", 2), ("B", 8), ("C", 9)])
    with pytest.raises(GuaranteeBrokenError, match="counted by whose values"):
        KEAnonymity(k=2, e=1).publish(table, Randomness.seeded(1))


def test_a_series_of_persons_with_several_rows_is_refused(tmp_path: Path) -> None:
    """Later rows of a person are bounded by no rule; where each has one row, a series goes on."""
    plan = parse_plan(
        {
            "roles": {"person": "who", "quasi_identifiers": ["age"], "sensitive": ["pay"]},
            "method": {"name": "ke-anonymity", "k": 2, "e": 1, "series": "pays"},
        }
    )
    frame = pl.DataFrame({"who": list("ABCD"), "age": [1, 2, 3, 4], "pay": [1, 2, 3, 4]})
    ledger = tmp_path / "ledger.json"
    make_release(frame, plan, tmp_path / "one", ledger=ledger)
    more = pl.concat([frame, frame.with_columns(pay=pl.col("pay") + 9)])
    with pytest.raises(PlanError, match=r"\[method\] series: 8 rows are of 4 persons"):
        make_release(more, plan, tmp_path / "two", ledger=ledger)
    assert not (tmp_path / "two").exists()
