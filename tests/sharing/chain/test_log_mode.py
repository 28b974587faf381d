"""Mode ``log`` does what every log of reports must do."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.sharing.chain.scenes import Stage
from tests.sharing.store.contract import ReportLogContract
from voile.sharing.chain import EmbeddedChain
from voile.sharing.store import ReportLog


@pytest.mark.slow
class TestLogMode(ReportLogContract):
    forgets = False
    examples = 2

    @pytest.fixture
    def logs(self, chain: EmbeddedChain) -> Callable[[], ReportLog]:
        return lambda: Stage.set(chain).log()
