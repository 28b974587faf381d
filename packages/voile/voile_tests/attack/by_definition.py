"""Beliefs of an adversary by plain loops over rows, on small tables made by hand."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

import polars as pl
from hypothesis import strategies as st

from voile.table.opening import published_rows
from voile_tests.releases import described, promised

__all__ = ["Small", "chance_of_best", "release_of", "small_tables"]


def release_of(columns, *, known, sensitive=("ill",), permuted=(), levels=None, **guarantee):
    """A release made by hand, of exact values unless levels are given; permuted within groups."""
    frame = pl.DataFrame(columns)
    levels = levels or dict.fromkeys([*known, *sensitive], 0)
    return described(
        table=published_rows(frame),
        method={"name": "by hand", "decision": {"levels": levels, "permuted": list(permuted)}},
        guarantee=promised("by hand", guarantee, "as stated"),
        roles={"quasi_identifiers": tuple(known), "sensitive": tuple(sensitive)},
        release_id="0" * 32,
        publishable=True,
    )


@dataclass(frozen=True)
class Small:
    """A table of (town, job, ill, group), the rows that were left out, and what was permuted."""

    rows: list
    left_out: list
    permuted: frozenset
    shown: list
    """The published rows, permuted."""

    @property
    def release(self):
        """The release."""
        names = ("town", "job", "ill", "group")
        columns = dict(zip(names, map(list, zip(*self.shown, strict=True)), strict=True))
        return release_of(columns, known=("town", "job"), permuted=sorted(self.permuted))

    @property
    def original(self):
        """The private original."""
        everybody = [*self.rows, *self.left_out]
        return pl.DataFrame([row[:3] for row in everybody], ["town", "job", "ill"], orient="row")

    @property
    def prior(self):
        """The share of each value in the published column."""
        return shares(row[2] for row in self.shown)

    def posterior(self, town, job):
        """What is believed of somebody; None where no row fits."""
        total = Counter()
        for row in self.shown:
            group = [other for other in self.shown if other[3] == row[3]]
            jobs, ills = (shares(other[i] for other in group) for i in (1, 2))
            weight = Fraction(row[0] == town)
            weight *= jobs.get(job, 0) if "job" in self.permuted else row[1] == job
            for value, share in (ills if "ill" in self.permuted else {row[2]: 1}).items():
                total[value] += weight * share
        weight = sum(total.values())
        return {value: share / weight for value, share in total.items()} if weight else None

    def believed(self):
        """For each person of the original: the own value, beliefs, and whether any row fits."""
        for town, job, ill in self.original.rows():
            found = self.posterior(town, job)
            yield ill, found or self.prior, found is not None


def shares(values):
    """The share of each value."""
    counts = Counter(values)
    return {value: Fraction(rows, counts.total()) for value, rows in counts.items()}


def chance_of_best(beliefs, own):
    """The chance that the best guess, or one of equally good ones, is the own value."""
    best = [value for value in beliefs if beliefs[value] == max(beliefs.values())]
    return Fraction(own in best, len(best))


@st.composite
def small_tables(draw, most=8):
    """Tables of up to eight published people in groups, some columns permuted."""
    person = st.tuples(st.sampled_from("ab"), st.sampled_from("xy"), st.sampled_from("FCUH"))
    grouped = st.tuples(person, st.integers(1, 2)).map(lambda pair: (*pair[0], pair[1]))
    rows = draw(st.lists(grouped, min_size=1, max_size=most))
    permuted = draw(st.sets(st.sampled_from(["job", "ill"])))
    shown = sorted(rows, key=lambda row: row[3])
    for place, name in ((1, "job"), (2, "ill")):
        if name not in permuted:
            continue
        mixed = []
        for group in (1, 2):
            members = [row for row in shown if row[3] == group]
            values = draw(st.permutations([row[place] for row in members]))
            mixed += [
                (*row[:place], value, *row[place + 1 :])
                for row, value in zip(members, values, strict=True)
            ]
        shown = mixed
    left_out = draw(st.lists(person, max_size=2))
    return Small(rows, left_out, frozenset(permuted), shown)
