"""Generalization with a differentially private choice, of a random sample of the rows.

Publishes: a sample of the rows with their values generalized, every published combination of
values shared by at least k rows; numbers become intervals where their hierarchy says so.

Source: "Privacy-Preserving Bin-Packing With Differential Privacy" (IEEE OJ-CS 2022), Algorithm 1,
eqs. 13 to 20, after Li, Qardaji and Su, "On sampling, anonymization, and differential privacy"
(ASIACCS 2012), and Bild, Kuhn and Prasser, "SafePub" (PoPETs 2018).

Guarantee: (epsilon, delta)-differential privacy for one row more or less.  epsilon is the budget
of the choice plus an excess of at least -ln(1 - beta), and delta follows from k, beta and the
excess (``voile.dp.sampling``).  Assumes public hierarchies and parameters.  All published columns
take part: one without a declared hierarchy that is no quasi-identifier is published where k rows
share its very values, for the proof fails as soon as anything about a row of a group shows.

Outcome.  Where no group of the drawn node has k sampled rows the release shows that node and no
row: an output of step (4) like any other, of which the proof of (epsilon, delta) holds as of all
sets of outputs.  So every table has a release, at one and the same price, and whether a release
shows rows tells no more of one row than epsilon and delta allow.  Ending without a release instead
would be seen as well, and whoever may begin again until one comes tells k rows from k - 1 for
certain, at the price of one release.  What ends before anything is drawn (a value outside its
public bounds or unknown to its hierarchy, an empty table, a spent budget) depends on the plan, on
the account and on whether the table is what the plan says, which is assumed.

Persons with several rows (``rows_per_person = m``): at most m rows of each take part
(``publish.contribution``), and neighbours differ in a person with all its rows, so by m rows at
most.  Each step pays for m rows:
- the node: the score of a group moves by at most D with one row, so by m D with m rows, and not
  less where they come to m groups of the most sensitive size.  Utilities stay monotone.
- the sample: (x, delta) with an excess x of at least -m ln(1 - beta) and delta of m rows, which may
  fall into any groups; derived in ``voile.dp.sampling``, where it is less than m steps of one row.
- the least size k counts rows, not persons, as delta does: it hides how often a row was sampled.
Their rows cannot wait for the next pool: the pairing below exchanges rows of one person for rows of
others, and of these again at most m may take part, so the pools would differ in several persons.

Algorithm: (1) the engine counts combinations of values; (2) every node of the lattice gets its
utility, what it publishes times what it leaves of the values (``decision``); (3) the
exponential mechanism draws one of all nodes; (4) each row is sampled with
probability beta, generalized by that node, and published if its group has k rows.

Rows carried over to the next pool (``suppressed = "carry"``): the budgets of successive pools add
up.  Given what a release shows, the rows that it leaves out of two neighbouring tables can be
paired so that they differ in one row: which j rows of a group were published is uniform, so where
the one more row was among them another one of the group waits in its place.  (With ``choice =
"sampled"`` they are not uniform given the node, and this is not proven.)

Cost: one pass over n rows for each count, one roll-up of groups for each of the N nodes of the
lattice (at most ten million), and one pass to publish.

Departures from the source, with ``choice = "expected"``, the default:

- The node is chosen on all rows, before and apart from the sample that is published.  The seed
  chooses it on that sample, and its proof treats the node as chosen without it.  But a node at
  which chance sampled too many rows of a group is then likelier to be chosen: enumeration finds
  a table of five rows whose delta is 0.3616 where eq. 14 says 0.36 (a test has it).  A sum of
  delta over all nodes bounds what can happen.
- The utility is the expected number of published rows, to which one row matters far less than k;
  the draw is sharper at the same budget.
- One row more never lowers a utility, so the exponent needs no factor 1/2 (eq. 18).
- Counts are not divided by the number of rows: that number is private where rows come and go.
  The seed's eps' (eq. 33) is ``epsilon_choice`` * |D| / (2 k).

``choice = "sampled"`` is the seed's version.  There the exponent keeps its factor 1/2 (the proof
exchanges one sampled row for another, eq. 20), and delta is summed over the nodes.  For m rows it
exchanges each that was sampled into a published group for another one of that group, and takes each
that was sampled into a small group out: at most m changes, which move a utility by m k.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field

from voile.disclosure.shown import Disclosure, GroupNumbering
from voile.dp.accounting import PrivacyEvent
from voile.dp.sampling import smallest_k
from voile.models.k_anonymity import KAnonymity as SharedByK
from voile.publish.assembled import recoded, shown_roles
from voile.publish.contribution import Contribution, RowsPerPerson, refuse_carrying
from voile.publish.dp_generalization.decision import (
    Choice,
    ChoiceTerms,
    DrawnNode,
    NodeChoice,
    Sampling,
    SplitBudget,
)
from voile.publish.generalization.evaluation import Evaluator
from voile.publish.generalization.lattice import Lattice
from voile.publish.generalization.problem import Problem, Solution
from voile.publish.publisher import (
    Capabilities,
    MethodCard,
    Parameter,
    SingleRelease,
    Suppressed,
    refuse_ranking,
)
from voile.release.claims import KAnonymityClaim
from voile.release.history import History
from voile.release.method_claims import SampledGeneralization
from voile.release.release import (
    Guarantee,
    Pay,
    Price,
    PrivateRecord,
    Publication,
    Release,
    unaccounted,
)
from voile.schema.hierarchy.generalized import BoundHierarchy, DistinctValues
from voile.schema.numbers import json_number, plain_text
from voile.schema.plan import Plan
from voile.table.decisions import Grouping, Treatment
from voile.table.keeping import KeptRows
from voile.table.private import PrivateTable
from voile.table.published import GROUP
from voile.table.summaries import CombinationCounts, RowSample
from voile_base.errors import PlanError
from voile_base.ondemand import dataclass, on_demand
from voile_base.randomness import Randomness
from voile_base.values.value import Number, checked

if TYPE_CHECKING:
    from voile.publish.generalization import grouping as generalization_grouping
else:
    generalization_grouping = on_demand("voile.publish.generalization.grouping")

__all__ = ["DPGeneralization"]

_NAME = "dp-generalization"
_ASSUMES = (
    "hierarchies, bounds, k, beta and the budget were chosen without looking at the rows",
    "nobody but the custodian learns which rows were sampled, or what a release would have been "
    "that was not published",
)


@dataclass(frozen=True)
class _Terms:
    """On what a release is made: all of it is public."""

    sampling: Sampling
    split: SplitBudget
    choice: Choice
    nodes: int
    """Of which one is drawn."""
    contribution: Contribution

    @property
    def whole(self) -> bool:
        """Whether every row is taken, so that nothing is differentially private."""
        return self.sampling.beta == 1

    @property
    def delta(self) -> Decimal:
        """Delta of the whole release.

        A node chosen on the very sample that is published may favour groups of which chance
        sampled too many; the sum over all nodes bounds what that can do.
        """
        split = self.split
        return (
            split.delta if self.choice == "expected" else min(Decimal(1), split.delta * self.nodes)
        )

    @property
    def events(self) -> tuple[PrivacyEvent, ...]:
        """What the release spends."""
        if self.whole:
            return ()
        split = self.split
        neighbours = self.contribution.neighbours("add-remove")
        name = "sampled-generalization"
        if self.choice == "sampled":
            return (PrivacyEvent(name, split.epsilon, self.delta, neighbours),)
        return (
            PrivacyEvent("exponential", split.choice, neighbours=neighbours),
            PrivacyEvent(name, split.excess, self.delta, neighbours),
        )

    @property
    def guarantee(self) -> Guarantee:
        """What a release promises."""
        if self.whole:
            return self._guarantee_of_a_sample
        k, beta = self.sampling.k, self.sampling.beta
        split, epsilon = self.split, plain_text(self.split.epsilon)
        how = (
            f"each row is published with probability {plain_text(beta)} at most, generalized by a "
            f"node that was drawn with a budget of {plain_text(split.choice)}, and only where at "
            f"least {k} published rows share all their published values"
            f"{self.contribution.taking_part}"
        )
        promise = (
            f"({epsilon}, {self.delta:.3g})-differentially private for "
            f"{self.contribution.somebody} more or less"
        )
        if self.choice == "sampled":
            promise += (
                f" (the source claims delta = {split.delta:.3g}; its proof lets the node be chosen "
                f"without the sample, and a sum over {self.nodes:,} nodes is what holds)"
            )
        claim = SampledGeneralization(
            k=k,
            epsilon=split.epsilon,
            delta=self.delta,
            beta=beta,
            epsilon_choice=split.choice,
            neighbours=self.contribution.neighbours("add-remove"),
            rows_per_person=self.contribution.stated,
        )
        return Guarantee((claim,), f"{promise}: {how}", (self.contribution.assumed, *_ASSUMES))

    @property
    def _guarantee_of_a_sample(self) -> Guarantee:
        """Without sampling, k-anonymity alone: what the seed's experiments publish."""
        k, choice = self.sampling.k, plain_text(self.split.choice)
        statement = (
            f"{k}-anonymous: at least {k} published rows share all their published values, by a "
            f"node that was drawn with a budget of {choice}. This is NOT differential privacy: "
            "with beta = 1 every row is taken, as in the paper's experiments, where the table is a "
            "sample already"
        )
        claim = KAnonymityClaim(k=k, suppression_limit=Decimal(1))
        return Guarantee((claim,), statement, (self.contribution.assumed,))

    @property
    def nothing_shown(self) -> str:
        """Why a release shows no row, what would help, and what it has cost to learn that."""
        return (
            f"no row is shown: the node that was drawn leaves no group of {self.sampling.k} "
            "sampled rows. That is what this release says, and what its epsilon and delta pay for; "
            "another one costs as much again. Lower k, raise the budget of the choice, or give the "
            "columns hierarchies with a level at which more rows agree; columns without one (and "
            "those with other roles than quasi-identifier) stay as they are"
        )


