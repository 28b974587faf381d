"""Answers about a private table whose values were redrawn by published matrices, or weighted.

COUNT, SUM and AVG under a predicate are sums over rows of a number w that depends on their values.
Of a redrawn column a row shows value b with probability P[a, b] where its own is a.  The number
that has expectation w(a), whatever a is, is f = P^-1 w at the shown value: several columns, drawn
independently, take the inverse of each.  Rows of a stratum take that of the stratum.

Source: Gouweleeuw et al. 1998, section 4; Chaudhuri and Mukerjee, "Randomized Response" (1988).

Guarantee: over the draws the estimate is unbiased, and so is the variance that is estimated of it,
the sum of f^2 - P^-1 w^2; intervals are approximate, by the normal distribution, and of averages by
Fieller's (1954).  The true aggregate is that over the rows that were published.

**Sampling weights.** Where a column says how many people a row stands for, each row's number is
multiplied by it: the answer is about the population.  The rows being drawn with replacement with
chances that the weights tell, the variance of the sum over sampling and draws together is estimated
by n / (n - 1) sum (w f - mean)^2 (Hansen and Hurwitz 1943).  Then no column need be redrawn.

Cost: one count of the release by the columns that are read, times the values of redrawn ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date

import numpy as np
from numpy.typing import NDArray

from voile.disclosure.masked import Randomized
from voile.dp.marginals import LinearEstimate
from voile.query.parsing import AggregateCall, QueriedColumns, parse_predicate
from voile.query.synthesis import EstimatedAnswer, fieller
from voile.release.method_claims import RedrawnValues
from voile.release.release import Release
from voile.table.domains import flagged_rows
from voile_base.errors import QueryError
from voile_base.ondemand import dataclass
from voile_base.values.expressions import Expression, both, columns_of, is_missing, negated

__all__ = ["randomized_answer"]

_CONFIDENCE = 0.95
_MOST_CELLS = 5_000_000
_LEAST_DETERMINANT = 1e-9
_KINDS = {"integer", "decimal", "date", "text"}
_DAY_ZERO = date(1970, 1, 1)
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _CountedRows:
    """Rows by the e combinations of columns that are exact, and the values of redrawn ones."""

    values: Mapping[str, tuple[str, Sequence[float | str | None]]]
    """Kind and values of each column at each combination and value; e times d of them."""
    seen: Floats
    """Shape (e, d1, d2, ...): rows that show each."""
    inverses: Sequence[Sequence[Floats]]
    """Of each combination's stratum, those of each redrawn column."""


def randomized_answer(
    release: Release,
    aggregate: str,
    where: str | None,
    confidence: float | None,
    weight: str | None = None,
) -> EstimatedAnswer:
    """Answer an aggregate query from a release with redrawn columns, or by weights; see the module.

    ``aggregate`` is COUNT(*), COUNT of values that are not missing, or SUM or AVG of numbers;
    ``weight`` is the column of sampling weights, which is published as it is.
    Raises ``QueryError`` where the query cannot be read, reads a column that is shown otherwise,
    or a matrix has no inverse.
    """
    level = _CONFIDENCE if confidence is None else confidence
    if not 0 < level < 1:
        msg = f"the confidence of an interval is between 0 and 1, such as 0.95, not {level}"
        raise QueryError(msg)
    asked, condition = _question(release, aggregate, where)
    rows = _counted(release, asked, condition, weight)
    weights = _weights(rows, asked, condition)
    if weight is None:
        values, covariance = _estimates(rows, weights)
    else:
        people = _people(rows, weight).reshape(rows.seen.shape)
        values, covariance = _sampled(rows, [each * people for each in weights])
    claims = [it for it in release.guarantee.claims if isinstance(it, RedrawnValues)]
    alone = all(claim.unit is None for claim in claims)
    redrawn = rows.seen.ndim > 1
    how, over = _source(weight, redrawn=redrawn)
    interval = f"; {100 * level:.4g} % confidence interval over {over}" if alone else ""
    together = "rows of one person were drawn together, so that its error is not known"
    notes = () if alone else (together,)
    if weight is not None:
        notes = (*notes, "people of rows that were not published are not counted")
    found = _with_ends(asked, values, covariance, level)
    if found is None and not redrawn and values[1] > 0:
        found = (values[0] / values[1], 0.0, 0.0)
        interval = ""
        notes = (*notes, "rows are too few for an interval of the average")
    if found is None:
        how, interval = "no answer: there may be no such row, by the estimate", ""
    low, high = (None, None) if found is None or not interval else found[1:]
    if asked.function == "COUNT" and low is not None and high is not None:
        most = float(release.table.rows) if weight is None else high
        low, high = max(low, 0.0), min(high, most)
    return EstimatedAnswer(
        aggregate=asked.function,
        column=asked.column,
        where=where,
        estimate=None if found is None else found[0],
        lower=low,
        upper=high,
        confidence=None if low is None else level,
        source=how + interval,
        notes=notes,
    )


