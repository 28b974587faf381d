"""Machine learning: how well models trained on a release do on held-out originals; private.

What it does: trains the same models on the release and on the original rows, lets both predict rows
that took part in neither, and reports how often they are right.

Source: training on masked data and testing on originals is the workload of LeFevre, DeWitt and
Ramakrishnan, "Workload-aware anonymization" (KDD 2006), section 5, and of Brickell and Shmatikov,
"The cost of privacy" (KDD 2008), whose point is the comparison with the trivial predictor.

Claim: value, ``untouched`` (trained on the original rows) and ``useless`` (the most frequent class,
or the mean, whatever the row) are measured on the same held-out rows, of which the release knows
nothing.  Each is a mean over the models.  With t test rows an accuracy has a standard error of at
most 1 / (2 sqrt(t)): differences of a hundredth mean little below 10,000 rows.

Target: by default the first sensitive column.  Texts, truth values and numbers of few different
values are classes, other numbers are predicted.  A published row whose target may be several values
is left out.  Features: quasi-identifiers and columns to keep, but the target.

Published entries: each is given one of the values that it may stand for at random, with the share
that the entry has of it (``covering``), independently in each column and row, by a key; a column in
which all rows show the same does not vary.  Rows of any method then look like exact rows, and a
model that learned from labels and intervals can be asked about exact values.  The obvious
alternative, expectations (a label that covers four texts is a quarter of each), has models learn
from numbers that no exact row has: of Adult at k = 5, with one level a column for all rows, a
random forest then found nothing but the more frequent class.

Numbers: a column of texts or truth values becomes, for each of the commonest, whether it is that
one, and last whether it is any other; numbers, dates and times the distance from the mean in
standard deviations, 0 if missing, and whether it is missing.  Commonest texts, mean and deviation
are those of the original: private, and the same for all that is encoded.

Models: logistic regression with scikit-learn's usual penalty, for classes; linear regression with
the same for numbers (ridge, 1); a random forest of 50 trees with at least 5 rows in a leaf, for
both; on at most ``rows`` training rows, drawn by a key.  They differ in kind; none needs tuning.

Scores: accuracy is the share of rows whose class is right.  The area under the receiver operating
characteristic is the chance that a row of a class is given a higher probability of it than another
row, averaged over the classes that some but not all of the rows have (Fawcett, "An introduction to
ROC analysis", 2006, section 9.2, unweighted): 0.5 for guessing.
R2 is 1 minus the squared error over that of the true mean, at most 1, and negative for worse.

Cost: two trainings of two models, about a second for 10,000 rows and 100 numbers a row; the numbers
take O(d f) for d distinct values of f numbers, and a search and one look-up a row and number.

Needs scikit-learn (``pip install 'voile[learn]'``).
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from voile.table.codes import Codes
from voile.utility.covering import (
    ColumnCovering,
    OriginalDomain,
    columns_in_role,
    coverings,
    expectations,
)
from voile.utility.protocol import Comparison, Measurement
from voile_base.errors import InputError
from voile_base.ondemand import dataclass, on_demand
from voile_base.randomness import Key, Randomness

ensemble = on_demand("sklearn.ensemble")
exceptions = on_demand("sklearn.exceptions")
linear_model = on_demand("sklearn.linear_model")
metrics = on_demand("sklearn.metrics")

__all__ = ["ACCURACY", "AREA", "R2", "Encoding", "MachineLearning", "Scores", "encoded"]


Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class _TextNumbers:
    """One number for each of some texts, and one for all others."""

    index: Mapping[str | None, int]

    @classmethod
    def commonest(cls, original: OriginalDomain, most: int) -> Self:
        """The commonest texts of a column, ascending; a missing one is a text, too."""
        chosen = np.sort(np.argsort(-original.rows, kind="stable")[:most]).tolist()
        return cls({original.values.texts[index]: number for number, index in enumerate(chosen)})

    def numbers(self, domain: OriginalDomain) -> Floats:
        """Shape (d, texts + 1)."""
        others = len(self.index)
        which = [self.index.get(text, others) for text in domain.values.texts]
        return np.eye(others + 1)[which]


@dataclass(frozen=True)
class _Numbers:
    """A number in standard deviations from its mean, and whether it is missing."""

    mean: float
    deviation: float

    @classmethod
    def standard(cls, original: OriginalDomain) -> Self:
        """With mean and deviation of a column that lies on the line."""
        assert original.points is not None
        known = ~np.isnan(original.points)
        points, rows = original.points[known], original.rows[known]
        if not len(points):
            return cls(0.0, 1.0)
        mean = float(np.average(points, weights=rows))
        deviation = float(np.sqrt(np.average((points - mean) ** 2, weights=rows)))
        return cls(mean, deviation or 1.0)

    def numbers(self, domain: OriginalDomain) -> Floats:
        """Shape (d, 2)."""
        points = np.full(len(domain), np.nan) if domain.points is None else domain.points
        missing = np.isnan(points)
        standard = (np.where(missing, self.mean, points) - self.mean) / self.deviation
        return np.column_stack([standard, missing.astype(np.float64)])


Encoding = _TextNumbers | _Numbers


def encoded(encoding: Encoding, domain: OriginalDomain, values: Codes) -> Floats:
    """The numbers of n values, indices among those of the domain, shape (n, f)."""
    found: Floats = encoding.numbers(domain)[values]
    return found


def _drawn_values(covering: ColumnCovering, rows: Indices, key: Key) -> Indices:
    """For each of n published rows one of the values that it may stand for, shape (n,).

    Where all of them show the same, they are given the same: the column tells nothing, and one that
    varies at random would have models learn from chance.
    """
    spread, entry = covering.spread, covering.entry[rows]
    if len(entry) and (entry == entry[0]).all():
        return np.full(len(entry), spread.order[spread.start[entry[0]]])
    reached = np.concatenate([[0.0], np.cumsum(spread.weight[spread.order])])
    start, stop = spread.start[entry], spread.stop[entry]
    share = (key.stream(len(rows)) >> np.uint64(11)) / 2**53
    at = reached[start] + share * (reached[stop] - reached[start])
    index = np.searchsorted(reached, at, side="right") - 1
    # Rounding may lead just beyond the ends of a run.
    values: Indices = spread.order[np.clip(index, start, stop - 1)]
    return values


_CERTAIN = 1 - 1e-9
"""A probability that is 1, rounded."""
_WORDS = {
    "accuracy": (
        "Accuracy of machine learning",
        "the share of held-out rows whose {target!r} is predicted rightly by models that were "
        "trained on the release",
    ),
    "area": (
        "Ranking by machine learning (area under the curve)",
        "how likely models that were trained on the release give a held-out row a higher chance "
        "of its own {target!r} than a row with another one",
    ),
    "r2": (
        "Variance explained by machine learning (R2)",
        "the share of the variance of {target!r} in held-out rows that models predict that were "
        "trained on the release",
    ),
}
"""Title and meaning of each score."""


@dataclass(frozen=True)
class MachineLearning:
    """Scores of models that were trained on a release, on originals that were held out.

    Raises ``InputError`` for parameters that cannot be.
    """

    target: str | None = None
    """What is predicted; None: the first sensitive column."""
    rows: int = 10_000
    """The most rows to train with, and to test with."""
    few: int = 10
    """Numbers of up to this many different values are classes."""
    classes: int = 20
    """The commonest values of the target, each a class; all others are one more."""
    texts: int = 30
    """The commonest texts of a feature, each a number; all others are one more."""
    name: ClassVar[str] = "machine-learning"

    def __post_init__(self) -> None:
        if min(self.rows, self.classes, self.texts) < 1 or self.few < 0:
            msg = "rows, classes and texts must be at least 1, and few at least 0"
            raise InputError(msg)

    def refusal(self, comparison: Comparison) -> str | None:
        """It takes held-out rows, something to predict, and something to predict it from."""
        if find_spec("sklearn") is None:
            return "scikit-learn is not installed (pip install 'voile[learn]')"
        if comparison.held_out is None or not comparison.held_out.frame.height:
            return "no rows were held out to test models on"
        if not comparison.published.frame.height:
            return "the release has no rows to train models with"
        target, features = self._columns(comparison)
        if target is None:
            what = "sensitive column" if self.target is None else f"column {self.target!r}"
            return f"the release shows no {what} that could be predicted"
        if not features:
            return f"the release shows nothing from which {target!r} could be predicted"
        return None

    def measure(self, comparison: Comparison) -> Sequence[Measurement]:
        """Accuracy and area under the curve, or R2, with each model as a part."""
        if (reason := self.refusal(comparison)) is not None:
            raise InputError(reason)

        target, features = self._columns(comparison)
        assert target is not None
        assert comparison.held_out is not None
        columns = coverings(comparison, [target, *features])
        task = self._task(columns, target, features)
        randomness = comparison.randomness.within("utility", self.name)
        key = randomness.key("rows")
        released = task.of_release(columns, self.rows, randomness)
        original = task.of_rows(_domains(columns), self.rows, key)
        held_out = {name: OriginalDomain.of(comparison.held_out, name) for name in columns}
        test = task.of_rows(held_out, self.rows, key)
        if not (len(original) and len(test)):
            msg = f"column {target!r} has no values to be learned; name another target"
            raise InputError(msg)
        seed = int(randomness.key("forest").stream(1)[0]) >> 33
        blind = _guessed_scores(original, test, task.classes)
        best = _learned_scores(original, test, task.classes, seed)
        found = (
            _learned_scores(released, test, task.classes, seed)
            if len(released)
            else dict.fromkeys(best, blind)
        )
        notes = (
            f"{target!r} is predicted from {len(features)} columns, trained with "
            f"{len(released):,} published or {len(original):,} original rows, and tested with "
            f"{len(test):,} rows that were held out",
        )
        return [_measurement(score, target, (found, best, blind), notes) for score in blind]

    def _columns(self, comparison: Comparison) -> tuple[str | None, tuple[str, ...]]:
        """What is predicted, if it is published, and from what."""
        of_role = {
            role: columns_in_role(comparison, role)
            for role in ("quasi_identifiers", "ranking", "sensitive", "keep")
        }
        published = [name for names in of_role.values() for name in names]
        wanted = of_role["sensitive"][:1] if self.target is None else (self.target,)
        target = next((name for name in wanted if name in published), None)
        features = (*of_role["quasi_identifiers"], *of_role["keep"])
        return target, tuple(name for name in features if name != target)

    def _task(
        self, columns: Mapping[str, ColumnCovering], target: str, features: Sequence[str]
    ) -> _Task:
        wanted = columns[target].domain
        numeric = wanted.points is not None and len(wanted) > self.few
        return _Task(
            target=target,
            labels=None if numeric else _TextNumbers.commonest(wanted, self.classes),
            features={
                name: (
                    _TextNumbers.commonest(domain, self.texts)
                    if domain.points is None
                    else _Numbers.standard(domain)
                )
                for name, domain in _domains(columns).items()
                if name in features
            },
        )


@dataclass(frozen=True, eq=False)
class _Task:
    """What is learned from what."""

    target: str
    labels: _TextNumbers | None
    """The classes, and one for all others; None: numbers are predicted."""
    features: Mapping[str, Encoding]

    @property
    def classes(self) -> int | None:
        """How many classes there are; None where numbers are predicted."""
        return None if self.labels is None else len(self.labels.index) + 1

    def of_rows(self, domains: Mapping[str, OriginalDomain], most: int, key: Key) -> _LearningRows:
        """Rows of a table of exact values, drawn from those that have a target."""
        wanted = domains[self.target]
        rows, target = self._drawn(self._targets(wanted), wanted.column.codes, most, key)
        return self._encoded(domains, {n: d.column.codes[rows] for n, d in domains.items()}, target)

    def of_release(
        self, columns: Mapping[str, ColumnCovering], most: int, randomness: Randomness
    ) -> _LearningRows:
        """Published rows, drawn from those that show one target and not several."""
        wanted = columns[self.target]
        targets = expectations(wanted.spread, self._targets(wanted.domain))
        rows, target = self._drawn(targets, wanted.entry, most, randomness.key("rows"))
        values = {
            name: _drawn_values(columns[name], rows, randomness.key("values", name))
            for name in self.features
        }
        return self._encoded(_domains(columns), values, target)

    def _encoded(
        self,
        domains: Mapping[str, OriginalDomain],
        values: Mapping[str, Codes],
        target: NDArray[Any],
    ) -> _LearningRows:

        shown = [encoded(how, domains[name], values[name]) for name, how in self.features.items()]
        return _LearningRows(np.hstack(shown), target)

    def _targets(self, domain: OriginalDomain) -> Floats:
        """For each value, which class it is, or whether it is a number, and which; (d, c)."""
        if self.labels is not None:
            present = np.array([text is not None for text in domain.values.texts])
            chosen: Floats = self.labels.numbers(domain) * present[:, np.newaxis]
            return chosen
        points = np.full(len(domain), np.nan) if domain.points is None else domain.points
        return np.column_stack([~np.isnan(points), np.nan_to_num(points)]).astype(np.float64)

    def _drawn(
        self, targets: Floats, entry: Codes, most: int, key: Key
    ) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """Rows with a target, at most so many, and their targets, from those of each entry."""
        numeric = self.labels is None
        chance = targets[:, 0] if numeric else targets.max(axis=1)
        usable = np.flatnonzero((chance > _CERTAIN)[entry])
        words = key.stream(len(usable))
        least = np.argpartition(words, most)[:most] if len(usable) > most else slice(None)
        rows = usable[least][np.argsort(words[least])]
        found = targets[:, 1] if numeric else targets.argmax(axis=1)
        return rows, found[entry[rows]]


def _domains(columns: Mapping[str, ColumnCovering]) -> dict[str, OriginalDomain]:
    return {name: column.domain for name, column in columns.items()}


def _measurement(
    score: str,
    target: str,
    scores: tuple[Mapping[str, Scores], Mapping[str, Scores], Scores],
    notes: tuple[str, ...],
) -> Measurement:
    """One score of the models trained on the release, on the original, and of a guess."""
    found, best, blind = scores
    title, meaning = _WORDS[score]
    return Measurement(
        measure=f"{MachineLearning.name}-{score}",
        title=title,
        value=_mean(found, score),
        better="higher",
        meaning=meaning.format(target=target),
        untouched=_mean(best, score),
        useless=blind[score],
        parts={model: scores_of[score] for model, scores_of in found.items()},
        notes=notes,
    )


def _mean(models: Mapping[str, Scores], score: str) -> float:
    return float(np.mean([scores[score] for scores in models.values()]))


Scores = Mapping[str, float]

ACCURACY, AREA, R2 = "accuracy", "area", "r2"

_TREES = 50
_LEAF = 5


@dataclass(frozen=True, eq=False)
class _LearningRows:
    """n rows to learn from, or to predict."""

    features: Floats
    """Shape (n, f)."""
    target: Floats | NDArray[np.int64]
    """Shape (n,): numbers, or classes from 0."""

    def __len__(self) -> int:
        return len(self.target)


def _learned_scores(
    training: _LearningRows, test: _LearningRows, classes: int | None, seed: int
) -> dict[str, Scores]:
    """For each model, by name, how well it predicts the test rows.

    ``classes`` is how many there are, or None where numbers are predicted.
    """
    training = _LearningRows(_varying(training.features), training.target)
    # Several threads on matrices this small cost three times the work, and studies run in parallel.
    with import_module("threadpoolctl").threadpool_limits(1), warnings.catch_warnings():
        # A fit that is nearly done predicts as well as one that is done.
        warnings.simplefilter("ignore", exceptions.ConvergenceWarning)
        if classes is None:
            return {name: _number_scores(model, training, test) for name, model in _numeric(seed)}
        return {
            name: _class_scores(model, training, test, classes)
            for name, model in _classifying(seed)
        }


def _guessed_scores(training: _LearningRows, test: _LearningRows, classes: int | None) -> Scores:
    """How well it does to say the most frequent class, or the mean, of every row."""
    if classes is None:
        return {R2: _explained(np.full(len(test), training.target.mean()), test.target)}
    usual = np.bincount(training.target.astype(np.int64), minlength=classes).argmax()
    return {ACCURACY: float((test.target == usual).mean()), AREA: 0.5}


def _varying(features: Floats) -> Floats:
    """Features, 0 where they are the same for all: their coefficients are then 0, and not nearly.

    A model that tells nothing would otherwise rank rows by a rounding error.
    """
    varying: Floats = np.where(np.ptp(features, axis=0) > 0, features, 0.0)
    return varying


def _classifying(seed: int) -> list[tuple[str, Any]]:
    forest = ensemble.RandomForestClassifier(
        _TREES, min_samples_leaf=_LEAF, n_jobs=1, random_state=seed
    )
    return [
        ("logistic regression", linear_model.LogisticRegression(max_iter=200)),
        ("random forest", forest),
    ]


def _numeric(seed: int) -> list[tuple[str, Any]]:
    forest = ensemble.RandomForestRegressor(
        _TREES, min_samples_leaf=_LEAF, max_features=1 / 3, n_jobs=1, random_state=seed
    )
    return [("linear regression", linear_model.Ridge()), ("random forest", forest)]


def _class_scores(model: Any, training: _LearningRows, test: _LearningRows, classes: int) -> Scores:
    if len(np.unique(training.target)) < 2:  # nothing to learn
        return _guessed_scores(training, test, classes)
    model.fit(training.features, training.target)
    chances = np.zeros((len(test), classes))
    chances[:, model.classes_] = model.predict_proba(test.features)
    right = chances.argmax(axis=1) == test.target
    return {ACCURACY: float(right.mean()), AREA: _area(chances, test.target)}


def _area(chances: Floats, target: NDArray[np.generic]) -> float:
    own = [target == number for number in range(chances.shape[1])]
    areas = [
        metrics.roc_auc_score(mine, chances[:, number])
        for number, mine in enumerate(own)
        if mine.any() and not mine.all()
    ]
    return float(np.mean(areas)) if areas else 0.5


def _number_scores(model: Any, training: _LearningRows, test: _LearningRows) -> Scores:
    model.fit(training.features, training.target)
    return {R2: _explained(model.predict(test.features), test.target)}


def _explained(predicted: Floats, target: NDArray[Any]) -> float:
    whole = float(((target - target.mean()) ** 2).sum())
    return 1 - float(((target - predicted) ** 2).sum()) / whole if whole > 0 else 0.0
