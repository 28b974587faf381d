"""Who has made an audit, how often a file was audited, and what a second table adds."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

from voile.audit.record import AuditRecord
from voile.audit.scenarios import THE_HOLDER
from voile.ledger import Ledger
from voile.signing import new_key, public_text
from voile.study.documents import json_text, sealed
from voile_tests.policy.cases import CONTROL, ORIGINAL, PLAN, policy, voile

PASSES = 'kind = "group-size"\nleast = 1'
ONCE = PASSES + '\n\n[[criteria]]\nkind = "audits"'


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with an original, a copy of it, a control and a plan."""
    ORIGINAL.write_csv(tmp_path / "original.csv")
    ORIGINAL.write_csv(tmp_path / "copy.csv")
    CONTROL.write_csv(tmp_path / "control.csv")
    (tmp_path / "plan.toml").write_text(PLAN)
    return tmp_path


def audit(files: Path, out: str, *more: object) -> AuditRecord:
    """The record of an audit of the copy, which stands in the folder ``out``."""
    call = ["audit", files / "copy.csv", "--original", files / "original.csv"]
    call += ["--control", files / "control.csv", "--plan", files / "plan.toml"]
    found = voile(*call, "--targets", 50, "--attacks", "prosecutor", "--out", files / out, *more)
    assert found.exit_code == 0, found.output
    return AuditRecord.read(files / out / "audit.json")


@pytest.mark.slow
def test_a_record_that_was_sealed_again_is_not_the_auditors(files: Path):
    """Who edits all of it has no key; another key, and none, are refused by name."""
    key = public_text(new_key(files / "key.pem"))
    audit(files, "judged", "--key", files / "key.pem")
    stated = policy(files, PASSES)
    assert voile("check", files / "judged", "--policy", stated, "--auditor", key).exit_code == 0
    other = public_text(new_key(files / "other.pem"))
    found = voile("check", files / "judged", "--policy", stated, "--auditor", other)
    assert found.exit_code == 4
    assert f"no audit by {other}: it is signed by {key}" in str(found.exception)
    record = files / "judged" / "audit.json"
    document = json.loads(record.read_text())
    document["risks"] = []
    record.write_text(json_text(sealed(document)))
    for more in ((), ("--auditor", key)):
        found = voile("check", files / "judged", "--policy", stated, *more)
        assert found.exit_code == 4
        assert "this is not the record that its auditor has signed" in str(found.exception)


@pytest.mark.slow
def test_an_audit_without_a_signature_is_nobodys(files: Path):
    """So is one whose signature was taken from another audit."""
    key = public_text(new_key(files / "key.pem"))
    audit(files, "judged")
    audit(files, "signed", "--key", files / "key.pem", "--first", "age,sex")
    stated = policy(files, PASSES)
    found = voile("check", files / "judged", "--policy", stated, "--auditor", key)
    assert found.exit_code == 4
    assert "nobody has signed it" in str(found.exception)
    shutil.copy(files / "signed" / "auditor.json", files / "judged" / "auditor.json")
    found = voile("check", files / "judged", "--policy", stated, "--auditor", key)
    assert found.exit_code == 4
    assert "not the record that its auditor has signed" in str(found.exception)


@pytest.mark.slow
def test_a_ledger_tells_who_asks_until_a_figure_pleases(files: Path):
    """Other settings count, the same again and other files do not."""
    ledger = ("--ledger", files / "ledger.db")
    assert audit(files, "first", *ledger).earlier == ()
    stated = policy(files, ONCE)
    assert voile("check", files / "first", "--policy", stated).exit_code == 0
    same = audit(files, "again", *ledger)
    assert same.earlier is not None
    assert (len(same.earlier), same.of_this_file) == (1, ())
    assert voile("check", files / "again", "--policy", stated).exit_code == 0
    shopped = audit(files, "shopped", *ledger, "--first", "age,sex")
    assert len(shopped.of_this_file) == 2
    found = voile("check", files / "shopped", "--policy", stated)
    assert found.exit_code == 4
    assert "audited at most 0 times before" in found.output
    ORIGINAL[:-1].write_csv(files / "copy.csv")
    other = audit(files, "other", *ledger)
    assert other.earlier is not None
    assert (len(other.earlier), other.of_this_file) == (3, ())
    assert not Ledger(files / "ledger.db").verify()


