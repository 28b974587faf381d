r"""A chain: steps before a method and after it, in order, and one release of what they leave.

What it publishes: the rows that the last step leaves.  A step is a coding (``publish.coding``) or a
method; each sees the rows as the step before left them, and nobody sees these.

The guarantee: every claim of a method in the chain, as it is measured on the rows at the end.  What
a step said of its own output counts for nothing: a later method that treats a column of which an
earlier one promised something is refused, and so is what the last rows contradict.  A coding is a
function of one column, so that rows that were alike stay alike; what claims say of how different
values are (l-diversity, t-closeness and further criteria) would suffer, and codings of those
columns after the claim are refused.  Promises to persons are counted at the end as well, but for
matches of blanked cells, which codings keep.  A differentially private method takes codings by
public facts.

Cost: that of the steps, and of measuring the claims.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from typing import Any, ClassVar, Protocol

from voile.disclosure.exact import Exact
from voile.disclosure.shown import Disclosure, Shown
from voile.publish.assembled import named, shown_roles
from voile.publish.coding import CODINGS
from voile.publish.publisher import Capabilities, Publisher, SingleRelease
from voile.release.claims import Claim, GroupClaim, PrivacyClaim
from voile.release.history import History
from voile.release.method_claims import MicroaggregatedRows, RedrawnValues
from voile.release.release import Guarantee, Pay, Publication, Release, unaccounted
from voile.schema.coding import Coding
from voile.schema.plan import ColumnPlan, PlanStep
from voile.schema.roles import Roles
from voile.table.decisions import Treatment
from voile.table.private import ChainedTable, PrivateTable
from voile.table.published import PublishedTable
from voile.table.summaries import PublishedUnits
from voile_base.errors import InfeasibleError, PlanError, VoileError, nearest
from voile_base.ondemand import dataclass
from voile_base.randomness import Randomness
from voile_base.values import Document, Json

__all__ = ["ChainStep", "chained", "coding_step"]

_LEAST = 3
"""Persons of whom a bound, a mean or a median comes that a coding shows, at least."""
_BUDGETS = ("epsilon", "epsilon_choice", "rho")
"""Parameters of methods that are differentially private."""


class _CodingStep(Protocol):
    """What a plan says of a coding, validated."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are coded."""

    @property
    def from_rows(self) -> bool:
        """Whether what it does depends on the rows."""

    def coding(self, table: PrivateTable, column: str, least: int) -> Coding:
        """The coding of one column; what comes from rows is of at least so many persons.

        Raises ``InfeasibleError`` where there are fewer, ``PlanError`` where values are no numbers.
        """


@dataclass(frozen=True)
class ChainStep:
    """A step of a chain, validated."""

    kind: str
    where: str
    """The place in the plan, as messages begin."""
    coding: _CodingStep | None = None
    """None for a method."""
    method: Publisher | None = None

    @property
    def k(self) -> int:
        """The least number of persons that its method asks for; 0 where it asks for none."""
        return getattr(self.method, "k", 0) or 0


def coding_step(step: PlanStep, where: str) -> ChainStep | None:
    """A step that codes columns; None where its kind is none of these; raises ``PlanError``."""
    made = CODINGS.get(step.kind)
    if made is None:
        return None
    try:
        return ChainStep(step.kind, where, made(**step.parameters))
    except PlanError as error:
        msg = f"{where}: {error}"
        raise PlanError(msg) from None


def chained(
    name: str, method: Publisher, before: Sequence[ChainStep], after: Sequence[ChainStep]
) -> _MethodChain:
    """A chain around the method of a plan; raises ``PlanError`` for steps that cannot be."""
    main = ChainStep(name, "[method]", method=method)
    steps = (*before, main, *after)
    for step in steps:
        _refuse_alone(step, follows=step is not steps[-1], is_main=step is main)
    budget = next((s for s in steps if any(hasattr(s.method, key) for key in _BUDGETS)), None)
    _refuse_contradictions(steps, budget)
    return _MethodChain(main, tuple(steps))


def _refuse_alone(step: ChainStep, *, follows: bool, is_main: bool) -> None:
    """Raise ``PlanError`` for a method that cannot stand at its place."""
    method = step.method
    if method is None:
        return
    able = method.capabilities
    whole = (
        (able.trips, "it moves positions of trips"),
        (able.any_rows, "its domain is public: state bounds, edges or values of [columns] there"),
        (method.ranks, "it asks for the best rows first"),
        (method.series is not None, "a series compares rows as they came in; leave series out"),
        (method.carries, 'rows wait for a later release; say suppressed = "drop"'),
    )
    for is_so, why in whole:
        if is_so:
            msg = f"{step.where}: {step.kind} takes no [[steps]] beside it: {why}"
            raise PlanError(msg)
    if (follows or not is_main) and not able.followed:
        msg = (
            f"{step.where}: {step.kind} can only be the [method], with no step after it: what it "
            "publishes is not the rows of the table; put the other steps before it"
        )
        raise PlanError(msg)


