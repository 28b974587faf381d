"""Applying a treatment: what becomes of rows, whoever decided it and wherever they are.

1. Rows get the number of their group, and those without one are left out.  Groups that show the
   same become one, and groups are numbered by what they show, so that neither their numbers nor
   their order tell how a method came to them.
2. Perturbed columns get their noise (``noising``), and columns that rows change show it.
3. Permuted columns are permuted within groups, and rows stand by group and then by all that is not
   permuted: an order that is a function of what they show and tells nothing else.
4. What groups show, and the intervals of perturbed columns, take their place in the ordered rows.

Columns that are drawn row by row (``Drawn``) are drawn before rows are ordered.

Cost for n rows, p groups and m published columns: a count of p tuples, one sort of n rows, and what
engines take for a look-up a row and column.

Noise in the values of numeric columns, row by row, on a grid.

A value is moved to a point of the grid and gets a whole number of grid steps as noise; both are
drawn for the row's identity, so a row that is drawn again, elsewhere or in another order, shows
the same.  What follows is arithmetic on whole numbers that cannot overflow: noise beyond 2**62
steps counts as 2**62, and a published value lies within the clamp and within what its type holds
exactly.  That is post-processing: it depends on nothing but what the draws showed.

The grid is of multiples of 2**exponent.  Where the exponent is at least 0 values are published as
64-bit integers, up to 2**61; else as floats, each of which is exactly a number of steps below
2**53.

Rows stand in the order of what they show.  Clamped intervals of two clusters may look the same
while their half-widths differ, so rows are ordered by the least half-width that shows the same.

Cost in n rows: the identities, the draws, and some 10 ns a value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from voile.table.arrays import array_of, numbers_of, series_of
from voile.table.binding import require_finite_numbers
from voile.table.codes import Codes, Combinations, DictionaryColumn, encode, look_up
from voile.table.decisions import (
    TREATMENTS,
    Drawn,
    ExchangedColumns,
    GroupColumn,
    Grouping,
    NoisyColumns,
    PermutedColumn,
    Perturbation,
    RankedColumns,
    RedrawnColumn,
    RowColumn,
    Treated,
    Treatment,
)
from voile.table.keeping import WORDS, Words, with_row_words, words_of
from voile.table.protocol import Rows
from voile.table.published import GROUP
from voile_base.compiled import njit, pays, uncompiled
from voile_base.errors import InputError, TableError
from voile_base.ondemand import dataclass, on_demand
from voile_base.randomness import Key, Randomness
from voile_base.values.expressions import Call, Column, Literal

pyarrow_compute = on_demand("pyarrow.compute")

__all__ = ["applied", "require_free_names"]


_LARGEST_INTEGER = 2**61
_LARGEST_NOISE = 2**62
_LARGEST_FLOAT = 2**53
_LOWEST_EXPONENT = -1022
_PLACE, _STRATUM, _RANK, _AGREEING = "\1combination", "\1stratum", "\1rank", "\1agreeing"
"""No file has columns whose names begin so."""
_WORTH_LOADING = 10_000
"""Rows from which loading compiled code takes less time than doing without it."""


@dataclass(frozen=True, eq=False)
class _PerturbedSteps:
    """A perturbed column: the steps of the grid that it may show, and how they are drawn."""

    decision: Perturbation
    low: int
    high: int
    widths: NDArray[np.int64]
    """The different half-widths of its intervals, ascending."""

    @classmethod
    def of(cls, decision: Perturbation) -> _PerturbedSteps:
        """The grid of a decision; raises ``ValueError`` where its values do not fit."""
        exponent, start = decision.exponent, decision.start
        limit = _LARGEST_FLOAT if exponent < 0 else _LARGEST_INTEGER >> exponent
        if exponent < _LOWEST_EXPONENT or not -limit <= start.min() <= start.max() <= limit:
            msg = f"column {decision.column!r}: its values do not fit on the grid"
            raise ValueError(msg)
        low, high = decision.clamp or (-limit, limit)
        if not -limit <= low <= high <= limit or decision.half_width.min() < 0:
            msg = f"column {decision.column!r}: the clamp or an interval does not fit the grid"
            raise ValueError(msg)
        return cls(decision, low, high, np.unique(np.minimum(decision.half_width, _LARGEST_NOISE)))

    @property
    def column(self) -> str:
        """The column that gets noise."""
        return self.decision.column

    @property
    def names(self) -> list[str]:
        """The published columns: a value, and both ends of the interval around it."""
        return [self.column, f"{self.column}.low", f"{self.column}.high"]

    @property
    def made_names(self) -> Mapping[str, str]:
        """The names that are made, and what each is for."""
        return dict.fromkeys(self.names[1:], f"the intervals of column {self.column!r}")

    @property
    def steps(self) -> str:
        """The column with the published values, in steps of the grid."""
        return f"\1steps of {self.column}"

    @property
    def width(self) -> str:
        """The column with the indices of the half-widths."""
        return f"\1width of {self.column}"

    @property
    def _place(self) -> str:
        """The column with the indices of the private values among the distinct ones."""
        return f"\1place of {self.column}"

    @staticmethod
    def drawn(
        rows: Rows,
        noise: Sequence[_PerturbedSteps],
        published: Sequence[str],
        randomness: Randomness,
    ) -> Rows:
        """Rows with steps and widths of all columns that get noise.

        Raises ``TableError`` where one is not of finite numbers without gaps.
        """
        if not noise:
            return rows
        for each in noise:
            require_finite_numbers(rows, each.column)
            counted = rows.count([each.column], keep=True)
            rows = rows.join(counted, {each._place: array_of(np.arange(len(counted.rows)))})
        identity = randomness.key("identity")
        rows = with_row_words(rows, sorted(published), identity)
        keys = [
            (randomness.key("membership", each.column), randomness.key("noise", each.column))
            for each in noise
        ]

        def draw(batch: pa.RecordBatch) -> list[pa.Array]:
            words = words_of(batch, identity)
            made: list[pa.Array] = []
            for each, key in zip(noise, keys, strict=True):
                indices = numbers_of(batch[each._place])
                made += [array_of(array) for array in each._draw(indices, words, *key)]
            return made

        types = (pa.int64(), pa.int16())
        fields = [
            pa.field(name, dtype)
            for each in noise
            for name, dtype in zip((each.steps, each.width), types, strict=True)
        ]
        return rows.map(draw, [*WORDS, *(each._place for each in noise)], pa.schema(fields))

    def _draw(
        self, indices: NDArray[Any], words: Words, membership: Key, noise: Key
    ) -> tuple[NDArray[np.int64], NDArray[np.int16]]:
        """Steps and indices of half-widths for rows with these private values."""
        decision = self.decision
        narrow = np.minimum(decision.half_width, _LARGEST_NOISE)
        width_of = np.searchsorted(self.widths, narrow).astype(np.int16)
        cluster = decision.membership.draw(indices, words, key=membership)
        steps = decision.start[indices, cluster]
        width = width_of[cluster]
        added = decision.noise.draw(cluster, words, key=noise)
        add = _add if pays(len(steps), _WORTH_LOADING) else uncompiled(_add)
        add(steps, added, width, self.widths, (self.low, self.high))
        return steps, width

    def with_intervals(self, rows: Rows) -> Rows:
        """Rows with the values that steps stand for, and the intervals around them."""
        exponent = self.decision.exponent

        def shown(steps: NDArray[np.int64]) -> pa.Array:
            return array_of(steps * 2.0**exponent if exponent < 0 else steps << exponent)

        def intervals(batch: pa.RecordBatch) -> list[pa.Array]:
            steps = numbers_of(batch[self.steps])
            half = self.widths[numbers_of(batch[self.width])]
            return [
                shown(steps),
                shown(np.maximum(steps - half, self.low)),
                shown(np.minimum(steps + half, self.high)),
            ]

        dtype = pa.float64() if exponent < 0 else pa.int64()
        gives = pa.schema([pa.field(name, dtype) for name in self.names])
        return rows.map(intervals, [self.steps, self.width], gives)


@njit(cache=True, nogil=True)
def _add(
    steps: NDArray[np.int64],
    noise: NDArray[np.int64],
    width: NDArray[np.int16],
    widths: NDArray[np.int64],
    ends: tuple[int, int],
) -> None:
    """Add noise to steps in place, and find the least half-width that shows the same interval."""
    low, high = ends
    for row in range(len(steps)):
        added = min(max(noise[row], -_LARGEST_NOISE), _LARGEST_NOISE)
        step = min(max(steps[row] + added, low), high)
        reach = max(step - low, high - step)  # an interval that goes further shows no more
        while width[row] > 0 and widths[width[row] - 1] >= reach:
            width[row] -= 1
        steps[row] = step


def applied(
    rows: Rows,
    published: Sequence[str],
    treatment: Treatment,
    randomness: Randomness,
    beside: Sequence[str] = (),
) -> Rows:
    """The published rows: the number of the group, if there is one, then the published columns.

    ``beside`` names private columns that stay at the end of each row, for whoever checks the rows
    before they are published; what is published of them, and in which order, is the same without.

    A column that becomes intervals is published as ``NAME.low`` and ``NAME.high``, a perturbed one
    as ``NAME`` and these two, in its own place.  Each permutation is uniform and independent of all
    others; the draws of a row are a function of the key and of the row's identity.

    Raises ``TableError`` where a column stands in the way of a name that the release makes, or
    cannot be perturbed; ``InputError`` for a treatment that no package announces; ``ValueError``
    where columns and decisions do not go together.
    """
    _require_fitting(published, treatment)
    recoded = [it for it in treatment.columns if isinstance(it, GroupColumn)]
    permuted = [it.column for it in treatment.columns if isinstance(it, PermutedColumn)]
    noise = [_PerturbedSteps.of(it) for it in treatment.columns if isinstance(it, Perturbation)]
    shown = _GroupLabels.of(rows, treatment.groups, recoded) if treatment.groups else None
    made = shown.names if shown else {}
    for each in noise:
        made |= each.made_names
    require_free_names(published, made)

    if treatment.groups and shown:
        rows = shown.grouped(treatment.groups)
    rows = _PerturbedSteps.drawn(rows, noise, published, randomness)
    for changed in (it for it in treatment.columns if isinstance(it, RowColumn)):
        rows = _changed(rows, changed)
    rows = _redrawn(rows, treatment.drawn, published, beside, randomness)
    by_name = {each.column: each for each in noise}
    gone = [it.column for it in recoded]
    order = [GROUP] if shown else []
    order += [
        by_name[name].steps if name in by_name else name for name in published if name not in gone
    ]
    order += [each.width for each in noise]
    order += beside
    rows = rows.select(order)
    if permuted:
        keys = {name: randomness.key("permute", name) for name in permuted}
        rows = rows.permuted(GROUP, keys)
    else:
        rows = rows.ordered(order)
    if shown:
        rows = shown.replaced(rows)
    for each in noise:
        rows = each.with_intervals(rows)
    names = {name: each.names for name, each in by_name.items()}
    if shown:
        names |= {name: [one.name for one in made] for name, made in shown.columns.items()}
    columns = [made for name in published for made in names.get(name, [name])]
    return rows.select([*([GROUP] if shown else []), *columns, *beside])


def _redrawn(
    rows: Rows,
    drawn: Sequence[Drawn],
    published: Sequence[str],
    units: Sequence[str],
    randomness: Randomness,
) -> Rows:
    """Rows that show what is drawn for them in the place of their own.

    Of persons or households, whose column ``units`` names, each is drawn for once for all of its
    rows that agree in what is read.
    """
    if not drawn:
        return rows
    identity = randomness.key("identity")
    if not units:
        rows = with_row_words(rows, sorted(published), identity)
    names = [name for each in drawn for name in each.columns]
    for each in drawn:
        own = randomness.within("drawn", *each.columns)
        if units:
            on = list(dict.fromkeys([*units, *each.reads]))
            once = with_row_words(rows.distinct(on, _AGREEING), on, identity)
            made = _DRAWS[type(each)](once, each, own)
            rows = rows.join_rows(made.select([*on, *map(_shown, each.columns)]), on, "left")
        else:
            rows = _DRAWS[type(each)](rows, each, own)
    fields = [pa.field(name, rows.schema.field(_shown(name)).type) for name in names]
    shown = [_shown(name) for name in names]
    return rows.map(lambda batch: [batch[name] for name in shown], shown, pa.schema(fields))


def _shown(name: str) -> str:
    """The column with what is drawn in the place of another."""
    return f"\1drawn of {name}"


def _redraw(rows: Rows, of: RedrawnColumn, randomness: Randomness) -> Rows:
    """Each row's value, by the distribution of its combination."""
    counted = rows.count(of.reads, keep=True)
    rows = rows.join(counted, {_PLACE: array_of(of.distribution)})
    values, (identity, key) = counted.values[0], map(randomness.key, ("words", "values"))

    def draw(batch: pa.RecordBatch) -> list[pa.Array]:
        words = words_of(batch, identity)
        codes = of.outcomes.draw(numbers_of(batch[_PLACE]), words, key)
        return [pa.DictionaryArray.from_arrays(array_of(codes), values, safe=False)]

    gives = pa.schema([pa.field(_shown(of.column), values.type)])
    return rows.map(draw, [*WORDS, _PLACE], gives)


