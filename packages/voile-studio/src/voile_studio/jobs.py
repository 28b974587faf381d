"""Commands that run in processes of their own, each with a folder that outlives the server.

    jobs/0003/   private
        job.json     the command, and what it is for
        lock         held by the process as long as it lives
        out, err     what the command said
        progress     the stages that it was in and when each began, a line each
        ended.json   its exit status; not there while it runs, and never if it was killed

A process does not end with the server or the browser: a release that is being made is made, and a
server that is started again finds it.  What was killed is told as interrupted; every command of
Voile either leaves nothing or goes on where it was.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from voile_base.durable import replace_private_file, write_text
from voile_base.operating_system import lock, start_holding
from voile_base.values import Document

__all__ = ["Job", "Jobs", "State", "told_as_command"]

State = Literal["running", "done", "failed", "cancelled", "interrupted"]

_PRIVATE = 0o700
_INTERRUPTED = 130
_LAST = 4_000
"""Characters of messages that are shown."""
_REMEMBERED = 2_000
_COUNTED = re.compile(r"([0-9,]+) of ([0-9,]+)")
"""Where a stage says how many of its parts are done."""
_STAMP = re.compile(r"[0-9]+\.[0-9]+")
_NUMBER = re.compile(r"[0-9]{4,9}")


def told_as_command(arguments: Sequence[str]) -> str:
    """A command as one types it."""
    return shlex.join(["voile", *arguments])


@dataclass(frozen=True)
class Job:
    """One command: running, or ended in some way."""

    folder: Path

    @property
    def number(self) -> int:
        """Its number among the jobs of the project."""
        return int(self.folder.name)

    @property
    def arguments(self) -> tuple[str, ...]:
        """The command, without ``voile``."""
        arguments: tuple[str, ...] = self._said["arguments"]
        return arguments

    @property
    def purpose(self) -> str:
        """What it is for, by which screens find it."""
        return str(self._said["purpose"])

    @property
    def about(self) -> str:
        """What of the project it was about when it was started, such as a plan's digest."""
        return str(self._said["about"])

    @property
    def command(self) -> str:
        """The command as one types it."""
        return told_as_command(self.arguments)

    @property
    def state(self) -> State:
        """Whether it runs, and if not how it ended."""
        if self._runs():
            return "running"
        status = self._status
        if status is None:
            return "interrupted"
        if status == 0:
            return "done"
        return "cancelled" if status == _INTERRUPTED else "failed"

    @property
    def stage(self) -> str:
        """What it said last of its progress."""
        return self._stages[-1][0] if self._stages else "starting"

    @property
    def _stages(self) -> list[tuple[str, float]]:
        """What it said of its progress, and when, in seconds."""
        parted = (line.rpartition("\t") for line in self._text("progress").splitlines())
        return [(said, float(at)) for said, _, at in parted if said and _STAMP.fullmatch(at)]

    @property
    def began(self) -> float:
        """When it was started, in seconds."""
        return _changed_at(self.folder / "job.json")

    @property
    def elapsed(self) -> float:
        """Seconds since it was started, or that it took."""
        return max(0.0, (_changed_at(self.folder / "ended.json") or time.time()) - self.began)

    @property
    def left(self) -> float | None:
        """Seconds that it will take yet, estimated; None where nothing tells.

        By the parts that are done since it counts them, or else by how long the newest command for
        the same purpose took.
        """
        counted = [(one, at) for said, at in self._stages if (one := _parts_of(said))]
        if counted and _parts_of(self.stage):
            ((began, _), since), ((done, parts), _) = counted[0], counted[-1]
            if began < done < parts:
                return (time.time() - since) * (parts - done) / (done - began)
        likely = next((job.elapsed for job in self._earlier() if job.state == "done"), None)
        return None if likely is None else max(0.0, likely - self.elapsed) or None

    def _earlier(self) -> Iterator[Job]:
        """Those before it that did the same for this project, the newest first."""
        kind = self.purpose.partition("-")[0]
        folders = (
            self.folder.with_name(f"{number:04}") for number in range(self.number - 1, 0, -1)
        )
        for job in map(Job, folders):
            if _begun(job.folder) and job.purpose.partition("-")[0] == kind:
                yield job

    @property
    def message(self) -> str:
        """What it said for people."""
        return self._text("err").strip()[-_LAST:]

    def output(self) -> Any:
        """The JSON document that it printed; None where it printed none."""
        try:
            return json.loads(self._text("out"))
        except ValueError:
            return None

    def cancel(self) -> None:
        """Interrupt it, as Ctrl-C does, and wait a moment until it has cleaned up."""
        if self._runs():
            with contextlib.suppress(OSError, ValueError):
                os.kill(int(self._text("pid")), signal.SIGTERM)

    @property
    def _status(self) -> int | None:
        try:
            return int(json.loads(self._text("ended.json"))["status"])
        except (ValueError, KeyError, TypeError):
            return None

    @property
    def _said(self) -> Document:
        return _said_of(self.folder / "job.json")

    def _runs(self) -> bool:
        try:
            with (self.folder / "lock").open() as held:
                lock(held, shared=True, wait=False)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def _text(self, name: str) -> str:
        try:
            return (self.folder / name).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""


