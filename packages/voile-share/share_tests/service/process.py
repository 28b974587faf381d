"""``voile share serve`` in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import httpx2 as httpx

from voile_testing.processes import PATIENCE

__all__ = ["Process", "run", "set_up"]

_COMMAND = (sys.executable, "-c", "from voile_base.main import main; main()", "share")


def run(*arguments: object) -> dict:
    """The JSON that a command prints."""
    done = subprocess.run(
        [*_COMMAND, *map(str, arguments), "--json"], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def set_up(folder: Path, configuration: str = "") -> str:
    """A folder with a company; the company's token."""
    run("init", folder)
    (folder / "share.toml").write_text(configuration)
    return run("company", folder, "Post of Delft")["token"]


@dataclass
class Process:
    """A service that was started; ``log`` is what it wrote."""

    folder: Path
    options: tuple[object, ...] = ("--port", 0)
    environment: dict[str, str] = field(default_factory=dict)
    inside: tuple[object, ...] = ()
    """A command that makes surroundings for the service, and becomes it."""

    def __post_init__(self) -> None:
        self._log = (self.folder.parent / f"{self.folder.name}.log").open("a+")
        self._process = subprocess.Popen(
            [
                *map(str, self.inside),
                *(*_COMMAND, "serve", str(self.folder), *map(str, self.options), "--json"),
            ],
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env={**os.environ, **self.environment},
        )
        said = ""
        for line in self._process.stdout:
            said += line
            if line.startswith("}"):
                break
        assert said, self.log
        self.port = json.loads(said)["port"]

    @property
    def number(self) -> int:
        """That of the process."""
        return self._process.pid

    @property
    def log(self) -> str:
        return Path(self._log.name).read_text()

    def client(self, token: str | None = None, **more) -> httpx.Client:
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        return httpx.Client(
            base_url=f"http://127.0.0.1:{self.port}",
            headers=headers,
            trust_env=False,
            timeout=PATIENCE,
            **more,
        )

    def workers(self) -> set[int]:
        """Processes that it has started, but for the helper of multiprocessing."""
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
        numbers = {int(number) for number in children.read_text().split()}
        return {
            one for one in numbers if b"spawn_main" in Path(f"/proc/{one}/cmdline").read_bytes()
        }

    def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Stop it; its exit status."""
        self._process.send_signal(how)
        try:
            return self._process.wait(PATIENCE)
        finally:
            self._process.kill()
            self._process.stdout.close()
            self._log.close()