@checked(PlanError)
@dataclass(frozen=True)
class DPGeneralization(SingleRelease):
    """Publish a sample, generalized by a node of the lattice that is drawn privately.

    At least one of ``epsilon`` and ``epsilon_choice`` is needed.  Raises ``PlanError`` for
    parameters that cannot be.
    """

    capabilities: ClassVar[Capabilities] = Capabilities(
        persons=True,
        no_criteria=(
            "which groups appear would tell of sensitive values, which its budget does not pay for"
        ),
        card=MethodCard(
            "dp-generalization",
            "Differentially private generalization",
            "Differential privacy: whether somebody is in the table hardly changes what is "
            "published, whatever others know.",
            "A sample of the rows, all columns coarser, and a budget that does not come back.",
            "the table has fewer than a few thousand rows, or every row is needed.",
            (
                Parameter(
                    "k",
                    "k",
                    ("2", "3", "5", "10", "20", "50", "100"),
                    ("20",),
                    "rows alike, at least",
                ),
                Parameter(
                    "epsilon",
                    "epsilon",
                    ("1.5", "2", "3", "4", "6"),
                    ("2", "3"),
                    "the loss of privacy; above 1.204, which a sample of 70 % of the rows "
                    "costs alone",
                ),
            ),
        ),
    )

    k: Annotated[int, Field(ge=2)]
    """Least number of published rows that share all their published values; at least 2."""
    epsilon: Annotated[Number, Field(gt=0)] | None = None
    """The whole budget, above 0; None: what the choice and the sample cost together."""
    epsilon_choice: Annotated[Number, Field(gt=0)] | None = None
    """The budget of the choice, above 0; None: what the sample leaves of ``epsilon``."""
    beta: Annotated[Number, Field(gt=0, le=1)] = Decimal("0.7")
    """The probability with which a row is sampled, above 0 and below 1.

    1 takes every row, as the seed's experiments do, whose tables are samples already: of the choice
    "sampled" alone, and then nothing is differentially private."""
    delta: Annotated[Number, Field(gt=0, lt=1)] | None = None
    """An upper bound, between 0 and 1; None: delta is what comes of the rest, and is reported."""
    choice: Choice = "expected"
    """Choose the node on what all rows promise ("expected"), or as the seed does ("sampled")."""
    suppression_weight: Annotated[int, Field(ge=0, le=100)] = 0
    """Weight w of suppression in the utility sup * (w + gen) / (w + 1); 0 is the seed's eq. 15."""
    suppressed: Suppressed = "drop"
    """What becomes of rows that are not published."""
    rows_per_person: RowsPerPerson | None = None
    """Rows of a person, or of a household, that take part at most; None: persons have one row."""

    def __post_init__(self) -> None:
        if self.epsilon is None and self.epsilon_choice is None:
            msg = "epsilon (the whole budget) or epsilon_choice (that of the choice) is needed"
            raise PlanError(msg)
        if self._beta == 1:
            self._refuse_without_sampling()
        if self.carries:
            refuse_carrying(self.rows_per_person)
        self._split()

    def get_ready(self) -> None:
        """Load the compiled decisions while a table is read."""
        generalization_grouping.get_ready()

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

        Where no group reaches k the release shows no row; see the package's docstring.  Raises
        ``PlanError`` for a lattice too large to enumerate and ``TableError`` for bad input, before
        anything is drawn.
        """
        refuse_ranking(table, _NAME)
        contribution = Contribution.of(table, self.rows_per_person, _NAME)
        columns = table.plan.roles.published
        counts = table.count_combinations(columns)
        nodes = Lattice.enumerable(_hierarchies_of(table.plan, counts), f'method "{_NAME}"').size
        terms = _Terms(self._sampling, self._split(nodes), self.choice, nodes, contribution)
        price = Price(randomness.token("release"), terms.events)
        pay(price)
        taking_part = contribution.bounded(table, randomness)
        if taking_part is not table:
            counts = taking_part.count_combinations(columns)
        sample = None
        if not terms.whole:
            sample = taking_part.sample_rows(self._beta, randomness.within("publish"))
        sampled = taking_part.count_combinations(columns, sample)
        if self.choice == "sampled":
            counts = sampled  # of the same values, which hierarchies are bound to
        problem = Problem(counts, _hierarchies_of(table.plan, counts), (), suppressible=0)
        node = NodeChoice.of(problem, self._choice_terms(terms)).draw(randomness.key("node"))
        solution = _groups_at(replace(problem, counts=sampled, criteria=(SharedByK(self.k),)), node)
        found = _SampledRelease(terms, node, solution, sampled, sample)
        publication = self._publication(taking_part, price, randomness, found)
        return contribution.told(publication, table.rows)

    @property
    def _beta(self) -> Decimal:
        assert isinstance(self.beta, Decimal)
        return self.beta

    @property
    def _sampling(self) -> Sampling:
        return Sampling(self.k, self._beta, self.rows_per_person or 1)

    def _choice_terms(self, terms: _Terms) -> ChoiceTerms:
        sampling = terms.sampling
        return ChoiceTerms(
            sampling.k,
            sampling.beta,
            terms.split.choice,
            self.choice,
            sampling.rows,
            self.suppression_weight,
        )

    def _refuse_without_sampling(self) -> None:
        """Raise ``PlanError`` for what needs a sample, where beta = 1 draws none."""
        given = {
            'choice = "expected"': self.choice == "expected",
            "epsilon": self.epsilon is not None,
            "delta": self.delta is not None,
            "rows_per_person": self.rows_per_person is not None,
        }
        if named := [name for name, present in given.items() if present]:
            msg = (
                "beta = 1 takes every row, so that nothing is differentially private; it is the "
                'version of the paper\'s experiments and goes with choice = "sampled" and '
                f"epsilon_choice alone, not with {', '.join(named)}. Name a beta below 1"
            )
            raise PlanError(msg)

    def _split(self, nodes: int = 1) -> SplitBudget:
        """The budget; a bound on delta is shared by the nodes where the sample chooses."""
        epsilon, choice, delta = (
            None if value is None else Decimal(value)
            for value in (self.epsilon, self.epsilon_choice, self.delta)
        )
        if self._beta == 1:
            assert choice is not None
            return SplitBudget(choice, excess=Decimal(0), delta=Decimal(1))
        if delta is not None and self.choice == "sampled":
            delta /= nodes
        return self._sampling.split_budget(epsilon, choice, delta)

    def _publication(
        self, table: PrivateTable, price: Price, randomness: Randomness, found: _SampledRelease
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
                groups=GroupNumbering(column=GROUP, made="alike", by=table.plan.roles.published),
                sampled=None if found.terms.whole else self._beta,
            ),
            guarantee=found.terms.guarantee,
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

    def _method(self, found: _SampledRelease) -> Mapping[str, object]:
        return {
            "name": _NAME,
            "k": self.k,
            "epsilon": json_number(found.terms.split.epsilon),
            "epsilon_choice": json_number(found.terms.split.choice),
            "beta": json_number(self._beta),
            "choice": self.choice,
            **({"suppression_weight": self.suppression_weight} if self.suppression_weight else {}),
            **({"rows_per_person": self.rows_per_person} if self.rows_per_person else {}),
            "decision": {"levels": found.solution.levels},
        }

    def _notices(self, found: _SampledRelease, rows: int) -> Iterator[str]:
        terms = found.terms
        if not len(found.solution.columns[0].codes):
            yield terms.nothing_shown
        if terms.whole:
            yield ("every row was taken: this is not differential privacy, and no budget is spent")
        elif terms.delta * rows > 1:
            split, wanted = terms.split, Decimal(1) / (10 * rows)
            share = wanted if self.choice == "expected" else wanted / terms.nodes
            k = smallest_k(split.epsilon, share, self._beta, split.choice, terms.sampling.rows)
            yield (
                f"delta = {terms.delta:.2g} is more than one in {rows:,}: it may give a row away "
                f"entirely. With the same budgets, k = {k} brings it below {wanted:.1g}"
            )


def _hierarchies_of(plan: Plan, counts: CombinationCounts) -> tuple[BoundHierarchy, ...]:
    """The hierarchy of each counted column; all but quasi-identifiers need one declared.

    A published column without one stands in the lattice with the single level of its own values:
    what is published as it is must be shared by k rows too, or it would give a row away.
    """
    return tuple(
        _hierarchy(plan, name, values)
        for name, values in zip(counts.columns, counts.values, strict=True)
    )


def _hierarchy(plan: Plan, column: str, values: DistinctValues) -> BoundHierarchy:
    declared = plan.column(column)
    bound = declared.bind_hierarchy(column, values)
    if declared.hierarchy or column in plan.roles.quasi_identifiers:
        return bound
    return BoundHierarchy(column, bound.codes[:1], bound.values[:1])


def _groups_at(problem: Problem, node: DrawnNode) -> Solution:
    """The groups of the sampled rows at a node, those of fewer than k rows left out."""
    evaluator = Evaluator(problem)
    return evaluator.solution(evaluator.evaluate(node.levels), node.nodes)


@dataclass(frozen=True, eq=False)
class _SampledRelease:
    """What was decided."""

    terms: _Terms
    node: DrawnNode
    solution: Solution
    sampled: CombinationCounts
    sample: RowSample | None
