"""What a risk is: how often an adversary succeeds, beside those who were not in the data; private.

Source: Article 29 Data Protection Working Party, Opinion 05/2014 on anonymisation techniques
(WP216), section 3: "the possibility to isolate some or all records which identify an individual"
(``singling_out``), "to link at least two records concerning the same data subject"
(``linkability``), "to deduce, with significant probability, the value of an attribute from the
values of a set of other attributes" (``inference``).

Each is how often an adversary succeeds against people of the original (``main``), how often the
same adversary succeeds against people who were not in the data (``control``: what the file tells
of everybody, which is its use), and how often somebody who has not seen the file does (``guess``).
What the file gives away of its own people is main beyond control.  Intervals have a confidence of
95 %; a risk is found where those of main and control, or of main and guess without a control, lie
apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voile.attack.protocol import Estimate
from voile.study.record import RiskDocument

__all__ = ["CONTROL", "ORIGINAL", "Question", "Risk", "share_of"]

ORIGINAL, CONTROL = 0, 1
"""The groups of people in a ``Beside``."""
_DIFFER = 0.05
"""How much more often people of another year may be found than those of the file."""


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

    @property
    def beside(self) -> Estimate:
        """What the main rate is held against."""
        return self.guess if self.control is None else self.control

    @property
    def excess(self) -> float:
        """The share of what the control leaves open that the adversary finds; at most 1."""
        other = self.beside.value
        return 0.0 if other >= 1 else (self.main.value - other) / (1 - other)

    def document(self) -> RiskDocument:
        """The figures as a record holds them."""
        document = RiskDocument(
            risk=self.name,
            of=self.of,
            goal=self.goal,
            targets=self.targets,
            main=self.main.document(),  # type: ignore[typeddict-item]
            control=None if self.control is None else self.control.document(),  # type: ignore[typeddict-item]
            guess=self.guess.document(),  # type: ignore[typeddict-item]
            excess=self.excess,
            found=self.found,
            notes=list(self.notes),
        )
        if self.persons is not None:
            document["persons"] = self.persons
        return document

    @property
    def found(self) -> bool:
        """Whether the file gives away more of its own people, beyond chance."""
        if self.persons is not None:
            return self.persons > 0
        return self.main.low > self.beside.high

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
    ) -> Risk:
        """The rates of the best of several adversaries.

        ``won`` has the chance of success of each adversary, by name, for each target, first those
        of the original and then those of the control.  The best is who finds most beyond the
        control.  All targets choose and all count: the intervals hold for all adversaries at once,
        and so for the one that is named, and for what the best of them finds.  (Where one half
        chooses and the other counts, in turn, two adversaries may be mixed, and what the best of
        them finds lay in the interval in 85 of 100 simulations.)  ``guessed`` is the rate of
        guessing, or its successes.
        """
        best, several = _best_of(won), len(won[ORIGINAL])
        rates = [share_of(each[best], several) for each in won]
        return Risk(
            self.name,
            self.of,
            self.goal,
            len(won[ORIGINAL][best]),
            rates[ORIGINAL],
            rates[CONTROL] if len(rates) > 1 else None,
            guessed if isinstance(guessed, Estimate) else share_of(guessed),
            (f"the best of {several} adversaries: {best}",) if several > 1 else (),
        )


def _best_of(won: Sequence[Mapping[str, NDArray[np.float64]]]) -> str:
    """The adversary who finds most beyond the control."""
    rates = {name: [float(each[name].mean()) for each in won] for name in won[ORIGINAL]}
    return max(rates, key=lambda name: rates[name][ORIGINAL] - sum(rates[name][CONTROL:]))


def share_of(success: NDArray[np.float64], together: int = 1) -> Estimate:
    """How often each of some targets was found, as a rate; ``together`` as in ``Estimate``."""
    return Estimate.of_total(float(success.sum()), len(success), together)