def _with_noise(rows: Rows, of: NoisyColumns, randomness: Randomness) -> Rows:
    """The numbers of each row with noise."""
    places = [f"{_PLACE} {column}" for column in of.columns]
    for name, place in zip(of.columns, places, strict=True):
        counted = rows.count([name], keep=True)
        numbers = series_of(counted.values[0]).cast(float).fill_null(np.nan).to_numpy()
        rows = rows.join(counted, {place: array_of(numbers[counted.codes[:, 0]])})
    identity, draws = randomness.key("words"), randomness.within("noise")
    types = [pa.float64() if digits else pa.int64() for digits in of.decimals]

    def draw(batch: pa.RecordBatch) -> list[pa.Array]:
        own = np.column_stack([numbers_of(batch[place]) for place in places])
        shown = of.noisy(own, words_of(batch, identity), draws)
        return [
            _numbers(np.round(column, digits), dtype)
            for column, digits, dtype in zip(shown.T, of.decimals, types, strict=True)
        ]

    fields = [pa.field(_shown(n), dtype) for n, dtype in zip(of.columns, types, strict=True)]
    return rows.map(draw, [*WORDS, *places], pa.schema(fields))


def _numbers(numbers: NDArray[np.float64], dtype: pa.DataType) -> pa.Array:
    """Numbers of a type; NaN is a missing one."""
    missing = np.isnan(numbers)
    if dtype == pa.int64():
        numbers = np.clip(np.nan_to_num(numbers), -_LARGEST_FLOAT, _LARGEST_FLOAT)
        array = array_of(numbers.astype(np.int64))
    else:
        array = array_of(numbers)
    return pyarrow_compute.if_else(array_of(~missing), array, None) if missing.any() else array


