"""Files of other programs: SPSS, Stata and SAS; JSON lines; features and tracks of maps.

Statistics packages: ``.sav``, ``.zsav``, ``.dta``, ``.sas7bdat``, ``.xpt``
------------------------------------------------------------------
Value labels.  A file may say that 1 reads "male" and 2 "female".  A column is read as its labels
where every value that stands in it has one, and as its codes otherwise, which is noted: a column of
ages in which only 98 and 99 have a label is one of numbers.  ``survey.sav#codes`` reads codes
throughout; ``survey.sav#labels`` reads labels, and refuses a labelled column in which some value
has none.  Two values of one label stay codes, for they could not be told apart.  SAS keeps labels
in a catalogue: ``survey.sas7bcat`` beside ``survey.sas7bdat`` is read with it.

Missing values: system missing, those that an SPSS file declares, Stata's ``.a`` to ``.z``, and
empty texts, since these formats have no other missing text.  Dates and times are those of the
column's format.  Numbers that are all whole are whole numbers; all others are doubles.

What a release keeps is what was read: labels are its texts.  Codes behind labels, labels of
variables, and display formats are not kept.  Written truth values are 0 and 1 with labels, and read
back as what they were, but for SAS transport files, which hold no labels.

Libraries: pyreadstat.  Cost: the table stands in memory as a whole, once more while it is written.

JSON lines: each line an object, whose keys are columns
-------------------------------------------------------
Types are those of all lines together; an object that lacks a key has a missing value there.  JSON
has no dates: texts that are all ISO 8601 of one kind are dates, instants or times.

JSON: a list of objects, each a row; or GeoJSON (RFC 7946), each feature a row
------------------------------------------------------------------------------
A list stands alone or is the one list of objects that a document holds, as programs put their
records into ``data``; what else stands beside it is left behind.  A key whose values are of several
types is a column of texts.  Of a feature the properties are the columns.  Points are ``longitude``
and ``latitude``, in degrees; other geometries are one text ``geometry``.
A feature's own ``id`` is a column where no property is called so; values that are objects or lists
are texts in JSON.  It is read, and not written.

GPX 1.0 and 1.1: tracks as a table of reports
---------------------------------------------
Each track is a trip, named after the track, or by its number in the file where it has no name or
shares it; its segments follow each other, with gaps between.  Elevations, speeds and whatever else
a receiver adds are left behind, as are routes and waypoints, which are no reports.

A point without a time has a missing value, which the plan decides on like any other.

Cost: some 20 microseconds a point (gpxpy).
"""

from __future__ import annotations

import datetime
import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, Literal, cast

import numpy as np
import polars as pl

from voile.table.arrays import forms_of
from voile.table.formats.registry import Whole, library, refuse_nothing, whole_numbers
from voile.table.places import corrupt
from voile_base.errors import InputError, TableError, refuse_out_of_memory
from voile_base.ondemand import pattern_on_demand
from voile_base.values import Document, Json

__all__ = [
    "GPX_COLUMNS",
    "JsonLines",
    "JsonRecords",
    "Sas",
    "SasTransport",
    "Spss",
    "Stata",
    "holds_beside_records",
    "read_gpx",
]

Reading = Literal["where all have one", "labels", "codes"]
Labels = Mapping[Any, str]

_TRUTH = {0: "false", 1: "true"}
_EXACT = 2**53


