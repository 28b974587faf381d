"""The publisher of differentially private generalization; see the package's docstring."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Annotated, Any, ClassVar

from pydantic import Field

from voile.disclosure.disclosure import Disclosure, Groups
from voile.dp.sampling import smallest_k
from voile.errors import InfeasibleError, PlanError
from voile.models.k_anonymity import KAnonymity
from voile.publish.dp_generalization.budget import SplitBudget, split_budget
from voile.publish.dp_generalization.decision import (
    Choice,
    ChoiceTerms,
    DrawnNode,
    NodeChoice,
    groups_at,
    hierarchies_of,
)
from voile.publish.dp_generalization.statement import (
    events_of,
    guarantee,
    nothing_published,
    total_delta,
)
from voile.publish.generalization.lattice import Lattice
from voile.publish.generalization.problem import Problem, Solution
from voile.publish.publisher import SingleRelease, Suppressed, refuse_ranking
from voile.publish.shown import recoded, shown_roles
from voile.randomness import Randomness
from voile.release.history import History
from voile.release.payment import Pay, Price, unaccounted
from voile.release.release import PrivateRecord, Publication, Release
from voile.schema.numbers import json_number
from voile.table.decisions import Grouping, Treatment
from voile.table.keeping import KeptRows
from voile.table.private import PrivateTable
from voile.table.published import GROUP
from voile.table.summaries import CombinationCounts, RowSample
from voile.values.value import Number, checked

__all__ = ["DPGeneralization"]

_NAME = "dp-generalization"


@checked(PlanError)
@dataclass(frozen=True)
class DPGeneralization(SingleRelease):
    """Publish a sample, generalized by a node of the lattice that is drawn privately.

    At least one of ``epsilon`` and ``epsilon_choice`` is needed.  Raises ``PlanError`` for
    parameters that cannot be.
    """

    why_no_criteria: ClassVar[str] = (
        "which groups appear would tell of sensitive values, which its budget does not pay for"
    )
    k: Annotated[int, Field(ge=2)]
    """Least number of published rows that share all their published values; at least 2."""
    epsilon: Annotated[Number, Field(gt=0)] | None = None
    """The whole budget, above 0; None: what the choice and the sample cost together."""
    epsilon_choice: Annotated[Number, Field(gt=0)] | None = None
    """The budget of the choice, above 0; None: what the sample leaves of ``epsilon``."""
    beta: Annotated[Number, Field(gt=0, lt=1)] = Decimal("0.7")
    """The probability with which a row is sampled, between 0 and 1, both excluded."""
    delta: Annotated[Number, Field(gt=0, lt=1)] | None = None
    """An upper bound, between 0 and 1; None: delta is what comes of the rest, and is reported."""
    choice: Choice = "expected"
    """Choose the node on what all rows promise ("expected"), or as the seed does ("sampled")."""
    suppressed: Suppressed = "drop"
    """What becomes of rows that are not published."""

    def __post_init__(self) -> None:
        if self.epsilon is None and self.epsilon_choice is None:
            msg = "epsilon (the whole budget) or epsilon_choice (that of the choice) is needed"
            raise PlanError(msg)
        self._split()

    def get_ready(self) -> None:
        """Load the compiled decisions while a table is read."""
        from voile.publish.generalization.grouping import get_ready  # noqa: PLC0415

        get_ready()

    @property
    def carries(self) -> bool:
        """Whether rows that are left out join the next pool of the data set."""
        return self.suppressed == "carry"

    def prepare(
        self,
        table: PrivateTable,
        randomness: Randomness,
        history: History | None = None,
        pay: Pay = unaccounted,
    ) -> Publication:
        """Make a release, and with it what must stay private and what it spends.

        Raises ``PlanError`` for a lattice too large to enumerate and ``TableError`` for bad input,
        before anything is drawn; ``InfeasibleError`` where no group reaches k, which costs as much
        as a release.
        """
        refuse_ranking(table, _NAME)
        columns = table.plan.roles.published
        counts = table.count_combinations(columns)
        hierarchies = hierarchies_of(table.plan, counts)
        nodes = Lattice.enumerable(hierarchies, f'method "{_NAME}"').size
        split = self._split(nodes)
        price = Price(randomness.token("release"), events_of(split, self.choice, nodes))
        pay(price)
        sample = table.sample_rows(self._beta, randomness.within("publish"))
        sampled = table.count_combinations(columns, sample)
        if self.choice == "sampled":
            counts = sampled  # of the same values, which hierarchies are bound to
        terms = ChoiceTerms(self.k, self._beta, split.choice, self.choice)
        problem = Problem(counts, hierarchies, (), suppressible=0)
        node = NodeChoice.of(problem, terms).draw(randomness.key("node"))
        solution = groups_at(replace(problem, counts=sampled, criteria=(KAnonymity(self.k),)), node)
        if not len(solution.columns[0].codes):
            raise InfeasibleError(nothing_published(self.k, split, self.choice, nodes))
        found = Outcome(split, node, solution, sampled, sample)
        return self._publication(table, price, randomness, found)

    @property
    def _beta(self) -> Decimal:
        assert isinstance(self.beta, Decimal)
        return self.beta

    def _split(self, nodes: int = 1) -> SplitBudget:
        """The budget; a bound on delta is shared by the nodes where the sample chooses."""
        epsilon, choice, delta = (
            None if value is None else Decimal(value)
            for value in (self.epsilon, self.epsilon_choice, self.delta)
        )
        if delta is not None and self.choice == "sampled":
            delta /= nodes
        return split_budget(self.k, self._beta, epsilon, choice, delta)

    def _publication(
        self, table: PrivateTable, price: Price, randomness: Randomness, found: Outcome
    ) -> Publication:
        groups = Grouping.of_counts(found.sampled, found.solution.group)
        shown = table.apply(Treatment(found.solution.columns, groups), randomness)
        left_out = table.rows - shown.rows
        carried = left_out if self.suppressed == "carry" else 0
        release = Release(
            table=shown,
            method=self._method(found),
            disclosure=Disclosure(
                columns=recoded(found.solution.columns, found.solution.levels),
                groups=Groups(column=GROUP, made="alike", by=table.plan.roles.published),
                sampled=self._beta,
            ),
            guarantee=guarantee(self.k, self._beta, found.split, self.choice, found.node.nodes),
            roles=shown_roles(table.plan.roles, shown.columns),
            release_id=price.release_id,
            publishable=randomness.publishable,
        )
        shown_groups = len(found.solution.columns[0].codes)
        private = PrivateRecord(
            rows_in=table.rows + table.dropped,
            rows_out=shown.rows,
            suppressed=table.dropped + left_out - carried,
            held=0,
            objective=format(found.node.rounded_utility, "f"),
            decision={"levels": found.solution.levels, "groups": shown_groups},
            notices=(*table.notes, *self._notices(found, table.rows)),
            summary=f"in {shown_groups:,} groups, utility {found.node.rounded_utility:f}",
            carried=carried,
        )
        return Publication(
            release,
            private,
            events=price.events,
            carried=KeptRows.of(table.left_out(groups, found.sample)) if carried else None,
        )

    def _method(self, found: Outcome) -> Mapping[str, Any]:
        return {
            "name": _NAME,
            "k": self.k,
            "epsilon": json_number(found.split.epsilon),
            "epsilon_choice": json_number(found.split.choice),
            "beta": json_number(self._beta),
            "choice": self.choice,
            "decision": {"levels": found.solution.levels},
        }

    def _notices(self, found: Outcome, rows: int) -> Iterator[str]:
        delta = total_delta(found.split, self.choice, found.node.nodes)
        if delta * rows > 1:
            epsilon, wanted = found.split.epsilon, Decimal(1) / (10 * rows)
            share = wanted if self.choice == "expected" else wanted / found.node.nodes
            k = smallest_k(epsilon, share, self._beta, found.split.choice)
            yield (
                f"delta = {delta:.2g} is more than one in {rows:,}: it may give a row away "
                f"entirely. With the same budgets, k = {k} brings it below {wanted:.1g}"
            )


@dataclass(frozen=True, eq=False)
class Outcome:
    """What was decided."""

    split: SplitBudget
    node: DrawnNode
    solution: Solution
    sampled: CombinationCounts
    sample: RowSample
