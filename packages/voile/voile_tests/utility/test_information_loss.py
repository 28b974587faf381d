"""What generalization lost: worked examples, figures of other programs, and every method."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from voile.disclosure.exact import Exact, Permuted, Withheld
from voile.disclosure.foreign import Altered, Perturbed
from voile.disclosure.shown import Disclosure, GroupNumbering
from voile.models.information_loss import entropies_of_runs
from voile.release.reading import PublishedRows
from voile.schema.plan import parse_plan
from voile.utility.covering import coverings
from voile.utility.information_loss import (
    AverageClassSize,
    Discernibility,
    NonUniformEntropy,
    NormalizedCertaintyPenalty,
    Precision,
    SuppressedRows,
)
from voile.utility.protocol import Comparison
from voile_tests.utility.releases import METHODS, as_it_is, nothing_left, published, shown_by_hand

ALL = (
    AverageClassSize(),
    Discernibility(),
    NonUniformEntropy(),
    NormalizedCertaintyPenalty(),
    Precision(),
    SuppressedRows(),
)
EVERY = pytest.mark.parametrize("measure", ALL, ids=lambda measure: measure.name)
QUASI_IDENTIFIERS = {"roles": {"quasi_identifiers": ["zip", "age"]}}


def measured(measure, comparison):
    """The one measurement, which must not be refused."""
    assert measure.refusal(comparison) is None
    (found,) = measure.measure(comparison)
    assert found.measure == measure.name
    return found


# --- worked examples


PATIENTS = {  # Li, Li and Venkatasubramanian, "t-closeness" (ICDE 2007), tables 1 and 2
    "zip": ["47677", "47602", "47678", "47905", "47909", "47906", "47605", "47673", "47607"],
    "age": ["29", "22", "27", "43", "52", "47", "30", "36", "32"],
}
SHOWN = {
    "zip": ["476**"] * 3 + ["4790*"] * 3 + ["476**"] * 3,
    "age": ["2*"] * 3 + [">=40"] * 3 + ["3*"] * 3,
}
PATIENTS_PLAN = parse_plan(
    {
        **QUASI_IDENTIFIERS,
        "columns": {
            "zip": {
                "tree": {
                    "476**": {
                        "4767*": ["47673", "47677", "47678"],
                        "4760*": ["47602", "47605", "47607"],
                    },
                    "479**": {"4790*": ["47905", "47906", "47909"]},
                }
            },
            "age": {
                "type": "text",
                "tree": {
                    "2*": ["22", "27", "29"],
                    "3*": ["30", "32", "36"],
                    ">=40": ["43", "47", "52"],
                },
            },
        },
    }
)


def patients() -> Comparison:
    return shown_by_hand(SHOWN, PATIENTS, PATIENTS_PLAN)


def test_the_patients_of_t_closeness():
    """Three groups of three; ZIP codes below a node of six leaves of nine, or of three.

    Prec: ZIP codes climbed 2, 1 and 2 of 3 levels, ages 1 of 2.  NUE: bits of three or six equally
    frequent values, of nine.
    """
    comparison = patients()
    assert measured(Discernibility(), comparison).value == 27
    assert measured(AverageClassSize(), comparison).value == 1.5  # the helper asks for k = 2
    precise = measured(Precision(), comparison)
    assert precise.parts == pytest.approx({"zip": 1 - 5 / 9, "age": 1 / 2})
    assert precise.value == pytest.approx((4 / 9 + 1 / 2) / 2)
    penalty = measured(NormalizedCertaintyPenalty(), comparison)
    assert penalty.parts == pytest.approx({"zip": (6 * 6 + 3 * 3) / 81, "age": 1 / 3})
    entropy = measured(NonUniformEntropy(), comparison)
    bits = np.log2([3, 6, 9])
    assert entropy.parts == pytest.approx(
        {"zip": (6 * bits[1] + 3 * bits[0]) / 9 / bits[2], "age": 0.5}
    )
    assert entropy.value == pytest.approx(sum(entropy.parts.values()) / 2)


def test_intervals_cost_their_width():
    """Xu et al., section 2.2: the width of the interval over that of the column, on average."""
    shown = {"age.low": [20, 20, 40], "age.high": [30, 30, 40]}
    found = measured(NormalizedCertaintyPenalty(), shown_by_hand(shown, {"age": [20, 30, 40]}))
    assert found.parts == pytest.approx({"age": (0.5 + 0.5 + 0) / 3})


def test_suppressed_rows_are_lost():
    """One row of ten is left out: it costs all in every cell, and looks like everybody."""
    frame = pl.DataFrame(PATIENTS)
    original = pl.concat([frame, frame[:1]]).to_dict(as_series=False)
    comparison = shown_by_hand(SHOWN, original, PATIENTS_PLAN)
    assert measured(SuppressedRows(), comparison).value == 0.1
    assert measured(Discernibility(), comparison).value == 27 + 10
    whole = measured(NormalizedCertaintyPenalty(), patients()).parts
    found = measured(NormalizedCertaintyPenalty(), comparison)
    assert found.parts == pytest.approx({name: (9 * whole[name] + 1) / 10 for name in whole})
    climbed = measured(Precision(), comparison).parts
    assert climbed == pytest.approx({"zip": 1 - (5 + 1) / 10, "age": 1 - (9 / 2 + 1) / 10})
    assert "1 row of the original is not published" in found.notes[0]


def test_more_rows_than_the_original_has_are_no_loss():
    """Rows that were carried over from another table suppress nobody."""
    comparison = shown_by_hand({"age": [1, 1, 2, 2]}, {"age": [1, 2, 2]})
    assert measured(SuppressedRows(), comparison).value == 0


# --- columns whose cells stand for no set of values


def beside(columns, released, original, plan=None):
    """A release whose columns are shown as stated, the first two being a key and an amount."""
    comparison = shown_by_hand(released, original, plan, roles=ROLES)
    release = comparison.published.release
    groups = (
        GroupNumbering(column="group", made="clusters", by=("key",))
        if "group" in released
        else None
    )
    disclosure = Disclosure(columns=columns, groups=groups)
    stated = replace(release, disclosure=disclosure)
    return replace(comparison, published=PublishedRows.of(stated))


ROLES = {"quasi_identifiers": ("key",), "sensitive": ("amount",)}
KEYS = ["a", "a", "b", "b", "b"]


@pytest.mark.slow
def test_permuted_numbers_cost_the_range_of_their_group():
    """By brute force: for each row the range of what its group shows, over that of the column."""
    draws = np.random.default_rng(5)
    for _ in range(30):
        amount = draws.integers(0, 9, 8)
        group = draws.integers(0, 3, 8)
        rows = {"group": group, "key": ["x"] * 8, "amount": amount}
        columns = {"key": Exact(), "amount": Permuted()}
        found = measured(NormalizedCertaintyPenalty(), beside(columns, rows, rows))
        width = [np.ptp(amount[group == one]) / max(np.ptp(amount), 1) for one in group]
        assert found.parts == pytest.approx({"key": 0, "amount": np.mean(width)})


def test_permuted_texts_cost_the_share_of_texts_in_their_group():
    """A group of one text tells it; one of two of the three texts leaves two thirds open."""
    rows = {"group": [1, 1, 2, 2, 2], "key": list("xyxyz"), "amount": list("ppqrq")}
    found = measured(
        NormalizedCertaintyPenalty(),
        beside({"key": Exact(), "amount": Permuted()}, rows, rows),
    )
    assert found.parts == pytest.approx({"key": 0, "amount": 3 * (2 / 3) / 5})
    assert "column 'amount' counts by the values that its groups hold" in found.notes


def test_rounding_costs_what_intervals_of_its_width_cost():
    """Multiples of 20 lie 5 from the true numbers on average, and stand for intervals of 20."""
    true = np.arange(0, 100.0, 0.5)
    near = np.round(true / 20) * 20
    scale = float(np.abs(near - true).mean())
    rows, own = ({"key": ["x"] * 200, "amount": side} for side in (near, true))
    columns = {"key": Exact(), "amount": Perturbed(scale=scale)}
    found = measured(NormalizedCertaintyPenalty(), beside(columns, rows, own))
    low, high = (np.clip(near + way, 0, 99.5) for way in (-10, 10))
    assert found.parts["amount"] == pytest.approx(((high - low) / 99.5).mean(), rel=0.02)
    assert 0.15 < found.parts["amount"] < 0.21
    for measure in (Precision(), NonUniformEntropy()):
        assert "'amount': numbers near the true ones" in measure.refusal(
            beside(columns, rows, own, parse_plan({"roles": {"quasi_identifiers": ["key"]}}))
        )


def test_numbers_beyond_the_domain_are_as_wide_as_those_at_its_ends():
    """Noise that leads out of the domain hides no less."""
    columns = {"key": Exact(), "amount": Perturbed(scale=1.0)}
    own = {"key": KEYS, "amount": [0, 2, 4, 8, 10]}
    shown = {"key": KEYS, "amount": [-5.0, 0.0, 5.0, 10.0, 99.0]}
    found = measured(NormalizedCertaintyPenalty(), beside(columns, shown, own))
    assert found.parts["amount"] == pytest.approx((0.2 + 0.2 + 0.4 + 0.2 + 0.2) / 5)


@pytest.mark.parametrize(
    ("shown", "reason"),
    [
        (
            Altered(share=0.991),
            "at least 99.1% of the rows show a combination of values that no row",
        ),
        (Altered(share=0.02), "at least 2.0% of the rows show a combination of values that no row"),
        (Permuted(within="file"), "nobody says within which"),
        (Perturbed(scale=1.0, guessed=True), "nothing tells how far its numbers lie"),
    ],
)
def test_what_nobody_can_tell_is_never_no_loss(shown, reason):
    """Each measure of cells says that it does not apply; none says 0, and none 1 of precision."""
    rows = {"group": [1] * 5, "key": KEYS, "amount": [1, 2, 3, 4, 5]}
    plan = parse_plan({"roles": {"quasi_identifiers": ["key"], "sensitive": ["amount"]}})
    comparison = beside({"key": Exact(), "amount": shown}, rows, rows, plan)
    assert reason in NormalizedCertaintyPenalty().refusal(comparison)
    assert Precision().refusal(comparison).startswith("column 'amount': ")
    assert NonUniformEntropy().refusal(comparison).startswith("column 'amount': ")
    lost = SuppressedRows().refusal(comparison)
    assert (lost is not None) == bool(shown.made_up)


def test_a_column_that_is_withheld_is_lost_altogether():
    """A key that no column shows costs 1, whether it is a quasi-identifier or sensitive."""
    plan = parse_plan({"roles": {"quasi_identifiers": ["key", "town"], "sensitive": ["amount"]}})
    own = {"key": KEYS, "amount": [1, 2, 3, 4, 5], "town": KEYS}
    columns = {"key": Exact(), "amount": Withheld(), "town": Withheld()}
    comparison = beside(columns, {"key": KEYS}, own, plan)
    parts = {"key": 0, "town": 1, "amount": 1}
    assert measured(NormalizedCertaintyPenalty(), comparison).parts == parts
    assert measured(NonUniformEntropy(), comparison).parts == parts
    precise = measured(Precision(), comparison)
    assert precise.parts == {"key": 1, "town": 0, "amount": 0}
    assert "column 'town' is not published and counted as lost altogether" in precise.notes


# --- figures of other programs

COLUMNS = (
    "sex",
    "age",
    "race",
    "marital-status",
    "education",
    "native-country",
    "workclass",
    "occupation",
    "salary-class",
)


@pytest.fixture(scope="module")
def adult(shared_data: Path):
    """The Adult table generalized to a node of its lattice."""
    census = shared_data / "census"
    files = {name: census / f"hierarchies/adult-arx/{name}.csv" for name in COLUMNS}
    frame = pl.read_csv(census / "adult-arx.csv", separator=";").select(COLUMNS)
    plan = parse_plan(
        {
            "roles": {"quasi_identifiers": list(COLUMNS)},
            "columns": {name: {"hierarchy": str(file)} for name, file in files.items()},
        }
    )

    def at(node: tuple[int, ...], rows: int | None = None) -> Comparison:
        shown = {}
        for name, level in zip(COLUMNS, node, strict=True):
            with files[name].open() as file:
                lines = [line for line in csv.reader(file, delimiter=";") if line]
            became = {line[0]: line[level] for line in lines}
            shown[name] = [became[str(value)] for value in frame[name][:rows]]
        levels = dict(zip(COLUMNS, node, strict=True))
        return shown_by_hand(shown, frame.to_dict(), plan, decision={"levels": levels})

    return at


@pytest.mark.parametrize(
    ("node", "bits"),
    [
        ((1, 2, 1, 1, 3, 2, 2, 1, 1), 407289.5388925293),
        ((0, 4, 1, 1, 3, 2, 2, 1, 1), 453196.8932458743),
    ],
)
def test_non_uniform_entropy_is_that_of_arx(adult, node, bits):
    """The optima for k = 5 and k = 100 without suppression cost as many bits as in ARX's tests."""
    comparison = adult(node)
    lost = whole = 0.0
    for covering in coverings(comparison).values():
        counts, spread = covering.domain.rows, covering.spread
        bits_of = entropies_of_runs(counts[spread.order], spread.start, spread.stop)
        lost += covering.rows @ bits_of
        (column,) = entropies_of_runs(counts, np.array([0]), np.array([len(counts)]))
        whole += column * counts.sum()
    assert lost == pytest.approx(bits, rel=1e-12)
    assert 0 < measured(NonUniformEntropy(), comparison).value < 1
    assert lost < whole


