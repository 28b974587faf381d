"""What an audit is of: its inputs by their contents, and draws that follow from them.

Draws of targets decide figures within their intervals.  Who runs an audit until it pleases chooses
among them; so without a seed they follow from the contents of the files, and the same files give
the same figures on every machine and at every time.  That does not tell who chose among versions of
a file: an audit of all targets draws none, and leaves nothing to choose.

Cost: one pass over the bytes of the inputs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from voile.audit.record import RunDocument
from voile.study.original import fingerprint
from voile_base.errors import InputError
from voile_base.randomness import Randomness

__all__ = ["Inquiry", "draws_of", "run_of"]


@dataclass(frozen=True)
class Inquiry:
    """What is asked in an audit.

    Raises ``InputError`` unless there is a target.
    """

    targets: int = 1000
    attacks: tuple[str, ...] | None = None
    """Names of the attacks to run; None: all of them."""
    first: tuple[str, ...] | None = None
    """Columns that one of two people holds, in linkability, the other holding the rest; None: the
    first half of the columns that are shown."""

    def __post_init__(self) -> None:
        if self.targets < 1:
            msg = "the number of targets must be at least 1"
            raise InputError(msg)


def run_of(places: Mapping[str, Path], inquiry: Inquiry, seed: int | None) -> RunDocument:
    """What an audit is run on; raises ``TableError`` where a file cannot be read."""
    return RunDocument(
        inputs={side: fingerprint(place, named=False) for side, place in places.items()},
        places={side: str(place.absolute()) for side, place in places.items()},
        targets=inquiry.targets,
        attacks=None if inquiry.attacks is None else list(inquiry.attacks),
        first=None if inquiry.first is None else list(inquiry.first),
        seed=seed,
    )


def draws_of(run: RunDocument) -> Randomness:
    """The draws of an audit: those of its seed, or those that follow from its inputs."""
    if run["seed"] is not None:
        return Randomness.seeded(run["seed"])
    facts = (fact for side in sorted(run["inputs"]) for fact in (side, run["inputs"][side]))
    return Randomness.following("audit", *facts)