def _source(weight: str | None, *, redrawn: bool) -> tuple[str, str]:
    """How an answer was found, and over what its interval is, in words."""
    how = "estimated from redrawn values by the inverse of their published matrices"
    if weight is None:
        return how, "the draws"
    how = f"{how}, weighted by {weight!r}" if redrawn else f"weighted by {weight!r}"
    over = "sampling and the draws" if redrawn else "sampling"
    return how, f"{over}, as if rows were drawn with replacement"


def _with_ends(
    asked: AggregateCall, values: Sequence[float], covariance: Floats, level: float
) -> tuple[float, float, float] | None:
    """An answer and the ends of its interval; None where an average has none."""
    parts = [
        LinearEstimate(value, max(covariance[place, place], 0.0), 0.0)
        for place, value in enumerate(values)
    ]
    if asked.function == "AVG":
        return fieller(parts[0], parts[1], float(covariance[0, 1]), level)
    margin = parts[0].margin(level)
    return parts[0].value, parts[0].value - margin, parts[0].value + margin


def _question(
    release: Release, aggregate: str, where: str | None
) -> tuple[AggregateCall, Expression | None]:
    """What is asked; raises ``QueryError``."""
    kinds = release.table.kinds()
    columns = QueriedColumns(kinds, None)
    asked = AggregateCall.parse(aggregate, columns)
    if asked.function in {"MIN", "MAX"}:
        msg = (
            f"{asked.function} is the value of one row, which may have been redrawn and which no "
            "weight changes; ask for COUNT, SUM or AVG"
        )
        raise QueryError(msg)
    if asked.function != "COUNT" and kinds[asked.column or ""] not in {"integer", "decimal"}:
        msg = f"{asked}: {asked.column!r} is not a column of numbers; ask for COUNT"
        raise QueryError(msg)
    conditions = [parse_predicate(where, columns)] if where is not None else []
    if asked.column is not None:  # missing numbers add nothing and are not averaged over
        conditions.append(negated(is_missing(asked.column)))
    return asked, both(*conditions) if conditions else None


def _counted(
    release: Release, asked: AggregateCall, condition: Expression | None, weight: str | None
) -> _CountedRows:
    """The rows by all columns that are read, and by those that tell strata."""
    read = set() if condition is None else set(columns_of(condition))
    read |= {name for name in (asked.column, weight) if name is not None}
    if weight is not None:
        _require_weights(release, weight)
    stated = {
        name: shown
        for name, shown in release.disclosure.columns.items()
        if name in read and isinstance(shown, Randomized)
    }
    exact = sorted((read - set(stated)) | {n for one in stated.values() for n in one.within})
    for name in exact:
        shown = release.disclosure.columns.get(name)
        if shown is None or not shown.as_it_is:
            msg = (
                f"column {name!r} is shown neither as it is nor redrawn by a matrix, so that "
                "nothing follows for aggregates; ask of other columns"
            )
            raise QueryError(msg)
    if not exact and not stated:  # COUNT(*) of all rows
        return _CountedRows({}, np.array([float(release.table.rows)]), [()])
    counted = release.table.count([*exact, *stated])
    texts = [release.table.texts_of(values) for values in counted.values]
    codes = counted.codes.astype(np.int64)
    combination, first, entry = np.unique(
        codes[:, : len(exact)], axis=0, return_index=True, return_inverse=True
    )
    sizes = [len(shown.values) for shown in stated.values()]
    if len(first) * int(np.prod(sizes)) > _MOST_CELLS:
        msg = "the query reads columns of too many values; ask of fewer columns at a time"
        raise QueryError(msg)
    places = [entry.reshape(-1)]
    for number, (name, shown) in enumerate(stated.items(), start=len(exact)):
        place = {text: at for at, text in enumerate(shown.values)}
        if unknown := sum(text not in place for text in texts[number]):
            msg = f"column {name!r} shows {unknown:,} values that its matrix does not have"
            raise QueryError(msg)
        own = np.array([place[text] for text in texts[number]], dtype=np.int64)
        places.append(own[codes[:, number]])
    seen = np.zeros((len(first), *sizes))
    np.add.at(seen, tuple(places), counted.rows)
    at = np.indices(seen.shape).reshape(seen.ndim, -1)
    kinds, values = release.table.kinds(), {}
    lists = [[texts[i][code] for code in combination[:, i]] for i in range(len(exact))]
    lists += [list(shown.values) for shown in stated.values()]
    axes = [at[0]] * len(exact) + [at[1 + place] for place in range(len(stated))]
    for name, own_texts, axis in zip([*exact, *stated], lists, axes, strict=True):
        typed = np.array(_typed(name, kinds[name], own_texts), dtype=object)
        values[name] = (kinds[name], typed[axis].tolist())
    inverses = _inverses(stated, exact, lists)
    return _CountedRows(values, seen, [inverses(entry) for entry in range(len(first))])


