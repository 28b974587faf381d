"""The plain result of an audit: how a file shows each column, and what it gives away; private.

Declared here once: from the types follow its JSON and what is refused when one is read back.  A
control that is null says that nobody was known who was not in the data.

What an audit is of: its inputs by their contents, and draws that follow from them.

Draws of targets decide figures within their intervals.  Who runs an audit until it pleases chooses
among them; so without a seed they follow from the contents of the files, and the same files give
the same figures on every machine and at every time.  That does not tell who chose among versions of
a file: an audit of all targets draws none, and leaves nothing to choose.

Cost: one pass over the bytes of the inputs.

A copy of what was judged, beside the record: the very bytes that are checked and signed.

Audits in a ledger.  Each audit of a file that was made from one original is entered before it is
written, with all that its figures are of: who judges one file under several settings until a figure
pleases stands there with each of them, and ``earlier`` of the next record tells.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from math import isclose
from pathlib import Path
from typing import Annotated, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from voile.ledger import Ledger
from voile.schema.names import ShownAs
from voile.schema.roles import Protected
from voile.study.documents import require_seal, schema_of, sealed, without_heading
from voile.study.original import fingerprint
from voile.study.record import (
    PRIVATE,
    AttackDocument,
    MeasureDocument,
    RiskDocument,
    Skipped,
)
from voile.table.places import file_and_part
from voile.table.reading import digest_of_rows
from voile_base.errors import InputError, TableError
from voile_base.ondemand import dataclass
from voile_base.randomness import Randomness
from voile_base.values import Json
from voile_base.values.value import Several, checked, closed, plain

__all__ = [
    "AUDIT_FORMAT",
    "COPYING",
    "DOES_NOT_APPLY",
    "RELEASED",
    "RE_IDENTIFICATION",
    "ROWS_OF_NOBODY",
    "ROWS_OF_PEOPLE",
    "AuditRecord",
    "ColumnDocument",
    "EarlierAudit",
    "Inquiry",
    "RiskDocument",
    "RunDocument",
    "audit_schema",
    "draws_of",
    "keep_judged",
    "run_of",
]


AUDIT_FORMAT = "voile-audit-record-1"

DOES_NOT_APPLY = "does not apply"
"""Begins the reason why a risk cannot be there."""
COPYING = "copying"
"""The risk that rows of people stand among rows of nobody."""
ROWS_OF_PEOPLE = (
    "each row is a person's, or of a group that shows the same: the other risks, attacks and "
    "sizes of groups judge that"
)
"""Why copying was not counted where nothing could be copied."""
RE_IDENTIFICATION = "re-identification"
"""The risk that what others know of a person finds the person's row."""
ROWS_OF_NOBODY = "rows are of nobody, so that none is a person's: copying judges who stands in them"
"""Why re-identification was not counted where no row is a person's."""

Count = Annotated[int, Field(ge=0)]


@closed
class ColumnDocument(TypedDict):
    """How one column of the original is shown."""

    name: str
    shown: ShownAs
    why: str
    of: list[str]
    """The columns of the file that show it."""
    unread: list[str]
    """Labels that nobody explains."""


@closed
class RunDocument(TypedDict):
    """What an audit was run on, and how: whoever runs it again gets the same figures."""

    inputs: dict[str, str]
    """Digests of the contents of "released" and "original", and of "control", "plan", "auxiliary"
    and "beside 1", "beside 2", ... if given."""
    places: dict[str, str]
    """Where these files were."""
    targets: Annotated[int, Field(ge=1)]
    attacks: list[str] | None
    first: list[str] | None
    seed: Annotated[int, Field(ge=0)] | None
    """None: the draws follow from the inputs, so that nobody chooses among them."""
    quick: NotRequired[bool]
    """Whether a quick look was asked for."""
    shadows: NotRequired[Annotated[int, Field(ge=1)]]
    """How many shadow releases were made, where they were asked for."""
    rows: NotRequired[str]
    """A digest of the file's rows in whatever order and format, where a ledger was named."""