class _Statistics:
    """What the formats share; see ``registry.FileFormat``."""

    what: ClassVar[str]
    reader: ClassVar[str]
    writer: ClassVar[str | None] = None
    name_rule: ClassVar[re.Pattern[str]] = pattern_on_demand(r"[^\W\d][\w.$#@]{0,63}")
    labelled: ClassVar[bool] = True
    """Whether written files can hold value labels."""

    def read(self, file: Path, part: str | None, columns: Collection[str] | None) -> Whole:
        """All rows, as labels or codes."""
        if part not in {None, "labels", "codes"}:
            raise InputError(
                f"{file}: {self.what} files are read as #labels or as #codes, not as #{part}"
            )
        frame, stated = self._parsed(file, self._options(file))
        names = tuple(str(name) for name in frame.columns)
        refuse_nothing(file, names, frame.height)
        labels: Mapping[str, Labels] = stated.variable_value_labels or {}
        reading: Reading = part or "where all have one"  # type: ignore[assignment]
        wanted = [name for name in names if columns is None or name in columns]
        read: list[pl.Series] = []
        as_labels: list[str] = []
        as_codes: list[str] = []
        for name in wanted:
            series = _empty_texts_missing(whole_numbers(frame[name]))
            of_column = labels.get(name)
            if not of_column or reading == "codes":
                read.append(series)
                continue
            labelled = _labelled(series, of_column)
            if labelled is None and reading == "labels":
                raise TableError(
                    f"{file}: column {name!r} holds values that its value labels do not name, or "
                    f"two of one label; complete the labels, or read codes: {file}#codes"
                )
            (as_codes if labelled is None else as_labels).append(name)
            read.append(series if labelled is None else labelled)
        return Whole(pl.DataFrame(read), names, tuple(_notes(as_labels, as_codes)))

    def labels(self, file: Path) -> Mapping[str, str]:
        """What the file says that its columns hold; no row is read."""
        _, stated = self._parsed(file, {**self._options(file), "metadataonly": True})
        found: Mapping[str, str | None] = stated.column_names_to_labels
        return {name: label.strip() for name, label in found.items() if label and label.strip()}

    def refusal(self, names: Sequence[str], rows: int) -> str | None:
        """Names of variables are narrower than names of columns."""
        del rows
        self._library("writing")
        if self.writer is None:
            return f"{self.what} files cannot be written; choose another format"
        for name in names:
            if not self.name_rule.fullmatch(name):
                return f"column {name!r} cannot be the name of a variable in {self.what}"
        return None

    def write(self, batches: Iterator[pl.DataFrame], schema: pl.Schema, file: Path) -> None:
        """All rows; truth values as labelled 0 and 1."""
        pyreadstat = self._library("writing")
        assert self.writer is not None
        frame = pl.concat([schema.to_frame(), *batches])
        truths = [name for name, dtype in schema.items() if dtype == pl.Boolean]
        frame = frame.with_columns(_writable(series) for series in frame)
        options: Json = {}
        if self.labelled and truths:
            options["variable_value_labels"] = dict.fromkeys(truths, _TRUTH)
        try:
            getattr(pyreadstat, self.writer)(frame, str(file), **options, **self._written())
        except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError) as fault:
            refuse_out_of_memory(fault)
            raise InputError(
                f"{self.what} cannot hold this release; choose another format with --format"
            ) from None

    def _written(self) -> Document:
        return {}

    def _options(self, file: Path) -> Document:
        """Further options of the reader."""
        del file
        return {}

    def _library(self, doing: str) -> Any:
        return library("pyreadstat", "stats", f"{doing} {self.what} files")

    def _parsed(self, file: Path, options: Mapping[str, object]) -> tuple[pl.DataFrame, Any]:
        pyreadstat = self._library(f"{file}: reading")
        with file.open("rb"):  # says what the system refuses
            pass
        faults = (
            pyreadstat.ReadstatError, pyreadstat.PyreadstatError, pl.exceptions.PolarsError,
            ValueError, OverflowError,
        )  # fmt: skip
        try:
            read = getattr(pyreadstat, self.reader)
            found: tuple[pl.DataFrame, Any] = read(str(file), output_format="polars", **options)
        except faults as fault:
            refuse_out_of_memory(fault)
            raise corrupt(file, self.what) from None
        return found


_TIME = r"^\d\d:\d\d:\d\d(\.\d+)?$"


def _calendar_of_texts(series: pl.Series) -> pl.Series:
    """A column of texts that are all ISO 8601 of one kind, as dates, instants or times.

    As in CSV: instants with an offset are those of UTC.
    """
    if series.dtype != pl.String or not series.count():
        return series
    for form in forms_of("date", "datetime"):
        if form.admits(series) and not form.offends(series).any():
            return form.parse(series)
    if series.str.contains(_TIME).all():
        read = series.str.strptime(pl.Time(), "%H:%M:%S%.f", strict=False)
        return read if read.count() == series.count() else series
    return series


def _empty_texts_missing(series: pl.Series) -> pl.Series:
    """A column whose empty texts are missing values."""
    if series.dtype != pl.String:
        return series
    return series.replace("", None)


class Spss(_Statistics):
    """SPSS."""

    what = "SPSS"
    reader = "read_sav"
    writer = "write_sav"


