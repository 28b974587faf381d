"""Reading values as devices write them: numbers as numbers or texts, times in three ways."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from urllib.parse import parse_qsl

from voile_share.ingest.errors import IngestError, quietly
from voile_share.ingest.fixes import Rules

__all__ = ["MessageFields", "decimal", "device_name", "read_form", "seconds", "text_of"]

# Python would also take "1_000", "٣", "nan" and "infinity" for numbers.
_NUMBER = re.compile(r"[+-]?(?:\d{1,30}(?:\.\d{0,30})?|\.\d{1,30})(?:[eE][+-]?\d{1,3})?", re.ASCII)
_MILLISECONDS_FROM = 1e11
_LONGEST_NAME = 128
_LONGEST_TIME = 40


class MessageFields:
    """The named values of one message, or of one part of it.

    What is null, or an empty text, is absent.  Names in refusals are those that we ask for.
    """

    def __init__(self, values: object) -> None:
        """``values`` that are no object of JSON, and no form, have no fields."""
        self._values: Mapping[str, object] = values if isinstance(values, dict) else {}

    def value(self, name: str) -> object:
        """Any value, or None."""
        found = self._values.get(name)
        return None if found == "" else found

    def first(self, *names: str) -> object:
        """The value that is there under one of several names; two that differ are refused."""
        found = [value for value in map(self.value, names) if value is not None]
        if any(value != found[0] for value in found[1:]):
            raise IngestError("duplicate-field", " and ".join(names))
        return found[0] if found else None

    def inner(self, name: str) -> MessageFields:
        """The fields of a part; none where it is absent."""
        return MessageFields(self.value(name))

    def number(self, name: str) -> float:
        """A number that must be there."""
        found = self.optional(name)
        if found is None:
            raise IngestError("field-missing", name)
        return found

    def optional(self, *names: str) -> float | None:
        """A number under one of several names."""
        return decimal(self.first(*names), names[0])

    def scaled(self, name: str, unit: float) -> float | None:
        """A number times its unit; what is unknown stays below zero."""
        found = self.optional(name)
        return None if found is None else found * unit


def decimal(value: object, name: str) -> float | None:
    """A number given as one or as its text; None stays None.

    NaN, infinity and what overflows are no numbers, and neither are true and false.
    """
    if value is None:
        return None
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        number: float | None = float(value.strip())  # which strips more than float does
    elif isinstance(value, int | float) and not isinstance(value, bool):
        number = quietly(lambda: float(value), OverflowError)
    else:
        number = None
    if number is None or not -1e300 < number < 1e300:
        raise IngestError("not-a-number", name)
    return number


def seconds(value: object, name: str) -> float | None:
    """A time as seconds since 1970 UTC: of seconds, milliseconds or a text of ISO 8601.

    Numbers from 100,000,000,000 on are milliseconds: as seconds they would lie beyond the year
    5000, as milliseconds after 1973.  A text that names no zone is in UTC.
    """
    if isinstance(value, str) and not _NUMBER.fullmatch(value.strip()):
        moment = quietly(lambda: _moment(value.strip()), ValueError, OverflowError)
        if moment is None:
            raise IngestError("time-unreadable", name)
        return moment
    number = decimal(value, name)
    if number is not None and abs(number) >= _MILLISECONDS_FROM:
        return number / 1000
    return number


def _moment(text: str) -> float:
    if len(text) > _LONGEST_TIME:
        raise ValueError
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def device_name(value: object) -> str:
    """The name of a device: a text of 1 to 128 printable characters, or a whole number.

    Raises ``IngestError`` where it is missing or cannot be one.
    """
    if value is None or value == "":
        raise IngestError("device-missing", "set the identifier of the device")
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**_LONGEST_NAME:
        return str(value)
    if not isinstance(value, str):
        raise IngestError("device-unfit", "it must be a text")
    if len(value) > _LONGEST_NAME or not value.isprintable() or value != value.strip():
        raise IngestError("device-unfit", f"at most {_LONGEST_NAME} printable characters")
    return value


def text_of(body: bytes) -> str:
    """A body as text, without a byte order mark."""
    text = quietly(lambda: body.decode("utf-8-sig"), UnicodeDecodeError)
    if text is None:
        raise IngestError("not-utf-8")
    return text


def read_form(text: str, rules: Rules) -> list[tuple[str, str]]:
    """The names and values of a query or a form, in their order.

    Raises ``IngestError`` where there are too many, or one of them is not UTF-8.
    """
    if not text:
        return []
    if text.count("&") >= rules.fields:
        raise IngestError("too-many-fields", f"at most {rules.fields} are taken")
    pairs = quietly(
        lambda: parse_qsl(text, keep_blank_values=True, errors="strict"), UnicodeDecodeError
    )
    if pairs is None:
        raise IngestError("not-utf-8", "a field of the query or form")
    return pairs
