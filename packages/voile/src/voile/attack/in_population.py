"""Intruders who look for rows of a sample among all people of the population; private.

The plan names a column of sampling weights, which the release shows as it is: they say how many
people of the population each published row stands for.  What the rows show of quasi-identifiers is
then held against the population, by the models of ``models.population``, a missing value matching
anything.  Each adversary here is one of its figures:

    population-individual       the individual risk of Benedetti and Franconi: the success is its
                                mean, so that success times targets is the re-identifications that
                                are expected
    population-household        the chance that somebody of a row's household is found, of these
                                risks; which rows are of one household is told by the original
    population-map              1 / F for the people who are like a row (k-map), by weights or
                                counted in a file of the whole population
    population-uniques          the share of the population that is unique in it: Pitman, Zayatz, a
                                shifted negative binomial law, and of these Dankar's choice
    population-log-linear       correct matches among sample uniques, Skinner and Shlomo
    population-special-uniques  SUDA: the chance (DIS) that a match of a special unique is right

All are estimates by a model, but for what is counted in a file.  Guessing is right for one of all
people.  Who is at risk is not told: the worst target has a probability and no values.

Cost: that of ``models.population``.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from voile.attack.asking import asks
from voile.attack.fitted import Fitted, Standing
from voile.attack.protocol import (
    COLUMNS,
    Attack,
    AttackOutcome,
    Estimate,
    Target,
    checked_columns,
    nobody_known,
    require_sense,
)
from voile.models.population import (
    household_risk,
    individual_risk,
    log_linear_risk,
    matching,
    population_uniques,
    special_uniques,
)
from voile.release.reading import People, PublishedRows, floats_of
from voile.release.release import Release
from voile.schema.plan import Plan
from voile.table.arrays import from_native
from voile.table.summaries import SampleCounts
from voile_base.errors import InputError
from voile_base.ondemand import dataclass
from voile_base.randomness import Randomness

__all__ = [
    "HouseholdRisk",
    "IndividualRisk",
    "LogLinearMatches",
    "PopulationMap",
    "PopulationUniqueShare",
    "SpecialUniquesRisk",
]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class _InPopulation(Attack):
    """Whoever looks for published rows in the population."""

    columns: Sequence[str] | None = field(default=None, metadata=COLUMNS)
    """Published columns by which people are known; None: what shows the quasi-identifiers."""
    called: ClassVar[str]
    goal: ClassVar[str]

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", checked_columns(self.columns))

    @property
    def name(self) -> str:
        """The name by which a command or a study asks for the attack."""
        return self.called

    def refusal(self, release: Release, plan: Plan | None = None) -> str | None:
        """Weights must be known of published rows."""
        if (why := nobody_known(release, self.columns)) is not None:
            return why
        weight = None if plan is None else plan.roles.weight
        if weight is None:
            return "the plan names no sampling weights ([roles] weight), which tell the population"
        shown = release.disclosure.columns.get(weight)
        if shown is None or not shown.as_it_is:
            return (
                "the release does not show the sampling weights as they are: name their column in "
                "keep, too"
            )
        return None

    def run(
        self,
        release: Release,
        original: Any,
        plan: Plan | None = None,
        randomness: Randomness | None = None,
    ) -> AttackOutcome:
        """Estimate the risk of all published rows; see the module."""
        require_sense(self.name, self.refusal(release, plan))
        assert plan is not None
        sample = self._sample(release, str(plan.roles.weight))
        total = float(sample.weight.sum())
        if total < sample.rows.sum():
            msg = (
                f"column {plan.roles.weight!r}: the sampling weights add up to fewer people than "
                "there are rows; a weight counts the row itself"
            )
            raise InputError(msg)
        risk, notes = self.risk(sample)
        weighed = (
            f"the sampling weights tell the population: {total:,.0f} people",
            "risk is estimated by a model, and not counted",
        )
        risk = self.of_targets(risk[sample.place], release, (original, plan), randomness)
        return self._outcome(risk, total, weighed, notes)

    def of_targets(
        self,
        risk: Floats,
        release: Release,
        table: tuple[Any, Plan],
        randomness: Randomness | None,
    ) -> Floats:
        """The risk of each target, by that of the n published rows, shape (n,)."""
        del release, table, randomness
        return risk

    def _outcome(
        self, risk: Floats, total: float, assumptions: tuple[str, ...], notes: tuple[str, ...]
    ) -> AttackOutcome:
        """What comes of the risk of each target, shape (t,), in a population of ``total``."""
        highest = float(risk.max())
        mean = Estimate.exactly(min(float(risk.mean()), highest))
        return AttackOutcome(
            attack=self.name,
            goal=self.goal,
            targets=len(risk),
            checked=False,
            success=mean,
            probability=mean,
            baseline=min(1.0, 1 / total),
            worst=Target({}, highest),
            typical=Target({}, float(np.sort(risk)[(len(risk) - 1) // 2])),
            assumptions=(
                "he knows what the quasi-identifiers of everybody in the population are",
                *assumptions,
            ),
            notes=notes,
            drawn_from=len(risk),
        )

    @abstractmethod
    def risk(self, sample: SampleCounts) -> tuple[Floats, tuple[str, ...]]:
        """The risk of the rows of each of g combinations, shape (g,), and what else was found."""

    def _sample(self, release: Release, weight: str) -> SampleCounts:
        """The published rows by what they show; raises ``InputError`` for weights that are none."""
        frame = PublishedRows.of(release).frame
        asked = self.columns or release.roles.get("quasi_identifiers", ())
        names = [name for name in asked if name != weight]
        for name in names:
            if name not in frame.columns:
                msg = f"the release has no column {name!r}"
                raise InputError(msg)
        weights = floats_of(frame[weight])
        if not (np.isfinite(weights) & (weights > 0)).all():
            wrong = int((~(np.isfinite(weights) & (weights > 0))).sum())
            msg = f"column {weight!r}: {wrong:,} rows have no sampling weight above 0; fill them in"
            raise InputError(msg)
        codes = np.stack(
            [frame[n].rank("dense").fill_null(0).cast(int).to_numpy() for n in names], axis=1
        )
        missing = np.stack([frame[name].is_null().to_numpy() for name in names], axis=1)
        every, first, place = np.unique(codes, axis=0, return_index=True, return_inverse=True)
        place = place.reshape(-1)
        return SampleCounts(
            tuple(names),
            every,
            missing[first],
            np.bincount(place, minlength=len(every)),
            np.bincount(place, weights, len(every)).astype(np.float64),
            place,
            None,
        )


def _alike(sample: SampleCounts) -> tuple[Floats, Floats]:
    """Rows and people who are like each combination."""
    codes = sample.codes.astype(np.int32)
    rows = matching(codes, sample.missing, sample.rows.astype(np.float64))
    return rows, matching(codes, sample.missing, sample.weight)


@dataclass(frozen=True)
class IndividualRisk(_InPopulation):
    """Benedetti and Franconi's individual risk."""

    called: ClassVar[str] = "population-individual"
    goal: ClassVar[str] = "of the people who are like a row, the one is picked whose it is"

    def risk(self, sample: SampleCounts) -> tuple[Floats, tuple[str, ...]]:
        """The risk of each, and the re-identifications that are expected."""
        risk = individual_risk(*_alike(sample))
        expected = float(risk @ sample.rows)
        return risk, (f"{expected:,.2f} re-identifications are expected",)


