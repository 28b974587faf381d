"""Fixtures that all tests share."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from decimal import Context, localcontext
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.examples import LONG, QUICK

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


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real tables; tests that need it skip where it is absent."""
    beside = Path(__file__).parents[2] / "shared" / "data"
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