@closed
class EarlierAudit(TypedDict):
    """One audit that the ledger knows of the same original."""

    created: str
    """ISO 8601, UTC."""
    inputs: dict[str, str]
    """As in the run of a record."""
    targets: Annotated[int, Field(ge=1)]
    attacks: list[str] | None
    first: list[str] | None
    seed: Annotated[int, Field(ge=0)] | None
    quick: NotRequired[bool]
    shadows: NotRequired[Annotated[int, Field(ge=1)]]
    rows: NotRequired[str]


@checked(InputError)
@dataclass(frozen=True)
class AuditRecord:
    """What was found about a released file; private."""

    released: str
    """Name of the file or folder."""
    digest: str
    """Of what it holds: BLAKE2b with 16 bytes, in hexadecimal."""
    rows: Mapping[str, Count]
    """Of the file ("released"), the original, and the control where there is one."""
    roles: Mapping[str, Several[str]]
    """Columns of the original by role."""
    roles_of: Literal["plan", "proposal"]
    """Who says so: the plan, or Voile, which guesses from names and values."""
    columns: Several[ColumnDocument]
    unused: Several[str]
    """Columns of the file that show no column of the original."""
    risks: Several[RiskDocument]
    risks_skipped: Several[Skipped]
    attacks: Several[AttackDocument]
    attacks_skipped: Several[Skipped]
    utility: Several[MeasureDocument]
    utility_skipped: Several[Skipped]
    notices: Several[str]
    """What a reader should know, a sentence each without a full stop."""
    unfit: Mapping[str, str]
    """Why columns that the file shows must not leave, whatever else is found, by their names."""
    versions: Mapping[str, str]
    seconds: Mapping[str, float]
    protected: Protected = "row"
    """Who is a target: a row, or a person or household, who may have several."""
    repeated: Count = 0
    """Rows of the file beyond as many as people of the original have their values: repetitions."""
    fewest: Count | None = None
    """Persons of the smallest group of rows that show the same in all quasi-identifiers, each
    counted once however many rows repeat him; None where no row is repeated."""
    unread_parts: Several[str] = ()
    """What the released file holds beside its table, which nobody has looked at."""
    called_missing: Mapping[str, Annotated[float, Field(ge=0, le=1)]] = field(default_factory=dict)
    """Shares of cells of columns of the original that the plan calls missing, by words that are no
    marks of missing values: all figures leave them out."""
    not_assessed: Mapping[str, str] = field(default_factory=dict)
    """What of the columns that nobody could read was not assessed, and why; by what is asked."""
    control_void: bool = False
    """Whether the control holds people of the original, beside whom nothing can be told."""
    run: RunDocument | None = None
    """What the figures are of; None in records of before, which are no evidence."""
    earlier: Several[EarlierAudit] | None = None
    """Audits of files that were made from the same original, oldest first; None where no ledger was
    named that would know them."""

    @property
    def of_this_file(self) -> tuple[EarlierAudit, ...]:
        """Earlier audits of the same file under other settings, with other figures therefore.

        A file with the same rows in another order or format is the same, and has other draws.
        """
        if self.run is None or self.earlier is None:
            return ()
        file, now = self.run["inputs"]["released"], _settings(self.run)
        rows = self.run.get("rows", file)
        same = (
            one
            for one in self.earlier
            if one["inputs"].get("released") == file or one.get("rows") == rows
        )
        return tuple(one for one in same if _settings(one) != now)

    @property
    def other_files(self) -> int:
        """Files of this original that a ledger knows, and that were not judged together with it."""
        if self.run is None or not self.earlier:
            return 0
        known = {*self.run["inputs"].values(), self.run.get("rows")}
        earlier = {(one["inputs"]["released"], one.get("rows")) for one in self.earlier}
        return len({rows or file for file, rows in earlier if not {file, rows} & known})

    def with_names(self, names: Mapping[str, str]) -> AuditRecord:
        """The same where files that were judged together are named as others were."""
        told = (notice.split(" was ", 1) for notice in self.notices)
        named = (" was ".join((names.get(name, name), *rest)) for name, *rest in told)
        return replace(self, notices=tuple(named))

    def differences(self, found: AuditRecord) -> Iterator[str]:
        """Where another record of the same audit differs: the keys, and no figures."""
        one, other = (
            {key: held for key, held in plain(each).items() if key not in _OF_THE_RUN}
            for each in (self, found)
        )
        yield from _fields_apart(one, other, "")

    def document(self) -> Json:
        """A record for JSON; the first key says that it is private."""
        return sealed({"private": PRIVATE, "format": AUDIT_FORMAT, **plain(self)})

    def entered(self, ledger: str | Path) -> AuditRecord:
        """Enter an audit into a ledger, and the audits of the original that it knew in the record.

        Durable when it returns; raises ``LedgerError`` where the ledger cannot be read or written,
        or another audit was entered meanwhile.
        """
        run = self.run
        assert run is not None, "an audit that was made now says what it is of"
        places = {side: Path(place) for side, place in run["places"].items()}
        run = RunDocument(**{**run, "rows": _fingerprint_of_rows(places["released"])})
        about = f"audits of {_fingerprint_of_rows(places['original'])}"
        book = Ledger(Path(ledger))
        entries = book.outputs(about)
        before = book.outputs(f"audits of {run['inputs']['original']}")  # by its bytes, as once
        document = {**_settings(run), "rows": run["rows"]}
        content = json.dumps(document, sort_keys=True, separators=(",", ":")).encode()
        book.remember(about, len(entries), [("audit", content)])
        earlier = tuple(_entry(one.created, one.content) for one in (*before, *entries))
        return replace(self, run=run, earlier=earlier)

    @staticmethod
    def read(path: str | Path) -> AuditRecord:
        """Read the record of an audit, which must be as it was written.

        Raises ``InputError`` where the file holds none, and ``RefusedError`` where it was edited.
        """
        try:
            document = json.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            msg = f"{path}: it cannot be read ({error.strerror})"
            raise InputError(msg) from None
        except ValueError:
            document = None
        if not isinstance(document, dict) or document.get("format") != AUDIT_FORMAT:
            msg = f"{path}: this is not the record of an audit in the format {AUDIT_FORMAT}"
            raise InputError(msg)
        require_seal(document, path, "voile audit")
        try:
            return AuditRecord(**without_heading(document))
        except (InputError, TypeError) as error:
            msg = f"{path}: {error}; run the audit again with this version of Voile"
            raise InputError(msg) from None


