"""What no machine can see: assumptions of the promise, and what a policy asks of a human."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from voile.policy.assumptions import Tick, ticked
from voile.policy.case import Case
from voile.policy.criteria.base import PolicyCriterion
from voile.policy.ruling import Ruling

__all__ = ["Assumptions", "QuestionCriterion", "asked"]


class Assumptions(PolicyCriterion):
    """Each assumption of the promise is ticked by somebody who has made sure of it."""

    kind: Literal["assumptions"] = "assumptions"

    def rulings(self, case: Case, ticks: tuple[Tick, ...]) -> Iterator[Ruling]:
        """One for each assumption; one that there is none."""
        said = case.release.guarantee.assumes if case.release else ()
        for assumption in said:
            yield asked(self.kind, assumption, ticks)
        if not said:
            why = "nothing is promised, so that nothing is assumed"
            why = "the promise assumes nothing" if case.release else why
            asks = "each assumption of the promise is ticked"
            yield Ruling(self.kind, asks, passed=True, why=why, of_original=False)


class QuestionCriterion(PolicyCriterion):
    """A human has made sure of this."""

    kind: Literal["question"] = "question"
    says: Annotated[str, Field(min_length=1)]
    """A statement that must be true."""

    @property
    def questions(self) -> tuple[str, ...]:
        """The statement."""
        return (self.says,)

    def rulings(self, case: Case, ticks: tuple[Tick, ...]) -> Iterator[Ruling]:
        """One."""
        del case
        yield asked(self.kind, self.says, ticks)


def asked(kind: str, says: str, ticks: tuple[Tick, ...]) -> Ruling:
    """Whether a human has made sure of a statement."""
    by = ticked(says, ticks)
    why = f"ticked by the {by}" if by else "nobody has ticked it"
    return Ruling(kind, says, passed=by is not None, why=why, of_original=False)
