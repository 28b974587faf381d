"""The solvers as a whole: optimal, valid, on time, and quiet."""

import csv
import sys
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pack_tests.brute_force import best_value, fewest_bins
from voile_base.errors import InputError
from voile_pack import Instance, Packing, Stop, patterns
from voile_pack.column_generation import corners, finish, mean_of, relax
from voile_pack.patterns import CLOSE, Demand, PatternVerdict
from voile_pack.solve import solve
from voile_testing.plugin import examples

ENOUGH = Stop.by_work(60)
weights_and_capacity = st.integers(10, 40).flatmap(
    lambda capacity: st.tuples(st.lists(st.integers(0, capacity), max_size=10), st.just(capacity))
)


def _instance(weights, capacity):
    return Instance(np.array(weights, np.int64), capacity)


@given(weights_and_capacity)
def test_small_instances_are_solved_and_proved(drawn):
    """The optimum of the search over all packings, with a proof."""
    instance = _instance(*drawn)
    outcome = solve(instance, ENOUGH)
    assert outcome.bins == fewest_bins([w for w in drawn[0] if w], drawn[1]) or not any(drawn[0])
    assert outcome.proved
    outcome.packing.require_valid(instance)


@settings(max_examples=examples(50))
@given(weights_and_capacity)
def test_without_work_the_answer_is_valid_and_the_bound_true(drawn):
    """No work at all still gives a packing, and a bound at most the optimum."""
    instance = _instance(*drawn)
    outcome = solve(instance, Stop.by_work(0))
    outcome.packing.require_valid(instance)
    positive = [w for w in drawn[0] if w]
    optimum = fewest_bins(positive, drawn[1]) or int(len(drawn[0]) > 0)
    assert outcome.lower_bound <= optimum <= outcome.bins


@settings(max_examples=examples(20))
@given(weights_and_capacity)
def test_plain_or_tools_agrees(drawn):
    """The model of the seed proves the same optimum."""
    instance = _instance(*drawn)
    plain, default = solve(instance, ENOUGH, solver="or-tools"), solve(instance, ENOUGH)
    assert plain.proved
    assert plain.bins == default.bins


@pytest.mark.parametrize(("weights", "bins"), [([], 0), ([0, 0, 0], 1), ([7], 1), ([0, 7], 1)])
def test_the_smallest_instances(weights, bins):
    """No items, weightless items, one item."""
    outcome = solve(_instance(weights, 10), ENOUGH)
    assert (outcome.bins, outcome.lower_bound) == (bins, bins)
    assert len(outcome.packing.bin_of) == len(weights)


def _triplets(bins, shift):
    """Items that fill ``bins`` bins of 1,000 exactly, three in each."""
    first = 251 + (np.arange(bins) * 37 + shift) % 120
    second = 380 - (np.arange(bins) * 53 + shift) % 100
    return np.concatenate((first, second, 1000 - first - second))


@pytest.mark.parametrize(("bins", "shift"), [(20, 1), (40, 5), (83, 9)])
def test_triplets_without_any_waste_are_proved(bins, shift):
    """Where a single gram is wasted in no bin, best fit is bins away and the default is exact."""
    outcome = solve(Instance(_triplets(bins, shift), 1000), ENOUGH)
    assert outcome.bins == bins
    assert outcome.proved


@pytest.mark.parametrize("unit", [1, 10**6, 2**41 + 1])
def test_the_unit_does_not_matter(unit):
    """Weights and capacity times a number: the same bins, the same packing."""
    weights = np.arange(120) * 7919 % 61 + 20
    outcome = solve(Instance(weights * unit, 150 * unit), ENOUGH)
    assert outcome.proved
    assert (
        outcome.packing.bin_of.tolist()
        == solve(Instance(weights, 150), ENOUGH).packing.bin_of.tolist()
    )


