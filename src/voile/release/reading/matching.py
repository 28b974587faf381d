"""Evidence in columns without noise: which published rows a known value can belong to.

What it does: for the known values of t targets and n published rows, says for each pair whether
what the row shows covers the value: an interval that holds it, or a text that it became.

Claim: no row that is a target's own is ever ruled out, as long as texts were generalized as
assumed.  Numbers are compared in double precision; rounding keeps the order of numbers, so that an
interval never loses a value.  A missing value is covered by a missing one, and by anything where
that is how groups show that they mix.

Cost: O(t n) a column, and one level of the hierarchy more where the level is not stated.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["Evidence", "Intervals", "Labels"]

Floats = NDArray[np.float64]


class Evidence(Protocol):
    """What one column says of every pair of a target and a published row."""

    def log_weights(self, targets: slice) -> Floats:
        """How well each row fits each of some targets, shape (targets, n); -inf rules it out."""


@dataclass(frozen=True, eq=False)
class Intervals:
    """Known numbers of t targets, and closed intervals in n rows."""

    known: Floats
    """Shape (t,); NaN for a missing value."""
    low: Floats
    """Shape (n,); NaN in both ends for a missing value."""
    high: Floats
    missing_is_anything: bool = False
    """Whether a row that shows a missing value may have any."""

    def log_weights(self, targets: slice) -> Floats:
        """0 where the interval holds the number, else -inf."""
        known = self.known[targets, np.newaxis]
        hidden = np.isnan(self.low) & np.isnan(self.high)
        covers = (self.low <= known) & (known <= self.high)
        covers |= hidden & (np.isnan(known) | self.missing_is_anything)
        return _log(covers)


@dataclass(frozen=True, eq=False)
class Labels:
    """What the values of t targets may have become, and the texts of n rows, as numbers."""

    known: NDArray[np.int64]
    """Shape (levels, t): a target fits a row whose text is that of any level."""
    shown: NDArray[np.int64]
    """Shape (n,)."""
    anything: NDArray[np.bool_]
    """Shape (n,): rows whose text may stand for any value."""

    @classmethod
    def of(
        cls,
        known: Sequence[Sequence[str | None]],
        shown: Sequence[str | None],
        anything: Collection[str | None] = (),
    ) -> Self:
        """From texts: for each level what the t targets become, and what the n rows show."""
        codes: dict[str | None, int] = {}

        def code(texts: Sequence[str | None]) -> NDArray[np.int64]:
            numbers = [codes.setdefault(text, len(codes)) for text in texts]
            return np.array(numbers, dtype=np.int64)

        wild = np.array([text in anything for text in shown], dtype=np.bool_)
        return cls(np.stack([code(texts) for texts in known]), code(shown), wild)

    def log_weights(self, targets: slice) -> Floats:
        """0 where the text may stand for the value, else -inf."""
        levels = self.known[:, targets, np.newaxis]
        covers = np.logical_or.reduce([level == self.shown for level in levels])
        return _log(covers | self.anything)


def _log(covers: NDArray[np.bool_]) -> Floats:
    return np.where(covers, 0.0, -np.inf)