def _refuse_contradictions(steps: Sequence[ChainStep], budget: ChainStep | None) -> None:
    """Raise ``PlanError`` where codings contradict each other, or a budget."""
    coded: dict[str, list[ChainStep]] = {}
    for step in steps:
        if (coding := step.coding) is None:
            continue
        if budget is not None and coding.from_rows:
            msg = (
                f"{step.where}: what it cuts comes from the rows, and {budget.kind} is "
                'differentially private; state a public bound, with shows = "bound"'
            )
            raise PlanError(msg)
        for place, column in enumerate(coding.columns):
            if column in coding.columns[:place]:
                msg = f"{step.where}: columns names {column!r} twice; name it once"
                raise PlanError(msg)
            for earlier in coded.setdefault(column, []):
                _refuse_pair(earlier, step, column)
            coded[column].append(step)


def _refuse_pair(earlier: ChainStep, later: ChainStep, column: str) -> None:
    """Raise ``PlanError`` where one coding of a column leaves nothing to another."""
    kinds = earlier.kind, later.kind
    one: Any = earlier.coding
    other: Any = later.coding
    why = None
    if earlier.kind == "recoding":
        why = "shows nodes of a hierarchy, which are no numbers and have no further levels"
    elif kinds in {("top-coding", "top-coding"), ("bottom-coding", "bottom-coding")}:
        why = "has cut that end"
    elif kinds == ("rounding", "rounding") and one.base >= other.base:
        why = f"has rounded to {one.base}"
    elif set(kinds) == {"top-coding", "bottom-coding"} and None not in {one.bound, other.bound}:
        top, low = (one, other) if kinds[0] == "top-coding" else (other, one)
        if low.bound >= top.bound:
            why = f"has a bound that leaves nothing between {low.bound} and {top.bound}"
    if why is not None:
        msg = (
            f"{later.where}: {later.kind} of column {column!r} contradicts {earlier.where}, which "
            f"{why}; leave the column out of one of them, or change their order"
        )
        raise PlanError(msg)


@dataclass
class _Progress:
    """What the steps so far have made; private."""

    table: ChainedTable
    shown: dict[str, Shown]
    claims: list[tuple[ChainStep, Claim]] = field(default_factory=list)
    guarantees: list[Guarantee] = field(default_factory=list)
    documents: list[Document] = field(default_factory=list)
    summaries: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    decisions: list[Document] = field(default_factory=list)
    from_rows: list[str] = field(default_factory=list)
    main: Publication | None = None
    last: Publication | None = None
    """What the last step published, where it was a method."""


