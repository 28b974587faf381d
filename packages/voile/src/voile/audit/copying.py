"""Copying: people whom a file of rows of nobody fits better than it fits anybody else; private.

An average over thousands says nothing of the few whose rows were copied, whole or nearly. Each
person of the original and of the control is held against all rows by all columns (``closest``), and
has several scores: what the closest row lacks to a perfect one; how much closer it is than the
closest other person of either side, for who has look-alikes is hidden by them; how much closer it
is than is usual for people as rare as this one; how rare is what agrees with a row that has all but
two of the person's values (``_whole_rows``); how surely such a row is the person's, by each set of
columns and by the best, for copies show other people's values in the same columns, or in some of
their own (``_by_sets``); how rare is what agrees with any row, times the share of columns that
agree, by which one person stands out who was copied whole (``_agreeing_rows``); with a row of which
cells are empty, where all others fit (``_beside_blanks``); and how much likelier the nearest rows
are with the person than without (``NearestRows.likelier``). By each set of columns that an outsider
may know there is another score: how rare the person's values are, where a row shows just these; and
one by rows that show them under codes that were moved (``MovedCodes``). And boosted trees, where
scikit-learn is installed, learn to tell rows of the file from half of the people of both sides, and
are asked of the other half (``_by_learners``); so does a network of one layer, for what a network
made another finds sooner than trees; and what both find is added up. They are left out where
columns alone tell the sides apart, which they would learn. Which people of the original the control
does not explain is told by ``Excess``. Comparing with what a reference fits is the density ratio of
membership inference (van Breugel et al., "Membership inference attacks against synthetic data
through overfitting detection", AISTATS 2023), and a network that tells rows from people does it in
Hayes et al., "LOGAN: Membership inference attacks against generative models" (PoPETs 2019); ranks
by several scores are added up as logarithms, as independent tests are in Fisher, "Statistical
methods for research workers" (1932); rows with and without a person are the likelihood ratio of
Ward, Wang and Cheng, "Privacy auditing synthetic data release through local likelihood attacks"
(2025); what is usual for a person is the calibration of Watson et al., "On the importance of
difficulty calibration in membership inference attacks" (ICLR 2022); rates at few false positives
are those of Carlini et al., "Membership inference attacks from first principles" (S&P 2022).

Where each row is a person's, as in a file of groups or of columns that are shown as they are, being
in it is no secret, and every person fits: that is for the other risks, attacks and sizes of groups
to judge.  Rows of groups of averages that show the same are left out: each is of nobody alone, and
so is a copy of none.  But a plan may say of a column that it is averaged where the file does not
look so, and values that repeat by themselves are no averages.  Where only the plan makes groups of
more than a small share of the rows, copies among these cannot be told, and copying is not assessed.

Of too many people some are drawn, half of them those who are rarest.  Cost: see ``closest``; trees
and a network of ``_LEARNT`` rows and as many people; for each set of columns a sort of the rows and
people, and its scores (``nearly_all`` bounds both): 0.3 s for 300 sets of 36,000 rows and people,
and 16 bytes a person and set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import special

from voile.attack.protocol import Estimate
from voile.audit.beside import JointCodes, JointColumn
from voile.audit.drift import ComparedSides, nearly_all, stand_in, unseen_note, unseen_refusal
from voile.audit.excess import (
    BY_KNOWN,
    BY_LIKELIHOOD,
    BY_NEARLY_WHOLE,
    BY_SET,
    BY_SUREST,
    Excess,
    MovedCodes,
    NearestRows,
)
from voile.audit.record import COPYING, ROWS_OF_PEOPLE
from voile.audit.risk import CONTROL, ORIGINAL, FewFalsePositives, Risk, Setting
from voile.table.codes import Combinations
from voile_base.compiled import njit
from voile_base.ondemand import dataclass, on_demand
from voile_base.randomness import Draws, Randomness

__all__ = ["Copying", "rows_of_people"]

ensemble = on_demand("sklearn.ensemble")

neural_network = on_demand("sklearn.neural_network")

preprocessing = on_demand("sklearn.preprocessing")

threadpoolctl = on_demand("threadpoolctl")

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

_MISFITS = {4: 1, 6: 2}
"""How many columns of a row may be another's, by the least number of columns of both."""
_FEWEST_SHOWN = 3
"""Cells that a row of some empty ones shows, from which on it is looked at."""
_CHANCE = 32
"""How many rows that chance makes of a person's values count as one other person who has them."""
_ANYTHING = -2
"""The cell of a value that fits every row and tells nothing."""
_PAIRS = 120_000_000
"""Of a person and a row, that are compared for each side, of more than ``_FEWEST`` people."""
_OF_SOMEBODY = 0.9
"""The share of rows that somebody of the original fits, from which on rows are people's."""
_LOOKED_AT = 400
"""Rows of which that is asked."""
_FEWEST = 1_200
"""People of each side who are compared at least, however many rows there are."""
_SEEN = 0.1
"""The share of people who, copied whole, a control must be able to tell."""
_SAME = 1e-5
"""Relative; sums of agreements in another order differ by less."""
_LEARNT = 20_000
"""Rows of the file from which trees learn, and people of both sides."""
_ROUNDS = 60
"""Of boosting: trees, each of which mends what those before it have missed."""
_TEXTS = 250
"""Different texts of a column, up to which a tree parts them as it likes."""
_NEURONS, _PASSES, _AT_ONCE = 64, 6, 256
"""Of the network: neurons, how often it sees each row, and rows between two steps: with more passes
it learns its rows by heart, and tells less of others."""
_SURE = 1e-9
"""The least odds of a network."""
_BANDS, _OFTEN = 32, 5
"""Of a column of more values, each with as many rows, of which each is an input of the network; and
rows that must show a value that is one."""