class Stata(_Statistics):
    """Stata."""

    what = "Stata"
    reader = "read_dta"
    writer = "write_dta"
    name_rule = pattern_on_demand(r"[^\W\d][\w]{0,31}|_\w{0,31}")


class Sas(_Statistics):
    """Data sets of SAS, with the catalogue of the same name beside them."""

    what = "SAS"
    reader = "read_sas7bdat"

    def _options(self, file: Path) -> Document:
        catalogue = file.with_suffix(".sas7bcat")
        found = {"catalog_file": str(catalogue)} if catalogue.is_file() else {}
        return {**found, "formats_as_category": False}


class SasTransport(_Statistics):
    """Transport files of SAS; they hold no value labels."""

    what = "SAS transport"
    reader = "read_xport"
    writer = "write_xport"
    name_rule = pattern_on_demand(r"[A-Za-z_]\w{0,31}", re.ASCII)
    labelled = False

    def _written(self) -> Document:
        return {"file_format_version": 8}


def _labelled(series: pl.Series, labels: Labels) -> pl.Series | None:
    """A column as its labels; None where a value has none, or two have one."""
    if len(set(labels.values())) < len(labels):
        return None
    values = series.unique().drop_nulls().to_list()
    if not values or any(value not in labels for value in values):
        return None
    if {value: labels[value] for value in values}.items() <= _TRUTH.items():
        return series.cast(pl.Boolean)
    return series.replace_strict({v: labels[v] for v in values}, return_dtype=pl.String)


def _notes(as_labels: Sequence[str], as_codes: Sequence[str]) -> Iterator[str]:
    def told(names: Sequence[str]) -> str:
        some = ", ".join(map(repr, names[:5]))
        return f"{some} and {len(names) - 5:,} more" if len(names) > 5 else some

    if as_labels:
        yield f"value labels were read in place of codes: {told(as_labels)}"
    if as_codes:
        yield (
            f"codes were read although some values have labels, since others have none or share "
            f"one: {told(as_codes)}"
        )


def _writable(series: pl.Series) -> pl.Series:
    """A column as these formats can hold it; whole numbers that doubles cannot hold are texts."""
    dtype = series.dtype
    if dtype == pl.Boolean:
        return series.cast(pl.Int8)
    if dtype.is_integer():
        far = series.cast(pl.Float64).abs().max()
        return series.cast(pl.String if isinstance(far, float) and far > _EXACT else pl.Float64)
    if isinstance(dtype, pl.Decimal):
        return series.cast(pl.Float64)
    if isinstance(dtype, pl.Datetime) and dtype.time_zone:
        return series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    if isinstance(dtype, pl.Categorical | pl.Enum) or dtype == pl.Null:
        return series.cast(pl.String)
    return series


class JsonLines:
    """See ``registry.FileFormat``."""

    def read(self, file: Path, part: str | None, columns: Collection[str] | None) -> Whole:
        """All objects of the file; it has no parts."""
        if part is not None:
            raise TableError(f"{file}: JSON lines have no parts; leave out #{part}")
        if not file.stat().st_size:
            raise TableError(f"{file}: the file is empty; it needs at least one row")
        try:
            frame = pl.read_ndjson(file, infer_schema_length=None)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, ValueError) as fault:
            refuse_out_of_memory(fault)
            raise TableError(
                f"{file}: not every line is a JSON object whose keys have values of one type; "
                "write the file again from its source"
            ) from None
        return _of_json(file, frame, columns)

    def refusal(self, names: Sequence[str], rows: int) -> str | None:
        """Everything can be written."""
        del names, rows
        return None

    def write(self, batches: Iterator[pl.DataFrame], schema: pl.Schema, file: Path) -> None:
        """One object a line, a batch at a time."""
        del schema
        with file.open("wb") as stream:
            for batch in batches:
                batch.write_ndjson(stream)


def _of_json(file: Path, frame: pl.DataFrame, columns: Collection[str] | None) -> Whole:
    """The columns that are asked for, with texts that are dates as such."""
    names = tuple(frame.columns)
    refuse_nothing(file, names, frame.height)
    wanted = [name for name in names if columns is None or name in columns]
    return Whole(pl.DataFrame([_calendar_of_texts(frame[name]) for name in wanted]), names)


_NO_RECORDS = (TypeError, LookupError, AttributeError)
"""What a document raises that is built in another way."""


