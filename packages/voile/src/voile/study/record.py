"""The plain result of a study: what was published, what it is worth, what it gives away; private.

A record is what JSON can hold and nothing more, so that reports, tables and other programs read
it without any of Voile's rooms.  It describes the private original, and is as private.  It is
declared here once: from the types follow what is refused when one is made or read back, its JSON
(``documents``) and its schema.  A figure that is null was not measured, or is not finite; a key
that is missing makes the record none.

The figures of an attack as its document gives them, or that it lacks some.

A figure that is null is not zero: an attack without a success, an interval or a baseline was not
measured, and neither was one that was aimed at nobody.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any, Literal, NotRequired

from pydantic import BeforeValidator, Field, with_config
from typing_extensions import TypedDict

from voile.schema.persons import figure_told, targets_told
from voile.schema.roles import Protected
from voile_base.errors import InputError
from voile_base.ondemand import dataclass
from voile_base.values import Document, Json
from voile_base.values.value import Several, checked, closed

__all__ = [
    "LOSS",
    "PRIVATE",
    "REHEARSED",
    "AttackDocument",
    "Better",
    "Distribution",
    "EstimateDocument",
    "ExcessDocument",
    "MeasureDocument",
    "Point",
    "PolicyFindings",
    "PublicationDocument",
    "RateDocument",
    "Rates",
    "RecordedRelease",
    "RiskDocument",
    "Skipped",
    "Status",
    "StudyComparison",
    "StudyRecord",
    "TargetDocument",
    "as_number",
    "known_columns",
    "rates_of",
]

REHEARSED = "counted on a rehearsal of fewer rows, beside the rows that it left out"
"""A note of risks that were not counted on the release itself."""


PRIVATE = "PRIVATE: computed with the private original; do not pass it on"
LOSS = "non-uniform-entropy"
"""The measure that is told where only one is: bits about a value that its published cell leaves
open, so that a column of which all rows show one value is wholly lost."""

Better = Literal["lower", "higher"]
Status = Literal["done", "infeasible", "refused", "wrong", "failed"]
"""What came of a study; "wrong": the plan or the input."""


def _of_text(figure: object) -> object:
    """A decimal that went through JSON as a text is a number; what else is none is refused."""
    try:
        return float(Decimal(figure)) if isinstance(figure, str) else figure
    except InvalidOperation:
        return figure


Figure = Annotated[float | None, BeforeValidator(_of_text, json_schema_input_type=float | None)]
"""None where it is no finite number."""
Share = Annotated[
    Annotated[float, Field(ge=0, le=1)] | None,
    BeforeValidator(_of_text, json_schema_input_type=Annotated[float, Field(ge=0, le=1)] | None),
]
Count = Annotated[int, Field(ge=0)]


@closed
class EstimateDocument(TypedDict):
    """A share, and an interval around it."""

    value: Share
    low: Share
    high: Share


@closed
class TargetDocument(TypedDict):
    """One target of an attack: what was known, and the probability given to the truth."""

    known: Json
    probability: Share


@closed
class AttackDocument(TypedDict):
    """The document of an ``AttackOutcome``."""

    attack: str
    goal: str
    """What counts as a success."""
    targets: Count
    checked: bool
    """Whether successes were counted, or are believed."""
    success: EstimateDocument
    probability: EstimateDocument
    baseline: Share
    """The success of guessing."""
    advantage: Figure
    worst: TargetDocument | None
    typical: TargetDocument | None
    assumptions: list[str]
    notes: list[str]
    untried: NotRequired[list[str]]
    """Adversaries who were left out though they may learn more."""
    aimed_at: NotRequired[Protected]
    """What a target is."""
    drawn_from: NotRequired[Count | None]
    """Of how many the targets were drawn; none were left where it is as many."""
    known_rows: NotRequired[Literal["one", "all"]]
    """How many rows of a target the adversary knows."""
    exact: NotRequired[bool]
    """Whether the success was counted in closed form on all there are, and is no estimate."""
    bounded: NotRequired[bool]
    """Whether no adversary of the kind succeeds more often, as far as is known; false where who
    reads missing cells otherwise may."""
    upper_bound: NotRequired[bool]
    """Whether success and probabilities are bounds, which no adversary of the kind may reach."""


@closed
class ExcessDocument(TypedDict):
    """What is found of what is left open: at most 1, below 0 where less than that."""

    value: float
    low: float
    high: float


@closed
class RateDocument(TypedDict):
    """How many people are told who were in the data, where hardly anybody else is."""

    false_positives: Share
    """The share of people of the control who may be told by mistake."""
    share: EstimateDocument
    """Of people of the original who are told, by the best score."""
    beyond: ExcessDocument
    """The share that the control does not explain."""


@closed
class RiskDocument(TypedDict):
    """One of the three risks of WP216, or one that another package counts."""

    risk: Annotated[str, Field(min_length=1)]
    """"singling out", "linkability", "inference", or what another package counts."""
    of: str
    goal: str
    targets: Count
    main: EstimateDocument
    control: EstimateDocument | None
    guess: EstimateDocument
    excess: ExcessDocument
    """The share of what control, or guessing without one, leaves open that the best adversary
    finds."""
    found: bool
    """Whether main and control, or guessing without one, differ by more than chance."""
    notes: list[str]
    persons: NotRequired[Count]
    """Of copying: people of the original whom the control does not explain, as far as is sure."""
    rates: NotRequired[list[RateDocument]]
    """Of copying: what is told at few false positives."""
    rows: NotRequired[list[Count]]
    """Rows of the original, from 0; private.  Of copying: those of the people who most likely are
    these, the likeliest first.  Of re-identification: of some who are found with ``worst``."""
    worst: NotRequired[Share]
    """Of re-identification: the probability with which the worst-off target is found."""


def known_columns(risk: RiskDocument) -> tuple[str, ...]:
    """The columns that an intruder knows, of whom re-identification was counted."""
    return tuple(risk["of"].partition(": ")[2].split(", "))


@closed
class MeasureDocument(TypedDict):
    """The document of a ``Measurement``."""

    measure: str
    title: str
    value: Figure
    better: Better
    meaning: str
    untouched: Figure
    useless: Figure
    parts: dict[str, Figure]
    notes: list[str]


@with_config(strict=True, extra="allow")
class GuaranteeDocument(TypedDict):
    """What a release promises; besides, the numbers of its claim."""

    kind: str
    statement: str
    assumes: list[str]
    leaves_open: NotRequired[list[str]]
    """Those of ``assumes`` that say what the promise does not cover."""


@closed
class RecordedRelease(TypedDict):
    """What ``release.json`` says, but for its shape; records of the first format lack some."""

    format: NotRequired[int]
    method: Json
    guarantee: GuaranteeDocument
    rows: Count
    publishable: bool
    release_id: str
    data: NotRequired[list[Json]]
    """Each file with its length and its SHA-256, where files were written."""
    columns: Json
    """How each column of the table is shown; in the first format, columns by role."""
    roles: NotRequired[dict[str, list[str]]]
    groups: NotRequired[Json | None]
    """What the numbers of groups are of, if there are any."""
    sampled: NotRequired[Share]
    """The probability with which rows were drawn, if they were."""


@closed
class PublicationDocument(TypedDict):
    """What the publication came to; private."""

    rows_in: Count
    rows_out: Count
    suppressed: Count
    held: Count
    carried: Count
    objective: Figure
    summary: str
    notices: list[str]
    protected: NotRequired[Protected]
    """Who is counted below."""
    units_in: NotRequired[Count]
    """Persons or households of the original."""
    units_out: NotRequired[Count | None]
    """Of these, those who have a published row; None where nobody can tell."""
    columns_in: NotRequired[list[str]]
    """All columns of the original, as far as files were written."""


@closed
class EvidenceDocument(TypedDict):
    """How it was measured."""

    targets: Annotated[int, Field(ge=1)]
    held_out: Count
    """Rows that the rehearsal left out."""
    rehearsed: list[str]
    """Attacks and measures that looked at a release made like this one of fewer rows."""


@checked(InputError)
@dataclass(frozen=True)
class Skipped:
    """An attack or a measure that makes no sense for this release."""

    name: str
    reason: str
    """A clause."""


@checked(InputError)
@dataclass(frozen=True)
class Distribution:
    """How the values of one column are distributed, before and after.

    Numbers and dates are counted in bins, other values one by one, the rarest together.
    """

    column: str
    role: str
    """"quasi-identifier", "sensitive", "ranking" or "keep"."""
    kind: str
    """"number", "text", "date", ... of the original column."""
    labels: Several[str]
    """What each of the b bins or values is called."""
    edges: Several[float] | None
    """Ascending borders of the b bins, b + 1 numbers; None where values were counted one by one."""
    before: Several[float]
    """Shares of the original rows, (b,); they add up to 1, or to 0 where there is no row."""
    after: Several[float]
    """Shares of the published rows, (b,): a row that shows a set of values is spread over it."""


@checked(InputError)
@dataclass(frozen=True)
class StudyRecord:
    """One release with the evidence about it; private."""

    name: str
    """What tells the study apart from others it is compared with: the plan's file, or "k = 5"."""
    parameters: Document
    """The parameters by which it differs from others of its grid; empty for a single study."""
    plan: Document
    """The whole plan, as a TOML file states it."""
    seed: Count | None
    release: RecordedRelease
    publication: PublicationDocument
    attacks: Several[AttackDocument]
    """Numbers that are not finite are None, here and below."""
    attacks_skipped: Several[Skipped]
    utility: Several[MeasureDocument]
    utility_skipped: Several[Skipped]
    distributions: Several[Distribution]
    evidence: EvidenceDocument
    versions: Mapping[str, str]
    """Of Voile, Python and the libraries whose numbers matter."""
    seconds: Mapping[str, float]
    """Of each stage."""
    fingerprint: str = ""
    """Of what the published rows show: two releases with the same are the same."""
    risks: Several[RiskDocument] = ()
    """The three risks, counted on a rehearsal beside the rows that it left out, where asked for."""
    risks_skipped: Several[Skipped] = ()

    @property
    def roles(self) -> Mapping[str, list[str]]:
        """Columns by role."""
        return self.release.get("roles", self.release["columns"])

    @property
    def information_loss(self) -> float | None:
        """The loss that is told where only one is; None where it was not measured."""
        return next((one["value"] for one in self.utility if one["measure"] == LOSS), None)


