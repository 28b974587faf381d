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
  (ICDE 2006), section 5.3, C_AVG.

Departures: suppressed rows count in all of them but the last, because what is not published is
lost; each function says how.  The numbers of rows are private where the release does not show them.

Cost: O(p m).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "attribute_losses",
    "average_class_size",
    "discernibility",
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
