"""Rows held out: how many, which, and in what kind of frame."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from voile.study.rehearsal import hold_out
from voile_base.errors import InputError, TableError
from voile_base.randomness import Randomness

FRAME = pl.DataFrame({"place": range(6), "town": ["Aix", None, "Brno", "Aix", "Aix", "Brno"]})


@given(
    rows=st.integers(2, 40),
    share=st.fractions("1/8", "7/8", max_denominator=16),
    seed=st.integers(0, 9),
)
def test_every_row_is_in_one_part(rows: int, share: Fraction, seed: int) -> None:
    """The parts have the asked sizes and all rows between them, each in its old order."""
    held = round(share * rows)
    frame = pl.DataFrame({"place": range(rows)})
    if held in {0, rows}:
        with pytest.raises(InputError, match="leaves one part empty"):
            hold_out(frame, share, Randomness.seeded(seed))
        return
    kept, out = hold_out(frame, share, Randomness.seeded(seed))
    assert (kept.height, out.height) == (rows - held, held)
    places = [part["place"].to_list() for part in (kept, out)]
    assert places == [sorted(part) for part in places]
    assert sorted(places[0] + places[1]) == list(range(rows))


@pytest.mark.slow
def test_every_subset_is_as_likely() -> None:
    """1,200 splits of 6 rows hit all 20 halves alike (chi-square, false alarm 1e-6).

    The same test rejects one that draws each row's neighbour along with it.
    """
    seen = Counter(
        tuple(hold_out(FRAME, 0.5, Randomness.seeded(seed))[1]["place"]) for seed in range(1_200)
    )
    assert len(seen) == 20
    assert stats.chisquare(list(seen.values())).pvalue > 1e-6
    runs = Counter(
        tuple(sorted((first + i) % 6 for i in range(3))) for first, *_ in seen.elements()
    )
    assert stats.chisquare([*runs.values(), *[0] * (20 - len(runs))]).pvalue < 1e-6


@pytest.mark.parametrize("held", range(1, 6))
def test_the_least_words_are_held_out(held: int) -> None:
    """Rows with the least words are held out, and of equal words those of the earlier rows."""
    words = np.array([7, 3, 7, 3, 9, 3], dtype=np.uint64)
    randomness: Any = SimpleNamespace(key=lambda *_: SimpleNamespace(stream=lambda _: words))
    _, out = hold_out(FRAME, Fraction(held, 6), randomness)
    assert out["place"].to_list() == sorted([1, 3, 5, 0, 2, 4][:held])


@pytest.mark.parametrize(
    ("frame", "kind"),
    [
        (FRAME, pl.DataFrame),
        (FRAME.lazy(), pl.DataFrame),
        (FRAME.to_pandas(), pd.DataFrame),
        (FRAME.to_arrow(), pa.Table),
    ],
)
def test_parts_are_frames_of_the_same_kind(frame: Any, kind: type) -> None:
    """Both parts come in the library of the frame, and the same rows in each."""
    parts = hold_out(frame, 1 / 3, Randomness.seeded(1))
    assert all(isinstance(part, kind) for part in parts)
    expected = hold_out(FRAME, 1 / 3, Randomness.seeded(1))
    for part, polars in zip(parts, expected, strict=True):
        assert pl.DataFrame(part).equals(polars)


@pytest.mark.parametrize("share", [0, 1, -0.5, 1.5, float("nan")])
def test_a_share_that_is_none_is_refused(share: float) -> None:
    """A share lies between nothing and everything."""
    with pytest.raises(InputError, match="between 0 and 1"):
        hold_out(FRAME, share, Randomness.seeded(0))


def test_what_is_no_frame_is_refused() -> None:
    """The message names the type."""
    with pytest.raises(TableError, match="int"):
        hold_out(7, 0.5, Randomness.seeded(0))
