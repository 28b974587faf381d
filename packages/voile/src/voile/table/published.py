"""The rows of a release, wherever they are; nothing in them is private.

All that reads a release counts it: who knows how many rows show what knows all that the rows of a
table without order tell.

Its files may be parted in folders by what the rows show (``part``, as Hive does): nobody learns
more from the names of folders than from the rows.  Characters that mean something in a path or to
Hive are written as ``%2F``; a name always holds ``=``, so none leads out of its folder.

Parquet files may carry texts of anybody beside their rows (``metadata_breaches``): what engines
write there of types is understood, and everything else is told.  Bytes between the parts of a file
that nothing refers to are not looked at: hashes alone speak of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from voile.schema.hierarchy.generalized import DistinctValues
from voile.table.arrays import kind_of_arrow, of_type, series_of, with_missing
from voile.table.binding import distinct_values, exact_numbers
from voile.table.codes import encode
from voile.table.formats.excel import write_sheets
from voile.table.lakes import HIVE_MISSING, natural_order
from voile.table.protocol import Counted, Fold, Format, Rows
from voile.table.summaries import GroupedValues, PublishedCells
from voile_base.durable import sync
from voile_base.errors import InputError, TableError
from voile_base.ondemand import on_demand, pattern_on_demand
from voile_base.values.expressions import Expression, columns_of

pq = on_demand("pyarrow.parquet")

__all__ = [
    "GROUP",
    "LARGE",
    "MANY",
    "PublishedTable",
    "compact_frame",
    "in_dictionaries",
    "in_dictionary",
    "metadata_breaches",
    "part",
]

GROUP = "group"
"""The column that numbers the groups of a release."""
_ESCAPED = pattern_on_demand(r"""[\x00-\x20\x7f"#%'*/:=?\\{}\[\]^<>|&;$!`~(),@+]""")
_MOST_PARTS = 10_000
_LONGEST = 255
"""Bytes of the name of a folder."""
_AT_ONCE = 1 << 22
"""Rows that stand in memory while a table is parted."""
_WRITERS = pattern_on_demand(
    r"(Polars|DuckDB|parquet-mr|parquet-cpp|parquet-rs)[\w .,()+:/-]{0,120}"
)
_DESCRIBED = 1_000
"""Bytes by which types of a column are described, at most."""
_OF_PANDAS = frozenset(
    {"index_columns", "column_indexes", "columns", "attributes", "creator", "pandas_version"}
)
_OF_SPARK = "org.apache.spark."
MANY = 2_000_000
"""Rows above which evidence takes samples."""
LARGE = 200_000
"""Rows above which the texts of a data frame stand in dictionaries, and what was worked out for
evidence goes early."""


