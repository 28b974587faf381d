"""Shadow releases: who is in a file, told by whoever makes releases like it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import voile
from voile.audit.beside import JointCodes
from voile.audit.counting import MEMBERSHIP, ShadowReleases, _ratios
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
    beside = JointCodes.of(foreign, [own, control], None)
    setting = Setting(beside, (), None, rows, Randomness.seeded(seed))
    both = People(own, plan), People(control, plan)
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
