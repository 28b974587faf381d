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

Reading: an entry that may stand for several values is given one of them at random, as its share is
(``covering``), and every column becomes the same numbers whatever it was published as
(``encoding``).  So a model that learned from labels and intervals can be asked about exact values,
and every method of publishing is treated alike.

Models: logistic or linear regression, and a random forest (``predictors``), on at most ``rows``
training rows, drawn by a key.

Cost: two trainings of two models, about a second for 10,000 rows and 100 numbers a row.

Needs scikit-learn (``pip install 'voile[learn]'``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from voile.utility.covering import ColumnCovering, coverings
from voile.utility.domain import OriginalDomain
from voile.utility.encoding import Encoding, Numbers, TextNumbers, drawn_values, encoded
from voile.utility.expectation import expectations
from voile.utility.measurement import Measurement
from voile.utility.protocol import Comparison
from voile.utility.roles import columns_in_role
from voile_base.errors import InputError
from voile_base.randomness import Key, Randomness

if TYPE_CHECKING:
    from voile.utility.predictors import LearningRows, Scores

__all__ = ["MachineLearning"]

Floats = NDArray[np.float64]
Codes = NDArray[np.integer[Any]]

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
        from voile.utility import predictors  # noqa: PLC0415 - scikit-learn loads for a second

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
        blind = predictors.guessed_scores(original, test, task.classes)
        best = predictors.learned_scores(original, test, task.classes, seed)
        found = (
            predictors.learned_scores(released, test, task.classes, seed)
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
            labels=None if numeric else TextNumbers.commonest(wanted, self.classes),
            features={
                name: (
                    TextNumbers.commonest(domain, self.texts)
                    if domain.points is None
                    else Numbers.standard(domain)
                )
                for name, domain in _domains(columns).items()
                if name in features
            },
        )


@dataclass(frozen=True, eq=False)
class _Task:
    """What is learned from what."""

    target: str
    labels: TextNumbers | None
    """The classes, and one for all others; None: numbers are predicted."""
    features: Mapping[str, Encoding]

    @property
    def classes(self) -> int | None:
        """How many classes there are; None where numbers are predicted."""
        return None if self.labels is None else len(self.labels.index) + 1

    def of_rows(self, domains: Mapping[str, OriginalDomain], most: int, key: Key) -> LearningRows:
        """Rows of a table of exact values, drawn from those that have a target."""
        wanted = domains[self.target]
        rows, target = self._drawn(self._targets(wanted), wanted.column.codes, most, key)
        return self._encoded(domains, {n: d.column.codes[rows] for n, d in domains.items()}, target)

    def of_release(
        self, columns: Mapping[str, ColumnCovering], most: int, randomness: Randomness
    ) -> LearningRows:
        """Published rows, drawn from those that show one target and not several."""
        wanted = columns[self.target]
        targets = expectations(wanted.spread, self._targets(wanted.domain))
        rows, target = self._drawn(targets, wanted.entry, most, randomness.key("rows"))
        values = {
            name: drawn_values(columns[name], rows, randomness.key("values", name))
            for name in self.features
        }
        return self._encoded(_domains(columns), values, target)

    def _encoded(
        self,
        domains: Mapping[str, OriginalDomain],
        values: Mapping[str, Codes],
        target: NDArray[Any],
    ) -> LearningRows:
        from voile.utility.predictors import LearningRows  # noqa: PLC0415 - see above

        shown = [encoded(how, domains[name], values[name]) for name, how in self.features.items()]
        return LearningRows(np.hstack(shown), target)

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
        rows = usable[np.argsort(key.stream(len(usable)))[:most]]
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
