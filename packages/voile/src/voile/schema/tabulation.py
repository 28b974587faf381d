"""The ``[[tables]]`` and ``[protection]`` of a plan: which tables leave, and what protects them.

    [[tables]]
    dimensions  = ["region", "sector"]      # or from coarse to fine: [["county", "region"], ...]
    count       = "persons"                 # a column that holds counts; none: rows or persons
    sum         = ["turnover"]
    mean        = ["wage"]                  # published beside its sum and the count
    weight      = "weight"                  # of a sample: what each row stands for
    contributor = "company"
    holding     = "group"                   # contributors that belong together
    filter      = ["age < 65"]              # the rows that the table is of

    [protection]
    kind      = "suppression"
    minimum   = 4
    dominance = [[1, 80], [2, 99]]
    p         = 10

Source: Hundepool and others, *Statistical Disclosure Control* (Wiley 2012), chapter 4, for the
rules and their names.

Conditions say which rows a table is of: ``age < 65``, ``sex != F``, ``region = north, south``.
Several conditions hold together.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag

from voile.schema.roles import ColumnName
from voile_base.errors import InputError, PlanError
from voile_base.ondemand import dataclass, pattern_on_demand
from voile_base.values.value import Exact, Says, Several, checked

__all__ = [
    "CellAdjustment",
    "CellNoise",
    "CellPattern",
    "CellPerturbation",
    "CellRounding",
    "CellSuppression",
    "Condition",
    "DimensionPlan",
    "PrimaryRules",
    "Protection",
    "TablePlan",
    "number_of",
]

_CONDITION = pattern_on_demand(r"\s*(.+?)\s*(<=|>=|!=|≠|≤|≥|<|>|=)\s*(.+?)\s*")
_SIGNS = {"≤": "<=", "≥": ">=", "≠": "!="}


def number_of(text: str) -> Decimal | None:
    """A text as a number; None where it is none."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


@dataclass(frozen=True)
class Condition:
    """A condition on one column, which all rows of a table meet."""

    column: str
    sign: str
    """=, !=, <, <=, > or >=."""
    values: tuple[str, ...]
    """One number with an order sign; else one or more values."""

    def text(self) -> str:
        """As it is written."""
        return f"{self.column} {self.sign} {', '.join(self.values)}"

    def holds(self, text: str | None) -> bool:
        """Whether a value meets it; a missing one meets nothing but !=."""
        if self.sign in {"=", "!="}:
            return (text in self.values) == (self.sign == "=")
        number, border = None if text is None else number_of(text), number_of(self.values[0])
        if number is None or border is None:
            return False
        below = number < border
        return {"<": below, ">=": not below, "<=": number <= border, ">": number > border}[
            self.sign
        ]

    @staticmethod
    def parse(text: str) -> Condition:
        """A condition as it is written: ``age < 65``; raises ``InputError`` where it is none."""
        found = _CONDITION.fullmatch(text)
        if found is None:
            msg = f'{text!r} is no condition on a column; write it as "age < 65" or "sex = F"'
            raise InputError(msg)
        column, sign, said = found.groups()
        sign = _SIGNS.get(sign, sign)
        values = tuple(part.strip() for part in said.split(",")) if sign in {"=", "!="} else (said,)
        if sign not in {"=", "!="} and number_of(said) is None:
            msg = f"{text!r}: {said!r} is no number, and has no order; use = or !="
            raise InputError(msg)
        return Condition(column, sign, values)


DimensionPlan = ColumnName | Annotated[Several[ColumnName], Field(min_length=1)]
"""A column with its hierarchy, or columns from coarse to fine."""

CellPattern = dict[str, str | int | bool]
"""Cells by their values: columns of dimensions with what they show; a column that is left out may
show anything, and "Total" is the total."""

_Percent = Annotated[Exact, Field(gt=0, le=100)]
_Dominance = tuple[Annotated[int, Field(ge=1)], _Percent]
_Prior = tuple[Annotated[Exact, Field(gt=0)], Annotated[Exact, Field(gt=0)]]


