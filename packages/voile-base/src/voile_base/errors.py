"""One tree of errors.

    VoileError                    exit status
    |-- InputError                2   the call, the plan or the data is wrong
    |   |-- PlanError             2   ... the plan, or a parameter of a publisher
    |   |-- TableError            2   ... the table, its file or one of its columns
    |   |-- QueryError            2   ... a query on a release
    |   `-- OutOfMemoryError      2   ... the work does not fit into this machine's memory
    |-- InfeasibleError           3   no release with this guarantee exists, or none was found
    `-- RefusedError              4   publishing would break a promise already made
        `-- LedgerError           4   the ledger cannot vouch for the promises it should hold

Every message says what is wrong, where, and what to do about it.  No message carries a value
of a private table: positions (a file, a column, a row number) and counts only.  There are two
exceptions, which tell the custodian what to mend: an infeasible plan names the parameters that
would do, and a hierarchy that does not cover its column names one value that it misses.

Anything that is not a ``VoileError`` is a fault of Voile and exits with status 1, except where it
says that memory ran out: that is a call for more than the machine has, and exits with status 2.
Where an allocation fails inside a compiled library that cannot go on, the operating system ends the
process, and nobody is left to say so; nothing stands at its place then either.
"""

from __future__ import annotations

import errno
import re
import traceback
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import ClassVar

__all__ = [
    "InfeasibleError",
    "InputError",
    "LedgerError",
    "OutOfMemoryError",
    "PlanError",
    "QueryError",
    "RefusedError",
    "TableError",
    "VoileError",
    "nearest",
    "place_in_toml",
    "place_of_fault",
    "refuse_out_of_memory",
    "says_out_of_memory",
]


_OUT_OF_MEMORY = (
    "memory ran out; give the process more of it (a larger machine, a higher limit, other programs "
    "ended), or less to do: fewer columns or rows, Parquet in place of CSV, fewer --jobs"
)
_SAYS_SO = re.compile(
    r"os error 12\b|out of memory|memory allocation|cannot allocate memory|failed to map segment",
    re.IGNORECASE,
)
"""In the words of the operating system and its loader, Arrow, Polars and DuckDB."""
_DEEPEST = 16
"""Exceptions behind each other that are looked at: one may stand behind itself."""


class VoileError(Exception):
    """Base of every error that a caller can act upon; ``exit_status`` is the process's."""

    exit_status: ClassVar[int] = 1


class InputError(VoileError):
    """The call, the plan or the input is wrong."""

    exit_status = 2


class PlanError(InputError):
    """The plan, or a parameter of a publisher, is wrong."""


class TableError(InputError):
    """The table, its file, or one of its columns is wrong."""


class EmptyTableError(TableError):
    """The table has columns and no row."""


class QueryError(InputError):
    """A query cannot be answered from a release."""


class OutOfMemoryError(InputError):
    """The work does not fit into this machine's memory, or into what the process may take of it."""

    def __init__(self, message: str = _OUT_OF_MEMORY) -> None:
        super().__init__(message)


class InfeasibleError(VoileError):
    """No release with this guarantee exists for this data, or none was found."""

    exit_status = 3


class RefusedError(VoileError):
    """Publishing would break a promise already made: an earlier release, a spent budget."""

    exit_status = 4


class LedgerError(RefusedError):
    """The ledger is unreadable, inconsistent, or was changed by another publisher."""


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint such as ``; did you mean 'salary'?``, or nothing where no known name is near."""
    match = get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"; did you mean {match[0]!r}?" if match else ""


def place_in_toml(error: ValueError) -> str:
    """Where a document is not TOML: "line 3, column 7", or "end of document".

    The other words of ``tomllib`` may quote the document, which may hold secrets.
    """
    found = re.search(r"\(at ([^()]*)\)$", str(error))
    return found[1] if found else "a place that is not known"


def place_of_fault(error: BaseException) -> str:
    """What an unexpected exception is and where it was raised: "KeyError in plans.py, line 7".

    Its message may quote a private value, so it is not shown.
    """
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {Path(frame.filename).name}, line {frame.lineno}"


def says_out_of_memory(error: BaseException) -> bool:
    """Whether an exception says that memory ran out.

    Python, NumPy, Numba and Arrow raise a ``MemoryError``; the operating system and Polars say it
    in the number or the words of another, which may stand behind one more.
    """
    if isinstance(error, VoileError):
        return isinstance(error, OutOfMemoryError)
    behind: BaseException | None = error
    for _ in range(_DEEPEST):
        if behind is None:
            return False
        numbered = isinstance(behind, OSError) and behind.errno == errno.ENOMEM
        if numbered or isinstance(behind, MemoryError) or _SAYS_SO.search(str(behind)):
            return True
        behind = behind.__cause__ or behind.__context__
    return False


def refuse_out_of_memory(error: BaseException) -> None:
    """Raise ``OutOfMemoryError`` where an exception says so, before it is taken for another."""
    if says_out_of_memory(error):
        raise OutOfMemoryError from None
