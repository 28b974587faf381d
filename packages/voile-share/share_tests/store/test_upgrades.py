"""Stores that later formats are made of, and who is killed while they are upgraded."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path

import pytest

from share_tests.store.upgrading import LAST, Files, is_whole
from voile_share.store import SQLiteStore, StoreError
from voile_share.store.schema import FORMAT

SCRIPT = Path(__file__).parent / "upgrading.py"


def upgraded(*arguments: object) -> dict[str, object]:
    command = [sys.executable, SCRIPT, *map(str, arguments)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@pytest.mark.slow
def test_a_kill_at_any_statement_of_an_upgrade_loses_nothing(tmp_path):
    """From each earlier format; the next opening goes on, also between two steps."""
    outcome = upgraded(tmp_path)
    assert outcome["wrong"] == []
    assert outcome["kills"] >= 15, outcome
    assert outcome["halfway"] >= 3, outcome


@pytest.mark.slow
def test_kills_at_every_statement_in_postgresql(postgres):
    """The same, at all of them."""
    outcome = upgraded(postgres.url())
    assert outcome["wrong"] == []
    assert outcome["halfway"] >= 3, outcome


@pytest.mark.parametrize("number", range(FORMAT, LAST))
def test_a_disk_that_is_full_in_an_upgrade_loses_nothing(tmp_path, number):
    """Where a file may not grow the upgrade is refused in words; with room it goes on."""
    files = Files(tmp_path)
    path = files.make(number)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
    try:
        refused = False
        with suppress(StoreError):
            files.open(path).close()
            refused = True
        assert not refused
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert SQLiteStore.format_of(path) < LAST
    with closing(files.open(path)) as store:
        assert is_whole(store)
