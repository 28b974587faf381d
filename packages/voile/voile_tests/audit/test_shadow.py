"""Shadow releases: who is in a file, told by whoever makes releases like it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import voile
from voile.audit.beside import JointCodes
from voile.audit.counting import (
    MEMBERSHIP,
    ShadowReleases,
    _Pool,
    _ratios,
    _require_alike,
    _unlike,
    unit_of,
)
from voile.audit.examine import audit, require_same_again
from voile.audit.foreign import as_release
from voile.audit.recognition import recognise
from voile.audit.record import Inquiry
from voile.audit.risk import Risk, Setting
from voile.publish.registry import read_plan
from voile.release.reading import People
from voile.schema.plan import Plan, parse_plan
from voile.study.record import Skipped
from voile.study.rehearsal import SplitRows
from voile.table.arrays import frame_of
from voile.table.opening import published_rows
from voile_base.errors import InputError
from voile_base.randomness import Randomness
from voile_tests.audit.tables import EDUCATION, people

ROLES = {
    "person": "row",
    "quasi_identifiers": ["age", "sex", "town", "education"],
    "sensitive": ["hours", "income"],
}
DOMAINS = {
    "age": {"bounds": [18, 89], "edges": [18, 30, 45, 60, 75]},
    "sex": {"values": ["f", "m"]},
    "town": {"values": [f"t{number}" for number in range(12)]},
    "education": {"values": EDUCATION.tolist()},
    "hours": {"bounds": [0, 80], "edges": [0, 15, 25, 35, 45]},
    "income": {"bounds": [0, 43], "edges": [0, 5, 10, 20, 30]},
}


def _plan(**method: object) -> Plan:
    columns = DOMAINS if method["name"] == "dp-synthesis" else {}
    return parse_plan({"roles": ROLES, "columns": columns, "method": method})


GROUPS = _plan(name="generalization", k=5)


def _made(rows: pl.DataFrame, plan: Plan, seed: int) -> pl.DataFrame:
    staged = SplitRows(rows, None).rehearse(plan, Randomness.seeded(seed))
    release = staged.release if staged.link is None else staged.release.without(staged.link)
    return frame_of(release.table.to_arrow())


def _told(
    released: pl.DataFrame,
    plan: Plan,
    seed: int,
    *,
    rows: int = 300,
    shadows: int = 16,
    sides: tuple[pl.DataFrame, pl.DataFrame] | None = None,
) -> Risk | Skipped:
    """What shadow releases tell of a file beside an original and a control."""
    own, control = sides or (people(rows, 100 + seed), people(rows, 900 + seed))
    foreign = as_release(released, recognise(released, People(own)), {})
    both = People(own, plan), People(control, plan)
    beside = JointCodes.of(foreign, [own, control], None, unit_of(both[0]))
    setting = Setting(beside, (), None, rows, Randomness.seeded(seed))
    return ShadowReleases(released, both, plan, shadows, rows).risk(setting)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_people_of_groups_are_told(seed: int) -> None:
    """k-anonymity promises nothing of who is in the data: rows are true, and tell most people."""
    risk = _told(_made(people(300, 100 + seed), GROUPS, 77 + seed), GROUPS, seed)
    assert isinstance(risk, Risk)
    assert risk.persons is not None
    assert risk.persons > 150
    assert len(risk.rows) == risk.persons
    assert risk.control is not None
    assert risk.control.value < 0.05


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_nobody_is_told_of_a_file_of_others(seed: int) -> None:
    """Where the file is made of people of neither side, both sides are scored alike."""
    risk = _told(_made(people(300, 5_000 + seed), GROUPS, 77 + seed), GROUPS, seed)
    assert isinstance(risk, Risk)
    assert risk.persons == 0
    assert not risk.found
    assert not risk.finds_control
    assert "could not be told" in risk.notes[1]


@pytest.mark.slow
def test_people_of_a_leaking_synthesis_are_told() -> None:
    """With a budget that hides nobody and many rows of few people, some are told for sure."""
    plan = _plan(name="dp-synthesis", epsilon=1_000, delta=1e-6, rows=1_500)
    risk = _told(_made(people(150, 100), plan, 77), plan, 0, rows=150)
    assert isinstance(risk, Risk)
    assert risk.persons is not None
    assert risk.persons >= 10


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_nobody_is_told_of_a_sound_synthesis(seed: int) -> None:
    """An epsilon of 1 hides who is in the data from shadow releases, too."""
    plan = _plan(name="dp-synthesis", epsilon=1, delta=1e-6, rows=1_500)
    risk = _told(_made(people(150, 100 + seed), plan, 77 + seed), plan, seed, rows=150)
    assert isinstance(risk, Risk)
    assert risk.persons == 0


def _places(
    leak: float, seed: int, *, shadows: int = 16, count: int = 600
) -> tuple[np.ndarray, np.ndarray]:
    """Ratios of people of both sides by what is seen of each, which differs by ``leak`` with them.

    What is usual, and how much it varies, differs from person to person.
    """
    draws = np.random.default_rng(seed)
    usual, scale = draws.normal(0, 5, (count, 3)), draws.uniform(0.5, 2, (count, 1))
    inside = draws.random((shadows, count)) < 0.5
    step = leak * inside[..., np.newaxis] * np.array([1.0, 0.0, 0.5])
    seen = usual + scale * draws.normal(size=(shadows, count, 3)) + step
    file = usual + scale * draws.normal(size=(count, 3))
    file[: count // 2] += leak * np.array([1.0, 0.0, 0.5])
    ratios = _ratios(seen, inside, file)
    return ratios[: count // 2], ratios[count // 2 :]


def test_ratios_part_people_by_what_is_usual_for_each() -> None:
    """Of what differs by 3 with a person, and from person to person by more, most are parted."""
    own, other = _places(3.0, 1)
    assert np.mean(own[:, np.newaxis] > other) > 0.9


def test_ratios_of_what_tells_nothing_are_alike() -> None:
    """Without a difference the areas under the curve of 40 files vary about a half."""
    areas = [np.mean(np.subtract.outer(*_places(0.0, seed)) > 0) for seed in range(40)]
    assert abs(np.mean(areas) - 0.5) < 0.015


def test_too_few_shadow_releases_are_refused() -> None:
    """Of fewer than 8 nobody learns how much a release varies."""
    with pytest.raises(InputError, match="at least 8"):
        Inquiry(shadows=4)


def test_why_shadow_releases_are_not_made() -> None:
    """Without a method, with a small control, or with one of other people nothing is counted."""
    own, control = people(200, 1), people(200, 2)
    none = parse_plan({"roles": ROLES})
    others = control.with_columns(pl.col("age") // 2 + 18)
    for plan, sides, why in (
        (none, (own, control), "no plan says by which method"),
        (GROUPS, (own, control[:60]), "60 rows is too small beside 200"),
        (GROUPS, (own, others), "differs from the original"),
    ):
        found = _told(own, plan, 1, sides=sides)
        assert isinstance(found, Skipped)
        assert (found.name, why in found.reason) == (MEMBERSHIP, True)


def test_a_method_that_fails_on_shadows_is_told() -> None:
    """What the plan cannot publish is no membership, and the reason is the method's."""
    plan = _plan(name="generalization", k=5, l=40)
    found = _told(people(200, 3), plan, 1, rows=200)
    assert isinstance(found, Skipped)
    assert "l = 40" in found.reason


