"""The page of published tables: every cell as it is published, for readers; public.

The last dimension of a table goes across, where it has few enough values; the others go down.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["tables_page"]

_MOST_ACROSS = 12
_MOST_ROWS = 2_000
_SUPPRESSED = "suppressed"
"""What stands in place of a value that is not shown."""

Columns = Mapping[str, Sequence[Any]]
Row = list[Any]


def tables_page(name: str, columns: Columns, statement: str) -> dict[str, Any]:
    """What the page shows of the columns of the file of tables, in which each row is a cell."""
    named = dict.fromkeys(columns["table"])
    status = columns["status"]
    hidden = sum(one == _SUPPRESSED for one in status)
    return {
        "name": name,
        "summary": [
            f"{len(status):,} cells in {len(named):,} table{'s' * (len(named) > 1)}, of which "
            f"{hidden:,} are suppressed.",
            f"{statement}.",
        ],
        "sections": [section for title in named for section in _sections(title, columns)],
    }


def _sections(title: str, columns: Columns) -> list[dict[str, Any]]:
    """A section for each measure of a table."""
    rows = [place for place, one in enumerate(columns["table"]) if one == title]
    used = [name for name in columns if any(columns[name][row] is not None for row in rows)]
    texts = [n for n in used if n not in {"table", "status"} and _is_text(columns[n], rows)]
    measures = [n for n in columns if n not in {"table", "status", *texts} and n in used]
    found = []
    for measure in measures:
        whole = f"{title}: {measure}"
        heads, body = _crossed(columns, rows, texts, measure)
        left = max(len(body) - _MOST_ROWS, 0)
        found.append({"title": whole, "columns": heads, "rows": body[:_MOST_ROWS], "left": left})
    return found


def _is_text(values: Sequence[Any], rows: Sequence[int]) -> bool:
    return isinstance(next(values[row] for row in rows if values[row] is not None), str)


def _crossed(
    columns: Columns, rows: Sequence[int], texts: Sequence[str], measure: str
) -> tuple[list[str], list[Row]]:
    """Names of columns, and rows: across what the last dimension has, if it is not too much."""

    def cell(row: int) -> Any:
        value = columns[measure][row]
        return _SUPPRESSED if columns["status"][row] == _SUPPRESSED else value

    across = list(dict.fromkeys(columns[texts[-1]][row] for row in rows))
    if len(texts) < 2 or len(across) > _MOST_ACROSS:
        body = [[*(columns[name][row] for name in texts), cell(row)] for row in rows]
        return [*texts, measure], body
    down: dict[tuple[Any, ...], dict[Any, Any]] = {}
    for row in rows:
        key = tuple(columns[name][row] for name in texts[:-1])
        down.setdefault(key, {})[columns[texts[-1]][row]] = cell(row)
    body = [[*key, *(values.get(one) for one in across)] for key, values in down.items()]
    return [*texts[:-1], *map(str, across)], body
