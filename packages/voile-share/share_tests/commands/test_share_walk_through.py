"""The walk-through of the documentation, typed as it stands, from an empty folder to a link."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

import httpx2 as httpx
import pytest

from voile_share import protocol
from voile_testing.plugin import ROOT
from voile_testing.processes import PATIENCE, wait_until

PAGE = ROOT / "docs" / "sharing-service.md"
HEADING = "## From an empty folder to a link that opens"
PORT = "8080"
SERVE = "voile share serve service"
IN_THE_BACKGROUND = f"""\
{SERVE} --port {PORT} 2> service.log &
server=$!
trap 'kill $server; wait $server' EXIT
until curl -s -o healthy http://127.0.0.1:{PORT}/healthz; do
    kill -0 $server
    sleep 0.1
done
"""
"""In place of another terminal."""
THEN_WAIT = """
touch typed
until [ -e opened ]; do
    kill -0 $server
    sleep 0.1
done
"""
"""The service ends with the script, and by then the link was opened."""

pytestmark = pytest.mark.skipif(
    not all(map(shutil.which, ("bash", "curl", "jq"))), reason="needs bash, curl and jq"
)


def commands() -> str:
    """Everything that the page says to type, in order."""
    section = PAGE.read_text(encoding="utf-8").partition(f"{HEADING}\n")[2].partition("\n## ")[0]
    typed = [part.partition("\n```")[0] for part in section.split("```text\n")[1:]]
    assert typed.count(SERVE) == 1
    return "\n".join(typed)


@pytest.mark.slow
def test_the_walk_through_ends_in_a_link_that_opens(tmp_path):
    """Each command of the page succeeds, and the address at the end reads the truck's report."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
    script = commands().replace(SERVE, IN_THE_BACKGROUND).replace(PORT, port)
    with (tmp_path / "said").open("w") as said, typing(script + THEN_WAIT, tmp_path, said) as typed:
        wait_until(lambda: typed.poll() is not None or (tmp_path / "typed").exists())
        told = (tmp_path / "said").read_text()
        assert typed.poll() is None, told
        address = (tmp_path / "customer.txt").read_text().strip()
        assert told.splitlines()[-1] == address
        opened(address)
        (tmp_path / "opened").touch()
        assert typed.wait(PATIENCE) == 0
    assert "stopped" in (tmp_path / "service.log").read_text()


@contextmanager
def typing(script: str, folder: Path, said: TextIO):
    """A shell in a folder, which is ended with all that it has started."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    shell = subprocess.Popen(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": path},
        stdout=said,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        yield shell
    finally:
        with suppress(ProcessLookupError):
            os.killpg(shell.pid, signal.SIGKILL)
        shell.wait()


def opened(address: str) -> None:
    """What a browser does with the address: fetch the page and the report, and decrypt it."""
    page, _, behind = address.partition("#")
    number, _, fragment = behind.partition(".")
    with httpx.Client(headers={"authorization": f"Bearer {number}"}, trust_env=False) as http:
        assert http.get(page).status_code == 200
        link = protocol.ReaderLink.from_fragment(fragment)
        now = int(time.time())
        slots = [now // 300 * 300, now // 300 * 300 - 300]
        bodies = [http.get(page.removesuffix("/t") + f"/api/v1/slots/{one}") for one in slots]
    framed = next(answer.content for answer in bodies if answer.content)
    report = framed[4 : 4 + int.from_bytes(framed[:4])]
    _, sighting = protocol.Reader(link).read(report, now + 300)
    assert sighting is not None
    assert sighting.level < 2, "the destination was told, so it is nearer than the far position"
    assert sighting.position.latitude == pytest.approx(52.03, abs=0.2)
