"""Publishers that race each other, and publishers that are killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from voile.ledger import Ledger

HERE = Path(__file__).parent
# One thread: the crash test forks.
ENVIRONMENT = {
    **os.environ,
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "PYTHONPATH": str(HERE.parents[1]),
}


@pytest.fixture(scope="module")
def publishers() -> Iterator[list[subprocess.Popen[str]]]:
    """Three processes that publish to the ledger that they are told of."""
    with ExitStack() as stack:
        yield [stack.enter_context(publisher()) for _ in range(3)]


@contextmanager
def publisher() -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, HERE / "publisher.py"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    ) as process:
        yield process
        process.stdin.close()


def ask(processes: list[subprocess.Popen[str]], question: str) -> list[str]:
    """Send a line to all publishers at once, then collect their answers."""
    for process in processes:
        process.stdin.write(f"{question}\n")
        process.stdin.flush()
    return [process.stdout.readline().strip() for process in processes]


@pytest.mark.slow
def test_of_publishers_from_one_state_exactly_one_wins(tmp_path, publishers):
    """Three processes commit from the same state, the missing file included: one wins each time."""
    path = tmp_path / "ledger.db"
    won = []
    assert ask(publishers, f"open series {path}") == ["opened"] * 3
    for _ in range(25):
        assert ask(publishers, "load") == ["loaded"] * 3
        answers = ask(publishers, "commit")
        winners = [answer for answer in answers if answer.startswith("won ")]
        assert len(winners) == 1, answers
        assert answers.count("lost") == 2, answers
        won += [winner.removeprefix("won ") for winner in winners]
    ledger = Ledger(path)
    assert [version.release_id for version in ledger.load("salaries").versions] == won
    assert ledger.verify() == []
    assert {file.name for file in tmp_path.iterdir()} == {"ledger.db", "ledger.db.rows"}


def test_the_last_of_a_budget_is_spent_by_one_process(tmp_path, publishers):
    """Three processes spend 1 of 3 from one state: one wins each time, until nothing is left."""
    path = tmp_path / "ledger.db"
    assert ask(publishers, f"open budget {path}") == ["opened"] * 3
    for _ in range(3):
        assert ask(publishers, "load") == ["loaded"] * 3
        answers = ask(publishers, "commit")
        assert sorted(answer[:4] for answer in answers) == ["lost", "lost", "won "]
    assert ask(publishers, "load") == ["loaded"] * 3
    assert ask(publishers, "commit") == ["refused"] * 3
    state = Ledger(path).budget("parcels")
    assert (state.spent, len(state.entries)) == (3, 3)
    assert Ledger(path).verify() == []


@pytest.mark.slow
def test_the_last_of_a_trip_is_spent_by_one_process(tmp_path, publishers):
    """Three processes charge two trips from one state: one wins each time, until both are spent."""
    path = tmp_path / "ledger.db"
    assert ask(publishers, f"open trips {path}") == ["opened"] * 3
    for _ in range(3):
        assert ask(publishers, "load") == ["loaded"] * 3
        answers = ask(publishers, "commit")
        assert sorted(answer[:4] for answer in answers) == ["lost", "lost", "won "]
    assert ask(publishers, "load") == ["loaded"] * 3
    assert ask(publishers, "commit") == ["refused"] * 3
    state = Ledger(path).fleet("vans")
    assert state.spent.epsilon.tolist() == [3.0, 3.0]
    assert Ledger(path).verify() == []


@pytest.mark.slow
def test_a_kill_at_any_instant_loses_no_reported_release(tmp_path):
    """After SIGKILL the ledger is sound and holds all that was reported, plus at most one.

    What a release spent, and the rows that it took up, are known exactly where its version is.
    """
    run = subprocess.run(
        [sys.executable, "-m", "voile_tests.ledger.crashes", tmp_path, "2", "1"],
        cwd=HERE.parents[1],
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
        check=True,
    )
    outcome = json.loads(run.stdout)
    assert outcome["faults"] == []
    # The kills did hit commits: some left a journal behind, some a release that was not settled.
    assert outcome["interrupted"] >= 3, outcome
    assert outcome["unsettled"] >= 3, outcome
    assert outcome["committed"] >= 20, outcome
