"""The plug-in of pytest that the tests of all distributions load: profiles, order, fixtures.

Where the checkout is that the tests belong to.

How many examples a property is tried on: fewer by ``make test`` than by ``make slow``.

Profiles of Hypothesis say it, in ``conftest``: ``voile``, and ``long`` for the slow suite, which
tries every property again.  A property that is cheap says a number of its own.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Generator, Iterator
from decimal import Context, localcontext
from pathlib import Path

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

from voile_testing.desk import desk

__all__ = ["LONG", "QUICK", "ROOT", "SOURCES", "desk", "examples"]


ROOT = Path(__file__).parents[4]
"""The folder with ``packages``, ``docs`` and ``benchmarks``."""
SOURCES = tuple(sorted(path.parent for path in ROOT.glob("packages/*/src/*/__init__.py")))
"""The folders of the packages that the distributions install."""


QUICK, LONG = 10, 100
"""Examples of a property that says nothing else."""


def examples(number: int) -> int:
    """So many in the slow suite, and elsewhere the share that the profile takes, at least 10."""
    return max(min(number, 10), number * settings.default.max_examples // LONG)


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


def _pytest_collection_finish() -> None:
    """Let Python look seldom for garbage, and not among what stays to the end.

    A process that has collected thousands of tests holds millions of objects, and would spend more
    time on looking through them than on some rooms.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Keep the tests of a file in one process, in their order.

    What a module starts once (a service, a chain, a browser) or compiles first is not started or
    compiled by every process then.
    """
    from xdist.scheduler import LoadFileScheduling  # noqa: PLC0415 - a plug-in

    config.option.loadscopereorder = False
    return LoadFileScheduling(config, log)


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
