"""What is proposed for one column, and the proposals that more than one rule makes.

A proposal keeps what was looked at, so that rules of the whole table (``whole``) can hold columns
against each other, and texts of plans (``writing``) say why.
"""

from __future__ import annotations

from decimal import Decimal

from voile.recognisers.recognition import Recognition
from voile.recognisers.values import share_of
from voile.schema.hierarchy.forms import system_of
from voile.schema.hierarchy.taxonomy import CodeList
from voile.schema.names import Kind, Role, meaning_of, words_of, words_told
from voile.schema.persons import ALONE
from voile.table.summaries import ColumnDetails
from voile_base.ondemand import dataclass

__all__ = [
    "LABELS",
    "PERSONS",
    "SHARED_BY_PEOPLE",
    "ColumnProposal",
    "is_fine",
    "of_recognition",
    "unclear",
]

SHARED_BY_PEOPLE = frozenset({"person-name", "address", "web-address", "picture"})
"""Recognisers of what several persons share: that it repeats does not tell whose rows they are."""
PERSONS = "names of persons"
LABELS = "whole numbers that repeat, and of a range in which measures would not: labels of rows"
"""Why a column that nobody named tells persons or things apart."""
_POSTCODES = "whole postcodes, of which the district is the finest that is published"
_HEAVIEST, _FINEST = 500, 2  # what a body weighs, and its decimals, at most


@dataclass(frozen=True)
class ColumnProposal:
    """What is proposed for one column."""

    details: ColumnDetails
    role: Role
    kind: Kind
    why: str
    """Of the role, a clause without values."""
    bounds: tuple[Decimal, Decimal] | None = None
    """Public ones, within which all values lie."""
    date_format: str | None = None
    code_list: CodeList | None = None
    question: str | None = None
    """What could not be told."""
    guessed: bool = False
    """Whether neither name nor values said what the column is, or no more than "type"."""
    recognition: Recognition | None = None
    """What the recognisers know of it."""
    form: tuple[str, str] | None = None
    """The key of a hierarchy by the form of its texts and what stands there: a system of postcodes,
    of which the first parts alone are published, or where the year of a day stands."""

    @property
    def name(self) -> str:
        """Name of the column."""
        return self.details.profile.name

    @property
    def is_position(self) -> bool:
        """Whether it tells a place."""
        return self.recognition is not None and self.recognition.group == "position"

    @property
    def weighs_rows(self) -> bool:
        """Whether it holds weights of a survey, by its name; one word for them is one of bodies."""
        held, meant = self.details, meaning_of("survey weight")
        least, most = held.extremes or (0, 0)
        if meant is None or not self.why.startswith(meant.reason) or held.profile.missing:
            return False
        told = set(words_of(self.name)) - set(words_told("weight"))
        return least > 0 and bool(told or least < 1 or most > _HEAVIEST or is_fine(held))

    @property
    def is_withheld(self) -> bool:
        """Whether it is left out until a question is answered."""
        return self.role == "drop" and self.question is not None

    @property
    def several_rows(self) -> bool:
        """Whether a value stands in several rows, of others than blanks."""
        return self.details.profile.distinct - self.details.profile.once > self.details.has_blanks


def unclear(details: ColumnDetails, kind: Kind, may_be: str) -> ColumnProposal:
    """A column that is left out, until it has a role, for what its values may be."""
    why = f"not understood, and its values may be {may_be}"
    asked = f"does it hold {may_be}? If its values are names of groups, give it a role"
    return ColumnProposal(details, "drop", kind, why, question=asked, guessed=True)


def of_recognition(details: ColumnDetails, found: Recognition) -> ColumnProposal:
    """What is proposed for a column that the recognisers know."""
    kind: Kind = "number" if details.profile.type == "decimal" else "code"
    if found.by == "within" and found.group == "identifier":
        return ColumnProposal(details, "drop", "text", found.reason, recognition=found)
    if found.group == "identifier":
        kind = "text" if found.key in SHARED_BY_PEOPLE else "code"
        return ColumnProposal(details, "identifier", kind, found.reason, recognition=found)
    if found.key == "full-postcode" and (system := system_of(details.sample)):
        return ColumnProposal(
            details, "quasi", "geography", _POSTCODES, recognition=found, form=("postcode", system)
        )
    if found.key == "full-postcode":
        question = "may its first part be published? Then give it a role and prefix, such as [4, 3]"
    elif found.group == "position":
        question = "it tells where somebody was: leave it out, or use a method that moves positions"
    else:
        question = "it follows from the positions beside it, and gives them away: leave it out?"
    return ColumnProposal(details, "drop", kind, found.reason, question=question, recognition=found)


def is_fine(details: ColumnDetails) -> bool:
    """Whether values have more decimals than what a body weighs has."""
    return share_of(details.sample, lambda text: len(text.partition(".")[2]) > _FINEST) > ALONE / 2
