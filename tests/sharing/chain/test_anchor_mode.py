"""Mode ``anchor``, beside a file of SQLite, does what every log of reports must do."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from tests.sharing.chain.scenes import Stage
from tests.sharing.store.contract import ReportLogContract
from voile.sharing.chain import EmbeddedChain
from voile.sharing.store import ReportLog
from voile.sharing.store.sqlite import SQLiteStore


class TestAnchorMode(ReportLogContract):
    examples = 3

    @pytest.fixture
    def logs(self, chain: EmbeddedChain, tmp_path: Path) -> Callable[[], ReportLog]:
        files = (tmp_path / f"{number}.sqlite" for number in count())
        return lambda: Stage.set(chain).anchored(SQLiteStore.open(next(files)))
