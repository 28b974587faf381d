"""Whose a data frame is, told by the names of its class: nothing is loaded to find out."""

from __future__ import annotations

from typing import Any

__all__ = ["is_of_duckdb", "is_of_spark"]


def is_of_duckdb(frame: Any) -> bool:
    """Whether something is a relation of DuckDB."""
    return type(frame).__name__ == "DuckDBPyRelation"


def is_of_spark(frame: Any) -> bool:
    """Whether something is a data frame of Spark."""
    kind = type(frame)
    return kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.")