@checked(PlanError)
@dataclass(frozen=True)
class TablePlan:
    """One table of counts and sums, with totals at every level.

    Raises ``PlanError`` where a column has two places in it.
    """

    dimensions: Annotated[
        Annotated[Several[DimensionPlan], Field(min_length=1)],
        Says('a list of columns, each alone or a list from coarse to fine: [["county", "region"]]'),
    ]
    name: Annotated[str, Field(min_length=1)] | None = None
    """None: ``table 1`` and so on."""
    count: ColumnName | None = None
    """A column of whole numbers that are counts; None: rows are counted, or persons where the plan
    names them."""
    sum: Annotated[Several[ColumnName], Says('a list of columns of numbers: ["turnover"]')] = ()
    mean: Annotated[Several[ColumnName], Says('a list of columns of numbers: ["wage"]')] = ()
    """Columns whose mean is published, beside their sum and the count that it follows from."""
    weight: ColumnName | None = None
    """A column of numbers above 0, how many units of the population each row stands for: counts
    and sums are then those of the population."""
    contributor: ColumnName | None = None
    """The column that tells apart who contributes to sums: companies, holdings; never published.
    None: persons or households where the plan names them, else rows."""
    holding: ColumnName | None = None
    """The column of what contributors belong to: those of one holding are one contributor."""
    filter: Annotated[
        Several[Annotated[str, Field(min_length=1)]],
        Says('a list of conditions on columns: ["age < 65", "sex = F"]'),
    ] = ()
    """Conditions that all rows of the table meet; all tables of a plan have the same."""

    def __post_init__(self) -> None:
        try:
            _ = self.conditions
        except InputError as error:
            msg = f"filter: {error}"
            raise PlanError(msg) from None
        if self.holding is not None and self.contributor is None:
            msg = "a holding is of contributors; name their column as contributor, too"
            raise PlanError(msg)
        if self.weight is not None and self.count is not None:
            msg = "weights are of rows, and count names a column of counts; leave one of them out"
            raise PlanError(msg)
        taken = [*(name for levels in self.levels for name in levels), *self.numbers]
        units = (self.count, self.contributor, self.holding, self.weight)
        taken += [name for name in units if name is not None]
        twice = {name for name in taken if taken.count(name) > 1}
        if twice:
            msg = f"column {min(twice)!r} has two places in one table; name it once"
            raise PlanError(msg)

    @property
    def levels(self) -> tuple[tuple[str, ...], ...]:
        """The columns of each dimension, from coarse to fine."""
        return tuple((one,) if isinstance(one, str) else tuple(one) for one in self.dimensions)

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """What its rows meet."""
        return tuple(map(Condition.parse, self.filter))

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns that are added up."""
        return tuple(dict.fromkeys((*self.sum, *self.mean)))

    @property
    def measured(self) -> tuple[str, ...]:
        """All columns of numbers that the table needs."""
        named = (name for name in (self.count, self.weight) if name is not None)
        return (*named, *self.numbers)


@checked(PlanError)
@dataclass(frozen=True)
class PrimaryRules:
    """Which cells say too much, and how uncertain they must stay.

    Raises ``PlanError`` where no rule says which cells are primary.
    """

    minimum: Annotated[int, Field(ge=1)] | None = None
    """Fewest units of a cell that may be shown."""
    minimum_weighted: Annotated[Exact, Field(gt=0)] | None = None
    """The same of the units of the population, where rows have weights."""
    zeros: Literal["hide", "show"] = "hide"
    """Whether empty cells are too few, or may be shown."""
    dominance: Annotated[
        Several[_Dominance], Says("a list of pairs of n and k in percent: [[1, 80], [2, 90]]")
    ] = ()
    """(n, k): the n largest contributors of a cell have at most k % of it."""
    p: _Percent | None = None
    """The second largest contributor cannot estimate the largest to within p %."""
    pq: Annotated[_Prior | None, Says("a pair of p and q in percent: [10, 50]")] = None
    """The same, where everybody knows others to within q % beforehand."""
    whole_groups: Annotated[Several[ColumnName], Says('a list of columns: ["illness"]')] = ()
    """Dimensions in which no value may hold all units of a group."""
    suppress: Several[CellPattern] = ()
    """Cells that are primary, by hand."""
    publish: Several[CellPattern] = ()
    """Cells that must be published as they are."""
    interval: Annotated[int, Field(ge=1)] = 1
    """How wide the interval is to which anybody can narrow a count that is primary."""
    margin: _Percent = Decimal(10)
    """By how many percent of a sum it must remain uncertain, either way, where it is primary by a
    rule that does not say so."""
    cost: Literal["cells", "count", "value"] = "cells"
    """What is least: changed cells, the units in them, or the first sum in them."""
    nodes: Annotated[int, Field(ge=1)] = 100_000
    """After so many nodes the exact search ends with what it has, and says its bound."""

    def __post_init__(self) -> None:
        if self.pq is not None and self.pq[0] >= self.pq[1]:
            msg = "pq: p must be below q, which is what is known beforehand"
            raise PlanError(msg)
        rules = (self.minimum, self.minimum_weighted, self.p, self.pq)
        if rules == (None,) * 4 and not (self.dominance or self.whole_groups or self.suppress):
            msg = (
                "no rule says which cells are primary; say minimum, dominance, p, pq, "
                "whole_groups or suppress"
            )
            raise PlanError(msg)

    @property
    def of_contributors(self) -> bool:
        """Whether a rule looks at the largest contributors to sums."""
        return bool(self.dominance or self.p or self.pq)


@checked(PlanError)
@dataclass(frozen=True)
class CellSuppression(PrimaryRules):
    """Primary cells are suppressed, and as many others as keep them uncertain."""

    kind: Literal["suppression"] = "suppression"
    search: Literal["auto", "exact", "heuristic"] = "auto"
    """Exact: an integer program; heuristic: for large tables; auto: by the number of cells."""


@checked(PlanError)
@dataclass(frozen=True, kw_only=True)
class CellAdjustment(PrimaryRules):
    """Primary cells are moved by what keeps them uncertain, and others so that totals add up."""

    kind: Literal["adjustment"]
    zeros: Literal["hide", "show"] = "show"
    """Whether empty cells are too few, and get units, or may be shown."""


@checked(PlanError)
@dataclass(frozen=True)
class CellPerturbation:
    """Noise for counts by cell keys: the same persons get the same noise in every table.

    Raises ``PlanError`` where the maximum cannot be.
    """

    secret: Annotated[str, Field(min_length=1), Says('the name of a file, such as "tables.secret"')]
    """A file that holds the secret of the record keys; made where there is none."""
    kind: Literal["cell-key"] = "cell-key"
    variance: Annotated[Exact, Field(gt=0)] = Decimal(2)
    """Of the noise of each count that is not 0."""
    maximum: Annotated[int, Field(ge=1, le=100)] = 5
    """The noise is at most this far from 0."""
    minimum: Annotated[int, Field(ge=1)] | None = None
    """No count between 0 and this one is published."""

    def __post_init__(self) -> None:
        if self.variance > self.maximum**2:
            msg = "the variance is at most the square of the maximum; ask for less, or more room"
            raise PlanError(msg)
        if (self.minimum or 1) > self.maximum + 1:
            msg = (
                "minimum is at most one more than maximum, or noise cannot move small counts past "
                "the counts that are never published; lower minimum, or raise maximum"
            )
            raise PlanError(msg)


@checked(PlanError)
@dataclass(frozen=True)
class CellRounding:
    """Counts rounded to multiples of a base, so that all totals still add up."""

    base: Annotated[int, Field(ge=2, le=1_000_000)]
    """What every count becomes a multiple of."""
    kind: Literal["rounding"] = "rounding"
    minimum: Annotated[int, Field(ge=1)] | None = None
    """No count of fewer units, and more than none, may be known exactly; None: the base."""


@checked(PlanError)
@dataclass(frozen=True)
class CellNoise:
    """Differentially private noise for all cells, by the method ``dp-tables``.

    One of ``epsilon`` and ``rho`` is needed; the method refuses what cannot be.
    """

    kind: Literal["differential-privacy"]
    epsilon: Annotated[Exact, Field(gt=0)] | None = None
    """The budget; with ``delta`` noise is Laplace or Gaussian, whichever is narrower."""
    delta: Annotated[Exact, Field(gt=0, lt=1)] | None = None
    rho: Annotated[str, Says('a fraction above 0 as a text, for example "1/64"')] | None = None
    """The budget in zero-concentrated differential privacy."""
    rows_per_person: Annotated[int, Field(ge=1)] | None = None
    """Rows of a person, or household, that take part at most."""
    confidence: Annotated[Exact, Field(gt=0, lt=1)] | None = None
    """With which an interval encloses the true value of its cell; None: 0.95."""
    show_from: Annotated[Exact, Field(gt=0)] | None = None
    """The least estimated count that is shown; None: all are."""
    precise: Literal["cells", "tables"] = "cells"
    """Whether noise is shared so that all cells err least in the mean, or each table alike."""

    @property
    def parameters(self) -> dict[str, str | int | Decimal]:
        """What is stated, as parameters of the method."""
        stated = {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "rho": self.rho,
            "rows_per_person": self.rows_per_person,
            "confidence": self.confidence,
            "show_from": self.show_from,
            "precise": self.precise,
        }
        return {name: value for name, value in stated.items() if value is not None}


def _kind_of(stated: object) -> object:
    """The kind of a protection; without one, cells are suppressed."""
    if isinstance(stated, Mapping):
        return stated.get("kind", "suppression")
    return getattr(stated, "kind", None)


Protection = Annotated[
    Annotated[CellSuppression, Tag("suppression")]
    | Annotated[CellAdjustment, Tag("adjustment")]
    | Annotated[CellPerturbation, Tag("cell-key")]
    | Annotated[CellRounding, Tag("rounding")]
    | Annotated[CellNoise, Tag("differential-privacy")],
    Discriminator(
        _kind_of,
        custom_error_type="protection_kind",
        custom_error_message="kind must be one of 'suppression', 'adjustment', 'cell-key', "
        "'rounding', 'differential-privacy'",
    ),
]
"""What protects the cells of a plan's tables."""
