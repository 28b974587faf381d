"""Cell keys: the perturbation table, and noise that follows the persons who are counted."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.stats import chi2

from voile.schema.plan import parse_plan
from voile.schema.tabulation import CellPerturbation
from voile.table.opening import open_frame
from voile.tabular.counting import PrivateCells, plan_of_rows
from voile.tabular.perturbation import PerturbationTable
from voile_base.errors import PlanError
from voile_base.randomness import Randomness

CELLS = 1_000_000
LEVEL = 1e-6
"""False alarm of each chi-square test."""


def table_of(variance: float = 2, maximum: int = 5, minimum: int | None = 3) -> PerturbationTable:
    return PerturbationTable.of(CellPerturbation("none", "cell-key", variance, maximum, minimum))


def misfit(noise: np.ndarray, probabilities: np.ndarray) -> float:
    """The probability of a chi-square so large where noise has these probabilities."""
    possible = probabilities > 0
    counts = np.bincount(noise + len(probabilities) // 2, minlength=len(probabilities))
    assert not counts[~possible].any()
    expected = probabilities[possible] * len(noise)
    value = ((counts[possible] - expected) ** 2 / expected).sum()
    return float(chi2.sf(value, possible.sum() - 1))


@pytest.mark.parametrize(("variance", "maximum", "minimum"), [(2, 5, None), (2, 5, 3), (5, 8, 2)])
def test_each_row_has_mean_0_and_the_variance_and_nothing_forbidden(
    variance: float, maximum: int, minimum: int | None
) -> None:
    """To 1e-8; a count too near to what is forbidden has the nearest variance that can be had."""
    table = table_of(variance, maximum, minimum)
    noise = np.arange(-maximum, maximum + 1)
    exact = 0
    for count, row in enumerate(table.probabilities):
        after = count + noise
        assert row.sum() == pytest.approx(1, abs=1e-12)
        assert abs(row @ noise) < 1e-8
        assert not row[(after < 0) | ((after > 0) & (after < (minimum or 1)))].any()
        exact += abs(row @ noise**2 - variance) < 1e-8
    assert abs(table.probabilities[-1] @ noise**2 - variance) < 1e-8
    assert exact >= len(table.probabilities) - (minimum or 1) - maximum // 2 - 1


def test_no_distribution_with_these_moments_has_more_entropy() -> None:
    """Moves along all directions that keep sum, mean and variance lose entropy."""
    noise = np.arange(-5, 6)
    row = table_of(2, 5, None).probabilities[-1]

    def entropy(p: np.ndarray) -> float:
        return float(-(p * np.log(p)).sum())

    _, _, rest = np.linalg.svd(np.array([np.ones(11), noise, noise**2]))
    for direction in rest[3:]:
        for step in (1e-4, -1e-4):
            assert entropy(row + step * direction) < entropy(row)


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 2, 3, 5, 40])
def test_a_million_cells_have_the_distribution_of_their_count(count: int) -> None:
    """Chi-square with a false alarm of one in a million; another variance is rejected."""
    keys = Randomness.seeded(count).key("cells").stream(CELLS).view(np.int64)
    table = table_of()
    noise = table.noise(np.full(CELLS, count), keys)
    row = table.probabilities[min(count, len(table.probabilities) - 1)]
    assert np.abs(noise).max() <= 5
    assert misfit(noise, row) > LEVEL
    other = table_of(variance=2.2).probabilities[min(count, len(table.probabilities) - 1)]
    if not np.allclose(row, other):
        assert misfit(noise, other) < LEVEL


def test_zero_stays_zero() -> None:
    """Whatever the key."""
    keys = Randomness.seeded(1).key("cells").stream(1_000).view(np.int64)
    assert not table_of().noise(np.zeros(1_000, dtype=np.int64), keys).any()


def rows_of_persons(people: int) -> dict[str, list[str]]:
    draw = np.random.default_rng(3)
    return {
        "who": [f"p{number}" for number in range(people)],
        "a": [f"a{value}" for value in draw.integers(0, 12, people)],
        "b": [f"b{value}" for value in draw.integers(0, 9, people)],
    }


def cells_of(rows: dict[str, list[str]], dimensions: list[str], secret: int = 1):
    plan = parse_plan(
        {
            "roles": {"person": "who"},
            "tables": [{"dimensions": dimensions}],
            "protection": {"kind": "cell-key", "secret": "keys"},
        }
    )
    key = Randomness.seeded(secret).key("records")
    return PrivateCells.count(open_frame(pl.DataFrame(rows), plan_of_rows(plan)), plan.tables, key)


def test_the_same_persons_get_the_same_noise_in_every_table() -> None:
    """Cells of one table are cells of another; with another secret they have other keys."""
    rows = rows_of_persons(500)
    one, two = cells_of(rows, ["a"]), cells_of(rows, ["a", "b"])
    block = two.system.block(("a", None))
    same = two.keys[block.start : block.start + block.size]
    assert one.keys[1:].tolist() == same.tolist()
    assert one.keys[0] == two.keys[0]
    other = cells_of(rows, ["a"], secret=2)
    assert not (other.keys == one.keys).any()
    turned = {name: values[::-1] for name, values in rows.items()}
    assert cells_of(turned, ["a"]).keys.tolist() == one.keys.tolist()


def test_differencing_a_thousand_pairs_of_tables_finds_few_persons() -> None:
    """Two counts that differ by one person: the difference is 1 no more often than noise makes it.

    The rate is that of two independent draws, within six standard errors; without noise it is 1.
    """
    rows = rows_of_persons(2_000)
    table = table_of(2, 5, None)
    key = Randomness.seeded(4).key("records")
    record = np.array([key.digest(who.encode()) for who in rows["who"]], dtype=np.uint64)
    draw = np.random.default_rng(7)
    hits = 0
    for _ in range(1_000):
        group = draw.choice(2_000, 40, replace=False)
        with np.errstate(over="ignore"):
            keys = np.array([record[group].sum(), record[group[1:]].sum()]).view(np.int64)
        more, less = np.array([40, 39]) + table.noise(np.array([40, 39]), keys)
        hits += int(more - less == 1)
    row = table.probabilities[-1]
    chance = float((row**2).sum())
    assert abs(hits - 1_000 * chance) < 6 * np.sqrt(1_000 * chance * (1 - chance))
    assert chance < 0.25


def test_a_variance_beyond_the_maximum_is_refused() -> None:
    """Noise of at most 1 has no variance of 2."""
    with pytest.raises(PlanError, match="square of the maximum"):
        table_of(2, 1)


def test_a_person_has_the_same_key_whether_the_id_is_written_7_or_7_0() -> None:
    """A file that a spreadsheet has turned into floating-point numbers gets the same noise."""
    rows = rows_of_persons(300)
    whole = rows | {"who": list(range(300))}
    fractions = rows | {"who": [float(number) for number in range(300)]}
    first, second = cells_of(whole, ["a", "b"]).keys, cells_of(fractions, ["a", "b"]).keys
    assert first is not None
    assert np.array_equal(first, second)


def test_a_minimum_that_noise_cannot_pass_is_refused() -> None:
    """Of maximum 5 a single person can be shown as 0 or as 6 at most, and not as 7."""
    for minimum in (6, 1):
        assert not table_of(2, 5, minimum).noise(np.zeros(9, dtype=np.int64), np.arange(9)).any()
    with pytest.raises(PlanError, match="at most one more than maximum"):
        table_of(2, 5, 7)
