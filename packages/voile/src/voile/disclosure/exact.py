"""A column that shows its own values: all of them, some, none, or what a coding made of them.

As it is; as numbers in place of identifiers; with cells blanked; or taken away, because the method
publishes something else in its place.  A missing value may stand for any; nobody can tell a blank
from a value that was missing.

Values may have been coded before a method showed them, or after (``schema.coding``).  Codings are
public rules, so that whoever knows a value knows its coded one, and asks of that what the kind
behind it says.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import Field, WithJsonSchema

from voile.disclosure.evidence import CheckedCells, DistinctCells, Domain, Known
from voile.disclosure.shown import ComparedColumn, OriginalSide, Shown, ShownColumn
from voile.schema.coding import Coding, Recoded, Rounded, strays
from voile_base.errors import InputError
from voile_base.ondemand import on_demand

if TYPE_CHECKING:
    from voile.disclosure import covering as disclosure_covering
    from voile.disclosure import evidence as disclosure_evidence
    from voile.disclosure.covering import Covered
    from voile.disclosure.evidence import Evidence
    from voile.disclosure.noise import StatedNoise
else:
    disclosure_covering = on_demand("voile.disclosure.covering")
    disclosure_evidence = on_demand("voile.disclosure.evidence")

__all__ = ["AsItReads", "Blanked", "Coded", "Exact", "Numbered", "Withheld"]

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
