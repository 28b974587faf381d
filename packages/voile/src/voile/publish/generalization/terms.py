"""What a generalization is asked to satisfy besides k: criteria of its sensitive columns.

``l`` is a whole number (distinct), or a table ``{ value, kind, c }``; ``t`` a number (equal), or a
table ``{ value, distance }``.  They are short spellings of one criterion for every sensitive column
by itself.  ``criteria`` is a list of tables, each with the ``name`` of a criterion, its ``column``
and its parameters; other packages may add some (``models.criteria``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, Strict

from voile.models.criteria import Criterion, StatedCriterion, criterion_of
from voile.models.l_diversity import Kind, LDiversity
from voile.models.t_closeness import Distance, TCloseness
from voile.release import claims
from voile.schema.hierarchy.generalized import DistinctValues
from voile.schema.numbers import exact_decimal
from voile.schema.plan import Plan
from voile.schema.roles import Protected, Roles
from voile_base.errors import InputError, PlanError
from voile_base.values import Document, Json
from voile_base.values.value import KeptAs, checked

__all__ = [
    "AskedCloseness",
    "AskedCriteria",
    "AskedDiversity",
    "Closeness",
    "Demands",
    "Diversity",
    "LastingTerms",
]


@checked(PlanError)
@dataclass(frozen=True)
class Diversity:
    """How diverse each sensitive column is within a group; see ``models.l_diversity``."""

    value: int | Decimal | float | str
    kind: Kind = "distinct"
    c: int | Decimal | float | str | None = None
    """Of the recursive kind alone."""

    def __post_init__(self) -> None:
        self.of("any")

    def of(self, column: str) -> LDiversity:
        """The criterion for one sensitive column."""
        return LDiversity(column, self.value, self.kind, self.c)

    def claim(self, columns: Sequence[str]) -> claims.StatedDiversity:
        """The same as a release claims it of these columns."""
        return claims.StatedDiversity(
            value=exact_decimal(self.value),
            kind=self.kind,
            c=None if self.c is None else exact_decimal(self.c),
            columns=tuple(columns),
        )


@checked(PlanError)
@dataclass(frozen=True)
class Closeness:
    """How close each sensitive column within a group is to all rows; see ``models.t_closeness``."""

    value: int | Decimal | float | str
    distance: Distance = "equal"

    def __post_init__(self) -> None:
        self.of("any")

    def of(self, column: str) -> TCloseness:
        """The criterion for one sensitive column."""
        return TCloseness(column, self.value, self.distance)

    def claim(self, columns: Sequence[str]) -> claims.StatedCloseness:
        """The same as a release claims it of these columns."""
        return claims.StatedCloseness(
            value=exact_decimal(self.value), kind=self.distance, columns=tuple(columns)
        )


def _as_table(parameter: object) -> object:
    """A value by itself is a table with a value."""
    whole = isinstance(parameter, Mapping | Diversity | Closeness)
    return parameter if whole else {"value": parameter}


AskedDiversity = Annotated[
    Diversity | Document | int,
    KeptAs(
        Annotated[Diversity, BeforeValidator(_as_table, json_schema_input_type=Diversity | int)]
    ),
]
"""The parameter ``l``: a whole number, or a table."""
AskedCloseness = Annotated[
    Closeness | Document | Decimal | float,
    KeptAs(
        Annotated[Closeness, BeforeValidator(_as_table, json_schema_input_type=Closeness | float)]
    ),
]
"""The parameter ``t``: a number, or a table."""


def _as_criterion(parameter: object) -> object:
    if isinstance(parameter, StatedCriterion):
        return parameter
    if not isinstance(parameter, Mapping):
        msg = (
            'criteria: each is a table, such as { name = "l-diversity", column = "illness", l = 3 }'
        )
        raise PlanError(msg)
    try:
        return criterion_of(parameter)
    except InputError as error:
        msg = f"criteria: {error}"
        raise PlanError(msg) from None


AskedCriteria = Annotated[
    Sequence[StatedCriterion | Document],
    KeptAs(
        Annotated[
            tuple[
                Annotated[Any, BeforeValidator(_as_criterion, json_schema_input_type=Json)],
                ...,
            ],
            Strict(False),
            Field(),
        ]
    ),
]
"""The parameter ``criteria``: a list of tables."""


@dataclass(frozen=True)
class Demands:
    """All that is asked of the sensitive columns of a table."""

    diversity: Diversity | None
    closeness: Closeness | None
    listed: Sequence[StatedCriterion]
    sensitive: Sequence[str]
    """The sensitive columns, as far as anything is asked of them by a short spelling."""

    @classmethod
    def of(
        cls,
        roles: Roles,
        diversity: Diversity | None,
        closeness: Closeness | None,
        listed: Sequence[StatedCriterion | Document],
    ) -> Demands:
        """What a method's parameters ask of a table with these roles; raises ``PlanError``."""
        short = " and ".join("l" * bool(diversity) + "t" * bool(closeness))
        if short and not roles.sensitive:
            verb = "are" if " " in short else "is"
            msg = f"[roles] sensitive names no column, and {short} {verb} about sensitive values"
            raise PlanError(msg)
        stated = []
        for one in listed:
            assert isinstance(one, StatedCriterion)
            if one.column not in roles.sensitive:
                msg = (
                    f"[method] criteria: {one.name} is asked for column {one.column!r}, which is "
                    "not sensitive; name it in [roles] sensitive"
                )
                raise PlanError(msg)
            stated.append(one)
        return cls(diversity, closeness, tuple(stated), roles.sensitive if short else ())

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of which anything is asked."""
        return tuple(dict.fromkeys([*self.sensitive, *(one.column for one in self.listed)]))

    @property
    def stated(self) -> Iterator[StatedCriterion]:
        """Every criterion, column by column, and then those of the list."""
        for name in self.sensitive:
            if self.diversity:
                yield self.diversity.of(name)
            if self.closeness:
                yield self.closeness.of(name)
        yield from self.listed

    def criteria(self, values: Mapping[str, DistinctValues], plan: Plan) -> list[Criterion]:
        """What groups must satisfy; raises ``PlanError`` where a column lacks what it takes."""
        bound = (one.criterion(values[one.column], plan) for one in self.stated)
        return [criterion for criterion in bound if criterion is not None]

    @property
    def words(self) -> str:
        """What holds within each group, as the end of a sentence; empty where nothing does."""
        said = ""
        short = [it.of("any").words for it in (self.diversity, self.closeness) if it]
        if short:
            columns = " and of ".join(map(repr, self.sensitive))
            said += f"; within each group the values of {columns} {' and '.join(short)}"
        for one in self.listed:
            said += f"; within each group the values of {one.column!r} {one.words}"
        return said

    def words_of(self, protected: Protected) -> str:
        """The same, and how persons or households with several rows count."""
        if protected == "row" or not self.words:
            return self.words
        weighed = f"each {protected} weighs one there, divided evenly among its rows in the group"
        asked = any(isinstance(one, LDiversity) for one in self.stated)
        if not asked:
            return f"{self.words}; {weighed}"
        apart = f"values count as different where as many different {protected}s have them"
        return f"{self.words}; {apart}, and {weighed}"

    def claims(self) -> Json:
        """The same as a release claims it: ``l``, ``t`` and ``criteria``."""
        return {
            "l": self.diversity.claim(self.sensitive) if self.diversity else None,
            "t": self.closeness.claim(self.sensitive) if self.closeness else None,
            "criteria": tuple(one.document() for one in self.listed) or None,
        }


@dataclass(frozen=True)
class LastingTerms:
    """What a series asks of its groups."""

    k: int
    group_size: int
    """Rows of a group when it is first published, where there are as many."""
    relaxed: bool
    sets: bool
