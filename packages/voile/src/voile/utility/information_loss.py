"""What generalization lost, cell by cell and group by group; private.

    measure                        what it counts                                 source
    precision                      levels climbed, of the height of a hierarchy   Sweeney
    normalized certainty penalty   share of the domain that a cell covers         Xu et al.
    non-uniform entropy            bits about a value that its cell leaves open   Gionis and Tassa
    discernibility                 rows that a row cannot be told from            Bayardo, Agrawal
    average class size             rows of a group over the k asked for           LeFevre et al.
    suppressed rows                rows of the original that are not published

The formulas, with full references, stand in ``models.information_loss``; what a cell covers is
said in ``covering``.  Measured are the quasi-identifiers, what rows are ranked by, and every other
published column whose cells are not simply its values; groups are of the first two alone.  Columns
that are withheld are lost altogether.

Suppressed rows are those that the original has more than the release: rows left out by a method,
dropped for missing values, held back, or not sampled.

Columns with noise, averages and permuted values count in the certainty penalty only, by what
``covering`` says of their size.  Where nobody can tell what a cell stands for, as in synthetic
rows, no measure of cells applies: it is refused, and never 0.  Marginals, pairs and tasks see them.

Cost: O(d + e) a column with d values and e entries, beside its ``covering``; one count of the
published combinations for discernibility and average class size.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from voile.disclosure.shown import Shown
from voile.models.information_loss import (
    average_class_size,
    certainty_penalties,
    discernibility,
    entropies_of_runs,
    non_uniform_entropy,
    precision,
)
from voile.release.claims import GroupClaim
from voile.release.method_claims import SampledGeneralization
from voile.table.codes import Combinations
from voile.utility.covering import ColumnCovering, columns_in_role, coverings
from voile.utility.protocol import Comparison, Measurement
from voile_base.ondemand import dataclass

__all__ = [
    "AverageClassSize",
    "Discernibility",
    "NonUniformEntropy",
    "NormalizedCertaintyPenalty",
    "Precision",
    "SuppressedRows",
]

_KEYS = ("quasi_identifiers", "ranking")
_OTHERS = ("sensitive", "keep")


@dataclass(frozen=True)
class Precision:
    """Prec: how little of the hierarchies was climbed."""

    name: ClassVar[str] = "precision"

    def refusal(self, comparison: Comparison) -> str | None:
        """Levels are counted in the plan's hierarchies, and intervals of groups have none."""
        if (reason := _no_columns(comparison) or _no_sets(comparison)) is not None:
            return reason
        if comparison.original.plan is None:
            return "levels are counted in the hierarchies of the plan, and no plan was given"
        found = coverings(comparison, _published(comparison))
        if any(covering.level is None for covering in found.values()):
            sets = any(covering.stated.kind == "set" for covering in found.values())
            what = "intervals or sets of values" if sets else "intervals"
            return f"its groups show {what}, which lie on no level of a hierarchy"
        return None

    def measure(self, comparison: Comparison) -> Sequence[Measurement]:
        """The mean over columns and rows; parts by column."""

        def of_column(covering: ColumnCovering, suppressed: int) -> float:
            assert covering.level is not None
            height = len(covering.domain.generalized) - 1
            level = covering.level[:, np.newaxis]
            return precision(covering.rows, level, np.array([height]), suppressed)

        parts = _by_column(comparison, of_column, lost=0.0)
        return [
            Measurement(
                measure=self.name,
                title="Precision of the generalization",
                value=_mean(parts),
                better="higher",
                meaning="the share of the hierarchies that was not climbed, on average over cells",
                untouched=1.0,
                useless=0.0,
                parts=parts,
                notes=_notes(comparison),
            )
        ]


@dataclass(frozen=True)
class NormalizedCertaintyPenalty:
    """NCP: the share of its column's domain that a cell covers."""

    name: ClassVar[str] = "normalized-certainty-penalty"

    def refusal(self, comparison: Comparison) -> str | None:
        """Every measured column must tell how much of its domain a cell leaves open."""
        if (reason := _no_columns(comparison)) is not None:
            return reason
        return _refused(comparison, _published(comparison), lambda shown: shown.size_refusal)

    def measure(self, comparison: Comparison) -> Sequence[Measurement]:
        """The mean over columns and rows; parts by column."""

        def of_column(covering: ColumnCovering, suppressed: int) -> float:
            size = covering.size[:, np.newaxis]
            return float(certainty_penalties(covering.rows, size, suppressed)[0])

        parts = _by_column(comparison, of_column, lost=1.0)
        return [
            Measurement(
                measure=self.name,
                title="Normalized certainty penalty",
                value=_mean(parts),
                better="lower",
                meaning="the share of its column's domain that a cell covers, on average",
                untouched=0.0,
                useless=1.0,
                parts=parts,
                notes=(
                    *_notes(comparison),
                    *(
                        f"column {name!r} counts by {shown.size_basis}"
                        for name, shown in _shown(comparison, _published(comparison))
                        if shown.size_basis is not None
                    ),
                ),
            )
        ]