_ROUNDING = 1e-9
"""Relative; sums in another order differ by less."""
_OF_THE_RUN = ("seconds", "versions", "run", "earlier")
"""What two runs on the same inputs need not share."""


def _fields_apart(one: object, other: object, where: str) -> Iterator[str]:
    """Keys below which two documents differ."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for key in dict.fromkeys((*one, *other)):
            yield from _fields_apart(
                one.get(key), other.get(key), f"{where}.{key}" if where else key
            )
    elif isinstance(one, list | tuple) and isinstance(other, list | tuple):
        if len(one) != len(other):
            yield where
            return
        for place, (left, right) in enumerate(zip(one, other, strict=True)):
            name = left.get("risk") or left.get("attack") if isinstance(left, Mapping) else None
            yield from _fields_apart(left, right, f"{where}[{name or place}]")
    elif isinstance(one, float) and isinstance(other, float):
        if not isclose(one, other, rel_tol=_ROUNDING, abs_tol=_ROUNDING):
            yield where
    elif one != other:
        yield where


def audit_schema() -> Json:
    """The schema of ``audit.json``, for programs that read it."""
    title = "Voile: the record of an audit (private)"
    return schema_of(title, AUDIT_FORMAT, AuditRecord, with_seal=True)


SHADOWS = 8
"""Shadow releases at least: of fewer, who is with and who is without tells no deviation."""


@dataclass(frozen=True)
class Inquiry:
    """What is asked in an audit.

    Raises ``InputError`` unless there is a target, and for too few shadow releases.
    """

    targets: int = 1000
    attacks: tuple[str, ...] | None = None
    """Names of the attacks to run; None: all of them."""
    first: tuple[str, ...] | None = None
    """Columns that one of two people holds, in linkability, the other holding the rest; None: the
    first half of the columns that are shown."""
    auxiliary: Path | None = None
    """A table that somebody else holds: what its columns of the original's names hold is known."""
    quick: bool = False
    """Whether a smaller sample and fewer targets do, and attacks and measures are left out that
    nobody named: what was not looked at counts as not assessed."""

    shadows: int = 0
    """How many releases an adversary makes by the plan to learn who is in the file; 0: none."""
    beside: tuple[Path, ...] = ()
    """Other files of the same original, which are judged together with the one, too."""

    def __post_init__(self) -> None:
        if self.shadows and self.shadows < SHADOWS:
            msg = f"shadow releases must be at least {SHADOWS}, or none"
            raise InputError(msg)
        if self.targets < 1:
            msg = "the number of targets must be at least 1"
            raise InputError(msg)


