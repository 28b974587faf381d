"""Shuffling: all values of some columns dealt out anew, in the order that a regression tells.

Publishes: in some columns the values of the table, in other rows; each is expected to go with the
columns that explain it as it did, and nothing else ties it to its row.  Other columns stay as they
are, all rows, in an order that tells nothing.

Source: Muralidhar and Sarathy, "Data shuffling: a new masking approach for numerical data"
(Management Science 52, 2006): values are drawn from the normal copula of the columns X to shuffle,
given the others S, and replaced by the values of X of the same ranks.

Guarantee: where each row is another person, every value of a column stands as often as before.  Of
the own values of a row, what is drawn depends on S alone; ranks of drawn values are then filled
with the values of all rows.  Rank correlations of X with S and among X are expected to stay, as far
as the copula is normal.  That is NO anonymity: S is shown as it is, and what it explains of X
shows.  Of persons with several rows those that agree show the same, and values count by persons.

Algorithm: with z the normal scores of mid-ranks, and of categories an indicator for each value but
the most frequent one, the engine counts combinations; B = S_zx S_zz^-1 and the covariance of the
residual follow; for each row B z_S + L e orders the values, e standard normal.

Cost: one count of combinations of all columns; for n rows and m columns to shuffle m draws and m
sorts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from voile.disclosure.masked import Shuffled
from voile.publish.assembled import (
    MicrodataOutcome,
    assembled,
    assumed_of_draws,
    columns_asked,
    named,
    places_in_order,
    require_treated,
    require_values,
)
from voile.publish.publisher import Capabilities, MethodCard, SingleRelease
from voile.release.history import History
from voile.release.microdata_claims import ShuffledValues
from voile.release.release import Guarantee, Pay, Publication, unaccounted
from voile.schema.names import UNORDERED
from voile.schema.plan import ColumnPlan
from voile.schema.roles import ColumnName
from voile.table.decisions import RankedColumns, Treatment
from voile.table.private import PrivateTable
from voile.table.summaries import CombinationCounts
from voile_base.errors import PlanError
from voile_base.ondemand import on_demand
from voile_base.randomness import Randomness
from voile_base.values.value import Several, checked

__all__ = ["Shuffling"]

scipy_special = on_demand("scipy.special")

_NAME = "shuffling"
_MOST_KINDS = 100
"""Values of a category up to which it explains others."""
_RIDGE = 1e-9
_BLOCK = 1 << 16
"""Combinations whose columns are spelled out at a time."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Model:
    """What the columns of S tell of the scores of X, and how the rest varies."""

    mean: Floats
    """Shape (g, m): of each counted combination."""
    root: Floats
    """Shape (m, m): R with R R' the covariance of the rest."""
    explained: Floats
    """Shape (m,): shares of the variance, between 0 and 1."""


