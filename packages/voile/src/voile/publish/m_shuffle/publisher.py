"""The publisher of M-Shuffle, and what is said of it; see the package's docstring.

What it promises, and what it does not, and what ``release.json`` says of the choice, are public;
notices are told to the custodian alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from voile.disclosure.exact import Permuted
from voile.disclosure.shown import Disclosure, GroupNumbering
from voile.models.permutation import chance_information, whole_column_log_probability
from voile.publish.assembled import exactly, shown_roles
from voile.publish.contribution import assumed_of_units, stated_unit
from voile.publish.m_shuffle.clustering import Clustering, Labels, SensitiveValues, Start
from voile.publish.m_shuffle.decision import (
    ClusteredColumn,
    Division,
    Probability,
    Rule,
    RuleName,
    ShuffleChoice,
    ShuffleLimits,
    log_probability,
)
from voile.publish.publisher import (
    Capabilities,
    MethodCard,
    Parameter,
    SingleRelease,
    refuse_ranking,
    refuse_telling_quasi_identifiers,
)
from voile.release.check import check_units_of_groups
from voile.release.history import History
from voile.release.method_claims import PermutationWithinClusters
from voile.release.release import (
    Guarantee,
    LeftOpen,
    Pay,
    PrivateRecord,
    Publication,
    Release,
    unaccounted,
)
from voile.schema.numbers import json_number, unscaled
from voile.schema.roles import Protected, Roles
from voile.table.decisions import Grouping, PermutedColumn, Treatment
from voile.table.private import PrivateTable
from voile.table.published import GROUP
from voile.table.summaries import GroupCounts
from voile_base.errors import InfeasibleError, PlanError, nearest
from voile_base.ondemand import dataclass, on_demand
from voile_base.randomness import Randomness
from voile_base.values import Json
from voile_base.values.value import KeptAs, Number, Says, Several, checked

if TYPE_CHECKING:
    from voile.publish.m_shuffle import clustering as m_shuffle_clustering
    from voile.publish.m_shuffle import decision as m_shuffle_decision
else:
    m_shuffle_clustering = on_demand("voile.publish.m_shuffle.clustering")
    m_shuffle_decision = on_demand("voile.publish.m_shuffle.decision")

__all__ = ["MShuffle", "Scale"]

_ASSUMES = (
    "{whose}",
    "no other published data is derived from the same rows: a second shuffle with other clusters "
    "narrows down which values belong together",
    "permuted columns do not follow from columns that stay, nor from each other: a city beside a "
    "permuted zip code, or a permuted education beside its code, puts the two together again",
)
_CHOSEN = LeftOpen(
    "how many clusters and columns there are was chosen by how the rows go together; what the "
    "choice itself tells about them is not protected"
)


def _guarantee(
    roles: Roles,
    choice: ShuffleChoice,
    permuted: Sequence[ClusteredColumn],
    sizes: Sequence[int],
    *,
    chosen: bool,
) -> Guarantee:
    """What the release promises; ``chosen`` where the numbers of clusters and columns were.

    ``sizes`` are the rows of each cluster.
    """
    arrangements = sum(column.log_arrangements for column in permuted)
    claim = PermutationWithinClusters(
        clusters=choice.division.clusters,
        permuted=choice.permuted,
        log_arrangements=arrangements,
        sizes=tuple(sizes),
        unit=stated_unit(roles.protected),
    )
    statement = (
        f"{_permuted(roles, choice, arrangements)}{_among_whom(roles.protected)}. "
        f"{_what_remains(roles, choice)}"
    )
    assumes = [each.replace("{whose}", assumed_of_units(roles.protected)) for each in _ASSUMES]
    if chosen:
        assumes.append(_CHOSEN)
    if roles.protected != "row":
        assumes.append(_known_rows(roles.protected))
    return Guarantee((claim,), statement, tuple(assumes))


def _one_alone(roles: Roles, alone: int, labels: Labels) -> InfeasibleError:
    """Clusters of the rows of one person hide nothing of that person."""
    clusters, protected = int(labels.max()) + 1, roles.protected
    return InfeasibleError(
        f"of {clusters:,} clusters of like values of {_named(roles.sensitive)}, {alone:,} "
        f"{'has' if alone == 1 else 'have'} the rows of one {protected} alone, within which "
        "permuting hides nothing; ask for fewer clusters, make categories coarser, or leave these "
        "rows out"
    )


def _among_whom(protected: Protected) -> str:
    """Whose rows stand in a cluster, where they may be of one person."""
    if protected == "row":
        return ""
    return (
        f"; each cluster has rows of at least 2 {protected}s, and a value that moves between two "
        f"rows of one {protected} hides nothing"
    )


def _known_rows(protected: Protected) -> str:
    """What those learn who know rows of a person."""
    return LeftOpen(
        f"who knows a {protected} knows one of its rows: somebody who knows several finds a "
        f"cluster for each, and can intersect what stands in these clusters on what stays the same "
        f"for the {protected}; nothing is promised of what that leaves"
    )


def _permuted(roles: Roles, choice: ShuffleChoice, arrangements: float) -> str:
    """What was done, and how likely each outcome is."""
    clusters = choice.division.clusters
    were = "were each permuted" if len(choice.permuted) > 1 else "were permuted"
    independently = " and independently of each other" if len(choice.permuted) > 1 else ""
    within = (
        f"within {clusters} clusters of rows with like values of {_named(roles.sensitive)}"
        if clusters > 1
        else "over all rows"
    )
    return (
        f"the values of {_named(choice.permuted)} {were} uniformly{independently} {within}: each "
        f"of their e^{arrangements:.6g} distinct arrangements is equally likely"
    )


def _what_remains(roles: Roles, choice: ShuffleChoice) -> str:
    """What an adversary who knows all columns that stay still learns."""
    stays = [name for name in roles.quasi_identifiers if name not in choice.permuted]
    found = (
        f"who knows a person's {_named(stays)} finds the rows that share them exactly as in the "
        f"private table, with the true {_named([*roles.sensitive, *roles.keep])} beside them,"
        if stays
        else f"who knows a person's {_named(roles.sensitive)} finds the cluster"
    )
    return (
        f"This is NOT k-anonymity and NOT differential privacy: {found} and learns which values of "
        f"{_named(choice.permuted)} stand in that cluster and how often; where all rows of a "
        "cluster hold the same one, it is everybody's"
    )


def _named(columns: Sequence[str]) -> str:
    """Names of columns as a sentence holds them."""
    *first, last = map(repr, columns)
    return f"{', '.join(first)} and {last}" if first else last


def _published_decision(values: SensitiveValues, choice: ShuffleChoice, rows: int) -> Json:
    """What the release shows of the choice anyway: it is all computed from counts in clusters."""
    columns, kinds, permuted = choice.division.columns, choice.kinds, choice.permuted
    return {
        "clusters": _clusters(values, choice.division),
        "permuted": list(permuted),
        "log_p_table": round(len(permuted) * whole_column_log_probability(rows), 6),
        "columns": {
            column.name: column.document(kinds[column.name], permuted=column.name in permuted)
            for column in columns
        },
    }


def _notices(choice: ShuffleChoice) -> Iterator[str]:
    """What a custodian should know about the choice."""
    clusters = choice.division.clusters
    for column in choice.division.columns:
        kind = choice.kinds[column.name]
        if column.distinct == 1:
            yield f"column {column.name!r} holds one value only: there is nothing to permute"
        elif column.name not in choice.permuted:
            continue
        elif kind == "QIA":
            yield (
                f"column {column.name!r} is permuted though it is QIA (tie {column.tie:.3g}, "
                f"entropy {column.entropy:.3g}): what it tells about the sensitive columns "
                "within clusters is lost"
            )
        elif kind == "QIB":
            yield (
                f"column {column.name!r} is permuted though it holds two values (QIB): a row "
                f"gets its own back with probability {column.chance_per_row:.3g} on average"
            )
        if column.distinct > 1 and column.constant_clusters:
            yield (
                f"column {column.name!r} holds one value in {column.constant_clusters} of "
                f"{clusters} clusters, where everybody's value stays known"
            )


def _clusters(values: SensitiveValues, division: Division) -> list[Json]:
    """Rows of each cluster and its sensitive values, which the release shows."""
    counts = values.counts
    rows = np.bincount(division.labels, weights=counts.rows).astype(np.int64)
    described: list[Json] = [{"rows": count, "values": {}} for count in rows.tolist()]
    order = np.argsort(division.labels, kind="stable")
    first = np.searchsorted(division.labels[order], np.arange(division.clusters))
    for index, name in enumerate(counts.columns):
        codes = counts.codes[order, index]
        ends = (np.minimum.reduceat(codes, first), np.maximum.reduceat(codes, first))
        for cluster, (low, high) in enumerate(zip(*(e.tolist() for e in ends), strict=True)):
            described[cluster]["values"][name] = _shown(values, index, low, high)
    return described


def _shown(values: SensitiveValues, index: int, low: int, high: int) -> Any:
    """The range of a numeric column, or the category."""
    distinct = values.counts.values[index]
    if distinct.numbers is None:
        return distinct.texts[low]
    scale = distinct.numbers.scale
    low, high = (int(distinct.numbers.units[code]) for code in (low, high))
    return {"low": json_number(unscaled(low, scale)), "high": json_number(unscaled(high, scale))}


_NAME = "m-shuffle"
_TIE = Decimal("0.05")
"""Weakly tied columns of a census stay below; age and marriage, trade and education reach 0.1."""
_MOST_CLUSTERS = 50
"""How many clusters the automatic choice tries; more hardly differ from none."""

Scale = Literal["standardized", "units"]
"""How far apart several sensitive numbers are: in standard deviations, or in their own units."""


def _different(names: tuple[str, ...] | int) -> tuple[str, ...] | int:
    if isinstance(names, tuple) and len(set(names)) < len(names):
        raise PydanticCustomError("different", "different columns")
    return names


Columns = Annotated[
    Sequence[str] | int,
    KeptAs(
        Annotated[
            Annotated[Several[str], Field(min_length=1)] | Annotated[int, Field(ge=1)],
            AfterValidator(_different),
        ]
    ),
    Says(
        'names of different quasi-identifiers, such as ["zip", "age"], or how many of them to '
        "permute, at least 1"
    ),
]
"""Names of columns to permute, or how many."""


def _checked_rule(
    rule: RuleName | None, tie_threshold: object | None, entropy_threshold: object | None
) -> RuleName:
    """The rule that is named, or that the threshold belongs to; raises ``PlanError``."""
    if rule is None:
        rule = "mutual-information" if entropy_threshold is None else "entropy"
    if rule == "entropy" and entropy_threshold is None:
        msg = 'rule = "entropy" needs entropy_threshold, in nats'
        raise PlanError(msg)
    other = entropy_threshold if rule == "mutual-information" else tie_threshold
    if other is not None:
        name = "entropy_threshold" if rule == "mutual-information" else "tie_threshold"
        msg = f'{name} is not of use with rule = "{rule}"; leave one of them out'
        raise PlanError(msg)
    return rule


def _check_limits(given: Mapping[str, object]) -> None:
    """Raise ``PlanError`` unless clusters and columns are either given or chosen by two limits."""
    limits = [given["max_divergence"] is None, given["max_log_probability"] is None]
    if any(limits) and not all(limits):
        msg = (
            "max_divergence and max_log_probability choose clusters and columns together; give "
            "both, or neither"
        )
        raise PlanError(msg)
    also = [name for name in ("clusters", "columns") if given[name] is not None]
    if also and not any(limits):
        msg = (
            "max_divergence and max_log_probability choose clusters and columns; leave out "
            f"{' and '.join(also)}, or the two limits"
        )
        raise PlanError(msg)


def _check_clusters(
    ranges: Sequence[Decimal | float] | None, clusters: int | None, start: Start, *, chosen: bool
) -> None:
    """Raise ``PlanError`` where clusters are asked for in two ways, or ranges do not ascend."""
    if ranges is None:
        return
    if any(low >= high for low, high in pairwise(ranges)):
        msg = "ranges must ascend: each end above the one before"
        raise PlanError(msg)
    others = {
        "clusters": clusters is not None,
        'start = "random"': start == "random",
        "max_divergence and max_log_probability": chosen,
    }
    if also := [name for name, is_given in others.items() if is_given]:
        msg = f"ranges says what the clusters are; leave out {' and '.join(also)}, or ranges"
        raise PlanError(msg)


@checked(PlanError)
@dataclass(frozen=True)
class MShuffle(SingleRelease):
    """Permute weakly tied quasi-identifiers within clusters of like sensitive values.

    Either ``clusters`` and ``columns``, or both limits ``max_divergence`` and
    ``max_log_probability``, which choose them.  Raises ``PlanError`` for parameters that cannot be.
    """

    capabilities: ClassVar[Capabilities] = Capabilities(
        persons=True,
        exact_quasi_identifiers=True,
        exact_kept=True,
        no_criteria=(
            "its clusters are rows whose sensitive values are alike, which is what criteria forbid"
        ),
        no_series=(
            "each release shows how often every value of every column stands in the table, so that "
            "the difference of two releases is the row of whoever came or left between them, "
            "however their clusters are cut"
        ),
        card=MethodCard(
            "m-shuffle",
            "Shuffle columns within clusters",
            "Every true value stays, but which belong together is one of very many arrangements. "
            "It is no anonymity.",
            "What the shuffled columns had to do with the others.",
            "the file goes to people who are not trusted.",
            (
                Parameter(
                    "clusters",
                    "clusters",
                    ("4", "16", "64", "256"),
                    ("16", "64"),
                    "groups of like rows to shuffle within",
                ),
            ),
        ),
    )

    clusters: Annotated[
        int | None,
        Field(ge=1),
        Says("a whole number of at least 1: how many clusters rows are divided into"),
    ] = None
    """K, at least 1; None: one for each combination of categories, or chosen by the limits."""
    columns: Columns | None = None
    """What to permute: names, or how many by rank; None: all weakly tied ones, or chosen."""
    rule: RuleName | None = None
    """What makes a column weakly tied; None: by entropy where its threshold is given."""
    tie_threshold: Annotated[Number, Field(ge=0, le=1)] | None = None
    """Ties above it are strong, 0 to 1; for rule "mutual-information", where None is 0.05."""
    entropy_threshold: Annotated[Number, Field(ge=0)] | None = None
    """H0 in nats: columns of more entropy are weakly tied; for rule "entropy"."""
    max_divergence: Annotated[Number, Field(ge=0)] | None = None
    """The most that the release may diverge from the table on average, in nats; at least 0."""
    max_log_probability: Annotated[Number, Field(le=0)] | None = None
    """The most that the log of the probability of guessing the columns may be; at most 0."""
    probability: Probability = "arrangements"
    """What counts as a guess: a distinct arrangement, or the seed's (1/n)^n for each column."""
    scale: Scale = "standardized"
    """How several numeric sensitive columns are compared."""
    start: Start = "optimal"
    """How one sensitive number is divided: at best, or by the seed's k-means from random rows."""
    ranges: (
        Annotated[
            Several[Number],
            Field(min_length=1),
            Says("the ends between ranges of the sensitive number, such as [2000, 3500, 5000]"),
        ]
        | None
    ) = None
    """Public ends of fixed ranges of one sensitive number, ascending, in place of ``clusters``."""

    def __post_init__(self) -> None:
        rule = _checked_rule(self.rule, self.tie_threshold, self.entropy_threshold)
        if rule == "mutual-information" and self.tie_threshold is None:
            object.__setattr__(self, "tie_threshold", _TIE)
        object.__setattr__(self, "rule", rule)
        _check_limits({field.name: getattr(self, field.name) for field in fields(self)})
        _check_clusters(self.ranges, self.clusters, self.start, chosen=self._chosen)
        if self.probability == "paper" and not self._chosen:
            msg = (
                'probability = "paper" is what max_log_probability limits; give both limits, or '
                "leave it out: every release states log_p_table"
            )
            raise PlanError(msg)

    def get_ready(self) -> None:
        """Load compiled code while a table is read."""
        whole = np.arange(2, dtype=np.int64)
        m_shuffle_clustering.Segments.optimal(whole.astype(np.float64), np.ones(2), 0 * whole, 1)
        chance_information(whole + 1, whole + 1)
        if self._chosen:
            m_shuffle_decision.measured_columns(
                [GroupCounts("", whole, whole, whole + 1)], whole + 1, [whole]
            )

    def prepare(
        self,
        table: PrivateTable,
        randomness: Randomness,
        history: History | None = None,
        pay: Pay = unaccounted,
    ) -> Publication:
        """Make a release, and with it what must stay private.

        Raises ``PlanError`` where roles, clusters or columns do not fit the table,
        ``InfeasibleError`` where no choice keeps to both limits or nothing can be permuted,
        ``TableError`` for bad input, ``InputError`` where scikit-learn is needed and absent.
        """
        refuse_ranking(table, _NAME)
        refuse_telling_quasi_identifiers(table)
        self._check_roles(table)
        roles = table.plan.roles
        values = SensitiveValues(table.count_combinations(roles.sensitive))
        self._check_values(table, values)
        clustering = self._clustering(values, randomness)
        choice = self._choice(table, values, clustering)
        permuted = [column for column in choice.division.columns if column.name in choice.permuted]
        if not any(column.log_arrangements for column in permuted):
            msg = (
                "in each cluster every permuted column holds one value, so that permuting changes "
                "nothing and the table itself would be published; ask for fewer clusters, or "
                "permute other columns"
            )
            raise InfeasibleError(msg)
        groups = Grouping.of_counts(values.counts, choice.division.labels)
        columns = tuple(PermutedColumn(name) for name in choice.permuted)
        shown, whose = table.apply_counted(Treatment(columns, groups), randomness)
        if whose is not None:
            check_units_of_groups(whose, GROUP, 2)
        decision = _published_decision(values, choice, table.rows)
        release = Release(
            table=shown,
            method={**self._parameters(), "decision": decision},
            disclosure=Disclosure(
                columns=exactly(roles.published) | dict.fromkeys(choice.permuted, Permuted()),
                groups=GroupNumbering(column=GROUP, made="clusters", by=roles.sensitive),
            ),
            guarantee=_guarantee(
                roles,
                choice,
                permuted,
                [cluster["rows"] for cluster in decision["clusters"]],
                chosen=self._chosen,
            ),
            roles=shown_roles(roles, shown.columns),
            release_id=randomness.token("release"),
            publishable=randomness.publishable,
        )
        return Publication(release, self._private(table, choice))

    def _clustering(self, values: SensitiveValues, randomness: Randomness) -> Clustering:
        """The ways to divide the sensitive values."""
        if self.ranges is not None:
            return values.fixed_ranges([Decimal(end) for end in self.ranges])
        return values.cluster(
            self.clusters or (_MOST_CLUSTERS if self._chosen else 1),
            randomness.key("clusters"),
            standardized=self.scale == "standardized",
            start=self.start,
        )

    @property
    def _chosen(self) -> bool:
        """Whether limits choose clusters and columns."""
        return self.max_divergence is not None

    @property
    def _rule(self) -> Rule:
        threshold = self.entropy_threshold if self.rule == "entropy" else self.tie_threshold
        assert self.rule is not None
        assert threshold is not None
        return Rule(self.rule, float(threshold))

    def _check_roles(self, table: PrivateTable) -> None:
        roles = table.plan.roles
        for role, why in (
            ("sensitive", "clusters rows by these"),
            ("quasi_identifiers", "permutes some of these"),
        ):
            if not getattr(roles, role):
                msg = f"[roles] {role} names no column; {_NAME} {why}"
                raise PlanError(msg)
        for name in self.columns if isinstance(self.columns, tuple) else ():
            if name not in roles.quasi_identifiers:
                msg = (
                    f"[method] columns names {name!r}, which is no quasi-identifier of the plan"
                    f"{nearest(name, roles.quasi_identifiers)}; only these are permuted"
                )
                raise PlanError(msg)

    def _check_values(self, table: PrivateTable, values: SensitiveValues) -> None:
        """Whether the sensitive values can be divided as is asked."""
        columns = values.counts.columns
        for index in values.numeric:
            if values.counts.values[index].missing:
                table.count_values(columns[index])  # says in which row, and how to mend it
        distinct = len(values.counts.rows)
        categories = int(values.categories.max(initial=-1)) + 1
        if not distinct:
            msg = "the table has no rows, so there is nothing to permute"
        elif self.ranges is not None:
            return
        elif self.clusters is None and len(values.numeric) == len(columns) and not self._chosen:
            msg = (
                f"[method] clusters is needed: numbers, such as those of {_named(columns)}, do not "
                "say how many clusters there are; give it, or max_divergence and "
                "max_log_probability"
            )
        elif self.clusters is not None and self.clusters > distinct:
            msg = (
                f"[method] clusters = {self.clusters}, but there are only {distinct:,} distinct "
                f"values of {_named(columns)}; give at most {distinct:,}"
            )
        elif self.clusters is not None and self.clusters < categories:
            msg = (
                f"[method] clusters = {self.clusters}, but there are {categories:,} categories "
                f"of {_named(columns)}, and each is a cluster of its own; give at least "
                f"{categories:,}, or leave clusters out"
            )
        else:
            return
        raise PlanError(msg)

    def _choice(
        self, table: PrivateTable, values: SensitiveValues, clustering: Clustering
    ) -> ShuffleChoice:
        roles, sensitive = table.plan.roles, values.counts
        names = roles.quasi_identifiers
        if self.max_divergence is not None and self.max_log_probability is not None:
            each = np.arange(len(sensitive.rows))  # by combination, for any clusters of these
            counts = table.count_in_groups(Grouping.of_counts(sensitive, each), names)
            limits = ShuffleLimits(
                float(self.max_divergence), float(self.max_log_probability), self.probability
            )
            together = table.count_combinations(roles.published)
            numbers = range(clustering.fewest, clustering.most + 1)
            divisions = [clustering.labels(number) for number in numbers]
            mixed = [labels for labels in divisions if not values.of_one_alone(labels)]
            if not mixed:
                raise _one_alone(roles, values.of_one_alone(divisions[0]), divisions[0])
            return ShuffleChoice.make(counts, together, mixed, self._rule, limits)
        labels = clustering.labels(self.clusters or clustering.fewest)
        if alone := values.of_one_alone(labels):
            raise _one_alone(roles, alone, labels)
        counts = table.count_in_groups(Grouping.of_counts(sensitive, labels), names)
        columns = tuple(ClusteredColumn.of(column) for column in counts)
        weighed = tuple(ClusteredColumn.of(column.weighed) for column in counts)
        chosen = self._permuted(weighed)
        permuted = [column for column in weighed if column.name in chosen]
        return ShuffleChoice(
            division=Division(labels, int(labels.max()) + 1, columns),
            kinds={column.name: self._rule.kind(column) for column in weighed},
            permuted=tuple(column.name for column in permuted),
            log_probability=log_probability(permuted, table.units, self.probability),
        )

    def _permuted(self, columns: Sequence[ClusteredColumn]) -> Sequence[str]:
        """Names of the columns to permute."""
        if not isinstance(self.columns, tuple):
            wanted = self.columns if isinstance(self.columns, int) else None
            return [column.name for column in _weakest(columns, self._rule, wanted)]
        for column in columns:
            if column.name in self.columns and column.distinct == 1:
                msg = (
                    f"[method] columns names {column.name!r}, which holds one value only, so there "
                    "is nothing to permute; leave it out of columns"
                )
                raise PlanError(msg)
        return self.columns

    def _parameters(self) -> Json:
        """The method as it was asked for; what was not given is left out."""
        given: Json = {"name": _NAME}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, Decimal):
                given[field.name] = json_number(value)
            elif value is not None:
                given[field.name] = _plain(value)
        return given

    def _private(self, table: PrivateTable, choice: ShuffleChoice) -> PrivateRecord:
        clusters = choice.division.clusters
        decision: Json = {
            "clusters": clusters,
            "permuted": list(choice.permuted),
            "log_probability": choice.log_probability,
        }
        if choice.divergence is not None:
            decision["divergence"] = choice.divergence
        are = "is" if len(choice.permuted) == 1 else "are"
        return PrivateRecord(
            rows_in=table.rows + table.dropped,
            rows_out=table.rows,
            suppressed=table.dropped,
            held=0,
            objective=f"{choice.log_probability:.12g}",
            decision=decision,
            notices=(*table.notes, *_notices(choice)),
            summary=f"in {clusters} cluster{'s' * (clusters != 1)}, within which "
            f"{_named(choice.permuted)} {are} permuted",
        )


