"""The door out: a release as a folder of its rows, ``release.json`` and ``verify.html``.

The rows are one file, such as ``data.csv``, or several parts in ``data``; its manifest says which
files there are.  ``release.json`` is written last: a folder without it is no release.

A folder appears whole, by a rename, or not at all.  It is written under a hidden name beside its
place (``UnseenFolder``), flushed to the disk, and renamed; whatever goes wrong before the rename
leaves nothing at the place itself.

``release.json``, declared once: what it holds, how it is validated, and its JSON Schema.

Written and read documents are both read by this declaration, so that nothing is published that
nobody could read back, and whatever does not fit is told by file and place.

Releases that stand beside the place of a new one, or in folders that somebody names.

A release is known again by what its ``release.json`` says to everybody: the name of its series, or
of the data set whose budget it spent, and its ``release_id``, 128 random bits that tell nothing.
A folder that ``voile study`` made holds its release one level deeper.  What cannot be read is not a
release; neither is a hidden folder that was never finished, nor what was made with a seed, which is
no publication.

Cost: one small file for each folder beside the place.

``verify.html`` recounts a release in the browser of whoever received it.

One file: it opens from a file address, loads nothing and sends nothing.  Its policy allows the
script and the style that stand in it, by their hashes, and no request.  What it counts, it counts
with code that shares none with this package; what it does not count, it names.  The declaration of
``release.json`` in it is ``folder.release_schema``, kept beside the parts so that publishing need
not make it.

Cost: some files of 80 kB in all are read, once a process.

**Files of rows**, as ``release.json`` lists them, with their hashes.

Under ``data`` stands each file with its length and its SHA-256, in the order of the rows.  Whoever
reads a release compares all of it here first (``verified_files``), so that no figure is made of a
part that is missing, was altered, or was written halfway.  A release that lists no hashes is
refused: nobody can tell whether its rows were altered.

A folder may be replaced while it is read: ``VerifiedFiles.require_unchanged`` tells afterwards.

Cost: one pass over the bytes of a release as it is written, and one as it is read; in constant
memory.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import tempfile
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal, Protocol

from pydantic import AfterValidator, ConfigDict, Field

from voile.disclosure.shown import Disclosure
from voile.release.claims import StatedClaim
from voile.table.arrays import Kind
from voile.table.formats.registry import Format, refusal
from voile.table.published import PublishedTable
from voile_base.durable import sync, write_text
from voile_base.errors import InputError, RefusedError, TableError
from voile_base.ondemand import dataclass, pattern_on_demand
from voile_base.values import Document, Json
from voile_base.values.value import Says, Several, Value, json_schema, read

__all__ = [
    "BESIDE",
    "DOCUMENT",
    "FILE_OF_ROWS",
    "FORMAT",
    "MEASUREMENTS",
    "PAGE",
    "READING",
    "SIGNATURES",
    "ListedFile",
    "ReleaseBeside",
    "ReleaseDocument",
    "SeriesPlace",
    "StatedRelease",
    "UnseenFolder",
    "appearing_folder",
    "changed_files",
    "check_new_folder",
    "digest_of",
    "format_for",
    "manifest_of",
    "release_document",
    "release_schema",
    "releases_beside",
    "require_hashes",
    "verification_page",
    "verified_files",
    "whole_of",
    "write_document",
    "write_measurements",
    "write_release",
]

DOCUMENT = "release.json"
SIGNATURES = "signatures.json"
"""Among what is published, and about all the rest of it."""
MEASUREMENTS = "measurements.parquet"
"""Noisy tables beside the rows, where these were made from some."""
PAGE = "verify.html"
"""Recounts a release in a browser; made of the parts in ``browser``."""
READING = "index.html"
"""Tables as people read them, where a release has a page of them."""
BESIDE = {"measurements": MEASUREMENTS, "page": PAGE, "reading": READING}
"""What stands beside the rows, by the key that lists it."""

_UNLISTED = frozenset({DOCUMENT, SIGNATURES})
"""What stands in a release and is no part that it lists."""
_OF_SYSTEMS = frozenset({".DS_Store", "desktop.ini", "Thumbs.db"})
"""Files that systems leave in folders that are looked at."""
FILE_OF_ROWS = (
    r"(data|tables)\.[a-z0-9]+"
    r'|data/([^/\\"=\x00-\x1f]+=[^/\\"\x00-\x1f]+/)*[A-Za-z0-9_][A-Za-z0-9_.-]*\.parquet'
)
"""What may be listed, below folders that name values too: never a path out of the folder."""
_FILE = pattern_on_demand(FILE_OF_ROWS)
_DIGEST = pattern_on_demand(r"[0-9a-f]{64}")
_REMEDY = "take the folder as it was made, or publish again"

Stamp = tuple[int, int, int, int]


@dataclass(frozen=True)
class _VerifiedFiles:
    """The files of a release in their order, which are those that its document lists."""

    folder: Path
    names: tuple[str, ...]
    stamps: tuple[Stamp, ...]
    """What tells each file from another that takes its place: device, inode, bytes, time."""

    @property
    def whole(self) -> Path:
        """What is read as one table: the file, or the folder of the parts."""
        return whole_of(self.folder, self.names)

    def require_unchanged(self) -> None:
        """Raise ``RefusedError`` where a file was replaced since its hash was compared."""
        if self.stamps != _stamps(self.folder, self.names):
            msg = f"{self.folder}: the release was replaced while it was read; run this again"
            raise RefusedError(msg)


def release_document(folder: Path) -> Json:
    """What ``release.json`` says in a folder; raises ``TableError`` where there is none."""
    path = folder / DOCUMENT
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        found = (
            f"this is not a release: it has no {DOCUMENT}"
            if folder.is_dir()
            else "there is no such file or folder"
        )
        msg = f"{folder}: {found}; name the folder of a release"
        raise TableError(msg) from None
    except OSError as error:
        msg = f"{path}: it cannot be read ({error.strerror}); name the folder of a release"
        raise TableError(msg) from None
    except json.JSONDecodeError as error:
        msg = (
            f"{path}: line {error.lineno}, column {error.colno}: this is not JSON; name the folder "
            "of a release, as it was made"
        )
        raise TableError(msg) from None
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        msg = f"{path}: this does not describe a release of Voile; name the folder of a release"
        raise TableError(msg)
    return document


def require_hashes(document: Mapping[str, object], folder: Path) -> None:
    """Raise ``RefusedError`` where a document lists no file, or one without its hash."""
    listed = document.get("data")
    if not isinstance(listed, list) or not all(
        isinstance(part, dict) and "sha256" in part for part in listed
    ):
        _listed(document, folder)


def manifest_of(folder: Path, files: Sequence[str]) -> list[Json]:
    """What ``release.json`` lists of the files that an engine has written to a folder."""
    return [
        {"file": name, "bytes": (folder / name).stat().st_size, "sha256": digest_of(folder / name)}
        for name in files
    ]


def verified_files(document: Mapping[str, object], folder: Path) -> _VerifiedFiles:
    """The files of a release, each of which has the length and the hash that its document lists.

    Raises ``RefusedError`` for the first that has not, where the folder has others, and where no
    hashes are listed; ``InputError`` where a file cannot be read.
    """
    names = tuple(part["file"] for part in _listed(document, folder))
    stamps = _stamps(folder, names)
    for what in _changes(document, folder):
        raise RefusedError(f"{what}; {_REMEDY}")
    found = _VerifiedFiles(folder, names, stamps)
    found.require_unchanged()
    return found


def whole_of(folder: Path, names: Sequence[str]) -> Path:
    """What is read as one table of the files of a release: one of them, or their folder."""
    return folder / names[0] if len(names) == 1 else folder / "data"


def changed_files(document: Mapping[str, object], folder: Path) -> list[str]:
    """What is not as ``release.json`` lists it, a clause each."""
    try:
        return list(_changes(document, folder))
    except (RefusedError, InputError) as error:
        return [str(error)]


def digest_of(file: Path) -> str:
    """The SHA-256 of a file in hexadecimal; raises ``InputError`` where it cannot be read."""
    try:
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        reason = error.strerror or "input or output error"
        msg = f"{file}: it cannot be read ({reason}); check its permissions and the disk"
        raise InputError(msg) from None


def _listed(document: Document, folder: Path, key: str = "data") -> list[Document]:
    """What a document lists; raises ``RefusedError`` where that is no list of files and hashes."""
    listed = document.get(key)
    try:
        stated = [
            part["file"]
            for part in listed or ()
            if isinstance(part["bytes"], int)
            and (_FILE.fullmatch(part["file"]) if key == "data" else part["file"] == BESIDE[key])
            and _DIGEST.fullmatch(part["sha256"])
        ]
    except (KeyError, TypeError, IndexError):
        stated = []
    if not stated or len(stated) != len(listed or ()):
        msg = (
            f"{folder / DOCUMENT}: it lists no file with its SHA-256, so that altered rows "
            f"could not be told from published ones; {_REMEDY}"
        )
        raise RefusedError(msg)
    return list(listed or ())


def _changes(document: Document, folder: Path) -> Iterator[str]:
    """What is not as it is listed; raises as ``_listed`` and ``digest_of`` do."""
    listed = _listed(document, folder)
    for key in BESIDE.keys() & document.keys():
        listed += _listed(document, folder, key)
    for part in listed:
        file = folder / part["file"]
        if not file.is_file():
            yield f"{file}: this part of the release is missing"
        elif file.stat().st_size != part["bytes"] or digest_of(file) != part["sha256"]:
            yield f"{file}: this file was changed since it was published"
    names = {part["file"] for part in listed}
    above = {str(each) for name in names for each in PurePosixPath(name).parents}
    there = {file.relative_to(folder).as_posix() for file in folder.rglob("*")}
    for name in sorted(there - names - above - _UNLISTED):
        if PurePosixPath(name).name not in _OF_SYSTEMS:
            yield f"{folder / name}: the release does not list this file"


def _stamps(folder: Path, names: Sequence[str]) -> tuple[Stamp, ...]:
    """What tells the files from others; a missing one has no stamp."""
    found = []
    for name in names:
        try:
            of = (folder / name).stat()
        except OSError:
            continue
        found.append((of.st_dev, of.st_ino, of.st_size, of.st_mtime_ns))
    return tuple(found)


@cache
def verification_page() -> str:
    """The whole page."""
    script = f"{_part('verify.js')}{_part('page.js')}"
    style = _part("verify.css")
    schemas = {
        "release": json.loads(_part("release.schema.json")),
        "wording": json.loads(_part("wording.json")),
    }
    page = _part("page.html")
    for mark, text in (
        ("{scripts}", _allowed(script)),
        ("{styles}", _allowed(style)),
        ("{style}", style),
        ("{schemas}", json.dumps(schemas, separators=(",", ":"))),
        ("{script}", script),
    ):
        page = page.replace(mark, text, 1)
    return page


def _part(name: str) -> str:
    return (files("voile.release") / "browser" / name).read_text(encoding="utf-8")


def _allowed(text: str) -> str:
    """What a policy says of a script or a style that stands in the page."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


