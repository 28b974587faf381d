"""Mode ``anchor``, beside a file of SQLite, does what every log of reports must do."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from share_tests.chain.scenes import Stage
from share_tests.store.contract import ReportLogContract
from voile_share.chain import EmbeddedChain
from voile_share.store import ReportLog
from voile_share.store.sqlite import SQLiteStore


@pytest.mark.slow
class TestAnchorMode(ReportLogContract):
    examples = 3

    @pytest.fixture
    def logs(self, chain: EmbeddedChain, tmp_path: Path) -> Callable[[], ReportLog]:
        files = (tmp_path / f"{number}.sqlite" for number in count())
        return lambda: Stage.set(chain).anchored(SQLiteStore.open(next(files)))