def test_large_capacities_need_no_table():
    """Weights of forty bits without a common divisor are packed and bounded."""
    rng = np.random.default_rng(5)
    weights = rng.integers(2**38, 2**39, 100)
    outcome = solve(Instance(weights, 2**40 + 1), Stop.by_work(10))
    assert outcome.bins - outcome.lower_bound <= 1


@pytest.mark.slow
def test_many_items_are_packed_within_a_bin_of_the_bound():
    """A hundred thousand items: first fit alone leaves no gap to speak of."""
    rng = np.random.default_rng(6)
    outcome = solve(Instance(rng.integers(1, 30_000, 100_000), 100_000), Stop.by_work(0))
    assert outcome.gap < 1e-3


@pytest.mark.slow
def test_the_answer_is_the_same_every_time():
    """Two runs that end before the limit agree item by item."""
    instance = Instance(_triplets(40, 3), 1000)
    first, again = solve(instance, ENOUGH), solve(instance, ENOUGH)
    assert first.packing.bin_of.tolist() == again.packing.bin_of.tolist()
    assert (first.found_by, first.bound_by) == (again.found_by, again.bound_by)


def test_progress_only_gets_better():
    """Reports bracket the optimum ever more closely, and the last is the answer."""
    reports = []
    outcome = solve(Instance(_triplets(40, 3), 1000), ENOUGH, progress=reports.append)
    assert len(reports) > 2
    bins, bounds = [r.bins for r in reports], [r.lower_bound for r in reports]
    assert bins == sorted(bins, reverse=True)
    assert bounds == sorted(bounds)
    assert (bins[-1], bounds[-1]) == (outcome.bins, outcome.lower_bound)
    seconds = [r.seconds for r in reports]
    assert seconds == sorted(seconds)


def test_the_limit_is_kept_by_the_given_clock():
    """Work ends soon after the clock passes the limit, at whatever stage it is."""
    for limit in (1, 3, 10):
        ticks = [0]

        def clock(ticks=ticks):
            ticks[0] += 1
            return float(ticks[0])

        # Nearly equal halves: no stage can close the gap at once.
        instance = Instance(np.arange(201, 351) * 1009 % 977 + 3300, 10_000)
        outcome = solve(instance, Stop(limit, clock))
        outcome.packing.require_valid(instance)
        assert ticks[0] < limit + 12


def test_an_unknown_solver_is_refused():
    """The message names the known ones."""
    with pytest.raises(InputError, match=r"no such solver.*auto, or-tools.*did you mean"):
        solve(_instance([1], 2), solver="ortools")  # type: ignore[arg-type]


def test_or_tools_that_is_absent_is_told_with_its_cure(monkeypatch: pytest.MonkeyPatch):
    """Asked for, it is an error that names the extra; the default does without."""
    monkeypatch.setitem(sys.modules, "ortools.sat.python", None)
    assert not patterns.is_installed()
    with pytest.raises(InputError, match=r"pip install 'voile-pack\[proofs\]'"):
        solve(_instance([1], 2), ENOUGH, solver="or-tools")
    assert solve(Instance(_triplets(40, 3), 1000), ENOUGH).bins == 40


def test_nothing_is_said(capfd: pytest.CaptureFixture[str]):
    """Solvers see private weights, and so write nothing anywhere."""
    weights = [6, 5, 5, 4, 4, 3, 3]
    solve(_instance(weights, 10), ENOUGH, solver="or-tools")
    solve(Instance(_triplets(40, 3), 1000), ENOUGH)
    assert capfd.readouterr() == ("", "")


def test_a_faulty_solver_is_a_fault(monkeypatch: pytest.MonkeyPatch):
    """No packing leaves unchecked, wherever it comes from."""
    module = sys.modules["voile_pack.solve"]  # its name in the package is the function's
    monkeypatch.setattr(module, "decreasing", lambda weights, capacity: np.zeros_like(weights))
    with pytest.raises(AssertionError, match="overfilled"):
        solve(_instance([4, 4, 4, 3, 3, 3], 11), Stop.by_work(0))


