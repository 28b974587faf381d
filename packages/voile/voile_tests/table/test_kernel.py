"""The engines keep the contract of the kernel: those of Voile, and one of plain lists."""

from __future__ import annotations

import pytest

from voile.table.engines.duckdb import DuckDBEngine
from voile.table.engines.polars import PolarsEngine
from voile.table.protocol import Engine
from voile_tests.others.plain_others.engine import PlainEngine
from voile_tests.table.kernel_contract import KernelContract


class TestPolarsRows(KernelContract):
    """Rows in memory."""

    def engine(self) -> Engine:
        return PolarsEngine()


class TestPlainRows(KernelContract):
    """Lists of Python's values."""

    def engine(self) -> Engine:
        return PlainEngine()


@pytest.mark.slow
class TestDuckDBRows(KernelContract):
    """Rows in a database."""

    _engine = DuckDBEngine()

    def engine(self) -> Engine:
        return self._engine
