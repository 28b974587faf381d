"""The ``voile`` command: its subcommands, and what becomes of errors.

Data goes to files, messages to standard error, and ``--json`` makes the result machine-readable
on standard output.  Exit status: 0 done; 2 the call, the plan or the input is wrong, or needs more
memory than there is; 3 infeasible; 4 refused; 1 a fault of Voile.

Subcommands are imported when they are called, so that each starts as fast as it can; and without
looking for garbage, since what is loaded stays: that alone takes a fifteenth of a small release.
Garbage is looked for seldom afterwards; and linear algebra has one thread: where other work keeps
the cores busy, two wait for each other, and take twenty times the processor.
Plugins of Pydantic are not looked for: they would be shown the private values that are checked.
"""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
import threading
from collections.abc import Sequence
from importlib.util import find_spec
from typing import NoReturn

import click

from voile_base.errors import (
    InputError,
    OutOfMemoryError,
    VoileError,
    place_of_fault,
    says_out_of_memory,
)
from voile_base.ondemand import leave_loaded_out_of_searches, loaded
from voile_base.registry import Registry
from voile_base.version import VERSION

__all__ = ["command", "main", "run"]

_COMMANDS = {
    "attack": ("voile.cli.attack", "run the adversaries on a release"),
    "audit": ("voile.cli.audit", "judge a released file of any origin"),
    "audit-table": ("voile.cli.table", "what a published table of anybody gives away"),
    "check": ("voile.cli.check", "hold a release's evidence against a risk appetite"),
    "choose": ("voile.cli.choose", "risk against loss; the least change that meets a policy"),
    "compare": ("voile.cli.compare", "study a grid of plans side by side"),
    "demo": ("voile.cli.demo", "publish an example table twice, query it, attack it"),
    "dossier": ("voile.cli.dossier", "what was judged, on one page for those who decide"),
    "export": ("voile.cli.publish", "put a release into a Delta or an Iceberg table"),
    "inspect": ("voile.cli.inspect", "what a table holds and how exposed it is"),
    "key": ("voile.cli.sign", "make the key of a signer, or show its public part"),
    "ledger": ("voile.cli.ledger", "what has been promised so far"),
    "pack": ("voile_pack.command", "pack parcels, private or published"),
    "plan": ("voile.cli.plan", "propose a plan for a table, or hold one against it"),
    "publish": ("voile.cli.publish", "make one release"),
    "query": ("voile.cli.query", "bounds and an estimate of an aggregate, from a release alone"),
    "recount": ("voile.cli.recount", "hashes and every claim of a release, from its folder alone"),
    "share": ("voile_share.commands.share", "live locations for the parties of a parcel"),
    "sign": ("voile.cli.sign", "sign a release, its evidence, a policy and its verdict"),
    "studio": ("voile_studio.command", "all of this for one table, in a browser on this machine"),
    "study": ("voile.cli.study", "make one release, put it to the test, report on both"),
    "table": ("voile.cli.table", "tables of counts and sums, protected cell by cell"),
    "verify": ("voile.cli.sign", "whether anything was changed since it was signed"),
}
"""Of all distributions: the module and the first words of each."""
_OTHERS: Registry[click.Command] = Registry(
    group="voile.commands",
    what="a command",
    own={name: module for name, (module, _) in _COMMANDS.items()},
    offers=(),
)
"""Those of other packages, looked for where a name is none of ours."""
_GARBAGE = (20_000, 10, 10)
"""How many new objects, and rounds of the next younger ones, make it worth a search."""
_SETTINGS = {"OPENBLAS_NUM_THREADS": "1", "PYDANTIC_DISABLE_PLUGINS": "__all__"}
"""Of libraries that read them when they are imported, unless somebody has set them."""
_TIDYING = ("duckdb", "pyspark", "uvicorn")
"""Libraries that put away files or processes only when they are taken apart."""
_FAULT = 1
_INTERRUPTED = 130


