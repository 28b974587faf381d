"""The plain result of a study: what was published, what it is worth, what it gives away; private.

A record is what JSON can hold and nothing more, so that reports, tables and other programs read
it without any of Voile's rooms.  It describes the private original, and is as private.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["PRIVATE", "Comparison", "Distribution", "Point", "Skipped", "StudyRecord"]

PRIVATE = "PRIVATE: computed with the private original; do not pass it on"

Document = Mapping[str, Any]


@dataclass(frozen=True)
class Skipped:
    """An attack or a measure that makes no sense for this release."""

    name: str
    reason: str
    """A clause."""


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
    labels: tuple[str, ...]
    """What each of the b bins or values is called."""
    edges: tuple[float, ...] | None
    """Ascending borders of the b bins, b + 1 numbers; None where values were counted one by one."""
    before: tuple[float, ...]
    """Shares of the original rows, (b,); they add up to 1, or to 0 where there is no row."""
    after: tuple[float, ...]
    """Shares of the published rows, (b,): a row that shows a set of values is spread over it."""


@dataclass(frozen=True)
class StudyRecord:
    """One release with the evidence about it; private."""

    name: str
    """What tells the study apart from others it is compared with: the plan's file, or "k = 5"."""
    parameters: Document
    """The parameters by which it differs from others of its grid; empty for a single study."""
    plan: Document
    """The whole plan, as a TOML file states it."""
    seed: int | None
    release: Document
    """``method``, ``guarantee``, ``rows``, ``publishable``, ``release_id`` and ``columns``, as in
    ``release.json``."""
    publication: Document
    """``rows_in``, ``rows_out``, ``suppressed``, ``held``, ``carried``, ``objective``,
    ``summary``, ``notices``; private."""
    attacks: tuple[Document, ...]
    """Documents of ``AttackOutcome``; numbers that are not finite are None, here and below."""
    attacks_skipped: tuple[Skipped, ...]
    utility: tuple[Document, ...]
    """Documents of ``Measurement``."""
    utility_skipped: tuple[Skipped, ...]
    distributions: tuple[Distribution, ...]
    evidence: Document
    """How it was measured: ``targets``, ``held_out`` (rows), ``rehearsed`` (names of attacks and
    measures that looked at a release made like this one of fewer rows)."""
    versions: Mapping[str, str]
    """Of Voile, Python and the libraries whose numbers matter."""
    seconds: Mapping[str, float]
    """Of each stage."""


@dataclass(frozen=True)
class Point:
    """One study of a grid, or why there is none; private."""

    name: str
    parameters: Document
    status: str
    """"done", "infeasible", "refused", "wrong" (the plan or the input), or "failed"."""
    message: str = ""
    """Why there is no record."""
    record: StudyRecord | None = None
    risk: float | None = None
    """The risk of the comparison, lower is safer; None where the study does not have it."""
    loss: float | None = None
    """The loss of the comparison, as measured; None where the study does not have it."""


@dataclass(frozen=True)
class Comparison:
    """The studies of a grid side by side, with the privacy-utility frontier; private."""

    name: str
    plans: tuple[Document, ...]
    """The plans with lists from which the grid was made."""
    swept: Mapping[str, tuple[Any, ...]]
    """For each parameter that differs ("method.k"), its values in order; "plan" is the name of the
    plan, where there are several."""
    points: tuple[Point, ...]
    risk: str
    """The measure of risk of the frontier: the name of an attack (its success rate), "worst" (the
    largest success rate of all attacks of a study), or "gain" (of all attacks, the largest share
    of what guessing leaves open that the attack finds: (success - baseline) / (1 - baseline))."""
    loss: str
    """The measure of utility of the frontier; empty where no study has any."""
    frontier: tuple[str, ...]
    """Names of the points that no other beats in both, by ascending risk."""
    loss_better: str = "lower"
    """Which of two values of ``loss`` is the better one: "lower" or "higher"."""
    versions: Mapping[str, str] = field(default_factory=dict)
    notices: tuple[str, ...] = ()
    """What a reader should know about all studies, a sentence each without a full stop."""
