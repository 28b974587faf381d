"""What releases claim, measured on what is published with code of no publisher.

Groups of rows
--------------
Where persons or households have several rows, nobody sees whose a published row is.  What a
release shows is then held to what follows for rows (k rows, l values), and before it is published,
all of it is measured on its rows with the persons beside (``table.summaries``): these are counted
anew in each group that it shows, by no shortcut of the searches.

Cost: a count of the published groups, and of the distinct pairs of group and sensitive value where
a claim speaks of them.

What can be promised of groups of rows: k, l, t and further criteria, as releases state it.

What a claim may look at: the rows of a release, and what it says of its columns.

Everything else
---------------
Permuted within clusters:

- its clusters are numbered from 1, none is left out, and there are as many as it says, of the sizes
  that it says;
- every combination of sensitive values stands in one cluster;
- the permuted columns are published quasi-identifiers;
- the number of their distinct arrangements, counted again, is the one that it says.

Moved trajectories (positions themselves are checked by ``voile.disclosure.replaced``):

- it promises nothing for trajectories where angles were selected, or zones are those of true
  positions;
- it shows no positions beside remaining distances;
- its trips have as many reports as the costliest one that it states, or there is none such.

That a permutation was drawn uniformly, or noise from a distribution, cannot be seen in an output.

Cost: a count of the sensitive columns by cluster and of each permuted one, or of the
trips.

What a claim on noise contradicts of the scales, epsilons and budgets that a release states.

Noise itself cannot be seen in an output.  These can: noise of a scale costs what the claim says
(range over scale, times the rows of a person; epsilon by zone as
the levels over the radii say), and the budgets of columns add up to the epsilon that is claimed.
What cells show of their noise, their kinds check (``voile.disclosure.noise``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from math import ceil, isclose
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from voile.disclosure.shown import Disclosure
from voile.models.criteria import Criterion, Groups, SensitiveCells, StatedCriterion
from voile.models.k_anonymity import KAnonymity
from voile.models.ke_anonymity import block_statistics, violations
from voile.models.l_diversity import DistinctDiversity, EntropyDiversity, RecursiveDiversity
from voile.models.permutation import PairCounts
from voile.models.t_closeness import EqualCloseness, OrderedCloseness
from voile.models.units import GroupedUnits
from voile.schema.numbers import ExactNumbers, decimals_of, units_of
from voile.table.published import PublishedTable
from voile.table.summaries import CombinationCounts, PublishedUnits
from voile_base.errors import InputError
from voile_base.ondemand import dataclass, on_demand
from voile_base.values import Document
from voile_base.values.value import Exact, Value

if TYPE_CHECKING:
    from voile.disclosure import replaced as disclosure_replaced
    from voile.disclosure.noise import Cluster, StatedNoise
else:
    disclosure_replaced = on_demand("voile.disclosure.replaced")

__all__ = [
    "Chance",
    "GroupTerms",
    "Least",
    "PublicRelease",
    "StatedCloseness",
    "StatedDiversity",
    "box_breaches",
    "budget_breaches",
    "common_unit",
    "criteria_against_counts",
    "group_breaches",
    "ke_breaches",
    "moved_breaches",
    "permutation_breaches",
    "scale_breaches",
    "size_breaches",
    "zone_breaches",
]

Least = Annotated[int, Field(ge=1)]
Chance = Annotated[Exact, Field(ge=0, le=1)]


class StatedDiversity(Value):
    """How diverse sensitive columns are within a group; see ``models.l_diversity``."""

    value: Exact
    kind: Literal["distinct", "entropy", "recursive"]
    c: Exact | None = None
    """Of the recursive kind."""
    columns: tuple[str, ...]


class StatedCloseness(Value):
    """How close sensitive columns within a group are to all rows; see ``models.t_closeness``."""

    value: Chance
    kind: Literal["equal", "ordered", "hierarchical"]
    columns: tuple[str, ...]


class GroupTerms(Value):
    """What is promised of every group."""

    shared: ClassVar[tuple[str, ...]] = ("quasi_identifiers",)
    """Roles of the columns in which the rows of a group agree."""
    k: Least
    unit: Literal["person", "household"] | None = None
    """Who is counted, where they may have several rows; None: each row is another person."""
    l: StatedDiversity | None = None
    t: StatedCloseness | None = None
    criteria: tuple[Document, ...] | None = None
    """Further criteria, each with its ``name``, its ``column`` and its parameters."""
    suppression_limit: Chance | None = None
    """Largest share of the rows that may have been left out; None: none was."""


class PublicRelease(Protocol):
    """A release as everybody sees it."""

    @property
    def table(self) -> PublishedTable:
        """Its rows."""

    @property
    def measurements(self) -> PublishedTable | None:
        """Noisy tables that its rows were made from, if they were."""

    @property
    def disclosure(self) -> Disclosure:
        """How each column is shown."""

    @property
    def method(self) -> Document:
        """Name, parameters and decision of the method, as the release states them."""

    @property
    def roles(self) -> Mapping[str, tuple[str, ...]]:
        """Published columns by role."""


_SIX_DIGITS = 1e-6
"""To which the precision of a group is stated."""


def ke_breaches(published: PublicRelease, k: int, e: Decimal) -> Iterator[str]:
    """Groups of fewer than k distinct values or of a range below e."""
    groups = published.disclosure.groups
    if groups is None:
        yield "the release does not number its groups"
        return
    pairs = published.table.group_values(published.roles["sensitive"][0], groups.column)
    values, range_units = common_unit(pairs.values, e)
    statistics = block_statistics(pairs.group, values.units, pairs.rows)
    if broken := len(violations(statistics, k, range_units)):
        yield f"{broken} groups of the release are not ({k}, {e})-valid"


def group_breaches(published: PublicRelease, claim: GroupTerms) -> Iterator[str]:
    """Criteria that some group breaks."""
    columns = _shared_columns(published, claim.shared)
    if not columns:
        yield "the release shows no quasi-identifiers, so that nothing tells its groups"
        return
    criteria: list[Criterion] = [KAnonymity(claim.k)]
    rows_alone = claim.unit is not None
    if claim.l is not None:
        criteria += [_diversity(claim.l, name, rows_alone) for name in claim.l.columns]
    if claim.t is not None and not claim.suppression_limit and not rows_alone:
        closeness = _CLOSENESS.get(claim.t.kind)
        criteria += [closeness(claim.t.value, n) for n in claim.t.columns if closeness]
    asked = () if rows_alone else claim.criteria or ()
    further = [_further(published, columns, document, claim) for document in asked]
    yield from (found for found in further if isinstance(found, str))
    criteria += [found for found in further if not isinstance(found, str | None)]
    sensitive = {
        name: _cells(published.table, columns, name)
        for name in dict.fromkeys(c.column for c in criteria if c.column)
    }
    yield from _broken_criteria(criteria, Groups(published.table.group_sizes(columns), sensitive))


def _further(
    published: PublicRelease,
    shared: Sequence[str],
    document: Mapping[str, object],
    claim: GroupTerms,
) -> Criterion | str | None:
    """A criterion as groups can be held to it; why it cannot be; None where a release lacks rows.

    None, too, where the criterion needs the plan, which a release does not hold.
    """
    try:
        stated = StatedCriterion.of(document)
        if stated.of_all_rows and claim.suppression_limit:
            return None
        if stated.column not in published.table.columns:
            return f"the release has no column {stated.column!r}, of which it promises something"
        values = published.table.cells(shared, stated.column).values
        return stated.criterion(values, None)
    except InputError as error:
        return f"a criterion of the release cannot be measured: {error}"


def size_breaches(published: PublicRelease, columns: Sequence[str], k: int) -> Iterator[str]:
    """Groups of fewer than k rows that share these columns."""
    yield from _broken_criteria([KAnonymity(k)], Groups(published.table.group_sizes(columns)))


def criteria_against_counts(
    published: PublicRelease,
    shared: Sequence[str],
    criteria: Sequence[Criterion],
    counts: CombinationCounts,
    whose: PublishedUnits | None = None,
) -> Iterator[str]:
    """Criteria that some group breaks, measured against private counts of the whole table.

    Of persons or households, where ``whose`` says which the published rows are of.
    """
    columns = _shared_columns(published, shared)
    if whose is not None:
        yield from _criteria_of_units(columns, criteria, counts, whose)
        return
    sensitive = {}
    for name in dict.fromkeys(c.column for c in criteria if c.column):
        cells = _cells_as_counted(published.table, columns, name, counts)
        if isinstance(cells, str):
            yield cells
            return
        sensitive[name] = cells
    yield from _broken_criteria(criteria, Groups(published.table.group_sizes(columns), sensitive))


def _criteria_of_units(
    columns: Sequence[str],
    criteria: Sequence[Criterion],
    counts: CombinationCounts,
    whose: PublishedUnits,
) -> Iterator[str]:
    """Criteria that some group breaks, whose persons or households are counted one by one."""
    names = list(dict.fromkeys(c.column for c in criteria if c.column))
    found = whose.count([*columns, *names])
    assert found.units is not None
    assert counts.units is not None
    new = (np.diff(found.codes[:, : len(columns)], axis=0, prepend=-1) != 0).any(axis=1)
    label = np.cumsum(new) - 1
    groups = int(new.sum())
    values: dict[str, NDArray[np.int64]] = {}
    total: dict[str, NDArray[np.int64]] = {}
    for name in names:
        place = _places_as_counted(found.values[found.columns.index(name)].texts, name, counts)
        if isinstance(place, str):
            yield place
            return
        values[name] = place[found.codes[:, found.columns.index(name)]]
        total[name] = _in_the_table(name, counts, counts.units.weight)
    rows = np.zeros(groups, dtype=np.int64)
    np.add.at(rows, label, found.rows)
    units = _CountedUnits(found.units, label, groups, values)
    yield from _broken_criteria(criteria, units.seen(rows, total))


@dataclass(frozen=True, eq=False)
class _CountedUnits(GroupedUnits):
    """Units that are all counted and weighed, whatever sums would say."""

    def at_least(self, k: int) -> NDArray[np.bool_]:
        """Which groups have at least k units, shape (p,)."""
        return np.asarray(self.count() >= k, dtype=np.bool_)


def _in_the_table(
    name: str, counts: CombinationCounts, weight: NDArray[np.int64]
) -> NDArray[np.int64]:
    """How often each value of a column was counted, or what those weigh who have it."""
    column = counts.columns.index(name)
    total = np.zeros(len(counts.values[column]), dtype=np.int64)
    np.add.at(total, counts.codes[:, column], weight)
    return total


def _broken_criteria(criteria: Sequence[Criterion], groups: Groups) -> Iterator[str]:
    """A sentence for each criterion that some group breaks."""
    for criterion in criteria:
        if broken := int((~criterion.holds(groups)).sum()):
            yield f"{broken} groups of the release break {dict(criterion.document())}"


def common_unit(values: ExactNumbers, e: Decimal) -> tuple[ExactNumbers, int]:
    """Values and a range in one unit."""
    scale = max(values.scale, decimals_of(e))
    return values.rescaled(scale), units_of(e, scale)


_CLOSENESS: Mapping[str, Callable[[Decimal, str], Criterion]] = {
    "equal": EqualCloseness,
    "ordered": OrderedCloseness,
}
"""A release does not hold the hierarchy of a sensitive column, so no other distance is seen."""


def _diversity(stated: StatedDiversity, column: str, rows_alone: bool = False) -> Criterion:
    """The criterion of its kind; of rows alone what follows for them, that many values."""
    if rows_alone:
        return DistinctDiversity(max(ceil(stated.value), 2), column)
    match stated.kind:
        case "distinct":
            return DistinctDiversity(int(stated.value), column)
        case "entropy":
            return EntropyDiversity(stated.value, column)
        case "recursive":
            return RecursiveDiversity(int(stated.value), stated.c or Decimal(0), column)


def _shared_columns(published: PublicRelease, roles: Sequence[str]) -> list[str]:
    """The columns in which the rows of a group must agree."""
    columns = [column for role in roles for column in published.roles.get(role, ())]
    groups = published.disclosure.groups
    return [*columns, groups.column] if columns and groups else columns


def _cells(table: PublishedTable, columns: Sequence[str], name: str) -> SensitiveCells:
    """How often each value of a column stands in each group, measured against all rows shown."""
    cells = table.cells(columns, name)
    return SensitiveCells(cells.group, cells.value, cells.rows, cells.total)


def _cells_as_counted(
    table: PublishedTable, columns: Sequence[str], name: str, counts: CombinationCounts
) -> SensitiveCells | str:
    """The same, with values named as in private counts and measured against all counted rows.

    A sentence where the release shows values that were not counted.
    """
    cells = table.cells(columns, name)
    place = _places_as_counted(cells.values.texts, name, counts)
    if isinstance(place, str):
        return place
    value = place[cells.value]
    order = np.lexsort((value, cells.group))
    total = _in_the_table(name, counts, counts.rows)
    return SensitiveCells(cells.group[order], value[order], cells.rows[order], total)


def _places_as_counted(
    texts: Sequence[str | None], name: str, counts: CombinationCounts
) -> NDArray[np.int64] | str:
    """Where published values stand among those that were counted; a sentence where they do not."""
    known = counts.values[counts.columns.index(name)].texts
    places = {text: place for place, text in enumerate(known)}
    unknown = sum(text not in places for text in texts)
    if unknown:
        return f"column {name!r} of the release shows {unknown} values that the table does not hold"
    return np.array([places[text] for text in texts], dtype=np.int64)


def box_breaches(release: PublicRelease, precision: float) -> Iterator[str]:
    """Boxes of a ranking that are not those of its rows, or not as precise as is claimed."""
    groups = release.disclosure.groups
    boxes = release.method.get("decision", {}).get("groups")
    if groups is None or not boxes:
        yield "it does not state the precision of each group"
        return
    stated = {box["group"]: box["rows"] for box in boxes}
    if len(stated) != len(boxes) or stated != release.table.count_matching(None, groups.column):
        yield "its groups do not have the rows that it states of them"
    short = sum(box["precision"] < precision - _SIX_DIGITS for box in boxes)
    if short:
        yield f"{short} groups have a precision below the {precision:g} that it claims"


_ROUNDING = 1e-9
"""Relative; sums of as many logarithms in another order differ by less."""


class _PermutationTerms(Protocol):
    """What a permutation within clusters says of itself."""

    @property
    def clusters(self) -> int:
        """How many."""

    @property
    def sizes(self) -> tuple[int, ...] | None:
        """Rows of each, in the order of their numbers; None: not stated."""

    @property
    def permuted(self) -> tuple[str, ...]:
        """The columns."""

    @property
    def log_arrangements(self) -> float:
        """Natural logarithm of the number of arrangements."""


def permutation_breaches(release: PublicRelease, claim: _PermutationTerms) -> Iterator[str]:
    """What a permuted release claims and does not have; nothing where it is sound."""
    permuted, groups = claim.permuted, release.disclosure.groups
    if set(permuted) != release.disclosure.permuted or groups is None:
        yield "it does not show the columns that it permutes as permuted"
        return
    numbers = release.table.count_matching(None, groups.column)
    sizes = tuple(numbers[cluster] for cluster in sorted(numbers))
    if sorted(numbers) != list(range(1, claim.clusters + 1)):
        yield f"its clusters are not numbered from 1 to {claim.clusters}"
    elif claim.sizes is not None and sizes != claim.sizes:
        yield "its clusters are not of the sizes that it states"
    sensitive = list(release.roles.get("sensitive", ()))
    apart = len(release.table.group_sizes([*sensitive, groups.column]))
    if not sensitive or apart != len(release.table.group_sizes(sensitive)):
        yield "some combination of sensitive values stands in several clusters"
    if not set(permuted) <= set(release.roles.get("quasi_identifiers", ())):
        yield "what it permutes are not quasi-identifiers that it publishes"
        return
    arrangements = sum(_log_arrangements(release, groups.column, name) for name in permuted)
    if not isclose(arrangements, claim.log_arrangements, rel_tol=_ROUNDING):
        yield "its permuted columns have another number of arrangements than it states"


def _log_arrangements(release: PublicRelease, group: str, name: str) -> float:
    cells = release.table.cells([group], name)
    return PairCounts(np.asarray(cells.group), cells.value, cells.rows).log_arrangements()


def moved_breaches(
    published: PublicRelease,
    *,
    protects_trajectories: bool,
    within_zones: bool,
    reports: int | None,
) -> Iterator[str]:
    """What a moved release claims and does not have; nothing where it is sound.

    ``reports`` are those of the costliest trip, where one is stated.
    """
    shown = published.disclosure.columns.values()
    moved = [one for one in shown if isinstance(one, disclosure_replaced.Moved)]
    turning = any(isinstance(one.law, disclosure_replaced.TurningLaplace) for one in moved)
    if protects_trajectories and (turning or within_zones):
        yield "it promises for trajectories what holds for single reports"
    if moved and any(isinstance(one, disclosure_replaced.Remaining) for one in shown):
        yield "it shows positions beside remaining distances"
    if reports is not None and reports not in published.table.group_sizes(published.roles["trip"]):
        yield "no trip has as many reports as the costliest one that it states"


_NOISE_ROUNDING = 1e-5
"""Relative: releases state some numbers with six digits."""


class _PricedTerms(Protocol):
    """What is claimed to be spent."""

    @property
    def epsilon(self) -> Decimal:
        """In all."""

    @property
    def rows_per_person(self) -> int | None:
        """That take part at most; None: each person is one row."""

    @property
    def budget(self) -> Mapping[str, Mapping[str, Decimal]] | None:
        """By column and mechanism."""


def budget_breaches(claim: _PricedTerms) -> Iterator[str]:
    """Budgets that add up to another epsilon than is claimed."""
    if claim.budget is not None:
        spent = sum((e for each in claim.budget.values() for e in each.values()), Decimal(0))
        if not isclose(spent, claim.epsilon, rel_tol=_NOISE_ROUNDING):
            yield f"the budgets that it states add up to {spent}, and it claims {claim.epsilon}"


def scale_breaches(published: PublicRelease, claim: _PricedTerms) -> Iterator[str]:
    """Noise that is less than the epsilon of its column buys."""
    rows = claim.rows_per_person or 1
    for name, shown in published.disclosure.columns.items():
        if (noise := shown.noise) is None:
            continue
        spent = (claim.budget or {}).get(name, {})
        epsilon = float(spent.get("discrete-laplace", claim.epsilon))
        for cluster in noise.clusters:
            width = _width(cluster, noise)
            if width and cluster.scale * epsilon < rows * width * (1 - _NOISE_ROUNDING):
                yield (
                    f"column {name!r} has noise of scale {cluster.scale:.6g}, which is too little "
                    f"for the epsilon of {epsilon:g} that is claimed of it"
                )


def _width(cluster: Cluster, noise: StatedNoise) -> float:
    """The range of the values of a cluster; 0 where the release does not say it."""
    if cluster.low is not None and cluster.high is not None:
        return cluster.high - cluster.low
    whole = noise.clamp if len(noise.clusters) == 1 else None
    return whole[1] - whole[0] if whole else 0.0


def zone_breaches(published: PublicRelease, epsilon: float) -> Iterator[str]:
    """Epsilons of positions that are not those of the zones that the release states."""
    for name, shown in published.disclosure.columns.items():
        if not isinstance(shown, disclosure_replaced.Moved | disclosure_replaced.Remaining):
            continue
        largest = max(shown.zones.levels) / min(shown.zones.radii)
        if epsilon < largest * (1 - _NOISE_ROUNDING):
            yield (
                f"column {name!r} has noise of {largest:.6g} per metre, and an epsilon of "
                f"{epsilon:g} is claimed"
            )
