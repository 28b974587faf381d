"""One tree of errors.

    VoileError                    exit status
    |-- InputError                2   the call, the plan or the data is wrong
    |   |-- PlanError             2   ... the plan, or a parameter of a publisher
    |   |-- TableError            2   ... the table, its file or one of its columns
    |   `-- QueryError            2   ... a query on a release
    |-- InfeasibleError           3   no release with this guarantee exists, or none was found
    `-- RefusedError              4   publishing would break a promise already made
        `-- LedgerError           4   the ledger cannot vouch for the promises it should hold

Every message says what is wrong, where, and what to do about it.  No message carries a value
of a private table: positions (a file, a column, a row number) and counts only.  There are two
exceptions, which tell the custodian what to mend: an infeasible plan names the parameters that
would do, and a hierarchy that does not cover its column names one value that it misses.

Anything that is not a ``VoileError`` is a fault of Voile and exits with status 1.
"""

from __future__ import annotations

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
    "PlanError",
    "QueryError",
    "RefusedError",
    "TableError",
    "VoileError",
    "nearest",
    "place_in_toml",
    "place_of_fault",
]


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


class QueryError(InputError):
    """A query cannot be answered from a release."""


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
