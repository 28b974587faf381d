"""Columns permuted within groups: how they are shown, and the evidence in them.

A column whose values were permuted within the groups of a release.

Which rows make a group, and what decides it, is stated once for all such columns: by the
disclosure's ``groups``.  A row shows the value of some row of its group, all arrangements being
equally likely; ``shuffled`` says what that tells.

Evidence in a column that was permuted within groups: a group shows whose values it holds.

What it does: for t known values and n published rows, the logarithm of how much more likely the
group of a row holds the values that it holds if it has the row of the target than if it has not.

Source: Bayes' rule.  Let group c have n rows, of which k show the known value b, and let a share q
of all rows show it.  A uniform permutation makes all arrangements of the values of a group equally
likely, so the values that stand beside a row say nothing but what is in the group.  If the values
of others are independent draws, the chance of the multiset of the group is the multinomial one;
with b given for one of its rows, what is left is that of n - 1 draws.  The ratio of the two is

    (k / n) / q,

the share of b in the group over its share in the release.  Between the rows of one target only
the share in the group tells; between the people that a row may belong to, q tells as well: a
value that is rare everywhere fits the few groups that show it the better.

Claim: where several columns were permuted, each by a permutation of its own, and the values of
different columns are independent beforehand, ratios are multiplied.

Any evidence e that the column would be if it stood with its rows, a text or an interval or noise,
is averaged alike: (mean of e over the values of the group) / (mean of e over those of all rows).

Cost: O(u v) once, for u known and v published different values; then one look-up a pair.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from voile.disclosure.evidence import Chosen, Evidence
from voile.disclosure.exact import AsItReads
from voile_base.ondemand import on_demand

if TYPE_CHECKING:
    from voile.disclosure.shown import ComparedColumn, OriginalSide

__all__ = ["Permuted", "PermutedEvidence", "group_counts"]


class Permuted(AsItReads):
    """Each row shows the value of some row of its group.

    ``evidence`` is that of the cell by itself, wherever in its group its owner stands.
    """

    kind: Literal["permuted"] = "permuted"
    within: Literal["file"] | None = None
    """"file": nobody says within which rows, or how many values stayed; None: within the groups
    that the disclosure states."""

    @property
    def permuted(self) -> bool:
        """They do."""
        return True

    def against(self, name: str, compare: OriginalSide) -> ComparedColumn | None:
        """Whether the original holds the values, and holds them in other rows."""
        return compare.permuted(name)

    @property
    def set_refusal(self) -> str:
        """A cell is a value of the table, of another row."""
        return "values are permuted within groups, which shows in no single cell"

    @property
    def size_refusal(self) -> str | None:
        """Groups that nobody states have no size."""
        if self.within is None:
            return None
        return "values were swapped between rows, and nobody says within which"

    @property
    def size_basis(self) -> str:
        """Any value of the group may be the row's own."""
        return "the values that its groups hold"


sparse = on_demand("scipy.sparse")

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

_PAIRS = 1 << 21
"""Pairs of a known and a published value that are compared at a time."""


@dataclass(frozen=True, eq=False)
class PermutedEvidence:
    """Known values of t targets, and n rows in groups that hold values in any order."""

    known: Codes
    """Shape (t,): the number of each target's value, below u."""
    group: Codes
    """Shape (n,): the number of each row's group, below c."""
    ratio: Any
    """Shape (u, c), sparse: by how much each group rather has the row of a value than not."""

    @classmethod
    def of(cls, known: Codes, group: Codes, evidence: Evidence, counts: Any) -> Self:
        """From the evidence of u known values against v published values.

        ``known`` (t,) and ``group`` (n,) are as in the class; ``counts`` (v, c) says, sparsely, how
        often each published value stands in each group.
        """
        different = int(known.max(initial=-1)) + 1
        sizes, usual = counts.sum(axis=0), counts.sum(axis=1) / counts.sum()
        step = max(1, _PAIRS // max(counts.shape[0], 1))
        ratios = []
        for start in range(0, different, step):
            fits = np.exp(evidence.log_weights(slice(start, start + step)))
            expected = fits @ usual
            fits /= np.where(expected > 0, expected, 1.0)[:, np.newaxis]
            ratios.append(sparse.csr_array(fits) @ counts)
        ratio = sparse.vstack(ratios, format="csr") if ratios else sparse.csr_array((0, len(sizes)))
        return cls(known, group, ratio * (1 / sizes)[np.newaxis, :])

    def log_weights(self, targets: Chosen) -> Floats:
        """Logarithms of the ratios for some of the targets, shape (targets, n); -inf for none."""
        ratio = self.ratio[self.known[targets]].toarray()
        with np.errstate(divide="ignore"):
            logarithm: Floats = np.log(ratio)[:, self.group]
        return logarithm

    def only(self, rows: Codes) -> Self:
        """The same about some of the rows."""
        groups, group = np.unique(self.group[rows], return_inverse=True)
        return replace(self, group=group.astype(np.int64), ratio=self.ratio[:, groups])


def group_counts(values: tuple[Codes, int], groups: tuple[Codes, int]) -> Any:
    """How often each of v values stands in each of c groups, sparse (v, c).

    Both come as the codes of n rows, and how many different ones there are.
    """
    (value, different), (group, count) = values, groups
    ones = np.ones(len(value), dtype=np.float64)
    return sparse.csr_array((ones, (value, group)), shape=(different, count))
