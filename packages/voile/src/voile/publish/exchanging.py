"""Values that stand in other rows: rank swapping, record swapping and shuffling.

Rank swapping: each value is exchanged for one whose rank is near
-----------------------------------------------------------------
Publishes: in some columns of numbers, dates or ordered texts values of other rows, at most a stated
share of all ranks away; other columns as they are, all rows, in an order that tells nothing.

Source: Moore, "Controlled data-swapping techniques for masking public use microdata sets" (US
Bureau of the Census, 1996).  There one row after another is exchanged with a random one ahead; here
ranks are cut into windows of random sizes, between half of the distance and the whole of it, and
rows of a window are paired at random, all pairings being equally likely.

Guarantee: where each row is another person, every value stands as often as before, in each stratum;
no value moves farther than the distance, p times the rows of its stratum, and at least a rank; each
row has a partner, and three have each other's where a window is odd.  Equal values are ranked at
random.  Of persons with several rows each value counts once in a stratum, and rows that agree show
the same.  That is NO anonymity: a value stays near its own, the least and the largest above all.

Algorithm: the engine counts the values of each column; ``swapped_places`` pairs ranks, whose
number is all it knows; the engine ranks the rows and deals the values out.

Cost: for n rows a sort and a look-up a column.

Record swapping: some rows exchange their places, those first who stand out where they are
-----------------------------------------------------------------------------------------
Publishes: all rows; in the columns that are carried, such as region and municipality, some show
what others had who agree in the columns to match.  Other columns stay as they are.

Source: Dalenius and Reiss, "Data-swapping" (Journal of Statistical Planning and Inference 6, 1982);
targeted, matched and over geography as in the British census: Shlomo, Tudor and Groom, "Data
swapping for protecting census tables" (Privacy in Statistical Databases, 2010).

Guarantee: who shares the values of ``keys`` with fewer than k in one place is exchanged, if anybody
of another place agrees in ``match``; others are, at random, until a share ``rate`` of all is.
Counts of all that is matched stay in every place, and every combination of carried values stands as
often as before.  How many and which were exchanged is not published.  That is NO anonymity: most
rows are true, and an intruder who supposes so is mostly right.  Persons or households move with all
their rows, which must agree in all columns that the method names.

Algorithm: the engine counts combinations of what is carried, matched and compared; ``exchanges``
chooses whom and pairs them within those who match, by shifting a list that is ordered by place by
half of its length; the engine gives the rows of a combination, in a random order, their new places.

Cost: one count; a sort of those who are exchanged; a sort of the rows by combination.

Shuffling: all values dealt out anew, in the order that a regression tells
--------------------------------------------------------------------------
Publishes: in some columns the values of the table, in other rows; each is expected to go with the
columns that explain it as it did, and nothing else ties it to its row.  Other columns stay as they
are, all rows, in an order that tells nothing.

Source: Muralidhar and Sarathy, "Data shuffling: a new masking approach for numerical data"
(Management Science 52, 2006): values are drawn from the normal copula of the columns X to shuffle,
given the others S, and replaced by the values of X of the same ranks.

Guarantee: where each row is another person, every value of a column stands as often as before.  Of
the own values of a row, what is drawn depends on S alone; ranks of drawn values are then filled
with the values of all rows.  Rank correlations of X with S and among X are expected to stay, as far
as the copula is normal.  That is NO anonymity: S is shown as it is, and what it explains of X
shows.  Of persons with several rows those that agree show the same, and values count by persons.

Algorithm: with z the normal scores of mid-ranks, and of categories an indicator for each value but
the most frequent one, the engine counts combinations; B = S_zx S_zz^-1 and the covariance of the
residual follow; for each row B z_S + L e orders the values, e standard normal.

Cost: one count of combinations of all columns; for n rows and m columns to shuffle m draws and m
sorts.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from voile.disclosure.masked import RankSwapped, Shuffled, Swapped
from voile.publish.assembled import (
    MicrodataOutcome,
    assembled,
    assumed_of_draws,
    columns_asked,
    named,
    places_in_order,
    ranked_columns,
    require_strata_of,
    require_treated,
    require_values,
)
from voile.publish.publisher import Capabilities, MethodCard, Parameter, SingleRelease
from voile.release.history import History
from voile.release.method_claims import ShuffledValues, SwappedRanks, SwappedRecords
from voile.release.release import Guarantee, Pay, Publication, unaccounted
from voile.schema.names import UNORDERED
from voile.schema.roles import ColumnName, Roles
from voile.table.decisions import ExchangedColumns, RankedColumns, Treatment
from voile.table.private import PrivateTable
from voile.table.summaries import CombinationCounts
from voile_base.errors import InfeasibleError, PlanError
from voile_base.ondemand import dataclass, on_demand
from voile_base.randomness import Randomness
from voile_base.values.value import Several, checked

__all__ = ["RankSwapping", "RecordSwapping", "Shuffling", "exchanges", "swapped_places"]

_RANK_SWAPPING = "rank-swapping"

Places = NDArray[np.int64]


@checked(PlanError)
@dataclass(frozen=True)
class RankSwapping(SingleRelease):
    """Exchange values for such of near ranks; raises ``PlanError``."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        persons=True,
        followed=True,
        exact_quasi_identifiers=True,
        exact_kept=True,
        no_series="each release exchanges anew, and the average of several tells the values",
        card=MethodCard(
            _RANK_SWAPPING,
            "Swap near values",
            "Each value is that of another row of near rank; all values stay. It is no anonymity.",
            "What columns have to do with each other, more with a larger distance.",
            "a value far from all others tells whose a row is.",
            (
                Parameter(
                    "distance",
                    "distance",
                    ("0.02", "0.05", "0.1", "0.2"),
                    ("0.05", "0.1"),
                    "share of the ranks that a value moves at most",
                ),
            ),
        ),
    )

    distance: Annotated[float, Field(gt=0, le=1)]
    """p: how far a value moves at most, as a share of the rows of its stratum."""
    columns: Several[ColumnName] = ()
    """Of numbers, dates or texts with an order; none: all such quasi-identifiers."""
    strata: Several[ColumnName] = ()
    """Published columns within whose values ranks are exchanged."""

    def prepare(
        self,
        table: PrivateTable,
        randomness: Randomness,
        history: History | None = None,
        pay: Pay = unaccounted,
    ) -> Publication:
        """Make a release; raises ``PlanError``, ``TableError`` and ``InfeasibleError``."""
        del history, pay
        usual = () if self.columns else ranked_columns(table, numbers=False)
        usual = tuple(name for name in usual if name not in self.strata)
        columns, strata = require_treated(
            table, _RANK_SWAPPING, self.columns, self.strata, default=usual
        )
        treated = tuple(self._ranked(table, name, strata) for name in columns)
        published, whose = table.apply_counted(Treatment((), drawn=treated), randomness)
        stated = RankSwapped(
            distance=self.distance, within=strata, margin="kept" if whose is None else None
        )
        within = f", within {named(strata)}" if strata else ""
        outcome = MicrodataOutcome(
            method={
                "name": _RANK_SWAPPING,
                "columns": list(columns),
                "distance": self.distance,
                **({"strata": list(strata)} if strata else {}),
            },
            columns=dict.fromkeys(columns, stated),
            guarantee=Guarantee(
                (SwappedRanks(columns=columns, distance=self.distance, within=strata),),
                f"each value of {named(columns)} was exchanged for one that is at most "
                f"{self.distance:.3g} of all ranks away{within}. This is NOT anonymity: a value "
                "stays near its own",
                assumed_of_draws(table.plan.roles),
            ),
            objective=f"{self.distance:.12g}",
            summary=f"with values of {named(columns)} exchanged, each at most "
            f"{self.distance:.3g} of all ranks away{within}",
        )
        return assembled(table, published, outcome, randomness)

    def _ranked(self, table: PrivateTable, name: str, strata: tuple[str, ...]) -> RankedColumns:
        """How a column is exchanged."""
        counts = table.count_combinations([name, *strata])
        require_values(counts, name)
        place = places_in_order(table, counts, 0)[counts.codes[:, 0]]
        stratum = require_strata_of(table, counts, strata)
        there = place >= 0
        held = np.bincount(stratum[there], counts.rows[there], int(stratum.max()) + 1)
        if few := int(((held > 0) & (held * self.distance < 1)).sum()):
            where = f"{few:,} strata of {named(strata)}" if strata else "the table"
            least = 1 / float(held[held > 0].min())
            msg = (
                f"no release exists: distance = {self.distance:.3g} is less than a rank in "
                f"{where}; take a distance of {least:.3g} or more, or leave a column out of strata"
            )
            raise InfeasibleError(msg)
        partners = partial(swapped_places, self.distance)
        return RankedColumns(
            (name,), (name, *strata), place[:, np.newaxis], stratum, None, partners
        )


