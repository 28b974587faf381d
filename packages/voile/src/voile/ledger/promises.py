"""The promises that a history can show by itself: checks of a ``History``.

Checked of every version, with the k and e of the series' terms where it has them:

- versions are numbered 1, 2, 3, ... ;
- blocks are disjoint and ascend within a batch; each has k distinct values and spans e;
- the rows of the blocks are all rows published so far, and of a sealed batch, its version's;
- each row is published once, and no held row is published;
- a sealed block never changes;
- under the full-cover rule, no block of a later version cuts a block of an earlier one, and a
  block that covers old blocks has no new rows or at least k (under the pairwise adversary: a
  block that covers exactly one).  Each check of two neighbouring versions carries over to all
  pairs, because blocks only merge.

Where people come and go, blocks are classes of rows: of each at least k rows stay or none, and at
least k go or none.

The last rule of (k,e) is necessary and not sufficient: whether the *new* rows of a block span e is
seen only in the table, and was decided when the release was made.

Cost: O(p log p) for p blocks, and one count of all marks by the engine.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.release.check import departure_breaches
from voile.release.history import Blocks, History, Version
from voile.schema.numbers import ExactNumbers, decimals_of, units_of
from voile.table.engines import AUTO, engine_of
from voile.table.matching import lacks_contents, marks_in_common, repeated_marks
from voile.table.protocol import Engine

__all__ = ["broken_promises"]


def broken_promises(history: History, *, marks: bool = True) -> list[str]:
    """What the versions of a history contradict; an empty list if nothing.

    ``marks`` says whether to look at the marks of its rows, too.
    """
    broken: list[str] = []
    published = 0
    previous = 0
    for version in history.versions:
        published += version.published.height
        checks = [
            *_of_number(version, previous),
            *_of_blocks(version.blocks, history),
            *([] if history.terms.people_leave else _of_rows(version, history, published)),
        ]
        broken += [f"version {version.number}: {what}" for what in checks]
        previous = version.number
    for old, new in pairwise(history.versions):
        broken += [f"version {new.number}: {what}" for what in _of_change(old, new, history)]
    return [*broken, *_of_marks(history, engine_of(AUTO))] if marks else broken


def _of_number(version: Version, previous: int) -> Iterator[str]:
    if version.number != previous + 1:
        yield f"it follows version {previous}: versions are missing between them"


def _of_blocks(blocks: Blocks, history: History) -> Iterator[str]:
    low, high = _comparable(blocks.low, blocks.high)
    if (low.units > high.units).any():
        yield f"{(low.units > high.units).sum()} blocks end before they begin"
    if (np.diff(blocks.batch) < 0).any() or (blocks.batch < 0).any():
        yield "its batches are not in order"
    touching = (np.diff(blocks.batch) == 0) & (low.units[1:] <= high.units[:-1])
    if touching.any():
        yield f"{touching.sum()} blocks overlap or do not ascend"
    if (blocks.distinct > blocks.rows).any():
        yield "blocks have more distinct values than rows"
    method = history.terms.method
    if "k" in method and (blocks.distinct < int(method["k"])).any():
        poor = int((blocks.distinct < int(method["k"])).sum())
        yield f"{poor} blocks have fewer than k = {method['k']} distinct values"
    if "e" in method:
        narrow = _narrow_blocks(blocks, Decimal(method["e"]))
        if narrow:
            yield f"{narrow} blocks span less than e = {method['e']}"


def _narrow_blocks(blocks: Blocks, e: Decimal) -> int:
    """How many blocks span less than ``e``, compared exactly."""
    low, high = _comparable(blocks.low, blocks.high, least_scale=decimals_of(e))
    # Python integers: the difference of two int64 may leave their range.
    spans = high.units.astype(object) - low.units.astype(object)
    return int((spans < units_of(e, low.scale)).sum())


def _of_rows(version: Version, history: History, published: int) -> Iterator[str]:
    blocks = version.blocks
    if int(blocks.rows.sum()) != published:
        yield f"its blocks hold {blocks.rows.sum()} rows, and {published} were published so far"
    for batch in np.unique(blocks.batch[blocks.batch > 0]):
        sealed = [v for v in history.versions[: version.number] if v.number == batch]
        if int(blocks.rows[blocks.batch == batch].sum()) != sum(v.published.height for v in sealed):
            yield f"the blocks of batch {batch} do not hold the rows of version {batch}"


def _of_change(old: Version, new: Version, history: History) -> Iterator[str]:
    """What may not happen from one version to the next."""
    before, now = old.blocks, new.blocks
    if history.terms.people_leave:
        yield from departure_breaches(before, now, int(history.terms.method["k"]))
        return
    if not _same(_in_batches(before, before.batch > 0), _in_batches(now, _older(now, old.number))):
        yield "sealed blocks of earlier versions changed"
    if history.terms.method.get("search") == "full-cover":
        yield from _of_cover(
            _in_batches(before, before.batch == 0), _in_batches(now, now.batch == 0), history
        )


def _of_cover(before: Blocks, now: Blocks, history: History) -> Iterator[str]:
    """No block of ``now`` cuts one of ``before``, and no few rows join what it covers."""
    if not len(before):
        return
    low, high, old_low, old_high = _comparable(now.low, now.high, before.low, before.high)
    home = np.searchsorted(low.units, old_low.units, side="right") - 1
    cut = home < 0
    cut[~cut] = high.units[home[~cut]] < old_high.units[~cut]
    if cut.any():
        yield f"it cuts {cut.sum()} blocks of the version before"
        return
    covered = np.bincount(home, minlength=len(now))
    kept = np.zeros(len(now), dtype=np.int64)
    np.add.at(kept, home, before.rows)
    new_rows = now.rows - kept
    if (new_rows < 0).any():
        yield "blocks have lost rows since the version before"
    method = history.terms.method
    exposed = covered == 1 if method.get("adversary") == "pairwise" else covered >= 1
    few = exposed & (new_rows > 0) & (new_rows < int(method.get("k", 0)))
    if few.any():
        yield f"{few.sum()} blocks gained some rows, and fewer than k"


def _of_marks(history: History, engine: Engine) -> Iterator[str]:
    keyed = history.terms.record_key is not None
    for version in history.versions:
        for what, marks in (("published", version.published), ("held", version.held)):
            if lacks_contents(marks, engine, keyed=keyed):
                yield (
                    f"version {version.number}: the marks of its {what} rows lack or exceed those "
                    "of their contents"
                )
    published = [version.published for version in history.versions]
    again = repeated_marks(published, engine)
    if again:
        yield f"{again} rows were published twice"
    if history.terms.people_leave:
        return  # those that are published no more are marked among the held
    both = marks_in_common(history.latest.held, published, engine) if history.latest else 0
    if both:
        yield f"{both} held rows are published"


def _older(blocks: Blocks, number: int) -> NDArray[np.bool_]:
    return (blocks.batch > 0) & (blocks.batch <= number)


def _in_batches(blocks: Blocks, chosen: NDArray[np.bool_]) -> Blocks:
    return Blocks(
        low=ExactNumbers(blocks.low.units[chosen], blocks.low.scale),
        high=ExactNumbers(blocks.high.units[chosen], blocks.high.scale),
        rows=blocks.rows[chosen],
        distinct=blocks.distinct[chosen],
        batch=blocks.batch[chosen],
    )


def _same(first: Blocks, second: Blocks) -> bool:
    low, other_low, high, other_high = _comparable(first.low, second.low, first.high, second.high)
    pairs: tuple[tuple[NDArray[Any], NDArray[Any]], ...] = (
        (low.units, other_low.units),
        (high.units, other_high.units),
        (first.rows, second.rows),
        (first.distinct, second.distinct),
        (first.batch, second.batch),
    )
    return all(np.array_equal(one, other) for one, other in pairs)


def _comparable(*numbers: ExactNumbers, least_scale: int = 0) -> list[ExactNumbers]:
    """The same numbers in one common unit."""
    scale = max(least_scale, *(number.scale for number in numbers))
    return [number.rescaled(scale) for number in numbers]
