"""Searches for the blocks of a release, alone or next in a series, by one compiled programme.

Every search cuts the ascending sensitive values into blocks, and differs in which blocks are
allowed: valid ones (``optimal_blocks``, and ``narrow_blocks`` for narrow bounds of sums), those
that give nothing away against all earlier releases (``exact_blocks``), or those that split no block
of the latest release (``full_cover_blocks``).  All but
``narrow_blocks`` minimise the sum of ranges.

Best cuts (best_cuts)
---------------------
What it does: positions 0..d stand between d strictly ascending values; a block [i, j) holds
``values[i]`` to ``values[j - 1]``.  Of all ways to cut [0, d) into allowed blocks, find one with
the smallest sum of block ranges (maximum minus minimum).

Source: "An incremental privacy-preservation algorithm for the (k, e)-Anonymous model" (2015)
and Zhang et al. (2007) minimise this sum by searching all pairs (i, j).

Claim: the answer is optimal among the allowed cuts.  The sum of the ranges is the whole range
minus the gaps ``values[i] - values[i - 1]`` at the interior cuts i, so the programme maximises
the sum of the gaps.  Among cuts of equal gain the last block starts as late as possible, then
the block before it, and so on: the answer is a function of the input alone.

Algorithm: for a fixed right end j the allowed starts are W windows whose ends never move left
as j grows, so one monotone queue per window yields the best start.  Validity is of this form
because a block stays valid when it grows (``latest_valid_start``), and so is "no fresh value"
(``after_last``).

Cost: O(W d) time and memory.

Departure from the source: windows in place of the quadratic search, exact integers in place of
binary fractions (0.3 - 0.1 >= 0.2 is false in binary).

Values come as int64 with magnitudes under 2**61, so that no sum of gaps overflows, or as an
object array of Python integers.  For the latter the same source runs uncompiled.

A single release (optimal_blocks)
---------------------------------
What it does: cuts the distinct sensitive values into blocks of at least k distinct values and a
range of at least e each, at the smallest sum of ranges.

Source: Zhang, Koudas, Srivastava and Yu, "Aggregate query answering on anonymized tables"
(2007); the seed "An incremental privacy-preservation algorithm for the (k, e)-Anonymous model"
(2015) starts from the same static optimum.

Claim: optimal among all partitions of the rows into valid blocks, not only among those into
value ranges.  If the ranges of two blocks overlap or touch, their union is valid and its range
is at most the sum of theirs; so some optimum has disjoint ranges, and never splits equal values.

Algorithm: for each right end the allowed starts are a prefix, because a block stays valid when
it grows; ``best_cuts`` with one window.

Cost: O(d) after the values are counted and sorted, plus a binary search per value.

Departure from the source: a prefix maximum in place of the O(n^2) search.

Narrow bounds of sums and averages (narrow_blocks)
--------------------------------------------------
What it does: cuts sorted rows into (k,e)-valid ranges of values such that the bounds of a SUM over
the rows of a stated family of queries are, in expectation, as narrow as possible.

Family: a query matches of each block any number of its n rows, 0 to n equally likely, whichever
rows these are.  The bounds of a SUM over c rows of a block are the sums of its c least and of its c
greatest values; their mean distance is

    (1 / (n + 1)) * sum over its sorted values x_0 <= ... <= x_(n-1) of x_i (2 i - n + 1),

and the bounds of an AVG are those of the SUM by how many rows match, which is known.  The sum of
ranges that ``optimal_blocks`` minimises counts a block of two rows like one of two thousand.

Source: the family and the objective are ours; bounds as in Zhang, Koudas, Srivastava and Yu,
"Aggregate query answering on anonymized tables" (2007).

Claim: optimal among cuts into valid ranges that split no equal values, up to the rounding of
double precision; valid exactly.  The cut is a function of the multiset of values alone.

Algorithm: the best last block for each right end j.  A block in two valid parts costs at least as
much as its parts, so it begins after the last position from which one valid block and another reach
j.  (Let A lie below B, with a and b rows, and measure from where they meet.  With D the sum of all
differences of two values, D(A) <= (a - 1) |sum A|, so that what A costs less in the larger block,
D(A) b / ((a + 1) (a + b + 1)), is at most its share b |sum A| / (a + b + 1) in the differences
across; alike for B.)

Cost: O(d w) for d distinct values, of which w lie in two of the least valid blocks; beyond
``MAXIMUM_BLOCKS`` the sum of ranges decides, in O(d).

The next release, pairwise adversary (exact_blocks)
---------------------------------------------------
What it does: cuts the values of a grown table into (k,e)-valid blocks, at the smallest sum of
ranges such that no pair of an earlier block and a new block gives anything away.

Source: "An incremental privacy-preservation algorithm for the (k, e)-Anonymous model" (2015),
Definition 5.  The seed claims this optimum for its full-cover search; that claim is wrong from
the third release on.

Guarantee: for every block a of every earlier release and every new block b, each of a - b,
b - a and a & b holds no row or is (k,e)-valid.  Assumes that rows are only appended and that
every release publishes all rows there are.  Optimal among all partitions of the rows.

Two reductions make the optimum a search over cuts.

- a - b needs no test: the new release holds every row of a, so a - b is the union of a & b'
  over the other new blocks b', each of them empty or valid, and a superset of a valid set is
  valid.
- Blocks may be taken as disjoint value ranges that split no equal values.  Suppose the ranges
  of new blocks b and c overlap or touch, and let u be their union.  Then u is valid; a & u is
  the union of a & b and a & c, and u - a the union of b - a and c - a, so each is empty or
  valid; and the range of u is at most the sum of the two ranges.  Merge until no ranges meet.

Algorithm: O(d^2) candidates b = [i, j), each tested against each earlier release t:

1. a & b for the at most two old blocks that b overlaps in part, those that a cut at i or at j
   splits.  Blocks inside b are valid as they are.
2. b - a only if exactly one block of t meets b.  If none does, b - a = b.  If two do, b - a
   contains the part of the other, which is valid by 1.  If one does, b - a is the rows of b
   born after t.

"Empty or valid" is two comparisons with precomputed positions, because validity and emptiness
are monotone.  A candidate is tested only if it would beat the best one found for its right
end, and the search of a right end stops where nothing to the left can.

Cost: O(d^2 T) time for T earlier releases, O(d T) memory.  What is affordable: up to
``MAXIMUM_TESTS`` = d * d * T, such as d = 10,000 with T = 20: a few seconds at worst, mostly
far less.  Values beyond int64 run uncompiled, with a hundredth of that limit: under a minute.

The next release under full cover (full_cover_blocks)
-----------------------------------------------------
What it does: cuts the values of a grown table into blocks so that comparing the new release
with the earlier ones tells nothing, at the smallest sum of ranges among cuts that never fall
inside a block of the latest release (full cover).  Against the union adversary, fresh rows
(rows never published before) that have no company yet are held back.

Source: "An incremental privacy-preservation algorithm for the (k, e)-Anonymous model" (2015),
Definition 5, and Lemma 1 and Theorem 1 on how a new block may lie over old ones.  The union
adversary is not in the source.

Guarantee, for a series in which every release was decided here, with one k and one e, rows
only appended, and published rows published again in every later release:

- "pairwise": for every earlier block a and new block b, each of a - b, b - a and a & b holds no
  row or is (k,e)-valid (Definition 5), against *all* earlier releases.
- "union": every atom (the rows that lie in one block in every release, absence counting as a
  block) is (k,e)-valid, hence so is whatever is left of a block after subtracting any number of
  others.  The rows held are the fewest possible, and then the sum of ranges is minimal among
  *all* partitions of the rows, with or without full cover.

Algorithm: let b = [i, j) be a new block.  Since a cut splits no old block, b covers each old
block wholly or not at all, and a value outside the old blocks has fresh rows only.  With f the
fresh rows of b:

1. f is valid: allowed, for b - a contains f for every old block a.
2. f is empty and b covers an old block: allowed.
3. pairwise only: b covers two or more old blocks: allowed, for b - a contains the other one.

Else b is not allowed: f is left when the one old block in b is subtracted, or b is f itself.
Starts of the first and third kind are prefixes for a fixed j, those of the second an interval:
two windows for ``best_cuts``.

The latest release is enough.  A block a of an earlier release lies within one block A of the
latest, which lies within one new block b.  Then a - b is empty and a & b = a is valid.  If b
covers another old block, b - a contains it; if not, b - a = (A - a) + f, and A - a was empty or
valid before.  Atoms: places at and after birth are fixed by the block at birth, so the fresh
rows of a new block are an atom, and earlier atoms never change.

Holding back (union).  Validity is monotone: what contains a valid set is valid.  If all fresh
rows together are valid, one block of everything is allowed, and none is held.  If not, then
publishing any of them puts a nonempty, invalid atom into the world: no subset of an invalid set
is valid.  So all are held, and the blocks stay as they were.  The fewest rows held is therefore
none or all.

No loss (union).  Take any partition with valid atoms.  Merging two of its blocks whose ranges
overlap keeps atoms empty or valid (each becomes a union of old ones) and does not raise the
sum; so let ranges be disjoint.  If a cut split an old block, both sides would consist of
nonempty atoms, all valid, and the same split in the earlier release would have been allowed
there and cheaper: that release was not optimal.  This is why a release that holds everything
back keeps its blocks.  For "pairwise" the argument covers one earlier release and no more: a
block that had to merge old ones for the sake of a few fresh rows could be split again once more
rows have come, and full cover never does; ``exact_blocks`` finds that optimum.

Cost: O(d + p) for d distinct values and p old blocks, plus a binary search per fresh value.

Departures from the source: its lemmas admit blocks that touch an old border value, and its
claim of overall optimality is wrong from the third release on; see the tests named after the
counterexamples.  Its search is O(p n^3).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from voile_base.compiled import njit, pays, register_jitable, uncompiled
from voile_base.errors import PlanError
from voile_base.ondemand import dataclass

__all__ = [
    "MAXIMUM_BLOCKS",
    "MAXIMUM_TESTS",
    "MAXIMUM_TESTS_UNCOMPILED",
    "Adversary",
    "after_last",
    "as_units",
    "best_cuts",
    "blocks_of",
    "enclosing",
    "exact_blocks",
    "full_cover_blocks",
    "largest_feasible",
    "latest_valid_start",
    "narrow_blocks",
    "optimal_blocks",
]

_COMPILED_CUTS_FROM = 500_000
"""Window ends for which Python takes as long as it takes to load Numba."""


def as_units(values: NDArray[np.generic]) -> NDArray[Any]:
    """``values`` as the kernels want them: contiguous, writable, int64 or object.

    Raises ``ValueError`` where they are not strictly ascending.
    """
    kind = np.object_ if values.dtype == np.object_ else np.int64
    # A read-only array is another type to the compiler, which would compile everything twice.
    units: NDArray[Any] = np.require(values, kind, ["C", "W"])
    if not np.all(units[1:] > units[:-1]):
        raise ValueError("values must be strictly ascending")
    return units


def latest_valid_start(
    values: NDArray[np.generic], present: NDArray[np.bool_], k: int, e: int
) -> NDArray[np.int64]:
    """For each right end j, the largest i such that the present values in [i, j) are valid.

    Valid is to hold at least ``k`` values with a range of at least ``e``; every smaller i does
    as well.  ``present`` is (d,); the answer is (d + 1,), nondecreasing, -1 where no i will do.
    """
    positions = np.flatnonzero(present)
    shown = values[positions]
    # What no block can reach is all the same, and the smallest such number cannot overflow.
    k = min(k, len(shown) + 1)
    e = min(e, int(shown[-1]) - int(shown[0]) + 1) if len(shown) else e
    wide = np.searchsorted(shown, shown - e, side="right") - 1
    many = np.arange(len(shown)) - (k - 1)
    latest = np.maximum(np.minimum(wide, many), -1)
    start = np.concatenate(([-1], positions))[latest + 1]
    count = np.concatenate(([0], np.cumsum(present)))
    answer: NDArray[np.int64] = np.concatenate(([-1], start))[count].astype(np.int64)
    return answer


def after_last(present: NDArray[np.bool_]) -> NDArray[np.int64]:
    """For each right end j, the smallest i such that [i, j) holds no present value: (d + 1,)."""
    marks = np.where(present, np.arange(1, len(present) + 1), 0)
    answer: NDArray[np.int64] = np.concatenate(([0], np.maximum.accumulate(marks))).astype(np.int64)
    return answer


def enclosing(blocks: NDArray[np.int64], d: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Start and stop of the block that a cut at each position 0..d would split.

    ``blocks`` is (p, 2), disjoint index ranges [start, stop) in ascending order.  Where a cut
    splits none, both are the position itself.
    """
    position = np.arange(d + 1)
    if len(blocks) == 0:
        return position, position.copy()
    owner = np.maximum(np.searchsorted(blocks[:, 0], position, side="right") - 1, 0)
    start, stop = blocks[owner, 0], blocks[owner, 1]
    inside = (start < position) & (position < stop)
    return np.where(inside, start, position), np.where(inside, stop, position)


