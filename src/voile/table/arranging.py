"""How the rows of a release stand, and that the names of its columns are free.

The order of published rows is a function of what they show: by group, and within a group by
their contents.  Neither the order of the private rows nor any draw can be read from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from voile.errors import TableError
from voile.table.dictionary import Codes, DictionaryColumn, sort_rows

__all__ = ["arrange", "require_free_names"]


def arrange(group: Codes, groups: int, columns: Sequence[DictionaryColumn]) -> list[Codes]:
    """Group and codes of the published rows, sorted; rows of group -1 are left out.

    ``group`` has shape (n,) and numbers below ``groups``.
    """
    coded = [(group, groups)]
    coded += [(column.codes, len(column.values)) for column in columns]
    if (group < 0).any():
        published = group >= 0
        coded = [(codes[published], distinct) for codes, distinct in coded]
    return sort_rows(coded)


def require_free_names(published: Sequence[str], made: Mapping[str, str]) -> None:
    """Raise ``TableError`` where a name that a release makes is that of a published column.

    ``made`` says for each name what it is needed for.
    """
    for name, purpose in made.items():
        if name in published:
            msg = f"column {name!r}: the release needs this name for {purpose}; rename the column"
            raise TableError(msg)
