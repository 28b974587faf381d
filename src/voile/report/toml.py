"""A plan as the text of a TOML file."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

__all__ = ["toml_of"]

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_TABLES = {"columns": 2}
"""Tables whose entries are tables in their turn; elsewhere a table in a table is inline."""


def toml_of(document: Mapping[str, Any]) -> str:
    """The text of a file that says what ``document`` says; keys without a value are left out."""
    return "\n".join(_lines("", document, 0)).strip() + "\n"


def _lines(name: str, table: Mapping[str, Any], depth: int) -> Iterator[str]:
    deep = _TABLES.get(name.split(".", maxsplit=1)[0], 1)
    known = {key: value for key, value in table.items() if value is not None}
    tables = {key: v for key, v in known.items() if isinstance(v, Mapping) and depth < deep}
    if name and (len(tables) < len(known) or not known):
        yield f"\n[{name}]"
    for key, value in known.items():
        if key not in tables:
            yield f"{_key(key)} = {_value(value)}"
    for key, held in tables.items():
        yield from _lines(f"{name}.{_key(key)}" if name else _key(key), held, depth + 1)


def _key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else _text(name)


def _value(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int() | Decimal():
            return str(value)
        case float():
            return repr(value) if math.isfinite(value) else str(value)
        case list() | tuple():
            return f"[{', '.join(map(_value, value))}]"
        case Mapping():
            held = (f"{_key(key)} = {_value(v)}" for key, v in value.items() if v is not None)
            return f"{{ {', '.join(held)} }}"
        case _:
            return _text(str(value))


def _text(text: str) -> str:
    """A basic string; what cannot be seen, or reorders the line, is written as its number."""
    return f'"{"".join(map(_character, text))}"'


def _character(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if character.isprintable():
        return character
    code = ord(character)
    if 0xD800 <= code <= 0xDFFF:  # half of a character, which no TOML file can hold
        return "\N{REPLACEMENT CHARACTER}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
