"""Series of generalizations: what all releases together leave, and what becomes of rows."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import voile
from voile.attack.identification import IdentificationAttack
from voile.attack.linkage import ProsecutorAttack
from voile.cli.ledger import _ledger as ledger_command
from voile.ledger import Ledger
from voile.publish.generalization.lasting import _enough_rows, _stayers_to_withhold
from voile.release.check import departure_breaches
from voile.release.history import Blocks
from voile.release.release import Publication
from voile.schema.numbers import ExactNumbers
from voile.schema.plan import Plan, parse_plan
from voile.study.run import prepare_release
from voile.table import matching
from voile_base.errors import InfeasibleError, PlanError, RefusedError, TableError
from voile_base.randomness import Randomness

K = 3


def plan(**method: Any) -> Plan:
    return parse_plan(
        {
            "roles": {
                "identifiers": ["id"],
                "quasi_identifiers": ["age", "town"],
                "sensitive": ["illness"],
                "keep": ["tag"],
                "keep_unique": ["tag"],
            },
            "method": {
                "name": "generalization",
                "k": K,
                "series": "months",
                "record_key": "id",
                "group_size": 6,
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
            "age": draw.integers(18, 90, count),
            "town": draw.choice(["Aa", "Bo", "Ce", "Du"], count),
            "illness": draw.choice(["flu", "cold", "gout"], count),
            "tag": [f"t{i}" for i in range(first, first + count)],
        }
    )


class Months:
    """A table whose people come and go, published again and again."""

    def __init__(self, folder: Path, *, engine: str = "polars", **method: Any) -> None:
        self.folder, self.engine, self.method = folder, engine, method
        self.releases: list[pl.DataFrame] = []

    def publish(self, table: pl.DataFrame) -> Publication:
        made = voile.make_release(
            table,
            plan(**self.method),
            self.folder / f"month {len(self.releases) + 1}",
            ledger=self.folder / "ledger",
            engine=self.engine,
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
@pytest.mark.parametrize("least", [None, pytest.param(2, marks=pytest.mark.slow)])
def test_no_set_that_all_releases_single_out_falls_short(tmp_path: Path, least: int | None) -> None:
    """Whoever follows every row by a serial number still finds k rows of a history, l values."""
    asked = {} if least is None else {"l": least}
    for trial in range(2):
        draw = np.random.default_rng([trial, least or 0])
        folder = tmp_path / str(trial)
        folder.mkdir()
        months = Months(folder, **asked)
        table = people(0, 60, trial)
        illness = dict(zip(table["tag"], table["illness"], strict=True))
        for month in range(1, 6):
            months.publish(table)
            newcomers = people(100 * month, int(draw.integers(0, 9)), 10 * trial + month)
            illness |= dict(zip(newcomers["tag"], newcomers["illness"], strict=True))
            stay = pl.Series(draw.random(table.height) > 0.07)
            table = pl.concat([table.filter(stay), newcomers])
        sets = months.singled_out()
        assert len(sets) > 8, "the releases tell nothing apart, so nothing is tested"
        assert min(map(len, sets.values())) >= K
        if least:
            assert min(len({illness[tag] for tag in tags}) for tags in sets.values()) >= least
        assert Ledger(folder / "ledger").verify() == []


@pytest.mark.slow
def test_who_has_all_releases_is_thought_of_by_the_risk_of_each(tmp_path: Path) -> None:
    """He looks for a person in a class; classes are counted here by the serial numbers of rows."""
    months, raised = Months(tmp_path), False
    table = people(0, 60, 5)
    for month in range(1, 5):
        release = months.publish(table).release
        sizes = [len(tags) for of, tags in months.singled_out().items() if of[-1] is not None]
        decided = release.method["decision"]
        assert (decided["classes"], decided["rows_of_smallest_class"]) == (len(sizes), min(sizes))
        for attack in (ProsecutorAttack(), IdentificationAttack()):
            found = attack.run(release, table)
            assert found.worst is not None
            assert found.worst.probability >= 1 / min(sizes) - 1e-9
            assert found.success.value >= len(sizes) / release.rows - 1e-9
            raised = raised or any("has all releases" in note for note in found.notes)
        table = pl.concat([table[4:], people(100 * month, 6, month)])
    assert raised


@pytest.mark.slow
def test_an_engine_on_disk_keeps_the_promise_too(tmp_path: Path) -> None:
    """The same marks and draws, wherever the rows are; months may change engines."""
    pytest.importorskip("duckdb")
    months = Months(tmp_path, engine="duckdb", l=2)
    table = people(0, 60, 2)
    months.publish(table)
    months.publish(pl.concat([table[2:], people(100, 7, 3)]))
    months.engine = "polars"
    months.publish(pl.concat([table[3:], people(100, 7, 3)]))
    sets = months.singled_out()
    assert len(sets) > 5
    assert min(map(len, sets.values())) >= K
    assert Ledger(tmp_path / "ledger").verify() == []


def test_publishing_afresh_singles_people_out(tmp_path: Path) -> None:
    """The brute force above finds what it looks for where no series keeps the promise."""
    months = Months(tmp_path, series=None, record_key=None, group_size=None)
    table = people(0, 60, 1)
    months.publish(table)
    months.publish(table[1:])
    assert min(map(len, months.singled_out().values())) < K


def test_a_group_shows_what_it_first_showed_when_people_at_its_borders_leave(
    tmp_path: Path,
) -> None:
    """Nothing that is published of those who stay changes from month to month."""
    months = Months(tmp_path)
    table = people(0, 60, 3)
    months.publish(table)
    months.publish(table.filter(pl.col("age") < pl.col("age").max()))
    before, now = (r.drop("group", "illness") for r in months.releases)
    assert now.height >= 40
    assert now.join(before, on=before.columns, how="anti").is_empty()


@pytest.mark.parametrize("k", [2, 3])
def test_every_division_of_a_class_keeps_k_on_both_sides(k: int) -> None:
    """For every size of a class and every number of leavers, k or none stay and k or none go."""
    before, left = np.array([(n, gone) for n in range(k, 12) for gone in range(n + 1)]).T
    stayers = _stayers_to_withhold(before, before - left, k)
    gone = left + stayers
    staying = before - gone
    assert ((left > 0) | (gone == 0)).all()
    assert ((gone == 0) | (gone >= k)).all()
    assert ((staying == 0) | (staying >= k)).all()
    fewest = np.where(left == 0, 0, np.maximum(k, left))
    assert (gone[before - fewest >= k] == fewest[before - fewest >= k]).all()


@pytest.mark.parametrize(
    "values", ["aabbb", "aaaabb", "aabbcc", "aaaaab", "aaabcd", "aabbccdd", "abcdef"]
)
@pytest.mark.parametrize("leavers", [1, 2, 3])
@pytest.mark.parametrize("k", [2, 3])
def test_who_goes_with_the_leavers_does_not_tell_their_values(
    values: str, leavers: int, k: int
) -> None:
    """By enumeration of all draws: l values on both sides, each row a leaver's equally likely."""
    n, least = len(values), 2
    names = sorted(set(values))
    rows = np.array([values.count(name) for name in names])
    enough = np.maximum(k, _enough_rows(np.zeros_like(rows), rows, 1, least))
    company = int(_stayers_to_withhold(np.array([n]), np.array([n - leavers]), enough)[0])
    chance: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for left in combinations(range(n), leavers):
        draws = list(combinations([i for i in range(n) if i not in left], company))
        for drawn in draws:
            gone = sorted([*left, *drawn])
            stay = [values[i] for i in range(n) if i not in gone]
            assert len(gone) >= k
            assert len({values[i] for i in gone}) >= least
            assert not stay or (len(stay) >= k and len(set(stay)) >= least)
            for i in left:
                chance[tuple(values[i] for i in gone)][values[i]] += Fraction(1, len(draws))
    for seen, found in chance.items():
        for value, weight in found.items():
            assert weight / sum(found.values()) == Fraction(seen.count(value), len(seen))


