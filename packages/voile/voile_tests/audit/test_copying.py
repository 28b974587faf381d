"""People whose rows stand among rows of nobody are told by the control, and others are not."""

from __future__ import annotations

from itertools import combinations, product
from math import comb
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from voile.audit import copying as module
from voile.audit.beside import (
    JointCodes,
)
from voile.audit.copying import (
    Copying,
    _agreeing_rows,
    _beside_blanks,
    _beyond,
    _by_sets,
    _CellsByRarity,
    _scores,
    _whole_rows,
)
from voile.audit.excess import (
    _FEW,
    _STEPS,
    _TAIL,
    BY_LIKELIHOOD,
    BY_MOVED,
    BY_SET,
    BY_SUREST,
    Excess,
    MovedCodes,
    NearestRows,
    _Agreement,
    _by_ranks,
)
from voile.audit.foreign import as_release
from voile.audit.recognition import recognise
from voile.audit.record import ROWS_OF_PEOPLE
from voile.audit.risk import Risk, Setting
from voile.release.reading import People
from voile_base.randomness import Randomness
from voile_tests.audit.tables import marginals, people


def _people(count: int, seed: int) -> pl.DataFrame:
    """With wages, rents and ages of children, which few share."""
    draws, table = np.random.default_rng(seed), people(count, seed)
    wage = pl.Series(draws.normal(0, 4000, count)) + table["income"] * 1400 + 20_000
    rent = pl.Series(draws.normal(0, 100, count)) + wage / 50
    return table.with_columns(wage=wage.round(0), rent=rent.round(0), child=pl.col("age") // 3)


ORIGINAL, CONTROL, OTHERS = (_people(1500, seed) for seed in (1, 2, 3))


def _setting(
    released: pl.DataFrame, *control: pl.DataFrame, seed: int = 1, own: pl.DataFrame = ORIGINAL
) -> Setting:
    foreign = as_release(released, recognise(released, People(own)), {})
    beside = JointCodes.of(foreign, [own, *control], None)
    return Setting(beside, (), None, 300, Randomness.seeded(seed))


def _risk(
    released: pl.DataFrame,
    control: pl.DataFrame = CONTROL,
    seed: int = 1,
    own: pl.DataFrame = ORIGINAL,
) -> Risk:
    setting = _setting(released, control, seed=seed, own=own)
    assert Copying().refusal(setting) is None
    return next(Copying().risks(setting))


def _planted(base: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    both = pl.concat([base[rows.height :], rows.select(base.columns)])
    return both.sample(fraction=1, shuffle=True, seed=4)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.1, 0.03, 25 / 1500])
def test_people_who_are_copied_whole_are_told(share: float) -> None:
    """A tenth, 3 in 100, and 25 with the largest incomes, among columns drawn by themselves."""
    richest = ORIGINAL.sort("wage", descending=True).head(round(share * 1500))
    risk = _risk(_planted(marginals(ORIGINAL, 5), richest))
    assert risk.found
    assert risk.persons is not None
    assert 0.3 * richest.height < risk.persons <= richest.height
    assert len(risk.rows) <= risk.persons
    assert risk.document()["persons"] == risk.persons


@pytest.mark.slow
def test_people_who_are_copied_with_noise_are_told() -> None:
    """Numbers are moved by a tenth of their deviation."""
    draws, rows = np.random.default_rng(1), ORIGINAL[:75]
    moved = [
        (rows[name] + pl.Series(draws.normal(0, 0.1 * float(ORIGINAL[name].std()), 75))).round(0)
        for name in ("wage", "rent")
    ]
    assert _risk(_planted(marginals(ORIGINAL, 6), rows.with_columns(*moved))).found


@pytest.mark.slow
def test_who_is_in_the_control_and_in_the_file_turns_the_comparison_round() -> None:
    """A file that holds the control finds it, and says so."""
    risk = _risk(_planted(marginals(ORIGINAL, 7), CONTROL[:150]))
    assert risk.finds_control
    assert not risk.found