def best_cuts(
    values: NDArray[np.generic],
    cut_allowed: NDArray[np.bool_],
    low: NDArray[np.int64],
    high: NDArray[np.int64],
) -> NDArray[np.int64] | None:
    """Boundaries 0 = b0 < b1 < ... < bp = d of the cheapest allowed cuts, or None.

    ``values`` is (d,), strictly ascending; ``cut_allowed`` (d + 1,), its two ends are taken as
    allowed; ``low`` and ``high`` (W, d + 1), nondecreasing along each row.  [i, j) is allowed if
    i < j, cuts are allowed at both, and ``low[w, j] <= i <= high[w, j]`` for some w.
    No values, or no allowed way to cut: None.
    """
    units = as_units(values)
    compiled = units.dtype != np.object_ and pays(low.size, _COMPILED_CUTS_FROM)
    d, allowed = len(units), np.array(cut_allowed, np.bool_)
    low, high = np.ascontiguousarray(low, np.int64), np.ascontiguousarray(high, np.int64)
    score = np.zeros(d + 1, units.dtype)
    start = np.full(d + 1, -1, np.int64)  # an own mark of infeasibility: integers have no -inf
    work = np.zeros_like(low), np.zeros((len(low), 3), np.int64)
    if compiled:
        _best_cuts(units, allowed, low, high, score, start, work)
        return _boundaries_of(start)
    # Python reads lists sooner than arrays.
    windows = low.tolist(), high.tolist()
    chain, queue, ends = start.tolist(), work[0].tolist(), work[1].tolist()
    kernel: Callable[..., None] = uncompiled(_best_cuts)
    kernel(units.tolist(), allowed.tolist(), *windows, score.tolist(), chain, (queue, ends))
    return _boundaries_of(np.array(chain, np.int64))


