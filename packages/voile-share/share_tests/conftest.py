"""Every test has a platform of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from share_tests.scene import Scene


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    made = Scene(tmp_path)
    yield made
    made.platform.close()