@dataclass(frozen=True)
class _MethodChain(SingleRelease):
    """Steps around a method, as one method."""

    main: ChainStep
    steps: tuple[ChainStep, ...]
    capabilities: ClassVar[Capabilities] = Capabilities()

    def __post_init__(self) -> None:
        methods = [step.method for step in self.steps if step.method is not None]
        assert self.main.method is not None
        able = self.main.method.capabilities
        persons = all(method.capabilities.persons for method in methods)
        object.__setattr__(self, "capabilities", replace(able, persons=persons))

    @property
    def chosen_groups(self) -> None:
        """An adversary who knows the method cannot repeat its choice before the steps."""
        return

    def get_ready(self) -> None:
        """What its methods do."""
        for step in self.steps:
            if step.method is not None:
                step.method.get_ready()

    def prepare(
        self,
        table: PrivateTable,
        randomness: Randomness,
        history: History | None = None,
        pay: Pay = unaccounted,
    ) -> Publication:
        """Make a release; raises what its methods raise, and as ``chained`` does."""
        del history
        roles = table.plan.roles
        self._refuse_columns(roles)
        made = _Progress(ChainedTable.of(table), {name: Exact() for name in roles.published})
        for number, step in enumerate(self.steps, 1):
            draws = randomness if step is self.main else randomness.within(f"step {number}")
            try:
                if (coding := step.coding) is not None:
                    self._code(made, step, coding)
                else:
                    self._publish(made, step, draws, pay, is_last=step is self.steps[-1])
            except VoileError as error:
                if str(error).startswith("["):
                    raise
                msg = f"{step.where}: {error}"
                raise type(error)(msg) from None
        return self._assembled(made, table, randomness)

    @property
    def _least(self) -> int:
        """Persons of whom what a coding takes from the rows must be, at least."""
        return max(_LEAST, *(step.k for step in self.steps))

    def _refuse_columns(self, roles: Roles) -> None:
        for step in self.steps:
            for name in () if step.coding is None else step.coding.columns:
                if name not in roles.published:
                    msg = (
                        f"{step.where}: columns names {name!r}, which no role of the plan publishes"
                        f"{nearest(name, roles.published)}; it may name: "
                        f"{', '.join(map(repr, roles.published))}"
                    )
                    raise PlanError(msg)

    def _code(self, made: _Progress, step: ChainStep, coding: _CodingStep) -> None:
        if made.last is not None:
            made.table = _rows_after(made)
        document: Json = {}
        for column in coding.columns:
            for earlier, claim in made.claims:
                if column in _compared(claim):
                    msg = (
                        f"column {column!r} is one of which {earlier.where} ({earlier.kind}) "
                        f"promises how different its values are; put {step.kind} before it"
                    )
                    raise PlanError(msg)
            it = coding.coding(made.table, column, self._least)
            shown = made.shown[column].coded(it)
            if shown is None:
                msg = (
                    f"{step.kind} cannot follow what was done with column {column!r}, which is "
                    f"shown as {made.shown[column].kind!r}; put {step.kind} before that step, or "
                    "leave the column out"
                )
                raise PlanError(msg)
            made.table, made.shown[column] = made.table.coded(column, [it]), shown
            document[column] = {k: v for k, v in it.model_dump(mode="json").items() if k != "kind"}
        if coding.from_rows:
            made.from_rows += coding.columns
        made.documents.append({"kind": step.kind, "columns": document})
        made.summaries.append(f"{step.kind} of {named(coding.columns)}")

    def _publish(
        self, made: _Progress, step: ChainStep, draws: Randomness, pay: Pay, *, is_last: bool
    ) -> None:
        if made.last is not None:
            made.table = _rows_after(made)
        assert step.method is not None
        asked = getattr(step.method, "columns", None)
        if isinstance(asked, tuple):
            for name in asked or made.table.plan.roles.quasi_identifiers:
                _refuse_promised(made, step, name)
        publication = step.method.prepare(made.table, draws, None, pay)
        if not is_last:
            publication = replace(publication, release=publication.release.with_intervals_as_text())
        release = publication.release
        for name, then in release.disclosure.columns.items():
            if then.as_it_is:
                continue
            _refuse_promised(made, step, name)
            before = made.shown.get(name)
            shown = None if before is None else before.treated(then)
            if shown is None:
                how = "made" if before is None else f"shown as {before.kind!r} by an earlier step"
                msg = (
                    f"column {name!r} is {how} and then treated by {step.kind}; treat it in one "
                    "step"
                )
                raise PlanError(msg)
            made.shown[name] = shown
        made.claims += [(step, claim) for claim in release.guarantee.claims]
        made.guarantees.append(release.guarantee)
        made.documents.append(release.method)
        made.summaries.append(f"{step.kind}: {publication.private.summary}")
        made.notices += [n for n in publication.private.notices if n not in made.notices]
        made.decisions.append(publication.private.decision)
        made.last = publication
        if step is self.main:
            made.main = publication

    def _assembled(
        self, made: _Progress, table: PrivateTable, randomness: Randomness
    ) -> Publication:
        """The release of the last rows; raises ``InfeasibleError`` where a claim does not hold."""
        main = made.main
        assert main is not None
        roles = table.plan.roles
        several = len(made.guarantees) > 1
        if made.last is not None and not several:
            release, whose = made.last.release, None
            release = replace(
                release, disclosure=release.disclosure.model_copy(update={"columns": made.shown})
            )
        else:
            rows, whose = self._last_rows(made, randomness)
            texts = {name: one.with_intervals_as_text() for name, one in made.shown.items()}
            release = Release(
                table=rows,
                method={},
                disclosure=Disclosure(columns=texts, sampled=main.release.disclosure.sampled),
                guarantee=main.release.guarantee,
                roles=shown_roles(roles, rows.columns),
                release_id=main.release.release_id,
                publishable=main.release.publishable,
            )
        release = replace(
            release,
            method={**main.release.method, "steps": made.documents},
            guarantee=self._guarantee(made, main),
        )
        if several or made.last is None:
            _require_claims(made, release, whose)
        private = replace(
            main.private,
            rows_in=table.rows + table.dropped,
            rows_out=release.rows,
            suppressed=table.rows + table.dropped - release.rows,
            decision={**main.private.decision, "steps": made.decisions},
            notices=tuple(made.notices),
            summary=f"{main.private.summary}; steps: {', then '.join(made.summaries)}"
            if several
            else f"{main.private.summary} (with {_others(made.documents)})",
        )
        return replace(main, release=release, private=private)

    def _last_rows(
        self, made: _Progress, randomness: Randomness
    ) -> tuple[PublishedTable, PublishedUnits | None]:
        end = made.table if made.last is None else _rows_after(made)
        return end.apply_counted(Treatment(()), randomness.within("end"))

    def _guarantee(self, made: _Progress, main: Publication) -> Guarantee:
        """All claims, first those of the plan's method."""
        ordered = [main.release.guarantee]
        ordered += [one for one in made.guarantees if one is not main.release.guarantee]
        claims = tuple(claim for one in ordered for claim in one.claims)
        assumes = tuple(dict.fromkeys(said for one in ordered for said in one.assumes))
        if made.from_rows:
            columns = named(tuple(dict.fromkeys(made.from_rows)))
            assumes += (
                f"the bounds and middles that codings of {columns} took from the rows, each of at "
                f"least {self._least} of those who are protected, tell nothing of one alone",
            )
        statement = "; and ".join(one.statement for one in ordered)
        coded = any(step.coding is not None for step in self.steps)
        if len(ordered) > 1 or made.last is None:
            rows = "coded rows" if coded else "rows"
            statement = f"measured on the {rows} at the end of the chain: {statement}"
        elif coded:
            statement = f"of coded values: {statement}"
        return Guarantee(claims, statement, assumes)