@dataclass(frozen=True)
class NonUniformEntropy:
    """How many bits about a value its cell leaves open, of those that the column has."""

    name: ClassVar[str] = "non-uniform-entropy"

    def refusal(self, comparison: Comparison) -> str | None:
        """Cells must stand for sets of values."""
        return _no_columns(comparison) or _no_sets(comparison)

    def measure(self, comparison: Comparison) -> Sequence[Measurement]:
        """The mean over columns; parts by column."""

        def of_column(covering: ColumnCovering, suppressed: int) -> float:
            spread, rows = covering.spread, covering.domain.rows
            bits = entropies_of_runs(rows[spread.order], spread.start, spread.stop)
            whole = entropies_of_runs(rows, np.array([0]), np.array([len(rows)]))
            return non_uniform_entropy(covering.rows, bits, float(whole[0]), suppressed)

        parts = _by_column(comparison, of_column, lost=1.0)
        return [
            Measurement(
                measure=self.name,
                title="Non-uniform entropy",
                value=_mean(parts),
                better="lower",
                meaning="the share of the bits of a value that its cell leaves open, on average",
                untouched=0.0,
                useless=1.0,
                parts=parts,
                notes=_notes(comparison),
            )
        ]


@dataclass(frozen=True)
class Discernibility:
    """C_DM: how many rows each row cannot be told from, summed."""

    name: ClassVar[str] = "discernibility"

    def refusal(self, comparison: Comparison) -> str | None:
        """Groups must share what they show."""
        return _no_groups(comparison)

    def measure(self, comparison: Comparison) -> Sequence[Measurement]:
        """The sum over all rows of the original."""
        rows = comparison.original.frame.height
        return [
            Measurement(
                measure=self.name,
                title="Discernibility",
                value=float(discernibility(_groups(comparison), _suppressed(comparison))),
                better="lower",
                meaning="for each row the rows that look like it, added up; all, if suppressed",
                untouched=float(discernibility(_original_groups(comparison))),
                useless=float(rows) ** 2,
                notes=_notes(comparison),
            )
        ]


@dataclass(frozen=True)
class AverageClassSize:
    """C_AVG: how much larger than necessary groups are, on average."""

    name: ClassVar[str] = "average-class-size"

    def refusal(self, comparison: Comparison) -> str | None:
        """Groups must share what they show, and have been asked to be of k rows."""
        if (reason := _no_groups(comparison)) is not None:
            return reason
        if _least_rows(comparison) is None:
            return "its guarantee asks for no least number of rows, k, in a group"
        return None if comparison.published.frame.height else "it has no rows"

    def measure(self, comparison: Comparison) -> Sequence[Measurement]:
        """The mean size of a group over k."""
        k = _least_rows(comparison)
        assert k is not None, "was refused"
        original = _original_groups(comparison)
        return [
            Measurement(
                measure=self.name,
                title="Average class size",
                value=average_class_size(_groups(comparison), k),
                better="lower",
                meaning=f"rows of a group over k = {k}, on average over groups; 1 is the best",
                untouched=average_class_size(original, k),
                useless=average_class_size(original.sum(keepdims=True), k),
            )
        ]


@dataclass(frozen=True)
class SuppressedRows:
    """The share of the original rows that are not published."""

    name: ClassVar[str] = "suppressed-rows"

    def refusal(self, comparison: Comparison) -> str | None:
        """There must be rows that could be suppressed, and published ones that are of somebody."""
        if not comparison.original.frame.height:
            return "the original has no rows"
        columns = comparison.published.disclosure.columns
        made_up = (n for n, shown in columns.items() if shown.made_up)
        return _refused(comparison, list(made_up), lambda shown: shown.set_refusal)

    def measure(self, comparison: Comparison) -> Sequence[Measurement]:
        """The share, between 0 and 1."""
        return [
            Measurement(
                measure=self.name,
                title="Suppressed rows",
                value=_suppressed(comparison) / comparison.original.frame.height,
                better="lower",
                meaning="the share of the original rows that are not published",
                untouched=0.0,
                useless=1.0,
            )
        ]