class _Commands(click.Group):
    """A group whose commands stand in modules of their own, of any distribution."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for name in _OTHERS.names if name not in _COMMANDS or not _absent(name)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return _of_package(cmd_name) if cmd_name in _OTHERS else None
        if distribution := _absent(cmd_name):
            raise InputError(f"`voile {cmd_name}` is not installed: pip install {distribution}")
        members = vars(loaded(_COMMANDS[cmd_name][0])).values()
        return next(m for m in members if isinstance(m, click.Command) and m.name == cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        absent = {name: distribution for name in _COMMANDS if (distribution := _absent(name))}
        with formatter.section("Commands"):
            formatter.write_dl([(n, w) for n, (_, w) in _COMMANDS.items() if n not in absent])
        if _OTHERS.installed:
            with formatter.section("Commands of other packages"):
                formatter.write_dl([(n, _OTHERS.package_of(n)) for n in _OTHERS.installed])
        if absent:
            with formatter.section("Not installed"):
                formatter.write_dl([(n, f"pip install {where}") for n, where in absent.items()])


def _absent(name: str) -> str:
    """The distribution that has one of our commands, where it is not installed; else nothing."""
    package = _COMMANDS[name][0].partition(".")[0]
    return "" if find_spec(package) else package.replace("_", "-")


def _of_package(name: str) -> click.Command:
    """A command of another package; raises ``InputError`` where what it announces is none."""
    made = _OTHERS.announced(name)
    if not isinstance(made, click.Command):
        msg = f"the package {_OTHERS.package_of(name)} announces as command {name!r} what is none"
        raise InputError(msg)
    return made


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION)
def command() -> None:
    """Publish data that people can use without giving away anyone who is in it."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and leave the process with its exit status."""
    _set_up()
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # leave nothing half-made
    try:
        command.main(args=arguments, prog_name="voile", standalone_mode=False)
        status = 0
    except VoileError as error:
        click.echo(f"voile: {error}", err=True)
        status = error.exit_status
    except click.exceptions.Exit as leave:
        status = leave.exit_code
    except click.ClickException as error:
        error.show()
        status = error.exit_code
    except (KeyboardInterrupt, click.Abort):
        click.echo("voile: interrupted; nothing was published", err=True)
        status = _INTERRUPTED
    except SystemExit:
        raise
    except BaseException as error:  # panics of compiled libraries are no ``Exception``
        if os.environ.get("VOILE_TRACEBACK"):
            raise
        status = _said(error, sys.argv[1:] if arguments is None else arguments)
    sys.exit(status)


def run() -> NoReturn:
    """Run the command line as a process of its own, and leave without taking it apart.

    The system frees at once what a process has; to take libraries apart piece by piece is a
    twentieth of a small release.  What is to be done at the end is done.
    """
    try:
        main()
    except SystemExit as leave:
        if (
            not isinstance(leave.code, int)
            or threading.active_count() > 1
            or not sys.modules.keys().isdisjoint(_TIDYING)
        ):
            raise
        atexit._run_exitfuncs()
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except OSError:
            raise leave from None
        os._exit(leave.code)


def _said(error: BaseException, arguments: Sequence[str]) -> int:
    """Say what no error of ours has said, and give the exit status."""
    if missing := _missing(error, arguments):
        click.echo(f"voile: {missing}. Nothing was published", err=True)
        return InputError.exit_status
    if says_out_of_memory(error):
        click.echo(f"voile: {OutOfMemoryError()}. Nothing was published", err=True)
        return OutOfMemoryError.exit_status
    click.echo(_fault(error), err=True)
    return _FAULT


_EXTRAS = {
    "dp_accounting": "'voile[dp]'",
    "numba": "'voile[fast]'",
    "scipy": "'voile[evidence]'",
    "sqlglot": "'voile[query]'",
}
"""What brings a library that the distributions of commands do without."""


def _missing(error: BaseException, arguments: Sequence[str]) -> str:
    """What to install where a library is absent, which the distribution of a command brings."""
    name = (error.name or "").partition(".")[0] if isinstance(error, ImportError) else ""
    command = next((one for one in arguments if one in _COMMANDS), None)
    if not name or name.startswith("voile") or command is None:
        return ""
    package = _EXTRAS.get(name) or _COMMANDS[command][0].partition(".")[0].replace("_", "-")
    return f"`voile {command}` needs {name}, which is not installed: pip install {package}"


def _set_up() -> None:
    """Tell libraries that are loaded later what a process is for that is a command."""
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    gc.set_threshold(*_GARBAGE)
    leave_loaded_out_of_searches()


def _fault(error: BaseException) -> str:
    return (
        f"voile: a fault of Voile: {place_of_fault(error)}. Nothing was published. Please report "
        "it with these words; VOILE_TRACEBACK=1 shows more, which may include private values"
    )