class JsonRecords:
    """See ``registry.FileFormat``."""

    unwritten: ClassVar[str] = (
        "JSON files are read and not written; choose jsonl, or another format"
    )

    def read(self, file: Path, part: str | None, columns: Collection[str] | None) -> Whole:
        """All records of a list, or all features of a collection, or those of a line each."""
        if part is not None:
            raise TableError(f"{file}: JSON has no parts; leave out #{part}")
        try:
            frame = _frame_of(_records(file.read_text("utf-8-sig")))
        except (pl.exceptions.PolarsError, ValueError, *_NO_RECORDS) as fault:
            refuse_out_of_memory(fault)
            raise TableError(
                f"{file}: it is neither a list of JSON objects nor a GeoJSON collection of "
                "features; write the file again from its source"
            ) from None
        return _of_json(file, frame, columns)

    def refusal(self, names: Sequence[str], rows: int) -> str | None:
        """Nothing is written so."""
        del names, rows
        return self.unwritten

    def write(self, batches: Iterator[pl.DataFrame], schema: pl.Schema, file: Path) -> None:
        """Never called: see ``refusal``."""
        raise InputError(self.unwritten)


def _frame_of(records: Sequence[Document]) -> pl.DataFrame:
    """Records as rows; a key whose values are of several types has their texts."""
    names = dict.fromkeys(name for each in records for name in each)
    return pl.DataFrame({name: _column([each.get(name) for each in records]) for name in names})


def _column(values: Sequence[object]) -> pl.Series:
    cells = [
        json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value
        for value in values
    ]
    kinds = {type(value) for value in cells} - {type(None)}
    long = any(type(value) is int and value.bit_length() > _BITS for value in cells)
    if long or (len(kinds) > 1 and kinds != {int, float}):
        cells = [one if one is None or isinstance(one, str) else json.dumps(one) for one in cells]
        return pl.Series(cells, dtype=pl.String)
    if kinds == {int, float}:
        return pl.Series(cells, dtype=pl.Float64, strict=False)
    return pl.Series(cells)


_BITS = 63
"""Of the largest whole number that columns hold; a column with a longer one is one of texts."""


def _records(text: str) -> list[Document]:
    """The records of a document, or of one a line (RFC 8142 without separators)."""
    if _is_deeper(text, _DEEPEST):
        raise ValueError
    try:
        whole: object = json.loads(text)
    except json.JSONDecodeError:
        lines = (line.lstrip("\x1e") for line in text.splitlines())
        whole = [json.loads(line) for line in lines if line]
    if isinstance(whole, dict) and "features" in whole:
        return [_row_of(each) for each in whole["features"]]
    if isinstance(whole, dict):
        whole = [whole] if whole.get("type") == "Feature" else _one_list(whole)
    records = cast("list[Document]", whole)
    if not all(isinstance(each, dict) for each in records):
        raise TypeError
    return [_row_of(each) if _is_feature(each) else each for each in records]


def _is_deeper(text: str, most: int) -> bool:
    """Whether objects and lists stand within more others than ``most``.

    So deep a document would leave a parser that calls itself no stack: texts apart, its brackets
    are counted, and texts are taken out where there are that many at all.
    """
    return _depth(text) > most and _depth(_TEXT.sub("", text)) > most


def _depth(text: str) -> int:
    """How many brackets are open at most, if those in texts counted, too."""
    found = np.frombuffer(text.encode(), np.uint8)
    return int(_STEPS[found].cumsum(dtype=np.int32).max(initial=0))


_DEEPEST = 100
_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')
_STEPS = np.array([(chr(code) in "[{") - (chr(code) in "]}") for code in range(256)], np.int8)
"""How much deeper it is behind a byte."""


def _one_list(document: Document) -> list[Document]:
    """The one list of objects that a document holds."""
    found = [
        each
        for each in document.values()
        if isinstance(each, list) and each and all(isinstance(one, dict) for one in each)
    ]
    (records,) = found
    return records


def _is_feature(record: Document) -> bool:
    return record.get("type") == "Feature" and "geometry" in record