STAYS = parse_plan(
    {
        "roles": {**ROLES, "person": "patient"},
        "method": {"name": "generalization", "k": 3},
    }
)


def _stays(count: int, seed: int) -> pl.DataFrame:
    """People with two rows each, of which the second is a year older; numbers from 0 are ids."""
    once = people(count, seed).with_columns(patient=pl.int_range(count))
    return pl.concat([once, once.with_columns(pl.col("age") + 1)])


def test_ids_that_both_sides_use_are_of_different_people() -> None:
    """Each side numbers its people from 0: all rows of one stay together, and with nobody else's.

    Texts stand in dictionaries of their own on each side, as in the files of an audit.
    """
    sides = _stays(20, 1), _stays(30, 2)
    own, control = (
        side.with_columns(pl.col("town").cast(pl.Enum(side["town"].unique().sort())))
        for side in sides
    )
    pool = _Pool.of((People(own, STAYS), People(control, STAYS)), STAYS)
    assert (pool.units, pool.of_original, pool.own) == (50, 20, 40)
    assert pool.rows["patient"].n_unique() == 50
    assert pool.rows.drop("patient").equals(pl.concat(sides).drop("patient"))
    rows = pool.row_of_each(np.random.default_rng(1))
    assert sorted(pool.unit[rows]) == list(range(50))


@pytest.mark.slow
def test_persons_with_several_rows_are_told_by_one_of_them() -> None:
    """A person is in a shadow release with all rows; of a file of others nobody is told."""
    sides = _stays(150, 100), _stays(150, 900)
    for made, least, most in ((sides[0], 75, 150), (_stays(150, 5_000), 0, 0)):
        risk = _told(_made(made, STAYS, 77), STAYS, 3, rows=150, sides=sides)
        assert isinstance(risk, Risk)
        assert risk.targets == 150
        assert risk.persons is not None
        assert least <= risk.persons <= most


