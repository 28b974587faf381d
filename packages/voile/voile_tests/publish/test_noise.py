"""Noise of surveys: its distribution, covariances within their standard errors, bad input."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import stats

import voile
from voile.attack.registry import attack_named
from voile.publish.noise import Noise
from voile.release.check import check_release
from voile.schema.plan import parse_plan
from voile_base.errors import PlanError, TableError
from voile_base.randomness import Randomness
from voile_tests.publish.drawn_cases import FAR, people, published, shown

PEOPLE = people()
BOTH = ("age", "pay")
FALSE_ALARM = 1e-6


def _noise(publisher, seed=1):
    """Shown less own numbers, (n, 2)."""
    rows = shown(published(publisher, seed=seed))
    return rows.select(BOTH).to_numpy() - PEOPLE.select(BOTH).to_numpy()


@pytest.mark.parametrize(("law", "other"), [("normal", "laplace"), ("laplace", "normal")])
def test_added_noise_has_the_stated_distribution_and_others_are_rejected(law, other):
    """Kolmogorov and Smirnov on 4,000 rows at one in a million.

    The other law, and a deviation that is 30 % off, are rejected.
    """
    made = published(Noise(amount=0.5, columns=BOTH, law=law))
    check_release(made.release)
    stated = made.release.disclosure.columns["pay"].deviation
    found = (shown(made)["pay"] - PEOPLE["pay"]).to_numpy()
    laws = {"normal": stats.norm(0, stated), "laplace": stats.laplace(0, stated / np.sqrt(2))}
    assert stats.kstest(found, laws[law].cdf).pvalue > FALSE_ALARM
    assert stats.kstest(found, laws[other].cdf).pvalue < FALSE_ALARM
    assert stats.kstest(found / 1.3, laws[law].cdf).pvalue < FALSE_ALARM


def test_added_noise_is_independent_between_columns_and_of_the_numbers():
    """Correlations of noise and numbers within 5 standard errors of 0."""
    noise = _noise(Noise(amount=0.3, columns=BOTH))
    every = np.corrcoef(np.column_stack([noise, PEOPLE.select(BOTH).to_numpy()]).T)
    pairs = [every[0, 1], every[0, 2], every[1, 3], every[0, 3], every[1, 2]]
    assert np.abs(pairs).max() < FAR / np.sqrt(len(noise))


@pytest.mark.slow
def test_correlated_noise_has_the_covariance_of_the_table():
    """a^2 times that of the columns, each entry within 5 standard errors.

    Independent noise has not.
    """
    own = np.cov(PEOPLE.select(BOTH).to_numpy().T, bias=True)
    wanted = 0.25 * own
    errors = np.sqrt((np.outer(np.diag(wanted), np.diag(wanted)) + wanted**2) / len(PEOPLE))
    right = np.cov(_noise(Noise(amount=0.5, columns=BOTH, kind="correlated")).T, bias=True)
    assert (np.abs(right - wanted) < FAR * errors).all()
    planted = np.cov(_noise(Noise(amount=0.5, columns=BOTH)).T, bias=True)
    assert (np.abs(planted - wanted) > FAR * errors).any()


@pytest.mark.slow
def test_keep_covariance_keeps_means_and_covariances():
    """The mean over 40 releases is that of the table within 5 standard errors.

    Without it variances are a quarter too large.
    """
    own = PEOPLE.select(BOTH).to_numpy()

    def covariances(**parameters):
        publisher = Noise(amount=0.5, columns=BOTH, kind="correlated", **parameters)
        made = [shown(published(publisher, seed=seed)).select(BOTH) for seed in range(40)]
        means = np.array([frame.to_numpy().mean(axis=0) for frame in made])
        return means, np.array([np.cov(frame.to_numpy().T, bias=True) for frame in made])

    means, found = covariances(keep_covariance=True)
    room = FAR * found.std(axis=0) / np.sqrt(len(found))
    wanted = np.cov(own.T, bias=True)
    assert (np.abs(found.mean(axis=0) - wanted) < room).all()
    assert (np.abs(means.mean(axis=0) - own.mean(axis=0)) < FAR * means.std(axis=0) / 6).all()
    _, larger = covariances()
    assert (np.abs(larger.mean(axis=0) - wanted) > room).all()
    assert larger.mean(axis=0) == pytest.approx(1.25 * wanted, rel=0.02)


def test_factors_are_log_normal_with_mean_one():
    """At one in a million; zeros and signs stay."""
    frame = PEOPLE.with_columns(pay=pl.col("pay") * 100 - 150000 * (pl.col("row") % 3 == 0))
    frame = frame.with_columns(pay=pl.when(pl.col("row") < 9).then(0.0).otherwise("pay"))
    rows = shown(published(Noise(amount=0.5, columns=("pay",), kind="multiplicative"), frame))
    own, seen = frame["pay"].to_numpy(), rows["pay"].to_numpy()
    assert (np.sign(own) == np.sign(seen)).all()
    factor = seen[own != 0] / own[own != 0]
    spread = np.sqrt(np.log1p(0.5**2))
    law = stats.lognorm(spread, scale=np.exp(-(spread**2) / 2))
    assert stats.kstest(factor, law.cdf).pvalue > FALSE_ALARM
    assert abs(factor.mean() - 1) < FAR * 0.5 / np.sqrt(len(factor))
    assert stats.kstest(factor, stats.lognorm(spread).cdf).pvalue < FALSE_ALARM


@pytest.mark.slow
def test_whole_numbers_stay_whole_unless_the_noise_is_small():
    """Ages with noise of years are years; with noise of a fraction they show it."""
    years = shown(published(Noise(amount=0.5, columns=("age",))))
    assert years["age"].dtype.is_integer()
    small = shown(published(Noise(amount=0.001, columns=("age",))))
    assert not small["age"].dtype.is_integer()
    assert 0 < (small["age"] - PEOPLE["age"]).abs().mean() < 0.05


def test_no_grid_tells_which_numbers_cannot_be_the_own_one():
    """Of noise of deviation 1,280 all remainders by 10 are as frequent (chi squared.

    At one in a million); noise on the grid of its draws, which is planted, has one.
    """
    frame = PEOPLE.with_columns(pay=pl.col("pay") // 10 * 10)
    scale = 1280 / float(frame["pay"].std(ddof=0))
    made = published(Noise(amount=scale, columns=("pay",)), frame)
    rest = np.bincount((shown(made)["pay"] - frame["pay"]).cast(int).to_numpy() % 10, minlength=10)
    assert stats.chisquare(rest).pvalue > FALSE_ALARM
    planted = np.bincount(np.arange(-2000, 2000) * 10 % 10, minlength=10)
    assert stats.chisquare(planted).pvalue < FALSE_ALARM


def test_rows_of_a_person_that_agree_show_the_same():
    """So that nobody averages over them."""
    frame = PEOPLE.with_columns(pay=pl.col("pay").first().over("who"))
    rows = shown(published(Noise(amount=0.5, columns=("pay",)), frame, person="who"))
    by = rows.with_columns(who=frame["who"]).group_by("who").agg(pl.col("pay").n_unique())
    assert by["pay"].max() == 1
    assert rows["pay"].n_unique() > 1500


def test_quasi_identifiers_of_numbers_are_treated_where_none_are_named():
    """Others stay as they are; without any the plan is refused with the key."""
    made = published(Noise(amount=0.5), quasi_identifiers=("age", "pay", "town"), sensitive=())
    assert made.release.method["columns"] == ["age", "pay"]
    with pytest.raises(PlanError, match="columns names no column"):
        published(Noise(amount=0.5), quasi_identifiers=("town",))


@pytest.mark.slow
def test_weak_noise_is_found_by_attacks():
    """Who knows age and pay finds nearly all where the noise is next to nothing."""
    frame = people(500)
    plan = voile.Plan(voile.Roles(quasi_identifiers=BOTH, person="row"))
    found = []
    for kind, amount in (("additive", 0.0005), ("multiplicative", 0.0005), ("additive", 0.5)):
        publisher = Noise(amount=amount, columns=BOTH, kind=kind)
        release = publisher.publish(voile.open_frame(frame, plan), Randomness.seeded(1))
        result = attack_named("identification", targets=None).run(release, frame, plan)
        found.append(result.success.value)
    assert min(found[:2]) > 0.9
    assert found[2] < 0.1


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"amount": 0}, "amount must be"),
        ({"amount": 0.1, "kind": "correlated", "law": "laplace"}, 'law = "laplace" is for kind'),
        ({"amount": 0.1, "keep_covariance": True}, 'is for kind = "correlated"'),
        ({"amount": 0.1, "columns": ("name",)}, "which no role of the plan publishes"),
    ],
)
def test_bad_parameters_are_refused(parameters, said):
    """By key."""
    with pytest.raises(PlanError, match=said):
        published(Noise(**parameters))


def test_columns_without_numbers_gaps_and_one_value_are_refused():
    """By column, with the way out."""
    with pytest.raises((TableError, PlanError), match="'town'"):
        published(Noise(amount=0.1, columns=("town",)))
    with pytest.raises(PlanError, match=r"'pay' has one value in all rows.*leave the column out"):
        published(Noise(amount=0.1, columns=("pay",)), PEOPLE.with_columns(pay=pl.lit(7.0)))
    gaps = PEOPLE.with_columns(pay=pl.when(pl.col("row") > 5).then("pay"))
    with pytest.raises(TableError, match="'pay'"):
        published(Noise(amount=0.1, columns=("pay",)), gaps)


@pytest.mark.parametrize(
    "method",
    [
        {"name": "m-shuffle", "clusters": 2, "columns": ["age"]},
        {"name": "microaggregation", "k": 2},
        {"name": "noise", "columns": ["age", "pay"], "amount": 0.1, "kind": "correlated"},
    ],
)
def test_a_number_from_which_no_distance_can_be_computed_is_refused_by_its_column(method):
    """A mistaken 1e300 beside a small fraction; the number is not repeated."""
    frame = pl.DataFrame({"age": [30, 31, 32, 60], "pay": [1.25, 2.0, 1e300, 1e-20]})
    sensitive = method["name"] == "m-shuffle"
    roles = {"quasi_identifiers": ["age", "pay"][: 2 - sensitive]}
    roles |= {"sensitive": ["pay"]} if sensitive else {}
    plan = parse_plan({"roles": roles, "method": method})
    with pytest.raises(TableError, match="column 'pay' holds a number beyond") as caught:
        voile.make_release(frame, plan)
    assert "1e300" not in str(caught.value)