def test_groups_are_those_of_pycanon(adult):
    """PyCANON 1.3.5: discernibility of the table, a release, and one with 162 rows left out.

    Its average class size divides by the least group, 397 rows, ours by the k that was asked for.
    """
    node = (0, 4, 1, 1, 3, 2, 2, 1, 1)
    found = measured(Discernibility(), adult(node))
    assert found.value == 102_352_340
    assert found.untouched == 115_382
    assert measured(Discernibility(), adult(node, 30_000)).value == 106_155_688
    size = measured(AverageClassSize(), adult(node)).value
    assert size * 2 / 397 == pytest.approx(6.331234256926952)  # k = 2
    left_out = measured(AverageClassSize(), adult(node, 30_000)).value
    assert left_out * 2 / 395 == pytest.approx(6.329113924050633)


# --- every method


@EVERY
def test_the_original_as_it_is_loses_nothing(measure):
    """Its value is the one that is called untouched."""
    found = measured(measure, as_it_is())
    assert found.value == pytest.approx(found.untouched)
    assert all(part == pytest.approx(found.value) for part in found.parts.values())


@EVERY
def test_nothing_left_is_useless(measure):
    """Whole domains in every cell, or no row at all, are what is called useless."""
    comparison = nothing_left()
    if measure.name == "suppressed-rows":
        comparison = shown_by_hand({"age": []}, {"age": [1, 2]})
    found = measured(measure, comparison)
    assert found.value == pytest.approx(found.useless)