FORMAT = 1
"""Of ``release.json``."""

_LONGEST = 200
"""Characters of a name that a release has or states."""
_METHOD = "a table with the name of the method and its parameters"


def _named(method: Mapping[str, object]) -> Document:
    if not isinstance(method.get("name"), str):
        msg = "the method needs a name"
        raise ValueError(msg)
    return method


class ListedFile(Value):
    """A file beside ``release.json``, by whose hash altered rows are told."""

    file: Annotated[
        str,
        Field(pattern=f"^({FILE_OF_ROWS})$"),
        Says('the name of a file of rows, for example "data.csv"'),
    ]
    bytes: Annotated[int, Field(ge=0)]
    sha256: Annotated[
        str, Field(pattern=r"^[0-9a-f]{64}$"), Says("a SHA-256 of 64 hexadecimal digits")
    ]


class _ListedMeasurements(ListedFile):
    file: Literal["measurements.parquet"]


class _ListedPage(ListedFile):
    file: Literal["verify.html"]


class _ListedReading(ListedFile):
    file: Literal["index.html"]


class SeriesPlace(Value):
    """Where a release stands in a series of releases of one growing table."""

    name: Annotated[str, Field(min_length=1, max_length=_LONGEST)]
    version: Annotated[int, Field(ge=1)]
    """1 for the first release."""