@pytest.mark.slow
def test_rows_that_change_or_come_back_are_shown_no_more(tmp_path: Path) -> None:
    """Their new rows would be the same persons' in other groups."""
    months = Months(tmp_path)
    table = people(0, 60, 5)
    months.publish(table)
    changed = table.with_columns(
        town=pl.when(pl.col("id") == "p7").then(pl.lit("Du")).otherwise("town"),
        age=pl.when(pl.col("id") == "p7").then(20).otherwise("age"),
    )
    months.publish(changed.filter(pl.col("id") != "p8"))
    made = months.publish(changed)
    for shown in months.releases[1:]:
        assert not {"t7", "t8"} & set(shown["tag"])
    assert any("not shown, for good" in notice for notice in made.private.notices)


@pytest.mark.slow
def test_few_newcomers_wait_and_are_shown_with_the_next(tmp_path: Path) -> None:
    """Their number alone decides it."""
    months = Months(tmp_path)
    table = people(0, 40, 6)
    months.publish(table)
    table = pl.concat([table, people(100, K - 1, 7)])
    assert months.publish(table).private.held == K - 1
    made = months.publish(pl.concat([table, people(200, 1, 8)]))
    assert made.private.held == 0
    assert {"t100", "t101", "t200"} <= set(months.releases[-1]["tag"])


