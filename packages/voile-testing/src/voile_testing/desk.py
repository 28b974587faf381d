"""A custodian's desk: a folder with tables, plans and releases, and the command line on it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest

from voile_base.main import main

__all__ = ["PLAN", "ROWS", "SECRETS", "Desk", "Outcome", "desk"]

SECRETS = ("987654321", "Wilhelmina", "Xanadu-7")
"""Values of ``ROWS`` that nothing may say."""

ROWS = (
    ("Wilhelmina", 52, "Xanadu-7", 987654321),
    ("Ann", 31, "York", 1000),
    ("Bea", 44, "York", 1200),
    ("Cid", 27, "Leeds", 1450),
    ("Dov", 38, "Leeds", 1500),
    ("Eva", 61, "York", 1900),
    ("Fay", 29, "Bath", 2100),
    ("Gus", 33, "Bath", 2350),
    ("Hal", 47, "York", 2400),
    ("Ida", 58, "Leeds", 2800),
)

PLAN = """
[roles]
identifiers = ["name"]
quasi_identifiers = ["age", "city"]
sensitive = ["salary"]

[method]
name = "ke-anonymity"
k = 2
e = 100
"""


@dataclass(frozen=True)
class Outcome:
    """How a run of the command line ended."""

    status: int
    stdout: str
    stderr: str

    @property
    def document(self):
        """The JSON document on standard output."""
        return json.loads(self.stdout)


class Desk:
    """Runs the command line in this process, in a folder of its own."""

    def __init__(self, folder: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capture = capture
        self.secrets = SECRETS

    def __truediv__(self, name: str) -> Path:
        return self.folder / name

    def csv(self, rows: Iterable[tuple[object, ...]] = ROWS, name: str = "people.csv") -> Path:
        """A table with the columns of ``ROWS``."""
        lines = [("name", "age", "city", "salary"), *rows]
        return self.file("".join(",".join(map(str, line)) + "\n" for line in lines), name)

    def file(self, content: str | bytes, name: str = "people.csv") -> Path:
        """A file with this content."""
        path = self.folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def plan(self, text: str = PLAN, name: str = "plan.toml") -> Path:
        """A plan with this text."""
        return self.file(text, name)

    def run(self, *arguments: object) -> Outcome:
        """Run ``voile`` with these arguments."""
        self._capture.readouterr()
        with pytest.raises(SystemExit) as leave:
            main([str(argument) for argument in arguments])
        captured = self._capture.readouterr()
        return Outcome(int(leave.value.code or 0), captured.out, captured.err)

    def publish(self, table: Path, *options: object, plan: Path | None = None, out: str = "out"):
        """Run ``voile publish --json``, which must succeed; the folder and the outcome."""
        plan = plan or self.plan()
        folder = self.folder / out
        done = self.run("publish", table, "--plan", plan, "--out", folder, "--json", *options)
        assert done.status == 0, done.stderr
        return folder, done

    def fails(self, status: int, *arguments: object) -> str:
        """Run ``voile``, which must end with this status and leave all files as they were.

        Returns the message, which tells no private value and is no traceback.
        """
        before = self.files()
        outcome = self.run(*arguments)
        assert outcome.status == status, outcome.stderr
        assert self.files() == before, "a run that fails writes nothing"
        assert outcome.stdout == ""
        assert "Traceback" not in outcome.stderr
        for secret in self.secrets:
            assert secret not in outcome.stderr
        return outcome.stderr

    def publish_fails(
        self,
        status: int,
        table: Path,
        *options: object,
        plan: Path | None = None,
        out: str = "never",
    ) -> str:
        """``fails`` for ``voile publish``."""
        plan = plan or self.plan()
        return self.fails(
            status, "publish", table, "--plan", plan, "--out", self.folder / out, *options
        )

    def hidden(self) -> list[Path]:
        """Hidden files and folders, such as those of a release that was not finished."""
        return list(self.folder.glob(".*"))

    def files(self) -> dict[str, bytes | None]:
        """Everything in the folder, hidden things too; folders have None for content."""
        return {
            str(path.relative_to(self.folder)): path.read_bytes() if path.is_file() else None
            for path in self.folder.rglob("*")
        }


@pytest.fixture
def desk(tmp_path, capfd) -> Desk:
    """An empty desk."""
    return Desk(tmp_path, capfd)