@dataclass(frozen=True)
class Copying:
    """The risk as audits count it."""

    name: ClassVar[str] = COPYING

    def refusal(self, setting: Setting) -> str | None:
        """It asks for a control, and for rows that are nobody's."""
        if len(setting.names) < 2:
            return "the file shows one column alone"
        refused = ROWS_OF_PEOPLE if rows_of_people(setting) else unseen_refusal(setting.beside)
        if refused is not None:
            return refused
        if len(setting.beside.units) == 1:
            return "nobody is known who was not in the data: no control"
        sizes = setting.beside.people(ORIGINAL), setting.beside.people(CONTROL)
        if (fewest := Excess.fewest(sizes)) > max(_SEEN * sizes[0], 8):
            return (
                f"a control of {sizes[1]:,} people tells nothing of fewer than {fewest:,} people "
                f"of {sizes[0]:,}"
            )
        return setting.compared.refusal

    def risks(self, setting: Setting) -> Iterator[Risk]:
        """One, of all columns."""
        setting.progress("copying")
        yield copying(setting.compared, setting.randomness, setting.known)


def copying(
    sides: ComparedSides,
    randomness: Randomness,
    known: Mapping[str, Sequence[str]] | None = None,
) -> Risk:
    """Who of the original is copied, beside the control; ``known`` are sets of columns by name."""
    drift, alike = sides.drift, sides.are_alike
    draws = randomness.key("copying").generator()
    beside = drift.compared(sides.beside, randomness.key("not compared").generator())
    asked, scores = _scores(beside, drift.rows, known or {}, draws, alike=alike)
    excess, sure = Excess.of(scores, alike=alike)
    main, control = Excess.rates(scores, randomness.key("halves").generator(), alike=alike)
    notes = [_said_of(excess)] if sure else []
    if not alike:
        notes.append("the control differs from the original in its columns: no trees have learnt")
    back, more = Excess.of({name: (other, own) for name, (own, other) in scores.items()})
    if more:
        notes.append(f"{back.own:,} people of the control are closer than the original explains")
    notes += [note for note in (drift.note, unseen_note(beside)) if note is not None]
    if excess.sizes[ORIGINAL] < beside.people(ORIGINAL) - drift.left_out[ORIGINAL]:
        notes.append("people were drawn, half of them those who are rarest")
    return Risk(
        COPYING,
        "all columns",
        "the closest row fits better than that of nearly all people of the control",
        excess.sizes[ORIGINAL],
        main,
        control,
        Estimate.exactly(control.value),
        tuple(notes),
        persons=excess.at_least if sure else 0,
        reversed=more,
        rates=FewFalsePositives.at_each(
            {name: score for name, score in scores.items() if not name.startswith(BY_SET)}
        ),
        rows=_worst_off(excess, asked, scores) if sure else (),
    )


