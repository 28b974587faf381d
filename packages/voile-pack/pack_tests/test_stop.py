"""Limits in seconds follow a clock; limits in work are the same on every machine."""

from __future__ import annotations

import itertools
import math
from time import perf_counter, sleep

import numpy as np
import pytest

from voile_base.errors import InputError
from voile_pack import Instance, Stop
from voile_pack.distributions import Distributions
from voile_pack.geometry import BoxInstance
from voile_pack.instance import OPERATIONS
from voile_pack.robust import RobustOutcome
from voile_pack.solve import solve
from voile_pack.vector import VectorInstance
from voile_testing.plugin import some_slow


def test_a_stop_follows_its_clock():
    """Remaining seconds fall with the clock, and stop at zero."""
    now = [10.0]
    deadline = Stop(5, lambda: now[0]).start()
    assert deadline.remaining() == 5
    assert not deadline.passed()
    now[0] = 13
    assert deadline.elapsed() == 3
    now[0] = 16
    assert deadline.remaining() == 0
    assert deadline.passed()


def test_a_stop_counts_what_is_spent():
    """Remaining work falls with what is spent, and stops at zero; time does not matter."""
    deadline = Stop.by_work(2).start()
    assert (deadline.work, deadline.remaining_work()) == (0, 2)
    deadline.spend(1.5 * OPERATIONS)
    assert (deadline.work, deadline.remaining_work()) == (1.5, 0.5)
    assert not deadline.passed()
    deadline.spend(OPERATIONS)
    assert deadline.remaining_work() == 0
    assert deadline.passed()


def test_of_two_limits_the_first_counts():
    """Seconds and work may both be limited."""
    now = [0.0]
    hasty, idle = (Stop(5, lambda: now[0], work=1).start() for _ in range(2))
    hasty.spend(OPERATIONS)
    assert hasty.passed()
    assert not idle.passed()
    now[0] = 5
    assert idle.passed()


def test_what_is_left_can_be_passed_on():
    """The rest is a stop of its own; a share of it has the same count and an earlier end."""
    now = [0.0]
    deadline = Stop(8, lambda: now[0], work=4).start()
    deadline.spend(2 * OPERATIONS)
    now[0] = 2
    assert (deadline.rest().seconds, deadline.rest().work) == (6, 2)
    half = deadline.within(0.5)
    assert (half.remaining(), half.remaining_work()) == (3, 1)
    half.spend(OPERATIONS)
    assert half.passed()
    assert deadline.remaining_work() == 1


@pytest.mark.parametrize("limit", [-1, float("nan")])
def test_a_stop_before_the_start_is_refused(limit):
    """A limit is at least zero."""
    with pytest.raises(InputError, match="at least 0 seconds"):
        Stop(limit)
    with pytest.raises(InputError, match="limit in work must be at least 0"):
        Stop.by_work(limit)


def _numbers(*shape):
    return np.random.default_rng(3).integers(100, 500, shape)


def _one_measure(stop):
    weights = np.random.default_rng(4).integers(20_000, 35_000, 200)
    return solve(Instance(weights, 100_000), stop)


def _few_of_one_measure(stop):
    weights = np.random.default_rng(4).integers(20_000, 35_000, 40)
    return solve(Instance(weights, 100_000), stop, solver="or-tools")


def _several_measures(stop, solver="auto"):
    return VectorInstance(_numbers(100, 2), np.full(2, 1000)).solve(stop, solver=solver)


def _boxes(stop):
    sizes = _numbers(60, 3)
    return BoxInstance(sizes, np.full(3, 1000), np.zeros(60, np.int64), 1).solve(stop)


def _robust(stop):
    low = _numbers(80)
    return RobustOutcome.solve([Distributions.uniform(low, low + 30.0)], [1000.0], 0.05, stop)


SOLVERS = {
    "one measure": (_one_measure, 1e-3),
    "one measure, column generation": (_one_measure, 0.2),
    "one measure, or-tools": (_few_of_one_measure, 1e-2),
    "several measures": (_several_measures, 1e-2),
    "several measures, column generation": (_several_measures, 0.3),
    "several measures, or-tools": (lambda stop: _several_measures(stop, "or-tools"), 1e-2),
    "boxes": (_boxes, 0.02),
    "robust": (_robust, 0.05),
}


@pytest.mark.parametrize(
    "case", some_slow(SOLVERS, {"several measures", "several measures, column generation"})
)
def test_a_limit_in_work_is_the_same_on_every_machine(case):
    """It cuts the work off short of the end, and at the same place whatever the clock says."""
    pack, work = SOLVERS[case]
    outcomes = []
    for pace in (1e-9, 1e3):
        clock = itertools.count(0.0, pace).__next__
        outcomes.append(pack(Stop(float("inf"), clock, work)))
    one, other = outcomes
    assert one.work == other.work >= work
    assert not one.proved
    assert one.packing.bin_of.tolist() == other.packing.bin_of.tolist()
    assert (one.lower_bound, one.found_by) == (other.lower_bound, other.found_by)
    assert one.seconds != other.seconds


@pytest.mark.parametrize("case", SOLVERS)
def test_a_limit_in_work_is_kept(case):
    """What is done beyond the limit is what happens between two looks: a tenth of a second's."""
    pack, work = SOLVERS[case]
    assert pack(Stop.by_work(work)).work < work + 0.1


def test_solvers_of_wall_clock_time_get_longer_where_the_clock_is_slower():
    """A clock at a third of the speed leaves three times its seconds; its own speed, the same."""
    begun = perf_counter()
    slow = Stop(10.0, lambda: (perf_counter() - begun) / 3).start()
    same = Stop(10.0).start()
    fast = Stop(10.0, lambda: (perf_counter() - begun) * 2).start()
    sleep(0.3)
    for deadline, speed in ((slow, 3.0), (same, 1.0), (fast, 1.0)):
        left = deadline.remaining_of_wall()
        assert left == pytest.approx(speed * deadline.remaining(), rel=0.1)
        assert left >= deadline.remaining()


def test_solvers_of_wall_clock_time_get_a_finite_number():
    """Also where the limit is of work alone, or nothing is left."""
    assert math.isfinite(Stop.by_work(1).start().remaining_of_wall())
    assert Stop(0.0).start().remaining_of_wall() == 0
