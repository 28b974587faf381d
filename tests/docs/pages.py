"""Pages of the documentation, and how their examples are run.

Every page is run from top to bottom in a folder of its own, as ``voile demo --out`` leaves it: with
the example tables and plans that ship with Voile, the two releases that
``plan-without-series.toml`` makes of them as ``careless-january`` and ``careless-february``, and
the others in ``demo``.

- ```python``: executed; the blocks of one page share their names, as in one session.
- ```toml``: must be a valid plan, or a policy, or its assumptions; if its first line is
  ``# NAME.toml``, it is written to that file.
- ```console``: lines that begin with ``$ `` are commands, a backslash continues them.  ``voile``
  runs in this process, anything else in a shell.  ``$ echo $?`` shows the exit status; a command
  that is not followed by it must succeed.  Lines that follow are its output, errors included: a
  line ``...`` stands for any number of lines, and ``...`` within a line for anything.  A command
  without any such line may say what it likes.
- ```sh``, ```text``: not run.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any

from voile.policy.stated import StatedPolicy
from voile.schema.plan import parse_plan
from voile_base.main import main
from voile_share.service.options import Telemetry
from voile_testing.plugin import ROOT

__all__ = ["LANGUAGES", "PAGES", "ROOT", "Block", "Reader", "blocks_of"]

PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
LANGUAGES = ("console", "python", "sh", "text", "toml")
_FENCE = re.compile(r"```(\w*)\s*")


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    page: Path
    language: str
    line: int
    """Where the first line of its text stands in the page, from 1."""
    text: str

    @property
    def place(self) -> str:
        """The page and the line, for messages."""
        return f"{self.page.name}:{self.line}"


def blocks_of(page: Path) -> Iterator[Block]:
    """All fenced blocks of a page."""
    opened, lines = None, []
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        fence = _FENCE.fullmatch(line)
        if opened is None:
            opened, lines = (Block(page, fence[1], number + 1, ""), []) if fence else (None, [])
        elif line == "```":
            yield Block(page, opened.language, opened.line, "\n".join(lines) + "\n")
            opened = None
        else:
            lines.append(line)
    assert opened is None, f"{page.name}: the block in line {opened.line} is not closed"


def _session() -> dict[str, Any]:
    """The names of a session: a module that classes can find their names in."""
    module = ModuleType("page_of_the_documentation")
    sys.modules[module.__name__] = module
    return vars(module)


@dataclass
class Reader:
    """Somebody who types everything that a page says, in the present folder."""

    names: dict[str, Any] = field(default_factory=_session)
    status: int = 0
    """Exit status of the last command."""

    def read(self, page: Path) -> None:
        """Follow a page from top to bottom."""
        for block in blocks_of(page):
            self.follow(block)

    def follow(self, block: Block) -> None:
        """Run one block."""
        follow = {"console": self._type, "python": self._execute, "toml": self._save}
        if block.language in follow:
            follow[block.language](block)

    def _execute(self, block: Block) -> None:
        source = "\n" * (block.line - 1) + block.text
        exec(compile(source, block.page, "exec"), self.names)

    def _save(self, block: Block) -> None:
        document = tomllib.loads(block.text, parse_float=Decimal)
        if "criteria" in document:
            StatedPolicy.of_text(block.text, block.place)
        elif "telemetry" in document:  # of a service's share.toml
            Telemetry(**document["telemetry"])
        elif "assumption" not in document:
            parse_plan(document)
        name = re.match(r"# (\S+\.toml)\n", block.text)
        if name:
            Path(name[1]).write_text(block.text, encoding="utf-8")

    def _type(self, block: Block) -> None:
        commands = list(_commands(block))
        following = [line for _, line, _ in commands[1:]] + [""]
        for (number, line, expected), following_line in zip(commands, following, strict=True):
            place = f"{block.page.name}:{number}: {line}"
            if line == "echo $?":
                shown = f"{self.status}\n"
            else:
                self.status, shown = _run(line)
                said = self.status == 0 or following_line == "echo $?"
                assert said, f"{place}: exit status {self.status}\n{shown}"
            assert _fits(expected, shown), f"{place}: the output is\n{shown}"


def _commands(block: Block) -> Iterator[tuple[int, str, list[str]]]:
    """Line number, command and shown output of each command of a console block."""
    lines = list(enumerate(block.text.splitlines(), block.line))
    assert lines[0][1].startswith("$ "), f"{block.place}: a console block begins with a command"
    while lines:
        number, line = lines.pop(0)
        command = line.removeprefix("$ ")
        while command.endswith("\\"):
            command = command.removesuffix("\\") + lines.pop(0)[1].strip()
        output = []
        while lines and not lines[0][1].startswith("$ "):
            output.append(lines.pop(0)[1])
        yield number, command, output


def _run(line: str) -> tuple[int, str]:
    """Exit status and output of one command."""
    if not line.startswith("voile "):
        shell = subprocess.run(line, shell=True, capture_output=True, text=True, check=False)
        return shell.returncode, shell.stdout + shell.stderr
    arguments = shlex.split(line, comments=True)[1:]
    assert not {"|", ">", "<", ";", "&&"} & set(arguments), f"{line}: is not run by a shell"
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        try:
            main(arguments)
        except SystemExit as leave:
            status = int(leave.code or 0)
    return status, output.getvalue()


def _fits(expected: list[str], shown: str) -> bool:
    if not expected:
        return True
    lines = [r"(?:.*\n)*" if e == "..." else _pattern(e) + "\n" for e in expected]
    actual = "".join(line.rstrip() + "\n" for line in shown.rstrip("\n").split("\n"))
    return re.fullmatch("".join(lines), actual) is not None


def _pattern(line: str) -> str:
    return ".*".join(re.escape(part) for part in line.rstrip().split("..."))
