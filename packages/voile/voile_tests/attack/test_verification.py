"""Claims of the adversary against the private original."""

from decimal import Decimal

import polars as pl
import pytest

from voile.attack.differencing import Narrowing, Victim
from voile.attack.earlier_releases import VictimCounts
from voile_base.errors import TableError

ORIGINAL = pl.DataFrame({"age": [52, 30, 30, 41, 60], "salary": [6.5, 1.0, 2.0, 9.0, None]})


def victim(age, *values, people=1):
    numbers = tuple(map(Decimal, values))
    return Victim({"age": age}, people, numbers, Narrowing(9, Decimal(9)), ())


def test_claims_are_right_wrong_or_about_nobody():
    """Each victim counts once, by whether the true value is among the claimed ones."""
    found = VictimCounts.of(
        [victim(52, "6.5"), victim(41, "8", "9.5"), victim(99, "1")], ORIGINAL, "salary"
    )
    assert (found.victims, found.right, found.unknown, found.share) == (3, 1, 1, 0.5)
    assert found.document() == {"victims": 3, "right": 1, "unknown": 1, "share": 0.5}


def test_people_who_look_the_same_must_all_fit():
    """Two people of 30 have the values 1 and 2; a claim about both must hold for both."""
    assert VictimCounts.of([victim(30, "1", "2", people=2)], ORIGINAL, "salary").right == 1
    assert VictimCounts.of([victim(30, "1", "3", people=2)], ORIGINAL, "salary").right == 0
    assert VictimCounts.of([victim(30, "1", "3")], ORIGINAL, "salary").right == 1


def test_nobody_to_check_is_no_wrong_claim():
    """Without victims there is nothing to find in the original."""
    assert VictimCounts.of([], pl.DataFrame(), "salary").share == 1.0


def test_an_original_without_the_columns_is_refused():
    """The message names the column; no value of the original is in it."""
    with pytest.raises(TableError, match="'age'"):
        VictimCounts.of([victim(52, "6")], ORIGINAL.drop("age"), "salary")
    with pytest.raises(TableError, match="'salary'"):
        VictimCounts.of([victim(52, "6")], ORIGINAL.cast({"salary": pl.String}), "salary")
