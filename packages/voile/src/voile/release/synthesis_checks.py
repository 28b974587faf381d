"""What a release of made-up rows shows of its claim: its measurements, and what they cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Protocol

from voile.disclosure.synthetic import Synthetic
from voile.dp.zcdp import epsilon_of
from voile.release.published import PublicRelease

__all__ = ["synthesis_breaches"]

_TABLE = ("column_1", "column_2", "variance")
_CELL = ("column_1", "value_1", "column_2", "value_2")


class _Table(Protocol):
    @property
    def columns(self) -> tuple[str, ...]: ...
    @property
    def cells(self) -> int: ...
    @property
    def noise(self) -> str: ...


class SynthesisTerms(Protocol):
    """What a claim of synthesis says."""

    @property
    def epsilon(self) -> Decimal:
        """The price."""

    @property
    def delta(self) -> Decimal | None:
        """None of a pure price."""

    @property
    def rho(self) -> str | None:
        """None of a pure price."""

    @property
    def rows_per_person(self) -> int | None:
        """None: each person is one row."""

    @property
    def tables(self) -> Sequence[_Table]:
        """Those that were measured."""


def synthesis_breaches(published: PublicRelease, claim: SynthesisTerms) -> Iterator[str]:
    """What rows, measurements and prices contradict; nothing where they agree."""
    yield from _price_breaches(claim)
    shown = published.disclosure.columns
    sizes = {name: it.cells for name, it in shown.items() if isinstance(it, Synthetic)}
    for table in claim.tables:
        cells = 1
        for name in table.columns:
            cells *= sizes.get(name, 0)
        if cells != table.cells:
            names = " and ".join(table.columns)
            yield f"its table of {names} does not have the cells of its columns"
    for name, it in shown.items():
        if isinstance(it, Synthetic):
            different = len(published.table.group_sizes([name]))
            if different > it.values + 1:
                yield f"column {name!r} has {different:,} values, and its domain {it.values:,}"
    yield from _measurement_breaches(published, claim)


def _measurement_breaches(published: PublicRelease, claim: SynthesisTerms) -> Iterator[str]:
    measurements = published.measurements
    if measurements is None:
        yield "it has no measurements that its rows could be made of"
        return
    if (measurements.group_sizes(_CELL) != 1).any():
        yield "its measurements have some cell twice"
    counted = measurements.count(_TABLE)
    values = [array.to_pylist() for array in counted.values]
    found = {
        tuple(values[place][code] for place, code in enumerate(codes)): rows
        for codes, rows in zip(counted.codes.tolist(), counted.rows.tolist(), strict=True)
    }
    stated = {}
    for table in claim.tables:
        first, second = (*table.columns, None)[:2]
        noise = Fraction(table.noise)
        variance = noise if claim.rho is not None else 2 * noise**2
        stated[first, second, str(variance)] = table.cells
    if found != stated:
        yield "its measurements are not those of the tables that it states"


def _price_breaches(claim: SynthesisTerms) -> Iterator[str]:
    rows = claim.rows_per_person or 1
    noises = [Fraction(table.noise) for table in claim.tables]
    if any(noise <= 0 for noise in noises):
        yield "some table of it has no noise"
        return
    if claim.rho is None:
        spent = sum((rows / noise for noise in noises), Fraction(0))
        if spent != Fraction(claim.epsilon):
            yield f"its noise costs epsilon = {float(spent):.6g}, and it claims {claim.epsilon}"
        return
    rho = sum((Fraction(rows) ** 2 / (2 * noise) for noise in noises), Fraction(0))
    if rho != Fraction(claim.rho):
        yield f"its noise costs rho = {float(rho):.6g}, and it claims {claim.rho}"
    elif claim.delta is None or epsilon_of(rho, claim.delta) > claim.epsilon:
        yield f"rho = {claim.rho} costs more than the epsilon that it claims"
