"""Where the checkout is that the tests belong to."""

from __future__ import annotations

from pathlib import Path

__all__ = ["ROOT", "SOURCES"]

ROOT = Path(__file__).parents[4]
"""The folder with ``packages``, ``docs`` and ``benchmarks``."""
SOURCES = tuple(sorted(path.parent for path in ROOT.glob("packages/*/src/*/__init__.py")))
"""The folders of the packages that the distributions install."""
