"""A release: published rows that carry their guarantee, and the only thing that leaves.

A ``Release`` holds nothing computed from private rows that its guarantee does not cover.  What a
custodian wants to know beyond it (rows held back, the objective reached) travels beside it in a
``Publication``, whose type says that it is private.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from voile.dp.events import PrivacyEvent
from voile.release.history import History
from voile.release.trips import TripCosts
from voile.table.protocol import Format, PublishedTable
from voile.version import VERSION

__all__ = ["Guarantee", "PrivateRecord", "Publication", "Release", "SeriesPlace"]


@dataclass(frozen=True)
class Guarantee:
    """What is promised about everybody in a release, and what the promise assumes."""

    kind: str
    """The model, such as "ke-anonymity"."""
    parameters: Mapping[str, Any]
    """Numbers and names of the model, such as k and e."""
    statement: str
    """The promise in one precise sentence."""
    assumes: tuple[str, ...] = ()
    """What must be true for the promise to hold."""

    def document(self) -> dict[str, Any]:
        """The guarantee as it stands in ``release.json``."""
        return {
            "kind": self.kind,
            **self.parameters,
            "statement": self.statement,
            "assumes": list(self.assumes),
        }

    @classmethod
    def of_document(cls, document: Mapping[str, Any]) -> Guarantee:
        """The guarantee that ``release.json`` states."""
        own = {"kind", "statement", "assumes"}
        return cls(
            kind=document["kind"],
            parameters={name: value for name, value in document.items() if name not in own},
            statement=document["statement"],
            assumes=tuple(document["assumes"]),
        )


@dataclass(frozen=True)
class SeriesPlace:
    """Where a release stands in a series of releases of one growing table."""

    name: str
    version: int
    """1 for the first release."""


@dataclass(frozen=True, eq=False)
class Release:
    """Published rows, how they were made, and what they promise.

    ``release.table`` holds the rows, ``release.to_native()`` gives them as the kind of data frame
    that went in, ``release.write(folder)`` publishes them.
    """

    table: PublishedTable
    method: Mapping[str, Any]
    """Name and parameters of the method, and under "decision" what the data show of it anyway."""
    guarantee: Guarantee
    roles: Mapping[str, tuple[str, ...]]
    """Published columns by role."""
    release_id: str
    """128 random bits in hexadecimal, by which a ledger knows this release."""
    publishable: bool
    """False where the randomness came from a seed that others may know."""
    series: SeriesPlace | None = None
    voile: str = VERSION
    """Version of Voile that made the release."""

    @property
    def rows(self) -> int:
        """Number of published rows."""
        return self.table.rows

    def to_native(self) -> Any:
        """The rows as a data frame of the kind that the private table came from."""
        return self.table.to_native()

    def with_intervals_as_text(self) -> Release:
        """The release with each interval in one column of texts ``[low, high]``.

        Columns ``NAME.low`` and ``NAME.high`` become ``NAME``, or ``NAME.interval`` where ``NAME``
        is published too.  For readers: models and queries need the two numbers.
        """
        table = self.table.with_intervals_as_text()
        columns = self.table.columns, table.columns
        roles = {
            role: tuple(dict.fromkeys(_with_interval(name, *columns) for name in names))
            for role, names in self.roles.items()
        }
        return replace(self, table=table, roles=roles)

    def write(self, folder: str | Path, file_format: Format = "parquet") -> Path:
        """Write the release to a new folder, whole or not at all; see ``write_release``."""
        from voile.release.folder import write_release  # noqa: PLC0415 - it reads releases, too

        return write_release(self, folder, file_format)


def _with_interval(name: str, before: tuple[str, ...], after: tuple[str, ...]) -> str:
    """The column that shows what ``name`` showed before intervals became texts."""
    stem, _, end = name.rpartition(".")
    if name in after or end not in {"low", "high"}:
        return name
    return f"{stem}.interval" if stem in before else stem


@dataclass(frozen=True)
class PrivateRecord:
    """What the custodian may know about a publication and nobody else."""

    rows_in: int
    rows_out: int
    suppressed: int
    """Rows left out for good, by the plan's ``nulls = "drop"`` or by the method."""
    held: int
    """Rows held back until a later release of the series."""
    objective: str
    """What the method minimised, exactly: for (k,e), the sum of the ranges of the blocks."""
    decision: Mapping[str, Any]
    notices: tuple[str, ...] = ()
    """Sentences for the custodian, such as why rows were held."""
    summary: str = ""
    """What came of the decision, to be said after the number of rows: "in 17 groups, ..."."""
    carried: int = 0
    """Rows left out that the next pool of the data set takes up; not among the suppressed."""


@dataclass(frozen=True, eq=False)
class Publication:
    """A release with what must stay private about it, and what a ledger must know before it.

    Raises ``ValueError`` where the carried rows and their number contradict each other.
    """

    release: Release
    private: PrivateRecord
    history: History | None = None
    """The history of the series with this release: to be committed before the release appears."""
    events: tuple[PrivacyEvent, ...] = ()
    """What the release spends, to be committed before it appears; nothing for syntactic models."""
    carried: bytes | None = None
    """Private rows that were not published and that the next pool takes up: an Arrow IPC stream.

    Only where the method's parameter ``suppressed = "carry"`` says so; None where there are none.
    """
    trip_costs: TripCosts | None = None
    """What each trip spends, to be committed before the release appears; None without a fleet."""

    def __post_init__(self) -> None:
        if (self.carried is None) != (self.private.carried == 0):
            msg = (
                "a publication that carries rows over says how many: PrivateRecord.carried is 0 "
                "exactly where Publication.carried is None"
            )
            raise ValueError(msg)
