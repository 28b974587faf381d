"""Series of rankings of a few people, and every table that explains what their releases show.

Only the decisions of the package are used; who is in a class, who goes with a leaver and what a
release shows is worked out here, for single people.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from voile.models.l_diversity import LDiversity
from voile.publish.generalization.lasting import _enough_rows, _stayers_to_withhold
from voile.publish.ranking.decision import CountedTop, LastingQuery, _Classes, _decide
from voile.publish.ranking.groups import SearchTerms
from voile.publish.ranking.local_search import search
from voile.publish.ranking.scoring import Scoring
from voile.schema.hierarchy.generalized import DistinctValues
from voile.schema.numbers import ExactNumbers
from voile.schema.plan import Plan, parse_plan
from voile.table.matching import ABSENT, FRESH, RETIRED
from voile.table.summaries import CombinationCounts
from voile_base.errors import InfeasibleError
from voile_base.randomness import Randomness

__all__ = ["K", "L", "SmallSeries", "plan_of"]

K = L = 2
NAMES = ("a", "b", "town", "illness")
Shown = tuple[Any, ...]
"""What a box shows, and the illnesses in it."""
Seen = tuple[tuple[Shown, ...], ...]
"""What each release shows."""


def plan_of(**method: Any) -> Plan:
    roles = {
        "identifiers": ["id"],
        "person": "row",
        "ranking": ["a", "b"],
        "quasi_identifiers": ["town"],
        "sensitive": ["illness"],
    }
    asked = {"name": "ranking", "k": K, "l": L, "series": "months", "record_key": "id", **method}
    return parse_plan({"roles": roles, "method": asked})


@dataclass
class State:
    """A series after some releases."""

    of: list[int]
    """The class of each person, ``FRESH``, ``ABSENT`` or ``RETIRED``."""
    shown: dict[int, Sequence[Any]] = field(default_factory=dict)
    """What the box of each class shows."""


@dataclass(frozen=True)
class SmallSeries:
    """Who there is, with marks that everybody knows, and who is in the table when."""

    marks: Sequence[tuple[int, int]]
    towns: Sequence[str]
    there: Sequence[Sequence[int]]
    """The people in the table of each release."""
    top: int
    values: str
    """What somebody's illness may be."""
    precision: Fraction = Fraction(1, 2)
    recalls_aside: bool = True
    """Whether people who were left aside stay that; the rule asks for it."""

    @classmethod
    def drawn(cls, seed: int, people: int, releases: int, values: str) -> SmallSeries:
        """People who come, and some of whom leave; four of them stay, and do not all tie."""
        draw = np.random.default_rng(seed)
        marks = [(int(a), int(b)) for a, b in draw.integers(0, 4, (people, 2))]
        joins = np.sort(draw.integers(0, releases, people))
        leaves = np.where(draw.random(people) < 0.3, joins + 1, releases)
        marks[0], marks[1] = (3, 3), (0, 0)
        joins[:4], leaves[:4] = 0, releases
        there = [
            [p for p in range(people) if joins[p] <= month < leaves[p]] for month in range(releases)
        ]
        top = int(draw.integers(2, 5))
        return cls(marks, draw.choice(["x", "y"], people).tolist(), there, top, values)

    def left(self) -> Mapping[Seen, Sequence[set[str]]]:
        """For all that releases may show, which values each person can have."""
        found: dict[Seen, list[set[str]]] = defaultdict(lambda: [set() for _ in self.marks])
        for world in product(self.values, repeat=len(self.marks)):
            seen = self.published(world)
            if seen is not None:
                for can_have, value in zip(found[seen], world, strict=True):
                    can_have.add(value)
        return found

    def published(self, illness: Sequence[str]) -> Seen | None:
        """What the releases show if people have these values; None where one did not appear."""
        state = State([FRESH] * len(self.marks))
        seen = []
        for present in self.there:
            self._settle(state, present, illness)
            shown = self._release(state, present, illness)
            if shown is None:
                return None
            seen.append(shown)
        return tuple(seen)

    def _settle(self, state: State, present: Sequence[int], illness: Sequence[str]) -> None:
        """Those who left go, and with them the first of their class."""
        for one in {each for each in state.of if each >= 0}:
            members = [p for p, each in enumerate(state.of) if each == one]
            staying = [p for p in members if p in present]
            _, rows = np.unique([illness[p] for p in members], return_counts=True)
            enough = np.maximum(K, _enough_rows(np.zeros_like(rows), rows, 1, L))
            sizes = np.array([len(members)]), np.array([len(staying)])
            company = int(_stayers_to_withhold(*sizes, enough)[0])
            for p in [*(p for p in members if p not in present), *staying[:company]]:
                state.of[p] = ABSENT

    def _release(
        self, state: State, present: Sequence[int], illness: Sequence[str]
    ) -> tuple[Shown, ...] | None:
        plan = plan_of(top=self.top)
        counts = _counts([(*self.marks[p], self.towns[p], illness[p]) for p in present])
        scores = sorted((sum(self.marks[p]) for p in present), reverse=True)
        tops = sum(score >= scores[self.top - 1] for score in scores)
        top = CountedTop.of(counts, tops, Scoring.of_weights(None, plan), plan)
        number = np.array([state.of[p] for p in present])
        values = dict(zip(NAMES, counts.values, strict=True))
        criterion = LDiversity("illness", L).criterion(values["illness"], plan)
        key = Randomness.seeded(1).key("ranking")
        asked = LastingQuery(
            SearchTerms(K, self.precision, 2 * K), search("auto"), [criterion], key
        )
        try:
            made = _decide(top, number, _Classes(len(state.shown), state.shown), asked, plan)
        except InfeasibleError:
            return None
        new = len(made.new)
        state.shown |= {len(state.shown) + i: texts for i, texts in enumerate(made.new)}
        shown = []
        for group in range(new + len(made.again)):
            people = [p for p, g in zip(present, made.ranked.group, strict=True) if g == group]
            texts = made.new[group] if group < new else state.shown[made.again[group - new]]
            shown.append((tuple(texts), *sorted(illness[p] for p in people)))
            assert len(people) >= K
        for p, one in zip(present, made.of_class.tolist(), strict=True):
            state.of[p] = one if one != RETIRED or self.recalls_aside else FRESH
        return tuple(sorted(shown, key=repr))


def _counts(rows: Sequence[tuple[Any, ...]]) -> CombinationCounts:
    """Each person as a combination of its own."""
    values, codes = [], []
    for j, name in enumerate(NAMES):
        distinct = sorted({row[j] for row in rows})
        codes.append([distinct.index(row[j]) for row in rows])
        numbers = ExactNumbers.of(distinct) if name in ("a", "b") else None
        kind = "text" if numbers is None else "number"
        values.append(DistinctValues(kind, tuple(map(str, distinct)), numbers))
    each = np.ones(len(rows), dtype=np.int64)
    return CombinationCounts(NAMES, tuple(values), np.array(codes, np.int32).T, each)
