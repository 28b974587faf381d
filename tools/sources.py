"""Where the source of the distributions is."""

from __future__ import annotations

from pathlib import Path

__all__ = ["ROOT", "SOURCES"]

ROOT = Path(__file__).parents[1]
SOURCES = tuple(
    sorted(
        path.parent
        for path in ROOT.glob("packages/*/src/*/__init__.py")
        if path.parent.name != "voile_testing"
    )
)
"""The folder of each package that is published."""
