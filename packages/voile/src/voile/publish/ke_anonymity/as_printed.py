"""The searches of the paper as it prints them: for study, and known to leak.

What it does: cuts the values of a grown table into (k,e)-valid blocks of the smallest sum of
ranges, by the tests that the seed "An incremental privacy-preservation algorithm for the (k, e)-
Anonymous model" (2015) prints:

- "lemma-1": the overlap test of Lemma 1 (Fig. 4) alone, against the latest release.  A block is
  refused where its range strictly crosses an end of an old block's, or lies strictly inside one.
- "figure-13": the algorithm of section 5 and Fig. 13: that test, and after it Definition 5 against
  the latest release.

The naive algorithm of section 6, which tests every block by Definition 5 against every release,
gives the blocks of ``exact``.

Guarantee: of a release by itself, that it is (k,e)-anonymous.  Of releases beside each other, none:

- "lemma-1", k = 2, e = 4: {7, 13}, then 1 and 19: {1, 7} and {13, 19} single out 7 and 13.
- "figure-13", k = 2, e = 2: {6, 9}, then 3 and 12 in one block with them, then 6 and 8:
  {3, 6, 6, 8} and {9, 12} pass the test against the latest release, and single out 6 and 9 against
  the first.

So such a release is marked as unfit for publication.

Algorithm: ``exact``'s search over pairs of ends, of which the overlap test leaves some.
Cost: O(d^2 p) time and O(d^2) memory for d distinct values and p old blocks.

Departures: equal values stay in one block, which the seed does not ask for and which leaks less.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from voile.publish.ke_anonymity.searches import exact_blocks
from voile_base.errors import PlanError

__all__ = ["AS_PRINTED", "MAXIMUM_VALUES", "printed_blocks"]

AS_PRINTED = ("lemma-1", "figure-13")
MAXIMUM_VALUES = 4_000
"""Distinct values up to which all pairs of ends are held in memory."""


def printed_blocks(
    values: NDArray[np.generic],
    present: NDArray[np.bool_],
    latest: NDArray[np.int64],
    terms: tuple[int, int],
    search: str,
) -> NDArray[np.int64] | None:
    """Blocks [start, stop), (p, 2) index ranges, as the paper cuts them; None where it finds none.

    ``values``: (d,) as for ``static.optimal_blocks``; ``present``: (2, d), which values have rows
    of the latest release, and which have fresh ones; ``latest``: (p, 2), index ranges of the blocks
    of that release; ``terms``: k, and e in units; ``search``: one of ``AS_PRINTED``.
    Raises ``PlanError`` beyond ``MAXIMUM_VALUES``.
    """
    if len(values) > MAXIMUM_VALUES:
        raise PlanError(
            f'search = "{search}" is the paper\'s version, for study: it takes up to '
            f"{MAXIMUM_VALUES:,} distinct values, and the table has {len(values):,}; use "
            'search = "full-cover", or leave search out'
        )
    releases = [latest] if search == "figure-13" and len(latest) else []
    births = present if releases else np.logical_or.reduce(present, keepdims=True)
    return exact_blocks(values, births, releases, *terms, admitted=_admitted(len(values), latest))


def _admitted(d: int, latest: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which blocks [i, j) the printed Lemma 1 lets through: (d + 1, d + 1), by i and j.

    Values ascend, so their indices compare as they do.
    """
    low = np.arange(d + 1)[:, np.newaxis]
    high = np.arange(d + 1)[np.newaxis] - 1
    refused = np.zeros((d + 1, d + 1), np.bool_)
    for start, stop in latest.tolist():
        first, last = start, stop - 1
        refused |= (low < first) & (first < high) & (high < last)
        refused |= (first < low) & (low < last) & (last < high)
        refused |= (first < low) & (high < last)
    return ~refused