@dataclass(frozen=True)
class PolicyFindings:
    """What a policy says to a study, of the criteria that figures decide; see ``Point``."""

    unmet: tuple[str, ...] | None = None
    narrow: tuple[str, ...] = ()


@checked(InputError)
@dataclass(frozen=True)
class Point:
    """One study of a grid, or why there is none; private."""

    name: str
    parameters: Document
    status: Status
    message: str = ""
    """Why there is no record."""
    record: StudyRecord | None = None
    risk: Share = None
    """The risk of the comparison, lower is safer; None where the study does not have it."""
    loss: Figure = None
    """The loss of the comparison, as measured; None where the study does not have it."""
    risk_low: Share = None
    risk_high: Share = None
    """The interval of confidence of the risk; both are the risk where it was counted."""
    same_as: str = ""
    """The first point whose release shows the very same rows; risk and loss are taken from it."""
    unmet: Several[str] | None = None
    """The criteria of a policy that figures decide and that are not met; None: not held against
    any."""
    narrow: Several[str] = ()
    """Those that are met within a tenth of their limit, which a release drawn anew may miss."""


@checked(InputError)
@dataclass(frozen=True)
class StudyComparison:
    """The studies of a grid side by side, with the privacy-utility frontier; private."""

    name: str
    plans: Several[Document]
    """The plans with lists from which the grid was made."""
    swept: Mapping[str, Several[Any]]
    """For each parameter that differs ("method.k"), its values in order; "plan" is the name of the
    plan, where there are several."""
    points: Several[Point]
    risk: str
    """The measure of risk of the frontier: the name of an attack (its success rate), "worst" (the
    largest success rate of all attacks of a study), or "gain" (of all attacks, the largest share
    of what guessing leaves open that the attack finds: (success - baseline) / (1 - baseline))."""
    loss: str
    """The measure of utility of the frontier; empty where no study has any."""
    frontier: Several[str]
    """Names of the points that no other beats in both, by ascending risk."""
    loss_better: Better = "lower"
    """Which of two values of ``loss`` is the better one: "lower" or "higher"."""
    versions: Mapping[str, str] = field(default_factory=dict)
    notices: Several[str] = ()
    """What a reader should know about all studies, a sentence each without a full stop."""


