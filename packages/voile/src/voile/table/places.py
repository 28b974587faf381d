"""Where a table stands: a file or folder, perhaps with the part of it that is meant, or a database.

    people.csv                              a file
    people.xlsx#Patients                    a sheet of a workbook
    people.csv#header=3&decimal=,           how it is laid out; see ``schema.layout``
    survey.sav#codes                        the codes of a file with value labels, or #labels
    sqlite:hospital.db#stays                a table of a database
    duckdb:hospital.duckdb#SELECT * FROM stays WHERE year = 2024
    postgresql://host/hospital#clinic.stays
    s3://bucket/people.parquet              what stands in a store, or on the web: see ``remote``
    people/*.parquet, people/sex=f/...      patterns and Hive folders, Delta and Iceberg: ``lakes``

What stands behind ``#`` says which part; a file whose name holds ``#`` is taken as it is.  An
address of a database holds no password: that is the business of the environment and of the
driver's own files (``PGPASSWORD``, ``~/.pgpass``, ``~/.pg_service.conf``).

Whatever is said of a place names the file or the database and, of queries and of whatever else
might be a statement, no text: a literal in it may be private.

What stands at a path: the files of a table in reading order, and their format.

The first bytes of a file decide its format, not its name; the name only has to make sense for files
that begin like none of these, and tells GPX from CSV.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeGuard

from voile.table.formats.registry import Format
from voile.table.lakes import is_brought, natural_order, near
from voile_base.errors import InputError, TableError, refuse_out_of_memory
from voile_base.ondemand import dataclass, on_demand, pattern_on_demand

if TYPE_CHECKING:
    from voile.schema import layout as layouts
    from voile.schema.layout import InputLayout
else:
    layouts = on_demand("voile.schema.layout")

__all__ = [
    "Address",
    "LaidOut",
    "Place",
    "Scheme",
    "SourceFiles",
    "SourceFormat",
    "corrupt",
    "file_and_part",
    "is_place",
    "laid_out",
    "place_of",
    "readable",
    "unreadable",
]


Scheme = Literal["duckdb", "sqlite", "postgresql"]

_ADDRESS = pattern_on_demand(r"(duckdb|sqlite|postgresql|postgres):(.*)", re.DOTALL | re.IGNORECASE)
_PASSWORD = pattern_on_demand(r"//[^/@]*:[^/@]*@|pass(?:word|wd|phrase)\s*=", re.IGNORECASE)
_QUERY = pattern_on_demand(r"\s*(select|with)\b", re.IGNORECASE)
_OTHER = pattern_on_demand(
    r"\s*(insert|update|delete|drop|create|alter|replace|truncate|merge|copy|attach|pragma|call|"
    r"explain|values|set|show|describe|grant|vacuum|begin|commit|from|table)\s",
    re.IGNORECASE,
)
"""What other statements begin with; a table of such a name stands in quotes."""
_NO_STATEMENT = pattern_on_demand(
    r"""'(?:[^']|'')*'|"[^"]*"|`[^`]*`|--[^\n]*|/\*.*?\*/|\$(\w*)\$.*?\$\1\$""", re.DOTALL
)
"""Texts, quoted names and comments, in which a semicolon ends nothing."""
_PLAIN = pattern_on_demand(r"[\w$.-]+")
_TABLE = pattern_on_demand(r'("[^"]+"|[\w$ -]+)(\.("[^"]+"|[\w$ -]+)){0,2}')


@dataclass(frozen=True)
class Address:
    """A table of a database, or what a query of it gives.

    Raises ``InputError`` where it holds a password, or asks for nothing or for something else.
    """

    scheme: Scheme
    location: str
    """A file, or what the server's driver takes."""
    asked: str
    """The name of a table, or a SELECT."""

    def __post_init__(self) -> None:
        if _PASSWORD.search(self.location):
            msg = (
                f"the {self.scheme} address holds a password, which shells and logs would keep; "
                "leave it out, and set PGPASSWORD or write it into ~/.pgpass"
            )
            raise InputError(msg)
        if self._statements > 1:
            msg = (
                f"{self.scheme}: behind # stand {self._statements} statements, parted by "
                "semicolons, of which a database might run any; ask for one table, or by one SELECT"
            )
            raise InputError(msg)
        if not (self.is_query or self._is_table):
            msg = (
                f"{self.scheme}: the address must say what to read, a table or a SELECT, behind "
                f"#: {self.scheme}:...#stays"
            )
            raise InputError(msg)

    @property
    def is_query(self) -> bool:
        """Whether it asks for more than a table by its name."""
        return _QUERY.match(self.asked) is not None

    @property
    def _is_table(self) -> bool:
        asked = self.asked.strip()
        return _TABLE.fullmatch(asked) is not None and _OTHER.match(asked) is None

    @property
    def _statements(self) -> int:
        """How many statements there are, as far as semicolons part them."""
        bare = _NO_STATEMENT.sub(" ", self.asked)
        return sum(bool(part.strip()) for part in bare.split(";"))

    @property
    def statement(self) -> str:
        """The SELECT that it asks for."""
        if self.is_query:
            return self.asked.strip().rstrip("; \n\t")
        parts = re.findall(r'"[^"]+"|[^."]+', self.asked.strip())
        quoted = (part if part.startswith('"') else f'"{part}"' for part in parts)
        return f"SELECT * FROM {'.'.join(quoted)}"  # noqa: S608 - each part is quoted

    def __str__(self) -> str:
        asked = self.asked.strip()
        what = "a query" if self.is_query else asked if _PLAIN.fullmatch(asked) else "a table"
        return f"{self.scheme}:{self.location}#{what}"


