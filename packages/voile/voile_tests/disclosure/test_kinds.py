"""What each kind says of itself, and what its cells may not show."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import pytest

from voile.disclosure.counted import Aggregate, Label
from voile.disclosure.exact import Blanked, Exact, Numbered, Permuted, Withheld
from voile.disclosure.foreign import Altered, Typical
from voile.disclosure.interval import Generalized, Interval
from voile.disclosure.masked import NoiseAdded, Randomized, RankSwapped, Shuffled, Swapped
from voile.disclosure.replaced import (
    Averaged,
    Moved,
    PlanarZones,
    Remaining,
    StatedPlanarLaplace,
)
from voile.disclosure.shown import Disclosure, GroupNumbering
from voile.schema.hierarchy.generalized import DistinctValues
from voile.schema.numbers import ExactNumbers
from voile_tests.disclosure.test_disclosure import NOISY

ZONES = PlanarZones(levels=(1.0,))
NORTH, EAST = (
    Moved(coordinate=name, law=StatedPlanarLaplace(), zones=ZONES, decimals=2)
    for name in ("latitude", "longitude")
)
METRES = Remaining(zones=ZONES)
COUNTS = Aggregate(confidence=0.9)


def of_numbers(*values, scale=0):
    """Distinct values, ascending, that are numbers with so many decimals."""
    units = np.array([round(Decimal(value) * 10**scale) for value in values])
    return DistinctValues("number", tuple(map(str, values)), ExactNumbers(units, scale))


TEXTS = DistinctValues("text", ("far", "north"))


@dataclass(frozen=True)
class CellsOfValues:
    """Cells of which only their distinct values are asked."""

    name: str
    distinct: DistinctValues

    def values(self, column):
        """Of the one column."""
        assert column == self.name
        return self.distinct


@pytest.mark.parametrize(
    ("shown", "values", "said"),
    [
        (NORTH, of_numbers(-90, 90, scale=2), None),
        (NORTH, of_numbers(4, 52), None),
        (NORTH, of_numbers("1.00", "90.01", scale=2), "shows what cannot be a latitude"),
        (NORTH, of_numbers("-90.01", scale=2), "shows what cannot be a latitude"),
        (EAST, of_numbers(-180, "90.01", scale=2), None),
        (EAST, of_numbers("180.01", scale=2), "shows what cannot be a longitude"),
        (NORTH, of_numbers("1.001", scale=3), "does not lie on the grid that it states"),
        (NORTH, TEXTS, "does not lie on the grid that it states"),
        (METRES, of_numbers(0, 17), None),
        (METRES, of_numbers(-1, 17), "shows distances below 0"),
        (METRES, of_numbers("1.5", scale=1), "does not lie on the grid that it states"),
        (METRES, TEXTS, "does not lie on the grid that it states"),
        (Exact(), TEXTS, None),
    ],
)
def test_what_cells_contradict_is_told(shown, values, said):
    """Positions off their grid or the earth, distances that are none; one sentence, or nothing."""
    found = list(shown.breaches(CellsOfValues("x", values)))
    assert found == ([f"column 'x' {said}"] if said else [])


def test_kinds_say_what_their_cells_are_good_for():
    """Whether anything can be checked of them, whether they weigh, whether they may show less."""
    kinds = (Exact(), Generalized(level=1), Interval(level=1), NOISY, Permuted(), Numbered())
    kinds += (Withheld(), Label(), COUNTS, NORTH, METRES, Altered(share=0.5))
    kinds += (Typical(differs=0.2), Averaged(scale=2.5), Blanked())
    kinds += (RankSwapped(distance=0.1), Shuffled(explained=0.5), Swapped())
    kinds += (NoiseAdded(law="normal", deviation=2.5), Randomized(values=("f",), matrix=((1,),)))
    said = {one.kind: (one.promises, one.weighed, one.coarse) for one in kinds}
    assert said == {
        "exact": (False, True, False),
        "generalized": (False, True, True),
        "interval": (False, True, True),
        "noisy": (False, True, False),
        "permuted": (False, True, False),
        "numbered": (False, False, False),
        "withheld": (False, True, False),
        "label": (False, False, False),
        "aggregate": (False, False, False),
        "moved": (True, False, False),
        "remaining": (True, False, False),
        "altered": (False, True, False),
        "typical": (False, True, False),
        "averaged": (False, True, False),
        "blanked": (False, True, True),
        "rank-swapped": (False, True, False),
        "shuffled": (False, True, False),
        "swapped": (False, True, False),
        "noise-added": (False, True, False),
        "randomized": (False, True, False),
    }
    assert not Generalized(level=0).coarse
    assert Interval(level=0).coarse


def test_levels_and_ends_are_told():
    """One level, where all rows have it; ends that everybody can read."""
    assert [Generalized(level=level).one_level for level in (0, 3, "differs")] == [0, 3, None]
    numeric = {ends: Interval(level=1, ends=ends).numeric for ends in ("columns", "text", "range")}
    assert numeric == {"columns": True, "text": True, "range": False}
    assert Interval(level=1, ends="range").with_intervals_as_text().ends == "range"


def test_published_columns_of_counts_and_of_nothing():
    """A count has an interval; what is withheld has no column, and a table may lack one."""
    disclosure = Disclosure(columns={"road": Label(), "trips": COUNTS, "name": Withheld()})
    assert disclosure.published == ("road", "trips", "trips.low", "trips.high")
    assert disclosure.columns_of("name") == disclosure.columns_of("nowhere") == ()
    assert disclosure.owner("trips.high") == "trips"
    assert disclosure.owner("nowhere") is None


def test_a_disclosure_leaves_out_columns_and_tells_how_rows_were_drawn():
    """The rest stays, groups too; a row is there with the stated probability, or for sure."""
    groups = GroupNumbering(column="group", made="clusters", by=("pay",))
    both = Disclosure(
        columns={"a": Exact(), "pay": Permuted()}, groups=groups, sampled=Decimal("0.25")
    )
    left = both.without(["pay", "other"])
    assert left.columns == {"a": Exact()}
    assert (left.groups, left.sampled) == (groups, Decimal("0.25"))
    assert both.probability == 0.25
    assert Disclosure(columns={}).probability == 1
    assert both.permuted == {"pay"}
    assert left.permuted == frozenset()
