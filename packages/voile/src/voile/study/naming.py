"""Messages that name the file they are about: the plan's, with its key, or the table's.

Methods, criteria and hierarchies say what is wrong and with which column or parameter; they know
no files.  Here, where both files are known, each message is led by the file in which the reader
mends it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from voile.schema.plan import Plan
from voile.table.places import Address, place_of
from voile_base.errors import InfeasibleError, OutOfMemoryError, PlanError, TableError, VoileError

__all__ = ["file_of", "naming_files"]

_COLUMN = re.compile(r"column '([^']+)'(: )?")


def file_of(source: Any) -> str:
    """The file or the address of a table, as messages name it; empty for a data frame."""
    return str(place_of(source)) if isinstance(source, str | Path | Address) else ""


@contextmanager
def naming_files(plan: Plan, table: str) -> Iterator[None]:
    """Lead what is wrong with a plan by its file and key, and with a table by its file.

    ``table`` is what ``file_of`` says.  The errors stay what they are.
    """
    try:
        yield
    except OutOfMemoryError:
        raise
    except (PlanError, InfeasibleError) as error:
        _lead(error, plan.source, _with_key)
        raise
    except TableError as error:
        _lead(error, table, str)
        raise


def _lead(error: VoileError, file: str, told: Any) -> None:
    message = str(error)
    if file and file not in message:
        error.args = (f"{file}: {told(message)}",)


def _with_key(message: str) -> str:
    """What is said of a plan, led by the table of the plan that it is about."""
    if message.startswith("["):
        return message
    column = _COLUMN.match(message)
    if column is None:
        return f"[method] {message}"
    rest = message[column.end() :] if column[2] else message
    return f"[columns.{column[1]}] {rest}"