@pytest.mark.slow
def test_newcomers_who_lack_diversity_are_never_shown(tmp_path: Path) -> None:
    """Shown with later ones, they would be known to share a value."""
    months = Months(tmp_path, l=2)
    table = people(0, 40, 6)
    months.publish(table)
    alike = people(100, K, 7).with_columns(illness=pl.lit("gout"))
    months.publish(pl.concat([table, alike]))
    months.publish(pl.concat([table, alike, people(200, 9, 8)]))
    assert not {"t100", "t101", "t102"} & set(months.releases[-1]["tag"])
    assert "t200" in set(months.releases[-1]["tag"])


@pytest.mark.slow
def test_a_release_that_was_lost_costs_nothing(tmp_path: Path) -> None:
    """Nobody saw who was new in it, or who went, so the next release may show them."""
    months = Months(tmp_path)
    table = people(0, 40, 6)
    months.publish(table)
    ledger = Ledger(tmp_path / "ledger")
    more = pl.concat([table[1:], people(100, 9, 7)])
    pending = prepare_release(
        more, plan(), None, ledger=tmp_path / "ledger", randomness=Randomness.secure()
    )
    pending.transaction.commit(pending.publication)
    ledger.lose("months", pending.publication.release.release_id)
    assert ledger.verify() == []
    months.publish(more)
    assert {f"t{i}" for i in range(100, 109)} <= set(months.releases[-1]["tag"])
    assert months.releases[-1].height >= more.height - K + 1
    assert min(map(len, months.singled_out().values())) >= K
    assert ledger.verify() == []


@pytest.mark.slow
def test_the_ledger_tells_of_groups_that_last(tmp_path: Path) -> None:
    """How many there are, and how many rows are not shown again; no ranges, for there are none."""
    months = Months(tmp_path)
    table = people(0, 40, 6)
    months.publish(table)
    months.publish(table[1:])
    done = CliRunner().invoke(ledger_command, ["show", "--ledger", str(tmp_path / "ledger")])
    assert done.exit_code == 0, done.output
    assert "groups that last" in done.output
    assert "sum of ranges" not in done.output
    assert int(done.output.splitlines()[-1].split()[-1]) >= K


def test_the_check_finds_classes_that_lost_few_or_gained_some() -> None:
    """What a release is measured with knows nothing of how it was decided."""

    def blocks(**sizes: int) -> Blocks:
        number = ExactNumbers(np.array([int(name[1:]) for name in sizes]), 0)
        rows = np.array(list(sizes.values()))
        return Blocks(number, number, rows, rows, np.zeros(len(rows), np.int64))

    before = blocks(c0=9, c1=6)
    assert not list(departure_breaches(before, blocks(c0=6, c2=3), 3))
    assert list(departure_breaches(before, blocks(c0=7, c1=6), 3))
    assert list(departure_breaches(before, blocks(c0=9, c1=2), 3))
    assert list(departure_breaches(before, blocks(c0=10, c1=6), 3))
    assert list(departure_breaches(None, blocks(c0=2), 3))


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"record_key": None}, "needs record_key"),
        ({"t": 0.2}, "leave them out"),
        ({"l": {"value": 2, "kind": "entropy"}}, "leave them out"),
        ({"algorithm": "flash"}, "levels for all rows at once"),
        ({"suppression_limit": 0.1}, "leave suppression_limit out"),
        ({"series": None}, "record_key is of use in a series only"),
    ],
)
def test_what_a_series_cannot_keep_is_refused(
    tmp_path: Path, asked: dict[str, Any], words: str
) -> None:
    """The message says what, and why."""
    with pytest.raises(PlanError, match=words):
        Months(tmp_path, **asked).publish(people(0, 40, 1))