@pytest.mark.slow
def test_who_is_copied_but_for_two_columns_is_told() -> None:
    """Ninety rows in which two columns, of which no two people are alike, are permuted."""
    rows = ORIGINAL[:90]
    moved = rows.with_columns(rows[name].shuffle(7) for name in ("wage", "rent"))
    risk = _risk(_planted(marginals(ORIGINAL, 8), moved))
    assert risk.found
    assert len(set(risk.rows) & set(range(90))) > 0.8 * len(risk.rows)


@pytest.mark.slow
def test_the_best_row_that_has_all_but_two_values_is_that_of_all_pairs() -> None:
    """On small tables, by counting; a value that every cell covers fits and is worth nothing."""
    beside = _setting(marginals(ORIGINAL, 9), CONTROL).beside
    kept, asked = np.arange(300), [np.arange(40), np.arange(50)]
    found = _whole_rows(_CellsByRarity.of(beside.columns, kept, asked))
    assert found is not None
    for side, rows in enumerate(asked):
        for person in rows:
            agree, worth = [], []
            for column in beside.columns:
                own = column.narrow_cell[column.value[side][person]]
                cells = column.cell[kept]
                agree.append(cells == own)
                worth.append(-np.log(max((cells == own).sum(), 1) / 300) * (own >= 0))
            same = np.array(agree)
            total = np.where(same.sum(axis=0) >= len(worth) - 2, same.T @ np.array(worth), -1)
            assert found[side][person] == pytest.approx(total.max())
    assert _whole_rows(_CellsByRarity.of(beside.columns[:3], kept, asked)) is None


def _blanked(rows: pl.DataFrame, cells: int, seed: int) -> pl.DataFrame:
    """Rows in each of which some cells are empty."""
    draws = np.random.default_rng(seed)
    gone = draws.permuted(np.tile(np.arange(rows.width), (rows.height, 1)), axis=1) < cells
    return rows.with_columns(
        pl.when(pl.Series(blank)).then(None).otherwise(pl.col(name)).alias(name)
        for name, blank in zip(rows.columns, gone.T, strict=True)
    )


def test_what_people_share_with_a_row_of_empty_cells_is_that_of_all_pairs() -> None:
    """By counting: rows contradict a person in no cell that they show; None where all show all."""
    kept, asked = np.arange(300), [np.arange(40), np.arange(50)]
    whole = _setting(marginals(ORIGINAL, 9), CONTROL).beside.columns
    assert _beside_blanks(_CellsByRarity.of(whole, kept, asked)) is None
    file = pl.concat([_blanked(ORIGINAL[:30], 4, 1), marginals(ORIGINAL, 9)[30:]])
    columns = _setting(file, CONTROL).beside.columns
    found = _beside_blanks(_CellsByRarity.of(columns, kept, asked))
    assert found is not None
    for side, rows in enumerate(asked):
        for person in rows:
            total, fits = np.zeros(300), np.ones(300, dtype=bool)
            shows = np.zeros(300)
            for column in columns:
                cells = column.cell[kept]
                blank = column.covers.all(axis=0)[cells]
                same = cells == column.narrow_cell[column.value[side][person]]
                fits &= same | blank
                shows += ~blank
                total += np.where(same & ~blank, -np.log(max(same.sum(), 1) / 300), 0)
            assert found[side][person] == pytest.approx((total * (fits & (shows >= 3))).max())


@pytest.mark.slow
def test_people_whose_copies_are_blanked_in_part_are_told_and_blanks_of_others_are_not() -> None:
    """Of 4 % of the rows, of which three cells are empty; in four files of each."""
    for seed in range(4):
        base = marginals(ORIGINAL, 500 + seed)
        copied = _risk(_planted(base, _blanked(ORIGINAL[:60], 3, seed)), seed=seed)
        others = _risk(_planted(base, _blanked(_people(60, 900 + seed), 3, seed)), seed=seed)
        assert (copied.found, others.found) == (True, False)


