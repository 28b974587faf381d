"""Spark on this machine, as a measurement needs it: a cluster of two workers, and Connect."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

from benchmarks.data import NotHereError

__all__ = ["Cluster", "cluster", "connect_server", "require_spark", "surroundings"]

_HOST = "127.0.0.1"
_MEMORY = "1g"
_PATIENCE = 90.0
"""Seconds for a program of Spark to answer."""


class Cluster:
    """A master and its workers, each in a group of processes of its own."""

    def __init__(self, master: str, place: Path) -> None:
        self.master = master
        self._place = place
        self._workers: list[subprocess.Popen[bytes]] = []

    def start_worker(self) -> None:
        """One more worker of one core."""
        worker = "org.apache.spark.deploy.worker.Worker"
        more = ("--host", _HOST, "-c", "1", "-m", "2g", "--webui-port", f"{_free_port()}")
        self._workers.append(_daemon(self._place, "spark-class", worker, *more, self.master))

    def newest(self) -> int:
        """The group of processes of the worker that was started last."""
        return self._workers[-1].pid

    def end(self) -> None:
        """End what was started here."""
        for each in self._workers:
            _end(each)


def require_spark() -> None:
    """Raise ``NotHereError`` where Spark cannot run."""
    if find_spec("pyspark") is None or shutil.which("java") is None:
        msg = "PySpark or Java is absent (pip install 'voile[spark]', and Java 17)"
        raise NotHereError(msg)


def surroundings(place: Path, *, executor: str = _MEMORY, driver: str = "2g") -> dict[str, str]:
    """The environment of daemons and of processes that publish; they spill below ``place``."""
    here = Path(__file__).parents[1]
    home = _home()
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([*map(str, here.glob("packages/*/src")), f"{here}"]),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_HOME": f"{home}",
        "SPARK_DAEMON_MEMORY": "512m",
        "SPARK_LOCAL_DIRS": f"{place}",
        "SPARK_LOCAL_IP": _HOST,
        "SPARK_WORKER_DIR": f"{place / 'work'}",
        "TMPDIR": f"{place}",
        "PYSPARK_SUBMIT_ARGS": f"--driver-memory {driver} --conf spark.executor.memory={executor} "
        "--conf spark.sql.shuffle.partitions=4 pyspark-shell",
    }


@contextmanager
def cluster(place: Path, workers: int = 2) -> Iterator[Cluster]:
    """A master with some workers, which end with the block."""
    address = f"spark://{_HOST}:{_free_port()}"
    master = "org.apache.spark.deploy.master.Master"
    port = address.rpartition(":")[2]
    arguments = ("--host", _HOST, "--port", port, "--webui-port", f"{_free_port()}")
    process = _daemon(place, "spark-class", master, *arguments)
    made = Cluster(address, place)
    try:
        _wait(int(port), process)
        for _ in range(workers):
            made.start_worker()
        yield made
    finally:
        made.end()
        _end(process)


@contextmanager
def connect_server(place: Path) -> Iterator[str]:
    """The address of a server of Spark Connect that works on this machine."""
    port = _free_port()
    service = "org.apache.spark.sql.connect.service.SparkConnectServer"
    process = _daemon(
        place,
        "spark-submit",
        *("--master", "local[2]", "--driver-memory", "2g", "--class", service),
        *("--conf", f"spark.connect.grpc.binding.port={port}", "--conf", "spark.ui.enabled=false"),
        *("--conf", "spark.sql.shuffle.partitions=4", "spark-internal"),
    )
    try:
        _wait(port, process)
        yield f"sc://{_HOST}:{port}"
    finally:
        _end(process)


def _home() -> Path:
    found = find_spec("pyspark")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind((_HOST, 0))
        return int(taken.getsockname()[1])


def _daemon(place: Path, program: str, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [f"{_home() / 'bin' / program}", *arguments],
        env=surroundings(place),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _wait(port: int, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until and process.poll() is None:
        with suppress(OSError), socket.create_connection((_HOST, port), 1):
            return
        time.sleep(0.2)
    msg = "a program of Spark did not start"
    raise RuntimeError(msg)
