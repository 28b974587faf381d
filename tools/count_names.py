"""Count where code asks for the name of a method, a guarantee or a mechanism instead of a type.

    python tools/count_names.py

Prints each place, and exits with 1 where there is one.  A method is known by what it says of its
columns (``voile.disclosure``) and of its promises (``voile.release.claims``); who compares its name
is wrong about the next method.  Names are asked for in comparisons, ``match``, membership tests,
keys of dictionaries and collections of names.  Allowed is a method's own room (``publish``) and the
reader of format 1, whose documents have nothing but names.

"ranking" is the name of a role of columns as well, so as a mere word it tells nothing.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import get_args

sys.path.insert(0, str(Path(__file__).parents[1]))

from tools.sources import SOURCES
from voile.publish.geo_indistinguishability.parameters import Mechanism
from voile.publish.registry import method_names
from voile.release.claims import CLAIMS

__all__ = ["asked_names", "places"]

ALLOWED = ("publish/",)
EVENTS = ("exponential", "randomized-response", "discrete-laplace", "sampled-generalization")
"""Mechanisms by which accounts are charged."""
ROLES = {"ranking"}


def asked_names() -> frozenset[str]:
    """The names that nobody may ask for."""
    names = {*method_names(), *CLAIMS.own, *get_args(Mechanism), *EVENTS}
    return frozenset(names - ROLES)


def parsed(path: Path) -> ast.Module:
    """A module as Python reads it."""
    return ast.parse(path.read_text(encoding="utf-8"))


def places(source: Path, parse: Callable[[Path], ast.Module] = parsed) -> list[str]:
    """Where names are asked for in the package, as ``file:line``."""
    found, names = [], asked_names()
    for path in sorted(source.rglob("*.py")):
        name = path.relative_to(source).as_posix()
        if not name.startswith(ALLOWED):
            found += [f"{name}:{line}" for line in sorted(set(_lines(parse(path), names)))]
    return found


def _lines(tree: ast.AST, names: frozenset[str]) -> Iterator[int]:
    for node in ast.walk(tree):
        for part in _asked(node):
            constant = isinstance(part, ast.Constant) and part.value in names
            if constant or (isinstance(part, ast.expr) and _is_name_of(part)):
                yield part.lineno  # type: ignore[attr-defined]


def _asked(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a node by which something is asked for."""
    match node:
        case ast.Compare(left=left, comparators=others):
            for part in (left, *others):
                yield part
                yield from _members(part)
        case ast.MatchValue(value=value):
            yield value
        case ast.Match(subject=subject):
            yield subject
        case ast.Dict(keys=keys):
            yield from (key for key in keys if key is not None)
        case ast.Subscript(slice=index, value=owner) if getattr(owner, "id", "") != "Literal":
            yield index
        case ast.Assign(value=ast.Tuple() | ast.List() | ast.Set() | ast.Call() as value):
            yield from _members(value)
        case ast.AnnAssign(value=ast.Tuple() | ast.List() | ast.Set() as value):
            yield from _members(value)


def _members(part: ast.AST) -> Iterator[ast.AST]:
    if isinstance(part, ast.Tuple | ast.List | ast.Set):
        yield from part.elts
    elif isinstance(part, ast.Call) and getattr(part.func, "id", "") in {"frozenset", "set"}:
        for argument in part.args:
            yield from _members(argument)


def _is_name_of(part: ast.expr) -> bool:
    """Whether it is the name of a method or the kind of a guarantee, however it is reached."""
    match part:
        case ast.Attribute(attr="kind", value=owner):
            return _ends(owner, "guarantee")
        case ast.Attribute(attr="name", value=owner):
            return _ends(owner, "method")
        case ast.Subscript(slice=ast.Constant(value="kind"), value=owner):
            return _ends(owner, "guarantee")
        case ast.Subscript(slice=ast.Constant(value="name"), value=owner):
            return _ends(owner, "method")
        case ast.Call(func=ast.Attribute(attr="get", value=owner), args=[ast.Constant(value=key)]):
            return (key == "kind" and _ends(owner, "guarantee")) or (
                key in {"name", "mechanism"} and _ends(owner, "method")
            )
    return False


def _ends(owner: ast.expr, name: str) -> bool:
    return getattr(owner, "attr", getattr(owner, "id", "")) == name


if __name__ == "__main__":
    asked = [place for source in SOURCES for place in places(source)]
    print("\n".join([*asked, f"{len(asked)} places ask for a name"]))
    sys.exit(bool(asked))
