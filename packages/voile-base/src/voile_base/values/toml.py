"""Files in TOML as documents, and documents as the text of such a file, such as a plan.

The library that writes is tomlkit; here is decided what stands on a line: values first, then a
table each, and of the tables whose entries are tables (``columns``) these too.  What lies deeper is
one inline value.  Keys without a value are left out.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from voile_base.errors import InputError, VoileError, place_in_toml
from voile_base.ondemand import on_demand, pattern_on_demand
from voile_base.values import Document, Json

__all__ = ["toml_document", "toml_text", "words_document"]

tomlkit = on_demand("tomlkit")
items = on_demand("tomlkit.items")

_OF_TABLES = ("columns",)


def toml_document(path: Path, error: type[VoileError] = InputError) -> Json:
    """What a file in TOML says, numbers with a point as decimals.

    Raises ``error`` with the file, and where it is not TOML with the place, never with its text.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"), parse_float=Decimal)
    except OSError as fault:
        msg = f"{path}: the file cannot be read ({fault.strerror}); check its name and permissions"
        raise error(msg) from None
    except UnicodeDecodeError:
        msg = f"{path}: this is not a text in UTF-8; save it as UTF-8"
        raise error(msg) from None
    except tomllib.TOMLDecodeError as fault:
        msg = f"{path}: this is not TOML at {place_in_toml(fault)}; mend the line"
        raise error(msg) from None


_LIST = pattern_on_demand(
    r'(?m)^(\w+ *= *)(?:\[((?:\s|,|#[^\n]*|"[^"\\\n]+")*)\]|"""\n?([^"\\]*)""")'
)
_WORD = pattern_on_demand(r'#[^\n]*|"([^"\n]*)"')
_PLACEHOLDER = "e00"


def words_document(text: str) -> Json:
    """What a text in TOML of ours says, of which long lists of words are most; lists are tuples.

    ``tomllib`` reads such lists, and texts of several lines, a character at a time, and takes ten
    times as long for them.
    """
    lists: list[tuple[str, ...] | str] = []

    def put_aside(found: re.Match[str]) -> str:
        text = found[3]
        lists.append(tuple(filter(None, _WORD.findall(found[2]))) if text is None else text)
        return f"{found[1]}{len(lists) - 1}{_PLACEHOLDER}"

    def number(stated: str) -> tuple[str, ...] | str | float:
        if stated.endswith(_PLACEHOLDER):
            return lists[int(stated.removesuffix(_PLACEHOLDER))]
        return float(stated)

    return tomllib.loads(_LIST.sub(put_aside, text), parse_float=number)


def toml_text(document: Mapping[str, object]) -> str:
    """The text of a file that says what ``document`` says."""
    whole = tomlkit.document()
    _fill(whole, document, depth=1)
    return "".join(map(_visible, tomlkit.dumps(whole).strip())) + "\n"


def _visible(character: str) -> str:
    """What cannot be seen, or reorders its line, stands in quotes, where its number means it."""
    if character.isprintable() or character == "\n":
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _fill(table: Any, held: Document, depth: int) -> None:
    known = {key: value for key, value in held.items() if value is not None}
    for key, value in sorted(known.items(), key=lambda item: depth > 0 and _is_table(item[1])):
        if depth > 0 and _is_table(value):
            below = tomlkit.table(is_super_table=key in _OF_TABLES and _only_tables(value))
            _fill(below, value, depth - 1 + (key in _OF_TABLES))
            table.append(key, below)
        else:
            table.append(key, _item(value))


def _is_table(value: object) -> bool:
    return isinstance(value, Mapping)


def _only_tables(value: Mapping[str, object]) -> bool:
    return bool(value) and all(map(_is_table, value.values()))


def _item(value: Any) -> Any:
    """One value on one line; a decimal as it is written."""
    match value:
        case Decimal():
            number = items.Float(float(value), items.Trivia(), str(value))
            return (
                items.Integer(int(value), items.Trivia(), str(value)) if _whole(value) else number
            )
        case Mapping():
            table = tomlkit.inline_table()
            for key, held in value.items():
                if held is not None:
                    table.append(key, _item(held))
            return table
        case list() | tuple():
            array = tomlkit.array()
            array.extend(map(_item, value))
            return array
        case str():
            return tomlkit.string(value.encode("utf-8", "replace").decode("utf-8"))
        case _:
            return tomlkit.item(value)


def _whole(number: Decimal) -> bool:
    """Whether TOML reads the number as it is written as a whole one."""
    return "." not in str(number) and "E" not in str(number)
