"""What stands in the folder that is judged: a study, an audit, or a release alone; private.

    study      DIR/release/           what is published, with release.json
               DIR/private/           record.json; here verdict and assumptions are kept, too
    audit      DIR/released/NAME      a copy of what was judged: a file, or a release's folder
               DIR/audit.json         and beside it verdict and assumptions, and auditor.json
    release    DIR/release.json       with the data; no evidence, and nothing is written

Evidence that is not of the release beside it is refused.  Cost: reading the data once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict

from voile.audit.record import RELEASED, AuditRecord
from voile.policy.ruling import ShownRows
from voile.release.claims import CLAIMS, Claim
from voile.release.folder import BESIDE, DOCUMENT, SIGNATURES, digest_of, release_document
from voile.release.recounting import read_recounted
from voile.release.release import Release
from voile.schema.names import meaning_of
from voile.schema.persons import many_tell_rows
from voile.study.documents import read_record
from voile.study.original import fingerprint
from voile.study.record import AttackDocument, MeasureDocument, RiskDocument, StudyRecord
from voile.table.opening import published_rows, rows_in_memory
from voile.table.places import file_and_part
from voile.table.reading import list_columns
from voile_base.errors import InputError, RefusedError, TableError
from voile_base.ondemand import dataclass
from voile_base.values import Document
from voile_base.values.value import closed

__all__ = [
    "AUDIT",
    "AUDITOR",
    "SIGNATURES",
    "Case",
    "FileDocument",
    "files_in",
    "signed_like",
]

AUDIT = "audit.json"
AUDITOR = "auditor.json"
"""Beside the record of an audit: who has made it, where somebody has signed it."""
_RECORD = "record.json"
_MATERIAL = 0.01
"""Of the cells of a column, from which on it matters that no figure counts them."""
_BESIDE = (f"*/{SIGNATURES}", f"*/release/{SIGNATURES}")
"""Where signed releases stand beside a folder: alone, or of studies."""
_LETTERS = 4
"""Of a word that alone says what a column means: shorter ones mean something else elsewhere."""


@closed
class FileDocument(TypedDict):
    """One published file."""

    file: str
    bytes: Annotated[int, Field(ge=0)]
    sha256: str


@dataclass(frozen=True, eq=False)
class Case:
    """A release, or a file of another make, with the evidence about it."""

    kind: Literal["study", "audit", "release"]
    public: Path
    """The folder of what is published, or will be."""
    private: Path | None
    """The folder of the evidence; None where there is none."""
    data: Path
    """What is read as the published rows: a release's folder, or a file, perhaps with its part."""
    record: StudyRecord | AuditRecord | None

    @property
    def evidence(self) -> tuple[str, ...]:
        """Names of the private files that were written with the record."""
        names = {"study": (_RECORD, "report.html"), "audit": (AUDIT, AUDITOR), "release": ()}[
            self.kind
        ]
        return tuple(name for name in names if self.private and (self.private / name).is_file())

    @property
    def attacks(self) -> Sequence[AttackDocument]:
        """What adversaries made of it."""
        return self.record.attacks if self.record else ()

    @property
    def measures(self) -> Sequence[MeasureDocument]:
        """What it is good for."""
        return self.record.utility if self.record else ()

    @property
    def risks(self) -> Sequence[RiskDocument]:
        """The three risks of WP216, which audits count, and studies where they are asked to."""
        return self.record.risks if self.record else ()

    @property
    def skipped(self) -> Mapping[str, str]:
        """Why attacks, risks and measures were left out, by name."""
        if self.record is None:
            return {}
        record = self.record
        left_out = (*record.attacks_skipped, *record.utility_skipped, *record.risks_skipped)
        return {one.name: one.reason for one in left_out}

    @property
    def _no_secrets(self) -> Mapping[str, tuple[str, ...]]:
        """Statements on quasi-identifiers of a study that seem sensitive, where no column is so."""
        if self.record is None or isinstance(self.record, AuditRecord):
            return {}
        roles = self.record.plan.get("roles", {})
        if roles.get("sensitive"):
            return {}
        told = "which looks sensitive and is a quasi-identifier, is no secret of anybody"
        seem = (
            name
            for name in roles.get("quasi_identifiers", ())
            if (meaning := meaning_of(name, _LETTERS)) and meaning.role == "sensitive"
        )
        return {f"Column {name!r}, {told}": (name,) for name in seem}

    @property
    def unexamined(self) -> Mapping[str, tuple[str, ...]]:
        """What somebody must make sure of, since no adversary has read it as an insider could.

        By statement, the columns of the file that it is about; none of what is beside its table.

        Of an audit: columns that have the name of none of the original, that hold labels which
        nobody explains, or that show identifiers.  They are named as in the file, which is
        published.  And what the file holds beside its table.  Of a study without a sensitive
        column: quasi-identifiers that look like one, of which nothing counts the disclosure.
        """
        if not isinstance(self.record, AuditRecord):
            return self._no_secrets
        named = "which has the name of no column of the original"
        found = dict.fromkeys(self.record.unused, named)
        for column in self.record.columns:
            why = "whose labels nobody explains" if column["unread"] else None
            if column["name"] in self.record.roles.get("identifiers", ()):
                why = "which holds identifiers"
            if why:
                found |= dict.fromkeys(column["of"], why)
        says = {f"Column {n!r}, {why}, gives nobody away": (n,) for n, why in found.items()}
        if not (beside := self.record.unread_parts):
            return says
        told = " and ".join(beside)
        last = (
            f"What the file holds beside its table ({told}), which was not read, gives nobody away"
        )
        return {**says, last: ()}

    @property
    def unfit(self) -> Mapping[str, str]:
        """Why columns of the original that the file shows must not leave; none of a study."""
        return self.record.unfit if isinstance(self.record, AuditRecord) else {}

    @property
    def not_assessed(self) -> Mapping[str, str]:
        """Why nobody can say something of columns that nobody could read; nothing of a study."""
        return self.record.not_assessed if isinstance(self.record, AuditRecord) else {}

    @property
    def called_missing(self) -> Mapping[str, float]:
        """Shares of cells of the original that look like values and that no figure counts.

        By column: 1 in 100 cells or more, and any of a sensitive one; none of a study.
        """
        if not isinstance(self.record, AuditRecord):
            return {}
        secret = self.record.roles.get("sensitive", ())
        shares = self.record.called_missing.items()
        return {name: share for name, share in shares if share >= _MATERIAL or name in secret}

    @property
    def whose(self) -> str:
        """Who is protected: "row", "person" or "household"."""
        if isinstance(self.record, StudyRecord):
            return self.record.publication.get("protected", "row")
        return self.record.protected if self.record else "row"

    @cached_property
    def files(self) -> tuple[FileDocument, ...]:
        """Each file that is published, by its name in the public folder, but for signatures."""
        return files_in(self.public)

    @cached_property
    def document(self) -> Document | None:
        """What ``release.json`` says; None for a file of another make."""
        there = (self.data / DOCUMENT).is_file()
        return release_document(self.data) if there else None

    @cached_property
    def signed_beside(self) -> tuple[str, ...]:
        """Folders beside this one that hold a signed release with the same columns.

        They are told by what they show; releases of one series are made with each other in view.
        """
        own = self.document
        if own is None or self.private is None:
            return ()
        place = self.public.parent if self.kind == "study" else self.public
        beside = (one for form in _BESIDE for one in sorted(place.parent.glob(form)))
        return signed_like(own, (one.parent for one in beside if one.parent != self.public))

    @cached_property
    def release(self) -> Release | None:
        """The release, recounted; None for a file of another make.

        Raises ``RefusedError`` where it is not what it claims, ``TableError`` where it is none.
        """
        return None if self.document is None else read_recounted(self.data)

    @cached_property
    def unhidden(self) -> tuple[str, ...]:
        """Columns that a release shows unchanged, of which many rows have a value of their own.

        No group hides them: none is a quasi-identifier.  None of a file of another make.
        """
        release = self.release
        if release is None:
            return ()
        grouped = release.roles.get("quasi_identifiers", ())
        rows = release.table.rows
        unchanged = (
            name
            for name, shown in release.disclosure.columns.items()
            if shown.kind == "exact" and name not in grouped and name in release.table.columns
        )
        return tuple(
            name
            for name in unchanged
            if many_tell_rows(len(release.table.count([name]).rows), rows)
        )

    @property
    def claims(self) -> Sequence[Claim]:
        """What is promised; nothing of a file of another make."""
        return self.release.guarantee.claims if self.release else ()

    @property
    def is_measured(self) -> bool:
        """Whether something is promised that this version can measure."""
        return any(claim.kind in CLAIMS for claim in self.claims)

    @property
    def publishable(self) -> bool:
        """False where ``release.json`` says that the release is unfit for publication."""
        return self.release is None or self.release.publishable

    @property
    def experiment(self) -> bool:
        """Whether the evidence was drawn with a seed, which somebody may have chosen."""
        run = self.record.run if isinstance(self.record, AuditRecord) else None
        return run is not None and run["seed"] is not None

    @cached_property
    def rows(self) -> ShownRows:
        """The published rows; raises ``TableError`` where they cannot be read."""
        release = self.release
        if release is not None:
            groups = release.disclosure.groups
            return ShownRows(
                release.table,
                dict(release.roles),
                None if groups is None else groups.column,
                frozenset(release.disclosure.permuted),
                frozenset(
                    name
                    for name, shown in release.disclosure.columns.items()
                    if shown.kind == "numbered"
                ),
            )
        assert isinstance(self.record, AuditRecord)
        texts = list(list_columns(self.data))
        frame, _ = rows_in_memory(str(self.data), texts=texts)
        shown = {column["name"]: column["of"] for column in self.record.columns}
        roles = {
            role: tuple(one for name in names for one in shown.get(name, ()))
            for role, names in self.record.roles.items()
        }
        permuted = {c["name"] for c in self.record.columns if c["shown"] == "permuted"}
        return ShownRows(published_rows(frame), roles, None, frozenset(permuted))

    @staticmethod
    def open(folder: str | Path) -> Case:
        """What stands in a folder.

        Raises ``InputError`` where nothing can be judged there, ``RefusedError`` where what stands
        there is not what was studied or audited, or leads elsewhere.
        """
        place = Path(folder)
        if not place.is_dir():
            msg = f"{place}: there is no such folder; name what study, audit or publish has written"
            raise InputError(msg)
        if (place / AUDIT).is_file():
            return _audited(place)
        if (place / "private" / _RECORD).is_file():
            return _studied(place)
        if (place / DOCUMENT).is_file():
            return Case("release", place, None, place, None)
        msg = (
            f"{place}: nothing to judge stands here: neither {AUDIT} of an audit, nor "
            f"private/{_RECORD} of a study, nor {DOCUMENT} of a release"
        )
        raise InputError(msg)


