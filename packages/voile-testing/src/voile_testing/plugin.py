"""The plug-in of pytest that the tests of all distributions load: profiles, order, fixtures.

It says where the checkout is that the tests belong to, and how many examples a property is tried
on: fewer by ``make test`` than by ``make slow``.  Profiles of Hypothesis say it, in ``conftest``:
``voile``, and ``long`` for the slow suite, which tries every property again.  A property that is
cheap says a number of its own.

Its desk is a custodian's: a folder with tables, plans and releases, and the command line on it.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from collections.abc import Container, Generator, Iterable, Iterator
from dataclasses import dataclass
from decimal import Context, localcontext
from pathlib import Path

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

from voile_base.main import main

__all__ = [
    "LONG",
    "PLAN",
    "QUICK",
    "ROOT",
    "ROWS",
    "SECRETS",
    "SOURCES",
    "Desk",
    "Outcome",
    "desk",
    "examples",
    "some_slow",
]

SECRETS = ("987654321", "Wilhelmina", "Xanadu-7")
"""Values of ``ROWS`` that nothing may say."""

ROWS = (
    ("Wilhelmina", 52, "Xanadu-7", 987654321),
    ("Ann", 31, "York", 1000),
    ("Bea", 44, "York", 1200),
    ("Cid", 27, "Leeds", 1450),
    ("Dov", 38, "Leeds", 1500),
    ("Eva", 61, "York", 1900),
    ("Fay", 29, "Bath", 2100),
    ("Gus", 33, "Bath", 2350),
    ("Hal", 47, "York", 2400),
    ("Ida", 58, "Leeds", 2800),
)

PLAN = """
[roles]
identifiers = ["name"]
quasi_identifiers = ["age", "city"]
sensitive = ["salary"]

