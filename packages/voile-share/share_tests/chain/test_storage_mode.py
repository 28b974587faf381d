"""Mode ``storage`` does what every log of reports must do."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from share_tests.chain.scenes import Stage
from share_tests.store.contract import ReportLogContract
from voile_share.chain import EmbeddedChain, Mode
from voile_share.store import ReportLog


@pytest.mark.slow
class TestStorageMode(ReportLogContract):
    forgets = False
    examples = 5

    @pytest.fixture
    def logs(self, chain: EmbeddedChain) -> Callable[[], ReportLog]:
        return lambda: Stage.set(chain).log(Mode.STORAGE)
