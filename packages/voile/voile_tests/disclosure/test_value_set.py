"""Sets of values: what a cell names is read back, and stands for nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voile.disclosure.evidence import Sets
from voile.disclosure.interval import ANYTHING, named_values, set_text

texts = st.text(alphabet="ab|\\*0 ,", max_size=4)
sets = st.lists(st.one_of(st.none(), texts), min_size=1, max_size=5, unique=True)


@given(sets)
def test_sets_read_back(values: list[str | None]) -> None:
    """Whatever stands in a value, a set is read as it was written."""
    assert named_values(set_text(values)) == tuple(values)


@given(sets, sets)
def test_different_sets_read_differently(one: list[str | None], other: list[str | None]) -> None:
    """No two sets have one text."""
    assert (set_text(one) == set_text(other)) == (one == other)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (["Caucasian"], "Caucasian"),
        (["Asian", "Other"], "Asian|Other"),
        ([None, "Asian"], "|Asian"),
        (["a|b", "c\\"], "a\\|b|c\\\\"),
        ([ANYTHING], "\\*"),
    ],
)
def test_sets_look_as_documented(values: list[str | None], text: str) -> None:
    """A value alone reads as it is; only separators and wildcards are marked."""
    assert set_text(values) == text


@given(st.lists(st.sampled_from([None, *"abc"]), min_size=1, max_size=6), st.data())
def test_rows_fit_whom_their_set_names(known: list[str | None], data: st.DataObject) -> None:
    """A row fits a person exactly where its set names the person's value, or is not written out."""
    shown = data.draw(
        st.lists(
            st.one_of(
                st.none(), st.lists(st.sampled_from([None, *"abcd"]), min_size=1, max_size=4)
            ),
            min_size=1,
            max_size=5,
        )
    )
    evidence = Sets.of(known, shown)
    expected = [[named is None or value in named for named in shown] for value in known]
    assert evidence.covers(slice(None)).tolist() == expected
    rows = np.arange(len(shown))[::-1]
    assert evidence.only(rows).covers(np.array([0])).tolist() == [expected[0][::-1]]
