"""Releases that were changed at random, their hashes mended: what a forger with a text editor does.

Cells, rows and groups are changed, and ``release.json`` at any place that says something.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from voile_tests.release.listing import list_again

__all__ = ["mutant"]

_UNTOUCHED = {"data", "page", "release_id", "voile", "publishable"}
_CELLS = ("", "0", "1", "999", "-5", "x", "2.5", '""')
_WORDS = ("age", "work", "illness", "salary", "group", "exact", "permuted", "")


def mutant(good: Path, to: Path, dice: random.Random) -> Path:
    """A copy of a release in CSV with one to three faults in its rows, its document, or both."""
    document = json.loads((good / "release.json").read_text(encoding="utf-8"))
    rows = (good / "data.csv").read_text(encoding="utf-8")
    to.mkdir()
    where = dice.choice(("rows", "document", "both"))
    if where != "document":
        rows = _other_rows(rows, document, dice)
    if where != "rows":
        _edit(document, dice)
    (to / "data.csv").write_text(rows, encoding="utf-8", newline="")
    for name in ("verify.html",):
        (to / name).write_bytes((good / name).read_bytes())
    (to / "release.json").write_text(json.dumps(document), encoding="utf-8")
    list_again(to)
    return to


def _other_rows(text: str, document: dict[str, Any], dice: random.Random) -> str:
    header, *lines = text.rstrip("\n").split("\n")
    rows = [line.split(",") for line in lines]
    for _ in range(dice.randrange(1, 4)):
        row, column = dice.randrange(len(rows)), dice.randrange(len(rows[0]))
        match dice.choice(("copied", "another", "gone", "twice", "alike")):
            case "copied":
                rows[row][column] = dice.choice(rows)[column]
            case "another":
                rows[row][column] = dice.choice(_CELLS)
            case "gone":
                del rows[row]
                document["rows"] -= dice.random() < 0.8
            case "twice":
                rows.append(list(rows[row]))
                document["rows"] += dice.random() < 0.8
            case "alike":
                for one in rows:
                    if one[0] == rows[row][0]:
                        one[column] = rows[row][column]
    return "\n".join([header, *map(",".join, rows)]) + "\n"


def _edit(document: dict[str, Any], dice: random.Random) -> None:
    places = [(place, held) for place, held in _held(document) if place[0] not in _UNTOUCHED]
    place, held = dice.choice(places)
    around: Any = document
    for step in place[:-1]:
        around = around[step]
    how = dice.random()
    if how < 0.15:
        del around[place[-1]]
    elif how < 0.25:
        around[place[-1]] = dice.choice([None, "x", 7, -1, 0.5, [], {}, True])
    else:
        around[place[-1]] = _changed(held, dice)


def _changed(held: object, dice: random.Random) -> object:
    match held:
        case bool():
            return not held
        case int() | float():
            return dice.choice(
                [held + 1, held - 1, held * 2, held / 2 + 0.25, -held, held * 1.0001]
            )
        case str():
            return dice.choice([f"{held}x", *_WORDS])
        case list():
            return [*held, *held[:1]]
        case dict():
            return {**held, "extra": 1}
        case _:
            return 1


def _held(one: object, place: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], object]]:
    if place:
        yield place, one
    within = (
        one.items() if isinstance(one, dict) else enumerate(one if isinstance(one, list) else ())
    )
    for step, held in within:
        yield from _held(held, (*place, step))
