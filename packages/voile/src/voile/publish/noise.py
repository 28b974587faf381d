"""Noise in numbers, as surveys use it: added, added with the covariance of the table, multiplied.

Publishes: some columns of numbers with noise whose distribution is stated; other columns as they
are, all rows, in an order that tells nothing.

Sources: Brand, "Microdata protection through noise addition" (Inference Control in Statistical
Databases, 2002), for added noise and that with the covariance S of the table; Kim, "A method for
limiting disclosure in microdata based on random noise and transformation" (ASA 1986), for drawing
numbers with noise in towards their mean, by 1 / sqrt(1 + a^2), so that the covariance is expected
to stay; Kim and Winkler, "Multiplicative noise for masking continuous data" (ASA 2001), for factors
that are log-normal, here with mean 1 and standard deviation a.

Guarantee: the noise has the stated distribution, independent between rows, or between persons, all
of whose rows with the same numbers show the same.  That is NO formal privacy: how large it is
follows from the table, a number that lies far out stays far out, and zeros and signs stay where
noise is multiplied.  For noise with a guarantee there is ``clustered-laplace``.

Algorithm: the engine counts the numbers; deviations or the covariance follow; the engine draws for
each row standard variables by the exact samplers of the house, on a grid of 1/128 of a deviation
(discrete Gaussian and Laplace), spreads each evenly within its step, since a grid would tell which
numbers cannot be the own one, and rounds the sum to the decimals of the column.

Cost: a count a column, or of combinations of all where they vary together; a draw a row and column.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import partial
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from voile.disclosure.masked import NoiseAdded
from voile.dp.discrete_noise import DiscreteGaussian, DiscreteLaplace
from voile.publish.assembled import (
    MicrodataOutcome,
    assembled,
    assumed_of_draws,
    named,
    ranked_columns,
    require_treated,
)
from voile.publish.publisher import Capabilities, MethodCard, Parameter, SingleRelease
from voile.release.history import History
from voile.release.method_claims import NoiseOfSurvey
from voile.release.release import Guarantee, Pay, Publication, unaccounted
from voile.schema.roles import ColumnName
from voile.table.decisions import NoisyColumns, Treatment
from voile.table.private import PrivateTable
from voile_base.errors import PlanError
from voile_base.ondemand import dataclass
from voile_base.randomness import Randomness
from voile_base.values.value import Several, checked

__all__ = ["Noise"]

_NAME = "noise"
_STEPS = 128
"""Of the grid in a standard deviation."""

Floats = NDArray[np.float64]
Kind = Literal["additive", "correlated", "multiplicative"]
Law = Literal["normal", "laplace"]


@checked(PlanError)
@dataclass(frozen=True)
class Noise(SingleRelease):
    """Add noise to numbers, or multiply them by it; raises ``PlanError``."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        persons=True,
        followed=True,
        exact_quasi_identifiers=True,
        exact_kept=True,
        no_series="each release draws anew, and the average of several tells the numbers",
        card=MethodCard(
            _NAME,
            "Add noise to numbers, without a promise",
            "Each number is near its own, by noise that is stated. It is no formal privacy.",
            "Single numbers; means stay, and covariances where asked.",
            "a number stands far from all others, or a promise is needed: take Laplace noise.",
            (
                Parameter(
                    "amount",
                    "amount",
                    ("0.05", "0.1", "0.5"),
                    ("0.1", "0.5"),
                    "deviation of the noise, in those of the column",
                ),
            ),
        ),
    )

    amount: Annotated[float, Field(gt=0, le=100)]
    """a: the standard deviation of the noise over that of the column; of factors, as it is."""
    columns: Several[ColumnName] = ()
    """Of numbers; none: all quasi-identifiers that hold numbers."""
    kind: Kind = "additive"
    law: Law = "normal"
    """Of additive noise."""
    keep_covariance: bool = False
    """Whether correlated noise leaves the covariance as it is, and not 1 + a^2 times as large."""

    def __post_init__(self) -> None:
        if self.law == "laplace" and self.kind != "additive":
            msg = f'law = "laplace" is for kind = "additive"; {self.kind} noise is normal'
            raise PlanError(msg)
        if self.keep_covariance and self.kind != "correlated":
            msg = 'keep_covariance is for kind = "correlated"; leave one of them out'
            raise PlanError(msg)

    def prepare(
        self,
        table: PrivateTable,
        randomness: Randomness,
        history: History | None = None,
        pay: Pay = unaccounted,
    ) -> Publication:
        """Make a release; raises ``PlanError``, ``TableError`` and ``InfeasibleError``."""
        del history, pay
        usual = () if self.columns else ranked_columns(table, numbers=True)
        columns, _ = require_treated(table, _NAME, self.columns, (), default=usual)
        mean, deviation, decimals = _moments(table, columns)
        noise, shown = self._noise(table, columns, mean, deviation)
        digits = [_digits(d, how) for d, how in zip(decimals, shown.values(), strict=True)]
        treated = NoisyColumns(columns, noise, tuple(digits))
        published, _ = table.apply_counted(Treatment((), drawn=(treated,)), randomness)
        outcome = MicrodataOutcome(
            method={
                "name": _NAME,
                "columns": list(columns),
                "kind": self.kind,
                "amount": self.amount,
                **({"law": self.law} if self.kind == "additive" else {}),
                **({"keep_covariance": True} if self.keep_covariance else {}),
            },
            columns=shown,
            guarantee=Guarantee(
                (NoiseOfSurvey(columns=columns),),
                f"each number of {named(columns)} has noise of the stated distribution, "
                "independent between rows. This is NO formal privacy: how large the noise is "
                "follows from the table, and a row whose numbers lie far from all others can be "
                "found",
                assumed_of_draws(table.plan.roles),
            ),
            objective=f"{self.amount:.12g}",
            summary=f"with {self.kind} noise in {named(columns)}, "
            + (
                f"of {self.amount:.3g} deviations of each column"
                if self.kind != "multiplicative"
                else f"by factors of deviation {self.amount:.3g}"
            ),
        )
        return assembled(table, published, outcome, randomness)

    def _noise(
        self, table: PrivateTable, columns: tuple[str, ...], mean: Floats, deviation: Floats
    ) -> tuple[partial[Floats], Mapping[str, NoiseAdded]]:
        """What adds the noise, and how each column is shown."""
        if self.kind == "multiplicative":
            scale = float(f"{math.sqrt(math.log1p(self.amount**2)):.6g}")
            stated = NoiseAdded(law="multiplied", deviation=scale)
            return partial(_multiplied, scale), dict.fromkeys(columns, stated)
        if self.kind == "additive":
            scales = np.array([float(f"{self.amount * one:.3g}") for one in deviation])
            found = {
                name: NoiseAdded(law=self.law, deviation=scale)
                for name, scale in zip(columns, scales.tolist(), strict=True)
            }
            return partial(_added, self.law, np.diag(scales), np.zeros(len(columns)), 1.0), found
        factor = 1 / math.sqrt(1 + self.amount**2) if self.keep_covariance else 1.0
        root = self.amount * _root_of_covariance(table, columns)
        found = {
            name: NoiseAdded(
                law="normal",
                deviation=float(f"{self.amount * one:.3g}"),
                centre=float(f"{middle:.6g}") if self.keep_covariance else 0.0,
                factor=factor,
            )
            for name, one, middle in zip(columns, deviation.tolist(), mean.tolist(), strict=True)
        }
        centre = mean if self.keep_covariance else np.zeros(len(columns))
        return partial(_added, "normal", root, centre, factor), found


