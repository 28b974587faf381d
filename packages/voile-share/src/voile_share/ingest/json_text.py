"""JSON of devices: small, shallow, and with one value for each name.

RFC 8259 leaves open what a name twice in one object means, and Python's reader takes NaN; both are
refused here, since two readers that understand one message differently are a way around a check.
"""

from __future__ import annotations

import json
import re

from voile_share.ingest.arrivals import check_size
from voile_share.ingest.errors import IngestError
from voile_share.ingest.fields import text_of
from voile_share.ingest.fixes import Rules

__all__ = ["read_json"]

# The quantifier gives nothing back and the closing quote may be missing, so one pass suffices.
_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*+"?', re.DOTALL)
_NO_BRACKETS = re.compile(r"[^\[\]{}]+")


class _TwiceError(Exception):
    """A name stands twice in one object."""


class _NoNumberError(Exception):
    """NaN or infinity."""


def read_json(body: bytes, rules: Rules) -> object:
    """The value of a body.

    Raises ``IngestError`` where it is too large, not UTF-8, nested too deeply, not JSON, or where
    an object has a name twice.  Cost: linear in the body, whatever it holds.
    """
    check_size(body, rules)
    text = text_of(body)
    _check_depth(text, rules.depth)
    refusal = None
    value: object = None
    try:
        value = json.loads(text, object_pairs_hook=_one_each, parse_constant=_no_number)
    except _TwiceError:
        refusal = "duplicate-field"
    except _NoNumberError:
        refusal = "not-a-number"
    except ValueError:  # not JSON, or a number of more digits than Python reads
        refusal = "not-json"
    if refusal is not None:
        raise IngestError(refusal)
    return value


def _check_depth(text: str, most: int) -> None:
    """Refuse deep nesting before the reader, which calls itself once a level, meets it."""
    depth = 0
    for bracket in _NO_BRACKETS.sub("", _STRINGS.sub("", text)):
        depth += 1 if bracket in "[{" else -1
        if depth > most:
            raise IngestError("nested-too-deeply", f"at most {most} levels are taken")


def _one_each(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _TwiceError
    return found


def _no_number(_: str) -> object:
    raise _NoNumberError
