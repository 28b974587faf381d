"""What a risk is: how often an adversary succeeds, beside those who were not in the data; private.

Source: Article 29 Data Protection Working Party, Opinion 05/2014 on anonymisation techniques
(WP216), section 3: "the possibility to isolate some or all records which identify an individual"
(``singling_out``), "to link at least two records concerning the same data subject", and "to deduce,
with significant probability, the value of an attribute from the values of a set of other
attributes" (linkability and inference: ``alike_rows``).

Each is how often an adversary succeeds against people of the original (``main``), how often the
same adversary succeeds against people who were not in the data (``control``: what the file tells
of everybody, which is its use), and how often somebody who has not seen the file does (``guess``).
What the file gives away of its own people is main beyond control: with rates m and c the excess
1 - (1 - m) / (1 - c), the share of what the control leaves open that the adversary finds.
Intervals have a confidence of 95 %.  They are about people: what the same adversary, who reads the
columns of the file as this audit does, finds of as many people who might have been drawn in place
of these.  How columns are read is found out from the original and varies with it, too; that is not
in them.  A risk is found where the intervals of main and control, or of main and guess without a
control, lie apart; for singling out those of the people at hand, of whom predicates are drawn: one
person whom a file shows is found, though another might have been there in place of that one.

Where successes depend on each other, as those of predicates that one person fits, or of people of a
small group, of whom the same rows tell, or where they are chances that vary less than successes,
the interval is that of as many independent ones as vary as much (Korn and Graubard, "Confidence
intervals for proportions with small expected number of positive counts estimated from survey data",
Survey Methodology 24, 1998).

The interval of the excess is that of a ratio of two rates of failure, recovered from theirs
(MOVER-R: Donner and Zou, Statistical Methods in Medical Research 21, 2012; Newcombe, ibid. 25,
2016), cut off at -1.  On the scale of logarithms (Zou and Donner, 2008) it breaks where a rate is
1: with both near 1 it held the truth in 5 to 65 of 100 draws.  Where the control's interval reaches
1, the control may leave nothing open: then nothing bounds the excess from below, and from above
only what the adversary misses.

Of several adversaries the one is named whose excess has the largest low end.  The excess that is
told is that of the best, whoever it is: from the named one's low end to the largest high end of
all, for one of whom little is known may be the best.  The intervals of all hold together
(Bonferroni): the low end is below the named one's excess, which is at most the best one's, which is
below its own high end.

Risks by their names, each imported when it is asked for.

Another package adds one by an entry point of the group ``voile.risks``: a class without parameters
that has what ``_RiskInquiry`` has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from math import inf, sqrt
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from voile.attack.protocol import Estimate
from voile.audit.beside import CONTROL, ORIGINAL, JointCodes
from voile.audit.drift import ComparedSides
from voile.study.record import ExcessDocument, RateDocument, RiskDocument
from voile_base.ondemand import dataclass
from voile_base.randomness import Randomness
from voile_base.registry import Registry

__all__ = [
    "CONTROL",
    "ORIGINAL",
    "RISKS",
    "FewFalsePositives",
    "Question",
    "Risk",
    "Setting",
    "effect_of_units",
    "risk_inquiries",
    "share_of",
]


_DIFFER = 0.05
"""How much more often people of another year may be found than those of the file."""


@dataclass(frozen=True)
class FewFalsePositives:
    """How many people are told who were in the data, where hardly anybody else is; private."""

    false_positives: float
    """The share of people of the control that may be told by mistake."""
    share: Estimate
    """Of people of the original who are told."""
    control: Estimate
    """Of people of the control who are."""
    at_most: float = -1.0
    """The largest high end of what any score finds beyond the control."""

    @classmethod
    def best(
        cls, scores: Mapping[str, tuple[NDArray[np.float64], NDArray[np.float64]]], rate: float
    ) -> FewFalsePositives:
        """How many of the original score higher than nearly all of the control, by the best score.

        All scores choose and all count; their intervals hold together (Bonferroni).
        """
        found = []
        for own, other in scores.values():
            limit = np.sort(other)[::-1][min(int(rate * len(other)), len(other) - 1)]
            share, control = (
                Estimate.of_total(float((side > limit).sum()), len(side), len(scores))
                for side in (own, other)
            )
            found.append(cls(rate, share, control))
        best = max(found, key=lambda one: (one.beyond.low, one.beyond.value))
        return replace(best, at_most=max(one.beyond.high for one in found))

    @classmethod
    def at_each(
        cls, scores: Mapping[str, tuple[NDArray[np.float64], NDArray[np.float64]]]
    ) -> tuple[FewFalsePositives, ...]:
        """The same at one in a hundred and one in a thousand false positives."""
        return tuple(cls.best(scores, rate) for rate in (0.01, 0.001))

    @property
    def beyond(self) -> Estimate:
        """The share of people who are told that the control does not explain."""
        own = _excess_over(self.share, self.control)
        return replace(own, high=max(own.high, self.at_most))

    def document(self) -> RateDocument:
        """The figures as a record holds them."""
        beyond = self.beyond
        return RateDocument(
            false_positives=self.false_positives,
            share=self.share.document(),  # type: ignore[typeddict-item]
            beyond=ExcessDocument(value=beyond.value, low=beyond.low, high=beyond.high),
        )


@dataclass(frozen=True)
class Risk:
    """How often one adversary succeeds, beside those who were not in the data; private."""

    name: str
    """One of the three, or one that another package counts."""
    of: str
    """What it was about: the kind of predicate, the two sets of columns, the wanted column."""
    goal: str
    """What counts as a success, as a clause."""
    targets: int
    main: Estimate
    control: Estimate | None
    """None: nobody is known who was not in the data."""
    guess: Estimate
    notes: tuple[str, ...] = ()
    persons: int | None = None
    """How many people of the original the control does not explain, as far as is sure; None where
    rates alone tell."""
    reversed: bool = False
    """Whether people of the control are found whom the original does not explain."""
    at_most: float = -1.0
    """The largest high end of the excess of any adversary that was tried."""
    rates: tuple[FewFalsePositives, ...] = ()
    """What is told at few false positives, where that was asked."""
    rows: tuple[int, ...] = ()
    """Rows of the original, from 0: of people most likely copied, as many as are told for sure, the
    likeliest first; of re-identification, of some who are found with ``worst``."""
    worst: float | None = None
    """The probability with which the worst-off target is found; None where rates alone tell."""
    at_hand: tuple[Estimate, Estimate] | None = None
    """Main and what it is held against, of these people; None where ``main`` tells of these."""

    @property
    def beside(self) -> Estimate:
        """What the main rate is held against."""
        return self.guess if self.control is None else self.control

    @property
    def excess(self) -> Estimate:
        """The share of what the control leaves open that the best adversary finds; at most 1."""
        own = _excess_over(self.main, self.beside)
        return replace(own, high=max(own.high, self.at_most))

    def document(self) -> RiskDocument:
        """The figures as a record holds them."""
        excess = self.excess
        document = RiskDocument(
            risk=self.name,
            of=self.of,
            goal=self.goal,
            targets=self.targets,
            main=self.main.document(),  # type: ignore[typeddict-item]
            control=None if self.control is None else self.control.document(),  # type: ignore[typeddict-item]
            guess=self.guess.document(),  # type: ignore[typeddict-item]
            excess=ExcessDocument(value=excess.value, low=excess.low, high=excess.high),
            found=self.found,
            notes=list(self.notes),
        )
        if self.persons is not None:
            document["persons"] = self.persons
        if self.rates:
            document["rates"] = [rate.document() for rate in self.rates]
        if self.worst is not None:
            document["worst"] = self.worst
        if self.rows:
            document["rows"] = list(self.rows)
        return document

    @property
    def found(self) -> bool:
        """Whether the file gives away more of its own people, beyond chance."""
        if self.persons is not None:
            return self.persons > 0
        main, beside = self.at_hand or (self.main, self.beside)
        return main.low > beside.high

    @property
    def finds_control(self) -> bool:
        """Whether people of the control are found more often, by more than populations differ."""
        apart = self.control is not None and self.control.low > self.main.high + _DIFFER
        return self.reversed or apart


@dataclass(frozen=True)
class Question:
    """What a risk is about."""

    name: str
    of: str
    goal: str

    def answered(
        self,
        won: Sequence[Mapping[str, NDArray[np.float64]]],
        guessed: Estimate | NDArray[np.float64],
        units: Sequence[Mapping[str, NDArray[np.int64]]] | None = None,
    ) -> Risk:
        """The rates of the best of several adversaries.

        ``won`` has the chance of success of each adversary, by name, for each target, first those
        of the original and then those of the control.  All targets choose and all count.  (Where
        one half chooses and the other counts, in turn, two adversaries may be mixed, and what the
        best of them finds lay in the interval in 85 of 100 simulations.)  ``guessed`` is the rate
        of guessing, or its successes.  ``units``: shaped as ``won``, numbers that targets share
        whose successes depend on each other; None: none do.
        """
        guess = guessed if isinstance(guessed, Estimate) else share_of(guessed)
        several = len(won[ORIGINAL])
        alike = units or [{} for _ in won]
        rates = {
            name: [
                share_of(each[name], several, effect_of_units(each[name], one.get(name)))
                for each, one in zip(won, alike, strict=True)
            ]
            for name in won[ORIGINAL]
        }
        excesses = {
            name: _excess_over(main, control[0] if control else guess)
            for name, (main, *control) in rates.items()
        }
        best = max(rates, key=lambda name: (excesses[name].low, excesses[name].value))
        main, *control = rates[best]
        return Risk(
            self.name,
            self.of,
            self.goal,
            len(won[ORIGINAL][best]),
            main,
            control[0] if control else None,
            guess,
            (f"the best of {several} adversaries: {best}",) if several > 1 else (),
            at_most=max(one.high for one in excesses.values()),
        )


def _excess_over(main: Estimate, beside: Estimate) -> Estimate:
    """The share of what one rate leaves open that another finds; cut off at -1."""
    if beside.low == 1:  # surely nothing
        return Estimate.exactly(0.0)
    missed, missed_low, missed_high = 1 - main.value, 1 - main.high, 1 - main.low
    left, left_low, left_high = 1 - beside.value, 1 - beside.high, 1 - beside.low
    product = missed * left
    few = missed_low * (2 * missed - missed_low)
    many = missed_high * (2 * missed - missed_high)
    narrow, wide = left_low * (2 * left - left_low), left_high * (2 * left - left_high)
    # The least ratio has its denominator made rational, for ``wide`` may be 0 or less.
    root = product + sqrt(max(product**2 - few * wide, 0.0))
    least = few / root if root > 0 else 0.0
    most = inf
    if narrow > 0:
        most = (product + sqrt(max(product**2 - many * narrow, 0.0))) / narrow
    ratio = missed / left if left > 0 else (2.0 if missed > 0 else 1.0)
    value = max(1 - ratio, -1.0)
    return Estimate(value, max(1 - most, -1.0), max(1 - least, value))


def share_of(
    success: NDArray[np.float64], together: int = 1, effect: float | None = None
) -> Estimate:
    """How often each of some targets was found, as a rate; ``together`` as in ``Estimate``.

    ``effect``: the variance of the rate, of that of as many independent successes (the design
    effect); None: of independent chances.
    """
    if effect is None:
        effect = _effect_of_chances(success)
    return Estimate.of_total(float(success.sum()) / effect, len(success) / effect, together)


def effect_of_units(success: NDArray[np.float64], unit: NDArray[np.int64] | None) -> float | None:
    """How much more a rate varies where targets of one unit depend on each other; at least 1.

    Whole units are drawn: the variance between their sums (linearization), as though one unit of
    one success more had been seen.  None without units.
    """
    mean = float(success.mean()) if len(success) else 0.0
    if unit is None:
        return None
    if not 0 < mean < 1:
        return 1.0
    sums = np.bincount(unit, success - mean)
    alone = len(success) * mean * (1 - mean) + (1 - mean) ** 2
    return max(1.0, float((sums**2).sum() + (1 - mean) ** 2) / alone)


def _effect_of_chances(chances: NDArray[np.float64]) -> float:
    """How much less chances between 0 and 1 vary than successes of the same mean; at most 1.

    As though one success more had been seen, for the largest chances are rare.
    """
    mean = float(chances.mean()) if len(chances) else 0.0
    if not 0 < mean < 1:
        return 1.0
    varies = float(((chances - mean) ** 2).sum()) + (1 - mean) ** 2
    return min(1.0, varies / (len(chances) * mean * (1 - mean)))


@dataclass(frozen=True, eq=False)
class Setting:
    """What somebody who counts a risk has; private."""

    beside: JointCodes
    """The file, and the people of the original and of the control, as codes."""
    sensitive: tuple[str, ...]
    """Columns that nobody may learn, as far as the file shows them."""
    first: tuple[str, ...] | None
    """Columns that one of two people holds who link; None: nobody has said."""
    targets: int
    randomness: Randomness
    progress: Callable[[str], None] = lambda stage: None
    known: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Sets of columns that somebody outside may know of a person, by who that is."""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that the file shows."""
        return tuple(column.name for column in self.beside.columns)

    @cached_property
    def compared(self) -> ComparedSides:
        """The original beside the control, where there is one."""
        return ComparedSides(self.beside)


class _RiskInquiry(Protocol):
    """How a risk is counted; an immutable object."""

    @property
    def name(self) -> str:
        """What the risk is called in records and policies."""

    def refusal(self, setting: Setting) -> str | None:
        """Why the risk makes no sense for a file, as a clause; None where it does."""

    def risks(self, setting: Setting) -> Iterator[Risk]:
        """The figures of the risk, at least one; raises ``InputError`` for what cannot be asked."""


RISKS: Registry[_RiskInquiry] = Registry(
    group="voile.risks",
    what="a risk",
    own={
        "singling-out": "voile.audit.singling_out:SinglingOut",
        "linkability": "voile.audit.alike_rows:Linkability",
        "inference": "voile.audit.alike_rows:InferenceRisk",
        "copying": "voile.audit.copying:Copying",
        "group disclosure": "voile.audit.scenarios:GroupDisclosure",
        "re-identification": "voile.audit.scenarios:ReIdentification",
    },
    offers=("name", "refusal", "risks"),
)
"""Those of WP216 first, then those of the worst-off, then those of other packages."""


def risk_inquiries() -> tuple[_RiskInquiry, ...]:
    """All risks."""
    return tuple(RISKS.make(name, {}) for name in RISKS.names)
