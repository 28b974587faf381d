"""Rank swapping, record swapping and shuffling: margins, distances, laws, persons, bad input."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import voile
from voile.attack.registry import attack_named
from voile.publish.exchanging import (
    RankSwapping,
    RecordSwapping,
    Shuffling,
    exchanges,
    swapped_places,
)
from voile.release.check import check_release
from voile.release.recounting import Recount
from voile.table.opening import published_rows
from voile_base.errors import InfeasibleError, PlanError
from voile_base.randomness import Randomness
from voile_tests.publish.drawn_cases import FAR, people, published, shown

PEOPLE = people()


def _margin(frame, names):
    return sorted(frame.select(names).iter_rows())


# -- rank swapping ------------------------------------------------------------------------------


@given(
    sizes=st.lists(st.integers(0, 40), min_size=1, max_size=5),
    distance=st.floats(0.01, 1),
    seed=st.integers(0, 2**32),
)
def test_each_place_has_a_partner_no_farther_than_the_distance(sizes, distance, seed):
    """A permutation within strata.

    At most one place of a stratum keeps its own, or none of an even one.
    """
    sizes = np.array(sizes)
    partner = swapped_places(distance, sizes, Randomness.seeded(seed))
    assert sorted(partner) == list(range(sizes.sum()))
    first = 0
    for size in sizes.tolist():
        own = np.arange(first, first + size)
        moved = np.abs(partner[own] - own)
        assert moved.max(initial=0) <= max(1, int(distance * size))
        assert ((own[0] if size else 0) <= partner[own]).all()
        assert (partner[own] < first + size).all()
        assert (moved == 0).sum() <= (size % 2 if max(1, int(distance * size)) < 2 else size == 1)
        first += size


def _partner_counts(draw, size, times=4000):
    seen = np.zeros((size, size))
    for seed in range(times):
        seen[np.arange(size), draw(seed)] += 1
    return seen


@pytest.mark.slow
def test_all_partners_within_a_window_are_equally_likely_and_a_shift_is_rejected():
    """One window of six: each of the five others 800 of 4,000 times, within 5 deviations.

    The planted wrong one, which pairs neighbours, is not.
    """
    right = _partner_counts(
        lambda seed: swapped_places(1.0, np.array([6]), Randomness.seeded(seed)), 6
    )
    others = ~np.eye(6, dtype=bool)
    # With a distance of all six ranks the windows are of 4 to 6, or of two threes: pairs that are
    # as far apart as each other are as likely.
    for apart in range(1, 6):
        pairs = np.array([right[i, i + apart] for i in range(6 - apart)])
        assert (right[others] > 0).all()
        deviation = np.sqrt(pairs.mean() * (1 - pairs.mean() / 4000))
        if apart in (4, 5):
            assert np.abs(pairs - pairs.mean()).max() < FAR * deviation + 1
    shifted = _partner_counts(lambda _: np.arange(6) ^ 1, 6, times=10)
    assert (shifted[others] == 0).any()


@pytest.mark.parametrize("strata", [(), ("sex",)])
def test_values_stay_and_move_no_farther_than_the_distance(strata):
    """Margins are exact, in each stratum; ranks of values move by 5 % of the rows at most."""
    made = published(RankSwapping(distance=0.05, columns=("age", "pay"), strata=strata))
    check_release(made.release)
    rows = shown(made)
    for part in PEOPLE.partition_by(strata[0]) if strata else [PEOPLE]:
        after = rows.filter(pl.col("row").is_in(part["row"].implode()))
        for name in ("age", "pay"):
            own, moved = part[name].to_numpy(), after[name].to_numpy()
            assert sorted(own) == sorted(moved)
            order = np.sort(own)
            low, high = (np.searchsorted(order, moved, side) for side in ("left", "right"))
            own_low, own_high = (np.searchsorted(order, own, side) for side in ("left", "right"))
            gap = np.maximum(low - (own_high - 1), own_low - (high - 1))
            assert gap.max() <= 0.05 * len(part)
            assert (own != moved).mean() > (0.8 if name == "pay" else 0.5)
    assert (rows["town"] == PEOPLE["town"]).all()


def test_ordered_texts_have_ranks_and_others_are_refused():
    """By the order of the plan; a text without one is named with the way out."""
    frame = PEOPLE.with_columns(size=pl.Series(np.array(["s", "m", "l"])[PEOPLE["age"] % 3]))
    roles = {"quasi_identifiers": ("age", "size"), "sensitive": ()}
    ordered = {"size": voile.ColumnPlan(order=("s", "m", "l"))}
    publisher = RankSwapping(distance=0.4, columns=("size",))
    rows = shown(published(publisher, frame, columns=ordered, **roles))
    assert _margin(rows, ["size"]) == _margin(frame, ["size"])
    with pytest.raises(PlanError, match=r"'size' are texts without an order.*order = \[...\]"):
        published(publisher, frame, **roles)


def test_missing_values_stay_missing():
    """They have no rank, and nobody gets one."""
    frame = PEOPLE.with_columns(pay=pl.when(pl.col("row") % 7 > 0).then("pay"))
    columns = {"pay": voile.ColumnPlan(nulls="category")}
    rows = shown(published(RankSwapping(distance=0.1, columns=("pay",)), frame, columns=columns))
    assert (rows["pay"].is_null() == frame["pay"].is_null()).all()
    assert sorted(rows["pay"].drop_nulls()) == sorted(frame["pay"].drop_nulls())


@pytest.mark.parametrize(
    "publisher",
    [RankSwapping(distance=0.1, columns=("age",)), Shuffling(columns=("age",), by=("sex",))],
)
def test_rows_of_a_person_that_agree_show_the_same(publisher):
    """Two rows of one person with one age show one age: nothing is averaged away."""
    frame = PEOPLE.with_columns(
        age=pl.col("age").first().over("who"), sex=pl.col("sex").first().over("who")
    )
    made = published(publisher, frame, person="who")
    rows = shown(made).with_columns(who=frame["who"])
    assert rows.group_by("who").agg(pl.col("age").n_unique())["age"].max() == 1
    one = rows.unique("who", maintain_order=True)["age"]
    assert sorted(one) == sorted(frame.unique("who", maintain_order=True)["age"])
    assert made.release.disclosure.columns["age"].margin is None


def test_a_distance_below_a_rank_is_refused():
    """With the least one that would do."""
    with pytest.raises(InfeasibleError, match=r"less than a rank in the table; take a distance of"):
        published(RankSwapping(distance=0.001, columns=("age",)), people(50))


# -- shuffling ----------------------------------------------------------------------------------


def _scores(values):
    order = np.argsort(np.argsort(values, kind="stable"), kind="stable")
    return (order + 0.5) / len(values)


def test_shuffled_values_stay_and_go_with_the_others_as_before():
    """The margin is exact, and the rank correlation with age is the own one within 5 deviations.

    A plain permutation, the planted wrong one, has none.
    """
    made = published(Shuffling(columns=("pay",), by=("age", "sex")))
    check_release(made.release)
    rows = shown(made)
    assert _margin(rows, ["pay"]) == _margin(PEOPLE, ["pay"])
    own, drawn = (
        np.corrcoef(_scores(frame["pay"]), _scores(PEOPLE["age"]))[0, 1] for frame in (PEOPLE, rows)
    )
    assert abs(own - drawn) < FAR / np.sqrt(len(rows))
    plain = np.random.default_rng(1).permutation(PEOPLE["pay"].to_numpy())
    wrong = np.corrcoef(_scores(plain), _scores(PEOPLE["age"]))[0, 1]
    assert abs(own - wrong) > FAR / np.sqrt(len(rows))


def _left(values, frame):
    """What age and sex do not explain of ranks: the residual of a regression."""
    known = np.column_stack(
        [np.ones(len(frame)), _scores(frame["age"]), (frame["sex"] == "f").to_numpy()]
    )
    own = _scores(values)
    return own - known @ np.linalg.lstsq(known, own, rcond=None)[0]


def test_given_the_others_a_shuffled_value_tells_nothing_of_the_own_one():
    """Residuals of own and shown values are uncorrelated within 5 deviations.

    Those of rank swapping are not.
    """
    rows = shown(published(Shuffling(columns=("pay",), by=("age", "sex"))))
    near = shown(published(RankSwapping(distance=0.1, columns=("pay",))))
    own = _left(PEOPLE["pay"], PEOPLE)
    found = [np.corrcoef(own, _left(frame["pay"], PEOPLE))[0, 1] for frame in (rows, near)]
    assert abs(found[0]) < FAR / np.sqrt(len(rows)) < found[1]


def test_columns_that_are_shuffled_together_keep_their_correlation():
    """Of age and pay, both shuffled by town."""
    rows = shown(published(Shuffling(columns=("age", "pay"), by=("town",))))
    own, drawn = (
        np.corrcoef(_scores(frame["pay"]), _scores(frame["age"]))[0, 1] for frame in (PEOPLE, rows)
    )
    assert abs(own - drawn) < FAR / np.sqrt(len(rows))
    assert abs(np.corrcoef(rows["pay"], PEOPLE["pay"])[0, 1]) < FAR / np.sqrt(len(rows))


@pytest.mark.slow
def test_dates_explain_by_their_order():
    """Of a date that rises with age as much is explained as of the age itself."""
    day = pl.date(1900, 1, 1) + pl.duration(days=10 * pl.col("age"))
    frame = PEOPLE.with_columns(born=day)
    roles = {"quasi_identifiers": ("born", "age"), "sensitive": ("pay",)}
    found = [
        published(Shuffling(columns=("pay",), by=(name,)), frame, **roles)
        for name in ("born", "age")
    ]
    first, second = (one.release.disclosure.columns["pay"].explained for one in found)
    assert first == second > 0.3


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"columns": ("pay",), "by": ("pay",)}, "by names 'pay', which is shuffled"),
        ({"columns": ("town",)}, "texts without an order"),
        ({"columns": ("pay",), "by": ("name",)}, "which no role of the plan publishes"),
    ],
)
def test_bad_shuffling_is_refused(parameters, said):
    """By key and column."""
    with pytest.raises(PlanError, match=said):
        published(Shuffling(**parameters))


# -- record swapping ----------------------------------------------------------------------------


def test_places_are_exchanged_with_those_who_match():
    """Tables of town by sex stay exact, and ages and pays stay with their rows."""
    made = published(RecordSwapping(carried=("town",), match=("sex",), keys=("age",), rate=0.1))
    check_release(made.release)
    rows = shown(made)
    assert _margin(rows, ["town", "sex"]) == _margin(PEOPLE, ["town", "sex"])
    for name in ("age", "sex", "pay"):
        assert (rows[name] == PEOPLE[name]).all()
    moved = (rows["town"] != PEOPLE["town"]).sum()
    assert moved == made.private.decision["exchanged"] >= 0.1 * len(rows) * 0.95


def test_geography_is_carried_where_nothing_is_named():
    """By the kinds of the plan; without any the plan is refused with the key."""
    columns = {"town": voile.ColumnPlan(kind="geography")}
    made = published(RecordSwapping(rate=0.1), columns=columns)
    assert made.release.method["carried"] == ["town"]
    with pytest.raises(PlanError, match="carried names no column"):
        published(RecordSwapping(rate=0.1))


def test_who_stands_out_is_exchanged_and_how_many_is_not_published():
    """All who share age and sex with fewer than 3 in their town moved; the rate stands nowhere."""
    made = published(
        RecordSwapping(carried=("town",), match=("sex",), keys=("age",), rate=0.0625, k=3)
    )
    rows = shown(made)
    held = PEOPLE.with_columns(held=pl.len().over("town", "sex", "age"))
    risky = held["held"] < 3
    assert risky.sum() > 20
    stayed = (rows["town"] == PEOPLE["town"]) & risky
    assert stayed.sum() == made.private.decision["risky_left"]
    assert stayed.sum() <= 0.02 * risky.sum()
    assert "0.0625" not in str(made.release.document())
    assert str(made.private.decision["exchanged"]) not in str(made.release.method)


def test_others_are_exchanged_at_random_and_a_first_rows_rule_is_rejected():
    """Of those who do not stand out each is as likely: halves of the table within 5 deviations."""
    rows = shown(published(RecordSwapping(carried=("town",), keys=("sex",), rate=0.3)))
    moved = (rows["town"] != PEOPLE["town"]).to_numpy()
    half = len(moved) // 2
    room = FAR * np.sqrt(len(moved) * 0.25)
    assert abs(int(moved[:half].sum()) - int(moved[half:].sum())) < room
    planted = np.arange(len(moved)) < moved.sum()
    assert abs(int(planted[:half].sum()) - int(planted[half:].sum())) > room


def test_households_move_with_all_rows():
    """Rows of a household show one town; where they differ in what is named, that is refused."""
    frame = PEOPLE.with_columns(
        home=pl.col("row") // 3, town=pl.col("town").first().over(pl.col("row") // 3)
    )
    roles = {"person": "row", "household": "home"}
    publisher = RecordSwapping(carried=("town",), keys=("town",), rate=0.2, k=1)
    made = published(publisher, frame, **roles)
    rows = shown(made).with_columns(home=frame["home"])
    assert rows.group_by("home").agg(pl.col("town").n_unique())["town"].max() == 1
    one = rows.unique("home", maintain_order=True)
    assert _margin(one, ["town"]) == _margin(frame.unique("home", maintain_order=True), ["town"])
    with pytest.raises(PlanError, match="rows of one household differ in 'town' and 'age'"):
        published(RecordSwapping(carried=("town",), keys=("age",), rate=0.2), frame, **roles)


def test_places_of_one_value_and_without_partners_are_refused():
    """With the way out."""
    with pytest.raises(PlanError, match="'town' is the same in all rows"):
        published(
            RecordSwapping(carried=("town",), rate=0.1), PEOPLE.with_columns(town=pl.lit("Ulm"))
        )
    alone = PEOPLE.with_columns(sex=pl.col("town"))
    with pytest.raises(InfeasibleError, match=r"leave a column out of \[method\] match"):
        published(RecordSwapping(carried=("town",), match=("sex",), rate=0.1), alone)


@given(
    held=st.lists(st.integers(1, 6), min_size=2, max_size=8),
    seed=st.integers(0, 2**32),
    data=st.data(),
)
def test_exchanges_pair_those_who_match_and_differ_in_place(held, seed, data):
    """By brute force over small tables: each takes what another gives, in equal numbers."""
    count = len(held)
    place, matched = (
        np.array(data.draw(st.lists(st.integers(0, 2), min_size=count, max_size=count)))
        for _ in range(2)
    )
    risky = np.array(data.draw(st.lists(st.booleans(), min_size=count, max_size=count)))
    giver, first, left = exchanges(
        np.array(held), place, matched, risky, 0.5, Randomness.seeded(seed)
    )
    taker = np.repeat(np.arange(count), np.diff(first))
    assert len(giver) == len(taker)
    assert (np.diff(first) <= held).all()
    assert (place[taker] != place[giver]).all()
    assert (matched[taker] == matched[giver]).all()
    assert sorted(zip(taker, giver, strict=True)) == sorted(zip(giver, taker, strict=True))
    assert left == np.array(held)[risky].sum() - risky[taker].sum() >= 0


# -- all ----------------------------------------------------------------------------------------


_ROW = {"keep": ("row",), "keep_unique": ("row",), "person": "row"}
_OF_COPY = {**_ROW, "quasi_identifiers": ("copy", "sex"), "sensitive": ("pay",)}
_OF_PLACE = {**_ROW, "quasi_identifiers": ("age", "sex", "town")}


@pytest.mark.parametrize(
    ("weak", "strong", "roles"),
    [
        (
            RankSwapping(distance=0.003, columns=("copy",)),
            RankSwapping(distance=0.4, columns=("copy",)),
            _OF_COPY,
        ),
        (
            RecordSwapping(carried=("town",), rate=0.001, keys=("sex",), k=1),
            RecordSwapping(carried=("town",), rate=1.0, keys=("sex",)),
            _OF_PLACE,
        ),
        (
            Shuffling(columns=("copy",), by=("pay",)),
            Shuffling(columns=("copy",), by=("sex",)),
            _OF_COPY,
        ),
    ],
    ids=["rank-swapping", "record-swapping", "shuffling"],
)
def test_a_weak_release_is_found_by_attacks(weak, strong, roles):
    """Who knows all quasi-identifiers finds more people where values hardly moved."""
    frame = people(500).with_columns(copy=pl.col("pay") + 1)
    plan = voile.Plan(voile.Roles(**roles))
    found = []
    for publisher in (weak, strong):
        release = publisher.publish(voile.open_frame(frame, plan), Randomness.seeded(1))
        # How many places were exchanged nobody is told: right guesses are counted by row numbers.
        attack = attack_named("identification", targets=None, link="row")
        result = attack.run(release, frame, plan, Randomness.seeded(1))
        assert result.checked
        found.append(result.success.value)
    assert found[0] > 1.3 * found[1]


@pytest.mark.parametrize(
    ("publisher", "name"),
    [
        (RankSwapping(distance=0.1, columns=("pay",)), "pay"),
        (RecordSwapping(carried=("town",), rate=0.2), "town"),
        (Shuffling(columns=("pay",)), "pay"),
    ],
    ids=["rank-swapping", "record-swapping", "shuffling"],
)
def test_a_planted_value_is_told_by_a_recount_against_the_table(publisher, name, tmp_path):
    """The release holds the values of the table; one whose values are others does not."""
    frame = people(300)
    release = published(publisher, frame).release
    assert release.disclosure.columns[name].margin == "kept"
    release.write(tmp_path / "right")
    assert Recount.of(tmp_path / "right", frame).breaches == ()
    rows = pl.DataFrame(release.table.to_arrow())
    planted = rows.with_columns(pl.lit(rows[name][0]).alias(name))
    replace(release, table=published_rows(planted)).write(tmp_path / "wrong")
    assert any(name in told for told in Recount.of(tmp_path / "wrong", frame).breaches)
