"""What waiting tells: series of a few people against every table that explains their releases."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import combinations, pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import voile.models.ke_anonymity as waiting_module
import voile.publish.ke_anonymity as publisher_module
from voile.ledger import Ledger
from voile.models.ke_anonymity import Pool, Refused, WaitingRule, is_valid, possible
from voile.publish.ke_anonymity import KEAnonymity
from voile.publish.ke_anonymity.decision import Decision, KETerms, Search
from voile.publish.ke_anonymity.searches import narrow_blocks
from voile.release.check import GuaranteeBrokenError
from voile.release.history import History
from voile.release.release import Publication
from voile.schema.plan import Plan
from voile.schema.roles import Roles
from voile.table.opening import open_frame
from voile.table.summaries import ValueCounts
from voile_base.errors import InfeasibleError, RefusedError
from voile_base.randomness import Randomness
from voile_tests.publish.worlds import Worlds

DOMAIN = range(7)
SEARCHES: tuple[Search, ...] = ("narrow-batches", "full-cover")


def random_series(
    draw: random.Random, search: Search, old: bool = False
) -> tuple[Worlds, list[int]]:
    """Up to nine people of whom at most two arrive before a release, some of whom leave."""
    k, e = draw.choice([2, 3]), draw.choice([0, 1, 2, 3])
    arrivals: list[int] = []
    while sum(arrivals) < 8 and len(arrivals) < 9:
        arrivals.append(draw.choice([0, 1, 1, 2, 2]))
    values = [draw.choice(DOMAIN) for _ in range(sum(arrivals))]
    if draw.random() < 0.5:  # alike, so that looks refuse them
        values = [draw.choice([1, 1, 2, v]) for v in values]
    if draw.random() < 0.7:  # of which the first make a release
        values[:k] = [0, 6, 3][:k]
    leaving = {}
    if values and not old and draw.random() < 0.2:
        leaving = {draw.randrange(len(arrivals)): (draw.randrange(len(values)),)}
    batch = None if old else draw.choice([k, k, k + 1])
    terms = KETerms(k, Decimal(e), search=search, batch=batch)
    # Nobody knows of attempts to begin a series, so whoever came before it came at once.
    _, seen = Worlds(terms, arrivals, DOMAIN).play(values)
    first = next((n for n, shown in enumerate(seen, 1) if shown is not None), len(seen))
    arrivals = [sum(arrivals[:first]), *arrivals[first:]]
    if arrivals[0] > 5:  # the rest would have little to tell
        return random_series(draw, search, old=old)
    return Worlds(terms, arrivals, DOMAIN, leaving), values


def narrowed_in(worlds: Worlds, values: list[int]) -> int:
    """How many people are left fewer than k values, or a range below e."""
    return len(worlds.narrowed(values, worlds.terms.k, int(worlds.terms.e)))


def check_series(series: int, seed: int) -> None:
    """Nobody is narrowed down in random series; some rows must have been refused and shown late."""
    draw = random.Random(seed)
    late = aside = 0
    for number in range(series):
        worlds, values = random_series(draw, SEARCHES[number % 2])
        assert narrowed_in(worlds, values) == 0, (worlds, values)
        states, _ = worlds.play(values)
        late += any(
            before.refused and not after.refused and 0 not in after.born
            for before, after in pairwise(states)
        )
        aside += 0 in states[-1].born
    assert late >= series / 100
    assert aside >= series / 100


@pytest.mark.slow
def test_nobody_is_narrowed_by_who_waits() -> None:
    """Everybody keeps k values that span e in all tables that explain a series, shown or not."""
    check_series(60, seed=17)


@pytest.mark.slow
def test_nobody_is_narrowed_in_eight_hundred_series() -> None:
    """The same, 800 times."""
    check_series(800, seed=18)


@pytest.mark.slow
def test_the_rule_until_valid_narrows_people_down() -> None:
    """The same search finds people in series whose rows wait exactly until they are valid."""
    draw = random.Random(19)
    found = [narrowed_in(*random_series(draw, "sealed-batches", old=True)) for _ in range(40)]
    assert sum(map(bool, found)) >= 4


@pytest.mark.parametrize("search", SEARCHES)
def test_gus_keeps_his_salary(search: Search) -> None:
    """Eva 3300 and Fay 3500 wait, Gus 9000 comes: the old rule gives 9000 away."""
    values, arrivals = [1000, 2000, 3000, 5000, 6000, 7500, 3300, 3500, 9000], [6, 2, 1]
    domain = [1000, 3300, 3500, 9000]
    old = Worlds(KETerms(2, Decimal(1000), search=search), arrivals, domain)
    (gus,) = [n for n in old.narrowed(values, 2, 1000) if n.person == 8]
    assert gus.values == (9000,)
    new = Worlds(KETerms(2, Decimal(1000), search=search, batch=2), arrivals, domain)
    assert new.narrowed(values, 2, 1000) == []


@given(
    values=st.lists(st.integers(0, 6), min_size=2, max_size=7),
    earlier=st.integers(1, 6),
    k=st.integers(2, 4),
    e=st.integers(0, 6),
)
def test_possible_values_are_those_of_all_assignments(
    values: list[int], earlier: int, k: int, e: int
) -> None:
    """What remains for refused rows and for newcomers is what listing all their worlds gives."""
    assert_possible(values, min(earlier, len(values) - 1), k, e)


@pytest.mark.parametrize("k", [2, 3, 4])
def test_possible_values_of_all_small_pools(k: int) -> None:
    """The same for every pool of up to six rows of up to three values, which no span tells."""
    for rows in product(range(1, 5), repeat=3):
        for some in (rows[:2], rows) if sum(rows) < 7 else ():
            values = [value for value, number in enumerate(some) for _ in range(number)]
            for earlier in range(1, len(values)):
                assert_possible(values, earlier, k, 0)


def assert_possible(values: list[int], earlier: int, k: int, e: int) -> None:
    distinct, rows = np.unique(values, return_counts=True)
    worlds: list[tuple[set[int], set[int]]] = []
    for chosen in product([True, False], repeat=len(values)):
        one = [v for v, c in zip(values, chosen, strict=True) if c]
        rest = {v for v, c in zip(values, chosen, strict=True) if not c}
        if len(one) == earlier and not is_valid(np.array(one), k, e):
            worlds.append((set(one), rest))
    found = possible(distinct, rows, earlier, k, e)
    assert set(distinct[found.earlier].tolist()) == set().union(*(w[0] for w in worlds))
    assert set(distinct[found.later].tolist()) == set().union(*(w[1] for w in worlds))


def fate_of(rows: Sequence[int], refused: int, k: int, e: int) -> str:
    """What becomes of a pool of so many rows of each of the values 0, 1, 2, ..."""
    pool = Pool(np.arange(len(rows)), np.array(rows, dtype=np.int64), Refused(refused))
    return WaitingRule(batch=1, k=k, e=e).fate(pool)


def test_newcomers_must_keep_values_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 0, 1, 2, 2 a fourth row after three refused ones was 0 or 1, which are too few for k = 3.

    While newcomers are at least as many as the refused, these keep no more than they: where the
    newcomers' values are too few or too near, so are any rows of theirs, as many as were refused.
    """
    monkeypatch.setattr(waiting_module, "GROWTH", 1)
    assert fate_of([1, 1, 2], refused=3, k=3, e=0) == "aside"
    assert fate_of([1, 1, 1, 2], refused=3, k=3, e=0) == "published"


