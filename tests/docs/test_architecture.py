"""The page on the architecture names modules and folders that stand where it says."""

from __future__ import annotations

import re

from tests.docs.pages import ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
VOILE = ROOT / "packages" / "voile" / "src" / "voile"


def stands(name: str) -> bool:
    """Whether a module or a folder of ``voile`` or another distribution has the name."""
    roots = (VOILE, *ROOT.glob("packages/*/src"))
    return any((root / name).is_dir() or (root / f"{name}.py").is_file() for root in roots)


def test_each_place_for_a_line_exists() -> None:
    """The table "Where a line belongs", and the picture of the kernel."""
    _, _, table = PAGE.partition("## Where a line belongs")
    named = [name for name in re.findall(r"`([a-z_]+(?:/[a-z_]+)*)`", table) if name not in _WITHIN]
    assert len(named) >= 20
    assert [name for name in named if not stands(name)] == []
    kernel = PAGE.partition("private.py   published.py")[2].partition("```")[0]
    modules = re.findall(r"^(?:   \|  )?([a-z_]+(?:/[a-z_]+)?(?:\.py)?)  ", kernel, re.MULTILINE)
    assert len(modules) >= 7
    assert [one for one in modules if not stands(f"table/{one.removesuffix('.py')}")] == []


_WITHIN = ("publisher", "decision", "counting", "primary", "attacker", "suppression")
"""Modules that the page names within a folder."""


def test_it_is_one_page_with_a_picture_that_is_made_from_the_imports() -> None:
    """Some 1,200 words, and the picture that ``make docs`` draws (``test_pages`` compares it)."""
    assert len(PAGE.split()) < 1_250
    assert "architecture.svg" in PAGE
    assert (ROOT / "docs" / "architecture.svg").is_file()
