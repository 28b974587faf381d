"""Groups of a ranking are groups of persons, whatever the search; the best are persons, too."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, get_args

import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from voile.disclosure.shown import Disclosure, GroupNumbering
from voile.models.k_anonymity import KAnonymity
from voile.publish.assembled import exactly
from voile.publish.ranking import Ranking
from voile.publish.ranking.local_search import SearchName
from voile.release.check import GuaranteeBrokenError, check_against_counts, check_release
from voile.release.release import Release
from voile.schema.plan import Plan
from voile.schema.roles import Roles
from voile.table.decisions import Grouping, Treatment
from voile.table.opening import open_frame
from voile_base.errors import InfeasibleError, InputError
from voile_base.randomness import Randomness
from voile_testing.plugin import some_slow
from voile_tests.models.small_persons import (
    Row,
    all_tables,
    different,
    entropy_reaches,
    many_tables,
    persons,
    recursive,
)

SEARCHES = get_args(SearchName)
SLOW_SEARCHES = set(SEARCHES) - {"auto", "exact", "peeling-ratio"}
SCORES = {"x": 1, "y": 2, "z": 3}
ROLES = Roles(
    ranking=("score",),
    sensitive=("quasi",),
    keep=("row",),
    keep_unique=("row",),
    person="patient",
)
"""Small tables are ranked by their third column; rows are told apart by what is kept."""
PRECISION = Fraction(7, 10)
SEEDED = Randomness.seeded(1)


def frame_of(table: Sequence[Row]) -> pl.DataFrame:
    """The rows of a small table, numbered."""
    rows = [(n, who, quasi, SCORES[score]) for n, (who, quasi, score) in enumerate(table)]
    return pl.DataFrame(rows, schema=["row", "patient", "quasi", "score"], orient="row")


def border(table: Sequence[Row], top: int) -> int:
    """The score that the best persons reach with their best rows."""
    best: defaultdict[str, int] = defaultdict(int)
    for who, _, score in table:
        best[who] = max(best[who], SCORES[score])
    return sorted(best.values())[-top]


def precision(table: Sequence[Row], top: int, low: int, high: int) -> Fraction:
    """The share of best ones among the persons and scores that lie between two ends."""
    there = {(who, SCORES[s]) for who, _, s in table if low <= SCORES[s] <= high}
    least = border(table, top)
    return Fraction(sum(score >= least for _, score in there), len(there))


def some_group_exists(table: Sequence[Row], k: int, top: int) -> bool:
    """Whether any box between the extremes of the best rows is a group, by trying all."""
    least = border(table, top)
    best = [SCORES[s] for _, _, s in table if SCORES[s] >= least]
    boxes = [(a, b) for a in best for b in best if a <= b]
    return any(
        persons([row for row in table if low <= SCORES[row[2]] <= high]) >= k
        and precision(table, top, low, high) >= PRECISION
        for low, high in boxes
    )


def assert_published_as_defined(
    table: Sequence[Row],
    search: Any,
    k: int,
    top: int,
    l: int | None,
) -> None:
    """Groups are of k persons, diverse and precise; a search that can tell finds what exists."""
    publisher = Ranking(k=k, top=top, search=search, precision=0.7, l=l)
    private = open_frame(frame_of(table), Plan(ROLES))
    if persons(table) < top or len({score for _, _, score in table}) == 1:
        with pytest.raises((InputError, InfeasibleError)):
            publisher.publish(private, Randomness.seeded(1))
        return
    try:
        publication = publisher.prepare(private, Randomness.seeded(1))
    except InfeasibleError:
        assert search not in {"auto", "exact"} or l or not some_group_exists(table, k, top)
        return
    assert some_group_exists(table, k, top) or search == "perfect-precision"
    release = publication.release
    check_release(release)
    assert "patient" not in release.table.columns
    shown = release.to_native()
    for group, said in enumerate(release.method["decision"]["groups"], 1):
        here = shown.filter(pl.col("group") == group)
        rows = [table[row] for row in here["row"].to_list()]
        assert persons(rows) >= k
        assert l is None or different([(w, s, q) for w, q, s in rows]) >= l
        if search != "perfect-precision":
            (low,), (high,) = (here[f"score.{end}"].unique().to_list() for end in ("low", "high"))
            counted = precision(table, top, low, high)
            assert said["precision"] == round(float(counted), 6)
            assert counted >= PRECISION


@pytest.mark.parametrize("search", some_slow(SEARCHES, SLOW_SEARCHES))
@pytest.mark.parametrize("l", [None, 2])
def test_small_tables(search: str, l: int | None) -> None:
    """A sample of them."""
    for table in all_tables(5)[11::70]:
        assert_published_as_defined(table, search, 2, 2, l)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["entropy", "recursive"])
def test_persons_weigh_one_in_each_group(kind: str) -> None:
    """Whatever rows they have elsewhere: each published group is diverse as defined."""
    asked: dict[str, Any] = {"value": 2, "kind": kind, **({"c": 2} if kind == "recursive" else {})}
    published = 0
    for table in all_tables(6)[11::40]:
        publisher = Ranking(k=2, top=2, search="auto", precision=0.5, l=asked)
        try:
            release = publisher.publish(open_frame(frame_of(table), Plan(ROLES)), SEEDED)
        except (InputError, InfeasibleError):
            continue
        for _, here in release.to_native().group_by("group"):
            rows = [table[row] for row in here["row"].to_list()]
            own = [(who, score, quasi) for who, quasi, score in rows]
            held = entropy_reaches(own, 2) if kind == "entropy" else recursive(own, Fraction(2), 2)
            assert held, (table, rows)
            published += 1
    assert published > 5


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_all_small_tables(part: int) -> None:
    """Tables of up to seven rows up to renaming, by the exact search and by another."""
    for number, table in enumerate(many_tables(18)[part::4], part):
        assert_published_as_defined(table, "exact", 2, 2, None)
        other = SEARCHES[number % len(SEARCHES)]
        assert_published_as_defined(table, other, 2 + number % 2, 3, 2)


STAYS = st.lists(
    st.tuples(
        st.sampled_from("abcdefgh"),
        st.integers(0, 4),
        st.integers(0, 4),
        st.sampled_from("uvw"),
    ),
    min_size=6,
    max_size=30,
)
STAY_ROLES = Roles(ranking=("math", "reading"), quasi_identifiers=("town",), person="patient")


def stays(rows: list[tuple[str, int, int, str]], roles: Roles = STAY_ROLES) -> Any:
    """A private table of marks."""
    columns = ["patient", "math", "reading", "town"]
    return open_frame(pl.DataFrame(rows, schema=columns, orient="row"), Plan(roles))


@pytest.mark.parametrize("search", some_slow(SEARCHES, SLOW_SEARCHES))
@given(rows=STAYS, ties=st.sampled_from(["top", "none"]))
@settings(max_examples=7)
def test_repeating_all_rows_changes_no_decision(
    search: Any, rows: list[tuple[str, int, int, str]], ties: Any
) -> None:
    """Twice the rows are published as twice the same, by every search and with the same key."""
    publisher = Ranking(k=2, top=3, search=search, precision=0.6, ties=ties)
    try:
        once = publisher.prepare(stays(rows), Randomness.seeded(1))
    except (InputError, InfeasibleError) as error:
        with pytest.raises(type(error)):
            publisher.prepare(stays(rows * 2), Randomness.seeded(1))
        return
    twice = publisher.prepare(stays(rows * 2), Randomness.seeded(1))
    assert once.private.decision == twice.private.decision
    assert once.private.objective == twice.private.objective
    shown = once.release.to_native()
    both = pl.concat([shown, shown])
    again = twice.release.to_native()
    assert again.sort(again.columns).equals(both.sort(both.columns))


@pytest.mark.parametrize("search", some_slow(SEARCHES, SLOW_SEARCHES))
@given(rows=STAYS, ties=st.sampled_from(["top", "none"]))
@settings(max_examples=4)
def test_persons_of_one_row_each_are_rows(
    search: Any, rows: list[tuple[str, int, int, str]], ties: Any
) -> None:
    """Where nobody has a second row, naming persons changes no published row and no figure."""
    rows = [(str(n), *row[1:]) for n, row in enumerate(rows)]
    publisher = Ranking(k=2, top=4, search=search, precision=0.6, ties=ties)
    of_rows = Roles(**{**vars(STAY_ROLES), "person": None})
    try:
        plain = publisher.publish(stays(rows, of_rows), Randomness.seeded(1))
    except (InputError, InfeasibleError) as error:
        with pytest.raises(type(error)):
            publisher.publish(stays(rows), Randomness.seeded(1))
        assume(False)
    named = publisher.publish(stays(rows), Randomness.seeded(1))
    assert named.to_native().equals(plain.to_native())
    assert named.method == plain.method


def test_rows_of_one_person_are_no_group() -> None:
    """The three best rows are one player's seasons: no group of three players."""
    rows = [("A", 4, 4, "u")] * 3 + [("B", 4, 3, "u"), ("C", 3, 3, "u"), ("D", 0, 0, "v")]
    release = Ranking(k=3, top=3, precision=1).publish(stays(rows), Randomness.seeded(1))
    (group,) = release.method["decision"]["groups"]
    assert group["rows"] == 5
    said = release.guarantee.document()
    assert said["unit"] == "person"
    assert "rows of at least 2 other persons" in said["statement"]
    assert "the best 3 persons reach with their best rows" in said["statement"]
    assert any("knows the quasi-identifiers of one of its rows" in each for each in said["assumes"])
    assert "each person is one row" not in said["assumes"]
    with pytest.raises(InputError, match="top = 5 is above the number of persons, 4"):
        Ranking(k=3, top=5).publish(stays(rows), Randomness.seeded(1))