@pytest.mark.slow
def test_what_agrees_with_the_best_row_is_that_of_all_pairs() -> None:
    """By counting: how rare the values are that a row shares, times the share of columns."""
    columns = _setting(marginals(ORIGINAL, 9), CONTROL).beside.columns
    kept, asked = np.arange(300), [np.arange(40), np.arange(50)]
    for side, (found, rows) in enumerate(
        zip(_agreeing_rows(_CellsByRarity.of(columns, kept, asked)), asked, strict=True)
    ):
        for person in rows:
            total, agree = np.zeros(300), np.zeros(300)
            for column in columns:
                cells = column.cell[kept]
                same = cells == column.narrow_cell[column.value[side][person]]
                total += np.where(same, -np.log(max(same.sum(), 1) / 300), 0)
                agree += same
            assert found[person] == pytest.approx((total * agree).max() / len(columns))


def test_as_many_are_told_as_chance_leaves_over_by_its_definition() -> None:
    """Of 40 people beside 5 of the control, others than the copied are counted one by one."""
    excess = Excess(40, 5, (1000, 800))
    share = 1.5 * 1000 / (1.5 * 1000 + 800)

    def reached(others: int) -> float:
        every = others + 5
        return sum(
            comb(every, k) * share**k * (1 - share) ** (every - k) for k in range(others, every + 1)
        )

    plausible = max(others for others in range(1, 41) if reached(others) >= 0.01)
    assert excess.counted(0.01).at_least == 40 - plausible


@pytest.mark.slow
def test_of_ten_files_at_most_two_name_more_people_than_were_copied() -> None:
    """Sixty of 1,500: the bound may fail in one of twenty files, in three of ten once in 87."""
    more = 0
    for seed in range(10):
        risk = _risk(_planted(marginals(ORIGINAL, 300 + seed), ORIGINAL[:60]), seed=seed)
        more += (risk.persons or 0) > 60
        assert len(risk.rows) <= (risk.persons or 0)
    assert more <= 2


@pytest.mark.slow
def test_of_thirty_files_that_copy_nobody_at_most_one_is_told() -> None:
    """Columns drawn by themselves; and other people of the same town, drawn with replacement.

    At 2 in 1,000 a file, as people are exchangeable, two of 30 are told in one of 600 runs,
    whatever the number of people, here 500 a side; at 1 in 10 a file they are in 82 of 100.
    """
    own, control = ORIGINAL[:500], CONTROL[:500]
    files = [marginals(own, 100 + seed) for seed in range(15)]
    files += [OTHERS.sample(500, with_replacement=True, seed=seed) for seed in range(15)]
    told = [_risk(file, control, seed, own).found for seed, file in enumerate(files)]
    assert sum(told) <= 1


@pytest.mark.slow
def test_copying_is_refused_where_nothing_can_be_copied_or_nobody_can_tell() -> None:
    """Rows of people, no control, and a control of one person are told apart."""
    drawn = marginals(ORIGINAL, 5)
    assert Copying().refusal(_setting(ORIGINAL, CONTROL)) == ROWS_OF_PEOPLE
    assert "no control" in (Copying().refusal(_setting(drawn)) or "")
    assert "a control of 1 people" in (Copying().refusal(_setting(drawn, CONTROL[:1])) or "")


LEARNT = ("boosted trees", "trees and a network")


def _learnt(released: pl.DataFrame, *, alike: bool = True) -> dict[str, list[np.ndarray]]:
    """The scores of both sides by what has learnt; none where nothing has."""
    sides = _setting(released, CONTROL).compared
    _, scores = _scores(sides.beside, sides.drift.rows, {}, np.random.default_rng(1), alike=alike)
    return {name: list(scores[name]) for name in LEARNT if name in scores}


