"""Small rankings, and every box there is: what the searches are compared with."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
from hypothesis import strategies as st

from voile.publish.ranking.groups import Remnant, SearchTerms


@st.composite
def questions(draw):
    """A remnant with many ties, some of its rows published before, and terms of a search.

    Its rows are another person's each, or of a few persons.
    """
    m = draw(st.integers(1, 3))
    greatest = draw(st.sampled_from((3, 6, 30)))
    row = st.lists(st.integers(0, greatest), min_size=m, max_size=m)
    values = np.array(draw(st.lists(row, min_size=2, max_size=11)), np.int64)
    # Any scores, not only monotone ones: no search may rely on how they were made.
    scores = np.array(
        draw(st.lists(st.integers(0, 5), min_size=len(values), max_size=len(values))), np.int64
    )
    remnant = Remnant.of_table(values, scores, draw(st.integers(1, len(values))))
    persons = draw(st.sampled_from((0, 2, 3, 9)))
    if persons:  # each row is one of theirs
        person = st.lists(st.integers(0, persons - 1), min_size=len(remnant), max_size=len(remnant))
        remnant = replace(remnant, unit=np.array(draw(person), np.int32))
    gone = draw(st.lists(st.integers(0, len(remnant) - 1), max_size=3))
    remnant = remnant.published(np.array(gone, np.int64))
    precision = draw(
        st.sampled_from((Fraction(1, 3), Fraction(1, 2), Fraction(7, 10), Fraction(1)))
    )
    batch = draw(st.sampled_from((None, 1, 2, 4)))
    return remnant, SearchTerms(draw(st.integers(2, 5)), precision, batch=batch)


def most_targets(remnant: Remnant, terms: SearchTerms, spanned_by: np.ndarray) -> int:
    """Targets in the best feasible box that rows among ``spanned_by`` (n,) span; 0 if none."""
    values = remnant.values
    targets = np.zeros(len(remnant), dtype=bool)
    targets[: remnant.tops] = remnant.targets(terms.batch)
    best = 0
    sides = [
        combinations_with_replacement(np.unique(column[spanned_by]).tolist(), 2)
        for column in values.T
    ]
    for box in product(*sides):
        low, high = np.array(box).T
        inside = ((values >= low) & (values <= high)).all(axis=1)
        spanning = values[inside & spanned_by]
        if not len(spanning) or (spanning.min(0) > low).any() or (spanning.max(0) < high).any():
            continue
        own = inside & remnant.fresh
        shares = [Fraction(int(s[: remnant.tops].sum()), int(s.sum())) for s in (inside, own)]
        if remnant.persons(np.flatnonzero(own)) >= terms.k and min(shares) >= terms.precision:
            best = max(best, int((inside & targets).sum()))
    return best
