"""What a release of flows lets one see of its own claim: its cells, and how wide intervals are.

Cost: a count of the rows.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from voile.disclosure.aggregate import Aggregate, Label
from voile.release.published import Published

__all__ = ["flow_breaches"]


def flow_breaches(published: Published, cells: int) -> Iterator[str]:
    """What the published cells contradict, of which there are to be ``cells``."""
    columns = published.disclosure.columns
    labels = [name for name, shown in columns.items() if isinstance(shown, Label)]
    rows = published.table.count(labels).rows
    if len(rows) != cells or (rows != 1).any():
        yield f"it publishes each of {cells} cells once, and has {rows.sum()} of {len(rows)}"
    for name, shown in columns.items():
        if isinstance(shown, Aggregate):
            yield from _intervals(published, labels[0], name, shown)


def _intervals(published: Published, kind: str, name: str, shown: Aggregate) -> Iterator[str]:
    """Whether the ends are those of the noise, for each kind of cell."""
    counted = published.table.count([kind, *shown.published(name)])
    values = [np.array(array.to_pylist(), dtype=object) for array in counted.values]
    kinds, count, low, high = (
        column[counted.codes[:, place]] for place, column in enumerate(values)
    )
    width = np.array([shown.half_widths.get(str(it), -1) for it in kinds])
    count = count.astype(np.int64)
    wrong = (low != np.maximum(count - width, 0)) | (high != np.maximum(count + width, 0))
    if (wrong | (width < 0)).any():
        yield f"column {name!r} has intervals other than those of its noise"
