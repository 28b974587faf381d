"""What a command loads: a method the libraries that it needs, and no other.

Loading is most of what a small release costs: SciPy's optimization, Numba and the libraries of
other methods take longer than a (k,e) release of some hundred rows.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import click
import pytest

from voile.attack.asking import OPTIONS
from voile.attack.registry import ATTACKS
from voile.publish.registry import method_names
from voile_base.main import command

HEAVY = (
    "numba",
    "scipy.optimize",
    "scipy.sparse",
    "scipy.special",
    "narwhals",
    "rich",
    "sqlglot",
    "sklearn",
    "ortools",
    "matplotlib",
    "dp_accounting",
    "networkx",
    "osmium",
    "jinja2",
    "fastapi",
    "pyarrow.parquet",
    "pyarrow.dataset",
    "voile.attack",
    "voile.utility",
    "voile.query",
    "voile.report",
    "voile_share",
    "voile_pack.instance",
    "voile_geo.roads",
    "voile_geo.planar.noise",
)
PEOPLE = "age,zip,paid,ill\n" + "".join(
    f"{20 + i % 40},{10000 + i % 7},{1000 + 37 * i},{'abc'[i % 3]}\n" for i in range(60)
)
TRIPS = "trip,van,time,latitude,longitude\n" + "".join(
    f"{i % 3},{i % 3},{i},48.{800 + i},2.{300 + i}\n" for i in range(30)
)
ZONES = "{ south = 48, west = 2, north = 49, east = 3, rows = 1, columns = 1 }"
KNOWN = '[roles]\nquasi_identifiers = ["age"]\n'
PLANS = {
    "ke-anonymity": ('[roles]\nsensitive = ["paid"]\n', "k = 2\ne = 10"),
    "generalization": (KNOWN, "k = 2"),
    "dp-generalization": (
        KNOWN + "[columns.age]\nintervals = { widths = [80] }\n",
        "k = 5\nepsilon = 12",
    ),
    "dp-synthesis": (
        '[roles]\nquasi_identifiers = ["age"]\nsensitive = ["ill"]\n'
        "[columns.age]\nbounds = [0, 99]\nedges = [20, 40, 60]\n"
        '[columns.ill]\nvalues = ["a", "b", "c"]\n',
        "epsilon = 1\ndelta = 1e-6",
    ),
    "dp-tables": (
        '[roles]\nquasi_identifiers = ["age"]\n[columns.age]\nbounds = [0, 99]\n',
        'epsilon = 1\ntables = [["age"]]',
    ),
    "clustered-laplace": (KNOWN + "[columns.age]\nbounds = [0, 99]\n", "epsilon = 1"),
    "ranking": ('[roles]\nranking = ["paid"]\n', "k = 2\ntop = 9"),
    "m-shuffle": (
        '[roles]\nquasi_identifiers = ["age", "zip"]\nsensitive = ["paid"]\n',
        'clusters = 2\ncolumns = ["zip"]',
    ),
    "local-suppression": ('[roles]\nquasi_identifiers = ["age", "zip"]\n', "k = 3"),
    "microaggregation": ('[roles]\nquasi_identifiers = ["age", "zip"]\n', "k = 3"),
    "pram": ('[roles]\nquasi_identifiers = ["age", "zip"]\n', 'columns = ["zip"]'),
    "noise": ('[roles]\nquasi_identifiers = ["age", "zip"]\n', "amount = 0.1"),
    "rank-swapping": ('[roles]\nquasi_identifiers = ["age", "zip"]\n', "distance = 0.2"),
    "record-swapping": (
        '[roles]\nquasi_identifiers = ["age", "zip"]\n',
        'carried = ["zip"]\nrate = 0.1',
    ),
    "shuffling": ('[roles]\nquasi_identifiers = ["age"]\nsensitive = ["paid"]\n', ""),
    "flows": (
        '[roles]\nvehicle = "van"\n',
        f"epsilon = 1\nzones = {ZONES}",
    ),
    "geo-indistinguishability": ("[roles]\n", "epsilon = 0.005"),
}
MAY_LOAD = {
    "ke-anonymity": set(),
    "generalization": set(),
    "dp-generalization": {"numba"},
    "dp-synthesis": set(),
    "dp-tables": set(),
    "clustered-laplace": set(),
    "ranking": {"numba"},
    "m-shuffle": {"numba"},
    "local-suppression": set(),
    "microaggregation": {"numba"},
    "pram": set(),
    "noise": set(),
    "rank-swapping": set(),
    "record-swapping": set(),
    "shuffling": {"scipy.special"},
    "flows": {"scipy.sparse", "voile_geo.roads"},
    "geo-indistinguishability": {
        "numba",
        "scipy.sparse",
        "scipy.special",
        "voile_geo.planar.noise",
        "voile_geo.roads",
    },
}
"""Of the heavy ones."""

RUN = f"""
import json, sys
from voile_base.main import main
try:
    main(sys.argv[1:])
