"""What a policy may ask of a release and its evidence: what each kind of criterion offers.

Voile's kinds stand in modules with how their figures are found: of groups of rows that look alike
(``groups``), of identifiers (``identifiers``), of what was measured, stated or asked
(``measured``), and of the risks of an audit (``risks``).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from voile.policy.case import Case
from voile.policy.ruling import Ruling, Tick
from voile_base.values.value import Exact, Value

__all__ = ["PolicyCriterion", "Share"]

Share = Annotated[Exact, Field(ge=0, le=1)]


class PolicyCriterion(Value):
    """Something that a policy asks; its fields are its limits."""

    kind: str

    @abstractmethod
    def rulings(self, case: Case, ticks: tuple[Tick, ...]) -> Iterator[Ruling]:
        """What is found, at least one ruling; ``ticks`` are what humans have made sure of."""

    @property
    def questions(self) -> tuple[str, ...]:
        """What it asks a human to make sure of."""
        return ()
