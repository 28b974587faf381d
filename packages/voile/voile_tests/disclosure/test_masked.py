"""Masked columns, by hand: how well cells fit known values, what they cover, what contradicts."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.stats import laplace, multivariate_normal, norm

from voile.disclosure.counted import Synthetic
from voile.disclosure.exact import Blanked, Coded, Exact, Permuted
from voile.disclosure.foreign import Perturbed, Typical
from voile.disclosure.interval import Generalized, ValueSet
from voile.disclosure.masked import (
    NoiseAdded,
    Randomized,
    RankSwapped,
    Shuffled,
    StratumMatrix,
    Swapped,
)
from voile.disclosure.replaced import Averaged, Cluster, Noisy, Remaining
from voile.disclosure.shown import ComparedColumn
from voile.schema.coding import Recoded, Rounded
from voile_base.errors import InputError
from voile_tests.disclosure.sides import Knows, Shows
from voile_tests.disclosure.test_kinds import NORTH, TEXTS, ZONES, CellsOfValues, of_numbers

ALL = slice(None)
FAR, UNLIKELY = -700.0, np.log(1e-3)
TWO = Randomized(values=("f", "m"), matrix=((0.75, 0.25), (0.5, 0.5)))


@dataclass
class Line:
    """A missing value and the numbers 1, 2 and 5, once each but for the missing one."""

    missing_rows: int = 2
    name: str = "pay"
    extent: tuple[float, float] | None = (1.0, 5.0)
    points: np.ndarray | None = field(default_factory=lambda: np.array([np.nan, 1.0, 2.0, 5.0]))
    weight: np.ndarray = field(default_factory=lambda: np.ones(4))
    hierarchy: None = None
    leaf_order: np.ndarray = field(default_factory=lambda: np.arange(4))
    generalized: list[Any] = field(default_factory=lambda: [[None, "1", "2", "5"]])
    values: Any = field(
        default_factory=lambda: SimpleNamespace(
            texts=(None, "1", "2", "5"), numbers=np.array([1, 2, 5]), missing=True
        )
    )

    def __len__(self) -> int:
        return 4

    @property
    def rows(self) -> np.ndarray:
        """Of each value."""
        return np.array([self.missing_rows, 1, 1, 1])

    @property
    def known(self) -> Knows:
        """All values."""
        return Knows([None, 1, 2, 5])

    def coded(self, codings: Any) -> None:
        """Nothing: what codings need is not known."""
        del codings

    def nearest(self, numbers: np.ndarray) -> np.ndarray:
        """The place of the nearest number."""
        far = np.abs(numbers[:, np.newaxis] - np.array([1.0, 2.0, 5.0]))
        return np.where(np.isnan(numbers), -1, 1 + far.argmin(axis=1))


class Towns(Line):
    """The same as texts, on no line."""

    def __init__(self) -> None:
        super().__init__(extent=None, points=None)
        self.values.numbers = None


def weights(shown, known, cells, **knows):
    """How well each cell fits each known value, and the same about turned targets and rows."""
    evidence = shown.evidence(Knows(known, **knows), cells)
    found = evidence.log_weights(ALL)
    turned = np.arange(len(known))[::-1]
    assert np.array_equal(evidence.log_weights(turned), found[turned])
    assert np.array_equal(evidence.only(np.array([1, 0])).log_weights(ALL), found[:, [1, 0]])
    return found


def covers(shown, values, domain=None, counts=None):
    """The values that cells stand for, by their places, and the sizes; no cell tells a level."""
    covered = shown.covered(domain or Line(), Shows("pay", {"pay": values}, counts))
    assert covered.level is None
    places = [np.flatnonzero(row).tolist() for row in covered.spread.matrix.toarray()]
    return places, covered.size.tolist()


# --- how well cells fit


@pytest.mark.parametrize("shown", [Averaged(scale=2), Perturbed(scale=2, grouped=True)])
def test_a_middle_fits_as_a_normal_variable_with_this_mean_distance(shown):
    """The density falls by the square of the distance over pi; missing fits missing alone."""
    found = weights(shown, [1, 4, None], Shows("pay", {"pay": [1, 3, None]}))
    deviation = 2 * np.sqrt(np.pi / 2)
    expected = [
        [norm.logpdf(shown - known, scale=deviation) for shown in (1, 3)] for known in (1, 4)
    ]
    assert found[:2, :2] == pytest.approx(
        np.array(expected) - norm.logpdf(0, scale=deviation), abs=1e-12
    )
    assert found[2].tolist() == [-np.inf, -np.inf, 0]
    assert found[:2, 2].tolist() == [-np.inf, -np.inf]


RANKS = Shows("pay", {"pay": [10, 20, None, 30, 40]}, [2, 1, 7, 4, 1])


def test_ranks_fit_by_the_windows_that_hold_both():
    """Ranks are shares of the rows with a value; one between two cells stands between them."""
    kept = RankSwapped(distance=0.5, margin="kept")
    found = np.exp(weights(kept, [10, 15, 40, None], RANKS))
    # The ranks of 10 are 0 to 2/8, of 20 to 3/8, of 30 to 7/8, of 40 to 1; of 15 just 2/8.
    expected = [[1, 1, 1, 0.75, 0], [1, 1, 1, 0.75, 0], [0, 0, 1, 1, 1], [1] * 5]
    assert found == pytest.approx(np.array(expected), abs=1e-9)
    assert (found[[0, 1, 2], [4, 4, 0]] == 0).all()


def test_a_rank_at_the_very_distance_is_not_ruled_out():
    """A gap of a whole distance weighs next to nothing, and more than nothing."""
    kept = RankSwapped(distance=0.125, margin="kept")
    found = weights(kept, [10], RANKS)[0]
    assert np.isfinite(found[3])
    assert found[3] < UNLIKELY
    assert found[4] == -np.inf


@pytest.mark.parametrize(
    "shown", [RankSwapped(distance=0.5), RankSwapped(distance=0.5, margin="kept", within=("town",))]
)
def test_ranks_of_strata_and_of_persons_rule_nobody_out(shown):
    """Ranks of the file are not those of the exchange: what is too far weighs a thousandth."""
    found = weights(shown, [10, 40], RANKS)
    assert found[0, 4] == pytest.approx(UNLIKELY)
    assert found[0, 3] == pytest.approx(np.log(0.75))
    assert found[1, 0] == pytest.approx(UNLIKELY)


def test_texts_have_the_ranks_of_their_declared_order():
    """Or of their alphabet, where none is declared, even of texts that are only known."""
    cells = Shows("pay", {"pay": ["low", "mid", "top"]}, [2, 1, 1])
    kept = RankSwapped(distance=0.5, margin="kept")
    declared = np.exp(weights(kept, ["low", "top"], cells, order=("low", "mid", "top")))
    assert declared == pytest.approx(np.array([[1, 1, 0.5], [0.5, 1, 1]]), abs=1e-9)
    turned = np.exp(weights(kept, ["low", "top"], cells, order=("mid", "top", "low")))
    assert turned == pytest.approx(np.array([[1, 0.5, 1], [1, 1, 1]]), abs=1e-9)
    alphabet = np.exp(weights(kept, ["kind", "zero"], cells))
    assert alphabet == pytest.approx(np.array([[1, 0, 0], [0, 0.5, 1]]), abs=1e-9)


def test_numbers_with_a_declared_order_are_ranked_by_it():
    """An order comes before the numbers."""
    cells = Shows("pay", {"pay": [1, 2]})
    kept = RankSwapped(distance=0.25, margin="kept")
    found = np.exp(weights(kept, [3], cells, order=("2", "1", "3")))
    assert found == pytest.approx(np.array([[1, 0]]), abs=1e-9)


@pytest.mark.parametrize(("explained", "r"), [(0.6, 0.6), (1.0, 0.999), (0.0, 0.0)])
def test_shuffled_scores_fit_as_two_normal_variables_of_this_correlation(explained, r):
    """Their density together, over that apart; a missing value tells nothing of the score."""
    cells = Shows("pay", {"pay": [10, 20, 30, 40]})
    found = weights(Shuffled(explained=explained, margin="kept"), [10, 30, None], cells)
    scores = norm.ppf([0.125, 0.375, 0.625, 0.875])
    both = multivariate_normal(cov=[[1, r], [r, 1]])
    for row, own in enumerate((scores[0], scores[2], 0.0)):
        for cell, other in enumerate(scores):
            ratio = both.logpdf([own, other]) - norm.logpdf(own) - norm.logpdf(other)
            expected = ratio + np.log(1 - r * r) / 2
            assert found[row, cell] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("shown", "values", "other"),
    [
        (Swapped(), ["a", "b", "c"], 0.1 / 0.9 / 2),
        (Typical(differs=0.2), ["a", "b", "c"], 0.2 / 0.8 / 2),
        (Typical(differs=0.9), ["a", "b"], np.exp(-1.5)),
        (Typical(differs=0.1), ["a"], 0.1 / 0.9),
    ],
)
def test_another_text_weighs_its_chance_over_that_of_the_own(shown, values, other):
    """Shared by all other values of the table, and never so much that a text tells nothing."""
    found = weights(shown, values, Shows("x", {"x": ["a", "z"]}))
    assert found[0] == pytest.approx([0, np.log(other)])
    assert found[-1] == pytest.approx([0 if values[-1] == "a" else np.log(other), np.log(other)])


@pytest.mark.parametrize(
    ("law", "density"), [("normal", norm(scale=2)), ("laplace", laplace(scale=np.sqrt(2)))]
)
@pytest.mark.parametrize(("centre", "factor"), [(0.0, 1.0), (10.0, 0.5)])
def test_numbers_fit_by_the_density_of_their_noise(law, density, centre, factor):
    """Around where they stand once drawn in; what noise hardly reaches is not ruled out."""
    shown = NoiseAdded(law=law, deviation=2, centre=centre, factor=factor)
    found = weights(shown, [1, 4, None], Shows("pay", {"pay": [1, 6, None, 1e5]}))
    for row, own in enumerate((1, 4)):
        for cell, value in enumerate((1, 6)):
            noise = (value - centre) / factor - (own - centre)
            expected = density.logpdf(noise) - density.logpdf(0)
            assert found[row, cell] == pytest.approx(expected)
    assert found[:2, 2].tolist() == [-np.inf, -np.inf]
    assert found[2].tolist() == [-np.inf, -np.inf, 0, -np.inf]
    assert found[:2, 3].tolist() == [FAR, FAR]


def test_multiplied_noise_keeps_signs_and_zeros():
    """The factor is lognormal with a mean of 1; a number of another sign is hardly possible."""
    shown = NoiseAdded(law="multiplied", deviation=0.5)
    found = weights(shown, [2, -2, 0, None], Shows("pay", {"pay": [3, -1, 0, None]}))
    for row, cell, ratio in ((0, 0, 1.5), (1, 1, 0.5)):
        expected = norm.logpdf(np.log(ratio), loc=-0.125, scale=0.5) - norm.logpdf(0, scale=0.5)
        assert found[row, cell] == pytest.approx(expected)
    assert found[2, 2] == 0
    assert found[[0, 1, 0, 1, 2, 2], [1, 0, 2, 2, 0, 1]].tolist() == [FAR] * 6
    assert found[3, 3] == 0
    assert np.isneginf(found[3, :3]).all()
    assert np.isneginf(found[:3, 3]).all()


def test_drawn_values_fit_by_their_row_of_the_matrix():
    """What is no value of the matrix fits only what is none either."""
    found = np.exp(weights(TWO, ["f", "m", "x"], Shows("sex", {"sex": ["m", "f", "z"]})))
    assert found == pytest.approx(np.array([[0.25, 0.75, 0], [0.5, 0.5, 0], [0, 0, 1]]))


def test_a_blank_fits_everybody():
    """And other cells those who have their value."""
    found = np.exp(weights(Blanked(), ["a", None], Shows("x", {"x": ["a", None, "b"]})))
    assert found.tolist() == [[1, 1, 0], [0, 1, 0]]


def test_a_set_fits_whom_it_names():
    """Equal cells alike; one that is not written out fits everybody."""
    found = np.exp(
        weights(ValueSet(), ["a", "b", None], Shows("x", {"x": ["a|b", "*", "", "a|b"]}))
    )
    assert found.tolist() == [[1, 1, 0, 1], [1, 1, 0, 1], [0, 1, 1, 0]]


def test_made_up_rows_are_no_evidence():
    """Whoever asks is told why."""
    with pytest.raises(InputError, match="column 'x' of the release is of made-up rows"):
        Synthetic(cells=2, values=2).evidence(Knows(["a"]), Shows("x", {"x": ["a"]}))


# --- what cells cover


@pytest.mark.parametrize(
    ("shown", "size"),
    [
        (RankSwapped(distance=0.1), 0.1),
        (Shuffled(explained=0.75), 0.25),
        (Swapped(), 0.1),
        (Typical(differs=0.3), 0.3),
    ],
)
def test_exchanged_values_stand_for_themselves_and_leave_a_share_open(shown, size):
    """As much as ranks were exchanged, other columns do not tell, or rows may differ."""
    assert covers(shown, [1, 5, None], Towns()) == ([[1], [3], [0]], [size] * 3)


def test_drawn_values_leave_open_how_often_they_are_another():
    """The mean over the values of the chance to show another one."""
    shown = Randomized(values=("1", "2"), matrix=((0.75, 0.25), (0.5, 0.5)))
    assert covers(shown, [2, 1], Towns()) == ([[2], [1]], [0.375, 0.375])


@pytest.mark.parametrize(
    ("shown", "width"),
    [
        (Averaged(scale=0.25), 1.0),
        (Perturbed(scale=0.25), 1.0),
        (NoiseAdded(law="normal", deviation=0.5), 2 * np.sqrt(2 / np.pi)),
        (NoiseAdded(law="laplace", deviation=0.5), np.sqrt(2)),
    ],
)
def test_near_numbers_are_as_wide_as_four_mean_distances(shown, width):
    """Around the number, within the ends of the line; a missing value is as it is."""
    places, sizes = covers(shown, [3, 1, 9, None])
    assert places == [[2], [1], [3], [0]]
    assert sizes == pytest.approx([width / 4, width / 8, width / 8, 0])


def test_a_column_without_a_line_has_no_near_numbers():
    """Cells cover what they read like."""
    covered = Averaged(scale=2).covered(Towns(), Shows("pay", {"pay": [1, 5]}))
    assert covered.size.tolist() == [0, 0]


def test_multiplied_noise_is_as_wide_as_the_number_is_large():
    """Four mean sizes of the noise times the number, of the line, and no more than all of it."""
    shown = NoiseAdded(law="multiplied", deviation=0.1)
    places, sizes = covers(shown, [2, -5, 5000, 0, None])
    assert places == [[2], [1], [3], [1], [0]]
    mean = np.sqrt(2 / np.pi) * 0.1
    assert sizes == pytest.approx([4 * mean * 2 / 4, 4 * mean * 5 / 4, 1, 0, 0])
    for extent in (None, (3.0, 3.0)):
        line = Line(extent=extent, points=None)
        line.values.numbers = None
        assert covers(shown, [2], line)[1] == pytest.approx([4 * mean * 2])


def test_blanks_stand_for_any_value_as_far_as_they_were_made():
    """Of four missing cells two were missing: half of the column is open; other cells are sure."""
    assert covers(Blanked(), [None, 1], counts=[4, 1]) == ([[0, 1, 2, 3], [1]], [0.5, 0])
    assert covers(Blanked(), [None, 1], counts=[2, 3]) == ([[0], [1]], [0, 0])
    assert covers(Blanked(), [2, 1]) == ([[2], [1]], [0, 0])
    full = Line()
    full.values.missing = False
    assert covers(Blanked(), [None, 1], full, [3, 1]) == ([[0, 1, 2, 3], [1]], [1, 0])


def test_nodes_of_an_unknown_hierarchy_may_stand_for_any_value():
    """Nothing is ruled out, neither of a node nor of what reads like a value."""
    shown = Coded(codings=(Recoded(level=1),), then=Exact())
    covered = shown.covered(Towns(), Shows("pay", {"pay": ["north", "2"]}))
    assert covered.spread.matrix.toarray().tolist() == [[0.25] * 4] * 2
    assert covered.size.tolist() == [1, 1]
    found = weights(shown, ["1", "2"], Shows("pay", {"pay": ["north", "2"]}))
    assert found.tolist() == [[0, 0], [0, 0]]
    told = shown.notes(Knows(["1"]), Shows("pay", {"pay": ["north"]}))
    assert told == [
        "column 'pay' was recoded, and without its hierarchy its texts may stand for anything; the "
        "plan of the original would tell the adversary more"
    ]


def test_made_up_values_cover_what_they_read_like():
    """Of nobody, and of this value."""
    covered = Synthetic(cells=2, values=2).covered(Towns(), Shows("pay", {"pay": [5, None]}))
    assert covered.spread.matrix.toarray().tolist() == [[0, 0, 0, 1], [1, 0, 0, 0]]
    assert covered.level.tolist() == [0, 0]


def test_sets_cover_the_values_that_they_name():
    """Each by its share of all values."""
    places, sizes = covers(ValueSet(), ["1|2", "*", "5", ""], Towns())
    assert places == [[1, 2], [0, 1, 2, 3], [3], [0]]
    assert sizes == [0.5, 1, 0, 0]


# --- what cells contradict


def breaches(shown, columns, counts=None, **options):
    """In sentences, without their subject."""
    told = list(shown.breaches(Shows("pay", columns, counts), **options))
    assert all(one.startswith("column 'pay' ") for one in told)
    return [one.removeprefix("column 'pay' ") for one in told]


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ([6000, 4000], []),
        ([7510, 2490], []),
        ([7800, 2200], ["shows 'f' more often than its matrix allows",
                        "shows 'm' more rarely than its matrix allows"]),
        ([4650, 5350], ["shows 'f' more rarely than its matrix allows",
                        "shows 'm' more often than its matrix allows"]),
    ],
)  # fmt: skip
def test_values_are_shown_as_often_as_some_mixture_of_rows_would(counts, said):
    """Between the least and the largest chance of each value, and what chance adds to these."""
    assert breaches(TWO, {"pay": ["f", "m"]}, counts) == said


def test_strata_allow_what_any_of_them_does():
    """The matrix of all rows does not count where strata have theirs."""
    strata = (
        StratumMatrix(at=("north",), matrix=((1, 0), (0, 1))),
        StratumMatrix(at=("south",), matrix=((0.5, 0.5), (0.5, 0.5))),
    )
    shown = Randomized(values=TWO.values, matrix=TWO.matrix, within=("town",), strata=strata)
    assert breaches(shown, {"pay": ["f"]}, [10_000]) == []
    assert len(breaches(TWO, {"pay": ["f"]}, [10_000])) == 2


def test_a_value_that_no_value_shows_may_not_be_there_at_all():
    """Where the chance is 0 or 1 nothing is left to chance."""
    sure = Randomized(values=("f", "m", None), matrix=((1, 0, 0), (0.5, 0, 0.5), (0.5, 0, 0.5)))
    assert breaches(sure, {"pay": ["f", "m", "x"]}, [50, 1, 1]) == [
        "shows 'x', which is no value of its matrix",
        "shows 'm' more often than its matrix allows",
    ]
    assert breaches(sure, {"pay": ["f", None]}, [60, 40]) == []


def test_small_files_have_room_for_ten_rows_more():
    """The normal law is none for few rows."""
    assert breaches(TWO, {"pay": ["f"]}, [15]) == []
    rare = Randomized(values=("f", "m"), matrix=((1 - 1e-6, 1e-6), (1 - 1e-6, 1e-6)))
    assert breaches(rare, {"pay": ["m"]}, [10]) == []
    assert len(breaches(rare, {"pay": ["m"]}, [11])) == 2


NOISY = Noisy(
    step=0.5,
    clamp=(0, 100),
    clusters=(
        Cluster(scale=2, half_width=3, share=0.5),
        Cluster(scale=4, half_width=6, share=0.5),
    ),
)


def noisy(values, lows, highs, **options):
    """What is told of such cells."""
    columns = {"pay": values, "pay.low": lows, "pay.high": highs}
    return breaches(NOISY, columns, **options)


def test_noise_lies_on_its_grid_within_bounds_and_beside_its_intervals():
    """Of any cluster, cut short at the bounds, where values are missing together with both ends."""
    assert (
        noisy(
            [10, 0.5, 99.5, None, 100, 0], [7, 0, 93.5, None, 97, 0], [13, 3.5, 100, None, 100, 6]
        )
        == []
    )
    assert noisy([10.25, 10], [7.25, 7], [13.25, 13]) == [
        "has 1 values that do not lie on the grid of its noise"
    ]
    assert noisy([-1], [0], [2]) == ["has values beyond its public bounds"]
    assert noisy([101], [98], [100]) == ["has values beyond its public bounds"]
    other = "intervals other than those of its noise"
    assert noisy([10, 10, 10], [7, 7, 4], [13, 16, 13]) == [f"has 2 {other}"]
    assert noisy([10, 20], [8, 17], [13, 23]) == [f"has 1 {other}"]
    assert noisy([10, 20], [7, 17], [12, 23]) == [f"has 1 {other}"]


@pytest.mark.parametrize("lows, highs", [([None, 7], [13, 13]), ([7, 7], [13, None])])  # noqa: PT006
def test_values_and_intervals_are_missing_together(lows, highs):
    """Either without the other is a contradiction."""
    told = noisy([10, 10], lows, highs)
    assert told[0] == "shows values without intervals, or intervals without values"
    assert len(told) == 2


def test_intervals_may_be_off_by_rounding_alone():
    """A thousandth of a step, and a ten-millionth of the value."""
    assert noisy([10], [7.0004], [13.0004]) == []
    assert len(noisy([10], [7.002], [13])) == 1
    free = NOISY.model_copy(update={"clamp": None})
    wide = {"pay": [-1e7], "pay.low": [-1e7 - 3.5], "pay.high": [-1e7 + 3.5]}
    assert breaches(free, wide) == []


def test_half_widths_are_those_of_the_confidence():
    """To one step of the grid and a rounding; each cluster is told of by itself."""
    right = NOISY.model_copy(update={"clusters": (Cluster(scale=2, half_width=6, share=1),)})
    cells = {"pay": [10], "pay.low": [4], "pay.high": [16]}
    assert breaches(right, cells, confidence=Decimal("0.95")) == []
    told = breaches(right, cells, confidence=Decimal("0.9"))
    assert told == ["has intervals that are not of confidence 0.9, which it states"]
    assert breaches(right, cells, confidence=None) == []
    assert len(noisy([10], [7], [13], confidence=Decimal("0.95"))) == 2


# --- what is compared with the original, and what becomes of kinds


class Compares:
    """Says what was asked."""

    def __getattr__(self, asked):
        return lambda *given: ComparedColumn(None, f"{asked} {given}")


@pytest.mark.parametrize(
    ("shown", "asked"),
    [
        (Exact(), "values ('x',)"),
        (RankSwapped(distance=0.1, margin="kept"), "values ('x',)"),
        (Permuted(), "permuted ('x',)"),
        (NORTH, "moved ('x', 'latitude', 2)"),
        (
            Swapped(),
            "not_compared ('x', 'values were exchanged between persons, not rows')",
        ),
        (
            NoiseAdded(law="normal", deviation=1),
            "not_compared ('x', 'its numbers have noise, and need not be those of INPUT')",
        ),
        (
            TWO,
            "not_compared ('x', 'its values were redrawn by a published matrix, and may be those "
            "of INPUT or others')",
        ),
        (Remaining(zones=ZONES), "not_compared ('x', 'remaining distances are not compared')"),
        (
            Coded(codings=(Rounded(base=5),), then=Exact()),
            "not_compared ('x', 'its values are coded')",
        ),
    ],
)
def test_each_kind_asks_of_the_original_what_can_be_told(shown, asked):
    """Values, where they stand, or nothing and why."""
    assert shown.against("x", Compares()).what == asked
    noise = NOISY.against("x", Compares()).what
    assert noise.startswith("noisy ('x', Noisy(")


def test_rounding_adds_a_quarter_of_its_base_to_the_distance():
    """To two digits; nodes of a hierarchy are no middles."""
    assert Averaged(scale=2.5).coded(Rounded(base=Decimal("0.5"))) == Averaged(scale=2.6)
    assert Averaged(scale=2.5).coded(Recoded(level=1)) is None


def test_values_and_blanks_may_be_coded_again_until_they_are_nodes():
    """Codings follow one another; other kinds behind them are rounded, or not coded at all."""
    five, node = Rounded(base=5), Recoded(level=1)
    for plain in (Exact(), Blanked()):
        once = plain.coded(five)
        assert once == Coded(codings=(five,), then=plain)
        assert once.coded(node) == Coded(codings=(five, node), then=plain)
        assert once.coded(node).coded(five) is None
    averaged = Coded(codings=(five,), then=Averaged(scale=2.5))
    assert averaged.coded(Rounded(base=2)) == Coded(codings=(five,), then=Averaged(scale=3.0))
    assert averaged.coded(node) is None
    assert Coded(codings=(five,), then=Permuted()).coded(five) is None


def test_a_further_method_shows_coded_values_its_way():
    """What the kind behind them allows, and nothing where that allows none."""
    five = Rounded(base=5)
    assert Exact().treated(Permuted()) == Permuted()
    assert Coded(codings=(five,), then=Exact()).treated(Permuted()) == Coded(
        codings=(five,), then=Permuted()
    )
    assert Permuted().treated(Exact()) == Permuted()
    assert Permuted().treated(Blanked()) is None
    assert Coded(codings=(five,), then=Permuted()).treated(Blanked()) is None


def test_coded_columns_are_published_as_what_stands_behind_them():
    """Intervals of coded numbers become texts, too."""
    shown = Coded(codings=(Rounded(base=5),), then=NOISY)
    assert shown.published("pay") == ("pay", "pay.low", "pay.high")
    assert shown.with_intervals_as_text().published("pay") == ("pay", "pay.interval")


def test_notes_on_coded_columns_are_those_of_the_kind_behind_them():
    """About the coded values, where these are known."""
    known = SimpleNamespace(coded=lambda codings: Knows(["Delft"]))
    shown = Coded(codings=(Rounded(base=5),), then=Generalized(level=1))
    cells = Shows("town", {"town": ["NL"]})
    (note,) = shown.notes(known, cells)
    assert note.startswith("column 'town' was generalized, and without its hierarchy")
    assert Coded(codings=(Rounded(base=5),), then=Exact()).notes(known, cells) == []


def test_numbers_that_no_coding_leaves_are_told():
    """How many there are, and what the kind behind the codings finds."""
    shown = Coded(codings=(Rounded(base=5),), then=Exact())
    assert list(shown.breaches(CellsOfValues("x", of_numbers(5, 10, 15)))) == []
    assert list(shown.breaches(CellsOfValues("x", of_numbers(5, 7, 9)))) == [
        "column 'x' shows 2 numbers that its codings do not leave"
    ]
    assert list(shown.breaches(CellsOfValues("x", TEXTS))) == []
    behind = Coded(codings=(Rounded(base=5),), then=NORTH)
    assert list(behind.breaches(CellsOfValues("x", TEXTS))) == [
        "column 'x' does not lie on the grid that it states"
    ]