def _deal(rows: Rows, of: RankedColumns, randomness: Randomness) -> Rows:
    """The values of each column, dealt out by rank."""
    counted = rows.count(of.reads, keep=True)
    strata = int(of.stratum.max(initial=-1)) + 1
    apart = np.where(of.place < 0, of.stratum[:, np.newaxis] + strata, of.stratum[:, np.newaxis])
    each = range(len(of.columns))
    joined = {_PLACE: array_of(np.arange(len(of.stratum), dtype=np.int64))}
    joined |= {f"{_STRATUM} {number}": array_of(apart[:, number]) for number in each}
    if of.scores is None:
        joined |= {_score(number): array_of(of.place[:, number]) for number in each}
    rows = rows.join(counted, joined)
    if of.scores is not None:
        rows = _scored(rows, of, randomness)
    for number, name in enumerate(of.columns):
        stratum = apart[:, number]
        sizes = np.bincount(stratum, counted.rows, 2 * strata).astype(np.int64)
        order = np.lexsort((of.place[:, number], stratum))
        held = np.repeat(counted.codes[order, number], counted.rows[order])
        if of.partners is not None:
            partner = of.partners(sizes[:strata], randomness.within("partners", name))
            held[: len(partner)] = held[partner]
        within = f"{_STRATUM} {number}"
        rows = rows.rank(_RANK, [within], [_score(number), *WORDS])
        first = np.cumsum(sizes) - sizes
        rows = _by_rank(rows, (name, within), (held, first), counted.values[number])
    return rows