@dataclass(frozen=True)
class HouseholdRisk(IndividualRisk):
    """That somebody of a household is found."""

    called: ClassVar[str] = "population-household"
    goal: ClassVar[str] = "somebody of the household of a row is picked for his row"

    def refusal(self, release: Release, plan: Plan | None = None) -> str | None:
        """The plan must name households."""
        if (why := super().refusal(release, plan)) is not None:
            return why
        assert plan is not None
        if plan.roles.household is None:
            return "the plan names no column of households ([roles] household)"
        return None

    def risk(self, sample: SampleCounts) -> tuple[Floats, tuple[str, ...]]:
        """The individual risk."""
        return super().risk(sample)[0], ()

    def of_targets(
        self,
        risk: Floats,
        release: Release,
        table: tuple[Any, Plan],
        randomness: Randomness | None,
    ) -> Floats:
        """The risk of the household of each row that was published, by where the rows stand."""
        people = People(from_native(table[0])[0], table[1])
        published = PublishedRows.of(release)
        columns = published.known_columns(people, self.columns, None)
        fitted = Fitted.of(published, people, columns)
        key = (randomness or Randomness.secure()).key("household")
        standing = fitted and Standing.of(fitted, published, people, columns, key)
        if not fitted or not standing:
            msg = (
                "which published rows are of one household cannot be told, since values were "
                "exchanged, disturbed or made up; ask for population-individual"
            )
            raise InputError(msg)
        of_combination = np.zeros(len(fitted.rows))
        of_combination[fitted.shown] = risk
        out = standing.place >= 0
        household = np.unique(people.units[0][out], return_inverse=True)[1]
        return household_risk(of_combination[standing.place[out]], household)


