"""PRAM: values of categories redrawn by a matrix that is published.

Publishes: in each of some columns a value that was drawn for the row, by the row of a matrix that
belongs to its own value; other columns as they are, all rows, in an order that tells nothing.

Source: Gouweleeuw, Kooiman, Willenborg and de Wolf, "Post randomisation for statistical disclosure
control" (Journal of Official Statistics 14, 1998).  ``retain`` gives the invariant matrix
rho I + (1 - rho) 1 v', v being the shares of the values: a row keeps its value with probability
rho, and else draws one of the shares, so that each margin is expected to stay (v' P = v').  The
source reaches invariance by a second matrix; one that is a mixture is invariant by itself.

Guarantee: draws have exactly the probabilities of the matrix, independent between rows, or between
persons, all of whose rows with one value in a stratum show one value.  A cell raises the odds of
any two values by at most exp(epsilon), the largest ratio in a column of the matrix.  That is no
promise about a row: columns are drawn independently, and several of them, or those that stay, may
tell whose it is.  An invariant matrix holds the exact shares of the values.

Algorithm: the engine counts the values of each column and stratum; the matrices follow; the engine
draws a value for each row.

Cost: for n rows and c values a count and c comparisons a row; c^2 numbers a stratum are published.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from voile.disclosure.masked import Randomized, StratumMatrix
from voile.dp.exact import Categorical
from voile.publish.assembled import (
    MicrodataOutcome,
    assembled,
    assumed_of_draws,
    columns_asked,
    named,
    require_strata_of,
    require_treated,
    require_values,
)
from voile.publish.contribution import stated_unit
from voile.publish.publisher import Capabilities, MethodCard, Parameter, SingleRelease
from voile.release.history import History
from voile.release.method_claims import RedrawnValues, ratio_of_matrices
from voile.release.release import Guarantee, Pay, Publication, unaccounted
from voile.schema.roles import ColumnName
from voile.table.decisions import RedrawnColumn, Treatment
from voile.table.private import PrivateTable
from voile.table.summaries import CombinationCounts
from voile_base.errors import PlanError
from voile_base.ondemand import dataclass
from voile_base.randomness import Randomness
from voile_base.values import exact_decimal
from voile_base.values.value import Number, Says, Several, checked

__all__ = ["PRAM"]

_NAME = "pram"
_RETAIN = Decimal("0.8")
_MOST_NUMBERS = 100_000
_ADDS_UP = Fraction(1, 10**9)

Probability = Annotated[float, Field(ge=0, le=1)]
GivenMatrix = Annotated[
    Mapping[str, Mapping[str, Probability]],
    Says("for each value the probability of each that it shows: { F = { F = 0.9, M = 0.1 }, ... }"),
]
Weights = list[list[int]]
"""Whole weights, in each row of the same value those of the values that it shows."""


@checked(PlanError)
@dataclass(frozen=True)
class PRAM(SingleRelease):
    """Redraw the values of categories by a published matrix; raises ``PlanError``."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        persons=True,
        followed=True,
        exact_quasi_identifiers=True,
        exact_kept=True,
        no_series="each release draws anew, and the average of several tells what was drawn from",
        card=MethodCard(
            _NAME,
            "Redraw categories (PRAM)",
            "Each value may be another one, with published probabilities. It is no anonymity.",
            "Single rows; shares of values can be estimated, with an error that is known.",
            "each row must be true, or columns beside tell whose it is.",
            (
                Parameter(
                    "retain",
                    "retain",
                    ("0.5", "0.7", "0.9"),
                    ("0.7",),
                    "share of rows that are not redrawn",
                    needed=False,
                ),
            ),
        ),
    )

    columns: Several[ColumnName] = ()
    """What is redrawn; none: all quasi-identifiers."""
    retain: Annotated[Number, Field(ge=0, lt=1)] = _RETAIN
    """rho, at least 0 and below 1: with which probability a row keeps its value beyond chance."""
    matrices: Mapping[ColumnName, GivenMatrix] = field(default_factory=dict)
    """Matrices of some columns, in the place of the invariant ones."""
    strata: Several[ColumnName] = ()
    """Published columns within whose values invariant matrices are made."""

    def __post_init__(self) -> None:
        for name, matrix in self.matrices.items():
            _require_matrix(name, matrix)

    def prepare(
        self,
        table: PrivateTable,
        randomness: Randomness,
        history: History | None = None,
        pay: Pay = unaccounted,
    ) -> Publication:
        """Make a release; raises ``PlanError``, ``TableError`` and ``InfeasibleError``."""
        del history, pay
        roles = table.plan.roles
        columns, strata = require_treated(table, _NAME, self.columns, self.strata)
        columns_asked("matrices", tuple(self.matrices), roles, columns)
        drawn, shown, changed = [], {}, {}
        for name in columns:
            within = () if name in self.matrices else strata
            counts = table.count_combinations([name, *within])
            require_values(counts, name)
            if within:
                require_strata_of(table, counts, within)
            treated, how = self._column(name, within, counts)
            drawn.append(treated)
            shown[name] = how
            changed[name] = _changed(treated, counts)
        published, _ = table.apply_counted(Treatment((), drawn=tuple(drawn)), randomness)
        outcome = MicrodataOutcome(
            method=self._method(columns),
            columns=shown,
            guarantee=_guarantee(shown, table),
            objective=f"{float(np.mean(list(changed.values()))):.12g}",
            summary="in which "
            + "; ".join(f"{share:.1%} of {name!r}" for name, share in changed.items())
            + " are expected to show another value",
            decision={"changed": changed},
        )
        return assembled(table, published, outcome, randomness)

    def _column(
        self, name: str, within: tuple[str, ...], counts: CombinationCounts
    ) -> tuple[RedrawnColumn, Randomized]:
        """How a column is redrawn, and how that is stated."""
        values = counts.values[0]
        codes = counts.codes[:, 0].astype(np.int64)
        beside = counts.codes[:, 1:]
        at, first, stratum = np.unique(beside, axis=0, return_index=True, return_inverse=True)
        del at
        strata = max(len(first), 1)
        stratum = stratum.reshape(-1) if within else np.zeros(len(codes), dtype=np.int64)
        if len(values) ** 2 * strata > _MOST_NUMBERS:
            msg = (
                f"[method] columns: the matrices of {name!r} would have {len(values):,} x "
                f"{len(values):,} numbers in {strata:,} strata, and at most {_MOST_NUMBERS:,} are "
                "published; recode the column to fewer values, or leave columns out of strata"
            )
            raise PlanError(msg)
        rows = np.zeros((strata, len(values)), dtype=np.int64)
        np.add.at(rows, (stratum, codes), counts.rows)
        if name in self.matrices:
            every = [_given(name, self.matrices[name], values.texts)]
        else:
            every = [_invariant(Fraction(self.retain), own, values.missing) for own in rows]
        weights = np.array([row for matrix in every for row in matrix], dtype=object)
        exact = [_probabilities(matrix) for matrix in every]
        texts = [counts.values[1 + i].texts for i in range(len(within))]
        shown = Randomized(
            values=values.texts,
            matrix=_mean(exact, rows),
            within=within,
            strata=tuple(
                StratumMatrix(
                    at=tuple(texts[i][beside[row, i]] for i in range(len(within))), matrix=matrix
                )
                for row, matrix in zip(first.tolist(), exact, strict=True)
            )
            if within
            else (),
        )
        distribution = stratum * len(values) + codes
        return RedrawnColumn(name, within, distribution, Categorical.of_weights(weights)), shown

    def _method(self, columns: tuple[str, ...]) -> Mapping[str, object]:
        invariant = [name for name in columns if name not in self.matrices]
        return {
            "name": _NAME,
            "columns": list(columns),
            **({"retain": float(self.retain)} if invariant else {}),
            **({"strata": list(self.strata)} if self.strata else {}),
            "decision": {"invariant": invariant},
        }


