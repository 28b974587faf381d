"""A column of numbers in place of identifiers."""

from __future__ import annotations

from typing import Literal

from voile.disclosure.exact import AsItReads

__all__ = ["Numbered"]


class Numbered(AsItReads):
    """Equal identifiers show equal numbers, which tell nothing else about them."""

    kind: Literal["numbered"] = "numbered"

    @property
    def weighed(self) -> bool:
        """A number tells nothing of the identifier."""
        return False