class StatedGuarantee(Value):
    """What is promised: the first claim, its parameters beside these keys, and further ones."""

    model_config = ConfigDict(extra="allow")

    kind: str
    statement: str
    assumes: Several[str]
    leaves_open: Several[str] = ()
    """Those of ``assumes`` that say what the promise does not cover."""
    further: Several[Document] = ()


class StatedRelease(Value):
    """What ``release.json`` says of every release, whatever form it has."""

    format: Annotated[
        Literal[1], Says("1: this is no format of this version of Voile", within=False)
    ]
    voile: Annotated[str, Field(min_length=1, max_length=_LONGEST)]
    """The version of Voile that made the release."""
    method: Annotated[Document, AfterValidator(_named), Says(_METHOD, within=False)]
    guarantee: StatedGuarantee
    rows: Annotated[int, Field(ge=0)]
    publishable: bool
    release_id: Annotated[str, Field(min_length=1, max_length=_LONGEST)]
    types: Mapping[str, Kind | Literal["single"]]
    """Of the values of each column; ``single`` stands for decimals of 32 bits."""
    open_questions: Annotated[int, Field(ge=1)] | None = None
    reading: Annotated[Several[_ListedReading], Field(min_length=1)] | None = None


class ReleaseDocument(Disclosure, StatedRelease):
    """What ``release.json`` says of rows: how columns are shown, and all else."""

    roles: Mapping[str, Several[str]]
    accept_questions: Literal[True] | None = None
    data_set: Annotated[str, Field(min_length=1, max_length=_LONGEST)] | None = None
    series: SeriesPlace | None = None
    data: Annotated[Several[ListedFile], Field(min_length=1)]
    measurements: Annotated[Several[_ListedMeasurements], Field(min_length=1)] | None = None
    page: Annotated[Several[_ListedPage], Field(min_length=1)] | None = None

    @property
    def disclosure(self) -> Disclosure:
        """How the columns are shown."""
        return Disclosure(columns=self.columns, groups=self.groups, sampled=self.sampled)

    @staticmethod
    def stated_in(document: Mapping[str, object], folder: Path) -> ReleaseDocument:
        """What a document of a folder states; ``TableError`` names the place that is wrong."""
        stated: ReleaseDocument = read(
            ReleaseDocument, document, str(folder / DOCUMENT), TableError, public=True
        )
        return stated