@pytest.mark.slow
def test_learners_tell_who_was_copied_and_nobody_where_the_file_is_of_others() -> None:
    """Of two people, one of each side, the original's scores higher as often as the area says."""
    pytest.importorskip("sklearn")
    half = _learnt(_planted(marginals(ORIGINAL, 5), ORIGINAL[:750]))
    nobody = _learnt(OTHERS)
    for name in LEARNT:
        own, other = half[name]
        assert own.shape == other.shape == (1500,)
        copied, spared = (np.mean(one[:, np.newaxis] > other) for one in (own[:750], own[750:]))
        assert copied > 0.6
        assert abs(spared - 0.5) < 0.05
        own, other = nobody[name]
        assert abs(np.mean(own[:, np.newaxis] > other) - 0.5) < 0.05


def test_ranks_by_several_scores_are_added_up_whoever_is_of_which_side() -> None:
    """Who is first by both is first, and exchanging the sides exchanges what they are given."""
    first, second = ([np.array([3.0, 1.0]), np.array([2.0, 1.0])] for _ in range(2))
    second[0][0] = 9.0
    own, other = module._added_up(first, second)
    assert own == pytest.approx([2 * np.log(5), 2 * np.log(5 / 4)])
    assert other == pytest.approx([2 * np.log(5 / 2), 2 * np.log(5 / 4)])
    turned = module._added_up(first[::-1], second[::-1])
    assert [one.tolist() for one in turned] == [other.tolist(), own.tolist()]


def test_the_file_weighs_as_much_as_both_sides_however_many_rows_they_have() -> None:
    """Trees are sure of nothing where all rows are alike: the odds are even, at 60, 100 and 40."""
    pytest.importorskip("sklearn")
    asked = [np.arange(count) for count in (100, 40)]
    column = SimpleNamespace(
        as_cell=np.zeros(1, np.int64),
        value=[np.zeros_like(some) for some in asked],
        cell=np.zeros(60, np.int64),
        numbers=None,
        covers=np.ones((1, 1), dtype=bool),
        as_numbers=lambda cells: cells.astype(np.float64),
    )
    beside: Any = SimpleNamespace(
        columns=(column,), units=asked, people=lambda side: len(asked[side])
    )
    found = module._by_learners(beside, np.arange(60), asked, np.random.default_rng(1))
    assert [one.tolist() for one in found["boosted trees"]] == [
        pytest.approx([0.0] * 100, abs=1e-6),
        pytest.approx([0.0] * 40, abs=1e-6),
    ]


@pytest.mark.slow
def test_trees_are_left_out_where_sides_differ_or_nobody_can_learn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All other scores are there, and a control whose columns differ is said to be the reason."""
    drawn = marginals(ORIGINAL, 5)
    assert not _learnt(drawn, alike=False)
    risk = _risk(drawn, CONTROL.with_columns(pl.col("age") + 5))
    assert any("no trees" in note for note in risk.notes)
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    assert not _learnt(drawn)
    assert not any("no trees" in note for note in _risk(drawn).notes)


def test_the_closest_row_is_that_of_the_definition() -> None:
    """On small tables against all pairs, with one's own rows left out and without."""
    draws = np.random.default_rng(3)
    for _ in range(20):
        columns, values, cells = [], [], []
        for _ in range(3):
            near = draws.uniform(0.02, 1, (4, 5))
            cells.append(draws.integers(0, 5, 12))
            values.append(draws.integers(0, 4, 7))
            columns.append(_Agreement.of(near, np.bincount(cells[-1], minlength=5)))
        owners = draws.integers(0, 3, 7), draws.integers(0, 3, 12)
        worth = sum(
            c.worth[v][:, g].astype(np.float64)
            for c, v, g in zip(columns, values, cells, strict=True)
        )
        nearest = NearestRows(tuple(columns))
        found = nearest.closest(values, cells)
        np.testing.assert_allclose(found, worth.max(axis=1), rtol=1e-5)
        own = owners[0][:, np.newaxis] == owners[1]
        expected = np.where(own, 0, worth).max(axis=1)
        np.testing.assert_allclose(nearest.closest(values, cells, owners), expected, rtol=1e-5)


