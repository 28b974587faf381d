"""What a group of rows must satisfy to be published, whatever the model.

``Groups`` is all that a model may see of a table: how many rows each of p groups has, and how
often each value of each sensitive column stands in it.  Where persons or households have several
rows, each of them weighs one in every group in which any of its rows stands, and ``Groups.units``
counts them (``schema.persons``).  A ``Criterion`` says which groups are valid.  Decisions ask
criteria while they search; the check of a release asks them again about the published rows.

A plan states criteria by name (``StatedCriterion``; ``registry`` has the names); what they come to
for a column is known once the values of that column are.

Exact sums and comparisons for models, and the checks of their parameters.

Whether a group is valid must not depend on the order in which numbers are added: a publisher and
the check of its release count the same rows in different orders.  Models therefore measure
with whole numbers, int64 where nothing can overflow and Python integers otherwise, and compare
fractions by floats only where these are far enough apart.

Cost: O(c) for c cells; a comparison near its limit costs a microsecond.

Criteria by the names that plans give them: ``criteria = [{ name = "l-diversity", ... }]``.

Another package adds a criterion by an entry point of the group ``voile.criteria``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import field, fields
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from voile.schema.hierarchy.generalized import DistinctValues
from voile.schema.numbers import json_number
from voile.schema.plan import Plan
from voile_base.errors import PlanError
from voile_base.ondemand import dataclass
from voile_base.registry import Registry
from voile_base.values import Json, usable_number

__all__ = [
    "CRITERIA",
    "Criterion",
    "Groups",
    "SensitiveCells",
    "StatedCriterion",
    "at_most",
    "decimal_parameter",
    "sums",
    "whole_numbers",
    "whole_parameter",
]


_INT64_SAFE = 2**62
_FLOAT_ERROR = 1e-12
"""Far above what rounding two products can do, far below what is common."""


def whole_numbers(counts: NDArray[np.int64], largest: int) -> NDArray[Any]:
    """Counts as whole numbers whose sums and products may reach ``largest``."""
    return counts if largest < _INT64_SAFE else counts.astype(object)


def sums(values: NDArray[np.generic], group: NDArray[np.int64], groups: int) -> NDArray[Any]:
    """Sum of the values of each group, shape (groups,); ``group`` ascends and misses none."""
    total = values[:0]
    if len(values):
        total = np.add.reduceat(values, np.flatnonzero(np.diff(group, prepend=-1)))
    assert len(total) == groups
    return total


def at_most(
    numerator: NDArray[np.generic], denominator: NDArray[np.generic], limit: Decimal
) -> NDArray[np.bool_]:
    """Which fractions are at most ``limit``, exactly; whole numbers, denominators above 0."""
    exact = Fraction(limit)
    # No quotient of counts comes near 2^200, so a larger limit is no other limit.
    product = denominator.astype(np.float64) * float(min(exact, Fraction(2) ** 200))
    difference = numerator.astype(np.float64) - product
    answer = np.asarray(difference <= 0, dtype=np.bool_)
    for near in np.flatnonzero(np.abs(difference) <= _FLOAT_ERROR * (1 + product)).tolist():
        scaled = int(numerator[near]) * exact.denominator
        answer[near] = scaled <= int(denominator[near]) * exact.numerator
    return answer


def whole_parameter(name: str, value: object, least: int, meaning: str) -> None:
    """Raise ``PlanError`` unless a parameter is a whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        msg = f"{name} must be a whole number of at least {least}: {meaning}"
        raise PlanError(msg)


def decimal_parameter(name: str, value: object, allowed: str) -> Decimal:
    """A parameter as the decimal that a reader sees; raises ``PlanError`` for no finite number."""
    exact = usable_number(value, texts=True)
    if exact is None:
        msg = f"{name} must be {allowed}"
        raise PlanError(msg)
    return exact


@dataclass(frozen=True, eq=False)
class SensitiveCells:
    """How often each value of one sensitive column stands in each group.

    Parallel arrays over the c distinct pairs of group and value, ascending by group, then value.
    """

    group: NDArray[np.int64]
    value: NDArray[np.int64]
    """The rank of the value among the distinct values of the column, ascending."""
    rows: NDArray[np.int64]
    """Rows; where persons have several, what those of the group weigh, in parts of one."""
    total: NDArray[np.int64]
    """Shape (v,): the same of each value in the whole table as one group, against which t-closeness
    measures."""


