"""Draw docs/architecture.svg, the rooms of Voile and what they import, from the code itself.

``python tools/make_architecture.py`` writes the picture; with ``--check`` it only compares, and
exits with status 1 where the picture differs from the code.

A room stands on the lowest floor that is above everything it imports; what it holds is the first
sentence of its docstring.  An arrow leads from a room to one that it imports, in any of its modules
and also inside a function.  Arrows that follow from others are left out: where ``cli`` imports
``study`` and ``study`` imports ``table``, ``cli`` reaches ``table`` anyway.
"""

from __future__ import annotations

import ast
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from xml.sax.saxutils import escape

import click

__all__ = ["PICTURE", "Room", "floors", "imports_of", "picture", "reduced", "rooms"]

sys.path.insert(0, str(Path(__file__).parents[1]))

from tools.sources import ROOT, SOURCES

PICTURE = ROOT / "docs" / "architecture.svg"

_WIDTH, _HEIGHT, _GAP, _FLOOR = 250, 74, 26, 112
_EVERYWHERE = frozenset({"voile_base"})
"""What all others may import: arrows to it would say nothing."""
_DIVIDED = "voile"
"""The distribution whose rooms are drawn; any other is one room."""
_STYLE = """
  text { font-family: system-ui, sans-serif; fill: #1d2733; }
  .name { font-size: 15px; font-weight: 600; }
  .holds { font-size: 11px; fill: #46566a; }
  .room { fill: #f4f7fb; stroke: #7d93ad; rx: 6; }
  .arrow { fill: none; stroke: #9fb0c4; stroke-width: 1.2; marker-end: url(#head); }
"""


@dataclass(frozen=True)
class Room:
    """A package or a module directly under ``voile``, or another distribution."""

    name: str
    holds: str
    """The first sentence of its docstring."""
    imports: frozenset[str]
    """Names of the other rooms that its modules import."""


@cache
def rooms() -> Mapping[str, Room]:
    """All rooms by name, ``__init__`` of the package left out: it only points into them."""
    places = {source.name: source for source in SOURCES if source.name != _DIVIDED}
    (divided,) = (source for source in SOURCES if source.name == _DIVIDED)
    places |= {_name_of(path): path for path in divided.iterdir() if _is_room(path)}
    return {name: _room(name, place, set(places)) for name, place in sorted(places.items())}


