"""The searches of the 2015 paper as it prints them: reachable, marked unsafe, and shown to leak."""

from __future__ import annotations

from itertools import pairwise as neighbours

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voile.models.ke_anonymity import pairwise_breaches
from voile.publish.ke_anonymity import KEAnonymity, decision
from voile.publish.ke_anonymity.decision import AS_PRINTED, printed_blocks
from voile.publish.registry import publisher_of
from voile.release.check import check_release
from voile.release.history import History
from voile.release.release import Publication
from voile.schema.plan import Method, Plan
from voile.schema.roles import Roles
from voile.table.opening import open_frame
from voile_base.errors import PlanError
from voile_base.randomness import UNFIT, Randomness

PLAN = Plan(Roles(quasi_identifiers=("person",), sensitive=("salary",)))


def publish(salaries: list[int], method: KEAnonymity, history: History | None) -> Publication:
    """The next release of a series."""
    frame = pl.DataFrame({"person": range(len(salaries)), "salary": salaries})
    return method.prepare(open_frame(frame, PLAN), Randomness.secure(), history)


def groups_of(publication: Publication) -> list[list[int]]:
    """The salaries of each group, in ascending order."""
    frame = pl.DataFrame(publication.release.to_native())
    return sorted(sorted(part["salary"].to_list()) for _, part in frame.group_by("group"))


def series(search: str, k: int, e: int, *tables: list[int]) -> list[Publication]:
    """The releases of a series that grows from table to table."""
    method = KEAnonymity(k, e, series="s", adversary="pairwise", search=search)  # type: ignore[arg-type]
    releases: list[Publication] = []
    for salaries in tables:
        history = releases[-1].history if releases else None
        releases.append(publish(salaries, method, history))
    return releases


def refused_by_lemma_1(low: int, high: int, old: tuple[int, int]) -> bool:
    """Lemma 1's three cases of Fig. 4, with the inequalities that are printed."""
    over_the_top = low < old[0] < high < old[1]
    over_the_bottom = old[0] < low < old[1] < high
    shrunk = old[0] < low and high < old[1]
    return over_the_top or over_the_bottom or shrunk


def brute(
    values: list[int], fresh: list[bool], old: list[tuple[int, int]], k: int, e: int, search: str
) -> int | None:
    """The smallest sum of ranges among all cuts of the values, tested block by block."""
    best: int | None = None
    for cuts in range(1 << max(len(values) - 1, 0)):
        ends = [0, *(i + 1 for i in range(len(values) - 1) if cuts >> i & 1), len(values)]
        blocks = list(neighbours(ends))
        if all(admitted(values, fresh, old, k, e, search, block) for block in blocks):
            total = sum(values[j - 1] - values[i] for i, j in blocks)
            best = total if best is None else min(best, total)
    return best


def admitted(
    values: list[int],
    fresh: list[bool],
    old: list[tuple[int, int]],
    k: int,
    e: int,
    search: str,
    block: tuple[int, int],
) -> bool:
    """Whether one block passes the tests of a search; rows are pairs of a value and an age."""
    i, j = block
    if not valid({(v, 0) for v in values[i:j]}, k, e):
        return False
    if any(refused_by_lemma_1(values[i], values[j - 1], a) for a in old):
        return False
    if search == "lemma-1":
        return True
    inside = set(values[i:j])
    b = {(v, "old") for v in inside if any(lo <= v <= hi for lo, hi in old)}
    b |= {(v, "new") for v, new in zip(values, fresh, strict=True) if new and v in inside}
    for low, high in old:
        a = {(v, "old") for v in values if low <= v <= high}
        if a & b and not all(valid(part, k, e) for part in (a & b, a - b, b - a) if part):
            return False
    return True


def valid(rows: set[tuple[int, object]], k: int, e: int) -> bool:
    """Whether rows have k values that span e."""
    shown = {value for value, _ in rows}
    return len(shown) >= k and max(shown) - min(shown) >= e