@pytest.mark.slow
def test_newcomers_as_many_as_the_refused_keep_what_these_keep() -> None:
    """In every pool of up to eight rows of up to four values."""
    for rows in product(range(4), repeat=4):
        counts = np.array([number for number in rows if number], dtype=np.int64)
        for refused, k, e in product(range(1, int(counts.sum()) // 2 + 1), (2, 3), (0, 2, 3)):
            found = possible(np.flatnonzero(rows), counts, refused, k, e)
            kept = np.flatnonzero(rows)[found.earlier]
            enough = len(kept) >= k and kept[-1] - kept[0] >= e
            assert not enough or (found.later | ~found.earlier).all()


def test_a_pool_is_looked_at_by_counts_alone() -> None:
    """Whether a look takes place depends on how many rows there are and on nothing else."""
    rule = WaitingRule(batch=4, k=2, e=5)

    def pool(values: list[int], refused: int = 0, left: int = 0) -> Pool:
        distinct, rows = np.unique(values, return_counts=True)
        return Pool(distinct, rows.astype(np.int64), Refused(refused, left))

    assert rule.fate(pool([])) == rule.fate(pool([0, 9, 99])) == "waiting"
    assert rule.fate(pool([0, 1, 2, 9])) == "published"
    assert rule.fate(pool([0, 1, 2, 3])) == "refused"
    assert rule.fate(pool([0, 1, 2, 3, 50, 60, 70], refused=4)) == "waiting"
    assert rule.fate(pool([0, 1, 2, 3, 50, 60, 70, 90], refused=4)) == "aside"
    assert rule.fate(pool([0, 1, 2, 3, 50, 51, 52, 53], refused=4)) == "published"
    assert rule.fate(pool([0, 1, 2, 50, 51, 52, 53], refused=4, left=1)) == "aside"


PLAN = Plan(Roles(quasi_identifiers=("who",), sensitive=("salary",)))
SIX = {"Ann": 1000, "Bea": 2000, "Cid": 3000, "Dov": 5000, "Hal": 6000, "Ida": 7500}
ALIKE = {"Eva": 3300, "Fay": 3500}


class Office:
    """A series with k = 2 and e = 1000, looked at two rows at a time."""

    def __init__(self, **terms: Any) -> None:
        self.publisher = KEAnonymity(2, 1000, "pay", record_key="who", **({"batch": 2} | terms))
        self.history: History | None = None

    def publish(self, *people: dict[str, int]) -> Publication:
        """The next release of a table of these people."""
        salaries = {name: salary for some in people for name, salary in some.items()}
        frame = pl.DataFrame({"who": [*salaries], "salary": [*salaries.values()]})
        table = open_frame(frame, PLAN, record_key="who")
        made = self.publisher.prepare(table, Randomness.seeded(1), self.history)
        self.history = made.history
        return made

    def groups(self, made: Publication) -> list[list[int]]:
        """The salaries of each group, in order."""
        shown = pl.DataFrame(made.release.to_native()).group_by("group")
        return sorted(sorted(part["salary"].to_list()) for _, part in shown)


def test_refused_rows_are_shown_late_and_in_one_group() -> None:
    """Refused people are shown when newcomers could have been refused in their place."""
    office = Office()
    assert office.publish(SIX).private.held == 0
    refused = office.publish(SIX, ALIKE)
    assert (refused.private.held, refused.release.rows) == (2, 6)
    waiting = office.publish(SIX, ALIKE, {"Gus": 9000})
    assert (waiting.private.held, waiting.release.rows) == (3, 6)
    late = office.publish(SIX, ALIKE, {"Gus": 9000, "Joe": 9400})
    assert (late.private.held, late.release.rows) == (0, 10)
    assert [3300, 3500, 9000, 9400] in office.groups(late)
    more = office.publish(SIX, ALIKE, {"Gus": 9000, "Joe": 9400, "Kim": 1, "Lou": 9999})
    assert [1, 9999] in office.groups(more)


@pytest.mark.parametrize("search", SEARCHES)
def test_refused_rows_are_shown_in_one_group_that_could_be_two(search: Search) -> None:
    """Two groups would tell in which half of the newcomers nobody could have been refused."""
    office = Office(search=search)
    office.publish(SIX)
    office.publish(SIX, ALIKE)
    four = {"Gus": 4600, "Joe": 9000, "Kim": 9950, "Lou": 10100}
    late = office.publish(SIX, ALIKE, four)
    assert late.private.held == 0
    together = [group for group in office.groups(late) if 3300 in group]
    assert [set(group) >= {3300, 3500, *four.values()} for group in together] == [True]


@pytest.mark.parametrize("release", [2, 3])
def test_a_release_that_singles_out_by_comparison_is_caught(
    release: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a decision does, each later release is held against all earlier ones."""
    office = Office()
    for _ in range(1, release):
        office.publish(SIX)

    def forged(counts: ValueCounts, *of: Any) -> Decision:
        ranges = np.array([[0, 3], [3, 6]])
        return Decision(counts.values, ranges, np.zeros(2, dtype=np.int64))

    monkeypatch.setattr(publisher_module, "decide", forged)
    with pytest.raises(GuaranteeBrokenError, match="compared with earlier releases"):
        office.publish(SIX)


def test_people_who_could_not_be_others_are_set_aside() -> None:
    """Nobody else could have been refused: the four are never shown, and a new pool begins."""
    office = Office()
    office.publish(SIX)
    office.publish(SIX, ALIKE)
    four = {**ALIKE, "Gus": 9000, "Joe": 19000}
    aside = office.publish(SIX, four)
    assert (aside.private.held, aside.private.suppressed, aside.release.rows) == (0, 4, 6)
    assert any("set aside" in notice for notice in aside.private.notices)
    new = {"Kim": 1, "Lou": 9999}
    later = office.publish(SIX, four, new)
    assert (later.private.held, later.private.suppressed, later.release.rows) == (0, 4, 8)
    assert [1, 9999] in office.groups(later)
    assert office.publish(SIX, new).release.rows == 8  # those set aside may leave


def test_a_refused_pool_from_which_somebody_leaves_is_set_aside() -> None:
    """What the rest of the refused have would tell about somebody else than who is left."""
    office = Office()
    office.publish(SIX)
    office.publish(SIX, ALIKE)
    made = office.publish(SIX, {"Fay": 3500, "Gus": 9000, "Joe": 9400})
    assert (made.private.suppressed, made.release.rows) == (3, 6)


def test_a_series_begins_with_a_batch_that_is_valid() -> None:
    """Rows that are too few or too much alike begin none, and the message says which they are."""
    office = Office(batch=4)
    alike = {"Ann": 1, "Bea": 2, "Cid": 3, "Dov": 4}
    with pytest.raises(InfeasibleError, match=r"at least batch = 4 rows.* the table has 3"):
        office.publish({"Ann": 1, "Bea": 2, "Cid": 9999})
    with pytest.raises(InfeasibleError, match="the largest e is 3"):
        office.publish(alike)
    made = office.publish(alike, {"Eva": 5001})
    assert made.release.rows == 5
    assert "attempts to begin" in " ".join(made.release.guarantee.assumes)


def test_a_lost_release_leaves_refused_rows_refused(tmp_path: Path) -> None:
    """Rows that a lost release showed late go back to those who were refused before it."""
    ledger = Ledger(tmp_path / "ledger.db")
    office = Office()
    history = None
    for people in (SIX, {**SIX, **ALIKE}, {**SIX, **ALIKE, "Gus": 9000, "Joe": 9400}):
        made = office.publish(people)
        ledger.commit(history, made.history)
        history = made.history
    assert made.release.rows == 10
    ledger.lose("pay", made.release.release_id)
    office.history = ledger.load("pay")
    again = office.publish(SIX, ALIKE, {"Gus": 9000})
    assert (again.release.rows, again.private.held) == (6, 3)


def test_a_series_keeps_its_rule() -> None:
    """Another batch is refused, and so is a batch where rows waited until they were valid."""
    office = Office()
    office.publish(SIX)
    office.publisher = replace(office.publisher, batch=3)
    with pytest.raises(RefusedError, match="batch = 2, and cannot go on with batch = 3"):
        office.publish(SIX, ALIKE)
    old = Office(batch="until-valid", search="full-cover")
    first = old.publish(SIX)
    assert first.release.method["batch"] == "until-valid"
    old.publisher = KEAnonymity(2, 1000, "pay", record_key="who")
    with pytest.raises(RefusedError, match=r'write batch = "until-valid" and search = "full-c'):
        old.publish(SIX, ALIKE)


def test_a_clock_that_goes_back_is_refused() -> None:
    """A release cannot be made before the one that it follows."""
    office = Office()
    office.publish(SIX)
    assert office.history is not None
    (version,) = office.history.versions
    late = replace(version, created="2999-01-01T00:00:00+00:00")
    office.history = replace(office.history, versions=(late,))
    with pytest.raises(RefusedError, match="clock"):
        office.publish(SIX, ALIKE)


def test_releases_state_what_their_rule_assumes() -> None:
    """Reasoning from borders and from who waited is assumed away only where the rule needs it."""
    new, old = Office(), Office(batch="until-valid")
    for office in (new, old):
        office.publish(SIX)
    assumed = [
        " ".join(office.publish(SIX, ALIKE).release.guarantee.assumes) for office in (new, old)
    ]
    assert "held back" not in assumed[0]
    assert "depend on the sensitive values" in assumed[0]
    assert "held back" in assumed[1]
    assert all("backwards" not in words for words in assumed)
    assert new.publish(SIX, ALIKE).release.method["batch"] == 2


@given(
    values=st.lists(st.integers(0, 12), min_size=2, max_size=9),
    k=st.integers(2, 3),
    e=st.integers(0, 5),
)
def test_narrow_blocks_are_those_of_the_least_width(values: list[int], k: int, e: int) -> None:
    """No cut into valid ranges has a smaller expected width of the bounds of a sum."""
    distinct, rows = np.unique(values, return_counts=True)

    def width(block: list[int]) -> float:
        n = len(block)
        sums = [sum(block[n - c :]) - sum(block[:c]) for c in range(n + 1)]
        return sum(sums) / (n + 1)

    def cut(ends: Sequence[int]) -> list[list[int]]:
        edges = [0, *ends, len(distinct)]
        return [
            sorted(v for v in values if distinct[a] <= v <= distinct[b - 1])
            for a, b in pairwise(edges)
        ]

    inner = range(1, len(distinct))
    cuts = [cut(ends) for size in range(len(distinct)) for ends in combinations(inner, size)]
    allowed = [c for c in cuts if all(is_valid(np.array(b), k, e) for b in c)]
    found = narrow_blocks(distinct, rows, k, e)
    if not allowed:
        assert found is None
        return
    assert found is not None
    chosen = cut(found[1:, 0].tolist())
    assert all(is_valid(np.array(block), k, e) for block in chosen)
    best = min(sum(map(width, c)) for c in allowed)
    assert sum(map(width, chosen)) == pytest.approx(best)
