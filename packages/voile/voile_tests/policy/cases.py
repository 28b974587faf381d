"""Folders of audits and studies of people of a made-up town."""

from __future__ import annotations

import tomllib
from pathlib import Path

import polars as pl
from click.testing import CliRunner, Result

from voile_base.errors import VoileError
from voile_base.main import command
from voile_tests.audit.tables import people

ORIGINAL, CONTROL = people(400, 1), people(300, 2)
PLAN = """
[roles]
quasi_identifiers = ["age", "sex", "town"]
sensitive = ["income"]
keep = ["education", "hours"]
keep_unique = ["hours"]

[columns.age]
intervals = { widths = [10, 40, 80] }

[method]
name = "generalization"
k = 11
suppression_limit = 0.1
"""


def voile(*call: object) -> Result:
    """A call of the command line, with the exit status that ``main`` gives."""
    found = CliRunner().invoke(command, [str(each) for each in call])
    if isinstance(found.exception, VoileError):
        found.exit_code = found.exception.exit_status
    return found


def audited(
    folder: Path,
    released: pl.DataFrame = ORIGINAL,
    control: pl.DataFrame = CONTROL,
    *,
    original: pl.DataFrame = ORIGINAL,
    plan: str = PLAN,
) -> Path:
    """The folder of an audit of a file."""
    original.write_csv(folder / "original.csv")
    control.write_csv(folder / "control.csv")
    released.write_csv(folder / "copy.csv")
    (folder / "plan.toml").write_text(plan)
    call = ["audit", folder / "copy.csv", "--original", folder / "original.csv"]
    call += ["--control", folder / "control.csv", "--plan", folder / "plan.toml"]
    found = voile(*call, "--targets", 100, "--out", folder / "judged")
    assert found.exit_code == 0, found.output
    return folder / "judged"


def studied(folder: Path, *more: object) -> Path:
    """The folder of a study of a k-anonymous release."""
    ORIGINAL.write_csv(folder / "original.csv")
    (folder / "plan.toml").write_text(PLAN)
    call = ["study", folder / "original.csv", "--plan", folder / "plan.toml", "--targets", 50]
    found = voile(*call, "--attacks", "prosecutor,journalist", "--out", folder / "study", *more)
    assert found.exit_code == 0, found.output
    return folder / "study"


def tick_all(folder: Path) -> None:
    """A careless human: all that is asked is ticked."""
    path = folder / "assumptions.toml"
    text = path.read_text()
    text = text.replace("ticked = false", "ticked = true").replace('by = ""', 'by = "board"')
    path.write_text(text)
    assert all(one["ticked"] for one in tomllib.loads(text)["assumption"])


def policy(folder: Path, *criteria: str, more: str = "") -> Path:
    """A policy of some criteria, each the lines of its table."""
    path = folder / "policy.toml"
    tables = "".join(f"[[criteria]]\n{one}\n" for one in criteria)
    path.write_text(f'name = "a policy"\n{tables}{more}')
    return path