def swapped_places(distance: float, sizes: Places, randomness: Randomness) -> Places:
    """The partner of each place of strata of these sizes, one behind the other; shape (n,)."""
    found = [
        first + _paired(int(size), max(1, int(distance * size)), randomness.within(f"{number}"))
        for number, (first, size) in enumerate(
            zip((np.cumsum(sizes) - sizes).tolist(), sizes.tolist(), strict=True)
        )
    ]
    return np.concatenate([*found, np.empty(0, dtype=np.int64)]).astype(np.int64)


def _paired(size: int, farthest: int, randomness: Randomness) -> Places:
    """Partners of so many places, none farther than ``farthest``; shape (n,)."""
    window = np.repeat(*_windows(size, farthest, randomness))
    words = randomness.key("pairs").stream(size)
    order = np.lexsort((words, window))
    sizes = np.bincount(window) if size else np.empty(0, dtype=np.int64)
    first = np.cumsum(sizes) - sizes
    at = np.arange(size) - first[window]  # ``order`` keeps windows where they are
    held = sizes[window]
    other = np.where(at % 2 == 0, 1, -1)
    odd = held % 2 == 1
    # The last three of an odd window have each other's; a single place keeps its own.
    other = np.where(odd & (at >= held - 3), np.where(at == held - 1, -2, 1), other)
    other = np.where(held == 1, 0, other)
    partner = np.empty(size, dtype=np.int64)
    partner[order] = order[np.arange(size) + other]
    return partner


