"""Spark on a cluster of this machine: a master and two workers, and a Connect server."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import polars as pl
import pytest

from voile.release.recounting import read_recounted
from voile.schema.plan import parse_plan
from voile.study.run import make_release
from voile_base.randomness import Randomness
from voile_testing.plugin import SOURCES
from voile_testing.processes import wait_until
from voile_tests.study.test_crashes import require_sound
from voile_tests.table.spark import JAVA, needs_spark
from voile_tests.table.test_engines_agree import KEPT, people

pytestmark = [needs_spark, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
PLAN = {
    "roles": {
        "quasi_identifiers": ["age", *(name for name in KEPT if name != "clock"), "single"],
        "sensitive": ["salary"],
    },
    "nulls": "category",
    "method": {"name": "ke-anonymity", "k": 3, "e": 20},
}


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def home() -> Path:
    """Where PySpark is, with its programs."""
    found = find_spec("pyspark")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent


def surroundings(place: Path) -> dict[str, str]:
    """The environment of daemons, workers and publishers: this package, and little memory."""
    paths = [str(ROOT), *(str(source.parent) for source in SOURCES)]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_HOME": str(home()),
        "SPARK_DAEMON_MEMORY": "512m",
        "SPARK_DAEMON_JAVA_OPTS": JAVA,
        "SPARK_LOCAL_DIRS": str(place),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_WORKER_DIR": str(place / "work"),
        "PYSPARK_SUBMIT_ARGS": f"--driver-memory 512m --driver-java-options '{JAVA}' "
        f"--conf spark.executor.memory=512m --conf 'spark.executor.extraJavaOptions={JAVA}' "
        "--conf spark.sql.shuffle.partitions=4 --conf spark.sql.adaptive.enabled=false "
        "--conf spark.sql.codegen.wholeStage=false --conf spark.sql.codegen.factoryMode=NO_CODEGEN "
        "--conf spark.eventLog.enabled=true --conf spark.eventLog.compress=false "
        f"--conf spark.eventLog.dir=file:{place} pyspark-shell",
    }


@contextmanager
def daemon(place: Path, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """A program of Spark in a group of its own, which is ended as a whole."""
    with (place / f"log-{len(list(place.iterdir()))}").open("wb") as log:
        process = subprocess.Popen(
            [str(home() / "bin" / arguments[0]), *arguments[1:]],
            env=surroundings(place),
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), 1):
            return True
    except OSError:
        return False


@contextmanager
def cluster(place: Path) -> Iterator[tuple[str, int]]:
    """The address of a master with two workers, and the group of processes of one of these."""
    port, pages = free_port(), free_port()
    deploy = "org.apache.spark.deploy"
    host = ("--host", "127.0.0.1")
    shown = ("--webui-port", str(pages))
    address = f"spark://127.0.0.1:{port}"
    with daemon(
        place, "spark-class", f"{deploy}.master.Master", *host, "--port", str(port), *shown
    ):
        wait_until(lambda: answers(port))
        worker = ("spark-class", f"{deploy}.worker.Worker", *host, "-c", "1", "-m", "600m")
        with daemon(place, *worker, address) as one, daemon(place, *worker, address):
            yield address, one.pid


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table, its plan, and the release that Polars makes of it."""
    place = tmp_path_factory.mktemp("expected")
    table = place / "table"
    table.mkdir()
    frame = people().drop("clock")  # Spark reads no times of a day
    for number, start in enumerate(range(0, frame.height, 100)):
        frame.slice(start, 100).write_parquet(table / f"part-{number}.parquet")
    (place / "plan.json").write_text(json.dumps(PLAN))
    make_release(table, parse_plan(PLAN), place / "release", seed=7, engine="polars")
    return place


def published(expected: Path, place: Path, master: str, *more: object) -> int:
    """Publish on a cluster; the release holds what is expected.  Returns how much was asked."""
    out = place / "release"
    arguments = [master, expected / "table", expected / "plan.json", out, *more]
    made = subprocess.run(
        [sys.executable, "-m", "voile_tests.table.spark_publisher", *map(str, arguments)],
        env=surroundings(place),
        cwd=ROOT,
        capture_output=True,
        timeout=300,
        check=False,
    )
    assert made.returncode == 0, made.stderr.decode()[-3000:]
    rows = pl.read_parquet(expected / "release" / "data.parquet")
    listed = json.loads((out / "release.json").read_text())["data"]
    shown = pl.concat([pl.read_parquet(out / part["file"]) for part in listed])
    assert shown.equals(rows)
    assert not [each for each in out.iterdir() if each.name.startswith(".")]
    return int(made.stdout.split()[-1])


