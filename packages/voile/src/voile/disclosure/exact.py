"""A column that shows its own values: as they are, coded, blanked, withheld, or permuted in groups.

As it is; as numbers in place of identifiers; with cells blanked; or taken away, because the method
publishes something else in its place.  A missing value may stand for any; nobody can tell a blank
from a value that was missing.

Values may have been coded before a method showed them, or after (``schema.coding``).  Codings are
public rules, so that whoever knows a value knows its coded one, and asks of that what the kind
behind it says.

Values that were permuted within groups
---------------------------------------
A column whose values were permuted within the groups of a release.

Which rows make a group, and what decides it, is stated once for all such columns: by the
disclosure's ``groups``.  A row shows the value of some row of its group, all arrangements being
equally likely; ``PermutedEvidence`` says what that tells.

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

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, WithJsonSchema

from voile.disclosure.evidence import (
    CheckedCells,
    Chosen,
    DistinctCells,
    Domain,
    Floats,
    Known,
)
from voile.disclosure.shown import ComparedColumn, OriginalSide, Shown, ShownColumn
from voile.schema.coding import Coding, Recoded, Rounded, strays
from voile_base.errors import InputError
from voile_base.ondemand import dataclass, on_demand

if TYPE_CHECKING:
    from scipy import sparse

    from voile.disclosure import covering as disclosure_covering
    from voile.disclosure import evidence as disclosure_evidence
    from voile.disclosure.covering import Covered
    from voile.disclosure.evidence import Evidence
    from voile.disclosure.noise import StatedNoise
else:
    disclosure_covering = on_demand("voile.disclosure.covering")
    disclosure_evidence = on_demand("voile.disclosure.evidence")
    sparse = on_demand("scipy.sparse")

__all__ = [
    "AsItReads",
    "Blanked",
    "Coded",
    "Exact",
    "Numbered",
    "Permuted",
    "PermutedEvidence",
    "Withheld",
    "group_counts",
]

Behind = Annotated[
    Shown,
    WithJsonSchema(
        {"type": "object", "properties": {"kind": {"type": "string"}}, "required": ["kind"]}
    ),
]
"""Any kind of the registry, coded ones among them; a schema that said so would have no end."""


class Coded(ShownColumn):
    """Each row shows of its coded value what another kind says."""

    kind: Literal["coded"] = "coded"
    codings: Annotated[tuple[Coding, ...], Field(min_length=1)]
    """One after the other."""
    then: Behind
    """How coded values are shown."""

    @property
    def behind(self) -> ShownColumn:
        """The kind behind it."""
        return self.then.behind

    @property
    def promises(self) -> bool:
        """That no cell shows what no coding leaves."""
        return True

    def breaches(self, cells: CheckedCells, confidence: Decimal | None = None) -> Iterator[str]:
        """Numbers that no coding leaves, and what the kind behind it finds."""
        if self.then.kind in {"exact", "blanked"}:
            numbers = cells.values(cells.name).numbers
            if numbers is not None and (wrong := strays(numbers, self.codings)):
                yield f"column {cells.name!r} shows {wrong:,} numbers that its codings do not leave"
        yield from self.then.breaches(cells, confidence)

    def against(self, name: str, compare: OriginalSide) -> ComparedColumn | None:
        """Coded values are no values of the original."""
        return compare.not_compared(name, "its values are coded")

    def coded(self, coding: Coding) -> ShownColumn | None:
        """With one coding more, where the kind behind it shows values or blanks."""
        numeric = not any(isinstance(one, Recoded) for one in self.codings)
        if self.then.kind in {"exact", "blanked"}:
            more = (*self.codings, coding)
            return self.model_copy(update={"codings": more}) if numeric else None
        then = self.then.coded(coding) if isinstance(coding, Rounded) else None
        return None if then is None else self.model_copy(update={"then": then})

    def treated(self, then: ShownColumn) -> ShownColumn | None:
        """With what the further method shows behind it."""
        behind = self.then.treated(then)
        return None if behind is None else self.model_copy(update={"then": behind})

    @property
    def permuted(self) -> bool:
        """As the kind behind it; so are those that follow."""
        return self.then.permuted

    @property
    def graded(self) -> bool:
        """As the kind behind it."""
        return self.then.graded

    @property
    def mixes_missing(self) -> bool:
        """As the kind behind it."""
        return self.then.mixes_missing

    @property
    def noise(self) -> StatedNoise | None:
        """As the kind behind it."""
        return self.then.noise

    @property
    def made_up(self) -> float:
        """As the kind behind it."""
        return self.then.made_up

    @property
    def weighed(self) -> bool:
        """As the kind behind it."""
        return self.then.weighed

    @property
    def needs_hierarchy(self) -> bool:
        """Nodes of a hierarchy are told by it alone."""
        return self.then.needs_hierarchy or any(isinstance(it, Recoded) for it in self.codings)

    @property
    def coarse(self) -> bool:
        """A coded value may be that of several."""
        return True

    @property
    def set_refusal(self) -> str | None:
        """As the kind behind it."""
        return self.then.set_refusal

    @property
    def size_refusal(self) -> str | None:
        """As the kind behind it."""
        return self.then.size_refusal

    @property
    def size_basis(self) -> str | None:
        """As the kind behind it."""
        return self.then.size_basis

    def published(self, name: str) -> tuple[str, ...]:
        """As the kind behind it."""
        return self.then.published(name)

    def with_intervals_as_text(self) -> Coded:
        """The same with intervals in one column."""
        return self.model_copy(update={"then": self.then.with_intervals_as_text()})

    def evidence(self, known: Known, cells: DistinctCells) -> Evidence:
        """What the kind behind it says of the coded values; nothing without their hierarchy."""
        coded = known.coded(self.codings)
        if coded is not None:
            return self.then.evidence(coded, cells)
        shown = cells.texts(self.published(cells.name)[0])
        return disclosure_evidence.Labels.of([known.texts], shown, set(shown))

    def notes(self, known: Known, cells: DistinctCells) -> list[str]:
        """That nodes were not understood, where no hierarchy tells them."""
        coded = known.coded(self.codings)
        if coded is not None:
            return self.then.notes(coded, cells)
        return [
            f"column {cells.name!r} was recoded, and without its hierarchy its texts may stand for "
            "anything; the plan of the original would tell the adversary more"
        ]

    def covered(self, domain: Domain, cells: DistinctCells) -> Covered:
        """A cell stands for all values whose coded one it stands for."""
        found = domain.coded(self.codings)
        if found is None:
            evidence = self.evidence(domain.known, cells)
            return disclosure_covering.labels_covered(domain, cells, evidence, level=None)
        coded, code = found
        behind = self.then.covered(coded, cells)
        return disclosure_covering.Covered.expanded(
            domain, replace(behind, level=None), np.asarray(code)
        )


class AsItReads(ShownColumn):
    """What kinds share whose cells read like values of the table."""

    def evidence(self, known: Known, cells: DistinctCells) -> Evidence:
        """A cell fits a value that reads the same."""
        return disclosure_evidence.Labels.of([known.texts], cells.texts(cells.name))

    def covered(self, domain: Domain, cells: DistinctCells) -> Covered:
        """A cell stands for the value that it reads like; a number for the nearest one."""
        return disclosure_covering.labels_covered(
            domain, cells, self.evidence(domain.known, cells), level=0
        )


class Exact(AsItReads):
    """Each row shows its own value."""

    kind: Literal["exact"] = "exact"

    @property
    def as_it_is(self) -> bool:
        """It does."""
        return True

    def against(self, name: str, compare: OriginalSide) -> ComparedColumn | None:
        """Whether the original holds the values as often."""
        return compare.values(name)

    def coded(self, coding: Coding) -> ShownColumn:
        """Its coded values."""
        return Coded(codings=(coding,), then=self)

    def treated(self, then: ShownColumn) -> ShownColumn:
        """As the method shows it."""
        return then


class Numbered(AsItReads):
    """Equal identifiers show equal numbers, which tell nothing else about them."""

    kind: Literal["numbered"] = "numbered"

    @property
    def weighed(self) -> bool:
        """A number tells nothing of the identifier."""
        return False


class Withheld(ShownColumn):
    """No published column shows anything of it."""

    kind: Literal["withheld"] = "withheld"

    def published(self, name: str) -> tuple[str, ...]:
        """None."""
        del name
        return ()

    def evidence(self, known: Known, cells: DistinctCells) -> Evidence:
        """There are no cells; raises ``InputError``."""
        del known
        raise InputError(_nothing(cells))

    def covered(self, domain: Domain, cells: DistinctCells) -> Covered:
        """There are no cells; raises ``InputError``."""
        del domain
        raise InputError(_nothing(cells))


def _nothing(cells: DistinctCells) -> str:
    return f"the release shows nothing of column {cells.name!r}, which it withholds"


class Blanked(AsItReads):
    """Each row shows its own value, or a missing one in its place."""

    kind: Literal["blanked"] = "blanked"

    @property
    def coarse(self) -> bool:
        """A missing value may stand for any."""
        return True

    def coded(self, coding: Coding) -> ShownColumn:
        """Coded values with the same blanks: a blank stays one."""
        return Coded(codings=(coding,), then=self)

    def evidence(self, known: Known, cells: DistinctCells) -> Evidence:
        """A cell fits a value that reads the same, and a missing one fits all."""
        return disclosure_evidence.Labels.of([known.texts], cells.texts(cells.name), {None})

    def covered(self, domain: Domain, cells: DistinctCells) -> Covered:
        """A cell stands for its value; a missing one for any, as far as it was blanked."""
        covered = disclosure_covering.labels_covered(
            domain, cells, super().evidence(domain.known, cells), level=0
        )
        blank = np.array([text is None for text in cells.texts(cells.name)], dtype=np.bool_)
        own = int(domain.rows[0]) if domain.values.missing else 0
        shown = int(cells.rows[blank].sum())
        share = max(shown - own, 0) / shown if shown else 0.0
        spread = covered.spread
        if share:
            spread = replace(
                spread,
                start=np.where(blank, 0, spread.start),
                stop=np.where(blank, len(spread.order), spread.stop),
            )
        return replace(
            covered, spread=spread, size=np.where(blank, share, covered.size), level=None
        )


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
    ratio: sparse.csr_array
    """Shape (u, c), sparse: by how much each group rather has the row of a value than not."""

    @classmethod
    def of(cls, known: Codes, group: Codes, evidence: Evidence, counts: sparse.csr_array) -> Self:
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
        return cls(known, group, sparse.csr_array(ratio * (1 / sizes)[np.newaxis, :]))

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


def group_counts(
    values: tuple[NDArray[np.integer], int], groups: tuple[NDArray[np.integer], int]
) -> sparse.csr_array:
    """How often each of v values stands in each of c groups, sparse (v, c).

    Both come as the codes of n rows, and how many different ones there are.
    """
    (value, different), (group, count) = values, groups
    ones = np.ones(len(value), dtype=np.float64)
    return sparse.csr_array((ones, (value, group)), shape=(different, count))
