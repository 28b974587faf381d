"""Tables of many files: patterns, Hive folders, Delta and Iceberg tables, in and out.

    people/part-*.parquet                 all files that a pattern names
    people/sex=f/zip=00120/a.parquet      a Hive folder: values of columns in the names of folders;
                                          of CSV files, too, which are read as one
    people/ with _delta_log               a Delta table; ``#version=3`` is an earlier state
    people/ with metadata                 an Iceberg table of this disk; ``#snapshot=...``
    delta:s3://bucket/people              a Delta table, by its address
    iceberg:office/clinic.stays           a table of the catalogue ``office``

Such a table, and whatever stands in a store (``remote``), becomes plain files of a folder
that its owner alone may read, and that goes with the command or the call: so every engine reads
the same rows in one order, and none is told of a credential.  Catalogues are configured as
pyiceberg has them (``~/.pyiceberg.yaml``, ``PYICEBERG_CATALOG__OFFICE__URI``), stores by their
usual chain.

Values of a Hive folder are texts.  A column of them is numbers, days or truth values only where
every value is written as the type writes it, so that ``00120`` stays what it is, and a plan that
wants texts gets them back whole.  ``__HIVE_DEFAULT_PARTITION__`` is a missing value.  A folder
whose list of files changes while it is read is refused, and so are files with different columns.

Libraries: deltalake (the extra ``delta``) and pyiceberg (``iceberg``).  Cost: one pass over the
bytes and room for them on the disk; files that a pattern names are linked, and not copied.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any, Literal
from urllib.parse import unquote

from voile.table.remote import RemotePlace, is_remote, refuse_full, told_of
from voile_base.errors import (
    EmptyTableError,
    InputError,
    TableError,
    VoileError,
    refuse_out_of_memory,
)
from voile_base.ondemand import dataclass, on_demand, pattern_on_demand

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

    from voile.table import arrays
    from voile.table.formats import delimited
else:
    delimited = on_demand("voile.table.formats.delimited")
    pl = on_demand("polars")
    pa = on_demand("pyarrow")
    arrays = on_demand("voile.table.arrays")

pq = on_demand("pyarrow.parquet")
deltalake = on_demand("deltalake")
iceberg_catalogs = on_demand("pyiceberg.catalog")
iceberg_errors = on_demand("pyiceberg.exceptions")
iceberg_tables = on_demand("pyiceberg.table")

__all__ = [
    "HIVE_MISSING",
    "LakeTable",
    "brought",
    "flattened",
    "is_brought",
    "natural_order",
    "near",
    "near_parts",
]

HIVE_MISSING = "__HIVE_DEFAULT_PARTITION__"
_STATE = pattern_on_demand(r"(.*)#(version|snapshot)=(\d+)", re.DOTALL)
_TABLE = pattern_on_demand(r"(delta|iceberg):(.+)", re.DOTALL)
_IN_CATALOGUE = pattern_on_demand(r"([\w-]+)/(\w+(?:\.\w+)+)")
_GLOB = pattern_on_demand(r"[*?\[]")
_PARQUET = (".parquet", ".parq", ".pq")
_REFUSED_BY_DELTA = set(" ,;{}()\n\t=")
_RELEASE = "voile.release_id"
_NO_TABLE = "there is no such table; check the address"
_CHANGED = "somebody else changed the table meanwhile, and nothing was put; run this again"
_FAULTS = {
    **dict.fromkeys(("TableNotFoundError", "NoSuchTableError", "FileNotFoundError"), _NO_TABLE),
    **dict.fromkeys(("CommitFailedException", "CommitFailedError"), _CHANGED),
    "NoSuchNamespaceError": "the catalogue has no such namespace; make it first",
}
"""What is said of faults of the libraries, by their names."""

Kind = Literal["delta", "iceberg", "hive", "pattern"]


def natural_order(name: str) -> tuple[list[str | int], str]:
    """Sorts ``part-2`` before ``part-10``; texts and numbers alternate, so they never meet."""
    pieces = re.split(r"([0-9]+)", name)
    return [int(p) if i % 2 else p for i, p in enumerate(pieces)], name


# -- where such tables stand --------------------------------------------------------------------


def is_brought(source: object) -> bool:
    """Whether a copy is read in place of what stands at a place."""
    return is_remote(source) or _kind_of(source) is not None


@contextmanager
def brought(source: Any) -> Iterator[Any]:
    """What is to be read in place of a source: itself, or a copy as plain files.

    Raises ``TableError`` where it cannot be read, ``InputError`` for an address that cannot be.
    """
    if not is_brought(source):
        yield source
        return
    with tempfile.TemporaryDirectory(prefix="voile-remote-") as folder:
        yield _bring(source, Path(folder))


def near(source: str | Path) -> Path:
    """A copy of what stands at a place, which stays until this process ends; as ``brought``."""
    return _bring(source, _lasting_folder())


def near_parts(root: Path, files: Sequence[Path], texts: Sequence[str]) -> Path:
    """The parts of a published table as plain files, which stay until this process ends.

    As ``flattened``; the same files are copied once.
    """
    asked = (root, tuple(_stamps(files)), tuple(texts))
    if asked not in _COPIES or not _COPIES[asked].is_dir():
        _COPIES[asked] = flattened(root, _lasting_folder(), files, texts)
    return _COPIES[asked]


_COPIES: dict[object, Path] = {}


def _lasting_folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="voile-remote-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _kind_of(source: object) -> Kind | None:
    """What kind of many files stands at a place of this disk, or is named; None for none."""
    if not isinstance(source, str | Path):
        return None
    text = str(source)
    try:
        if Path(text).is_file():
            return None
        if named := _TABLE.fullmatch(text):
            return "delta" if named[1] == "delta" else "iceberg"
        stated = _STATE.fullmatch(text)
        folder = Path(stated[1] if stated else text)
        if folder.is_dir():
            return _kind_of_folder(folder)
        return "pattern" if _GLOB.search(text) and "#" not in text and ":" not in text else None
    except (OSError, ValueError):  # which is said where the place is read
        return None


def _kind_of_folder(folder: Path) -> Kind | None:
    if (folder / "_delta_log").is_dir():
        return "delta"
    if any((folder / "metadata").glob("*.metadata.json")):
        return "iceberg"
    with os.scandir(folder) as entries:
        folders = (each.name for each in entries if each.is_dir())
        return "hive" if any("=" in name and name[0] != "." for name in folders) else None


def _bring(source: str | Path, folder: Path) -> Path:
    """Make plain files in a folder of what stands at a place."""
    kind = _kind_of(source)
    if kind is None and (table := _delta_in_store(source)):
        return table.copied(folder)
    if kind is None:
        source = RemotePlace.of(source).fetch(folder / "objects")
        kind = _kind_of(source)
    if kind in ("delta", "iceberg"):
        return LakeTable.of(source).copied(folder)
    if kind == "hive":
        return flattened(Path(source), folder)
    return _matching(Path(source), folder) if kind == "pattern" else Path(source)


def _delta_in_store(source: str | Path) -> LakeTable | None:
    """The Delta table that stands below a prefix of a store; None where there is none."""
    stated = _STATE.fullmatch(str(source))
    place = RemotePlace.of(stated[1] if stated else source)
    if (
        place.is_web
        or _GLOB.search(place.key)
        or "#" in place.key
        or PurePosixPath(place.key).suffix
    ):
        return None
    if not (place / "_delta_log").has_objects():
        return None
    return LakeTable("delta", str(place), int(stated[3]) if stated else None)


# -- Hive folders and patterns ------------------------------------------------------------------


@dataclass(frozen=True)
class _Part:
    """A file, and what the names of its folders say of all its rows."""

    file: Path
    values: Mapping[str, str | None]


def flattened(
    root: Path, folder: Path, files: Sequence[Path] | None = None, texts: Sequence[str] = ()
) -> Path:
    """The rows of a Hive folder as plain files, in the order of the names.

    ``files`` are those that belong to it, in their order; None: all.  ``texts`` names columns that
    stay texts.  Raises ``TableError`` where names or columns do not agree, and where files change.
    """
    listed = _below(root) if files is None else files
    parts = _parts(root, listed)
    if not parts:
        msg = f"{root}: the folder holds no Parquet file (named .parquet) and no CSV file (.csv)"
        raise TableError(msg)
    if other := [file for file in listed if _is_parquet(file) != _is_parquet(listed[0])]:
        msg = (
            f"{root}: it holds Parquet and CSV files, such as {listed[0].name} and {other[0].name};"
            " give a table in files of one format"
        )
        raise TableError(msg)
    if not _is_parquet(listed[0]):
        return _joined_csv(root, parts, folder)
    return _plain(root, parts, folder, texts, lambda: files or _below(root))


def _joined_csv(root: Path, parts: Sequence[_Part], folder: Path) -> Path:
    """CSV files of a Hive folder as one, whose columns get their types from all of them."""
    before = _stamps(part.file for part in parts)
    refuse_full(root, folder, 2 * sum(size for _, size, _ in before))
    made, names = folder / "table.csv", tuple[str, ...]()
    with made.open("wb") as stream:
        for part in parts:
            with _reading(part.file, "CSV"):
                own, separator = delimited.csv_names(part.file), _separator_of(part.file)
                if part is parts[0]:
                    names, first = own, separator
                if set(own) != set(names) or separator != first:
                    what = "columns" if set(own) != set(names) else "separators of fields"
                    msg = (
                        f"{part.file}: it has other {what} than {parts[0].file}; all files of a "
                        "table must have the same"
                    )
                    raise TableError(msg)
                _append_csv(part, names, separator, stream, header=part is parts[0])
    if _stamps(_below(root)) != before:
        msg = f"{root}: its files changed while they were read; run this again when it is whole"
        raise TableError(msg)
    return made


def _append_csv(
    part: _Part, names: Sequence[str], separator: str, stream: IO[bytes], *, header: bool
) -> None:
    """Write the rows of a CSV file as they are written, with the values of its folders."""
    try:
        rows = delimited.read_csv(part.file, texts=names)[0].select(names)
    except EmptyTableError:  # a file without rows is none of a table without rows
        rows = pl.DataFrame(schema=dict.fromkeys(names, pl.String))
    for name in part.values.keys() & set(names):
        _refuse_other(part, name, rows.select(pl.col(name).ne_missing(part.values[name]).any()))
    new = [pl.lit(v, pl.String).alias(n) for n, v in part.values.items() if n not in names]
    rows.with_columns(new).write_csv(stream, include_header=header, separator=separator)


def _separator_of(file: Path) -> str:
    """A comma where the names in the header have some between them, else a semicolon."""
    names = delimited.csv_names(file)
    with file.open("rb") as stream:
        return "," if stream.readline().count(b",") >= len(names) - 1 else ";"


def _refuse_other(part: _Part, name: str, found: pl.DataFrame) -> None:
    """Raise ``TableError`` where some row holds another value than the name of its folder."""
    if found.item():
        msg = (
            f"{part.file}: column {name!r} holds another value than the name of its "
            "folder; mend the one that is wrong"
        )
        raise TableError(msg)


def _matching(pattern: Path, folder: Path) -> Path:
    """What a pattern names, as plain files, or the one file of another format."""

    def found() -> list[Path]:
        anchor = Path(pattern.anchor)
        relative = str(pattern.relative_to(anchor)) if pattern.anchor else str(pattern)
        files = (file for file in anchor.glob(relative) if file.is_file())
        return sorted(files, key=lambda file: natural_order(str(file)))

    files = found()
    if not files:
        msg = f"{pattern}: there is no file of such a name; check the pattern"
        raise TableError(msg)
    if len(files) == 1 and not _is_parquet(files[0]):
        return files[0]
    if not all(map(_is_parquet, files)):
        msg = (
            f"{pattern}: a pattern names Parquet files, and this one names others; give the table "
            "as one file, or save it as Parquet"
        )
        raise TableError(msg)
    root = Path(_GLOB.split(str(pattern))[0] + "x").parent
    return _plain(pattern, _parts(root, files), folder, (), found)


def _is_parquet(file: Path) -> bool:
    return file.suffix.lower() in _PARQUET and not file.name.startswith((".", "_"))


def _is_csv(file: Path) -> bool:
    return file.suffix.lower() == ".csv" and not file.name.startswith((".", "_"))


def _below(root: Path) -> list[Path]:
    """The Parquet and CSV files below a folder, but for hidden ones, in natural order."""

    def hidden(file: Path) -> bool:
        folders = file.relative_to(root).parts[:-1]
        return any(name.startswith((".", "_")) and "=" not in name for name in folders)

    tables = (file for file in root.rglob("*") if _is_parquet(file) or _is_csv(file))
    files = [file for file in tables if not hidden(file)]
    return sorted(files, key=lambda file: natural_order(str(file)))


def _parts(root: Path, files: Iterable[Path]) -> list[_Part]:
    """Files with the values of their folders; raises ``TableError`` where these do not agree."""
    parts: list[_Part] = []
    for file in files:
        pairs = []
        for name in file.relative_to(root).parts[:-1]:
            column, mark, value = name.partition("=")
            if mark:
                pairs.append((unquote(column), None if value == HIVE_MISSING else unquote(value)))
            elif any("=" in each for each in file.relative_to(root).parts[:-1]):
                msg = f"{file.parent}: this folder of a partitioned table is not named COLUMN=VALUE"
                raise TableError(msg)
        values = dict(pairs)
        if len(values) < len(pairs) or (parts and list(values) != list(parts[0].values)):
            msg = (
                f"{file}: the folders above it name other columns than those above the other "
                "files; part all rows by the same columns, in one order"
            )
            raise TableError(msg)
        parts.append(_Part(file, values))
    return parts


def _plain(
    place: Path, parts: Sequence[_Part], folder: Path, texts: Sequence[str], again: Any
) -> Path:
    """Parts as plain files; ``again`` lists the files once more, for what changed meanwhile."""
    before = _stamps(part.file for part in parts)
    schema = _common_schema(parts)
    typed = _typed(parts, texts)
    made = folder / "table"
    made.mkdir()
    if typed:
        refuse_full(place, folder, sum(part.file.stat().st_size for part in parts))
    for number, part in enumerate(parts):
        target = made / f"part-{number}.parquet"
        if typed:
            with _reading(part.file):
                _with_values(part, schema, {name: typed[name][number] for name in typed}, target)
        else:
            target.symlink_to(part.file.absolute())
    if _stamps(again()) != before:
        msg = f"{place}: its files changed while they were read; run this again when it is whole"
        raise TableError(msg)
    return made


def _with_values(
    part: _Part, schema: pl.Schema, values: Mapping[str, pl.Series], target: Path
) -> None:
    """Write the rows of a part with the values of its folders, which its own columns must have."""
    rows = pl.scan_parquet(part.file, glob=False, hive_partitioning=False)
    for name in values.keys() & schema.keys():
        stated = pl.lit(part.values[name], pl.String).cast(schema[name], strict=False)
        _refuse_other(part, name, rows.select(pl.col(name).ne_missing(stated).any()).collect())
    new = [pl.lit(v).alias(name) for name, v in values.items() if name not in schema]
    rows.with_columns(new).sink_parquet(target, compression="lz4", maintain_order=True)


def _common_schema(parts: Sequence[_Part]) -> pl.Schema:
    """Names and types of the columns, which all files must share."""
    schema: pl.Schema | None = None
    for part in parts:
        with _reading(part.file):
            own = pl.scan_parquet(part.file, glob=False, hive_partitioning=False).collect_schema()
        schema = own if schema is None else schema
        for name in [*schema, *own]:
            if schema.get(name) != own.get(name):
                msg = (
                    f"{part.file}: column {name!r} is {_described(own.get(name))} here and "
                    f"{_described(schema.get(name))} in {parts[0].file}; all files of a table must "
                    "have the same columns of the same types"
                )
                raise TableError(msg)
    assert schema is not None
    return schema


def _described(dtype: pl.DataType | None) -> str:
    return "not there" if dtype is None else f"{arrays.kind_of_type(dtype)} ({dtype})"


def _typed(parts: Sequence[_Part], texts: Sequence[str]) -> dict[str, list[pl.Series]]:
    """The values of each column of the folders, one of each part, in a type that fits all."""
    found = {}
    for name in parts[0].values:
        values = pl.Series(name, [part.values[name] for part in parts], pl.String)
        inferred = values if name in texts else arrays.infer_type(values)
        if not inferred.cast(pl.String).eq_missing(values).all():
            inferred = values  # it would not come back as it is written
        found[name] = [inferred[number : number + 1] for number in range(len(parts))]
    return found


def _stamps(files: Iterable[Path]) -> list[tuple[Path, int, int]]:
    found = []
    for file in files:
        with _reading(file):
            of = file.stat()
        found.append((file, of.st_size, of.st_mtime_ns))
    return found


@contextmanager
def _reading(file: Path, kind: str = "Parquet") -> Iterator[None]:
    """Turns what readers say of a file, which may quote values, into a message."""
    try:
        yield
    except VoileError:
        raise
    except FileNotFoundError:
        msg = f"{file}: it was removed while the table was read; run this again when it is whole"
        raise TableError(msg) from None
    except (pl.exceptions.PolarsError, pa.ArrowException, OSError, ValueError) as fault:
        refuse_out_of_memory(fault)
        if "No space left" in str(fault):
            msg = f"{file}: its copy does not fit into {tempfile.gettempdir()}; set TMPDIR"
        else:
            msg = f"{file}: it cannot be read as {kind}; write it again from its source"
        raise TableError(msg) from None


# -- Delta and Iceberg --------------------------------------------------------------------------


@dataclass(frozen=True)
class LakeTable:
    """A table whose state a log or a catalogue keeps; raises ``InputError`` for a wrong address."""

    kind: Literal["delta", "iceberg"]
    place: str
    """A folder, an address of a store, or a catalogue and a table of it."""
    state: int | None = None
    """The number of a version or a snapshot; None: the latest."""

    @classmethod
    def of(cls, source: str | Path) -> LakeTable:
        """The table that an address names, or that stands in a folder."""
        stated = _STATE.fullmatch(str(source))
        text, state = (stated[1], int(stated[3])) if stated else (str(source), None)
        named = _TABLE.fullmatch(text)
        if named and named[1] == "iceberg" and not _IN_CATALOGUE.fullmatch(named[2]):
            msg = (
                "the address of an Iceberg table names a catalogue and a table, and holds nothing "
                "else: iceberg:office/clinic.stays"
            )
            raise InputError(msg)
        if named:
            place = str(RemotePlace.of(named[2])) if is_remote(named[2]) else named[2]
            return cls("delta" if named[1] == "delta" else "iceberg", place, state)
        kind = "delta" if (Path(text) / "_delta_log").is_dir() else "iceberg"
        return cls(kind, text, state)  # type: ignore[arg-type]

    def __str__(self) -> str:
        return f"{self.kind}:{self.place}"

    def copied(self, folder: Path) -> Path:
        """The rows of a state as a Parquet file in a folder, in the order of the table's files."""
        made = folder / f"{PurePosixPath(self.place).name}.parquet"
        with self._explained():
            batches = self._delta_batches() if self.kind == "delta" else self._iceberg_batches()
            schema = pa.schema(
                [field.with_type(_plain_type(field.type)) for field in batches.schema]
            )
            with pq.ParquetWriter(made, schema.remove_metadata(), compression="lz4") as writer:
                for batch in batches:
                    writer.write_batch(_cast(batch, writer.schema))
        return made

    def put(
        self, rows: pa.RecordBatchReader, release_id: str, statement: str, *, replacing: bool
    ) -> bool:
        """Put published rows into the table in one commit, which readers see whole or not at all.

        They are read some at a time; an Iceberg table in parts, which is there, takes all at once.

        False where the latest commit holds this release already, so that a call that was cut off
        may be made again.  Raises ``InputError`` where a table stands there and is not
        ``replacing``, or where it has other columns.
        """
        schema = pa.schema([pa.field(f.name, _lake_type(f.name, f.type)) for f in rows.schema])
        notes = {_RELEASE: release_id, "voile.guarantee": statement}
        with self._explained():
            plain = pa.RecordBatchReader.from_batches(schema, (_cast(b, schema) for b in rows))
            put = self._put_delta if self.kind == "delta" else self._put_iceberg
            return put(plain, notes, replacing)

    # -- each of the two --------------------------------------------------------------------------

    def _delta(self) -> Any:
        return deltalake.DeltaTable(self.place, version=self.state)

    def _delta_batches(self) -> Any:
        table = self._delta()
        try:
            data = table.to_pyarrow_dataset()
        except deltalake.exceptions.DeltaProtocolError:  # such as rows that are marked as deleted
            query = deltalake.QueryBuilder().register("t", table).execute("SELECT * FROM t")
            return pa.RecordBatchReader.from_stream(query)
        parts = sorted(data.get_fragments(), key=lambda one: natural_order(one.path))
        batches = (batch for one in parts for batch in one.to_batches(schema=data.schema))
        return pa.RecordBatchReader.from_batches(data.schema, batches)

    def _put_delta(
        self, rows: pa.RecordBatchReader, notes: Mapping[str, str], replacing: bool
    ) -> bool:
        if wrong := [name for name in rows.schema.names if _REFUSED_BY_DELTA & set(name)]:
            msg = f"{self}: Delta takes no column named {wrong[0]!r}; rename it, or take Iceberg"
            raise InputError(msg)
        table = None
        with suppress(deltalake.exceptions.TableNotFoundError):
            table = self._delta()
        if table is not None:
            if table.history(1)[0].get(_RELEASE) == notes[_RELEASE]:
                return False
            self._require_free(pa.schema(table.schema().to_arrow()).names, rows, replacing)
        commit = deltalake.CommitProperties(custom_metadata=dict(notes))
        mode = "overwrite" if replacing else "error"
        deltalake.write_deltalake(self.place, rows, mode=mode, commit_properties=commit)
        return True

    def _iceberg(self) -> Any:
        if named := _IN_CATALOGUE.fullmatch(self.place):
            return iceberg_catalogs.load_catalog(named[1]).load_table(named[2])
        newest = sorted(
            (Path(self.place) / "metadata").glob("*.metadata.json"),
            key=lambda file: natural_order(file.name.removeprefix("v")),
        )
        numbers = [file.name.removeprefix("v").split("-")[0] for file in newest[-2:]]
        if len(numbers) > 1 and numbers[0] == numbers[1]:
            msg = f"{self}: two writers left a newest state; name the table by its catalogue"
            raise InputError(msg)
        return iceberg_tables.StaticTable.from_metadata(str(newest[-1]))

    def _iceberg_batches(self) -> Any:
        return self._iceberg().scan(snapshot_id=self.state).to_arrow_batch_reader()

    def _put_iceberg(
        self, rows: pa.RecordBatchReader, notes: Mapping[str, str], replacing: bool
    ) -> bool:
        named = _IN_CATALOGUE.fullmatch(self.place)
        if named is None:
            msg = f"{self}: name the table by its catalogue, such as iceberg:office/clinic.stays"
            raise InputError(msg)
        catalogue, properties = iceberg_catalogs.load_catalog(named[1]), dict(notes)
        if not catalogue.table_exists(named[2]):
            with catalogue.create_table_transaction(named[2], rows.schema) as made:
                made.append(rows, snapshot_properties=properties)
            return True
        table = catalogue.load_table(named[2])
        latest = table.current_snapshot()
        stated = None if latest is None or latest.summary is None else latest.summary
        if stated is not None and stated.additional_properties.get(_RELEASE) == notes[_RELEASE]:
            return False
        self._require_free([field.name for field in table.schema().fields], rows, replacing)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # where the table had no row to be replaced
            taken = rows if table.spec().is_unpartitioned() else rows.read_all()
            table.overwrite(taken, snapshot_properties=properties)
        return True

    def _require_free(
        self, names: Sequence[str], rows: pa.RecordBatchReader, replacing: bool
    ) -> None:
        if not replacing:
            msg = f"{self}: a table stands there already; name another, or say --replace"
            raise InputError(msg)
        if set(names) != set(rows.schema.names):
            msg = f"{self}: the table there has other columns than the release; name another table"
            raise InputError(msg)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turns what libraries raise into messages, without their words, which hold addresses."""
        library, extra = {
            "delta": ("deltalake", "delta"),
            "iceberg": ("pyiceberg", "iceberg"),
        }[self.kind]
        if find_spec(library) is None:
            msg = f"{self}: {self.kind.title()} tables need pip install 'voile[{extra}]'"
            raise InputError(msg)
        try:
            yield
        except (VoileError, KeyboardInterrupt, SystemExit):
            raise
        except Exception as fault:
            refuse_out_of_memory(fault)
            raise TableError(f"{self}: {self._what_of(fault)}") from None

    def _what_of(self, fault: Exception) -> str:
        """What a fault says, and what would help."""
        name = type(fault).__name__
        if "No space left" in str(fault):
            return f"the disk is full, here or there, and nothing was put ({tempfile.gettempdir()})"
        if name in _FAULTS:
            return _FAULTS[name]
        if self.kind == "iceberg" and isinstance(fault, ValueError) and "URI missing" in str(fault):
            return "no catalogue is configured by this name; set it in ~/.pyiceberg.yaml"
        usual = (
            told_of(fault) if is_remote(self.place) else "it cannot be read or written; check it"
        )
        return usual if self.state is None else f"{usual}, and the number behind #"


def _plain_type(dtype: pa.DataType) -> pa.DataType:
    """A type as all engines read it from Parquet."""
    if pa.types.is_dictionary(dtype):
        return _plain_type(dtype.value_type)
    if pa.types.is_string_view(dtype) or pa.types.is_string(dtype):
        return pa.large_string()
    return pa.large_binary() if pa.types.is_binary_view(dtype) else dtype


def _lake_type(name: str, dtype: pa.DataType) -> pa.DataType:
    """A type of published rows as Delta and Iceberg have it; raises ``InputError`` without one."""
    plain = _plain_type(dtype)
    if pa.types.is_null(plain):
        return pa.large_string()
    if pa.types.is_uint64(plain):
        return pa.decimal128(20, 0)
    if pa.types.is_integer(plain):
        return pa.int64()
    if pa.types.is_timestamp(plain):
        return pa.timestamp("us", plain.tz)
    if pa.types.is_time(plain):
        msg = f"column {name!r} holds times of a day, which Delta tables have not; publish others"
        raise InputError(msg)
    return plain


def _cast(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    cast = [column.cast(field.type) for column, field in zip(batch.columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(cast, schema=schema)
