"""How well models that were trained on a release do on held-out originals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy.stats import chisquare
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, r2_score, roc_auc_score

from voile.release.reading import People
from voile.schema.plan import parse_plan
from voile.utility import learning
from voile.utility.covering import OriginalDomain, coverings
from voile.utility.learning import (
    MachineLearning,
    _drawn_values,
    _LearningRows,
    _Numbers,
    _TextNumbers,
)
from voile_base.errors import InputError
from voile_base.randomness import Randomness
from voile_tests.utility.adult_samples import adult_release, over_samples
from voile_tests.utility.releases import shown_by_hand

ROLES = {"quasi_identifiers": ("age", "age.low", "age.high", "job"), "sensitive": ("rich", "pay")}
ROWS = 600


def people(seed, rows=ROWS):
    """People of whom the older and the lawyers are mostly rich, and whose pay grows with age."""
    draws = np.random.default_rng(seed)
    age = draws.integers(20, 60, rows)
    job = draws.integers(0, 3, rows)
    rich = age + 20 * (job == 2) + draws.normal(0, 6, rows) > 48
    return pl.DataFrame(
        {
            "age": age,
            "job": [("baker", "driver", "lawyer")[j] for j in job],
            "rich": ["yes" if r else "no" for r in rich],
            "pay": 100.0 * age + 1000 * job + np.round(draws.normal(0, 100, rows)),
        }
    )


INSIDE, OUTSIDE = people(1), people(2)


def compared(shown, held_out=OUTSIDE, inside=INSIDE):
    """A release by hand; its roles are those of its columns."""
    roles = {role: tuple(n for n in names if n in shown) for role, names in ROLES.items()}
    plan = parse_plan({"columns": {"job": {"tree": {"*": ["baker", "driver", "lawyer"]}}}})
    comparison = shown_by_hand(shown, inside.to_dict(), plan, roles=roles)
    outside = None if held_out is None else People(held_out, plan)
    return replace(comparison, held_out=outside)


def in_decades(width, frame=INSIDE):
    """The table with ages in intervals, and no jobs if they are wide."""
    low = frame["age"] // width * width
    job = frame["job"] if width < 60 else pl.Series(["*"] * frame.height)
    ages = pl.DataFrame({"age.low": low, "age.high": low + width - 1, "job": job})
    return ages.hstack(frame.select("rich", "pay")).to_dict(as_series=False)


def scores(comparison, **parameters):
    """The measurements by name."""
    found = MachineLearning(**parameters).measure(comparison)
    return {one.measure.removeprefix("machine-learning-"): one for one in found}


PLAIN = INSIDE.to_dict(as_series=False)

# --- releases


@pytest.mark.parametrize(("target", "names"), [(None, ["accuracy", "area"]), ("pay", ["r2"])])
def test_the_original_is_as_good_as_itself(target, names):
    """Exactly, and better than guessing, whether classes or numbers are predicted."""
    found = scores(compared(PLAIN), target=target)
    assert list(found) == names
    for one in found.values():
        assert one.value == one.untouched > one.useless + 0.2
        assert len(one.parts) == 2
        assert one.value == pytest.approx(np.mean(list(one.parts.values())))


@pytest.mark.slow
def test_a_release_that_shows_nothing_teaches_nothing():
    """Ages and jobs all suppressed: as good as guessing, but for rows that a forest draws."""
    comparison = compared(in_decades(80))
    for target in ("rich", "pay"):
        for one in scores(comparison, target=target).values():
            assert one.value == pytest.approx(one.useless, abs=1e-3)


@pytest.mark.slow
def test_intervals_and_labels_teach_in_between():
    """Intervals of ten years lose a little, those of 40 much more."""
    fine, coarse = (scores(compared(in_decades(width))) for width in (10, 40))
    for name in ("accuracy", "area"):
        assert fine[name].untouched > coarse[name].value + 0.02
        assert fine[name].value > coarse[name].value + 0.02
        assert fine[name].value > fine[name].untouched - 0.08
        assert coarse[name].value > coarse[name].useless


def test_scores_are_those_of_scikit_learn_on_the_held_out_rows():
    """The models trained and scored by hand, from the same numbers of each column."""
    found = scores(compared(PLAIN))
    mean, deviation = INSIDE["age"].mean(), INSIDE["age"].std(ddof=0)

    def numbers(frame):
        jobs = [(frame["job"] == job).cast(pl.Float64) for job in ("baker", "driver", "lawyer")]
        zero = np.zeros(frame.height)
        return np.column_stack([(frame["age"] - mean) / deviation, zero, *jobs, zero])

    model = LogisticRegression(max_iter=200).fit(numbers(INSIDE), INSIDE["rich"].to_list())
    chances = model.predict_proba(numbers(OUTSIDE))[:, 1]
    truth = (OUTSIDE["rich"] == "yes").to_numpy()
    right = accuracy_score(truth, chances > 0.5)
    assert found["accuracy"].parts["logistic regression"] == pytest.approx(right, abs=2 / ROWS)
    area = roc_auc_score(truth, chances)
    assert found["area"].parts["logistic regression"] == pytest.approx(area, abs=1e-3)
    usual = (INSIDE["rich"] == "yes").mean() > 0.5
    assert found["accuracy"].useless == (truth == usual).mean()
    assert found["area"].useless == 0.5


def test_areas_of_several_classes_are_the_mean_of_one_against_all_others():
    """As scikit-learn's macro average; a class that no test row has does not count."""
    draws = np.random.default_rng(5)
    target = draws.integers(0, 3, 400)
    features = np.column_stack([target + draws.normal(0, 1, 400), draws.normal(0, 1, 400)])
    training, test = (
        _LearningRows(features[:200], target[:200]),
        _LearningRows(features[200:], target[200:]),
    )
    found = learning._learned_scores(training, test, classes=4, seed=1)
    forest = RandomForestClassifier(50, min_samples_leaf=5, random_state=1)
    chances = forest.fit(training.features, training.target).predict_proba(test.features)
    assert found["random forest"]["area"] == pytest.approx(
        roc_auc_score(test.target, chances, multi_class="ovr")
    )
    assert found["random forest"]["accuracy"] == accuracy_score(test.target, chances.argmax(axis=1))