def test_a_worker_may_be_lost(expected: Path, tmp_path: Path) -> None:
    """A worker that is killed in the midst changes nothing; no key stands in the log of events."""
    with cluster(tmp_path) as (master, worker):
        published(expected, tmp_path, master, worker, 6)
    logs = [each for each in tmp_path.rglob("*") if each.is_file() and "app-" in str(each)]
    events = [each for each in logs if b"SparkListenerApplicationStart" in each.read_bytes()]
    assert events
    assert any(b"worker lost" in each.read_bytes() for each in events)
    key = Randomness.seeded(7).key("permute", "salary").secret
    for each in events:
        content = each.read_bytes()
        assert key not in content
        assert key.hex().encode() not in content
        assert b"Z\xc3\xbcrich" not in content


@contextmanager
def connect_server(place: Path, pages: int | None = None) -> Iterator[str]:
    """The address of a server of Spark Connect, which shows its pages at a port, or none."""
    port = free_port()
    shown = f"spark.ui.enabled={'false' if pages is None else 'true'}"
    service = "org.apache.spark.sql.connect.service.SparkConnectServer"
    with daemon(
        place,
        "spark-submit",
        *("--master", "local[2]", "--driver-memory", "512m", "--driver-java-options", JAVA),
        *("--conf", f"spark.connect.grpc.binding.port={port}", "--conf", shown),
        *("--conf", f"spark.ui.port={pages or 0}", "--conf", "spark.sql.shuffle.partitions=2"),
        *("--class", service, "spark-internal"),
    ) as server:
        wait_until(lambda: answers(port) or server.poll() is not None)
        yield f"sc://127.0.0.1:{port}"


needs_connect = pytest.mark.skipif(
    find_spec("grpc") is None, reason="the libraries of Spark Connect are absent"
)


@needs_connect
def test_a_server_of_spark_connect_publishes_the_same_and_keeps_no_rows(
    expected: Path, tmp_path: Path
) -> None:
    """For a client without Java; what it kept goes at the latest with the process that asked."""
    port = free_port()
    with connect_server(tmp_path, port) as address:
        published(expected, tmp_path, address)
        kept = storage(port)
    assert kept == []


def storage(port: int) -> list[Any]:
    """What a server keeps of data frames, by its pages."""
    base = f"http://127.0.0.1:{port}/api/v1/applications"
    with urlopen(base) as answer:
        application = json.load(answer)[0]["id"]
    with urlopen(f"{base}/{application}/storage/rdd") as answer:
        found: list[Any] = json.load(answer)
    return found


@needs_connect
def test_deaths_at_steps_of_committing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver that dies leaves a ledger and a release that agree, as with every engine.

    At every eighth step: ``study/test_crashes.py`` has all of them on two engines.  The drivers are
    clients of one server: each would start a Java of its own otherwise.
    """
    for name, value in surroundings(tmp_path).items():
        monkeypatch.setenv(name, value)
    with connect_server(tmp_path) as address:
        require_sound(tmp_path / "depot", f"spark@{address}", every=8)


@needs_connect
def test_the_recipe_of_spark_connect(tmp_path: Path) -> None:
    """The first recipe of docs/pipelines.md runs as it stands, and leaves a parted release."""
    page = next(p for p in Path(__file__).parents if (p / "docs" / "pipelines.md").exists())
    recipe = (page / "docs" / "pipelines.md").read_text().split("```text\n")[1].split("```")[0]
    table, plan, out = tmp_path / "table.parquet", tmp_path / "plan.toml", tmp_path / "release"
    frame = pl.DataFrame({"sex": ["f", "m"] * 20, "pay": [7 * n for n in range(40)]})
    frame.write_parquet(table)
    plan.write_text(
        '[roles]\nquasi_identifiers = ["sex"]\nsensitive = ["pay"]\n'
        '[method]\nname = "generalization"\nk = 3\n'
    )
    (tmp_path / "server").mkdir()
    with connect_server(tmp_path / "server") as address:
        said = f"address, table, plan, out = {[address, *map(str, (table, plan, out))]}\n{recipe}"
        script = tmp_path / "recipe.py"
        script.write_text(f"{said}\nprint(shown.count())\nspark.stop()\n")
        done = subprocess.run(
            [sys.executable, str(script)],
            env=surroundings(tmp_path / "server"),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    assert done.stdout.split()[-1:] == ["40"], done.stderr[-2000:]
    assert read_recounted(out).rows == 40
    assert sorted(each.name for each in (out / "data").iterdir()) == ["sex=f", "sex=m"]
