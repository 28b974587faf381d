"""Reports without charts, which take most of the time of a small study."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from voile.cli import options
from voile.study.record import PRIVATE


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let commands write reports without charts, which take most of the time of a small study."""

    def drawn(record: Any) -> str:
        return f"<!doctype html><p>{PRIVATE}"

    pages = SimpleNamespace(render_study=drawn, render_comparison=drawn)
    monkeypatch.setattr(options, "import_module", lambda name: pages)
