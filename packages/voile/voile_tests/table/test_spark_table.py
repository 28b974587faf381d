"""Spark keeps the contract of all engines, as far as it says more than that of the kernel.

Counts, decisions and laws of noise are one code for all engines, and releases are compared row for
row; what is left are marks of rows, what is left out or empty, and messages with numbers of rows.
"""

from __future__ import annotations

import polars as pl
import pytest

from voile.schema.plan import Plan
from voile.table.keeping import KeptRows
from voile.table.opening import open_frame
from voile.table.private import PrivateTable
from voile.table.published import PublishedTable
from voile_tests.table.engine_contract import EngineContract
from voile_tests.table.spark import WARNINGS, engine, needs_spark, on_few_examples

pytestmark = [needs_spark, pytest.mark.slow, *map(pytest.mark.filterwarnings, WARNINGS)]

TRIED = {
    "test_a_bad_record_key_is_refused",
    "test_a_column_that_is_not_numeric_is_refused",
    "test_a_record_key_finds_changes",
    "test_a_release_may_be_empty",
    "test_a_row_that_is_a_group_stays",
    "test_a_sample_is_a_function_of_the_rows",
    "test_groups_that_show_the_same_are_one",
    "test_held_rows_are_marked_and_not_published",
    "test_identifiers_do_not_reach_a_release",
    "test_missing_rows_are_counted",
    "test_missing_values_are_treated_as_declared",
    "test_nothing_private_shows",
    "test_numbers_match_by_value",
    "test_published_groups_are_counted",
    "test_reports_at_one_time",
    "test_row_numbers_count_dropped_rows",
    "test_rows_are_rolled_up",
    "test_rows_left_out_are_carried_over",
    "test_rows_of_earlier_releases_are_found",
    "test_the_best_rows_and_their_box_are_found",
    "test_values_outside_public_bounds_are_refused",
    "test_vehicles_have_marks_and_days",
}


@on_few_examples(1)
class TestSparkTable(EngineContract):
    """Rows in data frames."""

    def open(
        self,
        frame: pl.DataFrame,
        plan: Plan,
        *,
        record_key: str | None = None,
        carried: KeptRows | None = None,
    ) -> PrivateTable:
        return open_frame(frame, plan, record_key=record_key, carried=carried, engine=engine())

    def rows_of(self, published: PublishedTable) -> pl.DataFrame:
        shown: pl.DataFrame = published.to_native()
        return shown


for name in dir(TestSparkTable):
    if name.startswith("test_") and name not in TRIED:
        setattr(TestSparkTable, name, None)