class _Units(Protocol):
    """Who has the rows of p groups, where persons or households may have several."""

    def at_least(self, k: int) -> NDArray[np.bool_]:
        """Which groups have rows of at least k of them, shape (p,)."""

    def different(self, column: str, l: int) -> NDArray[np.bool_]:
        """Which groups have l different values of a column that l different ones of them have."""


@dataclass(frozen=True, eq=False)
class Groups:
    """Sizes of p groups, and their sensitive values."""

    rows: NDArray[np.int64]
    """Shape (p,): at least 1."""
    sensitive: Mapping[str, SensitiveCells] = field(default_factory=dict)
    units: _Units | None = None
    """None: each row is another person."""

    def sizes(self, column: str) -> NDArray[np.int64]:
        """Shape (p,): what the cells of a column add up to in each group."""
        if self.units is None:
            return self.rows
        cells = self.sensitive[column]
        return sums(cells.rows, cells.group, len(self.rows))

    def at_least(self, k: int) -> NDArray[np.bool_]:
        """Which groups have k persons or more, shape (p,)."""
        if self.units is None:
            return np.asarray(self.rows >= k, dtype=np.bool_)
        return self.units.at_least(k)

    def different(self, column: str, l: int) -> NDArray[np.bool_]:
        """Which groups have l different values of as many different persons, shape (p,)."""
        if self.units is None:
            group = self.sensitive[column].group
            return np.asarray(np.bincount(group, minlength=len(self.rows)) >= l, dtype=np.bool_)
        return self.units.different(column, l)


class Criterion(Protocol):
    """A condition on groups of rows."""

    @property
    def monotone(self) -> bool:
        """Whether a union of valid groups is always valid, so that generalizing never harms.

        Said of groups that share no person: ``counts_alone`` says of which it holds of all.
        """

    @property
    def column(self) -> str | None:
        """The sensitive column that it reads; None for those that only count rows."""

    def holds(self, groups: Groups) -> NDArray[np.bool_]:
        """Which of the p groups are valid, shape (p,)."""

    def document(self) -> Mapping[str, object]:
        """Its parameters as they stand in ``release.json``, such as ``{"k": 5}``."""


class StatedCriterion(ABC):
    """A criterion as a plan states it; a frozen dataclass whose fields are its parameters.

    It is of one sensitive column, and promised of the published rows of each group.
    """

    name: ClassVar[str]
    """By which plans ask for it."""
    column: str
    """The sensitive column that it is about."""
    of_all_rows: ClassVar[bool] = False
    """Whether it compares a group with all rows of the table: where some of these were left out, a
    release does not show whether it holds."""

    @abstractmethod
    def criterion(self, values: DistinctValues, plan: Plan | None) -> Criterion | None:
        """What groups must satisfy where the column has these distinct values.

        ``plan`` is None where a release is measured that nobody has the plan of; None is returned
        where it cannot be measured without.  Raises ``PlanError`` where the column has no such.
        """

    @property
    @abstractmethod
    def words(self) -> str:
        """What holds of the values of the column in a group: "number at least 3 different ones"."""

    def document(self) -> Json:
        """It as it stands in ``release.json``: its name and parameters."""
        stated = {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]
        return {
            "name": self.name,
            **{
                key: json_number(value) if isinstance(value, Decimal) else value
                for key, value in stated.items()
                if value is not None
            },
        }

    @staticmethod
    def of(table: Mapping[str, object]) -> StatedCriterion:
        """The criterion that a table states by name and parameters; raises ``PlanError``."""
        parameters = dict(table)
        name = parameters.pop("name", None)
        if not isinstance(name, str):
            msg = (
                'a criterion needs a name, such as { name = "l-diversity", column = "illness", '
                f"l = 3 }} (known: {', '.join(CRITERIA.names)})"
            )
            raise PlanError(msg)
        return CRITERIA.make(name, parameters)


CRITERIA: Registry[StatedCriterion] = Registry(
    group="voile.criteria",
    what="a criterion",
    own={
        "l-diversity": "voile.models.l_diversity:LDiversity",
        "t-closeness": "voile.models.t_closeness:TCloseness",
        "beta-likeness": "voile.models.t_closeness:BetaLikeness",
        "delta-disclosure": "voile.models.t_closeness:DeltaDisclosure",
        "delta-presence": "voile.models.k_anonymity:DeltaPresence",
        "km-anonymity": "voile.models.k_anonymity:ItemSetAnonymity",
    },
    offers=("name", "of_all_rows", "criterion", "words", "document"),
    error=PlanError,
)