def _said_of(excess: Excess) -> str:
    """By what people are told, and of how many it is not sure."""
    text = f"what tells most is the score by {excess.score}"
    if doubtful := excess.own - excess.at_least:
        text += f": {excess.own:,} people score as high, {doubtful:,} of them perhaps by chance"
    return text


def _worst_off(
    excess: Excess, asked: Indices, scores: Mapping[str, tuple[Floats, Floats]]
) -> tuple[int, ...]:
    """Rows of the original, from 0, that tell most, the highest first, as many as are sure.

    So many people are copied, most likely these; of no single one of them is it sure.
    """
    own = scores[excess.score][ORIGINAL]
    order = np.argsort(-own, kind="stable")[: excess.at_least]
    return tuple(int(asked[place]) for place in order if own[place] >= excess.limit)


def rows_of_people(setting: Setting) -> bool:
    """Whether each row of the file is a person's, as far as other columns than sensitive tell."""
    columns = setting.beside.columns
    if any(c.how == "synthetic" for c in columns):
        return False
    if any(c.is_near and c.name not in setting.sensitive for c in columns):
        return False
    asked = [c for c in columns if not c.is_near and c.how != "permuted"]
    if not asked:  # nobody fits rows of which all columns were permuted
        return any(c.how != "permuted" for c in columns)
    draws = setting.randomness.key("rows of people").generator()
    rows = draws.permutation(setting.beside.rows)[:_LOOKED_AT]
    return float(np.mean([_somebody_fits(asked, row) for row in rows])) >= _OF_SOMEBODY


def _somebody_fits(columns: Sequence[JointColumn], row: int) -> bool:
    left: Indices | None = None
    for column in columns:
        fits = column.covers[:, column.cell[row]]
        value = column.value[ORIGINAL]
        left = np.flatnonzero(fits[value]) if left is None else left[fits[value[left]]]
    return left is None or bool(len(left))