class Jobs:
    """The jobs of one project."""

    def __init__(self, folder: Path, start: Path) -> None:
        """``start`` is the folder that commands run in."""
        self._folder, self._start = folder, start
        self._starting = threading.Lock()

    def all(self) -> list[Job]:
        """The newest first; what was killed before it began is none."""
        folders = sorted(self._numbers(), reverse=True)
        return [Job(folder) for _, folder in folders if _begun(folder)]

    def _numbers(self) -> list[tuple[int, Path]]:
        found = self._folder.glob("[0-9]*")
        return [(int(path.name), path) for path in found if _NUMBER.fullmatch(path.name)]

    def find(self, number: int) -> Job | None:
        """The job of a number."""
        return next((job for job in self.all() if job.number == number), None)

    def latest(self, purpose: str, about: str | None = None) -> Job | None:
        """The newest job of a purpose, and about one state of the project where one is named."""
        return next(
            (
                job
                for job in self.all()
                if job.purpose == purpose and (about is None or job.about == about)
            ),
            None,
        )

    def found(self, purpose: str) -> Document:
        """The JSON document of the newest that is done; empty where there is none."""
        done = (job for job in self.all() if job.purpose == purpose and job.state == "done")
        document = next((job.output() for job in done), None)
        return document if isinstance(document, dict) else {}

    def start(
        self,
        purpose: str,
        arguments: Sequence[str],
        about: str = "",
        before: Callable[[], None] = lambda: None,
    ) -> Job:
        """Run a command; one that is at work for the same purpose is that job.

        ``before`` is called if it is to run, while nobody else starts one; what it raises comes
        out.  Raises ``OSError`` where the disk does not take it; then nothing runs.
        """
        with self._alone():
            standing = self.latest(purpose)
            if standing is not None and standing.state == "running":
                return standing
            before()
            folder = self._new_folder()
            said = {"purpose": purpose, "about": about, "arguments": list(arguments)}
            with (folder / "lock").open("w") as held:
                lock(held)
                replace_private_file(folder / "job.json", json.dumps(said))
                child, lasting = self._spawn(folder, held.fileno())
            with contextlib.suppress(OSError):  # it runs, and only cannot be cancelled
                write_text(folder / "pid", str(child.pid), private=True)
            # It waits, so that no ended process is left behind, and ends with the server.
            threading.Thread(target=_await, args=(child, lasting), daemon=True).start()
            return Job(folder)

    def record(
        self, purpose: str, arguments: Sequence[str], about: str, document: Document
    ) -> None:
        """Keep what a command would print, where another one found it out already."""
        with self._alone():
            folder = self._new_folder()
            replace_private_file(folder / "out", json.dumps(document))
            replace_private_file(folder / "ended.json", json.dumps({"status": 0}))
            said = {"purpose": purpose, "about": about, "arguments": list(arguments)}
            replace_private_file(folder / "job.json", json.dumps(said))

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """While nobody else starts a command: no other tab, and no other server on the project."""
        with self._starting:
            self._folder.mkdir(exist_ok=True, parents=True, mode=_PRIVATE)
            with (self._folder / "starting").open("w") as held:
                lock(held)
                yield

    def _spawn(self, folder: Path, held: int) -> tuple[subprocess.Popen[bytes], int | None]:
        command = [sys.executable, "-m", "voile.cli.job", str(folder.resolve())]
        with (folder / "out").open("wb") as out, (folder / "err").open("wb") as err:
            return start_holding(command, held, self._start, out, err)

    def _new_folder(self) -> Path:
        number = 1 + max((number for number, _ in self._numbers()), default=0)
        folder = self._folder / f"{number:04}"
        folder.mkdir(mode=_PRIVATE)
        return folder


def _await(child: subprocess.Popen[bytes], lasting: int | None) -> None:
    """Until a process ends; then its lock ends, where it could not hold it itself."""
    child.wait()
    if lasting is not None:
        os.close(lasting)


def _parts_of(stage: str) -> tuple[int, int] | None:
    """How many parts are done, and of how many, where a stage says so."""
    counted = _COUNTED.search(stage)
    return None if counted is None else (_number(counted[1]), _number(counted[2]))


def _number(text: str) -> int:
    return int(text.replace(",", "") or 0)


def _changed_at(path: Path) -> float:
    """When a file was written, in seconds; 0 where it is not there."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _begun(folder: Path) -> bool:
    try:
        _said_of(folder / "job.json")
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return True


def _said_of(path: Path) -> Mapping[str, object]:
    """What a job is; raises ``OSError`` or what reading of a broken file does."""
    found = path.stat()
    return _read(path, (found.st_ino, found.st_mtime_ns))


@lru_cache(maxsize=_REMEMBERED)
def _read(path: Path, state: tuple[int, int]) -> Document:
    """The same, read once for each state of the file."""
    del state
    said = json.loads(path.read_text(encoding="utf-8"))
    return {
        "purpose": str(said["purpose"]),
        "about": str(said["about"]),
        "arguments": tuple(str(argument) for argument in said["arguments"]),
    }