class PublishedTable:
    """Published rows of any engine."""

    def __init__(self, rows: Rows, convert: Callable[[Rows], Any] | None = None) -> None:
        self._rows = rows
        self._convert = convert

    def __repr__(self) -> str:
        return f"PublishedTable({self.rows} rows)"

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        return tuple(self._rows.schema.names)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self._rows.height

    def kinds(self) -> Mapping[str, str]:
        """Kind of the values of each column: integer, decimal, text, boolean, date, ...

        "single" stands for decimals of 32 bits.
        """
        return {
            field.name: "single" if field.type == pa.float32() else kind_of_arrow(field.type)
            for field in self._rows.schema
        }

    def count(self, columns: Sequence[str]) -> Counted:
        """Rows by distinct combination of values of some columns."""
        return self._rows.count(columns)

    def texts_of(self, values: Any) -> tuple[str | None, ...]:
        """How values that ``count`` gave of a column read."""
        return distinct_values(series_of(values)).texts

    def fold(self, columns: Sequence[str], fold: Fold) -> None:
        """Give the rows to a fold, batch by batch."""
        self._rows.fold(columns, fold)

    def same_cells(self, columns: Mapping[str, Sequence[object]], tolerance: float) -> bool:
        """Whether the rows are these, in any order, numbers within a relative tolerance."""
        own, other = pl.DataFrame(self._rows.to_arrow()), pl.DataFrame(columns)
        if own.columns != other.columns or own.height != other.height:
            return False
        texts = [name for name, kind in other.schema.items() if kind in {pl.String, pl.Null}]
        both = [frame.with_columns(pl.col(texts).cast(pl.String)).sort(texts, nulls_last=True)
                for frame in (own, other)]  # fmt: skip
        for name in other.columns:
            one, same = (frame[name] for frame in both)
            if name in texts:
                if not one.eq_missing(same).all():
                    return False
            elif (one.is_null() != same.is_null()).any():
                return False
            else:
                gap = (one.cast(pl.Float64) - same.cast(pl.Float64)).abs()
                if (gap > tolerance * (1 + same.cast(pl.Float64).abs())).any():
                    return False
        return True

    def group_values(self, column: str, group: str = GROUP) -> GroupedValues:
        """How often each value of a numeric column stands in each group."""
        counted = self.count([group, column])
        groups, values = (series_of(array) for array in counted.values)
        return GroupedValues(
            group=_group_numbers(groups)[counted.codes[:, 0]],
            values=exact_numbers(values)[counted.codes[:, 1]],
            rows=counted.rows,
        )

    def group_members(
        self, columns: Sequence[str], group: str = GROUP
    ) -> tuple[pa.Table, NDArray[np.int64], NDArray[np.int64]]:
        """Which tuples of values of some columns stand in which group.

        Returns the n distinct pairs of tuple and group: a table with n rows and these columns,
        the group of each (n,), and the number of rows of each (n,).
        """
        counted = self.count([*columns, group])
        codes = dict(zip(counted.columns, counted.codes.T, strict=True))
        values = dict(zip(counted.columns, counted.values, strict=True))
        members = [series_of(values[name], name).gather(pl.Series(codes[name])) for name in columns]
        groups = _group_numbers(series_of(values[group]))[codes[group]]
        return pl.DataFrame(members).to_arrow(), groups, counted.rows

    def group_sizes(self, columns: Sequence[str]) -> NDArray[np.int64]:
        """Rows of each distinct combination of values of some columns, ascending, shape (p,).

        A missing value is a value like others.
        """
        return self.count(columns).rows

    def cells(self, columns: Sequence[str], sensitive: str) -> PublishedCells:
        """How often each value of a column stands in each combination of values of others.

        Raises ``TableError`` where it is numeric and holds NaN or an infinity.
        """
        counted = self.count([*columns, sensitive])
        values = series_of(counted.values[-1])
        if values.dtype.is_float() and not values.drop_nulls().is_finite().all():
            msg = f"column {sensitive!r} of the release holds NaN or an infinity"
            raise TableError(msg)
        combination, value = counted.codes[:, :-1], counted.codes[:, -1]
        starts = (np.diff(combination, axis=0, prepend=-1) != 0).any(axis=1)
        total = np.bincount(value, counted.rows, len(values)).astype(np.int64)
        present = np.flatnonzero(total)
        rank = np.zeros(len(values), dtype=np.int64)
        rank[present] = np.arange(len(present))
        return PublishedCells(
            group=np.cumsum(starts) - 1,
            value=rank[value],
            rows=counted.rows,
            values=self._distinct(values, present),
            total=total[present],
        )

    def count_matching(self, predicate: Expression | None, group: str = GROUP) -> Mapping[int, int]:
        """Rows of each group for which a predicate holds; None holds for all.

        Raises ``QueryError`` where it cannot be evaluated.
        """
        rows = self._rows
        if predicate is not None:
            rows = rows.select(list(dict.fromkeys([group, *columns_of(predicate)])))
            rows = rows.filter(predicate)
        counted = rows.count([group])
        groups = series_of(counted.values[0]).gather(pl.Series(counted.codes[:, 0]))
        return dict(zip(groups.to_list(), counted.rows.tolist(), strict=True))

    def with_intervals_as_text(self, names: Collection[str] | None = None) -> PublishedTable:
        """The rows with each interval in one column of texts ``[low, high]``.

        Columns ``NAME.low`` and ``NAME.high`` become ``NAME``, or ``NAME.interval`` where there is
        a column ``NAME`` as well; an open end is left empty.  ``names`` are the columns of the
        table that are shown so; None: all that look like it.
        """
        rows, shown = self._rows, dict.fromkeys(self.columns, "")
        for name in self.columns:
            stem = name.removesuffix(".low")
            text = stem if stem not in shown else f"{stem}.interval"
            if names is not None and stem not in names:
                continue
            if stem != name and f"{stem}.high" in shown and text not in shown:
                gives = pa.schema([pa.field(text, pa.large_string())])
                rows = rows.map(_interval_texts, [name, f"{stem}.high"], gives)
                del shown[f"{stem}.high"]
                shown[name] = text
        columns = [text or name for name, text in shown.items()]
        return PublishedTable(rows.select(columns), self._convert)

    def without(self, columns: Sequence[str]) -> PublishedTable:
        """The rows without some columns."""
        left = [name for name in self.columns if name not in columns]
        return PublishedTable(self._rows.select(left), self._convert)

    def write(self, folder: Path, file_format: Format) -> tuple[str, ...]:
        """Write the rows to files in a folder, durably; returns their names in order.

        Raises ``OSError`` where the disk refuses.
        """
        return self._rows.write(folder, file_format)

    def write_sheets(self, file: Path, by: str) -> None:
        """Write a workbook with a sheet for each value of a column, in the order of the rows.

        For tables that are small.  Raises ``OSError`` where the disk refuses, and ``InputError``
        where the library is missing.
        """
        frame = pl.DataFrame(self.to_arrow())
        parts = frame.partition_by(by, maintain_order=True)
        write_sheets(file, {str(part[by][0]): part for part in parts})

    def to_native(self) -> Any:
        """The rows as a data frame of the kind that the private table came from."""
        return self._convert(self._rows) if self._convert else self._rows.to_native()

    def to_arrow(self) -> pa.Table:
        """The rows, all of them."""
        return self._rows.to_arrow()

    def no_rows(self) -> pa.Table:
        """A table of these columns without any row."""
        return pa.Table.from_batches([], self._rows.schema)  # empty_table would load pandas

    def frame(self) -> pl.DataFrame:
        """The rows, all of them, in Polars: without a copy where they stand there.

        Of more than ``LARGE`` texts stand in dictionaries.  Of others see ``compact_frame``.
        """
        own = getattr(self._rows, "frame", None)
        shown = own(in_full=self.rows <= LARGE) if callable(own) else None
        return shown if isinstance(shown, pl.DataFrame) else compact_frame(self._rows)

    @contextmanager
    def batches(self) -> Iterator[pa.RecordBatchReader]:
        """The rows in their order, some at a time, from Parquet files of the system's own folder.

        Raises ``OSError`` where that disk refuses, which ``TMPDIR`` names.
        """
        with TemporaryDirectory(prefix="voile-export-") as made:
            files = [Path(made) / name for name in self.write(Path(made), "parquet")]
            schema = pq.read_schema(files[0])

            def read() -> Iterator[pa.RecordBatch]:
                for name in files:
                    with pq.ParquetFile(name) as file:
                        yield from file.iter_batches()

            yield pa.RecordBatchReader.from_batches(schema, read())

    @staticmethod
    def _distinct(values: pl.Series, present: NDArray[np.int64]) -> DistinctValues:
        return distinct_values(values.gather(series_of(present)))


