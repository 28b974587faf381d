"""The published schema of records and comparisons, for programs that read them.

``python tools/make_schemas.py`` writes it to docs/reference; a test keeps both alike.  A change
that breaks readers gets another number in ``documents.RECORD_FORMAT`` or ``COMPARISON_FORMAT``.
"""

from __future__ import annotations

from typing import Any

from voile.release.folder import FORMAT as RELEASE_FORMAT
from voile.study.documents import COMPARISON_FORMAT, RECORD_FORMAT
from voile.study.record import PRIVATE

__all__ = ["comparison_schema", "record_schema"]

Schema = dict[str, Any]

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_TEXT: Schema = {"type": "string"}
_NUMBER: Schema = {"type": "number"}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_SHARE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
_BETTER: Schema = {"enum": ["lower", "higher"]}


def record_schema() -> Schema:
    """The schema of ``record.json``."""
    properties = {
        "private": {"const": PRIVATE},
        "format": {"const": RECORD_FORMAT},
        "name": {**_TEXT, "description": "what tells the study apart from others"},
        "parameters": {"type": "object", "description": "by which it differs from others"},
        "plan": _plan(),
        "seed": _or_null(_COUNT),
        "release": _release(),
        "publication": _publication(),
        "attacks": _list(_attack()),
        "attacks_skipped": _list(_skipped()),
        "utility": _list(_measurement()),
        "utility_skipped": _list(_skipped()),
        "distributions": _list(_distribution()),
        "evidence": _object(
            {
                "targets": {"type": "integer", "minimum": 1},
                "held_out": {**_COUNT, "description": "rows that the rehearsal left out"},
                "rehearsed": {
                    **_list(_TEXT),
                    "description": "attacks and measures that looked at a rehearsal",
                },
            }
        ),
        "versions": _map_of(_TEXT),
        "seconds": _map_of({"type": "number", "minimum": 0}),
    }
    return _published("Voile: the record of a study (private)", properties)


def comparison_schema() -> Schema:
    """The schema of ``comparison.json``."""
    point = _object(
        {
            "name": _TEXT,
            "parameters": {"type": "object"},
            "status": {"enum": ["done", "infeasible", "refused", "wrong", "failed"]},
            "message": _TEXT,
            "record": {**_or_null(_TEXT), "description": "the file of the record, from here"},
            "risk": _or_null(_SHARE),
            "loss": _or_null(_NUMBER),
        }
    )
    properties = {
        "private": {"const": PRIVATE},
        "format": {"const": COMPARISON_FORMAT},
        "name": _TEXT,
        "plans": _list(_plan()),
        "swept": _map_of({"type": "array"}),
        "points": _list(point),
        "risk": {**_TEXT, "description": "gain, worst, or the name of an attack"},
        "loss": {**_TEXT, "description": "the name of a measure; empty where there is none"},
        "frontier": {**_list(_TEXT), "description": "names of points, by ascending risk"},
        "loss_better": _BETTER,
        "versions": _map_of(_TEXT),
        "notices": _list(_TEXT),
    }
    return _published("Voile: a comparison of studies (private)", properties)


def _plan() -> Schema:
    return {
        "type": "object",
        "description": "the plan, as a TOML file states it",
        "properties": {
            "method": {"type": "object", "required": ["name"], "properties": {"name": _TEXT}}
        },
        "required": ["method"],
    }


def _release() -> Schema:
    guarantee = {
        "type": "object",
        "properties": {"kind": _TEXT, "statement": _TEXT, "assumes": _list(_TEXT)},
        "required": ["kind", "statement", "assumes"],
    }
    required = {
        "format": {"const": RELEASE_FORMAT},
        "method": {"type": "object", "required": ["name"]},
        "guarantee": guarantee,
        "rows": _COUNT,
        "publishable": {"type": "boolean"},
        "release_id": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
        "columns": {
            **_map_of({"type": "object", "required": ["kind"]}),
            "description": "how each column of the table is shown",
        },
        "roles": _map_of(_list(_TEXT)),
    }
    groups = {
        "type": "object",
        "description": "what the numbers of groups are of, if there are any",
    }
    sampled = {**_SHARE, "description": "the probability with which rows were drawn, if they were"}
    stated = _object(required)
    return {**stated, "properties": {**required, "groups": groups, "sampled": sampled}}


def _publication() -> Schema:
    counts = ("rows_in", "rows_out", "suppressed", "held", "carried")
    return _object(
        {
            **dict.fromkeys(counts, _COUNT),
            "objective": _or_null(_NUMBER),
            "summary": _TEXT,
            "notices": _list(_TEXT),
        }
    )


def _attack() -> Schema:
    estimate = _object({"value": _SHARE, "low": _SHARE, "high": _SHARE})
    target = _object({"known": {"type": "object"}, "probability": _SHARE})
    return _object(
        {
            "attack": _TEXT,
            "goal": {**_TEXT, "description": "what counts as a success"},
            "targets": _COUNT,
            "checked": {
                "type": "boolean",
                "description": "whether successes were counted, or are believed",
            },
            "success": estimate,
            "probability": estimate,
            "baseline": {**_SHARE, "description": "the success of guessing"},
            "advantage": _or_null({"type": "number", "minimum": 0}),
            "worst": _or_null(target),
            "typical": _or_null(target),
            "assumptions": _list(_TEXT),
            "notes": _list(_TEXT),
            "untried": {
                **_list(_TEXT),
                "description": "adversaries who were left out though they may learn more",
            },
        }
    )


def _measurement() -> Schema:
    return _object(
        {
            "measure": _TEXT,
            "title": _TEXT,
            "value": {**_or_null(_NUMBER), "description": "null where it is no finite number"},
            "better": _BETTER,
            "meaning": _TEXT,
            "untouched": _or_null(_NUMBER),
            "useless": _or_null(_NUMBER),
            "parts": _map_of(_or_null(_NUMBER)),
            "notes": _list(_TEXT),
        }
    )


def _distribution() -> Schema:
    return _object(
        {
            "column": _TEXT,
            "role": _TEXT,
            "kind": _TEXT,
            "labels": _list(_TEXT),
            "edges": _or_null(_list(_NUMBER)),
            "before": _list(_NUMBER),
            "after": _list(_NUMBER),
        }
    )


def _skipped() -> Schema:
    return _object({"name": _TEXT, "reason": _TEXT})


def _published(title: str, properties: Schema) -> Schema:
    return {"$schema": _DIALECT, "title": title, **_object(properties)}


def _object(properties: Schema) -> Schema:
    """An object with exactly these members."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _map_of(values: Schema) -> Schema:
    return {"type": "object", "additionalProperties": values}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}
