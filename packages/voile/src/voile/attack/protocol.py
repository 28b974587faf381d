"""What every adversary offers, whatever he is after, and what he can be told.

An attack is an immutable dataclass; its fields state the background knowledge of the adversary, and
are validated at construction.  It takes a release, and the private original to draw its targets
from and to judge its guesses by, and ends in an ``AttackOutcome``.

A field may say in its metadata how a command asks for it (``asked``).  Most attacks on people are
made of an aim and a guess: see ``adversary``.

What adversaries are supposed to know: the fields that several attacks share, checked alike.

What an attack on people came to: plain values, private, because they tell of real rows.

Every attack that succeeds or fails for each person it is aimed at ends in one ``AttackOutcome``, so
that attacks and releases can be put side by side.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from statistics import stdev
from typing import Any, ClassVar, Literal, Self

from scipy import special

from voile.attack.asking import asks
from voile.attack.worlds import GroupChoice
from voile.disclosure.counted import Synthetic
from voile.release.release import Release
from voile.schema.persons import targets_told
from voile.schema.plan import Plan
from voile.schema.roles import Protected
from voile_base.errors import InputError
from voile_base.ondemand import dataclass
from voile_base.randomness import Randomness
from voile_base.values import Document, Json

__all__ = [
    "ARRIVED",
    "COLUMNS",
    "LINK",
    "TARGETS",
    "WITHIN",
    "Attack",
    "AttackOutcome",
    "Estimate",
    "Knowledge",
    "KnownRows",
    "Target",
    "check_names",
    "check_targets",
    "checked_columns",
    "nobody_known",
    "require_sense",
]


COLUMNS = asks("--columns")
LINK = asks("--link")
WITHIN = asks("--within")
TARGETS = asks("--targets")


def check_targets(targets: int | None) -> None:
    """Raise ``InputError`` unless an attack is aimed at somebody; None is everybody."""
    if targets is not None and targets < 1:
        msg = "the number of targets must be at least 1"
        raise InputError(msg)


def checked_columns(
    columns: Sequence[str] | None, link: str | None = None
) -> tuple[str, ...] | None:
    """The known columns, each once; raises ``InputError`` where the link is among them."""
    if columns is None:
        return None
    if link in columns:
        msg = f"column {link!r} is the link, which the adversary must not know"
        raise InputError(msg)
    return tuple(dict.fromkeys(columns))


def check_names(names: Sequence[str] | None, earlier: Sequence[Release]) -> None:
    """Raise ``InputError`` unless there is a name for each release, where there are names."""
    if names is not None and len(names) != 1 + len(earlier):
        msg = f"give {1 + len(earlier)} names: of the newest release and of all earlier"
        raise InputError(msg)


def nobody_known(release: Release, columns: Sequence[str] | None) -> str | None:
    """Why nobody can be known in a release, as a clause; None where somebody can."""
    if any(isinstance(one, Synthetic) for one in release.disclosure.columns.values()):
        return "its rows are made up, so that none of them is anybody's"
    if columns is None and not any(
        release.roles.get(role) for role in ("quasi_identifiers", "ranking")
    ):
        return "the release has no quasi-identifier by which people could be known"
    return None


def require_sense(name: str, refusal: str | None) -> None:
    """Raise ``InputError`` where an attack is refused."""
    if refusal is not None:
        msg = f"the attack {name!r} makes no sense here: {refusal}"
        raise InputError(msg)


KnownRows = Literal["one", "all"]
"""How many rows of a target an adversary knows."""
_CONFIDENCE_BELOW = 0.975
"""How sure an upper bound is: intervals hold with a confidence of 95 %."""


@dataclass(frozen=True)
class Estimate:
    """A mean, of numbers in 0 to 1 unless said otherwise, and an interval of confidence 95 %."""

    value: float
    low: float
    high: float

    @classmethod
    def of_total(cls, total: float, count: float, together: int = 1) -> Self:
        """The mean of ``count`` numbers between 0 and 1 that add up to ``total``.

        The exact interval of a share (Clopper and Pearson, "The use of confidence or fiducial
        limits illustrated in the case of the binomial", Biometrika 26, 1934), its beta
        distributions taken at whatever total: numbers between 0 and 1 with a given mean vary most
        where all are 0 or 1, so it is on the safe side for all others.  Wilson's, which is up to a
        tenth narrower, holds a share near 0 or 1 in 84 of 100 draws.  Without any numbers nothing
        is known: 0, between 0 and 1.  So many intervals as ``together`` hold all at once
        (Bonferroni).
        """
        if count == 0:
            return cls(0.0, 0.0, 1.0)
        won = min(max(total, 0.0), float(count))
        beyond, lost = (1 - _CONFIDENCE_BELOW) / together, count - won
        low = float(special.betaincinv(won, lost + 1, beyond)) if won > 0 else 0.0
        high = float(special.betaincinv(won + 1, lost, 1 - beyond)) if lost > 0 else 1.0
        # The interval holds the mean; only totals below 1 or rounding can say otherwise.
        mean = won / count
        return cls(mean, min(low, mean), max(high, mean))

    @classmethod
    def exactly(cls, value: float) -> Self:
        """A figure that was counted on all there is."""
        return cls(value, value, value)

    @property
    def is_exact(self) -> bool:
        """Whether there is no interval."""
        return self.low == self.high

    @classmethod
    def of_units(cls, values: Sequence[float], most: float = math.inf) -> Self:
        """The mean over units, such as trips, whose own means lie between 0 and ``most``.

        By Student's distribution over units, for what is measured within one unit is not
        independent.  One unit alone tells nothing of the others: between 0 and ``most``.
        """
        mean = math.fsum(values) / len(values)
        if len(values) == 1:
            return cls(mean, 0.0, most)
        quantile = float(special.stdtrit(len(values) - 1, _CONFIDENCE_BELOW))
        reach = quantile * stdev(values) / math.sqrt(len(values))
        return cls(mean, max(0.0, mean - reach), min(most, mean + reach))

    def document(self) -> dict[str, float | None]:
        """The estimate for JSON, which has no infinity."""
        high = self.high if math.isfinite(self.high) else None
        return {"value": self.value, "low": self.low, "high": high}


@dataclass(frozen=True)
class Target:
    """A person at whom an attack was aimed; private."""

    known: Document
    """What the adversary knew."""
    probability: float
    """What the attack gives to the truth or, where that is not known, to its best guess."""

    def document(self) -> Json:
        """The target for JSON."""
        return {
            "known": {name: _plain(value) for name, value in self.known.items()},
            "probability": self.probability,
        }


@dataclass(frozen=True)
class AttackOutcome:
    """How often an attack succeeds, beside how often guessing does; private.

    Where ``checked``, successes were counted, because the truth could be told.  Elsewhere rates are
    what the adversary himself believes, and are as good as what he assumes.
    """

    attack: str
    """Name of the attack."""
    goal: str
    """What counts as a success, as a clause: "the best guess is the target's own row"."""
    targets: int
    """How many people it was aimed at."""
    checked: bool
    success: Estimate
    """Share of the targets for whom it succeeds; of equally good guesses one is taken at random."""
    probability: Estimate
    """Mean probability that the adversary gives to the truth."""
    baseline: float
    """The success of guessing without looking at the release."""
    worst: Target | None
    """The target with the largest probability."""
    typical: Target | None
    """The target with the median probability."""
    assumptions: tuple[str, ...]
    """What the adversary knows and supposes."""
    notes: tuple[str, ...] = ()
    """What was found on the way."""
    untried: tuple[str, ...] = ()
    """Adversaries whom it leaves out though they may learn more, as clauses."""
    aimed_at: Protected = "row"
    """What a target is: a row, a person or a household."""
    drawn_from: int | None = None
    """Of how many the targets were drawn; as many as there are where it was aimed at all of them,
    None where that is not known."""
    known_rows: KnownRows = "one"
    """Whether he knows one row of a target, or all of them where a person has several."""
    exact: bool = False
    """Whether ``success`` was counted in closed form on all there are, and is no estimate."""
    bounded: bool = True
    """Whether no adversary of the kind succeeds more often, as far as is known; False: who reads
    missing cells of the release otherwise may."""
    upper_bound: bool = False
    """Whether success and probabilities are bounds, which no adversary of the kind may reach."""

    @property
    def told_targets(self) -> str:
        """At whom it was aimed, in words: "1,000 drawn of 71,518 persons"."""
        return targets_told(self.targets, self.drawn_from, self.aimed_at)

    @property
    def advantage(self) -> float:
        """How many times as often as guessing the attack succeeds; 1 where neither ever does."""
        if not self.baseline:
            return math.inf if self.success.value else 1.0
        return self.success.value / self.baseline

    @property
    def gain(self) -> float:
        """What it finds of what guessing leaves open; 0 where guessing leaves nothing."""
        if self.baseline >= 1:
            return 0.0
        return (self.success.value - self.baseline) / (1 - self.baseline)

    def document(self) -> Json:
        """All fields for JSON, and what follows; see ``study.record.AttackDocument``."""
        held = {one.name: _document(getattr(self, one.name)) for one in fields(self)}
        return held | {"advantage": self.advantage if math.isfinite(self.advantage) else None}


def _document(value: object) -> Any:
    match value:
        case Estimate() | Target():
            return value.document()
        case tuple():
            return list(value)
    return value


def _plain(value: object) -> Any:
    return value if isinstance(value, str | int | float | bool | None) else str(value)


ARRIVED = "\1arrived"
"""No file has a column of this name."""


@dataclass(frozen=True, eq=False)
class Knowledge:
    """What whoever runs attacks can tell any adversary; None is left as the attack has it.

    An attack has a use for what it has a field of the same name and meaning for.
    """

    targets: int | None = None
    """At how many people the attack is aimed."""
    columns: Sequence[str] | None = None
    """Columns of the original that the adversary knows of people."""
    link: str | None = None
    """A column of the release and the original that tells rows apart, by which right guesses are
    counted; the adversary has it not."""
    register: Any = None
    """A data frame of everybody in the population, with the columns that are known of people."""
    absent: Any = None
    """A data frame of people of the same origin who are not in the table."""
    earlier: Sequence[Release] | None = None
    """Earlier releases of the same table, the newest first."""
    arrivals: Any = None
    """A data frame of what people publish, and in the column ``ARRIVED`` the number of the release
    of a series before which each of them arrived, from 1."""
    choice_of: Callable[[Any], GroupChoice] | None = None
    """What gives the groups that Voile chooses for a table, a data frame; see ``worlds``."""


class Attack(ABC):
    """An adversary with stated background knowledge; a frozen dataclass."""

    needs_absent: ClassVar[bool] = False
    """Whether he must know people who are not in the table: a study holds some out for him."""
    counts_by_link: ClassVar[bool] = False
    """Whether a ``link`` turns what he believes into what can be counted."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name by which a command or a study asks for the attack."""

    @abstractmethod
    def refusal(self, release: Release, plan: Plan | None = None) -> str | None:
        """Why the attack makes no sense for a release, as a clause; None where it does."""

    @abstractmethod
    def run(
        self,
        release: Release,
        original: Any,
        plan: Plan | None = None,
        randomness: Randomness | None = None,
    ) -> AttackOutcome:
        """Attack a release of a table, given as a data frame of any kind; private.

        ``plan`` is that of the original: texts for missing values, hierarchies and bounds, which
        are public.  ``randomness`` draws the targets; without it they differ from run to run.
        Raises ``InputError``, ``TableError`` or ``PlanError`` where the release, the original and
        the plan disagree, or where the attack makes no sense.
        """

    def told(self, knowledge: Knowledge) -> Self:
        """The same adversary, who also knows this as far as he has a use for it.

        Raises ``InputError`` as his own validation does.
        """
        own = {field.name for field in fields(self) if field.init}  # type: ignore[arg-type]
        said = {field.name: getattr(knowledge, field.name) for field in fields(Knowledge)}
        used = {name: it for name, it in said.items() if it is not None and name in own}
        return replace(self, **used) if used else self  # type: ignore[type-var]
