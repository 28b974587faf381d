"""Studies of a series: adversaries have its earlier releases, and know when people arrived."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import voile
from voile.schema.plan import Plan, parse_plan
from voile.study.record import StudyRecord

FIRST = {"Ann": 1000, "Bob": 2000, "Cid": 3000, "Dee": 5000, "Eli": 6000, "Ida": 7500}
SECOND = {"Eva": 3300, "Fay": 3500}
THIRD = {"Gus": 9000}


def plan(**method: Any) -> Plan:
    asked = {"name": "ke-anonymity", "k": 2, "e": 1000, "series": "pay", **method}
    roles = {"quasi_identifiers": ["who"], "sensitive": ["salary"], "person": "row"}
    return parse_plan({"roles": roles, "method": asked})


def studied(folder: Path, out: Path, **method: Any) -> StudyRecord:
    """The study of the third release, made beside the two before it or elsewhere."""
    people: dict[str, int] = {}
    ledger, asked = folder / "ledger", plan(**method)
    for number, newcomers in enumerate((FIRST, SECOND, THIRD), 1):
        people |= newcomers
        frame = pl.DataFrame({"who": list(people), "salary": list(people.values())})
        if number < 3:
            voile.make_release(frame, asked, folder / "releases" / str(number), ledger=ledger)
    attacks = ["minimality", "differencing"]
    return voile.run_study(
        frame, asked, out, ledger=ledger, attacks=attacks, known=[folder / "releases"]
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "releases").mkdir()
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("beside", [True, False])
def test_a_study_finds_who_waited_and_is_narrowed_by_it(folder: Path, beside: bool) -> None:
    """Eva and Fay were held until Gus came: they span less than e, and he has what is left."""
    out = folder / ("releases" if beside else "") / "study"
    record = studied(folder, out, batch="until-valid", search="sealed-batches")
    found = {attack["attack"]: attack for attack in record.attacks}
    assert found["minimality"]["success"]["value"] > 0
    assert any("2 people are known to have been refused" in n for n in found["minimality"]["notes"])
    assert found["differencing"]["success"]["value"] == 0


@pytest.mark.slow
def test_a_study_of_the_rule_that_tells_nothing_finds_nobody(folder: Path) -> None:
    """The adversary knows who waited all the same."""
    record = studied(folder, folder / "study", batch=2)
    found = {attack["attack"]: attack for attack in record.attacks}
    assert found["minimality"]["success"]["value"] == 0
    assert not any("not known who waited" in note for note in found["minimality"]["notes"])


def test_a_later_release_is_attacked_itself_and_not_a_rehearsal_outside_its_series(
    folder: Path,
) -> None:
    """A rehearsal has smaller groups than a release that is safe beside the one before it."""
    asked = parse_plan(
        {
            "roles": {"quasi_identifiers": ["age"], "person": "row"},
            "method": {
                "name": "generalization",
                "k": 3,
                "series": "ages",
                "record_key": "who",
            },
        }
    )
    frame = pl.DataFrame({"who": range(90), "age": [20 + number % 45 for number in range(90)]})
    ledger = folder / "ledger"
    voile.make_release(frame.head(60), asked, folder / "releases" / "1", ledger=ledger)
    record = voile.run_study(
        frame, asked, folder / "study", ledger=ledger, attacks=["identification", "prosecutor"]
    )
    found = {attack["attack"]: attack for attack in record.attacks}
    assert found["identification"]["drawn_from"] == 90
    assert "identification" not in record.evidence["rehearsed"]
    most = found["prosecutor"]["success"]["high"]
    assert found["identification"]["success"]["value"] <= most