def _inverses(
    stated: Mapping[str, Randomized], exact: Sequence[str], lists: Sequence[Sequence[str | None]]
) -> Callable[[int], list[Floats]]:
    """Gives for a combination of exact values the inverse matrix of each redrawn column."""
    known: dict[tuple[str, int | None], Floats] = {}

    def inverse(name: str, stratum: int | None) -> Floats:
        if (name, stratum) not in known:
            matrix = stated[name].probabilities(stratum)
            if abs(np.linalg.det(matrix)) < _LEAST_DETERMINANT:
                msg = (
                    f"the matrix of column {name!r} has no inverse, so that nothing of its own "
                    "values follows from those that are shown; ask without it"
                )
                raise QueryError(msg)
            known[name, stratum] = np.asarray(np.linalg.inv(matrix), dtype=np.float64)
        return known[name, stratum]

    def of(entry: int) -> list[Floats]:
        found = []
        for name, shown in stated.items():
            stratum = None
            if shown.within:
                at = tuple(lists[exact.index(each)][entry] for each in shown.within)
                stratum = next(i for i, one in enumerate(shown.strata) if one.at == at)
            found.append(inverse(name, stratum))
        return found

    return of


def _typed(name: str, kind: str, texts: Sequence[str | None]) -> list[float | str | None]:
    """Values of a column as predicates compare them."""
    if kind not in _KINDS:
        msg = f"column {name!r} has values of kind {kind}, of which redrawn tables answer nothing"
        raise QueryError(msg)
    if kind == "text":
        return list(texts)
    if kind == "date":
        return [None if t is None else (date.fromisoformat(t) - _DAY_ZERO).days for t in texts]
    return [None if t is None else float(t) for t in texts]


def _weights(
    rows: _CountedRows, asked: AggregateCall, condition: Expression | None
) -> list[Floats]:
    """What each combination counts in the aggregate, or in the dividend and the divisor of AVG."""
    shape = rows.seen.shape
    holds = np.ones(shape)
    if condition is not None:
        holds = flagged_rows(condition, rows.values).astype(np.float64).reshape(shape)
    if asked.column is None or asked.function == "COUNT":
        return [holds]
    own = [0.0 if v is None else float(v) for v in rows.values[asked.column][1]]
    sums = holds * np.array(own).reshape(shape)
    return [sums] if asked.function == "SUM" else [sums, holds]


def _estimates(rows: _CountedRows, weights: Sequence[Floats]) -> tuple[list[float], Floats]:
    """Unbiased estimates of weighted sums, and of the covariance of their errors."""
    drawn = [_corrected(rows, weight) for weight in weights]
    values = [float((rows.seen * each).sum()) for each in drawn]
    covariance = np.empty((len(weights), len(weights)))
    for one, first in enumerate(weights):
        for other, second in enumerate(weights):
            squares = drawn[one] * drawn[other] - _corrected(rows, first * second)
            covariance[one, other] = float((rows.seen * squares).sum())
    return values, covariance


def _require_weights(release: Release, column: str) -> None:
    """Raise ``QueryError`` unless the release shows a column of weights as it is."""
    kinds = release.table.kinds()
    if column not in kinds:
        raise QueryError(QueriedColumns(kinds, None).missing(column))
    shown = release.disclosure.columns.get(column)
    if shown is None or not shown.as_it_is or kinds[column] not in {"integer", "decimal"}:
        msg = (
            f"column {column!r} does not show sampling weights, which are numbers that are "
            "published as they are; name their column in keep when you publish"
        )
        raise QueryError(msg)


def _people(rows: _CountedRows, column: str) -> Floats:
    """The people that a row of each combination stands for; raises ``QueryError``."""
    held = rows.values[column][1]
    people = np.array([np.nan if it is None else float(it) for it in held])
    if not (people > 0).all():
        wrong = int(rows.seen.reshape(-1)[~(people > 0)].sum())
        msg = f"column {column!r}: {wrong:,} rows have no sampling weight above 0; ask without it"
        raise QueryError(msg)
    return people


def _sampled(rows: _CountedRows, weights: Sequence[Floats]) -> tuple[list[float], Floats]:
    """Weighted sums, and the covariance of their errors over sampling and draws."""
    drawn = [_corrected(rows, weight) for weight in weights]
    total = rows.seen.sum()
    apart = [each - (rows.seen * each).sum() / total for each in drawn]
    covariance = np.empty((len(weights), len(weights)))
    for one, first in enumerate(apart):
        for other, second in enumerate(apart):
            covariance[one, other] = float((rows.seen * first * second).sum())
    return [float((rows.seen * each).sum()) for each in drawn], covariance * total / max(
        total - 1, 1
    )


def _corrected(rows: _CountedRows, weight: Floats) -> Floats:
    """What shown values count, so that the expectation is the weight of the own ones."""
    if rows.seen.ndim == 1:  # none was redrawn
        return weight
    found = np.empty_like(weight)
    for entry, inverses in enumerate(rows.inverses):
        part = weight[entry]
        for axis, inverse in enumerate(inverses):
            part = np.moveaxis(np.tensordot(inverse, part, axes=(1, axis)), 0, axis)
        found[entry] = part
    return found
