"""At most m rows of a person take part, and whose else they are does not matter."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voile.schema.plan import Plan
from voile.schema.roles import Roles
from voile.table.engines.polars import PolarsEngine
from voile.table.opening import open_frame
from voile.table.protocol import Engine
from voile_base.randomness import Randomness
from voile_testing.statistics import FALSE_ALARM, p_value
from voile_tests.others.plain_others.engine import PlainEngine

Row = tuple[str, int, str]
PLAN = Plan(Roles(quasi_identifiers=("age",), sensitive=("illness",), person="patient"))
ROWS = st.lists(
    st.tuples(st.sampled_from("ABCD"), st.integers(0, 2), st.sampled_from("xy")),
    min_size=1,
    max_size=16,
)
engines = pytest.mark.parametrize("engine", [PolarsEngine(), PlainEngine()])


def taking_part(
    rows: list[Row], most: int, engine: Engine | None = None, seed: int = 7
) -> Counter[Row]:
    """The rows that take part, drawn with a seed."""
    frame = pl.DataFrame(rows, schema=["patient", "age", "illness"], orient="row")
    table = open_frame(frame, PLAN, engine=engine or PolarsEngine())
    bounded = table.bounded(most, Randomness.seeded(seed))
    assert bounded.rows == len(rows) - table.rows_beyond(most)
    return Counter(pl.DataFrame(bounded._rows.to_arrow()).select(frame.columns).rows())


@engines
@given(rows=ROWS, most=st.integers(1, 4))
def test_of_each_person_so_many_rows_take_part(engine: Engine, rows: list[Row], most: int) -> None:
    """All of who has no more, and m rows of everybody else, each of them one of the person's."""
    drawn, there = taking_part(rows, most, engine), Counter(rows)
    assert not drawn - there
    for patient, number in Counter(row[0] for row in rows).items():
        of_patient = sum(count for row, count in drawn.items() if row[0] == patient)
        assert of_patient == min(number, most)


@pytest.mark.slow
@engines
@given(rows=ROWS, person=ROWS, most=st.integers(1, 3))
def test_a_person_changes_no_row_of_another(
    engine: Engine, rows: list[Row], person: list[Row], most: int
) -> None:
    """With one more person, whatever its rows, the same rows of everybody else take part."""
    more = [("new", age, illness) for _, age, illness in person]
    drawn = taking_part([*more, *rows], most, engine)
    others = {row: count for row, count in drawn.items() if row[0] != "new"}
    assert others == taking_part(rows, most, engine)


@pytest.mark.slow
@given(rows=ROWS, most=st.integers(1, 3), data=st.data())
def test_the_draw_depends_on_key_and_row_alone(
    rows: list[Row], most: int, data: st.DataObject
) -> None:
    """Another order of rows and another engine draw the same."""
    turned = data.draw(st.permutations(rows))
    assert taking_part(rows, most) == taking_part(turned, most, PlainEngine())


def test_each_choice_of_rows_is_as_likely() -> None:
    """Of 6,000 persons with four rows, two of them alike, each pair takes part equally often.

    Chi-square, false alarm 1e-6; always the first two, or a law 30 % off, is rejected.
    """
    values = [(1, "x"), (1, "x"), (1, "y"), (2, "x")]
    rows = [(f"p{person}", *value) for person in range(6_000) for value in values]
    pairs: dict[str, list[tuple[int, str]]] = {}
    for (patient, *value), count in taking_part(rows, 2).items():
        pairs.setdefault(patient, []).extend([(value[0], value[1])] * count)
    found = Counter(tuple(sorted(pair)) for pair in pairs.values())
    law = Counter(tuple(sorted(pair)) for pair in combinations(values, 2))
    counts = [found[pair] for pair in law]
    assert sum(counts) == 6_000
    assert p_value(counts, [share / 6 for share in law.values()]) > FALSE_ALARM
    off = [1.3 * law[pair] if pair == ((1, "x"), (1, "x")) else law[pair] for pair in law]
    assert p_value(counts, [share / sum(off) for share in off]) < FALSE_ALARM