def test_how_much_likelier_the_nearest_rows_are_is_that_of_all_pairs() -> None:
    """Kernels are products of nearness over what is usual of a value; a person's own is no other's.

    Rows that are no nearer than usual count for nobody, and of the nearer ones eight do.
    """
    draws = np.random.default_rng(3)
    sizes, rows, people_of = (5, 7, 40), 60, (30, 25)
    near = [np.maximum(draws.uniform(size=(size, size)) ** 3, 0.02) for size in sizes]
    cells = [draws.integers(0, size, rows) for size in sizes]
    sides = [[draws.integers(0, size, count) for size in sizes] for count in people_of]
    kernels = NearestRows(
        tuple(
            _Agreement.kernel(one, np.bincount(cell, minlength=size))
            for one, cell, size in zip(near, cells, sizes, strict=True)
        )
    )
    every = [np.concatenate(both) for both in zip(*sides, strict=True)]
    kernel = np.ones((sum(people_of), rows))
    for one, cell, value in zip(near, cells, every, strict=True):
        kernel *= one[value][:, cell] / one[:, cell].mean(axis=1)[value][:, np.newaxis]
    kernel[kernel <= 1] = 0
    others = kernel.sum(axis=0) - kernel
    wanted = []
    for own, beside in zip(kernel, others, strict=True):
        chosen = np.argsort(-own)[:8]
        wanted.append(np.log1p(own[chosen] / (1 + beside[chosen])).sum())
    found = np.concatenate(kernels.likelier(sides, cells))
    assert (kernel > 0).sum(axis=1).max() > 8
    assert found == pytest.approx(np.array(wanted), rel=1e-4)


@pytest.mark.slow
def test_rows_are_likelier_with_who_was_copied_but_in_part_and_with_nobody_of_others() -> None:
    """Of a fifth whose rows were drawn anew in a third of the cells; equal chances elsewhere.

    Of 1,500 people a side the area of equal scores is 0.5 with a deviation of 0.011: limits are 4.
    """
    draws = np.random.default_rng(11)
    base, rows = marginals(ORIGINAL, 6), ORIGINAL[:300]
    drawn = marginals(ORIGINAL, 7)[:300]
    blurred = rows.with_columns(
        rows[name].zip_with(pl.Series(draws.random(300) < 2 / 3), drawn[name])
        for name in rows.columns
    )
    areas = {}
    for which, file in (("copied", _planted(base, blurred)), ("others", OTHERS)):
        beside = _setting(file, CONTROL).beside
        none = [np.zeros(1500, dtype=bool)] * 2
        _, scores = _scores(beside, none, {}, np.random.default_rng(1), alike=False)
        own, other = scores["rows with and without"]
        areas[which] = float(
            (own[:, np.newaxis] > other).mean() + (own[:, np.newaxis] == other).mean() / 2
        )
    assert areas["copied"] > 0.5 + 4 * 0.011
    assert abs(areas["others"] - 0.5) < 4 * 0.011


def test_agreement_is_worth_the_share_of_rows_that_are_as_near() -> None:
    """A value of one row in ten is worth log 10, one that is not there nothing."""
    worth = _Agreement.of(np.eye(2), np.array([1, 9])).worth
    np.testing.assert_allclose(worth, [[np.log(10), 0], [0, np.log(10 / 9)]], atol=1e-6)


def test_one_person_far_beyond_the_control_is_told_and_a_little_beyond_is_not() -> None:
    """Scores of 1,000 people of each side, of a normal distribution."""
    draws = np.random.default_rng(1)
    own, other = draws.normal(size=1000), draws.normal(size=1000)
    assert not Excess.of({"any": (own, other)})[1]
    own[0] = 12
    excess, sure = Excess.of({"any": (own, other)})
    assert sure
    assert excess.at_least == 1


def test_one_coincidence_in_a_set_of_columns_is_nobody_beyond_doubt() -> None:
    """A person with a row that shows just these values, where nobody of the control has one."""
    draws = np.random.default_rng(2)
    own, other = -draws.exponential(size=1000) - 0.5, -draws.exponential(size=1000) - 0.5
    own[0] = 14
    assert Excess.of({"any": (own, other)})[1]
    assert not Excess.of({"what is known to a neighbour": (own, other)})[1]
    own[:200] = 12 + draws.exponential(size=200)
    assert Excess.of({"what is known to a neighbour": (own, other)})[1]