def _windows(size: int, farthest: int, randomness: Randomness) -> tuple[Places, Places]:
    """Numbers and sizes of windows of at most ``farthest`` + 1 places, none of 1 if possible."""
    most = farthest + 1
    least = max(2, -(-most // 2))
    many = size // least + 1
    drawn = randomness.key("windows").stream(many) % np.uint64(most - least + 1)
    ends = np.minimum(np.cumsum(least + drawn.astype(np.int64)), size)
    sizes = np.diff(ends, prepend=0)
    sizes = sizes[sizes > 0]
    if len(sizes) > 1 and sizes[-1] < least:
        both = int(sizes[-2] + sizes[-1])
        sizes = np.append(sizes[:-2], [both] if both <= most else [both - both // 2, both // 2])
    return np.arange(len(sizes)), sizes


_RECORD_SWAPPING = "record-swapping"

Integers = NDArray[np.int64]


@checked(PlanError)
@dataclass(frozen=True)
class RecordSwapping(SingleRelease):
    """Exchange the places of some rows, risky ones first; raises ``PlanError``."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        persons=True,
        followed=True,
        exact_quasi_identifiers=True,
        exact_kept=True,
        no_series="each release exchanges others, and rows that stay in all of them are true",
        card=MethodCard(
            _RECORD_SWAPPING,
            "Swap places",
            "Who stands out in a place is shown in another; how many are is kept secret.",
            "Who lives where, for those who stand out.",
            "single rows are published to intruders: most of them are true.",
            (
                Parameter(
                    "rate", "rate", ("0.02", "0.05", "0.1"), ("0.05",), "share that is exchanged"
                ),
            ),
        ),
    )

    rate: Annotated[float, Field(gt=0, le=1)]
    """The share of rows, persons or households that are exchanged at least; not published."""
    carried: Several[ColumnName] = ()
    """What is exchanged as a whole, such as region and municipality; none: what the plan says to be
    geography."""
    match: Several[ColumnName] = ()
    """In what partners agree; none: anybody is a partner."""
    keys: Several[ColumnName] = ()
    """By what somebody stands out; none: all quasi-identifiers that are not carried."""
    k: Annotated[int, Field(ge=1)] = 3
    """Who shares ``keys`` and ``match`` with fewer than k in one place is exchanged first."""

    def prepare(
        self,
        table: PrivateTable,
        randomness: Randomness,
        history: History | None = None,
        pay: Pay = unaccounted,
    ) -> Publication:
        """Make a release; raises ``PlanError``, ``TableError`` and ``InfeasibleError``."""
        del history, pay
        roles = table.plan.roles
        geography = [
            name for name in roles.quasi_identifiers if table.plan.column(name).kind == "geography"
        ]
        carried, match = require_treated(
            table, _RECORD_SWAPPING, self.carried, self.match, "carried", "match", geography
        )
        keys = columns_asked("keys", self.keys, roles) or roles.quasi_identifiers
        keys = tuple(name for name in keys if name not in (*carried, *match))
        counts = table.count_combinations([*carried, *match, *keys])
        held = _held(table, counts)
        place, matched = (
            np.unique(part, axis=0, return_inverse=True)[1].reshape(-1)
            for part in (
                counts.codes[:, : len(carried)],
                counts.codes[:, len(carried) : len(carried) + len(match)],
            )
        )
        if int(place.max(initial=0)) < 1:
            msg = (
                f"[method] carried: {named(carried)} is the same in all rows, so that nobody has "
                "another place; name other columns"
            )
            raise PlanError(msg)
        giver, first, left = exchanges(
            held, place, matched, held < self.k, self.rate, randomness.within("exchanges")
        )
        if not len(giver):
            msg = (
                f"no release exists: nobody who agrees in {named(match or carried)} has another "
                "place; leave a column out of [method] match"
            )
            raise InfeasibleError(msg)
        treated = ExchangedColumns(carried, (*carried, *match, *keys), giver, first)
        published, whose = table.apply_counted(Treatment((), drawn=(treated,)), randomness)
        stated = Swapped(margin="kept" if whose is None else None)
        outcome = self._outcome(treated, match, keys, roles, stated, (len(giver), left, held))
        return assembled(table, published, outcome, randomness)

    def _outcome(
        self,
        treated: ExchangedColumns,
        match: tuple[str, ...],
        keys: tuple[str, ...],
        roles: Roles,
        stated: Swapped,
        counted: tuple[int, int, Integers],
    ) -> MicrodataOutcome:
        """What the release states of exchanges, of those who found no partner, and of all."""
        carried, (exchanged, left, held) = treated.columns, counted
        who = f"{roles.protected}s"
        beside = f" with others that agree in {named(match)}" if match else ""
        return MicrodataOutcome(
            method={
                "name": _RECORD_SWAPPING,
                "carried": list(carried),
                **({"match": list(match)} if match else {}),
                "keys": list(keys),
                "k": self.k,
            },
            columns=dict.fromkeys(carried, stated),
            guarantee=Guarantee(
                (SwappedRecords(columns=carried, match=match),),
                f"some {who}, of whom nothing is published, exchanged {named(carried)}{beside}. "
                "This is NOT anonymity: most rows are true",
                assumed_of_draws(roles),
            ),
            objective=f"{exchanged / held.sum():.12g}",
            summary=f"of whose {who} {exchanged:,} of {held.sum():,} exchanged {named(carried)}"
            f"{beside}; {left:,} stand out and found no partner",
            decision={"exchanged": exchanged, "risky_left": left},
            notices=(
                (
                    f"{left:,} {who} stand out where they are and found no partner in another "
                    "place; match fewer columns",
                )
                if left
                else ()
            ),
        )


def _held(table: PrivateTable, counts: CombinationCounts) -> Integers:
    """Rows, persons or households of each combination; raises ``PlanError`` where one has two."""
    if counts.units is None:
        return counts.rows
    held = counts.units.within
    if int(held.sum()) > table.units:
        msg = (
            f"[method] rows of one {table.plan.roles.protected} differ in {named(counts.columns)}, "
            "and they are exchanged together; name columns in match and keys that its rows agree "
            "in, such as its size"
        )
        raise PlanError(msg)
    return held


def exchanges(
    held: Integers,
    place: Integers,
    matched: Integers,
    risky: NDArray[np.bool_],
    rate: float,
    randomness: Randomness,
) -> tuple[Integers, Integers, int]:
    """Whose places the members of g combinations get, and how many risky ones keep their own.

    ``held`` (g,) members have a place and agree with others in ``matched``.  Returns the givers of
    all combinations, one combination behind the other, and where those of each begin, (g + 1,).
    """
    member = np.repeat(np.arange(len(held)), held)
    words = randomness.key("chosen").stream(len(member))
    order = np.lexsort((words, ~risky[member], matched[member]))
    member = member[order]
    group = matched[member]
    at, _ = _places_within(group)
    sizes = np.bincount(group)
    standing = np.bincount(group, risky[member]).astype(np.int64)
    # As many again as stand out, so that each may find a partner who does not.
    wanted = np.minimum(np.maximum(2 * standing, np.ceil(rate * sizes)).astype(np.int64), sizes)
    wanted = np.minimum(wanted + wanted % 2, sizes)
    chosen = member[at < wanted[group]]
    one, other = _pairs(chosen, place, matched, randomness.key("pairs").stream(len(chosen)))
    taker, giver = np.concatenate([one, other]), np.concatenate([other, one])
    order = np.argsort(taker, kind="stable")
    first = np.searchsorted(taker[order], np.arange(len(held) + 1))
    left = int(held[risky].sum()) - int(risky[taker].sum())
    return giver[order].astype(np.int64), first.astype(np.int64), left


def _pairs(
    chosen: Integers, place: Integers, matched: Integers, words: NDArray[np.uint64]
) -> tuple[Integers, Integers]:
    """Pairs of those who match and have different places: a list by place, shifted by its half."""
    order = np.lexsort((words, place[chosen], matched[chosen]))
    chosen = chosen[order]
    group = matched[chosen]
    at, size = _places_within(group)
    half = size // 2
    one = np.flatnonzero(at < half)
    other = one + half[one]
    apart = place[chosen[one]] != place[chosen[other]]
    return chosen[one[apart]], chosen[other[apart]]


def _places_within(group: Integers) -> tuple[Integers, Integers]:
    """Of n members, each group together: the place in the own group, and its size."""
    first = np.flatnonzero(np.diff(group, prepend=-1))
    sizes = np.diff(np.append(first, len(group)))
    return np.arange(len(group)) - np.repeat(first, sizes), np.repeat(sizes, sizes)


scipy_special = on_demand("scipy.special")

_SHUFFLING = "shuffling"
_MOST_KINDS = 100
"""Values of a category up to which it explains others."""
_RIDGE = 1e-9
_BLOCK = 1 << 16
"""Combinations whose columns are spelled out at a time."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Model:
    """What the columns of S tell of the scores of X, and how the rest varies."""

    mean: Floats
    """Shape (g, m): of each counted combination."""
    root: Floats
    """Shape (m, m): R with R R' the covariance of the rest."""
    explained: Floats
    """Shape (m,): shares of the variance, between 0 and 1."""


@checked(PlanError)
@dataclass(frozen=True)
class Shuffling(SingleRelease):
    """Deal the values of columns out anew, as a regression orders them; raises ``PlanError``."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        persons=True,
        followed=True,
        exact_quasi_identifiers=True,
        exact_kept=True,
        no_series="each release deals anew, and the average of several tells what columns explain",
        card=MethodCard(
            _SHUFFLING,
            "Shuffle by regression",
            "All values stay, and go with other columns as before; no row keeps its own value.",
            "What columns have to do with each other beyond ranks.",
            "the columns that stay tell whose a row is, or all that is secret.",
            (),
        ),
    )

    columns: Several[ColumnName] = ()
    """X: numbers, dates or ordered texts to shuffle; none: all sensitive columns."""
    by: Several[ColumnName] = ()
    """S: published columns that explain them; none: all other quasi-identifiers."""

    def prepare(
        self,
        table: PrivateTable,
        randomness: Randomness,
        history: History | None = None,
        pay: Pay = unaccounted,
    ) -> Publication:
        """Make a release; raises ``PlanError``, ``TableError`` and ``InfeasibleError``."""
        del history, pay
        roles = table.plan.roles
        columns, _ = require_treated(table, _SHUFFLING, self.columns or roles.sensitive, ())
        others = tuple(name for name in roles.quasi_identifiers if name not in columns)
        by = columns_asked("by", self.by, roles) or others
        if both := sorted(set(by) & set(columns)):
            msg = f"[method] by names {both[0]!r}, which is shuffled; name it in one of them"
            raise PlanError(msg)
        counts = table.count_combinations([*columns, *by])
        place = _ranks(table, counts, columns)
        model = _model(table, counts, place, by)
        treated = RankedColumns(
            columns,
            (*columns, *by),
            place,
            np.zeros(len(counts.rows), dtype=np.int64),
            partial(_scores, model.mean, model.root),
            None,
        )
        del counts  # as large as the table where rows differ
        published, whose = table.apply_counted(Treatment((), drawn=(treated,)), randomness)
        shown = {
            name: Shuffled(
                explained=float(f"{share:.2g}"), by=by, margin="kept" if whose is None else None
            )
            for name, share in zip(columns, model.explained.tolist(), strict=True)
        }
        told = ", ".join(f"{one.explained:.0%} of {name!r}" for name, one in shown.items())
        outcome = MicrodataOutcome(
            method={"name": _SHUFFLING, "columns": list(columns), "by": list(by)},
            columns=shown,
            guarantee=Guarantee(
                (ShuffledValues(columns=columns, by=by),),
                f"the values of {named(columns)} were dealt out anew: what a row shows depends on "
                f"{'its ' + named(by) if by else 'nothing of the row'}, and not on its own values. "
                "This is NOT anonymity: what those columns tell of it still shows",
                assumed_of_draws(roles),
            ),
            objective=f"{1 - float(model.explained.mean()):.12g}",
            summary=f"with {named(columns)} shuffled; other columns explain {told}",
        )
        return assembled(table, published, outcome, randomness)


def _ranks(table: PrivateTable, counts: CombinationCounts, columns: Sequence[str]) -> Integers:
    """The places of combinations in the order of each column, shape (m, columns).

    Raises ``PlanError`` for a column that misses values.
    """
    place = np.stack(
        [
            places_in_order(table, counts, number)[counts.codes[:, number]]
            for number in range(len(columns))
        ],
        axis=1,
    )
    for number, name in enumerate(columns):
        require_values(counts, name, number)
        if (place[:, number] < 0).any():
            table.count_values(name)  # says in which row a number is missing
            msg = f"[method] columns: {name!r} misses values, which have no rank; leave it out"
            raise PlanError(msg)
    return place


def _model(
    table: PrivateTable,
    counts: CombinationCounts,
    place: NDArray[np.int64],
    by: tuple[str, ...],
) -> _Model:
    """The regression of the scores of X on S, over the rows."""
    first = place.shape[1]
    every = [_scores_of(np.unique(c, return_inverse=True)[1], counts.rows) for c in place.T]
    own = np.column_stack(every)
    own -= np.average(own, axis=0, weights=counts.rows)
    known = [
        _explaining(table, counts, number, name) for number, name in enumerate(by, start=first)
    ]
    size = sum(part.shape[1] for part in known)
    within, beside = np.zeros((size, size)), np.zeros((size, first))

    def block(some: slice) -> Floats:
        """What some of the combinations have of S."""
        codes = counts.codes[some, first:]
        parts = [part[codes[:, number]] for number, part in enumerate(known)]
        return np.hstack(parts) if parts else np.zeros((len(codes), 0))

    blocks = [slice(at, at + _BLOCK) for at in range(0, len(own), _BLOCK)]
    total = float(counts.rows.sum())
    for some in blocks:
        part = block(some)
        weighed = part.T * counts.rows[some]
        within += weighed @ part / total
        beside += weighed @ own[some] / total
    within += _RIDGE * np.diag(np.maximum(np.diag(within), 1e-12))
    slope = np.linalg.solve(within, beside)
    mean = np.concatenate([block(some) @ slope for some in blocks])
    spread = np.average(own**2, axis=0, weights=counts.rows)
    own -= mean
    covariance = (own.T * counts.rows) @ own / total
    value, vector = np.linalg.eigh(covariance)
    explained = np.clip(1 - np.diag(covariance) / spread, 0, 1)
    return _Model(mean, vector * np.sqrt(np.maximum(value, 0)), explained)


def _scores_of(code: NDArray[np.integer[Any]], rows: NDArray[np.int64]) -> Floats:
    """Normal scores of the mid-ranks of the values of combinations, by their codes, shape (g,)."""
    return np.asarray(_scores_of_values(code, rows)[code])


def _scores_of_values(code: NDArray[np.integer[Any]], rows: NDArray[np.int64]) -> Floats:
    """The same of each of d values, shape (d,); of those that no row has anything."""
    held = np.bincount(code, rows)
    middle = (np.cumsum(held) - held / 2) / held.sum()
    return np.asarray(scipy_special.ndtri(np.clip(middle, 1e-12, 1 - 1e-12)))


def _explaining(table: PrivateTable, counts: CombinationCounts, at: int, name: str) -> Floats:
    """What each of the d values of a column of S is in the regression, shape (d, q).

    Its score, or an indicator of each value but the most frequent one; over the rows the mean is 0.
    """
    values, codes = counts.values[at], counts.codes[:, at]
    plan = table.plan.column(name)
    held = np.bincount(codes, counts.rows, len(values))
    line = values.numbers is not None or values.kind in {"date", "datetime"}
    if line and plan.kind not in UNORDERED and not values.missing:
        found = _scores_of_values(codes, counts.rows)[:, np.newaxis]
    elif len(values) > _MOST_KINDS:
        msg = (
            f"[method] by: {name!r} has {len(values):,} values without an order, of which at most "
            f"{_MOST_KINDS} explain others; recode it, or leave it out of by"
        )
        raise PlanError(msg)
    else:
        found = np.delete(np.eye(len(values)), int(held.argmax()), axis=1)
    return np.asarray(found - held @ found / held.sum())


def _scores(
    mean: Floats,
    root: Floats,
    combination: NDArray[np.int64],
    words: NDArray[np.uint64],
    randomness: Randomness,
) -> Floats:
    """What orders n rows in each column, shape (n, m)."""
    columns = mean.shape[1]
    noise = np.empty((len(words), columns))
    for number in range(columns):
        drawn = randomness.key("normal", f"{number}").words(words, np.zeros_like(words))
        uniform = ((drawn >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
        noise[:, number] = scipy_special.ndtri(uniform)
    return np.asarray(mean[combination] + noise @ root.T)
