"""What benchmarks, tools and tests take from modules of Voile, or replace there, exists."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from inspect import getsource
from operator import attrgetter
from pathlib import Path

import pytest

from tools.sources import ROOT, SOURCES
from voile_testing.plugin import some_slow

OURS = {path.name for path in SOURCES}
FOLDERS = ("benchmarks", "tools", "tests", "packages")


def thing(dotted: str) -> object:
    """What a dotted name leads to, through modules first; raises ``AttributeError`` otherwise."""
    parts = dotted.split(".")
    for length in range(len(parts), 0, -1):
        try:
            module = import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        return attrgetter(".".join(parts[length:]))(module) if parts[length:] else module
    raise AttributeError(name=parts[0])


@cache
def is_there(dotted: str) -> bool:
    """Whether a dotted name leads to something."""
    try:
        thing(dotted)
    except AttributeError:
        return False
    return True


def ours(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, str]]:
    """The names by which a file calls what it imports of Voile, and what they stand for."""
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in OURS:
            yield from ((a.asname or a.name, f"{node.module}.{a.name}") for a in node.names)
        elif isinstance(node, ast.Import):
            for a in (a for a in node.names if a.name.split(".")[0] in OURS):
                yield (a.asname, a.name) if a.asname else (a.name.split(".")[0],) * 2


def taken(tree: ast.Module) -> Iterator[str]:
    """Dotted names that a file imports, reads from an imported module, or replaces."""
    nodes = list(ast.walk(tree))
    known = dict(ours(nodes))
    stored = {n.id for n in nodes if isinstance(n, ast.Name) and type(n.ctx) is ast.Store}
    stored |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    yield from known.values()
    for node in nodes:
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=read, ctx=ast.Load()):
                if name in known and name not in stored:
                    yield f"{known[name]}.{read}"
            case ast.Call(
                func=ast.Attribute(attr="setattr"), args=[ast.Constant(value=str(of)), *_]
            ):
                if of.split(".")[0] in OURS:
                    yield of
            case ast.Call(
                func=ast.Attribute(attr="setattr"),
                args=[ast.Name(id=name), ast.Constant(value=str(replaced)), *_],
            ):
                if name in known and name not in stored:
                    yield f"{known[name]}.{replaced}"


@pytest.mark.parametrize("folder", some_slow(FOLDERS, {"packages"}))
def test_what_is_taken_from_a_module_is_there(folder: str) -> None:
    """No benchmark, and no test that is rarely run, asks for a name that has moved."""
    missing = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in sorted((ROOT / folder).rglob("*.py"))
        if "src" not in path.parts
        for name in taken(ast.parse(path.read_text(encoding="utf-8")))
        if not is_there(name)
    ]
    assert not missing


def test_a_name_that_has_moved_is_seen() -> None:
    """Imported, read from a module, or replaced by a test."""
    code = """
        import voile
        from voile.dp import exact, nothing
        voile.open_frame
        voile.InfeasibleError
        exact.decay
        exact.decayed
        patch.setattr("voile.dp.exact.absent", 1)
        patch.setattr(exact, "gone", 1)
        here = exact
    """
    names = taken(ast.parse("\n".join(line[8:] for line in code.splitlines())))
    wrong = {name.rpartition(".")[2] for name in names if not is_there(name)}
    assert wrong == {"nothing", "InfeasibleError", "decayed", "absent", "gone"}


@pytest.mark.parametrize("room", sorted((ROOT / "tests" / "survivors").glob("*.toml")))
def test_every_survivor_stands_in_its_function(room: Path) -> None:
    """A reason why a fault goes unnoticed is kept as long as the line is there, and no longer."""
    for entry in tomllib.loads(room.read_text(encoding="utf-8"))["survivor"]:
        source = getsource(thing(entry["function"]))  # type: ignore[arg-type] - a function
        assert re.sub(r"\s+", " ", entry["before"]) in re.sub(r"\s+", " ", source), entry[
            "function"
        ]
