"""Series of rankings: what all releases together leave, and what becomes of people."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import voile
from voile.ledger import Ledger
from voile.publish.registry import publisher_for
from voile.release.release import Publication
from voile.schema.plan import Plan, parse_plan
from voile_base.errors import InfeasibleError, PlanError, RefusedError
from voile_tests.publish.ranking.small_series import SmallSeries, plan_of

K, L = 3, 2


def plan(**method: Any) -> Plan:
    return parse_plan(
        {
            "roles": {
                "identifiers": ["id"],
                "ranking": ["a", "b"],
                "quasi_identifiers": ["town"],
                "sensitive": ["illness"],
                "keep": ["tag"],
                "keep_unique": ["tag"],
            },
            "columns": {"b": {"order": ["low", "fair", "good", "best"]}},
            "method": {
                "name": "ranking",
                "k": K,
                "l": L,
                "top": 20,
                "precision": 0.5,
                "by": {"a": 1, "b": 3},
                "series": "months",
                "record_key": "id",
            }
            | method,
        }
    )


def people(first: int, count: int, seed: int) -> pl.DataFrame:
    """Rows whose ``tag`` shows who they are, which is the most that anybody could link by."""
    draw = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "id": [f"p{i}" for i in range(first, first + count)],
            "a": draw.integers(0, 12, count),
            "b": draw.choice(["low", "fair", "good", "best"], count),
            "town": draw.choice(["Aa", "Bo", "Ce", "Du"], count),
            "illness": draw.choice(["flu", "cold", "gout"], count),
            "tag": [f"t{i}" for i in range(first, first + count)],
        }
    )


class Months:
    """A table whose people come and go, ranked again and again."""

    def __init__(self, folder: Path, **method: Any) -> None:
        self.folder, self.method = folder, method
        self.releases: list[pl.DataFrame] = []

    def publish(self, table: pl.DataFrame) -> Publication:
        made = voile.make_release(
            table,
            plan(**self.method),
            self.folder / f"month {len(self.releases) + 1}",
            ledger=self.folder / "ledger",
        )
        self.releases.append(made.release.to_native())
        return made

    def singled_out(self) -> dict[tuple[int | None, ...], list[str]]:
        """The tags of every set of rows that the groups of all releases tell apart."""
        where = [dict(zip(r["tag"], r["group"], strict=True)) for r in self.releases]
        found: dict[tuple[int | None, ...], list[str]] = defaultdict(list)
        for tag in sorted(set().union(*where)):
            found[tuple(month.get(tag) for month in where)].append(tag)
        return found


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_no_set_that_all_releases_single_out_falls_short(tmp_path: Path, seed: int) -> None:
    """Whoever follows every row by a serial number still finds k rows of a history, l values."""
    draw = np.random.default_rng(seed)
    months = Months(tmp_path)
    table = people(0, 70, seed)
    illness = dict(zip(table["tag"], table["illness"], strict=True))
    for month in range(1, 6):
        months.publish(table)
        newcomers = people(100 * month, int(draw.integers(1, 12)), 10 * seed + month)
        illness |= dict(zip(newcomers["tag"], newcomers["illness"], strict=True))
        stay = pl.Series(draw.random(table.height) > 0.05)
        table = pl.concat([table.filter(stay), newcomers])
    sets = months.singled_out()
    assert len(sets) > 3, "the releases tell nothing apart, so nothing is tested"
    assert min(map(len, sets.values())) >= K
    assert min(len({illness[tag] for tag in tags}) for tags in sets.values()) >= L
    assert Ledger(tmp_path / "ledger").verify() == []


def test_ranking_afresh_singles_people_out(tmp_path: Path) -> None:
    """What the test above looks for is found where no series keeps the promise."""
    months = Months(tmp_path, series=None, record_key=None)
    table = people(0, 70, 0)
    best = table.sort("a", descending=True)["id"][0]
    months.publish(table.filter(pl.col("id") != best))
    months.publish(table)
    assert min(map(len, months.singled_out().values())) < K


def narrowed(series: SmallSeries, least: int) -> tuple[int, int]:
    """What releases may show of it, and how many people they leave fewer than ``least`` values."""
    left = series.left()
    return len(left), sum(len(values) < least for each in left.values() for values in each)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_nobody_is_narrowed_by_all_tables_that_explain_the_releases(seed: int) -> None:
    """Somebody who knows all but the illnesses, and the algorithm, leaves everybody l of them."""
    seen, found = narrowed(SmallSeries.drawn(seed, people=6, releases=3, values="cf"), L)
    assert seen
    assert not found


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40 if os.environ.get("EVERY_WAY") else 12))
def test_nobody_is_narrowed_in_longer_series(seed: int) -> None:
    """The same of more people, releases and illnesses."""
    for values, count in (("cf", 8), ("cfg", 5)):
        series = SmallSeries.drawn(seed, people=count, releases=4, values=values)
        assert not narrowed(series, L)[1]


@pytest.mark.slow
def test_the_enumeration_finds_who_is_narrowed() -> None:
    """Where people who were found alike are shown with later ones, it says so."""
    series = SmallSeries(
        marks=[(3, 3), (3, 3), (5, 0), (5, 0), (4, 0), (4, 0), (3, 3)],
        towns=["x"] * 7,
        there=[range(6), range(7)],
        top=4,
        values="cf",
        precision=Fraction(3, 4),
    )
    assert not narrowed(series, L)[1]
    assert narrowed(replace(series, recalls_aside=False), L)[1]


def like(first: int, marks: Sequence[int], b: str = "best") -> pl.DataFrame:
    """People with these marks, whose illnesses differ."""
    rows = people(first, len(marks), 1)
    illness = [("flu", "cold", "gout")[i % 3] for i in range(len(marks))]
    given = {"a": pl.Series(marks), "b": pl.lit(b), "illness": pl.Series(illness)}
    return rows.with_columns(**given)


@pytest.mark.slow
def test_newcomers_among_the_best_wait_for_each_other(tmp_path: Path) -> None:
    """One alone changes nothing that is shown; k of them who fit a box are shown together."""
    months = Months(tmp_path, top=8, precision=0.9, batch=4)
    table = pl.concat([like(0, [50, 50, 51, 52, 60, 60, 61, 62]), people(100, 30, 4)])
    months.publish(table)
    table = pl.concat([table, like(200, [55])])
    assert months.publish(table).private.held == 1
    assert set(months.releases[1]["tag"]) <= set(months.releases[0]["tag"])
    table = pl.concat([table, like(300, [55, 56])])
    assert months.publish(table).private.held == 0
    assert {"t200", "t300", "t301"} <= set(months.releases[2]["tag"])


@pytest.mark.slow
def test_a_box_shows_what_it_first_showed(tmp_path: Path) -> None:
    """Nothing that is published of those who stay changes from month to month."""
    months = Months(tmp_path)
    table = people(0, 70, 4)
    months.publish(table)
    shown = months.releases[0]["tag"][0]
    months.publish(table.filter(pl.col("tag") != shown))
    before, now = (r.drop("group") for r in months.releases)
    assert 0 < now.height < before.height
    assert now.join(before, on=before.columns, how="anti").is_empty()


@pytest.mark.slow
def test_boxes_that_are_not_precise_are_not_shown_until_they_are(tmp_path: Path) -> None:
    """Of all rows in each box the share that is promised is among the best on that day."""
    months = Months(tmp_path)
    table = people(0, 70, 4)
    months.publish(table)
    better = pl.concat([people(500, 12, 1).with_columns(a=pl.lit(11, pl.Int64), b=pl.lit("best"))])
    months.publish(pl.concat([table, better]))
    months.publish(table)
    first, second, third = (set(r["tag"]) for r in months.releases)
    assert first - second, "the newcomers displace nobody, so nothing is tested"
    assert third == first
    for shown, there in zip(
        months.releases, (table, pl.concat([table, better]), table), strict=True
    ):
        level = dict(zip(["low", "fair", "good", "best"], range(1, 5), strict=True))
        score = there["a"] + 3 * there["b"].replace_strict(level)
        best = score >= score.sort(descending=True)[19]
        for low, high, worst_to_best in set(shown.select("a.low", "a.high", "b").iter_rows()):
            worst, *rest = worst_to_best.split(" to ")
            inside = there["a"].is_between(low, high) & there["b"].replace_strict(level).is_between(
                level[worst], level[(rest or [worst])[0]]
            )
            assert best.filter(inside).mean() >= 0.5


@pytest.mark.slow
def test_what_a_release_says_of_a_box_does_not_change_with_one_newcomer(tmp_path: Path) -> None:
    """Neither the precision that it has on a day, nor the share of the best that is shown."""
    months = Months(tmp_path, top=8, batch=4)
    table = pl.concat([like(0, [50, 50, 51, 52, 60, 60, 61, 62]), people(100, 30, 4)])
    first = months.publish(table).release.method["decision"]
    assert months.publish(pl.concat([table, like(200, [55])])).release.method["decision"] == first
    assert set(first) == {"groups"}
    assert {group["precision"] for group in first["groups"]} == {0.5}


@pytest.mark.slow
def test_boxes_of_people_who_are_alike_are_never_shown(tmp_path: Path) -> None:
    """Not even when others have joined: they would be known to share a value."""
    months = Months(tmp_path, top=8, precision=0.9, batch=4)
    alike = like(10, [60, 60, 61, 62]).with_columns(illness=pl.lit("gout"))
    table = pl.concat([like(0, [50, 50, 51, 52]), alike, people(100, 30, 4)])
    months.publish(table)
    months.publish(pl.concat([table, like(200, [60, 61, 62])]))
    for shown in months.releases:
        assert not set(alike["tag"]) & set(shown["tag"])
    assert {"t200", "t201", "t202"} <= set(months.releases[1]["tag"])


@pytest.mark.slow
def test_a_plan_may_name_its_columns_in_another_order(tmp_path: Path) -> None:
    """Boxes still show what they showed, each column its own."""
    table = people(0, 70, 4).with_columns(c=pl.col("a") * 100)
    asked = plan(by={"a": 1, "c": 1})
    for month, ranking in enumerate((["a", "c"], ["c", "a"])):
        document = {
            "roles": {
                "identifiers": ["id"],
                "ranking": ranking,
                "quasi_identifiers": ["town"],
                "sensitive": ["illness"],
            },
            "method": {"name": "ranking", **asked.method.parameters},
        }
        made = voile.make_release(
            table, parse_plan(document), tmp_path / str(month), ledger=tmp_path / "ledger"
        )
        shown = made.release.to_native()
        assert (shown["c.low"] == 100 * shown["a.low"]).all()


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"record_key": None}, "needs record_key"),
        ({"l": {"value": 2, "kind": "entropy"}}, "leave them out"),
        ({"search": "perfect-precision"}, "exact score of a person"),
        ({"series": None}, "record_key is of use in a series only"),
    ],
)
def test_what_a_series_cannot_keep_is_refused(
    tmp_path: Path, asked: dict[str, Any], words: str
) -> None:
    """The message says what, and why."""
    with pytest.raises(PlanError, match=words):
        Months(tmp_path, **asked).publish(people(0, 70, 1))


@pytest.mark.slow
def test_other_terms_and_tables_without_a_box_are_refused(tmp_path: Path) -> None:
    """Neither another k, nor a release that shows nothing."""
    months = Months(tmp_path)
    table = people(0, 70, 4)
    months.publish(table)
    with pytest.raises(RefusedError, match="the method's parameters"):
        voile.make_release(table, plan(k=4), tmp_path / "x", ledger=tmp_path / "ledger")
    with pytest.raises(InfeasibleError, match="no release exists"):
        months.publish(people(300, 40, 1).with_columns(illness=pl.lit("gout")))


def test_a_series_needs_a_ledger() -> None:
    """A publisher that remembers nothing makes no next release."""
    with pytest.raises(PlanError, match="needs a ledger"):
        publisher_for(plan_of(top=4)).publish(None)  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_clock_that_goes_back_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Releases follow each other in time, and the message says which one came before."""
    months = Months(tmp_path)
    table = people(0, 70, 4)
    months.publish(table)
    monkeypatch.setattr("voile.publish.ranking.now", lambda: "2001-01-01T00:00:00+00:00")
    with pytest.raises(RefusedError, match=r"release 1 was made at .* set the clock right"):
        months.publish(table)