def imports_of(tree: ast.AST, known: set[str]) -> Iterator[str]:
    """The rooms that a module imports, wherever in it the import stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            modules = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        else:
            continue
        for module in modules:
            parts = module.split(".")
            if parts[0] in known:
                yield parts[0]
            elif parts[0] == _DIVIDED and len(parts) > 1 and parts[1] in known:
                yield parts[1]


def floors(arrows: Mapping[str, frozenset[str]]) -> list[list[str]]:
    """The rooms on each floor, the highest floor first."""
    height: dict[str, int] = {}

    def height_of(name: str) -> int:
        if name not in height:
            height[name] = 1 + max(map(height_of, arrows[name]), default=-1)
        return height[name]

    for name in arrows:
        height_of(name)
    return [
        [name for name in arrows if height[name] == floor]
        for floor in range(max(height.values()), -1, -1)
    ]


def reduced(arrows: Mapping[str, frozenset[str]]) -> dict[str, set[str]]:
    """The arrows that do not follow from others; imports between rooms have no circles."""
    reach: dict[str, set[str]] = {}

    def reached(name: str) -> set[str]:
        if name not in reach:
            reach[name] = set()
            for other in arrows[name]:
                reach[name] |= {other} | reached(other)
        return reach[name]

    return {
        name: {
            other
            for other in targets
            if not any(other in reached(middle) for middle in targets if middle != other)
        }
        for name, targets in arrows.items()
    }


def picture() -> str:
    """The picture as it should be, in SVG."""
    found = {name: room for name, room in rooms().items() if name not in _EVERYWHERE}
    imports = {name: room.imports - _EVERYWHERE for name, room in found.items()}
    arrows = reduced(imports)
    stacked = floors(imports)
    columns = max(map(len, stacked))
    place = _placed(stacked, arrows, columns)
    drawn = [
        _arrow(place[name], place[other])
        for name in sorted(arrows)
        for other in sorted(arrows[name])
    ]
    drawn += [_box(found[name], *place[name]) for name in sorted(place)]
    rows = 1 + max(row for _, row in place.values())
    width = columns * (_WIDTH + _GAP) + _GAP
    height = rows * _FLOOR + _GAP
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" role="img" aria-labelledby="title">',
            '<title id="title">The rooms of Voile and what they import</title>',
            f"<style>{_STYLE}</style>",
            '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
            'markerHeight="7" orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#9fb0c4"/></marker>'
            "</defs>",
            '<rect width="100%" height="100%" fill="#ffffff"/>',
            *drawn,
            "</svg>",
            "",
        ]
    )


def _is_room(path: Path) -> bool:
    return not path.name.startswith("_") and (path.suffix == ".py" or path.is_dir())


def _name_of(path: Path) -> str:
    return path.stem if path.suffix == ".py" else path.name


def _room(name: str, folder: Path, names: set[str]) -> Room:
    files = sorted(folder.rglob("*.py")) if folder.is_dir() else [folder]
    trees = [ast.parse(file.read_text(encoding="utf-8")) for file in files]
    described = folder / "__init__.py" if folder.is_dir() else files[0]
    docstring = ast.get_docstring(ast.parse(described.read_text(encoding="utf-8"))) or ""
    paragraph = " ".join(docstring.split("\n\n")[0].split())
    imported = {other for tree in trees for other in imports_of(tree, names)}
    return Room(name, paragraph.rstrip("."), frozenset(imported - {name}))


def _placed(
    stacked: Sequence[Sequence[str]], arrows: Mapping[str, set[str]], columns: int
) -> dict[str, tuple[float, int]]:
    """Column and row of each room: below those that import it, as far as there is room."""
    place: dict[str, tuple[float, int]] = {}
    for row, names in enumerate(stacked):
        above = {
            name: [place[user][0] for user in place if name in arrows[user]] or [columns / 2]
            for name in names
        }
        ordered = sorted(names, key=lambda name: (sum(above[name]) / len(above[name]), name))
        first = (columns - len(ordered)) / 2
        place |= {name: (first + number, row) for number, name in enumerate(ordered)}
    return place


def _corner(column: float, row: int) -> tuple[float, float]:
    return _GAP + column * (_WIDTH + _GAP), _GAP + row * _FLOOR


def _box(room: Room, column: float, row: int) -> str:
    x, y = _corner(column, row)
    lines = textwrap.wrap(room.holds, 40)
    if len(lines) > 3:
        lines = [*lines[:2], f"{lines[2][:39]} …"]
    told = "".join(
        f'<text class="holds" x="{x + 10:g}" y="{y + 37 + 13 * number:g}">{escape(line)}</text>'
        for number, line in enumerate(lines)
    )
    return (
        f'<rect class="room" x="{x:g}" y="{y:g}" width="{_WIDTH}" height="{_HEIGHT}"/>'
        f'<text class="name" x="{x + 10:g}" y="{y + 20:g}">{escape(room.name)}</text>{told}'
    )


def _arrow(start: tuple[float, int], end: tuple[float, int]) -> str:
    """A curve from the lower edge of one room to the upper edge of another."""
    (x1, y1), (x2, y2) = _corner(*start), _corner(*end)
    x1, x2, y1 = x1 + _WIDTH / 2, x2 + _WIDTH / 2, y1 + _HEIGHT
    bend = min(60.0, (y2 - y1) / 2)
    curve = f"M{x1:g},{y1:g} C{x1:g},{y1 + bend:g} {x2:g},{y2 - bend:g} {x2:g},{y2:g}"
    return f'<path class="arrow" d="{curve}"/>'


@click.command()
@click.option("--check", is_flag=True, help="Compare only; status 1 where the picture has drifted.")
def main(*, check: bool) -> None:
    """Write docs/architecture.svg, or check it."""
    wanted = picture()
    if not check:
        PICTURE.write_text(wanted, encoding="utf-8")
    elif not PICTURE.is_file() or PICTURE.read_text(encoding="utf-8") != wanted:
        click.echo(f"{PICTURE} has drifted from the code; run `make docs`", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
