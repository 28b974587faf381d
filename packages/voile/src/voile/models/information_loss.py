"""How much a finished generalization lost.

Plain functions on small arrays: for each of p published groups its size and, for each of m
quasi-identifiers, the share of the column's domain that its published value covers.

Sources:

- product of losses: the loss metric of ARX (Prasser and Kohlmayer, "Putting statistical disclosure
  control into practice", 2015), after Iyengar, "Transforming data to satisfy privacy constraints"
  (KDD 2002);
- precision: Sweeney, "Achieving k-anonymity privacy protection using generalization and
  suppression" (2002), section 3.2;
- discernibility: Bayardo and Agrawal, "Data privacy through optimal k-anonymization" (ICDE 2005),
  section 2.3, equation C_DM;
- average class size: LeFevre, DeWitt and Ramakrishnan, "Mondrian multidimensional k-anonymity"
  (ICDE 2006), section 5.3, C_AVG;
- normalized certainty penalty: Xu, Wang, Pei, Wang, Shi and Fu, "Utility-based anonymization using
  local recoding" (KDD 2006), section 2.2; the single leaf that costs nothing is that of Ghinita,
  Karras, Kalnis and Mamoulis, "Fast data anonymization with low information loss" (VLDB 2007);
- non-uniform entropy: Gionis and Tassa, "k-Anonymization with minimal loss of information" (TKDE
  2009), definition 4.3, after de Waal and Willenborg, "Information loss through global recoding and
  local suppression" (1999); normalised as in ARX, by what is lost if nothing is published.

Departures: suppressed rows count in all of them but average class size, because what is not
published is lost; each function says how.  Non-uniform entropy needs to know which row became
which; where only the published values are known it is an expectation, see
``non_uniform_entropy``.  The numbers of rows are private where the release does not show them.

Cost: O(p m).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "attribute_losses",
    "average_class_size",
    "certainty_penalties",
    "discernibility",
    "entropies_of_runs",
    "non_uniform_entropy",
    "precision",
    "product_of_losses",
]


def attribute_losses(
    rows: NDArray[np.int64],
    share: NDArray[np.float64],
    least: NDArray[np.float64],
    suppressed: int = 0,
) -> NDArray[np.float64]:
    """The loss of each column, shape (m,), between 0 and 1.

    A published cell loses the share of the domain that it covers, a cell of a suppressed row 1.
    The sum is normalised so that the values as they are lose 0 and everything suppressed 1.

    ``rows``: (p,), sizes of the groups; ``share``: (p, m); ``least``: (m,), for each column the
    sum, over all rows, of the share that the row's own value covers.
    """
    total = int(rows.sum()) + suppressed
    lost = rows @ share + suppressed - least
    room = total - least
    # A column whose only value is its whole domain has nothing to lose.
    losses: NDArray[np.float64] = np.divide(lost, room, out=np.zeros_like(room), where=room > 0)
    return np.clip(losses, 0.0, 1.0)


def product_of_losses(losses: NDArray[np.float64]) -> float:
    """The geometric mean of 1 + loss over the columns, minus 1; 0 is best, 1 worst."""
    return float(np.expm1(np.log1p(losses).mean())) if len(losses) else 0.0


def certainty_penalties(
    rows: NDArray[np.int64], size: NDArray[np.float64], suppressed: int = 0
) -> NDArray[np.float64]:
    """NCP of each column, shape (m,), between 0 and 1; its mean is that of the table.

    A published cell costs the share of the domain that it covers, nothing if it is one value, a
    cell of a suppressed row 1.

    ``rows``: (p,), sizes of the groups; ``size``: (p, m), 0 where a cell shows a single value, else
    the width of an interval over that of the domain, or leaves below a node over all leaves.
    """
    # The loss metric differs in that a single value covers a share, too.
    return attribute_losses(rows, size, np.zeros(size.shape[1]), suppressed)


def entropies_of_runs(
    rows: NDArray[np.int64], start: NDArray[np.int64], stop: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The entropy of the values of each run, in bits, shape (p,): of which value a row is.

    ``rows``: (d,), original rows of each value, all above 0; a run is ``rows[start:stop]``.
    """
    counted = rows.astype(np.float64)
    totals, logs = (
        np.concatenate([[0.0], np.cumsum(part)]) for part in (counted, counted * np.log2(counted))
    )
    total = totals[stop] - totals[start]
    bits: NDArray[np.float64] = np.log2(total) - (logs[stop] - logs[start]) / total
    return np.where(stop - start == 1, 0.0, np.maximum(bits, 0.0))


def non_uniform_entropy(
    rows: NDArray[np.int64], bits: NDArray[np.float64], whole: float, suppressed: int = 0
) -> float:
    """Non-uniform entropy of a column, between 0 and 1: bits lost over bits that there were.

    A published cell costs the entropy of the original values that it may stand for, a cell of a
    suppressed row that of all.  Summed over the rows of a cell that is the source's sum of -log2
    Pr(value | cell) where a value always becomes the same cell and no row is suppressed; elsewhere
    it is what that sum is expected to be if a cell's rows are like all rows with such values.

    ``rows``: (p,); ``bits``: (p,), see ``entropies_of_runs``; ``whole``: the entropy of the column.
    """
    total = int(rows.sum()) + suppressed
    if not total or whole <= 0:
        return 0.0
    return float(np.clip((rows @ bits / whole + suppressed) / total, 0.0, 1.0))


def precision(
    rows: NDArray[np.int64],
    levels: NDArray[Any],
    heights: NDArray[np.int64],
    suppressed: int = 0,
) -> float:
    """Prec: 1 minus the mean share of the hierarchies that was climbed; 1 is best, 0 worst.

    A cell at a level climbed level / height of its column's hierarchy, a cell of a suppressed row
    all of it.  A column of height 0 was not climbed.

    ``levels``: (p, m), or (m,) where all rows of a column share one; ``heights``: (m,).
    """
    total = int(rows.sum()) + suppressed
    if not total or not len(heights):
        return 1.0
    of_group = np.broadcast_to(levels, (len(rows), len(heights)))
    climbed = (rows @ (of_group / np.maximum(heights, 1))).sum() + suppressed * len(heights)
    return float(1 - climbed / (total * len(heights)))


def discernibility(rows: NDArray[np.int64], suppressed: int = 0) -> int:
    """C_DM: each published row costs the size of its group, each suppressed row all rows."""
    published = sum(size * size for size in rows.tolist())
    return int(published + suppressed * (int(rows.sum()) + suppressed))


def average_class_size(rows: NDArray[np.int64], k: int) -> float:
    """C_AVG: published rows over groups, over k; 1 is best.  Raises ``ValueError`` if none is."""
    if not len(rows):
        msg = "no group was published, so that groups have no average size"
        raise ValueError(msg)
    return float(int(rows.sum()) / len(rows) / k)