def run_of(places: Mapping[str, Path], inquiry: Inquiry, seed: int | None) -> RunDocument:
    """What an audit is run on; raises ``TableError`` where a file cannot be read."""
    found = RunDocument(
        inputs={side: fingerprint(place, named=False) for side, place in places.items()},
        places={side: str(place.absolute()) for side, place in places.items()},
        targets=inquiry.targets,
        attacks=None if inquiry.attacks is None else list(inquiry.attacks),
        first=None if inquiry.first is None else list(inquiry.first),
        seed=seed,
    )
    if inquiry.quick:
        found["quick"] = True
    if inquiry.shadows:
        found["shadows"] = inquiry.shadows
    return found


def draws_of(run: RunDocument) -> Randomness:
    """The draws of an audit: those of its seed, or those that follow from its inputs."""
    if run["seed"] is not None:
        return Randomness.seeded(run["seed"])
    facts = (fact for side in sorted(run["inputs"]) for fact in (side, run["inputs"][side]))
    return Randomness.following("audit", *facts)


def _fingerprint_of_rows(file: Path) -> str:
    """What tells the rows of a table, whatever their order, that of columns, and the format.

    Of a folder, and of what cannot be read without a plan, what tells its bytes.
    """
    try:
        return fingerprint(file, named=False) if file.is_dir() else digest_of_rows(file)
    except TableError:
        return fingerprint(file, named=False)


_SETTINGS = ("inputs", "targets", "attacks", "first", "seed", "quick", "shadows")


def _settings(run: RunDocument | EarlierAudit) -> Json:
    """All that the figures of an audit follow from."""
    return {key: held for key, held in run.items() if key in _SETTINGS}


def _entry(created: str, content: bytes) -> EarlierAudit:
    settings: EarlierAudit = json.loads(content)
    settings["created"] = created
    return settings


RELEASED = "released"
"""The folder of an audit with the copy, under the name that the file or folder has."""


def keep_judged(released: Path, folder: Path) -> None:
    """Copy a released file, or a folder of files, into the folder of its audit.

    Of a place that is no file, such as a database, nothing is kept.  Raises ``OSError``.
    """
    source, _ = file_and_part(released)
    place = folder / RELEASED
    if source.is_dir():
        shutil.copytree(source, place / source.name)
    elif source.is_file():
        place.mkdir()
        shutil.copyfile(source, place / source.name)