def test_explained_variance_is_r2_of_scikit_learn():
    """The mean of the training rows explains nothing."""
    draws = np.random.default_rng(6)
    x = draws.normal(0, 1, (300, 2))
    y = x @ [1.0, 2.0] + draws.normal(0, 1, 300)
    training, test = _LearningRows(x[:200], y[:200]), _LearningRows(x[200:], y[200:])
    guess = np.full(100, y[:200].mean())
    assert learning._guessed_scores(training, test, None)["r2"] == pytest.approx(
        r2_score(test.target, guess)
    )
    found = learning._learned_scores(training, test, None, seed=1)
    assert 0.6 < found["linear regression"]["r2"] < 0.95


@pytest.mark.slow
def test_learning_gets_worse_as_groups_grow(shared_data):
    """Adult, mean of 3 samples of 1,500 rows: the area under the curve for k = 2 and 300."""
    area = {}
    for k in (2, 300):
        (area[k],) = over_samples(shared_data, lambda c: scores(c)["area"].value, [k])
    original = scores(adult_release(shared_data / "census" / "adult.csv", 0, 2))["area"]
    assert original.untouched > 0.75
    assert area[2] > area[300] + 0.02
    assert area[300] > 0.5


@pytest.mark.slow
def test_the_same_randomness_trains_the_same():
    """With fewer rows than there are, so that rows are drawn, too."""
    first, again = (scores(compared(in_decades(10)), rows=200) for _ in range(2))
    assert {n: s.value for n, s in first.items()} == {n: s.value for n, s in again.items()}
    other = replace(compared(in_decades(10)), randomness=Randomness.seeded(5))
    assert scores(other, rows=200)["area"].value != first["area"].value


# --- odd values


@pytest.mark.slow
def test_values_that_the_original_lacks_can_be_asked_about():
    """Unknown texts, missing ages and unknown classes in the held-out rows."""
    odd = OUTSIDE.with_columns(
        job=pl.when(pl.col("age") < 30).then(pl.lit("pilot")).otherwise("job"),
        age=pl.when(pl.col("age") > 55).then(None).otherwise("age"),
        rich=pl.when(pl.col("age") == 40).then(pl.lit("perhaps")).otherwise("rich"),
    )
    found = scores(compared(PLAIN, odd))
    assert (
        found["accuracy"].useless
        < found["accuracy"].value
        < scores(compared(PLAIN))["accuracy"].value
    )


@pytest.mark.slow
def test_rows_without_a_target_are_left_out():
    """Published, original and held-out ones; all of them missing is an error."""
    some = pl.when(pl.col("age") % 2 == 0).then(None).otherwise("rich")
    inside, outside = (frame.with_columns(rich=some) for frame in (INSIDE, OUTSIDE))
    found = scores(compared(inside.to_dict(as_series=False), outside, inside))
    odd, left = (int((frame["age"] % 2).sum()) for frame in (INSIDE, OUTSIDE))
    assert f"{odd:,} published or {odd:,} original rows" in found["area"].notes[0]
    assert f"{left:,} rows that were held out" in found["area"].notes[0]
    empty = OUTSIDE.with_columns(rich=pl.lit(None, dtype=pl.String))
    with pytest.raises(InputError, match="'rich' has no values"):
        scores(compared(PLAIN, empty))