def test_persons_with_several_rows_are_refused(tmp_path: Path) -> None:
    """Their rows arrive in different months, and whoever knows a person intersects their groups."""
    method = plan().method
    assert method is not None
    parameters = dict(method.parameters)
    document = {"roles": {"person": "who", "quasi_identifiers": ["age"], "sensitive": []}}
    table = people(0, 40, 1).with_columns(who=pl.col("id"))
    asked = parse_plan(document | {"method": {"name": "generalization", **parameters}})
    with pytest.raises(PlanError, match="several rows"):
        voile.make_release(table, asked, tmp_path / "out", ledger=tmp_path / "ledger")


def test_terms_that_change_and_keys_that_repeat_are_refused(tmp_path: Path) -> None:
    """Neither another k, nor two rows of one key; and too few newcomers alone have no release."""
    months = Months(tmp_path)
    table = people(0, 40, 1)
    months.publish(table)
    with pytest.raises(RefusedError, match="the method's parameters"):
        voile.make_release(table, plan(k=4), tmp_path / "x", ledger=tmp_path / "ledger")
    with pytest.raises(TableError, match="record key"):
        months.publish(pl.concat([table, table[:1]]))
    with pytest.raises(InfeasibleError, match="no group of an earlier release is left"):
        months.publish(people(500, 2, 1).vstack(table[:1]))


@pytest.mark.parametrize(
    ("l", "told"),
    [
        (4, "column 'illness': l = 4 cannot be reached, the best is l = 3. Ask for less"),
        (3, "group_size"),
    ],
)
def test_a_series_that_cannot_begin_names_the_column(tmp_path: Path, l: int, told: str) -> None:
    """With what can be had of it; and says nothing of earlier releases, for there are none."""
    table = people(0, 40, 1)
    if l == 3:  # all three illnesses stand in the table, and one of them in a single group
        rare = pl.when(pl.arange(40) == 0).then(pl.lit("gout")).otherwise(pl.lit("flu"))
        table = table.with_columns(illness=pl.when(pl.arange(40) == 1).then(pl.lit("cold"))
                                   .otherwise(rare), age=pl.arange(20, 60))  # fmt: skip
        table = table.with_columns(age=pl.when(pl.arange(40) == 1).then(59).otherwise("age"))
    with pytest.raises(InfeasibleError) as refused:
        Months(tmp_path, l=l).publish(table)
    assert told in str(refused.value)
    assert "earlier release" not in str(refused.value)


def test_marks_are_read_by_the_names_of_columns(tmp_path: Path) -> None:
    """A plan that names quasi-identifiers in another order shows the same of old groups."""
    table = people(0, 30, 1)
    turned = plan()
    turned = replace(turned, roles=replace(turned.roles, quasi_identifiers=("town", "age")))
    first, second = (
        voile.make_release(table, one, ledger=tmp_path / "ledger", seed=1).release.to_native()
        for one in (turned, plan())
    )
    columns = ["tag", "age.low", "age.high", "town"]
    assert first.select(columns).sort("tag").equals(second.select(columns).sort("tag"))


def test_marks_that_do_not_name_columns_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A series of an earlier Voile numbered them in the order of its plan, which nobody noted."""
    place = {"age": 0, "town": 1}

    def numbered(column: str) -> tuple[str, str, str]:
        return tuple(f"\1{what} {place[column]}" for what in ("low", "high", "share"))

    table, ledger = people(0, 30, 1), tmp_path / "ledger"
    with monkeypatch.context() as earlier:
        earlier.setattr(matching, "_shown_names", numbered)
        voile.make_release(table, plan(), ledger=ledger, seed=1)
    with pytest.raises(RefusedError, match=r"begun by an earlier Voile.*names of the columns"):
        voile.make_release(table, plan(), ledger=ledger, seed=1)


def test_a_clock_that_goes_back_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Releases follow each other in time, and the message says which one came before."""
    months = Months(tmp_path)
    table = people(0, 70, 4)
    months.publish(table)
    monkeypatch.setattr(
        "voile.publish.generalization.publisher.now", lambda: "2001-01-01T00:00:00+00:00"
    )
    with pytest.raises(RefusedError, match=r"release 1 was made at .* set the clock right"):
        months.publish(table)