def signed_like(own: Document, folders: Iterable[Path]) -> tuple[str, ...]:
    """Folders of signed releases with the columns of a release, and not of its series."""
    found, series = list[str](), (own.get("series") or {}).get("name")
    for folder in folders:
        try:
            document = release_document(folder)
        except TableError:
            continue
        together = series and series == (document.get("series") or {}).get("name")
        alike = document.get("types", {}).keys() == own["types"].keys() and not together
        if alike and (folder / SIGNATURES).is_file():
            found.append(str(folder))
    return tuple(found)


def files_in(folder: Path) -> tuple[FileDocument, ...]:
    """Each file of a public folder, but for signatures; raises ``RefusedError`` for a link."""
    found = []
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        link = path.is_symlink()
        if not link and (name == SIGNATURES or path.is_dir()):
            continue
        if link or not path.is_file():
            msg = f"{path}: this is no plain file, and cannot be published"
            raise RefusedError(msg)
        found.append(FileDocument(file=name, bytes=path.stat().st_size, sha256=digest_of(path)))
    return tuple(found)


def _audited(place: Path) -> Case:
    _require_no_link(place, place / AUDIT, place / RELEASED)
    record = AuditRecord.read(place / AUDIT)
    data = place / RELEASED / record.released
    if not file_and_part(data)[0].exists():
        msg = (
            f"{data}: the file that was judged is not here; run voile audit again, which keeps a "
            "copy beside its record"
        )
        raise RefusedError(msg)
    if fingerprint(data) != record.digest:
        msg = f"{data}: this is not the file that {place / AUDIT} is about; it was changed since"
        raise RefusedError(msg)
    _require_no_other(place / RELEASED, {file_and_part(data)[0].name})
    return Case("audit", place / RELEASED, place, data, record)


