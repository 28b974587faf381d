"""Recoding: what the rows of each group show in place of their own values, and who is left out.

Groups that show the same become one, and groups are numbered by what they show, so that neither
their numbers nor their order tell how a method came to them.

Cost: for p groups and n rows a count of p tuples, a look-up a row, a sort of n machine words (or a
count, where they are few), and a look-up a row and column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from voile.table.arranging import arrange, require_free_names
from voile.table.binding import BoundColumns
from voile.table.combinations import combine
from voile.table.dictionary import Codes, DictionaryColumn, encode, look_up
from voile.table.numeric import number_series
from voile.table.polars_published import GROUP
from voile.table.protocol import RecodedColumn, Recoding

__all__ = ["left_out", "recode"]


def recode(bound: BoundColumns, published: Sequence[str], recoding: Recoding) -> pl.DataFrame:
    """The published rows: the numbers of their groups, then the columns in the order given.

    Raises ``TableError`` where a column stands in the way of a name that the release makes,
    ``ValueError`` where a column is recoded that is not published.
    """
    for recoded in recoding.columns:
        if recoded.column not in published:  # its values would show in the numbers of the groups
            msg = f"column {recoded.column!r} is recoded and not published"
            raise ValueError(msg)
    found, place = np.unique(recoding.group, return_inverse=True)
    groups = found[found >= 0]
    shown = {
        recoded.column: _shown(bound.columns[recoded.column], recoded, groups)
        for recoded in recoding.columns
    }
    require_free_names(published, _made_names(shown))
    replacements = [column for columns in shown.values() for column in columns]
    distinct = combine([(column.codes, len(column.values)) for column in replacements])
    numbers = np.full(len(found), -1, dtype=np.int32)
    numbers[found >= 0] = distinct.place
    kept = [bound.columns[name] for name in published if name not in shown]
    group, *codes = arrange(_of_rows(numbers[place], recoding), len(distinct.rows), kept)
    kept_codes = dict(zip((column.name for column in kept), codes, strict=True))
    of_group = dict(zip((column.name for column in replacements), distinct.codes, strict=True))

    def decoded(column: DictionaryColumn) -> pl.Series:
        if column.name in kept_codes:
            return column.decode(kept_codes[column.name])
        return column.decode(look_up(of_group[column.name], group))

    columns = [column for name in published for column in shown.get(name, [bound.columns[name]])]
    with ThreadPoolExecutor(2) as pool:  # gathering releases the interpreter's lock
        numbered = pl.Series(GROUP, group.astype(np.int32) + np.int32(1))
        return pl.DataFrame([numbered, *pool.map(decoded, columns)])


def left_out(bound: BoundColumns, recoding: Recoding) -> bytes:
    """All columns of the rows that are not published, as an Arrow IPC stream; private."""
    hidden = np.where(recoding.group < 0, np.int8(-1), np.int8(0))
    rows = _of_rows(hidden, recoding) < 0
    columns = bound.columns.values()
    stream = BytesIO()
    pl.DataFrame(
        [column.decode(column.codes[rows]).cast(column.values.dtype) for column in columns]
    ).write_ipc_stream(stream, compression="zstd")
    return stream.getvalue()


def _of_rows(of_combination: NDArray[Any], recoding: Recoding) -> Codes:
    """What is said of its combination, for each row; -1 for rows that were not counted."""
    uncounted = of_combination.dtype.type(-1)
    return look_up(np.append(of_combination, uncounted), recoding.counts.handle)


def _shown(
    original: DictionaryColumn, recoded: RecodedColumn, groups: NDArray[np.int64]
) -> list[DictionaryColumn]:
    """The columns that stand in the place of one, with one row for each of these groups."""
    values, name, codes = recoded.values, recoded.column, recoded.codes[groups]
    if values is None or (values.texts is None and values.low is None):
        return [DictionaryColumn(original.values, codes)]
    if values.texts is not None:
        made = [pl.Series(name, values.texts, dtype=pl.String)]
    else:
        assert values.low is not None
        assert values.high is not None
        ends = number_series([values.low, values.high])
        missing = [None] * int(values.missing)
        made = [
            pl.concat([pl.Series(missing, dtype=end.dtype), end]).alias(f"{name}.{which}")
            for which, end in zip(("low", "high"), ends, strict=True)
        ]
    encoded = [encode(series) for series in made]
    return [DictionaryColumn(column.values, look_up(column.codes, codes)) for column in encoded]


def _made_names(shown: Mapping[str, Sequence[DictionaryColumn]]) -> dict[str, str]:
    """The names that a release makes, and what each is for."""
    ends = {
        column.name: f"the intervals of column {name!r}"
        for name, columns in shown.items()
        for column in columns
        if column.name != name
    }
    return {GROUP: "the numbers of its groups", **ends}
