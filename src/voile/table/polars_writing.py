"""Rows of Polars as files, durably and a batch at a time: they never stand in memory decoded."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
from polars.io.plugins import register_io_source

from voile.durable import sync
from voile.table.formats.registry import Format, format_named

__all__ = ["write_batches"]


def write_batches(
    batches: Iterator[pl.DataFrame], schema: pl.Schema, folder: Path, file_format: Format
) -> Path:
    """Write batches of rows, in their order, to ``data.csv``, ``data.parquet`` and so on.

    Raises ``OSError`` where the disk refuses.
    """
    path = folder / f"data.{file_format}"
    if file_format != "csv" and file_format != "parquet":  # noqa: PLR1714 - types follow this
        format_named(file_format).write(batches, schema, path)
        sync(path)
        return path

    def source(*_: Any) -> Iterator[pl.DataFrame]:
        return batches

    rows = register_io_source(source, schema=schema)
    try:
        if file_format == "csv":
            rows.sink_csv(path)
        else:
            rows.sink_parquet(path)
    except pl.exceptions.PolarsError:  # a full disk is not always an OSError to Polars
        raise OSError(errno.EIO, os.strerror(errno.EIO)) from None
    sync(path)
    return path