def holds_beside_records(text: str) -> bool:
    """Whether a document holds what no row shows: other members, keys twice, other coordinates."""
    twice: list[bool] = []

    def members(pairs: list[tuple[str, object]]) -> dict[str, object]:
        found = dict(pairs)
        twice.append(len(found) < len(pairs))
        return found

    try:
        whole: object = json.loads(text, object_pairs_hook=members)
    except json.JSONDecodeError:
        lines = (line.lstrip("\x1e") for line in text.splitlines())
        whole = [json.loads(line, object_pairs_hook=members) for line in lines if line]
    if any(twice):
        return True
    if isinstance(whole, dict) and not _is_feature(whole):
        listed = "features" if "features" in whole else None
        others = {key: each for key, each in whole.items() if key != listed}
        whole = whole["features"] if listed else _one_list(whole)
        others = {key: each for key, each in others.items() if each is not whole}
        if any(key not in _OF_MAPS or len(json.dumps(others[key])) > _LONGEST for key in others):
            return True
    records = cast("list[Document]", whole if isinstance(whole, list) else [whole])
    return any(_is_beside(each) for each in records if _is_feature(each))


_OF_MAPS, _LONGEST = ("type", "name", "crs", "bbox"), 200
"""Members of a map that programs write, and how long each may be."""


def _is_beside(feature: Document) -> bool:
    """Whether a feature holds more than its row."""
    geometry = feature["geometry"] or {}
    point = geometry.get("type") == "Point"
    return bool(
        feature.keys() - {"type", "id", "bbox", "properties", "geometry"}
        or len(json.dumps(feature.get("bbox"))) > _LONGEST
        or (point and (geometry.keys() - {"type", "coordinates"}))
        or (point and len(geometry["coordinates"]) != 2)
        or ("id" in feature and "id" in (feature.get("properties") or {}))
    )


def _row_of(feature: Document) -> dict[str, object]:
    """A feature as a row."""
    properties: Document = feature.get("properties") or {}
    row = {"id": feature["id"]} if "id" in feature else {}
    row |= properties
    geometry = feature["geometry"]
    if geometry is not None and geometry["type"] == "Point":
        longitude, latitude = geometry["coordinates"][:2]
        return {**row, "longitude": float(longitude), "latitude": float(latitude)}
    return {**row, "geometry": None if geometry is None else json.dumps(geometry)}


GPX_COLUMNS = ("trip", "time", "latitude", "longitude")


def read_gpx(path: Path) -> pl.DataFrame:
    """The reports of all tracks, in the order of the file; times in UTC.

    Raises ``TableError`` for a file that is no GPX or has no track points, ``InputError`` where the
    reader is not installed, ``OSError`` where the file cannot be read.
    """
    tracks = _parsed(path).tracks
    names = [track.name for track in tracks]
    often = Counter(names)
    rows = [
        (_name(name, number, often), _instant(point.time), point.latitude, point.longitude)
        for number, (name, track) in enumerate(zip(names, tracks, strict=True), 1)
        for segment in track.segments
        for point in segment.points
    ]
    if not rows:
        msg = f"{path}: the GPX file has no track with points; routes and waypoints are no reports"
        raise TableError(msg)
    types: dict[str, pl.DataType | type[pl.DataType]] = {
        "trip": pl.String,
        "time": pl.Datetime("us", "UTC"),
        "latitude": pl.Float64,
        "longitude": pl.Float64,
    }
    return pl.DataFrame(rows, schema=types, orient="row")


def _parsed(path: Path) -> Any:
    """The GPX document."""
    gpxpy = _library()
    content = path.read_bytes()
    try:
        return gpxpy.parse(content)
    except (gpxpy.gpx.GPXException, UnicodeError, ValueError):
        raise corrupt(path, "GPX") from None


def _library() -> ModuleType:
    try:
        import gpxpy  # noqa: PLC0415 - an extra
    except ImportError:
        msg = "reading GPX needs gpxpy; install voile[gps], or save the tracks as CSV"
        raise InputError(msg) from None
    module: ModuleType = gpxpy
    return module


def _name(name: str | None, number: int, often: Counter[str | None]) -> str:
    """What a track is called; its number where the name does not tell it from others."""
    if not name:
        return str(number)
    return name if often[name] == 1 else f"{name} ({number})"


def _instant(time: datetime.datetime | None) -> datetime.datetime | None:
    """A time in UTC; GPX times are, also where they do not say so."""
    if time is None:
        return None
    if time.tzinfo is None:
        return time.replace(tzinfo=datetime.UTC)
    return time.astimezone(datetime.UTC)