@checked(PlanError)
@dataclass(frozen=True)
class Shuffling(SingleRelease):
    """Deal the values of columns out anew, as a regression orders them; raises ``PlanError``."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        persons=True,
        followed=True,
        exact_quasi_identifiers=True,
        exact_kept=True,
        no_series="each release deals anew, and the average of several tells what columns explain",
        card=MethodCard(
            _NAME,
            "Shuffle by regression",
            "All values stay, and go with other columns as before; no row keeps its own value.",
            "What columns have to do with each other beyond ranks.",
            "the columns that stay tell whose a row is, or all that is secret.",
            (),
        ),
    )

    columns: Several[ColumnName] = ()
    """X: numbers, dates or ordered texts to shuffle; none: all sensitive columns."""
    by: Several[ColumnName] = ()
    """S: published columns that explain them; none: all other quasi-identifiers."""

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
        columns, _ = require_treated(table, _NAME, self.columns or roles.sensitive, ())
        others = tuple(name for name in roles.quasi_identifiers if name not in columns)
        by = columns_asked("by", self.by, roles) or others
        if both := sorted(set(by) & set(columns)):
            msg = f"[method] by names {both[0]!r}, which is shuffled; name it in one of them"
            raise PlanError(msg)
        counts = table.count_combinations([*columns, *by])
        place = np.stack(
            [
                places_in_order(table, counts, number)[counts.codes[:, number]]
                for number in range(len(columns))
            ],
            axis=1,
        )
        for number, name in enumerate(columns):
            require_values(counts, name, number)
            if (place[:, number] < 0).any():
                table.count_values(name)  # says in which row a number is missing
                msg = f"[method] columns: {name!r} misses values, which have no rank; leave it out"
                raise PlanError(msg)
        model = _model(table, counts, place, by)
        treated = RankedColumns(
            columns,
            (*columns, *by),
            place,
            np.zeros(len(counts.rows), dtype=np.int64),
            partial(_scores, model.mean, model.root),
            None,
        )
        del counts  # as large as the table where rows differ
        published, whose = table.apply_counted(Treatment((), drawn=(treated,)), randomness)
        shown = {
            name: Shuffled(
                explained=float(f"{share:.2g}"), by=by, margin="kept" if whose is None else None
            )
            for name, share in zip(columns, model.explained.tolist(), strict=True)
        }
        told = ", ".join(f"{one.explained:.0%} of {name!r}" for name, one in shown.items())
        outcome = MicrodataOutcome(
            method={"name": _NAME, "columns": list(columns), "by": list(by)},
            columns=shown,
            guarantee=Guarantee(
                (ShuffledValues(columns=columns, by=by),),
                f"the values of {named(columns)} were dealt out anew: what a row shows depends on "
                f"{'its ' + named(by) if by else 'nothing of the row'}, and not on its own values. "
                "This is NOT anonymity: what those columns tell of it still shows",
                assumed_of_draws(roles),
            ),
            objective=f"{1 - float(model.explained.mean()):.12g}",
            summary=f"with {named(columns)} shuffled; other columns explain {told}",
        )
        return assembled(table, published, outcome, randomness)


def _model(
    table: PrivateTable,
    counts: CombinationCounts,
    place: NDArray[np.int64],
    by: tuple[str, ...],
) -> _Model:
    """The regression of the scores of X on S, over the rows."""
    first = place.shape[1]
    every = [_scores_of(np.unique(c, return_inverse=True)[1], counts.rows) for c in place.T]
    own = np.column_stack(every)
    own -= np.average(own, axis=0, weights=counts.rows)
    known = [
        _explaining(table, counts, number, name) for number, name in enumerate(by, start=first)
    ]
    size = sum(part.shape[1] for part in known)
    within, beside = np.zeros((size, size)), np.zeros((size, first))

    def block(some: slice) -> Floats:
        """What some of the combinations have of S."""
        codes = counts.codes[some, first:]
        parts = [part[codes[:, number]] for number, part in enumerate(known)]
        return np.hstack(parts) if parts else np.zeros((len(codes), 0))

    blocks = [slice(at, at + _BLOCK) for at in range(0, len(own), _BLOCK)]
    total = float(counts.rows.sum())
    for some in blocks:
        part = block(some)
        weighed = part.T * counts.rows[some]
        within += weighed @ part / total
        beside += weighed @ own[some] / total
    within += _RIDGE * np.diag(np.maximum(np.diag(within), 1e-12))
    slope = np.linalg.solve(within, beside)
    mean = np.concatenate([block(some) @ slope for some in blocks])
    spread = np.average(own**2, axis=0, weights=counts.rows)
    own -= mean
    covariance = (own.T * counts.rows) @ own / total
    value, vector = np.linalg.eigh(covariance)
    explained = np.clip(1 - np.diag(covariance) / spread, 0, 1)
    return _Model(mean, vector * np.sqrt(np.maximum(value, 0)), explained)


def _scores_of(code: NDArray[np.integer[Any]], rows: NDArray[np.int64]) -> Floats:
    """Normal scores of the mid-ranks of the values of combinations, by their codes, shape (g,)."""
    return np.asarray(_scores_of_values(code, rows)[code])


def _scores_of_values(code: NDArray[np.integer[Any]], rows: NDArray[np.int64]) -> Floats:
    """The same of each of d values, shape (d,); of those that no row has anything."""
    held = np.bincount(code, rows)
    middle = (np.cumsum(held) - held / 2) / held.sum()
    return np.asarray(scipy_special.ndtri(np.clip(middle, 1e-12, 1 - 1e-12)))


def _explaining(table: PrivateTable, counts: CombinationCounts, at: int, name: str) -> Floats:
    """What each of the d values of a column of S is in the regression, shape (d, q).

    Its score, or an indicator of each value but the most frequent one; over the rows the mean is 0.
    """
    values, codes = counts.values[at], counts.codes[:, at]
    plan = table.plan.columns.get(name, ColumnPlan())
    held = np.bincount(codes, counts.rows, len(values))
    line = values.numbers is not None or values.kind in {"date", "datetime"}
    if line and plan.kind not in UNORDERED and not values.missing:
        found = _scores_of_values(codes, counts.rows)[:, np.newaxis]
    elif len(values) > _MOST_KINDS:
        msg = (
            f"[method] by: {name!r} has {len(values):,} values without an order, of which at most "
            f"{_MOST_KINDS} explain others; recode it, or leave it out of by"
        )
        raise PlanError(msg)
    else:
        found = np.delete(np.eye(len(values)), int(held.argmax()), axis=1)
    return np.asarray(found - held @ found / held.sum())


def _scores(
    mean: Floats,
    root: Floats,
    combination: NDArray[np.int64],
    words: NDArray[np.uint64],
    randomness: Randomness,
) -> Floats:
    """What orders n rows in each column, shape (n, m)."""
    columns = mean.shape[1]
    noise = np.empty((len(words), columns))
    for number in range(columns):
        drawn = randomness.key("normal", f"{number}").words(words, np.zeros_like(words))
        uniform = ((drawn >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
        noise[:, number] = scipy_special.ndtri(uniform)
    return np.asarray(mean[combination] + noise @ root.T)