@st.composite
def worlds(draw: st.DrawFn) -> tuple[list[int], list[bool], list[tuple[int, int]], int, int]:
    """Values, which of them have fresh rows, old blocks by least and greatest value, k and e."""
    values = sorted(draw(st.sets(st.integers(0, 30), min_size=4, max_size=9)))
    k, e = draw(st.integers(2, 3)), draw(st.integers(0, 9))
    ends = sorted(draw(st.sets(st.integers(0, len(values)), min_size=0, max_size=4)))
    old = [
        (values[i], values[j - 1])
        for i, j in neighbours(ends)
        if j - i >= k and values[j - 1] - values[i] >= e and draw(st.booleans())
    ]
    covered = [any(lo <= v <= hi for lo, hi in old) for v in values]
    fresh = [not inside or draw(st.booleans()) for inside in covered]
    return values, fresh, old, k, e


@given(world=worlds(), search=st.sampled_from(AS_PRINTED))
def test_blocks_are_the_cheapest_that_the_printed_tests_let_through(
    world: tuple[list[int], list[bool], list[tuple[int, int]], int, int], search: str
) -> None:
    """The sum of ranges is that of a search over all cuts of small tables."""
    values, fresh, old, k, e = world
    ranges = [(values.index(lo), values.index(hi) + 1) for lo, hi in old]
    published = [any(lo <= v <= hi for lo, hi in old) for v in values]
    blocks = printed_blocks(
        np.array(values),
        np.array([published, fresh]),
        np.array(ranges, np.int64).reshape(-1, 2),
        (k, e),
        search,
    )
    cost = None if blocks is None else sum(values[j - 1] - values[i] for i, j in blocks)
    assert cost == brute(values, fresh, old, k, e, search)


def test_lemma_1_as_printed_publishes_what_singles_out_two_people() -> None:
    """The counterexample of the statement: 7 and 13 stand alone when the releases are compared."""
    first, second = series("lemma-1", 2, 4, [7, 13], [7, 13, 1, 19])
    assert groups_of(first) == [[7, 13]]
    assert groups_of(second) == [[1, 7], [13, 19]]
    blocks = np.array([[-1, 0, 0, -1], [0, 0, 1, 1]])
    leak = pairwise_breaches(np.array([1, 7, 13, 19]), blocks, 2, 4)
    assert {breach.kind for breach in leak if breach.distinct == 1} == {"a&b", "a-b", "b-a"}


def test_figure_13_as_printed_singles_out_two_people_against_the_first_release() -> None:
    """The counterexample of the statement: it looks at the latest release alone."""
    releases = series("figure-13", 2, 2, [6, 9], [6, 9, 3, 12], [6, 9, 3, 12, 6, 8])
    assert [groups_of(release) for release in releases] == [
        [[6, 9]],
        [[3, 6, 9, 12]],
        [[3, 6, 6, 8], [9, 12]],
    ]


@pytest.mark.parametrize("search", AS_PRINTED)
def test_what_the_printed_searches_publish_is_marked_as_unfit(search: str) -> None:
    """The release promises (k,e) of itself alone, says why no more, and may not be published."""
    release = series(search, 2, 4, [7, 13], [7, 13, 1, 19])[1].release
    assert not release.publishable
    assert "nothing is promised" in release.guarantee.statement
    assert release.guarantee.claims[0].adversary is None  # type: ignore[attr-defined]
    assert "paper's version" in UNFIT
    check_release(release)


@pytest.mark.parametrize("others", [{}, {"series": "s"}, {"adversary": "pairwise"}])
@pytest.mark.parametrize("search", AS_PRINTED)
def test_printed_searches_are_of_series_compared_in_pairs(
    others: dict[str, str], search: str
) -> None:
    """Elsewhere they are refused, and the message says what goes with them."""
    with pytest.raises(PlanError, match='name a series and adversary = "pairwise" too'):
        publisher_of(Method("ke-anonymity", {"k": 2, "e": 4, "search": search, **others}))


def test_many_values_are_refused_with_the_search_that_takes_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The pairs of ends are held in memory, so there is a limit, which is said."""
    monkeypatch.setattr(decision, "MAXIMUM_VALUES", 3)
    with pytest.raises(PlanError, match="up to 3 distinct values, and the table has 4; use search"):
        series("lemma-1", 2, 4, [1, 7, 13, 19])