@pytest.mark.slow
def test_other_draws_are_not_had_by_another_order(files: Path):
    """Rows and columns in another order, and another format, are the same file and original."""
    ledger, stated = ("--ledger", files / "ledger.db"), policy(files, ONCE)
    audit(files, "first", *ledger)
    original, shown = (pl.read_csv(files / f"{name}.csv") for name in ("original", "copy"))
    mixed = original.sample(fraction=1, shuffle=True, seed=3)
    mixed.write_csv(files / "original.csv")
    assert len(audit(files, "rows of the original", *ledger).of_this_file) == 1
    original.write_csv(files / "original.csv")
    mixed = shown.sample(fraction=1, shuffle=True, seed=3)
    mixed.select(shown.columns[::-1]).write_csv(files / "copy.csv")
    assert len(audit(files, "rows", *ledger).of_this_file) == 2
    shown.with_columns(pl.col("age").cast(pl.Float64)).write_parquet(files / "copy.csv")
    assert len(audit(files, "format", *ledger).of_this_file) == 3
    found = voile("check", files / "format", "--policy", stated)
    assert found.exit_code == 4
    assert "audited at most 0 times before" in found.output


@pytest.mark.slow
def test_without_a_ledger_nobody_says_that_it_was_the_first(files: Path):
    """A figure that is missing is no pass, and the remedy is named."""
    audit(files, "judged")
    found = voile("check", files / "judged", "--policy", policy(files, ONCE))
    assert found.exit_code == 4
    assert "run voile audit with --ledger" in found.output


@pytest.mark.slow
def test_what_a_second_table_holds_is_known(files: Path):
    """Columns are matched by name in any case; rows that stand in it, and alone, are counted."""
    roll = pl.concat([ORIGINAL[:100], ORIGINAL[:10]]).select(
        Age="age", town="town", party=pl.lit(1)
    )
    roll.write_csv(files / "roll.csv")
    record = audit(files, "judged", "--auxiliary", files / "roll.csv")
    held = set(roll.select("Age", "town").iter_rows())
    rows = list(ORIGINAL.select("age", "town").iter_rows())
    counts = [list(roll.select("Age", "town").iter_rows()).count(row) for row in rows]
    standing = sum(row in held for row in rows)
    alone = sum(count == 1 for count in counts)
    (said,) = (one for one in record.notices if "auxiliary" in one)
    assert said == (
        f"the auxiliary table has 'age', 'town' of the original: of 400 rows {standing:,} stand in "
        f"it with these values, {alone:,} in one row of it alone"
    )
    (risk,) = (one for one in record.risks if one["of"].startswith(THE_HOLDER))
    sizes = {row: rows.count(row) for row in rows}
    assert risk["main"]["value"] == pytest.approx(sum(1 / sizes[row] for row in rows) / len(rows))
    stated = policy(files, PASSES)
    again = ("check", files / "judged", "--policy", stated, "--again")
    assert voile(*again).exit_code == 0
    roll[1:].write_csv(files / "roll.csv")
    found = voile(*again)
    assert found.exit_code == 4
    assert "this is not the auxiliary that was audited" in str(found.exception)


def test_a_second_table_without_a_common_column_is_refused(files: Path):
    """Nothing is written."""
    pl.DataFrame({"party": [1, 2]}).write_csv(files / "roll.csv")
    call = ["audit", files / "copy.csv", "--original", files / "original.csv"]
    found = voile(*call, "--auxiliary", files / "roll.csv", "--out", files / "judged")
    assert found.exit_code == 2
    assert "the auxiliary table has no column of the original" in str(found.exception)
    assert not (files / "judged").exists()
