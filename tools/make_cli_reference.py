"""Write docs/reference/cli.md from the commands themselves, so that it cannot drift.

``python tools/make_cli_reference.py`` writes the page; with ``--check`` it only compares, and
exits with status 1 where the page differs from the commands.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from voile_base.main import command

__all__ = ["PAGE", "reference"]

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "cli.md"
_HEAD = """\
# The command line

Written by `make docs` from the commands themselves; do not edit it by hand.

Data goes to files and messages go to standard error. `--json` prints one JSON document on
standard output, and nothing else is written there.

| exit status | meaning |
|---|---|
| 0 | done |
| 1 | a fault of Voile |
| 2 | the call, the plan or the input is wrong |
| 3 | infeasible: no release with this guarantee exists for this data, or none was found |
| 4 | refused, or the verdict is no: a promise would be broken, or a criterion is not met |
| 130 | interrupted from the keyboard |

The number of an exit status and the names of commands and options do not change their meaning
from one version to the next; the wording of messages may.
"""


def reference() -> str:
    """The page as it should be."""
    root = click.Context(command, info_name="voile")
    return "\n".join([_HEAD, *_sections(command, root)]) + "\n"


def _sections(group: click.Group, context: click.Context) -> Iterator[str]:
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        assert found is not None, "a group lists the commands it has"
        below = click.Context(found, info_name=name, parent=context)
        yield _section(found, below)
        if isinstance(found, click.Group):
            yield from _sections(found, below)


def _section(described: click.Command, context: click.Context) -> str:
    path = context.command_path
    usage = " ".join([path, *described.collect_usage_pieces(context)])
    parts = [f"## {path}", f"```text\n{usage}\n```", _prose(described.help or "")]
    options = [p for p in described.get_params(context) if isinstance(p, click.Option)]
    records = [option.get_help_record(context) for option in options if "--help" not in option.opts]
    rows = [f"| `{_cell(names)}` | {_cell(meaning)} |" for names, meaning in filter(None, records)]
    if rows:
        parts.append("\n".join(["| option | meaning |", "|---|---|", *rows]))
    return "\n\n".join(parts) + "\n"


def _prose(text: str) -> str:
    """Paragraphs of a docstring, one line each."""
    paragraphs = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|")


@click.command()
@click.option("--check", is_flag=True, help="Compare only; status 1 where the page has drifted.")
def main(*, check: bool) -> None:
    """Write docs/reference/cli.md, or check it."""
    wanted = reference()
    if not check:
        PAGE.parent.mkdir(parents=True, exist_ok=True)
        PAGE.write_text(wanted, encoding="utf-8")
    elif not PAGE.is_file() or PAGE.read_text(encoding="utf-8") != wanted:
        click.echo(f"{PAGE} has drifted from the commands; run `make docs`", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