def release_schema(kind: type[StatedRelease] = ReleaseDocument) -> Json:
    """The JSON Schema of ``release.json``, with the claims of Voile's own methods."""
    schema, claims = json_schema(kind), json_schema(StatedClaim)
    schema["$defs"] |= claims.pop("$defs", {})
    stated = schema["$defs"]["StatedGuarantee"]["properties"]
    beside = {key: stated[key] for key in ("statement", "assumes", "leaves_open")}
    beside["further"] = {"type": "array", "items": {"$ref": "#/$defs/Claim"}}
    known = []
    for claim in claims["anyOf"]:
        whole = schema["$defs"][claim["$ref"].rpartition("/")[2]] if "$ref" in claim else claim
        required = [*dict.fromkeys((*whole.get("required", ()), "kind", "statement", "assumes"))]
        known.append(
            {**whole, "properties": {**whole["properties"], **beside}, "required": required}
        )
    schema["$defs"] |= {"Claim": claims, "StatedGuarantee": {"anyOf": known}}
    title = "Voile: a release (public)"
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": title}


HIDDEN = ".voile-"
"""How the name of an unfinished folder begins."""


class _Writable(Protocol):
    """What a release is for its folder."""

    @property
    def table(self) -> PublishedTable:
        """Its data."""

    @property
    def measurements(self) -> PublishedTable | None:
        """Noisy tables beside them, if there are some."""

    def document(self) -> Json:
        """What ``release.json`` says of it."""