@pytest.mark.parametrize("method", METHODS)
@EVERY
def test_every_method_is_measured_or_refused(measure, method):
    """Between untouched and useless, with a part for each generalized column, or with a reason."""
    comparison = published(method)
    reason = measure.refusal(comparison)
    told = {"suppressed-rows", "normalized-certainty-penalty"}
    if method in {"ke-anonymity", "m-shuffle"} and measure.name not in told:
        assert reason.endswith("values are permuted within groups, which shows in no single cell")
        return
    if method == "clustered-laplace" and measure.name not in told:
        assert reason.endswith("values with noise stand for no set of values")
        return
    if measure.name == "precision" and method in {"auto", "mondrian", "k-optimize", "ranking"}:
        assert reason == "its groups show intervals, which lie on no level of a hierarchy"
        return
    found = measured(measure, comparison)
    assert min(found.untouched, found.useless) <= found.value
    assert found.value <= max(found.untouched, found.useless)
    generalized = METHODS[method]()[1].roles
    if found.parts:
        expected = {*generalized.quasi_identifiers, *generalized.ranking}
        if method == "ke-anonymity":
            expected |= {"salary"}  # the column that it permutes
        assert found.parts.keys() == expected
    if measure.name != "suppressed-rows":
        assert found.value != found.untouched


def test_more_detail_is_less_loss():
    """Mondrian's groups lose less than one node for all rows, by every measure."""
    for measure in (AverageClassSize(), Discernibility(), NonUniformEntropy()):
        cut, node = (measured(measure, published(name)) for name in ("mondrian", "flash"))
        assert cut.value < node.value


def test_what_cannot_be_measured_says_why():
    """No quasi-identifiers, no plan, no k."""
    nobody = shown_by_hand({"x": [1]}, {"x": [1]}, roles={"keep": ("x",)})
    assert NormalizedCertaintyPenalty().refusal(nobody) == "it has no quasi-identifiers"
    unplanned = shown_by_hand({"x": [1]}, {"x": [1]})
    assert "no plan was given" in Precision().refusal(unplanned)
    release = published("ranking").published.release
    assert isinstance(release.guarantee.parameters["k"], int)
    gone = shown_by_hand({"x": []}, {"x": [1]})
    assert AverageClassSize().refusal(gone) == "it has no rows"
