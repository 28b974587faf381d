"""What commands share: progress on a terminal, JSON and tables, and options of several of them."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from decimal import Decimal
from pathlib import Path
from typing import TextIO

import click

from voile_base.ondemand import on_demand

__all__ = [
    "as_json",
    "nodes_option",
    "print_json",
    "print_table",
    "progress",
    "say",
    "telling_what_is_done",
]

rich = on_demand("rich.console")
rich_table = on_demand("rich.table")
rich_text = on_demand("rich.text")

_NO_TERMINAL = 160
"""Width of tables that go to a file or a pipe."""

as_json = click.option("--json", "as_json", is_flag=True, help="Result as JSON on standard output.")
nodes_option = click.option(
    "--nodes",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The table of nodes that a table of edges refers to.",
)
"""Completes ``--roads``."""


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """Show the present stage on a terminal, and nothing elsewhere.

    A program that started this one finds it in the file that ``VOILE_PROGRESS`` names, with the
    time in seconds.
    """
    if told := os.environ.get("VOILE_PROGRESS"):
        with open(told, "a", encoding="utf-8") as file:
            yield lambda stage: _tell(file, stage)
        return
    if not sys.stderr.isatty():
        yield lambda stage: None
        return
    with rich.Console(stderr=True).status("starting") as status:
        yield status.update


def _tell(file: TextIO, stage: str) -> None:
    file.write(f"{stage}\t{time.time():.3f}\n")
    file.flush()


def print_json(document: object) -> None:
    """One JSON document on standard output."""
    click.echo(json.dumps(document, indent=2, ensure_ascii=False))


def print_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A table on standard output; columns of numbers are flush right, None is left empty."""
    console = rich.Console(markup=False, highlight=False)
    if not console.is_terminal:
        console = rich.Console(markup=False, highlight=False, width=_NO_TERMINAL)
    table = rich_table.Table(box=None, pad_edge=False)
    for index, name in enumerate(columns):
        numeric = all(isinstance(row[index], int | float | Decimal | None) for row in rows)
        table.add_column(rich_text.Text(name), justify="right" if numeric else "left")
    for row in rows:
        table.add_row(*(rich_text.Text(_cell(value)) for value in row))
    console.print(table)


def _cell(value: object) -> str:
    match value:
        case None:
            return ""
        case bool() | str():
            return str(value)
        case int() | float() | Decimal():
            return f"{value:,}" if not isinstance(value, Decimal) else f"{value:,f}"
        case _:
            return str(value)


@contextmanager
def telling_what_is_done(done: str) -> Iterator[None]:
    """Tell of a deed that stands: a closed pipe, a full disk or an interrupt cannot undo it.

    ``done`` is one sentence, said on standard error where telling more has failed.
    """
    try:
        yield
        sys.stdout.flush()
    except (OSError, UnicodeError, KeyboardInterrupt, MemoryError):
        with suppress(OSError, ValueError):
            # What is still in the buffer would fail once more when the process ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        with suppress(OSError, UnicodeError):
            say(f"voile: {done}, but not all about it could be shown.")


def say(message: str) -> None:
    """A message for people, on standard error."""
    click.echo(message, err=True)
