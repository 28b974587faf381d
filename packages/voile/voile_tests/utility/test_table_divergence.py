"""How far the rows of a release are from those of the original."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon
from scipy.stats import entropy

from voile.utility import divergence
from voile.utility.divergence import DivergenceSums, TableDivergence
from voile_base.errors import InputError
from voile_tests.utility.releases import METHODS, PEOPLE, as_it_is, published, shown_by_hand

KINDS = ("total-variation", "jensen-shannon", "kullback-leibler")
VALUES = st.tuples(st.sampled_from(["x", "y", None]), st.integers(0, 2))


def divergences(comparison, **parameters):
    """The three values by name."""
    found = TableDivergence(**parameters).measure(comparison)
    assert [one.measure for one in found] == [f"table-{kind}" for kind in KINDS]
    return {one.measure.removeprefix("table-"): one for one in found}


def as_columns(rows):
    """Rows of two values as a table."""
    return {"a": [row[0] for row in rows], "b": [row[1] for row in rows]}


@given(st.lists(VALUES, min_size=1, max_size=12), st.data())
def test_divergences_are_those_of_counted_rows(original, data):
    """Counting rows one by one, missing values included; published values are original ones."""
    texts = [text for text, _ in original]
    numbers = [number for _, number in original]
    shown = data.draw(
        st.lists(
            st.tuples(st.sampled_from(texts), st.sampled_from(numbers)), min_size=1, max_size=12
        )
    )
    comparison = shown_by_hand(
        as_columns(shown), as_columns(original), decision={"levels": {"a": 0, "b": 0}}
    )
    before, after = Counter(original), Counter(shown)
    cells = sorted({*before, *after}, key=str)
    left, right = (np.array([count[cell] for cell in cells]) for count in (before, after))
    p, q = left / left.sum(), right / right.sum()
    found = divergences(comparison)
    assert found["total-variation"].value == pytest.approx(np.abs(p - q).sum() / 2, abs=1e-9)
    distance = np.nan_to_num(jensenshannon(p, q, base=2))
    assert found["jensen-shannon"].value == pytest.approx(distance**2, abs=1e-9)
    smoothed = entropy(left + 0.5, right + 0.5)
    assert found["kullback-leibler"].value == pytest.approx(smoothed, abs=1e-9)


def test_the_original_does_not_diverge():
    """Nor does it if its rows stand in another order."""
    for comparison in (
        as_it_is(),
        shown_by_hand(PEOPLE.reverse().to_dict(), PEOPLE.to_dict()),
    ):
        for found in divergences(comparison).values():
            assert found.value == pytest.approx(0, abs=1e-12)


def test_rows_that_all_come_apart_are_useless():
    """Numbers shifted by one against texts: no row of the original is left."""
    n = 40
    original = {"a": list(range(n)), "b": [f"t{i}" for i in range(n)]}
    shown = {"a": [*range(1, n), 0], "b": original["b"]}
    for found in divergences(shown_by_hand(shown, original)).values():
        assert found.value == pytest.approx(found.useless)
        assert "0 are the same" in found.notes[0]
    # 40 cells with 1.5 of 80 rows, and 40 with 0.5.
    assert found.useless == pytest.approx(0.5 * math.log(3))


def test_permuting_fewer_values_diverges_less():
    """A tenth of the numbers exchanged, half of them, all of them."""
    n = 200
    original = {"a": list(range(n)), "b": [f"t{i // 2}" for i in range(n)]}
    values = []
    for moved in (20, 100, 200):
        numbers = [*np.roll(np.arange(moved), 7).tolist(), *range(moved, n)]
        found = divergences(shown_by_hand({**original, "a": numbers}, original))
        values.append([one.value for one in found.values()])
    assert (np.diff(values, axis=0) > 0).all()
    assert values[0][0] == pytest.approx(20 / n)


def test_smoothing_is_for_kullback_leibler_alone():
    """More of it brings the distributions together; the others do not know it."""
    table = {"a": [1, 1, 2, 3]}
    comparison = shown_by_hand({"a": [1, 2, 2, 2]}, table)
    little, much = (divergences(comparison, alpha=alpha) for alpha in (0.1, 5))
    assert little["kullback-leibler"].value > much["kullback-leibler"].value > 0
    assert little["jensen-shannon"].value == much["jensen-shannon"].value
    with pytest.raises(InputError, match="alpha"):
        TableDivergence(alpha=0)


def test_counting_in_parts_changes_nothing(monkeypatch):
    """As if memory held a few rows only."""
    comparison = published("ke-anonymity")
    whole = [one.value for one in divergences(comparison).values()]
    monkeypatch.setattr(divergence, "_PART", 30)
    assert [one.value for one in divergences(comparison).values()] == pytest.approx(whole)
    assert whole[0] > 0


def test_types_do_not_matter():
    """A whole number is the same number in a column of floats, and a text in a dictionary."""
    original = pl.DataFrame({"a": [1, 2, 2], "b": ["x", "y", "y"]})
    shown = original.with_columns(pl.col("a").cast(pl.Float64), pl.col("b").cast(pl.Categorical))
    levels = {"levels": {"a": 0, "b": 0}}
    comparison = shown_by_hand(shown.to_dict(), original.to_dict(), decision=levels)
    for found in divergences(comparison).values():
        assert found.value == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_only_plain_values_are_compared(method):
    """Generalized and noisy columns are refused by name; permuted ones are not."""
    comparison, measure = published(method), TableDivergence()
    reason = measure.refusal(comparison)
    if method in {"ke-anonymity", "m-shuffle"}:
        assert reason is None
        assert divergences(comparison)["total-variation"].value > 0
    else:
        assert reason is not None
        assert "column '" in reason
        with pytest.raises(InputError, match="column '"):
            measure.measure(comparison)


def test_releases_without_rows_are_refused():
    """There is no distribution."""
    comparison = shown_by_hand({"a": pl.Series([], dtype=pl.Int64)}, {"a": [1]})
    assert TableDivergence().refusal(comparison) == "the release has no rows"


@pytest.mark.parametrize("parts", [1, 4])
def test_files_are_compared_in_parts(tmp_path, parts):
    """Two Parquet files give what two frames give, in one part or in several."""
    rng = np.random.default_rng(3)
    frames = [
        pl.DataFrame({"a": rng.integers(0, 9, 400), "b": rng.choice(["x", "y", None], 400)})
        for _ in range(2)
    ]
    paths = [tmp_path / "original.parquet", tmp_path / "released.parquet"]
    for frame, path in zip(frames, paths, strict=True):
        frame.write_parquet(path)
    found = DivergenceSums.of_tables(*paths, ["a", "b"], parts=parts)
    counts = [Counter(frame.rows()) for frame in frames]
    cells = sorted(set(counts[0]) | set(counts[1]), key=str)
    shares = [[count[cell] / 400 for cell in cells] for count in counts]
    assert found.jensen_shannon == pytest.approx(jensenshannon(*shares) ** 2)
    assert found.total_variation == pytest.approx(np.abs(np.subtract(*shares)).sum() / 2)
