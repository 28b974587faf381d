"""A column of a file of another make in which rows are of nobody: swapped, recoded or synthetic.

Each cell reads like a value of the table.  Beside the other cells of its row it is the value of
nobody, in a share of the rows, and nobody says how that came about.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from voile.disclosure.exact import AsItReads

__all__ = ["Altered"]

_MOSTLY = 0.5
"""The share of rows of nobody above which a row is taken for nobody's."""


class Altered(AsItReads):
    """Some rows show values together that no row of the table has."""

    kind: Literal["altered"] = "altered"
    share: Annotated[float, Field(gt=0, le=1)]
    """Of the rows, at least, that are of nobody."""

    @property
    def made_up(self) -> float:
        """As in a synthetic file."""
        return self.share if self.share > _MOSTLY else 0.0

    @property
    def set_refusal(self) -> str:
        """A cell need not be of the person whose row it seems to be."""
        return (
            f"at least {self.share:.1%} of the rows show a combination of values that no row of "
            "the original has; how cells were altered is unknown"
        )

    @property
    def size_refusal(self) -> str:
        """As above."""
        return self.set_refusal
