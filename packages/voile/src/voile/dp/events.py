"""What happened to a data set, apart from what it costs.

A publisher reports the events that drew on private rows; an accountant prices them.  An event is
a plain value that a ledger can keep for years.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from voile.schema.budget import Neighbours

__all__ = ["Neighbours", "PrivacyEvent"]


@dataclass(frozen=True)
class PrivacyEvent:
    """One use of private rows by a mechanism.

    It is (epsilon, delta)-differentially private, or, where ``rho`` is given, rho-zero-concentrated
    differentially private; then epsilon and delta are 0 and do not count.
    """

    mechanism: str
    """Name of the mechanism, such as "exponential" or "discrete-laplace"."""
    epsilon: Decimal
    """At least 0."""
    delta: Decimal = Decimal(0)
    """From 0 to 1, which promises nothing; rounded upwards where it was computed."""
    neighbours: Neighbours = "add-remove"
    rho: Fraction | None = None
    """Above 0, and exact."""

    @classmethod
    def concentrated(
        cls, mechanism: str, rho: Fraction, neighbours: Neighbours = "add-remove"
    ) -> PrivacyEvent:
        """An event with a price in rho."""
        return cls(mechanism, Decimal(0), neighbours=neighbours, rho=rho)

    def document(self) -> dict[str, Any]:
        """The event as JSON keeps it; numbers as texts, so that none is rounded."""
        document = {
            "mechanism": self.mechanism,
            "epsilon": format(self.epsilon, "f"),
            "delta": str(self.delta),
            "neighbours": self.neighbours,
        }
        return document if self.rho is None else document | {"rho": str(self.rho)}

    @classmethod
    def of_document(cls, document: Mapping[str, Any]) -> PrivacyEvent:
        """The event that a document states; raises ``KeyError`` or ``ValueError``."""
        return cls(
            mechanism=str(document["mechanism"]),
            epsilon=Decimal(document["epsilon"]),
            delta=Decimal(document["delta"]),
            neighbours=document["neighbours"],
            rho=Fraction(document["rho"]) if "rho" in document else None,
        )
