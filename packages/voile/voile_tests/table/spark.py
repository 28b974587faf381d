"""Spark for tests: one session a process, on this machine alone; tests skip where it cannot be."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import given, settings

from voile.table.engines.spark.engine import SparkEngine

T = TypeVar("T")

WARNINGS = (
    "ignore:PySpark does not yet fully support pandas",
    "ignore::ResourceWarning",  # sockets of the bridge to Java, which live as long as the process
)
"""What Spark's own libraries warn of, which is none of ours."""


def ignoring_warnings_of_spark(test: T) -> T:
    """A mark of a test that works with Spark."""
    for each in WARNINGS:
        test = pytest.mark.filterwarnings(each)(test)
    return test


JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""A compiler and a collector of garbage that suit a few minutes of small tables."""
QUICK = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
}
"""Without what pays only on large tables: code of its own for each question, and plans in steps."""


def missing() -> str | None:
    """What keeps Spark from running here; None: nothing."""
    if find_spec("pyspark") is None:
        return "PySpark is absent (pip install 'voile[spark]')"
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java", path=f"{home}/bin" if home else None) is None:
        return "Java is absent"
    return None


needs_spark = pytest.mark.skipif(missing() is not None, reason=missing() or "")


@cache
def engine() -> SparkEngine:
    """The engine of this process, with two tasks at once."""
    options = f"--driver-memory 1g --driver-java-options '{JAVA}'"
    os.environ.setdefault("PYSPARK_SUBMIT_ARGS", f"{options} pyspark-shell")
    made = SparkEngine("local[2]")
    # Workers import functions of tests, wherever the test that starts Spark stands.
    with pytest.MonkeyPatch.context() as patch:
        for place in (4, 2):  # test modules go by their place below the checkout, helpers do not
            patch.setenv("PYTHONPATH", str(Path(__file__).parents[place]), prepend=os.pathsep)
        session = spark()
    for name, value in QUICK.items():
        session.conf.set(name, value)
    return made


def spark() -> Any:
    """The session of this process."""
    return SparkEngine("local[2]")._session.spark


@contextmanager
def settings_of_spark(**values: object) -> Iterator[None]:
    """Settings of the session, with underscores for dots, for as long as a test runs."""
    engine()
    conf = spark().conf
    named = {"spark.sql." + name.replace("_", "."): str(value) for name, value in values.items()}
    before = {name: conf.get(name) for name in named}
    for name, value in named.items():
        conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            conf.set(name, value)


def on_few_examples(number: int) -> Any:
    """Make a class try its inherited properties on so many examples, in any suite.

    An example that takes a thousandth of a second elsewhere takes Spark half of one.
    """

    def made(suite: type) -> type:
        for name in dir(suite):
            test = getattr(suite, name)
            if name.startswith("test_") and hasattr(test, "hypothesis"):
                of = test.hypothesis
                again = given(**of._given_kwargs)(of.inner_test)
                again.pytestmark = getattr(test, "pytestmark", [])
                setattr(suite, name, settings(max_examples=number)(again))
        return suite

    return made