def test_a_release_with_one_class_is_a_guess():
    """There is nothing to learn from it."""
    found = scores(compared({**PLAIN, "rich": ["no"] * ROWS}))
    assert found["area"].value == 0.5
    assert found["accuracy"].value == (OUTSIDE["rich"] == "no").mean()


@pytest.mark.slow
def test_rare_values_of_a_target_are_one_class():
    """Jobs with one class of their own and another for the rest: lawyers are found by pay."""
    comparison = compared(PLAIN)
    found = scores(comparison, target="job", classes=1)
    assert found["area"].value == found["area"].untouched
    several = scores(comparison, target="job")
    assert found["accuracy"].useless > several["accuracy"].useless


# --- reading


def test_values_are_drawn_as_entries_are_spread():
    """12,000 rows that show [0, 9] of values 0, 1, 3, 9: chi-square, false alarm 1 in 1,000.

    An even spread over the four values is rejected, and exact values stay as they are.
    """
    rows = 12_000
    original = {"a": [0, 1, 3, 9]}
    shown = {"a.low": [0] * rows + [9], "a.high": [9] * rows + [9]}
    covering = coverings(shown_by_hand(shown, original))["a"]
    drawn = _drawn_values(covering, np.arange(rows + 1), Randomness.seeded(4).key("a"))
    assert drawn[-1] == 3
    counts = np.bincount(drawn[:-1], minlength=4)
    shares = covering.shares.toarray()[covering.entry[0]]
    assert chisquare(counts, shares * rows).pvalue > 0.001
    assert chisquare(counts, np.full(4, rows / 4)).pvalue < 1e-9
    exact = coverings(shown_by_hand(original, original))["a"]
    assert _drawn_values(exact, np.arange(4), Randomness.seeded(4).key("a")).tolist() == [
        0,
        1,
        2,
        3,
    ]


def test_a_column_that_shows_the_same_in_every_row_does_not_vary():
    """Or else models would learn from what was drawn by chance."""
    shown = {"a.low": [0] * 50, "a.high": [9] * 50}
    covering = coverings(shown_by_hand(shown, {"a": [0, 1, 3, 9]}))["a"]
    drawn = _drawn_values(covering, np.arange(50), Randomness.seeded(4).key("a"))
    assert len(set(drawn.tolist())) == 1


def test_columns_become_numbers():
    """Texts by the commonest, numbers in standard deviations, missing ones marked."""
    texts = OriginalDomain.of(
        People(pl.DataFrame({"t": ["b", "a", "b", "c", None, None, None]})), "t"
    )
    code = _TextNumbers.commonest(texts, 2)
    assert code.index == {None: 0, "b": 1}
    assert code.numbers(texts).tolist() == [[1, 0, 0], [0, 0, 1], [0, 1, 0], [0, 0, 1]]
    numbers = OriginalDomain.of(People(pl.DataFrame({"n": [0.0, 0.0, 4.0, 4.0, None]})), "n")
    scale = _Numbers.standard(numbers)
    assert scale.numbers(numbers).tolist() == [[0, 1], [-1, 0], [1, 0]]


# --- refusals


def test_what_cannot_be_learned_is_refused(monkeypatch):
    """For want of held-out rows, rows, a target, features, or scikit-learn."""
    measure = MachineLearning()
    assert measure.refusal(compared(PLAIN)) is None
    nobody = {name: values[:0] for name, values in PLAIN.items()}
    for comparison, reason in [
        (compared(PLAIN, None), "no rows were held out"),
        (compared(PLAIN, OUTSIDE[:0]), "no rows were held out"),
        (compared({"age": PLAIN["age"]}), "no sensitive column"),
        (compared({"rich": PLAIN["rich"]}), "nothing from which 'rich'"),
    ]:
        assert reason in str(measure.refusal(comparison))
        with pytest.raises(InputError, match=reason):
            measure.measure(comparison)
    assert "no column 'height'" in str(MachineLearning(target="height").refusal(compared(PLAIN)))
    assert "no rows to train" in str(measure.refusal(compared(nobody)))
    monkeypatch.setattr(learning, "find_spec", lambda name: None)
    assert "voile[learn]" in str(measure.refusal(compared(PLAIN)))


@pytest.mark.parametrize("parameters", [{"rows": 0}, {"classes": 0}, {"texts": 0}, {"few": -1}])
def test_parameters_that_cannot_be(parameters):
    """They are refused at once."""
    with pytest.raises(InputError, match="at least"):
        MachineLearning(**parameters)