def test_households_are_counted_where_they_are_named() -> None:
    """Five players of three families: a group of three families, and no best four."""
    roles = Roles(ranking=("score",), person="player", household="family")
    frame = pl.DataFrame(
        {
            "player": list("AABCDE"),
            "family": list("ffgfhh"),
            "score": [9, 8, 8, 9, 8, 1],
        }
    )
    release = Ranking(k=3, top=3, precision=1).publish(
        open_frame(frame, Plan(roles)), Randomness.seeded(1)
    )
    assert release.guarantee.document()["unit"] == "household"
    with pytest.raises(InputError, match="top = 4 is above the number of households, 3"):
        Ranking(k=4, top=4, precision=1).publish(
            open_frame(frame, Plan(roles)), Randomness.seeded(1)
        )


def test_the_check_counts_the_persons_of_what_is_published() -> None:
    """A group of one player's rows is caught before it is published, though rows do not show it."""
    rows = [("A", 4, 4, "u")] * 2 + [("B", 3, 3, "u"), ("C", 3, 3, "u"), ("D", 0, 0, "v")]
    table = stays(rows)
    sound = Ranking(k=2, top=3, precision=1).publish(table, Randomness.seeded(1))
    counts = table.count_combinations(["math", "reading", "town"])
    alone = Treatment((), Grouping.of_counts(counts, counts.codes[:, 0].astype("int64") - 1))
    shown, whose = table.apply_counted(alone, Randomness.seeded(1))
    forged = Release(
        table=shown,
        method=sound.method,
        disclosure=Disclosure(
            columns=exactly(["math", "reading", "town"]),
            groups=GroupNumbering(column="group", made="alike", by=("math", "reading", "town")),
        ),
        guarantee=sound.guarantee,
        roles={"ranking": ("math", "reading"), "quasi_identifiers": ("town",)},
        release_id="0",
        publishable=False,
    )
    with pytest.raises(GuaranteeBrokenError, match="groups of the release break"):
        check_against_counts(forged, [KAnonymity(2)], counts, whose)