def _require_matrix(name: str, matrix: GivenMatrix) -> None:
    """Raise ``PlanError`` where rows and columns differ, or a row does not add up to 1."""
    for value, row in matrix.items():
        if unknown := [shown for shown in row if shown not in matrix]:
            msg = (
                f"matrices.{name}.{value} shows {unknown[0]!r}, which has no row of its own; give "
                "each value that may be shown a row"
            )
            raise PlanError(msg)
        total = sum((Fraction(exact_decimal(it)) for it in row.values()), Fraction(0))
        if abs(total - 1) > _ADDS_UP:
            msg = (
                f"matrices.{name}.{value} adds up to {float(total):.9g}; the probabilities of "
                "what a value shows add up to 1"
            )
            raise PlanError(msg)


def _given(name: str, matrix: GivenMatrix, values: tuple[str | None, ...]) -> Weights:
    """The weights of a given matrix; a missing value stays. Raises ``PlanError``."""
    if left := sum(text is not None and text not in matrix for text in values):
        msg = (
            f"[method] matrices.{name} has no row for {left:,} of the {len(values):,} values of "
            "the column; give each value a row, written as in the table"
        )
        raise PlanError(msg)
    if absent := [text for text in matrix if text not in values]:
        msg = (
            f"[method] matrices.{name} has the value {absent[0]!r}, which no row of the table "
            "has; leave it out"
        )
        raise PlanError(msg)
    exact = [
        [
            Fraction(int(a == b)) if a is None or b is None
            else Fraction(exact_decimal(matrix[a].get(b, 0.0)))
            for b in values
        ]
        for a in values
    ]  # fmt: skip
    whole = math.lcm(*(number.denominator for row in exact for number in row))
    return [[int(number * whole) for number in row] for row in exact]


