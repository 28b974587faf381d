"""A release: published rows that carry their guarantee, and the only thing that leaves.

A ``Release`` holds nothing computed from private rows that its guarantee does not cover.  What a
custodian wants to know beyond it (rows held back, the objective reached) travels beside it in a
``Publication``, whose type says that it is private.

What a release spends is said before anything is drawn for it.

Whether a draw ends in a release, in none, or in one that somebody dislikes tells about the rows.
So a publisher says its price while nothing is drawn yet, and a ledger that counts commits it
there and then: a draw that was repeated is a draw that was paid again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from voile.disclosure.shown import Disclosure
from voile.dp.accounting import PrivacyEvent
from voile.release.claims import Claim
from voile.release.folder import (
    DOCUMENT,
    FORMAT,
    MEASUREMENTS,
    ReleaseDocument,
    SeriesPlace,
    release_document,
    require_hashes,
    verified_files,
    write_release,
)
from voile.release.history import History
from voile.release.trips import TripCosts, TripSums
from voile.table.engines import AUTO
from voile.table.keeping import KeptRows
from voile.table.opening import open_published
from voile.table.protocol import Engine, Format
from voile.table.published import PublishedTable
from voile.table.remote import brought_release
from voile_base.errors import TableError
from voile_base.ondemand import dataclass
from voile_base.randomness import Randomness
from voile_base.values import Document, Json
from voile_base.version import VERSION

__all__ = [
    "Guarantee",
    "Pay",
    "Price",
    "PrivateRecord",
    "Publication",
    "Release",
    "SeriesPlace",
    "read_release",
    "unaccounted",
]


@dataclass(frozen=True, eq=False)
class Price:
    """What a release asks of budgets, whatever comes of its draws; private."""

    release_id: str
    events: tuple[PrivacyEvent, ...] = ()
    """What it spends of a data set."""
    trip_costs: TripCosts | None = None
    """What it may spend of the budgets of trips at most."""


class Pay(Protocol):
    """What a publisher calls once, after all that can be refused and before its first draw."""

    def __call__(self, price: Price) -> NDArray[np.int64] | None:
        """Charge a price; raises ``RefusedError`` where it exceeds what is left.

        Returns which offer each trip takes, of a price that has several, -1 for none.
        """


def unaccounted(price: Price) -> NDArray[np.int64] | None:
    """Charge nothing: no ledger counts, and all of a budget is left."""
    costs = price.trip_costs
    if costs is None or len(costs.offers) == 1:
        return None
    return costs.fitting(TripSums.none(), Randomness.secure().key("fleet").secret)


class LeftOpen(str):
    """A sentence of ``Guarantee.assumes`` that says what the promise does not cover.

    Recipients accept it; there is nothing in it that a person could make sure of.
    """

    __slots__ = ()


@dataclass(frozen=True)
class Guarantee:
    """What is promised about everybody in a release, and what the promise assumes."""

    claims: tuple[Claim, ...]
    """What is promised, at least one thing; the first is what the release is called by."""
    statement: str
    """All of it in one precise sentence."""
    assumes: tuple[str, ...] = ()
    """What must be true for the promise to hold, and what it does not cover (``LeftOpen``)."""

    @property
    def leaves_open(self) -> tuple[str, ...]:
        """Those of ``assumes`` that say what the promise does not cover."""
        return tuple(one for one in self.assumes if isinstance(one, LeftOpen))

    @property
    def kind(self) -> str:
        """The name of the first claim, for people; programs dispatch on the types of claims."""
        return self.claims[0].kind

    @property
    def parameters(self) -> Document:
        """Numbers and names of the first claim as ``release.json`` has them, such as k and e."""
        return {n: value for n, value in self.claims[0].document().items() if n != "kind"}

    def document(self) -> Json:
        """The guarantee as it stands in ``release.json``."""
        first, *further = (claim.document() for claim in self.claims)
        return {
            **first,
            **({"further": further} if further else {}),
            "statement": self.statement,
            "assumes": list(self.assumes),
            **({"leaves_open": list(self.leaves_open)} if self.leaves_open else {}),
        }

    @classmethod
    def of_document(cls, document: Document, where: str = "the guarantee") -> Guarantee:
        """The guarantee that ``release.json`` states; raises ``TableError`` for what cannot be."""
        own = {"statement", "assumes", "leaves_open", "further"}
        open_ = document.get("leaves_open", ())
        first = {name: value for name, value in document.items() if name not in own}
        return cls(
            claims=(
                Claim.of(first, where),
                *(
                    Claim.of(one, f"{where}.further[{number}]")
                    for number, one in enumerate(document.get("further", ()), 1)
                ),
            ),
            statement=document["statement"],
            assumes=tuple(LeftOpen(one) if one in open_ else one for one in document["assumes"]),
        )


@dataclass(frozen=True, eq=False)
class Release:
    """Published rows, how they were made, and what they promise.

    Raises ``ValueError`` unless the disclosure speaks of exactly the columns that the table has.

    ``release.table`` holds the rows, ``release.to_native()`` gives them as the kind of data frame
    that went in, ``release.write(folder)`` publishes them.
    """

    table: PublishedTable
    method: Document
    """Name and parameters of the method, and under "decision" what the data show of it anyway.

    For people: programs dispatch on ``disclosure`` and on the claims of ``guarantee``."""
    disclosure: Disclosure
    """How each column is shown, and what the numbers of groups are of."""
    guarantee: Guarantee
    roles: Mapping[str, tuple[str, ...]]
    """Published columns by role."""
    release_id: str
    """128 random bits in hexadecimal, by which a ledger knows this release."""
    publishable: bool
    """False where the randomness came from a seed that others may know, and where the method is a
    paper's version that is known to leak."""
    measurements: PublishedTable | None = None
    """Noisy tables that the rows were made from, which are published beside them."""
    series: SeriesPlace | None = None
    data_set: str | None = None
    """Whose budget it spent, where a ledger counts it."""
    open_questions: int = 0
    """Questions of the plan that were accepted without an answer."""
    voile: str = VERSION
    """Version of Voile that made the release."""

    def __post_init__(self) -> None:
        stated, shown = set(self.disclosure.published), set(self.table.columns)
        if stated != shown:
            unsaid = ", ".join(map(repr, sorted(shown - stated)))
            absent = ", ".join(map(repr, sorted(stated - shown)))
            said = [f"nothing says how {unsaid} came about"] * bool(unsaid)
            said += [f"it lacks {absent}, though its disclosure speaks of it"] * bool(absent)
            msg = f"the rows of a release and its disclosure do not match: {'; '.join(said)}"
            raise ValueError(msg)

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
        shown = self.disclosure.with_intervals_as_text()
        roles = {
            role: tuple(dict.fromkeys(_renamed(name, self.disclosure, shown) for name in names))
            for role, names in self.roles.items()
        }
        before = self.disclosure
        intervals = [n for n in before.columns if before.columns_of(n) != shown.columns_of(n)]
        table = self.table.with_intervals_as_text(intervals)
        return replace(self, table=table, disclosure=shown, roles=roles)

    def without(self, name: str) -> Release:
        """The release without a column of the table, which some reader is not to see."""
        gone = self.disclosure.columns_of(name)
        roles = {
            role: tuple(column for column in columns if column not in gone)
            for role, columns in self.roles.items()
        }
        return replace(
            self,
            table=self.table.without(gone),
            disclosure=self.disclosure.without([name]),
            roles=roles,
        )

    def document(self) -> Json:
        """What ``release.json`` says of it."""
        document: Json = {
            "format": FORMAT,
            "voile": self.voile,
            "method": dict(self.method),
            "guarantee": self.guarantee.document(),
            "rows": self.rows,
            "publishable": self.publishable,
            "release_id": self.release_id,
            **self.disclosure.document(),
            "roles": {role: list(names) for role, names in self.roles.items()},
            "types": dict(self.table.kinds()),
        }
        if self.open_questions:
            document["accept_questions"] = True
            document["open_questions"] = self.open_questions
        if self.data_set:
            document["data_set"] = self.data_set
        if self.series:
            document["series"] = self.series.document()
        return document

    def write(self, folder: str | Path, file_format: Format = "parquet") -> Path:
        """Write the release to a new folder, whole or not at all; see ``write_release``."""
        return write_release(self, folder, file_format)


