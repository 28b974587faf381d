"""What a plan may say in the table of a column: its kind, its format, and a hierarchy that fits.

Hierarchies are those of ``schema.hierarchy.suggestion``, from public facts alone; here the kind,
the public bounds and the public list that the column seems to have are handed to it.  What a plan
says already stands, and wins.
"""

from __future__ import annotations

from dataclasses import replace

from voile.proposal.columns import ColumnProposal
from voile.schema.hierarchy.suggestion import Suggestion, suggest
from voile.schema.plan import ColumnPlan

__all__ = ["suggestion_of"]


def suggestion_of(column: ColumnProposal, declared: ColumnPlan | None = None) -> Suggestion:
    """The table of a column, together with what a plan says of it already."""
    details = column.details
    said = declared or ColumnPlan()
    if said.kind is None and said.type is None:
        said = replace(said, kind=column.kind)
    if said.kind == "date" and said.format is None:
        said = replace(said, format=column.date_format)
    if said.kind == "number" and said.bounds is None:
        said = replace(said, bounds=column.bounds)
    if said.kind == "text":
        why = "free text cannot be a quasi-identifier: leave it out, or say what its values are"
        return Suggestion(column.name, None, why)
    return suggest(column.name, details.profile.type, details.digits, said, column.code_list)
