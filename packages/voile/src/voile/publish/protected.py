"""What guarantees say of those who are protected: rows, persons of several rows, households."""

from __future__ import annotations

from typing import Literal

from voile.schema.roles import Protected

__all__ = ["assumed_of_units", "known_rows", "stated_unit"]


def stated_unit(protected: Protected) -> Literal["person", "household"] | None:
    """Who is counted as a claim states it; None where each row is another person."""
    return None if protected == "row" else protected


def assumed_of_units(protected: Protected) -> str:
    """What must be true of the rows for a promise about persons."""
    if protected == "row":
        return "each person is one row"
    apart = f"the plan's column of {protected}s tells them apart: all rows of a {protected} name it"
    if protected == "household":
        return f"{apart}, and a household holds all rows of its persons"
    return apart


def known_rows(protected: Protected) -> str:
    """Against whom counts of persons hold, and against whom they do not."""
    return (
        f"who knows a {protected} knows the quasi-identifiers of one of its rows: somebody who "
        f"knows several can intersect their groups on what stays the same for the {protected}, and "
        "nothing is promised of what that leaves"
    )
