"""Spark keeps the contract of the kernel."""

from __future__ import annotations

import pytest

from voile.table.protocol import Engine
from voile_tests.table.kernel_contract import KernelContract
from voile_tests.table.spark import WARNINGS, engine, needs_spark, on_few_examples

pytestmark = [needs_spark, pytest.mark.slow, *map(pytest.mark.filterwarnings, WARNINGS)]


@on_few_examples(2)
class TestSparkRows(KernelContract):
    """Rows in data frames."""

    def engine(self) -> Engine:
        return engine()