@dataclass(frozen=True)
class LaidOut:
    """A file whose table does not begin with names in its first row, or has numbers of its own."""

    file: Path
    layout: InputLayout

    def __str__(self) -> str:
        return f"{self.file}#{self.layout}"


Place = Path | Address | LaidOut


def is_place(source: object) -> TypeGuard[str | Place]:
    """Whether a table stands somewhere, and is no data frame."""
    return isinstance(source, str | Path | Address | LaidOut)


def laid_out(place: Place, layout: InputLayout) -> Place:
    """A place with the layout that a plan states, unless the place has its own.

    Raises ``InputError`` where both name another sheet.
    """
    if layout == layouts.USUAL or isinstance(place, LaidOut | Address):
        return place
    file, part = file_and_part(place)
    if part is not None and layout.sheet not in {None, part}:
        msg = f"{file}: #{part} and the plan's [input] sheet = {layout.sheet!r} name two sheets"
        raise InputError(msg)
    return LaidOut(file, replace(layout, sheet=part) if part is not None else layout)


def place_of(source: str | Place) -> Place:
    """Where a table stands; of many files or a store a copy, which stays until the process ends.

    Raises ``InputError`` for an address that cannot be, ``TableError`` where it cannot be read.
    """
    if is_brought(source):
        assert isinstance(source, str | Path)
        return near(source)
    if isinstance(source, Path):
        return _with_layout(source)
    if isinstance(source, Address | LaidOut):
        return source
    match = _ADDRESS.fullmatch(source)
    if match is None or Path(source).exists():
        _refuse_stray_query(source)
        return _with_layout(Path(source))
    location, _, asked = match[2].partition("#")
    scheme = match[1].lower()
    if scheme == "postgres":
        scheme = "postgresql"
    return Address(scheme, location, asked)  # type: ignore[arg-type]


def _with_layout(path: Path) -> Path | LaidOut:
    """A path, or the file whose layout it states."""
    file, part = file_and_part(path)
    layout = None if part is None else layouts.layout_of_text(part)
    return path if layout is None else LaidOut(file, layout)


def _refuse_stray_query(source: str) -> None:
    """Raise ``InputError`` for a query behind what is no address, which no message may repeat."""
    _, mark, asked = source.partition("#")
    if mark and (_QUERY.match(asked) or _OTHER.match(asked)) and not Path(source).exists():
        msg = (
            "a query is asked of what is no address of a database: that begins with duckdb:, "
            "sqlite: or postgresql:, such as sqlite:hospital.db#stays"
        )
        raise InputError(msg)


def file_and_part(path: Path) -> tuple[Path, str | None]:
    """A file, and the part of it that is meant; None for the whole."""
    if "#" not in path.name or path.exists():
        return path, None
    name, _, part = path.name.partition("#")
    return (path.with_name(name), part) if name else (path, None)


SourceFormat = Format | Literal["arrow", "gpx", "sas", "database"]
_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"PAR1", "parquet"),
    (b"ARROW1\0\0", "ipc file"),
    (b"\xff\xff\xff\xff", "ipc stream"),
    (b"\x1f\x8b", "gzip"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    *((b"BZh%d1AY&SY" % level, "bz2") for level in range(1, 10)),
)
_FOREIGN: tuple[tuple[bytes, str], ...] = (
    (b"PARE", "an encrypted Parquet file"),
    (b"FEA1", "a Feather file of version 1"),
    (b"PK\x03\x04", "a ZIP archive or a spreadsheet"),
    (b"\xd0\xcf\x11\xe0", "an old spreadsheet"),
    (b"\xfd7zXZ\x00", "an xz archive"),
    (b"\x04\x22\x4d\x18", "an lz4 archive"),
    (b"SQLite format 3\x00", "an SQLite database"),
)
_COLUMN_LIKE = {b"PAR1", b"PARE", b"FEA1"}  # CSV files may begin with columns of these names
_COMPRESSED = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2"}
_CSV_SUFFIXES = {"", ".csv", ".tsv", ".tab", ".psv", ".txt", ".dat", ".data"}
_PARQUET_SUFFIXES = {".parquet", ".parq", ".pq"}
_BINARY_SUFFIXES = {
    **dict.fromkeys(_PARQUET_SUFFIXES, "Parquet"),
    **dict.fromkeys((".arrow", ".arrows", ".ipc", ".feather"), "Arrow IPC"),
}
_SUPPORTED = (
    "CSV, Parquet, Arrow IPC, GPX, JSON, GeoJSON, JSON lines, a workbook, a file of SPSS, Stata or "
    "SAS, or a folder of Parquet files"
)