def _moments(
    table: PrivateTable, columns: tuple[str, ...]
) -> tuple[Floats, Floats, tuple[int, ...]]:
    """Mean, standard deviation and decimals of each column, by rows."""
    found = []
    for name in columns:
        counts = table.count_values(name)
        own = counts.values.floats(name)[counts.value]
        mean = float(np.average(own, weights=counts.count))
        spread = math.sqrt(float(np.average((own - mean) ** 2, weights=counts.count)))
        if not spread:
            msg = (
                f"[method] columns: {name!r} has one value in all rows, which tells no size of "
                "noise; leave the column out of columns"
            )
            raise PlanError(msg)
        found.append((mean, spread, counts.values.scale))
    mean_, spread_, decimals = zip(*found, strict=True)
    return np.array(mean_), np.array(spread_), tuple(decimals)


def _root_of_covariance(table: PrivateTable, columns: tuple[str, ...]) -> Floats:
    """R with R R' the covariance of the columns, shape (m, m)."""
    counts = table.count_combinations(columns)
    own = np.column_stack(
        [
            values.numbers.floats(name)[codes]
            for name, values, codes in zip(columns, counts.values, counts.codes.T, strict=True)
            if values.numbers is not None
        ]
    )
    own -= np.average(own, axis=0, weights=counts.rows)
    covariance = (own * counts.rows[:, np.newaxis]).T @ own / counts.rows.sum()
    value, vector = np.linalg.eigh(covariance)
    return np.asarray(vector * np.sqrt(np.maximum(value, 0)))


def _digits(decimals: int, shown: NoiseAdded) -> int:
    """Decimals of a column, or more where noise of this size would not show in them."""
    size = shown.factor * shown.deviation
    if shown.law == "multiplied" or size >= 10.0**-decimals:
        return decimals
    return math.ceil(1 - math.log10(size))


def _standard(law: Law, words: NDArray[np.uint64], randomness: Randomness, count: int) -> Floats:
    """Variables of deviation 1 for n rows, shape (n, ``count``)."""
    found = np.empty((len(words), count))
    for place in range(count):
        key, within = (randomness.key(what, f"{place}") for what in (law, "within a step"))
        if law == "normal":
            found[:, place] = DiscreteGaussian(Fraction(_STEPS**2)).draw(words, key)
        else:
            laplace = DiscreteLaplace((Fraction(_STEPS),))
            drawn = laplace.draw(np.zeros(len(words), dtype=np.int64), words, key)
            found[:, place] = drawn / math.sqrt(2)
        # Within its step noise is spread evenly: on a grid the own number could be told by it.
        uniform = within.words(words, np.zeros_like(words)) >> np.uint64(11)
        found[:, place] += uniform * 2.0**-53 - 0.5
    return found / _STEPS


def _added(
    law: Law,
    root: Floats,
    centre: Floats,
    factor: float,
    own: Floats,
    words: NDArray[np.uint64],
    randomness: Randomness,
) -> Floats:
    """Numbers of n rows (n, m) with noise, drawn in towards a centre."""
    noise = _standard(law, words, randomness, own.shape[1]) @ root.T
    return np.asarray(centre + factor * (own - centre + noise))


def _multiplied(
    scale: float, own: Floats, words: NDArray[np.uint64], randomness: Randomness
) -> Floats:
    """Numbers of n rows (n, m) times factors of mean 1."""
    noise = scale * _standard("normal", words, randomness, own.shape[1])
    return np.asarray(own * np.exp(noise - scale**2 / 2))