def compact_frame(rows: Rows, missing: Sequence[str] = ()) -> pl.DataFrame:
    """All rows as a data frame; of more than ``LARGE`` few distinct texts stand in dictionaries.

    Of so many rows no text stands in full: numbers of texts alone.  ``missing``
    are texts that stand for missing values.  Only for what may be seen, and for what adversaries
    and measures compare it with.
    """
    if rows.height <= LARGE:
        frame = pl.DataFrame(rows.to_arrow())
        return frame.with_columns(with_missing(each, missing) for each in frame)
    # Categories of a column alone: the global ones would keep private texts alive.
    kinds = {name: pl.Categorical(pl.Categories.random()) for name in rows.schema.names}
    parts: dict[str, list[pl.Series]] = {name: [] for name in kinds}
    for batch in rows.batches():
        for field, array in zip(rows.schema, batch.columns, strict=True):
            parts[field.name].append(_with_numbers(array, field.type, kinds[field.name], missing))
    return pl.DataFrame([in_dictionary(pl.concat(parts.pop(name)).alias(name)) for name in kinds])


def _with_numbers(
    array: pa.Array, dtype: pa.DataType, kind: pl.Categorical, missing: Sequence[str]
) -> pl.Series:
    """Values of a column, its texts as numbers of a dictionary."""
    if not pa.types.is_large_string(dtype):
        # A copy: as long as one column of a batch is held, an engine keeps all of its columns.
        return series_of(of_type(pa.concat_arrays([array, array[:0]]), dtype))
    if isinstance(array, pa.DictionaryArray):
        texts = with_missing(series_of(array.dictionary).cast(pl.String), missing)
        return texts.cast(kind).gather(series_of(array.indices))
    return with_missing(series_of(array).cast(pl.String), missing).cast(kind)