def _boundaries_of(start: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Follow ``start`` (start of the best last block for each right end, or -1) back from d."""
    chain = start.tolist()
    end = len(chain) - 1
    if end == 0 or chain[end] < 0:
        return None
    boundaries = [end]
    while end > 0:
        end = chain[end]
        boundaries.append(end)
    return np.array(boundaries[::-1], np.int64)


def blocks_of(boundaries: NDArray[np.int64] | None) -> NDArray[np.int64] | None:
    """Boundaries (p + 1,) as index ranges [start, stop), (p, 2); None stays None."""
    return None if boundaries is None else np.column_stack((boundaries[:-1], boundaries[1:]))


@register_jitable
def _slide(
    score: NDArray[np.generic],
    start: NDArray[np.int64],
    queue: NDArray[np.int64],
    ends: NDArray[np.int64],
    window: tuple[int, int],
) -> int:
    """Move one window to [low, high]; the latest of its starts with the best score, or -1.

    ``queue[head:tail]`` holds ascending starts of strictly descending score.
    """
    head, tail, following = ends[0], ends[1], ends[2]
    low, high = window
    while following <= high:
        if start[following] >= 0:
            while tail > head and score[queue[tail - 1]] <= score[following]:
                tail -= 1
            queue[tail] = following
            tail += 1
        following += 1
    while head < tail and queue[head] < low:
        head += 1
    ends[0], ends[1], ends[2] = head, tail, following
    return queue[head] if head < tail else -1


@njit(cache=True)
def _best_cuts(
    values: NDArray[np.generic],
    cut_allowed: NDArray[np.bool_],
    low: NDArray[np.int64],
    high: NDArray[np.int64],
    score: NDArray[np.generic],
    start: NDArray[np.int64],
    work: tuple[NDArray[np.int64], NDArray[np.int64]],
) -> None:
    """Put into ``start`` that of the last block in the best cuts of each [0, j), or leave -1.

    ``score`` gets the gaps at the cuts up to and including j; ``work`` is the queue and the ends of
    each window, for ``_slide``.
    """
    d, (queue, ends) = len(values), work
    start[0] = 0
    for j in range(1, d + 1):
        if j < d and not cut_allowed[j]:
            continue
        best = -1
        for w in range(len(low)):
            window = (low[w][j], min(high[w][j], j - 1))
            i = _slide(score, start, queue[w], ends[w], window)
            if i < 0:
                continue
            if best < 0 or score[i] > score[best] or (score[i] == score[best] and i > best):
                best = i
        if best >= 0:
            start[j] = best
            score[j] = score[best] + (values[j] - values[j - 1]) if j < d else score[best]


def optimal_blocks(values: NDArray[np.generic], k: int, e: int) -> NDArray[np.int64] | None:
    """Blocks [start, stop) of the static optimum, (p, 2) index ranges, or None if infeasible.

    ``values``: (d,) strictly ascending distinct sensitive values in units, int64 (magnitudes
    under 2**61) or Python integers in an object array; ``k`` >= 2; ``e`` >= 0 in units.
    """
    d = len(values)
    high = latest_valid_start(values, np.ones(d, np.bool_), k, e)[np.newaxis]
    return blocks_of(best_cuts(values, np.ones(d + 1, np.bool_), np.zeros_like(high), high))


@dataclass(frozen=True)
class _Feasible:
    """The parameters that a single release of a table can reach (``e`` in units)."""

    k: int
    e: int


def largest_feasible(values: NDArray[np.generic]) -> _Feasible | None:
    """Find the largest k and the largest e for which a static release exists, if one does.

    The two do not compete: a release exists if and only if the whole table is one valid block,
    so every k up to the one and every e up to the other do together, and where only one of the
    two asked for is too large, lowering that one is enough.  Fewer than two distinct values
    allow no k >= 2, hence None.
    """
    if len(values) < 2:
        return None
    return _Feasible(k=len(values), e=int(values[-1]) - int(values[0]))


MAXIMUM_BLOCKS = 1_000_000_000
"""Candidates that are compared; some seconds."""
_COMPILED_FROM = 5_000


def narrow_blocks(
    values: NDArray[np.generic], rows: NDArray[np.int64], k: int, e: int
) -> NDArray[np.int64] | None:
    """Blocks [start, stop), (p, 2) index ranges, or None if infeasible.

    ``values``: (d,) as for ``optimal_blocks``; ``rows``: (d,) how many have each.
    """
    d = len(values)
    units = as_units(values)
    latest = latest_valid_start(units, np.ones(d, np.bool_), k, e)
    # Positions from which one valid block, or two, reach each right end; -1 where none do.
    earliest = np.where(latest >= 0, latest[latest], -1) + 1
    if int((latest + 1 - earliest)[latest >= 0].sum()) > MAXIMUM_BLOCKS:
        return optimal_blocks(values, k, e)
    x = (units - units[0]).astype(np.float64) if d else np.empty(0)
    before = np.concatenate(([0], np.cumsum(rows))).astype(np.float64)
    ranks = rows * (before[:-1] + (rows - 1) / 2)
    total = np.concatenate(([0.0], np.cumsum(x * rows)))
    ranked = np.concatenate(([0.0], np.cumsum(x * ranks)))
    few = int((latest + 1 - earliest)[latest >= 0].sum()) < _COMPILED_FROM
    kernel = uncompiled(_best_starts) if few else _best_starts
    return blocks_of(_boundaries_of(kernel(earliest, latest, before, total, ranked)))


@njit(cache=True)
def _best_starts(
    earliest: NDArray[np.int64],
    latest: NDArray[np.int64],
    before: NDArray[np.float64],
    total: NDArray[np.float64],
    ranked: NDArray[np.float64],
) -> NDArray[np.int64]:
    """Start of the last block in the best cuts of each [0, j), or -1; ``start[0]`` is 0.

    ``before`` counts the rows before each position, ``total`` sums their values, and ``ranked``
    their values by rank.
    """
    d = len(latest) - 1
    cost = np.full(d + 1, np.inf)
    start = np.full(d + 1, -1, np.int64)
    cost[0] = 0.0
    start[0] = 0
    for j in range(1, d + 1):
        for i in range(earliest[j], latest[j] + 1):
            n = before[j] - before[i]
            middle = 2 * before[i] + n - 1
            spread = 2 * (ranked[j] - ranked[i]) - middle * (total[j] - total[i])
            with_it = cost[i] + spread / (n + 1)
            if with_it < cost[j]:
                cost[j] = with_it
                start[j] = i
    return start


MAXIMUM_TESTS = 2_000_000_000
MAXIMUM_TESTS_UNCOMPILED = MAXIMUM_TESTS // 100


class _Reach(NamedTuple):
    """For each position and release (d + 1, T): what a block with an end there would touch.

    Rows of one kind in [x, y) are none or valid if and only if
    ``x <= valid[y] or x >= none[y]``.
    """

    split_start: NDArray[np.int64]
    split_stop: NDArray[np.int64]
    first_stop: NDArray[np.int64]
    """Stop of the old block of the first row at or after this position that was there at t."""
    there_valid: NDArray[np.int64]
    there_none: NDArray[np.int64]
    later_valid: NDArray[np.int64]
    later_none: NDArray[np.int64]


def exact_blocks(
    values: NDArray[np.generic],
    births: NDArray[np.bool_],
    releases: Sequence[NDArray[np.int64]],
    k: int,
    e: int,
    admitted: NDArray[np.bool_] | None = None,
) -> NDArray[np.int64] | None:
    """Blocks [start, stop) of the optimum, (p, 2) index ranges, or None if there is none.

    ``values``: (d,) as for ``optimal_blocks``; ``births``: (T + 1, d), ``births[t]``
    tells which values have rows first published at release t, the last row which have fresh
    rows; ``releases``: for each earlier release its blocks, (p_t, 2) index ranges, valid,
    ascending, disjoint; ``admitted``: (d + 1, d + 1), whether [i, j) may be a block at all, by i
    and j; None: all may.  Ties are broken as in ``best_cuts``.  Raises ``PlanError`` where
    d * d * T is beyond what is affordable.
    """
    units = as_units(values)
    compiled = units.dtype != np.object_
    _check_affordable(len(units), len(releases), compiled)
    valid = latest_valid_start(units, np.ones(len(units), np.bool_), k, e)
    reach = _reach(units, births, releases, k, e)
    kernel = _best_starts_tested if compiled else uncompiled(_best_starts_tested)
    some = np.empty((0, 0), np.bool_) if admitted is None else np.ascontiguousarray(admitted)
    return blocks_of(_boundaries_of(kernel(units, valid, reach, some)))


def _check_affordable(d: int, releases: int, compiled: bool) -> None:
    limit = MAXIMUM_TESTS if compiled else MAXIMUM_TESTS_UNCOMPILED
    if d * d * releases > limit:
        raise PlanError(
            f'search = "exact" is not affordable: {d:,} distinct values squared times '
            f"{releases:,} earlier releases is more than {limit:,} tests; "
            'use search = "full-cover" (safe, and not always the smallest sum of ranges)'
        )


def _reach(
    values: NDArray[np.generic],
    births: NDArray[np.bool_],
    releases: Sequence[NDArray[np.int64]],
    k: int,
    e: int,
) -> _Reach:
    d = len(values)
    columns: list[tuple[NDArray[np.int64], ...]] = []
    for t, blocks in enumerate(releases):
        old = np.asarray(blocks, np.int64).reshape(-1, 2)
        there: NDArray[np.bool_] = np.logical_or.reduce(births[: t + 1])
        later: NDArray[np.bool_] = np.logical_or.reduce(births[t + 1 :])
        columns.append(
            (
                *enclosing(old, d),
                _stop_of_first(old, there),
                latest_valid_start(values, there, k, e),
                after_last(there),
                latest_valid_start(values, later, k, e),
                after_last(later),
            )
        )
    table = np.array(columns, np.int64).reshape(len(releases), len(_Reach._fields), d + 1)
    # Release last: the innermost loop runs over releases.
    return _Reach(*(np.ascontiguousarray(table[:, f].T) for f in range(len(_Reach._fields))))


def _stop_of_first(blocks: NDArray[np.int64], there: NDArray[np.bool_]) -> NDArray[np.int64]:
    """For each position, the stop of the block of the first present value there or after."""
    d = len(there)
    first = np.minimum.accumulate(np.where(there, np.arange(d), d)[::-1])[::-1]
    first = np.append(first, d)
    stops = np.append(blocks[:, 1], d)
    answer: NDArray[np.int64] = stops[np.searchsorted(blocks[:, 1], first, side="right")]
    return answer


@register_jitable
def _is_safe(i: int, j: int, reach: _Reach) -> bool:
    """Whether [i, j), a valid block, gives nothing away against any earlier release."""
    for t in range(reach.there_none.shape[1]):
        left_stop = min(j, reach.split_stop[i, t])
        if reach.there_valid[left_stop, t] < i < reach.there_none[left_stop, t]:
            return False
        right_start = max(i, reach.split_start[j, t])
        if reach.there_valid[j, t] < right_start < reach.there_none[j, t]:
            return False
        meets_one = i < reach.there_none[j, t] <= reach.first_stop[i, t]
        if meets_one and reach.later_valid[j, t] < i < reach.later_none[j, t]:
            return False
    return True


@njit(cache=True)
def _best_starts_tested(
    values: NDArray[np.generic],
    valid: NDArray[np.int64],
    reach: _Reach,
    admitted: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """Start of the last block in the best safe cuts of each [0, j), or -1."""
    d = len(values)
    score = np.zeros(d + 1, values.dtype)  # gaps at the cuts up to and including j
    highest = np.zeros(d + 1, values.dtype)  # the best score up to and including j
    start = np.full(d + 1, -1, np.int64)
    start[0] = 0
    for j in range(1, d + 1):
        best = -1
        for i in range(valid[j], -1, -1):
            if best >= 0 and highest[i] <= score[best]:
                break
            if start[i] < 0 or (best >= 0 and score[i] <= score[best]):
                continue
            if len(admitted) and not admitted[i, j]:
                continue
            if _is_safe(i, j, reach):
                best = i
        if best >= 0:
            start[j] = best
            score[j] = score[best] + (values[j] - values[j - 1]) if j < d else score[best]
        highest[j] = max(highest[j - 1], score[j])
    return start


Adversary = Literal["union", "pairwise"]


@dataclass(frozen=True)
class _FullCover:
    """What to publish next.

    A row is published in block m if its value has an index in ``blocks[m, 0] .. blocks[m, 1] - 1``
    and the row is not held.  ``held`` says that every fresh row is held, wherever its value lies;
    then ``blocks`` are those of the latest release.  Otherwise no row is held, and the blocks
    cover all values.
    """

    blocks: NDArray[np.int64]
    """(p, 2) index ranges [start, stop), ascending and disjoint."""
    held: bool


def full_cover_blocks(
    values: NDArray[np.generic],
    fresh: NDArray[np.bool_],
    old_blocks: NDArray[np.int64],
    k: int,
    e: int,
    adversary: Adversary,
) -> _FullCover | None:
    """Decide the cheapest safe blocks under the full-cover rule; None if nothing is safe.

    ``values``: (d,) as for ``optimal_blocks``, of published and fresh rows together;
    ``fresh``: (d,) the value has rows that were never published (it may have others);
    ``old_blocks``: (p, 2) index ranges [start, stop) of the latest release's blocks, valid,
    ascending, disjoint; (0, 2) where there is none, which gives the static optimum.
    Rows that an earlier release held back are fresh.  Raises ``ValueError`` where a value is
    neither fresh nor in an old block: then these are not the old blocks of this table.
    """
    d = len(values)
    old_blocks = np.asarray(old_blocks, np.int64).reshape(-1, 2)
    _check_published_lie_in_blocks(fresh, old_blocks)
    fresh_valid = latest_valid_start(values, fresh, k, e)
    if adversary == "union" and fresh.any() and fresh_valid[d] < 0:
        return _FullCover(old_blocks.copy(), held=True) if len(old_blocks) else None
    low, high = _windows(fresh, fresh_valid, old_blocks, adversary)
    cut_allowed = enclosing(old_blocks, d)[0] == np.arange(d + 1)
    blocks = blocks_of(best_cuts(values, cut_allowed, low, high))
    return None if blocks is None else _FullCover(blocks, held=False)


def _windows(
    fresh: NDArray[np.bool_],
    fresh_valid: NDArray[np.int64],
    old_blocks: NDArray[np.int64],
    adversary: Adversary,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Windows (2, d + 1) of the allowed starts for each right end; see the module's cases 1-3."""
    ended = np.searchsorted(old_blocks[:, 1], np.arange(len(fresh) + 1), side="right")
    starts = np.concatenate(([-1, -1], old_blocks[:, 0]))
    covers_one, covers_two = starts[ended + 1], starts[ended]
    prefix = np.maximum(fresh_valid, covers_two) if adversary == "pairwise" else fresh_valid
    low = np.stack((np.zeros_like(prefix), after_last(fresh)))
    return low, np.stack((prefix, covers_one))


def _check_published_lie_in_blocks(fresh: NDArray[np.bool_], old_blocks: NDArray[np.int64]) -> None:
    """Refuse old blocks that leave out a value all of whose rows are published."""
    steps = np.zeros(len(fresh) + 1, np.int64)
    np.add.at(steps, old_blocks[:, 0], 1)
    np.add.at(steps, old_blocks[:, 1], -1)
    published = np.cumsum(steps[:-1]) > 0
    if not np.all(fresh | published):
        raise ValueError("a value is neither fresh nor in a block of the latest release")
