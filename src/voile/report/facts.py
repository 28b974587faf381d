"""Documents of any shape as facts to be listed: plain values, and tables of what holds several."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from voile.report.words import NOTHING, printable, value_text

__all__ = ["Fact", "facts_of"]

_MOST = 60
"""Rows of a table, or entries of a list, that are shown."""
_WITHIN = ": "


@dataclass(frozen=True)
class Fact:
    """One fact: a value, or a table of values."""

    name: str
    value: Any = None
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    left: int = 0
    """Entries that are not shown, because there are too many."""


def facts_of(document: Mapping[str, Any]) -> tuple[Fact, ...]:
    """What a document says; tables deep within it are named by the keys that lead to them."""
    return tuple(_facts(document, ""))


def _facts(document: Mapping[str, Any], within: str) -> Iterator[Fact]:
    for key, value in document.items():
        name = f"{within}{printable(key)}"
        if isinstance(value, Mapping) and _holds_table(value):
            yield from _facts(value, f"{name}{_WITHIN}")
        else:
            yield _fact(name, value)


def _holds_table(value: Any) -> bool:
    """Whether there is a list of documents anywhere in a document."""
    if isinstance(value, Mapping):
        return any(map(_holds_table, value.values()))
    return _is_table(value)


def _is_table(value: Any) -> bool:
    return (
        isinstance(value, list | tuple)
        and bool(value)
        and all(isinstance(held, Mapping) for held in value)
    )


def _fact(name: str, value: Any) -> Fact:
    if isinstance(value, Mapping) and value:
        return _table(name, [{"": key, **_row(held)} for key, held in value.items()])
    if _is_table(value):
        return _table(name, [_flat(held) for held in value])
    if isinstance(value, list | tuple):
        shown = ", ".join(map(value_text, value[:_MOST]))
        return Fact(name, shown or NOTHING, left=max(0, len(value) - _MOST))
    return Fact(name, _plain(value))


def _row(value: Any) -> Mapping[str, Any]:
    return _flat(value) if isinstance(value, Mapping) else {"value": value}


def _flat(document: Mapping[str, Any], within: str = "") -> dict[str, Any]:
    """A document whose documents are named by the keys that lead to their values."""
    flat: dict[str, Any] = {}
    for key, value in document.items():
        if isinstance(value, Mapping) and value:
            flat |= _flat(value, f"{within}{key}{_WITHIN}")
        else:
            flat[f"{within}{key}"] = value
    return flat


def _table(name: str, records: Sequence[Mapping[str, Any]]) -> Fact:
    columns = tuple(dict.fromkeys(key for held in records for key in held))
    return Fact(
        name,
        columns=tuple(map(printable, columns)),
        rows=tuple(
            tuple(_plain(held.get(column)) for column in columns) for held in records[:_MOST]
        ),
        left=max(0, len(records) - _MOST),
    )


def _plain(value: Any) -> Any:
    """A number where the value is one, else its text."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    return value_text(value)