def _scores(
    beside: JointCodes,
    out: Sequence[NDArray[np.bool_]],
    known: Mapping[str, Sequence[str]],
    draws: Draws,
    *,
    alike: bool,
) -> tuple[Indices, dict[str, tuple[Floats, Floats]]]:
    """Scores of people of both sides, each person the best of the person's rows.

    Besides, a row of each person of the original, shape (p,).  ``out`` are rows of each side that
    are not looked at; trees are asked of sides that are ``alike``.
    """
    columns, kept = beside.columns, beside.rows_alone
    nearest = NearestRows.of(columns)
    cells = [column.cell[kept] for column in columns]
    every = [[column.value[side] for column in columns] for side in (ORIGINAL, CONTROL)]
    most = [nearest.most(values) for values in every]
    asked = _asked_rows(beside, out, most, len(kept), draws)
    reference = [
        [column.as_cell[code[rows]] for column, code in zip(columns, values, strict=True)]
        for values, rows in zip(every, asked, strict=True)
    ]
    units = [unit[rows] for unit, rows in zip(beside.units, asked, strict=True)]
    fits, closer = [], []
    people = [[value[rows] for value in every[side]] for side, rows in enumerate(asked)]
    for side, values in enumerate(people):
        fits.append(nearest.closest(values, cells))
        among = [
            nearest.closest(values, shown, (units[side], units[at]))
            if at == side
            else nearest.closest(values, shown)
            for at, shown in enumerate(reference)
        ]
        closer.append(_beyond(fits[side], np.maximum(*among)))
    best = [worth[rows] for worth, rows in zip(most, asked, strict=True)]
    by_row = {
        "a perfect row": [fit - worth for fit, worth in zip(fits, best, strict=True)],
        "other people": closer,
        "people as rare": _unusual(fits, best),
        BY_LIKELIHOOD: NearestRows.of(columns, kernels=True).likelier(people, cells),
    }
    if alike and find_spec("sklearn"):
        by_row |= _by_learners(beside, kept, asked, draws)
    by_row |= MovedCodes.scored(columns, kept, asked, draws)
    for name, names in known.items():
        places = [at for at, c in enumerate(columns) if c.name in names]
        if 1 < len(places) < len(columns):
            some = tuple(columns[at] for at in places)
            by_row[f"{BY_KNOWN} {name}"] = _exactly(some, nearest.only(places), kept, asked)
    by_row |= _by_values(_CellsByRarity.of(columns, kept, asked), [c.name for c in columns], draws)
    return asked[ORIGINAL][np.unique(units[ORIGINAL], return_index=True)[1]], {
        name: (_of_persons(units[0], own), _of_persons(units[1], other))
        for name, (own, other) in by_row.items()
    }


def _beyond(fit: Floats, other: Floats) -> Floats:
    """How much better one is than the other, where it is not the same but for rounding."""
    apart = fit - other
    return np.where(np.abs(apart) > _SAME * np.maximum(other, 1), apart, 0.0)


def _unusual(fits: Sequence[Floats], most: Sequence[Floats]) -> list[Floats]:
    """How far the closest row is beyond what is usual for people to whom one is worth as much.

    What is usual is a parabola through both sides, and so is told to neither; in standard errors.
    """
    worth, fit = np.concatenate(most), np.concatenate(fits)
    unit = float(worth.std()) or 1.0
    sides = [(side - worth.mean()) / unit for side in most]
    known = np.vander(np.concatenate(sides), 3)
    usual = np.linalg.lstsq(known, fit, rcond=None)[0]
    apart = np.abs(fit - known @ usual)
    scale = np.linalg.lstsq(known[:, 1:], apart, rcond=None)[0]
    least = 0.1 * float(apart.mean()) or 1.0
    return [
        (side - np.vander(at, 3) @ usual) / np.maximum(np.vander(at, 2) @ scale, least)
        for side, at in zip(fits, sides, strict=True)
    ]


