"""Voile publishes where only what all operating systems have is there."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

TABLE = """patient,age,sex,zip,illness
P1168,30,f,00120,appendicitis
P1329,59,m,00213,pneumonia
P1123,28,m,00257,asthma
P1134,29,m,00178,appendicitis
P1213,41,m,00120,pneumonia
P1019,42,m,00178,fracture
"""
PLAN = """[roles]
person = "patient"
quasi_identifiers = ["age", "sex", "zip"]
sensitive = ["illness"]
[columns.age]
bounds = [0, 110]
[columns.zip]
type = "text"
prefix = [3]
[method]
name = "generalization"
k = 3
"""
RUN = """
import voile_testing.without_posix, sys
from voile_base.main import main
main(sys.argv[1:])
"""


def test_a_table_is_published_without_what_only_posix_has(tmp_path):
    """The command publishes a table, and checks it again, with those modules and calls absent."""
    (tmp_path / "few.csv").write_text(TABLE)
    (tmp_path / "few.toml").write_text(PLAN)
    for call in (
        ["publish", "few.csv", "--plan", "few.toml", "--out", "release", "--ledger", "one.ledger"],
        ["recount", "release"],
    ):
        run = subprocess.run(
            [sys.executable, "-c", RUN, *call],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 0, run.stderr
    assert len((tmp_path / "release" / "data.csv").read_text().splitlines()) == 7
