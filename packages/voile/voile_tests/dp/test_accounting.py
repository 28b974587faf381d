"""What several events cost together, against exact optimal composition."""

from __future__ import annotations

import subprocess
import sys
from decimal import Context, Decimal
from fractions import Fraction
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voile.dp.accounting import Budget, PrivacyEvent, spent
from voile_base.errors import PlanError

amounts = st.integers(0, 10**6).map(lambda n: Decimal(n) / 10**5)
WIDE = Context(prec=60)


def event(epsilon: str | Decimal, delta: str = "0", neighbours: str = "add-remove") -> PrivacyEvent:
    return PrivacyEvent("test", Decimal(epsilon), Decimal(delta), neighbours)  # type: ignore[arg-type]


def delta_at(epsilon: Decimal, each: Decimal, own: Decimal, times: int) -> Decimal:
    """The least delta of equal events at an epsilon (Kairouz, Oh, Viswanath 2015)."""
    e = WIDE.exp(each)
    total = sum(
        (
            comb(times, i) * max(Decimal(0), e**i - WIDE.exp(epsilon) * e ** (times - i))
            for i in range(times + 1)
        ),
        Decimal(0),
    )
    return 1 - (1 - own) ** times * (1 - total / (1 + e) ** times)


@given(st.lists(amounts, max_size=6))
def test_pure_events_add_up_exactly(epsilons: list[Decimal]) -> None:
    """At delta 0 the cost is the decimal sum, with no rounding."""
    total = spent([event(epsilon) for epsilon in epsilons], Decimal(0))
    assert Fraction(total) == sum(map(Fraction, epsilons))


@pytest.mark.parametrize(
    ("each", "own", "times", "delta"),
    [("0.1", "0", 100, "1e-6"), ("0.5", "0", 12, "1e-5"), ("0.3", "1e-7", 30, "1e-5"),
     ("1", "1e-6", 3, "1e-5"), ("0.01", "0", 1000, "1e-9")],
)  # fmt: skip
def test_many_events_cost_less_than_their_sum_and_no_less_than_is_provable(
    each: str, own: str, times: int, delta: str
) -> None:
    """The cost is at least that of optimal composition, at most 1 % above, and below the sum.

    So the exact delta at the cost is within the bound, and at 99 % of the cost beyond it.
    """
    cost = spent([event(each, own)] * times, Decimal(delta))
    assert cost < times * Decimal(each)
    assert delta_at(cost, Decimal(each), Decimal(own), times) <= Decimal(delta)
    assert delta_at(cost * Decimal("0.99"), Decimal(each), Decimal(own), times) > Decimal(delta)


@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 5)), min_size=2, max_size=5),
    st.integers(0, 40),
)
def test_events_of_any_kinds_never_cost_more_than_their_sum(
    parts: list[tuple[int, int]], micro: int
) -> None:
    """Where the deltas fit, the cost is at most the sum and at least the largest, less 1 %."""
    events = [event(Decimal(e) / 10, f"{d}e-6") for e, d in parts]
    delta = Decimal(micro) / 10**6
    cost = spent(events, delta)
    needed = sum(d for _, d in parts)
    if needed > micro:
        assert cost > max(e for e, _ in parts) / Decimal(10) or cost.is_infinite()
        return
    assert cost <= sum(e for e, _ in parts) / Decimal(10)
    largest = max(e for e, _ in parts) / Decimal(10)
    assert cost >= largest - Decimal("0.001")


def test_a_delta_that_events_exceed_has_no_epsilon() -> None:
    """One event or two with more delta than the data set allows: the cost is infinite."""
    assert spent([event("1", "1e-5")], Decimal("1e-6")).is_infinite()
    assert spent([event("1", "1e-5"), event("1")], Decimal("1e-6")).is_infinite()
    assert spent([event("1", "1e-5"), event("1")], Decimal(0)).is_infinite()
    assert spent([], Decimal(0)) == 0


def test_replacing_a_row_is_removing_and_adding_one() -> None:
    """In a budget of replaced rows an event of added and removed rows counts twice."""
    assert spent([event("0.7")], Decimal(0), "replace") == Decimal("1.4")
    assert spent([event("0.7", neighbours="replace")], Decimal(0), "replace") == Decimal("0.7")
    # (1 + e) 1e-6 = 3.71829e-6
    assert spent([event("1", "1e-6")], Decimal("3.71828e-6"), "replace").is_infinite()
    assert spent([event("1", "1e-6")], Decimal("3.71829e-6"), "replace") == 2
    huge = event("1e9")
    assert spent([huge], Decimal(0), "replace") == 2 * 10**9


def test_protection_against_replacement_has_no_price_for_removal() -> None:
    """An event that may show how many rows there are cannot be counted: an error says so."""
    with pytest.raises(PlanError, match="being replaced"):
        spent([event("1", neighbours="replace")], Decimal(0))


def test_a_budget_covers_what_fits() -> None:
    """The last event that fits is the one that reaches the budget exactly."""
    budget = Budget(Decimal("0.3"))
    assert budget.covers([event("0.1"), event("0.2")])
    assert not budget.covers([event("0.1"), event("0.2"), event("1e-30")])
    assert budget.spent([event("0.1"), event("0.2")]) == Decimal("0.3")
    with pytest.raises(PlanError, match="being replaced"):
        budget.covers([event("0.1", neighbours="replace")])


def test_a_budget_with_delta_covers_more_than_the_sum() -> None:
    """A hundred events of 0.1 fit a budget of 5 at delta 1e-6, and not one of 4."""
    events = [event("0.1")] * 100
    assert Budget(Decimal(5), Decimal("1e-6")).covers(events)
    assert not Budget(Decimal(4), Decimal("1e-6")).covers(events)
    assert not Budget(Decimal(5)).covers(events)


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [("0", "0"), ("-1", "0"), ("Infinity", "0"), ("NaN", "0"), ("1", "-1e-9"), ("1", "1")],
)
def test_a_budget_that_is_none_is_refused(epsilon: str, delta: str) -> None:
    """Epsilon must be above 0 and finite, delta at least 0 and below 1."""
    with pytest.raises(PlanError, match="budget"):
        Budget(Decimal(epsilon), Decimal(delta))


@pytest.mark.slow
def test_the_accounting_library_leaves_standard_error_alone() -> None:
    """Configuring logging after a cost was computed does not close a redirected standard error."""
    script = """
import contextlib, io, logging.config, sys
from decimal import Decimal
from voile.dp.accounting import spent
from voile.dp.accounting import PrivacyEvent
with contextlib.redirect_stderr(io.StringIO()) as redirected:
    spent([PrivacyEvent("test", Decimal(1))] * 2, Decimal("1e-5"))
logging.config.dictConfig({"version": 1})
redirected.write("open")
assert sys.stderr is sys.__stderr__ and "dp_accounting" in sys.modules
"""
    done = subprocess.run(
        [sys.executable, "-c", script], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
