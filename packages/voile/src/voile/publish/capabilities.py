"""What a method can do, as one value that its class declares, and its card for people who choose.

Commands, plans and Studio ask a class this and nothing else; whatever depends on the parameters of
one release (its series, its budget) is asked of the publisher.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from voile.proposal.writing import MethodProposal

__all__ = ["Capabilities", "MethodCard", "Parameter"]


@dataclass(frozen=True)
class Parameter:
    """A parameter of a method that Studio asks for."""

    name: str
    label: str
    offered: tuple[str, ...]
    """Values to tick; others may be typed."""
    tried: tuple[str, ...]
    """Those that are ticked where nobody says others."""
    hint: str
    needed: bool = True


@dataclass(frozen=True)
class MethodCard:
    """One method in plain words: what it promises, what it costs, and when it is the wrong one."""

    name: str
    title: str
    promises: str
    costs: str
    not_when: str
    parameters: tuple[Parameter, ...]


@dataclass(frozen=True, kw_only=True)
class Capabilities:
    """What a method can do; what is left out says the least."""

    persons: bool = False
    """Whether what is promised is promised of persons or households with several rows.

    A plan that names them is refused otherwise."""
    trips: bool = False
    """Whether what is published are the reports of trips."""
    any_rows: bool = False
    """Whether nothing about rows is refused, so that a table is read and not bound to its plan."""
    exact_quasi_identifiers: bool = False
    """Whether quasi-identifiers are published exactly, and must tell nobody by themselves."""
    exact_kept: bool = False
    """Whether columns to keep are published row by row as they are, for rows of the table.

    A rehearsal then gives rows their numbers, by which right guesses are counted."""
    no_criteria: str = "it makes no groups of rows that share what they show"
    """Why criteria cannot be asked of it, where it has no such parameter; as the next two."""
    no_series: str = (
        "what its releases tell together is bounded by the budget of their data set, with [budget]"
    )
    no_rows_per_person: str = (
        "it is not differentially private: where it counts persons, all their rows take part"
    )
    proposal: MethodProposal | None = None
    """What ``voile plan`` proposes of the method; None: it proposes another."""
    card: MethodCard | None = None
    """What Studio says of the method; None: it does not offer it."""

    def reason_without(self, parameter: str) -> str:
        """Why the method has no criteria, series or rows_per_person, as a clause."""
        reasons: Mapping[str, str] = {
            "criteria": self.no_criteria,
            "series": self.no_series,
            "rows_per_person": self.no_rows_per_person,
        }
        return reasons[parameter]