def test_the_sum_of_weights_by_ranks_has_the_probability_of_all_its_assignments() -> None:
    """Twelve people of 240 are weighted: all 4,096 ways to give them to two sides are added up."""
    draws = np.random.default_rng(5)
    for share in (0.5, 0.6):
        own, other = draws.normal(size=120), draws.normal(size=120)
        own[:3] += 3
        ranks = np.arange(1, 13) / 240
        weight = np.rint(_STEPS * np.log((1 + _FEW / ranks) / (1 + _FEW / _TAIL)))
        order = np.argsort(-np.concatenate((own, other)))[:12]
        found = weight[order < 120].sum()
        sides = np.array(list(product((0, 1), repeat=12)))
        chance = share ** sides.sum(axis=1) * (1 - share) ** (12 - sides.sum(axis=1))
        expected = chance[sides @ weight >= found].sum()
        assert _by_ranks(own, other, share) == pytest.approx(expected, rel=1e-9)
    assert _by_ranks(-other, -other, 0.5) > 0.4


def _coincidences(draws: np.random.Generator, copied: int) -> tuple[np.ndarray, np.ndarray]:
    """Of 3,000 people of each side 2 in 100 have a row by chance, the rarer the less often."""
    own, other = -draws.exponential(size=3000), -draws.exponential(size=3000)
    for side in (own, other):
        some = draws.random(3000) < 0.02
        side[some] = 6 + draws.exponential(2, some.sum())
    own[:copied] = 6 + draws.gamma(2, 4, copied)
    return own, other


@pytest.mark.slow
def test_copies_among_as_many_coincidences_are_told_and_coincidences_alone_are_not() -> None:
    """Of 3,000 people 40 are copied in one of six sets of columns: told in 18 of 20 draws."""
    draws = np.random.default_rng(11)
    sets = [f"what is known to {number}" for number in range(6)]

    def told(copied: int) -> bool:
        scores = {name: _coincidences(draws, 0) for name in sets[1:]}
        return Excess.of({sets[0]: _coincidences(draws, copied), **scores}, alike=True)[1]

    assert sum(told(40) for _ in range(20)) >= 18
    assert not any(told(0) for _ in range(40))


def test_nobody_is_told_alone_by_the_likelihood_of_rows() -> None:
    """One person far beyond the control is told by what agrees, and not by a ratio of few rows."""
    draws = np.random.default_rng(3)
    own, other = draws.exponential(size=(2, 2_000))
    own[7] = 60.0
    assert Excess.of({"what agrees": (own, other)})[1]
    assert not Excess.of({BY_LIKELIHOOD: (own, other)})[1]


def test_nobody_is_told_alone_where_scores_are_all_but_the_same() -> None:
    """Of 2,000 people nearly all score 0, but for rounding: how few others fall is told by none."""
    draws = np.random.default_rng(4)
    own, other = np.zeros((2, 2_000))
    own[:4], other[:3] = draws.exponential(size=4) + 1, draws.exponential(size=3)
    assert not Excess.of({"other people": (own, other)}, alike=True)[1]
    rounded = _beyond(np.full(2_000, 9.0), np.full(2_000, 9.0) - draws.uniform(0, 2e-6, 2_000))
    assert not rounded.any()
    assert _beyond(np.array([9.0]), np.array([8.5])) == 0.5
    own[:30] = 1 + draws.exponential(size=30)
    assert Excess.of({"other people": (own, other)}, alike=True)[1]


def test_a_column_of_one_cell_that_fits_everybody_is_no_fault() -> None:
    """Of labels that nobody explains, all alike, beside rows of which some cells are blank."""
    drawn = marginals(ORIGINAL, 5).with_columns(
        town=pl.lit("elsewhere"),
        sex=pl.when(pl.int_range(pl.len()) % 9 == 0).then(None).otherwise("sex"),
    )
    beside = _setting(drawn, CONTROL).beside
    town = next(one for one in beside.columns if one.name == "town")
    assert town.covers.shape[1] == 1
    everybody = [np.arange(1500)] * 2
    rare = _CellsByRarity.of(beside.columns, np.arange(1500), everybody)
    assert _beside_blanks(rare) is not None