def _by_rank(
    rows: Rows,
    column: tuple[str, str],
    dealt: tuple[NDArray[np.int32], NDArray[np.int64]],
    values: pa.Array,
) -> Rows:
    """The value that is dealt to each row's place, counted from the first of its stratum."""
    (name, within), (held, first) = column, dealt

    def shown(batch: pa.RecordBatch) -> list[pa.Array]:
        place = first[numbers_of(batch[within])] + numbers_of(batch[_RANK]).astype(np.int64)
        return [pa.DictionaryArray.from_arrays(array_of(held[place]), values, safe=False)]

    return rows.map(shown, [within, _RANK], pa.schema([pa.field(_shown(name), values.type)]))


def _scored(rows: Rows, of: RankedColumns, randomness: Randomness) -> Rows:
    """Rows with what orders them, by column."""
    identity, draws, scores = randomness.key("words"), randomness.within("scores"), of.scores
    assert scores is not None

    def score(batch: pa.RecordBatch) -> list[pa.Array]:
        found = scores(numbers_of(batch[_PLACE]), words_of(batch, identity), draws)
        return [array_of(column) for column in found.T]

    fields = [pa.field(_score(number), pa.float64()) for number in range(len(of.columns))]
    return rows.map(score, [*WORDS, _PLACE], pa.schema(fields))


