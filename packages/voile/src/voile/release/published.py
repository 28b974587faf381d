"""What a claim may look at: the rows of a release, and what it says of its columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from voile.disclosure.disclosure import Disclosure
from voile.table.published import PublishedTable

__all__ = ["PublicRelease"]


class PublicRelease(Protocol):
    """A release as everybody sees it."""

    @property
    def table(self) -> PublishedTable:
        """Its rows."""

    @property
    def measurements(self) -> PublishedTable | None:
        """Noisy tables that its rows were made from, if they were."""

    @property
    def disclosure(self) -> Disclosure:
        """How each column is shown."""

    @property
    def method(self) -> Mapping[str, Any]:
        """Name, parameters and decision of the method, as the release states them."""

    @property
    def roles(self) -> Mapping[str, tuple[str, ...]]:
        """Published columns by role."""