def check_new_folder(path: str | Path) -> Path:
    """A path at which a folder can appear; raises ``InputError`` where something stands there."""
    place = Path(path)
    try:
        taken = place.exists() or place.is_symlink()
    except OSError as error:
        msg = f"{place}: no folder can stand there ({error.strerror}); choose another path"
        raise InputError(msg) from None
    if taken:
        msg = f"{place}: something stands there already; name a folder that does not exist yet"
        raise InputError(msg)
    parent = place.absolute().parent
    if not parent.is_dir():
        msg = f"{place}: the folder {parent} does not exist; make it first"
        raise InputError(msg)
    if not os.access(parent, os.W_OK | os.X_OK):
        msg = f"{place}: no permission to write in {parent}"
        raise InputError(msg)
    return place


def format_for(release: _Writable, asked: Format | None, usual: Format) -> Format:
    """The format in which a release is written: the one asked for, or the usual one if it can be.

    Where the usual one cannot hold the release, that is Parquet.  Raises ``InputError`` where the
    one asked for cannot.
    """
    why = refusal(asked or usual, release.table.columns, release.table.rows)
    if why is None:
        return asked or usual
    if asked is None:
        return "parquet"
    msg = f"--format {asked}: {why}"
    raise InputError(msg)


def write_release(release: _Writable, path: str | Path, file_format: Format = "parquet") -> Path:
    """Write a release to a folder that does not exist yet; returns the folder.

    Raises ``InputError`` where the folder exists or cannot be written; nothing is left then.
    """
    place = check_new_folder(path)
    with appearing_folder(place) as folder:
        files = release.table.write(folder, file_format)
        write_measurements(release, folder)
        write_document(release, folder, manifest_of(folder, files))
    return place


def write_measurements(release: _Writable, folder: Path) -> None:
    """Write the noisy tables of a release that has some, durably."""
    if release.measurements is None:
        return
    hidden = folder / f"{HIDDEN}measurements"
    hidden.mkdir()
    (written,) = release.measurements.write(hidden, "parquet")
    (hidden / written).rename(folder / MEASUREMENTS)
    hidden.rmdir()
    sync(folder)


def write_document(release: _Writable, folder: Path, data: Sequence[Mapping[str, object]]) -> None:
    """Write ``release.json``, last of all, beside the files that ``data`` lists.

    Beside it stands ``verify.html``, by which who has no Python recounts the release in a browser.
    """
    write_text(folder / PAGE, verification_page())
    described = release.document() | {"data": data}
    for key, name in BESIDE.items():
        if (folder / name).exists():
            described[key] = manifest_of(folder, [name])
    ReleaseDocument.stated_in(described, folder)
    document = json.dumps(described, indent=2, ensure_ascii=False)
    write_text(folder / DOCUMENT, document + "\n")