def test_a_plan_that_shows_a_column_otherwise_did_not_make_the_file() -> None:
    """That tells nothing of the file, and is refused, unless shadow releases vary themselves."""
    shadows = [{"age": "as intervals", "town": "as values"}] * 8
    _require_alike(shadows[0], shadows)
    _require_alike({"age": "as values", "town": "as values"}, [*shadows, {"town": "as values"}])
    for file, why in (
        ({"age": "as values", "town": "as values"}, "'age' as intervals, and the file as values"),
        ({"age": "as intervals"}, "'town' as values, and the file not at all"),
        ({**shadows[0], "sex": "as values"}, "'sex' not at all, and the file as values"),
    ):
        with pytest.raises(InputError, match=why):
            _require_alike(file, shadows)


def test_values_of_others_are_no_other_plan() -> None:
    """A file of people of neither side holds values that nobody here has, which look like noise."""
    shadows = [{"age": "as values", "town": "as values"}] * 8
    noise = {"age": "as numbers near the true ones", "town": "as sets"}
    _require_alike(noise, shadows)
    _require_alike(noise, [{"age": "as intervals", "town": "as values"}] * 8)


def test_a_file_that_fits_people_less_than_shadow_releases_is_doubted() -> None:
    """At one false alarm in a thousand: none in forty files that are one of them."""
    draws = np.random.default_rng(5)
    shown = draws.normal(10, 1, (40, 9, 30, 3)) + draws.normal(0, 0.2, (40, 9, 1, 1))
    assert all(_unlike(one[1:], one[0]) is None for one in shown)
    assert "fewer rows" in str(_unlike(shown[0][1:], shown[0][0] - 2))
    assert "more rows" in str(_unlike(shown[0][1:], shown[0][0] + 2))


@pytest.mark.slow
def test_a_release_that_says_another_plan_is_refused(tmp_path: Path) -> None:
    """A plan with another k would learn from releases that are not like the file."""
    for name, seed in (("original", 1), ("control", 2)):
        people(200, seed).write_csv(tmp_path / f"{name}.csv")
    original, control, plan = (tmp_path / n for n in ("original.csv", "control.csv", "plan.toml"))
    stated = (
        '[roles]\nperson = "row"\nquasi_identifiers = ["age", "sex", "town", "education"]\n'
        'sensitive = ["hours", "income"]\n[method]\nname = "generalization"\nk = 5\n'
    )
    plan.write_text(stated)
    voile.make_release(str(original), read_plan(plan), tmp_path / "out")
    plan.write_text(stated.replace("k = 5", "k = 9"))
    inquiry = Inquiry(200, (), quick=True, shadows=8)
    found = audit(tmp_path / "out", original, control, plan, inquiry=inquiry)
    reasons = [one.reason for one in found.risks_skipped if one.name == MEMBERSHIP]
    assert ["made with k = 5, and the plan says 9" in one for one in reasons] == [True]


@pytest.mark.slow
def test_an_audit_asks_shadow_releases_and_again_finds_the_same(tmp_path: Path) -> None:
    """The number stands in the record, and running again gives the same people."""
    for name, start in (("original", 0), ("control", 200)):
        ids = pl.Series("id", [f"P{number}" for number in range(start, start + 200)])
        people(200, 7 + start).with_columns(ids).write_csv(tmp_path / f"{name}.csv")
    plan = tmp_path / "plan.toml"
    plan.write_text(
        '[roles]\nidentifiers = ["id"]\nperson = "row"\nquasi_identifiers = ["age", "sex", "town", '
        '"education"]\nsensitive = ["hours", "income"]\n[method]\nname = "generalization"\nk = 5\n'
    )
    original, control = tmp_path / "original.csv", tmp_path / "control.csv"
    voile.make_release(str(original), read_plan(plan), tmp_path / "out")
    for inquiry, told in ((Inquiry(200, (), shadows=8), 1), (Inquiry(200, ()), 0)):
        record = audit(tmp_path / "out", original, control, plan, inquiry=inquiry)
        assert sum(risk["risk"] == MEMBERSHIP for risk in record.risks) == told
        assert record.run is not None
        assert record.run.get("shadows") == (8 if told else None)
        if told:
            require_same_again(record, tmp_path / "out", {})
    without = audit(tmp_path / "out", original, None, plan, inquiry=Inquiry(200, (), shadows=8))
    assert "there is no control" in {one.reason for one in without.risks_skipped}


def test_a_plan_that_publishes_no_row_of_a_shadow_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the plan's release that is empty, and not the file."""
    sides = people(200, 101), people(200, 901)
    file = _made(sides[0], GROUPS, 1)
    staged = SplitRows(sides[0], None).rehearse(GROUPS, Randomness.seeded(1))
    release = staged.release if staged.link is None else staged.release.without(staged.link)
    empty = replace(release, table=published_rows(frame_of(release.table.no_rows())))
    none = replace(staged, release=empty, link=None)
    monkeypatch.setattr(SplitRows, "rehearse", lambda *_: none)
    found = _told(file, GROUPS, 1, sides=sides)
    assert isinstance(found, Skipped)
    assert "publishes no row of some shadow releases" in found.reason
