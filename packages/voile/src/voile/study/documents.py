"""Records as JSON and back: ``record.json`` of a study, ``comparison.json`` of a grid; private.

Both are declared in ``record``; their schemas are published as
docs/reference/study-record.schema.json and comparison.schema.json.  Numbers that are not finite
have no place in JSON; they are null.  A comparison names the files of its records and does not
repeat them.  A change that breaks readers gets another number in ``RECORD_FORMAT``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from voile.study.record import PRIVATE, Point, StudyComparison, StudyRecord
from voile_base.errors import InputError, RefusedError
from voile_base.values import Document, Json
from voile_base.values.value import json_schema, plain

__all__ = [
    "COMPARISON_FORMAT",
    "RECORD_FORMAT",
    "SEAL",
    "comparison_document",
    "comparison_schema",
    "json_text",
    "point_document",
    "point_of_document",
    "read_comparison",
    "read_record",
    "record_document",
    "record_of_document",
    "record_schema",
    "require_seal",
    "schema_of",
    "sealed",
    "without_heading",
]

RECORD_FORMAT = "voile-study-record-1"
COMPARISON_FORMAT = "voile-comparison-1"
SEAL = "seal"
_HEADING = ("private", "format", SEAL)


def record_document(record: StudyRecord) -> Json:
    """A record for JSON; the first key says that it is private."""
    return sealed({"private": PRIVATE, "format": RECORD_FORMAT, **plain(record)})


def record_of_document(document: Document) -> StudyRecord:
    """The record that was written as this document; raises ``InputError`` where it is none."""
    if document.get("format") != RECORD_FORMAT:
        msg = f"this is not the record of a study in the format {RECORD_FORMAT}"
        raise InputError(msg)
    return StudyRecord(**without_heading(document))


def point_document(point: Point, record: str | None) -> Json:
    """A point for JSON, its record named by the file that holds it."""
    return {**plain(replace(point, record=None)), "record": record}


def point_of_document(document: Document, record: StudyRecord | None) -> Point:
    """The point that was written as this document, with its record.

    Raises ``InputError`` where it is none, or lacks the record of a finished study.
    """
    point = Point(**{**document, "record": record})
    if point.status == "done" and record is None:
        msg = "the record of a finished study is missing"
        raise InputError(msg)
    return point


def comparison_document(comparison: StudyComparison, files: Mapping[str, str]) -> Json:
    """A comparison for JSON; ``files`` has the file of the record of each point by name."""
    values = plain(replace(comparison, points=()))
    points = [point_document(point, files.get(point.name)) for point in comparison.points]
    return {"private": PRIVATE, "format": COMPARISON_FORMAT, **values, "points": points}


def sealed(document: Document) -> Json:
    """A document with the hash of all else that it says.

    The seal has no key: whoever edits a record can seal it again.  It tells what was edited by
    hand, or by a program that knows nothing of it; signatures and running again tell the rest.
    """
    return {**document, SEAL: _seal_of(document)}


def require_seal(document: Document, path: str | Path, what: str) -> None:
    """Raise ``RefusedError`` where a document was edited since ``what`` wrote it."""
    seal = document.get(SEAL)
    if seal is None:
        msg = f"{path}: this record has no seal: nothing tells whether it was edited; run {what}"
        raise RefusedError(f"{msg} again with this version of Voile")
    if seal != _seal_of(document):
        msg = f"{path}: this record was edited since it was written: its seal is that of another"
        raise RefusedError(f"{msg}; run {what} again")


def _seal_of(document: Document) -> str:
    rest = {key: held for key, held in document.items() if key != SEAL}
    said = json.dumps(rest, sort_keys=True, separators=(",", ":"))
    return sha256(b"voile-seal-1\0" + said.encode("ascii")).hexdigest()


def read_record(path: str | Path, *, with_seal: bool = False) -> StudyRecord:
    """Read the record of a study; raises ``InputError`` where the file holds none.

    ``with_seal``: as evidence, which must be as it was written; raises ``RefusedError``.
    """
    document = _read(Path(path))
    if with_seal:
        require_seal(document, path, "voile study")
    try:
        return record_of_document(document)
    except InputError as error:
        raise _unreadable(path, error) from None


def read_comparison(folder: str | Path) -> StudyComparison:
    """Read a comparison with its records from its folder; raises ``InputError``."""
    folder = Path(folder)
    path = folder / "comparison.json"
    document = _read(path)
    points = document.get("points")
    try:
        if document.get("format") != COMPARISON_FORMAT or not isinstance(points, list):
            msg = f"this is not a comparison in the format {COMPARISON_FORMAT}"
            raise InputError(msg)
        files = [one.get("record") if isinstance(one, dict) else None for one in points]
        records = [read_record(folder / str(file)) if file else None for file in files]
        read = map(point_of_document, points, records)
        return StudyComparison(**{**without_heading(document), "points": tuple(read)})
    except (InputError, TypeError) as error:
        raise _unreadable(path, error) from None


def json_text(document: Document) -> str:
    """A document as the text of its file."""
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def record_schema() -> Json:
    """The schema of ``record.json``, for programs that read it."""
    title = "Voile: the record of a study (private)"
    return schema_of(title, RECORD_FORMAT, StudyRecord, with_seal=True)


def comparison_schema() -> Json:
    """The schema of ``comparison.json``, which names the files of its records."""
    schema = schema_of(
        "Voile: a comparison of studies (private)", COMPARISON_FORMAT, StudyComparison
    )
    point = schema["$defs"]["Point"]
    point["properties"]["record"] = {"anyOf": [{"type": "string"}, {"type": "null"}]}
    return {**schema, "$defs": {"Point": point}}


def schema_of(title: str, form: str, kind: object, *, with_seal: bool = False) -> Json:
    """The schema of a private document of a class, with its heading, and a seal if it has one."""
    stated = json_schema(kind)
    seal = {SEAL: {"type": "string", "pattern": "^[0-9a-f]{64}$"}} if with_seal else {}
    heading = {"private": {"const": PRIVATE}, "format": {"const": form}, **seal}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **stated,
        "title": title,
        "properties": {**heading, **stated["properties"]},
        "required": [*heading, *stated["required"]],
    }


def without_heading(document: Document) -> Json:
    """What a private document holds below the keys that say what it is."""
    return {key: held for key, held in document.items() if key not in _HEADING}


def _unreadable(path: str | Path, error: Exception) -> InputError:
    return InputError(f"{path}: {error}; run the study again with this version of Voile")


def _read(path: Path) -> Json:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        msg = f"{path}: it cannot be read ({error.strerror})"
        raise InputError(msg) from None
    except ValueError:
        document = None
    if not isinstance(document, dict):
        msg = f"{path}: this is not a record or a comparison, which are tables of JSON"
        raise InputError(msg)
    return document
