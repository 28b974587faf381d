"""Which quasi-identifiers are permuted: three groups of columns, and a rank among the third.

- QIB: at most two values.  Stays;
- QIA: strongly tied to the sensitive columns.  Stays, so that the tie can be studied;
- QIC: weakly tied.  May be permuted at little cost.

``rule = "mutual-information"`` measures the tie itself: the share of a column's entropy that the
clusters of sensitive values explain, adjusted for chance (``voile.models.permutation``).  It is not
divided by the entropy of the clusters, which grows with their number and lets ties fall again.
Without the adjustment a column of many values looks tied to anything: in 4,369 rows of the Adult
census and 6 clusters of working hours, a sampling weight that says nothing about anybody scores
0.26 where normalized by the mean of both entropies, and age 0.05.  Weakest tie first.

``rule = "entropy"`` is the seed's: entropy H(x) > H0 makes a column QIC.  It tells how spread a
column is and not how it is tied to another.  Highest entropy first.

The measures are of counts within clusters, which the release shows anyway: permuting does not
change them.  Where persons have several rows, what is decided by are measures of what their rows
weigh (``schema.persons``), which nobody sees; those that a release states are still of its rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from voile.models.permutation import PairCounts, chance_per_row, constant_clusters, log_arrangements
from voile.table.summaries import GroupCounts
from voile_base.errors import PlanError

__all__ = ["ClusteredColumn", "Kind", "Rule", "RuleName", "weakest"]

RuleName = Literal["mutual-information", "entropy"]
Kind = Literal["QIA", "QIB", "QIC"]
_DIGITS = 12
"""Decimals in which ties and entropies are ranked."""


@dataclass(frozen=True, eq=False)
class ClusteredColumn:
    """A quasi-identifier within clusters of rows, and what one can say of it."""

    name: str
    pairs: PairCounts
    """Of cluster and value."""

    @classmethod
    def of(cls, counts: GroupCounts) -> ClusteredColumn:
        """From counts by cluster."""
        return cls(counts.column, PairCounts(counts.group, counts.value, counts.rows, counts.whole))

    @classmethod
    def merged(cls, counts: GroupCounts, labels: NDArray[np.int64]) -> ClusteredColumn:
        """From counts by combination of sensitive values; ``labels`` has the cluster of each."""
        values = int(counts.value.max(initial=-1)) + 1
        key = labels[counts.group] * values + counts.value
        found, index = np.unique(key, return_inverse=True)
        rows = np.bincount(index, weights=counts.rows).astype(np.int64)
        pairs = PairCounts(found // values, found % values, rows, counts.whole)
        return cls(counts.column, pairs)

    @cached_property
    def distinct(self) -> int:
        """How many values the column holds."""
        return int(np.count_nonzero(self.pairs.second_rows))

    @property
    def entropy(self) -> float:
        """How spread the column is, in nats."""
        return self.pairs.second_entropy

    @cached_property
    def tie(self) -> float:
        """How strongly it is tied to the clusters, from 0, as by chance, to 1."""
        return max(0.0, self.pairs.adjusted_information)

    @cached_property
    def log_arrangements(self) -> float:
        """Log of the number of arrangements that permuting it within clusters can give."""
        return log_arrangements(self.pairs)

    @property
    def chance_per_row(self) -> float:
        """Expected share of rows that get their own value back."""
        return chance_per_row(self.pairs)

    @property
    def constant_clusters(self) -> int:
        """Clusters in which it holds one value."""
        return constant_clusters(self.pairs)

    def document(self, kind: Kind, *, permuted: bool) -> dict[str, float | str]:
        """What ``release.json`` says of the column."""
        said: dict[str, float | str] = {
            "group": kind,
            "entropy": self.entropy,
            "tie": self.tie,
            "normalized_mutual_information": self.pairs.normalized_information,
        }
        if permuted:
            said["log_arrangements"] = self.log_arrangements
            said["chance_per_row"] = self.chance_per_row
        return said


class Tied(Protocol):
    """What a rule looks at."""

    @property
    def distinct(self) -> int:
        """How many values the column holds."""

    @property
    def entropy(self) -> float:
        """How spread it is, in nats."""

    @property
    def tie(self) -> float:
        """How strongly it is tied to the clusters, 0 to 1."""


AnyTied = TypeVar("AnyTied", bound=Tied)


@dataclass(frozen=True)
class Rule:
    """What divides quasi-identifiers into three groups."""

    name: RuleName
    threshold: float
    """A tie above it is strong; an entropy above it, in nats, makes a column QIC."""

    def kind(self, column: Tied) -> Kind:
        """The group of a column."""
        if column.distinct <= 2:
            return "QIB"
        if self.name == "entropy":
            return "QIC" if column.entropy > self.threshold else "QIA"
        return "QIA" if column.tie > self.threshold else "QIC"

    def ranked(self, columns: Sequence[AnyTied]) -> list[AnyTied]:
        """The QIC columns, what to permute first in front; equals by entropy, then as given.

        Equal is what differs by rounding alone.
        """
        weak = [column for column in columns if self.kind(column) == "QIC"]
        if self.name == "entropy":
            return sorted(weak, key=lambda column: -round(column.entropy, _DIGITS))
        return sorted(
            weak, key=lambda column: (round(column.tie, _DIGITS), -round(column.entropy, _DIGITS))
        )

    @property
    def parameter(self) -> str:
        """The name of the threshold in a plan."""
        return "entropy_threshold" if self.name == "entropy" else "tie_threshold"


def weakest(
    columns: Sequence[ClusteredColumn], rule: Rule, wanted: int | None
) -> list[ClusteredColumn]:
    """The first ``wanted`` QIC columns by rank, or all of them.

    Raises ``PlanError`` where there are none, or fewer than are wanted.
    """
    ranked = rule.ranked(columns)
    if ranked and (wanted is None or wanted <= len(ranked)):
        return ranked[:wanted]
    kinds = [rule.kind(column) for column in columns]
    binary, strong = kinds.count("QIB"), kinds.count("QIA")
    measure = "an entropy of at most" if rule.name == "entropy" else "a tie to the clusters above"
    mend = "lower" if rule.name == "entropy" else "raise"
    few = f"only {len(ranked)} quasi-identifiers are" if ranked else "no quasi-identifier is"
    asked = f"columns = {wanted}, but {few}" if ranked else few
    msg = (
        f"{asked} weakly tied to the sensitive columns (QIC): of {len(columns)}, {binary} hold at "
        f"most two values (QIB), and {strong} have {measure} {rule.parameter} = "
        f"{rule.threshold:g} (QIA); {mend} {rule.parameter}, or name in columns what to permute"
    )
    raise PlanError(msg)
