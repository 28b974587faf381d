"""The rule by which the new rows of a series wait, such that waiting tells nothing of anybody.

What it does: new rows wait in one pool.  ``fate`` says what becomes of it when a release is made.

1. Before the pool has ``batch`` rows it is not looked at: it waits.
2. At the first look it is published if it is (k,e)-valid.  If not, it is refused, and waits.
3. The pool of which ``refused`` rows were refused is looked at again when newcomers have made it
   twice as large.  Let M be all its values.  Those refused had fewer than k distinct values or a
   range below e, and whoever knows this rule knows that.  ``possible`` computes, exactly, which
   values of M a refused row can have, and which a newcomer.  If both sets are valid the pool is
   published, all of it in ONE block.  Otherwise it is set aside: its rows are never published,
   and later rows make a new pool.  So is a refused pool from which a row was withdrawn.

Source: the rule is ours.  It is of the kind that Kenthapadi, Mishra and Nissim, "Simulatable
auditing" (PODS 2005), ask for: whether to answer is decided over all tables that explain what was
and will be seen.  The adversary is that of Wong, Fu, Wang and Pei, "Minimality attack in privacy
preserving data publishing" (VLDB 2007), who knows the algorithm and its input but for the values.

Guarantee, against an adversary who knows this rule, the plan, when each row arrived or left, and
all releases, and none of the values: everybody, published, waiting or set aside, keeps at least k
possible values that span at least e.  It assumes that neither the days of releases nor who leaves
depend on values, that any number is a possible value of a row that is not published, and that
nobody knows of attempts to begin a series before its first release, which ended without one.

Proof.  Pools share no rows, and what happens to a pool depends on its own values alone, so worlds
(tables that explain all that was seen) combine freely over pools, once the cuts of a release
depend on nothing but which values stand in which published class of rows.  For one pool:

- Never published (it waits, was refused or is set aside).  Let x be any number.  In the world
  where all its rows have x, no look finds two distinct values: the first look refuses it, since k
  is at least 2; the second finds only x for the refused rows and sets it aside.  What depends on
  counts of rows happens as it did.  So everybody may have any x.
- Published at the first look.  Whether it is, and where it is cut, depends on the set of its
  values.  Permuting values within a block changes neither, so everybody in a block may have each
  of its values, and a block is valid.
- Published at the second look.  Its worlds are the assignments of M to its rows for which the
  refused ones are invalid together: the second look depends on M alone, and one block shows M and
  nothing more.  Rows refused are alike, and so are newcomers; ``possible`` goes through all their
  worlds, and the pool is published only if what is left is valid.  Newcomers who are as many as
  the refused keep no less than these: were what they can be too few or too near, so would be any
  of them, as many as were refused, who may then have been refused in their place.

Cost: O(d log d) for d distinct values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["GROWTH", "NONE_REFUSED", "Fate", "Pool", "Refused", "WaitingRule", "possible"]

GROWTH = 2
"""A refused pool is looked at again when it has this many times as many rows."""

Fate = Literal["published", "waiting", "refused", "aside"]
"""What becomes of a pool at a release; see the module."""


@dataclass(frozen=True)
class WaitingRule:
    """The rule and its public parameters; see the module."""

    batch: int
    """Rows that a pool must have before it is looked at; at least 1."""
    k: int
    """At least 2."""
    e: int
    """In units of the values; at least 0."""

    def fate(self, pool: Pool) -> Fate:
        """What becomes of a pool when a release is made; a pool without rows waits."""
        if pool.refused.rows:
            return self._second_look(pool)
        rows = int(pool.rows.sum())
        if rows == 0 or rows < self.batch:
            return "waiting"
        return "published" if self._valid(pool.values) else "refused"

    def _second_look(self, pool: Pool) -> Fate:
        refused = pool.refused.rows
        if pool.refused.left:
            return "aside"
        if int(pool.rows.sum()) < GROWTH * refused:
            return "waiting"
        found = possible(pool.values, pool.rows, refused, self.k, self.e)
        valid = self._valid(pool.values[found.earlier]) and self._valid(pool.values[found.later])
        return "published" if valid else "aside"

    def _valid(self, values: NDArray[np.generic]) -> bool:
        return len(values) >= self.k and int(values[-1]) - int(values[0]) >= self.e


@dataclass(frozen=True)
class Refused:
    """The rows of a pool that its first look refused; public."""

    rows: int = 0
    """How many; 0 where the pool was not looked at."""
    left: int = 0
    """How many of them were withdrawn since."""


NONE_REFUSED = Refused()


@dataclass(frozen=True, eq=False)
class Pool:
    """The rows of a series that no release has shown and that are not set aside; private."""

    values: NDArray[Any]
    """Shape (d,): their distinct values in units, ascending."""
    rows: NDArray[np.int64]
    """Shape (d,): how many have each value, at least 1."""
    refused: Refused = NONE_REFUSED


@dataclass(frozen=True, eq=False)
class _Possible:
    """Which of the d values the rows of a pool can have; each field is (d,)."""

    earlier: NDArray[np.bool_]
    """The rows that were there before."""
    later: NDArray[np.bool_]
    """The newcomers."""


def possible(
    values: NDArray[np.generic], rows: NDArray[np.int64], earlier: int, k: int, e: int
) -> _Possible:
    """What each row can have where ``earlier`` of the rows are known to be invalid together.

    ``values`` (d,) ascending distinct units, ``rows`` (d,) how many have each, more in all than
    ``earlier``, which is at least 1.  A value is possible for an earlier row if some ``earlier`` of
    the rows, one of them with this value, have fewer than k distinct values or a range below e; for
    a newcomer, if some ``earlier`` of the rows without one of this value do.
    """
    near = _of_near_values(values, rows, earlier, e)
    few = _of_few_values(rows, earlier, k)
    return _Possible(near.earlier | few.earlier, near.later | few.later)


def _of_near_values(
    values: NDArray[np.generic], rows: NDArray[np.int64], earlier: int, e: int
) -> _Possible:
    """By windows of a range below e: each begins at a value."""
    d = len(values)
    e = min(e, int(values[-1]) - int(values[0]) + 1)  # which cannot overflow, and is as far
    start = np.arange(d)
    stop = np.maximum(np.searchsorted(values, values + e, side="left"), start)
    total = np.concatenate(([0], np.cumsum(rows)))
    size = total[stop] - total[start]

    def covered(chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
        """How many of the chosen windows each value lies in."""
        steps = np.zeros(d + 1, dtype=np.int64)
        np.add.at(steps, start[chosen], 1)
        np.add.at(steps, stop[chosen], -1)
        return np.cumsum(steps[:-1])

    enough = size >= earlier
    if (size > earlier).any():
        later = np.ones(d, dtype=np.bool_)
    else:
        later = covered(enough) < int(enough.sum())
    return _Possible(covered(enough) > 0, later)


def _of_few_values(rows: NDArray[np.int64], earlier: int, k: int) -> _Possible:
    """By sets of k - 1 distinct values: the most frequent ones, or one value and those."""
    d = len(rows)
    most = np.sort(rows)[::-1]
    all_but_one, best = int(most[: k - 2].sum()), int(most[: k - 1].sum())
    # One of the k - 1 most frequent is in the best set; another one replaces the last of it.
    least = int(most[k - 2]) if d >= k - 1 else 0
    with_it = np.where(rows >= least, best, all_but_one + rows)
    # The best set can do without one row of a value unless all such values are needed in full.
    spare = d >= k and int(most[k - 1]) == least
    needed = rows > least if spare else rows >= least
    return _Possible(with_it >= earlier, np.where(needed, best - 1, best) >= earlier)
