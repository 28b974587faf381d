"""Servers that the tests of stores share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


def running() -> Iterator[object]:
    pytest.importorskip("psycopg", reason="psycopg is absent: install voile-share[postgres]")
    from voile_testing.processes import PostgresServer  # noqa: PLC0415 - an extra

    server = PostgresServer()
    try:
        server.start()
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="session")
def postgres() -> Iterator[object]:
    """A server for all tests of a process; it starts within a second."""
    yield from running()


@pytest.fixture
def mortal_postgres() -> Iterator[object]:
    """A server of the test's own, to be killed."""
    yield from running()