def _studied(place: Path) -> Case:
    _require_no_link(place, place / "private", place / "private" / _RECORD, place / "release")
    record = read_record(place / "private" / _RECORD, with_seal=True)
    case = Case("study", place / "release", place / "private", place / "release", record)
    if case.document is None:
        msg = f"{place / 'release'}: the release that was studied is not here"
        raise InputError(msg)
    if case.document.get("release_id") != record.release["release_id"]:
        msg = (
            f"{place / 'private' / _RECORD}: this is the record of another release than the one in "
            f"{place / 'release'}"
        )
        raise RefusedError(msg)
    for key, value in record.release.items():
        if case.document.get(key) != value:
            msg = (
                f"{place / 'release' / DOCUMENT}: {key} is another than when the release was "
                "studied; take the folder as it was made"
            )
            raise RefusedError(msg)
    _require_no_other(place / "release", {DOCUMENT, *_files_of(case.document)})
    return case


def _files_of(document: Document) -> set[str]:
    """What stands in the folder of a release, as its document lists it."""
    listed = (part for key in ("data", *BESIDE) for part in document.get(key, ()))
    return {str(part["file"]).partition("/")[0] for part in listed}


def _require_no_link(*places: Path) -> None:
    """Raise ``RefusedError`` where a folder or file is a link, which may lead elsewhere later."""
    for place in places:
        if place.is_symlink():
            msg = f"{place}: this is a link, which may lead elsewhere later; name the folder itself"
            raise RefusedError(msg)


def _require_no_other(public: Path, judged: Collection[str]) -> None:
    """Raise ``RefusedError`` where a file among what is published was not judged."""
    for path in sorted(public.iterdir()):
        if path.name not in judged and path.name != SIGNATURES:
            msg = (
                f"{path}: nobody has judged this file, which would be published with the others; "
                "move it elsewhere"
            )
            raise RefusedError(msg)