def _invariant(retain: Fraction, rows: NDArray[np.int64], missing: bool) -> Weights:
    """Weights of rho I + (1 - rho) 1 v' for the shares v of c values; a missing one stays."""
    counts = rows.tolist()
    if missing:
        counts[0] = 0
    total = sum(counts)
    kept, rest = retain.numerator * total, retain.denominator - retain.numerator
    weights = [[rest * count for count in counts] for _ in counts]
    for place, row in enumerate(weights):
        row[place] += kept
    alone = range(len(counts)) if not total else (range(1) if missing else ())
    for place in alone:
        weights[place] = [int(place == other) for other in range(len(counts))]
    return weights


def _probabilities(weights: Weights) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(number / sum(row) for number in row) for row in weights)


def _mean(
    matrices: list[tuple[tuple[float, ...], ...]], rows: NDArray[np.int64]
) -> tuple[tuple[float, ...], ...]:
    """The mean matrix over the rows of each value; ``rows`` (s, c)."""
    if len(matrices) == 1:
        return matrices[0]
    weight = rows / np.maximum(rows.sum(axis=0), 1)
    found = np.einsum("sa,sab->ab", weight, np.array(matrices))
    found[rows.sum(axis=0) == 0] = 1 / found.shape[1]
    return tuple(map(tuple, (found / found.sum(axis=1, keepdims=True)).tolist()))


def _changed(treated: RedrawnColumn, counts: CombinationCounts) -> float:
    """The share of rows that are expected to show another value."""
    stays = [
        float(treated.outcomes.probability(int(at), int(code)))
        for at, code in zip(treated.distribution, counts.codes[:, 0], strict=True)
    ]
    return 1 - float(np.average(stays, weights=counts.rows))


def _guarantee(shown: Mapping[str, Randomized], table: PrivateTable) -> Guarantee:
    roles = table.plan.roles
    epsilon = {name: ratio_of_matrices(how) for name, how in shown.items()}
    told = ", ".join(
        f"{name!r} {'without limit' if bound is None else f'{bound:.3g}'}"
        for name, bound in epsilon.items()
    )
    statement = (
        f"each value of {named(list(shown))} was drawn with the published probabilities, whatever "
        "other rows hold; a cell changes the logarithm of the odds of two values of its row by at "
        f"most {told}. This is NOT anonymity: a row that several columns tell from all others can "
        "be found"
    )
    return Guarantee(
        (RedrawnValues(epsilon=epsilon, unit=stated_unit(roles.protected)),),
        statement,
        assumed_of_draws(roles),
    )