def _read(folder, family):
    with zipfile.ZipFile(folder / f"{family}.zip") as archive:
        for name in archive.namelist():
            if name.endswith("/"):
                continue
            numbers = [int(word) for word in archive.read(name).split()]
            yield name.rsplit("/", 1)[-1].removesuffix(".txt"), _instance(numbers[2:], numbers[1])


@pytest.mark.parametrize(
    ("family", "every"),
    [("falkenauer-u", 8), ("falkenauer-t", 10), ("scholl-1", 40), ("scholl-2", 30)],
)
def test_known_instances_are_proved(shared_data, family, every):
    """A sample of each family: the published optimum, with a proof."""
    folder = shared_data / "bin-packing"
    with (folder / "optima.csv").open(encoding="utf-8") as lines:
        optima = {row["instance"]: int(row["best_known_bins"]) for row in csv.DictReader(lines)}
    for name, instance in list(_read(folder, family))[::every]:
        outcome = solve(instance, ENOUGH)
        assert (name, outcome.bins, outcome.lower_bound) == (name, optima[name], optima[name])
        assert isinstance(outcome.packing, Packing)


@pytest.mark.parametrize(
    "name",
    [
        "766",
        "716",
        pytest.param("175", marks=pytest.mark.slow),
        pytest.param("359", marks=pytest.mark.slow),
        pytest.param("640", marks=pytest.mark.slow),
        pytest.param("785", marks=pytest.mark.slow),
    ],
)
def test_hard_instances_are_proved(shared_data, name):
    """Instances of Hard28, half of them with a bin more than the programme asks for, by work."""
    pytest.importorskip("ortools")
    optimum = {"766": 62, "716": 76, "175": 84, "359": 76, "640": 74, "785": 68}[name]
    instance = dict(_read(shared_data / "bin-packing", "hard28"))[f"Hard28_BPP{name}"]
    outcome = solve(instance, Stop.by_work(10))
    assert (outcome.bins, outcome.lower_bound) == (optimum, optimum)
    outcome.packing.require_valid(instance)


@pytest.mark.slow
def test_a_bin_more_than_the_programme_asks_for_is_proved_in_whole_numbers(
    shared_data, monkeypatch
):
    """Prices that no pattern exceeds by a table of all capacities, and no help of CP-SAT."""
    pytest.importorskip("ortools")
    instance = dict(_read(shared_data / "bin-packing", "hard28"))["Hard28_BPP359"]
    demand = Demand.of(instance)
    first = relax(demand, ENOUGH.start())
    assert first is not None
    finished = finish(demand, first, ENOUGH.start())
    found = corners(demand, finished, ENOUGH.start(), 10, 0.02, word=2)
    filters = [mean_of(demand, found, finished.bound, ENOUGH.start()), *found]
    for prices in filters:
        lists = demand.weights.tolist(), demand.counts.tolist(), prices.prices.tolist()
        assert best_value(*lists, demand.capacity) <= prices.pattern_at_most
    monkeypatch.setattr(
        "voile_pack.patterns._prove", lambda *_: PatternVerdict(None, impossible=False)
    )
    verdict = demand.decide(filters, 75, CLOSE, ENOUGH.start())
    assert verdict.patterns is None
    assert verdict.impossible
    assert not demand.decide(filters, 76, CLOSE, ENOUGH.start()).impossible


@pytest.mark.slow
def test_a_seed_chooses_the_course_and_nothing_else():
    """With any seed a valid packing and a true bound, the same again; other numbers are refused."""
    instance = Instance(_triplets(30, 4), 1000)
    for seed in (1, 2, 1_000_000):
        first, again = (solve(instance, ENOUGH, seed=seed) for _ in range(2))
        first.packing.require_valid(instance)
        assert (first.bins, first.lower_bound) == (30, 30)
        assert first.packing.bin_of.tolist() == again.packing.bin_of.tolist()
    for seed in (0, -1, 1_000_001):
        with pytest.raises(InputError, match="the seed must be 1 to 1,000,000"):
            solve(instance, ENOUGH, seed=seed)
