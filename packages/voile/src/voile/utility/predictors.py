"""Models that learn from rows, and how well they predict others.

Models: logistic regression with scikit-learn's usual penalty, for classes; linear regression with
the same for numbers (ridge, 1); a random forest of 50 trees with at least 5 rows in a leaf, for
both.  They are fast, differ in kind, and none needs tuning.

Scores: accuracy is the share of rows whose class is right.  The area under the receiver operating
characteristic is the chance that a row of a class is given a higher probability of it than another
row, averaged over the classes that some but not all of the rows have (Fawcett, "An introduction to
ROC analysis", 2006, section 9.2, unweighted): 0.5 for guessing.
R2 is 1 minus the squared error over that of the true mean, at most 1, and negative for worse.

Needs scikit-learn.  Cost: some 0.2 s for both models on 10,000 rows of 100 numbers, on one core.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import roc_auc_score

__all__ = ["ACCURACY", "AREA", "R2", "LearningRows", "Scores", "guessed_scores", "learned_scores"]

Floats = NDArray[np.float64]
Scores = Mapping[str, float]

ACCURACY, AREA, R2 = "accuracy", "area", "r2"

_TREES = 50
_LEAF = 5


@dataclass(frozen=True, eq=False)
class LearningRows:
    """n rows to learn from, or to predict."""

    features: Floats
    """Shape (n, f)."""
    target: Floats | NDArray[np.int64]
    """Shape (n,): numbers, or classes from 0."""

    def __len__(self) -> int:
        return len(self.target)


def learned_scores(
    training: LearningRows, test: LearningRows, classes: int | None, seed: int
) -> dict[str, Scores]:
    """For each model, by name, how well it predicts the test rows.

    ``classes`` is how many there are, or None where numbers are predicted.
    """
    training = LearningRows(_varying(training.features), training.target)
    # Several threads on matrices this small cost three times the work, and studies run in parallel.
    with import_module("threadpoolctl").threadpool_limits(1), warnings.catch_warnings():
        # A fit that is nearly done predicts as well as one that is done.
        warnings.simplefilter("ignore", ConvergenceWarning)
        if classes is None:
            return {name: _number_scores(model, training, test) for name, model in _numeric(seed)}
        return {
            name: _class_scores(model, training, test, classes)
            for name, model in _classifying(seed)
        }


def guessed_scores(training: LearningRows, test: LearningRows, classes: int | None) -> Scores:
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
    forest = RandomForestClassifier(_TREES, min_samples_leaf=_LEAF, n_jobs=1, random_state=seed)
    return [("logistic regression", LogisticRegression(max_iter=200)), ("random forest", forest)]


def _numeric(seed: int) -> list[tuple[str, Any]]:
    forest = RandomForestRegressor(
        _TREES, min_samples_leaf=_LEAF, max_features=1 / 3, n_jobs=1, random_state=seed
    )
    return [("linear regression", Ridge()), ("random forest", forest)]


def _class_scores(model: Any, training: LearningRows, test: LearningRows, classes: int) -> Scores:
    if len(np.unique(training.target)) < 2:  # nothing to learn
        return guessed_scores(training, test, classes)
    model.fit(training.features, training.target)
    chances = np.zeros((len(test), classes))
    chances[:, model.classes_] = model.predict_proba(test.features)
    right = chances.argmax(axis=1) == test.target
    return {ACCURACY: float(right.mean()), AREA: _area(chances, test.target)}


def _area(chances: Floats, target: NDArray[Any]) -> float:
    own = [target == number for number in range(chances.shape[1])]
    areas = [
        roc_auc_score(mine, chances[:, number])
        for number, mine in enumerate(own)
        if mine.any() and not mine.all()
    ]
    return float(np.mean(areas)) if areas else 0.5


def _number_scores(model: Any, training: LearningRows, test: LearningRows) -> Scores:
    model.fit(training.features, training.target)
    return {R2: _explained(model.predict(test.features), test.target)}


def _explained(predicted: Floats, target: NDArray[Any]) -> float:
    whole = float(((target - target.mean()) ** 2).sum())
    return 1 - float(((target - predicted) ** 2).sum()) / whole if whole > 0 else 0.0