def in_dictionaries(frame: pl.DataFrame) -> pl.DataFrame:
    """A data frame as ``compact_frame`` has it."""
    return frame if frame.height <= LARGE else pl.DataFrame(list(map(in_dictionary, frame)))


def in_dictionary(column: pl.Series) -> pl.Series:
    """A column whose few distinct texts stand in a dictionary; any other as it is."""
    if not isinstance(column.dtype, pl.String | pl.Categorical):
        return column
    encoded = encode(column.alias(""))  # Polars takes some names for patterns
    return encoded.decode(encoded.codes).alias(column.name)


def _interval_texts(batch: pa.RecordBatch) -> list[pa.Array]:
    """``[low, high]`` of each row; nothing where both ends are missing."""
    frame = pl.DataFrame([series_of(batch[0], "low"), series_of(batch[1], "high")])
    ends = [pl.col(end) for end in ("low", "high")]
    text = pl.format("[{}, {}]", *(end.cast(pl.String).fill_null("") for end in ends))
    shown = pl.when(pl.any_horizontal(end.is_not_null() for end in ends)).then(text)
    return [frame.select(shown.alias("text"))["text"].to_arrow()]


def _group_numbers(groups: pl.Series) -> NDArray[np.int64]:
    """Numbers of groups, shape (g,); raises ``TableError`` for what is no whole number."""
    numbers = groups.cast(pl.Int64, strict=False)
    if not groups.dtype.is_numeric() or numbers.null_count() or (numbers != groups).any():
        msg = "some rows have no whole number of a group"
        raise TableError(msg)
    return numbers.to_numpy()


def part(folder: Path, files: Sequence[str], by: Sequence[str]) -> list[str]:
    """Part published Parquet files by their values in some columns; returns the new names.

    The rows of a part stay in their order, and the files given are removed.  Raises ``InputError``
    for columns that cannot be said in names, and ``OSError`` where the disk refuses.
    """
    given = [folder / name for name in files]
    rows = pl.scan_parquet(given, glob=False, hive_partitioning=False)
    schema = rows.collect_schema()
    _require_parting(schema, by)
    unfinished, held, numbers = (
        folder / ".parted",
        dict[str, list[pl.DataFrame]](),
        dict[str, int](),
    )
    in_memory = 0
    for batch in rows.collect_batches(maintain_order=True):
        for values, frame in batch.partition_by(by, as_dict=True, include_key=False).items():
            held.setdefault(_path_of(by, values), []).append(frame)
        in_memory += batch.height
        _require_few(held.keys() | numbers.keys(), by)
        if in_memory >= _AT_ONCE:
            _flush(unfinished, held, numbers)
            in_memory = 0
    _flush(unfinished, held, numbers)
    for file in given:
        file.unlink()
    if (folder / "data").is_dir():
        (folder / "data").rmdir()
    unfinished.rename(folder / "data")
    for each in sorted({folder / "data" / path for path in numbers}):
        for above in [each, *each.parents][: len(by) + 1]:
            sync(above)
    sync(folder)
    paths = sorted(numbers, key=natural_order)
    return [f"data/{p}/part-{number}.parquet" for p in paths for number in range(numbers[p])]


def _flush(folder: Path, held: dict[str, list[pl.DataFrame]], numbers: dict[str, int]) -> None:
    """Write what is held as one more file of each part."""
    for path, frames in held.items():
        number = numbers.get(path, 0)
        (folder / path).mkdir(parents=True, exist_ok=True)
        file = folder / path / f"part-{number}.parquet"
        pl.concat(frames).write_parquet(file)
        sync(file)
        numbers[path] = number + 1
    held.clear()


