"""Risks by their names, each imported when it is asked for.

Another package adds one by an entry point of the group ``voile.risks``: a class without parameters
that has what ``RiskInquiry`` has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from voile.audit.beside import JointCodes
from voile.audit.risk import Risk
from voile_base.randomness import Randomness
from voile_base.registry import Registry

__all__ = ["RISKS", "RiskInquiry", "Setting", "risk_inquiries"]


@dataclass(frozen=True, eq=False)
class Setting:
    """What somebody who counts a risk has; private."""

    beside: JointCodes
    """The file, and the people of the original and of the control, as codes."""
    sensitive: tuple[str, ...]
    """Columns that nobody may learn, as far as the file shows them."""
    first: tuple[str, ...] | None
    """Columns that one of two people holds who link; None: nobody has said."""
    targets: int
    randomness: Randomness
    progress: Callable[[str], None] = lambda stage: None

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that the file shows."""
        return tuple(column.name for column in self.beside.columns)


class RiskInquiry(Protocol):
    """How a risk is counted; an immutable object."""

    @property
    def name(self) -> str:
        """What the risk is called in records and policies."""

    def refusal(self, setting: Setting) -> str | None:
        """Why the risk makes no sense for a file, as a clause; None where it does."""

    def risks(self, setting: Setting) -> Iterator[Risk]:
        """The figures of the risk, at least one; raises ``InputError`` for what cannot be asked."""


RISKS: Registry[RiskInquiry] = Registry(
    group="voile.risks",
    what="a risk",
    own={
        "singling-out": "voile.audit.singling_out:SinglingOut",
        "linkability": "voile.audit.linkability:Linkability",
        "inference": "voile.audit.inference:InferenceRisk",
        "copying": "voile.audit.copying:Copying",
    },
    offers=("name", "refusal", "risks"),
)
"""Those of WP216 first, then copying, then those of other packages."""


def risk_inquiries() -> tuple[RiskInquiry, ...]:
    """All risks."""
    return tuple(RISKS.make(name, {}) for name in RISKS.names)