@dataclass(frozen=True)
class Rates:
    """How often an attack succeeds; all but ``targets`` are between 0 and 1."""

    targets: int
    """At least 1."""
    counted: bool
    """Whether successes were counted; else they are what the adversary believes."""
    success: float
    low: float
    high: float
    """The ends of the interval."""
    baseline: float
    """The success of guessing."""
    exact: bool = False
    """Whether it was counted in closed form on all there are, so that there is no interval."""
    told_targets: str = ""
    """At whom it was aimed, in words: "all 48,842 rows", "1,000 drawn of 71,518 persons"."""
    worst: float | None = None
    """The largest probability of a target; of all there are where the figure is exact."""
    bounded: bool = True
    """Whether no adversary of the kind succeeds more often, as far as is known."""
    upper_bound: bool = False
    """Whether the figures are bounds, which no adversary of the kind may reach."""

    def told(self, figure: str) -> str:
        """One of the figures in words, marked where it is a bound: "at most 12.5 %"."""
        return figure_told(figure, upper_bound=self.upper_bound)

    @property
    def times(self) -> float | None:
        """How many times as often as guessing it succeeds; None where guessing never does."""
        return self.success / self.baseline if self.baseline > 0 else None

    @property
    def beats_guessing(self) -> bool:
        """Whether guessing lies below the interval."""
        return self.baseline < self.low


def rates_of(attack: AttackDocument) -> Rates | None:
    """The figures of an attack; None where one of them is null, or it was aimed at nobody."""
    success, baseline = attack["success"], attack["baseline"]
    value, low, high = success["value"], success["low"], success["high"]
    if value is None or low is None or high is None or baseline is None or not attack["targets"]:
        return None
    targets, worst = attack["targets"], attack["worst"]
    return Rates(
        targets,
        attack["checked"],
        value,
        low,
        high,
        baseline,
        exact=attack.get("exact", False),
        told_targets=targets_told(targets, attack.get("drawn_from"), attack.get("aimed_at")),
        worst=None if worst is None else worst["probability"],
        bounded=attack.get("bounded", True),
        upper_bound=attack.get("upper_bound", False),
    )


def as_number(value: object) -> float | None:
    """The value as a finite number; None where it is none.

    A record that went through JSON holds texts where decimals were, so "0.1" is a number.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal | str):
        return None
    try:
        found = float(Decimal(value) if isinstance(value, str) else value)
    except (InvalidOperation, OverflowError, ValueError):
        return None
    return found if math.isfinite(found) else None