def _require_claims(made: _Progress, release: Release, whose: PublishedUnits | None) -> None:
    """Raise ``InfeasibleError`` where the rows at the end contradict what a step promised."""
    for step, claim in made.claims:
        for breach in (*claim.breaches(release), *_of_units(claim, whose, release)):
            msg = (
                f"no release exists by this chain: at its end, what {step.where} ({step.kind}) "
                f"promises does not hold: {breach}; change the order of the steps, or take the "
                "last one away"
            )
            raise InfeasibleError(msg)


def _rows_after(made: _Progress) -> ChainedTable:
    """The rows that the last method left, as the next step sees them."""
    assert made.last is not None
    shown = made.last.release.disclosure.columns
    nominal = {
        name: ColumnPlan(kind="nominal")
        for name, one in shown.items()
        if one.kind in {"interval", "generalized", "set"}
    }
    table = made.table.after(nominal)
    made.last = None
    if table is None:
        msg = "it leaves no rows of the table that a further step could take; put it last"
        raise PlanError(msg)
    return table


def _refuse_promised(made: _Progress, step: ChainStep, column: str) -> None:
    """Raise ``PlanError`` where an earlier step promised something of a column."""
    for earlier, claim in made.claims:
        if column in _promised(claim, made.table.plan.roles):
            msg = (
                f"column {column!r} is treated by {step.kind} after {earlier.where} "
                f"({earlier.kind}) promised something of it, which would no longer hold; "
                "leave the column out of one of them, or change their order"
            )
            raise PlanError(msg)


def _promised(claim: Claim, roles: Roles) -> frozenset[str]:
    """The columns of the table that a claim is about."""
    match claim:
        case GroupClaim():
            shared = (name for role in claim.shared for name in roles.by_role.get(role, ()))
            return frozenset((*shared, *_compared(claim)))
        case RedrawnValues():
            return frozenset(claim.epsilon)
    named_columns = [getattr(claim, key, ()) for key in ("columns", "within")]
    found = frozenset(name for names in named_columns for name in names)
    return found or frozenset(roles.published)


def _compared(claim: Claim) -> frozenset[str]:
    """The columns of whose values a claim says how different they are."""
    if isinstance(claim, PrivacyClaim) or not isinstance(claim, GroupClaim):
        return frozenset()
    compared = [name for one in (claim.l, claim.t) if one is not None for name in one.columns]
    compared += [str(one["column"]) for one in claim.criteria or () if "column" in one]
    return frozenset(compared)


def _of_units(claim: Claim, whose: PublishedUnits | None, release: Release) -> Iterator[str]:
    """Combinations of fewer persons or households than a claim says, counted at the end."""
    if whose is None:
        return
    match claim:
        case GroupClaim():
            columns = [name for role in claim.shared for name in release.roles.get(role, ())]
        case MicroaggregatedRows():
            columns = list(claim.columns)
        case _:
            return
    if few := int((whose.in_groups(columns) < claim.k).sum()):
        yield f"{few} combinations of {named(columns)} are of fewer than {claim.k} persons"


def _others(documents: Sequence[Document]) -> str:
    """The codings of a chain of one method, in words."""
    kinds = [str(one["kind"]) for one in documents if "kind" in one]
    return ", ".join(dict.fromkeys(kinds))
