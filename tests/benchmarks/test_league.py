"""What the league counts of a file's usefulness, against counts by hand."""

from __future__ import annotations

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