def _keys(comparison: Comparison) -> list[str]:
    """The columns that make groups."""
    found = (columns_in_role(comparison, role) for role in _KEYS)
    return list(dict.fromkeys(name for names in found for name in names))


def _published(comparison: Comparison) -> list[str]:
    """The published columns that are measured."""
    others = [name for role in _OTHERS for name in columns_in_role(comparison, role)]
    altered = (name for name, shown in _shown(comparison, others) if shown.altered)
    return list(dict.fromkeys([*_keys(comparison), *altered]))


def _withheld(comparison: Comparison) -> list[str]:
    """The columns that the plan's roles name, and of which the release says that it shows none."""
    plan = comparison.original.plan
    named = () if plan is None else (*plan.roles.quasi_identifiers, *plan.roles.sensitive)
    disclosure = comparison.published.disclosure
    return [n for n in named if n in disclosure.columns and not disclosure.columns_of(n)]


def _shown(comparison: Comparison, columns: Sequence[str]) -> list[tuple[str, Shown]]:
    found = ((name, comparison.published.shown(name)) for name in columns)
    return [(name, shown) for name, shown in found if shown is not None]


def _least_rows(comparison: Comparison) -> int | None:
    """How many rows a group was to have at least; None where nothing was asked."""
    claims = comparison.published.release.guarantee.claims
    asked = [one.k for one in claims if isinstance(one, GroupClaim | SampledGeneralization)]
    return max(asked, default=None)


def _no_columns(comparison: Comparison) -> str | None:
    if _published(comparison) or _withheld(comparison):
        return None
    return "it has no quasi-identifiers"


def _no_sets(comparison: Comparison) -> str | None:
    return _refused(comparison, _published(comparison), lambda shown: shown.set_refusal)


def _no_groups(comparison: Comparison) -> str | None:
    """Rows make groups by what they show of keys, where all values stayed with their rows."""
    if not _keys(comparison):
        return "it has no quasi-identifiers"
    columns = dict.fromkeys([*_keys(comparison), *sorted(comparison.published.permuted)])
    return _refused(comparison, list(columns), lambda shown: shown.set_refusal)


def _refused(
    comparison: Comparison, columns: Sequence[str], refusal: Callable[[Shown], str | None]
) -> str | None:
    """Why the first of some columns is refused; None where each is fine."""
    reasons = ((n, refusal(shown)) for n, shown in _shown(comparison, columns))
    return next((f"column {n!r}: {why}" for n, why in reasons if why is not None), None)


def _suppressed(comparison: Comparison) -> int:
    """Original rows that are not published; none where rows of other tables joined."""
    return max(comparison.original.frame.height - comparison.published.frame.height, 0)


def _notes(comparison: Comparison) -> tuple[str, ...]:
    withheld = tuple(
        f"column {name!r} is not published and counted as lost altogether"
        for name in _withheld(comparison)
    )
    suppressed = _suppressed(comparison)
    if not suppressed:
        return withheld
    rows = "1 row of the original is" if suppressed == 1 else f"{suppressed:,} original rows are"
    return (f"{rows} not published and counted as lost altogether", *withheld)


def _by_column(
    comparison: Comparison, measure: Callable[[ColumnCovering, int], float], *, lost: float
) -> Mapping[str, float]:
    """The measure of each column; ``lost`` is that of one that is not published."""
    suppressed = _suppressed(comparison)
    found = coverings(comparison, _published(comparison)).items()
    parts = {name: measure(covering, suppressed) for name, covering in found}
    return {**parts, **dict.fromkeys(_withheld(comparison), lost)}


def _mean(parts: Mapping[str, float]) -> float:
    return sum(parts.values()) / len(parts)


def _groups(comparison: Comparison) -> NDArray[np.int64]:
    """Rows of each combination that the release shows of the measured columns."""
    published = comparison.published
    shown = [c for name in _keys(comparison) for c in published.columns_of(name)]
    distinct, place = published.cells(shown)
    return np.bincount(place, minlength=distinct.height)


def _original_groups(comparison: Comparison) -> NDArray[np.int64]:
    """Rows of each combination of the original's values; private."""
    found = coverings(comparison, _keys(comparison)).values()
    return Combinations.of([(covering.own, len(covering.values)) for covering in found]).rows
