"""People whose row stands as it is in a file of rows that are said to be of nobody; private.

A single row that a synthesizer has copied is too little for a rate: one person in thousands changes
none of the three risks.  It is counted instead: people whom the columns of values tell from
everybody else, and who have a row that shows just these, beside people of the control.  How many of
them chance explains is for who reads it to judge, since that hangs on how fine the columns are.

Cost: two sorts a column.
"""

from __future__ import annotations

from voile.audit.common_rows import CommonRows
from voile.audit.foreign import Foreign
from voile.release.reading.rows import People

__all__ = ["copy_notices"]

_OF_NOBODY = {"synthetic", "permuted"}


def copy_notices(foreign: Foreign, original: People, control: People | None) -> list[str]:
    """A sentence without a full stop, where somebody's row stands among rows of nobody."""
    shown = [one for one in foreign.recognised if one.how in {"exact", *_OF_NOBODY}]
    if len(shown) < 2 or not any(one.how in _OF_NOBODY for one in shown):
        return []
    columns = {one.name: one.columns[0] for one in shown}

    def copied(people: People) -> int:
        own, seen = CommonRows.of(columns, people).counts(list(columns))
        return int(((own == 1) & (seen > 0)).sum())

    count = copied(original)
    if not count:
        return []
    beside = ""
    if control is not None:
        expected = copied(control) * original.frame.height / control.frame.height
        beside = f", and of as many people of the control {expected:,.0f}"
    people = "people" if count > 1 else "person"
    has = "have" if count > 1 else "has"
    return [
        f"{count:,} {people} of the original, whom these {len(columns)} columns tell from "
        f"everybody else, {has} a row in the file that shows just that{beside}: what chance does "
        "not explain was copied, and no rate of thousands shows a few such rows"
    ]