def _require_parting(schema: pl.Schema, by: Sequence[str]) -> None:
    """Raise ``InputError`` for columns by which published rows cannot be parted."""
    for name in by:
        dtype = schema.get(name)
        if dtype is None:
            shown = ", ".join(map(repr, schema))
            msg = (
                f"--partition-by {name}: the release does not show this column, and everybody "
                f"reads the names of its folders; choose among {shown}"
            )
            raise InputError(msg)
        plain = dtype.is_integer() or dtype in (
            pl.String,
            pl.Boolean,
            pl.Date,
            pl.Categorical,
            pl.Null,
        )
        if not plain and not isinstance(dtype, pl.Enum | pl.Categorical):
            msg = (
                f"--partition-by {name}: folders are named by texts, whole numbers, days and truth "
                "values, and this column holds others; choose another"
            )
            raise InputError(msg)
    if len(set(by)) < len(by):
        msg = "--partition-by names a column twice; name each once"
        raise InputError(msg)
    if len(by) == len(schema):
        msg = "--partition-by names all published columns, and no row would be left; name fewer"
        raise InputError(msg)


def _require_few(paths: Iterable[str], by: Sequence[str]) -> None:
    if sum(1 for _ in paths) > _MOST_PARTS:
        msg = (
            f"--partition-by {', '.join(by)}: there are more than {_MOST_PARTS:,} combinations of "
            "values, each a folder; choose columns with fewer"
        )
        raise InputError(msg)


def _path_of(by: Sequence[str], values: Sequence[object]) -> str:
    """The folders of rows with some values, as Hive names them."""
    names = [
        f"{_escaped(name)}={_said(name, value)}" for name, value in zip(by, values, strict=True)
    ]
    for name, whose in zip(names, by, strict=True):
        if len(name.encode()) > _LONGEST:
            msg = f"--partition-by {whose}: a value is too long for the name of a folder"
            raise InputError(f"{msg}; choose another column")
    return "/".join(names)


def _said(name: str, value: object) -> str:
    """A value as the name of a folder has it."""
    if value is None:
        return HIVE_MISSING
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if text in ("", HIVE_MISSING):
        msg = (
            f"--partition-by {name}: it holds an empty text, or one that Hive takes for a missing "
            "value, and a folder cannot tell them apart; choose another column"
        )
        raise InputError(msg)
    return _escaped(text)


def _escaped(text: str) -> str:
    """A text with what means something in paths as ``%2F``; letters of all scripts stay."""
    return _ESCAPED.sub(lambda match: f"%{ord(match[0]):02X}", text)


def metadata_breaches(files: Iterable[Path]) -> Iterator[str]:
    """What Parquet files say beside their rows that no engine writes of types, a sentence each.

    Files of other formats say nothing.  Cost: the footer of each file.
    """
    for file in files:
        if file.suffix != ".parquet":
            continue
        try:
            footer, schema = pq.read_metadata(file), pq.read_schema(file)
        except (OSError, ValueError):
            yield f"{file.name}: what it says beside its rows cannot be read"
            continue
        said = {key.decode(errors="replace"): held for key, held in (footer.metadata or {}).items()}
        room = _DESCRIBED * (2 + len(schema.names))
        unknown = [repr(key) for key, held in said.items() if not _describes(key, held, room)]
        fields = [set(field.metadata or ()) - {b"PARQUET:field_id"} for field in schema]
        if unknown or any(fields):
            what = ", ".join(unknown) or "of columns"
            yield f"{file.name}: it carries metadata {what} that nobody checks"
        if _WRITERS.fullmatch(footer.created_by or "Polars") is None:
            yield f"{file.name}: it does not say in known words which program wrote it"


def _describes(key: str, held: bytes, room: int) -> bool:
    """Whether metadata of a file is what an engine says of types, in so many bytes."""
    if len(held) > room:
        return False
    if key in {"ARROW:schema", f"{_OF_SPARK}version"}:
        return key == "ARROW:schema" or re.fullmatch(rb"[\w.-]{1,40}", held) is not None
    try:
        said = json.loads(held)
    except ValueError:
        said = None
    if not isinstance(said, dict):
        return False
    if key == "pandas":
        return said.keys() <= _OF_PANDAS and not said.get("attributes")
    fields = said.get("fields")
    return (
        key == f"{_OF_SPARK}sql.parquet.row.metadata"
        and said.keys() <= {"type", "fields"}
        and isinstance(fields, list)
        and all(isinstance(one, dict) and not one.get("metadata") for one in fields)
    )