def _score(number: int) -> str:
    return f"\1score {number}"


def _exchange(rows: Rows, of: ExchangedColumns, randomness: Randomness) -> Rows:
    """The tuples of others, for the first of each combination in a random order."""
    counted = rows.count(of.reads, keep=True)
    key = randomness.key("words")
    rows = rows.join(counted, {_PLACE: array_of(np.arange(len(counted.rows), dtype=np.int64))})
    gives = pa.schema([pa.field(_RANK, pa.uint64())])
    rows = rows.map(lambda batch: [array_of(words_of(batch, key))], WORDS, gives)
    rows = rows.rank(_STRATUM, [_PLACE], [_RANK])
    many = np.diff(of.first)

    def shown(batch: pa.RecordBatch) -> list[pa.Array]:
        own, rank = (numbers_of(batch[name]).astype(np.int64) for name in (_PLACE, _STRATUM))
        moves = rank < many[own]
        whose = own.copy()
        whose[moves] = of.giver[of.first[own[moves]] + rank[moves]]
        return [
            pa.DictionaryArray.from_arrays(
                array_of(counted.codes[whose, number]), counted.values[number], safe=False
            )
            for number in range(len(of.columns))
        ]

    fields = [
        pa.field(_shown(name), counted.values[number].type)
        for number, name in enumerate(of.columns)
    ]
    return rows.map(shown, [_PLACE, _STRATUM], pa.schema(fields))


_DRAWS: Mapping[type, Callable[[Rows, Any, Randomness], Rows]] = {
    RedrawnColumn: _redraw,
    NoisyColumns: _with_noise,
    RankedColumns: _deal,
    ExchangedColumns: _exchange,
}
"""How each kind of draw is applied."""


def require_free_names(published: Sequence[str], made: Mapping[str, str]) -> None:
    """Raise ``TableError`` where a name that a release makes is that of a published column.

    ``made`` says for each name what it is needed for.
    """
    for name, purpose in made.items():
        if name in published:
            msg = f"column {name!r}: the release needs this name for {purpose}; rename the column"
            raise TableError(msg)


def _require_fitting(published: Sequence[str], treatment: Treatment) -> None:
    """Raise ``ValueError`` where a treatment asks for what a release cannot show."""
    drawn = [name for each in treatment.drawn for name in each.columns]
    names = [*drawn, *(treated.column for treated in treatment.columns)]
    if not set(drawn) <= set(published) or len(set(drawn)) < len(drawn):
        msg = "columns are drawn that are not published, or one is drawn twice"
        raise ValueError(msg)
    for index, treated in enumerate(treatment.columns, start=len(drawn)):
        _require_announced(treated)
        name, what = treated.column, treated.what
        if name not in published:  # its values would show in the numbers of the groups
            msg = f"column {name!r} is {what} and not published"
        elif name in names[:index]:
            msg = f"column {name!r} is {what} twice, or treated in two ways"
        elif treatment.groups is None and not isinstance(treated, Perturbation | RowColumn):
            msg = f"column {name!r} is {what}, and there are no groups"
        else:
            continue
        raise ValueError(msg)


