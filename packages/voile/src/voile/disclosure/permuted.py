"""A column whose values were permuted within the groups of a release.

Which rows make a group, and what decides it, is stated once for all such columns: by the
disclosure's ``groups``.  A row shows the value of some row of its group, all arrangements being
equally likely; ``shuffled`` says what that tells.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from voile.disclosure.exact import AsItReads

if TYPE_CHECKING:
    from voile.disclosure.original import ComparedColumn, OriginalSide

__all__ = ["Permuted"]


class Permuted(AsItReads):
    """Each row shows the value of some row of its group.

    ``evidence`` is that of the cell by itself, wherever in its group its owner stands.
    """

    kind: Literal["permuted"] = "permuted"
    within: Literal["file"] | None = None
    """"file": nobody says within which rows, or how many values stayed; None: within the groups
    that the disclosure states."""

    @property
    def permuted(self) -> bool:
        """They do."""
        return True

    def against(self, name: str, compare: OriginalSide) -> ComparedColumn | None:
        """Whether the original holds the values, and holds them in other rows."""
        return compare.permuted(name)

    @property
    def set_refusal(self) -> str:
        """A cell is a value of the table, of another row."""
        return "values are permuted within groups, which shows in no single cell"

    @property
    def size_refusal(self) -> str | None:
        """Groups that nobody states have no size."""
        if self.within is None:
            return None
        return "values were swapped between rows, and nobody says within which"

    @property
    def size_basis(self) -> str:
        """Any value of the group may be the row's own."""
        return "the values that its groups hold"
