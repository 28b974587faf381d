"""A real node for tests: anvil, from its npm package, which is fetched once and kept."""

from __future__ import annotations

import json
import os
import platform
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Self

import pytest

from voile_share.chain import ChainError, Web3Chain
from voile_testing.processes import PATIENCE

VERSION = "1.7.1"
_MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}


def program() -> Path:
    """The node's program; skips the test, with the reason, where it cannot be had."""
    machine = _MACHINES.get(platform.machine())
    if platform.system() != "Linux" or machine is None:
        pytest.skip("the node of the tests is fetched for Linux on x86-64 and ARM alone")
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(cache) / "voile-tests" / f"anvil-{VERSION}"
    package = f"@foundry-rs/anvil-linux-{machine}"
    found = folder / "node_modules" / package / "bin" / "anvil"
    if found.exists():
        return found
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed, which fetches the node")
    # Scripts of packages are not run: the package holds the program itself.
    options = ("--no-save", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", folder)
    folder.mkdir(parents=True, exist_ok=True)
    command = [npm, "install", *map(str, options), f"{package}@{VERSION}"]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=120)
    except (subprocess.SubprocessError, OSError):
        pytest.skip("the registry of npm does not answer, from which the node is fetched")
    return found


class Anvil:
    """A node that writes its state to a file each second, and may be killed and started again."""

    def __init__(self, folder: Path) -> None:
        self._program = program()
        self._folder = folder
        self._state = folder / "state.json"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"http://127.0.0.1:{self._port}"
        self.chain: Web3Chain = Web3Chain.connect(self.url, seconds=5)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = ["--port", str(self._port), "--silent", "--hardfork", "prague"]
        options += ["--state", str(self._state), "--state-interval", "1"]
        options += ["--preserve-historical-states"]
        self._process = subprocess.Popen([str(self._program), *options], cwd=self._folder)
        end = time.monotonic() + PATIENCE
        while True:
            try:
                self.chain.head()
                return
            except ChainError:
                assert self._process.poll() is None, "the node ended"
                assert time.monotonic() < end, "the node does not answer"
                time.sleep(0.05)

    def wait_until_kept(self) -> None:
        """Until it has written to its file what it knows now."""
        written, last, end = 0, self._written(), time.monotonic() + PATIENCE
        while written < 2:  # the first may have begun before
            now = self._written()
            written, last = written + (now != last), now
            assert time.monotonic() < end, "the node does not write its state"
            time.sleep(0.05)

    def kill(self) -> None:
        """SIGKILL: it writes nothing more.

        Not in the middle of writing, which it does in place: it would not begin on half a file.
        """
        if self._process is None:
            return
        end = time.monotonic() + PATIENCE
        while not self._stopped_between_writes():
            self._process.send_signal(signal.SIGCONT)
            assert time.monotonic() < end, "the node does not end writing"
            time.sleep(0.01)
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        self._process = None

    def _stopped_between_writes(self) -> bool:
        self._process.send_signal(signal.SIGSTOP)
        while not any(mark in self._standing() for mark in (") T ", ") Z ")):
            time.sleep(0.001)
        try:
            json.loads(self._state.read_bytes() if self._state.exists() else b"{}")
        except ValueError:
            return False
        return True

    def _standing(self) -> str:
        return Path(f"/proc/{self._process.pid}/stat").read_text()

    def _written(self) -> int:
        return self._state.stat().st_mtime_ns if self._state.exists() else 0