def _require_announced(treated: Treated) -> None:
    """Raise ``InputError`` for a treatment that is neither Voile's nor announced by a package."""
    kind = type(treated)
    place = f"{kind.__module__}:{kind.__qualname__}"
    if place in TREATMENTS.own.values():
        return
    names = [name for name, point in TREATMENTS.installed.items() if point.value == place]
    if not names:
        msg = (
            f"column {treated.column!r}: no installed package announces its treatment {place}; the "
            f"package of the method must name it among the entry points {TREATMENTS.group}"
        )
        raise InputError(msg)
    TREATMENTS.class_of(names[0])


def _changed(rows: Rows, treated: RowColumn) -> Rows:
    """Rows that show what becomes of a column, in its place."""
    name = treated.column
    given = treated.type_of(rows.schema.field(name).type)

    def change(batch: pa.RecordBatch) -> list[pa.Array]:
        shown = treated.cells(batch[name])
        if len(shown) != len(batch) or shown.type != given:
            msg = f"column {name!r}: its treatment shows other cells than it says"
            raise ValueError(msg)
        return [shown]

    return rows.map(change, [name], pa.schema([pa.field(name, given)]))


@dataclass(frozen=True, eq=False)
class _GroupLabels:
    """What groups show in place of the columns that are recoded."""

    number: NDArray[np.int32]
    """Shape (g,): the number of the group of each combination, from 1; 0 leaves its rows out."""
    columns: Mapping[str, Sequence[DictionaryColumn]]
    """By recoded column, the columns that take its place: of each numbered group."""

    @classmethod
    def of(cls, rows: Rows, groups: Grouping, recoded: Sequence[GroupColumn]) -> _GroupLabels:
        """What groups of a table's rows show; those that show the same are one."""
        found, index = np.unique(groups.group, return_inverse=True)
        there = found >= 0
        if not recoded:
            number = np.where(there, found + 1, 0).astype(np.int32)
            return cls(number[index], {})
        columns = {it.column: _columns(rows, it, found[there]) for it in recoded}
        every = [column for made in columns.values() for column in made]
        distinct = Combinations.of([(column.codes, len(column.values)) for column in every])
        codes = dict(zip((column.name for column in every), distinct.codes, strict=True))
        number = np.zeros(len(found), dtype=np.int32)
        number[there] = distinct.index.astype(np.int32) + 1
        numbered = {
            name: [DictionaryColumn(column.values, codes[column.name]) for column in made]
            for name, made in columns.items()
        }
        return cls(number[index], numbered)

    @property
    def names(self) -> dict[str, str]:
        """The names that are made, and what each is for."""
        ends = {
            column.name: f"the intervals of column {name!r}"
            for name, columns in self.columns.items()
            for column in columns
            if column.name != name
        }
        return {GROUP: "the numbers of its groups", **ends}

    def grouped(self, groups: Grouping) -> Rows:
        """The rows that have a group, with its number."""
        rows = groups.of.rows.join(groups.of.counted, {GROUP: array_of(self.number)})
        if self.number.all():
            return rows
        return rows.filter(Call(">", (Column(GROUP), Literal(0))))

    def replaced(self, rows: Rows) -> Rows:
        """Rows with what their groups show."""
        columns = [column for made in self.columns.values() for column in made]
        if not columns:
            return rows
        values = [column.values.to_arrow() for column in columns]

        def of_group(batch: pa.RecordBatch) -> list[object]:
            group = numbers_of(batch[GROUP]) - 1
            indices = [array_of(look_up(column.codes, group)) for column in columns]
            pairs = zip(indices, values, strict=True)
            return [pa.DictionaryArray.from_arrays(*pair, safe=False) for pair in pairs]

        fields = [pa.field(c.name, v.type) for c, v in zip(columns, values, strict=True)]
        return rows.map(of_group, [GROUP], pa.schema(fields))


def _columns(
    rows: Rows, recoded: GroupColumn, numbers: NDArray[np.int64]
) -> list[DictionaryColumn]:
    """The columns that stand in the place of one, with one row for each of these groups."""
    codes: Codes = recoded.codes[numbers]
    cells = recoded.cells(lambda: rows.count([recoded.column]).values[0])
    encoded = [encode(series_of(array, name)) for name, array in cells.items()]
    return [DictionaryColumn(column.values, look_up(column.codes, codes)) for column in encoded]