class UnseenFolder:
    """A hidden folder that is renamed to its place, or removed.

    ``what`` it holds is for messages.  Raises ``InputError`` where it cannot be made.
    """

    def __init__(self, place: Path, what: str = "the release", mode: int = 0o755) -> None:
        self._place, self._what, self._mode = place, what, mode
        parent = place.absolute().parent
        try:
            self.path = Path(tempfile.mkdtemp(prefix=HIDDEN, suffix=".partial", dir=parent))
        except OSError as error:
            msg = f"{place}: the folder cannot be made ({error.strerror}); choose another path"
            raise InputError(msg) from None

    @contextmanager
    def writing(self) -> Iterator[Path]:
        """Around what fills the folder: ``InputError`` names the place where the disk fails."""
        try:
            yield self.path
        except OSError as error:
            reason = error.strerror or "input or output error"
            msg = f"{self._place}: {self._what} cannot be written ({reason}); "
            msg += "mend the disk and run this again"
            raise InputError(msg) from None

    def appear(self) -> None:
        """Rename the folder to its place, durably or not at all; raises ``InputError``."""
        with self.writing() as hidden:
            hidden.chmod(self._mode & ~_umask())
            sync(hidden)
            check_new_folder(self._place)
            hidden.rename(self._place)
            try:
                sync(self._place.absolute().parent)
            except BaseException:
                # A release that may be gone after a crash has not appeared.
                self._place.rename(hidden)
                raise

    def remove(self) -> None:
        """Remove the folder, unless it has appeared."""
        shutil.rmtree(self.path, ignore_errors=True)


@contextmanager
def appearing_folder(place: Path, what: str = "the release", mode: int = 0o755) -> Iterator[Path]:
    """An ``UnseenFolder`` to be filled, that appears at the end, or is removed.

    Raises ``InputError`` where the disk fails; nothing is left then.
    """
    unseen = UnseenFolder(place, what, mode)
    try:
        with unseen.writing() as folder:
            yield folder
        unseen.appear()
    finally:
        unseen.remove()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


_PLACES = (Path(), Path("release"))
_LARGEST = 2**26
"""Bytes of a description that is looked at."""


@dataclass(frozen=True)
class ReleaseBeside:
    """A published release of a series or of a data set with a budget."""

    folder: Path
    release_id: str
    series: str | None
    version: Any
    """Its number in the series, as it says."""
    data_set: str | None


FileId = tuple[int, int]
"""What tells a file from every other: its device, and its number there."""


def releases_beside(
    place: Path | None, named: Sequence[Path] = (), seen: set[FileId] | None = None
) -> Iterator[ReleaseBeside]:
    """The published releases in the folder in which a place stands, and in those that are named.

    A folder that is named is a release, or holds some.  What was ``seen`` is left out, and noted
    there.  Raises ``InputError`` where there is no such folder.
    """
    folders = [] if place is None else _inside(place.absolute().parent)
    for folder in named:
        if not folder.is_dir():
            msg = f"--known {folder}: there is no such folder; name a release, or one with releases"
            raise InputError(msg)
        folders += [folder, *_inside(folder)]
    seen = set() if seen is None else seen
    for folder in folders:
        for deeper in (folder / deeper for deeper in _PLACES):
            document = _document(deeper / DOCUMENT, seen)
            series = document.get("series")
            of = series if isinstance(series, dict) else {}
            if (of or document.get("data_set")) and document.get("publishable") is not False:
                yield ReleaseBeside(
                    folder=deeper,
                    release_id=str(document.get("release_id")),
                    series=of.get("name"),
                    version=of.get("version"),
                    data_set=document.get("data_set"),
                )


def _inside(folder: Path) -> list[Path]:
    """The folders in a folder, but for those never finished; none where it cannot be read."""
    try:
        return sorted(one for one in folder.iterdir() if not one.name.startswith(HIDDEN))
    except OSError:
        return []


def _document(path: Path, seen: set[FileId]) -> Json:
    """What a file says as a JSON object; nothing where there is none, or it was seen."""
    try:
        status = path.stat()
        this = status.st_dev, status.st_ino
        if this in seen or not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST:
            return {}
        seen.add(this)
        document = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}