[method]
name = "ke-anonymity"
k = 2
e = 100
"""


@dataclass(frozen=True)
class Outcome:
    """How a run of the command line ended."""

    status: int
    stdout: str
    stderr: str

    @property
    def document(self):
        """The JSON document on standard output."""
        return json.loads(self.stdout)


class Desk:
    """Runs the command line in this process, in a folder of its own."""

    def __init__(self, folder: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capture = capture
        self.secrets = SECRETS

    def __truediv__(self, name: str) -> Path:
        return self.folder / name

    def csv(self, rows: Iterable[tuple[object, ...]] = ROWS, name: str = "people.csv") -> Path:
        """A table with the columns of ``ROWS``."""
        lines = [("name", "age", "city", "salary"), *rows]
        return self.file("".join(",".join(map(str, line)) + "\n" for line in lines), name)

    def file(self, content: str | bytes, name: str = "people.csv") -> Path:
        """A file with this content."""
        path = self.folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def plan(self, text: str = PLAN, name: str = "plan.toml") -> Path:
        """A plan with this text."""
        return self.file(text, name)

    def run(self, *arguments: object) -> Outcome:
        """Run ``voile`` with these arguments."""
        self._capture.readouterr()
        with pytest.raises(SystemExit) as leave:
            main([str(argument) for argument in arguments])
        captured = self._capture.readouterr()
        return Outcome(int(leave.value.code or 0), captured.out, captured.err)

    def publish(self, table: Path, *options: object, plan: Path | None = None, out: str = "out"):
        """Run ``voile publish --json``, which must succeed; the folder and the outcome."""
        plan = plan or self.plan()
        folder = self.folder / out
        done = self.run("publish", table, "--plan", plan, "--out", folder, "--json", *options)
        assert done.status == 0, done.stderr
        return folder, done

    def fails(self, status: int, *arguments: object) -> str:
        """Run ``voile``, which must end with this status and leave all files as they were.

        Returns the message, which tells no private value and is no traceback.
        """
        before = self.files()
        outcome = self.run(*arguments)
        assert outcome.status == status, outcome.stderr
        assert self.files() == before, "a run that fails writes nothing"
        assert outcome.stdout == ""
        assert "Traceback" not in outcome.stderr
        for secret in self.secrets:
            assert secret not in outcome.stderr
        return outcome.stderr

    def publish_fails(
        self,
        status: int,
        table: Path,
        *options: object,
        plan: Path | None = None,
        out: str = "never",
    ) -> str:
        """``fails`` for ``voile publish``."""
        plan = plan or self.plan()
        return self.fails(
            status, "publish", table, "--plan", plan, "--out", self.folder / out, *options
        )

    def hidden(self) -> list[Path]:
        """Hidden files and folders, such as those of a release that was not finished."""
        return list(self.folder.glob(".*"))

    def files(self) -> dict[str, bytes | None]:
        """Everything in the folder, hidden things too; folders have None for content."""
        return {
            str(path.relative_to(self.folder)): path.read_bytes() if path.is_file() else None
            for path in self.folder.rglob("*")
        }


@pytest.fixture
def desk(tmp_path, capfd) -> Desk:
    """An empty desk."""
    return Desk(tmp_path, capfd)


ROOT = Path(__file__).parents[4]
"""The folder with ``packages``, ``docs`` and ``benchmarks``."""
SOURCES = tuple(sorted(path.parent for path in ROOT.glob("packages/*/src/*/__init__.py")))
"""The folders of the packages that the distributions install."""


QUICK, LONG = 10, 15
"""Examples of a property that says nothing else, by `make test` and by `make slow`."""


def some_slow(cases: Iterable[object], slow: Container[object]) -> list[object]:
    """``cases`` as values of one parameter; those in ``slow`` are left to `make slow`."""
    return [pytest.param(c, marks=pytest.mark.slow) if c in slow else c for c in cases]


def examples(number: int) -> int:
    """So many in the slow suite, and elsewhere a fifth of them, at least 10."""
    share = 1 if settings.default.max_examples >= LONG else 5
    return max(min(number, 10), number // share)


# Properties are checked on the same examples in every run, and never against the clock.  Contract
# suites are inherited, so one property runs for several classes: examples are not replayed from a
# database, which is what ``differing_executors`` warns about.
for name, number in (("voile", QUICK), ("long", LONG)):
    settings.register_profile(
        name,
        max_examples=number,
        deadline=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.differing_executors],
    )
settings.load_profile("voile")


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Try properties of a dear implementation on fewer examples, but for the slow suite.

    A contract's properties are inherited.  The class of an implementation that takes long for each
    example says in ``quick_examples`` how many of them `make test` tries; `make slow` tries all.
    """
    most = getattr(pyfuncitem.cls, "quick_examples", None)
    test: object = pyfuncitem.function
    if most is None or settings.default.max_examples != QUICK or not is_hypothesis_test(test):
        return (yield)
    whole = test._hypothesis_internal_use_settings
    fewer = settings(whole, max_examples=min(most, whole.max_examples))
    test._hypothesis_internal_use_settings = fewer
    try:
        return (yield)
    finally:
        test._hypothesis_internal_use_settings = whole


def pytest_collection_finish() -> None:
    """Let Python look seldom for garbage, and not among what stays to the end.

    A process that has collected thousands of tests holds millions of objects, and would spend more
    time on looking through them than on some rooms.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Keep the tests of a file in one process, in their order, and those of a room.

    What a module starts once (a service, a chain, a browser) or compiles first is not started or
    compiled by every process then.  Every second process takes files from the end: two that are at
    one room would compile the same loops at the same time.
    """
    from xdist.scheduler import LoadFileScheduling  # noqa: PLC0415 - a plug-in

    class FromBothEnds(LoadFileScheduling):  # type: ignore[misc]
        def _assign_work_unit(self, node: object) -> None:
            if self.nodes.index(node) % 2:
                self.workqueue.move_to_end(next(reversed(self.workqueue)), last=False)
            super()._assign_work_unit(node)

    config.option.loadscopereorder = False
    return FromBothEnds(config, log)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real tables; tests that need it skip where it is absent."""
    beside = ROOT.parent / "shared" / "data"
    place = Path(os.environ.get("VOILE_SHARED_DATA", beside))
    if not place.is_dir():
        pytest.skip("the folder of real tables is absent (set VOILE_SHARED_DATA)")
    return place


@pytest.fixture
def usual_limits() -> Iterator[None]:
    """How deep calls may nest, and the precision of decimals, as Python begins with them.

    Libraries that other tests import (a compiler, a virtual machine) change both for good.
    """
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    with localcontext(Context(prec=28)):
        yield
    sys.setrecursionlimit(limit)
