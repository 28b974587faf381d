"""What the league counts of a file's usefulness, against counts by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from benchmarks import worst_off
from benchmarks.league_files import COLUMNS, python_of
from benchmarks.league_scores import drawn, scored

FEW = pl.DataFrame({name: [1, 1, 2, 2] for name in COLUMNS})


def test_a_file_that_shows_what_was_there_has_the_whole_score() -> None:
    """All marginals are right, and all correlations."""
    scores = scored(FEW, FEW)
    assert (scores.triples, scores.pairs) == (1000, 1000)
    assert scores.correlation == pytest.approx(0)


def test_scores_are_mean_total_variation_of_marginals() -> None:
    """One column turned round: marginals without it stay right, and half of its pairs move.

    Of 28 pairs 7 have the column, of 56 triples 21; each of them is wrong altogether, for the
    columns were equal, and are opposites now.
    """
    turned = FEW.with_columns(SEX=3 - pl.col("SEX"))
    scores = scored(FEW, turned)
    assert scores.pairs == pytest.approx(1000 * (1 - 7 / 28))
    assert scores.triples == pytest.approx(1000 * (1 - 21 / 56))
    assert scores.correlation == pytest.approx(2 * 7 / 28)


def test_a_cell_is_drawn_from_what_it_stands_for() -> None:
    """Intervals, sets and withheld columns become values of the original that they cover."""
    original = pl.DataFrame({name: list(range(10)) for name in COLUMNS})
    columns = {name: pl.Series(range(10)) for name in COLUMNS if name not in {"AGEP", "EDU", "SEX"}}
    shown = pl.DataFrame(
        {"AGEP.low": [2] * 10, "AGEP.high": [3] * 10, "EDU": ["7|8"] * 10, **columns}
    )
    found = drawn(shown, original, 1)
    assert set(found["AGEP"]) <= {2, 3}
    assert set(found["EDU"]) <= {7, 8}
    assert set(found["SEX"]) <= set(range(10))
    assert found["MSP"].to_list() == list(range(10))


def test_without_a_folder_for_peers_the_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Benchmarks that ask for a peer say which variable is missing, and what it is for."""
    monkeypatch.delenv("VOILE_BENCHMARK_LEAGUE", raising=False)
    with pytest.raises(OSError, match="VOILE_BENCHMARK_LEAGUE is not set: it names a folder"):
        python_of("ctgan")
    [why] = worst_off.absent_peers().values()
    assert why.startswith("VOILE_BENCHMARK_LEAGUE is not set")


def test_a_file_that_a_peer_made_is_made_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A benchmark that was cut short finds the network's file again, and not that of others."""
    asked: list[str] = []

    def made(environment: str, _script: str, _name: str, rows: str, into: str, seed: str) -> None:
        asked.append(f"{environment} {seed}")
        pl.read_csv(rows).reverse().write_csv(into)

    def file_of(original: pl.DataFrame, seed: int) -> pl.DataFrame:
        draws = np.random.default_rng(seed)
        return worst_off.overfitted_ctgan(worst_off.People(original, FEW, FEW, draws))

    monkeypatch.setattr(worst_off, "run_in", made)
    monkeypatch.setenv("VOILE_BENCHMARK_KEPT", f"{tmp_path}")
    assert file_of(FEW, 1).equals(FEW.reverse())
    assert file_of(FEW, 1).equals(FEW.reverse())
    assert len(asked) == 1
    file_of(FEW, 2)
    file_of(FEW + 1, 1)
    assert len(asked) == 3