def _weakest(
    columns: Sequence[ClusteredColumn], rule: Rule, wanted: int | None
) -> list[ClusteredColumn]:
    """The first ``wanted`` QIC columns by rank, or all of them.

    Raises ``PlanError`` where there are none, or fewer than are wanted.
    """
    ranked = rule.ranked(columns)
    if ranked and (wanted is None or wanted <= len(ranked)):
        return ranked[:wanted]
    kinds = [rule.kind(column) for column in columns]
    binary, strong = kinds.count("QIB"), kinds.count("QIA")
    measure = "an entropy of at most" if rule.name == "entropy" else "a tie to the clusters above"
    mend = "lower" if rule.name == "entropy" else "raise"
    few = f"only {len(ranked)} quasi-identifiers are" if ranked else "no quasi-identifier is"
    asked = f"columns = {wanted}, but {few}" if ranked else few
    msg = (
        f"{asked} weakly tied to the sensitive columns (QIC): of {len(columns)}, {binary} hold at "
        f"most two values (QIB), and {strong} have {measure} {rule.parameter} = "
        f"{rule.threshold:g} (QIA); {mend} {rule.parameter}, or name in columns what to permute"
    )
    raise PlanError(msg)


def _plain(value: object) -> Any:
    """A parameter as JSON has it."""
    if not isinstance(value, tuple):
        return value
    return [json_number(each) if isinstance(each, Decimal) else each for each in value]
