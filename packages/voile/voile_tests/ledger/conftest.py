"""A series and a data set that keep their promises, to be committed, damaged and verified."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pytest

from voile.dp.accounting import PrivacyEvent
from voile.ledger import BudgetState, CarriedRows, Charge
from voile.release.history import Blocks, History, SeriesTerms, Version
from voile.schema.budget import BudgetPlan
from voile.schema.numbers import ExactNumbers
from voile.table.engines import AUTO, engine_of
from voile.table.keeping import KeptRows
from voile_tests.marks import marks_of_arrays

TERMS = SeriesTerms(
    name="salaries",
    method={"k": "2", "e": "0.5", "adversary": "union", "search": "full-cover"},
    columns={"age": "number", "salary": "number"},
    roles={"quasi_identifiers": ("age",), "sensitive": ("salary",)},
    record_key="person",
)


LIMIT = BudgetPlan("parcels", epsilon=Decimal(3))


def random_marks(count: int, version: int = 1) -> KeptRows:
    """Marks of ``count`` rows that no other row has, first published in a version."""
    words = np.frombuffer(secrets.token_bytes(16 * count), dtype=np.uint64)
    return marks_of_arrays(np.sort(words[:count]), words[count:].copy(), version)


def columns_of(kept: KeptRows) -> dict[str, list[Any]]:
    """What rows hold that are kept; nothing where there are none."""
    if not kept.height:
        return {}
    columns: dict[str, list[Any]] = kept.open(engine_of(AUTO)).to_arrow().to_pydict()
    return columns


def parcels(release_id: str, rows: int) -> KeptRows:
    """Rows that say which release left them out, and nothing else."""
    left = pl.DataFrame({"parcel": [f"left by {release_id}"] * rows})  # Arrow would load pandas
    return KeptRows.of_table(left.to_arrow())


def grown(
    history: History | None,
    *,
    blocks: int = 4,
    rows: int = 3,
    held: int = 5,
    name: str = "salaries",
) -> History:
    """The history and one more version, in which each of its blocks gains ``rows`` rows."""
    if history is None:
        history = History(replace(TERMS, name=name), secrets.token_bytes(32))
    number = history.next_number
    low = np.arange(blocks, dtype=np.int64) * 100
    version = Version(
        number=number,
        release_id=secrets.token_hex(16),
        created="2024-02-29T12:00:00+00:00",
        blocks=Blocks(
            low=ExactNumbers(low, 2),
            high=ExactNumbers(low + 50, 2),  # 0.50 wide
            rows=np.full(blocks, number * rows, dtype=np.int64),
            distinct=np.full(blocks, 2, dtype=np.int64),
            batch=np.zeros(blocks, dtype=np.int64),
        ),
        published=random_marks(blocks * rows, number),
        held=random_marks(held, number),
    )
    return history.appended(version)


def charged(
    state: BudgetState | None,
    *epsilons: str,
    limit: BudgetPlan = LIMIT,
    rows: int | None = None,
    release_id: str | None = None,
) -> Charge:
    """What a release asks of a data set: these epsilons, and to leave ``rows`` rows in its pool.

    Those rows say which release it is, and nothing else.
    """
    release_id = release_id or secrets.token_hex(16)
    return Charge(
        limit=limit,
        before=state,
        release_id=release_id,
        events=tuple(PrivacyEvent("discrete-laplace", Decimal(epsilon)) for epsilon in epsilons),
        left_out=None if rows is None else CarriedRows(release_id, parcels(release_id, rows)),
    )


@pytest.fixture(name="charged")
def charged_fixture() -> Callable[..., Charge]:
    """``charged``, for tests that cannot import this module."""
    return charged


@pytest.fixture(name="held_by")
def columns_fixture() -> Callable[[KeptRows], dict[str, list[Any]]]:
    """``columns_of``, for tests that cannot import this module."""
    return columns_of


@pytest.fixture(name="grown")
def grown_fixture() -> Callable[..., History]:
    """``grown``, for tests that cannot import this module."""
    return grown
