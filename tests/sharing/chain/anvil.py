"""A real node for tests: anvil, from its npm package, which is fetched once and kept."""

from __future__ import annotations

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

from voile.sharing.chain import ChainError, connect
from voile.sharing.chain.web3_chain import Web3Chain

VERSION = "1.7.1"
_MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}
_SECONDS = 30.0


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
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None
        self.chain: Web3Chain = connect(f"http://127.0.0.1:{self._port}", seconds=5)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = ["--port", str(self._port), "--silent", "--hardfork", "prague"]
        options += ["--state", str(self._folder / "state.json"), "--state-interval", "1"]
        options += ["--preserve-historical-states"]
        self._process = subprocess.Popen([str(self._program), *options], cwd=self._folder)
        end = time.monotonic() + _SECONDS
        while True:
            try:
                self.chain.head()
                return
            except ChainError:
                assert self._process.poll() is None, "the node ended"
                assert time.monotonic() < end, "the node does not answer"
                time.sleep(0.05)

    def kill(self) -> None:
        """SIGKILL: it writes nothing more."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
            self._process = None