def _moved(rows: pl.DataFrame, own: pl.DataFrame, *, turned: bool = False) -> pl.DataFrame:
    """Each value as another one of its column, at most three places on, or as the opposite one."""

    def codes(name: str, by: int) -> dict[object, object]:
        values = sorted({*own[name], *rows[name]})
        others = values[::-1] if turned else [*values[by:], *values[:by]]
        return dict(zip(values, others, strict=True))

    return rows.with_columns(
        pl.col(name).replace_strict(codes(name, at % 4), return_dtype=rows[name].dtype)
        for at, name in enumerate(rows.columns)
    )


@pytest.mark.parametrize("turned", [False, True])
def test_people_under_codes_that_were_moved_alike_are_told(turned: bool) -> None:
    """Who adds a number to the places of a column's values, or turns their order, hides nobody."""
    own, control, others = (_people(1_500, seed).drop("wage", "rent") for seed in (1, 2, 3))
    made = marginals(own, 3)
    risk = _risk(_planted(made, _moved(own[:75], own, turned=turned)), control, own=own)
    assert risk.persons >= 20
    assert any(BY_MOVED in note for note in risk.notes)
    assert not _risk(_planted(made, _moved(others[:75], own)), control, own=own).persons


@pytest.mark.slow
def test_rows_of_nobody_are_no_people_whose_codes_were_moved() -> None:
    """By this score alone nobody is told in 60 files of nobody, as the rule says of one in 500."""
    found = 0
    for seed in range(20):
        own, control, others = (_people(600, 900 + 3 * seed + at) for at in range(3))
        for made in (marginals(own, seed), others, others.sample(600, with_replacement=True)):
            beside = _setting(made, control, own=own).beside
            asked = [np.arange(600), np.arange(600)]
            draws = Randomness.seeded(seed).key("moved").generator()
            codes = MovedCodes.of(beside.columns, beside.rows_alone, asked, draws)
            assert codes is not None
            own_scores, other = codes.scores(draws)
            found += Excess.of({BY_MOVED: (own_scores, other)}, alike=True)[1]
    assert found <= 1


def _wide(count: int, seed: int) -> pl.DataFrame:
    """Nine columns of values that many share."""
    draws = np.random.default_rng(1000 + seed)
    return people(count, seed).with_columns(
        rooms=draws.integers(1, 7, count),
        cars=draws.integers(0, 4, count),
        work=draws.integers(0, 15, count),
    )


