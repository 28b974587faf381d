"""(k,e)-anonymity: blocks of rows whose sensitive values are permuted within the block.

Publishes every quasi-identifier and kept column as it is, the sensitive values permuted uniformly
at random within blocks, and the number of the block.  Sums and averages over blocks stay exact;
over any set of rows they have guaranteed bounds (``voile.query``).

Source: Zhang, Koudas, Srivastava and Yu, "Aggregate query answering on anonymized tables" (ICDE
2007), section 3; for series of releases, the seed "An incremental privacy-preservation algorithm
for the (k, e)-Anonymous model" (2015), Definition 5.

Guarantee: within a release, the sensitive value of a person is one of the values of their block,
which number at least k distinct ones and span a range of at least e.  In a series with
``adversary = "union"`` the same holds for every set of rows that an adversary can single out by
intersecting and subtracting blocks of any number of releases; with "pairwise", by comparing one
block of one earlier release with one block of the new one.  The model says nothing about how
likely each value is, or about adversaries who know some of the values.  It holds against those who
know the method, the plan and who waited, and reason backwards from them: ``models.ke_anonymity``
has the rule by which rows wait, and the proof; with "pairwise", of persons with several rows, and
in a series that was begun with the rule "until-valid" and says so in its plan, it does not, and the
release states it.  The searches that the source prints promise nothing beside each other.
Of persons with several rows, values are different where they are different persons'; ``statement``
has the rule, and whom it holds against.

Algorithm: the engine counts rows by distinct value and by the release in which they first
appeared; ``decision`` cuts the values into blocks; the engine permutes within them.

Cost: one pass over n rows to count, O(d) to decide, and one sort of the rows to publish.

Departures: the decision costs O(d) where the seed needs O(p n^3); the default adversary is
stronger than the seed's and may hold rows back; the seed's claim that the full-cover result is
the overall optimum fails (see ``full_cover``), so ``search = "exact"`` is offered beside it.

Beside it stand

- ``statement``   the guarantee in words, also of persons with several rows, and what waits
- ``decision``    from counts and history to blocks, whatever the search, the source's included
- ``searches``    the optima of one release and of a series, by one dynamic programme
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import AfterValidator, Field

from voile.disclosure.exact import Permuted
from voile.disclosure.shown import Disclosure, GroupNumbering
from voile.models.ke_anonymity import Refused
from voile.publish.assembled import exactly
from voile.publish.ke_anonymity.decision import AS_PRINTED, Decision, KETerms, Search, decide
from voile.publish.ke_anonymity.searches import Adversary
from voile.publish.ke_anonymity.statement import (
    BATCH_OF_K,
    decide_of_persons,
    guarantee,
    guarantee_of_persons,
    held_back,
    infeasible_first,
    infeasible_next,
    infeasible_of_persons,
    refuse_other_rule,
    refuse_series_of_persons,
    units_of_values,
)
from voile.publish.publisher import (
    Capabilities,
    MethodCard,
    Parameter,
    refuse_ranking,
    refuse_telling_quasi_identifiers,
)
from voile.release.check import check_against_history, check_values_of_units
from voile.release.history import Blocks, History, SeriesTerms, Version, now
from voile.release.release import Pay, PrivateRecord, Publication, Release, SeriesPlace, unaccounted
from voile.schema.numbers import ExactNumbers, decimals_of, json_number, units_of, unscaled
from voile.table.decisions import PermutedColumn, Treatment
from voile.table.matching import Held
from voile.table.private import PrivateTable
from voile.table.published import GROUP
from voile.table.summaries import RowMatch, ValueCounts
from voile_base.errors import PlanError, RefusedError
from voile_base.ondemand import dataclass
from voile_base.randomness import Randomness
from voile_base.values.value import NumberOrText, Says, checked

__all__ = ["KEAnonymity"]

_NAME = "ke-anonymity"

UntilValid = Literal["until-valid"]


def _plain(e: Decimal) -> Decimal:
    """Without trailing zeros and exponents."""
    scale = decimals_of(e)
    return unscaled(units_of(e, scale), scale)


@checked(PlanError)
@dataclass(frozen=True)
class KEAnonymity:
    """Publish in blocks of at least k distinct sensitive values and a range of at least e.

    Raises ``PlanError`` for parameters that cannot be.
    """

    capabilities: ClassVar[Capabilities] = Capabilities(
        persons=True,
        exact_quasi_identifiers=True,
        exact_kept=True,
        no_criteria=(
            "k and e are its criterion, and blocks that grow from release to release keep no other"
        ),
        card=MethodCard(
            "ke-anonymity",
            "Hide one number in groups",
            "Nobody's number is known closer than k different ones that span at least e, also for "
            "those who compare all releases of a growing table.",
            "Who has which number within a group. Sums and averages keep bounds.",
            "there is more than one sensitive column, or it is not a number.",
            (
                Parameter(
                    "k",
                    "k",
                    ("2", "3", "5", "10", "20", "50", "100"),
                    ("3", "5"),
                    "different numbers in a group, at least",
                ),
                Parameter("e", "e", (), (), "how far the numbers of a group reach, at least"),
            ),
        ),
    )

    k: Annotated[int, Field(ge=2)]
    """Least number of distinct sensitive values in a block; at least 2."""
    e: Annotated[
        NumberOrText,
        Field(ge=0),
        AfterValidator(_plain),
        Says("a number of at least 0: the least range of a group's sensitive values"),
    ]
    """Least range of a block, in the unit of the sensitive column; at least 0."""
    series: Annotated[str, Field(min_length=1)] | None = None
    """Name that ties the releases of one growing table together."""
    record_key: Annotated[str, Field(min_length=1)] | None = None
    """Column that identifies a row across versions; None: rows are only appended."""
    adversary: Adversary = "union"
    """Who compares releases: any combination of blocks, or one old block with one new."""
    search: Search | None = None
    """How blocks are found; see ``decision``.

    None is "narrow-batches" in a series against "union", and else "full-cover": a single release is
    then the optimum of the source, the smallest sum of ranges."""
    batch: Annotated[int, Field(ge=2)] | UntilValid | None = None
    """New rows that are looked at together, at least k, 2 k by default; see
    ``models.ke_anonymity``.

    "until-valid" is the rule of series begun with an earlier Voile: rows wait exactly as long as
    they are not valid together, which tells about them.  Of a series against "union" only."""

    def __post_init__(self) -> None:
        if self.record_key and not self.series:
            msg = "record_key is of use in a series only; name the series too, or leave it out"
            raise PlanError(msg)
        if self.search in ("sealed-batches", "narrow-batches") and self.adversary == "pairwise":
            msg = f'search = "{self.search}" gives the "union" guarantee; leave adversary out'
            raise PlanError(msg)
        if self._as_printed and not (self.series and self.adversary == "pairwise"):
            msg = (
                f'search = "{self.search}" is the paper\'s version of a series compared in pairs; '
                'name a series and adversary = "pairwise" too, or leave search out'
            )
            raise PlanError(msg)
        if self.batch and not self._compared_by_union:
            msg = 'batch is of use in a series with adversary = "union" only; leave it out'
            raise PlanError(msg)
        if isinstance(self.batch, int) and self.batch < self.k:
            msg = f"batch must be at least k = {self.k}: fewer rows never have k values"
            raise PlanError(msg)

    @property
    def carries(self) -> bool:
        """Rows that a release of a series holds back wait in the table, not in a pool."""
        return False

    @property
    def ranks(self) -> bool:
        """All rows are asked for."""
        return False

    @property
    def trip_budget(self) -> None:
        """Trips have no budgets."""
        return None

    def publish(self, table: PrivateTable, randomness: Randomness | None = None) -> Release:
        """Make a single release; see ``prepare``.

        Raises ``PlanError`` for a series, which needs a ledger: use ``voile.make_release``.
        """
        if self.series:
            msg = "a series needs a ledger; use voile.make_release(..., ledger=...)"
            raise PlanError(msg)
        return self.prepare(table, randomness or Randomness.secure()).release

    def following(self, earlier: Sequence[Path] | None) -> Self:
        """Itself: its series are tied by their history."""
        del earlier
        return self

    def get_ready(self) -> None:
        """Load the compiled decisions, half a second that can pass while a table is read."""
        two = ExactNumbers.of([0, 1])
        counts = ValueCounts.of_matrix(two, np.ones((2, 1), dtype=np.int64))
        decide(counts, (), KETerms(2, Decimal(0)))

    def prepare(
        self,
        table: PrivateTable,
        randomness: Randomness,
        history: History | None = None,
        pay: Pay = unaccounted,
    ) -> Publication:
        """Make a release, and with it what must stay private and what history must know.

        ``history`` is that of the series, None before its first release.  Raises
        ``InfeasibleError`` where no release is safe, ``RefusedError`` where the table no longer
        holds what earlier releases showed, ``TableError`` and ``PlanError`` for bad input.
        """
        refuse_ranking(table, _NAME)
        refuse_telling_quasi_identifiers(table)
        column = self._sensitive(table)
        if self.series:
            history = self._agreed(table, history, randomness.key("series", self.series).secret)
        match = self._match(table, history) if history else None
        counts = table.count_values(column, match)
        units = None if self.series else units_of_values(table, counts)
        versions = history.versions if history else ()
        terms, protected = self._terms, table.plan.roles.protected
        if units is not None:
            decision = decide_of_persons(counts, units, terms)
            wanting = partial(infeasible_of_persons, column, counts.values, units, terms, protected)
            promise = guarantee_of_persons(column, terms, protected)
        else:
            waiting = match.waiting if match else None
            refused = Refused(waiting.refused.height, waiting.left) if waiting else Refused()
            decision = decide(counts, versions, terms, refused)
            wanting = partial(infeasible_first, column, counts, terms)
            promise = guarantee(column, terms, self.series, len(versions))
        if decision is None:
            raise infeasible_next(terms) if versions else wanting()
        blocks, assignment = decision.blocks(counts), decision.assignment(counts)
        if history and history.versions and not self._as_printed:
            check_against_history(counts, assignment, history, self.k, self._e, self.adversary)
        number = history.next_number if history else 1
        release_id = randomness.token("release", str(self.series), str(number))
        groups = assignment.grouping(counts)
        if history and match:
            published, held = table.mark_rows(groups, match, _kept(decision))
            history = history.appended(Version(number, release_id, now(), blocks, published, held))
        treatment = Treatment((PermutedColumn(column),), groups)
        released, _ = table.apply_counted(treatment, randomness)
        release = Release(
            table=released,
            method=self._method(len(blocks)),
            disclosure=_disclosure(table, column),
            guarantee=promise,
            roles=_published_roles(table),
            release_id=release_id,
            publishable=randomness.publishable and not self._as_printed,
            series=SeriesPlace(name=self.series, version=number) if self.series else None,
        )
        if units is not None:
            check_values_of_units(release, column, counts, units)
        private = self._record(table, release, decision, blocks, match)
        return Publication(release, private, history)

    def _agreed(self, table: PrivateTable, history: History | None, key: bytes) -> History:
        """The history of the series, which a first release begins; refuses other terms."""
        refuse_series_of_persons(table)
        agreed = self._series_terms(table)
        if history is None:
            history = History(agreed, key)
        refuse_other_rule(history.terms, agreed)
        history.terms.refuse_difference(agreed)
        history.refuse_earlier_clock(now())
        return history

    @property
    def _e(self) -> Decimal:
        assert isinstance(self.e, Decimal)
        return self.e

    @property
    def _search(self) -> Search:
        default: Search = "narrow-batches" if self._compared_by_union else "full-cover"
        return self.search or default

    @property
    def _as_printed(self) -> bool:
        return self.search in AS_PRINTED

    @property
    def _compared_by_union(self) -> bool:
        return self.series is not None and self.adversary == "union"

    @property
    def _terms(self) -> KETerms:
        return KETerms(self.k, self._e, self.adversary, self._search, self._batch)

    @property
    def _batch(self) -> int | None:
        """Rows that are looked at together; None where rows wait by no rule or by the earlier."""
        if not self._compared_by_union or self.batch == "until-valid":
            return None
        return self.batch or BATCH_OF_K * self.k

    def _sensitive(self, table: PrivateTable) -> str:
        sensitive = table.plan.roles.sensitive
        if len(sensitive) != 1:
            msg = (
                f"[roles] sensitive names {len(sensitive)} columns; {_NAME} protects exactly one "
                "numeric column"
            )
            raise PlanError(msg)
        return sensitive[0]

    def _series_terms(self, table: PrivateTable) -> SeriesTerms:
        return SeriesTerms(
            name=str(self.series),
            method={
                "name": _NAME,
                "k": str(self.k),
                "e": format(self._e, "f"),
                "adversary": self.adversary,
                "search": self._search,
                # Series begun before there was a choice say nothing of it.
                **({"batch": str(self._batch)} if self._batch else {}),
            },
            columns=dict(table.kinds(table.plan.roles.published)),
            roles={role: tuple(sorted(names)) for role, names in _published_roles(table).items()},
            record_key=self.record_key,
        )

    def _match(self, table: PrivateTable, history: History) -> RowMatch:
        match = table.match_rows(history.known, history.key, self.record_key)
        if match.missing or match.changed:
            what = (
                f"{match.missing:,} published rows are missing and {match.changed:,} have changed"
                if self.record_key
                else f"{match.missing:,} published rows are missing or have changed"
            )
            msg = (
                f"series {self.series!r}: {what} since release {len(history.versions)}. Comparing "
                "releases would tell about these people. Restore the rows as they were published "
                "(corrections cannot be published in the same series), or begin a new series for "
                "data about other people"
            )
            raise RefusedError(msg)
        return match

    def _method(self, blocks: int) -> dict[str, object]:
        series: dict[str, object] = {}
        if self.series:
            series = {"adversary": self.adversary, "search": self._search}
        if self._compared_by_union:
            series |= {"batch": self._batch or "until-valid"}
        return {
            "name": _NAME,
            "k": self.k,
            "e": json_number(self._e),
            **series,
            "decision": {"blocks": blocks},
        }

    def _record(
        self,
        table: PrivateTable,
        release: Release,
        decision: Decision,
        blocks: Blocks,
        match: RowMatch | None,
    ) -> PrivateRecord:
        held = match.fresh if match and decision.fate in ("waiting", "refused") else 0
        aside = table.rows - release.rows - held
        notices = [*table.notes, *held_back(held, aside, decision, self._terms)]
        if match and match.withdrawn:
            notices.append(
                f"{match.withdrawn:,} of the rows held back before left the table; they were never "
                "published, so nothing is given away"
            )
        widths = blocks.high.units - blocks.low.units
        objective = format(unscaled(int(widths.sum()), decision.values.scale), "f")
        groups = "1 group" if len(blocks) == 1 else f"{len(blocks):,} groups"
        return PrivateRecord(
            rows_in=table.rows + table.dropped,
            rows_out=release.rows,
            suppressed=table.dropped + aside,
            held=held,
            objective=objective,
            decision={"blocks": len(blocks)},
            notices=tuple(notices),
            summary=f"in {groups}, sum of ranges {objective}",
        )


def _disclosure(table: PrivateTable, sensitive: str) -> Disclosure:
    """All columns as they are, but the sensitive one, which is permuted within blocks."""
    columns = exactly(table.plan.roles.published) | {sensitive: Permuted()}
    return Disclosure(
        columns=columns, groups=GroupNumbering(column=GROUP, made="blocks", by=(sensitive,))
    )


def _kept(decision: Decision) -> Held:
    """What becomes of fresh rows that have no group; all have one where they are published."""
    return "waiting" if decision.fate == "published" else decision.fate


def _published_roles(table: PrivateTable) -> Mapping[str, tuple[str, ...]]:
    roles = table.plan.roles
    return {
        "quasi_identifiers": roles.quasi_identifiers,
        "sensitive": roles.sensitive,
        "keep": roles.keep,
    }