@dataclass(frozen=True)
class PopulationMap(_InPopulation):
    """k-map by weights, or by a file of the population."""

    register: Any = field(default=None, metadata=asks("--register"))
    """A data frame of everybody in the population, with the quasi-identifiers; None: weights."""
    called: ClassVar[str] = "population-map"
    goal: ClassVar[str] = "one of as many people as are like a row in the population is right"

    def refusal(self, release: Release, plan: Plan | None = None) -> str | None:
        """Weights are needed where nobody gives the population."""
        if self.register is None:
            return super().refusal(release, plan)
        return nobody_known(release, self.columns)

    def run(
        self,
        release: Release,
        original: Any,
        plan: Plan | None = None,
        randomness: Randomness | None = None,
    ) -> AttackOutcome:
        """By the population where it is given; see the module."""
        if self.register is None:
            return super().run(release, original, plan, randomness)
        require_sense(self.name, self.refusal(release, plan))
        everybody = People(from_native(self.register)[0], plan)
        published = PublishedRows.of(release)
        people = People(from_native(original)[0], plan)
        columns = published.known_columns(people, self.columns, None)
        everybody.require_columns(columns, "the population")
        fitted = Fitted.of(published, everybody, columns)
        if fitted is None:
            msg = (
                "the people of the population who are like a row cannot be counted: fewer fit it "
                "than rows show it, or values were exchanged, disturbed or made up; is "
                "everybody who was published in the file?"
            )
            raise InputError(msg)
        alike = fitted.people[fitted.shown].astype(np.float64)
        total = everybody.frame.height
        counted = (f"people are counted in a population of {total:,}, a row of the file each",)
        return self._outcome(1 / alike, total, counted, (_map_note(alike),))

    def risk(self, sample: SampleCounts) -> tuple[Floats, tuple[str, ...]]:
        """1 / F of each, and the k of k-map."""
        people = np.maximum(_alike(sample)[1], 1.0)
        return 1 / people, (_map_note(people[sample.place]),)


def _map_note(people: Floats) -> str:
    """The k of k-map, of how many people each row is like."""
    below = np.count_nonzero(people < 5)
    return f"k-map: k = {people.min():,.4g}; {below:,} rows are like fewer than 5 people"


@dataclass(frozen=True)
class PopulationUniqueShare(_InPopulation):
    """People who are unique in the population."""

    called: ClassVar[str] = "population-uniques"
    goal: ClassVar[str] = "a person is the only one of the population with these values"

    def risk(self, sample: SampleCounts) -> tuple[Floats, tuple[str, ...]]:
        """Dankar's choice as a share of the population, for all alike."""
        found = population_uniques(sample.rows, float(sample.weight.sum()))
        share = (found.chosen or 0.0) / float(sample.weight.sum())
        estimates = {
            "Pitman": found.pitman,
            "Zayatz": found.zayatz,
            "negative binomial": found.negative_binomial,
        }
        told = ", ".join(f"{n} {v:,.0f}" for n, v in estimates.items() if v is not None)
        note = f"people who are unique in the population: {told}; taken: {found.choice}"
        return np.full(len(sample.rows), min(share, 1.0)), (note,)


@dataclass(frozen=True)
class LogLinearMatches(_InPopulation):
    """Skinner and Shlomo's expected correct matches."""

    called: ClassVar[str] = "population-log-linear"
    goal: ClassVar[str] = "a match of a row that is unique in the sample is right"

    def risk(self, sample: SampleCounts) -> tuple[Floats, tuple[str, ...]]:
        """Matches over all rows; sample uniques share them evenly."""
        rows = sample.rows.astype(np.float64)
        found = log_linear_risk(sample.codes, sample.rows, float(rows.sum() / sample.weight.sum()))
        alone = sample.rows == 1
        each = found.matches / max(int(alone.sum()), 1)
        return np.where(alone, each, 0.0), (
            f"{found.unique:,.2f} sample uniques are unique in the population, and "
            f"{found.matches:,.2f} matches are right",
        )


@dataclass(frozen=True)
class SpecialUniquesRisk(_InPopulation):
    """SUDA2's chances."""

    called: ClassVar[str] = "population-special-uniques"
    goal: ClassVar[str] = "a match of a row that few of its values tell apart is right (DIS)"

    def risk(self, sample: SampleCounts) -> tuple[Floats, tuple[str, ...]]:
        """DIS of each, and the contribution of each column."""
        found = special_uniques(sample.codes, sample.missing, sample.rows)
        shares = zip(sample.columns, found.by_column.tolist(), strict=True)
        told = ", ".join(f"{name!r} {share:.1f} %" for name, share in shares)
        rows = int(sample.rows[found.score > 0].sum())
        return found.chance, (f"{rows:,} rows are special uniques; contributions: {told}",)
