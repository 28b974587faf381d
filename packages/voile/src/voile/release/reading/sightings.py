"""What a release shows of people about whom some columns are known: evidence, column by column.

How a column is published decides what a known value is compared with; ``views`` says how.  Rows
that show the same are one sighting with a number of rows.  A column that was permuted within the
groups of the release tells which groups a row may be in, and nothing else; so it is by their
groups that sightings are told apart then, and not by the value that happens to stand in a row.

Cost: a sort of the n published rows, and one look-up a value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.disclosure.evidence import Evidence, Labels
from voile.disclosure.permuted import PermutedEvidence, group_counts
from voile.release.reading.rows import (
    ColumnView,
    People,
    PublishedRows,
    finite,
    known_columns,
    texts_of,
)
from voile.schema.hierarchy.generalized import DistinctValues
from voile.table.alignment import common_codes
from voile.table.arrays import text_values
from voile.table.binding import distinct_values
from voile.table.codes import code_type, combine, encode
from voile_base.ondemand import on_demand

__all__ = [
    "People",
    "PublishedRows",
    "Sightings",
    "exact_labels_as_one",
    "known_columns",
    "shares_of",
    "texts_of",
]

sparse = on_demand("scipy.sparse")

Codes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Sightings:
    """What a release shows, for some targets: g different sightings, each of one row or more."""

    evidence: tuple[Evidence, ...]
    """Of one known column or several each: pairs of a target and a sighting."""
    rows: Codes
    """Shape (g,): how many published rows show it."""
    place: Codes
    """The sighting of each published row; -1 for one that is not among them."""
    notes: tuple[str, ...]

    @classmethod
    def of(
        cls,
        published: PublishedRows,
        people: People,
        columns: Sequence[str],
        targets: Codes,
        *,
        by_group: bool = False,
    ) -> Sightings:
        """Compare rows of a table, the targets, with all published rows, in these columns.

        ``by_group`` tells rows of different groups apart though they show the same.  Raises
        ``TableError`` or ``PlanError`` where the release, the table and the plan disagree.
        """
        staying = [name for name in columns if name not in published.permuted]
        used = dict.fromkeys(c for name in staying for c in published.columns_of(name))
        if by_group or len(staying) < len(columns):
            used[published.group_column] = None
        distinct, (place,) = common_codes([published.frame.select(list(used))])
        rows = np.bincount(place, minlength=distinct.height)
        cells = distinct, rows
        evidence, notes = list[Evidence](), list[str]()
        for name in columns:  # each view goes with the texts that it has read
            view = ColumnView.of(published, cells, people, name, targets)
            evidence.append(
                view.evidence() if name in staying else _permuted(published, view, place)
            )
            notes += view.notes()
        return cls(_folded(evidence), rows, place, tuple(notes))

    @property
    def texts(self) -> tuple[Labels, ...]:
        """The evidence in texts, which tells at once who fits no row, and which row fits nobody."""
        return tuple(seen for seen in self.evidence if isinstance(seen, Labels))

    def only(self, chosen: Codes) -> Sightings:
        """Some of the sightings, by their places, in this order."""
        moved = np.full(len(self.rows) + 1, -1)
        moved[chosen] = np.arange(len(chosen))
        evidence = tuple(seen.only(chosen) for seen in self.evidence)
        return replace(self, evidence=evidence, rows=self.rows[chosen], place=moved[self.place])


def shares_of(
    published: PublishedRows, sightings: Sightings, column: str
) -> tuple[DistinctValues, Any]:
    """The values of another published column, and how they are distributed over each sighting.

    The shares are sparse, shape (g, v); each row adds up to 1.  For a permuted column, a row of the
    release stands for all values of its group in equal shares: that is what it tells of its own.
    If ``weights`` (t, g) are the probabilities of rows (see ``attack.posterior``), then
    ``(weights * sightings.rows) @ shares`` are those of the values, shape (t, v).
    """
    values = encode(finite(published.frame[column]))
    coded = values.codes.astype(np.int64), len(values.values)
    seen = sightings.place, len(sightings.rows)
    if column in published.permuted:
        groups = published.groups()
        within = group_counts(coded, groups)
        shares = group_counts(seen, groups) @ (within / within.sum(axis=0)).T
    else:
        shares = group_counts(seen, coded)
    normal = sparse.diags_array(1.0 / sightings.rows) @ shares
    return distinct_values(values.values), sparse.csr_array(normal)


def _permuted(published: PublishedRows, view: ColumnView, place: Codes) -> PermutedEvidence:
    """The evidence in a column that was permuted within groups; ``place`` as in ``Sightings``."""
    known = view.known
    groups, count = published.groups()
    distinct, (value,) = common_codes([published.frame.select(published.columns_of(view.name))])
    cells = distinct, np.bincount(value, minlength=distinct.height)
    codes = encode(text_values(known.texts)).codes.astype(np.int64)
    _, first = np.unique(codes, return_index=True)
    each = ColumnView.of(published, cells, known.people, view.name, known.targets[first])
    group = np.empty(len(view.cells.rows), dtype=np.int64)
    group[place] = groups
    counts = group_counts((value, distinct.height), (groups, count))
    return PermutedEvidence.of(codes, group, each.evidence(), counts)


def _folded(evidence: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """The same with all columns of exact texts in one."""
    exact = [seen for seen in evidence if isinstance(seen, Labels) and seen.is_exact]
    if len(exact) < 2:
        return tuple(evidence)
    others = [seen for seen in evidence if not any(seen is one for one in exact)]
    return (exact_labels_as_one(exact), *others)


def exact_labels_as_one(labels: Sequence[Labels]) -> Labels:
    """Exact labels of several columns as those of one: a row fits if it does in each column.

    So any number of columns costs as much as one, for every pair.
    """
    targets = labels[0].known.shape[1]
    coded = []
    for label in labels:  # one at a time: their codes are wide
        column = np.concatenate((label.known[0], label.shown))
        size = int(column.max(initial=0)) + 1
        coded.append((column.astype(code_type(size)), size))
    place = combine(coded).index.astype(np.int32)
    return Labels(place[np.newaxis, :targets], place[targets:], labels[0].anything)
