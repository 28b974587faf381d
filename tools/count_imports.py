"""Count circles among the modules of all distributions, and modules that one other imports.

    python tools/count_imports.py

Every import counts: those inside functions, and those for types alone.  Prints each circle, the
modules that one other module imports, and how many of both there are; exits with 1 where there is a
circle.  A package whose names are imported is its ``__init__``.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tools.sources import SOURCES

__all__ = ["circles", "imports", "parsed", "with_one_importer"]

Graph = Mapping[str, frozenset[str]]


def parsed(path: Path) -> ast.Module:
    """A module as Python reads it."""
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(sources: Iterable[Path], parse: Callable[[Path], ast.Module] = parsed) -> Graph:
    """What each module of some packages imports of them; modules by their full names."""
    paths = {
        _name_of(source, path): path for source in sources for path in sorted(source.rglob("*.py"))
    }
    return {
        name: frozenset(_imported(parse(path), paths)) & (paths.keys() - {name})
        for name, path in paths.items()
    }


def circles(graph: Graph) -> list[list[str]]:
    """One circle after another; each is broken before the next is looked for."""
    left, found = {name: set(others) for name, others in graph.items()}, []
    while True:
        try:
            TopologicalSorter(left).prepare()
        except CycleError as error:
            circle = error.args[1]
            found.append(circle)
            # The sorter names predecessors before what needs them.
            left[circle[1]].discard(circle[0])
        else:
            return found


def with_one_importer(graph: Graph) -> list[str]:
    """Modules that exactly one other module imports."""
    importers = defaultdict[str, int](int)
    for others in graph.values():
        for other in others:
            importers[other] += 1
    return sorted(name for name, count in importers.items() if count == 1)


def _name_of(source: Path, path: Path) -> str:
    parts = (source.name, *path.relative_to(source).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(tree: ast.AST, known: Mapping[str, Path]) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            inside = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name if name in known else node.module for name in inside)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def main() -> int:
    """Print what was counted; 1 where there is a circle."""
    graph = imports(SOURCES)
    found, alone = circles(graph), with_one_importer(graph)
    for name in alone:
        print(name)
    for circle in found:
        print("circle:", " -> ".join(circle))
    print(f"{len(graph)} modules, {len(alone)} with one importer, {len(found)} circles")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
