"""A server that is killed loses nothing that was finished, and the next one goes on.

``VOILE_STUDIO_KILLS`` says how often it is killed in all [default: 10].
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import httpx2 as httpx
import pytest

pytest.importorskip("fastapi")

from studio_tests.test_repeated import table
from voile.ledger import Ledger
from voile_testing import processes

KILLS = int(os.environ.get("VOILE_STUDIO_KILLS", "10"))
LONGEST = 4.0
"""Seconds until a kill, at most: a small study is at work for about as long."""
PLAN = """
[roles]
quasi_identifiers = ["age"]
sensitive = ["diagnosis"]

[columns.age]
bounds = [0, 120]

[budget]
data_set = "people"
epsilon = 10000
neighbours = "replace"

[method]
name = "clustered-laplace"
epsilon = 1
"""


class Server:
    """Studio as a process of its own group, and the browser that it let in."""

    def __init__(self, table: Path) -> None:
        command = [sys.executable, "-m", "voile", "studio", str(table), "--no-browser"]
        self._process = subprocess.Popen(
            command, stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        assert self._process.stderr is not None
        address = re.search(r"http\S+", self._process.stderr.readline())
        assert address is not None
        self._home = address[0].split("/enter")[0]
        self._browser = httpx.Client(base_url=self._home, timeout=processes.PATIENCE)
        assert self._browser.get(address[0]).status_code == 200

    def get(self, path: str) -> str:
        """A page, which is never broken."""
        answer = self._browser.get(f"/p/people/{path}")
        assert answer.status_code == 200, answer.text
        return answer.text

    def post(self, path: str, **fields: str) -> httpx.Response:
        """What a form sends."""
        headers = {"origin": self._home}
        return self._browser.post(f"/p/people/{path}", data=fields, headers=headers)

    def kill(self) -> None:
        """The server and its process group, without a warning."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._browser.close()
        assert self._process.stderr is not None
        self._process.stderr.close()


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """A small table with a plan."""
    table(tmp_path, rows=120)
    server = Server(tmp_path / "people.csv")
    ready(server, "data", "<h2>Columns</h2>")
    (tmp_path / "people.voile" / "plan.toml").write_text(PLAN)
    server.kill()
    return tmp_path / "people.csv"


def ready(server: Server, path: str, words: str) -> str:
    """Look at a page until it has some words."""
    deadline = time.monotonic() + processes.PATIENCE
    while words not in (page := server.get(path)):
        assert time.monotonic() < deadline, page
        time.sleep(0.05)
    return page


def idle(server: Server, path: str) -> str:
    """Look at a page until nothing is at work; go on with what was interrupted."""
    deadline = time.monotonic() + processes.PATIENCE
    while True:
        page = server.get(path)
        assert time.monotonic() < deadline, page
        assert "This did not work" not in page, page
        if again := re.search(r"job/(\d+)/again", page):
            server.post(f"job/{again[1]}/again")
        elif "/cancel" not in page:
            return page
        time.sleep(0.05)


def publish(server: Server) -> None:
    """Press the button of the page, if it is there."""
    page = server.get("sign")
    fields = dict(re.findall(r'name="(digest|number)" value="(\w+)"', page))
    if fields:
        server.post("release", **fields)


def attempt(server: Server) -> None:
    """Try two plans."""
    server.post("try", method="clustered-laplace", **{"clustered-laplace.epsilon": "1, 2"})


def press(server: Server, deed: Callable[[Server], None]) -> None:
    """Press a button of a server that may be killed while it answers."""
    with suppress(httpx.HTTPError, RuntimeError):  # it does not answer, or the browser is closed
        deed(server)


def finished(folder: Path) -> dict[str, bytes]:
    """What was finished: studies of tries, and everything that belongs to a release."""
    found = [
        *folder.glob("tries/*/compared/records/*.json"),
        *folder.glob("releases/[0-9]*/*/*"),
    ]
    return {str(path): path.read_bytes() for path in found if path.is_file()}


@pytest.mark.slow
def test_killed_at_random_while_trying_and_while_publishing(people: Path):
    """Nothing finished is lost, ledger and folder agree, and the next server goes on."""
    draw, folder = random.Random(2026), people.with_name("people.voile")
    for kill in range(KILLS):
        server = Server(people)
        before = finished(folder)
        pressing = threading.Thread(target=press, args=(server, publish if kill % 2 else attempt))
        pressing.start()
        time.sleep(draw.uniform(0, LONGEST))
        server.kill()
        pressing.join()
        after = finished(folder)
        assert {path: after.get(path) for path in before} == before
    server = Server(people)
    idle(server, "sign")
    idle(server, "try")
    page = idle(server, "sign")  # what waited behind the tries, too
    server.kill()
    agree(folder, page)


def agree(folder: Path, page: str) -> None:
    """Each release stands whole and was charged once, each plan tried at least once.

    A plan that a kill interrupts was charged before its draw, and is charged anew when it goes on.
    """
    releases = sorted((folder / "releases").iterdir())
    assert [path.name for path in releases] == [f"{n + 1:03}" for n in range(len(releases))]
    ids = {json.loads((path / "release" / "release.json").read_text())["release_id"]
           for path in releases}  # fmt: skip
    state = Ledger(folder / "ledger.db").budget("people")
    assert state is not None
    charged = [entry.release_id for entry in state.entries if entry.kind == "release"]
    assert len(charged) == len(set(charged))
    assert ids <= set(charged)
    tried = sum(len(json.loads(path.read_text())["points"])
                for path in folder.glob("tries/*/compared/comparison.json"))  # fmt: skip
    assert tried <= len(charged) - len(ids) <= tried + KILLS
    assert not Ledger(folder / "ledger.db").verify()
    for number in range(len(releases)):
        assert f">Release {number + 1}</h2>" in page
    for path in (folder / "tries").iterdir():
        comparison = json.loads((path / "compared" / "comparison.json").read_text())
        assert len(comparison["points"]) == 2