def _scores_by_sets(
    released: pl.DataFrame, own: pl.DataFrame, control: pl.DataFrame
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    beside = _setting(released, control, own=own).beside
    asked = [np.arange(own.height), np.arange(control.height)]
    rare = _CellsByRarity.of(beside.columns, beside.rows_alone, asked)
    found = _by_sets(rare, [c.name for c in beside.columns], np.random.default_rng(1))
    return {name: (own_scores, other) for name, (own_scores, other) in found.items()}


def test_how_surely_a_row_is_a_persons_in_a_set_of_columns_is_that_of_all_pairs() -> None:
    """By counting people and rows alike in each set, on 60 rows; besides the best of all."""
    own, control = _wide(40, 1), _wide(30, 2)
    file = pl.concat([own[:20].with_columns(age=own["age"][20:]), marginals(own, 3)])
    everybody, names = pl.concat([own, control]), own.columns
    found = _scores_by_sets(file, own, control)
    sets = [[n for n in names if n not in gone] for k in (1, 2) for gone in combinations(names, k)]
    assert len(found) == 1 + len(sets)
    best = np.zeros(70)
    for some in sets:
        gone = " and ".join(repr(n) for n in names if n not in some)
        rows, persons = file.select(some).rows(), everybody.select(some).rows()
        share = [dict(file[n].value_counts().rows()) for n in some]
        score = []
        for one in persons:
            often = np.prod([of.get(v, 0) / 60 for of, v in zip(share, one, strict=True)])
            score.append((one in rows) / (persons.count(one) + 32 * 70 * often))
        np.testing.assert_allclose(np.concatenate(found[BY_SET + gone]), score)
        best = np.maximum(best, score)
    np.testing.assert_allclose(np.concatenate(found[BY_SUREST]), best)


def test_sets_of_columns_are_one_question() -> None:
    """Of 50 scores by sets the least likely one counts 50 times, and nobody is told alone."""
    draws = np.random.default_rng(3)
    scores = {f"{BY_SET}{at}": tuple(draws.exponential(size=(2, 500))) for at in range(50)}
    own, other = scores[f"{BY_SET}7"]
    own[:40] += 20
    own[41] = 1e6
    excess, sure = Excess.of(scores, alike=True)
    assert (excess.score, excess.kind, sure) == (f"{BY_SET}7", "ranks", True)
    assert excess.probability == pytest.approx(50 * _by_ranks(own, other, 0.5))
    own[:40] -= 20
    assert not Excess.of(scores, alike=True)[1]
    assert not Excess.of({BY_SUREST: (own, other)}, alike=True)[1]


@pytest.mark.parametrize("same", [True, False])
def test_people_are_told_whose_copies_show_two_columns_of_others(same: bool) -> None:
    """Sixty rows of 1,500: the same two columns are permuted, or two of each person's own."""
    own, control = _wide(1_500, 11), _wide(1_500, 12)
    made, rows = marginals(own, 13), own[:60]
    draws = np.random.default_rng(1)
    for name, mask in zip(own.columns, _two_of(own.width, 60, same, draws), strict=True):
        drawn = pl.when(pl.Series(mask)).then(made[name][:60]).otherwise(pl.col(name))
        rows = rows.with_columns(drawn.alias(name))
    scores = _scores_by_sets(_planted(made, rows), own, control)
    surest = {BY_SUREST: scores.pop(BY_SUREST)}
    excess, sure = Excess.of(scores if same else surest, alike=True)
    assert sure
    assert excess.score == (f"{BY_SET}'age' and 'town'" if same else BY_SUREST)
    assert 15 < excess.at_least <= 60


def _two_of(columns: int, rows: int, same: bool, draws: np.random.Generator) -> np.ndarray:
    """Which cells of rows are another's, shape (m, n): of the first and third column, or of any."""
    if same:
        return np.tile(np.isin(np.arange(columns), (0, 2))[:, np.newaxis], rows)
    return np.asarray(draws.permuted(np.tile(np.arange(columns), (rows, 1)), axis=1) < 2).T


@pytest.mark.slow
def test_sets_of_columns_tell_nobody_of_sixty_files_that_copy_nobody() -> None:
    """Columns drawn by themselves, with and without numbers that few share; and other people.

    A file is told in one of 500, two of 60 in one of 140 runs.  Of twenty questions one is below
    .05 by chance: more than 8 of 60 are in one of 500 runs.
    """
    told, low = 0, 0
    for seed in range(20):
        shape = _wide if seed % 2 else _people
        own, control, others = (shape(600, 2000 + 3 * seed + at) for at in range(3))
        drawn = others.sample(600, with_replacement=True, seed=seed)
        for file in (marginals(own, seed), drawn, _mixed(own, others, seed)):
            excess, sure = Excess.of(_scores_by_sets(file, own, control), alike=True)
            told += sure
            low += excess.kind == "ranks" and excess.probability < 0.025
    assert told <= 1
    assert low <= 8


def _mixed(own: pl.DataFrame, others: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Other people, seven in ten of whose cells are drawn."""
    draws, made = np.random.default_rng(seed), marginals(own, seed)
    return others.with_columns(
        pl.when(pl.Series(draws.random(others.height) < 0.3)).then(pl.col(n)).otherwise(made[n])
        for n in others.columns
    )