except SystemExit as left:
    assert not left.code, left.code
print(json.dumps([name for name in {HEAVY!r} if name in sys.modules]))
"""


def loaded(*arguments: str | Path) -> set[str]:
    """The heavy modules that a call of the command line has loaded when it ends."""
    ended = subprocess.run(
        [sys.executable, "-c", RUN, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return set(json.loads(ended.stdout.splitlines()[-1]))


QUICK = {"ke-anonymity", "generalization"}
"""The lightest and the default; a process for each of the others is for the slow suite."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "method",
    [
        name if name in QUICK else pytest.param(name, marks=pytest.mark.slow)
        for name in method_names()
    ],
)
def test_a_method_loads_what_it_needs(method: str, tmp_path: Path) -> None:
    """A release of some rows loads no library but those that are listed for its method."""
    table, plan = tmp_path / "table.csv", tmp_path / "plan.toml"
    before, parameters = PLANS[method]
    table.write_text(TRIPS if method in {"flows", "geo-indistinguishability"} else PEOPLE)
    plan.write_text(f'{before}[method]\nname = "{method}"\n{parameters}\n')
    found = loaded("publish", table, "--plan", plan, "--out", tmp_path / "out", "--seed", "1")
    assert found <= MAY_LOAD[method]


@pytest.mark.slow
def test_a_series_loads_no_more_than_a_release(tmp_path: Path) -> None:
    """Its rows are marked, matched and kept without a compiler where they are few."""
    table, plan = tmp_path / "table.csv", tmp_path / "plan.toml"
    before, parameters = PLANS["ke-anonymity"]
    table.write_text(PEOPLE)
    plan.write_text(f'{before}[method]\nname = "ke-anonymity"\n{parameters}\nseries = "staff"\n')
    for number in range(2):
        out, ledger = tmp_path / f"out {number}", tmp_path / "ledger.db"
        found = loaded("publish", table, "--plan", plan, "--out", out, "--ledger", ledger)
        assert found <= MAY_LOAD["ke-anonymity"]


ENGINES = ("numpy", "polars", "pyarrow", "pydantic", "numba", "scipy", "cryptography", "rich")
HELP = f"""
import sys
from click.testing import CliRunner
from voile_base.main import command
for name in sys.argv[1:]:
    result = CliRunner().invoke(command, [name, "--help"], catch_exceptions=False)
    assert result.exit_code == 0 and "Usage" in result.output, result.output
    heavy = [module for module in {ENGINES + HEAVY!r} if module in sys.modules]
    # The options of attacks are known without them, from a table of theirs alone.
    assert set(heavy) <= {{"voile.attack"}}, (name, heavy)
"""


@pytest.mark.slow
def test_help_loads_no_engine() -> None:
    """What a command can do is told without what does it, for every command."""
    names = [name for name in command.list_commands(click.Context(command)) if name != "share"]
    ended = subprocess.run(
        [sys.executable, "-c", HELP, *names], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr


def test_completion_loads_no_engine() -> None:
    """A shell that completes the options of a command waits for no engine."""
    script = (
        "import sys\nfrom voile_base.main import command\n"
        "from click.shell_completion import ShellComplete\n"
        "done = ShellComplete(command, {}, 'voile', '_V').get_completions(['study'], '--')\n"
        "assert '--plan' in [one.value for one in done], done\n"
        f"assert not [name for name in {ENGINES!r} if name in sys.modules]"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr


def test_the_table_of_options_is_that_of_the_fields() -> None:
    """Voile's own attacks ask for what stands in the table, in its order, and for nothing else."""
    fields = [one for name in ATTACKS.own for one in ATTACKS.fields_of(name).values()]
    asked = [field.metadata["asked"] for field in fields if "asked" in field.metadata]
    assert tuple(dict.fromkeys(asked)) == OPTIONS


KEPT = """
import gc, sys
from voile_base.ondemand import leave_loaded_out_of_searches, loaded
if sys.argv[1] == "off":
    gc.disable()
leave_loaded_out_of_searches()
loaded("voile.study.run")
print(gc.isenabled(), gc.get_freeze_count() > 10_000)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("before", "after"), [("on", "True True"), ("off", "False False")])
def test_no_garbage_is_looked_for_in_what_a_command_loads(before: str, after: str) -> None:
    """Searches leave out what was loaded, go on afterwards, and stay off where they were off."""
    ended = subprocess.run(
        [sys.executable, "-c", KEPT, before], capture_output=True, text=True, check=True
    )
    assert ended.stdout.strip() == after