@dataclass(frozen=True)
class SourceFiles:
    """What stands at a path: the files in reading order, and how each is to be read."""

    path: Path
    files: tuple[Path, ...]
    encoding: str
    """A name of ``_MAGIC``, "csv" or "gpx"."""

    @property
    def format(self) -> SourceFormat:
        """What the table is called by."""
        if self.encoding == "parquet":
            return "parquet"
        if self.encoding == "gpx":
            return "gpx"
        return "arrow" if self.encoding.startswith("ipc") else "csv"

    @property
    def compression(self) -> str | None:
        """Of a CSV file."""
        return self.encoding if self.encoding in _COMPRESSED.values() else None

    @staticmethod
    def locate(path: Path) -> SourceFiles:
        """Find the files at a path and tell their format from their first bytes."""
        with readable(path):
            if path.is_dir():
                return SourceFiles(path, _folder_files(path), "parquet")
            if path.exists() and not path.is_file():
                raise TableError(
                    f"{path}: this is neither a file nor a folder; save the table first"
                )
            return SourceFiles(path, (path,), _sniff(path, _head(path)))


def _head(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.read(16)


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turns refusals of the operating system into messages."""
    try:
        yield
    except FileNotFoundError:
        raise TableError(f"{path}: there is no such file or folder; check the path") from None
    except OSError as fault:
        refuse_out_of_memory(fault)
        raise unreadable(path, fault) from None


def _unknown_suffix(path: Path) -> TableError:
    return TableError(
        f"{path}: files named {path.suffix.lower()} are not known; save the table as {_SUPPORTED} "
        "(a CSV file needs a name that ends in .csv, .tsv or .txt)"
    )


def _sniff(path: Path, head: bytes) -> str:
    printable = head.isascii() and all(byte >= ord(" ") or byte in b"\t\r\n" for byte in head)
    passed_over = _COLUMN_LIKE if printable else set()
    for magic, encoding in _MAGIC:
        if head.startswith(magic) and magic not in passed_over:
            return encoding
    for magic, what in _FOREIGN:
        if head.startswith(magic) and magic not in passed_over:
            raise TableError(f"{path}: this is {what}; save the table as {_SUPPORTED}")
    if not head:
        raise TableError(
            f"{path}: the file is empty; it needs the names of the columns and at least one row"
        )
    suffix = path.suffix.lower()
    if suffix == ".gpx":
        return "gpx"
    if suffix in _BINARY_SUFFIXES:
        raise corrupt(path, _BINARY_SUFFIXES[suffix])
    if suffix in _COMPRESSED:
        raise corrupt(path, _COMPRESSED[suffix])
    if suffix not in _CSV_SUFFIXES:
        raise _unknown_suffix(path)
    return "csv"


def _folder_files(folder: Path) -> tuple[Path, ...]:
    """The Parquet files of a folder, in the order of their names with numbers as numbers."""
    if any(_is_parquet_name(file) and file.parent != folder for file in folder.rglob("*")):
        raise TableError(
            f"{folder}: folders inside the folder hold Parquet files; only the files directly in "
            "the folder can be read, so give the table as one folder without others in it"
        )
    files = [file for file in folder.iterdir() if _is_parquet_name(file)]
    if not files:
        raise TableError(f"{folder}: the folder holds no Parquet file (named .parquet)")
    for file in files:
        if _sniff(file, _head(file)) != "parquet":
            raise corrupt(file, "Parquet")
    return tuple(sorted(files, key=lambda file: natural_order(file.name)))


def _is_parquet_name(file: Path) -> bool:
    return file.suffix.lower() in _PARQUET_SUFFIXES and not file.name.startswith((".", "_"))


def unreadable(path: Path, fault: OSError) -> TableError:
    """What is said of a file that the operating system refuses to read."""
    reason = (fault.strerror or "input or output error").lower()
    return TableError(f"{path}: the file cannot be read ({reason}); check its permissions and path")


def corrupt(path: Path, format_name: str) -> TableError:
    """What is said of a file that cannot be read to its end."""
    return TableError(
        f"{path}: the file is not whole or not valid {format_name}; write it again from its source"
    )
