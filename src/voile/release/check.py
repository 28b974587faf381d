"""A publisher claims; this checks.

Syntactic models are measured again on the published output, with code that shares nothing with
the publishers.  A claim that fails is a fault of Voile, never of the caller: it raises
``GuaranteeBrokenError``, which is no ``VoileError``, and nothing is published.

What each kind of guarantee lets one see in an output:

- ``ke-anonymity``: everything, by counting the pairs of group and sensitive value;
- ``k-anonymity``: k and l in full.  t-closeness compares with all rows of the private table, so it
  is measured here only where no row may have been left out and the distance needs no hierarchy;
  ``check_against_counts`` measures all of it before a publication leaves its publisher;
- ``ranking``: k and l, of groups that share ranking attributes too.  Precision counts rows that are
  not published: the publisher measures it;
- ``differential-privacy-under-sampling``: that all published columns together are shared by k rows.
  Its other half, like the next two kinds, cannot be seen in an output: it is priced from the
  events that happened.  Here its parameters must be numbers that can be true;
- ``differential-privacy`` and ``indistinguishability-within-clusters``: the parameters alone;
- ``geo-indistinguishability``: that positions lie on the grid whose price was paid, or that there
  are none, and that nothing but a single report is promised where angles were selected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from voile.dp.events import Neighbours
from voile.errors import PlanError
from voile.models.criteria import Criterion, Groups, SensitiveCells
from voile.models.differencing import atom_breaches, pairwise_breaches
from voile.models.k_anonymity import KAnonymity
from voile.models.ke_anonymity import block_statistics, violations
from voile.models.l_diversity import DistinctDiversity, EntropyDiversity, RecursiveDiversity
from voile.models.t_closeness import EqualCloseness, OrderedCloseness
from voile.release.history import Blocks, History
from voile.release.moved import moved_breaches
from voile.release.permutation import permutation_breaches
from voile.release.release import Release
from voile.schema.numbers import ExactNumbers, decimals_of, exact_decimal, units_of
from voile.table.polars_published import GROUP
from voile.table.protocol import BlockAssignment, CombinationCounts, PublishedTable, ValueCounts

__all__ = [
    "GuaranteeBrokenError",
    "check_against_counts",
    "check_against_history",
    "check_release",
]


class GuaranteeBrokenError(RuntimeError):
    """An output does not have what its publisher claimed."""


def check_release(release: Release) -> None:
    """Measure what a release's guarantee lets one see in its rows; see the module.

    Raises ``GuaranteeBrokenError``.  Cost: a count of the published groups, and of the distinct
    pairs of group and sensitive value where the guarantee speaks of them.
    """
    check = _CHECKS.get(release.guarantee.kind)
    if check is None:
        msg = f"there is no check for guarantees of kind {release.guarantee.kind!r}"
        raise GuaranteeBrokenError(msg)
    try:
        check(release)
    except (PlanError, KeyError, TypeError, ValueError, ArithmeticError) as error:
        msg = f"the guarantee does not state what it promises: {error}"
        raise GuaranteeBrokenError(msg) from error


def check_against_counts(
    release: Release, criteria: Sequence[Criterion], counts: CombinationCounts
) -> None:
    """Measure criteria on the published groups, against private counts of the whole table.

    ``counts`` has all columns that the criteria read, and names their values as the criteria do.
    Raises ``GuaranteeBrokenError``.  Cost: that of ``check_release``.
    """
    columns = _shared_columns(release)
    sensitive = {
        name: _cells_as_counted(release.table, columns, name, counts)
        for name in dict.fromkeys(c.column for c in criteria if c.column)
    }
    _require(criteria, Groups(release.table.group_sizes(columns), sensitive))


def _check_ke_anonymity(release: Release) -> None:
    k = int(release.guarantee.parameters["k"])
    e = exact_decimal(release.guarantee.parameters["e"])
    pairs = release.table.group_values(release.roles["sensitive"][0], GROUP)
    values, range_units = _common_unit(pairs.values, e)
    statistics = block_statistics(pairs.group, values.units, pairs.rows)
    broken = violations(statistics, k, range_units)
    if len(broken):
        msg = f"{len(broken)} groups of the release are not ({k}, {e})-valid"
        raise GuaranteeBrokenError(msg)


def _check_k_anonymity(release: Release) -> None:
    parameters = release.guarantee.parameters
    columns = _shared_columns(release)
    criteria: list[Criterion] = [KAnonymity(parameters["k"])]
    criteria += [_diversity(entry, name) for entry, name in _by_column(parameters.get("l"))]
    whole_table_published = not release.method.get("suppression_limit", 0)
    for entry, name in _by_column(parameters.get("t")):
        closeness = _CLOSENESS[entry["kind"]]
        if closeness and whole_table_published:
            criteria.append(closeness(entry["value"], name))
    sensitive = {
        name: _cells(release.table, columns, name)
        for name in dict.fromkeys(c.column for c in criteria if c.column)
    }
    _require(criteria, Groups(release.table.group_sizes(columns), sensitive))


def _check_sampled_generalization(release: Release) -> None:
    _check_differential_privacy(release)
    beta = exact_decimal(release.guarantee.parameters["beta"])
    if not 0 < beta < 1:
        msg = "beta is no probability of a sample"
        raise ValueError(msg)
    columns = [name for name in release.table.columns if name != GROUP]
    criteria = [KAnonymity(release.guarantee.parameters["k"])]
    _require(criteria, Groups(release.table.group_sizes(columns)))


def _check_differential_privacy(release: Release) -> None:
    parameters = release.guarantee.parameters
    if parameters["neighbours"] not in get_args(Neighbours):
        msg = f"{parameters['neighbours']!r} are no neighbours"
        raise ValueError(msg)
    _check_epsilon(release)
    delta = exact_decimal(parameters.get("delta", 0))
    if not 0 <= delta <= 1:
        msg = "delta is no probability"
        raise ValueError(msg)


def _check_epsilon(release: Release) -> None:
    epsilon = exact_decimal(release.guarantee.parameters["epsilon"])
    if not epsilon.is_finite() or epsilon <= 0:
        msg = "epsilon is no finite number above 0"
        raise ValueError(msg)


def _check_permutation(release: Release) -> None:
    for breach in permutation_breaches(release):
        raise GuaranteeBrokenError(breach)


def _check_moved(release: Release) -> None:
    _check_epsilon(release)
    for breach in moved_breaches(release):
        raise GuaranteeBrokenError(breach)


_CHECKS: Mapping[str, Callable[[Release], None]] = {
    "ke-anonymity": _check_ke_anonymity,
    "k-anonymity": _check_k_anonymity,
    "ranking": _check_k_anonymity,
    "differential-privacy": _check_differential_privacy,
    "differential-privacy-under-sampling": _check_sampled_generalization,
    "indistinguishability-within-clusters": _check_epsilon,
    "permutation-within-clusters": _check_permutation,
    "geo-indistinguishability": _check_moved,
    "geo-indistinguishability-within-zones": _check_moved,
}
"""What measures each kind of guarantee."""

_CLOSENESS: Mapping[str, Callable[[Any, str], Criterion] | None] = {
    "equal": EqualCloseness,
    "ordered": OrderedCloseness,
    "hierarchical": None,  # a release does not hold the hierarchy of a sensitive column
}


def _diversity(entry: Mapping[str, Any], column: str) -> Criterion:
    match entry["kind"]:
        case "distinct":
            return DistinctDiversity(entry["value"], column)
        case "entropy":
            return EntropyDiversity(entry["value"], column)
        case "recursive":
            return RecursiveDiversity(entry["value"], entry["c"], column)
    msg = f"there is no l-diversity of kind {entry['kind']!r}"
    raise ValueError(msg)


def _by_column(stated: Any) -> Iterator[tuple[Mapping[str, Any], str]]:
    """The entries of a parameter that is about sensitive columns, one for each column."""
    entries = [] if stated is None else stated if isinstance(stated, list) else [stated]
    for entry in entries:
        for column in entry["columns"] if "columns" in entry else [entry["column"]]:
            yield entry, column


def _shared_columns(release: Release) -> list[str]:
    """The columns in which the rows of a group must agree."""
    columns = list(release.roles.get("quasi_identifiers", ()))
    if release.guarantee.kind == "ranking":
        columns += release.roles.get("ranking", ())
    if not columns:
        msg = "the release shows no quasi-identifiers, so that nothing tells its groups"
        raise GuaranteeBrokenError(msg)
    return [*columns, GROUP] if GROUP in release.table.columns else columns


def _cells(table: PublishedTable, columns: Sequence[str], name: str) -> SensitiveCells:
    """How often each value of a column stands in each group, measured against all rows shown."""
    cells = table.cells(columns, name)
    return SensitiveCells(cells.group, cells.value, cells.rows, cells.total)


def _cells_as_counted(
    table: PublishedTable, columns: Sequence[str], name: str, counts: CombinationCounts
) -> SensitiveCells:
    """The same, with values named as in private counts and measured against all counted rows."""
    cells = table.cells(columns, name)
    column = counts.columns.index(name)
    texts = counts.values[column].texts
    places = {text: place for place, text in enumerate(texts)}
    unknown = sum(text not in places for text in cells.values.texts)
    if unknown:
        msg = f"column {name!r} of the release shows {unknown} values that the table does not hold"
        raise GuaranteeBrokenError(msg)
    place = np.array([places[text] for text in cells.values.texts], dtype=np.int64)
    value = place[cells.value]
    order = np.lexsort((value, cells.group))
    total = np.zeros(len(texts), dtype=np.int64)
    np.add.at(total, counts.codes[:, column], counts.rows)
    return SensitiveCells(cells.group[order], value[order], cells.rows[order], total)


def _require(criteria: Sequence[Criterion], groups: Groups) -> None:
    """Raise ``GuaranteeBrokenError`` for the first criterion that some group breaks."""
    for criterion in criteria:
        broken = int((~criterion.holds(groups)).sum())
        if broken:
            msg = f"{broken} groups of the release break {dict(criterion.document())}"
            raise GuaranteeBrokenError(msg)


def check_against_history(
    counts: ValueCounts,
    assignment: BlockAssignment,
    history: History,
    k: int,
    e: Decimal,
    adversary: str,
) -> None:
    """Measure what comparing a new release with all earlier ones of its series singles out.

    By set operations on cells (rows of one value first published together), not by the rule that
    the decision followed.  Raises ``GuaranteeBrokenError``.  Cost: O(v m log m) for v versions
    and m cells.
    """
    value, birth = np.nonzero(counts.rows)
    values, range_units = _common_unit(assignment.values, e)
    earlier = [
        _block_of_cells(values, version.blocks, value, birth, version.number)
        for version in history.versions
    ]
    blocks = np.stack([*earlier, assignment.block[value, birth]])
    find = atom_breaches if adversary == "union" else pairwise_breaches
    breaches = find(values.units[value], blocks, k, range_units)
    if breaches:
        msg = f"compared with earlier releases, this one gives away {len(breaches)} sets of rows"
        raise GuaranteeBrokenError(msg)


def _block_of_cells(
    values: ExactNumbers,
    blocks: Blocks,
    value: NDArray[np.int64],
    birth: NDArray[np.int64],
    version: int,
) -> NDArray[np.int64]:
    """The block of each cell in an earlier version, -1 where it was absent."""
    units: NDArray[Any] = values.units[value]
    found = np.full(len(value), -1, dtype=np.int64)
    for batch in np.unique(blocks.batch).tolist():
        members = np.flatnonzero(blocks.batch == batch)
        low = blocks.low[members].rescaled(values.scale).units
        high = blocks.high[members].rescaled(values.scale).units
        place = np.maximum(np.searchsorted(low, units, side="right") - 1, 0)
        inside = (low[place] <= units) & (units <= high[place])
        belongs = birth == batch - 1 if batch else birth < version
        found = np.where(inside & belongs, members[place], found)
    return found


def _common_unit(values: ExactNumbers, e: Decimal) -> tuple[ExactNumbers, int]:
    scale = max(values.scale, decimals_of(e))
    return values.rescaled(scale), units_of(e, scale)
