"""Imports from the core to trips and to engines, which may only become fewer."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import voile

pytestmark = pytest.mark.slow

ROOT = Path(voile.__file__).parent
TRIPS = (
    r"attack\.trajectory|cli\.trips|ledger\.(trips|fleets)|schema\.trajectory"
    r"|release\.(trips|trip_sums|fitting)|publish\.flows"
    r"|table\.formats\.gpx|table\.trips"
    r"|publish\.geo_indistinguishability|utility\.trips|proposal\.trips|audit\.displacement"
)
ENGINES = r"table\.engines\.(duckdb|spark)"
OTHERS = r"packing|sharing|studio|roads|geodesy|dp\.planar"
"""Not core, and of no interest here."""


def arrows(what: str) -> set[tuple[str, str, str]]:
    """Module, module and name of each import of ``what`` outside of it."""
    inside, others = (re.compile(rf"voile\.({one})(\.|$)") for one in (what, OTHERS))
    files = {_module_of(path): path for path in ROOT.rglob("*.py")}
    found = set()
    for module, path in files.items():
        if inside.match(module) or others.match(module):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                for name in (each.name for each in node.names):
                    whole = f"{node.module}.{name}"
                    target = whole if whole in files else node.module
                    found |= {(module, target, name)} if inside.match(target) else set()
    return found


def _module_of(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


@pytest.mark.parametrize(("what", "most"), [(TRIPS, 24), (ENGINES, 0)], ids=["trips", "engines"])
def test_imports_from_the_core_may_only_become_fewer(what, most):
    """Whoever removes one lowers the number; it is to be 0, and then a contract."""
    found = arrows(what)
    assert len(found) == most, "\n".join(" ".join(one) for one in sorted(found))
