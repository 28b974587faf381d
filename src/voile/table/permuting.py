"""Publishing rows with some columns permuted, each by itself, within groups of rows.

A column that is permuted uniformly within groups shows nothing of its rows but the multiset of its
values in each group.  So these multisets are what is drawn from: sorted, and then permuted by a
keyed function of the place.  The columns that stay are sorted on their own.  Neither side knows
in which order the private rows came, and what is published depends on that order in nothing.

Cost for n rows, s columns that stay and m that are permuted: a sort of n rows of as many machine
words as hold the s columns; for each permuted column a count of its values by group (a sort, where
these pairs are many) and one exchange a row; a look-up a row and column.  Two columns are permuted
at a time.  Memory: the codes once more, and two rows of machine words a row on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import polars as pl

from voile.randomness import Randomness
from voile.table.arranging import arrange, require_free_names
from voile.table.binding import BoundColumns
from voile.table.grouping import RowGroups
from voile.table.polars_published import GROUP
from voile.table.protocol import GroupCounts, Shuffle
from voile.table.shuffling import permute_within_runs

__all__ = ["permute", "permute_columns"]


def permute_columns(
    bound: BoundColumns, published: Sequence[str], decision: Shuffle, randomness: Randomness
) -> pl.DataFrame:
    """The published rows: the numbers of their groups, then the columns in the order given.

    Raises ``TableError`` where a column stands in the way of a name that the release makes,
    ``ValueError`` where a column cannot be permuted or the groups are not those of all rows.
    """
    _require_permutable(published, decision)
    groups = RowGroups.of(decision.counts, decision.group, bound.rows)
    permuted = {name: partial(groups.count, bound.columns[name]) for name in decision.columns}
    return permute(bound, published, groups, permuted, randomness)


def permute(
    bound: BoundColumns,
    published: Sequence[str],
    groups: RowGroups,
    permuted: Mapping[str, Callable[[], GroupCounts]],
    randomness: Randomness,
) -> pl.DataFrame:
    """The published rows, with some columns permuted uniformly within each group.

    ``permuted`` counts the values that each of these columns has in each group.  Raises
    ``TableError`` where the name of the groups is taken.
    """
    require_free_names(published, {GROUP: "the numbers of its groups"})
    kept = [bound.columns[name] for name in published if name not in permuted]

    def drawn(name: str) -> pl.Series:
        column = bound.columns[name]
        counts = permuted[name]()
        codes = np.repeat(counts.value.astype(column.codes.dtype), counts.rows)
        permute_within_runs(codes, groups.sizes, randomness.key("permute", name))
        return column.decode(codes)

    with ThreadPoolExecutor(2) as pool:  # what is long here releases the interpreter's lock
        arranging = pool.submit(arrange, groups.of_rows, len(groups.sizes), kept)
        drawing = {name: pool.submit(drawn, name) for name in permuted}
        group, *codes = arranging.result()
        decoding = {
            column.name: pool.submit(column.decode, of_rows)
            for column, of_rows in zip(kept, codes, strict=True)
        }
        numbers = pl.Series(GROUP, group.astype(np.int32) + np.int32(1))
        columns = [(drawing | decoding)[name].result() for name in published]
    return pl.DataFrame([numbers, *columns])


def _require_permutable(published: Sequence[str], decision: Shuffle) -> None:
    """Raise ``ValueError`` where a column is named that a release cannot permute."""
    for place, name in enumerate(decision.columns):
        if name not in published:
            msg = f"column {name!r} is permuted and not published"
        elif name in decision.counts.columns:  # its own groups would hold it in its place
            msg = f"column {name!r} is permuted and decides the groups it is permuted in"
        elif name in decision.columns[:place]:
            msg = f"column {name!r} is permuted twice"
        else:
            continue
        raise ValueError(msg)
