"""``voile demo``: the whole of Voile on the example tables that ship with it.

Each step is a command that anybody can type; the demonstration runs it and shows its output.
People, stays and salaries of the examples never existed; see ``tools/make_example.py``.  Its
releases stand in a folder of their own, so that every command of the documentation can be typed.
"""

from __future__ import annotations

import contextlib
import shlex
import tempfile
from importlib.resources import files
from pathlib import Path

import click

from voile_base.errors import InputError

__all__: list[str] = []

_SERIES = "--plan plan.toml --ledger demo/payroll.ledger"
_STEPS = (
    (
        "Stays in a hospital. Who can be told apart by what a neighbour may know?",
        "inspect stays.csv --plan stays.toml",
    ),
    (
        "Publish them so that people look alike, and let adversaries try.",
        "study stays.csv --plan stays.toml --out demo/stays",
    ),
    ("What came out: who looks alike stands in one group.", "HEAD demo/stays/release/data.csv"),
    (
        "A payroll every month. Publish January, then February: the same people and forty more.",
        f"publish payroll-january.csv {_SERIES} --out demo/january",
        f"publish payroll-february.csv {_SERIES} --out demo/february",
    ),
    ("What came out: salaries are permuted within each group.", "HEAD demo/february/data.csv"),
    (
        "Sums over any set of people, with bounds that hold.",
        'query demo/february "SUM(salary)" --where "age >= 30 AND department = \'warehouse\'"',
    ),
    (
        "An adversary subtracts January from February, and finds nobody.",
        "attack demo/february --previous demo/january",
    ),
    (
        "Had the two months been published without knowing of each other:",
        "publish payroll-january.csv --plan plan-without-series.toml --out careless-january",
        "publish payroll-february.csv --plan plan-without-series.toml --out careless-february",
        "attack careless-february --previous careless-january --most 3",
    ),
)
_SHOWN = 7


@click.command("demo", short_help="Publish example tables, attack them, query them.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Keep the tables, the plans, the ledger and the releases in this new folder.",
)
def _demo(out: Path | None) -> None:
    """Study a hospital's stays, then publish, query and attack two months of a payroll."""
    if out is None:
        with tempfile.TemporaryDirectory(prefix="voile-demo-") as folder:
            _demonstrate(Path(folder))
        return
    try:
        out.mkdir(parents=True)
    except OSError as error:
        msg = f"{out}: the folder cannot be made: {error.strerror}; name one that does not exist"
        raise InputError(msg) from None
    _demonstrate(out)
    click.echo(f"Everything stands in {out}.")


def _demonstrate(folder: Path) -> None:
    for example in files("voile.cli").joinpath("example").iterdir():
        if example.name.endswith((".csv", ".toml")):
            (folder / example.name).write_bytes(example.read_bytes())
    (folder / "demo").mkdir()
    with contextlib.chdir(folder):
        for heading, *commands in _STEPS:
            click.secho(heading, bold=True)
            for line in commands:
                _run(line)
            click.echo()


def _run(line: str) -> None:
    name, *arguments = shlex.split(line)
    if name == "HEAD":
        path = Path(arguments[0])
        click.secho(f"$ head -{_SHOWN} {path}", fg="cyan")
        with path.open(encoding="utf-8") as file:
            click.echo("".join(file.readline() for _ in range(_SHOWN)), nl=False)
        return
    click.secho(f"$ voile {line}", fg="cyan")
    root = click.get_current_context().find_root().command
    root.main([name, *arguments], prog_name="voile", standalone_mode=False)