def _renamed(column: str, before: Disclosure, after: Disclosure) -> str:
    """The published column that shows what one showed before its intervals became texts."""
    name = before.owner(column)
    shown = after.columns_of(name) if name is not None else ()
    return column if column in shown or not shown else shown[-1]


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
    decision: Document
    notices: tuple[str, ...] = ()
    """Sentences for the custodian, such as why rows were held."""
    summary: str = ""
    """What came of the decision, to be said after the number of rows: "in 17 groups, ..."."""
    carried: int = 0
    """Rows left out that the next pool of the data set takes up; not among the suppressed."""
    published: str = ""
    """What published rows are called that are no rows of the table: "cells"."""

    @property
    def told(self) -> str:
        """What was published of how much, and what came of the decision."""
        of = f"{self.published} made of" if self.published else "of"
        return f"{self.rows_out:,} {of} {self.rows_in:,} rows {self.summary}".strip()


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
    carried: KeptRows | None = None
    """Private rows that were not published and that the next pool takes up.

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


def read_release(path: str | Path, *, engine: Engine | str = AUTO) -> Release:
    """Read a release back from its folder, whose files are held against their hashes first.

    ``path`` is a folder, or the place of a release in an object store (``table.remote``).
    ``engine`` holds its rows, or is its name.  Raises ``TableError`` where the folder is no
    release, with the place in ``release.json`` that does not fit, and ``RefusedError`` where its
    files are not those that it lists.
    """
    folder = brought_release(path)
    if not folder.is_dir():
        msg = f"{folder}: there is no such release folder"
        raise TableError(msg)
    document = release_document(folder)
    if document.get("form") is not None:
        msg = (
            f"{folder}: this release does not hold rows, but {document['form']}; voile recount "
            "reads it"
        )
        raise TableError(msg)
    require_hashes(document, folder)
    stated = ReleaseDocument.stated_in(document, folder)
    files = verified_files(document, folder)
    try:
        release = _release(document, stated, folder, files.names, engine)
    except (OSError, ValueError):
        msg = f"{folder}: the files of rows are not what {DOCUMENT} says of them"
        raise TableError(msg) from None
    files.require_unchanged()
    return release


def _release(
    document: Document,
    stated: ReleaseDocument,
    folder: Path,
    files: Sequence[str],
    engine: Engine | str,
) -> Release:
    """A release from its document, as it stands there and as it was read."""
    if stated.rows == 0:
        msg = (
            f"{folder}: this release shows no row, which is what its method found; there is "
            "nothing in it to be read, asked or attacked"
        )
        raise TableError(msg)
    texts = [name for name, kind in stated.types.items() if kind == "text"]
    table = open_published(folder, texts, files, engine)
    disclosure = stated.disclosure
    _require_columns(disclosure, table, folder)
    return Release(
        table=table,
        method=document["method"],
        disclosure=disclosure,
        guarantee=Guarantee.of_document(document["guarantee"], f"{folder / DOCUMENT}: guarantee"),
        roles=stated.roles,
        release_id=stated.release_id,
        publishable=stated.publishable,
        measurements=(
            None if stated.measurements is None else open_published(folder, (), [MEASUREMENTS])
        ),
        series=stated.series,
        data_set=stated.data_set,
        open_questions=stated.open_questions or 0,
        voile=stated.voile,
    )


def _require_columns(disclosure: Disclosure, table: PublishedTable, folder: Path) -> None:
    """Raise ``TableError`` where the data of a folder are not those that its document is about."""
    stated, shown = disclosure.published, table.columns
    for name in stated:
        if name not in shown:
            msg = f"{folder}: the data have no column {name!r}, though {DOCUMENT} says how it is "
            msg += "shown; one of them was changed"
            raise TableError(msg)
    for name in shown:
        if name not in stated:
            msg = f"{folder}: {DOCUMENT} does not say how column {name!r} is shown; one of the two "
            msg += "was changed"
            raise TableError(msg)