def _by_learners(
    beside: JointCodes, kept: Indices, asked: Sequence[Indices], draws: Draws
) -> dict[str, list[Floats]]:
    """How sure learners are that people are rows of the file, who have seen others (cross-fitting).

    Half of the persons of each side are the reference of trees, and of a network, that are asked of
    the other half, so that persons of both sides whom the file does not know are exchangeable.
    Both sides are worth as much in the reference as the file: so what is peculiar to the original's
    half in it, and therefore to the file, too, is not taken for what is peculiar to the other half.
    """
    columns, sides = beside.columns, (ORIGINAL, CONTROL)
    people = [[c.as_cell[c.value[side]] for c in columns] for side in sides]
    first = [
        (draws.permutation(beside.people(side)) % 2 == 0)[beside.units[side]] for side in sides
    ]
    rows = kept[draws.permutation(len(kept))[:_LEARNT]]
    shown = _features(columns, [column.cell[rows] for column in columns])
    kinds = [c.numbers is None and c.covers.shape[1] <= _TEXTS for c in columns]
    trees, network = ([np.zeros(len(some)) for some in asked] for _ in range(2))
    for half in (False, True):
        seen = [draws.permutation(np.flatnonzero(one == half))[: _LEARNT // 2] for one in first]
        others = [
            _features(columns, [cell[some] for cell in cells])
            for cells, some in zip(people, seen, strict=True)
        ]
        # Several threads on matrices this small cost many times the work beside other work.
        with threadpoolctl.threadpool_limits(1):
            learners = (
                _trees_of(shown, others, kinds, draws),
                _network_of(shown, others, kinds, draws),
            )
            for side in sides:
                new = np.flatnonzero(first[side][asked[side]] != half)
                if not len(new):
                    continue
                asked_of = _features(columns, [cell[asked[side][new]] for cell in people[side]])
                for found, learner in zip((trees, network), learners, strict=True):
                    found[side][new] = learner(asked_of)
    return {"boosted trees": trees, "trees and a network": _added_up(trees, network)}


Learner = Callable[[Floats], Floats]
"""How sure it is that people, shape (p, m), are rows of the file; shape (p,)."""


def _trees_of(
    shown: Floats, others: Sequence[Floats], kinds: Sequence[bool], draws: Draws
) -> Learner:
    trees = ensemble.HistGradientBoostingClassifier(
        max_iter=_ROUNDS,
        categorical_features=kinds,
        early_stopping=False,
        random_state=int(draws.integers(2**31)),
    )
    weights = [len(shown), *(len(shown) / 2 for _ in others)]
    sizes = [len(shown), *map(len, others)]
    share = np.repeat([w / max(n, 1) for w, n in zip(weights, sizes, strict=True)], sizes)
    trees.fit(np.concatenate((shown, *others)), np.repeat([1, 0, 0], sizes), share)
    learner: Learner = trees.decision_function
    return learner


def _network_of(
    shown: Floats, others: Sequence[Floats], kinds: Sequence[bool], draws: Draws
) -> Learner:
    """A network whose inputs are values; people are repeated where they are fewer than rows."""
    equal = [side[np.resize(draws.permutation(len(side)), len(shown) // 2)] for side in others]
    learnt = np.concatenate((shown, *equal))
    edges = [
        None if alike or len(np.unique(column)) <= _BANDS
        else np.unique(np.quantile(column, np.linspace(0, 1, _BANDS + 1)[1:-1]))
        for alike, column in zip(kinds, learnt.T, strict=True)
    ]  # fmt: skip

    def banded(people: Floats) -> Floats:
        bands = [
            column if edge is None else np.searchsorted(edge, column, side="right")
            for edge, column in zip(edges, people.T, strict=True)
        ]
        return np.stack(bands, axis=1).astype(np.float64)

    inputs = preprocessing.OneHotEncoder(handle_unknown="ignore", min_frequency=_OFTEN)
    values = inputs.fit_transform(banded(learnt))
    network = neural_network.MLPClassifier(
        (_NEURONS,),
        alpha=0.01,
        batch_size=min(_AT_ONCE, len(learnt)),
        random_state=int(draws.integers(2**31)),
    )
    is_row = np.arange(len(learnt)) < len(shown)
    for _ in range(_PASSES):
        network.partial_fit(values, is_row, classes=[False, True])

    def learner(people: Floats) -> Floats:
        likely = network.predict_proba(inputs.transform(banded(people)))[:, 1]
        odds: Floats = special.logit(np.clip(likely, _SURE, 1 - _SURE))
        return odds

    return learner


def _added_up(*scores: Sequence[Floats]) -> list[Floats]:
    """By which people have high ranks among both sides: minus the logarithms of ranks, added."""
    ends = len(scores[0][ORIGINAL])
    total = np.zeros(sum(map(len, scores[0])))
    for each in scores:
        lacks = -np.concatenate(each)
        at_least = np.searchsorted(np.sort(lacks), lacks, side="right")
        total = total - np.log(at_least / (len(lacks) + 1))
    return [total[:ends], total[ends:]]


def _features(columns: Sequence[JointColumn], cells: Sequence[Indices]) -> Floats:
    both = zip(columns, cells, strict=True)
    return np.stack([column.as_numbers(cell) for column, cell in both], axis=1)


def _exactly(
    columns: Sequence[JointColumn], nearest: NearestRows, kept: Indices, asked: Sequence[Indices]
) -> list[Floats]:
    """How rare the values are of people who have a row that shows just these; below 0 without.

    Rows that show the same in these columns are looked at once.
    """
    shown = Combinations.of([(column.cell[kept], column.covers.shape[1]) for column in columns])
    cells = [cell.astype(np.int64) for cell in shown.codes]
    found = []
    for side, rows in enumerate(asked):
        values = [column.value[side][rows] for column in columns]
        most = nearest.most(values)
        lacks = nearest.closest(values, cells) - most
        found.append(np.where(lacks > -_SAME * np.maximum(most, 1), most, lacks))
    return found


def _by_values(
    rare: _CellsByRarity, names: Sequence[str], draws: Draws
) -> dict[str, list[NDArray[np.float64]]]:
    """The scores by rows that show values of people as they are; ``names`` as in ``_by_sets``."""
    by_row = {"what agrees": _agreeing_rows(rare)}
    for part in dict.fromkeys((rare, rare.only([not c.is_near for c in rare.columns]))):
        if (agreeing := _whole_rows(part)) is not None:
            by_row[f"{BY_NEARLY_WHOLE} of {len(part.columns)}"] = agreeing
    if (agreeing := _beside_blanks(rare)) is not None:
        by_row[f"{BY_KNOWN} what a row with empty cells shows"] = agreeing
    return by_row | _by_sets(rare, names, draws)


def _whole_rows(rare: _CellsByRarity) -> list[NDArray[np.float64]] | None:
    """How rare is what agrees between people and the best row that has all but two of the columns.

    Of each side, shape (p,); -1 without such a row, and None where columns are too few.  One column
    may be another's of less than six.
    """
    least = max((count for count in _MISFITS if count <= len(rare.columns)), default=None)
    if least is None:
        return None
    return [np.asarray(_best_but(*side, rare.shown, _MISFITS[least])) for side in rare.sides]


def _beside_blanks(rare: _CellsByRarity) -> list[NDArray[np.float64]] | None:
    """How rare is what people share with the best row all of whose cells they fit, blanks apart.

    Of each side, shape (p,); 0 without such a row, and None where no row is blank in part: who
    blanks cells of a copy leaves the others.
    """
    blank = [np.asarray(c.covers.all(axis=0) & (len(c.covers) > 1)) for c in rare.columns]
    empty = _of_each(blank, rare.shown)
    if not (empty.any(axis=1) & ~empty.all(axis=1)).any() or empty.all(axis=0).all():
        return None
    shown = np.where(empty, np.int32(_ANYTHING), rare.shown)
    shown = shown[(~empty).sum(axis=1) >= _FEWEST_SHOWN]
    found = []
    for cells, worth in rare.sides:  # a value that no cell shows but blanks is shown by none
        none = _of_each(blank, np.maximum(cells, 0)) & (cells >= 0)
        own = np.where(none, np.int32(-1), cells)
        found.append(np.asarray(_best_shown(own, np.where(none, 0.0, worth), shown)))
    return found


def _of_each(marks: Sequence[NDArray[np.bool_]], cells: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Shape (n, m): the mark of each cell, by column."""
    return np.stack([some[cell] for some, cell in zip(marks, cells.T, strict=True)], axis=1)


def _agreeing_rows(rare: _CellsByRarity) -> list[NDArray[np.float64]]:
    """How rare is what agrees between people and the best row, times the share that agrees.

    Of each side, shape (p,).  A row that was copied agrees in all columns, also where none of its
    values is rare; coincidences of rare values agree in few.
    """
    return [np.asarray(_best_by_share(*side, rare.shown)) for side in rare.sides]


def _by_sets(
    rare: _CellsByRarity, names: Sequence[str], draws: Draws
) -> dict[str, list[NDArray[np.float64]]]:
    """How surely a row is a person's that shows all values in a set of columns, by each set.

    Of each side, shape (p,): 1 / (k + w N s), where k of N people of both sides have the same
    values, and s is the product of the shares of rows that show each; 0 without such a row.  So
    those stand together whose copies show another's values in the same columns.  The highest of all
    sets is one score more, by which copies are told that show them in columns of their own.  Rows
    are found by sums of random numbers; a person without a value in a set has no row there.
    ``names``: those of all columns in their order.
    """
    count, sizes = len(rare.shown), [len(cells) for cells, _ in rare.sides]
    cells = np.concatenate((rare.shown, *(cells for cells, _ in rare.sides)))
    worth = np.concatenate([worth for _, worth in rare.sides])
    without = cells[count:] < 0
    numbers = [
        draws.integers(0, 2**63, int(cell.max(initial=0)) + 1 - _ANYTHING, dtype=np.uint64)
        for cell in cells.T
    ]

    def keys(places: Iterable[int]) -> NDArray[np.uint64]:
        found = np.zeros(len(cells), dtype=np.uint64)
        for at in places:
            found += numbers[at][cells[:, at] - _ANYTHING]
        return found

    every = keys(range(len(names)))
    surest, scores = np.zeros(len(worth)), {}
    for some in nearly_all([column.is_near for column in rare.columns], len(cells)):
        gone = [at for at in range(len(names)) if at not in some]
        if not gone:
            continue
        key = every - keys(gone)
        distinct, place, alike = np.unique(key[count:], return_inverse=True, return_counts=True)
        there = stand_in(distinct, np.sort(key[:count]))[place]
        there &= ~without[:, some].any(axis=1)
        chance = _CHANCE * len(worth) * np.exp(-worth[:, some].sum(axis=1))
        sure = np.where(there, 1 / (alike[place] + chance), 0.0)
        surest = np.maximum(surest, sure)
        left_out = sorted((rare.columns[at].name for at in gone), key=names.index)
        scores[BY_SET + " and ".join(map(repr, left_out))] = np.split(sure, [sizes[ORIGINAL]])
    return scores and {**scores, BY_SUREST: np.split(surest, [sizes[ORIGINAL]])}


@dataclass(frozen=True, eq=False)
class _CellsByRarity:
    """Cells of rows and of people, and how rare they are; columns that rule out most rows first."""

    columns: tuple[JointColumn, ...]
    shown: NDArray[np.int32]
    """Shape (n, m), of published rows."""
    sides: tuple[tuple[NDArray[np.int32], NDArray[np.float64]], ...]
    """Of each side cells and rarities of people, shape (p, m).  A cell is -1 where none shows a
    person's value, and ``_ANYTHING`` where all do."""

    @classmethod
    def of(
        cls, columns: Sequence[JointColumn], kept: Indices, asked: Sequence[Indices]
    ) -> _CellsByRarity:
        """Of published rows ``kept``, and of rows of each side that are ``asked``."""
        rarity = []
        for column in columns:
            rows = np.bincount(column.cell[kept], minlength=column.covers.shape[1])
            rarity.append(-np.log(np.maximum(rows, 1) / max(len(kept), 1)))
        often = [float(rare[c.cell[kept]].mean()) for c, rare in zip(columns, rarity, strict=True)]
        order = np.argsort(often)[::-1]
        shown = np.stack([columns[at].cell[kept] for at in order], axis=1).astype(np.int32)
        sides = []
        for side, people in enumerate(asked):
            cells, worth = [], []
            for at in order:
                column = columns[at]
                cell = np.where(column.covers.all(axis=1), _ANYTHING, column.narrow_cell)
                own = cell[column.value[side][people]]
                cells.append(own.astype(np.int32))
                worth.append(np.where(own >= 0, rarity[at][np.maximum(own, 0)], 0.0))
            sides.append((np.stack(cells, axis=1), np.stack(worth, axis=1)))
        return cls(tuple(columns[at] for at in order), shown, tuple(sides))

    def only(self, chosen: Sequence[bool]) -> _CellsByRarity:
        """Of some of the columns."""
        if all(chosen):
            return self
        places = np.flatnonzero(chosen)
        columns = tuple(self.columns[at] for at in places)
        sides = tuple((c.take(places, axis=1), w.take(places, axis=1)) for c, w in self.sides)
        return _CellsByRarity(columns, self.shown.take(places, axis=1), sides)


@njit(nogil=True)
def _best_but(cells, worth, shown, tolerated):  # type: ignore[no-untyped-def]
    found = np.full(len(cells), -1.0)
    count, width = shown.shape
    for person in range(len(cells)):
        total = worth[person].sum()
        for row in range(count):
            misfits, left = 0, total
            for at in range(width):
                own = cells[person, at]
                if own != shown[row, at] and own != _ANYTHING:
                    misfits += 1
                    left -= worth[person, at]
                    if misfits > tolerated:
                        break
            if misfits <= tolerated and left > found[person]:
                found[person] = left
    return found


@njit(nogil=True)
def _best_shown(cells, worth, shown):  # type: ignore[no-untyped-def]
    found = np.zeros(len(cells))
    count, width = shown.shape
    for person in range(len(cells)):
        for row in range(count):
            agrees, total = True, 0.0
            for at in range(width):
                cell, own = shown[row, at], cells[person, at]
                if min(cell, own) == _ANYTHING:
                    continue
                agrees = cell == own
                if not agrees:
                    break
                total += worth[person, at]
            if agrees and total > found[person]:
                found[person] = total
    return found


@njit(nogil=True)
def _best_by_share(cells, worth, shown):  # type: ignore[no-untyped-def]
    found = np.zeros(len(cells))
    count, width = shown.shape
    for person in range(len(cells)):
        total, best = worth[person].sum(), 0.0
        for row in range(count):
            agree, left = width, total
            for at in range(width):
                own = cells[person, at]
                if own != shown[row, at] and own != _ANYTHING:
                    agree -= 1
                    left -= worth[person, at]
                    if left * agree <= best:
                        break
            best = max(best, left * agree)
        found[person] = best / width
    return found


def _asked_rows(
    beside: JointCodes,
    out: Sequence[NDArray[np.bool_]],
    most: Sequence[Floats],
    rows: int,
    draws: Draws,
) -> list[Indices]:
    """Rows of people of both sides that are looked at: all, or half the rarest and half others.

    Without those of whom the control tells nothing.
    """
    count = max(_FEWEST, _PAIRS // max(rows, 1))
    # The rarest by what a row is worth to them at most, from the same limit on for both sides.
    sides = zip(most, beside.units, strict=True)
    best = [_of_persons(unit, score) for score, unit in sides]
    size = max(map(len, best))
    if size <= count:
        return [np.flatnonzero(~some) for some in out]
    limit = np.quantile(np.concatenate(best), 1 - count / 2 / size)
    chosen = []
    for unit, score, some in zip(beside.units, best, out, strict=True):
        drawn = draws.uniform(size=len(score)) < count / 2 / size
        chosen.append(np.flatnonzero(((score > limit) | drawn)[unit] & ~some))
    return chosen


def _of_persons(unit: Indices, score: Floats) -> Floats:
    """The best score of the rows of each person, in the order of their numbers."""
    persons, place = np.unique(unit, return_inverse=True)
    found = np.full(len(persons), -np.inf)
    np.maximum.at(found, place, score)
    return found
