"""What a custodian is told of a generalization; private."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import numpy as np

from voile.publish.generalization.objective import ObjectiveName
from voile.publish.generalization.problem import AlgorithmChoice, Solution
from voile.release.release import PrivateRecord, Release
from voile.table.private import PrivateTable

__all__ = ["groups_shown", "private_record", "told_of_suppressed"]


def private_record(
    table: PrivateTable,
    release: Release,
    solution: Solution,
    objective: ObjectiveName,
    notices: Sequence[str],
) -> PrivateRecord:
    """The record of a release that was just made."""
    groups, choice = groups_shown(solution), solution.choice
    return PrivateRecord(
        rows_in=table.rows + table.dropped,
        rows_out=release.rows,
        suppressed=table.dropped + solution.suppressed,
        held=0,
        objective=_told(solution.loss),
        decision={
            **release.method["decision"],
            "groups": groups,
            "examined": solution.examined,
            **(
                {
                    "losses": {name: _told(loss) for name, loss in choice.losses.items()},
                    "bound": _told(choice.bound),
                }
                if choice
                else {}
            ),
        },
        notices=tuple(notices),
        summary=(
            f"in {groups:,} group{'s' * (groups != 1)}, {objective} {solution.loss:.6g}"
            f"{_chosen(choice)}"
        ),
    )


def told_of_suppressed(solution: Solution, rows: int, algorithm: str) -> tuple[str, ...]:
    """What is to be known of rows that were left out, and of a search that ended early."""
    notices = []
    if solution.suppressed:
        left_out = "1 row was" if solution.suppressed == 1 else f"{solution.suppressed:,} rows were"
        notices.append(
            f"{left_out} left out of {rows:,}, as suppression_limit allows; who is left out "
            "is unusual, so the release shows unusual people less often than there are"
        )
    if algorithm == "k-optimize" and not solution.proved:
        notices.append("the groups may not be the best ones: the search ended before its proof")
    return tuple(notices)


def _told(loss: float) -> str:
    return format(Decimal(repr(loss)), "f")


def _chosen(choice: AlgorithmChoice | None) -> str:
    """Which algorithm was taken, and how far it is from the best, for the custodian."""
    if choice is None:
        return ""
    return f" by {choice.algorithm}; no generalization is below {choice.bound:.6g}"


def groups_shown(solution: Solution) -> int:
    """How many groups the release shows: those that show the same are one."""
    return len(np.unique(np.column_stack([c.codes for c in solution.columns]), axis=0))
