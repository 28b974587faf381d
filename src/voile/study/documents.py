"""Records as JSON and back: ``record.json`` of a study, ``comparison.json`` of a grid; private.

Their schema is published as docs/reference/study-record.schema.json and comparison.schema.json
(``schema``).  Numbers that are not finite have no place in JSON; they are null.  A comparison names
the files of its records and does not repeat them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from voile.errors import InputError
from voile.study.record import PRIVATE, Comparison, Distribution, Point, Skipped, StudyRecord

__all__ = [
    "COMPARISON_FORMAT",
    "RECORD_FORMAT",
    "comparison_document",
    "json_text",
    "point_document",
    "point_of_document",
    "read_comparison",
    "read_record",
    "record_document",
    "record_of_document",
]

RECORD_FORMAT = "voile-study-record-2"
_READ = (RECORD_FORMAT, "voile-study-record-1")
"""The first has roles under ``columns`` of the release, as releases of format 1 have."""
COMPARISON_FORMAT = "voile-comparison-1"

Document = Mapping[str, Any]


def record_document(record: StudyRecord) -> dict[str, Any]:
    """A record for JSON; the first key says that it is private."""
    return {"private": PRIVATE, "format": RECORD_FORMAT, **asdict(record)}


def record_of_document(document: Document) -> StudyRecord:
    """The record that was written as this document; raises ``ValueError`` where it is none.

    Figures that an attack or a measure lacks are missing in the record, too (``rates``).
    """
    if document.get("format") not in _READ:
        msg = f"this is no record of the format {RECORD_FORMAT}"
        raise ValueError(msg)
    values = {field.name: document[field.name] for field in fields(StudyRecord)}
    values |= {
        "attacks": tuple(values["attacks"]),
        "attacks_skipped": tuple(Skipped(**one) for one in values["attacks_skipped"]),
        "utility": tuple(values["utility"]),
        "utility_skipped": tuple(Skipped(**one) for one in values["utility_skipped"]),
        "distributions": tuple(map(_distribution, values["distributions"])),
    }
    if any("attack" not in one for one in values["attacks"]) or any(
        "measure" not in one for one in values["utility"]
    ):
        msg = "an attack or a measure of this record has no name"
        raise ValueError(msg)
    return StudyRecord(**values)


def point_document(point: Point, record: str | None) -> dict[str, Any]:
    """A point for JSON, its record named by the file that holds it."""
    values = {field.name: getattr(point, field.name) for field in fields(Point)}
    return values | {"record": record}


def point_of_document(document: Document, record: StudyRecord | None) -> Point:
    """The point that was written as this document, with its record.

    Raises ``ValueError`` for a finished study without a record.
    """
    values = {field.name: document[field.name] for field in fields(Point)}
    if values["status"] == "done" and record is None:
        msg = "the record of a finished study is missing"
        raise ValueError(msg)
    return Point(**(values | {"record": record}))


def comparison_document(comparison: Comparison, files: Mapping[str, str]) -> dict[str, Any]:
    """A comparison for JSON; ``files`` has the file of the record of each point by name."""
    values = {field.name: getattr(comparison, field.name) for field in fields(Comparison)}
    points = [point_document(point, files.get(point.name)) for point in comparison.points]
    return {"private": PRIVATE, "format": COMPARISON_FORMAT, **values, "points": points}


def read_record(path: str | Path) -> StudyRecord:
    """Read the record of a study; raises ``InputError`` where the file holds none."""
    try:
        return record_of_document(_read(Path(path)))
    except (ValueError, KeyError, TypeError, AttributeError):
        msg = f"{path}: this is not the record of a study of this version of Voile"
        raise InputError(msg) from None


def read_comparison(folder: str | Path) -> Comparison:
    """Read a comparison with its records from its folder; raises ``InputError``."""
    folder = Path(folder)
    path = folder / "comparison.json"
    try:
        document = _read(path)
        if document.get("format") != COMPARISON_FORMAT:
            raise ValueError
        values = {field.name: document[field.name] for field in fields(Comparison)}
        values |= {
            "plans": tuple(values["plans"]),
            "swept": {name: tuple(tried) for name, tried in values["swept"].items()},
            "points": tuple(
                point_of_document(
                    one, read_record(folder / one["record"]) if one["record"] else None
                )
                for one in values["points"]
            ),
            "frontier": tuple(values["frontier"]),
            "notices": tuple(values["notices"]),
        }
        return Comparison(**values)
    except (ValueError, KeyError, TypeError, AttributeError):
        msg = f"{path}: this is not a comparison of this version of Voile"
        raise InputError(msg) from None


def json_text(document: Document) -> str:
    """A document as the text of its file."""
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _read(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        msg = f"{path}: it cannot be read ({error.strerror})"
        raise InputError(msg) from None
    if not isinstance(document, dict):
        raise ValueError
    return document


def _distribution(document: Document) -> Distribution:
    lists = {
        name: None if document[name] is None else tuple(document[name])
        for name in ("labels", "edges", "before", "after")
    }
    return Distribution(**{**document, **lists})
